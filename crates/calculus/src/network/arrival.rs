//! Arrival curves of cross traffic inside a network, and the left-over service that they need.
//!
//! The two call each other: what is left over for some flows at a server depends on the arrivals
//! of the others there, which depend on what was left over for those at the servers before. The
//! recursion follows the paths backwards, so it ends if nobody's cross traffic depends on itself.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::cache::{Answers, Question};
use super::cycles::{CutLink, Cuts};
use super::model::{FlowId, Multiplexing, Network, Priority, ServerId};
use super::pmoo::{self, Crossing, RateLatency};
use super::prolong::{self, Stay};
use super::sets::{difference, intersection, without};
use super::settings::{ArrivalBound, FlowOfInterest, Settings};
use super::{AnalysisError, operations};
use crate::{Curve, Extended, Rational};

/// Questions within questions, at most. Threads that analyse have a stack for that.
const DEEPEST: usize = 20_000;

/// What is known already.
type Known = Answers<Arc<Curve>, Arc<LeftOver>>;

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
    answers: Known,
    /// What comes over the links at which a cyclic network is cut.
    pub(crate) cuts: Option<Arc<Cuts>>,
    /// Set by whoever wants no more bounds.
    pub(crate) stop: Option<Arc<AtomicBool>>,
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
            answers: Answers::default(),
            cuts: None,
            stop: None,
        }
    }

    /// The same for a cyclic network that is cut.
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
        match &self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(AnalysisError::Stopped),
            _ => Ok(()),
        }
    }

    /// The flow that cross traffic is bounded without, if there is one by convention.
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

    /// The place of each server in the order of all.
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
    fn left_out(&self, lowest: FlowId, from: ServerId, flows: &[FlowId]) -> bool {
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
            let here = network.position(*id, from);
            path.iter().any(|server| {
                let met = network.position(*id, *server);
                met.is_some() && met <= here
            })
        })
    }

    /// The minimum service of a server for what follows it, or for delays behind the last.
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

    /// The order of service at a server.
    pub(crate) fn multiplexing(&self, server: ServerId) -> Multiplexing {
        self.settings.multiplexing_at(self.network.server(server))
    }
}

/// The flow without which the cross traffic of a tandem is bounded.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Without {
    /// With all flows.
    Nobody,
    /// Without that one as long as cross traffic comes along its path.
    AlongItsPath(Option<FlowId>),
    /// Without that one wherever it comes from.
    Wherever(Option<FlowId>),
}

/// What is left over for some flows at one server.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct LeftOver {
    pub(crate) server: ServerId,
    /// Flows that take service away.
    pub(crate) cross: Vec<FlowId>,
    /// Their arrivals.
    pub(crate) arrival: Arc<Curve>,
    /// What is left.
    pub(crate) service: Curve,
}

/// What is left over for some flows on a tandem.
#[derive(Clone, Debug)]
pub(crate) struct Tandem {
    /// Their maximum is a service curve.
    pub(crate) services: Vec<RateLatency>,
    /// Cross traffic: its first and last server, its arrivals at the first.
    pub(crate) crossings: Vec<(ServerId, ServerId, Arc<Curve>)>,
}

/// Bounds arrivals for one flow of interest.
#[derive(Debug)]
pub(crate) struct Bounder<'c, 'n> {
    pub(crate) common: &'c Common<'n>,
    /// Answers that hold for that flow of interest only.
    own: RefCell<HashMap<FlowId, Rc<Known>>>,
    depth: Cell<usize>,
}

impl<'c, 'n> Bounder<'c, 'n> {
    pub(crate) fn new(common: &'c Common<'n>) -> Self {
        Self { common, own: RefCell::default(), depth: Cell::new(0) }
    }

