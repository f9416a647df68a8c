//! The times at which linear programs observe a run of a FIFO tandem.
//!
//! Data leave the last server at a time u. Two times at the entrance of that server explain this.
//! F(u) is the time at which the data that leave at u arrived. By the FIFO property, it is the same
//! for all flows. S(u) is the time from which the service curve accounts for the data that have
//! left. Both are times at the exit of the previous server, so that the same is done for that
//! server, and so on back to the first server. A time is thus a word over F and S, read from the
//! last server to the first. All words form an exact but exponential program. Some of the words
//! form a smaller program with a larger optimum.
//!
//! The order of some times of one server follows from their words: F and S preserve the order of
//! two times, and S(u) is not later than F(u).

/// The rule by which a time at a server's entrance is derived from a time at its exit, which is the
/// entrance of the next server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The rule F: the data that leave at the time at the exit arrived at this time.
    Fifo,
    /// The rule S: from this time on, the service curve accounts for the data that have left by the
    /// time at the exit.
    Service,
}

/// A time at the entrance of a server at which the linear program observes a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Date {
    pub(super) kind: Kind,
    /// The index of the time from which this one is derived, among those at the next server's
    /// entrance (or after the last server).
    pub(super) of: usize,
    /// If this time was derived from that after the last server by any number of rules F and then
    /// only rules S, the number of rules F. `None` for other sequences of rules.
    stem: Option<usize>,
}

/// A choice of the times that a program uses. Each time is named by a word over F and S, which
/// lists the rules by which it is derived from the time after the last server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// All words at the given number of servers nearest to the root, of which there are two to the
    /// power of that number. At each server further away, every word is continued with F, and the
    /// word that consists of S only is also continued with S.
    All(usize),
    /// Words that consist of at most the given number of F, then any number of S, and then only F.
    /// With 0, these are the words S..SF..F.
    Behind(usize),
}

/// The times at the entrance of one server at which a program observes a run, the latest time
/// first.
#[derive(Clone, Debug, Default)]
pub(super) struct Level {
    pub(super) dates: Vec<Date>,
    /// The indices of the times that are known to be not later than each time of the level, in
    /// ascending order.
    later_than: Vec<Vec<usize>>,
}

impl Level {
    /// Returns the level after the last server, which has a single time.
    fn exit() -> Self {
        let date = Date { kind: Kind::Fifo, of: 0, stem: Some(0) };
        Self { dates: vec![date], later_than: vec![Vec::new()] }
    }

    /// Returns the level at the entrance of a server, whose times are derived from those of the
    /// next level.
    fn before(next: &Self, choice: Choice, depth: usize) -> Self {
        let mut dates = Vec::new();
        let has_service = |date: &Date| match choice {
            Choice::All(deepest) => depth <= deepest || date.stem == Some(0),
            Choice::Behind(most) => date.stem.is_some_and(|count| count <= most),
        };
        for (of, date) in next.dates.iter().enumerate() {
            // The first word consists of F only.
            let stem = date.stem.filter(|_| of == 0).map(|count| count + 1);
            dates.push(Date { kind: Kind::Fifo, of, stem });
        }
        for (of, date) in next.dates.iter().enumerate() {
            if has_service(date) {
                dates.push(Date { kind: Kind::Service, of, stem: date.stem });
            }
        }
        let not_later = |late: &Date, early: &Date| {
            let order = late.of == early.of || next.is_later(late.of, early.of);
            order && !(late.kind == Kind::Service && early.kind == Kind::Fifo)
        };
        let earlier = |place: usize, late: &Date| {
            let others = dates.iter().enumerate();
            let others = others.filter(|(other, early)| *other != place && not_later(late, early));
            others.map(|(other, _)| other).collect()
        };
        let later_than =
            dates.iter().enumerate().map(|(place, late)| earlier(place, late)).collect();
        Self { dates, later_than }
    }

    fn is_later(&self, late: usize, early: usize) -> bool {
        self.later_than.get(late).is_some_and(|others| others.binary_search(&early).is_ok())
    }

    /// Returns all pairs of times whose order is known, each with the later time first.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let pairs = self.later_than.iter().enumerate();
        pairs.flat_map(|(late, others)| others.iter().map(move |early| (late, *early)))
    }

    /// Returns pairs of times whose order is known, from which the order of all other pairs
    /// follows.
    pub(super) fn neighbours(&self) -> Vec<(usize, usize)> {
        let between = |late: usize, early: usize| {
            let others = self.later_than.get(late).into_iter().flatten();
            others.into_iter().any(|middle| *middle != early && self.is_later(*middle, early))
        };
        self.pairs().filter(|(late, early)| !between(*late, *early)).collect()
    }
}

/// Returns the level after the last server, followed by the levels at the entrances of servers, in
/// the order of their distance to the root.
pub(super) fn levels(deepest: usize, choice: Choice) -> Vec<Level> {
    let mut levels = vec![Level::exit()];
    for depth in 1..=deepest {
        let next = levels.last().map(|next| Level::before(next, choice, depth));
        levels.extend(next);
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(levels: &[Level], depth: usize) -> Vec<String> {
        let Some(behind) = depth.checked_sub(1) else { return vec![String::new()] };
        let before = words(levels, behind);
        let letter = |kind| if kind == Kind::Fifo { 'F' } else { 'S' };
        let dates = levels[depth].dates.iter();
        dates.map(|date| format!("{}{}", before[date.of], letter(date.kind))).collect()
    }

    #[test]
    fn words_are_those_chosen() {
        let polynomial = levels(3, Choice::Behind(0));
        assert_eq!(words(&polynomial, 3), ["FFF", "SFF", "SSF", "SSS"]);
        let more = levels(3, Choice::Behind(1));
        assert_eq!(words(&more, 3), ["FFF", "SFF", "FSF", "SSF", "FSS", "SSS"]);
        assert_eq!(words(&levels(4, Choice::All(4)), 4).len(), 16);
        // From the third server on, each level has only one more time.
        assert_eq!(words(&levels(4, Choice::All(2)), 4).len(), 6);
    }

    #[test]
    fn the_order_is_what_words_say() {
        // For words with a common beginning, the order is letter by letter: S is not later than F.
        let all = levels(4, Choice::All(4));
        for (depth, level) in all.iter().enumerate().skip(1) {
            let words = words(&all, depth);
            for (i, late) in words.iter().enumerate() {
                for (j, early) in words.iter().enumerate() {
                    let letters = || late.chars().zip(early.chars());
                    let expected = i != j && letters().all(|(a, b)| a == b || a == 'F');
                    assert_eq!(level.is_later(i, j), expected, "{late} {early}");
                }
            }
            let few = level.neighbours();
            assert!(few.len() <= level.pairs().count());
            assert!(few.iter().all(|(late, early)| level.is_later(*late, *early)));
        }
    }
}
