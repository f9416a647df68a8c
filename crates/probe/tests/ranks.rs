//! Tests of several ranks against one controller: together they must measure what one process
//! measures.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use controllers::application::Application;
use controllers::openflow::{Controller, Options};
use controllers::p4runtime::{self, Target};
use probe::config::{Config, Origin, Resolved, Settings};
use probe::outcome::{Completion, Counts, RunResult, Saturated, Trial};
use probe::{Live, RunContext, Watcher};
use ranks::{Event, Group, Link, MemoryLink, Rank, in_memory};

struct NoWatcher;

impl Watcher for NoWatcher {
    fn trial_begins(&mut self, _: u32, _: Option<u32>, _: &str) {}
    fn trial_ended(&mut self, _: &Trial, _: &RunResult) {}
}

/// Returns a configuration of ten switches in a chain, which four ranks share as 2, 3, 2 and 3.
fn configuration(address: SocketAddr, settings: &[(&str, &str)]) -> Resolved {
    let mut all = Settings::new();
    for (key, value) in [
        ("controller.address", address.to_string().as_str()),
        ("switches.count", "10"),
        ("traffic.rate", "40"),
        ("traffic.arrivals", "poisson"),
        ("threads", "1"),
        ("seed", "11"),
        ("switches.topology", "linear"),
        ("timing.settle", "300ms"),
        ("timing.warm-up", "200ms"),
        ("timing.measure", "1s"),
        ("timing.drain", "2s"),
        ("timing.connect-timeout", "20s"),
        ("isolate", "false"),
    ]
    .iter()
    .chain(settings)
    {
        all.set(key, value, Origin::Flag);
    }
    all.resolve().unwrap_or_else(|error| panic!("{error}"))
}

fn context(resolved: &Resolved) -> RunContext {
    RunContext {
        command: Vec::new(),
        configuration: resolved.values(),
        notes: Vec::new(),
        ports: None,
        live: Arc::new(Live::default()),
        interrupt: Arc::default(),
    }
}

/// Calls `work` while a controller runs that answers each packet-in with a packet-out.
fn beside_controller<T>(work: impl FnOnce(SocketAddr) -> T) -> T {
    let options = Options { application: Application::NullResponder, ..Options::default() };
    let controller = Controller::bind(([127, 0, 0, 1], 0).into(), options).expect("a port");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| controller.run(&stop).expect("it ran"));
        let _end = End(&stop);
        work(controller.local_addr())
    })
}

/// A guard that sets a flag when it is dropped, even if a test fails, so that threads that wait for
/// the flag end.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn follow(config: &Config, mut group: Group) {
    let (live, interrupt) = (Arc::new(Live::default()), AtomicBool::new(false));
    probe::follow(config, &live, &interrupt, &mut group).expect("the run came to its end");
}

/// Runs with `size` ranks, each in a thread of its own.
fn together(resolved: &Resolved, size: u32) -> RunResult {
    let mut links = in_memory(size).into_iter();
    let mut first = Group::from(links.next().expect("a first rank"));
    std::thread::scope(|scope| {
        for link in links {
            let config = &resolved.config;
            scope.spawn(move || follow(config, Group::from(link)));
        }
        probe::lead(&resolved.config, context(resolved), &mut NoWatcher, &mut first)
    })
    .unwrap_or_else(|error| panic!("{error}"))
}

fn run_with(size: u32, settings: &[(&str, &str)]) -> RunResult {
    beside_controller(|address| together(&configuration(address, settings), size))
}

fn trials(result: &RunResult) -> Vec<&Trial> {
    result.points.iter().flat_map(|point| &point.trials).collect()
}

/// Returns the counts that the schedule determines if everything is answered.
fn decided(counts: &Counts) -> [u64; 4] {
    [counts.due, counts.sent, counts.answered, counts.lost]
}

