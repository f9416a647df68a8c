//! Translation of the ingress and egress pipelines of BMv2 JSON (tables, conditionals and their
//! order), and of the package.

use std::collections::HashMap;

use num_bigint::BigInt;
use serde_json::Value as Json;

use super::flow::{self, Next, Node};
use super::headers::FieldKind;
use super::json::{self, Pipeline};
use super::{Loader, Outcome};
use crate::priorities::{self, Scale};
use ir::bits::Bits;
use ir::{
    self, Action, ActionCall, ActionId, ActionReference, ActionScope, Argument, Control, ControlId,
    Direction, Entry, Expression, ExpressionKind, ExternCallee, Key, KeySet, MatchKind, Package,
    PackageArgument, PackageValue, Place, Statement, StatementKind, Table, TableId,
    TableImplementation, TableStorage, Type, Value,
};

/// A function from the name of a control-flow node to the node's number. It returns `None` for the
/// end of the pipeline.
type Successor<'s, L> = &'s dyn Fn(&L, Option<&str>) -> Outcome<Option<usize>>;

impl Loader<'_> {
    /// Translates the parser, the controls and the deparser, and returns the package `V1Switch`
    /// with them as arguments.
    pub(super) fn blocks(&mut self) -> Outcome<Package> {
        let document = self.document;
        let (headers, metadata, standard) = (
            self.layout.headers_variable,
            self.layout.metadata_variable,
            self.layout.standard_variable,
        );
        let parser = self.parser()?;
        let checksum_parameters =
            self.block_parameters(&[(Direction::InOut, headers), (Direction::InOut, metadata)]);
        let verify_body = self.checksum_body(true)?;
        let verify = self.control("verifyChecksum", checksum_parameters.clone());
        self.set_body(verify, verify_body);
        let mut pipelines = Vec::new();
        for name in ["ingress", "egress"] {
            let parameters = self.block_parameters(&[
                (Direction::InOut, headers),
                (Direction::InOut, metadata),
                (Direction::InOut, standard),
            ]);
            let known = document.pipelines.iter().find(|pipeline| pipeline.name == name);
            let id = self.control(name, parameters);
            if let Some(pipeline) = known {
                let location = self.location(pipeline.source_info.as_ref());
                if let Some(control) = self.program.controls.get_mut(id.index()) {
                    control.location = location;
                }
                let body = self.pipeline(id, pipeline)?;
                self.set_body(id, body);
                self.own_actions(id, pipeline);
            }
            pipelines.push(id);
        }
        let update_body = self.checksum_body(false)?;
        let update = self.control("computeChecksum", checksum_parameters);
        self.set_body(update, update_body);
        let deparser_body = self.deparser_body()?;
        let writes = document.deparsers.first().is_some_and(|of| !of.primitives.is_empty());
        let direction = if writes { Direction::InOut } else { Direction::In };
        let deparser_parameters = self.block_parameters(&[(direction, headers)]);
        let deparser = self.control("deparser", deparser_parameters);
        self.set_body(deparser, deparser_body);
        let argument = |name: &str, value| PackageArgument { name: name.to_owned(), value };
        let ingress = pipelines.first().copied().unwrap_or(verify);
        let egress = pipelines.last().copied().unwrap_or(verify);
        Ok(Package {
            name: "V1Switch".to_owned(),
            arguments: vec![
                argument("p", PackageValue::Parser(parser)),
                argument("vr", PackageValue::Control(verify)),
                argument("ig", PackageValue::Control(ingress)),
                argument("eg", PackageValue::Control(egress)),
                argument("ck", PackageValue::Control(update)),
                argument("dep", PackageValue::Control(deparser)),
            ],
        })
    }

    /// Records that the actions of a pipeline's tables are declared in the pipeline's control. In
    /// the JSON, p4c prefixes the name of such an action with the name of the control, so an action
    /// whose name lacks the prefix is one at top level.
    fn own_actions(&mut self, control: ControlId, pipeline: &Pipeline) {
        for id in pipeline.tables.iter().flat_map(|table| &table.action_ids) {
            let action =
                self.actions.get(id).and_then(|id| self.program.actions.get_mut(id.index()));
            if let Some(action) = action.filter(|action| action.name.contains('.')) {
                action.scope = ActionScope::Control(control);
            }
        }
    }

    fn control(&mut self, name: &str, parameters: Vec<ir::Parameter>) -> ControlId {
        let id = ControlId(self.program.controls.len() as u32);
        self.program.controls.push(Control {
            name: name.to_owned(),
            parameters,
            body: Vec::new(),
            location: None,
            annotations: Vec::new(),
        });
        id
    }

    fn set_body(&mut self, id: ControlId, body: ir::Block) {
        if let Some(control) = self.program.controls.get_mut(id.index()) {
            control.body = body;
        }
    }

    /// Translates a pipeline, which is a graph of tables, conditions and action calls, to the body
    /// of a control.
    fn pipeline(&mut self, control: ControlId, pipeline: &Pipeline) -> Outcome<ir::Block> {
        let mut names: HashMap<&str, usize> = HashMap::new();
        let all = pipeline
            .tables
            .iter()
            .map(|table| table.name.as_str())
            .chain(pipeline.conditionals.iter().map(|condition| condition.name.as_str()))
            .chain(pipeline.action_calls.iter().map(|call| call.name.as_str()));
        for (position, name) in all.enumerate() {
            names.insert(name, position);
        }
        self.part = format!("pipeline `{}`", pipeline.name);
        let next = |loader: &Self, name: Option<&str>| -> Outcome<Option<usize>> {
            match name {
                None => Ok(None),
                Some(name) => match names.get(name) {
                    Some(position) => Ok(Some(*position)),
                    None => loader.fail(format!("there is no node `{name}`")),
                },
            }
        };
        let mut nodes = Vec::new();
        for table in &pipeline.tables {
            self.part = format!("table `{}`", table.name);
            nodes.push(self.table_node(control, table, &next)?);
        }
        for condition in &pipeline.conditionals {
            self.part = format!("condition `{}`", condition.name);
            let (yes, no) = (
                next(self, condition.true_next.as_deref())?,
                next(self, condition.false_next.as_deref())?,
            );
            let mut test = None;
            let mut body = self.collect(|loader| {
                test = Some(loader.boolean(&condition.expression)?);
                Ok(())
            })?;
            let location = self.location(condition.source_info.as_ref());
            for statement in &mut body {
                statement.location = location;
            }
            let next = match test {
                Some(condition) => Next::If { condition, yes, no },
                None => Next::Always(yes),
            };
            nodes.push(Node { body, next });
        }
        for call in &pipeline.action_calls {
            self.part = format!("action call `{}`", call.name);
            let Some(action) = self.actions.get(&call.action_id).copied() else {
                return self.fail("there is no such action");
            };
            let kind = StatementKind::CallAction { action, arguments: Vec::new() };
            let body = vec![Statement { location: None, kind }];
            nodes.push(Node { body, next: Next::Always(next(self, call.next_node.as_deref())?) });
        }
        self.part = format!("pipeline `{}`", pipeline.name);
        let entry = next(self, pipeline.init_table.as_deref())?;
        flow::structured(&nodes, entry).or_else(|problem| self.fail(problem))
    }

    fn table_node(
        &mut self,
        control: ControlId,
        table: &json::Table,
        next: Successor<'_, Self>,
    ) -> Outcome<Node> {
        let location = self.location(table.source_info.as_ref());
        let ids = self.table_actions(table)?;
        let targets: Vec<(String, Option<usize>)> = table
            .next_tables
            .iter()
            .map(|(name, target)| Ok((name.clone(), next(self, target.as_str())?)))
            .collect::<Outcome<_>>()?;
        let base = next(self, table.base_default_next.as_deref())?;
        // The compiler wrapped plain statements in a table. Only the statements are translated.
        if let (true, [action], Some(default)) =
            (table.key.is_empty(), ids.as_slice(), &table.default_entry)
            && default.action_const
            && default.action_entry_const
            && default.action_data.is_empty()
            && !table.name.contains('.')
        {
            self.hide_action(*action);
            let kind = StatementKind::CallAction { action: *action, arguments: Vec::new() };
            let target = targets.first().map_or(base, |(_, target)| *target);
            return Ok(Node {
                body: vec![Statement { location, kind }],
                next: Next::Always(target),
            });
        }
        let id = self.table(control, table, &ids)?;
        let apply = |hit, action_run| {
            vec![Statement {
                location,
                kind: StatementKind::ApplyTable { table: id, hit, action_run },
            }]
        };
        let named = |name: &str| targets.iter().find(|(known, _)| known == name);
        if let (Some((_, yes)), Some((_, no))) = (named("__HIT__"), named("__MISS__")) {
            if yes == no {
                return Ok(Node { body: apply(None, None), next: Next::Always(*yes) });
            }
            let type_id = self.program.types.intern(Type::Bool);
            let hit = Place::variable(self.variable("hit", type_id));
            let condition = Expression { type_id, kind: ExpressionKind::Read(hit.clone()) };
            let next = Next::If { condition, yes: *yes, no: *no };
            return Ok(Node { body: apply(Some(hit), None), next });
        }
        let first = targets.first().map_or(base, |(_, target)| *target);
        if targets.iter().all(|(_, target)| *target == first) {
            return Ok(Node { body: apply(None, None), next: Next::Always(first) });
        }
        let type_id = self.program.types.intern(Type::ActionRun(id));
        let action_run = Place::variable(self.variable("action_run", type_id));
        let subject = Expression { type_id, kind: ExpressionKind::Read(action_run.clone()) };
        let mut cases: Vec<(Vec<Value>, Option<usize>)> = Vec::new();
        for (position, name) in table.actions.iter().enumerate() {
            let Some((_, target)) = named(name) else { continue };
            let value = Value::Bits(Bits::unsigned(32, position as u128));
            match cases.iter_mut().find(|(_, known)| known == target) {
                Some((values, _)) => values.push(value),
                None => cases.push((vec![value], *target)),
            }
        }
        let next = Next::Switch { subject, cases, default: base };
        Ok(Node { body: apply(None, Some(action_run)), next })
    }

    /// Returns the actions of a table. The JSON lists their numbers, or only their names.
    fn table_actions(&mut self, table: &json::Table) -> Outcome<Vec<ActionId>> {
        let document = self.document;
        let mut ids = Vec::new();
        for (position, name) in table.actions.iter().enumerate() {
            let number = table.action_ids.get(position).copied().or_else(|| {
                document.actions.iter().find(|known| known.name == *name).map(|known| known.id)
            });
            match number.and_then(|number| self.actions.get(&number)) {
                Some(id) => ids.push(*id),
                None => return self.fail(format!("there is no action `{name}`")),
            }
        }
        Ok(ids)
    }

    fn table(
        &mut self,
        control: ControlId,
        table: &json::Table,
        ids: &[ActionId],
    ) -> Outcome<TableId> {
        let id = TableId(self.program.tables.len() as u32);
        let mut keys = Vec::new();
        for key in &table.key {
            keys.push(self.key(key)?);
        }
        let mut actions = Vec::new();
        for action in ids {
            let before_arguments = self.direct_meter_read(&table.name)?;
            actions.push(ActionReference {
                action: *action,
                arguments: Vec::new(),
                before_arguments,
                annotations: Vec::new(),
            });
        }
        let default_action = match &table.default_entry {
            Some(default) => self.action_call(ids, default.action_id, &default.action_data)?,
            None => {
                let position = self.no_action(&mut actions);
                ActionCall { position, arguments: Vec::new() }
            }
        };
        let implementation = match (&table.kind, &table.action_profile) {
            (Some(kind), Some(profile)) if kind.starts_with("indirect") => {
                let Some(known) = self.profiles.get(profile).copied() else {
                    return self.fail(format!("there is no action profile `{profile}`"));
                };
                let selector = kind == "indirect_ws";
                if selector {
                    for (position, input) in self.selector_input(profile).iter().enumerate() {
                        let width = self.range(input)?.width;
                        let expression = self.truncated(input, width)?;
                        keys.push(Key {
                            name: super::headers::field_name(input).map_or_else(
                                || format!("selector{position}"),
                                |(header, field)| format!("{header}.{field}"),
                            ),
                            expression,
                            match_kind: MatchKind::Selector,
                            user_type: None,
                            annotations: Vec::new(),
                        });
                    }
                }
                Some(if selector {
                    TableImplementation::ActionSelector(known)
                } else {
                    TableImplementation::ActionProfile(known)
                })
            }
            _ => None,
        };
        let mut direct_externs = self.direct_counters.remove(&table.name).unwrap_or_default();
        direct_externs.extend(self.direct_meters.get(&table.name).map(|meter| meter.meter));
        for direct in &direct_externs {
            if let Some(instance) = self.program.externs.get_mut(direct.index()) {
                instance.table = Some(id);
            }
        }
        let entries = self.entries(table, ids, &keys)?;
        let location = self.location(table.source_info.as_ref());
        let default = table.default_entry.as_ref();
        self.program.tables.push(Table {
            name: table.name.clone(),
            control,
            before_keys: Vec::new(),
            keys,
            actions,
            default_action,
            default_action_is_const: default.is_some_and(|default| default.action_const),
            entries_are_const: !entries.is_empty(),
            entries,
            size: table.max_size,
            implementation,
            direct_externs,
            idle_timeout: table.support_timeout.then_some(ir::IdleTimeout::NotifyControl),
            add_on_miss: false,
            empty_group_action: None,
            storage: TableStorage::default(),
            properties: Vec::new(),
            location,
            annotations: Vec::new(),
        });
        Ok(id)
    }

    /// Returns a block that reads the color of the table's direct meter into the meter's field. It
    /// runs before an action of the table. The block is empty if the table has no direct meter.
    fn direct_meter_read(&mut self, table: &str) -> Outcome<ir::Block> {
        let Some(meter) = self.direct_meters.get(table) else { return Ok(Vec::new()) };
        let (instance, Some((header, field))) = (meter.meter, meter.result.clone()) else {
            return Ok(Vec::new());
        };
        let Some(target) = self.layout.field(&header, &field, &self.program) else {
            return self.fail(format!("there is no field `{header}.{field}`"));
        };
        let kind = StatementKind::CallExtern {
            callee: ExternCallee::Method { instance, method: ir::ExternMethod::Read },
            type_arguments: Vec::new(),
            arguments: vec![Argument::Out(target.place)],
            result: None,
        };
        Ok(vec![Statement { location: None, kind }])
    }

    /// Returns the position of `NoAction` in `actions`, a table's list of actions. Adds `NoAction`
    /// if it is missing.
    fn no_action(&mut self, actions: &mut Vec<ActionReference>) -> u32 {
        let is_none = |action: &Action| action.name == "NoAction";
        let listed = actions.iter().position(|reference| {
            self.program.actions.get(reference.action.index()).is_some_and(is_none)
        });
        if let Some(position) = listed {
            return position as u32;
        }
        let known = self.program.actions.iter().position(is_none);
        let action = match known {
            Some(position) => ActionId(position as u32),
            None => {
                self.program.actions.push(Action {
                    name: "NoAction".to_owned(),
                    parameters: Vec::new(),
                    body: Vec::new(),
                    scope: ActionScope::Program,
                    location: None,
                    annotations: Vec::new(),
                });
                ActionId((self.program.actions.len() - 1) as u32)
            }
        };
        actions.push(ActionReference {
            action,
            arguments: Vec::new(),
            before_arguments: Vec::new(),
            annotations: Vec::new(),
        });
        (actions.len() - 1) as u32
    }

    fn key(&mut self, key: &json::Key) -> Outcome<Key> {
        let match_kind = match key.match_type.as_str() {
            "exact" | "valid" => MatchKind::Exact,
            "lpm" => MatchKind::Lpm,
            "ternary" => MatchKind::Ternary,
            "range" => MatchKind::Range,
            "optional" => MatchKind::Optional,
            other => return self.fail(format!("the match kind `{other}` is not known")),
        };
        let (default_name, expression) = if key.match_type == "valid" {
            let name = key
                .target
                .as_str()
                .or(key.target.get(0).and_then(Json::as_str))
                .unwrap_or("")
                .to_owned();
            let Some(header) = self.layout.headers.get(&name).cloned() else {
                return self.fail(format!("there is no header `{name}`"));
            };
            let valid = self.is_valid(header.place);
            let bit = self.bit_type(1);
            (format!("{name}.$valid$"), super::expression::cast(valid, bit))
        } else {
            let (header, field) = match super::headers::field_name(&key.target) {
                Some(known) => known,
                None => return self.fail("a key has no header or no field"),
            };
            let target = serde_json::json!({"type": "field", "value": [header, field]});
            let is_plain = field != "$valid$";
            let expression = match is_plain.then(|| self.field(&target)).transpose()? {
                Some(known) if matches!(known.kind, FieldKind::Bits { .. }) => {
                    match self.read_place(known.place) {
                        Some(read) => read,
                        None => return self.fail("a key does not exist in its header"),
                    }
                }
                _ => {
                    let width = self.range(&target)?.width;
                    self.truncated(&target, width)?
                }
            };
            (format!("{header}.{field}"), expression)
        };
        let expression = match &key.mask {
            None => expression,
            Some(mask) => {
                let mask = self.hex(mask)?;
                let Type::Bits { width, signed } = self.program.types.get(expression.type_id)
                else {
                    return self.fail("a key that is not a number has a mask");
                };
                let mask = Expression {
                    type_id: expression.type_id,
                    kind: ExpressionKind::Constant(Value::Bits(Bits::from_bigint(
                        width, signed, &mask,
                    ))),
                };
                Expression {
                    type_id: expression.type_id,
                    kind: ExpressionKind::Binary(
                        ir::BinaryOperator::BitAnd,
                        Box::new(expression),
                        Box::new(mask),
                    ),
                }
            }
        };
        Ok(Key {
            name: key.name.clone().unwrap_or(default_name),
            expression,
            match_kind,
            user_type: None,
            annotations: Vec::new(),
        })
    }

    /// Translates the action of an entry and its arguments (action data). `ids` are the actions of
    /// the table.
    fn action_call(&self, ids: &[ActionId], number: i64, data: &[String]) -> Outcome<ActionCall> {
        let Some(action) = self.actions.get(&number) else {
            return self.fail(format!("there is no action with id {number}"));
        };
        let Some(position) = ids.iter().position(|known| known == action) else {
            return self.fail("an entry has an action that the table does not have");
        };
        let widths: Vec<u32> = self
            .program
            .actions
            .get(action.index())
            .map(|action| {
                action
                    .parameters
                    .iter()
                    .map(|parameter| match self.program.types.get(parameter.type_id) {
                        Type::Bits { width, .. } => width,
                        _ => 0,
                    })
                    .collect()
            })
            .unwrap_or_default();
        // A default entry may lack the action data, since the control plane can set it later.
        if !data.is_empty() && data.len() != widths.len() {
            return self.fail("an entry's action has too many or too few values");
        }
        let mut arguments = Vec::new();
        for (position, width) in widths.into_iter().enumerate() {
            let value = match data.get(position) {
                Some(text) => self.hex(text)?,
                None => BigInt::from(0),
            };
            arguments.push(self.bits_value(width, &value));
        }
        Ok(ActionCall { position: position as u32, arguments })
    }

    /// Translates the entries of a table. In the IR, the entry with the larger priority wins, and
    /// in BMv2 the one with the smaller number.
    fn entries(
        &mut self,
        table: &json::Table,
        ids: &[ActionId],
        keys: &[Key],
    ) -> Outcome<Vec<Entry>> {
        let overlapping = keys.iter().any(|key| {
            matches!(key.match_kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional)
        });
        // The smaller number wins in BMv2 and the larger one in the IR, so the order is reversed.
        let priorities: Vec<i64> = table
            .entries
            .iter()
            .zip(1..)
            .map(|(entry, position)| entry.priority.unwrap_or(position))
            .collect();
        let priorities = priorities::numbers(&priorities, Scale { largest_wins: false, least: 1 });
        let mut entries = Vec::new();
        for (entry, priority) in table.entries.iter().zip(priorities) {
            let matched = keys.iter().filter(|key| key.match_kind != MatchKind::Selector);
            let mut key_sets = Vec::new();
            for (match_key, key) in entry.match_key.iter().zip(matched) {
                let Type::Bits { width, signed } = self.program.types.get(key.expression.type_id)
                else {
                    return self.fail("a key of an entry is not a number");
                };
                key_sets.push(self.entry_key(match_key, width, signed)?);
            }
            if key_sets.len() != table.key.len() {
                return self.fail("an entry has too few keys");
            }
            key_sets.resize(keys.len(), KeySet::Any);
            let action = self.action_call(
                ids,
                entry.action_entry.action_id,
                &entry.action_entry.action_data,
            )?;
            let location = self.location(entry.source_info.as_ref());
            entries.push(Entry {
                key_sets,
                action,
                priority: overlapping.then_some(priority),
                is_const: true,
                location,
                annotations: Vec::new(),
            });
        }
        Ok(entries)
    }

    fn entry_key(&self, key: &json::MatchKey, width: u32, signed: bool) -> Outcome<KeySet<Value>> {
        let number = |text: Option<&str>| match text {
            Some(text) => self.hex(text),
            None => self.fail("a key of an entry has no value"),
        };
        let bits = |value: &BigInt| Value::Bits(Bits::from_bigint(width, signed, value));
        let text = key.key.as_ref().and_then(Json::as_str);
        Ok(match key.match_type.as_str() {
            "valid" => {
                let valid = key.key.as_ref().and_then(Json::as_bool).unwrap_or(false);
                KeySet::Exact(bits(&u8::from(valid).into()))
            }
            "exact" => KeySet::Exact(bits(&number(text)?)),
            "lpm" => {
                let prefix = key.prefix_length.unwrap_or(width).min(width);
                let mask = Bits::prefix_mask(width, prefix).cast(width, signed);
                let value = Bits::from_bigint(width, signed, &number(text)?).bit_and(&mask);
                KeySet::Mask { value: Value::Bits(value), mask: Value::Bits(mask) }
            }
            "ternary" | "optional" => {
                let mask = Bits::from_bigint(width, signed, &number(key.mask.as_deref())?);
                let value = Bits::from_bigint(width, signed, &number(text)?).bit_and(&mask);
                if mask.is_zero() {
                    KeySet::Any
                } else if key.match_type == "optional" {
                    KeySet::Exact(Value::Bits(value))
                } else {
                    KeySet::Mask { value: Value::Bits(value), mask: Value::Bits(mask) }
                }
            }
            "range" => KeySet::Range {
                low: bits(&number(key.start.as_deref())?),
                high: bits(&number(key.end.as_deref())?),
            },
            other => return self.fail(format!("the match kind `{other}` is not known")),
        })
    }
}
