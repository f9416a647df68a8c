//! Judges whether a P4Runtime switch answers as the specification demands.
//!
//! [`judge`] becomes the primary controller of a device and tries the [`requirements`] one after
//! the other, each with requests that are made from the P4Info of the device. A requirement is met
//! or broken, or it cannot be tried on this device, for instance because the program has no table
//! of the kind. The exchange that shows it is kept. Entities that a requirement leaves in the
//! device are deleted before the next one is tried.
//!
//! [`fuzz`] writes random sequences of valid and invalid updates, and compares the device with a
//! model after each request.
//!
//! The rules are stated here from the text of the specification (version 1.5.0), apart from the
//! crates with which this project serves P4Runtime. Only the messages are shared, and the language of
//! constraints on entries, whose evaluator has an oracle in the tests of its crate. Otherwise a rule
//! that was understood wrongly would be confirmed by its own mistake.

mod bench;
mod channel;
mod demands;
mod entities;
mod fuzz;
mod means;
mod openflow;
mod requirements;
mod subject;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};

use crate::bench::Bench;
pub use crate::channel::{ConnectError, Exchange, Target};
pub use crate::demands::{Level, Requirement, Verdict};
pub use crate::fuzz::{
    ConstraintDuty, ConstraintPart, Count, Finding, Fuzzed, Packet, Request, Settings, Step,
    TableCount, fuzz, replay,
};
pub use crate::means::{Means, Wires};
pub use crate::openflow::{Listening, judge_openflow};
pub use crate::requirements::requirements;
use crate::requirements::trials;

/// A requirement that was tried.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The requirement.
    pub requirement: Requirement,
    /// The finding.
    pub verdict: Verdict,
    /// The requests and answers, in order.
    pub exchanges: Vec<Exchange>,
}

/// The findings about a device.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The version of P4Runtime that the device names, or of OpenFlow that was agreed on; `None` if
    /// it names none.
    pub version: Option<String>,
    /// The requirements that were tried, in the order of [`requirements`].
    pub tried: Vec<Tried>,
    /// The entities that could not be deleted after the requirement that created them, each with
    /// the answer of the device.
    pub left: Vec<String>,
}

/// Tries all requirements on a device. If `stop` is set, ends after the current one with the
/// findings until then. `means` has the ports of the device, and says whether pipelines may be
/// committed; requirements that need more are not applicable. `progress` is called with the number of requirements that were tried and
/// of all.
///
/// # Errors
/// Returns an error if the device cannot be reached, has another primary controller, has no
/// pipeline, or refuses the one that is pushed.
pub fn judge(
    target: &Target,
    means: Means,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Outcome, ConnectError> {
    let mut bench = Bench::with(target, means)?;
    let version = bench.version();
    let (mut tried, mut left) = (Vec::new(), Vec::new());
    for trial in trials() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let verdict = bench.attempt(trial);
        left.extend(bench.clean());
        let exchanges = bench.take_exchanges();
        tried.push(Tried { requirement: trial.requirement, verdict, exchanges });
        progress(tried.len() as u64, requirements().count() as u64);
    }
    Ok(Outcome { version, tried, left })
}
