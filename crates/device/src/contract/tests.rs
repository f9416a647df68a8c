//! Contracts of classes of paths, against the predictions of single paths by hand.

use super::*;
use crate::profile::Estimate;
use crate::program::Path;

/// Returns the published model of the Zodiac FX with other figures. The function `five-tuple` is
/// the part `a`, and `set-nw-src` is `b`; all figures that matter are in the tests.
fn model() -> Model {
    let text =
        std::fs::read_to_string("../../examples/device/zodiac-fx.json").expect("the example");
    let mut model: Model = serde_json::from_str(&text).expect("a model");
    let setting = &mut model.settings[0];
    maximum(&mut setting.f0.profile.levels, 51_000_000);
    setting.f0.loss_free_rate = Some(50_000_000);
    for function in &mut setting.functions {
        let (part, delay, rate) = match function.function.name.as_str() {
            "five-tuple" => ("a", 54_000_000, 40_000_000),
            "set-nw-src" => ("b", 60_000_000, 25_000_000),
            _ => continue,
        };
        function.function.consists_of = vec![part.to_owned()];
        maximum(&mut function.measurement.profile.levels, delay);
        function.measurement.loss_free_rate = Some(rate);
    }
    model
}

fn maximum(levels: &mut [Estimate], delay: i64) {
    let maximum = levels.iter_mut().find(|one| one.level == Level::Maximum).expect("a maximum");
    maximum.value = Picoseconds(delay);
}

/// Returns the predictions of paths with these parts.
fn predicted(model: &Model, paths: &[&[&str]]) -> Vec<PathPrediction> {
    let path = |parts: &&[&str]| Path {
        decisions: Vec::new(),
        choices: Vec::new(),
        parts: parts.iter().map(|part| ((*part).to_owned(), 1)).collect(),
        ways: 1,
        uncounted: BTreeSet::new(),
    };
    let paths: Vec<Path> = paths.iter().map(path).collect();
    model.predict_paths(&model.settings[0], &paths).expect("predictions")
}

fn contract(model: &Model, terms: Terms, paths: &[&[&str]]) -> Contract {
    let predicted = predicted(model, paths);
    let contract = model.contract(&model.settings[0], &predicted, terms).expect("curves");
    contract.expect("a contract")
}

const RUN_TO_COMPLETION: Terms =
    Terms { level: Level::Maximum, semantics: Some(Semantics::RunToCompletion) };

/// Checks the figures of two paths of packets of 512 bits. The path `a` has the rate 40 bit/µs and
/// the latency 54 - 512/40 = 41.2 µs, and the path `b` has 25 bit/µs and 60 - 512/25 = 39.52 µs.
#[test]
fn a_class_has_the_lowest_rate_and_the_longest_latency_of_its_paths() {
    let model = model();
    let alone = contract(&model, RUN_TO_COMPLETION, &[&["b"]]);
    assert_eq!(alone.rate, Some(Rational::ratio(25, 1)));
    assert_eq!(alone.latency, Rational::ratio(3952, 100));
    for paths in [[&["a"][..], &["b"]], [&["b"][..], &["a"]]] {
        let both = contract(&model, RUN_TO_COMPLETION, &paths);
        assert_eq!(both.delay, Picoseconds(60_000_000));
        assert_eq!(both.rate, Some(Rational::ratio(25, 1)));
        assert_eq!(both.latency, Rational::ratio(412, 10));
        assert_eq!(both.functions, [FunctionName::new("set-nw-src")]);
        assert_eq!(both.paths, 2);
        assert_eq!(both.guarantee, Guarantee::Deterministic);
        assert_eq!(both.basis, Basis::Published);
    }
    let burst = Terms { level: Level::Maximum, semantics: None };
    let burst = contract(&model, burst, &[&["a"], &["b"]]);
    assert_eq!((burst.rate, burst.latency), (None, Rational::ratio(60, 1)));
}

/// A service curve whose rate is a guess must not look like one that was measured.
#[test]
fn a_rate_that_was_not_measured_is_named() {
    let mut model = model();
    let measured = contract(&model, RUN_TO_COMPLETION, &[&["a"], &["b"]]);
    assert!(measured.assumed_rates.is_empty() && !measured.to_string().contains("rate of"));
    for function in &mut model.settings[0].functions {
        if function.function.name.as_str() == "set-nw-src" {
            function.measurement.loss_free_rate = None;
        }
    }
    let label = |terms| contract(&model, terms, &[&["a"], &["b"]]).to_string();
    assert!(label(RUN_TO_COMPLETION).contains("the rate of set-nw-src was not measured"));
    // A burst-delay curve has no rate.
    assert!(!label(Terms { semantics: None, ..RUN_TO_COMPLETION }).contains("rate of"));
}

