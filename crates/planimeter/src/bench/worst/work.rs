//! The amount of work that a packet causes, by kind: the numbers of headers, lookups and other
//! units. They are the independent variables of the fit of costs.
//!
//! There are few kinds, so that some dozens of packets determine the cost of a unit of each. The
//! amounts are those on the path that symbolic execution has found, including repeated passes
//! through a part of the program. Headers that are emitted are not counted: they are those that
//! were extracted or made valid.

use std::collections::HashMap;

use device::program::{OwnParts, Parts};
use ir::{
    Argument, ExternCallee, ExternFunction, ExternType, Location, MatchKind, Program, Statement,
    StatementKind, TypeId,
};
use symbolic::generated::Test;
use symbolic::goals::{self, Key};

/// The number of bytes in a cache line, the unit in which memory is copied.
const LINE: f64 = 64.0;

/// A kind of work that a packet causes. The cost of one unit of each kind is fitted to
/// measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A cache line of the received packet.
    Line,
    /// A packet that leaves the switch.
    Output,
    /// A header that is extracted or made valid.
    Header,
    /// A byte of a header that is extracted or made valid.
    HeaderByte,
    /// An operation of the program: an assignment, a computation, a condition, a key of a table, or
    /// a state of a parser.
    Operation,
    /// A hit in a table whose keys are all matched exactly.
    ExactHit,
    /// A hit in any other table.
    OtherHit,
    /// A miss in a table with keys.
    Miss,
    /// An access to a register, a counter or a meter.
    StateAccess,
    /// A call of any other extern, such as a hash or a clone.
    Extern,
    /// A byte over which a hash or a checksum is computed.
    HashedByte,
}

/// The number of kinds of work.
const KINDS: usize = 11;

impl Kind {
    /// All kinds of work, in the order of [`Counts`].
    pub(super) const ALL: [Self; KINDS] = [
        Self::Line,
        Self::Output,
        Self::Header,
        Self::HeaderByte,
        Self::Operation,
        Self::ExactHit,
        Self::OtherHit,
        Self::Miss,
        Self::StateAccess,
        Self::Extern,
        Self::HashedByte,
    ];

    /// Returns the name of one unit of this kind of work.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Line => "64 bytes of the packet",
            Self::Output => "packet that leaves",
            Self::Header => "header extracted or added",
            Self::HeaderByte => "byte of these headers",
            Self::Operation => "operation, condition, key or parser state",
            Self::ExactHit => "hit in a table with exact keys",
            Self::OtherHit => "hit in another table",
            Self::Miss => "miss in a table",
            Self::StateAccess => "access to a register, counter or meter",
            Self::Extern => "call of another extern",
            Self::HashedByte => "byte hashed or summed",
        }
    }
}

/// The amount of work of each kind, in the order of [`Kind::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counts([f64; KINDS]);

impl Counts {
    /// Returns the amounts as a row of the fit's matrix.
    pub(super) fn row(&self) -> &[f64] {
        &self.0
    }

    fn add(&mut self, kind: Kind, count: f64) {
        self.0[kind as usize] += count;
    }

    /// Adds the work `other`, as if it were done `times` times.
    fn add_times(&mut self, other: &Self, times: f64) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += times * more;
        }
    }

    /// Returns the cost of this work, where `each` is the cost of one unit of each kind.
    fn cost(&self, each: &[f64]) -> f64 {
        self.0.iter().zip(each).map(|(count, cost)| count * cost).sum()
    }
}

/// A packet with the goals (parts of the program) that it reaches.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) test: Test,
    /// The indices of the goals that the packet reaches.
    pub(super) reached: Vec<usize>,
    /// The number of times that the packet reaches each goal in `reached`.
    pub(super) times: Vec<u32>,
}

