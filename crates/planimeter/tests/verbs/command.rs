//! Helpers that run the command from the root of the repository, as a user does.

use std::path::Path;
use std::process::{Command, Output};

pub(crate) fn planimeter(verb: &str, arguments: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new(env!("CARGO_BIN_EXE_planimeter"))
        .current_dir(root)
        .env("COLUMNS", "100")
        .arg(verb)
        .args(arguments)
        .output()
        .expect("the command runs")
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
