//! The maximum number of bytes at the start of a packet that a v1model program reads.
//!
//! Suppose that a program reads at most the first `n` bytes of a packet, and uses only the number
//! of the remaining bytes. Then those `n` bytes and the packet's length determine what the program
//! does: the deparser only appends the rest. A caller that has several segments of a TCP connection
//! in one buffer can therefore run the program on the head of each segment and leave the payload in
//! place.
//!
//! The bound is the sum of what all states of the parser extract, look ahead or skip. If a state is
//! in a loop that fills a header stack, it counts once for each element of the stack. There is no
//! bound if a loop fills no stack, or if the parser skips a number of bytes that it has read from
//! the packet. There is also none for programs that
//!
//! * compute a checksum over the payload (`verify_checksum_with_payload`,
//!   `update_checksum_with_payload`), or read `packet.length()`;
//! * truncate packets (`truncate`, clone sessions), which may remove part of the rest;
//! * clone or recirculate: a deparser may remove headers, and the parser of the copy would then
//!   read beyond the head;
//! * read the lengths of queues, which count packets.

use super::each_statement_in;
use ir::{
    Architecture, Argument, BinaryOperator, Block, CompositeKind, Expression, ExpressionKind,
    ExternCallee, ExternFunction, Parser, ParserId, Place, Program, Projection, State, StateId,
    Statement, StatementKind, Transition, Type, TypeId,
};
use std::collections::HashMap;

/// Returns the maximum number of bytes at the start of a packet that the program reads. Returns
/// `None` if it may read more than 1,024 bytes, or does more with the remaining bytes than pass
/// them on.
pub(super) fn bytes(program: &Program, reads_queue_depth: bool) -> Option<u64> {
    if program.architecture != Architecture::V1model || reads_queue_depth {
        return None;
    }
    if !reads_heads_only(program) {
        return None;
    }
    let Some(ir::PackageValue::Parser(parser)) =
        program.main.arguments.first().map(|argument| &argument.value)
    else {
        return None;
    };
    let mut read = Read { program, parsers: HashMap::new() };
    let bytes = read.of_parser(*parser)?.div_ceil(8);
    // Separating a longer head from its payload would take longer than processing the packet.
    const LONGEST: u64 = 1024;
    (bytes <= LONGEST).then_some(bytes)
}

/// Returns whether a program reads the bytes of packets only in its parsers, and uses neither the
/// payload nor the length of packets.
fn reads_heads_only(program: &Program) -> bool {
    let tables = &program.tables;
    let references = tables.iter().flat_map(|table| &table.actions);
    let mut outside: Vec<&Block> = Vec::new();
    outside.extend(program.controls.iter().map(|control| &control.body));
    outside.extend(program.actions.iter().map(|action| &action.body));
    outside.extend(program.functions.iter().map(|function| &function.body));
    outside.extend(tables.iter().map(|table| &table.before_keys));
    outside.extend(references.clone().map(|reference| &reference.before_arguments));
    let mut parsers: Vec<&Block> = Vec::new();
    for parser in &program.parsers {
        parsers.push(&parser.prologue);
        parsers.extend(parser.states.iter().map(|state| &state.body));
    }
    let mut is_read = false;
    each_statement_in(outside, &mut |statement| {
        is_read |= matches!(
            statement.kind,
            StatementKind::Extract { .. }
                | StatementKind::Lookahead { .. }
                | StatementKind::Advance(_)
        );
        is_read |= needs_payload(&statement.kind);
    });
    each_statement_in(parsers, &mut |statement| is_read |= needs_payload(&statement.kind));
    let transitions = program.parsers.iter().flat_map(|parser| &parser.states);
    let subjects = transitions.flat_map(|state| match &state.transition {
        Transition::Direct(_) => &[][..],
        Transition::Select { subjects, .. } => subjects,
    });
    let mut others =
        subjects.chain(tables.iter().flat_map(|table| &table.keys).map(|key| &key.expression));
    !is_read
        && !others.any(asks_for_length)
        && !references.flat_map(|one| &one.arguments).any(argument_asks)
}

