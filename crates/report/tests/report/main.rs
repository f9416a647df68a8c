//! Tests of the output of controller benchmarks: the text for a terminal, pages, figures,
//! comparisons and run directories.

mod compare;
mod directory;
mod figures;
mod html;
#[path = "../browser/letters.rs"]
mod letters;
mod overlay;
mod schema;
mod support;
mod terminal;
