//! Tests of the admission state against hostile clients, which try to take many resources with
//! little effort.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::{Duration, Instant},
};

use super::*;

/// An admission state with a simulated clock.
struct Server {
    admission: Admission,
    now: Instant,
    evicted: Vec<Eviction>,
}

impl Server {
    fn new(limits: Limits) -> Self {
        Self { admission: Admission::new(limits), now: Instant::now(), evicted: Vec::new() }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        self.admission.expire(self.now, &mut self.evicted);
    }

    fn arrive(&mut self, from: IpAddr) -> Result<ConnectionId, Limit> {
        self.admission.arrive(from, self.now, &mut self.evicted)
    }

    /// Admits a connection and completes its handshake.
    fn connect(&mut self, from: IpAddr) -> ConnectionId {
        let id = self.arrive(from).expect("admitted");
        self.admission.negotiated(id, self.now);
        id
    }

    /// Admits a connection with a call that has received a message.
    fn serve(&mut self, from: IpAddr) -> ConnectionId {
        let id = self.connect(from);
        self.admission.serving(id, self.now);
        id
    }

    fn hold(&mut self, id: ConnectionId, bytes: usize) -> Result<(), Limit> {
        self.admission.hold(id, bytes, &mut self.evicted)
    }

    fn evictions(&mut self) -> Vec<(ConnectionId, Limit)> {
        self.evicted.drain(..).map(|Eviction { id, limit }| (id, limit)).collect()
    }
}

fn host(number: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, number).into()
}

const GOOD: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

fn few() -> Limits {
    Limits {
        half_open: 3,
        connections: 5,
        connections_per_address: 4,
        held_per_connection: 20 << 20,
        held: 40 << 20,
        ..Limits::default()
    }
}

/// Whatever 1,000 hostile clients do for 20 s, from few addresses or many, a well-behaved client
/// can connect and stays connected, and the account stays within the limits.
#[test]
fn a_thousand_hostile_peers_do_not_keep_a_good_client_out() {
    for seed in 0..8 {
        let mut random = fastrand::Rng::with_seed(seed);
        // Half of the seeds have room for all connections.
        let connections = if seed < 4 { 1024 } else { 600 };
        let limits = Limits { connections, ..Limits::default() };
        let mut server = Server::new(limits.clone());
        let primary = server.serve(GOOD);
        server.admission.protect(primary, true);
        assert!(server.admission.widen(primary));
        let mut hostile: Vec<ConnectionId> = Vec::new();
        for step in 0..20_000 {
            server.pass(Duration::from_millis(1));
            // At most 1,000 clients are connected at a time. Each does one thing and then nothing.
            if hostile.len() < 1000 {
                let from = host(random.u8(1..=if seed % 2 == 0 { 4 } else { 250 }));
                if let Ok(id) = server.arrive(from) {
                    match random.u8(0..4) {
                        // The connection is half open, or its TLS handshake is slow.
                        0 => {}
                        1 => server.admission.negotiated(id, server.now),
                        // Long messages never end, and windows stay closed.
                        2 => {
                            server.admission.serving(id, server.now);
                            let _ = server.hold(id, 64 << 20);
                        }
                        _ => {
                            server.admission.serving(id, server.now);
                            server.admission.widen(id);
                            server.admission.silent(id, server.now);
                        }
                    }
                    hostile.push(id);
                }
            }
            for (gone, _) in server.evictions() {
                assert_ne!(gone, primary, "seed {seed}");
                hostile.retain(|one| *one != gone);
            }
            let within = &server.admission;
            assert!(within.connections() <= limits.connections);
            assert!(within.held() <= limits.held, "{}", within.held());
            // Some clients disconnect and connect again.
            if let Some(index) = (step % 7 == 0).then(|| random.usize(0..hostile.len().max(1)))
                && index < hostile.len()
            {
                server.admission.close(hostile.swap_remove(index));
            }
            if step % 1000 == 999 {
                let good = server.arrive(GOOD).expect("a good client is admitted");
                server.pass(Duration::from_millis(1));
                server.admission.serving(good, server.now);
                server.hold(good, 1 << 20).expect("a good client's request is held");
                let gone = server.evictions();
                assert!(gone.iter().all(|(id, _)| *id != good && *id != primary), "{gone:?}");
                gone.iter().for_each(|(gone, _)| hostile.retain(|one| one != gone));
                server.admission.close(good);
            }
        }
        server.hold(primary, 100 << 20).expect("the primary's request is held");
    }
}

#[test]
fn a_handshake_has_a_timeout() {
    let mut server = Server::new(Limits::default());
    let (slow, quick) = (server.arrive(GOOD).expect("room"), server.arrive(GOOD).expect("room"));
    server.pass(Duration::from_millis(4_999));
    server.admission.negotiated(quick, server.now);
    assert_eq!(server.evictions(), []);
    server.pass(Duration::from_millis(1));
    assert_eq!(server.evictions(), [(slow, Limit::Handshake)]);
    assert_eq!(server.admission.deadline(), None);
    server.pass(Duration::from_secs(3600));
    assert_eq!(server.evictions(), []);
}

#[test]
fn the_oldest_half_open_connection_of_the_address_with_most_is_evicted() {
    let mut server = Server::new(few());
    let single = server.arrive(host(1)).expect("room");
    server.pass(Duration::from_millis(1));
    let first = server.arrive(host(2)).expect("room");
    server.pass(Duration::from_millis(1));
    let _second = server.arrive(host(2)).expect("room");
    let _newcomer = server.arrive(GOOD).expect("room is made");
    assert_eq!(server.evictions(), [(first, Limit::HalfOpen)]);
    // If all addresses have one connection each, the oldest connection is evicted.
    let _newcomer = server.arrive(host(4)).expect("room is made");
    assert_eq!(server.evictions(), [(single, Limit::HalfOpen)]);
}

