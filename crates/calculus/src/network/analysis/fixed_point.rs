//! Total flow analysis by delays, with the shaping of links ("TFA++"), also for cyclic networks.
//!
//! A flow that has been delayed by at most D arrives with its source's arrival curve, advanced by
//! D. Flows that arrive over one link are, together, also bounded by the link's shaping curve
//! (Mifdaoui and Leydier, "Beyond the accuracy-complexity tradeoffs of compositional analyses using
//! network calculus for complex networks", 2017). The unknowns are the delays, one for each server
//! (and priority). After a regulator, a flow has the arrival curve of its source again, and the
//! delays since its last regulation include that of the regulator (`regulators`). Flows of one
//! multicast group count once where they share their path, and copies of replicated flows count
//! once after all but one are eliminated (`copies`). In a feed-forward network the delays follow in
//! topological order. In a cyclic network they are a fixed point of a function F (Thomas, Le Boudec
//! and Mifdaoui, "On cyclic dependencies and regulators in time-sensitive networks", RTSS 2019).
//!
//! Iteration from zero reaches the fixed point only in the limit. Here delays are rounded up to a
//! grid and raised by one step of it, and the iteration ends when it finds delays x with x >= F(x).
//! Close to the load at which delays grow from round to round, this would take more and more
//! rounds; Newton's method then replaces it (`newton`). That such an x bounds the delays does not
//! depend on a limit: F is concave and non-decreasing for concave arrival curves and convex service
//! curves. The real delays b up to any time are finite and obey b <= F(b). Were some of them above
//! x, let s > 1 be the largest ratio b/x. Then b <= F(b) <= F(s x) <= s F(x) - (s - 1) F(0) < s x,
//! which contradicts that the ratio is attained. Other curves are replaced by their concave and
//! convex hulls.

mod newton;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{Analysis, AnalysisError, ClassBound, FlowBound, ServerBound};
use crate::network::arrival::Common;
use crate::network::derivation::{Derivation, Step};
use crate::network::elements::{FlowId, Multiplexing, Priority, ServerId};
use crate::network::{operations, pmoo, regulators};
use crate::{Curve, Extended, Rational};

/// The number of rounds after which the delays of a cyclic network count as unbounded.
const MAX_ROUNDS: usize = 20_000;
/// The number of rounds of iteration between two attempts with Newton's method.
const ROUNDS_BEFORE_NEWTON: usize = 200;
/// The resolution of the grid to which delays are rounded, as the number of its steps in the
/// largest delay of the first round.
const GRID_STEPS: i64 = 1 << 40;

/// The delay bounds of all servers by total flow analysis by delays (TFA++), with the arrival and
/// service curves from which they follow.
#[derive(Clone, Debug)]
pub(crate) struct Delays {
    classes: HashMap<(ServerId, Option<Priority>), Class>,
}

/// The curves and the delay bound of all traffic of a server, or of its traffic of one priority.
#[derive(Clone, Debug)]
struct Class {
    arrival: Arc<Curve>,
    service: Curve,
    delay: Extended,
}

impl Delays {
    pub(crate) fn of(common: &Common<'_>) -> Result<Self, AnalysisError> {
        regulators::check(common.network, &common.settings)?;
        match common.network.order() {
            Ok(order) => {
                let mut delays = Self { classes: HashMap::new() };
                for server in order {
                    common.go_on()?;
                    for (class, result) in delays.server(common, server, false)? {
                        delays.classes.insert((server, class), result);
                    }
                }
                Ok(delays)
            }
            Err(_) => Self::of_cycles(common),
        }
    }

