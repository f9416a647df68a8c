//! Measures updates and packets at several levels of occupancy of a table.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::Settings;
use crate::background::{Background, Cost, Forwarded, HighestRate, beside};
use crate::entry_number::EntryNumber;
use crate::error::DutError;
use crate::session::Session;
use crate::window::{Operation, Phase, Shape, Work};

/// The levels of occupancy at which the filled table is measured, in the order of measurement. They
/// are percentages of the number of entries that the table accepted.
const FILLED: [u8; 3] = [100, 90, 50];
/// The number of entries that are replaced at a level, counted in full windows of requests.
const WINDOWS: usize = 4;

/// The measurement at one level of occupancy.
#[derive(Clone, Debug)]
pub struct Level {
    /// The occupancy, in percent of the number of entries that the table accepted.
    pub percent: u8,
    /// The number of entries in the table.
    pub entries: usize,
    /// The modifications, deletions and insertions of entries at this level. They always affect the
    /// same entries, so the table may lack the entries of a few requests for a moment.
    pub replaced: [(Operation, Phase); 3],
    /// The highest rate at which the switch forwards packets while no entry changes; `None` if it
    /// was not measured.
    pub forwarding: Option<HighestRate>,
    /// The packets that passed through the switch before entries were replaced; `None` without
    /// packets.
    idle: Option<Forwarded>,
}

impl Level {
    /// Returns the packets that passed while no entry changed and those that passed while entries
    /// were replaced, both sent at `rate` packets per second. Returns `None` without packets.
    #[must_use]
    pub fn packets(&self, rate: f64) -> Option<Cost> {
        let idle = self.idle.clone()?;
        let mut busy = Forwarded::default();
        self.replaced.iter().for_each(|(_, phase)| busy.append(phase.packets.clone()));
        Some(Cost { rate, idle, busy })
    }
}

/// The measurement of a table at several levels of occupancy, one after the other.
pub(super) struct Levels<'a> {
    batch: usize,
    window: usize,
    time: Duration,
    /// The duration of one trial in the search for the highest forwarding rate.
    trial: Duration,
    background: Option<&'a mut Background>,
    /// The levels measured so far, in ascending order.
    pub(super) found: Vec<Level>,
}

impl<'a> Levels<'a> {
    pub(super) fn new(settings: &Settings, background: Option<&'a mut Background>) -> Self {
        let Settings { batch, window, time, trial, .. } = *settings;
        Self { batch, window, time, trial, background, found: Vec::new() }
    }

    /// Measures the table before it is filled. The entries that are inserted and deleted are the
    /// first ones of `numbers`.
    pub(super) async fn measure_empty(
        &mut self,
        session: &mut Session,
        numbers: &[EntryNumber],
        stop: &AtomicBool,
    ) -> Result<(), DutError> {
        // A tenth of a small table: the whole of it would be a full table.
        let size = session.size().and_then(|size| usize::try_from(size).ok());
        let most = size.map_or(numbers.len(), |size| size.min(numbers.len()));
        let count = self.replaceable(most.div_ceil(10));
        let shape = Shape { window: self.window, time: None };
        let numbers = numbers.get(..count).unwrap_or(numbers);
        if self.time.is_zero() || numbers.is_empty() || stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let fill = Work { operation: Operation::Insert, numbers, batch: self.batch };
        let mut own = session.write(fill, shape, stop).await?.accepted;
        let level = self.level(session, 0, &mut own, stop).await?;
        self.found.extend(level);
        let empty = Work { operation: Operation::Delete, numbers: &own, batch: self.batch };
        session.write(empty, shape, &AtomicBool::new(false)).await?;
        Ok(())
    }

    /// Measures the full table, and deletes entries to get from each level to the next. `inserted`
    /// has the entries of the measurement that are in the table.
    pub(super) async fn measure_filled(
        &mut self,
        session: &mut Session,
        inserted: &mut Vec<EntryNumber>,
        stop: &AtomicBool,
    ) -> Result<(), DutError> {
        let whole = session.present() + inserted.len();
        let shape = Shape { window: self.window, time: None };
        let mut found = Vec::new();
        for percent in FILLED {
            if self.time.is_zero() || inserted.is_empty() || stop.load(Ordering::Relaxed) {
                break;
            }
            let wanted =
                whole / 100 * usize::from(percent) + whole % 100 * usize::from(percent) / 100;
            let kept = wanted.saturating_sub(session.present()).min(inserted.len());
            let surplus = inserted.split_off(kept);
            let empty = Work { operation: Operation::Delete, numbers: &surplus, batch: self.batch };
            session.write(empty, shape, &AtomicBool::new(false)).await?;
            found.extend(self.level(session, percent, inserted, stop).await?);
        }
        found.reverse();
        self.found.append(&mut found);
        Ok(())
    }

    /// Returns how many of `count` entries are replaced at a level, namely those of a few full
    /// windows of requests.
    fn replaceable(&self, count: usize) -> usize {
        count.min(WINDOWS * self.window * self.batch)
    }

    /// Replaces the last entries of `own`, which are in the table, again and again, and returns the
    /// measurement of this level. Removes entries from `own` that the switch does not accept again.
    /// Returns `None` if the measurement was stopped.
    async fn level(
        &mut self,
        session: &mut Session,
        percent: u8,
        own: &mut Vec<EntryNumber>,
        stop: &AtomicBool,
    ) -> Result<Option<Level>, DutError> {
        if own.is_empty() {
            return Ok(None);
        }
        let entries = session.present() + own.len();
        let idle = match &mut self.background {
            Some(packets) => Some(packets.pause(self.time).await?),
            None => None,
        };
        let forwarding = match &mut self.background {
            Some(packets) if !self.trial.is_zero() => {
                Some(packets.highest_rate(self.trial, stop).await?)
            }
            Some(_) | None => None,
        };
        let count = self.replaceable(own.len());
        let mut numbers = own.split_off(own.len() - count);
        // Requests to small tables are smaller, so that several windows wait.
        let batch = (count / (WINDOWS * self.window)).clamp(1, self.batch.max(1));
        let (shape, never) = (Shape { window: self.window, time: None }, AtomicBool::new(false));
        let mut replaced = [Operation::Modify, Operation::Delete, Operation::Insert]
            .map(|operation| (operation, Phase::default()));
        loop {
            for (operation, phase) in &mut replaced {
                let work = Work { operation: *operation, numbers: &numbers, batch };
                let writing = session.write(work, shape, &never);
                let series = beside(self.background.as_deref_mut(), writing).await?;
                if *operation == Operation::Insert {
                    numbers.clone_from(&series.accepted);
                }
                phase.append(series);
            }
            let [.., (_, insert)] = &replaced;
            let is_over = insert.duration >= self.time || numbers.is_empty();
            if is_over || stop.load(Ordering::Relaxed) {
                break;
            }
        }
        own.append(&mut numbers);
        let is_stopped = stop.load(Ordering::Relaxed);
        Ok((!is_stopped).then_some(Level { percent, entries, replaced, forwarding, idle }))
    }
}
