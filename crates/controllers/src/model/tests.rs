//! Tests of the model of the controller in the P4RCProbe paper, and of forecasts for an overloaded
//! controller.

use std::time::Duration;

use proptest::prelude::*;

use super::forecast::{Load, forecast};
use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn paper() -> Model {
    Model::from_toml(PAPER).expect("the model")
}

fn onos() -> ServiceQueue {
    paper().p4runtime(Variant::Original, AnswerAfter::Application)
}

fn load(switches: u32, rate: f64, measure: Duration) -> Load {
    Load { switches, rate, in_phase: false, warm_up: Duration::ZERO, measure }
}

fn close(value: f64, expected: f64, share: f64) -> bool {
    (value / expected - 1.0).abs() < share
}

#[test]
fn the_model_has_the_rates_of_table_i() {
    use AnswerAfter::{Application, Decoding, Grpc};
    use Variant::{Enhanced, Original};
    for (variant, after, published) in [
        (Original, Grpc, 10_000.0),
        (Original, Decoding, 1_836.0),
        (Original, Application, 1_471.0),
        (Enhanced, Grpc, 10_000.0),
        (Enhanced, Decoding, 10_000.0),
        (Enhanced, Application, 1_723.0),
    ] {
        let warm_up = SECOND;
        let load = Load { warm_up, ..load(1, 10_000.0, 10 * SECOND) };
        let rate = forecast(paper().p4runtime(variant, after), &load).received_rate();
        assert!(close(rate, published, 0.002), "{variant:?} {after}: {rate}");
    }
}

#[test]
fn the_model_has_the_times_and_the_growth_of_fig_6_and_7() {
    let in_phase = |switches| Load { in_phase: true, ..load(switches, 10.0, 10 * SECOND) };
    for (switches, published) in [(1, 8.9e-3), (50, 61e-3)] {
        let found = forecast(onos(), &in_phase(switches));
        assert_eq!(found.loss(), 0.0);
        let time = found.mean_time().expect("answers");
        assert!(close(time, published, 0.06), "{switches}: {time}");
    }
    let at_ten = forecast(onos(), &load(10, 50.0, 60 * SECOND));
    let time = at_ten.mean_time_in_window().expect("answers");
    assert!(close(time, 1.8, 0.02), "{time}");
    for (rate, published) in [(50.0, 2550.0), (100.0, 5500.0)] {
        let found = forecast(onos(), &load(50, rate, 60 * SECOND));
        let counts = found.outstanding(60 * SECOND);
        let (least, most) = (counts.iter().min(), counts.iter().max());
        assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1), "{counts:?}");
        let mean = counts.iter().sum::<u64>() as f64 / 50.0;
        assert!(close(mean, published, 0.015), "{rate}: {mean}");
    }
}

#[test]
fn over_openflow_loss_begins_below_the_saturated_rate() {
    let at = |rate| {
        let warm_up = SECOND;
        let load = Load { warm_up, ..load(1, rate, 3 * SECOND) };
        let found = forecast(paper().openflow(Variant::Original), &load);
        (found.received_rate(), found.loss())
    };
    assert_eq!(at(29_400.0).1, 0.0);
    let (rate, loss) = at(36_000.0);
    assert!(close(rate, 33_000.0, 0.01) && close(loss, 0.083, 0.02), "{rate} {loss}");
    let (rate, _) = at(60_000.0);
    assert!(close(rate, 42_000.0, 0.01), "{rate}");
}

#[test]
fn files_whose_times_cannot_be_computed_are_refused_with_a_reason() {
    for (from, to, reason) in [
        ("delay-us = 7676", "delay-us = -1", "`p4runtime`: delay-us is -1, but must be a time"),
        ("from = 50", "from = 1", "`p4runtime`: the rows of `switches` are not in increasing"),
        ("share = 0.5", "share = 1.5", "`openflow`: share is 1.5, but must be from 0 to 1"),
        ("factor = 1.288", "factor = 0", "factor is 0, but must be a factor above 0"),
        ("\"decoding\"", "\"encoding\"", "`encoding` is not a block"),
        ("burst", "busrt", "unknown field `busrt`"),
    ] {
        assert!(PAPER.contains(from), "{from}");
        let error = Model::from_toml(&PAPER.replace(from, to)).expect_err(from).to_string();
        assert!(error.contains(reason), "{error}");
    }
}

proptest! {
    /// Checks that the forecast for any overloaded model is that of a queue which is never empty.
    /// The answer rate is the inverse of the time that the slowest stage takes. The backlog grows
    /// by the difference of the offered rate and the answer rate, so the packet-ins that are
    /// answered within the time W wait for W/2 (1 - rate/offered) on average.
    #[test]
    fn forecasts_in_overload_are_those_of_the_queue(
        first in 300.0f64..3000.0,
        second in 300.0f64..3000.0,
        excess in 1.2f64..6.0,
        switches in 1u32..20,
        seconds in 5u64..20,
    ) {
        let rate = 1e6 / first.max(second);
        let text = format!(
            "title = \"\"\n[p4runtime]\ndelay-us = 0\n\
             [[p4runtime.stage]]\nanswers-after = \"decoding\"\ncost-us = {{ original = {first}, enhanced = 0 }}\n\
             [[p4runtime.stage]]\nanswers-after = \"application\"\ncost-us = {{ original = {second}, enhanced = 0 }}\n\
             [openflow]\ndelay-us = 0\n\
             [[openflow.stage]]\nanswers-after = \"grpc\"\ncost-us = {{ original = 0, enhanced = 0 }}\n"
        );
        let model = Model::from_toml(&text).expect("a model");
        let (window, offered) = (Duration::from_secs(seconds), rate * excess);
        let load = load(switches, offered / f64::from(switches), window);
        let found = forecast(model.p4runtime(Variant::Original, AnswerAfter::Application), &load);
        let w = window.as_secs_f64();
        prop_assert!(close(found.received_rate(), rate, 0.01), "{}", found.received_rate());
        let waiting = found.outstanding(window).iter().sum::<u64>() as f64;
        prop_assert!(close(waiting, (offered - rate) * w, 0.02), "{waiting}");
        let time = found.mean_time_in_window().expect("answers");
        prop_assert!(close(time, w / 2.0 * (1.0 - rate / offered), 0.03), "{time}");
        prop_assert_eq!(found.loss(), 0.0);
    }
}
