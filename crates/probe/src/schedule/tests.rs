//! Tests of schedules. The distributions of inter-arrival times are compared with theory, and the
//! same seed must always result in the same schedule.

use std::io::{Seek, Write};
use std::time::Duration;

use packetio::pcap::{CaptureWriter, LinkType};
use proptest::prelude::*;

use super::*;
use crate::config::{
    Addresses, Arrivals, Drain, Frame, Generator, Matching, Mode, SwitchOverride, Switches, Timing,
    Traffic,
};

const SECOND: u64 = 1_000_000_000;

#[derive(Clone)]
struct Setup {
    traffic: Traffic,
    timing: Timing,
    switches: Switches,
}

impl Setup {
    fn new(count: u32, rate: f64, arrivals: Arrivals) -> Self {
        Self {
            traffic: Traffic {
                mode: Mode::Open,
                rate,
                arrivals,
                load: Default::default(),
                frame: Frame::TcpSyn,
                frame_bytes: 66,
                addresses: Addresses {
                    mac: Generator::Hosts,
                    ip: Generator::Hosts,
                    port: Generator::Hosts,
                    known_destinations: true,
                },
                arp_first: false,
                matching: Matching::Auto,
                late_after: Duration::from_secs(1),
                outstanding_limit: 1000,
            },
            timing: Timing {
                connect_timeout: Duration::ZERO,
                allow_missing: false,
                settle: Duration::ZERO,
                warm_up: Duration::from_secs(2),
                measure: Duration::from_secs(8),
                drain: Drain::default(),
                start_stagger: Duration::ZERO,
                sample: Duration::from_secs(1),
            },
            switches: Switches {
                count,
                first_id: 1,
                ports: 4,
                buffers: 0,
                table_size: 0,
                flow_tables: crate::config::FlowTables::Bypass,
                hosts: 2,
                connect_rate: 1.0,
                overrides: Vec::new(),
            },
        }
    }

    fn lasting(mut self, duration: Duration) -> Self {
        (self.timing.warm_up, self.timing.measure) = (Duration::ZERO, duration);
        self
    }

    fn changed(mut self, change: SwitchOverride) -> Self {
        self.switches.overrides.push(change);
        self
    }

    fn plan(&self, seed: u64) -> Result<SchedulePlan, ScheduleError> {
        SchedulePlan::of(&self.traffic, &self.timing, &self.switches, seed)
    }

    fn times(&self, seed: u64, switch: u32) -> Vec<u64> {
        self.plan(seed).unwrap().switch(switch).unwrap().map(|at| at.0).collect()
    }
}

/// Returns each kind of inter-arrival distribution that needs no file.
fn all_arrivals() -> Vec<Arrivals> {
    vec![
        Arrivals::Constant,
        Arrivals::Exponential,
        Arrivals::Uniform { spread: 0.5 },
        Arrivals::Normal { deviation: 0.4 },
        Arrivals::Pareto { shape: 2.5 },
        Arrivals::Gamma { shape: 0.5 },
    ]
}

#[test]
fn constant_rates_give_exact_counts() {
    // The rate is a fraction: `packets` packet-ins in `per` seconds.
    for (packets, per) in
        [(1, 1), (3, 1), (7, 1), (1000, 1), (99_991, 1), (1_000_000, 3), (200_003, 7), (1, 3)]
    {
        let rate = f64::from(packets) / f64::from(per);
        let times = Setup::new(1, rate, Arrivals::Constant).times(1, 0);
        // Packet-in k is due at k per / packets seconds, from which the number due before second 10
        // follows.
        let expected = (10 * u64::from(packets as u32)).div_ceil(u64::from(per as u32));
        assert_eq!(times.len() as u64, expected, "{packets} per {per} s");
        for (k, at) in times.iter().enumerate() {
            let ideal = k as u128 * u128::from(SECOND) * per as u128;
            let error = (u128::from(*at) * packets as u128).abs_diff(ideal);
            // Rounding allows for half a nanosecond, plus floating-point error.
            assert!(
                error * 1000 <= packets as u128 * 501,
                "packet-in {k} of {rate}/s is due at {at} ns"
            );
        }
    }
}

