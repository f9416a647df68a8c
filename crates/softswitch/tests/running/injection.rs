//! Tests of packets that clients inject.

use crate::queues::{SLOW, messages, set};
use crate::restart::entries;
use crate::support::{Bench, Controller, DEVICE, Names, PROGRAM, options};
use futures_core::Stream;
use p4runtime::proto::switch::{
    Delivery, Effects, InjectOutcome, InjectRequest, InjectResponse, InjectedPacket, OutputPacket,
    Tracing, injected_packet::Ingress,
};
use p4runtime::proto::trace::{Trace, node::Next};
use p4runtime::proto::v1::{self, entity::Entity as Kind};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;
use tonic::{Code, Status, Streaming};

/// The requests of a stream, which a test sends one by one.
struct Requests(mpsc::UnboundedReceiver<InjectRequest>);

impl Stream for Requests {
    type Item = InjectRequest;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}

/// An open stream of injected packets.
struct Injecting {
    requests: mpsc::UnboundedSender<InjectRequest>,
    responses: Streaming<InjectResponse>,
}

impl Injecting {
    async fn open(controller: &Controller) -> Self {
        let (requests, receiver) = mpsc::unbounded_channel();
        let opened = controller.client.switch_control().inject(Requests(receiver)).await;
        Self { requests, responses: opened.expect("a stream").into_inner() }
    }

    fn send(&self, packets: Vec<InjectedPacket>, delivery: Delivery) {
        let delivery = delivery.into();
        self.request(InjectRequest { packets, delivery, ..request() });
    }

    fn request(&self, request: InjectRequest) {
        self.requests.send(request).expect("the stream is open");
    }

    async fn next(&mut self) -> Result<Vec<InjectOutcome>, Status> {
        let response = self.responses.message().await?;
        Ok(response.expect("the stream is open").outcomes)
    }

    /// Runs a packet and returns its trace.
    async fn trace(&mut self, packet: InjectedPacket, tracing: Tracing) -> Trace {
        let (packets, tracing) = (vec![packet], Some(tracing));
        self.request(InjectRequest { packets, tracing, ..request() });
        let outcome = self.next().await.expect("it ran").remove(0);
        assert_eq!((outcome.error, outcome.outputs.len()), (None, 1));
        outcome.trace.expect("it was requested")
    }

    async fn run(&mut self, packets: Vec<InjectedPacket>) -> Result<Vec<InjectOutcome>, Status> {
        self.send(packets, Delivery::Return);
        self.next().await
    }
}

fn request() -> InjectRequest {
    InjectRequest { device_id: DEVICE, ..InjectRequest::default() }
}

fn on(port: u32, payload: &[u8]) -> InjectedPacket {
    let payload = payload.to_vec().into();
    InjectedPacket { tag: 0, payload, ingress: Some(Ingress::Port(port)) }
}

fn named(name: &str, payload: &[u8]) -> InjectedPacket {
    InjectedPacket { ingress: Some(Ingress::PortName(name.to_owned())), ..on(0, payload) }
}

fn output(port: u32, port_name: &str, payload: &[u8]) -> OutputPacket {
    OutputPacket { port, port_name: port_name.to_owned(), payload: payload.to_vec().into() }
}

fn injectable(ports: u32) -> Bench {
    let started = Bench::configured(ports, options(), |device| device.takes_injections = true);
    started.expect("it starts")
}

/// Starts a switch that takes injected packets and sends those to port 2 whose first byte is 9.
async fn forwarding() -> (Bench, Controller) {
    let bench = injectable(2);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    controller.insert([Names::new().entry(9, "forward", &[2])]).await;
    (bench, controller)
}

/// Returns how often the entry of the table was hit.
async fn hits(controller: &mut Controller) -> i64 {
    let entry = v1::DirectCounterEntry {
        table_entry: Some(v1::TableEntry { table_id: Names::new().table(), ..Default::default() }),
        ..Default::default()
    };
    let wanted = vec![v1::Entity { entity: Some(Kind::DirectCounterEntry(entry)) }];
    let read = controller.client.read(wanted).await.expect("it is there");
    let Some(Kind::DirectCounterEntry(entry)) = &read[0].entity else { panic!("{read:?}") };
    entry.data.as_ref().expect("a count").packet_count
}

