//! Finds the parts of a control that are used: the tables that are applied, and the actions to
//! which tables or statements refer.
//!
//! p4c removes unused parts before it generates P4Info, and puts copies of top-level actions at the
//! front of the controls that use them. The lowering does the same.

use std::collections::HashSet;
use std::rc::Rc;

use super::{Lowering, names};
use crate::ast::walk;
use crate::ast::{
    Block, Declaration, DeclarationId, DeclarationKind, Expression, Statement, StatementKind,
    TablePropertyKind,
};
use crate::check::{Constant, Resolution};

/// The declarations that a control uses, both inside the control and at top level.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// The tables, actions, functions and instances that are used.
    pub(super) used: HashSet<DeclarationId>,
    /// The actions at top level that are used, in the order of their first use.
    pub(super) global_actions: Vec<DeclarationId>,
}

impl<'a> Lowering<'a> {
    pub(super) fn usage(&mut self, declaration: &'a Declaration) -> Rc<Usage> {
        if let Some(known) = self.analyses.usages.get(&declaration.id) {
            return known.clone();
        }
        let DeclarationKind::Control(control) = &declaration.kind else { return Rc::default() };
        let mut finder = Finder { lowering: self, open: Vec::new(), used: HashSet::new() };
        finder.block(&control.apply);
        for local in &control.locals {
            walk::declaration(local, &mut |met| finder.met(met));
        }
        while let Some(next) = finder.open.pop() {
            finder.declaration(next);
        }
        let used = finder.used;
        let (mut global_actions, mut seen) = (Vec::new(), HashSet::new());
        for local in &control.locals {
            let mut named = Vec::new();
            match &local.kind {
                DeclarationKind::Table(_) if used.contains(&local.id) => {
                    if let Some(facts) = self.checked.table(local.id) {
                        named.extend(facts.actions.iter().map(|action| action.action));
                    }
                }
                DeclarationKind::Action { body, .. } if used.contains(&local.id) => {
                    walk::block(body, &mut |met| named.extend(self.named(met)));
                }
                _ => {}
            }
            self.add_global_actions(&named, &mut seen, &mut global_actions);
        }
        let mut named = Vec::new();
        walk::block(&control.apply, &mut |met| named.extend(self.named(met)));
        self.add_global_actions(&named, &mut seen, &mut global_actions);
        let usage = Rc::new(Usage { used, global_actions });
        self.analyses.usages.insert(declaration.id, usage.clone());
        usage
    }

    fn add_global_actions(
        &self,
        named: &[DeclarationId],
        seen: &mut HashSet<DeclarationId>,
        to: &mut Vec<DeclarationId>,
    ) {
        for id in named {
            ir::meter::count(1);
            let is_action = self
                .declaration(*id)
                .is_some_and(|node| matches!(node.kind, DeclarationKind::Action { .. }));
            if is_action && self.checked.index.parent(*id).is_none() && seen.insert(*id) {
                to.push(*id);
            }
        }
    }

    /// Returns the declaration to which an expression refers, or `None` if it refers to none.
    fn named(&self, expression: &Expression) -> Option<DeclarationId> {
        match self.checked.resolution(expression.id) {
            Some(Resolution::Declaration(id)) => Some(*id),
            _ => None,
        }
    }
}

/// A traversal that finds the declarations that a control uses.
struct Finder<'l, 'a> {
    lowering: &'l Lowering<'a>,
    open: Vec<DeclarationId>,
    used: HashSet<DeclarationId>,
}

