//! The task of a device in one cell: to apply the rules of a table, or to run a program of given
//! parts.

use std::sync::Arc;

use super::part::{self, Part};
use super::traffic::Subject;

/// The task that a device has in one cell (a set of functions to measure), independent of the
/// protocol that configures the device.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Task {
    /// A table of rules, of which one matches the packets. Any switch can hold such a table.
    Rule(Subject),
    /// A P4 program that contains given parts and also forwards packets.
    Program(PartsSubject),
}

/// A generated P4 program that contains given parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PartsSubject {
    /// The parts that the program contains beyond the baseline program.
    pub parts: Arc<[Part]>,
    /// The length of a packet in bytes, with frame check sequence.
    pub packet_bytes: u32,
    /// The number of entries in each table with keys. A table has fewer entries if its narrowest
    /// key has fewer values.
    pub rules: u32,
}

impl Task {
    /// Returns the length of a packet in bytes, with frame check sequence.
    #[must_use]
    pub fn packet_bytes(&self) -> u32 {
        match self {
            Self::Rule(subject) => subject.packet_bytes,
            Self::Program(subject) => subject.packet_bytes,
        }
    }

    /// Returns the table of rules, or `None` if the task is a program.
    pub(super) fn rule(&self) -> Option<Subject> {
        match self {
            Self::Rule(subject) => Some(*subject),
            Self::Program(_) => None,
        }
    }
}

impl From<Subject> for Task {
    fn from(subject: Subject) -> Self {
        Self::Rule(subject)
    }
}

impl PartsSubject {
    /// Returns the least packet length that holds all headers and the identifier, in bytes with
    /// frame check sequence.
    #[must_use]
    pub fn least_bytes(&self) -> u32 {
        super::traffic::least_bytes(part::header_bytes(&self.parts))
    }
}
