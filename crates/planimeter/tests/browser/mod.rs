//! The report that a verb left, opened in a browser, and its figures as files.

use std::path::Path;

#[path = "../../../report/tests/browser/chromium.rs"]
#[allow(dead_code, reason = "the tests of reports use more of it")]
mod chromium;
#[path = "../../../report/tests/browser/letters.rs"]
#[allow(dead_code, reason = "the tests of reports use more of it")]
mod letters;

/// Whether the report of a run is one that people can read, and whether its PDF files have a glyph for each letter. That it
/// was not looked at is said where there is no browser.
pub(crate) fn check(run: &Path) {
    letters::check(run);
    let page = run.join("report.html");
    if let Some(browser) = chromium::chromium() {
        chromium::check(&browser, &page.display().to_string(), &page);
    }
}
