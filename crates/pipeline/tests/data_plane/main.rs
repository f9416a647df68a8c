//! The interpreter under a P4Runtime device, beside an emulated switch: the same requests get the
//! same answers, and what packets do is read through the device.

mod answered;
mod both;
mod concurrent;
mod deletion;
mod packets;
mod payloads;
mod random;
mod workers;
mod written;
