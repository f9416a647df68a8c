//! Tests with P4Runtime controllers that misbehave. The controllers dial the switches.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use p4runtime::arbitration::ElectionId;
use p4runtime::client::{Client, ClientOptions};
use p4runtime::proto::v1::{self, stream_message_response::Update as Response};
use probe::outcome::{Completion, Trial};

use super::run::{run, try_run};

fn settings(port: &str) -> Vec<(&str, &str)> {
    vec![
        ("protocol", "p4runtime"),
        ("switches.count", "2"),
        ("p4runtime.devices-per-port", "2"),
        ("p4runtime.first-port", port),
        ("timing.connect-timeout", "1s"),
    ]
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Runs a trial, and dials the switches once meanwhile.
fn dialled(port: u16, say: impl FnOnce(TcpStream) + Send + 'static) -> Trial {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let dialler = std::thread::spawn(move || {
        for _ in 0..500 {
            if let Ok(stream) = TcpStream::connect(address) {
                return say(stream);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("nobody listens at {address}");
    });
    let trial = run(&settings(&port.to_string()));
    dialler.join().expect("the switches listen");
    trial
}

#[track_caller]
fn assert_never_ready(trial: &Trial, port: u16, stage: &str) {
    let Completion::Failed { reason } = &trial.completion else {
        panic!("{:?}", trial.completion);
    };
    assert!(reason.contains("0 of 2 switches were ready"), "{reason}");
    let why = trial.handshake.why_zero.as_deref().unwrap_or_default();
    assert!(why.contains(&format!("127.0.0.1:{port}")), "{why}");
    assert!(why.contains(stage), "{why}");
}

#[test]
fn switches_that_are_not_dialled_are_reported() {
    let port = free_port();
    let trial = run(&settings(&port.to_string()));
    assert_never_ready(&trial, port, "listening, not dialled");
}

#[test]
fn a_connection_without_a_stream_is_reported() {
    let port = free_port();
    let trial = dialled(port, |mut stream| {
        // Sends nothing until the switches are gone.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    assert_never_ready(&trial, port, "connected, no stream opened");
}

#[test]
fn a_peer_that_does_not_speak_grpc_opens_no_stream() {
    let port = free_port();
    let trial = dialled(port, |mut stream| {
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: switch\r\n\r\n");
        let _ = stream.read_to_end(&mut Vec::new());
    });
    assert_never_ready(&trial, port, "connected, no stream opened");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = taken.local_addr().expect("an address");
    let error = try_run(&settings(&address.port().to_string())).expect_err("the port is taken");
    assert!(error.contains(&address.to_string()), "{error}");
    assert!(error.contains("--first-port"), "{error}");
}

/// The behaviour of a controller once it is elected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behaviour {
    /// Opens a stream without an election id, and so never becomes primary.
    NeverElected,
    /// Answers every packet-in this number of times.
    Answer(usize),
    /// Answers this number of packet-ins and closes the connection.
    LeaveAfter(usize),
    /// Answers every packet-in without a metadata field that the pipeline has.
    LeaveOutMetadata,
    /// Answers every packet-in without the padding of its header, as ONOS does.
    LeaveOutPadding,
    /// Sends packet-outs first, then pushes the pipeline, and answers.
    SpeakTooEarly,
}

const P4INFO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/l2.p4info.txtpb");

/// Returns the settings of one switch with 30 due times in 300 ms, and with a preloaded pipeline
/// unless `p4info` is empty.
fn one_switch<'a>(port: &'a str, p4info: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        ("protocol", "p4runtime"),
        ("switches.count", "1"),
        ("p4runtime.first-port", port),
        ("p4runtime.p4info", p4info),
        ("traffic.rate", "100"),
        ("timing.connect-timeout", "20s"),
        ("timing.settle", "0s"),
        ("timing.warm-up", "0s"),
        ("timing.measure", "300ms"),
        ("timing.drain", "300ms"),
    ]
}

