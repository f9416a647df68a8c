//! The state of an output port in the packet simulation. All times are by the port's clock.

use std::collections::VecDeque;

use crate::Rational;
use crate::network::elements::Priority;
use crate::network::port::{Class, Gate, Port, Scheduler, Window, openings};

/// The next action of an output port.
pub(super) enum Pick {
    /// The port does nothing: it is busy, or no packet waits.
    Nothing,
    /// The port does nothing until this time, because no waiting packet may be sent earlier.
    Later(Rational),
    /// The port sends a packet until the time `until`. `packet` is `None` for a packet of a class
    /// without flows.
    Sends { packet: Option<usize>, until: Rational },
}

/// The state of an output port during a run.
pub(super) struct State<'n> {
    port: &'n Port,
    queues: Vec<Queue<'n>>,
    /// The packet in transmission, or `None` if the port is idle.
    sending: Option<Sending>,
    order: Order<'n>,
}

/// A packet in transmission at a port.
struct Sending {
    class: usize,
    /// The index of the packet, or `None` for a packet of a class without flows.
    packet: Option<usize>,
    until: Rational,
}

/// The queue of one class.
struct Queue<'n> {
    priority: Priority,
    /// The indices of the waiting packets, with their sizes.
    packets: VecDeque<(usize, Rational)>,
    /// The size of the packets of a class without flows, of which one always waits, or `None` for
    /// other classes.
    always: Option<&'n Rational>,
}

impl<'n> Queue<'n> {
    /// Returns the size of the first packet, or `None` if no packet waits.
    fn head(&self) -> Option<&Rational> {
        self.packets.front().map(|(_, size)| size).or(self.always)
    }
}

/// The state of the port's scheduler.
enum Order<'n> {
    /// Static priority, with gates and credit-based shapers: the most urgent class that may send is
    /// served. A class may send if its gate stays open for the whole packet and if its credit, if
    /// it has an idle slope, is not negative.
    Urgency {
        gates: Option<Gates<'n>>,
        /// The idle slope of each class, or `None` for a class without a shaper.
        slopes: Vec<Option<Rational>>,
        credits: Vec<Rational>,
        /// The time to which the credits have been updated.
        since: Rational,
    },
    /// The state of deficit round robin.
    Deficits {
        quanta: Vec<&'n Rational>,
        /// The deficit of each class: the amount that it may still send.
        left: Vec<Rational>,
        /// The class that is visited.
        at: usize,
        /// Whether the visited class has received its quantum already.
        entered: bool,
    },
    /// The state of weighted round robin.
    Weights {
        weights: Vec<u32>,
        /// The class that is visited.
        at: usize,
        /// The number of packets that the visited class has sent in this visit.
        sent: u32,
    },
    /// The state of interleaved weighted round robin, in which a class of weight `w` may send one
    /// packet in each of the first `w` rounds.
    Rounds {
        weights: Vec<u32>,
        /// The class that is visited next.
        at: usize,
        /// The number of the round, from 1 to the largest weight.
        round: u32,
    },
}

/// The windows in which the gates of a port are open, by class.
struct Gates<'n> {
    cycle: &'n Rational,
    windows: Vec<Vec<Window>>,
}

impl<'n> State<'n> {
    /// Creates the state of a port. Classes for which `used` is false have no flows and always have
    /// a packet to send.
    pub(super) fn of(port: &'n Port, used: impl Fn(Priority) -> bool) -> Self {
        let mut packets = port.scheduler.packets();
        packets.sort_by_key(|(priority, ..)| *priority);
        let queue = |(priority, _, most): (Priority, &'n Rational, &'n Rational)| Queue {
            priority,
            packets: VecDeque::new(),
            always: (!used(priority)).then_some(most),
        };
        let order = match &port.scheduler {
            Scheduler::CreditBased(classes) => Order::Urgency {
                gates: None,
                slopes: sorted(classes).map(|class| class.share.clone()).collect(),
                credits: vec![Rational::ZERO; classes.len()],
                since: Rational::ZERO,
            },
            Scheduler::Gated { cycle, classes } => {
                let gates = Gates { cycle, windows: openings(sorted(classes), cycle) };
                let slope = |(place, class): (usize, &Class<Gate>)| match &class.share {
                    // Credit rises only while the gate is open, and accordingly faster.
                    Gate::Shaped(slope) => (slope * cycle).checked_div(&gates.open(place, cycle)),
                    _ => None,
                };
                let slopes = sorted(classes).enumerate().map(slope).collect();
                Order::Urgency {
                    gates: Some(gates),
                    slopes,
                    credits: vec![Rational::ZERO; classes.len()],
                    since: Rational::ZERO,
                }
            }
            Scheduler::DeficitRoundRobin(classes) => Order::Deficits {
                quanta: sorted(classes).map(|class| &class.share).collect(),
                left: vec![Rational::ZERO; classes.len()],
                at: 0,
                entered: false,
            },
            Scheduler::WeightedRoundRobin(classes) => Order::Weights {
                weights: sorted(classes).map(|class| class.share).collect(),
                at: 0,
                sent: 0,
            },
            Scheduler::InterleavedWeightedRoundRobin(classes) => Order::Rounds {
                weights: sorted(classes).map(|class| class.share).collect(),
                at: 0,
                round: 1,
            },
        };
        Self { port, queues: packets.into_iter().map(queue).collect(), sending: None, order }
    }

