//! The values of all settings while they are read, and their conversion to a [`Config`].
//!
//! A draft has one field per setting, whereas [`Config`] groups values that belong together, such
//! as the window with the closed mode. The conversion cannot fail, since [`super::checks`] runs
//! before it.

use std::time::Duration;

use super::value::{
    Advertise, Auto, ControllerAddress, Counts, InputFile, ModeName, OutputDirectory, OutputFile,
    Overrides, PlanName, Process, Rates, RestBase, Secret, ServerAddress, Thresholds, Unsettable,
};
use super::{
    Addresses, Arrivals, Config, Controller, Drain, FlowTables, Frame, Generator, Load, Matching,
    Mode, Output, P4Runtime, Plan, PlanKind, PortForm, Protocol, Rfc8456, SweepRates, Switches,
    Timing, Tls, TopologySource, Traffic,
};
use crate::topology;

/// The largest number of ports of a switch. OpenFlow 1.0 reserves higher port numbers.
pub(super) const MAX_PORTS: u16 = 65_279;

/// The value of every setting while the configuration is read.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) protocol: Protocol,
    pub(super) seed: u64,
    pub(super) threads: Auto<usize>,
    pub(super) isolate: bool,
    pub(super) controller: ControllerDraft,
    pub(super) switches: SwitchesDraft,
    pub(super) traffic: TrafficDraft,
    pub(super) timing: TimingDraft,
    pub(super) plan: PlanDraft,
    pub(super) rfc8456: Rfc8456Draft,
    pub(super) output: OutputDraft,
    pub(super) p4runtime: P4RuntimeDraft,
    pub(super) tls: TlsDraft,
}

/// The settings of the section `controller`.
#[derive(Debug, Default)]
pub(super) struct ControllerDraft {
    pub(super) address: ControllerAddress,
    pub(super) process: Process,
    pub(super) onos_rest: RestBase,
    pub(super) onos_user: String,
    pub(super) onos_password: Secret,
    pub(super) onos_driver: String,
    pub(super) onos_pipeconf: String,
    pub(super) onos_forget: bool,
    pub(super) netcfg_file: OutputFile,
    pub(super) faucet_file: OutputFile,
    pub(super) list_file: OutputFile,
}

/// The settings of the section `switches`.
#[derive(Debug, Default)]
pub(super) struct SwitchesDraft {
    pub(super) count: u32,
    pub(super) first_id: u64,
    pub(super) ports: Auto<u16>,
    pub(super) hosts: u32,
    pub(super) topology: TopologySource,
    pub(super) buffers: u32,
    pub(super) table_size: u32,
    pub(super) flow_tables: FlowTables,
    pub(super) connect_rate: f64,
    pub(super) overrides: Overrides,
}

/// The settings of the section `traffic`.
#[derive(Debug, Default)]
pub(super) struct TrafficDraft {
    pub(super) mode: ModeName,
    pub(super) rate: f64,
    pub(super) arrivals: Arrivals,
    pub(super) window: u32,
    pub(super) give_up: Duration,
    pub(super) load: Load,
    pub(super) frame: Frame,
    pub(super) frame_bytes: usize,
    pub(super) mac: Generator,
    pub(super) ip: Generator,
    pub(super) port: Generator,
    pub(super) known_destinations: bool,
    pub(super) arp_first: bool,
    pub(super) matching: Matching,
    pub(super) late_after: Duration,
    pub(super) outstanding_limit: usize,
}

/// The settings of the section `timing`.
#[derive(Debug, Default)]
pub(super) struct TimingDraft {
    pub(super) connect_timeout: Auto<Duration>,
    pub(super) allow_missing: bool,
    pub(super) settle: Duration,
    pub(super) warm_up: Duration,
    pub(super) measure: Duration,
    pub(super) drain: Drain,
    pub(super) start_stagger: Duration,
    pub(super) sample: Duration,
}

impl TimingDraft {
    /// Returns the time for which packets are sent: warm-up and measurement together.
    pub(super) fn traffic(&self) -> Duration {
        self.warm_up.saturating_add(self.measure)
    }
}

