//! Runs generated tests on a switch, and measures the processor cycles that their packets take.

use std::sync::Arc;

use ::throughput::run::{Repeated, Settings, repeated};
use ::throughput::traffic::{Given, Setup, TrafficError, Workload};
use ir::Program;
use pipeline::{Coverage, PartKind, Path, Switch};
use statistics::Ordered;
use stf::{Options as ScriptOptions, Script, StatementKind};
use symbolic::generated::Test;

use crate::failure::Failure;
use crate::translated;

/// The number by which the time of a repetition is divided to get the time for which one packet is
/// measured.
const SHARE: u32 = 10;
/// The number of times that a packet is sent to the same switch to check that its path stays the
/// same.
const REPEATS: u64 = 64;

/// The answer to the question whether a packet can be measured by sending it again and again.
pub(super) enum Suitability {
    /// The packet takes the path of its test every time.
    Steady,
    /// The packet changes the state of the switch, so that it takes other paths when it is sent
    /// again.
    Unsteady,
    /// The execution path cannot run the program, for this reason.
    Refused(String),
}

/// The cycles that packets took on an execution path.
pub(super) struct Cycles {
    /// The cycles per packet in each turn, for each test.
    pub(super) of_tests: Vec<Ordered<f64>>,
    /// The rate of the counter in cycles per second.
    pub(super) frequency: f64,
}

/// A method of measuring how many cycles packets take.
pub(super) trait Meter: Sync {
    /// Runs a test on an execution path, and returns whether its packet can be measured by sending
    /// it again and again.
    fn suits(&self, path: Path, test: &Test) -> Result<Suitability, Failure>;

    /// Measures the cycles of the packets of tests, which take turns. `goes_on` is called with the
    /// number of finished measurements and the number of all, and returns whether to continue.
    /// Returns the reason instead of the cycles if the processor cannot count them or the execution
    /// path cannot run the program.
    fn cycles(
        &self,
        path: Path,
        tests: &[&Test],
        goes_on: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Result<Cycles, String>, Failure>;
}

/// A measurement of packets by the cycle counter of the processor.
pub(super) struct CounterMeter<'m> {
    pub(super) name: &'m str,
    pub(super) program: &'m Program,
    pub(super) settings: &'m Settings,
}

impl Meter for CounterMeter<'_> {
    fn suits(&self, path: Path, test: &Test) -> Result<Suitability, Failure> {
        if let Some(refused) = checked(self.name, self.program, path, test)? {
            return Ok(Suitability::Refused(refused));
        }
        let is_steady = is_steady(self.program, test)?;
        Ok(if is_steady { Suitability::Steady } else { Suitability::Unsteady })
    }

    fn cycles(
        &self,
        path: Path,
        tests: &[&Test],
        goes_on: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Result<Cycles, String>, Failure> {
        let of = |error: TrafficError| match error {
            TrafficError::Interrupted => Failure::Interrupted,
            error => Failure::run(format!("{}: {error}", self.name)),
        };
        let mut workloads = Vec::with_capacity(tests.len());
        for test in tests {
            workloads.push(workload(self.program, test)?.map_err(of)?);
        }
        let settings = Settings { time: self.settings.time / SHARE, ..self.settings.clone() };
        let Some(found) = repeated(&workloads, path, &settings, goes_on).map_err(of)? else {
            return Ok(Err("the processor has no cycle counter with a constant rate".to_owned()));
        };
        let Repeated { cycles, frequency, refused } = found;
        Ok(match refused {
            Some(refused) => Err(refused),
            None => Ok(Cycles { of_tests: cycles, frequency }),
        })
    }
}

