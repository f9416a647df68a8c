//! Requirements about groups and meters of OpenFlow 1.3.
//!
//! The messages are built from the numbers of the specification (OpenFlow 1.3.5):
//!
//! * The commands of group-mod messages are 0 (`OFPGC_ADD`), 1 (`OFPGC_MODIFY`) and 2
//!   (`OFPGC_DELETE`); the group type 0 is `OFPGT_ALL` (section 7.3.4.2).
//! * The commands of meter-mod messages are 0 (`OFPMC_ADD`), 1 (`OFPMC_MODIFY`) and 2
//!   (`OFPMC_DELETE`) (section 7.3.4.4).
//! * Statistics are requested with the multipart types 7 (`OFPMP_GROUP_DESC`, section 7.3.5.10) and
//!   10 (`OFPMP_METER_CONFIG`, section 7.3.5.13). They are returned in messages of type 19
//!   (`OFPT_MULTIPART_REPLY`), whose multipart header takes 8 bytes.

use openflow::ErrorReason;

use crate::demands::{Fault, demand};
use crate::openflow::bench::{Bench, Change, Command, GROUP, METER, output_v1_3};
use crate::openflow::{Trial, v1_3};

pub(super) const ALL: &[Trial] = &[
    v1_3(
        "7.3.4.2",
        "group-is-returned",
        "A group that was added is returned with its type and its buckets, until it is deleted.",
        group_is_returned,
    ),
    v1_3(
        "6.7",
        "group-twice",
        "A group is added whose number is taken: GROUP_MOD_FAILED/GROUP_EXISTS.",
        group_twice,
    ),
    v1_3(
        "6.7",
        "group-that-is-not-there",
        "A group is modified that is not there: UNKNOWN_GROUP. One is deleted that is not there: no error.",
        group_that_is_not_there,
    ),
    v1_3(
        "6.7",
        "group-is-modified",
        "A group is modified: its old buckets are gone.",
        group_is_modified,
    ),
    v1_3(
        "6.7",
        "group-of-an-unknown-type",
        "A group has a type that does not exist: GROUP_MOD_FAILED/BAD_TYPE.",
        group_of_an_unknown_type,
    ),
    v1_3(
        "6.7",
        "group-with-a-reserved-number",
        "A group has a number beyond the largest: GROUP_MOD_FAILED/INVALID_GROUP.",
        group_with_a_reserved_number,
    ),
    v1_3(
        "7.2.5",
        "flow-to-an-unknown-group",
        "A flow entry sends packets to a group that is not there: BAD_ACTION/BAD_OUT_GROUP.",
        flow_to_an_unknown_group,
    ),
    v1_3(
        "6.7",
        "flows-go-with-their-group",
        "A group is deleted: the flow entries that send packets to it are deleted too.",
        flows_go_with_their_group,
    ),
    v1_3(
        "7.3.4.4",
        "meter-is-returned",
        "A meter that was added is returned with its bands, until it is deleted.",
        meter_is_returned,
    ),
    v1_3(
        "6.8",
        "meter-twice",
        "A meter is added whose number is taken: METER_MOD_FAILED/METER_EXISTS.",
        meter_twice,
    ),
    v1_3(
        "6.8",
        "meter-that-is-not-there",
        "A meter is modified that is not there: UNKNOWN_METER. One is deleted that is not there: no error.",
        meter_that_is_not_there,
    ),
];

fn group_is_returned(bench: &mut Bench) -> Result<(), Fault> {
    bench.first_group()?;
    buckets_are(bench, Some(&[1]))?;
    // OFPGC_DELETE.
    let delete = bench.group_mod(2, 0, GROUP, &[]);
    bench.accept(&delete)?;
    buckets_are(bench, None)
}

