//! The command: one module per verb, nothing but arguments and wiring.
//!
//! Exit status: 0 done, 1 the measured thing failed its thresholds or a check, 2 the input was
//! wrong.

mod bound;
mod compile;
mod controller;
mod demo;
mod embedded;
mod failure;
mod interrupt;
mod probe;
mod program;
mod progress;
mod stf;

use std::process::ExitCode;

use clap::Command;

fn main() -> ExitCode {
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version are no failures; clap knows which stream they belong to.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let outcome = match matches.subcommand() {
        Some(("demo", arguments)) => demo::run(arguments),
        Some(("probe", arguments)) => probe::run(arguments),
        Some(("controller", arguments)) => controller::run(arguments),
        Some(("bound", arguments)) => bound::run(arguments),
        Some(("compile", arguments)) => compile::run(arguments),
        Some(("stf", arguments)) => stf::run(arguments),
        _ => Ok(ExitCode::from(2)),
    };
    outcome.unwrap_or_else(|failure| {
        eprintln!("planimeter: {failure}");
        failure.exit_code()
    })
}

fn command() -> Command {
    Command::new("planimeter")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Measures programmable networks and turns what it measured into guarantees.")
        .after_help(
            "Exit status: 0 done; 1 the measured thing failed its thresholds or a check; \
             2 the input was wrong.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(demo::command())
        .subcommand(probe::arguments::command())
        .subcommand(controller::command())
        .subcommand(bound::command())
        .subcommand(compile::command())
        .subcommand(stf::command())
}
