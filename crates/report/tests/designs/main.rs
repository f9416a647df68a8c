//! Tests of the output of a comparison of table designs: the table for a terminal, the page, CSV
//! and JSON.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use provenance::{Host, Provenance};
use report::Layout;
use report::designs::{Run, SCHEMA, document, table, to_csv, to_json};
use serde_json::Value;
use tables::machine::{Cache, Latency, cores};
use tables::measure::{
    Clock, CounterError, Findings, Machine, Percentiles, Plan, Selection, Settings, run as measure,
};
use tables::{EntryLock, Pages, Synchronisation, UpdateMethod};

/// Measures the paper's comparison in short turns, since the tests cover the output and not the
/// figures.
fn findings() -> Findings {
    static MEASURED: OnceLock<Findings> = OnceLock::new();
    MEASURED.get_or_init(measured).clone()
}

fn measured() -> Findings {
    let latency = |bytes, nanoseconds| Latency {
        bytes,
        nanoseconds,
        median: nanoseconds * 1.1,
        pages: Pages::HugeAdvised,
    };
    let machine = Machine {
        caches: vec![
            Cache { level: 1, bytes: 32 << 10, claimed: None },
            Cache { level: 3, bytes: 15 << 20, claimed: None },
        ],
        latencies: vec![
            ("L1".to_owned(), latency(16 << 10, 1.1)),
            ("memory".to_owned(), latency(256 << 20, 158.0)),
        ],
        clock: Clock { cost: 20, step: 1 },
        counters: Err(CounterError::NotThere),
        pinned: Ok(()),
    };
    let mut cores = cores().expect("the cores of this process");
    cores.resize(cores.len().max(2), cores[0]);
    let settings = Settings {
        time: Duration::from_millis(1),
        warm_up: Duration::ZERO,
        repetitions: 2,
        batch: 32,
        fill: 1.0,
        seed: 11,
        cores,
        announce: false,
    };
    let selections = Selection::paper(&[16, 256], &[1, 2], &[32], &[4]);
    let plan = Plan::new(&selections).expect("a plan");
    measure(&plan, &settings, machine, &AtomicBool::new(false), &mut |_| {})
}

