//! What an architecture does between the blocks of its package, stated once.
//!
//! Glue is made of statements, as blocks are: assignments to metadata in front of a block, and
//! rules that decide about the packet behind one. The drivers run it with numbers. In the functions
//! of bursts, the code generator writes the same statements out as machine code, and the plan of
//! such a function derives from them which metadata have a place. Copies, groups, further passes
//! and queues are for the drivers.

mod package;
mod pna;
mod psa;
#[cfg(test)]
mod tests;
mod v1model;

pub(crate) use package::{Package, Role, Stage};
pub(crate) use pna::PNA;
pub(crate) use psa::PSA;
pub(crate) use v1model::{AT_INGRESS, REPLICA, TO_GROUP, TO_PORT, V1MODEL, instance};

use crate::layout::MetadataField as Of;
use crate::machine::Effects;
use ir::Architecture;

/// The glue of an architecture. Egress is empty where the architecture has none.
#[derive(Debug)]
pub(crate) struct Glue {
    /// The forms of its package, which differ in the number of blocks.
    pub(crate) packages: &'static [Package],
    /// Assigned to the metadata of a packet that comes in, and not in its further passes.
    pub(crate) received: &'static [Set],
    /// Assigned to what the parser is told of the packet.
    pub(crate) before_parser: &'static [Set],
    /// Assigned to what ingress is told of the packet.
    pub(crate) before_ingress: &'static [Set],
    /// Assigned to what ingress says about the packet, which is zero otherwise.
    pub(crate) ingress_says: &'static [Set],
    /// The rules for what ingress says.
    pub(crate) after_ingress: Rules,
    /// The rules for a packet on its way to the queue of a port.
    pub(crate) before_queue: Rules,
    /// Assigned to the metadata of a packet that enters a queue.
    pub(crate) queued: &'static [Set],
    /// Assigned to what the parser of egress is told of the packet.
    pub(crate) before_egress_parser: &'static [Set],
    /// Assigned to what egress is told of the packet.
    pub(crate) before_egress: &'static [Set],
    /// Assigned to what the deparser of egress is told of the packet.
    pub(crate) before_egress_deparser: &'static [Set],
    /// The rules for what egress says.
    pub(crate) after_egress: Rules,
}

impl Glue {
    /// Returns the glue of an architecture that has any.
    pub(crate) fn of(architecture: &Architecture) -> Option<&'static Self> {
        match architecture {
            Architecture::V1model => Some(&V1MODEL),
            Architecture::Psa => Some(&PSA),
            Architecture::Pna => Some(&PNA),
            Architecture::Other(_) => None,
        }
    }

    /// Returns the form of the package that has a number of blocks.
    pub(crate) fn package(&self, blocks: usize) -> Option<&'static Package> {
        self.packages.iter().find(|package| package.blocks.len() == blocks)
    }
}

/// An assignment of a number to a field of metadata. It does nothing if the program's type lacks
/// the field.
pub(crate) type Set = (Of, Input);

/// The number of an assignment: the packet's, or the same for all packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Known(Known),
    Number(u64),
}

/// A number that an architecture knows about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// The port that the packet came in by, or goes to.
    Port,
    /// The length in bytes as the architecture counts it.
    Length,
    /// The time in microseconds.
    Now,
    /// The direction between host and network.
    Direction,
    /// The path of the packet.
    Path,
    /// The number of the replica.
    Instance,
    ClassOfService,
    ParserError,
    /// One if a checksum was verified and is wrong, zero otherwise.
    ChecksumFailed,
    /// The number of packets in the queue.
    QueueDepth,
    /// The number of passes before this one.
    Generation,
    /// One if there were passes before this one, zero otherwise.
    IsRecirculated,
    /// The number behind the drop port.
    BehindDropPort,
}

impl Known {
    const COUNT: usize = Self::BehindDropPort as usize + 1;

