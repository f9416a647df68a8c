//! Routes through a parser: the bit values of a packet for which the parser extracts a certain list
//! of headers.
//!
//! The parser states are executed symbolically. A known value is a constant or a range of packet
//! bits. All other values are unknown, and a `select` on an unknown value may take any branch. A
//! route is therefore only a proposal, whose quality shows when its packets are run.

use ir::bits::Bits;
use ir::{
    Argument, Block, CompositeId, Expression, ExpressionKind, KeySet, PackageValue, Parser,
    ParserId, Place, Program, Projection, SelectCase, StatementKind, Target, Transition, Type,
    TypeId, Value, VariableId,
};
use std::collections::HashMap;

/// The largest number of routes through a parser that are collected. Parsers with loops have
/// infinitely many.
const MAX_ROUTES: usize = 512;
/// The largest number of times that a route may enter one parser state.
const MAX_VISITS: u32 = 3;
/// The largest number of packet bits (64 KiB) with which a route is continued into a further parser
/// state.
const MAX_BITS: u64 = 8 * 65_535;

/// A route from the start of the first parser to `accept`: the bits that a packet must have to take
/// it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Route {
    /// The number of packet bits that the parser reads on this route.
    pub(crate) bits: u64,
    /// The headers that the parser extracts, in order. Each is given by its type and its offset in
    /// the packet in bits.
    pub(crate) headers: Vec<(CompositeId, u64)>,
    /// The packet bits on which the route depends, with their required values.
    pub(crate) fixed: Vec<Fixed>,
}

/// A range of packet bits that must have a certain value on a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fixed {
    /// The offset of the range from the start of the packet, in bits.
    pub(crate) offset: u64,
    pub(crate) value: Bits,
    /// The bits of the range that must equal those of `value`. Others may have any value.
    pub(crate) mask: Bits,
}

/// Returns the routes through the program's first parser. Those that extract most headers come
/// first.
pub(crate) fn routes(program: &Program) -> Vec<Route> {
    let walker = Walker { program };
    let Some(parser) = first_parser(&program.main.arguments) else { return Vec::new() };
    let mut found: Vec<Route> =
        walker.parser(parser, Walk::default()).into_iter().map(|walk| walk.route).collect();
    found.sort_by_key(|route| std::cmp::Reverse(route.headers.len()));
    found
}

fn first_parser(arguments: &[ir::PackageArgument]) -> Option<ParserId> {
    arguments.iter().find_map(|argument| match &argument.value {
        PackageValue::Parser(parser) => Some(*parser),
        PackageValue::Package(package) => first_parser(&package.arguments),
        _ => None,
    })
}

/// The name of a stored value. It consists of the variable that contains the value, and the numbers
/// of the fields and stack elements that lead to the value.
type Key = (VariableId, Vec<u32>);

/// A value that the symbolic execution knows: a constant, or a copy of packet bits.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Known {
    Constant(Bits),
    /// The value equals `width` packet bits starting at `offset`.
    Packet {
        offset: u64,
        width: u32,
    },
}

/// The state of a parser's symbolic execution along one route.
#[derive(Clone, Debug, Default)]
struct Walk {
    route: Route,
    /// The number of packet bits that have been extracted or skipped.
    cursor: u64,
    known: HashMap<Key, Known>,
    /// The number of elements that have been extracted into each header stack.
    elements: HashMap<Key, u32>,
    visits: HashMap<(ParserId, u32), u32>,
}

/// A symbolic execution of a program's parsers.
struct Walker<'p> {
    program: &'p Program,
}

