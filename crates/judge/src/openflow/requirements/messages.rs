//! Requirements about messages other than flow-mods: echoes, barriers, features, configuration, and
//! statistics.

use openflow::ErrorReason;

use crate::demands::{Fault, demand};
use crate::openflow::bench::Bench;
use crate::openflow::{Trial, both};

pub(super) const ALL: &[Trial] = &[
    both(
        "5.5.2",
        "7.5.2",
        "echo",
        "An echo request is answered by a reply with the same data.",
        echo,
    ),
    both(
        "5.3.7",
        "7.3.8",
        "barrier",
        "A barrier request is answered by a reply with its transaction identifier.",
        barrier,
    ),
    both(
        "5.3.1",
        "7.3.1",
        "features",
        "A request for features is answered, each time with the same datapath identifier.",
        features,
    ),
    both(
        "5.3.2",
        "7.3.2",
        "configuration",
        "The configuration is returned as it was set.",
        configuration,
    ),
    both(
        "5.4.4",
        "7.4.4",
        "unknown-message",
        "A message has a type that does not exist: BAD_REQUEST/BAD_TYPE.",
        unknown_message,
    ),
    both(
        "5.4.4",
        "7.4.4",
        "error-has-the-message",
        "An error has the transaction identifier and at least 64 bytes of the message that it is about.",
        error_has_the_message,
    ),
    both(
        "5.4.4",
        "7.4.4",
        "short-message",
        "A message is shorter than its type demands: BAD_REQUEST/BAD_LEN.",
        short_message,
    ),
    both(
        "5.3.5",
        "7.3.5",
        "unknown-statistics",
        "Statistics are requested that do not exist: BAD_REQUEST/BAD_MULTIPART (BAD_STAT in 1.0).",
        unknown_statistics,
    ),
    both(
        "5.3.5",
        "7.3.5.1",
        "description",
        "A request for the description of the switch is answered.",
        |bench| is_answered(bench, 0, &[]),
    ),
    both(
        "5.3.5",
        "7.3.5.4",
        "table-statistics",
        "A request for statistics of tables is answered.",
        |bench| is_answered(bench, 3, &[]),
    ),
    both(
        "5.3.5",
        "7.3.5.6",
        "port-statistics",
        "A request for statistics of all ports is answered.",
        port_statistics,
    ),
    both(
        "5.3.6",
        "7.3.7",
        "packet-out-of-an-unknown-buffer",
        "A packet-out names a buffer that does not exist: BAD_REQUEST/BUFFER_UNKNOWN or BUFFER_EMPTY.",
        packet_out_of_an_unknown_buffer,
    ),
];

fn echo(bench: &mut Bench) -> Result<(), Fault> {
    for length in [0, 1, 1000] {
        let data = vec![0xa5; length];
        let request = bench.session.frame(2, &data);
        let reply = bench.answered(&request, 3)?;
        demand(reply.body() == data, || format!("the reply to {length} bytes has other data"))?;
    }
    Ok(())
}

fn barrier(bench: &mut Bench) -> Result<(), Fault> {
    let kind = if bench.is_v1_0() { 18 } else { 20 };
    let request = bench.session.frame(kind, &[]);
    bench.answered(&request, kind + 1).map(|_| ())
}

fn features(bench: &mut Bench) -> Result<(), Fault> {
    let mut seen = Vec::new();
    for _ in 0..2 {
        let request = bench.session.frame(5, &[]);
        let reply = bench.answered(&request, 6)?;
        seen.push(reply.body().get(..8).map(<[u8]>::to_vec));
    }
    demand(seen[0].is_some() && seen[0] == seen[1], || {
        "the datapath identifier is another one the second time, or missing".to_owned()
    })
}

fn configuration(bench: &mut Bench) -> Result<(), Fault> {
    for length in [100_u16, 256] {
        let mut body = vec![0, 0];
        body.extend(length.to_be_bytes());
        let request = bench.session.frame(9, &body);
        bench.accept(&request)?;
        let request = bench.session.frame(7, &[]);
        let reply = bench.answered(&request, 8)?;
        demand(reply.body() == body, || {
            format!("miss_send_len is not returned as {length}, which was set")
        })?;
    }
    Ok(())
}

fn unknown_message(bench: &mut Bench) -> Result<(), Fault> {
    let request = bench.session.frame(99, &[]);
    bench.refuse(&request, &[ErrorReason::BadRequestBadType])
}

fn error_has_the_message(bench: &mut Bench) -> Result<(), Fault> {
    let request = bench.session.frame(99, &[0xa5; 92]);
    let error = bench.answered(&request, 1)?;
    let data = error.body().get(4..).unwrap_or_default();
    demand(data.len() >= 64 && request.starts_with(data), || {
        format!("the error has {} bytes that are not those of the message, or too few", data.len())
    })
}

fn short_message(bench: &mut Bench) -> Result<(), Fault> {
    let request = bench.session.frame(14, &[0; 8]);
    bench.refuse(&request, &[ErrorReason::BadRequestBadLen])
}

fn unknown_statistics(bench: &mut Bench) -> Result<(), Fault> {
    let request = bench.statistics(0x1234, &[]);
    bench.refuse(&request, &[ErrorReason::BadRequestBadMultipart])
}

/// Demands that the switch answers a request for statistics with statistics of the same kind.
fn is_answered(bench: &mut Bench, kind: u16, body: &[u8]) -> Result<(), Fault> {
    let request = bench.statistics(kind, body);
    let answer = if bench.is_v1_0() { 17 } else { 19 };
    let reply = bench.answered(&request, answer)?;
    demand(reply.body().starts_with(&kind.to_be_bytes()), || {
        "the reply has statistics of another kind".to_owned()
    })
}

fn port_statistics(bench: &mut Bench) -> Result<(), Fault> {
    match bench.is_v1_0() {
        true => is_answered(bench, 4, &[0xff, 0xff, 0, 0, 0, 0, 0, 0]),
        false => is_answered(bench, 4, &[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]),
    }
}

fn packet_out_of_an_unknown_buffer(bench: &mut Bench) -> Result<(), Fault> {
    let buffer = 0x0012_3456_u32.to_be_bytes();
    let body = match bench.is_v1_0() {
        // No actions, so that a switch that has such a buffer drops the packet.
        true => [&buffer[..], &[0xff, 0xff, 0, 0]].concat(),
        false => [&buffer[..], &[0xff, 0xff, 0xff, 0xfd], &[0; 8]].concat(),
    };
    let request = bench.session.frame(13, &body);
    let reasons = [ErrorReason::BadRequestBufferUnknown, ErrorReason::BadRequestBufferEmpty];
    bench.refuse(&request, &reasons)
}