fn assert_same_decisions(alone: &Trial, shared: &Trial) {
    assert!(alone.counts.due > 300, "{:?}", alone.counts);
    assert_eq!(decided(&alone.counts), decided(&shared.counts));
    assert_eq!(alone.per_switch.len(), shared.per_switch.len());
    for (one, other) in alone.per_switch.iter().zip(&shared.per_switch) {
        assert_eq!((one.index, decided(&one.counts)), (other.index, decided(&other.counts)));
    }
}

#[test]
fn four_ranks_count_what_one_process_counts() {
    let alone = beside_controller(|address| {
        let resolved = configuration(address, &[("plan.repetitions", "2")]);
        probe::run(&resolved.config, context(&resolved), &mut NoWatcher).expect("a result")
    });
    let shared = run_with(4, &[("plan.repetitions", "2")]);
    assert_eq!(shared.completion, Completion::Complete, "{:?}", shared.notes);
    let (alone, shared) = (trials(&alone), trials(&shared));
    assert_eq!((alone.len(), shared.len()), (2, 2));
    for (alone, shared) in alone.into_iter().zip(shared) {
        assert_same_decisions(alone, shared);
        assert_eq!(shared.rtt_from_due.samples, shared.counts.answered);
        assert_eq!(shared.per_switch.len(), 10);
        assert_eq!((shared.handshake.ready, shared.handshake.ready_at_end), (10, Some(10)));
        let portions: Vec<_> =
            shared.ranks.iter().map(|rank| (rank.first_switch, rank.switches)).collect();
        assert_eq!(portions, [(0, 2), (2, 3), (5, 2), (7, 3)]);
        let sum: u64 = shared.ranks.iter().map(|rank| rank.counts.due).sum();
        assert_eq!(sum, shared.counts.due);
        for rank in &shared.ranks {
            assert_eq!(rank.completion, Completion::Complete);
            assert_eq!(rank.clock_before.is_some(), rank.rank > 0);
            assert_eq!(rank.clock_after.is_some(), rank.rank > 0);
            assert!(rank.verdict.is_some());
        }
    }
}

#[test]
fn a_rank_that_dies_ends_the_run_with_what_is_there() {
    beside_controller(|address| {
        let resolved = configuration(address, &[("plan.repetitions", "5")]);
        let mut links = in_memory(3).into_iter();
        let mut first = Group::from(links.next().expect("a first rank"));
        let (good, bad) = (links.next().expect("a second"), links.next().expect("a third"));
        let interrupt = Arc::new(AtomicBool::new(false));
        let config = &resolved.config;
        let result = std::thread::scope(|scope| {
            scope.spawn(move || follow(config, Group::from(good)));
            // The rank is interrupted once its traffic has begun.
            let dies = interrupt.clone();
            scope.spawn(move || {
                let live = Arc::new(Live::default());
                let (seen, signal) = (live.clone(), dies.clone());
                std::thread::spawn(move || {
                    while seen.phase() != probe::Phase::Measuring {
                        std::thread::sleep(Duration::from_millis(2));
                    }
                    signal.store(true, Ordering::Relaxed);
                });
                let _ = probe::follow(config, &live, &dies, &mut Group::from(bad));
            });
            probe::lead(config, context(&resolved), &mut NoWatcher, &mut first)
        })
        .expect("a result");
        // The interrupted rank handed over its record, and was lost then.
        let trials = trials(&result);
        assert!(trials.len() < 5, "{} trials", trials.len());
        let Completion::Partial { reason } = &result.completion else {
            panic!("{:?}", result.completion)
        };
        assert!(reason.contains("rank 2"), "{reason}");
        assert!(trials[0].ranks[1].completion == Completion::Complete);
        assert!(trials[0].ranks[1].counts.answered > 0);
    });
}

/// The link of a rank that is killed or stopped at a moment that the test chooses.
#[derive(Debug)]
struct Fated {
    link: Option<MemoryLink>,
    size: u32,
    rank: Rank,
    fate: Fate,
    /// Whether the moment has come, and whether the run is over for all other ranks.
    has_come: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
    is_told: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The process is gone, which the other ranks learn immediately.
    Killed,
    /// The process sends and receives nothing any more.
    Stopped,
}

