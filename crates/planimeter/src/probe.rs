//! `planimeter probe`: benchmarks a controller.

pub(crate) mod arguments;
mod null;
pub(crate) mod paths;
mod rfc8456;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ArgMatches;
use probe::config::{Config, Mode, PlanKind, Resolved};
use probe::outcome::{Completion, RunResult, ThresholdOutcome, Trial};
use probe::{HeldPorts, Live, RunContext, Watcher};
use ranks::Group;
use report::RunDirectory;

use crate::failure::{Failure, INTERRUPTED, OUT_OF_REACH};
use crate::interrupt;
use crate::invocation;
use crate::output::{self, layout};
use crate::progress::Progress;

pub(crate) fn run(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    if let Some(file) = arguments::paths(matches) {
        return paths::run(matches, file);
    }
    let mut resolved = arguments::resolve(matches)?;
    // The notes are in the result too, but a user who migrates needs them before an hour of
    // measuring.
    for note in &resolved.notes {
        eprintln!("planimeter: {note}");
    }
    if arguments::prints_configuration(matches) {
        print!("{}", resolved.to_toml());
        return Ok(ExitCode::SUCCESS);
    }
    if arguments::serves(matches) {
        return serve(&resolved.config);
    }
    if let Some(group) = ranks::join().map_err(Failure::input)? {
        return together(&resolved, arguments::calibrates(matches), group);
    }
    if let PlanKind::Rfc8456(tests) = resolved.config.plan.kind {
        if arguments::calibrates(matches) {
            return Err(Failure::input(
                "--calibrate has no topology and no paths; give the tests of RFC 8456 a controller, such as \
                 planimeter controller -a paths",
            ));
        }
        return rfc8456::run(&resolved, tests);
    }
    let isolates = resolved.config.isolate
        || resolved.config.traffic.mode == Mode::Open
            && probe::leaves_a_core(resolved.config.threads);
    let null = match (arguments::calibrates(matches), isolates) {
        (false, _) => None,
        (true, false) => Some(null::start(&resolved.config)?),
        (true, true) => {
            Some(probe::beside_engine(resolved.config.threads, || null::start(&resolved.config))?)
        }
    };
    let (null, ports) = null.unzip();
    if let Some(controller) = &null {
        let process = format!("pid:{}", controller.process_id());
        let address = format!("127.0.0.1:{}", controller.port());
        let isolate = if isolates { "true" } else { "false" };
        let fixed = [
            ("controller.process", process.as_str()),
            ("controller.address", &address),
            ("isolate", isolate),
        ];
        resolved = arguments::resolve_with(matches, &fixed)?;
    }
    let mut notes = resolved.notes.clone();
    notes.extend(null.as_ref().and_then(|_| null::note(&resolved.config)));
    let interrupt = interrupt::flag();
    let result = measure(&resolved, notes, ports, interrupt.clone(), None)?;
    let allow_missing = resolved.config.timing.allow_missing;
    Ok(ExitCode::from(verdict(&result, interrupt.load(Ordering::Relaxed), allow_missing)))
}

/// Runs `planimeter probe` in several processes (ranks), which share the emulated switches. The
/// first rank writes the run directory.
fn together(resolved: &Resolved, calibrates: bool, mut group: Group) -> Result<ExitCode, Failure> {
    if calibrates {
        return Err(Failure::input(
            "--calibrate starts a controller of this process, and several ranks share one: start \
             planimeter controller -a null, and name it with --controller",
        ));
    }
    let interrupt = interrupt::flag();
    let status = match group.is_first() {
        true => {
            let notes = resolved.notes.clone();
            let result = measure(resolved, notes, None, interrupt.clone(), Some(&mut group))?;
            let allow_missing = resolved.config.timing.allow_missing;
            verdict(&result, interrupt.load(Ordering::Relaxed), allow_missing)
        }
        false => {
            let live = Arc::new(Live::default());
            probe::follow(&resolved.config, &live, &interrupt, &mut group)
                .map_err(|error| Failure::of_probe(&error))?;
            if interrupt.load(Ordering::Relaxed) { INTERRUPTED } else { 0 }
        }
    };
    // Leaving may end the process.
    std::io::stdout().flush().map_err(Failure::run)?;
    group.leave(status);
    Ok(ExitCode::from(status))
}

