//! Coordinates a trial that several processes run together, by messages between them.
//!
//! Each process is a *rank*, as in MPI, and emulates a part of the switches. The rank with the
//! number 0 is called the first, and coordinates the others. Each rank leads its own switches
//! through the phases of the trial. At the end of some phases, it waits until the first rank
//! reports that all ranks have reached this point. A rank that sends nothing for longer than its
//! phase takes counts as lost, so that every wait ends.
//!
//! A *note* is a message from an engine thread that runs one switch to the thread that runs another
//! switch. Ranks other than the first send notes for switches of other ranks to the first rank,
//! which forwards them.

mod clocks;
mod conclusion;
mod lost;

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use ranks::{ClockOffset, Group, Rank, Received};
use serde::{Deserialize, Serialize};

use super::TrialSetting;
use super::assemble::UsageSeries;
use super::evidence::Seen;
use crate::engine::control::Clock;
use crate::engine::mailbox::{Mailbox, Note, Slot};
use crate::engine::{Portion, ThreadOutcome, TrialPlan};
use crate::outcome::{Completion, RankOutcome};

/// The time by which a phase may exceed its planned duration before a rank that sends nothing
/// counts as lost.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);
/// The time for which the first rank waits for the records of the other ranks after an interrupt,
/// if the link does not report lost ranks. It is short, because mpirun interrupts all ranks when
/// one has died, and kills them a second later.
const IN_HASTE: Duration = Duration::from_millis(600);
/// The interval at which a rank that waits for a message forwards the notes of its own engine
/// threads.
const LOOK: Duration = Duration::from_millis(5);

/// A message between the ranks, the processes of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum RankMessage {
    /// Reports that the sender is ready, with the address of its switches.
    Here(IpAddr),
    /// Requests that the receiver run a trial. Only the first rank sends this.
    Trial(TrialSetting),
    /// Reports that no further trial follows. Only the first rank sends this.
    End,
    /// Requests a reading of the receiver's clock. Only the first rank sends this.
    Clock,
    /// The answer to [`RankMessage::Clock`]: a reading of the sender's clock, in nanoseconds.
    Shows(u64),
    /// Reports that the comparison of clocks is complete. Only the first rank sends this.
    Compared,
    /// Reports to the first rank that the sender has reached the end of a phase, or why it will not
    /// reach it.
    Reached(Phase, Result<(), Completion>),
    /// Reports that all ranks have reached the end of a phase. Only the first rank sends this.
    Proceed(Phase),
    /// The time at which traffic begins, on the receiver's clock. Only the first rank sends this.
    Begin(u64),
    /// Reports that the trial is cancelled, with the reason. Only the first rank sends this.
    Cancel(String),
    /// A message from an engine thread of the sender to the thread that runs a switch of another
    /// rank.
    Note(Note),
    /// The sender's measurements of a trial, which it sends to the first rank.
    Measured(Box<RankRecord>),
    /// Reports to the first rank that the sender could not set up the trial, with the reason.
    Failed(String),
}

/// A phase of a trial at whose end all ranks wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Phase {
    Connect,
    Settle,
    Drain,
}

/// The measurements of a trial that a rank sends to the first rank.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RankRecord {
    pub(super) threads: Vec<ThreadOutcome>,
    pub(super) usage: UsageSeries,
    pub(super) seen: Vec<Seen>,
    pub(super) ready_after: Option<f64>,
    pub(super) ready_at_end: u32,
    pub(super) notes: Vec<String>,
    /// A description of the controller's process, if it runs on the same host as this rank.
    pub(super) process: Option<String>,
    pub(super) outcome: RankOutcome,
}

