//! Tries packets on the reference interpreter to find one whose outcome depends on its colour. If
//! there is none, the generated entries are changed until there is one.

use std::time::Duration;

use ::dut::meters::{ByColour, MeteredFlow};
use ir::bits::Bits;
use ir::{MatchKind, TableId};
use pipeline::{
    Color, Detail, EntryAction, Event, FieldMatch, MeterConfig, Switch, TableEntry, Trace, Value,
};

use super::{Subject, Trial};

/// A change of generated entries. The argument at one position of their actions is reduced modulo
/// the size of an indirect meter, so that it can be the index of a cell.
#[derive(Clone, Copy)]
pub(super) struct Reduced {
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

/// The trials of meters, and the changes of generated entries which they need so that the outcomes
/// of packets depend on colours.
pub(super) struct Metered<'a> {
    pub(super) trial: Trial<'a>,
    /// The entries that were added to the generated ones.
    pub(super) extra: Vec<(TableId, TableEntry)>,
    pub(super) reduced: Vec<Reduced>,
}

/// A packet whose outcome depends on its colour, and its outcomes.
#[derive(PartialEq)]
pub(super) struct Shown {
    pub(super) packet: Vec<u8>,
    pub(super) outcomes: ByColour,
}

/// A function that configures a meter of a switch.
pub(super) type Configure<'a> = &'a dyn Fn(&Switch, MeterConfig) -> Option<()>;

impl Metered<'_> {
    /// Returns the number of changes that were made to the generated entries.
    pub(super) fn changes(&self) -> usize {
        self.extra.len() + self.reduced.len()
    }

    /// Returns all entries: the generated ones as changed, and the added ones.
    pub(super) fn entries(&self) -> Vec<(TableId, TableEntry)> {
        let generated = self.trial.workload.entries().map(|(table, entry)| {
            let mut entry = entry.clone();
            let own = self.reduced.iter().filter(|change| change.table == table);
            own.for_each(|change| change.apply(&mut entry));
            (table, entry)
        });
        generated.chain(self.extra.iter().cloned()).collect()
    }

    /// Returns a switch with all entries.
    pub(super) fn switch(&self) -> Option<Switch> {
        let switch = Switch::new(self.trial.workload.program().clone()).ok()?;
        self.trial.workload.add_members(&switch).ok()?;
        for (table, entry) in self.entries() {
            switch.add_entry(table, entry, Duration::ZERO).ok()?;
        }
        Some(switch)
    }

    /// Returns a switch whose meter marks all packets with this colour.
    fn marking(&self, subject: &Subject<'_>, colour: Color, set: Configure<'_>) -> Option<Switch> {
        let switch = self.switch()?;
        set(&switch, subject.config(colour))?;
        Some(switch)
    }

    /// Returns the first of these packets whose outcome depends on its colour, with its outcomes.
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

    /// Returns whether the packet still has the same outcomes with the current entries.
    pub(super) fn has(&self, subject: &Subject<'_>, shown: &Shown, set: Configure<'_>) -> bool {
        self.shown(subject, std::slice::from_ref(&shown.packet), set).as_ref() == Some(shown)
    }

    /// Returns the first packet whose outcome depends on its colour.
    ///
    /// If there is none, adds an entry for a lookup that fails only for a red packet. If that does
    /// not help either, and the meter has a size, changes an argument of generated entries that may
    /// be the index of a cell.
    pub(super) fn packet(
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

    /// Returns the possible changes of arguments: one for each parameter position of each table's
    /// actions.
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

    /// Returns entries for the keys that a red packet looks up and a green one does not. There is
    /// one for each action that needs no parameters. Tables whose keys are not all exact are left
    /// out.
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

    fn detail(&self) -> Detail {
        Detail::Nothing
    }
}
