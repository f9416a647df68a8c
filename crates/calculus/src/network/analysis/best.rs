//! Chooses the smallest of all proven bounds.

use super::{Analyser, Analysis, AnalysisError, FlowBound};
use crate::Extended;
use crate::network::arrival::Common;
use crate::network::elements::{FlowId, Multiplexing};
use crate::network::model::Network;
use crate::network::settings::{ArrivalBound, FlowOfInterest, Settings};

/// The largest network for which [`Analysis::Best`] solves linear programs, as the total number of
/// hops of all flows.
const MAX_PROGRAMMED_HOPS: usize = 200;
/// The largest cyclic network for which [`Analysis::Best`] solves the linear programs for arbitrary
/// multiplexing, as the total number of hops of all flows. In such a network, the search for the
/// bursts over cut links solves one program for each burst in each round.
const MAX_PROGRAMMED_HOPS_IN_CYCLES: usize = 60;
/// The largest network for which [`Analysis::Best`] tries every method to bound arrivals, as the
/// sum of the squares of all path lengths. Most methods take time in proportion to that sum.
const MAX_THOROUGH_WORK: usize = 300;

/// The largest network for which [`Analysis::Best`] is the default analysis, as the total number of
/// hops of all flows.
const MAX_HOPS_OF_SMALL_NETWORK: usize = 2_000;

impl Network {
    /// Returns the default analysis of this network: [`Analysis::Best`], or [`Analysis::Quick`] if
    /// the network is large.
    #[must_use]
    pub fn default_analysis(&self) -> Analysis {
        if hops(self) <= MAX_HOPS_OF_SMALL_NETWORK { Analysis::Best } else { Analysis::Quick }
    }

    /// Returns whether [`Analysis::Best`] tries every method to bound arrivals, as it does in
    /// networks that are neither large nor cyclic.
    #[must_use]
    pub fn is_searched_thoroughly(&self) -> bool {
        self.order().is_ok()
            && self.flows().map(|(_, flow)| flow.path.len().pow(2)).sum::<usize>()
                <= MAX_THOROUGH_WORK
    }
}

/// An analyser under one set of conventions, and the analyses to run with it.
pub(super) type Candidate<'n> = (Analyser<'n>, Vec<Analysis>);

/// Creates an analyser for each pair of settings and the analyses to run under them.
fn with_analysers<'n>(
    of: &Analyser<'n>,
    candidates: Vec<(Settings, Vec<Analysis>)>,
) -> Vec<Candidate<'n>> {
    let network: &'n Network = of.common.network;
    let analyser = |settings| Analyser::new(network, settings);
    candidates.into_iter().map(|(settings, analyses)| (analyser(settings), analyses)).collect()
}

/// Returns the analysers and analyses whose bounds [`Analysis::Quick`] compares: the analyses that
/// are fast enough for large networks, each under one proven convention.
pub(super) fn quick<'n>(of: &Analyser<'n>) -> Vec<Candidate<'n>> {
    let (network, settings) = (of.common.network, &of.common.settings);
    let settings = Settings {
        arrival_bounds: vec![ArrivalBound::AggregatePboo],
        cap_bursts: false,
        prolong: false,
        ..settings.clone()
    };
    let mut candidates = vec![(settings.clone(), vec![Analysis::TfaPlusPlus])];
    if network.order().is_ok() {
        let mut in_any_order = vec![Analysis::Pmoo];
        if of.common.arbitrary {
            in_any_order.extend([Analysis::Sfa, Analysis::Tfa]);
        } else {
            let own = settings.clone().with_flow_of_interest(FlowOfInterest::Interferes);
            candidates.push((own, vec![Analysis::Sfa]));
        }
        let any = settings.multiplexed(Multiplexing::Arbitrary);
        let any = any.with_flow_of_interest(FlowOfInterest::LowestPriorityWhereProven);
        candidates.push((any, in_any_order));
    }
    with_analysers(of, candidates)
}

