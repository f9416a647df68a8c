//! `planimeter stf`: runs a P4 program against an STF script.

mod captures;
mod coverage;
mod crossings;
mod entries;
mod figures;
pub(crate) mod topology;
mod tracing;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, value_parser};
use ir::Program;
use pipeline::{Coverage, Switch, Way};
use queues::Configuration;
use stf::{
    Options, QueueRecord, Ran, Report, Script, disagreements, run as run_script, run_covered,
};
use topology::{Running, Topology};

use crate::failure::Failure;
use crate::parsers::one_of;
use crate::program;
use crate::storage::Stored;
use crate::translated;

const WIDTH: usize = 100;
const ABOUT: &str = "Run a P4 program against an STF script";

const LONG_ABOUT: &str = "\
Run a P4 program against an STF script.

A script in the simple test format (STF), with which p4c tests its programs, installs entries, sends \
packets and states the expected packets. The program runs on the interpreter. With --path compiled it also runs as machine \
code, on every execution path, with single packets and with bursts, all of which must produce the same packets. Every \
difference is printed with the expected packet beside the actual one and marks below the bytes that differ. The last lines \
are the results, one for each script.

Packets are compared port by port, in order, at the end of the script, as p4c's runner for BMv2 \
does. Packets on ports that the script does not name are ignored unless --every-port is set. A \
statement that the switch refuses (an entry that exists already or does not fit, an index beyond an \
array) has no effect and prints a note, as on BMv2's command line. The same holds for a line that \
is not a statement. With --strict, such lines end the script.";

const STATEMENTS: &str = "\
Statements, one a line; `#` begins a comment:
  packet PORT HEX                    a packet arrives at PORT
  expect PORT [HEX [$]]              a packet leaves by PORT: `*` is any digit, `$` is the end of the
                                     packet; without digits, any packet
  no_packet                          the last packet left by no port
  add TABLE [PRIORITY] KEY:MATCH ... ACTION(NAME:VALUE, ...) [= HANDLE]
  setdefault TABLE ACTION(NAME:VALUE, ...)
  remove all | remove HANDLE
  check_counter NAME(INDEX | $HANDLE) [packets | bytes == NUMBER]
  counter_read, counter_write, register_read, register_write, register_reset,
  meter_get_rates, meter_set_rates, meter_array_set_rates
  mirroring_add SESSION PORT, mirroring_add_mc SESSION GROUP, mirroring_delete, mirroring_get
  mc_mgrp_create GROUP, mc_node_create ID PORT ... [| LAG ...], mc_node_update,
  mc_node_associate GROUP NODE, mc_set_lag_membership LAG PORT ...
  act_prof_create_member PROFILE MEMBER ACTION(...), act_prof_create_group PROFILE GROUP,
  act_prof_add_member_to_group PROFILE MEMBER GROUP, act_prof_remove_member_from_group,
  table_indirect_add TABLE KEY:MATCH ... MEMBER, table_indirect_add_with_group TABLE ... GROUP
  wait                               one second passes
  expire_time PROFILE TIME           entries that get this expire time profile from now on have
                                     this timeout (PNA)
  at TIME [every TIME times NUMBER]  the next packet arrives at this time since the start, and
                                     again
With --topology:
  at TIME queue SWITCH LINE[; LINE]  the ports of the lines have these queues from this time on; a
                                     LINE is that of --queue
  source PORT [length BYTES] HEX     packets arrive at the times of the `at` before, while later
                                     statements run; with zeros up to a length; counted, not
                                     compared
  on SWITCH STATEMENT                `add`, `meter_set_rates`, `register_read` and others, for a
                                     switch, at this time of the script
  check_delay FROM TO (min | mean | max | SHARE%) <= TIME [since TIME]
  check_packets FROM TO == NUMBER [since TIME] [with HEX]

The first parts of a name may be omitted: `routes` is `RouterIngress.routes`. A match is a value
(0x0a, 10, 0b1010), a prefix (0x0a000000/8), a value and a mask (0x0a&&&0xff), a range (1->5), or has
`*` for digits that do not count (0x0a**). docs/stf.md describes all statements.";

