//! The part of an analysis that does not depend on the flow of interest (the flow whose delay is
//! bounded): the network, the settings, and the caches.
//!
//! The traffic of other flows (cross traffic) delays the flow of interest. If the flow of interest
//! is assumed to have the lowest priority, it does not delay the cross traffic, so the arrival
//! curves of cross traffic are computed without it. Here, this flow is called `lowest`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::Known;
use crate::network::cache::SharedCaches;
use crate::network::cycles::{CutLink, Cuts};
use crate::network::elements::{FlowId, Multiplexing, ServerId};
use crate::network::model::Network;
use crate::network::sets::{Group, Sets};
use crate::network::settings::{ArrivalBound, FlowOfInterest, Settings};
use crate::network::{AnalysisError, operations};
use crate::{Curve, interrupt};

/// The largest network, as the total number of hops of all flows, in which an analysis also caches
/// results that hold for one flow of interest only. In larger networks, these would need too much
/// memory, because each flow may have a result for each link.
const MAX_CACHED_HOPS: usize = 2_000;

/// The network, the settings and the caches that all flows of interest share.
#[derive(Debug)]
pub(crate) struct Common<'n> {
    pub(crate) network: &'n Network,
    pub(crate) settings: Settings,
    /// Whether some server multiplexes by static priority.
    pub(crate) priorities: bool,
    /// Whether all servers have arbitrary multiplexing.
    pub(crate) arbitrary: bool,
    /// The position of each server in topological order. It is computed when it is first needed.
    rank: OnceLock<Vec<usize>>,
    /// For each flow, the servers that data can reach after they have left the path of the flow.
    /// Each list is computed when it is first needed.
    reachable_off_path: Vec<OnceLock<Vec<ServerId>>>,
    /// For each flow, whether data can leave its path and rejoin it. Each value is computed when it
    /// is first needed.
    can_rejoin: Vec<OnceLock<bool>>,
    /// Whether data can leave the path of some flow and rejoin it. It is computed when it is first
    /// needed.
    any_can_rejoin: OnceLock<bool>,
    pub(super) caches: Known,
    pub(crate) sets: Sets<'n>,
    /// Whether results that hold for a single flow of interest are cached, too, because the network
    /// has at most `MAX_CACHED_HOPS` hops.
    pub(super) keeps_all: bool,
    /// Whether some arrival curve was rounded up because its exact numbers had become too long to
    /// compute with.
    pub(crate) rounded: AtomicBool,
    /// The links at which a cyclic network is cut, with the arrival curves over them. `None` if the
    /// network is not cut.
    pub(crate) cuts: Option<Arc<Cuts>>,
}

impl<'n> Common<'n> {
    pub(crate) fn new(network: &'n Network, settings: Settings) -> Self {
        let by_priority = |server| settings.multiplexing_at(server) == Multiplexing::StaticPriority;
        let priorities = network.servers().any(|(_, server)| by_priority(server));
        let in_any_order = |server| settings.multiplexing_at(server) == Multiplexing::Arbitrary;
        let arbitrary = network.servers().all(|(_, server)| in_any_order(server));
        Self {
            network,
            settings,
            priorities,
            arbitrary,
            rank: OnceLock::new(),
            reachable_off_path: network.flows().map(|_| OnceLock::new()).collect(),
            can_rejoin: network.flows().map(|_| OnceLock::new()).collect(),
            any_can_rejoin: OnceLock::new(),
            caches: SharedCaches::default(),
            sets: Sets::new(network),
            keeps_all: network.flows().map(|(_, flow)| flow.path.len()).sum::<usize>()
                <= MAX_CACHED_HOPS,
            rounded: AtomicBool::new(false),
            cuts: None,
        }
    }

    /// Returns the shared data of a cyclic network whose cycles are cut at the links of `cuts`.
    pub(crate) fn cut(self, cuts: Cuts) -> Self {
        Self { cuts: Some(Arc::new(cuts)), ..self }
    }

    /// Returns whether the cycles of the network are cut at a link.
    pub(crate) fn is_cut(&self, from: ServerId, to: ServerId) -> bool {
        self.cuts.as_ref().is_some_and(|cuts| cuts.is_cut(CutLink { from, to }))
    }

    /// Returns an error if the analysis must stop.
    ///
    /// # Errors
    ///
    /// Returns [`AnalysisError::Stopped`] if the interrupt of the thread is set.
    pub(crate) fn go_on(&self) -> Result<(), AnalysisError> {
        Ok(interrupt::check()?)
    }

