//! The identifier by which an entry names its action.

/// The number of an action, which is smaller than the number of actions of its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ActionId(pub u16);
