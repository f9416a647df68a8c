//! Both stages in one: each packet of a burst is parsed and brought to its end before the next one.
//!
//! Nothing goes through the frame between the stages, keys are hashed once, and the processor works on some packets at
//! a time by itself. It does not look far enough ahead for entries that must come from memory: the two stages do.
//!
//! What follows the parser is written out anew for ends of the parser where headers are known to be there, so that nobody
//! asks for them again.

use super::ask::Asked;
use super::{Lengths, Loop};
use crate::bound::{
    Address, Body, Bound, Callee, Expression, Offset, Parser, State, Statement, Target,
};
use crate::compiled::burst::Packet;
use crate::compiled::generate::places::Known;
use crate::compiled::generate::{Function, context_offset};
use crate::compiled::plan::Plan;
use crate::compiled::straight::{PARSER, Straight};
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;

/// Most statements of programs for which this is made.
const STATEMENTS: usize = 512;
/// Most statements behind the parser, with those that are written out again for an end of the parser.
const STATEMENTS_WRITTEN_OUT: usize = 768;
/// Most ends of the parser for which they are.
const ENDS: usize = 3;

/// Whether a program's packets may be parsed and brought to their end one after the other.
pub(in crate::compiled::generate) fn is_possible(plan: &Plan, asked: Option<&Asked<'_>>) -> bool {
    // What is sought by prefixes or rules is sought for a whole burst.
    let is_sought_ahead =
        |table: &u32| asked.is_some_and(|asked| asked.tables().any(|known| known == *table));
    // The interpreter's steps change tables, as entries do that are not written in place.
    !plan.interprets
        && !plan.defers
        && !plan.seeks_alone
        && !plan.parser_writes_headers
        && plan.ahead.keys().all(is_sought_ahead)
        && plan.statements <= STATEMENTS
}

/// An end of the parser, and what is known there.
struct Way {
    block: Block,
    parsed: Parsed,
}

/// What is known of a packet on all ways to some place of the parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parsed {
    /// Headers that are extracted, and at which byte if that is the same on all ways.
    extracted: BTreeMap<Offset, Option<u32>>,
    /// Headers that may be; nothing if that may be any.
    possible: Option<BTreeSet<Offset>>,
    /// Bytes that are parsed, if they are as many on all ways.
    cursor: Option<u32>,
}

impl Parsed {
    /// Of a packet of which nothing is parsed.
    pub(super) fn nothing() -> Self {
        Self { extracted: BTreeMap::new(), possible: Some(BTreeSet::new()), cursor: Some(0) }
    }

    /// Of a packet of which nothing is known.
    fn unknown() -> Self {
        Self { extracted: BTreeMap::new(), possible: None, cursor: None }
    }

    /// What holds on the ways of both.
    fn and(mut self, other: &Self) -> Self {
        self.extracted.retain(|header, at| match other.extracted.get(header) {
            Some(there) => {
                *at = at.filter(|at| *there == Some(*at));
                true
            }
            None => false,
        });
        self.possible = match (self.possible, &other.possible) {
            (Some(one), Some(other)) => Some(&one | other),
            _ => None,
        };
        self.cursor = self.cursor.filter(|cursor| other.cursor == Some(*cursor));
        self
    }

