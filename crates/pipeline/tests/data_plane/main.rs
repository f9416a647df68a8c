//! Tests of the interpreter as a P4Runtime device, next to an emulated switch. The same requests
//! get the same answers, and the device reads what packets changed.

mod answered;
mod both;
mod concurrent;
mod deletion;
mod packets;
mod payloads;
mod random;
mod translated;
mod workers;
mod written;
