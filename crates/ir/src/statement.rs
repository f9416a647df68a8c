//! Statements: everything that has an effect.

use super::{
    ActionId, ControlId, Expression, ExternFunction, ExternId, ExternMethod, FunctionId, Location,
    ParserId, Place, TableId, TypeId, Value,
};
use serde::{Deserialize, Serialize};

/// Statements in the order in which they run.
pub type Block = Vec<Statement>;

/// A statement and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// In the source, if it is there at all.
    pub location: Option<Location>,
    /// What it does.
    pub kind: StatementKind,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatementKind {
    /// Writes a value; headers are copied with their validity, stacks with their next index.
    /// Writing to a field of an invalid header has no effect that can be seen.
    Assign {
        /// What is written.
        place: Place,
        /// What is read before.
        value: Expression,
    },
    /// A variable that was declared without initialiser: headers become invalid, all else has an
    /// unspecified value; the reference gives zero.
    Reset(Place),
    /// `if`.
    If {
        /// Of type `bool`.
        condition: Expression,
        /// If true.
        then: Block,
        /// If false.
        otherwise: Block,
    },
    /// `switch`, on expressions and on `action_run`; without fall-through.
    Switch {
        /// `bit`, `int`, `error`, an enumeration or `ActionRun`.
        subject: Expression,
        /// The first case that has the value runs.
        cases: Vec<SwitchCase>,
        /// If no case has it.
        default: Block,
    },
    /// `for`: `init` was put before; a range or a stack is counted by a temporary.
    For {
        /// Statements that the condition needs, run before each test.
        before_condition: Block,
        /// Goes on while this holds.
        condition: Expression,
        /// Runs after the body, `continue` included.
        update: Block,
        /// What is repeated.
        body: Block,
    },
    /// Leaves the innermost `for`.
    Break,
    /// Goes to the update of the innermost `for`.
    Continue,
    /// Looks a table up and runs the action that was found.
    ApplyTable {
        /// Which table.
        table: TableId,
        /// Where to leave `hit`, a `bool`.
        hit: Option<Place>,
        /// Where to leave which action ran, of type `ActionRun`.
        action_run: Option<Place>,
    },
    /// Runs an action with directional arguments, and control-plane parameters as arguments.
    CallAction {
        /// Which action.
        action: ActionId,
        /// One per parameter.
        arguments: Vec<Argument>,
    },
    /// Runs a function.
    CallFunction {
        /// Which function.
        function: FunctionId,
        /// One per parameter.
        arguments: Vec<Argument>,
        /// Where its value goes.
        result: Option<Place>,
    },
    /// Applies a control instance.
    CallControl {
        /// Which control.
        control: ControlId,
        /// One per parameter in [`super::Control::parameters`].
        arguments: Vec<Argument>,
    },
    /// Runs a parser instance; if it rejects, so does the caller.
    CallParser {
        /// Which parser.
        parser: ParserId,
        /// One per parameter in [`super::Parser::parameters`].
        arguments: Vec<Argument>,
    },
    /// Calls an extern function or method of the architecture.
    CallExtern {
        /// What is called.
        callee: ExternCallee,
        /// Type arguments, given or inferred.
        type_arguments: Vec<TypeId>,
        /// One per parameter, in order of declaration; optional ones that are absent are `Absent`.
        arguments: Vec<Argument>,
        /// Where the value goes.
        result: Option<Place>,
    },
    /// `packet.extract(header)` or `packet.extract(header, bits)`. Errors `PacketTooShort`,
    /// `HeaderTooShort`, `StackOutOfBounds`, `ParserInvalidArgument`.
    Extract {
        /// A header; `None` moves the cursor over it (extraction into `_`).
        header: Option<Place>,
        /// Type of the header.
        header_type: TypeId,
        /// Bits of its `varbit` field.
        varbit_width: Option<Expression>,
    },
    /// `packet.lookahead<T>()`. Error `PacketTooShort`.
    Lookahead {
        /// Where the value goes.
        result: Place,
        /// `T`.
        type_id: TypeId,
    },
    /// `packet.advance(bits)`. Error `PacketTooShort`.
    Advance(Expression),
    /// `packet.emit(value)`: headers that are valid, in order; structs, stacks and unions by their
    /// members.
    Emit(Expression),
    /// `verify(condition, error)`.
    Verify {
        /// Rejects if false.
        condition: Expression,
        /// Of type `error`.
        error: Expression,
    },
    /// `header.setValid()` and `header.setInvalid()`.
    SetValidity {
        /// A header or a member of a header union.
        header: Place,
        /// Which of the two.
        valid: bool,
    },
    /// `stack.push_front(count)`.
    PushFront {
        /// A header stack.
        stack: Place,
        /// By how many.
        count: u32,
    },
    /// `stack.pop_front(count)`.
    PopFront {
        /// A header stack.
        stack: Place,
        /// By how many.
        count: u32,
    },
    /// Leaves the action, function, control or parser state; out arguments are copied.
    Return(Option<Expression>),
    /// Ends the top-level control or parser in which it runs; out arguments of all callers are
    /// copied (P4_16 specification, section 12.5).
    Exit,
}

/// A case of `switch`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SwitchCase {
    /// Any of these.
    pub values: Vec<Value>,
    /// What runs.
    pub body: Block,
}

/// An argument by the direction of its parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Argument {
    /// Read before the call.
    In(Expression),
    /// Written after the call.
    Out(Place),
    /// Both.
    InOut(Place),
    /// Both, with the value that the place had before a later argument was evaluated, which may
    /// change it (P4_16 specification, section 6.8).
    Saved {
        /// Written after the call.
        place: Place,
        /// What the parameter is at first.
        value: Expression,
    },
    /// An `Out`, `InOut` or `Saved` argument of a call that names its arguments in another order
    /// than the callee its parameters: arguments are copied out in the order of the call (P4_16
    /// specification, section 6.8).
    Ordered {
        /// The rank among the arguments of the call by which it is copied out.
        rank: u32,
        /// The argument, which is not `Ordered`.
        argument: Box<Argument>,
    },
    /// An extern instance.
    Extern(ExternId),
    /// The action that `add_entry` of PNA names.
    Action(ActionId),
    /// An optional parameter without argument, or `_` for an out parameter.
    Absent,
}

impl Argument {
    /// Returns the argument without its rank.
    #[must_use]
    pub fn unordered(&self) -> &Self {
        match self {
            Self::Ordered { argument, .. } => argument,
            other => other,
        }
    }

    /// Returns the rank by which the argument for the parameter at `position` is copied out.
    #[must_use]
    pub fn rank(&self, position: usize) -> usize {
        match self {
            Self::Ordered { rank, .. } => *rank as usize,
            _ => position,
        }
    }
}

/// What a `CallExtern` calls. Names are those of the architecture's declarations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExternCallee {
    /// A function, such as `mark_to_drop`.
    Function(ExternFunction),
    /// A method, such as `read` of a `register`.
    Method {
        /// The instance.
        instance: ExternId,
        /// Its method.
        method: ExternMethod,
    },
}
