//! The identifier by which an entry names its action.

/// The number of an action in its table. It is smaller than the table's number of actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ActionId(pub u16);
