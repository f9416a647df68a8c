//! Reasons why a flow has no finite bound.
//!
//! The cross traffic at the servers of a flow's path has passed other servers, so the reason may
//! lie at any server from which data can reach the path: an overloaded server, a cycle of servers
//! in which delays grow from round to round, a server that is loaded to exactly 100 % and may never
//! catch up with a burst, or an unbounded arrival curve.

use std::collections::BTreeMap;
use std::fmt;

use super::elements::{FlowId, ServerId};
use super::model::Network;
use super::stability::Load;
use crate::{Extended, Rational};

/// The largest number of names in the text of a reason.
const NAMED: usize = 5;

/// The reason why a flow has no finite bound.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The servers in the list are overloaded: their long-term arrival rates exceed their service
    /// rates.
    Overloaded(Vec<ServerId>),
    /// The arrival curves of the flows in the list are infinite, so that these flows may send any
    /// amount instantaneously.
    Unlimited(Vec<FlowId>),
    /// The servers in the list are exactly full: their long-term arrival rates equal their service
    /// rates.
    Full(Vec<ServerId>),
    /// The servers in the list form a cycle. Data pass them in this order, and go from the last one
    /// to the first one again.
    Cycle(Vec<ServerId>),
    /// None of the other reasons applies. This analysis has no bound, but another one may have.
    Analysis,
}

impl Network {
    /// Returns the reasons why some flows have no finite bound, each with the flows to which it
    /// applies. All of `flows` must have infinite bounds.
    #[must_use]
    pub fn unbounded(&self, flows: &[FlowId]) -> Vec<(Reason, Vec<FlowId>)> {
        let loads = self.loads();
        let mut graph = Graph {
            predecessors: vec![Vec::new(); loads.len()],
            successors: vec![Vec::new(); loads.len()],
        };
        for (from, to) in self.hops() {
            graph.predecessors[to.index()].push(from);
            graph.successors[from.index()].push(to);
        }
        // Only servers from which data can reach the last server of the path matter, so flows with
        // the same last server have the same reason.
        let mut known = BTreeMap::<Option<ServerId>, usize>::new();
        let mut found: Vec<(Reason, Vec<FlowId>)> = Vec::new();
        for flow in flows {
            let last = self.flow(*flow).path.last().copied();
            let place = match known.get(&last) {
                Some(place) => *place,
                None => {
                    let reason = self.reason(last, &loads, &graph);
                    let same = found.iter().position(|(other, _)| *other == reason);
                    let place = same.unwrap_or_else(|| {
                        found.push((reason, Vec::new()));
                        found.len() - 1
                    });
                    known.insert(last, place);
                    place
                }
            };
            found[place].1.push(*flow);
        }
        found
    }

    /// Returns the reason why the servers up to `last` have no finite bound.
    fn reason(&self, last: Option<ServerId>, loads: &[Load], graph: &Graph) -> Reason {
        let before = graph.before(last);
        let servers_where = |is: fn(&Load) -> bool| -> Vec<ServerId> {
            let loads = before.iter().filter_map(|server| loads.get(server.index()));
            loads.filter(|load| is(load)).map(|load| load.server).collect()
        };
        let mut unlimited: Vec<FlowId> = before
            .iter()
            .flat_map(|server| self.flows_at(*server))
            .copied()
            .filter(|id| !self.flow(*id).arrival.right_limit_at(&Rational::ZERO).is_finite())
            .collect();
        unlimited.sort_unstable();
        unlimited.dedup();
        if !unlimited.is_empty() {
            return Reason::Unlimited(unlimited);
        }
        let over = servers_where(Load::is_over);
        if !over.is_empty() {
            return Reason::Overloaded(over);
        }
        if let Some(cycle) = graph.cycle(&before) {
            return Reason::Cycle(cycle);
        }
        let full = servers_where(|load| {
            load.arrival_rate == load.service_rate && load.arrival_rate > Extended::ZERO
        });
        if full.is_empty() { Reason::Analysis } else { Reason::Full(full) }
    }
}

/// The servers that flows visit directly before each server, and those directly after it.
struct Graph {
    predecessors: Vec<Vec<ServerId>>,
    successors: Vec<Vec<ServerId>>,
}

impl Graph {
    /// Returns the server `last` and all servers from which data can reach it, in ascending order.
    fn before(&self, last: Option<ServerId>) -> Vec<ServerId> {
        let mut seen = vec![false; self.predecessors.len()];
        let mut open: Vec<ServerId> = last.into_iter().collect();
        let mut before = Vec::new();
        while let Some(server) = open.pop() {
            if !std::mem::replace(&mut seen[server.index()], true) {
                before.push(server);
                open.extend(&self.predecessors[server.index()]);
            }
        }
        before.sort_unstable();
        before
    }

    /// Returns the servers of a cycle among some servers, in the order in which data pass them. The
    /// servers must include all their predecessors. Returns `None` if they have no cycle.
    fn cycle(&self, among: &[ServerId]) -> Option<Vec<ServerId>> {
        let mut left = vec![false; self.predecessors.len()];
        let mut incoming = vec![0; self.predecessors.len()];
        for server in among {
            left[server.index()] = true;
            incoming[server.index()] = self.predecessors[server.index()].len();
        }
        // A server without remaining predecessors is not on a cycle.
        let mut open: Vec<ServerId> =
            among.iter().copied().filter(|server| incoming[server.index()] == 0).collect();
        while let Some(server) = open.pop() {
            left[server.index()] = false;
            for next in self.successors[server.index()].iter().filter(|next| left[next.index()]) {
                incoming[next.index()] -= 1;
                if incoming[next.index()] == 0 {
                    open.push(*next);
                }
            }
        }
        // Every remaining server has a remaining predecessor, so walking backwards repeats a
        // server.
        let mut place = vec![None; left.len()];
        let mut walk = Vec::new();
        let mut at = *among.iter().find(|server| left[server.index()])?;
        while place[at.index()].is_none() {
            place[at.index()] = Some(walk.len());
            walk.push(at);
            at = *self.predecessors[at.index()].iter().find(|earlier| left[earlier.index()])?;
        }
        let mut cycle = walk.split_off(place[at.index()]?);
        cycle.reverse();
        // Cycles start at the server with the lowest id, so that equal cycles are equal reasons.
        let least = cycle.iter().position(|server| Some(server) == cycle.iter().min());
        cycle.rotate_left(least.unwrap_or(0));
        Some(cycle)
    }
}

