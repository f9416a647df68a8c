//! The steps that generated code leaves to the interpreter: single statements, expressions and
//! `select`s.
//!
//! Wide numbers, varbits, header unions and most externs are rare, and the interpreter already
//! handles them. For such a step, the places that it reads and writes are determined. Their values
//! are moved from the frame to the interpreter's variables, the step runs there, and the values
//! that it may have written are moved back. The statements around the step are machine code.
//! [`crate::Compiled::interpreted`] lists the steps of a program.
//!
//! A step that uses a part of a header, union or stack moves the whole value, because the
//! interpreter's behaviour also depends on validity flags and the `nextIndex` of stacks.

use super::place::constant_index;
use super::shape::{DATA, Shape};
use super::{Block, Expression, Field, Offset, Outcome, Resolver, Statement};
use crate::layout::Touched;
use ir::{
    ExpressionKind, ExternCallee, ExternFunction, KeySet, Place, Projection, SelectCase,
    StatementKind, TypeId, VariableId,
};

/// A value that is copied between the frame (the packet's working memory) and a variable of the
/// interpreter.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub(crate) variable: VariableId,
    /// The positions of struct fields and stack elements that lead from the variable to the value,
    /// the outermost first.
    pub(crate) path: Vec<u32>,
    pub(crate) offset: Offset,
    pub(crate) shape: Shape,
}

/// A statement or expression that generated code leaves to the interpreter, and the values that are
/// copied to the interpreter before it and back to the frame (the packet's working memory) after
/// it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) kind: StepKind,
    pub(crate) loads: Vec<Move>,
    pub(crate) stores: Vec<Move>,
    /// The place of the statement or expression in the source.
    pub(crate) place: String,
    /// A description of what generated code cannot express in it.
    pub(crate) what: String,
}

impl Step {
    /// Returns whether this step adds an entry to a table (PNA's `add_entry`).
    pub(crate) fn adds_entry(&self) -> bool {
        use ExternFunction::{AddEntry, AddEntryIf};
        match &self.kind {
            StepKind::Statement(statement) => matches!(
                statement.kind,
                StatementKind::CallExtern {
                    callee: ExternCallee::Function(AddEntry | AddEntryIf),
                    ..
                }
            ),
            _ => false,
        }
    }
}

/// The operation that the interpreter runs in a step.
#[derive(Clone, Debug)]
pub(crate) enum StepKind {
    Statement(ir::Statement),
    /// Evaluates an expression and stores its value at an offset of the frame (the packet's working
    /// memory).
    Evaluate(ir::Expression, Offset, Shape),
    /// Reads a value of the given type at an offset of the frame (the packet's working memory), and
    /// writes it to a variable or part of one.
    Write(Place, TypeId, Offset, Shape),
    /// Finds the first case of a `select` that matches, and stores its number in the field. If no
    /// case matches, stores the number of cases.
    Select(Vec<ir::Expression>, Vec<SelectCase>, Field),
}

