//! Tests of network analyses: published results, closed forms, laws, and simulations.

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
