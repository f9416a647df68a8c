//! Runs of the probe for tests: started on a thread from a few settings, and observed or
//! interrupted.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use probe::config::{Origin, PlanKind, Resolved, Settings};
use probe::outcome::{RunResult, Trial};
use probe::rfc8456::BenchmarkWatcher;
use probe::rfc8456::outcome::BenchmarkResult;
use probe::{Live, RunContext, Watcher};

use crate::process::poll;

/// A probe run in progress.
#[derive(Debug)]
pub struct ProbeRun {
    thread: JoinHandle<Result<RunResult, String>>,
    live: Arc<Live>,
    interrupt: Arc<AtomicBool>,
}

impl ProbeRun {
    /// Starts a run with some settings, each a key and a value in the form of its flag.
    ///
    /// # Panics
    ///
    /// Panics if the settings do not make a configuration.
    pub fn start(settings: &[(&str, &str)]) -> Self {
        Self::start_with_file(None, settings)
    }

    /// Starts a run like [`ProbeRun::start`], with the settings of a TOML file below the given
    /// ones.
    ///
    /// # Panics
    ///
    /// Panics if the settings do not make a configuration.
    pub fn start_with_file(file: Option<&Path>, settings: &[(&str, &str)]) -> Self {
        let resolved = resolve(file, settings);
        let live = Arc::new(Live::default());
        let interrupt = Arc::new(AtomicBool::new(false));
        let context = RunContext {
            command: Vec::new(),
            configuration: resolved.values(),
            notes: Vec::new(),
            ports: None,
            live: live.clone(),
            interrupt: interrupt.clone(),
        };
        let thread = std::thread::spawn(move || {
            probe::run(&resolved.config, context, &mut NoWatcher).map_err(|error| error.to_string())
        });
        Self { thread, live, interrupt }
    }

    /// Waits until every packet-in that left was answered, and at least `at_least` were.
    ///
    /// # Panics
    ///
    /// Panics if this does not happen in time.
    pub fn wait_until_answered(&self, at_least: u64, patience: Duration) {
        let done = || self.live.answered() >= at_least && self.live.answered() == self.live.sent();
        let answered = poll(patience, || self.thread.is_finished() || done());
        assert!(
            answered && done(),
            "{} of {} packet-ins answered",
            self.live.answered(),
            self.live.sent()
        );
    }

    /// Returns whether the run has ended, successfully or with an error.
    pub fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    /// Interrupts the run, as Ctrl-C does, and returns its result.
    ///
    /// # Panics
    ///
    /// Panics if the run failed.
    pub fn interrupt(self) -> RunResult {
        self.interrupt.store(true, Ordering::Relaxed);
        self.finish()
    }

    /// Waits for the end of the run and returns its result.
    ///
    /// # Panics
    ///
    /// Panics if the run failed.
    pub fn finish(self) -> RunResult {
        match self.thread.join().expect("the run does not panic") {
            Ok(result) => result,
            Err(error) => panic!("the run failed: {error}"),
        }
    }
}

/// A result of a run that consists of one trial.
pub trait OneTrial {
    /// Returns the only trial.
    ///
    /// # Panics
    ///
    /// Panics if there are none or several.
    fn trial(&self) -> &Trial;
}

impl OneTrial for RunResult {
    fn trial(&self) -> &Trial {
        let trials: Vec<&Trial> = self.points.iter().flat_map(|point| &point.trials).collect();
        match trials.as_slice() {
            [only] => only,
            several => panic!("{} trials where one was expected", several.len()),
        }
    }
}

/// Runs the tests of RFC 8456 that `plan.kind` names, with some settings, each a key and a value in
/// the form of its flag.
///
/// # Panics
///
/// Panics if the settings do not make a configuration with that plan, or if the run failed.
pub fn rfc8456(settings: &[(&str, &str)]) -> BenchmarkResult {
    let resolved = resolve(None, settings);
    let PlanKind::Rfc8456(tests) = resolved.config.plan.kind else {
        panic!("plan.kind is not rfc8456");
    };
    let context = RunContext {
        command: Vec::new(),
        configuration: resolved.values(),
        notes: Vec::new(),
        ports: None,
        live: Arc::new(Live::default()),
        interrupt: Arc::new(AtomicBool::new(false)),
    };
    match probe::rfc8456::run(&resolved.config, tests, context, None, &mut NoWatcher) {
        Ok(result) => result,
        Err(error) => panic!("the run failed: {error}"),
    }
}

fn resolve(file: Option<&Path>, settings: &[(&str, &str)]) -> Resolved {
    let mut given = Settings::new();
    if let Some(file) = file {
        given.read_file(file);
    }
    for (key, value) in settings {
        given.set(key, value, Origin::Flag);
    }
    match given.resolve() {
        Ok(resolved) => resolved,
        Err(error) => panic!("the settings make no configuration:\n{error}"),
    }
}

/// A watcher that ignores all events.
struct NoWatcher;

impl Watcher for NoWatcher {
    fn trial_begins(&mut self, _: u32, _: Option<u32>, _: &str) {}
    fn trial_ended(&mut self, _: &Trial, _: &RunResult) {}
}

impl BenchmarkWatcher for NoWatcher {
    fn trial_begins(&mut self, _: &str) {}
    fn trial_ended(&mut self, _: &BenchmarkResult) {}
}