/// The outcome of each packet is returned in order, effects on state are live, and nothing leaves.
#[tokio::test]
async fn a_packet_is_answered_with_what_would_leave() {
    let (mut bench, mut controller) = forwarding().await;
    let mut injecting = Injecting::open(&controller).await;
    let tagged = |tag, packet| InjectedPacket { tag, ..packet };
    let outcomes = injecting.run(vec![
        tagged(7, on(1, &[9, 1])),
        tagged(5, named("port1-a", &[9, 2, 3])),
        tagged(6, on(2, &[8, 4])),
        tagged(8, named("nowhere", &[9, 5])),
        tagged(9, InjectedPacket { ingress: None, ..on(1, &[9, 6]) }),
    ]);
    let outcomes = outcomes.await.expect("they ran");
    let tags: Vec<u64> = outcomes.iter().map(|outcome| outcome.tag).collect();
    assert_eq!(tags, [7, 5, 6, 8, 9]);
    assert_eq!(outcomes[0].outputs, [output(2, "port2-a", &[9, 1])]);
    assert_eq!(outcomes[1].outputs, [output(2, "port2-a", &[9, 2, 3])]);
    // The program sends it to the controller, with the port in the header.
    assert_eq!((outcomes[2].outputs.len(), outcomes[2].packet_ins.len()), (0, 1));
    assert_eq!(&outcomes[2].packet_ins[0].payload[..], [8, 4]);
    assert_eq!(&outcomes[2].packet_ins[0].metadata[0].value[..], [2]);
    let errors: Vec<Option<(i32, &str)>> = outcomes
        .iter()
        .map(|outcome| outcome.error.as_ref().map(|error| (error.code, error.message.as_str())))
        .collect();
    let nowhere = Some((Code::NotFound as i32, "There is no port called \"nowhere\"."));
    let without =
        Some((Code::InvalidArgument as i32, "The packet has no port; set port or port_name."));
    assert_eq!(errors, [None, None, None, nowhere, without]);
    assert_eq!(hits(&mut controller).await, 2);
    // The first packet that leaves is one that came by a port.
    bench.send(1, &[9, 77]);
    assert_eq!(bench.receive(2, 1), [[9, 77]]);
    let state = bench.switch.state().remove(0);
    assert_eq!((state.activity.packet_ins, state.ports[1].counters.transmitted_packets), (0, 1));
}

#[tokio::test]
async fn a_packet_leaves_if_the_client_requests_it() {
    let (mut bench, mut controller) = forwarding().await;
    let mut injecting = Injecting::open(&controller).await;
    injecting.send(vec![on(1, &[9, 1]), on(1, &[8, 2])], Delivery::Send);
    let outcomes = injecting.next().await.expect("they ran");
    assert_eq!(outcomes[0].outputs, [output(2, "port2-a", &[9, 1])]);
    assert_eq!(bench.receive(2, 1), [[9, 1]]);
    let packet_in = loop {
        let message = controller.receiver.next().await.expect("no error").expect("not the end");
        if let v1::stream_message_response::Update::Packet(packet) = message {
            break packet;
        }
    };
    assert_eq!(packet_in, outcomes[1].packet_ins[0]);
}

/// Packets do not wait in the queues of ports, whatever their rates and depths, and are in none of
/// their counters.
#[tokio::test]
async fn a_packet_waits_in_no_queue() {
    let (bench, controller) = forwarding().await;
    set(&controller, messages(&["port=2 rate=1bps depth=0"])).await.expect("a change");
    let mut injecting = Injecting::open(&controller).await;
    let outcomes = injecting.run((0..100).map(|number| on(1, &[9, number])).collect());
    let outcomes = outcomes.await.expect("they ran");
    for (number, outcome) in (0..).zip(&outcomes) {
        assert_eq!(outcome.outputs, [output(2, "port2-a", &[9, number])]);
    }
    assert_eq!(outcomes.len(), 100);
    let counts = bench.switch.finish().remove(0).queues.queues.remove(0).2;
    assert_eq!((counts.enqueued, counts.dropped()), (0, 0));
}

/// A client that sends without waiting gets all answers in order.
#[tokio::test]
async fn thousands_of_requests_in_one_stream_are_answered_in_order() {
    let (_bench, mut controller) = forwarding().await;
    let mut injecting = Injecting::open(&controller).await;
    let payload = |number: u32| [&[9], &number.to_be_bytes()[..]].concat();
    for number in 0..5_000 {
        injecting.send(vec![on(1, &payload(number))], Delivery::Return);
    }
    for number in 0..5_000 {
        let outcomes = injecting.next().await.expect("it ran");
        assert_eq!(outcomes[0].outputs[0].payload[..], payload(number), "{number}");
    }
    assert_eq!(hits(&mut controller).await, 5_000);
    // A request with the largest permitted number of packets runs, and one with more packets is
    // refused.
    let packets = |count| vec![on(1, &[9, 0]); count];
    assert_eq!(injecting.run(packets(4096)).await.expect("they ran").len(), 4096);
    let refused = injecting.run(packets(4097)).await.expect_err("too many");
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    assert_eq!(hits(&mut controller).await, 5_000 + 4096);
}

