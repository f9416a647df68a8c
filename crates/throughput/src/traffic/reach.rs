//! Traffic for tables that ordinary generated packets do not hit, such as a table that is applied
//! only if another one has run a certain action.
//!
//! The ordinary packets, which are generated along routes through the parser, come first: there are
//! many of them, and all differ. For each table that none of them hits, a solver searches a packet
//! and the entries that the packet needs. The packet is then varied in those bytes that do not
//! change its path through the program. The packets that result replace up to half of the ordinary
//! ones. In the end all packets are processed, so that the tables that they hit are observed and
//! not inferred.

use super::endless::Budgets;
use super::entries::{Lookups, Placed};
use super::members::Members;
use super::solve::{self, Base, Task, repaired};
use super::trial::Trial;
use super::{TrafficError, Wanted, Workload};
use crate::method::{self, Variant};
use ir::{Program, TableId, with_large_stack};
use pipeline::{ControlError, Switch};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeSet;
use std::time::Duration;

/// The number of ordinary packets that are checked when entries are added. Their path through the
/// program must remain as it was.
const KEPT: usize = 32;
/// The largest number of attempts to vary the bytes of a packet so that its path through the
/// program does not change.
const TRIES: usize = 4;
/// The number of times that all packets are processed. Only the last time is evaluated, because a
/// packet may behave differently the first time, for example if it adds an entry.
const ROUNDS: usize = 2;
/// The stated reason why no packet hits a table, if the true reason is not known.
const MADE: &str = "the packets that were made do not";
/// The bits of a byte that are inverted, one after the other, to test whether the byte can differ
/// without changing the path of the packet.
const CHANGES: [u8; 2] = [0x01, 0x80];

/// A request for packets that hit tables which ordinary packets do not hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach<'r> {
    /// The name of the only table for which packets are searched, or the part of its name after a
    /// dot. With `None`, packets are searched for all tables.
    pub only: Option<&'r str>,
    /// The time after which no search for another table begins. Zero means that nothing is
    /// searched.
    pub time: Duration,
}

/// A table for which a solver found packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SolvedTable {
    /// The name of the table.
    pub table: String,
    /// The number of flows that hit the table with packets that the solver found, or with
    /// variations of these packets.
    pub flows: usize,
}

/// A table in which no packet finds an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnhitTable {
    /// The name of the table.
    pub table: String,
    /// The reason why no packet finds an entry in the table, as a clause.
    pub reason: String,
}

/// The packets that were found for tables, and the entries that they need.
struct Extension {
    packets: Vec<Vec<u8>>,
    entries: Vec<Placed>,
    /// All members and groups, including those to which the other entries refer.
    members: Members,
    /// The tables for which no packets were found, each with the reason.
    missing: Vec<(TableId, String)>,
}

/// The observed effects of packets that are processed one after the other.
#[derive(Default)]
struct Counts {
    /// The number of packets that leave the program.
    left: usize,
    budgets: Budgets,
    /// The tables in which a packet finds an entry.
    hit: BTreeSet<TableId>,
    /// For each packet that was found for a table: the tables in which it finds an entry.
    of_each: Vec<BTreeSet<TableId>>,
}

impl Counts {
    /// Processes a packet that arrives at a switch by a port, and returns the tables that it hits.
    fn process(
        &mut self,
        (switch, port): (&mut Switch, u32),
        number: usize,
        packet: &[u8],
    ) -> BTreeSet<TableId> {
        let mut lookups = Lookups::default();
        match switch.process_traced(port, packet, Duration::ZERO, &mut lookups) {
            Err(error) if error.is_endless() => self.budgets.exceeded(number, packet, &error),
            Ok(outputs) => self.left += usize::from(!outputs.is_empty()),
            // Errors that occur here also occur in timed runs, where they are counted.
            Err(_) => {}
        }
        lookups.0.into_iter().filter(|(.., hit)| *hit).map(|(table, ..)| table).collect()
    }
}

