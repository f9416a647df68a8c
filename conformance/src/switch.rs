//! The command `planimeter switch`, run as a process whose ports are interfaces in a [`Lab`].

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crate::namespace::Lab;
use crate::peer::repository;
use crate::process::Running;

/// The address at which the switch listens, in its own namespace.
pub const ADDRESS: &str = "127.0.0.1:9559";

/// A switch that runs in the namespace `s` of a lab.
#[derive(Debug)]
pub struct SwitchProcess {
    running: Running,
}

impl SwitchProcess {
    /// Starts a switch with device id 1, and waits until it listens.
    ///
    /// # Panics
    ///
    /// Panics with the switch's output if it does not listen in time.
    pub fn start(lab: &Lab, ports: &[(u32, &str)], arguments: &[&str]) -> Self {
        let mut command = lab.command("s", "timeout");
        command.args(["--kill-after=1", "120"]).arg(binary()).args(["switch", "--device-id", "1"]);
        for (number, interface) in ports {
            command.args(["-i", &format!("{number}@{interface}")]);
        }
        command.args(arguments);
        let mut running = Running::start(command).expect("ip runs");
        running.wait_for("listening on", Duration::from_secs(30));
        Self { running }
    }

    /// Returns the output of the switch so far.
    pub fn output(&self) -> String {
        self.running.output()
    }

    /// Returns whether the switch is still running.
    pub fn is_running(&mut self) -> bool {
        self.running.try_wait().is_none()
    }
}

/// Returns the path of the command, which is built from the current sources unless
/// `PLANIMETER_BINARY` names one.
///
/// # Panics
///
/// Panics if the command cannot be built.
pub fn binary() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(build).clone()
}

fn build() -> PathBuf {
    if let Some(binary) = env::var_os("PLANIMETER_BINARY") {
        let binary = repository().join(binary);
        assert!(binary.is_file(), "PLANIMETER_BINARY names {}, which is no file", binary.display());
        return binary;
    }
    // Tests are in PROFILE/deps, and the command is in PROFILE.
    let test = env::current_exe().expect("a test is a file");
    let profile = test.parent().and_then(|deps| deps.parent()).expect("it lies in a target folder");
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(repository()).args(["build", "--quiet", "--package", "planimeter"]);
    cargo.arg("--target-dir").arg(profile.parent().expect("a target folder has a place"));
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let built = cargo.output().expect("cargo runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    profile.join("planimeter")
}