const EXAMPLES: &str = "\
Examples:
  Run the script that stands beside the program, programs/router.stf:
    planimeter stf programs/router.p4

  Run two scripts, and see what happens to each packet:
    planimeter stf --trace switch.p4 learning.stf flooding.stf

  See everything that could happen to each packet, whichever members of groups its hashes choose:
    planimeter stf --all-outcomes programs/load_balancer.p4

  Write the traces of packets as JSON, a line for each, and draw them as a page:
    planimeter stf --trace=traces.json --trace-format json programs/router.p4
    planimeter stf --output runs/router programs/router.p4

  Compare the compiled program with the interpreter:
    planimeter stf --path compiled programs/router.p4

  Install the entries of a switch of the p4lang tutorials, then send packets:
    planimeter stf --entries s1-runtime.json --trace basic.p4 ping.stf

  Send packets between the hosts of a topology of the tutorials:
    planimeter stf --topology examples/mininet/tunnel/topology.json programs/tunnel.p4

  List what the script does not reach, and capture the packets at each port of each switch:
    planimeter stf --topology topology.json --coverage --pcap-out captures basic.p4 ping.stf

  List what two scripts together do not reach, and write it as JSON:
    planimeter stf --coverage=coverage.json switch.p4 learning.stf flooding.stf

  Write the packets that arrived and left to a capture for each port and direction:
    planimeter stf --pcap-out captures programs/router.p4

  Write the outcome of each script, and the counts of queues, for other programs:
    planimeter stf --result outcome.json programs/router.p4

  Send the packets of a capture to port 1 after the script has installed its entries:
    planimeter stf --pcap-in 1=web.pcap --pcap-out captures programs/router.p4

Exit status: 0 all packets were as expected; 1 a packet was not; 2 the program, a script or an
argument is wrong.";

/// The arguments of `planimeter stf`.
#[derive(Debug, Parser)]
#[command(
    name = "stf",
    about = ABOUT,
    long_about = LONG_ABOUT,
    after_long_help = format!("{STATEMENTS}\n\n{EXAMPLES}"),
    max_term_width = WIDTH
)]
pub(crate) struct Arguments {
    /// The program, as P4_16 source or BMv2 JSON
    #[arg(value_name = "PROGRAM")]
    program: PathBuf,
    /// The scripts, each of which runs on a fresh switch [PROGRAM with the ending .stf]
    #[arg(value_name = "SCRIPT")]
    script: Vec<PathBuf>,
    #[command(flatten)]
    stored: Stored,
    /// Install the entries of this file before the script: a runtime.json of the p4lang tutorials,
    /// or commands of simple_switch_CLI
    #[arg(long, value_name = "FILE")]
    entries: Vec<PathBuf>,
    /// Run the program on every switch of this topology.json of the p4lang tutorials that names no
    /// other program, with the switches' entries; scripts then say `packet h1 HEX` and `expect h2
    /// HEX`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["entries", "pcap_in"])]
    topology: Option<PathBuf>,
    /// Give a port of a switch of the topology queues, such as `s1 port=2 rate=10Mbps depth=64` or
    /// `s1 port=2 queue=1 rate=2Mbps`; docs/queues.md has all keys. The topology file may have the
    /// same lines as a list `queues` of a switch
    #[arg(
        long,
        value_name = "SWITCH port=PORT KEY=VALUE ...",
        requires = "topology",
        value_parser = switch_and_queue
    )]
    queue: Vec<(String, String)>,
    /// The execution path: the interpreter, or the compiled program, all of whose paths are
    /// compared with the interpreter
    #[arg(long, value_name = "PATH", default_value = "interpreter", value_parser = one_of([
        ("interpreter", pipeline::Path::Interpreter),
        ("compiled", pipeline::Path::Compiled),
    ]))]
    path: pipeline::Path,
    #[command(flatten)]
    tracing: tracing::Tracing,
    /// Print which parser states, actions, branches and entries of each program the scripts
    /// together reach, and which they do not; with =FILE, also write them to FILE as JSON
    #[arg(long, value_name = "FILE", require_equals = true)]
    coverage: Option<Option<PathBuf>>,
    /// Fail if packets leave by ports that the script does not name
    #[arg(long)]
    every_port: bool,
    /// End the script at a statement that the switch refuses, instead of printing a note
    #[arg(long)]
    strict: bool,
    /// For PSA: behave as the specification says, also where psa_switch does not
    #[arg(long)]
    specification: bool,
    /// For v1model: the number of queues of each port; packets of higher priorities are dropped
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "1",
        value_parser = value_parser!(u32).range(1..)
    )]
    priority_queues: u32,
    /// Print only failures
    #[arg(long, short)]
    quiet: bool,
    /// The seed of the random numbers of the program
    #[arg(long, value_name = "NUMBER", default_value = "0")]
    seed: u64,
    /// After the script, let the packets of this capture arrive at PORT
    #[arg(long, value_name = "PORT=FILE", value_parser = captures::port_and_file)]
    pcap_in: Vec<(u32, PathBuf)>,
    /// Write captures DIR/pcapPORT_in.pcap and DIR/pcapPORT_out.pcap for each port; with
    /// --topology, DIR/s1-p2_in.pcap and so on for each port of each switch; of several scripts,
    /// each has a folder in DIR with its name
    #[arg(long, value_name = "DIR")]
    pcap_out: Option<PathBuf>,
    /// Write the delay of each packet that crosses the network of --topology to FILE as CSV, with
    /// the line of the script that sent it, its ports, and the times at which it entered and left
    #[arg(long, value_name = "FILE", requires = "topology")]
    delays: Option<PathBuf>,
    /// Write the outcome of each script, and what each queue of --topology has done, to FILE as JSON
    /// in the format of result.json
    #[arg(long, value_name = "FILE")]
    result: Option<PathBuf>,
}

