//! The glue of each architecture: the processing of a packet between the blocks of its package (its
//! parsers and controls). The glue is defined once, as tables, for three users: the drivers, which
//! run the blocks of a program; the code generator; and symbolic execution.
//!
//! Glue consists of assignments to metadata before a block, and of rules that decide after a block
//! where the packet goes. The drivers evaluate the glue with numbers. The code generator emits it
//! as machine code in the functions that process bursts of packets, and also derives from it which
//! metadata fields must be stored. Copies, multicast groups, further passes and queues are left to
//! the drivers.

mod metadata;
mod package;
mod pna;
mod psa;
#[cfg(test)]
mod tests;
mod v1model;

pub use metadata::MetadataField;
pub use package::{Block, Package, Role, Stage};
pub use pna::PNA;
pub use psa::{PSA, PSA_PORT_RECIRCULATE};
pub use v1model::{AT_INGRESS, DROP_PORT, REPLICA, TO_GROUP, TO_PORT, V1MODEL, instance};

use MetadataField as Of;
use ir::Architecture;

/// The actions of an architecture between the blocks of its package: assignments to metadata, and
/// rules that decide about packets. The parts for egress are empty if the architecture has no
/// egress.
#[derive(Debug)]
pub struct Glue {
    /// The variants of the architecture's package, which differ in the number of blocks.
    pub packages: &'static [Package],
    /// The assignments to a packet's metadata when it is received. They are not repeated for its
    /// further passes.
    pub received: &'static [Set],
    /// The assignments to the input metadata of the parser, before it runs.
    pub before_parser: &'static [Set],
    /// The assignments to the input metadata of ingress, before it runs.
    pub before_ingress: &'static [Set],
    /// The initial values of the metadata that ingress writes for the architecture, such as the
    /// output port. Fields without an assignment start at zero.
    pub ingress_says: &'static [Set],
    /// The rules that decide about a packet after ingress, from the output metadata of ingress.
    pub after_ingress: Rules,
    /// The rules that decide whether a packet enters the queue of its output port.
    pub before_queue: Rules,
    /// The assignments to the metadata of a packet that enters a queue.
    pub queued: &'static [Set],
    /// The assignments to the input metadata of the egress parser, before it runs.
    pub before_egress_parser: &'static [Set],
    /// The assignments to the input metadata of egress, before it runs.
    pub before_egress: &'static [Set],
    /// The assignments to the input metadata of the egress deparser, before it runs.
    pub before_egress_deparser: &'static [Set],
    /// The rules that decide about a packet after egress, from the output metadata of egress.
    pub after_egress: Rules,
}

impl Glue {
    /// Returns the assignments and rules of an architecture, or `None` if the driver of the
    /// architecture does not use any.
    #[must_use]
    pub fn of(architecture: &Architecture) -> Option<&'static Self> {
        match architecture {
            Architecture::V1model => Some(&V1MODEL),
            Architecture::Psa => Some(&PSA),
            Architecture::Pna => Some(&PNA),
            Architecture::Other(_) => None,
        }
    }

    /// Returns the variant of the architecture's package that has this number of blocks.
    #[must_use]
    pub fn package(&self, blocks: usize) -> Option<&'static Package> {
        self.packages.iter().find(|package| package.blocks.len() == blocks)
    }

    /// Returns whether a rule of the architecture reads this metadata field.
    #[must_use]
    pub fn reads(&self, field: Of) -> bool {
        let rules = [&self.after_ingress, &self.before_queue, &self.after_egress];
        rules.iter().any(|rules| rules.fields().iter().any(|(known, _)| *known == field))
    }
}

/// An assignment of a number to a metadata field. It has no effect if the program's metadata lack
/// the field.
pub type Set = (Of, Input);

/// The number that is assigned to a metadata field: a property of the packet, or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A property of the packet.
    Known(Known),
    /// A constant.
    Number(u64),
}

/// A numeric property of a packet that the architecture knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
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
    /// The class of service that ingress chose.
    ClassOfService,
    /// The parser's error.
    ParserError,
    /// 1 if a checksum of the packet was verified and is wrong, and 0 otherwise.
    ChecksumFailed,
    /// The number of packets that wait in the packet's queue.
    QueueDepth,
    /// The number of resubmissions, recirculations and clones that led to this pass of the packet.
    Generation,
    /// 1 if the packet has passed through the package before, and 0 otherwise.
    IsRecirculated,
    /// The number of the port to which dropped packets are sent, plus one. v1model assigns it to
    /// `egress_spec` before egress, so that a packet is only dropped there if egress requests it.
    BehindDropPort,
}