/// Returns the analysers and analyses whose bounds [`Analysis::Best`] compares.
pub(super) fn candidates<'n>(of: &Analyser<'n>) -> Vec<Candidate<'n>> {
    let (network, settings) = (of.common.network, &of.common.settings);
    let orders: Vec<Multiplexing> =
        network.servers().map(|(_, server)| settings.multiplexing_at(server)).collect();
    let all = |multiplexing| orders.iter().all(|order| *order == multiplexing);
    let hops = hops(network);
    let is_thorough = network.is_searched_thoroughly();
    let mut first = vec![Analysis::TfaPlusPlus];
    // Linear programs and searches take milliseconds per flow, which is acceptable for small
    // networks.
    if solves_programs(&of.common) {
        first.extend([Analysis::Ludb, Analysis::Plp, Analysis::Elp]);
    }
    let feed_forward = network.order().is_ok();
    if feed_forward {
        // The sink-tree analysis itself checks whether all servers that matter to a flow are FIFO.
        first.push(Analysis::SinkTree);
    }
    let mut candidates = vec![(settings.clone(), first)];
    // Linear programs in networks this large are a last resort. They are solved only for flows that
    // would miss their deadline otherwise.
    let last_resort = settings.deadline.is_some() && hops > MAX_PROGRAMMED_HOPS;
    if !feed_forward {
        candidates.extend(of_cycles(settings, &all, hops));
    }
    if feed_forward {
        if !all(Multiplexing::Arbitrary) {
            // These settings use each server's own order of service, and count the flow of interest
            // as cross traffic. PMOO and tandem matching then assume arbitrary multiplexing for the
            // flow of interest only.
            let own = settings.clone().with_flow_of_interest(FlowOfInterest::Interferes);
            let analyses = [Analysis::Tfa, Analysis::Sfa, Analysis::Pmoo, Analysis::TandemMatching];
            // All methods are combined, because no method makes another one redundant: a smaller
            // arrival curve may lead to a larger FIFO bound, since theta is the time to serve its
            // burst.
            let mut choices = vec![&ArrivalBound::ALL[..]];
            choices.extend(ArrivalBound::ALL.chunks(1));
            if !is_thorough {
                choices = vec![&[ArrivalBound::AggregatePboo, ArrivalBound::SegregatedPboo]];
            }
            for methods in choices {
                for cap in [true, false] {
                    candidates.push((with(&own, methods, cap), analyses.to_vec()));
                }
            }
        }
        candidates.extend(of_any_order(settings, is_thorough, all(Multiplexing::Arbitrary)));
    }
    if last_resort {
        candidates.push((settings.clone(), vec![Analysis::Ludb, Analysis::Plp]));
    }
    if feed_forward && (hops <= MAX_PROGRAMMED_HOPS || last_resort) {
        // The program for arbitrary multiplexing is valid for every order of service. It comes
        // last, because it consists of many programs.
        candidates.push((settings.clone(), vec![Analysis::Ulp]));
    }
    with_analysers(of, candidates)
}

/// Returns the settings with the given methods to bound arrivals. `cap_bursts` says whether the
/// backlog of a server also bounds the burst of its output.
fn with(settings: &Settings, methods: &[ArrivalBound], cap_bursts: bool) -> Settings {
    Settings { arrival_bounds: methods.to_vec(), cap_bursts, ..settings.clone() }
}

/// Returns the analysers and analyses under arbitrary multiplexing whose bounds [`Analysis::Best`]
/// compares in feed-forward networks. `is_arbitrary` says that all servers multiplex arbitrarily.
fn of_any_order(
    settings: &Settings,
    is_thorough: bool,
    is_arbitrary: bool,
) -> Vec<(Settings, Vec<Analysis>)> {
    let mut candidates = Vec::new();
    // A bound for arbitrary multiplexing is valid for every order of service. Under arbitrary
    // multiplexing, smaller arrival curves leave more residual service, so that all methods
    // together are best.
    let any = settings.clone().multiplexed(Multiplexing::Arbitrary);
    let any = any.with_flow_of_interest(FlowOfInterest::LowestPriorityWhereProven);
    let any = Settings { prolong: is_thorough, ..any };
    let mut analyses = vec![Analysis::Sfa, Analysis::Pmoo, Analysis::TandemMatching];
    if is_arbitrary {
        analyses.push(Analysis::Tfa);
    }
    if !is_thorough {
        use ArrivalBound::{AggregatePboo, AggregatePmoo, SegregatedPmoo};
        let methods = [AggregatePboo, AggregatePmoo, SegregatedPmoo];
        candidates.push((with(&any, &methods, true), analyses));
    } else {
        candidates.push((with(&any, &ArrivalBound::ALL, true), analyses.clone()));
        // If curves have too many segments to try all combinations of these, a single method may be
        // better.
        for methods in ArrivalBound::ALL.chunks(1) {
            candidates.push((with(&any, methods, true), analyses.clone()));
            candidates.push((with(&any, methods, false), analyses.clone()));
        }
    }
    candidates
}

