//! The state that a switch keeps from packet to packet, and the settings of its control plane.
//!
//! Workers share the state, and the control plane changes it while they run. Each part has its own
//! lock, which is held for a single step: a lookup, one count, copying the pointer to a group. The
//! objects that a packet has obtained (an entry, a group, a clone session) remain complete as long
//! as the packet uses them.
//!
//! Steps that must be atomic together are protected separately:
//! * `@atomic` blocks, and blocks that use registers in BMv2's dialects: [`State::alone`].
//! * actions that write their entry, if the program requires it (`synced`):
//!   [`crate::table::ActionCell::turn`].
//! * batches of the control plane that must be atomic for packets: [`tables::Gate`].

use crate::dialect::Dialect;
use crate::error::LoadError;
use crate::externs::hash::HashSettings;
use crate::externs::{ExternState, FlatArray};
use crate::layout::Layout;
use crate::sync::{lock, read, write};
use crate::table::{EntryChanges, FieldMatch, Runs, TableState};
use crate::value::Value;
use ir::bits::Bits;
use ir::{ExternId, TypeId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::time::Duration;
use tables::WorkerGroup;

/// A message that a program sent to the control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The `Digest` instance of PSA and PNA.
    pub instance: Option<ExternId>,
    /// The receiver that v1model's `digest` names.
    pub receiver: Option<u64>,
    /// The type of the message. P4Info names v1model's digests after it.
    pub type_id: TypeId,
    /// The message.
    pub value: Value,
}

/// A copy that the packet replication engine makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Replica {
    /// The port to which the copy goes.
    pub port: u32,
    /// The number of the copy: `egress_rid` of v1model, `instance` of PSA.
    pub instance: u16,
}

/// A clone session (`mirroring session` of BMv2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloneSession {
    /// The copies that the session makes.
    pub replicas: Vec<Replica>,
    /// A multicast group whose copies the session makes in addition.
    pub multicast_group: Option<u32>,
    /// The class of service of the copies.
    pub class_of_service: u32,
    /// The maximum number of bytes of a copy.
    pub packet_length: Option<u64>,
    /// PNA: whether copies have the contents from before the main control (`PRE_MODIFY`), rather
    /// than those of the outgoing packet.
    pub before_main_control: bool,
}

/// The clone session that PSA has from the start (PSA specification, section 6.8).
pub(crate) const PSA_CLONE_SESSION_TO_CPU: u32 = 0;
/// The bits of a clone session's number that are used (`MIRROR_SESSION_ID_MASK` of simple_switch).
pub(crate) const SESSION_BITS: u64 = 0x7fff;
const PSA_PORT_CPU: u32 = 0xffff_fffd;

/// The state of a switch. See the [module](self).
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) tables: Vec<TableState>,
    pub(crate) externs: Vec<ExternState>,
    /// The address of each extern's elements for machine code, or zero.
    pub(crate) arrays: Vec<u64>,
    /// The members of each parser value set.
    pub(crate) value_sets: Vec<RwLock<Arc<ValueSetMembers>>>,
    pub(crate) hashes: RwLock<HashSettings>,
    pub(crate) expire_profiles: RwLock<BTreeMap<u64, Duration>>,
    pub(crate) ports_down: Arc<RwLock<BTreeSet<u32>>>,
    /// PNA: the ports of the host. All other ports are network ports.
    pub(crate) host_ports: RwLock<BTreeSet<u32>>,
    pub(crate) multicast_groups: RwLock<BTreeMap<u32, Arc<[Replica]>>>,
    pub(crate) clone_sessions: RwLock<BTreeMap<u32, Arc<CloneSession>>>,
    flow_ids: AtomicU32,
    /// v1model: the number of queues of each port.
    pub(crate) priority_queues: AtomicU32,
    /// v1model: the number of packets that wait for each port after this switch. Ports for which no
    /// number was reported are absent.
    waiting: RwLock<BTreeMap<u32, u32>>,
    /// Whether packets wait for any port.
    any_waits: AtomicBool,
    alone: Mutex<()>,
    /// The workers that machine code serves, and their access to the tables.
    pub(crate) group: Arc<WorkerGroup>,
    /// The changes of entries that a controller must make.
    pub(crate) entry_changes: EntryChanges,
}

