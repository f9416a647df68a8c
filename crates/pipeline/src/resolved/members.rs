//! Translates the hash with which an action selector chooses a member of a group to the resolved
//! form.

use super::gather::Piece;
use super::shape::Shape;
use super::{Block, Expression, Field, Members, Outcome, Resolver, Statement};
use crate::externs::ExternState;
use ir::hash::Algorithm;
use ir::{BinaryOperator, ExpressionKind, ExternId, MatchKind, TableImplementation};

impl Resolver<'_> {
    /// Returns how a table with these keys chooses a member of its action profile or action
    /// selector.
    pub(super) fn members(
        &mut self,
        implementation: TableImplementation,
        keys: &[ir::Key],
    ) -> Outcome<Members> {
        let TableImplementation::ActionSelector(id) = implementation else {
            return Ok(Members { hash: None });
        };
        let (algorithm, width) = self.selector(id)?;
        let mut block = Vec::new();
        let mut pieces = Vec::new();
        for key in keys.iter().filter(|key| key.match_kind == MatchKind::Selector) {
            self.input_of_selector(&key.expression, &mut block, &mut pieces)?;
        }
        // In BMv2's dialects, fields of invalid headers are left out, as in the interpreter.
        let is_bmv2 = self.layout.dialect.is_bmv2();
        let gather = self.gathered_pieces(pieces, algorithm, !is_bmv2)?;
        let to = self.temporary(64, false)?;
        block.push(Statement::Hash { gather, base: Expression::Constant(0), most: None, to });
        // p4c does not pass the width on to BMv2.
        if !is_bmv2 && (1..64).contains(&width) {
            let value = Expression::Binary {
                operator: BinaryOperator::BitAnd,
                width: 64,
                signed: false,
                left: Box::new(Expression::Load(to)),
                right: Box::new(Expression::Constant((1 << width) - 1)),
            };
            block.push(Statement::Store { field: to, value });
        }
        Ok(Members { hash: Some((block, to)) })
    }

    /// Returns the hash algorithm of an action selector, and how many low bits of the hash it uses.
    /// Zero stands for all bits.
    fn selector(&mut self, id: ExternId) -> Outcome<(Algorithm, u32)> {
        let instance = self.layout.program.externs.get(id.index());
        let state = instance.map(|instance| ExternState::new(self.layout, instance));
        let Some(Ok(ExternState::Profile(profile))) = state else {
            return self.refuse("an action selector that does not exist");
        };
        Ok((profile.algorithm.unwrap_or(Algorithm::Crc32), profile.output_width))
    }

    /// Adds an input to the hash by which an action selector chooses a member. In BMv2, a header
    /// field is hashed at its place in the header, so that it can be left out if the header is
    /// invalid. All other inputs are first computed into temporary numbers.
    fn input_of_selector(
        &mut self,
        input: &ir::Expression,
        block: &mut Block,
        pieces: &mut Vec<Piece>,
    ) -> Outcome {
        if let (true, ExpressionKind::Read(place)) = (self.layout.dialect.is_bmv2(), &input.kind) {
            return self.piece(place, pieces);
        }
        if let Shape::Wide { .. } = self.shape(input.type_id) {
            for part in self.wide_key(input)?.into_iter().rev() {
                self.computed_input(part.value, part.width, block, pieces)?;
            }
            return Ok(());
        }
        let (width, _) = self.number(input.type_id)?;
        let value = self.key(input)?;
        self.computed_input(value, width, block, pieces)
    }

    fn computed_input(
        &mut self,
        value: Expression,
        width: u32,
        block: &mut Block,
        pieces: &mut Vec<Piece>,
    ) -> Outcome {
        let field: Field = self.temporary(width, false)?;
        let bytes = width.div_ceil(8).next_power_of_two();
        block.push(Statement::Store { field, value });
        pieces.push(Piece::Number { offset: field.address.offset, bytes, width });
        Ok(())
    }
}
