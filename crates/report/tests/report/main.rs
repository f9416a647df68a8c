//! What people look at, made from results of every kind.

mod compare;
mod directory;
mod html;
mod overlay;
mod schema;
mod support;
mod terminal;
