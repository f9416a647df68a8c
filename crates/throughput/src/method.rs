//! Update methods: the ways in which packets change the entries that they hit (Simon et al., ANCS
//! 2021, section 5). For some methods, a packet produces a message to a controller over loopback
//! TCP, and the entry is written when the message returns.

use crate::traffic::error::TrafficError;
use ir::{Program, Replicas, Table, TableStorage, UpdateMethod};
use pipeline::{Core, Switch};
use std::sync::Arc;
use tables::{DigestLoop, DigestSender};

/// The smallest number of free places in the message queue to the controller with which a worker
/// continues. Several workers may find the same free place at the same time, so this margin is as
/// large as the number of workers can be.
const MARGIN: u64 = 256;

/// A change that is made to the program of a workload before it is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// No change: the program is measured as it was written.
    #[default]
    AsWritten,
    /// A change of the method by which packets change table entries.
    Method(UpdateMethod),
    /// A change of the storage of all tables.
    Storage(TableStorage),
}

impl Variant {
    /// Returns the program with this change.
    pub(crate) fn of(self, mut program: Program) -> Program {
        match self {
            Self::AsWritten => program,
            Self::Method(method) => with_update_method(program, method),
            Self::Storage(storage) => {
                program.tables.iter_mut().for_each(|table| table.storage = storage);
                program
            }
        }
    }
}

/// Returns the program with this update method for all tables whose entries packets change. With
/// the method `Change`, each such table has two replicas, as in the paper. Only the method
/// `Pointer` keeps the locks on entries, and the replica that each worker has.
fn with_update_method(mut program: Program, method: UpdateMethod) -> Program {
    let actions = std::mem::take(&mut program.actions);
    for table in &mut program.tables {
        if !is_written(&actions, table) {
            continue;
        }
        let storage = &mut table.storage;
        storage.update = method;
        storage.synchronised &= method == UpdateMethod::Pointer;
        storage.replicas = match (method, storage.replicas) {
            (UpdateMethod::Change, _) => Replicas::Two,
            (UpdateMethod::Pointer, Replicas::Sharded) => Replicas::Sharded,
            _ => Replicas::One,
        };
    }
    program.actions = actions;
    program
}

/// Returns the update method of the first table whose entries packets change, or `None` if packets
/// change no entries.
pub(crate) fn of_program(program: &Program) -> Option<UpdateMethod> {
    let mut tables = program.tables.iter();
    Some(tables.find(|table| is_written(&program.actions, table))?.storage.update)
}

fn is_written(actions: &[ir::Action], table: &Table) -> bool {
    let actions = table.actions.iter().filter_map(|one| actions.get(one.action.index()));
    actions.flat_map(|action| &action.parameters).any(|parameter| parameter.reference)
}

/// The numbers of update messages that failed, by kind of failure.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delivered {
    /// The number of update messages after which no table entry was written.
    pub(crate) unwritten: u64,
    /// The number of update messages that overwrote a newer value: one that was written after the
    /// packet which caused the message had read the entry.
    pub(crate) overwritten: u64,
}

/// Sends the changes of table entries that packets request to a controller over TCP. The switch
/// applies them when they return. Does nothing for methods without a controller.
pub(crate) struct Changes {
    method: UpdateMethod,
    /// The connection to the controller that returns entry changes, or `None` if no table uses the
    /// method `Digest`.
    controller: Option<(DigestLoop, DigestSender)>,
}

impl Changes {
    /// Opens the connection to the controller if a table uses the method `Digest`.
    ///
    /// # Errors
    /// Returns [`TrafficError::Controller`] if the sockets to the controller cannot be opened.
    pub(crate) fn new(switch: &Arc<Switch>) -> Result<Self, TrafficError> {
        let program = switch.program();
        let method = of_program(program).unwrap_or_default();
        let mut methods = program.tables.iter().map(|table| table.storage.update);
        let controller = if methods.any(|method| method == UpdateMethod::Digest) {
            let switch = Arc::clone(switch);
            let apply = move |message: &[u8]| switch.apply_change(message);
            let found = DigestLoop::between(|message| Some(message.to_vec()), apply);
            Some(found.map_err(|error| TrafficError::Controller(error.to_string()))?)
        } else {
            None
        };
        Ok(Self { method, controller })
    }

    /// Sends the changes of table entries that the last packets requested to the controller. Waits
    /// while too many messages to the controller have not returned yet.
    pub(crate) fn deliver(&self, core: &Core) {
        let Some((_, sender)) = &self.controller else { return };
        for change in core.take_entry_changes() {
            while sender.room() < MARGIN {
                std::thread::yield_now();
            }
            sender.send(&change.to_bytes());
        }
    }

    /// Waits until the switch has applied all changes that were sent to the controller, and returns
    /// the numbers of failed ones.
    pub(crate) fn settle(&self) -> Delivered {
        let Some((digests, _)) = &self.controller else { return Delivered::default() };
        loop {
            let counts = digests.counts();
            if counts.applied + counts.refused >= counts.sent {
                let unwritten = counts.dropped + counts.refused;
                return Delivered { unwritten, overwritten: counts.overwritten };
            }
            std::thread::yield_now();
        }
    }

    /// Returns whether throughput must be measured by the wall clock, because other threads change
    /// table entries or workers wait for changes. The processor time of workers would then be too
    /// short.
    pub(crate) fn needs_wall_clock(&self) -> bool {
        self.method != UpdateMethod::Pointer
    }
}
