//! Formats traces as text for people.
//!
//! The text describes what happened to the packet and omits what had no effect. Tables that missed
//! and whose default action does nothing are only counted. Alternatives that differ only in the
//! same respects as those shown before them are summarised.

mod fields;
mod layout;
mod names;

pub use self::layout::{Part, Row};

use self::fields::Fields;
use self::layout::fitted;
use self::names::Short;
use crate::Trace;
use protos::trace::{Action, Choice, Event, Field, Node, Table, event::Kind, node::Next};
use std::collections::BTreeSet;

/// The largest number of changed fields that are listed for an outgoing packet.
const CHANGES: usize = 8;

/// Formats a trace as lines, each of which ends with a newline. `verbose` adds parser states,
/// branches with their lines, assignments, externs and emitted headers, and omits nothing.
#[must_use]
pub fn text(trace: &Trace, verbose: bool) -> String {
    layout::lines(&outline(trace, verbose))
}

/// Returns the contents of [`text()`] as a tree of lines.
#[must_use]
pub fn outline(trace: &Trace, verbose: bool) -> Part {
    let mut reader =
        Reader { short: Short::of(trace), verbose, headers: Vec::new(), silent: BTreeSet::new() };
    let root = Node::default();
    let root = trace.root.as_ref().unwrap_or(&root);
    let part = reader.part(String::new(), root, Fields::of_arrival());
    let mut part = if verbose { part } else { layout::summarised(&part) };
    if !trace.origin.is_empty() {
        part.head += &format!("{}: ", trace.origin);
    }
    let length = bytes(trace.packet.len() as u64);
    part.head += &match trace.resumed {
        true => {
            format!("packet from a queue of port {}", port(trace.port, trace.port_text.as_deref()))
        }
        false => {
            format!("packet on port {}, {length}", port(trace.port, trace.port_text.as_deref()))
        }
    };
    if !reader.headers.is_empty() {
        part.head += &format!(": {}", reader.headers.join(" "));
    }
    let silent = reader.silent.len();
    if silent > 0 {
        let tables = if silent == 1 { "table" } else { "tables" };
        part.remarks.push(format!("{silent} {tables} missed without effect"));
    }
    if let Some(outcomes) = trace.outcomes.filter(|outcomes| outcomes.left_out > 0) {
        let left_out = match outcomes.left_out {
            1 => "1 outcome is left out, and all that follow it".to_owned(),
            more => format!("{more} outcomes are left out, and all that follow them"),
        };
        part.remarks.push(format!("the limit of {} was reached: {left_out}", outcomes.limit));
    }
    if trace.outcomes.is_some_and(|outcomes| outcomes.mixed_states) {
        part.remarks.push(
            "the control plane changed the switch meanwhile: the tree may have outcomes of several states".to_owned(),
        );
    }
    if !trace.fault.is_empty() {
        let fault = &trace.fault;
        part.remarks.push(format!("the packet failed, and nothing is transmitted: {fault}"));
    }
    part
}

/// The state of converting one trace to text.
struct Reader {
    short: Short,
    verbose: bool,
    /// The headers that the parser has extracted in the first pass.
    headers: Vec<String>,
    /// The tables that missed and whose default action had no effect.
    silent: BTreeSet<String>,
}

impl Reader {
    /// Returns the lines for a node of the trace. `head` is the line above them.
    fn part(&mut self, head: String, node: &Node, mut fields: Fields) -> Part {
        let mut part = Part::headed(head);
        let choice = match &node.next {
            Some(Next::One(choice)) => Some(choice),
            _ => None,
        };
        let chosen = choice.and_then(|choice| last_table(&node.events, &choice.table));
        for (position, event) in node.events.iter().enumerate() {
            if let (Some(Kind::Table(table)), Some(choice)) = (&event.kind, choice)
                && chosen == Some(position)
            {
                let of = format!("one of {}", members(choice));
                part.rows.push(self.table_row(table, of));
                part.fact(&self.short.table(&table.name), &entry(table, true));
                continue;
            }
            self.event(event, &mut fields, &mut part);
        }
        self.next(node.next.as_ref(), fields, &mut part);
        part
    }

