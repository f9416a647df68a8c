//! Tracks which headers are certainly valid and which are certainly invalid at a point of a path.
//!
//! Validity is recorded for each header of each variable, and is unknown if there is no record. If
//! the validity of a header is unknown, both sides of a condition on it are followed, and the
//! header is emitted. The predicted cost of a path may therefore be too high, but never too low.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use ir::{
    Argument, CompositeKind, Direction, Expression, ExpressionKind, Parameter, Place, Program,
    Projection, Type, TypeId, Value, VariableId,
};

/// The origin of a stored value: a variable, or a value that blocks of the architecture pass on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Root {
    Variable(VariableId),
    /// The value of a type that the architecture passes from one of its blocks to the next.
    Passed(TypeId),
}

/// The identity of a stored header, header union or header stack: the variable or value that
/// contains it, and the numbers of the fields and stack elements that lead to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Slot {
    root: Root,
    steps: Vec<u32>,
}

impl Slot {
    fn whole(root: Root) -> Self {
        Self { root, steps: Vec::new() }
    }

    fn inner(&self, steps: &[u32]) -> Self {
        Self { root: self.root, steps: [&self.steps, steps].concat() }
    }

    /// Returns the field and element numbers that lead from `outer` to this slot, or `None` if the
    /// slot is not within `outer`.
    fn within(&self, outer: &Self) -> Option<&[u32]> {
        (self.root == outer.root).then(|| self.steps.strip_prefix(outer.steps.as_slice())).flatten()
    }
}

/// The number of a [`Slot`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SlotId(usize);

/// The program and the slots (headers, header unions and header stacks) in its values. Paths refer
/// to slots by number, because paths are compared often.
#[derive(Debug)]
pub(super) struct Slots<'p> {
    program: &'p Program,
    all: RefCell<Vec<Slot>>,
    numbers: RefCell<HashMap<Slot, SlotId>>,
}

impl<'p> Slots<'p> {
    pub(super) fn new(program: &'p Program) -> Self {
        Self { program, all: RefCell::default(), numbers: RefCell::default() }
    }

    /// Returns whether values of a type contain headers.
    pub(super) fn has_headers(&self, type_id: TypeId) -> bool {
        has_headers(self.program, type_id)
    }

    /// Returns whether the value at a place contains headers.
    pub(super) fn holds_headers(&self, place: &Place) -> bool {
        self.program.place_type(place).is_some_and(|type_id| self.has_headers(type_id))
    }

    /// Returns whether a call with an argument may read or change the validity of headers.
    pub(super) fn passes_headers(&self, argument: &Argument) -> bool {
        match argument.unordered() {
            Argument::In(value) => self.has_headers(value.type_id),
            other => written(other).is_some_and(|place| self.holds_headers(place)),
        }
    }

    fn number(&self, slot: &Slot) -> SlotId {
        if let Some(number) = self.numbers.borrow().get(slot) {
            return *number;
        }
        let mut all = self.all.borrow_mut();
        let number = SlotId(all.len());
        all.push(slot.clone());
        self.numbers.borrow_mut().insert(slot.clone(), number);
        number
    }

    /// Returns the field and element numbers that lead from `outer` to a slot, or `None` if the
    /// slot is not within `outer`.
    fn steps(&self, slot: SlotId, outer: &Slot) -> Option<Vec<u32>> {
        self.all.borrow().get(slot.0)?.within(outer).map(<[u32]>::to_vec)
    }

    fn is_within(&self, slot: SlotId, outer: &Slot) -> bool {
        self.all.borrow().get(slot.0).is_some_and(|slot| slot.within(outer).is_some())
    }

    fn root(&self, slot: SlotId) -> Option<Root> {
        self.all.borrow().get(slot.0).map(|slot| slot.root)
    }
}

/// The known facts about the headers within a value: which are valid or invalid, and the next index
/// of stacks. The keys are the field and element numbers that lead from the value to the header or
/// stack.
#[derive(Debug, Clone, Default)]
struct Known {
    headers: BTreeMap<Vec<u32>, bool>,
    /// The next index of each header stack: that of the element into which a parser would extract
    /// next.
    stacks: BTreeMap<Vec<u32>, u32>,
}

impl Known {
    fn header(valid: bool) -> Self {
        Self { headers: BTreeMap::from([(Vec::new(), valid)]), stacks: BTreeMap::new() }
    }

