//! Whose rules a program runs by, where the architecture leaves a choice or a switch that people use does otherwise.
//!
//! Everything that depends on it asks here, so that a rule has one name and every way to run a program asks the same
//! question.

use ir::Architecture;

/// The rules that a program runs by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// v1model as BMv2's simple_switch runs it.
    SimpleSwitch,
    /// PSA as BMv2's psa_switch runs it (see [`crate::Switch::follow_psa_switch`]).
    PsaSwitch,
    /// PSA by the letter of its specification.
    Psa,
    /// PNA by the letter of its specification.
    Pna,
    /// An architecture of the user's.
    Other,
}

impl Dialect {
    /// The rules of an architecture if nobody says otherwise.
    #[must_use]
    pub fn of(architecture: &Architecture) -> Self {
        match architecture {
            Architecture::V1model => Self::SimpleSwitch,
            Architecture::Psa => Self::Psa,
            Architecture::Pna => Self::Pna,
            Architecture::Other(_) => Self::Other,
        }
    }

    /// One of BMv2's switches: direct counters count and direct meters run on each hit, whether the action calls them
    /// or not; tables with an action profile have no default action; a selector takes the whole hash; a `select`
    /// that nothing fits ends the parser without an error.
    #[must_use]
    pub fn is_bmv2(self) -> bool {
        matches!(self, Self::SimpleSwitch | Self::PsaSwitch)
    }

    /// A parser advances by whole bytes, and a table without keys has an entry without keys.
    #[must_use]
    pub(crate) fn is_of_switches(self) -> bool {
        matches!(self, Self::SimpleSwitch | Self::PsaSwitch | Self::Psa)
    }

    /// Whether fields of invalid headers are left out of what is hashed (`src/bm_sim/calculations.cpp`); the externs of
    /// psa_switch take all.
    #[must_use]
    pub(crate) fn hashes_valid_headers_only(self) -> bool {
        self == Self::SimpleSwitch
    }
}
