//! The counters of a switch for Prometheus (text format 0.0.4).

use crate::ports::PortState;
use crate::queue_state::Pace;
use crate::server::Look;
use crate::switch::DeviceState;
use bytes::Bytes;
use grpc::LimitedConnections;
use http_body_util::Full;
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Request, Response, StatusCode, body::Incoming, server::conn::http1, service};
use hyper_util::rt::{TokioIo, TokioTimer};
use queues::QueueCounts;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// The time within which a client must send the header of its HTTP request. It has the same time
/// to read the answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Serves the switch's counters at `/metrics` until the future is dropped.
pub(crate) async fn serve(listener: TcpListener, look: Look) {
    let mut connections = LimitedConnections::default();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // No descriptors are left. Other connections will close and free some.
            tokio::time::sleep(TIMEOUT / 50).await;
            continue;
        };
        let look = Arc::clone(&look);
        let answer = service::service_fn(move |request: Request<Incoming>| {
            let answer = answer(&request, &*look);
            async move { Ok::<_, Infallible>(answer) }
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(TIMEOUT);
        // Each connection has one answer, so that no client can make the thread that it shares with
        // P4Runtime answer many requests in a row.
        http.keep_alive(false);
        let connection = http.serve_connection(TokioIo::new(stream), answer);
        connections.serve(async move {
            // A client that hangs up, or does not read its answer, is no error.
            let _ = tokio::time::timeout(2 * TIMEOUT, connection).await;
        });
    }
}

fn answer(
    request: &Request<Incoming>,
    look: &dyn Fn() -> Vec<DeviceState>,
) -> Response<Full<Bytes>> {
    let is_known = request.uri().path() == "/metrics" && request.method() == Method::GET;
    let (status, body) = if is_known {
        (StatusCode::OK, text(&look()))
    } else {
        (StatusCode::NOT_FOUND, "There is only GET /metrics.\n".to_owned())
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let kind = hyper::header::HeaderValue::from_static("text/plain; version=0.0.4");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// One metric with a sample for each device, port or table.
struct Family<'a> {
    name: &'a str,
    kind: &'a str,
    help: &'a str,
}

fn text(devices: &[DeviceState]) -> String {
    let mut out = String::new();
    ports(&mut out, devices);
    queues(&mut out, devices);
    tables(&mut out, devices);
    packets(&mut out, devices);
    control(&mut out, devices);
    out
}

impl Family<'_> {
    fn write(self, out: &mut String, samples: impl Iterator<Item = (String, u64)>) {
        let Self { name, kind, help } = self;
        // Writing to a string never fails.
        let _ = writeln!(out, "# HELP planimeter_switch_{name} {help}");
        let _ = writeln!(out, "# TYPE planimeter_switch_{name} {kind}");
        for (labels, value) in samples {
            let _ = writeln!(out, "planimeter_switch_{name}{{{labels}}} {value}");
        }
    }
}

fn counter<'a>(name: &'a str, help: &'a str) -> Family<'a> {
    Family { name, kind: "counter", help }
}

fn gauge<'a>(name: &'a str, help: &'a str) -> Family<'a> {
    Family { name, kind: "gauge", help }
}

fn ports(out: &mut String, devices: &[DeviceState]) {
    let mut write = |family: Family<'_>, value: fn(&packetio::Counters) -> u64| {
        let samples = devices.iter().flat_map(|device| {
            device.ports.iter().map(move |port| (port_labels(device, port), value(&port.counters)))
        });
        family.write(out, samples);
    };
    write(counter("port_received_packets_total", "Packets received."), |c| c.received_packets);
    write(counter("port_received_bytes_total", "Bytes received."), |c| c.received_bytes);
    write(
        counter(
            "port_receive_dropped_packets_total",
            "Packets that were dropped because the receive queue was full.",
        ),
        |c| c.receive_dropped,
    );
    write(counter("port_transmitted_packets_total", "Packets sent."), |c| c.transmitted_packets);
    write(counter("port_transmitted_bytes_total", "Bytes sent."), |c| c.transmitted_bytes);
    write(
        counter(
            "port_transmit_dropped_packets_total",
            "Packets that were dropped because the port was full or closed.",
        ),
        |c| c.transmit_dropped,
    );
    write(
        counter("port_bad_length_packets_total", "Packets too long or too short for their port."),
        |c| c.bad_length,
    );
    let mut write = |family: Family<'_>, value: fn(&PortState) -> bool| {
        let samples = devices.iter().flat_map(|device| {
            device.ports.iter().map(move |port| (port_labels(device, port), value(port).into()))
        });
        family.write(out, samples);
    };
    write(gauge("port_up", "Whether packets can pass: the port is enabled and has a link."), |p| {
        p.up
    });
    write(gauge("port_enabled", "Whether packets are to pass."), |p| p.enabled);
    write(gauge("port_recording_ended", "Whether a capture ended before its time."), |p| {
        p.recording_fault.is_some()
    });
}

