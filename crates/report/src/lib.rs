//! Reports: terminal tables, HTML with plots, CSV, JSON with a schema.
//!
//! The input is a [`probe::outcome::RunResult`]. Nothing here measures or decides anything. Each
//! form has a module: [`terminal`] for the table at the end of a run, [`html`] for `report.html`,
//! [`json`] for `result.json`, and [`RunDirectory`], which writes all of them together with the raw
//! histograms and the CSV files. [`mod@compare`] compares results of any kind, as [`results`] reads
//! them. Other verbs have modules of their own: [`bounds`] for bounds of networks, [`designs`] for
//! comparisons of table designs, [`models`] for models of devices, [`throughput`] for the speed of
//! programs, and [`mod@rfc8456`] for the tests of RFC 8456. All pages are built from one model,
//! [`page`], with [`plot`] and [`value`]. A report of several measurements is a [`page::document`].
//!
//! A figure is never shown without its method: means come with their 95 % confidence interval and
//! the number of trials, percentiles with the number of samples, and every form says which side was
//! saturated.

mod alarm;
pub mod bounds;
pub mod compare;
mod csv;
mod describe;
pub mod designs;
pub mod directory;
mod estimates;
mod format;
mod histogram_files;
pub mod html;
pub mod json;
pub mod junit;
pub mod models;
mod notes;
pub mod page;
pub mod plot;
mod put;
pub mod results;
pub mod rfc8456;
pub mod shares;
pub mod terminal;
pub mod throughput;
pub mod value;
mod verdict;

pub use compare::compare;
pub use directory::RunDirectory;
pub use terminal::{Layout, table};

/// Returns a warning if this build is not optimised, because figures about the speed of Planimeter
/// itself are then meaningless. `what` names the subject of the figures.
#[must_use]
pub fn unoptimised(what: &str) -> Option<String> {
    let built = if cfg!(debug_assertions) {
        "without optimisation"
    } else if env!("PLANIMETER_OPTIMISATION") == "0" {
        "for a first look, optimised in parts only"
    } else {
        return None;
    };
    Some(format!(
        "This planimeter was built {built}: its figures say nothing about {what}. Build it with --release."
    ))
}

/// Formats a value with its unit and three significant digits, as all reports do: `4.98 k/s`,
/// `873 µs`.
#[must_use]
pub fn quantity(value: f64, unit: plot::Unit) -> String {
    format::figure(value, unit)
}
