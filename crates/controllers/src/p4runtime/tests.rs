//! Tests of P4Runtime controllers with emulated switches of the crate `p4runtime`.

mod emulated;
mod path;

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use ::openflow::MacAddress;
use ::p4runtime::arbitration::ElectionId;
use ::p4runtime::client::{Client, ClientOptions, ClientTls};
use ::p4runtime::proto::v1::update::Type;
use ::p4runtime::proto::v1::{Update, entity::Entity as Kind};
use ::p4runtime::server::{ServerOptions, ServerTls};
use emulated::{Emulated, Event, TIMEOUT, with_controller};
use path::Path;

use super::entities;
use super::{AnswerAfter, Controller, Description, Options, Target};
use crate::Journal;
use crate::application::{Application, Flow, Port, Rule};
use crate::pipeline::{FLOOD_PORT, Pipeline};

const IPV4: u16 = 0x0800;
const ARP: u16 = 0x0806;
const LLDP: u16 = 0x88cc;

fn mac(last: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, last])
}

fn frame(destination: u8, source: u8, ether_type: u16) -> Vec<u8> {
    let mut frame = [mac(destination).0, mac(source).0].concat();
    frame.extend(ether_type.to_be_bytes());
    frame.extend([0x5a; 46]);
    frame
}

fn rule(ingress: u32, source: u8, destination: u8, output: u32) -> Rule {
    let (source, destination) = (mac(source), mac(destination));
    Rule { flow: Flow { ingress: Port(ingress), source, destination }, output: Port(output) }
}

fn options(application: Application) -> Options {
    Options { application, ..Options::default() }
}

/// Returns the updates that a controller with this application writes when a switch connects.
fn starts_with(application: Application) -> Vec<Update> {
    let mut expected = vec![entities::update(Type::Modify, entities::default_to_controller())];
    if application != Application::NullResponder {
        expected.push(entities::update(Type::Insert, entities::flood_group(48)));
    }
    if application == Application::ReactiveForwarding {
        expected.push(entities::update(Type::Insert, entities::arp_to_controller()));
    }
    expected
}

fn insert(rule: &Rule) -> Vec<Update> {
    vec![entities::update(Type::Insert, entities::rule(rule, 10_000_000_000))]
}

fn journal() -> (Journal, Receiver<String>) {
    let (sender, lines) = channel();
    let journal = Journal::new(move |line| {
        let _ = sender.send(line.to_owned());
    });
    (journal, lines)
}

fn line(lines: &Receiver<String>) -> String {
    lines.recv_timeout(TIMEOUT).expect("a line in the journal")
}

#[test]
fn a_new_switch_gets_the_pipeline_and_the_initial_entries_of_the_application() {
    for application in
        [Application::LearningSwitch, Application::ReactiveForwarding, Application::NullResponder]
    {
        let switch = Emulated::start(7, ServerOptions::default());
        let counts = with_controller([switch.target()], options(application), |counters| {
            let pushed = Pipeline::new(None).unwrap().config();
            let pipeline =
                Event::Pipeline(Box::new(pushed.p4info.unwrap()), pushed.p4_device_config);
            assert_eq!(switch.event(), pipeline);
            assert_eq!(switch.event(), Event::Written(starts_with(application), 0));
            counters.wait(|counts| counts.switches == 1);
        });
        assert_eq!((counts.switches, counts.sessions, counts.failures), (0, 1, 0));
        assert_eq!((counts.rules, counts.refused), (0, 0));
    }
}

