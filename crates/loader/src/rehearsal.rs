//! The parent's side of rehearsals. In a rehearsal, a child process loads a pipeline before the
//! switch does. A pipeline whose outcome is known is not tried again.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use entities::{Code, EntityError};
use p4runtime::fingerprint::Fingerprints;
use p4runtime::proto::v1::ForwardingPipelineConfig;
use p4runtime::session::Rehearsal;
use prost::Message;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::Settings;
use crate::child::Header;
use crate::outcome::Ended;

/// The number of pipelines whose outcomes are remembered.
const REMEMBERED: usize = 16;

/// The time limit of the first child process, which gets no pipeline and only shows that child
/// processes can be started.
const START_TIME: Duration = Duration::from_secs(10);

/// A command that starts a process which runs [`serve`](crate::serve).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executable {
    /// The path of the executable file.
    pub program: PathBuf,
    /// The arguments with which the executable is started.
    pub arguments: Vec<OsString>,
}

impl Executable {
    /// Returns a command that runs the executable of this process, even if its file was replaced or
    /// removed.
    #[must_use]
    pub fn own(arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Self { program: "/proc/self/exe".into(), arguments }
    }
}

/// The error if a child process that tries pipelines cannot be started, or does not answer.
#[derive(Debug, thiserror::Error)]
#[error("no process can be started that tries the pipelines of controllers: {0}")]
pub struct RehearsalError(String);

/// A runner of rehearsals. It loads each pipeline in a child process, one at a time, and remembers
/// the outcomes.
#[derive(Debug)]
pub struct Rehearsals {
    executable: Executable,
    settings: Settings,
    fingerprints: Fingerprints,
    known: Mutex<VecDeque<(u128, Result<(), EntityError>)>>,
}

impl Rehearsals {
    /// Creates a runner of rehearsals. Starts a child process without a pipeline first, to check
    /// that this is possible.
    ///
    /// # Errors
    ///
    /// Returns an error if a child cannot be started or does not answer.
    pub fn new(executable: Executable, settings: Settings) -> Result<Self, RehearsalError> {
        let (fingerprints, known) = (Fingerprints::default(), Mutex::default());
        let this = Self { executable, settings, fingerprints, known };
        let ended =
            this.run(None, START_TIME).map_err(|error| RehearsalError(error.to_string()))?;
        let limits = &this.settings.limits;
        ended.outcome(limits).map_err(|error| RehearsalError(error.message().to_owned()))?;
        Ok(this)
    }

    /// Returns the settings with which child processes load pipelines.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Runs a child process that loads `pipeline`, until it ends or `time` has passed. Without a
    /// pipeline, the child only shows that it could be started.
    fn run(&self, pipeline: Option<&[u8]>, time: Duration) -> io::Result<Ended> {
        let mut input = in_memory("pipeline")?;
        serde_json::to_writer(&mut input, &Header::new(&self.settings, pipeline.is_some()))?;
        input.write_all(b"\n")?;
        input.write_all(pipeline.unwrap_or_default())?;
        input.rewind()?;
        let (mut output, mut errors) = (in_memory("outcome")?, in_memory("errors")?);
        let child = Command::new(&self.executable.program)
            .args(&self.executable.arguments)
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(output.try_clone()?))
            .stderr(Stdio::from(errors.try_clone()?))
            .spawn()?;
        let (status, was_too_slow) = Running(child).wait(time)?;
        Ok(Ended { status, was_too_slow, output: whole(&mut output)?, errors: whole(&mut errors)? })
    }
}

impl Rehearsal for Rehearsals {
    fn rehearse(&self, config: &ForwardingPipelineConfig) -> Result<(), EntityError> {
        let without_cookie = ForwardingPipelineConfig { cookie: None, ..config.clone() };
        let bytes = without_cookie.encode_to_vec();
        let digest = self.fingerprints.of(&bytes);
        // The lock is held until the child has ended. Only one child runs at a time, and a pipeline
        // that many devices receive is tried only once.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, outcome)) = known.iter().find(|(tried, _)| *tried == digest) {
            return outcome.clone();
        }
        let limits = &self.settings.limits;
        let ended = self.run(Some(&bytes), limits.time).map_err(|error| {
            let message = format!("No process can be started that tries the pipeline: {error}");
            EntityError::new(Code::Unavailable, message)
        })?;
        let outcome = ended.outcome(limits);
        // A failure may be due to this machine, which lacked time or memory, so such an outcome is
        // not remembered.
        let is_final = match &outcome {
            Ok(()) => true,
            Err(error) => !matches!(error.code(), Code::ResourceExhausted | Code::Internal),
        };
        if is_final {
            known.truncate(REMEMBERED - 1);
            known.push_front((digest, outcome.clone()));
        }
        outcome
    }
}

/// A running child process, which is killed when this value is dropped.
struct Running(Child);

impl Running {
    /// Waits until the child process ends, or kills it when `time` has passed. Returns its exit
    /// status, and whether it was killed.
    fn wait(mut self, time: Duration) -> io::Result<(ExitStatus, bool)> {
        let end = Instant::now() + time;
        let child = pidfd_open(Pid::from_child(&self.0), PidfdFlags::empty())?;
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok((status, false));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.0.kill()?;
                return Ok((self.0.wait()?, true));
            }
            let left = Timespec::try_from(left).map_err(io::Error::other)?;
            match poll(&mut [PollFd::new(&child, PollFlags::IN)], Some(&left)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Killing fails if the child has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Creates a file in memory for a standard stream of a child process. With pipes, the parent and
/// the child could wait for each other.
fn in_memory(name: &str) -> io::Result<File> {
    Ok(File::from(memfd_create(name, MemfdFlags::CLOEXEC)?))
}

/// Returns the whole content of a file in memory that a child process has written.
fn whole(file: &mut File) -> io::Result<Vec<u8>> {
    file.rewind()?;
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    Ok(content)
}
