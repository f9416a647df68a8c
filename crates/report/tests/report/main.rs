//! Tests the output for people, made from results of every kind.

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
