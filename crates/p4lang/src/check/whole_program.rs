//! Rules that apply to the program as a whole: `main`, PNA's `add_entry`, and warnings about unused
//! declarations and unassigned variables.

use super::Type;
use super::checker::Checker;
use crate::ast::{DeclarationId, DeclarationKind, Expression, ExpressionKind};
use crate::diagnostic::Diagnostic;

impl Checker<'_, '_> {
    pub(super) fn after_all(&mut self) {
        self.main();
        self.misfit_entries();
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

    /// Finds `main`, and checks that it is an instance of a package. Warns if a program contains
    /// parsers or controls but no `main`.
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
                // A file that contains only declarations, such as an architecture file, needs no
                // `main`.
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

    /// Warns of local variables of parsers and controls that are read but never assigned. Variables
    /// inside bodies are analysed more precisely in `uninitialized`.
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
                    format!("`{}` is read, but never assigned a value", local.name),
                ));
            }
        }
    }

    /// Warns of local variables, instances, actions and tables that nothing refers to.
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

/// Returns the expression with which an l-value begins, such as `h` for `h.stack[0].field`.
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