    /// Computes the delays of the servers of a cyclic network, in rounds until they no longer
    /// change. All delays are infinite if they still change after [`MAX_ROUNDS`] or grow too
    /// large.
    fn of_cycles(common: &Common<'_>) -> Result<Self, AnalysisError> {
        let servers: Vec<ServerId> = common.network.servers().map(|(id, _)| id).collect();
        let mut delays = Self { classes: HashMap::new() };
        let mut step: Option<Rational> = None;
        for round in 1..=MAX_ROUNDS {
            let mut changed = false;
            let mut most = Rational::ZERO;
            for server in &servers {
                common.go_on()?;
                for (class, mut result) in delays.server(common, *server, true)? {
                    if let (Extended::Finite(delay), Some(step)) = (&result.delay, &step) {
                        let steps = (delay / step).floor() + Rational::from(2);
                        result.delay = Extended::Finite(steps * step);
                    }
                    if let Extended::Finite(delay) = &result.delay {
                        most = most.max(delay.clone());
                    }
                    let before = delays.classes.get(&(*server, class)).map(|class| &class.delay);
                    // Delays never decrease from round to round, so unchanged delays are rounded to
                    // the same grid point.
                    if before.is_none_or(|before| *before < result.delay) {
                        changed = true;
                        delays.classes.insert((*server, class), result);
                    }
                }
            }
            match &step {
                None if !most.is_positive() => return Ok(delays),
                None => step = Some(power_of_two_below(&most) / Rational::from(GRID_STEPS)),
                Some(_) if !changed => return Ok(delays),
                Some(step)
                    if most > step * &Rational::from(GRID_STEPS) * &Rational::from(GRID_STEPS) =>
                {
                    break;
                }
                Some(step) if round % ROUNDS_BEFORE_NEWTON == 0 => {
                    if let Some(found) = newton::fixed_point(&delays, common, &servers, step)? {
                        return Ok(found);
                    }
                }
                Some(_) => {}
            }
        }
        for class in delays.classes.values_mut() {
            class.delay = Extended::PositiveInfinity;
        }
        Ok(delays)
    }

    /// Returns the delays at a server, one for each priority or one for all traffic, given the
    /// delays at the servers before it. Delays that are not known yet count as zero. With
    /// `simplify`, curves are replaced by their concave and convex hulls.
    fn server(
        &self,
        common: &Common<'_>,
        server: ServerId,
        simplify: bool,
    ) -> Result<Vec<(Option<Priority>, Class)>, AnalysisError> {
        let network = common.network;
        let here = network.flows_at(server);
        let model = network.server(server);
        let mut service = model.service.clone();
        if simplify {
            service = operations::maximum_of(&pmoo::rate_latencies(&service))?;
        }
        let multiplexing = common.multiplexing(server);
        if multiplexing != Multiplexing::StaticPriority {
            let arrival = Arc::new(self.arrival(common, server, here, simplify)?);
            let delay = if multiplexing == Multiplexing::Fifo || here.len() == 1 {
                operations::horizontal_deviation(&arrival, &service)?
            } else if model.strict {
                operations::backlogged_period(&arrival, &service)?
            } else {
                return Err(AnalysisError::NotStrict(model.name.clone()));
            };
            return Ok(vec![(None, Class { arrival, service, delay })]);
        }
        let mut by_priority = BTreeMap::<Priority, Vec<FlowId>>::new();
        for id in here {
            by_priority.entry(network.flow(*id).priority).or_default().push(*id);
        }
        if !model.strict && by_priority.len() > 1 {
            return Err(AnalysisError::NotStrict(model.name.clone()));
        }
        let mut classes = Vec::new();
        let mut left = service;
        for (priority, flows) in &by_priority {
            let lower = here.iter().map(|id| network.flow(*id));
            let packets =
                lower.filter(|flow| flow.priority > *priority).map(|flow| &flow.maximum_packet);
            let packet = packets.max().cloned().unwrap_or(Rational::ZERO);
            let service = operations::lowered(&left, &packet)?;
            let arrival = Arc::new(self.arrival(common, server, flows, simplify)?);
            let delay = operations::horizontal_deviation(&arrival, &service)?;
            left = operations::left_over(&left, &arrival)?;
            classes.push((Some(*priority), Class { arrival, service, delay }));
        }
        Ok(classes)
    }

