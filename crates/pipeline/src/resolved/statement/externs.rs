//! Translates calls of those extern objects of PSA and PNA that generated code implements: Internet
//! checksums, hashes, and the functions that tell a deparser which path a packet takes. Also
//! translates the requests of v1model for copies and further passes.

use crate::dialect::Dialect;
use crate::externs::ExternState;
use crate::layout::{MetadataField as Of, each_statement};
use crate::resolved::gather::Piece;
use crate::resolved::shape::Shape;
use crate::resolved::{
    Block, Body, Expression, Field, Outcome, PackageBlock, RequestKind, Requested, Resolver,
    Statement,
};
use crate::state::SESSION_BITS;
use ir::hash::Algorithm;
use ir::{
    Argument, BinaryOperator, ExpressionKind, ExternCallee, ExternFunction, ExternId, ExternMethod,
    Place, StatementKind,
};

impl Resolver<'_> {
    /// Translates a call of `psa_normal` or a similar function, which returns whether a packet
    /// takes a certain path (PSA specification, section 6).
    pub(super) fn packet_path(
        &mut self,
        function: &ExternFunction,
        arguments: &[Argument],
        result: Option<&Place>,
        out: &mut Block,
    ) -> Outcome {
        use ExternFunction as Path;
        let Some(place) = result else { return Ok(()) };
        let field = self.field(place)?;
        let kept = Expression::Not(Box::new(self.metadata(arguments, 0, Of::Drop)?));
        let and = |left, right| Expression::Binary {
            operator: BinaryOperator::And,
            width: 1,
            signed: false,
            left: Box::new(left),
            right: Box::new(right),
        };
        let value = match function {
            Path::PsaCloneI2e | Path::PsaCloneE2e => self.metadata(arguments, 0, Of::Clone)?,
            Path::PsaResubmit => and(kept, self.metadata(arguments, 0, Of::Resubmit)?),
            Path::PsaNormal => {
                let again = self.metadata(arguments, 0, Of::Resubmit)?;
                and(kept, Expression::Not(Box::new(again)))
            }
            _ => {
                let port = self.metadata(arguments, 1, Of::EgressPort)?;
                let comes_again = Expression::Binary {
                    operator: BinaryOperator::Equal,
                    width: 32,
                    signed: false,
                    left: Box::new(port),
                    right: Box::new(Expression::Constant(architectures::PSA_PORT_RECIRCULATE)),
                };
                and(kept, comes_again)
            }
        };
        out.push(Statement::Store { field, value });
        Ok(())
    }

    /// Translates a call of one of v1model's functions that request copies or another pass of the
    /// packet.
    pub(super) fn request(
        &mut self,
        function: &ExternFunction,
        arguments: &[Argument],
        out: &mut Block,
    ) -> Outcome {
        use ExternFunction as Of;
        if self.layout.dialect != Dialect::SimpleSwitch {
            return self.refuse(&format!("the extern function {function}"));
        }
        let (kind, list) = match function {
            Of::ResubmitPreservingFieldList => (RequestKind::Resubmit, Some(0)),
            Of::RecirculatePreservingFieldList => (RequestKind::Recirculate, Some(0)),
            _ => {
                let session = Expression::Binary {
                    operator: BinaryOperator::BitAnd,
                    width: 64,
                    signed: false,
                    left: Box::new(self.input(arguments, 1)?),
                    right: Box::new(Expression::Constant(SESSION_BITS)),
                };
                let list = (*function == Of::ClonePreservingFieldList).then_some(2);
                (RequestKind::Clone(session), list)
            }
        };
        let list = list.map(|position| self.input(arguments, position)).transpose()?;
        self.requests = true;
        out.push(Statement::Request(Requested { kind, list }));
        Ok(())
    }

    /// Returns the field `of` of the metadata in the argument at `position` of a call, or zero if
    /// the metadata lack the field.
    fn metadata(&mut self, arguments: &[Argument], position: usize, of: Of) -> Outcome<Expression> {
        let Some(Argument::In(metadata)) = arguments.get(position) else {
            return self.refuse("a path of a packet without metadata");
        };
        let ExpressionKind::Read(place) = &metadata.kind else {
            return self.refuse("a path of a packet with metadata that are computed");
        };
        let found = self.resolve(place)?;
        let (Shape::Struct(parts, _), slot) =
            (&found.shape, self.layout.names.slot(metadata.type_id, of))
        else {
            return self.refuse("a path of a packet with metadata that is not a struct");
        };
        match slot.and_then(|slot| parts.get(slot)) {
            Some((offset, Shape::Scalar(scalar))) => {
                let address = found.address.plus(*offset);
                Ok(Expression::Load(Field { address, scalar: *scalar }))
            }
            _ => Ok(Expression::Constant(0)),
        }
    }

    /// Translates a call of a method of `InternetChecksum`. The one's complement sum of each
    /// instance is in a field of the frame (the packet's working memory).
    pub(super) fn internet_checksum(
        &mut self,
        id: ExternId,
        method: &ExternMethod,
        arguments: &[Argument],
        result: Option<&Place>,
        out: &mut Block,
    ) -> Outcome {
        let Some(sum) = self.sum_of(id)? else {
            return self.refuse("an InternetChecksum of such data");
        };
        let store = |field, value| Statement::Store { field, value };
        out.push(match method {
            ExternMethod::Clear => store(sum, Expression::Constant(0)),
            ExternMethod::Add | ExternMethod::Subtract => {
                let gather = self.words(method, arguments)?;
                Statement::Sum { gather, sum, subtracts: *method == ExternMethod::Subtract }
            }
            ExternMethod::SetState => store(sum, self.input(arguments, 0)?),
            _ => {
                let Some(place) = result else { return Ok(()) };
                let load = Expression::Load(sum);
                let value = match method {
                    ExternMethod::GetState => load,
                    _ => Expression::Complement { operand: Box::new(load), width: 16 },
                };
                store(self.field(place)?, value)
            }
        });
        Ok(())
    }

    /// Returns the field with the sum of an instance of `InternetChecksum`. Returns `None` if
    /// generated code does not implement all calls of the instance's methods.
    fn sum_of(&mut self, id: ExternId) -> Outcome<Option<Field>> {
        if let Some(known) = self.sums.get(&id) {
            return Ok(*known);
        }
        // psa_switch keeps sums from packet to packet, and subtracts words by a method of its own.
        let mut has_all = matches!(self.layout.dialect, Dialect::Psa | Dialect::Pna);
        let mut calls = Vec::new();
        each_statement(&self.layout.program, &mut |statement| {
            if let StatementKind::CallExtern {
                callee: ExternCallee::Method { instance, method },
                arguments,
                result,
                ..
            } = &statement.kind
                && *instance == id
            {
                calls.push((method.clone(), arguments.clone(), result.clone()));
            }
        });
        for (method, arguments, result) in calls {
            let outcome = match method {
                ExternMethod::Add | ExternMethod::Subtract => {
                    self.words(&method, &arguments).map(|_| ())
                }
                ExternMethod::SetState => self.input(&arguments, 0).map(|_| ()),
                _ => result.as_ref().map_or(Ok(()), |place| self.field(place).map(|_| ())),
            };
            if let Err(error) = outcome {
                self.soft(error)?;
                has_all = false;
            }
        }
        let field = match has_all {
            true => Some(self.temporary(16, false)?),
            false => None,
        };
        self.sums.insert(id, field);
        Ok(field)
    }

    /// Prepends statements to each block of the package that set the sums of all `InternetChecksum`
    /// instances to zero.
    pub(in crate::resolved) fn begin_sums(&mut self, blocks: &[PackageBlock]) {
        let mut sums: Vec<Field> = self.sums.values().copied().flatten().collect();
        sums.sort_unstable_by_key(|sum| sum.address.offset);
        let begin =
            |field: &Field| Statement::Store { field: *field, value: Expression::Constant(0) };
        for block in blocks {
            let block = match self.bodies.get_mut(block.callee) {
                Some(Body::Block(block)) => block,
                Some(Body::Parser(parser)) => &mut parser.prologue,
                None => continue,
            };
            block.splice(0..0, sums.iter().map(begin));
        }
    }

    /// Makes a gather of the data that an `InternetChecksum` adds or subtracts, and returns its
    /// number. Refuses to subtract data that are not whole 16-bit words.
    fn words(&mut self, method: &ExternMethod, arguments: &[Argument]) -> Outcome<u32> {
        let [Argument::In(data)] = arguments else {
            return self.refuse("a sum with other arguments");
        };
        let number = self.gathered(data, Algorithm::OnesComplement16)?;
        let gather = self.gathers.get(number as usize);
        let varies = |piece: &Piece| matches!(piece, Piece::Tail { .. });
        match gather {
            Some(gather)
                if (*method == ExternMethod::Add || gather.is_in_words())
                    && !gather.pieces.iter().any(varies) =>
            {
                Ok(number)
            }
            _ => self.refuse("a sum without fields in words of 16 bits"),
        }
    }

    /// Translates a call of `Hash.get_hash`, with or without a range to which the result is mapped.
    pub(super) fn get_hash(
        &mut self,
        id: ExternId,
        arguments: &[Argument],
        result: Option<&Place>,
        out: &mut Block,
    ) -> Outcome {
        let Some(place) = result else { return Ok(()) };
        let to = self.field(place)?;
        let instance = self.layout.program.externs.get(id.index());
        let state = instance.map(|instance| ExternState::new(self.layout, instance));
        let Some(Ok(ExternState::Hash { algorithm })) = state else {
            return self.refuse("a hash without algorithm");
        };
        let (data, range) = match arguments {
            [Argument::In(data)] => (data, None),
            [Argument::In(base), Argument::In(data), Argument::In(most)] => {
                let unsigned = |value: &ir::Expression| {
                    self.layout.get(value.type_id).is_some_and(|known| {
                        matches!(known, ir::Type::Bits { signed: false, width: 1..=64 })
                    })
                };
                if !unsigned(base) || !unsigned(most) {
                    return self.refuse("a hash into a range of signed or wide numbers");
                }
                (data, Some((self.expression(base)?, self.expression(most)?)))
            }
            _ => return self.refuse("a hash with other arguments"),
        };
        let gather = self.gathered(data, algorithm)?;
        let bits = self.gathers.get(gather as usize).map(|gather| gather.bits());
        // Data that do not fill whole bytes would need zeros in front of the first bit.
        if !bits.flatten().is_some_and(|bits| bits.is_multiple_of(8)) {
            return self.refuse("a hash of data that is not whole bytes");
        }
        let (base, most) = match range {
            Some((base, most)) => (base, Some(most)),
            None => (Expression::Constant(0), None),
        };
        out.push(Statement::Hash { gather, base, most, to });
        Ok(())
    }
}
