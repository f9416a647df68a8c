//! What the applications do with a switch that is set up: packets are answered, and rules written beside them.

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

/// Messages handled before their answers are sent.
const BATCH: usize = 1024;

/// A rule to be written, and what waits for it.
pub(super) type Ordered = (Order, Option<std::sync::Arc<Afterwards>>);

/// The null responder, and the paths that end before an application: every packet goes back to the port that it came in by,
/// or to port 1 where that is not looked at.
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
        // Taken first: a stream that has ended takes nothing, and what is due must not stay.
        answers.extend(std::iter::from_fn(|| line.next()).map(|answer| answer.packet));
        tally.packet_outs = sender.packet_outs(answers.drain(..)) as u64;
        shared.counters.add(&tally);
    }
}

/// The forwarding applications: packets are sent on, and rules ordered.
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
                        // Where it came from is unknown, so nothing can be learned from it.
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
                // A full queue is worth no waiting; see `ORDERS`.
                let _ = orders.try_send((Order::Install(rule), None));
            }
            answers.push(packet);
        }
        tally.packet_outs = sender.packet_outs(answers.drain(..)) as u64;
        shared.counters.add(&tally);
    }
}

/// Waits for messages as [`next`], or until an answer is due.
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

/// Path provisioning: what the switch tells goes to the network, and what the network commands is done.
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
                    // Of one that does not say where it came in nothing can be told.
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
                    // A full queue is worth no waiting; see `network::TASKS`.
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

/// The ports of a switch that are up, and who tells of changes; where the switch has no gNMI, those that the options say.
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
                "device {} does not tell its ports over gNMI ({}): ports 1 to {} are taken to be up",
                client.device_id(),
                status.message(),
                options.flood_ports
            ));
            Ok(((1..=u32::from(options.flood_ports)).map(Port).collect(), None))
        }
    }
}

/// What becomes of a port; never, once nobody tells any more.
async fn changed(watch: &mut Option<PortWatch>) -> PortChange {
    if let Some(open) = watch {
        if let Ok(Some(change)) = open.next().await {
            return change;
        }
        *watch = None;
    }
    std::future::pending().await
}

/// Orders that the rules go that were idle.
async fn remove_idle(idle: &v1::IdleTimeoutNotification, orders: &mpsc::Sender<Ordered>) {
    for flow in idle.table_entry.iter().filter_map(entities::flow_of) {
        // This one must not be lost: the switch tells only once.
        if orders.send((Order::Remove(flow), None)).await.is_err() {
            break;
        }
    }
}

/// Waits for messages, and looks at those that mean the same to all applications.
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

/// Writes what is ordered, all that waits at a time.
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
        // What waited for these goes now.
        batch.clear();
    }
    Problem::Ended
}
