//! Generates the packets and entries with which `planimeter dut` observes the effects of updates,
//! from the program of the switch.
//!
//! An entry can be observed if a packet leaves the switch in another way with the entry than
//! without it. Such packets are found by trial: the reference interpreter processes the packet of a
//! flow without the entry, with it, and with another parameter of its action. In the same way it
//! finds packets whose outcome depends on the colour that a meter gives them, and packets that are
//! sent to a group.

mod groups;
mod meters;
pub(super) mod own;
mod references;

use std::sync::Arc;
use std::time::Duration;

pub(super) mod digests;
pub(crate) mod slow_path;

use ::dut::live::{Flow, Outcome, Traffic, Wire};
use entities::schema::Schema;
use ir::bits::Bits;
use ir::{Program, TableId};
use p4runtime::proto::config::P4Info;
use p4runtime::proto::v1::{self, field_match::FieldMatchType};
use pipeline::{ActionCall, EntryAction, FieldMatch, Switch, TableEntry, Value};
use symbolic::wanted::is_name;
use throughput::traffic::{Reach, SolvedTable, TrafficError, UnhitTable, Wanted, Workload};

use crate::bench::SOLVING;
use crate::failure::Failure;

/// The length of the generated packets in bytes.
const PACKET_SIZE: usize = 128;
/// The number of bytes at the end of a packet that identify it, and that must therefore pass
/// through the program unchanged.
const TAG: usize = 16;

/// Packets and entries that were generated from a program.
pub(super) struct Made {
    p4info: P4Info,
    schema: Arc<Schema>,
    workload: Workload,
}

impl Made {
    /// Generates packets and entries for a program, with at most `rules` entries in each table. If
    /// the packets along the parser's paths do not hit the table under test, for which a name may
    /// be given, a solver computes packets that do.
    pub(super) fn of(program: Program, rules: usize, table: Option<&str>) -> Result<Self, Failure> {
        let config = p4lang::device_config::to_pipeline_config(&program).map_err(Failure::input)?;
        let p4info = config.p4info.unwrap_or_default();
        let schema = p4runtime::p4info::Schema::new(p4info.clone()).map_err(Failure::input)?;
        let wanted =
            Wanted { flows: rules, packet_size: PACKET_SIZE, seed: crate::environment::SEED };
        let made = ir::with_large_stack(|| workload(program, wanted, table));
        let workload = made.map_err(Failure::run)?.map_err(Failure::input)?;
        Ok(Self { p4info, schema: Arc::clone(schema.objects()), workload })
    }

    fn trial<'a>(&'a self, wires: &'a [Wire]) -> Trial<'a> {
        Trial { workload: &self.workload, schema: &self.schema, wires }
    }

    /// Returns the packets and entries for testing updates of one table. It is the table with the
    /// name `table` or, without a name, the table most of whose entries can be observed by packets.
    /// Returns an error if no entry can be observed.
    pub(super) fn effects(
        &self,
        wires: Vec<Wire>,
        table: Option<&str>,
    ) -> Result<Traffic, Failure> {
        let workload = &self.workload;
        let trial = self.trial(&wires);
        let names = workload.entries_by_table();
        let tables = workload.program().tables.iter().enumerate();
        let tables = tables.filter(|(_, one)| {
            names.contains_key(one.name.as_str())
                && table
                    .is_none_or(|name| one.name == name || one.name.ends_with(&format!(".{name}")))
        });
        let found = tables.map(|(number, one)| (one.name.clone(), TableId(number as u32)));
        let found = found.map(|(name, id)| (trial.flows(id), name, id));
        let best = found.max_by_key(|(flows, ..)| flows.len());
        let Some((flows, table, id)) = best.filter(|(flows, ..)| !flows.is_empty()) else {
            return Err(unshown(workload, table));
        };
        let Some(beside) = trial.messages(&mut |other, _| other != id) else {
            return Err(Failure::input(
                "packets of this program need entries whose actions are in an action profile",
            ));
        };
        let is_solved = |one: &&SolvedTable| one.table == table;
        let notes = workload.solved_tables().iter().filter(is_solved).map(|one| {
            format!(
                "Packets of table {} were solved for, since no packet along the parser's paths hits an entry there.",
                one.table
            )
        });
        let notes = notes.collect();
        let p4info = self.p4info.clone();
        let traffic = Traffic { p4info, table, wires, beside, flows, notes };
        references::ordered(workload.program(), traffic, workload.port())
    }
}

