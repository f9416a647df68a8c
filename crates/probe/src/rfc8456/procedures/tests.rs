//! Tests of every procedure in virtual time. The simulated controller has known response times and
//! capacities, which the procedure must find.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use openflow_switch::{FlowTables, Left};

use super::*;
use crate::config::{Switches, TopologySource};
use crate::rfc8456::bench::{Bench, Measured, Preparation, Procedure, Reach};
use crate::rfc8456::emulator::{Device, Emulator};
use crate::rfc8456::scene::Scene;
use crate::rfc8456::seen::{Census, Hop, Order, Seen, What};
use crate::rfc8456::size::largest;
use crate::topology::{Port, SwitchIndex, Topology};
use crate::traffic::{Hosts, PathFrames, RunKey, is_discovery, read_id};

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const KEY: RunKey = RunKey::new(7);

/// The source and the destination address that a rule matches.
type Match = ([u8; 6], [u8; 6]);

fn match_of(frame: &[u8]) -> Match {
    let (mut destination, mut source) = ([0; 6], [0; 6]);
    destination.copy_from_slice(&frame[..6]);
    source.copy_from_slice(&frame[6..12]);
    (source, destination)
}

/// A simulated switch with one flow table.
#[derive(Default)]
struct Table {
    rules: HashMap<Match, u16>,
    down: BTreeSet<u16>,
    bypass: bool,
    /// The messages to the controller that the simulation has not processed yet.
    sent: Vec<SwitchMessage>,
}

enum SwitchMessage {
    PacketIn { port: u16, frame: Vec<u8> },
    PortStatus,
    Invalid,
}

impl Device for Table {
    fn arrive(&mut self, port: u16, frame: &[u8], _: u64, left: &mut Vec<Left>) -> bool {
        match self.rules.get(&match_of(frame)) {
            Some(out) if !self.bypass && !is_discovery(frame) => {
                if !self.down.contains(out) {
                    left.push(Left { port: *out, frame: frame.to_vec() });
                }
                false
            }
            _ => {
                self.sent.push(SwitchMessage::PacketIn { port, frame: frame.to_vec() });
                true
            }
        }
    }

    fn set_link(&mut self, port: u16, is_up: bool, _: u64) -> bool {
        if is_up {
            self.down.remove(&port)
        } else {
            self.down.insert(port)
        };
        self.sent.push(SwitchMessage::PortStatus);
        true
    }

    fn entries(&self) -> usize {
        self.rules.len()
    }

    fn send_invalid(&mut self, _: u64, _: u64) -> bool {
        self.sent.push(SwitchMessage::Invalid);
        true
    }
}

/// The known properties of the simulated controller. Times are in nanoseconds.
#[derive(Clone, Copy)]
struct Known {
    /// The time from the arrival of a message at the controller to its answer.
    delay: u64,
    /// The time between two discovery frames that the controller sends.
    discovery: u64,
    sessions: usize,
    switches_discovered: u32,
    entries: usize,
    /// The time from the stop of the active controller until the standby controller answers.
    failover: u64,
    /// The time for which an invalid message occupies the controller.
    invalid: u64,
    /// The time for which a packet occupies the controller, which does nothing else meanwhile. The
    /// answer follows after `delay`.
    service: u64,
    /// The time for which an unused connection occupies the controller.
    attack: u64,
    /// The time for which a request for a path occupies the controller, which does nothing else
    /// meanwhile.
    telling: u64,
    /// The time between two periodic discovery frames through the same switch, or 0 for none.
    polling: u64,
    /// Whether a topology change makes the controller send discovery frames.
    reacts: bool,
    /// The number of pairs of hosts, counted from the first, for which rules exist before the
    /// trial.
    permanent: u32,
    /// Whether the controller installs rules when a path is requested at its northbound interface.
    tells_rules: bool,
    /// The time at which the controller ends all sessions and does not come back, or 0 for never.
    crash: u64,
}

const KNOWN: Known = Known {
    delay: 3 * MILLISECOND,
    discovery: 2 * MILLISECOND,
    sessions: usize::MAX,
    switches_discovered: u32::MAX,
    entries: usize::MAX,
    failover: 0,
    invalid: 0,
    service: 0,
    attack: 0,
    telling: 0,
    polling: 0,
    reacts: true,
    permanent: 0,
    tells_rules: true,
    crash: 0,
};

/// An action that the simulated controller performs at a certain time.
enum Act {
    Discover { switch: u32 },
    Poll,
    Crash,
    Answer { switch: u32, port: u16, frame: Vec<u8> },
    Rediscover { switch: u32 },
    Repair,
    Refuse { switch: u32 },
    Ready { switch: u32 },
    SwitchMessage { flow: u32, asked_at: u64, path: Vec<Hop> },
}

struct Simulation {
    bench: Bench<Table>,
    scene: Scene,
    known: Known,
    now: u64,
    acts: BTreeMap<(u64, u64), Act>,
    number: u64,
    ready: usize,
    /// The time until which the controller is occupied.
    busy_until: u64,
    away_until: u64,
    /// The paths that the controller has provisioned.
    provisioned: BTreeSet<(u32, u32)>,
}

