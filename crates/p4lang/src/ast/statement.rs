//! Statements (P4_16 §12) and parser states (§13).

use super::{
    Annotation, Argument, BinaryOperator, Declaration, DeclarationId, Expression, Name, Type,
};
use crate::source::Span;

/// A statement.
#[derive(Debug, Clone)]
pub struct Statement {
    /// The location of the statement.
    pub span: Span,
    /// The annotations before the statement.
    pub annotations: Vec<Annotation>,
    /// The kind of statement.
    pub kind: StatementKind,
}

/// The kind of a statement.
#[derive(Debug, Clone)]
pub enum StatementKind {
    /// `;`.
    Empty,
    /// The declaration of a variable, a constant or an instance.
    Declaration(Box<Declaration>),
    /// `{ ... }`.
    Block(Block),
    /// `target = value;`, or a compound assignment such as `target += value;`.
    Assign {
        /// The l-value that is assigned.
        target: Expression,
        /// The operator of a compound assignment.
        operator: Option<BinaryOperator>,
        /// The new value, or the right operand of a compound assignment.
        value: Expression,
    },
    /// A call whose return value is ignored.
    Call(Expression),
    /// `Type.apply(arguments);`: the direct invocation of a parser or control type (§14.5).
    DirectApplication {
        /// The type of the parser or control.
        target: Type,
        /// The arguments of `apply`.
        arguments: Vec<Argument>,
    },
    /// An `if` statement.
    If {
        /// The condition.
        condition: Expression,
        /// The statement that runs if the condition is true.
        then: Box<Statement>,
        /// The statement that runs if the condition is false.
        otherwise: Option<Box<Statement>>,
    },
    /// A `switch` statement.
    Switch {
        /// The expression whose value selects the case.
        subject: Expression,
        /// The cases of the `switch`, in source order.
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
        /// The statements that run once before the loop.
        initial: Vec<Statement>,
        /// The condition, tested before each iteration.
        condition: Expression,
        /// The statements that run after each iteration.
        update: Vec<Statement>,
        /// The body of the loop.
        body: Box<Statement>,
    },
    /// `for (variable in collection) body`.
    ForIn {
        /// The loop variable: a [`super::DeclarationKind::Variable`] without an initial value.
        variable: Box<Declaration>,
        /// The collection: a range, a list or a stack.
        collection: Expression,
        /// The body of the loop.
        body: Box<Statement>,
    },
}

/// A block statement, `{ ... }`.
#[derive(Debug, Clone)]
pub struct Block {
    /// The location of the block, including its braces.
    pub span: Span,
    /// The annotations before the opening brace.
    pub annotations: Vec<Annotation>,
    /// The statements of the block.
    pub statements: Vec<Statement>,
}

/// A case of a `switch` statement.
#[derive(Debug, Clone)]
pub struct SwitchCase {
    /// The location of the label.
    pub span: Span,
    /// The label of the case.
    pub label: SwitchLabel,
    /// The body, or `None` if the case falls through to the next one.
    pub body: Option<Block>,
}

/// The label of a `switch` case.
#[derive(Debug, Clone)]
pub enum SwitchLabel {
    /// `default`.
    Default,
    /// The name of an action, or a constant expression.
    Expression(Expression),
}

/// A parser state, `state name { ... }`.
#[derive(Debug, Clone)]
pub struct ParserState {
    /// The id of the state, which is unique in its program.
    pub id: DeclarationId,
    /// The location of the state.
    pub span: Span,
    /// The annotations before the state.
    pub annotations: Vec<Annotation>,
    /// The name of the state.
    pub name: Name,
    /// The statements before the transition.
    pub statements: Vec<Statement>,
    /// The transition. A state without one goes to `reject`.
    pub transition: Option<Transition>,
}

/// A transition statement, `transition ...`.
#[derive(Debug, Clone)]
pub struct Transition {
    /// The location of the transition.
    pub span: Span,
    /// The target, which may depend on values.
    pub kind: TransitionKind,
}

/// The target of a transition.
#[derive(Debug, Clone)]
pub enum TransitionKind {
    /// A fixed state.
    Direct(Name),
    /// A `select` expression, which goes to the state of the first case that matches.
    Select {
        /// The expressions whose values are matched.
        subjects: Vec<Expression>,
        /// The cases of the `select`, in source order.
        cases: Vec<SelectCase>,
    },
}

/// A case of a `select` expression, `keyset: state;`.
#[derive(Debug, Clone)]
pub struct SelectCase {
    /// The location of the case.
    pub span: Span,
    /// The key set of the case.
    pub keyset: Expression,
    /// The name of the next state.
    pub next: Name,
}
