//! The facts about names, calls, tables and instances that the checker records for later passes.

use std::sync::Arc;

use super::Type;
use crate::ast::{Argument, DeclarationId, Expression};

/// The entity to which a path or a member expression refers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// A declared value, instance, table, parser, control, action, function or extern function. If
    /// a call refers to an overloaded function, this is the overload that the call selects.
    Declaration(DeclarationId),
    /// A type. The type of the expression is [`Type::Name`].
    Type,
    /// A field of a struct, header or header union, by position.
    Field {
        /// The declaration of the field, or `None` in a record expression without a type.
        declaration: Option<DeclarationId>,
        /// The position of the field.
        position: usize,
    },
    /// A member of an enumeration.
    EnumMember(DeclarationId),
    /// A member of `error`.
    ErrorMember(DeclarationId),
    /// A member of `match_kind`.
    MatchKindMember(DeclarationId),
    /// A method or property of headers, stacks, tables and other values that the language defines.
    Builtin(Builtin),
    /// A method of an extern. The object on which it is called is the base of the member
    /// expression, or for `this.method()` the enclosing instance.
    Method(DeclarationId),
    /// A function in the initializer block of an instance, which is called as `this.name()` or
    /// `name()`.
    This,
}

/// A method or property that the language itself defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Builtin {
    /// `header.isValid()`, `union.isValid()` (P4_16 §8.17, §8.19).
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
    /// `parser.apply` or `control.apply`, depending on the type of the receiver.
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

/// A call, including its inferred type arguments and its default arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The callee.
    pub callee: Callee,
    /// The type arguments of the callee, in the order of its type parameters. In the body of a
    /// generic declaration, they may contain the declaration's own type parameters. If the callee
    /// is a method, the type arguments of its object (such as an extern's `T`) are part of the
    /// object's type and not included here.
    pub type_arguments: Vec<Type>,
    /// The arguments, one for each parameter of the callee, in the order of the parameters.
    pub arguments: Vec<BoundArgument>,
    /// The types of the parameters, after type arguments are substituted for the type parameters of
    /// the callee and of the object on which it is called.
    pub parameter_types: Vec<Type>,
    /// The return type, after type arguments are substituted for type parameters.
    pub return_type: Type,
}

impl Call {
    /// Returns the expression that the call passes for the parameter at `position`, or `None` if
    /// the call has no explicit argument for it.
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

/// The function, method, action or constructor that a call calls.
#[derive(Debug, Clone, PartialEq)]
pub enum Callee {
    /// A function with a body.
    Function(DeclarationId),
    /// An extern function.
    ExternFunction(DeclarationId),
    /// An action, called directly.
    Action(DeclarationId),
    /// A method of an extern object. If the method is abstract, it is implemented in the
    /// initializer block of the instance.
    Method {
        /// The method.
        method: DeclarationId,
        /// The type of the object, with its type arguments.
        object: Type,
    },
    /// A method that the language defines, such as `isValid`. If it is [`Builtin::Apply`]
    /// (`parser.apply` or `control.apply`), its parameters are those of the parser or control.
    Builtin {
        /// The method.
        builtin: Builtin,
        /// The type of the value on which the method is called. For a method that returns a size,
        /// this is the type whose size it returns.
        object: Type,
    },
    /// The constructor of an anonymous instance, which is created by a constructor call in an
    /// expression or by a direct invocation.
    Constructor {
        /// The type of the instance, with its type arguments.
        object: Type,
        /// If the instance is an extern, the constructor that the arguments select. `None` for
        /// other instances.
        constructor: Option<DeclarationId>,
    },
}

/// The source of a parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundArgument {
    /// The argument at this position in the call's list of arguments.
    Given(usize),
    /// The default value that the parameter's declaration states.
    Default,
    /// No value: the parameter is `@optional` and the argument is omitted.
    Absent,
    /// The argument `_` at this position in the call's list of arguments. For an `out` parameter,
    /// the value is discarded. For a parameter of a package, the argument is omitted.
    DontCare(usize),
    /// No value in the source: the control plane sets this parameter of a table's action.
    ControlPlane,
}

/// A declared instance, `T(arguments) name;` (§11.3). Anonymous instances are [`Call`]s with a
/// [`Callee::Constructor`].
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// The type of the instance, with explicit or inferred type arguments.
    pub ty: Type,
    /// If the instance is an extern, the constructor that the arguments select. `None` for other
    /// instances.
    pub constructor: Option<DeclarationId>,
    /// The arguments, one for each parameter of the constructor, in the order of the parameters.
    pub arguments: Vec<BoundArgument>,
    /// The types of the constructor's parameters, after type arguments are substituted for type
    /// parameters.
    pub parameter_types: Vec<Type>,
    /// The implementations of the extern's abstract methods. Each pair consists of a method and of
    /// the function in the initializer block that implements it.
    pub implementations: Vec<(DeclarationId, DeclarationId)>,
}

/// The facts about a table that the checker determines (§14.2).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TableFacts {
    /// The keys of the table, in order.
    pub keys: Vec<KeyFacts>,
    /// The actions, in order. If a table neither has a `default_action` nor lists `NoAction`, this
    /// action is added at the end of the list, with [`ActionFacts::is_implicit`] set.
    pub actions: Vec<ActionFacts>,
    /// The default action. It is `None` only in a program with errors.
    pub default_action: Option<ActionCallFacts>,
    /// Whether the property `default_action` is `const`.
    pub default_action_is_const: bool,
    /// The entries of the table, in order.
    pub entries: Vec<EntryFacts>,
    /// Whether the property `entries` is `const`.
    pub entries_are_const: bool,
    /// The property `size`, if its value does not depend on constructor parameters.
    pub size: Option<u64>,
    /// The configuration in the annotation `@tableconfig`, or `None` if the table does not have it.
    pub configuration: Option<ir::TableStorage>,
}

/// A key element of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyFacts {
    /// The type of the key expression.
    pub ty: Type,
    /// The name of the match kind.
    pub match_kind: Arc<str>,
    /// The declaration of the match kind, or `None` if it is undeclared.
    pub match_kind_declaration: Option<DeclarationId>,
}

/// An action of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionFacts {
    /// The action.
    pub action: DeclarationId,
    /// The arguments, one for each parameter of the action. An argument comes from the table's list
    /// of actions or, for a parameter without a direction, from the control plane.
    pub arguments: Vec<BoundArgument>,
    /// Whether the action is not in the source and was added by the checker.
    pub is_implicit: bool,
}

/// A call of a table's action with all its arguments, for the default action or an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionCallFacts {
    /// The position of the action in [`TableFacts::actions`].
    pub position: usize,
    /// The arguments, one for each parameter of the action. Positions of arguments refer to the
    /// argument list of this call, which contains all arguments: those for parameters with a
    /// direction, and those that the control plane would otherwise set.
    pub arguments: Vec<BoundArgument>,
}

/// The facts about an entry of a table that the checker determines. The key sets are in the syntax
/// tree, in `entry.keyset`, which is a tuple if the table has several keys. Conversions of their
/// parts are recorded in the same way as those of other expressions.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryFacts {
    /// The action of the entry.
    pub action: ActionCallFacts,
    /// The priority of the entry, or `None` if the source does not set one.
    pub priority: Option<u32>,
}
