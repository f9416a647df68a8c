//! Network namespaces that a test makes, and removes.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// A network namespace of our own.
#[derive(Debug)]
pub(crate) struct Namespace {
    name: String,
}

impl Namespace {
    /// A new one; `None`, loudly, where it cannot be made.
    pub(crate) fn new() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("planimeter-{}-{count}", std::process::id());
        if let Err(reason) = try_ip(&["netns", "add", &name]) {
            let message = format!("network namespaces cannot be made here: {reason}");
            let required =
                std::env::var("PLANIMETER_REQUIRE_PEERS").is_ok_and(|value| value == "1");
            assert!(!required, "{message}");
            // Not eprintln!, which the test harness keeps to itself when a test passes.
            let _ = writeln!(std::io::stderr(), "SKIPPED: {message}");
            return None;
        }
        let namespace = Self { name };
        namespace.run(|| {
            // Nobody speaks who was not asked to.
            let _ = fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
            let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
        });
        namespace.ip("link set lo up");
        Some(namespace)
    }

    /// Runs something on a thread that is in this namespace.
    pub(crate) fn run<T: Send>(&self, body: impl FnOnce() -> T + Send) -> T {
        let path = PathBuf::from("/run/netns").join(&self.name);
        let inside = move || {
            let namespace = fs::File::open(path).expect("the namespace");
            move_into_link_name_space(
                std::os::fd::AsFd::as_fd(&namespace),
                Some(LinkNameSpaceType::Network),
            )
            .expect("to enter it");
            body()
        };
        match thread::scope(|scope| scope.spawn(inside).join()) {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// `ip` in this namespace; it must succeed.
    pub(crate) fn ip(&self, arguments: &str) {
        self.try_ip(arguments).unwrap_or_else(|error| panic!("ip {arguments}: {error}"));
    }

    /// `ip` in this namespace, which may fail.
    pub(crate) fn try_ip(&self, arguments: &str) -> Result<(), String> {
        let mut words = vec!["-netns", &self.name];
        words.extend(arguments.split_whitespace());
        try_ip(&words)
    }

    /// A pair of interfaces that are up, the second in `other`.
    pub(crate) fn link(&self, here: &str, other: &Self, there: &str, mtu: u32) {
        let peer = format!("peer name {there} mtu {mtu} netns {}", other.name);
        self.ip(&format!("link add {here} mtu {mtu} type veth {peer}"));
        self.ip(&format!("link set {here} up"));
        other.ip(&format!("link set {there} up"));
    }

    /// What a program is run with in this namespace.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]);
        command
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = try_ip(&["netns", "delete", &self.name]);
    }
}

fn try_ip(arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("ip").args(arguments).output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}
