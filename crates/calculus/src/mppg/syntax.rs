//! The syntax tree of an MPPG program.

use crate::rational::Rational;

/// A statement of an MPPG program.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Statement {
    Empty,
    Assign { name: String, expression: Expression, text: String },
    Show(Expression),
    Assert { left: Expression, comparison: Comparison, right: Expression, text: String },
    Plot { tikz: bool, functions: Vec<(String, usize)>, options: Vec<(String, Vec<Part>)> },
    PrintExpression { name: String, column: usize },
}

/// A part of the value of a plot option: a text, or the name and column of a variable, for which
/// its value is inserted. The parts of an option are joined to one text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Literal(String),
    Variable(String, usize),
}

/// A comparison operator of `assert`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// An expression, with the column at which it starts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Expression {
    pub(super) kind: Kind,
    pub(super) column: usize,
}

/// The kind of an expression, with its operands.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Number(Rational),
    Variable(String),
    Negate(Box<Expression>),
    /// A binary operation, by the ASCII spelling of its operator.
    Binary {
        operator: &'static str,
        left: Box<Expression>,
        right: Box<Expression>,
    },
    /// A call of a function of the language, or `f(t)`, the value of a variable's function at a
    /// time.
    Call {
        name: String,
        arguments: Vec<Expression>,
    },
    /// A one-sided limit of a variable's function: `f(t+)` or `f(t-)`.
    Limit {
        name: String,
        at: Box<Expression>,
        from_right: bool,
    },
    /// `uaf(...)`: an ultimately affine function, by its segments.
    Affine(Vec<Segment>),
    /// `upp(...)`: an ultimately pseudo-periodic function. The segments in `transient` occur once,
    /// and those in `period` repeat after them, each time higher by `increment`.
    Periodic {
        transient: Vec<Segment>,
        period: Vec<Segment>,
        increment: Option<Box<Expression>>,
    },
}

/// A segment of `uaf(...)` or `upp(...)` as it is written, such as `[(0, 4) 3 (2, 10)[`, or a spot
/// (a single point) such as `[(0, 0)]`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Segment {
    pub(super) column: usize,
    /// Whether the first bracket is `[`, so that the start point belongs to the segment.
    pub(super) has_start: bool,
    /// The time and the value at the start of the segment.
    pub(super) start: (Expression, Expression),
    /// The slope, or `None` if it is not written.
    pub(super) slope: Option<Expression>,
    /// The time and the value at the end of the segment, or `None` for a spot.
    pub(super) end: Option<(Expression, Expression)>,
    /// Whether the last bracket is `]`, so that the end point belongs to the segment.
    pub(super) has_end: bool,
}