fn port_labels(device: &DeviceState, port: &PortState) -> String {
    let (id, number, name) = (device.id, port.number, escaped(&port.name));
    format!("device=\"{id}\",port=\"{number}\",name=\"{name}\"")
}

/// A function that reads one of the counters of a queue.
type OfQueue = fn(&QueueCounts) -> u64;

fn queues(out: &mut String, devices: &[DeviceState]) {
    let mut write = |family: Family<'_>, values: &[(&str, OfQueue)]| {
        let samples = devices.iter().flat_map(|device| {
            device.queues.queues.iter().flat_map(move |(port, queue, counts)| {
                values.iter().map(move |(more, value)| {
                    let id = device.id;
                    let labels = format!("device=\"{id}\",port=\"{port}\",queue=\"{queue}\"{more}");
                    (labels, value(counts))
                })
            })
        });
        family.write(out, samples);
    };
    let enqueued = counter("queue_packets_total", "Packets that entered a queue of a port.");
    write(enqueued, &[("", |counts| counts.enqueued)]);
    write(
        counter(
            "queue_dropped_packets_total",
            "Packets that a queue of a port refused, by reason.",
        ),
        &[
            (",reason=\"depth\"", |counts| counts.dropped_depth),
            (",reason=\"buffer\"", |counts| counts.dropped_buffer),
            (",reason=\"red\"", |counts| counts.dropped_red),
        ],
    );
    let sent = counter("queue_sent_packets_total", "Packets that left a queue and its port.");
    write(sent, &[("", |counts| counts.sent)]);
    let behind = counter(
        "queue_dropped_behind_packets_total",
        "Packets that the program dropped after they had left a queue.",
    );
    write(behind, &[("", |counts| counts.dropped_behind)]);
    let depth = gauge("queue_depth_packets", "Packets that wait in a queue.");
    write(depth, &[("", |counts| counts.waiting.into())]);
    let depth = gauge("queue_depth_bytes", "Bytes of the packets that wait in a queue.");
    write(depth, &[("", |counts| counts.waiting_bytes)]);
    let marked = counter("queue_marked_packets_total", "Packets that a queue marked (ECN).");
    write(marked, &[("", |counts| counts.marked)]);
    let deepest = gauge("queue_largest_depth_packets", "The most packets that waited at once.");
    write(deepest, &[("", |counts| counts.deepest.into())]);
    let lost = devices.iter().flat_map(|device| {
        let (id, queues) = (device.id, &device.queues);
        let reasons = [
            ("pipeline", queues.replaced),
            ("removed", queues.removed),
            ("memory", queues.beyond_memory),
            ("handover", device.activity.queues_overrun),
        ];
        reasons.map(|(reason, count)| (format!("device=\"{id}\",reason=\"{reason}\""), count))
    });
    counter(
        "queue_lost_packets_total",
        "Packets that queues lost: the pipeline or the queue was replaced, memory was full, or other \
         workers handed over too many.",
    )
    .write(out, lost);
    let mut write = |family: Family<'_>, value: fn(&Pace) -> u64| {
        let samples = devices.iter().flat_map(|device| {
            let paces = device.queues.paces.iter();
            paces.map(move |(port, pace)| {
                (format!("device=\"{}\",port=\"{port}\"", device.id), value(pace))
            })
        });
        family.write(out, samples);
    };
    write(counter("paced_packets_total", "Packets that left a port with queues."), |pace| {
        pace.packets
    });
    write(
        counter(
            "paced_late_nanoseconds_total",
            "How much later than by the model of their queues packets left, added up.",
        ),
        |pace| pace.total,
    );
    write(
        gauge("paced_latest_nanoseconds", "The largest time by which a packet left too late."),
        |pace| pace.largest,
    );
}