    fn next(&mut self, next: Option<&Next>, fields: Fields, part: &mut Part) {
        match next {
            None => part.row("not processed further".to_owned()),
            Some(Next::Output(output)) => {
                let length = bytes(output.packet.len() as u64);
                let changes = fields.changes();
                let mut line =
                    format!("port {}, {length}", port(output.port, output.port_text.as_deref()));
                let shown = if self.verbose { changes.len() } else { CHANGES };
                for (name, change) in changes.iter().take(shown) {
                    line += &format!(", {name} {change}");
                }
                match changes.len().saturating_sub(shown) {
                    0 => {}
                    more => line += &format!(", and {more} more changes"),
                }
                part.row(line);
                let named = output.port_text.as_ref().map(|text| format!("{text:?}"));
                part.fact("port", &named.unwrap_or_else(|| output.port.to_string()));
                part.fact("length", &length);
                changes.iter().for_each(|(name, change)| part.fact(name, change));
            }
            Some(Next::Drop(drop)) => {
                let marked = fields.marked.map(|call| format!(", by {call}")).unwrap_or_default();
                part.row(format!("dropped: {}{marked}", drop.reason));
                part.fact("dropped", &drop.reason);
            }
            Some(Next::Wait(wait)) => {
                let length = bytes(wait.length);
                let place = format!(
                    "{} of port {}",
                    wait.queue,
                    port(wait.port, wait.port_text.as_deref())
                );
                part.row(format!("waits in queue {place}, {length}"));
                part.fact("queue", &place);
            }
            Some(Next::Fault(fault)) => {
                part.row(format!("fails: {}", fault.error));
                part.fact("fails", &fault.error);
            }
            Some(Next::Cut(cut)) => {
                part.row(format!("not shown: the limit of {} was reached", cut.limit));
                part.fact("cut", "");
            }
            Some(Next::All(all)) => {
                part.row(format!("all {}", all.copies.len()));
                let none = Node::default();
                for copy in &all.copies {
                    let node = copy.node.as_ref().unwrap_or(&none);
                    let child = self.part(copy.kind.clone(), node, fields.clone());
                    part.children.push(child);
                }
            }
            Some(Next::One(choice)) => self.alternatives(choice, &fields, part),
        }
    }

    fn alternatives(&mut self, choice: &Choice, fields: &Fields, part: &mut Part) {
        let none = Node::default();
        for alternative in &choice.alternatives {
            let by_hash = if alternative.by_hash { " (by its hash)" } else { "" };
            let action = alternative.action.as_ref().map(|action| self.call(action));
            let action = action.unwrap_or_default();
            let head = format!("{}/{} {action}{by_hash}", alternative.weight, choice.weight);
            let mut fields = fields.clone();
            let mut child = Part::headed(head);
            if let Some(action) = &alternative.action {
                child.fact(&self.short.action(&action.name), &parameters(action));
                self.inside(action, &mut fields, &mut child);
            }
            let node = alternative.node.as_ref().unwrap_or(&none);
            let rest = self.part(String::new(), node, fields);
            child.rows.extend(rest.rows);
            child.facts.extend(rest.facts);
            child.children = rest.children;
            part.children.push(child);
        }
    }

    fn event(&mut self, event: &Event, fields: &mut Fields, part: &mut Part) {
        let Some(kind) = &event.kind else { return };
        let verbose = self.verbose;
        match kind {
            Kind::Pass(pass) => {
                fields.marked = None;
                let is_normal = matches!(&*pass.path, "normal" | "NORMAL" | "NORMAL_UNICAST");
                if verbose || !(is_normal || part.has_head(&pass.path)) {
                    let (length, port) =
                        (bytes(pass.length), port(pass.port, pass.port_text.as_deref()));
                    part.row(format!("{}: {} on port {port}, {length}", pass.path, pass.pipeline));
                }
            }
            Kind::Block(block) => {
                fields.is_first &= self.headers.is_empty();
                fields.begins = true;
                if verbose {
                    part.row(block.name.clone());
                }
            }
            Kind::State(state) => {
                fields.enter_state();
                if verbose {
                    part.row(format!("  state {}.{}", state.parser, state.state));
                }
            }
            Kind::Extract(extract) => self.extract(extract, fields, part),
            Kind::Reject(reject) => part.row(format!("the parser rejects it: {}", reject.error)),
            Kind::Select(select) if verbose => {
                let case = select
                    .case
                    .map_or("no case".to_owned(), |case| format!("case {}", u64::from(case) + 1));
                part.row(format!("  select in {}.{}: {case}", select.parser, select.state));
            }
            Kind::Table(table) => self.table(table, fields, part),
            Kind::Action(action) => {
                if !action.is_empty {
                    part.row(format!("calls {}", self.call(action)));
                }
                self.inside(action, fields, part);
            }
            Kind::Extern(call) => {
                if matches!(&*call.name, "mark_to_drop" | "drop_packet") {
                    fields.marked = Some(format!("{} at {}", call.name, call.place));
                }
                if !verbose {
                    return;
                }
                let arguments = call.arguments.join(", ");
                part.row(format!("  {}: {}({arguments})", call.place, call.name));
            }
            Kind::Branch(branch) if verbose => {
                part.row(format!("  {}: branch {}", branch.place, branch.side));
            }
            Kind::Assign(assign) if verbose => {
                part.row(format!("  {} = {}", assign.place, assign.value));
            }
            Kind::Emit(emit) => {
                fields.emit(last(&emit.place), &emit.fields);
                if verbose && !emit.fields.is_empty() {
                    part.row(format!("  emit {}: {}", emit.place, listed(&emit.fields)));
                }
            }
            Kind::Log(log) => part.row(format!("log: {}", log.text)),
            Kind::Added(added) => {
                let table = self.short.table(&added.table);
                part.row(format!("adds an entry to {table}: {}", listed(&added.matches)));
            }
            Kind::Request(request) => part.row(request.kind.clone()),
            Kind::Select(_) | Kind::Branch(_) | Kind::Assign(_) => {}
        }
    }

