//! The identifier of an action, which entries and packets name actions by.

/// The number of an action, which is smaller than the number of actions of its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ActionId(pub u16);