fn tables(out: &mut String, devices: &[DeviceState]) {
    let mut write = |family: Family<'_>, value: fn(&pipeline::TableUsage) -> Option<u64>| {
        let samples = devices.iter().flat_map(|device| {
            device.tables.iter().filter_map(move |table| {
                let (id, name) = (device.id, escaped(&table.name));
                Some((format!("device=\"{id}\",table=\"{name}\""), value(table)?))
            })
        });
        family.write(out, samples);
    };
    write(gauge("table_entries", "Entries of a table."), |table| Some(table.entries));
    write(gauge("table_size", "Entries that a table may hold."), |table| table.size);
    write(counter("table_hits_total", "Lookups that found an entry."), |table| Some(table.hits));
    write(counter("table_misses_total", "Lookups that found none."), |table| Some(table.misses));
}

fn packets(out: &mut String, devices: &[DeviceState]) {
    let of = |device: &DeviceState| format!("device=\"{}\"", device.id);
    let processed = devices.iter().map(|device| (of(device), device.packets.received));
    counter("packets_total", "Packets that the program ran on.").write(out, processed);
    let dropped = devices.iter().flat_map(|device| {
        let id = device.id;
        let faults = device.packets.errors.iter().map(|(kind, count)| (*kind, *count));
        let reasons = [
            ("program", device.packets.without_output),
            ("no_such_port", device.activity.no_such_port),
            ("port_disabled", device.activity.port_disabled),
        ];
        let all = reasons.into_iter().chain(faults);
        all.map(move |(reason, count)| {
            (format!("device=\"{id}\",reason=\"{}\"", escaped(reason)), count)
        })
    });
    counter("dropped_packets_total", "Packets that were dropped, by reason.").write(out, dropped);
}

fn control(out: &mut String, devices: &[DeviceState]) {
    let mut write = |family: Family<'_>, value: fn(&crate::Activity) -> u64| {
        let samples = devices
            .iter()
            .map(|device| (format!("device=\"{}\"", device.id), value(&device.activity)));
        family.write(out, samples);
    };
    write(gauge("controllers", "Streams of controllers that are open."), |a| a.controllers);
    write(counter("pipelines_total", "Pipelines that were committed."), |a| a.pipelines);
    write(counter("packet_ins_total", "Packets for controllers."), |a| a.packet_ins);
    write(
        counter("packet_ins_dropped_total", "Packets for controllers that no controller accepted."),
        |a| a.packet_ins_dropped,
    );
    write(counter("packet_outs_total", "Packets from controllers."), |a| a.packet_outs);
    write(
        counter("packet_outs_dropped_total", "Packets from controllers that were refused."),
        |a| a.packet_outs_dropped,
    );
    write(counter("digests_total", "Digests to controllers."), |a| a.digests);
    write(
        counter(
            "entry_changes_total",
            "Entries that the switch's own controller wrote for packets.",
        ),
        |a| a.entry_changes,
    );
    write(
        counter(
            "entry_changes_overwritten_total",
            "Entries whose overwritten value was not the one that the packet had read.",
        ),
        |a| a.entry_changes_overwritten,
    );
    write(counter("entry_changes_lost_total", "Digests of packets that changed no entry."), |a| {
        a.entry_changes_lost
    });
    write(counter("writes_total", "Entities that controllers wrote."), |a| a.writes);
    write(counter("writes_refused_total", "Entities that were refused."), |a| a.writes_refused);
}

/// Escapes a string for use as a label's value.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_has_its_type_and_labels() {
        let port = PortState {
            number: 1,
            name: "a\"b".to_owned(),
            up: true,
            enabled: true,
            counters: packetio::Counters { received_packets: 7, ..Default::default() },
            recording_fault: None,
        };
        let device = DeviceState { id: 3, ports: vec![port], ..DeviceState::default() };
        let text = text(&[device]);
        let sample = "planimeter_switch_port_received_packets_total\
                      {device=\"3\",port=\"1\",name=\"a\\\"b\"} 7\n";
        assert!(text.contains(sample), "{text}");
        assert!(
            text.contains("planimeter_switch_port_up{device=\"3\",port=\"1\",name=\"a\\\"b\"} 1\n")
        );
        let mut types = std::collections::BTreeSet::new();
        for line in text.lines() {
            match line.strip_prefix("# TYPE ") {
                Some(declared) => {
                    let name = declared.split(' ').next().expect("it has one");
                    assert!(types.insert(name.to_owned()), "{name} comes twice");
                }
                None if line.starts_with('#') => {}
                None => {
                    let name = line.split('{').next().expect("it has one");
                    assert!(types.contains(name), "{line}");
                }
            }
        }
    }
}
