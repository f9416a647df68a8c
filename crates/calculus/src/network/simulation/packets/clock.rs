//! Clocks of sources and servers that deviate from true time as far as [`Clocks`] allows.
//!
//! A fast clock runs at the rate rho and leaps ahead by eta once. A slow one runs at 1 / rho and
//! stands still for eta once. Synchronised clocks do so until their error has changed from Delta on
//! one side to Delta on the other. Only spans of time matter, so all clocks start at 0. Between any
//! two events d apart, a clock shows at most rho d + eta and at most d + 2 Delta, and at least (d -
//! eta) / rho and d - 2 Delta.

use super::rng::Rng;
use crate::Rational;
use crate::network::clocks::Clocks;

/// A clock, as a function from true time to the time it shows.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    /// The times at which the clock leaps or changes its rate, in order. The list is empty for a
    /// perfect clock.
    knots: Vec<Knot>,
}

/// A point of true time from which a clock advances by `rate` per unit of true time.
#[derive(Clone, Debug)]
struct Knot {
    /// The true time of the knot.
    time: Rational,
    /// The time that the clock shows at the knot.
    local: Rational,
    rate: Rational,
}

impl Clock {
    /// Returns a pseudo-random clock of a server or a source. Fast clocks of sources and slow
    /// clocks of servers do the most harm, so they are more frequent.
    pub(super) fn random(
        clocks: Option<&Clocks>,
        of_server: bool,
        span: &Rational,
        rng: &mut Rng,
    ) -> Self {
        let Some(clocks) = clocks else { return Self::default() };
        let at = rng.part_of(span);
        match rng.below(4) {
            0 => Self::default(),
            // A leap ahead would make the server serve less than its service curve requires by its
            // own clock.
            1 if of_server => Self::fast(&Clocks { jitter: Rational::ZERO, ..clocks.clone() }, at),
            1 => Self::slow(clocks, at),
            _ if of_server => Self::slow(clocks, at),
            _ => Self::fast(clocks, at),
        }
    }

    /// Returns the clock of a server or a source that does the most harm: a slow one for a server,
    /// a fast one for a source.
    pub(super) fn worst(clocks: Option<&Clocks>, of_server: bool) -> Self {
        match clocks {
            None => Self::default(),
            Some(clocks) if of_server => Self::slow(clocks, Rational::ZERO),
            Some(clocks) => Self::fast(clocks, Rational::ZERO),
        }
    }

    fn fast(clocks: &Clocks, at: Rational) -> Self {
        let rho = &clocks.stability;
        let Some(error) = &clocks.error else {
            let local = &at * rho;
            let leap = &local + &clocks.jitter;
            return Self::of([
                (Rational::ZERO, Rational::ZERO, rho.clone()),
                (at, leap, rho.clone()),
            ]);
        };
        let gain = clocks.jitter.clone().min(error + error);
        let local = &at + &gain;
        let rest = error + error - &gain;
        // A clock that runs at the true rate keeps its error.
        let lasting = rest.checked_div(&(rho - &Rational::ONE)).unwrap_or(Rational::ZERO);
        let (end, shown) = (&at + &lasting, &local + &(rho * &lasting));
        Self::of([
            (Rational::ZERO, Rational::ZERO, Rational::ONE),
            (at, local, rho.clone()),
            (end, shown, Rational::ONE),
        ])
    }

    fn slow(clocks: &Clocks, at: Rational) -> Self {
        let rate = Rational::ONE / &clocks.stability;
        let Some(error) = &clocks.error else {
            let local = &at * &rate;
            let goes_on = &at + &clocks.jitter;
            return Self::of([
                (Rational::ZERO, Rational::ZERO, rate.clone()),
                (at, local.clone(), Rational::ZERO),
                (goes_on, local, rate),
            ]);
        };
        let loss = clocks.jitter.clone().min(error + error);
        let local = at.clone();
        let goes_on = &at + &loss;
        let rest = error + error - &loss;
        let lasting = rest.checked_div(&(Rational::ONE - &rate)).unwrap_or(Rational::ZERO);
        let (end, shown) = (&goes_on + &lasting, &local + &(&rate * &lasting));
        Self::of([
            (Rational::ZERO, Rational::ZERO, Rational::ONE),
            (at, local.clone(), Rational::ZERO),
            (goes_on, local, rate),
            (end, shown, Rational::ONE),
        ])
    }

    fn of<const N: usize>(knots: [(Rational, Rational, Rational); N]) -> Self {
        let knots = knots.into_iter().map(|(time, local, rate)| Knot { time, local, rate });
        Self { knots: knots.collect() }
    }

    /// Returns the time that the clock shows at the true time `time`.
    pub(super) fn shows(&self, time: &Rational) -> Rational {
        match self.knots.iter().rfind(|knot| knot.time <= *time) {
            Some(knot) => &knot.local + &(&knot.rate * &(time - &knot.time)),
            None => time.clone(),
        }
    }

    /// Returns the first true time at which the clock shows at least the time `local`.
    pub(super) fn time_of(&self, local: &Rational) -> Rational {
        for (place, knot) in self.knots.iter().enumerate() {
            if *local <= knot.local {
                return knot.time.clone();
            }
            let time =
                (local - &knot.local).checked_div(&knot.rate).map(|lasting| &knot.time + &lasting);
            let next = self.knots.get(place + 1);
            match time {
                Some(time) if next.is_none_or(|next| time <= next.time) => return time,
                _ => {}
            }
        }
        local.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that a clock keeps the bounds of `clocks` between all pairs of some times.
    fn keeps(clock: &Clock, clocks: &Clocks) {
        let times: Vec<Rational> = (0..60).map(|step| Rational::ratio(step, 4)).collect();
        for (place, from) in times.iter().enumerate() {
            for to in &times[place..] {
                let (true_span, shown) = (to - from, clock.shows(to) - clock.shows(from));
                let most = &true_span * &clocks.stability + &clocks.jitter;
                let least = (&true_span - &clocks.jitter) / &clocks.stability;
                assert!(shown <= most && shown >= least, "{clock:?} {from} {to}");
                if let Some(error) = &clocks.error {
                    let off = error + error;
                    assert!(shown <= &true_span + &off && shown >= &true_span - &off, "{clock:?}");
                }
            }
            assert!(clock.time_of(&clock.shows(from)) <= *from);
        }
    }

    #[test]
    fn clocks_are_off_by_as_much_as_they_may() {
        let free = Clocks { stability: Rational::ratio(5, 4), jitter: 1.into(), error: None };
        let bound = Clocks { error: Some(Rational::ratio(3, 2)), ..free.clone() };
        for clocks in [free, bound] {
            for at in [0, 3] {
                for clock in [Clock::fast(&clocks, at.into()), Clock::slow(&clocks, at.into())] {
                    keeps(&clock, &clocks);
                }
            }
        }
        let clock = Clock::default();
        assert_eq!(clock.shows(&7.into()), 7.into());
        assert_eq!(clock.time_of(&7.into()), 7.into());
    }
}
