//! Sets up and runs one trial: the network, the procedure of the test, and the edge for the control
//! protocol.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ::p4runtime::session::Rehearsal;

use super::Test;
use super::bench::{Bench, Measured, Preparation, Procedure};
use super::edge::{
    Announce, EdgeContext, Events, Kind, OpenFlowDevice, OpenFlowEdge, P4RuntimeDevice,
    P4RuntimeEdge, Programs,
};
use super::emulator::Emulator;
use super::northbound::Northbound;
use super::procedures::{
    Disturbance, Disturbed, Failover, FlowCapacity, MessageTime, PathRate, PathTime,
    Reprovisioning, Sessions, Terms, TopologyChange, TopologyDiscovery,
};
use super::scene::Scene;
use crate::config::{Config, FlowTables, Protocol, TopologySource};
use crate::engine::{nanos, p4runtime};
use crate::run::RunError;
use crate::topology::{Topology, ports_for_links};
use crate::traffic::{Hosts, PathFrames, RunKey};
use crate::trial::{TrialError, dialler};

/// The parameters in which trials differ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) test: Test,
    pub(super) switches: u32,
    pub(super) seed: u64,
    /// The number of the trial in the run, counted from 1.
    pub(super) trial: u64,
    pub(super) disturbance: Option<Disturbance>,
}

/// Runs a trial. `announce` announces the switches to the controller, if this must be done in every
/// trial.
///
/// # Errors
///
/// Returns an error if the trial cannot be set up. If the controller does not respond as required,
/// the result says so, and no error is returned.
pub(super) fn run(
    config: &Config,
    setting: Setting,
    interrupt: &AtomicBool,
    rehearsal: Option<&Arc<dyn Rehearsal>>,
    announce: Option<Announce<'_>>,
) -> Result<Measured, RunError> {
    let plan = Plan::new(config, setting)?;
    let northbound = Northbound::of(config).map_err(TrialError::Engine)?;
    let procedure = plan.procedure(config, northbound.is_some());
    let context = EdgeContext::new(northbound, config.rfc8456.fail.clone(), interrupt);
    match config.protocol {
        Protocol::OpenFlow10 | Protocol::OpenFlow13 => {
            let addresses = std::iter::once(&config.controller.address);
            let standby = config.rfc8456.standby.iter();
            let standby = standby.filter(|_| setting.test == Test::FailoverTime);
            let diallers = addresses
                .chain(standby)
                .map(|address| dialler(address, config.tls.as_ref()))
                .collect::<Result<Vec<_>, _>>()?;
            let one_at_a_time = config.protocol == Protocol::OpenFlow10;
            let lines = if one_at_a_time { 1 } else { diallers.len() };
            let devices = (0..setting.switches)
                .map(|index| OpenFlowDevice::new(&plan.config, index, plan.tables, lines, plan.key))
                .collect();
            let bench = Bench::new(plan.emulator(devices), procedure, plan.preparation(lines));
            let failed = |error: &dyn std::fmt::Display| TrialError::Engine(error.to_string());
            let edge = OpenFlowEdge::new(bench, context, diallers, one_at_a_time)
                .map_err(|error| failed(&error))?;
            if let Some(announce) = announce {
                announce()?;
            }
            Ok(edge.run().map_err(|error| failed(&error))?)
        }
        Protocol::P4Runtime => over_p4runtime(&plan, procedure, context, rehearsal, announce),
    }
}

fn over_p4runtime(
    plan: &Plan,
    procedure: Box<dyn Procedure>,
    context: EdgeContext<'_>,
    rehearsal: Option<&Arc<dyn Rehearsal>>,
    announce: Option<Announce<'_>>,
) -> Result<Measured, RunError> {
    let failed = |error: &dyn std::fmt::Display| TrialError::Engine(error.to_string());
    let kind = Kind {
        config: &plan.config,
        registry: Arc::default(),
        programs: Programs::default(),
        rehearsal: rehearsal.cloned(),
        preloaded: p4runtime::preloaded(&plan.config).map_err(|error| failed(&error))?,
        bypass: plan.tables == FlowTables::Bypass,
    };
    let addresses = p4runtime::addresses(&plan.config);
    let events = Events::new(context.clock);
    let devices = (0..).zip(&addresses);
    let devices = devices
        .map(|(index, address)| P4RuntimeDevice::new(&kind, index, address, &events))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| failed(&error))?;
    // Standby controllers dial as well, and election ids decide which session counts.
    let bench = Bench::new(plan.emulator(devices), procedure, plan.preparation(1));
    let tls = p4runtime::server_tls(&plan.config).map_err(|error| failed(&error))?;
    let edge = P4RuntimeEdge::new(bench, context, plan.key, tls, events, addresses);
    Ok(edge.run(announce)?)
}

/// The emulated network of a trial, and the trial's parameters.
struct Plan {
    setting: Setting,
    /// The configuration, with the number of switches and ports of this trial.
    config: Config,
    key: RunKey,
    topology: Topology,
    hosts: Hosts,
    tables: FlowTables,
}

