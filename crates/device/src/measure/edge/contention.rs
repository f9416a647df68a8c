//! Reads for how long the threads of a measurement waited for a processor, and for how long other
//! programs used their cores.

use std::fs;
use std::time::Duration;

use super::super::conduct::Contention;

/// The time of one tick of `/proc/stat`, as Linux reports it to user programs (USER_HZ).
const TICK: Duration = Duration::from_millis(10);

/// The processes of a measurement, and the cores that they use.
#[derive(Debug)]
pub(super) struct Competitors {
    cores: [usize; 2],
    /// The identifiers of this process and those of the device.
    processes: Vec<u32>,
}

/// The times that a thread ran and waited for a processor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Scheduled {
    ran: Duration,
    waited: Duration,
}

impl Competitors {
    /// Creates a reader for this process and the processes of a device, which run on `cores`.
    pub(super) fn new(cores: [usize; 2], device: Vec<u32>) -> Self {
        let processes = std::iter::once(std::process::id()).chain(device).collect();
        Self { cores, processes }
    }

    /// Returns the accumulated times for which the threads ran and waited, and for which the cores
    /// were busy. Returns `None` if the kernel does not record how long threads wait, or a process
    /// has ended.
    pub(super) fn read(&self) -> Option<Contention> {
        let mut own = Scheduled::default();
        for process in &self.processes {
            let tasks = fs::read_dir(format!("/proc/{process}/task")).ok()?;
            // A thread may end before its file is read.
            for task in tasks.flatten() {
                let Ok(text) = fs::read_to_string(task.path().join("schedstat")) else { continue };
                let thread = scheduled(&text)?;
                own.ran += thread.ran;
                own.waited += thread.waited;
            }
        }
        let busy = fs::read_to_string("/proc/stat").ok().and_then(|text| busy(&text, self.cores));
        Some(Contention { waited: own.waited, ran: own.ran, busy: busy? })
    }
}

/// Reads `/proc/PID/task/TID/schedstat`: the nanoseconds on a processor and those on a run queue
/// (Documentation/scheduler/sched-stats.rst).
fn scheduled(text: &str) -> Option<Scheduled> {
    let mut numbers = text.split_whitespace().map(|word| word.parse().map(Duration::from_nanos));
    Some(Scheduled { ran: numbers.next()?.ok()?, waited: numbers.next()?.ok()? })
}

/// Returns for how long cores were busy, from `/proc/stat`. If both numbers name the same core, it
/// is counted once.
fn busy(text: &str, cores: [usize; 2]) -> Option<Duration> {
    let of = |core: usize| {
        let name = format!("cpu{core}");
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(&name))?;
        let ticks: Vec<u32> =
            line.split_whitespace().skip(1).map_while(|w| w.parse().ok()).collect();
        // The fields are user, nice, system, idle, iowait, irq and softirq.
        let ticks = ticks.get(..7)?;
        let busy = |place: &usize| ticks.get(*place).copied();
        [0, 1, 2, 5, 6].iter().map(busy).sum::<Option<u32>>()
    };
    let [first, second] = cores;
    let other = if first == second { 0 } else { of(second)? };
    Some(TICK * of(first)?.checked_add(other)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_threads_and_cores_are_read() {
        let thread = scheduled("1500 2894581 1\n").expect("numbers");
        assert_eq!(thread.ran, Duration::from_nanos(1500));
        assert_eq!(thread.waited, Duration::from_nanos(2_894_581));
        assert_eq!(scheduled("1500\n"), None);
        let text = "cpu 9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 100 50 4 5 6 0 0\ncpu1 10 0 0 1 1 0 0 7 0 0\n\
                    cpu10 99 99 99 0 0 0 0 0 0 0\nintr 5\n";
        assert_eq!(busy(text, [0, 1]), Some(Duration::from_millis(250)));
        assert_eq!(busy(text, [1, 1]), Some(Duration::from_millis(100)));
        assert_eq!(busy(text, [0, 2]), None);
    }

    #[test]
    fn the_times_of_this_process_grow() {
        let competitors = Competitors::new([0, 0], Vec::new());
        let time = || {
            let read = competitors.read()?;
            Some(read.ran + read.waited)
        };
        if time().is_none() {
            eprintln!("SKIPPED: this kernel does not record how long threads wait");
            return;
        }
        // If a thread of another test ends in between, its time is no longer counted.
        let grows = (0..20).any(|_| {
            let before = time();
            let begin = std::time::Instant::now();
            while begin.elapsed() < Duration::from_millis(30) {
                std::hint::spin_loop();
            }
            time() > before
        });
        assert!(grows, "the times of this process do not grow");
    }
}