/// The part of this process in a trial that several processes (ranks) run together.
#[derive(Debug)]
pub(super) struct Together<'a> {
    group: &'a mut Group,
    clock: Clock,
    /// The mailbox for messages from this rank's engine threads to switches of other ranks.
    outbound: Mailbox,
    /// The sending ends of the mailboxes of this rank's engine threads, indexed by thread.
    inbound: Vec<Slot>,
    /// The offset of each other rank's clock from the clock of this one, as estimated before
    /// traffic (`before`) and after it (`after`). Only the first rank has these estimates.
    before: BTreeMap<Rank, ClockOffset>,
    after: BTreeMap<Rank, ClockOffset>,
    words: VecDeque<(Rank, RankMessage)>,
    /// The measurements that other ranks have sent to the first one.
    records: BTreeMap<Rank, RankRecord>,
    /// Whether the first rank has ended the run.
    is_over: bool,
    cancelled: Option<String>,
}

impl<'a> Together<'a> {
    pub(super) fn new(
        group: &'a mut Group,
        clock: Clock,
        outbound: Mailbox,
        inbound: Vec<Slot>,
    ) -> Self {
        Self {
            group,
            clock,
            outbound,
            inbound,
            before: BTreeMap::new(),
            after: BTreeMap::new(),
            words: VecDeque::new(),
            records: BTreeMap::new(),
            is_over: false,
            cancelled: None,
        }
    }

    pub(super) fn rank(&self) -> Rank {
        self.group.rank()
    }

    pub(super) fn is_first(&self) -> bool {
        self.group.is_first()
    }

    /// Returns the reason why the trial was cancelled, or `None` if it was not.
    pub(super) fn cancelled(&self) -> Option<&str> {
        self.cancelled.as_deref()
    }

    /// Forwards the notes of this rank's engine threads, which are messages for switches of other
    /// ranks. Then waits for at most `patience` for messages of other ranks. Notes among these
    /// messages are passed on to the thread or the rank that runs their switch. All other messages
    /// are stored.
    pub(super) fn look(&mut self, plan: &TrialPlan, patience: Duration) {
        self.outbound.clear();
        while let Some(note) = self.outbound.take() {
            match self.is_first() {
                true => self.carry(plan, note),
                false => self.group.send(Rank::FIRST, &RankMessage::Note(note)),
            }
        }
        let mut patience = patience;
        loop {
            match self.group.receive(patience) {
                Received::Message(from, RankMessage::Note(note)) => {
                    let note = self.as_of(from, note);
                    self.carry(plan, note);
                }
                Received::Message(Rank::FIRST, RankMessage::Cancel(reason)) => {
                    self.cancelled.get_or_insert(reason);
                }
                Received::Message(Rank::FIRST, RankMessage::End) => {
                    self.is_over = true;
                    self.cancelled.get_or_insert("the run is over".to_owned());
                }
                Received::Message(from, RankMessage::Measured(record)) => {
                    self.records.insert(from, *record);
                }
                Received::Message(from, word) => self.words.push_back((from, word)),
                Received::Lost(Rank::FIRST) => {
                    self.cancelled.get_or_insert("rank 0 was lost".to_owned());
                }
                Received::Lost(_) => {}
                Received::Nothing => return,
            }
            patience = Duration::ZERO;
        }
    }

    /// Converts the time in a note that comes from the rank `from` to the clock of the first rank.
    fn as_of(&self, from: Rank, mut note: Note) -> Note {
        if let (Note::Answered { at, .. }, Some(offset)) = (&mut note, self.before.get(&from)) {
            *at = offset.here(*at);
        }
        note
    }

    fn carry(&mut self, plan: &TrialPlan, mut note: Note) {
        let (thread, _) = plan.place(note.switch());
        if let Some(slot) = self.inbound.get(thread) {
            slot.send(note);
        } else if self.is_first()
            && let Some(rank) = owner(plan, note.switch(), self.group.size())
        {
            if let (Note::Answered { at, .. }, Some(offset)) = (&mut note, self.before.get(&rank)) {
                *at = offset.there(*at);
            }
            self.group.send(rank, &RankMessage::Note(note));
        }
    }