    fn network(&self) -> &'n Network {
        self.common.network
    }

    /// Arrivals of flows at a server, without `lowest`.
    pub(crate) fn arrival(
        &self,
        server: ServerId,
        flows: &[FlowId],
        lowest: Option<FlowId>,
    ) -> Result<Arc<Curve>, AnalysisError> {
        let network = self.network();
        let mut from = Vec::<(ServerId, Vec<FlowId>)>::new();
        let mut total: Option<Arc<Curve>> = None;
        let add = |total: &mut Option<Arc<Curve>>, curve: &Arc<Curve>| {
            *total = Some(match total.take() {
                None => Arc::clone(curve),
                Some(sum) => Arc::new(operations::sum(&sum, curve)?),
            });
            Ok::<_, AnalysisError>(())
        };
        for id in flows.iter().copied().filter(|id| Some(*id) != lowest) {
            match network.predecessor(id, server) {
                None => add(&mut total, &Arc::new(network.flow(id).arrival.clone()))?,
                Some(before) => match from.iter_mut().find(|(server, _)| *server == before) {
                    Some((_, flows)) => flows.push(id),
                    None => from.push((before, vec![id])),
                },
            }
        }
        // An order that does not depend on who asked makes sums and caches the same everywhere.
        from.sort_by_key(|(server, _)| *server);
        for (before, flows) in from {
            let curve = self.arrival_over(before, server, flows, lowest)?;
            add(&mut total, &curve)?;
        }
        Ok(total.unwrap_or_else(|| Arc::new(Curve::zero())))
    }

    /// Arrivals of flows that come over one link.
    fn arrival_over(
        &self,
        from: ServerId,
        to: ServerId,
        flows: Vec<FlowId>,
        lowest: Option<FlowId>,
    ) -> Result<Arc<Curve>, AnalysisError> {
        if let Some(cuts) = &self.common.cuts
            && let Some(known) = cuts.arrival(CutLink { from, to }, &flows)?
        {
            return Ok(Arc::new(self.shaped((*known).clone(), from, to, &flows)?));
        }
        self.arrival_behind(from, to, flows, lowest)
    }

    /// The same from what is known before the server that they come from, even if the link is cut.
    pub(crate) fn arrival_behind(
        &self,
        from: ServerId,
        to: ServerId,
        flows: Vec<FlowId>,
        lowest: Option<FlowId>,
    ) -> Result<Arc<Curve>, AnalysisError> {
        // A flow that never comes near the path cannot disturb; the answer then serves everybody.
        let lowest = lowest.filter(|lowest| self.common.left_out(*lowest, from, &flows));
        let question = Question { from, to, flows: flows.into(), alone: None };
        if let Some(curve) = self.answers(lowest, |answers| answers.arrivals.get(&question)) {
            return Ok(curve);
        }
        let depth = self.depth.get();
        if depth >= DEEPEST {
            return Err(AnalysisError::TooDeep);
        }
        self.depth.set(depth + 1);
        let curve = self.compute(&question, lowest);
        self.depth.set(depth);
        let curve = Arc::new(curve?);
        self.answers(lowest, |answers| answers.arrivals.put(question, Arc::clone(&curve)));
        Ok(curve)
    }

    /// Answers that hold for everybody, or only where one flow takes nothing away.
    fn answers<R>(&self, lowest: Option<FlowId>, with: impl FnOnce(&Known) -> R) -> R {
        let Some(flow) = lowest else { return with(&self.common.answers) };
        let own = Rc::clone(self.own.borrow_mut().entry(flow).or_default());
        with(&own)
    }

    fn compute(&self, question: &Question, lowest: Option<FlowId>) -> Result<Curve, AnalysisError> {
        let network = self.network();
        let flows = &question.flows;
        let mut best: Option<Curve> = None;
        let classes = self.classes(flows);
        if classes.len() > 1 {
            // Flows of different priority do not get the same service.
            for class in classes {
                let curve = self.arrival_behind(question.from, question.to, class, lowest)?;
                best = Some(match best {
                    None => (*curve).clone(),
                    Some(sum) => operations::sum(&sum, &curve)?,
                });
            }
        } else {
            for method in &self.common.settings.arrival_bounds {
                let curve = self.bound(*method, question, lowest)?;
                best = Some(match best {
                    None => curve,
                    Some(other) => operations::minimum(&other, &curve)?,
                });
            }
        }
        let mut curve = best.ok_or(AnalysisError::NoArrivalBound)?;
        let server = network.server(question.from);
        // All traffic of a server is also bounded by its arrivals behind maximum service, followed by
        // what the minimum service may still hold back (Le Boudec, Thiran, theorem 1.6.3).
        if let Some(most) = &server.maximum_service
            && flows.as_ref() == network.flows_at(question.from)
        {
            let arrival = self.arrival(question.from, flows, None)?;
            let passed = operations::convolution(&arrival, most)?;
            let behind = operations::deconvolution(&passed, &self.service(question.from, false)?)?;
            curve = operations::minimum(&curve, &behind)?;
        }
        if self.common.settings.cap_bursts && server.strict {
            let arrival = self.arrival(question.from, flows, lowest)?;
            let service = self.service(question.from, false)?;
            let all = self.arrival(question.from, network.flows_at(question.from), None)?;
            if let Extended::Finite(backlog) = operations::vertical_deviation(&all, &service)? {
                curve = operations::minimum(&curve, &capped(&arrival, &backlog)?)?;
            }
        }
        self.shaped(curve, question.from, question.to, flows)
    }

    /// The minimum of arrivals over a link and of what shapes it.
    fn shaped(
        &self,
        mut curve: Curve,
        from: ServerId,
        to: ServerId,
        flows: &[FlowId],
    ) -> Result<Curve, AnalysisError> {
        let (network, server) = (self.network(), self.network().server(from));
        for shaping in server.shaping.iter().chain(network.link(from, to)) {
            let mut shaping = shaping.clone();
            if server.packetizer {
                let packet = flows.iter().map(|id| &network.flow(*id).maximum_packet).max();
                let packet = packet.cloned().unwrap_or(Rational::ZERO);
                shaping = operations::raised(&shaping, &packet)?;
            }
            curve = operations::minimum(&curve, &shaping)?;
        }
        Ok(curve)
    }

    /// The flows by priority, if that matters.
    fn classes(&self, flows: &[FlowId]) -> Vec<Vec<FlowId>> {
        if !self.common.priorities {
            return vec![flows.to_vec()];
        }
        let mut classes = std::collections::BTreeMap::<Priority, Vec<FlowId>>::new();
        for id in flows {
            classes.entry(self.network().flow(*id).priority).or_default().push(*id);
        }
        classes.into_values().collect()
    }

    /// One way to bound the arrivals.
    fn bound(
        &self,
        method: ArrivalBound,
        question: &Question,
        lowest: Option<FlowId>,
    ) -> Result<Curve, AnalysisError> {
        use ArrivalBound as By;
        let flows = &question.flows;
        match method {
            By::AggregatePboo
            | By::AggregatePbooPerServer
            | By::AggregatePmoo
            | By::AggregateTandemMatching => {
                let shared = self.shared(question);
                let Some(first) = shared.first() else { return Err(AnalysisError::NoArrivalBound) };
                let arrival = self.arrival(*first, flows, lowest)?;
                self.output(method, &arrival, &shared, flows, lowest)
            }
            By::SegregatedPboo | By::SegregatedPmoo | By::SegregatedTandemMatching => {
                let mut total: Option<Curve> = None;
                for id in flows.iter().copied() {
                    let curve = self.alone(method, question, id)?;
                    total = Some(match total {
                        None => (*curve).clone(),
                        Some(sum) => operations::sum(&sum, &curve)?,
                    });
                }
                total.ok_or(AnalysisError::NoArrivalBound)
            }
        }
    }

    /// Arrivals of one flow that is taken for the flow of interest up to the link.
    fn alone(
        &self,
        method: ArrivalBound,
        question: &Question,
        id: FlowId,
    ) -> Result<Arc<Curve>, AnalysisError> {
        let question = Question { flows: [id].into(), alone: Some(method), ..*question };
        if let Some(curve) = self.common.answers.arrivals.get(&question) {
            return Ok(curve);
        }
        let flow = self.network().flow(id);
        let end = self.network().position(id, question.to).unwrap_or(flow.path.len());
        let path = flow.path.get(..end).unwrap_or_default();
        let alone = Bounder::new(self.common);
        alone.depth.set(self.depth.get());
        // What lies before a cut link comes after what lies behind it.
        let is_cut = |pair: &[ServerId]| matches!(pair, [a, b] if self.common.is_cut(*a, *b));
        let begin = path.windows(2).rposition(is_cut).map_or(0, |place| place + 1);
        let path = path.get(begin..).unwrap_or_default();
        let arrival = match path.first().filter(|_| begin > 0) {
            None => Arc::new(flow.arrival.clone()),
            Some(first) => self.arrival(*first, &[id], None)?,
        };
        let curve = alone.output(method, &arrival, path, &[id], self.common.lowest(id))?;
        let curve = Arc::new(curve);
        self.common.answers.arrivals.put(question, Arc::clone(&curve));
        Ok(curve)
    }

    /// The servers that all flows over a link visit together before it.
    fn shared(&self, question: &Question) -> Vec<ServerId> {
        let network = self.network();
        let Some(first) = question.flows.first() else { return Vec::new() };
        let mut shared = vec![question.from];
        let mut at = question.from;
        while let Some(before) = network.predecessor(*first, at) {
            let together = |id: &FlowId| network.predecessor(*id, at) == Some(before);
            if self.common.is_cut(before, at) || !question.flows.iter().all(together) {
                break;
            }
            shared.push(before);
            at = before;
        }
        shared.reverse();
        shared
    }

    /// Arrivals of a flow behind its last server, given what its path leaves over for it.
    pub(crate) fn behind_last(&self, id: FlowId, service: &Curve) -> Result<Curve, AnalysisError> {
        let flow = self.network().flow(id);
        let mut output = operations::deconvolution(&flow.arrival, service)?;
        let last = flow.path.last().map(|server| self.network().server(*server));
        if last.is_some_and(|server| server.packetizer) {
            output = operations::raised(&output, &flow.maximum_packet)?;
        }
        Ok(output)
    }

    /// Arrivals behind a tandem of what arrives before it.
    fn output(
        &self,
        method: ArrivalBound,
        arrival: &Curve,
        tandem: &[ServerId],
        flows: &[FlowId],
        lowest: Option<FlowId>,
    ) -> Result<Curve, AnalysisError> {
        use ArrivalBound as By;
        match method {
            By::AggregatePboo | By::SegregatedPboo => {
                let service = self.pboo_service(tandem, flows, lowest)?;
                Ok(operations::deconvolution(arrival, &service)?)
            }
            By::AggregatePbooPerServer => {
                let mut arrival = arrival.clone();
                for server in tandem {
                    let left = self.remembered_left_over(*server, flows, lowest)?;
                    arrival = operations::deconvolution(&arrival, &left.service)?;
                }
                Ok(arrival)
            }
            By::AggregatePmoo | By::SegregatedPmoo => {
                // As DNC does it: over several servers, cross traffic is bounded with all flows.
                let without = match (tandem.len(), method) {
                    (1, By::AggregatePmoo) => Without::Wherever(lowest),
                    _ => Without::Nobody,
                };
                let left = self.pmoo(tandem, flows, lowest, without, false)?;
                // All hold with respect to the same backlogged period, so their maximum does.
                let service = operations::maximum_of(&left.services)?;
                Ok(operations::deconvolution(arrival, &service)?)
            }
            By::AggregateTandemMatching if tandem.len() == 1 => {
                let left = self.pmoo(tandem, flows, lowest, Without::Wherever(lowest), false)?;
                let service = operations::maximum_of(&left.services)?;
                Ok(operations::deconvolution(arrival, &service)?)
            }
            By::AggregateTandemMatching | By::SegregatedTandemMatching => {
                let services = self.tandem_matching(tandem, flows, lowest, false)?;
                output_of_any(arrival, &services)
            }
        }
    }

    fn service(&self, server: ServerId, last: bool) -> Result<Curve, AnalysisError> {
        self.common.service(server, last)
    }

    pub(crate) fn strict(&self, server: ServerId) -> Result<(), AnalysisError> {
        let server = self.network().server(server);
        if server.strict { Ok(()) } else { Err(AnalysisError::NotStrict(server.name.clone())) }
    }

    /// What is left over for flows at one server. `lowest` takes nothing away.
    pub(crate) fn left_over(
        &self,
        server: ServerId,
        flows: &[FlowId],
        lowest: Option<FlowId>,
        last: bool,
    ) -> Result<LeftOver, AnalysisError> {
        let network = self.network();
        let others = without(&difference(network.flows_at(server), flows), lowest);
        let service = self.service(server, last)?;
        let multiplexing = self.common.multiplexing(server);
        if multiplexing == Multiplexing::StaticPriority {
            return self.left_over_by_priority(server, flows, service, lowest);
        }
        if others.is_empty() {
            let arrival = Arc::new(Curve::zero());
            return Ok(LeftOver { server, cross: others, arrival, service });
        }
        let arrival = self.cross_traffic(server, &others, lowest)?;
        let service = if multiplexing == Multiplexing::Fifo {
            operations::fifo_left_over(&service, &arrival)?
        } else {
            self.strict(server)?;
            operations::left_over(&service, &arrival)?
        };
        Ok(LeftOver { server, cross: others, arrival, service })
    }

    /// The same at a server that serves by priority, FIFO within a priority.
    fn left_over_by_priority(
        &self,
        server: ServerId,
        flows: &[FlowId],
        service: Curve,
        lowest: Option<FlowId>,
    ) -> Result<LeftOver, AnalysisError> {
        let network = self.network();
        let priority = |id: &FlowId| network.flow(*id).priority;
        let most_urgent = flows.iter().map(priority).min().unwrap_or_default();
        let least_urgent = flows.iter().map(priority).max().unwrap_or_default();
        let others = without(&difference(network.flows_at(server), flows), lowest);
        let (before, behind): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|id| priority(id) <= least_urgent);
        // Flows of one priority are FIFO among each other; for a mixture of priorities, anything
        // at least as urgent as its least urgent flow may come first.
        let (urgent, equal): (Vec<_>, Vec<_>) = before
            .iter()
            .copied()
            .partition(|id| priority(id) < most_urgent || most_urgent < least_urgent);
        let packets = behind.iter().map(|id| &network.flow(*id).maximum_packet);
        let packet = packets.max().cloned().unwrap_or(Rational::ZERO);
        let mut service = service;
        if packet.is_positive() {
            self.strict(server)?;
            service = operations::lowered(&service, &packet)?;
        }
        let mut arrival = Arc::new(Curve::zero());
        if !urgent.is_empty() {
            self.strict(server)?;
            arrival = self.cross_traffic(server, &urgent, lowest)?;
            service = operations::left_over(&service, &arrival)?;
        }
        if !equal.is_empty() {
            let same = self.cross_traffic(server, &equal, lowest)?;
            service = operations::fifo_left_over(&service, &same)?;
            arrival = Arc::new(operations::sum(&arrival, &same)?);
        }
        Ok(LeftOver { server, cross: before, arrival, service })
    }

    /// Arrivals of cross traffic at a server. Only what comes along the path of `lowest` is bounded
    /// without it: what left that path may have met it again.
    fn cross_traffic(
        &self,
        server: ServerId,
        flows: &[FlowId],
        lowest: Option<FlowId>,
    ) -> Result<Arc<Curve>, AnalysisError> {
        let before = lowest.and_then(|flow| self.network().predecessor(flow, server));
        let Some(before) = before else { return self.arrival(server, flows, None) };
        let along = intersection(flows, self.network().flows_over(before, server));
        if along.is_empty() {
            return self.arrival(server, flows, None);
        }
        let across = difference(flows, &along);
        let along = self.arrival(server, &along, lowest)?;
        if across.is_empty() {
            return Ok(along);
        }
        let across = self.arrival(server, &across, None)?;
        Ok(Arc::new(operations::sum(&along, &across)?))
    }

    /// What is left over at a server inside the network, remembered.
    fn remembered_left_over(
        &self,
        server: ServerId,
        flows: &[FlowId],
        lowest: Option<FlowId>,
    ) -> Result<Arc<LeftOver>, AnalysisError> {
        let lowest = lowest.filter(|flow| self.network().position(*flow, server).is_some());
        let question = Question { from: server, to: server, flows: flows.into(), alone: None };
        if let Some(left) = self.answers(lowest, |answers| answers.servers.get(&question)) {
            return Ok(left);
        }
        let left = Arc::new(self.left_over(server, flows, lowest, false)?);
        self.answers(lowest, |answers| answers.servers.put(question, Arc::clone(&left)));
        Ok(left)
    }

    /// Left-over service of a tandem inside the network, server by server. What is known of its
    /// beginning is not computed again.
    fn pboo_service(
        &self,
        tandem: &[ServerId],
        flows: &[FlowId],
        lowest: Option<FlowId>,
    ) -> Result<Arc<Curve>, AnalysisError> {
        let Some(first) = tandem.first() else { return Ok(Arc::new(Curve::zero())) };
        let question =
            |last: ServerId| Question { from: *first, to: last, flows: flows.into(), alone: None };
        let known = tandem.iter().enumerate().rev().find_map(|(index, last)| {
            let known = self.answers(lowest, |answers| answers.tandems.get(&question(*last)));
            Some((index + 1, known?))
        });
        let (done, mut service) = match known {
            Some((done, service)) => (done, Some(service)),
            None => (0, None),
        };
        for server in tandem.get(done..).unwrap_or_default() {
            let left = self.remembered_left_over(*server, flows, lowest)?;
            let longer = Arc::new(match service {
                None => left.service.clone(),
                Some(service) => operations::convolution(&service, &left.service)?,
            });
            self.answers(lowest, |answers| {
                answers.tandems.put(question(*server), Arc::clone(&longer));
            });
            service = Some(longer);
        }
        Ok(service.unwrap_or_else(|| Arc::new(Curve::zero())))
    }

    /// Left-over service of a tandem, server by server.
    pub(crate) fn pboo(
        &self,
        tandem: &[ServerId],
        flows: &[FlowId],
        lowest: Option<FlowId>,
        to_the_end: bool,
    ) -> Result<(Curve, Vec<LeftOver>), AnalysisError> {
        let mut steps = Vec::with_capacity(tandem.len());
        let mut service: Option<Curve> = None;
        for (index, server) in tandem.iter().enumerate() {
            let last = to_the_end && index + 1 == tandem.len();
            let step = self.left_over(*server, flows, lowest, last)?;
            service = Some(match service {
                None => step.service.clone(),
                Some(service) => operations::convolution(&service, &step.service)?,
            });
            steps.push(step);
        }
        Ok((service.unwrap_or_else(Curve::zero), steps))
    }

    /// Left-over service of a tandem at once. `lowest` takes nothing away; cross traffic is bounded
    /// `without` some flow.
    pub(crate) fn pmoo(
        &self,
        tandem: &[ServerId],
        flows: &[FlowId],
        lowest: Option<FlowId>,
        without_flow: Without,
        to_the_end: bool,
    ) -> Result<Tandem, AnalysisError> {
        let network = self.network();
        let least_urgent = flows.iter().map(|id| network.flow(*id).priority).max();
        let mut servers = Vec::with_capacity(tandem.len());
        // Where each flow joined, if it is still there; and all stays so far.
        let mut joined = HashMap::<FlowId, usize>::new();
        let mut stays = std::collections::BTreeMap::<(usize, usize), Vec<FlowId>>::new();
        for (index, server) in tandem.iter().enumerate() {
            self.strict(*server)?;
            let last = to_the_end && index + 1 == tandem.len();
            let mut service = self.service(*server, last)?;
            let mut others = without(&difference(network.flows_at(*server), flows), lowest);
            if self.common.multiplexing(*server) == Multiplexing::StaticPriority {
                let (before, behind): (Vec<_>, Vec<_>) = others
                    .into_iter()
                    .partition(|id| Some(network.flow(*id).priority) <= least_urgent);
                let packet = behind.iter().map(|id| &network.flow(*id).maximum_packet).max();
                if let Some(packet) = packet.filter(|packet| packet.is_positive()) {
                    service = operations::lowered(&service, packet)?;
                }
                others = before;
            }
            let earlier = index.checked_sub(1).and_then(|index| tandem.get(index));
            let mut here = HashMap::with_capacity(others.len());
            for id in others {
                let came_along =
                    earlier.is_some_and(|before| network.predecessor(id, *server) == Some(*before));
                // One that comes back by another way stays where it was until it joins again.
                let first = if came_along { joined.remove(&id) } else { None };
                here.insert(id, first.unwrap_or(index));
            }
            for (id, first) in joined.drain() {
                stays.entry((first, index.saturating_sub(1))).or_default().push(id);
            }
            joined = here;
            servers.push(pmoo::rate_latencies(&service));
        }
        for (id, first) in joined {
            stays.entry((first, tandem.len().saturating_sub(1))).or_default().push(id);
        }
        // All hold with respect to the same backlogged periods.
        let mut found = Vec::new();
        for stays in self.prolonged(tandem, stays) {
            let mut crossings = Vec::with_capacity(stays.len());
            let mut of_stays = Vec::with_capacity(stays.len());
            for Stay { first, last, flows } in stays {
                let ends = tandem.get(first).zip(tandem.get(last));
                let Some((server, end)) = ends else { continue };
                let arrival = match without_flow {
                    Without::Nobody => self.arrival(*server, &flows, None)?,
                    Without::AlongItsPath(flow) => self.cross_traffic(*server, &flows, flow)?,
                    Without::Wherever(flow) => self.arrival(*server, &flows, flow)?,
                };
                crossings.push(Crossing { first, last, buckets: pmoo::token_buckets(&arrival) });
                of_stays.push((*server, *end, arrival));
            }
            found.push((pmoo::left_over(&servers, &crossings), of_stays));
        }
        let services = pmoo::pareto(found.iter().flat_map(|(left, _)| left.clone()).collect());
        // What crosses where the latency is smallest.
        let fastest = |(left, _): &(Vec<RateLatency>, _)| {
            services.first().is_none_or(|service| left.contains(service))
        };
        let crossings = found.iter().find(|found| fastest(found)).map(|(_, stays)| stays.clone());
        Ok(Tandem { services, crossings: crossings.unwrap_or_default() })
    }

    /// The stays of cross traffic on a tandem as they are and, if the settings say so, with flows prolonged.
    fn prolonged(
        &self,
        tandem: &[ServerId],
        stays: std::collections::BTreeMap<(usize, usize), Vec<FlowId>>,
    ) -> Vec<Vec<Stay>> {
        let mut as_they_are = Vec::with_capacity(stays.len());
        for ((first, last), mut flows) in stays {
            flows.sort_unstable();
            as_they_are.push(Stay { first, last, flows });
        }
        if !self.common.settings.prolong {
            return vec![as_they_are];
        }
        prolong::variants(as_they_are, |id, first| {
            let first = tandem.get(first)?;
            self.network().predecessor(id, *first)
        })
    }

    /// Left-over service of a tandem that is cut into parts in every way that may be best.
    ///
    /// Trying all 2^(n-1) ways is not needed: what counts of a beginning is its rate and its
    /// latency, and of two with the same end the one that is worse in both is never part of the
    /// best.
    pub(crate) fn tandem_matching(
        &self,
        tandem: &[ServerId],
        flows: &[FlowId],
        lowest: Option<FlowId>,
        to_the_end: bool,
    ) -> Result<Vec<RateLatency>, AnalysisError> {
        let start =
            RateLatency { rate: crate::Extended::PositiveInfinity, latency: Rational::ZERO };
        let mut best: Vec<Vec<RateLatency>> = vec![vec![start]];
        for end in 1..=tandem.len() {
            let mut found = Vec::new();
            for begin in 0..end {
                let (Some(before), Some(part)) = (best.get(begin), tandem.get(begin..end)) else {
                    continue;
                };
                if before.is_empty() {
                    continue;
                }
                let last = to_the_end && end == tandem.len();
                let without = Without::AlongItsPath(lowest);
                let left = self.pmoo(part, flows, lowest, without, last)?;
                for service in &left.services {
                    found.extend(before.iter().map(|before| RateLatency {
                        rate: before.rate.clone().min(service.rate.clone()),
                        latency: &before.latency + &service.latency,
                    }));
                }
            }
            best.push(pmoo::pareto(found));
        }
        Ok(best.pop().unwrap_or_default())
    }
}

