//! `--entries`: converts a `runtime.json` file of the p4lang tutorials, or a file of commands of
//! simple_switch_CLI, to statements of an STF script.
//!
//! These formats and scripts all refer to tables, keys and actions by name, so entries are
//! installed and checked like the statements of other scripts.

mod strings;

use std::fmt::Write;
use std::path::Path;

use p4runtime::proto::config::match_field::MatchType;
use p4runtime::proto::config::{MatchField, P4Info, Preamble, Table, match_field};
use p4runtime::proto::v1::{
    Action, ActionProfileGroup, ActionProfileMember, CounterEntry, MeterEntry, RegisterEntry,
    Replica, TableEntry, Update, entity::Entity, field_match::FieldMatchType, p4_data::Data,
    packet_replication_engine_entry::Type as Replication, replica::PortKind,
    table_action::Type as ActionType,
};
use queues::Configuration;
use softswitch::runtime_json::RuntimeJson;
use stf::Script;

pub(super) use self::strings::Strings;
use crate::entry_commands::{self, Configured};
use crate::failure::Failure;
use crate::program;

/// The content of an entries file for one switch.
#[derive(Debug)]
pub(super) struct Entries {
    /// A script that installs the entries.
    pub(super) script: Script,
    /// The queues that the file configures at ports.
    pub(super) queues: Configuration,
}

/// Reads the file at `path`, which is a `runtime.json` or contains commands. `strings` contains the
/// program's P4Info and the numbers of its strings.
pub(super) fn read(path: &Path, strings: &Strings) -> Result<Entries, Failure> {
    let wrong =
        |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", path.display()));
    let text = program::read(path)?;
    let (mut updates, queues) = if entry_commands::has_commands(&text) {
        let Configured { updates, queues } = entry_commands::run(path, &text, strings.p4info())?;
        (updates, queues)
    } else {
        let file = RuntimeJson::parse(&text).map_err(|error| wrong(&error))?;
        (file.updates(strings.p4info()).map_err(|error| wrong(&error))?, file.queues)
    };
    strings
        .replace(&mut updates)
        .map_err(|(entry, error)| wrong(&format!("entry {entry}: {}", error.message())))?;
    let mut text =
        Text { p4info: strings.p4info(), script: String::new(), nodes: 0, refused: None };
    for update in &updates {
        // Writing to a string never fails.
        let _ = text.update(update);
        if let Some(what) = text.refused.take() {
            return Err(wrong(&format!("{what} by files of entries")));
        }
    }
    let script = Script::parse(&text.script).map_err(|errors| {
        let first = errors.first().map(|error| error.message.clone()).unwrap_or_default();
        wrong(&format!("it has no form in a script: {first}"))
    })?;
    Ok(Entries { script, queues })
}

