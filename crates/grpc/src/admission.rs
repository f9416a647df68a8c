//! The admission of connections within the limits of a server: a state machine without sockets and
//! without a clock.
//!
//! A connection is in one of three stages. It is *handshaking* until the client's SETTINGS frame
//! has arrived, *silent* while it has no call that has received a message, and *serving* otherwise.
//! A serving connection is *protected* if one of its streams is that of a device's primary
//! controller.
//!
//! When a limit on the number of connections is reached, a new connection evicts the oldest
//! handshaking or silent connection of the address that has the most connections. Idle connections
//! are thus evicted in favour of active clients, and a new connection never evicts a serving one.
//! When the limit on memory is reached, the unprotected connections that hold the most memory are
//! evicted.

mod limits;
mod peer;
#[cfg(test)]
mod tests;
mod turns;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    net::{IpAddr, Ipv6Addr},
    time::Instant,
};

pub(crate) use self::peer::{OpenCall, Peer, SharedAdmission};
pub use self::{
    limits::{Limit, Limits},
    peer::Held,
};
use crate::window::{CONNECTION_WINDOW, FIRST_WINDOW};

/// The unique number of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(u64);

/// A connection that must be closed because a limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eviction {
    /// The connection that must be closed.
    pub id: ConnectionId,
    /// The limit that was reached, so that the connection must be closed.
    pub limit: Limit,
}

/// The address of a client for the purpose of limits. An IPv6 address is reduced to its /64
/// network, because one host controls the whole network.
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
    /// The time at which the connection entered its current stage.
    since: Instant,
    /// The number of the connection's streams whose controllers are primary.
    primaries: usize,
    held: usize,
    /// Whether the full [`CONNECTION_WINDOW`] is included in the memory that the connection holds.
    is_wide: bool,
}

/// The connections of a server and the memory that they hold, which are kept within the limits.
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
    /// Creates the admission state of a server without connections.
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

    /// Returns the limits of the server.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Admits a connection that was accepted. Appends to `evicted` the connections that must be
    /// closed to make room for it.
    ///
    /// # Errors
    ///
    /// Returns the limit that was reached if no connection can make room.
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
        self.make_room_for(FIRST_WINDOW as usize, None, evicted)?;
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

    /// Evicts a handshaking or silent connection that satisfies `may_go`: the one that has been in
    /// its stage the longest, at the address with the most connections.
    ///
    /// # Errors
    ///
    /// Returns `limit` if there is no such connection.
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
        // The map is in the order of arrival. The iteration is reversed because `max_by_key`
        // returns the last of several maxima.
        let first = idle.rev().max_by_key(|(_, one)| {
            let siblings = self.by_address.get(&one.address).copied().unwrap_or_default();
            (siblings, std::cmp::Reverse(one.since))
        });
        let id = *first.ok_or(limit)?.0;
        self.close(id);
        evicted.push(Eviction { id, limit });
        Ok(())
    }

    /// Records that the client's SETTINGS frame has arrived, which ends the connection's handshake.
    pub fn negotiated(&mut self, id: ConnectionId, now: Instant) {
        if self.handshaking.remove(&id) {
            self.enter(id, Stage::Silent, now);
        }
    }

    /// Records that a complete message has arrived on the connection, so that it is serving.
    pub fn serving(&mut self, id: ConnectionId, now: Instant) {
        self.negotiated(id, now);
        self.enter(id, Stage::Serving, now);
    }

    /// Records that the last open call of the connection has ended, so that it is silent.
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

    /// Protects the connection from eviction while at least one of its streams belongs to a primary
    /// controller. Each stream calls this function with true when its controller becomes primary,
    /// and with false when the controller no longer is.
    pub fn protect(&mut self, id: ConnectionId, is_primary: bool) {
        if let Some(connection) = self.connections.get_mut(&id) {
            let primaries = &mut connection.primaries;
            *primaries = if is_primary { *primaries + 1 } else { primaries.saturating_sub(1) };
        }
    }

    /// Returns the time at which [`Admission::expire`] must be called next, or `None` if no
    /// handshake is in progress.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let first = self.connections.get(self.handshaking.first()?)?;
        first.since.checked_add(self.limits.handshake)
    }

    /// Evicts connections that have exceeded the time for their handshake.
    pub fn expire(&mut self, now: Instant, evicted: &mut Vec<Eviction>) {
        while self.deadline().is_some_and(|deadline| deadline <= now)
            && let Some(id) = self.handshaking.first().copied()
        {
            self.close(id);
            evicted.push(Eviction { id, limit: Limit::Handshake });
        }
    }

    /// Adds `bytes` to the memory that a connection holds. Appends to `evicted` the connections
    /// that must be closed to free memory for these bytes.
    ///
    /// # Errors
    ///
    /// Returns the limit that was reached if the bytes may not be held, or [`Limit::Held`] if the
    /// connection no longer exists.
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
        self.make_room_for(bytes, Some(id), evicted)?;
        let connection = self.connections.get_mut(&id).ok_or(Limit::Held)?;
        connection.held += bytes;
        self.held += bytes;
        Ok(())
    }

    /// Evicts the connections that hold the most memory, until `bytes` more bytes may be held.
    ///
    /// # Errors
    ///
    /// Returns [`Limit::Held`] if `requester`, which needs the bytes, is itself one of these
    /// connections. Only `requester` is then evicted, because its bytes need no memory any more.
    /// Also returns [`Limit::Held`], without an eviction, if all unprotected connections together
    /// hold too little memory.
    fn make_room_for(
        &mut self,
        bytes: usize,
        requester: Option<ConnectionId>,
        evicted: &mut Vec<Eviction>,
    ) -> Result<(), Limit> {
        let limit = Limit::Held;
        let mut excess = self.held.saturating_add(bytes).saturating_sub(self.limits.held);
        if excess == 0 {
            return Ok(());
        }
        let unprotected = self.connections.iter().filter(|(_, one)| one.primaries == 0);
        let mut candidates: Vec<_> = unprotected.map(|(id, one)| (one.held, *id)).collect();
        candidates.sort_unstable_by(|one, other| other.cmp(one));
        let mut chosen = Vec::new();
        for (held, id) in candidates {
            if excess == 0 {
                break;
            }
            excess = excess.saturating_sub(held);
            chosen.push(id);
        }
        let requester = requester.filter(|requester| chosen.contains(requester));
        if requester.is_none() && excess > 0 {
            return Err(limit);
        }
        for id in requester.map_or(chosen, |requester| vec![requester]) {
            self.close(id);
            evicted.push(Eviction { id, limit });
        }
        requester.map_or(Ok(()), |_| Err(limit))
    }

    /// Subtracts `bytes` from the memory that a connection holds.
    pub fn release(&mut self, id: ConnectionId, bytes: usize) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.held = connection.held.saturating_sub(bytes);
            self.held = self.held.saturating_sub(bytes);
        }
    }

    /// Returns whether a serving connection may have an HTTP/2 window of full size. If so, the
    /// memory that the connection holds includes the window from then on. The windows of all
    /// unprotected connections together may use only half of the total memory, so that windows
    /// never cause an eviction.
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

    /// Removes a connection that was closed.
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

    /// Returns the number of bytes that all connections together hold.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held
    }

    /// Returns the number of open connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.len()
    }
}
