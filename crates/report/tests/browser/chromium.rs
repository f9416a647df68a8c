//! Checks what every report must satisfy in a browser. Tests of the command use this file too.

use std::env;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub(crate) use devtools::{Medium, Scheme, Shown, View};

#[path = "devtools.rs"]
mod devtools;

/// The width of A4 without margins, in CSS pixels. Browsers scale down content that is up to half
/// as wide again.
const SHEET: u32 = 718;

/// Returns the path of the browser. If there is none, prints a message and returns `None`.
pub(crate) fn chromium() -> Option<PathBuf> {
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

/// A window of a desktop.
pub(crate) const DESKTOP: View =
    View { width: 1300, medium: Medium::Screen, scheme: Scheme::Light };

/// Returns the messages on the console of a page, and what [`check`] needs to know about it.
pub(crate) fn open(browser: &Path, page: &Path, view: View) -> Shown {
    devtools::show(browser, page, view, include_str!("inspect.js"))
}

/// Checks that the page is quiet, requests nothing, and fits a window of 1,300 pixels and a sheet
/// of paper, and that its figures have axes, units and legends. Returns the number of figures.
pub(crate) fn check(browser: &Path, name: &str, page: &Path) -> usize {
    let Shown { console, found } = open(browser, page, DESKTOP);
    assert!(console.is_empty(), "{name}: {console:#?}");
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
    let sheet = View { width: SHEET, medium: Medium::Print, ..DESKTOP };
    let printed = open(browser, page, sheet).found;
    assert_eq!(
        printed["beyond"].as_array().map(Vec::len),
        Some(0),
        "{name}: over the next figure on paper: {}",
        printed["beyond"]
    );
    let wide = printed["page"][0].as_f64().expect("a width");
    assert!(
        wide <= 1.5 * f64::from(SHEET),
        "{name}: {wide} pixels wide on paper, {SHEET} with all of its letters"
    );
    let figures = found["figures"].as_array().expect("figures");
    for figure in figures {
        let title = format!("{name}, {}", figure["title"]);
        assert!(figure["width"].as_f64().is_some_and(|width| width > 300.0), "{title}");
        assert!(!figure["legend"].as_array().expect("a legend").is_empty(), "{title}: no legend");
        let labels = figure["labels"].as_array().expect("labels");
        assert_eq!(Some(labels.len() as u64), figure["axes"].as_u64(), "{title}: axes with a name");
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
                // For a count, the name of the axis states what is counted. An index has no unit,
                // and cells have names.
                "count" | "index" | "" => {}
                unit => {
                    assert!(named || of_each, "{title}: no unit ({unit}) on {text:?}, {ticks:?}")
                }
            }
        }
    }
    figures.len()
}

/// Checks that the page fits the narrow window of a phone, where wider content must scroll in a box
/// of its own.
pub(crate) fn check_narrow(browser: &Path, name: &str, page: &Path) {
    for scheme in [Scheme::Light, Scheme::Dark] {
        let found = open(browser, page, View { width: 400, scheme, ..DESKTOP }).found;
        let wide = found["page"][1].as_f64().expect("a width");
        assert!(wide <= 400.0, "{name}: the window has {wide} pixels");
        assert_eq!(found["page"][0], found["page"][1], "{name}: the page is wider than its window");
        for figure in found["figures"].as_array().expect("figures") {
            let width = figure["width"].as_f64().expect("a width");
            assert!(width > 500.0, "{name}: letters of {} are too small", figure["title"]);
        }
    }
}
