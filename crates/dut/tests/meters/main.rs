//! Known faults of simulated meters and groups are found, and their sizes recovered, in virtual
//! time.

mod made;

use dut::groups::{Assessment, TOLERANCE};
use dut::meters::{Bucket, Fault, Found, Level, Offered, Treatment, excess};
use made::{Colour, Configured, Faults, LENGTH, Sender, offered, trial};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};

/// The number of runs of each fault of a meter. If 197 of them are right, at least 95 % are, with a
/// confidence of 97.5 % (Clopper and Pearson).
const RUNS: u64 = 200;
const ENOUGH: u64 = 197;
/// The number of runs of 200 in which a fault must be found. A pause of the sender may hide it.
const MOST: u64 = 190;
/// The number of runs of the tests of groups. There are more of them than of meters, because they
/// take less time.
const RUNS_OF_GROUPS: u64 = 1_000;
const ENOUGH_OF_GROUPS: u64 = 964;

/// The committed bucket in bytes: a quarter of the offered rate, and the tokens of 0.1 s.
const BYTES: Configured = Configured { rate: 2_000 * LENGTH, burst: 200 * LENGTH };
/// The committed bucket in packets: a quarter of the offered rate, and the tokens of 0.1 s.
const PACKETS: Configured = Configured { rate: 2_000, burst: 200 };
const FAR: Configured = Configured { rate: 1 << 30, burst: 1 << 30 };

/// Returns the committed bucket that packets show.
fn committed(configured: Configured, faults: Faults, tokens: u64, seed: u64) -> Found {
    let packets = trial(configured, FAR, faults, tokens, Sender::Steady, seed);
    let offered = offered(&packets, |colour| colour == Colour::Green, |_| false);
    Found::new(Level::Committed, configured.bucket(), tokens as f64, &offered)
}

/// Checks that each run has the faults in `expected`, and that the true rate and burst lie in their
/// intervals in nearly all runs.
fn check(configured: Configured, tokens: u64, faults: Faults, expected: &[Fault]) {
    let (mut rates, mut bursts, mut found) = (0, 0, 0);
    let rate = (configured.rate as f64 * faults.rate).round();
    let burst = (configured.burst as f64 * faults.burst).round();
    for seed in 0..RUNS {
        let one = committed(configured, faults, tokens, seed);
        let kinds = one.faults();
        if expected.is_empty() {
            assert_eq!(kinds, [], "seed {seed}: {one:?}");
        }
        found += u64::from(expected.iter().all(|fault| kinds.contains(fault)));
        rates += u64::from(one.observed.rate.is_some_and(|interval| interval.contains(rate)));
        bursts += u64::from(one.observed.burst.is_some_and(|interval| interval.contains(burst)));
    }
    let what = format!("{faults:?}: found {found}, rate {rates}, burst {bursts} of {RUNS}");
    assert!(found >= MOST && rates >= ENOUGH && bursts >= ENOUGH, "{what}");
}

#[test]
fn no_fault_is_found_in_a_meter_that_obeys() {
    check(BYTES, LENGTH, Faults::default(), &[]);
    check(PACKETS, 1, Faults::default(), &[]);
}

#[test]
fn a_rate_that_is_off_by_a_twentieth_is_found_and_recovered() {
    let faults = Faults { rate: 1.05, ..Faults::default() };
    check(BYTES, LENGTH, faults, &[Fault::RateAbove, Fault::Excess]);
    check(PACKETS, 1, faults, &[Fault::RateAbove, Fault::Excess]);
    let faults = Faults { rate: 0.95, ..Faults::default() };
    check(BYTES, LENGTH, faults, &[Fault::RateBelow]);
}

#[test]
fn a_burst_that_is_off_by_a_twentieth_is_found_and_recovered() {
    let faults = Faults { burst: 1.05, ..Faults::default() };
    check(BYTES, LENGTH, faults, &[Fault::BurstAbove, Fault::Excess]);
    let faults = Faults { burst: 0.95, ..Faults::default() };
    check(BYTES, LENGTH, faults, &[Fault::BurstBelow]);
    check(PACKETS, 1, faults, &[Fault::BurstBelow]);
}

