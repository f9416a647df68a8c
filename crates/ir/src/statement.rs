//! Statements. Every operation that has an effect is a statement.

use super::{
    ActionId, ControlId, Expression, ExternFunction, ExternId, ExternMethod, FunctionId, Location,
    ParserId, Place, TableId, TypeId, Value,
};
use serde::{Deserialize, Serialize};

/// A sequence of statements, executed in order.
pub type Block = Vec<Statement>;

/// A statement and its location in the source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// The location in the source, or `None` if the statement has no counterpart there.
    pub location: Option<Location>,
    /// The operation that the statement performs.
    pub kind: StatementKind,
}

/// The operation of a statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatementKind {
    /// An assignment. Copying a header also copies its validity, and copying a header stack also
    /// copies its next index. After an assignment to a field of an invalid header, only the value
    /// of that field, which is unspecified anyway, may have changed.
    Assign {
        /// The place that is assigned.
        place: Place,
        /// The value, evaluated before the assignment.
        value: Expression,
    },
    /// The declaration of a variable without an initial value. Headers in the variable become
    /// invalid, and all other values are unspecified. The reference interpreter sets them to zero.
    Reset(Place),
    /// An `if` statement.
    If {
        /// The condition, of type `bool`.
        condition: Expression,
        /// The statements that run if the condition is true.
        then: Block,
        /// The statements that run if the condition is false.
        otherwise: Block,
    },
    /// A `switch` statement on an expression or on `action_run`. Cases do not fall through.
    Switch {
        /// The value that is compared with the labels, of type `bit`, `int`, `error`, an
        /// enumeration or `ActionRun`.
        subject: Expression,
        /// The cases. The first one with a label that equals the value runs.
        cases: Vec<SwitchCase>,
        /// The statements that run if no label equals the value.
        default: Block,
    },
    /// A loop. The initialisation of a `for` statement is lowered to separate statements before the
    /// loop. A loop over a range or a stack is lowered to a loop that counts with a temporary
    /// variable.
    For {
        /// The statements that compute operands of the condition, executed before each test.
        before_condition: Block,
        /// The condition under which the loop continues, of type `bool`.
        condition: Expression,
        /// The statements that run after each execution of the body, including one that `continue`
        /// ends.
        update: Block,
        /// The statements of the loop's body.
        body: Block,
    },
    /// A `break` statement, which leaves the innermost loop.
    Break,
    /// A `continue` statement, which goes to the update of the innermost loop.
    Continue,
    /// The application of a table: looks up its keys and runs the action of the entry that matches,
    /// or the default action.
    ApplyTable {
        /// The table that is applied.
        table: TableId,
        /// The place that receives `hit`: whether an entry matched, of type `bool`.
        hit: Option<Place>,
        /// The place that receives `action_run`: the action that ran, of type `ActionRun`.
        action_run: Option<Place>,
    },
    /// A direct call of an action, with arguments for all of its parameters.
    CallAction {
        /// The action that is called.
        action: ActionId,
        /// The arguments, one for each parameter.
        arguments: Vec<Argument>,
    },
    /// A call of a function.
    CallFunction {
        /// The function that is called.
        function: FunctionId,
        /// The arguments, one for each parameter.
        arguments: Vec<Argument>,
        /// The place that receives the return value, or `None` if it is not used.
        result: Option<Place>,
    },
    /// The application of a control instance.
    CallControl {
        /// The control that is applied.
        control: ControlId,
        /// The arguments, one for each parameter in [`super::Control::parameters`].
        arguments: Vec<Argument>,
    },
    /// The application of a parser instance. If the called parser rejects, the calling parser
    /// rejects too.
    CallParser {
        /// The parser that is applied.
        parser: ParserId,
        /// The arguments, one for each parameter in [`super::Parser::parameters`].
        arguments: Vec<Argument>,
    },
    /// A call of an extern function or method of the architecture.
    CallExtern {
        /// The function or method.
        callee: ExternCallee,
        /// The type arguments, explicit or inferred.
        type_arguments: Vec<TypeId>,
        /// The arguments, one for each parameter in order of declaration. An omitted optional
        /// argument is `Absent`.
        arguments: Vec<Argument>,
        /// The place that receives the return value, or `None` if it is not used.
        result: Option<Place>,
    },
    /// `packet.extract(header)` or `packet.extract(header, bits)`. Possible errors are
    /// `PacketTooShort`, `HeaderTooShort`, `StackOutOfBounds` and `ParserInvalidArgument`.
    Extract {
        /// The header, or `None` to skip its bits (extraction into `_`).
        header: Option<Place>,
        /// The type of the header.
        header_type: TypeId,
        /// The width in bits of the header's `varbit` field, or `None` if the call does not specify
        /// one.
        varbit_width: Option<Expression>,
    },
    /// `packet.lookahead<T>()`. The possible error is `PacketTooShort`.
    Lookahead {
        /// The place that receives the bits that were read.
        result: Place,
        /// The type `T` of the value that is read.
        type_id: TypeId,
    },
    /// `packet.advance(bits)`. Possible errors are `PacketTooShort` and, in v1model and PSA,
    /// `ParserInvalidArgument` for a number of bits that is not a multiple of eight.
    Advance(Expression),
    /// `packet.emit(value)`. A header is emitted if it is valid; a struct, stack or header union is
    /// emitted member by member.
    Emit(Expression),
    /// `verify(condition, error)`, with which the parser rejects a packet if the condition is
    /// false.
    Verify {
        /// The condition, of type `bool`. The parser rejects if it is false.
        condition: Expression,
        /// The parser error that is set on rejection, of type `error`.
        error: Expression,
    },
    /// `header.setValid()` or `header.setInvalid()`.
    SetValidity {
        /// The header, which may be a member of a header union. If the statement makes it invalid,
        /// it may also be a whole header union.
        header: Place,
        /// Whether the header becomes valid.
        valid: bool,
    },
    /// `stack.push_front(count)`, which shifts the elements of a header stack towards its end and
    /// makes the first `count` elements invalid.
    PushFront {
        /// The header stack.
        stack: Place,
        /// The number of elements by which the stack is shifted.
        count: u32,
    },
    /// `stack.pop_front(count)`, which shifts the elements of a header stack towards its start and
    /// makes the last `count` elements invalid.
    PopFront {
        /// The header stack.
        stack: Place,
        /// The number of elements by which the stack is shifted.
        count: u32,
    },
    /// A `return` statement with its value, if it has one. It leaves the action, function, control
    /// or parser state, and the `out` and `inout` arguments of the call are then copied out.
    Return(Option<Expression>),
    /// An `exit` statement, which ends the top-level control or parser in which it runs. The
    /// arguments of all callers are copied out (P4_16 specification, section 12.5).
    Exit,
}

