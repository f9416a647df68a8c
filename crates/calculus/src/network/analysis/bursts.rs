//! Bursts over cut links of a cyclic network, as a fixed point.
//!
//! The traffic over a cut link ([`crate::network::cycles`]) is bounded by a token bucket for each
//! flow, with the flow's long-term rate and an unknown burst, and by one more token bucket for all
//! flows of the link together. The cut network is feed-forward, so any analysis of such networks
//! bounds these bursts again: x <= F(x) holds for the bursts x of each run up to any time, and
//! these are finite.
//!
//! If F(y) < y for some y > 0, then x <= y. Suppose that some burst of x exceeds that of y, and let
//! s > 1 be the largest ratio x / y, attained by burst i. A concave arrival curve has s alpha(t /
//! s) >= alpha(t), and a convex service curve has s beta(t / s) <= beta(t). So the run is also a
//! run of the network in which all curves and packets are scaled like that and the bursts at the
//! cuts are s y. That is the network with y at its cuts in other units of time and data, whose
//! bounds are s F(y). Hence x_i <= s F_i(y) < s y_i = x_i, a contradiction. The argument requires
//! of F only that it is a bound. Other curves are replaced by their concave and convex hulls.
//!
//! Once some y is a valid bound, F(y) is valid as well, and so is F(F(y)). The delays of total flow
//! analysis yield a first y if they are finite. Otherwise, and to come closer, y is computed in
//! floating point: F is iterated, and the limit is extrapolated by reduced rank extrapolation
//! (Sidi, Ford and Smith, "Acceleration of convergence of vector sequences", SIAM Journal on
//! Numerical Analysis 23, 1986), which is exact after a few rounds where F is affine. No bound
//! depends on these numbers: a y is accepted only if F(y) < y in exact arithmetic.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::fixed_point::Delays;
use super::linear;
use super::{AnalysisError, parallel};
use crate::network::arrival::{Bounder, Common};
use crate::network::cycles::{CutLink, Cuts, cut_links};
use crate::network::elements::{FlowId, Priority};
use crate::network::model::Network;
use crate::network::operations;
use crate::network::settings::Settings;
use crate::{Curve, Extended, Interrupt, Rational};

/// The largest number of unknown bursts for which their fixed point is searched. Each round of the
/// search bounds all of them.
const MAX_BURSTS: usize = 200;
/// The largest number of unknown bursts that are bounded by linear programs. If there are more, the
/// bounds from residual service are kept.
const MAX_BURSTS_BY_PROGRAMS: usize = 60;
/// The order of the extrapolation of the limit. One more round than this is iterated before each
/// extrapolation.
const EXTRAPOLATION_INTERVAL: usize = 6;
/// The largest number of extrapolations in one search.
const MAX_EXTRAPOLATIONS: usize = 8;
/// The relative difference below which two vectors of bursts count as equal.
const TOLERANCE: f64 = 1e-11;
/// The counterpart of [`TOLERANCE`] for bursts from linear programs, whose solutions are less
/// exact.
const TOLERANCE_BY_PROGRAMS: f64 = 1e-7;
/// The largest ratio of a burst to the largest starting value. If it is exceeded, the bursts count
/// as unbounded, and the search ends.
const LARGEST_RATIO: f64 = 1e12;
/// The relative amounts by which the extrapolated limit is raised before it is checked in exact
/// arithmetic. They are tried in this order until a check succeeds.
const RAISES: [f64; 5] = [1e-11, 1e-9, 1e-7, 1e-5, 1e-3];
/// The largest number of rounds in which proven bursts are bounded again to make them smaller.
const MAX_DESCENTS: usize = 6;
/// If a round improves the proven bursts by less than this share, no further round follows.
const LEAST_PROGRESS: f64 = 1e-8;
/// The counterpart of [`LEAST_PROGRESS`] for bursts from linear programs.
const LEAST_PROGRESS_BY_PROGRAMS: f64 = 1e-6;

/// The method by which the traffic over cut links (at which a cyclic network is cut) is bounded.
/// The bounds are bursts of token buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// Bursts are bounded by the residual service of the servers.
    LeftOver,
    /// Bursts are bounded by residual service, and by linear programs for arbitrary multiplexing.
    Programs,
}

/// The unknown burst of a token bucket that bounds traffic over a cut link: of one flow, or of
/// several flows together.
struct Unknown {
    link: CutLink,
    flows: Vec<FlowId>,
    rate: Rational,
    /// The sum of the bursts that the flows have at their sources. The search may start from this
    /// value.
    source: Rational,
    /// The arrival curve of the flows that follows from the delays of total flow analysis, or
    /// `None` if these are infinite.
    by_delays: Option<Arc<Curve>>,
}