impl Known {
    const COUNT: usize = Self::BehindDropPort as usize + 1;

    /// Returns whether this property of a packet is known before its first block runs.
    #[must_use]
    pub fn is_known_on_receipt(self) -> bool {
        matches!(self, Self::Port | Self::Length | Self::Now | Self::Direction | Self::Path)
    }
}

/// The numeric properties of one packet that are assigned to metadata fields. `N` is the type of a
/// number: a plain number while a packet is processed, or a Cranelift value while code is
/// generated.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<N>([N; Known::COUNT]);

impl<N: Copy> Inputs<N> {
    /// Creates properties whose numbers are all `number`.
    #[inline(always)]
    pub fn all(number: N) -> Self {
        Self([number; Known::COUNT])
    }

    /// Returns these properties with the number of `known` replaced.
    #[inline(always)]
    pub fn with(mut self, known: Known, number: N) -> Self {
        self.set(known, number);
        self
    }

    /// Sets the number of a property.
    #[inline(always)]
    pub fn set(&mut self, known: Known, number: N) {
        self.0[known as usize] = number;
    }

    /// Returns the number of a property.
    #[inline(always)]
    pub fn of(&self, known: Known) -> N {
        self.0[known as usize]
    }

    /// Returns the number of the property that an input names. An input that is a constant has
    /// none.
    ///
    /// # Errors
    ///
    /// Returns the constant, if the input is one.
    #[inline(always)]
    pub fn get(&self, input: Input) -> Result<N, u64> {
        match input {
            Input::Known(known) => Ok(self.of(known)),
            Input::Number(number) => Err(number),
        }
    }
}

impl Inputs<u64> {
    /// Returns the number of the property that an input names, or the constant that the input is.
    #[inline(always)]
    pub fn number(&self, input: Input) -> u64 {
        self.get(input).unwrap_or_else(|number| number)
    }
}

/// Returns the number of [`Known::BehindDropPort`], which is `drop_port + 1` modulo 2^64. A
/// narrower field to which it is assigned keeps only the low bits.
#[must_use]
pub fn beyond_drop_port(drop_port: u64) -> u64 {
    drop_port.wrapping_add(1)
}

/// The rules that decide, after a block, whether a packet is copied and what happens to the packet
/// itself. The `cases` are tried in order, and the first one whose condition holds decides what
/// happens to the packet. If none holds, the packet goes to the port `otherwise`.
#[derive(Debug)]
pub struct Rules {
    /// The condition under which the packet is copied.
    pub copies: Copies,
    /// The conditions on the packet in the order in which they are tried, each with the outcome if
    /// it holds.
    pub cases: &'static [Case],
    /// The port to which the packet goes if no condition holds.
    pub otherwise: Port,
    /// The metadata fields that are stored with the packet until its egress.
    pub carries: &'static [Of],
}

/// The rules for a stage that an architecture does not have.
const NO_RULES: Rules =
    Rules { copies: Copies::Never, cases: &[], otherwise: Port::Own, carries: &[] };

/// The condition under which a packet is copied, and the clone sessions to which the copies go.
#[derive(Clone, Copy, Debug)]
pub enum Copies {
    /// No packet is copied.
    Never,
    /// A packet is copied if a block has requested it. The requests name the clone sessions.
    Requested,
    /// A packet is copied if the first field is not zero. The second field holds the number of the
    /// clone session, which lists the ports of the copies.
    ToField(Of, Of),
}

/// A condition on a packet, and the outcome for the packet if the condition holds.
pub type Case<F = Of> = (Condition<F>, Outcome<F>);

