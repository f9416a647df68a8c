//! Tests how often the result of a search is correct: the bracket must contain the true highest
//! loss-free rate as often as the stated confidence promises. The searches run in virtual time
//! against simulated controllers of many kinds, whose capacities are drawn at random from fixed
//! seeds.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use measuring::search::{LossFreeSearch, Range};

use super::{observations, outcome};
use crate::account::{
    Evidence, HostWork, InSockets, Observed, ProbeWork, Times, Undisturbed, verdict,
};
use crate::config::Mode;
use crate::engine::intervals::Intervals;
use crate::ledger::{Hindered, Window};
use crate::outcome::{Counts, Latency, Trial};

/// The durations of the phases of a simulated trial, in seconds.
const WARM_UP: f64 = 0.5;
const MEASURE: f64 = 4.0;
const DRAIN: f64 = 1.5;
const SEARCHES: u64 = 100;
/// The percentage of the brackets that must contain the true rate. It is the confidence that a
/// search states.
const HELD: usize = 95;

/// A kind of simulated controller, which has one queue and one server. It also describes how the
/// probe disturbs the trials.
#[derive(Clone, Copy, Debug)]
struct Kind {
    name: &'static str,
    /// Whether packet-ins arrive at random times.
    random_arrivals: bool,
    /// Whether service times are exponentially distributed.
    random_service: bool,
    /// The standard deviation of the service rate from trial to trial, as a share of the rate.
    varies: f64,
    /// The pauses of the controller: the length of each, and the period after which they repeat.
    rests: Option<(f64, f64)>,
    /// The capacity of the queue. If it is full, arriving packet-ins are dropped.
    queue: Option<usize>,
    /// The number of packet-ins that the controller collects and then serves together.
    batch: usize,
    /// The exponent that determines how fast the service rate declines under overload.
    collapses: f64,
    /// The load, as a share of the service rate, above which the controller drops one packet-in in
    /// fifty.
    drops_from: Option<f64>,
    /// The share of trials in which the probe does not run for 0.3 s, as if the operating system
    /// had suspended it.
    away: f64,
}

/// A controller that serves at a constant rate without any disturbance. The other kinds differ from
/// it in single fields.
const PLAIN: Kind = Kind {
    name: "deterministic",
    random_arrivals: false,
    random_service: false,
    varies: 0.0,
    rests: None,
    queue: None,
    batch: 1,
    collapses: 0.0,
    drops_from: None,
    away: 0.0,
};

const KINDS: [Kind; 11] = [
    PLAIN,
    Kind { name: "random arrivals", random_arrivals: true, ..PLAIN },
    Kind { name: "random service", random_service: true, ..PLAIN },
    Kind { name: "both random", random_arrivals: true, random_service: true, ..PLAIN },
    Kind { name: "varies by 5 %", varies: 0.05, ..PLAIN },
    Kind { name: "silent every other half second", rests: Some((0.5, 1.0)), ..PLAIN },
    Kind { name: "rests for 0.1 s each 0.7 s", rests: Some((0.1, 0.7)), ..PLAIN },
    Kind { name: "queue that drops, probe away", queue: Some(50), away: 0.3, ..PLAIN },
    Kind { name: "batches of 16", batch: 16, random_service: true, ..PLAIN },
    Kind { name: "collapses", collapses: 2.0, ..PLAIN },
    Kind { name: "drops from 80 % on", drops_from: Some(0.8), ..PLAIN },
];

impl Kind {
    /// Returns the true highest loss-free rate of a controller of this kind whose service rate is
    /// `cap`.
    fn truth(self, cap: f64) -> f64 {
        let working = self.rests.map_or(1.0, |(rest, period)| 1.0 - rest / period);
        cap * working * self.drops_from.unwrap_or(1.0)
    }

    fn gap(is_random: bool, rate: f64, random: &mut StdRng) -> f64 {
        match is_random {
            true => -(1.0 - random.random::<f64>()).ln() / rate,
            false => 1.0 / rate,
        }
    }

