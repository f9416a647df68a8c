//! Tests that a super-frame that leaves in one piece becomes the same segments as one that is
//! segmented first.

use super::*;
use crate::offload::Whole;

/// A change that a program makes to each segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Nothing,
    /// The Ethernet addresses change.
    Addresses,
    /// A tag is pushed.
    Push,
    /// The time to live is decremented, and the checksum of IPv4 is updated.
    Route,
    /// The time to live is decremented, but the checksum of IPv4 is not updated.
    RouteWithoutChecksum,
    /// The destination changes, and the checksum of TCP is updated.
    Translate,
    /// The destination changes, but the checksum of TCP is not updated.
    TranslateWithoutChecksum,
    /// The Ethernet source address of one segment changes.
    OneOfAll,
    /// A byte of the payload changes.
    Payload,
    /// The acknowledgement flag of the last segment is cleared.
    Flags,
}

const CHANGES: [Change; 10] = [
    Change::Nothing,
    Change::Addresses,
    Change::Push,
    Change::Route,
    Change::RouteWithoutChecksum,
    Change::Translate,
    Change::TranslateWithoutChecksum,
    Change::OneOfAll,
    Change::Payload,
    Change::Flags,
];

impl Change {
    /// Changes the segment at `index` of `count`, or its head, as a program does.
    fn make(self, packet: &mut Vec<u8>, network: usize, (index, count): (usize, usize)) {
        let is_ipv4 = packet[network] >> 4 == 4;
        let transport = network + if is_ipv4 { 20 } else { 40 };
        let destination = network + if is_ipv4 { 16 } else { 24 };
        match self {
            Self::Nothing => {}
            Self::Addresses => packet[..6].copy_from_slice(&[2, 9, 9, 9, 9, 9]),
            Self::Push => drop(packet.splice(12..12, [0x81, 0, 0, 77])),
            Self::Route | Self::RouteWithoutChecksum => {
                packet[network + if is_ipv4 { 8 } else { 7 }] -= 1;
                if is_ipv4 && self == Self::Route {
                    let header = &mut packet[network..transport];
                    header[10..12].fill(0);
                    let sum = !checksum::fold(add(0, header));
                    header[10..12].copy_from_slice(&sum.to_be_bytes());
                }
            }
            Self::Translate | Self::TranslateWithoutChecksum => {
                let before = [packet[destination], packet[destination + 1]];
                let after = [172, 16 ^ before[1]];
                packet[destination..destination + 2].copy_from_slice(&after);
                let mut fields = vec![];
                if is_ipv4 {
                    fields.push(network + 10);
                }
                if self == Self::Translate {
                    fields.push(transport + 16);
                }
                // The update follows RFC 1624, equation 3.
                for field in fields {
                    let old = u16::from_be_bytes([packet[field], packet[field + 1]]);
                    let words = [!old, !u16::from_be_bytes(before), u16::from_be_bytes(after)];
                    let sum = !checksum::fold(words.into_iter().map(u64::from).sum());
                    packet[field..field + 2].copy_from_slice(&sum.to_be_bytes());
                }
            }
            Self::OneOfAll => packet[5] ^= u8::from(index == count / 2),
            Self::Payload => {
                let payload = transport + usize::from(packet[transport + 12] >> 4) * 4;
                if let Some(byte) = packet.get_mut(payload) {
                    *byte ^= 1;
                }
            }
            Self::Flags => packet[transport + 13] &= if index + 1 == count { !0x10 } else { !0 },
        }
    }

    /// Returns whether the frame can leave in one piece after the change. `shown` tells whether the
    /// program sees checksums of TCP.
    fn keeps_whole(self, is_ipv4: bool, shown: bool) -> bool {
        match self {
            Self::Nothing | Self::Addresses | Self::Push | Self::Route => true,
            Self::RouteWithoutChecksum => !is_ipv4,
            Self::Translate => shown,
            Self::TranslateWithoutChecksum | Self::OneOfAll | Self::Flags | Self::Payload => false,
        }
    }
}

fn tcp_cases() -> impl Strategy<Value = Case> {
    (cases(), 2..40_usize, 1..=1460_u16, 1..=1460_usize).prop_map(
        |(mut case, count, size, last)| {
            (case.udp, case.size) = (false, size);
            let length = (count - 1) * usize::from(size) + last.min(usize::from(size));
            let seed = case.sequence;
            case.payload = (0..length).map(|at| (at as u32 ^ seed) as u8).collect();
            case.payload.truncate(60_000);
            case
        },
    )
}

