//! Tests of the output of the benchmarks of RFC 8456 in every format.

use probe::outcome::Completion;
use probe::rfc8456::Test;
use probe::rfc8456::outcome::{Figure, Parameters, SCHEMA as NAME, SCHEMA_VERSION, TrialOutcome};
use provenance::{Host, Provenance};
use statistics::Estimate;

use super::*;
use crate::terminal::Layout;

fn result(values: &[f64]) -> BenchmarkResult {
    let trial = |value: &f64| TrialOutcome {
        value: Some(*value),
        figures: vec![Figure { name: "links".into(), value: 8.0, unit: Unit::Count }],
        remark: None,
    };
    let missing = TrialOutcome {
        value: None,
        figures: Vec::new(),
        remark: Some("nothing, \"at all\", was seen".into()),
    };
    let outcome = |test: Test, trials: Vec<TrialOutcome>, variant: Option<&str>| TestOutcome {
        test,
        section: test.section().to_owned(),
        variant: variant.map(str::to_owned),
        unit: test.unit(),
        value: Estimate::of(&trials.iter().filter_map(|trial| trial.value).collect::<Vec<_>>()),
        deviation: variant.map(|_| 0.25),
        trials,
    };
    BenchmarkResult {
        schema: NAME.to_owned(),
        schema_version: SCHEMA_VERSION,
        provenance: Provenance {
            planimeter_version: "0".to_owned(),
            build: None,
            started_at: "2026-01-02T03:04:05Z".to_owned(),
            elapsed_s: 1.5,
            command: vec!["planimeter".to_owned()],
            host: Host::default(),
            shares: Vec::new(),
        },
        completion: Completion::Partial { reason: "not measured: 5.4.1".to_owned() },
        configuration: Default::default(),
        parameters: Parameters { southbound: "openflow13".to_owned(), ..Parameters::default() },
        tests: vec![
            outcome(Test::TopologyDiscoveryTime, values.iter().map(trial).collect(), None),
            outcome(Test::ExceptionHandling, vec![trial(&0.5)], Some("1 % invalid messages")),
            outcome(Test::FailoverTime, vec![missing], None),
        ],
        controller_was_out_of_reach: false,
        notes: vec!["a note".to_owned()],
    }
}

#[test]
fn results_are_as_the_schema_has_them_and_are_read_again() {
    let written = to_json(&result(&[0.001, 0.002])).unwrap();
    let schema = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let value = serde_json::from_str(&written).unwrap();
    let errors: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
    assert!(is_result(&written) && !is_result("{}"));
    assert_eq!(to_json(&from_json(&written).unwrap()).unwrap(), written);
    let rows: Vec<&str> = written.lines().filter(|line| line.contains("nothing")).collect();
    assert_eq!(rows.len(), 1);
    let csv = to_csv(&result(&[0.001, 0.002]));
    assert_eq!(csv.lines().count(), 5);
    assert!(csv.contains("\"nothing, \"\"at all\"\", was seen\""), "{csv}");
}

#[test]
fn counts_agree_with_their_nouns_and_the_text_ends_without_an_empty_line() {
    let mut one = result(&[0.001]);
    one.parameters = Parameters { switches: 1, links: 2, trials: 1, ..one.parameters };
    let candidate = Candidate { name: "one", result: &one };
    let text = table(&[candidate], Layout { width: 120, colour: false });
    assert!(text.contains("1 switch, 2 links") && text.contains("1 trial of"), "{text}");
    assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{text}");
    let both = table(&[candidate, candidate], Layout { width: 120, colour: false });
    assert!(both.contains("\n\nRFC 8456: one"), "{both}");
}

#[test]
fn controllers_stand_side_by_side() {
    let (one, other) = (result(&[0.001, 0.002, 0.003]), result(&[0.004]));
    let candidates =
        [Candidate { name: "one", result: &one }, Candidate { name: "other", result: &other }];
    let text = table(&candidates, Layout { width: 120, colour: false });
    for wanted in
        ["RFC 8456: one", "RFC 8456: other", "Controller Failover Time", "nothing, ", "+25"]
    {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    let html = page(&candidates).html();
    for wanted in ["5.1.1", "2 controllers", "4.00 ms", "variance", "Times by test"] {
        assert!(html.contains(wanted), "{wanted}");
    }
}

#[test]
fn tests_of_one_unit_share_a_figure_and_what_was_not_measured_has_none() {
    let one = result(&[0.001, 0.002, 0.003]);
    let drawn = figures::figures(&[Candidate { name: "one", result: &one }]);
    let [times] = drawn.as_slice() else { panic!("{drawn:?}") };
    let crate::page::Graphic::Plot(plot) = &times.graphic else { panic!("a plot") };
    assert_eq!(plot.x.names, ["5.1.1"]);
    assert!(times.remark.ends_with("5.1.1: Network Topology Discovery Time."), "{}", times.remark);
    let finite = |line: &crate::plot::Line| -> Vec<f64> {
        line.points.iter().map(|point| point.y).filter(|y| y.is_finite()).collect()
    };
    let found: Vec<_> =
        plot.lines.iter().map(|line| (line.legend.as_str(), finite(line))).collect();
    assert_eq!(
        found,
        [("a trial", vec![0.001, 0.002, 0.003]), ("mean over the trials", vec![0.002])]
    );
}
