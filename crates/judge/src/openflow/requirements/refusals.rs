//! Requirements about flow-mods that a switch must refuse.

use openflow::ErrorReason;

use crate::demands::{Fault, demand};
use crate::openflow::bench::{Bench, Change, Command};
use crate::openflow::{Trial, both, v1_3};

pub(super) const ALL: &[Trial] = &[
    both(
        "4.6",
        "6.4",
        "unknown-command",
        "A flow-mod has a command that does not exist: FLOW_MOD_FAILED/BAD_COMMAND.",
        unknown_command,
    ),
    both(
        "5.2.4",
        "7.2.5",
        "unknown-action",
        "An action has a type that does not exist: BAD_ACTION/BAD_TYPE.",
        unknown_action,
    ),
    both(
        "5.2.4",
        "7.2.5",
        "action-of-wrong-length",
        "An action is shorter than its type demands: BAD_ACTION/BAD_LEN.",
        action_of_wrong_length,
    ),
    v1_3(
        "7.2.5",
        "output-to-any",
        "An action sends packets to the port ANY: BAD_ACTION/BAD_OUT_PORT.",
        output_to_any,
    ),
    v1_3(
        "7.2.4",
        "unknown-instruction",
        "An instruction has a type that does not exist: BAD_INSTRUCTION/UNKNOWN_INST.",
        unknown_instruction,
    ),
    v1_3(
        "5.9",
        "goto-the-same-table",
        "An instruction sends packets of table 0 to table 0: BAD_INSTRUCTION/BAD_TABLE_ID.",
        goto_the_same_table,
    ),
    v1_3(
        "6.4",
        "add-to-all-tables",
        "A flow entry is added to all tables: FLOW_MOD_FAILED/BAD_TABLE_ID.",
        add_to_all_tables,
    ),
    v1_3(
        "7.2.3.6",
        "missing-prerequisite",
        "A match has a TCP port, but no protocol: BAD_MATCH/BAD_PREREQ.",
        missing_prerequisite,
    ),
    v1_3("7.2.3.3", "field-twice", "A match has a field twice: BAD_MATCH/DUP_FIELD.", field_twice),
    v1_3(
        "7.2.3.2",
        "unknown-field",
        "A match has a field that does not exist: BAD_MATCH/BAD_FIELD.",
        unknown_field,
    ),
    v1_3(
        "7.2.3.5",
        "bits-outside-the-mask",
        "A match has a value with bits that its mask does not have: BAD_MATCH/BAD_WILDCARDS.",
        bits_outside_the_mask,
    ),
    v1_3(
        "7.2.3.1",
        "old-match",
        "A match has the type of OpenFlow 1.1: BAD_MATCH/BAD_TYPE.",
        old_match,
    ),
];

/// The offset in bytes of the actions in a flow-mod message of the bench, for OpenFlow 1.0 and 1.3.
const ACTIONS: [usize; 2] = [72, 80];

/// Returns a flow-mod message whose entry sends packets to port 1, and the offset of the output
/// action in the message.
fn with_output(bench: &mut Bench) -> (Vec<u8>, usize) {
    let frame = bench.flow_mod(&Change { output: Some(1), ..Change::new(Command::Add, 1) });
    let offset = ACTIONS[usize::from(!bench.is_v1_0())];
    (frame, offset)
}

/// Demands that the switch refuses a flow-mod message with one of these errors, and then has no
/// flow of the bench.
fn is_refused(bench: &mut Bench, frame: &[u8], reasons: &[ErrorReason]) -> Result<(), Fault> {
    bench.refuse(frame, reasons)?;
    let flows = bench.flows()?;
    demand(flows.is_empty(), || "an entry was added".to_owned())
}

fn unknown_command(bench: &mut Bench) -> Result<(), Fault> {
    let (mut frame, _) = with_output(bench);
    match bench.is_v1_0() {
        true => frame[56..58].copy_from_slice(&99_u16.to_be_bytes()),
        false => frame[25] = 99,
    }
    is_refused(bench, &frame, &[ErrorReason::FlowModBadCommand])
}

fn unknown_action(bench: &mut Bench) -> Result<(), Fault> {
    let (mut frame, offset) = with_output(bench);
    frame[offset..offset + 2].copy_from_slice(&0x7abc_u16.to_be_bytes());
    is_refused(bench, &frame, &[ErrorReason::BadActionBadType])
}

