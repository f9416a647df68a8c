//! Parsers, controls, and the package instance that refers to them.

use super::{
    Annotation, Block, ControlId, Direction, Expression, ExternId, Location, ParserId, StateId,
    TypeId, Value, ValueSetId, VariableId,
};
use serde::{Deserialize, Serialize};

/// A parameter of a parser, control or function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// The name of the parameter in the source.
    pub name: String,
    /// The variable that holds the parameter's value.
    pub variable: VariableId,
    /// The direction of the parameter. A parameter without a direction is `In`.
    pub direction: Direction,
    /// The type of the parameter.
    pub type_id: TypeId,
}

/// A parser instance. Its `packet_in` parameter is implicit, since a packet has only one read
/// position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parser {
    /// The control-plane name of the parser.
    pub name: String,
    /// The parameters of the parser, except `packet_in` and extern objects.
    pub parameters: Vec<Parameter>,
    /// The declarations of local variables, executed on entry.
    pub prologue: Block,
    /// The states of the parser. `accept` and `reject` are [`Target`]s and do not appear here.
    pub states: Vec<State>,
    /// The start state.
    pub start: StateId,
    /// The annotations of the parser, as written.
    pub annotations: Vec<Annotation>,
}

/// A state of a parser.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The name of the state in the source.
    pub name: String,
    /// The location of the state in the source, or `None` if it is not known.
    pub location: Option<Location>,
    /// The statements of the state, executed before its transition.
    pub body: Block,
    /// The transition to the next state.
    pub transition: Transition,
    /// The annotations of the state, as written.
    pub annotations: Vec<Annotation>,
}

/// A transition of a parser state (P4_16 specification, section 13.5).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transition {
    /// A transition to a fixed target.
    Direct(Target),
    /// A `select` expression: the first case that matches is taken. If no case matches, the parser
    /// rejects the packet, with the error `NoError` for targets that behave like BMv2, and
    /// `NoMatch` for all others.
    Select {
        /// The values to match.
        subjects: Vec<Expression>,
        /// The cases, in the order in which they are tried.
        cases: Vec<SelectCase>,
    },
}

impl Transition {
    /// Returns the targets of the transition, in the order in which the source names them. A target
    /// that several cases name is returned several times.
    pub fn targets(&self) -> impl Iterator<Item = Target> + '_ {
        let (direct, cases) = match self {
            Self::Direct(target) => (Some(*target), &[][..]),
            Self::Select { cases, .. } => (None, cases.as_slice()),
        };
        direct.into_iter().chain(cases.iter().map(|case| case.target))
    }

    /// Returns the states to which the transition may lead, without `accept` and `reject`.
    pub fn next_states(&self) -> impl Iterator<Item = StateId> + '_ {
        self.targets().filter_map(|target| match target {
            Target::State(state) => Some(state),
            Target::Accept | Target::Reject => None,
        })
    }
}

/// A case of a `select` expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelectCase {
    /// The key sets of the case: one for each subject of the `select` expression, or a single one
    /// that applies to all subjects together, which is then `_` or a parser value set.
    pub key_sets: Vec<KeySet<Expression>>,
    /// The target of the transition if the case matches.
    pub target: Target,
}

/// The target of a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A state of the parser to which the transition belongs.
    State(StateId),
    /// The state `accept`.
    Accept,
    /// The state `reject`, which ends the parser. A transition to `reject` leaves the parser error
    /// at `NoError`. When a statement such as `extract` fails, it sets an error and ends the parser
    /// directly, without this transition.
    Reject,
}

/// A set of values that a key or subject is compared with. Its bounds are expressions in a `select`
/// case, and constants in a table entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeySet<T> {
    /// `_` or `default`, which contains every value.
    Any,
    /// A single value.
    Exact(T),
    /// `value &&& mask`.
    Mask {
        /// The value to compare with.
        value: T,
        /// The bits that are compared.
        mask: T,
    },
    /// `low .. high`, inclusive at both ends. The comparison is signed if the type is.
    Range {
        /// The smallest value of the range.
        low: T,
        /// The largest value of the range.
        high: T,
    },
    /// A parser value set: the values that the control plane has written into it.
    ValueSet(ValueSetId),
}

/// A control instance. Its `packet_out` is implicit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Control {
    /// The control-plane name of the control.
    pub name: String,
    /// The parameters of the control, except `packet_out` and extern objects.
    pub parameters: Vec<Parameter>,
    /// The declarations of local variables, followed by the statements of the `apply` block.
    pub body: Block,
    /// The location of the control in the source, or `None` if it is not known.
    pub location: Option<Location>,
    /// The annotations of the control, as written.
    pub annotations: Vec<Annotation>,
}

/// A package instance: `main`, or an argument of another package instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Package {
    /// The name of the package type, such as `V1Switch` or `IngressPipeline`.
    pub name: String,
    /// The constructor arguments of the package, in the order in which the parameters are declared.
    pub arguments: Vec<PackageArgument>,
}

/// A constructor argument of a package.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PackageArgument {
    /// The name of the parameter, such as `ig`.
    pub name: String,
    /// The value of the argument.
    pub value: PackageValue,
}

/// The value of a package's constructor argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PackageValue {
    /// A parser instance.
    Parser(ParserId),
    /// A control instance.
    Control(ControlId),
    /// An instance of an extern object, such as `PacketReplicationEngine`.
    Extern(ExternId),
    /// A package instance.
    Package(Package),
    /// A constant.
    Value(Value),
}

impl Package {
    /// Returns the value of the constructor argument for the parameter `name`, or `None` if there
    /// is no such parameter.
    #[must_use]
    pub fn argument(&self, name: &str) -> Option<&PackageValue> {
        self.arguments.iter().find(|argument| argument.name == name).map(|argument| &argument.value)
    }
}
