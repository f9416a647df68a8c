//! A switch in this process, driven by a P4Runtime client over loopback, its ports in memory.

/// How packets go; `tests/compiled.rs` has the same tests with the other one.
const PATH: softswitch::Path = softswitch::Path::Interpreter;

mod changes;
mod devices;
mod entities;
mod faults;
mod metrics;
mod packets;
mod pipelines;
mod ports;
mod restart;
mod support;
mod thrift;
mod translation;
