//! Requirements of section 16: packet-outs and acknowledgements on the stream.

use bytes::Bytes;
use protos::v1::{
    self, stream_error::Details, stream_message_request::Update,
    stream_message_response::Update as Message,
};
use tonic::Code;

use super::{Trial, must};
use crate::bench::{Bench, arbitration, standing};
use crate::channel::name;
use crate::demands::{Fault, demand, lacks};
use crate::entities::{bytes, too_large};
use crate::subject::Param;

pub(super) const ALL: &[Trial] = &[
    must(
        "16.1",
        "packet-out-with-unknown-metadata",
        "A packet-out has metadata that the P4Info does not have: it is dropped, the stream stays, and an error names it.",
        packet_out_with_unknown_metadata,
    ),
    must(
        "16.1",
        "packet-out-with-too-large-metadata",
        "A packet-out has metadata with too many bits: it is dropped, the stream stays, and an error names it.",
        packet_out_with_too_large_metadata,
    ),
    must(
        "16.1",
        "packet-out-without-metadata",
        "A packet-out lacks the metadata of the P4Info: it is dropped, the stream stays, and an error names it.",
        packet_out_without_metadata,
    ),
    must(
        "16.1",
        "packet-out-with-a-field-twice",
        "A packet-out has a metadata field twice: it is dropped, the stream stays, and an error names it.",
        packet_out_with_a_field_twice,
    ),
    must(
        "16.1",
        "packet-out-with-an-empty-value",
        "A metadata field of a packet-out has no value: it is dropped, the stream stays, and an error names it.",
        packet_out_with_an_empty_value,
    ),
    must(
        "16.1",
        "packet-out-of-a-backup",
        "A backup sends a packet-out: it is dropped, its stream stays, and an error names it.",
        packet_out_of_a_backup,
    ),
    must(
        "16.2.1",
        "election-id-zero",
        "A controller has the election id 0, which is none that is left out: a second one is a duplicate.",
        election_id_zero,
    ),
    must(
        "16.6",
        "acknowledgement-of-an-unknown-digest",
        "A digest is acknowledged that the P4Info does not have: the stream stays, and an error names it.",
        acknowledgement_of_an_unknown_digest,
    ),
];

/// Returns a packet-out whose metadata fields are those of the P4Info.
fn packet_out(bench: &Bench) -> v1::PacketOut {
    let metadata = bench
        .subject
        .packet_out
        .iter()
        .map(|field| v1::PacketMetadata { metadata_id: field.id, value: bytes(1) });
    v1::PacketOut { payload: Bytes::from_static(&[0; 60]), metadata: metadata.collect() }
}

/// Sends a message that the device must drop. Demands that the client stays the primary. If the
/// device sends an error message, which is optional (16.6), demands that it is of the right kind
/// and has one of these codes.
fn is_dropped(
    bench: &mut Bench,
    update: Update,
    codes: &[Code],
    is_kind: fn(&Details) -> bool,
) -> Result<(), Fault> {
    bench.send(update)?;
    let (device, own) = (bench.device_id(), bench.election_id());
    bench.send(arbitration(device, Some(own)))?;
    let codes = codes.to_vec();
    let mut wrong = None;
    let code = bench.heard("arbitration update after the message", |message| match message {
        Message::Arbitration(update) => Some(standing(&update).0),
        Message::Error(error) => {
            let code = Code::from_i32(error.canonical_code);
            if !codes.contains(&code) || !error.details.as_ref().is_some_and(is_kind) {
                wrong = Some(code);
            }
            None
        }
        _ => None,
    })?;
    demand(code == Code::Ok, || "the client is not the primary afterwards".to_owned())?;
    match wrong {
        None => Ok(()),
        Some(code) => Err(Fault::Broken(format!(
            "the error has the code {} or does not name the message that it is about",
            name(code)
        ))),
    }
}

fn is_packet_out(details: &Details) -> bool {
    matches!(details, Details::PacketOut(_))
}