/// A trace has the table and what leaves, and belongs to the packet of its outcome; packets have
/// their effects once, also if all their outcomes are enumerated.
#[tokio::test]
async fn a_packet_is_answered_with_its_trace() {
    let (_bench, mut controller) = forwarding().await;
    let mut injecting = Injecting::open(&controller).await;
    for tracing in [
        Tracing::default(),
        Tracing { values: true, ..Tracing::default() },
        Tracing { all_outcomes: true, outcomes_limit: 8, ..Tracing::default() },
    ] {
        let trace = injecting.trace(on(1, &[9, 5]), tracing).await;
        assert_eq!((trace.port, &trace.packet[..]), (1, &[9, 5][..]));
        assert_eq!(trace.outcomes.map(|outcomes| outcomes.limit), {
            tracing.all_outcomes.then_some(8)
        });
        assert!(traces::text(&trace, true).contains("stations"), "{trace:?}");
        let root = trace.root.expect("it has one");
        let Some(Next::Output(output)) = root.next else { panic!("{root:?}") };
        assert_eq!((output.port, &output.packet[..]), (2, &[9, 5][..]));
    }
    assert_eq!(hits(&mut controller).await, 3);
    // Without queues a trace is complete; with them it ends where the packet would wait.
    set(&controller, messages(SLOW)).await.expect("a change");
    let trace = injecting.trace(on(1, &[9, 6]), Tracing::default()).await;
    let Some(Next::Wait(wait)) = trace.root.and_then(|root| root.next) else { panic!("no wait") };
    assert_eq!((wait.port, wait.length), (2, 2));
    for (tracing, count) in [
        (Tracing { all_outcomes: true, ..Tracing::default() }, 17),
        (Tracing::default(), 257),
        (Tracing { outcomes_limit: 1 << 17, ..Tracing::default() }, 1),
    ] {
        let mut injecting = Injecting::open(&controller).await;
        let (packets, tracing) = (vec![on(1, &[9, 7]); count], Some(tracing));
        injecting.request(InjectRequest { packets, tracing, ..request() });
        injecting.next().await.expect_err("it is too much");
    }
    assert_eq!(hits(&mut controller).await, 4);
}

/// Packets without effects are answered as others are, with and without traces, also at ports with
/// queues, and the switch is afterwards as if they had not been there.
#[tokio::test]
async fn a_packet_may_leave_the_switch_as_it_is() {
    let (bench, mut controller) = forwarding().await;
    let mut injecting = Injecting::open(&controller).await;
    let packets = || vec![on(1, &[9, 1]), on(2, &[8, 4]), named("port1-a", &[9, 2])];
    let lasting = injecting.run(packets()).await.expect("they ran");
    assert_eq!(hits(&mut controller).await, 2);
    let tried = InjectRequest { effects: Effects::None.into(), ..request() };
    for queues in [&[][..], SLOW] {
        set(&controller, messages(queues)).await.expect("a change");
        injecting.request(InjectRequest { packets: packets(), ..tried.clone() });
        assert_eq!(injecting.next().await.expect("they ran"), lasting);
        for all_outcomes in [false, true] {
            let tracing = Some(Tracing { all_outcomes, ..Tracing::default() });
            injecting.request(InjectRequest { packets: packets(), tracing, ..tried.clone() });
            let traced = injecting.next().await.expect("they ran");
            for (outcome, lasting) in traced.into_iter().zip(&lasting) {
                let root = outcome.trace.as_ref().and_then(|trace| trace.root.clone());
                let next = root.expect("it was requested").next;
                assert!(matches!(next, Some(Next::Output(_))), "{next:?}");
                assert_eq!(InjectOutcome { trace: None, ..outcome }, *lasting);
            }
        }
    }
    assert_eq!(hits(&mut controller).await, 2);
    for (request, named) in [
        (InjectRequest { delivery: Delivery::Send.into(), ..tried }, "DELIVERY_RETURN"),
        (InjectRequest { effects: 7, ..request() }, "effect 7"),
    ] {
        let mut injecting = Injecting::open(&controller).await;
        injecting.request(InjectRequest { packets: packets(), ..request });
        let refused = injecting.next().await.expect_err("it is wrong");
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert!(refused.message().contains(named), "{refused}");
    }
    assert_eq!(hits(&mut controller).await, 2);
    let counts = bench.switch.finish().remove(0).queues.queues.remove(0).2;
    assert_eq!((counts.enqueued, counts.dropped()), (0, 0));
}

/// Packets that cannot be injected are refused with the reason, and have no effect.
#[tokio::test]
async fn injection_is_off_unless_it_is_turned_on() {
    let bench = Bench::new(2);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    controller.insert([Names::new().entry(9, "forward", &[2])]).await;
    let mut injecting = Injecting::open(&controller).await;
    let refused = injecting.run(vec![on(1, &[9, 1])]).await.expect_err("it is off");
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("--inject"), "{refused}");
    assert_eq!(hits(&mut controller).await, 0);

    let bench = injectable(2);
    let mut controller = Controller::of(&bench.switch, 1).await;
    let mut injecting = Injecting::open(&controller).await;
    let refused = injecting.run(vec![on(1, &[9, 1])]).await.expect_err("no pipeline");
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("no pipeline"), "{refused}");
    controller.push(PROGRAM).await;
    assert_eq!(entries(&mut controller).await.len(), 0);
    let mut injecting = Injecting::open(&controller).await;
    let elsewhere = InjectRequest { device_id: 99, ..request() };
    injecting.requests.send(elsewhere).expect("the stream is open");
    assert_eq!(injecting.next().await.expect_err("no device").code(), Code::NotFound);
    let mut injecting = Injecting::open(&controller).await;
    let undelivered = InjectRequest { delivery: 7, ..request() };
    injecting.requests.send(undelivered).expect("the stream is open");
    assert_eq!(injecting.next().await.expect_err("no delivery").code(), Code::InvalidArgument);
}
