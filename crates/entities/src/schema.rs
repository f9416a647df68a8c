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

/// The objects of a program, from which its schema is created. The creator must ensure that
/// references between them resolve.
#[derive(Debug)]
pub struct Objects {
    /// The tables of the program.
    pub tables: Catalog<TableId, Table>,
    /// The actions of the program.
    pub actions: Catalog<ActionId, Action>,
    /// The action profiles and action selectors.
    pub action_profiles: Catalog<ActionProfileId, ActionProfile>,
    /// The indirect counters of the program.
    pub counters: Catalog<CounterId, Counter>,
    /// The direct counters of the program.
    pub direct_counters: Catalog<DirectCounterId, DirectCounter>,
    /// The indirect meters of the program.
    pub meters: Catalog<MeterId, Meter>,
    /// The direct meters of the program.
    pub direct_meters: Catalog<DirectMeterId, DirectMeter>,
    /// The registers of the program.
    pub registers: Catalog<RegisterId, Register>,
    /// The digests of the program.
    pub digests: Catalog<DigestId, Digest>,
    /// The parser value sets of the program.
    pub value_sets: Catalog<ValueSetId, ValueSet>,
    /// The instances of externs that the architecture defines.
    pub externs: Catalog<ExternId, ExternInstance>,
    /// The translated types, for whose values controllers use strings, by identifier.
    pub translated_types: Vec<TranslatedType>,
    /// The fields of the header of packet-ins, or `None` if the program declares none.
    pub packet_in: Option<PacketHeader>,
    /// The fields of the header of packet-outs, or `None` if the program declares none.
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
        /// Returns the tables of the program.
        tables TableId Table
        /// Returns the actions of the program.
        actions ActionId Action
        /// Returns the action profiles and action selectors.
        action_profiles ActionProfileId ActionProfile
        /// Returns the indirect counters of the program.
        counters CounterId Counter
        /// Returns the direct counters of the program.
        direct_counters DirectCounterId DirectCounter
        /// Returns the indirect meters of the program.
        meters MeterId Meter
        /// Returns the direct meters of the program.
        direct_meters DirectMeterId DirectMeter
        /// Returns the registers of the program.
        registers RegisterId Register
        /// Returns the digests of the program.
        digests DigestId Digest
        /// Returns the parser value sets of the program.
        value_sets ValueSetId ValueSet
        /// Returns the instances of externs that the architecture defines.
        externs ExternId ExternInstance
    }

    /// Returns the translated types, for whose values controllers use strings, by identifier.
    #[must_use]
    pub fn translated_types(&self) -> &[TranslatedType] {
        &self.0.translated_types
    }

    /// Returns the identifier of the translated type with this name, or `None` if there is none.
    #[must_use]
    pub fn translated_type(&self, name: &str) -> Option<TranslatedTypeId> {
        let mut ids = (0..).map(TranslatedTypeId).zip(&self.0.translated_types);
        ids.find(|(_, of)| of.name == name).map(|(id, _)| id)
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
