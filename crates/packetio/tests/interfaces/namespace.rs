//! Namespaces of tests and benchmarks: without them there is nothing to do, and in them everything must succeed.

use std::io::Write;
use std::ops::Deref;

/// A network namespace.
#[derive(Debug)]
pub(crate) struct Namespace(packetio::namespace::Namespace);

impl Namespace {
    /// A new one; `None`, loudly, where it cannot be made.
    pub(crate) fn new() -> Option<Self> {
        match packetio::namespace::Namespace::new() {
            Ok(namespace) => Some(Self(namespace)),
            Err(reason) => {
                let required =
                    std::env::var("PLANIMETER_REQUIRE_PEERS").is_ok_and(|value| value == "1");
                assert!(!required, "{reason}");
                // Not eprintln!, which the test harness keeps to itself when a test passes.
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
    }
}

impl Deref for Namespace {
    type Target = packetio::namespace::Namespace;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
