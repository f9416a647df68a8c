//! The meters that packets of a program show, found by trial: the reference interpreter processes a
//! packet while a meter marks all packets green, yellow or red.

use std::ops::Range;
use std::time::Duration;

use ::dut::meters::{Algorithm, ByColour, MeteredFlow, Place, TokenUnit, Traffic};
use entities::schema::{MeterAlgorithm, Schema, Unit};
use ir::bits::Bits;
use ir::{ExternId, MatchKind, TableId};
use p4runtime::proto::v1;
use pipeline::{
    Color, EntryAction, Event, FieldMatch, MeterConfig, Switch, TableEntry, Trace, Value,
};

use super::{Made, Trial, Wire};

/// The largest number of cells of an indirect meter among which the cell of a packet is looked for.
const CELLS: u64 = 1 << 16;
/// The largest number of times that all meters are tried.
const PASSES: usize = 4;
/// A rate and a burst that no packet exceeds.
const ENDLESS: u64 = 1 << 40;

impl Made {
    /// Returns the meters that packets show, with a packet for each. Returns the reason if there is
    /// none, as a sentence.
    pub(in crate::dut) fn meters(&self, wires: Vec<Wire>) -> Result<Traffic, String> {
        let mut trial =
            Metered { trial: self.trial(&wires), extra: Vec::new(), reduced: Vec::new() };
        if self.schema.meters().iter().len() + self.schema.direct_meters().iter().len() == 0 {
            return Err("The program has no meter.".to_owned());
        }
        // What is changed for one meter may change the outcomes of packets for another, so all are
        // tried again until nothing is changed any more.
        let mut tried = trial.all(&self.schema);
        for _ in 1..PASSES {
            let before = trial.changes();
            tried = trial.all(&self.schema);
            if trial.changes() == before {
                break;
            }
        }
        let (mut flows, mut reasons) = (Vec::new(), Vec::new());
        for (name, found) in tried {
            match found {
                Ok(flow) => flows.push(flow),
                Err(why) => reasons.push(format!("Meter {name} is not measured: {why}.")),
            }
        }
        let all = trial.entries();
        let entries = all.iter().map(|(table, entry)| trial.trial.message(*table, entry));
        let entries: Option<Vec<v1::TableEntry>> = entries.collect();
        let Some(entries) = entries else {
            return Err("Meters are not measured: packets of the program need entries whose actions are in an \
                action profile."
                .to_owned());
        };
        if flows.is_empty() {
            return Err(reasons.join(" "));
        }
        Ok(Traffic { p4info: self.p4info.clone(), wires, entries, flows, reasons })
    }
}

/// A meter of the program.
struct Subject<'a> {
    name: &'a str,
    unit: TokenUnit,
    algorithm: Algorithm,
}

