//! P4Runtime servers on which tests try the code that checks and measures switches.
//!
//! [`serve`] starts a server without known faults in this process. A [`Proxy`] forwards all RPCs to
//! such a server and alters requests and responses as its [`Faults`] say, so that a test can show
//! that a fault is found. The code under test connects to either as to any switch.
//!
//! Only tests use this crate, so its functions panic if anything but the code under test fails.

mod faults;
mod plane;
mod proxy;
mod served;

use tokio::runtime::Runtime;

pub use crate::faults::Faults;
pub use crate::plane::Emulated;
pub use crate::proxy::Proxy;
pub use crate::served::{as_controller, compile, serve, serve_checking_references};

/// The P4Runtime device ID of the one device that each server of this crate emulates.
pub const DEVICE_ID: u64 = 1;

/// Returns a Tokio runtime that runs all tasks on the calling thread.
///
/// # Panics
/// Panics if the runtime cannot be created.
#[must_use]
pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}
