//! Replicated flows: copies of the same packets on several ways, of which one goes on where they meet.
//!
//! Let each copy of a packet that was sent at s be at the eliminating server by s + D at the latest, or be lost. What goes on of
//! the flow within (u, t] was sent within (u - D, t], each packet once: it has the arrival curve of the source, advanced
//! by the largest D of all copies (Thomas, Mifdaoui and Le Boudec, "Worst-case delay bounds in time-sensitive networks with
//! packet replication and elimination", IEEE/ACM Transactions on Networking 30, 2022, who also use the least delays). Copies come
//! out of order there, which no bound by delays minds: servers keep the order in which packets come. Regulators do mind.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::elements::{Flow, FlowId, ModelError, Server, ServerId};

/// Which flows are copies of each other, and where.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    /// Flows that are one stream with this one there.
    together: HashMap<(FlowId, ServerId), Vec<FlowId>>,
    /// Places on the path of a flow at which no earlier flow is the same data.
    own: HashMap<FlowId, Range<usize>>,
    /// Every flow by itself.
    alone: Vec<FlowId>,
}

impl Copies {
    pub(super) fn of(flows: &[Flow], servers: &[Server]) -> Result<Self, ModelError> {
        let mut groups = BTreeMap::<&str, Vec<usize>>::new();
        for (index, flow) in flows.iter().enumerate() {
            if let Some(group) = &flow.replicated {
                groups.entry(group).or_default().push(index);
            }
        }
        let mut copies =
            Self { alone: (0..flows.len()).map(FlowId::new).collect(), ..Self::default() };
        for members in groups.values() {
            for member in members {
                check(flows, members, *member, servers)?;
            }
            for member in members {
                copies.add(flows, members, *member, servers);
            }
        }
        Ok(copies)
    }

    fn add(&mut self, flows: &[Flow], members: &[usize], member: usize, servers: &[Server]) {
        let path = &flows[member].path;
        let earlier = || members.iter().filter(|other| **other < member);
        // Until they part, copies have gone the same way.
        let common = |other: &usize| {
            flows[*other].path.iter().zip(path).take_while(|(theirs, own)| theirs == own).count()
        };
        let parted = earlier().map(common).max().unwrap_or(0);
        let visits = |other: &usize, server: &ServerId| flows[*other].path.contains(server);
        let mut met = path.len();
        let mut eliminator = None;
        for (place, server) in path.iter().enumerate().skip(parted) {
            if servers[server.index()].eliminates {
                eliminator = Some(*server);
                if earlier().any(|other| visits(other, server)) {
                    met = met.min(place);
                }
            }
            let Some(eliminator) = eliminator else { continue };
            // They go on together from there, as was checked.
            let together = members.iter().filter(|other| visits(other, &eliminator));
            let together: Vec<FlowId> = together.map(|other| FlowId::new(*other)).collect();
            if together.len() > 1 {
                self.together.insert((FlowId::new(member), *server), together);
            }
        }
        self.own.insert(FlowId::new(member), parted.min(met)..met);
    }

    /// Flows that are one stream with a flow at a server.
    pub(super) fn at(&self, flow: FlowId, server: ServerId) -> &[FlowId] {
        match self.together.get(&(flow, server)) {
            Some(together) => together,
            None => self.alone.get(flow.index()).map_or(&[], std::slice::from_ref),
        }
    }

    /// The places of a path of that length at which no earlier flow is the same data.
    pub(super) fn own(&self, flow: FlowId, length: usize) -> Range<usize> {
        self.own.get(&flow).cloned().unwrap_or(0..length)
    }
}

/// Checks that a flow may be a copy of the others of its group.
fn check(
    flows: &[Flow],
    members: &[usize],
    member: usize,
    servers: &[Server],
) -> Result<(), ModelError> {
    let flow = &flows[member];
    let fault = |fault| {
        let group = flow.replicated.clone().unwrap_or_default();
        Err(ModelError::Replicated { flow: flow.name.clone(), group, fault })
    };
    if flow.multicast.is_some() {
        return fault("is multicast, too; give the copies to each end a group of their own");
    }
    if flow.path.iter().any(|server| servers[server.index()].regulator.is_some()) {
        return fault(
            "passes a regulator; copies come out of order where they meet, and a regulator behind that may delay without \
             bound: take none on its path",
        );
    }
    for other in members.iter().map(|other| &flows[*other]) {
        let same = other.arrival == flow.arrival
            && other.priority == flow.priority
            && other.maximum_packet == flow.maximum_packet;
        if !same {
            return fault(
                "differs from another one in its arrival curve, priority or packets; they are the same data",
            );
        }
        let behind = |path: &[ServerId], place: usize| path.get(place..).map(<[_]>::to_vec);
        for (place, server) in flow.path.iter().enumerate() {
            let eliminates = servers[server.index()].eliminates;
            let there =
                other.path.iter().position(|theirs| theirs == server).filter(|_| eliminates);
            if there.is_some_and(|there| behind(&flow.path, place) != behind(&other.path, there)) {
                return fault(
                    "parts from another one behind the server that eliminates copies; one goes on from there",
                );
            }
        }
    }
    Ok(())
}
