//! Tables (P4_16 §14.2): keys, actions, entries and properties.

mod entries;

use std::collections::HashSet;
use std::sync::Arc;

use super::checker::{Checker, Context, Wanted};
use super::signature::{Formal, Signature, Style};
use super::{
    ActionCallFacts, ActionFacts, BoundArgument, Callee, Constant, KeyFacts, Resolution,
    TableFacts, Type,
};
use crate::ast::{
    ActionReference, Argument, BinaryOperator, Declaration, DeclarationId, DeclarationKind,
    Direction, Expression, ExpressionKind, KeyElement, Name, Path, Table, TableProperty,
    TablePropertyKind,
};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// The names of the table properties that the language, the architectures and p4c define.
const KNOWN_PROPERTIES: &[&str] = &[
    "size",
    "default_action",
    "largest_priority_wins",
    "priority_delta",
    // v1model
    "implementation",
    "counters",
    "meters",
    "support_timeout",
    // PSA
    "psa_implementation",
    "psa_direct_counter",
    "psa_direct_meter",
    "psa_idle_timeout",
    "psa_empty_group_action",
    // PNA
    "pna_implementation",
    "pna_direct_counter",
    "pna_direct_meter",
    "pna_idle_timeout",
    "pna_empty_group_action",
    "add_on_miss",
    "idle_timeout_with_auto_delete",
    "default_idle_timeout_for_data_plane_added_entries",
];

/// The part of a table that refers to an action. It determines which arguments the reference must
/// have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TablePart {
    List,
    Default,
    Entry,
}