/// Returns whether a statement uses the bytes after a packet's headers, changes the length of
/// packets by truncation, or reads the length of the packet.
fn needs_payload(statement: &StatementKind) -> bool {
    match statement {
        StatementKind::Assign { place, value } => place_asks(place) || asks_for_length(value),
        StatementKind::Reset(place) => place_asks(place),
        StatementKind::If { condition: value, .. }
        | StatementKind::Switch { subject: value, .. }
        | StatementKind::For { condition: value, .. }
        | StatementKind::Advance(value)
        | StatementKind::Emit(value)
        | StatementKind::Return(Some(value)) => asks_for_length(value),
        StatementKind::ApplyTable { hit, action_run, .. } => {
            hit.iter().chain(action_run).any(place_asks)
        }
        StatementKind::CallExtern { callee, arguments, result, .. } => {
            let is_fused = match callee {
                ExternCallee::Function(function) => uses_rest(function),
                ExternCallee::Method { .. } => false,
            };
            is_fused || arguments.iter().any(argument_asks) || result.iter().any(place_asks)
        }
        StatementKind::CallFunction { arguments, result, .. } => {
            arguments.iter().any(argument_asks) || result.iter().any(place_asks)
        }
        StatementKind::CallAction { arguments, .. }
        | StatementKind::CallControl { arguments, .. }
        | StatementKind::CallParser { arguments, .. } => arguments.iter().any(argument_asks),
        StatementKind::Extract { header, varbit_width, .. } => {
            header.iter().any(place_asks) || varbit_width.iter().any(asks_for_length)
        }
        StatementKind::Lookahead { result: place, .. }
        | StatementKind::SetValidity { header: place, .. }
        | StatementKind::PushFront { stack: place, .. }
        | StatementKind::PopFront { stack: place, .. } => place_asks(place),
        StatementKind::Verify { condition, error } => {
            asks_for_length(condition) || asks_for_length(error)
        }
        StatementKind::Break
        | StatementKind::Continue
        | StatementKind::Return(None)
        | StatementKind::Exit => false,
    }
}

/// Returns whether an extern function reads or changes the payload of packets.
fn uses_rest(function: &ExternFunction) -> bool {
    use ExternFunction as Known;
    match function {
        Known::Clone
        | Known::Clone3
        | Known::ClonePreservingFieldList
        | Known::Recirculate
        | Known::RecirculatePreservingFieldList
        | Known::Truncate
        | Known::UpdateChecksumWithPayload
        | Known::VerifyChecksumWithPayload
        | Known::Other(_) => true,
        Known::Assert
        | Known::Assume
        | Known::Digest
        | Known::Hash
        | Known::LogMsg
        | Known::MarkToDrop
        | Known::Random
        | Known::Resubmit
        | Known::ResubmitPreservingFieldList
        | Known::StaticAssert
        | Known::UpdateChecksum
        | Known::VerifyChecksum => false,
        // The remaining functions are not v1model's.
        _ => true,
    }
}

fn argument_asks(argument: &Argument) -> bool {
    match argument {
        Argument::In(value) => asks_for_length(value),
        Argument::Out(place) | Argument::InOut(place) => place_asks(place),
        Argument::Saved { place, value } => place_asks(place) || asks_for_length(value),
        Argument::Ordered { argument, .. } => argument_asks(argument),
        Argument::Extern(_) | Argument::Action(_) | Argument::Absent => false,
    }
}

fn place_asks(place: &Place) -> bool {
    place.path.iter().any(|step| match step {
        Projection::Element(index) => asks_for_length(index),
        Projection::Field(_) | Projection::Next | Projection::Last | Projection::Slice { .. } => {
            false
        }
    })
}

