//! Checks the types in a constraint (p4-constraints, language specification, "Accessing the fields
//! of a key" and "Attribute access"), and translates the constraint to the form in which it is
//! evaluated.
//!
//! An `int` operand is converted to `bit<W>` if the other operand has this type. If the other
//! operand is a whole key, that is a key without `::` and a field name, the number stands for the
//! match of exactly this number. There are no other conversions.

use std::ops::Range;

use num_bigint::{BigInt, Sign};
use num_traits::{One, ToPrimitive};

use crate::bits;
use crate::compiled::{Bits, Constraint, Integer, Node, NodeForm, Part, constant, parts, width};
use crate::entry::{Key, KeyType, Kind, NamedNumber, Subject};
use crate::parser::{Comparison, Expression, Form, parse};
use crate::problem::{Compiled, Problem};

/// The largest width in bits of a key that a constraint may mention. It limits the memory that
/// masks take.
const WIDEST: u32 = 1 << 16;
/// The largest number of known names that the note of an error lists.
const MAX_NAMES: usize = 12;

impl Constraint {
    /// Checks the text of a constraint on `subject` and translates it.
    ///
    /// # Errors
    /// Returns the first error in the text: a syntax error, a name that `subject` does not have, or
    /// a type error.
    pub fn compile(text: &str, subject: Subject<'_>) -> Result<Compiled, Problem> {
        let keys = subject.keys();
        let mut checker =
            Checker { subject, keys, mentioned: vec![false; keys.len()], warnings: Vec::new() };
        let root = match parse(text)? {
            Some(expression) => checker.condition(&expression)?,
            None => {
                checker.warnings.push(Problem::new(0..text.len(), "the constraint is empty"));
                Node::new(0..0, NodeForm::All(Vec::new()))
            }
        };
        let ones = keys.iter().zip(&checker.mentioned).map(|(key, mentioned)| {
            if *mentioned { bits::bytes(&bits::ones(width(key))) } else { Box::default() }
        });
        let (ones, keys, text) = (ones.collect(), keys.into(), text.to_owned());
        let constraint = Self { text, keys, ones, root };
        Ok(Compiled { constraint, warnings: checker.warnings })
    }
}

impl Constraint {
    /// Compiles several constraints on the same subject into a single one that requires all of
    /// them.
    ///
    /// # Errors
    /// Returns the first error, with the position in `texts` of the text that contains it.
    pub fn all_of<T: AsRef<str>>(
        texts: &[T],
        subject: Subject<'_>,
    ) -> Result<Self, (usize, Problem)> {
        let compile = |(position, text): (usize, &T)| {
            let compiled = Self::compile(text.as_ref(), subject);
            compiled.map(|compiled| compiled.constraint).map_err(|problem| (position, problem))
        };
        let each: Vec<Self> = texts.iter().enumerate().map(compile).collect::<Result<_, _>>()?;
        if let [_] = each.as_slice()
            && let Some(only) = each.into_iter().next()
        {
            return Ok(only);
        }
        // The texts are joined with line breaks, because a comment at the end of a text would
        // otherwise continue into the next one.
        let parts = texts.iter().map(AsRef::as_ref).filter(|text| !is_empty(text));
        let joined: String = parts.map(|text| format!("({text}\n);\n")).collect();
        Self::compile(&joined, subject)
            .map(|compiled| compiled.constraint)
            .map_err(|problem| (0, problem))
    }
}

/// Returns whether a text contains no expression.
fn is_empty(text: &str) -> bool {
    matches!(parse(text), Ok(None))
}

/// An operand of a comparison, with the range of bytes that it takes in the text.
struct Operand<'e> {
    value: Typed,
    range: &'e Range<usize>,
}

/// An operand after its type was determined.
enum Typed {
    Bool(Node),
    /// A constant integer, of any size.
    Constant(BigInt),
    Integer(Integer),
    Bits(Bits, u32),
    /// A key that is compared as a whole, such as value and mask together: its position, match kind
    /// and width.
    Match(usize, Kind, u32),
    /// A key that controllers write as a string, because its type is translated. It contains the
    /// key's position.
    Text(usize),
}

