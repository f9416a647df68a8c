//! Which connections a server keeps: a state machine without sockets and without a clock.
//!
//! A connection is in one of three stages. It is *handshaking* until the client's SETTINGS have
//! come, *silent* while it has no call that brought a message, and *serving* otherwise. A
//! serving connection with the stream of a primary is *protected*.
//!
//! At a limit on numbers, the oldest handshaking or silent connection of the address that has most
//! connections makes room for a new one. So connections that do nothing give way to a client that
//! does something, and a serving one never does. At the limit on bytes, the connection for which
//! most bytes are held goes, unless it is protected.

mod limits;
mod peer;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    net::{IpAddr, Ipv6Addr},
    time::Instant,
};

pub(crate) use self::peer::{Doors, OpenCall, Peer};
pub use self::{
    limits::{Limit, Limits},
    peer::Held,
};
use crate::window::{CONNECTION_WINDOW, FIRST_WINDOW};

/// A number that a connection has to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(u64);

/// A connection that has to be closed, and the limit that it met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eviction {
    /// The connection.
    pub id: ConnectionId,
    /// The limit.
    pub limit: Limit,
}

/// The addresses that count as one: those of IPv6 by their network, since a host has all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Address(IpAddr);

impl Address {
    fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Self(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into())
            }
            address => Self(address),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Handshaking,
    Silent,
    Serving,
}

#[derive(Debug)]
struct Connection {
    address: Address,
    stage: Stage,
    /// When the stage began.
    since: Instant,
    /// The number of its streams that are primary.
    primaries: usize,
    held: usize,
    /// Whether [`CONNECTION_WINDOW`] is held for it.
    is_wide: bool,
}

/// The connections of a server, within its limits.
#[derive(Debug)]
pub struct Admission {
    limits: Limits,
    connections: BTreeMap<ConnectionId, Connection>,
    handshaking: BTreeSet<ConnectionId>,
    by_address: HashMap<Address, usize>,
    held: usize,
    last: u64,
}

