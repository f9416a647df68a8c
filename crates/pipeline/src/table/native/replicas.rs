//! The packed entries of a table: once for all workers, or once more for each of them (`impl = "sharded"`).
//!
//! Of a sharded table each worker has a shard with all entries, which only its packets read and write; nothing is locked
//! and no line of memory goes from core to core. What the control plane writes goes to all shards and to the home, which
//! no packet touches. So what packets wrote of an entry is what a shard has that the home has not. As long as the packets
//! that write one entry stay with one worker, as those of a flow do, that is one value, and this is what is read. When a
//! worker goes, what its packets wrote goes home, and to the shards of those whose packets did not write that entry.

use super::WorkerId;
use std::collections::BTreeMap;
use tables::{Access, ActionId, ExactTable, ExactTableError, Sharing};

/// See the module.
#[derive(Debug)]
pub(super) struct Replicas {
    home: ExactTable,
    /// If the table is sharded.
    shards: Option<BTreeMap<WorkerId, ExactTable>>,
    divided: u64,
}

impl Replicas {
    pub(super) fn new(home: ExactTable, sharded: bool) -> Self {
        Self { home, shards: sharded.then(BTreeMap::new), divided: 0 }
    }

    pub(super) fn is_sharded(&self) -> bool {
        self.shards.is_some()
    }

    /// Entries that packets of several workers wrote, as far as workers that went can tell: their flows did not stay with
    /// one worker, and each went on from its own value.
    pub(super) fn divided(&self) -> u64 {
        self.divided
    }

    /// A worker comes.
    pub(super) fn join(&mut self, worker: WorkerId) -> Result<(), ExactTableError> {
        if let Some(shards) = &mut self.shards {
            shards.insert(worker, self.home.copied()?);
        }
        Ok(())
    }

    /// A worker goes. Packets must be outside.
    pub(super) fn leave(&mut self, worker: WorkerId) {
        let Self { home, shards, divided } = self;
        let Some(shards) = shards else { return };
        let Some(shard) = shards.remove(&worker) else { return };
        shard.for_each(|key, action, parameters| {
            let Some(before) = home.read(key) else { return };
            if before.0 == action && before.1 == parameters {
                return;
            }
            let mut others_wrote = false;
            for other in shards.values_mut() {
                if other.read(key).as_ref() == Some(&before) {
                    other.replace(key, action, parameters);
                } else {
                    others_wrote = true;
                }
            }
            *divided += u64::from(others_wrote);
            home.replace(key, action, parameters);
        });
    }

    fn all(&mut self) -> impl Iterator<Item = &mut ExactTable> {
        let shards = self.shards.iter_mut().flat_map(BTreeMap::values_mut);
        shards.chain(std::iter::once(&mut self.home))
    }

    /// Adds an entry; whether there was room in all.
    pub(super) fn insert(&mut self, key: u128, action: ActionId, parameters: &[u8]) -> bool {
        let mut has = 0;
        let fits = self.all().all(|table| {
            let fits = table.insert(key, action, parameters).is_ok();
            has += usize::from(fits);
            fits
        });
        if !fits {
            self.all().take(has).for_each(|table| {
                table.remove(key);
            });
        }
        fits
    }

    /// Takes an entry out, as packets left it.
    pub(super) fn take(&mut self, key: u128) -> Option<(ActionId, Vec<u8>)> {
        let found = self.read(key)?;
        self.all().for_each(|table| {
            table.remove(key);
        });
        Some(found)
    }

    /// An entry as packets left it; where those of several workers wrote it, as those of the first did.
    pub(super) fn read(&self, key: u128) -> Option<(ActionId, Vec<u8>)> {
        let home = self.home.read(key)?;
        let mut shards = self.shards.iter().flat_map(BTreeMap::values);
        let written = shards.find_map(|shard| shard.read(key).filter(|found| *found != home));
        Some(written.unwrap_or(home))
    }

    pub(super) fn replace(&mut self, key: u128, action: ActionId, parameters: &[u8]) {
        self.all().for_each(|table| {
            table.replace(key, action, parameters);
        });
    }

    /// How a worker reaches the entries that came here.
    pub(super) fn access(&self, worker: WorkerId, sharing: Sharing, writing: u64) -> Access {
        let own = self.shards.as_ref().map(|shards| shards.get(&worker));
        debug_assert!(own.is_none_or(|own| own.is_some()), "a worker without a shard");
        own.flatten().unwrap_or(&self.home).access(sharing, writing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKERS: [WorkerId; 2] = [WorkerId(1), WorkerId(2)];

    fn sharded() -> Replicas {
        let mut table = ExactTable::new(32, 4, 2).expect("a table");
        table.insert(5, ActionId(0), &[1; 4]).expect("an entry");
        Replicas::new(table, true)
    }

    fn come(replicas: &mut Replicas) {
        for worker in WORKERS {
            replicas.join(worker).expect("memory");
        }
    }

    /// As a packet of a worker does.
    fn write(replicas: &mut Replicas, worker: WorkerId, value: u8) {
        let shard = replicas.shards.as_mut().and_then(|shards| shards.get_mut(&worker));
        assert!(shard.expect("a shard").replace(5, ActionId(0), &[value; 4]));
    }

    fn in_shard(replicas: &Replicas, worker: WorkerId) -> Option<Vec<u8>> {
        let shard = replicas.shards.as_ref()?.get(&worker)?;
        shard.read(5).map(|(_, parameters)| parameters)
    }

    fn value(replicas: &Replicas) -> Option<Vec<u8>> {
        replicas.read(5).map(|(_, parameters)| parameters)
    }

    #[test]
    fn what_the_packets_of_one_worker_wrote_is_read_and_outlives_the_worker() {
        let mut replicas = sharded();
        come(&mut replicas);
        assert_eq!(value(&replicas), Some(vec![1; 4]));
        write(&mut replicas, WORKERS[1], 7);
        assert_eq!(value(&replicas), Some(vec![7; 4]));
        assert_eq!(in_shard(&replicas, WORKERS[0]), Some(vec![1; 4]));
        replicas.leave(WORKERS[1]);
        assert_eq!((value(&replicas), replicas.divided()), (Some(vec![7; 4]), 0));
        // The flow may go on with another worker.
        assert_eq!(in_shard(&replicas, WORKERS[0]), Some(vec![7; 4]));
        replicas.join(WORKERS[1]).expect("memory");
        assert_eq!(in_shard(&replicas, WORKERS[1]), Some(vec![7; 4]));
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
            replicas.insert(6, ActionId(0), &[3; 4]) && !replicas.insert(6, ActionId(0), &[4; 4])
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
}
