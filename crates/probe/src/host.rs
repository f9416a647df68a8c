//! Queries and settings of the host that the probe runs on.

use std::fs;
use std::time::Duration;

/// Returns the CPU time since boot, over all cores, that a hypervisor withheld from this machine
/// and gave to other virtual machines (`steal`, see proc_stat(5)). It is zero on a physical
/// machine.
pub(crate) fn stolen() -> Duration {
    fs::read_to_string("/proc/stat").ok().and_then(|text| stolen_ticks(&text)).map_or(
        Duration::ZERO,
        |ticks| {
            Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
        },
    )
}

/// The share of a run's time from which stolen CPU time is reported.
///
/// Packets are due all the time, so a thread that loses a share of the time in pauses is late for
/// at least that share of its packets. If a thousandth of the packets is late, they may determine
/// the 99.9th percentile, the highest one in a result. A smaller share mostly affects the maximum
/// alone. Because the stolen time is a sum over all cores, a single thread may have lost less than
/// this share, and the note may be unnecessary.
const NOTED: f64 = 1e-3;

/// Returns a note for the report about the CPU time that was stolen during a run of `elapsed_s`
/// seconds, or `None` if it was too short to affect the figures.
pub(crate) fn withheld(stolen: Duration, elapsed_s: f64) -> Option<String> {
    let stolen = stolen.as_secs_f64();
    (stolen > 0.0 && stolen >= NOTED * elapsed_s).then(|| {
        format!(
            "The hypervisor withheld {stolen:.2} s of processor time from this machine during the {elapsed_s:.0} s of the run \
             (steal), a thousandth of the time or more: what waited then was late, on either side, and may be all that the \
             99.9th percentile shows."
        )
    })
}

/// Returns the number of online cores of this host, including those that this process may not use,
/// or `None` if the system does not report it.
pub(crate) fn online_cores() -> Option<u32> {
    cores_in(&fs::read_to_string("/proc/stat").ok()?)
}

fn cores_in(stat: &str) -> Option<u32> {
    let is_core = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    u32::try_from(stat.lines().filter(is_core).count()).ok().filter(|cores| *cores > 0)
}

fn stolen_ticks(stat: &str) -> Option<u64> {
    let cpu = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    cpu.split_whitespace().nth(7)?.parse().ok()
}

/// Raises the limit of open files of this process as far as possible, since every emulated switch
/// needs one or two files. Returns the new limit.
pub fn raise_file_limit() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // A privileged process may exceed its hard limit, up to the kernel's limit.
    let kernel = fs::read_to_string("/proc/sys/fs/nr_open")
        .ok()
        .and_then(|text| text.trim().parse::<u64>().ok());
    for wanted in [kernel, limit.maximum].into_iter().flatten() {
        let raised =
            Rlimit { current: Some(wanted), maximum: Some(wanted.max(limit.maximum.unwrap_or(0))) };
        if limit.current.is_some_and(|current| current >= wanted)
            || setrlimit(Resource::Nofile, raised).is_ok()
        {
            break;
        }
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::withheld;

    #[test]
    fn a_thousandth_of_the_run_is_noted() {
        let stolen = Duration::from_millis;
        assert_eq!(withheld(stolen(50), 60.0), None);
        let note = withheld(stolen(60), 60.0).expect("a thousandth");
        assert!(note.starts_with("The hypervisor withheld 0.06 s of"), "{note}");
        assert!(note.contains("during the 60 s") && note.contains("99.9th percentile"), "{note}");
        assert_eq!(withheld(Duration::ZERO, 0.0), None);
    }

    #[test]
    fn each_core_has_a_line_in_proc_stat() {
        let stat = "cpu  10 20\ncpu0 1 2\ncpu7 1 2\nintr 1\nctxt 2\n";
        assert_eq!(super::cores_in(stat), Some(2));
        assert_eq!(super::cores_in("intr 1\n"), None);
    }

    #[test]
    fn stolen_time_is_the_eighth_number() {
        let stat = "cpu  10 20 30 40 50 60 70 80 90 100\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        assert_eq!(super::stolen_ticks(stat), Some(80));
        assert_eq!(super::stolen_ticks("cpu  10 20 30 40\n"), None, "kernels before 2.6.11");
        assert_eq!(super::stolen_ticks(""), None);
    }
}
