//! Measures the CPU time and memory of the controller and of the probe itself.
//!
//! All figures are read from `/proc` directly. This needs little parsing, and the same parser reads
//! the output of a shell on another host, whereas the `procfs` crate serves only local processes.
//!
//! CPU time is in percent of one core: the time that all threads of all watched processes spent in
//! user and kernel mode, divided by the interval between two samples. The kernel counts this time
//! in clock ticks, usually 10 ms, so a sample over one second is exact to about 1 %. Memory is the
//! resident set. A page that several processes share is counted once for each process.

mod local;
mod meter;
mod remote;
mod sockets;

use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub(crate) use sockets::own_sockets;
pub use sockets::{FindProcessError, diallers_of, listeners_at};

use crate::config::ProcessSelector;
use crate::outcome::Usage;

/// A sample of the CPU time and memory of the watched processes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The CPU time since the previous sample, in percent of one core, so that four busy cores are
    /// 400.
    pub cpu_percent: f64,
    /// The resident memory in bytes.
    pub rss_bytes: u64,
    /// The time since the previous sample for which threads of the processes were runnable but
    /// waited for a core, summed over the threads, in percent of the elapsed time (absent for
    /// processes of other hosts).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_percent: Option<f64>,
}

/// A reader of the CPU time and memory of some processes, whose caller takes samples periodically.
#[derive(Debug)]
pub struct Sampler {
    source: Source,
}

/// The host on which the processes run: this one, or one that is reached by ssh.
#[derive(Debug)]
enum Source {
    Local(local::Processes),
    Remote(remote::Remote),
}

/// The reason why the CPU time and memory of processes cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UsageError {
    /// No process has the configured process ID.
    #[error("there is no process {pid} on this host; check controller.process")]
    NoProcess {
        /// The configured process id.
        pid: u32,
    },
    /// The text by which processes are selected is empty, so it would match every process.
    #[error("controller.process names a process by an empty text; every process would match")]
    EmptyName,
    /// The configuration asks for the process at the other end of the control channel, and it was
    /// not looked up before (see [`listeners_at`] and [`diallers_of`]). Such a look-up is possible
    /// only on this host.
    #[error(
        "the process that holds the control channel can be found on this host only; name it in \
         controller.process"
    )]
    Unresolved,
    /// The selector names processes on another host, which again is specified by a host and a
    /// selector.
    #[error("controller.process can pass through one host only, not from {first} on to {second}")]
    NestedSsh {
        /// The host of the outer selector.
        first: String,
        /// The host of the inner selector.
        second: String,
    },
    /// A file in `/proc` cannot be read.
    #[error("cannot read {path}: {source}; CPU and memory are read on Linux only")]
    Proc {
        /// The path of the file.
        path: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// `ssh` could not be started.
    #[error("cannot run {program} to reach {target}: {source}; is it installed?")]
    Spawn {
        /// The name of the program that was to run `ssh`.
        program: String,
        /// The SSH target.
        target: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// `ssh` ended before it printed anything.
    #[error(
        "ssh {target} ended ({status}){}; it must work without a password: try ssh -o \
         BatchMode=yes {target} true",
        remote::colon(said)
    )]
    Ended {
        /// The SSH target.
        target: String,
        /// The exit status of `ssh`.
        status: String,
        /// The last output of `ssh` on standard error.
        said: String,
    },
    /// `ssh` printed nothing for too long.
    #[error("ssh {target} gave no answer within {seconds} s{}", remote::colon(said))]
    Silent {
        /// The SSH target.
        target: String,
        /// The time in seconds for which the probe waited.
        seconds: f64,
        /// The last output of `ssh` on standard error.
        said: String,
    },
    /// The other host printed something other than the output of the script.
    #[error("ssh {target} answered \"{answer}\" instead of process times; does it run a POSIX sh?")]
    Garbled {
        /// The SSH target.
        target: String,
        /// The first line that the other host printed.
        answer: String,
    },
}

impl Sampler {
    /// Starts to watch the processes that `selector` selects. Over SSH, this function waits until
    /// the other host answers, at most 15 seconds, and a script takes samples there every
    /// `interval`.
    ///
    /// If a name matches no process yet, samples are absent until it does. This process and its
    /// ancestors never match a name, because the name is part of their command lines too.
    ///
    /// # Errors
    ///
    /// Returns an error if a process id does not exist on this host, if the other host cannot be
    /// reached, and for [`ProcessSelector::Listener`], which [`listeners_at`] or [`diallers_of`]
    /// must resolve first.
    pub fn new(selector: &ProcessSelector, interval: Duration) -> Result<Self, UsageError> {
        match selector {
            ProcessSelector::Ssh { target, process } => {
                let mut ssh = Command::new("ssh");
                ssh.args(["-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-T", "--"]);
                ssh.arg(target).arg("exec sh -s");
                Self::over(ssh, target, process, interval, Duration::from_secs(15))
            }
            local => Ok(Self { source: Source::Local(local::Processes::new(local)?) }),
        }
    }

    /// Starts to watch this process.
    ///
    /// # Errors
    ///
    /// Returns an error if `/proc` cannot be read.
    pub fn own() -> Result<Self, UsageError> {
        Self::new(&ProcessSelector::Pid(std::process::id()), Duration::from_secs(1))
    }

    /// Starts to watch processes on another host. `shell` is a command that runs a shell on that
    /// host and passes it the standard input.
    fn over(
        shell: Command,
        target: &str,
        process: &ProcessSelector,
        interval: Duration,
        patience: Duration,
    ) -> Result<Self, UsageError> {
        let remote = remote::Remote::start(shell, target, process, interval, patience)?;
        Ok(Self { source: Source::Remote(remote) })
    }

    /// Returns a sample of the time since the previous call, without waiting. `now` must not be
    /// earlier than in the previous call.
    ///
    /// Returns `None` on the first call, or while no process matches. Over SSH, returns the last
    /// sample that has arrived, or `None` if it is older than three intervals and a second.
    pub fn sample(&mut self, now: Instant) -> Option<Sample> {
        match &mut self.source {
            Source::Local(processes) => processes.sample(now),
            Source::Remote(remote) => remote.sample(now),
        }
    }

    /// Returns the ids and names of the processes that the last sample covered.
    pub fn processes(&self) -> &[(u32, String)] {
        match &self.source {
            Source::Local(processes) => processes.seen(),
            Source::Remote(remote) => remote.seen(),
        }
    }

    /// Returns whether the sampler watches processes of this host and has found some.
    pub(crate) fn has_local_processes(&self) -> bool {
        matches!(&self.source, Source::Local(processes) if !processes.seen().is_empty())
    }

    /// Returns the reason why samples stopped arriving, if the SSH connection broke.
    pub fn failure(&self) -> Option<String> {
        match &self.source {
            Source::Local(_) => None,
            Source::Remote(remote) => remote.failure(),
        }
    }
}

impl Usage {
    /// Summarises samples of a process that were taken at equal intervals.
    pub fn of(samples: &[Sample]) -> Self {
        let cpu: Vec<f64> = samples.iter().map(|sample| sample.cpu_percent).collect();
        Self {
            cpu_percent: statistics::mean(&cpu).unwrap_or(0.0),
            cpu_percent_max: cpu.iter().copied().fold(0.0, f64::max),
            rss_bytes_max: samples.iter().map(|sample| sample.rss_bytes).max().unwrap_or(0),
            samples: u32::try_from(samples.len()).unwrap_or(u32::MAX),
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::turn;