/// Returns whether [`Analysis::Best`] solves linear programs for all flows of this network.
fn solves_programs(common: &Common<'_>) -> bool {
    hops(common.network) <= MAX_PROGRAMMED_HOPS
}

/// Returns the total number of hops of all flows: the sum of the lengths of their paths.
fn hops(network: &Network) -> usize {
    network.flows().map(|(_, flow)| flow.path.len()).sum()
}

/// Returns the analyses that [`Analysis::Best`] omits in large networks.
pub(super) fn left_out_by_best(common: &Common<'_>) -> Vec<Analysis> {
    let network = common.network;
    let is_cyclic = network.order().is_err();
    let mut left_out = match solves_programs(common) {
        true => Vec::new(),
        // The other analyses are only tried for flows that would miss their deadline.
        false if common.settings.deadline.is_some() => vec![Analysis::Elp],
        false => vec![Analysis::Ludb, Analysis::Plp, Analysis::Elp, Analysis::Ulp],
    };
    if is_cyclic && !solves_programs(common) {
        left_out.splice(0..0, [Analysis::Pmoo, Analysis::TandemMatching]);
    }
    let is_fifo = |server| common.multiplexing(server) == Multiplexing::Fifo;
    if is_cyclic
        && !left_out.contains(&Analysis::Ulp)
        && hops(network) > MAX_PROGRAMMED_HOPS_IN_CYCLES
        && !network.servers().all(|(server, _)| is_fifo(server))
    {
        left_out.push(Analysis::Ulp);
    }
    left_out
}

/// Returns the analyses that [`Analysis::Quick`] omits. [`Analysis::Best`] is one of them, since it
/// tries more methods to bound arrivals.
pub(super) fn left_out_by_quick(common: &Common<'_>) -> Vec<Analysis> {
    let mut left_out = vec![Analysis::TandemMatching, Analysis::SinkTree];
    left_out.extend([Analysis::Ludb, Analysis::Plp, Analysis::Elp, Analysis::Ulp, Analysis::Best]);
    if common.network.order().is_err() {
        left_out.splice(0..0, [Analysis::Tfa, Analysis::Sfa, Analysis::Pmoo]);
    }
    left_out
}

/// Returns the analysers and analyses for a cyclic network, which analyse the network with its
/// cycles cut. Under each set of conventions, the bursts of the traffic over the cut links have
/// another fixed point.
fn of_cycles(
    settings: &Settings,
    all: &dyn Fn(Multiplexing) -> bool,
    hops: usize,
) -> Vec<(Settings, Vec<Analysis>)> {
    use ArrivalBound::{AggregatePboo, SegregatedPboo};
    let is_small = hops <= MAX_PROGRAMMED_HOPS;
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
    // If all servers are FIFO, the linear programs of FIFO paths are tighter.
    if hops <= MAX_PROGRAMMED_HOPS_IN_CYCLES && !all(Multiplexing::Fifo) {
        analyses.push(Analysis::Ulp);
    }
    candidates.push((any, analyses));
    candidates
}

/// Returns the smallest bounds of one flow over some analysers and analyses.
pub(super) fn bound(
    candidates: &[Candidate<'_>],
    flow: FlowId,
) -> Result<FlowBound, AnalysisError> {
    let mut best: Option<FlowBound> = None;
    let mut fault = None;
    for (analyser, analyses) in candidates {
        for analysis in analyses {
            let deadline = analyser.settings().deadline.as_ref().map(Extended::from);
            if let (Some(best), Some(deadline)) = (&mut best, deadline)
                && best.delay <= deadline
            {
                best.cut_short = true;
                break;
            }
            let mut found = match analyser.run(flow, *analysis) {
                Ok(found) => found,
                Err(AnalysisError::Stopped) => return Err(AnalysisError::Stopped),
                // This analysis does not apply to the flow, but others may.
                Err(error) => {
                    fault.get_or_insert(error);
                    continue;
                }
            };
            if *analysis == Analysis::Tfa {
                // The backlog is that of a server, not of the flow.
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
    // If the minimum of the two curves would be too long, one of the curves is kept instead.
    if let Ok(both) = crate::network::operations::minimum(&best.output, &found.output) {
        best.output = both;
    }
    Ok(best)
}
