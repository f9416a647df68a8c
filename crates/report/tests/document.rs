//! Tests that every output format of a document has every value.

use provenance::{Host, Provenance};
use report::page::claims::{Claim, ClaimGroup, Measured, Part, Verdict, counts};
use report::page::document::{Document, Section, csv, json, markdown, terminal};
use report::page::{Cell, Figure, Table};
use report::plot::{Axis, Line, Origin, Plot};
use report::value::{Spread, Value};
use report::{Layout, RunDirectory};
use statistics::{Criterion, Interval, Region, Unit};

/// Returns a claim that was measured, and one that was not.
fn claims() -> Vec<ClaimGroup> {
    let region = |text: &str| -> Region { text.parse().expect("a region") };
    let criterion = Criterion::new(region("1.2..1.6"), region("> 1.05")).expect("nested");
    let measured = Measured { value: 1.4, interval: Interval { low: 1.31, high: 1.49 }, rounds: 5 };
    let interval = Interval { low: 0.7, high: 0.9 };
    let contradicting = Measured { value: 0.8, interval, rounds: 5 };
    let part = |measured| Part {
        name: "saturated over loss-free rate".to_owned(),
        unit: Unit::Index,
        criterion,
        measured,
    };
    let claim = |id: &str, verdict, measured| Claim {
        id: id.to_owned(),
        sentence: format!("Answers <{id}> saturate."),
        source: "IV-A, Fig. 4a".to_owned(),
        published: vec!["≈ around 42k pps".to_owned()],
        verdict,
        decided_by: "the reference controller".to_owned(),
        parts: vec![part(measured)],
        section: Some("fig-1".to_owned()),
        command: Some("planimeter reproduce fig-1".to_owned()),
    };
    let reason = "needs root".to_owned();
    vec![ClaimGroup {
        publication: "A paper".to_owned(),
        claims: vec![
            claim("C1", Verdict::InShape, Some(measured)),
            claim("C2", Verdict::NotTold(reason), None),
            claim("C3", Verdict::RecoversModel, Some(measured)),
            claim("C4", Verdict::NotReproduced, Some(contradicting)),
        ],
    }]
}

#[test]
fn every_output_has_the_claims_with_their_verdicts_and_reasons() {
    let document = document();
    assert_eq!(
        counts(&document.claims),
        "4 claims: 1 reproduced in shape, 1 where the probe recovers the model, 1 not reproduced, 1 not told."
    );
    let html = document.page().html();
    let text = terminal::text(&document, Layout { width: 160, colour: false });
    for words in ["reproduced in shape", "1.40 (1.31 to 1.49)", "not told: needs root", "≈ around"]
    {
        assert!(html.contains(words) && text.contains(words), "{words}\n{text}");
    }
    assert!(html.contains("Answers &lt;C1&gt; saturate.") && html.contains("href=\"#fig-1\""));
    assert!(html.find("claim-C1") < html.find("<section"), "the claims stand above all sections");
    let value: serde_json::Value = serde_json::from_str(&json::to_json(&document)).expect("JSON");
    assert_eq!(value["claims"][0]["verdict"], "reproduced in shape");
    assert_eq!(value["claims"][0]["parts"][0]["measured"]["high"], 1.49);
    assert_eq!(value["claims"][0]["parts"][0]["agreement"], "equivalent");
    assert_eq!(value["claims"][1]["reason"], "needs root");
    let contradiction = "saturated over loss-free rate is 0.800 (0.700 to 0.900), and not > 1.05";
    assert_eq!(value["claims"][3]["reason"], contradiction);
    let words = format!("not reproduced: {contradiction}");
    assert!(text.contains(&words) && html.contains(&words.replace('>', "&gt;")), "{text}");
}

#[test]
fn claims_in_markdown_have_their_verdicts_figures_and_reasons() {
    let text = markdown::claims(&document());
    let row = "| **C1** Answers \\<C1\\> saturate. (IV-A, Fig. 4a) | reproduced in shape | ≈ around 42k pps | saturated over \
               loss-free rate: 1.40 (1.31 to 1.49) (by the reference controller) |";
    assert!(text.contains(row), "{text}");
    let judged = "* **C4**: saturated over loss-free rate (equivalent: 1.2..1.6; in shape: \\> 1.05): 0.800 (0.700 to 0.900), 5 \
                  rounds: contradicts. Not reproduced: saturated over loss-free rate is 0.800 (0.700 to 0.900), and not \\> 1.05.";
    assert!(text.contains(judged), "{text}");
    assert!(text.contains("Not told: needs root."), "{text}");
    assert!(text.contains("\n## A paper\n"), "{text}");
}

