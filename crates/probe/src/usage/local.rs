//! Processes of this host.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

use rustix::param::{clock_ticks_per_second, page_size};
use rustix::time::{ClockId, clock_gettime};

use super::meter::{Meter, ProcessTimes, Snapshot, Units};
use super::sockets::{diallers_of, listeners_at};
use super::{ControlChannel, Sample, UsageError};
use crate::config::ProcessSelector;

/// How often all processes are looked at; in between only those that matched are read.
const SCAN_INTERVAL: Duration = Duration::from_secs(1);

/// The chosen processes.
#[derive(Debug)]
pub(super) struct Processes {
    choice: Choice,
    meter: Meter,
    epoch: Option<Instant>,
    seen: Vec<(u32, String)>,
}

#[derive(Debug)]
enum Choice {
    Pid(u32),
    Name {
        text: String,
        /// This process and those that it descends from.
        ours: HashSet<u32>,
        found: Found,
    },
    Channel {
        channel: ControlChannel,
        found: Found,
    },
}

/// The processes that matched when all were looked at.
#[derive(Debug, Default)]
struct Found {
    pids: Vec<u32>,
    at: Option<Instant>,
}

impl Processes {
    pub(super) fn new(selector: &ProcessSelector) -> Result<Self, UsageError> {
        let choice = match selector {
            ProcessSelector::Pid(pid) => {
                read_times(*pid).map_err(|_| UsageError::NoProcess { pid: *pid })?;
                Choice::Pid(*pid)
            }
            ProcessSelector::Name(text) if text.trim().is_empty() => {
                return Err(UsageError::EmptyName);
            }
            ProcessSelector::Name(text) => Choice::Name {
                text: text.clone(),
                ours: with_ancestors(std::process::id()),
                found: Found::default(),
            },
            ProcessSelector::Listener | ProcessSelector::Ssh { .. } => {
                return Err(UsageError::Unresolved);
            }
        };
        Self::of(choice)
    }

    pub(super) fn on_channel(channel: ControlChannel) -> Result<Self, UsageError> {
        Self::of(Choice::Channel { channel, found: Found::default() })
    }

    fn of(choice: Choice) -> Result<Self, UsageError> {
        let own = std::process::id();
        if let Err(source) = read_times(own) {
            return Err(UsageError::Proc { path: format!("/proc/{own}/stat"), source });
        }
        let units = Units {
            ticks_per_second: clock_ticks_per_second() as f64,
            page_bytes: u64::try_from(page_size()).unwrap_or(4096),
        };
        Ok(Self { choice, meter: Meter::new(units), epoch: None, seen: Vec::new() })
    }

    pub(super) fn sample(&mut self, now: Instant) -> Option<Sample> {
        let epoch = *self.epoch.get_or_insert(now);
        let uptime = clock_gettime(ClockId::Boottime);
        let uptime = uptime.tv_sec as f64 + uptime.tv_nsec as f64 / 1e9;
        let processes: Vec<ProcessTimes> =
            self.choice.pids(now).iter().filter_map(|pid| read_times(*pid).ok()).collect();
        self.seen = processes.iter().map(|process| (process.pid, process.name.clone())).collect();
        self.meter.observe(&Snapshot {
            at: now.saturating_duration_since(epoch),
            uptime: (uptime * clock_ticks_per_second() as f64) as u64,
            processes,
        })
    }

    pub(super) fn seen(&self) -> &[(u32, String)] {
        &self.seen
    }
}

impl Choice {
    fn pids(&mut self, now: Instant) -> &[u32] {
        match self {
            Self::Pid(pid) => std::slice::from_ref(pid),
            Self::Name { text, ours, found } => {
                found.renew(now, || {
                    all_pids().filter(|pid| !ours.contains(pid) && matches(*pid, text)).collect()
                });
                &found.pids
            }
            Self::Channel { channel, found } => {
                // A process keeps its sockets, and looking for them is dear.
                let alive =
                    !found.pids.is_empty() && found.pids.iter().all(|pid| read_times(*pid).is_ok());
                if !alive {
                    found.renew(now, || holders(*channel));
                }
                &found.pids
            }
        }
    }
}

impl Found {
    /// Looks again, if the last time is long enough ago.
    fn renew(&mut self, now: Instant, look: impl FnOnce() -> Vec<u32>) {
        let due = self.at.is_none_or(|then| now.saturating_duration_since(then) >= SCAN_INTERVAL);
        if due {
            self.at = Some(now);
            self.pids = look();
        }
    }
}

/// The processes at the other end of the control channel; none if they cannot be found.
fn holders(channel: ControlChannel) -> Vec<u32> {
    let found = match channel {
        ControlChannel::ListensAt(address) => listeners_at(address),
        ControlChannel::Dials(address) => diallers_of(address),
    };
    found.unwrap_or_default()
}

/// Whether the name or the command line of a process contains a text. Arguments are taken with a
/// space between them.
fn matches(pid: u32, text: &str) -> bool {
    let by_name = read_times(pid).is_ok_and(|process| process.name.contains(text));
    by_name
        || fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|mut line| {
            for byte in &mut line {
                if *byte == 0 {
                    *byte = b' ';
                }
            }
            String::from_utf8_lossy(&line).contains(text)
        })
}

/// The ids of all processes; none where `/proc` cannot be read.
pub(super) fn all_pids() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

fn read_times(pid: u32) -> io::Result<ProcessTimes> {
    let stat = fs::read(format!("/proc/{pid}/stat"))?;
    ProcessTimes::parse(&String::from_utf8_lossy(&stat))
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not in the form of proc(5)"))
}

fn with_ancestors(pid: u32) -> HashSet<u32> {
    let mut family = HashSet::new();
    let mut next = pid;
    while next > 1 && family.insert(next) {
        next = read_times(next).map_or(0, |process| process.parent);
    }
    family
}