    /// Returns the next message of the first rank, and waits for it at most for `patience`. Notes
    /// are not returned but passed on. Returns an error with the reason if the trial is cancelled.
    fn of_first(&mut self, plan: &TrialPlan, patience: Duration) -> Result<RankMessage, String> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some((_, word)) = self.words.pop_front() {
                return Ok(word);
            }
            if let Some(reason) = &self.cancelled {
                return Err(reason.clone());
            }
            if Instant::now() >= deadline {
                let seconds = patience.as_secs_f64();
                self.group.give_up(Rank::FIRST, format!("it sent nothing for {seconds} s"));
                let reason = "rank 0 was lost".to_owned();
                return Err(self.cancelled.get_or_insert(reason).clone());
            }
            self.look(plan, LOOK);
        }
    }

    /// Waits until all ranks have reached the end of a phase. `mine` says whether this rank has
    /// reached it, and `patience` is the time that the others may still need.
    ///
    /// # Errors
    ///
    /// Returns the reason if the trial cannot continue.
    pub(super) fn meet(
        &mut self,
        plan: &TrialPlan,
        phase: Phase,
        mine: Result<(), Completion>,
        patience: Duration,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), Completion> {
        if !self.is_first() {
            self.group.send(Rank::FIRST, &RankMessage::Reached(phase, mine.clone()));
            mine?;
            // The first rank waits for the others in turn, so its message may come late.
            return match self.of_first(plan, patience + 2 * TIMEOUT) {
                Ok(RankMessage::Proceed(reached)) if reached == phase => Ok(()),
                Ok(_) => Err(failed("rank 0 went on without this one".to_owned())),
                Err(reason) => Err(failed(reason)),
            };
        }
        let deadline = Instant::now() + patience + TIMEOUT;
        let mut awaited: Vec<Rank> = self.group.others().collect();
        let mut trouble = mine.err();
        loop {
            while let Some((from, word)) = self.words.pop_front() {
                match word {
                    RankMessage::Reached(reached, outcome) if reached == phase => {
                        awaited.retain(|rank| *rank != from);
                        let Err(completion) = outcome else { continue };
                        trouble.get_or_insert_with(|| of_rank(from, completion));
                    }
                    RankMessage::Failed(reason) => {
                        awaited.retain(|rank| *rank != from);
                        trouble.get_or_insert_with(|| failed(format!("{from}: {reason}")));
                        self.group.give_up(from, reason);
                    }
                    // All other messages belong to a phase that is over.
                    _ => {}
                }
            }
            awaited.retain(|rank| {
                !self.group.lost().contains_key(rank) && !self.records.contains_key(rank)
            });
            if awaited.is_empty() || interrupted() {
                break;
            }
            if Instant::now() >= deadline {
                for rank in awaited.drain(..) {
                    self.group.give_up(rank, silent(patience + TIMEOUT));
                }
                break;
            }
            self.look(plan, LOOK);
        }
        if phase != Phase::Drain
            && let Some(lost) = self.lost(plan)
        {
            trouble.get_or_insert(failed(lost));
        }
        match trouble {
            None => {
                self.group.send_all(&RankMessage::Proceed(phase));
                Ok(())
            }
            Some(completion) => {
                let (Completion::Failed { reason } | Completion::Partial { reason }) = &completion
                else {
                    return Ok(());
                };
                self.cancel(reason);
                Err(completion)
            }
        }
    }

    /// Tells all other ranks that the trial is cancelled. Does nothing unless this is the first
    /// rank.
    pub(super) fn cancel(&mut self, reason: &str) {
        if self.is_first() {
            self.group.send_all(&RankMessage::Cancel(reason.to_owned()));
        }
    }

    /// Returns the time at which traffic begins, on this rank's clock. The first rank proposes `at`
    /// and sends it to the other ranks, converted to their clocks. The other ranks ignore their own
    /// `at`.
    pub(super) fn begin(&mut self, plan: &TrialPlan, at: u64) -> Result<u64, Completion> {
        if !self.is_first() {
            return match self.of_first(plan, 2 * TIMEOUT) {
                Ok(RankMessage::Begin(at)) => Ok(at),
                Ok(_) => Err(failed("rank 0 did not say when traffic begins".to_owned())),
                Err(reason) => Err(failed(reason)),
            };
        }
        for (rank, offset) in &self.before {
            self.group.send(*rank, &RankMessage::Begin(offset.there(at)));
        }
        Ok(at)
    }

    /// Describes which ranks were lost, each with its switches and the cause. Returns `None` if no
    /// rank was lost.
    pub(super) fn lost(&self, plan: &TrialPlan) -> Option<String> {
        let each: Vec<String> = self
            .group
            .lost()
            .iter()
            .map(|(rank, cause)| {
                let own = portion(plan, *rank, self.group.size());
                format!(
                    "{rank}, with {} switches from number {}, was lost: {cause}",
                    own.len(),
                    own.switches.start
                )
            })
            .collect();
        (!each.is_empty()).then(|| each.join("; "))
    }

    /// Sends the measurements of this rank to the first rank.
    pub(super) fn hand_over(&mut self, record: RankRecord) {
        self.group.send(Rank::FIRST, &RankMessage::Measured(Box::new(record)));
    }

    /// Waits for the measurements of the other ranks. Returns those that arrived, and an outcome
    /// for every other rank. The outcome of a lost rank is marked as failed.
    pub(super) fn collect(
        &mut self,
        plan: &TrialPlan,
        interrupted: bool,
    ) -> (Vec<RankRecord>, Vec<RankOutcome>) {
        let hurries = interrupted && !self.group.notices_loss();
        let patience = if hurries { IN_HASTE } else { TIMEOUT };
        let deadline = Instant::now() + patience;
        loop {
            let awaited: Vec<Rank> = self
                .group
                .others()
                .filter(|rank| {
                    !self.records.contains_key(rank) && !self.group.lost().contains_key(rank)
                })
                .collect();
            if awaited.is_empty() {
                break;
            }
            if Instant::now() >= deadline {
                for rank in awaited {
                    self.group.give_up(rank, silent(patience));
                }
                break;
            }
            self.look(plan, LOOK);
        }
        let records = std::mem::take(&mut self.records);
        let outcomes = self.group.others().map(|rank| match records.get(&rank) {
            Some(own) => RankOutcome {
                clock_before: self.before.get(&rank).copied(),
                clock_after: self.after.get(&rank).copied(),
                ..own.outcome.clone()
            },
            None => self.outcome_of_lost(plan, rank),
        });
        let outcomes = outcomes.collect();
        (records.into_values().collect(), outcomes)
    }

    fn outcome_of_lost(&self, plan: &TrialPlan, rank: Rank) -> RankOutcome {
        let own = portion(plan, rank, self.group.size());
        let cause = self.group.lost().get(&rank).cloned().unwrap_or_default();
        RankOutcome {
            rank: rank.0,
            hostname: String::new(),
            first_switch: own.switches.start,
            switches: own.len(),
            completion: Completion::Failed { reason: format!("it was lost: {cause}") },
            counts: Default::default(),
            rates: Default::default(),
            probe_usage: Default::default(),
            verdict: None,
            clock_before: self.before.get(&rank).copied(),
            clock_after: self.after.get(&rank).copied(),
        }
    }
}