    /// Simulates a trial of a controller whose service rate is `cap`, at the offered rate `rate`.
    fn trial(self, cap: f64, rate: f64, random: &mut StdRng) -> Trial {
        let mut cap =
            cap * (1.0 - (rate / cap - 1.0).max(0.0)).clamp(0.2, 1.0).powf(self.collapses);
        if self.varies > 0.0 {
            let angle = std::f64::consts::TAU * random.random::<f64>();
            let normal = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt() * angle.cos();
            cap *= 1.0 + self.varies * normal;
        }
        let phase = self.rests.map_or(0.0, |(_, period)| period * random.random::<f64>());
        let away = (random.random::<f64>() < self.away)
            .then(|| WARM_UP + (MEASURE - 0.5) * random.random::<f64>());
        let drops = self.drops_from.is_some_and(|from| rate > from * cap);
        let mut run = Run::new(self, phase);
        let mut due = 0.0;
        loop {
            due += Self::gap(self.random_arrivals, rate, random);
            if due >= WARM_UP + MEASURE {
                break;
            }
            let left = match away {
                Some(from) if (from..from + 0.3).contains(&due) => from + 0.3,
                _ => due,
            };
            let time = Self::gap(self.random_service, cap, random);
            let dropped = drops && random.random::<f64>() < 0.02;
            run.packet_in(due, left, time, dropped);
        }
        run.concludes()
    }
}

/// The state of a simulated trial. Times are in seconds.
struct Run {
    kind: Kind,
    phase: f64,
    observed: Observed,
    counts: Counts,
    in_window: (u64, u64),
    /// The time at which the server will have finished its present work (`free_at`), and the times
    /// at which packet-ins will leave the controller.
    free_at: f64,
    departures: std::collections::VecDeque<f64>,
    /// The packet-ins that wait for the batch to be full. Each has its due time, the time at which
    /// it left the probe, and its service time.
    batch: Vec<(f64, f64, f64)>,
    /// The number of packet-ins that were dropped since the last answer.
    dropped: i64,
    last_answer: Option<f64>,
    /// The time at which the packet-ins of the current burst leave the probe, and the number of
    /// late ones among them.
    burst: (f64, u64),
}

fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

fn window() -> Window {
    Window { from: nanos(WARM_UP), to: nanos(WARM_UP + MEASURE) }
}

impl Run {
    fn new(kind: Kind, phase: f64) -> Self {
        Self {
            kind,
            phase,
            observed: Observed {
                intervals: Intervals::new(window()),
                read_after: Default::default(),
                hindered: Hindered::default(),
                absent: 0,
                due_while_away_at_end: 0,
                longest_gap: 0,
                ever_answered: 0,
                blocked: 0.0,
            },
            counts: Counts::default(),
            in_window: (0, 0),
            free_at: 0.0,
            departures: Default::default(),
            batch: Vec::new(),
            dropped: 0,
            last_answer: None,
            burst: (0.0, 0),
        }
    }

    fn packet_in(&mut self, due: f64, left: f64, time: f64, dropped: bool) {
        self.observed.intervals.at(nanos(due)).due += 1;
        let counts = window().contains(nanos(due));
        self.counts.due += u64::from(counts);
        self.counts.sent += u64::from(counts);
        let is_late = left - due > 1e-3;
        self.burst = match is_late && self.burst.0 == left {
            true => (left, self.burst.1 + 1),
            false => (left, u64::from(is_late)),
        };
        let interval = self.observed.intervals.at(nanos(left));
        interval.left += 1;
        if is_late {
            // The first packet-in of a burst counts as late when the second one leaves.
            interval.late += match self.burst.1 {
                1 => 0,
                2 => 2,
                _ => 1,
            };
            // The whole burst was held when its first packet-in left.
            interval.held += 1;
        }
        self.in_window.0 += u64::from(window().contains(nanos(left)));
        while self.departures.front().is_some_and(|departure| *departure <= left) {
            self.departures.pop_front();
        }
        let is_full = self.kind.queue.is_some_and(|most| self.departures.len() >= most);
        if dropped || is_full {
            self.dropped += 1;
            self.counts.lost += u64::from(counts);
            return;
        }
        self.batch.push((due, left, time));
        if self.batch.len() >= self.kind.batch {
            let total: f64 = self.batch.iter().map(|(_, _, time)| time).sum();
            let begin = self.free_at.max(left);
            self.free_at = self.works(begin, total);
            for (due, left, _) in std::mem::take(&mut self.batch) {
                self.answers(due, left, self.free_at);
            }
        }
    }

    /// Returns the time at which the controller has done `work` seconds of work that it begins at
    /// `begin`. It does not work during its pauses.
    fn works(&self, begin: f64, mut work: f64) -> f64 {
        let Some((rest, period)) = self.kind.rests else { return begin + work };
        let mut at = begin;
        loop {
            let into = (at + self.phase).rem_euclid(period);
            if into < rest {
                at += (rest - into).max(1e-9);
                continue;
            }
            let rest_of_spell = period - into;
            if work <= rest_of_spell {
                return at + work;
            }
            work -= rest_of_spell;
            at += rest_of_spell + 1e-9;
        }
    }

