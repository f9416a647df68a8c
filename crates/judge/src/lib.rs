//! Judges whether a P4Runtime switch answers as the specification demands.
//!
//! [`judge`] becomes the primary controller of a device and tries the [`requirements`] one after
//! the other, each with requests that are generated from the P4Info of the device. A requirement is
//! met or broken, or it cannot be tried on this device, for instance because the program has no
//! suitable table. The requests and answers that show this are kept. Entities that a requirement
//! leaves in the device are deleted before the next one is tried.
//!
//! [`fuzz`] sends random sequences of valid and invalid updates, and compares the device with a
//! model after each request.
//!
//! The rules are implemented here from the text of the specification (version 1.5.0), independently
//! of the crates with which this project serves P4Runtime. Otherwise a misunderstood rule would be
//! confirmed by the same mistake in the switch. Only two things are shared: the messages, and the
//! language of constraints on entries, whose evaluator is checked by the tests of its own crate.

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

/// A requirement that was tried, with the verdict on it.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The requirement that was tried.
    pub requirement: Requirement,
    /// The verdict on the requirement.
    pub verdict: Verdict,
    /// The requests that were sent and their answers, in order.
    pub exchanges: Vec<Exchange>,
}

/// The verdicts on all requirements for a device.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The version of P4Runtime that the device reports, or the version of OpenFlow on which both
    /// sides agreed. `None` if the device reports none.
    pub version: Option<String>,
    /// The requirements that were tried, in the order of [`requirements`].
    pub tried: Vec<Tried>,
    /// The entities that could not be deleted after the requirement that created them, each with
    /// the device's answer.
    pub left: Vec<String>,
}

/// Tries all requirements on a device. If `stop` is set, ends after the current requirement, with
/// the verdicts so far. `means` has the ports of the device, and says whether pipelines may be
/// committed; requirements that need what it lacks are not applicable. Calls `progress` with the
/// number of requirements tried so far and the number of all.
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
