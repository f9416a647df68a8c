//! Translates those operations on numbers of more than 64 bits that can be done part by part:
//! moves, comparisons, and bitwise operators.
//!
//! A part has at most 64 bits and is loaded and stored as a number of its own. Parts are counted
//! from the least significant one. Operations with a carry from part to part are left to the
//! interpreter.

use super::shape::{DATA, Scalar, Shape, Storage};
use super::{Address, Block, Expression, Field, KeyPart, Outcome, Resolver, Statement, mask};
use ir::bits::Bits;
use ir::{BinaryOperator, ExpressionKind, Place, Projection, Type, TypeId, UnaryOperator, Value};

/// The possible sizes of parts in bits. Parts have 64 bits if all of them then begin at byte
/// boundaries, and otherwise 32.
const SIZES: [u32; 2] = [64, 32];

/// A number of more than 64 bits in the frame (the packet's working memory): bits of a header, or
/// whole bytes elsewhere.
#[derive(Clone, Copy)]
pub(super) struct WidePlace {
    pub(super) address: Address,
    /// The position of the number's first bit, counted from `address`.
    pub(super) bit: u32,
    pub(super) width: u32,
    /// The size of the number in bytes, or `None` if it is a field of a header.
    bytes: Option<u32>,
}

impl WidePlace {
    /// Returns the address of the header if the number is a field of one, or `None` otherwise.
    pub(super) fn header(&self) -> Option<Address> {
        let offset = self.address.offset.checked_sub(DATA).filter(|_| self.bytes.is_none())?;
        Some(Address { offset, ..self.address })
    }

    /// Returns the bits `high` to `low` of the number as a field, or `None` if they extend over
    /// more than eight bytes.
    fn part(&self, high: u32, low: u32) -> Option<Field> {
        let (bit, width) = (self.bit + self.width - 1 - high, high - low + 1);
        let storage = match self.bytes {
            Some(bytes) => Storage::Wide { bit, bytes },
            None => Storage::Packed { bit },
        };
        let fits = high < self.width && bit % 8 + width <= 64;
        let scalar = Scalar { width, signed: false, storage };
        fits.then_some(Field { address: self.address, scalar })
    }

    /// Returns the parts of the number with `size` bits each, the least significant one first.
    fn parts(&self, size: u32) -> Option<Vec<Field>> {
        ranges(self.width, size).map(|(high, low)| self.part(high, low)).collect()
    }
}

/// Splits a number of `width` bits into parts of `size` bits, and returns the highest and lowest
/// bit of each part.
fn ranges(width: u32, size: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..width).step_by(size as usize).map(move |low| ((low + size).min(width) - 1, low))
}

