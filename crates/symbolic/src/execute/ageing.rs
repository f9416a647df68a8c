//! Virtual time, and table entries that expire in it (Portable NIC Architecture, version 0.7,
//! sections 7.1 and 7.2).
//!
//! Time passes only between the packets of a sequence, in whole seconds that a test chooses. An
//! entry of a table with `AUTO_DELETE` is removed when its timer has run for the entry's timeout.
//! The timer starts when a packet adds the entry, and again when the action of the entry calls
//! `restart_expire_timer` or sets another expire-time profile; a hit alone does not restart it. The
//! control plane assigns a timeout, or none, to each expire-time profile; a test chooses that too.
//! Entries that the control plane adds have no timeout until a packet sets their profile.
//!
//! In tables with `NOTIFY_CONTROL`, and in those of v1model and PSA, unused entries are not
//! removed, so time has no effect on packets.

use super::externs::Call;
use super::written::{CurrentLookup, has_exact_keys};
use super::{Executor, Stop, unsupported};
use crate::packet;
use crate::state::State;
use crate::term::{Operation, Term, Terms};
use ir::bits::Bits;
use ir::{Argument, ExternFunction, IdleTimeout, Table, TableId};
use std::collections::BTreeMap;

/// The width in bits of a timeout, and of the time between two packets, in seconds.
const SECONDS_BITS: u32 = 8;
/// The width in bits of the time since the first packet, in seconds.
const CLOCK_BITS: u32 = 16;
/// The largest number of choices that are followed to find the expire-time profiles that a call may
/// name.
const MAXIMUM_CHOICES: usize = 1_024;

/// The inputs that decide when entries expire. All lists are empty if a single packet is received,
/// or if no entry of the program expires.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    /// The seconds that pass before each packet except the first.
    pub(crate) gaps: Vec<Term>,
    /// The timeout of each expire-time profile in seconds; zero for none.
    pub(crate) profiles: BTreeMap<u32, Term>,
    /// The conditions under which an entry gets the timeout of a profile, each with the profile's
    /// number.
    pub(crate) uses: Vec<(Term, u32)>,
    /// The conditions, one per lookup, that an entry with a timeout is looked up exactly when the
    /// timeout ends or one second earlier. At these times, a switch that rounds or compares wrongly
    /// behaves differently.
    pub(crate) edges: Vec<Term>,
    /// The conditions under which a packet that is not the first one hits an entry of the control
    /// plane after time has passed. The entry would have expired if the control plane had given it
    /// a timeout of its own, which no test does.
    pub(crate) idle: Vec<Term>,
}

impl Times {
    /// Returns the inputs: the time before each packet except the first, and the timeout of each
    /// profile.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = Term> + '_ {
        self.gaps.iter().chain(self.profiles.values()).copied()
    }
}

/// A timeout that an entry may get.
#[derive(Clone, Copy, Debug)]
struct Timeout {
    /// The number of seconds, in [`SECONDS_BITS`] bits; zero for no timeout.
    seconds: Term,
    /// The condition under which the timeout is not known, because the profile's number is not a
    /// constant.
    is_unknown: Term,
}

/// A start of an entry's timer.
#[derive(Clone, Debug)]
struct TimerStart {
    /// The condition under which the timer starts.
    on: Term,
    table: TableId,
    /// The keys that identify the entry.
    keys: Vec<Term>,
    /// The position in the sequence of the packet that starts the timer.
    arrival: u32,
    /// The time at which the timer starts.
    at: Term,
    /// The entry's new timeout; `None` if the entry keeps its present timeout.
    timeout: Option<Timeout>,
}

/// The timer of an entry when a packet arrives.
struct EntryTimer {
    /// Whether the entry has a timeout.
    ends: Term,
    /// Whether the timer has run for the timeout.
    is_over: Term,
    /// Whether the packet itself has started the timer.
    is_new: Term,
    /// The seconds for which the timer has run.
    idle: Term,
    /// The timeout in seconds.
    limit: Term,
}

