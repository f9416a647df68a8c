//! Terms: expressions over bit-vectors that depend on inputs without a value.
//!
//! A term has a width of up to 65,536 bits and no sign. Operations that P4 defines differently for
//! `int` and `bit` exist in two versions. A condition is a term of one bit. [`Terms`] stores each
//! term once, so equal terms have equal handles. The constructors fold constants, by [`ir::bits`],
//! and simplify; the term that they return need not have the operation that was asked for.
//!
//! As in `ir::bits`, there is a `bit<0>`, whose only value is zero. An operand of the wrong width
//! does not cause an immediate error: it is resized to the width that it should have. Since such an
//! operand is a mistake of the caller, the first one is recorded as a [`Fault`], and a query with
//! terms that have a fault is not answered.

mod arithmetic;
mod bitwise;
mod compare;
mod index;
mod pieces;
mod slices;

use index::Index;
use ir::bits::Bits;
use std::collections::HashMap;

/// The largest width of a term in bits.
pub const MAXIMUM_WIDTH: u32 = 65_536;

/// The largest number of terms that [`Terms::new`] permits.
pub const MAXIMUM_TERMS: usize = 8_000_000;

/// A handle of a term, which is valid for the [`Terms`] that returned it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(u32);

impl Term {
    /// Returns the position of the term among all terms. A term is created after its operands, so
    /// its position is greater than theirs.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The party that determines the value of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// A test chooses the value. Examples are the bits of a packet and the outcome of a lookup.
    Chosen,
    /// The device determines the value, and no test knows it. Examples are uninitialised variables
    /// and random numbers.
    Undefined,
}

/// The identity of an input. Two inputs of the same origin and width are the same term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// The party that determines the input's value.
    pub source: Source,
    /// A number that the caller assigns, and whose meaning only the caller knows.
    pub id: u64,
}

impl Origin {
    /// Returns the origin of an input whose value a test chooses.
    #[must_use]
    pub fn chosen(id: u64) -> Self {
        Self { source: Source::Chosen, id }
    }

    /// Returns the origin of an input whose value is undefined.
    #[must_use]
    pub fn undefined(id: u64) -> Self {
        Self { source: Source::Undefined, id }
    }
}

/// The position of an input among the inputs of its [`Terms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InputId(u32);

impl InputId {
    /// Returns the position as an index of [`Terms::inputs`].
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An input of terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Input {
    /// The identity of the input.
    pub origin: Origin,
    /// The number of bits.
    pub width: u32,
    /// The term that stands for the input.
    pub term: Term,
}

/// The position of a constant among the constants of its [`Terms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConstantId(u32);

/// The outermost operation of a term. [`Terms::width_of`] returns the width of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A constant, whose value [`Terms::constant_of`] returns.
    Constant(ConstantId),
    /// An input.
    Input(InputId),
    /// The complement of all bits.
    Not(Term),
    /// Bitwise conjunction.
    And(Term, Term),
    /// Bitwise disjunction.
    Or(Term, Term),
    /// Bitwise exclusive or.
    Xor(Term, Term),
    /// The sum modulo 2^W.
    Add(Term, Term),
    /// The difference modulo 2^W.
    Subtract(Term, Term),
    /// The product modulo 2^W.
    Multiply(Term, Term),
    /// The quotient of unsigned numbers; all ones if the divisor is zero.
    Divide(Term, Term),
    /// The remainder of unsigned numbers; the dividend if the divisor is zero.
    Remainder(Term, Term),
    /// A shift to the left by an unsigned number of any width.
    ShiftLeft(Term, Term),
    /// A shift to the right that inserts zeros, by an unsigned number of any width.
    ShiftRight(Term, Term),
    /// A shift to the right that repeats the sign bit, by an unsigned number of any width.
    ShiftRightSigned(Term, Term),
    /// A concatenation: the first operand in the high bits, and the second in the low bits.
    Concatenate(Term, Term),
    /// A slice: the bits of `of` from `low` on. Their number is the width of the result.
    Extract {
        /// The operand.
        of: Term,
        /// The position in `of` of the result's least significant bit.
        low: u32,
    },
    /// A sign extension: the operand, with its sign bit repeated above.
    SignExtend(Term),
    /// A choice: `then` if the condition holds, else `otherwise`.
    IfThenElse {
        /// The condition, of one bit.
        condition: Term,
        /// The result if the condition is one.
        then: Term,
        /// The result if the condition is zero.
        otherwise: Term,
    },
    /// Whether the operands are equal, as a condition.
    Equal(Term, Term),
    /// Whether the first operand is less than the second as an unsigned number, as a condition.
    Less(Term, Term),
}

