//! The least upper delay bound (LUDB) for FIFO paths: nested residual service curves with optimised
//! parameters theta.
//!
//! Cross flows are nested if any two of them either share no server of the path, or one visits all
//! servers of the other. Consider a flow that contains others. Its service is the convolution of
//! the service of its servers, where an inner flow takes a part of the service and leaves the
//! residual service. The FIFO residual service curve for that flow and any theta is in turn the
//! service of the flow around it (Lenzini, Mingozzi and Stea, "A methodology for computing
//! end-to-end delay bounds in FIFO-multiplexing tandems", Performance Evaluation 65, 2008). All
//! flows that visit the whole path are one aggregate. Where two flows overlap, one of them is cut
//! there and continues on the rest of its servers as a new flow, with the delay of total flow
//! analysis. The flow that is cut is either always the one that begins first, or always the other.
//!
//! Every choice of thetas yields a bound, so the thetas are searched, starting from the times that
//! it takes to serve the bursts, in steps that become smaller. The result is a bound and usually
//! close to the least one, but need not be the least.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::fixed_point::{Delays, power_of_two_below};
use super::linear::{Bursts, Tree, Unfolding};
use super::{Analysis, AnalysisError, FlowBound};
use crate::network::arrival::Common;
use crate::network::derivation::{Derivation, Step};
use crate::network::elements::{FlowId, ServerId};
use crate::network::operations;
use crate::{Curve, Extended, Rational};

/// The largest number of servers on a path for which the parameters theta of FIFO residual service
/// curves are searched.
const LONGEST_PATH: usize = 16;
/// The largest number of groups of cross traffic for which the parameters theta of FIFO residual
/// service curves are searched.
const MAX_CROSS_FLOWS: usize = 32;
/// The number of times that the step of the search for the parameters theta is halved.
const HALVINGS: usize = 14;
/// The largest number of passes over all parameters theta with each step of the search.
const PASSES: usize = 6;

/// The flows of cross traffic that visit the same part of the path, and their joint arrival curve.
type Crossing = (Vec<FlowId>, Curve);

/// Cross traffic by the part of the path that it visits, from its first to its last server.
type Crossings = BTreeMap<Part, Crossing>;

/// A part of a path, as the indices of its first and its last server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    first: usize,
    last: usize,
}

/// Cross traffic on a part of the path, and the cross traffic that is nested in it. `inside` has
/// the indices of the nodes that are directly nested.
#[derive(Debug)]
struct Node {
    first: usize,
    last: usize,
    crossing: Crossing,
    inside: Vec<usize>,
}

/// Returns the bounds of a flow by LUDB, the least upper delay bound.
pub(super) fn bound(
    common: &Common<'_>,
    delays: &Delays,
    id: FlowId,
) -> Result<FlowBound, AnalysisError> {
    let path = &common.network.flow(id).path;
    let tandem = Tree::of(common, delays, path, Unfolding::Path, &Bursts::default(), &[])?;
    let count = tandem.nodes.len();
    if count > LONGEST_PATH {
        let why = format!("the path has {count} servers, and ludb supports at most {LONGEST_PATH}");
        return Err(AnalysisError::NoProgram(why));
    }
    let servers: Vec<ServerId> = tandem.nodes.iter().map(|node| node.server).collect();
    let waits: Vec<Extended> = tandem.nodes.iter().map(|node| node.delay.clone()).collect();
    let mut crossings = Crossings::new();
    for class in &tandem.classes {
        let part = Part { first: class.first, last: class.last };
        add(&mut crossings, part, &class.flows, &class.arrival)?;
    }
    let whole = Part { first: 0, last: count.saturating_sub(1) };
    let (_, aggregate) = crossings.remove(&whole).unwrap_or_else(nothing);
    let mut best: Option<(Extended, Path<'_, '_>, Vec<Rational>)> = None;
    for earlier in [false, true] {
        let nested = nested(crossings.clone(), &waits, earlier)?;
        if nested.len() > MAX_CROSS_FLOWS {
            let why = format!(
                "{} flows cross the path, and ludb supports at most {MAX_CROSS_FLOWS}",
                nested.len()
            );
            return Err(AnalysisError::NoProgram(why));
        }
        let path = Path::of(common, &servers, nested);
        let (delay, offsets) = path.search(&aggregate)?;
        if best.as_ref().is_none_or(|(least, ..)| delay < *least) {
            best = Some((delay, path, offsets));
        }
    }
    let Some((delay, path, offsets)) = best else { return Err(AnalysisError::NoArrivalBound) };
    let mut steps = Vec::new();
    let service = path.service(&offsets, &mut steps)?;
    let derivation = Derivation { steps, services: vec![service] };
    FlowBound::of_delay(common, Analysis::Ludb, id, delay, derivation)
}