#[test]
fn the_first_packet_is_flooded_and_later_ones_are_forwarded_by_rules() {
    let switch = Emulated::start(7, ServerOptions::default());
    let counts =
        with_controller([switch.target()], options(Application::LearningSwitch), |counters| {
            switch.skip_set_up();
            let (there, back) = (frame(2, 1, IPV4), frame(1, 2, IPV4));
            switch.packet(3, &there);
            assert_eq!(switch.event(), Event::packet_out(FLOOD_PORT.0, 3, &there));
            switch.packet(4, &back);
            let mut events = [switch.event(), switch.event()];
            // The answer does not wait for the rule.
            events.sort_by_key(|event| matches!(event, Event::Written(..)));
            assert_eq!(events[0], Event::packet_out(3, 4, &back));
            assert_eq!(events[1], Event::Written(insert(&rule(4, 2, 1, 3)), 0));
            counters.wait(|counts| counts.rules == 1);
            // The rule exists, so nothing is written.
            switch.packet(4, &back);
            assert_eq!(switch.event(), Event::packet_out(3, 4, &back));
            // The host moves to another port.
            switch.packet(5, &there);
            let mut events = [switch.event(), switch.event()];
            events.sort_by_key(|event| matches!(event, Event::Written(..)));
            assert_eq!(events[0], Event::packet_out(4, 5, &there));
            assert_eq!(events[1], Event::Written(insert(&rule(5, 1, 2, 4)), 0));
            switch.packet(4, &back);
            let mut events = [switch.event(), switch.event()];
            events.sort_by_key(|event| matches!(event, Event::Written(..)));
            let moved = entities::rule(&rule(4, 2, 1, 5), 10_000_000_000);
            assert_eq!(events[1], Event::Written(vec![entities::update(Type::Modify, moved)], 0));
            counters.wait(|counts| counts.rules == 3);
        });
    assert_eq!((counts.packet_ins, counts.packet_outs, counts.refused), (5, 5, 0));
}

#[test]
fn reactive_forwarding_leaves_arp_to_the_controller_and_writes_a_rule_for_every_packet() {
    let switch = Emulated::start(7, ServerOptions::default());
    with_controller([switch.target()], options(Application::ReactiveForwarding), |counters| {
        switch.skip_set_up();
        switch.packet(1, &frame(2, 1, ARP));
        assert_eq!(switch.event(), Event::packet_out(FLOOD_PORT.0, 1, &frame(2, 1, ARP)));
        switch.packet(2, &frame(1, 2, ARP));
        assert_eq!(switch.event(), Event::packet_out(1, 2, &frame(1, 2, ARP)));
        // Discovery frames get no answer, so the next event is the rule or the packet-out for IPv4.
        switch.packet(2, &frame(1, 2, LLDP));
        switch.packet(2, &frame(1, 2, IPV4));
        let events = [switch.event(), switch.event()];
        assert!(events.contains(&Event::packet_out(1, 2, &frame(1, 2, IPV4))), "{events:?}");
        assert!(events.contains(&Event::Written(insert(&rule(2, 2, 1, 1)), 0)), "{events:?}");
        counters.wait(|counts| counts.rules == 1);
        switch.packet(2, &frame(1, 2, IPV4));
        let again = entities::rule(&rule(2, 2, 1, 1), 10_000_000_000);
        assert_eq!(switch.written(), [entities::update(Type::Modify, again)]);
    });
}

#[test]
fn the_null_responder_returns_every_packet_in_order() {
    for gather in [Duration::ZERO, Duration::from_micros(200)] {
        let switch = Emulated::start(7, ServerOptions::default());
        let options = Options { gather, ..options(Application::NullResponder) };
        let counts = with_controller([switch.target()], options, |counters| {
            switch.skip_set_up();
            let payload = |number: u32| number.to_be_bytes().repeat(16);
            switch.packets((0..5000).map(|number| (number % 300, payload(number))));
            for number in 0..5000 {
                let expected = Event::packet_out(number % 300, 0, &payload(number));
                assert_eq!(switch.event(), expected);
            }
            counters.wait(|counts| counts.packet_outs == 5000);
        });
        assert_eq!((counts.packet_ins, counts.rules), (5000, 0));
    }
}

#[test]
fn a_packet_in_can_be_answered_after_each_block() {
    let there = frame(2, 1, IPV4);
    // After gRPC the ingress port is unread; after decoding no address is learned.
    for (answer_after, description, egress) in [
        (AnswerAfter::Grpc, Description::ReadPerPacket, 1),
        (AnswerAfter::Decoding, Description::ReadOnce, 3),
        (AnswerAfter::Decoding, Description::ReadPerPacket, 3),
        (AnswerAfter::Application, Description::ReadPerPacket, FLOOD_PORT.0),
    ] {
        let switch = Emulated::start(7, ServerOptions::default());
        let options =
            Options { answer_after, description, ..options(Application::ReactiveForwarding) };
        let counts = with_controller([switch.target()], options, |counters| {
            switch.skip_set_up();
            for _ in 0..3 {
                switch.packet(3, &there);
                let ingress = if answer_after == AnswerAfter::Application { 3 } else { 0 };
                assert_eq!(switch.event(), Event::packet_out(egress, ingress, &there));
            }
            counters.wait(|counts| counts.packet_outs == 3);
        });
        assert_eq!((counts.packet_ins, counts.rules), (3, 0), "{answer_after}");
    }
}

