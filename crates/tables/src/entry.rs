//! The small value that names an action.

/// The action that an entry runs, smaller than the number of actions of its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ActionId(pub u16);
