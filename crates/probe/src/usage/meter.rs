//! Computes samples of CPU time and memory from the times that the kernel reports, without I/O.

use std::collections::HashMap;
use std::time::Duration;

use super::Sample;

/// The CPU time and memory of one process, from `/proc/PID/stat` (proc_pid_stat(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProcessTimes {
    pub(super) pid: u32,
    /// The process ID of the parent.
    pub(super) parent: u32,
    /// The name of the executable, at most 15 bytes long.
    pub(super) name: String,
    /// The time from the boot of the host to the start of the process, in clock ticks. It
    /// distinguishes the process from a later one with the same ID.
    pub(super) started: u64,
    /// The clock ticks that all threads of the process spent in user and kernel mode, including
    /// threads that have ended.
    pub(super) busy: u64,
    /// The number of resident memory pages of the process.
    pub(super) pages: u64,
    /// The time in nanoseconds for which each thread waited for a core, by thread ID, or `None` if
    /// it is not known.
    pub(super) waited: Option<Vec<(u32, u64)>>,
}

impl ProcessTimes {
    /// Parses the content of `/proc/PID/stat`. The name is enclosed in parentheses and may itself
    /// contain parentheses and spaces, so the fields after it are located from the last
    /// parenthesis.
    pub(super) fn parse(stat: &str) -> Option<Self> {
        let (head, tail) = stat.rsplit_once(')')?;
        let (pid, name) = head.split_once('(')?;
        // The first of the remaining fields is field 3, the state.
        let fields: Vec<&str> = tail.split_ascii_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Self {
            pid: pid.trim().parse().ok()?,
            parent: u32::try_from(number(4)?).ok()?,
            name: name.to_owned(),
            started: number(22)?,
            busy: number(14)?.checked_add(number(15)?)?,
            pages: number(24)?,
            waited: None,
        })
    }
}

/// The watched processes of a host at one moment.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    /// The time of the snapshot, on any monotonic clock.
    pub(super) at: Duration,
    /// The clock ticks since the boot of the host.
    pub(super) uptime: u64,
    pub(super) processes: Vec<ProcessTimes>,
}

/// The units in which the observed host reports times and memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Units {
    pub(super) ticks_per_second: f64,
    pub(super) page_bytes: u64,
}

/// Computes samples from snapshots. Each snapshot is compared with the previous one.
#[derive(Debug)]
pub(super) struct Meter {
    units: Units,
    before: Option<Before>,
}

/// The previous snapshot, from which the next one is subtracted.
#[derive(Debug)]
struct Before {
    at: Duration,
    uptime: u64,
    /// The CPU time of each process in clock ticks, by its ID and start time.
    busy: HashMap<(u32, u64), u64>,
    /// The time in nanoseconds for which each thread waited for a core, by thread ID.
    waited: HashMap<u32, u64>,
}

impl Meter {
    pub(super) fn new(units: Units) -> Self {
        Self { units, before: None }
    }

    /// Returns the sample for the time since the previous snapshot. Returns `None` on the first
    /// snapshot, if there is no process, or if no time has passed.
    ///
    /// If a process has ended, its CPU time since the previous snapshot is lost. A new process
    /// counts in full if it started after the previous snapshot. If it started earlier, it counts
    /// only from the next snapshot on, since it is not known when it used its CPU time.
    pub(super) fn observe(&mut self, snapshot: &Snapshot) -> Option<Sample> {
        let before = self.before.take();
        let interval = before.as_ref().map(|before| snapshot.at.saturating_sub(before.at));
        if interval.is_some_and(|interval| interval.is_zero()) {
            self.before = before;
            return None;
        }
        let ticks: u64 = before.as_ref().map_or(0, |before| {
            snapshot.processes.iter().map(|process| before.spent_since(process)).sum()
        });
        let waited = before.as_ref().and_then(|before| before.waited_since(&snapshot.processes));
        self.before = Some(Before {
            at: snapshot.at,
            uptime: snapshot.uptime,
            busy: snapshot.processes.iter().map(|p| ((p.pid, p.started), p.busy)).collect(),
            waited: snapshot
                .processes
                .iter()
                .flat_map(|p| p.waited.iter().flatten())
                .copied()
                .collect(),
        });
        let seconds = interval?.as_secs_f64();
        if snapshot.processes.is_empty() {
            return None;
        }
        let pages: u64 = snapshot.processes.iter().map(|process| process.pages).sum();
        Some(Sample {
            cpu_percent: 100.0 * ticks as f64 / self.units.ticks_per_second / seconds,
            rss_bytes: pages.saturating_mul(self.units.page_bytes),
            wait_percent: waited.map(|waited| 100.0 * waited as f64 / 1e9 / seconds),
        })
    }
}

impl Before {
    /// Returns the time in nanoseconds for which threads waited for a core since the previous
    /// snapshot, or `None` if it is not known for every process.
    fn waited_since(&self, processes: &[ProcessTimes]) -> Option<u64> {
        let mut sum = 0;
        for process in processes {
            for (thread, waited) in process.waited.as_ref()? {
                let before = self.waited.get(thread);
                sum += before.map_or(0, |before| waited.saturating_sub(*before));
            }
        }
        Some(sum)
    }

