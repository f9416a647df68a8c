//! A bound on the memory that a request takes when decoded, computed before it is decoded.
//!
//! An empty message takes two bytes on the wire and several hundred bytes in memory, so a request
//! within the size limit could grow two-hundredfold when decoded. The check therefore walks the
//! encoded fields, which allocates nothing, and adds up the memory of their elements from the
//! message descriptors ([`shape`]). The sum is an upper bound: vectors are counted with their spare
//! capacity.
//!
//! A request may take a multiple of its length in memory ([`Request::PER_BYTE`]). This multiple is
//! chosen so that only requests that consist almost entirely of empty elements are refused. The
//! requests of real controllers need at most half of it. The limit is never below [`ALWAYS`] and
//! never above [`OF_THE_LARGEST`] times the largest request length.

mod shape;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;

use bytes::{Buf, BufMut, Bytes};
use prost::{
    Message,
    encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field},
};
use tonic::{
    Status,
    codec::{BufferSettings, Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
};
use tonic_prost::{ProstCodec, ProstEncoder};

use self::shape::{Field, Shape, ShapeId, Shapes};
use crate::{
    proto::{switch, v1},
    session::ReadMessage,
};

/// The number of bytes of memory that any request may take, however short it is. It suffices for
/// batches of thousands of the shortest updates.
const ALWAYS: usize = 32 << 20;
/// The maximum memory of any decoded request, as a multiple of the largest length that an encoded
/// request may have.
const OF_THE_LARGEST: usize = 8;
/// The length in bytes of an encoded request that is too short to take [`ALWAYS`] bytes of memory,
/// regardless of its content.
const SHORT: usize = 8 << 10;
/// The maximum nesting of messages. prost refuses deeper ones.
const DEPTH: usize = 100;

/// A message that a client sends to a server.
pub(crate) trait Request: Message + Default + Send + 'static {
    /// The full name of the message in the protos.
    const NAME: &str;
    /// The number of bytes of memory that the message may take per encoded byte.
    const PER_BYTE: usize;
}

macro_rules! requests {
    ($module:ident of $package:literal: $($message:ident $per_byte:literal)*) => {
        $(impl Request for $module::$message {
            const NAME: &str = concat!($package, ".", stringify!($message));
            const PER_BYTE: usize = $per_byte;
        })*
    };
}

requests! { v1 of "p4.v1":
    // A wildcard read of a table is an entity of 10 encoded bytes.
    WriteRequest 128
    ReadRequest 256
    // Objects have names, and references to actions take 7 bytes.
    SetForwardingPipelineConfigRequest 64
    // Packets have payloads.
    StreamMessageRequest 16
    GetForwardingPipelineConfigRequest 16
    CapabilitiesRequest 16
}

requests! { switch of "planimeter.switch.v1":
    GetSwitchRequest 16
    GetQueuesRequest 16
    WatchQueuesRequest 16
    // A queue without settings takes 2 encoded bytes.
    SetQueuesRequest 128
    // Packets have payloads.
    InjectRequest 32
}

/// Decodes a request, unless it would take too much memory. The server accepts requests of at most
/// `request_limit` bytes.
pub(crate) fn decode<M: Request>(message: Bytes, request_limit: usize) -> Result<M, Status> {
    check::<M>(&message, request_limit)?;
    M::decode(message)
        .map_err(|error| Status::internal(format!("The message is malformed: {error}.")))
}

fn check<M: Request>(message: &[u8], request_limit: usize) -> Result<(), Status> {
    if message.len() <= SHORT {
        return Ok(());
    }
    let Some((shapes, root)) = Shapes::of(M::NAME) else {
        return Err(Status::internal(format!("{} is not described.", M::NAME)));
    };
    let largest = OF_THE_LARGEST.saturating_mul(request_limit);
    let limit = M::PER_BYTE.saturating_mul(message.len()).min(largest).max(ALWAYS);
    match memory(shapes, root, message, limit) {
        Some(_) => Ok(()),
        None => Err(Status::resource_exhausted(format!(
            "The request has {} bytes, but decoded it would take more than {} MiB of memory. Send what it holds in \
             several requests, or fewer elements that are empty.",
            message.len(),
            limit >> 20,
        ))),
    }
}

/// Returns an upper bound of the memory in bytes that a decoded message takes in addition to its
/// own struct, or `None` if the bound exceeds `limit`. Fields after an encoding error are not
/// counted, because they are not decoded either.
fn memory(shapes: &Shapes, root: ShapeId, message: &[u8], limit: usize) -> Option<usize> {
    let mut walk = Walk { shapes, limit, memory: 0 };
    match walk.message(shapes.get(root), message, DEPTH) {
        Ok(()) | Err(Stop::Malformed) => Some(walk.memory),
        Err(Stop::TooLarge) => None,
    }
}

/// A walk through the fields of an encoded message. It adds up the memory that the fields take once
/// they are decoded.
struct Walk<'a> {
    shapes: &'a Shapes,
    limit: usize,
    memory: usize,
}

enum Stop {
    Malformed,
    TooLarge,
}

impl From<prost::DecodeError> for Stop {
    fn from(_: prost::DecodeError) -> Self {
        Self::Malformed
    }
}

