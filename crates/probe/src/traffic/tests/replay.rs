//! Tests of frames that are replayed from a capture, with a packet ID written into each.

use std::io::Write;
use std::path::PathBuf;

use etherparse::{IpNumber, PacketBuilder};
use packetio::pcap::{CaptureWriter, LinkType};
use proptest::prelude::*;
use tempfile::TempPath;

use super::*;
use crate::config::SwitchOverride;

const MAC: [u8; 6] = [2, 9, 9, 9, 9, 9];

fn capture_of(link_type: LinkType, frames: &[Vec<u8>]) -> TempPath {
    let mut writer = CaptureWriter::new(Vec::new(), link_type).unwrap();
    for (stamp, frame) in (0..).zip(frames) {
        writer.write_frame(stamp, frame).unwrap();
    }
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&writer.finish().unwrap()).unwrap();
    file.into_temp_path()
}

/// Plans the frames of a run in which only switch 4 replays a capture, so that it begins with the
/// first frame.
fn plan(path: PathBuf) -> Result<FramePlan, FrameError> {
    let mut switches = switches(10, 4, 3);
    switches.overrides =
        vec![SwitchOverride { first: 4, last: 4, replay: Some(path), ..Default::default() }];
    FramePlan::new(&traffic(Frame::TcpSyn, 66), &switches)
}

fn replay(frames: &[Vec<u8>]) -> (FramePlan, FrameSource) {
    let path = capture_of(LinkType::ETHERNET, frames);
    let plan = plan(path.to_path_buf()).unwrap();
    let hosts = hosts(&switches(10, 4, 3), &TopologySource::None);
    let source = plan.source(4, &hosts, SEED, KEY).unwrap();
    (plan, source)
}

/// Returns a UDP frame that an independent implementation has built.
fn udp(payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(MAC, MAC)
        .ipv4([10, 1, 1, 1], [10, 1, 1, 2], 17)
        .udp(53, 5353)
        .write(&mut frame, payload)
        .unwrap();
    frame
}

fn tcp(payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(MAC, MAC)
        .ipv4([10, 1, 1, 1], [10, 1, 1, 2], 64)
        .tcp(80, 8080, 1, 1000)
        .options_raw(&[1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8])
        .unwrap()
        .write(&mut frame, payload)
        .unwrap();
    frame
}

fn tagged(payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(MAC, MAC)
        .double_vlan(1.try_into().unwrap(), 2.try_into().unwrap())
        .ipv4([10, 1, 1, 1], [10, 1, 1, 2], 64)
        .udp(53, 5353)
        .write(&mut frame, payload)
        .unwrap();
    frame
}

/// Returns frames without space for a packet ID in their payload.
fn without_place() -> Vec<Vec<u8>> {
    let mut ipv6 = Vec::new();
    PacketBuilder::ethernet2(MAC, MAC)
        .ipv6([1; 16], [2; 16], 64)
        .udp(1, 2)
        .write(&mut ipv6, &[7; 40])
        .unwrap();
    let mut icmp = Vec::new();
    PacketBuilder::ethernet2(MAC, MAC)
        .ipv4([10, 1, 1, 1], [10, 1, 1, 2], 64)
        .icmpv4_echo_request(1, 2)
        .write(&mut icmp, &[7; 40])
        .unwrap();
    let mut unknown = Vec::new();
    PacketBuilder::ethernet2(MAC, MAC)
        .ipv4([10, 1, 1, 1], [10, 1, 1, 2], 64)
        .write(&mut unknown, IpNumber(253), &[7; 40])
        .unwrap();
    let mut fragment = udp(&[7; 40]);
    fragment[20] |= 0x20;
    let mut later_fragment = udp(&[7; 40]);
    later_fragment[21] = 3;
    let mut cut = udp(&[7; 400]);
    cut.truncate(96);
    let mut no_total_length = udp(&[7; 40]);
    no_total_length[16..18].fill(0);
    let mut contradictory = udp(&[7; 40]);
    contradictory[38..40].copy_from_slice(&20u16.to_be_bytes());
    let mut far_from_the_end = udp(&[7; 40]);
    far_from_the_end.extend([0; SEARCH + 1]);
    vec![
        udp(&[7; 11]),
        tcp(&[]),
        tcp(&[7; 11]),
        ipv6,
        icmp,
        unknown,
        fragment,
        later_fragment,
        cut,
        no_total_length,
        contradictory,
        far_from_the_end,
        vec![0xaa; 14],
        [&[0xff; 12][..], &[0x81, 0x00].repeat(40)].concat(),
    ]
}

