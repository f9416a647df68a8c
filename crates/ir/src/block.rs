//! Parsers, controls and the package that binds them.

use super::{
    Annotation, Block, ControlId, Direction, Expression, ExternId, Location, ParserId, StateId,
    TypeId, Value, ValueSetId, VariableId,
};
use serde::{Deserialize, Serialize};

/// A parameter of a parser, control or function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Name in the source.
    pub name: String,
    /// Where it lives.
    pub variable: VariableId,
    /// How it is copied. `In` for those without direction.
    pub direction: Direction,
    /// Its type.
    pub type_id: TypeId,
}

/// A parser instance. `packet_in` is implicit: a packet has one cursor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parser {
    /// Name for the control plane.
    pub name: String,
    /// Without `packet_in` and extern objects.
    pub parameters: Vec<Parameter>,
    /// Declarations of local variables, run on entry.
    pub prologue: Block,
    /// States; `accept` and `reject` are targets, not states.
    pub states: Vec<State>,
    /// Where it starts.
    pub start: StateId,
    /// As written.
    pub annotations: Vec<Annotation>,
}

/// A state of a parser.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Name in the source.
    pub name: String,
    /// In the source.
    pub location: Option<Location>,
    /// What it does first.
    pub body: Block,
    /// Where it goes.
    pub transition: Transition,
    /// As written.
    pub annotations: Vec<Annotation>,
}

/// Where a state goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transition {
    /// Always there.
    Direct(Target),
    /// The first case that matches; none is the error `NoMatch`.
    Select {
        /// Values to match.
        subjects: Vec<Expression>,
        /// In order.
        cases: Vec<SelectCase>,
    },
}

/// A case of `select`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelectCase {
    /// One per subject, or one value set for all.
    pub key_sets: Vec<KeySet<Expression>>,
    /// Where it goes.
    pub target: Target,
}

/// Where a transition ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A state of the same parser.
    State(StateId),
    /// The parser is done.
    Accept,
    /// The parser failed; the error was set before (explicit rejection sets none).
    Reject,
}

/// A set of values: expressions in `select`, constants in table entries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeySet<T> {
    /// `_` or `default`.
    Any,
    /// One value.
    Exact(T),
    /// `value &&& mask`.
    Mask {
        /// Compared under the mask.
        value: T,
        /// Bits that count.
        mask: T,
    },
    /// `low .. high`, both inclusive, signed if the type is.
    Range {
        /// Smallest.
        low: T,
        /// Largest.
        high: T,
    },
    /// What the control plane put into a value set.
    ValueSet(ValueSetId),
}

/// A control instance. `packet_out` is implicit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Control {
    /// Name for the control plane.
    pub name: String,
    /// Without `packet_out` and extern objects.
    pub parameters: Vec<Parameter>,
    /// Declarations of local variables, then the apply block.
    pub body: Block,
    /// In the source.
    pub location: Option<Location>,
    /// As written.
    pub annotations: Vec<Annotation>,
}

/// An instance of a package: `main`, or one that is an argument of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Package {
    /// Its type, such as `V1Switch` or `IngressPipeline`.
    pub name: String,
    /// In order of declaration.
    pub arguments: Vec<PackageArgument>,
}

/// An argument of a package.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PackageArgument {
    /// Name of the parameter, such as `ig`.
    pub name: String,
    /// What is bound to it.
    pub value: PackageValue,
}

/// What a package's parameter is bound to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PackageValue {
    /// A parser.
    Parser(ParserId),
    /// A control.
    Control(ControlId),
    /// An extern object, such as `PacketReplicationEngine`.
    Extern(ExternId),
    /// Another package.
    Package(Package),
    /// A constant.
    Value(Value),
}

impl Package {
    /// What is bound to the parameter `name`.
    #[must_use]
    pub fn argument(&self, name: &str) -> Option<&PackageValue> {
        self.arguments.iter().find(|argument| argument.name == name).map(|argument| &argument.value)
    }
}
