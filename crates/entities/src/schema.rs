//! The objects that a program exposes to the control plane, such as tables, actions and arrays, by
//! identifier and by name, as P4Info describes them.
//!
//! A [`Schema`] is immutable, so that thousands of emulated switches can share one.

mod catalog;
mod ids;
mod objects;

pub use self::catalog::{Catalog, Names};
pub use self::ids::*;
pub use self::objects::*;

/// The objects of a program, which are indexed by identifier and by name.
#[derive(Debug)]
pub struct Schema(Objects);

/// The objects of a program that make up its schema. Whoever creates them guarantees that
/// references between them resolve.
#[derive(Debug)]
pub struct Objects {
    /// The tables.
    pub tables: Catalog<TableId, Table>,
    /// The actions.
    pub actions: Catalog<ActionId, Action>,
    /// The action profiles and action selectors.
    pub action_profiles: Catalog<ActionProfileId, ActionProfile>,
    /// The indirect counters.
    pub counters: Catalog<CounterId, Counter>,
    /// The direct counters.
    pub direct_counters: Catalog<DirectCounterId, DirectCounter>,
    /// The indirect meters.
    pub meters: Catalog<MeterId, Meter>,
    /// The direct meters.
    pub direct_meters: Catalog<DirectMeterId, DirectMeter>,
    /// The registers.
    pub registers: Catalog<RegisterId, Register>,
    /// The digests.
    pub digests: Catalog<DigestId, Digest>,
    /// The parser value sets.
    pub value_sets: Catalog<ValueSetId, ValueSet>,
    /// The instances of externs that the architecture defines.
    pub externs: Catalog<ExternId, ExternInstance>,
    /// The header of packet-ins.
    pub packet_in: Option<PacketHeader>,
    /// The header of packet-outs.
    pub packet_out: Option<PacketHeader>,
}

macro_rules! catalogs {
    ($($(#[$doc:meta])* $name:ident $id:ident $object:ident)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(&self) -> &Catalog<$id, $object> {
            &self.0.$name
        }
    )*};
}

impl Schema {
    /// Creates a schema of these objects.
    #[must_use]
    pub fn new(objects: Objects) -> Self {
        Self(objects)
    }

    catalogs! {
        /// Returns the tables.
        tables TableId Table
        /// Returns the actions.
        actions ActionId Action
        /// Returns the action profiles and action selectors.
        action_profiles ActionProfileId ActionProfile
        /// Returns the indirect counters.
        counters CounterId Counter
        /// Returns the direct counters.
        direct_counters DirectCounterId DirectCounter
        /// Returns the indirect meters.
        meters MeterId Meter
        /// Returns the direct meters.
        direct_meters DirectMeterId DirectMeter
        /// Returns the registers.
        registers RegisterId Register
        /// Returns the digests.
        digests DigestId Digest
        /// Returns the parser value sets.
        value_sets ValueSetId ValueSet
        /// Returns the instances of externs that the architecture defines.
        externs ExternId ExternInstance
    }

    /// Returns the header of packet-ins, if the program declares one (controller packet metadata
    /// named `packet_in`).
    #[must_use]
    pub fn packet_in(&self) -> Option<&PacketHeader> {
        self.0.packet_in.as_ref()
    }

    /// Returns the header of packet-outs, if the program declares one (controller packet metadata
    /// named `packet_out`).
    #[must_use]
    pub fn packet_out(&self) -> Option<&PacketHeader> {
        self.0.packet_out.as_ref()
    }
}