/// Runs a trial of this switch together with a controller that is connected to it.
pub(crate) fn beside<T: Send + 'static, C: Future<Output = T>>(
    p4info: &str,
    more: &[(&str, &str)],
    control: impl FnOnce(Client) -> C + Send + 'static,
) -> (Trial, T) {
    let port = free_port().to_string();
    let mut settings = one_switch(&port, p4info);
    settings.extend(more);
    let address = format!("127.0.0.1:{port}");
    let controller = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async { control(dial(&address).await).await })
    });
    let trial = run(&settings);
    (trial, controller.join().expect("the controller does as told"))
}

async fn dial(address: &str) -> Client {
    loop {
        match Client::connect(address, 1, &ClientOptions::default()).await {
            Ok(client) => break client,
            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

/// Creates a file with a P4Info.
pub(crate) fn p4info_file(text: &str) -> tempfile::NamedTempFile {
    let mut p4info = tempfile::NamedTempFile::new().expect("a file");
    p4info.write_all(text.as_bytes()).expect("written");
    p4info
}

/// Returns the error message for a P4Info that does not fit the settings; the name of the file is
/// removed.
pub(crate) fn refused(p4info: &str, more: &[(&str, &str)]) -> String {
    let p4info = p4info_file(p4info);
    let path = p4info.path().to_str().expect("a name");
    let port = free_port().to_string();
    let mut settings = one_switch(&port, path);
    settings.extend(more);
    let error = try_run(&settings).expect_err("they do not go together");
    assert!(error.contains(path), "{error}");
    error
}

fn with_controller(behaviour: Behaviour, more: &[(&str, &str)]) -> Trial {
    let p4info = if behaviour == Behaviour::SpeakTooEarly { "" } else { P4INFO };
    beside(p4info, more, move |client| control(client, behaviour)).0
}

async fn control(mut client: Client, behaviour: Behaviour) {
    let elected = (behaviour != Behaviour::NeverElected).then_some(ElectionId(1));
    let (sender, mut receiver) = client.open_stream("", None, elected).await.expect("a stream");
    if behaviour == Behaviour::SpeakTooEarly {
        let early = v1::PacketOut { payload: vec![0; 60].into(), metadata: Vec::new() };
        sender.packet_outs(std::iter::repeat_n(early, 3));
        // The first packet-out is refused by a message, so waiting for that message pushes the
        // pipeline after all of them.
        while !matches!(receiver.next().await, Ok(Some(Response::Error(_)))) {}
        let text = std::fs::read_to_string(P4INFO).expect("a P4Info");
        let p4info = p4runtime::p4info::text::parse(&text).expect("a P4Info");
        let config = v1::ForwardingPipelineConfig { p4info: Some(p4info), ..Default::default() };
        client.ensure_pipeline(config).await.expect("a pipeline");
    }
    let mut answered = 0;
    // The switches end the stream when the trial is over.
    while let Ok(Some(message)) = receiver.next().await {
        let Response::Packet(packet) = message else { continue };
        if let Behaviour::LeaveAfter(limit) = behaviour
            && answered == limit
        {
            // Once the message after the answers is answered, the answers have arrived.
            sender.arbitrate(elected);
            while !matches!(receiver.next().await, Ok(Some(Response::Arbitration(_)))) {}
            return;
        }
        let copies = match behaviour {
            Behaviour::Answer(copies) => copies,
            _ => 1,
        };
        let fields = match behaviour {
            Behaviour::LeaveOutMetadata => 1..=1,
            Behaviour::LeaveOutPadding => 1..=2,
            _ => 1..=3,
        };
        let field = |metadata_id| v1::PacketMetadata { metadata_id, value: vec![1].into() };
        let out = v1::PacketOut { payload: packet.payload, metadata: fields.map(field).collect() };
        sender.packet_outs(std::iter::repeat_n(out, copies));
        answered += 1;
    }
}

#[test]
fn a_switch_without_a_primary_controller_is_reported() {
    let trial = with_controller(Behaviour::NeverElected, &[("timing.connect-timeout", "1s")]);
    let why = trial.handshake.why_zero.as_deref().unwrap_or_default();
    assert!(why.contains("no primary elected"), "{why}");
}

#[test]
fn second_answers_are_duplicates() {
    let calm = [
        ("timing.drain", "10s"),
        ("traffic.arp-first", "false"),
        // The last answer may be a duplicate, so the drain leaves time for it.
        ("switch", "0:stop-delay=100ms"),
    ];
    let trial = with_controller(Behaviour::Answer(2), &calm);
    let counts = trial.counts;
    assert_eq!((counts.sent, counts.answered, counts.lost), (20, 20, 0), "{counts:?}");
    assert_eq!((counts.duplicated, counts.unmatched), (20, 0), "{counts:?}");
    assert_eq!(trial.completion, Completion::Complete);
}

#[test]
fn unanswered_packet_ins_are_lost_and_explained() {
    let trial = with_controller(Behaviour::Answer(0), &[]);
    let counts = trial.counts;
    assert_eq!((counts.sent, counts.answered, counts.lost), (30, 0, 30), "{counts:?}");
    let why = trial.handshake.why_zero.as_deref().unwrap_or_default();
    assert!(why.contains("30 packet-ins left and nothing at all came back"), "{why}");
}

#[test]
fn answers_that_do_not_fit_the_pipeline_are_malformed() {
    let trial = with_controller(Behaviour::LeaveOutMetadata, &[("traffic.arp-first", "false")]);
    let counts = trial.counts;
    assert_eq!((counts.sent, counts.answered, counts.lost), (30, 0, 30), "{counts:?}");
    assert!(counts.malformed > 0, "{counts:?}");
    let why = trial.handshake.why_zero.as_deref().unwrap_or_default();
    assert!(why.contains("do not fit the pipeline"), "{why}");
    assert!(why.contains("packet-out refused") && why.contains("ingress_port"), "{why}");
}

#[test]
fn answers_without_padding_are_accepted() {
    let calm = [("timing.drain", "10s"), ("traffic.arp-first", "false")];
    let counts = with_controller(Behaviour::LeaveOutPadding, &calm).counts;
    assert_eq!((counts.sent, counts.answered, counts.malformed), (30, 30, 0), "{counts:?}");
}

#[test]
fn packet_outs_before_the_pipeline_are_not_malformed() {
    let calm = [("timing.drain", "10s"), ("traffic.arp-first", "false")];
    let trial = with_controller(Behaviour::SpeakTooEarly, &calm);
    let counts = trial.counts;
    assert_eq!((counts.malformed, counts.not_taken), (0, 3), "{counts:?}");
    assert_eq!((counts.sent, counts.answered), (30, 30), "{counts:?}");
    assert_eq!(trial.completion, Completion::Complete);
}

#[test]
fn late_answers_are_counted() {
    let trial = with_controller(
        Behaviour::Answer(1),
        &[("traffic.late-after", "1us"), ("timing.drain", "10s")],
    );
    let counts = trial.counts;
    assert_eq!((counts.answered, counts.late, counts.lost), (30, 30, 0), "{counts:?}");
}

#[test]
fn a_controller_that_leaves_makes_the_trial_partial() {
    // The controller leaves in the first tenth of the schedule, so most packet-ins become due
    // afterwards.
    let more = [("traffic.arp-first", "false"), ("timing.measure", "1s")];
    let trial = with_controller(Behaviour::LeaveAfter(10), &more);
    let counts = trial.counts;
    let Completion::Partial { reason } = &trial.completion else {
        panic!("{:?}", trial.completion);
    };
    assert!(reason.contains("1 of 1 switches were not connected at the end"), "{reason}");
    assert_eq!((counts.due, counts.answered, counts.disconnects), (100, 10, 1), "{counts:?}");
    assert_eq!(counts.answered + counts.lost, counts.sent, "{counts:?}");
    assert!(counts.sent < counts.due, "{counts:?}");
    assert_eq!(trial.handshake.ready, 1);
}
