//! Tests of the curve algebra: published cases, laws, and a naive second implementation.

mod laws;
mod limits;
mod models;
mod oracle;
mod processing;
mod reference_cases;
