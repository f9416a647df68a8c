//! Two hosts in network namespaces, each connected by a cable to a third namespace, which holds the
//! switch.
//!
//! For switches and bridges, both hosts have addresses in 10.0.9.0/24 and fd00::/64. For routers,
//! each host has an address in its own network, 10.0.1.0/24 or 10.0.2.0/24, and the entries of
//! `programs/router.p4` have routes to these. Neighbour entries are static.

use crate::namespace::Namespace;
use p4lang::device_config::{from_device_config, to_pipeline_config};
use packetio::af_packet;
use softswitch::runtime_json::RuntimeJson;
use softswitch::{DeviceConfig, Log, Options, Path, Segments, Switch, V1ModelSettings};

/// The interfaces of the switch.
pub(crate) const PORTS: [&str; 2] = ["s1", "s2"];

/// The address of the second host in the switched network.
pub(crate) const SWITCHED: &str = "10.0.9.2";
/// The address of the second host in the routed network.
pub(crate) const ROUTED: &str = "10.0.2.1";

pub(crate) const L2: &str = include_str!("../../../../programs/l2.p4");
pub(crate) const ROUTER: &str = include_str!("../../../../programs/router.p4");

pub(crate) const L2_ENTRIES: &str = r#"{ "target": "bmv2", "table_entries": [
    { "table": "L2Ingress.l2", "priority": 1, "match": { "eth_dst": ["02:00:00:00:00:01", "ff:ff:ff:ff:ff:ff"] },
      "action_name": "L2Ingress.set_egress_port", "action_params": { "port": 1 } },
    { "table": "L2Ingress.l2", "priority": 1, "match": { "eth_dst": ["02:00:00:00:00:02", "ff:ff:ff:ff:ff:ff"] },
      "action_name": "L2Ingress.set_egress_port", "action_params": { "port": 2 } } ] }"#;
pub(crate) const ROUTER_ENTRIES: &str =
    include_str!("../../../../conformance/pipelines/router-runtime.json");

pub(crate) struct Network {
    pub(crate) hosts: [Namespace; 2],
    pub(crate) switch: Namespace,
}

impl Network {
    /// Lays cables with the given MTUs. Prints a message and returns `None` where namespaces cannot
    /// be created.
    pub(crate) fn new(mtus: [u32; 2]) -> Option<Self> {
        let network =
            Self { hosts: [Namespace::new()?, Namespace::new()?], switch: Namespace::new()? };
        for (index, (host, mtu)) in network.hosts.iter().zip(mtus).enumerate() {
            let (own, other) = (index + 1, 2 - index);
            network.switch.link(PORTS[index], host, "eth0", mtu);
            host.ip(&format!("link set eth0 address 02:00:00:00:00:0{own}"));
            host.run(|| {
                // A kernel without IPv6 lacks this file.
                let _ = std::fs::write("/proc/sys/net/ipv6/conf/eth0/disable_ipv6", "0");
            });
            host.ip(&format!("address add 10.0.9.{own}/24 dev eth0"));
            host.ip(&format!("address add 10.0.{own}.1/24 dev eth0"));
            host.ip(&format!("address add fd00::{own}/64 dev eth0 nodad"));
            for neighbour in [format!("10.0.9.{other}"), format!("fd00::{other}")] {
                host.ip(&format!("neigh add {neighbour} lladdr 02:00:00:00:00:0{other} dev eth0"));
            }
            let gateway = format!("10.0.{own}.254");
            host.ip(&format!("neigh add {gateway} lladdr 02:00:00:00:fe:0{own} dev eth0"));
            host.ip(&format!("route add 10.0.{other}.0/24 via {gateway}"));
        }
        Some(network)
    }

    /// Starts a switch that runs one of the programs on these ports.
    pub(crate) fn start(&self, program: &str, path: Path, segments: Segments) -> Switch {
        let compiled = from_device_config(program.as_bytes()).expect("it compiles");
        let pipeline = to_pipeline_config(&compiled).expect("it has a P4Info");
        let entries = if program == ROUTER { ROUTER_ENTRIES } else { L2_ENTRIES };
        let entries = RuntimeJson::parse(entries).expect("entries");
        let p4info = pipeline.p4info.as_ref().expect("it has a P4Info");
        let updates = entries.updates(p4info).expect("entries of the program");
        self.switch.run(|| {
            let ports = [1, 2].into_iter().zip(PORTS);
            let ports = ports
                .map(|(number, name)| (number, af_packet::open(name, 1).expect("an interface")));
            let device = DeviceConfig {
                queues: Default::default(),
                id: 1,
                cpu_port: 255,
                path,
                v1model: V1ModelSettings::default(),
                pipeline: Some(pipeline),
                updates,
                state: None,
                durability: softswitch::Durability::default(),
                check_references: false,
                takes_injections: false,
                ports: ports.collect(),
            };
            let address = "127.0.0.1:0".parse().expect("an address");
            let options = Options {
                address,
                tls: None,
                workers: 1,
                metrics: None,
                thrift: None,
                limits: softswitch::SwitchLimits::default(),
                log: Log::off(),
                segments,
                pushes: softswitch::Pushes::default(),
                numbers: softswitch::GivenNumbers::new(),
            };
            Switch::start(options, vec![device]).expect("it starts")
        })
    }
}