/// Returns whether an expression contains `packet.length()`.
fn asks_for_length(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::PacketLength => true,
        ExpressionKind::Constant(_) | ExpressionKind::Invalid => false,
        ExpressionKind::Read(place)
        | ExpressionKind::IsValid(place)
        | ExpressionKind::LastIndex(place) => place_asks(place),
        ExpressionKind::Unary(_, operand)
        | ExpressionKind::Cast(operand)
        | ExpressionKind::Slice { operand, .. } => asks_for_length(operand),
        ExpressionKind::Binary(_, left, right) => asks_for_length(left) || asks_for_length(right),
        ExpressionKind::Conditional { condition, then, otherwise } => {
            [condition, then, otherwise].iter().any(|part| asks_for_length(part))
        }
        ExpressionKind::Composite(parts) | ExpressionKind::Stack(parts) => {
            parts.iter().any(asks_for_length)
        }
    }
}

/// The computation of the maximum number of bits that parsers read. Each parser is computed only
/// once.
struct Read<'p> {
    program: &'p Program,
    parsers: HashMap<ParserId, Option<u64>>,
}

impl Read<'_> {
    /// Returns the maximum number of bits that a parser and its subparsers read. Returns `None` if
    /// there is no maximum.
    fn of_parser(&mut self, id: ParserId) -> Option<u64> {
        if let Some(known) = self.parsers.get(&id) {
            return *known;
        }
        let bits = self.new_parser(self.program.parsers.get(id.index())?);
        self.parsers.insert(id, bits);
        bits
    }

    fn new_parser(&mut self, parser: &Parser) -> Option<u64> {
        let program = self.program;
        let loops = Loops::of(parser);
        let mut times = 1_u64;
        if loops.any() {
            // Without the states that fill a stack, the remaining states must not form a loop.
            let fills = |state: &State| filled_stack(program, state);
            if Loops::without(parser, |state| fills(state).is_some()).any() {
                return None;
            }
            let states = parser.states.iter().zip(&loops.0);
            for (state, _) in states.filter(|(_, is_looped)| **is_looped) {
                if !keeps_stacks(program, state) {
                    return None;
                }
                times = times.saturating_add(fills(state).unwrap_or(0));
            }
        }
        let mut sum = self.of_block(&parser.prologue)?;
        for (state, is_looped) in parser.states.iter().zip(loops.0) {
            let once = self.of_block(&state.body)?;
            sum = sum.saturating_add(once.saturating_mul(if is_looped { times } else { 1 }));
        }
        Some(sum)
    }

    /// Returns the maximum number of bits that statements of a parser read. Returns `None` if there
    /// is no maximum.
    fn of_block(&mut self, block: &Block) -> Option<u64> {
        let program = self.program;
        let mut sum = Some(0_u64);
        each_statement_in(vec![block], &mut |statement: &Statement| {
            ir::meter::count(1);
            let bits = match &statement.kind {
                // If a `varbit` is longer than its field allows, the packet is read before the
                // error occurs.
                StatementKind::Extract { header_type, varbit_width, .. } => {
                    let fields = width(program, *header_type);
                    let tail = varbit_width.as_ref().map_or(Some(0), |bits| largest(program, bits));
                    fields.zip(tail).map(|(fields, tail)| fields.saturating_add(tail))
                }
                StatementKind::Lookahead { type_id, .. } => width(program, *type_id),
                StatementKind::Advance(by) => largest(program, by),
                StatementKind::CallParser { parser, .. } => self.of_parser(*parser),
                // The loop may run any number of times.
                StatementKind::For { .. } => None,
                _ => Some(0),
            };
            sum = sum.zip(bits).map(|(sum, bits)| sum.saturating_add(bits));
        });
        sum
    }
}

