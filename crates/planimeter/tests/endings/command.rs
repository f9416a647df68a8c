//! The built command, started as a user starts it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use super::poll;

const BINARY: &str = env!("CARGO_BIN_EXE_planimeter");

/// Runs the command to its end.
pub(crate) fn planimeter<S: AsRef<OsStr>>(arguments: &[S]) -> Ended {
    Planimeter::start(arguments).wait()
}

/// The outcome of a command.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The exit status, or `None` if a signal ended the command.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The time from the signal to the end, or from the start if there was no signal.
    pub(crate) took: Duration,
    /// The processor time of all threads of the command in the time `took`.
    pub(crate) worked: Duration,
    /// The current directory of the command, with the files that it left.
    pub(crate) scratch: TempDir,
}

/// A running command, which ends when this value is dropped.
pub(crate) struct Planimeter {
    child: Child,
    /// The current directory of the command, which also receives its output.
    scratch: TempDir,
    asked: Instant,
    /// The command's processor time when it was asked to end.
    before: Duration,
}

impl Planimeter {
    pub(crate) fn start<S: AsRef<OsStr>>(arguments: &[S]) -> Self {
        let mut command = Command::new(BINARY);
        command.args(arguments);
        Self::spawn(command)
    }

    /// Starts the command after a shell command that sets limits. The signal for a file that is too
    /// large is ignored, so that the write fails instead.
    pub(crate) fn start_limited<S: AsRef<OsStr>>(limits: &str, arguments: &[S]) -> Self {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("trap '' XFSZ && {limits} && exec \"$0\" \"$@\""));
        command.arg(BINARY).args(arguments);
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Self {
        let scratch = TempDir::new().expect("a folder");
        let file = |name| File::create(scratch.path().join(name)).expect("a file");
        let child = command
            .current_dir(scratch.path())
            .env("COLUMNS", "200")
            .stdin(Stdio::null())
            .stdout(file("stdout"))
            .stderr(file("stderr"))
            .spawn()
            .expect("the command starts");
        Self { child, scratch, asked: Instant::now(), before: Duration::ZERO }
    }

    fn stdout(&self) -> String {
        fs::read_to_string(self.scratch.path().join("stdout")).unwrap_or_default()
    }

    fn stderr(&self) -> String {
        fs::read_to_string(self.scratch.path().join("stderr")).unwrap_or_default()
    }

    /// Waits until the command has brought about a condition.
    pub(crate) fn wait_until(&mut self, done: impl Fn() -> bool) {
        poll("the command does what is waited for", || {
            if let Some(status) = self.child.try_wait().expect("a status") {
                panic!("ended with {status}: {} {}", self.stdout(), self.stderr());
            }
            done()
        });
    }

    /// Waits until the command has printed a text on standard error.
    pub(crate) fn wait_until_said(&mut self, text: &str) {
        let errors = self.scratch.path().join("stderr");
        self.wait_until(|| fs::read_to_string(&errors).unwrap_or_default().contains(text));
    }

    /// Waits until the command handles Ctrl-C itself (proc(5), `SigCgt`).
    pub(crate) fn wait_until_it_handles_signals(&mut self) {
        let status = format!("/proc/{}/status", self.child.id());
        let caught = move || {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
            let bit = |signal: Signal| 1 << (signal.as_raw() - 1);
            // Both SIGINT and SIGTERM must be handled, whichever is installed last.
            mask.is_some_and(|mask| {
                [Signal::INT, Signal::TERM].iter().all(|one| mask & bit(*one) != 0)
            })
        };
        self.wait_until(caught);
    }

    /// Interrupts the command as Ctrl-C does.
    pub(crate) fn interrupt(self) -> Ended {
        self.signal(&[Signal::INT])
    }

    /// Sends signals immediately one after the other, and waits for the end.
    pub(crate) fn signal(mut self, signals: &[Signal]) -> Ended {
        self.before = self.processor_time();
        self.asked = Instant::now();
        for signal in signals {
            // A process that the first signal ended still exists until it is waited for.
            kill_process(self.pid(), *signal).expect("the process is ours");
        }
        self.wait()
    }

