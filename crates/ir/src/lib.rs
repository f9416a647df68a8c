//! The checked program: what every reader of a P4 program reads.
//!
//! The reference interpreter, the machine-code generator and the latency models all start here,
//! so this form keeps no reader's habits. What it does is take away what no reader wants to see
//! twice:
//!
//! * **Elaborated.** Packages, parsers and controls are instances, one per instantiation, with
//!   their constructor arguments put in. Generic functions are specialised. Names are those of
//!   the control plane.
//! * **Statically allocated.** P4 has no recursion, so every variable, parameter and temporary of
//!   the program is one entry of [`Program::variables`]; a packet's state is one flat frame.
//! * **Pure expressions.** Whatever has an effect or can fail (calls, table application,
//!   `lookahead`) is a statement that leaves its result in a variable; the order of evaluation
//!   that the specification asks for (section 8.1.1) is written out, and so are `&&`, `||` and
//!   `?:` whose operands have effects.
//! * **Calls copy in and copy out** (section 6.8): an argument names what is read before and what
//!   is written after, left to right.
//! * **Erased where only the control plane cares.** `type` and serializable enumerations are
//!   their underlying bits; what P4Info tells about them stays beside as [`UserTypeId`].

mod annotation;
pub mod bits;
mod block;
mod call_graph;
mod expression;
mod externs;
mod json;
mod limits;
pub mod meter;
mod object;
mod stack;
mod statement;
mod text;
mod type_sizes;
mod types;
mod validate;

pub use annotation::{Annotation, AnnotationBody, AnnotationValue};
pub use block::{
    Control, KeySet, Package, PackageArgument, PackageValue, Parameter, Parser, SelectCase, State,
    Target, Transition,
};
pub use expression::{
    BinaryOperator, Expression, ExpressionKind, Place, Projection, UnaryOperator, Value,
};
pub use externs::{ExternFunction, ExternMethod, ExternType};
pub use json::{DEPTH_LIMIT, ReadError, nesting};
pub use limits::{CompileLimits, Exceeded, Limit, LimitError};
pub use object::{
    Action, ActionCall, ActionParameter, ActionReference, ActionScope, ConstructorArgument,
    Direction, Entry, EntryStore, ExternInstance, Function, IdleTimeout, Key, MatchKind, Replicas,
    Table, TableImplementation, TableStorage, UpdateMethod, ValueSet, Variable,
};
pub use stack::{STACK_BYTES, has_room, with_large_stack};
pub use statement::{Argument, Block, ExternCallee, Statement, StatementKind, SwitchCase};
pub use text::Excerpts;
pub use types::{Composite, CompositeKind, EnumType, Field, Type, Types, UserType, UserTypeKind};
pub use validate::Violation;

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// Position in the program's list of such things.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A type in [`Types`].
    TypeId;
    /// A struct, header or header union in [`Types::composites`].
    CompositeId;
    /// An enumeration without underlying type in [`Types::enums`].
    EnumId;
    /// A `type` or serializable enumeration in [`Types::user_types`].
    UserTypeId;
    /// An entry of [`Program::variables`].
    VariableId;
    /// An entry of [`Program::parsers`].
    ParserId;
    /// A state of one parser.
    StateId;
    /// An entry of [`Program::controls`].
    ControlId;
    /// An entry of [`Program::actions`].
    ActionId;
    /// An entry of [`Program::functions`].
    FunctionId;
    /// An entry of [`Program::tables`].
    TableId;
    /// An entry of [`Program::externs`].
    ExternId;
    /// An entry of [`Program::value_sets`].
    ValueSetId;
}

/// A checked program. Lists are in the order in which p4c evaluates declarations, so that what is
/// derived from them (P4Info above all) comes out in the customary order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Version of this form; a reader refuses one that it does not know.
    pub version: u32,
    /// What `main` is an instance of.
    pub architecture: Architecture,
    /// The architecture whose declarations the source has, if `main` is no instance of its package: its extern objects
    /// are there, and P4Info is written as for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub included: Option<Architecture>,
    /// Source files, for [`Location::file`].
    pub files: Vec<String>,
    /// All types.
    pub types: Types,
    /// Members of `error`; a value of that type is the position here. `NoError` is the first.
    pub errors: Vec<String>,
    /// All variables, parameters and temporaries.
    pub variables: Vec<Variable>,
    /// Parser instances.
    pub parsers: Vec<Parser>,
    /// Control instances.
    pub controls: Vec<Control>,
    /// Actions, one per control instance that declares it; actions at top level once.
    pub actions: Vec<Action>,
    /// Functions, one per set of type arguments.
    pub functions: Vec<Function>,
    /// Tables, one per control instance.
    pub tables: Vec<Table>,
    /// Instances of extern objects.
    pub externs: Vec<ExternInstance>,
    /// Parser value sets.
    pub value_sets: Vec<ValueSet>,
    /// `main`.
    pub main: Package,
    /// Annotations of the package `main` (`@pkginfo` and others).
    pub annotations: Vec<Annotation>,
    /// Some block is `@atomic` (P4_16 specification, section 18.4.1).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub atomic: bool,
}

impl Program {
    /// The current [`Program::version`].
    pub const VERSION: u32 = 3;

    /// A program of nothing, to be filled.
    pub fn empty(architecture: Architecture) -> Self {
        Self {
            version: Self::VERSION,
            architecture,
            included: None,
            files: Vec::new(),
            types: Types::default(),
            errors: Vec::new(),
            variables: Vec::new(),
            parsers: Vec::new(),
            controls: Vec::new(),
            actions: Vec::new(),
            functions: Vec::new(),
            tables: Vec::new(),
            externs: Vec::new(),
            value_sets: Vec::new(),
            main: Package { name: String::new(), arguments: Vec::new() },
            annotations: Vec::new(),
            atomic: false,
        }
    }
}

/// The architecture that a program is written for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Architecture {
    /// `V1Switch` of v1model.p4.
    V1model,
    /// `PSA_Switch` of psa.p4.
    Psa,
    /// `PNA_NIC` of pna.p4.
    Pna,
    /// A package that none of the built-in architectures declares: its name.
    Other(String),
}

impl Architecture {
    /// Whether an extern of this name, as far as the built-in architectures have one, can be this architecture's: a
    /// program for v1model may declare a `Register` of its own, one for PSA a `register`.
    #[must_use]
    pub fn may_have_extern(&self, extern_type: &ExternType) -> bool {
        match self {
            Self::V1model => extern_type.is_of_v1model(),
            Self::Psa | Self::Pna => !extern_type.is_of_v1model() && !extern_type.is_of_bpf(),
            Self::Other(_) => true,
        }
    }

    /// The architecture with a package of this name.
    pub fn of_package(name: &str) -> Option<Self> {
        Some(match name {
            "V1Switch" => Self::V1model,
            "PSA_Switch" => Self::Psa,
            "PNA_NIC" => Self::Pna,
            _ => return None,
        })
    }
}

/// A place in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Location {
    /// Index into [`Program::files`].
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}