    /// Adds a packet to the queue of its class.
    pub(super) fn push(
        &mut self,
        now: &Rational,
        priority: Priority,
        packet: usize,
        size: Rational,
    ) {
        self.pass_time(now);
        if let Some(queue) = self.queues.iter_mut().find(|queue| queue.priority == priority) {
            queue.packets.push_back((packet, size));
        }
    }

    /// Ends the current transmission. Returns its packet, or `None` for a packet of a class without
    /// flows.
    pub(super) fn done(&mut self) -> Option<usize> {
        let until = self.sending.as_ref()?.until.clone();
        self.pass_time(&until);
        let Sending { packet, .. } = self.sending.take()?;
        if let Order::Urgency { credits, .. } = &mut self.order {
            for (credit, queue) in credits.iter_mut().zip(&self.queues) {
                if queue.head().is_none() && credit.is_positive() {
                    *credit = Rational::ZERO;
                }
            }
        }
        packet
    }

    /// Starts the transmission of the next packet if one may be sent at the time `now`.
    pub(super) fn pick(&mut self, now: &Rational) -> Pick {
        if self.sending.is_some() {
            return Pick::Nothing;
        }
        self.pass_time(now);
        let heads: Vec<Option<Rational>> =
            self.queues.iter().map(|queue| queue.head().cloned()).collect();
        let heads: Vec<Option<&Rational>> = heads.iter().map(Option::as_ref).collect();
        let class = match self.order.pick(now, &heads, &self.port.rate) {
            Ok(class) => class,
            Err(Some(time)) => return Pick::Later(time),
            Err(None) => return Pick::Nothing,
        };
        let (Some(queue), Some(Some(size))) = (self.queues.get_mut(class), heads.get(class)) else {
            return Pick::Nothing;
        };
        let until = now + &(*size / &self.port.rate);
        let packet = queue.packets.pop_front().map(|(packet, _)| packet);
        self.sending = Some(Sending { class, packet, until: until.clone() });
        Pick::Sends { packet, until }
    }

    /// Updates the credits of credit-based shapers to the time `now`.
    fn pass_time(&mut self, now: &Rational) {
        let Order::Urgency { gates, slopes, credits, since } = &mut self.order else { return };
        let from = std::mem::replace(since, now.clone());
        for (class, ((slope, credit), queue)) in
            slopes.iter().zip(credits).zip(&self.queues).enumerate()
        {
            let Some(slope) = slope else { continue };
            let passed = match gates {
                None => now - &from,
                Some(gates) => gates.open(class, now) - gates.open(class, &from),
            };
            if self.sending.as_ref().is_some_and(|sending| sending.class == class) {
                *credit -= &((&self.port.rate - slope) * &passed);
            } else if queue.head().is_some() {
                *credit += &(slope * &passed);
            } else if credit.is_negative() {
                *credit = (&*credit + &(slope * &passed)).min(Rational::ZERO);
            } else {
                *credit = Rational::ZERO;
            }
        }
    }
}

impl Gates<'_> {
    /// Returns the total time from 0 to `time` during which the gate of a class has been open.
    fn open(&self, class: usize, time: &Rational) -> Rational {
        let cycles = (time / self.cycle).floor();
        let phase = time - &(&cycles * self.cycle);
        let mut open = Rational::ZERO;
        for window in self.windows.get(class).into_iter().flatten() {
            // A window that continues in the next cycle is open at the beginning of this one, too.
            let again = (&window.at + &window.length - self.cycle).max(Rational::ZERO);
            let until = &window.length - &again;
            open += &(&cycles * &window.length);
            open += &(&phase - &window.at).max(Rational::ZERO).min(until);
            open += &phase.clone().min(again);
        }
        open
    }

    /// Returns the time until the gate of a class is open and stays open for `length`, or zero if
    /// it is now.
    fn wait(&self, class: usize, now: &Rational, length: &Rational) -> Rational {
        let phase = now - &((now / self.cycle).floor() * self.cycle);
        let mut least = self.cycle.clone();
        for window in self.windows.get(class).into_iter().flatten() {
            let mut inside = &phase - &window.at;
            if inside.is_negative() {
                inside += self.cycle;
            }
            if &inside + length <= window.length || window.length == *self.cycle {
                return Rational::ZERO;
            }
            least = least.min(self.cycle - &inside);
        }
        least
    }
}

