//! Checks of the annotations `@entry_restriction` and `@action_restriction`. They state constraints
//! on table entries and action arguments in the language of p4-constraints, which are checked
//! against the keys and parameters that controllers see.
//!
//! The constraints are read from the program's P4Info, so that the compiler and a switch to which
//! the P4Info is sent interpret them in the same way. The location of an error is inside the
//! string, which may span lines, consist of several literals, and contain conditional directives.
//! If a macro produces the string, it is not written anywhere in the source, so its line is printed
//! in a note. Entries that the source declares and default actions must satisfy the constraints.

mod place;

use std::collections::HashMap;

use constraints::{ACTION_RESTRICTION, Constraint, ENTRY_RESTRICTION, KeyType, Problem, Text};
use ir::Location;
use p4runtime::p4info::{Owner, Restricted, Schema, restricted};

use self::place::{literals, span_in};
use crate::ast::{Annotation, AnnotationBody, Declaration, DeclarationKind, Program};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::p4info;
use crate::source::{SourceMap, Span};

/// A table or action with constraints: its declared name and its annotations.
struct Declared<'t> {
    name: Span,
    annotations: Vec<&'t Annotation>,
}

/// Checks all constraints of a program, and checks that the entries in its source satisfy them.
pub(crate) fn check(
    tree: &Program,
    program: &ir::Program,
    sources: &SourceMap,
    diagnostics: &mut Diagnostics,
) {
    let mut declared: HashMap<(String, u32, u32), Declared<'_>> = HashMap::new();
    for declaration in &tree.declarations {
        collect(declaration, sources, &mut declared, diagnostics);
    }
    if declared.is_empty() {
        return;
    }
    let annotations = declared.values().flat_map(|declared| &declared.annotations);
    for annotation in annotations.filter(|annotation| is_structured(annotation)) {
        // Switches read constraints from the annotations that P4Info stores as text, and P4Info
        // stores structured annotations in another field.
        diagnostics.push(
            Diagnostic::error("constraint", annotation.span, "a constraint stands in parentheses")
                .note(format!("write `@{}(\"key == 1\")`", annotation.name)),
        );
    }
    // Other errors in the P4Info are reported when P4Info is written.
    let Ok(info) = p4info::generate(program) else { return };
    let Ok(found) = restricted(&info) else { return };
    let before = diagnostics.error_count();
    let mut checked = Vec::new();
    for restricted in &found {
        let Some(place) = location(program, restricted) else { continue };
        let Some(declared) = declared.get(&key(program, place)) else { continue };
        // Several instances of a control share one declaration.
        if checked.contains(&declared.name) {
            continue;
        }
        checked.push(declared.name);
        for annotation in &declared.annotations {
            check_text(annotation, restricted, sources, diagnostics);
        }
    }
    if diagnostics.error_count() == before
        && let Ok(schema) = Schema::new(info)
    {
        check_entries(program, &schema, &found, sources, diagnostics);
        check_default_actions(program, &schema, sources, diagnostics);
    }
}

fn is_structured(annotation: &Annotation) -> bool {
    match &annotation.body {
        AnnotationBody::Expressions(_) | AnnotationBody::KeyValues(_) => true,
        AnnotationBody::Empty
        | AnnotationBody::Unstructured(_)
        | AnnotationBody::Evaluated { .. } => false,
    }
}

fn collect<'t>(
    declaration: &'t Declaration,
    sources: &SourceMap,
    declared: &mut HashMap<(String, u32, u32), Declared<'t>>,
    diagnostics: &mut Diagnostics,
) {
    let (name, other, kind) = match &declaration.kind {
        DeclarationKind::Control(control) => {
            for inner in &control.locals {
                collect(inner, sources, declared, diagnostics);
            }
            return;
        }
        DeclarationKind::Table(_) => (ENTRY_RESTRICTION, ACTION_RESTRICTION, "a table"),
        DeclarationKind::Action { .. } => (ACTION_RESTRICTION, ENTRY_RESTRICTION, "an action"),
        _ => return,
    };
    if let Some(misplaced) = declaration.annotation(other) {
        let message = format!("`@{other}` has no effect on {kind}");
        diagnostics.push(
            Diagnostic::warning("constraint", misplaced.span, message)
                .note(format!("the constraint of {kind} is `@{name}`")),
        );
    }
    let annotations = declaration.annotations.iter();
    let annotations: Vec<_> =
        annotations.filter(|annotation| annotation.name.as_str() == name).collect();
    if !annotations.is_empty() {
        let location = sources.location(declaration.name.span);
        let place = (location.file.to_owned(), location.line, location.column);
        declared.insert(place, Declared { name: declaration.name.span, annotations });
    }
}

