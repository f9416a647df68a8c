//! Tests of traces: their text, their other forms, and the outcomes that they enumerate.

mod changes;
mod forks;
mod outcomes;
mod paths;
mod support;
mod texts;
