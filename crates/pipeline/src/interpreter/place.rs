//! Reads and writes places, which are variables and parts of variables.

use super::{Interpreter, Stop, internal};
use crate::error::RunError;
use crate::layout::CoreError;
use crate::trace::{Detail, Event};
use crate::value::Value;
use ir::bits::Bits;
use ir::{Place, Projection, Type, TypeId, VariableId};
use smallvec::SmallVec;

/// A place (a variable or a part of one) whose indexes have been computed, so that later statements
/// cannot change what it refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resolved {
    variable: VariableId,
    steps: Steps,
    /// Whether the place (a variable or a part of one) is beyond the end of a header stack. Reads
    /// then return the initial value, and writes have no effect (section 8.18).
    outside: bool,
}

/// The steps from a variable to one of its parts, such as a field of a field. Few parts need more
/// than four steps.
type Steps = SmallVec<[Step; 4]>;

/// A step from a value to one of its parts, such as a field or an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Field(usize),
    Element(usize),
    Slice { high: u32, low: u32 },
}

impl Interpreter<'_> {
    /// Computes the indexes in a place.
    pub(crate) fn resolve(&self, place: &Place) -> Result<Resolved, Stop> {
        let mut resolved =
            Resolved { variable: place.variable, steps: Steps::new(), outside: false };
        for projection in &place.path {
            let step = match projection {
                Projection::Field(position) => Step::Field(*position as usize),
                Projection::Slice { high, low } => Step::Slice { high: *high, low: *low },
                Projection::Element(index) => {
                    let index = self.index(index)?;
                    let size = self.peek(&resolved).map_or(0, stack_size);
                    resolved.outside |= index >= size as u64;
                    Step::Element(usize::try_from(index).unwrap_or(usize::MAX))
                }
                Projection::Next | Projection::Last => {
                    let Some(Value::Stack { elements, next }) = self.peek(&resolved) else {
                        return Err(internal("header stack"));
                    };
                    let index = match projection {
                        Projection::Next => Some(*next as usize),
                        _ => (*next as usize).checked_sub(1),
                    };
                    match index.filter(|index| *index < elements.len()) {
                        Some(index) => Step::Element(index),
                        None if self.in_parser => {
                            return Err(self.reject(CoreError::StackOutOfBounds));
                        }
                        None => {
                            resolved.outside = true;
                            Step::Element(usize::MAX)
                        }
                    }
                }
            };
            resolved.steps.push(step);
        }
        Ok(resolved)
    }

    /// Returns the value at a place (a variable or a part of one). Returns `None` if the place is
    /// beyond the end of a stack, or a slice of a number.
    pub(crate) fn peek(&self, place: &Resolved) -> Option<&Value> {
        let mut value = self.scratch.frame.get(place.variable.index())?;
        for step in &place.steps {
            value = within(value, step)?;
        }
        Some(value)
    }

    /// Returns the value at a place that selects only fields. Returns `None` for a place with
    /// indexes, which must be computed first.
    pub(crate) fn peek_fields(&self, place: &Place) -> Option<&Value> {
        let mut value = self.scratch.frame.get(place.variable.index())?;
        for projection in &place.path {
            let Projection::Field(position) = projection else { return None };
            value = within(value, &Step::Field(*position as usize))?;
        }
        Some(value)
    }

    /// Returns the value at a place (a variable or a part of one) like [`Self::peek_fields`], and
    /// whether the place is an invalid header or a part of one.
    pub(crate) fn peek_validity(&self, place: &Place) -> Option<(&Value, bool)> {
        let mut value = self.scratch.frame.get(place.variable.index())?;
        let mut is_in_invalid = false;
        for projection in &place.path {
            let Projection::Field(position) = projection else { return None };
            is_in_invalid |= matches!(value, Value::Header { valid: false, .. });
            value = within(value, &Step::Field(*position as usize))?;
        }
        is_in_invalid |= matches!(value, Value::Header { valid: false, .. });
        Some((value, is_in_invalid))
    }

    /// Returns the value at a place for writing. The write is not reported to the trace. Returns
    /// `None` for a place with indexes, and for one in a header union.
    pub(crate) fn fields_mut(&mut self, place: &Place) -> Option<&mut Value> {
        let mut value = self.scratch.frame.get_mut(place.variable.index())?;
        for projection in &place.path {
            let Projection::Field(position) = projection else { return None };
            value = match value {
                Value::Struct(fields) | Value::Header { fields, .. } => {
                    fields.get_mut(*position as usize)?
                }
                _ => return None,
            };
        }
        Some(value)
    }

    /// Reads the value at a place (a variable or a part of one). `type_id` is the type of the
    /// result.
    pub(crate) fn read(&self, place: &Resolved, type_id: TypeId) -> Result<Value, Stop> {
        if place.outside {
            return Ok(self.initial(type_id)?);
        }
        if let Some(Step::Slice { high, low }) = place.steps.last() {
            let mut whole = place.clone();
            whole.steps.pop();
            return match self.peek(&whole) {
                Some(Value::Bits(bits)) => Ok(Value::Bits(bits.slice(*high, *low))),
                _ => Err(internal("slice of what is not a number")),
            };
        }
        self.peek(place).cloned().ok_or_else(|| internal("place"))
    }

    /// Returns whether a place (a variable or a part of one) is an invalid header, or belongs to
    /// one.
    pub(crate) fn is_in_invalid_header(&self, place: &Place) -> Result<bool, Stop> {
        if let Some((_, is_in_invalid)) = self.peek_validity(place) {
            return Ok(is_in_invalid);
        }
        let place = self.resolve(place)?;
        let Some(mut value) = self.scratch.frame.get(place.variable.index()) else {
            return Ok(false);
        };
        for step in &place.steps {
            if let Value::Header { valid: false, .. } = value {
                return Ok(true);
            }
            let Some(inner) = within(value, step) else { return Ok(false) };
            value = inner;
        }
        Ok(matches!(value, Value::Header { valid: false, .. }))
    }

    /// Stores a value at a place (a variable or a part of one), and reports that to the trace.
    pub(crate) fn write(&mut self, place: &Resolved, value: Value) -> Result<(), Stop> {
        self.event_of(Detail::Values, |interpreter| {
            let (place, type_id) = interpreter.describe(place);
            let value = match type_id {
                Some(type_id) => interpreter.layout.render(&value, type_id),
                None => value.to_string(),
            };
            Event::Assign { place, value }
        });
        self.update(place, |target| target.assign(&value))
    }

    /// Changes the value at a place (a variable or a part of one). A member of a header union that
    /// becomes valid invalidates the other members (section 8.20).
    pub(crate) fn update(
        &mut self,
        place: &Resolved,
        change: impl FnOnce(&mut Value),
    ) -> Result<(), Stop> {
        if place.outside {
            return Ok(());
        }
        let variable = self.scratch.frame.get_mut(place.variable.index());
        let variable = variable.ok_or_else(|| RunError::internal("variable"))?;
        let mut change = Some(change);
        let done = update_in(variable, &place.steps, &mut |target| {
            if let Some(change) = change.take() {
                change(target);
            }
        });
        if done { Ok(()) } else { Err(internal("place")) }
    }

    /// Copies the value at a place to a variable, reusing the memory of the variable's previous
    /// value. Returns false, and copies nothing, if the place is a slice of a number, beyond the
    /// end of a stack, or in that variable.
    pub(super) fn copy_to_variable(&mut self, to: VariableId, from: &Resolved) -> bool {
        let variables = [to.index(), from.variable.index()];
        let Ok([to, from_variable]) = self.scratch.frame.get_disjoint_mut(variables) else {
            return false;
        };
        let mut steps = from.steps.iter();
        let value = steps.try_fold(&*from_variable, |value, step| within(value, step));
        value.map(|value| to.copy_from(value)).is_some()
    }

    /// Stores the value of a variable at a place like [`Self::write`], but does not report this to
    /// the trace. Returns false, and stores nothing, if the place is in that variable.
    pub(super) fn copy_from_variable(&mut self, to: &Resolved, from: VariableId) -> bool {
        let variables = [to.variable.index(), from.index()];
        let Ok([target, from]) = self.scratch.frame.get_disjoint_mut(variables) else {
            return false;
        };
        to.outside || update_in(target, &to.steps, &mut |target| target.assign(from))
    }

    /// Returns the type of a place, which is a variable or a part of one.
    pub(crate) fn place_type(&self, place: &Place) -> Option<TypeId> {
        let variable = self.layout.program.variables.get(place.variable.index())?;
        let mut type_id = variable.type_id;
        for projection in &place.path {
            type_id = match (projection, self.layout.get(type_id)?) {
                (Projection::Field(position), Type::Composite(_)) => {
                    self.layout.composite(type_id)?.fields.get(*position as usize)?.type_id
                }
                (
                    Projection::Element(_) | Projection::Next | Projection::Last,
                    Type::Stack { element, .. },
                ) => element,
                _ => return None,
            };
        }
        Some(type_id)
    }

    /// Returns a place (a variable or a part of one) in the notation of P4, and its type unless it
    /// is a slice.
    pub(crate) fn describe(&self, place: &Resolved) -> (String, Option<TypeId>) {
        let variable = self.layout.program.variables.get(place.variable.index());
        let mut text = variable.map_or_else(String::new, |variable| variable.name.clone());
        let mut type_id = variable.map(|variable| variable.type_id);
        for step in &place.steps {
            match step {
                Step::Field(position) => {
                    let composite = type_id.and_then(|id| self.layout.composite(id));
                    let field = composite.and_then(|composite| composite.fields.get(*position));
                    text.push('.');
                    text.push_str(field.map_or("?", |field| &field.name));
                    type_id = field.map(|field| field.type_id);
                }
                Step::Element(index) => {
                    text.push_str(&format!("[{index}]"));
                    type_id = type_id.and_then(|id| match self.layout.get(id) {
                        Some(Type::Stack { element, .. }) => Some(element),
                        _ => None,
                    });
                }
                Step::Slice { high, low } => {
                    text.push_str(&format!("[{high}:{low}]"));
                    type_id = None;
                }
            }
        }
        (text, type_id)
    }

    fn index(&self, index: &ir::Expression) -> Result<u64, Stop> {
        Ok(match self.evaluate(index)? {
            Value::Bits(bits) if !bits.is_negative() => bits.to_u64().unwrap_or(u64::MAX),
            Value::Integer(number) => u64::try_from(number).unwrap_or(u64::MAX),
            _ => u64::MAX,
        })
    }
}