impl Walker<'_> {
    fn parser(&self, id: ParserId, walk: Walk) -> Vec<Walk> {
        let Some(parser) = self.program.parsers.get(id.index()) else { return Vec::new() };
        let mut accepted = Vec::new();
        let mut open: Vec<(Target, Walk)> = self
            .block(&parser.prologue, walk)
            .into_iter()
            .map(|w| (Target::State(parser.start), w))
            .collect();
        while let Some((target, mut walk)) = open.pop() {
            if accepted.len() + open.len() >= MAX_ROUTES {
                break;
            }
            match target {
                Target::Accept => accepted.push(walk),
                Target::Reject => {}
                Target::State(state) => {
                    let visits = walk.visits.entry((id, state.0)).or_default();
                    *visits += 1;
                    if *visits <= MAX_VISITS && walk.cursor <= MAX_BITS {
                        open.extend(self.state(parser, state.index(), walk));
                    }
                }
            }
        }
        accepted
    }

    fn state(&self, parser: &Parser, state: usize, walk: Walk) -> Vec<(Target, Walk)> {
        let Some(state) = parser.states.get(state) else { return Vec::new() };
        let walks = self.block(&state.body, walk);
        match &state.transition {
            Transition::Direct(target) => walks.into_iter().map(|walk| (*target, walk)).collect(),
            Transition::Select { subjects, cases } => {
                walks.into_iter().flat_map(|walk| self.select(subjects, cases, &walk)).collect()
            }
        }
    }

    /// Returns the continuations after a `select`: for each case that some packet can match, its
    /// next state and a copy of `walk` that requires the bits of such a packet.
    fn select(
        &self,
        subjects: &[Expression],
        cases: &[SelectCase],
        walk: &Walk,
    ) -> Vec<(Target, Walk)> {
        let subjects: Vec<Option<Known>> =
            subjects.iter().map(|subject| self.evaluate(subject, walk)).collect();
        let mut ways = Vec::new();
        for (position, case) in cases.iter().enumerate() {
            let mut taken = walk.clone();
            if !self.fits(&subjects, case, &mut taken) {
                continue;
            }
            let earlier = cases.get(..position).unwrap_or_default();
            if self.misses_all(&subjects, earlier, &mut taken) {
                ways.push((case.target, taken));
            }
        }
        ways
    }

    /// Restricts the packet bits of `walk` to values with which a `select` case matches. Returns
    /// false if no packet on this route can match the case.
    fn fits(&self, subjects: &[Option<Known>], case: &SelectCase, walk: &mut Walk) -> bool {
        // A single value set may stand for all subjects. It is empty until the control plane fills
        // it.
        case.key_sets.iter().zip(subjects).all(|(set, subject)| {
            let (value, mask) = match set {
                KeySet::Any => return true,
                KeySet::ValueSet(_) => return false,
                KeySet::Exact(value) => (self.constant(value, walk), None),
                KeySet::Mask { value, mask } => {
                    (self.constant(value, walk), self.constant(mask, walk))
                }
                KeySet::Range { low, .. } => (self.constant(low, walk), None),
            };
            let Some(value) = value else { return true };
            match subject {
                None => true,
                Some(Known::Constant(known)) => {
                    let mask = mask.unwrap_or_else(|| Bits::ones(known.width(), false));
                    known.matches_under(&value.bit_and(&mask), &mask)
                }
                Some(Known::Packet { offset, width }) => {
                    let mask = mask.unwrap_or_else(|| Bits::ones(*width, false));
                    walk.route.fix(*offset, value.cast(*width, false), mask.cast(*width, false))
                }
            }
        })
    }

    /// Restricts the packet bits of `walk` to values with which none of the `earlier` cases of a
    /// `select` matches. Returns false if that is impossible.
    fn misses_all(
        &self,
        subjects: &[Option<Known>],
        earlier: &[SelectCase],
        walk: &mut Walk,
    ) -> bool {
        // The values that the packet must not have, for each range of packet bits (offset and
        // width).
        let mut avoided: HashMap<(u64, u32), Vec<Bits>> = HashMap::new();
        for case in earlier {
            let mut decided = false;
            let mut candidate = None;
            for (set, subject) in case.key_sets.iter().zip(subjects) {
                match (set, subject) {
                    (KeySet::Exact(value), Some(Known::Packet { offset, width })) => {
                        let Some(value) = self.constant(value, walk) else { continue };
                        let value = value.cast(*width, false);
                        match walk.route.certain(*offset, *width) {
                            Some(found) if found.compare(&value).is_ne() => decided = true,
                            Some(_) => {}
                            None => candidate = Some(((*offset, *width), value)),
                        }
                    }
                    (KeySet::Exact(value), Some(Known::Constant(known))) => {
                        let value = self.constant(value, walk);
                        decided |= value.is_some_and(|value| known.compare(&value).is_ne());
                    }
                    (KeySet::ValueSet(_), _) => decided = true,
                    _ => {}
                }
            }
            match candidate {
                _ if decided => {}
                Some((place, value)) => avoided.entry(place).or_default().push(value),
                // Masks and ranges are not avoided, so packets may match an earlier case with one.
                None if case
                    .key_sets
                    .iter()
                    .all(|set| matches!(set, KeySet::Any | KeySet::Exact(_))) =>
                {
                    return false;
                }
                None => {}
            }
        }
        avoided.into_iter().all(|((offset, width), values)| {
            // The largest value that no earlier case names is chosen, because protocols use small
            // values.
            let mut free = Bits::ones(width, false);
            for _ in 0..=values.len() {
                if values.iter().all(|value| value.compare(&free).is_ne()) {
                    return walk.route.fix(offset, free, Bits::ones(width, false));
                }
                free = free.wrapping_sub(&Bits::unsigned(width, 1));
            }
            false
        })
    }

    fn block(&self, block: &Block, walk: Walk) -> Vec<Walk> {
        let mut walks = vec![walk];
        for statement in block {
            walks =
                walks.into_iter().flat_map(|walk| self.statement(&statement.kind, walk)).collect();
            walks.truncate(MAX_ROUTES);
        }
        walks
    }

    fn statement(&self, statement: &StatementKind, mut walk: Walk) -> Vec<Walk> {
        match statement {
            StatementKind::Extract { header, header_type, .. } => {
                self.extract(header.as_ref(), *header_type, &mut walk);
            }
            StatementKind::Lookahead { result, type_id } => {
                let begin = walk.cursor;
                if let Some(key) = self.key(result, &walk) {
                    self.read_from(&key, *type_id, begin, &mut walk);
                }
                let width = self.program.types.width_in_bits(*type_id).unwrap_or(0);
                walk.route.bits = walk.route.bits.max(begin.saturating_add(width));
            }
            StatementKind::Advance(amount) => {
                let amount = self.constant(amount, &walk).and_then(|amount| amount.to_u64());
                walk.cursor = walk.cursor.saturating_add(amount.unwrap_or(0));
                walk.route.bits = walk.route.bits.max(walk.cursor);
            }
            StatementKind::Assign { place, value } => self.assign(place, value, &mut walk),
            StatementKind::Reset(place) => {
                if let Some(key) = self.key(place, &walk) {
                    walk.forget(&key);
                }
            }
            StatementKind::If { condition, then, otherwise } => {
                return match self.constant(condition, &walk) {
                    Some(condition) if condition.is_zero() => self.block(otherwise, walk),
                    Some(_) => self.block(then, walk),
                    None => {
                        let mut ways = self.block(then, walk.clone());
                        ways.extend(self.block(otherwise, walk));
                        ways
                    }
                };
            }
            StatementKind::CallParser { parser, arguments } => {
                return self.call(*parser, arguments, walk);
            }
            _ => {}
        }
        vec![walk]
    }

    fn extract(&self, header: Option<&Place>, type_id: TypeId, walk: &mut Walk) {
        let Some(Type::Composite(composite)) = self.program.types.find(type_id) else { return };
        walk.route.headers.push((composite, walk.cursor));
        let begin = walk.cursor;
        // A `varbit` field has length zero: the shortest header.
        let width = self.program.types.width_in_bits(type_id).unwrap_or_else(|| {
            let fields = self.program.types.composites.get(composite.index());
            let widths = fields.into_iter().flat_map(|composite| &composite.fields);
            widths.filter_map(|field| self.program.types.width_in_bits(field.type_id)).sum()
        });
        let key = header.and_then(|header| self.key(header, walk));
        if let Some(place) = header
            && matches!(place.path.last(), Some(Projection::Next))
            && let Some(stack) = self.prefix(place, place.path.len() - 1, walk)
        {
            *walk.elements.entry(stack).or_default() += 1;
        }
        if let Some(key) = key {
            self.read_from(&key, type_id, begin, walk);
        }
        walk.cursor = walk.cursor.saturating_add(width);
        walk.route.bits = walk.route.bits.max(walk.cursor);
    }

    /// Records that the variable `key` now holds the packet bits starting at bit `begin`. For a
    /// header or struct, each field is recorded with its own bits, one field after the other.
    fn read_from(&self, key: &Key, type_id: TypeId, begin: u64, walk: &mut Walk) {
        walk.forget(key);
        let mut offset = begin;
        match self.program.types.find(type_id) {
            Some(Type::Composite(composite)) => {
                let Some(composite) = self.program.types.composites.get(composite.index()) else {
                    return;
                };
                for (position, field) in composite.fields.iter().enumerate() {
                    let Some(width) = self.program.types.width_in_bits(field.type_id) else {
                        continue;
                    };
                    let mut inner = key.clone();
                    inner.1.push(position as u32);
                    self.read_from(&inner, field.type_id, offset, walk);
                    offset += width;
                }
            }
            Some(Type::Bits { width, .. }) => {
                walk.known.insert(key.clone(), Known::Packet { offset, width });
            }
            _ => {}
        }
        walk.route.bits = walk.route.bits.max(offset);
    }

    fn assign(&self, place: &Place, value: &Expression, walk: &mut Walk) {
        let Some(key) = self.key(place, walk) else { return };
        let known = self.evaluate(value, walk);
        walk.forget(&key);
        match (known, &value.kind) {
            (Some(known), _) => {
                walk.known.insert(key, known);
            }
            (None, ExpressionKind::Read(source)) => {
                if let Some(source) = self.key(source, walk) {
                    walk.copy(&source, &key);
                }
            }
            _ => {}
        }
    }

    /// Executes a call of a parser symbolically. Returns the walks that reach its end.
    fn call(&self, id: ParserId, arguments: &[Argument], mut walk: Walk) -> Vec<Walk> {
        let Some(parser) = self.program.parsers.get(id.index()) else { return Vec::new() };
        for (parameter, argument) in parser.parameters.iter().zip(arguments) {
            let inside = (parameter.variable, Vec::new());
            walk.forget(&inside);
            match argument.unordered() {
                Argument::In(value) | Argument::Saved { value, .. } => {
                    let place = Place::variable(parameter.variable);
                    self.assign(&place, value, &mut walk);
                }
                Argument::InOut(place) => {
                    if let Some(outside) = self.key(place, &walk) {
                        walk.copy(&outside, &inside);
                    }
                }
                _ => {}
            }
        }
        let mut done = self.parser(id, walk);
        let mut copied: Vec<(usize, (&ir::Parameter, &Argument))> =
            parser.parameters.iter().zip(arguments).enumerate().collect();
        copied.sort_by_key(|(position, (_, argument))| argument.rank(*position));
        for walk in &mut done {
            for (_, (parameter, argument)) in &copied {
                if let Argument::Out(place) | Argument::InOut(place) | Argument::Saved { place, .. } =
                    argument.unordered()
                    && let Some(outside) = self.key(place, walk)
                {
                    walk.forget(&outside);
                    walk.copy(&(parameter.variable, Vec::new()), &outside);
                }
            }
        }
        done
    }

    fn constant(&self, expression: &Expression, walk: &Walk) -> Option<Bits> {
        match self.evaluate(expression, walk)? {
            Known::Constant(value) => Some(value),
            Known::Packet { .. } => None,
        }
    }

    /// Evaluates an expression as far as it is known.
    fn evaluate(&self, expression: &Expression, walk: &Walk) -> Option<Known> {
        match &expression.kind {
            ExpressionKind::Constant(Value::Bits(bits)) => Some(Known::Constant(bits.clone())),
            ExpressionKind::Constant(Value::Bool(value)) => {
                Some(Known::Constant(Bits::from_bool(*value)))
            }
            ExpressionKind::Read(place) => walk.known.get(&self.key(place, walk)?).cloned(),
            ExpressionKind::Slice { operand, high, low } => match self.evaluate(operand, walk)? {
                Known::Constant(value) => Some(Known::Constant(value.slice(*high, *low))),
                Known::Packet { offset, width } => Some(Known::Packet {
                    offset: offset + u64::from(width.checked_sub(high + 1)?),
                    width: high - low + 1,
                }),
            },
            ExpressionKind::Cast(operand) => {
                let Some(Type::Bits { width, .. }) = self.program.types.find(expression.type_id)
                else {
                    return self.evaluate(operand, walk);
                };
                match self.evaluate(operand, walk)? {
                    Known::Constant(value) => Some(Known::Constant(value.cast(width, false))),
                    // A widening cast prepends zeros. No case names a value that large, so the
                    // narrow value suffices.
                    Known::Packet { offset, width: found } if width >= found => {
                        Some(Known::Packet { offset, width: found })
                    }
                    Known::Packet { offset, width: found } => {
                        Some(Known::Packet { offset: offset + u64::from(found - width), width })
                    }
                }
            }
            _ => None,
        }
    }

    fn key(&self, place: &Place, walk: &Walk) -> Option<Key> {
        self.prefix(place, place.path.len(), walk)
    }

    /// Returns the key (variable, fields and stack elements) of the value to which the first
    /// `steps` steps of a place lead. Returns `None` for a bit slice, or if the index of a stack
    /// element is not known.
    fn prefix(&self, place: &Place, steps: usize, walk: &Walk) -> Option<Key> {
        let mut key = (place.variable, Vec::with_capacity(steps));
        for step in place.path.get(..steps)? {
            let number = match step {
                Projection::Field(position) => *position,
                Projection::Element(index) => {
                    u32::try_from(self.constant(index, walk)?.to_u64()?).ok()?
                }
                Projection::Next => walk.elements.get(&key).copied().unwrap_or(0),
                Projection::Last => walk.elements.get(&key)?.checked_sub(1)?,
                Projection::Slice { .. } => return None,
            };
            key.1.push(number);
        }
        Some(key)
    }
}

