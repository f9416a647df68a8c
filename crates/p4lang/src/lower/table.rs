//! Lowering of tables: keys, actions, entries, and properties of the architectures.

use super::types::number;
use super::{AnonymousExtern, Entity, ExternRole, Lowering, names};
use crate::ast::{
    self, AnnotationBody, BinaryOperator, DeclarationKind, ExpressionKind, TableProperty,
    TablePropertyKind,
};
use crate::check::{ActionCallFacts, BoundArgument, Callee, Constant, TableFacts, Type};
use crate::priorities::{self, Scale};
use ir::{self, KeySet, Value};

impl<'a> Lowering<'a> {
    /// Lowers a table of a control instance, in the scope of that instance.
    pub(super) fn table(
        &mut self,
        declaration: &'a ast::Declaration,
        table: &'a ast::Table,
        control: ir::ControlId,
    ) {
        let checked = self.checked;
        let Some(facts) = checked.table(declaration.id) else { return };
        let id = ir::TableId(self.program.tables.len() as u32);
        self.bind(declaration.id, Entity::Table(id));
        let name = names::local_name(&declaration.annotations, declaration.name.as_str());
        let name = names::qualified(&self.scope.prefix, &name);
        let mut keys = Vec::new();
        let before_keys = self.collect(|lowering| keys = lowering.keys(table, facts));
        let actions = self.action_references(table, facts);
        let default_action = self.default_action(table, facts);
        let location = self.location(declaration.name.span);
        let annotations = self.annotations(&declaration.annotations);
        let lowered = ir::Table {
            name: name.clone(),
            control,
            before_keys,
            keys,
            actions,
            default_action,
            default_action_is_const: facts.default_action_is_const,
            entries: Vec::new(),
            entries_are_const: facts.entries_are_const,
            size: facts.size,
            implementation: None,
            direct_externs: Vec::new(),
            idle_timeout: None,
            add_on_miss: false,
            empty_group_action: None,
            storage: facts.configuration.unwrap_or_default(),
            properties: Vec::new(),
            location,
            annotations,
        };
        self.program.tables.push(lowered);
        let types: Vec<Type> = facts.keys.iter().map(|key| self.concrete(&key.ty)).collect();
        let mut entries = None;
        for property in &table.properties {
            match &property.kind {
                TablePropertyKind::Entries(list) => {
                    entries = Some(self.entries(table, list, facts, &types));
                }
                TablePropertyKind::Value(value) => {
                    self.property(id, &name, property, value, facts);
                }
                TablePropertyKind::Key(_) | TablePropertyKind::Actions(_) => {}
            }
        }
        if let Some(known) = self.program.tables.get_mut(id.index()) {
            known.entries = entries.unwrap_or_default();
        }
    }

    fn keys(&mut self, table: &'a ast::Table, facts: &TableFacts) -> Vec<ir::Key> {
        let elements = table.key().unwrap_or_default();
        let list: Vec<&ast::Expression> =
            elements.iter().map(|element| &element.expression).collect();
        let values = self.operands(&list);
        elements
            .iter()
            .zip(values)
            .zip(&facts.keys)
            .enumerate()
            .map(|(position, ((element, value), facts))| ir::Key {
                name: self.key_name(element, position),
                expression: self.sized(value, 32),
                match_kind: ir::MatchKind::named(&facts.match_kind),
                user_type: self.user_type_of(&facts.ty),
                annotations: self.annotations(&element.annotations),
            })
            .collect()
    }