impl Resolver<'_> {
    /// Appends a step that runs a whole statement in the interpreter. `why` names the construct
    /// that generated code cannot express.
    pub(super) fn interpreted(
        &mut self,
        statement: &ir::Statement,
        why: String,
        out: &mut Block,
    ) -> Outcome {
        let mut touched = Touched::default();
        touched.statement(&statement.kind);
        let mut emits = 0;
        match &statement.kind {
            StatementKind::Extract { header_type, .. } => {
                let shape = self.shape(*header_type);
                self.in_whole_bytes(&shape)?;
            }
            StatementKind::Advance(bits) if !self.moves_by_bytes(bits) => {
                return self
                    .refuse_for_good("an advance by a number of bits that may not be whole bytes");
            }
            StatementKind::Emit(value) => {
                if self.in_action {
                    return self.refuse_for_good("emission in an action");
                }
                let shape = self.shape(value.type_id);
                self.in_whole_bytes(&shape)?;
                emits = most_emitted(&shape);
            }
            StatementKind::CallExtern {
                callee: ExternCallee::Function(ExternFunction::Digest),
                arguments,
                ..
            } => {
                // The interpreter reads the message at the end of the block, so its values are
                // moved at that point.
                let mut message = Touched::default();
                arguments.iter().for_each(|argument| message.argument(argument));
                let moves = self.moves(message.reads())?;
                self.messages.extend(moves);
            }
            _ => {}
        }
        let kind = StepKind::Statement(statement.clone());
        self.add_step(kind, &touched, why, emits, out)
    }

    /// Translates an expression whose value is a number to the resolved form. If generated code
    /// cannot compute it, first appends a step in which the interpreter does, and returns the field
    /// with the result.
    pub(super) fn computed(
        &mut self,
        expression: &ir::Expression,
        out: &mut Block,
    ) -> Outcome<Expression> {
        let why = match self.expression(expression) {
            Ok(resolved) => return Ok(resolved),
            Err(error) => self.soft(error)?,
        };
        let (width, signed) = self.number(expression.type_id)?;
        let field = self.temporary(width, signed)?;
        self.evaluated(expression, field.address.offset, &Shape::Scalar(field.scalar), why, out)?;
        Ok(Expression::Load(field))
    }

    /// Appends a step in which the interpreter evaluates an expression and stores its value in the
    /// frame. `why` names the construct that generated code cannot express.
    pub(super) fn evaluated(
        &mut self,
        expression: &ir::Expression,
        offset: Offset,
        shape: &Shape,
        why: String,
        out: &mut Block,
    ) -> Outcome {
        if let Some(what) = shape.missing() {
            return self.refuse_for_good(what);
        }
        let mut touched = Touched::default();
        touched.expression(expression);
        let kind = StepKind::Evaluate(expression.clone(), offset, shape.clone());
        self.add_step(kind, &touched, why, 0, out)
    }

    /// Appends a step in which the interpreter writes a value from the frame to a variable or part
    /// of one. `why` names the construct that generated code cannot express.
    pub(super) fn written(
        &mut self,
        place: &Place,
        (offset, shape): (Offset, &Shape),
        type_id: TypeId,
        why: String,
        out: &mut Block,
    ) -> Outcome {
        let mut touched = Touched::default();
        touched.writes_place(place);
        let kind = StepKind::Write(place.clone(), type_id, offset, shape.clone());
        self.add_step(kind, &touched, why, 0, out)
    }

    /// Appends a step in which the interpreter chooses the case of a `select`. Returns the field
    /// that receives the number of the case. `why` names the construct that generated code cannot
    /// express.
    pub(super) fn selected(
        &mut self,
        subjects: &[ir::Expression],
        cases: &[SelectCase],
        why: String,
        out: &mut Block,
    ) -> Outcome<Field> {
        let mut touched = Touched::default();
        subjects.iter().for_each(|subject| touched.expression(subject));
        for set in cases.iter().flat_map(|case| &case.key_sets) {
            match set {
                KeySet::Any | KeySet::ValueSet(_) => {}
                KeySet::Exact(value) => touched.expression(value),
                KeySet::Mask { value: one, mask: other }
                | KeySet::Range { low: one, high: other } => {
                    touched.expression(one);
                    touched.expression(other);
                }
            }
        }
        let to = self.temporary(32, false)?;
        let kind = StepKind::Select(subjects.to_vec(), cases.to_vec(), to);
        self.add_step(kind, &touched, why, 0, out)?;
        Ok(to)
    }

    fn add_step(
        &mut self,
        kind: StepKind,
        touched: &Touched<'_>,
        what: String,
        emits: u32,
        out: &mut Block,
    ) -> Outcome {
        let mut all = touched.reads().to_vec();
        all.extend(touched.writes());
        let loads = self.moves(&all)?;
        let stores = self.moves(touched.writes())?;
        let place = self.layout.place_in_source(self.here);
        let number = u32::try_from(self.steps.len()).unwrap_or(u32::MAX);
        self.steps.push(Step { kind, loads, stores, place, what });
        out.push(Statement::Interpret { step: number, emits });
        Ok(())
    }

    /// Returns the values that must be copied to the interpreter so that it can use the given
    /// places. No value is copied twice.
    pub(super) fn moves(&mut self, places: &[&Place]) -> Outcome<Vec<Move>> {
        let mut moves: Vec<Move> = Vec::new();
        for place in places {
            let found = self.moved(place)?;
            let is_known = moves.iter().any(|known| {
                known.variable == found.variable && found.path.starts_with(&known.path)
            });
            if !is_known {
                moves.retain(|known| {
                    known.variable != found.variable || !known.path.starts_with(&found.path)
                });
                moves.push(found);
            }
        }
        Ok(moves)
    }

    /// Returns the smallest value that contains a place and can be copied as a whole: a struct,
    /// header, union, stack or number.
    fn moved(&mut self, place: &Place) -> Outcome<Move> {
        let (mut offset, mut shape) = self.variable(place.variable)?;
        let mut path = Vec::new();
        for projection in &place.path {
            let (position, at, inner) = match (projection, &shape) {
                (Projection::Field(position), Shape::Struct(parts, _)) => {
                    match parts.get(*position as usize) {
                        Some((at, inner)) => (*position, *at, inner.clone()),
                        None => return self.refuse_for_good("a field that does not exist"),
                    }
                }
                (Projection::Element(index), Shape::Stack { element, size }) => {
                    match constant_index(index).filter(|index| index < size) {
                        Some(index) => {
                            (index, DATA + index * element.size(), Shape::Header(element.clone()))
                        }
                        None => break,
                    }
                }
                _ => break,
            };
            path.push(position);
            offset += at;
            shape = inner;
        }
        match shape.missing() {
            Some(what) => self.refuse_for_good(what),
            None => Ok(Move { variable: place.variable, path, offset, shape }),
        }
    }

    /// Refuses a header whose size is not a whole number of bytes, because generated code counts
    /// the parser's position in the packet in bytes.
    fn in_whole_bytes(&mut self, shape: &Shape) -> Outcome {
        let bits = match shape {
            Shape::Header(header) => header.bits,
            Shape::Loose(parts, _) => fixed_bits(parts),
            Shape::Struct(parts, _) | Shape::Union(parts, _) => {
                return parts.iter().try_for_each(|(_, part)| self.in_whole_bytes(part));
            }
            Shape::Row { element, .. } => return self.in_whole_bytes(element),
            Shape::Stack { element, .. } => element.bits,
            _ => 0,
        };
        if bits.is_multiple_of(8) {
            Ok(())
        } else {
            self.refuse_for_good("a header that does not end with a byte")
        }
    }

    /// Returns whether an `advance` skips whole bytes: either its argument shows that, or the
    /// switches that the program follows accept no other numbers of bits.
    pub(super) fn moves_by_bytes(&self, bits: &ir::Expression) -> bool {
        self.layout.dialect.is_of_switches() || is_multiple_of_eight(bits)
    }
}

