//! `planimeter probe --plan rfc8456`: runs the tests of RFC 8456.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use loader::{Rehearsals, Settings};
use p4runtime::session::Rehearsal;
use probe::config::{Protocol, Resolved};
use probe::outcome::Completion;
use probe::rfc8456::outcome::BenchmarkResult;
use probe::rfc8456::{BenchmarkWatcher, Tests};
use probe::{Live, RunContext};
use report::RunDirectory;
use report::rfc8456::Candidate;

use crate::failure::{Failure, INTERRUPTED, OUT_OF_REACH};
use crate::interrupt;
use crate::invocation;
use crate::output::{self, layout};
use crate::progress::Progress;
use crate::switch;

/// Runs the tests of RFC 8456, and writes the results into a run directory.
pub(super) fn run(resolved: &Resolved, tests: Tests) -> Result<ExitCode, Failure> {
    let config = &resolved.config;
    let interrupt = interrupt::flag();
    let mut directory = RunDirectory::create_for(config.output.directory.as_deref(), "rfc8456")
        .map_err(Failure::input)?;
    directory.write_configuration(&resolved.to_toml()).map_err(Failure::run)?;
    let live = Arc::new(Live::default());
    let mut notes = resolved.notes.clone();
    let rehearsal = rehearsal(config.protocol, &mut notes);
    let context = RunContext {
        command: invocation::command_line(),
        configuration: resolved.values(),
        notes,
        ports: None,
        live: live.clone(),
        interrupt: interrupt.clone(),
    };
    let name = config.controller.address.clone();
    let mut watcher = Keeper {
        progress: Progress::start(live, config.output.quiet),
        directory: &directory,
        name: &name,
        kept: None,
        trials: 0,
    };
    let outcome = probe::rfc8456::run(config, tests, context, rehearsal, &mut watcher);
    let kept = watcher.kept.take();
    drop(watcher);
    let result = match outcome {
        Ok(result) => result,
        Err(error) => {
            // The results before the error are kept.
            if let Some(mut result) = kept {
                result.completion = Completion::Partial { reason: error.to_string() };
                show(&result, &directory, resolved)?;
            }
            return Err(match interrupt.load(Ordering::Relaxed) {
                true => Failure::Interrupted,
                false => Failure::of_probe(&error),
            });
        }
    };
    show(&result, &directory, resolved)?;
    Ok(match result.completion {
        _ if interrupt.load(Ordering::Relaxed) => ExitCode::from(INTERRUPTED),
        _ if result.controller_was_out_of_reach => ExitCode::from(OUT_OF_REACH),
        Completion::Failed { .. } | Completion::Partial { .. } => ExitCode::from(1),
        Completion::Complete => ExitCode::SUCCESS,
    })
}

/// Prints the result of a run and then writes it into the run directory.
fn show(
    result: &BenchmarkResult,
    directory: &RunDirectory,
    resolved: &Resolved,
) -> Result<(), Failure> {
    let config = &resolved.config;
    let candidate = Candidate { name: &config.controller.address, result };
    let json = report::rfc8456::to_json(result).map_err(Failure::run)?;
    let text = || report::rfc8456::table(&[candidate], layout());
    let write = |directory: &RunDirectory| directory.write_rfc8456(&candidate);
    output::leave(directory, config.output.json, || json, text, write)
}

/// Returns an object that tries each pipeline of the controller in a child process before the
/// pipeline is loaded, or `None` if the protocol has no pipelines. If no child process can be
/// started, returns `None` and adds a note.
fn rehearsal(protocol: Protocol, notes: &mut Vec<String>) -> Option<Arc<dyn Rehearsal>> {
    if protocol != Protocol::P4Runtime {
        return None;
    }
    match Rehearsals::new(switch::loader(), Settings::default()) {
        Ok(rehearsals) => Some(Arc::new(rehearsals)),
        Err(error) => {
            notes
                .push(format!("pipelines of the controller are compiled in this process: {error}"));
            None
        }
    }
}

/// The observer of a run of the RFC 8456 tests. It shows the progress, and writes the results so
/// far to disk.
struct Keeper<'a> {
    progress: Progress,
    directory: &'a RunDirectory,
    name: &'a str,
    /// The results of the run so far, or `None` before there are any.
    kept: Option<BenchmarkResult>,
    trials: u32,
}

impl BenchmarkWatcher for Keeper<'_> {
    fn trial_begins(&mut self, description: &str) {
        self.trials += 1;
        self.progress.trial(self.trials, None, description);
    }

    fn trial_ended(&mut self, result: &BenchmarkResult) {
        let candidate = Candidate { name: self.name, result };
        if let Err(error) = self.directory.write_rfc8456(&candidate) {
            self.progress.line(&format!("planimeter: {error}"));
        }
        self.kept = Some(result.clone());
    }
}
