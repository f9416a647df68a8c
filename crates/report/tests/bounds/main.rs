//! Tests of the output of network-calculus bounds: the text for a terminal, the page of a run
//! directory, drawings of curves, and JSON.

use std::time::Duration;

use calculus::network::{
    Analyser, Analysis, Estimate, Format, Multiplexing, Network, Settings, Untried, format,
};
use provenance::Provenance;
use report::Layout;
use report::RunDirectory;
use report::bounds::{Bounds, Run, SCHEMA, Threshold, curves, table, to_json};

const TWO_HOPS: &str = include_str!("../../../../examples/networks/two-hops.toml");
const PRIORITIES: &str = include_str!("../../../../examples/networks/priorities.toml");

const OVERLOADED: &str = r#"
server = [
    { name = "fast", service = { rate = 10 } },
    { name = "slow", service = { rate = 4 } },
]
flow = [
    { name = "f", path = ["fast", "slow"], arrival = { token-bucket = { burst = 2, rate = 5 } } },
    { name = "g", path = ["fast"], arrival = { token-bucket = { burst = 2, rate = 1 } } },
]
"#;

const COPRIME: &str = r#"
time-unit = "us"
data-unit = "b"
server = [{ name = "s", service = { rate = "10Gbps" } }]

[[flow]]
name = "long"
path = ["s"]
arrival = { sum = [
    { staircase = { height = 1000, length = 999_983 } },
    { staircase = { height = 3000, length = 1_000_003 } },
] }

[[flow]]
name = "short"
path = ["s"]
arrival = { token-bucket = { burst = 500, rate = "1kbps" } }
"#;