/// A case of a `switch` statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SwitchCase {
    /// The labels of the case. It runs if the subject of the `switch` equals any of them.
    pub values: Vec<Value>,
    /// The statements of the case.
    pub body: Block,
}

/// An argument of a call, with the direction of its parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Argument {
    /// An `in` argument, evaluated before the call.
    In(Expression),
    /// An `out` argument, assigned after the call.
    Out(Place),
    /// An `inout` argument, read before the call and assigned after it.
    InOut(Place),
    /// An `inout` argument whose value is saved in a variable before the call, because evaluating a
    /// later argument may change the value at its place (P4_16 specification, section 6.8).
    Saved {
        /// The place that is assigned after the call.
        place: Place,
        /// The saved value, which is copied in.
        value: Expression,
    },
    /// An `Out`, `InOut` or `Saved` argument, if the call names its arguments in an order that
    /// differs from the order of the callee's parameters. Arguments are copied out in the order of
    /// the call (P4_16 specification, section 6.8).
    Ordered {
        /// The position of the argument in the call. The arguments of a call are copied out in this
        /// order.
        rank: u32,
        /// The argument, which must not be `Ordered` itself.
        argument: Box<Argument>,
    },
    /// An extern instance.
    Extern(ExternId),
    /// The action that is named in a call of PNA's `add_entry`.
    Action(ActionId),
    /// No argument: the parameter is optional and its argument was omitted, or it is an `out`
    /// parameter whose argument is `_`.
    Absent,
}

impl Argument {
    /// Returns the argument inside an `Ordered` argument. Returns any other argument as it is.
    #[must_use]
    pub fn unordered(&self) -> &Self {
        match self {
            Self::Ordered { argument, .. } => argument,
            other => other,
        }
    }

    /// Returns the position at which this argument is copied out after the call. For an `Ordered`
    /// argument it is the position in the call, and for any other argument it is `position`, that
    /// of its parameter.
    #[must_use]
    pub fn rank(&self, position: usize) -> usize {
        match self {
            Self::Ordered { rank, .. } => *rank as usize,
            _ => position,
        }
    }
}

/// The extern function or method that a `CallExtern` calls, identified by its name in the
/// architecture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExternCallee {
    /// A function, such as `mark_to_drop`.
    Function(ExternFunction),
    /// A method, such as `read` of a `register`.
    Method {
        /// The extern instance.
        instance: ExternId,
        /// The method of the instance.
        method: ExternMethod,
    },
}