    /// Behind a state of the parser.
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
                // There may be anything in it.
                _ => {
                    self.extracted.values_mut().for_each(|at| *at = None);
                    (self.possible, self.cursor) = (None, None);
                }
            }
        }
        self
    }

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

    fn advance(&mut self, bytes: Option<u32>) {
        self.cursor = self.cursor.zip(bytes).and_then(|(cursor, by)| cursor.checked_add(by));
    }

    /// Of packets that come to the end of the parser with most headers, if all of them lie where it is known.
    pub(super) fn longest(bound: &Bound, straight: &Straight) -> Option<Self> {
        let callee = straight.blocks[PARSER];
        let Some(Body::Parser(parser)) = bound.bodies.get(callee) else { return None };
        let accepts = |state: &State| {
            let cases = state.cases.iter().map(|case| case.target);
            cases.chain(state.otherwise.ok()).any(|target| matches!(target, Target::Accept))
        };
        let ends = parser.states.iter().zip(parsed(parser)).filter(|(state, _)| accepts(state));
        let longest =
            ends.filter_map(|(_, parsed)| parsed).max_by_key(|one| one.extracted.len())?;
        longest.cursor.is_some().then_some(longest)
    }

    /// Headers that are extracted.
    pub(super) fn headers(&self) -> BTreeSet<Offset> {
        self.extracted.keys().copied().collect()
    }

    /// Bytes that are parsed, as far as that is known.
    pub(super) fn bytes(&self) -> u32 {
        self.cursor.unwrap_or(0)
    }

    /// Of a header, if anything is.
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
    /// Brings all packets of a burst to their end, from the one on whose number it is given. It ends before a packet that
    /// it cannot bring there.
    pub(in crate::compiled::generate) fn whole_stage(
        mut self,
        (straight, plan): (&Straight, &'m Plan),
        asked: Option<&Asked<'_>>,
    ) {
        let looped = self.begin_loop(straight, plan);
        self.set_ahead(plan.ahead.keys().copied().collect());
        let input = self.of_record(looped, offset_of!(Packet, input));
        let output = self.output(looped);
        let lengths = self.lengths(looped);
        self.copy_packet(input, output, lengths.given);
        self.begin_packet(input, lengths.given);
        self.begin_whole(output);
        for (flag, header) in plan.headers.iter().filter(|(_, header)| header.parser_reads) {
            self.clear_storage(*flag, header);
        }
        self.begin_values(plan);
        self.clear_wide(plan, 0);
        self.received(looped, lengths.received);

        let end = self.written_out(straight.blocks[PARSER]);
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
        let (ways, others) = self.ways(straight.blocks[PARSER], plan);
        for way in others {
            self.builder.switch_to_block(way.block);
            self.jump_without_error(join);
        }
        for way in ways {
            self.builder.switch_to_block(way.block);
            let none = self.number(0);
            let told = asked.filter(|asked| asked.is_of(&way.parsed));
            self.follow(looped, plan, (&way.parsed, told), (none, (input, output), lengths));
        }
        self.builder.switch_to_block(join);
        self.follow(looped, plan, (&Parsed::unknown(), None), (error, (input, output), lengths));
        self.end_loop(looped);
    }

    fn jump_without_error(&mut self, to: Block) {
        let none = self.number(0);
        self.builder.ins().jump(to, &[none.into()]);
    }

    /// All behind the parser for packets of which this is known, and whose buckets may have been told.
    fn follow(
        &mut self,
        looped: Loop<'_>,
        plan: &Plan,
        (parsed, told): (&Parsed, Option<&Asked<'_>>),
        (error, (input, output), lengths): (Value, (Value, Value), Lengths),
    ) {
        // Nobody comes to where a header would lie that was extracted.
        let extracted = parsed.headers();
        for (flag, header) in plan.headers.iter().filter(|(flag, _)| !extracted.contains(flag)) {
            self.clear_storage(*flag, header);
        }
        let places = self.say_again(plan, parsed, (input, output));
        self.begin_way(extracted, (places, parsed.cursor));
        if let Some(asked) = told {
            self.take_told(looped, asked);
        }
        self.behind_parser(looped, plan, error, (output, lengths));
    }

    /// Says what is known of headers, so that nobody asks the values that came through the parser; gives it.
    pub(super) fn say_again(
        &mut self,
        plan: &Plan,
        parsed: &Parsed,
        (input, output): (Value, Value),
    ) -> BTreeMap<Offset, Known> {
        let mut places = BTreeMap::new();
        for flag in plan.headers.keys().copied() {
            let Some(known) = parsed.known(flag) else { continue };
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
            if let Some(variable) = self.slot(flag) {
                self.builder.def_var(variable, is_there);
                places.insert(flag, known);
            }
        }
        if let Some(cursor) = parsed.cursor {
            let cursor = self.number(u64::from(cursor));
            self.set_context_field(context_offset::CURSOR, cursor);
        }
        places
    }

    /// The ends of the parser: those with most headers, for which the rest is written out, and the others.
    fn ways(&mut self, parser: Callee, plan: &Plan) -> (Vec<Way>, Vec<Way>) {
        let known = match self.bound.bodies.get(parser) {
            Some(Body::Parser(parser)) => parsed(parser),
            _ => Vec::new(),
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

/// What is known behind each state; nothing of one that nobody comes to, and nothing of any in a parser that comes to a
/// state twice, which is not written out.
fn parsed(parser: &Parser) -> Vec<Option<Parsed>> {
    let mut before: Vec<Option<Parsed>> = vec![None; parser.states.len()];
    let mut known: Vec<Option<Parsed>> = vec![None; parser.states.len()];
    if let Some(start) = before.get_mut(parser.start as usize) {
        *start = Some(Parsed::nothing());
    }
    for position in parser.order().into_iter().flatten() {
        let (Some(with), Some(state)) = (before[position].take(), parser.states.get(position))
        else {
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