/// The settings of the section `plan`.
#[derive(Debug, Default)]
pub(super) struct PlanDraft {
    pub(super) kind: PlanName,
    pub(super) repetitions: u32,
    pub(super) between: Unsettable,
    pub(super) rates: Rates,
    pub(super) total_rates: Rates,
    pub(super) switches: Counts,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) precision: f64,
    pub(super) rough: bool,
    pub(super) loss: f64,
    pub(super) thresholds: Thresholds,
}

/// The settings of the section `rfc8456`.
#[derive(Debug, Default)]
pub(super) struct Rfc8456Draft {
    pub(super) interval: Duration,
    pub(super) rate: f64,
    pub(super) flows: u32,
    pub(super) switches: u32,
    pub(super) standby: Unsettable,
    pub(super) fail: Unsettable,
    pub(super) northbound: Unsettable,
}

/// The settings of the section `output`.
#[derive(Debug, Default)]
pub(super) struct OutputDraft {
    pub(super) directory: OutputDirectory,
    pub(super) quiet: bool,
    pub(super) json: bool,
}

/// The settings of the section `p4runtime`.
#[derive(Debug, Default)]
pub(super) struct P4RuntimeDraft {
    pub(super) listen: ServerAddress,
    pub(super) advertise: Advertise,
    pub(super) first_port: u16,
    pub(super) devices_per_port: u32,
    pub(super) same_device_id: bool,
    pub(super) p4info: InputFile,
    pub(super) device_config: InputFile,
    pub(super) cookie: u64,
    pub(super) port_form: PortForm,
    pub(super) digest: String,
    pub(super) idle_table: String,
    pub(super) cpu_port: u32,
}

/// The settings of the section `tls`.
#[derive(Debug, Default)]
pub(super) struct TlsDraft {
    pub(super) ca: InputFile,
    pub(super) certificate: InputFile,
    pub(super) key: InputFile,
    pub(super) server_name: Unsettable,
    pub(super) insecure: bool,
}

impl TlsDraft {
    /// Returns whether any setting requests TLS. There is no separate setting to enable TLS,
    /// because a TLS session needs at least one of these settings.
    pub(super) fn wanted(&self) -> bool {
        self.ca.0.is_some() || self.certificate.0.is_some() || self.key.0.is_some() || self.insecure
    }
}

impl Draft {
    /// Returns the numbers of switches with which trials are run.
    pub(super) fn switch_counts(&self) -> Vec<u32> {
        match self.plan.kind {
            PlanName::Sweep if !self.plan.switches.0.is_empty() => self.plan.switches.0.clone(),
            _ => vec![self.switches.count],
        }
    }

    /// Returns the rate of a plan with a single point, in packet-ins per second and switch. If a
    /// total rate is configured, it is divided by the number of switches.
    pub(super) fn rate(&self) -> f64 {
        match (self.plan.kind, &self.plan.total_rates.0[..]) {
            (PlanName::Point, [total]) => total / f64::from(self.switches.count.max(1)),
            _ => self.traffic.rate,
        }
    }

    /// Returns the rates of a sweep.
    pub(super) fn sweep_rates(&self) -> SweepRates {
        match (&self.plan.rates.0[..], &self.plan.total_rates.0[..]) {
            ([], []) => SweepRates::PerSwitch(vec![self.traffic.rate]),
            ([], total) => SweepRates::Total(total.to_vec()),
            (rates, _) => SweepRates::PerSwitch(rates.to_vec()),
        }
    }

    /// Returns the largest number of switches in the plan of the run.
    pub(super) fn most_switches(&self) -> u32 {
        self.switch_counts().into_iter().max().unwrap_or_default()
    }

    /// Returns the largest number of switches that are emulated at a time. Some tests of RFC 8456
    /// search for a number of switches, up to a limit of their own.
    pub(super) fn most_emulated(&self) -> u32 {
        match self.plan.kind {
            PlanName::Rfc8456(tests) if tests.search_switches() => {
                self.most_switches().max(self.rfc8456.switches)
            }
            _ => self.most_switches(),
        }
    }

    /// Returns the smallest number of switches in the plan of the run.
    pub(super) fn least_switches(&self) -> u32 {
        self.switch_counts().into_iter().min().unwrap_or_default()
    }