impl Operation {
    /// Returns the operands of the operation, in the order in which the variant lists them.
    pub fn operands(self) -> impl Iterator<Item = Term> {
        let (first, second, third) = match self {
            Self::Constant(_) | Self::Input(_) => (None, None, None),
            Self::Not(only) | Self::SignExtend(only) | Self::Extract { of: only, low: _ } => {
                (Some(only), None, None)
            }
            Self::And(left, right)
            | Self::Or(left, right)
            | Self::Xor(left, right)
            | Self::Add(left, right)
            | Self::Subtract(left, right)
            | Self::Multiply(left, right)
            | Self::Divide(left, right)
            | Self::Remainder(left, right)
            | Self::ShiftLeft(left, right)
            | Self::ShiftRight(left, right)
            | Self::ShiftRightSigned(left, right)
            | Self::Concatenate(left, right)
            | Self::Equal(left, right)
            | Self::Less(left, right) => (Some(left), Some(right), None),
            Self::IfThenElse { condition, then, otherwise } => {
                (Some(condition), Some(then), Some(otherwise))
            }
        };
        [first, second, third].into_iter().flatten()
    }
}

/// A term as it is stored: the operation and the width of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Node {
    operation: Operation,
    width: u32,
}

/// A mistake of the caller in the construction of a term.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Operands that must have the same width have different ones.
    #[error("a term combines operands of {left} and {right} bits")]
    Widths {
        /// The width of the left operand.
        left: u32,
        /// The width of the right operand.
        right: u32,
    },
    /// A term would have more bits than permitted.
    #[error("a term has {width} bits, more than the {MAXIMUM_WIDTH} of the largest term")]
    TooWide {
        /// The width that the caller asked for.
        width: u64,
    },
    /// A slice is outside of its operand.
    #[error("bits {high} to {low} are taken from a term of {width} bits")]
    Slice {
        /// The most significant bit.
        high: u32,
        /// The least significant bit.
        low: u32,
        /// The width of the operand.
        width: u32,
    },
    /// An extension is narrower than its operand.
    #[error("a term of {from} bits is extended to {to} bits")]
    Extension {
        /// The width of the operand.
        from: u32,
        /// The width that the caller asked for.
        to: u32,
    },
    /// There would be more terms than the limit permits.
    #[error("the program has more than {limit} terms, which is the limit")]
    TooMany {
        /// The limit.
        limit: usize,
    },
}

/// All terms of an execution, each stored once.
#[derive(Clone, Debug)]
pub struct Terms {
    nodes: Vec<Node>,
    index: Index,
    constants: Vec<Bits>,
    constant_terms: HashMap<Bits, Term>,
    inputs: Vec<Input>,
    input_terms: HashMap<(Origin, u32), Term>,
    limit: usize,
    fault: Option<Fault>,
}

impl Default for Terms {
    fn default() -> Self {
        Self::new()
    }
}