#[test]
fn switches_with_constant_rates_are_staggered_evenly() {
    let setup = Setup::new(5, 100.0, Arrivals::Constant);
    for switch in 0..5 {
        let times = setup.times(1, switch);
        assert_eq!(times.len(), 1000);
        assert_eq!(
            times[..2],
            [2_000_000 * u64::from(switch), 2_000_000 * u64::from(switch) + 10_000_000]
        );
    }
}

#[test]
fn switches_in_phase_send_at_the_same_moments() {
    let setup = Setup::new(5, 100.0, Arrivals::InPhase);
    for switch in 0..5 {
        let times = setup.times(1, switch);
        assert_eq!((times.len(), &times[..2]), (1000, &[0, 10_000_000][..]));
    }
}

/// Returns the times between packet-ins in a long schedule with 1000 packet-ins per second, divided
/// by their mean.
fn gaps(arrivals: Arrivals, count: usize) -> Vec<f64> {
    let setup = Setup::new(1, 1000.0, arrivals).lasting(Duration::from_secs(1_000_000));
    let schedule = setup.plan(20_260_101).unwrap().switch(0).unwrap();
    let times: Vec<u64> = schedule.take(count + 1).map(|at| at.0).collect();
    assert_eq!(times.len(), count + 1);
    times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect()
}

/// Returns the mean and the variance of `values`.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, variance)
}

/// Compares the mean and the variance of a distribution with theory. The standard error of the mean
/// of n values is the square root of variance / n; that of the variance is the variance times the
/// square root of (kurtosis - 1) / n. Four standard errors are tolerated, which random seeds would
/// exceed once in 16,000 times.
fn assert_moments(arrivals: Arrivals, variance: f64, kurtosis: f64) {
    let n = 100_000;
    let (got_mean, got_variance) = moments(&gaps(arrivals.clone(), n));
    let root_n = (n as f64).sqrt();
    let mean_error = variance.sqrt() / root_n;
    let variance_error = variance * (kurtosis - 1.0).sqrt() / root_n;
    assert!(
        (got_mean - 1.0).abs() < 4.0 * mean_error,
        "{arrivals:?}: mean {got_mean}, standard error {mean_error}"
    );
    assert!(
        (got_variance - variance).abs() < 4.0 * variance_error,
        "{arrivals:?}: variance {got_variance}, not {variance}, standard error {variance_error}"
    );
}

#[test]
fn means_and_variances_are_those_of_theory() {
    assert_moments(Arrivals::Exponential, 1.0, 9.0);
    for spread in [0.1, 0.5, 1.0] {
        assert_moments(Arrivals::Uniform { spread }, spread * spread / 3.0, 1.8);
    }
    for shape in [0.5, 1.0, 4.0] {
        assert_moments(Arrivals::Gamma { shape }, 1.0 / shape, 3.0 + 6.0 / shape);
    }
    // At a fifth of the mean a negative value is five deviations away.
    assert_moments(Arrivals::Normal { deviation: 0.2 }, 0.04, 3.0);
    // Minimum m = (a - 1) / a; variance m^2 a / ((a - 1)^2 (a - 2)); excess kurtosis
    // 6 (a^3 + a^2 - 6 a - 2) / (a (a - 3) (a - 4)).
    let a = 6.0f64;
    let variance = 1.0 / (a * (a - 2.0));
    let excess = 6.0 * (a.powi(3) + a * a - 6.0 * a - 2.0) / (a * (a - 3.0) * (a - 4.0));
    assert_moments(Arrivals::Pareto { shape: a }, variance, 3.0 + excess);
}

