//! Tests of the commands on a device in memory, which is the data plane of an emulated switch: it
//! checks requests as a P4Runtime server does.

mod completion;
mod names;
mod own;
mod round_trip;
mod simple_switch;
mod support;
