//! The state that a switch keeps from packet to packet, including what its control plane sets.
//!
//! Workers share the state, and the control plane changes it while they run. Each part has its own
//! lock, which is held for a single step: a lookup, one count, copying the pointer to a group. An
//! object that a packet has obtained (an entry, a group, a clone session) remains complete as long
//! as the packet uses it.
//!
//! Several steps that must be atomic together are protected separately:
//! * `@atomic` blocks, and blocks that use registers in BMv2's dialects: [`State::alone`].
//! * actions that write their entry, if the program requires it (`synced`):
//!   [`crate::table::ActionCell::turn`].
//! * batches of the control plane that must be atomic for packets: [`tables::Gate`].

mod replication;

use crate::dialect::Dialect;
use crate::error::LoadError;
use crate::externs::{ExternState, FlatArray};
use crate::layout::Layout;
use crate::sync::{lock, read, write};
use crate::table::{EntryChanges, FieldMatch, Runs, TableState};
use crate::value::Value;
use ir::bits::Bits;
use ir::hash::HashSettings;
use ir::{ExternId, TypeId};
use replication::Replication;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::time::Duration;
use tables::WorkerGroup;

pub use replication::{Backups, CloneSession, Replica, Replicas};

/// The number that is assigned to the next [`State`] that is created.
static STATES: AtomicU64 = AtomicU64::new(0);

/// A message that a packet has sent to the control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The instance of `Digest` by which a PSA or PNA program sent the message. `None` for v1model.
    pub instance: Option<ExternId>,
    /// The receiver that the call of v1model's `digest` specifies. `None` for other architectures.
    pub receiver: Option<u64>,
    /// The type of the message. P4Info names the digests of v1model after it.
    pub type_id: TypeId,
    /// The contents of the message.
    pub value: Value,
}

/// The number of the clone session that every PSA switch has from the start (PSA specification,
/// section 6.8). It copies packets to the CPU port.
pub(crate) const PSA_CLONE_SESSION_TO_CPU: u32 = 0;
/// The mask for the number of a clone session. Higher bits are ignored (`MIRROR_SESSION_ID_MASK` of
/// simple_switch).
pub(crate) const SESSION_BITS: u64 = 0x7fff;
const PSA_PORT_CPU: u32 = 0xffff_fffd;

/// The state of a switch that lasts from packet to packet. See the [module](self).
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) tables: Vec<TableState>,
    pub(crate) externs: Vec<ExternState>,
    /// The address of the elements of each extern array, by the number of the instance. Machine
    /// code accesses the elements at this address, which is zero if it does not access them.
    pub(crate) arrays: Vec<u64>,
    /// The members of each parser value set of the program.
    pub(crate) value_sets: Vec<RwLock<Arc<ValueSetMembers>>>,
    pub(crate) hashes: RwLock<HashSettings>,
    pub(crate) expire_profiles: RwLock<BTreeMap<u64, Duration>>,
    pub(crate) ports_down: Arc<RwLock<BTreeSet<u32>>>,
    /// PNA: the ports that connect to the host. All other ports are network ports.
    pub(crate) host_ports: RwLock<BTreeSet<u32>>,
    pub(crate) replication: Replication,
    flow_ids: AtomicU32,
    /// v1model: the number of priority queues that each port has.
    pub(crate) priority_queues: AtomicU32,
    /// v1model: the number of packets that this switch has transmitted and that still wait at each
    /// port. Ports for which no number was reported are absent.
    waiting: RwLock<BTreeMap<u32, u32>>,
    /// Whether any number in `waiting` is not zero.
    any_waits: AtomicBool,
    /// The number of queues of each port that has queues of its own.
    port_queues: RwLock<BTreeMap<u32, u32>>,
    /// Whether any port has queues of its own.
    any_queues: AtomicBool,
    /// A number that distinguishes this state from all others of the process. A packet that waits
    /// in a queue keeps it, so that it can only be resumed by the program that it belongs to.
    pub(crate) number: u64,
    alone: Mutex<()>,
    /// The group of the workers that access the tables in their packed form.
    pub(crate) group: Arc<WorkerGroup>,
    /// The changes that packets have requested for their entries and that a controller must make.
    pub(crate) entry_changes: EntryChanges,
}

