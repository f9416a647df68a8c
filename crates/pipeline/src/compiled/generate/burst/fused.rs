//! The fused function, in which each packet of a burst is parsed and processed to completion before
//! the next one.
//!
//! Compared with two separate stages, no values pass through the frame, keys are hashed once, and
//! the processor overlaps the work of neighbouring packets by itself. It does not look far enough
//! ahead to hide the latency of entries in main memory; the two stages or the prefetch stage do
//! that.
//!
//! A parser can end at several points, and different headers are known to be valid at each. For
//! some of these points, the code after the parser is generated separately, so that it need not
//! test the headers.

use super::prefetch::Prefetched;
use super::{Lengths, Loop};
use crate::compiled::burst::Packet;
use crate::compiled::fast_path::{FastPath, PARSER};
use crate::compiled::generate::function::{Function, context_offset};
use crate::compiled::generate::variables::Known;
use crate::compiled::plan::Plan;
use crate::error::InternalError;
use crate::resolved::{
    Address, Body, Callee, Expression, Offset, Parser, ResolvedProgram, State, Statement, Target,
};
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;

/// The largest number of statements of a program for which a fused function (parser to deparser) is
/// generated.
const STATEMENTS: usize = 512;
/// The largest number of statements after the parser in a fused function. If they are generated
/// separately for several points at which the parser ends, each copy of a statement counts.
const STATEMENTS_WRITTEN_OUT: usize = 768;
/// The largest number of points at which the parser ends for which the statements after the parser
/// are generated separately.
const ENDS: usize = 3;

/// Returns whether a fused function can take packets of a program from parser to deparser, one
/// after another.
pub(in crate::compiled::generate) fn is_possible(
    plan: &Plan,
    prefetched: Option<&Prefetched<'_>>,
) -> bool {
    // Tables with prefixes or rules are searched for a whole burst at once.
    let is_looked_up_ahead = |table: &u32| {
        prefetched.is_some_and(|prefetched| prefetched.tables().any(|known| known == *table))
    };
    // The interpreter's steps change tables, and so do updates of entries that are not written in
    // place.
    !plan.interprets
        && !plan.updates_out_of_place
        && !plan.searches_per_packet
        && !plan.parser_writes_headers
        && plan.ahead.keys().all(is_looked_up_ahead)
        && plan.statements <= STATEMENTS
}

/// A point at which the parser ends, and the facts about a packet's headers that hold there.
struct Way {
    block: Block,
    parsed: Parsed,
}

/// The facts about a packet's headers that hold on all paths to some point of the parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parsed {
    /// The headers that are extracted on all paths. Each has its offset in the packet if that is
    /// the same on all paths.
    extracted: BTreeMap<Offset, Option<u32>>,
    /// The headers that are extracted on at least one path. `None` means that any header may be.
    possible: Option<BTreeSet<Offset>>,
    /// The number of bytes that are parsed. `None` if it differs from path to path.
    cursor: Option<u32>,
}

impl Parsed {
    /// Returns the facts at the start of the parser, where no header has been extracted.
    pub(super) fn nothing() -> Self {
        Self { extracted: BTreeMap::new(), possible: Some(BTreeSet::new()), cursor: Some(0) }
    }

    /// Returns the facts that hold if nothing is known about a packet's headers.
    fn unknown() -> Self {
        Self { extracted: BTreeMap::new(), possible: None, cursor: None }
    }

    /// Returns the facts that hold both on the paths of `self` and on those of `other`.
    fn and(mut self, other: &Self) -> Self {
        self.extracted.retain(|header, at| match other.extracted.get(header) {
            Some(there) => {
                *at = at.filter(|at| *there == Some(*at));
                true
            }
            None => false,
        });
        self.possible = self.possible.zip(other.possible.as_ref()).map(|(one, other)| &one | other);
        self.cursor = self.cursor.filter(|cursor| other.cursor == Some(*cursor));
        self
    }

    /// Returns the facts that hold after a state of the parser, given that those in `self` hold
    /// before it.
    fn behind(mut self, state: &State) -> Self {
        for statement in &state.body {
            match statement {
                Statement::Extract { header, bytes, .. } => {
                    if let Some(header) = header {
                        self.extract(*header);
                    }
                    self.advance(Some(*bytes));
                }
                Statement::ExtractWithTail { header, .. } => {
                    self.extract(*header);
                    self.advance(None);
                }
                Statement::Advance(Expression::Constant(bits)) => {
                    self.advance(u32::try_from(bits / 8).ok().filter(|_| bits % 8 == 0));
                }
                Statement::Advance(_) => self.advance(None),
                Statement::Store { .. }
                | Statement::StoreSlice { .. }
                | Statement::Lookahead { .. }
                | Statement::Verify { .. }
                | Statement::Charge(_) => {}
                // Other statements may do anything to headers.
                _ => {
                    self.extracted.values_mut().for_each(|at| *at = None);
                    (self.possible, self.cursor) = (None, None);
                }
            }
        }
        self
    }

