//! Tests on synthetic devices: the method recovers known costs where the theory allows, and refuses
//! or flags them where it does not.

mod device;
mod largest;

use ::device::campaign::Picoseconds;
use ::device::compose::{Guarantee, Predicted, Semantics};
use ::device::verify::{Verification, verify};
use ::device::{Level, Model, Settings, Verdict};
use calculus::{Curve, Rational};
use rand::RngExt;

use device::{Plan, Truth, baseline, campaign, cost, names, rate};

fn verified(plan: &Plan, truth: &Truth) -> (Model, Verification) {
    println!("seed {}", device::SEED);
    let (model, mut all) =
        verify(&campaign(plan, truth), &Settings::default()).expect("a verification");
    (model, all.remove(0))
}

fn level(verification: &Verification, level: Level) -> &::device::verify::VerifiedLevel {
    verification.levels.iter().find(|of_level| of_level.level == level).expect("the level")
}

/// Returns the delay of a device whose functions have constant costs, as Helm et al. assume.
fn shifts(functions: &[&str], _: f64, random: &mut rand::rngs::ChaCha8Rng) -> f64 {
    baseline(random) + functions.iter().map(|name| cost(name)).sum::<f64>()
}

#[test]
fn constant_costs_are_recovered() {
    let (model, verification) = verified(&Plan::default(), &shifts);
    let under = &model.settings[0];
    for function in &under.functions {
        let shift = function.shift.as_ref().expect("a test");
        assert_eq!(shift.verdict, Verdict::Constant, "{}: {shift:?}", function.function.name);
        let truth = 1000 * cost(function.function.name.as_str()) as i64;
        let median =
            *under.deltas(function).iter().find(|delta| delta.level == Level::Median).unwrap();
        assert!(
            median.low.unwrap().0 < truth && truth < median.high.unwrap().0,
            "{}: {median:?}",
            function.function.name
        );
    }
    // As with Helm et al., twelve cells train the model and thirty test it.
    assert_eq!(verification.cells.iter().filter(|cell| cell.training).count(), 12);
    assert_eq!(verification.cells.len(), 42);
    let training = verification.cells.iter().filter(|cell| cell.training);
    assert!(training.flat_map(|cell| &cell.errors).all(|error| error.relative == 0.0));
    for of_level in &verification.levels {
        assert!(of_level.worst_absolute < 0.01, "{of_level:?}");
        assert_eq!(of_level.refuted.0, 0, "{of_level:?}");
        assert!(of_level.skill.unwrap() > 0.95, "{of_level:?}");
        assert!(of_level.noise.unwrap().says_something, "{of_level:?}");
    }
    let violations = level(&verification, "p99".parse().unwrap()).violations.unwrap();
    assert!(violations.beyond > 0 && violations.interval.high < 0.01, "{violations:?}");
    assert!((violations.admitted.unwrap() - 0.01).abs() < 1e-9);
    assert!(!verification.drift.unwrap().shown);
    assert_eq!(verification.drift.unwrap().stalls, 0.0);
    // No prediction is refuted, so more packets help most in the cell that every prediction uses.
    assert_eq!(verification.next.unwrap().functions, []);
}

#[test]
fn a_maximum_is_no_bound_and_says_so() {
    let (_, verification) = verified(&Plan::default(), &shifts);
    let maximum = level(&verification, Level::Maximum);
    // 3000 packets do not reach the end of the distribution, so packets exceed the sums of maxima.
    assert!(maximum.worst_under > 0.0, "{maximum:?}");
    // The bound admits as large a share of violations as the samples support; the observed share is
    // smaller.
    let violations = maximum.violations.unwrap();
    assert!(violations.interval.high < violations.admitted.unwrap(), "{violations:?}");
    assert!(violations.admitted.unwrap() < 1e-3);
    let predicted = &verification.cells[20].prediction.levels;
    let guarantee = |level: Level| {
        predicted.iter().find(|predicted| predicted.level == level).unwrap().guarantee
    };
    assert_eq!(guarantee(Level::Maximum), Guarantee::Empirical);
    assert!(
        matches!(guarantee(Level::Median), Guarantee::Confidence(confidence) if (confidence - 0.97).abs() < 1e-9)
    );
}

#[test]
fn quantisation_is_part_of_every_interval() {
    let plan = Plan { tick_ns: 4_000.0, ..Plan::default() };
    let (model, verification) = verified(&plan, &shifts);
    for function in &model.settings[0].functions {
        let truth = 1000 * cost(function.function.name.as_str()) as i64;
        let delta = *model.settings[0]
            .deltas(function)
            .iter()
            .find(|delta| delta.level == Level::Median)
            .unwrap();
        assert!(delta.low.unwrap().0 <= truth && truth <= delta.high.unwrap().0, "{delta:?}");
        // A difference below two ticks cannot be distinguished from zero.
        assert!(delta.high.unwrap().0 - delta.low.unwrap().0 >= 4 * 4_000_000, "{delta:?}");
    }
    assert_eq!(level(&verification, Level::Median).refuted.0, 0);
}

