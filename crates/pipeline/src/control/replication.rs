//! Multicast groups, clone sessions, value sets and ports.

use super::{Done, unknown};
use crate::dialect::Dialect;
use crate::error::ControlError;
use crate::state::{CloneSession, PSA_CLONE_SESSION_TO_CPU, Replica, State};
use crate::switch::Switch;
use crate::table::{FieldMatch, KeyShape};
use ir::{Architecture, MatchKind, ValueSetId};

/// Packet replication, value sets, ports.
impl Switch {
    /// Sets the members of a multicast group, in the order in which copies are made; none removes
    /// the group.
    pub fn set_multicast_group(&mut self, group: u32, replicas: Vec<Replica>) {
        if replicas.is_empty() {
            self.state.multicast_groups.remove(&group);
        } else {
            self.state.multicast_groups.insert(group, replicas);
        }
    }

    /// The members of a multicast group.
    #[must_use]
    pub fn multicast_group(&self, group: u32) -> &[Replica] {
        self.state.replicas(group)
    }

    /// Sets a clone session; `None` removes it.
    pub fn set_clone_session(&mut self, session: u32, config: Option<CloneSession>) {
        match config {
            Some(config) => self.state.clone_sessions.insert(session, config),
            None => self.state.clone_sessions.remove(&session),
        };
    }

    /// A clone session.
    #[must_use]
    pub fn clone_session(&self, session: u32) -> Option<&CloneSession> {
        self.state.clone_sessions.get(&session)
    }

    /// v1model: how many queues each port has; `priority` of a packet is the number of its queue, from
    /// zero, and the highest leaves first. A packet with a number beyond is dropped. One at first, as
    /// for `simple_switch` without `--priority-queues`.
    pub fn set_priority_queues(&mut self, queues: u32) {
        self.state.priority_queues = queues.max(1);
    }

    /// PSA: whether the switch does what BMv2's psa_switch does and the specification does not say; not
    /// at first. Then, after `targets/psa_switch` and p4c's `backends/bmv2/psa_switch`:
    /// * a `Checksum` is the hash of the last `update` alone, as a number without its leading zero bytes, instead
    ///   of all data since `clear`; this and `InternetChecksum` remember from packet to packet;
    /// * a resubmitted packet comes from port 0, instead of the port on which it was received;
    /// * metadata of clones, resubmitted and recirculated packets are zero, whatever the deparser assigned, and
    ///   parameters of one struct type are one variable;
    /// * the ingress deparser runs for packets that go to egress only, not for those that are dropped or
    ///   resubmitted;
    /// * direct counters count each hit, direct meters run at each hit, and the colour of the latter is BMv2's
    ///   number (0 green, 1 yellow, 2 red) as one of PSA (0 red, 1 green, 2 yellow);
    /// * tables with an action profile have no default action but one that the control plane sets;
    /// * bytes are counted and metered by the length that the packet had when it was received;
    /// * action selectors choose by all bits of the hash, whatever their output width;
    /// * a `select` that nothing fits ends the parser without an error;
    /// * no clone session is there at first, not even `PSA_CLONE_SESSION_TO_CPU`.
    pub fn follow_psa_switch(&mut self, follow: bool) {
        if self.program().architecture == Architecture::Psa {
            self.layout.dialect = if follow { Dialect::PsaSwitch } else { Dialect::Psa };
            let to_cpu = State::clone_session_to_cpu();
            let sessions = &mut self.state.clone_sessions;
            let known = sessions.get(&PSA_CLONE_SESSION_TO_CPU);
            if !follow {
                sessions.entry(PSA_CLONE_SESSION_TO_CPU).or_insert(to_cpu);
            } else if known == Some(&to_cpu) {
                sessions.remove(&PSA_CLONE_SESSION_TO_CPU);
            }
        }
    }

    /// Sets the members of a parser value set: for each one match per field, by its match kind.
    ///
    /// # Errors
    /// If there are more than the set holds, or one does not fit.
    pub fn set_value_set(&mut self, id: ValueSetId, members: &[Vec<FieldMatch>]) -> Done {
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
        if let Some(members) = self.state.value_sets.get_mut(id.index()) {
            *members = checked;
        }
        Ok(())
    }

    /// The members of a parser value set.
    ///
    /// # Errors
    /// If there is no such set.
    pub fn value_set(&self, id: ValueSetId) -> Result<&[Vec<FieldMatch>], ControlError> {
        let members = self.state.value_sets.get(id.index());
        members.map(Vec::as_slice).ok_or_else(|| unknown("value set", id.0))
    }

    /// PNA: whether a port is of the host (packets go `HOST_TO_NET`) or of the network (at first).
    pub fn set_host_port(&mut self, port: u32, host: bool) {
        if host {
            self.state.host_ports.insert(port);
        } else {
            self.state.host_ports.remove(&port);
        }
    }
}
