//! Which entries a worker is about to use alone, told to the other workers a window of packets ahead.
//!
//! A lock for each entry costs an exchange for each packet. Here a worker writes down which entries its next packets want,
//! makes that seen by one exchange, and looks at what the others have written down. Of two workers that want the same entry at
//! once at least one sees it, since each writes before it looks and both steps are sequentially consistent (Dekker's
//! rule, Dijkstra 1965); it waits. Who came first goes first: numbers as in Lamport's bakery (1974) say who did,
//! and the later one takes its announcement back while it waits, so that nobody waits in a circle.
//!
//! Entries are told by 16 bits of their hash. Two that have them in common are taken for one, which costs time and
//! nothing else.

use std::cell::Cell;

use crate::quiescence::relax;
use crate::region::prefetch_to_write;
use crate::sync::{AtomicBool, AtomicU64, Ordering, fence_of_models};

/// Workers that may announce. With more of them, looking at all costs as much as the locks.
const WORKERS: usize = if cfg!(loom) { 2 } else { 4 };
/// Words of marks, four in each.
const WORDS: usize = if cfg!(loom) { 1 } else { 8 };
/// Packets that are announced at once.
pub(crate) const WINDOW: usize = 4 * WORDS;

/// Marks of a window, four of 16 bits in a word.
type Marks = [u64; WORDS];

/// What one worker announces.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Notice {
    /// Twice the number of the window, and one if it is announced.
    number: AtomicU64,
    is_taken: AtomicBool,
    marks: Line,
}

/// A line of memory for itself, so that those who look fetch it beside the number's and not after it.
#[derive(Debug)]
#[repr(align(64))]
struct Line([AtomicU64; WORDS]);

impl Notice {
    fn new() -> Self {
        Self {
            number: AtomicU64::new(0),
            is_taken: AtomicBool::new(false),
            marks: Line(std::array::from_fn(|_| AtomicU64::new(0))),
        }
    }

    fn is_announced(number: u64) -> bool {
        number & 1 == 1
    }

    /// The worker, whose notice it is, uses none of what it announced until it announces again.
    #[inline(always)]
    pub(crate) fn take_back(&self) {
        let number = self.number.load(Ordering::Relaxed);
        self.number.store(number & !1, Ordering::Release);
    }

    /// Announces under a number what the marks say.
    #[inline(always)]
    fn announce(&self, number: u64) {
        // An exchange costs less than a store with a fence behind it.
        self.number.swap(number << 1 | 1, Ordering::SeqCst);
        fence_of_models();
    }

    #[inline(always)]
    fn marks(&self) -> Marks {
        // They may be of a later window than the number is: then the earlier one has ended, and what its worker wrote is seen.
        std::array::from_fn(|word| self.marks.0[word].load(Ordering::Acquire))
    }

    /// Waits until the number is another.
    fn wait_while(&self, number: u64) {
        let mut spins = 0;
        while self.number.load(Ordering::Acquire) == number {
            relax(&mut spins);
        }
    }
}

/// Whether any of four marks in each word is in both.
#[inline(always)]
fn meet(mine: &Marks, theirs: &Marks) -> bool {
    let lanes = |marks: &Marks| {
        let mut lanes = [0_u16; WINDOW];
        for (lane, mark) in lanes.iter_mut().enumerate() {
            *mark = (marks[lane / 4] >> (16 * (lane % 4))) as u16;
        }
        lanes
    };
    let theirs = lanes(theirs);
    let mut met = [0_u16; WINDOW];
    for mark in lanes(mine) {
        for (met, other) in met.iter_mut().zip(&theirs) {
            *met |= if *other == mark { 1 } else { 0 };
        }
    }
    met.iter().fold(0, |any, met| any | met) != 0
}

/// The notices of a table's workers.
pub(crate) struct Announcements {
    notices: Box<[Notice]>,
}

/// Which notice is a worker's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(usize);

impl Announcements {
    pub(crate) fn new() -> Self {
        Self { notices: (0..WORKERS).map(|_| Notice::new()).collect() }
    }

    /// A notice for a worker, or `None` where there are as many workers as may announce.
    pub(crate) fn join(&self) -> Option<Place> {
        let free = |notice: &Notice| !notice.is_taken.swap(true, Ordering::AcqRel);
        self.notices.iter().position(free).map(Place)
    }

    pub(crate) fn leave(&self, place: Place) {
        self.notices[place.0].is_taken.store(false, Ordering::Release);
    }

    pub(crate) fn notice(&self, place: Place) -> &Notice {
        &self.notices[place.0]
    }

    /// A worker begins a batch in which it announces its windows.
    pub(crate) fn turn(&self, place: Place) -> Turn<'_> {
        Turn { announcements: self, own: place.0, newest: Cell::new(0) }
    }
}

/// A worker in a batch. What it announced last is taken back when it is dropped, also by a panic.
pub(crate) struct Turn<'a> {
    announcements: &'a Announcements,
    own: usize,
    /// The largest number that was seen.
    newest: Cell<u64>,
}

