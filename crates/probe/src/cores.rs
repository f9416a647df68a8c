//! Places the engine threads, which send packet-ins and read answers, on cores of their own.
//!
//! An engine thread is punctual only while its core is free: another thread that the kernel
//! schedules there holds the core for a whole time slice of several milliseconds. With `isolate`,
//! each engine thread is pinned to one core at the highest priority that the kernel grants. A
//! controller on the same host must then use other cores, because its answers would be late if it
//! waited for an engine thread. Isolation is therefore an option and not the default.
//!
//! Linux groups the threads of a terminal session (autogroup, see sched(7)), and a priority counts
//! only inside its group. In comparison with other sessions, a thread with the highest priority is
//! still an ordinary thread. It also takes weight from its own group on every other core, so that a
//! controller of the same session gets too little CPU time there. Therefore the priority of the
//! whole group is raised for as long as a run lasts.

use std::fs;

use rustix::thread::CpuSet;

/// The highest priority of ordinary threads.
const HIGHEST_PRIORITY: i32 = -20;

/// Returns the core for the engine thread with index `thread` of `threads`, or `None` if no core
/// would be left for anything else. The last cores that this process may use are chosen, since the
/// first ones serve most interrupts.
pub(crate) fn core_of(thread: usize, threads: usize) -> Option<usize> {
    let allowed = allowed();
    let first = allowed.len().checked_sub(threads).filter(|rest| *rest > 0)?;
    allowed.get(first + thread).copied()
}

/// Pins the calling thread to `core` and raises it to the highest priority. Returns whether the
/// kernel allowed both.
pub(crate) fn claim(core: usize) -> bool {
    let mut set = CpuSet::new();
    set.set(core);
    // Process id 0 selects the calling thread, since priorities belong to threads on Linux.
    rustix::thread::sched_setaffinity(None, &set).is_ok()
        && rustix::process::setpriority_process(None, HIGHEST_PRIORITY).is_ok()
}

/// The file that holds the scheduling priority of the session's group of threads (autogroup).
const GROUP: &str = "/proc/self/autogroup";

/// A guard that raises the priority of this session's threads over those of other sessions.
/// Dropping it restores the former priority.
#[derive(Debug)]
pub(crate) struct Precedence {
    /// The group's former priority, or `None` if the kernel does not group threads by session.
    before: Option<i32>,
}

/// The error that is returned if the kernel does not allow a higher priority.
#[derive(Debug)]
pub(crate) struct NoPrecedence;

impl Precedence {
    pub(crate) fn take() -> Result<Self, NoPrecedence> {
        let own = rustix::process::getpriority_process(None).map_err(|_| NoPrecedence)?;
        // Tries the priority that an engine thread will request, and restores the former one.
        rustix::process::setpriority_process(None, HIGHEST_PRIORITY).map_err(|_| NoPrecedence)?;
        let _ = rustix::process::setpriority_process(None, own);
        let before = fs::read_to_string(GROUP).ok().and_then(|line| group_priority(&line));
        if before.is_some() {
            fs::write(GROUP, HIGHEST_PRIORITY.to_string()).map_err(|_| NoPrecedence)?;
        }
        Ok(Self { before })
    }
}

impl Drop for Precedence {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // Lowering the priority needs no privilege.
            let _ = fs::write(GROUP, before.to_string());
        }
    }
}

/// Parses the nice value of an autogroup, such as 0 from the line `/autogroup-12 nice 0`.
fn group_priority(line: &str) -> Option<i32> {
    line.trim().rsplit_once(" nice ")?.1.parse().ok()
}

/// Runs `start`, which starts the controller, on the cores that the engine threads do not use, at
/// the priority of the engine threads. Processes that `start` spawns inherit the cores and the
/// priority. If no core is left over, `start` runs without any change.
pub fn beside_engine<T>(threads: usize, start: impl FnOnce() -> T) -> T {
    let before = rustix::thread::sched_getaffinity(None);
    let (Ok(before), Some(_)) = (before, core_of(0, threads)) else { return start() };
    let mut rest = before;
    for core in (0..threads).filter_map(|thread| core_of(thread, threads)) {
        rest.unset(core);
    }
    // Without permission the process shares all cores, which is the default.
    let _ = rustix::thread::sched_setaffinity(None, &rest);
    let priority = rustix::process::getpriority_process(None);
    let _ = rustix::process::setpriority_process(None, HIGHEST_PRIORITY);
    let result = start();
    if let Ok(priority) = priority {
        let _ = rustix::process::setpriority_process(None, priority);
    }
    let _ = rustix::thread::sched_setaffinity(None, &before);
    result
}

/// Returns whether `threads` engine threads leave at least one core for everything else.
#[must_use]
pub fn leaves_a_core(threads: usize) -> bool {
    core_of(0, threads).is_some()
}

fn allowed() -> Vec<usize> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engine_threads_take_the_last_cores_and_leave_one() {
        let cores = allowed();
        assert_eq!(core_of(0, cores.len()), None, "nothing would be left");
        for threads in 1..cores.len() {
            let taken: Vec<usize> =
                (0..threads).filter_map(|thread| core_of(thread, threads)).collect();
            assert_eq!(taken, cores[cores.len() - threads..]);
        }
    }

    #[test]
    fn the_priority_of_a_group_is_read_as_the_kernel_writes_it() {
        assert_eq!(group_priority("/autogroup-107 nice 0\n"), Some(0));
        assert_eq!(group_priority("/autogroup-3 nice -20\n"), Some(-20));
        assert_eq!(group_priority("/"), None);
    }

    #[test]
    fn what_is_started_beside_the_engine_is_off_its_cores() {
        let cores = allowed();
        let seen = std::thread::spawn(|| (beside_engine(1, allowed), allowed()));
        let (beside, after) = seen.join().expect("the thread ends");
        assert_eq!(after, cores, "put back");
        match core_of(0, 1) {
            Some(engine) => assert!(!beside.contains(&engine) && !beside.is_empty()),
            None => assert_eq!(beside, cores),
        }
    }
}