/// Emulates the switches, without a measurement, until the user interrupts the process.
fn serve(config: &Config) -> Result<ExitCode, Failure> {
    let interrupt = interrupt::flag();
    let live = Arc::new(Live::default());
    let progress = Progress::start(live.clone(), config.output.quiet);
    let count = config.switches.count;
    progress.line(&format!("planimeter: emulating {count} switches; Ctrl-C ends that"));
    let ready = || progress.line(&format!("planimeter: all {count} switches are ready"));
    let served = probe::serve(config, &live, &interrupt, ready);
    drop(progress);
    served.map_err(|error| Failure::of_probe(&error))?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the configured measurements of a controller, and writes the results into a run directory.
fn measure(
    resolved: &Resolved,
    notes: Vec<String>,
    ports: Option<HeldPorts>,
    interrupt: Arc<AtomicBool>,
    group: Option<&mut Group>,
) -> Result<RunResult, Failure> {
    let config = &resolved.config;
    let mut directory =
        RunDirectory::create(config.output.directory.as_deref()).map_err(Failure::input)?;
    directory.write_configuration(&resolved.to_toml()).map_err(Failure::run)?;
    let live = Arc::new(Live::default());
    let context = RunContext {
        command: invocation::command_line(),
        configuration: resolved.values(),
        notes,
        ports,
        live: live.clone(),
        interrupt: interrupt.clone(),
    };
    let mut watcher = Keeper {
        progress: Progress::start(live, config.output.quiet),
        directory: &directory,
        kept: None,
        quiet: config.output.quiet,
    };
    let outcome = match group {
        None => probe::run(config, context, &mut watcher),
        Some(group) => probe::lead(config, context, &mut watcher, group),
    };
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
            // Failing to reach the controller after an interrupt says nothing about the controller.
            return Err(match interrupt.load(Ordering::Relaxed) {
                true => Failure::Interrupted,
                false => Failure::of_probe(&error),
            });
        }
    };
    show(&result, &directory, resolved)?;
    Ok(result)
}

/// Prints the result of a run and then writes it into the run directory. The result is printed
/// first, because the disk may be full.
pub(crate) fn show(
    result: &RunResult,
    directory: &RunDirectory,
    resolved: &Resolved,
) -> Result<(), Failure> {
    let json = report::json::to_json(result).map_err(Failure::run)?;
    let text = || report::table(result, layout());
    let as_json = resolved.config.output.json;
    output::leave(directory, as_json, || json, text, |directory| directory.write(result))
}

/// Returns the exit status of `planimeter probe`: 1 if a threshold failed or could not be checked,
/// or if the result is incomplete; 3 if nothing was measured because the controller could not be
/// reached; 130 if the user interrupted the run and no threshold had failed by then; and 0
/// otherwise. A partial result counts as complete only if missing switches are allowed and nothing
/// else is missing.
fn verdict(result: &RunResult, interrupted: bool, allow_missing: bool) -> u8 {
    let broken = |threshold: &ThresholdOutcome| !threshold.held;
    // A metric that was not measured because of an interrupt says nothing about the controller.
    let measured = |threshold: &ThresholdOutcome| threshold.value.is_some() || !interrupted;
    let fails = result.thresholds.iter().any(|threshold| broken(threshold) && measured(threshold));
    match &result.completion {
        _ if fails && !result.controller_was_out_of_reach() => 1,
        Completion::Failed { .. } | Completion::Partial { .. } if interrupted => INTERRUPTED,
        Completion::Failed { .. } if result.controller_was_out_of_reach() => OUT_OF_REACH,
        Completion::Failed { .. } => 1,
        Completion::Partial { .. }
            if allow_missing && result.lacks_only_switches() && !result.lost_a_rank() =>
        {
            0
        }
        Completion::Partial { .. } => 1,
        Completion::Complete => 0,
    }
}

/// The observer of a run. It shows the progress, and writes the results so far to disk, so that
/// they survive if the process is killed.
pub(crate) struct Keeper<'a> {
    pub(crate) progress: Progress,
    pub(crate) directory: &'a RunDirectory,
    pub(crate) kept: Option<RunResult>,
    pub(crate) quiet: bool,
}

