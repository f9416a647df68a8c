//! A measurement as a whole: the tests of a plan, one after the other, on one session.

use std::sync::atomic::{AtomicBool, Ordering};

use entities::schema::MatchKind;

use crate::error::DutError;
use crate::session::{Device, Session};
use crate::{capacity, live, reads, updates};

/// The tests that are made, and the entries that they use.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The table that is measured, by its name or alias; `None` for the largest suitable one.
    pub table: Option<String>,
    /// The largest number of different entries that the tests of updates, reads and capacity
    /// insert.
    pub entries: u64,
    /// The settings of the test of updates; `None` to leave it out.
    pub updates: Option<updates::Settings>,
    /// The settings of the test of reads; `None` to leave it out.
    pub reads: Option<reads::Settings>,
    /// The settings of the test of the table's capacity; `None` to leave it out.
    pub capacity: Option<capacity::Settings>,
    /// The packets and settings of the test of effects on packets; `None` to leave it out.
    pub effects: Option<(live::Traffic, live::Settings)>,
}

/// The table that was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The version of P4Runtime that the switch implements; `None` if it does not say so.
    pub version: Option<String>,
    /// The fully qualified name of the table.
    pub table: String,
    /// The number of entries that the program declares for the table; `None` for no limit.
    pub size: Option<u64>,
    /// The key fields of the table, each with its match kind and width, such as
    /// `hdr.ipv4.dst: lpm, 32 bits`.
    pub keys: Vec<String>,
    /// The fully qualified name of the action of the entries.
    pub action: String,
    /// The number of parameters of the action. Without parameters, a modification changes nothing.
    pub parameters: usize,
    /// The number of entries that the table had before the measurement.
    pub present: usize,
    /// The number of entries that the measurement could use.
    pub usable: usize,
}

/// The results of the tests.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The table that was measured.
    pub subject: Subject,
    /// The rates and latencies of updates; empty if they were not measured.
    pub updates: Vec<updates::Measured>,
    /// The rate of reads; `None` if it was not measured.
    pub reads: Option<reads::Measured>,
    /// The capacity of the table; `None` if it was not measured.
    pub capacity: Option<capacity::Measured>,
    /// The effects of updates on packets; `None` if they were not measured.
    pub effects: Option<live::Measured>,
    /// The reasons why tests failed, or why the switch was not left as it was found; empty if
    /// everything went well.
    pub failures: Vec<String>,
}

/// An observer of the progress of a measurement.
pub trait Watch {
    /// Called whenever a test has made a step: `done` of `of` steps are complete.
    fn step(&mut self, test: &'static str, done: u64, of: u64);
}

/// Makes the tests of a plan. If `stop` is set, ends soon with the results until then. In all
/// cases the entries of the measurement are removed from the switch.
///
/// # Errors
/// Returns an error if no test can be made. A test that fails is reported in the outcome, and the
/// tests after it are left out.
pub fn measure(
    device: &Device,
    plan: &Plan,
    stop: &AtomicBool,
    watch: &mut dyn Watch,
) -> Result<Outcome, DutError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut session = Session::open(device, plan.table.as_deref(), plan.entries).await?;
        let mut outcome = Outcome {
            subject: subject(&session),
            updates: Vec::new(),
            reads: None,
            capacity: None,
            effects: None,
            failures: Vec::new(),
        };
        if let Err(error) = tests(&mut session, plan, stop, watch, &mut outcome).await {
            outcome.failures.push(error.to_string());
        }
        match session.restore().await {
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
        Ok(outcome)
    })
}

async fn tests(
    session: &mut Session,
    plan: &Plan,
    stop: &AtomicBool,
    watch: &mut dyn Watch,
    outcome: &mut Outcome,
) -> Result<(), DutError> {
    if let Some(settings) = &plan.updates {
        let mut step = |done, of| watch.step("updates", done, of);
        outcome.updates = updates::measure(session, settings, stop, &mut step).await?;
    }
    if let (Some(settings), false) = (&plan.reads, stop.load(Ordering::Relaxed)) {
        let mut step = |done, of| watch.step("reads", done, of);
        outcome.reads = Some(reads::measure(session, settings, stop, &mut step).await?);
    }
    if let (Some(settings), false) = (&plan.capacity, stop.load(Ordering::Relaxed)) {
        let mut step = |done, of| watch.step("capacity", done, of);
        outcome.capacity = Some(capacity::measure(session, settings, stop, &mut step).await?);
    }
    if let (Some((traffic, settings)), false) = (&plan.effects, stop.load(Ordering::Relaxed)) {
        let mut step = |done, of| watch.step("effects", done, of);
        let client = session.client.clone();
        let found = live::measure(&client, traffic, settings, stop, &mut step).await?;
        outcome.effects = Some(found);
    }
    Ok(())
}

fn subject(session: &Session) -> Subject {
    let (table, action) = (session.maker().table(), session.maker().action());
    let keys = table.match_fields.iter().map(|field| {
        let width = field.value.bits().map_or("text".to_owned(), |bits| format!("{bits} bits"));
        format!("{}: {}, {width}", field.name, kind_name(&field.kind))
    });
    Subject {
        version: session.version().map(str::to_owned),
        table: table.name.clone(),
        size: table.size,
        keys: keys.collect(),
        action: action.name.clone(),
        parameters: action.params.len(),
        present: session.present(),
        usable: session.numbers().len(),
    }
}

/// Returns the name of a match kind in P4.
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
