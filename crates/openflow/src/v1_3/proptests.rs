//! Property tests that hold for all messages and for all bytes.
//!
//! Messages are derived from a string of bytes that proptest generates and shrinks. Every field
//! consumes bytes from the front of the string, and zeros after its end. A failure therefore
//! shrinks to a short string, and no structure needs a strategy of its own.

mod sample;

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use self::sample::{MESSAGE_TYPES, Source, sample_message};
use super::message::Message;
use crate::error::DecodeErrorKind;
use crate::{Version, Xid};

/// The message types, and some numbers beyond the last one.
const TYPES: std::ops::Range<u8> = 0..MESSAGE_TYPES + 2;

/// Returns a configuration with a fixed seed, so that a failure is reproducible on all machines.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 1500,
        rng_seed: RngSeed::Fixed(13),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn encoded(message: &Message, xid: Xid) -> Vec<u8> {
    let mut out = Vec::new();
    message.encode(xid, &mut out).expect("samples fit a message");
    out
}

/// Checks that bytes that can be decoded encode to a message of equal length and contents. (Padding
/// may differ, since it is written as zero.)
fn check_any_bytes(frame: &[u8]) -> Result<bool, TestCaseError> {
    let Ok((xid, message)) = Message::decode(frame) else { return Ok(false) };
    let mut out = Vec::new();
    let written = message.encode(xid, &mut out);
    prop_assert_eq!(written, Ok(()));
    prop_assert_eq!(out.len(), frame.len());
    prop_assert_eq!(Message::decode(&out), Ok((xid, message)));
    Ok(true)
}

/// Writes the header of a message of this version into `frame`.
fn with_header(mut frame: Vec<u8>, message_type: u8) -> Vec<u8> {
    frame.resize(frame.len().max(8), 0);
    let length = frame.len() as u16;
    frame[0] = Version::V1_3.wire();
    frame[1] = message_type;
    frame[2..4].copy_from_slice(&length.to_be_bytes());
    frame
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_message_survives_the_wire(
        message_type in 0..MESSAGE_TYPES,
        bytes in vec(any::<u8>(), 0..600),
        xid in any::<u32>(),
    ) {
        let message = sample_message(message_type, &mut Source::new(&bytes));
        prop_assert_eq!(message.message_type().0, message_type);
        let out = encoded(&message, Xid(xid));
        prop_assert_eq!(Message::decode(&out), Ok((Xid(xid), message)));
    }

    #[test]
    fn random_bytes_do_no_harm(message_type in TYPES, bytes in vec(any::<u8>(), 8..200)) {
        check_any_bytes(&bytes)?;
        check_any_bytes(&with_header(bytes, message_type))?;
    }

    #[test]
    fn damaged_messages_do_no_harm(
        message_type in 0..MESSAGE_TYPES,
        bytes in vec(any::<u8>(), 0..600),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let message = sample_message(message_type, &mut Source::new(&bytes));
        let mut frame = encoded(&message, Xid(1));
        prop_assert!(Message::decode(&frame[..cut.index(frame.len())]).is_err());
        let shortened = frame[..8 + cut.index(frame.len() - 7)].to_vec();
        check_any_bytes(&with_header(shortened, message_type))?;
        for (at, value) in damage {
            let at = at.index(frame.len());
            frame[at] = value;
        }
        check_any_bytes(&frame)?;
    }
}

/// Checks that the samples contain every type of message: the next number is unknown to the
/// decoder.
#[test]
fn samples_have_every_message_type() {
    let frame = with_header(vec![0; 8], MESSAGE_TYPES);
    let error = Message::decode(&frame).expect_err("no message has this type");
    assert_eq!(error.kind, DecodeErrorKind::UnknownType(MESSAGE_TYPES.into()));
}

/// Checks that the samples contain every variant, since the other properties would otherwise prove
/// little.
#[test]
fn samples_reach_every_variant() {
    let mut seen = BTreeSet::new();
    // A linear congruential generator (Knuth's MMIX), whose upper bits are random enough.
    let mut state = 13_u64;
    let mut bytes = [0; 800];
    for round in 0..2000_u32 {
        for byte in &mut bytes {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (state >> 56) as u8;
        }
        // Half of the rounds are for multipart messages, which have many types.
        let message_type = match round % 2 {
            0 => 18 + (round / 2 % 2),
            _ => round / 2 % u32::from(MESSAGE_TYPES),
        };
        let message = sample_message(message_type as u8, &mut Source::new(&bytes));
        // In debug output, the names of variants begin with a capital letter.
        let text = format!("{message:?}");
        let words = text.split(|c: char| !c.is_alphanumeric());
        seen.extend(words.filter(|word| word.starts_with(char::is_uppercase)).map(str::to_owned));
    }
    for variant in [
        // Hello, actions, instructions.
        "VersionBitmap",
        "Output",
        "CopyTtlOut",
        "SetMplsTtl",
        "PushVlan",
        "PopMpls",
        "SetQueue",
        "SetField",
        "PushPbb",
        "PopPbb",
        "GotoTable",
        "WriteMetadata",
        "WriteActions",
        "ApplyActions",
        "ClearActions",
        "Meter",
        "Experimenter",
        "Unknown",
        // Match fields, first, last and of each width.
        "InPort",
        "Metadata",
        "EthDst",
        "VlanPcp",
        "Ipv4Src",
        "Ipv6Src",
        "PbbIsid",
        "Ipv6Exthdr",
        "Raw",
        "RawOxm",
        // Bands, queue properties, table properties.
        "Drop",
        "DscpRemark",
        "MinRate",
        "MaxRate",
        "Instructions",
        "NextTables",
        "Match",
        "Wildcards",
        "ApplySetFieldMiss",
        "ExperimenterMiss",
        "Some",
        "None",
        // Multipart bodies.
        "Desc",
        "Flow",
        "Aggregate",
        "Table",
        "PortStats",
        "Queue",
        "Group",
        "GroupDesc",
        "GroupFeatures",
        "MeterConfig",
        "MeterFeatures",
        "TableFeatures",
        "PortDesc",
        "FlowStats",
        "BucketCounter",
        "MeterBandStats",
        "Standard",
    ] {
        assert!(seen.contains(variant), "no sample has {variant}");
    }
}
