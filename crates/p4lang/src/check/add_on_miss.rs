//! Rules for PNA's `add_entry`: an action that runs on a miss calls it to add an entry for the
//! packet's key (PNA 0.7, "Tables with add-on-miss capability").

use super::checker::Checker;
use super::postponed::AddEntryCall;
use super::{Call, Constant, Type};
use crate::ast::{
    Argument, DeclarationId, DeclarationKind, Direction, Expression, Parameter, TablePropertyKind,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

impl Checker<'_, '_> {
    /// Records a call of PNA's `add_entry`. The call is checked later, when all tables of the
    /// program are known.
    pub(super) fn note_add_entry(
        &mut self,
        expression: &Expression,
        call: &Call,
        arguments: &[Argument],
    ) {
        let Some(action) = self.context.action else {
            self.error(
                "misplaced",
                expression.span,
                "`add_entry` can only be called in the default action of a table with `add_on_miss = true`",
            );
            return;
        };
        let named = |argument: &&Argument| {
            argument.name.as_ref().is_some_and(|name| name.as_str() == "action_name")
        };
        let argument = arguments.iter().find(named).or_else(|| arguments.first());
        let name = argument.map(|argument| {
            let text = match self.out.evaluate_own(&argument.value) {
                Some(Constant::String(text)) => Some(text),
                _ => None,
            };
            (argument.value.span, text)
        });
        let given = call.type_arguments.first().cloned().unwrap_or(Type::Unknown);
        self.postponed.add_entry_calls.push(AddEntryCall {
            action,
            span: expression.span,
            name,
            given,
        });
    }

    /// Checks a call of `add_entry`, which must be in the default action of a table with
    /// `add_on_miss`. It must name another action of that table, whose parameters have the types of
    /// the values that the call passes.
    pub(super) fn add_entry_rules(&mut self, call: &AddEntryCall) {
        let mut tables: Vec<DeclarationId> = self
            .out
            .tables
            .iter()
            .filter(|(_, facts)| facts.actions.iter().any(|listed| listed.action == call.action))
            .map(|(table, _)| *table)
            .collect();
        tables.sort_unstable();
        for table in tables {
            let Some(facts) = self.out.tables.get(&table) else { continue };
            let default =
                facts.default_action.as_ref().and_then(|of| facts.actions.get(of.position));
            let problem = if default.is_none_or(|default| default.action != call.action) {
                Some((
                    "`add_entry` is called by an action that a hit may run",
                    "it is not this table's default action",
                ))
            } else if !self.adds_on_miss(table) {
                Some(("`add_entry` needs a table with `add_on_miss = true`", "this table lacks it"))
            } else {
                None
            };
            if let Some((message, label)) = problem {
                let span = self.span_of(table);
                self.report(
                    Diagnostic::error("add-on-miss", call.span, message).secondary(span, label),
                );
                continue;
            }
            if let Some((span, Some(name))) = &call.name {
                self.added_action(table, call, *span, name);
            }
        }
    }

    /// Checks the action that an added entry runs. It must be an action of the table, must not be
    /// the action that adds the entry, and its parameters must fit the data that the call passes.
    fn added_action(&mut self, table: DeclarationId, call: &AddEntryCall, span: Span, name: &str) {
        let named = self.out.tables.get(&table).and_then(|facts| {
            facts.actions.iter().map(|listed| listed.action).find(|id| *self.out.name(*id) == *name)
        });
        let Some(named) = named else {
            let table = self.out.name(table);
            self.error("add-on-miss", span, format!("table `{table}` has no action `{name}`"));
            return;
        };
        if named == call.action {
            self.error("add-on-miss", span, "an entry cannot run the default action that adds it");
            return;
        }
        let parameters: &[Parameter] =
            match self.out.index.get_declaration(named).map(|found| &found.kind) {
                Some(DeclarationKind::Action { parameters, .. }) => parameters,
                _ => &[],
            };
        if let Some(directed) =
            parameters.iter().find(|parameter| parameter.direction != Direction::None)
        {
            let directed = directed.name.span;
            self.report(
                Diagnostic::error(
                    "add-on-miss",
                    span,
                    "the action of an added entry has only parameters without direction",
                )
                .secondary(directed, "this one has one"),
            );
            return;
        }
        let wanted: Vec<Type> = parameters
            .iter()
            .map(|parameter| self.out.declared_type(parameter.id).clone())
            .collect();
        let given: Vec<Type> = match &call.given {
            Type::Unknown => return,
            Type::Tuple(elements) => elements.to_vec(),
            Type::Record(fields) => fields.iter().map(|(_, ty)| ty.clone()).collect(),
            ty @ Type::Struct(_) => self.out.fields(ty).into_iter().map(|field| field.ty).collect(),
            other => vec![other.clone()],
        };
        let fits = given.len() == wanted.len()
            && given.iter().zip(&wanted).all(|(given, wanted)| {
                self.representation(&self.base_type(given))
                    == self.representation(&self.base_type(wanted))
            });
        if !fits {
            let shown = |types: &[Type]| {
                types.iter().map(|ty| self.out.show(ty)).collect::<Vec<_>>().join(", ")
            };
            let message = format!("`{name}` takes ({}), not ({})", shown(&wanted), shown(&given));
            let declared = self.span_of(named);
            self.report(
                Diagnostic::error("add-on-miss", call.span, message)
                    .secondary(declared, "the action"),
            );
        }
    }

    fn adds_on_miss(&self, table: DeclarationId) -> bool {
        let Some(declaration) = self.out.index.get_declaration(table) else { return false };
        let DeclarationKind::Table(table) = &declaration.kind else { return false };
        match table.property("add_on_miss").map(|property| &property.kind) {
            Some(TablePropertyKind::Value(value)) => {
                self.out.evaluate_own(value) == Some(Constant::Bool(true))
            }
            _ => false,
        }
    }
}
