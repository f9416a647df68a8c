//! A simulated switch in virtual time, which has the faults that a test sets, and the probes that
//! pass through it.

use dut::effects::{Class, Fate, Gap, Moment, Observation, Probe, Silence, Span};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};

/// The time between two probes, which go to the rules in turn.
const SPACING: u64 = 5_000;
/// The time for which probes are sent before the request, and after the last effect and answer.
const BESIDE: u64 = 300_000;
/// The number of rules that a request changes.
pub(crate) const RULES: usize = 4;

/// The faults of a simulated switch, all times in nanoseconds. Without a fault, all rules of a
/// request change at one moment, and the answer comes later.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    /// The mean time from the arrival of the answer until packets obey; `None` if packets obey
    /// first.
    pub(crate) early: Option<u64>,
    /// The mean time from the moment at which packets obey until the answer arrives.
    pub(crate) late: Option<u64>,
    /// The time from the change of one rule of a request to that of the next.
    pub(crate) torn: u64,
    /// Whether the rules of a torn request change in reverse order.
    pub(crate) reversed: bool,
    /// The number of probes that are lost when the rules of a request change.
    pub(crate) lost: usize,
    /// The number of probes that leave by another port when the rules of a request change.
    pub(crate) elsewhere: usize,
    /// The time for which each rule is back in its old state, a while after it changed.
    pub(crate) flap: Option<u64>,
    /// The share of probes that the path loses at any time, which is no fault of the switch.
    pub(crate) path_loss: f64,
}

/// The true moments of a request at a simulated switch, which probes show only within bounds.
#[derive(Clone, Debug)]
pub(crate) struct Truth {
    /// The moments at which the rules changed, in the order of the updates.
    pub(crate) changes: Vec<Moment>,
    /// The moment at which the answer arrived.
    pub(crate) answer: Moment,
    /// The moment of the request.
    pub(crate) request: Moment,
}

/// A simulated switch, with its own random numbers.
pub(crate) struct MadeSwitch {
    faults: Faults,
    random: ChaCha8Rng,
}

impl MadeSwitch {
    pub(crate) fn new(faults: Faults, seed: u64) -> Self {
        Self { faults, random: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// Sends one request with probes beside it.
    pub(crate) fn request(&mut self, silence: Silence) -> (Observation, Truth) {
        let truth = self.truth();
        let last = truth.changes.iter().max().expect("rules").0.max(truth.answer.0);
        let end = last + self.faults.flap.map_or(0, |length| 2 * length) + BESIDE;
        let mut rules = vec![Vec::new(); RULES];
        // The probes that meet a fault come after the change of their rule.
        let mut lost = self.faults.lost;
        let mut elsewhere = self.faults.elsewhere;
        let mut sent = self.random.random_range(0..SPACING);
        let mut rule = 0;
        while sent < end {
            let lookup = sent + self.delay();
            let arrived = lookup + self.delay();
            let change = truth.changes[rule].0;
            let is_new = self.is_new(change, lookup);
            let is_silent = silence == if is_new { Silence::New } else { Silence::Old };
            let mut class = Some(if is_new { Class::New } else { Class::Old });
            if is_silent || self.random.random::<f64>() < self.faults.path_loss {
                class = None;
            } else if lookup >= change && lost > 0 {
                (lost, class) = (lost - 1, None);
            } else if lookup >= change && elsewhere > 0 {
                (elsewhere, class) = (elsewhere - 1, Some(Class::Elsewhere));
            }
            let fate = class.map_or(Fate::Lost, |class| Fate::Arrived {
                at: self.seen(Moment(arrived)),
                class,
            });
            rules[rule].push(Probe { sent: self.seen(Moment(sent)), fate });
            sent += SPACING;
            rule = (rule + 1) % RULES;
        }
        let request = self.seen(truth.request);
        let answer = self.seen(truth.answer);
        (Observation { request, answer, rules, silence }, truth)
    }

    /// Decides when the rules change and when the switch answers.
    fn truth(&mut self) -> Truth {
        let request = Moment(BESIDE + self.random.random_range(0..SPACING * RULES as u64));
        let first = request.0 + self.random.random_range(100_000..300_000);
        let step = |rule: usize| {
            let position = if self.faults.reversed { RULES - 1 - rule } else { rule };
            position as u64 * self.faults.torn
        };
        let changes: Vec<Moment> = (0..RULES).map(|rule| Moment(first + step(rule))).collect();
        let [first, last] = [changes.iter().min(), changes.iter().max()];
        let [first, last] = [first, last].map(|moment| moment.expect("rules").0);
        // The mean of the drawn times is the time of the fault.
        let mut about = |time: u64| self.random.random_range(time * 9 / 10..=time * 11 / 10);
        let answer = match (self.faults.early, self.faults.late) {
            (Some(early), _) => first - about(early).min(first - request.0 - 1),
            (None, Some(late)) => last + about(late),
            (None, None) => last + about(30_000),
        };
        Truth { changes, answer: Moment(answer), request }
    }

    /// Returns whether a rule that changed at the moment `change` is in its new state when it is
    /// looked up.
    fn is_new(&self, change: u64, lookup: u64) -> bool {
        let is_back = self
            .faults
            .flap
            .is_some_and(|length| (change + length..change + 2 * length).contains(&lookup));
        lookup >= change && !is_back
    }

    /// Returns the time on a path in one direction. Some probes overtake others.
    fn delay(&mut self) -> u64 {
        let is_late = self.random.random::<f64>() < 0.1;
        self.random.random_range(3_000..8_000) + if is_late { 20_000 } else { 0 }
    }

    /// Returns the readings of the clock before and after a moment.
    fn seen(&mut self, moment: Moment) -> Span {
        let [before, behind] = [0; 2].map(|_| self.random.random_range(0..1_000));
        Span { earliest: moment.after(Gap(-before)), latest: moment.after(Gap(behind)) }
    }
}