fn terms() -> Terms {
    Terms {
        duration: 2 * SECOND,
        interval: SECOND,
        patience: 5 * SECOND,
        spacing: 10 * MILLISECOND,
        most_flows: 50,
        northbound: false,
    }
}

fn scene(switches: u32, source: &TopologySource) -> Scene {
    let topology = Topology::build(source, switches, 16).unwrap();
    let options = Switches {
        count: switches,
        first_id: 1,
        ports: 16,
        buffers: 0,
        table_size: 1000,
        flow_tables: FlowTables::Run,
        hosts: 2,
        connect_rate: 1000.0,
        overrides: Vec::new(),
    };
    let hosts = Hosts::new(&options, &topology).unwrap();
    Scene::new(hosts, topology, PathFrames::new(128, KEY))
}

fn run_with(
    scene: &Scene,
    known: Known,
    bypass: bool,
    procedure: impl Procedure + 'static,
) -> Measured {
    run_boxed(scene, known, bypass, Box::new(procedure))
}

fn run_boxed(scene: &Scene, known: Known, bypass: bool, procedure: Box<dyn Procedure>) -> Measured {
    let tables = (0..scene.topology.switch_count()).map(|_| Table { bypass, ..Table::default() });
    let emulator =
        Emulator::new(tables.collect(), scene.topology.clone(), scene.hosts.clone(), KEY);
    let preparation = Preparation {
        controllers: 1,
        patience: 5 * SECOND,
        settle: 100 * MILLISECOND,
        connect_spacing: 0,
        announces: false,
    };
    let bench = Bench::new(emulator, procedure, preparation);
    let (scene, acts) = (scene.clone(), BTreeMap::new());
    let provisioned = BTreeSet::new();
    let simulation = Simulation {
        bench,
        scene,
        known,
        now: 1000,
        acts,
        number: 0,
        ready: 0,
        busy_until: 0,
        away_until: 0,
        provisioned,
    };
    simulation.prepared().run()
}

fn run(scene: &Scene, procedure: impl Procedure + 'static) -> Measured {
    run_with(scene, KNOWN, false, procedure)
}

impl Simulation {
    /// Adds the rules and the periodic discovery frames that exist before the trial begins.
    fn prepared(mut self) -> Self {
        for number in 0..self.known.permanent {
            let pair = self.scene.pair(number).expect("a pair");
            for hop in self.scene.path(pair).expect("a path") {
                let table = &mut self.bench.emulator.devices[hop.switch as usize];
                table.rules.insert((hop.source, hop.destination), hop.out_port);
            }
        }
        if self.known.crash > 0 {
            self.at(self.known.crash, Act::Crash);
        }
        if self.known.polling > 0 {
            self.at(self.now + self.known.polling, Act::Poll);
        }
        self
    }

    fn run(mut self) -> Measured {
        for _ in 0..5_000_000 {
            let mut orders = Vec::new();
            self.bench.turn(self.now, &mut orders);
            if let Some(measured) = self.bench.measured() {
                return measured.clone();
            }
            for order in orders {
                self.order(order);
            }
            self.listen();
            if self.bench.due() == 0 {
                continue;
            }
            let act = self.acts.keys().next().map_or(u64::MAX, |(at, _)| *at);
            self.now = act.min(self.bench.due()).max(self.now);
            assert!(self.now < u64::MAX, "nothing is due");
            while let Some(entry) = self.acts.first_entry()
                && entry.key().0 <= self.now
            {
                let act = entry.remove();
                self.act(act);
            }
        }
        panic!("the trial does not end");
    }

    fn at(&mut self, at: u64, act: Act) {
        self.number += 1;
        self.acts.insert((at, self.number), act);
    }

    fn order(&mut self, order: Order) {
        match order {
            Order::Connect { switch } if self.ready >= self.known.sessions => {
                self.at(self.now, Act::Refuse { switch });
            }
            Order::Connect { switch } => {
                self.ready += 1;
                self.at(self.now, Act::Ready { switch });
            }
            Order::AskFlows => {
                let entries = self.bench.emulator.entries() as u64;
                self.bench.emulator.note(self.now, What::Flows(Ok(entries)));
            }
            Order::AskTopology => {
                let known =
                    self.known.switches_discovered.min(self.scene.topology.switch_count() as u32);
                let known = u64::from(known);
                let census = Census { switches: known, links: 2 * (known - 1) };
                self.bench.emulator.note(self.now, What::Topology(Ok(census)));
            }
            Order::Provision { flow, path } => {
                self.busy_until = self.now.max(self.busy_until) + self.known.telling;
                let asked_at = self.now;
                self.at(self.busy_until, Act::SwitchMessage { flow, asked_at, path });
            }
            Order::Fail => {
                self.away_until = self.now + self.known.failover;
                self.bench.emulator.note(self.now, What::Failed(Ok(())));
            }
            Order::Attack => {
                self.busy_until = self.now.max(self.busy_until) + self.known.attack;
            }
            Order::Power { switch, is_on: true } => {
                self.at(self.now + self.known.delay, Act::Ready { switch });
            }
            Order::Power { is_on: false, .. } => {}
            other => panic!("{other:?}"),
        }
    }