    /// Adds the facts about the field or element with this number.
    fn add(&mut self, number: u32, inner: Self) {
        let under = |steps: Vec<u32>| [&[number], steps.as_slice()].concat();
        self.headers.extend(inner.headers.into_iter().map(|(steps, valid)| (under(steps), valid)));
        self.stacks.extend(inner.stacks.into_iter().map(|(steps, next)| (under(steps), next)));
    }

    /// Keeps only the facts that `other` contains as well.
    fn join(&mut self, other: &Self) {
        self.headers.retain(|steps, valid| other.headers.get(steps) == Some(valid));
        self.stacks.retain(|steps, next| other.stacks.get(steps) == Some(next));
    }
}

/// The slot (header, header union or header stack) to which a place in the program refers.
enum Location {
    /// The place is this slot. If the slot is a member of a header union, `union` is the union.
    At { slot: Slot, type_id: TypeId, union: Option<Slot> },
    /// The place is within an element of this header stack, but the index of the element is not
    /// known.
    Somewhere(Slot),
    /// The place is an element beyond the end of its header stack.
    Nowhere,
}

/// The headers whose validity is known, as bits at the numbers of their slots. This form takes few
/// words, because paths are copied and compared often.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct HeaderBits {
    /// The bits of the headers that are known to be valid, and of those known to be invalid. The
    /// last word is not zero.
    words: Vec<[u64; 2]>,
}

impl HeaderBits {
    fn get(&self, slot: SlotId) -> Option<bool> {
        let [valid, invalid] = *self.words.get(slot.0 / 64)?;
        let bit = 1 << (slot.0 % 64);
        match (valid & bit != 0, invalid & bit != 0) {
            (false, false) => None,
            (is_valid, _) => Some(is_valid),
        }
    }

    fn set(&mut self, slot: SlotId, is_valid: Option<bool>) {
        let (word, bit) = (slot.0 / 64, 1_u64 << (slot.0 % 64));
        if self.words.len() <= word {
            self.words.resize(word + 1, [0; 2]);
        }
        if let Some([valid, invalid]) = self.words.get_mut(word) {
            *valid = if is_valid == Some(true) { *valid | bit } else { *valid & !bit };
            *invalid = if is_valid == Some(false) { *invalid | bit } else { *invalid & !bit };
        }
        while self.words.last() == Some(&[0; 2]) {
            self.words.pop();
        }
    }

    /// Returns the numbers of the headers with known validity, each with whether it is valid.
    fn iter(&self) -> impl Iterator<Item = (SlotId, bool)> + '_ {
        (0..).zip(&self.words).flat_map(|(word, [valid, invalid])| {
            let mut left = valid | invalid;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some((SlotId(64 * word + bit as usize), valid >> bit & 1 == 1))
            })
        })
    }

    /// Removes the headers for which `keeps` returns false, so that their validity is unknown.
    fn retain(&mut self, keeps: impl Fn(SlotId) -> bool) {
        let gone: Vec<SlotId> =
            self.iter().map(|(slot, _)| slot).filter(|slot| !keeps(*slot)).collect();
        gone.into_iter().for_each(|slot| self.set(slot, None));
    }

    /// Adds the headers with known validity to `all`, as bits at their numbers.
    fn add_known(&self, all: &mut Vec<u64>) {
        if all.len() < self.words.len() {
            all.resize(self.words.len(), 0);
        }
        all.iter_mut().zip(&self.words).for_each(|(all, [valid, invalid])| *all |= valid | invalid);
    }
}

/// The slots about which something is known on any path: headers with a known validity, and stacks
/// with a known next index.
#[derive(Debug, Default)]
pub(super) struct KnownSlots {
    headers: Vec<u64>,
    stacks: BTreeSet<SlotId>,
}

impl KnownSlots {
    pub(super) fn add(&mut self, valid: &Validity) {
        valid.headers.add_known(&mut self.headers);
        self.stacks.extend(valid.stacks.keys());
    }

    /// Returns the variables that contain these headers and stacks.
    pub(super) fn variables(&self, slots: &Slots<'_>) -> BTreeSet<VariableId> {
        let known = HeaderBits { words: self.headers.iter().map(|word| [*word, 0]).collect() };
        let all = known.iter().map(|(slot, _)| slot).chain(self.stacks.iter().copied());
        all.filter_map(|slot| match slots.root(slot)? {
            Root::Variable(variable) => Some(variable),
            Root::Passed(_) => None,
        })
        .collect()
    }
}

