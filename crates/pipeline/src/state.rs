//! What a switch remembers from packet to packet.

use crate::dialect::Dialect;
use crate::error::LoadError;
use crate::externs::hash::HashSettings;
use crate::externs::{ChecksumState, ExternState};
use crate::layout::Layout;
use crate::table::{FieldMatch, TableState};
use crate::value::Value;
use ir::{ExternId, TypeId};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

/// A message that a program sent to the control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The `Digest` instance of PSA and PNA.
    pub instance: Option<ExternId>,
    /// The receiver that v1model's `digest` names.
    pub receiver: Option<u64>,
    /// Type of the message; P4Info calls v1model's digests by its name.
    pub type_id: TypeId,
    /// The message.
    pub value: Value,
}

/// A copy that the packet replication engine makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Replica {
    /// Where it goes.
    pub port: u32,
    /// `egress_rid` of v1model, `instance` of PSA.
    pub instance: u16,
}

/// A clone session (`mirroring session` of BMv2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloneSession {
    /// Copies that it makes.
    pub replicas: Vec<Replica>,
    /// And those of this multicast group.
    pub multicast_group: Option<u32>,
    /// Class of service of the copies.
    pub class_of_service: u32,
    /// Most bytes of a copy.
    pub packet_length: Option<u64>,
    /// PNA: copies are the packet as it was before the main control (`PRE_MODIFY`), not as it leaves.
    pub before_main_control: bool,
}

/// The clone session that PSA has from the start (PSA specification, section 6.8).
pub(crate) const PSA_CLONE_SESSION_TO_CPU: u32 = 0;
const PSA_PORT_CPU: u32 = 0xffff_fffd;

/// See the module.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) tables: Vec<TableState>,
    pub(crate) externs: Vec<ExternState>,
    /// What checksum units were given; an instance that is not here is as after `clear`.
    pub(crate) checksums: HashMap<ExternId, ChecksumState>,
    /// By value set and member: one match per field.
    pub(crate) value_sets: Vec<Vec<Vec<FieldMatch>>>,
    pub(crate) hashes: HashSettings,
    pub(crate) digests: Vec<Digest>,
    pub(crate) expire_profiles: BTreeMap<u64, Duration>,
    pub(crate) ports_down: BTreeSet<u32>,
    /// PNA: ports of the host; all others are of the network.
    pub(crate) host_ports: BTreeSet<u32>,
    pub(crate) multicast_groups: BTreeMap<u32, Vec<Replica>>,
    pub(crate) clone_sessions: BTreeMap<u32, CloneSession>,
    pub(crate) flow_ids: u32,
    /// v1model: queues of each port.
    pub(crate) priority_queues: u32,
    random: ChaCha8Rng,
}

impl State {
    pub(crate) fn new(layout: &Layout, seed: u64) -> Result<Self, LoadError> {
        let program = &layout.program;
        let externs = program
            .externs
            .iter()
            .map(|instance| ExternState::new(layout, instance))
            .collect::<Result<Vec<_>, _>>()?;
        let mut tables = Vec::with_capacity(program.tables.len());
        for table in &program.tables {
            let state = TableState::new(layout, table);
            let mut state = state.ok_or(LoadError::Malformed("key or action of a table"))?;
            state.add_program_entries(layout, table).map_err(|(position, cause)| {
                LoadError::Entry { table: table.name.clone(), position, cause }
            })?;
            tables.push(state);
        }
        Ok(Self {
            tables,
            externs,
            checksums: HashMap::new(),
            value_sets: vec![Vec::new(); program.value_sets.len()],
            hashes: HashSettings::default(),
            digests: Vec::new(),
            expire_profiles: BTreeMap::new(),
            ports_down: BTreeSet::new(),
            host_ports: BTreeSet::new(),
            multicast_groups: BTreeMap::new(),
            clone_sessions: match layout.dialect {
                Dialect::Psa => {
                    BTreeMap::from([(PSA_CLONE_SESSION_TO_CPU, Self::clone_session_to_cpu())])
                }
                _ => BTreeMap::new(),
            },
            flow_ids: 0,
            priority_queues: 1,
            random: ChaCha8Rng::seed_from_u64(seed),
        })
    }

    /// One copy to the CPU port.
    pub(crate) fn clone_session_to_cpu() -> CloneSession {
        let replicas = vec![Replica { port: PSA_PORT_CPU, instance: 0 }];
        CloneSession { replicas, ..CloneSession::default() }
    }

    /// A number between both, ends included; `low` if the range is empty.
    pub(crate) fn random_number(&mut self, low: u64, high: u64) -> u64 {
        if low >= high { low } else { self.random.random_range(low..=high) }
    }

    /// Copies of a multicast group.
    pub(crate) fn replicas(&self, group: u32) -> &[Replica] {
        self.multicast_groups.get(&group).map_or(&[], Vec::as_slice)
    }
}
