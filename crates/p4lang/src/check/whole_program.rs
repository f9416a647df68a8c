//! Rules that look at the whole program, once all of it is known: `main`, PNA's `add_entry`, what is never used.

use super::Type;
use super::checker::Checker;
use std::collections::HashMap;

use crate::ast::{
    Annotation, Declaration, DeclarationId, DeclarationKind, Expression, ExpressionKind, Table,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

impl Checker<'_, '_> {
    pub(super) fn after_all(&mut self) {
        self.main();
        self.misfit_entries();
        self.control_plane_names();
        if !self.diagnostics.has_errors() {
            self.target_rules();
            self.limits_of_passes();
            self.division_at_run_time();
        }
        for call in std::mem::take(&mut self.postponed.add_entry_calls) {
            self.add_entry_rules(&call);
        }
        if !self.diagnostics.has_errors() {
            self.direct_call_rules();
            self.unused();
            self.never_written();
            let found = super::uninitialized::warnings(&self.out);
            for diagnostic in found {
                self.warn(diagnostic);
            }
        }
    }

    /// No two tables, no two actions, and no two instances share a name for the control plane, be it given by an
    /// annotation or their own.
    fn control_plane_names(&mut self) {
        let mut names = ControlPlaneNames::default();
        for declaration in &self.out.program.declarations {
            match &declaration.kind {
                DeclarationKind::Action { .. } => names.note("", declaration, Class::Action),
                DeclarationKind::Control(control) => {
                    let prefix = given_name(declaration);
                    for local in &control.locals {
                        match &local.kind {
                            DeclarationKind::Action { .. } => {
                                names.note(&prefix, local, Class::Action);
                            }
                            DeclarationKind::Instantiation(_) => {
                                names.note(&prefix, local, Class::Other);
                            }
                            DeclarationKind::Table(table) => {
                                names.note(&prefix, local, Class::Table);
                                names.keys(&prefix, local, table);
                            }
                            _ => {}
                        }
                    }
                }
                DeclarationKind::Parser(parser) => {
                    let prefix = given_name(declaration);
                    for local in &parser.locals {
                        if matches!(
                            local.kind,
                            DeclarationKind::Instantiation(_) | DeclarationKind::ValueSet(_)
                        ) {
                            names.note(&prefix, local, Class::Other);
                        }
                    }
                }
                _ => {}
            }
        }
        for (span, first, name) in names.clashes {
            self.report(
                Diagnostic::error(
                    "duplicate",
                    span,
                    format!("the control plane would know two things as `{name}`"),
                )
                .secondary(first, "the first one"),
            );
        }
    }

    fn main(&mut self) {
        if self.out.main.is_some() {
            return;
        }
        let declared = self
            .out
            .program
            .declarations
            .iter()
            .find(|declaration| declaration.name.as_str() == "main");
        match declared {
            Some(declaration) => {
                let is_package = matches!(self.out.declared_type(declaration.id), Type::Package(_));
                if !self.out.declared_type(declaration.id).is_unknown() && !is_package {
                    self.error(
                        "no-main",
                        declaration.name.span,
                        "`main` must be an instance of a package",
                    );
                }
            }
            None => {
                // A file of declarations alone, such as an architecture, is checked too.
                let has_code = self.out.program.declarations.iter().any(|declaration| {
                    matches!(
                        declaration.kind,
                        DeclarationKind::Parser(_) | DeclarationKind::Control(_)
                    )
                });
                if let (true, false, Some(last)) =
                    (has_code, self.diagnostics.has_errors(), self.out.program.declarations.last())
                {
                    let span = last.name.span;
                    self.warn(
                        Diagnostic::warning(
                            "no-main",
                            span,
                            "the program has no `main`: there is nothing to run",
                        )
                        .note("instantiate the package of the architecture: `V1Switch(...) main;`"),
                    );
                }
            }
        }
    }

    /// Warns of variables beside the tables, actions or states that are read although nothing writes them. Those
    /// inside of bodies are followed more closely (`uninitialized`).
    fn never_written(&mut self) {
        let program = self.out.program;
        let locals = program.declarations.iter().flat_map(|declaration| match &declaration.kind {
            DeclarationKind::Control(control) => control.locals.as_slice(),
            DeclarationKind::Parser(parser) => parser.locals.as_slice(),
            _ => &[],
        });
        for local in locals {
            let uninitialized =
                matches!(local.kind, DeclarationKind::Variable { initial: None, .. })
                    && super::uninitialized::holds_values(self.out.declared_type(local.id), 0);
            if uninitialized
                && self.marks.used.contains(&local.id)
                && !self.marks.written.contains(&local.id)
            {
                self.warn(Diagnostic::warning(
                    "uninitialized",
                    local.name.span,
                    format!("`{}` is read, but nothing gives it a value", local.name),
                ));
            }
        }
    }

    /// Warns of locals, actions and tables that nothing refers to.
    fn unused(&mut self) {
        let mut found = Vec::new();
        for id in (0..self.out.program.declaration_count).map(DeclarationId::new) {
            let Some(local) = self.out.index.get_declaration(id) else { continue };
            let interesting = matches!(
                local.kind,
                DeclarationKind::Action { .. }
                    | DeclarationKind::Table(_)
                    | DeclarationKind::Variable { .. }
                    | DeclarationKind::Instantiation(_)
            );
            let hushed = local.annotations.iter().any(|annotation| {
                annotation.name.as_str() == "noWarn" && annotation.string() == Some("unused")
            });
            let local_to_something = self.out.index.parent(id).is_some();
            if interesting && local_to_something && !hushed && !self.marks.used.contains(&id) {
                found.push(Diagnostic::warning(
                    "unused",
                    local.name.span,
                    format!("the {} `{}` is never used", local.kind.noun(), local.name),
                ));
            }
        }
        for diagnostic in found {
            self.warn(diagnostic);
        }
    }
}

/// What may not share a name: a table and an action may.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Class {
    Table,
    Action,
    Other,
}