    fn extract(&mut self, extract: &protos::trace::Extract, fields: &mut Fields, part: &mut Part) {
        let name = last(&extract.header);
        if fields.is_first {
            self.headers.push(name.to_owned());
        }
        fields.extract(name, &extract.fields);
        if self.verbose {
            part.row(format!("  extract {}: {}", extract.header, listed(&extract.fields)));
        }
    }

    fn table(&mut self, table: &Table, fields: &mut Fields, part: &mut Part) {
        let has_effect = table.action.as_ref().is_some_and(|action| !action.is_empty);
        if table.entry.is_none() && !has_effect && !self.verbose {
            self.silent.insert(table.name.clone());
            return;
        }
        let action = table.action.as_ref();
        let mut right = action.map(|action| self.call(action)).unwrap_or_default();
        if let Some(chosen) = &table.chosen {
            right += &format!(" ({}/{})", chosen.weight, chosen.of);
        }
        let row = self.table_row(table, right);
        part.fact(&row.label, &format!("{} {}", row.middle, row.right));
        part.rows.push(row);
        if let Some(action) = action {
            self.inside(action, fields, part);
        }
    }

    fn table_row(&self, table: &Table, right: String) -> Row {
        Row { label: self.short.table(&table.name), middle: entry(table, false), right }
    }

    /// Adds the lines for what happened inside an action.
    fn inside(&mut self, action: &Action, fields: &mut Fields, part: &mut Part) {
        for event in &action.events {
            self.event(event, fields, part);
        }
    }

    fn call(&self, action: &Action) -> String {
        let name = self.short.action(&action.name);
        match action.parameters.is_empty() {
            true => name,
            false if self.verbose => format!("{name}({})", listed(&action.parameters)),
            false => format!("{name}({})", parameters(action)),
        }
    }
}

/// Returns the position of the event of the table whose action selector made the choice.
fn last_table(events: &[Event], name: &str) -> Option<usize> {
    events.iter().rposition(|event| match &event.kind {
        Some(Kind::Table(table)) => table.name == name && table.action.is_none(),
        _ => false,
    })
}

/// Returns the number of members among which a choice is made.
fn members(choice: &Choice) -> u64 {
    let members = choice.alternatives.iter().map(|one| one.members.len() as u64).sum();
    // Members of a one-shot group (whose actions are listed in the table entry itself) have no
    // numbers.
    if members == 0 { choice.weight } else { members }
}

/// Describes the entry that a table hit, or the keys for which it missed. `brief` omits the keys of
/// a miss.
fn entry(table: &Table, brief: bool) -> String {
    let Some(entry) = &table.entry else {
        return match brief || table.keys.is_empty() {
            true => "missed".to_owned(),
            false => format!("missed {}", listed_short(&table.keys)),
        };
    };
    let mut text = format!("#{}", entry.number);
    if entry.priority > 0 {
        text += &format!(" prio {}", entry.priority);
    }
    if !entry.matches.is_empty() {
        text += &format!(" {}", listed_short(&entry.matches));
    }
    fitted(&text)
}

/// Lists the parameters of an action with their values. For headers and structs, only the name is
/// listed.
fn parameters(action: &Action) -> String {
    let parameters = action.parameters.iter().map(|one| match one.value.starts_with('{') {
        true => one.name.clone(),
        false => format!("{} = {}", one.name, value(one)),
    });
    parameters.collect::<Vec<_>>().join(", ")
}

fn listed(fields: &[Field]) -> String {
    let fields = fields.iter().map(|field| format!("{} = {}", field.name, value(field)));
    fields.collect::<Vec<_>>().join(", ")
}

/// Lists keys with their values. A key has the last component of its name, or the last two if
/// several keys have the same last component.
fn listed_short(fields: &[Field]) -> String {
    let named = fields.iter().map(|field| {
        let name = last(&field.name);
        let same = fields.iter().filter(|other| last(&other.name) == name).count();
        let longer = field.name.rsplit_once('.').filter(|_| same > 1);
        let name = match longer {
            Some((before, name)) => format!("{}.{name}", last(before)),
            None => name.to_owned(),
        };
        format!("{name}={}", value(field))
    });
    named.collect::<Vec<_>>().join(" ")
}

/// Returns a value. If controllers use a string for it, the string precedes the value.
fn value(field: &Field) -> String {
    match &field.text {
        Some(text) => format!("{text:?} ({})", field.value),
        None => field.value.clone(),
    }
}

/// Returns a port. If controllers use a string for it, the string precedes the number.
fn port(number: u32, text: Option<&str>) -> String {
    match text {
        Some(text) => format!("{text:?} ({number})"),
        None => number.to_string(),
    }
}

fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn bytes(length: u64) -> String {
    match length {
        1 => "1 byte".to_owned(),
        length => format!("{length} bytes"),
    }
}