fn sorted<S>(classes: &[Class<S>]) -> impl Iterator<Item = &Class<S>> + Clone {
    let mut sorted: Vec<&Class<S>> = classes.iter().collect();
    sorted.sort_by_key(|class| class.priority);
    sorted.into_iter()
}

impl Order<'_> {
    /// Returns the class that sends next. `heads` has the size of each class's first packet.
    ///
    /// # Errors
    /// If no class may send at the time `now`, the error is the time at which a class may send, or
    /// `None` if no packet waits.
    fn pick(
        &mut self,
        now: &Rational,
        heads: &[Option<&Rational>],
        rate: &Rational,
    ) -> Result<usize, Option<Rational>> {
        let waiting =
            || heads.iter().enumerate().filter_map(|(class, head)| Some((class, (*head)?)));
        if waiting().next().is_none() {
            if let Self::Deficits { left, .. } = self {
                left.fill(Rational::ZERO);
            }
            return Err(None);
        }
        let size = |class: usize| heads.get(class).copied().flatten();
        match self {
            Self::Urgency { gates, slopes, credits, .. } => {
                let mut soonest: Option<Rational> = None;
                for (class, size) in waiting() {
                    let slope = slopes.get(class).and_then(Option::as_ref);
                    let missing = match (slope, credits.get(class)) {
                        (Some(slope), Some(credit)) if credit.is_negative() => -(credit / slope),
                        _ => Rational::ZERO,
                    };
                    let length = &missing + &(size / rate);
                    let time = match gates.as_ref().map(|gates| gates.wait(class, now, &length)) {
                        Some(wait) if wait.is_positive() => now + wait,
                        _ if missing.is_positive() => now + missing,
                        _ => return Ok(class),
                    };
                    soonest = Some(soonest.map_or(time.clone(), |soonest| soonest.min(time)));
                }
                Err(soonest)
            }
            Self::Deficits { .. } => self.deficit_turn(heads),
            Self::Weights { weights, at, sent } => {
                for _ in 0..=heads.len() {
                    if size(*at).is_some() && weights.get(*at).is_some_and(|weight| *sent < *weight)
                    {
                        *sent += 1;
                        return Ok(*at);
                    }
                    *sent = 0;
                    *at = (*at + 1) % heads.len();
                }
                Err(None)
            }
            Self::Rounds { weights, at, round } => {
                let most = weights.iter().copied().max().unwrap_or(1);
                let all = heads.len() * usize::try_from(most).unwrap_or(1);
                for _ in 0..=all {
                    let class = *at;
                    let may =
                        size(class).is_some() && weights.get(class).is_some_and(|w| *round <= *w);
                    *at += 1;
                    if *at == heads.len() {
                        *at = 0;
                        *round = if *round >= most { 1 } else { *round + 1 };
                    }
                    if may {
                        return Ok(class);
                    }
                }
                Err(None)
            }
        }
    }

    /// Returns the class that sends next by deficit round robin, and updates the deficits.
    fn deficit_turn(&mut self, heads: &[Option<&Rational>]) -> Result<usize, Option<Rational>> {
        let Self::Deficits { quanta, left, at, entered } = self else { return Err(None) };
        let waiting =
            || heads.iter().enumerate().filter_map(|(class, head)| Some((class, (*head)?)));
        let size = |class: usize| heads.get(class).copied().flatten();
        if *entered {
            // The current turn continues or ends.
            let left = left.get_mut(*at).ok_or(None)?;
            match size(*at) {
                Some(size) if size <= &*left => {
                    *left -= size;
                    return Ok(*at);
                }
                Some(_) => {}
                None => *left = Rational::ZERO,
            }
            *entered = false;
            *at = (*at + 1) % heads.len();
        }
        // If quanta are much smaller than packets, rounds in which no class can send are
        // skipped.
        let rounds = |(class, size): (usize, &Rational)| {
            let missing = size - left.get(class)?;
            Some(missing.checked_div(quanta.get(class)?)?.ceil() - Rational::ONE)
        };
        let skipped = waiting().filter_map(rounds).min().unwrap_or(Rational::ZERO);
        for (class, _) in waiting().filter(|_| skipped.is_positive()) {
            if let (Some(left), Some(quantum)) = (left.get_mut(class), quanta.get(class)) {
                *left += &(*quantum * &skipped);
            }
        }
        for _ in 0..2 * heads.len() {
            let (Some(quantum), Some(left)) = (quanta.get(*at), left.get_mut(*at)) else {
                return Err(None);
            };
            match size(*at) {
                None => *left = Rational::ZERO,
                Some(size) => {
                    *left += *quantum;
                    if size <= &*left {
                        *left -= size;
                        *entered = true;
                        return Ok(*at);
                    }
                }
            }
            *at = (*at + 1) % heads.len();
        }
        Err(None)
    }
}
