//! A simulated file system in memory, with faults, and with crashes that lose unsynced data.

use journal::{FileId, Storage, StoredFile};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

const SECTOR: usize = 512;

/// The way in which a simulated process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crash {
    /// `kill -9`: all writes are kept.
    Kill,
    /// A loss of power: each unsynced sector and name is kept or lost independently.
    Power,
    /// A loss of power on a medium that writes in order: unsynced data is kept up to some byte.
    PowerInOrder,
}

/// A fault of later calls.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// The call with this number, from 0, fails or is carried out in part; all others succeed.
    Once(u64),
    /// The process ends in the call with this number, so that all later calls fail.
    Crash(u64),
    /// Writes fail once all files together hold this many bytes.
    Full(usize),
}

/// The file system. Clones share their state.
#[derive(Clone, Debug)]
pub(crate) struct SimulatedDisk(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    random: fastrand::Rng,
    files: BTreeMap<u64, Content>,
    names: BTreeMap<PathBuf, u64>,
    /// The names that are on the medium.
    synced_names: BTreeMap<PathBuf, u64>,
    next: u64,
    fault: Option<Fault>,
    calls: u64,
    /// The number of process starts.
    epoch: u64,
}

#[derive(Debug, Default)]
struct Content {
    bytes: Vec<u8>,
    medium: Vec<u8>,
    dirty: BTreeSet<usize>,
    /// The sectors that a failed sync marked as clean without writing them, as Linux does. Reads
    /// return their content from the cache, later syncs pass them over, and a loss of power takes
    /// them away.
    forgotten: BTreeSet<usize>,
    /// The open file description that has the lock, and the number of its handles.
    lock: Option<(u64, usize)>,
}

/// An open file.
#[derive(Debug)]
pub(crate) struct SimulatedFile {
    disk: SimulatedDisk,
    inode: u64,
    epoch: u64,
    /// The open file description, which duplicated handles share.
    description: u64,
}

impl SimulatedDisk {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(State {
            random: fastrand::Rng::with_seed(seed),
            files: BTreeMap::new(),
            names: BTreeMap::new(),
            synced_names: BTreeMap::new(),
            next: 1,
            fault: None,
            calls: 0,
            epoch: 0,
        })))
    }

    /// Sets the fault of later calls, which are counted from 0.
    pub(crate) fn set_fault(&self, fault: Option<Fault>) {
        let mut state = self.lock();
        state.fault = fault;
        state.calls = 0;
    }

    /// Returns the number of calls since the fault was set.
    pub(crate) fn calls(&self) -> u64 {
        self.lock().calls
    }

    /// Returns the number of bytes of all files.
    pub(crate) fn used(&self) -> usize {
        self.lock().used()
    }

    /// Returns whether the process has ended in a call.
    pub(crate) fn has_crashed(&self) -> bool {
        let state = self.lock();
        matches!(state.fault, Some(Fault::Crash(last)) if state.calls > last)
    }

    /// Forgets the content of files without a name, which no process has open.
    pub(crate) fn forget_removed(&self) {
        let mut guard = self.lock();
        let state = &mut *guard;
        let has_name = |inode: &u64| {
            state.names.values().chain(state.synced_names.values()).any(|named| named == inode)
        };
        state.files.retain(|inode, _| has_name(inode));
    }

    /// Simulates the end of the process that owns the journal, and the start of the next one.
    pub(crate) fn reboot(&self, crash: Crash) {
        let mut guard = self.lock();
        let state = &mut *guard;
        state.epoch += 1;
        state.fault = None;
        for content in state.files.values_mut() {
            content.lock = None;
        }
        if crash == Crash::Kill {
            return;
        }
        for content in state.files.values_mut() {
            content.lose_power(crash, &mut state.random);
        }
        let changed: BTreeSet<_> =
            state.names.keys().chain(state.synced_names.keys()).cloned().collect();
        for name in changed {
            let (now, then) = (state.names.get(&name), state.synced_names.get(&name).copied());
            if now.copied() != then && state.random.bool() {
                match then {
                    Some(inode) => state.names.insert(name, inode),
                    None => state.names.remove(&name),
                };
            }
        }
        state.synced_names = state.names.clone();
    }

    pub(crate) fn read(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.lock();
        let inode = state.names.get(path)?;
        state.files.get(inode).map(|content| content.bytes.clone())
    }

    pub(crate) fn write(&self, path: &Path, bytes: Vec<u8>) {
        let mut state = self.lock();
        let inode = state.inode_of(path);
        let content = state.files.entry(inode).or_default();
        content.medium = bytes.clone();
        content.bytes = bytes;
        content.dirty.clear();
        content.forgotten.clear();
        state.synced_names.insert(path.to_owned(), inode);
    }

    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.lock().names.keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no test panicked with it")
    }

    fn opened(&self, inode: u64, state: &mut State) -> SimulatedFile {
        state.next += 1;
        let description = state.next;
        SimulatedFile { disk: self.clone(), inode, epoch: state.epoch, description }
    }
}