/// Returns the part of a value to which a step leads, or `None` if the step selects a slice of a
/// number.
fn within<'v>(value: &'v Value, step: &Step) -> Option<&'v Value> {
    match (value, step) {
        (
            Value::Struct(fields) | Value::Header { fields, .. } | Value::Union(fields),
            Step::Field(position),
        ) => fields.get(*position),
        (Value::Stack { elements, .. }, Step::Element(index)) => elements.get(*index),
        _ => None,
    }
}

fn stack_size(value: &Value) -> usize {
    match value {
        Value::Stack { elements, .. } => elements.len(),
        _ => 0,
    }
}

/// Calls `change` with the part of a value to which the steps lead. Returns whether there is such a
/// part.
fn update_in(target: &mut Value, steps: &[Step], change: &mut dyn FnMut(&mut Value)) -> bool {
    let Some((step, rest)) = steps.split_first() else {
        change(target);
        return true;
    };
    match (target, step) {
        (Value::Struct(fields) | Value::Header { fields, .. }, Step::Field(position)) => {
            fields.get_mut(*position).is_some_and(|field| update_in(field, rest, change))
        }
        (Value::Union(members), Step::Field(position)) => {
            let Some(member) = members.get_mut(*position) else { return false };
            let done = update_in(member, rest, change);
            if rest.is_empty() && member.is_valid() {
                let siblings = members.iter_mut().enumerate();
                for (_, sibling) in siblings.filter(|(sibling, _)| sibling != position) {
                    sibling.set_validity(false);
                }
            }
            done
        }
        (Value::Stack { elements, .. }, Step::Element(index)) => {
            elements.get_mut(*index).is_some_and(|element| update_in(element, rest, change))
        }
        (target @ Value::Bits(_), Step::Slice { high, low }) => {
            let Value::Bits(bits) = target else { return false };
            let mut part = Value::Bits(bits.slice(*high, *low));
            change(&mut part);
            if let Value::Bits(part) = part {
                *bits = bits.with_slice(*high, *low, &part);
            }
            true
        }
        _ => false,
    }
}

/// Returns the number in a value that is an index or a size.
pub(crate) fn number(value: &Value) -> u64 {
    match value {
        Value::Integer(number) => u64::try_from(number.clone()).unwrap_or(u64::MAX),
        other => other.to_pattern().as_ref().and_then(Bits::to_u64).unwrap_or(u64::MAX),
    }
}
