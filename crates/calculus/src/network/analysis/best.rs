//! The smallest of all bounds that are proven.

use super::{Analyser, Analysis, AnalysisError, FlowBound};
use crate::Extended;
use crate::network::model::{FlowId, Multiplexing, Network};
use crate::network::settings::{ArrivalBound, FlowOfInterest, Settings};

/// Hops of all flows together up to which linear programs are solved.
const PROGRAMMED: usize = 200;
/// The same for the linear programs of any order of service in cyclic networks, which are solved for
/// each burst in each round.
const PROGRAMMED_IN_CYCLES: usize = 60;
/// Squares of the lengths of all paths together, up to which every way to bound arrivals is tried: what
/// most of them cost.
const THOROUGH: usize = 300;

/// Conventions, and the analyses to do under them.
pub(super) fn candidates<'n>(
    of: &Analyser<'n>,
    settings: &Settings,
) -> Vec<(Analyser<'n>, Vec<Analysis>)> {
    let network: &'n Network = of.common.network;
    let orders: Vec<Multiplexing> =
        network.servers().map(|(_, server)| settings.multiplexing_at(server)).collect();
    let all = |multiplexing| orders.iter().all(|order| *order == multiplexing);
    let hops = network.flows().map(|(_, flow)| flow.path.len()).sum::<usize>();
    let squares = network.flows().map(|(_, flow)| flow.path.len().pow(2)).sum::<usize>();
    let mut first = vec![Analysis::TfaPlusPlus];
    // Linear programs and searches take milliseconds: for networks of which one has patience for
    // all flows.
    if hops <= PROGRAMMED {
        first.extend([Analysis::Ludb, Analysis::Plp, Analysis::Elp]);
    }
    let feed_forward = network.order().is_ok();
    if feed_forward {
        // Whether all is FIFO on the way of a flow, each flow finds out for itself.
        first.push(Analysis::SinkTree);
    }
    let mut candidates = vec![(settings.clone(), first)];
    // Only for flows that are over it otherwise.
    let last_resort = settings.deadline.is_some() && hops > PROGRAMMED;
    let with = |settings: &Settings, methods: &[ArrivalBound], cap_bursts| Settings {
        arrival_bounds: methods.to_vec(),
        cap_bursts,
        ..settings.clone()
    };
    if !feed_forward {
        candidates.extend(of_cycles(settings, &all, hops));
    }
    if feed_forward {
        if !all(Multiplexing::Arbitrary) {
            // The order of service as it is, and cross traffic with all that it meets; or any order
            // for the flow, while cross traffic comes in its own.
            let own = settings.clone().with_flow_of_interest(FlowOfInterest::Interferes);
            let analyses = [Analysis::Tfa, Analysis::Sfa, Analysis::Pmoo, Analysis::TandemMatching];
            // A smaller arrival curve has a larger FIFO bound at times, for theta is the time that
            // its burst takes: none of these makes another one superfluous.
            let mut choices = vec![&ArrivalBound::ALL[..]];
            choices.extend(ArrivalBound::ALL.chunks(1));
            if squares > THOROUGH {
                choices = vec![&[ArrivalBound::AggregatePboo, ArrivalBound::SegregatedPboo]];
            }
            for methods in choices {
                for cap in [true, false] {
                    candidates.push((with(&own, methods, cap), analyses.to_vec()));
                }
            }
        }
        // What holds in any order of service holds in every order. Smaller arrivals leave more over
        // then, so that all methods together are best.
        let any = settings.clone().multiplexed(Multiplexing::Arbitrary);
        let any = any.with_flow_of_interest(FlowOfInterest::LowestPriorityWhereProven);
        let any = Settings { prolong: squares <= THOROUGH, ..any };
        let mut analyses = vec![Analysis::Sfa, Analysis::Pmoo, Analysis::TandemMatching];
        if all(Multiplexing::Arbitrary) {
            analyses.push(Analysis::Tfa);
        }
        if squares > THOROUGH {
            use ArrivalBound::{AggregatePboo, AggregatePmoo, SegregatedPmoo};
            let methods = [AggregatePboo, AggregatePmoo, SegregatedPmoo];
            candidates.push((with(&any, &methods, true), analyses));
        } else {
            candidates.push((with(&any, &ArrivalBound::ALL, true), analyses.clone()));
            // But for curves of so many segments that not all combinations of them are tried.
            for methods in ArrivalBound::ALL.chunks(1) {
                candidates.push((with(&any, methods, true), analyses.clone()));
                candidates.push((with(&any, methods, false), analyses.clone()));
            }
        }
    }
    if last_resort {
        candidates.push((settings.clone(), vec![Analysis::Ludb, Analysis::Plp]));
    }
    if feed_forward && (hops <= PROGRAMMED || last_resort) {
        // In any order of service, and so in every order. Last, for it has many programs.
        candidates.push((settings.clone(), vec![Analysis::Ulp]));
    }
    candidates
        .into_iter()
        .map(|(settings, analyses)| (Analyser::new(network, settings).stopped_as(of), analyses))
        .collect()
}

