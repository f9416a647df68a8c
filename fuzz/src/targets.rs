//! The targets. Each reads an input as a user or a peer would provide it, and checks what must hold
//! whatever the input is.

pub mod bmv2;
pub mod compiled;
pub mod config;
pub mod delays;
pub mod device;
pub mod grpc;
pub mod ir;
pub mod journal;
pub mod legacy;
pub mod mppg;
pub mod network;
pub mod northbound;
pub mod offload;
pub mod openflow;
pub mod p4_program;
pub mod p4info;
pub mod p4lang;
pub mod paths;
pub mod pcap;
pub mod stf;
pub mod switch;
pub mod thrift;
pub mod topology;

/// A target, for a caller that runs all of them.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of its executable and of the folder with its corpus.
    pub name: &'static str,
    /// Runs the target on an input. Panics if a check fails.
    pub run: fn(&[u8]),
    /// Mutates an input, if the target has a mutator of its own.
    pub mutate: Option<Mutate>,
}

/// Mutates an input in place. The arguments are a buffer, the length of the input in it, the
/// maximum length of the result, and a seed. Returns the length of the result.
pub type Mutate = fn(&mut [u8], usize, usize, u32) -> usize;

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "bmv2", run: bmv2::run, mutate: Some(bmv2::mutate) },
    Target { name: "compiled", run: compiled::run, mutate: Some(compiled::mutate) },
    Target { name: "config", run: config::run, mutate: Some(config::mutate) },
    Target { name: "delays", run: delays::run, mutate: Some(delays::mutate) },
    Target { name: "device", run: device::run, mutate: None },
    Target { name: "grpc", run: grpc::run, mutate: None },
    Target { name: "ir", run: ir::run, mutate: Some(ir::mutate) },
    Target { name: "journal", run: journal::run, mutate: None },
    Target { name: "legacy", run: legacy::run, mutate: Some(legacy::mutate) },
    Target { name: "mppg", run: mppg::run, mutate: Some(mppg::mutate) },
    Target { name: "network", run: network::run, mutate: Some(network::mutate) },
    Target { name: "northbound", run: northbound::run, mutate: None },
    Target { name: "offload", run: offload::run, mutate: None },
    Target { name: "openflow", run: openflow::run, mutate: None },
    Target { name: "p4_program", run: p4_program::run, mutate: Some(p4_program::mutate) },
    Target { name: "p4info", run: p4info::run, mutate: Some(p4info::mutate) },
    Target { name: "p4lang", run: p4lang::run, mutate: Some(p4lang::mutate) },
    Target { name: "paths", run: paths::run, mutate: None },
    Target { name: "pcap", run: pcap::run, mutate: None },
    Target { name: "stf", run: stf::run, mutate: Some(stf::mutate) },
    Target { name: "switch", run: switch::run, mutate: None },
    Target { name: "thrift", run: thrift::run, mutate: None },
    Target { name: "topology", run: topology::run, mutate: Some(topology::mutate) },
];
