//! Runs a browser without a screen, and checks what every report must satisfy in it. Tests of the
//! command use this file too.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The width of A4 without margins, in CSS pixels. Browsers scale down content that is up to half
/// as wide again.
const SHEET: f64 = 718.0;

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

/// Returns the page as the browser has it after loading, and the messages on its console.
pub(crate) fn open(browser: &Path, page: &Path, more: &[&str]) -> (String, Vec<String>) {
    load(browser, page, "", more)
}

fn load(browser: &Path, page: &Path, query: &str, more: &[&str]) -> (String, Vec<String>) {
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
        .arg(format!("file://{}{query}", page.display()))
        .output()
        .expect("the browser runs");
    let console = String::from_utf8_lossy(&output.stderr)
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .map(str::to_owned)
        .collect();
    (String::from_utf8_lossy(&output.stdout).into_owned(), console)
}

/// Returns the result of a script that runs in a copy of the page.
pub(crate) fn inspect(browser: &Path, page: &Path, more: &[&str]) -> Value {
    found(browser, page, "", more)
}

fn found(browser: &Path, page: &Path, query: &str, more: &[&str]) -> Value {
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
    let (dom, console) = load(browser, &file, query, more);
    let found = dom.split("id=\"found\">").nth(1).and_then(|rest| rest.split("</script>").next());
    let found = found.unwrap_or_else(|| panic!("the script found nothing; console: {console:?}"));
    serde_json::from_str(found).expect("JSON")
}

/// Checks that the page is quiet, requests nothing, and fits a window of 1,300 pixels and a sheet
/// of paper, and that its figures have axes, units and legends. Returns the number of figures.
pub(crate) fn check(browser: &Path, name: &str, page: &Path) -> usize {
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
    let width = format!("--window-size={SHEET},1000");
    let printed = self::found(browser, page, "?print", &[&width]);
    assert_eq!(
        printed["beyond"].as_array().map(Vec::len),
        Some(0),
        "{name}: over the next figure on paper: {}",
        printed["beyond"]
    );
    let wide = printed["page"][0].as_f64().expect("a width");
    assert!(
        wide <= 1.5 * SHEET,
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
    for dark in [&[][..], &["--blink-settings=preferredColorScheme=0"]] {
        let more: Vec<&str> = ["--window-size=400,1000"].iter().chain(dark).copied().collect();
        let found = inspect(browser, page, &more);
        let wide = found["page"][1].as_f64().expect("a width");
        assert!(wide <= 500.0, "{name}: the window has {wide} pixels");
        assert_eq!(found["page"][0], found["page"][1], "{name}: the page is wider than its window");
        for figure in found["figures"].as_array().expect("figures") {
            let width = figure["width"].as_f64().expect("a width");
            assert!(width > 500.0, "{name}: letters of {} are too small", figure["title"]);
        }
    }
}