impl Watcher for Keeper<'_> {
    fn trial_begins(&mut self, number: u32, planned: Option<u32>, description: &str) {
        self.progress.trial(number, planned, description);
    }

    fn trial_ended(&mut self, trial: &Trial, result: &RunResult) {
        if let Completion::Partial { reason } | Completion::Failed { reason } = &trial.completion
            && !self.quiet
        {
            // The reason why no switch connected is more important than the time limit.
            let line = match &trial.handshake.why_zero {
                Some(why) if trial.handshake.ready == 0 => format!("planimeter: {why} ({reason})"),
                _ => format!("planimeter: {reason}"),
            };
            self.progress.line(&line);
        }
        if let Err(error) = self.directory.write_partial(result) {
            self.progress.line(&format!("planimeter: {error}"));
        }
        self.kept = Some(result.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct NoWatcher;

    impl Watcher for NoWatcher {
        fn trial_begins(&mut self, _: u32, _: Option<u32>, _: &str) {}
        fn trial_ended(&mut self, _: &Trial, _: &RunResult) {}
    }

    /// Returns the result for a controller that cannot be reached.
    fn out_of_reach() -> RunResult {
        let absent = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = absent.local_addr().expect("bound").to_string();
        drop(absent);
        let words = ["probe", "-c", &address, "-n", "1", "--connect-timeout", "100ms"];
        let matches = arguments::command().get_matches_from(words);
        let config = arguments::resolve(&matches).expect("a configuration").config;
        let context = RunContext {
            command: Vec::new(),
            configuration: Default::default(),
            notes: Vec::new(),
            ports: None,
            live: Arc::default(),
            interrupt: Arc::default(),
        };
        probe::run(&config, context, &mut NoWatcher).expect("a result")
    }

    fn threshold(value: Option<f64>, held: bool) -> ThresholdOutcome {
        let (condition, point) = ("loss == 0".to_owned(), String::new());
        ThresholdOutcome { condition, point, value, held, testable: true, remark: None }
    }

    #[test]
    fn the_exit_status_distinguishes_a_missed_threshold_from_a_missing_controller() {
        let partial = || Completion::Partial { reason: String::new() };
        let failed = || Completion::Failed { reason: String::new() };
        let (held, broken) = (threshold(Some(0.0), true), threshold(Some(1.0), false));
        let unjudged = threshold(None, false);
        let mut unreached = out_of_reach();
        unreached.thresholds = vec![unjudged.clone()];
        let measured =
            RunResult { points: Vec::new(), thresholds: Vec::new(), ..unreached.clone() };
        let result = |completion, thresholds: &[&ThresholdOutcome]| RunResult {
            completion,
            thresholds: thresholds.iter().copied().cloned().collect(),
            ..measured.clone()
        };
        // One of two trials has no figures at all, so more than switches is missing.
        let mut lacking = result(partial(), &[]);
        lacking.points = unreached.points.clone();
        for (result, interrupted, allow_missing, status) in [
            (unreached, false, false, OUT_OF_REACH),
            (result(failed(), &[]), false, false, 1),
            (result(failed(), &[&unjudged]), true, false, INTERRUPTED),
            (result(Completion::Complete, &[]), false, false, 0),
            (result(Completion::Complete, &[&held]), false, false, 0),
            (result(Completion::Complete, &[&held, &broken]), false, true, 1),
            (result(Completion::Complete, &[&unjudged]), false, true, 1),
            // A partial result is not a success, unless missing switches are allowed.
            (result(partial(), &[]), false, false, 1),
            (result(partial(), &[]), false, true, 0),
            (lacking.clone(), false, true, 1),
            (lacking, false, false, 1),
            (result(partial(), &[&held]), false, false, 1),
            (result(partial(), &[&held]), false, true, 0),
            (result(partial(), &[&held]), true, false, INTERRUPTED),
            (result(partial(), &[&unjudged]), true, false, INTERRUPTED),
            (result(partial(), &[&broken]), true, false, 1),
        ] {
            let actual = verdict(&result, interrupted, allow_missing);
            let about = format!("{:?} {:?} {interrupted}", result.completion, result.thresholds);
            assert_eq!(actual, status, "{about}");
        }
    }
}
