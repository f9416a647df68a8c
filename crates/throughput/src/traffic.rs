//! Traffic for a program, made from the program: packets that its parser takes apart, and the entries that they hit.
//!
//! A flow is one packet, the same each time it comes. Ways through the parser are tried with a sample of flows, those with
//! most headers first, until packets leave and find entries; then as many flows are made as entries are wanted.

mod endless;
mod entries;
pub(crate) mod error;
mod fill;
mod members;
mod route;

use crate::packets::Packets;

pub use self::endless::Endless;
use self::entries::{Placed, Recipe, Score};
pub use self::error::TrafficError;
use self::fill::Filler;
use self::members::Members;
use self::route::Route;
use crate::method::changed_by;
use ir::{Program, UpdateMethod};
use pipeline::Switch;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Flows on which ways and actions are tried.
const SAMPLE: u64 = 32;
/// Ways through the parser that are tried.
const ROUTES: usize = 12;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Flows, and entries in each table whose keys tell them apart.
    pub flows: usize,
    /// Bytes of a packet; more if the parser takes more.
    pub packet_size: usize,
    /// Where random values start.
    pub seed: u64,
}

/// A program, entries for its tables, and packets that hit them.
#[derive(Debug)]
pub struct Workload {
    program: Program,
    entries: Vec<Placed>,
    /// What those run that they do not have themselves.
    members: Members,
    /// For each flow for which one entry was made, that no other flow writes, its position.
    own: BTreeMap<usize, usize>,
    packets: Packets,
    left: usize,
    shared: BTreeSet<usize>,
    notes: Vec<String>,
}

impl Workload {
    /// Makes packets and entries from a program. `progress` is told how many of how many packets were looked at, and says
    /// whether to go on.
    ///
    /// # Errors
    /// If the program cannot be loaded or its parser takes nothing.
    pub fn from_program(
        program: Program,
        wanted: Wanted,
        progress: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Self, TrafficError> {
        let program = with_room(program, wanted.flows);
        let (filler, recipe) = best_route(&program, wanted)?;
        let packets = (0..wanted.flows as u64).map(|flow| filler.packet(flow));
        let mut workload = Self::filled(program, packets.collect(), &recipe, progress)?;
        if filler.length() > wanted.packet_size {
            workload.notes.insert(
                0,
                format!("packets have {} bytes: the parser takes that many", filler.length()),
            );
        }
        Ok(workload)
    }

    /// Makes entries for packets that are given.
    ///
    /// # Errors
    /// If the program cannot be loaded or there are no packets.
    pub fn from_packets(
        program: Program,
        packets: Vec<Vec<u8>>,
        progress: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Self, TrafficError> {
        if packets.is_empty() {
            return Err(TrafficError::Empty);
        }
        let program = with_room(program, packets.len());
        let packets: Packets = packets.into_iter().collect();
        let sample: Packets = packets.iter().take(SAMPLE as usize).collect();
        let (recipe, _) = entries::choose(&program, &sample)?;
        Self::filled(program, packets, &recipe, progress)
    }

    fn filled(
        program: Program,
        packets: Packets,
        recipe: &Recipe,
        progress: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Self, TrafficError> {
        let mut went_on = true;
        let filled = entries::fill(&program, &packets, recipe, |done, of| {
            went_on &= progress(done, of);
            went_on
        })?;
        if !went_on {
            return Err(TrafficError::Interrupted);
        }
        filled.endless.map_or(Ok(()), Err)?;
        let (left, notes, shared) = (filled.score.left, filled.refused, filled.shared);
        let mut own: BTreeMap<usize, Option<usize>> = BTreeMap::new();
        for (position, flow) in filled.made_for.iter().enumerate() {
            own.entry(*flow).and_modify(|only| *only = None).or_insert(Some(position));
        }
        let own = own.into_iter().filter(|(flow, _)| !shared.contains(flow));
        let own = own.filter_map(|(flow, only)| Some((flow, only?))).collect();
        let (entries, members) = (filled.entries, filled.members);
        Ok(Self { program, entries, members, own, packets, left, shared, notes })
    }

    /// The program; its tables have room for the entries.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// One packet for each flow.
    #[must_use]
    pub fn packets(&self) -> &Packets {
        &self.packets
    }

    /// The port on which packets come in.
    #[must_use]
    pub fn port(&self) -> u32 {
        entries::PORT
    }

    /// Flows of which packets leave.
    #[must_use]
    pub fn leaving(&self) -> usize {
        self.left
    }

    /// The entry that was made for a flow, if it is the only one, and no other flow writes it.
    pub(crate) fn entry_of(&self, flow: usize) -> Option<&Placed> {
        self.entries.get(*self.own.get(&flow)?)
    }

    /// Whether a flow writes an entry that others write too, so that its output depends on who came last.
    pub(crate) fn shares_entries(&self, flow: usize) -> bool {
        self.shared.contains(&flow)
    }

    /// Entries that were made, by the name of their table.
    #[must_use]
    pub fn entries_by_table(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for (table, _) in &self.entries {
            let name =
                self.program.tables.get(table.index()).map_or("", |table| table.name.as_str());
            *counts.entry(name).or_default() += 1;
        }
        counts
    }

    /// What a reader of the figures must know.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// A switch with the program and all entries, that has seen no packet. Packets change entries by the method that is
    /// given, or as the program says.
    ///
    /// # Errors
    /// If the program or an entry is refused.
    pub(crate) fn switch(&self, method: Option<UpdateMethod>) -> Result<Switch, TrafficError> {
        let program = self.program.clone();
        let program = method.into_iter().fold(program, changed_by);
        let switch = Switch::new(program)?;
        self.members.put(&switch)?;
        for (table, entry) in &self.entries {
            switch.add_entry(*table, entry.clone(), Duration::ZERO)?;
        }
        Ok(switch)
    }
}

/// The program with tables that hold so many entries, and as many again: packets that hit one entry of a wide match may
/// need two of another table.
fn with_room(mut program: Program, entries: usize) -> Program {
    for table in &mut program.tables {
        if let Some(size) = &mut table.size {
            *size = (*size).max(2 * entries as u64);
        }
    }
    program
}

/// The way through the parser on which sample packets do best, and the actions with which they do.
fn best_route(program: &Program, wanted: Wanted) -> Result<(Filler, Recipe), TrafficError> {
    let routes: Vec<Route> = route::routes(program);
    let mut best: Option<(Score, Filler, Recipe)> = None;
    for route in routes.iter().take(ROUTES) {
        let filler = Filler::new(program, route, wanted.packet_size, wanted.seed);
        let sample: Packets = (0..SAMPLE).map(|flow| filler.packet(flow)).collect();
        let (recipe, score) = entries::choose(program, &sample)?;
        if best.as_ref().is_none_or(|(found, ..)| score > *found) {
            best = Some((score, filler, recipe));
        }
    }
    best.map(|(_, filler, recipe)| (filler, recipe)).ok_or(TrafficError::NoRoute)
}