impl Link for Fated {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn send(&mut self, to: Rank, message: &[u8]) {
        if !self.has_come.load(Ordering::Relaxed)
            && let Some(link) = &mut self.link
        {
            link.send(to, message);
        }
    }

    fn receive(&mut self, patience: Duration) -> Option<Event> {
        if !self.has_come.load(Ordering::Relaxed) {
            return self.link.as_mut()?.receive(patience);
        }
        if self.fate == Fate::Killed {
            self.link = None;
        }
        std::thread::sleep(patience);
        // This ends the thread in place of a process that would no longer exist.
        let ends = self.fate == Fate::Killed || self.is_over.load(Ordering::Relaxed);
        let is_news = ends && !std::mem::replace(&mut self.is_told, ends);
        is_news.then(|| Event::Lost { rank: Rank::FIRST, cause: "the test is over".to_owned() })
    }
}

/// Runs with three ranks, the last of which is killed or stopped while packet-ins are measured.
fn with_a_fate(fate: Fate) -> RunResult {
    beside_controller(|address| {
        let resolved = configuration(address, &[("timing.drain", "200ms")]);
        let mut links = in_memory(3).into_iter();
        let mut first = Group::from(links.next().expect("a first rank"));
        let (good, link) = (links.next().expect("a second"), links.next());
        let (has_come, is_over) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let (config, size, rank) = (&resolved.config, 3, Rank(2));
        let fated = Fated {
            link,
            size,
            rank,
            fate,
            has_come: has_come.clone(),
            is_over: is_over.clone(),
            is_told: false,
        };
        std::thread::scope(|scope| {
            scope.spawn(move || follow(config, Group::from(good)));
            let (live, interrupt) = (Arc::new(Live::default()), Arc::<AtomicBool>::default());
            let seen = live.clone();
            std::thread::spawn(move || {
                while seen.phase() != probe::Phase::Measuring {
                    std::thread::sleep(Duration::from_millis(2));
                }
                has_come.store(true, Ordering::Relaxed);
            });
            scope.spawn(move || {
                let mut group = Group::new(Box::new(fated));
                let _ = probe::follow(config, &live, &interrupt, &mut group);
            });
            let result = probe::lead(config, context(&resolved), &mut NoWatcher, &mut first);
            is_over.store(true, Ordering::Relaxed);
            result.expect("a result")
        })
    })
}

/// Asserts that packet-ins due at the switches of a lost rank stay due, so that shares refer to
/// everything that was requested, and that the verdict mentions them.
#[track_caller]
fn assert_due_stays_due(result: &RunResult, cause: &str) {
    let Completion::Partial { reason } = &result.completion else {
        panic!("{:?}", result.completion)
    };
    assert!(reason.contains("rank 2, with 4 switches from number 6, was lost"), "{reason}");
    assert!(reason.contains(cause), "{reason}");
    assert!(result.lost_a_rank());
    let trial = trials(result)[0];
    let counts = trial.counts;
    assert_eq!((trial.per_switch.len(), trial.ranks.len()), (10, 3));
    let lost = &trial.ranks[2].counts;
    // The rank has four of ten switches, at 40/s for a second each.
    assert!((100..230).contains(&lost.due), "{lost:?}");
    assert_eq!((lost.unsent, lost.answered), (lost.due, 0));
    assert_eq!(counts.due, trial.ranks.iter().map(|rank| rank.counts.due).sum::<u64>());
    assert_eq!(counts.due, counts.answered + counts.lost + counts.unsent, "{counts:?}");
    assert!(counts.unsent >= lost.due, "{counts:?}");
    assert!(counts.unanswered_share().is_some_and(|share| share > 0.25), "{counts:?}");
    assert_eq!(trial.verdict.saturated, Saturated::Probe, "{:?}", trial.verdict);
    let is_noted =
        trial.notes.iter().any(|note| note.contains("What rank 2 measured is lost with it"));
    assert!(is_noted, "{:?}", trial.notes);
}

