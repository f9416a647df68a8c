//! Identifiers that P4Info assigns.
//!
//! All identifiers are 32-bit numbers on the wire; distinct types prevent, for example, looking up
//! an action among the tables. Identifiers of objects print in hexadecimal, because their first
//! byte denotes the kind of object (specification 1.5, "ID Allocation for P4Info Objects").
//! Identifiers that are local to an object print in decimal.

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
    /// The identifier of a table.
    TableId
    /// The identifier of an action.
    ActionId
    /// The identifier of an action profile or action selector.
    ActionProfileId
    /// The identifier of an indirect counter array.
    CounterId
    /// The identifier of the direct counter of a table.
    DirectCounterId
    /// The identifier of an indirect meter array.
    MeterId
    /// The identifier of the direct meter of a table.
    DirectMeterId
    /// The identifier of a register array.
    RegisterId
    /// The identifier of a digest.
    DigestId
    /// The identifier of a parser value set.
    ValueSetId
    /// The identifier of an instance of an extern that the architecture defines.
    ExternId
    /// The identifier of the type of an extern that the architecture defines.
    ExternTypeId
}

ids! { "{}":
    /// The identifier of a key field of a table or value set.
    MatchFieldId
    /// The identifier of an action parameter.
    ParamId
    /// The identifier of a field of a controller packet header.
    MetadataId
}
