//! Generates traffic for a program: packets that its parser accepts, and the table entries that
//! they hit.
//!
//! A flow repeats one packet. A few routes through the parser, those with the most headers, are
//! tried with a sample of flows. The best route is the one on which most packets leave the program
//! and find entries. The requested number of flows is generated along it. For tables that these
//! flows do not hit, [`Workload::reaching`] searches for packets and entries with a solver.

mod constrained;
mod endless;
mod entries;
pub(crate) mod error;
mod fill;
mod given;
mod members;
mod reach;
mod route;
mod solve;
mod trial;

use crate::packets::Packets;

pub use self::endless::Endless;
use self::entries::{Placed, Recipe, Score};
pub use self::error::TrafficError;
use self::fill::Filler;
pub use self::given::{Given, Setup};
use self::members::Members;
pub use self::reach::{Reach, SolvedTable, UnhitTable};
use self::route::Route;
use crate::method::Variant;
use ir::{Program, TableId};
use pipeline::{ControlError, Switch, TableEntry};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The number of flows that are generated to compare routes through the parser and choices of
/// actions.
const SAMPLE: u64 = 32;
/// The largest number of routes through the parser that are tried.
const ROUTES: usize = 12;

/// The properties of the traffic to generate.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// The number of flows. Each table whose keys distinguish the flows gets one entry per flow.
    pub flows: usize,
    /// The packet length in bytes. Packets are longer if the parser needs more bytes.
    pub packet_size: usize,
    /// The seed of the random bytes of packets.
    pub seed: u64,
}

/// A P4 program, the entries of its tables, and packets that hit them.
#[derive(Debug)]
pub struct Workload {
    program: Program,
    entries: Vec<Placed>,
    /// The members and groups of action profiles and selectors to which the table entries refer.
    members: Members,
    /// The index of the flow's table entry in `entries`, for each flow that uses exactly one entry,
    /// if no other flow writes this entry.
    own: BTreeMap<usize, usize>,
    packets: Packets,
    /// The number of flows whose packets the program sends out.
    left: usize,
    /// The flows that write a table entry which other flows use too.
    shared: BTreeSet<usize>,
    notes: Vec<String>,
    /// The tables with keys in which no packet finds an entry.
    unhit: Vec<TableId>,
    /// The tables with keys in which no packet finds an entry, each with the reason. The list is
    /// empty after [`Self::from_program`].
    unhit_reasons: Vec<UnhitTable>,
    /// The tables for which a solver found packets.
    solved: Vec<SolvedTable>,
    /// The port by which all packets arrive.
    port: u32,
    /// The function that configures a switch if the caller provided its configuration, or `None` if
    /// the table entries were generated.
    setup: Option<Setup>,
    /// The number of entries that `setup` adds to each table, by table name.
    counts: BTreeMap<String, usize>,
    /// Whether `setup` sets rates of meters, so that the output of a packet may depend on the
    /// packets before it.
    sets_meters: bool,
    /// The largest number of outcomes in the tree of a packet, or `None` if packets are processed
    /// instead of trees being computed.
    outcomes: Option<u64>,
}

