//! `planimeter testgen`: generates tests of a P4 program, and reports the parts of the program that
//! no packet reaches.

mod document;
mod equivalent;
mod formats;
mod given;

use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use clap::Parser;
use ir::{Architecture, Program, with_large_stack};
use report::page::document::{Section, json};
use symbolic::Ends;
use symbolic::generated::Test;
use symbolic::goals::Kind;
use symbolic::search::{FindError, Options, Progress, Report, SearchError, Verdict, find, search};
use symbolic::wanted::{Wanted, WantedError};

use self::formats::{Format, Suite};
use self::given::Subject;
use crate::failure::{Failure, INTERRUPTED};
use crate::interrupt;
use crate::invocation;
use crate::parsers;
use crate::program::{self, Sources, architecture};
use crate::progress::Steps;

const WIDTH: usize = 100;

/// The largest number of packets in a test, unless the command line sets another.
const PACKETS: u32 = 3;
const ABOUT: &str = "Make tests of a P4 program that reach all of it";

const LONG_ABOUT: &str = "\
Make tests of a P4 program that reach all of it.

The program is executed symbolically: the bits of the packet, the entries of tables, their default actions and the contents \
of registers are unknowns, and a solver finds values for which packets reach each statement, side of a branch, parser state, \
case of a select, hit and miss of a table, and action of a table. Further tests are at the boundaries of comparisons, where \
`<` and `<=` differ (--few makes none). Each test has a packet, what the control plane writes \
before it, and the packets that must leave the switch, with * for digits that the language leaves undefined. What a packet only \
reaches after others have written, such as a constant entry with an argument that counts, gets a test with several packets, \
between which time passes if entries expire (PNA). \
The expected packets come from the symbolic execution, and never from running the program, so a test can find a fault of the \
interpreter, of machine code, and of any other switch.

What no packet reaches, whatever tables and registers contain, is printed as unreachable: it is dead code. If packets can \
write what no test can, that is only proved for sequences of up to --packets packets, and printed as not within so many packets. \
What could be neither reached nor proved unreachable is printed as given up, with the reason.

Programs are for v1model, PSA or PNA. The same program, options and version make the same tests.";

