//! Searches with packets in between.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use made_server::{Emulated, Proxy};

use super::distortion::{Distortion, Exchangeable};
use super::{PROGRAM, all_means, at, lines};
use crate::bench::Bench;
use crate::fuzz::fuzz_on;
use crate::{ConstraintDuty, Fuzzed, Packet, Settings, replay};

/// Searches for faults of a device with two ports whose messages are distorted.
fn search(distortion: Option<Distortion>, seed: u64) -> Fuzzed {
    let faults = Arc::new(Exchangeable::default());
    let device = Emulated::start(PROGRAM);
    let address = Proxy::start(device.address(), Arc::<Exchangeable>::clone(&faults));
    let mut bench = Bench::with(&at(address), all_means(&device)).expect("a device");
    faults.set(distortion);
    let settings = Settings { seed, requests: 400, constraints: ConstraintDuty::Checked };
    let found = fuzz_on(&mut bench, &settings, &AtomicBool::new(false), &mut |_, _| {});
    found.expect("it has tables")
}

#[test]
fn packets_show_no_fault_where_there_is_none() {
    for seed in 1..=2 {
        let found = search(None, seed);
        if let Some(finding) = found.finding {
            panic!("seed {seed}: {}\n{}", finding.why, lines(&finding));
        }
        assert_eq!((found.requests, found.left), (400, None), "seed {seed}");
        assert_eq!(found.left_out, Vec::<String>::new(), "seed {seed}");
        assert!(found.packets > 200, "seed {seed}: {} packets", found.packets);
    }
}

#[test]
fn a_packet_that_breaks_the_device_is_found_and_repeated() {
    let found = search(Some(Distortion::LosesPacketInMetadata), 1);
    let finding = found.finding.expect("packet-ins are wrong");
    assert!(finding.why.contains("a packet-in has"), "{}", finding.why);
    assert_eq!((finding.found_after, finding.repeated), (200, 3), "the first packets show it");
    let packets: Vec<&Packet> =
        finding.steps.iter().flat_map(|step| &step.request.packets).collect();
    assert!(matches!(packets.as_slice(), [Packet::On { .. }]), "{packets:?}");
    assert!(finding.steps.iter().all(|step| step.request.updates.is_empty()));
}

#[test]
fn a_packet_out_that_ends_the_stream_is_found() {
    let found = search(Some(Distortion::EndsStreamsOnWrongPacketOuts), 1);
    let finding = found.finding.expect("the stream ends");
    assert!(finding.why.contains("ended the stream"), "{}", finding.why);
    let last = finding.steps.last().expect("a step");
    let is_doubled = |packet: &Packet| match packet {
        Packet::Out(packet) => {
            packet.metadata.windows(2).any(|pair| pair[0].metadata_id == pair[1].metadata_id)
        }
        Packet::On { .. } => false,
    };
    assert!(last.request.packets.iter().any(is_doubled), "{last:?}");
    // A device that does not end it shows nothing.
    let requests = finding.steps.into_iter().map(|step| step.request).collect();
    let device = Emulated::start(PROGRAM);
    let found = replay(
        &at(device.address().to_owned()),
        all_means(&device),
        ConstraintDuty::Checked,
        requests,
    );
    let found = found.expect("it can be repeated");
    assert!(found.finding.is_none() && found.packets > 0, "{:?}", found.finding);
}

/// The judge does not know the effects of a packet on entries, so a change of entries is no fault.
#[test]
fn entries_that_packets_change_are_left_out() {
    let found = search(Some(Distortion::ChangesEntriesByPackets), 1);
    if let Some(finding) = found.finding {
        panic!("{}\n{}", finding.why, lines(&finding));
    }
    assert_eq!((found.requests, found.left), (400, None));
    // Each is named; an update of a table that does not exist leaves out nothing.
    let is_entry =
        |what: &String| what.contains(" of MyIngress.") && what.ends_with(": packets change it");
    assert!(!found.left_out.is_empty(), "entries are changed");
    assert!(found.left_out.iter().all(is_entry), "{:?}", found.left_out);
}