/// The headers that are known to be valid or invalid at some point of a path.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Validity {
    headers: HeaderBits,
    /// The next index of each header stack.
    stacks: BTreeMap<SlotId, u32>,
}

/// An argument of a call with the parameter that receives it.
pub(super) struct Passed<'p> {
    /// The position of the argument in the call.
    pub(super) position: usize,
    pub(super) variable: VariableId,
    pub(super) argument: &'p Argument,
}

impl Validity {
    /// Returns whether the header or header union at a place is valid, or `None` if that is
    /// unknown.
    pub(super) fn is_valid(&self, slots: &Slots<'_>, place: &Place) -> Option<bool> {
        match self.locate(slots, place) {
            Location::At { slot, type_id, .. } => self.is_slot_valid(slots, &slot, type_id),
            Location::Somewhere(_) | Location::Nowhere => None,
        }
    }

    fn is_slot_valid(&self, slots: &Slots<'_>, slot: &Slot, type_id: TypeId) -> Option<bool> {
        let composite = slots.program.types.composite(type_id)?;
        if composite.kind != CompositeKind::HeaderUnion {
            return self.headers.get(slots.number(slot));
        }
        let mut members = (0_u32..)
            .zip(&composite.fields)
            .map(|(n, _)| self.headers.get(slots.number(&slot.inner(&[n]))));
        let is_any_valid = members.clone().any(|valid| valid == Some(true));
        (is_any_valid || members.all(|valid| valid.is_some())).then_some(is_any_valid)
    }

    /// Returns the types of the headers that a deparser may emit for a value: all headers that are
    /// not certainly invalid.
    pub(super) fn emitted(&self, slots: &Slots<'_>, value: &Expression) -> Vec<TypeId> {
        let known = self.value(slots, value);
        let mut headers = Vec::new();
        leaves(slots.program, value.type_id, &mut Vec::new(), &mut |steps, leaf| {
            if let Leaf::Header(header) = leaf
                && known.headers.get(steps) != Some(&false)
            {
                headers.push(header);
            }
        });
        headers
    }

    /// Records the extraction of a header from the packet.
    pub(super) fn extract(&mut self, slots: &Slots<'_>, header: &Place) {
        self.set(slots, header, Some(true));
        let next = header.path.iter().rposition(|step| matches!(step, Projection::Next));
        if let Some(position) = next {
            let stack = Place {
                variable: header.variable,
                path: header.path.get(..position).unwrap_or_default().to_vec(),
            };
            if let Location::At { slot, .. } = self.locate(slots, &stack)
                && let Some(next) = self.stacks.get_mut(&slots.number(&slot))
            {
                *next += 1;
            }
        }
    }

    /// Records that the header at a place became valid or invalid, or that its validity is unknown.
    /// A header union at the place, or another value with headers, becomes invalid or unknown as a
    /// whole.
    pub(super) fn set(&mut self, slots: &Slots<'_>, place: &Place, valid: Option<bool>) {
        let Some(type_id) = slots.program.place_type(place) else { return };
        let known = match valid {
            Some(true) => Known::header(true),
            Some(false) => invalid(slots.program, type_id),
            None => Known::default(),
        };
        self.write(slots, place, known);
    }

    /// Records the declaration of a variable: all of its headers become invalid.
    pub(super) fn reset(&mut self, slots: &Slots<'_>, place: &Place) {
        self.set(slots, place, Some(false));
    }

    /// Records an assignment of a value to a place, which copies the validity of headers.
    pub(super) fn assign(&mut self, slots: &Slots<'_>, place: &Place, value: &Expression) {
        if has_headers(slots.program, value.type_id) {
            let known = self.value(slots, value);
            self.write(slots, place, known);
        }
    }

