//! The formats in which generated tests are written.

mod captures;
mod entities;
mod message;
mod ptf;

use std::fs;
use std::path::Path;

use clap::ValueEnum;
use ir::Program;
use p4runtime::proto::testgen as proto;
use p4runtime::proto::v1::Update;
use prost::Message as _;
use serde::Serialize;
use symbolic::generated::{SCHEMA, Test};
use symbolic::goals::Goal;
use symbolic::search::{Report, Verdict};

use self::entities::Identifiers;
use crate::failure::Failure;
use crate::program::architecture;

/// The form in which tests are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// A script for each test, NUMBER.stf, for planimeter stf and p4c's runner
    Stf,
    /// One file, tests.json, with all tests and all verdicts
    Json,
    /// One module of Python, tests.py, for PTF with a switch that speaks P4Runtime
    Ptf,
    /// One message, tests.binpb, with all tests and all verdicts (planimeter.testgen.v1)
    Protobuf,
    /// The packets alone: in-PORT.pcap and out-PORT.pcap, test N begins at N seconds or later
    Pcap,
}

/// The generated tests of a program, which are written to files.
#[derive(Clone, Copy)]
pub(super) struct Suite<'r> {
    pub(super) path: &'r Path,
    pub(super) program: &'r Program,
    pub(super) seed: u64,
    pub(super) report: &'r Report,
}

/// The content of `tests.json`: all tests and all verdicts.
#[derive(Serialize)]
struct File<'r> {
    schema: u32,
    program: String,
    architecture: &'r str,
    seed: u64,
    tests: &'r [Test],
    goals: Vec<JsonGoal<'r>>,
}

/// A goal (part of the program), with the verdict on whether packets reach it.
#[derive(Serialize)]
struct JsonGoal<'r> {
    kind: &'static str,
    name: &'r str,
    place: Option<&'r str>,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<usize>,
    /// The number of packets in a test with which the goal cannot be reached, if the verdict is
    /// limited to this number.
    #[serde(skip_serializing_if = "Option::is_none")]
    packets: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'r str>,
}

impl<'r> JsonGoal<'r> {
    fn new((goal, verdict): &'r (Goal, Verdict)) -> Self {
        let of = |verdict: &'static str| Self {
            kind: goal.kind.name(),
            name: &goal.name,
            place: goal.place.as_deref(),
            verdict,
            test: None,
            packets: None,
            reason: None,
        };
        match verdict {
            Verdict::Covered(test) => Self { test: Some(*test), ..of("covered") },
            Verdict::Unreachable => of("unreachable"),
            Verdict::NotWithin(packets) => Self { packets: Some(*packets), ..of("not_within") },
            Verdict::GivenUp(reason) => Self { reason: Some(reason.as_str()), ..of("given_up") },
            Verdict::Open => of("open"),
        }
    }
}

impl Suite<'_> {
    /// Writes the tests into a directory, which is created if necessary.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written, or if the program has no P4Info although the
    /// format needs one.
    pub(super) fn write(self, directory: &Path, format: Format) -> Result<(), Failure> {
        let failed = |path: &Path, error: std::io::Error| {
            Failure::input(format!("cannot write {}: {error}", path.display()))
        };
        fs::create_dir_all(directory).map_err(|error| failed(directory, error))?;
        for (name, contents) in self.files(format)? {
            let file = directory.join(name);
            fs::write(&file, contents).map_err(|error| failed(&file, error))?;
        }
        Ok(())
    }

    /// Returns the content of each file of a format, with the file's name.
    fn files(self, format: Format) -> Result<Vec<(String, Vec<u8>)>, Failure> {
        let Self { path, program, seed, report } = self;
        Ok(match format {
            Format::Stf => report
                .tests
                .iter()
                .map(|test| (format!("{:04}.stf", test.number), test.stf().into_bytes()))
                .collect(),
            Format::Json => {
                let file = File {
                    schema: SCHEMA,
                    program: path.display().to_string(),
                    architecture: architecture(program),
                    seed,
                    tests: &report.tests,
                    goals: report.goals.iter().map(JsonGoal::new).collect(),
                };
                let text = serde_json::to_string_pretty(&file).map_err(Failure::run)?;
                vec![("tests.json".to_owned(), (text + "\n").into_bytes())]
            }
            Format::Ptf => {
                let text = ptf::module(&path.display().to_string(), &self.with_updates()?);
                vec![("tests.py".to_owned(), text.into_bytes())]
            }
            Format::Protobuf => {
                vec![("tests.binpb".to_owned(), self.message()?.encode_to_vec())]
            }
            Format::Pcap => {
                captures::captures(&report.tests).map_err(Failure::run)?.into_iter().collect()
            }
        })
    }

    /// Returns the tests as a message of protocol buffers.
    fn message(self) -> Result<proto::Suite, Failure> {
        let mut tests = Vec::new();
        for (test, updates) in self.with_updates()? {
            tests.push(message::test(test, updates).map_err(Failure::run)?);
        }
        let goals = self.report.goals.iter().map(JsonGoal::new);
        Ok(proto::Suite {
            program: self.path.display().to_string(),
            architecture: architecture(self.program).to_owned(),
            seed: self.seed,
            tests,
            goals: goals.map(|goal| message::goal(&goal)).collect(),
        })
    }
}

impl<'r> Suite<'r> {
    /// Returns each test with the P4Runtime updates that configure the switch for it. Tests that
    /// need something which P4Runtime cannot express are left out, and named on standard error.
    fn with_updates(self) -> Result<Vec<(&'r Test, Vec<Update>)>, Failure> {
        let path = self.path.display();
        let identifiers = Identifiers::new(self.program).map_err(|errors| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            Failure::input(format!("{path} has no P4Info: {}", errors.join("; ")))
        })?;
        let mut tests = Vec::new();
        for test in &self.report.tests {
            match identifiers.updates(test) {
                Ok(updates) => tests.push((test, updates)),
                Err(reason) => {
                    eprintln!("planimeter: {path}: test {} is left out: {reason}", test.number);
                }
            }
        }
        Ok(tests)
    }
}

#[cfg(test)]
mod tests;