/// Returns a cyclic network with its cycles cut, together with the arrival curves over the cut
/// links. A curve is infinite if no burst was proven and the delays of total flow analysis are
/// infinite.
///
/// `network` must be an outline: its arrival curves are concave and its service curves are convex.
pub(super) fn cut<'n>(
    network: &'n Network,
    whole: &Common<'_>,
    delays: &Delays,
    by: By,
    known: Option<&Common<'n>>,
) -> Result<Common<'n>, AnalysisError> {
    let system = System {
        network,
        settings: &whole.settings,
        delays,
        by,
        known,
        unknowns: unknowns(network, whole, delays)?,
    };
    let bursts = system.solve()?;
    system.common(bursts.as_deref())
}

/// Returns the unknown bursts of a network: one for each flow over a cut link, and one for all
/// flows of each priority over the link together.
fn unknowns(
    network: &Network,
    whole: &Common<'_>,
    delays: &Delays,
) -> Result<Vec<Unknown>, AnalysisError> {
    let mut unknowns = Vec::new();
    for link in cut_links(network)? {
        let flows = network.flows_over(link.from, link.to);
        let alone = flows.iter().map(|flow| vec![*flow]);
        // Flows of different priorities receive different service.
        let mut classes = BTreeMap::<Option<Priority>, Vec<FlowId>>::new();
        for id in flows {
            let priority = whole.priorities.then(|| network.flow(*id).priority);
            classes.entry(priority).or_default().push(*id);
        }
        let together = classes.into_values().filter(|class| class.len() > 1);
        for flows in alone.chain(together) {
            unknowns.push(unknown(network, whole, delays, link, flows)?);
        }
    }
    Ok(unknowns)
}

/// Returns the unknown burst of the flows over a cut link, with the bounds on it that are known.
fn unknown(
    network: &Network,
    whole: &Common<'_>,
    delays: &Delays,
    link: CutLink,
    flows: Vec<FlowId>,
) -> Result<Unknown, AnalysisError> {
    let (mut rate, mut source) = (Rational::ZERO, Rational::ZERO);
    let mut by_delays: Option<Curve> = Some(Curve::zero());
    for id in &flows {
        let flow = network.flow(*id);
        // An infinite rate overloads the servers of the flow, and no burst will be proven.
        rate += &flow.arrival.ultimate_rate().into_finite().unwrap_or_default();
        source += &flow.arrival.right_limit_at(&Rational::ZERO).into_finite().unwrap_or_default();
        let mut late = Extended::ZERO;
        for server in &flow.path {
            let there = delays.delay(whole, *server, *id);
            late = late.checked_add(&there).unwrap_or(Extended::PositiveInfinity);
            if *server == link.from {
                break;
            }
        }
        by_delays = match by_delays.filter(|_| late.is_finite()) {
            None => None,
            Some(sum) => Some(operations::sum(&sum, &operations::advanced(&flow.arrival, &late)?)?),
        };
    }
    Ok(Unknown { link, flows, rate, source, by_delays: by_delays.map(Arc::new) })
}

/// The equations for the unknown bursts over the cut links of a cyclic network.
struct System<'a, 'n> {
    network: &'n Network,
    settings: &'a Settings,
    delays: &'a Delays,
    by: By,
    /// The network with the bursts over cut links that another method has proven.
    known: Option<&'a Common<'n>>,
    unknowns: Vec<Unknown>,
}