impl<'a> Subject<'a> {
    fn new(name: &'a str, unit: Unit, algorithm: MeterAlgorithm) -> Result<Self, &'static str> {
        let unit = match unit {
            Unit::Bytes => TokenUnit::Bytes,
            Unit::Packets => TokenUnit::Packets,
            Unit::Unspecified | Unit::Both => return Err("P4Info does not say its unit"),
        };
        let algorithm = match algorithm {
            MeterAlgorithm::TwoRateThreeColor => Algorithm::TwoRates,
            MeterAlgorithm::SingleRateThreeColor => Algorithm::OneRate,
            MeterAlgorithm::SingleRateTwoColor => Algorithm::TwoColours,
        };
        Ok(Self { name, unit, algorithm })
    }

    /// Returns the configuration with which the meter marks all packets with a colour. A meter with
    /// two colours has no yellow, so its packets are red instead.
    fn config(&self, colour: Color) -> MeterConfig {
        let [committed, second] = match colour {
            Color::Green => [ENDLESS; 2],
            Color::Yellow => [0, ENDLESS],
            Color::Red => [0; 2],
        };
        match self.algorithm {
            Algorithm::TwoRates => MeterConfig::TwoRate {
                committed_rate: committed,
                committed_burst: committed,
                peak_rate: second,
                peak_burst: second,
            },
            Algorithm::OneRate | Algorithm::TwoColours => MeterConfig::SingleRate {
                committed_rate: committed,
                committed_burst: committed,
                excess_burst: if self.algorithm == Algorithm::OneRate { second } else { 0 },
            },
        }
    }
}

/// A change of the arguments of generated entries: that at a position is reduced modulo the size of
/// an indirect meter, so that it can be the index of a cell.
#[derive(Clone, Copy)]
struct Reduced {
    table: TableId,
    position: usize,
    size: u64,
}

impl Reduced {
    fn apply(self, entry: &mut TableEntry) {
        let EntryAction::Action(call) = &mut entry.action else { return };
        let Some(Value::Bits(old)) = call.arguments.get(self.position) else { return };
        let Ok(value) = u128::try_from(old.to_biguint() % self.size) else { return };
        let value = Value::Bits(Bits::unsigned(old.width(), value));
        let at = call.arguments.iter_mut().skip(self.position).take(1);
        at.for_each(|argument| *argument = value.clone());
    }
}

/// The trials of meters, with the changes of generated entries that make colours show.
struct Metered<'a> {
    trial: Trial<'a>,
    /// Further entries.
    extra: Vec<(TableId, TableEntry)>,
    reduced: Vec<Reduced>,
}

/// A packet whose outcome depends on its colour.
#[derive(PartialEq)]
struct Shown {
    packet: Vec<u8>,
    outcomes: ByColour,
}

/// A change of a switch that configures a meter.
type Configure<'a> = &'a dyn Fn(&Switch, MeterConfig) -> Option<()>;