    fn answers(&mut self, due: f64, left: f64, at: f64) {
        self.departures.push_back(at);
        let counts = window().contains(nanos(due));
        if at > WARM_UP + MEASURE + DRAIN {
            self.counts.lost += u64::from(counts);
            return;
        }
        if let Some(last) = self.last_answer {
            self.observed.longest_gap = self.observed.longest_gap.max(nanos(at - last));
        }
        self.last_answer = Some(at);
        self.observed.ever_answered += 1;
        let passed = std::mem::take(&mut self.dropped);
        let interval = self.observed.intervals.at(nanos(at));
        interval.answers += 1;
        interval.passed_over += passed;
        interval.timed += 1;
        interval.rtt += nanos(at - left);
        let inside = window().contains(nanos(at));
        self.in_window.1 += u64::from(inside);
        if counts {
            self.counts.answered += 1;
            self.counts.answered_after += u64::from(!inside);
        }
    }

    fn concludes(mut self) -> Trial {
        // Packet-ins that still wait for a batch are answered in time.
        for (due, left, _) in std::mem::take(&mut self.batch) {
            self.answers(due, left, self.free_at.max(WARM_UP + MEASURE));
        }
        let (none, sockets) = (Latency::default(), InSockets::default());
        let evidence = Evidence {
            mode: Mode::Open,
            window: window(),
            counts: &self.counts,
            observed: &self.observed,
            sockets: Some(&sockets),
            host: HostWork::default(),
            network_rtt: Some(0),
            send_lag: &none,
            rtt_from_sent: &none,
            times: Times { all: &none, undisturbed: &none },
            answers_in_window: self.in_window.1,
            probe: ProbeWork { cpu_percent: 20.0, threads: 1 },
            controller: None,
            silence: None,
            switches: &[],
        };
        let mut trial = crate::metrics::tests::trial();
        trial.verdict = verdict(&evidence);
        trial.counts = self.counts;
        trial.measured_s = MEASURE;
        trial.rates.offered = self.counts.due as f64 / MEASURE;
        trial.rates.received = self.in_window.1 as f64 / MEASURE;
        trial.in_window.answers = self.in_window.1;
        trial.in_window.longest_gap_s = self.observed.longest_gap as f64 / 1e9;
        let undisturbed = Undisturbed::of(&self.observed, window());
        trial.in_window.undisturbed_rtt_mean_ns = undisturbed.rtt_mean;
        trial
    }
}

/// The results of many searches against one kind of controller.
#[derive(Default)]
struct Searches {
    /// Descriptions of the brackets that miss the true rate.
    wrong: Vec<String>,
    /// The number of rates that the searches tried, over all searches.
    points: usize,
    /// The number of brackets that were found by measurement instead of votes.
    measured: usize,
}

fn searches(kind: Kind) -> Searches {
    let mut all = Searches::default();
    for seed in 0..SEARCHES {
        let mut random = StdRng::seed_from_u64(seed);
        let cap = 40.0 * 4f64.powf(random.random::<f64>());
        let range = Range {
            low: 10.0,
            high: 640.0,
            precision: 0.05,
            is_rough: false,
            loss: 0.0,
            sources: 1,
        };
        let mut search = LossFreeSearch::new(range);
        while let Some(rate) = search.next_rate_for_bracket() {
            let trial = kind.trial(cap, rate, &mut random);
            search.observe(rate, &observations(&[trial]));
            all.points += 1;
        }
        let (found, truth) = (outcome(&search), kind.truth(cap));
        all.measured += usize::from(found.loss_free_method.contains("Student's interval"));
        let holds = found.confidence.is_some()
            && found.loss_free_rate.is_some_and(|free| free <= truth)
            && found.lossy_rate.is_some_and(|lossy| truth <= lossy * (1.0 + 1e-9));
        if !holds {
            all.wrong.push(format!("seed {seed}: {truth:.1} in {found:?}"));
        }
    }
    all
}

#[test]
fn brackets_hold_the_true_rate_as_often_as_they_say() {
    let mut report = Vec::new();
    let mut is_short = false;
    for kind in KINDS {
        let Searches { wrong, points, measured } = searches(kind);
        let held = SEARCHES as usize - wrong.len();
        is_short |= held < HELD;
        let some: Vec<_> = wrong.iter().take(3).collect();
        let each = points as f64 / SEARCHES as f64;
        let line = format!(
            "{}: {held} of {SEARCHES} ({measured} measured), {each:.1} points; {some:#?}",
            kind.name
        );
        println!("{line}");
        report.push(line);
    }
    assert!(!is_short, "{}", report.join("\n"));
}