impl<'n> System<'_, 'n> {
    /// Returns the network with its cycles cut, where the flows over the cut links have the given
    /// bursts.
    fn common(&self, bursts: Option<&[Rational]>) -> Result<Common<'n>, AnalysisError> {
        let mut cuts = Cuts::default();
        for (place, unknown) in self.unknowns.iter().enumerate() {
            let burst = bursts.and_then(|bursts| bursts.get(place));
            let bucket =
                burst.map(|burst| Curve::token_bucket(burst.clone(), unknown.rate.clone()));
            let bucket = bucket.and_then(Result::ok).map(Arc::new);
            let curve = match (bucket, &unknown.by_delays) {
                (Some(bucket), Some(by_delays)) => {
                    Arc::new(operations::minimum(&bucket, by_delays)?)
                }
                (Some(curve), None) => curve,
                (None, Some(curve)) => Arc::clone(curve),
                (None, None) => Arc::new(crate::network::affine::unbounded()),
            };
            cuts.set(unknown.link, &unknown.flows, curve);
        }
        Ok(Common::new(self.network, self.settings.clone()).cut(cuts))
    }

    /// Returns bounds on all unknown bursts, given bursts over the cut links. Returns `None` if a
    /// burst has no bound. (The module's documentation calls this function F.)
    fn bound(&self, bursts: &[Rational]) -> Result<Option<Vec<Rational>>, AnalysisError> {
        let common = self.common(Some(bursts))?;
        let stop = Interrupt::of_thread();
        let found = parallel(&stop, self.settings.threads, &self.unknowns, |unknown| {
            common.go_on()?;
            let CutLink { from, to } = unknown.link;
            let bounder = Bounder::new(&common);
            let flows = common.sets.group(unknown.flows.clone());
            let curve = bounder.arrival_behind(from, to, flows, None)?;
            let mut burst = burst_above(&curve, &unknown.rate)?;
            if self.by == By::Programs {
                let flows = &unknown.flows;
                let found = linear::burst_in_any_order(&common, self.delays, from, flows)?;
                burst = burst.into_iter().chain(found).min();
            }
            Ok(burst.map(|burst| rounded_up(&burst)))
        })?;
        Ok(found.into_iter().collect())
    }

    /// Returns proven bounds on the bursts over the cut links, or `None` if there are none.
    fn solve(&self) -> Result<Option<Vec<Rational>>, AnalysisError> {
        let mut best = self.first()?;
        let (most, close, progress) = match self.by {
            By::LeftOver => (MAX_BURSTS, TOLERANCE, LEAST_PROGRESS),
            By::Programs => {
                (MAX_BURSTS_BY_PROGRAMS, TOLERANCE_BY_PROGRAMS, LEAST_PROGRESS_BY_PROGRAMS)
            }
        };
        if self.unknowns.len() > most && self.by == By::Programs {
            return Ok(best);
        }
        if self.unknowns.len() <= most
            && let Some(limit) = self.limit(best.as_deref(), close)?
        {
            for raise in RAISES.into_iter().filter(|raise| *raise >= close) {
                let raised = self.raised(&limit, raise);
                let Some(found) = self.bound(&raised)? else { break };
                if found.iter().zip(&raised).all(|(found, raised)| found < raised) {
                    best = Some(smaller(best, found));
                    break;
                }
            }
        }
        let Some(mut best) = best else { return Ok(None) };
        // Each round takes as long as bounding all flows once, so large networks have only one.
        let descents = if self.unknowns.len() <= most { MAX_DESCENTS } else { 1 };
        for _ in 0..descents {
            let Some(found) = self.bound(&best)? else { break };
            let gains = |(best, found): (&Rational, &Rational)| {
                found.to_f64() < best.to_f64() * (1.0 - progress)
            };
            let gained = best.iter().zip(&found).any(gains);
            best = smaller(Some(best), found);
            if !gained {
                break;
            }
        }
        Ok(Some(best))
    }

    /// Returns bounds on the bursts that are known without a search: those that another method has
    /// proven, or those that follow from the delays of total flow analysis. Returns `None` if there
    /// are none.
    fn first(&self) -> Result<Option<Vec<Rational>>, AnalysisError> {
        let mut bursts = Vec::with_capacity(self.unknowns.len());
        for unknown in &self.unknowns {
            let known = match self.known.and_then(|known| Some((known.cuts.as_ref()?, &known.sets)))
            {
                Some((cuts, sets)) => {
                    cuts.arrival(unknown.link, &sets.group(unknown.flows.clone()))?
                }
                None => None,
            };
            let known = known.or_else(|| unknown.by_delays.clone());
            let Some(curve) = known else { return Ok(None) };
            let Some(burst) = burst_above(&curve, &unknown.rate)? else { return Ok(None) };
            bursts.push(rounded_up(&burst));
        }
        Ok(Some(bursts))
    }

    /// Returns the limit of the bursts when they are bounded again and again, each time from the
    /// bounds of the previous round. It starts from the proven bursts `known` or else from those of
    /// the sources. Returns `None` if the bursts grow without end.
    fn limit(
        &self,
        known: Option<&[Rational]>,
        close: f64,
    ) -> Result<Option<Vec<f64>>, AnalysisError> {
        let sources = || self.unknowns.iter().map(|unknown| unknown.source.to_f64()).collect();
        let mut at: Vec<f64> = match known {
            Some(known) => known.iter().map(Rational::to_f64).collect(),
            None => sources(),
        };
        let largest = at.iter().copied().fold(0.0, f64::max);
        let unit = if largest > 0.0 { largest } else { 1.0 };
        let mut failed = 0;
        for _ in 0..MAX_EXTRAPOLATIONS {
            let mut rounds = vec![at.clone()];
            for _ in 0..=EXTRAPOLATION_INTERVAL {
                let given: Vec<Rational> = at.iter().map(|burst| of_float(*burst)).collect();
                let Some(found) = self.bound(&given)? else { return Ok(None) };
                let next: Vec<f64> = found.iter().map(Rational::to_f64).collect();
                let is_close = is_close(&at, &next, unit, close);
                at.clone_from(&next);
                rounds.push(next);
                if is_close {
                    return Ok(Some(at));
                }
                if at.iter().any(|burst| *burst > unit * LARGEST_RATIO) {
                    return Ok(None);
                }
            }
            match extrapolated(&rounds) {
                Some(limit) => {
                    let is_done = is_close(&at, &limit, unit, close);
                    at = limit;
                    if is_done {
                        return Ok(Some(at));
                    }
                }
                // A sequence that grows without end is extrapolated to a negative limit.
                None if failed > 0 => return Ok(None),
                None => failed += 1,
            }
        }
        Ok(Some(at))
    }

    /// Returns the bursts of `limit`, each increased by the share `raise`, and all of them
    /// positive.
    fn raised(&self, limit: &[f64], raise: f64) -> Vec<Rational> {
        let largest = limit.iter().copied().fold(0.0, f64::max);
        let least = if largest > 0.0 { largest * raise } else { raise };
        limit.iter().map(|burst| of_float(burst * (1.0 + raise) + least)).collect()
    }
}