impl<'program> Checker<'program, '_> {
    /// Checks a table: its keys and actions first, then its other properties.
    pub(super) fn table(&mut self, declaration: &'program Declaration, table: &'program Table) {
        let hides = std::mem::take(&mut self.hides_parameters);
        let outer = self.context.table.replace(declaration.id);
        let mut facts = TableFacts::default();
        self.duplicate_properties(table);
        self.order_of_properties(table);
        // Keys and actions are checked first, regardless of the order in the source.
        if let Some(keys) = table.key() {
            for key in keys {
                let key = self.key(key);
                facts.keys.push(key);
            }
        }
        self.action_list(declaration, table, &mut facts);
        for property in &table.properties {
            self.annotations(&property.annotations);
            match &property.kind {
                TablePropertyKind::Value(value) if property.name.as_str() == "default_action" => {
                    facts.default_action_is_const = property.is_const;
                    facts.default_action = self.default_action(table, &facts, value);
                }
                TablePropertyKind::Value(value) => self.property(property, value, &mut facts),
                TablePropertyKind::Entries(entries) => {
                    facts.entries_are_const = property.is_const;
                    self.entries(declaration, table, property, entries, &mut facts);
                }
                TablePropertyKind::Key(_) | TablePropertyKind::Actions(_) => {}
            }
        }
        facts.configuration = self.table_configuration(declaration, &facts);
        self.entry_list(declaration, table, &facts);
        self.context.table = outer;
        self.out.tables.insert(declaration.id, facts);
        self.hides_parameters = hides;
        self.declare(declaration.id, &declaration.name);
    }

    fn duplicate_properties(&mut self, table: &Table) {
        for (position, property) in table.properties.iter().enumerate() {
            let earlier =
                table.properties.iter().take(position).find(|other| other.name == property.name);
            if let Some(first) = earlier {
                self.report(
                    Diagnostic::error(
                        "duplicate",
                        property.name.span,
                        format!("the property `{}` is given twice", property.name),
                    )
                    .secondary(first.name.span, "the first time"),
                );
            }
        }
    }

    /// Checks that properties are in the order that p4c requires: properties that refer to actions
    /// must follow `actions`, and entries must follow the key.
    fn order_of_properties(&mut self, table: &Table) {
        let place = |wanted: fn(&TablePropertyKind) -> bool| {
            table.properties.iter().position(|property| wanted(&property.kind))
        };
        let actions = place(|kind| matches!(kind, TablePropertyKind::Actions(_)));
        let key = place(|kind| matches!(kind, TablePropertyKind::Key(_)));
        for (position, property) in table.properties.iter().enumerate() {
            let names_entries = matches!(property.kind, TablePropertyKind::Entries(_));
            let names_actions = names_entries || property.name.as_str() == "default_action";
            let later = match (actions, key) {
                (Some(actions), _) if names_actions && actions > position => "actions",
                (_, Some(key)) if names_entries && key > position => "key",
                _ => continue,
            };
            self.error(
                "order",
                property.name.span,
                format!("the property `{}` must stand after `{later}`", property.name),
            );
        }
    }

    // Keys.

    fn key(&mut self, key: &'program KeyElement) -> KeyFacts {
        self.annotations(&key.annotations);
        let info = self.expression(&key.expression);
        let allowed = matches!(
            self.base_type(&info.ty),
            Type::Bits { .. }
                | Type::SerializableEnum(_)
                | Type::Error
                | Type::Bool
                | Type::Enum(_)
                | Type::Unknown
        );
        if !allowed {
            let mut diagnostic = Diagnostic::error(
                "type-mismatch",
                key.expression.span,
                format!("a `{}` cannot be a key", self.out.show(&info.ty)),
            )
            .label("`bit<W>`, `int<W>`, `bool`, an enum or `error` was expected");
            if info.ty == Type::Integer {
                diagnostic = diagnostic.note("write its width: `8w1`");
            }
            self.report(diagnostic);
        } else if info.known && !info.ty.is_unknown() {
            self.warn(Diagnostic::warning(
                "constant-key",
                key.expression.span,
                "this key is always the same",
            ));
        }
        if allowed && key.annotation("name").is_none() && !has_key_name(&key.expression) {
            self.report(
                Diagnostic::error(
                    "key-name",
                    key.expression.span,
                    "this key has no name for the control plane",
                )
                .note("give it one after its match kind: `@name(\"...\")`"),
            );
        }
        let declaration = self.members.match_kinds.get(&key.match_kind.text).copied();
        if declaration.is_none() {
            let mut names: Vec<&str> =
                self.members.match_kinds.keys().map(|name| &**name).collect();
            names.sort_unstable();
            let listed: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let note = format!("the match kinds are {}", listed.join(", "));
            self.report(
                Diagnostic::error(
                    "undeclared-name",
                    key.match_kind.span,
                    format!("`{}` is not a match kind", key.match_kind),
                )
                .note(note),
            );
        }
        KeyFacts {
            ty: info.ty,
            match_kind: key.match_kind.text.clone(),
            match_kind_declaration: declaration,
        }
    }

    // Actions.

    fn action_list(
        &mut self,
        declaration: &Declaration,
        table: &'program Table,
        facts: &mut TableFacts,
    ) {
        let Some(actions) = table.actions() else {
            self.report(
                Diagnostic::error(
                    "no-actions",
                    declaration.name.span,
                    format!("table `{}` has no property `actions`", declaration.name),
                )
                .note("write `actions = { ... }`"),
            );
            return;
        };
        let mut names: HashSet<Arc<str>> = HashSet::new();
        for reference in actions {
            self.annotations(&reference.annotations);
            let arguments = reference.arguments.as_deref().unwrap_or(&[]);
            let Some((action, bound)) =
                self.action_call(&reference.action, arguments, reference.span, TablePart::List)
            else {
                continue;
            };
            // A `switch` and the control plane distinguish the actions by name (§14.2.1.2).
            let name = self.out.name(action);
            if !names.insert(name.clone()) {
                self.error(
                    "duplicate",
                    reference.span,
                    format!("an action `{name}` is listed twice"),
                );
                continue;
            }
            facts.actions.push(ActionFacts { action, arguments: bound, is_implicit: false });
        }
        if table.property("default_action").is_none() {
            self.implicit_default(declaration, facts);
        }
    }

    /// Adds `NoAction` as the default action of a table without `default_action`.
    fn implicit_default(&mut self, declaration: &Declaration, facts: &mut TableFacts) {
        let listed =
            facts.actions.iter().position(|action| &*self.out.name(action.action) == "NoAction");
        let position = match listed {
            Some(position) => position,
            None => {
                let path = Path {
                    absolute: true,
                    name: Name { text: Arc::from("NoAction"), span: declaration.name.span },
                };
                let found = self.lookup(&path, Wanted::Any).first().copied();
                let is_action = found.and_then(|id| self.out.index.get_declaration(id)).is_some_and(|found| {
                    matches!(&found.kind, DeclarationKind::Action { parameters, body } if parameters.is_empty() && body.statements.is_empty())
                });
                let (Some(action), true) = (found, is_action) else {
                    self.report(
                        Diagnostic::error(
                            "undeclared-name",
                            declaration.name.span,
                            format!(
                                "table `{}` has no default action, and there is no `NoAction` that does nothing",
                                declaration.name
                            ),
                        )
                        .note("include core.p4, which declares it"),
                    );
                    return;
                };
                self.marks.used.insert(action);
                facts.actions.push(ActionFacts {
                    action,
                    arguments: Vec::new(),
                    is_implicit: true,
                });
                facts.actions.len() - 1
            }
        };
        facts.default_action = Some(ActionCallFacts { position, arguments: Vec::new() });
    }

    /// Checks a table's reference to an action, with the arguments after the name. Returns the
    /// action and one argument for each of its parameters, or `None` after an error.
    fn action_call(
        &mut self,
        action: &'program Expression,
        arguments: &'program [Argument],
        span: Span,
        place: TablePart,
    ) -> Option<(DeclarationId, Vec<BoundArgument>)> {
        let ExpressionKind::Path(path) = &action.kind else {
            self.expression(action);
            self.error("not-an-action", action.span, "the name of an action was expected here");
            return None;
        };
        let found = self.lookup(path, Wanted::Any);
        self.marks.used.extend(found.iter().copied());
        let Some(id) = found.first().copied() else {
            self.argument_infos(arguments);
            self.undeclared(&path.name, "an action");
            return None;
        };
        let parameters = match self.out.index.get_declaration(id).map(|found| &found.kind) {
            Some(DeclarationKind::Action { parameters, .. }) => parameters,
            _ => {
                self.argument_infos(arguments);
                let declared = self.span_of(id);
                self.report(
                    Diagnostic::error(
                        "not-an-action",
                        action.span,
                        format!("`{path}` is not an action"),
                    )
                    .label("an action was expected")
                    .secondary(declared, "declared here"),
                );
                return None;
            }
        };
        self.out.resolutions.insert(action.id, Resolution::Declaration(id));
        self.set_type(action, Type::Callable);
        let formals = self.formals(parameters, &super::Bindings::new());
        let bound = self.pair(&formals, arguments, span, path.name.as_str())?;
        let bound = self.bind_action(path, &formals, arguments, bound, span, place)?;
        Some((id, bound))
    }

    /// Binds the arguments of an action to which a table refers. In the list of actions, parameters
    /// without a direction get their values from the control plane. Elsewhere, their values are
    /// constants in the source.
    fn bind_action(
        &mut self,
        path: &Path,
        formals: &[Formal<'program>],
        arguments: &'program [Argument],
        bound: Vec<BoundArgument>,
        span: Span,
        place: TablePart,
    ) -> Option<Vec<BoundArgument>> {
        let context = Context { in_action_argument: true, ..self.context.clone() };
        let infos = self.within(context, |checker| checker.argument_infos(arguments));
        let mut result = Vec::with_capacity(bound.len());
        let mut good = true;
        for (bound, formal) in bound.iter().zip(formals) {
            let controlled = formal.parameter.direction == Direction::None;
            let name = &formal.parameter.name;
            match bound {
                BoundArgument::Given(position) if controlled && place == TablePart::List => {
                    let span = arguments.get(*position).map_or(span, Argument::span);
                    self.report(
                        Diagnostic::error(
                            "arguments",
                            span,
                            format!(
                                "parameter `{name}` belongs to the control plane: it cannot be given here"
                            ),
                        )
                        .secondary(name.span, "it has no direction"),
                    );
                    good = false;
                    result.push(*bound);
                }
                BoundArgument::Given(position) => {
                    let info = infos.get(*position);
                    if let (Some(argument), Some(info)) = (arguments.get(*position), info)
                        && controlled
                        && !info.known
                    {
                        self.report(
                            Diagnostic::error(
                                "not-constant",
                                argument.value.span,
                                format!("the argument for `{name}` must be known at compile time"),
                            )
                            .label("a constant was expected"),
                        );
                        good = false;
                    }
                    result.push(*bound);
                }
                BoundArgument::Default => result.push(BoundArgument::Default),
                _ if controlled && place == TablePart::List => {
                    result.push(BoundArgument::ControlPlane)
                }
                _ => {
                    self.report(
                        Diagnostic::error(
                            "arguments",
                            span,
                            format!("`{path}` needs an argument for `{name}`"),
                        )
                        .secondary(name.span, "this parameter"),
                    );
                    good = false;
                    result.push(BoundArgument::Absent);
                }
            }
        }
        if !good {
            return None;
        }
        // For the parameters that have arguments, types and directions are checked as in a direct
        // call.
        let given: Vec<Formal<'program>> = bound
            .iter()
            .zip(formals)
            .filter(|(bound, _)| matches!(bound, BoundArgument::Given(_)))
            .map(|(_, formal)| formal.clone())
            .collect();
        let signature = Signature {
            callee: Callee::Builtin { builtin: super::Builtin::ApplyTable, object: Type::Unknown },
            name: path.to_string(),
            type_parameters: &[],
            parameters: given,
            return_type: Type::Void,
            style: Style::Action,
        };
        self.match_arguments(&signature, &[], arguments, &infos, span)?;
        Some(result)
    }

    /// Finds an action in the table's list of actions. Returns its position and its element in the
    /// list. Checks that a call of the action has the same arguments as the list, for parameters
    /// with a direction.
    fn listed(
        &mut self,
        table: &'program Table,
        facts: &TableFacts,
        action: DeclarationId,
        arguments: &'program [Argument],
        bound: &[BoundArgument],
        span: Span,
    ) -> Option<(usize, &'program ActionReference)> {
        let Some(position) = facts.actions.iter().position(|listed| listed.action == action) else {
            let declared = self.span_of(action);
            self.report(
                Diagnostic::error(
                    "not-listed",
                    span,
                    format!("`{}` is not in the table's `actions`", self.out.name(action)),
                )
                .secondary(declared, "the action"),
            );
            return None;
        };
        let reference = table.actions().unwrap_or(&[]).iter().find(|reference| {
            self.out.resolution(reference.action.id) == Some(&Resolution::Declaration(action))
        })?;
        let listed =
            facts.actions.get(position).map(|listed| listed.arguments.clone()).unwrap_or_default();
        let of_list = reference.arguments.as_deref().unwrap_or(&[]);
        for (ours, theirs) in bound.iter().zip(&listed) {
            let (BoundArgument::Given(ours), BoundArgument::Given(theirs)) = (ours, theirs) else {
                continue;
            };
            let (Some(ours), Some(theirs)) = (arguments.get(*ours), of_list.get(*theirs)) else {
                continue;
            };
            if !self.same_expression(&ours.value, &theirs.value) {
                self.report(
                    Diagnostic::error(
                        "arguments",
                        ours.value.span,
                        "this argument differs from the one in the table's `actions`",
                    )
                    .secondary(theirs.value.span, "given here"),
                );
            }
        }
        Some((position, reference))
    }

    /// Returns whether two expressions are equal: they have the same structure, or equal constant
    /// values.
    pub(super) fn same_expression(&self, one: &Expression, other: &Expression) -> bool {
        if let (Some(a), Some(b)) = (self.out.constant(one.id), self.out.constant(other.id)) {
            return a == b || a.to_integer().is_some() && a.to_integer() == b.to_integer();
        }
        let all = |a: &[Expression], b: &[Expression]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.same_expression(a, b))
        };
        match (&one.kind, &other.kind) {
            (ExpressionKind::Path(_), ExpressionKind::Path(_)) => {
                self.out.resolution(one.id) == self.out.resolution(other.id)
            }
            (
                ExpressionKind::Member { base: a, member: m },
                ExpressionKind::Member { base: b, member: n },
            ) => m == n && self.same_expression(a, b),
            (
                ExpressionKind::Index { base: a, index: i },
                ExpressionKind::Index { base: b, index: j },
            ) => self.same_expression(a, b) && self.same_expression(i, j),
            (
                ExpressionKind::Slice { base: a, high: h, low: l },
                ExpressionKind::Slice { base: b, high: i, low: m },
            ) => {
                self.same_expression(a, b)
                    && self.same_expression(h, i)
                    && self.same_expression(l, m)
            }
            (
                ExpressionKind::Unary { operator: o, operand: a },
                ExpressionKind::Unary { operator: p, operand: b },
            ) => o == p && self.same_expression(a, b),
            (
                ExpressionKind::Binary { operator: o, left: a, right: b },
                ExpressionKind::Binary { operator: p, left: c, right: d },
            ) => o == p && self.same_expression(a, c) && self.same_expression(b, d),
            (
                ExpressionKind::Cast { target: s, operand: a },
                ExpressionKind::Cast { target: t, operand: b },
            ) => self.out.type_at(s.id) == self.out.type_at(t.id) && self.same_expression(a, b),
            (
                ExpressionKind::PartSelect { base: a, low: l, width: w },
                ExpressionKind::PartSelect { base: b, low: m, width: x },
            ) => {
                self.same_expression(a, b)
                    && self.same_expression(l, m)
                    && self.same_expression(w, x)
            }
            (
                ExpressionKind::Conditional { condition: c, then: t, otherwise: e },
                ExpressionKind::Conditional { condition: d, then: u, otherwise: f },
            ) => {
                self.same_expression(c, d)
                    && self.same_expression(t, u)
                    && self.same_expression(e, f)
            }
            (
                ExpressionKind::List { elements: a, default_rest: r },
                ExpressionKind::List { elements: b, default_rest: s },
            ) => r.is_some() == s.is_some() && all(a, b),
            (
                ExpressionKind::Record { fields: a, default_rest: r },
                ExpressionKind::Record { fields: b, default_rest: s },
            ) => {
                r.is_some() == s.is_some()
                    && a.len() == b.len()
                    && a.iter()
                        .zip(b)
                        .all(|(a, b)| a.name == b.name && self.same_expression(&a.value, &b.value))
            }
            (ExpressionKind::Boolean(a), ExpressionKind::Boolean(b)) => a == b,
            (ExpressionKind::Integer(a), ExpressionKind::Integer(b)) => a.value == b.value,
            (ExpressionKind::InvalidHeader, ExpressionKind::InvalidHeader)
            | (ExpressionKind::DefaultValue, ExpressionKind::DefaultValue)
            | (ExpressionKind::This, ExpressionKind::This) => true,
            (
                ExpressionKind::Call { callee: c, arguments: a, .. },
                ExpressionKind::Call { callee: d, arguments: b, .. },
            ) => {
                self.same_expression(c, d)
                    && a.len() == b.len()
                    && a.iter().zip(b).all(|(a, b)| self.same_expression(&a.value, &b.value))
            }
            _ => false,
        }
    }

    /// Checks that the default action is one of the table's actions, and returns it with its
    /// arguments.
    fn default_action(
        &mut self,
        table: &'program Table,
        facts: &TableFacts,
        value: &'program Expression,
    ) -> Option<ActionCallFacts> {
        let (action, arguments): (&Expression, &[Argument]) = match &value.kind {
            ExpressionKind::Path(_) => (value, &[]),
            ExpressionKind::Call { callee, arguments, type_arguments } => {
                if !type_arguments.is_empty() {
                    self.error("type-arguments", value.span, "actions take no type arguments");
                }
                (callee, arguments)
            }
            _ => {
                self.expression(value);
                self.error(
                    "not-an-action",
                    value.span,
                    "the default action must be the name of an action, or a call",
                );
                return None;
            }
        };
        let (id, bound) = self.action_call(action, arguments, value.span, TablePart::Default)?;
        let (position, reference) = self.listed(table, facts, id, arguments, &bound, value.span)?;
        if let Some(annotation) =
            reference.annotations.iter().find(|a| a.name.as_str() == "tableonly")
        {
            self.report(
                Diagnostic::error("not-listed", value.span, "this action is for entries only")
                    .secondary(annotation.span, "marked here"),
            );
        }
        Some(ActionCallFacts { position, arguments: bound })
    }

    // Other properties.

    /// Checks the value of any property other than the keys, the actions, the default action and
    /// the entries.
    fn property(
        &mut self,
        property: &'program TableProperty,
        value: &'program Expression,
        facts: &mut TableFacts,
    ) {
        let info = self.expression(value);
        let name = property.name.as_str();
        match name {
            "size" | "priority_delta" => {
                let number = self.out.evaluate_own(value).as_ref().and_then(Constant::to_integer);
                if !info.ty.is_unknown() && (!info.known || !info.ty.is_numeric()) {
                    self.report(
                        Diagnostic::error(
                            "not-constant",
                            value.span,
                            format!("`{name}` must be a number known at compile time"),
                        )
                        .label("a number was expected"),
                    );
                } else if let Some(number) = number {
                    match u64::try_from(&number) {
                        Ok(number) if name == "size" => facts.size = Some(number),
                        Ok(1..) => {}
                        _ => {
                            self.error(
                                "out-of-range",
                                value.span,
                                format!("`{name}` cannot be {number}"),
                            );
                        }
                    }
                }
            }
            "largest_priority_wins"
            | "add_on_miss"
            | "support_timeout"
            | "idle_timeout_with_auto_delete"
                if !info.ty.is_unknown() && (info.ty != Type::Bool || !info.known) =>
            {
                self.error("type-mismatch", value.span, format!("`{name}` is `true` or `false`"));
            }
            _ if !KNOWN_PROPERTIES.contains(&name) => {
                self.warn(Diagnostic::warning(
                    "unknown-property",
                    property.name.span,
                    format!("the table property `{name}` is unknown in all architectures"),
                ));
            }
            _ => {}
        }
    }
}

/// Returns whether p4c can derive the control-plane name of a key from its expression.
fn has_key_name(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Path(_) | ExpressionKind::Integer(_) => true,
        // The bounds of a slice are constants.
        ExpressionKind::Member { base, .. } | ExpressionKind::Slice { base, .. } => {
            has_key_name(base)
        }
        ExpressionKind::Index { base, index } => has_key_name(base) && has_index_name(index),
        ExpressionKind::Call { callee, .. } => match &callee.kind {
            ExpressionKind::Member { base, member } => {
                member.as_str() == "isValid" && has_key_name(base)
            }
            _ => false,
        },
        ExpressionKind::Binary { operator: BinaryOperator::BitAnd, left, right } => {
            has_key_name(left) && has_key_name(right)
        }
        _ => false,
    }
}

/// Returns whether p4c can derive a name from an index. p4c folds constants first.
fn has_index_name(index: &Expression) -> bool {
    match &index.kind {
        ExpressionKind::Binary { left, right, .. } => has_index_name(left) && has_index_name(right),
        _ => has_key_name(index),
    }
}
