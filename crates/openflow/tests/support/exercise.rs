//! Runs the decoders, views, framer and handshake of this crate on arbitrary bytes. The fuzz target
//! `openflow` consists of this code, and a test runs it without a fuzzer.
//!
//! None of them may panic. In addition, this code checks that
//! * a message that can be decoded is encoded to the same bytes, except that padding becomes zero,
//!   which the specifications require and decoding does not preserve;
//! * the views of [`openflow::wire`] return the same values as the decoded messages;
//! * the framer returns the same messages, however the stream is cut into pieces.

use openflow::framing::{Framer, FramingError};
use openflow::handshake::{Handshake, SwitchIdentity};
use openflow::v1_0::SwitchConfig;
use openflow::wire::{FlowMod, Header, PacketIn, PacketOut};
use openflow::{DatapathId, PortNumber, Version, v1_0, v1_3};

/// The versions of OpenFlow in which `data` is a valid message. The test uses them to make sure
/// that not all of its input is rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Understood {
    pub(crate) v1_0: bool,
    pub(crate) v1_3: bool,
}

/// Decodes `data` in every way. Panics if two results disagree.
pub(crate) fn exercise(data: &[u8]) -> Understood {
    let decoded_v1_0 = v1_0::Message::decode(data).ok();
    let decoded_v1_3 = v1_3::Message::decode(data).ok();
    if let Some((xid, message)) = &decoded_v1_0 {
        let mut encoded = Vec::new();
        message.encode(*xid, &mut encoded).expect("what was decoded can be encoded");
        assert_same_but_padding(data, &encoded);
        let again = v1_0::Message::decode(&encoded);
        assert_eq!(again.as_ref(), Ok(&(*xid, message.clone())));
    }
    if let Some((xid, message)) = &decoded_v1_3 {
        let mut encoded = Vec::new();
        message.encode(*xid, &mut encoded).expect("what was decoded can be encoded");
        assert_same_but_padding(data, &encoded);
        let again = v1_3::Message::decode(&encoded);
        assert_eq!(again.as_ref(), Ok(&(*xid, message.clone())));
    }
    views(data, decoded_v1_0.as_ref().map(|(_, message)| message));
    views_v1_3(data, decoded_v1_3.as_ref().map(|(_, message)| message));
    framer(data);
    handshakes(data);
    Understood { v1_0: decoded_v1_0.is_some(), v1_3: decoded_v1_3.is_some() }
}

fn assert_same_but_padding(given: &[u8], encoded: &[u8]) {
    assert_eq!(given.len(), encoded.len());
    for (offset, (&given, &encoded)) in given.iter().zip(encoded).enumerate() {
        assert!(encoded == given || encoded == 0, "{given:#04x} became {encoded:#04x} at {offset}");
    }
}

/// Reads every field of the views, and compares them with the decoded message if there is one.
fn views(data: &[u8], decoded: Option<&v1_0::Message>) {
    if let Ok(header) = Header::new_checked(data) {
        assert_eq!(header.body().len() + 8, usize::from(header.length()));
    }
    let packet_in = PacketIn::new_checked(data);
    let packet_out = PacketOut::new_checked(data);
    let flow_mod = FlowMod::new_checked(data);
    if let Ok(view) = &packet_in {
        assert_eq!(view.payload(), &data[view.payload_range()]);
    }
    if let Ok(view) = &packet_out {
        assert_eq!(view.payload(), &data[view.payload_range()]);
        assert!(view.outputs().count() <= view.actions().len() / 8);
    }
    match decoded {
        Some(v1_0::Message::PacketIn(message)) => {
            let view = packet_in.expect("the view is no stricter than the decoder");
            assert_eq!(view.buffer_id(), message.buffer_id);
            assert_eq!(view.total_len(), message.total_len);
            assert_eq!(view.in_port(), message.in_port.into());
            assert_eq!(view.reason(), message.reason.0);
            assert_eq!(view.payload(), message.data);
        }
        Some(v1_0::Message::PacketOut(message)) => {
            let view = packet_out.expect("the view is no stricter than the decoder");
            assert_eq!(view.buffer_id(), message.buffer_id);
            assert_eq!(view.in_port(), message.in_port.into());
            let outputs = message.actions.iter().filter_map(|action| match action {
                v1_0::Action::Output { port, .. } => Some(PortNumber::from(*port)),
                _ => None,
            });
            assert!(view.outputs().eq(outputs));
            assert_eq!(view.payload(), message.data);
        }
        Some(v1_0::Message::FlowMod(message)) => {
            let view = flow_mod.expect("the view is no stricter than the decoder");
            assert_eq!(view.buffer_id(), message.buffer_id);
            assert_eq!(view.command(), message.command);
            assert_eq!(view.cookie(), message.cookie);
            assert_eq!(view.priority(), message.priority);
            assert_eq!(view.idle_timeout(), message.idle_timeout);
            assert_eq!(view.hard_timeout(), message.hard_timeout);
            assert_eq!(view.out_port(), message.out_port.into());
            assert_eq!(view.flags(), message.flags.0);
        }
        _ => {}
    }
}