    fn action_references(
        &mut self,
        table: &'a ast::Table,
        facts: &'a TableFacts,
    ) -> Vec<ir::ActionReference> {
        let written = table.actions().unwrap_or_default();
        let mut references = Vec::new();
        for (position, action) in facts.actions.iter().enumerate() {
            let Some(Entity::Action(id)) = self.action_entity(action.action) else {
                let span = written
                    .get(position)
                    .map_or_else(crate::source::Span::nowhere, |reference| reference.span);
                self.problem(span, "this action does not exist here");
                continue;
            };
            let reference = if action.is_implicit { None } else { written.get(position) };
            let given =
                reference.and_then(|reference| reference.arguments.as_deref()).unwrap_or_default();
            let (parameters, types) = self.action_parameters(action.action);
            let mut arguments = Vec::new();
            let before_arguments = self.collect(|lowering| {
                arguments = lowering.directed(&action.arguments, &types, given, parameters);
            });
            let annotations = match reference {
                Some(reference) => self.annotations(&reference.annotations),
                // As in p4c's P4Info, table entries cannot use an action that the source does not
                // list.
                None if action.is_implicit => vec![ir::Annotation {
                    name: "defaultonly".to_owned(),
                    body: ir::AnnotationBody::Empty,
                }],
                None => Vec::new(),
            };
            references.push(ir::ActionReference {
                action: id,
                arguments,
                before_arguments,
                annotations,
            });
        }
        references
    }

    fn action_parameters(&self, action: ast::DeclarationId) -> (&'a [ast::Parameter], Vec<Type>) {
        let parameters = match self.declaration(action).map(|node| &node.kind) {
            Some(DeclarationKind::Action { parameters, .. }) => parameters.as_slice(),
            _ => &[],
        };
        let types = parameters
            .iter()
            .map(|parameter| self.concrete(self.checked.declared_type(parameter.id)))
            .collect();
        (parameters, types)
    }

    /// Lowers the arguments for those parameters of an action that have a direction.
    fn directed(
        &mut self,
        bound: &[BoundArgument],
        types: &[Type],
        given: &'a [ast::Argument],
        parameters: &'a [ast::Parameter],
    ) -> Vec<ir::Argument> {
        let count = parameters
            .iter()
            .take_while(|parameter| parameter.direction != ast::Direction::None)
            .count();
        let bound = bound.get(..count).unwrap_or(bound);
        self.bound_arguments(bound, types, given, parameters, false)
    }

    fn default_action(&mut self, table: &'a ast::Table, facts: &TableFacts) -> ir::ActionCall {
        let Some(default) = &facts.default_action else {
            return ir::ActionCall { position: 0, arguments: Vec::new() };
        };
        let given = match table.property("default_action").map(|property| &property.kind) {
            Some(TablePropertyKind::Value(value)) => match &value.kind {
                ExpressionKind::Call { arguments, .. } => arguments.as_slice(),
                _ => &[],
            },
            _ => &[],
        };
        self.action_call(default, given, facts)
    }

    /// Lowers the action of an entry or the default action. The call contains values for the
    /// parameters without a direction, which the control plane sets in its own entries.
    fn action_call(
        &mut self,
        call: &ActionCallFacts,
        given: &'a [ast::Argument],
        facts: &TableFacts,
    ) -> ir::ActionCall {
        let position = call.position as u32;
        let Some(action) = facts.actions.get(call.position) else {
            return ir::ActionCall { position, arguments: Vec::new() };
        };
        let (parameters, types) = self.action_parameters(action.action);
        let mut arguments = Vec::new();
        for ((parameter, bound), ty) in parameters.iter().zip(&call.arguments).zip(&types) {
            if parameter.direction != ast::Direction::None {
                continue;
            }
            let value = match (bound, &parameter.default) {
                (BoundArgument::Given(at), _) => given.get(*at).map(|argument| &argument.value),
                (BoundArgument::Default, Some(default)) => Some(default),
                _ => None,
            };
            let known = value.and_then(|value| self.known_value(value, ty));
            match (known, value) {
                (Some(known), _) => arguments.push(known),
                (None, Some(value)) => {
                    self.problem(value.span, "this argument must be known at compile time");
                }
                (None, None) => {
                    let default = self.default_value(ty);
                    if let ir::ExpressionKind::Constant(value) = default.kind {
                        arguments.push(value);
                    }
                }
            }
        }
        ir::ActionCall { position, arguments }
    }

