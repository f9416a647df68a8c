//! Runs an application on a connected switch. The application answers packet-ins while the rules
//! that it orders are written concurrently.

use ::p4runtime::client::{Client, Standing, StreamReceiver, StreamSender, WriteError};
use ::p4runtime::gnmi::{PortChange, PortWatch};
use ::p4runtime::proto::v1;
use ::p4runtime::proto::v1::stream_message_response::Update as Message;
use ::p4runtime::proto::v1::write_request::Atomicity;
use tokio::sync::mpsc;

use super::network::{Afterwards, Task};
use super::rules::{Order, Repeated, RuleBook};
use super::service::{Answer, Line};
use super::switch::Problem;
use super::{AnswerAfter, Shared, entities};
use crate::application::paths::SwitchId;
use crate::application::{Application, Decision, Forwarding, Port};
use crate::counters::Tally;
use crate::pipeline::FLOOD_PORT;

/// The maximum number of messages that are processed at a time, before their answers are sent.
const BATCH: usize = 1024;

/// An order to write a rule, and the packets that may be sent once the rule is written.
pub(super) type Ordered = (Order, Option<std::sync::Arc<Afterwards>>);

/// Answers packet-ins without an application. The null responder does so, and so do controllers
/// that answer after an earlier block. Every packet is sent back to its ingress port, or to port 1
/// if the controller answers before it decodes the ingress port. Returns the reason why the session
/// ended.
pub(super) async fn respond(
    sender: &StreamSender,
    mut receiver: StreamReceiver,
    shared: &Shared,
) -> Problem {
    let mut messages = Vec::new();
    let undecoded = (shared.options.answer_after == AnswerAfter::Grpc)
        .then(|| shared.pipeline.egress(Port(1), None));
    let mut answers = Vec::new();
    let mut line = Line::open(&shared.station);
    loop {
        let mut tally = match next_or_due(&mut receiver, &mut messages, &line).await {
            Ok(tally) => tally,
            Err(problem) => return problem,
        };
        for message in messages.drain(..) {
            if let Message::Packet(packet) = message {
                let metadata = undecoded.clone().unwrap_or_else(|| {
                    let pipeline = shared.description();
                    let ingress = pipeline.ingress(&packet.metadata).unwrap_or(Port(0));
                    pipeline.egress(ingress, None)
                });
                let packet = v1::PacketOut { payload: packet.payload, metadata };
                line.push(Answer { packet, rule: None });
            }
        }
        // Due answers are removed from the queue even if the stream has ended and accepts none.
        answers.extend(std::iter::from_fn(|| line.next()).map(|answer| answer.packet));
        tally.packet_outs = sender.packet_outs(answers.drain(..)) as u64;
        shared.counters.add(&tally);
    }
}

/// Runs a forwarding application on a switch: it forwards packets, and orders rules to be written.
/// Returns the reason why the session ended.
pub(super) async fn forward(
    mut forwarding: Forwarding,
    sender: &StreamSender,
    mut receiver: StreamReceiver,
    orders: mpsc::Sender<Ordered>,
    shared: &Shared,
) -> Problem {
    let (mut messages, mut answers) = (Vec::new(), Vec::new());
    let mut line = Line::open(&shared.station);
    loop {
        let mut tally = match next_or_due(&mut receiver, &mut messages, &line).await {
            Ok(tally) => tally,
            Err(problem) => return problem,
        };
        for message in messages.drain(..) {
            match message {
                Message::Packet(packet) => {
                    let pipeline = shared.description();
                    let ingress = pipeline.ingress(&packet.metadata);
                    let decision = match ingress {
                        Some(port) => forwarding.packet_in(port, &packet.payload),
                        // The ingress port is unknown, so that no address can be learned from the
                        // packet.
                        None => Decision::Flood,
                    };
                    let (output, rule) = match decision {
                        Decision::Drop => continue,
                        Decision::Flood => (FLOOD_PORT, None),
                        Decision::Forward { port, rule } => (port, rule),
                    };
                    let metadata = pipeline.egress(output, ingress);
                    let packet = v1::PacketOut { payload: packet.payload, metadata };
                    line.push(Answer { packet, rule });
                }
                Message::IdleTimeoutNotification(idle) => {
                    remove_idle(&idle, &orders).await;
                }
                _ => {}
            }
        }
        while let Some(Answer { packet, rule }) = line.next() {
            if let Some(rule) = rule {
                // The order is dropped if the queue is full (see `ORDERS`).
                let _ = orders.try_send((Order::Install(rule), None));
            }
            answers.push(packet);
        }
        tally.packet_outs = sender.packet_outs(answers.drain(..)) as u64;
        shared.counters.add(&tally);
    }
}

/// Waits for messages of the switch as [`next`] does, but only until the next answer is due.
async fn next_or_due(
    receiver: &mut StreamReceiver,
    messages: &mut Vec<Message>,
    line: &Line,
) -> Result<Tally, Problem> {
    tokio::select! {
        () = line.due() => Ok(Tally::default()),
        seen = next(receiver, messages), if !line.is_full() => seen,
    }
}