impl Resolver<'_> {
    /// Returns the width of a type of numbers with more than 64 bits, or `None` for any other type.
    fn wide_width(&self, type_id: TypeId) -> Option<u32> {
        match self.layout.get(type_id) {
            Some(Type::Bits { width, .. }) if width > 64 => Some(width),
            _ => None,
        }
    }

    /// Determines the address of a place that must be a number of more than 64 bits.
    pub(super) fn wide_place(&mut self, place: &Place) -> Outcome<WidePlace> {
        let none = "a number of more than 64 bits that is in no header and no variable";
        if let Some((Projection::Field(position), path)) = place.path.split_last() {
            let outer = Place { variable: place.variable, path: path.to_vec() };
            let found = self.resolve(&outer)?;
            if let Shape::Header(header) = &found.shape {
                let field = header.fields.get(*position as usize);
                let field = field.filter(|_| found.address.element.is_none());
                return match field.filter(|field| field.width > 64) {
                    Some(field) => Ok(WidePlace {
                        address: found.address.plus(DATA),
                        bit: field.bit,
                        width: field.width,
                        bytes: None,
                    }),
                    None => self.refuse(none),
                };
            }
        }
        let found = self.resolve(place)?;
        match found.shape {
            Shape::Wide { width, .. } if width > 64 && found.address.element.is_none() => {
                Ok(wide_at(found.address, width))
            }
            _ => self.refuse(none),
        }
    }

    /// Determines the address of the bits `high` to `low` of a number of more than 64 bits.
    pub(super) fn wide_slice(&mut self, place: &Place, high: u32, low: u32) -> Outcome<Field> {
        match self.wide_place(place)?.part(high, low) {
            Some(field) => Ok(field),
            None => self.refuse("a part of a number that does not lie in eight bytes"),
        }
    }

    /// Returns whether a place is a number of more than 64 bits, or a slice of one.
    pub(super) fn is_wide(&self, place: &Place) -> bool {
        let type_id = self.layout.program.place_type(place);
        self.sliced_wide(place).is_some()
            || type_id.and_then(|type_id| self.wide_width(type_id)).is_some()
    }

    /// Splits a slice of a number of more than 64 bits into the place of the whole number and the
    /// highest and lowest bit of the slice. Returns `None` for any other place.
    pub(super) fn sliced_wide(&self, place: &Place) -> Option<(Place, u32, u32)> {
        let (Projection::Slice { high, low }, path) = place.path.split_last()? else {
            return None;
        };
        let whole = Place { variable: place.variable, path: path.to_vec() };
        let type_id = self.layout.program.place_type(&whole)?;
        self.wide_width(type_id).map(|_| (whole, *high, *low))
    }

    /// Translates an assignment to a number of more than 64 bits, or to a slice of one.
    pub(super) fn assign_wide(
        &mut self,
        place: &Place,
        value: &ir::Expression,
        out: &mut Block,
    ) -> Outcome {
        if let Some((whole, high, low)) = self.sliced_wide(place) {
            let field = self.wide_slice(&whole, high, low)?;
            let value = self.expression(value)?;
            out.push(Statement::Store { field, value });
            return Ok(());
        }
        let to = self.wide_place(place)?;
        self.store_wide(to, value, out)
    }

    /// Translates the initialisation of a variable with more than 64 bits.
    pub(super) fn initialise_wide(
        &mut self,
        offset: u32,
        width: u32,
        value: &ir::Expression,
        out: &mut Block,
    ) -> Outcome {
        self.store_wide(wide_at(Address::fixed(offset), width), value, out)
    }

    fn store_wide(&mut self, to: WidePlace, value: &ir::Expression, out: &mut Block) -> Outcome {
        for size in SIZES {
            let Some(fields) = to.parts(size) else { continue };
            if let Some(values) = self.wide_parts(value, to.width, size)? {
                let fields = fields.into_iter().zip(values).collect();
                out.push(Statement::Build { header: None, fields });
                return Ok(());
            }
        }
        self.refuse("a number of more than 64 bits")
    }

    /// Translates a table's key of more than 64 bits to its parts, the least significant one first.
    /// Whether the key's header is valid is not taken into account.
    pub(super) fn parts_of_key(&mut self, key: &ir::Expression) -> Outcome<Vec<KeyPart>> {
        let refused = "a key of more than 64 bits that is not computed part by part";
        let Some(width) = self.wide_width(key.type_id) else { return self.refuse(refused) };
        for size in SIZES {
            let Some(values) = self.wide_parts(key, width, size)? else { continue };
            let part = |(value, (high, low)): (Expression, (u32, u32))| KeyPart {
                value,
                width: high - low + 1,
                above: low,
            };
            return Ok(values.into_iter().zip(ranges(width, size)).map(part).collect());
        }
        self.refuse(refused)
    }

    /// Translates a comparison of numbers of more than 64 bits with `==` or `!=`.
    pub(super) fn compare_wide(
        &mut self,
        operator: BinaryOperator,
        left: &ir::Expression,
        right: &ir::Expression,
    ) -> Outcome<Option<Expression>> {
        use BinaryOperator as Of;
        let Some(width) = self.wide_width(left.type_id) else { return Ok(None) };
        if !matches!(operator, Of::Equal | Of::NotEqual) {
            return Ok(None);
        }
        for size in SIZES {
            let parts = (self.wide_parts(left, width, size)?, self.wide_parts(right, width, size)?);
            let (Some(left), Some(right)) = parts else { continue };
            let of_parts = |operator, width, left, right| Expression::Binary {
                operator,
                width,
                signed: false,
                left: Box::new(left),
                right: Box::new(right),
            };
            let each = left.into_iter().zip(right).zip(ranges(width, size));
            let each = each.map(|((left, right), (high, low))| {
                of_parts(Of::Equal, high - low + 1, left, right)
            });
            let all = each.reduce(|all, one| of_parts(Of::And, 1, all, one));
            return Ok(all.map(|all| match operator {
                Of::Equal => all,
                _ => Expression::Not(Box::new(all)),
            }));
        }
        Ok(None)
    }

    /// Returns the value of an expression as parts of `size` bits each, the least significant one
    /// first. Returns `None` if generated code cannot compute the expression in parts of this size.
    fn wide_parts(
        &mut self,
        value: &ir::Expression,
        width: u32,
        size: u32,
    ) -> Outcome<Option<Vec<Expression>>> {
        let load = |fields: Vec<Field>| fields.into_iter().map(Expression::Load).collect();
        Ok(match &value.kind {
            ExpressionKind::Constant(constant) => {
                let pattern = match constant {
                    Value::Bits(bits) => bits.cast(width, false),
                    Value::Integer(number) => Bits::from_bigint(width, false, number),
                    _ => return Ok(None),
                };
                let parts = ranges(width, size);
                let part = |(high, low)| {
                    let bits = pattern.slice(high, low);
                    Expression::Constant(bits.low_u64() & mask(high - low + 1))
                };
                Some(parts.map(part).collect())
            }
            ExpressionKind::Read(place) => match self.sliced_wide(place) {
                Some((whole, _, low)) => {
                    let found = self.wide_place(&whole)?;
                    let part = |(high, below)| found.part(low + high, low + below);
                    ranges(width, size).map(part).collect::<Option<_>>().map(load)
                }
                None => {
                    let found = self.wide_place(place)?;
                    found.parts(size).filter(|_| found.width == width).map(load)
                }
            },
            ExpressionKind::Slice { operand, low, .. } => match &operand.kind {
                ExpressionKind::Read(whole) if self.is_wide(whole) => {
                    let found = self.wide_place(whole)?;
                    let part = |(high, below)| found.part(low + high, low + below);
                    ranges(width, size).map(part).collect::<Option<_>>().map(load)
                }
                _ => None,
            },
            ExpressionKind::Unary(UnaryOperator::Complement, operand) => {
                let parts = self.wide_parts(operand, width, size)?;
                let complement = |(operand, (high, low))| Expression::Complement {
                    operand: Box::new(operand),
                    width: high - low + 1,
                };
                parts.map(|parts| {
                    parts.into_iter().zip(ranges(width, size)).map(complement).collect()
                })
            }
            ExpressionKind::Binary(operator, left, right)
                if matches!(
                    operator,
                    BinaryOperator::BitAnd | BinaryOperator::BitOr | BinaryOperator::BitXor
                ) =>
            {
                let left = self.wide_parts(left, width, size)?;
                let right = self.wide_parts(right, width, size)?;
                let combined = |((left, right), (high, low))| Expression::Binary {
                    operator: *operator,
                    width: high - low + 1,
                    signed: false,
                    left: Box::new(left),
                    right: Box::new(right),
                };
                left.zip(right).map(|(left, right)| {
                    left.into_iter().zip(right).zip(ranges(width, size)).map(combined).collect()
                })
            }
            ExpressionKind::Binary(BinaryOperator::Concatenate, left, right) => {
                let widths = [left, right].map(|side| match self.layout.get(side.type_id) {
                    Some(Type::Bits { width, .. }) => width,
                    _ => 0,
                });
                if widths[0] + widths[1] != width || !widths[1].is_multiple_of(size) {
                    return Ok(None);
                }
                let low = self.any_parts(right, widths[1], size)?;
                let high = self.any_parts(left, widths[0], size)?;
                low.zip(high).map(|(low, high)| low.into_iter().chain(high).collect())
            }
            ExpressionKind::Conditional { condition, then, otherwise } => {
                let condition = self.expression(condition)?;
                let then = self.wide_parts(then, width, size)?;
                let otherwise = self.wide_parts(otherwise, width, size)?;
                let (Some(then), Some(otherwise)) = (then, otherwise) else { return Ok(None) };
                if then.iter().chain(&otherwise).any(Expression::can_reject) {
                    return self.refuse("next or last in one branch of an expression");
                }
                let chosen = |(then, otherwise)| Expression::Conditional {
                    condition: Box::new(condition.clone()),
                    then: Box::new(then),
                    otherwise: Box::new(otherwise),
                };
                Some(then.into_iter().zip(otherwise).map(chosen).collect())
            }
            ExpressionKind::Cast(operand) => match self.layout.get(operand.type_id) {
                // A cast that only changes the sign.
                Some(Type::Bits { width: from, .. }) if from == width => {
                    self.wide_parts(operand, width, size)?
                }
                Some(Type::Bits { width: from, signed: false }) if from <= 64 => {
                    let parts = self.any_parts(operand, from, size)?;
                    parts.map(|mut parts| {
                        let all = width.div_ceil(size) as usize;
                        parts.resize(all, Expression::Constant(0));
                        parts
                    })
                }
                _ => None,
            },
            _ => None,
        })
    }

    /// Returns the value of an expression in parts like [`Self::wide_parts`], for a number of any
    /// width.
    fn any_parts(
        &mut self,
        value: &ir::Expression,
        width: u32,
        size: u32,
    ) -> Outcome<Option<Vec<Expression>>> {
        if width > 64 {
            return self.wide_parts(value, width, size);
        }
        let whole = self.expression(value)?;
        if width <= size {
            return Ok(Some(vec![whole]));
        }
        let part = |(high, low)| Expression::Slice {
            operand: Box::new(whole.clone()),
            low,
            width: high - low + 1,
        };
        Ok(Some(ranges(width, size).map(part).collect()))
    }
}

/// Returns the place of a number of more than 64 bits at `address`, outside of headers.
fn wide_at(address: Address, width: u32) -> WidePlace {
    let bytes = width.div_ceil(8);
    WidePlace { address, bit: bytes * 8 - width, width, bytes: Some(bytes) }
}
