//! Sink trees: FIFO networks in which all flows end at one root.
//!
//! All flows that join the path of the flow of interest at a server stay on it to the end, so the
//! rest of the path is one FIFO system for these flows and for all that came before. The residual
//! service is computed from the root backwards: the service curve of a server, convolved with the
//! residual service of the rest of the path, is reduced by the flows that join there (FIFO residual
//! service curve). Flows that start together with the flow of interest form one aggregate with it.
//! Joining flows are bounded by their arrival curves at the sources, delayed aggregate by
//! aggregate, because no flow leaves on the way.
//!
//! Every choice of the parameters theta of the residual service curves yields a bound. In the best
//! choice, each theta is the time that the last bit of the burst of interest spends in the rest of
//! the system. For token buckets and rate-latency curves that time is known. A joining burst is
//! forwarded at a rate that is reduced in proportion by each server which cannot forward all that
//! arrives together, and the delay is the sum of the latencies and of the bursts divided by these
//! rates. The result is then the exact worst case (Lenzini, Martorini, Mingozzi and Stea, "Tight
//! end-to-end per-flow delay bounds in FIFO multiplexing sink-tree networks", Performance
//! Evaluation 63, 2006). To choose these parameters, curves of several segments are decomposed into
//! token buckets and rate-latency curves, and the smallest bound of all choices is used.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Analysis, AnalysisError, FlowBound};
use crate::network::arrival::Common;
use crate::network::derivation::{Derivation, Step};
use crate::network::elements::{FlowId, Multiplexing, ServerId};
use crate::network::operations;
use crate::network::pmoo::{self, RateLatency, TokenBucket};
use crate::{Curve, Extended, Rational};

/// The largest number of choices of token buckets and rate-latency curves for which a bound is
/// computed.
const MAX_CHOICES: usize = 64;

/// Returns the bounds of a flow in a sink tree.
pub(super) fn bound(common: &Common<'_>, id: FlowId) -> Result<FlowBound, AnalysisError> {
    let network = common.network;
    let flow = network.flow(id);
    check(common, id)?;
    let mut joining = Vec::with_capacity(flow.path.len());
    for (index, server) in flow.path.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| flow.path.get(index)).copied();
        let joins =
            |other: &&FlowId| before.is_none() || network.predecessor(**other, *server) != before;
        let flows: Vec<FlowId> = network.flows_at(*server).iter().filter(joins).copied().collect();
        let arrival = joined(common, *server, &flows)?;
        joining.push((*server, flows, arrival));
    }
    let aggregate = joining.first().map_or_else(Curve::zero, |(_, _, arrival)| (**arrival).clone());
    let mut best: Option<(Extended, Vec<Step>, Curve)> = None;
    for exits in exits(common, &joining) {
        common.go_on()?;
        let (service, steps) = left_over(common, &joining, exits.as_deref())?;
        let delay = operations::horizontal_deviation(&aggregate, &service)?;
        if best.as_ref().is_none_or(|(least, ..)| delay < *least) {
            best = Some((delay, steps, service));
        }
    }
    let (delay, steps, service) =
        best.unwrap_or((Extended::PositiveInfinity, Vec::new(), Curve::zero()));
    let derivation = Derivation { steps, services: vec![service] };
    FlowBound::of_delay(common, Analysis::SinkTree, id, delay, derivation)
}

/// The flows that join the path at a server: the server, the flows, and their joint arrival curve
/// there.
type Joining = (ServerId, Vec<FlowId>, Arc<Curve>);

/// Returns the residual service curve of the path for the traffic that starts there, with the steps
/// of its derivation. Each theta follows from `exits`, the times at which a burst from the start of
/// the path leaves each server. Without `exits`, each theta is the time in which a server serves
/// the joining burst.
fn left_over(
    common: &Common<'_>,
    joining: &[Joining],
    exits: Option<&[Rational]>,
) -> Result<(Curve, Vec<Step>), AnalysisError> {
    // The residual service of the servers after the current one, for all flows that came before.
    let mut rest: Option<Curve> = None;
    let mut steps = Vec::new();
    for (index, (server, flows, arrival)) in joining.iter().enumerate().rev() {
        let service = common.service(*server, index + 1 == joining.len())?;
        let mut together = match &rest {
            None => service,
            Some(rest) => operations::convolution(&service, rest)?,
        };
        if index > 0 && !flows.is_empty() {
            let times = exits.and_then(|exits| Some((exits.last()?, exits.get(index - 1)?)));
            together = match times {
                Some((end, entry)) => {
                    operations::fifo_left_over_at(&together, arrival, &(end - entry))?
                }
                None => operations::fifo_left_over(&together, arrival)?,
            };
        }
        steps.push(Step::Joining {
            server: *server,
            cross: flows.clone(),
            arrival: Arc::clone(arrival),
            service: together.clone(),
        });
        rest = Some(together);
    }
    steps.reverse();
    Ok((rest.unwrap_or_else(Curve::zero), steps))
}

