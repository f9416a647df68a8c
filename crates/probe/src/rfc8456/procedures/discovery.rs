//! The test of the network topology discovery time (RFC 8456, section 5.1.1).
//!
//! The measured time begins with the controller's first discovery message. It ends with the last
//! discovery message that returned to the controller before it knew the whole topology. If the
//! northbound interface can be queried, it shows when the controller knows the topology. Otherwise,
//! the time ends when a discovery frame has crossed every link in both directions and returned as a
//! packet-in, which is the earliest moment at which the controller can know all links.

use std::collections::BTreeSet;

use super::{SAME_ANSWERS, Terms, seconds};
use crate::metrics::Unit;
use crate::rfc8456::bench::{Measured, Procedure};
use crate::rfc8456::seen::{Census, Order, Seen, What};
use crate::topology::Topology;

/// The state of the test of the topology discovery time.
pub(in crate::rfc8456) struct TopologyDiscovery {
    terms: Terms,
    switches: u32,
    /// The number of switches without links. Only a northbound interface can show whether the
    /// controller knows such switches.
    unlinked: u32,
    /// The number of ends of links in the topology, which is twice the number of links.
    ends: usize,
    /// The ends of links at which no discovery frame has arrived yet.
    missing: BTreeSet<(u32, u16)>,
    /// The numbers of switches and links that the controller's northbound interface must report
    /// once the topology is known.
    census: Census,
    deadline: u64,
    /// The time at which the northbound interface is queried next.
    query_at: u64,
    /// The last answer of the northbound interface, and the number of consecutive queries that
    /// returned it.
    answer: Option<(Census, u32)>,
    /// The time of the first discovery message (`first`) and of the last one (`last`), or `None`
    /// before there is any.
    first: Option<u64>,
    last: u64,
    /// The number of discovery messages that the controller has sent.
    messages: u64,
    /// The last error of a connection or of a query of the northbound interface.
    refused: Option<String>,
    measured: Option<Measured>,
}

impl TopologyDiscovery {
    pub(in crate::rfc8456) fn new(terms: Terms, topology: &Topology) -> Self {
        let switches = u32::try_from(topology.switch_count()).unwrap_or(u32::MAX);
        let missing: BTreeSet<_> = topology
            .links()
            .flat_map(|link| [link.a, link.b])
            .map(|(switch, port)| (switch.0, port.0))
            .collect();
        let census = Census { switches: switches.into(), links: missing.len() as u64 };
        Self {
            terms,
            switches,
            unlinked: switches.saturating_sub(topology.linked_switch_count()),
            ends: missing.len(),
            missing,
            census,
            deadline: u64::MAX,
            query_at: u64::MAX,
            answer: None,
            first: None,
            last: 0,
            messages: 0,
            refused: None,
            measured: None,
        }
    }

    fn complete(&mut self) {
        let first = self.first.unwrap_or(self.last);
        let value = seconds(self.last.saturating_sub(first));
        let mut measured = Measured::of(value)
            .with("links", (self.ends / 2) as f64, Unit::Count)
            .with("discovery messages", self.messages as f64, Unit::Count);
        if self.unlinked > 0 {
            let unlinked = f64::from(self.unlinked);
            measured = measured.with("switches without links", unlinked, Unit::Count);
        }
        self.measured = Some(measured);
    }

    fn incomplete(&mut self, why: &str) {
        let found = self.ends - self.missing.len();
        let error = self.refused.as_ref().map_or_else(String::new, |error| format!("; {error}"));
        let mut measured = Measured::failed(format!(
            "{why}: discovery frames crossed {found} of {} link directions{error}",
            self.ends
        ));
        measured.figures.push(("link directions", found as f64, Unit::Count));
        self.measured = Some(measured);
    }
}

impl Procedure for TopologyDiscovery {
    fn begins_unconnected(&self) -> bool {
        true
    }

    fn begin(&mut self, now: u64, orders: &mut Vec<Order>) {
        if self.ends == 0 {
            self.measured = Some(Measured::failed("the topology has no links; see --topology"));
            return;
        }
        self.deadline = now.saturating_add(self.terms.patience);
        if self.terms.northbound {
            self.query_at = now.saturating_add(self.terms.interval);
        }
        orders.extend((0..self.switches).map(|switch| Order::Connect { switch }));
    }

    fn see(&mut self, seen: &Seen, _: &mut Vec<Order>) {
        match &seen.what {
            What::DiscoverySent { .. } => {
                self.first.get_or_insert(seen.at);
            }
            What::Discovered { switch, port } => {
                self.messages += 1;
                self.last = seen.at;
                self.missing.remove(&(*switch, *port));
                if self.missing.is_empty() && !self.terms.northbound {
                    self.complete();
                }
            }
            What::Lost { reason, .. } => self.refused = Some(reason.clone()),
            What::Topology(Ok(census)) if *census == self.census => self.complete(),
            What::Topology(Ok(census)) => {
                let times = match self.answer {
                    Some((before, times)) if before == *census => times + 1,
                    _ => 1,
                };
                self.answer = Some((*census, times));
                // An answer without links means that discovery has not begun.
                if times >= SAME_ANSWERS && census.links > 0 {
                    let why = format!(
                        "the northbound interface said {times} times that there are {} switches and {} \
                         link directions, of {} and {}",
                        census.switches, census.links, self.census.switches, self.census.links
                    );
                    self.incomplete(&why);
                }
            }
            What::Topology(Err(error)) => self.refused = Some(error.clone()),
            _ => {}
        }
    }

    fn wake(&mut self, now: u64, orders: &mut Vec<Order>) {
        if now >= self.deadline {
            self.incomplete("the topology was not discovered in time");
        } else if now >= self.query_at {
            self.query_at = now.saturating_add(self.terms.interval);
            orders.push(Order::AskTopology);
        }
    }

    fn due(&self) -> u64 {
        self.deadline.min(self.query_at)
    }

    fn measured(&self) -> Option<Measured> {
        self.measured.clone()
    }
}
