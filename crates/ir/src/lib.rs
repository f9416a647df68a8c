//! The intermediate representation (IR) of a checked P4 program.
//!
//! The crate `p4lang` lowers P4 source and BMv2 JSON to this form. The reference interpreter, the
//! code generator and the latency models all read it, so it is not tailored to any of them.
//! Compared with P4 source, a program in this form is:
//!
//! * **Elaborated.** Packages, parsers and controls are instances, one per instantiation, with
//!   their constructor arguments substituted. Generic functions are specialised. Objects have their
//!   control-plane names.
//! * **Statically allocated.** P4 has no recursion, so every variable, parameter and temporary of
//!   the program is one entry of [`Program::variables`]. The state of a packet is one flat frame.
//! * **Made of pure expressions.** Every operation that has an effect or can fail (a call, the
//!   application of a table, `lookahead`) is a statement that stores its result in a variable. The
//!   order of evaluation that the specification requires (P4_16 specification, section 8.1.1) is
//!   explicit, and `&&`, `||` and `?:` whose operands have effects are expanded to statements.
//! * **Explicit about copy-in and copy-out** (section 6.8). Each argument states the expression
//!   that is evaluated before the call and the place that is assigned after it, from left to right.
//! * **Erased to representations.** A `type` or serializable enumeration is replaced by its
//!   underlying bits. Only the control plane needs the declared type, which is kept beside the
//!   representation as a [`UserTypeId`].

mod annotation;
pub mod bits;
mod block;
mod call_graph;
mod choice;
mod expression;
mod externs;
pub mod hash;
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
pub use choice::Choice;
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
            /// Returns the id as an index into the list of items of its kind, such as
            /// `Program::tables` for a `TableId`.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// The id of a type in [`Types`].
    TypeId;
    /// The id of a struct, header or header union in [`Types::composites`].
    CompositeId;
    /// The id of an enumeration without an underlying type in [`Types::enums`].
    EnumId;
    /// The id of a `type` or serializable enumeration in [`Types::user_types`].
    UserTypeId;
    /// The id of a variable in [`Program::variables`].
    VariableId;
    /// The id of a parser instance in [`Program::parsers`].
    ParserId;
    /// The id of a parser state in the list of its parser's states.
    StateId;
    /// The id of a control instance in [`Program::controls`].
    ControlId;
    /// The id of an action in [`Program::actions`].
    ActionId;
    /// The id of a function in [`Program::functions`].
    FunctionId;
    /// The id of a table in [`Program::tables`].
    TableId;
    /// The id of an extern instance in [`Program::externs`].
    ExternId;
    /// The id of a parser value set in [`Program::value_sets`].
    ValueSetId;
}

/// A checked P4 program.
///
/// The lists in its fields are in the order in which p4c evaluates declarations. Output that is
/// derived from them, such as P4Info, therefore has the same order as p4c's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// The version of the IR in which the program is written. A reader refuses versions that it
    /// does not know.
    pub version: u32,
    /// The architecture whose package `main` is an instance of.
    pub architecture: Architecture,
    /// The built-in architecture whose declarations the source includes, if its `main` is an
    /// instance of another package. `None` if there is no such architecture. The program may use
    /// the extern objects of the included architecture, and its P4Info is written as if it were for
    /// that architecture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub included: Option<Architecture>,
    /// The paths of the source files, indexed by [`Location::file`].
    pub files: Vec<String>,
    /// The types that the program uses.
    pub types: Types,
    /// The members of `error`. A value of type `error` is a position in this list; `NoError` is the
    /// first member.
    pub errors: Vec<String>,
    /// The variables, parameters and temporaries of all blocks.
    pub variables: Vec<Variable>,
    /// The parser instances.
    pub parsers: Vec<Parser>,
    /// The control instances.
    pub controls: Vec<Control>,
    /// The actions: one for each control instance that declares the action, and one for each action
    /// at top level.
    pub actions: Vec<Action>,
    /// The functions, one for each distinct list of type arguments.
    pub functions: Vec<Function>,
    /// The tables, one for each control instance that declares the table.
    pub tables: Vec<Table>,
    /// The instances of extern objects.
    pub externs: Vec<ExternInstance>,
    /// The parser value sets, one for each parser instance that declares the value set.
    pub value_sets: Vec<ValueSet>,
    /// The package instance `main`.
    pub main: Package,
    /// The annotations of the package instance `main`, such as `@pkginfo`.
    pub annotations: Vec<Annotation>,
    /// Whether any block has the annotation `@atomic` (P4_16 specification, section 18.4.1).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub atomic: bool,
}

impl Program {
    /// The version of the IR ([`Program::version`]) that this crate writes and reads.
    pub const VERSION: u32 = 3;

    /// Returns a program without declarations.
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
    /// v1model.p4, with the package `V1Switch`.
    V1model,
    /// psa.p4, with the package `PSA_Switch`.
    Psa,
    /// pna.p4, with the package `PNA_NIC`.
    Pna,
    /// An architecture that is not built in. The string is the name of its package.
    Other(String),
}

impl Architecture {
    /// Returns whether a program for this architecture can use the built-in extern type.
    ///
    /// v1model has types of its own, which programs for PSA and PNA cannot use, and programs for
    /// v1model cannot use the types of PSA and PNA. Without this rule, a `Register` that a program
    /// for v1model declares itself would be taken for the `Register` of PSA. Types of PSA and of
    /// PNA are not distinguished from each other. Types for BPF cannot be used in any of the three
    /// architectures.
    #[must_use]
    pub fn may_have_extern(&self, extern_type: &ExternType) -> bool {
        match self {
            Self::V1model => extern_type.is_of_v1model(),
            Self::Psa | Self::Pna => !extern_type.is_of_v1model() && !extern_type.is_of_bpf(),
            Self::Other(_) => true,
        }
    }

    /// Returns whether this is one of the architectures for BPF. They are not built in, so they are
    /// recognised by the name of the package.
    #[must_use]
    pub fn is_for_bpf(&self) -> bool {
        const PACKAGES: [&str; 3] = ["ebpfFilter", "ubpf", "xdp"];
        matches!(self, Self::Other(package) if PACKAGES.contains(&package.as_str()))
    }

    /// Returns the built-in architecture whose package has the given name, or `None` if there is
    /// none.
    pub fn of_package(name: &str) -> Option<Self> {
        Some(match name {
            "V1Switch" => Self::V1model,
            "PSA_Switch" => Self::Psa,
            "PNA_NIC" => Self::Pna,
            _ => return None,
        })
    }
}

/// A position in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Location {
    /// The index of the file in [`Program::files`].
    pub file: u32,
    /// The line, counted from 1.
    pub line: u32,
    /// The column in characters, counted from 1.
    pub column: u32,
}