impl Plan {
    fn new(config: &Config, setting: Setting) -> Result<Self, RunError> {
        let mut config = config.clone();
        config.switches.count = setting.switches;
        let source = match setting.test {
            // With links, the controller would discover them while sessions are opened.
            Test::ControlSessions => TopologySource::None,
            _ => config.topology.clone(),
        };
        let linked = ports_for_links(&source, setting.switches) + config.switches.hosts as usize;
        let linked = u16::try_from(linked).unwrap_or(u16::MAX);
        config.switches.ports = config.switches.ports.max(linked);
        let topology = Topology::build(&source, setting.switches, config.switches.ports)
            .map_err(TrialError::Topology)?;
        let hosts = Hosts::new(&config.switches, &topology).map_err(TrialError::Hosts)?;
        let tables = match setting.test {
            // Every packet of this test must become a packet-in, whatever flow rules there are.
            Test::MessageProcessingTime => FlowTables::Bypass,
            _ => FlowTables::Run,
        };
        let key = RunKey::new(setting.seed);
        Ok(Self { setting, config, key, topology, hosts, tables })
    }

    fn emulator<D: super::emulator::Device>(&self, devices: Vec<D>) -> Emulator<D> {
        Emulator::new(devices, self.topology.clone(), self.hosts.clone(), self.key)
    }

    /// Returns the least time in nanoseconds between the connection attempts of two switches. It is
    /// 0 if the controller connects to the switches, if connecting is part of the measured time, or
    /// if the procedure itself spreads the attempts.
    fn connect_spacing(&self) -> u64 {
        match (self.setting.test, self.config.protocol) {
            (Test::TopologyDiscoveryTime | Test::ControlSessions, _) | (_, Protocol::P4Runtime) => {
                0
            }
            _ => (1e9 / self.config.switches.connect_rate) as u64,
        }
    }

    /// Returns the time in nanoseconds within which all switches must connect and all links be
    /// discovered.
    fn patience(&self) -> u64 {
        let connecting = self.connect_spacing().saturating_mul(self.setting.switches.into());
        nanos(self.config.timing.connect_timeout).saturating_add(connecting)
    }

    fn preparation(&self, controllers: usize) -> Preparation {
        Preparation {
            controllers,
            patience: self.patience(),
            connect_spacing: self.connect_spacing(),
            settle: nanos(self.config.timing.settle),
            announces: self.config.traffic.arp_first,
        }
    }

    /// Creates the procedure of the test.
    fn procedure(&self, config: &Config, northbound: bool) -> Box<dyn Procedure> {
        let (timing, rfc8456) = (&config.timing, &config.rfc8456);
        let second = Duration::from_secs(1);
        let terms = Terms {
            duration: nanos(timing.measure),
            interval: nanos(rfc8456.interval),
            patience: nanos(config.traffic.late_after.max(second)),
            spacing: (1e9 / rfc8456.rate) as u64,
            most_flows: rfc8456.flows,
            northbound,
        };
        let patient = Terms { patience: nanos(timing.connect_timeout), ..terms };
        let frames = PathFrames::new(config.traffic.frame_bytes, self.key);
        let scene = Scene::new(self.hosts.clone(), self.topology.clone(), frames);
        let own: Box<dyn Procedure> = match self.setting.test {
            Test::TopologyDiscoveryTime | Test::DiscoverySize => {
                let terms = Terms { patience: self.patience(), ..patient };
                Box::new(TopologyDiscovery::new(terms, &self.topology))
            }
            Test::MessageProcessingTime | Test::MessageProcessingRate => {
                Box::new(MessageTime::new(terms, scene.clone().with_all_switches()))
            }
            Test::ReactivePathTime | Test::ExceptionHandling | Test::DenialOfService => {
                Box::new(PathTime::new(terms, scene.clone(), false))
            }
            Test::ProactivePathTime => Box::new(PathTime::new(terms, scene.clone(), true)),
            Test::ReactivePathRate => Box::new(PathRate::new(terms, scene.clone(), false)),
            Test::ProactivePathRate => Box::new(PathRate::new(terms, scene.clone(), true)),
            Test::TopologyChangeTime => {
                Box::new(TopologyChange::new(patient, &self.topology, self.setting.trial))
            }
            Test::ControlSessions => {
                let spacing = (1e9 / config.switches.connect_rate) as u64;
                let terms = Terms { spacing, ..patient };
                Box::new(Sessions::new(terms, self.setting.switches))
            }
            Test::ForwardingTable => Box::new(FlowCapacity::new(terms, scene.clone())),
            Test::FailoverTime => Box::new(Failover::new(patient, scene.clone())),
            Test::ReprovisioningTime => Box::new(Reprovisioning::new(patient, scene.clone())),
        };
        match self.setting.disturbance {
            Some(disturbance) => Box::new(Disturbed::new(own, disturbance, scene)),
            None => own,
        }
    }
}
