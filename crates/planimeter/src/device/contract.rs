//! `planimeter device contract`: computes delay contracts of a P4 program on a measured device. A
//! contract states a delay that the packets of a class do not exceed. For each contract, the
//! command finds the packet that comes closest to this delay.

mod document;
mod search;
mod weights;
mod witness;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, value_parser};
use device::compose::Semantics;
use device::contract::{Contract, Terms};
use device::export::{HEAD, Server};
use device::{Level, Model, SettingModel};
use report::directory::Papers;

use super::export::Working;
use super::predict::{self, UnderSetting};
use crate::failure::Failure;
use crate::progress::Steps;
use crate::{interrupt, invocation, output, program};
use search::{Found, Search};
pub(crate) use weights::weights;
use witness::{Measured, Trial, Witness};

const LONG_ABOUT: &str = "\
State the delays that a P4 program guarantees on a measured device, as service curves for `planimeter bound`.

A class of packets has those for which tables run no other actions than some. The contract of a class is on the safe side of \
what the model predicts for each of its paths, and says its percentile and confidence, whether its figures were measured or \
composed, and the packet length and table entries for which it is valid. A solver finds the classes that packets can take, and \
the packet with entries that comes closest to each contract. docs/device.md describes the files.";

const EXAMPLES: &str = "\
Examples:
    planimeter device contract programs/router.p4 --model model.json
    planimeter device contract prog.p4 --model model.json --level p99.9 --measure -o runs/contract
    planimeter bound network.toml        # the servers of runs/contract/contract.toml, and flows

Exit status: 0 all contracts are complete, and no packet that was measured broke one; 1 a contract is incomplete or broken; 2 an \
argument is wrong; 130 interrupted.";

/// The arguments of `planimeter device contract`.
#[derive(Debug, Args)]
#[command(
    about = "State the delays that a P4 program guarantees on a device, with the packets that come closest",
    long_about = LONG_ABOUT,
    after_help = EXAMPLES
)]
pub(super) struct Arguments {
    /// The program, as P4_16 source, BMv2 JSON or IR, for v1model, PSA or PNA
    #[arg(value_name = "PROGRAM")]
    program: PathBuf,
    /// The model that `planimeter device model -o` wrote
    #[arg(long, value_name = "MODEL")]
    model: PathBuf,
    #[command(flatten)]
    setting: UnderSetting,
    /// The level of the latency: maximum, or a percentile of the model above the median
    #[arg(long, value_name = "LEVEL", default_value = "maximum")]
    level: Level,
    /// The way in which the device executes its functions [default: run-to-completion, or
    /// burst-delay for a model without rates]
    #[arg(long, value_name = "HOW")]
    semantics: Option<Working>,
    /// The largest number of classes of packets that have a contract of their own
    #[arg(long, value_name = "COUNT", default_value = "16", value_parser = value_parser!(u16).range(0..=1000))]
    classes: u16,
    /// The name of the server for any packet; those of classes add a number
    #[arg(long, value_name = "NAME", default_value = "switch")]
    name: String,
    /// Also export contracts that lack the cost of parts without a measurement; their labels say so
    #[arg(long)]
    allow_unmeasured: bool,
    /// Measure the packets that come closest, for a model of a pipeline in memory
    #[arg(long)]
    measure: bool,
    /// The number of times that each of these packets is measured
    #[arg(long, value_name = "COUNT", default_value = "10000", requires = "measure",
        value_parser = value_parser!(u32).range(1..=10_000_000))]
    packets: u32,
    /// The seed of all values of packets and entries that are left open
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    seed: u64,
    /// The run directory, new or empty [runs/<time>-contract]
    #[arg(long, short, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
    /// Print result.json instead of the tables
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    sources: program::Sources,
}

/// The contract on the delays of one class of packets.
struct Clause {
    /// The name of the server that stands for the contract in a network file.
    server: String,
    /// A description of the packets for which the contract holds.
    packets: String,
    contract: Contract,
    /// The packet whose predicted delay is closest to the contract, or `None` if no packet was
    /// found.
    witness: Option<Witness>,
    /// The measured delays of that packet, or `None` if they were not measured.
    measured: Option<Measured>,
}

impl Clause {
    /// Returns a contract whose server has no name yet.
    fn new(packets: String, contract: Contract, witness: Option<Witness>) -> Self {
        Self { server: String::new(), packets, contract, witness, measured: None }
    }
}

/// The inputs that all steps of the computation need.
struct Task<'t> {
    /// The name of the program.
    name: &'t str,
    program: &'t ir::Program,
    model: &'t Model,
    under: &'t SettingModel,
    terms: Terms,
    /// The length of packets in bytes, without the frame check sequence.
    length: u32,
    seed: u64,
    steps: Steps,
    interrupt: Arc<AtomicBool>,
}

