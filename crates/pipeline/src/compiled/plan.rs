//! Decides which programs are processed in bursts, with one generated function for each stage, and
//! where each of a packet's values is stored in such a function. `fast_path` makes the [`Plan`],
//! and the code generator (`generate::burst`) follows it.
//!
//! In a stage, calls are inlined, numbers and validity flags are variables of the function, and a
//! header that was extracted stays in the packet: the code has a pointer to it. Only headers that
//! the program builds itself are in the frame. All this requires that every number has a fixed
//! offset. That is not the case for header stacks whose elements are chosen while a packet is
//! parsed, unless the path through the parser's states determines the element
//! (`resolved::unrolled`). Programs with such stacks run block by block.

use super::burst::Owner;
use super::fast_path::{Deciding, FastPath};
use crate::resolved::gather::Piece;
use crate::resolved::moves::{Step, StepKind};
use crate::resolved::shape::{DATA, Shape, Storage, TAIL};
use crate::resolved::{
    Added, Address, Body, Callee, Expression, Field, Key, Metered, Missed, Offset, ResolvedProgram,
    Set, Statement, Table,
};
use crate::table::{Ageing, EntryLayout};
use architectures::Place;
use ir::{ExternCallee, ExternFunction, ExternMethod, StatementKind};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The size in bytes of the index of a header stack's next element, which is stored in front of the
/// elements.
const NEXT_INDEX: u32 = 4;

/// The largest number of statements in a stage, with all calls inlined. Longer stages take more
/// time to compile than they save.
const MAX_STATEMENTS: usize = 4096;

/// The plan for the functions that process a program's packets in bursts: where each value is
/// stored, and facts on which the generated code depends.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The numbers that become variables of the generated functions: the size in bytes of each, by
    /// its offset in the frame (the packet's working memory). They are called slots below, and
    /// include validity flags.
    pub(super) slots: BTreeMap<Offset, u32>,
    /// The headers of the program, by the offsets of their validity flags.
    pub(super) headers: BTreeMap<Offset, PlannedHeader>,
    /// The numbers of more than 64 bits, which stay in the frame (the packet's working memory): the
    /// size in bytes of each, by its offset.
    pub(super) wide: BTreeMap<Offset, u32>,
    /// The numbers and validity flags that the parser writes and later blocks use, by their offsets
    /// in the frame (the packet's working memory). They must be passed from stage to stage.
    pub(super) saved: BTreeSet<Offset>,
    /// The numbers and validity flags that may become nonzero, by their offsets in the frame (the
    /// packet's working memory).
    pub(super) changed: BTreeSet<Offset>,
    /// Whether the interpreter runs some statements of the program, or looks up some tables.
    pub(super) interprets: bool,
    /// Whether a statement may request a copy of the packet, another pass or a message to the
    /// control plane. Statements that the interpreter runs count too.
    pub(super) requests: bool,
    /// Whether packets may be truncated.
    pub(super) truncates: bool,
    /// Whether processing a packet may change tables: add an entry, change one, or remove one that
    /// has timed out. The worker must leave the gate of the tables for this, and meanwhile other
    /// threads may change and move the tables' entries.
    pub(super) leaves_gate: bool,
    /// Whether actions change entries of some tables by an update method that does not write in
    /// place. For such a change, the worker leaves the gate of the tables, so that other threads
    /// may change them meanwhile.
    pub(super) updates_out_of_place: bool,
    /// Whether tables that match prefixes or rules are searched for each packet when the packet
    /// reaches them, and not for a whole burst at once. This is so if earlier packets may have
    /// changed the tables.
    pub(super) searches_per_packet: bool,
    /// The number of statements in the program, with all calls inlined.
    pub(super) statements: usize,
    /// Whether the parser changes headers in other ways than by extracting them.
    pub(super) parser_writes_headers: bool,
    /// The size of a packet's frame in bytes. Behind the program's variables, the frame holds the
    /// values that one stage passes to the next: the pointers to headers, the cursor, the parser's
    /// error, the change of the packet's length and the remaining work.
    pub(super) frame: u32,
    pub(super) cursor: Offset,
    pub(super) error: Offset,
    pub(super) length_change: Offset,
    pub(super) work_left: Offset,
    /// The packed tables that match prefixes or rules and are searched for a whole burst at once.
    /// Each table number is mapped to the column of the burst that holds the keys and the results
    /// of the search.
    pub(super) ahead: BTreeMap<u32, usize>,
    /// The packed tables with exact keys whose entries have counters or timers. Each table number
    /// is mapped to the column of the burst that holds the keys.
    pub(super) keys: BTreeMap<u32, usize>,
    /// The number of columns of a burst. A column holds the keys of all packets for one table.
    pub(super) columns: usize,
}

