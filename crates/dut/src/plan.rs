//! Runs a whole measurement: the tests of a plan, one after the other, in one session with the
//! switch.

use std::sync::atomic::{AtomicBool, Ordering};

use entities::schema::MatchKind;
use openflow::{DatapathId, Version};

use crate::background::Background;
use crate::entries::{EntryMaker, OwnFile};
use crate::error::DutError;
use crate::flows::OwnFlows;
use crate::session::{Channel, OpenFlowChannel, P4RuntimeChannel, Session};
use crate::target::Target;
use crate::updates::OtherTables;
use crate::watch::Watch;
use crate::{
    background, capacity, commits, counters, digests, groups, live, meters, reads, roles,
    slow_path, sustained, timeouts, updates,
};

/// The tests that a measurement consists of, and the entries that they use.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The largest number of different entries that are generated for the measured table. It does
    /// not apply to the test of effects over P4Runtime, which brings its own entries.
    pub entries: u64,
    /// The settings of the test of updates; `None` to leave it out.
    pub updates: Option<updates::Settings>,
    /// The settings of the search for the sustained rate; `None` to leave it out.
    pub sustained: Option<sustained::Settings>,
    /// The settings of the test of reads; `None` to leave it out.
    pub reads: Option<reads::Settings>,
    /// The settings of the test of a counter's age; `None` to leave it out. The test needs packets
    /// in the [`Target`] that a counter counts.
    pub counters: Option<counters::Settings>,
    /// The settings of the test of the table's capacity; `None` to leave it out.
    pub capacity: Option<capacity::Settings>,
    /// The settings of the packets that pass through the switch during the tests of updates, reads
    /// and capacity; `None` to run these tests without packets. The packets themselves are part of
    /// the [`Target`].
    pub background: Option<background::Settings>,
    /// The settings of the test of effects on packets; `None` to leave it out. The packets are part
    /// of the [`Target`].
    pub effects: Option<live::Settings>,
    /// The settings of the test of the slow path; `None` to leave it out. The packets are part of
    /// the [`Target`].
    pub slow_path: Option<slow_path::Settings>,
    /// The settings of the test of digests; `None` to leave it out. The packets are part of the
    /// [`Target`].
    pub digests: Option<digests::Settings>,
    /// The settings of the test of hand-overs between controllers; `None` to leave it out. It
    /// applies to P4Runtime switches only.
    pub roles: Option<roles::Settings>,
    /// The settings of the test of timeouts; `None` to leave it out. It applies to OpenFlow
    /// switches, and to P4Runtime tables with idle timeouts.
    pub timeouts: Option<timeouts::Settings>,
    /// The settings of the test of meters; `None` to leave it out.
    pub meters: Option<meters::Settings>,
    /// The settings of the test of groups; `None` to leave it out.
    pub groups: Option<groups::Settings>,
    /// The settings of the test that commits a pipeline; `None` to leave it out. It applies to
    /// P4Runtime switches. If the [`Target`] has packets, they are sent during the commits.
    pub commits: Option<commits::Settings>,
}

/// The protocol between this program and the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// P4Runtime.
    P4Runtime {
        /// The version of P4Runtime that the switch implements; `None` if the switch does not
        /// report it.
        version: Option<String>,
    },
    /// OpenFlow.
    OpenFlow {
        /// The version that was negotiated with the switch.
        version: Version,
        /// The datapath id of the switch.
        datapath_id: Option<DatapathId>,
        /// The manufacturer, hardware and software that the switch reports; `None` if it reports
        /// none.
        description: Option<String>,
    },
}

/// The table that was measured, and how the switch was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The protocol of the control channel.
    pub protocol: Protocol,
    /// The fully qualified name of the table.
    pub table: String,
    /// The number of entries that the table can hold, as the program declares or the switch reports
    /// it; `None` if neither does.
    pub size: Option<u64>,
    /// The key fields of the table, each with its match kind and width, such as
    /// `hdr.ipv4.dst: lpm, 32 bits`. Empty for OpenFlow flows of a user's file, which may match
    /// different fields.
    pub keys: Vec<String>,
    /// The fully qualified names of the actions that the entries use, separated by commas.
    pub action: String,
    /// Whether a modification changes an entry. It does not if the entries' action has no
    /// parameters, or if all entries of a user's file have the same action and parameters.
    pub is_modifiable: bool,
    /// The user's file that the entries come from; `None` for generated entries.
    pub own_file: Option<OwnFile>,
    /// The number of entries that the table had before the measurement.
    pub present: usize,
    /// The number of entries that the measurement was able to use.
    pub usable: usize,
}