/// Generates packets and entries for a program. If none of the packets hits an entry of `table`, a
/// solver computes as many others that do.
fn workload(
    program: Program,
    wanted: Wanted,
    table: Option<&str>,
) -> Result<Workload, TrafficError> {
    let walked = Workload::from_program(program.clone(), wanted, &mut |_, _| true)?;
    let Some(table) = table.filter(|table| walked.misses(table)) else { return Ok(walked) };
    let wanted = Wanted { flows: 2 * wanted.flows, ..wanted };
    let reach = Reach { only: Some(table), time: SOLVING };
    Workload::reaching(program, wanted, reach, &mut |_, _| true)
}

/// Returns the error for a program in which the outcome of no packet depends on an entry.
fn unshown(workload: &Workload, table: Option<&str>) -> Failure {
    let unhit = workload.unhit_tables().iter();
    let mut named = unhit.filter(|one| table.is_some_and(|name| is_name(&one.table, name)));
    match named.next() {
        Some(UnhitTable { table, reason }) => Failure::input(format!(
            "no packet hits an entry of table {table}: {reason}; name another --table"
        )),
        None => Failure::input(
            "packets of this program do not show when an entry changes: connect the ports 1 and 2 of the switch, by \
             which packets enter and leave, or name another --table",
        ),
    }
}

/// Returns the port at which packets enter the switch, or an error if this machine is not connected
/// to that port.
fn ingress(workload: &Workload, wires: &[Wire]) -> Result<u32, String> {
    let port = workload.port();
    match wires.iter().any(|wire| wire.0.number == port) {
        true => Ok(port),
        false => Err(format!("Packets enter by port {port}, which is not among --port")),
    }
}

/// A workload whose packets are processed by the reference interpreter, to find out how a switch
/// must treat them.
struct Trial<'a> {
    workload: &'a Workload,
    schema: &'a Schema,
    wires: &'a [Wire],
}

