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
//! latencies and of bursts over these rates. The result is the exact worst case (Lenzini, Martorini,
//! Mingozzi, Stea, "Tight end-to-end per-flow delay bounds in FIFO multiplexing sink-tree networks",
//! Performance Evaluation 63, 2006).

use std::sync::Arc;

use super::{Analysis, AnalysisError, FlowBound, source};
use crate::network::arrival::Common;
use crate::network::derivation::{Derivation, Step};
use crate::network::model::{FlowId, Multiplexing, ServerId};
use crate::network::{operations, pmoo};
use crate::{Curve, Extended, Rational};

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
    let exits = exits(common, &joining);
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
            let times =
                exits.as_ref().and_then(|exits| Some((exits.last()?, exits.get(index - 1)?)));
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
    let service = rest.unwrap_or_else(Curve::zero);
    let aggregate = joining.first().map_or_else(Curve::zero, |(_, _, arrival)| (**arrival).clone());
    let delay = operations::horizontal_deviation(&aggregate, &service)?;
    // What is inside arrived no longer ago than the delay.
    let backlog = match &delay {
        Extended::Finite(delay) => flow.arrival.right_limit_at(delay),
        infinite => infinite.clone(),
    };
    let output = operations::advanced(&flow.arrival, &delay)?;
    let derivation = Derivation { steps, services: vec![service] };
    let source = source(common, Analysis::SinkTree, id, derivation);
    Ok(FlowBound {
        flow: id,
        delay,
        backlog,
        output,
        delay_by: Arc::clone(&source),
        backlog_by: source,
    })
}

/// When the last of the first burst leaves each server, if all bursts come when they hurt. Curves
/// count as one token bucket or one rate-latency curve, the ones of the long run.
fn exits(
    common: &Common<'_>,
    joining: &[(ServerId, Vec<FlowId>, Arc<Curve>)],
) -> Option<Vec<Rational>> {
    let mut servers = Vec::with_capacity(joining.len());
    for (server, _, arrival) in joining {
        let bucket = pmoo::token_buckets(arrival).pop()?;
        let last = servers.len() + 1 == joining.len();
        let service = pmoo::rate_latencies(&common.service(*server, last).ok()?).pop()?;
        servers.push((service.rate.into_finite()?, service.latency, bucket));
    }
    let mut exits = Vec::with_capacity(servers.len());
    for end in 1..=servers.len() {
        let servers = servers.get(..end)?;
        let mut exit = Rational::ZERO;
        for (index, (rate, latency, bucket)) in servers.iter().enumerate() {
            // The rate of the burst, and of all that comes together with it.
            let (mut clearing, mut together) = (rate.clone(), rate.clone());
            for (limit, _, joining) in servers.iter().skip(index + 1) {
                together += &joining.rate;
                if together > *limit {
                    clearing = clearing * limit / &together;
                    together = limit.clone();
                }
            }
            exit += latency;
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
        let there = joined(common, before, network.flows_at(before))?;
        let behind = operations::deconvolution(&there, &common.service(before, false)?)?;
        total = operations::sum(&total, &behind)?;
    }
    Ok(Arc::new(total))
}

/// Whether all flows that the flow meets, and all that those meet, end where it ends.
fn check(common: &Common<'_>, id: FlowId) -> Result<(), AnalysisError> {
    let network = common.network;
    let fault = |why: String| Err(AnalysisError::NotSinkTree(why));
    let Some(root) = network.flow(id).path.last().copied() else { return Ok(()) };
    let name = |server: ServerId| &network.server(server).name;
    for other in network.flows_at(root) {
        let path = &network.flow(*other).path;
        for (index, server) in path.iter().enumerate() {
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
