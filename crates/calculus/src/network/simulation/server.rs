//! Simulates a server that serves as little as its strict service curve allows.
//!
//! When data arrive at an empty server, a backlogged period starts, during which the server serves
//! exactly its service curve, counted from the start. That is a legal behaviour of every server
//! with that service curve, strict or not.

use std::collections::VecDeque;

use super::process::Process;
use crate::{Curve, Extended, Piece, Rational};

/// The number of backlogged periods after which a server no longer has a latency, which limits the
/// length of runs. Faster service is always legal.
const LAZY_PERIODS: usize = 3;
/// The largest number of backlogged periods of a server. After these it serves everything at once.
const MAX_PERIODS: usize = 400;

/// The behaviour of a server that begins at the time `from`.
#[derive(Clone, Debug)]
enum Phase {
    /// The server is not backlogged, so all data leave when they arrive.
    Free { from: Rational },
    /// The server is backlogged, and its service follows the steps.
    Busy { from: Rational, steps: Vec<Step> },
}

/// The service of a backlogged server that begins at a time: that time, an amount of data that is
/// served at once (`None` for everything), and the rate of service after it.
type Step = (Rational, Option<Rational>, Rational);

impl Phase {
    fn from(&self) -> &Rational {
        match self {
            Self::Free { from } | Self::Busy { from, .. } => from,
        }
    }
}

/// The indices of the flows of one priority, in the order in which simultaneous data are served.
pub(super) type Group = Vec<usize>;

/// Returns the data of each flow that leave a server over time, given those that arrive. The groups
/// are in the order of urgency. Returns `None` if the server never serves all data.
pub(super) fn serve(
    arrivals: &[Process],
    groups: &[Group],
    service: &Curve,
) -> Option<Vec<Process>> {
    let mut all = Process::default();
    for arrival in arrivals {
        all = all.plus(arrival, 1);
    }
    let phases = phases(&all, service)?;
    let mut departures = vec![Process::default(); arrivals.len()];
    let (mut urgent_in, mut urgent_out) = (Process::default(), Process::default());
    for group in groups {
        for flow in group {
            urgent_in = urgent_in.plus(arrivals.get(*flow)?, 1);
        }
        let out = sweep(&urgent_in, &phases);
        let own = out.plus(&urgent_out, -1);
        if let [flow] = group.as_slice() {
            *departures.get_mut(*flow)? = own;
        } else {
            split(arrivals, group, &own, &mut departures)?;
        }
        urgent_out = out;
    }
    Some(departures)
}

/// A less urgent packet in transmission when more urgent data arrive.
#[derive(Clone, Copy)]
pub(super) struct Blocking<'a> {
    /// The index of the packet's flow among those at the server.
    pub(super) flow: usize,
    /// The time at which the packet arrives.
    pub(super) at: &'a Rational,
    /// The size of the packet.
    pub(super) amount: &'a Rational,
}

/// Returns the data of each flow that leave a server over time, if the server serves a less urgent
/// packet before all other data. The packet leaves as a whole if the server packetizes.
pub(super) fn serve_behind(
    blocking: Blocking<'_>,
    packetizer: bool,
    arrivals: &[Process],
    groups: &[Group],
    service: &Curve,
) -> Option<Vec<Process>> {
    let Blocking { flow, at, amount } = blocking;
    let mut packet = Process::default();
    packet.jump(at, amount);
    let mut parts = arrivals.to_vec();
    *parts.get_mut(flow)? = arrivals.get(flow)?.plus(&packet, -1);
    parts.push(packet);
    let mut first = vec![vec![arrivals.len()]];
    first.extend_from_slice(groups);
    let mut departures = serve(&parts, &first, service)?;
    let mut packet = departures.pop()?;
    if packetizer {
        packet = packet.packetised(amount)?;
    }
    let rest = departures.get_mut(flow)?;
    *rest = rest.plus(&packet, 1);
    Some(departures)
}