/// The facts about a header that the code generator needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PlannedHeader {
    /// The number of bytes of the header that the program accesses. The header's first byte is
    /// [`DATA`] bytes after its validity flag.
    pub(super) bytes: u32,
    /// The number of bytes that the parser of received packets extracts. `None` if it does not
    /// extract the header.
    pub(super) extracted: Option<u32>,
    /// Whether the header may be stored in the frame (the packet's working memory) instead of the
    /// packet, because the program writes it there.
    pub(super) written: bool,
    /// Whether the parser reads fields of the header.
    pub(super) parser_reads: bool,
    /// The offset of the varbit at the end of the header from the header's first byte. `None` if
    /// there is no varbit.
    pub(super) tail: Option<u32>,
    /// The offset in the frame (the packet's working memory) at which one stage passes the pointer
    /// to the header to the next.
    pub(super) pointer: Offset,
}

/// The reason why packets of a program cannot be processed in bursts, or not on the fast path at
/// all.
pub(super) type Refusal = &'static str;

type Outcome = Result<(), Refusal>;

impl Plan {
    /// Makes the plan for a program by a walk through its blocks. Returns the reason as an error if
    /// packets of the program cannot be processed in bursts.
    pub(super) fn new(resolved: &ResolvedProgram, fast_path: &FastPath) -> Result<Self, Refusal> {
        let mut walk = Walk {
            resolved,
            plan: Self::default(),
            in_parser: true,
            parses: true,
            left: MAX_STATEMENTS,
            requested: false,
            sums: false,
            parsed: BTreeSet::new(),
            later: BTreeSet::new(),
            changed: BTreeSet::new(),
            moves: Vec::new(),
            header_bytes: 0,
        };
        let mut sums = 0;
        let mut most_sums = 0;
        for block in &resolved.blocks {
            (walk.requested, walk.sums) = (false, false);
            walk.parses = matches!(block.callee, Callee::Parser(_));
            if walk.parses {
                // The egress parser of PSA begins a new packet for the interpreter, with no
                // checksum in progress.
                sums = 0;
            }
            walk.callee(block.callee)?;
            walk.in_parser = false;
            sums += u32::from(walk.sums);
            most_sums = most_sums.max(sums);
        }
        walk.parses = false;
        let mut moves = fast_path.psa.iter().flat_map(|psa| &psa.moves);
        moves.try_for_each(|moves| walk.block(moves))?;
        let deciding = fast_path.deciding();
        for Deciding { field, place, is_set } in &deciding {
            match place {
                Place::Always => {
                    walk.field(*field, if *is_set { Use::Write } else { Use::Read })?;
                }
                Place::IfTouched => {}
            }
        }
        // The driver that continues with a packet after such a request runs the deparser itself.
        if walk.requested {
            return Err("the deparser asks for a copy or another pass");
        }
        // Each block starts its own checksum, so one that spans two blocks would be lost.
        if most_sums > 1 {
            return Err("checksums are computed step by step in two blocks");
        }
        for message in &resolved.messages {
            walk.shape(message.offset, &message.shape, Use::Read)?;
        }
        walk.spread();
        walk.keep_for_the_architecture(&deciding);
        walk.finish()
    }

    /// Returns the column of the burst that holds the keys for a packed table, if there is one.
    pub(super) fn column(&self, table: u32) -> Option<usize> {
        self.ahead.get(&table).or(self.keys.get(&table)).copied()
    }

    /// Returns those numbers in a range of the frame (the packet's working memory) that generated
    /// functions keep in variables, each with its offset and size.
    pub(super) fn slots_in(&self, start: Offset, bytes: u32) -> Vec<(Offset, u32)> {
        let range = self.slots.range(start..start.saturating_add(bytes));
        range.map(|(offset, bytes)| (*offset, *bytes)).collect()
    }

    /// Returns the numbers of more than 64 bits in a range of the frame (the packet's working
    /// memory), each with its offset and size.
    pub(super) fn wide_in(&self, start: Offset, bytes: u32) -> Vec<(Offset, u32)> {
        let range = self.wide.range(start..start.saturating_add(bytes));
        range.map(|(offset, bytes)| (*offset, *bytes)).collect()
    }

    /// Returns the headers whose validity flags are in a range of the frame (the packet's working
    /// memory), each with the flag's offset.
    pub(super) fn headers_in(&self, start: Offset, bytes: u32) -> Vec<(Offset, PlannedHeader)> {
        let range = self.headers.range(start..start.saturating_add(bytes));
        range.map(|(offset, header)| (*offset, *header)).collect()
    }
}

/// A copy of one range of the frame (the packet's working memory) to another, for example of a
/// call's argument to its parameter.
struct Moved {
    to: Offset,
    from: Offset,
    bytes: u32,
    in_parser: bool,
}

