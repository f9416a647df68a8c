//! Pay multiplexing only once (PMOO) bounds a flow by its arrival curve and the residual service
//! curve of its whole path.

use std::sync::Arc;

use super::{Analysis, AnalysisError, FlowBound, source};
use crate::network::arrival::{Bounder, Without};
use crate::network::derivation::{Derivation, Step};
use crate::network::elements::FlowId;
use crate::network::operations;

/// Returns the bounds of a flow by PMOO (pay multiplexing only once).
pub(super) fn bound(bounder: &Bounder<'_, '_>, flow: FlowId) -> Result<FlowBound, AnalysisError> {
    let common = bounder.common;
    let of_interest = common.network.flow(flow);
    let lowest = common.lowest(flow);
    let left =
        bounder.pmoo(&of_interest.path, &common.sets.alone(flow), lowest, Without::NoFlow, true)?;
    // All curves are valid for the same backlogged period, so their maximum is a service curve as
    // well.
    let service = operations::maximum_of(&left.services)?;
    let delay = operations::horizontal_deviation(&of_interest.arrival, &service)?;
    let backlog = operations::vertical_deviation(&of_interest.arrival, &service)?;
    let output = bounder.behind_last(flow, &service)?;
    let steps = vec![Step::Tandem {
        servers: of_interest.path.clone(),
        crossings: left.crossings,
        service: service.clone(),
    }];
    let source =
        source(common, Analysis::Pmoo, flow, Derivation { steps, services: vec![service] });
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