    /// Returns whether the command has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a status").is_some()
    }

    fn pid(&self) -> Pid {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process")
    }

    /// Returns the processor time of all threads so far (proc(5), `stat`, in ticks of a hundredth
    /// of a second). This also works for a process that has ended and was not waited for.
    fn processor_time(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        let stat = stat.unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        let ticks = |position: usize| -> u64 {
            fields.get(position).and_then(|text| text.parse().ok()).unwrap_or(0)
        };
        Duration::from_millis(10 * (ticks(11) + ticks(12)))
    }

    /// Returns whether the command has ended and was not waited for.
    fn is_defunct(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        stat.unwrap_or_default().rsplit(')').next().is_none_or(|rest| {
            rest.split_whitespace().next().is_none_or(|state| state == "Z" || state == "X")
        })
    }

    /// Stops the command for a while, as an overloaded host does.
    pub(crate) fn pause(&mut self, length: Duration) {
        kill_process(self.pid(), Signal::STOP).expect("the process is ours");
        std::thread::sleep(length);
        kill_process(self.pid(), Signal::CONT).expect("the process is ours");
    }

    pub(crate) fn wait(mut self) -> Ended {
        poll("the command ends", || self.is_defunct());
        let took = self.asked.elapsed();
        let worked = self.processor_time().saturating_sub(self.before);
        let status = self.child.wait().expect("a status");
        let (stdout, stderr) = (self.stdout(), self.stderr());
        // The command has ended, so its directory may outlive this value.
        let scratch = std::mem::replace(&mut self.scratch, TempDir::new().expect("a folder"));
        Ended { code: status.code(), stdout, stderr, took, worked, scratch }
    }
}

impl Drop for Planimeter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A reference controller that serves OpenFlow.
pub(crate) struct Controller {
    address: String,
    _running: Planimeter,
}

impl Controller {
    pub(crate) fn start() -> Self {
        let mut running = Planimeter::start(&["controller", "--listen", "127.0.0.1:0"]);
        let output = running.scratch.path().join("stdout");
        let address = || {
            let text = fs::read_to_string(&output).unwrap_or_default();
            let rest = text.split_once("listening on ")?.1;
            Some(rest.split_once(' ')?.0.to_owned())
        };
        running.wait_until(|| address().is_some());
        Self { address: address().expect("an address"), _running: running }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

/// Returns the number of established connections to an address of this host (proc(5), `net/tcp`).
pub(crate) fn connections_of(address: &str) -> usize {
    let SocketAddr::V4(address) = address.parse().expect("an address") else { return 0 };
    let ip = u32::from_ne_bytes(address.ip().octets());
    let remote = format!("{ip:08X}:{:04X}", address.port());
    let table = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let is_one = |line: &&str| {
        let mut words = line.split_whitespace().skip(2);
        words.next() == Some(remote.as_str()) && words.next() == Some("01")
    };
    table.lines().filter(is_one).count()
}

/// Returns the result in a run directory.
pub(crate) fn result(directory: &Path) -> Value {
    let path = directory.join("result.json");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

/// Returns the completion state of the run in a directory.
pub(crate) fn completion(directory: &Path) -> Value {
    result(directory)["completion"].clone()
}

/// Returns a port on which no process listens.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

/// A mounted disk of 32 KiB, which is unmounted when this value is dropped.
pub(crate) struct SmallDisk(PathBuf);

/// Mounts a small disk, or returns `None` if mounting is not permitted.
pub(crate) fn mount_small_disk(at: &Path) -> Option<SmallDisk> {
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=32k", "tmpfs"])
        .arg(at)
        .stderr(Stdio::null())
        .status();
    mounted.is_ok_and(|status| status.success()).then(|| SmallDisk(at.to_owned()))
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // The disk is unmounted lazily, since a process may still use it.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}
