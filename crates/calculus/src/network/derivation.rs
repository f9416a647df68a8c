//! Derivations: the steps by which a bound was computed, so that people can check it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::arrival::LeftOver;
use super::cycles::KnownArrival;
use super::describe;
use super::elements::{FlowId, ServerId};
use super::model::Network;
use super::sets::Group;
use crate::{Curve, Extended};

/// The largest number of cross flows that a step of a derivation names.
const NAMED: usize = 8;

/// The steps by which a bound was derived, in the order of the path.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub struct Derivation {
    pub(crate) steps: Vec<Step>,
    /// The residual service curves of the path for the flow. Each of them is a service curve of the
    /// path.
    pub(crate) services: Vec<Curve>,
}

/// A step of the derivation of a bound.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Step {
    /// The joint arrival curve of some flows over a link at which a cyclic network is cut.
    Cut(KnownArrival),
    /// The arrival curve of all traffic of a server, its service curve, and the bounds that follow.
    Total {
        server: ServerId,
        arrival: Arc<Curve>,
        service: Curve,
        delay: Extended,
        backlog: Extended,
    },
    /// The residual service of one server for the flow.
    LeftOver(LeftOver),
    /// The residual service of several servers together for the flow. The cross traffic is given by
    /// its first server, its last server and its arrival curve.
    Tandem {
        servers: Vec<ServerId>,
        crossings: Vec<(ServerId, ServerId, Arc<Curve>)>,
        service: Curve,
    },
    /// The residual service of a server and of all servers after it, for the traffic that arrives
    /// from the servers before it. The flows in `cross` join the path at this server.
    Joining { server: ServerId, cross: Vec<FlowId>, arrival: Arc<Curve>, service: Curve },
    /// The residual service of the servers from `first` to `last` on a FIFO path. The cross traffic
    /// visits exactly these servers.
    Nested {
        first: ServerId,
        last: ServerId,
        cross: Vec<FlowId>,
        arrival: Arc<Curve>,
        service: Curve,
    },
    /// A linear program for the path: the flows that share parts of the path, the delay bounds of
    /// the servers, the size of the program, and whether the bound is its exact optimum.
    Program {
        crossings: Vec<(ServerId, ServerId, Vec<FlowId>, Arc<Curve>)>,
        delays: Vec<(ServerId, Extended)>,
        variables: usize,
        rows: usize,
        optimal: bool,
    },
}

/// The cross flows of a step: the first few, which the derivation names, and the number of all.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct CrossFlows {
    named: Vec<FlowId>,
    count: usize,
}

impl CrossFlows {
    pub(crate) fn of(flows: &Group) -> Self {
        Self { named: flows.iter().take(NAMED).collect(), count: flows.len() }
    }

    /// Returns the names of the first few flows, and the number of the others, as text.
    fn describe(&self, network: &Network) -> String {
        let names: Vec<&str> =
            self.named.iter().map(|id| network.flow(*id).name.as_str()).collect();
        match self.count.saturating_sub(self.named.len()) {
            0 => names.join(", "),
            more => format!("{} and {more} more", names.join(", ")),
        }
    }
}

impl Step {
    /// Adds the text of this step to `lines`. The network provides the names.
    fn add_to(&self, network: &Network, lines: &mut Vec<String>) {
        let server = |id: &ServerId| network.server(*id).name.as_str();
        match self {
            Self::Cut(known) => lines.push(format!(
                "cut from {} to {}: {} {} with {}",
                server(&known.link.from),
                server(&known.link.to),
                describe_flows(network, &known.flows),
                if known.flows.len() == 1 { "arrives" } else { "arrive together" },
                describe::curve(&known.arrival),
            )),
            Self::Total { server: at, arrival, service, delay, backlog } => {
                lines.push(format!(
                    "{}: arrivals {} against service {}: delay {}, backlog {}",
                    server(at),
                    describe::curve(arrival),
                    describe::curve(service),
                    describe::bound(delay),
                    describe::bound(backlog),
                ));
            }
            Self::LeftOver(left) if left.cross.count == 0 => lines.push(format!(
                "{}: no cross traffic, service {}",
                server(&left.server),
                describe::curve(&left.service)
            )),
            Self::LeftOver(left) => lines.push(format!(
                "{}: cross traffic {} arrives with {}, left over {}",
                server(&left.server),
                left.cross.describe(network),
                describe::curve(&left.arrival),
                describe::curve(&left.service),
            )),
            Self::Tandem { servers, crossings, service } => {
                let names: Vec<&str> = servers.iter().map(server).collect();
                for (from, to, arrival) in crossings {
                    let (from, to) = (server(from), server(to));
                    let part = if from == to { from.to_owned() } else { format!("{from} to {to}") };
                    lines.push(format!(
                        "{part}: cross traffic arrives with {}",
                        describe::curve(arrival)
                    ));
                }
                lines.push(format!("{}: left over {}", names.join(", "), describe::curve(service)));
            }
            Self::Program { .. } => self.add_program(network, lines),
            Self::Nested { first, last, cross, arrival, service } => lines.push(format!(
                "{} to {}: {} with {} leave over {}",
                server(first),
                server(last),
                describe_flows(network, cross),
                describe::curve(arrival),
                describe::curve(service),
            )),
            Self::Joining { server: at, cross, arrival, service } => lines.push(format!(
                "{}: {} with {}; from here to the end {}",
                server(at),
                if cross.is_empty() {
                    "nothing joins".to_owned()
                } else {
                    describe_flows(network, cross)
                },
                describe::curve(arrival),
                describe::curve(service),
            )),
        }
    }

