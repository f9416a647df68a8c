//! What people look at: terminal tables, HTML with plots, CSV, JSON with a schema.
//!
//! Input is a [`probe::outcome::RunResult`]; nothing here measures or decides anything. Each form
//! has a module: [`terminal`] for the table at the end of a run, [`html`] for `report.html`,
//! [`json`] for `result.json`, and [`RunDirectory`], which writes all of them beside the raw
//! histograms and the CSV files. [`mod@compare`] sets results of any kind side by side, as [`results`] reads them. Bounds of networks have
//! forms of their own, in [`bounds`], comparisons of table designs in [`designs`], models of devices in [`models`], how fast
//! programs run in [`throughput`], the tests of RFC 8456 in [`mod@rfc8456`]. All of their pages are
//! made of one model, [`page`], with [`plot`] and [`value`]; reports that put several measurements together are a
//! [`page::document`].
//!
//! Rule of the house: a figure never travels without its method. Means come with their 95 %
//! confidence interval and the number of trials, percentiles with the number of samples, and every
//! form says which side was saturated.

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

/// What figures about how fast something of Planimeter itself runs are worth, where its build was not optimised.
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
        "This Planimeter was built {built}: no figure says anything about {what}. Build it with --release."
    ))
}

/// Returns a value with its unit and three significant digits, as all forms write it: `4.98 k/s`,
/// `873 µs`.
#[must_use]
pub fn quantity(value: f64, unit: plot::Unit) -> String {
    format::figure(value, unit)
}
