//! Idle entries and when they expire, without a scan of the table.
//!
//! Every entry has a stamp, the tick of its insertion or of the last restart of its timer; restarting stores one
//! number. A hierarchical timer wheel (Varghese and Lauck 1987, scheme 7) holds each entry once, at the tick at which
//! it was due when last looked at. Only when that tick comes is the stamp read: the entry has expired, or goes back
//! into the wheel for its new time. The clock comes from outside, once per batch.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::entry::{ExpiryProfile, Position, Tick};

const LEVELS: usize = 4;
const SLOTS: usize = 256;

/// Marks an entry that never expires.
const FOREVER: u8 = u8::MAX;

/// The ages of all entries of one store.
pub(crate) struct Ageing {
    /// Ticks after which an entry of the profile is idle.
    profiles: Box<[u32]>,
    entries: Box<[Age]>,
    wheel: Mutex<Wheel>,
}

struct Age {
    stamp: AtomicU32,
    /// Which insertion at this position it is; the wheel's older references to the position are void.
    generation: AtomicU32,
    profile: AtomicU8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Timer {
    position: u32,
    generation: u32,
    due: u32,
}

impl Ageing {
    /// Ages for `positions` entries; `profiles` are idle times in ticks.
    pub(crate) fn new(profiles: &[u32], positions: usize) -> Self {
        let age = || Age {
            stamp: AtomicU32::new(0),
            generation: AtomicU32::new(0),
            profile: AtomicU8::new(FOREVER),
        };
        Self {
            profiles: profiles
                .iter()
                .take(usize::from(FOREVER))
                .map(|&ticks| ticks.max(1))
                .collect(),
            entries: (0..positions).map(|_| age()).collect(),
            wheel: Mutex::new(Wheel::new()),
        }
    }

    fn wheel(&self) -> MutexGuard<'_, Wheel> {
        // A wheel is whole between any two of its operations.
        self.wheel.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn timeout(&self, profile: u8) -> Option<u32> {
        self.profiles.get(usize::from(profile)).copied()
    }

    /// An entry begins; without a profile it never expires.
    pub(crate) fn start(&self, position: Position, profile: Option<ExpiryProfile>, now: Tick) {
        let Some(age) = self.entries.get(position.0 as usize) else { return };
        let generation = age.generation.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
        age.stamp.store(now.0, Ordering::Relaxed);
        let profile = profile.map_or(FOREVER, |profile| profile.0);
        age.profile.store(profile, Ordering::Release);
        if let Some(timeout) = self.timeout(profile) {
            let due = now.0.wrapping_add(timeout);
            let mut wheel = self.wheel();
            wheel.set_if_idle(now.0);
            wheel.schedule(Timer { position: position.0, generation, due });
        }
    }

    /// The entry was used.
    #[inline]
    pub(crate) fn restart(&self, position: Position, now: Tick) {
        if let Some(age) = self.entries.get(position.0 as usize) {
            age.stamp.store(now.0, Ordering::Relaxed);
        }
    }

    /// The entry is gone: its timers are void.
    pub(crate) fn stop(&self, position: Position) {
        if let Some(age) = self.entries.get(position.0 as usize) {
            age.generation.fetch_add(1, Ordering::AcqRel);
            age.profile.store(FOREVER, Ordering::Release);
        }
    }

    /// Positions of the entries that have been idle for their time at `now`. Each is reported once; what still lives
    /// then must be started again to age further.
    pub(crate) fn expired(&self, now: Tick) -> Vec<Position> {
        let mut wheel = self.wheel();
        let mut expired = Vec::new();
        for timer in wheel.advance(now.0) {
            let Some(age) = self.entries.get(timer.position as usize) else { continue };
            if age.generation.load(Ordering::Acquire) != timer.generation {
                continue;
            }
            let Some(timeout) = self.timeout(age.profile.load(Ordering::Acquire)) else { continue };
            let due = age.stamp.load(Ordering::Relaxed).wrapping_add(timeout);
            if is_due(due, now.0) {
                expired.push(Position(timer.position));
            } else {
                wheel.schedule(Timer { due, ..timer });
            }
        }
        expired
    }
}

/// Whether `due` is not after `now`, on a clock that wraps.
fn is_due(due: u32, now: u32) -> bool {
    now.wrapping_sub(due) < 1 << 31
}

/// Four levels of 256 slots: level `n` holds timers due within `256^(n+1)` ticks.
struct Wheel {
    now: u32,
    levels: [Vec<Vec<Timer>>; LEVELS],
    pending: usize,
}

impl Wheel {
    fn new() -> Self {
        Self { now: 0, levels: std::array::from_fn(|_| vec![Vec::new(); SLOTS]), pending: 0 }
    }

