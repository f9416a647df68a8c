//! `planimeter testgen --equivalent`: compares two programs.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use ir::{Program, with_large_stack};
use symbolic::equivalence::{Difference, Equivalence, equivalent};
use symbolic::search::Options;

use super::{Arguments, check_architecture, failure};
use crate::failure::Failure;
use crate::program;

/// Compares a program with another, and prints a packet and a configuration for which they transmit
/// different packets. The exit status is 1 if there is one, or if that could not be decided.
pub(super) fn compare(
    path: &Path,
    first: &Program,
    other: &Path,
    arguments: &Arguments,
    options: &Options,
) -> Result<ExitCode, Failure> {
    let second = program::load(other, &arguments.sources)?;
    check_architecture(other, &second)?;
    let verdict = with_large_stack(|| equivalent(first, &second, options));
    let verdict = verdict.map_err(Failure::run)?.map_err(|error| failure(path, error))?;
    let (path, other) = (path.display(), other.display());
    match verdict {
        Equivalence::Equal { layouts } => {
            let bound = match options.packets {
                1 => String::new(),
                packets => format!(" of sequences of up to {packets}"),
            };
            println!(
                "{path} and {other} transmit the same packets, proved for {layouts} layouts of \
                 packets{bound}"
            );
            Ok(ExitCode::SUCCESS)
        }
        Equivalence::Different(difference) => {
            let Difference { first, second } = *difference;
            let tests = [(path, "first.stf", first), (other, "second.stf", second)];
            for (program, name, test) in tests {
                println!("# On {program}:");
                print!("{}", test.stf());
                if let Some(directory) = &arguments.output {
                    let file = directory.join(name);
                    fs::create_dir_all(directory)
                        .and_then(|()| fs::write(&file, test.stf()))
                        .map_err(|error| {
                            Failure::input(format!("cannot write {}: {error}", file.display()))
                        })?;
                }
            }
            Ok(ExitCode::from(1))
        }
        Equivalence::Undecided(reason) => {
            println!("{path} and {other}: given up: {reason}");
            Ok(ExitCode::from(1))
        }
    }
}
