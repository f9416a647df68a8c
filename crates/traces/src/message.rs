//! Converts recorded trees to trace messages, in which the objects of the program have their names.

use crate::display::Form;
use crate::recorder::{Alternative, Item};
use crate::tree::{Next, Node, One};
use crate::{Arrival, Trace};
use bytes::Bytes;
use entities::schema::TranslatedTypeId;
use ir::{ActionId, ActionParameter, ExternCallee, TableId};
use pipeline::{
    ActionCall, Core, Event, ExternArgument, FieldMatch, Output, RunError, TableEntry, Value,
};
use protos::trace::{self, event::Kind, node};

/// The names of a program's objects, for converting records to messages.
pub(crate) struct Names<'c>(pub(crate) &'c Core);

/// The events so far of a node of the tree, or of an action that has not ended yet.
#[derive(Default)]
struct Open {
    events: Vec<trace::Event>,
    /// The action to which the events belong, and the table that runs it. `None` for the events of
    /// a node.
    action: Option<(trace::Action, Option<TableId>)>,
}

impl Names<'_> {
    /// Returns the trace of a packet as a message.
    pub(crate) fn trace(
        &self,
        arrival: Arrival<'_>,
        tree: &Node,
        outputs: &Result<Vec<Output>, RunError>,
    ) -> Trace {
        Trace {
            origin: String::new(),
            port: arrival.port,
            packet: Bytes::copy_from_slice(arrival.packet),
            root: Some(self.node(tree)),
            fault: outputs.as_ref().err().map(ToString::to_string).unwrap_or_default(),
            outcomes: None,
            resumed: false,
            port_text: self.port_text(arrival.port),
        }
    }

    fn node(&self, node: &Node) -> trace::Node {
        let mut open = vec![Open::default()];
        for item in &node.items {
            self.add(item, &mut open);
        }
        while open.len() > 1 {
            self.end_action(&mut open);
        }
        let events = open.pop().map(|last| last.events).unwrap_or_default();
        trace::Node { events, next: self.next(&node.next) }
    }

    fn next(&self, next: &Next) -> Option<node::Next> {
        Some(match next {
            Next::Nothing => return None,
            Next::Output { port, packet } => node::Next::Output(trace::Output {
                port: *port,
                packet: Bytes::copy_from_slice(packet),
                port_text: self.port_text(*port),
            }),
            Next::Drop(reason) => node::Next::Drop(trace::Drop { reason: (*reason).to_owned() }),
            Next::Wait { port, queue, length } => node::Next::Wait(trace::Wait {
                port: *port,
                queue: *queue,
                length: *length,
                port_text: self.port_text(*port),
            }),
            Next::Fault(error) => node::Next::Fault(trace::Fault { error: error.clone() }),
            Next::Cut(limit) => node::Next::Cut(trace::Cut { limit: limit.clone() }),
            Next::All(copies) => {
                let copies = copies.iter().map(|(kind, node)| trace::Copy {
                    kind: (*kind).to_owned(),
                    node: Some(self.node(node)),
                });
                node::Next::All(trace::All { copies: copies.collect() })
            }
            Next::One(one) => node::Next::One(self.choice(one)),
        })
    }

    fn choice(&self, One { table, group, alternatives }: &One) -> trace::Choice {
        let weights = alternatives.iter().map(|(alternative, _)| alternative.weight);
        trace::Choice {
            table: self.table_name(*table),
            group: *group,
            weight: weights.sum(),
            alternatives: alternatives
                .iter()
                .map(|(one, node)| self.alternative(one, node))
                .collect(),
        }
    }

    fn alternative(&self, alternative: &Alternative, node: &Node) -> trace::Alternative {
        let mut node = self.node(node);
        // The first event of an alternative's node is the action of its members, unless the node
        // was cut off at the limit of outcomes.
        let first = node.events.first_mut().and_then(|event| event.kind.take());
        let action = match first {
            Some(Kind::Action(action)) => {
                node.events.remove(0);
                action
            }
            other => {
                if let Some(event) = node.events.first_mut() {
                    event.kind = other;
                }
                self.call(&alternative.call)
            }
        };
        trace::Alternative {
            members: alternative.members.clone(),
            weight: alternative.weight,
            by_hash: alternative.by_hash,
            action: Some(action),
            node: Some(node),
        }
    }

    /// Returns the message for an action that could have run but did not.
    fn call(&self, call: &ActionCall) -> trace::Action {
        let action = self.0.program().actions.get(call.action.index());
        let parameters = action.into_iter().flat_map(|action| action.parameters.iter().enumerate());
        let parameters = parameters.filter(|(_, parameter)| parameter.direction.is_none());
        trace::Action {
            name: action.map(|action| action.name.clone()).unwrap_or_default(),
            parameters: parameters
                .zip(&call.arguments)
                .map(|((position, one), value)| self.parameter((call.action, position), one, value))
                .collect(),
            events: Vec::new(),
            is_empty: action.is_none_or(|action| action.body.is_empty()),
        }
    }

    fn add(&self, item: &Item, open: &mut Vec<Open>) {
        let kind = match item {
            Item::Event(event) => match self.event(event, open) {
                Some(kind) => kind,
                None => return,
            },
            Item::Branch { at, side } => Kind::Branch(trace::Branch {
                place: self.0.place_in_source(Some(*at)),
                side: u32::try_from(*side).unwrap_or(u32::MAX),
            }),
            Item::Selected { parser, state, case } => Kind::Select(trace::Select {
                parser: parser.clone(),
                state: state.clone(),
                case: case.and_then(|case| u32::try_from(case).ok()),
            }),
            // Choices and faults end a node, so they are never among its items.
            Item::Choice(_) | Item::Fault(_) => return,
        };
        push(open, kind);
    }

    /// Returns the message for an event. Returns `None` if the event only completes an earlier
    /// message or ends a node.
    fn event(&self, event: &Event, open: &mut Vec<Open>) -> Option<Kind> {
        let program = self.0.program();
        Some(match event {
            Event::Pass { pipeline, port, length, path, .. } => Kind::Pass(trace::Pass {
                pipeline: (*pipeline).to_owned(),
                port: *port,
                length: *length as u64,
                path: (*path).to_owned(),
                port_text: self.port_text(*port),
            }),
            Event::Block { name, .. } => Kind::Block(trace::Block { name: name.clone() }),
            Event::State { parser, state } => {
                let parser = program.parsers.get(parser.index())?;
                let state = parser.states.get(state.index())?;
                let (parser, state) = (parser.name.clone(), state.name.clone());
                Kind::State(trace::State { parser, state })
            }
            Event::Extract { header, value, type_id } => {
                let fields = self.fields(value, *type_id);
                Kind::Extract(trace::Extract { header: header.clone(), fields })
            }
            Event::Rejected { error } => Kind::Reject(trace::Reject { error: error.clone() }),
            Event::Table { table, keys } => {
                let declared = program.tables.get(table.index())?;
                let keys = declared.keys.iter().zip(keys).enumerate();
                let keys = keys.map(|(position, (key, value))| {
                    let form = Form::of(&key.annotations);
                    let text = self.text(self.0.translated().of_key(*table, position), value);
                    let value = self.value(value, key.expression.type_id, form);
                    trace::Field { name: key.name.clone(), value, text }
                });
                Kind::Table(trace::Table {
                    name: declared.name.clone(),
                    keys: keys.collect(),
                    ..trace::Table::default()
                })
            }
            Event::Hit { table, handle, entry } => {
                let name = self.table_name(*table);
                let found = trace::Entry {
                    number: handle.0,
                    priority: entry.priority,
                    matches: self.matches(*table, entry),
                };
                let applied = last_table(open, &name)?;
                applied.entry = Some(found);
                return None;
            }
            Event::Chosen { table, group, member, weight, total } => {
                let applied = last_table(open, &self.table_name(*table))?;
                applied.chosen = Some(trace::Chosen {
                    group: *group,
                    member: *member,
                    weight: u64::from(*weight),
                    of: *total,
                });
                return None;
            }
            Event::Action { action, table, arguments } => {
                let declared = program.actions.get(action.index())?;
                let parameters = declared.parameters.iter().zip(arguments).enumerate();
                let parameters = parameters.map(|(position, (one, value))| {
                    self.parameter((*action, position), one, value)
                });
                let action = trace::Action {
                    name: declared.name.clone(),
                    parameters: parameters.collect(),
                    events: Vec::new(),
                    is_empty: declared.body.is_empty(),
                };
                open.push(Open { events: Vec::new(), action: Some((action, *table)) });
                return None;
            }
            Event::ActionEnd => {
                self.end_action(open);
                return None;
            }
            Event::Assign { place, value } => {
                Kind::Assign(trace::Assign { place: place.clone(), value: value.clone() })
            }
            Event::Extern { callee, arguments, location } => Kind::Extern(trace::Extern {
                name: self.callee(callee),
                arguments: arguments.iter().map(|argument| self.argument(argument)).collect(),
                place: self.0.place_in_source(*location),
            }),
            Event::Added { table, entry } => Kind::Added(trace::Added {
                table: self.table_name(*table),
                matches: self.matches(*table, entry),
            }),
            Event::Emit { place, value, type_id } => Kind::Emit(trace::Emit {
                place: place.clone().unwrap_or_default(),
                fields: self.fields(value, *type_id),
            }),
            Event::Log { text } => Kind::Log(trace::Log { text: text.clone() }),
            Event::Copy { kind } => Kind::Request(trace::Request { kind: (*kind).to_owned() }),
            // A lookup without an entry was already recorded as a miss. The other events end a
            // node, so they are never among its items. The crate `pipeline` may add further events.
            _ => return None,
        })
    }

    /// Ends the action that began last, and stores it in the event of the table that runs it.
    fn end_action(&self, open: &mut Vec<Open>) {
        if open.len() < 2 {
            return;
        }
        let Some(Open { events, action: Some((action, table)) }) = open.pop() else { return };
        let action = trace::Action { events, ..action };
        let applied = table.and_then(|table| last_table(open, &self.table_name(table)));
        match applied.filter(|applied| applied.action.is_none()) {
            Some(applied) => applied.action = Some(action),
            None => push(open, Kind::Action(action)),
        }
    }

    fn table_name(&self, table: TableId) -> String {
        let table = self.0.program().tables.get(table.index());
        table.map(|table| table.name.clone()).unwrap_or_default()
    }

    /// Returns the keys of a table with the matches of an entry.
    fn matches(&self, table: TableId, entry: &TableEntry) -> Vec<trace::Field> {
        let keys = self.0.program().tables.get(table.index()).map_or(&[][..], |table| &table.keys);
        let compared = keys.iter().zip(&entry.matches).enumerate();
        let compared = compared.filter(|(_, (_, found))| !matches!(found, FieldMatch::Any));
        let field = |(position, (key, found)): (usize, (&ir::Key, &FieldMatch))| {
            let translated = self.0.translated();
            // P4Runtime allows strings only in exact and optional matches.
            let text = match found {
                FieldMatch::Exact(bits) => {
                    translated.text(translated.of_key(table, position), bits)
                }
                FieldMatch::Lpm { .. }
                | FieldMatch::Ternary { .. }
                | FieldMatch::Range { .. }
                | FieldMatch::Any => None,
            };
            let value = Form::of(&key.annotations).write_match(found);
            trace::Field { name: key.name.clone(), value, text }
        };
        compared.map(field).collect()
    }

    /// Returns the message for an action's parameter with its value. The first argument is the
    /// action and the position of the parameter.
    fn parameter(
        &self,
        (action, position): (ActionId, usize),
        declared: &ActionParameter,
        value: &Value,
    ) -> trace::Field {
        let form = Form::of(&declared.annotations);
        let text = self.text(self.0.translated().of_parameter(action, position), value);
        let value = self.value(value, declared.type_id, form);
        trace::Field { name: declared.name.clone(), value, text }
    }

    /// Returns the string that controllers use for a value, or `None` if its type is not translated
    /// to strings.
    fn text(&self, of: Option<TranslatedTypeId>, value: &Value) -> Option<String> {
        let Value::Bits(bits) = value else { return None };
        self.0.translated().text(of, bits)
    }

    /// Returns the string that controllers use for a port, or `None` if they use its number.
    fn port_text(&self, port: u32) -> Option<String> {
        self.0.translated().text_of_port(port)
    }

    /// Formats a value. Numbers in it are written in the notation `form`.
    fn value(&self, value: &Value, type_id: ir::TypeId, form: Form) -> String {
        match value {
            Value::Bits(bits) => form.write(bits),
            _ => self.0.render(value, type_id),
        }
    }

    fn fields(&self, value: &Value, type_id: ir::TypeId) -> Vec<trace::Field> {
        let fields = self.0.fields(value, type_id).into_iter();
        fields.map(|(name, value)| trace::Field { name, value, text: None }).collect()
    }

    fn callee(&self, callee: &ExternCallee) -> String {
        match callee {
            ExternCallee::Function(function) => function.to_string(),
            ExternCallee::Method { instance, method } => {
                let instance = self.0.program().externs.get(instance.index());
                format!("{}.{method}", instance.map_or("?", |instance| instance.name.as_str()))
            }
        }
    }

    fn argument(&self, argument: &ExternArgument) -> String {
        match argument {
            ExternArgument::Value(value, type_id) => self.0.render(value, *type_id),
            ExternArgument::Action(id) => {
                let action = self.0.program().actions.get(id.index());
                action.map(|action| format!("{:?}", action.name)).unwrap_or_default()
            }
        }
    }
}

fn push(open: &mut [Open], kind: Kind) {
    if let Some(last) = open.last_mut() {
        last.events.push(trace::Event { kind: Some(kind) });
    }
}

/// Returns the message of the table that was applied last, or `None` if it does not have the given
/// name.
fn last_table<'o>(open: &'o mut [Open], name: &str) -> Option<&'o mut trace::Table> {
    let events = &mut open.last_mut()?.events;
    let tables = events.iter_mut().rev().filter_map(|event| match &mut event.kind {
        Some(Kind::Table(table)) => Some(table),
        _ => None,
    });
    let mut tables = tables;
    tables.next().filter(|table| table.name == name)
}