    /// A wheel without timers takes any clock, so that the first may start anywhere.
    fn set_if_idle(&mut self, now: u32) {
        if self.pending == 0 {
            self.now = now;
        }
    }

    fn schedule(&mut self, timer: Timer) {
        // What is due already comes at the next tick: the slot of the present one has been emptied.
        let due = if is_due(timer.due, self.now) { self.now.wrapping_add(1) } else { timer.due };
        // The highest digit in which the two times differ is the level: all above agree until it turns.
        let digit = (31 - (due ^ self.now).leading_zeros()) as usize / 8;
        let slot = (due >> (8 * digit)) as usize % SLOTS;
        self.levels[digit][slot].push(timer);
        self.pending += 1;
    }

    /// Moves the clock to `to` and returns the timers that fell due. A clock that went back stands still.
    fn advance(&mut self, to: u32) -> Vec<Timer> {
        let mut due = Vec::new();
        while self.now != to && is_due(self.now, to) {
            if self.pending == 0 {
                self.now = to;
                break;
            }
            self.now = self.now.wrapping_add(1);
            // When lower digits turn to zero, the slot above is dealt out among them, highest first.
            for level in (1..LEVELS).rev() {
                if self.now.is_multiple_of(1 << (8 * level)) {
                    let slot = (self.now >> (8 * level)) as usize % SLOTS;
                    self.deal(level, slot, &mut due);
                }
            }
            self.deal(0, self.now as usize % SLOTS, &mut due);
        }
        due
    }

    fn deal(&mut self, level: usize, slot: usize, due: &mut Vec<Timer>) {
        for timer in std::mem::take(&mut self.levels[level][slot]) {
            self.pending -= 1;
            if is_due(timer.due, self.now) {
                due.push(timer);
            } else {
                self.schedule(timer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_timer_fires_at_its_tick_across_all_levels() {
        // Miri takes minutes for each.
        let starts = if cfg!(miri) { &[][..] } else { &[0, 250, 65_530, u32::MAX - 300][..] };
        for &start in starts {
            let mut wheel = Wheel::new();
            wheel.set_if_idle(start);
            let delays = [1, 2, 5, 6, 255, 256, 257, 300, 65_535, 65_536, 65_537, 70_000];
            for (position, delay) in delays.iter().enumerate() {
                let due = start.wrapping_add(*delay);
                wheel.schedule(Timer { position: position as u32, generation: 0, due });
            }
            let mut fired = Vec::new();
            for step in 1..=70_001_u32 {
                for timer in wheel.advance(start.wrapping_add(step)) {
                    assert_eq!(delays[timer.position as usize], step, "from {start}");
                    fired.push(step);
                }
            }
            assert_eq!(fired.len(), delays.len());
        }
    }

    #[test]
    fn a_jump_of_the_clock_fires_all_that_fell_due() {
        let mut wheel = Wheel::new();
        for position in 0..1000 {
            wheel.schedule(Timer { position, generation: 0, due: position * 70 + 1 });
        }
        assert_eq!(wheel.advance(35_000).len(), 500);
        assert_eq!(wheel.advance(34_000).len(), 0, "the clock does not go back");
        assert_eq!(wheel.advance(70_000).len(), 500);
    }

    #[test]
    fn a_restarted_entry_lives_on_and_a_deleted_one_is_not_reported() {
        let ageing = Ageing::new(&[10], 3);
        for position in 0..3 {
            ageing.start(Position(position), Some(ExpiryProfile(0)), Tick(0));
        }
        ageing.restart(Position(1), Tick(8));
        ageing.stop(Position(2));
        assert_eq!(ageing.expired(Tick(9)), []);
        assert_eq!(ageing.expired(Tick(10)), [Position(0)]);
        assert_eq!(ageing.expired(Tick(17)), []);
        assert_eq!(ageing.expired(Tick(18)), [Position(1)]);
        assert_eq!(ageing.expired(Tick(1000)), []);
    }

    #[test]
    fn a_position_that_is_used_again_ages_from_its_new_start() {
        let ageing = Ageing::new(&[10], 1);
        ageing.start(Position(0), Some(ExpiryProfile(0)), Tick(0));
        ageing.stop(Position(0));
        ageing.start(Position(0), Some(ExpiryProfile(0)), Tick(5));
        assert_eq!(ageing.expired(Tick(14)), []);
        assert_eq!(ageing.expired(Tick(15)), [Position(0)]);
    }

    #[test]
    fn an_entry_without_a_known_profile_never_expires() {
        let ageing = Ageing::new(&[10], 2);
        ageing.start(Position(0), None, Tick(0));
        ageing.start(Position(1), Some(ExpiryProfile(1)), Tick(0));
        assert_eq!(ageing.expired(Tick(1 << 20)), []);
    }
}