/// Returns the behaviour of a server over time, from the arrival of all its data and its service
/// curve: its backlogged periods and the times between them.
fn phases(all: &Process, service: &Curve) -> Option<Vec<Phase>> {
    let mut phases = Vec::new();
    let Some(mut now) = all.first().cloned() else { return Some(phases) };
    let end = all.knots.last()?.t.clone();
    let eager = eager(service);
    for period in 0..MAX_PERIODS {
        let service = if period < LAZY_PERIODS { service } else { &eager };
        // Skips the time in which the server is idle. `now` is the time at which data arrive at the
        // empty server.
        let after = all.knots.iter().rposition(|knot| knot.t <= now)?;
        if all.knots[after].slope.is_zero() && all.knots[after].t < now {
            match all.knots.get(after + 1) {
                Some(next) => now = next.t.clone(),
                None => return Some(phases),
            }
        }
        let index = all.knots.iter().rposition(|knot| knot.t <= now)?;
        let knot = &all.knots[index];
        let before = if knot.t == now { knot.low.clone() } else { knot.at(&now) };
        let missing = all.total() - &before;
        if !missing.is_positive() {
            return Some(phases);
        }
        let enough = service.lower_pseudo_inverse().ok()?.value_at(&missing).into_finite()?;
        let long = enough.max(&end - &now) + Rational::ONE;
        let pieces = service.pieces_until(&long).ok()?;
        let first = pieces.first()?;
        let keeps_up = matches!(first.right_limit(), Extended::Finite(height)
            if height.is_zero() && *first.slope() >= knot.slope && knot.at(&now) == before);
        if keeps_up {
            // No backlog arises until more data arrive.
            phases.push(Phase::Free { from: now.clone() });
            match all.knots.get(index + 1) {
                Some(next) => now = next.t.clone(),
                None => return Some(phases),
            }
            continue;
        }
        let (steps, caught_up) = busy_period(all, index, &now, before, &pieces)?;
        phases.push(Phase::Busy { from: now.clone(), steps });
        now = caught_up;
        if now >= end {
            break;
        }
    }
    phases.push(Phase::Free { from: now });
    Some(phases)
}

/// Returns the steps of the service in the backlogged period that starts at `now`, and the end of
/// that period. `index` is that of the last knot of the arrivals at or before `now`, and `served`
/// is the amount of data that arrived before.
fn busy_period(
    all: &Process,
    index: usize,
    now: &Rational,
    mut served: Rational,
    pieces: &[Piece],
) -> Option<(Vec<Step>, Rational)> {
    let mut steps = Vec::new();
    let mut caught_up = None;
    let (mut at, mut piece, mut arrived) = (now.clone(), 0, index);
    let mut slope = Rational::ZERO;
    while caught_up.is_none() {
        // Updates arrivals and service to the time `at`.
        if let Some(next) = pieces.get(piece)
            && now + next.start() == at
        {
            let jump = match next.right_limit() {
                Extended::Finite(_) if piece == 0 => next.right_limit().finite().cloned(),
                Extended::Finite(height) => {
                    let last = &pieces[piece - 1];
                    let from = last.right_limit().finite()?;
                    let was = from + &(last.slope() * &(next.start() - last.start()));
                    Some(height - &was)
                }
                _ => None,
            };
            slope = next.slope().clone();
            if let Some(jump) = &jump {
                served += jump;
            }
            steps.push((at.clone(), jump.clone(), slope.clone()));
            piece += 1;
            if jump.is_none() {
                caught_up = Some(at.clone());
                continue;
            }
        }
        let knot = &all.knots[arrived];
        let gap = knot.at(&at) - &served;
        if !gap.is_positive() && at > *now {
            caught_up = Some(at.clone());
            continue;
        }
        let next_piece = pieces.get(piece).map(|next| now + next.start());
        let next_knot = all.knots.get(arrived + 1).map(|next| next.t.clone());
        let closing = &slope - &knot.slope;
        let meets = closing.is_positive().then(|| &at + &(&gap / &closing));
        let soonest = [&next_piece, &next_knot, &meets].into_iter().flatten().min().cloned()?;
        served += &(&slope * &(&soonest - &at));
        if next_knot.as_ref() == Some(&soonest) {
            arrived += 1;
        } else if meets.as_ref() == Some(&soonest) && next_piece.as_ref() != Some(&soonest) {
            caught_up = Some(soonest.clone());
        }
        at = soonest;
    }
    Some((steps, caught_up?))
}