/// A condition on a packet after a block. `F` identifies a metadata field, either by its name or by
/// its offset in the memory of a particular program.
#[derive(Clone, Copy, Debug)]
pub enum Condition<F = Of> {
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
    /// Replaces each reference to a metadata field by the result of `place` for it.
    #[must_use]
    pub fn map<F>(self, place: impl Fn(Of) -> F) -> Condition<F> {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// A pass of the packet as it was received.
    Resubmit,
    /// A pass of the packet in its outgoing form.
    Recirculate,
}

/// The fate of a packet if the condition of a case holds.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<F = Of> {
    /// The packet is dropped, for this reason.
    Drop(&'static str),
    /// The packet enters ingress again, as it was received.
    Resubmit,
    /// The packet enters ingress again, in its outgoing form.
    Recirculate,
    /// The packet is replicated for the multicast group whose number is in this field.
    Replicate(F),
}

impl Outcome {
    /// Replaces each reference to a metadata field by the result of `place` for it.
    #[must_use]
    pub fn map<F>(self, place: impl Fn(Of) -> F) -> Outcome<F> {
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
pub enum Port<F = Of> {
    /// The port whose number is in this metadata field.
    In(F),
    /// The output port that the packet already has.
    Own,
}

impl Port {
    /// Replaces the reference to a metadata field by the result of `place` for it.
    #[must_use]
    pub fn map<F>(self, place: impl Fn(Of) -> F) -> Port<F> {
        match self {
            Self::In(field) => Port::In(place(field)),
            Self::Own => Port::Own,
        }
    }
}

/// Whether generated code must store a metadata field that the architecture's rules read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The field is always stored.
    Always,
    /// The field is stored only if the program accesses it. If it is not stored, it counts as zero,
    /// so no condition on it holds.
    IfTouched,
}

impl Rules {
    /// Returns the metadata fields that the rules read, and whether generated code must store each
    /// of them.
    #[must_use]
    pub fn fields(&self) -> Vec<(Of, Place)> {
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

    /// Returns the decision of the rules about a packet: the clone sessions to which it is copied,
    /// and its fate.
    #[inline(always)]
    pub fn decide<N: Fn(Of) -> u128>(&self, packet: &Packet<'_, N>) -> Decision {
        let number = &packet.number;
        let copies = match self.copies {
            Copies::Never => Vec::new(),
            Copies::Requested => packet.requests.map_or(Vec::new(), Requests::sessions),
            Copies::ToField(when, session) if number(when) != 0 => vec![number(session) as u32],
            Copies::ToField(..) => Vec::new(),
        };
        let fate = packet.fate(self.cases, self.otherwise);
        Decision { copies, fate }
    }
}

/// The requests that the blocks of a program have made to the architecture for a packet.
pub trait Requests {
    /// Returns the clone sessions to which a block has requested copies of the packet.
    fn sessions(&self) -> Vec<u32>;

    /// Returns whether a block has requested this further pass of the packet.
    fn pass(&self, pass: Request) -> bool;
}

/// The properties of a packet from which rules decide about it.
pub struct Packet<'e, N> {
    /// The requests that the blocks of the P4 program have made to the architecture for this
    /// packet, such as to clone or to resubmit it. `None` counts as no requests.
    pub requests: Option<&'e dyn Requests>,
    /// A function that returns the number in a metadata field.
    pub number: N,
    /// The output port of the packet, if it has one.
    pub port: Option<u32>,
    /// The port to which dropped packets are sent.
    pub drop_port: u16,
    /// The number of priority queues that each port has.
    pub queues: u32,
}

impl<N> Packet<'_, N> {
    /// Returns what happens to the packet: the outcome of the first case whose condition holds, or
    /// the port in `otherwise` if none does.
    #[inline(always)]
    pub fn fate<F: Copy>(&self, cases: &[Case<F>], otherwise: Port<F>) -> Fate
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
        let requests = |pass| self.requests.is_some_and(|requests| requests.pass(pass));
        match condition {
            Condition::IsSet(field) => (self.number)(field) != 0,
            Condition::IsDropPort(field) => (self.number)(field) == self.drop_port.into(),
            Condition::HasNoQueue(field) => (self.number)(field) >= self.queues.into(),
            Condition::GoesTo(port) => self.port.map(u64::from) == Some(port),
            Condition::GoesNowhere => self.port.is_none(),
            Condition::Requests(pass) => requests(pass),
        }
    }
}

/// The decision of rules about a packet. The copies are made first, and then `fate` is carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The clone sessions to which copies of the packet are sent.
    pub copies: Vec<u32>,
    /// The fate of the packet itself, apart from its copies.
    pub fate: Fate,
}

/// The fate of a packet after a block, apart from its copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet is dropped.
    Drop {
        /// The point in the pipeline at which the packet is dropped, or the reason, for traces.
        reason: &'static str,
    },
    /// The packet enters ingress again, as it was received.
    Resubmit,
    /// The packet enters ingress again, in its outgoing form.
    Recirculate,
    /// The packet goes to one port. After ingress, it enters that port's egress; after egress, it
    /// is transmitted.
    Unicast {
        /// The number of the port.
        port: u32,
    },
    /// The packet is replicated, and enters the egress of each port of a multicast group.
    Multicast {
        /// The number of the multicast group.
        group: u32,
    },
}
