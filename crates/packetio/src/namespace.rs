//! Network namespaces that are connected by pairs of virtual Ethernet interfaces. Measurements and
//! tests create their ports in such namespaces, where there is no other traffic. They need no port
//! of the machine, and leave nothing behind.
//!
//! Interfaces are created with `ip` of iproute2, whose error messages users know. Creating
//! namespaces requires root. The name of a namespace contains the id of its process, so that later
//! processes can remove namespaces whose process was killed.

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

const PREFIX: &str = "planimeter-";
/// The directory in which `ip netns` keeps namespaces.
const NAMES: &str = "/run/netns";

/// A network namespace of this process. Dropping it removes the namespace and its interfaces.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

/// The reason why a namespace cannot be created or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NamespaceError {
    /// The program `ip` cannot be started.
    #[error("ip: {0}; Debian's iproute2 has it")]
    NoIp(io::Error),
    /// The program `ip` reports an error.
    #[error("ip {arguments}: {message}; {}", advice(message))]
    Ip {
        /// The arguments with which `ip` was called.
        arguments: String,
        /// The error message of `ip`.
        message: String,
    },
    /// The namespace cannot be entered.
    #[error("entering {}: {source}", path.display())]
    Enter {
        /// The path of the namespace.
        path: PathBuf,
        /// The error that the system reported.
        source: io::Error,
    },
}

/// Returns a hint that tells the user how to avoid an error of `ip`.
fn advice(message: &str) -> &'static str {
    // The first text is the kernel's own message, and the second the text of its error number.
    let unknown = ["Unknown device type", "Operation not supported"];
    if unknown.iter().any(|words| message.contains(words)) {
        "this kernel has no interfaces of that kind: load its module (`modprobe veth` for virtual pairs)"
    } else {
        "network namespaces and their interfaces need root, in a container --cap-add NET_ADMIN,SYS_ADMIN"
    }
}

impl Namespace {
    /// Creates a namespace with its loopback interface up. IPv6 is disabled, so that the kernel
    /// sends no packets of its own.
    ///
    /// # Errors
    /// Returns an error if the namespace cannot be created.
    pub fn new() -> Result<Self, NamespaceError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        clear_left_behind();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{count}", std::process::id());
        ip(&["netns", "add", &name])?;
        let namespace = Self { name };
        namespace.run(|| {
            for which in ["all", "default"] {
                // A kernel without IPv6 does not have this file.
                let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1");
            }
        })?;
        namespace.ip("link set lo up")?;
        Ok(namespace)
    }

    /// Moves the calling thread into this namespace. Processes and threads that it starts later
    /// also run in the namespace.
    ///
    /// # Errors
    /// Returns an error if the namespace is gone or may not be entered.
    pub fn enter(&self) -> Result<(), NamespaceError> {
        let path = Path::new(NAMES).join(&self.name);
        let entered = fs::File::open(&path).and_then(|namespace| {
            let kind = Some(LinkNameSpaceType::Network);
            Ok(move_into_link_name_space(namespace.as_fd(), kind)?)
        });
        entered.map_err(|source| NamespaceError::Enter { path, source })
    }

    /// Runs `body` on a new thread in this namespace. If `body` panics, the panic continues in the
    /// caller.
    ///
    /// # Errors
    /// Returns an error if the namespace cannot be entered.
    pub fn run<T: Send>(&self, body: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
        let inside = || self.enter().map(|()| body());
        match thread::scope(|scope| scope.spawn(inside).join()) {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Runs `ip` in this namespace. Arguments are separated by blanks.
    ///
    /// # Errors
    /// Returns an error if `ip` fails.
    pub fn ip(&self, arguments: &str) -> Result<(), NamespaceError> {
        let mut words = vec!["-netns", &self.name];
        words.extend(arguments.split_whitespace());
        ip(&words)
    }

    /// Creates two connected interfaces: `here` in this namespace, and `there` in the namespace
    /// `other`. Both have an MTU of `mtu` bytes and are up.
    ///
    /// # Errors
    /// Returns an error if `ip` fails.
    pub fn link(
        &self,
        here: &str,
        other: &Self,
        there: &str,
        mtu: u32,
    ) -> Result<(), NamespaceError> {
        let peer = format!("peer name {there} mtu {mtu} netns {}", other.name);
        self.ip(&format!("link add {here} mtu {mtu} type veth {peer}"))?;
        self.ip(&format!("link set {here} up"))?;
        other.ip(&format!("link set {there} up"))
    }

    /// Returns a command that runs a program in this namespace.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).arg(program);
        command
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // If the deletion fails, this process can do nothing about it.
        let _ = ip(&["netns", "delete", &self.name]);
    }
}

fn ip(arguments: &[&str]) -> Result<(), NamespaceError> {
    let output = Command::new("ip").args(arguments).output().map_err(NamespaceError::NoIp)?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(NamespaceError::Ip { arguments: arguments.join(" "), message })
}

/// Removes the namespaces that were left behind by processes that were killed.
fn clear_left_behind() {
    let Ok(found) = fs::read_dir(NAMES) else { return };
    for name in found.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
        let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        let is_gone = process.is_some_and(|process| {
            process.parse::<u32>().is_ok() && !Path::new("/proc").join(process).exists()
        });
        if is_gone {
            let _ = ip(&["netns", "delete", &name]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::NamespaceError;

    /// Checks that the advice for an error of `ip` depends on whether the kernel lacks a feature or
    /// the process lacks a permission.
    #[test]
    fn the_remedy_depends_on_the_error_of_ip() {
        let refused = |message: &str| {
            NamespaceError::Ip { arguments: "link add a type veth".into(), message: message.into() }
                .to_string()
        };
        let unknown = refused("Error: Unknown device type.");
        assert!(unknown.contains("modprobe veth") && !unknown.contains("root"), "{unknown}");
        let denied = refused("RTNETLINK answers: Operation not permitted");
        assert!(denied.contains("need root") && !denied.contains("modprobe"), "{denied}");
    }
}
