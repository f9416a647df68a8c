//! Finds packets whose outcome depends on a meter of the program. The reference interpreter
//! processes each packet while the meter marks all packets green, yellow or red.

mod search;

use std::ops::Range;
use std::time::Duration;

use ::dut::meters::{Algorithm, MeteredFlow, Place, TokenUnit, Traffic};
use entities::schema::{MeterAlgorithm, Schema, Unit};
use ir::ExternId;
use p4runtime::proto::v1;
use pipeline::{Color, MeterConfig, Switch, TableEntry};

use self::search::{Metered, Shown};
use super::{Made, Trial, Wire};

/// The largest number of cells of an indirect meter that are searched for the cell which a packet
/// uses.
const CELLS: u64 = 1 << 16;
/// The largest number of rounds in which all meters are tried.
const PASSES: usize = 4;
/// A rate and a burst that are so large that no packet exceeds them.
const ENDLESS: u64 = 1 << 40;

impl Made {
    /// Returns the meters on which the outcome of some packet depends, with such a packet for each.
    /// If there are none, returns the reason as a sentence.
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

/// A meter of the program for which a packet is searched.
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

    /// Returns a configuration by which the meter marks all packets with this colour. A meter with
    /// two colours has no yellow, so it marks them red instead.
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

impl Metered<'_> {
    /// Returns, for each meter of the program, a packet whose outcome depends on it, or the reason
    /// why there is none.
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

    /// Returns a packet whose outcome depends on an indirect meter, and the cell of the meter that
    /// the packet uses.
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

    /// Returns a packet whose outcome depends on a direct meter, and the entry to which the meter
    /// belongs.
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

/// Configures a range of cells of an indirect meter.
fn configure(switch: &Switch, id: ExternId, cells: Range<u64>, config: MeterConfig) -> Option<()> {
    for index in cells {
        switch.configure_meter(id, index, Some(config), Duration::ZERO).ok()?;
    }
    Some(())
}