/// Returns the times at which the last bit of the burst at the start of the path leaves each
/// server, if all bursts arrive at the worst time.
///
/// There is one result for each choice of one token bucket out of each arrival curve and one
/// rate-latency curve out of each service curve, up to [`MAX_CHOICES`]. The first choice consists
/// of the curves that hold in the long run. A result is `None` if its choice overloads a server.
fn exits(common: &Common<'_>, joining: &[Joining]) -> Vec<Option<Vec<Rational>>> {
    let mut parts = Vec::with_capacity(joining.len());
    for (index, (server, _, arrival)) in joining.iter().enumerate() {
        let service = common.service(*server, index + 1 == joining.len());
        let mut services = service.map_or_else(|_| Vec::new(), |s| pmoo::rate_latencies(&s));
        let mut buckets = pmoo::token_buckets(arrival);
        services.reverse();
        buckets.reverse();
        parts.push((services, buckets));
    }
    let sizes: Vec<usize> =
        parts.iter().flat_map(|(services, buckets)| [services.len(), buckets.len()]).collect();
    let product = |count: usize, size: &usize| count.saturating_mul((*size).max(1));
    let count = sizes.iter().fold(1, product);
    let longest = sizes.iter().copied().max().unwrap_or(1);
    // There are too many choices to try all. So all curves are varied together, in the order from
    // those that hold in the long run to those that hold in the short run.
    let all = count <= MAX_CHOICES;
    let tried = if all { count } else { longest.min(MAX_CHOICES) };
    let mut found = Vec::with_capacity(tried);
    for choice in 0..tried {
        let mut number = choice;
        let mut digit = |size: usize| {
            let size = size.max(1);
            let digit = if all { number % size } else { number.min(size - 1) };
            if all {
                number /= size;
            }
            digit
        };
        let mut chosen = Vec::with_capacity(parts.len());
        for (services, buckets) in &parts {
            let service = services.get(digit(services.len()));
            chosen.extend(service.zip(buckets.get(digit(buckets.len()))));
        }
        found.push((chosen.len() == parts.len()).then(|| exits_of(&chosen)).flatten());
    }
    found
}

/// Returns the times at which the burst at the start of the path leaves each server, given one
/// rate-latency curve and one token bucket at each server, or `None` if a server is overloaded.
fn exits_of(chosen: &[(&RateLatency, &TokenBucket)]) -> Option<Vec<Rational>> {
    let mut exits = Vec::with_capacity(chosen.len());
    for end in 1..=chosen.len() {
        let servers = chosen.get(..end)?;
        let mut exit = Rational::ZERO;
        for (index, (service, bucket)) in servers.iter().enumerate() {
            // The rate at which this burst leaves, and the rate of all bursts that arrive together
            // with it.
            let rate = service.rate.finite()?;
            let (mut clearing, mut together) = (rate.clone(), rate.clone());
            for (limit, joining) in servers.iter().skip(index + 1) {
                let limit = limit.rate.finite()?;
                together += &joining.rate;
                if together > *limit {
                    clearing = clearing * limit / &together;
                    together = limit.clone();
                }
            }
            exit += &service.latency;
            exit += &bucket.burst.checked_div(&clearing)?;
        }
        exits.push(exit);
    }
    Some(exits)
}

/// Returns the joint arrival curve of some flows at a server. They must be all flows that come over
/// their links.
fn joined(
    common: &Common<'_>,
    server: ServerId,
    flows: &[FlowId],
) -> Result<Arc<Curve>, AnalysisError> {
    let network = common.network;
    let mut total = Curve::zero();
    let mut links: Vec<ServerId> = Vec::new();
    for id in flows {
        match network.predecessor(*id, server) {
            None => total = operations::sum(&total, &network.flow(*id).arrival)?,
            Some(before) if !links.contains(&before) => links.push(before),
            Some(_) => {}
        }
    }
    // All flows of the previous server continue to this one.
    for before in links {
        common.go_on()?;
        let there = joined(common, before, network.flows_at(before))?;
        let behind = operations::deconvolution(&there, &common.service(before, false)?)?;
        total = common.shortened(operations::sum(&total, &behind)?);
    }
    Ok(Arc::new(total))
}

/// Checks that all flows which interact with the flow of interest end at its last server. Flows
/// interact if they share a server, or if each interacts with a third one.
fn check(common: &Common<'_>, id: FlowId) -> Result<(), AnalysisError> {
    let network = common.network;
    let fault = |why: String| Err(AnalysisError::NotSinkTree(why));
    let Some(root) = network.flow(id).path.last().copied() else { return Ok(()) };
    let name = |server: ServerId| &network.server(server).name;
    let mut seen = HashSet::new();
    for other in network.flows_at(root) {
        let path = &network.flow(*other).path;
        for (index, server) in path.iter().enumerate() {
            // All flows of a server continue to the same next server, so each server is checked
            // once.
            if !seen.insert(*server) {
                continue;
            }
            common.go_on()?;
            if common.multiplexing(*server) != Multiplexing::Fifo {
                return fault(format!("server '{}' is not FIFO", name(*server)));
            }
            let next = path.get(index + 1).copied();
            for crossing in network.flows_at(*server) {
                let path = &network.flow(*crossing).path;
                if path.last() != Some(&root) {
                    let flow = &network.flow(*crossing).name;
                    return fault(format!("flow '{flow}' does not go to '{}'", name(root)));
                }
                let position = network.position(*crossing, *server).unwrap_or(0);
                if path.get(position + 1).copied() != next {
                    return fault(format!("paths diverge after server '{}'", name(*server)));
                }
            }
        }
    }
    Ok(())
}
