//! Converts the configuration of ports and queues to a network for network calculus, whose bounds
//! `planimeter bound` computes. The network is a file in Planimeter's own format (JSON).
//!
//! | configuration | servers on the path |
//! | --- | --- |
//! | a queue with rate `r`, burst `b` | a FIFO server of rate `r` with output `r t + max(b, L)` |
//! | one queue at a port of rate `R` | a FIFO server of rate `R` that shapes to it |
//! | queues at different levels | a static-priority server of rate `R` that shapes to it |
//! | queues of one level, by quanta | a port with deficit round robin |
//! | queues of one level, by weights | a port with weighted round robin |
//!
//! `L` is the length of the largest packet. A port adds a latency of a nanosecond, because the
//! model starts packets at whole nanoseconds. Packets leave as a whole. The bounds hold for packets
//! that are not refused.

use crate::config::{PortConfig, Share};
use crate::units::{QueueId, UnitError, bit_rate, size};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A flow through ports with queues. Rates and lengths are those on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The name of the flow.
    pub name: String,
    /// The names of the ports by which its packets leave switches, in order.
    pub path: Vec<String>,
    /// The queue of its packets at each port.
    pub queue: QueueId,
    /// The rate of its token bucket in bits per second.
    pub rate: u64,
    /// The burst of its token bucket in bytes.
    pub burst: u64,
    /// The length of its largest packet in bytes.
    pub packet: u64,
}

/// The error for ports and flows for which no bounds can be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// A rate or length of a flow cannot be read.
    #[error("flow '{flow}': {error}")]
    Unit {
        /// The name of the flow.
        flow: String,
        /// The error of the quantity.
        error: UnitError,
    },
    /// The path of a flow has a port without queues.
    #[error(
        "flow '{flow}': port '{port}' has no queues with a rate in bit/s; add them, or leave the port out of the path, since it delays nothing"
    )]
    NoPort {
        /// The name of the flow.
        flow: String,
        /// The name of the port.
        port: String,
    },
    /// The port of a flow has no queue of this number.
    #[error("flow '{flow}': port '{port}' has no queue {queue}")]
    NoQueue {
        /// The name of the flow.
        flow: String,
        /// The name of the port.
        port: String,
        /// The queue that the port does not have.
        queue: QueueId,
    },
    /// A packet of a flow exceeds its burst, so that no packet can ever be sent.
    #[error("flow '{0}': its burst is smaller than its packet, so it never sends one")]
    Burst(String),
    /// A port has a configuration for which no bounds are known.
    #[error("port '{port}': {what}")]
    Unsupported {
        /// The name of the port.
        port: String,
        /// The part of the configuration for which no bounds are known.
        what: &'static str,
    },
}

impl Flow {
    /// Creates a flow from its rate, burst and packet length as text, such as `10Mbps` and `3kB`.
    ///
    /// # Errors
    /// Fails if one of them cannot be read.
    pub fn parse(
        name: &str,
        path: &[String],
        queue: QueueId,
        [rate, burst, packet]: [&str; 3],
    ) -> Result<Self, NetworkError> {
        let wrong = |error| NetworkError::Unit { flow: name.to_owned(), error };
        Ok(Self {
            name: name.to_owned(),
            path: path.to_vec(),
            queue,
            rate: bit_rate(rate).map_err(wrong)?,
            burst: size(burst).map_err(wrong)?,
            packet: size(packet).map_err(wrong)?,
        })
    }
}

/// The way in which a port serves its queues.
enum Kind {
    Fifo,
    Strict,
    Deficit,
    Weighted,
}

/// Returns the text of a network file for flows through ports, which are given by name.
///
/// # Errors
/// Fails if a flow does not fit its ports, or a port is configured in a way that has no known
/// bounds.
pub fn network(
    name: &str,
    ports: &BTreeMap<String, PortConfig>,
    flows: &[Flow],
) -> Result<String, NetworkError> {
    check(ports, flows)?;
    let visited: BTreeSet<&String> = flows.iter().flat_map(|flow| &flow.path).collect();
    let (mut servers, mut round_robin) = (Vec::new(), Vec::new());
    for port in visited {
        let Some(config) = ports.get(port) else { continue };
        let here: Vec<&Flow> = flows.iter().filter(|flow| flow.path.contains(port)).collect();
        describe(port, config, &here, &mut servers, &mut round_robin)?;
    }
    let flows: Vec<String> = flows.iter().map(|flow| flow_text(flow, ports)).collect();
    Ok(format!(
        "{{\"name\": {}, \"time-unit\": \"us\", \"data-unit\": \"B\", \"packetizer\": true,\n\
         \"server\": [\n{}],\n\"port\": [\n{}],\n\"flow\": [\n{}]}}\n",
        quoted(name),
        servers.join(",\n"),
        round_robin.join(",\n"),
        flows.join(",\n")
    ))
}

fn check(ports: &BTreeMap<String, PortConfig>, flows: &[Flow]) -> Result<(), NetworkError> {
    for flow in flows {
        if flow.burst < flow.packet {
            return Err(NetworkError::Burst(flow.name.clone()));
        }
        for port in &flow.path {
            let (of, named) = (flow.name.clone(), port.clone());
            let config = ports.get(port).filter(|config| config.shaper.bits.is_some());
            let Some(config) = config else {
                return Err(NetworkError::NoPort { flow: of, port: named });
            };
            if flow.queue.index() >= config.queues.len() {
                let queue = flow.queue;
                return Err(NetworkError::NoQueue { flow: of, port: named, queue });
            }
        }
    }
    Ok(())
}