/// Returns an upper bound of the value of an unsigned expression, derived from the widths of its
/// parts.
fn largest(program: &Program, value: &Expression) -> Option<u64> {
    let Type::Bits { width, signed: false } = program.types.find(value.type_id)? else {
        return None;
    };
    let of_width = 1_u64.checked_shl(width).map_or(u64::MAX, |above| above - 1);
    let of_parts = match &value.kind {
        ExpressionKind::Constant(ir::Value::Bits(bits)) => bits.to_u64(),
        ExpressionKind::Cast(operand) => largest(program, operand),
        ExpressionKind::Slice { high, low, .. } => {
            1_u64.checked_shl(high - low + 1).map(|above| above - 1)
        }
        ExpressionKind::Binary(BinaryOperator::Multiply, left, right) => {
            let [left, right] = [left, right].map(|part| largest(program, part));
            left.zip(right).and_then(|(left, right)| left.checked_mul(right))
        }
        ExpressionKind::Binary(BinaryOperator::ShiftLeft, left, right) => {
            let by = match &right.kind {
                ExpressionKind::Constant(ir::Value::Bits(bits)) => bits.to_u64(),
                ExpressionKind::Constant(ir::Value::Integer(by)) => u64::try_from(by).ok(),
                _ => None,
            };
            let factor = by.and_then(|by| 1_u64.checked_shl(u32::try_from(by).ok()?));
            largest(program, left).zip(factor).and_then(|(left, by)| left.checked_mul(by))
        }
        _ => None,
    };
    Some(of_parts.unwrap_or(u64::MAX).min(of_width))
}

/// Returns the maximum number of bits that a value of a type has in a packet.
fn width(program: &Program, type_id: TypeId) -> Option<u64> {
    match program.types.find(type_id)? {
        Type::Bits { width, .. } | Type::Varbits { max_width: width } => Some(width.into()),
        Type::Bool => Some(1),
        Type::Composite(id) => {
            let composite = program.types.composites.get(id.index())?;
            let mut widths = composite.fields.iter().map(|field| width(program, field.type_id));
            widths.try_fold(0_u64, |sum, width| Some(sum.saturating_add(width?)))
        }
        Type::Stack { element, size } => Some(width(program, element)?.saturating_mul(size.into())),
        Type::Integer | Type::Error | Type::Enum(_) | Type::String | Type::ActionRun(_) => None,
    }
}

/// Returns the size of the header stack whose next element a state extracts on every path through
/// the state, if there is such a stack. A loop through the state ends when the stack is full,
/// because a further extraction rejects the packet.
fn filled_stack(program: &Program, state: &State) -> Option<u64> {
    state.body.iter().find_map(|statement| {
        let StatementKind::Extract { header: Some(place), .. } = &statement.kind else {
            return None;
        };
        let position = place.path.iter().position(|step| matches!(step, Projection::Next))?;
        match type_of(program, place, position)? {
            Type::Stack { size, .. } => Some(size.into()),
            _ => None,
        }
    })
}

/// Returns whether a state does not write to header stacks other than by extraction, so that the
/// number of elements that can still be extracted is known.
fn keeps_stacks(program: &Program, state: &State) -> bool {
    let mut keeps = true;
    each_statement_in(vec![&state.body], &mut |statement| {
        keeps &= match &statement.kind {
            StatementKind::Extract { .. }
            | StatementKind::Lookahead { .. }
            | StatementKind::Advance(_)
            | StatementKind::Verify { .. }
            | StatementKind::If { .. } => true,
            StatementKind::Assign { place, .. } | StatementKind::Reset(place) => {
                let is_slice = matches!(place.path.last(), Some(Projection::Slice { .. }));
                let written = type_of(program, place, place.path.len());
                is_slice || written.is_some_and(|of| !holds_stack(program, of))
            }
            _ => false,
        };
    });
    keeps
}

