//! Searches packets that hit given tables, and the entries that they need, with the solver of the
//! crate `symbolic`.
//!
//! The solver assumes that all tables are empty. So each packet that it finds is tried on a switch
//! with all entries so far. The packet is accepted if the switch accepts its entries, if the packet
//! hits the table, and if all earlier packets still behave as before. Otherwise the solver searches
//! another packet.

use super::entries::{OUT, PORT, Placed};
use super::trial::{Actions, Seen, Trial};
use ir::bits::Bits;
use ir::{Program, TableId, TableImplementation};
use pipeline::{ControlError, EntryAction, FieldMatch, TableEntry, internet_checksum};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use std::time::{Duration, Instant};
use symbolic::Ends;
use symbolic::generated::{Entry, Matched, Test};
use symbolic::search::{
    FindError, Options, Progress, SearchError, Taker, Verdict, Wants, WishAnswer, Wishes, find_each,
};
use symbolic::wanted::{Atom, Wanted};

/// The largest number of packets that are tried for a table in each of three steps. Packets of the
/// first step must leave by the port of all other packets, those of the second by any port, and
/// those of the third need only hit the table.
const OFFERS: u32 = 4;

/// A request to the solver: the tables, and the conditions for their packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task<'t> {
    /// The tables that packets must hit. The solver searches for one packet for each of them.
    pub(super) tables: &'t [TableId],
    /// Packets whose path through the program must remain the same when entries are added.
    pub(super) kept: &'t [Vec<u8>],
    /// The length of packets in bytes. A packet is longer if it could not hit its table otherwise.
    pub(super) packet_size: usize,
    pub(super) seed: u64,
    /// The time after which the solver is asked nothing more.
    pub(super) time: Duration,
}

/// A packet that the solver found and that hits a table.
#[derive(Clone, Debug)]
pub(super) struct Base {
    pub(super) table: TableId,
    pub(super) packet: Vec<u8>,
    /// Whether the checksum of the packet's IPv4 header, if it has one, is correct.
    pub(super) has_checksum: bool,
    /// The actions of the entries that the packet needs.
    pub(super) actions: Actions,
    pub(super) seen: Seen,
}

/// The result of the search for all tables.
pub(super) struct Solved {
    pub(super) bases: Vec<Base>,
    /// The tables for which no packet was found, each with the reason.
    pub(super) missing: Vec<(TableId, String)>,
}

/// Searches a packet for each table. Adds the entries that the packets need to the trial.
pub(super) fn solve(trial: &mut Trial<'_>, task: Task<'_>) -> Result<Solved, ControlError> {
    let program = trial.program;
    let names = task.tables.iter().map(|table| name(program, *table).to_owned());
    let wishes: Vec<Vec<Wanted>> = names
        .map(|name| {
            let hit = Wanted::Atom(Atom::Hit(name));
            let by_port = Wanted::Atom(Atom::Port(OUT));
            let leaves = Wanted::Not(Box::new(Wanted::Atom(Atom::Drop)));
            let with = |other| Wanted::All(vec![hit.clone(), other]);
            vec![with(by_port), with(leaves), hit]
        })
        .collect();
    let mut kept = Vec::new();
    for packet in task.kept {
        kept.extend(trial.seen(packet).map(|seen| (packet.clone(), seen)));
    }
    let until = Instant::now().checked_add(task.time);
    let mut attempt = Attempt { trial, task, kept, bases: Vec::new(), until, failed: None };
    let wishes = Wishes { wishes: &wishes, port: PORT, offers: OFFERS };
    let ends = Ends { at: until, asked: None };
    let options = Options { seed: task.seed, ends, ..Options::default() };
    let found = find_each(program, &wishes, &options, &mut attempt);
    let is_late = attempt.is_late();
    let Attempt { bases, failed, .. } = attempt;
    failed.map_or(Ok(()), Err)?;
    let tables = task.tables.iter().copied();
    let missing = match found {
        Ok(answers) => {
            let found = tables.zip(&answers);
            found.filter_map(|(table, answer)| Some((table, reason(answer, task.time)?))).collect()
        }
        Err(error) => {
            let why = if is_late { late(task.time) } else { without_answer(&error) };
            tables.map(|table| (table, why.clone())).collect()
        }
    };
    Ok(Solved { bases, missing })
}

/// Returns the reason why no packet was found for tables for which the solver has no answer. Other
/// tables are measured all the same.
fn without_answer(error: &FindError) -> String {
    match error {
        FindError::Search(SearchError::Unsupported(what)) => what.to_string(),
        FindError::Search(SearchError::Query(_) | SearchError::Thread(_) | SearchError::Ended)
        | FindError::Name(_) => {
            format!("the search for a packet failed: {error}")
        }
    }
}

