//! The replicas of a table's packed entries: one for all workers, two (`impl = "t4p4s"`), or one
//! for each worker (`impl = "sharded"`). [`PackedTable`](super::PackedTable) keeps its entries
//! here.
//!
//! In a table with two replicas, packets read the active one. A change is made in the passive
//! replica, then the two change roles, and when no packet uses the formerly active replica any
//! more, it is changed too. Therefore, no packet waits for a change or sees a part of a change.
//! Entries are inserted into and removed from both replicas at once, while packets are outside the
//! gate.
//!
//! In a sharded table, each worker has a shard with all entries, which only its packets read and
//! write. No lock is taken, and no cache line moves between cores. The control plane writes to all
//! shards and to the home, a copy that no packet accesses. An entry of a shard that differs from
//! the home has therefore been written by packets. As long as the packets that write an entry are
//! processed by one worker, such as the packets of a flow, only one shard differs, and its value is
//! the one that is read. When a worker leaves, the entries that its packets wrote are copied to the
//! home, and to the shards whose packets did not write them.
//!
//! A worker joins with its first packet, which must not wait until all entries have been copied.
//! Therefore shards are created in advance ([`Replicas::reserve`]), while the control plane has
//! time.

use std::collections::BTreeMap;

use crate::access::{Access, Sharing};
use crate::design::Synchronisation;
use crate::entry::ActionId;
use crate::exact::{ExactTable, ExactTableError};
use crate::group::WorkerId;
use crate::memory::MemoryUse;

/// The replicas or shards of a table's entries. All changes of entries are made in all of these
/// tables.
#[derive(Debug)]
pub(super) struct Replicas {
    home: ExactTable,
    others: Others,
    /// The number that [`Replicas::divided`] returns.
    divided: u64,
}

/// The tables that a design needs besides the home, which is the main copy of the entries.
#[derive(Debug)]
enum Others {
    Nothing,
    Shards(Shards),
    /// A second replica, and whether it is the one that packets read.
    Second(Box<ExactTable>, bool),
}

/// The shards of a table: one table for each worker.
#[derive(Debug, Default)]
struct Shards {
    taken: BTreeMap<WorkerId, ExactTable>,
    /// The shards that do not belong to a worker yet. Their entries equal those of the home (the
    /// main copy of the entries).
    spare: Vec<ExactTable>,
    /// The number of workers for which shards were reserved, whether the workers have joined or
    /// not.
    reserved: usize,
}

impl Shards {
    fn all(&mut self) -> impl Iterator<Item = &mut ExactTable> {
        self.taken.values_mut().chain(&mut self.spare)
    }
}

/// New tables that will replace some of the replicas, and have the same entries.
#[derive(Debug)]
pub(super) struct Remade {
    tables: Vec<Option<ExactTable>>,
}

impl Remade {
    pub(super) fn is_empty(&self) -> bool {
        self.tables.iter().all(Option::is_none)
    }
}

impl Replicas {
    /// Creates empty replicas.
    ///
    /// # Errors
    /// Returns an error if memory for two replicas does not suffice.
    pub(super) fn new(
        home: ExactTable,
        synchronisation: Synchronisation,
    ) -> Result<Self, ExactTableError> {
        let others = match synchronisation {
            Synchronisation::Optimistic => Others::Nothing,
            Synchronisation::DoubleBuffer { .. } => Others::Second(Box::new(home.copied()?), false),
            Synchronisation::Sharded { .. } => Others::Shards(Shards::default()),
        };
        Ok(Self { home, others, divided: 0 })
    }

    pub(super) fn is_sharded(&self) -> bool {
        matches!(self.others, Others::Shards(_))
    }

    fn shards(&self) -> impl Iterator<Item = (&WorkerId, &ExactTable)> {
        let shards = match &self.others {
            Others::Shards(shards) => Some(&shards.taken),
            Others::Nothing | Others::Second(..) => None,
        };
        shards.into_iter().flatten()
    }