    fn entries(
        &mut self,
        table: &'a ast::Table,
        list: &'a [ast::Entry],
        facts: &'a TableFacts,
        types: &[Type],
    ) -> Vec<ir::Entry> {
        let priorities = self.priorities(table, list, facts);
        let mut entries = Vec::new();
        for ((entry, facts_of), priority) in list.iter().zip(&facts.entries).zip(priorities) {
            let given = entry.action.arguments.as_deref().unwrap_or_default();
            let location = self.location(entry.span);
            let Some(key_sets) = self.entry_key_sets(&entry.keyset, types) else { continue };
            let action = self.action_call(&facts_of.action, given, facts);
            let annotations = self.annotations(&entry.annotations);
            entries.push(ir::Entry {
                key_sets,
                action,
                priority,
                is_const: entry.is_const || facts.entries_are_const,
                location,
                annotations,
            });
        }
        entries
    }

    /// Returns the priority of each entry of a table, or `None` for each entry if the entries
    /// cannot overlap. The entry with the largest number wins (P4_16 specification, section
    /// 14.2.1.4).
    fn priorities(
        &mut self,
        table: &'a ast::Table,
        list: &'a [ast::Entry],
        facts: &TableFacts,
    ) -> Vec<Option<u32>> {
        let needed = facts
            .keys
            .iter()
            .any(|key| matches!(&*key.match_kind, "ternary" | "range" | "optional"));
        if !needed {
            return vec![None; list.len()];
        }
        let property = |name: &str| match table.property(name).map(|property| &property.kind) {
            Some(TablePropertyKind::Value(value)) => self.evaluate(value),
            _ => None,
        };
        let largest_wins = property("largest_priority_wins")
            .and_then(|constant| match constant {
                Constant::Bool(value) => Some(value),
                _ => None,
            })
            .unwrap_or(true);
        let delta = property("priority_delta")
            .as_ref()
            .and_then(number)
            .and_then(|value| i64::try_from(value).ok())
            .unwrap_or(1);
        let written: Vec<Option<i64>> =
            facts.entries.iter().map(|entry| entry.priority.map(i64::from)).collect();
        let annotated: Vec<Option<i64>> = list
            .iter()
            .map(|entry| {
                let annotation = entry
                    .annotations
                    .iter()
                    .find(|annotation| annotation.name.as_str() == "priority")?;
                let (AnnotationBody::Evaluated { values, .. }
                | AnnotationBody::Expressions(values)) = &annotation.body
                else {
                    return None;
                };
                i64::try_from(self.annotation_number(values.first()?)?).ok()
            })
            .collect();
        let count = list.len() as i64;
        let (values, largest_wins): (Vec<i64>, bool) = if written.iter().any(Option::is_some) {
            let mut last = 0;
            let values = written
                .iter()
                .map(|priority| {
                    last = match priority {
                        Some(priority) => *priority,
                        None if largest_wins => last.saturating_sub(delta),
                        None => last.saturating_add(delta),
                    };
                    last
                })
                .collect();
            (values, largest_wins)
        } else if annotated.iter().any(Option::is_some) {
            // p4c's BMv2 back end interprets `@priority` as follows: the smaller number wins, and
            // the default is the position of the entry.
            let values = annotated
                .iter()
                .zip(1..)
                .map(|(priority, position)| priority.unwrap_or(position))
                .collect();
            (values, false)
        } else if largest_wins {
            let values = (0..count)
                .map(|position| (count - 1 - position).saturating_mul(delta).saturating_add(1))
                .collect();
            (values, true)
        } else {
            let values = (0..count)
                .map(|position| position.saturating_mul(delta).saturating_add(1))
                .collect();
            (values, false)
        };
        // The numbers in `@priority` may be negative.
        let numbers = priorities::numbers(&values, Scale { largest_wins, least: 0 });
        numbers.into_iter().map(Some).collect()
    }