/// Returns a super-frame as the kernel delivers it, with its tag separate.
fn merged(case: &Case) -> ([u8; VIRTIO_HEADER], Option<Tag>, Vec<u8>) {
    let header = case.header(true, case.inner().len());
    let mut packet = case.build(case.inner(), &case.payload, 0, true);
    let start = usize::from(case.transport(case.inner().len()));
    let addresses = if case.ipv6 { start - 32..start } else { start - 8..start };
    let pseudo = checksum::fold(add((packet.len() - start) as u64 + 6, &packet[addresses]));
    packet[start + 16..start + 18].copy_from_slice(&pseudo.to_be_bytes());
    (header, case.tag(), packet)
}

/// Returns the segments of a frame that leaves in one piece.
fn cut(whole: &Whole<'_>) -> Vec<Vec<u8>> {
    restored(&whole.virtio, None, &whole.parts().concat(), 64).expect("it is sound")
}

proptest! {
    #[test]
    fn a_frame_that_leaves_whole_equals_its_segments(
        case in tcp_cases(),
        head in prop_oneof![0..200_usize, Just(14), Just(50), Just(2000)],
        change in proptest::sample::select(&CHANGES[..]),
    ) {
        let (header, tag, packet) = merged(&case);
        let before = restored(&header, tag, &packet, 64).expect("it is sound");
        let count = before.len();
        let network = 14 + 4 * case.vlans.len();
        let shown = head > usize::from(case.transport(case.vlans.len())) + 16;
        // A program changes only bytes that it has read.
        let reads = match change {
            Change::Translate => shown,
            Change::Payload => head > network + 100,
            Change::Flags => head > usize::from(case.transport(case.vlans.len())) + 13,
            _ => true,
        };
        prop_assume!(reads);
        let mut expected = before.clone();
        for (index, segment) in expected.iter_mut().enumerate() {
            change.make(segment, network, (index, count));
        }

        let mut burst = Burst::new(128);
        burst.take_heads(Some(head));
        let mut restorer = Restorer::default();
        let taken = restorer.take(&header, tag, &packet, &mut burst);
        let bytes = before.iter().map(|segment| segment.len() as u64).sum::<u64>();
        prop_assert_eq!(taken, Ok((count as u64, bytes)));
        if count < 2 {
            prop_assert!(burst.super_frames().is_empty());
            return Ok(());
        }
        let [super_frame] = burst.super_frames() else {
            return Err(TestCaseError::fail("it is cut"));
        };
        prop_assert_eq!(super_frame.positions(), 0..count);
        // The heads contain all bytes that the program may read.
        for (index, (frame, segment)) in burst.frames().iter().zip(&before).enumerate() {
            let shown = head.min(segment.len());
            prop_assert!(frame.bytes().len() >= shown);
            prop_assert_eq!(&frame.bytes()[..shown], &segment[..shown]);
            prop_assert_eq!(frame.bytes().len() + super_frame.beyond(index), segment.len());
        }
        let heads: Vec<Vec<u8>> = burst
            .frames()
            .iter()
            .enumerate()
            .map(|(index, frame)| {
                let mut head = frame.bytes().to_vec();
                change.make(&mut head, network, (index, count));
                head
            })
            .collect();
        let mut packet = Vec::new();
        for (index, (head, expected)) in heads.iter().zip(&expected).enumerate() {
            prop_assert!(super_frame.complete(index, head, &mut packet));
            prop_assert_eq!(&packet, expected);
        }
        let heads: Vec<&[u8]> = heads.iter().map(Vec::as_slice).collect();
        let whole = super_frame.whole(&heads);
        prop_assert_eq!(whole.is_some(), change.keeps_whole(!case.ipv6, shown), "{:?}", change);
        if let Some(whole) = whole {
            prop_assert_eq!(whole.segments, count);
            prop_assert_eq!(whole.bytes, expected.iter().map(|one| one.len() as u64).sum::<u64>());
            prop_assert_eq!(whole.longest, expected.iter().map(Vec::len).max().unwrap_or(0));
            prop_assert_eq!(cut(&whole), expected);
        }
        // A frame with a missing segment cannot leave in one piece.
        prop_assert!(super_frame.whole(&heads[1..]).is_none());
    }

    /// Checks that damaged frames become the same segments, whether by their heads or by
    /// segmentation.
    #[test]
    fn damaged_frames_become_the_same_segments(
        case in tcp_cases(),
        changes in proptest::collection::vec((0..120_usize, any::<u8>()), 0..6),
        shorter in 0..4000_usize,
        head in 0..300_usize,
        capacity in 1..64_usize,
    ) {
        let (header, tag, mut packet) = merged(&case);
        for (at, value) in changes {
            let at = at % packet.len();
            packet[at] = value;
        }
        if shorter < 200 {
            packet.truncate(shorter);
        }
        let expected = restored(&header, tag, &packet, 64);
        let (mut restorer, mut burst) = (Restorer::default(), Burst::new(capacity));
        burst.take_heads(Some(head));
        let mut taken = restorer.take(&header, tag, &packet, &mut burst);
        prop_assert_eq!(taken.is_ok(), expected.is_ok());
        let mut segments = Vec::new();
        while let Ok((1.., _)) = taken {
            let mut whole = Vec::new();
            for (position, frame) in burst.frames().iter().enumerate() {
                let of = burst.super_frames().iter().find(|one| one.positions().contains(&position));
                match of {
                    Some(one) => {
                        let index = position - one.positions().start;
                        prop_assert!(one.complete(index, frame.bytes(), &mut whole));
                        segments.push(whole.clone());
                    }
                    None => segments.push(frame.bytes().to_vec()),
                }
            }
            for one in burst.super_frames() {
                let heads = burst.frames().iter().map(Frame::bytes);
                let heads: Vec<&[u8]> =
                    heads.skip(one.positions().start).take(one.positions().len()).collect();
                if let Some(whole) = one.whole(&heads) {
                    prop_assert_eq!(&cut(&whole), &segments);
                }
            }
            burst.clear();
            taken = Ok(restorer.resume(&mut burst));
        }
        prop_assert_eq!(segments, expected.unwrap_or_default());
    }
}

