//! The smallest of all bounds that are proven.

use super::{Analyser, Analysis, AnalysisError, FlowBound};
use crate::Extended;
use crate::network::model::{FlowId, Multiplexing, Network};
use crate::network::settings::{ArrivalBound, FlowOfInterest, Settings};

/// Hops of all flows together up to which linear programs are solved.
const PROGRAMMED: usize = 200;

/// Conventions, and the analyses to do under them.
pub(super) fn candidates<'n>(
    network: &'n Network,
    settings: &Settings,
) -> Vec<(Analyser<'n>, Vec<Analysis>)> {
    let orders: Vec<Multiplexing> =
        network.servers().map(|(_, server)| settings.multiplexing_at(server)).collect();
    let all = |multiplexing| orders.iter().all(|order| *order == multiplexing);
    let strict = network.servers().all(|(_, server)| server.strict);
    let with = |settings: Settings, methods: &[ArrivalBound]| Settings {
        arrival_bounds: methods.to_vec(),
        cap_bursts: true,
        ..settings
    };
    let mut first = vec![Analysis::TfaPlusPlus];
    // Linear programs and searches take milliseconds: for networks of which one has patience for all flows.
    if network.flows().map(|(_, flow)| flow.path.len()).sum::<usize>() <= PROGRAMMED {
        first.extend([Analysis::Ludb, Analysis::Plp, Analysis::Elp]);
    }
    let mut candidates = vec![(settings.clone(), first)];
    if network.order().is_ok() {
        if !all(Multiplexing::Arbitrary) {
            // The order of service as it is, and cross traffic with all that it meets.
            let own = settings.clone().with_flow_of_interest(FlowOfInterest::Interferes);
            let mut analyses = vec![Analysis::Tfa, Analysis::Sfa];
            if strict {
                // Any order of service for the flow, but cross traffic comes in its own order.
                analyses.extend([Analysis::Pmoo, Analysis::TandemMatching]);
            }
            if all(Multiplexing::Fifo) {
                analyses.push(Analysis::SinkTree);
            }
            let methods = [ArrivalBound::AggregatePboo, ArrivalBound::SegregatedPboo];
            candidates.push((with(own, &methods), analyses));
        }
        if strict {
            // What holds in any order of service holds in every order.
            let any = settings.clone().multiplexed(Multiplexing::Arbitrary);
            let any = any.with_flow_of_interest(FlowOfInterest::LowestPriorityWhereProven);
            let mut analyses = vec![Analysis::Sfa, Analysis::Pmoo, Analysis::TandemMatching];
            if all(Multiplexing::Arbitrary) {
                analyses.push(Analysis::Tfa);
            }
            let methods = [ArrivalBound::AggregatePboo, ArrivalBound::SegregatedPmoo];
            candidates.push((with(any, &methods), analyses));
        }
    }
    candidates
        .into_iter()
        .map(|(settings, analyses)| (Analyser::new(network, settings), analyses))
        .collect()
}

/// The best bounds of one flow.
pub(super) fn bound(
    candidates: &[(Analyser<'_>, Vec<Analysis>)],
    flow: FlowId,
) -> Result<FlowBound, AnalysisError> {
    let mut best: Option<FlowBound> = None;
    for (analyser, analyses) in candidates {
        for analysis in analyses {
            let mut found = match analyser.run(flow, *analysis) {
                Ok(found) => found,
                // It does not apply here, others do.
                Err(AnalysisError::NotSinkTree(_) | AnalysisError::NoProgram(_)) => continue,
                Err(error) => return Err(error),
            };
            if *analysis == Analysis::Tfa {
                // That of a server, not of the flow.
                found.backlog = Extended::PositiveInfinity;
            }
            best = Some(match best {
                None => found,
                Some(best) => smaller(best, found)?,
            });
        }
    }
    best.ok_or(AnalysisError::NoArrivalBound)
}

fn smaller(mut best: FlowBound, found: FlowBound) -> Result<FlowBound, AnalysisError> {
    if found.delay < best.delay {
        best.delay = found.delay;
        best.delay_by = found.delay_by;
    }
    if found.backlog < best.backlog {
        best.backlog = found.backlog;
        best.backlog_by = found.backlog_by;
    }
    best.output = crate::network::operations::minimum(&best.output, &found.output)?;
    Ok(best)
}
