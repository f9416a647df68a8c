//! Names, types and rules: from the syntax tree to what it means.
//!
//! [`check`] goes over the program once, in source order, as P4_16 wants names declared before they are used. What
//! it learns goes into vectors beside the tree, indexed by the tree's own numbers: [`Checked`]. Whoever reads the
//! tree next (the lowering to the intermediate form) finds there, for each expression, its type, what the context
//! converts it to, what names stand for, which overload a call chose and how arguments meet parameters.
//!
//! Generic declarations are checked once, with [`Type::Variable`] for their type parameters, not once for each
//! use. Constructor parameters have no value here: [`Checked::evaluate`] takes an [`Environment`] that has one for
//! them.
//!
//! References such as "§8.9" are sections of the P4_16 language specification, version 1.2.4.

mod add_on_miss;
mod annotation;
mod arguments;
mod budget;
mod call;
mod checker;
mod constant;
mod construct;
mod convert;
mod core_methods;
mod declaration;
mod direct_externs;
mod display;
mod division;
mod entry_list;
mod evaluate;
mod expression;
mod extent;
mod facts;
mod index;
mod instance;
mod limits;
mod method_call;
mod operator;
mod overload;
mod parameter;
mod parser_state;
mod postponed;
mod signature;
mod size;
mod statement;
mod table;
mod target;
#[cfg(test)]
mod tests;
mod type_declaration;
mod type_reference;
mod types;
mod unify;
mod uninitialized;
mod whole_program;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

pub use constant::Constant;
pub use facts::{
    ActionCallFacts, ActionFacts, BoundArgument, Builtin, Call, Callee, EntryFacts, Instance,
    KeyFacts, Resolution, TableFacts,
};
pub use index::{Index, Node};
pub use types::{Bindings, Named, Type};

use crate::ast::{self, DeclarationId, ExpressionId, TypeId};
use crate::diagnostic::Diagnostics;
use crate::source::SourceMap;
use ir::CompileLimits;
use ir::bits::Bits;

/// Checks a program, with the limits that hold where none are set. Errors and warnings go to `diagnostics`; the result
/// may be read further only if there are no errors among them.
pub fn check<'program>(
    program: &'program ast::Program,
    sources: &SourceMap,
    diagnostics: &mut Diagnostics,
) -> Checked<'program> {
    check_within(program, sources, &CompileLimits::default(), diagnostics)
}

/// As [`check`], with other limits.
pub fn check_within<'program>(
    program: &'program ast::Program,
    sources: &SourceMap,
    limits: &CompileLimits,
    diagnostics: &mut Diagnostics,
) -> Checked<'program> {
    let mut checker = checker::Checker::new(program, sources, limits, diagnostics);
    checker.program();
    let problem = checker.out.budget.take_problem();
    let out = checker.out;
    if let Some(problem) = problem {
        diagnostics.push(problem);
    }
    out
}

/// What is known about a checked program, by the numbers of the syntax tree.
#[derive(Debug, Clone)]
pub struct Checked<'program> {
    /// The program.
    pub program: &'program ast::Program,
    /// What each [`DeclarationId`] numbers.
    pub index: Index<'program>,
    expression_types: Vec<Type>,
    conversions: HashMap<ExpressionId, Type>,
    constants: HashMap<ExpressionId, Constant>,
    resolutions: HashMap<ExpressionId, Resolution>,
    calls: HashMap<ExpressionId, Call>,
    direct_applications: HashMap<TypeId, DirectApplication>,
    types: Vec<Type>,
    declared_types: Vec<Type>,
    instances: HashMap<DeclarationId, Instance>,
    tables: HashMap<DeclarationId, TableFacts>,
    switch_on_actions: HashMap<ExpressionId, DeclarationId>,
    errors: Vec<DeclarationId>,
    enum_values: HashMap<DeclarationId, Bits>,
    main: Option<DeclarationId>,
    /// What constants may still cost.
    pub(crate) budget: budget::Budget,
    pub(crate) limits: CompileLimits,
    /// Those of declared types.
    extents: HashMap<DeclarationId, extent::Extent>,
    sizes: RefCell<HashMap<Type, Option<size::Sizes>>>,
}