    /// Makes the controller process the messages that switches have sent.
    fn listen(&mut self) {
        for switch in 0..self.bench.emulator.devices.len() {
            let sent = std::mem::take(&mut self.bench.emulator.devices[switch].sent);
            for message in sent {
                let switch = switch as u32;
                let begin = self.now.max(self.busy_until);
                match message {
                    SwitchMessage::PacketIn { frame, .. } if is_discovery(&frame) => {}
                    _ if self.now < self.away_until => {}
                    SwitchMessage::PacketIn { port, frame } => {
                        self.busy_until = begin + self.known.service;
                        let at = self.busy_until + self.known.delay;
                        self.at(at, Act::Answer { switch, port, frame });
                    }
                    SwitchMessage::PortStatus if !self.known.reacts => {}
                    SwitchMessage::PortStatus => {
                        self.at(begin + self.known.delay, Act::Rediscover { switch });
                        self.at(begin + self.known.delay, Act::Repair);
                    }
                    SwitchMessage::Invalid => self.busy_until = begin + self.known.invalid,
                }
            }
        }
    }

    fn act(&mut self, act: Act) {
        let (now, emulator) = (self.now, &mut self.bench.emulator);
        match act {
            Act::Refuse { switch } => {
                let reason = "full".to_owned();
                emulator.note(now, What::Lost { switch, controller: 0, was_ready: false, reason });
            }
            Act::Ready { switch } => {
                emulator.note(now, What::Ready { switch, controller: 0 });
                if switch < self.known.switches_discovered {
                    let at = now + u64::from(switch) * self.known.discovery;
                    self.at(at, Act::Discover { switch });
                }
            }
            Act::Discover { switch } | Act::Rediscover { switch } => {
                emulator.note(now, What::DiscoverySent { switch });
                let ports: Vec<Port> =
                    emulator.topology().link_ports(SwitchIndex(switch)).collect();
                let mut frame = vec![0; 60];
                (frame[12], frame[13]) = (0x88, 0xcc);
                let left =
                    ports.iter().map(|port| Left { port: port.0, frame: frame.clone() }).collect();
                emulator.left(switch, left, now);
            }
            Act::Crash => {
                self.away_until = u64::MAX;
                for switch in 0..self.scene.topology.switch_count() as u32 {
                    let reason = "the connection was reset".to_owned();
                    let what = What::Lost { switch, controller: 0, was_ready: true, reason };
                    emulator.note(now, what);
                }
            }
            Act::Poll => {
                for switch in 0..self.scene.topology.switch_count() as u32 {
                    emulator.note(now, What::DiscoverySent { switch });
                }
                self.at(now + self.known.polling, Act::Poll);
            }
            Act::Repair => {
                for (from, to) in self.provisioned.clone() {
                    self.provision(from, to);
                }
            }
            Act::Answer { switch, port, frame } => self.answer(switch, port, frame),
            Act::SwitchMessage { flow, asked_at, path } => {
                emulator.note(now, What::Provisioned { flow, asked_at, outcome: Ok(()) });
                for hop in path {
                    let table = &mut emulator.devices[hop.switch as usize];
                    table.rules.insert((hop.source, hop.destination), hop.out_port);
                }
                // The rules take effect immediately, and the controller's last message about them
                // comes later.
                let rules = What::Rules { installed: 1, removed: 0, refused: 0 };
                if self.known.tells_rules {
                    emulator.note(now + self.known.delay, rules);
                }
            }
        }
    }

    fn answer(&mut self, switch: u32, port: u16, frame: Vec<u8>) {
        let to = self.host_of(match_of(&frame).1);
        let from = (0..self.scene.hosts.count())
            .find(|host| {
                let host = self.scene.hosts.host(host / 2, host % 2).unwrap();
                (host.switch, host.port.0) == (switch, port)
            })
            .unwrap_or(0);
        let (source, destination) = match_of(&frame);
        if self.bench.emulator.entries() < self.known.entries {
            let installed = match self.host_of_checked(source) {
                Some(from) => {
                    self.provisioned.insert((from, to));
                    self.provision(from, to)
                }
                None => self.install(from, to, (source, destination)),
            };
            self.bench.emulator.note(self.now, What::Rules { installed, removed: 0, refused: 0 });
        }
        if let Some(id) = read_id(&frame, KEY) {
            self.bench.emulator.note(self.now, What::PacketOut { switch, id });
        }
        let table = &self.bench.emulator.devices[switch as usize];
        if let Some(out) = table.rules.get(&(source, destination)).copied() {
            self.bench.emulator.left(switch, vec![Left { port: out, frame }], self.now);
        }
    }

    fn host_of(&self, mac: [u8; 6]) -> u32 {
        self.host_of_checked(mac).expect("a host")
    }