impl Typed {
    fn name(&self) -> String {
        match self {
            Self::Bool(_) => "bool".to_owned(),
            Self::Constant(_) | Self::Integer(_) => "int".to_owned(),
            Self::Bits(_, width) => format!("bit<{width}>"),
            Self::Match(_, kind, width) => format!("{}<{width}>", kind.name()),
            Self::Text(_) => "string".to_owned(),
        }
    }
}

struct Checker<'a> {
    subject: Subject<'a>,
    keys: &'a [Key],
    mentioned: Vec<bool>,
    warnings: Vec<Problem>,
}

impl Checker<'_> {
    fn condition(&mut self, expression: &Expression) -> Result<Node, Problem> {
        match self.typed(expression)? {
            Typed::Bool(node) => Ok(node),
            other => {
                let message = format!("this is a `{}` where a `bool` was expected", other.name());
                Err(Problem::new(expression.range.clone(), message)
                    .note("write a comparison, such as `key == 1`"))
            }
        }
    }

    fn conditions(&mut self, expressions: &[Expression]) -> Result<Vec<Node>, Problem> {
        expressions.iter().map(|expression| self.condition(expression)).collect()
    }

    fn typed(&mut self, expression: &Expression) -> Result<Typed, Problem> {
        let range = expression.range.clone();
        let node = |form| Ok(Typed::Bool(Node::new(range.clone(), form)));
        match &expression.form {
            Form::Bool(value) => node(NodeForm::Constant(*value)),
            Form::Integer(value) => Ok(Typed::Constant(value.clone())),
            Form::Key(name) => self.key(name, &range),
            Form::Attribute(name) => self.attribute(name, &range),
            Form::Projection(of, field) => self.projection(of, field, &range),
            Form::Not(inner) => node(NodeForm::Not(Box::new(self.condition(inner)?))),
            Form::Minus(inner) => self.negated(inner),
            Form::All(parts) => node(NodeForm::All(self.conditions(parts)?)),
            Form::Any(parts) => node(NodeForm::Any(self.conditions(parts)?)),
            Form::Implies(sides) => {
                let [left, right] = &**sides;
                let sides = Box::new([self.condition(left)?, self.condition(right)?]);
                node(NodeForm::Implies(sides))
            }
            Form::Compare(comparison, sides) => {
                let [left, right] = &**sides;
                let left = Operand { value: self.typed(left)?, range: &left.range };
                let right = Operand { value: self.typed(right)?, range: &right.range };
                node(self.comparison(*comparison, left, right, &range)?)
            }
        }
    }

    /// Returns the position of the key or parameter with the given name, and records that the
    /// constraint mentions it.
    fn find(&mut self, name: &str, range: &Range<usize>) -> Result<usize, Problem> {
        let found = self.keys.iter().position(|key| key.name == name);
        let Some(position) = found else {
            let (what, kind) = match self.subject {
                Subject::Table(_) => ("the table has no key", "keys"),
                Subject::Action(_) => ("the action has no parameter", "parameters"),
            };
            let mut names: Vec<String> =
                self.keys.iter().take(MAX_NAMES).map(|key| format!("`{}`", key.name)).collect();
            if self.keys.len() > MAX_NAMES {
                names.push("...".to_owned());
            }
            let problem = Problem::new(range.clone(), format!("{what} `{name}`"));
            return Err(if names.is_empty() {
                problem
            } else {
                problem.note(format!("its {kind} are {}", names.join(", ")))
            });
        };
        if self.keys.get(position).is_some_and(|key| width(key) > WIDEST) {
            let message = format!("`{name}` has more than {WIDEST} bits");
            return Err(Problem::new(range.clone(), message));
        }
        if let Some(mentioned) = self.mentioned.get_mut(position) {
            *mentioned = true;
        }
        Ok(position)
    }

    fn key(&mut self, name: &str, range: &Range<usize>) -> Result<Typed, Problem> {
        let position = self.find(name, range)?;
        Ok(match self.keys.get(position) {
            None | Some(Key { ty: KeyType::Text(_), .. }) => Typed::Text(position),
            Some(Key { kind: Kind::Exact, ty: KeyType::Bits(width), .. }) => {
                Typed::Bits(Bits::Slot(position, Part::Value), *width)
            }
            Some(Key { kind, ty: KeyType::Bits(width), .. }) => {
                Typed::Match(position, *kind, *width)
            }
        })
    }

    fn attribute(&self, name: &str, range: &Range<usize>) -> Result<Typed, Problem> {
        match self.subject {
            Subject::Table(_) if name == "priority" => Ok(Typed::Integer(Integer::Priority)),
            Subject::Table(_) => {
                let message = format!("an entry has no attribute `::{name}`");
                Err(Problem::new(range.clone(), message).note("its only attribute is `::priority`"))
            }
            Subject::Action(_) => {
                let message = format!("an action has no attribute `::{name}`");
                Err(Problem::new(range.clone(), message)
                    .note("the constraint of an action is about its parameters"))
            }
        }
    }

    fn projection(
        &mut self,
        of: &Expression,
        field: &str,
        range: &Range<usize>,
    ) -> Result<Typed, Problem> {
        let Form::Key(name) = &of.form else {
            return Err(Problem::new(of.range.clone(), "only keys have fields"));
        };
        let position = self.find(name, &of.range)?;
        let Some(key) = self.keys.get(position) else {
            return Err(Problem::new(of.range.clone(), "only keys have fields"));
        };
        if let Subject::Action(_) = self.subject {
            let message = format!("the parameter `{name}` has no fields");
            return Err(Problem::new(range.clone(), message).note("write its name alone"));
        }
        let slot = |part| Ok(Typed::Bits(Bits::Slot(position, part), width(key)));
        match (key.kind, field, &key.ty) {
            (Kind::Exact | Kind::Optional, "value", KeyType::Text(_)) => Ok(Typed::Text(position)),
            (Kind::Exact | Kind::Ternary | Kind::Optional | Kind::Lpm, "value", _) => {
                slot(Part::Value)
            }
            (Kind::Ternary | Kind::Optional, "mask", _) => slot(Part::Mask),
            (Kind::Lpm, "prefix_length", _) => Ok(Typed::Integer(Integer::PrefixLength(position))),
            (Kind::Range, "low", _) => slot(Part::Low),
            (Kind::Range, "high", _) => slot(Part::High),
            (kind, _, _) => {
                let fields = match kind {
                    Kind::Exact => "`::value`",
                    Kind::Ternary | Kind::Optional => "`::value` and `::mask`",
                    Kind::Lpm => "`::value` and `::prefix_length`",
                    Kind::Range => "`::low` and `::high`",
                };
                let kind = kind.name();
                let message = format!("`{name}` is matched as {kind} and has no field `{field}`");
                Err(Problem::new(range.clone(), message).note(format!("it has {fields}")))
            }
        }
    }

    fn negated(&mut self, inner: &Expression) -> Result<Typed, Problem> {
        match self.typed(inner)? {
            Typed::Constant(value) => Ok(Typed::Constant(-value)),
            Typed::Integer(value) => Ok(Typed::Integer(Integer::Negated(Box::new(value)))),
            Typed::Bits(value, width) => {
                Ok(Typed::Bits(Bits::Negated(Box::new(value), width), width))
            }
            other @ (Typed::Bool(_) | Typed::Match(..) | Typed::Text(_)) => {
                let message = format!("`-` does not apply to a `{}`", other.name());
                Err(Problem::new(inner.range.clone(), message))
            }
        }
    }

    fn comparison(
        &mut self,
        comparison: Comparison,
        left: Operand<'_>,
        right: Operand<'_>,
        range: &Range<usize>,
    ) -> Result<NodeForm, Problem> {
        let Operand { value: left, range: left_range } = left;
        let Operand { value: right, range: right_range } = right;
        let (left_name, right_name) = (left.name(), right.name());
        let refused = |note: &str| {
            let message = format!("a `{left_name}` is not comparable with a `{right_name}`");
            Err(Problem::new(range.clone(), message).note(note))
        };
        let is_equality = matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        let has_order = |typed: &Typed| {
            matches!(typed, Typed::Constant(_) | Typed::Integer(_) | Typed::Bits(..))
        };
        if let Some(unordered) = [&left, &right].into_iter().find(|typed| !has_order(typed))
            && !is_equality
        {
            let message = format!("a `{}` has no order", unordered.name());
            let note = match unordered {
                Typed::Match(_, kind, _) => match kind {
                    Kind::Exact | Kind::Ternary | Kind::Optional | Kind::Lpm => {
                        "compare its `::value`"
                    }
                    Kind::Range => "compare its `::low` or `::high`",
                },
                Typed::Bool(_) | Typed::Text(_) => "it has only `==` and `!=`",
                Typed::Constant(_) | Typed::Integer(_) | Typed::Bits(..) => "",
            };
            return Err(Problem::new(range.clone(), message).note(note));
        }
        // Whole matches can only be equal or not. `!=` is translated to the negation of `==`.
        let whole = |form: NodeForm| match comparison {
            Comparison::NotEqual => NodeForm::Not(Box::new(Node::new(range.clone(), form))),
            Comparison::Equal
            | Comparison::Less
            | Comparison::LessOrEqual
            | Comparison::Greater
            | Comparison::GreaterOrEqual => form,
        };
        Ok(match (left, right) {
            (Typed::Bool(left), Typed::Bool(right)) => {
                whole(NodeForm::Same(Box::new([left, right])))
            }
            (Typed::Constant(left), Typed::Constant(right)) => {
                constant(comparison, left.cmp(&right))
            }
            (Typed::Constant(left), Typed::Integer(right)) => {
                NodeForm::Integer(comparison, clamped(&left), right)
            }
            (Typed::Integer(left), Typed::Constant(right)) => {
                NodeForm::Integer(comparison, left, clamped(&right))
            }
            (Typed::Integer(left), Typed::Integer(right)) => {
                NodeForm::Integer(comparison, left, right)
            }
            (Typed::Bits(left, width), Typed::Bits(right, other)) if width == other => {
                NodeForm::Bits(comparison, left, right)
            }
            (Typed::Bits(left, width), right @ (Typed::Constant(_) | Typed::Integer(_))) => {
                let right = self.as_bits(right, width, right_range);
                NodeForm::Bits(comparison, left, right)
            }
            (left @ (Typed::Constant(_) | Typed::Integer(_)), Typed::Bits(right, width)) => {
                let left = self.as_bits(left, width, left_range);
                NodeForm::Bits(comparison, left, right)
            }
            (
                Typed::Match(key, kind, width),
                number @ (Typed::Constant(_) | Typed::Integer(_) | Typed::Bits(..)),
            ) => match self.as_width(number, width, right_range) {
                Some(number) => whole(exactly(key, kind, width, &number, range)),
                None => return refused("their widths differ"),
            },
            (
                number @ (Typed::Constant(_) | Typed::Integer(_) | Typed::Bits(..)),
                Typed::Match(key, kind, width),
            ) => match self.as_width(number, width, left_range) {
                Some(number) => whole(exactly(key, kind, width, &number, range)),
                None => return refused("their widths differ"),
            },
            (Typed::Match(left, kind, width), Typed::Match(right, other, other_width)) => {
                if kind != other || width != other_width {
                    return refused("the kinds of match and the widths must be the same");
                }
                whole(same_match(left, right, kind, range))
            }
            (Typed::Text(key), Typed::Constant(number)) => {
                whole(self.given(key, &number, right_range))
            }
            (Typed::Constant(number), Typed::Text(key)) => {
                whole(self.given(key, &number, left_range))
            }
            (Typed::Text(left), Typed::Text(right)) => whole(NodeForm::SameText(left, right)),
            (Typed::Bits(..), Typed::Bits(..)) => return refused("their widths differ"),
            (Typed::Bool(_), Typed::Bits(_, 1)) | (Typed::Bits(_, 1), Typed::Bool(_)) => {
                return refused("a key of type `bool` is a `bit<1>`: compare it with 0 or 1");
            }
            (Typed::Text(_), _) | (_, Typed::Text(_)) => {
                return refused("a string is compared with the number that the program gives it");
            }
            (Typed::Bool(_), _) | (_, Typed::Bool(_)) => {
                return refused("a `bool` is compared with another `bool`");
            }
        })
    }

    /// Converts a number to `width` bits. Returns `None` if it is a `bit<W>` of another width.
    fn as_width(&mut self, number: Typed, width: u32, range: &Range<usize>) -> Option<Bits> {
        match number {
            Typed::Bits(bits, of) => (of == width).then_some(bits),
            other => Some(self.as_bits(other, width, range)),
        }
    }

    /// Converts an integer to `width` bits, as a cast does.
    fn as_bits(&mut self, number: Typed, width: u32, range: &Range<usize>) -> Bits {
        match number {
            Typed::Constant(value) => {
                let reduced = bits::reduced(&value, width);
                let least = -(BigInt::one() << width.saturating_sub(1));
                let fits = match value.sign() {
                    Sign::Minus => value >= least,
                    Sign::NoSign | Sign::Plus => BigInt::from(reduced.clone()) == value,
                };
                if !fits {
                    let message = format!("{value} does not fit a `bit<{width}>`");
                    let note = format!("it counts as {reduced}, modulo 2^{width}");
                    self.warnings.push(Problem::new(range.clone(), message).note(note));
                }
                Bits::Constant(bits::bytes(&reduced))
            }
            Typed::Integer(value) => Bits::Reduced(value, width),
            Typed::Bits(bits, _) => bits,
            // Callers pass only numbers to this function.
            Typed::Bool(_) | Typed::Match(..) | Typed::Text(_) => Bits::Constant(Box::default()),
        }
    }

    /// Compares a key that controllers write as a string with a number of the program: the key must
    /// have the string that the program assigns to this number.
    fn given(&mut self, key: usize, number: &BigInt, range: &Range<usize>) -> NodeForm {
        let pairs = match self.keys.get(key).map(|key| &key.ty) {
            Some(KeyType::Text(pairs)) => &pairs[..],
            Some(KeyType::Bits(_)) | None => &[],
        };
        let is_it = |(of, _): &&NamedNumber| BigInt::from_bytes_be(Sign::Plus, of) == *number;
        let found = pairs.iter().find(is_it).map(|(_, string)| string.clone());
        if found.is_none() {
            let name = self.keys.get(key).map_or("", |key| &key.name);
            let message = format!("no string of `{name}` stands for {number}");
            self.warnings.push(Problem::new(range.clone(), message).note(
                "controllers write this key as a string, and the program names none for the number",
            ));
        }
        NodeForm::TextIs(key, found)
    }
}