    /// Returns the table that packets read, unless each worker has a shard of its own.
    fn active(&self) -> &ExactTable {
        match &self.others {
            Others::Second(second, true) => second,
            _ => &self.home,
        }
    }

    /// Changes the entry in the passive one of two replicas. No packet that entered the gate before
    /// the last [`Self::swap`] may still be inside.
    pub(super) fn change_passive(&mut self, key: u128, action: ActionId, parameters: &[u8]) {
        let Self { home, others: Others::Second(second, is_active), .. } = self else { return };
        let passive = if *is_active { home } else { &mut **second };
        passive.replace(key, action, parameters);
    }

    /// Swaps the active and the passive one of two replicas for workers that call [`Self::access`]
    /// from now on.
    pub(super) fn swap(&mut self) {
        if let Others::Second(_, is_active) = &mut self.others {
            *is_active = !*is_active;
        }
    }

    /// Returns a number that grows by one for each worker that leaves and each entry that its
    /// packets and the packets of another worker have written. If the number is not 0, values were
    /// lost, because all packets that write one entry must be processed by one worker.
    pub(super) fn divided(&self) -> u64 {
        self.divided
    }

    /// Creates shards in advance, so that `workers` workers, including those that have joined, have
    /// one. Returns the number of entries that were copied.
    ///
    /// # Errors
    /// Returns an error if memory does not suffice.
    pub(super) fn reserve(&mut self, workers: usize) -> Result<usize, ExactTableError> {
        let Self { home, others: Others::Shards(shards), .. } = self else { return Ok(0) };
        shards.reserved = workers;
        let mut copied = 0;
        while shards.taken.len() + shards.spare.len() < workers {
            shards.spare.push(home.copied()?);
            copied += home.len();
        }
        shards.spare.truncate(workers.saturating_sub(shards.taken.len()));
        Ok(copied)
    }

    /// Assigns a shard to a worker that joins. Returns the number of entries that were copied for
    /// the shard. The number is zero if a shard was created in advance.
    pub(super) fn join(&mut self, worker: WorkerId) -> Result<usize, ExactTableError> {
        let Self { home, others: Others::Shards(shards), .. } = self else { return Ok(0) };
        let (shard, copied) = match shards.spare.pop() {
            Some(spare) => (spare, 0),
            None => (home.copied()?, home.len()),
        };
        shards.taken.insert(worker, shard);
        Ok(copied)
    }

    /// Removes a worker that leaves, and copies what its packets wrote from its shard to the
    /// others. Packets must be outside the gate.
    pub(super) fn leave(&mut self, worker: WorkerId) {
        let Self { home, others: Others::Shards(shards), divided } = self else { return };
        let Some(shard) = shards.taken.remove(&worker) else { return };
        shard.for_each(|key, action, parameters| {
            let Some(before) = home.read(key) else { return };
            if before.0 == action && before.1 == parameters {
                return;
            }
            let mut others_wrote = false;
            for other in shards.all() {
                if other.read(key).as_ref() == Some(&before) {
                    other.replace(key, action, parameters);
                } else {
                    others_wrote = true;
                }
            }
            *divided += u64::from(others_wrote);
            home.replace(key, action, parameters);
        });
        // The shard now equals the home, so another worker may use it.
        if shards.taken.len() + shards.spare.len() < shards.reserved {
            shards.spare.push(shard);
        }
    }

    fn all(&mut self) -> impl Iterator<Item = &mut ExactTable> {
        let (shards, second) = match &mut self.others {
            Others::Nothing => (None, None),
            Others::Shards(shards) => (Some(shards.all()), None),
            Others::Second(second, _) => (None, Some(&mut **second)),
        };
        shards.into_iter().flatten().chain(second).chain(std::iter::once(&mut self.home))
    }

