//! The packets and entries of a measurement of digests.

use entities::{Data, DataType};
use p4runtime::proto::config::P4Info;
use p4runtime::proto::v1;

use crate::live::Wire;

/// A packet, with the digest that it makes the switch emit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emitting {
    /// The bytes of the packet.
    pub packet: Vec<u8>,
    /// The contents of the digest, which no other packet emits.
    pub digest: Data,
}

/// The packets of a measurement.
#[derive(Clone, Debug)]
pub struct Packets {
    /// The port by which the packets enter the switch.
    pub port: u32,
    /// The type of the digest's contents.
    pub data_type: DataType,
    /// The packets. Each makes the switch emit its digest whenever it is sent.
    pub emitting: Vec<Emitting>,
}

/// The packets and entries of a measurement.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// The program for which the packets and entries were generated. The switch must run it.
    pub p4info: P4Info,
    /// The ports of the switch that are connected to this machine.
    pub wires: Vec<Wire>,
    /// The identifier of the digest in P4Info.
    pub digest_id: u32,
    /// The name of the digest.
    pub name: String,
    /// The entries that are in the switch during the measurement, in the order of insertion.
    pub beside: Vec<v1::TableEntry>,
    /// The packets; `Err` with a sentence that says why there are none.
    pub packets: Result<Packets, String>,
}
