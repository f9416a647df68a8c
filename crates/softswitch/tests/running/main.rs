//! Tests of a switch in this process, which has ports in memory and is driven by a P4Runtime client
//! over loopback.

/// The execution path of the switches. `tests/compiled.rs` runs the same tests with compiled
/// programs.
const PATH: softswitch::Path = softswitch::Path::Interpreter;

mod accounts;
mod changes;
mod devices;
mod entities;
mod faults;
mod hostile;
mod in_process;
mod injection;
mod killed;
mod metrics;
mod mixture;
mod outcomes;
mod packets;
mod pipelines;
mod ports;
mod queues;
mod restart;
mod rules;
mod support;
mod thrift;
mod traffic;
mod translated_ports;
mod translated_state;
mod translation;