/// The results of the tests.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The table that was measured.
    pub subject: Subject,
    /// The rates and latencies with which the switch inserts, modifies and deletes table entries.
    /// The list is empty if they were not measured.
    pub updates: Vec<updates::Measured>,
    /// The highest rate of updates that the switch sustains; `None` if it was not measured.
    pub sustained: Option<sustained::Measured>,
    /// The rate of reads; `None` if it was not measured.
    pub reads: Option<reads::Measured>,
    /// The age of a counter; `None` if it was not measured.
    pub counters: Option<counters::Measured>,
    /// The capacity of the table, and of the other tables of the plan; empty if it was not measured.
    pub capacity: Vec<capacity::Measured>,
    /// The effects of updates on packets; `None` if they were not measured.
    pub effects: Option<live::Measured>,
    /// The rates and delays of packets between the switch and its controller; `None` if they were
    /// not measured.
    pub slow_path: Option<slow_path::Measured>,
    /// The delivery of digests; `None` if it was not measured, and for OpenFlow.
    pub digests: Option<digests::Measured>,
    /// The times of hand-overs between controllers; `None` if they were not measured, and for
    /// OpenFlow.
    pub roles: Option<roles::Measured>,
    /// The accuracy of the entries' timeouts; empty if it was not measured, or the table has no
    /// timeouts.
    pub timeouts: Vec<timeouts::Timed>,
    /// The rates and bursts of meters; `None` if they were not measured.
    pub meters: Option<meters::Measured>,
    /// The distribution of flows over the members of groups; `None` if it was not measured.
    pub groups: Option<groups::Measured>,
    /// The commits of a pipeline; `None` if they were not measured.
    pub commits: Option<commits::Measured>,
    /// The number of OpenFlow errors that the switch sent too late: after the barrier reply that
    /// confirms the message which caused the error. Always 0 for P4Runtime.
    pub late_errors: u64,
    /// The reasons why tests were left out, as sentences.
    pub notes: Vec<String>,
    /// The reasons why tests failed, or why the switch could not be restored, as sentences. Empty
    /// if everything went well.
    pub failures: Vec<String>,
}

/// Runs the tests of a plan. If `stop` is set, ends soon and returns the results so far. In all
/// cases, the entries of the measurement are removed from the switch.
///
/// # Errors
/// Returns an error if no test can be run. A test that fails is reported in the outcome, and the
/// tests after it are left out.
pub fn measure(
    target: &Target,
    plan: &Plan,
    stop: &AtomicBool,
    watch: &mut dyn Watch,
) -> Result<Outcome, DutError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut session = target.open(plan.entries, stop, watch).await?;
        let mut others = |tables: Option<&OtherTables>| match tables {
            Some(tables) => updates::other_tables(&mut session, tables),
            None => Ok(Vec::new()),
        };
        let others = Others {
            updates: others(plan.updates.as_ref().map(|settings| &settings.tables))?,
            capacity: others(plan.capacity.as_ref().map(|settings| &settings.tables))?,
        };
        let mut outcome = Outcome {
            subject: subject(&mut session),
            updates: Vec::new(),
            sustained: None,
            reads: None,
            counters: None,
            capacity: Vec::new(),
            effects: None,
            slow_path: None,
            digests: None,
            roles: None,
            timeouts: Vec::new(),
            meters: None,
            groups: None,
            commits: None,
            late_errors: 0,
            notes: Vec::new(),
            failures: Vec::new(),
        };
        let course = Course { target, plan, others, stop };
        if let Err(error) = course.tests(&mut session, watch, &mut outcome).await {
            outcome.failures.push(error.to_string());
        }
        let restored = session.restore().await;
        outcome.failures.extend(session.differences().iter().map(|one| {
            format!(
                "table {} has another number of entries than before ({:+})",
                one.table, one.more
            )
        }));
        match restored {
            Ok(0) => {}
            Ok(more @ 1..) => outcome
                .failures
                .push(format!("the table has {more} entries more than before the measurement")),
            Ok(fewer) => outcome.failures.push(format!(
                "the table has {} entries fewer than before the measurement",
                -fewer
            )),
            Err(error) => outcome.failures.push(format!(
                "the entries of the measurement may still be in the switch: {error}"
            )),
        }
        if let Channel::OpenFlow(channel) = session.channel() {
            outcome.late_errors = channel.late_errors();
        }
        Ok(outcome)
    })
}