    fn host_of_checked(&self, mac: [u8; 6]) -> Option<u32> {
        (0..self.scene.hosts.count())
            .find(|host| self.scene.hosts.host(host / 2, host % 2).unwrap().mac.0 == mac)
    }

    fn provision(&mut self, from: u32, to: u32) -> u32 {
        let host = |index: u32| self.scene.hosts.host(index / 2, index % 2).unwrap();
        self.install(from, to, (host(from).mac.0, host(to).mac.0))
    }

    /// Installs rules along a shortest path that uses only links that are up. Returns the number of
    /// rules.
    fn install(&mut self, from: u32, to: u32, rule: Match) -> u32 {
        let host = |index: u32| self.scene.hosts.host(index / 2, index % 2).unwrap();
        let (from, to) = (host(from), host(to));
        let topology = &self.scene.topology;
        let mut way: HashMap<u32, u16> = HashMap::from([(to.switch, to.port.0)]);
        let mut queue = std::collections::VecDeque::from([to.switch]);
        while let Some(at) = queue.pop_front() {
            for port in topology.link_ports(SwitchIndex(at)) {
                let (SwitchIndex(far), back) = topology.peer(SwitchIndex(at), port).unwrap();
                let down = self.bench.emulator.devices[at as usize].down.contains(&port.0);
                if !down && !way.contains_key(&far) {
                    way.insert(far, back.0);
                    queue.push_back(far);
                }
            }
        }
        let (mut at, mut installed) = (from.switch, 0);
        while let Some(out) = way.get(&at) {
            self.bench.emulator.devices[at as usize].rules.insert(rule, *out);
            installed += 1;
            match topology.peer(SwitchIndex(at), Port(*out)) {
                Some((SwitchIndex(far), _)) if at != to.switch => at = far,
                _ => break,
            }
        }
        installed
    }
}

fn close(measured: &Measured, wanted: f64) {
    let value = measured.value.unwrap_or_else(|| panic!("{:?}", measured.remark));
    assert!((value - wanted).abs() < 1e-9, "{value} is not {wanted}: {measured:?}");
}

fn figure(measured: &Measured, name: &str) -> f64 {
    let found = measured.figures.iter().find(|(other, ..)| *other == name);
    found.unwrap_or_else(|| panic!("{measured:?}")).1
}

#[test]
fn discovery_takes_from_the_first_frame_to_the_last() {
    for switches in [2, 5, 9] {
        let scene = scene(switches, &TopologySource::Linear);
        let measured = run(&scene, TopologyDiscovery::new(terms(), &scene.topology));
        close(&measured, f64::from(switches - 1) * 0.002);
        assert_eq!(figure(&measured, "links"), f64::from(switches - 1));
    }
    // A switch that the controller does not discover is reported as missing, with and without the
    // northbound interface.
    let scene = scene(4, &TopologySource::Linear);
    let known = Known { switches_discovered: 3, ..KNOWN };
    for northbound in [false, true] {
        let terms = Terms { northbound, ..terms() };
        let measured =
            run_with(&scene, known, false, TopologyDiscovery::new(terms, &scene.topology));
        assert_eq!(measured.value, None);
        assert_eq!(figure(&measured, "link directions"), 5.0, "{measured:?}");
    }
    let northbound = Terms { northbound: true, ..terms() };
    let measured = run(&scene, TopologyDiscovery::new(northbound, &scene.topology));
    close(&measured, 3.0 * 0.002);
}

#[test]
fn messages_take_what_the_controller_takes() {
    let scene = scene(4, &TopologySource::Linear);
    let measured = run_with(&scene, KNOWN, true, MessageTime::new(terms(), scene.clone()));
    close(&measured, 0.003);
    // Messages of 3 ms each, one at a time for two seconds.
    assert_eq!(figure(&measured, "messages"), 667.0);
    assert_eq!(figure(&measured, "unanswered"), 0.0);
}

#[test]
fn a_path_takes_from_the_first_question_to_the_last_rule() {
    let scene = scene(5, &TopologySource::Linear);
    let measured = run(&scene, PathTime::new(terms(), scene.clone(), false));
    close(&measured, 0.003);
    assert_eq!(figure(&measured, "paths that failed"), 0.0);
    let measured = run(&scene, PathTime::new(terms(), scene.clone(), true));
    close(&measured, 0.003);
    // The time counts from the request for the path, including the time to process the request.
    let known = Known { telling: 5 * MILLISECOND, ..KNOWN };
    let measured = run_with(&scene, known, false, PathTime::new(terms(), scene.clone(), true));
    close(&measured, 0.008);
}

#[test]
fn paths_are_counted_where_they_end() {
    let scene = scene(6, &TopologySource::Linear);
    let terms = Terms { duration: 200 * MILLISECOND, ..terms() };
    for proactive in [false, true] {
        let measured = run(&scene, PathRate::new(terms, scene.clone(), proactive));
        // All offered paths are provisioned, at 100 per second.
        close(&measured, 100.0);
        assert!(measured.remark.is_some_and(|remark| remark.contains("at least")));
    }
    // A full table accepts no further path, so no further packet arrives.
    let known = Known { entries: 10, ..KNOWN };
    let measured = run_with(&scene, known, false, PathRate::new(terms, scene.clone(), false));
    assert!(measured.value.unwrap() < 100.0 && measured.value.unwrap() > 0.0, "{measured:?}");
}