/// Returns the switches that rank `rank` runs if there are `of` ranks.
fn portion(plan: &TrialPlan, rank: Rank, of: u32) -> Portion {
    Portion::new(plan.config.switches.count, plan.group, rank, of)
}

/// Returns the rank that runs a switch if there are `of` ranks, or `None` if there is no such
/// switch.
fn owner(plan: &TrialPlan, switch: u32, of: u32) -> Option<Rank> {
    (0..of).map(Rank).find(|rank| portion(plan, *rank, of).switches.contains(&switch))
}

fn silent(patience: Duration) -> String {
    let seconds = patience.as_secs_f64();
    format!("it sent nothing for {seconds} s: its process is stopped, or its host hangs")
}

fn failed(reason: String) -> Completion {
    Completion::Failed { reason }
}

fn of_rank(rank: Rank, completion: Completion) -> Completion {
    match completion {
        Completion::Failed { reason } => failed(format!("{rank}: {reason}")),
        Completion::Partial { reason } => {
            Completion::Partial { reason: format!("{rank}: {reason}") }
        }
        Completion::Complete => Completion::Complete,
    }
}

#[cfg(test)]
mod tests {
    use ranks::{MemoryLink, in_memory};

    use super::*;
    use crate::config::{Origin, Settings};
    use crate::engine::mailbox::mailbox;

