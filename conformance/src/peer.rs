//! The locations of the peers, which are programs of other authors.
//!
//! `conformance/install.sh` creates a folder for each peer, mostly a Python virtual environment,
//! under `conformance/.peers`, or under the folder that the environment variable `PLANIMETER_PEERS`
//! names. Programs of the system's packages are searched for on the search path.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program of another author.
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
    /// pygnmi, a gNMI client in Python.
    Pygnmi,
    /// grpc-java over Netty, on which Java controllers such as ONOS are built.
    GrpcJava,
    /// The Thrift library, which clients of BMv2 use.
    Thrift,
    /// PTF, the test framework of p4lang, with scapy.
    Ptf,
    /// Mininet, which builds networks of namespaces.
    Mininet,
    /// iperf3, which sends TCP as fast as possible.
    Iperf3,
    /// ping, of iputils.
    Ping,
}

impl Peer {
    /// Returns the command that starts the program: the binary itself, or the interpreter that
    /// finds the library.
    ///
    /// Returns `None` if the program is not installed. The test must then return, and a message
    /// that the test harness does not capture reports that it was skipped.
    ///
    /// # Panics
    ///
    /// Panics if the program is not installed and `PLANIMETER_REQUIRE_PEERS` is 1.
    pub fn command(self) -> Option<Command> {
        let program = match self {
            Self::OvsTestcontroller => on_search_path("ovs-testcontroller"),
            Self::OpenVSwitch => on_search_path("ovs-vswitchd"),
            Self::OsKen => interpreter("os-ken"),
            Self::Faucet => interpreter("faucet"),
            Self::Finsy => interpreter("finsy"),
            Self::P4RuntimeShell => interpreter("p4runtime-shell"),
            Self::Pygnmi => interpreter("pygnmi"),
            Self::GrpcJava => on_search_path("java").filter(|_| libraries().is_dir()),
            Self::Thrift => interpreter("thrift"),
            Self::Ptf => interpreter("ptf"),
            // Debian installs Mininet for the system's Python.
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

/// Returns a command that runs a class of `conformance/scripts/java` with grpc-java. The class is
/// compiled into the folder `classes`. Returns `None` if grpc-java is not installed, like
/// [`Peer::command`].
///
/// # Panics
///
/// Panics if the class does not compile, or if grpc-java is required and not installed.
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

/// Reports that a test is skipped, or panics if no test may be skipped.
pub(crate) fn skip(message: &str) {
    let required = env::var("PLANIMETER_REQUIRE_PEERS").is_ok_and(|value| value == "1");
    assert!(!required, "{message}");
    // eprintln! would be hidden by the test harness when the test passes.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {message}");
}

/// Returns the root of the repository, which contains examples and pipelines.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns a command with a time limit. A test that is killed cannot stop its peers, so they must
/// end by themselves.
fn bounded(program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=1", "150"]).arg(program);
    command
}

/// Returns the folder that contains a folder for each peer.
pub fn peers() -> PathBuf {
    match env::var_os("PLANIMETER_PEERS") {
        Some(directory) => PathBuf::from(directory),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join(".peers"),
    }
}

/// Returns the folder of grpc-java's libraries.
fn libraries() -> PathBuf {
    peers().join("grpc-java/lib")
}

fn interpreter(environment: &str) -> Option<PathBuf> {
    let python = peers().join(environment).join("bin/python");
    python.exists().then_some(python)
}

fn on_search_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    // Debian installs daemons in folders that are not on every user's search path.
    let more = ["/usr/sbin", "/usr/bin"].map(PathBuf::from);
    env::split_paths(&path).chain(more).map(|folder| folder.join(program)).find(|at| at.is_file())
}
