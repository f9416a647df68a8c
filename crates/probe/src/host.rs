//! What the probe asks of the host that it runs on.

use std::fs;
use std::time::Duration;

/// Processor time since boot that a hypervisor gave to others while this machine had work for it,
/// of all cores together (`steal`, see proc_stat(5)); zero on a machine of its own.
pub(crate) fn stolen() -> Duration {
    fs::read_to_string("/proc/stat").ok().and_then(|text| stolen_ticks(&text)).map_or(
        Duration::ZERO,
        |ticks| {
            Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
        },
    )
}

fn stolen_ticks(stat: &str) -> Option<u64> {
    let cpu = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    cpu.split_whitespace().nth(7)?.parse().ok()
}

/// Raises the limit of open files as far as it may be raised, since every emulated switch needs
/// one or two. Returns the limit then in force.
pub fn raise_file_limit() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // A privileged process may go beyond its hard limit, up to what the kernel allows.
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
    #[test]
    fn stolen_time_is_the_eighth_number() {
        let stat = "cpu  10 20 30 40 50 60 70 80 90 100\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        assert_eq!(super::stolen_ticks(stat), Some(80));
        assert_eq!(super::stolen_ticks("cpu  10 20 30 40\n"), None, "kernels before 2.6.11");
        assert_eq!(super::stolen_ticks(""), None);
    }
}