#[test]
fn a_super_frame_without_room_waits_for_the_next_burst() {
    let case = Case { size: 100, ipv6: false, ..Case::sample(true, &[7; 450]) };
    let (header, tag, packet) = merged(&case);
    let mut burst = Burst::new(10);
    burst.take_heads(Some(14));
    let mut restorer = Restorer::default();
    assert_eq!(restorer.take(&header, tag, &packet, &mut burst).map(|taken| taken.0), Ok(5));
    assert!(burst.push(b"a packet"));
    assert!(!restorer.is_pending());
    assert_eq!(restorer.take(&header, tag, &packet, &mut burst), Ok((0, 0)));
    assert!(restorer.is_pending());
    burst.clear();
    assert_eq!(restorer.resume(&mut burst).0, 5);
    assert_eq!((burst.super_frames().len(), burst.frames().len()), (1, 5));
    // Without heads, the segments become packets.
    assert_eq!(restorer.take(&header, tag, &packet, &mut burst).map(|taken| taken.0), Ok(5));
    burst.clear();
    assert_eq!(restorer.take(&header, tag, &packet, &mut burst).map(|taken| taken.0), Ok(5));
    assert!(burst.push(b"a packet"));
    assert_eq!(restorer.take(&header, tag, &packet, &mut burst), Ok((0, 0)));
    burst.clear();
    burst.take_heads(None);
    assert_eq!(restorer.resume(&mut burst).0, 5);
    assert!(burst.super_frames().is_empty());
    // Frames with more segments than half a burst holds, and datagrams, have no heads.
    let mut small = Burst::new(9);
    small.take_heads(Some(14));
    assert_eq!(restorer.take(&header, tag, &packet, &mut small).map(|taken| taken.0), Ok(5));
    assert!(small.super_frames().is_empty());
    let datagrams = Case { udp: true, ..case };
    let packet = datagrams.build(&[], &datagrams.payload, 0, true);
    burst.take_heads(Some(14));
    burst.clear();
    let header = datagrams.header(true, 0);
    assert_eq!(restorer.take(&header, None, &packet, &mut burst).map(|taken| taken.0), Ok(5));
    assert!(burst.super_frames().is_empty());
}
