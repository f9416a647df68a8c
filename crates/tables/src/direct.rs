//! What an entry has beside its action and parameters: a counter, a meter.

use std::sync::Arc;

use crate::counter::{Count, DirectCounters};
use crate::entry::Position;
use crate::meter::{DirectMeters, Meter};
use crate::table::Options;

/// The direct resources of one store.
#[derive(Default)]
pub(crate) struct Direct {
    pub(crate) counters: Option<Arc<DirectCounters>>,
    pub(crate) meters: Option<Arc<DirectMeters>>,
}

impl Direct {
    pub(crate) fn new(positions: usize, options: &Options) -> Self {
        Self {
            counters: options.direct_counters.then(|| Arc::new(DirectCounters::new(positions))),
            meters: options.direct_meters.then(|| Arc::new(DirectMeters::new(positions))),
        }
    }

    /// The entry that was at a position is gone, and no other is there yet.
    pub(crate) fn reset(&self, position: Position) {
        if let Some(counters) = &self.counters {
            counters.write(position, Count::default());
        }
        if let Some(meters) = &self.meters {
            meters.write(position, Meter::default());
        }
    }
}
