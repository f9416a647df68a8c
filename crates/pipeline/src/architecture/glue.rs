//! The actions of each architecture between the blocks of its package, called its glue. They are
//! stated once, for the interpreter and the code generator.
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

/// The actions of an architecture between the blocks of its package: assignments to metadata, and
/// rules that decide about packets. The parts for egress are empty if the architecture has no
/// egress.
#[derive(Debug)]
pub(crate) struct Glue {
    /// The variants of the architecture's package, which differ in the number of blocks.
    pub(crate) packages: &'static [Package],
    /// The assignments to a packet's metadata when it is received. They are not repeated for its
    /// further passes.
    pub(crate) received: &'static [Set],
    /// The assignments to the input metadata of the parser, before it runs.
    pub(crate) before_parser: &'static [Set],
    /// The assignments to the input metadata of ingress, before it runs.
    pub(crate) before_ingress: &'static [Set],
    /// The assignments to the output metadata of ingress, made before ingress runs. Fields without
    /// an assignment are set to zero.
    pub(crate) ingress_says: &'static [Set],
    /// The rules that decide about a packet after ingress, from the output metadata of ingress.
    pub(crate) after_ingress: Rules,
    /// The rules that decide whether a packet enters the queue of its output port.
    pub(crate) before_queue: Rules,
    /// The assignments to the metadata of a packet that enters a queue.
    pub(crate) queued: &'static [Set],
    /// The assignments to the input metadata of the egress parser, before it runs.
    pub(crate) before_egress_parser: &'static [Set],
    /// The assignments to the input metadata of egress, before it runs.
    pub(crate) before_egress: &'static [Set],
    /// The assignments to the input metadata of the egress deparser, before it runs.
    pub(crate) before_egress_deparser: &'static [Set],
    /// The rules that decide about a packet after egress, from the output metadata of egress.
    pub(crate) after_egress: Rules,
}

impl Glue {
    /// Returns the assignments and rules of an architecture, or `None` if the driver of the
    /// architecture does not use any.
    pub(crate) fn of(architecture: &Architecture) -> Option<&'static Self> {
        match architecture {
            Architecture::V1model => Some(&V1MODEL),
            Architecture::Psa => Some(&PSA),
            Architecture::Pna => Some(&PNA),
            Architecture::Other(_) => None,
        }
    }

    /// Returns the variant of the architecture's package that has this number of blocks.
    pub(crate) fn package(&self, blocks: usize) -> Option<&'static Package> {
        self.packages.iter().find(|package| package.blocks.len() == blocks)
    }

    /// Returns whether a rule of the architecture reads this metadata field.
    pub(crate) fn reads(&self, field: Of) -> bool {
        let rules = [&self.after_ingress, &self.before_queue, &self.after_egress];
        rules.iter().any(|rules| rules.fields().iter().any(|(known, _)| *known == field))
    }
}

/// An assignment of a number to a metadata field. It has no effect if the program's metadata lack
/// the field.
pub(crate) type Set = (Of, Input);

/// The number that is assigned to a metadata field: a property of the packet, or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Known(Known),
    Number(u64),
}

/// A numeric property of a packet that the architecture knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// The port on which the packet was received, or in egress its output port.
    Port,
    /// The packet's length in bytes, as the architecture counts it.
    Length,
    /// The current time in microseconds.
    Now,
    /// The direction of a PNA packet, from the host or from the network.
    Direction,
    /// The path of a PSA packet, such as normal, cloned or recirculated.
    Path,
    /// The instance number of a replica.
    Instance,
    ClassOfService,
    ParserError,
    /// 1 if a checksum of the packet was verified and is wrong, and 0 otherwise.
    ChecksumFailed,
    /// The number of packets that wait in the packet's queue.
    QueueDepth,
    /// The number of resubmissions, recirculations and clones that led to this pass of the packet.
    Generation,
    /// 1 if the packet has passed through the package before, and 0 otherwise.
    IsRecirculated,
    /// The number of the port to which dropped packets are sent, plus one.
    BehindDropPort,
}

impl Known {
    const COUNT: usize = Self::BehindDropPort as usize + 1;

    /// Returns whether this property of a packet is known before its first block runs.
    pub(crate) fn is_known_on_receipt(self) -> bool {
        matches!(self, Self::Port | Self::Length | Self::Now | Self::Direction | Self::Path)
    }
}

/// The numeric properties of one packet from which metadata fields are assigned. `N` is the number
/// itself while a packet is processed, or the Cranelift value of the number while code is
/// generated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inputs<N>([N; Known::COUNT]);

impl<N: Copy> Inputs<N> {
    /// Returns properties that all have the same number.
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

