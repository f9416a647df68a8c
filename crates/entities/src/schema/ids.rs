//! Identifiers that P4Info assigns.
//!
//! All are numbers of 32 bits on the wire; a type for each keeps an action from being looked up
//! among the tables. Identifiers of objects print in hexadecimal, because their first byte names
//! the kind of object (specification 1.5, "ID Allocation for P4Info Objects"); identifiers that
//! are local to an object print in decimal.

use std::fmt;

macro_rules! ids {
    ($format:literal: $($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, $format, self.0)
            }
        }

        impl From<$name> for u32 {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    )*};
}

ids! { "{:#010x}":
    /// A table.
    TableId
    /// An action.
    ActionId
    /// An action profile or action selector.
    ActionProfileId
    /// An indirect counter array.
    CounterId
    /// The direct counter of a table.
    DirectCounterId
    /// An indirect meter array.
    MeterId
    /// The direct meter of a table.
    DirectMeterId
    /// A register array.
    RegisterId
    /// A digest.
    DigestId
    /// A parser value set.
    ValueSetId
    /// An instance of an extern that the architecture defines.
    ExternId
    /// The type of such an extern.
    ExternTypeId
}

ids! { "{}":
    /// A field of the key of one table or value set.
    MatchFieldId
    /// A parameter of one action.
    ParamId
    /// A field of one controller packet header.
    MetadataId
}