    /// Returns the flow that is not counted when the cross traffic of `flow` is bounded: `flow`
    /// itself, if the settings assume that it has the lowest priority, and otherwise `None`.
    pub(crate) fn lowest(&self, flow: FlowId) -> Option<FlowId> {
        // In a cyclic network, every flow may affect traffic that it meets again.
        if self.cuts.is_some() {
            return None;
        }
        let excluded = match self.settings.flow_of_interest {
            // With static priority, the priorities of the network determine which flow is served
            // last.
            FlowOfInterest::LowestPriority => !self.priorities,
            FlowOfInterest::LowestPriorityWhereProven => self.arbitrary && !self.can_rejoin(flow),
            FlowOfInterest::Interferes => false,
        };
        excluded.then_some(flow)
    }

    /// Returns the position of each server in topological order, by the server's index.
    fn rank(&self) -> &[usize] {
        self.rank.get_or_init(|| {
            let mut rank = vec![0; self.network.servers().len()];
            for (place, server) in self.network.order().unwrap_or_default().iter().enumerate() {
                rank[server.index()] = place;
            }
            rank
        })
    }

    /// Returns the servers, in ascending order, that data can reach after they have left the path
    /// of a flow. Data that rejoin the path come through these servers.
    fn reachable_off_path(&self, flow: FlowId) -> &[ServerId] {
        let compute = || self.network.reachable_off_path(flow, self.rank());
        self.reachable_off_path
            .get(flow.index())
            .map_or(&[], |servers| servers.get_or_init(compute))
    }

    /// Returns whether data can leave the path of a flow and rejoin it.
    pub(crate) fn can_rejoin(&self, flow: FlowId) -> bool {
        let compute = || {
            // The list is not cached, because in a large network all lists together would be long.
            let reachable = self.network.reachable_off_path(flow, self.rank());
            let path = &self.network.flow(flow).path;
            path.iter().any(|server| reachable.binary_search(server).is_ok())
        };
        self.can_rejoin.get(flow.index()).is_some_and(|known| *known.get_or_init(compute))
    }

    /// Returns whether data can leave the path of some flow and rejoin it.
    pub(crate) fn any_can_rejoin(&self) -> bool {
        *self.any_can_rejoin.get_or_init(|| self.network.flows().any(|(id, _)| self.can_rejoin(id)))
    }

    /// Returns whether the arrival curve of `flows` behind the server `from` may depend on leaving
    /// out the flow `lowest`, at that server or at an earlier one. If it does not, the curve holds
    /// for every flow of interest.
    ///
    /// Arrival curves are computed backwards: the curve at a server depends on the curves at the
    /// servers before it. If no data can rejoin the path of `lowest`, the flow is left out only at
    /// servers of that path.
    ///
    /// If data can rejoin the path, `flows` may come to `from`, off the path, from earlier servers
    /// of the path. At those servers, `lowest` is left out, too, as in DNC (the Deterministic
    /// Network Calculator), whose results are reproduced. With methods that bound single servers,
    /// this concerns those of `flows` that have visited the path before. With methods that bound
    /// whole tandems, the cross traffic of these flows is concerned as well, and so on, so every
    /// server counts that data can reach from the path.
    pub(super) fn may_be_excluded(&self, lowest: FlowId, from: ServerId, flows: &Group) -> bool {
        let network = self.network;
        if network.position(lowest, from).is_some() {
            return true;
        }
        if !self.can_rejoin(lowest) {
            return false;
        }
        let tandems = |method: &ArrivalBound| {
            use ArrivalBound as By;
            matches!(method, By::AggregatePmoo | By::AggregateTandemMatching)
        };
        if self.settings.arrival_bounds.iter().any(tandems) {
            return self.reachable_off_path(lowest).binary_search(&from).is_ok();
        }
        let path = &network.flow(lowest).path;
        flows.iter().any(|id| {
            let here = network.position(id, from);
            path.iter().any(|server| {
                let met = network.position(id, *server);
                met.is_some() && met <= here
            })
        })
    }

    /// Returns the service curve of a server. With `last`, the curve is for the delay at the last
    /// server of a path. Otherwise, it is for the output of the server.
    ///
    /// A packetizer holds back up to a packet. It does not delay the end of a packet at the last
    /// server (Le Boudec and Thiran, "Network Calculus", theorem 1.7.1).
    pub(crate) fn service(&self, server: ServerId, last: bool) -> Result<Curve, AnalysisError> {
        let model = self.network.server(server);
        let packet = self.network.maximum_packet(server);
        if last || !model.packetizer || !packet.is_positive() {
            return Ok(model.service.clone());
        }
        Ok(operations::lowered(&model.service, &packet)?)
    }

    /// Returns the curve with its long bursts rounded up, and records if that changed it
    /// ([`Common::rounded`]).
    pub(crate) fn shortened(&self, curve: Curve) -> Curve {
        match operations::shortened(&curve) {
            None => curve,
            Some(shortened) => {
                self.rounded.store(true, Ordering::Relaxed);
                shortened
            }
        }
    }

    /// Returns the order of service at a server.
    pub(crate) fn multiplexing(&self, server: ServerId) -> Multiplexing {
        self.settings.multiplexing_at(self.network.server(server))
    }
}
