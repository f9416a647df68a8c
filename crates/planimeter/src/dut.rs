//! `planimeter dut`: measures a switch (the device under test) from the controller's side.

mod arguments;
mod capacity;
mod commits;
mod conformance;
mod counters;
mod digests;
mod document;
mod effects;
mod fuzz;
mod groups;
mod meters;
mod own_entries;
mod packets;
mod plan;
mod rates;
mod refusal;
mod roles;
pub(crate) mod slow_path;
mod sustained;
mod thresholds;
mod timeouts;
pub(crate) mod traffic;
mod transport;
mod updates;
mod wires;

use std::net::SocketAddr;
use std::process::ExitCode;

use ::dut::{DutError, Watch, measure};
use controllers::openflow::SwitchConnectionError;

use crate::failure::{Failure, INTERRUPTED};
use crate::interrupt;
use crate::invocation;
use crate::output;
use crate::progress::Steps;

pub(crate) use self::arguments::Arguments;

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let judging = &arguments.judging;
    if judging.conformance {
        return conformance::run(arguments);
    }
    if judging.fuzz {
        return fuzz::search(arguments);
    }
    if let Some(file) = &judging.replay {
        return fuzz::replay(arguments, file);
    }
    let mut plan = arguments.plan()?;
    let target = arguments.target(&mut plan)?;
    let directory = output::directory(arguments.output.as_deref(), "dut", arguments.papers)?;
    let interrupt = interrupt::flag();
    let started = invocation::start();
    let mut bar = Bar { steps: Steps::new(arguments.quiet), is_quiet: arguments.quiet };
    let outcome = measure(&target, &plan, &interrupt, &mut bar);
    drop(bar);
    let outcome = outcome.map_err(|error| failure(&error))?;
    let interrupted = interrupt.load(std::sync::atomic::Ordering::Relaxed);
    let mut document = document::of(&target, &outcome, interrupted, started.provenance());
    let broken = thresholds::broken(&outcome, &arguments.threshold, interrupted);
    document.findings.extend(broken.iter().cloned());
    if interrupted && document.sections.is_empty() {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let status = output::leave_document(&directory, &document, arguments.json, interrupted)?;
    broken.iter().for_each(|text| eprintln!("planimeter: {text}"));
    Ok(if broken.is_empty() { status } else { ExitCode::from(1) })
}

fn failure(error: &DutError) -> Failure {
    match error {
        DutError::Switch(SwitchConnectionError::Certificates(error)) => Failure::input(error),
        DutError::Switch(SwitchConnectionError::Interrupted) => Failure::Interrupted,
        DutError::Connect { .. } | DutError::Switch(_) => Failure::OutOfReach(error.to_string()),
        DutError::Maker(_)
        | DutError::Controlled { .. }
        | DutError::NoDevice { .. }
        | DutError::WouldLose { .. }
        | DutError::TooFew { .. }
        | DutError::NotShown { .. }
        | DutError::Listen { .. }
        | DutError::NoPipeline { .. } => Failure::input(error),
        _ => Failure::run(error),
    }
}

/// The progress bar of a measurement.
struct Bar {
    steps: Steps,
    is_quiet: bool,
}

impl Watch for Bar {
    fn step(&mut self, test: &'static str, done: u64, of: u64) {
        self.steps.show(done, of, test);
    }

    fn listens(&mut self, address: SocketAddr) {
        listens(address, self.is_quiet);
    }
}

/// Prints the address at which the command waits for a switch to connect, unless `is_quiet` is set.
fn listens(address: SocketAddr, is_quiet: bool) {
    if !is_quiet {
        eprintln!("planimeter: waiting for an OpenFlow switch at {address}");
    }
}
