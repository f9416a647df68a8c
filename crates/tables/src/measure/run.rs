//! Runs a plan: groups of cases that fit into memory together take turns in each repetition. An
//! interrupt ends the turn in progress early, and its results are discarded.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::cache;
use crate::machine::{self, Cache};
use crate::memory;

use super::samples::Clock;
use super::subject::{Draws, NoSubject, Subject};
use super::{Case, Findings, Machine, Measured, NotOffered, Plan, Settings, counters_available};

/// After an interrupt, the time for which entries are read to count lost updates, for all tables of
/// a group together.
const COUNTING: Duration = Duration::from_millis(200);

/// The current step of a measurement, for display to a user.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// The latency of dependent accesses to memory of this number of bytes is being measured.
    Chasing(usize),
    /// The size of the last-level cache is being measured.
    Sizing,
    /// The table of this case is being filled.
    Filling(&'a Case),
    /// A turn of a case has ended.
    Turn {
        /// The number of turns that have ended, including those of cases that could not be
        /// measured.
        done: usize,
        /// The number of turns of all cases together.
        total: usize,
        /// The case of the turn.
        case: &'a Case,
        /// The number of operations per second in the turn.
        rate: f64,
    },
}

/// Measures the cases of a plan on a machine that [`survey`] has examined. Once `interrupt` is set,
/// the run ends with the turns that are complete. The turn in progress is discarded.
pub fn run(
    plan: &Plan,
    settings: &Settings,
    machine: Machine,
    interrupt: &AtomicBool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Findings {
    let mut findings = Findings {
        machine,
        settings: settings.clone(),
        measured: Vec::new(),
        not_offered: plan.not_offered.clone(),
        unfinished: Vec::new(),
        interrupted: false,
    };
    let mut run = Run {
        settings,
        interrupt,
        progress,
        draws: Draws::default(),
        done: 0,
        total: plan.cases.len() * settings.repetitions,
    };
    let mut rest = &plan.cases[..];
    while !rest.is_empty() {
        let (group, later) = rest.split_at(group(rest));
        run.group(group, &mut findings);
        rest = later;
    }
    findings.interrupted = interrupt.load(Ordering::Relaxed) && !findings.unfinished.is_empty()
        || findings.measured.iter().any(|one| one.turns.len() < settings.repetitions);
    findings
}

struct Run<'a> {
    settings: &'a Settings,
    interrupt: &'a AtomicBool,
    progress: &'a mut dyn FnMut(Progress<'_>),
    draws: Draws,
    done: usize,
    total: usize,
}

impl Run<'_> {
    fn stopped(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Measures cases whose tables are in memory together: each repetition has one turn of each
    /// case.
    fn group(&mut self, cases: &[Case], findings: &mut Findings) {
        self.draws.clear();
        let mut subjects = Vec::new();
        let mut unfinished = Vec::new();
        for case in cases {
            if self.stopped() {
                unfinished.push(*case);
                continue;
            }
            (self.progress)(Progress::Filling(case));
            match Subject::new(*case, self.settings, &mut self.draws, self.interrupt) {
                Ok(subject) => subjects.push(Some(subject)),
                Err(NoSubject::Interrupted) => unfinished.push(*case),
                Err(NoSubject::Refused(reason)) => {
                    self.done += self.settings.repetitions;
                    findings.not_offered.push(NotOffered { what: label(case), reason });
                }
            }
        }
        let clock = findings.machine.clock;
        for _ in 0..self.settings.repetitions {
            for slot in &mut subjects {
                let Some(subject) = slot else { continue };
                if self.stopped() {
                    break;
                }
                match subject.turn(self.settings, clock, self.interrupt) {
                    Ok(None) => break,
                    Ok(Some(rate)) => {
                        self.done += 1;
                        let (done, total) = (self.done, self.total);
                        let case = &subject.case;
                        (self.progress)(Progress::Turn { done, total, case, rate });
                    }
                    Err(reason) => {
                        let what = label(&subject.case);
                        findings.not_offered.push(NotOffered { what, reason });
                        *slot = None;
                    }
                }
            }
        }
        let deadline = self.stopped().then(|| Instant::now() + COUNTING);
        for subject in subjects.into_iter().flatten() {
            let case = subject.case;
            match subject.finish(clock, deadline) {
                Some(measured) => findings.measured.push(measured),
                None => unfinished.push(case),
            }
        }
        findings.unfinished.append(&mut unfinished);
    }
}