/// Demands that the bench's first group has buckets that send packets to these ports. If `wanted`
/// is `None`, demands that the group does not exist.
fn buckets_are(bench: &mut Bench, wanted: Option<&[u32]>) -> Result<(), Fault> {
    // OFPMP_GROUP_DESC, answered with OFPT_MULTIPART_REPLY (1.3.5, section 7.3.5.10).
    let request = bench.statistics(7, &[]);
    let reply = bench.answered(&request, 19)?;
    let mut groups = reply.body().get(8..).unwrap_or_default();
    let mut found = None;
    // A group description has its length, its type and its number, and then its buckets.
    while let [a, b, _, _, number @ ..] = groups {
        let length = usize::from(u16::from_be_bytes([*a, *b]));
        if number.starts_with(&GROUP.to_be_bytes()) {
            let buckets = groups.get(8..length).unwrap_or_default();
            found = Some(ports_of(buckets));
        }
        groups = groups.get(length.max(8)..).unwrap_or_default();
    }
    demand(found.as_deref() == wanted, || {
        format!("the group is returned with ports {found:?} where {wanted:?} are demanded")
    })
}

/// Returns the port to which each bucket sends packets. `buckets` are in wire format, and every
/// bucket must have one action, an output.
fn ports_of(mut buckets: &[u8]) -> Vec<u32> {
    let mut ports = Vec::new();
    while let [a, b, ..] = buckets {
        // A bucket has 16 bytes before its actions, and an output action has 4 before its port
        // (1.3.5, sections 7.2.5 and 7.3.4.2).
        let length = usize::from(u16::from_be_bytes([*a, *b])).max(16);
        let port = buckets.get(20..24).and_then(|bytes| bytes.try_into().ok());
        ports.extend(port.map(u32::from_be_bytes));
        buckets = buckets.get(length..).unwrap_or_default();
    }
    ports
}

fn group_twice(bench: &mut Bench) -> Result<(), Fault> {
    bench.first_group()?;
    // OFPGC_ADD of a group of type OFPGT_ALL.
    let again = bench.group_mod(0, 0, GROUP, &[2]);
    bench.refuse(&again, &[ErrorReason::GroupModGroupExists])?;
    buckets_are(bench, Some(&[1]))
}

fn group_that_is_not_there(bench: &mut Bench) -> Result<(), Fault> {
    bench.first_group()?;
    // OFPGC_MODIFY, and then OFPGC_DELETE.
    let modify = bench.group_mod(1, 0, GROUP + 1, &[1]);
    bench.refuse(&modify, &[ErrorReason::GroupModUnknownGroup])?;
    let delete = bench.group_mod(2, 0, GROUP + 1, &[]);
    bench.accept(&delete)
}

fn group_is_modified(bench: &mut Bench) -> Result<(), Fault> {
    bench.first_group()?;
    // OFPGC_MODIFY.
    let modify = bench.group_mod(1, 0, GROUP, &[2, 3]);
    bench.accept(&modify)?;
    buckets_are(bench, Some(&[2, 3]))
}

fn group_of_an_unknown_type(bench: &mut Bench) -> Result<(), Fault> {
    bench.first_group()?;
    // The largest type that is defined is 3 (OFPGT_FF).
    let wrong = bench.group_mod(0, 77, GROUP + 1, &[1]);
    bench.refuse(&wrong, &[ErrorReason::GroupModBadType])
}

fn group_with_a_reserved_number(bench: &mut Bench) -> Result<(), Fault> {
    bench.first_group()?;
    // The number after the largest of a group (OFPG_MAX, 0xffff_ff00).
    let wrong = bench.group_mod(0, 0, 0xffff_ff01, &[1]);
    bench.refuse(&wrong, &[ErrorReason::GroupModInvalidGroup])
}

/// Returns a flow-mod message whose entry sends packets to a group.
fn to_group(bench: &mut Bench, group: u32) -> Vec<u8> {
    let mut frame = bench.flow_mod(&Change { output: Some(1), ..Change::new(Command::Add, 1) });
    let start = frame.len() - output_v1_3(1).len();
    frame.truncate(start);
    // An action of type 22 (OFPAT_GROUP) and length 8 (1.3.5, section 7.2.5).
    frame.extend([0, 22, 0, 8]);
    frame.extend(group.to_be_bytes());
    // The instruction has eight bytes before its action. Its length is in bytes 2 and 3 of these.
    frame[start - 6..start - 4].copy_from_slice(&16_u16.to_be_bytes());
    let length = u16::try_from(frame.len()).unwrap_or(u16::MAX);
    frame[2..4].copy_from_slice(&length.to_be_bytes());
    frame
}