    fn all_now(&self) -> impl Iterator<Item = &ExactTable> {
        let (shards, second) = match &self.others {
            Others::Nothing => (None, None),
            Others::Shards(shards) => (Some(shards.taken.values().chain(&shards.spare)), None),
            Others::Second(second, _) => (None, Some(&**second)),
        };
        shards.into_iter().flatten().chain(second).chain(std::iter::once(&self.home))
    }

    /// Returns larger tables, for [`Replicas::adopt`], which are to replace the tables that have no
    /// room for an entry with this key. Packets may read entries during the call.
    ///
    /// # Errors
    /// Returns an error if memory does not suffice.
    pub(super) fn with_room_for(&self, key: u128) -> Result<Remade, ExactTableError> {
        let tables = self.all_now().map(|table| table.with_room_for(key)).collect::<Result<_, _>>();
        Ok(Remade { tables: tables? })
    }

    /// Returns smaller tables, for [`Replicas::adopt`], which are to replace the tables in which
    /// few entries are left. Packets may read entries during the call.
    pub(super) fn shrunk(&self) -> Remade {
        Remade { tables: self.all_now().map(ExactTable::shrunk).collect() }
    }

    /// Replaces each table for which there is a new one, and returns the replaced tables. The
    /// replaced tables must not have changed since the new ones were made.
    pub(super) fn adopt(&mut self, remade: Remade) -> Remade {
        let Remade { mut tables } = remade;
        for (table, other) in self.all().zip(&mut tables) {
            if let Some(other) = other {
                std::mem::swap(table, other);
            }
        }
        Remade { tables }
    }

    /// Returns the number of bytes of all tables.
    pub(super) fn bytes(&self) -> usize {
        self.all_now().map(ExactTable::bytes).sum()
    }

    /// Returns the number of bytes of all tables, by part.
    pub(super) fn memory(&self) -> MemoryUse {
        self.all_now()
            .map(ExactTable::memory)
            .reduce(MemoryUse::and)
            .unwrap_or_else(|| self.home.memory())
    }

    /// Returns the number of entries.
    pub(super) fn len(&self) -> usize {
        self.home.len()
    }

    /// Adds an entry to all tables, or to none.
    ///
    /// # Errors
    /// Returns an error if the key exists or memory does not suffice.
    pub(super) fn insert(
        &mut self,
        key: u128,
        action: ActionId,
        parameters: &[u8],
    ) -> Result<(), ExactTableError> {
        let mut has = 0;
        let inserted = self.all().try_for_each(|table| {
            table.insert(key, action, parameters)?;
            has += 1;
            Ok(())
        });
        if inserted.is_err() {
            self.all().take(has).for_each(|table| {
                table.remove(key);
            });
        }
        inserted
    }

    /// Removes an entry from all tables, and returns its action and parameters, including the
    /// changes that packets made.
    pub(super) fn take(&mut self, key: u128) -> Option<(ActionId, Vec<u8>)> {
        let found = self.read(key)?;
        self.all().for_each(|table| {
            table.remove(key);
        });
        Some(found)
    }

    /// Returns the action and parameters of an entry, including the changes that packets made. If
    /// packets of several workers wrote it, the value in the shard of the first of these workers is
    /// returned.
    pub(super) fn read(&self, key: u128) -> Option<(ActionId, Vec<u8>)> {
        let home = self.active().read(key)?;
        let written =
            self.shards().find_map(|(_, shard)| shard.read(key).filter(|found| *found != home));
        Some(written.unwrap_or(home))
    }

    /// Returns any one of the entries, with the value that it has in the home (the main copy of the
    /// entries).
    pub(super) fn any(&self) -> Option<(ActionId, Vec<u8>)> {
        let mut any = None;
        self.home.for_each(|_, action, parameters| {
            any.get_or_insert_with(|| (action, parameters.to_vec()));
        });
        any
    }

    pub(super) fn replace(&mut self, key: u128, action: ActionId, parameters: &[u8]) {
        self.all().for_each(|table| {
            table.replace(key, action, parameters);
        });
    }