fn with<R>(
    text: &str,
    analyses: &[Analysis],
    settings: Settings,
    look: impl FnOnce(&Bounds<'_>) -> R,
) -> R {
    let network: Network = format::read(text, Format::Toml).expect("a network");
    let analyser = Analyser::new(&network, settings.clone());
    let flows: Vec<_> = network.flows().map(|(id, _)| id).collect();
    let assessed = analyser.assess(&flows, analyses, true).expect("bounds");
    let servers = analyser.servers(analyses[0]).expect("bounds");
    look(&Bounds {
        network: &network,
        analyses,
        settings: &settings,
        flows: &assessed,
        servers: &servers,
        loads: &network.loads(),
        time_unit: network.time_unit().clone(),
        data_unit: network.data_unit().clone(),
        thresholds: &[],
        derivations: true,
        untried: Vec::new(),
        rounded: false,
    })
}

fn json(bounds: &Bounds<'_>) -> String {
    to_json(&Run { bounds, provenance: &Provenance::default() })
}

const NARROW: Layout = Layout { width: 80, colour: false };

fn fits(text: &str) -> bool {
    text.lines().all(|line| line.chars().count() <= 80)
}

#[test]
fn best_bounds_with_their_derivation() {
    let settings = Settings::default().multiplexed(Multiplexing::Arbitrary);
    let text = with(TWO_HOPS, &[Analysis::Best], settings, |bounds| table(bounds, NARROW));
    assert!(fits(&text), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn analyses_side_by_side() {
    let analyses = [Analysis::Tfa, Analysis::Sfa, Analysis::Pmoo];
    let text = with(TWO_HOPS, &analyses, Settings::default(), |bounds| table(bounds, NARROW));
    assert!(fits(&text), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn priorities_in_the_units_of_the_file() {
    let text =
        with(PRIORITIES, &[Analysis::Best], Settings::default(), |bounds| table(bounds, NARROW));
    assert!(fits(&text), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn an_overloaded_server_is_named_with_its_load() {
    let text =
        with(OVERLOADED, &[Analysis::Best], Settings::default(), |bounds| table(bounds, NARROW));
    assert!(text.contains("server 'slow' is overloaded, at 125.0 %"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_curve_that_stands_in_for_a_longer_one_is_named_and_has_no_run() {
    let best = [Analysis::Best];
    let text = with(COPRIME, &best, Settings::default(), |bounds| table(bounds, NARROW));
    assert!(fits(&text), "{text}");
    insta::assert_snapshot!(text);
    let json = with(COPRIME, &best, Settings::default(), json);
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(value["stand-ins"], serde_json::json!(["flow 'long'"]));
    assert_eq!(value["flows"][0]["run"], serde_json::Value::Null);
    assert_eq!(value["flows"][0]["bounds"][0]["tightness"], serde_json::Value::Null);
    assert_eq!(value["flows"][0]["bounds"][0]["delay-by"]["outlined"], true);
}

#[test]
fn json_is_as_its_schema_says() {
    let schema: serde_json::Value = serde_json::from_str(SCHEMA).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    for text in [TWO_HOPS, PRIORITIES, OVERLOADED, COPRIME] {
        let json = with(text, &[Analysis::Sfa, Analysis::Best], Settings::default(), json);
        let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let faults: Vec<String> =
            validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(faults.is_empty(), "{faults:?}\n{json}");
    }
    let json = with(TWO_HOPS, &[Analysis::Sfa], Settings::default(), json);
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let delay = &value["flows"][0]["bounds"][0]["delay"];
    assert_eq!(delay["exact"], "379/14");
    assert_eq!(delay["value"], 379.0 / 14.0);
}

#[test]
fn what_was_not_tried_is_said_with_how_long_it_takes() {
    let with_untried = |bounds: &Bounds<'_>| {
        let untried = |analysis, time| Untried { analysis, time };
        let bounds = Bounds {
            untried: vec![
                untried(Analysis::Plp, Estimate::AtLeast(Duration::from_secs(7_500))),
                untried(Analysis::TandemMatching, Estimate::About(Duration::from_secs(42))),
            ],
            rounded: true,
            time_unit: bounds.time_unit.clone(),
            data_unit: bounds.data_unit.clone(),
            ..*bounds
        };
        (table(&bounds, NARROW), json(&bounds))
    };
    let (text, json) = with(TWO_HOPS, &[Analysis::Quick], Settings::default(), with_untried);
    assert!(fits(&text), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "smallest of the quick analyses",
        "quick is the smallest of tfa++, sfa and pmoo",
        "left out because they would take too long: plp (at least 2 h 5 min), tma (about 42 s)",
        "more than 1,024 bits are rounded up",
    ] {
        assert!(words.contains(part), "{part}: {text}");
    }
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert!(is_valid(&value), "{json}");
    assert_eq!(value["untried"][0]["analysis"], "plp");
    assert_eq!(value["untried"][0]["at-least"], true);
    assert_eq!(value["untried"][1]["estimate_s"], 42.0);
    assert_eq!(value["rounded"], true);
}

#[test]
fn bounds_that_a_deadline_cut_short_are_marked() {
    let long = calculus::Rational::from(1_000_000);
    for (deadline, in_time) in
        [(Some(long), true), (Some(calculus::Rational::ZERO), false), (None, false)]
    {
        let settings = Settings { deadline: deadline.clone(), ..Settings::default() };
        let both = |bounds: &Bounds<'_>| (table(bounds, NARROW), json(bounds));
        let (text, json) = with(TWO_HOPS, &[Analysis::Best], settings.clone(), both);
        assert_eq!(text.contains("cut short"), in_time, "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let count = if in_time { "2 of 2 flows are" } else { "0 of 2 flows are" };
        let says = words.contains(&format!("{count} proven to be within the deadline"));
        assert_eq!(says, deadline.is_some(), "{text}");
        let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert!(is_valid(&value), "{json}");
        assert_eq!(value["flows"][0]["bounds"][0]["cut-short"], in_time);
        // In the table with several analyses, a star stands behind the delay.
        let several = [Analysis::Best, Analysis::Sfa];
        let text = with(TWO_HOPS, &several, settings, |bounds| table(bounds, NARROW));
        assert_eq!(text.contains('*'), in_time, "{text}");
    }
}

fn is_valid(value: &serde_json::Value) -> bool {
    let schema: serde_json::Value = serde_json::from_str(SCHEMA).expect("a schema");
    jsonschema::validator_for(&schema).expect("a schema").is_valid(value)
}

#[test]
fn curves_are_drawn_as_a_file_of_their_own() {
    let svg = with(TWO_HOPS, &[Analysis::Sfa], Settings::default(), |bounds| {
        curves(bounds, &bounds.flows[0][0]).expect("a drawing")
    });
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
    for part in ["stroke-dasharray", "arrivals", "left over for it (sfa)", "time in s"] {
        assert!(svg.contains(part), "{part}: {svg}");
    }
}

#[test]
fn a_run_directory_has_the_page_its_curves_and_a_row_for_each_bound() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let analyses = [Analysis::Sfa, Analysis::Best];
    let (flows, servers) = with(TWO_HOPS, &analyses, Settings::default(), |bounds| {
        let run = Run {
            bounds,
            provenance: &Provenance {
                command: ["planimeter", "bound", "<net>"].map(str::to_owned).to_vec(),
                ..Provenance::default()
            },
        };
        let directory = RunDirectory::create(Some(root.path())).expect("made");
        directory.write_bounds(&run).expect("written");
        (bounds.flows.len(), bounds.servers.len())
    });
    let read = |name: &str| std::fs::read_to_string(root.path().join(name)).expect(name);
    let (page, csv) = (read("report.html"), read("bounds.csv"));
    assert_eq!(csv.lines().count(), 1 + 2 * flows, "{csv}");
    assert!(csv.contains(",sfa,sfa,27.0714"), "{csv}");
    // The page has a figure of the network, and one with the curves of each flow.
    assert_eq!(page.matches("<figure id=").count(), 1 + flows);
    for part in ["&lt;net&gt;", "Largest delay bound", "Derivation of each bound", "Left over"] {
        assert!(page.contains(part), "{part}");
    }
    let rows =
        page.split("id=\"servers\"").nth(1).expect("servers").matches("<tr><th scope=\"row\"");
    assert!(rows.count() >= servers);
    let files = std::fs::read_dir(root.path().join("figures")).expect("figures").count();
    assert_eq!(files, 3 * (1 + flows));
    let network = read("figures/figure-01-servers-and-flows.csv");
    assert!(network.starts_with("flow,server,load [fraction],next\nf0,s0,0.5,s1\n"), "{network}");
}

#[test]
fn what_is_missed_comes_before_all_figures_of_the_page() {
    let text = TWO_HOPS.replacen("[[flow]]", "[[flow]]\nmaximum-delay = 1", 1);
    let page = with(&text, &[Analysis::Best], Settings::default(), |bounds| {
        let broken = Threshold {
            condition: "load < 0.1".to_owned(),
            unit: statistics::Unit::Fraction,
            value: Some(0.5),
            of: "server 's0'".to_owned(),
            held: false,
        };
        let bounds = Bounds {
            thresholds: &[broken],
            time_unit: bounds.time_unit.clone(),
            data_unit: bounds.data_unit.clone(),
            untried: bounds.untried.clone(),
            ..*bounds
        };
        report::bounds::page(&Run { bounds: &bounds, provenance: &Provenance::default() }).html()
    });
    let place = |what: &str| page.find(what).unwrap_or_else(|| panic!("no {what}"));
    let banner = place("FAIL: 1 of 1 maximum delay missed; 1 of 1 threshold broken.");
    let missed = place("may exceed its maximum delay of 1 s");
    assert!(banner < missed && missed < place("Largest delay bound"));
    assert!(missed < place("threshold load &lt; 0.1 does not hold for server"));
    place("✗ missed");
    place("✗ FAIL");
}

#[test]
fn delay_and_backlog_are_marked_where_they_are_attained() {
    let text = r#"
        [[server]]
        name = "s"
        service = { rate-latency = { rate = 10, latency = 10 } }
        [[flow]]
        name = "f"
        path = ["s"]
        arrival = [{ token-bucket = { burst = 1, rate = 100 } }, { token-bucket = { burst = 25, rate = 5 } }]
    "#;
    // Both are attained at the bend of the arrival curve at 24/95 s, where 25 + 5 t bits have
    // arrived, which leave at 10 + (25 + 5 t) / 10.
    let drawn = with(text, &[Analysis::Sfa], Settings::default(), |bounds| {
        let drawing = curves(bounds, &bounds.flows[0][0]).expect("a drawing");
        (drawing, bounds.flows[0][0].bound.delay.to_f64())
    });
    assert!((drawn.1 - 12.373_684_21).abs() < 1e-6, "{}", drawn.1);
    assert!(drawn.0.contains("delay bound: 12.37369 s"), "{}", drawn.0);
    assert!(drawn.0.contains("backlog bound: 75 b"), "{}", drawn.0);
    // With delays alone, the output is bounded by the arrival curve, delayed by the bound.
    let drawn = with(TWO_HOPS, &[Analysis::TfaPlusPlus], Settings::default(), |bounds| {
        curves(bounds, &bounds.flows[0][0]).expect("a drawing")
    });
    assert!(drawn.contains("all data has left by then (delay bound)"), "{drawn}");
    assert!(drawn.contains("delay bound: 33.08334 s"), "{drawn}");
}
