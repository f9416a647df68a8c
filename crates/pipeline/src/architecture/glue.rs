//! The glue of architectures: what each does between the blocks of its package, stated once for the
//! interpreter and the code generator.
//!
//! Like blocks, glue consists of statements: assignments to metadata before a block, and rules that
//! decide about the packet after one. The drivers evaluate the glue with numbers. In the functions
//! that process bursts, the code generator emits the same statements as machine code, and the plan
//! of such a function uses them to determine which metadata need a place. Copies, groups, further
//! passes and queues are left to the drivers.

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

use crate::interpreter::Effects;
use crate::layout::MetadataField as Of;
use ir::Architecture;

/// The glue of an architecture. The parts for egress are empty if the architecture has no egress.
#[derive(Debug)]
pub(crate) struct Glue {
    /// The variants of the package, which differ in the number of blocks.
    pub(crate) packages: &'static [Package],
    /// The assignments to the metadata of a received packet, but not of its further passes.
    pub(crate) received: &'static [Set],
    /// The assignments to the parser's input metadata.
    pub(crate) before_parser: &'static [Set],
    /// The assignments to ingress's input metadata.
    pub(crate) before_ingress: &'static [Set],
    /// The assignments to ingress's output metadata before it runs; all other fields are zero.
    pub(crate) ingress_says: &'static [Set],
    /// The rules that evaluate ingress's output metadata.
    pub(crate) after_ingress: Rules,
    /// The rules for a packet on its way to the queue of a port.
    pub(crate) before_queue: Rules,
    /// The assignments to the metadata of a packet that enters a queue.
    pub(crate) queued: &'static [Set],
    /// The assignments to the input metadata of egress's parser.
    pub(crate) before_egress_parser: &'static [Set],
    /// The assignments to egress's input metadata.
    pub(crate) before_egress: &'static [Set],
    /// The assignments to the input metadata of egress's deparser.
    pub(crate) before_egress_deparser: &'static [Set],
    /// The rules that evaluate egress's output metadata.
    pub(crate) after_egress: Rules,
}

impl Glue {
    /// Returns the glue of an architecture, if it has any.
    pub(crate) fn of(architecture: &Architecture) -> Option<&'static Self> {
        match architecture {
            Architecture::V1model => Some(&V1MODEL),
            Architecture::Psa => Some(&PSA),
            Architecture::Pna => Some(&PNA),
            Architecture::Other(_) => None,
        }
    }

    /// Returns the variant of the package with this number of blocks.
    pub(crate) fn package(&self, blocks: usize) -> Option<&'static Package> {
        self.packages.iter().find(|package| package.blocks.len() == blocks)
    }

    /// Whether a rule reads this field.
    pub(crate) fn reads(&self, field: Of) -> bool {
        let rules = [&self.after_ingress, &self.before_queue, &self.after_egress];
        rules.iter().any(|rules| rules.fields().iter().any(|(known, _)| *known == field))
    }
}

/// An assignment of a number to a field of metadata. It does nothing if the program's type lacks
/// the field.
pub(crate) type Set = (Of, Input);

/// The number of an assignment: a property of the packet, or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Known(Known),
    Number(u64),
}

/// A number that an architecture knows about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// The port through which the packet arrived, or to which it goes.
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
    /// The drop port plus one.
    BehindDropPort,
}

impl Known {
    const COUNT: usize = Self::BehindDropPort as usize + 1;

    /// Whether the number is known before the first block runs.
    pub(crate) fn is_known_on_receipt(self) -> bool {
        matches!(self, Self::Port | Self::Length | Self::Now | Self::Direction | Self::Path)
    }
}

/// The known numbers of one packet, or the values that represent them in machine code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inputs<N>([N; Known::COUNT]);

impl<N: Copy> Inputs<N> {
    /// Returns inputs that all have this number.
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

    /// Returns the packet's number for an input, or the constant as an error.
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

/// Returns the number for [`Known::BehindDropPort`] in 64 bits. A field keeps only the low bits.
pub(crate) fn beyond_drop_port(drop_port: u64) -> u64 {
    drop_port.wrapping_add(1)
}

/// Rules that decide about a packet: whether it is copied, and the outcome, which is that of the
/// first case whose condition holds. If no condition holds, the packet goes to a port.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) copies: Copies,
    pub(crate) cases: &'static [Case],
    pub(crate) otherwise: Port,
    /// The fields whose numbers travel with the packet.
    pub(crate) carries: &'static [Of],
}

/// The rules for a point that an architecture does not have.
const NO_RULES: Rules =
    Rules { copies: Copies::Never, cases: &[], otherwise: Port::Own, carries: &[] };

/// The condition under which a packet is copied, and the sessions to which it is copied.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Copies {
    Never,
    /// Blocks request copies, and name the sessions.
    Requested,
    /// A packet is copied to the session in the second field if the first field is not zero.
    ToField(Of, Of),
}

/// A condition, and what becomes of a packet for which it holds.
pub(crate) type Case<F = Of> = (Condition<F>, Outcome<F>);