    /// Returns the access by which a worker uses the entries.
    pub(super) fn access(&self, worker: WorkerId, sharing: Sharing, writing: u64) -> Access {
        let table = match &self.others {
            Others::Nothing | Others::Second(..) => self.active(),
            Others::Shards(shards) => {
                let own = shards.taken.get(&worker);
                debug_assert!(own.is_some(), "a worker without a shard");
                own.unwrap_or(&self.home)
            }
        };
        table.access(sharing, writing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Wait;

    const WORKERS: [WorkerId; 2] = [WorkerId(1), WorkerId(2)];

    fn sharded() -> Replicas {
        let mut table = ExactTable::new(32, 4, 2).expect("a table");
        table.insert(5, ActionId(0), &[1; 4]).expect("an entry");
        Replicas::new(table, Synchronisation::sharded(2)).expect("memory")
    }

    fn come(replicas: &mut Replicas) {
        for worker in WORKERS {
            replicas.join(worker).expect("memory");
        }
    }

    /// Writes an entry as a packet of a worker does.
    fn write(replicas: &mut Replicas, worker: WorkerId, value: u8) {
        let Others::Shards(shards) = &mut replicas.others else { panic!("no shards") };
        assert!(shards.taken.get_mut(&worker).expect("a shard").replace(
            5,
            ActionId(0),
            &[value; 4]
        ));
    }

    fn in_shard(replicas: &Replicas, worker: WorkerId) -> Option<Vec<u8>> {
        let (_, shard) = replicas.shards().find(|(of, _)| **of == worker)?;
        shard.read(5).map(|(_, parameters)| parameters)
    }

    fn value(replicas: &Replicas) -> Option<Vec<u8>> {
        replicas.read(5).map(|(_, parameters)| parameters)
    }

    #[test]
    fn writes_of_one_worker_are_read_and_outlive_the_worker() {
        let mut replicas = sharded();
        come(&mut replicas);
        assert_eq!(value(&replicas), Some(vec![1; 4]));
        write(&mut replicas, WORKERS[1], 7);
        assert_eq!(value(&replicas), Some(vec![7; 4]));
        assert_eq!(in_shard(&replicas, WORKERS[0]), Some(vec![1; 4]));
        replicas.leave(WORKERS[1]);
        assert_eq!((value(&replicas), replicas.divided()), (Some(vec![7; 4]), 0));
        // The flow may continue with another worker.
        assert_eq!(in_shard(&replicas, WORKERS[0]), Some(vec![7; 4]));
        replicas.join(WORKERS[1]).expect("memory");
        assert_eq!(in_shard(&replicas, WORKERS[1]), Some(vec![7; 4]));
    }

    #[test]
    fn a_worker_with_a_reserved_shard_copies_no_entry_and_finds_earlier_writes() {
        let mut replicas = sharded();
        assert_eq!(replicas.reserve(2), Ok(2));
        assert_eq!(replicas.insert(6, ActionId(0), &[3; 4]), Ok(()));
        replicas.replace(5, ActionId(1), &[9; 4]);
        assert_eq!(WORKERS.map(|worker| replicas.join(worker)), [Ok(0), Ok(0)]);
        for worker in WORKERS {
            assert_eq!(in_shard(&replicas, worker), Some(vec![9; 4]));
        }
        write(&mut replicas, WORKERS[0], 7);
        replicas.leave(WORKERS[0]);
        // The shard waits for the next worker, with the values that its packets wrote.
        assert_eq!(replicas.join(WORKERS[0]), Ok(0));
        assert_eq!(in_shard(&replicas, WORKERS[0]), Some(vec![7; 4]));
        assert_eq!(in_shard(&replicas, WORKERS[1]), Some(vec![7; 4]));
        // This worker is one more than were expected.
        assert_eq!(replicas.join(WorkerId(3)), Ok(2));
    }

    #[test]
    fn a_spare_shard_has_what_another_worker_wrote() {
        let mut replicas = sharded();
        assert_eq!(replicas.reserve(3), Ok(3));
        assert_eq!(WORKERS.map(|worker| replicas.join(worker)), [Ok(0), Ok(0)]);
        write(&mut replicas, WORKERS[0], 7);
        write(&mut replicas, WORKERS[1], 8);
        replicas.leave(WORKERS[0]);
        replicas.leave(WORKERS[1]);
        for worker in [WORKERS[0], WORKERS[1], WorkerId(3)] {
            assert_eq!(replicas.join(worker), Ok(0));
            assert_eq!(in_shard(&replicas, worker), value(&replicas), "{worker:?}");
        }
        assert_eq!(replicas.reserve(1), Ok(0));
    }

    #[test]
    fn the_control_plane_writes_all_shards() {
        let mut replicas = sharded();
        come(&mut replicas);
        write(&mut replicas, WORKERS[0], 7);
        replicas.replace(5, ActionId(1), &[9; 4]);
        assert_eq!(replicas.read(5), Some((ActionId(1), vec![9; 4])));
        assert_eq!(
            WORKERS.map(|worker| in_shard(&replicas, worker)),
            [Some(vec![9; 4]), Some(vec![9; 4])]
        );
        assert!(
            replicas.insert(6, ActionId(0), &[3; 4]).is_ok()
                && replicas.insert(6, ActionId(0), &[4; 4]) == Err(ExactTableError::Exists)
        );
        assert_eq!(replicas.read(6), Some((ActionId(0), vec![3; 4])));
        write(&mut replicas, WORKERS[1], 8);
        assert_eq!(replicas.take(5), Some((ActionId(0), vec![8; 4])));
        assert_eq!(WORKERS.map(|worker| in_shard(&replicas, worker)), [None, None]);
    }

    #[test]
    fn an_entry_that_two_workers_wrote_is_counted() {
        let mut replicas = sharded();
        come(&mut replicas);
        write(&mut replicas, WORKERS[0], 7);
        write(&mut replicas, WORKERS[1], 8);
        replicas.leave(WORKERS[0]);
        assert_eq!((value(&replicas), replicas.divided()), (Some(vec![8; 4]), 1));
    }

    #[test]
    fn of_two_replicas_one_is_changed_after_the_other_and_both_have_all_entries() {
        let mut table = ExactTable::new(32, 4, 2).expect("a table");
        table.insert(5, ActionId(0), &[1; 4]).expect("an entry");
        let mut replicas =
            Replicas::new(table, Synchronisation::DoubleBuffer { wait: Wait::Quiescent })
                .expect("memory");
        let both = |replicas: &mut Replicas, key| -> Vec<_> {
            let each = replicas.all().map(|table| table.read(key).map(|(_, found)| found[0]));
            each.collect()
        };
        assert_eq!(replicas.insert(6, ActionId(0), &[2; 4]), Ok(()));
        assert_eq!(
            (both(&mut replicas, 5), both(&mut replicas, 6)),
            (vec![Some(1); 2], vec![Some(2); 2])
        );
        replicas.change_passive(5, ActionId(1), &[7; 4]);
        assert_eq!(value(&replicas), Some(vec![1; 4]), "packets read the other one");
        replicas.swap();
        assert_eq!(value(&replicas), Some(vec![7; 4]), "packets read what was changed");
        assert_eq!(both(&mut replicas, 5), [Some(7), Some(1)], "and some may read the other still");
        replicas.change_passive(5, ActionId(1), &[7; 4]);
        assert_eq!(value(&replicas), Some(vec![7; 4]));
        assert_eq!(both(&mut replicas, 5), [Some(7), Some(7)]);
        assert_eq!(replicas.take(6), Some((ActionId(0), vec![2; 4])));
        assert_eq!(both(&mut replicas, 6), [None, None]);
    }
}