/// The members of a value set, each with one match per field.
pub(crate) type ValueSetMembers = Vec<Vec<FieldMatch>>;

/// Whether a member of a value set matches these numbers.
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
        let clone_sessions = match layout.dialect {
            Dialect::Psa => {
                BTreeMap::from([(PSA_CLONE_SESSION_TO_CPU, Arc::new(Self::clone_session_to_cpu()))])
            }
            _ => BTreeMap::new(),
        };
        let arrays = externs.iter().map(ExternState::address).collect();
        Ok(Self {
            tables,
            externs,
            arrays,
            value_sets: program.value_sets.iter().map(|_| RwLock::default()).collect(),
            hashes: RwLock::default(),
            expire_profiles: RwLock::default(),
            ports_down: Arc::default(),
            host_ports: RwLock::default(),
            multicast_groups: RwLock::default(),
            clone_sessions: RwLock::new(clone_sessions),
            flow_ids: AtomicU32::new(0),
            priority_queues: AtomicU32::new(1),
            waiting: RwLock::default(),
            any_waits: AtomicBool::new(false),
            alone: Mutex::new(()),
            group: Arc::default(),
            entry_changes: EntryChanges::default(),
        })
    }

    /// Returns the memory in bytes that flat arrays of registers and counters take from the start.
    /// Other arrays take memory as they are used.
    pub(crate) fn array_bytes(layout: &Layout) -> u64 {
        let externs = layout.program.externs.iter();
        let arrays = externs.filter_map(|instance| FlatArray::of(layout, instance));
        arrays.map(|array| array.bytes()).fold(0, u64::saturating_add)
    }

    /// Returns a session that makes one copy, for the CPU port.
    pub(crate) fn clone_session_to_cpu() -> CloneSession {
        let replicas = vec![Replica { port: PSA_PORT_CPU, instance: 0 }];
        CloneSession { replicas, ..CloneSession::default() }
    }

    /// Returns the copies of a multicast group.
    pub(crate) fn replicas(&self, group: u32) -> Arc<[Replica]> {
        read(&self.multicast_groups).get(&group).cloned().unwrap_or_default()
    }

    pub(crate) fn clone_session(&self, session: u32) -> Option<Arc<CloneSession>> {
        read(&self.clone_sessions).get(&session).cloned()
    }

    pub(crate) fn is_up(&self, port: Option<u32>) -> bool {
        port.is_none_or(|port| !read(&self.ports_down).contains(&port))
    }

    /// Changes the set of ports that are down.
    pub(crate) fn change_ports_down(&self, change: impl FnOnce(&mut BTreeSet<u32>)) {
        let changed: BTreeSet<u32> = {
            let mut down = write(&self.ports_down);
            let before = down.clone();
            change(&mut down);
            before.symmetric_difference(&down).copied().collect()
        };
        if !changed.is_empty() {
            self.refresh_choosers(&|runs| runs.watches(&changed));
        }
    }

    /// Rebuilds the choosers for members and groups that have changed.
    pub(crate) fn refresh_choosers(&self, has_changed: &dyn Fn(&Runs) -> bool) {
        for packed in self.tables.iter().filter_map(TableState::packed) {
            packed.refresh(has_changed);
        }
    }

    pub(crate) fn is_host_port(&self, port: u32) -> bool {
        read(&self.host_ports).contains(&port)
    }

    /// Returns the timeout of an expire time profile of PNA.
    pub(crate) fn expire_time(&self, profile: u64) -> Option<Duration> {
        read(&self.expire_profiles).get(&profile).copied()
    }

    /// v1model: returns the number of packets that wait for a port after this switch.
    pub(crate) fn waiting(&self, port: u32) -> u32 {
        match self.any_waits() {
            true => read(&self.waiting).get(&port).copied().unwrap_or(0),
            false => 0,
        }
    }

    /// v1model: whether packets wait for any port.
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

    /// Returns the next flow identifier.
    pub(crate) fn new_flow_id(&self) -> u32 {
        self.flow_ids.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    /// Acquires the lock of blocks of the package that must not run at the same time
    /// ([`Layout::runs_alone`]).
    pub(crate) fn alone(&self) -> MutexGuard<'_, ()> {
        lock(&self.alone)
    }
}