/// The extent to which a call is carried out.
enum Turn {
    Whole,
    /// The call fails after a part of it was carried out, if it has parts.
    Failing,
}

impl State {
    fn turn(&mut self) -> io::Result<Turn> {
        let call = self.calls;
        self.calls += 1;
        match self.fault {
            Some(Fault::Once(failing)) if call == failing => Ok(Turn::Failing),
            Some(Fault::Crash(last)) if call == last => Ok(Turn::Failing),
            Some(Fault::Crash(last)) if call > last => Err(ended()),
            _ => Ok(Turn::Whole),
        }
    }

    /// Counts a call that cannot be carried out in part; returns an error if the call fails.
    fn carried_out(&mut self) -> io::Result<()> {
        match self.turn()? {
            Turn::Whole => Ok(()),
            Turn::Failing => Err(io::Error::other("simulated fault")),
        }
    }

    fn used(&self) -> usize {
        self.files.values().map(|content| content.bytes.len()).sum()
    }

    fn inode_of(&mut self, path: &Path) -> u64 {
        if let Some(inode) = self.names.get(path) {
            return *inode;
        }
        self.next += 1;
        self.names.insert(path.to_owned(), self.next);
        self.files.insert(self.next, Content::default());
        self.next
    }
}

impl Content {
    fn lose_power(&mut self, crash: Crash, random: &mut fastrand::Rng) {
        if crash == Crash::PowerInOrder {
            // Overwritten sectors are kept or lost independently in any case.
            let longer = self.bytes.len().saturating_sub(self.medium.len());
            let kept = self.medium.len() + random.usize(0..=longer);
            let length = kept.min(self.bytes.len().max(self.medium.len()));
            let mut after = self.bytes.clone();
            after.truncate(length);
            let old = self.medium.len().min(after.len());
            for sector in 0..old.div_ceil(SECTOR) {
                if self.dirty.contains(&sector) && random.bool() {
                    let range = sector * SECTOR..((sector + 1) * SECTOR).min(old);
                    after[range.clone()].copy_from_slice(&self.medium[range]);
                }
            }
            self.bytes = after;
        } else {
            let (short, long) =
                (self.medium.len().min(self.bytes.len()), self.medium.len().max(self.bytes.len()));
            let length = random.usize(short..=long);
            let mut after = self.medium.clone();
            after.resize(length, 0);
            for sector in &self.dirty {
                let range = sector * SECTOR..((sector + 1) * SECTOR).min(length);
                if random.bool()
                    && let (Some(to), Some(from)) =
                        (after.get_mut(range.clone()), self.bytes.get(range))
                {
                    to.copy_from_slice(from);
                }
            }
            self.bytes = after;
        }
        for sector in std::mem::take(&mut self.forgotten) {
            let range = sector * SECTOR..((sector + 1) * SECTOR).min(self.bytes.len());
            let Some(lost) = self.bytes.get_mut(range.clone()) else { continue };
            lost.fill(0);
            let kept = range.start..range.end.min(self.medium.len());
            if let Some(old) = self.medium.get(kept) {
                lost[..old.len()].copy_from_slice(old);
            }
        }
        self.medium = self.bytes.clone();
        self.dirty.clear();
    }

    /// Records that these bytes were written, or cut off.
    fn touch(&mut self, bytes: std::ops::Range<usize>) {
        for sector in bytes.start / SECTOR..bytes.end.div_ceil(SECTOR) {
            self.forgotten.remove(&sector);
            self.dirty.insert(sector);
        }
    }

    /// Writes the dirty sectors to the medium.
    fn write_back(&mut self) {
        self.medium.resize(self.bytes.len(), 0);
        for sector in std::mem::take(&mut self.dirty) {
            let range = sector * SECTOR..((sector + 1) * SECTOR).min(self.bytes.len());
            if let Some(written) = self.bytes.get(range.clone()) {
                self.medium[range].copy_from_slice(written);
            }
        }
    }

    /// Marks some of the dirty sectors as clean.
    fn forget_some(&mut self, random: &mut fastrand::Rng) {
        let (forgotten, dirty) =
            std::mem::take(&mut self.dirty).into_iter().partition(|_| random.bool());
        self.dirty = dirty;
        self.forgotten.extend::<BTreeSet<usize>>(forgotten);
    }
}

fn ended() -> io::Error {
    io::Error::other("the process has ended")
}