fn clamped(value: &BigInt) -> Integer {
    let bound = if value.sign() == Sign::Minus { i64::MIN } else { i64::MAX };
    Integer::Constant(value.to_i64().unwrap_or(bound))
}

/// Returns the condition that an entry's match for the key accepts exactly this number and no
/// other.
fn exactly(key: usize, kind: Kind, width: u32, number: &Bits, range: &Range<usize>) -> NodeForm {
    let equals = |part, number: Bits| {
        let form = NodeForm::Bits(Comparison::Equal, Bits::Slot(key, part), number);
        Node::new(range.clone(), form)
    };
    let mut all: Vec<Node> = Vec::with_capacity(2);
    for part in parts(kind) {
        all.push(match part {
            Part::Mask => equals(*part, Bits::Constant(bits::bytes(&bits::ones(width)))),
            Part::Value | Part::Low | Part::High => equals(*part, number.clone()),
        });
    }
    if kind == Kind::Lpm {
        let whole = Integer::Constant(i64::from(width));
        let form = NodeForm::Integer(Comparison::Equal, Integer::PrefixLength(key), whole);
        all.push(Node::new(range.clone(), form));
    }
    NodeForm::All(all)
}

/// Returns the condition that an entry has equal matches for two keys of the same match kind.
fn same_match(left: usize, right: usize, kind: Kind, range: &Range<usize>) -> NodeForm {
    let equals = |part: &Part| {
        let (left, right) = (Bits::Slot(left, *part), Bits::Slot(right, *part));
        Node::new(range.clone(), NodeForm::Bits(Comparison::Equal, left, right))
    };
    let mut all: Vec<Node> = parts(kind).iter().map(equals).collect();
    if kind == Kind::Lpm {
        let (left, right) = (Integer::PrefixLength(left), Integer::PrefixLength(right));
        let form = NodeForm::Integer(Comparison::Equal, left, right);
        all.push(Node::new(range.clone(), form));
    }
    NodeForm::All(all)
}