/// Returns the number of bits in a header that is stored with padding between its fields. Varbits
/// do not count.
fn fixed_bits(parts: &[(u32, Shape)]) -> u32 {
    fn of(shape: &Shape) -> u32 {
        match shape {
            Shape::Scalar(scalar) => scalar.width,
            Shape::Wide { width, .. } => *width,
            Shape::Struct(parts, _) => fixed_bits(parts),
            Shape::Row { element, size } => of(element).saturating_mul(*size),
            _ => 0,
        }
    }
    parts.iter().fold(0, |sum, (_, part)| sum.saturating_add(of(part)))
}

/// Returns the maximum number of bytes that emitting a value adds to the packet.
pub(super) fn most_emitted(shape: &Shape) -> u32 {
    match shape {
        Shape::Header(header) => header.bytes() + header.tail_bytes(),
        Shape::Stack { element, size } => element.bytes().saturating_mul(*size),
        Shape::Row { element, size } => most_emitted(element).saturating_mul(*size),
        Shape::Struct(parts, _) | Shape::Union(parts, _) | Shape::Loose(parts, _) => {
            parts.iter().fold(0, |sum, (_, part)| sum.saturating_add(most_emitted(part)))
        }
        Shape::Scalar(scalar) => scalar.width.div_ceil(8),
        Shape::Wide { width, .. } => width.div_ceil(8),
        Shape::Varbit { most } => most.div_ceil(8),
        Shape::None(_) => 0,
    }
}

fn is_multiple_of_eight(value: &ir::Expression) -> bool {
    use ir::BinaryOperator as Of;
    let constant = |value: &ir::Expression| match &value.kind {
        ExpressionKind::Constant(ir::Value::Bits(bits)) => Some(bits.low_u64()),
        ExpressionKind::Constant(ir::Value::Integer(number)) => u64::try_from(number.clone()).ok(),
        _ => None,
    };
    match &value.kind {
        ExpressionKind::Constant(_) => constant(value).is_some_and(|number| number % 8 == 0),
        ExpressionKind::Cast(operand) => is_multiple_of_eight(operand),
        ExpressionKind::Binary(Of::ShiftLeft, _, amount) => {
            constant(amount).is_some_and(|amount| amount >= 3)
        }
        ExpressionKind::Binary(Of::Multiply, left, right) => {
            is_multiple_of_eight(left) || is_multiple_of_eight(right)
        }
        ExpressionKind::Binary(Of::Add | Of::Subtract | Of::BitOr | Of::BitXor, left, right) => {
            is_multiple_of_eight(left) && is_multiple_of_eight(right)
        }
        ExpressionKind::Binary(Of::BitAnd, left, right) => {
            is_multiple_of_eight(left) || is_multiple_of_eight(right)
        }
        _ => false,
    }
}