fn holds_stack(program: &Program, of: Type) -> bool {
    match of {
        Type::Stack { .. } => true,
        Type::Composite(id) => program.types.composites.get(id.index()).is_none_or(|composite| {
            composite.kind != CompositeKind::Header
                && composite.fields.iter().any(|field| {
                    let inner = program.types.find(field.type_id);
                    inner.is_none_or(|inner| holds_stack(program, inner))
                })
        }),
        _ => false,
    }
}

/// Returns the type of the part of a variable that is reached by the first `steps` steps of a
/// place.
fn type_of(program: &Program, place: &Place, steps: usize) -> Option<Type> {
    let mut current = program.variables.get(place.variable.index())?.type_id;
    for step in place.path.get(..steps)? {
        current = match (step, program.types.find(current)?) {
            (Projection::Field(position), Type::Composite(id)) => {
                let composite = program.types.composites.get(id.index())?;
                composite.fields.get(*position as usize)?.type_id
            }
            (
                Projection::Element(_) | Projection::Next | Projection::Last,
                Type::Stack { element, .. },
            ) => element,
            _ => return None,
        };
    }
    program.types.find(current)
}

/// Whether a packet can visit a state more than once, for each state of a parser.
struct Loops(Vec<bool>);

impl Loops {
    fn of(parser: &Parser) -> Self {
        Self::without(parser, |_| false)
    }

    /// Finds the states of a parser that a packet can visit more than once if the states for which
    /// `is_gone` returns true are removed.
    fn without(parser: &Parser, is_gone: impl Fn(&State) -> bool) -> Self {
        let gone: Vec<bool> = parser.states.iter().map(is_gone).collect();
        let stays = |state: &usize| gone.get(*state).is_some_and(|gone| !gone);
        let next = |state: usize| {
            let all = parser.states.get(state).filter(|_| stays(&state)).into_iter();
            let next = all.flat_map(|state| state.transition.next_states());
            next.map(StateId::index).filter(stays)
        };
        let next: Vec<Vec<usize>> = (0..gone.len()).map(|state| next(state).collect()).collect();
        Self(burst_loop(&next))
    }

    fn any(&self) -> bool {
        self.0.contains(&true)
    }
}

/// Computes which nodes of a graph lie on a cycle: those whose strongly connected component has
/// further nodes, and those with an edge to themselves (R. Tarjan, "Depth-first search and linear
/// graph algorithms", 1972).
fn burst_loop(next: &[Vec<usize>]) -> Vec<bool> {
    const NEW: usize = usize::MAX;
    let count = next.len();
    let mut numbers = vec![NEW; count];
    let mut lowest = vec![NEW; count];
    let mut is_open = vec![false; count];
    let mut burst_loop: Vec<bool> = (0..count).map(|node| next[node].contains(&node)).collect();
    let (mut open, mut number) = (Vec::new(), 0);
    for root in 0..count {
        // The nodes of the current path, each with the number of its successors already visited.
        let mut way = if numbers[root] == NEW { vec![(root, 0)] } else { Vec::new() };
        while let Some((node, looked_at)) = way.last_mut() {
            ir::meter::count(1);
            let node = *node;
            if *looked_at == 0 && numbers[node] == NEW {
                (numbers[node], lowest[node], is_open[node]) = (number, number, true);
                number += 1;
                open.push(node);
            }
            if let Some(&to) = next[node].get(*looked_at) {
                *looked_at += 1;
                if numbers[to] == NEW {
                    way.push((to, 0));
                } else if is_open[to] {
                    lowest[node] = lowest[node].min(numbers[to]);
                }
                continue;
            }
            way.pop();
            if let Some((before, _)) = way.last() {
                lowest[*before] = lowest[*before].min(lowest[node]);
            }
            if lowest[node] == numbers[node] {
                let start = open.iter().rposition(|open| *open == node).unwrap_or(0);
                let component = open.split_off(start);
                for of_it in &component {
                    is_open[*of_it] = false;
                    burst_loop[*of_it] |= component.len() > 1;
                }
            }
        }
    }
    burst_loop
}
