//! The capacity of a table: how many entries a switch accepts, with which answer it refuses more,
//! how the insert rate changes as the table fills, and how much memory the entries take. Also, the
//! rates of updates and the forwarding of packets while the table is empty, half full, nearly full
//! and full.

mod levels;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::background::Background;
use crate::entry_number::EntryNumber;
use crate::error::DutError;
use crate::loaded_table::LoadedTable;
use crate::memory::{SwitchProcess, resident};
use crate::session::Session;
use crate::updates::OtherTables;
use crate::window::{Operation, Phase, Refusal, Shape, Work};

pub use self::levels::Level;
use self::levels::Levels;

/// The settings of the test of a table's capacity.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The largest number of updates in a request. Requests to small tables contain fewer, so that
    /// the insert rate is known at several occupancies.
    pub batch: usize,
    /// The number of requests that may be unanswered at the same time.
    pub window: usize,
    /// The time for which entries are replaced at each level of occupancy. If it is zero, no
    /// entries are replaced.
    pub time: Duration,
    /// The duration of one trial when the highest forwarding rate is searched at a level of
    /// occupancy. If it is zero, or if there are no packets, nothing is searched.
    pub trial: Duration,
    /// The process of the switch, whose memory use is read; `None` to leave this out.
    pub process: Option<SwitchProcess>,
    /// The other tables of a P4Runtime switch that are filled too. Their entries are not replaced.
    pub tables: OtherTables,
}

impl Settings {
    /// Returns the settings for filling another table than the one that is measured in full.
    pub(crate) fn of_other_table(&self) -> Self {
        Self {
            time: Duration::ZERO,
            trial: Duration::ZERO,
            process: None,
            tables: OtherTables::None,
            ..self.clone()
        }
    }
}

/// The resident memory of the switch at three moments, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The memory before the table was filled.
    pub before: u64,
    /// The memory just after the last entry was inserted.
    pub full: u64,
    /// The memory after the entries of the measurement were deleted.
    pub after: u64,
    /// The number of entries that were inserted between the readings `before` and `full`.
    pub entries: u64,
}

impl Memory {
    /// Returns the memory that an entry took, in bytes. Returns `None` if the memory did not grow,
    /// for instance because the switch reused memory of earlier entries or had reserved memory
    /// beforehand.
    #[must_use]
    pub fn per_entry(self) -> Option<f64> {
        let grown = self.full.checked_sub(self.before).filter(|grown| *grown > 0)?;
        (self.entries > 0).then(|| grown as f64 / self.entries as f64)
    }
}

/// The reason why no further entry was inserted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The switch refused all updates of one step of filling.
    Refused(Refusal),
    /// All entries that the session may use were inserted, so the table may be larger.
    AllInserted,
    /// The user ended the test.
    Stopped,
}

/// The insert rate while the table was filled from one occupancy to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The number of entries in the table at the end of the step.
    pub entries: usize,
    /// The number of accepted inserts per second during the step.
    pub rate: f64,
}

/// The measured capacity of a table.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The table whose capacity was measured.
    pub table: LoadedTable,
    /// The number of entries in the table after the last insertion.
    pub entries: usize,
    /// The number of entries in the table when the switch refused an insertion for the first time;
    /// `None` if it refused none.
    pub first_refusal: Option<usize>,
    /// The reason why no further entry was inserted.
    pub ending: Ending,
    /// The insert rate in each step of filling the table.
    pub steps: Vec<Step>,
    /// Whether a full table accepted a new entry after another one was deleted. `None` if the table
    /// did not become full, or contained no entry of the measurement that could be deleted.
    pub is_freed: Option<bool>,
    /// The number of accepted entries that the switch did not list after the last insertion. `None`
    /// for P4Runtime, where the switch answers each update.
    pub missing: Option<u64>,
    /// The rates of updates and the forwarding of packets at several levels of occupancy, from
    /// empty to full.
    pub levels: Vec<Level>,
    /// The rate of the background packets, in packets per second; `None` without packets.
    pub packets_per_second: Option<f64>,
    /// The memory of the switch; `None` if its process was not found.
    pub memory: Option<Memory>,
}