/// The condition of a case. `F` is a field by its name, or by its place in a program's metadata.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Condition<F = Of> {
    /// The field is not zero.
    IsSet(F),
    /// The field is the drop port.
    IsDropPort(F),
    /// The port has no queue of the priority in this field.
    HasNoQueue(F),
    /// The packet goes to this port.
    GoesTo(u64),
    /// The packet goes to no port.
    GoesNowhere,
    /// A block requested this pass.
    Requests(Request),
}

impl Condition {
    /// Replaces the name of the field.
    pub(crate) fn map<F>(self, place: impl Fn(Of) -> F) -> Condition<F> {
        match self {
            Self::IsSet(field) => Condition::IsSet(place(field)),
            Self::IsDropPort(field) => Condition::IsDropPort(place(field)),
            Self::HasNoQueue(field) => Condition::HasNoQueue(place(field)),
            Self::GoesTo(port) => Condition::GoesTo(port),
            Self::GoesNowhere => Condition::GoesNowhere,
            Self::Requests(request) => Condition::Requests(request),
        }
    }
}

/// A further pass that blocks can request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Request {
    Resubmit,
    Recirculate,
}

/// The outcome of a case, with the field that determines it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outcome<F = Of> {
    /// The packet is dropped, for this reason.
    Drop(&'static str),
    Resubmit,
    Recirculate,
    /// The packet goes to the group in this field.
    Replicate(F),
}

impl Outcome {
    /// Replaces the name of the field.
    pub(crate) fn map<F>(self, place: impl Fn(Of) -> F) -> Outcome<F> {
        match self {
            Self::Drop(reason) => Outcome::Drop(reason),
            Self::Resubmit => Outcome::Resubmit,
            Self::Recirculate => Outcome::Recirculate,
            Self::Replicate(field) => Outcome::Replicate(place(field)),
        }
    }
}

/// The port of a packet to which no case applies.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Port<F = Of> {
    /// The port in this field.
    In(F),
    /// The port that the packet already has.
    Own,
}

impl Port {
    /// Replaces the name of the field.
    pub(crate) fn map<F>(self, place: impl Fn(Of) -> F) -> Port<F> {
        match self {
            Self::In(field) => Port::In(place(field)),
            Self::Own => Port::Own,
        }
    }
}

/// The condition under which a field that rules read has a place in machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Always,
    /// The field has a place only if the program accesses it, because zero decides nothing.
    IfTouched,
}

impl Rules {
    /// Returns the fields that the rules read.
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

    /// Returns the decision about a packet.
    #[inline(always)]
    pub(crate) fn decide<N: Fn(Of) -> u128>(&self, packet: &Packet<'_, N>) -> Decision {
        let number = &packet.number;
        let copies = match self.copies {
            Copies::Never => Vec::new(),
            Copies::Requested => packet.effects.map_or(Vec::new(), Effects::sessions),
            Copies::ToField(when, session) if number(when) != 0 => vec![number(session) as u32],
            Copies::ToField(..) => Vec::new(),
        };
        let fate = packet.fate(self.cases, self.otherwise);
        Decision { copies, fate }
    }
}

/// A packet about which rules decide.
pub(crate) struct Packet<'e, N> {
    /// The requests of blocks, if the architecture has any.
    pub(crate) effects: Option<&'e Effects>,
    /// A function that returns the number in a field.
    pub(crate) number: N,
    /// The port to which the packet goes, if any.
    pub(crate) port: Option<u32>,
    pub(crate) drop_port: u16,
    /// The number of queues of a port.
    pub(crate) queues: u32,
}

impl<N> Packet<'_, N> {
    /// Returns the outcome of the first case whose condition holds, or the port if none does.
    #[inline(always)]
    pub(crate) fn fate<F: Copy>(&self, cases: &[Case<F>], otherwise: Port<F>) -> Fate
    where
        N: Fn(F) -> u128,
    {
        let number = &self.number;
        let first = cases.iter().find(|(condition, _)| self.fulfills(*condition));
        match (first.map(|(_, outcome)| *outcome), otherwise) {
            (Some(Outcome::Drop(reason)), _) => Fate::Drop { reason },
            (Some(Outcome::Resubmit), _) => Fate::Resubmit,
            (Some(Outcome::Recirculate), _) => Fate::Recirculate,
            (Some(Outcome::Replicate(group)), _) => Fate::Multicast { group: number(group) as u32 },
            (None, Port::In(field)) => Fate::Unicast { port: number(field) as u32 },
            (None, Port::Own) => Fate::Unicast { port: self.port.unwrap_or(0) },
        }
    }

    #[inline(always)]
    fn fulfills<F>(&self, condition: Condition<F>) -> bool
    where
        N: Fn(F) -> u128,
    {
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

/// A decision about a packet. Copies are made first, then the packet's own fate applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// The sessions to which the packet is copied.
    pub(crate) copies: Vec<u32>,
    /// The fate of the packet itself.
    pub(crate) fate: Fate,
}

/// The fate of a packet that is not a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The packet is dropped.
    Drop { reason: &'static str },
    /// The packet enters ingress again, as it was received.
    Resubmit,
    /// The packet enters ingress again, in its outgoing form.
    Recirculate,
    /// The packet goes to one port: after ingress to the port's egress, after egress out of the
    /// port.
    Unicast { port: u32 },
    /// The packet goes to the egress of each port of a group.
    Multicast { group: u32 },
}
