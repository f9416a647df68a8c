//! Measures how a group distributes flows over its members, and compares that with the members'
//! weights.
//!
//! Groups are those of P4Runtime action selectors (specification 1.5, section 9.2.2) and the select
//! groups of OpenFlow 1.3.5 (section 5.6.1). Each member sends packets out of a different port,
//! which shows the member that a packet met. Each of the random flows is sent twice, as one packet
//! each time, to see whether a flow stays with its member.

mod openflow;
mod p4runtime;
mod shares;

use std::sync::atomic::AtomicBool;

use crate::error::DutError;
use crate::live::Wire;
use crate::stream::{Paced, PacketStream, Passage, Seen};

pub use self::p4runtime::{Member, Traffic};
pub use self::shares::{Assessment, Share, TOLERANCE};

pub(crate) use self::openflow::over_openflow;
pub(crate) use self::p4runtime::over_p4runtime;

/// The settings of the test of groups.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The number of random flows.
    pub flows: usize,
    /// The rate at which packets are sent, in packets per second.
    pub packets_per_second: f64,
    /// The seed from which the random flows are generated. It is used for OpenFlow switches only.
    pub seed: u64,
    /// The group and the flows for a P4Runtime switch, or the reason why there are none. An
    /// OpenFlow switch needs only ports.
    pub traffic: Option<Result<Traffic, String>>,
}

/// The numbers of flows that the members of a group received.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// The name of the table that uses the group, or the kind of the group.
    pub name: String,
    /// The port of each member.
    pub ports: Vec<u32>,
    /// The weight of each member.
    pub weights: Vec<u32>,
    /// For each member, the number of flows whose packets left by its port.
    pub counts: Vec<u64>,
    /// The number of flows whose two packets met different members.
    pub changed: u64,
    /// The number of flows of which a packet was lost, or left by a port of no member.
    pub lost: u64,
}

impl Distribution {
    /// Adds a flow. `own` has the member that each of its packets met, or `None` for a packet that
    /// was lost or left by a port of no member. A flow is left out if the interface did not send
    /// both of its packets, since it says nothing about the switch then.
    fn add(&mut self, own: &[Option<usize>]) {
        match own {
            [] | [_] => {}
            [Some(first), Some(second)] if first == second => {
                self.counts.iter_mut().skip(*first).take(1).for_each(|count| *count += 1);
            }
            [Some(_), Some(_)] => self.changed += 1,
            _ => self.lost += 1,
        }
    }

    /// Compares the share of flows that each member received with its weight. Returns `None` if no
    /// flow arrived.
    #[must_use]
    pub fn assess(&self) -> Option<Assessment> {
        Assessment::of(&self.counts, &self.weights)
    }
}

/// The measured groups of a switch.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The distribution of flows over each measured group.
    pub groups: Vec<Distribution>,
    /// The reasons why groups were not measured, as sentences.
    pub reasons: Vec<String>,
}

/// The ports and flows with which a measurement is made.
pub(crate) struct Offering<'a> {
    pub(crate) wires: &'a [Wire],
    pub(crate) settings: &'a Settings,
}

/// A group whose members are known, and the packets that are sent to it.
struct Subject<'a> {
    name: String,
    ports: Vec<u32>,
    weights: Vec<u32>,
    /// The port by which packets enter the switch.
    ingress: u32,
    /// A packet of each flow.
    packets: &'a [Vec<u8>],
}

/// Sends one packet of each flow, and then all of them a second time. Returns `None` if the
/// measurement was stopped.
async fn distribute(
    stream: &mut PacketStream,
    subject: Subject<'_>,
    packets_per_second: f64,
    tend: &mut dyn FnMut() -> Result<(), DutError>,
    stop: &AtomicBool,
) -> Result<Option<Distribution>, DutError> {
    let class = |_: usize, port: u32, _: &[u8]| {
        subject.ports.iter().position(|one| *one == port).map_or(Seen::Astray, Seen::As)
    };
    let flows = subject.packets.len();
    let paced = Paced {
        port: subject.ingress,
        packets: subject.packets,
        rate: packets_per_second,
        count: 2 * flows,
        class: &class,
    };
    let passages = stream.run(&paced, tend, stop).await?;
    if stop.load(std::sync::atomic::Ordering::Relaxed) {
        return Ok(None);
    }
    let mut members: Vec<Vec<Option<usize>>> = vec![Vec::new(); flows];
    for Passage { packet, arrival, .. } in passages {
        if let Some(own) = members.get_mut(packet) {
            own.push(arrival.and_then(|arrival| arrival.class));
        }
    }
    let mut found = Distribution {
        name: subject.name,
        counts: vec![0; subject.ports.len()],
        ports: subject.ports,
        weights: subject.weights,
        changed: 0,
        lost: 0,
    };
    members.iter().for_each(|own| found.add(own));
    Ok(Some(found))
}

#[cfg(test)]
mod tests;
