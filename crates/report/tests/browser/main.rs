//! Reports in a real browser: Debian's Chromium without a screen.
//!
//! A report must cause no word on the console and no request, its tables must fit a window of 1,300 pixels, and every
//! figure must have axes with units and a legend. Where there is no Chromium the tests say `SKIPPED`, or fail if
//! PLANIMETER_REQUIRE_PEERS is 1; `conformance/install.sh chromium` installs it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use calculus::network::{Analyser, Analysis, Format, Settings, format};
use provenance::Provenance;
use report::RunDirectory;
use report::page::{Block, Cell, Column, Figure, Note, Page, Table};
use report::plot::{Axis, HeatCell, HeatMap, Line, Plot, Point, Style, Unit};
use report::value::Spread;
use serde_json::Value;

#[path = "../report/support.rs"]
#[allow(dead_code, reason = "the tests of reports use more of it")]
mod support;

/// Where the browser is; `None`, with a word about it, if there is none.
fn chromium() -> Option<PathBuf> {
    let folders = env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = env::split_paths(&folders)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|path| path.is_file());
    if found.is_none() {
        let required = env::var("PLANIMETER_REQUIRE_PEERS").is_ok_and(|value| value == "1");
        assert!(!required, "there is no Chromium: conformance/install.sh chromium");
        eprintln!(
            "SKIPPED: there is no Chromium, so no report was opened in a browser; conformance/install.sh chromium"
        );
    }
    found
}