#[test]
fn a_normal_distribution_cut_at_zero_keeps_its_rate() {
    // Cut at zero, a normal variate with mean 1 and deviation d has the variance
    // d^2 (1 - l (l + 1 / d)) with l = φ(1/d) / Φ(1/d); in units of its mean 1 + d l.
    for deviation in [0.5f64, 1.0, 2.0] {
        let z = 1.0 / deviation;
        let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let l = density / (0.5 * libm::erfc(-z / std::f64::consts::SQRT_2));
        let mean = 1.0 + deviation * l;
        let variance = deviation * deviation * (1.0 - l * (l + z)) / (mean * mean);
        // The kurtosis of a normal variate cut anywhere on the left is below 9, the limit of an
        // exponential tail.
        assert_moments(Arrivals::Normal { deviation }, variance, 9.0);
    }
}

#[test]
fn heavy_tails_follow_their_law() {
    // P(X > x) = (m / x)^a; a share p of n has the standard error root(p (1 - p) / n).
    let (shape, n) = (1.5f64, 100_000);
    let minimum = (shape - 1.0) / shape;
    let gaps = gaps(Arrivals::Pareto { shape }, n);
    // Times are whole nanoseconds, a millionth of the mean.
    assert!(gaps.iter().all(|gap| *gap >= minimum - 2e-6));
    for multiple in [2.0f64, 10.0, 100.0] {
        let expected = multiple.powf(-shape);
        let share = gaps.iter().filter(|gap| **gap > multiple * minimum).count() as f64 / n as f64;
        let error = (expected * (1.0 - expected) / n as f64).sqrt();
        assert!((share - expected).abs() < 4.0 * error, "{multiple}: {share}, not {expected}");
    }
}

#[test]
fn poisson_counts_have_poisson_mean_and_variance() {
    // Counts of 2000 switches that expect 50 packet-ins each: the mean has the standard error
    // root(50 / 2000), the variance 50 root(2 / 2000 + 1 / (50 2000)).
    let plan = Setup::new(2000, 5.0, Arrivals::Exponential).plan(7).unwrap();
    let counts: Vec<f64> =
        (0..2000).map(|switch| plan.switch(switch).unwrap().count() as f64).collect();
    let (mean, variance) = moments(&counts);
    assert!((mean - 50.0).abs() < 4.0 * (50.0f64 / 2000.0).sqrt(), "{mean}");
    assert!((variance - 50.0).abs() < 4.0 * 50.0 * (1.01f64 / 1000.0).sqrt(), "{variance}");
}

#[test]
fn switches_do_not_begin_in_step() {
    // The first wait is a uniform part of a gap: mean one half, and with constant gaps variance
    // 1 / 12, so that over 1000 switches the standard error is root(1 / 12000).
    let plan = Setup::new(1000, 10.0, Arrivals::Uniform { spread: 0.0 }).plan(3).unwrap();
    let firsts: Vec<f64> = (0..1000)
        .map(|switch| plan.switch(switch).unwrap().next().unwrap().0 as f64 / 1e8)
        .collect();
    let (mean, variance) = moments(&firsts);
    assert!((mean - 0.5).abs() < 4.0 * (1.0f64 / 12_000.0).sqrt(), "{mean}");
    assert!((variance - 1.0 / 12.0).abs() < 0.01, "{variance}");
}

#[test]
fn one_seed_determines_one_schedule() {
    for arrivals in all_arrivals() {
        let setup = Setup::new(3, 100.0, arrivals.clone());
        assert_eq!(setup.times(1, 2), setup.times(1, 2));
        let more =
            Setup { switches: Switches { count: 4, ..setup.switches.clone() }, ..setup.clone() };
        if arrivals != Arrivals::Constant {
            assert_ne!(setup.times(1, 2), setup.times(2, 2), "{arrivals:?}");
            assert_ne!(setup.times(1, 1), setup.times(1, 2), "{arrivals:?}");
            // A switch keeps its times when more switches are added.
            assert_eq!(setup.times(1, 2), more.times(1, 2), "{arrivals:?}");
        }
    }
}