    /// Returns the number of ports of each switch. If none is configured, a switch has one port for
    /// each link and one for each of its hosts, up to a limit, and at least four ports. Two hosts
    /// of a switch should not share a port, because no switch would see the packets between them.
    /// If there are more hosts than the limit, hosts share ports nevertheless, and send only to
    /// hosts behind other ports. The limit exists because controllers send discovery frames to
    /// every port.
    pub(super) fn ports(&self) -> u16 {
        const LEAST: usize = 4;
        const MAX_FOR_HOSTS: u32 = 16;
        if let Some(ports) = self.switches.ports.0 {
            return ports;
        }
        let linked = topology::ports_for_links(&self.topology(), self.most_switches());
        let for_hosts = self.switches.hosts.min(MAX_FOR_HOSTS) as usize;
        u16::try_from((linked + for_hosts).clamp(LEAST, MAX_PORTS.into())).unwrap_or(u16::MAX)
    }

    /// Returns the configured topology. If none is configured, a plan of RFC 8456 uses a leaf-spine
    /// network with two spines (RFC 8456, section 4.1), or a chain of switches if there are fewer
    /// than four.
    pub(super) fn topology(&self) -> TopologySource {
        match (&self.switches.topology, self.plan.kind) {
            (TopologySource::None, PlanName::Rfc8456(_)) if self.switches.count >= 4 => {
                TopologySource::LeafSpine { spines: 2 }
            }
            (TopologySource::None, PlanName::Rfc8456(_)) => TopologySource::Linear,
            (topology, _) => topology.clone(),
        }
    }

    /// Returns the largest total rate of packet-ins per second, or `None` if it is not known before
    /// the run.
    fn offered(&self) -> Option<f64> {
        let rate = match (self.plan.kind, self.traffic.mode) {
            (PlanName::Search, _) | (_, ModeName::Closed | ModeName::Flood) => return None,
            (PlanName::Sweep, _) => {
                let counts = self.switch_counts();
                let all = |count: &u32| {
                    let most = self.sweep_rates().per_switch(*count).fold(0.0, f64::max);
                    most * f64::from(*count)
                };
                return Some(counts.iter().map(all).fold(0.0, f64::max));
            }
            _ => self.rate(),
        };
        Some(rate * f64::from(self.most_switches()))
    }

    /// Returns the number of engine threads to use if none is configured: one or two, and two only
    /// if a core is left for the controller. Each engine thread takes a core from a controller on
    /// the same host. If it shares a core with the controller, it is late by whole time slices of
    /// the scheduler, such as 4 ms.
    pub(super) fn automatic_threads(&self) -> usize {
        let most = (provenance::cores() as usize).saturating_sub(1).clamp(1, 2);
        let fits_one = match self.protocol {
            Protocol::P4Runtime => 60_000.0,
            Protocol::OpenFlow10 | Protocol::OpenFlow13 => 250_000.0,
        };
        match self.offered() {
            Some(offered) if offered <= fits_one => 1,
            _ => most,
        }
    }

    /// Converts a draft that has passed the checks.
    pub(super) fn into_config(mut self) -> Config {
        self.traffic.rate = self.rate();
        let (offered, ports, topology) = (self.offered(), self.ports(), self.topology());
        let threads = self.threads.0.unwrap_or_else(|| self.automatic_threads());
        let search = PlanKind::Search {
            low: self.plan.low,
            high: self.plan.high,
            precision: self.plan.precision,
            rough: self.plan.rough,
            loss: self.plan.loss,
        };
        let plan = Plan {
            kind: match self.plan.kind {
                PlanName::Point => PlanKind::Point,
                PlanName::Sweep => {
                    PlanKind::Sweep { rates: self.sweep_rates(), switches: self.switch_counts() }
                }
                PlanName::Search => search.clone(),
                PlanName::Rfc8456(tests) => PlanKind::Rfc8456(tests),
            },
            repetitions: self.plan.repetitions,
            between: self.plan.between.0,
        };
        Config {
            protocol: self.protocol,
            seed: self.seed,
            threads,
            isolate: self.isolate,
            topology,
            switches: self.switches.into_config(ports),
            controller: self.controller.into_config(),
            p4runtime: self.p4runtime.into_config(),
            tls: self.tls.wanted().then(|| self.tls.into_config()),
            traffic: self.traffic.into_config(),
            offered,
            timing: self.timing.into_config(self.protocol),
            plan,
            thresholds: self.plan.thresholds.0,
            output: Output {
                directory: self.output.directory.0,
                quiet: self.output.quiet,
                json: self.output.json,
            },
            rfc8456: self.rfc8456.into_config(search),
        }
    }
}

