//! The control plane's operations on multicast groups, clone sessions, value sets and ports, and
//! the settings of the switch.

use super::{Done, unknown};
use crate::error::ControlError;
use crate::state::{CloneSession, Replica, Replicas};
use crate::switch::Core;
use crate::sync::{read, write};
use crate::table::{FieldMatch, KeyShape};
use ir::{MatchKind, ValueSetId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The operations on packet replication, value sets and ports.
impl Core {
    /// Sets the replicas that are made of a packet for a multicast group, in the order in which
    /// they are made. An empty list removes the group.
    pub fn set_multicast_group(&self, group: u32, replicas: Vec<Replica>) {
        self.set_replicas(group, replicas.into());
    }

    /// Sets the replicas that are made of a packet for a multicast group, and their backups. An
    /// empty list removes the group.
    pub fn set_replicas(&self, group: u32, replicas: Replicas) {
        self.state.replication.set_group(group, replicas);
    }

    /// Returns the replicas that are made of a packet for a multicast group, and their backups.
    /// There are none for an unknown group.
    #[must_use]
    pub fn multicast_group(&self, group: u32) -> Replicas {
        self.state.replication.configured_group(group)
    }

    /// Sets a clone session, or removes it if `config` is `None`.
    pub fn set_clone_session(&self, session: u32, config: Option<CloneSession>) {
        self.state.replication.set_session(session, config);
    }

    /// Returns the clone session with this number, or `None` if there is none.
    #[must_use]
    pub fn clone_session(&self, session: u32) -> Option<CloneSession> {
        self.state.replication.configured_session(session)
    }

    /// Sets the number of queues of each port (v1model). A packet's `priority` is the number of its
    /// queue, counted from zero, and the highest queue is sent first. A packet whose number is too
    /// large is dropped. The initial value is one, as in `simple_switch` without
    /// `--priority-queues`.
    pub fn set_priority_queues(&self, queues: u32) {
        self.state.priority_queues.store(queues.max(1), Ordering::Relaxed);
    }

    /// Sets the number of queues of ports, by port. A packet for one of these ports waits between
    /// ingress and egress: [`Switch::take_waiting`] returns it, and [`Switch::resume`] continues
    /// with it. The program must be for v1model or PSA, since other architectures have no egress.
    ///
    /// [`Switch::take_waiting`]: crate::Switch::take_waiting
    /// [`Switch::resume`]: crate::Switch::resume
    pub fn set_port_queues(&self, queues: BTreeMap<u32, u32>) {
        self.state.set_port_queues(queues);
    }

    /// Sets the port that v1model's `mark_to_drop` selects, and through which no packet leaves,
    /// like `--drop-port` of `simple_switch`. The initial value is 511. If the program's port
    /// numbers have fewer bits, only the low bits of `port` count. A change discards the program's
    /// machine code: the interpreter processes packets until the program is compiled again.
    pub fn set_drop_port(&mut self, port: u16) {
        if self.layout.set_drop_port(port) {
            self.code = None;
        }
    }

    /// Sets the number of units of work that one packet may take, with all its passes and copies.
    /// The initial value is 4,194,304. A unit is a statement, a comparison, or the move of 16
    /// bytes. A packet that exceeds the limit is dropped with
    /// [`RunError::WorkLimit`](crate::RunError::WorkLimit). A change discards the program's machine
    /// code, as in [`Core::set_drop_port`].
    pub fn set_packet_work(&mut self, units: u32) {
        if self.layout.packet_work != units {
            self.layout.packet_work = units;
            self.code = None;
        }
    }

    /// Sets the members of a parser value set. Each member has one match per field, of the field's
    /// match kind.
    ///
    /// # Errors
    /// Fails if there are more members than the set holds, or if one does not fit.
    pub fn set_value_set(&self, id: ValueSetId, members: &[Vec<FieldMatch>]) -> Done {
        let set = self.program().value_sets.get(id.index());
        let set = set.ok_or_else(|| unknown("value set", id.0))?;
        if members.len() as u64 > set.size {
            return Err(ControlError::Full { name: set.name.clone(), size: set.size });
        }
        let initial = self.layout.initial(set.type_id);
        let mut shapes = Vec::new();
        if let Some(initial) = initial {
            initial.each_pattern(&mut |bits| {
                shapes.push(KeyShape {
                    name: format!("{} of {}", shapes.len(), set.name),
                    kind: set.match_kinds.get(shapes.len()).cloned().unwrap_or(MatchKind::Exact),
                    width: bits.width(),
                    signed: bits.is_signed(),
                });
            });
        }
        let checked = members.iter().map(|member| {
            if member.len() != shapes.len() {
                let (found, expected) = (member.len(), shapes.len());
                return Err(ControlError::KeyCount { found, expected });
            }
            shapes.iter().zip(member).map(|(shape, found)| found.checked(shape)).collect()
        });
        let checked = checked.collect::<Result<Vec<_>, _>>()?;
        if let Some(members) = self.state.value_sets.get(id.index()) {
            *write(members) = Arc::new(checked);
        }
        Ok(())
    }

    /// Returns the members of a parser value set.
    ///
    /// # Errors
    /// Fails if there is no such set.
    pub fn value_set(&self, id: ValueSetId) -> Result<Vec<Vec<FieldMatch>>, ControlError> {
        let members = self.state.value_sets.get(id.index());
        let members = members.ok_or_else(|| unknown("value set", id.0))?;
        Ok((**read(members)).clone())
    }

    /// Sets whether a port is a host port of PNA, whose packets have the direction `HOST_TO_NET`.
    /// At first, all ports are network ports.
    pub fn set_host_port(&self, port: u32, host: bool) {
        let mut ports = write(&self.state.host_ports);
        if host {
            ports.insert(port);
        } else {
            ports.remove(&port);
        }
    }
}