#[test]
fn schedules_stay_the_same_from_version_to_version() {
    // Published figures name their seed; these values may only change with a note in the log.
    let times = Setup::new(2, 1000.0, Arrivals::Exponential).times(42, 1);
    assert_eq!(times[..4], [1_030_891, 1_289_472, 1_869_747, 3_634_836]);
}

#[test]
fn shards_do_not_change_the_schedule() {
    let setup = Setup::new(7, 200.0, Arrivals::Exponential).changed(SwitchOverride {
        first: 2,
        last: 4,
        rate: Some(37.0),
        ..Default::default()
    });
    let plan = setup.plan(5).unwrap();
    let mut whole: Vec<Due> = plan.shard(0..7).collect();
    let mut parts: Vec<Due> = plan.shard([6, 0, 3]).chain(plan.shard([5, 1, 2, 4])).collect();
    assert!(whole.is_sorted());
    parts.sort();
    assert_eq!(whole, parts);
    whole.retain(|due| due.switch == 3);
    let alone: Vec<u64> = whole.iter().map(|due| due.at.0).collect();
    assert_eq!(alone, setup.times(5, 3));
}

#[test]
fn equal_due_times_go_by_index() {
    // All switches have equal times, since each has a recording for itself and the recordings are
    // equal.
    let files: Vec<_> = (0..5).map(|_| tempfile::NamedTempFile::new().unwrap()).collect();
    let mut setup = Setup::new(5, 1.0, Arrivals::Constant);
    for (switch, mut file) in (0..).zip(&files) {
        write!(file, "0.5").unwrap();
        setup = setup.changed(SwitchOverride {
            first: switch,
            last: switch,
            arrivals: Some(Arrivals::Replay { file: file.path().to_owned() }),
            ..Default::default()
        });
    }
    let order: Vec<u32> =
        setup.plan(1).unwrap().shard([4, 2, 0, 3, 1]).take(10).map(|due| due.switch).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
}

#[test]
fn pop_returns_what_peek_showed_until_the_schedule_ends() {
    let mut shard = Setup::new(3, 10.0, Arrivals::Exponential).plan(9).unwrap().shard(0..3);
    let mut count = 0;
    while let Some(due) = shard.peek() {
        assert!(due.at.0 == 0 || shard.pop_due(Nanos(due.at.0 - 1)).is_none());
        assert_eq!(shard.pop_due(due.at), Some(due));
        count += 1;
    }
    assert!(count > 200, "{count}");
    assert_eq!((shard.pop(), shard.peek(), shard.pop_due(Nanos(u64::MAX))), (None, None, None));
}

#[test]
fn delays_and_stagger_bound_a_switch() {
    let mut setup = Setup::new(20, 1000.0, Arrivals::Exponential).changed(SwitchOverride {
        first: 1,
        last: 1,
        start_delay: Some(Duration::from_secs(1)),
        stop_delay: Some(Duration::from_secs(3)),
        ..Default::default()
    });
    setup.timing.start_stagger = Duration::from_millis(500);
    for (switch, from, to) in [(0, 0, 10), (1, 3, 14), (4, 4, 20)] {
        let times = setup.times(1, switch);
        let (from, to) = (from * SECOND / 2, (to * SECOND / 2).min(10 * SECOND));
        let last = *times.last().unwrap();
        assert!(times[0] >= from && times[0] < from + SECOND / 10, "{switch}: {}", times[0]);
        assert!(switch == 0 || last < to && last > to - SECOND / 10, "{switch}: {last}");
    }
    assert_eq!(setup.times(1, 20 - 1).len().min(1), 1);
    setup.timing.start_stagger = Duration::from_secs(1);
    assert!(setup.times(1, 10).is_empty());
    assert_eq!(setup.plan(1).unwrap().silent_switches(), 10);
}

