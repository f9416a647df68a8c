//! The checker, which resolves names, infers types and enforces the rules of the language and the
//! architectures.
//!
//! [`check`] traverses the syntax tree once, in source order, since P4_16 requires names to be
//! declared before they are used. It stores its results in [`Checked`], in vectors and maps that
//! are indexed by the ids of the tree. For each expression, these contain its type, the conversion
//! that its context requires, the declaration to which a name refers, the overload that a call
//! selects, and the argument that is bound to each parameter. The next pass, the lowering to the
//! IR, reads them.
//!
//! A generic declaration is checked only once, and not for each use. [`Type::Variable`] stands for
//! its type parameters. Constructor parameters have no values during the check.
//! [`Checked::evaluate`] takes an [`Environment`] with their values.
//!
//! References such as "§8.9" are to sections of the P4_16 language specification, version 1.2.4.

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

/// Checks a program with the default [`CompileLimits`]. Errors and warnings are reported to
/// `diagnostics`. The results may be lowered to the IR only if there are no errors.
pub fn check<'program>(
    program: &'program ast::Program,
    sources: &SourceMap,
    diagnostics: &mut Diagnostics,
) -> Checked<'program> {
    check_within(program, sources, &CompileLimits::default(), diagnostics)
}

/// Checks a program with the given limits. Errors and warnings are reported to `diagnostics`, as by
/// [`check`].
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

/// The results of checking a program, indexed by the ids of the syntax tree.
#[derive(Debug, Clone)]
pub struct Checked<'program> {
    /// The program that was checked.
    pub program: &'program ast::Program,
    /// An index from each [`DeclarationId`] to the node of the syntax tree that has this id.
    pub index: Index<'program>,
    /// The type of each expression before its context converts it.
    expression_types: Vec<Type>,
    /// For each expression that its context converts, the resulting type.
    conversions: HashMap<ExpressionId, Type>,
    constants: HashMap<ExpressionId, Constant>,
    /// For each path or member expression, the entity (such as a variable) to which it refers.
    resolutions: HashMap<ExpressionId, Resolution>,
    calls: HashMap<ExpressionId, Call>,
    direct_applications: HashMap<TypeId, DirectApplication>,
    /// The type to which each type reference of the syntax tree refers.
    types: Vec<Type>,
    declared_types: Vec<Type>,
    instances: HashMap<DeclarationId, Instance>,
    tables: HashMap<DeclarationId, TableFacts>,
    /// For each `switch` on `action_run`, the table whose `action_run` it examines. The key is the
    /// subject of the `switch`.
    switch_on_actions: HashMap<ExpressionId, DeclarationId>,
    errors: Vec<DeclarationId>,
    enum_values: HashMap<DeclarationId, Bits>,
    main: Option<DeclarationId>,
    /// The budget that remains for computing constants, which limits the time of the check.
    pub(crate) budget: budget::Budget,
    pub(crate) limits: CompileLimits,
    /// The nesting depth and number of parts of each declared type; see the module `extent`.
    extents: HashMap<DeclarationId, extent::Extent>,
    /// A cache of the sizes of types in bits.
    sizes: RefCell<HashMap<Type, Option<size::Sizes>>>,
    /// For each declaration of a type, a map from the names of its fields to their positions. A
    /// declaration is added when one of its fields is looked up for the first time.
    field_positions: RefCell<HashMap<DeclarationId, HashMap<Arc<str>, usize>>>,
}

