//! Samples the CPU time and memory of processes on this host.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

use rustix::param::{clock_ticks_per_second, page_size};
use rustix::time::{ClockId, clock_gettime};

use super::meter::{Meter, ProcessTimes, Snapshot, Units};
use super::{Sample, UsageError};
use crate::config::ProcessSelector;

/// The time between two searches of all processes for a name. Between searches, only the processes
/// that matched are read.
const SCAN_INTERVAL: Duration = Duration::from_secs(1);

/// The watched processes of this host.
#[derive(Debug)]
pub(super) struct Processes {
    choice: Choice,
    meter: Meter,
    epoch: Option<Instant>,
    seen: Vec<(u32, String)>,
}

/// The rule that selects processes: a process ID, or a name.
#[derive(Debug)]
enum Choice {
    Pid(u32),
    Name {
        text: String,
        /// The IDs of this process and its ancestors, which a search by name leaves out.
        ours: HashSet<u32>,
        matching: Vec<u32>,
        scanned: Option<Instant>,
    },
}

impl Processes {
    pub(super) fn new(selector: &ProcessSelector) -> Result<Self, UsageError> {
        let own = std::process::id();
        if let Err(source) = read_times(own) {
            return Err(UsageError::Proc { path: format!("/proc/{own}/stat"), source });
        }
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
                ours: with_ancestors(own),
                matching: Vec::new(),
                scanned: None,
            },
            ProcessSelector::Listener | ProcessSelector::Ssh { .. } => {
                return Err(UsageError::Unresolved);
            }
        };
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
        let read = |pid: &u32| {
            let times = read_times(*pid).ok()?;
            Some(ProcessTimes { waited: read_waits(*pid), ..times })
        };
        let processes: Vec<ProcessTimes> = self.choice.pids(now).iter().filter_map(read).collect();
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
            Self::Name { text, ours, matching, scanned } => {
                let due =
                    scanned.is_none_or(|then| now.saturating_duration_since(then) >= SCAN_INTERVAL);
                if due {
                    *scanned = Some(now);
                    *matching = all_pids()
                        .filter(|pid| !ours.contains(pid) && matches(*pid, text))
                        .collect();
                }
                matching
            }
        }
    }
}

/// Returns whether the name or the command line of a process contains `text`. The arguments of the
/// command line are joined by spaces.
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

/// Returns the IDs of all processes, or none if `/proc` cannot be read.
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

/// Returns for each thread of a process the time in nanoseconds for which it was runnable but
/// waited for a core. The time is the second number in `schedstat` (sched-stats in the kernel's
/// documentation). Returns `None` if the kernel does not record these times.
fn read_waits(pid: u32) -> Option<Vec<(u32, u64)>> {
    let mut waits = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let Some(thread) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // The thread may have ended meanwhile.
        let Ok(text) = fs::read_to_string(entry.path().join("schedstat")) else { continue };
        waits.push((thread, text.split_ascii_whitespace().nth(1)?.parse().ok()?));
    }
    (!waits.is_empty()).then_some(waits)
}

fn with_ancestors(pid: u32) -> HashSet<u32> {
    let mut family = HashSet::new();
    let mut next = pid;
    while next > 1 && family.insert(next) {
        next = read_times(next).map_or(0, |process| process.parent);
    }
    family
}
