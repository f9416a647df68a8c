//! What the checker found out about the uses of names, calls, tables and instances.

use std::sync::Arc;

use super::Type;
use crate::ast::{Argument, DeclarationId, Expression};

/// What a path or a member expression stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// A declared value, instance, table, parser, control, action, function or extern function. For the callee of a
    /// call of overloaded functions, the one that was chosen.
    Declaration(DeclarationId),
    /// A type: [`super::Checked::type_of`] gives [`Type::Name`].
    Type,
    /// A field of a struct, header or header union, by position.
    Field {
        /// The field; `None` in a record without name.
        declaration: Option<DeclarationId>,
        /// Its position.
        position: usize,
    },
    /// A member of an enum.
    EnumMember(DeclarationId),
    /// A member of `error`.
    ErrorMember(DeclarationId),
    /// A member of `match_kind`.
    MatchKindMember(DeclarationId),
    /// A method or a property that the language defines.
    Builtin(Builtin),
    /// A method of an extern. The receiver is the base of the member expression; of `this.method()` the instance
    /// around it.
    Method(DeclarationId),
    /// A function in the block of the instance, called as `this.name()` or by its name.
    This,
}

/// Methods and properties that the language itself defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Builtin {
    /// `header.isValid()`, `union.isValid()` (§8.17, §8.19).
    IsValid,
    /// `header.setValid()`.
    SetValid,
    /// `header.setInvalid()`.
    SetInvalid,
    /// `stack.push_front(count)` (§8.18).
    PushFront,
    /// `stack.pop_front(count)`.
    PopFront,
    /// `stack.next`, in parsers.
    Next,
    /// `stack.last`, in parsers.
    Last,
    /// `stack.lastIndex`, in parsers.
    LastIndex,
    /// `stack.size`, a constant.
    Size,
    /// `parser.apply`, `control.apply`: the receiver's type says which.
    Apply,
    /// `table.apply`.
    ApplyTable,
    /// `table.apply().hit`.
    Hit,
    /// `table.apply().miss`.
    Miss,
    /// `table.apply().action_run`.
    ActionRun,
    /// `minSizeInBits()` (§9), a constant.
    MinSizeInBits,
    /// `minSizeInBytes()`.
    MinSizeInBytes,
    /// `maxSizeInBits()`.
    MaxSizeInBits,
    /// `maxSizeInBytes()`.
    MaxSizeInBytes,
}

/// A call, with everything that the source leaves open filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// What is called.
    pub callee: Callee,
    /// What the callee's own type parameters stand for, in order. In a generic body these may hold the type
    /// parameters of that body. Those of the receiver's type (an extern's `T`) are in the receiver's type.
    pub type_arguments: Vec<Type>,
    /// One for each parameter of the callee, in the order of the parameters.
    pub arguments: Vec<BoundArgument>,
    /// The type of each parameter, type parameters of callee and receiver replaced.
    pub parameter_types: Vec<Type>,
    /// What the call gives, type parameters replaced.
    pub return_type: Type,
}

impl Call {
    /// Returns the expression that the call passes for the parameter at `position`, by name or by
    /// position.
    pub fn given<'call>(
        &self,
        position: usize,
        arguments: &'call [Argument],
    ) -> Option<&'call Expression> {
        match self.arguments.get(position) {
            Some(BoundArgument::Given(at)) => arguments.get(*at).map(|argument| &argument.value),
            _ => None,
        }
    }
}

/// What is called.
#[derive(Debug, Clone, PartialEq)]
pub enum Callee {
    /// A function with a body.
    Function(DeclarationId),
    /// An extern function.
    ExternFunction(DeclarationId),
    /// An action, called directly.
    Action(DeclarationId),
    /// A method of an extern object. If the method is abstract, the instance's block has the function.
    Method {
        /// The method.
        method: DeclarationId,
        /// The type of the object, with its type arguments.
        object: Type,
    },
    /// A method of the language. For [`Builtin::Apply`], `parser.apply` or `control.apply`, the parameters are those
    /// of the object's type.
    Builtin {
        /// Which.
        builtin: Builtin,
        /// The type of what it is called on; for the sizes, the type that is measured.
        object: Type,
    },
    /// A nameless instance: a constructor call in an expression, or the instance behind a direct application.
    Constructor {
        /// What is constructed, with its type arguments.
        object: Type,
        /// The constructor, where the object is an extern.
        constructor: Option<DeclarationId>,
    },
}

/// Where the value of a parameter comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundArgument {
    /// The argument at this position of the call.
    Given(usize),
    /// The parameter's default value.
    Default,
    /// Nowhere: the parameter is `@optional` and not given.
    Absent,
    /// `_` at this position: an `out` that is not wanted, or a package parameter left out.
    DontCare(usize),
    /// The control plane's: a parameter without direction of an action in a table.
    ControlPlane,
}

/// An instance (§11.3): a declaration `T(arguments) name;`. Nameless ones are [`Call`]s with
/// [`Callee::Constructor`].
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// What it is an instance of, type arguments written or inferred.
    pub ty: Type,
    /// The constructor, where the object is an extern.
    pub constructor: Option<DeclarationId>,
    /// One for each parameter of the constructor, in their order.
    pub arguments: Vec<BoundArgument>,
    /// The type of each parameter of the constructor, type parameters replaced.
    pub parameter_types: Vec<Type>,
    /// The functions of the block that implement abstract methods: method, then function.
    pub implementations: Vec<(DeclarationId, DeclarationId)>,
}

/// A table (§14.2).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TableFacts {
    /// Keys, in order.
    pub keys: Vec<KeyFacts>,
    /// Actions, in order. `NoAction` is added at the end where neither the list nor `default_action` names another
    /// default; then [`ActionFacts::is_implicit`] is set.
    pub actions: Vec<ActionFacts>,
    /// The default action; `None` only in a program with errors.
    pub default_action: Option<ActionCallFacts>,
    /// Whether `default_action` is `const`.
    pub default_action_is_const: bool,
    /// Entries, in order.
    pub entries: Vec<EntryFacts>,
    /// Whether the property `entries` is `const`.
    pub entries_are_const: bool,
    /// `size`, if its value does not depend on constructor parameters.
    pub size: Option<u64>,
    /// `@tableconfig` of in-table state, if written.
    pub configuration: Option<ir::TableStorage>,
}

/// A key element.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyFacts {
    /// Type of its expression.
    pub ty: Type,
    /// How it matches: a member of `match_kind`.
    pub match_kind: Arc<str>,
    /// That member.
    pub match_kind_declaration: Option<DeclarationId>,
}

/// An action of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionFacts {
    /// The action.
    pub action: DeclarationId,
    /// One for each parameter: what the table's list gives, and what the control plane does.
    pub arguments: Vec<BoundArgument>,
    /// Not written in the table.
    pub is_implicit: bool,
}

/// An action of a table with all its arguments: the default action or that of an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionCallFacts {
    /// Position in [`TableFacts::actions`].
    pub position: usize,
    /// One for each parameter of the action: positions are those of the arguments written here, for parameters with
    /// direction as well as for the control plane's.
    pub arguments: Vec<BoundArgument>,
}

/// An entry of a table. Its key sets are `entry.keyset`, or its elements where it is a tuple; the conversions of
/// their parts are recorded like those of other expressions.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryFacts {
    /// What it runs.
    pub action: ActionCallFacts,
    /// The priority that was written.
    pub priority: Option<u32>,
}