impl Reason {
    /// Returns the reason as text for a sentence. The network provides the names.
    #[must_use]
    pub fn describe<'a>(&'a self, network: &'a Network) -> impl fmt::Display + 'a {
        Described { reason: self, network }
    }
}

/// A reason whose text uses the names of a network.
struct Described<'a> {
    reason: &'a Reason,
    network: &'a Network,
}

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = |id: &ServerId| self.network.server(*id).name.clone();
        let servers = |ids: &[ServerId]| names(ids.iter().map(server));
        let is = |count: usize| if count == 1 { "is" } else { "are" };
        match self.reason {
            Reason::Overloaded(ids) => write!(f, "{} {} overloaded", servers(ids), is(ids.len())),
            Reason::Unlimited(ids) => {
                let flows = names(ids.iter().map(|id| self.network.flow(*id).name.clone()));
                write!(f, "the arrival curve of {flows} is infinite")
            }
            Reason::Full(ids) => write!(
                f,
                "{} {} exactly full: data that waits there once may wait for ever",
                servers(ids),
                is(ids.len())
            ),
            Reason::Cycle(ids) => {
                let mut around: Vec<String> = ids.iter().map(server).collect();
                around.extend(ids.first().map(server));
                write!(
                    f,
                    "the servers {} feed each other, and the delays there grow from round to round",
                    around.join(" -> ")
                )
            }
            Reason::Analysis => f.write_str("this analysis has no bound; another one may"),
        }
    }
}

/// Returns a list of names as text for a sentence. If there are many names, only the first few are
/// listed.
fn names(mut names: impl ExactSizeIterator<Item = String>) -> String {
    let count = names.len();
    let first: Vec<String> = names.by_ref().take(NAMED).map(|name| format!("'{name}'")).collect();
    match count.saturating_sub(NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Curve;
    use crate::network::{Flow, NetworkBuilder, Server};

    /// Builds a network of servers of rate 10, with flows given by their rates and paths.
    fn network(servers: usize, flows: &[(i64, &[usize])]) -> Network {
        let mut builder = NetworkBuilder::new("test");
        let service = Curve::rate_latency(10, 1).expect("a curve");
        let ids: Vec<ServerId> = (0..servers)
            .map(|index| builder.server(Server::new(format!("s{index}"), service.clone())))
            .collect();
        for (index, (rate, path)) in flows.iter().enumerate() {
            let path = path.iter().map(|server| ids[*server]).collect();
            let arrival = Curve::token_bucket(1, *rate).expect("a curve");
            builder.flow(Flow::new(format!("f{index}"), path, arrival));
        }
        builder.build().expect("a network")
    }

    fn descriptions(network: &Network) -> Vec<String> {
        let flows: Vec<FlowId> = network.flows().map(|(id, _)| id).collect();
        let reasons = network.unbounded(&flows);
        let line = |(reason, flows): &(Reason, Vec<FlowId>)| {
            format!("{} {}", flows.len(), reason.describe(network))
        };
        reasons.iter().map(line).collect()
    }

    #[test]
    fn the_reason_may_lie_before_the_path() {
        // f0 passes s0, which is overloaded; f1 shares s1 with f0; f2 shares s2 with f1; f3 shares
        // no server.
        let network = network(4, &[(11, &[0, 1]), (0, &[1, 2]), (1, &[2]), (10, &[3]), (1, &[0])]);
        assert_eq!(
            descriptions(&network),
            [
                // The output of an overloaded server may be as much as its input, so s1 counts as
                // overloaded, too.
                "3 's0', 's1' are overloaded",
                "1 's3' is exactly full: data that waits there once may wait for ever",
                "1 's0' is overloaded",
            ]
        );
    }

    #[test]
    fn a_cycle_is_named_once_in_the_order_of_its_servers() {
        let network =
            network(5, &[(1, &[3, 1, 2]), (1, &[2, 3]), (1, &[4]), (1, &[0, 3]), (1, &[2, 4])]);
        assert_eq!(
            descriptions(&network),
            ["5 the servers s1 -> s2 -> s3 -> s1 feed each other, and the delays there grow \
                 from round to round"]
        );
    }

    #[test]
    fn without_a_reason_the_analysis_is_the_reason() {
        assert_eq!(
            descriptions(&network(1, &[(1, &[0])])),
            ["1 this analysis has no bound; another one may"]
        );
        let mut builder = NetworkBuilder::new("infinite");
        let server = builder.server(Server::new("s", Curve::rate_latency(1, 0).expect("a curve")));
        let all = Curve::burst_delay(0).expect("a curve");
        builder.flow(Flow::new("f", vec![server], all));
        let network = builder.build().expect("a network");
        assert_eq!(descriptions(&network), ["1 the arrival curve of 'f' is infinite"]);
    }
}
