//! Arrival curves of cross traffic inside a network, and the residual (left-over) service that they
//! depend on.
//!
//! Both are computed by mutual recursion. The residual service for some flows at a server depends
//! on the arrival curves of the other flows there, and these depend on the residual service at the
//! previous servers. The recursion follows the paths backwards, so it ends if no flow depends on
//! itself cyclically.

mod common;
mod left_over;

use std::cell::Cell;
use std::sync::Arc;

use super::cache::{CacheKey, CacheRef, FlowCaches, SharedCaches};
use super::cycles::CutLink;
use super::derivation::CrossFlows;
use super::elements::{FlowId, ServerId};
use super::model::Network;
use super::pmoo::{self, RateLatency};
use super::sets::Group;
use super::settings::ArrivalBound;
use super::{AnalysisError, operations};
use crate::{Curve, Extended, Rational};

pub(crate) use common::Common;

/// The largest depth of the recursion over cross traffic. The stacks of analysing threads suffice
/// for it.
const DEEPEST: usize = 20_000;

/// The caches of the results that hold for all flows of interest.
type Known = SharedCaches<Arc<Curve>, Arc<LeftOver>>;

/// The cross traffic of a tandem whose arrivals are bounded as if one flow sent nothing. That flow
/// is assumed to have the lowest priority, so it does not delay the cross traffic.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Without {
    /// No flow is left out.
    NoFlow,
    /// The flow is left out only for cross traffic that comes to the tandem over the same link as
    /// the flow.
    AlongItsPath(Option<FlowId>),
    /// The flow is left out for all cross traffic of the tandem.
    Wherever(Option<FlowId>),
}

/// The residual service of one server: the service that remains for some flows there after the
/// others (the cross flows) have been served.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct LeftOver {
    pub(crate) server: ServerId,
    /// The cross flows at the server.
    pub(crate) cross: CrossFlows,
    /// The joint arrival curve of the cross flows at the server.
    pub(crate) arrival: Arc<Curve>,
    /// The residual service curve of the server for the other flows.
    pub(crate) service: Curve,
}

/// The residual service of a tandem (several servers in a row): the service that remains for some
/// flows after the others (the cross flows) have been served.
#[derive(Clone, Debug)]
pub(crate) struct Tandem {
    /// Rate-latency curves whose maximum is the residual service curve.
    pub(crate) services: Vec<RateLatency>,
    /// The cross traffic of the tandem: its first server, its last server, and its arrival curve at
    /// the first one.
    pub(crate) crossings: Vec<(ServerId, ServerId, Arc<Curve>)>,
}

/// A link from one server to the next, with some of the flows over it.
#[derive(Clone, Copy, Debug)]
struct Link<'a> {
    from: ServerId,
    to: ServerId,
    flows: &'a Group,
}

/// Computes arrival curves and residual service for one flow of interest.
#[derive(Debug)]
pub(crate) struct Bounder<'c, 'n> {
    pub(crate) common: &'c Common<'n>,
    /// The caches of the results that hold for this flow of interest only.
    own: FlowCaches<Arc<Curve>, Arc<LeftOver>>,
    depth: Cell<usize>,
}

impl<'c, 'n> Bounder<'c, 'n> {
    pub(crate) fn new(common: &'c Common<'n>) -> Self {
        Self { common, own: FlowCaches::default(), depth: Cell::new(0) }
    }