/// The makers of entries for the other tables that the tests of updates and of capacity measure.
struct Others {
    updates: Vec<EntryMaker>,
    capacity: Vec<EntryMaker>,
}

/// A measurement in progress.
struct Course<'a> {
    target: &'a Target,
    plan: &'a Plan,
    others: Others,
    stop: &'a AtomicBool,
}

impl Course<'_> {
    async fn tests(
        &self,
        session: &mut Session,
        watch: &mut dyn Watch,
        outcome: &mut Outcome,
    ) -> Result<(), DutError> {
        let (plan, stop) = (self.plan, self.stop);
        let is_stopped = || stop.load(Ordering::Relaxed);
        if let Some(settings) = &plan.updates {
            let mut step = |done, of| watch.step("updates", done, of);
            let mut packets = self.background(session, &mut outcome.notes).await?;
            let own = packets.as_mut();
            let found =
                updates::measure(session, settings, &self.others.updates, own, stop, &mut step)
                    .await;
            outcome.updates = closed(packets, session, found).await?;
        }
        if let (Some(settings), false) = (&plan.sustained, is_stopped()) {
            let mut step = |done, of| watch.step("sustained rate", done, of);
            outcome.sustained = Some(sustained::measure(session, settings, stop, &mut step).await?);
        }
        if let (Some(settings), false) = (&plan.reads, is_stopped()) {
            let mut step = |done, of| watch.step("reads", done, of);
            let mut packets = self.background(session, &mut outcome.notes).await?;
            let own = packets.as_mut();
            let found = reads::measure(session, settings, own, stop, &mut step).await;
            outcome.reads = Some(closed(packets, session, found).await?);
        }
        if let (Some(settings), false) = (&plan.counters, is_stopped()) {
            outcome.counters = self.counters(session, settings, watch).await?;
            if let (None, Target::P4Runtime { traffic: Some(traffic), .. }, false) =
                (&outcome.counters, self.target, is_stopped())
            {
                outcome.notes.push(format!(
                    "counter: Table {} has no direct counter of packets, so the age of a counter was not measured.",
                    traffic.table
                ));
            }
        }
        if let (Some(settings), false) = (&plan.capacity, is_stopped()) {
            let mut step = |done, of| watch.step("capacity", done, of);
            let mut packets = self.background(session, &mut outcome.notes).await?;
            let own = packets.as_mut();
            let found = capacity::measure(session, settings, own, stop, &mut step).await;
            outcome.capacity.push(closed(packets, session, found).await?);
            self.other_capacities(session, settings, watch, &mut outcome.capacity).await?;
        }
        if let (Some(settings), false) = (&plan.effects, is_stopped()) {
            let (mut atomicities, mut unimplemented) = (Vec::new(), Vec::new());
            for atomicity in &settings.atomicities {
                match session.refusal_of(*atomicity).await? {
                    None => atomicities.push(*atomicity),
                    Some(refusal) => unimplemented.push((*atomicity, refusal)),
                }
            }
            let mut step = |done, of| watch.step("effects", done, of);
            let changes = live::Changes { settings, atomicities, stop, progress: &mut step };
            let found = self.effects(session, changes).await?;
            outcome.effects = found.map(|found| live::Measured { unimplemented, ..found });
        }
        if let (Some(settings), false) = (&plan.slow_path, is_stopped()) {
            let mut step = |done, of| watch.step("slow path", done, of);
            let rounds = slow_path::Rounds { settings, stop, progress: &mut step };
            outcome.slow_path = self.slow_path(session, rounds).await?;
        }
        if let (Some(settings), Target::P4Runtime { digests: Some(traffic), .. }, false) =
            (&plan.digests, self.target, is_stopped())
            && let Channel::P4Runtime(channel) = session.channel()
        {
            let mut step = |done, of| watch.step("digests", done, of);
            let rounds = digests::Rounds { settings, stop, progress: &mut step };
            outcome.digests = Some(digests::over_p4runtime(channel, traffic, rounds).await?);
        }
        if let (Some(settings), Target::P4Runtime { device, .. }, false) =
            (&plan.roles, self.target, is_stopped())
        {
            let numbers = session.lend(3);
            if numbers.len() < 3 {
                return Err(session.too_few("roles", 3));
            }
            if let Channel::P4Runtime(channel) = session.channel() {
                let mut step = |done, of| watch.step("roles", done, of);
                let found = roles::measure(channel, device, &numbers, settings, stop, &mut step);
                outcome.roles = Some(found.await?);
            }
        }
        if let (Some(settings), false) = (&plan.timeouts, is_stopped()) {
            let of_each = match session.channel() {
                Channel::P4Runtime(_) => timeouts::OF_P4RUNTIME.len(),
                Channel::OpenFlow(_) => 1,
            };
            let numbers = session.lend(settings.entries * of_each);
            let mut step = |done, of| watch.step("timeouts", done, of);
            outcome.timeouts = match session.channel() {
                Channel::P4Runtime(channel) => {
                    let found = timeouts::over_p4runtime(
                        channel,
                        &numbers,
                        settings.grace,
                        stop,
                        &mut step,
                    )
                    .await?;
                    if found.is_none() {
                        outcome.notes.push(format!(
                            "timeouts: Table {} has no idle timeouts, so they were not measured.",
                            channel.maker().table().name
                        ));
                    }
                    found.unwrap_or_default()
                }
                Channel::OpenFlow(channel) => {
                    timeouts::over_openflow(channel, &numbers, settings.grace, stop, &mut step)?
                }
            };
        }
        if let (Some(settings), false) = (&plan.meters, is_stopped()) {
            outcome.meters = self.meters(session, settings, watch).await?;
        }
        if let (Some(settings), false) = (&plan.groups, is_stopped()) {
            outcome.groups = self.groups(session, settings).await?;
            watch.step("groups", 1, 1);
        }
        if let (Some(settings), Target::P4Runtime { traffic, .. }, false) =
            (&plan.commits, self.target, is_stopped())
        {
            // Entries of this measurement would be deleted, and counted as those of others.
            session.empty().await?;
            if let Channel::P4Runtime(channel) = session.channel() {
                let mut step = |done, of| watch.step("pipeline", done, of);
                let (client, traffic) = (channel.client.clone(), traffic.as_deref());
                let found = commits::measure(&client, settings, traffic, stop, &mut step);
                outcome.commits = Some(found.await?);
            }
        }
        Ok(())
    }

    /// Measures the capacity of the other tables, one after the other, and then returns to the
    /// session's first table.
    async fn other_capacities(
        &self,
        session: &mut Session,
        settings: &capacity::Settings,
        watch: &mut dyn Watch,
        found: &mut Vec<capacity::Measured>,
    ) -> Result<(), DutError> {
        let settings = settings.of_other_table();
        let mut first = None;
        for maker in &self.others.capacity {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let before = session.turn_to(maker.clone()).await?;
            first.get_or_insert(before);
            let mut step = |done, of| watch.step("capacity", done, of);
            found.push(capacity::measure(session, &settings, None, self.stop, &mut step).await?);
        }
        if let Some(first) = first {
            session.turn_to(first).await?;
        }
        Ok(())
    }

    /// Inserts the entries of the background packets for a test. If the switch refuses them,
    /// returns `None` and adds a note, so that the test runs without packets.
    async fn background(
        &self,
        session: &mut Session,
        notes: &mut Vec<String>,
    ) -> Result<Option<Background>, DutError> {
        let Some(settings) = self.plan.background else { return Ok(None) };
        let why = match Background::open(session, self.target, settings, self.stop).await {
            Ok(Some(opened)) => return Ok(Some(opened)),
            Ok(None) => "no packet of the program shows an entry".to_owned(),
            Err(
                error @ (DutError::NoRules
                | DutError::OtherProgram
                | DutError::NotShown { .. }
                | DutError::Request { .. }),
            ) => error.to_string(),
            Err(error) => return Err(error),
        };
        let note = format!(
            "packets: Updates, reads and capacity were measured without packets through the switch: {why}."
        );
        if !notes.contains(&note) {
            notes.push(note);
        }
        Ok(None)
    }

    async fn counters(
        &self,
        session: &mut Session,
        settings: &counters::Settings,
        watch: &mut dyn Watch,
    ) -> Result<Option<counters::Measured>, DutError> {
        let stop = self.stop;
        let mut step = |done, of| watch.step("counter", done, of);
        let numbers = session.numbers().to_vec();
        let wanted = counters::Wanted { settings, stop, progress: &mut step };
        let found = match (session.channel(), self.target) {
            (Channel::P4Runtime(channel), Target::P4Runtime { traffic: Some(traffic), .. }) => {
                counters::over_p4runtime(&channel.client, traffic, wanted).await?
            }
            (Channel::OpenFlow(channel), Target::OpenFlow { ports: Some(ports), .. }) => {
                Some(counters::over_openflow(channel, ports, &numbers, wanted).await?)
            }
            (Channel::P4Runtime(_) | Channel::OpenFlow(_), _) => None,
        };
        Ok(found.filter(|found| is_final(found, stop)))
    }

    async fn meters(
        &self,
        session: &mut Session,
        settings: &meters::Settings,
        watch: &mut dyn Watch,
    ) -> Result<Option<meters::Measured>, DutError> {
        let stop = self.stop;
        let mut step = |done, of| watch.step("meters", done, of);
        Ok(match (session.channel(), &settings.traffic, self.target) {
            (Channel::P4Runtime(channel), Some(Ok(traffic)), _) => {
                let client = &channel.client;
                Some(meters::over_p4runtime(client, traffic, settings, stop, &mut step).await?)
            }
            (Channel::P4Runtime(_), Some(Err(reason)), _) => {
                Some(meters::Measured { reasons: vec![reason.clone()], ..Default::default() })
            }
            (Channel::OpenFlow(channel), _, Target::OpenFlow { ports: Some(ports), .. }) => {
                let offering = meters::Offering { wires: &ports.wires, settings };
                Some(meters::over_openflow(channel, &offering, stop, &mut step).await?)
            }
            (Channel::P4Runtime(_) | Channel::OpenFlow(_), _, _) => None,
        })
    }

    async fn groups(
        &self,
        session: &mut Session,
        settings: &groups::Settings,
    ) -> Result<Option<groups::Measured>, DutError> {
        let stop = self.stop;
        Ok(match (session.channel(), &settings.traffic, self.target) {
            (Channel::P4Runtime(channel), Some(Ok(traffic)), _) => {
                Some(groups::over_p4runtime(&channel.client, traffic, settings, stop).await?)
            }
            (Channel::P4Runtime(_), Some(Err(reason)), _) => {
                Some(groups::Measured { reasons: vec![reason.clone()], ..Default::default() })
            }
            (Channel::OpenFlow(channel), _, Target::OpenFlow { ports: Some(ports), .. }) => {
                let offering = groups::Offering { wires: &ports.wires, settings };
                Some(groups::over_openflow(channel, &offering, stop).await?)
            }
            (Channel::P4Runtime(_) | Channel::OpenFlow(_), _, _) => None,
        })
    }

    async fn effects(
        &self,
        session: &mut Session,
        changes: live::Changes<'_>,
    ) -> Result<Option<live::Measured>, DutError> {
        let numbers = session.numbers().to_vec();
        Ok(match (session.channel(), self.target) {
            (Channel::P4Runtime(channel), Target::P4Runtime { traffic: Some(traffic), .. }) => {
                Some(live::over_p4runtime(&channel.client, traffic, changes).await?)
            }
            (Channel::OpenFlow(channel), Target::OpenFlow { ports: Some(ports), .. }) => {
                Some(live::over_openflow(channel, ports, &numbers, changes).await?)
            }
            (Channel::P4Runtime(_) | Channel::OpenFlow(_), _) => None,
        })
    }

    async fn slow_path(
        &self,
        session: &mut Session,
        rounds: slow_path::Rounds<'_>,
    ) -> Result<Option<slow_path::Measured>, DutError> {
        Ok(match self.target {
            Target::P4Runtime { slow_path: Some(traffic), .. } => match session.channel() {
                Channel::P4Runtime(channel) => {
                    Some(slow_path::over_p4runtime(channel, traffic, rounds).await?)
                }
                Channel::OpenFlow(_) => None,
            },
            Target::OpenFlow { ports: Some(ports), .. } => {
                // If the test fails, the session deletes the flow entry of a reaction.
                let numbers = session.lend(rounds.settings.flows());
                match session.channel() {
                    Channel::OpenFlow(channel) => {
                        Some(slow_path::over_openflow(channel, ports, &numbers, rounds).await?)
                    }
                    Channel::P4Runtime(_) => None,
                }
            }
            Target::P4Runtime { slow_path: None, .. } | Target::OpenFlow { ports: None, .. } => {
                None
            }
        })
    }
}

