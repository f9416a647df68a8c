//! A `planimeter switch` that runs while a test uses it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A switch that runs until it is dropped, and its address.
pub(crate) struct Switch(Child, pub(crate) String);

impl Switch {
    /// Starts a switch with a program of the repository.
    pub(crate) fn of(mut command: Command, program: &str, more: &[&str]) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut child = command
            .current_dir(root)
            .args(["switch", program, "--grpc-server-addr", "127.0.0.1:0"])
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let mut line = String::new();
        let output = child.stdout.as_mut().expect("its output");
        BufReader::with_capacity(1, output).read_line(&mut line).expect("a line");
        let address = line.split_whitespace().nth(2).expect("an address").to_owned();
        Self(child, address)
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
