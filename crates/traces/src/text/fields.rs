//! The differences between a packet that the switch sends and the one that it received.

use protos::trace::Field;
use std::collections::{BTreeMap, BTreeSet};

/// The values of a packet's fields that are known from the events on the path to a node of the
/// trace.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    /// The fields of the packet as it was received.
    received: BTreeMap<String, String>,
    /// The fields of the packet after the last deparser, or `None` if no deparser is known to have
    /// emitted any.
    now: Option<BTreeMap<String, String>>,
    /// The headers that the last parser has extracted. A deparser replaces them by the headers that
    /// it emits, and leaves the bytes after them unchanged.
    extracted: BTreeSet<String>,
    /// The fields that have been emitted since the last parser.
    emitted: BTreeMap<String, String>,
    /// Whether a parser or control has begun that has not entered a state yet.
    pub(super) begins: bool,
    /// Whether the packet is in the parser of its first pass.
    pub(super) is_first: bool,
    /// The call that marked the packet to be dropped, with its location in the source.
    pub(super) marked: Option<String>,
}

impl Fields {
    /// Returns the values for a packet that has just arrived, of which nothing is known.
    pub(super) fn of_arrival() -> Self {
        Self { is_first: true, ..Self::default() }
    }

    /// Records that a state is entered. The block that has begun is therefore a parser.
    pub(super) fn enter_state(&mut self) {
        if std::mem::take(&mut self.begins) {
            self.deparse();
            self.extracted.clear();
        }
    }

    /// Records a header that a parser has extracted.
    pub(super) fn extract(&mut self, name: &str, fields: &[Field]) {
        self.extracted.insert(name.to_owned());
        // A header that only a later parser extracts was in the packet when it was received, too.
        let is_known =
            |known: &BTreeMap<String, String>| known.keys().any(|one| header(one) == name);
        let is_new = !is_known(&self.received) && !self.now.as_ref().is_some_and(is_known);
        if self.is_first || is_new {
            let named =
                fields.iter().map(|one| (format!("{name}.{}", one.name), one.value.clone()));
            self.received.extend(named);
        }
    }

    /// Records the fields that a deparser has emitted: those of a header, or of all headers in a
    /// struct.
    pub(super) fn emit(&mut self, name: &str, fields: &[Field]) {
        let named = fields.iter().map(|one| match one.name.contains('.') {
            true => (one.name.clone(), one.value.clone()),
            false => (format!("{name}.{}", one.name), one.value.clone()),
        });
        self.emitted.extend(named);
    }

    /// Replaces the headers that the last parser extracted by the headers that were emitted.
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

    /// Returns the differences between the current packet and the one that was received: each
    /// header that was added or removed, and each changed field with its values before and after.
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

/// Returns the name of the header to which a field belongs.
fn header(field: &str) -> &str {
    field.rsplit_once('.').map_or("", |(header, _)| header)
}
