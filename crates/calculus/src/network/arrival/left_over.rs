//! The residual (left-over) service of servers and tandems: the service that remains for some flows
//! after the other flows have been served.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Bounder, LeftOver, Tandem, Without};
use crate::network::cache::CacheKey;
use crate::network::derivation::CrossFlows;
use crate::network::elements::{FlowId, Multiplexing, Priority, ServerId};
use crate::network::pmoo::{self, Crossing, RateLatency};
use crate::network::prolong::{self, Stay};
use crate::network::sets::Group;
use crate::network::{AnalysisError, operations};
use crate::{Curve, Rational};

/// Some flows at a server, and the other flows there that compete with them for service.
struct Competing<'a> {
    server: ServerId,
    flows: &'a Group,
    others: Group,
}

/// Cross flows that visit exactly the servers `first..=last` of a tandem.
struct Crosses {
    first: usize,
    last: usize,
    flows: Group,
}

impl Bounder<'_, '_> {
    pub(super) fn service(&self, server: ServerId, last: bool) -> Result<Curve, AnalysisError> {
        self.common.service(server, last)
    }

    pub(crate) fn strict(&self, server: ServerId) -> Result<(), AnalysisError> {
        let server = self.network().server(server);
        if server.strict { Ok(()) } else { Err(AnalysisError::NotStrict(server.name.clone())) }
    }

    /// Returns the residual service of one server for `flows`. The flow `lowest` is not counted as
    /// cross traffic.
    pub(crate) fn left_over(
        &self,
        server: ServerId,
        flows: &Group,
        lowest: Option<FlowId>,
        last: bool,
    ) -> Result<LeftOver, AnalysisError> {
        let sets = &self.common.sets;
        let others = sets.without(sets.others(server, flows), lowest);
        let service = self.service(server, last)?;
        let multiplexing = self.common.multiplexing(server);
        if multiplexing == Multiplexing::StaticPriority {
            return self.left_over_by_priority(
                Competing { server, flows, others },
                service,
                lowest,
            );
        }
        let cross = CrossFlows::of(&others);
        if others.is_empty() {
            let arrival = Arc::new(Curve::zero());
            return Ok(LeftOver { server, cross, arrival, service });
        }
        let arrival = self.cross_traffic(server, &others, lowest)?;
        let service = if multiplexing == Multiplexing::Fifo {
            operations::fifo_left_over(&service, &arrival)?
        } else {
            self.strict(server)?;
            operations::left_over(&service, &arrival)?
        };
        Ok(LeftOver { server, cross, arrival, service })
    }

    /// Returns the residual service of a server with static priority, at which flows of one
    /// priority are served in the order of arrival.
    fn left_over_by_priority(
        &self,
        competing: Competing<'_>,
        service: Curve,
        lowest: Option<FlowId>,
    ) -> Result<LeftOver, AnalysisError> {
        let Competing { server, flows, others } = competing;
        let (network, sets) = (self.network(), &self.common.sets);
        let priorities = || flows.iter().map(|id| network.flow(id).priority);
        let most_urgent = priorities().min().unwrap_or_default();
        let least_urgent = priorities().max().unwrap_or_default();
        let [before, behind] = sets.until(least_urgent, &others);
        // Flows of one priority are FIFO among each other. If `flows` have several priorities, all
        // traffic at least as urgent as the least urgent of them may be served first.
        let nothing = || sets.group(Vec::new());
        let [urgent, equal] = match most_urgent.0.checked_sub(1) {
            _ if most_urgent < least_urgent => [before.clone(), nothing()],
            None => [nothing(), before.clone()],
            Some(more_urgent) => sets.until(Priority(more_urgent), &before),
        };
        let packet = sets.largest_packet(&behind);
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
        Ok(LeftOver { server, cross: CrossFlows::of(&before), arrival, service })
    }

    /// Returns the joint arrival curve at a server of `flows`, which are cross traffic there. The
    /// flow `lowest` is left out when flows that come over the same link as `lowest` are bounded.
    /// It is counted for all other flows, because they may have met it before on another path.
    fn cross_traffic(
        &self,
        server: ServerId,
        flows: &Group,
        lowest: Option<FlowId>,
    ) -> Result<Arc<Curve>, AnalysisError> {
        let before = lowest.and_then(|flow| self.network().predecessor(flow, server));
        self.arrival_from(server, flows, |from| lowest.filter(|_| from.is_some() && from == before))
    }