/// A direct invocation `T.apply(arguments)` of a type (§14.5). It constructs an anonymous instance
/// of the type and calls `apply` on it.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectApplication {
    /// The construction of the instance, with a [`Callee::Constructor`].
    pub instance: Call,
    /// The call of `apply`.
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
            field_positions: RefCell::default(),
        }
    }

    /// Returns the type that an expression has before its context converts it.
    pub fn type_of(&self, expression: ExpressionId) -> &Type {
        self.expression_types.get(expression.index()).unwrap_or(&Type::Unknown)
    }

    /// Returns the type that an expression has after its context has converted it.
    ///
    /// The implicit conversions are: an `int` to `bit<W>`, `int<W>` or a `type` based on these, a
    /// number with a width that is known at compile time to `int`, a member of a serializable
    /// enumeration to its underlying type, a list or record expression to a struct, header, tuple,
    /// list or stack, and `{#}` or `...` to the expected type. If a list, record, conditional or
    /// key set is converted, its parts have conversions of their own. An expression that is not
    /// converted keeps its own type.
    pub fn converted_type_of(&self, expression: ExpressionId) -> &Type {
        self.conversions.get(&expression).unwrap_or_else(|| self.type_of(expression))
    }

    /// Returns the type to which the context converts an expression, or `None` if it is not
    /// converted.
    pub fn conversion(&self, expression: ExpressionId) -> Option<&Type> {
        self.conversions.get(&expression)
    }

    /// Returns the value of an expression before its context converts it. Returns `None` if the
    /// value is not known at compile time or depends on constructor parameters. A list or record
    /// expression has a value only after its conversion; see [`Checked::evaluate`].
    pub fn constant(&self, expression: ExpressionId) -> Option<&Constant> {
        self.constants.get(&expression)
    }

    /// Returns the entity to which a path or member expression refers, or `None` for other
    /// expressions. The callee of a call is such an expression too.
    pub fn resolution(&self, expression: ExpressionId) -> Option<&Resolution> {
        self.resolutions.get(&expression)
    }

    /// Returns the results of checking a call expression, or `None` for any other expression.
    pub fn call(&self, expression: ExpressionId) -> Option<&Call> {
        self.calls.get(&expression)
    }

    /// Returns the construction and the call of a direct invocation, `T.apply(...)`. `target` is
    /// the reference to `T` in the statement.
    pub fn direct_application(&self, target: TypeId) -> Option<&DirectApplication> {
        self.direct_applications.get(&target)
    }

    /// Returns the type to which a type reference refers.
    pub fn type_at(&self, id: TypeId) -> &Type {
        self.types.get(id.index()).unwrap_or(&Type::Unknown)
    }

    /// Returns the type of a declared constant, variable, parameter, field, instance, table or
    /// enumeration member, or the type of the elements of a value set. For the declaration of a
    /// type, returns the declared type, with its own type parameters as type arguments.
    pub fn declared_type(&self, id: DeclarationId) -> &Type {
        self.declared_types.get(id.index()).unwrap_or(&Type::Unknown)
    }

    /// Returns the results of checking an instance declaration, or `None` for any other
    /// declaration.
    pub fn instance(&self, id: DeclarationId) -> Option<&Instance> {
        self.instances.get(&id)
    }

    /// Returns the results of checking a table, or `None` for any other declaration.
    pub fn table(&self, id: DeclarationId) -> Option<&TableFacts> {
        self.tables.get(&id)
    }

    /// Returns the table whose `action_run` a `switch` examines, so that the labels are names of
    /// actions. `subject` is the expression that the `switch` examines. Returns `None` for any
    /// other `switch`.
    pub fn switch_table(&self, subject: ExpressionId) -> Option<DeclarationId> {
        self.switch_on_actions.get(&subject).copied()
    }

    /// Returns the members of `error`, in order of declaration, except that `NoError` comes first.
    pub fn errors(&self) -> &[DeclarationId] {
        &self.errors
    }

    /// Returns the declaration of `NoError`, which core.p4 contains.
    pub fn no_error(&self) -> Option<DeclarationId> {
        self.errors.first().copied().filter(|first| &*self.name(*first) == "NoError")
    }

    /// Returns the declaration of the package instance `main`, or `None` if the program has none.
    pub fn main(&self) -> Option<DeclarationId> {
        self.main
    }

    /// Returns the underlying type of a serializable enumeration, or the type on which a `type`
    /// declaration is based, which may be another `type`. Returns `None` for other types.
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

    /// Returns the type parameters of a declaration, in order. The list is empty if it is not
    /// generic.
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

    /// Returns, for each type parameter of a declared type, the type argument that `named` has for
    /// it.
    pub fn bindings(&self, named: &Named) -> Bindings {
        self.type_parameters(named.declaration)
            .iter()
            .zip(named.arguments.iter())
            .map(|(parameter, argument)| (parameter.id, argument.clone()))
            .collect()
    }

    /// Returns the fields of a struct, header or header union. Type arguments are substituted in
    /// the fields' types. Returns an empty list for other types.
    pub fn fields(&self, ty: &Type) -> Vec<Field<'program>> {
        let Some((named, fields)) = self.declared_fields(ty) else { return Vec::new() };
        ir::meter::count(fields.len());
        let bindings = self.bindings(named);
        fields
            .iter()
            .map(|field| Field { field, ty: self.type_at(field.ty.id).substitute(&bindings) })
            .collect()
    }

    /// Returns the field of a type with the given name, and its position among the fields. The
    /// first call for a declaration builds an index of its fields, so that later calls are faster
    /// than a search in [`Self::fields`].
    pub(crate) fn field_named(
        &self,
        ty: &Type,
        name: &ast::Name,
    ) -> Option<(usize, Field<'program>)> {
        let (named, fields) = self.declared_fields(ty)?;
        let mut positions = self.field_positions.borrow_mut();
        let of_declaration = positions.entry(named.declaration).or_insert_with(|| {
            ir::meter::count(fields.len());
            // If several fields have the same name, the first one counts, so it is inserted last.
            let fields = fields.iter().enumerate().rev();
            fields.map(|(position, field)| (field.name.text.clone(), position)).collect()
        });
        let position = *of_declaration.get(&name.text)?;
        let field = fields.get(position)?;
        let ty = self.type_at(field.ty.id).substitute(&self.bindings(named));
        Some((position, Field { field, ty }))
    }

    /// Returns the name of a struct, header or header union and the fields of its declaration, or
    /// `None` for other types.
    fn declared_fields<'t>(
        &self,
        ty: &'t Type,
    ) -> Option<(&'t Named, &'program [ast::StructField])> {
        let (Type::Struct(named) | Type::Header(named) | Type::HeaderUnion(named)) = ty else {
            return None;
        };
        match &self.index.get_declaration(named.declaration)?.kind {
            ast::DeclarationKind::Struct { fields, .. }
            | ast::DeclarationKind::Header { fields, .. }
            | ast::DeclarationKind::HeaderUnion { fields, .. } => Some((named, &fields[..])),
            _ => None,
        }
    }
}

/// A field of a type.
#[derive(Debug, Clone)]
pub struct Field<'program> {
    /// The declaration of the field.
    pub field: &'program ast::StructField,
    /// The type of the field, with type arguments substituted for type parameters.
    pub ty: Type,
}

/// The values of the constructor parameters, and the types of the type parameters, in one instance.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// The values of the constructor parameters, and of the local constants that depend on them.
    pub values: HashMap<DeclarationId, Constant>,
    /// The types for which the type parameters stand.
    pub types: Bindings,
}

impl Checked<'_> {
    /// Returns the name of a declaration, or an empty string if it has none.
    pub fn name(&self, id: DeclarationId) -> Arc<str> {
        self.index
            .get(id)
            .and_then(Node::name)
            .map_or_else(|| Arc::from(""), |name| name.text.clone())
    }
}
