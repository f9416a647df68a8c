//! The command `planimeter`: one module per subcommand (verb), with the arguments of the subcommand
//! and its connection to the libraries.
//!
//! It is a library because the Python package carries the command too, without a second copy of
//! the code: its console script calls [`run`].
//!
//! The exit status is 0 for success, 1 if the measured subject failed its thresholds or a check, 2
//! if the input was wrong, 3 if the controller to measure could not be reached, and 130 after an
//! interrupt.

// Doc comments on arguments are printed as help, in which brackets are not links.
#![allow(rustdoc::broken_intra_doc_links, rustdoc::invalid_html_tags)]

mod bench;
mod bound;
mod compare;
mod compile;
mod controller;
mod ctl;
mod demo;
mod device;
mod dut;
mod embedded;
mod entry_commands;
mod environment;
mod failure;
mod flags;
mod interrupt;
mod invocation;
mod manual;
mod mappings;
mod output;
mod parsers;
mod probe;
mod program;
mod progress;
mod rank_group;
mod reference;
mod report;
mod reproduce;
mod stf;
mod storage;
mod switch;
mod tables;
mod testgen;
mod threshold;
mod tls;
mod translated;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches};

use failure::Failure;

pub use flags::{Flag, FlagKind, flags};
pub use invocation::Started;

/// Runs the command of this process, and returns its exit status.
#[must_use]
pub fn main() -> u8 {
    end_quietly_with_the_reader();
    status(execute())
}

/// Runs the command within a process of another program, such as Python, and returns its exit
/// status. The process must end after that. It may call this function once.
#[must_use]
pub fn run(started: Started) -> u8 {
    if let Some(path) = &started.progress
        && let Err(error) = progress::lines::write_to(path)
    {
        eprintln!("planimeter: progress cannot be written to {}: {error}", path.display());
    }
    invocation::start_as(started);
    end_quietly_with_the_reader();
    let status = status(execute());
    // The standard library flushes only where it started the process.
    let _ = std::io::stdout().flush();
    status
}

/// Returns the number of an exit status. The standard library has no function for it.
fn status(code: ExitCode) -> u8 {
    (0..=u8::MAX).find(|number| ExitCode::from(*number) == code).unwrap_or(1)
}

fn execute() -> ExitCode {
    invocation::build().declare();
    if let Err(error) = interrupt::install() {
        eprintln!(
            "planimeter: signals cannot be handled, so Ctrl-C ends the process at once: {error}"
        );
    }
    let matches = match command().try_get_matches_from(understood(invocation::words())) {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version are not failures. clap knows which stream they belong to.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let outcome = match matches.subcommand() {
        Some(("demo", arguments)) => parsed(arguments, demo::run),
        Some(("reproduce", arguments)) => parsed(arguments, reproduce::run),
        Some(("probe", arguments)) => probe::run(arguments),
        Some(("report", arguments)) => parsed(arguments, report::run),
        Some(("controller", arguments)) => controller::run(arguments),
        Some(("ctl", arguments)) => parsed(arguments, ctl::run),
        Some(("bench", arguments)) => parsed(arguments, bench::run),
        Some(("bound", arguments)) => parsed(arguments, bound::run),
        Some(("compare", arguments)) => parsed(arguments, compare::run),
        Some(("compile", arguments)) => parsed(arguments, compile::run),
        Some(("device", arguments)) => parsed(arguments, device::run),
        Some(("dut", arguments)) => parsed(arguments, dut::run),
        Some(("manual", arguments)) => parsed(arguments, manual::run),
        Some(("stf", arguments)) => parsed(arguments, stf::run),
        Some(("load", _)) => Ok(switch::load()),
        Some(("switch", arguments)) => switch::run(arguments),
        Some(("tables", arguments)) => parsed(arguments, tables::run),
        Some(("testgen", arguments)) => parsed(arguments, testgen::run),
        _ => Ok(ExitCode::from(2)),
    };
    outcome.unwrap_or_else(|failure| {
        eprintln!("planimeter: {failure}");
        failure.exit_code()
    })
}

/// Rewrites the command lines that clap cannot parse as they are. The `--` of `planimeter switch`
/// is removed, because the options that simple_switch_grpc accepts only after it are ordinary
/// options here. Boolean flags of `planimeter probe` are joined with their values.
fn understood(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_some_and(|verb| verb == "switch")
        && let Some(position) = words.iter().position(|word| word == "--")
    {
        words.remove(position);
    }
    if words.get(1).is_some_and(|verb| verb == "probe") {
        words = probe::arguments::with_joined_booleans(words);
    }
    words
}

/// Parses the arguments of a subcommand from `matches`, and runs the subcommand with them.
fn parsed<A: FromArgMatches>(
    matches: &ArgMatches,
    run: impl FnOnce(&A) -> Result<ExitCode, Failure>,
) -> Result<ExitCode, Failure> {
    run(&A::from_arg_matches(matches).map_err(Failure::input)?)
}

/// Returns whether the user named this argument on the command line.
fn given(matches: &ArgMatches, name: &str) -> bool {
    matches.value_source(name) == Some(ValueSource::CommandLine)
}

/// Makes the process end silently if the reader of its standard output is gone, as in
/// `planimeter ... | head`. Otherwise the printing macros would panic with a message. The exit
/// status is 141, as shells report it for other programs in this case.
fn end_quietly_with_the_reader() {
    const BROKEN_PIPE: i32 = 141;
    let otherwise = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let message = panic.payload().downcast_ref::<String>().map_or("", String::as_str);
        if message.starts_with("failed printing to stdout: Broken pipe") {
            std::process::exit(BROKEN_PIPE);
        }
        otherwise(panic);
    }));
}

fn command() -> Command {
    Command::new("planimeter")
        .version(env!("CARGO_PKG_VERSION"))
        .long_version(format!("{} ({})", env!("CARGO_PKG_VERSION"), invocation::build().in_words()))
        .about("Measures programmable networks and turns what it measured into guarantees.")
        .after_help(
            "Exit status: 0 done; 1 a threshold or a check failed; 2 the input was wrong; 3 the controller under \
             test could not be reached; 130 interrupted.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(demo::Arguments::command())
        .subcommand(reproduce::Arguments::command())
        .subcommand(probe::arguments::command())
        .subcommand(report::Arguments::command())
        .subcommand(controller::Arguments::command())
        .subcommand(ctl::Arguments::command())
        .subcommand(bench::Arguments::command())
        .subcommand(bound::Arguments::command())
        .subcommand(compare::Arguments::command())
        .subcommand(compile::Arguments::command())
        .subcommand(device::Arguments::command())
        .subcommand(dut::Arguments::command())
        .subcommand(stf::Arguments::command())
        .subcommand(switch::command())
        .subcommand(switch::load_command())
        .subcommand(tables::Arguments::command())
        .subcommand(testgen::Arguments::command())
        .subcommand(manual::Arguments::command())
}