    /// Returns the residual service of a server for flows that continue to another one, from the
    /// cache if possible.
    pub(super) fn remembered_left_over(
        &self,
        server: ServerId,
        flows: &Group,
        lowest: Option<FlowId>,
    ) -> Result<Arc<LeftOver>, AnalysisError> {
        let lowest = lowest.filter(|flow| self.network().position(*flow, server).is_some());
        let key = CacheKey { from: server, to: server, flows: flows.key(), alone: None };
        let known = self.servers(lowest, flows);
        if let Some(left) = known.get(&key) {
            return Ok(left);
        }
        let left = Arc::new(self.left_over(server, flows, lowest, false)?);
        known.put(key, Arc::clone(&left));
        Ok(left)
    }

    /// Returns the residual service of a tandem for flows that continue to another server: the
    /// convolution of the residual service of the servers (PBOO). Results for the beginning of the
    /// tandem are taken from the cache.
    pub(super) fn pboo_service(
        &self,
        tandem: &[ServerId],
        flows: &Group,
        lowest: Option<FlowId>,
    ) -> Result<Arc<Curve>, AnalysisError> {
        let Some(first) = tandem.first() else { return Ok(Arc::new(Curve::zero())) };
        let key =
            |last: ServerId| CacheKey { from: *first, to: last, flows: flows.key(), alone: None };
        let cache = self.tandems(lowest, flows);
        let known = tandem
            .iter()
            .enumerate()
            .rev()
            .find_map(|(index, last)| Some((index + 1, cache.get(&key(*last))?)));
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
            cache.put(key(*server), Arc::clone(&longer));
            service = Some(longer);
        }
        Ok(service.unwrap_or_else(|| Arc::new(Curve::zero())))
    }

    /// Returns the residual service of a tandem, as the convolution of the residual service of its
    /// servers (PBOO), and the residual service of each server.
    pub(crate) fn pboo(
        &self,
        tandem: &[ServerId],
        flows: &Group,
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

    /// Returns the residual service of a whole tandem (PMOO) for `flows`. The flow `lowest` is not
    /// part of the cross traffic. `without_flow` says for which cross traffic another bound is
    /// used, as if one flow sent nothing.
    pub(crate) fn pmoo(
        &self,
        tandem: &[ServerId],
        flows: &Group,
        lowest: Option<FlowId>,
        without_flow: Without,
        to_the_end: bool,
    ) -> Result<Tandem, AnalysisError> {
        let mut servers = Vec::with_capacity(tandem.len());
        for (index, server) in tandem.iter().enumerate() {
            self.common.go_on()?;
            self.strict(*server)?;
            let last = to_the_end && index + 1 == tandem.len();
            servers.push(self.service(*server, last)?);
        }
        let stays = self.stays(tandem, flows, lowest, &mut servers)?;
        let servers: Vec<_> = servers.iter().map(pmoo::rate_latencies).collect();
        // All curves are valid for the same backlogged periods.
        let mut found = Vec::new();
        for stays in self.prolonged(tandem, stays) {
            self.common.go_on()?;
            let mut crossings = Vec::with_capacity(stays.len());
            let mut of_stays = Vec::with_capacity(stays.len());
            for Crosses { first, last, flows } in stays {
                let ends = tandem.get(first).zip(tandem.get(last));
                let Some((server, end)) = ends else { continue };
                let arrival = match without_flow {
                    Without::NoFlow => self.arrival(*server, &flows, None)?,
                    Without::AlongItsPath(flow) => self.cross_traffic(*server, &flows, flow)?,
                    Without::Wherever(flow) => self.arrival(*server, &flows, flow)?,
                };
                crossings.push(Crossing { first, last, buckets: pmoo::token_buckets(&arrival) });
                of_stays.push((*server, *end, arrival));
            }
            found.push((pmoo::left_over(&servers, &crossings), of_stays));
        }
        let services = pmoo::pareto(found.iter().flat_map(|(left, _)| left.clone()).collect());
        // The cross traffic of the variant that has the smallest latency.
        let fastest = |(left, _): &(Vec<RateLatency>, _)| {
            services.first().is_none_or(|service| left.contains(service))
        };
        let crossings = found.iter().find(|found| fastest(found)).map(|(_, stays)| stays.clone());
        Ok(Tandem { services, crossings: crossings.unwrap_or_default() })
    }

    /// Returns the cross flows on a tandem, grouped by the first and the last server that they
    /// visit there (a stay). At a server with static priority, only flows that are at least as
    /// urgent as `flows` are cross flows, and its curve in `services` is reduced by one packet of
    /// the less urgent flows.
    fn stays(
        &self,
        tandem: &[ServerId],
        flows: &Group,
        lowest: Option<FlowId>,
        services: &mut [Curve],
    ) -> Result<Vec<Crosses>, AnalysisError> {
        let (network, sets) = (self.network(), &self.common.sets);
        let by_priority =
            |server: ServerId| self.common.multiplexing(server) == Multiplexing::StaticPriority;
        let least_urgent = match self.common.priorities {
            true => flows.iter().map(|id| network.flow(id).priority).max(),
            false => None,
        };
        let mut stays = BTreeMap::<(usize, usize), Vec<Group>>::new();
        // The cross flows that are still on the tandem, with the server at which they joined.
        let mut joined: Vec<(usize, Group)> = Vec::new();
        let mut earlier: Option<ServerId> = None;
        for (index, (server, service)) in tandem.iter().zip(services).enumerate() {
            let mut here = sets.without(sets.others(*server, flows), lowest);
            let counted = least_urgent.filter(|_| by_priority(*server));
            if let Some(least_urgent) = counted {
                let [before, behind] = sets.until(least_urgent, &here);
                let packet = sets.largest_packet(&behind);
                if packet.is_positive() {
                    *service = operations::lowered(service, &packet)?;
                }
                here = before;
            }
            let mut still = Vec::with_capacity(joined.len() + 1);
            if let Some(from) = earlier {
                // A flow that left the tandem and comes back over another link starts a new stay.
                let [along, mut joining] = sets.over(from, *server, &here);
                if let Some(least_urgent) = least_urgent.filter(|_| by_priority(from)) {
                    // Flows that did not count at the previous server are counted from here on.
                    let [_, newly] = sets.until(least_urgent, &along);
                    joining = sets.union(vec![joining, newly]);
                }
                here = joining;
                for (first, group) in joined {
                    let [mut stay, mut leave] = sets.over(from, *server, &group);
                    if let Some(least_urgent) = counted {
                        let [urgent, behind] = sets.until(least_urgent, &stay);
                        (stay, leave) = (urgent, sets.union(vec![leave, behind]));
                    }
                    stays.entry((first, index - 1)).or_default().push(leave);
                    still.push((first, stay));
                }
            }
            still.push((index, here));
            still.retain(|(_, group)| !group.is_empty());
            joined = still;
            earlier = Some(*server);
        }
        for (first, group) in joined {
            stays.entry((first, tandem.len().saturating_sub(1))).or_default().push(group);
        }
        let mut found = Vec::with_capacity(stays.len());
        for ((first, last), groups) in stays {
            let flows = sets.union(groups);
            if !flows.is_empty() {
                found.push(Crosses { first, last, flows });
            }
        }
        Ok(found)
    }

    /// Returns variants of the cross traffic on a tandem: the cross traffic itself and, if the
    /// settings allow it, variants in which some flows are assumed to stay on the tandem for longer
    /// than they do (flow prolongation).
    fn prolonged(&self, tandem: &[ServerId], stays: Vec<Crosses>) -> Vec<Vec<Crosses>> {
        if !self.common.settings.prolong {
            return vec![stays];
        }
        let listed = |Crosses { first, last, flows }: Crosses| Stay {
            first,
            last,
            flows: flows.iter().collect(),
        };
        let variants = prolong::variants(stays.into_iter().map(listed).collect(), |id, first| {
            let first = tandem.get(first)?;
            self.network().predecessor(id, *first)
        });
        let grouped = |Stay { first, last, flows }: Stay| Crosses {
            first,
            last,
            flows: self.common.sets.group(flows),
        };
        variants.into_iter().map(|stays| stays.into_iter().map(grouped).collect()).collect()
    }

    /// Returns the residual service of a tandem by tandem matching: the tandem is divided into
    /// parts, the residual service of each part is computed by PMOO, and the service of all parts
    /// is convolved. Returns the curves of those divisions that may be the best one.
    ///
    /// The servers up to some server may be divided in several ways. Of two such ways, the one with
    /// the lower rate and the larger latency is dropped, since no further part can make it the
    /// better one. Dynamic programming thus avoids trying all 2^(n-1) divisions.
    pub(crate) fn tandem_matching(
        &self,
        tandem: &[ServerId],
        flows: &Group,
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