impl Packet {
    /// Returns the length of the packet in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.test.packet.len() / 2
    }

    /// Returns the amount of work that the packet causes.
    pub(super) fn work(&self, work: &Work) -> Counts {
        work.of_packet(self)
    }

    /// Returns whether two packets are equal, and the control plane writes the same entries for
    /// both.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let (one, other) = (&self.test, &other.test);
        (one.port, &one.packet) == (other.port, &other.packet)
            && one.configuration() == other.configuration()
    }
}

/// The amount of work that each goal (part of the program) causes when a packet reaches it.
pub(super) struct Work {
    goals: Vec<Counts>,
}

impl Work {
    /// Counts the work of each goal of a program.
    pub(super) fn new(program: &Program) -> Self {
        let own = OwnParts::new(program);
        // Several statements may have one place, such as those of instances of a control. A packet
        // reaches the place once for each that it executes, so each time counts as their mean.
        let mut statements: HashMap<Location, (Counts, f64)> = HashMap::new();
        for statement in goals::statements(program) {
            if let Some(at) = statement.location {
                let (sum, number) = statements.entry(at).or_default();
                sum.add_times(&of_statement(program, &own, statement), 1.0);
                *number += 1.0;
            }
        }
        let count = |key: &Key| {
            let mut counts = Counts::default();
            match key {
                Key::Statement(at) => {
                    if let Some((sum, number)) = statements.get(at) {
                        counts.add_times(sum, 1.0 / number);
                    }
                }
                Key::State(parser, state) => {
                    counts.add(Kind::Operation, 1.0);
                    add_parts(&mut counts, &own.of_state(*parser, *state));
                }
                Key::Hit(table) => counts = of_hit(program, table.index()),
                Key::Miss(table) => counts = of_miss(program, table.index()),
                Key::Side(..) | Key::Case(..) | Key::Action(..) => {}
            }
            counts
        };
        let goals = goals::list(program);
        Self { goals: goals.iter().map(|(key, _)| count(key)).collect() }
    }

    /// Returns the amount of work that a packet causes.
    fn of_packet(&self, packet: &Packet) -> Counts {
        let mut counts = Self::of_length(packet.bytes() as f64);
        counts.add(Kind::Output, packet.test.outputs.len() as f64);
        for (position, times) in packet.reached.iter().zip(&packet.times) {
            if let Some(work) = self.goals.get(*position) {
                counts.add_times(work, f64::from(*times));
            }
        }
        counts
    }

    /// Returns the amount of work that a packet causes by its length alone, on any path.
    pub(super) fn of_length(bytes: f64) -> Counts {
        let mut counts = Counts::default();
        counts.add(Kind::Line, bytes / LINE);
        counts
    }

    /// Returns the cost of reaching each goal, where `each` is the cost of one unit of each kind of
    /// work.
    pub(super) fn costs(&self, each: &[f64]) -> impl Iterator<Item = f64> {
        self.goals.iter().map(move |counts| counts.cost(each))
    }

    /// Returns the amount of work of one kind that each goal causes.
    pub(super) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = f64> {
        self.goals.iter().map(move |counts| counts.0[kind as usize])
    }
}

/// Returns the work of a statement, without the work of statements inside it and of the functions
/// that it calls.
fn of_statement(program: &Program, own: &OwnParts<'_>, statement: &Statement) -> Counts {
    let mut counts = Counts::default();
    match &statement.kind {
        StatementKind::SetValidity { header, valid: true } => {
            let width = program.place_type(header).map_or(0.0, |header| bytes(program, header));
            counts.add(Kind::Header, 1.0);
            counts.add(Kind::HeaderByte, width);
        }
        StatementKind::CallExtern { callee, arguments, .. } => {
            let (kind, hashes) = extern_kind(program, callee);
            counts.add(kind, 1.0);
            if hashes {
                let hashed = arguments.iter().map(|argument| match argument.unordered() {
                    Argument::In(value) => bytes(program, value.type_id),
                    _ => 0.0,
                });
                counts.add(Kind::HashedByte, hashed.sum());
            }
        }
        _ => add_parts(&mut counts, &own.of_statement(statement)),
    }
    counts
}