/// Both buckets are measured at once, as packets of three different outcomes show them. A red
/// packet shows nothing of the committed bucket.
#[test]
fn the_two_rates_of_one_meter_are_distinguished() {
    let half = Configured { rate: BYTES.rate / 2, burst: BYTES.burst / 2 };
    let faults = Faults { peak: 1.05, ..Faults::default() };
    let (mut rates, mut peaks, mut faulty) = (0, 0, 0);
    for seed in 0..RUNS {
        let packets = trial(half, BYTES, faults, LENGTH, Sender::Steady, seed);
        let green = |colour| colour == Colour::Green;
        let green = offered(&packets, green, |colour| colour == Colour::Red);
        let found = Found::new(Level::BesidePeak, half.bucket(), LENGTH as f64, &green);
        assert_eq!(found.faults(), [], "seed {seed}: {found:?}");
        let truth = half.rate as f64;
        rates += u64::from(found.observed.rate.is_some_and(|interval| interval.contains(truth)));
        let passed = offered(&packets, |colour| colour != Colour::Red, |_| false);
        let found = Found::new(Level::Peak, BYTES.bucket(), LENGTH as f64, &passed);
        faulty += u64::from(found.faults().contains(&Fault::RateAbove));
        let truth = BYTES.rate as f64 * 1.05;
        peaks += u64::from(found.observed.rate.is_some_and(|interval| interval.contains(truth)));
    }
    let what = format!("found {faulty}, committed {rates}, peak {peaks} of {RUNS}");
    assert!(faulty >= MOST && rates >= ENOUGH && peaks >= ENOUGH, "{what}");
}

#[test]
fn a_meter_that_does_nothing_is_no_exact_meter() {
    let packets = trial(FAR, FAR, Faults::default(), LENGTH, Sender::Steady, 1);
    let all = offered(&packets, |_| true, |_| false);
    let found = Found::new(Level::Committed, BYTES.bucket(), LENGTH as f64, &all);
    assert_eq!(found.faults(), [Fault::NothingRefused]);
    let none = offered(&packets, |_| false, |_| false);
    let found = Found::new(Level::Committed, BYTES.bucket(), LENGTH as f64, &none);
    assert_eq!(found.faults(), [Fault::NothingPassed]);
    assert_eq!(Found::new(Level::Peak, BYTES.bucket(), 1.0, &[]).observed.rate, None);
}

/// A bucket that is full loses tokens, so its rate seems lower to who counts packets alone.
#[test]
fn a_sender_that_is_too_slow_at_times_does_not_accuse_a_meter() {
    let mut rates = 0;
    for seed in 0..RUNS {
        let packets = trial(BYTES, FAR, Faults::default(), LENGTH, Sender::Faltering, seed);
        let green = offered(&packets, |colour| colour == Colour::Green, |_| false);
        let found = Found::new(Level::Committed, BYTES.bucket(), LENGTH as f64, &green);
        assert_eq!(found.faults(), [], "seed {seed}: {found:?}");
        let truth = BYTES.rate as f64;
        rates += u64::from(found.observed.rate.is_some_and(|interval| interval.contains(truth)));
    }
    assert!(rates >= ENOUGH, "{rates} of {RUNS}");
}