fn with<R>(findings: &Findings, look: impl FnOnce(&Run<'_>) -> R) -> R {
    let host = Host {
        hostname: "<host>".to_owned(),
        kernel: "Linux 6.1".to_owned(),
        cpu_model: "A processor".to_owned(),
        cpus: 2,
        memory_bytes: 1 << 30,
    };
    let provenance = Provenance {
        planimeter_version: "0.1.0".to_owned(),
        build: None,
        started_at: "2026-01-02T03:04:05Z".to_owned(),
        elapsed_s: 12.5,
        command: vec!["planimeter".to_owned(), "tables".to_owned()],
        host,
        shares: Vec::new(),
    };
    look(&Run { findings, broken: &[], provenance: &provenance })
}

fn json(findings: &Findings) -> Value {
    serde_json::from_str(&with(findings, to_json)).expect("JSON")
}

#[test]
fn results_follow_the_schema_and_the_schema_is_strict() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    jsonschema::meta::validate(&schema).expect("the schema is a schema");
    let validator = jsonschema::validator_for(&schema).expect("the schema compiles");
    let mut partial = findings();
    partial.interrupted = true;
    partial.unfinished = vec![partial.measured[0].case];
    for findings in [findings(), partial] {
        let value = json(&findings);
        let errors: Vec<_> =
            validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
    for pointer in
        ["", "/settings", "/machine", "/cases/0", "/cases/0/turns/0", "/cases/0/single_ns"]
    {
        let mut value = json(&findings());
        let object = value.pointer_mut(pointer).and_then(Value::as_object_mut).expect(pointer);
        object.insert("unknown".to_owned(), Value::Null);
        assert!(!validator.is_valid(&value), "{pointer:?} takes anything");
    }
}

#[test]
fn figures_are_those_that_were_measured() {
    let findings = findings();
    let value = json(&findings);
    assert_eq!(value["settings"]["seed"], 11);
    for (one, case) in findings.measured.iter().zip(value["cases"].as_array().expect("cases")) {
        let rates = one.rates();
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        assert_eq!(case["rate"]["mean"].as_f64().expect("a rate"), mean);
        assert_eq!(case["single_ns"]["p50"].as_f64(), one.single.tail_at(0.5).map(f64::from));
        assert_eq!(case["lost"].as_u64(), one.lost);
    }
    let csv = with(&findings, to_csv);
    assert_eq!(csv.lines().count(), findings.measured.len() + 1);
    let columns: BTreeSet<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(columns.len(), 1, "rows differ in length");
}

#[test]
fn the_table_fits_and_says_how_it_was_measured() {
    for width in [80, 100] {
        let text = with(&findings(), |run| table(run, Layout { width, colour: false }));
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        for words in [
            "seed 11",
            "2⁴",
            "±",
            "double-buffer 200us",
            "Not offered",
            "hardware counter",
            "158.0 ns",
        ] {
            assert!(text.contains(words), "{words:?} is not in\n{text}");
        }
        assert!(!text.contains("PARTIAL") && !text.contains("LOST"), "{text}");
    }
}

/// The columns must fit the terminal even if an interval is wider than its mean, because the
/// machine was disturbed in one turn.
#[test]
fn the_table_fits_when_turns_are_far_apart() {
    for factor in [1.1, 37.0, 1e3, 1e6, 1e-3] {
        let mut findings = findings();
        for one in &mut findings.measured {
            let turn = &mut one.turns[1];
            turn.rate_by_processor *= factor;
            turn.rate_by_wall *= factor;
            turn.single.p50 = turn.single.p50.map(|median| (median as f64 * factor).min(4e9) as _);
        }
        let text = with(&findings, |run| table(run, Layout { width: 80, colour: false }));
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "× {factor}: {line}");
        }
    }
}

/// Compares a method that waits with one that computes. Both have a rate by the same clock.
#[test]
fn methods_on_different_clocks_are_compared_by_one() {
    let mut findings = findings();
    for one in &mut findings.measured {
        for turn in &mut one.turns {
            (turn.rate_by_processor, turn.rate_by_wall) = (7e6, 3e6);
            // Measured medians may have the same text as the rates.
            turn.single = Percentiles { p50: Some(500), p99: Some(500), p999: Some(500) };
        }
    }
    let text = with(&findings, |run| table(run, Layout { width: 100, colour: false }));
    let detail = text.split("2⁸ entries").nth(1).expect("the largest size in detail");
    let row = |method: &str, clock: &str| {
        let words = |line: &&str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.contains(&method) && words.contains(&clock)
        };
        detail.lines().find(words).unwrap_or_else(|| panic!("no {method}, {clock} in\n{text}"))
    };
    let (pointer, digest) = (row("pointer", "cpu"), row("digest", "wall"));
    assert!(pointer.contains("7.00 ±") && pointer.contains("3.00 M/s"), "{pointer}");
    assert!(!digest.contains("7.00 ±") && !digest.contains("7.00 M/s"), "{digest}");
    assert!(digest.contains("3.00 ± 0.00 M/s") && digest.contains("3.00 M/s"), "{digest}");
    let page = with(&findings, document);
    let methods = page.split("Update methods (Table 1").nth(1).expect("Table 1");
    let methods = methods.split("</table>").next().expect("a table");
    assert!(methods.contains("wall clock") && methods.contains("pointer"), "{methods}");
    assert!(methods.contains("3.00 ±") && !methods.contains("7.00 ±"), "{methods}");
    findings.measured.retain(|one| !one.case.waits());
    let text = with(&findings, |run| table(run, Layout { width: 100, colour: false }));
    assert!(!text.contains("  clock  "), "one clock needs no column:\n{text}");
}