impl Trial<'_> {
    /// Returns the flows whose packets depend on an entry of a table. Each of these entries affects
    /// a single flow, and the entries affect their flows in the same way.
    fn flows(&self, table: TableId) -> Vec<Flow<v1::TableEntry>> {
        let entries = self.workload.entries().enumerate();
        let own = entries.filter(|(_, (of, _))| *of == table);
        let mut flows: Vec<Flow<v1::TableEntry>> = Vec::new();
        for (position, (_, entry)) in own {
            let Some(flow) = self.flow(table, position, entry) else { continue };
            if flows.first().is_none_or(|first| shape(first) == shape(&flow)) {
                flows.push(flow);
            }
        }
        flows
    }

    fn flow(
        &self,
        table: TableId,
        position: usize,
        entry: &TableEntry,
    ) -> Option<Flow<v1::TableEntry>> {
        let full = self.switch(position, Some(entry.clone()))?;
        let without = self.switch(position, None)?;
        let packets = self.workload.packets();
        let mut concerned = (0..packets.len()).filter(|flow| {
            packets
                .get(*flow)
                .is_some_and(|packet| self.outcome(&full, packet) != self.outcome(&without, packet))
        });
        let packet = packets.get(concerned.next()?)?;
        if concerned.next().is_some() {
            return None;
        }
        let [absent, inserted] = [&without, &full].map(|switch| self.outcome(switch, packet));
        let inserted = inserted?;
        let second = self.second(position, entry, packet, &inserted);
        let (second, modified) = match second {
            Some((second, modified)) => (Some(self.message(table, &second)?), modified),
            None => (None, inserted.clone()),
        };
        Some(Flow {
            port: self.workload.port(),
            packet: packet.to_vec(),
            first: self.message(table, entry)?,
            second,
            absent: absent?,
            inserted,
            modified,
        })
    }

    /// Returns a copy of `entry` in which one action parameter differs, so that `packet` has
    /// another outcome than `inserted`, and this outcome. Prefers a copy with which the packet
    /// still leaves the switch. Returns `None` if no copy changes the outcome.
    fn second(
        &self,
        position: usize,
        entry: &TableEntry,
        packet: &[u8],
        inserted: &Outcome,
    ) -> Option<(TableEntry, Outcome)> {
        let EntryAction::Action(call) = &entry.action else { return None };
        let numbers = self.wires.iter().map(|wire| u128::from(wire.0.number));
        let values: Vec<u128> = numbers.collect();
        let candidates = call.arguments.iter().enumerate().flat_map(|(at, argument)| {
            let Value::Bits(old) = argument else { return Vec::new() };
            let next = old.wrapping_add(&Bits::unsigned(old.width(), 1));
            let ports = values.iter().map(|value| Bits::unsigned(old.width(), *value));
            ports.chain([next]).map(|bits| (at, bits)).collect()
        });
        let mut unseen = None;
        for (at, bits) in candidates {
            let mut arguments = call.arguments.clone();
            *arguments.get_mut(at)? = Value::Bits(bits);
            let action = EntryAction::Action(ActionCall { action: call.action, arguments });
            let other = TableEntry { action, ..entry.clone() };
            let Some(switch) = self.switch(position, Some(other.clone())) else { continue };
            match self.outcome(&switch, packet) {
                Some(outcome) if outcome == *inserted => {}
                Some(outcome @ Outcome::Leaves { .. }) => return Some((other, outcome)),
                Some(Outcome::Unseen) => {
                    unseen.get_or_insert((other, Outcome::Unseen));
                }
                None => {}
            }
        }
        unseen
    }

    /// Returns a switch with all entries of the workload. The entry with the index `position` is
    /// replaced by `replacement`, or left out if that is `None`. Returns `None` if the switch
    /// refuses an entry.
    fn switch(&self, position: usize, replacement: Option<TableEntry>) -> Option<Switch> {
        let switch = Switch::new(self.workload.program().clone()).ok()?;
        self.workload.add_members(&switch).ok()?;
        for (number, (table, entry)) in self.workload.entries().enumerate() {
            let entry = match (number == position, &replacement) {
                (false, _) => entry.clone(),
                (true, Some(other)) => other.clone(),
                (true, None) => continue,
            };
            switch.add_entry(table, entry, Duration::ZERO).ok()?;
        }
        Some(switch)
    }

    /// Returns whether a packet of a flow leaves the switch, by which port and with which content.
    /// Returns `None` if [`Self::leaving`] does.
    fn outcome(&self, switch: &Switch, packet: &[u8]) -> Option<Outcome> {
        let is_wired = |port: u32| self.wires.iter().any(|wire| wire.0.number == port);
        Some(match self.leaving(switch, Entering { port: self.workload.port(), packet })? {
            Leaving::Nowhere => Outcome::Unseen,
            Leaving::By { port, .. } if !is_wired(port) => Outcome::Unseen,
            Leaving::By { port, packet } => Outcome::Leaves { port, packet: packet? },
        })
    }

    /// Returns whether a packet that enters the switch leaves it, by which port and with which
    /// content. Returns `None` if the packet cannot be processed or leaves more than once, or if
    /// the outcome depends on its last [`TAG`] bytes, which identify a probe.
    fn leaving(&self, switch: &Switch, entering: Entering<'_>) -> Option<Leaving> {
        let with_end = |byte| {
            let mut packet = entering.packet.to_vec();
            packet.last_chunk_mut::<TAG>()?.fill(byte);
            let mut processor = pipeline::Processor::with_seed(1);
            let mut outputs = Vec::new();
            let given = (entering.port, packet.as_slice());
            processor.process(switch, given, Duration::ZERO, &mut outputs).ok()?;
            match outputs.as_slice() {
                [] => Some(Leaving::Nowhere),
                [one] => {
                    let mut packet = one.packet.clone();
                    let end = packet.last_chunk_mut::<TAG>().filter(|end| **end == [byte; TAG]);
                    let is_kept = end.map(|end| end.fill(0)).is_some();
                    Some(Leaving::By { port: one.port, packet: is_kept.then_some(packet) })
                }
                _ => None,
            }
        };
        let [one, other] = [0x00, 0xa5].map(with_end);
        one.filter(|one| Some(one) == other.as_ref())
    }

    /// Converts those generated entries that `is_wanted` selects to messages of P4Runtime. Returns
    /// `None` if one of them has its action in an action profile.
    fn messages(
        &self,
        is_wanted: &mut dyn FnMut(TableId, usize) -> bool,
    ) -> Option<Vec<v1::TableEntry>> {
        let entries = self.workload.entries().enumerate();
        let wanted = entries.filter(|(number, (table, _))| is_wanted(*table, *number));
        wanted.map(|(_, (table, entry))| self.message(table, entry)).collect()
    }

    /// Converts an entry to a message of P4Runtime. Returns `None` if its action is in an action
    /// profile.
    fn message(&self, table: TableId, entry: &TableEntry) -> Option<v1::TableEntry> {
        let EntryAction::Action(call) = &entry.action else { return None };
        let action = v1::table_action::Type::Action(self.call(call)?);
        let action = Some(v1::TableAction { r#type: Some(action) });
        Some(v1::TableEntry { action, ..self.key(table, entry)? })
    }

    /// Converts a call of an action to a message of P4Runtime.
    fn call(&self, call: &ActionCall) -> Option<v1::Action> {
        let program = self.workload.program();
        let action =
            self.schema.actions().by_name(&program.actions.get(call.action.index())?.name)?;
        let params = action.params.iter().zip(&call.arguments).map(|(param, argument)| {
            let Value::Bits(bits) = argument else { return None };
            Some(v1::action::Param { param_id: param.id.into(), value: bytes(bits).into() })
        });
        let params: Option<Vec<v1::action::Param>> = params.collect();
        Some(v1::Action { action_id: action.id.into(), params: params? })
    }

    /// Converts the key of an entry to a message of P4Runtime without an action.
    fn key(&self, table: TableId, entry: &TableEntry) -> Option<v1::TableEntry> {
        let program = self.workload.program();
        let name = &program.tables.get(table.index())?.name;
        let table = self.schema.tables().by_name(name)?;
        let fields = table.match_fields.iter().zip(&entry.matches);
        let fields = fields.filter_map(|(field, matching)| {
            let kind = match matching {
                FieldMatch::Any => return None,
                FieldMatch::Exact(value) => match field.kind {
                    entities::schema::MatchKind::Optional => {
                        let value = bytes(value).into();
                        FieldMatchType::Optional(v1::field_match::Optional { value })
                    }
                    _ => {
                        let value = bytes(value).into();
                        FieldMatchType::Exact(v1::field_match::Exact { value })
                    }
                },
                FieldMatch::Lpm { value, prefix_length } => {
                    let prefix_len = i32::try_from(*prefix_length).unwrap_or(i32::MAX);
                    FieldMatchType::Lpm(v1::field_match::Lpm {
                        value: bytes(value).into(),
                        prefix_len,
                    })
                }
                FieldMatch::Ternary { value, mask } => {
                    let [value, mask] = [value, mask].map(|bits| bytes(bits).into());
                    FieldMatchType::Ternary(v1::field_match::Ternary { value, mask })
                }
                FieldMatch::Range { low, high } => {
                    let [low, high] = [low, high].map(|bits| bytes(bits).into());
                    FieldMatchType::Range(v1::field_match::Range { low, high })
                }
            };
            Some(v1::FieldMatch { field_id: field.id.into(), field_match_type: Some(kind) })
        });
        Some(v1::TableEntry {
            table_id: table.id.into(),
            r#match: fields.collect(),
            priority: i32::try_from(entry.priority).unwrap_or(i32::MAX),
            ..Default::default()
        })
    }
}

/// A packet, and the port at which it enters a switch.
#[derive(Clone, Copy, Debug)]
struct Entering<'a> {
    port: u32,
    packet: &'a [u8],
}

/// The way in which a packet leaves a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Leaving {
    /// The packet is dropped.
    Nowhere,
    /// The packet leaves by a port, with the bytes in `packet`, in which the last [`TAG`] are
    /// replaced by zeros. `packet` is `None` if the program changes these last bytes.
    By { port: u32, packet: Option<Vec<u8>> },
}

/// Returns how packets of a flow are affected by its entry, as four properties. The first three are
/// whether packets are seen before the entry is inserted, after that, and after the entry is
/// modified. The fourth is whether the entry can be modified.
fn shape(flow: &Flow<v1::TableEntry>) -> (bool, bool, bool, bool) {
    let is_seen = |outcome: &Outcome| *outcome != Outcome::Unseen;
    (is_seen(&flow.absent), is_seen(&flow.inserted), is_seen(&flow.modified), flow.second.is_some())
}

/// Returns the canonical byte string of a number.
fn bytes(value: &Bits) -> Vec<u8> {
    value.to_biguint().to_bytes_be()
}

#[cfg(test)]
mod tests;