/// Returns the path provisioning rate of a trial of two seconds in which 500 paths per second are
/// offered.
fn offered(scene: &Scene, known: Known, disturbance: Option<Disturbance>) -> f64 {
    let terms = Terms { spacing: 2 * MILLISECOND, ..terms() };
    let own = Box::new(PathRate::new(terms, scene.clone(), false));
    let procedure: Box<dyn Procedure> = match disturbance {
        Some(disturbance) => Box::new(Disturbed::new(own, disturbance, scene.clone())),
        None => own,
    };
    run_boxed(scene, known, false, procedure).value.expect("paths")
}

#[test]
fn a_rate_is_what_the_controller_can_do_and_attacks_take_their_share() {
    // 40 hosts make more pairs than are offered.
    let scene = scene(20, &TopologySource::Linear);
    assert!(scene.pairs() > 1000);
    let known = Known { service: 4 * MILLISECOND, ..KNOWN };
    // One packet is served every 4 ms; its answer follows 3 ms later.
    let alone = offered(&scene, known, None);
    assert!((alone - 250.0).abs() <= 1.0, "{alone}");
    // Strangers send the same number of packets as paths, so half of the time is spent on them.
    let strangers = Disturbance::Strangers { spacing: 2 * MILLISECOND };
    let attacked = offered(&scene, known, Some(strangers));
    assert!((attacked - 125.0).abs() <= 1.0, "{attacked}");
    // In each 10 ms a connection causes 5 ms of work, and five paths cause 20 ms, so paths get four
    // fifths of the time.
    let connections = Disturbance::Connections { spacing: 10 * MILLISECOND };
    let known = Known { attack: 5 * MILLISECOND, ..known };
    let attacked = offered(&scene, known, Some(connections));
    assert!((attacked - 200.0).abs() <= 1.0, "{attacked}");
    let harmless = offered(&scene, Known { attack: 0, ..known }, Some(connections));
    assert!((harmless - alone).abs() <= 1.0, "{harmless}");
}

#[test]
fn a_proactive_rate_is_what_the_northbound_interface_takes() {
    let scene = scene(20, &TopologySource::Linear);
    let terms = Terms { spacing: 2 * MILLISECOND, ..terms() };
    let known = Known { telling: 4 * MILLISECOND, ..KNOWN };
    let measured = run_with(&scene, known, false, PathRate::new(terms, scene.clone(), true));
    // 500 messages are offered each second, and each takes 4 ms.
    let value = measured.value.unwrap_or_else(|| panic!("{measured:?}"));
    assert!((value - 250.0).abs() <= 1.0, "{measured:?}");
}

/// Checks how disturbances affect the tests that sections 5.3.1 and 5.3.2 of RFC 8456 require. A
/// rate falls by the share of the time for which disturbances occupy the controller, and a time
/// grows by no more than one disturbance takes.
#[test]
fn disturbances_show_in_every_test_by_what_they_cost() {
    let large = scene(20, &TopologySource::Linear);
    let small = scene(5, &TopologySource::Linear);
    let cost = 5 * MILLISECOND;
    let invalid = |switches| Disturbance::Invalid { spacing: 10 * MILLISECOND, switches };
    let connections = Disturbance::Connections { spacing: 10 * MILLISECOND };
    let known = Known { service: 4 * MILLISECOND, ..KNOWN };
    // As with connections, five paths cause 20 ms of work, and an invalid message 5 ms.
    let attacked = offered(&large, Known { invalid: cost, ..known }, Some(invalid(20)));
    assert!((attacked - 200.0).abs() <= 1.0, "{attacked}");
    for disturbance in [invalid(5), connections] {
        let procedures: [Box<dyn Fn() -> Box<dyn Procedure>>; 2] = [
            Box::new(|| Box::new(PathTime::new(terms(), small.clone(), false))),
            Box::new(|| Box::new(TopologyChange::new(terms(), &small.topology, 1))),
        ];
        for procedure in procedures {
            let disturbed = |known| {
                let procedure = Disturbed::new(procedure(), disturbance, small.clone());
                run_boxed(&small, known, false, Box::new(procedure))
            };
            let harmless = disturbed(KNOWN);
            close(&harmless, 0.003);
            assert!(figure(&harmless, "disturbances") > 0.0, "{harmless:?}");
            let harmful = disturbed(Known { invalid: cost, attack: cost, ..KNOWN });
            let value = harmful.value.unwrap_or_else(|| panic!("{harmful:?}"));
            assert!((0.003..=0.008).contains(&value), "{harmful:?}");
        }
    }
}