/// Runs path provisioning on a switch: it passes the switch's events to the network, and carries
/// out the network's tasks for the switch. Returns the reason why the session ended.
pub(super) async fn provision(
    client: Client,
    sender: &StreamSender,
    mut receiver: StreamReceiver,
    orders: mpsc::Sender<Ordered>,
    shared: &Shared,
) -> Problem {
    let (ports, mut watch) = match known_ports(&client, shared).await {
        Ok(known) => known,
        Err(problem) => return problem,
    };
    let (member, mut inbox) = shared.network.enter(SwitchId(client.device_id()), ports);
    drop(client);
    let (mut messages, mut tasks, mut packets) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let mut tally = Tally::default();
        tokio::select! {
            next = next(&mut receiver, &mut messages) => match next {
                Ok(seen) => tally = seen,
                Err(problem) => return problem,
            },
            _ = inbox.recv_many(&mut tasks, BATCH) => {}
            change = changed(&mut watch) => match change {
                PortChange::Is { number, up } => member.port_changed(Port(number), up),
                PortChange::Gone { number } => member.port_changed(Port(number), false),
                PortChange::Synchronized => {}
            },
        }
        for message in messages.drain(..) {
            match message {
                Message::Packet(packet) => {
                    // A packet without an ingress port locates no host and no link.
                    if let Some(port) = shared.description().ingress(&packet.metadata) {
                        member.packet_in(port, &packet.payload);
                    }
                }
                Message::IdleTimeoutNotification(idle) => remove_idle(&idle, &orders).await,
                _ => {}
            }
        }
        for task in tasks.drain(..) {
            match task {
                Task::Rule(order, afterwards) => {
                    // The order is dropped if the queue is full (see `network::TASKS`).
                    let _ = orders.try_send((order, afterwards));
                }
                Task::PacketOut { ingress, outputs, frame } => {
                    let payload = bytes::Bytes::from(frame);
                    packets.extend(outputs.into_iter().map(|output| v1::PacketOut {
                        payload: payload.clone(),
                        metadata: shared.pipeline.egress(output, ingress),
                    }));
                }
            }
        }
        tally.packet_outs = sender.packet_outs(packets.drain(..)) as u64;
        shared.counters.add(&tally);
    }
}

/// Returns the ports of a switch that are up, and a subscription to their changes. If the switch
/// has no gNMI, the ports are taken from the options, and there is no subscription.
async fn known_ports(
    client: &Client,
    shared: &Shared,
) -> Result<(Vec<Port>, Option<PortWatch>), Problem> {
    let options = &shared.options;
    let asking = async {
        let mut watch = client.watch_ports().await?;
        let mut up = std::collections::BTreeSet::new();
        loop {
            match watch.next().await? {
                Some(PortChange::Is { number, up: true }) => up.insert(number),
                Some(PortChange::Is { number, up: false } | PortChange::Gone { number }) => {
                    up.remove(&number)
                }
                Some(PortChange::Synchronized) => break,
                None => return Err(tonic::Status::unavailable("the subscription ended")),
            };
        }
        Ok((up.into_iter().map(Port).collect(), Some(watch)))
    };
    let asked = tokio::time::timeout(options.patience, asking).await;
    match asked.map_err(|_| Problem::NoAnswer(options.patience))? {
        Ok(known) => Ok(known),
        Err(status) => {
            options.journal.note(format_args!(
                "device {} does not report its ports over gNMI ({}): ports 1 to {} are taken to be up",
                client.device_id(),
                status.message(),
                options.flood_ports
            ));
            Ok(((1..=u32::from(options.flood_ports)).map(Port).collect(), None))
        }
    }
}

/// Waits for the next change of a port, or forever if there is no subscription or it has ended.
async fn changed(watch: &mut Option<PortWatch>) -> PortChange {
    if let Some(open) = watch {
        if let Ok(Some(change)) = open.next().await {
            return change;
        }
        *watch = None;
    }
    std::future::pending().await
}

/// Orders the removal of the rules that a switch has reported as idle.
async fn remove_idle(idle: &v1::IdleTimeoutNotification, orders: &mpsc::Sender<Ordered>) {
    for flow in idle.table_entry.iter().filter_map(entities::flow_of) {
        // This order must not be dropped, since the switch notifies only once.
        if orders.send((Order::Remove(flow), None)).await.is_err() {
            break;
        }
    }
}

/// Waits for messages of the switch, and processes those that every application treats alike.
/// Returns the counts of messages.
async fn next(
    receiver: &mut StreamReceiver,
    messages: &mut Vec<Message>,
) -> Result<Tally, Problem> {
    match receiver.next_batch(messages, BATCH).await {
        Ok(0) => return Err(Problem::Ended),
        Ok(_) => {}
        Err(status) => return Err(Problem::Stream(status)),
    }
    let mut tally = Tally::default();
    for message in messages.iter() {
        match message {
            Message::Packet(_) => tally.packet_ins += 1,
            Message::Error(_) => tally.refused += 1,
            Message::Arbitration(update) if Standing::of(update) != Standing::Primary => {
                return Err(Problem::NotPrimary);
            }
            _ => {}
        }
    }
    Ok(tally)
}

/// Writes the rules that the application orders. One request contains up to [`BATCH`] waiting
/// orders. Returns the reason why no more rules can be written.
pub(super) async fn write_rules(
    mut client: Client,
    mut orders: mpsc::Receiver<Ordered>,
    shared: &Shared,
) -> Problem {
    let repeated = match shared.options.application {
        Application::ReactiveForwarding => Repeated::Write,
        Application::LearningSwitch | Application::Paths | Application::NullResponder => {
            Repeated::Leave
        }
    };
    let mut book = RuleBook::new(shared.options.idle_timeout, repeated);
    let mut batch = Vec::new();
    while orders.recv_many(&mut batch, BATCH).await > 0 {
        let updates = book.plan(batch.iter().map(|(order, _)| *order));
        if !updates.is_empty() {
            let tally = match client.write(updates, Atomicity::ContinueOnError).await {
                Ok(()) => book.written(&[]),
                Err(WriteError::Updates { refused, .. }) => book.written(&refused),
                Err(error) => return error.into(),
            };
            shared.counters.add(&tally);
        }
        // Packets that waited for these rules are sent now.
        batch.clear();
    }
    Problem::Ended
}