#[test]
fn updates_that_digests_lose_are_explained() {
    let mut findings = findings();
    let set = |findings: &mut Findings, lost| {
        for one in &mut findings.measured {
            if one.case.design.update == UpdateMethod::Digest {
                one.lost = Some(lost);
            }
        }
        with(findings, |run| table(run, Layout { width: 100, colour: false }))
    };
    assert!(set(&mut findings, 5).contains("Digest loses updates also on one core"));
    assert!(!set(&mut findings, 0).contains("Digest loses"));
    assert!(with(&findings, document).contains("Digest may lose updates, also on one core"));
}

#[test]
fn a_partial_run_says_so_everywhere() {
    let mut findings = findings();
    findings.interrupted = true;
    findings.unfinished = vec![findings.measured[0].case];
    let text = with(&findings, |run| table(run, Layout { width: 80, colour: false }));
    assert!(
        text.contains("PARTIAL  This run is partial: it was interrupted. 1 case was not measured"),
        "{text}"
    );
    assert!(with(&findings, document).contains("This run is partial"));
    assert_eq!(json(&findings)["completion"], "partial");
}

/// The page also shows a missed threshold, and the answer below it has no colour of good news.
#[test]
fn a_threshold_that_does_not_hold_is_in_page_and_terminal() {
    let findings = findings();
    let good = "class=\"card good\"";
    assert!(with(&findings, document).contains(good));
    let broken = ["threshold rate > 1G does not hold for inline: it is 5.00 M/s".to_owned()];
    let provenance = Provenance::default();
    let run = Run { findings: &findings, broken: &broken, provenance: &provenance };
    let page = document(&run);
    assert!(page.contains("threshold rate &gt; 1G does not hold") && !page.contains(good));
    let text = table(&run, Layout { width: 80, colour: false });
    assert!(text.contains("FAIL  threshold rate > 1G does not hold for inline"), "{text}");
}

#[test]
fn a_lost_update_is_an_alarm_only_where_none_may_be_lost() {
    let mut findings = findings();
    let locked = findings
        .measured
        .iter_mut()
        .find(|one| one.case.cores == 2 && one.case.design.entry_lock == EntryLock::PerEntry)
        .expect("a locked case");
    locked.lost = Some(3);
    let text = with(&findings, |run| table(run, Layout { width: 100, colour: false }));
    assert!(text.contains("LOST  3 of"), "{text}");
    locked_is_clean_without(&mut findings);
}

fn locked_is_clean_without(findings: &mut Findings) {
    for one in &mut findings.measured {
        let may_lose = one.case.cores == 2
            && one.case.design.entry_lock == EntryLock::None
            && one.case.design.synchronisation == Synchronisation::Optimistic;
        one.lost = one.lost.map(|_| if may_lose { 3 } else { 0 });
    }
    let text = with(findings, |run| table(run, Layout { width: 100, colour: false }));
    assert!(!text.contains("LOST"), "{text}");
}

#[test]
fn the_page_stands_alone_and_has_every_figure() {
    let page = with(&findings(), document);
    for title in
        ["Cost of an update", "Fig. 4", "Fig. 5", "Fig. 6", "Table 1", "not counted", "2⁸ entries"]
    {
        assert!(page.contains(title), "{title}");
    }
    assert!(
        page.contains("memory 158 ns") && page.contains("&lt;host&gt;"),
        "marks or escapes are missing"
    );
    let links: Vec<_> = page.match_indices("http").map(|(at, _)| &page[at..at + 26]).collect();
    assert!(
        links.iter().all(|link| link.starts_with("http://www.w3.org/2000/svg")
            || page.contains("http-equiv") && link.starts_with("http-equiv")),
        "{links:?}"
    );
    assert!(!page.contains("<script") && !page.contains("src="));
    for (open, close) in [("<table", "</table>"), ("<figure", "</figure>"), ("<svg", "</svg>")] {
        assert_eq!(page.matches(open).count(), page.matches(close).count(), "{open}");
    }
}