    /// Records that the elements of a stack moved up by `count`, or down if `count` is negative.
    pub(super) fn shift(&mut self, slots: &Slots<'_>, stack: &Place, count: i64) {
        let Location::At { slot, type_id, .. } = self.locate(slots, stack) else {
            return self.write(slots, stack, Known::default());
        };
        let Type::Stack { size, .. } = slots.program.types.get(type_id) else { return };
        let before = self.at(slots, &slot);
        let mut after = invalid(slots.program, type_id);
        for number in 0..size {
            let from = i64::from(number) - count;
            if (0..i64::from(size)).contains(&from) {
                after.headers.retain(|steps, _| steps.first() != Some(&number));
                for (steps, valid) in &before.headers {
                    if let Some((first, rest)) = steps.split_first()
                        && i64::from(*first) == from
                    {
                        after.headers.insert([&[number], rest].concat(), *valid);
                    }
                }
            }
        }
        match before.stacks.get(&Vec::new()) {
            Some(next) => {
                let next = (i64::from(*next) + count).clamp(0, i64::from(size));
                after.stacks.insert(Vec::new(), u32::try_from(next).unwrap_or(size));
            }
            None => {
                after.stacks.remove(&Vec::new());
            }
        }
        self.write(slots, stack, after);
    }

    /// Marks the validity of all headers that a call may write as unknown, because the call itself
    /// is not followed.
    pub(super) fn forget_arguments(&mut self, slots: &Slots<'_>, arguments: &[Argument]) {
        for argument in arguments {
            if let Some(place) = written(argument) {
                self.write(slots, place, Known::default());
            }
        }
    }

