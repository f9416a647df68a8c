//! A server that is no port, packet by packet.
//!
//! A lazy server serves no more than its curve promises: from the beginning of a backlogged period
//! on where that is strict, else from the arrival of any packet so far. It may also be lazy until
//! the first packet of a period has left and then send all that waits at once, or send everything
//! at once, where nothing limits what leaves it.
//!
//! What is not held back until it is whole leaves when its first bit would: the server is never
//! behind its curve by that.

use std::collections::VecDeque;

use super::chance::Chance;
use super::clock::Clock;
use crate::network::elements::{Multiplexing, Priority};
use crate::{Curve, Rational};

/// Arrivals that a server whose curve is not strict remembers; it is less lazy for what it forgets.
const REMEMBERED: usize = 64;

/// The properties of a server that all runs share.
#[derive(Clone, Debug)]
pub(super) struct Spec {
    pub(super) order: Multiplexing,
    pub(super) strict: bool,
    pub(super) packetizer: bool,
    /// Whether what leaves is limited, by shapers, links or a maximum service curve.
    pub(super) limited: bool,
    /// The lower and the upper pseudo-inverse of the service curve.
    pub(super) served: Curve,
    pub(super) serves: Curve,
}

/// The speed of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// No faster than it must.
    Lazy,
    /// The same until the first packet of a backlogged period has left, and then all at once.
    LazyAtFirst,
    /// All at once.
    AtOnce,
}

/// A packet that waits.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) packet: usize,
    pub(super) size: Rational,
    pub(super) priority: Priority,
    /// Packets of one stream stay in order.
    pub(super) stream: usize,
    /// Whether it is of the flow of interest.
    pub(super) is_of_interest: bool,
}

/// A packet that is served: when it begins to leave, and when it has left.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) packet: usize,
    pub(super) starts: Rational,
    pub(super) done: Rational,
}

/// A server at some time.
#[derive(Debug)]
pub(super) struct Line<'s> {
    spec: &'s Spec,
    clock: Clock,
    pace: Pace,
    queue: VecDeque<Waiting>,
    /// The times from which on the curve promises service, by the server's clock, with the data
    /// that had come before.
    origins: VecDeque<(Rational, Rational)>,
    /// The data that have come, and that have been served, since the first of these times.
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

    /// Returns a packet comes; returns what is served next if nothing was.
    pub(super) fn comes(
        &mut self,
        now: &Rational,
        waiting: Waiting,
        chance: Option<&mut Chance>,
    ) -> Option<Service> {
        let begins = !self.is_busy && self.queue.is_empty();
        if self.spec.strict && begins {
            self.origins.clear();
            (self.came, self.served) = (Rational::ZERO, Rational::ZERO);
        }
        if !self.spec.strict || begins {
            self.origins.push_back((self.clock.shows(now), self.came.clone()));
            if self.origins.len() > REMEMBERED {
                self.origins.pop_front();
            }
        }
        self.came += &waiting.size;
        self.queue.push_back(waiting);
        if self.is_busy { None } else { self.serve(now, chance) }
    }

    /// Returns a packet has left; returns what is served next.
    pub(super) fn done(&mut self, now: &Rational, chance: Option<&mut Chance>) -> Option<Service> {
        self.is_busy = false;
        self.serve(now, chance)
    }

    fn serve(&mut self, now: &Rational, chance: Option<&mut Chance>) -> Option<Service> {
        let place = self.choose(chance)?;
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

    /// Returns the latest time at which a curve lets so much be served, of what has come up to and
    /// with the packet behind `before`.
    fn when(&self, inverse: &Curve, amount: &Rational, before: &Rational) -> Option<Rational> {
        let mut latest: Option<Rational> = None;
        for (from, earlier) in self.origins.iter().filter(|(_, earlier)| earlier <= before) {
            let lasting = inverse.value_at(&(amount - earlier)).into_finite()?;
            let local = from + &lasting;
            latest = Some(latest.map_or(local.clone(), |latest| latest.max(local)));
        }
        // Of what is forgotten nothing is late any more.
        Some(latest.map_or(Rational::ZERO, |local| self.clock.time_of(&local)))
    }

    /// Returns the place in the queue of what is served next.
    fn choose(&self, chance: Option<&mut Chance>) -> Option<usize> {
        let first = |of: &dyn Fn(&Waiting) -> bool| self.queue.iter().position(of);
        match self.spec.order {
            Multiplexing::Fifo => (!self.queue.is_empty()).then_some(0),
            Multiplexing::StaticPriority => {
                let priority = self.queue.iter().map(|waiting| waiting.priority).min()?;
                first(&|waiting| waiting.priority == priority)
            }
            // Against the flow of interest, or by chance, where data of one flow stay in order.
            Multiplexing::Arbitrary => match chance {
                None => first(&|waiting| !waiting.is_of_interest).or_else(|| first(&|_| true)),
                Some(chance) => {
                    let stream = self.queue.get(chance.below(self.queue.len()))?.stream;
                    first(&|waiting| waiting.stream == stream)
                }
            },
        }
    }
}