fn name(program: &Program, table: TableId) -> &str {
    program.tables.get(table.index()).map_or("", |table| table.name.as_str())
}

/// Returns the reason why no packet was found for a table, or `None` if one was found.
fn reason(answer: &WishAnswer, time: Duration) -> Option<String> {
    let verdict = match answer {
        WishAnswer::Taken | WishAnswer::Unwanted => return None,
        WishAnswer::Refused(count) => {
            return Some(format!(
                "none of the packets that were solved for ({count}) hits it without entries that \
                 contradict those of other packets"
            ));
        }
        WishAnswer::Without(verdict) => verdict,
    };
    Some(match verdict {
        Verdict::Unreachable => format!(
            "no packet that arrives by port {PORT} does, whatever entries tables have, if nothing else \
             is configured"
        ),
        Verdict::NotWithin(_) => {
            format!(
                "no packet that arrives by port {PORT} does unless earlier packets write registers \
                 or entries"
            )
        }
        Verdict::GivenUp(reason) => format!("the solver found none: {reason}"),
        Verdict::Open => late(time),
        Verdict::Covered(_) => "the packet that was found was not tried".to_owned(),
    })
}

/// Returns the reason why no packet was found for tables whose search ran out of time.
fn late(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    format!("the time for which packets are solved for, {seconds} s, ended before one was found")
}

/// The receiver of the solver's packets, which tries each of them on a switch and accepts or
/// refuses it.
struct Attempt<'a, 'p> {
    trial: &'a mut Trial<'p>,
    task: Task<'a>,
    /// The packets whose path through the program must remain the same, with their observed
    /// effects.
    kept: Vec<(Vec<u8>, Seen)>,
    bases: Vec<Base>,
    /// The time at which the search ends; `None` for no limit.
    until: Option<Instant>,
    /// The error that ends the search.
    failed: Option<ControlError>,
}

impl Taker for Attempt<'_, '_> {
    fn wants(&mut self, wish: usize, _: Progress) -> Wants {
        if self.failed.is_some() || self.is_late() {
            return Wants::End;
        }
        let table = self.task.tables.get(wish);
        let is_hit = |base: &Base| table.is_some_and(|table| base.seen.hit.contains(table));
        if self.bases.iter().any(is_hit) { Wants::Nothing } else { Wants::Test }
    }

    fn takes(&mut self, wish: usize, test: &Test) -> bool {
        let Some(table) = self.task.tables.get(wish).copied() else { return false };
        match self.base(table, test) {
            Ok(base) => {
                let is_taken = base.is_some();
                self.bases.extend(base);
                is_taken
            }
            Err(error) => {
                self.failed = Some(error);
                true
            }
        }
    }
}

impl Attempt<'_, '_> {
    /// Returns whether the time for the search has ended.
    fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Adds the entries of a test (a packet with the entries that it needs) to the trial. Returns
    /// the packet if it then hits the table and no earlier packet behaves differently. Otherwise
    /// adds nothing and returns `None`.
    fn base(&mut self, table: TableId, test: &Test) -> Result<Option<Base>, ControlError> {
        let placed: Option<Vec<Placed>> =
            test.entries.iter().map(|entry| placed(self.trial, entry)).collect();
        let (Some(placed), Some(packet)) = (placed, bytes(&test.packet)) else { return Ok(None) };
        let actions = placed.iter().map(|(table, entry)| (*table, entry.action.clone()));
        let actions: Actions = actions.collect();
        let before = self.trial.added.len();
        if !self.trial.add(placed)? {
            return Ok(None);
        }
        let found = self.usable(table, packet);
        let Some((packet, seen)) = found.filter(|_| self.keeps()) else {
            self.trial.withdraw(before)?;
            return Ok(None);
        };
        let has_checksum = repaired(&packet) == packet;
        Ok(Some(Base { table, packet, has_checksum, actions, seen }))
    }

