//! Generates packets that match the entries of the user, from the program of the switch.
//!
//! The packets of a generated workload serve as templates. To find which bit of a template
//! determines which bit of the table's key, the reference interpreter processes the template with
//! one bit flipped, and the keys of the lookups are compared. From these bits, a packet is made for
//! each entry and tried: the way in which it leaves the switch must depend on this entry, and on no
//! other entry that is measured.

use std::sync::Arc;
use std::time::Duration;

use ::dut::live::{Flow, Outcome, Traffic, Wire};
use ::dut::{EntryFile, EntryMaker, EntryNumber, Operation, OwnEntries, Variant};
use entities::DataPlane;
use entities::schema::Table;
use ir::bits::Bits;
use ir::{Program, TableId};
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{self, field_match::FieldMatchType};
use p4runtime::store::{Nanos, Store};
use pipeline::{Detail, Event, InterpreterTarget, Trace, Worker};
use throughput::traffic::{Wanted, Workload};

use super::{PACKET_SIZE, TAG};
use crate::failure::Failure;

/// The largest number of templates that are tried.
const TEMPLATES: usize = 8;

/// Generates packets for the entries of a file, for the test of effects. At most `rules` entries of
/// a table are used: the one named `table`, or the one with the most entries.
///
/// # Errors
/// Returns an error if the file does not fit the program, or if no packet depends on any of its
/// entries.
pub(in crate::dut) fn effects(
    program: Program,
    wires: Vec<Wire>,
    file: &dyn EntryFile,
    table: Option<&str>,
    rules: usize,
) -> Result<Traffic, Failure> {
    let config = p4lang::device_config::to_pipeline_config(&program).map_err(Failure::input)?;
    let p4info = config.p4info.unwrap_or_default();
    let schema = Schema::new(p4info.clone()).map_err(Failure::input)?;
    let own = OwnEntries::new(&schema, file).map_err(Failure::input)?;
    let maker = own.maker(table).map_err(Failure::input)?;
    let beside = own.of_other_tables(maker.table().id);
    let wanted =
        Wanted { flows: TEMPLATES, packet_size: PACKET_SIZE, seed: crate::environment::SEED };
    let templates = program.clone();
    let workload =
        ir::with_large_stack(|| Workload::from_program(templates, wanted, &mut |_, _| true));
    let workload = workload.map_err(Failure::run)?.map_err(Failure::input)?;
    let name = maker.table().name.clone();
    let place = program.tables.iter().position(|table| table.name == name);
    let id = place.and_then(|place| u32::try_from(place).ok()).map(TableId);
    let shown = |why: String| {
        Failure::input(format!(
            "packets of this program show none of the entries of {} ({why}); leave effects out of --plan",
            file.name()
        ))
    };
    let Some(id) = id else { return Err(shown(format!("the program has no table {name}"))) };
    let mut plane = Plane::new(program, &schema, &wires, workload.port())?;
    for entry in &beside {
        plane.write(Operation::Insert, entry).map_err(|why| {
            Failure::input(format!(
                "{}: the program refuses an entry of another table: {why}",
                file.name()
            ))
        })?;
    }
    let templates =
        workload.packets().iter().filter_map(|packet| Template::of(&mut plane, id, packet));
    let templates: Vec<Template> = templates.collect();
    if templates.is_empty() {
        return Err(shown(format!("no packet is looked up in {name}")));
    }
    let mut why = "their outcome is the same without them, or depends on several".to_owned();
    let mut flows: Vec<Flow<v1::TableEntry>> = Vec::new();
    for number in (0..maker.different()).map(EntryNumber) {
        if flows.len() >= rules {
            break;
        }
        match flow(&mut plane, &templates, &maker, number, &flows) {
            Ok(Some(flow)) => {
                if flows.first().is_none_or(|first| super::shape(first) == super::shape(&flow)) {
                    plane.write(Operation::Insert, &flow.first).map_err(Failure::input)?;
                    flows.push(flow);
                }
            }
            Ok(None) => {}
            Err(reason) => why = reason,
        }
    }
    if flows.is_empty() {
        return Err(shown(why));
    }
    Ok(Traffic { p4info, table: name, wires, beside, flows, notes: Vec::new() })
}