    /// Whether the number is known before the first block runs.
    pub(crate) fn is_known_on_receipt(self) -> bool {
        matches!(self, Self::Port | Self::Length | Self::Now | Self::Direction | Self::Path)
    }
}

/// The numbers of one packet, or the values that stand for them in machine code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inputs<N>([N; Known::COUNT]);

impl<N: Copy> Inputs<N> {
    /// Returns inputs of which each is the same.
    #[inline(always)]
    pub(crate) fn all(number: N) -> Self {
        Self([number; Known::COUNT])
    }

    #[inline(always)]
    pub(crate) fn with(mut self, known: Known, number: N) -> Self {
        self.set(known, number);
        self
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, known: Known, number: N) {
        self.0[known as usize] = number;
    }

    #[inline(always)]
    pub(crate) fn of(&self, known: Known) -> N {
        self.0[known as usize]
    }

    /// Returns the number of the packet, or the one that is the same for all packets.
    #[inline(always)]
    pub(crate) fn get(&self, input: Input) -> Result<N, u64> {
        match input {
            Input::Known(known) => Ok(self.of(known)),
            Input::Number(number) => Err(number),
        }
    }
}

impl Inputs<u64> {
    #[inline(always)]
    pub(crate) fn number(&self, input: Input) -> u64 {
        self.get(input).unwrap_or_else(|number| number)
    }
}

/// Returns the number for [`Known::BehindDropPort`] in 64 bits; a field keeps the low ones.
pub(crate) fn behind_drop_port(drop_port: u64) -> u64 {
    drop_port.wrapping_add(1)
}

/// Decides what becomes of a packet: whether it is copied, and the outcome of the first case whose
/// condition holds. If no condition holds, the packet goes to a port.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) copies: Copies,
    pub(crate) cases: &'static [(Condition, Outcome)],
    pub(crate) otherwise: Port,
    /// Fields whose numbers the packet takes along.
    pub(crate) carries: &'static [Of],
}

/// The rules of a seam that an architecture does not have.
const NO_RULES: Rules =
    Rules { copies: Copies::Never, cases: &[], otherwise: Port::Own, carries: &[] };

/// When a packet is copied, and to which sessions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Copies {
    Never,
    /// Blocks call for copies, with their sessions.
    Requested,
    /// A packet whose first field is not zero is copied to the session in the second field.
    ToField(Of, Of),
}

/// A condition of a case.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Condition {
    /// The field is not zero.
    IsSet(Of),
    /// The field is the drop port.
    IsDropPort(Of),
    /// The port has no queue of the priority in this field.
    HasNoQueue(Of),
    /// The packet goes to this port.
    GoesTo(u64),
    /// The packet goes to no port.
    GoesNowhere,
    /// A block called for this pass.
    Requests(Request),
}

/// A further pass that blocks call for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Request {
    Resubmit,
    Recirculate,
}

/// What becomes of a packet, by the fields that decide.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outcome {
    /// The packet ends, for this reason.
    Drop(&'static str),
    Resubmit,
    Recirculate,
    /// The packet goes to the group in this field.
    Replicate(Of),
}

/// The port to which a packet goes for which rules have nothing else.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Port {
    /// The port in this field.
    In(Of),
    /// The port that the packet already has.
    Own,
}

/// When a field that decides about a packet has a place in machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Always,
    /// Only if the program touches the field, because zero decides nothing.
    IfTouched,
}

