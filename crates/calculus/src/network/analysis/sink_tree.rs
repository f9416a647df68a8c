//! Sink trees: FIFO networks in which all flows go to one root. Exact.
//!
//! On the path of the flow, at server i, let b_i be the burst of all that joins there and T_i the
//! latency. A burst that joins at i is passed on at its clearing rate: the rate R_i of its server,
//! reduced at each later server j, if what joins there with rate r_j makes it too slow, to the share
//! R_j c / (c + r_j). The delay is the sum of T_i + b_i / c_i (Lenzini, Martorini, Mingozzi, Stea,
//! "Tight end-to-end per-flow delay bounds in FIFO multiplexing sink-tree networks", Performance
//! Evaluation 63, 2006). Bursts of tributaries grow by rate times latency at each server.

use std::sync::Arc;

use super::{Analysis, AnalysisError, FlowBound, source};
use crate::network::arrival::Common;
use crate::network::derivation::{Derivation, Step};
use crate::network::model::{FlowId, Multiplexing, ServerId};
use crate::network::operations;
use crate::network::pmoo::{self, RateLatency, TokenBucket};
use crate::{Extended, Rational};

pub(super) fn bound(common: &Common<'_>, id: FlowId) -> Result<FlowBound, AnalysisError> {
    let network = common.network;
    let flow = network.flow(id);
    check(common, id)?;
    // Per server of the path: its service, and what joins there.
    let mut servers: Vec<(Rational, TokenBucket)> = Vec::new();
    let mut delay = Rational::ZERO;
    let mut crossing = Rational::ZERO;
    for (index, server) in flow.path.iter().enumerate() {
        let (rate, latency) = service(common, *server)?;
        let before = index.checked_sub(1).and_then(|index| flow.path.get(index));
        let mut joining = TokenBucket { burst: Rational::ZERO, rate: Rational::ZERO };
        for other in network.flows_at(*server) {
            if before.is_none() || network.predecessor(*other, *server) != before.copied() {
                let bucket = bucket(common, *other)?;
                let mut held = Rational::ZERO;
                for earlier in network.flow(*other).path.iter().take_while(|s| *s != server) {
                    held += &service(common, *earlier)?.1;
                }
                joining.burst += &(&bucket.burst + &bucket.rate * &held);
                joining.rate += &bucket.rate;
            }
        }
        crossing += &joining.rate;
        delay += &latency;
        servers.push((rate, joining));
    }
    let overloaded = flow.path.iter().enumerate().any(|(index, _)| {
        let sum: Rational = servers.iter().take(index + 1).map(|(_, joining)| &joining.rate).sum();
        servers.get(index).is_some_and(|(rate, _)| sum > *rate)
    });
    for (index, (rate, joining)) in servers.iter().enumerate() {
        let mut clearing = rate.clone();
        for (rate, joining) in servers.iter().skip(index + 1) {
            let together = &clearing + &joining.rate;
            if together > *rate {
                clearing = rate * &clearing / &together;
            }
        }
        if joining.burst.is_positive() {
            delay += &(&joining.burst / &clearing);
        }
    }
    let delay =
        match overloaded || network.loads().iter().any(super::super::stability::Load::is_over) {
            true => Extended::PositiveInfinity,
            false => Extended::Finite(delay),
        };
    let backlog = match &delay {
        Extended::Finite(delay) => flow.arrival.right_limit_at(delay),
        infinite => infinite.clone(),
    };
    let output = operations::advanced(&flow.arrival, &delay)?;
    let steps = vec![Step::SinkTree { servers: flow.path.clone() }];
    let source = source(common, Analysis::SinkTree, Derivation { steps, services: Vec::new() });
    Ok(FlowBound {
        flow: id,
        delay,
        backlog,
        output,
        delay_by: Arc::clone(&source),
        backlog_by: source,
    })
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

fn service(common: &Common<'_>, server: ServerId) -> Result<(Rational, Rational), AnalysisError> {
    let model = common.network.server(server);
    let services = pmoo::rate_latencies(&model.service);
    match services.as_slice() {
        [one @ RateLatency { rate: Extended::Finite(rate), latency }]
            if one.curve().as_ref() == Some(&model.service) && !model.packetizer =>
        {
            Ok((rate.clone(), latency.clone()))
        }
        _ => Err(AnalysisError::NotSinkTree(format!(
            "the service of server '{}' is not one rate-latency curve",
            model.name
        ))),
    }
}

fn bucket(common: &Common<'_>, flow: FlowId) -> Result<TokenBucket, AnalysisError> {
    let model = common.network.flow(flow);
    match pmoo::token_buckets(&model.arrival).as_slice() {
        [one]
            if crate::Curve::token_bucket(one.burst.clone(), one.rate.clone()).as_ref()
                == Ok(&model.arrival) =>
        {
            Ok(one.clone())
        }
        _ => Err(AnalysisError::NotSinkTree(format!(
            "the arrivals of flow '{}' are not one token bucket",
            model.name
        ))),
    }
}
