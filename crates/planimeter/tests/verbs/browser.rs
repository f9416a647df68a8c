//! Checks of the report that a verb left, opened in a browser, and of its figure files.

use std::path::Path;

#[path = "../../../report/tests/browser/chromium.rs"]
#[allow(dead_code, reason = "the tests of reports use more of it")]
mod chromium;
#[path = "../../../report/tests/browser/letters.rs"]
#[allow(dead_code, reason = "the tests of reports use more of it")]
mod letters;

/// Checks that the report of a run is readable, and that its PDF files have a glyph for each
/// letter. Prints a message if there is no browser to check with.
pub(crate) fn check(run: &Path) {
    letters::check(run);
    let page = run.join("report.html");
    if let Some(browser) = chromium::chromium() {
        chromium::check(&browser, &page.display().to_string(), &page);
    }
}

/// Checks that a page without figures is readable, in a window of a desktop and in that of a phone.
pub(crate) fn check_page(page: &Path) {
    if let Some(browser) = chromium::chromium() {
        let name = page.display().to_string();
        chromium::check(&browser, &name, page);
        chromium::check_narrow(&browser, &name, page);
    }
}
