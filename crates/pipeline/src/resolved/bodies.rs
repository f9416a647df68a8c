//! The bodies of parsers, controls, actions and functions in resolved form, with offsets instead of
//! names.

use super::{Body, Callee};
use std::collections::HashMap;

/// The resolved bodies in the order in which they were completed, so that each comes after those
/// that it calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bodies {
    list: Vec<(Callee, Body)>,
    positions: HashMap<Callee, usize>,
}

impl Bodies {
    /// Returns the body of a parser, control, action or function, if it has been resolved.
    pub(crate) fn get(&self, callee: Callee) -> Option<&Body> {
        let position = *self.positions.get(&callee)?;
        self.list.get(position).map(|(_, body)| body)
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, (Callee, Body)> {
        self.list.iter()
    }

    pub(crate) fn get_mut(&mut self, callee: Callee) -> Option<&mut Body> {
        let position = *self.positions.get(&callee)?;
        self.list.get_mut(position).map(|(_, body)| body)
    }

    pub(super) fn contains(&self, callee: Callee) -> bool {
        self.positions.contains_key(&callee)
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn push(&mut self, callee: Callee, body: Body) {
        self.positions.insert(callee, self.list.len());
        self.list.push((callee, body));
    }

    /// Keeps the first `length` bodies and removes all others.
    pub(super) fn truncate(&mut self, length: usize) {
        for (callee, _) in self.list.drain(length.min(self.list.len())..) {
            self.positions.remove(&callee);
        }
    }
}

impl<'b> IntoIterator for &'b Bodies {
    type Item = &'b (Callee, Body);
    type IntoIter = std::slice::Iter<'b, (Callee, Body)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