fn document() -> Document {
    let mut table =
        Table::of_values("What <was> found", ["figure", "published", "measured", "where"]);
    let about = Value { spread: Spread::About, ..Value::new(1500.0, Unit::PerSecond) };
    let deviation =
        Value { spread: Spread::Deviation(10.0), ..Value::new(1471.0, Unit::PerSecond) };
    let interval = Value { spread: Spread::Confidence(0.5), ..Value::new(12.0, Unit::Seconds) };
    table.row([
        Cell::text("a figure of which much has to be said, since it is like no other, in one line"),
        about.into(),
        interval.into(),
        Cell::text("section 1"),
    ]);
    table.row([
        Cell::text("another, \"quoted\""),
        deviation.into(),
        Cell::text("not measured: for a reason that takes more room than there is in a terminal"),
        Cell::default(),
    ]);
    let line = |origin| {
        let points = [(1.0, Value::new(2.0, Unit::PerSecond)), (2.0, about)];
        Line::of_values("rate", origin, points)
    };
    let plot = Plot::of_values(
        "A chart",
        Axis::linear("switches", Unit::Count),
        Axis::logarithmic("rate", Unit::PerSecond),
        vec![line(Origin::Measured), line(Origin::Published)],
    );
    Document {
        kind: "demo",
        title: "A document".to_owned(),
        findings: vec!["Something was found.".to_owned()],
        notes: vec!["1 of 2 failed.".to_owned(), "2 of 2 failed.".to_owned()],
        partial: Some("interrupted".to_owned()),
        claims: claims(),
        sections: vec![Section {
            id: "fig-1".to_owned(),
            title: "Fig. 1".to_owned(),
            text: vec!["Text.".to_owned()],
            tables: vec![table],
            figures: vec![Figure::plot(plot, "")],
            commands: vec![("Yours:".to_owned(), "planimeter probe".to_owned())],
            links: vec![("More".to_owned(), "run/report.html".to_owned())],
        }],
        provenance: Provenance {
            planimeter_version: "0.1.0".to_owned(),
            build: None,
            started_at: "2026-11-22T09:00:00Z".to_owned(),
            elapsed_s: 1.0,
            command: vec!["planimeter".to_owned(), "demo".to_owned()],
            shares: Vec::new(),
            host: Host::default(),
        },
    }
}

#[test]
fn the_page_tells_published_from_measured_and_asks_for_nothing_outside() {
    let html = document().page().html();
    for text in [
        "rate, published",
        "rate, measured",
        "≈ 1.50 k/s",
        "1.471 ± 0.010 k/s (sd)",
        "12.00 ± 0.50 s",
        "What &lt;was&gt; found",
        "This report is partial: interrupted",
        "href=\"run/report.html\"",
        "planimeter probe",
    ] {
        assert!(html.contains(text), "{text}");
    }
    assert!(
        !html.contains("src=\"http") && !html.contains("href=\"http") && !html.contains("<script")
    );
}

#[test]
fn the_terminal_shows_values_before_words_and_keeps_to_its_width() {
    for width in [80, 100, 160] {
        let text = terminal::text(&document(), Layout { width, colour: false });
        for word in ["≈ 1.50 k/s", "12.00 ± 0.50 s", "1.471 ± 0.010 k/s (sd)", "PARTIAL"] {
            assert!(text.contains(word), "{width}: {word}\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}\n{text}");
    }
}

#[test]
fn json_follows_its_schema_and_csv_has_the_values() {
    let schema: serde_json::Value = serde_json::from_str(json::SCHEMA).expect("JSON");
    jsonschema::meta::validate(&schema).expect("a schema");
    let validator = jsonschema::validator_for(&schema).expect("compiles");
    let mut value: serde_json::Value =
        serde_json::from_str(&json::to_json(&document())).expect("JSON");
    assert!(validator.is_valid(&value), "{:?}", validator.iter_errors(&value).next());
    assert_eq!(value["sections"][0]["charts"][0]["series"][1]["origin"], "published");
    assert_eq!(value["sections"][0]["charts"][0]["series"][1]["points"][1]["approximate"], true);
    value["sections"][0]["tables"][0]["rows"][0][1]["value"] = "a lot".into();
    assert!(!validator.is_valid(&value), "the schema refuses words for a value");
    let files: Vec<(String, String)> = csv::files(&document()).collect();
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].0, "fig-1-table-1.csv");
    for line in [
        "published,per second,1500,,,true",
        "measured,seconds,12,0.5,,",
        "\"another, \"\"quoted\"\"\",published,per second,1471,,10,",
    ] {
        assert!(files[0].1.contains(line), "{line}\n{}", files[0].1);
    }
}

#[test]
fn a_run_directory_has_all_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let directory = RunDirectory::create(Some(folder.path())).expect("empty");
    directory.write_document(&document(), &[]).expect("written");
    for file in
        ["result.json", "report.html", "data/fig-1-table-1.csv", "figures/figure-01-a-chart.csv"]
    {
        assert!(folder.path().join(file).is_file(), "{file}");
    }
}