/// Returns whether the counter had enough time to count all packets. If the test was stopped early,
/// packets that are not counted are not a fault of the switch.
fn is_final(found: &counters::Measured, stop: &AtomicBool) -> bool {
    found.has_settled() || !stop.load(Ordering::Relaxed)
}

/// Deletes the entries of the background packets after a test, and returns the test's result.
async fn closed<T>(
    packets: Option<Background>,
    session: &mut Session,
    found: Result<T, DutError>,
) -> Result<T, DutError> {
    let closed = match packets {
        Some(packets) => packets.close(session).await,
        None => Ok(()),
    };
    let found = found?;
    closed?;
    Ok(found)
}

fn subject(session: &mut Session) -> Subject {
    let (present, usable, size) = (session.present(), session.numbers().len(), session.size());
    let found = match session.channel() {
        Channel::P4Runtime(channel) => of_p4runtime(channel),
        Channel::OpenFlow(channel) => of_openflow(channel),
    };
    Subject { present, usable, size, ..found }
}

fn of_p4runtime(channel: &P4RuntimeChannel) -> Subject {
    let (maker, table) = (channel.maker(), channel.maker().table());
    let keys = table.match_fields.iter().map(|field| {
        let width = field.value.bits().map_or("text".to_owned(), |bits| format!("{bits} bits"));
        format!("{}: {}, {width}", field.name, kind_name(&field.kind))
    });
    Subject {
        protocol: Protocol::P4Runtime { version: channel.version().map(str::to_owned) },
        table: table.name.clone(),
        size: None,
        keys: keys.collect(),
        action: maker.action_names(channel.makers().schema()),
        is_modifiable: maker.is_modifiable(),
        own_file: maker.own_file(),
        present: 0,
        usable: 0,
    }
}

