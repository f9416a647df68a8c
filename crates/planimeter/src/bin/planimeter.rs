//! The command `planimeter`, which is in the library of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(planimeter::main())
}
