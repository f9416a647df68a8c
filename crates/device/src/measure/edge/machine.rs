//! Prepares the measuring machine for a campaign and collects facts about it.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use provenance::Host;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::super::conduct::BenchError;

/// A request to the kernel that keeps idle cores from sleeping until this value is dropped. A
/// sleeping core needs microseconds to notice a packet, and a sleeping virtual core tens of
/// microseconds (Documentation/power/pm_qos_interface.rst).
#[derive(Debug)]
pub(super) struct Awake {
    _latency: File,
}

impl Awake {
    pub(super) fn keep() -> Result<Self, String> {
        const PATH: &str = "/dev/cpu_dma_latency";
        let held = OpenOptions::new().write(true).open(PATH).and_then(|mut file| {
            file.write_all(&0_i32.to_ne_bytes())?;
            Ok(file)
        });
        held.map(|latency| Self { _latency: latency })
            .map_err(|error| format!("idle cores may sleep: {PATH}: {error}"))
    }
}

/// Returns the cores for the packet generator and for a device on this machine: the requested ones,
/// or the last two that this process may use.
pub(super) fn cores(asked: Option<[usize; 2]>) -> Result<[usize; 2], BenchError> {
    if let Some(cores) = asked {
        return Ok(cores);
    }
    let allowed = sched_getaffinity(None).map_err(|errno| BenchError::System {
        what: "asking for the cores".to_owned(),
        source: errno.into(),
    })?;
    let mut known: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
    let generator = known.pop().unwrap_or(0);
    Ok([generator, known.pop().unwrap_or(generator)])
}

/// Pins the calling thread, and the threads and processes that it will start, to a core.
pub(super) fn stay_on(core: usize) -> Result<(), BenchError> {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).map_err(|errno| BenchError::System {
        what: format!("staying on core {core}"),
        source: errno.into(),
    })
}

/// The difference between the wall clock, which timestamps packets, and the monotonic clock. If it
/// changes, the wall clock was set.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClockOffset {
    nanoseconds: i128,
    origin: Instant,
}

impl ClockOffset {
    /// Measures the difference between the two clocks. Two measurements are comparable if they have
    /// the same `origin`.
    pub(super) fn read(origin: Instant) -> Self {
        // The fastest of several readings was not interrupted between its two halves.
        let reading = || {
            let before = origin.elapsed().as_nanos();
            let wall =
                SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
            let after = origin.elapsed().as_nanos();
            let middle = (before + after) / 2;
            (after - before, wall as i128 - middle as i128)
        };
        let best = (0..5).map(|_| reading()).min_by_key(|(took, _)| *took);
        Self { nanoseconds: best.map_or(0, |(_, offset)| offset), origin }
    }

    /// Returns whether the wall clock has been set since this measurement.
    pub(super) fn stepped(self) -> bool {
        /// The change in nanoseconds above which the clock counts as set. It is above the variation
        /// of readings and below the delays of interest.
        const STEP: u128 = 5_000;
        let now = Self::read(self.origin);
        (now.nanoseconds - self.nanoseconds).unsigned_abs() > STEP
    }
}

/// Returns facts about the machine that may affect measured delays, by name.
pub(super) fn facts() -> BTreeMap<String, String> {
    let read = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let mut facts = BTreeMap::new();
    let mut say = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            facts.insert(name.to_owned(), value);
        }
    };
    let host = Host::read();
    say("host", Some(host.hostname));
    say("kernel", Some(host.kernel));
    say("processor", Some(host.cpu_model));
    say("cores", Some(host.cpus.to_string()));
    say("load at the start", read("/proc/loadavg"));
    say("clock source", read("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
    say("cores kept free", read("/sys/devices/system/cpu/isolated"));
    facts
}
