//! Traffic that the caller provides instead of having it generated: packets, and a function that
//! configures a switch for them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ir::{Program, TableId};
use pipeline::Switch;

use super::endless::Budgets;
use super::entries::Lookups;
use super::members::Members;
use super::{TrafficError, Workload, reach};
use crate::method;

/// A function that configures a switch which was just created: it adds entries, groups and
/// sessions.
#[derive(Clone)]
pub struct Setup(Arc<Configure>);

type Configure = dyn Fn(&mut Switch) -> Result<(), String> + Send + Sync;

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup").finish_non_exhaustive()
    }
}

impl Setup {
    /// Creates a setup from a function, which must configure every switch in the same way. The
    /// function returns an error with the reason if the switch refuses a part of the configuration.
    pub fn new(
        configure: impl Fn(&mut Switch) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(configure))
    }

    pub(super) fn apply(&self, switch: &mut Switch) -> Result<(), TrafficError> {
        (self.0)(switch).map_err(TrafficError::Setup)
    }
}

/// Packets, and the configuration of a switch for them.
#[derive(Clone, Debug)]
pub struct Given {
    /// The packets, one for each flow.
    pub packets: Vec<Vec<u8>>,
    /// The port by which the packets arrive.
    pub port: u32,
    /// The function that configures the switch.
    pub setup: Setup,
    /// Whether the setup sets rates of meters. Without rates all packets are green, so that outputs
    /// do not depend on the time or on earlier packets.
    pub sets_meters: bool,
    /// The largest number of outcomes in the tree of a packet, if the run is to measure how fast
    /// trees of all outcomes are computed. With `None`, packets are processed as usual.
    pub outcomes: Option<u64>,
}

impl Workload {
    /// Creates traffic from packets and a configuration that are given. `progress` receives the
    /// number of examined packets and the total, and returns whether to continue.
    ///
    /// # Errors
    /// Returns a [`TrafficError`] if the program cannot be loaded, the configuration is refused,
    /// there are no packets, the processing of some packets never ends, or `progress` stops the
    /// work.
    pub fn given(
        program: Program,
        given: Given,
        progress: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Self, TrafficError> {
        let Given { packets, port, setup, sets_meters, outcomes } = given;
        if packets.is_empty() {
            return Err(TrafficError::Empty);
        }
        let mut switch = Switch::new(program.clone())?;
        setup.apply(&mut switch)?;
        let mut counts = BTreeMap::new();
        for (number, table) in (0..).zip(&program.tables) {
            let entries = switch.entries(TableId(number))?.count();
            if entries > 0 {
                counts.insert(table.name.clone(), entries);
            }
        }
        let (mut left, mut budgets) = (0, Budgets::default());
        let mut hit: BTreeSet<TableId> = BTreeSet::new();
        for (number, packet) in packets.iter().enumerate() {
            let mut lookups = Lookups::default();
            match switch.process_traced(port, packet, Duration::ZERO, &mut lookups) {
                Err(error) if error.is_endless() => budgets.exceeded(number, packet, &error),
                Ok(outputs) => left += usize::from(!outputs.is_empty()),
                // Errors that occur here also occur in timed runs, where they are counted.
                Err(_) => {}
            }
            // A table with `add_on_miss` has the entry when the packet comes again.
            let learns = |table: TableId| {
                program.tables.get(table.index()).is_some_and(|table| table.add_on_miss)
            };
            let found = lookups.0.into_iter().filter(|(table, _, hit)| *hit || learns(*table));
            hit.extend(found.map(|(table, ..)| table));
            let goes_on = number % 1024 != 0 || progress(number, packets.len());
            if !goes_on {
                return Err(TrafficError::Interrupted);
            }
            if budgets.are_enough() {
                break;
            }
        }
        budgets.endless(packets.len()).map_or(Ok(()), Err)?;
        // It is not known which entries packets write. So if they write any, every flow may write
        // entries of other flows.
        let writes = method::of_program(&program).is_some();
        let shared = if writes { (0..packets.len()).collect() } else { [].into() };
        let unhit = reach::keyed(&program).filter(|table| !hit.contains(table)).collect();
        let mut workload = Self {
            program,
            entries: Vec::new(),
            members: Members::default(),
            own: BTreeMap::new(),
            packets: packets.into_iter().collect(),
            left,
            shared,
            notes: outcomes.map(note_of_trees).into_iter().collect(),
            unhit,
            unhit_reasons: Vec::new(),
            solved: Vec::new(),
            port,
            setup: Some(setup),
            counts,
            sets_meters,
            outcomes,
        };
        workload.name_unhit(&[], "the given packets do not");
        Ok(workload)
    }
}

fn note_of_trees(limit: u64) -> String {
    format!(
        "where outcomes are asked for, rates are those of trees of all outcomes of a packet, up to \
         {limit} of them, which the interpreter finds"
    )
}
