//! Commands of the user's that bring a controller to one of its paths.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How long a controller may take to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long it may take once the run was interrupted, which is to end within a second.
const INTERRUPTED_PATIENCE: Duration = Duration::from_millis(300);
/// How often a process is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// A command that runs while a path is measured; it and what it started end when this is dropped.
pub(super) struct Running {
    child: Child,
    interrupt: Arc<AtomicBool>,
}

impl Running {
    /// Starts it; what it prints goes to `log`.
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

    /// How it ended, if it did not wait for us to end it.
    pub(super) fn ended_by_itself(mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// How long it may take to end.
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
        let asked = Instant::now();
        while asked.elapsed() < self.patience() && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(LOOK);
        }
        // What it started may have outlived it.
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Runs a command to its end; an interrupt ends it.
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

/// In a process group of its own, so that what it starts can be ended with it.
fn shell(command: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).process_group(0);
    shell
}
