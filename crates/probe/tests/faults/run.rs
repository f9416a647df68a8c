//! Runs the probe for tests, and fails if a run does not end within a time limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use probe::config::{Config, Origin, Settings};
use probe::outcome::{RunResult, Trial};
use probe::{Live, Phase, RunContext, Watcher, run as run_probe};

use super::BOUND;

/// Runs one trial.
pub(crate) fn run(settings: &[(&str, &str)]) -> Trial {
    only(try_run(settings).unwrap_or_else(|error| panic!("{error}")))
}

/// Runs, and returns the result or the error message.
pub(crate) fn try_run(settings: &[(&str, &str)]) -> Result<RunResult, String> {
    RunningProbe::start(settings).finish()
}

/// Runs one trial until it is in a phase, and then interrupts it.
pub(crate) fn interrupted(settings: &[(&str, &str)], phase: Phase) -> Trial {
    only(interrupted_in(settings, phase))
}

/// Runs until a trial is in a phase, and then interrupts the run.
pub(crate) fn interrupted_in(settings: &[(&str, &str)], phase: Phase) -> RunResult {
    let going = RunningProbe::start(settings);
    going.wait_until(|live| live.phase() == phase);
    going.interrupt()
}

/// Runs one trial until this number of packet-ins have left, and then interrupts it.
pub(crate) fn interrupted_after(settings: &[(&str, &str)], packet_ins: u64) -> Trial {
    let going = RunningProbe::start(settings);
    going.wait_until(|live| live.sent() >= packet_ins);
    only(going.interrupt())
}

/// Runs until the first trial has ended, and then interrupts the run.
pub(crate) fn interrupted_after_a_trial(settings: &[(&str, &str)]) -> RunResult {
    let going = RunningProbe::start(settings);
    going.trial_ended.recv_timeout(BOUND).expect("a trial ends");
    going.interrupt()
}

fn only(result: RunResult) -> Trial {
    let mut trials = result.points.into_iter().flat_map(|point| point.trials);
    let trial = trials.next().expect("a trial");
    assert!(trials.next().is_none(), "one trial was asked for");
    trial
}

/// A run in a thread of its own.
struct RunningProbe {
    live: Arc<Live>,
    interrupt: Arc<AtomicBool>,
    trial_ended: mpsc::Receiver<()>,
    result: mpsc::Receiver<Result<RunResult, String>>,
}

impl RunningProbe {
    fn start(settings: &[(&str, &str)]) -> Self {
        let config = resolve(settings);
        let live = Arc::new(Live::default());
        let interrupt = Arc::new(AtomicBool::new(false));
        let context = RunContext {
            command: Vec::new(),
            configuration: Default::default(),
            notes: Vec::new(),
            ports: None,
            live: live.clone(),
            interrupt: interrupt.clone(),
        };
        let (ended, trial_ended) = mpsc::channel();
        let (done, result) = mpsc::channel();
        std::thread::spawn(move || {
            let outcome = run_probe(&config, context, &mut Teller(ended));
            let _ = done.send(outcome.map_err(|error| error.to_string()));
        });
        Self { live, interrupt, trial_ended, result }
    }

    fn wait_until(&self, reached: impl Fn(&Live) -> bool) {
        let deadline = Instant::now() + BOUND;
        while !reached(&self.live) {
            assert!(Instant::now() < deadline, "stuck in phase {:?}", self.live.phase());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn interrupt(self) -> RunResult {
        self.interrupt.store(true, Ordering::Relaxed);
        self.finish().unwrap_or_else(|error| panic!("{error}"))
    }

    fn finish(self) -> Result<RunResult, String> {
        self.result.recv_timeout(BOUND).expect("the run ends in bounded time")
    }
}

fn resolve(settings: &[(&str, &str)]) -> Config {
    let mut given = Settings::new();
    for (key, value) in settings {
        given.set(key, value, Origin::Flag);
    }
    match given.resolve() {
        Ok(resolved) => resolved.config,
        Err(error) => panic!("the settings make no configuration:\n{error}"),
    }
}

struct Teller(mpsc::Sender<()>);

impl Watcher for Teller {
    fn trial_begins(&mut self, _: u32, _: Option<u32>, _: &str) {}

    fn trial_ended(&mut self, _: &Trial, _: &RunResult) {
        let _ = self.0.send(());
    }
}
