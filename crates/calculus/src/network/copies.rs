//! Replicated flows: copies of the same packets take several paths, and only one copy of each
//! packet continues after the paths meet.
//!
//! Assume that each copy of a packet sent at time s either reaches the eliminating server by s + D
//! or is lost. The packets that leave the server within (u, t] were sent within (u - D, t], each of
//! them once. The output therefore has the arrival curve of the source, advanced by the largest D
//! of all copies (Thomas, Mifdaoui and Le Boudec, "Worst-case delay bounds in time-sensitive
//! networks with packet replication and elimination", IEEE/ACM Transactions on Networking 30, 2022,
//! who also use the least delays). After the elimination, packets may be out of order. Bounds by
//! delays do not depend on the order of packets, but regulators do, so regulators are refused.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::elements::{Flow, FlowId, ModelError, Server, ServerId};

/// The replicated flows of a network, and the servers after whose elimination the copies are one
/// stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Copies {
    /// Maps a replicated flow and a server of its path to the flows that carry the same data as one
    /// stream there, because copies were eliminated at this server or at an earlier one.
    together: HashMap<(FlowId, ServerId), Vec<FlowId>>,
    /// The range of positions on a replicated flow's path at which no flow with a lower id carries
    /// the same data.
    own: HashMap<FlowId, Range<usize>>,
    /// The ids of all flows by index, so that a single flow can be borrowed as a slice.
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
        // Copies that have not parted yet have taken the same path.
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
            // From the eliminating server on the copies share their path, as `check` has ensured.
            let together = members.iter().filter(|other| visits(other, &eliminator));
            let together: Vec<FlowId> = together.map(|other| FlowId::new(*other)).collect();
            if together.len() > 1 {
                self.together.insert((FlowId::new(member), *server), together);
            }
        }
        self.own.insert(FlowId::new(member), parted.min(met)..met);
    }

    /// Returns the flows that are one stream with a flow at a server, or only the flow itself if no
    /// copies were eliminated there.
    pub(super) fn at(&self, flow: FlowId, server: ServerId) -> &[FlowId] {
        match self.together.get(&(flow, server)) {
            Some(together) => together,
            None => self.alone.get(flow.index()).map_or(&[], std::slice::from_ref),
        }
    }

    /// Returns the range of positions on a flow's path (of `length` servers) at which no flow with
    /// a lower id carries the same data.
    pub(super) fn own(&self, flow: FlowId, length: usize) -> Range<usize> {
        self.own.get(&flow).cloned().unwrap_or(0..length)
    }
}

/// Checks that a flow can be a copy of the other flows of its replication group.
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
            "passes a regulator; copies arrive out of order where they meet, and a regulator after that may delay \
             them without bound: remove the regulators from its path",
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
                    "diverges from another copy after the server that eliminates copies; only one copy continues \
                     from there",
                );
            }
        }
    }
    Ok(())
}