impl Moved {
    /// Returns whether the source or target range of one move overlaps the source or target range
    /// of another.
    fn meets(&self, other: &Self) -> bool {
        [self.to, self.from].into_iter().any(|here| {
            [other.to, other.from].into_iter().any(|there| {
                here < there.saturating_add(other.bytes) && there < here.saturating_add(self.bytes)
            })
        })
    }
}

/// A walk through the blocks of a program, which collects the facts for its plan.
struct Walk<'b> {
    resolved: &'b ResolvedProgram,
    plan: Plan,
    /// Whether the walk is in the parser of received packets, rather than in a later block.
    in_parser: bool,
    /// Whether the walk is in a parser of the package, rather than in a control.
    parses: bool,
    /// The number of statements that the walk may still visit. If there are more, the program is
    /// too long for bursts.
    left: usize,
    /// Whether a statement of the current block may request a copy of the packet, another pass or a
    /// message to the control plane.
    requested: bool,
    /// Whether the interpreter computes a checksum in the current block step by step
    /// (`InternetChecksum`), with several statements.
    sums: bool,
    /// The numbers that the parser writes, by their offsets in the frame (the packet's working
    /// memory).
    parsed: BTreeSet<Offset>,
    /// The numbers that blocks after the parser use, by their offsets in the frame (the packet's
    /// working memory).
    later: BTreeSet<Offset>,
    /// The numbers that may become nonzero, by their offsets in the frame (the packet's working
    /// memory).
    changed: BTreeSet<Offset>,
    moves: Vec<Moved>,
    /// The sum of [`PlannedHeader::bytes`] over the headers that the plan contains so far.
    header_bytes: u64,
}

/// The way in which a statement uses a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Write,
}