/// Arrivals behind a strict server in which never more than the backlog waits.
///
/// Let all that waits have come since u. What leaves of the flows in (s, t] is at most what they
/// brought in (u, t] less what was served of them in (u, s], which is the service less what others
/// brought in (u, s]. That is the backlog at s, as it is bounded, and what they brought in (s, t],
/// where their burst counts already.
fn capped(arrival: &Curve, backlog: &Rational) -> Result<Curve, AnalysisError> {
    let buckets = pmoo::token_buckets(arrival);
    let Some(burst) = buckets.first().map(|bucket| bucket.burst.clone()) else {
        return Ok(super::affine::unbounded());
    };
    let raised = buckets.into_iter().map(|bucket| (bucket.burst - &burst + backlog, bucket.rate));
    Ok(Curve::token_buckets(raised).unwrap_or_else(|_| super::affine::unbounded()))
}

/// The smallest output over several service curves that all hold.
fn output_of_any(arrival: &Curve, services: &[RateLatency]) -> Result<Curve, AnalysisError> {
    let mut best: Option<Curve> = None;
    for service in services.iter().filter_map(RateLatency::curve) {
        let output = operations::deconvolution(arrival, &service)?;
        best = Some(match best {
            None => output,
            Some(other) => operations::minimum(&other, &output)?,
        });
    }
    Ok(best.unwrap_or_else(super::affine::unbounded))
}