fn kind(port: &str, config: &PortConfig) -> Result<Kind, NetworkError> {
    let no = |what| Err(NetworkError::Unsupported { port: port.to_owned(), what });
    let levels: BTreeSet<u8> = config.queues.iter().map(|queue| queue.level).collect();
    if config.shaper.packets.is_some() || config.shaper.bits.is_some_and(|limit| limit.burst > 0) {
        return no("a port has bounds only with a rate in bit/s and without burst");
    }
    if config.queues.len() == 1 {
        return Ok(Kind::Fifo);
    }
    if levels.len() == config.queues.len() {
        return match config.queues.is_sorted_by_key(|queue| queue.level) {
            true => Ok(Kind::Strict),
            false => no("queues have bounds only if levels rise with their numbers"),
        };
    }
    if levels.len() > 1 {
        return no("levels above queues that take turns have no bounds yet; use only one of both");
    }
    match config.queues.first().map(|queue| queue.share) {
        Some(Share::Bytes(_)) => Ok(Kind::Deficit),
        Some(Share::Packets(_)) | None => Ok(Kind::Weighted),
    }
}

/// Adds a port to the network: a server for each queue with a rate to `servers`, and then the port
/// itself to `servers`, or to `round_robin` if queues of one level take turns.
fn describe(
    port: &str,
    config: &PortConfig,
    flows: &[&Flow],
    servers: &mut Vec<String>,
    round_robin: &mut Vec<String>,
) -> Result<(), NetworkError> {
    let Some(limit) = config.shaper.bits else { return Ok(()) };
    let largest = |number: usize| {
        let own = flows.iter().filter(|flow| flow.queue.index() == number);
        own.map(|flow| flow.packet).max()
    };
    for (number, queue) in config.queues.iter().enumerate() {
        let Some(packet) = largest(number) else { continue };
        if queue.shaper.packets.is_some() {
            let what = "a queue has bounds only with a rate in bit/s, not in packets";
            return Err(NetworkError::Unsupported { port: port.to_owned(), what });
        }
        if let Some(own) = queue.shaper.bits {
            let burst = (own.burst).max(8 * packet);
            servers.push(format!(
                "{{\"name\": {}, \"multiplexing\": \"fifo\", \
                 \"service\": {{\"rate-latency\": {{\"rate\": \"{rate}bps\", \"latency\": \"1ns\"}}}}, \
                 \"shaping\": {{\"token-bucket\": {{\"rate\": \"{rate}bps\", \"burst\": \"{burst}b\"}}}}}}",
                quoted(&shaper_name(port, number)),
                rate = own.rate,
            ));
        }
    }
    let (rate, name) = (limit.rate, quoted(port));
    let multiplexing = match kind(port, config)? {
        Kind::Fifo => "fifo",
        Kind::Strict => "static-priority",
        scheduler @ (Kind::Deficit | Kind::Weighted) => {
            let scheduler = match scheduler {
                Kind::Deficit => "deficit-round-robin",
                Kind::Fifo | Kind::Strict | Kind::Weighted => "weighted-round-robin",
            };
            let mut classes = Vec::new();
            for (number, queue) in config.queues.iter().enumerate() {
                let Some(packet) = largest(number) else { continue };
                let share = match queue.share {
                    Share::Bytes(quantum) => format!("\"quantum\": \"{quantum}B\""),
                    Share::Packets(weight) => format!("\"weight\": {weight}"),
                };
                classes.push(format!(
                    "{{\"priority\": {}, \"minimum-packet\": \"1B\", \"maximum-packet\": \"{packet}B\", {share}}}",
                    priority(number)
                ));
            }
            round_robin.push(format!(
                "{{\"name\": {name}, \"rate\": \"{rate}bps\", \"latency\": \"1ns\", \
                 \"scheduler\": \"{scheduler}\", \"class\": [{}]}}",
                classes.join(", ")
            ));
            return Ok(());
        }
    };
    servers.push(format!(
        "{{\"name\": {name}, \"multiplexing\": \"{multiplexing}\", \
         \"service\": {{\"rate-latency\": {{\"rate\": \"{rate}bps\", \"latency\": \"1ns\"}}}}, \
         \"shaping\": {{\"token-bucket\": {{\"rate\": \"{rate}bps\", \"burst\": 0}}}}}}"
    ));
    Ok(())
}

fn flow_text(flow: &Flow, ports: &BTreeMap<String, PortConfig>) -> String {
    let mut path = String::new();
    let number = flow.queue.index();
    for port in &flow.path {
        let queue = ports.get(port).and_then(|config| config.queues.get(number));
        let separator = if path.is_empty() { "" } else { ", " };
        // Writing to a string never fails.
        if queue.is_some_and(|queue| queue.shaper.bits.is_some()) {
            let _ =
                write!(path, "{separator}{}, {}", quoted(&shaper_name(port, number)), quoted(port));
        } else {
            let _ = write!(path, "{separator}{}", quoted(port));
        }
    }
    format!(
        "{{\"name\": {}, \"path\": [{path}], \"priority\": {}, \"maximum-packet\": \"{}B\", \
         \"arrival\": {{\"token-bucket\": {{\"burst\": \"{}B\", \"rate\": \"{}bps\"}}}}}}",
        quoted(&flow.name),
        priority(number),
        flow.packet,
        flow.burst,
        flow.rate
    )
}

/// Returns the priority of a queue in the network. The most urgent priority is 0.
fn priority(queue: usize) -> usize {
    usize::from(crate::units::MAX_QUEUES).saturating_sub(1 + queue)
}

fn shaper_name(port: &str, queue: usize) -> String {
    format!("{port}, rate of queue {queue}")
}

/// Returns a text as a string of JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(control));
            }
            plain => quoted.push(plain),
        }
    }
    quoted.push('"');
    quoted
}
