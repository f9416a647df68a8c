//! Networks against exact answers that were published, closed forms and laws.

mod any_order;
mod best;
mod closed_forms;
mod conventions;
mod copies;
mod cycles;
mod delays;
mod linear;
mod many_flows;
mod ports;
mod published;
mod regulators;
mod rings;
mod simulated;
mod soundness;
mod support;