const EXAMPLES: &str = "\
Examples:
  See what tests would reach, and what no packet reaches:
    planimeter testgen programs/router.p4

  Write a script for each test, and run them on the interpreter and as machine code:
    planimeter testgen programs/router.p4 --output tests
    planimeter stf --path compiled programs/router.p4 tests/*.stf

  Other values for all that the tests leave open, and no more than ten tests:
    planimeter testgen programs/firewall.p4 --output tests --seed 7 --until '10 tests'

  One file for other tools, and a module of Python for PTF with a switch that speaks P4Runtime:
    planimeter testgen programs/router.p4 --output tests --format json
    planimeter testgen programs/router.p4 --output tests --format ptf

  How much of the program the tests reach, for another program:
    planimeter testgen programs/router.p4 --json

  Tests of up to four packets, in which registers contain only what packets have written:
    planimeter testgen programs/port_knocking.p4 --output tests --fresh --packets 4

  A packet and entries with which the access list drops the packet:
    planimeter testgen acl.p4 --goal 'hit Ingress.acl && drop' --avoid 'error PacketTooShort'

  Whether a rewritten program transmits the same packets:
    planimeter testgen acl.p4 --equivalent acl-rewritten.p4

  Whether they are the same for sequences of up to three packets and up to four entries in each table:
    planimeter testgen acl.p4 --equivalent acl-rewritten.p4 --packets 3 --entries-per-table 4

  What packets reach with the entries of a file:
    planimeter testgen programs/router.p4 --entries entries.txt

  Whether they are the same, if the rewritten program has given the table another name:
    planimeter testgen acl.p4 --equivalent acl-rewritten.p4 --pair Ingress.acl=Ingress.filter

Wishes (--goal, --avoid) consist of these, with !, && , || and parentheses:
  hit TABLE, miss TABLE, action [TABLE.]ACTION, statement FILE:LINE, state PARSER.STATE, drop,
  port NUMBER, clone, recirculate, resubmit, error NAME

Exit status: 0 tests were made; 1 no packet does what --goal says, or none was found, or the programs of --equivalent differ or \
could not be compared; 2 the program or an argument is wrong, or a file cannot be written.";

/// A condition under which the generation of tests ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Until {
    /// Tests reach this percentage of the parts that are not proved unreachable.
    Coverage(f64),
    /// This number of tests has been generated.
    Tests(usize),
    /// This time has passed.
    Time(Duration),
}

impl Until {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("{text:?} is not `coverage=NUMBER%`, `NUMBER tests` or a time such as `60 s`")
        };
        let text = text.trim();
        if let Some(share) = text.strip_prefix("coverage=") {
            let share = share.strip_suffix('%').and_then(|share| share.trim().parse().ok());
            let share = share.filter(|share| (0.0..=100.0).contains(share));
            return share.map(Self::Coverage).ok_or_else(wrong);
        }
        let tests = text.strip_suffix("tests").or_else(|| text.strip_suffix("test"));
        if let Some(tests) = tests {
            return tests.trim().parse().map(Self::Tests).map_err(|_| wrong());
        }
        let joined: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
        parsers::duration(&joined).map(Self::Time).map_err(|_| wrong())
    }
}

/// The arguments of `planimeter testgen`.
#[derive(Debug, Parser)]
#[command(
    name = "testgen",
    about = ABOUT,
    long_about = LONG_ABOUT,
    after_long_help = EXAMPLES,
    max_term_width = WIDTH
)]
pub(crate) struct Arguments {
    /// The program, as P4_16 source, BMv2 JSON, or the IR that `planimeter compile --ir` writes
    #[arg(value_name = "PROGRAM")]
    program: PathBuf,
    #[command(flatten)]
    sources: Sources,
    /// Write the tests into this directory
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// The form of the tests
    #[arg(long, value_name = "FORMAT", default_value = "stf")]
    format: Format,
    /// End at `coverage=NUMBER%`, after `NUMBER tests`, or after a time such as `60 s`; the first
    /// that is true of several
    #[arg(long, value_name = "CONDITION", value_parser = Until::parse)]
    until: Vec<Until>,
    /// The seed of all values that tests leave open
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Follow a packet through at most this many passes of the program
    #[arg(long, value_name = "NUMBER", default_value_t = 3)]
    passes: u32,
    /// Make tests of at most this many packets, of which the later ones find what the earlier ones
    /// have written: 3 unless this says another number, and 1 with --equivalent
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=8))]
    packets: Option<u32>,
    /// Make tests whose control plane writes no registers, and no entries of tables to which
    /// packets add (PNA): these contain what the program and its packets write
    #[arg(long, conflicts_with = "equivalent")]
    fresh: bool,
    /// Make no tests at the boundaries of comparisons, and no entries that must lose: fewer tests
    /// reach the same parts of the program, and find fewer faults
    #[arg(long, conflicts_with_all = ["goal", "equivalent"])]
    few: bool,
    /// The number of threads; 0 means one for each core. The tests do not depend on it
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    threads: usize,
    /// Make one test that does this, such as 'hit Ingress.acl && drop', or prove that there is none
    #[arg(long, value_name = "WISH", value_parser = wish)]
    goal: Option<Wanted>,
    /// Make no test for --goal that does this
    #[arg(long, value_name = "WISH", value_parser = wish, requires = "goal")]
    avoid: Option<Wanted>,
    /// Make no tests, but compare with this program: print a packet and entries for which the two
    /// transmit different packets, or prove that there are none
    #[arg(long, value_name = "PROGRAM", conflicts_with_all = ["goal", "until", "format"])]
    equivalent: Option<PathBuf>,
    /// With --equivalent: give table A of the first program the same entries as table B of the
    /// second one, by their names or the last parts of these. Other tables are paired if they have
    /// the same name
    #[arg(long, value_name = "A=B", value_parser = pair, requires = "equivalent")]
    pair: Vec<(String, String)>,
    /// Let tables have the entries and default actions of this file, and no others: a runtime.json
    /// of the p4lang tutorials, or commands of simple_switch_CLI. With --equivalent, both programs
    /// have them
    #[arg(long, value_name = "FILE")]
    entries: Vec<PathBuf>,
    /// Let the control plane write at most this many entries into each table. What is proved then
    /// holds for so many entries; without this, it holds for any number up to the size of the table
    #[arg(long, value_name = "NUMBER", conflicts_with = "entries")]
    entries_per_table: Option<u32>,
    /// Print no list of what is unreachable or given up
    #[arg(long)]
    quiet: bool,
    /// Print what the tests reach, and what they do not, or the verdict of --equivalent, as JSON in
    /// the format of result.json
    #[arg(long, conflicts_with = "goal")]
    json: bool,
}

fn wish(text: &str) -> Result<Wanted, WantedError> {
    text.parse()
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((first, second)) if !first.is_empty() && !second.is_empty() => {
            Ok((first.to_owned(), second.to_owned()))
        }
        Some(_) | None => {
            Err(format!("{text:?} is not A=B, a table of the first program and one of the second"))
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let path = &arguments.program;
    let program = program::load(path, &arguments.sources)?;
    check_architecture(path, &program)?;
    let (began, started) = (arguments.json.then(invocation::start), Instant::now());
    let mut options = Options { seed: arguments.seed, ..Options::default() };
    options.passes = arguments.passes;
    options.packets = arguments.packets.unwrap_or(PACKETS);
    options.starts_fresh = arguments.fresh;
    options.only_source_entries = !arguments.entries.is_empty();
    options.entries = arguments.entries_per_table;
    options.threads = match arguments.threads {
        0 => available_parallelism().map_or(1, NonZero::get),
        threads => threads,
    };
    let mut time = None;
    for until in &arguments.until {
        match until {
            Until::Coverage(share) => options.coverage = options.coverage.min(*share),
            Until::Tests(most) => {
                options.tests = Some(options.tests.map_or(*most, |before| before.min(*most)));
            }
            Until::Time(most) => {
                time = Some(time.map_or(*most, |before: Duration| before.min(*most)));
            }
        }
    }
    options.ends = Ends { at: time.map(|most| started + most), asked: interrupt::asked() };
    if let Some(other) = &arguments.equivalent {
        options.packets = arguments.packets.unwrap_or(1);
        let began = began.as_ref();
        return equivalent::compare((path, &program), other, arguments, &options, began);
    }
    let subject = Subject::new(&program, &arguments.entries)?;
    if let Some(goal) = &arguments.goal {
        return one(path, &subject, goal, arguments, &options);
    }
    options.boundaries = !arguments.few;
    let steps = Steps::new(arguments.quiet);
    let mut goes_on = |progress: Progress| {
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let tests = format!("{} tests", progress.tests);
        steps.show(count(progress.decided), count(progress.goals), tests);
        true
    };
    let report = with_large_stack(|| search(subject.searched(), &options, &mut goes_on));
    drop(steps);
    let mut report = report.map_err(Failure::run)?.map_err(|error| failure(path, error))?;
    report.tests.iter_mut().for_each(|test| subject.complete(test));
    write(path, &program, arguments, &report)?;
    if let Some(began) = &began {
        let mut document = document::document(path, &report, began.provenance());
        if options.entries.is_some() {
            let bound = bound_of(options.entries);
            document
                .notes
                .push(format!("What no test reaches is decided for configurations{bound}."));
        }
        if is_interrupted() {
            document.lacks("interrupted before all parts of the program were tried");
        }
        print!("{}", json::to_json(&document));
    } else {
        print(path, &report, arguments, started.elapsed());
    }
    Ok(status(ExitCode::SUCCESS))
}

/// Returns the exit status of a command that would end with `usual` if it were not interrupted.
fn status(usual: ExitCode) -> ExitCode {
    if is_interrupted() { ExitCode::from(INTERRUPTED) } else { usual }
}

fn is_interrupted() -> bool {
    interrupt::asked().is_some_and(|asked| asked.load(Ordering::SeqCst))
}

/// Returns an error if programs of this architecture cannot be executed symbolically.
fn check_architecture(path: &Path, program: &Program) -> Result<(), Failure> {
    match program.architecture {
        Architecture::V1model | Architecture::Psa | Architecture::Pna => Ok(()),
        Architecture::Other(_) => Err(Failure::input(format!(
            "{}: programs for v1model, PSA and PNA are executed symbolically, and this one is for {}",
            path.display(),
            architecture(program)
        ))),
    }
}

/// Generates tests with the default options, to find out what no packet reaches.
fn usual(path: &Path, program: &Program) -> Result<Report, Failure> {
    check_architecture(path, program)?;
    let ends = Ends { at: None, asked: interrupt::asked() };
    let options = Options { packets: PACKETS, ends, ..Options::default() };
    let report = with_large_stack(|| search(program, &options, &mut |_| true));
    let report = report.map_err(Failure::run)?.map_err(|error| failure(path, error))?;
    if is_interrupted() { Err(Failure::Interrupted) } else { Ok(report) }
}

/// Returns the content of [`dead`] as a section of a document, which other programs can read.
pub(crate) fn dead_section(path: &Path, program: &Program) -> Result<Section, Failure> {
    Ok(document::section(&usual(path, program)?))
}

/// Returns a list of the parts of a program that no packet reaches, and of those for which this
/// could not be decided.
pub(crate) fn dead(path: &Path, program: &Program) -> Result<String, Failure> {
    let report = usual(path, program)?;
    let mut text = undecided(&report, None);
    if text.is_empty() {
        text = format!("{}: a packet reaches each part of the program\n", path.display());
    }
    Ok(text)
}

/// Formats a number of packets in words.
fn count_of(packets: u32) -> String {
    match packets {
        1 => "1 packet".to_owned(),
        more => format!("{more} packets"),
    }
}

/// Formats the largest number of entries that the control plane writes into each table, as an
/// addition to what is proved. It is empty without such a limit.
fn bound_of(entries: Option<u32>) -> String {
    entries.map_or_else(String::new, |most| format!(" with up to {most} entries in each table"))
}

/// Returns a line for each goal (part of the program) that is unreachable or was given up, and for
/// each place at which packets were not followed further.
fn undecided(report: &Report, entries: Option<u32>) -> String {
    let mut text = String::new();
    let bound = bound_of(entries);
    for (goal, verdict) in &report.goals {
        let what = match goal.kind {
            Kind::Statement => "statement".to_owned(),
            Kind::Branch | Kind::State | Kind::Select | Kind::Table | Kind::Action => {
                goal.name.clone()
            }
        };
        let place = match &goal.place {
            Some(place) => format!("{place}: "),
            None => String::new(),
        };
        match verdict {
            Verdict::Unreachable => text += &format!("{place}unreachable{bound}: {what}\n"),
            Verdict::NotWithin(packets) => {
                let packets = count_of(*packets);
                text += &format!("{place}not within {packets}{bound}: {what}\n");
            }
            Verdict::GivenUp(reason) => {
                text += &format!("{place}given up: {what}: {reason}\n");
            }
            Verdict::Open => text += &format!("{place}not tried: {what}\n"),
            Verdict::Covered(_) => {}
        }
    }
    for cut in &report.cuts {
        text += &format!("not followed: {cut}\n");
    }
    text
}

fn failure(path: &Path, error: SearchError) -> Failure {
    match error {
        SearchError::Unsupported(what) => Failure::input(format!("{}: {what}", path.display())),
        SearchError::Query(error) => Failure::run(format!("{}: {error}", path.display())),
        SearchError::Thread(_) => Failure::run(error),
        SearchError::Ended if is_interrupted() => Failure::Interrupted,
        SearchError::Ended => Failure::run(format!("{}: {error}; allow more time", path.display())),
    }
}

/// Generates and prints a test in which a packet does what `goal` says, or prints the reason why
/// there is none. The exit status is 1 if there is none.
fn one(
    path: &Path,
    subject: &Subject<'_>,
    goal: &Wanted,
    arguments: &Arguments,
    options: &Options,
) -> Result<ExitCode, Failure> {
    let avoid = arguments.avoid.as_ref();
    let found = with_large_stack(|| find(subject.searched(), goal, avoid, options));
    let mut report = found.map_err(Failure::run)?.map_err(|error| match error {
        FindError::Name(missing) => Failure::input(format!("{}: {missing}", path.display())),
        FindError::Search(error) => failure(path, error),
    })?;
    report.tests.iter_mut().for_each(|test| subject.complete(test));
    write(path, subject.program, arguments, &report)?;
    for test in &report.tests {
        print!("{}", test.stf());
    }
    let within = bound_of(options.entries);
    for (goal, verdict) in &report.goals {
        match verdict {
            Verdict::Covered(_) => return Ok(status(ExitCode::SUCCESS)),
            Verdict::Unreachable => {
                println!("{}: no packet does this{within}: {}", path.display(), goal.name);
            }
            Verdict::NotWithin(packets) => {
                let bound = count_of(*packets);
                println!(
                    "{}: no sequence of up to {bound} does this{within}: {}",
                    path.display(),
                    goal.name
                );
            }
            Verdict::GivenUp(reason) => {
                println!("{}: given up: {}: {reason}", path.display(), goal.name);
            }
            Verdict::Open => {
                println!("{}: not decided before the search ended: {}", path.display(), goal.name);
            }
        }
    }
    Ok(status(ExitCode::from(1)))
}

/// Writes the tests into the directory of `--output`, if it is given.
fn write(
    path: &Path,
    program: &Program,
    arguments: &Arguments,
    report: &Report,
) -> Result<(), Failure> {
    let Some(directory) = &arguments.output else { return Ok(()) };
    Suite { path, program, seed: arguments.seed, report }.write(directory, arguments.format)
}

/// The number of goals (parts of the program) of one kind, by verdict.
#[derive(Default)]
struct Counts {
    all: usize,
    covered: usize,
    unreachable: usize,
    not_within: usize,
    given_up: usize,
    open: usize,
}

/// Returns the numbers of goals of each kind by verdict.
fn counts(report: &Report) -> BTreeMap<Kind, Counts> {
    let mut counts: BTreeMap<Kind, Counts> = BTreeMap::new();
    for (goal, verdict) in &report.goals {
        let of = counts.entry(goal.kind).or_default();
        of.all += 1;
        match verdict {
            Verdict::Covered(_) => of.covered += 1,
            Verdict::Unreachable => of.unreachable += 1,
            Verdict::NotWithin(_) => of.not_within += 1,
            Verdict::GivenUp(_) => of.given_up += 1,
            Verdict::Open => of.open += 1,
        }
    }
    counts
}

/// Returns the number of hexadecimal digits in the packets that tests expect, and the number of
/// those digits that are undefined.
fn digits(report: &Report) -> (usize, usize) {
    let masks = report.tests.iter().map(Test::masked);
    masks.fold((0, 0), |(all, masked), (digits, here)| (all + digits, masked + here))
}

/// Prints a summary of what the tests reach, and of what they do not.
fn print(path: &Path, report: &Report, arguments: &Arguments, took: Duration) {
    let counts = counts(report);
    let tests = match report.tests.len() {
        1 => "1 test".to_owned(),
        tests => format!("{tests} tests"),
    };
    let written = match &arguments.output {
        Some(directory) => format!(" in {}", directory.display()),
        None => String::new(),
    };
    println!("{}: {tests}{written}, {:.1} s", path.display(), took.as_secs_f64());
    for kind in Kind::ALL {
        let Some(of) = counts.get(&kind) else { continue };
        let Counts { all, covered, unreachable, not_within, given_up, open } = of;
        let mut line = format!("  {:<18} {covered} of {all}", kind.name());
        for (count, what) in [
            (unreachable, "unreachable"),
            (not_within, "not reached within the packets of a test"),
            (given_up, "given up"),
            (open, "not tried"),
        ] {
            if *count > 0 {
                line += &format!(", {count} {what}");
            }
        }
        println!("{line}");
    }
    let (digits, masked) = digits(report);
    if masked > 0 {
        println!("  of {digits} digits that are expected, {masked} are undefined");
    }
    if !arguments.quiet {
        print!("{}", undecided(report, arguments.entries_per_table));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_to_end_and_pairs_are_parsed() {
        assert_eq!(Until::parse("coverage=95%"), Ok(Until::Coverage(95.0)));
        assert_eq!(Until::parse("1000 tests"), Ok(Until::Tests(1000)));
        assert_eq!(Until::parse("60 s"), Ok(Until::Time(Duration::from_secs(60))));
        assert_eq!(Until::parse("1.5s"), Ok(Until::Time(Duration::from_millis(1500))));
        assert_eq!(pair("I.a=J.b"), Ok(("I.a".to_owned(), "J.b".to_owned())));
        for wrong in ["I.a", "=J.b", "I.a="] {
            assert!(pair(wrong).is_err(), "{wrong}");
        }
        for wrong in ["coverage=101%", "coverage=9", "many tests", "60", ""] {
            assert!(Until::parse(wrong).is_err(), "{wrong}");
        }
    }
}
