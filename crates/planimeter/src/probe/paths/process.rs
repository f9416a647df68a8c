//! The processes of the user's commands that prepare or start a controller, so that it takes one of
//! its paths.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// The time that a command may take to end after it was asked to.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The time that a command may take to end after the user interrupted the run. The whole run must
/// then end within a second.
const INTERRUPTED_PATIENCE: Duration = Duration::from_millis(300);
/// The interval at which the process of a command is checked.
const LOOK: Duration = Duration::from_millis(20);

/// A command that runs while a path is measured. Dropping this value ends the command and the
/// processes that it has started.
pub(super) struct Running {
    child: Child,
    interrupt: Arc<AtomicBool>,
}

impl Running {
    /// Starts the command in a shell, and writes its output and its errors to the file `log`.
    pub(super) fn start(
        command: &str,
        log: &Path,
        interrupt: &Arc<AtomicBool>,
    ) -> Result<Self, String> {
        let log = File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        let started = shell(command).stdin(Stdio::null()).stdout(log).stderr(errors).spawn();
        match started {
            Ok(child) => Ok(Self { child, interrupt: interrupt.clone() }),
            Err(error) => Err(format!("`{command}` could not be started: {error}")),
        }
    }

    /// Returns the exit status of the command if it has ended by itself. Otherwise ends it and
    /// returns `None`.
    pub(super) fn ended_by_itself(mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Returns the time that the command may take to end after it was asked to, which is shorter
    /// after an interrupt.
    fn patience(&self) -> Duration {
        match self.interrupt.load(Ordering::Relaxed) {
            true => INTERRUPTED_PATIENCE,
            false => TIMEOUT,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let group = Pid::from_child(&self.child);
        let _ = kill_process_group(group, Signal::TERM);
        let terminated = Instant::now();
        while terminated.elapsed() < self.patience() && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(LOOK);
        }
        // Processes that the command started may outlive it.
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Runs a command to its end. If the user interrupts the run, kills the command and returns without
/// an error. Returns an error if the command fails.
pub(super) fn finish(command: &str, interrupt: &AtomicBool) -> Result<(), String> {
    let mut child = shell(command)
        .spawn()
        .map_err(|error| format!("`{command}` could not be started: {error}"))?;
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("`{command}` ended with {status}")),
            None if interrupt.load(Ordering::Relaxed) => {
                let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
                let _ = child.wait();
                return Ok(());
            }
            None => std::thread::sleep(LOOK),
        }
    }
}

/// Returns a shell that runs the command in a process group of its own, so that all processes that
/// the command starts can be ended together.
fn shell(command: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).process_group(0);
    shell
}
