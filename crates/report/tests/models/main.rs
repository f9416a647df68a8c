//! Tests of the output of the verification of a device model: the page, the text for a terminal,
//! JSON and CSV.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use device::campaign::{
    Block, Campaign, Cell, CellId, Clock, ClockSource, Counts, Description, Device, Dimension,
    Function, FunctionName, MeasuredBlock, Origin, Picoseconds, SCHEMA as CAMPAIGN, Sample,
    Setting,
};
use device::verify::{Verification, verify};
use device::{Model, Settings};
use provenance::Provenance;
use report::Layout;
use report::models::{
    Run, SCHEMA, Threshold, document, model_table, prediction_table, to_csv, to_json,
    verification_table,
};
use serde_json::Value;
use statistics::Unit;

/// Returns a campaign with two matches and two actions. The last cell takes longer than the sum of
/// its parts, and its name contains markup.
fn campaign() -> Campaign {
    let function = |name: &str, dimension| Function {
        name: FunctionName::new(name),
        dimension,
        description: None,
        consists_of: Vec::new(),
    };
    let sets: [&[&str]; 9] = [
        &[],
        &["five-tuple"],
        &["<all>"],
        &["set-nw-src"],
        &["strip-vlan"],
        &["five-tuple", "set-nw-src"],
        &["five-tuple", "strip-vlan"],
        &["<all>", "set-nw-src"],
        &["<all>", "strip-vlan"],
    ];
    let setting = Setting { packet_bytes: 64, rules: 1, conditions: BTreeMap::new() };
    let cell = |names: &[&str]| Cell {
        functions: names.iter().map(|name| FunctionName::new(*name)).collect(),
        setting: setting.clone(),
    };
    let cost = |name: &str| match name {
        "five-tuple" => 3_000_000,
        "<all>" => 6_000_000,
        "set-nw-src" => 9_000_000,
        _ => 4_000_000,
    };
    let mut state = 1u64;
    let mut jitter = move || {
        // The constants are those of Knuth's MMIX.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % 6_000_000) as i64
    };
    let mut blocks = Vec::new();
    for repetition in 0..4 {
        for (number, names) in (0..).zip(&sets) {
            let together = if *names == ["<all>", "strip-vlan"] { 5_000_000 } else { 0 };
            let costs: i64 = names.iter().map(|name| cost(name)).sum();
            let delay = |packet| Sample {
                packet,
                delay: Picoseconds(45_000_000 + costs + together + jitter()),
            };
            let samples: Vec<Sample> = (0..200).map(delay).collect();
            let block = Block {
                cell: CellId(number),
                repetition,
                started_ns: blocks.len() as u64,
                duration_ns: 1,
                packets_per_second: None,
                counts: Counts { sent: 201, received: 200, lost: 1, ..Counts::default() },
                machine: None,
                samples: 200,
                controls: 0,
                offset: 0,
                checksum: 0,
            };
            blocks.push(MeasuredBlock { block, samples, controls: Vec::new() });
        }
    }
    let description = Description {
        schema: CAMPAIGN.to_owned(),
        created: "2026-11-22T09:00:00Z".to_owned(),
        origin: Origin::Measured,
        device: Device {
            name: "<switch>".to_owned(),
            driver: "manual".to_owned(),
            details: BTreeMap::new(),
        },
        baseline: vec![function("port", Dimension::Match), function("output", Dimension::Action)],
        functions: vec![
            function("five-tuple", Dimension::Match),
            function("<all>", Dimension::Match),
            function("set-nw-src", Dimension::Action),
            function("strip-vlan", Dimension::Action),
        ],
        cells: sets.iter().map(|names| cell(names)).collect(),
        line_rate: Some(100_000_000),
        clock: Clock { source: ClockSource::Hardware, tick: Picoseconds(12_500), reference: None },
        seed: 1,
        host: BTreeMap::new(),
    };
    Campaign { description, blocks, rates: Vec::new(), notes: Vec::new() }
}

fn verified() -> &'static (Model, Vec<Verification>) {
    static VERIFIED: OnceLock<(Model, Vec<Verification>)> = OnceLock::new();
    VERIFIED.get_or_init(|| verify(&campaign(), &Settings::default()).expect("a verification"))
}

