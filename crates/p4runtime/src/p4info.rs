//! P4Info, checked and indexed.
//!
//! A [`Schema`] is made once from a P4Info message and then only read: thousands of emulated
//! switches share one behind an [`Arc`]. It holds no state of a switch.
//!
//! The check refuses what would make an update ambiguous or an index dangle: identifiers that
//! are zero or used twice, references to objects that do not exist, widths and sizes below zero,
//! types that do not resolve. It does not insist on the identifier prefixes of the specification
//! or on unique names, so that a P4Info written by hand serves too.

mod build;
mod catalog;
pub mod data;
mod error;
mod ids;
mod objects;
mod print;
#[cfg(test)]
mod tests;
pub mod text;

use std::sync::Arc;

pub use self::catalog::Catalog;
pub use self::error::SchemaError;
pub use self::ids::*;
pub use self::objects::*;
use crate::proto::config::P4Info;

/// A checked P4Info, indexed by identifier and by name.
#[derive(Debug)]
pub struct Schema {
    p4info: P4Info,
    tables: Catalog<TableId, Table>,
    actions: Catalog<ActionId, Action>,
    action_profiles: Catalog<ActionProfileId, ActionProfile>,
    counters: Catalog<CounterId, Counter>,
    direct_counters: Catalog<DirectCounterId, DirectCounter>,
    meters: Catalog<MeterId, Meter>,
    direct_meters: Catalog<DirectMeterId, DirectMeter>,
    registers: Catalog<RegisterId, Register>,
    digests: Catalog<DigestId, Digest>,
    value_sets: Catalog<ValueSetId, ValueSet>,
    externs: Catalog<ExternId, ExternInstance>,
    packet_in: Option<PacketHeader>,
    packet_out: Option<PacketHeader>,
}

impl Schema {
    /// Checks `p4info` and indexes it.
    pub fn new(p4info: P4Info) -> Result<Arc<Self>, SchemaError> {
        build::schema(p4info).map(Arc::new)
    }

    /// The message that the schema was made from.
    pub fn p4info(&self) -> &P4Info {
        &self.p4info
    }

    /// The tables.
    pub fn tables(&self) -> &Catalog<TableId, Table> {
        &self.tables
    }

    /// The actions.
    pub fn actions(&self) -> &Catalog<ActionId, Action> {
        &self.actions
    }

    /// The action profiles and action selectors.
    pub fn action_profiles(&self) -> &Catalog<ActionProfileId, ActionProfile> {
        &self.action_profiles
    }

    /// The indirect counters.
    pub fn counters(&self) -> &Catalog<CounterId, Counter> {
        &self.counters
    }

    /// The direct counters.
    pub fn direct_counters(&self) -> &Catalog<DirectCounterId, DirectCounter> {
        &self.direct_counters
    }

    /// The indirect meters.
    pub fn meters(&self) -> &Catalog<MeterId, Meter> {
        &self.meters
    }

    /// The direct meters.
    pub fn direct_meters(&self) -> &Catalog<DirectMeterId, DirectMeter> {
        &self.direct_meters
    }

    /// The registers.
    pub fn registers(&self) -> &Catalog<RegisterId, Register> {
        &self.registers
    }

    /// The digests.
    pub fn digests(&self) -> &Catalog<DigestId, Digest> {
        &self.digests
    }

    /// The parser value sets.
    pub fn value_sets(&self) -> &Catalog<ValueSetId, ValueSet> {
        &self.value_sets
    }

    /// The instances of externs that the architecture defines.
    pub fn externs(&self) -> &Catalog<ExternId, ExternInstance> {
        &self.externs
    }

    /// The header of packet-ins, if the program declares one (controller packet metadata named
    /// `packet_in`).
    pub fn packet_in(&self) -> Option<&PacketHeader> {
        self.packet_in.as_ref()
    }

    /// The header of packet-outs, if the program declares one (controller packet metadata named
    /// `packet_out`).
    pub fn packet_out(&self) -> Option<&PacketHeader> {
        self.packet_out.as_ref()
    }
}