    /// Returns the arrival curve of some flows together at a server, which follows from the delays
    /// at the previous servers.
    fn arrival(
        &self,
        common: &Common<'_>,
        server: ServerId,
        flows: &[FlowId],
        simplify: bool,
    ) -> Result<Curve, AnalysisError> {
        let network = common.network;
        let mut total = Curve::zero();
        let mut over = BTreeMap::<ServerId, (Curve, Rational)>::new();
        for id in flows {
            let flow = network.flow(*id);
            let mut arrival = flow.arrival.clone();
            if simplify {
                let buckets = pmoo::token_buckets(&arrival).into_iter().map(|b| (b.burst, b.rate));
                arrival = Curve::token_buckets(buckets).unwrap_or(arrival);
            }
            let copies = network.copies_at(*id, server);
            if copies.len() > 1 {
                // If copies are merged here or were merged before, each packet counts once, with
                // the largest delay of any copy.
                let arrival = operations::advanced(&arrival, &self.late(common, copies, server))?;
                let way = network.predecessor(*id, server);
                let apart = |copy: &FlowId| network.predecessor(*copy, server) != way;
                match way.filter(|_| !copies.iter().any(apart)) {
                    // The shaping of one link does not apply to copies that come over several
                    // links.
                    None => total = operations::sum(&total, &arrival)?,
                    Some(before) => {
                        let (sum, packet) =
                            over.entry(before).or_insert_with(|| (Curve::zero(), Rational::ZERO));
                        *sum = operations::sum(sum, &arrival)?;
                        *packet = packet.clone().max(flow.maximum_packet.clone());
                    }
                }
                continue;
            }
            let Some(before) = network.predecessor(*id, server) else {
                total = operations::sum(&total, &arrival)?;
                continue;
            };
            // After a regulator the flow has the arrival curve of its source, and earlier shaping
            // no longer applies.
            if is_regulated(common, before) {
                total = operations::sum(&total, &arrival)?;
                continue;
            }
            let mut delay = Extended::ZERO;
            for earlier in flow.path.iter().take_while(|earlier| **earlier != server) {
                let class = self.class(common, *earlier, *id).map_or(&Extended::ZERO, |c| &c.delay);
                delay = delay.checked_add(class).unwrap_or(Extended::PositiveInfinity);
                if is_regulated(common, *earlier) {
                    delay = Extended::ZERO;
                }
            }
            arrival = operations::advanced(&arrival, &delay)?;
            let (sum, packet) =
                over.entry(before).or_insert_with(|| (Curve::zero(), Rational::ZERO));
            *sum = common.shortened(operations::sum(sum, &arrival)?);
            *packet = packet.clone().max(flow.maximum_packet.clone());
        }
        for (before, (mut arrival, packet)) in over {
            let model = network.server(before);
            for shaping in model.shaping.iter().chain(network.link(before, server)) {
                let packet = if model.packetizer { &packet } else { &Rational::ZERO };
                arrival = operations::minimum(&arrival, &operations::raised(shaping, packet)?)?;
            }
            total = common.shortened(operations::sum(&total, &arrival)?);
        }
        Ok(total)
    }

    /// Returns the largest total delay, over the copies of a replicated flow, up to a server. The
    /// paths of the copies must have no regulator.
    fn late(&self, common: &Common<'_>, copies: &[FlowId], server: ServerId) -> Extended {
        let mut most = Extended::ZERO;
        for copy in copies {
            let path = &common.network.flow(*copy).path;
            let earlier = path.iter().take_while(|earlier| **earlier != server);
            let delays = earlier.filter_map(|at| self.class(common, *at, *copy));
            let mut delays = delays.map(|class| &class.delay);
            let late = delays.try_fold(Extended::ZERO, |sum, delay| sum.checked_add(delay));
            most = most.max(late.unwrap_or(Extended::PositiveInfinity));
        }
        most
    }