impl Walk<'_> {
    /// Walks through the body of a block, action or function.
    fn callee(&mut self, callee: Callee) -> Outcome {
        let resolved = self.resolved;
        match resolved.bodies.get(callee) {
            Some(Body::Block(block)) => self.block(block),
            Some(Body::Parser(parser)) if parser.states.len() > MAX_STATEMENTS => {
                Err("the program is too long")
            }
            Some(Body::Parser(parser)) if parser.has_loop() => Err("a parser returns to a state"),
            Some(Body::Parser(parser)) => {
                self.block(&parser.prologue)?;
                for state in &parser.states {
                    self.block(&state.body)?;
                    for subject in &state.subjects {
                        self.expression(&subject.value)?;
                    }
                    for set in state.cases.iter().flat_map(|case| &case.sets) {
                        match set {
                            Set::Any | Set::Members(_) => {}
                            Set::Exact(value) => self.expression(value)?,
                            Set::Mask { value: one, mask: other }
                            | Set::Range { low: one, high: other } => {
                                self.expression(one)?;
                                self.expression(other)?;
                            }
                        }
                    }
                }
                Ok(())
            }
            None => Err("a block is not there"),
        }
    }

    fn block(&mut self, block: &[Statement]) -> Outcome {
        block.iter().try_for_each(|statement| self.statement(statement))
    }

    /// Records the values that a statement uses. Returns an error with the reason if the code for
    /// bursts cannot contain the statement.
    fn statement(&mut self, statement: &Statement) -> Outcome {
        ir::meter::count(1);
        self.left = self.left.checked_sub(1).ok_or("the program is too long")?;
        if self.in_parser && !is_of_packet(statement) {
            return Err("a parser calls something");
        }
        match statement {
            Statement::Store { field, value } => {
                self.expression(value)?;
                let before = self.changed.contains(&field.address.offset);
                self.field(*field, Use::Write)?;
                if *value == Expression::Constant(0) && !before {
                    self.changed.remove(&field.address.offset);
                }
                Ok(())
            }
            Statement::StoreSlice { field, value, .. } => {
                self.expression(value)?;
                self.field(*field, Use::Read)?;
                self.field(*field, Use::Write)
            }
            Statement::Assign { to, from, shape } => {
                self.assigned(fixed(*to)?, fixed(*from)?, shape)
            }
            Statement::Move { to, from, bytes } => {
                let (to, from, bytes) = (*to, fixed(*from)?, *bytes);
                self.moves.push(Moved { to, from, bytes, in_parser: self.in_parser });
                Ok(())
            }
            Statement::Clear { at, bytes } => {
                // A clear is treated like a move of the range to itself, since it touches the same
                // values.
                let (to, bytes) = (fixed(*at)?, *bytes);
                self.moves.push(Moved { to, from: to, bytes, in_parser: self.in_parser });
                Ok(())
            }
            Statement::Build { header, fields } => {
                for (_, value) in fields {
                    self.expression(value)?;
                }
                if let Some(header) = header {
                    self.header(fixed(*header)?, 0, Use::Write);
                }
                fields.iter().try_for_each(|(field, _)| self.field(*field, Use::Write))
            }
            Statement::If { condition, then, otherwise } => {
                self.expression(condition)?;
                self.block(then)?;
                self.block(otherwise)
            }
            Statement::Switch { subject, cases, default } => {
                self.expression(subject)?;
                cases.iter().try_for_each(|(_, block)| self.block(block))?;
                self.block(default)
            }
            Statement::Call { callee, after, result } => {
                self.callee(*callee)?;
                self.block(after)?;
                self.block(result)
            }
            Statement::Apply { table, hit, action_run } => {
                let resolved = self.resolved;
                let known = resolved.tables.get(*table as usize).ok_or("a table is not there")?;
                self.table(known)?;
                for field in [hit, action_run].into_iter().flatten() {
                    self.field(*field, Use::Write)?;
                }
                Ok(())
            }
            Statement::Extract { header, bytes, next: None } => {
                if let Some(header) = header {
                    let header = fixed(*header)?;
                    self.header(header, *bytes, Use::Read);
                    self.wrote(header);
                    self.extracted(header, *bytes);
                }
                Ok(())
            }
            Statement::Extract { .. } => Err("a stack is parsed"),
            Statement::ExtractWithTail { header, bytes, width, .. } => {
                self.expression(width)?;
                let header = fixed(*header)?;
                self.header(header, *bytes, Use::Read);
                self.tail(header, *bytes);
                self.wrote(header);
                self.wrote(header + TAIL);
                self.extracted(header, *bytes);
                Ok(())
            }
            Statement::LookaheadHeader { header, bytes } => {
                self.header(fixed(*header)?, *bytes, Use::Write);
                Ok(())
            }
            Statement::Emit { header, bytes, tail } => {
                let header = fixed(*header)?;
                self.header(header, *bytes, Use::Read);
                if *tail > 0 {
                    self.tail(header, *bytes);
                }
                Ok(())
            }
            Statement::SetValidity { header, bytes, tail, .. } => {
                let header = fixed(*header)?;
                self.header(header, *bytes, Use::Write);
                if *tail {
                    self.tail(header, *bytes);
                    self.wrote(header + TAIL);
                }
                Ok(())
            }
            Statement::Lookahead { field } => self.field(*field, Use::Write),
            Statement::Truncate(length) => {
                self.plan.truncates = true;
                self.expression(length)
            }
            Statement::Advance(bits) => self.expression(bits),
            Statement::Request(requested) => {
                (self.plan.requests, self.requested) = (true, true);
                requested.values().try_for_each(|value| self.expression(value))
            }
            Statement::AddEntry(added) => {
                let Added { missed, values, profile, status, .. } = &**added;
                values.iter().try_for_each(|(value, ..)| self.expression(value))?;
                profile.iter().try_for_each(|profile| self.expression(profile))?;
                self.missed(missed, Use::Read)?;
                status.iter().try_for_each(|(field, ..)| self.field(*field, Use::Write))
            }
            Statement::SendTo(value) | Statement::RestartTimer(value) => {
                value.iter().try_for_each(|value| self.expression(value))
            }
            Statement::Verify { condition, error } => {
                self.expression(condition)?;
                self.expression(error)
            }
            Statement::Assert { condition, .. } => self.expression(condition),
            Statement::ReadRegister { index, to, .. } => {
                self.expression(index)?;
                self.field(*to, Use::Read)?;
                self.field(*to, Use::Write)
            }
            Statement::WriteRegister { index, value, .. } => {
                self.expression(index)?;
                self.expression(value)
            }
            Statement::Count { index, .. } => self.expression(index),
            Statement::Meter { meter, index, .. } => {
                self.expression(index)?;
                self.metered(meter)
            }
            Statement::MeterEntry { meter, entry } => {
                self.field(*entry, Use::Read)?;
                self.metered(meter)
            }
            Statement::Color { color, to, .. } => {
                self.field(*color, Use::Read)?;
                self.field(*to, Use::Read)?;
                self.field(*to, Use::Write)
            }
            Statement::CountEntry { entry, bytes, .. } => {
                bytes.iter().try_for_each(|bytes| self.expression(bytes))?;
                self.field(*entry, Use::Read)
            }
            Statement::Checksum { gather, field, .. } => {
                self.gather(*gather)?;
                self.field(*field, Use::Read)?;
                self.field(*field, Use::Write)
            }
            Statement::Hash { gather, base, most, to } => {
                self.gather(*gather)?;
                self.expression(base)?;
                most.iter().try_for_each(|most| self.expression(most))?;
                self.field(*to, Use::Write)
            }
            Statement::Sum { gather, sum, .. } => {
                self.gather(*gather)?;
                self.field(*sum, Use::Read)?;
                self.field(*sum, Use::Write)
            }
            Statement::Return | Statement::Exit | Statement::Charge(_) => Ok(()),
            Statement::Loop { .. } | Statement::Break | Statement::Continue => {
                Err("there is a loop")
            }
            Statement::Interpret { step, .. } => self.step(*step),
        }
    }

    fn missed(&mut self, missed: &Missed, how: Use) -> Outcome {
        let Missed { table, low, high } = *missed;
        [table, low, high].into_iter().try_for_each(|field| self.field(field, how))
    }

    fn metered(&mut self, metered: &Metered) -> Outcome {
        self.expression(&metered.before)?;
        metered.length.iter().try_for_each(|length| self.expression(length))?;
        for how in [Use::Read, Use::Write] {
            metered.to.iter().try_for_each(|to| self.field(*to, how))?;
        }
        Ok(())
    }

    /// Records what a lookup in a table and the call of its action read and write.
    fn table(&mut self, table: &Table) -> Outcome {
        self.block(&table.before_keys)?;
        if let Some(directs) = &table.directs {
            self.field(directs.entry, Use::Write)?;
            for (_, color, result) in &directs.meters {
                self.field(*color, Use::Write)?;
                for how in [Use::Read, Use::Write] {
                    result.iter().try_for_each(|to| self.field(*to, how))?;
                }
            }
        }
        if let Some(general) = &table.general {
            self.plan.interprets = true;
            for one in &general.loads {
                self.shape(one.offset, &one.shape, Use::Read)?;
            }
            for one in &general.stores {
                self.shape(one.offset, &one.shape, Use::Write)?;
            }
            for (offset, shape) in general.data.iter().flatten() {
                self.shape(*offset, shape, Use::Write)?;
            }
        }
        table.keys.iter().flat_map(Key::values).try_for_each(|value| self.expression(value))?;
        if let Some((hash, to)) = table.members.as_ref().and_then(|members| members.hash.as_ref()) {
            self.block(hash)?;
            self.field(*to, Use::Read)?;
        }
        for action in &table.actions {
            self.plan.interprets |= action.reads_lookup;
            action.adds.iter().try_for_each(|missed| self.missed(missed, Use::Write))?;
            self.block(&action.before)?;
            for field in &action.data {
                self.field(*field, Use::Write)?;
            }
            self.callee(Callee::Action(action.action))?;
            self.block(&action.after)?;
        }
        Ok(())
    }

    /// Records a statement or expression that the interpreter runs, with all values that it uses.
    fn step(&mut self, step: u32) -> Outcome {
        let resolved = self.resolved;
        let step = resolved.steps.get(step as usize).ok_or("a step is not there")?;
        if self.parses {
            return Err("the interpreter has a step of the parser");
        }
        self.plan.interprets = true;
        match &step.kind {
            StepKind::Statement(statement) => match &statement.kind {
                StatementKind::Emit(_) => return Err("the interpreter emits a header"),
                StatementKind::CallExtern { callee: ExternCallee::Function(function), .. } => {
                    self.calls(function)?
                }
                StatementKind::CallExtern {
                    callee: ExternCallee::Method { method, .. }, ..
                } => {
                    use ExternMethod::{Add, Clear, Get, GetState, SetState, Subtract};
                    self.sums |=
                        matches!(method, Add | Clear | Get | GetState | SetState | Subtract);
                }
                // The values that these use are among the loads and stores of the step.
                StatementKind::Assign { .. }
                | StatementKind::Reset(_)
                | StatementKind::If { .. }
                | StatementKind::Switch { .. }
                | StatementKind::For { .. }
                | StatementKind::Break
                | StatementKind::Continue
                | StatementKind::ApplyTable { .. }
                | StatementKind::CallAction { .. }
                | StatementKind::CallFunction { .. }
                | StatementKind::CallControl { .. }
                | StatementKind::CallParser { .. }
                | StatementKind::Extract { .. }
                | StatementKind::Lookahead { .. }
                | StatementKind::Advance(_)
                | StatementKind::Verify { .. }
                | StatementKind::SetValidity { .. }
                | StatementKind::PushFront { .. }
                | StatementKind::PopFront { .. }
                | StatementKind::Return(_)
                | StatementKind::Exit => {}
            },
            StepKind::Evaluate(_, offset, shape) => self.shape(*offset, shape, Use::Write)?,
            StepKind::Write(_, _, offset, shape) => self.shape(*offset, shape, Use::Read)?,
            StepKind::Select(..) => return Err("the interpreter chooses a state of the parser"),
        }
        for one in &step.loads {
            self.shape(one.offset, &one.shape, Use::Read)?;
        }
        step.stores.iter().try_for_each(|one| self.shape(one.offset, &one.shape, Use::Write))
    }

    fn calls(&mut self, function: &ExternFunction) -> Outcome {
        use ExternFunction as Of;
        match function {
            Of::VerifyChecksumWithPayload | Of::UpdateChecksumWithPayload => {
                Err("the interpreter reads the payload")
            }
            function => {
                let copies = [Of::Digest, Of::MirrorPacket].contains(function);
                if copies || function.asks_for_another_pass() {
                    self.plan.requests = true;
                    self.requested = true;
                }
                Ok(())
            }
        }
    }

    /// Records that a value is copied to or from the interpreter's variables.
    fn shape(&mut self, offset: Offset, shape: &Shape, how: Use) -> Outcome {
        match shape {
            Shape::Scalar(scalar) => match scalar.storage {
                Storage::Native { bytes } => {
                    self.slot(offset, bytes)?;
                    if how == Use::Write {
                        self.wrote(offset);
                    }
                    Ok(())
                }
                Storage::Packed { .. } | Storage::Wide { .. } => {
                    Err("a field goes to the interpreter without its header")
                }
            },
            Shape::Wide { width, .. } => {
                self.plan.wide.insert(offset, width.div_ceil(8));
                Ok(())
            }
            Shape::Header(header) => {
                // The header is passed through its place in the frame.
                self.header(offset, header.bytes(), Use::Write);
                if header.tail > 0 {
                    self.tail(offset, header.bytes());
                    self.wrote(offset + TAIL);
                }
                Ok(())
            }
            Shape::Struct(parts, _) => {
                parts.iter().try_for_each(|(at, part)| self.shape(offset + at, part, how))
            }
            Shape::Stack { element, size } => {
                self.slot(offset, NEXT_INDEX)?;
                if how == Use::Write {
                    self.wrote(offset);
                }
                let header = Shape::Header(element.clone());
                (0..*size).try_for_each(|index| {
                    self.shape(offset + DATA + index * element.size(), &header, how)
                })
            }
            Shape::Row { .. } => Err("a stack of unions goes to the interpreter"),
            Shape::Union(..) => Err("a header union goes to the interpreter"),
            Shape::Loose(..) | Shape::Varbit { .. } | Shape::None(_) => {
                Err("a header whose fields are not contiguous goes to the interpreter")
            }
        }
    }

    fn gather(&mut self, gather: u32) -> Outcome {
        let resolved = self.resolved;
        let gather = resolved.gathers.get(gather as usize).ok_or("a hash is not there")?;
        for piece in &gather.pieces {
            match *piece {
                Piece::Bits { flag, offset, bit, width } => {
                    if offset != flag + DATA {
                        return Err("a hash of a header whose fields are not contiguous");
                    }
                    // The header is stored to the frame to be hashed.
                    self.header(flag, (bit + width).div_ceil(8), Use::Write);
                }
                Piece::Tail { flag, bytes } => {
                    self.header(flag, bytes, Use::Write);
                    self.tail(flag, bytes);
                }
                Piece::Number { offset, bytes, .. } => self.slot(offset, bytes)?,
                Piece::Constant { .. } => {}
            }
        }
        Ok(())
    }

    fn expression(&mut self, expression: &Expression) -> Outcome {
        match expression {
            Expression::Constant(_) | Expression::PacketLength => Ok(()),
            Expression::Load(field) => self.field(*field, Use::Read),
            Expression::LoadIfValid { header, value } => {
                self.header(fixed(*header)?, 0, Use::Read);
                self.expression(value)
            }
            Expression::Not(operand)
            | Expression::Negate { operand, .. }
            | Expression::Complement { operand, .. }
            | Expression::Slice { operand, .. }
            | Expression::Resize { operand, .. } => self.expression(operand),
            Expression::Binary { left, right, .. }
            | Expression::Concatenate { left, right, .. } => {
                self.expression(left)?;
                self.expression(right)
            }
            Expression::Conditional { condition, then, otherwise } => {
                self.expression(condition)?;
                self.expression(then)?;
                self.expression(otherwise)
            }
            Expression::IsValid(header) => {
                self.header(fixed(*header)?, 0, Use::Read);
                Ok(())
            }
            Expression::LastIndex(next) => self.slot(*next, NEXT_INDEX),
        }
    }

    fn assigned(&mut self, to: Offset, from: Offset, shape: &Shape) -> Outcome {
        match shape {
            Shape::Scalar(scalar) => match scalar.storage {
                Storage::Native { bytes } => {
                    self.slot(from, bytes)?;
                    self.slot(to, bytes)?;
                    self.wrote(to);
                    Ok(())
                }
                Storage::Packed { .. } | Storage::Wide { .. } => Err("a field is copied as it is"),
            },
            Shape::Header(header) => {
                self.header(from, header.bytes(), Use::Read);
                self.header(to, header.bytes(), Use::Write);
                if header.tail > 0 {
                    self.tail(from, header.bytes());
                    self.tail(to, header.bytes());
                    self.wrote(to + TAIL);
                }
                Ok(())
            }
            Shape::Struct(parts, _) => parts
                .iter()
                .try_for_each(|(offset, part)| self.assigned(to + offset, from + offset, part)),
            Shape::Wide { width, .. } => {
                let bytes = width.div_ceil(8);
                self.plan.wide.extend([(from, bytes), (to, bytes)]);
                Ok(())
            }
            Shape::Stack { element, size } => {
                self.slot(from, NEXT_INDEX)?;
                self.slot(to, NEXT_INDEX)?;
                self.wrote(to);
                let header = Shape::Header(element.clone());
                (0..*size).try_for_each(|index| {
                    let at = DATA + index * element.size();
                    self.assigned(to + at, from + at, &header)
                })
            }
            _ => Err("a value with other parts than numbers and headers is copied"),
        }
    }

    fn field(&mut self, field: Field, how: Use) -> Outcome {
        let offset = fixed(field.address)?;
        match field.scalar.storage {
            Storage::Native { bytes } => {
                self.slot(offset, bytes)?;
                if how == Use::Write {
                    self.wrote(offset);
                }
            }
            Storage::Wide { bytes, .. } => {
                self.plan.wide.insert(offset, bytes);
            }
            Storage::Packed { bit } => {
                let header = offset.checked_sub(DATA).ok_or("a field without a header")?;
                let inside = bit % 8 + field.scalar.width;
                let bytes = bit / 8 + inside.div_ceil(8).next_power_of_two();
                self.header(header, bytes, how);
                if self.in_parser
                    && let Some(known) = self.plan.headers.get_mut(&header)
                {
                    known.parser_reads = true;
                }
            }
        }
        Ok(())
    }

    /// Records a number that becomes a variable of the generated functions.
    fn slot(&mut self, offset: Offset, bytes: u32) -> Outcome {
        if *self.plan.slots.entry(offset).or_insert(bytes) != bytes {
            return Err("a number is used with two sizes");
        }
        if !self.in_parser {
            self.later.insert(offset);
        }
        Ok(())
    }

    /// Records that a number may become nonzero.
    fn wrote(&mut self, slot: Offset) {
        self.changed.insert(slot);
        if self.in_parser {
            self.parsed.insert(slot);
        }
    }

    /// Records that a statement uses the first `bytes` bytes of a header.
    fn header(&mut self, flag: Offset, bytes: u32, how: Use) {
        self.plan.slots.insert(flag, 1);
        let known = self.plan.headers.entry(flag).or_default();
        self.header_bytes += u64::from(bytes.saturating_sub(known.bytes));
        known.bytes = known.bytes.max(bytes);
        known.written |= how == Use::Write;
        if self.in_parser {
            self.plan.parser_writes_headers |= how == Use::Write;
            if how == Use::Write {
                self.parsed.insert(flag);
            }
        } else {
            self.later.insert(flag);
        }
    }

    /// Records that the parser of received packets extracts a header of the given size.
    fn extracted(&mut self, header: Offset, bytes: u32) {
        if let Some(known) = self.plan.headers.get_mut(&header).filter(|_| self.in_parser) {
            known.extracted = Some(bytes);
        }
    }

    /// Records that a header has a varbit at its end, `at` bytes after its first byte.
    fn tail(&mut self, flag: Offset, at: u32) {
        self.plan.slots.insert(flag + TAIL, 4);
        self.plan.headers.entry(flag).or_default().tail = Some(at);
        if !self.in_parser {
            self.later.insert(flag + TAIL);
        }
    }

    /// Adds values to the plan until the source and the target of each recorded move have the same
    /// numbers, headers and validity flags.
    fn spread(&mut self) {
        let moves = std::mem::take(&mut self.moves);
        // A move is processed again when another move has added values to one of its sides.
        let mut waiting: VecDeque<usize> = (0..moves.len()).collect();
        let mut waits = vec![true; moves.len()];
        while let Some(position) = waiting.pop_front() {
            waits[position] = false;
            let before = self.extent();
            self.spread_one(&moves[position]);
            if self.extent() == before {
                continue;
            }
            for (other, moved) in moves.iter().enumerate() {
                if !waits[other] && moved.meets(&moves[position]) {
                    waits[other] = true;
                    waiting.push_back(other);
                }
            }
        }
        // Now that all values are known, this records which of them the moves write.
        moves.iter().for_each(|moved| self.spread_one(moved));
    }

    fn spread_one(&mut self, moved: &Moved) {
        ir::meter::count(1);
        let Moved { to, from, bytes, in_parser } = moved;
        self.in_parser = *in_parser;
        for (here, there) in [(*from, *to), (*to, *from)] {
            for (offset, bytes) in self.plan.slots_in(here, *bytes) {
                self.plan.slots.insert(offset - here + there, bytes);
            }
            for (offset, bytes) in self.plan.wide_in(here, *bytes) {
                self.plan.wide.insert(offset - here + there, bytes);
            }
            for (offset, header) in self.plan.headers_in(here, *bytes) {
                self.header(offset - here + there, header.bytes, Use::Read);
                if let Some(at) = header.tail {
                    self.tail(offset - here + there, at);
                }
            }
        }
        for (offset, _) in self.plan.slots_in(*to, *bytes) {
            self.wrote(offset);
        }
        for (offset, header) in self.plan.headers_in(*to, *bytes) {
            self.header(offset, header.bytes, Use::Write);
        }
        if !in_parser {
            for at in [*from, *to] {
                let touched = self.plan.slots_in(at, *bytes);
                self.later.extend(touched.into_iter().map(|(offset, _)| offset));
            }
        }
    }

    /// Records that the architecture reads the metadata fields in `deciding` after the parser, to
    /// decide where packets go. Values that the parser writes to these fields are therefore kept.
    fn keep_for_the_architecture(&mut self, deciding: &[Deciding]) {
        let offsets = deciding.iter().map(|deciding| deciding.field.address.offset);
        let touched = offsets.filter(|offset| self.plan.slots.contains_key(offset));
        self.later.extend(touched.collect::<Vec<_>>());
    }

    /// Returns four counts that grow whenever the walk finds another value. The walk is complete
    /// when they no longer grow.
    fn extent(&self) -> (usize, usize, usize, u64) {
        let Plan { slots, wide, headers, .. } = &self.plan;
        (slots.len(), wide.len(), headers.len(), self.header_bytes)
    }

    /// Completes the plan: checks that no numbers overlap, and assigns the offsets at which one
    /// stage passes values to the next.
    fn finish(self) -> Result<Plan, Refusal> {
        let Self { resolved, mut plan, left, parsed, later, changed, .. } = self;
        plan.changed = changed;
        let mut end = 0;
        let mut numbers: Vec<_> = plan.slots.iter().chain(&plan.wide).collect();
        numbers.sort_unstable();
        for (offset, bytes) in numbers {
            if *offset < end {
                return Err("numbers overlap");
            }
            end = offset + bytes;
        }
        plan.saved = parsed.intersection(&later).copied().collect();
        let mut next = resolved.frame.next_multiple_of(8);
        let mut place = || {
            next += 8;
            next - 8
        };
        for header in plan.headers.values_mut() {
            header.pointer = place();
        }
        (plan.cursor, plan.error) = (place(), place());
        (plan.length_change, plan.work_left) = (place(), place());
        let has = |what: &dyn Fn(&EntryLayout) -> bool| {
            let mut layouts = resolved.tables.iter().filter_map(|table| table.packed.as_ref());
            layouts.any(|(_, layout)| what(layout))
        };
        plan.updates_out_of_place = has(&|layout| layout.updates_out_of_place);
        let adds = resolved.adds_entries || resolved.steps.iter().any(Step::adds_entry);
        plan.leaves_gate =
            plan.updates_out_of_place || adds || has(&|layout| layout.ageing == Ageing::Delete);
        // Results of a batch lookup are only valid as long as no packet changes a table.
        plan.searches_per_packet = plan.leaves_gate && has(&|layout| layout.fields().is_some());
        for (number, layout) in resolved.tables.iter().filter_map(|table| table.packed.as_ref()) {
            let column = plan.ahead.len() + plan.keys.len();
            // The columns of a burst hold keys of two words.
            let has_column = layout.words_in_memory.is_none();
            if layout.fields().is_some() && has_column && !plan.searches_per_packet {
                plan.ahead.insert(*number, column);
            }
            if layout.fields().is_none() && Owner::of(layout).is_some() {
                plan.keys.insert(*number, column);
            }
        }
        plan.columns = plan.ahead.len() + plan.keys.len();
        plan.frame = next;
        plan.statements = MAX_STATEMENTS - left;
        Ok(plan)
    }
}

/// Returns whether a statement always ends, and reads and writes nothing but the packet and the
/// packet's values. The parser may contain only such statements, because a whole burst is parsed
/// before the first packet continues.
fn is_of_packet(statement: &Statement) -> bool {
    !matches!(
        statement,
        Statement::Apply { .. }
            | Statement::Truncate(_)
            | Statement::Assert { .. }
            | Statement::ReadRegister { .. }
            | Statement::WriteRegister { .. }
            | Statement::Count { .. }
            | Statement::Meter { .. }
            | Statement::CountEntry { .. }
            | Statement::MeterEntry { .. }
            | Statement::Color { .. }
            | Statement::Checksum { .. }
            | Statement::SendTo(_)
            | Statement::Request(_)
            | Statement::AddEntry(_)
            | Statement::RestartTimer(_)
    )
}

/// Returns the offset of a value in the frame (the packet's working memory). Returns an error if
/// the offset depends on the index of a header stack's next element.
fn fixed(address: Address) -> Result<Offset, Refusal> {
    match address.element {
        None => Ok(address.offset),
        Some(_) => Err("an element of a stack is used"),
    }
}