fn views_v1_3(data: &[u8], decoded: Option<&v1_3::Message>) {
    match decoded {
        Some(v1_3::Message::PacketIn(message)) => {
            let view = PacketIn::new_checked(data).expect("the view is no stricter");
            assert_eq!(view.buffer_id(), message.buffer_id);
            assert_eq!(view.total_len(), message.total_len);
            assert_eq!(view.in_port(), message.in_port().unwrap_or(PortNumber::ANY));
            assert_eq!(view.reason(), message.reason.0);
            assert_eq!(view.table_id(), Some(message.table_id.0));
            assert_eq!(view.cookie(), Some(message.cookie));
            assert_eq!(view.payload(), message.data);
        }
        Some(v1_3::Message::PacketOut(message)) => {
            let view = PacketOut::new_checked(data).expect("the view is no stricter");
            assert_eq!(view.buffer_id(), message.buffer_id);
            assert_eq!(view.in_port(), message.in_port);
            let outputs = message.actions.iter().filter_map(|action| match action {
                v1_3::Action::Output { port, .. } => Some(*port),
                _ => None,
            });
            assert!(view.outputs().eq(outputs));
            assert_eq!(view.payload(), message.data);
        }
        Some(v1_3::Message::FlowMod(message)) => {
            let view = FlowMod::new_checked(data).expect("the view is no stricter");
            assert_eq!(view.buffer_id(), message.buffer_id);
            assert_eq!(view.cookie(), message.cookie);
            assert_eq!(view.priority(), message.priority);
        }
        _ => {}
    }
}

/// Passes `data` to a framer as a whole, and to another in pieces, whose size the first byte
/// determines. Panics if the two return different messages.
fn framer(data: &[u8]) {
    let whole = frames(data, data.len().max(1));
    let size = usize::from(data.first().copied().unwrap_or(0)) % 32 + 1;
    assert_eq!(frames(data, size), whole);
    let read: usize = whole.0.iter().map(Vec::len).sum();
    assert!(read <= data.len());
}

/// Passes a stream to a framer in pieces of `size` bytes. Returns the messages, the error that
/// ended them, and the bytes that are left.
fn frames(stream: &[u8], size: usize) -> (Vec<Vec<u8>>, Option<FramingError>, Vec<u8>) {
    let mut framer = Framer::new();
    let (mut frames, mut failure) = (Vec::new(), None);
    for chunk in stream.chunks(size) {
        for frame in framer.frames(chunk) {
            match frame {
                Ok(frame) => frames.push(frame.to_vec()),
                Err(error) => failure = Some(error),
            }
        }
    }
    (frames, failure, framer.held().to_vec())
}

/// Opens sessions with a peer that sends `data`, once unchanged and once after a valid HELLO.
fn handshakes(data: &[u8]) {
    let hello = [4, 0, 0, 8, 0, 0, 0, 0];
    for stream in [data.to_vec(), [&hello, data].concat()] {
        let versions = [Version::V1_0, Version::V1_3];
        for mut handshake in [
            Handshake::switch(&versions, SwitchIdentity::new(DatapathId(1))),
            Handshake::controller(&versions, SwitchConfig::default()),
        ] {
            let mut out = Vec::new();
            for frame in Framer::new().frames(&stream).flatten() {
                let before = handshake.stage();
                let received = handshake.receive(frame, &mut out);
                assert_eq!(received.is_err(), handshake.failure().is_some());
                assert!(handshake.stage() >= before, "a session never falls back");
            }
            assert!(!handshake.diagnosis().is_empty());
            // The output is well framed, whatever the input was.
            let mut framer = Framer::new();
            assert!(framer.frames(&out).all(|frame| frame.is_ok()));
            assert!(framer.held().is_empty());
        }
    }
}