/// Returns the service curve without its latency: the line with its long-term rate. Returns the
/// curve itself if the line is below it somewhere.
fn eager(service: &Curve) -> Curve {
    let rate = service.ultimate_rate().into_finite();
    let curve = rate.and_then(|rate| Curve::rate_latency(rate, Rational::ZERO).ok());
    curve
        .filter(|curve| service.is_at_most(curve).unwrap_or(false))
        .unwrap_or_else(|| service.clone())
}

/// Returns the output of a server for the given arrivals if these are served before all others.
fn sweep(arrivals: &Process, phases: &[Phase]) -> Process {
    let mut out = Process::default();
    let mut knots = arrivals.knots.iter().peekable();
    // The slope of the arrivals, and the waiting data.
    let (mut incoming, mut waiting) = (Rational::ZERO, Rational::ZERO);
    for (index, phase) in phases.iter().enumerate() {
        let end = phases.get(index + 1).map(Phase::from);
        let (mut at, mut free) = (phase.from().clone(), matches!(phase, Phase::Free { .. }));
        let mut steps = match phase {
            Phase::Busy { steps, .. } => steps.iter().peekable(),
            Phase::Free { .. } => [].iter().peekable(),
        };
        let mut capacity = Rational::ZERO;
        loop {
            // Handles the events at the time `at`: data arrive, and then the server may serve some
            // of them at once.
            while let Some(knot) = knots.next_if(|knot| knot.t <= at) {
                waiting += &(&knot.high - &knot.low);
                incoming = knot.slope.clone();
            }
            while let Some((_, jump, slope)) = steps.next_if(|step| step.0 <= at) {
                capacity = slope.clone();
                match jump {
                    Some(jump) => {
                        let served = waiting.clone().min(jump.clone());
                        out.jump(&at, &served);
                        waiting -= &served;
                    }
                    None => free = true,
                }
            }
            if free {
                out.jump(&at, &waiting);
                waiting = Rational::ZERO;
            }
            let rate = if free || (waiting.is_zero() && incoming <= capacity) {
                incoming.clone()
            } else {
                capacity.clone()
            };
            out.go(&at, &rate);
            // Determines the time until which this state lasts.
            let growing = &incoming - &rate;
            let empty = (growing.is_negative() && waiting.is_positive())
                .then(|| &at - &(&waiting / &growing));
            let next = [
                knots.peek().map(|knot| knot.t.clone()),
                steps.peek().map(|step| step.0.clone()),
                empty,
                end.cloned(),
            ];
            let Some(next) = next.into_iter().flatten().min() else { break };
            waiting += &(&growing * &(&next - &at));
            at = next;
            if end.is_some_and(|end| at >= *end) {
                break;
            }
        }
    }
    out
}

/// An amount of data that arrives together, and the part of each flow in it.
type Arrived = (Rational, Vec<(usize, Rational)>);

/// Returns the data of some flows in the order of their arrival.
fn in_order_of_arrival(arrivals: &[Process], group: &Group) -> VecDeque<Arrived> {
    let mut tape = VecDeque::new();
    let mut times: Vec<&Rational> =
        group.iter().flat_map(|flow| arrivals[*flow].knots.iter().map(|knot| &knot.t)).collect();
    times.sort();
    times.dedup();
    let mut passed = vec![0_usize; arrivals.len()];
    for (index, t) in times.iter().enumerate() {
        for flow in group {
            let knots = &arrivals[*flow].knots;
            if let Some(knot) = knots.get(passed[*flow]).filter(|knot| knot.t == **t) {
                passed[*flow] += 1;
                let jump = &knot.high - &knot.low;
                if jump.is_positive() {
                    tape.push_back((jump.clone(), vec![(*flow, jump)]));
                }
            }
        }
        let Some(next) = times.get(index + 1) else { continue };
        let lasting = *next - *t;
        let mut shares = Vec::new();
        for flow in group {
            let knot = passed[*flow].checked_sub(1).and_then(|i| arrivals[*flow].knots.get(i));
            if let Some(knot) = knot.filter(|knot| knot.slope.is_positive()) {
                shares.push((*flow, &knot.slope * &lasting));
            }
        }
        let amount: Rational = shares.iter().map(|(_, share)| share).sum();
        if amount.is_positive() {
            tape.push_back((amount, shares));
        }
    }
    tape
}

