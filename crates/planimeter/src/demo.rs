//! `planimeter demo`: measures a controller, a P4 program, a pipeline and a switch of this project,
//! bounds the delays of a network of them, and compares delays in queues with their bounds, in one
//! report.

mod controller;
mod device;
mod network;
mod program;
mod queues;
mod slow_path;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use report::page::document::{Document, Section};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::interrupt;
use crate::invocation;
use crate::output::{self, ForPapers};

const ABOUT: &str = "Answer all three questions on embedded parts, in two to three minutes";

const LONG_ABOUT: &str = "\
Answer all three questions on embedded parts, in two to three minutes.

How much can this SDN controller take? Emulated switches double the rate of packet-ins until the reference controller no longer \
keeps up, over OpenFlow 1.3 and over P4Runtime. How fast is this P4 program, when packets themselves write its table, and which table design \
should it use? A program runs on the interpreter and compiled, and its table is measured in each design. What delay can be \
guaranteed? The functions of a P4 pipeline are measured, a model is derived from them and verified; packets cross the control channel of a \
switch to its controller and back; delays are bounded in a small network of that pipeline, that channel and that controller; \
and packets that wait in the queues of switches, in virtual time, are held against their bounds.

The demo writes one report, and the report of each part beside it. For each part, the report names the command that measures \
your own controller, program or device. Everything runs in memory and on loopback addresses; nothing needs root.";

/// The arguments of `planimeter demo`.
#[derive(Debug, Parser)]
#[command(name = "demo", about = ABOUT, long_about = LONG_ABOUT)]
pub(crate) struct Arguments {
    /// The run directory, new or empty [runs/<time>-demo]
    #[arg(long, short, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
    /// Take only some seconds to see that everything runs; the figures then mean little
    #[arg(long)]
    quick: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    papers: ForPapers,
}

/// A section of the demo's report with its findings and notes. Each of the demo's measurements
/// returns one.
struct Part {
    section: Section,
    /// The main results of the section, each as a sentence.
    findings: Vec<String>,
    /// Notes for the reader of the report.
    notes: Vec<String>,
}

/// A function that performs one of the demo's measurements, and returns its part of the report.
type Measure<'a> = Box<dyn FnOnce(&mut Known) -> Result<Part, Failure> + 'a>;

/// The results of earlier measurements of the demo that later measurements need.
#[derive(Default)]
struct Known {
    /// The measured controller as a server of the network to be bounded. It is `None` before the
    /// measurement, and if the controller did not answer every packet-in at any offered rate.
    controller: Option<::device::export::Server>,
    /// The predicted delay of the slowest packet in the measured pipeline, with the functions that
    /// packets of the demo's network need. It is `None` before the measurement, and if the delay
    /// cannot be predicted.
    longest: Option<::device::campaign::Picoseconds>,
    /// The two directions of the slow path of a switch as servers of the network to be bounded:
    /// packet-ins, and packet-outs. It is `None` before the measurement, and if packets were lost
    /// at every load.
    slow_path: Option<(::device::export::Server, ::device::export::Server)>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let directory = output::directory(arguments.output.as_deref(), "demo", arguments.papers)?;
    let interrupt = interrupt::flag();
    let environment = Environment {
        directory: directory.path(),
        interrupt: &interrupt,
        quick: arguments.quick,
        quiet: arguments.quiet,
        resumes: false,
        yours: None,
        papers: arguments.papers.into(),
    };
    let started = invocation::start();
    let mut document = Document {
        kind: "demo",
        title: "A controller, a P4 program, a pipeline, a switch and a network".to_owned(),
        findings: Vec::new(),
        notes: vec![
            "Controller, switches and program are Planimeter's own and share this machine: the figures show the \
             method and say nothing about your controller or device."
                .to_owned(),
        ],
        partial: None,
        claims: Vec::new(),
        sections: Vec::new(),
        provenance: started.provenance(),
    };
    document.notes.extend(report::unoptimised("controllers, programs or devices"));
    let mut known = Known::default();
    let parts: [(&str, Measure<'_>); 6] = [
        (
            "a controller, over OpenFlow and P4Runtime",
            Box::new(|known| controller::part(&environment, known)),
        ),
        ("a P4 program, and designs of its table", Box::new(|_| program::part(&environment))),
        ("the functions of a P4 pipeline", Box::new(|known| device::part(&environment, known))),
        ("the slow path of a switch", Box::new(|known| slow_path::part(&environment, known))),
        ("delay bounds of a network of all", Box::new(|known| network::part(&environment, known))),
        ("delays in queues and their bounds", Box::new(|_| queues::part(&environment))),
    ];
    let count = parts.len();
    for (number, (what, measure)) in parts.into_iter().enumerate() {
        if !environment.quiet {
            eprintln!("{} of {count}: {what}", number + 1);
        }
        let outcome = measure(&mut known);
        document.provenance = started.provenance();
        match outcome {
            Ok(mut part) => {
                for (_, command) in &mut part.section.commands {
                    *command = invocation::typed(command);
                }
                document.findings.extend(part.findings);
                document.notes.extend(part.notes);
                document.sections.push(part.section);
            }
            Err(failure) if environment.interrupted() => {
                document.lacks(&format!("interrupted while measuring {what} ({failure})"));
            }
            Err(failure) => {
                document.lacks(&format!("{what}: {failure}"));
                break;
            }
        }
        if environment.interrupted() {
            document.partial.get_or_insert_with(|| format!("interrupted while measuring {what}"));
            break;
        }
    }
    document.notes.dedup();
    output::leave_document(&directory, &document, false, environment.interrupted())
}