/// Returns the smallest burst with which a token bucket of the given rate is nowhere below a curve,
/// or `None` if there is no such burst.
fn burst_above(curve: &Curve, rate: &Rational) -> Result<Option<Rational>, AnalysisError> {
    let line = Curve::rate_latency(rate.clone(), Rational::ZERO);
    let Ok(line) = line else { return Ok(None) };
    Ok(operations::vertical_deviation(curve, &line)?.into_finite())
}

fn smaller(best: Option<Vec<Rational>>, found: Vec<Rational>) -> Vec<Rational> {
    match best {
        None => found,
        Some(best) => best.into_iter().zip(found).map(|(best, found)| best.min(found)).collect(),
    }
}

/// Returns the smallest double that is not below the number.
fn rounded_up(number: &Rational) -> Rational {
    let rounded = Rational::from_f64(number.to_f64_up());
    rounded.filter(|rounded| rounded >= number).unwrap_or_else(|| number.clone())
}

fn of_float(value: f64) -> Rational {
    Rational::from_f64(value.max(0.0)).unwrap_or(Rational::ZERO)
}

fn is_close(a: &[f64], b: &[f64], unit: f64, close: f64) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= close * a.abs().max(b.abs()).max(close * unit))
}

/// Returns the limit of a sequence of vectors, by reduced rank extrapolation. Returns `None` if one
/// of its numbers is infinite or negative.
fn extrapolated(rounds: &[Vec<f64>]) -> Option<Vec<f64>> {
    let less = |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a - b).collect() };
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let first = rounds.first()?;
    let steps: Vec<Vec<f64>> = rounds.windows(2).map(|pair| less(&pair[1], &pair[0])).collect();
    let (start, changes) = (steps.first()?, steps.windows(2).map(|pair| less(&pair[1], &pair[0])));
    // An orthonormal basis of the changes. Each vector has a second vector, its effect on the
    // limit.
    let mut basis: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    for (change, step) in changes.zip(&steps) {
        let (mut direction, mut effect) = (change.clone(), step.clone());
        // The second pass removes what rounding leaves after the first one.
        for _ in 0..2 {
            for (unit, of_unit) in &basis {
                let part = dot(&direction, unit);
                direction = direction.iter().zip(unit).map(|(d, u)| d - part * u).collect();
                effect = effect.iter().zip(of_unit).map(|(e, u)| e - part * u).collect();
            }
        }
        let length = dot(&direction, &direction).sqrt();
        if !length.is_finite() || length <= 1e-9 * dot(&change, &change).sqrt() {
            break;
        }
        let scaled = |vector: Vec<f64>| vector.into_iter().map(|value| value / length).collect();
        basis.push((scaled(direction), scaled(effect)));
    }
    let mut limit = first.clone();
    for (unit, effect) in &basis {
        let part = dot(start, unit);
        limit = limit.iter().zip(effect).map(|(value, effect)| value - part * effect).collect();
    }
    limit.iter().all(|value| value.is_finite() && *value >= 0.0).then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::extrapolated;

    #[test]
    fn affine_rounds_lead_to_their_fixed_point() {
        // The fixed point of x = 1 + y / 2, y = 2 + x / 4 + y / 4.
        let next = |at: &[f64]| vec![1.0 + at[1] / 2.0, 2.0 + at[0] / 4.0 + at[1] / 4.0];
        let mut rounds = vec![vec![0.0, 0.0]];
        for _ in 0..3 {
            rounds.push(next(rounds.last().expect("a round")));
        }
        let limit = extrapolated(&rounds).expect("a limit");
        let again = next(&limit);
        assert!(limit.iter().zip(&again).all(|(a, b)| (a - b).abs() < 1e-12), "{limit:?}");
    }

    #[test]
    fn what_grows_from_round_to_round_has_no_limit() {
        assert_eq!(extrapolated(&[vec![1.0], vec![3.0], vec![7.0]]), None);
        assert_eq!(extrapolated(&[vec![1.0], vec![2.0], vec![3.0]]), Some(vec![1.0]));
    }
}