fn action_of_wrong_length(bench: &mut Bench) -> Result<(), Fault> {
    let (mut frame, offset) = with_output(bench);
    // An output of eight bytes in 1.3, and of sixteen in 1.0, are of the wrong length.
    let reasons = [ErrorReason::BadActionBadLen];
    match bench.is_v1_0() {
        true => {
            frame.extend([0; 8]);
            frame[offset + 2..offset + 4].copy_from_slice(&16_u16.to_be_bytes());
        }
        false => {
            frame.truncate(offset + 8);
            frame[offset + 2..offset + 4].copy_from_slice(&8_u16.to_be_bytes());
            frame[offset - 6..offset - 4].copy_from_slice(&16_u16.to_be_bytes());
        }
    }
    set_length(&mut frame);
    is_refused(bench, &frame, &reasons)
}

/// Sets the length field in the header of a message to the message's length.
fn set_length(frame: &mut [u8]) {
    let length = u16::try_from(frame.len()).unwrap_or(u16::MAX);
    frame[2..4].copy_from_slice(&length.to_be_bytes());
}

fn output_to_any(bench: &mut Bench) -> Result<(), Fault> {
    let (mut frame, offset) = with_output(bench);
    frame[offset + 4..offset + 8].copy_from_slice(&u32::MAX.to_be_bytes());
    is_refused(bench, &frame, &[ErrorReason::BadActionBadOutPort])
}

/// Returns a flow-mod message of OpenFlow 1.3 whose entry has these instructions, which are in wire
/// format.
fn with_instructions(bench: &mut Bench, instructions: &[u8]) -> Vec<u8> {
    let mut frame = bench.flow_mod(&Change::new(Command::Add, 1));
    frame.extend(instructions);
    set_length(&mut frame);
    frame
}

fn unknown_instruction(bench: &mut Bench) -> Result<(), Fault> {
    let frame = with_instructions(bench, &[0x7a, 0xbc, 0, 8, 0, 0, 0, 0]);
    is_refused(bench, &frame, &[ErrorReason::BadInstructionUnknownInst])
}

fn goto_the_same_table(bench: &mut Bench) -> Result<(), Fault> {
    let frame = with_instructions(bench, &[0, 1, 0, 8, 0, 0, 0, 0]);
    is_refused(bench, &frame, &[ErrorReason::BadInstructionBadTableId])
}

fn add_to_all_tables(bench: &mut Bench) -> Result<(), Fault> {
    let (mut frame, _) = with_output(bench);
    frame[24] = 0xff;
    is_refused(bench, &frame, &[ErrorReason::FlowModBadTableId])
}

/// Returns a flow-mod message whose match consists of the bench's Ethernet source and of `fields`,
/// which are in wire format.
fn with_fields(bench: &mut Bench, fields: &[u8]) -> Vec<u8> {
    let mut frame = bench.flow_mod(&Change::new(Command::Add, None));
    // The source takes ten bytes after the four bytes of type and length.
    frame.truncate(48 + 4 + 10);
    frame.extend(fields);
    let length = u16::try_from(frame.len() - 48).unwrap_or(u16::MAX);
    frame[50..52].copy_from_slice(&length.to_be_bytes());
    while !(frame.len() - 48).is_multiple_of(8) {
        frame.push(0);
    }
    set_length(&mut frame);
    frame
}

fn missing_prerequisite(bench: &mut Bench) -> Result<(), Fault> {
    // Field 14 is the destination port of TCP.
    let frame = with_fields(bench, &[0x80, 0, 14 << 1, 2, 0, 80]);
    is_refused(bench, &frame, &[ErrorReason::BadMatchBadPrereq])
}

fn field_twice(bench: &mut Bench) -> Result<(), Fault> {
    // Field 3 is the Ethernet destination.
    let field = [0x80, 0, 3 << 1, 6, 2, 0, 0, 0, 0, 1];
    let frame = with_fields(bench, &[field, field].concat());
    is_refused(bench, &frame, &[ErrorReason::BadMatchDupField])
}

fn unknown_field(bench: &mut Bench) -> Result<(), Fault> {
    let frame = with_fields(bench, &[0x80, 0, 100 << 1, 2, 0, 0]);
    is_refused(bench, &frame, &[ErrorReason::BadMatchBadField])
}

fn bits_outside_the_mask(bench: &mut Bench) -> Result<(), Fault> {
    let field = [0x80, 0, 3 << 1 | 1, 12, 2, 0, 0, 0, 0, 1, 0xff, 0, 0, 0, 0, 0];
    let frame = with_fields(bench, &field);
    is_refused(bench, &frame, &[ErrorReason::BadMatchBadWildcards])
}

fn old_match(bench: &mut Bench) -> Result<(), Fault> {
    let mut frame = bench.flow_mod(&Change::new(Command::Add, 1));
    frame[48..50].copy_from_slice(&0_u16.to_be_bytes());
    is_refused(bench, &frame, &[ErrorReason::BadMatchBadType, ErrorReason::BadMatchBadLen])
}