#[test]
fn later_overrides_hold() {
    let change =
        |first, last, rate| SwitchOverride { first, last, rate: Some(rate), ..Default::default() };
    let setup = Setup::new(4, 1.0, Arrivals::Constant)
        .changed(change(1, 3, 2.0))
        .changed(change(2, 2, 3.0))
        .changed(change(3, 900, 4.0))
        .changed(change(3, 2, 5.0));
    let counts: Vec<usize> = (0..4).map(|switch| setup.times(1, switch).len()).collect();
    assert_eq!(counts, [10, 20, 30, 40]);
}

#[test]
fn recorded_times_repeat_as_they_are() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "1.5\n0\n0.0000000005\n2").unwrap();
    let setup = Setup::new(1, 0.0, Arrivals::Replay { file: file.path().to_owned() });
    let (a, b) = (1_500_000_000, 3_500_000_000);
    assert_eq!(
        setup.times(1, 0),
        // The half nanosecond of the first pass takes effect with that of the second pass.
        [
            a,
            a,
            a,
            b,
            b + a,
            b + a,
            b + a + 1,
            2 * b + 1,
            2 * b + a + 1,
            2 * b + a + 1,
            2 * b + a + 1
        ]
    );
}

#[test]
fn switches_that_replay_one_recording_are_not_in_lockstep() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    // The first recording has a burst of three after a pause, the second one equal gaps.
    for (text, apart) in [("3.1\n0.001\n0.001\n0.8\n", 900_000_000), ("0.5", 120_000_000)] {
        file.as_file_mut().set_len(0).unwrap();
        file.rewind().unwrap();
        write!(file, "{text}").unwrap();
        let setup = Setup::new(4, 1.0, Arrivals::Replay { file: file.path().to_owned() })
            .lasting(Duration::from_secs(40));
        let times: Vec<Vec<u64>> = (0..4).map(|switch| setup.times(1, switch)).collect();
        for (switch, own) in times.iter().enumerate() {
            // Each switch replays the whole recording.
            assert!(own.len().abs_diff(times[0].len()) <= 4, "{switch}: {}", own.len());
            for other in times.iter().take(switch) {
                let together = own.iter().filter(|at| other.contains(at)).count();
                assert_eq!(together, 0, "switch {switch}, {text:?}");
                assert!(own[0].abs_diff(other[0]) > apart, "{} {}", own[0], other[0]);
            }
        }
    }
}

#[test]
fn captured_times_repeat_with_their_frames() {
    let mut writer = CaptureWriter::new(Vec::new(), LinkType::ETHERNET).unwrap();
    for stamp in [5_000, 6_000, 9_000] {
        writer.write_frame(1_700_000_000 * SECOND + stamp, &[0; 60]).unwrap();
    }
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&writer.finish().unwrap()).unwrap();
    let setup = Setup::new(1, 0.0, Arrivals::Replay { file: file.path().to_owned() })
        .lasting(Duration::from_nanos(11_500));
    assert_eq!(setup.times(1, 0), [0, 1_000, 4_000, 6_000, 7_000, 10_000]);
}

