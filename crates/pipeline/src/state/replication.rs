//! The packet replication engine: multicast groups and clone sessions, and backup replicas that are
//! made while the ports of others are down.
//!
//! The replicas to make are computed when a group, a session or a port changes. Packets therefore
//! find a list of replicas whose ports are up, as far as there are backups.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, RwLock};

use crate::sync::{read, write};

/// A copy that the packet replication engine makes of a packet, for a multicast group or a clone
/// session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Replica {
    /// The port to which the copy goes.
    pub port: u32,
    /// The number by which egress distinguishes the copy from others: `egress_rid` in v1model,
    /// `instance` in PSA.
    pub instance: u16,
}

/// The backups of replicas, by the position of the replica in its list. While the port of a replica
/// is down, the first backup whose port is up is made instead. If the ports of all backups are down
/// too, the replica itself is made. (P4Runtime 1.5, section 9.5.1, which also permits to make
/// none.)
pub type Backups = BTreeMap<usize, Vec<Replica>>;

/// The replicas that are made of a packet for a multicast group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replicas {
    /// The copies, in the order in which they are made.
    pub replicas: Vec<Replica>,
    /// The backups of the copies.
    pub backups: Backups,
}

impl From<Vec<Replica>> for Replicas {
    fn from(replicas: Vec<Replica>) -> Self {
        Self { replicas, backups: Backups::new() }
    }
}

/// A clone session (`mirroring session` in BMv2): the copies that are made when a packet is cloned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloneSession {
    /// The copies that the session makes.
    pub replicas: Vec<Replica>,
    /// The backups of the copies.
    pub backups: Backups,
    /// A multicast group for which further copies are made, if any.
    pub multicast_group: Option<u32>,
    /// The class of service of the copies.
    pub class_of_service: u32,
    /// The number of bytes to which copies are truncated. `None` if they are not.
    pub packet_length: Option<u64>,
    /// PNA: whether a copy has the contents that the packet had before the main control
    /// (`PRE_MODIFY`). Otherwise it has those of the outgoing packet.
    pub before_main_control: bool,
}

/// The multicast groups and clone sessions of a switch.
#[derive(Debug)]
pub(crate) struct Replication {
    groups: RwLock<BTreeMap<u32, Group>>,
    sessions: RwLock<BTreeMap<u32, Session>>,
    ports_down: Arc<RwLock<BTreeSet<u32>>>,
}

/// A multicast group as it was configured, and the replicas that are made with the ports that are
/// up at present.
#[derive(Debug)]
struct Group {
    configured: Replicas,
    present: Arc<[Replica]>,
}

/// A clone session as it was configured, and as it is with the ports that are up at present.
#[derive(Debug)]
struct Session {
    configured: CloneSession,
    present: Arc<CloneSession>,
}

impl Replication {
    /// Creates an engine without groups. `ports_down` is the set of the ports that are down. The
    /// caller changes the set, and must call [`Self::ports_changed`] after each change.
    pub(crate) fn new(ports_down: Arc<RwLock<BTreeSet<u32>>>) -> Self {
        Self { groups: RwLock::default(), sessions: RwLock::default(), ports_down }
    }

    /// Returns the replicas that are made at present of a packet for a multicast group. There are
    /// none for an unknown group.
    pub(crate) fn replicas(&self, group: u32) -> Arc<[Replica]> {
        let groups = read(&self.groups);
        groups.get(&group).map(|group| Arc::clone(&group.present)).unwrap_or_default()
    }

    /// Returns a clone session, with the replicas that are made at present.
    pub(crate) fn clone_session(&self, session: u32) -> Option<Arc<CloneSession>> {
        read(&self.sessions).get(&session).map(|session| Arc::clone(&session.present))
    }

    pub(crate) fn configured_group(&self, group: u32) -> Replicas {
        let groups = read(&self.groups);
        groups.get(&group).map(|group| group.configured.clone()).unwrap_or_default()
    }

    pub(crate) fn configured_session(&self, session: u32) -> Option<CloneSession> {
        read(&self.sessions).get(&session).map(|session| session.configured.clone())
    }

    /// Sets a multicast group. A group without replicas is removed.
    pub(crate) fn set_group(&self, group: u32, configured: Replicas) {
        let mut groups = write(&self.groups);
        if configured.replicas.is_empty() {
            groups.remove(&group);
        } else {
            // The ports are read while the groups are locked, so that a change of ports after this
            // finds the group.
            let Replicas { replicas, backups } = &configured;
            let present = present(replicas, backups, &read(&self.ports_down)).into();
            groups.insert(group, Group { configured, present });
        }
    }

