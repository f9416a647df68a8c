//! Tests of OpenFlow controllers over TCP on the loopback interface: forwarding, several switches
//! and threads, malformed bytes, and switches that do not read.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::super::{Controller, Options};
use super::*;
use crate::application::Application;
use crate::{Counters, Counts, Journal};

/// Runs a controller while `test` runs, and returns its counts.
pub(super) fn with_controller(
    options: Options,
    test: impl FnOnce(SocketAddr, &Counters),
) -> Counts {
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let controller = Controller::bind(([127, 0, 0, 1], 0).into(), options).unwrap();
    let counters = controller.counters();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| controller.run(&stop));
        {
            // The guard stops the controller even if the test fails.
            let _stop = Stop(&stop);
            test(controller.local_addr(), &counters);
        }
        running.join().unwrap().unwrap();
    });
    counters.counts()
}

/// Waits until `expected` returns true for the controller's counts. Panics after a time limit.
pub(super) fn await_counts(counters: &Counters, expected: impl Fn(&Counts) -> bool) {
    let start = Instant::now();
    while !expected(&counters.counts()) {
        assert!(start.elapsed() < TIMEOUT, "{:?}", counters.counts());
        std::thread::yield_now();
    }
}

/// A switch that has an open session with the controller.
pub(super) struct Switch<S> {
    pub(super) stream: S,
    played: SimulatedSwitch,
    messages: std::collections::VecDeque<Vec<u8>>,
    version: Version,
}

pub(super) fn dial(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.set_write_timeout(Some(TIMEOUT)).unwrap();
    stream
}

impl Switch<TcpStream> {
    fn connect(address: SocketAddr, version: Version) -> Self {
        Self::open(dial(address), version, 1)
    }
}

impl<S: Read + Write> Switch<S> {
    /// Opens a session, and discards the controller's first messages.
    pub(super) fn open(stream: S, version: Version, datapath_id: u64) -> Self {
        let mut switch = Self::shake_hands(stream, version, datapath_id);
        let start = if version == Version::V1_0 { 2 } else { 3 };
        for _ in 0..start {
            switch.receive();
        }
        switch
    }

    /// Opens a session by performing the handshake.
    pub(super) fn shake_hands(stream: S, version: Version, datapath_id: u64) -> Self {
        let mut out = Vec::new();
        let played = SimulatedSwitch::new(&[version], datapath_id, &mut out);
        let mut switch = Self { stream, played, messages: Default::default(), version };
        switch.send(&out);
        while !switch.played.handshake.is_ready() {
            switch.read();
        }
        switch
    }

    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Sends a packet-in to the controller.
    pub(super) fn packet(&mut self, xid: u32, port: u32, buffer_id: BufferId, frame: &[u8]) {
        let message = packet_in(self.version, xid, port, buffer_id, frame);
        self.send(&message);
    }

    /// Returns the next message from the controller.
    pub(super) fn receive(&mut self) -> Vec<u8> {
        loop {
            if let Some(message) = self.messages.pop_front() {
                return message;
            }
            self.read();
        }
    }

    /// Waits for bytes from the controller, and answers messages of the handshake.
    fn read(&mut self) {
        let mut buffer = [0; 65_536];
        let count = self.stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the controller closed the connection");
        let mut out = Vec::new();
        self.messages.extend(self.played.take(&buffer[..count], &mut out));
        self.send(&out);
    }

    pub(super) fn answer(&mut self) -> Answer {
        Answer::read(&self.receive())
    }

    fn rule(&mut self) -> Installed {
        Installed::read(&self.receive())
    }
}

fn answer(
    xid: u32,
    in_port: u32,
    output: PortNumber,
    buffer_id: BufferId,
    payload: &[u8],
) -> Answer {
    let (in_port, payload) = (PortNumber(in_port), payload.to_vec());
    Answer { xid, buffer_id, in_port, outputs: vec![output], payload }
}

fn rule(in_port: u32, source: u8, destination: u8, output: u32) -> Installed {
    let (source, destination) = (mac(source), mac(destination));
    let (idle_timeout, buffer_id) = (10, BufferId::NO_BUFFER);
    Installed { in_port, source, destination, output, idle_timeout, buffer_id }
}