/// Splits the value of `--queue` into the name of a switch and a line of its configuration.
fn switch_and_queue(text: &str) -> Result<(String, String), String> {
    match text.trim().split_once(char::is_whitespace) {
        Some((switch, line)) if !switch.contains('=') => Ok((switch.to_owned(), line.to_owned())),
        _ => Err("it does not begin with the name of a switch, such as s1".to_owned()),
    }
}

impl Arguments {
    fn options(&self) -> Options {
        Options {
            every_port: self.every_port,
            strict: self.strict,
            specification: self.specification,
            priority_queues: self.priority_queues,
            trace: self.tracing.contents(),
            together: false,
            keeps_sources: self.pcap_out.is_some(),
            keeps_crossings: self.delays.is_some(),
        }
    }

    /// Returns the file into which the coverage is written as JSON, or `None` if `--coverage` was
    /// not given or names no file.
    fn coverage_file(&self) -> Option<&PathBuf> {
        self.coverage.as_ref()?.as_ref()
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let path = &arguments.program;
    let topology = arguments.topology.as_deref();
    let topology = topology.map(|path| Topology::read(path, &arguments.queue)).transpose()?;
    let mut scripts = arguments.script.clone();
    if scripts.is_empty() {
        let beside = arguments.topology.as_ref().unwrap_or(path);
        let script = beside.with_extension("stf");
        if !script.exists() {
            // If the program's name is mistyped, that is the error to report, and not the missing
            // script.
            std::fs::metadata(path)
                .map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
            let (path, script) = (path.display(), script.display());
            return Err(Failure::input(format!(
                "there is no script {script} beside the program; name one: planimeter stf {path} SCRIPT (docs/stf.md says \
                 what is in it)"
            )));
        }
        scripts.push(script);
    }
    let read = |path: &PathBuf| match &topology {
        Some(topology) => topology.script(path),
        None => script(path),
    };
    let read = scripts.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let kept = tracing::Kept::new(&arguments.tracing)?;
    let captures = match &arguments.pcap_out {
        Some(directory) => captures::folders(directory, &scripts),
        None => Vec::new(),
    };
    let scripts = Scripts { paths: &scripts, read: &read, captures: &captures };
    let figures = arguments.result.is_some().then(figures::Figures::new);
    let mut kept = Kept { traces: kept, figures };
    let passed = match &topology {
        Some(topology) => network(topology, path, scripts, arguments, &mut kept)?,
        None => switch(path, scripts, arguments, &mut kept)?,
    };
    let Kept { traces, figures } = kept;
    traces.finish(path, passed)?;
    if let (Some(file), Some(figures)) = (&arguments.result, figures) {
        figures.write(file, path)?;
    }
    Ok(ExitCode::from(u8::from(!passed)))
}

/// The results that are collected over all scripts.
struct Kept {
    traces: tracing::Kept,
    /// The figures for `--result`, or `None` without the flag.
    figures: Option<figures::Figures>,
}

impl Kept {
    fn keep(&mut self, script: &Path, report: &Report) -> Result<(), Failure> {
        if let Some(figures) = &mut self.figures {
            figures.add(script, report);
        }
        self.traces.keep(script, report)
    }
}

/// The parsed scripts of the command line, with their paths.
#[derive(Clone, Copy)]
struct Scripts<'s> {
    paths: &'s [PathBuf],
    read: &'s [Script],
    /// The folder for the captures of each script (empty if no captures are written).
    captures: &'s [PathBuf],
}

