//! Network namespaces with cables between them: what is sent there meets no other traffic, no port of the machine is taken,
//! and nothing is left behind. Measurements and tests have their ports in them.
//!
//! Interfaces are made with `ip` of iproute2, which says what is wrong in words that its users know; making namespaces needs
//! root. Names tell whose a namespace is, so that one whose process was killed is cleared away by the next.

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
/// Where `ip netns` keeps them.
const NAMES: &str = "/run/netns";

/// A network namespace of this process; dropping it removes it, with the interfaces in it.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

/// Why a namespace cannot be made or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NamespaceError {
    /// There is no `ip`.
    #[error("ip: {0}; Debian's iproute2 has it")]
    NoIp(io::Error),
    /// `ip` refuses.
    #[error("ip {arguments}: {said}; {}", advice(said))]
    Ip {
        /// What it was asked for.
        arguments: String,
        /// What it says.
        said: String,
    },
    /// It cannot be entered.
    #[error("entering {}: {source}", path.display())]
    Enter {
        /// The namespace.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// What to do where `ip` refuses.
fn advice(said: &str) -> &'static str {
    // In the words of the kernel's error, or of its number.
    let unknown = ["Unknown device type", "Operation not supported"];
    if unknown.iter().any(|words| said.contains(words)) {
        "this kernel has no interfaces of that kind: load its module (`modprobe veth` for virtual pairs)"
    } else {
        "network namespaces and their interfaces need root, in a container --cap-add NET_ADMIN,SYS_ADMIN"
    }
}

impl Namespace {
    /// A new one, with its loopback interface up and without IPv6, so that nobody speaks who was not asked to.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new() -> Result<Self, NamespaceError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        clear_left_behind();
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{count}", std::process::id());
        ip(&["netns", "add", &name])?;
        let namespace = Self { name };
        namespace.run(|| {
            for which in ["all", "default"] {
                // A kernel without IPv6 has no such file.
                let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1");
            }
        })?;
        namespace.ip("link set lo up")?;
        Ok(namespace)
    }

    /// Lets the calling thread, and what it starts from now on, be in this namespace.
    ///
    /// # Errors
    /// If it is gone, or may not be entered.
    pub fn enter(&self) -> Result<(), NamespaceError> {
        let path = Path::new(NAMES).join(&self.name);
        let entered = fs::File::open(&path).and_then(|namespace| {
            let kind = Some(LinkNameSpaceType::Network);
            Ok(move_into_link_name_space(namespace.as_fd(), kind)?)
        });
        entered.map_err(|source| NamespaceError::Enter { path, source })
    }

    /// Runs something on a thread of its own that is in this namespace. A panic there goes on here.
    ///
    /// # Errors
    /// If the namespace cannot be entered.
    pub fn run<T: Send>(&self, body: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
        let inside = || self.enter().map(|()| body());
        match thread::scope(|scope| scope.spawn(inside).join()) {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Runs `ip` in this namespace; arguments have blanks between them.
    ///
    /// # Errors
    /// If it refuses.
    pub fn ip(&self, arguments: &str) -> Result<(), NamespaceError> {
        let mut words = vec!["-netns", &self.name];
        words.extend(arguments.split_whitespace());
        ip(&words)
    }

    /// Lays a cable: a pair of interfaces of these names, one here and one in `other`, of an MTU in bytes. Both are up.
    ///
    /// # Errors
    /// If `ip` refuses.
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

    /// A program to be run in this namespace.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).arg(program);
        command
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // There is nobody to tell.
        let _ = ip(&["netns", "delete", &self.name]);
    }
}

fn ip(arguments: &[&str]) -> Result<(), NamespaceError> {
    let output = Command::new("ip").args(arguments).output().map_err(NamespaceError::NoIp)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(NamespaceError::Ip { arguments: arguments.join(" "), said })
}

/// Removes the namespaces of processes that were killed.
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

    /// What lacks is the kernel's in the one case, the right to do it in the other.
    #[test]
    fn what_to_do_depends_on_what_ip_says() {
        let refused = |said: &str| {
            NamespaceError::Ip { arguments: "link add a type veth".into(), said: said.into() }
                .to_string()
        };
        let unknown = refused("Error: Unknown device type.");
        assert!(unknown.contains("modprobe veth") && !unknown.contains("root"), "{unknown}");
        let denied = refused("RTNETLINK answers: Operation not permitted");
        assert!(denied.contains("need root") && !denied.contains("modprobe"), "{denied}");
    }
}