fn packet_out_with_unknown_metadata(bench: &mut Bench) -> Result<(), Fault> {
    if bench.subject.packet_out.is_empty() {
        return Err(lacks("metadata of packet-outs"));
    }
    let mut packet = packet_out(bench);
    packet.metadata.push(v1::PacketMetadata { metadata_id: 0x7fff_ffff, value: bytes(1) });
    is_dropped(bench, Update::Packet(packet), &[Code::InvalidArgument], is_packet_out)
}

fn packet_out_without_metadata(bench: &mut Bench) -> Result<(), Fault> {
    if bench.subject.packet_out.is_empty() {
        return Err(lacks("metadata of packet-outs"));
    }
    let packet = v1::PacketOut { metadata: Vec::new(), ..packet_out(bench) };
    is_dropped(bench, Update::Packet(packet), &[Code::InvalidArgument], is_packet_out)
}

fn packet_out_with_a_field_twice(bench: &mut Bench) -> Result<(), Fault> {
    let mut packet = packet_out(bench);
    let again = packet.metadata.first().cloned();
    packet.metadata.push(again.ok_or_else(|| lacks("metadata of packet-outs"))?);
    is_dropped(bench, Update::Packet(packet), &[Code::InvalidArgument], is_packet_out)
}

fn packet_out_with_an_empty_value(bench: &mut Bench) -> Result<(), Fault> {
    let is_number = |field: &Param| field.bits > 0;
    let position = bench.subject.packet_out.iter().position(is_number);
    let mut packet = packet_out(bench);
    let field = position.and_then(|position| packet.metadata.get_mut(position));
    field.ok_or_else(|| lacks("metadata of packet-outs with numbers"))?.value = Bytes::new();
    // Sections 8.3 and 16.6 name different codes.
    let codes = [Code::InvalidArgument, Code::OutOfRange];
    is_dropped(bench, Update::Packet(packet), &codes, is_packet_out)
}

fn packet_out_with_too_large_metadata(bench: &mut Bench) -> Result<(), Fault> {
    let fields = bench.subject.packet_out.clone();
    let wide = fields.iter().position(|field| field.bits > 0);
    let position = wide.ok_or_else(|| lacks("metadata of packet-outs"))?;
    let mut packet = packet_out(bench);
    packet.metadata[position].value = too_large(fields[position].bits);
    let codes = [Code::InvalidArgument, Code::OutOfRange];
    is_dropped(bench, Update::Packet(packet), &codes, is_packet_out)
}

fn packet_out_of_a_backup(bench: &mut Bench) -> Result<(), Fault> {
    if bench.election_id() < 2 {
        bench.raise_election_id(2)?;
    }
    let own = bench.election_id();
    let (mut backup, _) = bench.rival(Some(own - 1))?;
    let packet = packet_out(bench);
    bench.send_on(&backup, Update::Packet(packet))?;
    let device = bench.device_id();
    bench.send_on(&backup, arbitration(device, Some(own - 1)))?;
    loop {
        let found = bench.received(&mut backup);
        let message = found.and_then(Result::ok).and_then(|message| message.update);
        match message {
            Some(Message::Error(error)) => {
                let code = Code::from_i32(error.canonical_code);
                let is_right = code == Code::PermissionDenied
                    && error.details.as_ref().is_some_and(is_packet_out);
                demand(is_right, || format!("the error has the code {}", name(code)))?;
            }
            Some(Message::Arbitration(_)) => return Ok(()),
            Some(_) => {}
            None => {
                return Err(Fault::Broken("the stream of the backup did not stay open".to_owned()));
            }
        }
    }
}

fn election_id_zero(bench: &mut Bench) -> Result<(), Fault> {
    let (_first, _) = bench.rival(Some(0))?;
    let device = bench.device_id();
    bench.refuse_stream(arbitration(device, Some(0)), Code::InvalidArgument)
}

fn acknowledgement_of_an_unknown_digest(bench: &mut Bench) -> Result<(), Fault> {
    let like = bench.subject.digests.first().copied().unwrap_or(0x1700_0000);
    let digest_id = bench.subject.unused_id(like);
    let update = Update::DigestAck(v1::DigestListAck { digest_id, list_id: 1 });
    let is_kind: fn(&Details) -> bool = |details| matches!(details, Details::DigestListAck(_));
    is_dropped(bench, update, &[Code::InvalidArgument], is_kind)
}
