//! The commands about digests, and about packets and other messages between device and controller.

use crate::device::{Message, Until};
use crate::entries::hexadecimal;
use crate::error::CommandError;
use crate::names::{Named as _, find};
use crate::operands::Operands;
use crate::session::{Session, Sink};
use crate::value::parse;
use crate::view::message as view;
use bytes::Bytes;
use entities::schema::PacketField;
use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{
    self, DigestEntry, PacketMetadata, PacketOut, digest_entry::Config, update::Type,
};
use std::time::Duration;

/// Parses the name of a digest from the operands, and returns its id.
fn digest(schema: &Schema, words: &mut Operands) -> Result<u32, CommandError> {
    let name = words.next("the name of a digest")?;
    Ok(find("digest", &name, schema.digests().iter())?.id.0)
}

/// Runs the command `digest enable`, which makes the device send the messages of a digest.
pub(crate) fn enable_digest(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let mut time = |name: &str| -> Result<i64, CommandError> {
        let time = words.time_option(name)?.unwrap_or(0);
        i64::try_from(time).map_err(|_| words.problem(format!("--{name} is too long")))
    };
    let (max_timeout_ns, ack_timeout_ns) = (time("max-timeout")?, time("ack-timeout")?);
    let max_list_size = words.number_option("max-list")?.unwrap_or(1);
    let digest_id = digest(&schema, &mut words)?;
    words.end()?;
    let config = Some(Config { max_timeout_ns, max_list_size, ack_timeout_ns });
    session.put(DigestEntry { digest_id, config }.into())
}

/// Runs the command `digest disable`, which makes the device stop sending a digest.
pub(crate) fn disable_digest(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let digest_id = digest(&schema, &mut words)?;
    words.end()?;
    session.write(Type::Delete, DigestEntry { digest_id, config: None })
}

/// Runs the command `digest dump`, which shows the digests that the device sends.
pub(crate) fn dump_digests(
    session: &mut Session<'_>,
    words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    words.end()?;
    session.list(vec![DigestEntry::default().into()], sink)
}

/// Runs the command `packet out`, which sends a packet.
pub(crate) fn send(
    session: &mut Session<'_>,
    mut words: Operands,
    _: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let schema = session.schema()?;
    let text = words.next("the bytes of a packet")?;
    let payload = hexadecimal(&text)
        .ok_or_else(|| words.problem("the bytes of a packet are pairs of hexadecimal digits"))?;
    let fields: &[PacketField] = schema.packet_out().map_or(&[], |header| &header.fields);
    let mut metadata = Vec::new();
    while words.peek().is_some() {
        let word = words.next("a field of packet_out")?;
        let (name, text) = word
            .split_once('=')
            .ok_or_else(|| words.problem(format!("'{word}' is not FIELD=VALUE")))?;
        let field = find("field of packet_out", name, fields.iter())?;
        let value = parse(&field.name, field.value, text)?;
        metadata.push(PacketMetadata { metadata_id: field.id.0, value });
    }
    for field in fields {
        let is_given = metadata.iter().any(|given| given.metadata_id == field.id.0);
        if is_given {
            continue;
        }
        if !is_padding(field) {
            return Err(words.problem(format!("{}=VALUE is missing", field.short())));
        }
        metadata.push(PacketMetadata { metadata_id: field.id.0, value: Bytes::from_static(&[0]) });
    }
    let packet = PacketOut { payload, metadata };
    if session.is_dry {
        let update = Some(v1::stream_message_request::Update::Packet(packet));
        session.show("p4.v1.StreamMessageRequest", &v1::StreamMessageRequest { update });
        return Ok(());
    }
    Ok(session.device.send(packet)?)
}

/// Returns whether a field of the packet-out header is only padding.
fn is_padding(field: &PacketField) -> bool {
    let name = field.name.trim_start_matches('_');
    name.starts_with("pad") || field.name.starts_with('_')
}

/// The kinds of messages that `listen` may be restricted to.
const KINDS: [&str; 3] = ["packets", "digests", "idle"];

/// Runs the command `listen`, which shows messages of the device as they arrive.
pub(crate) fn listen(
    session: &mut Session<'_>,
    mut words: Operands,
    sink: &mut Sink<'_>,
) -> Result<(), CommandError> {
    let time = words.time_option("for")?.map(Duration::from_nanos);
    let mut left = words.number_option::<u64>("count")?.unwrap_or(u64::MAX);
    let kinds = words.rest();
    if let Some(wrong) = kinds.iter().find(|kind| !KINDS.contains(&kind.as_str())) {
        return Err(words.problem(format!("'{wrong}' is none of {}", KINDS.join(", "))));
    }
    let is_wanted = |message: &Message| {
        let kind = match message {
            Message::Packet(_) => "packets",
            Message::Digest(_) => "digests",
            Message::IdleTimeoutNotification(_) => "idle",
            Message::Arbitration(_) | Message::Error(_) => return true,
            Message::Other(_) => return kinds.is_empty(),
        };
        kinds.is_empty() || kinds.iter().any(|wanted| wanted == kind)
    };
    let schema = session.schema().ok();
    let mut take = |message: Message| {
        if is_wanted(&message) && left > 0 {
            sink(view(schema.as_deref(), &message).into());
            if !matches!(message, Message::Arbitration(_)) {
                left -= 1;
            }
        }
        left > 0
    };
    Ok(session.device.listen(Until { time }, &mut take)?)
}