    fn entry_key_sets(
        &mut self,
        keyset: &'a ast::Expression,
        types: &[Type],
    ) -> Option<Vec<KeySet<Value>>> {
        if matches!(keyset.kind, ExpressionKind::DefaultKeyset | ExpressionKind::DontCare) {
            return Some(vec![KeySet::Any; types.len()]);
        }
        keyset
            .key_sets(types.len())
            .iter()
            .zip(types)
            .map(|(element, ty)| self.entry_key_set(element, ty))
            .collect()
    }

    fn entry_key_set(&mut self, keyset: &'a ast::Expression, ty: &Type) -> Option<KeySet<Value>> {
        match &keyset.kind {
            ExpressionKind::DefaultKeyset | ExpressionKind::DontCare => Some(KeySet::Any),
            ExpressionKind::Binary { operator: BinaryOperator::Mask, left, right } => {
                let (value, mask) = (self.entry_value(left, ty)?, self.entry_value(right, ty)?);
                Some(KeySet::Mask { value: masked(value, &mask), mask })
            }
            ExpressionKind::Binary { operator: BinaryOperator::Range, left, right } => {
                Some(KeySet::Range {
                    low: self.entry_value(left, ty)?,
                    high: self.entry_value(right, ty)?,
                })
            }
            _ => Some(KeySet::Exact(self.entry_value(keyset, ty)?)),
        }
    }

    fn entry_value(&mut self, value: &'a ast::Expression, ty: &Type) -> Option<Value> {
        let known = self.known_value(value, ty);
        if known.is_none() {
            self.problem(value.span, "an entry's key must be known at compile time");
        }
        known
    }

    /// Lowers a table property of the form `name = value;`.
    fn property(
        &mut self,
        table: ir::TableId,
        table_name: &str,
        property: &'a TableProperty,
        value: &'a ast::Expression,
        facts: &'a TableFacts,
    ) {
        if matches!(property.name.as_str(), "psa_empty_group_action" | "pna_empty_group_action") {
            let call = self.named_action(value, facts);
            if let Some(known) = self.program.tables.get_mut(table.index()) {
                known.empty_group_action = call;
            }
            return;
        }
        let role = match property.name.as_str() {
            "default_action" | "largest_priority_wins" | "priority_delta" => return,
            "implementation" | "psa_implementation" | "pna_implementation" => {
                Some(ExternRole::Implementation)
            }
            "counters"
            | "meters"
            | "psa_direct_counter"
            | "psa_direct_counters"
            | "psa_direct_meter"
            | "psa_direct_meters"
            | "pna_direct_counter"
            | "pna_direct_counters"
            | "pna_direct_meter"
            | "pna_direct_meters" => Some(ExternRole::Direct),
            _ => None,
        };
        if let Some(role) = role {
            self.extern_property(table, table_name, property, value, role);
            return;
        }
        let constant = self.evaluate(value);
        let Some(constant) = constant else {
            // The property may be an extern object of an architecture that is not built in.
            if let Some(Entity::Extern(id)) = self.object(value) {
                self.attach(table, ExternRole::Direct, id);
            }
            return;
        };
        let ty = self.concrete(self.checked.converted_type_of(value.id));
        let as_value = self.value(&constant, &ty);
        let size = number(&constant).and_then(|size| u64::try_from(size).ok());
        let member = match &constant {
            Constant::Enum(id) => Some(self.checked.name(*id).to_string()),
            Constant::SerializableEnum { member: Some(id), .. } => {
                Some(self.checked.name(*id).to_string())
            }
            _ => None,
        };
        let Some(known) = self.program.tables.get_mut(table.index()) else { return };
        match property.name.as_str() {
            "size" => known.size = size,
            "support_timeout" => {
                if constant == Constant::Bool(true) {
                    known.idle_timeout = Some(ir::IdleTimeout::NotifyControl);
                }
            }
            // Version 0.5 of PNA and p4c's DPDK back end use this property.
            "idle_timeout_with_auto_delete" => {
                if constant == Constant::Bool(true) {
                    known.idle_timeout = Some(ir::IdleTimeout::AutoDelete);
                }
            }
            "psa_idle_timeout" | "pna_idle_timeout" => {
                known.idle_timeout = match member.as_deref() {
                    None | Some("NO_TIMEOUT") => None,
                    Some("AUTO_DELETE") => Some(ir::IdleTimeout::AutoDelete),
                    Some(_) => Some(ir::IdleTimeout::NotifyControl),
                };
            }
            "add_on_miss" => known.add_on_miss = constant == Constant::Bool(true),
            name => known.properties.push((name.to_owned(), as_value)),
        }
    }