impl Workload {
    /// Generates packets and entries for a program as [`Self::from_program`] does. For tables that
    /// these packets do not hit, it then searches for further packets with a solver. `progress`
    /// receives the number of examined packets and the total, and returns whether to continue.
    ///
    /// Equal arguments yield equal packets, unless the time of `reach` ends the search.
    ///
    /// # Errors
    /// Returns a [`TrafficError`] as [`Self::from_program`] does.
    pub fn reaching(
        program: Program,
        wanted: Wanted,
        reach: Reach<'_>,
        progress: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Self, TrafficError> {
        let mut workload = Self::from_program(program, wanted, progress)?;
        let is_meant = |table: &TableId| {
            let name = workload.program.tables.get(table.index()).map(|table| &table.name);
            reach
                .only
                .is_none_or(|only| name.is_some_and(|name| symbolic::wanted::is_name(name, only)))
        };
        let mut tables: Vec<TableId> = workload.unhit.iter().copied().filter(is_meant).collect();
        // Each table needs at least one flow, and half of the flows remain as they are, so the
        // number of tables is limited.
        let beyond = tables.split_off(tables.len().min(wanted.flows / 2));
        let mut missing: Vec<(TableId, String)> = Vec::new();
        if tables.is_empty() || reach.time.is_zero() {
            workload.name_unhit(&missing, MADE);
            return Ok(workload);
        }
        for table in beyond {
            let reason = format!(
                "packets for other tables were solved for, which replace half of the {} flows",
                wanted.flows
            );
            missing.push((table, reason));
        }
        if !progress(0, wanted.flows) {
            return Err(TrafficError::Interrupted);
        }
        let extended = with_large_stack(|| workload.extension(&tables, wanted, reach.time));
        let extension = extended.map_err(TrafficError::Thread)??;
        missing.extend(extension.missing.iter().cloned());
        workload.extend(extension, progress)?;
        workload.name_unhit(&missing, MADE);
        Ok(workload)
    }

    /// Returns the tables for which a solver found packets.
    #[must_use]
    pub fn solved_tables(&self) -> &[SolvedTable] {
        &self.solved
    }

    /// Returns the tables with keys in which no packet finds an entry.
    #[must_use]
    pub fn unhit_tables(&self) -> &[UnhitTable] {
        &self.unhit_reasons
    }

    /// Returns whether there is a table that no packet hits and that has this name, or whose name
    /// ends in this name after a dot.
    #[must_use]
    pub fn misses(&self, table: &str) -> bool {
        let of = self.unhit.iter().filter_map(|id| self.program.tables.get(id.index()));
        of.map(|of| &of.name).any(|name| symbolic::wanted::is_name(name, table))
    }

    /// Searches for packets that hit these tables, and for the entries that the packets need.
    fn extension(
        &self,
        tables: &[TableId],
        wanted: Wanted,
        time: Duration,
    ) -> Result<Extension, TrafficError> {
        let mut trial = Trial::new(&self.program, &self.entries, self.members.clone())?;
        let packets = &self.packets;
        let step = packets.len().div_ceil(KEPT).max(1);
        let kept: Vec<Vec<u8>> = packets.iter().step_by(step).map(<[u8]>::to_vec).collect();
        let Wanted { flows, packet_size, seed } = wanted;
        let task = Task { tables, kept: &kept, packet_size, seed, time };
        let solve::Solved { bases, missing } = solve::solve(&mut trial, task)?;
        let share = (flows / 2).checked_div(bases.len()).unwrap_or(0);
        let mut made = Vec::new();
        for base in &bases {
            made.extend(varied(&mut trial, base, share, seed)?);
        }
        let Trial { added, members, .. } = trial;
        Ok(Extension { packets: made, entries: added, members, missing })
    }

    /// Replaces the last packets by those of `extension`, and processes all packets again to
    /// observe their effects.
    fn extend(
        &mut self,
        extension: Extension,
        progress: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<(), TrafficError> {
        let all = self.packets.len();
        let kept = all.saturating_sub(extension.packets.len());
        let packets = self.packets.iter().take(kept);
        self.packets = packets.chain(extension.packets.iter().map(Vec::as_slice)).collect();
        self.own.retain(|flow, _| *flow < kept);
        self.shared.retain(|flow| *flow < kept);
        // It is not known which entries these packets write. So if packets write any, each of these
        // flows may write entries of other flows.
        if method::of_program(&self.program).is_some() {
            self.shared.extend(kept..all);
        }
        self.entries.extend(extension.entries);
        self.members = extension.members;
        let before = self.unhit.clone();
        let hits = self.counted(kept, progress)?;
        for table in before {
            let flows = hits.iter().filter(|hits| hits.contains(&table)).count();
            if flows > 0 {
                self.solved.push(SolvedTable { table: self.name_of(table), flows });
            }
        }
        if let Some(note) = note_of_solved(&self.solved) {
            self.notes.push(note);
        }
        Ok(())
    }

    /// Processes all packets. Returns, for each packet from number `from` on, the tables that it
    /// hits.
    fn counted(
        &mut self,
        from: usize,
        progress: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Vec<BTreeSet<TableId>>, TrafficError> {
        let mut switch = self.switch(Variant::AsWritten)?;
        // A packet may behave differently the first time, for example if it adds an entry, so only
        // the last round counts.
        let mut counts = Counts::default();
        for _ in 0..ROUNDS {
            counts = Counts::default();
            for (number, packet) in self.packets.iter().enumerate() {
                let hit = counts.process((&mut switch, self.port), number, packet);
                counts.hit.extend(&hit);
                if number >= from {
                    counts.of_each.push(hit);
                }
                if number % 1024 == 0 && !progress(number, self.packets.len()) {
                    return Err(TrafficError::Interrupted);
                }
                if counts.budgets.are_enough() {
                    break;
                }
            }
        }
        let Counts { left, budgets, hit, of_each } = counts;
        budgets.endless(self.packets.len()).map_or(Ok(()), Err)?;
        self.left = left;
        self.unhit = keyed(&self.program).filter(|table| !hit.contains(table)).collect();
        Ok(of_each)
    }

    /// Records the reason why no packet hits a table, for each such table. The reason is that in
    /// `missing` or, for other tables, `otherwise`.
    pub(super) fn name_unhit(&mut self, missing: &[(TableId, String)], otherwise: &str) {
        for table in self.unhit.clone() {
            let known = missing.iter().find(|(of, _)| *of == table);
            let reason = known.map_or_else(|| otherwise.to_owned(), |(_, reason)| reason.clone());
            let table = self.name_of(table);
            self.unhit_reasons.push(UnhitTable { table, reason });
        }
        self.notes.extend(notes_of_unhit(&self.unhit_reasons));
    }

    fn name_of(&self, table: TableId) -> String {
        self.program.tables.get(table.index()).map_or_else(String::new, |table| table.name.clone())
    }
}

/// Returns the tables of a program that have keys.
pub(super) fn keyed(program: &Program) -> impl Iterator<Item = TableId> {
    let tables = (0..).map(TableId).zip(&program.tables);
    tables.filter(|(_, table)| !table.keys.is_empty()).map(|(id, _)| id)
}

/// Returns a sentence about the tables for which a solver found packets, or `None` if there are
/// none.
fn note_of_solved(solved: &[SolvedTable]) -> Option<String> {
    let tables: Vec<String> = solved
        .iter()
        .map(|SolvedTable { table, flows }| match flows {
            1 => format!("{table} (1 flow)"),
            flows => format!("{table} ({flows} flows)"),
        })
        .collect();
    (!tables.is_empty()).then(|| {
        format!(
            "packets of these tables were solved for, since no packet along the parser's paths hits an \
             entry there: {}",
            tables.join(", ")
        )
    })
}

/// Returns one sentence for each reason why tables are not hit, which names these tables.
fn notes_of_unhit(unhit: &[UnhitTable]) -> Vec<String> {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for UnhitTable { table, reason } in unhit {
        match by_reason.iter_mut().find(|(known, _)| known == reason) {
            Some((_, tables)) => tables.push(table.as_str()),
            None => by_reason.push((reason.as_str(), vec![table.as_str()])),
        }
    }
    let note = |(reason, tables): (&str, Vec<&str>)| {
        let s = if tables.len() == 1 { "" } else { "s" };
        format!("no packet hits an entry of table{s} {}: {reason}", tables.join(", "))
    };
    by_reason.into_iter().map(note).collect()
}

/// Returns `count` packets that take the same path through the program as `base`, and adds the
/// entries that they need. They differ in the bytes that can be varied. Where no different packet
/// is found, the list has another copy of `base`.
fn varied(
    trial: &mut Trial<'_>,
    base: &Base,
    count: usize,
    seed: u64,
) -> Result<Vec<Vec<u8>>, ControlError> {
    let mut packets = Vec::with_capacity(count);
    if count > 0 {
        packets.push(base.packet.clone());
    }
    if count < 2 {
        return Ok(packets);
    }
    let free = free_bytes(trial, base)?;
    for number in 1..count {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(((base.table.index() as u64) << 32) | number as u64);
        let mut packet = base.packet.clone();
        for _ in 0..TRIES {
            let mut other = base.packet.clone();
            for at in &free {
                if let Some(byte) = other.get_mut(*at) {
                    *byte = random.random();
                }
            }
            let other = base.completed(other);
            if trial.follows(&other, &base.actions, &base.seen)? {
                packet = other;
                break;
            }
        }
        packets.push(packet);
    }
    Ok(packets)
}

/// Returns the positions of the bytes that can be varied: if one of them alone is changed, the
/// packet still takes the same path through the program.
fn free_bytes(trial: &mut Trial<'_>, base: &Base) -> Result<Vec<usize>, ControlError> {
    let mut free = Vec::new();
    for at in 0..base.packet.len() {
        let mut is_free = true;
        for change in CHANGES {
            let mut other = base.packet.clone();
            if let Some(byte) = other.get_mut(at) {
                *byte ^= change;
            }
            let before = trial.added.len();
            let other = base.completed(other);
            is_free &= trial.follows(&other, &base.actions, &base.seen)?;
            trial.withdraw(before)?;
        }
        if is_free {
            free.push(at);
        }
    }
    Ok(free)
}

impl Base {
    /// Returns a varied packet with its IPv4 checksum updated, if the checksum of this packet is
    /// correct. Otherwise returns the packet unchanged.
    fn completed(&self, packet: Vec<u8>) -> Vec<u8> {
        if self.has_checksum { repaired(&packet) } else { packet }
    }
}