/// The members of a parser value set. Each has one match for each field.
pub(crate) type ValueSetMembers = Vec<Vec<FieldMatch>>;

/// Returns whether a member of a parser value set matches these numbers, one for each field.
pub(crate) fn is_member(members: &ValueSetMembers, numbers: &[Bits]) -> bool {
    let matches = |member: &Vec<FieldMatch>| {
        member.len() == numbers.len()
            && member.iter().zip(numbers).all(|(wanted, number)| wanted.matches(number))
    };
    members.iter().any(matches)
}

impl State {
    pub(crate) fn new(layout: &Layout) -> Result<Self, LoadError> {
        let program = &layout.program;
        let externs = program
            .externs
            .iter()
            .map(|instance| ExternState::new(layout, instance))
            .collect::<Result<Vec<_>, _>>()?;
        let mut tables = Vec::with_capacity(program.tables.len());
        for table in &program.tables {
            let state = TableState::new(layout, table);
            let state = state.ok_or_else(|| LoadError::internal("key or action of a table"))?;
            state.add_program_entries(layout, table)?;
            tables.push(state);
        }
        let ports_down = Arc::default();
        let replication = Replication::new(Arc::clone(&ports_down));
        if layout.dialect == Dialect::Psa {
            let session = Self::clone_session_to_cpu();
            replication.set_session(PSA_CLONE_SESSION_TO_CPU, Some(session));
        }
        let arrays = externs.iter().map(ExternState::address).collect();
        Ok(Self {
            tables,
            externs,
            arrays,
            value_sets: program.value_sets.iter().map(|_| RwLock::default()).collect(),
            hashes: RwLock::default(),
            expire_profiles: RwLock::default(),
            ports_down,
            host_ports: RwLock::default(),
            replication,
            flow_ids: AtomicU32::new(0),
            priority_queues: AtomicU32::new(1),
            waiting: RwLock::default(),
            any_waits: AtomicBool::new(false),
            port_queues: RwLock::default(),
            any_queues: AtomicBool::new(false),
            number: STATES.fetch_add(1, Ordering::Relaxed),
            alone: Mutex::new(()),
            group: Arc::default(),
            entry_changes: EntryChanges::default(),
        })
    }

    /// Adopts the settings in `previous` that belong to the device rather than to its program.
    pub(crate) fn adopt_settings(&mut self, previous: &Self) {
        write(&self.ports_down).clone_from(&read(&previous.ports_down));
        self.replication.ports_changed();
        self.host_ports = RwLock::new(read(&previous.host_ports).clone());
        self.priority_queues = AtomicU32::new(previous.priority_queues.load(Ordering::Relaxed));
        self.set_port_queues(read(&previous.port_queues).clone());
    }

    /// Returns the number of bytes of the arrays of registers and counters whose elements are
    /// contiguous. All other arrays take memory as they are used.
    pub(crate) fn array_bytes(layout: &Layout) -> u64 {
        let externs = layout.program.externs.iter();
        let arrays = externs.filter_map(|instance| FlatArray::of(layout, instance));
        arrays.map(|array| array.bytes()).fold(0, u64::saturating_add)
    }

    /// Returns a clone session that sends one copy to the CPU port.
    pub(crate) fn clone_session_to_cpu() -> CloneSession {
        let replicas = vec![Replica { port: PSA_PORT_CPU, instance: 0 }];
        CloneSession { replicas, ..CloneSession::default() }
    }

    /// Returns the replicas that are made of a packet for a multicast group. There are none for an
    /// unknown group.
    pub(crate) fn replicas(&self, group: u32) -> Arc<[Replica]> {
        self.replication.replicas(group)
    }