#[test]
fn packet_ins_of_a_rank_that_is_killed_stay_due() {
    assert_due_stays_due(&with_a_fate(Fate::Killed), "it ended");
}

#[test]
fn a_rank_that_is_stopped_fails_the_run() {
    assert_due_stays_due(&with_a_fate(Fate::Stopped), "its process is stopped, or its host hangs");
}

#[test]
fn what_ranks_cannot_share_is_said() {
    let address = ([127, 0, 0, 1], 9).into();
    let resolved = configuration(address, &[("plan.kind", "rfc8456:5.1.1")]);
    let mut group = Group::from(in_memory(1).remove(0));
    let error = probe::lead(&resolved.config, context(&resolved), &mut NoWatcher, &mut group);
    let error = error.expect_err("no");
    assert!(error.is_input() && error.to_string().contains("the tests of RFC 8456"), "{error}");
}

/// P4Runtime switches wait to be dialled, each rank's at its own ports; here, two devices share
/// each port.
#[test]
fn four_ranks_count_what_one_process_counts_over_p4runtime() {
    let alone = beside_p4runtime_controller(|settings| {
        let resolved = configuration(([127, 0, 0, 1], 9).into(), settings);
        probe::run(&resolved.config, context(&resolved), &mut NoWatcher).expect("a result")
    });
    let shared = beside_p4runtime_controller(|settings| {
        let resolved = configuration(([127, 0, 0, 1], 9).into(), settings);
        together(&resolved, 4)
    });
    assert_eq!(shared.completion, Completion::Complete, "{:?}", shared.notes);
    let (alone, shared) = (trials(&alone), trials(&shared));
    assert_eq!((alone.len(), shared.len()), (2, 2));
    for (alone, shared) in alone.into_iter().zip(shared) {
        assert_same_decisions(alone, shared);
        assert_eq!((shared.handshake.ready, shared.handshake.ready_at_end), (10, Some(10)));
        let portions: Vec<_> =
            shared.ranks.iter().map(|rank| (rank.first_switch, rank.switches)).collect();
        assert_eq!(portions, [(0, 2), (2, 2), (4, 2), (6, 4)]);
    }
}

/// Calls `work` while a controller dials the switches of the settings that `work` receives.
fn beside_p4runtime_controller<T>(work: impl FnOnce(&[(&str, &str)]) -> T) -> T {
    let first = free_ports(5);
    let targets = (0..10).map(|switch| {
        let text = format!("{}@127.0.0.1:{}", switch + 1, first + switch / 2);
        text.parse::<Target>().expect("a target")
    });
    let options = p4runtime::Options {
        application: Application::NullResponder,
        retry: Duration::from_millis(100),
        ..p4runtime::Options::default()
    };
    let controller = p4runtime::Controller::new(targets.collect(), options).expect("a pipeline");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| controller.run(&stop).expect("it ran"));
        let _end = End(&stop);
        work(&[
            ("protocol", "p4runtime"),
            ("p4runtime.first-port", &first.to_string()),
            ("p4runtime.devices-per-port", "2"),
            ("plan.repetitions", "2"),
        ])
    })
}

/// Returns the first of `count` consecutive ports that are free, below the ephemeral range.
fn free_ports(count: u16) -> u16 {
    let from = 2_000 + (std::process::id() % 20_000) as u16;
    let is_free = |port| std::net::TcpListener::bind(("127.0.0.1", port)).is_ok();
    static TAKEN: std::sync::Mutex<u16> = std::sync::Mutex::new(0);
    let mut taken = TAKEN.lock().expect("no panic");
    let first = (from.max(*taken)..32_000)
        .step_by(usize::from(count))
        .find(|first| (*first..*first + count).all(is_free))
        .expect("free ports");
    *taken = first + count;
    first
}