/// Functions that create inputs and constants, and that describe terms.
impl Terms {
    /// Returns an empty set of terms, with a limit of [`MAXIMUM_TERMS`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(MAXIMUM_TERMS)
    }

    /// Returns an empty set of terms. Creating more terms than `limit` is recorded as a [`Fault`].
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            nodes: Vec::new(),
            index: Index::default(),
            constants: Vec::new(),
            constant_terms: HashMap::new(),
            inputs: Vec::new(),
            input_terms: HashMap::new(),
            limit,
            fault: None,
        }
    }

    /// Returns the number of terms.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether there are no terms.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns whether all terms were constructed correctly.
    ///
    /// # Errors
    ///
    /// Returns the first mistake in the construction of a term, if there was one.
    pub fn check(&self) -> Result<(), Fault> {
        self.fault.clone().map_or(Ok(()), Err)
    }

    /// Returns the input with this origin and width. If the width is 0, returns the constant zero.
    pub fn input(&mut self, origin: Origin, width: u32) -> Term {
        let width = self.permitted(u64::from(width));
        if width == 0 {
            return self.zero(0);
        }
        if let Some(term) = self.input_terms.get(&(origin, width)) {
            return *term;
        }
        let id = InputId(u32::try_from(self.inputs.len()).unwrap_or(u32::MAX));
        let term = self.intern(Operation::Input(id), width);
        self.inputs.push(Input { origin, width, term });
        self.input_terms.insert((origin, width), term);
        term
    }

    /// Returns all inputs, in the order of their creation.
    #[must_use]
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// Returns the inputs whose values a test chooses.
    pub fn chosen_inputs(&self) -> impl Iterator<Item = InputId> + '_ {
        let chosen = self.inputs.iter().filter(|input| input.origin.source == Source::Chosen);
        chosen.filter_map(|input| match self.operation(input.term) {
            Operation::Input(id) => Some(id),
            _ => None,
        })
    }

    /// Returns the input with this position.
    #[must_use]
    pub fn input_of(&self, id: InputId) -> Input {
        self.inputs[id.index()]
    }

    /// Returns a constant. The sign of the value is ignored.
    pub fn constant(&mut self, value: &Bits) -> Term {
        let width = self.permitted(u64::from(value.width()));
        self.literal(value.cast(width, false))
    }

    /// Returns `value` modulo 2^`width` as a constant.
    pub fn number(&mut self, width: u32, value: u128) -> Term {
        let width = self.permitted(u64::from(width));
        self.literal(Bits::unsigned(width, value))
    }

    /// Returns the constant zero.
    pub fn zero(&mut self, width: u32) -> Term {
        self.number(width, 0)
    }

    /// Returns the constant whose bits are all one.
    pub fn ones(&mut self, width: u32) -> Term {
        let width = self.permitted(u64::from(width));
        self.literal(Bits::ones(width, false))
    }

    /// Returns the condition that always holds (`true`) or never does (`false`).
    pub fn truth(&mut self, value: bool) -> Term {
        self.number(1, u128::from(value))
    }

    /// Returns the outermost operation of a term.
    #[must_use]
    pub fn operation(&self, term: Term) -> Operation {
        self.nodes[term.index()].operation
    }

    /// Returns the number of bits of a term.
    #[must_use]
    pub fn width_of(&self, term: Term) -> u32 {
        self.nodes[term.index()].width
    }

    /// Returns the value of the constant with this position.
    #[must_use]
    pub fn constant_value(&self, id: ConstantId) -> &Bits {
        &self.constants[id.0 as usize]
    }

    /// Returns the value of a constant, or `None` if the term is not a constant.
    #[must_use]
    pub fn constant_of(&self, term: Term) -> Option<&Bits> {
        match self.operation(term) {
            Operation::Constant(id) => self.constants.get(id.0 as usize),
            _ => None,
        }
    }

    /// Returns whether a constant condition holds, or `None` if the term is not a constant.
    #[must_use]
    pub fn truth_of(&self, term: Term) -> Option<bool> {
        self.constant_of(term).map(|value| !value.is_zero())
    }

    /// Returns the operands of a term, in the order in which its operation lists them.
    pub fn operands(&self, term: Term) -> impl Iterator<Item = Term> + use<> {
        self.operation(term).operands()
    }

    /// Returns the inputs on which these terms depend, in the order of their creation.
    #[must_use]
    pub fn inputs_below(&self, roots: &[Term]) -> Vec<InputId> {
        let mut inputs = Vec::new();
        self.visit(roots, |_, operation| {
            if let Operation::Input(id) = operation {
                inputs.push(id);
            }
        });
        inputs.sort_unstable();
        inputs
    }

    /// Visits `roots` and all terms below them, each once, in no particular order.
    pub fn visit(&self, roots: &[Term], mut visit: impl FnMut(Term, Operation)) {
        let mut seen = std::collections::HashSet::new();
        let mut open: Vec<Term> = roots.to_vec();
        while let Some(term) = open.pop() {
            if seen.insert(term) {
                let operation = self.operation(term);
                visit(term, operation);
                open.extend(operation.operands());
            }
        }
    }
}

