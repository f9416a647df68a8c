//! Reads the memory use of the switch, if it is a process on this host.

use std::fs;
use std::net::SocketAddr;

/// The rule by which the processes of the switch are found.
#[derive(Clone, Copy, Debug)]
pub enum SwitchProcess {
    /// The process with this identifier.
    Id(u32),
    /// The processes that a function finds from the address of the control channel: over P4Runtime
    /// the address of the server, over OpenFlow the address on which this program listens. The
    /// function returns no process if the switch is on another host, or its processes are not
    /// visible to this user.
    At(SocketAddr, fn(SocketAddr) -> Vec<u32>),
}

impl SwitchProcess {
    /// Returns the identifiers of the processes.
    pub(crate) fn ids(self) -> Vec<u32> {
        match self {
            Self::Id(id) => vec![id],
            Self::At(address, find) => find(address),
        }
    }
}

/// Returns the sum of the resident memory of processes, in bytes; `None` if there are no processes.
pub(crate) fn resident(ids: &[u32]) -> Option<u64> {
    ids.iter().filter_map(|id| resident_of(*id)).reduce(|one, other| one + other)
}

/// Returns the resident memory of a process in bytes (`VmRSS` of proc_pid_status(5), in KiB).
fn resident_of(id: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_this_process_is_seen_and_that_of_others_is_not() {
        let own = SwitchProcess::Id(std::process::id()).ids();
        let before = resident(&own).expect("it exists");
        let touched = vec![1_u8; 64 << 20];
        let after = resident(&own).expect("it exists");
        assert!(after >= before + (60 << 20), "{before} to {after}, {}", touched.len());
        let address = ([127, 0, 0, 1], 1).into();
        assert_eq!(resident(&SwitchProcess::At(address, |_| Vec::new()).ids()), None);
        let twice = SwitchProcess::At(address, |_| vec![std::process::id(); 2]).ids();
        let twice = resident(&twice);
        assert!(twice.is_some_and(|twice| twice > after), "{twice:?}");
    }
}
