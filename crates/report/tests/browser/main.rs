//! Tests reports in a real browser, which is Debian's Chromium without a screen.
//!
//! A report must write nothing to the console and request nothing. Its tables must fit a window of
//! 1,300 pixels, and every figure must have axes with units and a legend. Without Chromium the
//! tests print `SKIPPED`, or fail if PLANIMETER_REQUIRE_PEERS is 1;
//! `conformance/install.sh chromium` installs it.

use std::fs;

use calculus::network::{Analyser, Analysis, Format, Settings, format};
use chromium::{DESKTOP, Scheme, View, check, check_narrow, chromium, open};
use provenance::Provenance;
use report::RunDirectory;
use report::page::{Block, Cell, Column, Figure, Note, Page, Table};
use report::plot::{Axis, HeatCell, HeatMap, Line, Plot, Point, Style, Unit};
use report::value::Spread;

mod chromium;
#[path = "../report/support.rs"]
#[allow(dead_code, reason = "the tests of reports use more of it")]
mod support;

#[test]
fn reports_of_controllers_are_quiet_complete_and_fit() {
    let Some(browser) = chromium() else { return };
    for (name, result) in [("a point", support::figure_7()), ("a sweep", support::rates())] {
        let root = tempfile::tempdir().expect("a temporary directory");
        let directory = RunDirectory::create(Some(root.path())).expect("made");
        directory.write(&result).expect("written");
        assert!(
            check(&browser, name, &root.path().join("report.html")) > 0,
            "{name} has no figure"
        );
        check_narrow(&browser, name, &root.path().join("report.html"));
    }
}

#[test]
fn reports_of_bounds_are_quiet_complete_and_fit() {
    let Some(browser) = chromium() else { return };
    let text = include_str!("../../../../examples/networks/priorities.toml");
    let network = format::read(text, Format::Toml).expect("a network");
    let analyser = Analyser::new(&network, Settings::default());
    let flows: Vec<_> = network.flows().map(|(id, _)| id).collect();
    let assessed = analyser.assess(&flows, &[Analysis::Best], false).expect("bounds");
    let bounds = report::bounds::Bounds {
        network: &network,
        analyses: &[Analysis::Best],
        settings: &Settings::default(),
        flows: &assessed,
        servers: &analyser.servers(Analysis::Best).expect("bounds"),
        loads: &network.loads(),
        time_unit: network.time_unit().clone(),
        data_unit: network.data_unit().clone(),
        thresholds: &[],
        derivations: true,
        untried: Vec::new(),
        rounded: false,
    };
    let root = tempfile::tempdir().expect("a temporary directory");
    let directory = RunDirectory::create(Some(root.path())).expect("made");
    let command = ["planimeter", "bound", &"a-long-name/".repeat(40)].map(str::to_owned);
    let run = report::bounds::Run {
        bounds: &bounds,
        provenance: &Provenance { command: command.to_vec(), ..Provenance::default() },
    };
    directory.write_bounds(&run).expect("written");
    assert!(check(&browser, "bounds", &root.path().join("report.html")) > 0);
    check_narrow(&browser, "bounds", &root.path().join("report.html"));
}

/// Returns a page with every kind of block that reports of tables, programs, devices and
/// comparisons use.
fn blocks() -> Page {
    let mut page = Page::new("Planimeter", "Every kind of block");
    page.lead(Block::Notes(vec![Note::warning("warned 3 times"), Note::plain("to know")]));
    let line = |name: &str, style: Style| {
        let points = (1..9).map(|n| Point {
            spread: Spread::Confidence(0.025e-6),
            ..Point::new(f64::from(n), 1e-6 * f64::from(n))
        });
        Line::new(name, points.collect(), style)
    };
    let plot = Plot {
        lines: (0..4).map(|n| line(&format!("design-{n}"), Style::series(n).filled())).collect(),
        ..Plot::new(
            "A plot",
            "",
            Axis::binary("entries"),
            Axis::logarithmic("latency", Unit::Seconds),
        )
    };
    let cell = |value: f64| {
        let text = format!("{value}");
        Some(HeatCell { value, tip: text.clone(), text, set_off: value == 0.0 })
    };
    let map = HeatMap {
        title: "A map".to_owned(),
        description: String::new(),
        row_title: "match".to_owned(),
        rows: vec!["port".to_owned(), "five-tuple".to_owned()],
        column_title: "action".to_owned(),
        columns: vec!["output".to_owned(), "set-dl-src".to_owned()],
        value_title: "error, largest".to_owned(),
        unit: Unit::Fraction,
        set_off: "training".to_owned(),
        cells: vec![cell(0.0), cell(0.1), cell(0.25), cell(0.5)],
    };
    let figures = vec![Figure::plot(plot, "A remark."), Figure::heat_map(map, "")];
    let columns = (0..11).map(|n| Column::figures(format!("column {n}")));
    let mut table = Table::new("Many columns", columns);
    table.row((0..11).map(|n| Cell::from(format!("{n}.00 ± 0.12 µs"))));
    let columns = (0..4).map(|n| Column::figures(format!("a column with a rather long name {n}")));
    let mut long = Table::new("Long values", columns);
    long.row(
        (0..4).map(|_| Cell::from("12.34 µs ± 5.67 µs in 3 rounds, unlike 98.76 µs ± 5.43 µs")),
    );
    let tables = [table, long].map(Block::Table);
    page.section("all", "All", [Block::Figures(figures)].into_iter().chain(tables).collect());
    page
}

#[test]
fn every_kind_of_block_is_quiet_and_fits_in_light_and_dark() {
    let Some(browser) = chromium() else { return };
    let root = tempfile::tempdir().expect("a temporary directory");
    let directory = RunDirectory::create(Some(root.path())).expect("made");
    directory.write_page(&blocks(), &[]).expect("written");
    let page = root.path().join("report.html");
    assert_eq!(check(&browser, "blocks", &page), 2);
    check_narrow(&browser, "blocks", &page);
    let background =
        |scheme| open(&browser, &page, View { scheme, ..DESKTOP }).found["background"].clone();
    let (light, dark) = (background(Scheme::Light), background(Scheme::Dark));
    assert_eq!(light, "rgb(255, 255, 255)");
    assert_ne!(light, dark, "a reader who prefers dark pages has a dark one");
}

/// A page that requests a picture is noticed, which proves that the tests above can fail.
#[test]
fn a_request_is_noticed() {
    let Some(browser) = chromium() else { return };
    let root = tempfile::tempdir().expect("a temporary directory");
    let page = root.path().join("page.html");
    let html = blocks().html().replacen("<main>", "<main><img src=\"http://192.0.2.1/x.png\">", 1);
    fs::write(&page, html).expect("written");
    let console = open(&browser, &page, DESKTOP).console;
    assert!(console.iter().any(|line| line.contains("Content Security Policy")), "{console:?}");
}