fn of_openflow(channel: &OpenFlowChannel) -> Subject {
    let maker = channel.maker();
    let own = maker.own();
    Subject {
        protocol: Protocol::OpenFlow {
            version: channel.version(),
            datapath_id: channel.datapath_id(),
            description: channel.description().map(str::to_owned),
        },
        table: channel.table().to_string(),
        size: None,
        keys: match own {
            Some(_) => Vec::new(),
            None => channel.matching().fields().iter().map(|field| (*field).to_owned()).collect(),
        },
        action: if own.is_some() { String::new() } else { "output".to_owned() },
        is_modifiable: own.is_none_or(OwnFlows::is_modifiable),
        own_file: channel.own_file(),
        present: 0,
        usable: 0,
    }
}

/// Returns the name of a match kind in the P4 language.
fn kind_name(kind: &MatchKind) -> &str {
    match kind {
        MatchKind::Exact => "exact",
        MatchKind::Lpm => "lpm",
        MatchKind::Ternary => "ternary",
        MatchKind::Range => "range",
        MatchKind::Optional => "optional",
        MatchKind::Other(name) => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_a_stopped_test_did_not_wait_for_are_not_held_against_a_counter() {
        let of = |counted| counters::Measured { arrived: 5, counted, ..Default::default() };
        let [goes_on, stopped] = [false, true].map(AtomicBool::new);
        assert!(is_final(&of(4), &goes_on) && is_final(&of(5), &stopped));
        assert!(!is_final(&of(4), &stopped));
    }
}