    /// Records that a header is extracted at the cursor of the parser.
    fn extract(&mut self, header: Address) {
        if header.element.is_some() {
            self.possible = None;
            return;
        }
        self.extracted.insert(header.offset, self.cursor);
        if let Some(possible) = &mut self.possible {
            possible.insert(header.offset);
        }
    }

    /// Records that the parser's cursor advances by a number of bytes. `None` means that the number
    /// is not known, and the cursor is not known afterwards.
    fn advance(&mut self, bytes: Option<u32>) {
        self.cursor = self.cursor.zip(bytes).and_then(|(cursor, by)| cursor.checked_add(by));
    }

    /// Returns the facts that hold where the parser ends with the most headers extracted. Returns
    /// `None` if the parser never ends, or if the number of bytes parsed up to that point is not
    /// known.
    pub(super) fn longest(resolved: &ResolvedProgram, fast_path: &FastPath) -> Option<Self> {
        let callee = fast_path.blocks[PARSER];
        let parser = match resolved.bodies.get(callee)? {
            Body::Parser(parser) => parser,
            Body::Block(_) => return None,
        };
        let accepts = |state: &State| {
            let cases = state.cases.iter().map(|case| case.target);
            cases.chain(state.otherwise.ok()).any(|target| matches!(target, Target::Accept))
        };
        let ends = parser.states.iter().zip(parsed(parser)).filter(|(state, _)| accepts(state));
        let longest =
            ends.filter_map(|(_, parsed)| parsed).max_by_key(|one| one.extracted.len())?;
        longest.cursor.is_some().then_some(longest)
    }

    /// Returns the headers that are extracted on all paths, by the offsets of their validity flags.
    pub(super) fn headers(&self) -> BTreeSet<Offset> {
        self.extracted.keys().copied().collect()
    }

    /// Returns the number of bytes that are parsed on all paths, or zero if the paths differ.
    pub(super) fn bytes(&self) -> u32 {
        self.cursor.unwrap_or(0)
    }

    /// Returns the offset at which a header is extracted on all paths, or [`Known::Absent`] if it
    /// is extracted on none. Returns `None` if it is not known which of the two holds.
    pub(super) fn known(&self, header: Offset) -> Option<Known> {
        match self.extracted.get(&header) {
            Some(at) => at.map(Known::At),
            None => {
                let possible = self.possible.as_ref()?;
                (!possible.contains(&header)).then_some(Known::Absent)
            }
        }
    }
}