#[test]
fn a_path_with_a_part_that_was_not_measured_guarantees_nothing() {
    let contract = contract(&model(), RUN_TO_COMPLETION, &[&["a"], &["b", "c"]]);
    assert_eq!(contract.guarantee, Guarantee::Empirical);
    assert_eq!(contract.unmeasured, Parts::from([("c".to_owned(), 1)]));
    assert_eq!(contract.beyond, None);
    assert!(contract.to_string().contains("INCOMPLETE, without the cost of c"), "{contract}");
}

/// Checks the confidence of percentiles: each interval holds with 99 %, so those of the baseline and
/// of both functions hold together with 97 %.
#[test]
fn the_intervals_of_all_paths_hold_together() {
    let mut model = model();
    model.source = Source::Campaign { created: "2026-12-01T00:00:00Z".to_owned() };
    model.confidence = 0.99;
    let percentile: Level = "p99".parse().expect("a level");
    let estimate = |high: i64| Estimate {
        level: percentile,
        value: Picoseconds(high - 1),
        low: Some(Picoseconds(high - 2)),
        high: Some(Picoseconds(high)),
    };
    let setting = &mut model.settings[0];
    setting.f0.profile.levels.push(estimate(50_000_000));
    for function in &mut setting.functions {
        let high = if function.function.name.as_str() == "five-tuple" { 53 } else { 59 };
        function.measurement.profile.levels.push(estimate(high * 1_000_000));
    }
    let terms = Terms { level: percentile, semantics: None };
    let alone = contract(&model, terms, &[&["a"]]);
    let Guarantee::Confidence(confidence) = alone.guarantee else { panic!("{alone:?}") };
    assert!((confidence - 0.99).abs() < 1e-9, "{alone:?}");
    assert_eq!((alone.basis, alone.delay), (Basis::Measured, Picoseconds(53_000_000)));
    let both = contract(&model, terms, &[&["a"], &["b"]]);
    let Guarantee::Confidence(confidence) = both.guarantee else { panic!("{both:?}") };
    assert!((confidence - 0.97).abs() < 1e-9, "{both:?}");
    assert_eq!((both.basis, both.delay), (Basis::Measured, Picoseconds(59_000_000)));
    assert!(both.beyond.is_some_and(|share| (share - 0.01).abs() < 1e-9), "{both:?}");
    // Whether costs are constant is not known, so a sum of two has no interval.
    let sum = contract(&model, terms, &[&["a"], &["a", "b"]]);
    assert_eq!((sum.guarantee, sum.basis), (Guarantee::Empirical, Basis::Composed));
    assert_eq!(sum.beyond, None);
}

#[test]
fn no_path_and_no_curve_make_no_contract() {
    let mut model = model();
    let none = model.contract(&model.settings[0], &[], RUN_TO_COMPLETION).expect("no curve");
    assert_eq!(none, None);
    model.settings[0].f0.loss_free_rate = None;
    let paths = predicted(&model, &[&["a"]]);
    let none = model.contract(&model.settings[0], &paths, RUN_TO_COMPLETION).expect("no rate");
    assert_eq!(none, None);
}

/// Checks that a server of a contract keeps its curve and its label in a network file.
#[test]
fn the_label_of_an_exported_contract_comes_back() {
    let model = model();
    let contract = contract(&model, RUN_TO_COMPLETION, &[&["a"], &["b"]]);
    let server = crate::export::Server::of_contract("switch", &model, &contract, "any packet");
    let flow = "\n[[flow]]\nname = \"f\"\npath = [\"switch\"]\n\
                arrival = { token-bucket = { burst = 64, rate = \"1Mbps\" } }\n";
    let text = format!("{}{}{flow}", crate::export::HEAD, server.to_toml());
    let network = calculus::network::format::read(&text, calculus::network::Format::Toml);
    let network = network.expect("a network");
    let [note] = network.notes() else { panic!("{:?}", network.notes()) };
    let expected = format!(
        "the bounds of flow 'f' rest on server 'switch', any packet on {}: {contract}",
        model.device.name
    );
    assert_eq!(*note, expected);
    assert!(note.contains("deterministic under assumptions; valid for 64 B, 1 rule"), "{note}");
}
