//! The requirements, by section of the specification.

mod arbitration;
mod defaults;
mod entries;
mod formatting;
mod pipelines;
mod profiles;
mod reads;
mod replication;
mod resources;
mod streams;
mod writes;

use crate::bench::{Bench, Fault};

/// How strongly the specification demands something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The device has to.
    Must,
    /// The device ought to.
    Should,
}

/// Something that the specification demands of a device.
#[derive(Debug)]
pub struct Requirement {
    /// The section of the P4Runtime specification 1.5.0.
    pub section: &'static str,
    /// The name, which is unique: lower-case words with hyphens.
    pub id: &'static str,
    /// How strongly it is demanded.
    pub level: Level,
    /// A sentence about what the device does.
    pub text: &'static str,
    pub(crate) attempt: Attempt,
}

/// Tries a requirement.
pub(crate) type Attempt = fn(&mut Bench) -> Result<(), Fault>;

/// Returns all requirements, in the order of the sections.
pub fn requirements() -> impl Iterator<Item = &'static Requirement> {
    let all = [
        arbitration::ALL,
        formatting::ALL,
        entries::ALL,
        defaults::ALL,
        resources::ALL,
        profiles::ALL,
        replication::ALL,
        writes::ALL,
        reads::ALL,
        pipelines::ALL,
        streams::ALL,
    ];
    all.into_iter().flatten()
}

const fn must(
    section: &'static str,
    id: &'static str,
    text: &'static str,
    attempt: Attempt,
) -> Requirement {
    Requirement { section, id, level: Level::Must, text, attempt }
}

const fn should(
    section: &'static str,
    id: &'static str,
    text: &'static str,
    attempt: Attempt,
) -> Requirement {
    Requirement { section, id, level: Level::Should, text, attempt }
}
