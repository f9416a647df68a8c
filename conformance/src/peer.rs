//! Where the programs are that others wrote.
//!
//! `conformance/install.sh` puts a folder for each peer, mostly a Python virtual environment, under
//! `conformance/.peers`; the environment variable `PLANIMETER_PEERS` names another place. Programs
//! that the system packages are looked for on the search path.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that somebody else wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Open vSwitch's learning switch controller.
    OvsTestcontroller,
    /// Open vSwitch itself, with its userspace datapath.
    OpenVSwitch,
    /// os-ken, an OpenFlow controller framework in Python.
    OsKen,
    /// Faucet, an OpenFlow controller for production networks, on os-ken.
    Faucet,
    /// finsy, a P4Runtime controller framework in Python.
    Finsy,
    /// p4runtime-shell, the P4 consortium's P4Runtime client in Python.
    P4RuntimeShell,
    /// grpc-java over Netty, which controllers in Java are built on, such as ONOS.
    GrpcJava,
    /// Thrift's library, with which clients of BMv2 speak.
    Thrift,
    /// PTF, the test framework of p4lang, with scapy.
    Ptf,
    /// Mininet, which builds networks of namespaces.
    Mininet,
    /// iperf3, which sends TCP as fast as it goes.
    Iperf3,
    /// ping, of iputils.
    Ping,
}

impl Peer {
    /// The command that starts the program: the binary itself, or the interpreter that finds the
    /// library.
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
            Self::OpenVSwitch => on_search_path("ovs-vswitchd"),
            Self::OsKen => interpreter("os-ken"),
            Self::Faucet => interpreter("faucet"),
            Self::Finsy => interpreter("finsy"),
            Self::P4RuntimeShell => interpreter("p4runtime-shell"),
            Self::GrpcJava => on_search_path("java").filter(|_| libraries().is_dir()),
            Self::Thrift => interpreter("thrift"),
            Self::Ptf => interpreter("ptf"),
            // Debian has it for the Python of the system.
            Self::Mininet => on_search_path("mn")
                .and(Some(PathBuf::from("/usr/bin/python3")))
                .filter(|at| at.is_file()),
            Self::Iperf3 => on_search_path("iperf3"),
            Self::Ping => on_search_path("ping"),
        };
        if let Some(program) = program {
            return Some(bounded(&program));
        }
        skip(&format!("{self:?} is not installed; conformance/install.sh installs it"));
        None
    }
}

/// A class of `conformance/scripts/java`, to be run with grpc-java; compiled into a folder of the
/// caller's. Returns nothing if grpc-java is not installed, as [`Peer::command`].
///
/// # Panics
///
/// When it does not compile, or grpc-java is required and not installed.
pub fn java(main: &str, classes: &Path) -> Option<Command> {
    let mut command = Peer::GrpcJava.command()?;
    let scripts = repository().join("conformance/scripts/java");
    let sources = fs::read_dir(scripts).expect("they are there").flatten().map(|file| file.path());
    let jars = libraries().join("*");
    let mut compiler = Command::new("javac");
    compiler.arg("-cp").arg(&jars).arg("-d").arg(classes).args(sources);
    let compiled = compiler.output().expect("a JDK has javac");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let path = env::join_paths([&jars, classes]).expect("folders without colons");
    command.arg("-cp").arg(path).arg(main);
    Some(command)
}

/// Says that a test is skipped, or fails it if nothing may be.
pub(crate) fn skip(message: &str) {
    let required = env::var("PLANIMETER_REQUIRE_PEERS").is_ok_and(|value| value == "1");
    assert!(!required, "{message}");
    // Not eprintln!, which the test harness keeps to itself when a test passes.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {message}");
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

/// The folder that holds one for each peer.
pub fn peers() -> PathBuf {
    match env::var_os("PLANIMETER_PEERS") {
        Some(directory) => PathBuf::from(directory),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join(".peers"),
    }
}

/// Where the libraries of grpc-java are.
fn libraries() -> PathBuf {
    peers().join("grpc-java/lib")
}

fn interpreter(environment: &str) -> Option<PathBuf> {
    let python = peers().join(environment).join("bin/python");
    python.exists().then_some(python)
}

fn on_search_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    // Daemons of Debian are in folders that not every user's search path has.
    let more = ["/usr/sbin", "/usr/bin"].map(PathBuf::from);
    env::split_paths(&path).chain(more).map(|folder| folder.join(program)).find(|at| at.is_file())
}