impl Workload {
    /// Generates packets and entries for a program. `progress` receives the number of examined
    /// packets and the total, and returns whether to continue.
    ///
    /// # Errors
    /// Returns a [`TrafficError`] if the program cannot be loaded, no route through its parser is
    /// found, the processing of some packets never ends, or `progress` stops the work.
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
                format!(
                    "packets have {} bytes, which is what the parser extracts",
                    filler.length()
                ),
            );
        }
        Ok(workload)
    }

    /// Generates entries for given packets. `progress` receives the number of examined packets and
    /// the total, and returns whether to continue.
    ///
    /// # Errors
    /// Returns a [`TrafficError`] if the program cannot be loaded, there are no packets, the
    /// processing of some packets never ends, or `progress` stops the work.
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
        let mut workload = Self::filled(program, packets, &recipe, progress)?;
        let reason = "the given packets do not, with the entries that were made for them";
        workload.name_unhit(&[], reason);
        Ok(workload)
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
        let is_hit = |table: &TableId| filled.hit.get(table.index()).copied().unwrap_or(false);
        let unhit = reach::keyed(&program).filter(|table| !is_hit(table)).collect();
        let mut own: BTreeMap<usize, Option<usize>> = BTreeMap::new();
        for (position, flow) in filled.made_for.iter().enumerate() {
            own.entry(*flow).and_modify(|only| *only = None).or_insert(Some(position));
        }
        let own = own.into_iter().filter(|(flow, _)| !shared.contains(flow));
        let own = own.filter_map(|(flow, only)| Some((flow, only?))).collect();
        let (entries, members) = (filled.entries, filled.members);
        Ok(Self {
            program,
            entries,
            members,
            own,
            packets,
            left,
            shared,
            notes,
            unhit,
            unhit_reasons: Vec::new(),
            solved: Vec::new(),
            port: entries::PORT,
            setup: None,
            counts: BTreeMap::new(),
            sets_meters: false,
            outcomes: None,
        })
    }

    /// Returns the program, whose tables have been enlarged to hold the generated entries.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the packets, one for each flow.
    #[must_use]
    pub fn packets(&self) -> &Packets {
        &self.packets
    }

    /// Returns the port by which the packets arrive at the program.
    #[must_use]
    pub fn port(&self) -> u32 {
        self.port
    }

    /// Returns the number of flows whose packets the program sends out, rather than drops.
    #[must_use]
    pub fn leaving(&self) -> usize {
        self.left
    }

    /// Returns the generated table entries, in the order in which they can be installed.
    pub fn entries(&self) -> impl Iterator<Item = (TableId, &TableEntry)> {
        self.entries.iter().map(|(table, entry)| (*table, entry))
    }

    /// Returns the table entry that was generated for a flow. Returns `None` if the flow has
    /// several entries, or if another flow writes the entry.
    pub(crate) fn entry_of(&self, flow: usize) -> Option<&Placed> {
        self.entries.get(*self.own.get(&flow)?)
    }

    /// Returns whether a flow writes a table entry that other flows use too, so that its output
    /// depends on the order of packets.
    pub(crate) fn shares_entries(&self, flow: usize) -> bool {
        self.shared.contains(&flow)
    }

    /// Returns the largest number of outcomes in the tree of a packet, if the run measures how fast
    /// trees of all outcomes are computed. Returns `None` if packets are processed as usual.
    pub(crate) fn outcomes(&self) -> Option<u64> {
        self.outcomes
    }

    /// Returns whether the rates of meters are set, so that the output of a packet may depend on
    /// the packets before it.
    pub(crate) fn sets_meters(&self) -> bool {
        self.sets_meters
    }

    /// Returns the number of entries of each table, by table name.
    #[must_use]
    pub fn entries_by_table(&self) -> BTreeMap<&str, usize> {
        let given = self.counts.iter();
        let mut counts: BTreeMap<&str, usize> =
            given.map(|(name, count)| (name.as_str(), *count)).collect();
        for (table, _) in &self.entries {
            let name =
                self.program.tables.get(table.index()).map_or("", |table| table.name.as_str());
            *counts.entry(name).or_default() += 1;
        }
        counts
    }

    /// Returns remarks on the generated traffic for the reader of the results, as sentences.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Adds the members of action profiles and the groups of action selectors to which the
    /// generated table entries refer. `switch` must run the program and have no members and groups
    /// yet.
    ///
    /// # Errors
    /// Returns an error if the switch refuses a member or a group.
    pub fn add_members(&self, switch: &Switch) -> Result<(), ControlError> {
        self.members.put(switch)
    }

    /// Creates a switch with a variant of the program and all table entries, which has processed no
    /// packet yet.
    ///
    /// # Errors
    /// Returns a [`TrafficError`] if the program or an entry is refused.
    pub(crate) fn switch(&self, variant: Variant) -> Result<Switch, TrafficError> {
        let mut switch = Switch::new(variant.of(self.program.clone()))?;
        self.configure(&mut switch)?;
        Ok(switch)
    }

    /// Adds all table entries, and the members and groups to which they refer, to a switch that
    /// runs the program and has none of them yet.
    ///
    /// # Errors
    /// Returns a [`TrafficError`] if an entry is refused.
    pub(crate) fn configure(&self, switch: &mut Switch) -> Result<(), TrafficError> {
        if let Some(setup) = &self.setup {
            setup.apply(switch)?;
        }
        self.members.put(switch)?;
        for (table, entry) in &self.entries {
            switch.add_entry(*table, entry.clone(), Duration::ZERO)?;
        }
        Ok(())
    }
}

/// Returns the program with each declared table size raised to at least twice `entries`. Room for
/// one entry per flow would not suffice: packets that hit a single entry of a table with wide
/// matches may need two entries in another table.
fn with_room(mut program: Program, entries: usize) -> Program {
    for table in &mut program.tables {
        if let Some(size) = &mut table.size {
            *size = (*size).max(2 * entries as u64);
        }
    }
    program
}

/// Returns a generator of packets along one route through the parser, and the action of the
/// generated entries of each table. Route and actions are those with which sample packets score
/// best: most packets leave the program and find table entries.
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