impl Rules {
    /// Returns the fields that decide.
    pub(crate) fn fields(&self) -> Vec<(Of, Place)> {
        let mut fields: Vec<(Of, Place)> =
            self.carries.iter().map(|field| (*field, Place::Always)).collect();
        if let Copies::ToField(when, session) = self.copies {
            fields.extend([(when, Place::Always), (session, Place::Always)]);
        }
        if let Port::In(field) = self.otherwise {
            fields.push((field, Place::Always));
        }
        fields.extend(self.cases.iter().filter_map(|(_, outcome)| match outcome {
            Outcome::Replicate(field) => Some((*field, Place::Always)),
            Outcome::Drop(_) | Outcome::Resubmit | Outcome::Recirculate => None,
        }));
        fields.extend(self.cases.iter().filter_map(|(condition, _)| match condition {
            Condition::IsSet(field) | Condition::IsDropPort(field) => Some((*field, Place::Always)),
            Condition::HasNoQueue(field) => Some((*field, Place::IfTouched)),
            Condition::GoesTo(_) | Condition::GoesNowhere | Condition::Requests(_) => None,
        }));
        fields
    }

    /// Decides about a packet.
    #[inline(always)]
    pub(crate) fn decide<N: Fn(Of) -> u128>(&self, packet: &Packet<'_, N>) -> Decision {
        let number = &packet.number;
        let copies = match self.copies {
            Copies::Never => Vec::new(),
            Copies::Requested => packet.effects.map_or(Vec::new(), Effects::sessions),
            Copies::ToField(when, session) if number(when) != 0 => vec![number(session) as u32],
            Copies::ToField(..) => Vec::new(),
        };
        let first = self.cases.iter().find(|(condition, _)| packet.fulfills(*condition));
        let fate = match (first.map(|(_, outcome)| *outcome), self.otherwise) {
            (Some(Outcome::Drop(reason)), _) => Fate::Drop { reason },
            (Some(Outcome::Resubmit), _) => Fate::Resubmit,
            (Some(Outcome::Recirculate), _) => Fate::Recirculate,
            (Some(Outcome::Replicate(group)), _) => Fate::Multicast { group: number(group) as u32 },
            (None, Port::In(field)) => Fate::Unicast { port: number(field) as u32 },
            (None, Port::Own) => Fate::Unicast { port: packet.port.unwrap_or(0) },
        };
        Decision { copies, fate }
    }
}

/// A packet that rules decide about.
pub(crate) struct Packet<'e, N> {
    /// The calls of blocks, if blocks have such.
    pub(crate) effects: Option<&'e Effects>,
    /// Returns the number in a field.
    pub(crate) number: N,
    /// The port that the packet goes to, if it goes anywhere.
    pub(crate) port: Option<u32>,
    pub(crate) drop_port: u16,
    /// The number of queues that a port has.
    pub(crate) queues: u32,
}

impl<N: Fn(Of) -> u128> Packet<'_, N> {
    #[inline(always)]
    fn fulfills(&self, condition: Condition) -> bool {
        let requests = |request: fn(&Effects) -> bool| self.effects.is_some_and(request);
        match condition {
            Condition::IsSet(field) => (self.number)(field) != 0,
            Condition::IsDropPort(field) => (self.number)(field) == self.drop_port.into(),
            Condition::HasNoQueue(field) => (self.number)(field) >= self.queues.into(),
            Condition::GoesTo(port) => self.port.map(u64::from) == Some(port),
            Condition::GoesNowhere => self.port.is_none(),
            Condition::Requests(Request::Resubmit) => requests(|made| made.resubmit.is_some()),
            Condition::Requests(Request::Recirculate) => {
                requests(|made| made.recirculate.is_some())
            }
        }
    }
}

/// What rules decided. Copies come first, then what becomes of the packet itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// The sessions that copy the packet.
    pub(crate) copies: Vec<u32>,
    /// What becomes of the packet.
    pub(crate) fate: Fate,
}

/// What becomes of a packet that is not a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It ends here.
    Drop { reason: &'static str },
    /// It goes to ingress again, as it was received.
    Resubmit,
    /// It goes to ingress again, as it would leave.
    Recirculate,
    /// It goes to one port: from ingress to the egress of that port, from egress out.
    Unicast { port: u32 },
    /// It goes to the egress of each port of a group.
    Multicast { group: u32 },
}
