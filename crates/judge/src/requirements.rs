//! The requirements of P4Runtime, in modules by section of the specification.

mod arbitration;
mod commits;
mod defaults;
mod entries;
mod formatting;
mod packets;
mod pipelines;
mod profiles;
mod reads;
mod replication;
mod resources;
mod roles;
mod streams;
mod writes;

use crate::bench::Bench;
use crate::demands::{Fault, Level, Requirement};

/// A requirement, and the function that tries it.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) requirement: Requirement,
    pub(crate) attempt: Attempt,
}

/// A function that tries a requirement on the bench.
pub(crate) type Attempt = fn(&mut Bench) -> Result<(), Fault>;

/// Returns all requirements of P4Runtime, in the order of the sections.
pub fn requirements() -> impl Iterator<Item = &'static Requirement> {
    trials().map(|trial| &trial.requirement)
}

pub(crate) fn trials() -> impl Iterator<Item = &'static Trial> {
    let all = [
        arbitration::ALL,
        roles::ALL,
        formatting::ALL,
        entries::ALL,
        defaults::ALL,
        resources::ALL,
        profiles::ALL,
        replication::ALL,
        writes::ALL,
        reads::ALL,
        pipelines::ALL,
        commits::ALL,
        streams::ALL,
        packets::ALL,
    ];
    all.into_iter().flatten()
}

const fn must(
    section: &'static str,
    id: &'static str,
    text: &'static str,
    attempt: Attempt,
) -> Trial {
    Trial { requirement: Requirement { section, id, level: Level::Must, text }, attempt }
}

const fn should(
    section: &'static str,
    id: &'static str,
    text: &'static str,
    attempt: Attempt,
) -> Trial {
    Trial { requirement: Requirement { section, id, level: Level::Should, text }, attempt }
}