    /// Copies the arguments of a call into its parameters.
    pub(super) fn enter(&mut self, slots: &Slots<'_>, passed: &[Passed<'_>]) {
        let values: Vec<(Place, Known)> = passed
            .iter()
            .map(|Passed { variable, argument, .. }| {
                let place = Place::variable(*variable);
                let known = match argument.unordered() {
                    Argument::In(value) | Argument::Saved { value, .. } => self.value(slots, value),
                    Argument::InOut(place) => self.read(slots, place),
                    Argument::Out(_) => invalid_variable(slots.program, *variable),
                    _ => Known::default(),
                };
                (place, known)
            })
            .collect();
        for (place, known) in values {
            self.write(slots, &place, known);
        }
    }

    /// Copies the parameters of a call back to its arguments, and discards the variables of the
    /// callee: all that are not among `kept`.
    pub(super) fn leave(
        &mut self,
        slots: &Slots<'_>,
        passed: &[Passed<'_>],
        kept: &BTreeSet<VariableId>,
    ) {
        let mut copied: Vec<(usize, &Place, Known)> = Vec::new();
        for Passed { position, variable, argument } in passed {
            if let Some(place) = written(argument) {
                let known = self.at(slots, &Slot::whole(Root::Variable(*variable)));
                copied.push((argument.rank(*position), place, known));
            }
        }
        self.retain(slots, |root| match root {
            Root::Variable(variable) => kept.contains(&variable),
            Root::Passed(_) => true,
        });
        copied.sort_by_key(|(rank, ..)| *rank);
        for (_, place, known) in copied {
            self.write(slots, place, known);
        }
    }

    /// Copies the values that the architecture passes into the parameters of one of its blocks. A
    /// parser begins a new packet, whose values other than those of `out` parameters are unknown.
    pub(super) fn enter_block(
        &mut self,
        slots: &Slots<'_>,
        parameters: &[Parameter],
        is_parser: bool,
    ) {
        if is_parser {
            *self = Self::default();
        }
        for parameter in parameters {
            let known = match parameter.direction {
                Direction::Out => invalid(slots.program, parameter.type_id),
                Direction::In | Direction::InOut => {
                    self.at(slots, &Slot::whole(Root::Passed(parameter.type_id)))
                }
            };
            self.write(slots, &Place::variable(parameter.variable), known);
        }
    }

    /// Copies the parameters of one of the architecture's blocks to the values that it passes on,
    /// and discards the variables of the block.
    pub(super) fn leave_block(&mut self, slots: &Slots<'_>, parameters: &[Parameter]) {
        for parameter in parameters {
            if parameter.direction == Direction::In {
                continue;
            }
            // If two parameters have the same type, the type does not identify the value.
            let is_only_one =
                parameters.iter().filter(|other| other.type_id == parameter.type_id).count() == 1;
            let known = if is_only_one {
                self.at(slots, &Slot::whole(Root::Variable(parameter.variable)))
            } else {
                Known::default()
            };
            self.replace(slots, &Slot::whole(Root::Passed(parameter.type_id)), known);
        }
        self.retain(slots, |root| matches!(root, Root::Passed(_)));
    }

    fn retain(&mut self, slots: &Slots<'_>, keeps: impl Fn(Root) -> bool) {
        let keeps = |slot: SlotId| slots.root(slot).is_some_and(&keeps);
        self.headers.retain(keeps);
        self.stacks.retain(|slot, _| keeps(*slot));
    }

    fn locate(&self, slots: &Slots<'_>, place: &Place) -> Location {
        let Some(variable) = slots.program.variables.get(place.variable.index()) else {
            return Location::Nowhere;
        };
        let mut type_id = variable.type_id;
        let mut slot = Slot::whole(Root::Variable(place.variable));
        let mut union = None;
        for step in &place.path {
            let (number, inner) = match (step, slots.program.types.get(type_id)) {
                (Projection::Field(position), Type::Composite(_)) => {
                    let Some(composite) = slots.program.types.composite(type_id) else {
                        return Location::Nowhere;
                    };
                    let Some(field) = composite.fields.get(*position as usize) else {
                        return Location::Nowhere;
                    };
                    union = (composite.kind == CompositeKind::HeaderUnion).then(|| slot.clone());
                    (*position, field.type_id)
                }
                (step, Type::Stack { element, size }) => {
                    union = None;
                    let next = self.stacks.get(&slots.number(&slot)).copied();
                    let index = match step {
                        Projection::Element(index) => match &index.kind {
                            ExpressionKind::Constant(Value::Bits(bits)) => bits.to_u64(),
                            _ => None,
                        },
                        Projection::Next => next.map(u64::from),
                        Projection::Last => next.map(|next| u64::from(next).wrapping_sub(1)),
                        Projection::Field(_) | Projection::Slice { .. } => None,
                    };
                    match index {
                        None => return Location::Somewhere(slot),
                        Some(index) if index >= u64::from(size) => return Location::Nowhere,
                        Some(index) => (u32::try_from(index).unwrap_or(u32::MAX), element),
                    }
                }
                // A slice of a number has no headers.
                _ => return Location::Nowhere,
            };
            slot.steps.push(number);
            type_id = inner;
        }
        Location::At { slot, type_id, union }
    }

    fn at(&self, slots: &Slots<'_>, outer: &Slot) -> Known {
        let headers = self.headers.iter();
        let stacks = self.stacks.iter();
        Known {
            headers: headers
                .filter_map(|(slot, valid)| Some((slots.steps(slot, outer)?, valid)))
                .collect(),
            stacks: stacks
                .filter_map(|(slot, next)| Some((slots.steps(*slot, outer)?, *next)))
                .collect(),
        }
    }

    fn replace(&mut self, slots: &Slots<'_>, outer: &Slot, known: Known) {
        self.headers.retain(|slot| !slots.is_within(slot, outer));
        self.stacks.retain(|slot, _| !slots.is_within(*slot, outer));
        let number = |steps: &[u32]| slots.number(&outer.inner(steps));
        for (steps, valid) in &known.headers {
            self.headers.set(number(steps), Some(*valid));
        }
        self.stacks.extend(known.stacks.iter().map(|(steps, next)| (number(steps), *next)));
    }

    fn read(&self, slots: &Slots<'_>, place: &Place) -> Known {
        match self.locate(slots, place) {
            Location::At { slot, .. } => self.at(slots, &slot),
            Location::Somewhere(_) | Location::Nowhere => Known::default(),
        }
    }

    fn write(&mut self, slots: &Slots<'_>, place: &Place, known: Known) {
        match self.locate(slots, place) {
            Location::At { slot, type_id, union } => {
                let valid = known.headers.get(&Vec::new()).copied();
                let own = slots.number(&slot);
                let composite = slots.program.types.composite(type_id);
                match composite.is_some_and(|one| one.kind == CompositeKind::Header) {
                    // A header contains no other header.
                    true => self.headers.set(own, valid),
                    false => self.replace(slots, &slot, known),
                }
                let Some(union) = union else { return };
                let is_other = |other: SlotId| other != own && slots.is_within(other, &union);
                // A member that becomes valid makes the other members invalid. If it becomes
                // invalid, the others keep their validity.
                match valid {
                    Some(true) => {
                        let others: Vec<SlotId> =
                            self.headers.iter().map(|(slot, _)| slot).collect();
                        for other in others.into_iter().filter(|other| is_other(*other)) {
                            self.headers.set(other, Some(false));
                        }
                    }
                    Some(false) => {}
                    None => self.headers.retain(|other| !is_other(other)),
                }
            }
            Location::Somewhere(stack) => {
                self.headers.retain(|slot| !slots.is_within(slot, &stack));
            }
            Location::Nowhere => {}
        }
    }

    /// Returns the known facts about the headers in a value.
    fn value(&self, slots: &Slots<'_>, value: &Expression) -> Known {
        let is_header = || {
            let composite = slots.program.types.composite(value.type_id);
            composite.is_some_and(|composite| composite.kind == CompositeKind::Header)
        };
        match &value.kind {
            ExpressionKind::Read(place) => self.read(slots, place),
            ExpressionKind::Invalid => invalid(slots.program, value.type_id),
            ExpressionKind::Composite(_) if is_header() => Known::header(true),
            ExpressionKind::Composite(members) => self.members(slots, members),
            ExpressionKind::Stack(members) => {
                let mut known = self.members(slots, members);
                known.stacks.insert(Vec::new(), u32::try_from(members.len()).unwrap_or(u32::MAX));
                known
            }
            ExpressionKind::Conditional { then, otherwise, .. } => {
                let mut known = self.value(slots, then);
                known.join(&self.value(slots, otherwise));
                known
            }
            _ => Known::default(),
        }
    }

    fn members(&self, slots: &Slots<'_>, members: &[Expression]) -> Known {
        let mut known = Known::default();
        for (number, member) in (0..).zip(members) {
            known.add(number, self.value(slots, member));
        }
        known
    }
}