    fn class(&self, common: &Common<'_>, server: ServerId, flow: FlowId) -> Option<&Class> {
        let by_priority = common.multiplexing(server) == Multiplexing::StaticPriority;
        let priority = by_priority.then(|| common.network.flow(flow).priority);
        self.classes.get(&(server, priority))
    }

    /// Returns the delay bound of a flow at a server (infinite if the server has no bound).
    pub(super) fn delay(&self, common: &Common<'_>, server: ServerId, flow: FlowId) -> Extended {
        let class = self.class(common, server, flow);
        class.map_or(Extended::PositiveInfinity, |class| class.delay.clone())
    }

    /// Returns the arrival curve of all flows together at a server.
    pub(super) fn arrivals(
        &self,
        common: &Common<'_>,
        server: ServerId,
    ) -> Result<Curve, AnalysisError> {
        let cyclic = common.network.order().is_err();
        self.arrival(common, server, common.network.flows_at(server), cyclic)
    }

    /// Returns a bound on the length of a server's backlogged periods.
    pub(super) fn backlogged_period(
        &self,
        common: &Common<'_>,
        server: ServerId,
    ) -> Result<Extended, AnalysisError> {
        let all = self.arrivals(common, server)?;
        Ok(operations::backlogged_period(&all, &common.network.server(server).service)?)
    }

    pub(super) fn bound(
        &self,
        common: &Common<'_>,
        id: FlowId,
    ) -> Result<FlowBound, AnalysisError> {
        let flow = common.network.flow(id);
        let mut delay = Extended::ZERO;
        let mut steps = Vec::new();
        for server in &flow.path {
            let Some(class) = self.class(common, *server, id) else { continue };
            delay = delay.checked_add(&class.delay).unwrap_or(Extended::PositiveInfinity);
            steps.push(Step::Total {
                server: *server,
                arrival: Arc::clone(&class.arrival),
                service: class.service.clone(),
                delay: class.delay.clone(),
                backlog: operations::vertical_deviation(&class.arrival, &class.service)?,
            });
        }
        let derivation = Derivation { steps, services: Vec::new() };
        FlowBound::of_delay(common, Analysis::TfaPlusPlus, id, delay, derivation)
    }

    pub(super) fn server_bound(
        &self,
        common: &Common<'_>,
        server: ServerId,
    ) -> Result<ServerBound, AnalysisError> {
        let mut delay = Extended::ZERO;
        let mut by_priority = BTreeMap::new();
        for id in common.network.flows_at(server) {
            if let Some(class) = self.class(common, server, *id) {
                delay = delay.max(class.delay.clone());
                by_priority.insert(common.network.flow(*id).priority, class);
            }
        }
        let mut classes = Vec::new();
        if common.multiplexing(server) == Multiplexing::StaticPriority {
            for (priority, class) in by_priority {
                let backlog = operations::vertical_deviation(&class.arrival, &class.service)?;
                classes.push(ClassBound { priority, delay: class.delay.clone(), backlog });
            }
        }
        let cyclic = common.network.order().is_err();
        let all = self.arrival(common, server, common.network.flows_at(server), cyclic)?;
        let service = &common.network.server(server).service;
        let backlog = operations::vertical_deviation(&all, service)?;
        Ok(ServerBound { server, delay, backlog, classes })
    }
}

/// Returns whether the server has a regulator after it.
fn is_regulated(common: &Common<'_>, server: ServerId) -> bool {
    common.network.server(server).regulator.is_some()
}

/// Returns the largest power of two that is not above a positive number.
pub(super) fn power_of_two_below(number: &Rational) -> Rational {
    let (one, two) = (Rational::ONE, Rational::from(2));
    let mut power = one;
    while power > *number {
        power = power / &two;
    }
    while &power * &two <= *number {
        power = power * &two;
    }
    power
}
