//! Messages by which packets change the entries that they hit (Simon et al., ANCS 2021, section 5), in a running program:
//! they go to a controller through loopback TCP, and the entry is written when they come back.

use crate::traffic::error::TrafficError;
use ir::{Program, Replicas, Table, UpdateMethod};
use pipeline::{Core, Switch};
use std::sync::Arc;
use tables::{DigestLoop, DigestSender};

/// Room that is left to workers that look for room at the same time: as many as there can be.
const MARGIN: u64 = 256;

/// The program with this method in all tables whose entries packets write. Change goes through two replicas, as in the paper;
/// entries are not locked but by pointer, and no worker has its own.
pub(crate) fn changed_by(mut program: Program, method: UpdateMethod) -> Program {
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

/// The method that a program has in the first table whose entries packets write, if there is one.
pub(crate) fn of_program(program: &Program) -> Option<UpdateMethod> {
    let mut tables = program.tables.iter();
    Some(tables.find(|table| is_written(&program.actions, table))?.storage.update)
}

fn is_written(actions: &[ir::Action], table: &Table) -> bool {
    let actions = table.actions.iter().filter_map(|one| actions.get(one.action.index()));
    actions.flat_map(|action| &action.parameters).any(|parameter| parameter.reference)
}

/// What became of messages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delivered {
    /// No entry was written for so many.
    pub(crate) unwritten: u64,
    /// So many were written over something else than their packets had found.
    pub(crate) overwritten: u64,
}

/// Brings messages to a controller and back.
pub(crate) struct Changes {
    method: UpdateMethod,
    /// If there are tables whose entries a controller writes.
    controller: Option<(DigestLoop, DigestSender)>,
}

impl Changes {
    /// # Errors
    /// If there are no sockets to the controller.
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

    /// Sends what the last packets asked for. Waits while as much is on its way as may be.
    pub(crate) fn deliver(&self, core: &Core) {
        let Some((_, sender)) = &self.controller else { return };
        for change in core.take_entry_changes() {
            while sender.room() < MARGIN {
                std::thread::yield_now();
            }
            sender.send(&change.to_bytes());
        }
    }

    /// Waits until all that is on its way is written.
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

    /// Whether entries are changed by others, or while a worker waits: its processor time says nothing about that.
    pub(crate) fn are_waited_for(&self) -> bool {
        self.method != UpdateMethod::Pointer
    }
}