    /// Lowers a call of one of the table's actions, with constants for the parameters without a
    /// direction.
    fn named_action(
        &mut self,
        value: &'a ast::Expression,
        facts: &'a TableFacts,
    ) -> Option<ir::ActionCall> {
        let (callee, given) = match &value.kind {
            ExpressionKind::Call { callee, arguments, .. } => (&callee.kind, arguments.as_slice()),
            kind => (kind, &[][..]),
        };
        let ExpressionKind::Path(path) = callee else { return None };
        let position = facts.actions.iter().position(|known| {
            self.declaration(known.action)
                .is_some_and(|declaration| declaration.name.text == path.name.text)
        })?;
        let (parameters, types) = self.action_parameters(facts.actions.get(position)?.action);
        let mut arguments = Vec::new();
        for ((parameter, ty), argument) in parameters.iter().zip(&types).zip(given) {
            if parameter.direction == ast::Direction::None {
                arguments.push(self.known_value(&argument.value, ty)?);
            }
        }
        let wanted = parameters.iter().filter(|one| one.direction == ast::Direction::None).count();
        let position = u32::try_from(position).ok()?;
        (arguments.len() == wanted).then_some(ir::ActionCall { position, arguments })
    }

    /// Attaches to a table the extern objects to which one of its properties refers. If the
    /// property constructs an object itself, the object is created later, with a name of its own.
    fn extern_property(
        &mut self,
        table: ir::TableId,
        table_name: &str,
        property: &'a TableProperty,
        value: &'a ast::Expression,
        role: ExternRole,
    ) {
        if let ExpressionKind::List { elements, .. } = &value.kind {
            for element in elements {
                self.extern_property(table, table_name, property, element, role);
            }
            return;
        }
        let constructs = self
            .checked
            .call(value.id)
            .is_some_and(|facts| matches!(facts.callee, Callee::Constructor { .. }));
        if constructs {
            // As in p4c, the name that the property sets is not prefixed with the names of
            // instances, and is unique in the whole program.
            let local = names::local_name(&property.annotations, "");
            let name = if local.is_empty() {
                format!("{table_name}.{}", property.name)
            } else {
                names::qualified("", &local)
            };
            // p4c copies the annotations of the property to an action profile, but not to a direct
            // counter or meter.
            let annotations = match role {
                ExternRole::Implementation => self.annotations(&property.annotations),
                ExternRole::Direct => Vec::new(),
            };
            self.deferred.anonymous_externs.push(AnonymousExtern {
                table,
                role,
                name,
                call: value,
                scope: self.scope.clone(),
                annotations,
            });
        } else if let Some(Entity::Extern(id)) = self.object(value) {
            self.attach(table, role, id);
        } else {
            self.problem(value.span, "an extern object is expected here");
        }
    }
}

/// Returns the value of a key set with the bits outside the mask cleared, as P4Runtime requires.
/// Matching ignores these bits.
fn masked(value: Value, mask: &Value) -> Value {
    match (value, mask) {
        (Value::Bits(value), Value::Bits(mask)) => Value::Bits(value.bit_and(mask)),
        (value, _) => value,
    }
}