fn with<R>(look: impl FnOnce(&Run<'_>) -> R) -> R {
    let (model, verifications) = verified();
    let thresholds = [
        Threshold {
            condition: "worst-error(median) < 3 %".to_owned(),
            value: Some(0.08),
            unit: Unit::Fraction,
            held: false,
        },
        Threshold {
            condition: "skill(median) > 0".to_owned(),
            value: None,
            unit: Unit::Index,
            held: false,
        },
    ];
    let command = ["planimeter", "device", "verify", "runs/a"].map(str::to_owned);
    look(&Run {
        model,
        verifications,
        thresholds: &thresholds,
        provenance: &Provenance { command: command.to_vec(), ..Provenance::default() },
    })
}

#[test]
fn results_follow_the_schema_and_the_schema_is_strict() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    jsonschema::meta::validate(&schema).expect("the schema is a schema");
    let validator = jsonschema::validator_for(&schema).expect("the schema compiles");
    let result: Value = serde_json::from_str(&with(to_json)).expect("JSON");
    if let Err(error) = validator.validate(&result) {
        panic!("{error} at {}", error.instance_path());
    }
    for (pointer, change) in [
        ("/settings/0/levels/0", "more"),
        ("/settings/0/cells/5/errors/0", "more"),
        ("/settings/0/shifts/0/shift", "more"),
        ("/settings/0/drift", "more"),
        ("", "more"),
    ] {
        let mut wrong = result.clone();
        wrong.pointer_mut(pointer).expect(pointer)[change] = Value::Bool(true);
        assert!(!validator.is_valid(&wrong), "{pointer}");
    }
}

#[test]
fn the_page_has_a_heat_map_for_each_level_and_no_colour_for_training_cells() {
    let page = with(document);
    assert_eq!(page.matches("<figure id=").count(), 6);
    assert_eq!(page.matches(": training</title>").count(), 6 * 5);
    // The coloured cells are those of test cells and two in each legend.
    let coloured = page.matches("fill-opacity=\"0.").count() - page.matches("\"0.00\"").count();
    assert!((6 * 2..=6 * (4 + 2)).contains(&coloured), "{coloured}");
    assert!(page.contains("▼"), "a prediction is too short");
    assert!(page.contains("&lt;all&gt;") && !page.contains("<all>") && !page.contains("<switch>"));
    assert!(
        page.contains("Measure next: &lt;all&gt; + strip-vlan"),
        "the cell that refutes its prediction"
    );
    assert!(page.contains("36 of 7236 packets were lost"));
    assert!(page.contains("threshold worst-error(median) &lt; 3 % does not hold"));
    assert!(!page.contains("<script") && !page.contains("src="));
    for (open, close) in
        [("<table", "</table>"), ("<figure", "</figure>"), ("<div", "</div>"), ("<dl", "</dl>")]
    {
        assert_eq!(page.matches(open).count(), page.matches(close).count(), "{open}");
    }
}

#[test]
fn the_terminal_says_what_stands_against_a_model() {
    let layout = Layout { width: 100, colour: false };
    let text = with(|run| verification_table(run, layout));
    for said in [
        "packets were lost",
        "1 of 4",
        "Measure next  <all> + strip-vlan",
        "FAIL",
        "8.00 %",
        "no value",
        "·",
    ] {
        assert!(text.contains(said), "{said}:\n{text}");
    }
    let (model, _) = verified();
    let table = model_table(model, layout);
    assert!(table.contains("f0 (baseline)") && table.contains("may take longer"), "{table}");
    let names = ["five-tuple", "set-nw-src"].map(FunctionName::new);
    let composition = model.compose(&model.settings[0], &names).expect("a composition");
    let curves = model.curves(&model.settings[0], &composition).expect("curves");
    let prediction = prediction_table(model, &composition, &curves, layout);
    for said in [
        "burst-delay",
        "confidence 97 %",
        "empirical",
        "Union bound",
        "all curves are burst-delay curves",
    ] {
        assert!(prediction.contains(said), "{said}:\n{prediction}");
    }
}

#[test]
fn every_cell_and_level_has_a_row() {
    let csv = with(to_csv);
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 1 + 9 * 6);
    assert!(rows.iter().all(|row| row.split(',').count() == 10), "{csv}");
    assert!(csv.contains("64,1,\"<all> + strip-vlan\",false,maximum,"));
}