#[test]
fn payload_carries_the_id_and_checksums_stay_right() {
    let frames: Vec<_> = (12..60)
        .flat_map(|length| {
            let payload: Vec<u8> = (0..length).collect();
            [udp(&payload), tcp(&payload), tagged(&payload)]
        })
        .collect();
    let (plan, mut source) = replay(&frames);
    assert!(plan.notes().is_empty(), "{:?}", plan.notes());
    // The capture is replayed three times.
    for (sequence, original) in (0..).zip(frames.iter().cycle().take(3 * frames.len())) {
        let frame = frame_of(&mut source, sequence);
        assert_eq!(frame.len(), original.len());
        let (read, expected) = (parse(&frame), parse(original));
        let kept = expected.payload.len() - 12;
        assert_eq!(read.payload[..kept], expected.payload[..kept]);
        assert_eq!(read_id(&frame, KEY), Some(PacketId { switch: 4, sequence }));
    }
}

#[test]
fn captured_checksums_that_are_wrong_come_out_right() {
    // Segmentation offload leaves checksums like this one.
    let mut frame = tcp(&[1; 20]);
    frame[50..52].copy_from_slice(&[0x12, 0x34]);
    let (_, mut source) = replay(&[frame]);
    parse(&frame_of(&mut source, 0));
}

#[test]
fn udp_without_checksum_stays_without() {
    let mut frame = udp(&[1; 20]);
    frame[40..42].fill(0);
    let (_, mut source) = replay(&[frame]);
    let got = frame_of(&mut source, 0);
    assert_eq!(got[40..42], [0, 0]);
    assert!(read_id(&got, KEY).is_some());
}

#[test]
fn an_id_is_found_before_ethernet_padding() {
    let mut frame = udp(&[1; 12]);
    frame.resize(60 + 4, 0);
    let (_, mut source) = replay(&[frame]);
    let got = frame_of(&mut source, 8);
    assert_eq!(got.len(), 64);
    assert_eq!(read_id(&got, KEY), Some(PacketId { switch: 4, sequence: 8 }));
    assert_eq!(parse(&got).payload.len(), 12);
}

#[test]
fn other_frames_get_a_trailer() {
    let frames = without_place();
    let (plan, mut source) = replay(&frames);
    for (sequence, original) in (0..).zip(&frames) {
        let frame = frame_of(&mut source, sequence);
        assert_eq!(frame[..original.len()], *original, "frame {sequence}");
        assert_eq!(frame.len(), original.len() + 12, "frame {sequence}");
        assert_eq!(read_id(&frame, KEY), Some(PacketId { switch: 4, sequence }));
    }
    let [note] = plan.notes() else { panic!("{:?}", plan.notes()) };
    assert!(note.contains("14 of 14 frames carry their identity behind the packet"), "{note}");
}

#[test]
fn a_capture_cut_short_is_replayed_as_far_as_it_goes() {
    let whole = capture_of(LinkType::ETHERNET, &[udp(&[1; 20]), udp(&[2; 30])]);
    let mut bytes = std::fs::read(&whole).unwrap();
    bytes.pop();
    std::fs::write(&whole, bytes).unwrap();
    let plan = plan(whole.to_path_buf()).unwrap();
    assert!(plan.notes()[0].ends_with("its 1 whole frames are replayed"), "{:?}", plan.notes());
}

