//! The processes of a user's commands that put a controller on one of its paths.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// The time that a controller may take to end when asked to.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time that it may take after an interrupt, since the whole run must then end within a second.
const INTERRUPTED_PATIENCE: Duration = Duration::from_millis(300);
/// The interval between checks of a process.
const LOOK: Duration = Duration::from_millis(20);

/// A command that runs while a path is measured. Dropping this value ends the command and the
/// processes that it has started.
pub(super) struct Running {
    child: Child,
    interrupt: Arc<AtomicBool>,
}

impl Running {
    /// Starts the command, with its output in the file `log`.
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

    /// Returns the exit status of a command that has ended by itself.
    pub(super) fn ended_by_itself(mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Returns the time that the command may take to end.
    fn patience(&self) -> Duration {
        match self.interrupt.load(Ordering::Relaxed) {
            true => INTERRUPTED_PATIENCE,
            false => PATIENCE,
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

/// Runs a command to its end, or ends it on an interrupt.
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

/// Returns a shell for the command in its own process group, so that all processes that it starts
/// can be ended together.
fn shell(command: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).process_group(0);
    shell
}
