//! The moment from which packets obey an update, which lies between two probes.

use super::probe::{Class, Fate, Probe};
use super::time::{Gap, Moment, Range, Span};

/// The bounds of the moment T at which a rule changed: `after` < T <= `until`.
///
/// The probe that was sent at `after` met the old state, so the switch looked up its rule between
/// `after` and T. The probe that arrived at `until` met the new state, so the switch looked up its
/// rule between T and `until`. Queues and reordering widen the bracket, but cannot falsify it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bracket {
    /// The moment at which the latest probe that met the old state was sent.
    pub after: Moment,
    /// The earliest arrival of a probe that met the new state.
    pub until: Moment,
}

impl Bracket {
    /// Returns the moment at which the rule changed, as a span.
    #[must_use]
    pub fn span(self) -> Span {
        Span { earliest: self.after, latest: self.until }
    }

    /// Returns the width of the bracket.
    #[must_use]
    pub fn width(self) -> Gap {
        self.until.since(self.after)
    }
}

/// A proof that a rule changed more than once: a probe met the new state, and a probe that was sent
/// after its arrival still met the old state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flap {
    /// The smallest number of changes of state that is consistent with all probes.
    pub changes: usize,
    /// The time for which the rule was back in its old state. It is known only if three changes
    /// suffice to explain the probes (to new, back to old, to new again) and probes bound the time;
    /// otherwise `None`.
    pub back: Option<Range>,
}

/// The change of one rule, as its probes saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// A single change is consistent with all probes.
    Once(Bracket),
    /// No single change is consistent with all probes.
    Flapped(Flap),
    /// No probe met the old state, or none met the new one.
    Unbounded,
}

/// The interval in which the switch looked up a probe's rule: after `sent`, and not after
/// `arrived`.
#[derive(Clone, Copy)]
struct Lookup {
    sent: Moment,
    arrived: Moment,
}

impl Transition {
    /// Finds the change of a rule from the old to the new state. Only probes that met one of the
    /// two states count.
    #[must_use]
    pub fn of(probes: &[Probe]) -> Self {
        let [old, new] = [Class::Old, Class::New].map(|class| lookups(probes, class));
        let last_old = old.last().map(|lookup| lookup.sent);
        let first_new = new.iter().map(|lookup| lookup.arrived).min();
        let (Some(after), Some(until)) = (last_old, first_new) else { return Self::Unbounded };
        if after < until {
            return Self::Once(Bracket { after, until });
        }
        let changes = fewest_changes(&old, &new);
        let back = if changes == 3 { time_back(&old, &new, until) } else { None };
        Self::Flapped(Flap { changes, back })
    }
}

/// Returns the lookups of the probes of one class, ordered by their sending.
fn lookups(probes: &[Probe], wanted: Class) -> Vec<Lookup> {
    let own = probes.iter().filter_map(|probe| match probe.fate {
        Fate::Arrived { at, class } if class == wanted => {
            Some(Lookup { sent: probe.sent.earliest, arrived: at.latest })
        }
        _ => None,
    });
    let mut found: Vec<Lookup> = own.collect();
    found.sort_by_key(|lookup| lookup.sent);
    found
}

/// Returns the smallest number of changes of state that explains all lookups, if the rule begins in
/// the old state. A state explains a lookup if the rule was in it at some time between the sending
/// and the arrival of the probe.
///
/// The search is greedy: each state lasts until the earliest arrival among the probes of the other
/// state that are not explained yet, since that other state must be present by then. An earlier
/// change would explain fewer probes of the state that ends.
fn fewest_changes(old: &[Lookup], new: &[Lookup]) -> usize {
    let earliest = [old, new].map(earliest_arrivals);
    let of_state = [old, new];
    // The moments at which the latest period of the old and of the new state ended. Probes of a
    // state that were sent before are explained.
    let mut ended = [Moment(0); 2];
    let (mut present, mut changes) = (0, 0);
    loop {
        let other = 1 - present;
        let unexplained = of_state[other].partition_point(|lookup| lookup.sent < ended[other]);
        let Some(moment) = earliest[other].get(unexplained) else { return changes };
        ended[present] = *moment;
        (present, changes) = (other, changes + 1);
    }
}

/// Returns, for each lookup, the earliest arrival among this lookup and those after it in
/// `lookups`, which is ordered by sending.
fn earliest_arrivals(lookups: &[Lookup]) -> Vec<Moment> {
    let mut earliest = Moment(u64::MAX);
    let mut found: Vec<Moment> = lookups
        .iter()
        .rev()
        .map(|lookup| {
            earliest = earliest.min(lookup.arrived);
            earliest
        })
        .collect();
    found.reverse();
    found
}