#[test]
fn names_of_blocks_are_parsed_and_others_are_refused() {
    for after in AnswerAfter::ALL {
        assert_eq!(after.to_string().parse(), Ok(after));
    }
    let error = "http".parse::<AnswerAfter>().unwrap_err().to_string();
    assert_eq!(
        error,
        "`http` is not a block of the controller; name grpc, decoding or application"
    );
}

#[test]
fn idle_rules_are_removed_and_may_come_again() {
    let idle_timeout = Duration::from_millis(20);
    let switch = Emulated::start(7, ServerOptions::default());
    let options = Options { idle_timeout, ..options(Application::LearningSwitch) };
    with_controller([switch.target()], options, |_| {
        switch.skip_set_up();
        switch.packet(1, &frame(2, 1, IPV4));
        let rule = rule(2, 2, 1, 1);
        let insert = [entities::update(Type::Insert, entities::rule(&rule, 20_000_000))];
        let delete = [entities::update(Type::Delete, entities::rule_key(&rule.flow))];
        for _ in 0..3 {
            switch.packet(2, &frame(1, 2, IPV4));
            assert_eq!(switch.written(), insert);
            assert_eq!(switch.written(), delete);
        }
    });
}

#[test]
fn a_switch_that_has_the_pipeline_is_not_sent_it_again_but_loses_old_rules() {
    let switch = Emulated::start(7, ServerOptions::default());
    with_controller([switch.target()], options(Application::LearningSwitch), |counters| {
        switch.skip_set_up();
        switch.packet(1, &frame(2, 1, IPV4));
        switch.packet(2, &frame(1, 2, IPV4));
        assert_eq!(switch.written(), insert(&rule(2, 2, 1, 1)));
        counters.wait(|counts| counts.packet_outs == 2);
    });
    let mut options = options(Application::ReactiveForwarding);
    options.flood_ports = 8;
    with_controller([switch.target()], options, |_| {
        let deleted = switch.written();
        assert_eq!(deleted.len(), 1);
        assert_eq!(deleted[0].r#type(), Type::Delete);
        let Some(Kind::TableEntry(entry)) = deleted[0].entity.clone().unwrap().entity else {
            panic!("{deleted:?}");
        };
        assert_eq!(entities::flow_of(&entry), Some(rule(2, 2, 1, 1).flow));
        // The flood group exists with other ports.
        let mut wanted = starts_with(Application::ReactiveForwarding);
        wanted[1] = entities::update(Type::Insert, entities::flood_group(8));
        assert_eq!(switch.event(), Event::Written(wanted, 1));
        let group = entities::update(Type::Modify, entities::flood_group(8));
        assert_eq!(switch.event(), Event::Written(vec![group], 0));
        // The old rules are unknown to the controller.
        switch.packet(2, &frame(1, 2, IPV4));
        assert_eq!(switch.event(), Event::packet_out(FLOOD_PORT.0, 2, &frame(1, 2, IPV4)));
    });
}

#[test]
fn a_switch_is_dialled_until_it_is_there_and_again_when_it_returns() {
    let (address, _reserved) = emulated::reserve();
    let target = Target { device_id: 7, address: address.to_string() };
    let (journal, lines) = journal();
    let options = Options { journal, ..options(Application::NullResponder) };
    with_controller([target], options, |counters| {
        let name = format!("switch 7 at {address}");
        assert!(line(&lines).starts_with(&format!("{name}: no gRPC server answers at")));
        for _ in 0..2 {
            let switch = Emulated::start_at(address, 7, ServerOptions::default());
            assert_eq!(line(&lines), format!("{name} is connected"));
            switch.skip_set_up();
            switch.packet(1, b"packet");
            assert_eq!(switch.event(), Event::packet_out(1, 0, b"packet"));
            drop(switch);
            let gone = line(&lines);
            assert!(gone.starts_with(&format!("{name} is gone: ")), "{gone}");
            let again = line(&lines);
            assert!(again.ends_with("; trying again"), "{again}");
        }
        counters.wait(|counts| counts.sessions == 2 && counts.switches == 0);
    });
}

#[test]
fn a_controller_that_is_not_primary_says_so_and_waits() {
    let switch = Emulated::start(7, ServerOptions::default());
    let (journal, lines) = journal();
    let options = Options { journal, ..options(Application::NullResponder) };
    with_controller([switch.target()], options, |counters| {
        let name = format!("switch 7 at {}", switch.address());
        assert_eq!(line(&lines), format!("{name} is connected"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let rival = runtime.block_on(async {
            let address = switch.address().to_string();
            let mut client = Client::connect(&address, 7, &ClientOptions::default()).await.unwrap();
            client.become_primary("", ElectionId(2), TIMEOUT).await.unwrap()
        });
        assert_eq!(line(&lines), format!("{name} is gone: this controller is no longer primary"));
        let refused = line(&lines);
        assert!(refused.contains("another controller is primary, with election id 2"), "{refused}");
        counters.wait(|counts| counts.switches == 0);
        drop(rival);
        drop(runtime);
        // An election id below one that was seen is rejected (specification 1.5, arbitration).
        let refused = line(&lines);
        assert!(refused.contains("use one at least as high"), "{refused}");
    });
}

#[test]
fn several_threads_serve_many_switches() {
    let switches: Vec<_> =
        (1..=40).map(|id| Emulated::start(id, ServerOptions::default())).collect();
    let mut options = options(Application::LearningSwitch);
    (options.threads, options.parallel_dials) = (3, 4);
    let targets: Vec<_> = switches.iter().map(Emulated::target).collect();
    let counts = with_controller(targets, options, |counters| {
        counters.wait(|counts| counts.switches == 40);
        for switch in &switches {
            switch.skip_set_up();
            switch.packet(1, &frame(2, 1, IPV4));
            assert_eq!(switch.event(), Event::packet_out(FLOOD_PORT.0, 1, &frame(2, 1, IPV4)));
        }
    });
    assert_eq!((counts.sessions, counts.packet_ins, counts.failures), (40, 40, 0));
}

#[test]
fn switches_behind_one_address_share_connections() {
    let switches = Emulated::serve(([127, 0, 0, 1], 0).into(), 1..=60, ServerOptions::default());
    let path = Path::to(switches.address());
    let target = |device_id| Target { device_id, address: path.address.to_string() };
    with_controller((1..=60).map(target), options(Application::NullResponder), |counters| {
        counters.wait(|counts| counts.switches == 60);
        // The connections have fifty and ten switches.
        assert_eq!(path.connections(), 2);
        path.cut();
        counters.wait(|counts| counts.sessions == 120 && counts.switches == 60);
        assert_eq!(path.connections(), 2);
    });
}

#[test]
fn servers_that_never_answer_do_not_keep_the_controller_from_ending() {
    // The system accepts connections that no server reads.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let target = Target { device_id: 1, address: silent.local_addr().unwrap().to_string() };
    let start = std::time::Instant::now();
    let counts = with_controller([target], Options::default(), |_| {
        // The controller has begun the HTTP/2 connection.
        let (mut connection, _) = silent.accept().unwrap();
        let mut preface = [0; 24];
        std::io::Read::read_exact(&mut connection, &mut preface).unwrap();
        assert_eq!(&preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    });
    assert!(start.elapsed() < TIMEOUT);
    assert_eq!((counts.sessions, counts.switches), (0, 0));
}

#[test]
fn switches_are_dialled_under_mutual_tls() {
    let certificate = rcgen::generate_simple_self_signed(vec!["switch".to_owned()]).unwrap();
    let (pem, key) = (certificate.cert.pem(), certificate.signing_key.serialize_pem());
    let tls = ServerTls {
        certificate: pem.clone().into_bytes(),
        key: key.clone().into_bytes(),
        client_authorities: Some(pem.clone().into_bytes()),
    };
    let switch = Emulated::start(7, ServerOptions { tls: Some(tls), ..ServerOptions::default() });
    let mut options = options(Application::NullResponder);
    options.client.tls = Some(ClientTls {
        authorities: pem.clone().into_bytes(),
        server_name: Some("switch".to_owned()),
        identity: Some((pem.into_bytes(), key.into_bytes())),
    });
    with_controller([switch.target()], options, |_| {
        switch.skip_set_up();
        switch.packet(1, b"packet");
        assert_eq!(switch.event(), Event::packet_out(1, 0, b"packet"));
    });
}

#[test]
fn a_controller_without_switches_runs() {
    let controller = Controller::new(Vec::new(), Options::default()).unwrap();
    controller.run(&std::sync::atomic::AtomicBool::new(true)).unwrap();
}