    /// Adds the text of a linear program to `lines`, if the step is one.
    fn add_program(&self, network: &Network, lines: &mut Vec<String>) {
        let Self::Program { crossings, delays, variables, rows, optimal } = self else { return };
        let server = |id: &ServerId| network.server(*id).name.as_str();
        for (from, to, ids, arrival) in crossings {
            let (from, to) = (server(from), server(to));
            let part = if from == to { from.to_owned() } else { format!("{from} to {to}") };
            lines.push(format!(
                "{part}: {} with {}",
                describe_flows(network, ids),
                describe::curve(arrival)
            ));
        }
        let all: Vec<String> = delays
            .iter()
            .map(|(at, delay)| format!("{} {}", server(at), describe::bound(delay)))
            .collect();
        if !all.is_empty() {
            lines.push(format!("delays by total flow analysis: {}", all.join(", ")));
        }
        let how = if *optimal {
            "its optimum, exactly"
        } else {
            "proven by rounded multipliers, at or slightly above its optimum"
        };
        lines
            .push(format!("linear program of {variables} variables and {rows} constraints: {how}"));
    }
}

/// Returns the names of the first few flows, and the number of the others, as text.
fn describe_flows(network: &Network, ids: &[FlowId]) -> String {
    let named = ids.iter().take(NAMED).copied().collect();
    CrossFlows { named, count: ids.len() }.describe(network)
}

impl Derivation {
    /// Returns the derivation as lines of text, one or more for each step. The network provides the
    /// names.
    #[must_use]
    pub fn lines(&self, network: &Network) -> Vec<String> {
        let mut lines = self.ports(network);
        for step in &self.steps {
            step.add_to(network, &mut lines);
        }
        let steps = self.steps.iter().filter(|step| !matches!(step, Step::Cut(_)));
        if steps.count() > 1 {
            for service in &self.services {
                lines.push(format!("whole path: left over {}", describe::curve(service)));
            }
        }
        lines
    }

    /// Returns one line for each queue of a port on the path, with the service of its scheduler.
    fn ports(&self, network: &Network) -> Vec<String> {
        let mut servers = Vec::new();
        for step in &self.steps {
            match step {
                Step::Cut(_) => {}
                Step::Total { server, .. } | Step::Joining { server, .. } => servers.push(*server),
                Step::LeftOver(left) => servers.push(left.server),
                Step::Tandem { servers: tandem, .. } => servers.extend(tandem),
                Step::Nested { first, last, .. } => servers.extend([*first, *last]),
                Step::Program { delays, .. } => servers.extend(delays.iter().map(|(at, _)| at)),
            }
        }
        let mut seen = BTreeSet::new();
        servers.retain(|server| seen.insert(*server));
        let line = |server: ServerId| {
            let (port, classes) = network.port_at(server)?;
            let model = network.server(server);
            let classes: Vec<String> = classes.iter().map(ToString::to_string).collect();
            let shaping = model.shaping.as_ref().map_or_else(String::new, |shaping| {
                format!(", lets out {}", describe::curve(shaping))
            });
            Some(format!(
                "{}: {} port of rate {} gives class {} {}{shaping}",
                model.name,
                port.scheduler,
                describe::number(&port.rate),
                classes.join(" and "),
                describe::curve(&model.service),
            ))
        };
        servers.into_iter().filter_map(line).collect()
    }

    /// Returns the residual service curves of the path for the flow, each of which is a service
    /// curve of the path. The list is empty for analyses that add up the delays of servers.
    #[must_use]
    pub fn services(&self) -> &[Curve] {
        &self.services
    }
}