/// Describes a case in words that distinguish it from other cases.
fn label(case: &Case) -> String {
    let Case { design, layout, cores, .. } = case;
    format!(
        "{design}, {} entries, key {} bits, parameters {} B, {cores} cores",
        layout.size(),
        layout.key_bits(),
        layout.parameter_bytes()
    )
}

/// Returns the number of cases at the beginning of `cases` that can take turns. It is at least one.
/// It is more if further cases have the same layout and the tables together fit into half of the
/// available memory.
fn group(cases: &[Case]) -> usize {
    let room = machine::available_memory().map_or(usize::MAX, |bytes| bytes / 2);
    let mut taken = 0_usize;
    let mut count = 0;
    for case in cases {
        taken = taken.saturating_add(memory::filling_bytes(
            &case.layout,
            &case.design,
            case.layout.size(),
        ));
        if count > 0 && (case.layout != cases[0].layout || taken > room) {
            break;
        }
        count += 1;
    }
    count
}

/// Examines the machine on which tables will be measured: the latencies of its memories, each for
/// about `time`, the cost of reading its clock, and whether cache misses can be counted and threads
/// can be pinned.
pub fn survey(
    cores: &[usize],
    time: Duration,
    interrupt: &AtomicBool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Machine {
    let core = cores.first().copied().unwrap_or(0);
    let mut caches = machine::caches();
    progress(Progress::Sizing);
    let last_level = on(core, || cache::measure(&caches, interrupt)).flatten();
    caches = cache::with_measured(caches, last_level);
    let mut latencies = Vec::new();
    for (name, bytes) in levels(&caches) {
        if interrupt.load(Ordering::Relaxed) {
            break;
        }
        progress(Progress::Chasing(bytes));
        let latency = on(core, || machine::latency(bytes, time, interrupt));
        latencies.extend(latency.flatten().map(|latency| (name, latency)));
    }
    let clock = on(core, Clock::measure).unwrap_or_else(Clock::measure);
    let counters = on(core, counters_available).unwrap_or_else(counters_available);
    let pin = |&core: &usize| on(core, || machine::pin_to(core).map_err(|error| error.to_string()));
    let pinned = cores.iter().filter_map(pin).collect::<Result<(), String>>();
    Machine { caches, latencies, clock, counters, pinned }
}

/// Runs a function in a new thread on a core, so that the caller stays on its own core. Returns
/// `None` if the function panicked.
fn on<R: Send>(core: usize, run: impl FnOnce() -> R + Send) -> Option<R> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // `survey` reports errors of pinning once, so they are ignored here.
            let _ = machine::pin_to(core);
            run()
        });
        thread.join().ok()
    })
}

/// Returns the memories whose latency is measured, nearest first: the name of each, and the number
/// of bytes over which the accesses are spread.
///
/// This number is half the size of each cache but the last, so that the data fits. For the last
/// cache, which other cores share, it is a quarter of the size. If the geometric mean of the sizes
/// of the last two caches is larger, the mean is used, so that most accesses miss the smaller one.
/// For main memory, it is eight times the size of the largest cache, but at least 256 MiB and at
/// most 1 GiB.
fn levels(caches: &[Cache]) -> Vec<(String, usize)> {
    let last = caches.iter().map(|cache| cache.level).max().unwrap_or(0);
    let before_last =
        caches.iter().filter(|cache| cache.level < last).map(|cache| cache.bytes).max();
    let part = |cache: &Cache| {
        let bytes = match (cache.level == last, before_last) {
            (false, _) => cache.bytes / 2,
            (true, None) => cache.bytes / 4,
            (true, Some(before)) => {
                let mean = (before as f64 * cache.bytes as f64).sqrt() as usize;
                (cache.bytes / 4).max(mean)
            }
        };
        (format!("L{}", cache.level), bytes)
    };
    let mut levels: Vec<_> = caches.iter().map(part).collect();
    let largest = caches.iter().map(|cache| cache.bytes).max().unwrap_or(32 << 20);
    levels.push(("memory".to_owned(), (largest * 8).clamp(256 << 20, 1 << 30)));
    levels
}