/// The steps that all constructors share.
impl Terms {
    /// Returns the term with this operation and width. Creates it if there is none yet.
    fn intern(&mut self, operation: Operation, width: u32) -> Term {
        let node = Node { operation, width };
        let nodes = &self.nodes;
        if let Some(found) = self.index.find(&node, |position| nodes[position as usize]) {
            return Term(found);
        }
        if self.nodes.len() >= self.limit {
            self.report(Fault::TooMany { limit: self.limit });
        }
        let position = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        self.nodes.push(node);
        let nodes = &self.nodes;
        self.index.insert(position, |position| nodes[position as usize]);
        Term(position)
    }

    /// Returns a constant. Its value must be unsigned, and not wider than a term may be.
    fn literal(&mut self, value: Bits) -> Term {
        if let Some(term) = self.constant_terms.get(&value) {
            return *term;
        }
        let id = ConstantId(u32::try_from(self.constants.len()).unwrap_or(u32::MAX));
        let term = self.intern(Operation::Constant(id), value.width());
        self.constants.push(value.clone());
        self.constant_terms.insert(value, term);
        term
    }

    /// Records a mistake of the caller, if it is the first one.
    fn report(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }

    /// Returns `width` if a term may have it. Otherwise, records a mistake of the caller and
    /// returns the largest permitted width.
    fn permitted(&mut self, width: u64) -> u32 {
        match u32::try_from(width) {
            Ok(width) if width <= MAXIMUM_WIDTH => width,
            _ => {
                self.report(Fault::TooWide { width });
                MAXIMUM_WIDTH
            }
        }
    }

    /// Returns `right`, resized to the width of `left`. If the widths differ, records a mistake of
    /// the caller.
    fn matched(&mut self, left: Term, right: Term) -> Term {
        let (wanted, width) = (self.width_of(left), self.width_of(right));
        if wanted == width {
            return right;
        }
        self.report(Fault::Widths { left: wanted, right: width });
        self.resize(right, wanted)
    }

    /// Returns a condition, resized to one bit. If it had another width, records a mistake of the
    /// caller.
    fn condition(&mut self, term: Term) -> Term {
        let width = self.width_of(term);
        if width == 1 {
            return term;
        }
        self.report(Fault::Widths { left: 1, right: width });
        self.resize(term, 1)
    }

    /// Returns the values of two terms if both are constants.
    fn constants_of(&self, left: Term, right: Term) -> Option<(Bits, Bits)> {
        Some((self.constant_of(left)?.clone(), self.constant_of(right)?.clone()))
    }

    fn is_zero(&self, term: Term) -> bool {
        self.constant_of(term).is_some_and(Bits::is_zero)
    }

    fn is_ones(&self, term: Term) -> bool {
        self.constant_of(term).is_some_and(|value| value.complement().is_zero())
    }
}