/// `T.apply(arguments)` with a type (§14.5): a nameless instance, applied.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectApplication {
    /// The instance, [`Callee::Constructor`].
    pub instance: Call,
    /// The call of its `apply`.
    pub apply: Call,
}

impl<'program> Checked<'program> {
    fn new(program: &'program ast::Program, sources: &SourceMap, limits: &CompileLimits) -> Self {
        let bytes = sources.files().iter().map(|file| file.text().len() as u64).sum();
        Self {
            program,
            index: Index::new(program),
            expression_types: vec![Type::Unknown; program.expression_count as usize],
            conversions: HashMap::new(),
            constants: HashMap::new(),
            resolutions: HashMap::new(),
            calls: HashMap::new(),
            direct_applications: HashMap::new(),
            types: vec![Type::Unknown; program.type_count as usize],
            declared_types: vec![Type::Unknown; program.declaration_count as usize],
            instances: HashMap::new(),
            tables: HashMap::new(),
            switch_on_actions: HashMap::new(),
            errors: Vec::new(),
            enum_values: HashMap::new(),
            main: None,
            budget: budget::Budget::new(bytes),
            limits: *limits,
            extents: HashMap::new(),
            sizes: RefCell::default(),
        }
    }

    /// The type that an expression has by itself, before its context converts it.
    pub fn type_of(&self, expression: ExpressionId) -> &Type {
        self.expression_types.get(expression.index()).unwrap_or(&Type::Unknown)
    }

    /// The type that an expression has for its context: what it is converted to without a cast (an `int` to
    /// `bit<W>`, a represented enum member to its bits, a list or record expression to a struct, header, tuple,
    /// list or stack, `{#}` and `...` to a type), else its own. The parts of a list, record, conditional or key set
    /// that is converted have conversions of their own.
    pub fn converted_type_of(&self, expression: ExpressionId) -> &Type {
        self.conversions.get(&expression).unwrap_or_else(|| self.type_of(expression))
    }

    /// The conversion that the context asks for, if there is one.
    pub fn conversion(&self, expression: ExpressionId) -> Option<&Type> {
        self.conversions.get(&expression)
    }

    /// The value of an expression by itself, if it is known at compile time and does not depend on constructor
    /// parameters. List and record expressions have one only for their context: [`Checked::evaluate`].
    pub fn constant(&self, expression: ExpressionId) -> Option<&Constant> {
        self.constants.get(&expression)
    }

    /// What a path or member expression stands for. Callees too.
    pub fn resolution(&self, expression: ExpressionId) -> Option<&Resolution> {
        self.resolutions.get(&expression)
    }

    /// The call that a call expression is.
    pub fn call(&self, expression: ExpressionId) -> Option<&Call> {
        self.calls.get(&expression)
    }

    /// The two steps of a direct application with a type, by the type reference in its statement.
    pub fn direct_application(&self, target: TypeId) -> Option<&DirectApplication> {
        self.direct_applications.get(&target)
    }

    /// What a type reference means.
    pub fn type_at(&self, id: TypeId) -> &Type {
        self.types.get(id.index()).unwrap_or(&Type::Unknown)
    }

    /// The type of a declared value (constant, variable, parameter, field, value set (its element), instance, table,
    /// enum member), or the type that a type declaration declares, with its own type parameters as arguments.
    pub fn declared_type(&self, id: DeclarationId) -> &Type {
        self.declared_types.get(id.index()).unwrap_or(&Type::Unknown)
    }

    /// What an instantiation declares.
    pub fn instance(&self, id: DeclarationId) -> Option<&Instance> {
        self.instances.get(&id)
    }

    /// What a table declares.
    pub fn table(&self, id: DeclarationId) -> Option<&TableFacts> {
        self.tables.get(&id)
    }

    /// For the subject of a `switch` on `table.apply().action_run`: the table. The labels then resolve to actions.
    pub fn switch_table(&self, subject: ExpressionId) -> Option<DeclarationId> {
        self.switch_on_actions.get(&subject).copied()
    }