    /// Sets a clone session, or removes it if `configured` is `None`.
    pub(crate) fn set_session(&self, session: u32, configured: Option<CloneSession>) {
        let mut sessions = write(&self.sessions);
        match configured {
            Some(configured) => {
                let present = Arc::new(configured.present(&read(&self.ports_down)));
                sessions.insert(session, Session { configured, present });
            }
            None => {
                sessions.remove(&session);
            }
        }
    }

    /// Chooses between replicas and backups again, after ports went up or down.
    pub(crate) fn ports_changed(&self) {
        let mut groups = write(&self.groups);
        let down = read(&self.ports_down);
        for group in groups.values_mut() {
            let Replicas { replicas, backups } = &group.configured;
            if !backups.is_empty() {
                group.present = present(replicas, backups, &down).into();
            }
        }
        // Groups and sessions are never locked together.
        drop((down, groups));
        let mut sessions = write(&self.sessions);
        let down = read(&self.ports_down);
        for session in sessions.values_mut().filter(|one| !one.configured.backups.is_empty()) {
            session.present = Arc::new(session.configured.present(&down));
        }
    }
}

impl CloneSession {
    /// Returns the session with the replicas that are made while the ports in `down` are down.
    fn present(&self, down: &BTreeSet<u32>) -> Self {
        Self { replicas: present(&self.replicas, &self.backups, down), ..self.clone() }
    }
}

/// Returns the replicas that are made while the ports in `down` are down.
fn present(replicas: &[Replica], backups: &Backups, down: &BTreeSet<u32>) -> Vec<Replica> {
    let chosen = replicas.iter().enumerate().map(|(position, replica)| {
        let backups = backups.get(&position).into_iter().flatten();
        let mut preferred = std::iter::once(replica).chain(backups);
        *preferred.find(|one| !down.contains(&one.port)).unwrap_or(replica)
    });
    chosen.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replica(port: u32, instance: u16) -> Replica {
        Replica { port, instance }
    }

    /// The multicast group of the example in section 9.5.1 of P4Runtime 1.5, up to its third
    /// replica.
    fn group() -> Replicas {
        let replicas = vec![replica(5, 1), replica(12, 2), replica(18, 3)];
        let second = vec![replica(13, 5)];
        let third = vec![replica(19, 6), replica(20, 7)];
        Replicas { replicas, backups: [(1, second), (2, third)].into() }
    }

    #[test]
    fn the_first_of_the_preferred_ports_that_is_up_gets_the_copy() {
        let down = Arc::new(RwLock::default());
        let engine = Replication::new(Arc::clone(&down));
        engine.set_group(7, group());
        let session = CloneSession {
            replicas: group().replicas,
            backups: group().backups,
            packet_length: Some(64),
            ..CloneSession::default()
        };
        engine.set_session(9, Some(session.clone()));
        for (ports, expected) in [
            (vec![], [(5, 1), (12, 2), (18, 3)]),
            (vec![18], [(5, 1), (12, 2), (19, 6)]),
            (vec![18, 19], [(5, 1), (12, 2), (20, 7)]),
            (vec![18, 20], [(5, 1), (12, 2), (19, 6)]),
            (vec![12, 18, 19, 20], [(5, 1), (13, 5), (18, 3)]),
            // Without a backup, and if all are down, the replica is made as ever.
            (vec![5, 12, 13], [(5, 1), (12, 2), (18, 3)]),
            (vec![], [(5, 1), (12, 2), (18, 3)]),
        ] {
            *write(&down) = ports.iter().copied().collect();
            engine.ports_changed();
            let expected = expected.map(|(port, instance)| replica(port, instance));
            assert_eq!(*engine.replicas(7), expected, "{ports:?}");
            let found = engine.clone_session(9).expect("a session");
            assert_eq!((&*found.replicas, found.packet_length), (&expected[..], Some(64)));
            assert_eq!(engine.configured_group(7), group());
            assert_eq!(engine.configured_session(9).as_ref(), Some(&session));
        }
    }

    #[test]
    fn a_group_that_is_configured_while_ports_are_down_uses_its_backups() {
        let down = Arc::new(RwLock::new(BTreeSet::from([12])));
        let engine = Replication::new(down);
        engine.set_group(7, group());
        assert_eq!(engine.replicas(7)[1], replica(13, 5));
        engine.set_group(7, group().replicas.into());
        assert_eq!(engine.replicas(7)[1], replica(12, 2), "the group has no backups any more");
        engine.set_group(7, Replicas::default());
        assert!(engine.replicas(7).is_empty());
    }
}
