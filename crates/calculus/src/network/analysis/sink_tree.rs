//! Sink trees: FIFO networks in which all flows go to one root.
//!
//! All that joins the path of the flow at a server stays on it to the end, so the rest of the path
//! is one FIFO system for it and all that came before. From the root backwards: the service of the
//! rest, less what joins at its beginning (the FIFO left-over service curve), behind the server
//! before; what starts where the flow does is one aggregate with it. What joins is bounded by its
//! arrivals at the sources, delayed aggregate by aggregate, for nothing leaves on the way.
//!
//! Every choice of the parameters theta of the left-over curves gives a bound. The best one is how
//! long the last of the burst of interest is in the rest of the system. For token buckets and
//! rate-latency curves that is known: a burst that joins is passed on at a rate that each server
//! which cannot pass on all that comes together reduces in proportion, and the delay is the sum of
//! latencies and of bursts over these rates. The result is the exact worst case then (Lenzini, Martorini,
//! Mingozzi, Stea, "Tight end-to-end per-flow delay bounds in FIFO multiplexing sink-tree networks",
//! Performance Evaluation 63, 2006). Curves of several segments are taken apart into token buckets
//! and rate-latency curves for these parameters; the smallest bound of all choices counts.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Analysis, AnalysisError, FlowBound};
use crate::network::arrival::Common;
use crate::network::derivation::{Derivation, Step};
use crate::network::elements::{FlowId, Multiplexing, ServerId};
use crate::network::operations;
use crate::network::pmoo::{self, RateLatency, TokenBucket};
use crate::{Curve, Extended, Rational};

/// Choices of token buckets and rate-latency curves that are tried.
const CHOICES: usize = 64;

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

/// What joins at each server of the path: who, and their arrivals.
type Joining = (ServerId, Vec<FlowId>, Arc<Curve>);

/// What the path leaves over for the aggregate that starts it, from the root backwards. `exits` is
/// when a burst that starts there leaves each server; without it, thetas are those of single servers.
fn left_over(
    common: &Common<'_>,
    joining: &[Joining],
    exits: Option<&[Rational]>,
) -> Result<(Curve, Vec<Step>), AnalysisError> {
    // What the servers from one on to the root leave over for all that came before it.
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

/// When the last of the first burst leaves each server, if all bursts come when they hurt: for each
/// choice of one token bucket out of each arrival curve and of one rate-latency curve out of each
/// service curve, up to [`CHOICES`]; those of the long run first. None where a choice is overloaded.
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
    // Too many: all go from the long run to the short one in step.
    let all = count <= CHOICES;
    let tried = if all { count } else { longest.min(CHOICES) };
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

/// Returns the same for one rate-latency curve and one token bucket at each server.
fn exits_of(chosen: &[(&RateLatency, &TokenBucket)]) -> Option<Vec<Rational>> {
    let mut exits = Vec::with_capacity(chosen.len());
    for end in 1..=chosen.len() {
        let servers = chosen.get(..end)?;
        let mut exit = Rational::ZERO;
        for (index, (service, bucket)) in servers.iter().enumerate() {
            // The rate of the burst, and of all that comes together with it.
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

/// Arrivals of flows at a server to which nothing but them comes over their links.
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
    // All that was at the server before comes here, whole.
    for before in links {
        common.go_on()?;
        let there = joined(common, before, network.flows_at(before))?;
        let behind = operations::deconvolution(&there, &common.service(before, false)?)?;
        total = common.shortened(operations::sum(&total, &behind)?);
    }
    Ok(Arc::new(total))
}

/// Whether all flows that the flow meets, and all that those meet, end where it ends.
fn check(common: &Common<'_>, id: FlowId) -> Result<(), AnalysisError> {
    let network = common.network;
    let fault = |why: String| Err(AnalysisError::NotSinkTree(why));
    let Some(root) = network.flow(id).path.last().copied() else { return Ok(()) };
    let name = |server: ServerId| &network.server(server).name;
    let mut seen = HashSet::new();
    for other in network.flows_at(root) {
        let path = &network.flow(*other).path;
        for (index, server) in path.iter().enumerate() {
            // All flows of a server were seen to go on to the same one.
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
                    return fault(format!("paths part behind server '{}'", name(*server)));
                }
            }
        }
    }
    Ok(())
}
