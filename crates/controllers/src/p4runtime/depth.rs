//! Options that make a controller answer before a packet-in has passed all of its blocks. A
//! benchmark compares them to find the block that limits the controller.
//!
//! A packet-in passes three blocks: gRPC (HTTP/2, protobuf), decoding by the description of the
//! pipeline (P4Info), and the application. A controller that answers after one of these blocks
//! reaches the rate that all blocks up to this one sustain. The bottleneck is the block at which
//! the rate falls. This is the method of the P4RCProbe paper (Harkous et al., IEEE NFV-SDN 2021),
//! section V (Fig. 8), with paths P1, P2 and P3. The bottleneck that the paper found, a description
//! that is read again for every packet, can be enabled here.

use std::fmt;
use std::str::FromStr;

/// The block of a controller after which a packet-in is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerAfter {
    /// The controller answers after gRPC. It sends the payload back by port 1, and does not read
    /// the metadata of the packet-in (path P1 of the paper).
    Grpc,
    /// The controller answers after decoding. It sends the payload back by its ingress port (path
    /// P2 of the paper).
    Decoding,
    /// The controller answers after the application, which chooses the output port and writes rules
    /// (path P3 of the paper).
    #[default]
    Application,
}

impl AnswerAfter {
    /// All blocks, in the order in which a packet-in passes them.
    pub const ALL: [Self; 3] = [Self::Grpc, Self::Decoding, Self::Application];
}

impl fmt::Display for AnswerAfter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Grpc => "grpc",
            Self::Decoding => "decoding",
            Self::Application => "application",
        })
    }
}

/// The error for a text that is not the name of a block of the controller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a block of the controller; name grpc, decoding or application")]
pub struct NoBlock(String);

impl FromStr for AnswerAfter {
    type Err = NoBlock;

    fn from_str(text: &str) -> Result<Self, NoBlock> {
        let found = Self::ALL.into_iter().find(|after| after.to_string() == text);
        found.ok_or_else(|| NoBlock(text.to_owned()))
    }
}

/// The policy for parsing the description of the pipeline (P4Info), by which packet-ins are
/// decoded: once, or again for every packet-in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Description {
    /// The description is parsed once, when the controller starts.
    #[default]
    ReadOnce,
    /// The description is parsed, checked and converted again for every packet-in. ONOS 2.5.0 did
    /// this, and the patch of the P4RCProbe paper (section V) removed it.
    ReadPerPacket,
}