/// The worst excess of one pass is that of all intervals, tried one by one.
#[test]
fn one_pass_finds_the_worst_interval() {
    let bucket = Bucket { rate: 150_000.0, burst: 2_000.0 };
    for seed in 0..20 {
        let packets = trial(BYTES, FAR, Faults::default(), LENGTH, Sender::Steady, seed);
        let few = offered(&packets[1_500..1_800], |colour| colour == Colour::Green, |_| false);
        let passed: Vec<(f64, f64)> = few
            .iter()
            .filter_map(|Offered { sent, treatment }| match treatment {
                Treatment::Passed { arrived } => {
                    Some((sent.earliest.0 as f64 / 1e9, arrived.latest.0 as f64 / 1e9))
                }
                Treatment::Refused | Treatment::Unknown => None,
            })
            .collect();
        let mut worst = f64::NEG_INFINITY;
        for first in 0..passed.len() {
            for last in first..passed.len() {
                let begin = passed[first..=last].iter().map(|one| one.0).fold(f64::MAX, f64::min);
                let end = passed[..=last].iter().map(|one| one.1).fold(0.0, f64::max);
                let tokens = (last - first + 1) as f64 * LENGTH as f64;
                worst = worst.max(tokens - bucket.burst - bucket.rate * (end - begin));
            }
        }
        let found = excess(bucket, LENGTH as f64, &few);
        assert!((found - worst).abs() < 1e-3, "seed {seed}: {found} {worst}");
    }
}

/// Distributes flows over members, whose shares are those of `shares`.
fn distributed(shares: &[f64], flows: u64, random: &mut ChaCha8Rng) -> Vec<u64> {
    let mut counts = vec![0; shares.len()];
    for _ in 0..flows {
        let mut drawn: f64 = random.random();
        let found = shares.iter().position(|share| {
            drawn -= share;
            drawn < 0.0
        });
        counts[found.unwrap_or(shares.len() - 1)] += 1;
    }
    counts
}

/// Counts the runs in which a group is reported, and those in which all intervals contain the true
/// shares.
fn groups(weights: &[u32], shares: &[f64], flows: u64) -> (u64, u64) {
    let (mut faults, mut covered) = (0, 0);
    for seed in 0..RUNS_OF_GROUPS {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let counts = distributed(shares, flows, &mut random);
        let found = Assessment::of(&counts, weights).expect("flows");
        faults += u64::from(found.is_fault());
        let each = found.shares.iter().zip(shares);
        covered += u64::from(each.into_iter().all(|(one, share)| one.interval.contains(*share)));
    }
    (faults, covered)
}

#[test]
fn no_fault_is_found_in_a_group_that_obeys_its_weights() {
    for (weights, shares) in
        [(&[1, 2][..], &[1.0 / 3.0, 2.0 / 3.0][..]), (&[1, 2, 3], &[1.0 / 6.0, 1.0 / 3.0, 0.5])]
    {
        let (faults, covered) = groups(weights, shares, 2_000);
        assert_eq!(faults, 0, "{weights:?}");
        assert!(covered >= ENOUGH_OF_GROUPS, "{weights:?}: {covered}");
    }
}

#[test]
fn a_group_that_ignores_its_weights_is_found_and_its_shares_recovered() {
    for (weights, shares) in [
        (&[1, 2][..], &[0.5, 0.5][..]),
        (&[1, 2, 3], &[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]),
        (&[1, 1, 1], &[0.5, 0.5, 0.0]),
    ] {
        let (faults, covered) = groups(weights, shares, 2_000);
        assert!(faults >= ENOUGH_OF_GROUPS, "{weights:?}: {faults}");
        assert!(covered >= ENOUGH_OF_GROUPS, "{weights:?}: {covered}");
    }
}

/// The shares differ from the weights more than chance explains, but no table of 16 hash values
/// comes closer to them.
#[test]
fn sixteen_hash_values_are_no_fault() {
    let shares = [3.0 / 16.0, 5.0 / 16.0, 8.0 / 16.0];
    let (faults, covered) = groups(&[1, 2, 3], &shares, 4_000);
    assert_eq!(faults, 0);
    assert!(covered >= ENOUGH_OF_GROUPS, "{covered}");
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let counts = distributed(&shares, 20_000, &mut random);
    let found = Assessment::of(&counts, &[1, 2, 3]).expect("flows");
    assert!(found.fit.probability < 1e-6, "{found:?}");
    assert!(found.shares.iter().all(|share| (share.measured - share.expected).abs() < TOLERANCE));
}