    fn network(&self) -> &'n Network {
        self.common.network
    }

    /// Returns the arrival curve of some flows together at a server. The flow `lowest` is not
    /// counted anywhere, since it is assumed to have the lowest priority.
    pub(crate) fn arrival(
        &self,
        server: ServerId,
        flows: &Group,
        lowest: Option<FlowId>,
    ) -> Result<Arc<Curve>, AnalysisError> {
        self.arrival_from(server, flows, |_| lowest)
    }

    /// Returns the arrival curve of some flows together at a server. The function `lowest` returns
    /// the flow that is not counted among the flows that come from a given server, or from their
    /// source (`None`).
    fn arrival_from(
        &self,
        server: ServerId,
        flows: &Group,
        lowest: impl Fn(Option<ServerId>) -> Option<FlowId>,
    ) -> Result<Arc<Curve>, AnalysisError> {
        let sets = &self.common.sets;
        let origins = sets.origins(server, flows);
        let sources = sets.without(origins.sources, lowest(None));
        let mut total = (!sources.is_empty()).then(|| sets.at_sources(&sources)).transpose()?;
        for over in origins.over {
            let lowest = lowest(Some(over.from));
            let flows = sets.without(over.flows, lowest);
            if flows.is_empty() {
                continue;
            }
            let curve = self.arrival_over(over.from, server, flows, lowest)?;
            total = Some(match total {
                None => curve,
                Some(sum) => Arc::new(self.common.shortened(operations::sum(&sum, &curve)?)),
            });
        }
        Ok(total.unwrap_or_else(|| Arc::new(Curve::zero())))
    }

    /// Returns the arrival curve of some flows together that come over one link. If the link is
    /// cut, the curve is known beforehand.
    fn arrival_over(
        &self,
        from: ServerId,
        to: ServerId,
        flows: Group,
        lowest: Option<FlowId>,
    ) -> Result<Arc<Curve>, AnalysisError> {
        if let Some(cuts) = &self.common.cuts
            && let Some(known) = cuts.arrival(CutLink { from, to }, &flows)?
        {
            self.common.go_on()?;
            let curve = self.shaped((*known).clone(), Link { from, to, flows: &flows })?;
            return Ok(Arc::new(self.common.shortened(curve)));
        }
        self.arrival_behind(from, to, flows, lowest)
    }

    /// Returns the arrival curve of some flows together over a link, derived from the arrivals and
    /// the service at the server `from`. A curve that is known because the link is cut is not used.
    pub(crate) fn arrival_behind(
        &self,
        from: ServerId,
        to: ServerId,
        flows: Group,
        lowest: Option<FlowId>,
    ) -> Result<Arc<Curve>, AnalysisError> {
        self.common.go_on()?;
        // If the exclusion of `lowest` cannot affect these flows, the result is valid for every
        // flow of interest.
        let affects = |lowest: &FlowId| self.common.may_be_excluded(*lowest, from, &flows);
        let lowest = lowest.filter(affects);
        let key = CacheKey { from, to, flows: flows.key(), alone: None };
        let known = self.arrivals(lowest, &flows);
        if let Some(curve) = known.get(&key) {
            return Ok(curve);
        }
        let depth = self.depth.get();
        if depth >= DEEPEST {
            return Err(AnalysisError::TooDeep);
        }
        self.depth.set(depth + 1);
        let curve = self.compute(Link { from, to, flows: &flows }, lowest);
        self.depth.set(depth);
        let curve = Arc::new(self.common.shortened(curve?));
        known.put(key, Arc::clone(&curve));
        Ok(curve)
    }

    /// Returns whether a result holds for every flow of interest, and is likely to be needed for
    /// several of them, so that it belongs in the shared cache.
    fn is_for_all(&self, lowest: Option<FlowId>, flows: &Group) -> bool {
        lowest.is_none() && (self.common.keeps_all || flows.is_plain())
    }

    /// Returns the cache for the arrival curve of `flows` over a link: that of all flows of
    /// interest, or that of this one.
    fn arrivals(&self, lowest: Option<FlowId>, flows: &Group) -> CacheRef<'_, Arc<Curve>> {
        match self.is_for_all(lowest, flows) {
            true => CacheRef::Shared(&self.common.caches.arrivals),
            false => CacheRef::Own(&self.own.arrivals, lowest),
        }
    }

    /// Returns the cache for the residual service of a server for `flows`: that of all flows of
    /// interest, or that of this one.
    fn servers(&self, lowest: Option<FlowId>, flows: &Group) -> CacheRef<'_, Arc<LeftOver>> {
        match self.is_for_all(lowest, flows) {
            true => CacheRef::Shared(&self.common.caches.servers),
            false => CacheRef::Own(&self.own.servers, lowest),
        }
    }

    /// Returns the cache for the residual service of a tandem for `flows`: that of all flows of
    /// interest, or that of this one.
    fn tandems(&self, lowest: Option<FlowId>, flows: &Group) -> CacheRef<'_, Arc<Curve>> {
        match self.is_for_all(lowest, flows) {
            true => CacheRef::Shared(&self.common.caches.tandems),
            false => CacheRef::Own(&self.own.tandems, lowest),
        }
    }

    /// Computes the joint arrival curve of flows over a link, as the best of the methods that the
    /// settings allow.
    fn compute(&self, link: Link<'_>, lowest: Option<FlowId>) -> Result<Curve, AnalysisError> {
        let network = self.network();
        let Link { from, to, flows } = link;
        let mut best: Option<Curve> = None;
        let classes = self.classes(flows);
        if classes.len() > 1 {
            // Flows of different priorities receive different service.
            for class in classes {
                let curve = self.arrival_behind(from, to, class, lowest)?;
                best = Some(match best {
                    None => (*curve).clone(),
                    Some(sum) => operations::sum(&sum, &curve)?,
                });
            }
        } else {
            for method in &self.common.settings.arrival_bounds {
                let curve = self.bound(*method, link, lowest)?;
                best = Some(match best {
                    None => curve,
                    Some(other) => operations::minimum(&other, &curve)?,
                });
            }
        }
        let mut curve = best.ok_or(AnalysisError::NoArrivalBound)?;
        let server = network.server(from);
        // The output of all traffic of a server is also bounded by its arrival curve convolved with
        // the maximum service curve and deconvolved by the service curve (Le Boudec and Thiran,
        // theorem 1.6.3).
        if let Some(most) = &server.maximum_service
            && flows.len() == network.flows_at(from).len()
        {
            let arrival = self.arrival(from, flows, None)?;
            let passed = operations::convolution(&arrival, most)?;
            let behind = operations::deconvolution(&passed, &self.service(from, false)?)?;
            curve = operations::minimum(&curve, &behind)?;
        }
        if self.common.settings.cap_bursts && server.strict {
            let arrival = self.arrival(from, flows, lowest)?;
            let service = self.service(from, false)?;
            let all = self.arrival(from, &self.common.sets.at(from), None)?;
            if let Extended::Finite(backlog) = operations::vertical_deviation(&all, &service)? {
                curve = operations::minimum(&curve, &capped(&arrival, &backlog)?)?;
            }
        }
        self.shaped(curve, link)
    }

    /// Returns the minimum of an arrival curve over a link and the shaping curves that apply there.
    fn shaped(&self, mut curve: Curve, link: Link<'_>) -> Result<Curve, AnalysisError> {
        let Link { from, to, flows } = link;
        let (network, server) = (self.network(), self.network().server(from));
        for shaping in server.shaping.iter().chain(network.link(from, to)) {
            let mut shaping = shaping.clone();
            if server.packetizer {
                let packet = self.common.sets.largest_packet(flows);
                shaping = operations::raised(&shaping, &packet)?;
            }
            curve = operations::minimum(&curve, &shaping)?;
        }
        Ok(curve)
    }

    /// Returns the flows divided by priority, or in one group if no server has static priority.
    fn classes(&self, flows: &Group) -> Vec<Group> {
        match self.common.priorities {
            true => self.common.sets.classes(flows),
            false => vec![flows.clone()],
        }
    }

    /// Returns the arrival curve of flows over a link, computed by one method.
    fn bound(
        &self,
        method: ArrivalBound,
        link: Link<'_>,
        lowest: Option<FlowId>,
    ) -> Result<Curve, AnalysisError> {
        use ArrivalBound as By;
        let flows = link.flows;
        match method {
            By::AggregatePboo
            | By::AggregatePbooPerServer
            | By::AggregatePmoo
            | By::AggregateTandemMatching => {
                let shared = self.shared(link);
                let Some(first) = shared.first() else { return Err(AnalysisError::NoArrivalBound) };
                let arrival = self.arrival(*first, flows, lowest)?;
                self.output(method, &arrival, &shared, flows, lowest)
            }
            By::SegregatedPboo | By::SegregatedPmoo | By::SegregatedTandemMatching => {
                let mut total: Option<Curve> = None;
                for id in flows.iter() {
                    let curve = self.alone(method, link, id)?;
                    total = Some(match total {
                        None => (*curve).clone(),
                        Some(sum) => self.common.shortened(operations::sum(&sum, &curve)?),
                    });
                }
                total.ok_or(AnalysisError::NoArrivalBound)
            }
        }
    }

    /// Returns the arrival curve of one flow over a link. It is computed from the residual service
    /// on the flow's path up to the link, as if that flow were the flow of interest.
    fn alone(
        &self,
        method: ArrivalBound,
        link: Link<'_>,
        id: FlowId,
    ) -> Result<Arc<Curve>, AnalysisError> {
        self.common.go_on()?;
        let Link { from, to, .. } = link;
        let of_interest = self.common.sets.alone(id);
        let key = CacheKey { from, to, flows: of_interest.key(), alone: Some(method) };
        if let Some(curve) = self.common.caches.arrivals.get(&key) {
            return Ok(curve);
        }
        let flow = self.network().flow(id);
        let end = self.network().position(id, to).unwrap_or(flow.path.len());
        let path = flow.path.get(..end).unwrap_or_default();
        let alone = Bounder::new(self.common);
        alone.depth.set(self.depth.get());
        // The part of the path before a cut link is replaced by the arrivals that are known after
        // the link.
        let is_cut = |pair: &[ServerId]| matches!(pair, [a, b] if self.common.is_cut(*a, *b));
        let begin = path.windows(2).rposition(is_cut).map_or(0, |place| place + 1);
        let path = path.get(begin..).unwrap_or_default();
        let arrival = match path.first().filter(|_| begin > 0) {
            None => Arc::new(flow.arrival.clone()),
            Some(first) => self.arrival(*first, &of_interest, None)?,
        };
        let lowest = self.common.lowest(id);
        let curve = alone.output(method, &arrival, path, &of_interest, lowest)?;
        let curve = Arc::new(self.common.shortened(curve));
        self.common.caches.arrivals.put(key, Arc::clone(&curve));
        Ok(curve)
    }

    /// Returns the last servers before a link that all flows over the link visit together, in the
    /// order of the path.
    fn shared(&self, link: Link<'_>) -> Vec<ServerId> {
        let mut shared = vec![link.from];
        let (mut at, mut flows) = (link.from, link.flows.clone());
        loop {
            let mut origins = self.common.sets.origins(at, &flows);
            match origins.over.pop() {
                Some(over)
                    if origins.over.is_empty()
                        && origins.sources.is_empty()
                        && !self.common.is_cut(over.from, at) =>
                {
                    shared.push(over.from);
                    (at, flows) = (over.from, over.flows);
                }
                _ => break,
            }
        }
        shared.reverse();
        shared
    }

    /// Returns the arrival curve of a flow after the last server of its path, given the residual
    /// service curve of the path.
    pub(crate) fn behind_last(&self, id: FlowId, service: &Curve) -> Result<Curve, AnalysisError> {
        let flow = self.network().flow(id);
        let mut output = operations::deconvolution(&flow.arrival, service)?;
        let last = flow.path.last().map(|server| self.network().server(*server));
        if last.is_some_and(|server| server.packetizer) {
            output = operations::raised(&output, &flow.maximum_packet)?;
        }
        Ok(output)
    }

    /// Returns the joint arrival curve of some flows after a tandem, computed by one method.
    /// `arrival` is their joint arrival curve before the tandem.
    fn output(
        &self,
        method: ArrivalBound,
        arrival: &Curve,
        tandem: &[ServerId],
        flows: &Group,
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
                // DNC, whose results are reproduced, leaves out `lowest` only if the tandem is a
                // single server.
                let without = match (tandem.len(), method) {
                    (1, By::AggregatePmoo) => Without::Wherever(lowest),
                    _ => Without::NoFlow,
                };
                let left = self.pmoo(tandem, flows, lowest, without, false)?;
                // All curves are valid for the same backlogged period, so their maximum is a
                // service curve as well.
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
}

/// Returns the arrival curve of the output of a strict server whose backlog is bounded, given the
/// flows' arrival curve and the backlog bound.
///
/// Let u be the start of the backlogged period at time s. The output of the flows in (s, t] is at
/// most their arrivals in (u, t] less the part of them that was served in (u, s]. This part is the
/// server's service less the arrivals of the other flows in (u, s]. The sum is at most the backlog
/// at s, which is bounded, plus the flows' arrivals in (s, t], whose burst the backlog already
/// includes.
fn capped(arrival: &Curve, backlog: &Rational) -> Result<Curve, AnalysisError> {
    let buckets = pmoo::token_buckets(arrival);
    let Some(burst) = buckets.first().map(|bucket| bucket.burst.clone()) else {
        return Ok(super::affine::unbounded());
    };
    let raised = buckets.into_iter().map(|bucket| (bucket.burst - &burst + backlog, bucket.rate));
    Ok(Curve::token_buckets(raised).unwrap_or_else(|_| super::affine::unbounded()))
}

/// Returns the minimum of the arrival curves that several service curves of the same servers yield
/// for their output.
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