/// Returns the location of the declaration of a table or action.
fn location(program: &ir::Program, restricted: &Restricted) -> Option<Location> {
    let name = &restricted.name;
    match restricted.owner {
        Owner::Table(..) => program.tables.iter().find(|table| table.name == *name)?.location,
        Owner::Action(..) => program.actions.iter().find(|action| action.name == *name)?.location,
    }
}

fn key(program: &ir::Program, location: Location) -> (String, u32, u32) {
    let file = program.files.get(location.file as usize).cloned().unwrap_or_default();
    (file, location.line, location.column)
}

fn check_text(
    annotation: &Annotation,
    restricted: &Restricted,
    sources: &SourceMap,
    diagnostics: &mut Diagnostics,
) {
    let name = restricted.annotation();
    if is_structured(annotation) {
        return;
    }
    let Some(text) = Text::from_literals(&literals(annotation.tokens())) else {
        diagnostics.push(
            Diagnostic::error("constraint", annotation.span, format!("`@{name}` takes one string"))
                .note(format!("write `@{name}(\"key == 1\")`")),
        );
        return;
    };
    let report = |problem: Problem, diagnostic: fn(&'static str, Span, String) -> Diagnostic| {
        let message = match restricted.owner {
            Owner::Table(..) => format!("constraint on the entries: {}", problem.message),
            Owner::Action(..) => format!("constraint on the arguments: {}", problem.message),
        };
        let inside = span_in(sources, annotation.tokens(), &text, &problem.range);
        let mut found = diagnostic("constraint", inside.unwrap_or(annotation.span), message);
        if inside.is_none() {
            let (line, column) = problem.place(text.text());
            let shown = text.text().lines().nth(line - 1).unwrap_or("").trim();
            found = found.note(format!("line {line}, column {column} of the string: `{shown}`"));
        }
        if !problem.note.is_empty() {
            found = found.note(problem.note);
        }
        found
    };
    match Constraint::compile(text.text(), restricted.subject()) {
        Ok(compiled) => {
            for warning in compiled.warnings {
                diagnostics.push(report(warning, |kind, span, message| {
                    Diagnostic::warning(kind, span, message)
                }));
            }
        }
        Err(problem) => diagnostics.push(report(problem, Diagnostic::error)),
    }
}

/// Reports entries in the source that violate a constraint.
fn check_entries(
    program: &ir::Program,
    schema: &Schema,
    restricted: &[Restricted],
    sources: &SourceMap,
    diagnostics: &mut Diagnostics,
) {
    // Where controllers write strings, the source has numbers.
    let has_strings = |table: u32| {
        restricted.iter().any(|one| {
            matches!(&one.owner, Owner::Table(id, _) if id.0 == table)
                && one.keys.iter().any(|key| matches!(key.ty, KeyType::Text(_)))
        })
    };
    let Ok(entries) = p4info::located_entries(program) else { return };
    for (location, entry) in entries {
        if has_strings(entry.table_id) {
            continue;
        }
        if let Err(error) = schema.check_initial_entry(&entry) {
            let span = span_of(program, location, sources);
            diagnostics.push(Diagnostic::error(
                "constraint",
                span,
                format!("this entry is refused: {}", error.message()),
            ));
        }
    }
}

/// Reports default actions that violate the constraint of their action.
fn check_default_actions(
    program: &ir::Program,
    schema: &Schema,
    sources: &SourceMap,
    diagnostics: &mut Diagnostics,
) {
    for table in schema.tables().iter() {
        let Some(call) = &table.default_action else { continue };
        if call.arguments.is_empty() {
            continue;
        }
        if let Err(error) = schema.restrictions().check_call(schema, call) {
            let declared = program.tables.iter().find(|declared| declared.name == table.name);
            let span = span_of(program, declared.and_then(|table| table.location), sources);
            let message = format!("the default action is refused: {}", error.message());
            diagnostics.push(Diagnostic::error("constraint", span, message));
        }
    }
}

fn span_of(program: &ir::Program, location: Option<Location>, sources: &SourceMap) -> Span {
    let span = location.and_then(|location| {
        let file = program.files.get(location.file as usize)?;
        sources.word_at(file, location.line, location.column)
    });
    span.unwrap_or_else(Span::nowhere)
}