impl Task<'_> {
    /// Shows the progress, and returns an error if the user has interrupted the run.
    fn step(&self, what: &str, done: usize, of: usize) -> Result<(), Failure> {
        self.steps.show(done as u64, of as u64, what);
        if self.interrupt.load(Ordering::SeqCst) { Err(Failure::Interrupted) } else { Ok(()) }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let program = program::load(&arguments.program, &arguments.sources)?;
    let name = arguments.program.display().to_string();
    let model = predict::read(&arguments.model)?;
    let under = arguments.setting.of(&model)?;
    let path = arguments.measure.then(|| witness::path_of(&model)).transpose()?;
    let length = length(under)?;
    let directory = output::directory(arguments.output.as_deref(), "contract", Papers::default())?;
    let started = invocation::start();
    let task = Task {
        name: &name,
        program: &program,
        model: &model,
        under,
        terms: terms(arguments, under),
        length,
        seed: arguments.seed,
        steps: Steps::new(arguments.quiet),
        interrupt: interrupt::flag(),
    };
    let Found { mut clauses, fewer } =
        Search::new(&task).clauses(usize::from(arguments.classes))?;
    name_servers(&mut clauses, &arguments.name);
    if let Some(path) = path {
        let of = clauses.len();
        let judged = clauses.iter().filter(|clause| clause.witness.is_some()).count();
        let confidence = witness::confidence_of_each(judged);
        let trial = Trial { path, packets: arguments.packets, confidence };
        for (done, clause) in clauses.iter_mut().enumerate() {
            task.step("measuring", done, of)?;
            if let Some(witness) = &clause.witness {
                clause.measured = Some(Measured::of(&task, trial, witness, &clause.contract)?);
            }
        }
    }
    let broken: Vec<&Clause> = clauses
        .iter()
        .filter(|clause| clause.measured.as_ref().is_some_and(|measured| measured.is_broken))
        .collect();
    for clause in &broken {
        let file = directory.path().join(format!("broken-{}.pcap", clause.server));
        if let Some(witness) = &clause.witness {
            witness.write_capture(&file)?;
        }
        eprintln!(
            "planimeter: the contract of {} is broken: see {}",
            clause.server,
            file.display()
        );
    }
    let any_broken = !broken.is_empty();
    let mut document =
        document::document(&task, &clauses, arguments.allow_unmeasured, started.provenance());
    document.notes.extend(fewer);
    let mut files = document::scripts(&clauses);
    if let Some(text) = exported(&model, &clauses, arguments.allow_unmeasured) {
        files.push(("contract.toml".to_owned(), text));
    }
    drop(task);
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let code =
        output::leave_document_and_files(&directory, &document, &files, arguments.json, false)?;
    Ok(if any_broken { ExitCode::from(1) } else { code })
}

/// Returns the packet length of the measurements from which a setting was derived, without the
/// frame check sequence.
fn length(under: &SettingModel) -> Result<u32, Failure> {
    const CHECK_SEQUENCE: u32 = 4;
    let bytes = under.setting.packet_bytes;
    let length = bytes.checked_sub(CHECK_SEQUENCE).filter(|length| (14..=1_514).contains(length));
    length.ok_or_else(|| {
        Failure::input(format!(
            "the setting has packets of {bytes} B; contracts are for packets of 18 to 1518 B"
        ))
    })
}

/// Returns the kind of service curve that the flags select.
fn terms(arguments: &Arguments, under: &SettingModel) -> Terms {
    let semantics = match arguments.semantics {
        Some(Working::Pipelined) => Some(Semantics::Pipelined),
        Some(Working::RunToCompletion) => Some(Semantics::RunToCompletion),
        Some(Working::BurstDelay) => None,
        // A model without rates has burst-delay curves only.
        None => under.f0.loss_free_rate.map(|_| Semantics::RunToCompletion),
    };
    Terms { level: arguments.level, semantics }
}

/// Sorts contracts by delay, the longest first, but leaves the one for all packets in front.
/// Assigns names to their servers.
fn name_servers(clauses: &mut [Clause], name: &str) {
    if let Some((_, classes)) = clauses.split_first_mut() {
        classes.sort_by_key(|class| std::cmp::Reverse(class.contract.delay));
    }
    for (number, clause) in clauses.iter_mut().enumerate() {
        clause.server = if number == 0 { name.to_owned() } else { format!("{name}-{number}") };
    }
}

/// Returns the servers of all contracts as a network file without flows. Returns `None` if no
/// contract may be exported.
fn exported(model: &Model, clauses: &[Clause], allow_unmeasured: bool) -> Option<String> {
    let servers = clauses
        .iter()
        .filter(|clause| allow_unmeasured || clause.contract.unmeasured.is_empty())
        .map(|clause| {
            let Clause { server, packets, contract, .. } = clause;
            Server::of_contract(server, model, contract, packets).to_toml()
        });
    let servers: Vec<String> = servers.collect();
    let head = "# Servers for `planimeter bound`: add flows. A switch that carries packets of several classes is the\n\
                # first server; one that carries packets of a single class may be the server of that class.\n";
    (!servers.is_empty()).then(|| format!("{head}{HEAD}{}", servers.join("\n")))
}