impl<'s> Scripts<'s> {
    fn each(self) -> impl Iterator<Item = ScriptFile<'s>> {
        let scripts = self.paths.iter().zip(self.read).enumerate();
        scripts.map(move |(position, (path, script))| ScriptFile {
            path,
            script,
            captures: self.captures.get(position).map(PathBuf::as_path),
        })
    }
}

/// A parsed script and its path.
#[derive(Clone, Copy)]
struct ScriptFile<'s> {
    path: &'s Path,
    script: &'s Script,
    /// The folder for the captures of this script, or `None` if no captures are written.
    captures: Option<&'s Path>,
}

/// Runs each script against a fresh switch that executes the program at `path`. Returns whether all
/// expectations of the scripts were met.
fn switch(
    path: &Path,
    scripts: Scripts<'_>,
    arguments: &Arguments,
    kept: &mut Kept,
) -> Result<bool, Failure> {
    let program = arguments.stored.load(path)?;
    let mut coverage = arguments.coverage.is_some().then(|| Coverage::new(&program));
    let mut passed = true;
    for script in scripts.each() {
        let report = one_script(&program, script, coverage.as_mut(), arguments)?;
        kept.keep(script.path, &report)?;
        passed &= print(script.path, &report, arguments.quiet);
        if let Some(directory) = script.captures {
            let name = |port| format!("pcap{port}");
            captures::write(directory, [&report.received, &report.sent], name)?;
        }
    }
    if let Some(coverage) = coverage {
        coverage::of_switch(&coverage, path, scripts.paths, arguments.coverage_file())?;
    }
    Ok(passed)
}

/// Runs each script against a network of fresh switches. Returns whether all expectations of the
/// scripts were met.
fn network(
    topology: &Topology,
    path: &Path,
    scripts: Scripts<'_>,
    arguments: &Arguments,
    kept: &mut Kept,
) -> Result<bool, Failure> {
    let programs = topology.programs(path, &arguments.stored)?;
    let quiet = arguments.quiet;
    if !quiet && programs.iter().all(|running| running.path != path) {
        let (topology, path) = (topology.path().display(), path.display());
        println!("{topology}: note: no switch runs {path}, they all have programs of their own");
    }
    let covers = arguments.coverage.is_some();
    let mut covered = match covers {
        true => programs.iter().map(Running::uncovered).collect(),
        false => Vec::new(),
    };
    let mut passed = true;
    let mut crossings = arguments.delays.as_deref().map(crossings::File::create).transpose()?;
    for script in scripts.each() {
        let report = topology.run(&programs, script, &mut covered, arguments)?;
        kept.keep(script.path, &report)?;
        if let Some(file) = &mut crossings {
            file.add(script.path, &report)?;
        }
        passed &= print(script.path, &report, quiet);
        if let Some(directory) = script.captures {
            topology.captures(directory, &report)?;
        }
    }
    if let Some(file) = crossings {
        file.finish()?;
    }
    if covers {
        let covered: Vec<_> = programs.iter().zip(&covered).collect();
        coverage::of_network(&covered, topology, scripts.paths, arguments.coverage_file())?;
    }
    Ok(passed)
}

fn script(path: &Path) -> Result<Script, Failure> {
    parsed(path, &program::read(path)?)
}

/// The maximum number of errors of a script that are printed.
const ERRORS: usize = 20;

fn parsed(path: &Path, text: &str) -> Result<Script, Failure> {
    if path.extension().is_some_and(|ending| ending == "p4") {
        return Err(Failure::input(format!(
            "{}: this is a program in place of a script; write planimeter stf PROGRAM SCRIPT.stf",
            path.display()
        )));
    }
    Script::parse(text).map_err(|errors| {
        for error in errors.iter().take(ERRORS) {
            eprintln!(
                "{}:{}:{}: error: {}",
                path.display(),
                error.line,
                error.column,
                error.message
            );
        }
        let more = match errors.len().saturating_sub(ERRORS) {
            0 => String::new(),
            more => format!("; {more} more lines are not statements"),
        };
        Failure::input(format!("{} is not an STF script{more}", path.display()))
    })
}

