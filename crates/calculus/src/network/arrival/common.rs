//! The part of an analysis that all flows of interest share.

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

/// The number of hops of all flows together up to which answers for single flows of interest are
/// kept: each flow may have as many answers as the network has links.
const KEPT: usize = 2_000;

/// What is the same for all flows of interest: network, conventions, answers.
#[derive(Debug)]
pub(crate) struct Common<'n> {
    pub(crate) network: &'n Network,
    pub(crate) settings: Settings,
    /// Whether some server serves by priority.
    pub(crate) priorities: bool,
    /// Whether all servers serve in arbitrary order.
    pub(crate) arbitrary: bool,
    /// The place of each server in the order of all, if it has been asked for.
    rank: OnceLock<Vec<usize>>,
    /// For each flow, the servers by which something may come back to its path, if they have been
    /// asked for.
    off_path: Vec<OnceLock<Vec<ServerId>>>,
    /// Whether something does, for each flow and for any, if it has been asked for.
    returns: Vec<OnceLock<bool>>,
    any_returns: OnceLock<bool>,
    pub(super) caches: Known,
    pub(crate) sets: Sets<'n>,
    /// Whether the network is so small that answers for one flow of interest are kept, too.
    pub(super) keeps_all: bool,
    /// Whether some arrival curve was rounded up.
    pub(crate) rounded: AtomicBool,
    /// What comes over the links at which a cyclic network is cut.
    pub(crate) cuts: Option<Arc<Cuts>>,
}

impl<'n> Common<'n> {
    pub(crate) fn new(network: &'n Network, settings: Settings) -> Self {
        let by_priority = |server| settings.multiplexing_at(server) == Multiplexing::StaticPriority;
        let priorities = network.servers().any(|(_, server)| by_priority(server));
        let in_any_order = |server| settings.multiplexing_at(server) == Multiplexing::Arbitrary;
        let arbitrary = network.servers().all(|(_, server)| in_any_order(server));
        let off_path = network.flows().map(|_| OnceLock::new()).collect();
        Self {
            network,
            settings,
            priorities,
            arbitrary,
            rank: OnceLock::new(),
            off_path,
            returns: network.flows().map(|_| OnceLock::new()).collect(),
            any_returns: OnceLock::new(),
            caches: SharedCaches::default(),
            sets: Sets::new(network),
            keeps_all: network.flows().map(|(_, flow)| flow.path.len()).sum::<usize>() <= KEPT,
            rounded: AtomicBool::new(false),
            cuts: None,
        }
    }

    /// Returns the same for a cyclic network that is cut.
    pub(crate) fn cut(self, cuts: Cuts) -> Self {
        Self { cuts: Some(Arc::new(cuts)), ..self }
    }

    /// Whether a link is cut.
    pub(crate) fn is_cut(&self, from: ServerId, to: ServerId) -> bool {
        self.cuts.as_ref().is_some_and(|cuts| cuts.is_cut(CutLink { from, to }))
    }

    /// # Errors
    ///
    /// If no more bounds are wanted.
    pub(crate) fn go_on(&self) -> Result<(), AnalysisError> {
        Ok(interrupt::check()?)
    }

    /// Returns the flow that cross traffic is bounded without, if there is one by convention.
    pub(crate) fn lowest(&self, flow: FlowId) -> Option<FlowId> {
        // In a circle, every flow may disturb what it meets later.
        if self.cuts.is_some() {
            return None;
        }
        let excluded = match self.settings.flow_of_interest {
            // With priorities, the file says which flow has the lowest.
            FlowOfInterest::LowestPriority => !self.priorities,
            FlowOfInterest::LowestPriorityWhereProven => self.arbitrary && !self.returns(flow),
            FlowOfInterest::Interferes => false,
        };
        excluded.then_some(flow)
    }

    /// Returns the place of each server in the order of all.
    fn rank(&self) -> &[usize] {
        self.rank.get_or_init(|| {
            let mut rank = vec![0; self.network.servers().len()];
            for (place, server) in self.network.order().unwrap_or_default().iter().enumerate() {
                rank[server.index()] = place;
            }
            rank
        })
    }

    /// Servers by which something may come back to the path of a flow, in ascending order.
    fn off_path(&self, flow: FlowId) -> &[ServerId] {
        let off_path = self.off_path.get(flow.index());
        off_path.map_or(&[], |off| off.get_or_init(|| self.network.off_path(flow, self.rank())))
    }

    /// Whether a way leads off the path of a flow and back to it.
    pub(crate) fn returns(&self, flow: FlowId) -> bool {
        let returns = || {
            // Not remembered: of a large network that would be many lists.
            let off_path = self.network.off_path(flow, self.rank());
            let path = &self.network.flow(flow).path;
            path.iter().any(|server| off_path.binary_search(server).is_ok())
        };
        self.returns.get(flow.index()).is_some_and(|known| *known.get_or_init(returns))
    }

    /// Whether one does for any flow.
    pub(crate) fn any_returns(&self) -> bool {
        *self.any_returns.get_or_init(|| self.network.flows().any(|(id, _)| self.returns(id)))
    }

    /// Whether flows that come from a server may have been bounded without `lowest` somewhere.
    ///
    /// Where no way leads back to its path, it must be at that server. Otherwise DNC goes on to
    /// leave it out on the way back, as far as flows go that it has left it out for: those that
    /// met it or, where whole tandems are taken, those that met others that did.
    pub(super) fn left_out(&self, lowest: FlowId, from: ServerId, flows: &Group) -> bool {
        let network = self.network;
        if network.position(lowest, from).is_some() {
            return true;
        }
        if !self.returns(lowest) {
            return false;
        }
        let tandems = |method: &ArrivalBound| {
            use ArrivalBound as By;
            matches!(method, By::AggregatePmoo | By::AggregateTandemMatching)
        };
        if self.settings.arrival_bounds.iter().any(tandems) {
            return self.off_path(lowest).binary_search(&from).is_ok();
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

    /// Returns the minimum service of a server for what follows it, or for delays behind the last.
    ///
    /// A packetizer holds back up to a packet; that does not delay the end of a packet at the last
    /// server (Le Boudec, Thiran, "Network Calculus", theorem 1.7.1).
    pub(crate) fn service(&self, server: ServerId, last: bool) -> Result<Curve, AnalysisError> {
        let model = self.network.server(server);
        let packet = self.network.maximum_packet(server);
        if last || !model.packetizer || !packet.is_positive() {
            return Ok(model.service.clone());
        }
        Ok(operations::lowered(&model.service, &packet)?)
    }

    /// Returns the curve, rounded up if its numbers have grown long, and records whether it was.
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
