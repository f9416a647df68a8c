//! Resolves places, which are the left-hand sides of the program, such as `hdr.stack[i].field`, to
//! leaves of the frame.

use super::{CoreError, Executor, Fill, Stop, unsupported};
use crate::shape::INDEX;
use crate::state::State;
use crate::term::Term;
use ir::{CompositeKind, Place, Projection, TypeId};

/// The largest number of stack elements among which a non-constant index may choose.
const MAXIMUM_CHOICES: usize = 256;

/// The leaves to which a place refers under a condition on its indexes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alternative {
    pub(crate) condition: Term,
    /// The position of the first leaf; `None` if an index is outside of its header stack.
    pub(crate) offset: Option<usize>,
    /// Whether all headers that contain the place, or are the place, are valid.
    pub(crate) valid: Term,
    /// The position of the first leaf of the header union to which the place belongs as a member;
    /// `None` if it is no member of a union.
    pub(crate) union: Option<usize>,
}

/// A place whose indexes have been evaluated.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    /// The leaves to which the place may refer. The conditions exclude each other, and one of them
    /// holds.
    pub(crate) alternatives: Vec<Alternative>,
    /// The type of the value at the place, before a slice is taken.
    pub(crate) type_id: TypeId,
    /// The bits of the number to which a slice refers; `None` without a slice.
    pub(crate) slice: Option<(u32, u32)>,
    /// The header union to which the place belongs as a member, with the position of the member.
    pub(crate) member: Option<(TypeId, u32)>,
}

impl Located {
    /// Returns the position of the first leaf, if the place has only constant indexes and no slice.
    fn only(&self) -> Option<usize> {
        match (self.alternatives.as_slice(), self.slice) {
            ([one], None) => one.offset,
            _ => None,
        }
    }
}