#[test]
fn impossible_parameters_are_refused() {
    let refused =
        |rate, arrivals| Setup::new(2, rate, arrivals).plan(1).err().map(|error| error.to_string());
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 2e9, 1e-12] {
        for arrivals in all_arrivals() {
            let message = refused(rate, arrivals).unwrap();
            assert!(message.starts_with(&format!("switch 0: a rate of {rate} ")), "{message}");
        }
    }
    for (arrivals, wanted) in [
        (Arrivals::Uniform { spread: 1.1 }, "spread must be from 0 to 1"),
        (Arrivals::Uniform { spread: f64::NAN }, "spread must be from 0 to 1"),
        (Arrivals::Normal { deviation: -0.1 }, "deviation must be from 0 to 100"),
        (Arrivals::Normal { deviation: f64::INFINITY }, "deviation must be from 0 to 100"),
        (Arrivals::Pareto { shape: 1.0 }, "shape must be at least 1.01"),
        (Arrivals::Pareto { shape: f64::NAN }, "shape must be at least 1.01"),
        (Arrivals::Gamma { shape: 0.0 }, "shape must be a finite number, at least 0.01"),
        (Arrivals::Gamma { shape: f64::INFINITY }, "shape must be a finite number, at least 0.01"),
    ] {
        let message = refused(100.0, arrivals).unwrap();
        assert!(message.ends_with(wanted), "{message}");
    }
    let setup = Setup::new(2, 1.0, Arrivals::Constant).changed(SwitchOverride {
        first: 1,
        last: 1,
        rate: Some(-3.0),
        ..Default::default()
    });
    assert!(setup.plan(1).unwrap_err().to_string().starts_with("switch 1: a rate of -3 "));
    let century = Setup::new(1, 1.0, Arrivals::Constant).lasting(Duration::MAX);
    assert!(matches!(century.plan(1), Err(ScheduleError::TooLong { .. })));
    let missing = Arrivals::Replay { file: "missing.txt".into() };
    assert!(refused(1.0, missing).unwrap().starts_with("cannot read inter-arrival times from"));
}

#[test]
fn extreme_parameters_end_in_time() {
    for arrivals in [
        Arrivals::Pareto { shape: 1.01 },
        Arrivals::Gamma { shape: 0.01 },
        Arrivals::Normal { deviation: 100.0 },
        Arrivals::Uniform { spread: 1.0 },
    ] {
        let setup = Setup::new(1, 1000.0, arrivals);
        let times = setup.times(11, 0);
        assert!(times.is_sorted() && times.iter().all(|at| *at < 10 * SECOND));
    }
    assert_eq!(Setup::new(1, 1e-9, Arrivals::Constant).times(1, 0), [0]);
    let dense = Setup::new(1, 1e9, Arrivals::Constant).lasting(Duration::from_micros(1));
    assert_eq!(dense.times(1, 0), (0..1000).collect::<Vec<_>>());
}

fn any_arrivals() -> impl Strategy<Value = Arrivals> {
    prop::sample::select(all_arrivals())
}

proptest! {
    #[test]
    fn the_merge_of_schedules_is_sorted(
        changes in prop::collection::vec((0.0f64..200.0, any_arrivals(), 0u64..2000), 0..40),
        seed: u64,
    ) {
        let count = changes.len() as u32;
        let mut setup =
            Setup::new(count, 1.0, Arrivals::Constant).lasting(Duration::from_secs(1));
        for (index, (rate, arrivals, delay)) in (0..).zip(changes) {
            setup = setup.changed(SwitchOverride {
                first: index,
                last: index,
                rate: Some(rate + 0.1),
                arrivals: Some(arrivals),
                start_delay: Some(Duration::from_millis(delay)),
                ..Default::default()
            });
        }
        let plan = setup.plan(seed).unwrap();
        let merged: Vec<Due> = plan.shard(0..count).collect();
        let mut expected: Vec<Due> = (0..count)
            .flat_map(|switch| {
                plan.switch(switch).unwrap().map(move |at| Due { at, switch })
            })
            .collect();
        expected.sort();
        prop_assert_eq!(merged, expected);
    }

    #[test]
    fn any_constant_rate_has_its_count(rate in 0.001f64..5_000.0, switches in 1u32..4) {
        let plan = Setup::new(switches, rate, Arrivals::Constant)
            .lasting(Duration::from_secs(1))
            .plan(0)
            .unwrap();
        let count = plan.shard(0..switches).count() as f64;
        prop_assert!((count - rate * f64::from(switches)).abs() <= f64::from(switches));
    }
}