    /// Returns the packet with the wanted length and a correct IPv4 checksum, or a variant without
    /// these if only that one hits the table. A variant that leaves the program is preferred.
    /// Returns `None` if no variant hits the table.
    fn usable(&mut self, table: TableId, packet: Vec<u8>) -> Option<(Vec<u8>, Seen)> {
        let mut sized = packet.clone();
        sized.truncate(self.task.packet_size);
        let mut random = ChaCha8Rng::seed_from_u64(self.task.seed);
        random.set_stream(table.index() as u64);
        let mut padding = vec![0; self.task.packet_size.saturating_sub(packet.len())];
        random.fill_bytes(&mut padding);
        sized.append(&mut padding);
        let mut hitting = None;
        for candidate in [repaired(&sized), sized, packet] {
            let Some(seen) = self.trial.seen(&candidate) else { continue };
            if !seen.hit.contains(&table) {
                continue;
            }
            if seen.leaves {
                return Some((candidate, seen));
            }
            hitting.get_or_insert((candidate, seen));
        }
        hitting
    }

    /// Returns whether all packets so far have the same effects as before the last entries were
    /// added.
    fn keeps(&mut self) -> bool {
        let bases = self.bases.iter().map(|base| (&base.packet, &base.seen));
        let kept = self.kept.iter().map(|(packet, seen)| (packet, seen));
        for (packet, before) in kept.chain(bases) {
            if !self.trial.seen(packet).is_some_and(|seen| seen.agrees(before)) {
                return false;
            }
        }
        true
    }
}

/// Converts an entry of a test to one for the switch. An entry of a table with an action profile
/// refers to a member, which is added if necessary. Returns `None` if the switch would refuse the
/// entry.
fn placed(trial: &mut Trial<'_>, entry: &Entry) -> Option<Placed> {
    let program = trial.program;
    let position = program.tables.iter().position(|table| table.name == entry.table)?;
    let table = program.tables.get(position)?;
    let mut matches = vec![FieldMatch::Any; table.keys.len()];
    for one in &entry.matches {
        *matches.get_mut(one.position)? = field_match(&one.matched);
    }
    let reference = table.actions.iter().find(|reference| {
        let action = program.actions.get(reference.action.index());
        action.is_some_and(|action| action.name == entry.action.name)
    })?;
    let action = program.actions.get(reference.action.index())?;
    let parameters = action.control_plane_parameters().zip(&entry.action.arguments);
    let arguments: Option<Vec<Bits>> = parameters
        .map(|(parameter, (_, value))| {
            let width = program.types.width_in_bits(parameter.type_id).unwrap_or(32);
            Bits::parse(u32::try_from(width).ok()?, false, value).ok()
        })
        .collect();
    let call = trial.switch().action_call(reference.action, &arguments?).ok()?;
    let action = match table.implementation {
        None => EntryAction::Action(call),
        Some(
            TableImplementation::ActionProfile(profile)
            | TableImplementation::ActionSelector(profile),
        ) => EntryAction::Member(trial.member(profile, call)?),
    };
    let priority = entry.priority.unwrap_or(0);
    let id = TableId(u32::try_from(position).ok()?);
    Some((id, TableEntry { matches, priority, action, idle_timeout: None }))
}

fn field_match(matched: &Matched) -> FieldMatch {
    match matched.clone() {
        Matched::Exact(value) => FieldMatch::Exact(value),
        Matched::Ternary { value, mask } => FieldMatch::Ternary { value, mask },
        Matched::Lpm { value, prefix } => FieldMatch::Lpm { value, prefix_length: prefix },
        Matched::Range { low, high } => FieldMatch::Range { low, high },
    }
}

/// Returns the bytes that are written as hexadecimal digits.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}

/// Returns a copy of the packet with a correct checksum in its IPv4 header (RFC 791). If the packet
/// does not begin with an Ethernet header and an IPv4 header without options, it is copied
/// unchanged.
pub(super) fn repaired(packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    let Some((ethernet, rest)) = packet.split_first_chunk_mut::<14>() else { return packet };
    let Some(header) = rest.first_chunk_mut::<20>() else { return packet };
    if ethernet.last_chunk::<2>() == Some(&[0x08, 0x00]) && header[0] == 0x45 {
        header[10..12].fill(0);
        let checksum = internet_checksum(header);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
    }
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_as_bytes() {
        assert_eq!(bytes("00ff10"), Some(vec![0, 255, 16]));
        assert_eq!((bytes(""), bytes("0g"), bytes("é")), (Some(Vec::new()), None, None));
    }

    #[test]
    fn only_the_checksum_of_ipv4_is_repaired() {
        let mut packet = vec![0; 34];
        packet[12] = 0x08;
        packet[14] = 0x45;
        let right = repaired(&packet);
        // The sum of the header is 0x4500.
        assert_eq!(right[24..26], [0xba, 0xff]);
        assert_eq!(repaired(&right), right);
        packet[13] = 0x06;
        assert_eq!(repaired(&packet), packet);
        assert_eq!(repaired(&packet[..20]), packet[..20]);
    }
}
