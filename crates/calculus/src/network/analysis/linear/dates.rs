//! Points of time at which a run of a FIFO tandem is looked at.
//!
//! Something leaves the last server at a time u. Two times at its entrance explain it: F(u), when
//! what leaves at u came in (first in, first out: all flows alike), and S(u), from which on the
//! service curve accounts for what has left. Both are exits of the server before, and so on back to
//! the first server; a time is a word over F and S, read from the last server on. All words make an
//! exact but exponential program; some of them a smaller one with a larger optimum.
//!
//! Which of two times of one server is later follows from their words: F and S never turn the order
//! of two times round, and S(u) is not later than F(u).

/// How a time comes from one of the next server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The entrance of what leaves then.
    Fifo,
    /// The beginning of the service that accounts for what has left.
    Service,
}

/// A time at the entrance of a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Date {
    pub(super) kind: Kind,
    /// The time, by its place, at the entrance of the next server (or behind the last server).
    pub(super) of: usize,
    /// If the word is so many F and then any number of S: how many F.
    stem: Option<usize>,
}

/// Which words there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// All up to so many servers from the root, two to the power of their number; further away as with
    /// `Behind(0)`.
    All(usize),
    /// S only behind up to so many F and then S (with 0 the words S..SF..F).
    Behind(usize),
}

/// The times at the entrance of one server, the latest one first.
#[derive(Clone, Debug, Default)]
pub(super) struct Level {
    pub(super) dates: Vec<Date>,
    /// For each time, in ascending order, those that are known to be not later (and not itself).
    later_than: Vec<Vec<usize>>,
}

impl Level {
    /// Returns the one time behind the last server.
    fn exit() -> Self {
        let date = Date { kind: Kind::Fifo, of: 0, stem: Some(0) };
        Self { dates: vec![date], later_than: vec![Vec::new()] }
    }

    /// Times at the entrance of a server, from those behind it.
    fn before(next: &Self, choice: Choice, depth: usize) -> Self {
        let mut dates = Vec::new();
        let has_service = |date: &Date| match choice {
            Choice::All(deepest) => depth <= deepest || date.stem == Some(0),
            Choice::Behind(most) => date.stem.is_some_and(|count| count <= most),
        };
        for (of, date) in next.dates.iter().enumerate() {
            // The first word is the one of F only.
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

    /// All pairs of times, the later first, of which the order is known.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let pairs = self.later_than.iter().enumerate();
        pairs.flat_map(|(late, others)| others.iter().map(move |early| (late, *early)))
    }

    /// Pairs from which the order of all pairs follows.
    pub(super) fn neighbours(&self) -> Vec<(usize, usize)> {
        let between = |late: usize, early: usize| {
            let others = self.later_than.get(late).into_iter().flatten();
            others.into_iter().any(|middle| *middle != early && self.is_later(*middle, early))
        };
        self.pairs().filter(|(late, early)| !between(*late, *early)).collect()
    }
}

/// Returns the one time behind all servers, and then the times at the entrance of a server by how
/// many there are from it to the last.
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
        // From the third server on only one more each.
        assert_eq!(words(&levels(4, Choice::All(2)), 4).len(), 6);
    }

    #[test]
    fn the_order_is_what_words_say() {
        // Written out: letter by letter F is not before S, if words are of one beginning.
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