/// The virtual time of a sequence of packets.
pub(super) struct Clock {
    /// Whether any time passes.
    runs: bool,
    /// The seconds since the first packet.
    now: Term,
    /// The starts of timers, in the order of their execution.
    starts: Vec<TimerStart>,
    times: Times,
}

impl Clock {
    pub(super) fn new(terms: &mut Terms) -> Self {
        let now = terms.zero(CLOCK_BITS);
        Self { runs: false, now, starts: Vec::new(), times: Times::default() }
    }

    /// Returns the seconds since the first packet.
    pub(super) fn now(&self) -> Term {
        self.now
    }

    pub(super) fn into_times(self) -> Times {
        self.times
    }
}

impl Executor<'_> {
    /// Starts the clock for a sequence of packets. Time passes between them only if entries of the
    /// program expire.
    pub(super) fn start_clock(&mut self, packets: u32) {
        self.clock.runs = packets > 1 && self.program.tables.iter().any(deletes);
    }

    /// Returns whether entries that are declared in the source may expire. Such entries may be
    /// constant, so that a control plane cannot delete them.
    pub(super) fn may_lose_entries_in_source(&self) -> bool {
        self.program.tables.iter().any(|table| deletes(table) && !table.entries.is_empty())
    }

    /// Advances the time to the arrival of a packet.
    pub(super) fn pass_time(&mut self, number: u32) {
        if !self.clock.runs || number == 0 {
            return;
        }
        let gap = packet::gap(&mut self.terms, number, SECONDS_BITS);
        self.clock.times.gaps.push(gap);
        let gap = self.terms.zero_extend(gap, CLOCK_BITS);
        self.clock.now = self.terms.add(self.clock.now, gap);
    }

    /// Executes a PNA function that restarts the timer of the entry whose action is running.
    pub(super) fn call_timer(
        &mut self,
        state: &State,
        call: &Call<'_>,
        function: &ExternFunction,
    ) -> Result<(), Stop> {
        let Some(lookup) = self.timed_lookup() else { return Ok(()) };
        let on = self.terms.and(state.guard, lookup.hit);
        match function {
            ExternFunction::RestartExpireTimer => self.start_timer(&lookup, on, None),
            ExternFunction::SetEntryExpireTime => {
                let timeout = self.timeout(state, call, 0, on)?;
                self.start_timer(&lookup, on, Some(timeout));
            }
            ExternFunction::SetEntryExpireTimeIf => {
                let condition = self.input(state, call, 0)?;
                let on = self.terms.and(on, condition);
                let timeout = self.timeout(state, call, 1, on)?;
                self.start_timer(&lookup, on, Some(timeout));
            }
            ExternFunction::UpdateExpireInfo => {
                let restarts = self.input(state, call, 0)?;
                let on = self.terms.and(on, restarts);
                self.start_timer(&lookup, on, None);
                let sets = self.input(state, call, 1)?;
                let on = self.terms.and(on, sets);
                let timeout = self.timeout(state, call, 2, on)?;
                self.start_timer(&lookup, on, Some(timeout));
            }
            other => return Err(unsupported(format!("a call of `{other}`"))),
        }
        Ok(())
    }

    /// Starts the timer of an entry that a packet adds under the condition `on`. The argument at
    /// `position` names the entry's expire-time profile. An entry without a profile has no timeout.
    pub(super) fn start_timer_of_added(
        &mut self,
        state: &State,
        call: &Call<'_>,
        position: usize,
        on: Term,
    ) -> Result<(), Stop> {
        let Some(lookup) = self.timed_lookup() else { return Ok(()) };
        let timeout = match call.arguments.get(position) {
            None | Some(Argument::Absent) => Timeout {
                seconds: self.terms.zero(SECONDS_BITS),
                is_unknown: self.terms.truth(false),
            },
            Some(_) => self.timeout(state, call, position, on)?,
        };
        self.start_timer(&lookup, on, Some(timeout));
        Ok(())
    }

    /// Returns whether a table's entry with these keys has expired when a packet looks it up under
    /// the condition `on`.
    pub(super) fn expired(&mut self, on: Term, id: TableId, table: &Table, keys: &[Term]) -> Term {
        match self.timer(on, id, table, keys) {
            None => self.terms.truth(false),
            Some(timer) => {
                let conditions = [on, timer.ends];
                self.prefer_edge(&conditions, timer.is_new, timer.idle, timer.limit);
                timer.is_over
            }
        }
    }

    /// Returns whether a table's entry with these keys has expired when packets arrive that satisfy
    /// the condition `on`. In contrast to [`Self::expired`], the packets do not look it up.
    pub(super) fn is_gone(&mut self, on: Term, id: TableId, table: &Table, keys: &[Term]) -> Term {
        match self.timer(on, id, table, keys) {
            None => self.terms.truth(false),
            Some(timer) => timer.is_over,
        }
    }

    /// Returns whether entries of a table are removed between the packets of the sequence.
    pub(super) fn expires(&self, table: &Table) -> bool {
        self.clock.runs && deletes(table)
    }

    /// Returns the timer of a table's entry with these keys, which packets need that satisfy the
    /// condition `on`. Returns `None` if no time has passed since a timer started.
    fn timer(&mut self, on: Term, id: TableId, table: &Table, keys: &[Term]) -> Option<EntryTimer> {
        let no = self.terms.truth(false);
        let of_table = self.clock.starts.iter().filter(|start| start.table == id);
        let starts: Vec<TimerStart> = of_table.cloned().collect();
        // No time passes while a packet is processed.
        if starts.iter().all(|start| start.arrival == self.arrival) {
            return None;
        }
        let (mut at, mut seconds) = (self.terms.zero(CLOCK_BITS), self.terms.zero(SECONDS_BITS));
        let shared = shared_entries(table);
        // Whether the packet itself has started the timer.
        let mut is_new = no;
        for TimerStart { on: started, keys: of, arrival, at: when, timeout, .. } in starts {
            let same = self.same_keys(table, &of, keys);
            let here = self.terms.and(started, same);
            at = self.terms.if_then_else(here, when, at);
            let is_own = self.terms.truth(arrival == self.arrival);
            is_new = self.terms.if_then_else(here, is_own, is_new);
            let Some(timeout) = timeout else { continue };
            match shared {
                None => seconds = self.terms.if_then_else(here, timeout.seconds, seconds),
                Some(reason) => {
                    let reached = self.terms.and(on, started);
                    self.cut(reached, reason, None);
                }
            }
            if arrival != self.arrival {
                let reached = self.terms.all(&[on, here, timeout.is_unknown]);
                self.cut(reached, "an expire time profile that is no constant", None);
            }
        }
        let idle = self.terms.subtract(self.clock.now, at);
        let limit = self.terms.zero_extend(seconds, CLOCK_BITS);
        let none = self.terms.zero(SECONDS_BITS);
        let ends = self.terms.not_equal(seconds, none);
        let is_over = self.terms.less_or_equal(limit, idle);
        let is_over = self.terms.and(ends, is_over);
        Some(EntryTimer { ends, is_over, is_new, idle, limit })
    }

    /// Records a lookup of a packet that satisfies the condition `on`. The condition `hit` says
    /// whether it hits an entry of the control plane, if no such entry has expired.
    pub(super) fn note_idle(&mut self, on: Term, table: &Table, hit: Term) {
        if !self.clock.runs || !deletes(table) {
            return;
        }
        let start = self.terms.zero(CLOCK_BITS);
        let is_later = self.terms.not_equal(self.clock.now, start);
        let idle = self.terms.all(&[on, hit, is_later]);
        if self.terms.truth_of(idle) != Some(false) {
            self.clock.times.idle.push(idle);
        }
    }

    /// Records that a test should preferably look up an entry when its timeout ends, or one second
    /// earlier. Only packets that satisfy all conditions, and that have not started the timer
    /// themselves, are concerned.
    fn prefer_edge(&mut self, conditions: &[Term], is_new: Term, idle: Term, limit: Term) {
        let mut concerned = self.terms.all(conditions);
        let is_old = self.terms.not(is_new);
        concerned = self.terms.and(concerned, is_old);
        let second = self.terms.number(CLOCK_BITS, 1);
        let next = self.terms.add(idle, second);
        let (is_end, is_before) = (self.terms.equal(idle, limit), self.terms.equal(next, limit));
        let is_edge = self.terms.or(is_end, is_before);
        let edge = self.terms.implies(concerned, is_edge);
        self.clock.times.edges.push(edge);
    }

    /// Returns the lookup whose action is running; `None` if no time passes, or if entries of its
    /// table do not expire.
    fn timed_lookup(&self) -> Option<CurrentLookup> {
        let lookup = self.current.as_ref().filter(|_| self.clock.runs)?;
        let table = self.program.tables.get(lookup.table.index())?;
        deletes(table).then(|| lookup.clone())
    }

    /// Starts the timer of the entry that a lookup has hit.
    fn start_timer(&mut self, lookup: &CurrentLookup, on: Term, timeout: Option<Timeout>) {
        if self.terms.truth_of(on) == Some(false) {
            return;
        }
        self.clock.starts.push(TimerStart {
            on,
            table: lookup.table,
            keys: lookup.keys.clone(),
            arrival: self.arrival,
            at: self.clock.now,
            timeout,
        });
    }

    /// Returns the timeout of the profile that the argument at `position` names. An entry gets it
    /// under the condition `on`.
    fn timeout(
        &mut self,
        state: &State,
        call: &Call<'_>,
        position: usize,
        on: Term,
    ) -> Result<Timeout, Stop> {
        let profile = self.input(state, call, position)?;
        let (profiles, is_unknown) = self.profiles(profile);
        let mut seconds = self.terms.zero(SECONDS_BITS);
        for (profile, condition) in profiles {
            let set = packet::expire_time(&mut self.terms, profile, SECONDS_BITS);
            self.clock.times.profiles.insert(profile, set);
            let used = self.terms.and(on, condition);
            self.clock.times.uses.push((used, profile));
            seconds = self.terms.if_then_else(condition, set, seconds);
        }
        Ok(Timeout { seconds, is_unknown })
    }

    /// Returns the constants to which a profile's number may be equal, each with its condition.
    /// Also returns the condition under which it equals none of them.
    fn profiles(&mut self, number: Term) -> (BTreeMap<u32, Term>, Term) {
        let mut found: BTreeMap<u32, Term> = BTreeMap::new();
        let mut others = self.terms.truth(false);
        let mut open = vec![(self.terms.truth(true), number)];
        let mut choices = 0;
        while let Some((condition, number)) = open.pop() {
            if self.terms.truth_of(condition) == Some(false) {
                continue;
            }
            let constant = self.terms.constant_of(number).and_then(Bits::to_u64);
            let constant = constant.and_then(|constant| u32::try_from(constant).ok());
            match (constant, self.terms.operation(number)) {
                (Some(profile), _) => {
                    let known = found.get(&profile).copied();
                    let any = known.map_or(condition, |known| self.terms.or(known, condition));
                    found.insert(profile, any);
                }
                (None, Operation::IfThenElse { condition: by, then, otherwise })
                    if choices < MAXIMUM_CHOICES =>
                {
                    choices += 1;
                    let not = self.terms.not(by);
                    let (when, unless) =
                        (self.terms.and(condition, by), self.terms.and(condition, not));
                    open.extend([(when, then), (unless, otherwise)]);
                }
                (None, _) => others = self.terms.or(others, condition),
            }
        }
        (found, others)
    }
}

/// Returns the reason why the timers of a table's entries are not followed; `None` if each key can
/// find only one entry.
///
/// One entry may be found by several keys, which then share its timer, and a key may find another
/// entry after the first has expired.
fn shared_entries(table: &Table) -> Option<&'static str> {
    if !table.entries.is_empty() {
        Some("an entry in the source that has got a timeout")
    } else if has_exact_keys(table) {
        None
    } else {
        Some("an entry with a timeout in a table with a key that is not exact")
    }
}

/// Returns whether a switch removes entries of a table when their timeout ends.
fn deletes(table: &Table) -> bool {
    match table.idle_timeout {
        Some(IdleTimeout::AutoDelete) => true,
        Some(IdleTimeout::NotifyControl) | None => false,
    }
}
