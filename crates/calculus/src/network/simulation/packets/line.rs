//! A server that is not a port, in the packet simulation.
//!
//! A lazy server serves no more than its service curve requires: from the start of a backlogged
//! period if the curve is strict, else from the arrival of any packet so far. A server may also be
//! lazy until the first packet of a period has left and then send all that waits instantaneously,
//! or send everything instantaneously, if its output is not limited.
//!
//! A packet that no packetizer holds back until it is complete counts as having left when its first
//! bit leaves, so that the server is never late with respect to its curve.

use std::collections::VecDeque;

use super::clock::Clock;
use super::rng::Rng;
use crate::network::elements::{Multiplexing, Priority};
use crate::{Curve, Rational};

/// The largest number of arrivals that a server without a strict service curve remembers. If it
/// forgets one, it may serve earlier than its curve requires, which is always legal.
const MAX_ARRIVALS: usize = 64;

/// The properties of a server that are the same in all runs.
#[derive(Clone, Debug)]
pub(super) struct Spec {
    pub(super) order: Multiplexing,
    pub(super) strict: bool,
    pub(super) packetizer: bool,
    /// Whether shaping curves, links or a maximum service curve limit the server's output.
    pub(super) limited: bool,
    /// The lower pseudo-inverse of the server's service curve: the time by which an amount of data
    /// has been served.
    pub(super) served: Curve,
    /// The upper pseudo-inverse of the server's service curve: the time at which the server begins
    /// to serve the data after an amount.
    pub(super) serves: Curve,
}

/// The speed of a server in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// The server serves as slowly as its service curve allows.
    Lazy,
    /// The server serves as slowly as its service curve allows until the first packet of a
    /// backlogged period has left. Then it serves all that waits instantaneously.
    LazyAtFirst,
    /// The server serves all that waits instantaneously.
    AtOnce,
}

/// A packet that waits at a server.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) packet: usize,
    pub(super) size: Rational,
    pub(super) priority: Priority,
    /// The number of the packet's stream. Packets of one stream stay in order.
    pub(super) stream: usize,
    /// Whether the packet belongs to the flow of interest.
    pub(super) is_of_interest: bool,
}

/// A packet in service, with the time at which it starts to leave the server and the time at which
/// it has left.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) packet: usize,
    pub(super) starts: Rational,
    pub(super) done: Rational,
}

/// The state of a server that is not a port during a run.
#[derive(Debug)]
pub(super) struct Line<'s> {
    spec: &'s Spec,
    clock: Clock,
    pace: Pace,
    queue: VecDeque<Waiting>,
    /// The times, by the server's clock, from which the service curve guarantees service. Each has
    /// the amount of data that had arrived before that time.
    origins: VecDeque<(Rational, Rational)>,
    /// The data that have arrived and that have been served, since the start of the backlogged
    /// period or, without a strict curve, of the run.
    came: Rational,
    served: Rational,
    is_busy: bool,
}

impl<'s> Line<'s> {
    pub(super) fn of(spec: &'s Spec, clock: Clock, pace: Pace) -> Self {
        Self {
            spec,
            clock,
            pace: if spec.limited { Pace::Lazy } else { pace },
            queue: VecDeque::new(),
            origins: VecDeque::new(),
            came: Rational::ZERO,
            served: Rational::ZERO,
            is_busy: false,
        }
    }

    /// Adds a packet that arrives at the server. If the server was idle, returns the service that
    /// starts.
    pub(super) fn arrive(
        &mut self,
        now: &Rational,
        waiting: Waiting,
        rng: Option<&mut Rng>,
    ) -> Option<Service> {
        let begins = !self.is_busy && self.queue.is_empty();
        if self.spec.strict && begins {
            self.origins.clear();
            (self.came, self.served) = (Rational::ZERO, Rational::ZERO);
        }
        if !self.spec.strict || begins {
            self.origins.push_back((self.clock.shows(now), self.came.clone()));
            if self.origins.len() > MAX_ARRIVALS {
                self.origins.pop_front();
            }
        }
        self.came += &waiting.size;
        self.queue.push_back(waiting);
        if self.is_busy { None } else { self.serve(now, rng) }
    }

    /// Ends the current service and returns the next one, if a packet waits.
    pub(super) fn done(&mut self, now: &Rational, rng: Option<&mut Rng>) -> Option<Service> {
        self.is_busy = false;
        self.serve(now, rng)
    }

    fn serve(&mut self, now: &Rational, rng: Option<&mut Rng>) -> Option<Service> {
        let place = self.choose(rng)?;
        let waiting = self.queue.remove(place)?;
        let before = self.served.clone();
        self.served += &waiting.size;
        let (mut starts, mut done) = (now.clone(), now.clone());
        let hurries = match self.pace {
            Pace::Lazy => false,
            Pace::LazyAtFirst => before.is_positive(),
            Pace::AtOnce => true,
        };
        if !hurries {
            starts = starts.max(self.when(&self.spec.serves, &before, &before)?);
            done = starts.clone().max(self.when(&self.spec.served, &self.served, &before)?);
        }
        self.is_busy = true;
        Some(Service { packet: waiting.packet, starts, done })
    }

    /// Returns the latest time at which the server must have served `amount`, the total amount of
    /// data up to some point of a packet, to keep its service curve. `before` is the amount that is
    /// served before this packet, and `inverse` is a pseudo-inverse of the service curve.
    fn when(&self, inverse: &Curve, amount: &Rational, before: &Rational) -> Option<Rational> {
        let mut latest: Option<Rational> = None;
        for (from, earlier) in self.origins.iter().filter(|(_, earlier)| earlier <= before) {
            let lasting = inverse.value_at(&(amount - earlier)).into_finite()?;
            let local = from + &lasting;
            latest = Some(latest.map_or(local.clone(), |latest| latest.max(local)));
        }
        // If no origin is remembered, the curve requires no waiting.
        Some(latest.map_or(Rational::ZERO, |local| self.clock.time_of(&local)))
    }

    /// Returns the position in the queue of the packet that is served next.
    fn choose(&self, rng: Option<&mut Rng>) -> Option<usize> {
        let first = |of: &dyn Fn(&Waiting) -> bool| self.queue.iter().position(of);
        match self.spec.order {
            Multiplexing::Fifo => (!self.queue.is_empty()).then_some(0),
            Multiplexing::StaticPriority => {
                let priority = self.queue.iter().map(|waiting| waiting.priority).min()?;
                first(&|waiting| waiting.priority == priority)
            }
            // Serves the flow of interest last, or picks a packet pseudo-randomly and keeps the
            // data of each flow in order.
            Multiplexing::Arbitrary => match rng {
                None => first(&|waiting| !waiting.is_of_interest).or_else(|| first(&|_| true)),
                Some(rng) => {
                    let stream = self.queue.get(rng.below(self.queue.len()))?.stream;
                    first(&|waiting| waiting.stream == stream)
                }
            },
        }
    }
}