    /// All members of `error`, in the order of their declaration; `NoError` of core.p4 comes first.
    pub fn errors(&self) -> &[DeclarationId] {
        &self.errors
    }

    /// `NoError`, if the program declares it: core.p4 does.
    pub fn no_error(&self) -> Option<DeclarationId> {
        self.errors.first().copied().filter(|first| &*self.name(*first) == "NoError")
    }

    /// The package instance `main`.
    pub fn main(&self) -> Option<DeclarationId> {
        self.main
    }

    /// What represents a serializable enum or a `type`: one step down. `None` for other types.
    pub fn underlying(&self, ty: &Type) -> Option<&Type> {
        let id = match ty {
            Type::SerializableEnum(id) | Type::NewType(id) => *id,
            _ => return None,
        };
        match &self.index.get_declaration(id)?.kind {
            ast::DeclarationKind::Enum { underlying: Some(ty), .. }
            | ast::DeclarationKind::NewType(ty) => Some(self.type_at(ty.id)),
            _ => None,
        }
    }

    /// The type parameters of a generic declaration, in order.
    pub fn type_parameters(&self, id: DeclarationId) -> &'program [ast::TypeParameter] {
        match self.index.get(id) {
            Some(Node::Method(method)) => &method.prototype.type_parameters,
            Some(Node::Declaration(declaration)) => match &declaration.kind {
                ast::DeclarationKind::ExternObject(object) => &object.type_parameters,
                ast::DeclarationKind::ExternFunction(prototype)
                | ast::DeclarationKind::Function { prototype, .. } => &prototype.type_parameters,
                ast::DeclarationKind::Parser(parser) => &parser.type_parameters,
                ast::DeclarationKind::ParserType(parser) => &parser.type_parameters,
                ast::DeclarationKind::Control(control) => &control.type_parameters,
                ast::DeclarationKind::ControlType(control) => &control.type_parameters,
                ast::DeclarationKind::Package(package) => &package.type_parameters,
                ast::DeclarationKind::Header { type_parameters, .. }
                | ast::DeclarationKind::HeaderUnion { type_parameters, .. }
                | ast::DeclarationKind::Struct { type_parameters, .. } => type_parameters,
                _ => &[],
            },
            _ => &[],
        }
    }

    /// What the type parameters of a declared type's declaration stand for in this type.
    pub fn bindings(&self, named: &Named) -> Bindings {
        self.type_parameters(named.declaration)
            .iter()
            .zip(named.arguments.iter())
            .map(|(parameter, argument)| (parameter.id, argument.clone()))
            .collect()
    }

    /// The fields of a struct, header or header union, with the declared type's arguments put in. Empty for other
    /// types.
    pub fn fields(&self, ty: &Type) -> Vec<Field<'program>> {
        let (Type::Struct(named) | Type::Header(named) | Type::HeaderUnion(named)) = ty else {
            return Vec::new();
        };
        let Some(declaration) = self.index.get_declaration(named.declaration) else {
            return Vec::new();
        };
        let (ast::DeclarationKind::Struct { fields, .. }
        | ast::DeclarationKind::Header { fields, .. }
        | ast::DeclarationKind::HeaderUnion { fields, .. }) = &declaration.kind
        else {
            return Vec::new();
        };
        let bindings = self.bindings(named);
        fields
            .iter()
            .map(|field| Field { field, ty: self.type_at(field.ty.id).substitute(&bindings) })
            .collect()
    }
}

/// A field of a type.
#[derive(Debug, Clone)]
pub struct Field<'program> {
    /// As it was declared.
    pub field: &'program ast::StructField,
    /// Its type, type parameters replaced.
    pub ty: Type,
}

/// What constructor parameters and type parameters stand for in one instance.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// Values of constructor parameters, and of local constants that depend on them.
    pub values: HashMap<DeclarationId, Constant>,
    /// Types of type parameters.
    pub types: Bindings,
}

impl Checked<'_> {
    /// The name of a declaration; empty where it has none.
    pub fn name(&self, id: DeclarationId) -> Arc<str> {
        self.index
            .get(id)
            .and_then(Node::name)
            .map_or_else(|| Arc::from(""), |name| name.text.clone())
    }
}
