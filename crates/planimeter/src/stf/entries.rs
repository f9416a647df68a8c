//! `--entries`: converts a `runtime.json` file of the p4lang tutorials to statements of a script.
//!
//! Both formats refer to tables, keys and actions by name, so entries are installed and checked
//! like the statements of other scripts.

mod strings;

use std::fmt::Write;
use std::path::Path;

use p4runtime::proto::config::match_field::MatchType;
use p4runtime::proto::config::{MatchField, P4Info, Table, match_field};
use p4runtime::proto::v1::{
    Replica, TableEntry, Update, entity::Entity, field_match::FieldMatchType,
    packet_replication_engine_entry::Type as Replication, replica::PortKind,
    table_action::Type as ActionType,
};
use queues::Configuration;
use softswitch::runtime_json::RuntimeJson;
use stf::Script;

pub(super) use self::strings::Strings;
use crate::failure::Failure;
use crate::program;

/// Returns a script that installs the entries of the `runtime.json` file at `path`, for a program
/// with these strings.
pub(super) fn script(path: &Path, strings: &Strings) -> Result<Script, Failure> {
    let wrong =
        |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", path.display()));
    let file = RuntimeJson::parse(&program::read(path)?).map_err(|error| wrong(&error))?;
    let mut updates = file.updates(strings.p4info()).map_err(|error| wrong(&error))?;
    strings
        .replace(&mut updates)
        .map_err(|(entry, error)| wrong(&format!("entry {entry}: {}", error.message())))?;
    let mut text = Text { p4info: strings.p4info(), script: String::new(), nodes: 0 };
    for update in &updates {
        // Writing to a string never fails.
        let _ = text.update(update);
    }
    Script::parse(&text.script).map_err(|errors| {
        let first = errors.first().map(|error| error.message.clone()).unwrap_or_default();
        wrong(&format!("it has no form in a script: {first}"))
    })
}

/// Returns the queues of ports that the `runtime.json` file at `path` configures.
pub(super) fn queues(path: &Path) -> Result<Configuration, Failure> {
    let file = RuntimeJson::parse(&program::read(path)?)
        .map_err(|error| Failure::input(format!("{}: {error}", path.display())))?;
    Ok(file.queues)
}

struct Text<'p> {
    p4info: &'p P4Info,
    script: String,
    /// The number of replication nodes in the script so far. Scripts number these nodes
    /// consecutively.
    nodes: usize,
}

impl Text<'_> {
    fn update(&mut self, update: &Update) -> std::fmt::Result {
        match update.entity.as_ref().and_then(|entity| entity.entity.as_ref()) {
            Some(Entity::TableEntry(entry)) => self.table_entry(entry),
            Some(Entity::PacketReplicationEngineEntry(entry)) => match &entry.r#type {
                Some(Replication::MulticastGroupEntry(group)) => {
                    writeln!(self.script, "mc_mgrp_create {}", group.multicast_group_id)?;
                    self.nodes_of(group.multicast_group_id, &group.replicas)
                }
                Some(Replication::CloneSessionEntry(session)) => match &session.replicas[..] {
                    [one] if one.instance == 0 => {
                        writeln!(self.script, "mirroring_add {} {}", session.session_id, port(one))
                    }
                    replicas => {
                        // A clone session with several copies refers to a multicast group of its
                        // own.
                        let group = 0x8000 + session.session_id;
                        writeln!(self.script, "mc_mgrp_create {group}")?;
                        self.nodes_of(group, replicas)?;
                        writeln!(self.script, "mirroring_add_mc {} {group}", session.session_id)
                    }
                },
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn nodes_of(&mut self, group: u32, replicas: &[Replica]) -> std::fmt::Result {
        for replica in replicas {
            writeln!(self.script, "mc_node_create {} {}", replica.instance, port(replica))?;
            writeln!(self.script, "mc_node_associate {group} {}", self.nodes)?;
            self.nodes += 1;
        }
        Ok(())
    }

    fn table_entry(&mut self, entry: &TableEntry) -> std::fmt::Result {
        let name = |id: u32, preamble: &Option<p4runtime::proto::config::Preamble>| {
            preamble.as_ref().filter(|preamble| preamble.id == id).map(|found| found.name.clone())
        };
        let tables = &self.p4info.tables;
        let table = tables.iter().find(|table| name(entry.table_id, &table.preamble).is_some());
        let action = match entry.action.as_ref().and_then(|action| action.r#type.as_ref()) {
            Some(ActionType::Action(action)) => action,
            _ => return Ok(()),
        };
        let actions = &self.p4info.actions;
        let known = actions.iter().find(|known| name(action.action_id, &known.preamble).is_some());
        let (Some(table), Some(known)) = (table, known) else { return Ok(()) };
        let table_name = name(entry.table_id, &table.preamble).unwrap_or_default();
        if entry.is_default_action {
            write!(self.script, "setdefault {table_name}")?;
        } else {
            write!(self.script, "add {table_name}")?;
            if entry.priority != 0 {
                write!(self.script, " {}", entry.priority)?;
            }
            self.keys(table, entry)?;
        }
        let arguments: Vec<String> = known
            .params
            .iter()
            .filter_map(|known| {
                let value = action.params.iter().find(|param| param.param_id == known.id)?;
                Some(format!("{}:{}", known.name, number(&value.value)))
            })
            .collect();
        let action_name = name(action.action_id, &known.preamble).unwrap_or_default();
        writeln!(self.script, " {action_name}({})", arguments.join(", "))
    }

    fn keys(&mut self, table: &Table, entry: &TableEntry) -> std::fmt::Result {
        for field in &table.match_fields {
            let given = entry.r#match.iter().find(|given| given.field_id == field.id);
            let text = match given.and_then(|given| given.field_match_type.as_ref()) {
                Some(FieldMatchType::Exact(exact)) => number(&exact.value),
                Some(FieldMatchType::Optional(optional)) => number(&optional.value),
                Some(FieldMatchType::Lpm(lpm)) => {
                    format!("{}/{}", number(&lpm.value), lpm.prefix_len)
                }
                Some(FieldMatchType::Ternary(ternary)) => {
                    format!("{}&&&{}", number(&ternary.value), number(&ternary.mask))
                }
                Some(FieldMatchType::Range(range)) => {
                    format!("{}->{}", number(&range.low), number(&range.high))
                }
                // An omitted field matches everything.
                _ => match kind(field) {
                    Some(MatchType::Lpm) => "0x0/0".to_owned(),
                    Some(MatchType::Range) => {
                        let most = 1_u128
                            .checked_shl(field.bitwidth.unsigned_abs())
                            .map_or(u128::MAX, |bit| bit - 1);
                        format!("0x0->{most:#x}")
                    }
                    Some(MatchType::Exact | MatchType::Optional) => continue,
                    _ => "0x0&&&0x0".to_owned(),
                },
            };
            write!(self.script, " {}:{text}", field.name)?;
        }
        Ok(())
    }
}

fn kind(field: &MatchField) -> Option<MatchType> {
    match field.r#match {
        Some(match_field::Match::MatchType(kind)) => MatchType::try_from(kind).ok(),
        _ => None,
    }
}

/// Returns the port number of a replica in a multicast group or clone session. Files of the p4lang
/// tutorials contain only numbers.
fn port(replica: &Replica) -> u32 {
    match replica.port_kind {
        Some(PortKind::EgressPort(port)) => port,
        _ => 0,
    }
}

fn number(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{}", if digits.is_empty() { "0" } else { &digits })
}

#[cfg(test)]
mod tests;
