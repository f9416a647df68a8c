//! The command: one module per verb, nothing but arguments and wiring.
//!
//! Exit status: 0 done, 1 the measured thing failed its thresholds or a check, 2 the input was
//! wrong, 3 the controller to be measured could not be reached; 130 interrupted.

mod began;
mod bench;
mod bound;
mod compare;
mod compile;
mod controller;
mod crew;
mod demo;
mod device;
mod embedded;
mod failure;
mod interrupt;
mod manual;
mod output;
mod probe;
mod program;
mod progress;
mod reference;
mod report;
mod reproduce;
mod stage;
mod stf;
mod storage;
mod switch;
mod tables;
mod threshold;
mod words;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

fn main() -> ExitCode {
    end_quietly_with_the_reader();
    began::build().declare();
    if let Err(error) = interrupt::install() {
        eprintln!(
            "planimeter: signals cannot be handled, so Ctrl-C ends the process at once: {error}"
        );
    }
    let matches = match command().try_get_matches_from(understood(std::env::args_os().collect())) {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version are no failures; clap knows which stream they belong to.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let outcome = match matches.subcommand() {
        Some(("demo", arguments)) => demo::run(arguments),
        Some(("reproduce", arguments)) => reproduce::run(arguments),
        Some(("probe", arguments)) => probe::run(arguments),
        Some(("report", arguments)) => report::run(arguments),
        Some(("controller", arguments)) => controller::run(arguments),
        Some(("bench", arguments)) => bench::run(arguments),
        Some(("bound", arguments)) => bound::run(arguments),
        Some(("compare", arguments)) => compare::run(arguments),
        Some(("compile", arguments)) => compile::run(arguments),
        Some(("device", arguments)) => device::run(arguments),
        Some(("manual", arguments)) => manual::run(arguments),
        Some(("stf", arguments)) => stf::run(arguments),
        Some(("load", _)) => Ok(switch::load()),
        Some(("switch", arguments)) => switch::run(arguments),
        Some(("tables", arguments)) => tables::run(arguments),
        _ => Ok(ExitCode::from(2)),
    };
    outcome.unwrap_or_else(|failure| {
        eprintln!("planimeter: {failure}");
        failure.exit_code()
    })
}

/// The words of the command line. What simple_switch_grpc takes behind `--` are options here like
/// all others, so `planimeter switch` does without it.
fn understood(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_some_and(|verb| verb == "switch")
        && let Some(position) = words.iter().position(|word| word == "--")
    {
        words.remove(position);
    }
    words
}

/// Whether an argument stands on the command line.
fn given(matches: &ArgMatches, name: &str) -> bool {
    matches.value_source(name) == Some(ValueSource::CommandLine)
}

/// Ends without a word when standard output is a pipe whose reader is gone, as after `| head`. The
/// printing macros know no way but a panic to say that; status 141 is what shells see of other
/// programs then.
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
        .long_version(format!("{} ({})", env!("CARGO_PKG_VERSION"), began::build().in_words()))
        .about("Measures programmable networks and turns what it measured into guarantees.")
        .after_help(
            "Exit status: 0 done; 1 the measured thing failed its thresholds or a check; \
             2 the input was wrong; 3 the controller to be measured could not be reached; \
             130 interrupted.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(demo::command())
        .subcommand(reproduce::command())
        .subcommand(probe::arguments::command())
        .subcommand(report::command())
        .subcommand(controller::command())
        .subcommand(bench::command())
        .subcommand(bound::command())
        .subcommand(compare::command())
        .subcommand(compile::command())
        .subcommand(device::command())
        .subcommand(stf::command())
        .subcommand(switch::command())
        .subcommand(switch::load_command())
        .subcommand(tables::command())
        .subcommand(manual::command())
}
