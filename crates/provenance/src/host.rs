//! The host.

use serde::{Deserialize, Serialize};

/// What a reader of figures needs to know of the host that they were measured on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Host name.
    pub hostname: String,
    /// Kernel name and release.
    pub kernel: String,
    /// Processor model.
    pub cpu_model: String,
    /// Cores that Planimeter may use.
    pub cpus: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
}

impl Host {
    /// This host; what cannot be read stays empty.
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

/// Cores that this process may use.
#[must_use]
pub fn cores() -> u32 {
    std::thread::available_parallelism()
        .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX))
}

/// The value of the first line `key : value` of a file of such lines.
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