impl Walk<'_> {
    /// Adds up the memory of the fields of a message, including those of nested messages.
    fn message(&mut self, shape: &Shape, mut bytes: &[u8], depth: usize) -> Result<(), Stop> {
        if depth == 0 {
            return Err(Stop::Malformed);
        }
        let mut seen = 0_u64;
        while bytes.has_remaining() {
            // The walk uses prost's own functions, so that it sees the same fields as the decoder.
            let (number, wire) = decode_key(&mut bytes)?;
            let Some((index, field)) = shape.field(number) else {
                skip_field(wire, number, &mut bytes, DecodeContext::default())?;
                continue;
            };
            let bit = 1_u64.checked_shl(index).unwrap_or_default();
            self.add(if seen & bit == 0 { field.first() } else { field.next() })?;
            seen |= bit;
            if wire != WireType::LengthDelimited {
                skip_field(wire, number, &mut bytes, DecodeContext::default())?;
                continue;
            }
            let length = decode_varint(&mut bytes)?;
            let Some((held, rest)) =
                usize::try_from(length).ok().and_then(|length| bytes.split_at_checked(length))
            else {
                return Err(Stop::Malformed);
            };
            bytes = rest;
            match *field {
                Field { message: Some(inner), .. } => {
                    self.message(self.shapes.get(inner), held, depth - 1)?;
                }
                ref field => self.add(field.held(held.len()))?,
            }
        }
        Ok(())
    }

    fn add(&mut self, bytes: usize) -> Result<(), Stop> {
        self.memory = self.memory.saturating_add(bytes);
        if self.memory > self.limit { Err(Stop::TooLarge) } else { Ok(()) }
    }
}

/// A codec that refuses requests before decoding them if they would take too much memory.
pub(crate) struct RequestCodec<A, Q> {
    request_limit: usize,
    messages: PhantomData<(A, Q)>,
}

impl<A, Q> RequestCodec<A, Q> {
    /// Creates a codec for requests of at most `request_limit` bytes.
    pub(crate) fn new(request_limit: usize) -> Self {
        Self { request_limit, messages: PhantomData }
    }
}

impl<A: Message + Send + 'static, Q: Request> Codec for RequestCodec<A, Q> {
    type Encode = A;
    type Decode = Q;
    type Encoder = ProstEncoder<A>;
    type Decoder = RequestDecoder<Q>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<A, Q>::raw_encoder(BufferSettings::default())
    }

    fn decoder(&mut self) -> Self::Decoder {
        RequestDecoder { request_limit: self.request_limit, message: PhantomData }
    }
}

/// A codec for Reads that limits the memory of requests, as [`RequestCodec`] does. It sends
/// responses that the caller has encoded already.
pub(crate) struct ReadCodec {
    /// The maximum length of a request in bytes.
    pub(crate) request_limit: usize,
}

impl Codec for ReadCodec {
    type Encode = ReadMessage;
    type Decode = v1::ReadRequest;
    type Encoder = AsItIs;
    type Decoder = RequestDecoder<v1::ReadRequest>;

    fn encoder(&mut self) -> Self::Encoder {
        AsItIs
    }

    fn decoder(&mut self) -> Self::Decoder {
        RequestDecoder { request_limit: self.request_limit, message: PhantomData }
    }
}

/// A Write request with its encoded form.
#[derive(Debug)]
pub(crate) struct ReceivedWrite {
    pub(crate) request: v1::WriteRequest,
    /// The bytes that the request was decoded from.
    pub(crate) encoded: Bytes,
}

/// A codec for Writes that limits the memory of requests, as [`RequestCodec`] does. It keeps the
/// encoded bytes of a request, which can be recorded unchanged.
pub(crate) struct WriteCodec {
    /// The maximum length of a request in bytes.
    pub(crate) request_limit: usize,
}

impl Codec for WriteCodec {
    type Encode = v1::WriteResponse;
    type Decode = ReceivedWrite;
    type Encoder = ProstEncoder<v1::WriteResponse>;
    type Decoder = Self;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<v1::WriteResponse, v1::WriteRequest>::raw_encoder(BufferSettings::default())
    }

    fn decoder(&mut self) -> Self {
        Self { request_limit: self.request_limit }
    }
}

impl Decoder for WriteCodec {
    type Item = ReceivedWrite;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<ReceivedWrite>, Status> {
        // The copy shares the buffer's memory.
        let encoded = buffer.copy_to_bytes(buffer.remaining());
        let request = decode(encoded.clone(), self.request_limit)?;
        Ok(Some(ReceivedWrite { request, encoded }))
    }
}

/// The encoder of [`ReadCodec`], which sends the bytes of responses unchanged.
pub(crate) struct AsItIs;

impl Encoder for AsItIs {
    type Item = ReadMessage;
    type Error = Status;

    fn encode(&mut self, message: ReadMessage, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(message.bytes());
        Ok(())
    }
}

/// The decoder of [`RequestCodec`] and [`ReadCodec`].
pub(crate) struct RequestDecoder<Q> {
    request_limit: usize,
    message: PhantomData<Q>,
}

impl<Q: Request> Decoder for RequestDecoder<Q> {
    type Item = Q;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Q>, Status> {
        // The copy shares the buffer's memory.
        let message = buffer.copy_to_bytes(buffer.remaining());
        decode(message, self.request_limit).map(Some)
    }
}