impl Admission {
    /// No connections yet.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            connections: BTreeMap::new(),
            handshaking: BTreeSet::new(),
            by_address: HashMap::new(),
            held: 0,
            last: 0,
        }
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Admits a connection that was accepted; those that make room for it are appended to `evicted`.
    ///
    /// # Errors
    ///
    /// The limit, if no connection may make room.
    pub fn arrive(
        &mut self,
        from: IpAddr,
        now: Instant,
        evicted: &mut Vec<Eviction>,
    ) -> Result<ConnectionId, Limit> {
        let address = Address::of(from);
        let of_address = self.by_address.get(&address).copied().unwrap_or_default();
        if of_address >= self.limits.connections_per_address {
            self.make_room(Limit::ConnectionsPerAddress, evicted, |one| one.address == address)?;
        }
        if self.handshaking.len() >= self.limits.half_open {
            self.make_room(Limit::HalfOpen, evicted, |one| one.stage == Stage::Handshaking)?;
        }
        if self.connections.len() >= self.limits.connections {
            self.make_room(Limit::Connections, evicted, |_| true)?;
        }
        self.make_room_for(FIRST_WINDOW as usize, evicted)?;
        self.last += 1;
        let (id, held) = (ConnectionId(self.last), FIRST_WINDOW as usize);
        let stage = Stage::Handshaking;
        let connection =
            Connection { address, stage, since: now, primaries: 0, held, is_wide: false };
        self.held += held;
        self.connections.insert(id, connection);
        self.handshaking.insert(id);
        *self.by_address.entry(address).or_default() += 1;
        Ok(id)
    }

    /// Evicts the oldest connection that does nothing, of those that `may_go`, at the address that
    /// has most connections.
    fn make_room(
        &mut self,
        limit: Limit,
        evicted: &mut Vec<Eviction>,
        may_go: impl Fn(&Connection) -> bool,
    ) -> Result<(), Limit> {
        let idle = self
            .connections
            .iter()
            .filter(|(_, one)| one.stage != Stage::Serving && one.primaries == 0 && may_go(one));
        // The map is in the order of arrival, and the last of several maxima is returned.
        let first = idle.rev().max_by_key(|(_, one)| {
            let siblings = self.by_address.get(&one.address).copied().unwrap_or_default();
            (siblings, std::cmp::Reverse(one.since))
        });
        let id = *first.ok_or(limit)?.0;
        self.close(id);
        evicted.push(Eviction { id, limit });
        Ok(())
    }

    /// Records that the client's SETTINGS have come.
    pub fn negotiated(&mut self, id: ConnectionId, now: Instant) {
        if self.handshaking.remove(&id) {
            self.enter(id, Stage::Silent, now);
        }
    }

    /// Records that a message has come whole.
    pub fn serving(&mut self, id: ConnectionId, now: Instant) {
        self.negotiated(id, now);
        self.enter(id, Stage::Serving, now);
    }

    /// Records that no call is open any more.
    pub fn silent(&mut self, id: ConnectionId, now: Instant) {
        if !self.handshaking.contains(&id) {
            self.enter(id, Stage::Silent, now);
        }
    }

    fn enter(&mut self, id: ConnectionId, stage: Stage, now: Instant) {
        if let Some(connection) = self.connections.get_mut(&id)
            && connection.stage != stage
        {
            (connection.stage, connection.since) = (stage, now);
        }
    }

    /// Protects a connection for as long as this is called with true more often than with false.
    pub fn protect(&mut self, id: ConnectionId, is_primary: bool) {
        if let Some(connection) = self.connections.get_mut(&id) {
            let primaries = &mut connection.primaries;
            *primaries = if is_primary { *primaries + 1 } else { primaries.saturating_sub(1) };
        }
    }

    /// When [`Admission::expire`] has something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let first = self.connections.get(self.handshaking.first()?)?;
        first.since.checked_add(self.limits.handshake)
    }

    /// Evicts connections whose handshake has taken too long.
    pub fn expire(&mut self, now: Instant, evicted: &mut Vec<Eviction>) {
        while self.deadline().is_some_and(|deadline| deadline <= now)
            && let Some(id) = self.handshaking.first().copied()
        {
            self.close(id);
            evicted.push(Eviction { id, limit: Limit::Handshake });
        }
    }

    /// Holds so many bytes more for a connection; those that make room for them are appended to
    /// `evicted`. A connection that is not there any more holds nothing.
    ///
    /// # Errors
    ///
    /// The limit, if they must not be held.
    pub fn hold(
        &mut self,
        id: ConnectionId,
        bytes: usize,
        evicted: &mut Vec<Eviction>,
    ) -> Result<(), Limit> {
        let connection = self.connections.get(&id).ok_or(Limit::Held)?;
        if connection.held.saturating_add(bytes) > self.limits.held_per_connection {
            return Err(Limit::HeldPerConnection);
        }
        self.make_room_for(bytes, evicted)?;
        let connection = self.connections.get_mut(&id).ok_or(Limit::Held)?;
        connection.held += bytes;
        self.held += bytes;
        Ok(())
    }

    /// Evicts the largest holders until so many bytes more may be held.
    fn make_room_for(&mut self, bytes: usize, evicted: &mut Vec<Eviction>) -> Result<(), Limit> {
        while self.held.saturating_add(bytes) > self.limits.held {
            let unprotected = self.connections.iter().filter(|(_, one)| one.primaries == 0);
            let largest = unprotected.max_by_key(|(_, one)| one.held);
            let (id, limit) = (*largest.ok_or(Limit::Held)?.0, Limit::Held);
            self.close(id);
            evicted.push(Eviction { id, limit });
        }
        Ok(())
    }

    /// Returns bytes that were held for a connection.
    pub fn release(&mut self, id: ConnectionId, bytes: usize) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.held = connection.held.saturating_sub(bytes);
            self.held = self.held.saturating_sub(bytes);
        }
    }

    /// Whether a serving connection may have a full window, which is held for it from then on.
    /// Others than protected ones share a half of what may be held, so that windows evict nobody.
    pub fn widen(&mut self, id: ConnectionId) -> bool {
        let more = (CONNECTION_WINDOW - FIRST_WINDOW) as usize;
        let Some(connection) = self.connections.get_mut(&id) else { return false };
        if connection.is_wide {
            return true;
        }
        let room = if connection.primaries > 0 { self.limits.held } else { self.limits.held / 2 };
        let fits = self.held.saturating_add(more) <= room
            && connection.held.saturating_add(more) <= self.limits.held_per_connection;
        if connection.stage == Stage::Serving && fits {
            connection.is_wide = true;
            connection.held += more;
            self.held += more;
        }
        connection.is_wide
    }

    /// Forgets a connection.
    pub fn close(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.remove(&id) else { return };
        self.handshaking.remove(&id);
        self.held = self.held.saturating_sub(connection.held);
        if let Some(count) = self.by_address.get_mut(&connection.address) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&connection.address);
            }
        }
    }

    /// The bytes that are held for all connections.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held
    }

    /// The number of connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.len()
    }
}