    pub(crate) fn clone_session(&self, session: u32) -> Option<Arc<CloneSession>> {
        self.replication.clone_session(session)
    }

    pub(crate) fn is_up(&self, port: Option<u32>) -> bool {
        port.is_none_or(|port| !read(&self.ports_down).contains(&port))
    }

    /// Changes the set of ports that are down with the function `change`. Members of groups that
    /// watch such ports are not chosen, and replicas for such ports are replaced by their backups.
    pub(crate) fn change_ports_down(&self, change: impl FnOnce(&mut BTreeSet<u32>)) {
        let changed: BTreeSet<u32> = {
            let mut down = write(&self.ports_down);
            let before = down.clone();
            change(&mut down);
            before.symmetric_difference(&down).copied().collect()
        };
        if !changed.is_empty() {
            self.refresh_choosers(&|runs| runs.watches(&changed));
            self.replication.ports_changed();
        }
    }

    /// Rebuilds the lists from which machine code chooses members of action selectors, for those
    /// members and groups for which `has_changed` returns true.
    pub(crate) fn refresh_choosers(&self, has_changed: &dyn Fn(&Runs) -> bool) {
        for packed in self.tables.iter().filter_map(TableState::packed) {
            packed.refresh(has_changed);
        }
    }

    pub(crate) fn is_host_port(&self, port: u32) -> bool {
        read(&self.host_ports).contains(&port)
    }

    /// Returns the timeout of a PNA expire time profile, or `None` if entries with the profile do
    /// not time out.
    pub(crate) fn expire_time(&self, profile: u64) -> Option<Duration> {
        read(&self.expire_profiles).get(&profile).copied()
    }

    /// Returns the number of packets that this switch has transmitted and that still wait at a port
    /// (v1model).
    pub(crate) fn waiting(&self, port: u32) -> u32 {
        match self.any_waits() {
            true => read(&self.waiting).get(&port).copied().unwrap_or(0),
            false => 0,
        }
    }

    /// Returns whether packets that this switch has transmitted still wait at any port (v1model).
    pub(crate) fn any_waits(&self) -> bool {
        self.any_waits.load(Ordering::Relaxed)
    }

    pub(crate) fn set_waiting(&self, port: u32, packets: u32) {
        if packets == 0 && !self.any_waits() {
            return;
        }
        let mut waiting = write(&self.waiting);
        waiting.insert(port, packets);
        self.any_waits.store(waiting.values().any(|packets| *packets > 0), Ordering::Relaxed);
    }

    /// Sets the number of queues of each port that has queues of its own.
    pub(crate) fn set_port_queues(&self, queues: BTreeMap<u32, u32>) {
        self.any_queues.store(!queues.is_empty(), Ordering::Relaxed);
        *write(&self.port_queues) = queues;
    }

    /// Returns whether any port has queues of its own.
    pub(crate) fn any_queues(&self) -> bool {
        self.any_queues.load(Ordering::Relaxed)
    }

    /// Returns the number of queues of a port, or `None` if it has no queues of its own.
    pub(crate) fn port_queues(&self, port: u32) -> Option<u32> {
        match self.any_queues() {
            true => read(&self.port_queues).get(&port).copied(),
            false => None,
        }
    }

    /// Returns a flow identifier for PNA's `allocate_flow_id`. Each call returns the next number.
    pub(crate) fn new_flow_id(&self) -> u32 {
        self.flow_ids.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    /// Returns the flow identifier that [`Self::new_flow_id`] returned last.
    pub(crate) fn last_flow_id(&self) -> u32 {
        self.flow_ids.load(Ordering::Relaxed)
    }

    /// Acquires the lock that blocks hold if they must not run at the same time
    /// ([`Layout::runs_alone`]).
    pub(crate) fn alone(&self) -> MutexGuard<'_, ()> {
        lock(&self.alone)
    }
}
