//! The rules by which a program runs where the specification of its architecture leaves a choice,
//! or where a widely used switch deviates from the specification.
//!
//! All code that depends on such a rule queries it here, so that each rule has one name and the
//! interpreter and machine code agree on it.

use ir::Architecture;

/// The switch, or the specification, whose rules a program follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// v1model as BMv2's simple_switch runs it.
    SimpleSwitch,
    /// PSA as BMv2's psa_switch runs it (see [`crate::Switch::follow_psa_switch`]).
    PsaSwitch,
    /// PSA as its specification describes it.
    Psa,
    /// PNA as its specification describes it.
    Pna,
    /// A user-defined architecture, or one for BPF.
    Other,
}

impl Dialect {
    /// Returns the default rules of an architecture.
    #[must_use]
    pub fn of(architecture: &Architecture) -> Self {
        match architecture {
            Architecture::V1model => Self::SimpleSwitch,
            Architecture::Psa => Self::Psa,
            Architecture::Pna => Self::Pna,
            Architecture::Other(_) => Self::Other,
        }
    }

    /// Returns whether the program follows the rules of BMv2's switches: direct counters and direct
    /// meters run on each hit, whether or not the action calls them; tables with an action profile
    /// have no default action from the program; a selector uses the whole hash; a `select` without
    /// a matching case ends the parser without an error.
    #[must_use]
    pub fn is_bmv2(self) -> bool {
        matches!(self, Self::SimpleSwitch | Self::PsaSwitch)
    }

    /// Returns whether parsers advance only by whole bytes, and whether a packet can hit an entry
    /// of a table without keys (otherwise every packet misses). BMv2's switches have both
    /// properties.
    #[must_use]
    pub(crate) fn is_of_switches(self) -> bool {
        matches!(self, Self::SimpleSwitch | Self::PsaSwitch | Self::Psa)
    }

    /// Returns whether hashes leave out the fields of invalid headers, as in BMv2
    /// (`src/bm_sim/calculations.cpp`). The externs of psa_switch include them.
    #[must_use]
    pub(crate) fn hashes_valid_headers_only(self) -> bool {
        self == Self::SimpleSwitch
    }
}