impl Metered<'_> {
    /// Returns the number of changes of the generated entries.
    fn changes(&self) -> usize {
        self.extra.len() + self.reduced.len()
    }

    /// Returns a packet for each meter of the program, or the reason why there is none.
    fn all(&mut self, schema: &Schema) -> Vec<(String, Result<MeteredFlow, &'static str>)> {
        let mut found = Vec::new();
        for meter in schema.meters().iter() {
            let subject = Subject::new(&meter.name, meter.unit, meter.algorithm);
            let flow = subject.and_then(|subject| self.cell(&subject, meter.id.into()));
            found.push((meter.name.clone(), flow));
        }
        for meter in schema.direct_meters().iter() {
            let subject = Subject::new(&meter.name, meter.unit, meter.algorithm);
            let table = schema.tables().get(meter.table).map(|table| table.name.as_str());
            let flow = subject.and_then(|subject| self.entry(&subject, table));
            found.push((meter.name.clone(), flow));
        }
        found
    }

    /// Returns all entries.
    fn entries(&self) -> Vec<(TableId, TableEntry)> {
        let generated = self.trial.workload.entries().map(|(table, entry)| {
            let mut entry = entry.clone();
            let own = self.reduced.iter().filter(|change| change.table == table);
            own.for_each(|change| change.apply(&mut entry));
            (table, entry)
        });
        generated.chain(self.extra.iter().cloned()).collect()
    }

    /// Returns a switch with all entries.
    fn switch(&self) -> Option<Switch> {
        let switch = Switch::new(self.trial.workload.program().clone()).ok()?;
        self.trial.workload.add_members(&switch).ok()?;
        for (table, entry) in self.entries() {
            switch.add_entry(table, entry, Duration::ZERO).ok()?;
        }
        Some(switch)
    }

    /// Returns a switch whose meter marks all packets with a colour.
    fn marking(&self, subject: &Subject<'_>, colour: Color, set: Configure<'_>) -> Option<Switch> {
        let switch = self.switch()?;
        set(&switch, subject.config(colour))?;
        Some(switch)
    }

    /// Returns the first of some packets whose outcome depends on its colour, and its outcomes.
    fn shown(
        &self,
        subject: &Subject<'_>,
        packets: &[Vec<u8>],
        set: Configure<'_>,
    ) -> Option<Shown> {
        let marking = |colour| self.marking(subject, colour, set);
        let [green, yellow, red] =
            [marking(Color::Green)?, marking(Color::Yellow)?, marking(Color::Red)?];
        let outcomes = |packet: &[u8]| -> Option<ByColour> {
            let outcome = |switch: &Switch| self.trial.outcome(switch, packet);
            Some(ByColour([outcome(&green)?, outcome(&yellow)?, outcome(&red)?]))
        };
        packets.iter().find_map(|packet| {
            let found = outcomes(packet)?;
            let shows = MeteredFlow::shows(subject.algorithm, &found);
            shows.then(|| Shown { packet: packet.clone(), outcomes: found })
        })
    }

    /// Returns whether a packet has these outcomes.
    fn has(&self, subject: &Subject<'_>, shown: &Shown, set: Configure<'_>) -> bool {
        self.shown(subject, std::slice::from_ref(&shown.packet), set).as_ref() == Some(shown)
    }

    /// Returns the first packet whose outcome depends on its colour. If there is none, adds an entry
    /// to a table that a red packet looks up in vain. If that does not help either, and the meter
    /// has a size, changes an argument of generated entries that may be the index of a cell.
    fn packet(
        &mut self,
        subject: &Subject<'_>,
        size: Option<u64>,
        set: Configure<'_>,
    ) -> Option<Shown> {
        if let Some(found) = self.packet_with_entry(subject, set) {
            return Some(found);
        }
        for change in self.reductions(size?) {
            self.reduced.push(change);
            if let Some(found) = self.packet_with_entry(subject, set) {
                return Some(found);
            }
            self.reduced.pop();
        }
        None
    }

    /// Returns a change for each argument of the actions of each table.
    fn reductions(&self, size: u64) -> Vec<Reduced> {
        let mut found: Vec<Reduced> = Vec::new();
        for (table, entry) in self.trial.workload.entries() {
            let EntryAction::Action(call) = &entry.action else { continue };
            for position in 0..call.arguments.len() {
                if !found.iter().any(|one| (one.table, one.position) == (table, position)) {
                    found.push(Reduced { table, position, size });
                }
            }
        }
        found
    }

    fn packet_with_entry(&mut self, subject: &Subject<'_>, set: Configure<'_>) -> Option<Shown> {
        let packets: Vec<Vec<u8>> =
            self.trial.workload.packets().iter().map(<[u8]>::to_vec).collect();
        if let Some(found) = self.shown(subject, &packets, set) {
            return Some(found);
        }
        let first = packets.get(..1)?;
        for candidate in self.candidates(subject, first.first()?, set)? {
            self.extra.push(candidate);
            if let Some(found) = self.shown(subject, first, set) {
                return Some(found);
            }
            self.extra.pop();
        }
        None
    }

    /// Returns entries for the keys that a red packet looks up and a green one does not, with each
    /// action that has no parameters. Tables whose keys are not all exact are left out.
    fn candidates(
        &self,
        subject: &Subject<'_>,
        packet: &[u8],
        set: Configure<'_>,
    ) -> Option<Vec<(TableId, TableEntry)>> {
        let lookups = |colour| -> Option<Vec<(TableId, Vec<Bits>)>> {
            let mut switch = self.marking(subject, colour, set)?;
            let mut misses = Misses(Vec::new());
            let port = self.trial.workload.port();
            switch.process_traced(port, packet, Duration::ZERO, &mut misses).ok()?;
            Some(misses.0)
        };
        let [green, red] = [lookups(Color::Green)?, lookups(Color::Red)?];
        let program = self.trial.workload.program();
        let switch = self.switch()?;
        let mut found = Vec::new();
        for (id, keys) in red.into_iter().filter(|lookup| !green.contains(lookup)) {
            let Some(table) = program.tables.get(id.index()) else { continue };
            let is_exact = table.keys.iter().all(|key| key.match_kind == MatchKind::Exact);
            if !is_exact || table.entries_are_const || table.implementation.is_some() {
                continue;
            }
            for reference in &table.actions {
                let Ok(call) = switch.action_call(reference.action, &[]) else { continue };
                let entry = TableEntry {
                    matches: keys.iter().cloned().map(FieldMatch::Exact).collect(),
                    priority: 0,
                    action: EntryAction::Action(call),
                    idle_timeout: None,
                };
                found.push((id, entry));
            }
        }
        Some(found)
    }

    fn flow(&self, subject: &Subject<'_>, place: Place, shown: Shown) -> MeteredFlow {
        MeteredFlow {
            name: subject.name.to_owned(),
            place,
            unit: subject.unit,
            algorithm: subject.algorithm,
            port: self.trial.workload.port(),
            packet: shown.packet,
            outcomes: shown.outcomes,
        }
    }

    /// Returns a packet and the cell of an indirect meter that it meets.
    fn cell(&mut self, subject: &Subject<'_>, meter_id: u32) -> Result<MeteredFlow, &'static str> {
        const UNSEEN: &str = "no generated packet leaves the switch in another way if its colour is \
            another one";
        let empty = self.switch().ok_or(UNSEEN)?;
        let id = empty.extern_named(subject.name).map_err(|_| UNSEEN)?;
        let size = empty.array_size(id).map_err(|_| UNSEEN)?;
        if size > CELLS {
            return Err("it has more than 65,536 cells");
        }
        let cells = |range: Range<u64>| {
            move |switch: &Switch, config: MeterConfig| configure(switch, id, range.clone(), config)
        };
        let shown = self.packet(subject, Some(size), &cells(0..size)).ok_or(UNSEEN)?;
        // The half of the cells that holds the packet's cell shows the colours.
        let mut range = 0..size;
        while range.end - range.start > 1 {
            let middle = range.start.midpoint(range.end);
            let lower = range.start..middle;
            let is_lower = self.has(subject, &shown, &cells(lower.clone()));
            range = if is_lower { lower } else { middle..range.end };
        }
        let index = range.start;
        if !self.has(subject, &shown, &cells(range)) {
            return Err("the packet meets several of its cells");
        }
        let index = i64::try_from(index).unwrap_or(i64::MAX);
        Ok(self.flow(subject, Place::Cell { meter_id, index }, shown))
    }

    /// Returns a packet and the entry whose direct meter it meets.
    fn entry(
        &mut self,
        subject: &Subject<'_>,
        table: Option<&str>,
    ) -> Result<MeteredFlow, &'static str> {
        let empty = self.switch().ok_or("its table has no entries")?;
        let named = |name: &str| empty.table_named(name).ok();
        let id = table.and_then(named).ok_or("its table has no entries")?;
        let meter = empty.extern_named(subject.name).map_err(|_| "its table has no entries")?;
        let own = self.trial.workload.entries().filter(|(of, _)| *of == id);
        let own: Vec<TableEntry> = own.map(|(_, entry)| entry.clone()).collect();
        for entry in own {
            let set = |switch: &Switch, config: MeterConfig| {
                let found = switch.find_entry(id, &entry.matches, entry.priority).ok()??;
                switch.configure_direct_meter(id, found, meter, Some(config), Duration::ZERO).ok()
            };
            if let Some(found) = self.packet(subject, None, &set) {
                let key = self.trial.key(id, &entry).ok_or("its table is not in P4Info")?;
                return Ok(self.flow(subject, Place::Direct(Box::new(key)), found));
            }
        }
        Err("no generated packet leaves the switch in another way if its colour is another one")
    }
}

/// Configures cells of an indirect meter.
fn configure(switch: &Switch, id: ExternId, cells: Range<u64>, config: MeterConfig) -> Option<()> {
    for index in cells {
        switch.configure_meter(id, index, Some(config), Duration::ZERO).ok()?;
    }
    Some(())
}

/// The lookups of a packet that found no entry.
struct Misses(Vec<(TableId, Vec<Bits>)>);

impl Trace for Misses {
    fn event(&mut self, _event: Event) {}

    fn lookup(&mut self, table: TableId, keys: &[Bits], hit: bool) {
        if !hit {
            self.0.push((table, keys.to_vec()));
        }
    }

    fn wants_events(&self) -> bool {
        false
    }
}
