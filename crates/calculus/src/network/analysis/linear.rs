//! Linear programs for FIFO paths: what is the worst that any run can do?
//!
//! A run that delays data of the flow for long is described by times at the entrances of servers
//! ([`dates`]) and by the data that have passed at these times. Arrival curves, service curves, the
//! order of times and first in, first out are linear in both, so that the longest delay is at most
//! the optimum of a linear program. With all times that is the program of Bouillard and Stea ("Exact
//! worst-case delay in FIFO-multiplexing feed-forward networks", IEEE/ACM Transactions on
//! Networking 23, 2015), here without the case distinction over orders that the words leave open;
//! with some of them, and the delays of total flow analysis as further rows, that of Bouillard
//! ("Trade-off between accuracy and tractability of network calculus in FIFO networks", Performance
//! Evaluation 153, 2022), there called PLP.
//!
//! The network is cut where its flows come onto the path: they arrive with their arrival curve
//! advanced by the delays that total flow analysis finds on their way there. These hold in cyclic
//! networks too. Flows that share the same servers of the path count as one.
//!
//! Every row is true for every run, so each program gives a bound, whatever it leaves out. The bound
//! is proven in exact arithmetic, whatever the solver answers: see [`program`].

mod dates;
mod program;
mod tandem;

use std::sync::Arc;

use super::fixed_point::Delays;
use super::{Analysis, AnalysisError, FlowBound};
use crate::Extended;
use crate::network::arrival::Common;
use crate::network::derivation::{Derivation, Step};
use crate::network::model::FlowId;
use dates::Choice;
pub(super) use tandem::Tandem;

/// Servers on a path up to which all times are taken: there are twice as many with each.
const LONGEST: usize = 6;
/// Servers on a path up to which there is a program: it grows with their square, and the time to
/// solve it faster.
const LONGEST_POLYNOMIAL: usize = 100;
/// Variables up to which a program takes more times than it must.
const ROOMY: usize = 900;

pub(super) fn bound(
    common: &Common<'_>,
    delays: &Delays,
    id: FlowId,
    analysis: Analysis,
) -> Result<FlowBound, AnalysisError> {
    let servers = common.network.flow(id).path.len();
    let longest = if analysis == Analysis::Elp { LONGEST } else { LONGEST_POLYNOMIAL };
    if servers > longest {
        let why = format!("the path has {servers} servers, {analysis} takes up to {longest}");
        return Err(AnalysisError::NoProgram(why));
    }
    let choice = match analysis {
        Analysis::Elp => Choice::All,
        // Each family of times is about as large as the necessary one.
        _ => Choice::Behind((ROOMY / (servers * (servers + 1))).min(servers).saturating_sub(1)),
    };
    let tandem = Tandem::of(common, delays, id)?;
    let (found, variables, rows) = tandem.delay(choice);
    // Known before, if the solver fails or servers are overloaded.
    let mut added = Extended::ZERO;
    for stage in &tandem.stages {
        added = added.checked_add(&stage.delay).unwrap_or(Extended::PositiveInfinity);
    }
    let optimal = found.as_ref().is_some_and(|bound| bound.optimal);
    let delay = found.map_or(Extended::PositiveInfinity, |bound| bound.value.into()).min(added);
    let server = |index: usize| tandem.stages.get(index).map(|stage| stage.server);
    let mut crossings = Vec::with_capacity(tandem.classes.len());
    for class in &tandem.classes {
        if let Some((first, last)) = server(class.first).zip(server(class.last)) {
            crossings.push((first, last, class.flows.clone(), Arc::new(class.arrival.clone())));
        }
    }
    let delays = tandem.stages.iter().map(|stage| (stage.server, stage.delay.clone())).collect();
    let steps = vec![Step::Program { crossings, delays, variables, rows, optimal }];
    FlowBound::of_delay(common, analysis, id, delay, Derivation { steps, services: Vec::new() })
}