fn nothing() -> Crossing {
    (Vec::new(), Curve::zero())
}

/// Adds cross traffic to the cross traffic that is already known for a part of the path.
fn add(
    crossings: &mut Crossings,
    part: Part,
    flows: &[FlowId],
    arrival: &Curve,
) -> Result<(), AnalysisError> {
    let (known, sum) = crossings.entry(part).or_insert_with(nothing);
    known.extend_from_slice(flows);
    *sum = operations::sum(sum, arrival)?;
    Ok(())
}

/// Cuts cross traffic where two parts of the path overlap, until all of it is nested. `earlier`
/// says which of two overlapping parts is cut: the one that begins first, or the other.
fn nested(
    mut crossings: Crossings,
    waits: &[Extended],
    earlier: bool,
) -> Result<Crossings, AnalysisError> {
    loop {
        let overlap = crossings.keys().find_map(|one| {
            let behind = |other: &&Part| {
                one.first < other.first && other.first <= one.last && one.last < other.last
            };
            Some((*one, *crossings.keys().find(behind)?))
        });
        let Some((one, later)) = overlap else { return Ok(crossings) };
        // The part that is cut, and the index at which its rest begins.
        let (part, rest) = if earlier { (one, later.first) } else { (later, one.last + 1) };
        let Some((flows, arrival)) = crossings.remove(&part) else { return Ok(crossings) };
        let mut delay = Extended::ZERO;
        for wait in waits.iter().take(rest).skip(part.first) {
            delay = delay.checked_add(wait).unwrap_or(Extended::PositiveInfinity);
        }
        let behind = operations::advanced(&arrival, &delay)?;
        add(&mut crossings, Part { last: rest - 1, ..part }, &flows, &arrival)?;
        add(&mut crossings, Part { first: rest, ..part }, &flows, &behind)?;
    }
}

/// A path whose cross traffic is nested: any two of its parts are disjoint, or one contains the
/// other.
struct Path<'c, 'n> {
    common: &'c Common<'n>,
    servers: Vec<ServerId>,
    /// The cross traffic. A node that is nested in another one comes before it.
    nodes: Vec<Node>,
    /// The indices of the nodes that are nested in no other node.
    outermost: Vec<usize>,
}

impl<'c, 'n> Path<'c, 'n> {
    fn of(common: &'c Common<'n>, servers: &[ServerId], crossings: Crossings) -> Self {
        let mut parts: Vec<_> = crossings.into_iter().collect();
        // Parts are visited by ascending length. The outermost nodes so far that lie within a new
        // node become its inner nodes.
        parts.sort_by_key(|(part, _)| (part.last - part.first, part.first));
        let mut nodes: Vec<Node> = Vec::with_capacity(parts.len());
        let mut outermost: Vec<usize> = Vec::new();
        for (Part { first, last }, crossing) in parts {
            let within = |index: &usize| {
                nodes.get(*index).is_some_and(|node| first <= node.first && node.last <= last)
            };
            let (inside, outside): (Vec<usize>, Vec<usize>) =
                outermost.iter().copied().partition(within);
            outermost = outside;
            outermost.push(nodes.len());
            nodes.push(Node { first, last, crossing, inside });
        }
        Self { common, servers: servers.to_vec(), nodes, outermost }
    }