#[test]
fn the_largest_network_is_found_to_the_switch() {
    let most = 40;
    for capacity in [1, 2, 3, 7, 12, 31, 39, 40, 90] {
        let mut trials = 0;
        let found = largest(2, most, |switches| {
            trials += 1;
            let scene = scene(switches, &TopologySource::Linear);
            let known = Known { switches_discovered: capacity, ..KNOWN };
            let procedure = TopologyDiscovery::new(terms(), &scene.topology);
            Ok::<_, ()>(Some(run_with(&scene, known, false, procedure)))
        });
        let found = found.expect("no error").expect("not interrupted");
        let wanted = if capacity < 2 { 0 } else { capacity.min(most) };
        assert_eq!(found.known, wanted, "{found:?}");
        let next = (wanted < most).then(|| (wanted + 1).max(2));
        assert_eq!(found.unknown.as_ref().map(|(switches, _)| *switches), next, "{found:?}");
        assert!(trials <= 12, "{trials}");
    }
}

#[test]
fn a_change_is_detected_when_neighbours_are_sent_discovery_again() {
    let scene = scene(5, &TopologySource::Linear);
    let measured = run(&scene, TopologyChange::new(terms(), &scene.topology, 1));
    close(&measured, 0.003);
    for (name, count) in [("events", 5.0), ("notified", 5.0), ("longest", 0.003)] {
        assert!((figure(&measured, name) - count).abs() < 1e-9, "{name}: {measured:?}");
    }
    assert_eq!(measured.remark, None);
    let alone = self::scene(3, &TopologySource::None);
    let measured = run(&alone, TopologyChange::new(terms(), &alone.topology, 1));
    assert_eq!(measured.value, None);
}

/// Checks that the events of a trial are spread over the interval between discovery messages. The
/// controller ignores changes and sends discovery messages every half second, like many other
/// controllers. A single event may fall anywhere in this interval, so that the detection may appear
/// to take up to half a second.
#[test]
fn events_are_spread_over_the_interval_of_discovery_messages() {
    let scene = scene(5, &TopologySource::Linear);
    let known = Known { polling: 500 * MILLISECOND, reacts: false, ..KNOWN };
    let mut means = Vec::new();
    for trial in 1..=8 {
        let procedure = TopologyChange::new(terms(), &scene.topology, trial);
        let measured = run_with(&scene, known, false, procedure);
        let interval = figure(&measured, "interval of discovery messages");
        assert!((interval - 0.5).abs() < 0.01, "{measured:?}");
        // One message each half second at both neighbours of the switch.
        let usual = figure(&measured, "discovery messages of neighbours before");
        assert!((3.0..=5.0).contains(&usual), "{measured:?}");
        // The five events lie within one interval, far apart.
        let (shortest, longest) = (figure(&measured, "shortest"), figure(&measured, "longest"));
        assert!(shortest >= 0.0 && longest <= 0.501, "{measured:?}");
        assert!((longest - shortest - 0.4).abs() < 0.01, "{measured:?}");
        assert!(figure(&measured, "standard deviation") > 0.1, "{measured:?}");
        let remark = measured.remark.expect("a remark");
        assert!(remark.contains("every 0.500 s without any change"), "{remark}");
        means.push(measured.value.expect("a value"));
    }
    // The mean is half of the interval, within a tenth of it in each trial, and closer over several
    // trials.
    assert!(means.iter().all(|mean| (mean - 0.25).abs() <= 0.051), "{means:?}");
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    assert!((mean - 0.25).abs() < 0.01, "{mean}");
}

/// Checks that a trial ends early when the controller is gone, unless the trial itself stopped it.
#[test]
fn a_controller_that_ends_all_sessions_ends_the_trial() {
    let scene = scene(4, &TopologySource::Linear);
    let known = Known { crash: SECOND, ..KNOWN };
    let long = Terms { duration: 1000 * SECOND, patience: 1000 * SECOND, ..terms() };
    let procedures: [Box<dyn Procedure>; 3] = [
        Box::new(MessageTime::new(long, scene.clone())),
        Box::new(PathTime::new(long, scene.clone(), false)),
        Box::new(TopologyChange::new(long, &scene.topology, 1)),
    ];
    for procedure in procedures {
        let measured = run_boxed(&scene, known, true, procedure);
        assert_eq!((measured.value, measured.reach), (None, Reach::Lost), "{measured:?}");
        let remark = measured.remark.expect("a reason");
        assert!(
            remark.contains("may have crashed; last error: the connection was reset"),
            "{remark}"
        );
    }
    let failover = Failover::new(Terms { patience: SECOND, ..terms() }, scene.clone());
    let measured = run_with(&scene, Known { crash: 3 * SECOND, ..KNOWN }, false, failover);
    assert_eq!(measured.reach, Reach::Reached, "{measured:?}");
}