/// Adds the work of a piece of a program to `counts`. `parts` lists the parts of the piece in the
/// terms of device models.
fn add_parts(counts: &mut Counts, parts: &Parts) {
    for (part, number) in parts {
        let number = f64::from(*number);
        match part.split_once(' ') {
            Some(("extract", width)) => {
                let bits: f64 = width.parse().unwrap_or(0.0);
                counts.add(Kind::Header, number);
                counts.add(Kind::HeaderByte, number * bits / 8.0);
            }
            Some(("emit", _)) => {}
            _ => counts.add(Kind::Operation, number),
        }
    }
}

fn of_hit(program: &Program, table: usize) -> Counts {
    let mut counts = Counts::default();
    let Some(table) = program.tables.get(table) else { return counts };
    let is_exact = table.keys.iter().all(|key| key.match_kind == MatchKind::Exact);
    counts.add(if is_exact { Kind::ExactHit } else { Kind::OtherHit }, 1.0);
    counts.add(Kind::Operation, table.keys.len() as f64);
    let implicit = table.direct_externs.iter().filter(|id| {
        let direct = program.externs.get(id.index()).map(|instance| &instance.extern_type);
        matches!(direct, Some(ExternType::V1DirectCounter | ExternType::V1DirectMeter))
    });
    counts.add(Kind::StateAccess, implicit.count() as f64);
    counts
}

fn of_miss(program: &Program, table: usize) -> Counts {
    let mut counts = Counts::default();
    let keys = program.tables.get(table).map_or(0, |table| table.keys.len());
    counts.add(if keys > 0 { Kind::Miss } else { Kind::Operation }, 1.0);
    counts.add(Kind::Operation, keys as f64);
    counts
}

/// Returns the kind of work that a call of an extern is, and whether the call hashes its arguments.
fn extern_kind(program: &Program, callee: &ExternCallee) -> (Kind, bool) {
    match callee {
        ExternCallee::Function(function) => {
            let hashes = matches!(
                function,
                ExternFunction::Hash
                    | ExternFunction::UpdateChecksum
                    | ExternFunction::UpdateChecksumWithPayload
                    | ExternFunction::VerifyChecksum
                    | ExternFunction::VerifyChecksumWithPayload
            );
            // These set a flag or read one.
            let is_simple = matches!(
                function,
                ExternFunction::Assert
                    | ExternFunction::Assume
                    | ExternFunction::StaticAssert
                    | ExternFunction::LogMsg
                    | ExternFunction::MarkToDrop
                    | ExternFunction::MarkToPass
                    | ExternFunction::DropPacket
                    | ExternFunction::SendToPort
                    | ExternFunction::IsHostPort
                    | ExternFunction::IsNetPort
                    | ExternFunction::SelectByDirection
                    | ExternFunction::Truncate
            );
            (if is_simple { Kind::Operation } else { Kind::Extern }, hashes)
        }
        ExternCallee::Method { instance, .. } => {
            let extern_type =
                program.externs.get(instance.index()).map(|instance| &instance.extern_type);
            let has_state = matches!(
                extern_type,
                Some(
                    ExternType::V1Counter
                        | ExternType::V1DirectCounter
                        | ExternType::V1DirectMeter
                        | ExternType::V1Meter
                        | ExternType::V1Register
                        | ExternType::Counter
                        | ExternType::CounterArray
                        | ExternType::DirectCounter
                        | ExternType::DirectMeter
                        | ExternType::Meter
                        | ExternType::Register
                )
            );
            let hashes = matches!(
                extern_type,
                Some(
                    ExternType::Hash
                        | ExternType::Checksum
                        | ExternType::InternetChecksum
                        | ExternType::V1Checksum16
                )
            );
            (if has_state { Kind::StateAccess } else { Kind::Extern }, hashes)
        }
    }
}

/// Returns the size in bytes of a value of this type.
fn bytes(program: &Program, type_id: TypeId) -> f64 {
    program.types.width_in_bits(type_id).unwrap_or(0) as f64 / 8.0
}