#[test]
fn the_first_packet_is_flooded_and_later_ones_are_forwarded_by_rules() {
    const FREE: BufferId = BufferId::NO_BUFFER;
    for version in BOTH {
        let counts = with_controller(Options::default(), |address, _| {
            let mut switch = Switch::connect(address, version);
            let (there, back) = (frame(2, 1, IPV4), frame(1, 2, IPV4));
            switch.packet(11, 1, FREE, &there);
            assert_eq!(switch.answer(), answer(11, 1, PortNumber::FLOOD, FREE, &there));
            switch.packet(12, 2, FREE, &back);
            assert_eq!(switch.rule(), rule(2, 2, 1, 1));
            assert_eq!(switch.answer(), answer(12, 2, PortNumber(1), FREE, &back));
            switch.packet(13, 1, FREE, &there);
            assert_eq!(switch.rule(), rule(1, 1, 2, 2));
            assert_eq!(switch.answer(), answer(13, 1, PortNumber(2), FREE, &there));
        });
        let expected =
            Counts { sessions: 1, packet_ins: 3, packet_outs: 3, rules: 2, ..Counts::default() };
        assert_eq!(counts, expected, "{version}");
    }
}

#[test]
fn a_buffered_packet_is_released_once_by_the_packet_out() {
    for version in BOTH {
        with_controller(Options::default(), |address, _| {
            let mut switch = Switch::connect(address, version);
            let (there, back) = (frame(2, 1, IPV4), frame(1, 2, IPV4));
            // Only the beginning of the packet is sent, as switches do.
            switch.packet(21, 1, BufferId(100), &there[..20]);
            assert_eq!(switch.answer(), answer(21, 1, PortNumber::FLOOD, BufferId(100), &[]));
            switch.packet(22, 2, BufferId(101), &back[..20]);
            assert_eq!(switch.rule(), rule(2, 2, 1, 1), "the rule names no buffer");
            assert_eq!(switch.answer(), answer(22, 2, PortNumber(1), BufferId(101), &[]));
        });
    }
}

#[test]
fn discovery_is_not_answered_but_its_buffer_is_freed() {
    for version in BOTH {
        let counts = with_controller(Options::default(), |address, _| {
            let mut switch = Switch::connect(address, version);
            switch.packet(31, 1, BufferId::NO_BUFFER, &frame(2, 1, LLDP));
            switch.packet(32, 1, BufferId(7), &frame(2, 1, LLDP));
            let freed = switch.answer();
            assert_eq!((freed.xid, freed.buffer_id), (32, BufferId(7)));
            assert_eq!((freed.outputs, freed.payload), (vec![], vec![]));
        });
        assert_eq!((counts.packet_ins, counts.packet_outs), (2, 1));
    }
}

#[test]
fn the_null_responder_returns_every_packet_in_order() {
    let options = || Options { application: Application::NullResponder, ..Options::default() };
    for version in BOTH {
        with_controller(options(), |address, counters| {
            let mut switch = Switch::connect(address, version);
            let mut flood = Vec::new();
            for xid in 0..2000 {
                let frame = frame(2, xid as u8, LLDP);
                flood.extend(packet_in(version, xid, 3, BufferId::NO_BUFFER, &frame));
            }
            flood.extend(packet_in(version, 2000, 4, BufferId(9), b"beginning"));
            switch.send(&flood);
            for xid in 0..2000 {
                let frame = frame(2, xid as u8, LLDP);
                let expected = answer(xid, 3, PortNumber::IN_PORT, BufferId::NO_BUFFER, &frame);
                assert_eq!(switch.answer(), expected);
            }
            assert_eq!(switch.answer(), answer(2000, 4, PortNumber::IN_PORT, BufferId(9), &[]));
            await_counts(counters, |counts| counts.packet_outs == 2001);
            assert_eq!(counters.counts().rules, 0);
        });
    }
}

#[test]
fn garbage_ends_only_the_connection_on_which_it_arrived() {
    let counts = with_controller(Options::default(), |address, counters| {
        let mut good = Switch::connect(address, Version::V1_3);
        let mut late = Switch::connect(address, Version::V1_0);
        late.send(&[1, 10, 0, 3, 0, 0, 0, 0]); // a length below that of a header
        for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[4, 0, 0, 0], &[4, 10, 0, 8, 0, 0, 0, 0]] {
            let mut bad = dial(address);
            bad.write_all(garbage).unwrap();
            if garbage.starts_with(b"GET") {
                // The bytes look like the beginning of a message of 8,239 bytes, until the stream
                // ends.
                bad.shutdown(Shutdown::Write).unwrap();
            }
            // The controller sends a HELLO and closes.
            let mut rest = Vec::new();
            let _ = bad.read_to_end(&mut rest);
            assert_eq!(rest.get(1), Some(&MessageType::HELLO.0));
        }
        let mut buffer = [0; 64];
        assert!(matches!(late.stream.read(&mut buffer), Ok(0) | Err(_)), "closed as well");
        await_counts(counters, |counts| counts.failures == 4 && counts.switches == 1);
        good.packet(1, 1, BufferId::NO_BUFFER, &frame(2, 1, IPV4));
        assert_eq!(good.answer().outputs, [PortNumber::FLOOD]);
    });
    assert_eq!((counts.sessions, counts.switches), (2, 0));
}