/// Returns what is tried for cyclic networks besides the analyses that cut nothing. Each of these
/// conventions has a fixed point of its own.
fn of_cycles(
    settings: &Settings,
    all: &dyn Fn(Multiplexing) -> bool,
    hops: usize,
) -> Vec<(Settings, Vec<Analysis>)> {
    use ArrivalBound::{AggregatePboo, SegregatedPboo};
    let is_small = hops <= PROGRAMMED;
    let settings = Settings {
        flow_of_interest: FlowOfInterest::Interferes,
        arrival_bounds: vec![AggregatePboo],
        cap_bursts: true,
        ..settings.clone()
    };
    let mut candidates = Vec::new();
    if !all(Multiplexing::Arbitrary) {
        let own = match is_small {
            true => {
                Settings { arrival_bounds: vec![AggregatePboo, SegregatedPboo], ..settings.clone() }
            }
            false => settings.clone(),
        };
        candidates.push((own, vec![Analysis::Sfa]));
    }
    let any = settings.multiplexed(Multiplexing::Arbitrary);
    if !is_small {
        candidates.push((any, vec![Analysis::Sfa]));
        return candidates;
    }
    let any = Settings { arrival_bounds: ArrivalBound::ALL.to_vec(), prolong: true, ..any };
    let mut analyses = vec![Analysis::Sfa, Analysis::Pmoo, Analysis::TandemMatching];
    // Linear programs of FIFO paths are closer where all is FIFO.
    if hops <= PROGRAMMED_IN_CYCLES && !all(Multiplexing::Fifo) {
        analyses.push(Analysis::Ulp);
    }
    candidates.push((any, analyses));
    candidates
}

/// The best bounds of one flow.
pub(super) fn bound(
    candidates: &[(Analyser<'_>, Vec<Analysis>)],
    flow: FlowId,
) -> Result<FlowBound, AnalysisError> {
    let mut best: Option<FlowBound> = None;
    let mut fault = None;
    for (analyser, analyses) in candidates {
        for analysis in analyses {
            let deadline = &analyser.settings().deadline;
            let delay = best.as_ref().map(|best| best.delay.clone());
            if delay
                .zip(deadline.clone())
                .is_some_and(|(delay, most)| delay <= Extended::Finite(most))
            {
                break;
            }
            let mut found = match analyser.run(flow, *analysis) {
                Ok(found) => found,
                Err(AnalysisError::Stopped) => return Err(AnalysisError::Stopped),
                // It does not apply here, others do.
                Err(error) => {
                    fault.get_or_insert(error);
                    continue;
                }
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
    best.ok_or_else(|| fault.unwrap_or(AnalysisError::NoArrivalBound))
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
    // Of two curves that have no minimum, as it would be too long, one will do.
    if let Ok(both) = crate::network::operations::minimum(&best.output, &found.output) {
        best.output = both;
    }
    Ok(best)
}