/// Returns the flow of an entry if its packets depend on this entry and not on the entries of
/// `others`, which are in the plane. Returns an error, with the reason, if the program refuses the
/// entry.
fn flow(
    plane: &mut Plane,
    templates: &[Template],
    maker: &EntryMaker,
    number: EntryNumber,
    others: &[Flow<v1::TableEntry>],
) -> Result<Option<Flow<v1::TableEntry>>, String> {
    let [first, second] =
        [Variant::First, Variant::Second].map(|variant| maker.entry(number, variant));
    let packets = templates.iter().filter_map(|template| template.packet_of(maker.table(), &first));
    for packet in packets.collect::<Vec<_>>() {
        let absent = plane.outcome(&packet);
        plane.write(Operation::Insert, &first)?;
        let inserted = plane.outcome(&packet);
        let is_alone = others.iter().all(|other| {
            plane.outcome(&other.packet).as_ref() == Some(&other.inserted)
                && plane.without(&other.first, |plane| {
                    plane.outcome(&other.packet).as_ref() == Some(&other.absent)
                        && plane.outcome(&packet) == inserted
                })
        });
        let modified = match plane.write(Operation::Modify, &second) {
            Ok(()) => plane.outcome(&packet),
            Err(_) => None,
        };
        plane.write(Operation::Delete, &first)?;
        let (Some(absent), Some(inserted)) = (absent, inserted) else { continue };
        if absent == inserted || !is_alone {
            continue;
        }
        let modified = modified.filter(|modified| *modified != inserted);
        return Ok(Some(Flow {
            port: plane.port,
            packet,
            second: modified.as_ref().map(|_| second),
            modified: modified.unwrap_or_else(|| inserted.clone()),
            first,
            absent,
            inserted,
        }));
    }
    Ok(None)
}

/// The reference interpreter with a program and its entries, which are written as a controller
/// writes them.
pub(super) struct Plane<'w> {
    store: Store<Box<dyn DataPlane>>,
    worker: Worker,
    wires: &'w [Wire],
    /// The port at which packets enter.
    port: u32,
}

impl<'w> Plane<'w> {
    pub(super) fn new(
        program: Program,
        schema: &Arc<Schema>,
        wires: &'w [Wire],
        port: u32,
    ) -> Result<Self, Failure> {
        use entities::Target as _;

        let target = InterpreterTarget::new(Box::new(move |_| Ok(program.clone())));
        let mut plane = target.load(schema.objects(), &[]).map_err(Failure::input)?;
        plane.activate();
        let worker = target.ports().worker();
        Ok(Self { store: Store::over(Arc::clone(schema), plane), worker, wires, port })
    }

    /// Makes the plane refuse entries that refer to a missing entry (`@refers_to`), from this call
    /// on.
    pub(super) fn check_references(&mut self) -> Result<(), String> {
        self.store.check_references(Nanos(0)).map_err(|error| error.to_string())
    }

    /// Writes an entry. Returns the reason instead if the program refuses it.
    pub(super) fn write(
        &mut self,
        operation: Operation,
        entry: &v1::TableEntry,
    ) -> Result<(), String> {
        let mut entry = entry.clone();
        let kind = match operation {
            Operation::Insert => v1::update::Type::Insert,
            Operation::Modify => v1::update::Type::Modify,
            Operation::Delete => {
                entry.action = None;
                v1::update::Type::Delete
            }
        };
        let entity = Some(v1::Entity { entity: Some(v1::entity::Entity::TableEntry(entry)) });
        let update = v1::Update { r#type: kind as i32, entity };
        self.store.write(&update, Nanos(0)).map_err(|error| error.to_string())
    }

    /// Removes an entry, calls `look`, and restores the entry. Returns the result of `look`, or
    /// false if the entry cannot be removed or restored.
    fn without(&mut self, entry: &v1::TableEntry, look: impl FnOnce(&mut Self) -> bool) -> bool {
        if self.write(Operation::Delete, entry).is_err() {
            return false;
        }
        let found = look(self);
        self.write(Operation::Insert, entry).is_ok() && found
    }

    /// Returns whether a packet leaves the switch, by which port and with which content. Returns
    /// `None` if the packet cannot be processed or leaves more than once, or if the outcome depends
    /// on its last bytes, which identify a probe.
    pub(super) fn outcome(&mut self, packet: &[u8]) -> Option<Outcome> {
        let mut found = [0x00, 0xa5].map(|byte| self.outcome_with_end(packet, byte)).into_iter();
        match (found.next()?, found.next()?) {
            (one, other) if one == other => one,
            _ => None,
        }
    }

    fn outcome_with_end(&mut self, packet: &[u8], byte: u8) -> Option<Outcome> {
        let mut packet = packet.to_vec();
        packet.last_chunk_mut::<TAG>()?.fill(byte);
        let mut outputs = Vec::new();
        self.worker.process(self.port, &packet, Duration::ZERO, &mut outputs).ok()?;
        match outputs.as_slice() {
            [] => Some(Outcome::Unseen),
            [one] if !self.wires.iter().any(|wire| wire.0.number == one.port) => {
                Some(Outcome::Unseen)
            }
            [one] => {
                let mut packet = one.packet.clone();
                packet.last_chunk_mut::<TAG>().filter(|end| **end == [byte; TAG])?.fill(0);
                Some(Outcome::Leaves { port: one.port, packet })
            }
            _ => None,
        }
    }

    /// Returns the key of the lookup that a packet causes in a table, or `None` if it causes none
    /// or several.
    fn key(&mut self, table: TableId, packet: &[u8]) -> Option<Vec<Bits>> {
        let mut lookups = Lookups { table, keys: Vec::new() };
        let mut outputs = Vec::new();
        let (port, now) = (self.port, Duration::ZERO);
        self.worker.process_traced(port, packet, now, &mut lookups, &mut outputs).ok()?;
        let key = lookups.keys.pop()?;
        lookups.keys.is_empty().then_some(key)
    }
}

/// The keys of all lookups in one table.
struct Lookups {
    table: TableId,
    keys: Vec<Vec<Bits>>,
}

impl Trace for Lookups {
    fn event(&mut self, _: Event) {}