/// Checks that paths do not count as provisioned if rules from before the trial match every packet.
#[test]
fn paths_over_rules_from_before_the_trial_do_not_count() {
    let scene = scene(6, &TopologySource::Linear);
    let terms = Terms { duration: 200 * MILLISECOND, ..terms() };
    for proactive in [false, true] {
        let known = Known { permanent: scene.pairs(), tells_rules: false, ..KNOWN };
        let measured =
            run_with(&scene, known, false, PathRate::new(terms, scene.clone(), proactive));
        assert_eq!(measured.value, None, "{measured:?}");
        assert_eq!(figure(&measured, "paths provisioned"), 0.0);
        assert_eq!(figure(&measured, "paths without the controller"), 20.0);
        assert!(measured.remark.is_some_and(|remark| remark.contains("rules that were there")));
        let measured =
            run_with(&scene, known, false, PathTime::new(terms, scene.clone(), proactive));
        assert_eq!(measured.value, None, "{measured:?}");
        assert_eq!(figure(&measured, "paths that failed"), 0.0, "{measured:?}");
        assert!(measured.remark.is_some_and(|remark| remark.contains("rules that were there")));
    }
    // Five of twenty paths have rules already, so the rate is that of the fifteen others.
    let known = Known { permanent: 5, ..KNOWN };
    let measured = run_with(&scene, known, false, PathRate::new(terms, scene.clone(), false));
    close(&measured, 75.0);
    assert_eq!(figure(&measured, "paths without the controller"), 5.0);
}

#[test]
fn sessions_and_entries_are_counted_to_the_limit() {
    let scene = scene(40, &TopologySource::Linear);
    for limit in [1, 17, 39] {
        let known = Known { sessions: limit, ..KNOWN };
        let measured = run_with(&scene, known, false, Sessions::new(terms(), 40));
        assert_eq!(measured.value, Some(limit as f64), "{measured:?}");
        assert!(measured.remark.unwrap().contains("refused a session"));
    }
    let measured = run(&scene, Sessions::new(terms(), 40));
    assert_eq!(measured.value, Some(40.0));
    assert!(measured.remark.unwrap().contains("at least"));

    let scene = self::scene(2, &TopologySource::Linear);
    let terms = Terms { most_flows: 500, ..terms() };
    // Each flow takes two entries.
    let known = Known { entries: 60, ..KNOWN };
    let measured = run_with(&scene, known, false, FlowCapacity::new(terms, scene.clone()));
    assert_eq!(measured.value, Some(60.0), "{measured:?}");
    let measured =
        run(&scene, FlowCapacity::new(Terms { most_flows: 100, ..terms }, scene.clone()));
    assert_eq!(measured.value, Some(200.0), "{measured:?}");
    assert!(measured.remark.unwrap().contains("at least"));
}

/// Checks that three queries that return no entry do not count as a capacity. The controller may be
/// slow or may install nothing, or its entries may have expired.
#[test]
fn a_table_without_entries_of_the_controller_has_no_capacity() {
    let scene = scene(2, &TopologySource::Linear);
    let terms = Terms { most_flows: 500, ..terms() };
    let slow = Known { delay: 3500 * MILLISECOND, ..KNOWN };
    let measured = run_with(&scene, slow, false, FlowCapacity::new(terms, scene.clone()));
    assert_eq!(measured.value, Some(1000.0), "{measured:?}");
    let none = Known { entries: 0, ..KNOWN };
    let measured = run_with(&scene, none, false, FlowCapacity::new(terms, scene.clone()));
    assert_eq!((measured.value, figure(&measured, "flows offered")), (None, 500.0));
    assert!(measured.remark.is_some_and(|remark| remark.contains("installed no entry for 500")));

    let mut expired = FlowCapacity::new(terms, scene.clone());
    for (at, entries) in [3, 43, 3, 3, 3].into_iter().enumerate() {
        let at = at as u64 * SECOND;
        expired.see(&Seen { at, what: What::Flows(Ok(entries)) }, &mut Vec::new());
    }
    let measured = expired.measured().expect("three equal readings");
    assert_eq!((measured.value, figure(&measured, "most entries at a time")), (None, 40.0));
    assert!(measured.remark.is_some_and(|remark| remark.contains("removed again")));
}

/// Checks that a test ends if the number of entries never settles. A controller that keeps
/// replacing entries has another number of them at each query.
#[test]
fn a_table_that_never_rests_has_no_capacity_and_ends_the_test() {
    let scene = scene(2, &TopologySource::Linear);
    let terms = Terms { most_flows: 20, ..terms() };
    let mut restless = FlowCapacity::new(terms, scene);
    let mut read = |at: u64, entries: u64| {
        restless.see(&Seen { at, what: What::Flows(Ok(entries)) }, &mut Vec::new());
        restless.wake(at, &mut Vec::new());
        restless.measured()
    };
    assert_eq!(read(0, 0), None);
    let offered = 20 * terms.spacing;
    assert_eq!(read(offered, 40), None);
    // A new maximum shows that the controller is still at work.
    let grew = offered + terms.patience - 1;
    assert_eq!(read(grew, 60), None);
    for number in 1..20 {
        assert_eq!(read(grew + number * terms.patience / 20, 50 + number % 2), None, "{number}");
    }
    let measured = read(grew + terms.patience, 52).expect("an end");
    assert_eq!((measured.value, figure(&measured, "flows offered")), (None, 20.0));
    assert_eq!(figure(&measured, "most entries at a time"), 60.0);
    assert!(measured.remark.is_some_and(|remark| remark.contains("still changed")));
}

