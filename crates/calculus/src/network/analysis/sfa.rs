//! Separate flow analysis (SFA) bounds a flow by its arrival curve and the convolution of the
//! residual service curves of the servers on its path.

use std::sync::Arc;

use super::{Analysis, AnalysisError, FlowBound, source};
use crate::network::arrival::Bounder;
use crate::network::derivation::{Derivation, Step};
use crate::network::elements::FlowId;
use crate::network::operations;

pub(super) fn bound(bounder: &Bounder<'_, '_>, flow: FlowId) -> Result<FlowBound, AnalysisError> {
    let common = bounder.common;
    let of_interest = common.network.flow(flow);
    let (service, steps) =
        bounder.pboo(&of_interest.path, &common.sets.alone(flow), common.lowest(flow), true)?;
    let delay = operations::horizontal_deviation(&of_interest.arrival, &service)?;
    let backlog = operations::vertical_deviation(&of_interest.arrival, &service)?;
    let output = bounder.behind_last(flow, &service)?;
    let steps = steps.into_iter().map(Step::LeftOver).collect();
    let source = source(common, Analysis::Sfa, flow, Derivation { steps, services: vec![service] });
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