/// Returns the place to which the parameter for an argument is copied back after the call, or
/// `None` for an argument that the call only reads.
fn written(argument: &Argument) -> Option<&Place> {
    match argument.unordered() {
        Argument::Out(place) | Argument::InOut(place) | Argument::Saved { place, .. } => {
            Some(place)
        }
        Argument::In(_)
        | Argument::Ordered { .. }
        | Argument::Extern(_)
        | Argument::Action(_)
        | Argument::Absent => None,
    }
}

/// A component of a value that has a state in addition to its bits: a header (valid or not) or a
/// header stack (its next index).
enum Leaf {
    Header(TypeId),
    Stack,
}

/// Calls `each` for every header and header stack in values of a type, in the order of the fields,
/// with the field numbers that lead to it.
fn leaves(
    program: &Program,
    type_id: TypeId,
    steps: &mut Vec<u32>,
    each: &mut dyn FnMut(&Vec<u32>, Leaf),
) {
    let mut inner = |number: u32, type_id: TypeId, steps: &mut Vec<u32>| {
        steps.push(number);
        leaves(program, type_id, steps, each);
        steps.pop();
    };
    match program.types.get(type_id) {
        Type::Composite(_) => {
            let Some(composite) = program.types.composite(type_id) else { return };
            if composite.kind == CompositeKind::Header {
                each(steps, Leaf::Header(type_id));
            } else {
                for (number, field) in (0..).zip(&composite.fields) {
                    inner(number, field.type_id, steps);
                }
            }
        }
        Type::Stack { element, size } if has_headers(program, element) => {
            (0..size).for_each(|number| inner(number, element, steps));
            each(steps, Leaf::Stack);
        }
        _ => {}
    }
}

/// Returns whether values of a type contain headers.
fn has_headers(program: &Program, type_id: TypeId) -> bool {
    match program.types.get(type_id) {
        Type::Composite(_) => program.types.composite(type_id).is_some_and(|composite| {
            composite.kind == CompositeKind::Header
                || composite.fields.iter().any(|field| has_headers(program, field.type_id))
        }),
        Type::Stack { element, .. } => has_headers(program, element),
        _ => false,
    }
}

/// Returns the facts about a value whose headers are all invalid.
fn invalid(program: &Program, type_id: TypeId) -> Known {
    let mut known = Known::default();
    leaves(program, type_id, &mut Vec::new(), &mut |steps, leaf| match leaf {
        Leaf::Header(_) => {
            known.headers.insert(steps.clone(), false);
        }
        Leaf::Stack => {
            known.stacks.insert(steps.clone(), 0);
        }
    });
    known
}

fn invalid_variable(program: &Program, variable: VariableId) -> Known {
    let variable = program.variables.get(variable.index());
    variable.map_or_else(Known::default, |variable| invalid(program, variable.type_id))
}