fn flow_to_an_unknown_group(bench: &mut Bench) -> Result<(), Fault> {
    bench.first_group()?;
    let frame = to_group(bench, GROUP + 1);
    bench.refuse(&frame, &[ErrorReason::BadActionBadOutGroup])?;
    bench.has_flows(&[]).map(|_| ())
}

fn flows_go_with_their_group(bench: &mut Bench) -> Result<(), Fault> {
    bench.first_group()?;
    let frame = to_group(bench, GROUP);
    bench.accept(&frame)?;
    bench.add(2)?;
    bench.has_flows(&[1, 2])?;
    // OFPGC_DELETE.
    let delete = bench.group_mod(2, 0, GROUP, &[]);
    bench.accept(&delete)?;
    bench.has_flows(&[2]).map(|_| ())
}

fn meter_is_returned(bench: &mut Bench) -> Result<(), Fault> {
    bench.has_meters()?;
    // OFPMC_ADD, OFPMC_MODIFY and OFPMC_DELETE, one after the other.
    let add = bench.meter_mod(0, METER, &[1000]);
    bench.accept(&add)?;
    rates_are(bench, Some(&[1000]))?;
    let modify = bench.meter_mod(1, METER, &[2000]);
    bench.accept(&modify)?;
    rates_are(bench, Some(&[2000]))?;
    let delete = bench.meter_mod(2, METER, &[]);
    bench.accept(&delete)?;
    rates_are(bench, None)
}

/// Demands that the bench's first meter has bands with these rates. If `wanted` is `None`, demands
/// that the meter does not exist.
fn rates_are(bench: &mut Bench, wanted: Option<&[u32]>) -> Result<(), Fault> {
    // OFPMP_METER_CONFIG of all meters (OFPM_ALL), answered with OFPT_MULTIPART_REPLY (1.3.5,
    // section 7.3.5.13).
    let mut body = u32::MAX.to_be_bytes().to_vec();
    body.extend([0; 4]);
    let request = bench.statistics(10, &body);
    let reply = bench.answered(&request, 19)?;
    let mut meters = reply.body().get(8..).unwrap_or_default();
    let mut found = None;
    // A meter has its length, its flags and its number, and then its bands. A band has 16 bytes,
    // of which bytes 4 to 7 are the rate (1.3.5, section 7.3.4.4).
    while let [a, b, _, _, number @ ..] = meters {
        let length = usize::from(u16::from_be_bytes([*a, *b]));
        if number.starts_with(&METER.to_be_bytes()) {
            let bands = meters.get(8..length).unwrap_or_default().chunks_exact(16);
            let rates = bands.map(|band| u32::from_be_bytes([band[4], band[5], band[6], band[7]]));
            found = Some(rates.collect::<Vec<_>>());
        }
        meters = meters.get(length.max(8)..).unwrap_or_default();
    }
    demand(found.as_deref() == wanted, || {
        format!("the meter is returned with rates {found:?} where {wanted:?} are demanded")
    })
}

fn meter_twice(bench: &mut Bench) -> Result<(), Fault> {
    bench.has_meters()?;
    // OFPMC_ADD, both times.
    let add = bench.meter_mod(0, METER, &[1000]);
    bench.accept(&add)?;
    let again = bench.meter_mod(0, METER, &[2000]);
    bench.refuse(&again, &[ErrorReason::MeterModMeterExists])?;
    rates_are(bench, Some(&[1000]))
}

fn meter_that_is_not_there(bench: &mut Bench) -> Result<(), Fault> {
    bench.has_meters()?;
    // OFPMC_MODIFY, and then OFPMC_DELETE.
    let modify = bench.meter_mod(1, METER + 1, &[1000]);
    bench.refuse(&modify, &[ErrorReason::MeterModUnknownMeter])?;
    let delete = bench.meter_mod(2, METER + 1, &[]);
    bench.accept(&delete)
}
