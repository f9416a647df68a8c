//! The commands about queues and injected packets. They need the gRPC service of Planimeter's
//! switch, because P4Runtime has neither.

use crate::entries::hexadecimal;
use crate::error::CommandError;
use crate::operands::{Operands, small};
use crate::session::{Item, Session, Sink};
use crate::view::{View, digits, packet_in};
use p4runtime::control;
use p4runtime::control::Treatment;
use p4runtime::proto::switch::{
    self, InjectedPacket, PortQueues, QueueState, Tracing, injected_packet::Ingress,
};
use queues::Configuration;
use serde_json::json;

/// Reads the queues of ports, and the revision of their configuration.
fn read(session: &mut Session<'_>, ports: &[u32]) -> Result<(Configuration, u64), CommandError> {
    let answer = session.device.queues(ports)?;
    let configuration = control::configuration(&answer.ports).map_err(|error| {
        CommandError::Missing(format!("the device tells impossible queues: {error}"))
    })?;
    Ok((configuration, answer.revision))
}

/// Parses port numbers from the operands.
fn ports(words: &mut Operands) -> Result<Vec<u32>, CommandError> {
    let texts = words.rest();
    let port = |text: &String| {
        small(text).ok_or_else(|| words.problem(format!("'{text}' is not the number of a port")))
    };
    texts.iter().map(port).collect()
}

/// Runs the command `queue dump`, which shows the configuration of queues as commands `queue set`
/// that restore it.
pub(crate) fn dump(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let ports = ports(&mut words)?;
    let (configuration, _) = read(session, &ports)?;
    for line in configuration.lines() {
        let json = json!({ "kind": "queue", "line": line });
        sink(View::new(format!("queue set {line}"), json).into());
    }
    Ok(())
}

/// Runs the command `queue show`, which shows the packets that wait in queues, and the counters of
/// the queues.
pub(crate) fn show(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let ports = ports(&mut words)?;
    for port in session.device.queues(&ports)?.states {
        for queue in &port.queues {
            sink(state(port.port, queue));
        }
    }
    Ok(())
}

fn state(port: u32, queue: &QueueState) -> Item {
    let drops = [
        ("depth", queue.dropped_depth),
        ("buffer", queue.dropped_buffer),
        ("RED", queue.dropped_red),
        ("the program", queue.dropped_behind),
    ];
    let dropped: String = drops
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(reason, count)| format!(", {count} dropped by {reason}"))
        .collect();
    let marked = match queue.marked {
        0 => String::new(),
        marked => format!(", {marked} marked"),
    };
    let text = format!(
        "port {port} queue {}: {} packets ({} bytes) wait, at most {}; {} entered, {} sent{dropped}{marked}",
        queue.queue,
        queue.depth_packets,
        queue.depth_bytes,
        queue.deepest_packets,
        queue.enqueued,
        queue.sent,
    );
    let json = json!({
        "kind": "queue state", "port": port, "queue": queue.queue,
        "depth_packets": queue.depth_packets, "depth_bytes": queue.depth_bytes,
        "deepest_packets": queue.deepest_packets,
        "enqueued": queue.enqueued, "enqueued_bytes": queue.enqueued_bytes,
        "sent": queue.sent, "sent_bytes": queue.sent_bytes,
        "dropped_depth": queue.dropped_depth, "dropped_buffer": queue.dropped_buffer,
        "dropped_red": queue.dropped_red, "dropped_behind": queue.dropped_behind,
        "marked": queue.marked,
    });
    View::new(text, json).into()
}

/// Runs the command `queue set`, which changes settings of all queues of a port, or of one queue.
/// Settings that the command does not name stay as they are.
pub(crate) fn set(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let line = words.rest().join(" ");
    let is_port = |word: &str| word.strip_prefix("port=").and_then(small::<u32>);
    let port = line.split_whitespace().find_map(is_port);
    let port = port.ok_or_else(|| words.problem("port=NUMBER is missing"))?;
    change(session, &[port], &|lines| lines.push(line.clone()), sink)
}