    /// Returns the service curve of a part of the path for the cross traffic that contains the
    /// nodes `inside` (nested cross traffic). The servers of these nodes have the residual service
    /// in `left`, by node.
    fn around(&self, part: Part, inside: &[usize], left: &[Curve]) -> Result<Curve, AnalysisError> {
        let mut together: Option<Curve> = None;
        let mut join = |curve: &Curve| {
            together = Some(match together.take() {
                None => curve.clone(),
                Some(before) => operations::convolution(&before, curve)?,
            });
            Ok::<_, AnalysisError>(())
        };
        for (place, server) in self.servers.iter().enumerate().take(part.last + 1).skip(part.first)
        {
            let holder = inside.iter().filter_map(|index| Some((self.nodes.get(*index)?, *index)));
            let mut holder = holder.filter(|(node, _)| node.first <= place && place <= node.last);
            match holder.next() {
                None => join(&self.common.network.server(*server).service)?,
                Some((node, index)) if node.first == place => match left.get(index) {
                    Some(curve) => join(curve)?,
                    None => join(&Curve::zero())?,
                },
                Some(_) => {}
            }
        }
        Ok(together.unwrap_or_else(Curve::zero))
    }

    /// Returns the residual service curve of the whole path. The theta of each node is the time to
    /// serve its burst plus its entry in `offsets`.
    fn service(&self, offsets: &[Rational], steps: &mut Vec<Step>) -> Result<Curve, AnalysisError> {
        let mut left: Vec<Curve> = Vec::with_capacity(self.nodes.len());
        for (node, offset) in self.nodes.iter().zip(offsets) {
            let service =
                self.around(Part { first: node.first, last: node.last }, &node.inside, &left)?;
            let arrival = &node.crossing.1;
            let curve = match operations::time_to_serve(&service, arrival)? {
                None => Curve::zero(),
                Some(time) => operations::fifo_left_over_at(&service, arrival, &(&time + offset))?,
            };
            if let (Some(first), Some(last)) =
                (self.servers.get(node.first), self.servers.get(node.last))
            {
                steps.push(Step::Nested {
                    first: *first,
                    last: *last,
                    cross: node.crossing.0.clone(),
                    arrival: Arc::new(arrival.clone()),
                    service: curve.clone(),
                });
            }
            left.push(curve);
        }
        self.around(
            Part { first: 0, last: self.servers.len().saturating_sub(1) },
            &self.outermost,
            &left,
        )
    }

    fn delay(&self, aggregate: &Curve, offsets: &[Rational]) -> Result<Extended, AnalysisError> {
        let service = self.service(offsets, &mut Vec::new())?;
        Ok(operations::horizontal_deviation(aggregate, &service)?)
    }

    /// Searches offsets of the parameters theta for which no change of a single offset by the step
    /// leads to a smaller delay. Returns that delay and the offsets.
    fn search(&self, aggregate: &Curve) -> Result<(Extended, Vec<Rational>), AnalysisError> {
        let mut offsets = vec![Rational::ZERO; self.nodes.len()];
        let mut least = self.delay(aggregate, &offsets)?;
        let delay = match least.finite() {
            Some(delay) if delay.is_positive() => delay,
            _ => return Ok((least, offsets)),
        };
        let mut step = power_of_two_below(delay);
        for _ in 0..HALVINGS {
            for _ in 0..PASSES {
                let mut better = false;
                for place in 0..offsets.len() {
                    let Some(now) = offsets.get(place).cloned() else { continue };
                    for tried in [&now + &step, &now - &step] {
                        if tried.is_negative() {
                            continue;
                        }
                        self.common.go_on()?;
                        offsets[place] = tried.clone();
                        let found = self.delay(aggregate, &offsets)?;
                        if found < least {
                            least = found;
                            better = true;
                            break;
                        }
                        offsets[place] = now.clone();
                    }
                }
                if !better {
                    break;
                }
            }
            step = step / Rational::from(2);
        }
        Ok((least, offsets))
    }
}
