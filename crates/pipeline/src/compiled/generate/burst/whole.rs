//! Both stages in one: each packet of a burst is parsed and brought to its end before the next one.
//!
//! Nothing goes through the frame between the stages, keys are hashed once, and the processor works on some packets at
//! a time by itself. It does not look far enough ahead for entries that must come from memory: the two stages do.
//!
//! What follows the parser is written out anew for ends of the parser where headers are known to be there, so that nobody
//! asks for them again.

use super::Loop;
use crate::bound::{Body, Callee, Offset, Parser, Statement, Target};
use crate::compiled::burst::Packet;
use crate::compiled::generate::{Function, context_offset};
use crate::compiled::plan::Plan;
use crate::compiled::straight::{PARSER, Straight};
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use std::collections::BTreeSet;
use std::mem::offset_of;

/// Most statements of programs for which this is made.
const STATEMENTS: usize = 512;
/// Most statements behind the parser, with those that are written out again for an end of the parser.
const STATEMENTS_WRITTEN_OUT: usize = 768;
/// Most ends of the parser for which they are.
const ENDS: usize = 3;

/// Whether a program's packets may be parsed and brought to their end one after the other.
pub(in crate::compiled) fn is_possible(plan: &Plan) -> bool {
    // The interpreter's steps change tables, as entries do that are not written in place; what is sought by a prefix is
    // sought for a whole burst.
    !plan.interprets
        && !plan.ages
        && !plan.adds
        && !plan.defers
        && !plan.parser_writes_headers
        && plan.ahead.is_empty()
        && plan.statements <= STATEMENTS
}

/// An end of the parser, and headers that are extracted on each way there.
struct Way {
    block: Block,
    extracted: BTreeSet<Offset>,
}

impl<'m> Function<'_, 'm> {
    /// Brings all packets of a burst to their end, from the one on whose number it is given. It ends before a packet that
    /// it cannot bring there.
    pub(in crate::compiled::generate) fn whole_stage(
        mut self,
        straight: &Straight,
        plan: &'m Plan,
    ) {
        let looped = self.begin_loop(straight, plan);
        let input = self.of_record(looped, offset_of!(Packet, input));
        let output = self.output(looped);
        let length = self.of_record(looped, offset_of!(Packet, length));
        self.copy_packet(input, output, length);
        self.begin_packet(input, length);
        self.begin_whole(output);
        for (flag, header) in plan.headers.iter().filter(|(_, header)| header.parser_reads) {
            self.clear_storage(*flag, header);
        }
        self.begin_values(plan);
        self.clear_wide(plan, 0);
        self.received(looped, length);

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
            self.follow(looped, plan, way.extracted, (none, output, length));
        }
        self.builder.switch_to_block(join);
        self.follow(looped, plan, BTreeSet::new(), (error, output, length));
        self.end_loop(looped);
    }

    fn jump_without_error(&mut self, to: Block) {
        let none = self.number(0);
        self.builder.ins().jump(to, &[none.into()]);
    }

    /// All behind the parser for packets that have some headers.
    fn follow(
        &mut self,
        looped: Loop<'_>,
        plan: &Plan,
        extracted: BTreeSet<Offset>,
        (error, output, length): (Value, Value, Value),
    ) {
        // Nobody comes to where a header would lie that was extracted.
        for (flag, header) in plan.headers.iter().filter(|(flag, _)| !extracted.contains(flag)) {
            self.clear_storage(*flag, header);
        }
        self.begin_way(extracted);
        self.behind_parser(looped, plan, error, (output, length));
    }

    /// The ends of the parser: those with most headers, for which the rest is written out, and the others.
    fn ways(&mut self, parser: Callee, plan: &Plan) -> (Vec<Way>, Vec<Way>) {
        let body = self.bound.bodies.iter().find(|(known, _)| *known == parser);
        let known = match body {
            Some((_, Body::Parser(parser))) => extracted(parser),
            _ => Vec::new(),
        };
        let ends = self.end_of_parser().into_iter().map(|(block, state)| {
            let extracted = known.get(state as usize).cloned().unwrap_or_default();
            Way { block, extracted }
        });
        let mut ends: Vec<Way> = ends.collect();
        ends.sort_by_key(|way| std::cmp::Reverse(way.extracted.len()));
        let most = STATEMENTS_WRITTEN_OUT / plan.statements.max(1);
        let others = ends.split_off(ENDS.min(most).min(ends.len()));
        (ends, others)
    }
}

/// For each state, the headers that are extracted on every way to its end.
fn extracted(parser: &Parser) -> Vec<BTreeSet<Offset>> {
    let own = |state: &crate::bound::State| -> BTreeSet<Offset> {
        let headers = state.body.iter().filter_map(|statement| match statement {
            Statement::Extract { header: Some(header), .. }
            | Statement::ExtractWithTail { header, .. } => Some(*header),
            _ => None,
        });
        headers.filter(|header| header.element.is_none()).map(|header| header.offset).collect()
    };
    let own: Vec<_> = parser.states.iter().map(own).collect();
    let all: BTreeSet<Offset> = own.iter().flatten().copied().collect();
    let mut known = vec![all; own.len()];
    loop {
        let mut before: Vec<Option<BTreeSet<Offset>>> = vec![None; own.len()];
        let mut comes_to = |state: u32, with: &BTreeSet<Offset>| {
            if let Some(before) = before.get_mut(state as usize) {
                *before = Some(match before.take() {
                    Some(other) => other.intersection(with).copied().collect(),
                    None => with.clone(),
                });
            }
        };
        comes_to(parser.start, &BTreeSet::new());
        for (state, known) in parser.states.iter().zip(&known) {
            let cases = state.cases.iter().map(|case| case.target);
            for target in cases.chain(state.otherwise.ok()) {
                if let Target::State(next) = target {
                    comes_to(next, known);
                }
            }
        }
        let now: Vec<BTreeSet<Offset>> = before
            .into_iter()
            .zip(&own)
            .map(|(before, own)| before.unwrap_or_default().union(own).copied().collect())
            .collect();
        if now == known {
            return known;
        }
        known = now;
    }
}
