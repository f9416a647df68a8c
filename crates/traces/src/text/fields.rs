//! The difference between a packet that leaves and the one that was received.

use protos::trace::Field;
use std::collections::{BTreeMap, BTreeSet};

/// The known values of a packet's fields on the way to a node.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    /// The fields as the packet was received.
    received: BTreeMap<String, String>,
    /// The fields after the last deparser. `None` if no deparser is known to have emitted any.
    now: Option<BTreeMap<String, String>>,
    /// The headers that the last parser has extracted. A deparser replaces them by those that it
    /// emits, and leaves the bytes behind them as they are.
    extracted: BTreeSet<String>,
    /// The fields that have been emitted since the last parser.
    emitted: BTreeMap<String, String>,
    /// Whether a parser or control has begun and has not entered a state yet.
    pub(super) begins: bool,
    /// Whether the packet is in the parser of its first pass.
    pub(super) is_first: bool,
    /// The call that has marked the packet to be dropped, with its place in the source.
    pub(super) marked: Option<String>,
}

impl Fields {
    /// Returns what is known of a packet that arrives.
    pub(super) fn of_arrival() -> Self {
        Self { is_first: true, ..Self::default() }
    }

    /// Notes that a parser or control enters a state. Only parsers do.
    pub(super) fn enter_state(&mut self) {
        if std::mem::take(&mut self.begins) {
            self.deparse();
            self.extracted.clear();
        }
    }

    /// Notes a header that a parser has extracted.
    pub(super) fn extract(&mut self, name: &str, fields: &[Field]) {
        self.extracted.insert(name.to_owned());
        // A header that a later parser finds first was in the packet as it was received, too.
        let is_known =
            |known: &BTreeMap<String, String>| known.keys().any(|one| header(one) == name);
        let is_new = !is_known(&self.received) && !self.now.as_ref().is_some_and(is_known);
        if self.is_first || is_new {
            let named =
                fields.iter().map(|one| (format!("{name}.{}", one.name), one.value.clone()));
            self.received.extend(named);
        }
    }

    /// Notes the fields of a header, or those of the headers in a struct, that were emitted.
    pub(super) fn emit(&mut self, name: &str, fields: &[Field]) {
        let named = fields.iter().map(|one| match one.name.contains('.') {
            true => (one.name.clone(), one.value.clone()),
            false => (format!("{name}.{}", one.name), one.value.clone()),
        });
        self.emitted.extend(named);
    }

    /// Replaces the headers that the last parser has extracted by those that were emitted.
    fn deparse(&mut self) {
        if self.emitted.is_empty() {
            return;
        }
        let mut now = self.now.take().unwrap_or_else(|| self.received.clone());
        now.retain(|name, _| !self.extracted.contains(header(name)));
        now.append(&mut self.emitted);
        self.extracted.clear();
        self.now = Some(now);
    }

    /// Returns how the fields of the packet differ from those that were received: each header that
    /// was added or removed, and each field with its values before and after.
    pub(super) fn changes(mut self) -> Vec<(String, String)> {
        self.deparse();
        let Some(now) = &self.now else { return Vec::new() };
        let headers = |fields: &BTreeMap<String, String>| -> BTreeSet<String> {
            fields.keys().map(|name| header(name).to_owned()).collect()
        };
        let (before, after) = (headers(&self.received), headers(now));
        let mut changes = Vec::new();
        changes.extend(before.difference(&after).map(|name| (name.clone(), "removed".to_owned())));
        changes.extend(after.difference(&before).map(|name| (name.clone(), "added".to_owned())));
        for (name, now) in now {
            if let Some(then) = self.received.get(name).filter(|then| *then != now) {
                changes.push((name.clone(), format!("{then} > {now}")));
            }
        }
        changes
    }
}

/// Returns the header of a field.
fn header(field: &str) -> &str {
    field.rsplit_once('.').map_or("", |(header, _)| header)
}
