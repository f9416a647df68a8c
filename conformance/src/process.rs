//! Programs that run beside a test and end with it.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

/// Patience with a program that starts, on a machine that is busy with other tests.
const START: Duration = Duration::from_secs(40);

/// A program that runs; dropping this ends it, with all its children.
#[derive(Debug)]
pub struct Running {
    child: Child,
    /// Holds what the program prints.
    scratch: TempDir,
}

impl Running {
    /// Starts a program in a process group of its own. What it prints is kept in a file, so that
    /// it never waits for a reader.
    ///
    /// # Errors
    ///
    /// When the program cannot be started.
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

    /// Starts a controller that listens on a port which nobody uses, and waits until it does.
    ///
    /// # Panics
    ///
    /// When it does not listen in time; with what it printed.
    pub fn start_listening(command: impl Fn(u16) -> Command) -> (Self, SocketAddr) {
        // Between choosing a port and listening on it, somebody else may take it.
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

    /// Everything that the program printed so far.
    pub fn output(&self) -> String {
        let bytes = fs::read(self.scratch.path().join("output")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until the program has printed a text.
    ///
    /// # Panics
    ///
    /// When it ends, or does not print it in time; with what it printed.
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

    /// Waits until the program has ended well.
    ///
    /// # Panics
    ///
    /// When it ends with an error, or not in time; with what it printed.
    pub fn wait_for_end(&mut self, patience: Duration) {
        let mut ended = None;
        poll(patience, || {
            ended = self.try_wait();
            ended.is_some()
        });
        let well = ended.is_some_and(|status| status.success());
        assert!(well, "the peer ended with {ended:?}; printed:\n{}", self.output());
    }

    /// Sends the program and its children a signal.
    pub fn signal(&self, signal: Signal) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, signal);
        }
    }

    /// How the program ended, if it did.
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

/// A port of the loopback interface that nobody uses at the moment.
///
/// # Panics
///
/// When the system has none.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("an address").port()
}

/// Looks again and again until something is so; false if it is not in time.
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
