//! The order in which the connections of a server are polled if there are many connections. One
//! poll of a connection's task is called its turn.
//!
//! All connections of a server share one processor. If each had its turn in the order in which it
//! became ready, a client with one call would wait for every other connection, and a thousand
//! connections with valid calls would delay it a thousandfold. Turns are therefore shared among
//! addresses, independently of the number of connections of each address, and the connection of a
//! primary controller counts as an address of its own. The next turn goes to the address that has
//! used the least time (start-time fair queueing, P. Goyal et al., SIGCOMM 1996). A client that
//! seldom needs a turn therefore waits for at most one turn of each other address. The connections
//! of one address have their turns one after another.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use super::{Address, ConnectionId};

/// A group of connections that share one account of used time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Party {
    /// All connections of an address that have no stream of a primary controller.
    Address(Address),
    /// A connection with the stream of a primary controller.
    Primary(ConnectionId),
}

/// The answer to a connection that requests a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The connection has its turn now.
    Now,
    /// No connection had a turn, so this one has the next. It must ask once more before it begins,
    /// so that other connections that are ready can ask before this turn ends.
    Next,
    /// The connection must wait until it is notified that it has the next turn.
    Wait,
}

/// The connections that wait for a turn, and the one that has it.
#[derive(Debug, Default)]
pub(super) struct Turns {
    parties: HashMap<Party, Account>,
    waiting: HashMap<ConnectionId, Party>,
    /// The connection that has the turn, or has been notified that it may take the next one.
    current: Option<(ConnectionId, Party)>,
    /// The virtual time of the fair queue: the value that [`Account::used`] had for the party of
    /// the current turn when the turn began.
    now: Duration,
    /// The number of times that a connection has begun to wait. It decides between parties that
    /// have used equal time.
    arrivals: u64,
}

/// The processor time that a party has used, and its connections that wait for a turn.
#[derive(Debug, Default)]
struct Account {
    /// The time that the party has used. Time that it does not use while it is idle is not saved
    /// for later.
    used: Duration,
    queue: VecDeque<ConnectionId>,
    /// The value of [`Turns::arrivals`] when the first of the waiting connections began to wait.
    arrived: u64,
}

impl Turns {
    /// Requests a turn for a connection of this party.
    pub(super) fn ask(&mut self, id: ConnectionId, party: Party) -> Answer {
        match self.current {
            None => {
                self.start(id, party);
                Answer::Next
            }
            Some((current, _)) if current == id => Answer::Now,
            Some(_) => {
                self.wait(id, party);
                Answer::Wait
            }
        }
    }

    fn wait(&mut self, id: ConnectionId, party: Party) {
        if let Some(before) = self.waiting.insert(id, party) {
            if before == party {
                return;
            }
            self.forget(id, before);
        }
        let account = self.parties.entry(party).or_default();
        if account.queue.is_empty() {
            self.arrivals += 1;
            account.arrived = self.arrivals;
            account.used = account.used.max(self.now);
        }
        account.queue.push_back(id);
    }

    /// Ends the connection's turn, which took the time `spent`. Returns the connection that has the
    /// next turn.
    pub(super) fn end(&mut self, id: ConnectionId, spent: Duration) -> Option<ConnectionId> {
        let (current, party) = self.current?;
        if current != id {
            return None;
        }
        self.current = None;
        if let Some(account) = self.parties.get_mut(&party) {
            // Even a turn without work is charged, so that no party has two turns while others
            // wait.
            account.used += spent.max(Duration::from_nanos(1));
        }
        self.next()
    }

    /// Removes a connection that no longer waits for a turn. If this connection had the turn or was
    /// the next to have it, returns the connection that has the next turn instead.
    pub(super) fn leave(&mut self, id: ConnectionId) -> Option<ConnectionId> {
        if let Some(party) = self.waiting.remove(&id) {
            self.forget(id, party);
        }
        let next = self.end(id, Duration::ZERO);
        self.parties.remove(&Party::Primary(id));
        next
    }

    /// Removes the account of an address without connections.
    pub(super) fn close(&mut self, address: Address) {
        let party = Party::Address(address);
        // A connection that was evicted may still be waiting until it notices the eviction.
        if self.parties.get(&party).is_some_and(|account| account.queue.is_empty()) {
            self.parties.remove(&party);
        }
    }

    fn next(&mut self) -> Option<ConnectionId> {
        let waiting = self.parties.iter_mut().filter(|(_, account)| !account.queue.is_empty());
        let (party, account) =
            waiting.min_by_key(|(_, account)| (account.used, account.arrived))?;
        let (party, id) = (*party, account.queue.pop_front()?);
        self.arrivals += 1;
        account.arrived = self.arrivals;
        self.waiting.remove(&id);
        self.start(id, party);
        Some(id)
    }

    fn start(&mut self, id: ConnectionId, party: Party) {
        let account = self.parties.entry(party).or_default();
        account.used = account.used.max(self.now);
        self.now = account.used;
        self.current = Some((id, party));
    }

