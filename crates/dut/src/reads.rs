//! The rate of reads: how many entries of a table a switch sends in a second.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::entry_number::EntryNumber;
use crate::error::DutError;
use crate::session::Session;
use crate::window::{BUSY, Operation, Shape, Work, processor_time};

/// The number of updates in a request that fills the table.
const BATCH: usize = 100;

/// The settings of the test.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The largest number of entries that are inserted before the table is read.
    pub entries: usize,
    /// The number of rounds.
    pub rounds: u32,
    /// The time for which the table is read in each round. A read that has begun is completed.
    pub time: Duration,
}

/// The measured rate of reads of all entries of a table.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The number of entries that the table had while it was read, as the controller counts them.
    pub expected: usize,
    /// The entries per second of each round.
    pub rates: Vec<f64>,
    /// The number of reads that had another number of entries than expected.
    pub wrong: usize,
    /// The number of all reads.
    pub reads: usize,
    /// Whether this program was the limit in most rounds: its thread, which decodes the entries,
    /// ran nearly all the time.
    pub is_limited_here: bool,
}

/// Inserts entries, reads the whole table repeatedly, and deletes the entries.
///
/// # Errors
/// Returns an error if a request fails as a whole.
pub(crate) async fn measure(
    session: &mut Session,
    settings: &Settings,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Measured, DutError> {
    let numbers: Vec<EntryNumber> =
        session.within_size().iter().take(settings.entries).copied().collect();
    let shape = Shape { window: 4, time: None };
    let fill = Work { operation: Operation::Insert, numbers: &numbers, batch: BATCH };
    let filled = session.write(fill, shape, stop).await?;
    let expected = session.present() + filled.accepted.len();
    let mut measured =
        Measured { expected, rates: Vec::new(), wrong: 0, reads: 0, is_limited_here: false };
    let mut busy = 0;
    for round in 0..settings.rounds {
        progress(round.into(), settings.rounds.into());
        let (began, processor) = (Instant::now(), processor_time());
        let mut entries = 0;
        while began.elapsed() < settings.time && !stop.load(Ordering::Relaxed) {
            let found = session.read().await?;
            entries += found;
            measured.reads += 1;
            measured.wrong += usize::from(found != expected);
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let time = began.elapsed().as_secs_f64();
        measured.rates.push(entries as f64 / time);
        busy += usize::from((processor_time() - processor).as_secs_f64() >= BUSY * time);
    }
    measured.is_limited_here = 2 * busy > measured.rates.len();
    let empty = Work { operation: Operation::Delete, numbers: &filled.accepted, batch: BATCH };
    session.write(empty, shape, &AtomicBool::new(false)).await?;
    Ok(measured)
}
