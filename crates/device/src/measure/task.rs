//! What a device is to do with which packets: one rule of a table, or a program of some parts.

use std::sync::Arc;

use super::part::{self, Part};
use super::traffic::Subject;

/// A cell as the devices see it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Task {
    /// What one rule does, which any switch can be told.
    Rule(Subject),
    /// What a program does, beside forwarding.
    Program(PartsSubject),
}

/// A program of some parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PartsSubject {
    /// What it has beside the baseline.
    pub parts: Arc<[Part]>,
    /// Length of a packet in bytes, with frame check sequence.
    pub packet_bytes: u32,
    /// Entries of each table.
    pub rules: u32,
}

impl Task {
    /// Length of a packet in bytes, with frame check sequence.
    #[must_use]
    pub fn packet_bytes(&self) -> u32 {
        match self {
            Self::Rule(subject) => subject.packet_bytes,
            Self::Program(subject) => subject.packet_bytes,
        }
    }

    /// The rule, for devices that run no programs.
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
    /// The least length that packets can have, with frame check sequence.
    #[must_use]
    pub fn least_bytes(&self) -> u32 {
        super::traffic::least_bytes(part::header_bytes(&self.parts))
    }
}
