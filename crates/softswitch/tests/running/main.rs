//! A switch in this process, driven by a P4Runtime client over loopback, its ports in memory.

mod devices;
mod entities;
mod faults;
mod metrics;
mod packets;
mod pipelines;
mod ports;
mod restart;
mod support;
