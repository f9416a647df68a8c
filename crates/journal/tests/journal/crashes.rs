//! Tests that a journal keeps its promises over crashes and restarts.

use crate::lives::{Counts, End, Lives};
use crate::simulated::{Crash, Fault};
use fastrand::Rng;
use std::time::Duration;

fn number_of(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Runs seeded sequences of appends, replacements and syncs that end in a crash at some call. All
/// accepted records must survive a kill, and all synced ones a loss of power.
#[test]
fn answered_records_survive_crashes() {
    let runs = number_of("JOURNAL_CRASHES", 1_000);
    let mut torn = 0;
    for seed in 0..runs {
        let crash = [Crash::Kill, Crash::Power, Crash::PowerInOrder][(seed % 3) as usize];
        let mut random = Rng::with_seed(seed);
        let mut lives = Lives::begin(seed, Some(Fault::Crash(random.u64(0..150))));
        while !lives.has_ended() {
            match random.u8(0..12) {
                0 => {
                    lives.begin_sync();
                    lives.end_sync();
                }
                1 => lives.replace(),
                _ => lives.append([0, 1, 30, 500, 3_000][random.usize(0..5)]),
            }
        }
        torn += u64::from(lives.restart(End::Crash(crash), None).is_torn);
    }
    assert!(torn > runs / 30, "only {torn} of {runs} crashes cut a record off");
}

/// Checks that the records of a journal whose sync failed are on the medium after the first sync
/// of the next process, although the system counts them as written.
#[test]
fn records_of_a_failed_sync_are_written_again() {
    for seed in 0..20 {
        let mut lives = Lives::begin(seed, None);
        (0..40).for_each(|_| lives.append(500));
        lives.begin_sync();
        lives.set_fault(Some(Fault::Once(0)));
        lives.end_sync();
        assert!(lives.is_closed());
        lives.restart(End::Crash(Crash::Kill), None);
        lives.append(30);
        lives.begin_sync();
        lives.end_sync();
        let start = lives.restart(End::Crash(Crash::Power), None);
        assert_eq!((start.lost, start.is_repaired), (vec![], false), "seed {seed}");
    }
}

/// Checks that records survive although the rename of a replacement may not be on the medium,
/// because its directory could not be synced. The next process must sync the directory before it
/// relies on the new name.
#[test]
fn a_start_syncs_the_name_of_its_file() {
    for seed in 0..20 {
        let mut lives = Lives::begin(seed, None);
        (0..4).for_each(|_| lives.append(30));
        let calls = {
            let mut other = Lives::begin(seed, None);
            (0..4).for_each(|_| other.append(30));
            other.count_calls(Lives::replace)
        };
        // The last call syncs the directory.
        lives.set_fault(Some(Fault::Once(calls - 1)));
        lives.replace();
        assert!(lives.is_closed());
        lives.restart(End::Close, None);
        lives.append(30);
        lives.begin_sync();
        lives.end_sync();
        let start = lives.restart(End::Crash(Crash::Power), None);
        assert_eq!(start.lost, [], "seed {seed}");
    }
}

/// The interval at which an owner syncs, as the switch does.
const SYNC_EVERY: Duration = Duration::from_secs(1);
/// The longest time that a sync takes.
const SYNC_TAKES: Duration = Duration::from_millis(300);

/// Simulates an owner in virtual time: appends in bursts, a sync in every second, replacements,
/// calls that fail, a full disk, flipped bits, and restarts after an orderly end, a kill and a loss
/// of power. After each start, the journal must have what was promised. A loss of power may take
/// only records of the last second, and what was appended during a sync.
///
///     JOURNAL_HOURS=24 JOURNAL_DAYS=100 cargo test -p planimeter-journal a_day_of_faults
#[test]
fn a_day_of_faults() {
    let hours = number_of("JOURNAL_HOURS", 24);
    let seed = number_of("JOURNAL_SEED", 1);
    for seed in seed..seed + number_of("JOURNAL_DAYS", 1) {
        let day = Day::begin(seed, Duration::from_secs(3_600 * hours));
        let (counts, faults) = day.pass();
        println!("seed {seed}, {hours} hours: {faults} faults, {counts:?}");
        if seed == 1 && hours >= 24 {
            check_variety(&counts);
        }
    }
}

/// Checks that the first day had events of each kind, since the test would show nothing without
/// them.
fn check_variety(counts: &Counts) {
    let Counts {
        appended,
        refused,
        syncs,
        failed_syncs,
        replaced,
        not_replaced,
        restarts,
        refused_starts,
        torn,
        repaired,
        lost_with_power,
    } = *counts;
    let least = [refused, failed_syncs, replaced, not_replaced, refused_starts, torn, repaired]
        .into_iter()
        .min();
    assert!(least > Some(0) && lost_with_power > 0, "{counts:?}");
    assert!(appended > 10_000 && syncs > 5_000 && restarts > 100, "{counts:?}");
}

/// A run of one simulated owner.
struct Day {
    lives: Lives,
    random: Rng,
    now: Duration,
    end: Duration,
    /// The times at which records were answered, by their numbers. Refused records have the time
    /// of their refusal.
    answered: Vec<Duration>,
    due: Due,
    faults: u64,
    /// The time at which a failed sync or replacement last closed the journal.
    failed: Option<Duration>,
    /// The time of the last restart.
    restarted: Duration,
    /// The time of the last sync that could not begin, and is made up for by the next one.
    postponed: Option<Duration>,
    /// Whether the present journal was found to be closed.
    is_closed: bool,
}

/// The times of the next events.
struct Due {
    append: Duration,
    sync: Duration,
    /// The end of the sync that is under way.
    synced: Option<Duration>,
    replacement: Duration,
    fault: Duration,
    /// The end of the present fault.
    mended: Option<Duration>,
}

#[derive(Clone, Copy)]
enum Event {
    Append,
    Sync,
    Synced,
    Replacement,
    Fault,
    Mended,
}

impl Due {
    fn first(&self) -> (Duration, Event) {
        let events = [
            (Some(self.append), Event::Append),
            (Some(self.sync), Event::Sync),
            (self.synced, Event::Synced),
            (Some(self.replacement), Event::Replacement),
            (Some(self.fault), Event::Fault),
            (self.mended, Event::Mended),
        ];
        let times = events.into_iter().filter_map(|(time, event)| Some((time?, event)));
        times.min_by_key(|(time, _)| *time).expect("some events are always due")
    }
}

impl Day {
    fn begin(seed: u64, length: Duration) -> Self {
        let due = Due {
            append: Duration::ZERO,
            sync: SYNC_EVERY,
            synced: None,
            replacement: Duration::from_secs(1_800),
            fault: Duration::from_secs(60),
            mended: None,
        };
        Self {
            lives: Lives::begin(seed, None),
            random: Rng::with_seed(seed),
            now: Duration::ZERO,
            end: length,
            answered: Vec::new(),
            due,
            faults: 0,
            failed: None,
            restarted: Duration::ZERO,
            postponed: None,
            is_closed: false,
        }
    }

    fn pass(mut self) -> (Counts, u64) {
        loop {
            let (time, event) = self.due.first();
            if time > self.end {
                self.restart(End::Close, None);
                return (self.lives.counts(), self.faults);
            }
            self.now = time;
            self.carry_out(event);
            if self.lives.is_closed() && !self.is_closed {
                self.is_closed = true;
                self.failed = Some(self.now);
                // The operator starts the switch again, as the message says.
                self.due.fault = self.due.fault.min(self.now + self.at_most(60_000));
            }
            if self.lives.has_ended() {
                let crash = self.crash();
                self.restart(End::Crash(crash), None);
            }
        }
    }

    fn carry_out(&mut self, event: Event) {
        match event {
            Event::Append => {
                let length = [0, 1, 30, 500, 3_000][self.random.usize(0..5)];
                self.lives.append(length);
                self.answered.push(self.now);
                // Appends come in bursts.
                let pause = if self.random.u8(0..4) > 0 { 20 } else { 20_000 };
                self.due.append = self.now + self.at_most(pause);
                if self.lives.is_long() {
                    self.lives.replace();
                }
            }
            Event::Sync => {
                if !self.lives.begin_sync() {
                    self.postponed = Some(self.now);
                }
                let takes = self.at_most(SYNC_TAKES.as_millis() as u64);
                self.due.synced = Some(self.now + takes);
                self.due.sync = self.now + takes + SYNC_EVERY;
            }
            Event::Synced => {
                self.due.synced = None;
                self.lives.end_sync();
            }
            Event::Replacement => {
                if self.random.u8(0..4) == 0 {
                    self.faults += 1;
                    self.lives.set_fault(Some(Fault::Once(self.random.u64(0..8))));
                }
                self.lives.replace();
                self.due.replacement = self.now + self.at_most(3_600_000);
            }
            Event::Mended => {
                self.due.mended = None;
                self.lives.set_fault(None);
            }
            Event::Fault => {
                self.faults += 1;
                self.due.fault = self.now + self.at_most(600_000);
                self.fault();
            }
        }
    }

    fn fault(&mut self) {
        let call = self.random.u64(0..40);
        if self.lives.is_closed() {
            let crash = self.crash();
            return self.restart(End::Crash(crash), None);
        }
        match self.random.u8(0..6) {
            0 => {
                let crash = self.crash();
                // The disk can fail while the next process starts, too.
                let fault = match self.random.u8(0..4) {
                    0 => Some(Fault::Once(self.random.u64(0..20))),
                    1 => Some(Fault::Crash(self.random.u64(0..20))),
                    _ => None,
                };
                self.restart(End::Crash(crash), fault);
            }
            1 => self.restart(End::Close, None),
            2 => {
                let place = self.random.u64(..);
                self.restart(End::Flip { place }, None);
            }
            3 => self.lives.set_fault(Some(Fault::Once(call))),
            4 => self.lives.set_fault(Some(Fault::Crash(call))),
            _ => {
                self.lives.fill_disk(self.random.usize(0..4_000));
                self.due.mended = Some(self.now + self.at_most(60_000));
            }
        }
    }

    /// Ends the owner and starts it again, and checks that only the newest records are lost.
    fn restart(&mut self, end: End, fault: Option<Fault>) {
        let start = self.lives.restart(end, fault);
        if let End::Crash(_) = end {
            let mut oldest = SYNC_EVERY + 2 * SYNC_TAKES;
            if self.postponed.is_some_and(|postponed| postponed + oldest >= self.now) {
                oldest *= 2;
            }
            let oldest = oldest.min(self.now);
            let may_be_lost = |number: &u64| {
                let answered = self.answered[*number as usize];
                // The records of a journal whose sync failed are synced after the next start.
                let was_failed = self.failed.is_some_and(|failed| {
                    let is_new = self.restarted <= failed || self.restarted >= self.now - oldest;
                    answered <= failed && is_new
                });
                answered >= self.now - oldest || was_failed
            };
            assert!(start.lost.iter().all(may_be_lost), "at {:?}: {start:?}", self.now);
        }
        self.due.mended = None;
        self.due.synced = None;
        self.due.sync = self.now + SYNC_EVERY;
        self.restarted = self.now;
        self.is_closed = false;
    }

    fn crash(&mut self) -> Crash {
        [Crash::Kill, Crash::Power, Crash::PowerInOrder][self.random.usize(0..3)]
    }

    /// Returns a random duration of at least one millisecond.
    fn at_most(&mut self, milliseconds: u64) -> Duration {
        Duration::from_millis(self.random.u64(1..=milliseconds))
    }
}
