//! Tandem matching: the path is divided into parts, each part is bounded by PMOO, and the
//! decomposition with the smallest bound is used.
//!
//! The method is that of Bondorf, Nikolaus and Schmitt ("Quality and cost of deterministic network
//! calculus: design and evaluation of an accurate and fast analysis", SIGMETRICS 2017).

use std::sync::Arc;

use super::{Analysis, AnalysisError, FlowBound, source};
use crate::network::arrival::{Bounder, Without};
use crate::network::derivation::{Derivation, Step};
use crate::network::elements::FlowId;
use crate::network::{affine, operations};
use crate::{Curve, Extended};

/// Returns the bounds of a flow by tandem matching.
pub(super) fn bound(bounder: &Bounder<'_, '_>, flow: FlowId) -> Result<FlowBound, AnalysisError> {
    let common = bounder.common;
    let of_interest = common.network.flow(flow);
    let lowest = common.lowest(flow);
    let services =
        bounder.tandem_matching(&of_interest.path, &common.sets.alone(flow), lowest, true)?;
    // The path as a whole is a further division. If curves have several token buckets or
    // rate-latency curves, PMOO yields several residual service curves, whose maximum is a service
    // curve, too.
    let without = Without::AlongItsPath(lowest);
    let whole = bounder.pmoo(&of_interest.path, &common.sets.alone(flow), lowest, without, true)?;
    let mut candidates = vec![operations::maximum_of(&whole.services)?];
    for service in services {
        let service = operations::maximum_of(&[service])?;
        if !candidates.contains(&service) {
            candidates.push(service);
        }
    }
    let mut delay = Extended::PositiveInfinity;
    let mut backlog = Extended::PositiveInfinity;
    let mut output = affine::unbounded();
    // Each candidate is a service curve. Their maximum need not be one, because they are valid for
    // different backlogged periods.
    let mut curves = Vec::new();
    for service in candidates {
        delay = delay.min(operations::horizontal_deviation(&of_interest.arrival, &service)?);
        backlog = backlog.min(operations::vertical_deviation(&of_interest.arrival, &service)?);
        output = operations::minimum(&output, &bounder.behind_last(flow, &service)?)?;
        curves.push(service);
    }
    if curves.is_empty() {
        curves.push(Curve::zero());
    }
    let steps = curves
        .iter()
        .map(|service| Step::Tandem {
            servers: of_interest.path.clone(),
            crossings: Vec::new(),
            service: service.clone(),
        })
        .collect();
    let derivation = Derivation { steps, services: curves };
    let source = source(common, Analysis::TandemMatching, flow, derivation);
    Ok(FlowBound {
        flow,
        delay,
        backlog,
        output,
        delay_by: Arc::clone(&source),
        backlog_by: source,
        cut_short: false,
    })
}