/// Checks that the number of entries is found even if a query takes longer than the time for which
/// the test waits for a controller.
#[test]
fn a_table_that_rests_has_a_capacity_even_if_readings_are_slow() {
    let scene = scene(2, &TopologySource::Linear);
    let terms = Terms { most_flows: 20, ..terms() };
    let mut slow = FlowCapacity::new(terms, scene);
    let mut read = |at: u64, entries: u64| {
        slow.see(&Seen { at, what: What::Flows(Ok(entries)) }, &mut Vec::new());
        slow.wake(at, &mut Vec::new());
        slow.measured()
    };
    assert_eq!(read(0, 0), None);
    let offered = 20 * terms.spacing;
    let later = |number: u64| offered + number * 2 * terms.patience;
    for (number, entries) in [(0, 40), (1, 60), (2, 50), (3, 50)] {
        assert_eq!(read(later(number), entries), None, "{number}");
    }
    assert_eq!(read(later(4), 50).expect("an end").value, Some(50.0));
}

#[test]
fn invalid_messages_show_in_what_they_cost() {
    let scene = scene(4, &TopologySource::Linear);
    let inner = || Box::new(MessageTime::new(terms(), scene.clone()));
    let invalid = Disturbance::Invalid { spacing: 10 * MILLISECOND, switches: 4 };
    let measured = run_with(&scene, KNOWN, true, Disturbed::new(inner(), invalid, scene.clone()));
    close(&measured, 0.003);
    assert!(figure(&measured, "disturbances") >= 200.0, "{measured:?}");
    let known = Known { invalid: 4 * MILLISECOND, ..KNOWN };
    let measured = run_with(&scene, known, true, Disturbed::new(inner(), invalid, scene.clone()));
    assert!(measured.value.unwrap() > 0.0035, "{measured:?}");
}

#[test]
fn a_failover_lasts_while_no_controller_answers() {
    let scene = scene(4, &TopologySource::Linear);
    for failover in [50, 300, 1000] {
        let known = Known { failover: failover * MILLISECOND, ..KNOWN };
        let measured = run_with(&scene, known, false, Failover::new(terms(), scene.clone()));
        let (value, spacing) = (measured.value.unwrap(), 0.01);
        let wanted = failover as f64 / 1e3;
        // Packets from before the failure are still answered, each after 3 ms.
        assert!((value - wanted).abs() <= spacing + 0.003, "{value} is not {wanted}");
        assert_eq!(figure(&measured, "packets lost"), (wanted / spacing).round());
        assert_eq!(figure(&measured, "duplicates"), 0.0);
    }
    let known = Known { failover: u64::MAX / 2, ..KNOWN };
    let measured = run_with(&scene, known, false, Failover::new(terms(), scene.clone()));
    assert_eq!(measured.value, None);
}

#[test]
fn reprovisioning_is_as_long_as_the_repair() {
    let scene = scene(6, &TopologySource::LeafSpine { spines: 2 });
    let terms = Terms { spacing: MILLISECOND, ..terms() };
    let known = Known { delay: 40 * MILLISECOND, ..KNOWN };
    let measured = run_with(&scene, known, false, Reprovisioning::new(terms, scene.clone()));
    let value = measured.value.unwrap_or_else(|| panic!("{measured:?}"));
    assert!((value - 0.040).abs() <= 0.001 + 1e-9, "{measured:?}");
    assert!((figure(&measured, "forward packets lost") - 40.0).abs() <= 1.0, "{measured:?}");
    // Without a second path nothing can be measured.
    let line = self::scene(4, &TopologySource::Linear);
    let measured = run(&line, Reprovisioning::new(terms, line.clone()));
    assert!(measured.remark.unwrap().contains("no second path"));
}

#[test]
fn connections_begin_no_faster_than_their_rate() {
    let scene = scene(4, &TopologySource::Linear);
    let devices = (0..4).map(|_| Table::default()).collect();
    let emulator = Emulator::new(devices, scene.topology.clone(), scene.hosts.clone(), KEY);
    let procedure = Box::new(TopologyDiscovery::new(terms(), &scene.topology));
    let preparation = Preparation {
        controllers: 1,
        patience: SECOND,
        settle: 0,
        connect_spacing: 10 * MILLISECOND,
        announces: false,
    };
    let mut bench = Bench::new(emulator, procedure, preparation);
    let mut turn = |now: u64| {
        let mut orders = Vec::new();
        bench.turn(now, &mut orders);
        (orders, bench.due())
    };
    let mut now = 1000;
    for switch in 0..4 {
        let (orders, due) = turn(now);
        assert_eq!(orders, [Order::Connect { switch }]);
        if switch < 3 {
            assert_eq!(due, now + 10 * MILLISECOND);
            assert_eq!(turn(due - 1).0, []);
        }
        now = due;
    }
}
