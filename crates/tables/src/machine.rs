//! The machine under a measurement: memory, cores, and what a dependent access costs.

/// Bytes that can still be allocated without swapping (`MemAvailable`), where the kernel says.
pub fn available_memory() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kibibytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    kibibytes.checked_mul(1024)
}