#[test]
fn switches_are_distributed_over_threads_and_are_independent() {
    let options = Options { threads: 3, ..Options::default() };
    let counts = with_controller(options, |address, counters| {
        let mut switches: Vec<_> = (0..60)
            .map(|number| Switch::open(dial(address), BOTH[number % 2], number as u64))
            .collect();
        assert_eq!(counters.counts().switches, 60);
        for switch in &mut switches {
            switch.packet(1, 1, BufferId::NO_BUFFER, &frame(2, 1, IPV4));
        }
        for switch in &mut switches {
            assert_eq!(switch.answer().outputs, [PortNumber::FLOOD]);
        }
        switches.truncate(30);
        await_counts(counters, |counts| counts.switches == 30);
        for switch in &mut switches {
            switch.packet(2, 2, BufferId::NO_BUFFER, &frame(1, 2, IPV4));
            assert_eq!(switch.rule().output, 1);
        }
    });
    assert_eq!((counts.sessions, counts.packet_ins, counts.rules), (60, 90, 30));
    assert_eq!(counts.failures, 0, "switches may leave");
}

#[test]
fn a_switch_that_does_not_read_delays_no_other_switch_and_loses_no_answer() {
    let options = Options { application: Application::NullResponder, ..Options::default() };
    with_controller(options, |address, _| {
        let mut greedy = Switch::connect(address, Version::V1_0);
        let one = packet_in(Version::V1_0, 1, 1, BufferId::NO_BUFFER, &[0x5a; 1400]);
        // Sends until the buffers of the system and of the controller are full.
        greedy.stream.set_nonblocking(true).unwrap();
        let (mut sent, block) = (0, one.repeat(100));
        while let Ok(count) = greedy.stream.write(&block[sent % one.len()..]) {
            sent += count;
            assert!(sent < 1 << 30, "the controller reads without end");
        }
        greedy.stream.set_nonblocking(false).unwrap();

        let mut other = Switch::connect(address, Version::V1_3);
        other.packet(5, 1, BufferId::NO_BUFFER, b"other");
        assert_eq!(other.answer().xid, 5);

        for _ in 0..sent / one.len() {
            assert_eq!(greedy.answer().payload.len(), 1400);
        }
    });
}

#[test]
fn a_single_version_can_be_offered() {
    let options = Options { versions: vec![Version::V1_3], ..Options::default() };
    with_controller(options, |address, counters| {
        let mut stream = dial(address);
        let mut out = Vec::new();
        let mut switch = SimulatedSwitch::new(&[Version::V1_0], 1, &mut out);
        stream.write_all(&out).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let frames: Vec<_> = switch.framer.frames(&answer).map(|f| f.unwrap().to_vec()).collect();
        assert_eq!(types(&frames), [MessageType::HELLO, MessageType::ERROR]);
        await_counts(counters, |counts| counts.failures == 1);
        Switch::connect(address, Version::V1_3);
    });
}

#[test]
fn the_journal_names_switches_that_connect_and_disconnect() {
    let (sender, lines) = std::sync::mpsc::channel();
    let journal = Journal::new(move |line| {
        let _ = sender.send(line.to_owned());
    });
    with_controller(Options { journal, ..Options::default() }, |address, _| {
        let switch = Switch::open(dial(address), Version::V1_3, 0x2a);
        let name = format!("switch 000000000000002a at {}", switch.stream.local_addr().unwrap());
        assert_eq!(lines.recv(), Ok(format!("{name} is connected, OpenFlow 1.3")));
        drop(switch);
        assert_eq!(lines.recv(), Ok(format!("{name} is gone: the switch closed the connection")));
    });
}

#[test]
fn an_address_in_use_is_named() {
    let first = Controller::bind(([127, 0, 0, 1], 0).into(), Options::default()).unwrap();
    let error = Controller::bind(first.local_addr(), Options::default()).unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot listen on {}: ", first.local_addr())), "{error}");
}
