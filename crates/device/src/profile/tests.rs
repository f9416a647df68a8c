//! Tests of levels, intervals and effective samples on small known samples.
use super::*;

fn sorted(blocks: &[Vec<i64>], tick: i64) -> Sorted {
    Sorted::of_blocks(blocks, Picoseconds(tick)).unwrap()
}

fn estimate(sorted: &Sorted, level: Level) -> (i64, Option<i64>, Option<i64>) {
    let estimate = sorted.estimate(level, Confidence::P95);
    (estimate.value.0, estimate.low.map(|low| low.0), estimate.high.map(|high| high.0))
}

#[test]
fn levels_of_a_known_sample_are_exact() {
    let sorted = sorted(&[(1..=1000).collect()], 0);
    assert_eq!(estimate(&sorted, Level::Minimum), (1, None, Some(1)));
    assert_eq!(estimate(&sorted, Level::Maximum), (1000, Some(1000), None));
    // These are the ranks of the binomial distribution with n = 1000, p = 1/2 at 95 %.
    assert_eq!(estimate(&sorted, Level::Median), (500, Some(469), Some(532)));
    // For the 99.9th percentile, 1000 samples are too few for an upper end.
    assert_eq!(estimate(&sorted, "p99.9".parse().unwrap()).2, None);
}

#[test]
fn a_maximum_states_the_share_of_packets_that_may_exceed_it() {
    let profile = sorted(&[(0..3000).collect()], 0).profile(
        &Settings::default(),
        1,
        Counts::default(),
        Tails::Included,
    );
    // 1 - 0.01^(1/3000): with 99 % confidence, at most 0.15 % of packets are slower.
    let beyond = profile.beyond_maximum.unwrap();
    assert!((beyond - 1.533e-3).abs() < 1e-6, "{beyond}");
    assert_eq!(profile.level(Level::Maximum).unwrap().high, None);
    assert!(profile.delay_beyond(1e-2).is_some());
    assert_eq!(
        profile.delay_beyond(1e-3),
        None,
        "3000 samples say nothing about one in a thousand"
    );
}

#[test]
fn the_tick_of_the_clock_is_in_every_interval() {
    let sorted = sorted(&[vec![12_500; 4000]], 12_500);
    assert_eq!(estimate(&sorted, Level::Median), (12_500, Some(0), Some(25_000)));
    assert_eq!(estimate(&sorted, Level::Mean), (12_500, Some(0), Some(25_000)));
}

#[test]
fn blocks_that_differ_reduce_the_number_of_effective_samples() {
    let same: Vec<Vec<i64>> = (0..10).map(|_| (0..1000).collect()).collect();
    assert_eq!(sorted(&same, 0).effective, 10_000);
    // Ten blocks of one value each are worth ten samples, not ten thousand.
    let apart: Vec<Vec<i64>> = (0..10).map(|block| vec![block; 1000]).collect();
    let effective = sorted(&apart, 0).effective;
    assert!((8..=12).contains(&effective), "{effective}");
    let (_, low, high) = estimate(&sorted(&apart, 0), Level::Median);
    assert!(low <= Some(2) && high >= Some(7), "{low:?} {high:?}");
    // A coarse clock does not make blocks differ.
    let coarse: Vec<Vec<i64>> =
        (0..10).map(|_| (0..1000).map(|i| i64::from(i % 10 == 0)).collect()).collect();
    assert_eq!(sorted(&coarse, 0).effective, 10_000);
}
