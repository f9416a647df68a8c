//! P4Runtime servers for tests of what judges and measures switches.
//!
//! [`serve`] starts a server without known faults in this process. A [`Proxy`] in front of a server
//! passes on all calls and changes them as its [`Faults`] say, so that a test can show that a fault
//! is found. The code that is tested connects to either as to any switch.
//!
//! Only tests use this crate, so its functions panic if something fails that is not under test.

mod faults;
mod plane;
mod proxy;
mod served;

use tokio::runtime::Runtime;

pub use crate::faults::Faults;
pub use crate::plane::Emulated;
pub use crate::proxy::Proxy;
pub use crate::served::{as_controller, compile, serve, serve_checking_references};

/// The device of every server here.
pub const DEVICE_ID: u64 = 1;

/// Returns a runtime of the calling thread.
///
/// # Panics
/// Panics if the system refuses one.
#[must_use]
pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}