impl Turn<'_> {
    fn notice(&self) -> &Notice {
        &self.announcements.notices[self.own]
    }

    /// Waits until the worker has the entries of these hashes, at most [`WINDOW`], for itself; it has them until the next call.
    #[inline(always)]
    pub(crate) fn announce(&self, hashes: &[u64]) {
        // Others have read both lines since they were written: the number's comes back while the marks are written.
        prefetch_to_write(std::ptr::from_ref(&self.notice().number).cast());
        let mark = |hash: u64| hash >> 48;
        let mut marks = [0; WORDS];
        if hashes.len() == WINDOW {
            for (word, hashes) in marks.iter_mut().zip(hashes.as_chunks::<4>().0) {
                let [first, second, third, fourth] = hashes.map(mark);
                *word = first | second << 16 | third << 32 | fourth << 48;
            }
        } else {
            let Some(&first) = hashes.first() else { return };
            // Marks that are left over repeat one.
            for (lane, hash) in
                hashes.iter().chain(std::iter::repeat(&first)).take(WINDOW).enumerate()
            {
                marks[lane / 4] |= mark(*hash) << (16 * (lane % 4));
            }
        }
        for (word, marks) in self.notice().marks.0.iter().zip(marks) {
            // Whoever sees a mark of this window sees what was written in the one before.
            word.store(marks, Ordering::Release);
        }
        self.enter(&marks);
    }

    /// Announces the window once more, if the announcement was taken back because its worker waited for others.
    #[inline(always)]
    pub(crate) fn renew(&self) {
        if !Notice::is_announced(self.notice().number.load(Ordering::Relaxed)) {
            self.enter(&self.notice().marks());
        }
    }

    #[inline(always)]
    fn enter(&self, marks: &Marks) {
        let notice = self.notice();
        let number = self.newest.get().max(notice.number.load(Ordering::Relaxed) >> 1) + 1;
        notice.announce(number);
        let (mut newest, mut meets) = (number, false);
        for (index, other) in self.announcements.notices.iter().enumerate() {
            if index != self.own {
                let seen = other.number.load(Ordering::SeqCst);
                newest = newest.max(seen >> 1);
                meets |= Notice::is_announced(seen) && meet(marks, &other.marks());
            }
        }
        self.newest.set(newest);
        if meets {
            self.wait_for_others(number, marks);
        }
    }

    /// Waits until no other worker has announced an entry of this window before, or has it.
    #[cold]
    fn wait_for_others(&self, number: u64, marks: &Marks) {
        let others = || {
            let notices = self.announcements.notices.iter().enumerate();
            notices.filter(|(index, _)| *index != self.own)
        };
        let wants_the_same = || {
            others().find_map(|(index, other)| {
                let seen = other.number.load(Ordering::SeqCst);
                let meets = Notice::is_announced(seen) && meet(marks, &other.marks());
                meets.then_some((index, other, seen))
            })
        };
        while let Some((index, other, seen)) = wants_the_same() {
            if (seen >> 1, index) < (number, self.own) {
                self.notice().take_back();
                other.wait_while(seen);
                self.notice().announce(number);
            } else {
                other.wait_while(seen);
            }
        }
    }
}

impl Drop for Turn<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.notice().take_back();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn hashes(from: u64) -> Vec<u64> {
        (from..).take(WINDOW).map(|number| number << 48).collect()
    }

    #[test]
    fn windows_meet_where_one_mark_is_in_both_wherever_it_stands() {
        let marks = |hashes: &[u64]| {
            let announcements = Announcements::new();
            let turn = announcements.turn(announcements.join().unwrap());
            turn.announce(hashes);
            turn.notice().marks()
        };
        let mine = marks(&hashes(100));
        assert!(!meet(&mine, &marks(&hashes(100 + WINDOW as u64))));
        for lane in 0..WINDOW {
            for place in 0..WINDOW {
                let mut theirs = hashes(1000);
                theirs[place] = hashes(100)[lane];
                assert!(meet(&mine, &marks(&theirs)), "{lane} {place}");
            }
        }
        // A short window has no mark but its own.
        assert!(!meet(&marks(&hashes(0)[..1]), &marks(&hashes(1))));
        assert!(meet(&marks(&hashes(0)[..1]), &marks(&hashes(0)[..2])));
    }

    #[test]
    fn what_was_taken_back_is_announced_again_and_ends_with_the_turn() {
        let announcements = Announcements::new();
        let place = announcements.join().unwrap();
        let is_announced =
            || Notice::is_announced(announcements.notice(place).number.load(Ordering::Relaxed));
        let turn = announcements.turn(place);
        turn.announce(&hashes(7));
        assert!(is_announced());
        announcements.notice(place).take_back();
        assert!(!is_announced());
        turn.renew();
        assert!(is_announced());
        drop(turn);
        assert!(!is_announced());
    }

    #[test]
    fn a_later_worker_counts_on_from_the_numbers_that_it_sees() {
        let announcements = Announcements::new();
        let (first, second) = (announcements.join().unwrap(), announcements.join().unwrap());
        for _ in 0..100 {
            announcements.turn(first).announce(&hashes(0));
        }
        let turn = announcements.turn(second);
        turn.announce(&hashes(0));
        turn.announce(&hashes(0));
        let number = |place| announcements.notice(place).number.load(Ordering::Relaxed) >> 1;
        assert!(number(second) > number(first));
    }

    #[test]
    fn places_are_given_back() {
        let announcements = Announcements::new();
        let places: Vec<_> = std::iter::from_fn(|| announcements.join()).collect();
        assert_eq!(places.len(), WORKERS);
        announcements.leave(places[1]);
        assert_eq!(announcements.join(), Some(places[1]));
    }
}
