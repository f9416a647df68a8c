//! `planimeter bench` and `planimeter switch` on DPDK's virtual devices, in a build that has them:
//!
//!     cargo test -p planimeter --features dpdk --test dpdk

#[cfg(feature = "dpdk")]
mod command;
#[cfg(feature = "dpdk")]
#[path = "dpdk/devices.rs"]
mod devices;

#[cfg(not(feature = "dpdk"))]
#[test]
fn devices_need_a_build_that_has_them() {
    eprintln!("SKIPPED: DPDK's devices need libdpdk-dev and --features dpdk");
}
