//! The state of the checker: scopes, the current context, intermediate results, and the reporting
//! of errors.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::postponed::Postponed;
use super::signature::Constructing;
use super::{Checked, Node, Type};
use crate::ast::{self, DeclarationId, DeclarationKind, Expression, ExpressionId, Name};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::{SourceMap, Span};
use ir::CompileLimits;

/// The largest number of declarations that may overload one name.
const MAX_OVERLOADS: usize = 256;

/// The state of checking one program.
pub(super) struct Checker<'program, 'run> {
    pub(super) out: Checked<'program>,
    pub(super) sources: &'run SourceMap,
    pub(super) diagnostics: &'run mut Diagnostics,
    /// The open scopes, from the top level inwards.
    pub(super) scopes: Vec<Scope>,
    pub(super) context: Context,
    /// The type of each inference variable of the current calls, or `None` while it is not
    /// inferred.
    pub(super) inferred: Vec<Option<Type>>,
    pub(super) marks: Marks,
    pub(super) members: Members,
    pub(super) postponed: Postponed,
    pub(super) constructing: Constructing<'program>,
    /// Whether the next declaration is local to a parser or control, so that its name may hide the
    /// name of a parameter.
    pub(super) hides_parameters: bool,
    pub(super) fitting: Fitting,
}

/// A cache for properties of types that depend on the types of their fields, such as whether a
/// header may contain them.
#[derive(Debug, Default)]
pub(super) struct Fitting {
    /// The specialised generic types of which all fields have permitted types.
    pub(super) fit: HashSet<Type>,
    /// For each type, whether it consists only of numbers, so that a header may contain it.
    pub(super) only_bits: HashMap<Type, bool>,
}

/// The declarations and expressions of the program that have certain properties. The sets are
/// complete once the whole program is checked.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// The declarations that are used: some name refers to them.
    pub(super) used: HashSet<DeclarationId>,
    /// The declarations that may be written, by an assignment, an `out` argument or a method.
    pub(super) written: HashSet<DeclarationId>,
    /// The expressions that have compile-time values as soon as constructor parameters have values.
    pub(super) known: HashSet<ExpressionId>,
}

/// The members of `match_kind` and `error`. Each of the two may be declared in several parts of the
/// program.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// The members of all `match_kind` declarations.
    pub(super) match_kinds: HashMap<Arc<str>, DeclarationId>,
    /// The members of all `error` declarations.
    pub(super) errors: HashMap<Arc<str>, DeclarationId>,
}

/// The names that are declared in one block.
#[derive(Debug, Default)]
pub(super) struct Scope {
    pub(super) names: HashMap<Arc<str>, Vec<DeclarationId>>,
}

/// The construct that is being checked, such as a parser state. It determines which statements and
/// expressions are permitted.
#[derive(Debug, Clone, Default)]
pub(super) struct Context {
    pub(super) parser: Option<DeclarationId>,
    pub(super) in_state: bool,
    pub(super) control: Option<DeclarationId>,
    pub(super) in_apply: bool,
    pub(super) action: Option<DeclarationId>,
    /// The current function and its return type, or `None` outside functions.
    pub(super) function: Option<(DeclarationId, Type)>,
    pub(super) table: Option<DeclarationId>,
    /// The instance whose initializer block is being checked. `this` refers to it. `None` outside
    /// such blocks.
    pub(super) instance: Option<DeclarationId>,
    /// The number of loops that enclose the current statement.
    pub(super) loops: u32,
    pub(super) in_key_set: bool,
    /// Whether the checker is in an argument of an action in a table's properties.
    pub(super) in_action_argument: bool,
    /// The subject of the current `switch` statement, in which `action_run` is permitted.
    pub(super) switch_subject: Option<ExpressionId>,
}

/// The type and the properties of an expression, as the checker determines them.
#[derive(Debug, Clone)]
pub(super) struct Info {
    pub(super) ty: Type,
    /// Whether the expression is an l-value, so that it can be assigned.
    pub(super) place: bool,
    /// Whether the value of the expression is known at compile time, once constructor parameters
    /// have values.
    pub(super) known: bool,
}

