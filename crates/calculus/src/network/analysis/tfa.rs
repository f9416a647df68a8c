//! Total flow analysis (TFA): all traffic of a server is one aggregate, and the delays of the
//! servers add up along a path.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Analysis, AnalysisError, ClassBound, FlowBound, ServerBound, source};
use crate::network::arrival::{Bounder, Common};
use crate::network::derivation::{Derivation, Step};
use crate::network::elements::{FlowId, Multiplexing, Priority, ServerId};
use crate::network::operations;
use crate::{Curve, Extended};

/// Caches the bounds of each server, and of each priority at it.
#[derive(Debug, Default)]
pub(crate) struct Totals(Mutex<HashMap<Class, Arc<Total>>>);

/// A server with one of its priorities, or with `None` for all traffic.
type Class = (ServerId, Option<Priority>);

/// The curves and the bounds of all traffic of a server, or of its traffic of one priority.
#[derive(Debug)]
pub(crate) struct Total {
    arrival: Arc<Curve>,
    service: Curve,
    delay: Extended,
    backlog: Extended,
}

/// Returns the bounds of a flow by total flow analysis: the sums over the servers of its path.
pub(super) fn bound(
    bounder: &Bounder<'_, '_>,
    totals: &Totals,
    flow: FlowId,
) -> Result<FlowBound, AnalysisError> {
    let common = bounder.common;
    let network = common.network;
    let (mut delay, mut backlog) = (Extended::ZERO, Extended::ZERO);
    let mut steps = Vec::new();
    for server in &network.flow(flow).path {
        let by_priority = common.multiplexing(*server) == Multiplexing::StaticPriority;
        let priority = by_priority.then(|| network.flow(flow).priority);
        let total = total(bounder, totals, *server, priority)?;
        delay = delay.checked_add(&total.delay).unwrap_or(Extended::PositiveInfinity);
        backlog = backlog.max(total.backlog.clone());
        steps.push(Step::Total {
            server: *server,
            arrival: Arc::clone(&total.arrival),
            service: total.service.clone(),
            delay: total.delay.clone(),
            backlog: total.backlog.clone(),
        });
    }
    let output = operations::advanced(&network.flow(flow).arrival, &delay)?;
    let source = source(common, Analysis::Tfa, flow, Derivation { steps, services: Vec::new() });
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

pub(super) fn server(
    common: &Common<'_>,
    totals: &Totals,
    server: ServerId,
) -> Result<ServerBound, AnalysisError> {
    let bounder = Bounder::new(common);
    let network = common.network;
    let all = total(&bounder, totals, server, None)?;
    let backlog = all.backlog.clone();
    if common.multiplexing(server) != Multiplexing::StaticPriority {
        return Ok(ServerBound { server, delay: all.delay.clone(), backlog, classes: Vec::new() });
    }
    let flows = network.flows_at(server).iter();
    let priorities: BTreeSet<Priority> = flows.map(|id| network.flow(*id).priority).collect();
    let (mut delay, mut classes) = (Extended::ZERO, Vec::with_capacity(priorities.len()));
    for priority in priorities {
        let of_class = total(&bounder, totals, server, Some(priority))?;
        delay = delay.max(of_class.delay.clone());
        classes.push(ClassBound {
            priority,
            delay: of_class.delay.clone(),
            backlog: of_class.backlog.clone(),
        });
    }
    Ok(ServerBound { server, delay, backlog, classes })
}

/// Bounds all traffic of a server, or, at a server with static priority, that of one priority. The
/// result is cached in `totals`.
fn total(
    bounder: &Bounder<'_, '_>,
    totals: &Totals,
    server: ServerId,
    priority: Option<Priority>,
) -> Result<Arc<Total>, AnalysisError> {
    let lock = || totals.0.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(total) = lock().get(&(server, priority)) {
        return Ok(Arc::clone(total));
    }
    let network = bounder.common.network;
    let here = network.flows_at(server);
    let flows = match priority {
        None => bounder.common.sets.at(server),
        Some(priority) => bounder.common.sets.of_priority(server, priority),
    };
    let arrival = bounder.arrival(server, &flows, None)?;
    let service = match priority {
        None => network.server(server).service.clone(),
        Some(_) => bounder.left_over(server, &flows, None, true)?.service,
    };
    let in_order = here.len() == 1
        || priority.is_some()
        || bounder.common.multiplexing(server) == Multiplexing::Fifo;
    let delay = if in_order {
        operations::horizontal_deviation(&arrival, &service)?
    } else {
        bounder.strict(server)?;
        operations::backlogged_period(&arrival, &service)?
    };
    let backlog = operations::vertical_deviation(&arrival, &service)?;
    let total = Arc::new(Total { arrival, service, delay, backlog });
    lock().insert((server, priority), Arc::clone(&total));
    Ok(total)
}