/// The page as the browser has it when all is loaded, and what it said on its console.
fn open(browser: &Path, page: &Path, more: &[&str]) -> (String, Vec<String>) {
    let profile = tempfile::tempdir().expect("a temporary directory");
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--window-size=1300,2000",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-dev-shm-usage",
        ])
        .args(["--enable-logging=stderr", "--virtual-time-budget=10000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(more)
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser runs");
    let console = String::from_utf8_lossy(&output.stderr)
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .map(str::to_owned)
        .collect();
    (String::from_utf8_lossy(&output.stdout).into_owned(), console)
}

/// What a script finds in a copy of the page that lets it run.
fn inspect(browser: &Path, page: &Path, more: &[&str]) -> Value {
    let html = fs::read_to_string(page).expect("a page");
    let policy = "default-src 'none'; style-src 'unsafe-inline'";
    assert!(html.contains(policy), "the policy has changed");
    let script = format!("<script>{}</script></head>", include_str!("inspect.js"));
    let copy = html
        .replacen(
            policy,
            "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'",
            1,
        )
        .replacen("</head>", &script, 1);
    let file = page.with_file_name("inspected.html");
    fs::write(&file, copy).expect("written");
    let (dom, console) = open(browser, &file, more);
    let found = dom.split("id=\"found\">").nth(1).and_then(|rest| rest.split("</script>").next());
    let found = found.unwrap_or_else(|| panic!("the script found nothing; console: {console:?}"));
    serde_json::from_str(found).expect("JSON")
}

fn check(browser: &Path, name: &str, page: &Path) {
    let (_, console) = open(browser, page, &[]);
    assert!(console.is_empty(), "{name}: {console:#?}");
    let found = inspect(browser, page, &[]);
    assert_eq!(
        found["requests"].as_array().map(Vec::len),
        Some(0),
        "{name}: {}",
        found["requests"]
    );
    assert_eq!(
        found["overflowing"].as_array().map(Vec::len),
        Some(0),
        "{name}: {}",
        found["overflowing"]
    );
    assert_eq!(found["page"][0], found["page"][1], "{name}: the page is wider than its window");
    let figures = found["figures"].as_array().expect("figures");
    assert!(!figures.is_empty(), "{name} has no figure");
    for figure in figures {
        let title = format!("{name}, {}", figure["title"]);
        assert!(figure["width"].as_f64().is_some_and(|width| width > 300.0), "{title}");
        assert!(!figure["legend"].as_array().expect("a legend").is_empty(), "{title}: no legend");
        let labels = figure["labels"].as_array().expect("labels");
        assert_eq!(labels.len(), 2, "{title}: two axes");
        for label in labels {
            let text = label["text"].as_str().unwrap_or_default();
            let ticks: Vec<&str> = label["ticks"]
                .as_array()
                .expect("ticks")
                .iter()
                .filter_map(Value::as_str)
                .collect();
            assert!(!text.is_empty(), "{title}: an axis without a name");
            let named = text.contains('(') || text.contains(" in ");
            let of_each = ticks
                .iter()
                .filter(|tick| **tick != "0")
                .all(|tick| tick.chars().any(char::is_alphabetic) || tick.contains('%'));
            match label["unit"].as_str().unwrap_or_default() {
                // What is counted is the name of the axis; an index has no unit; cells have names.
                "count" | "index" | "" => {}
                unit => {
                    assert!(named || of_each, "{title}: no unit ({unit}) on {text:?}, {ticks:?}")
                }
            }
        }
    }
}

#[test]
fn reports_of_controllers_are_quiet_complete_and_fit() {
    let Some(browser) = chromium() else { return };
    for (name, result) in [("a point", support::figure_7()), ("a sweep", support::rates())] {
        let root = tempfile::tempdir().expect("a temporary directory");
        let directory = RunDirectory::create(Some(root.path())).expect("made");
        directory.write(&result).expect("written");
        check(&browser, name, &root.path().join("report.html"));
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
        derivations: true,
    };
    let root = tempfile::tempdir().expect("a temporary directory");
    let directory = RunDirectory::create(Some(root.path())).expect("made");
    let command = ["planimeter", "bound", &"a-long-name/".repeat(40)].map(str::to_owned);
    let run = report::bounds::Run {
        bounds: &bounds,
        provenance: &Provenance { command: command.to_vec(), ..Provenance::default() },
    };
    directory.write_bounds(&run).expect("written");
    check(&browser, "bounds", &root.path().join("report.html"));
}

/// A page of every kind of block: what tables, programs, devices and comparisons are made of.
fn blocks() -> Page {
    let mut page = Page::new("Planimeter", "Every kind of block");
    page.lead(Block::Notes(vec![Note::warning("warned 3 times"), Note::plain("to know")]));
    let line = |name: &str, style: Style| {
        let points = (1..9).map(|n| Point {
            spread: Spread::Confidence(0.2),
            ..Point::new(f64::from(n), 1e-6 * f64::from(n))
        });
        Line::new(name, points.collect(), style)
    };
    let plot = Plot {
        lines: vec![
            line("one", Style::series(0).filled()),
            line("other", Style::series(1).hollow()),
        ],
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
    page.section("all", "All", vec![Block::Figures(figures), Block::Table(table)]);
    page
}

#[test]
fn every_kind_of_block_is_quiet_and_fits_in_light_and_dark() {
    let Some(browser) = chromium() else { return };
    let root = tempfile::tempdir().expect("a temporary directory");
    let directory = RunDirectory::create(Some(root.path())).expect("made");
    directory.write_page(&blocks(), &[]).expect("written");
    let page = root.path().join("report.html");
    check(&browser, "blocks", &page);
    let light = inspect(&browser, &page, &[])["background"].clone();
    let dark = inspect(&browser, &page, &["--blink-settings=preferredColorScheme=0"])["background"]
        .clone();
    assert_eq!(light, "rgb(255, 255, 255)");
    assert_ne!(light, dark, "a reader who prefers dark pages has a dark one");
}

/// A page that asks for a picture from elsewhere is found out, so that the tests above can fail.
#[test]
fn a_request_is_noticed() {
    let Some(browser) = chromium() else { return };
    let root = tempfile::tempdir().expect("a temporary directory");
    let page = root.path().join("page.html");
    let html = blocks().html().replacen("<main>", "<main><img src=\"http://192.0.2.1/x.png\">", 1);
    fs::write(&page, html).expect("written");
    let (_, console) = open(&browser, &page, &[]);
    assert!(console.iter().any(|line| line.contains("Content Security Policy")), "{console:?}");
}