    fn spent_since(&self, process: &ProcessTimes) -> u64 {
        match self.busy.get(&(process.pid, process.started)) {
            Some(busy) => process.busy.saturating_sub(*busy),
            None if process.started >= self.uptime => process.busy,
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNITS: Units = Units { ticks_per_second: 100.0, page_bytes: 4096 };

    fn process(pid: u32, started: u64, busy: u64) -> ProcessTimes {
        ProcessTimes {
            pid,
            parent: 1,
            name: "c".to_owned(),
            started,
            busy,
            pages: 10,
            waited: None,
        }
    }

    fn snapshot(second: u64, processes: &[ProcessTimes]) -> Snapshot {
        let at = Duration::from_secs(second);
        Snapshot { at, uptime: 1000 + 100 * second, processes: processes.to_vec() }
    }

    #[test]
    fn a_stat_line_is_read_whatever_the_name_is() {
        let rest = "S 77 1 1 0 -1 4194560 1 2 3 4 120 30 7 8 20 0 9 0 5555 1000000 250 18446744";
        for name in ["java", "a b", "x) (y", "((", ")"] {
            let times = ProcessTimes::parse(&format!("42 ({name}) {rest}")).expect("a stat line");
            let expected = ProcessTimes {
                pid: 42,
                parent: 77,
                name: name.to_owned(),
                started: 5555,
                busy: 150,
                pages: 250,
                waited: None,
            };
            assert_eq!(times, expected);
        }
        for bad in ["", "42", "42 (x", "42 (x) S 1", "x (y) S 77 1 1 0"] {
            assert_eq!(ProcessTimes::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn cpu_is_over_the_interval_and_in_sum() {
        let mut meter = Meter::new(UNITS);
        let first = snapshot(1, &[process(1, 5, 1000), process(2, 6, 50)]);
        assert_eq!(meter.observe(&first), None);
        let later = snapshot(3, &[process(1, 5, 1400), process(2, 6, 60)]);
        let sample = meter.observe(&later).expect("a second snapshot");
        assert_eq!(
            sample,
            Sample { cpu_percent: 205.0, rss_bytes: 2 * 10 * 4096, wait_percent: None }
        );
    }

    #[test]
    fn processes_come_and_go_without_jumps() {
        let mut meter = Meter::new(UNITS);
        meter.observe(&snapshot(1, &[process(1, 5, 1000)]));
        // Process 1 is gone; process 2 is old and matches only now; process 3 started in between.
        let sample = meter.observe(&snapshot(2, &[process(2, 6, 9999), process(3, 1150, 20)]));
        assert_eq!(sample.map(|sample| sample.cpu_percent), Some(20.0));
        // A new process with id 2 has less time than the old one had.
        let sample = meter.observe(&snapshot(3, &[process(2, 1250, 30), process(3, 1150, 20)]));
        assert_eq!(sample.map(|sample| sample.cpu_percent), Some(30.0));
        // A counter that runs backwards must not yield a negative time.
        let sample = meter.observe(&snapshot(4, &[process(3, 1150, 10)]));
        assert_eq!(sample.map(|sample| sample.cpu_percent), Some(0.0));
        assert_eq!(meter.observe(&snapshot(5, &[])), None);
        let sample = meter.observe(&snapshot(6, &[process(4, 1510, 7)]));
        assert_eq!(sample.map(|sample| sample.cpu_percent), Some(7.0));
    }

    #[test]
    fn threads_that_wait_add_up_and_new_ones_count_from_their_second_snapshot() {
        let waits = |pid, waited: &[(u32, u64)]| ProcessTimes {
            waited: Some(waited.to_vec()),
            ..process(pid, 5, 0)
        };
        let mut meter = Meter::new(UNITS);
        let mut sample = |second, processes: &[ProcessTimes]| {
            meter.observe(&snapshot(second, processes)).and_then(|sample| sample.wait_percent)
        };
        let ms = 1_000_000;
        assert_eq!(sample(1, &[waits(1, &[(1, 5 * ms), (2, 7 * ms)])]), None);
        let more = [waits(1, &[(1, 105 * ms), (2, 157 * ms), (3, 900 * ms)])];
        assert_eq!(sample(2, &more), Some(25.0));
        // Thread 2 has ended. The waiting times of process 2 are not known.
        assert_eq!(sample(4, &[waits(1, &[(1, 105 * ms), (3, 1_900 * ms)])]), Some(50.0));
        assert_eq!(sample(5, &[waits(1, &[(1, 105 * ms)]), process(2, 6, 0)]), None);
    }

    #[test]
    fn no_time_between_snapshots_is_no_sample() {
        let mut meter = Meter::new(UNITS);
        meter.observe(&snapshot(1, &[process(1, 5, 1000)]));
        assert_eq!(meter.observe(&snapshot(1, &[process(1, 5, 1050)])), None);
        let sample = meter.observe(&snapshot(2, &[process(1, 5, 1100)]));
        assert_eq!(sample.map(|sample| sample.cpu_percent), Some(100.0));
    }
}