/// The number of steps in which the table is filled. They end at the declared size of the table or
/// at the number of usable entries, whichever is less.
const STEPS: usize = 40;

/// Fills the table until the switch refuses entries, and empties it again. At some levels of
/// occupancy on the way, replaces entries. With `background`, packets pass through the switch
/// meanwhile.
///
/// # Errors
/// Returns an error if a request fails as a whole.
pub(crate) async fn measure(
    session: &mut Session,
    settings: &Settings,
    background: Option<&mut Background>,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Measured, DutError> {
    let numbers = session.numbers().to_vec();
    let shape = Shape { window: settings.window, time: None };
    let size = session.size().and_then(|size| usize::try_from(size).ok());
    let length = size.map_or(numbers.len(), |size| size.min(numbers.len())).div_ceil(STEPS).max(1);
    // Each step has several windows of requests.
    let batch = (length / (4 * settings.window)).clamp(1, settings.batch.max(1));
    let mut measured = Measured {
        table: session.loaded_table(),
        entries: session.present(),
        first_refusal: None,
        ending: Ending::AllInserted,
        steps: Vec::new(),
        is_freed: None,
        missing: None,
        levels: Vec::new(),
        packets_per_second: background.as_ref().map(|packets| packets.rate()),
        memory: None,
    };
    let process = settings.process.map(SwitchProcess::ids).unwrap_or_default();
    let mut levels = Levels::new(settings, background);
    levels.measure_empty(session, &numbers, stop).await?;
    let before = resident(&process);
    let mut inserted: Vec<EntryNumber> = Vec::new();
    let mut unused = None;
    for step in numbers.chunks(length) {
        let work = Work { operation: Operation::Insert, numbers: step, batch };
        let phase = session.write(work, shape, stop).await?;
        measured.note(&phase);
        inserted.extend_from_slice(&phase.accepted);
        progress(inserted.len() as u64, numbers.len() as u64);
        if stop.load(Ordering::Relaxed) {
            measured.ending = Ending::Stopped;
            break;
        }
        if let (true, Some(refusal)) = (phase.accepted.is_empty(), phase.refusal) {
            measured.ending = Ending::Refused(refusal);
            unused = step.first().copied();
            break;
        }
    }
    measured.missing = session.missing()?;
    let full = resident(&process);
    let never = AtomicBool::new(false);
    if let Some(unused) = unused
        && let Some(last) = inserted.pop()
    {
        let one = Shape { window: 1, time: None };
        let delete = Work { operation: Operation::Delete, numbers: &[last], batch: 1 };
        session.write(delete, one, &never).await?;
        let insert = Work { operation: Operation::Insert, numbers: &[unused], batch: 1 };
        let again = session.write(insert, one, &never).await?;
        measured.is_freed = Some(!again.accepted.is_empty());
        inserted.extend(again.accepted);
    }
    let count = inserted.len();
    levels.measure_filled(session, &mut inserted, stop).await?;
    measured.levels = levels.found;
    let empty = Work { operation: Operation::Delete, numbers: &inserted, batch: settings.batch };
    session.write(empty, shape, &never).await?;
    if let (Some(before), Some(full), Some(after)) = (before, full, resident(&process)) {
        measured.memory = Some(Memory { before, full, after, entries: count as u64 });
    }
    Ok(measured)
}

impl Measured {
    fn note(&mut self, phase: &Phase) {
        let before = self.entries;
        self.entries += phase.accepted.len();
        if let Some(rate) = phase.rate().filter(|_| !phase.accepted.is_empty()) {
            self.steps.push(Step { entries: self.entries, rate });
        }
        if self.first_refusal.is_none() && phase.refused() > 0 {
            // Within a step, the entries of the requests until the first one with a refusal count.
            let first = phase.calls.iter().position(|call| call.refused > 0);
            let calls = phase.calls.iter().take(first.map_or(0, |first| first + 1));
            let accepted: u64 = calls.map(|call| call.updates - call.refused).sum();
            let accepted = usize::try_from(accepted).unwrap_or(usize::MAX);
            self.first_refusal = Some(before.saturating_add(accepted));
        }
    }
}