#[test]
fn silent_connections_are_evicted_and_serving_ones_are_not() {
    let mut server = Server::new(few());
    let served = server.serve(host(1));
    let silent: Vec<_> = (0..3).map(|_| server.connect(host(1))).collect();
    // The limit of an address affects only that address.
    server.connect(host(1));
    assert_eq!(server.evictions(), [(silent[0], Limit::ConnectionsPerAddress)]);
    server.connect(host(2));
    server.connect(host(2));
    assert_eq!(server.evictions(), [(silent[1], Limit::Connections)]);
    // A connection whose calls have all ended is silent.
    let mut server = Server::new(few());
    let all: Vec<_> = (0..5).map(|number| server.serve(host(number))).collect();
    assert_eq!(server.arrive(GOOD), Err(Limit::Connections));
    server.admission.silent(all[3], server.now);
    server.connect(GOOD);
    assert_eq!(server.evictions(), [(all[3], Limit::Connections)]);
    assert_ne!(served, all[3]);
    let mut server = Server::new(few());
    (0..4).for_each(|_| {
        server.serve(host(1));
    });
    assert_eq!(server.arrive(host(1)), Err(Limit::ConnectionsPerAddress));
    server.serve(host(2));
}

#[test]
fn a_network_of_ipv6_is_one_address() {
    let mut server = Server::new(few());
    let from = |host| IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, host));
    (0..4).for_each(|number| {
        server.serve(from(number));
    });
    assert_eq!(server.arrive(from(9)), Err(Limit::ConnectionsPerAddress));
    server.serve(Ipv6Addr::new(0x2001, 0xdb8, 0, 2, 0, 0, 0, 1).into());
    // An IPv4 address equals its mapped IPv6 form.
    let mut server = Server::new(few());
    (0..4).for_each(|_| {
        server.serve(host(1));
    });
    let mapped = Ipv4Addr::new(10, 0, 0, 1).to_ipv6_mapped();
    assert_eq!(server.arrive(mapped.into()), Err(Limit::ConnectionsPerAddress));
}

#[test]
fn the_connection_with_most_bytes_is_evicted_unless_it_is_primary() {
    let mut server = Server::new(few());
    let [primary, large, small] = [1, 2, 3].map(|number| server.serve(host(number)));
    server.admission.protect(primary, true);
    server.hold(primary, 18 << 20).expect("room");
    server.hold(large, 15 << 20).expect("room");
    server.hold(small, 4 << 20).expect("room");
    assert_eq!(server.hold(small, 17 << 20), Err(Limit::HeldPerConnection));
    server.hold(small, 10 << 20).expect("room is made");
    assert_eq!(server.evictions(), [(large, Limit::Held)]);
    // An evicted connection holds nothing, and releases for it have no effect.
    assert_eq!(server.hold(large, 1), Err(Limit::Held));
    server.admission.release(large, 15 << 20);
    server.admission.release(small, 14 << 20);
    let first = FIRST_WINDOW as usize;
    assert_eq!(server.admission.held(), (18 << 20) + 2 * first);
    // A connection that has lost its primary is no longer protected.
    server.admission.protect(primary, false);
    let third = server.serve(host(4));
    server.hold(small, 15 << 20).expect("room");
    server.hold(third, 16 << 20).expect("room is made");
    assert_eq!(server.evictions(), [(primary, Limit::Held)]);
}

#[test]
fn bytes_that_find_no_room_evict_no_other_connection() {
    let mut server = Server::new(few());
    let [first, second, other] = [1, 2, 3].map(|number| server.serve(host(number)));
    for primary in [first, second] {
        server.admission.protect(primary, true);
        server.hold(primary, 18 << 20).expect("room");
    }
    server.hold(other, 1 << 20).expect("room");
    server.admission.limits.held_per_connection = 40 << 20;
    // The primaries alone would exceed the limit, so that evicting the other one is in vain.
    assert_eq!(server.hold(first, 5 << 20), Err(Limit::Held));
    assert_eq!(server.evictions(), []);
    server.hold(first, 3 << 20).expect("room is made");
    assert_eq!(server.evictions(), [(other, Limit::Held)]);

    // Evicting other connections would not suffice without evicting the requesting one. So only the
    // requesting one is evicted.
    let mut server = Server::new(few());
    let [primary, large, asks] = [1, 2, 3].map(|number| server.serve(host(number)));
    server.admission.protect(primary, true);
    for (id, bytes) in [(primary, 19 << 20), (large, 10 << 20), (asks, 9 << 20)] {
        server.hold(id, bytes).expect("room");
    }
    server.admission.limits.held = 41 << 20;
    server.admission.limits.held_per_connection = 40 << 20;
    assert_eq!(server.hold(asks, 14 << 20), Err(Limit::Held));
    assert_eq!(server.evictions(), [(asks, Limit::Held)]);
}

#[test]
fn full_windows_take_half_of_the_account_and_evict_no_connection() {
    let mut server = Server::new(few());
    let [first, second] = [1, 2].map(|number| server.serve(host(number)));
    let silent = server.connect(host(3));
    assert!(!server.admission.widen(silent));
    assert!(server.admission.widen(first) && server.admission.widen(first));
    assert!(!server.admission.widen(second), "the half is taken");
    server.admission.protect(second, true);
    assert!(server.admission.widen(second));
    assert_eq!(server.evictions(), []);
    assert!(server.admission.held() <= 40 << 20);
}
