//! Tests of server and client in one process over loopback, for behaviour that only a real
//! transport can show.

mod control;
mod faults;
mod hostile;
mod packets;
mod peers;
mod pushes;
mod rpcs;
mod servers;
mod support;
mod tls;
