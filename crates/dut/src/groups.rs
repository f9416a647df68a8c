//! Compares how a group distributes flows over its members with the weights of the members.
//!
//! Groups are those of P4Runtime action selectors (specification 1.5, section 9.2.2) and the select
//! groups of OpenFlow 1.3.5 (section 5.6.1). Each member sends packets out of a port of its own.
//! Random flows are sent twice, one packet each time, so that a flow which changes its member
//! shows.

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

/// The settings of the test.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The number of random flows.
    pub flows: usize,
    /// The packets per second.
    pub packets_per_second: f64,
    /// The seed of the random flows of an OpenFlow switch.
    pub seed: u64,
    /// The group and the flows of a P4Runtime switch, or the reason why there are none. An OpenFlow
    /// switch needs only ports.
    pub traffic: Option<Result<Traffic, String>>,
}

/// The members that flows met.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// The name of the group's table, or the kind of the group.
    pub name: String,
    /// The ports of the members, in their order.
    pub ports: Vec<u32>,
    /// The weights of the members.
    pub weights: Vec<u32>,
    /// The number of flows whose packets left by the port of each member.
    pub counts: Vec<u64>,
    /// The number of flows whose packets left by the ports of different members.
    pub changed: u64,
    /// The number of flows of which a packet was lost, or left by no member's port.
    pub lost: u64,
}

impl Distribution {
    /// Compares the shares of the members with their weights. Returns `None` if no flow arrived.
    #[must_use]
    pub fn assess(&self) -> Option<Assessment> {
        Assessment::of(&self.counts, &self.weights)
    }
}

/// The measured groups of a switch.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The groups.
    pub groups: Vec<Distribution>,
    /// The reasons why groups were not measured, as sentences.
    pub reasons: Vec<String>,
}

/// The ports and flows of a measurement.
pub(crate) struct Offering<'a> {
    pub(crate) wires: &'a [Wire],
    pub(crate) settings: &'a Settings,
}

/// A group whose members are known, and packets of flows.
struct Subject<'a> {
    name: String,
    ports: Vec<u32>,
    weights: Vec<u32>,
    /// The port by which packets enter the switch.
    ingress: u32,
    /// A packet of each flow.
    packets: &'a [Vec<u8>],
}

/// Sends a packet of each flow twice. Returns `None` if the measurement was stopped.
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
    for own in members {
        match own.as_slice() {
            [Some(first), Some(second)] if first == second => {
                found.counts.iter_mut().skip(*first).take(1).for_each(|count| *count += 1);
            }
            [Some(_), Some(_)] => found.changed += 1,
            _ => found.lost += 1,
        }
    }
    Ok(Some(found))
}

#[cfg(test)]
mod tests;
