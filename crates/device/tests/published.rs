//! Tests of the published models of Helm et al. as shipped: predictions and service curves.
//! Sections, tables and equations are those of their paper.

use calculus::{Curve, Rational};
use device::campaign::{FunctionName, Picoseconds};
use device::compose::{Composition, Guarantee, Semantics};
use device::{Level, Model, Source};

fn model(name: &str) -> Model {
    let text =
        std::fs::read_to_string(format!("../../examples/device/{name}.json")).expect("the example");
    let model: Model = serde_json::from_str(&text).expect("a model");
    model.check().expect("a whole model");
    assert!(matches!(model.source, Source::Published { .. }), "values of others are marked");
    model
}

fn compose(model: &Model, names: &[&str]) -> Composition {
    let names: Vec<FunctionName> = names.iter().map(|name| FunctionName::new(*name)).collect();
    model.compose(&model.settings[0], &names).expect("known functions")
}

fn delay(composition: &Composition, level: Level) -> Picoseconds {
    composition.levels.iter().find(|predicted| predicted.level == level).expect("the level").value
}

#[test]
fn the_zodiac_fx_predicts_what_equation_9_says() {
    let model = model("zodiac-fx");
    // Section IV-A states f0 = 51.058 µs, about 3 µs for the five-tuple and about 9 µs for network
    // headers.
    assert_eq!(
        delay(&compose(&model, &["port", "output"]), Level::Maximum),
        Picoseconds(51_058_000)
    );
    let composition = compose(&model, &["five-tuple", "set-nw-src"]);
    assert_eq!(delay(&composition, Level::Maximum), Picoseconds(63_058_000));
    assert_eq!(delay(&composition, Level::Minimum), Picoseconds(57_058_000));
    // The model has no samples, so no prediction has an interval.
    assert!(composition.levels.iter().all(|predicted| predicted.guarantee == Guarantee::Empirical));
    assert!(
        composition
            .levels
            .iter()
            .all(|predicted| predicted.low.is_none() && predicted.beyond.is_none())
    );
    assert!(composition.union.iter().all(|bound| bound.delay.is_none()));
}

#[test]
fn the_zodiac_fx_has_the_curves_of_equations_1_to_4() {
    let model = model("zodiac-fx");
    let composition = compose(&model, &["five-tuple", "set-nw-src"]);
    let curves = model.curves(&model.settings[0], &composition).expect("curves");
    let at_maximum = |semantics| {
        let mut services = curves.minimum.iter().filter(|service| service.level == Level::Maximum);
        services.find(|service| service.semantics == semantics).expect("the curve")
    };
    let microseconds = |text: &str| text.parse::<Rational>().expect("a number");
    let burst_delay = at_maximum(None);
    assert_eq!(burst_delay.curve, Curve::burst_delay(microseconds("63.058")).expect("a curve"));
    // 512 bits at 50 Mbit/s take 10.24 µs, which the measured delay already includes.
    let pipelined = at_maximum(Some(Semantics::Pipelined));
    assert_eq!(pipelined.curve, Curve::rate_latency(50, microseconds("52.818")).expect("a curve"));
    // One rate was measured for all functions, so no function reduces the rate.
    assert_eq!(at_maximum(Some(Semantics::RunToCompletion)).curve, pipelined.curve);
    let maximum = curves.maximum.expect("a line rate");
    assert_eq!(maximum.curve, Curve::rate_latency(100, microseconds("51.938")).expect("a curve"));
}

#[test]
fn on_the_netfpga_every_cost_is_below_the_resolution_of_its_clock() {
    let model = model("netfpga-sume");
    let worst = delay(&compose(&model, &["all", "set-tp-src"]), Level::Maximum);
    let best = delay(&compose(&model, &[]), Level::Minimum);
    // According to section IV-B, all deviations together stay within 0.05 µs beyond the spread of
    // the baseline.
    assert!(worst.0 - best.0 <= 75_000, "{worst} - {best}");
    assert_eq!(model.clock.tick, Picoseconds(12_500));
}

#[test]
fn costs_of_functions_that_were_not_measured_are_not_estimated() {
    let model = model("zodiac-fx");
    let error = model
        .compose(&model.settings[0], &[FunctionName::new("set-vlan-pcp")])
        .expect_err("not in Table I");
    assert!(error.to_string().contains("no measurement of 'set-vlan-pcp'"), "{error}");
    assert!(error.to_string().contains("set-vlan-id"), "{error}");
}

#[test]
fn an_exported_server_reads_back_as_its_curve() {
    let model = model("zodiac-fx");
    let composition = compose(&model, &["five-tuple", "set-nw-src"]);
    let curves = model.curves(&model.settings[0], &composition).expect("curves");
    for service in &curves.minimum {
        let server = device::export::Server::of_device("access", &model, &composition, service);
        let flow = "\n[[flow]]\nname = \"f\"\npath = [\"access\"]\narrival = { token-bucket = { burst = 64, rate = \"1Mbps\" } }\n";
        let text = format!("{}{}{flow}", device::export::HEAD, server.to_toml());
        let network = calculus::network::format::read(&text, calculus::network::Format::Toml)
            .expect("a network");
        let id = network.flows().next().expect("a flow").1.path[0];
        // Networks are in seconds, the exported service is in microseconds.
        let in_seconds = service.curve.stretched(&Rational::ratio(1, 1_000_000)).expect("a curve");
        assert_eq!(network.server(id).service, in_seconds, "{text}");
    }
}