    fn lookup(&mut self, table: TableId, keys: &[Bits], _: bool) {
        if table == self.table {
            self.keys.push(keys.to_vec());
        }
    }

    fn detail(&self) -> Detail {
        Detail::Nothing
    }
}

/// A packet that causes a lookup in the table, from which packets for entries are made.
struct Template {
    packet: Vec<u8>,
    key: Vec<Bits>,
    /// The bits of the packet that each determine one bit of the table's key.
    decides: Vec<Decides>,
}

#[derive(Clone, Copy, Debug)]
struct Decides {
    field: usize,
    bit: u32,
    place: usize,
}

impl Template {
    fn of(plane: &mut Plane<'_>, table: TableId, packet: &[u8]) -> Option<Self> {
        let mut packet = packet.to_vec();
        repair(&mut packet);
        let key = plane.key(table, &packet)?;
        let mut decides = Vec::new();
        for place in 0..8 * packet.len().saturating_sub(TAG) {
            let mut other = packet.clone();
            flip(&mut other, place);
            repair(&mut other);
            let Some(changed) = plane.key(table, &other) else { continue };
            for (field, (before, after)) in key.iter().zip(&changed).enumerate() {
                let differing =
                    (0..before.width()).filter(|bit| before.bit(*bit) != after.bit(*bit));
                decides.extend(differing.map(|bit| Decides { field, bit, place }));
            }
        }
        Some(Self { packet, key, decides })
    }

    /// Returns a packet that matches an entry, or `None` if the bits of the template do not
    /// determine enough of the key.
    fn packet_of(&self, table: &Table, entry: &v1::TableEntry) -> Option<Vec<u8>> {
        let mut packet = self.packet.clone();
        for (position, field) in table.match_fields.iter().enumerate() {
            let own = self.key.get(position)?;
            let given = entry.r#match.iter().find(|one| one.field_id == u32::from(field.id));
            let Some(given) = given.and_then(|one| one.field_match_type.as_ref()) else { continue };
            let (value, mask) = condition(given, own.width())?;
            for bit in
                (0..own.width()).filter(|bit| mask.bit(*bit) && own.bit(*bit) != value.bit(*bit))
            {
                let place =
                    self.decides.iter().find(|one| one.field == position && one.bit == bit)?;
                flip(&mut packet, place.place);
            }
        }
        repair(&mut packet);
        Some(packet)
    }
}

/// Returns a value that satisfies a match, and a mask of the bits that must have this value.
fn condition(given: &FieldMatchType, width: u32) -> Option<(Bits, Bits)> {
    let bits = |bytes: &[u8]| {
        let number = bytes.iter().try_fold(0_u128, |all, byte| {
            (all >> 120 == 0).then_some(all << 8 | u128::from(*byte))
        });
        number.map(|number| Bits::unsigned(width, number))
    };
    let all = Bits::ones(width, false);
    Some(match given {
        FieldMatchType::Exact(exact) => (bits(&exact.value)?, all),
        FieldMatchType::Optional(optional) => (bits(&optional.value)?, all),
        FieldMatchType::Ternary(ternary) => (bits(&ternary.value)?, bits(&ternary.mask)?),
        FieldMatchType::Lpm(lpm) => {
            let prefix = u32::try_from(lpm.prefix_len).ok()?;
            (bits(&lpm.value)?, Bits::prefix_mask(width, prefix))
        }
        FieldMatchType::Range(range) => (bits(&range.low)?, all),
        FieldMatchType::Other(_) => return None,
    })
}

/// Flips a bit of a packet.
fn flip(packet: &mut [u8], place: usize) {
    if let Some(byte) = packet.get_mut(place / 8) {
        *byte ^= 0x80 >> (place % 8);
    }
}

/// Corrects the checksum of an IPv4 header, if the packet begins with an Ethernet header and an
/// IPv4 header without options.
fn repair(packet: &mut [u8]) {
    let Some((ethernet, rest)) = packet.split_first_chunk_mut::<14>() else { return };
    let Some(header) = rest.first_chunk_mut::<20>() else { return };
    if ethernet.last_chunk::<2>() != Some(&[0x08, 0x00]) || header[0] != 0x45 {
        return;
    }
    header[10..12].fill(0);
    let checksum = pipeline::internet_checksum(header);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests;