impl Findings {
    /// Returns the cases that lost updates although their design promises to keep them. Such a loss
    /// is a defect of the table.
    pub fn broken_promises(&self) -> impl Iterator<Item = &Measured> {
        self.measured.iter().filter(|measured| measured.broke_its_promise())
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::design::UpdateMethod;
    use crate::measure::plan::tests::everything;
    use crate::measure::{Operation, Selection};

    fn settings(cores: usize) -> Settings {
        let mut all = machine::cores().unwrap();
        // If the machine has fewer cores than lanes, lanes share a core. This is slower, but the
        // results are equally valid.
        all.resize(all.len().max(cores), all[0]);
        Settings {
            time: Duration::from_millis(1),
            warm_up: Duration::ZERO,
            repetitions: 2,
            batch: 32,
            fill: 1.0,
            seed: 1,
            cores: all,
            announce: false,
        }
    }

    /// Returns a description of this machine, without the latencies, which take long to measure.
    fn machine() -> Machine {
        let clock = Clock { cost: 20, step: 1 };
        let counters = counters_available();
        Machine { caches: Vec::new(), latencies: Vec::new(), clock, counters, pinned: Ok(()) }
    }

    /// Returns every design and operation, at one size on one core.
    fn everything_alone() -> Selection {
        Selection { sizes: vec![64], key_bits: vec![32], cores: vec![1], ..everything() }
    }

    /// Measures every design on one core and on two. No design may lose an update that it promises
    /// to keep.
    #[test]
    fn every_design_is_measured_and_keeps_its_promise() {
        let one = everything_alone();
        let two = Selection {
            cores: vec![2],
            updates: vec![UpdateMethod::Pointer],
            key_bits: vec![9, 128],
            parameter_bytes: vec![1, 32],
            ..one.clone()
        };
        let plan = Plan::new(&[one, two]).unwrap();
        let mut turns = 0;
        let mut progress =
            |event: Progress<'_>| turns += usize::from(matches!(event, Progress::Turn { .. }));
        let findings = run(&plan, &settings(2), machine(), &AtomicBool::new(false), &mut progress);
        assert_eq!(turns, plan.cases.len() * 2);
        assert_eq!(findings.measured.len(), plan.cases.len());
        assert!(!findings.interrupted && findings.unfinished.is_empty());
        assert_eq!(findings.broken_promises().count(), 0);
        for one in &findings.measured {
            assert_eq!(one.turns.len(), 2);
            assert!(one.turns.iter().all(|turn| turn.operations > 0 && turn.rate_by_wall > 0.0));
            assert!(!one.single.is_empty() && !one.call.is_empty(), "{:?}", one.case);
            let [median, ..] = one.percentiles();
            let of_turns = one.turns.iter().all(|turn| turn.single.p50.is_some());
            assert_eq!(median.map(|found| found.n), Some(if of_turns { 2 } else { 1 }));
            let counts =
                one.case.operation == Operation::Update && one.case.layout.parameter_bytes() >= 4;
            assert_eq!(one.lost.is_some(), counts, "{:?}", one.case);
        }
        // The promise relies on this: on one core, each update in place arrives.
        let in_place = findings.measured.iter().filter(|one| one.case.keeps_every_update());
        assert!(in_place.filter(|one| one.lost == Some(0)).count() >= 8);
    }

    #[test]
    fn the_last_latency_is_that_of_memory_beyond_every_cache() {
        let cache = |level, bytes| Cache { level, bytes, claimed: None };
        let caches = [cache(1, 32 << 10), cache(3, 64 << 20)];
        let named = |name: &str, bytes: usize| (name.to_owned(), bytes);
        let expected = [named("L1", 16 << 10), named("L3", 16 << 20), named("memory", 512 << 20)];
        assert_eq!(levels(&caches), expected);
        // A quarter of the last cache would lie mostly in the cache before it.
        let caches = [cache(2, 2 << 20), cache(3, 8 << 20)];
        let expected = [named("L2", 1 << 20), named("L3", 4 << 20), named("memory", 256 << 20)];
        assert_eq!(levels(&caches), expected);
    }

    #[test]
    fn an_interrupt_keeps_completed_measurements() {
        let plan = Plan::new(&[everything_alone()]).unwrap();
        let interrupt = AtomicBool::new(false);
        let mut progress = |event: Progress<'_>| {
            if matches!(event, Progress::Turn { done: 3, .. }) {
                interrupt.store(true, Ordering::Relaxed);
            }
        };
        let findings = run(&plan, &settings(1), machine(), &interrupt, &mut progress);
        assert!(findings.interrupted);
        assert_eq!(findings.measured.len(), 3);
        assert_eq!(findings.unfinished.len(), plan.cases.len() - 3);
    }
}
