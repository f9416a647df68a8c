//! Processes that a test starts, and that end when the test ends.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

/// The time that a program has to start, on a machine that is busy with other tests.
const START: Duration = Duration::from_secs(40);

/// A running program. Dropping this value kills the program and all its children.
#[derive(Debug)]
pub struct Running {
    child: Child,
    /// The folder that holds the program's output.
    scratch: TempDir,
}

impl Running {
    /// Starts a program in a process group of its own. Its output is kept in a file, so that it
    /// never waits for a reader.
    ///
    /// # Errors
    ///
    /// Returns an error if the program cannot be started.
    pub fn start(mut command: Command) -> io::Result<Self> {
        let scratch = TempDir::new()?;
        let output = File::create(scratch.path().join("output"))?;
        let child = command
            .env("PYTHONUNBUFFERED", "1")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0)
            .spawn()?;
        Ok(Self { child, scratch })
    }

    /// Starts a controller that listens on a free port, and waits until it does.
    ///
    /// # Panics
    ///
    /// Panics with the program's output if it does not listen in time.
    pub fn start_listening(command: impl Fn(u16) -> Command) -> (Self, SocketAddr) {
        // Another process may take the port between its choice and its use.
        for _ in 0..3 {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
            let mut running = Self::start(command(address.port())).expect("the program starts");
            let mut ended = None;
            let listening = poll(START, || {
                ended = running.try_wait();
                ended.is_some() || TcpStream::connect(address).is_ok()
            });
            match ended {
                None if listening => return (running, address),
                None => panic!("nobody listens at {address}; printed:\n{}", running.output()),
                Some(_) if running.output().contains("in use") => {}
                Some(status) => panic!("ended with {status}; printed:\n{}", running.output()),
            }
        }
        panic!("three ports in a row were taken before they could be used");
    }

    /// Returns everything that the program has printed so far.
    pub fn output(&self) -> String {
        let bytes = fs::read(self.scratch.path().join("output")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until the program has printed a text.
    ///
    /// # Panics
    ///
    /// Panics with the program's output if it ends, or does not print the text in time.
    pub fn wait_for(&mut self, text: &str, patience: Duration) {
        let mut ended = None;
        let printed = poll(patience, || {
            ended = self.try_wait();
            ended.is_some() || self.output().contains(text)
        });
        assert!(
            printed && self.output().contains(text),
            "the peer did not print `{text}` (ended: {ended:?}); printed:\n{}",
            self.output()
        );
    }

    /// Waits until the program has ended successfully.
    ///
    /// # Panics
    ///
    /// Panics with the program's output if it ends with an error, or not in time.
    pub fn wait_for_end(&mut self, patience: Duration) {
        let ended = self.end(patience);
        let well = ended.is_some_and(|status| status.success());
        assert!(well, "the peer ended with {ended:?}; printed:\n{}", self.output());
    }

    /// Waits until the program has ended, and returns its exit status. Returns `None` if the
    /// program has not ended in time.
    pub fn end(&mut self, patience: Duration) -> Option<ExitStatus> {
        let mut ended = None;
        poll(patience, || {
            ended = self.try_wait();
            ended.is_some()
        });
        ended
    }

    /// Sends a signal to the program and its children.
    pub fn signal(&self, signal: Signal) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, signal);
        }
    }

    /// Returns the exit status of the program, if it has ended.
    pub fn try_wait(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Returns a port of the loopback interface that is free at the moment.
///
/// # Panics
///
/// Panics if the system has no free port.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("an address").port()
}

/// Polls until `done` returns true. Returns whether it did so in time.
pub fn poll(patience: Duration, mut done: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    while !done() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}
