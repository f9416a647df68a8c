//! The packed form of a table's entries, in which machine code finds and writes them. The program
//! chooses the storage of the crate `tables` with `@tableconfig`; the default is inline.
//!
//! A table gets a packed form, in addition to its other state, once its program has been compiled
//! ([`super::TableState::activate`]). From then on the action of an entry is stored only in the
//! packed form: the entry's [`super::ActionCell`] holds the key by which the interpreter and the
//! control plane reach the action. Members of action profiles are the exception: their packed
//! actions are copies. A change of an entry takes effect here before the change returns, so that
//! the next packet finds it without any deferred work ([`tables::WorkerGroup::changes`]).
//!
//! [`PackedTable`] defines which thread may access the entries when, and how replicas of them are
//! kept. This module translates the program's actions and matches to packed ones and back.

mod choosing;

pub(crate) use self::choosing::{Chooser, Choosing, Member, NO_ACTION};

use super::entry::ActionCall;
use super::packing::{EntryLayout, PackedAction};
use super::stored::{EntryState, Stored};
use crate::sync::lock;
use crate::value::Value;
use ir::{ActionId, EntryStore, Replicas, TableStorage, UpdateMethod};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use tables::{
    Design, EntryLock, Keys, Match, PackedTable, Storage, Synchronisation, TableError,
    TableSettings, Wait, WorkerGroup,
};

/// The position of an action in the table's list of actions, and the bytes of its parameters.
type ActionData = (u16, Arc<[u8]>);

/// The entries of one table in the form in which machine code reads them. See the [module](self).
#[derive(Debug)]
pub(crate) struct CompiledTable {
    pub(crate) layout: Arc<EntryLayout>,
    entries: PackedTable,
    /// The position of each entry's action in the table's list and the action's parameters, by the
    /// entry's key. Empty unless entries hold only the addresses of parameters.
    data: Mutex<HashMap<u128, ActionData>>,
    /// The lists from which packets choose members, if entries run members of an action profile.
    choosing: Option<Choosing>,
}

impl Deref for CompiledTable {
    type Target = PackedTable;

    fn deref(&self) -> &PackedTable {
        &self.entries
    }
}

impl CompiledTable {
    pub(super) fn new(
        layout: Arc<EntryLayout>,
        group: &Arc<WorkerGroup>,
        storage: TableStorage,
        size: usize,
        choosing: Option<Choosing>,
    ) -> Result<Arc<Self>, TableError> {
        let keys = match layout.fields() {
            None => Keys::Exact { bits: layout.key_bits },
            Some(fields) => Keys::Fields { fields, size },
        };
        let settings = TableSettings {
            design: design(storage, &layout),
            keys,
            parameter_bytes: layout.parameter_bytes as usize,
            // A layout has at most 63 actions.
            actions: u16::try_from(layout.actions.len()).unwrap_or(u16::MAX),
            writing: layout.writing(),
            writes_words: layout.writes_words(),
        };
        let entries = PackedTable::new(group, &settings)?;
        Ok(Arc::new(Self { layout, entries, data: Mutex::default(), choosing }))
    }

    /// Inserts an entry with its action. Returns the key under which it is stored, or `None` if
    /// there is no space or the layout cannot hold the entry.
    pub(super) fn insert(&self, entry: &Arc<Stored>, call: &ActionCall) -> Option<u128> {
        let PackedAction { position, bytes, data } = self.layout.pack(call)?;
        let key = self.put_in(entry, position, bytes)?;
        if let Some(data) = data {
            lock(&self.data).insert(key, (position, data));
        }
        Some(key)
    }

    /// Inserts an entry with the given packed parameters, `bytes`. Returns the key under which it
    /// is stored, or `None` if there is no space.
    fn put_in(&self, entry: &Arc<Stored>, action: u16, mut bytes: [u8; 32]) -> Option<u128> {
        self.layout.set_owner(&mut bytes, entry.account_address());
        let (action, parameters) = (tables::ActionId(action), self.parameters(&bytes));
        if self.layout.fields().is_none() {
            let key = self.layout.pack_key(&entry.matches)?;
            return self.entries.insert(Match::Exact(key), action, parameters).ok();
        }
        let fields = &self.layout.field_matches(&entry.matches)?;
        // Of equal entries the oldest wins, and handles increase with time.
        let of = Match::Fields { fields, priority: entry.priority, order: entry.handle.0 };
        self.entries.insert(of, action, parameters).ok()
    }

    /// Sets how changes wait before they go from one replica to the other. If entries hold
    /// addresses of parameters, changes always wait for packets: after a fixed time, a packet that
    /// follows an address could read parameters that have been freed.
    pub(super) fn set_wait(&self, wait: Wait) {
        self.entries.set_wait(if self.layout.by_address { Wait::Quiescent } else { wait });
    }

    /// Removes the entry with this key. Returns the action that it had.
    pub(super) fn take(&self, key: u128) -> Option<ActionCall> {
        // Packets may read the parameters until the entry has been removed.
        let kept = lock(&self.data).remove(&key);
        let (action, bytes) = self.entries.take(key)?;
        self.unpack(kept, action.0, &bytes)
    }