impl Info {
    pub(super) fn value(ty: Type) -> Self {
        Self { ty, place: false, known: false }
    }

    pub(super) fn known(ty: Type) -> Self {
        Self { ty, place: false, known: true }
    }

    /// Returns the type and properties of an expression with an error. They fit every context, so
    /// that the error is reported only once.
    pub(super) fn unknown() -> Self {
        Self { ty: Type::Unknown, place: true, known: true }
    }
}

/// The kind of declaration that a lookup of a name accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Any,
    Type,
}

impl<'program, 'run> Checker<'program, 'run> {
    pub(super) fn new(
        program: &'program ast::Program,
        sources: &'run SourceMap,
        limits: &CompileLimits,
        diagnostics: &'run mut Diagnostics,
    ) -> Self {
        Self {
            out: Checked::new(program, sources, limits),
            sources,
            diagnostics,
            scopes: vec![Scope::default()],
            context: Context::default(),
            inferred: Vec::new(),
            marks: Marks::default(),
            members: Members::default(),
            postponed: Postponed::default(),
            constructing: Constructing::default(),
            hides_parameters: false,
            fitting: Fitting::default(),
        }
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    pub(super) fn error(&mut self, kind: &'static str, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::error(kind, span, message));
    }

    /// Reports a warning, unless its location is in a built-in file.
    pub(super) fn warn(&mut self, diagnostic: Diagnostic) {
        let built_in = self
            .sources
            .file(diagnostic.primary.span.file)
            .is_some_and(crate::source::SourceFile::is_built_in);
        if !built_in {
            self.report(diagnostic);
        }
    }

    /// Runs `body` in a new scope.
    pub(super) fn scoped<R>(&mut self, body: impl FnOnce(&mut Self) -> R) -> R {
        self.scopes.push(Scope::default());
        let result = body(self);
        self.scopes.pop();
        result
    }

    /// Runs `body` with `context` as the current context, and restores the previous context.
    pub(super) fn within<R>(&mut self, context: Context, body: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::replace(&mut self.context, context);
        let result = body(self);
        self.context = outer;
        result
    }

    pub(super) fn is_type(&self, id: DeclarationId) -> bool {
        match self.out.index.get(id) {
            Some(Node::TypeParameter(_)) => true,
            Some(Node::Declaration(declaration)) => matches!(
                declaration.kind,
                DeclarationKind::ExternObject(_)
                    | DeclarationKind::Parser(_)
                    | DeclarationKind::ParserType(_)
                    | DeclarationKind::Control(_)
                    | DeclarationKind::ControlType(_)
                    | DeclarationKind::Package(_)
                    | DeclarationKind::Header { .. }
                    | DeclarationKind::HeaderUnion { .. }
                    | DeclarationKind::Struct { .. }
                    | DeclarationKind::Enum { .. }
                    | DeclarationKind::Typedef(_)
                    | DeclarationKind::NewType(_)
            ),
            _ => false,
        }
    }

    /// Returns whether several declarations of this kind may have the same name (P4_16 §6.8.2).
    fn may_overload(&self, id: DeclarationId) -> bool {
        matches!(
            self.out.index.get_declaration(id).map(|declaration| &declaration.kind),
            Some(
                DeclarationKind::ExternFunction(_)
                    | DeclarationKind::Function { .. }
                    | DeclarationKind::Package(_)
                    | DeclarationKind::Parser(_)
                    | DeclarationKind::Control(_)
            )
        )
    }

    /// Returns the declarations of the wanted kind that have this name, from the innermost scope
    /// that contains any.
    pub(super) fn lookup(&self, path: &ast::Path, wanted: Wanted) -> Vec<DeclarationId> {
        let scopes = if path.absolute { self.scopes.get(..1).unwrap_or(&[]) } else { &self.scopes };
        self.lookup_in(scopes, path.name.as_str(), wanted)
    }

    fn lookup_in(&self, scopes: &[Scope], name: &str, wanted: Wanted) -> Vec<DeclarationId> {
        for scope in scopes.iter().rev() {
            if let Some(found) = scope.names.get(name) {
                ir::meter::count(found.len());
                let fitting: Vec<DeclarationId> = found
                    .iter()
                    .copied()
                    .filter(|id| wanted == Wanted::Any || self.is_type(*id))
                    .collect();
                if !fitting.is_empty() {
                    return fitting;
                }
            }
        }
        Vec::new()
    }

    /// Declares a name in the innermost scope. Reports an error if the scope already contains the
    /// name and the two declarations do not overload each other. If the name hides one of an outer
    /// scope, reports a warning, or an error if the hidden name is a parameter.
    pub(super) fn declare(&mut self, id: DeclarationId, name: &Name) {
        let hides_own_parameters = std::mem::take(&mut self.hides_parameters);
        if name.as_str() == "_" {
            self.error("reserved-name", name.span, "`_` cannot be declared");
            return;
        }
        let overloads = self.may_overload(id);
        let taken = self.scopes.last().and_then(|scope| scope.names.get(&name.text)).cloned();
        let taken = taken.unwrap_or_default();
        // The number of overloads is limited, because their signatures are compared pairwise.
        if overloads && taken.len() >= MAX_OVERLOADS {
            let message = format!("`{name}` is declared more than {MAX_OVERLOADS} times");
            self.error("duplicate", name.span, message);
            return;
        }
        if let Some(other) = taken.iter().copied().find(|other| {
            !(overloads && self.same_noun(id, *other)) || self.same_signature(id, *other)
        }) {
            let first = self.out.index.get(other).map_or_else(Span::nowhere, Node::span);
            // Calls of such functions are ambiguous. p4c accepts the declarations if there is no
            // call (p4c#5096).
            let uncallable = overloads && self.is_function(id) && self.is_function(other);
            let message = format!("`{name}` is declared twice");
            let diagnostic = if uncallable {
                Diagnostic::warning("duplicate", name.span, message).note(
                    "it cannot be called: neither number, names nor types of parameters differ",
                )
            } else {
                Diagnostic::error("duplicate", name.span, message)
            };
            self.report(
                diagnostic.label("declared again here").secondary(first, "first declared here"),
            );
            if !uncallable {
                return;
            }
        }
        if taken.is_empty() && self.scopes.len() > 1 {
            self.hidden_by(id, name, hides_own_parameters);
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.names.entry(name.text.clone()).or_default().push(id);
        }
    }

    /// Reports that a new declaration hides a declaration of an outer scope.
    fn hidden_by(&mut self, id: DeclarationId, name: &Name, hides_own_parameters: bool) {
        let outer = self.scopes.get(..self.scopes.len() - 1).unwrap_or(&[]);
        let Some(hidden) = self.lookup_in(outer, name.as_str(), Wanted::Any).first().copied()
        else {
            return;
        };
        let Some(node) = self.out.index.get(hidden) else { return };
        let hides_parameter = matches!(node, Node::Parameter(_))
            && matches!(self.out.index.get(id), Some(Node::Declaration(_)))
            && !hides_own_parameters;
        let is_extern_parameter = matches!(self.out.index.get(id), Some(Node::Parameter(_)))
            && self.out.index.parent(id).is_some_and(|parent| {
                matches!(self.out.index.get(parent), Some(Node::Method(_) | Node::Constructor(_)))
                    || self.out.index.get_declaration(parent).is_some_and(|declaration| {
                        matches!(declaration.kind, DeclarationKind::ExternFunction(_))
                    })
            });
        if hides_parameter {
            self.report(
                Diagnostic::error(
                    "shadowing",
                    name.span,
                    format!("`{name}` hides the parameter of the same name"),
                )
                .secondary(node.span(), "the parameter")
                .note("give one of them another name"),
            );
        } else if !is_extern_parameter
            && !matches!(self.out.index.get(id), Some(Node::TypeParameter(_)))
        {
            self.warn(
                Diagnostic::warning(
                    "shadowing",
                    name.span,
                    format!("`{name}` hides another declaration"),
                )
                .secondary(node.span(), "hidden here"),
            );
        }
    }

    fn same_noun(&self, one: DeclarationId, other: DeclarationId) -> bool {
        let noun =
            |id| self.out.index.get_declaration(id).map(|declaration| declaration.kind.noun());
        noun(one) == noun(other)
    }

    fn is_function(&self, id: DeclarationId) -> bool {
        matches!(
            self.out.index.get_declaration(id).map(|declaration| &declaration.kind),
            Some(DeclarationKind::Function { .. })
        )
    }

    fn same_signature(&self, one: DeclarationId, other: DeclarationId) -> bool {
        fn parameters(kind: &DeclarationKind) -> Option<&[ast::Parameter]> {
            match kind {
                DeclarationKind::Function { prototype, .. }
                | DeclarationKind::ExternFunction(prototype) => Some(&prototype.parameters),
                DeclarationKind::Package(package) => Some(&package.parameters),
                DeclarationKind::Parser(parser) => Some(&parser.constructor_parameters),
                DeclarationKind::Control(control) => Some(&control.constructor_parameters),
                _ => None,
            }
        }
        let of = |id| {
            self.out.index.get_declaration(id).and_then(|declaration| parameters(&declaration.kind))
        };
        match (of(one), of(other)) {
            (Some(a), Some(b)) => super::overload::same_parameters(a, b),
            _ => true,
        }
    }

    /// Reports an undeclared name, and suggests a declared name that is similar.
    pub(super) fn undeclared(&mut self, name: &Name, wanted: &str) {
        let mut diagnostic =
            Diagnostic::error("undeclared-name", name.span, format!("`{name}` is not declared"))
                .label(format!("{wanted} was expected"));
        let later =
            self.out.program.declarations.iter().find(|declaration| declaration.name == *name);
        if let Some(later) = later {
            diagnostic = diagnostic
                .secondary(later.name.span, "declared here")
                .note("names must be declared before they are used");
        } else if let Some(close) = self.close_name(name.as_str()) {
            diagnostic = diagnostic.note(format!("did you mean `{close}`?"));
        }
        self.report(diagnostic);
    }

    fn close_name(&self, name: &str) -> Option<Arc<str>> {
        /// The length up to which names are compared. The time of a comparison is quadratic in the
        /// length.
        const LONGEST: usize = 256;
        let most = 1 + name.len() / 4;
        self.scopes
            .iter()
            .rev()
            .flat_map(|scope| scope.names.keys())
            .filter(|candidate| name.len().max(candidate.len()) <= LONGEST)
            .map(|candidate| (strsim::levenshtein(name, candidate), candidate))
            .filter(|(distance, _)| *distance <= most)
            .min_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.cmp(b.1)))
            .map(|(_, candidate)| candidate.clone())
    }

    pub(super) fn set_type(&mut self, expression: &Expression, ty: Type) {
        if let Some(place) = self.out.expression_types.get_mut(expression.id.index()) {
            *place = ty;
        }
    }

    pub(super) fn set_declared_type(&mut self, id: DeclarationId, ty: Type) {
        if let Some(place) = self.out.declared_types.get_mut(id.index()) {
            *place = ty;
        }
    }

    /// Records that the variable or parameter to which a place belongs may be written.
    pub(super) fn writes(&mut self, place: &Expression) {
        let root = super::whole_program::root(place);
        if let Some(super::Resolution::Declaration(id)) = self.out.resolution(root.id) {
            self.marks.written.insert(*id);
        }
    }

    pub(super) fn span_of(&self, id: DeclarationId) -> Span {
        self.out.index.get(id).map_or_else(Span::nowhere, Node::span)
    }
}