impl Rfc8456Draft {
    fn into_config(self, search: PlanKind) -> Rfc8456 {
        let standby = self.standby.0.unwrap_or_default();
        Rfc8456 {
            interval: self.interval,
            rate: self.rate,
            flows: self.flows,
            switches: self.switches,
            standby: standby
                .split(',')
                .map(str::trim)
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect(),
            fail: self.fail.0,
            northbound: self.northbound.0,
            search,
        }
    }
}

impl ControllerDraft {
    fn into_config(self) -> Controller {
        Controller {
            address: self.address.0,
            process: self.process.0,
            onos_rest: self.onos_rest.0,
            onos_credentials: (self.onos_user, self.onos_password.value),
            onos_driver: self.onos_driver,
            onos_pipeconf: self.onos_pipeconf,
            onos_forget: self.onos_forget,
            netcfg_file: self.netcfg_file.0,
            faucet_file: self.faucet_file.0,
            list_file: self.list_file.0,
        }
    }
}

impl SwitchesDraft {
    fn into_config(self, ports: u16) -> Switches {
        Switches {
            count: self.count,
            first_id: self.first_id,
            ports,
            buffers: self.buffers,
            table_size: self.table_size,
            flow_tables: self.flow_tables,
            hosts: self.hosts,
            connect_rate: self.connect_rate,
            overrides: self.overrides.0,
        }
    }
}

impl TrafficDraft {
    fn into_config(self) -> Traffic {
        Traffic {
            mode: match self.mode {
                ModeName::Open => Mode::Open,
                ModeName::Closed => Mode::Closed { window: self.window, give_up: self.give_up },
                ModeName::Flood => Mode::Flood,
            },
            rate: self.rate,
            arrivals: self.arrivals,
            load: self.load,
            frame: self.frame,
            frame_bytes: self.frame_bytes,
            addresses: Addresses {
                mac: self.mac,
                ip: self.ip,
                port: self.port,
                known_destinations: self.known_destinations,
            },
            arp_first: self.arp_first,
            matching: self.matching,
            late_after: self.late_after,
            outstanding_limit: self.outstanding_limit,
        }
    }
}

impl TimingDraft {
    fn into_config(self, protocol: Protocol) -> Timing {
        let usual = match protocol {
            // P4Runtime controllers dial the switches, which may take a while.
            Protocol::P4Runtime => Duration::from_secs(60),
            Protocol::OpenFlow10 | Protocol::OpenFlow13 => Duration::from_secs(10),
        };
        Timing {
            connect_timeout: self.connect_timeout.0.unwrap_or(usual),
            allow_missing: self.allow_missing,
            settle: self.settle,
            warm_up: self.warm_up,
            measure: self.measure,
            drain: self.drain,
            start_stagger: self.start_stagger,
            sample: self.sample,
        }
    }
}

impl P4RuntimeDraft {
    fn into_config(self) -> P4Runtime {
        P4Runtime {
            listen: self.listen.0,
            advertise: self.advertise.0,
            first_port: self.first_port,
            passed_over: Vec::new(),
            ranks: Vec::new(),
            devices_per_port: self.devices_per_port,
            same_device_id: self.same_device_id,
            p4info: self.p4info.0,
            device_config: self.device_config.0,
            cookie: self.cookie,
            port_form: self.port_form,
            digest: self.digest,
            idle_table: self.idle_table,
            cpu_port: self.cpu_port,
        }
    }
}

impl TlsDraft {
    fn into_config(self) -> Tls {
        Tls {
            ca: self.ca.0,
            certificate: self.certificate.0,
            key: self.key.0,
            server_name: self.server_name.0,
            insecure: self.insecure,
        }
    }
}
