//! Tests of the verbs of the command as a user runs them: their output, reports and exit status,
//! and the commands that the documentation shows.
//!
//! DPDK's virtual devices need libdpdk-dev and a build that has them:
//!
//!     cargo test -p planimeter --features dpdk --test verbs dpdk

mod bench;
mod book;
mod bound;
mod browser;
mod cli_input;
mod command;
mod compare;
mod contract;
mod ctl;
mod ctl_secured;
mod demo;
mod device;
mod device_measure;
mod document;
mod documentation;
#[cfg(feature = "dpdk")]
mod dpdk;
mod dut;
mod figures;
mod inputs;
mod messages;
mod moving;
mod p4;
mod pages;
mod paths;
mod queues;
mod ranks;
mod reproduce;
mod results;
mod switch;
mod tables;
mod taught;
mod trees;
mod width;

#[cfg(not(feature = "dpdk"))]
#[test]
fn dpdk_devices_need_a_build_that_has_them() {
    eprintln!("SKIPPED: DPDK's devices need libdpdk-dev and --features dpdk");
}