    fn plan_of(rank: Rank, of: u32) -> TrialPlan {
        let mut settings = Settings::new();
        for (key, value) in [("switches.count", "6"), ("threads", "1")] {
            settings.set(key, value, Origin::Flag);
        }
        let config = settings.resolve().expect("settings").config;
        let setting = TrialSetting { switches: 6, rate: 1.0, repetition: 1, seed: 1 };
        crate::trial::plan(config, setting, Some((rank, of))).expect("a plan")
    }

    /// Runs one rank of a trial. It sends the message `send`, if there is one, to the switch for
    /// which it is meant. It then forwards messages between engine threads until a message arrives
    /// for one of its own threads. Returns that message, or `None` after 20 s. If `expect` is
    /// false, the rank also stops, without a message, when another rank is lost.
    fn relay(link: MemoryLink, mut send: Option<Note>, expect: bool) -> Option<Note> {
        let mut group = Group::from(link);
        let plan = plan_of(group.rank(), group.size());
        let ((out, outbound), (own, thread)) =
            (mailbox().expect("a mailbox"), mailbox().expect("a mailbox"));
        let mut together = Together::new(&mut group, Clock::start(), outbound, vec![own]);
        together.compare_clocks(&plan, true);
        if let Some(note) = send.take() {
            out.send(note);
        }
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(20) {
            together.look(&plan, LOOK);
            let found = thread.take();
            if found.is_some() || !expect && !together.group.lost().is_empty() {
                return found;
            }
        }
        None
    }

    #[test]
    fn a_note_goes_by_the_first_rank_to_the_switch_that_it_is_for() {
        let frame = Note::Arrived { switch: 5, port: 2, frame: vec![1, 2, 3] };
        let got = std::thread::scope(|scope| {
            let send = [None, Some(frame.clone()), None];
            let threads: Vec<_> = in_memory(3)
                .into_iter()
                .zip(send)
                .enumerate()
                .map(|(rank, (link, send))| scope.spawn(move || relay(link, send, rank == 2)))
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
        });
        assert_eq!(got, [None, None, Some(frame)]);
    }

    #[test]
    fn the_time_of_an_answer_is_converted_to_the_clock_of_its_reader() {
        let mut group = Group::from(in_memory(2).remove(0));
        let plan = plan_of(Rank::FIRST, 2);
        let (_, outbound) = mailbox().expect("a mailbox");
        let (own, thread) = mailbox().expect("a mailbox");
        let mut together = Together::new(&mut group, Clock::start(), outbound, vec![own]);
        together.before.insert(Rank(1), ClockOffset { offset_ns: 1_000, bound_ns: 5 });
        let note = Note::Answered { switch: 0, sequence: 3, at: 4_500 };
        let note = together.as_of(Rank(1), note);
        together.carry(&plan, note);
        assert_eq!(thread.take(), Some(Note::Answered { switch: 0, sequence: 3, at: 3_500 }));
        assert_eq!(together.begin(&plan, 77), Ok(77));
    }
}
