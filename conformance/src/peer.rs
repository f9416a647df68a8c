//! Where the programs are that others wrote.
//!
//! `conformance/install.sh` puts a Python virtual environment for each peer under
//! `conformance/.peers`; the environment variable `PLANIMETER_PEERS` names another place. Programs
//! that the system packages are looked for on the search path.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that somebody else wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Open vSwitch's learning switch controller.
    OvsTestcontroller,
    /// os-ken, an OpenFlow controller framework in Python.
    OsKen,
    /// Faucet, an OpenFlow controller for production networks, on os-ken.
    Faucet,
    /// finsy, a P4Runtime controller framework in Python.
    Finsy,
    /// p4runtime-shell, the P4 consortium's P4Runtime client in Python.
    P4RuntimeShell,
}

impl Peer {
    /// The command that starts the program: the binary itself, or the interpreter of the virtual
    /// environment that holds the library.
    ///
    /// Returns nothing if it is not installed, and says so past the test harness; a test then has
    /// nothing to do.
    ///
    /// # Panics
    ///
    /// If it is not installed and `PLANIMETER_REQUIRE_PEERS` is 1.
    pub fn command(self) -> Option<Command> {
        let program = match self {
            Self::OvsTestcontroller => on_search_path("ovs-testcontroller"),
            Self::OsKen => interpreter("os-ken"),
            Self::Faucet => interpreter("faucet"),
            Self::Finsy => interpreter("finsy"),
            Self::P4RuntimeShell => interpreter("p4runtime-shell"),
        };
        if let Some(program) = program {
            return Some(bounded(&program));
        }
        let message = format!("{self:?} is not installed; conformance/install.sh installs it");
        let required = env::var("PLANIMETER_REQUIRE_PEERS").is_ok_and(|value| value == "1");
        assert!(!required, "{message}");
        // Not eprintln!, which the test harness keeps to itself when a test passes.
        let _ = writeln!(std::io::stderr(), "SKIPPED: {message}");
        None
    }
}

/// The root of the repository, where examples and pipelines are.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A test that is killed cannot end its peers, so peers end by themselves as well.
fn bounded(program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=1", "150"]).arg(program);
    command
}

fn interpreter(environment: &str) -> Option<PathBuf> {
    let peers = match env::var_os("PLANIMETER_PEERS") {
        Some(directory) => PathBuf::from(directory),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join(".peers"),
    };
    let python = peers.join(environment).join("bin/python");
    python.exists().then_some(python)
}

fn on_search_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    // Daemons of Debian are in folders that not every user's search path has.
    let more = ["/usr/sbin", "/usr/bin"].map(PathBuf::from);
    env::split_paths(&path).chain(more).map(|folder| folder.join(program)).find(|at| at.is_file())
}