/// Returns bounds on the time that a rule which changed three times spent back in its old state.
/// `first_new` is the earliest arrival of a probe that met the new state. Returns `None` if no
/// probe bounds the time.
fn time_back(old: &[Lookup], new: &[Lookup], first_new: Moment) -> Option<Range> {
    let returned = || old.iter().filter(|lookup| lookup.sent >= first_new);
    // The old state was back before the first of these arrivals, and until after the last sending.
    let first = returned().map(|lookup| lookup.arrived).min()?;
    let last = returned().map(|lookup| lookup.sent).max()?;
    // Probes that arrived before the last sending met the first period of the new state; those that
    // were sent after the first arrival met the last one.
    let before = new.iter().filter(|lookup| lookup.arrived <= last).map(|lookup| lookup.sent).max();
    let behind =
        new.iter().filter(|lookup| lookup.sent >= first).map(|lookup| lookup.arrived).min();
    let least = last.since(first).max(Gap(0));
    Some(Range { least, most: behind?.since(before?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a probe that was sent and received at these times.
    fn probe(sent: u64, arrived: u64, class: Class) -> Probe {
        let [sent, at] =
            [sent, arrived].map(|time| Span { earliest: Moment(time), latest: Moment(time) });
        Probe { sent, fate: Fate::Arrived { at, class } }
    }

    #[test]
    fn a_change_lies_between_the_last_old_sending_and_the_first_new_arrival() {
        let probes = [
            probe(10, 25, Class::Old),
            probe(20, 45, Class::Old),
            probe(30, 40, Class::New),
            probe(40, 60, Class::New),
        ];
        let bracket = Bracket { after: Moment(20), until: Moment(40) };
        assert_eq!(Transition::of(&probes), Transition::Once(bracket));
        assert_eq!(bracket.width(), Gap(20));
    }

    #[test]
    fn without_probes_of_both_states_there_is_no_bracket() {
        let probes = [probe(10, 25, Class::Old), probe(20, 35, Class::Altered)];
        assert_eq!(Transition::of(&probes), Transition::Unbounded);
        assert_eq!(Transition::of(&[]), Transition::Unbounded);
    }

    #[test]
    fn a_probe_that_met_the_old_state_too_late_proves_a_flap() {
        let probes = [
            probe(10, 15, Class::Old),
            probe(20, 25, Class::New),
            probe(30, 35, Class::Old),
            probe(40, 45, Class::Old),
            probe(50, 55, Class::New),
        ];
        let Transition::Flapped(flap) = Transition::of(&probes) else { panic!("it flapped") };
        assert_eq!(flap.changes, 3);
        // Back after 20 and by 35; gone after 40 and by 55.
        assert_eq!(flap.back, Some(Range { least: Gap(5), most: Gap(35) }));
    }

    /// Checks the greedy search against an exhaustive search over all moments of change.
    #[test]
    fn the_sweep_finds_the_fewest_changes() {
        use rand::rngs::ChaCha8Rng;
        use rand::{RngExt as _, SeedableRng as _};
        for seed in 0..300 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let probes: Vec<Probe> = (0..7)
                .map(|_| {
                    let sent = random.random_range(0..10);
                    let arrived = sent + random.random_range(1..5);
                    let class = if random.random() { Class::Old } else { Class::New };
                    probe(sent, arrived, class)
                })
                .collect();
            let [old, new] = [Class::Old, Class::New].map(|class| lookups(&probes, class));
            let found = fewest_changes(&old, &new);
            assert_eq!(found, exhaustive(&old, &new), "seed {seed}: {probes:?}");
        }
    }

    /// Returns the smallest number of changes, found by trying every sequence of states.
    fn exhaustive(old: &[Lookup], new: &[Lookup]) -> usize {
        // Bit 2 t is the state at moment t, and bit 2 t + 1 that between t and t + 1.
        let explains = |states: u32, lookups: &[Lookup], is_new: bool| {
            lookups.iter().all(|lookup| {
                let mut halves = 2 * lookup.sent.0 + 1..=2 * lookup.arrived.0;
                halves.any(|half| (states >> half & 1 == 1) == is_new)
            })
        };
        (0..=27)
            .find(|changes| {
                let mut found = false;
                with_changes(*changes, 0, 0, false, &mut |states| {
                    found |= explains(states, old, false) && explains(states, new, true);
                });
                found
            })
            .expect("changing all the time explains everything")
    }

    /// Calls `each` with all histories of 28 half moments that have this number of changes from
    /// `from` on.
    fn with_changes(
        changes: usize,
        from: u32,
        states: u32,
        is_new: bool,
        each: &mut dyn FnMut(u32),
    ) {
        let rest = if is_new { (u32::MAX >> 4) & (u32::MAX << from) } else { 0 };
        if changes == 0 {
            each(states | rest);
            return;
        }
        for at in from..28 {
            let period = if is_new { rest & !(u32::MAX << at) } else { 0 };
            with_changes(changes - 1, at, states | period, !is_new, each);
        }
    }
}