#[test]
fn captures_that_cannot_be_sent_are_refused() {
    let refused = |link_type, frames: &[Vec<u8>]| {
        plan(capture_of(link_type, frames).to_path_buf()).unwrap_err()
    };
    let ethernet = LinkType::ETHERNET;
    assert!(matches!(refused(ethernet, &[]), FrameError::NoFrames { .. }));
    assert!(matches!(
        refused(LinkType(113), &[udp(&[0; 20])]),
        FrameError::NotEthernet { number: 1, link_type: 113, .. }
    ));
    let good = udp(&[0; 20]);
    assert!(matches!(
        refused(ethernet, &[good.clone(), vec![0; 13]]),
        FrameError::ReplayedLength { number: 2, bytes: 13, .. }
    ));
    assert!(matches!(
        refused(ethernet, &[good, vec![0; MAX_FRAME_BYTES - 11]]),
        FrameError::ReplayedLength { number: 2, .. }
    ));
    assert!(matches!(plan("missing.pcap".into()), Err(FrameError::Capture(_))));
}

#[test]
fn switches_that_share_a_capture_begin_at_different_frames() {
    let frames: Vec<_> = (0u8..6).map(|number| udp(&[number; 30])).collect();
    let path = capture_of(LinkType::ETHERNET, &frames);
    let switches = switches(3, 4, 2);
    let plan = FramePlan::new(&traffic(Frame::Replay(path.to_path_buf()), 66), &switches).unwrap();
    let hosts = hosts(&switches, &TopologySource::None);
    let firsts = (0..3).map(|switch| {
        let mut source = plan.source(switch, &hosts, SEED, KEY).unwrap();
        let turns = (0..6).map(|sequence| parse(&frame_of(&mut source, sequence)).payload[0]);
        let turns: Vec<u8> = turns.collect();
        assert!(turns.iter().zip(&turns[1..]).all(|(a, b)| (a + 1) % 6 == *b), "{turns:?}");
        turns[0]
    });
    assert_eq!(firsts.collect::<Vec<_>>(), [0, 2, 4]);
}

#[test]
fn a_switch_may_have_a_capture_of_its_own() {
    let (a, b) = (udp(b"common............"), udp(b"single............"));
    let (all, one) = (
        capture_of(LinkType::ETHERNET, std::slice::from_ref(&a)),
        capture_of(LinkType::ETHERNET, std::slice::from_ref(&b)),
    );
    let mut switches = switches(4, 4, 3);
    let change = |first, last, path: &TempPath| SwitchOverride {
        first,
        last,
        replay: Some(path.to_path_buf()),
        ..SwitchOverride::default()
    };
    switches.overrides = vec![change(1, 900, &all), change(2, 2, &one)];
    let hosts = hosts(&switches, &TopologySource::None);
    let plan = FramePlan::new(&traffic(Frame::TcpSyn, 66), &switches).unwrap();
    let payload = |switch| {
        let mut source = plan.source(switch, &hosts, SEED, KEY).unwrap();
        parse(&frame_of(&mut source, 0)).payload
    };
    // A TCP SYN of 66 bytes has no payload.
    assert_eq!(payload(0), b"");
    assert_eq!(payload(1)[..6], *b"common");
    assert_eq!(payload(2)[..6], *b"single");
    assert_eq!(payload(3)[..6], *b"common");
}

proptest! {
    #[test]
    fn any_frame_can_be_replayed(
        mut frame in prop::sample::select(
            [without_place(), vec![udp(&[3; 33]), tcp(&[4; 44]), tagged(&[5; 55])]].concat(),
        ),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        for (at, value) in damage {
            let at = at.index(frame.len());
            frame[at] = value;
        }
        let (_, mut source) = replay(std::slice::from_ref(&frame));
        let got = frame_of(&mut source, 9);
        prop_assert!(got.len() == frame.len() || got.len() == frame.len() + 12);
        prop_assert_eq!(read_id(&got, KEY), Some(PacketId { switch: 4, sequence: 9 }));
    }
}
