//! Tests on synthetic hosts and functions, of which the origin of every delay is known.

use super::*;

const PACKET: f64 = 0.17e-6;
const CONTROL: f64 = 0.18e-6;

/// A host that stands still now and then, and a function that it runs.
#[derive(Clone, Copy)]
struct Synthetic {
    /// The number of stalls per second.
    stalls: f64,
    /// The factor by which the number of stalls differs between the quietest and the busiest
    /// repetition.
    burst: f64,
    /// The share of the packets that are in phases in which everything takes 30 % longer.
    slow: f64,
    /// The function's own excess in seconds, for one packet of 1,000.
    own: f64,
    /// Whether that excess makes the next control slow.
    sweeps: bool,
    packet: f64,
}

const QUIET: Synthetic =
    Synthetic { stalls: 0.0, burst: 1.0, slow: 0.0, own: 0.0, sweeps: false, packet: PACKET };

struct Random(SplitMix);

impl Random {
    /// Returns a number from 0 to below 1.
    fn share(&mut self) -> f64 {
        (self.0.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn happens(&mut self, probability: f64) -> bool {
        self.share() < probability
    }
}

impl Synthetic {
    /// Returns the duration of a window of `length` with a stall or without one, and whether its
    /// interrupt was marked.
    fn window(self, length: f64, rate: f64, random: &mut Random) -> (f64, bool) {
        let jitter = length * (1.0 + 0.02 * (random.share() - 0.5));
        match random.happens(rate * length) {
            // A third of the stalls, those of the hypervisor, carry no mark.
            true => (jitter - 10e-6 * random.share().ln() + 1e-6, random.happens(0.67)),
            false => (jitter, false),
        }
    }

    fn repetition(self, packets: usize, random: &mut Random) -> Repetition {
        let rate = self.stalls * self.burst.powf(random.share() - 0.5);
        let mut windows = Vec::with_capacity(packets);
        let mut phase = 1.0;
        let mut disturbed = false;
        for number in 0..packets {
            if number % 50 == 0 {
                phase = if random.happens(self.slow) { 1.3 } else { 1.0 };
            }
            let (packet, packet_interrupted) = self.window(self.packet * phase, rate, random);
            let is_own = self.own > 0.0 && random.happens(1e-3);
            let own = if is_own { self.own } else { 0.0 };
            let (control, control_interrupted) = self.window(CONTROL * phase, rate, random);
            // Caches and predictors are cold after a stall.
            let stalled = packet > 2.0 * self.packet || disturbed;
            let cold = stalled || (is_own && self.sweeps);
            let control = if cold { control * 1.2 } else { control };
            disturbed = control > 2.0 * CONTROL;
            let packet = Some(packet + own);
            windows.push(Exposed { packet, packet_interrupted, control, control_interrupted });
        }
        Repetition { first_control: CONTROL, windows }
    }

    fn exposure(self, repetitions: usize, packets: usize, seed: u64) -> Exposure {
        let mut random = Random(SplitMix(seed));
        let all = (0..repetitions).map(|_| self.repetition(packets, &mut random));
        Exposure::new(all.collect()).expect("packets")
    }
}

fn origin(synthetic: Synthetic) -> TailOrigin {
    synthetic.exposure(20, 10_000, 7).tail(1).origin
}

#[test]
fn stalls_and_slow_phases_are_attributed_to_the_host() {
    let stalls = Synthetic { stalls: 20_000.0, ..QUIET };
    assert_eq!(origin(stalls), TailOrigin::Host);
    assert_eq!(origin(Synthetic { slow: 0.2, ..stalls }), TailOrigin::Host);
    assert_eq!(origin(Synthetic { burst: 10.0, ..stalls }), TailOrigin::Host);
    assert_eq!(origin(Synthetic { packet: 2.6e-6, ..stalls }), TailOrigin::Host);
    // A slow phase alone makes no packet late.
    let slow = Synthetic { slow: 0.2, ..QUIET }.exposure(20, 10_000, 7).tail(1);
    assert_eq!((slow.late_packets, slow.origin), (0, TailOrigin::Undecided));
}

#[test]
fn tails_of_the_function_are_attributed_to_it_even_if_they_evict_the_cache() {
    let own = Synthetic { stalls: 1_000.0, own: 1.6e-6, ..QUIET };
    assert_eq!(origin(own), TailOrigin::Function);
    let sweeps = Synthetic { own: 10e-6, sweeps: true, ..own };
    assert_eq!(origin(sweeps), TailOrigin::Function);
    let exposure = sweeps.exposure(20, 10_000, 7);
    let tail = exposure.tail(1);
    // Censoring would hide what the guard keeps.
    let host = Tail { origin: TailOrigin::Host, ..tail };
    let at = |tail: &Tail| exposure.quantile(0.9995, 1e9, tail).expect("packets").value;
    assert!(at(&tail) > 10e-6 && at(&host) < 1e-6, "{} {}", at(&tail), at(&host));
}

#[test]
fn censoring_leaves_out_what_neighbours_and_marks_show_and_nothing_else() {
    let window = |packet: f64, marked: bool, control: f64| Exposed {
        packet: Some(packet),
        packet_interrupted: marked,
        control,
        control_interrupted: false,
    };
    let repetition = Repetition {
        first_control: 1.06,
        windows: vec![
            window(1.0, false, 1.0),
            window(99.0, false, 1.04),
            window(1.0, true, 1.0),
            window(1.0, false, 1.06),
            window(1.0, false, 1.0),
            window(1.0, false, 1.0),
        ],
    };
    let exposure = Exposure::new(vec![repetition]).expect("packets");
    // The first is behind a slow control; the second is late itself, which is no evidence.
    assert_eq!(exposure.quiet_packets(), [[false, true, false, false, false, true]]);
    assert_eq!(exposure.quiet_controls(), [1.04, 1.06, 1.0]);
}

#[test]
fn quantiles_are_attributed_as_far_as_control_windows_are_quiet() {
    let stalls = Synthetic { stalls: 20_000.0, ..QUIET }.exposure(20, 10_000, 3);
    let tail = stalls.tail(1);
    let at = |share| stalls.quantile(share, 0.05, &tail).expect("packets");
    assert!(at(0.5).is_attributed && at(0.99).is_attributed);
    assert!((at(0.99).value / PACKET - 1.0).abs() < 0.02, "{:?}", at(0.99));
    assert!(!at(0.999_99).is_attributed, "no control lies beyond");
    // Without censoring the 99.9th percentile is that of a stall.
    let uncensored = Tail { origin: TailOrigin::Function, ..tail };
    assert!(!stalls.quantile(0.999, 0.05, &uncensored).expect("packets").is_attributed);
    // Few late packets do not show whether the function or the host is their origin, so quantiles
    // among them are attributed to neither.
    let few = Synthetic { stalls: 2_000.0, own: 1.6e-6, ..QUIET }.exposure(3, 1_000, 5);
    let tail = few.tail(1);
    assert_eq!(tail.origin, TailOrigin::Undecided);
    assert!(few.quantile(0.9, 0.05, &tail).expect("packets").is_attributed);
    assert!(!few.quantile(0.999, 0.05, &tail).expect("packets").is_attributed);
}

#[test]
fn at_most_one_classification_in_a_hundred_is_wrong() {
    let stalls = Synthetic { stalls: 20_000.0, ..QUIET };
    let own = Synthetic { stalls: 1_000.0, own: 1.6e-6, ..QUIET };
    let cases = [
        (stalls, TailOrigin::Function),
        (Synthetic { burst: 10.0, slow: 0.2, ..stalls }, TailOrigin::Function),
        (Synthetic { packet: 0.6e-6, burst: 10.0, ..stalls }, TailOrigin::Function),
        (own, TailOrigin::Host),
        (Synthetic { own: 10e-6, sweeps: true, ..own }, TailOrigin::Host),
    ];
    const DRAWS: u64 = 2000;
    for (case, (synthetic, wrong)) in cases.into_iter().enumerate() {
        let draws = DRAWS / cases.len() as u64;
        let is_wrong = |seed: &u64| synthetic.exposure(6, 500, *seed).tail(*seed).origin == wrong;
        let count = (0..draws).filter(is_wrong).count();
        assert!(count as u64 * 100 <= draws, "case {case}: {count} of {draws}");
    }
}

#[test]
fn the_interval_of_the_ratio_contains_the_true_one() {
    let stalls = Synthetic { stalls: 20_000.0, burst: 3.0, ..QUIET };
    let contains = |seed: &u64| stalls.exposure(8, 500, *seed).tail(*seed).interval.contains(1.0);
    let missed = (0..300).filter(|seed| !contains(seed)).count();
    assert!(missed <= 6, "{missed} of 300");
}

#[test]
fn the_origin_is_undecided_without_late_packets() {
    assert_eq!(Exposure::new(Vec::new()), None);
    let quiet = QUIET.exposure(3, 100, 1).tail(1);
    assert_eq!((quiet.late_packets, quiet.late_controls), (0, 0));
    assert_eq!(quiet.origin, TailOrigin::Undecided);
}