/// Runs a script against a fresh switch, and returns the report. If the program is compiled, the
/// script is run once for each way in which the switch can execute it, and all runs must agree.
fn one_script(
    program: &Program,
    script: ScriptFile<'_>,
    coverage: Option<&mut Coverage>,
    arguments: &Arguments,
) -> Result<Report, Failure> {
    let mut switch = fresh(program, arguments.options(), arguments)?;
    for (place, what) in switch.compiled().into_iter().flat_map(|code| code.interpreted()) {
        if !arguments.quiet {
            println!("{place}: note: {what} is interpreted");
        }
    }
    if switch.compiled().is_none() {
        return one_run(&mut switch, program, script, RunForm::TRACED, coverage, arguments);
    }
    let mut runs = Vec::new();
    for way in switch.ways() {
        for together in [false, true] {
            switch.reset().map_err(Failure::input)?;
            switch.choose_way(Some(way));
            // The interpreter records the traces. All other ways must have the same results.
            let is_traced = way == Way::Interpreter && !together;
            let form = RunForm { together, is_traced };
            let report = one_run(&mut switch, program, script, form, None, arguments)?;
            runs.push(Ran { way, together, report, digests: switch.take_digests() });
        }
    }
    Ok(of_all_ways(runs))
}

/// Combines the reports of several runs of a script, in each of which the switch executed a
/// compiled program in another way. Returns the report of the first run, to which the differences
/// between the runs are added as failures.
fn of_all_ways(runs: Vec<Ran>) -> Report {
    let different = disagreements(&runs);
    let mut report = runs.into_iter().next().map(|ran| ran.report).unwrap_or_default();
    report.failures.extend(different);
    report
}

/// The form in which a script is run.
#[derive(Clone, Copy)]
struct RunForm {
    /// Whether packets are processed in bursts, rather than one by one.
    together: bool,
    /// Whether packets are traced if the command line asks for traces.
    is_traced: bool,
}

impl RunForm {
    /// A run with traces, in which packets are processed one by one.
    const TRACED: Self = Self { together: false, is_traced: true };
}

/// Runs a script against a switch that was just loaded, and returns the report.
fn one_run(
    switch: &mut Switch,
    program: &Program,
    ScriptFile { path, script, .. }: ScriptFile<'_>,
    RunForm { together, is_traced }: RunForm,
    coverage: Option<&mut Coverage>,
    arguments: &Arguments,
) -> Result<Report, Failure> {
    let options = arguments.options();
    let options = Options { together, trace: options.trace.filter(|_| is_traced), ..options };
    let queues = install(switch, program, options, &arguments.entries)?;
    let with_queues = arguments.entries.iter().zip(queues).find(|(_, queues)| !queues.0.is_empty());
    if let Some((path, _)) = with_queues {
        return Err(Failure::input(format!(
            "{}: ports have queues only in a network; run it with --topology",
            path.display()
        )));
    }
    let report = match coverage {
        Some(coverage) => run_covered(switch, script, options, coverage),
        None => run_script(switch, script, options),
    };
    let mut report = report
        .map_err(|(line, error)| Failure::input(format!("{}:{line}: {error}", path.display())))?;
    for (port, capture) in &arguments.pcap_in {
        captures::replay(switch, *port, capture, &mut report)?;
    }
    Ok(report)
}

/// Creates a fresh switch on the requested execution path, and installs the entries of `files`.
/// Returns the switch, and for each file the queues that the file configures at the switch's ports.
/// `way` selects how the switch executes a compiled program.
fn with_entries(
    program: &Program,
    files: &[PathBuf],
    options: Options,
    way: Option<Way>,
    arguments: &Arguments,
) -> Result<(Switch, Vec<Configuration>), Failure> {
    let mut switch = fresh(program, options, arguments)?;
    switch.choose_way(way);
    let queues = install(&mut switch, program, options, files)?;
    Ok((switch, queues))
}