/// Divides the output of a server among flows that are served in the order of arrival.
fn split(
    arrivals: &[Process],
    group: &Group,
    out: &Process,
    departures: &mut [Process],
) -> Option<()> {
    let mut tape = in_order_of_arrival(arrivals, group);
    // Removes data from the front of the list of arrivals as they leave.
    let mut taken = Rational::ZERO;
    for (index, knot) in out.knots.iter().enumerate() {
        let mut jump = &knot.high - &knot.low;
        while jump.is_positive() {
            let (amount, shares) = tape.front()?;
            let step = jump.clone().min(amount - &taken);
            for (flow, share) in shares {
                departures.get_mut(*flow)?.jump(&knot.t, &(share * &step / amount));
            }
            jump -= &step;
            taken += &step;
            if taken == *amount {
                tape.pop_front();
                taken = Rational::ZERO;
            }
        }
        let next = out.knots.get(index + 1);
        let mut at = knot.t.clone();
        if knot.slope.is_positive() {
            // A positive slope ends at a further knot, since processes are ultimately constant.
            let end = &next?.t;
            while at < *end {
                let (amount, shares) = tape.front()?;
                let until = (&at + &((amount - &taken) / &knot.slope)).min(end.clone());
                for flow in group {
                    let share = shares.iter().find(|(other, _)| other == flow);
                    let slope = match share {
                        Some((_, share)) => &knot.slope * share / amount,
                        None => Rational::ZERO,
                    };
                    departures.get_mut(*flow)?.go(&at, &slope);
                }
                taken += &(&knot.slope * &(&until - &at));
                if taken == *amount {
                    tape.pop_front();
                    taken = Rational::ZERO;
                }
                at = until;
            }
        }
        if next.is_none_or(|next| next.slope.is_zero()) {
            let stop = next.map_or(&at, |next| &next.t);
            for flow in group {
                departures.get_mut(*flow)?.go(stop, &Rational::ZERO);
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Rational {
        text.parse().expect("a number")
    }

    fn greedy(burst: i64, rate: i64, from: &str, lasting: i64) -> Process {
        let curve = Curve::token_bucket(burst, rate).expect("a curve");
        Process::greedy(&curve, &number(from), &Rational::from(lasting)).expect("a process")
    }

    #[test]
    fn one_flow_at_a_rate_latency_server_has_the_delay_of_its_bound() {
        let service = Curve::rate_latency(10, 10).expect("a curve");
        let arrival = greedy(25, 5, "0", 40);
        let out = serve(std::slice::from_ref(&arrival), &[vec![0]], &service).expect("served");
        assert_eq!(arrival.delay_to(&out[0]), number("25/2"));
        assert_eq!(arrival.backlog_to(&out[0]), number("75"));
        assert_eq!(out[0].total(), arrival.total());
    }

    #[test]
    fn the_last_of_a_fifo_burst_waits_for_all_and_nothing_is_lost() {
        let service = Curve::rate_latency(10, 1).expect("a curve");
        let flows = [greedy(3, 1, "0", 5), greedy(4, 2, "0", 5), greedy(2, 0, "1/2", 5)];
        let out = serve(&flows, &[vec![1, 2, 0]], &service).expect("served");
        // 1 + 7 / 10: the latency and the bursts of the first two flows.
        assert_eq!(flows[0].delay_to(&out[0]), number("17/10"));
        for (flow, out) in flows.iter().zip(&out) {
            assert_eq!(flow.total(), out.total());
            assert_eq!(
                out.plus(flow, -1).knots.iter().map(|k| k.high.clone()).max(),
                Some(Rational::ZERO),
                "it leaves before it comes"
            );
        }
    }

    #[test]
    fn the_least_urgent_waits_for_all_others() {
        let service = Curve::rate_latency(10, 1).expect("a curve");
        let flows = [greedy(3, 1, "0", 50), greedy(4, 2, "0", 50)];
        let out = serve(&flows, &[vec![1], vec![0]], &service).expect("served");
        // 10 (t - 1) = 4 + 2 t + 3: the latency, and both bursts at the residual rate 8.
        assert_eq!(flows[0].delay_to(&out[0]), number("17/8"));
        assert_eq!(flows[1].delay_to(&out[1]), number("7/5"));
    }
}