    /// Returns the packet's number for an input that is a property of the packet. If the input is a
    /// constant, returns the constant as the error.
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

/// Returns the number for [`Known::BehindDropPort`]: the sum of `drop_port` and one, modulo 2^64. A
/// narrower field to which it is assigned keeps only the low bits.
pub(crate) fn beyond_drop_port(drop_port: u64) -> u64 {
    drop_port.wrapping_add(1)
}

/// The rules that decide, after a block, whether a packet is copied and what happens to the packet
/// itself. The first of the `cases` whose condition holds decides the latter. If no condition
/// holds, the packet goes to the port `otherwise`.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) copies: Copies,
    pub(crate) cases: &'static [Case],
    pub(crate) otherwise: Port,
    /// The metadata fields whose numbers the packet keeps on its way to egress.
    pub(crate) carries: &'static [Of],
}

/// The rules for a stage that an architecture does not have.
const NO_RULES: Rules =
    Rules { copies: Copies::Never, cases: &[], otherwise: Port::Own, carries: &[] };

/// The condition under which a packet is copied, and the clone sessions to which the copies go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Copies {
    Never,
    /// A packet is copied if a block has requested it. The requests name the clone sessions.
    Requested,
    /// A packet is copied if the first field is not zero. The second field holds the clone session.
    ToField(Of, Of),
}

/// A condition on a packet, and what happens to the packet if it holds.
pub(crate) type Case<F = Of> = (Condition<F>, Outcome<F>);

/// A condition on a packet after a block. `F` is the type that identifies a metadata field: the
/// field's name, or the field's place in the frame of a particular program.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Condition<F = Of> {
    /// The metadata field is not zero.
    IsSet(F),
    /// The metadata field holds the number of the port to which dropped packets are sent.
    IsDropPort(F),
    /// The number in the metadata field is at least the number of priority queues of a port, so
    /// that no queue has this priority.
    HasNoQueue(F),
    /// The packet's output port is this one.
    GoesTo(u64),
    /// The packet has no output port.
    GoesNowhere,
    /// A block has requested this further pass of the packet.
    Requests(Request),
}

impl Condition {
    /// Converts references to metadata fields with `place`.
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

/// The fate of a packet if the condition of a case holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outcome<F = Of> {
    /// The packet is dropped, for this reason.
    Drop(&'static str),
    Resubmit,
    Recirculate,
    /// The packet is replicated for the multicast group whose number is in this field.
    Replicate(F),
}

impl Outcome {
    /// Converts references to metadata fields with `place`.
    pub(crate) fn map<F>(self, place: impl Fn(Of) -> F) -> Outcome<F> {
        match self {
            Self::Drop(reason) => Outcome::Drop(reason),
            Self::Resubmit => Outcome::Resubmit,
            Self::Recirculate => Outcome::Recirculate,
            Self::Replicate(field) => Outcome::Replicate(place(field)),
        }
    }
}

/// The output port of a packet if no case of the rules applies to it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Port<F = Of> {
    /// The port whose number is in this metadata field.
    In(F),
    /// The output port that the packet already has.
    Own,
}

impl Port {
    /// Converts the reference to a metadata field with `place`.
    pub(crate) fn map<F>(self, place: impl Fn(Of) -> F) -> Port<F> {
        match self {
            Self::In(field) => Port::In(place(field)),
            Self::Own => Port::Own,
        }
    }
}

/// Whether generated code must store a metadata field that the architecture's rules read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Always,
    /// The field is stored only if the program accesses it. Otherwise it is always zero, and no
    /// condition on it holds.
    IfTouched,
}

impl Rules {
    /// Returns the metadata fields that the rules read, and whether generated code must store each
    /// of them.
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

    /// Returns what the rules decide about a packet.
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

/// The properties of a packet from which rules decide about it.
pub(crate) struct Packet<'e, N> {
    /// The requests that the blocks of the P4 program have made to the architecture for this
    /// packet, such as to clone or to resubmit it. `None` counts as no requests.
    pub(crate) effects: Option<&'e Effects>,
    /// A function that returns the number in a metadata field.
    pub(crate) number: N,
    /// The output port of the packet, if it has one.
    pub(crate) port: Option<u32>,
    pub(crate) drop_port: u16,
    /// The number of priority queues that each port has.
    pub(crate) queues: u32,
}

impl<N> Packet<'_, N> {
    /// Returns what happens to the packet: the outcome of the first case whose condition holds, or
    /// the port in `otherwise` if none does.
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

/// The decision of rules about a packet. The copies are made first, and then `fate` is carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// The clone sessions to which copies of the packet are sent.
    pub(crate) copies: Vec<u32>,
    /// The fate of the packet itself, apart from its copies.
    pub(crate) fate: Fate,
}

/// The fate of a packet after a block, apart from its copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The packet is dropped.
    Drop { reason: &'static str },
    /// The packet enters ingress again, as it was received.
    Resubmit,
    /// The packet enters ingress again, in its outgoing form.
    Recirculate,
    /// The packet goes to one port. After ingress, it enters that port's egress; after egress, it
    /// is transmitted.
    Unicast { port: u32 },
    /// The packet is replicated, and enters the egress of each port of a multicast group.
    Multicast { group: u32 },
}