/// Creates a fresh switch that executes the program on the path that `--path` names.
fn fresh(program: &Program, options: Options, arguments: &Arguments) -> Result<Switch, Failure> {
    let mut switch = Switch::with_seed(program.clone(), arguments.seed).map_err(Failure::input)?;
    switch.set_translated(translated::of(program)?);
    if arguments.path == pipeline::Path::Compiled {
        if arguments.coverage.is_some() {
            return Err(Failure::input(
                "--coverage needs --path interpreter: a compiled program reports no events",
            ));
        }
        switch.follow_psa_switch(!options.specification);
        switch.compile().map_err(Failure::input)?;
    }
    Ok(switch)
}

/// Installs the table entries of files on a switch. Returns for each file the queues that it
/// configures at the switch's ports. Returns an error if the switch refuses an entry, with or
/// without `--strict`.
pub(crate) fn install(
    switch: &mut Switch,
    program: &Program,
    options: Options,
    files: &[PathBuf],
) -> Result<Vec<Configuration>, Failure> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let p4info = p4lang::p4info::generate(program).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Failure::input(format!("the program has no P4Info: {}", errors.join("; ")))
    })?;
    let strings = entries::Strings::new(p4info, Arc::clone(switch.translated()))?;
    let mut all = Vec::with_capacity(files.len());
    for path in files {
        let entries::Entries { script, queues } = entries::read(path, &strings)?;
        // A refused entry is a mistake in the file, so it is always an error.
        let options = Options { strict: true, trace: None, ..options };
        run_script(switch, &script, options).map_err(|(entry, error)| {
            Failure::input(format!("{}: its statement {entry}: {error}", path.display()))
        })?;
        all.push(queues);
    }
    Ok(all)
}

/// Returns whether any packet arrived at a queue of a network.
fn had_traffic(record: &QueueRecord) -> bool {
    record.counts.enqueued + record.counts.dropped() > 0
}

/// Describes the activity of a queue of a network. Returns `None` if no packet arrived at it.
fn queue_line(record: &QueueRecord) -> Option<String> {
    let QueueRecord { end, switch, queue, counts } = record;
    if !had_traffic(record) {
        return None;
    }
    let packets = |count: u64| match count {
        1 => "1 packet".to_owned(),
        count => format!("{count} packets"),
    };
    let mut line = format!(
        "queue {queue} of {switch}-p{}: {}, at most {} waited",
        end.port,
        packets(counts.enqueued),
        counts.deepest
    );
    for (count, what) in [
        (counts.dropped_depth, "dropped at the full queue"),
        (counts.dropped_buffer, "dropped at the full buffer"),
        (counts.dropped_red, "dropped by RED"),
        (counts.dropped_behind, "dropped in egress"),
        (counts.marked, "marked (ECN)"),
    ] {
        if count > 0 {
            line += &format!(", {count} {what}");
        }
    }
    Some(line)
}

/// Returns the number of packets of a script.
fn packets(report: &Report) -> u64 {
    let received = u64::try_from(report.received.len()).unwrap_or(u64::MAX);
    received.saturating_add(report.from_sources)
}

/// Returns the number of statements of a script that had no effect.
fn idle_statements(report: &Report) -> usize {
    report.notes.iter().filter(|(_, note)| note.starts_with("without effect")).count()
}

/// Prints the outcome of a script, and returns whether all of its expectations were met.
fn print(path: &Path, report: &Report, quiet: bool) -> bool {
    let path = path.display();
    if !quiet {
        for (line, value) in &report.values {
            println!("{path}:{line}: {value}");
        }
        for (line, note) in &report.notes {
            println!("{path}:{line}: note: {note}");
        }
    }
    if !quiet {
        report.queues.iter().filter_map(queue_line).for_each(|line| println!("{path}: {line}"));
    }
    for failure in &report.failures {
        print!("{path}: {}", report.describe(failure));
    }
    let packets = match packets(report) {
        1 => "1 packet".to_owned(),
        packets => format!("{packets} packets"),
    };
    let packets = match idle_statements(report) {
        0 => packets,
        1 => format!("{packets}, 1 statement without effect"),
        idle => format!("{packets}, {idle} statements without effect"),
    };
    match report.failures.len() {
        0 if quiet => {}
        0 => println!("{path}: passed, {packets}"),
        1 => println!("{path}: 1 failure, {packets}"),
        failures => println!("{path}: {failures} failures, {packets}"),
    }
    report.failures.is_empty()
}