struct Text<'p> {
    p4info: &'p P4Info,
    script: String,
    /// The number of replication nodes that the script has created so far. Scripts number these
    /// nodes consecutively.
    nodes: usize,
    /// The first part of the file that cannot be written as statements of a script, if there is
    /// one.
    refused: Option<&'static str>,
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
            Some(Entity::ActionProfileMember(member)) => self.member(member),
            Some(Entity::ActionProfileGroup(group)) => self.group(group),
            Some(Entity::RegisterEntry(entry)) => self.register(entry),
            Some(Entity::CounterEntry(entry)) => self.counter(entry),
            Some(Entity::MeterEntry(entry)) => self.meter(entry),
            Some(Entity::DirectCounterEntry(_)) => self.refuse("direct counters are not set"),
            Some(Entity::DirectMeterEntry(_)) => self.refuse("direct meters are not set"),
            Some(Entity::ValueSetEntry(_)) => self.refuse("value sets are not set"),
            Some(Entity::DigestEntry(_)) => self.refuse("digests are not enabled"),
            Some(Entity::ExternEntry(_)) => self.refuse("externs are not set"),
            None => Ok(()),
        }
    }

    fn refuse(&mut self, what: &'static str) -> std::fmt::Result {
        self.refused = Some(what);
        Ok(())
    }

    fn member(&mut self, member: &ActionProfileMember) -> std::fmt::Result {
        let (Some(profile), Some(action)) =
            (self.profile(member.action_profile_id), &member.action)
        else {
            return Ok(());
        };
        write!(self.script, "act_prof_create_member {profile} {}", member.member_id)?;
        self.call(action)?;
        writeln!(self.script)
    }

    fn group(&mut self, group: &ActionProfileGroup) -> std::fmt::Result {
        let Some(profile) = self.profile(group.action_profile_id) else { return Ok(()) };
        let id = group.group_id;
        writeln!(self.script, "act_prof_create_group {profile} {id}")?;
        for member in &group.members {
            let member = member.member_id;
            writeln!(self.script, "act_prof_add_member_to_group {profile} {member} {id}")?;
        }
        Ok(())
    }

    fn register(&mut self, entry: &RegisterEntry) -> std::fmt::Result {
        let name = name(entry.register_id, self.p4info.registers.iter().map(|one| &one.preamble));
        let data = entry.data.as_ref().and_then(|data| data.data.as_ref());
        match (name, &entry.index, data) {
            (Some(name), None, Some(Data::Bitstring(value)))
                if value.iter().all(|byte| *byte == 0) =>
            {
                writeln!(self.script, "register_reset {name}")
            }
            (Some(name), Some(at), Some(Data::Bitstring(value))) => {
                writeln!(self.script, "register_write {name} {} {}", at.index, number(value))
            }
            _ => self.refuse("registers of structs, and whole registers, are not set"),
        }
    }

    fn counter(&mut self, entry: &CounterEntry) -> std::fmt::Result {
        let name = name(entry.counter_id, self.p4info.counters.iter().map(|one| &one.preamble));
        match (name, &entry.index, &entry.data) {
            (Some(name), Some(at), Some(data)) => writeln!(
                self.script,
                "counter_write {name} {} {} {}",
                at.index, data.packet_count, data.byte_count
            ),
            // Counters are 0 before the first packet.
            _ => Ok(()),
        }
    }

    fn meter(&mut self, entry: &MeterEntry) -> std::fmt::Result {
        let name = name(entry.meter_id, self.p4info.meters.iter().map(|one| &one.preamble));
        let (Some(name), Some(config)) = (name, &entry.config) else { return Ok(()) };
        match &entry.index {
            Some(at) => write!(self.script, "meter_set_rates {name} {}", at.index)?,
            None => write!(self.script, "meter_array_set_rates {name}")?,
        }
        for (rate, burst) in [(config.cir, config.cburst), (config.pir, config.pburst)] {
            // Rates of scripts are per microsecond.
            write!(self.script, " {}.{:06}:{burst}", rate / 1_000_000, rate % 1_000_000)?;
        }
        writeln!(self.script)
    }

    fn profile(&self, id: u32) -> Option<String> {
        name(id, self.p4info.action_profiles.iter().map(|one| &one.preamble))
    }

    fn nodes_of(&mut self, group: u32, replicas: &[Replica]) -> std::fmt::Result {
        for replica in replicas {
            // In a script no port is ever down, so backups have no effect.
            writeln!(self.script, "mc_node_create {} {}", replica.instance, port(replica))?;
            writeln!(self.script, "mc_node_associate {group} {}", self.nodes)?;
            self.nodes += 1;
        }
        Ok(())
    }

    fn table_entry(&mut self, entry: &TableEntry) -> std::fmt::Result {
        let mut tables = self.p4info.tables.iter();
        let of = |table: &&Table| {
            table.preamble.as_ref().is_some_and(|preamble| preamble.id == entry.table_id)
        };
        let Some(table) = tables.find(of) else { return Ok(()) };
        let table_name =
            table.preamble.as_ref().map(|preamble| preamble.name.clone()).unwrap_or_default();
        let action = entry.action.as_ref().and_then(|action| action.r#type.as_ref());
        let (statement, target) = match action {
            Some(ActionType::Action(action)) if entry.is_default_action => {
                write!(self.script, "setdefault {table_name}")?;
                self.call(action)?;
                return writeln!(self.script);
            }
            Some(ActionType::Action(_)) => ("add", None),
            Some(ActionType::ActionProfileMemberId(id)) => ("table_indirect_add", Some(*id)),
            Some(ActionType::ActionProfileGroupId(id)) => {
                ("table_indirect_add_with_group", Some(*id))
            }
            Some(ActionType::ActionProfileActionSet(_)) => {
                return self.refuse("one-shot groups are not written");
            }
            None => return Ok(()),
        };
        write!(self.script, "{statement} {table_name}")?;
        if entry.priority != 0 {
            write!(self.script, " {}", entry.priority)?;
        }
        self.keys(table, entry)?;
        if let Some(target) = target {
            write!(self.script, " {target}")?;
        }
        if let Some(ActionType::Action(action)) = action {
            self.call(action)?;
        }
        writeln!(self.script)
    }

    /// Writes an action with its arguments.
    fn call(&mut self, action: &Action) -> std::fmt::Result {
        let of = |known: &&p4runtime::proto::config::Action| {
            known.preamble.as_ref().is_some_and(|preamble| preamble.id == action.action_id)
        };
        let Some(known) = self.p4info.actions.iter().find(of) else { return Ok(()) };
        let arguments = known.params.iter().filter_map(|known| {
            let value = action.params.iter().find(|param| param.param_id == known.id)?;
            Some(format!("{}:{}", known.name, number(&value.value)))
        });
        let arguments: Vec<String> = arguments.collect();
        let action_name = known.preamble.as_ref().map_or("", |preamble| preamble.name.as_str());
        write!(self.script, " {action_name}({})", arguments.join(", "))
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

/// Returns the name of the object with this id.
fn name<'p>(id: u32, preambles: impl Iterator<Item = &'p Option<Preamble>>) -> Option<String> {
    let mut known = preambles.flatten();
    known.find(|preamble| preamble.id == id).map(|found| found.name.clone())
}

fn kind(field: &MatchField) -> Option<MatchType> {
    match field.r#match {
        Some(match_field::Match::MatchType(kind)) => MatchType::try_from(kind).ok(),
        _ => None,
    }
}

/// Returns the port of a replica in a multicast group or clone session: its number, or its string
/// in quotes.
fn port(replica: &Replica) -> String {
    match &replica.port_kind {
        Some(PortKind::EgressPort(port)) => port.to_string(),
        Some(PortKind::Port(text)) => {
            let text = String::from_utf8_lossy(text);
            format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
        }
        None => "0".to_owned(),
    }
}

fn number(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{}", if digits.is_empty() { "0" } else { &digits })
}

#[cfg(test)]
mod tests;