/// Returns the delay of a device two of whose functions cost nothing for most packets, and 20 µs
/// for the rest.
fn bimodal(functions: &[&str], _: f64, random: &mut rand::rngs::ChaCha8Rng) -> f64 {
    let expensive = |name: &&str| match *name {
        "set-nw-src" | "five-tuple" => 20_000.0 * f64::from(random.random::<f64>() < 0.4),
        name => cost(name),
    };
    let more: f64 = functions.iter().map(expensive).sum();
    baseline(random) + more
}

#[test]
fn percentiles_of_costs_that_vary_do_not_add() {
    let (model, verification) = verified(&Plan { packets: 2_000, ..Plan::default() }, &bimodal);
    let under = &model.settings[0];
    let verdict =
        |name: &str| under.function(&names(&[name])[0]).unwrap().shift.as_ref().unwrap().verdict;
    assert_eq!([verdict("set-nw-src"), verdict("five-tuple")], [Verdict::Refused; 2]);
    assert_eq!(verdict("set-dl-src"), Verdict::Constant);
    let cell = verification
        .cells
        .iter()
        .find(|cell| cell.functions == names(&["five-tuple", "set-nw-src"]))
        .unwrap();
    // Each of the two functions alone has nearly the median of the baseline. Both together do not,
    // because 64 % of packets are slowed by at least one.
    let median = cell.errors.iter().find(|error| error.level == Level::Median).unwrap();
    assert!(median.relative < -0.2, "{median:?}");
    assert_eq!(cell.prediction.refused, names(&["five-tuple", "set-nw-src"]));
    let predicted =
        cell.prediction.levels.iter().find(|predicted| predicted.level == Level::Median).unwrap();
    assert_eq!(
        (predicted.guarantee, predicted.low, predicted.high),
        (Guarantee::Empirical, None, None)
    );
    // The union bound holds nevertheless.
    for bound in cell.prediction.union.iter().filter(|bound| bound.delay.is_some()) {
        let beyond = count_beyond(&bimodal, &["five-tuple", "set-nw-src"], bound.delay.unwrap());
        assert!(beyond <= bound.beyond, "{beyond} > {bound:?}");
    }
    assert!(cell.prediction.union[0].delay.is_some());
    assert_eq!(
        cell.prediction.union[3].delay, None,
        "12,000 packets say nothing about one in 50,000"
    );
}

fn count_beyond(truth: &Truth, functions: &[&str], bound: Picoseconds) -> f64 {
    use rand::SeedableRng;
    let mut random = rand::rngs::ChaCha8Rng::seed_from_u64(1);
    let packets = 100_000;
    let slower = (0..packets)
        .filter(|_| 1000.0 * truth(functions, 0.0, &mut random) > bound.0 as f64)
        .count();
    slower as f64 / f64::from(packets)
}

#[test]
fn functions_that_depend_on_each_other_are_found() {
    // Both functions need the same cache line, so the second usually finds it. One combination
    // evicts it.
    let truth = |functions: &[&str], time: f64, random: &mut rand::rngs::ChaCha8Rng| {
        let clash = functions == ["all", "set-tp-src"];
        shifts(functions, time, random) + if clash { 7_000.0 } else { 0.0 }
    };
    let (_, verification) = verified(&Plan::default(), &truth);
    let median = level(&verification, Level::Median);
    assert_eq!(median.refuted.0, 1, "{median:?}");
    assert!(median.worst_under > 0.08 && median.worst_under < 0.12, "{median:?}");
    assert_eq!(verification.next.unwrap().functions, names(&["all", "set-tp-src"]));
}

#[test]
fn spikes_make_the_maximum_meaningless_and_the_median_not() {
    let truth = |functions: &[&str], time: f64, random: &mut rand::rngs::ChaCha8Rng| {
        let spike = if random.random::<f64>() < 2e-3 { 1e6 * random.random::<f64>() } else { 0.0 };
        shifts(functions, time, random) + spike
    };
    let (_, verification) = verified(&Plan::default(), &truth);
    let noise = |of: Level| level(&verification, of).noise.unwrap();
    assert!(!noise(Level::Maximum).says_something, "{:?}", noise(Level::Maximum));
    assert!(noise(Level::Median).says_something, "{:?}", noise(Level::Median));
    assert!(level(&verification, Level::Median).worst_absolute < 0.01);
    let stalls = verification.drift.unwrap().stalls;
    assert!((1e-3..3e-3).contains(&stalls), "{stalls}");
}