impl Walk {
    /// Discards what is known about a variable or a part of it, including all its fields.
    fn forget(&mut self, at: &Key) {
        self.known.retain(|key, _| !within(key, at));
        self.elements.retain(|key, _| !within(key, at));
    }

    fn copy(&mut self, from: &Key, to: &Key) {
        let moved = |key: &Key| {
            let rest = key.1.get(from.1.len()..).unwrap_or_default();
            (to.0, to.1.iter().chain(rest).copied().collect())
        };
        let inside = |key: &&Key| within(key, from);
        let known: Vec<(Key, Known)> = self
            .known
            .iter()
            .filter(|(key, _)| inside(key))
            .map(|(key, known)| (moved(key), known.clone()))
            .collect();
        let elements: Vec<(Key, u32)> = self
            .elements
            .iter()
            .filter(|(key, _)| inside(key))
            .map(|(key, count)| (moved(key), *count))
            .collect();
        self.known.extend(known);
        self.elements.extend(elements);
    }
}

fn within(key: &Key, outer: &Key) -> bool {
    key.0 == outer.0 && key.1.starts_with(&outer.1)
}

impl Route {
    /// Restricts the packet bits from `offset` on: those where `mask` is one must equal `value`.
    /// Returns false if the route already requires another value there.
    fn fix(&mut self, offset: u64, value: Bits, mask: Bits) -> bool {
        let width = value.width();
        let agrees = |position: u32| {
            let at = offset + u64::from(width - 1 - position);
            !mask.bit(position) || self.bit(at).is_none_or(|found| found == value.bit(position))
        };
        if !(0..width).all(agrees) {
            return false;
        }
        self.bits = self.bits.max(offset + u64::from(width));
        self.fixed.push(Fixed { offset, value, mask });
        true
    }

    /// Returns the value that the route requires of one packet bit, or `None` if the bit is free.
    fn bit(&self, at: u64) -> Option<bool> {
        self.fixed.iter().find_map(|fixed| {
            let inside = u32::try_from(at.checked_sub(fixed.offset)?).ok()?;
            let position = fixed.value.width().checked_sub(inside + 1)?;
            fixed.mask.bit(position).then(|| fixed.value.bit(position))
        })
    }

    /// Returns the value that the route requires of a range of packet bits, or `None` if any of
    /// them is free.
    fn certain(&self, offset: u64, width: u32) -> Option<Bits> {
        let bits = (0..width).map(|position| self.bit(offset + u64::from(position)));
        let mut value = Bits::zero(width, false);
        for (position, bit) in bits.enumerate() {
            let low = width - 1 - position as u32;
            value = value.with_slice(low, low, &Bits::from_bool(bit?));
        }
        Some(value)
    }
}