impl Storage for SimulatedDisk {
    type File = SimulatedFile;

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }

    fn open(&self, path: &Path) -> io::Result<SimulatedFile> {
        let mut state = self.lock();
        state.carried_out()?;
        let inode = state.inode_of(path);
        Ok(self.opened(inode, &mut state))
    }

    fn create_new(&self, path: &Path) -> io::Result<SimulatedFile> {
        let mut state = self.lock();
        state.carried_out()?;
        if state.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let inode = state.inode_of(path);
        Ok(self.opened(inode, &mut state))
    }

    fn identity(&self, path: &Path) -> io::Result<FileId> {
        let mut state = self.lock();
        state.carried_out()?;
        let inode = state.names.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(FileId { device: 1, inode: *inode })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.carried_out()?;
        let inode = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.to_owned(), inode);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.carried_out()?;
        state.names.remove(path).map(|_| ()).ok_or(io::ErrorKind::NotFound.into())
    }

    fn siblings(&self, _path: &Path) -> io::Result<Vec<PathBuf>> {
        let mut state = self.lock();
        state.carried_out()?;
        Ok(state.names.keys().cloned().collect())
    }

    fn sync_directory(&self, _of: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.carried_out()?;
        state.synced_names = state.names.clone();
        Ok(())
    }

    fn random(&self) -> u64 {
        self.lock().random.u64(..)
    }
}

impl SimulatedFile {
    fn state(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.disk.lock();
        if state.epoch == self.epoch { Ok(state) } else { Err(ended()) }
    }
}

impl StoredFile for SimulatedFile {
    fn try_lock(&self) -> io::Result<()> {
        let mut state = self.state()?;
        state.carried_out()?;
        let content = state.files.get_mut(&self.inode).expect("an open file is there");
        match content.lock {
            Some((owner, _)) if owner != self.description => Err(io::ErrorKind::WouldBlock.into()),
            Some(_) => Ok(()),
            None => {
                content.lock = Some((self.description, 1));
                Ok(())
            }
        }
    }

    fn identity(&self) -> io::Result<FileId> {
        self.state()?.carried_out()?;
        Ok(FileId { device: 1, inode: self.inode })
    }

    fn length(&self) -> io::Result<u64> {
        let mut state = self.state()?;
        state.carried_out()?;
        Ok(state.files[&self.inode].bytes.len() as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.state()?;
        state.carried_out()?;
        let bytes = &state.files[&self.inode].bytes;
        let found = bytes.get(offset as usize..).unwrap_or_default();
        let count = found.len().min(buffer.len());
        buffer[..count].copy_from_slice(&found[..count]);
        Ok(count)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let mut guard = self.state()?;
        let state = &mut *guard;
        let turn = state.turn()?;
        let used = state.used();
        let fits = match state.fault {
            Some(Fault::Full(room)) => room.saturating_sub(used),
            _ => bytes.len(),
        };
        // A failing write may be carried out in part, and a successful one may be short.
        let count = match turn {
            Turn::Failing => state.random.usize(0..=bytes.len()),
            Turn::Whole if bytes.len() > 1 && state.random.u8(..) < 32 => {
                state.random.usize(1..bytes.len())
            }
            Turn::Whole => bytes.len(),
        };
        let count = count.min(fits);
        let content = state.files.get_mut(&self.inode).expect("an open file is there");
        let start = offset as usize;
        if content.bytes.len() < start + count {
            content.bytes.resize(start + count, 0);
        }
        content.bytes[start..start + count].copy_from_slice(&bytes[..count]);
        content.touch(start..start + count);
        match turn {
            Turn::Failing => Err(io::ErrorKind::StorageFull.into()),
            Turn::Whole if count == 0 => Err(io::ErrorKind::StorageFull.into()),
            Turn::Whole => Ok(count),
        }
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        let mut state = self.state()?;
        state.carried_out()?;
        let content = state.files.get_mut(&self.inode).expect("an open file is there");
        content.bytes.resize(length as usize, 0);
        content.touch(length as usize..length as usize + 1);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut guard = self.state()?;
        let state = &mut *guard;
        let carried_out = state.carried_out();
        let content = state.files.get_mut(&self.inode).expect("an open file is there");
        match &carried_out {
            Ok(()) => content.write_back(),
            Err(_) if matches!(state.fault, Some(Fault::Once(_))) => {
                content.forget_some(&mut state.random);
            }
            // The process ends before the medium reports anything.
            Err(_) => {}
        }
        carried_out
    }

    fn handle(&self) -> io::Result<Self> {
        let mut state = self.state()?;
        state.carried_out()?;
        if let Some(Content { lock: Some((owner, handles)), .. }) = state.files.get_mut(&self.inode)
            && *owner == self.description
        {
            *handles += 1;
        }
        let Self { inode, epoch, description, .. } = *self;
        Ok(Self { disk: self.disk.clone(), inode, epoch, description })
    }
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        let Ok(mut state) = self.state() else { return };
        let Some(content) = state.files.get_mut(&self.inode) else { return };
        if let Some((owner, handles)) = &mut content.lock
            && *owner == self.description
        {
            *handles -= 1;
            if *handles == 0 {
                content.lock = None;
            }
        }
    }
}