/// Changes the settings of ports' queues. `lines` edits the list of configuration lines, of which
/// later ones replace the settings of earlier ones.
pub(crate) fn change(
    session: &mut Session<'_>,
    ports: &[u32],
    lines: &dyn Fn(&mut Vec<String>),
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let (present, revision) = read(session, ports)?;
    let mut changed = present.lines();
    lines(&mut changed);
    let configuration = Configuration::parse_latest(&changed);
    let configuration = configuration.map_err(|error| CommandError::Missing(error.to_string()))?;
    let ports = configuration.0.iter();
    let ports = ports.map(|(port, config)| control::message(*port, config)).collect();
    put(session, ports, revision, sink)
}

/// Runs the command `queue clear`, which removes the queues of ports.
pub(crate) fn clear(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let ports = ports(&mut words)?;
    if ports.is_empty() {
        return Err(words.problem("the number of a port is missing"));
    }
    let (_, revision) = read(session, &ports)?;
    let none = |port| PortQueues { port, ..PortQueues::default() };
    put(session, ports.into_iter().map(none).collect(), revision, sink)
}

fn put(
    session: &mut Session<'_>,
    ports: Vec<PortQueues>,
    revision: u64,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    if session.is_dry {
        let request = p4runtime::proto::switch::SetQueuesRequest {
            device_id: session.device.id(),
            ports,
            expected_revision: Some(revision),
            ..Default::default()
        };
        session.show("planimeter.switch.v1.SetQueuesRequest", &request);
        return Ok(());
    }
    let answer = session.device.set_queues(ports, revision)?;
    if answer.dropped > 0 {
        let text = format!("{} packets were dropped, because their queue is gone", answer.dropped);
        sink(View::new(text, json!({ "kind": "queues set", "dropped": answer.dropped })).into());
    }
    Ok(())
}

/// Parses the options about traces: `--trace`, `--values` for a trace with all values, and
/// `--all-outcomes` for a trace of all outcomes that the packet could have. Returns `None` if none
/// of them is present.
fn tracing(words: &mut Operands) -> Option<Tracing> {
    let (is_traced, values, all_outcomes) =
        (words.flag("trace"), words.flag("values"), words.flag("all-outcomes"));
    let tracing = Tracing { values, all_outcomes, ..Tracing::default() };
    (is_traced || values || all_outcomes).then_some(tracing)
}

/// Runs the command `inject`, which runs a packet through the program as if it had arrived on a
/// port. Options decide whether the resulting packets are sent, and whether the packet may change
/// the state of the switch.
pub(crate) fn inject(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let treatment = match (words.flag("send"), words.flag("without-effects")) {
        (false, false) => Treatment::Returned,
        (true, false) => Treatment::Sent,
        (false, true) => Treatment::Tried,
        (true, true) => {
            let message =
                "a packet without effects cannot leave: write --send or --without-effects";
            return Err(words.problem(message.to_owned()));
        }
    };
    let tracing = tracing(&mut words);
    let port = words.next("the port")?;
    let text = words.next("the bytes of a packet")?;
    words.end()?;
    let payload = hexadecimal(&text)
        .ok_or_else(|| words.problem("the bytes of a packet are pairs of hexadecimal digits"))?;
    let ingress = Some(small(&port).map_or(Ingress::PortName(port), Ingress::Port));
    let packet = InjectedPacket { tag: 0, ingress, payload };
    let request =
        switch::InjectRequest { tracing, ..treatment.request(session.device.id(), vec![packet]) };
    if session.is_dry {
        session.show("planimeter.switch.v1.InjectRequest", &request);
        return Ok(());
    }
    let schema = session.schema().ok();
    let outcome = session.device.inject(request)?;
    if let Some(trace) = outcome.trace {
        let has_values = tracing.is_some_and(|tracing| tracing.values);
        sink(Item::Trace { trace: Box::new(trace), has_values });
    }
    if let Some(error) = outcome.error {
        return Err(CommandError::Missing(format!("the packet did not run: {}", error.message)));
    }
    for output in &outcome.outputs {
        let payload = digits(&output.payload);
        let name = match output.port_name.is_empty() {
            true => String::new(),
            false => format!(" ({})", output.port_name),
        };
        sink(View::new(
            format!("port {}{name}: {payload}", output.port),
            json!({ "kind": "output", "port": output.port, "port_name": output.port_name, "payload": payload }),
        ).into());
    }
    for packet in &outcome.packet_ins {
        sink(packet_in(schema.as_deref(), packet).into());
    }
    if outcome.outputs.is_empty() && outcome.packet_ins.is_empty() {
        sink(View::new("dropped", json!({ "kind": "dropped" })).into());
    }
    Ok(())
}