impl<'a> Finder<'_, 'a> {
    fn met(&mut self, met: &Expression) {
        if let Some(id) = self.lowering.named(met) {
            self.name(id);
        }
    }

    fn name(&mut self, id: DeclarationId) {
        let relevant = self.lowering.declaration(id).is_some_and(|node| {
            matches!(
                node.kind,
                DeclarationKind::Action { .. }
                    | DeclarationKind::Table(_)
                    | DeclarationKind::Function { .. }
                    | DeclarationKind::Instantiation(_)
            )
        });
        // A declaration at top level cannot refer to names of a control.
        let is_local = self.lowering.checked.index.parent(id).is_some();
        if relevant && self.used.insert(id) && is_local {
            self.open.push(id);
        }
    }

    fn expression(&mut self, expression: &'a Expression) {
        walk::expression(expression, &mut |met| self.met(met));
    }

    /// Visits a block like [`walk::block`], but skips branches that are known never to run, the
    /// labels of `switch` statements, and the statements after a `return`.
    fn block(&mut self, block: &'a Block) {
        for statement in &block.statements {
            self.statement(statement);
            if matches!(statement.kind, StatementKind::Return(_)) {
                return;
            }
        }
    }

    fn statement(&mut self, statement: &'a Statement) {
        match &statement.kind {
            StatementKind::If { condition, then, otherwise } => {
                let known = self.lowering.checked.constant(condition.id);
                self.expression(condition);
                if known != Some(&Constant::Bool(false)) {
                    self.statement(then);
                }
                if let Some(otherwise) = otherwise
                    && known != Some(&Constant::Bool(true))
                {
                    self.statement(otherwise);
                }
            }
            StatementKind::Block(block) => self.block(block),
            // A label refers to an action of the table, but this does not count as a use of the
            // action.
            StatementKind::Switch { subject, cases } => {
                self.expression(subject);
                for body in cases.iter().filter_map(|case| case.body.as_ref()) {
                    self.block(body);
                }
            }
            StatementKind::For { initial, condition, update, body } => {
                for inner in initial {
                    self.statement(inner);
                }
                self.expression(condition);
                for inner in update {
                    self.statement(inner);
                }
                self.statement(body);
            }
            StatementKind::ForIn { collection, body, .. } => {
                self.expression(collection);
                self.statement(body);
            }
            _ => walk::statement(statement, &mut |met| self.met(met)),
        }
    }

    /// Visits everything to which a declaration refers.
    fn declaration(&mut self, id: DeclarationId) {
        let Some(node) = self.lowering.declaration(id) else { return };
        match &node.kind {
            DeclarationKind::Action { body, .. } | DeclarationKind::Function { body, .. } => {
                self.block(body);
            }
            DeclarationKind::Table(table) => {
                if let Some(facts) = self.lowering.checked.table(id) {
                    for action in &facts.actions {
                        self.name(action.action);
                    }
                }
                for property in &table.properties {
                    match &property.kind {
                        TablePropertyKind::Key(keys) => {
                            for key in keys {
                                self.expression(&key.expression);
                            }
                        }
                        TablePropertyKind::Actions(actions) => {
                            for argument in
                                actions.iter().flat_map(|action| action.arguments.iter().flatten())
                            {
                                self.expression(&argument.value);
                            }
                        }
                        TablePropertyKind::Entries(_) | TablePropertyKind::Value(_) => {}
                    }
                }
            }
            _ => {}
        }
    }
}

impl<'a> Lowering<'a> {
    /// Lowers an action at top level, unless it was lowered before.
    pub(super) fn global_action(&mut self, id: DeclarationId) {
        if self.reused.entities.contains_key(&id) {
            return;
        }
        if let Some(entity) = self.program_action(id, "") {
            self.reused.entities.insert(id, entity);
        }
    }

    /// Adds the top-level actions in `usage` to the scope of a control.
    ///
    /// p4c puts a copy of these actions into each control of the package that uses them. If `@name`
    /// sets a relative name, each control has a different action, since the name of the control is
    /// prefixed to it. Any other action has its declared name in all controls.
    pub(super) fn global_actions(&mut self, usage: &Usage, scope: &mut super::Scope) {
        let control = scope.prefix.split('.').next().unwrap_or_default().to_owned();
        for id in &usage.global_actions {
            let relative = self.declaration(*id).is_some_and(|declaration| {
                let name = names::local_name(&declaration.annotations, ".");
                !name.starts_with('.')
            });
            if !relative {
                self.global_action(*id);
                continue;
            }
            let key = (*id, control.clone());
            let known = self.reused.control_actions.get(&key).copied();
            if let Some(entity) = known.or_else(|| self.program_action(*id, &control)) {
                self.reused.control_actions.insert(key, entity);
                scope.entities.insert(*id, entity);
            }
        }
    }

    fn program_action(&mut self, id: DeclarationId, prefix: &str) -> Option<super::Entity> {
        let declaration = self.declaration(id)?;
        let local = names::local_name(&declaration.annotations, declaration.name.as_str());
        let name = names::qualified(prefix, &local);
        self.deeper(declaration.name.span, |lowering| {
            let (entity, _) = lowering.within(super::Scope::default(), |lowering| {
                lowering.action(declaration, name, ir::ActionScope::Program)
            });
            entity
        })?
    }
}
