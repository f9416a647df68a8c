//! The memory of the receive rings of packet sockets.
//!
//! A ring allocates all of its memory at its creation, and each queue of each port has a ring. If
//! there are few ports, each ring can hold thousands of packets. If there are many ports, all rings
//! together use at most an eighth of the machine's available memory.

use std::fs;

/// The memory of the receive ring of one packet socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingMemory {
    bytes: usize,
}

impl RingMemory {
    /// The largest ring in bytes. If frames do not fit into a slot of 2 KiB, the ring may be twice
    /// as large.
    pub const MAX: usize = 8 << 20;
    /// The smallest ring in bytes.
    pub const LEAST: usize = 256 << 10;
    /// The divisor of the available memory: all rings together may use this fraction of it.
    const PART: u64 = 8;
    /// The least number of slots in a ring, so that a burst fits even if frames are long.
    const SLOTS: usize = 64;
    /// The size, in bytes, of a slot of the ring for frames of ordinary length.
    const ORDINARY_SLOT: usize = 2 << 10;

    /// Returns a ring size of `bytes` bytes, limited to the allowed range and rounded down to a
    /// power of two.
    #[must_use]
    pub fn of_bytes(bytes: usize) -> Self {
        let bytes = bytes.clamp(Self::LEAST, Self::MAX);
        Self { bytes: 1 << bytes.ilog2() }
    }

    /// Returns the size of each ring if `sockets` rings share a machine with `available` bytes of
    /// available memory.
    #[must_use]
    pub fn shared(available: u64, sockets: usize) -> Self {
        let each = available / Self::PART / sockets.max(1) as u64;
        Self::of_bytes(usize::try_from(each).unwrap_or(Self::MAX))
    }

    /// Returns the size of each ring if `sockets` rings share this machine, from its memory that is
    /// currently available.
    #[must_use]
    pub fn here(sockets: usize) -> Self {
        available().map_or_else(Self::default, |available| Self::shared(available, sockets))
    }

    /// Returns the size in bytes of a ring with slots of `slot` bytes, a power of two.
    pub(crate) fn ring_bytes(self, slot: usize) -> usize {
        // Even if the MTU requires large slots, a burst of small frames must find free slots.
        let bytes = if slot > Self::ORDINARY_SLOT { 2 * self.bytes } else { self.bytes };
        bytes.max(Self::SLOTS * slot)
    }
}

impl Default for RingMemory {
    fn default() -> Self {
        Self { bytes: Self::MAX }
    }
}

/// Returns the number of bytes that this process may still allocate, or `None` if the system does
/// not report it. This is the available memory of the machine or the remaining limit of the
/// process's control group, whichever is less.
fn available() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| mem_available(&text));
    let group = fs::read_to_string("/proc/self/cgroup").ok();
    let group = group.and_then(|text| left_in_group(group_path(&text)?));
    [machine, group].into_iter().flatten().min()
}

/// Returns the available memory in bytes, given the text of /proc/meminfo (`MemAvailable`).
fn mem_available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// Returns the path of the process's control group (version 2), given the text of
/// /proc/self/cgroup.
fn group_path(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("0::"))
}

fn left_in_group(path: &str) -> Option<u64> {
    let number = |file: &str| {
        let text = fs::read_to_string(format!("/sys/fs/cgroup{path}/{file}")).ok()?;
        // The value "max" means that there is no limit.
        text.trim().parse::<u64>().ok()
    };
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn few_ports_have_large_rings_and_many_ports_share_an_eighth_of_the_memory() {
        let bytes = |available, sockets| RingMemory::shared(available, sockets).bytes;
        for sockets in [1, 2, 8, 16] {
            assert_eq!(bytes(2 * GIB, sockets), RingMemory::MAX, "{sockets}");
        }
        // The example has 64 ports with one, two and four workers on a small machine.
        assert_eq!(
            [64, 128, 256].map(|sockets| bytes(2 * GIB, sockets)),
            [4 << 20, 2 << 20, 1 << 20]
        );
        assert_eq!([64, 256].map(|sockets| bytes(24 * GIB, sockets)), [8 << 20, 8 << 20]);
        for available in [GIB / 2, GIB, 2 * GIB, 7 * GIB, 64 * GIB, u64::MAX] {
            let mut before = usize::MAX;
            for sockets in 1..600 {
                let each = bytes(available, sockets);
                assert!(each.is_power_of_two() && each <= before);
                assert!((RingMemory::LEAST..=RingMemory::MAX).contains(&each));
                let all = each as u64 * sockets as u64;
                let is_least = each == RingMemory::LEAST;
                assert!(all <= available / 8 || is_least, "{sockets} of {available}: {all}");
                before = each;
            }
        }
        assert_eq!((bytes(0, 0), bytes(GIB, usize::MAX)), (RingMemory::LEAST, RingMemory::LEAST));
    }

    #[test]
    fn requests_are_clamped_to_the_sizes_of_rings() {
        let bytes = |requested| RingMemory::of_bytes(requested).bytes;
        assert_eq!(
            [0, 1 << 20, (1 << 20) + 5, usize::MAX].map(bytes),
            [256 << 10, 1 << 20, 1 << 20, 8 << 20]
        );
    }

    #[test]
    fn a_ring_has_whole_slots_and_room_for_a_burst() {
        for bytes in [256 << 10, 1 << 20, 8 << 20] {
            let memory = RingMemory::of_bytes(bytes);
            assert_eq!(memory.ring_bytes(2 << 10), bytes);
            for slot in [2 << 10, 4 << 10, 8 << 10, 16 << 10] {
                let ring = memory.ring_bytes(slot);
                assert!(ring.is_multiple_of(64 << 10) && (ring / slot).is_power_of_two());
                assert!(ring / slot >= 64 && ring <= (2 * bytes).max(1 << 20));
            }
        }
    }

    #[test]
    fn facts_of_the_system_are_parsed() {
        let meminfo = "MemTotal:       24683456 kB\nMemFree: 1 kB\nMemAvailable:   2097152 kB\n";
        assert_eq!(mem_available(meminfo), Some(2 * GIB));
        assert_eq!(mem_available("MemTotal: 5 kB\n"), None);
        assert_eq!(mem_available("MemAvailable: many kB\n"), None);
        assert_eq!(group_path("1:name=systemd:/old\n0::/user.slice/a\n"), Some("/user.slice/a"));
        assert_eq!(group_path("1:memory:/old\n"), None);
        assert!(available().is_some_and(|bytes| bytes > 0));
    }
}