    fn forget(&mut self, id: ConnectionId, party: Party) {
        if let Some(account) = self.parties.get_mut(&party) {
            account.queue.retain(|waiting| *waiting != id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const TURN: Duration = Duration::from_millis(1);
    const HOSTILE: u64 = 1_000;

    fn address(host: u8) -> Party {
        Party::Address(Address(Ipv4Addr::new(10, 0, 0, host).into()))
    }

    fn hostile(id: u64) -> (ConnectionId, Party) {
        (ConnectionId(id), address((id % 4) as u8))
    }

    /// A thousand connections of four addresses that always have something to do.
    struct Flood {
        turns: Turns,
        current: ConnectionId,
    }

    impl Flood {
        fn begin() -> Self {
            let mut turns = Turns::default();
            let (current, party) = hostile(0);
            assert_eq!(turns.ask(current, party), Answer::Next);
            assert_eq!(turns.ask(current, party), Answer::Now);
            for (id, party) in (1..HOSTILE).map(hostile) {
                assert_eq!(turns.ask(id, party), Answer::Wait);
            }
            Self { turns, current }
        }

        /// Ends the current turn after this time, and lets its connection ask again.
        fn pass(&mut self, spent: Duration) -> ConnectionId {
            let ended = self.current;
            self.current = self.turns.end(ended, spent).expect("others wait");
            if ended.0 < HOSTILE {
                let (id, party) = hostile(ended.0);
                assert_eq!(self.turns.ask(id, party), Answer::Wait);
            }
            self.current
        }

        /// Returns the number of turns of others before the connection has its turn.
        fn turns_before(&mut self, id: ConnectionId) -> usize {
            (1..).find(|_| self.pass(TURN) == id).expect("it has its turn at last")
        }
    }

    #[test]
    fn a_client_that_asks_rarely_waits_for_one_turn_of_each_address() {
        let mut flood = Flood::begin();
        let good = ConnectionId(HOSTILE);
        for round in 0..500 {
            for _ in 0..round % 7 {
                flood.pass(TURN);
            }
            assert_eq!(flood.turns.ask(good, address(9)), Answer::Wait);
            let before = flood.turns_before(good);
            assert!(before <= 4, "{before} turns of others");
            flood.pass(TURN / 10);
        }
    }

    /// Checks that a primary does not suffer from connections of its own address.
    #[test]
    fn a_primary_is_served_beside_a_flood_from_its_address() {
        let mut flood = Flood::begin();
        let good = ConnectionId(HOSTILE);
        assert_eq!(flood.turns.ask(good, address(1)), Answer::Wait);
        assert_eq!(flood.turns.ask(good, Party::Primary(good)), Answer::Wait);
        for _ in 0..100 {
            let before = flood.turns_before(good);
            assert!(before <= 4, "{before} turns of others");
            flood.pass(TURN / 10);
            flood.pass(TURN);
            assert_eq!(flood.turns.ask(good, Party::Primary(good)), Answer::Wait);
        }
    }

    #[test]
    fn addresses_share_the_time_and_connections_have_their_turns_in_order() {
        let mut flood = Flood::begin();
        let mut used = [Duration::ZERO; 4];
        let mut turns = vec![0; HOSTILE as usize];
        for _ in 0..4_000 {
            // The turns of one address take four times as long.
            let host = (flood.current.0 % 4) as usize;
            let spent = if host == 0 { 4 * TURN } else { TURN };
            used[host] += spent;
            turns[flood.current.0 as usize] += 1;
            flood.pass(spent);
        }
        let (least, most) = (used.iter().min().expect("four"), used.iter().max().expect("four"));
        assert!(*most - *least <= 4 * TURN, "{used:?}");
        for host in 0..4 {
            let own = turns.iter().skip(host).step_by(4);
            let (least, most) = (own.clone().min().expect("some"), own.max().expect("some"));
            assert!(most - least <= 1, "address {host}: {least} to {most} turns");
        }
    }

    /// Checks that an idle address cannot keep others from their turns later.
    #[test]
    fn unused_time_is_not_credited_later() {
        let mut flood = Flood::begin();
        for _ in 0..1_000 {
            flood.pass(TURN);
        }
        let late: Vec<_> = (HOSTILE..HOSTILE + 50).map(ConnectionId).collect();
        for id in &late {
            assert_eq!(flood.turns.ask(*id, address(9)), Answer::Wait);
        }
        let turns: Vec<_> = (0..50).map(|_| flood.pass(TURN)).collect();
        let theirs = turns.iter().filter(|id| late.contains(id)).count();
        assert!((10..=11).contains(&theirs), "{theirs} of 50 turns");
    }

    #[test]
    fn a_connection_that_leaves_passes_its_turn_to_the_next() {
        let (one, other, last) = (ConnectionId(1), ConnectionId(2), ConnectionId(3));
        let mut turns = Turns::default();
        assert_eq!(turns.ask(one, address(1)), Answer::Next);
        assert_eq!(turns.ask(one, address(1)), Answer::Now);
        assert_eq!(turns.ask(other, address(1)), Answer::Wait);
        assert_eq!(turns.ask(last, address(2)), Answer::Wait);
        assert_eq!(turns.leave(last), None);
        assert_eq!(turns.leave(one), Some(other));
        assert_eq!(turns.leave(one), None);
        assert_eq!(turns.end(other, TURN), None);
        assert_eq!(turns.ask(last, address(2)), Answer::Next);
    }
}