impl<'m> Function<'_, 'm> {
    /// Generates the fused function, which takes the packets of a burst from parser to deparser,
    /// beginning with the packet of the given number. The function stops at a packet that it cannot
    /// complete.
    pub(in crate::compiled::generate) fn fused_stage(
        mut self,
        fast_path: &FastPath,
        plan: &'m Plan,
        prefetched: Option<&Prefetched<'_>>,
    ) -> Result<(), InternalError> {
        let burst_loop = self.begin_loop(fast_path, plan);
        self.set_ahead(plan.ahead.keys().copied().collect());
        let input = self.of_record(burst_loop, offset_of!(Packet, input));
        let output = self.output(burst_loop);
        let lengths = self.lengths(burst_loop);
        self.copy_packet(input, output, lengths.given);
        self.begin_packet(input, lengths.given);
        self.begin_fused(output);
        for (flag, header) in plan.headers.iter().filter(|(_, header)| header.parser_reads) {
            self.clear_storage(*flag, header);
        }
        self.begin_values(plan);
        self.clear_wide(plan, 0);
        self.received(burst_loop, lengths.received);

        let end = self.written_out(fast_path.blocks[PARSER]);
        let join = self.builder.create_block();
        let error = self.builder.append_block_param(join, types::I64);
        self.jump_without_error(join);
        if let Some(exit) = end.exit {
            self.builder.switch_to_block(exit);
            self.jump_without_error(join);
        }
        if let Some(reject) = end.reject {
            self.builder.switch_to_block(reject);
            let error = self.context_field(context_offset::ERROR);
            self.builder.ins().jump(join, &[error.into()]);
        }
        let (ways, others) = self.ways(fast_path.blocks[PARSER], plan);
        for way in others {
            self.builder.switch_to_block(way.block);
            self.jump_without_error(join);
        }
        for way in ways {
            self.builder.switch_to_block(way.block);
            let none = self.number(0);
            let precomputed = prefetched.filter(|prefetched| prefetched.is_of(&way.parsed));
            self.follow(
                burst_loop,
                plan,
                (&way.parsed, precomputed),
                (none, (input, output), lengths),
            );
        }
        self.builder.switch_to_block(join);
        self.follow(
            burst_loop,
            plan,
            (&Parsed::unknown(), None),
            (error, (input, output), lengths),
        );
        self.end_loop(burst_loop)
    }

    fn jump_without_error(&mut self, to: Block) {
        let none = self.number(0);
        self.builder.ins().jump(to, &[none.into()]);
    }

    /// Emits the processing after the parser for packets about which the facts in `parsed` hold. If
    /// the prefetch stage has computed buckets or keys for such packets, `precomputed` holds the
    /// tables.
    fn follow(
        &mut self,
        burst_loop: Loop<'_>,
        plan: &Plan,
        (parsed, precomputed): (&Parsed, Option<&Prefetched<'_>>),
        (error, (input, output), lengths): (Value, (Value, Value), Lengths),
    ) {
        // No code accesses the place in the frame of a header that was extracted.
        let extracted = parsed.headers();
        for (flag, header) in plan.headers.iter().filter(|(flag, _)| !extracted.contains(flag)) {
            self.clear_storage(*flag, header);
        }
        let places = self.emit_known_headers(plan, parsed, input, output);
        self.begin_way(extracted, places, parsed.cursor);
        if let Some(prefetched) = precomputed {
            self.take_prefetched(burst_loop, prefetched);
        }
        self.after_parser(burst_loop, plan, error, output, lengths);
    }

    /// Emits constants for the facts that are known after the parser: the validity and the place of
    /// headers, and the cursor. Later code then need not test them. Returns the headers about which
    /// facts are known.
    pub(super) fn emit_known_headers(
        &mut self,
        plan: &Plan,
        parsed: &Parsed,
        input: Value,
        output: Value,
    ) -> BTreeMap<Offset, Known> {
        let mut places = BTreeMap::new();
        for flag in plan.headers.keys().copied() {
            let Some(known) = parsed.known(flag) else {
                // The header is tested while packets are processed.
                continue;
            };
            let is_there = match known {
                Known::At(at) => {
                    let [at, source] = [output, input]
                        .map(|from| self.builder.ins().iadd_imm_s(from, i64::from(at)));
                    self.point_to(flag, at, source);
                    self.number(1)
                }
                Known::Absent => {
                    let at = self.storage(flag);
                    self.point(flag, at);
                    self.number(0)
                }
            };
            let Some(variable) = self.slot(flag) else {
                self.broken("a header of the plan without a flag");
                continue;
            };
            self.builder.def_var(variable, is_there);
            places.insert(flag, known);
        }
        if let Some(cursor) = parsed.cursor {
            let cursor = self.number(u64::from(cursor));
            self.set_context_field(context_offset::CURSOR, cursor);
        }
        places
    }

    /// Returns the points at which the parser ends, in two lists. The first list has the points at
    /// which the most headers are extracted. The statements after the parser are generated
    /// separately for each of them, and once for all points in the second list together.
    fn ways(&mut self, parser: Callee, plan: &Plan) -> (Vec<Way>, Vec<Way>) {
        let known = match self.resolved.bodies.get(parser) {
            Some(Body::Parser(parser)) => parsed(parser),
            Some(Body::Block(_)) | None => {
                self.broken("a parser without states");
                Vec::new()
            }
        };
        let ends = self.end_of_parser().into_iter().map(|(block, state)| {
            let parsed = known.get(state as usize).cloned().flatten();
            Way { block, parsed: parsed.unwrap_or_else(Parsed::unknown) }
        });
        let mut ends: Vec<Way> = ends.collect();
        ends.sort_by_key(|way| std::cmp::Reverse(way.parsed.extracted.len()));
        let most = STATEMENTS_WRITTEN_OUT / plan.statements.max(1);
        let others = ends.split_off(ENDS.min(most).min(ends.len()));
        (ends, others)
    }
}

/// Returns the facts that hold after each state of a parser, or `None` for a state that cannot be
/// reached. The list is empty for a parser with a loop, which is not inlined.
fn parsed(parser: &Parser) -> Vec<Option<Parsed>> {
    let mut before: Vec<Option<Parsed>> = vec![None; parser.states.len()];
    let mut known: Vec<Option<Parsed>> = vec![None; parser.states.len()];
    if let Some(start) = before.get_mut(parser.start as usize) {
        *start = Some(Parsed::nothing());
    }
    for position in parser.order().into_iter().flatten() {
        let (Some(with), Some(state)) = (before[position].take(), parser.states.get(position))
        else {
            // No state leads to this one.
            continue;
        };
        let behind = with.behind(state);
        for next in state.next() {
            if let Some(before) = before.get_mut(next) {
                *before = Some(match before.take() {
                    Some(other) => other.and(&behind),
                    None => behind.clone(),
                });
            }
        }
        known[position] = Some(behind);
    }
    known
}