/// Returns whether the packet of a test takes the same path each time that it is sent: the
/// interpreter reaches the same parts of the program each time.
pub(super) fn is_steady(program: &Program, test: &Test) -> Result<bool, Failure> {
    let mut switch = Switch::new(program.clone()).map_err(Failure::input)?;
    switch.set_translated(translated::of(program)?);
    let Divided { configuration, .. } = Divided::of(test)?;
    configure(&mut switch, &configuration).map_err(Failure::run)?;
    let is_packet =
        |statement: &stf::Statement| matches!(statement.kind, StatementKind::Packet { .. });
    let packets = script(test)?.statements.into_iter().filter(is_packet);
    let packets = Script { statements: packets.collect() };
    let mut coverage = Coverage::new(program);
    let mut once: Vec<u64> = Vec::new();
    for repeat in 1..=REPEATS {
        let ran = stf::run_covered(&mut switch, &packets, ScriptOptions::default(), &mut coverage);
        ran.map(drop).map_err(|(line, error)| {
            Failure::run(format!("line {line}: {error}\n{}", test.stf()))
        })?;
        // The names of entries contain data that packets may write.
        let kinds = PartKind::ALL.into_iter().filter(|kind| *kind != PartKind::Entry);
        let of_kind = |kind: PartKind| coverage.parts(kind).map(|part| part.count);
        let counts: Vec<u64> = kinds.flat_map(of_kind).collect();
        if repeat == 1 {
            once = counts;
        } else if !counts.iter().copied().eq(once.iter().map(|count| count * repeat)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Runs a test of the program, whose name is `name`. If the switch does not treat the packet as the
/// test expects, returns an error, because the measured time would not be that of the expected
/// path. Returns the reason if the execution path cannot run the program.
pub(crate) fn checked(
    name: &str,
    program: &Program,
    path: Path,
    test: &Test,
) -> Result<Option<String>, Failure> {
    let mut switch = Switch::new(program.clone()).map_err(Failure::input)?;
    switch.set_translated(translated::of(program)?);
    if path == Path::Compiled
        && let Err(error) = switch.compile()
    {
        return Ok(Some(error.to_string()));
    }
    let script = script(test)?;
    let failed = |why: &str| {
        Failure::run(format!(
            "{name}: a generated test fails on {path:?}, so its packet is not measured: {why}\n{}",
            test.stf()
        ))
    };
    match stf::run(&mut switch, &script, ScriptOptions::default()) {
        Ok(report) => match report.failures.first() {
            None => Ok(None),
            Some(failure) => Err(failed(&report.describe(failure))),
        },
        Err((line, error)) => Err(failed(&format!("line {line}: {error}"))),
    }
}

/// Returns a switch that runs the program on an execution path and has been configured with the
/// entries of a test.
pub(crate) fn configured(program: &Program, path: Path, test: &Test) -> Result<Switch, Failure> {
    let mut switch = Switch::new(program.clone()).map_err(Failure::input)?;
    switch.set_translated(translated::of(program)?);
    if path == Path::Compiled {
        switch.compile().map_err(Failure::run)?;
    }
    let Divided { configuration, .. } = Divided::of(test)?;
    configure(&mut switch, &configuration).map_err(Failure::run)?;
    Ok(switch)
}

/// Runs the statements of a script that configure a switch.
fn configure(switch: &mut Switch, configuration: &Script) -> Result<(), String> {
    let options = ScriptOptions { strict: true, ..ScriptOptions::default() };
    let done = stf::run(switch, configuration, options);
    done.map(drop).map_err(|(line, error)| format!("line {line}: {error}"))
}

/// Parses the STF script of a test.
fn script(test: &Test) -> Result<Script, Failure> {
    Script::parse(&test.stf()).map_err(|errors| {
        let why: Vec<String> = errors.iter().map(|error| error.message.clone()).collect();
        Failure::run(format!("{}\n{}", why.join("; "), test.stf()))
    })
}

/// The script of a test, divided into the statements that configure the switch and the packets.
struct Divided {
    configuration: Script,
    packets: Vec<Vec<u8>>,
}

impl Divided {
    fn of(test: &Test) -> Result<Self, Failure> {
        let script = script(test)?;
        let mut packets = Vec::new();
        let mut statements = Vec::new();
        for statement in script.statements {
            match statement.kind {
                StatementKind::Packet { data, .. } => packets.push(data),
                StatementKind::Expect { .. } | StatementKind::NoPacket => {}
                kind => statements.push(stf::Statement { line: statement.line, kind }),
            }
        }
        Ok(Self { configuration: Script { statements }, packets })
    }
}

/// Returns the workload of a test: its packet, for a switch that is configured with the entries of
/// the test.
fn workload(program: &Program, test: &Test) -> Result<Result<Workload, TrafficError>, Failure> {
    let Divided { configuration, packets } = Divided::of(test)?;
    let translated = translated::of(program)?;
    let setup = move |switch: &mut Switch| {
        switch.set_translated(Arc::clone(&translated));
        configure(switch, &configuration)
    };
    let given = Given {
        packets,
        port: test.port,
        setup: Setup::new(setup),
        sets_meters: false,
        outcomes: None,
    };
    Ok(Workload::given(program.clone(), given, &mut |_, _| true))
}
