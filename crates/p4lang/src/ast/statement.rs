//! Statements (§12) and parser states (§13).

use super::{
    Annotation, Argument, BinaryOperator, Declaration, DeclarationId, Expression, Name, Type,
};
use crate::source::Span;

/// A statement.
#[derive(Debug, Clone)]
pub struct Statement {
    /// Where it stands.
    pub span: Span,
    /// Annotations before it.
    pub annotations: Vec<Annotation>,
    /// Which statement.
    pub kind: StatementKind,
}

/// Which statement.
#[derive(Debug, Clone)]
pub enum StatementKind {
    /// `;`.
    Empty,
    /// A variable, a constant or an instance.
    Declaration(Box<Declaration>),
    /// `{ ... }`.
    Block(Block),
    /// `target = value;` or, with an operator, `target += value;`.
    Assign {
        /// The l-value.
        target: Expression,
        /// The operator before `=`.
        operator: Option<BinaryOperator>,
        /// The new value or the right operand.
        value: Expression,
    },
    /// A call whose value is not used.
    Call(Expression),
    /// `Type.apply(arguments);`: a parser or control instantiated and applied in one go (§14.5).
    DirectApplication {
        /// The parser's or control's type.
        target: Type,
        /// Arguments of `apply`.
        arguments: Vec<Argument>,
    },
    /// `if`.
    If {
        /// The condition.
        condition: Expression,
        /// If it holds.
        then: Box<Statement>,
        /// If not.
        otherwise: Option<Box<Statement>>,
    },
    /// `switch`.
    Switch {
        /// What is looked at.
        subject: Expression,
        /// The cases, in order.
        cases: Vec<SwitchCase>,
    },
    /// `return;` or `return value;`.
    Return(Option<Expression>),
    /// `exit;`.
    Exit,
    /// `break;`.
    Break,
    /// `continue;`.
    Continue,
    /// `for (initial; condition; update) body`.
    For {
        /// Run once, before.
        initial: Vec<Statement>,
        /// Tested before each round.
        condition: Expression,
        /// Run after each round.
        update: Vec<Statement>,
        /// The body.
        body: Box<Statement>,
    },
    /// `for (variable in collection) body`.
    ForIn {
        /// What takes each value: a [`super::DeclarationKind::Variable`] without initial value.
        variable: Box<Declaration>,
        /// A range, a list or a stack.
        collection: Expression,
        /// The body.
        body: Box<Statement>,
    },
}

/// `{ ... }`.
#[derive(Debug, Clone)]
pub struct Block {
    /// From brace to brace.
    pub span: Span,
    /// Annotations before the brace.
    pub annotations: Vec<Annotation>,
    /// What stands in it.
    pub statements: Vec<Statement>,
}

/// A case of a `switch`.
#[derive(Debug, Clone)]
pub struct SwitchCase {
    /// Where the label stands.
    pub span: Span,
    /// What it is for.
    pub label: SwitchLabel,
    /// What it does; `None` falls through to the next case.
    pub body: Option<Block>,
}

/// What a case of a `switch` is for.
#[derive(Debug, Clone)]
pub enum SwitchLabel {
    /// `default`.
    Default,
    /// An action's name, or a constant.
    Expression(Expression),
}

/// `state name { ... }`.
#[derive(Debug, Clone)]
pub struct ParserState {
    /// Its number.
    pub id: DeclarationId,
    /// Where it stands.
    pub span: Span,
    /// Annotations before it.
    pub annotations: Vec<Annotation>,
    /// Its name.
    pub name: Name,
    /// What it does.
    pub statements: Vec<Statement>,
    /// Where it goes; without one, to `reject`.
    pub transition: Option<Transition>,
}

/// `transition ...`.
#[derive(Debug, Clone)]
pub struct Transition {
    /// Where it stands.
    pub span: Span,
    /// Where it goes.
    pub kind: TransitionKind,
}

/// Where a transition goes.
#[derive(Debug, Clone)]
pub enum TransitionKind {
    /// Always to this state.
    Direct(Name),
    /// To the state of the first case that matches.
    Select {
        /// What is looked at.
        subjects: Vec<Expression>,
        /// The cases, in order.
        cases: Vec<SelectCase>,
    },
}

/// `keyset: state;`.
#[derive(Debug, Clone)]
pub struct SelectCase {
    /// Where it stands.
    pub span: Span,
    /// What it matches.
    pub keyset: Expression,
    /// Where it goes.
    pub next: Name,
}