impl Executor<'_> {
    /// Evaluates the indexes of a place.
    ///
    /// # Errors
    ///
    /// In a parser, returns a rejection for `next` of a full stack and `last` of an empty one.
    pub(crate) fn locate(&mut self, state: &State, place: &Place) -> Result<Located, Stop> {
        let variable = self.shapes.variable(place.variable);
        let variable = variable.ok_or_else(|| unsupported("a variable"))?;
        let holds = self.terms.truth(true);
        let start = Alternative {
            condition: holds,
            offset: Some(variable.offset),
            valid: holds,
            union: None,
        };
        let mut located = Located {
            alternatives: vec![start],
            type_id: variable.type_id,
            slice: None,
            member: None,
        };
        for projection in &place.path {
            match projection {
                Projection::Field(position) => self.project(state, &mut located, *position)?,
                Projection::Slice { high, low } => located.slice = Some((*high, *low)),
                Projection::Element(index) => {
                    let index = self.scalar(state, index)?;
                    let choose = |_: &mut Self, _: &State, _: usize| index;
                    self.choose_element(state, &mut located, choose)?;
                }
                Projection::Next => {
                    let next = |_: &mut Self, state: &State, stack: usize| state.leaf(stack);
                    self.choose_element(state, &mut located, next)?;
                    self.require_element(&located)?;
                }
                Projection::Last => {
                    let last = |executor: &mut Self, state: &State, stack: usize| {
                        let one = executor.terms.number(INDEX, 1);
                        executor.terms.subtract(state.leaf(stack), one)
                    };
                    self.choose_element(state, &mut located, last)?;
                    self.require_element(&located)?;
                }
            }
        }
        let is_header = self.shapes.kind(located.type_id) == Some(CompositeKind::Header);
        if is_header {
            self.add_validity(state, &mut located);
        }
        Ok(located)
    }

    /// Descends into the field at `position`.
    fn project(&mut self, state: &State, located: &mut Located, position: u32) -> Result<(), Stop> {
        let kind = self.shapes.kind(located.type_id);
        let field = self.shapes.field(located.type_id, position);
        let field = field.ok_or_else(|| unsupported("a field"))?;
        if kind == Some(CompositeKind::Header) {
            self.add_validity(state, located);
        }
        let is_union = kind == Some(CompositeKind::HeaderUnion);
        located.member = is_union.then_some((located.type_id, position));
        for one in &mut located.alternatives {
            one.union = one.offset.filter(|_| is_union);
            one.offset = one.offset.map(|offset| offset + field.offset);
        }
        located.type_id = field.type_id;
        Ok(())
    }

    /// Adds the validity of the headers that were just entered to the alternatives' conditions of
    /// validity.
    fn add_validity(&mut self, state: &State, located: &mut Located) {
        for one in &mut located.alternatives {
            if let Some(offset) = one.offset {
                one.valid = self.terms.and(one.valid, state.leaf(offset));
            }
        }
    }

    /// Descends into an element of a header stack. `index` returns the element's index, given the
    /// position of the stack's first leaf.
    fn choose_element(
        &mut self,
        state: &State,
        located: &mut Located,
        mut index: impl FnMut(&mut Self, &State, usize) -> Term,
    ) -> Result<(), Stop> {
        let elements = self.shapes.elements(located.type_id);
        let elements = elements.ok_or_else(|| unsupported("a header stack"))?;
        let mut found = Vec::new();
        for one in std::mem::take(&mut located.alternatives) {
            let Some(stack) = one.offset else {
                found.push(one);
                continue;
            };
            let index = index(self, state, stack);
            if let Some(known) = self.terms.constant_of(index) {
                let known = known.to_u64().and_then(|known| u32::try_from(known).ok());
                let inside = known.filter(|known| *known < elements.count);
                let offset = inside.map(|known| stack + elements.offset(known));
                found.push(Alternative { offset, union: None, ..one });
                continue;
            }
            let mut outside = one.condition;
            for number in 0..elements.count {
                let width = self.terms.width_of(index);
                if width < 32 && number >> width != 0 {
                    break;
                }
                let wanted = self.terms.number(width, number.into());
                let here = self.terms.equal(index, wanted);
                let condition = self.terms.and(one.condition, here);
                let not = self.terms.not(here);
                outside = self.terms.and(outside, not);
                if self.terms.truth_of(condition) == Some(false) {
                    continue;
                }
                let offset = Some(stack + elements.offset(number));
                found.push(Alternative { condition, offset, union: None, ..one });
            }
            if self.terms.truth_of(outside) != Some(false) {
                found.push(Alternative { condition: outside, offset: None, union: None, ..one });
            }
            if found.len() > MAXIMUM_CHOICES {
                return Err(unsupported("an index into a stack of this size"));
            }
        }
        located.alternatives = found;
        located.type_id = elements.type_id;
        located.member = None;
        Ok(())
    }

    /// Makes the parser reject the packet if `next` or `last` is not an element of the stack.
    fn require_element(&self, located: &Located) -> Result<(), Stop> {
        if !self.in_parser {
            return Ok(());
        }
        let outside = |one: &Alternative| one.offset.is_none();
        match located.alternatives.as_slice() {
            [one] if outside(one) => Err(Stop::Reject(CoreError::StackOutOfBounds)),
            several if several.iter().any(outside) => {
                Err(unsupported("`next` or `last` of a stack of unknown length in a parser"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the value at a place. Elements outside of a header stack have undefined fields.
    pub(crate) fn read(&mut self, state: &State, located: &Located) -> Vec<Term> {
        let size = self.shapes.size(located.type_id);
        if let Some(offset) = located.only() {
            return state.range(offset, size);
        }
        let mut value: Option<Vec<Term>> = None;
        for one in located.alternatives.iter().rev() {
            let here = match one.offset {
                Some(offset) => state.range(offset, size),
                None => self.initial(located.type_id, Fill::Undefined),
            };
            value = Some(match value {
                None => here,
                Some(others) => self.choose(one.condition, &here, &others),
            });
        }
        let value = value.unwrap_or_default();
        match (located.slice, value.as_slice()) {
            (Some((high, low)), [number]) => vec![self.terms.extract(*number, high, low)],
            _ => value,
        }
    }

    /// Returns the leaves of `then` where a condition holds, and those of `otherwise` elsewhere.
    pub(crate) fn choose(
        &mut self,
        condition: Term,
        then: &[Term],
        otherwise: &[Term],
    ) -> Vec<Term> {
        let pairs = then.iter().zip(otherwise);
        pairs.map(|(then, other)| self.terms.if_then_else(condition, *then, *other)).collect()
    }

    /// Stores a value at a place. If a member of a header union becomes valid, the other members
    /// become invalid (P4_16 specification, section 8.20).
    pub(crate) fn write(&mut self, state: &mut State, located: &Located, value: &[Term]) {
        for one in &located.alternatives {
            let Some(offset) = one.offset else { continue };
            for (position, new) in value.iter().enumerate() {
                let old = state.leaf(offset + position);
                let new = match located.slice {
                    Some((high, low)) => self.terms.with_slice(old, high, low, *new),
                    None => *new,
                };
                let stored = self.terms.if_then_else(one.condition, new, old);
                state.set(offset + position, stored);
            }
            if let Some(validity) = value.first() {
                self.invalidate_siblings(state, located, one, *validity);
            }
        }
    }

    /// Makes the other members of a header union invalid, if the place is a member that has become
    /// valid.
    pub(crate) fn invalidate_siblings(
        &mut self,
        state: &mut State,
        located: &Located,
        one: &Alternative,
        validity: Term,
    ) {
        let (Some((type_id, member)), Some(union)) = (located.member, one.union) else { return };
        let becomes_valid = self.terms.and(one.condition, validity);
        let not = self.terms.not(becomes_valid);
        for (position, sibling) in self.shapes.fields(type_id).into_iter().enumerate() {
            if position == member as usize {
                continue;
            }
            let at = union + sibling.offset;
            let kept = self.terms.and(state.leaf(at), not);
            state.set(at, kept);
        }
    }

    /// Returns whether all headers that contain a place are valid.
    pub(crate) fn validity(&mut self, located: &Located) -> Term {
        let mut valid = self.terms.truth(true);
        for one in &located.alternatives {
            let holds = self.terms.implies(one.condition, one.valid);
            valid = self.terms.and(valid, holds);
        }
        valid
    }
}
