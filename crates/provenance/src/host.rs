//! The host on which a measurement ran.

use serde::{Deserialize, Serialize};

/// A description of the host on which a measurement ran, for the readers of its results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// The host name.
    pub hostname: String,
    /// The name and release of the kernel.
    pub kernel: String,
    /// The model of the processor.
    pub cpu_model: String,
    /// The number of cores that the measuring process could use.
    pub cpus: u32,
    /// The size of the main memory in bytes, or 0 if it is unknown.
    pub memory_bytes: u64,
}

impl Host {
    /// Reads the description of this host. Facts that cannot be read are empty or 0.
    #[must_use]
    pub fn read() -> Self {
        let name = rustix::system::uname();
        Self {
            hostname: name.nodename().to_string_lossy().into_owned(),
            kernel: format!(
                "{} {}",
                name.sysname().to_string_lossy(),
                name.release().to_string_lossy()
            ),
            cpu_model: value_of("/proc/cpuinfo", "model name").unwrap_or_default(),
            cpus: cores(),
            memory_bytes: value_of("/proc/meminfo", "MemTotal")
                .and_then(|text| text.trim_end_matches(" kB").trim().parse::<u64>().ok())
                .unwrap_or(0)
                * 1024,
        }
    }
}

/// Returns the number of cores that this process may use, at least 1.
#[must_use]
pub fn cores() -> u32 {
    std::thread::available_parallelism()
        .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX))
}

/// Returns the value of the first line with the key `key` in a file such as `/proc/cpuinfo`, whose
/// lines have the form `key : value`.
fn value_of(file: &str, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_of_this_host_are_read() {
        let host = Host::read();
        assert!(host.cpus >= 1 && host.memory_bytes > 1 << 20, "{host:?}");
        assert!(host.kernel.starts_with("Linux "), "{host:?}");
    }
}