#[derive(Default)]
struct ControlPlaneNames {
    seen: HashMap<(Class, String), (Span, bool)>,
    clashes: Vec<(Span, Span, String)>,
}

impl ControlPlaneNames {
    /// Keys share a name only if nobody gave it to them: one field may be matched twice.
    fn keys(&mut self, prefix: &str, declaration: &Declaration, table: &Table) {
        let prefix = format!("{prefix}.{}.", given_name(declaration));
        for annotation in table.key().unwrap_or(&[]).iter().filter_map(|key| key.annotation("name"))
        {
            let Some(name) = annotation.string() else { continue };
            let full = (Class::Other, format!("{prefix}{name}"));
            if let Some((first, _)) = self.seen.get(&full) {
                self.clashes.push((annotation.span, *first, full.1));
            } else {
                self.seen.insert(full, (annotation.span, true));
            }
        }
    }

    /// Names without annotation clash in their scope already; there it is said better.
    fn note(&mut self, prefix: &str, declaration: &Declaration, class: Class) {
        let annotation = declaration.annotation("name");
        let name = match annotation.map(|annotation| annotation.string()) {
            Some(Some(name)) => name,
            Some(None) => return,
            None => declaration.name.as_str(),
        };
        let full = match name.strip_prefix('.') {
            Some(absolute) => absolute.to_owned(),
            None if prefix.is_empty() => name.to_owned(),
            None => format!("{prefix}.{name}"),
        };
        let span = annotation.map_or(declaration.name.span, |annotation| annotation.span);
        match self.seen.get(&(class, full.clone())) {
            Some((first, annotated)) if *annotated || annotation.is_some() => {
                self.clashes.push((span, *first, full));
            }
            Some(_) => {}
            None => {
                self.seen.insert((class, full), (span, annotation.is_some()));
            }
        }
    }
}

/// The name that an annotation gives, else its own.
fn given_name(declaration: &Declaration) -> String {
    declaration.annotation("name").and_then(Annotation::string).map_or_else(
        || declaration.name.to_string(),
        |name| name.trim_start_matches('.').to_owned(),
    )
}

/// The variable or parameter at the root of a place.
pub(super) fn root(expression: &Expression) -> &Expression {
    let mut root = expression;
    while let ExpressionKind::Member { base, .. }
    | ExpressionKind::Index { base, .. }
    | ExpressionKind::Slice { base, .. }
    | ExpressionKind::PartSelect { base, .. } = &root.kind
    {
        root = base;
    }
    root
}
