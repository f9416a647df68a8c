//! Network namespaces for tests and benchmarks. If a namespace cannot be created, tests are
//! skipped; within a namespace, every operation must succeed.

use std::io::Write;
use std::ops::Deref;
use std::time::{Duration, Instant};

use packetio::interface::Interface;

/// A network namespace whose operations panic on failure.
#[derive(Debug)]
pub(crate) struct Namespace(packetio::namespace::Namespace);

impl Namespace {
    /// Creates a namespace. If that is impossible, prints the reason and returns `None`.
    pub(crate) fn new() -> Option<Self> {
        match packetio::namespace::Namespace::new() {
            Ok(namespace) => Some(Self(namespace)),
            Err(reason) => {
                let required =
                    std::env::var("PLANIMETER_REQUIRE_PEERS").is_ok_and(|value| value == "1");
                assert!(!required, "{reason}");
                // The test harness would hide the output of eprintln! if the test passes.
                let _ = writeln!(std::io::stderr(), "SKIPPED: {reason}");
                None
            }
        }
    }

    pub(crate) fn run<T: Send>(&self, body: impl FnOnce() -> T + Send) -> T {
        self.0.run(body).unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) fn ip(&self, arguments: &str) {
        self.0.ip(arguments).unwrap_or_else(|error| panic!("{error}"));
    }

    pub(crate) fn link(&self, here: &str, other: &Self, there: &str, mtu: u32) {
        self.0.link(here, other, there, mtu).unwrap_or_else(|error| panic!("{error}"));
        self.wait_until_running(&[here]);
        other.wait_until_running(&[there]);
    }

    /// Waits until frames pass. The kernel activates the queues of an interface some time after its
    /// peer has come up, and drops earlier frames.
    pub(crate) fn wait_until_running(&self, interfaces: &[&str]) {
        self.run(|| {
            let start = Instant::now();
            let running = |name| Interface::named(name).is_ok_and(|interface| interface.running);
            while !interfaces.iter().all(|name| running(name)) {
                assert!(start.elapsed() < Duration::from_secs(20), "{interfaces:?} do not run");
                std::thread::sleep(Duration::from_millis(1));
            }
        });
    }
}

impl Deref for Namespace {
    type Target = packetio::namespace::Namespace;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