    pub(super) fn read(&self, key: u128) -> Option<ActionCall> {
        if self.layout.by_address {
            let (position, data) = lock(&self.data).get(&key).cloned()?;
            return self.layout.unpack(position, &data);
        }
        let (action, bytes) = self.entries.read(key)?;
        self.layout.unpack(action.0, &bytes)
    }

    /// Replaces the action of the entry with this key. Returns the previous action.
    pub(super) fn replace(&self, key: u128, call: &ActionCall) -> Option<ActionCall> {
        let PackedAction { position, bytes: mut packed, data } = self.layout.pack(call)?;
        let (action, bytes) = self.entries.change(key, |_, bytes| {
            self.layout.keep_owner(&mut packed, bytes);
            Some((tables::ActionId(position), self.parameters(&packed).to_vec()))
        })?;
        // The change has ended, so no packet reads the previous parameters any more.
        let before = data.and_then(|data| lock(&self.data).insert(key, (position, data)));
        self.unpack(before, action.0, &bytes)
    }

    /// Returns the action of an entry, given the action's position in the table's list and the
    /// bytes of the entry. If the entry held the address of its parameters, `behind` is the action
    /// with the parameters at that address.
    fn unpack(
        &self,
        behind: Option<ActionData>,
        position: u16,
        bytes: &[u8],
    ) -> Option<ActionCall> {
        match behind {
            Some((position, data)) => self.layout.unpack(position, &data),
            None if self.layout.by_address => None,
            None => self.layout.unpack(position, bytes),
        }
    }

    /// Writes an action's changed parameters to the entry with this key. Does nothing if the entry
    /// has another action by now.
    pub(super) fn leave(&self, key: u128, action: ActionId, values: &[(usize, Value)]) {
        self.entries.change(key, |position, bytes| {
            let is_it = self.layout.position(action) == Some(position.0);
            is_it.then(|| {
                let mut bytes = bytes.to_vec();
                self.layout.write(position.0, &mut bytes, values);
                (position, bytes)
            })
        });
    }

    /// Adds the packets and bytes that machine code has counted for an entry to the entry's
    /// counters.
    pub(super) fn settle(&self, entry: &Stored, state: &mut EntryState) {
        // Most entries of a large table have no pending counts, and packets need not be stopped for
        // them.
        let counted = entry.tally().filter(|tally| self.layout.counts && !tally.is_empty());
        if let Some(tally) = counted {
            self.group().alone(|| tally.settle(&mut state.directs));
        }
    }

    /// Returns the packed action of any entry, or `None` if the table is empty.
    pub(crate) fn any(&self) -> Option<PackedAction> {
        let mut bytes = [0; 32];
        if self.layout.by_address {
            let (position, data) = lock(&self.data).values().next().cloned()?;
            let address = data.as_ptr().expose_provenance().to_ne_bytes();
            bytes.iter_mut().zip(address).for_each(|(to, from)| *to = from);
            return Some(PackedAction { position, bytes, data: Some(data) });
        }
        let (action, values) = self.entries.any()?;
        bytes.iter_mut().zip(values).for_each(|(byte, value)| *byte = value);
        Some(PackedAction { position: action.0, bytes, data: None })
    }

    fn parameters<'b>(&self, bytes: &'b [u8; 32]) -> &'b [u8] {
        bytes.get(..self.layout.parameter_bytes as usize).unwrap_or(bytes)
    }
}

/// Returns the design with which the crate `tables` stores a packed table. It is the one that
/// `@tableconfig` specifies, simplified if packets do not write entries.
pub(crate) fn design(storage: TableStorage, layout: &EntryLayout) -> Design {
    let design = table_design(storage);
    if layout.writing() == 0 { design.without_writers() } else { design }
}

/// Returns the design in the crate `tables` that a table's `@tableconfig` specifies.
#[must_use]
pub fn table_design(storage: TableStorage) -> Design {
    let TableStorage { store, replicas, update, synchronised } = storage;
    let storage = match store {
        Some(EntryStore::Original) => Storage::Original,
        Some(EntryStore::Dynamic) => Storage::Dynamic,
        Some(EntryStore::Static) => Storage::Static,
        Some(EntryStore::Inline) | None => Storage::Inline,
    };
    let synchronisation = match replicas {
        Replicas::One => Synchronisation::Optimistic,
        Replicas::Two => Synchronisation::DoubleBuffer { wait: Wait::Quiescent },
        Replicas::Sharded => Synchronisation::sharded(1),
    };
    let update = match update {
        UpdateMethod::Pointer => tables::UpdateMethod::Pointer,
        UpdateMethod::Change => tables::UpdateMethod::Change,
        UpdateMethod::Digest => tables::UpdateMethod::Digest,
    };
    let entry_lock = if synchronised { EntryLock::PerEntry } else { EntryLock::None };
    Design { storage, synchronisation, entry_lock, update }
}