#[test]
fn drift_is_reported_and_affects_all_cells_alike() {
    let truth = |functions: &[&str], time: f64, random: &mut rand::rngs::ChaCha8Rng| {
        shifts(functions, time, random) * (1.0 + 0.04 * time)
    };
    let (_, verification) = verified(&Plan::default(), &truth);
    let drift = verification.drift.unwrap();
    assert!(drift.shown && (drift.change - 0.02).abs() < 0.005, "{drift:?}");
    // The cells are interleaved, so the drift affects all of them alike.
    assert!(level(&verification, Level::Median).worst_absolute < 0.01);
}

#[test]
fn negative_differences_are_reported_and_clipped() {
    let truth = |functions: &[&str], time: f64, random: &mut rand::rngs::ChaCha8Rng| {
        let saved = if functions.contains(&"strip-vlan") { 7_000.0 } else { 0.0 };
        shifts(functions, time, random) - saved
    };
    let (model, _) = verified(&Plan::default(), &truth);
    let under = &model.settings[0];
    let composition = model.compose(under, &names(&["five-tuple", "strip-vlan"])).unwrap();
    let maximum =
        composition.levels.iter().find(|predicted| predicted.level == Level::Maximum).unwrap();
    assert_eq!(maximum.negative, names(&["strip-vlan"]));
    assert!((2_900_000..3_500_000).contains(&(maximum.safe.0 - maximum.value.0)), "{maximum:?}");
    // The curve is valid nevertheless, because latencies of functions are clipped at zero.
    let curves = model.curves(under, &composition).unwrap();
    assert_eq!(
        curves.minimum[0].latency.to_f64(),
        curves.minimum[0].curve.pieces()[1].start().to_f64()
    );
}

#[test]
fn rates_are_combined_by_semantics_and_no_packet_counts_twice() {
    let mut campaign = campaign(&Plan::default(), &shifts);
    // A packet of 64 bytes takes 10.24 µs, 5.12 µs more with a single function, and 10.24 µs more
    // with the other.
    rate(&mut campaign, 0, 50_000_000);
    let place = |name: &str| {
        let cells = campaign.description.cells.iter();
        cells.clone().position(|cell| cell.functions == names(&[name])).unwrap() as u32
    };
    let (first, second) = (place("five-tuple"), place("set-nw-src"));
    rate(&mut campaign, first, 33_333_333);
    rate(&mut campaign, second, 25_000_000);
    let model = Model::derive(&campaign, &Settings::default()).unwrap();
    let under = &model.settings[0];
    let composition = model.compose(under, &names(&["five-tuple", "set-nw-src"])).unwrap();
    let curves = model.curves(under, &composition).unwrap();
    assert_eq!(curves.remarks, Vec::<String>::new());
    let of = |semantics| {
        let curves = curves.minimum.iter().filter(|curve| curve.level == Level::Maximum);
        curves.clone().find(|curve| curve.semantics == Some(semantics)).unwrap()
    };
    let (pipelined, completed) = (of(Semantics::Pipelined), of(Semantics::RunToCompletion));
    // A pipeline is as fast as its slowest stage. Run to completion adds all times: 512 / (10.24 +
    // 5.12 + 10.24) = 20.
    assert_eq!(pipelined.rate, Some(Rational::from(25)));
    assert!((completed.rate.as_ref().unwrap().to_f64() - 20.0).abs() < 1e-6);
    assert_eq!(pipelined.guarantee, Guarantee::Deterministic);
    // The bound for a single packet of 512 bits is the predicted delay, no more.
    let packet =
        Curve::burst_delay(0).unwrap().minimum(&Curve::constant(512).with_origin(0)).unwrap();
    let delay = packet.horizontal_deviation(&completed.curve).unwrap().value;
    let maximum =
        composition.levels.iter().find(|predicted| predicted.level == Level::Maximum).unwrap();
    assert_eq!(delay.finite().unwrap(), &Rational::ratio(maximum.safe.0, 1_000_000));
    // No curve promises a packet less than the bound on the predicted delay.
    for service in &curves.minimum {
        let of_level = |predicted: &&Predicted| predicted.level == service.level;
        let predicted = composition.levels.iter().find(of_level).unwrap();
        let bound = Rational::ratio(predicted.safe.0, 1_000_000);
        assert!(predicted.safe >= predicted.high.unwrap_or(predicted.value));
        let delay = packet.horizontal_deviation(&service.curve).unwrap().value;
        assert!(delay.finite().is_some_and(|delay| *delay >= bound), "{service:?} {predicted:?}");
    }
    // The convolution yields exactly equation 3.
    let direct =
        Curve::rate_latency(pipelined.rate.clone().unwrap(), pipelined.latency.clone()).unwrap();
    assert_eq!(pipelined.curve, direct);
    let service = curves.maximum.unwrap();
    assert_eq!(service.rate, Rational::from(100));
}
