//! Short names of tables and actions, for the text.

use crate::Trace;
use protos::trace::{Action, Event, Node, event::Kind, node::Next};
use std::collections::{BTreeMap, BTreeSet};

/// The short names of the tables and actions in a trace. A short name is the last component of the
/// full name, if it is unambiguous.
pub(super) struct Short {
    tables: BTreeMap<String, String>,
    actions: BTreeMap<String, String>,
}

/// The full names of the tables and actions in a trace.
#[derive(Default)]
struct Found {
    tables: BTreeSet<String>,
    actions: BTreeSet<String>,
}

impl Short {
    pub(super) fn of(trace: &Trace) -> Self {
        let mut found = Found::default();
        trace.root.iter().for_each(|root| found.node(root));
        Self { tables: shortened(found.tables), actions: shortened(found.actions) }
    }

    pub(super) fn table(&self, name: &str) -> String {
        self.tables.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }

    pub(super) fn action(&self, name: &str) -> String {
        self.actions.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }
}

impl Found {
    fn node(&mut self, node: &Node) {
        node.events.iter().for_each(|event| self.event(event));
        match &node.next {
            Some(Next::All(all)) => {
                all.copies.iter().flat_map(|copy| &copy.node).for_each(|node| self.node(node));
            }
            Some(Next::One(choice)) => {
                for alternative in &choice.alternatives {
                    alternative.action.iter().for_each(|action| self.action(action));
                    alternative.node.iter().for_each(|node| self.node(node));
                }
            }
            Some(
                Next::Output(_) | Next::Drop(_) | Next::Wait(_) | Next::Cut(_) | Next::Fault(_),
            )
            | None => {}
        }
    }

    fn event(&mut self, event: &Event) {
        match &event.kind {
            Some(Kind::Table(table)) => {
                self.tables.insert(table.name.clone());
                table.action.iter().for_each(|action| self.action(action));
            }
            Some(Kind::Action(action)) => self.action(action),
            Some(Kind::Added(added)) => {
                self.tables.insert(added.table.clone());
            }
            Some(
                Kind::Pass(_)
                | Kind::Block(_)
                | Kind::State(_)
                | Kind::Extract(_)
                | Kind::Reject(_)
                | Kind::Select(_)
                | Kind::Extern(_)
                | Kind::Branch(_)
                | Kind::Assign(_)
                | Kind::Emit(_)
                | Kind::Log(_)
                | Kind::Request(_),
            )
            | None => {}
        }
    }

    fn action(&mut self, action: &Action) {
        self.actions.insert(action.name.clone());
        action.events.iter().for_each(|event| self.event(event));
    }
}

/// Maps each name to its last component. A name whose last component is not unique is mapped to
/// itself.
fn shortened(names: BTreeSet<String>) -> BTreeMap<String, String> {
    let last = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    names.iter().for_each(|name| *uses.entry(last(name)).or_default() += 1);
    let short = names.into_iter().map(|name| {
        let short = last(&name);
        let is_unique = uses.get(&short) == Some(&1);
        (name.clone(), if is_unique { short } else { name })
    });
    short.collect()
}
