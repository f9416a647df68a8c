//! Clocks of sources and servers that are as far from true time as [`Clocks`] lets them be.
//!
//! A fast clock runs at the rate rho and leaps ahead by eta once; a slow one runs at 1 / rho and
//! stands still for eta once. Synchronised ones do so from an error of Delta on one side to an
//! error of Delta on the other. Only spans of time count, so all begin at 0. Between any two events
//! one sees at most rho d + eta and at most d + 2 Delta, and at least (d - eta) / rho and d - 2
//! Delta.

use super::chance::Chance;
use crate::Rational;
use crate::network::clocks::Clocks;

/// A clock: what it shows at each time.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    /// The knots in the order of time; none for a perfect clock.
    knots: Vec<Knot>,
}

/// A point from which on a clock advances by `rate` with time.
#[derive(Clone, Debug)]
struct Knot {
    time: Rational,
    local: Rational,
    rate: Rational,
}

impl Clock {
    /// Returns a clock of a source or of a server; the faster the one and the slower the other, the
    /// worse.
    pub(super) fn by_chance(
        clocks: Option<&Clocks>,
        of_server: bool,
        span: &Rational,
        chance: &mut Chance,
    ) -> Self {
        let Some(clocks) = clocks else { return Self::default() };
        let at = chance.part_of(span);
        match chance.below(4) {
            0 => Self::default(),
            // A server that leaps ahead has served less than it promised by its clock.
            1 if of_server => Self::fast(&Clocks { jitter: Rational::ZERO, ..clocks.clone() }, at),
            1 => Self::slow(clocks, at),
            _ if of_server => Self::slow(clocks, at),
            _ => Self::fast(clocks, at),
        }
    }

    /// Returns the clock that is worst for a server or a source.
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
        // A clock of the right rate stays where it is.
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

    /// Returns what the clock shows at a time.
    pub(super) fn shows(&self, time: &Rational) -> Rational {
        match self.knots.iter().rfind(|knot| knot.time <= *time) {
            Some(knot) => &knot.local + &(&knot.rate * &(time - &knot.time)),
            None => time.clone(),
        }
    }

    /// Returns the first time at which the clock shows so much or more.
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

    /// Between all pairs of some times, a clock keeps what is said of it.
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
