//! Tests of packet IDs. They must survive the changes that controllers and networks make to frames,
//! and must not be found in other frames.

use proptest::prelude::*;

use super::*;

/// A change that a controller or a network makes to a frame.
#[derive(Clone, Debug)]
enum Change {
    /// A byte of the Ethernet, IPv4 or transport header is replaced by `value`. The byte is the one
    /// at the index `place`, modulo the length, of the offsets that [`rewritable`] returns.
    Rewrite {
        place: usize,
        value: u8,
    },
    PushVlan(u16),
    PushMpls(u32),
    PopTag,
    Append(Vec<u8>),
}

/// Returns the offsets of the bytes that controllers and networks may change: those of addresses,
/// DSCP, identification, TTL, checksums and ports.
fn rewritable(frame: &Frame) -> Vec<usize> {
    let mut places: Vec<usize> = (0..12).chain([15, 18, 19, 22, 24, 25]).chain(26..38).collect();
    places.extend(if *frame == Frame::Udp { [40, 41] } else { [50, 51] });
    places
}

/// Applies changes to a frame. A tag of 4 bytes moves all headers after the Ethernet addresses.
/// Bytes are appended only as far as an ID is still searched for.
fn apply(kind: &Frame, frame: &mut Vec<u8>, changes: &[Change]) {
    let places = rewritable(kind);
    let mut tags = 0;
    let mut appended = 0;
    for change in changes {
        match change {
            Change::Rewrite { place, value } => {
                let place = places[place % places.len()];
                let at = if place < 12 { place } else { place + 4 * tags };
                frame[at] = *value;
            }
            Change::PushVlan(tag) => {
                frame.splice(12..12, [0x8100u16.to_be_bytes(), tag.to_be_bytes()].concat());
                tags += 1;
            }
            Change::PushMpls(label) => {
                frame.splice(14..14, label.to_be_bytes());
                tags += 1;
            }
            Change::PopTag if tags > 0 => {
                frame.drain(12..16);
                tags -= 1;
            }
            Change::PopTag => {}
            Change::Append(padding) => {
                let room = SEARCH - appended;
                let padding = &padding[..padding.len().min(room)];
                appended += padding.len();
                frame.extend(padding);
            }
        }
    }
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<usize>(), any::<u8>()).prop_map(|(place, value)| Change::Rewrite { place, value }),
        any::<u16>().prop_map(Change::PushVlan),
        any::<u32>().prop_map(Change::PushMpls),
        Just(Change::PopTag),
        prop::collection::vec(any::<u8>(), 0..SEARCH).prop_map(Change::Append),
    ]
}

fn any_kind() -> impl Strategy<Value = (Frame, usize)> {
    prop_oneof![
        Just((Frame::TcpSyn, 66)),
        (67usize..1600).prop_map(|bytes| (Frame::TcpSyn, bytes)),
        (60usize..1600).prop_map(|bytes| (Frame::Udp, bytes)),
    ]
}

#[test]
fn ids_wrap_at_their_limits() {
    let limit = PacketId { switch: PacketId::MAX_SWITCHES - 1, sequence: (1 << 40) - 2 };
    assert_eq!(read_id(&KEY.trailer(limit), KEY), Some(limit));
    assert!(!limit.is_unmeasured());
    let beyond = PacketId { switch: PacketId::MAX_SWITCHES + 3, sequence: (1 << 40) + 5 };
    assert_eq!(read_id(&KEY.trailer(beyond), KEY), Some(PacketId { switch: 3, sequence: 5 }));
    let announced = read_id(&KEY.trailer(PacketId::unmeasured(9)), KEY).unwrap();
    assert!(announced.is_unmeasured());
    assert_eq!(announced.switch, 9);
}

#[test]
fn frames_of_other_trials_are_foreign() {
    let mut source = source(Frame::TcpSyn, 66, addresses(Generator::Hosts), 2);
    for sequence in 0..1000 {
        let frame = frame_of(&mut source, sequence);
        assert_eq!(read_id(&frame, KEY), Some(PacketId { switch: 2, sequence }));
        for other in [0, 1, 6, 8, u64::MAX] {
            assert_eq!(read_id(&frame, RunKey::new(other)), None);
        }
    }
}

#[test]
fn check_words_use_all_their_bits() {
    // In n check words, each bit is set n / 2 times on average, with a standard deviation of
    // sqrt(n) / 2 = 50. Five standard deviations are allowed.
    let n = 10_000u32;
    let mut set = [0u32; 32];
    for sequence in 0..n {
        let (_, check) = KEY.words(PacketId { switch: 0, sequence: u64::from(sequence) });
        for (bit, count) in set.iter_mut().enumerate() {
            *count += check >> bit & 1;
        }
    }
    assert!(set.iter().all(|count| count.abs_diff(n / 2) < 250), "{set:?}");
}

#[test]
fn padding_beyond_the_search_hides_an_id() {
    let mut frame = frame_of(&mut source(Frame::Udp, 100, addresses(Generator::Hosts), 0), 5);
    frame.resize(100 + SEARCH, 0);
    assert!(read_id(&frame, KEY).is_some());
    frame.push(0);
    assert_eq!(read_id(&frame, KEY), None);
}

proptest! {
    #[test]
    fn an_id_survives_rewriting(
        (kind, bytes) in any_kind(),
        switch in 0u32..10,
        sequence in 0u64..(1 << 40) - 1,
        changes in prop::collection::vec(any_change(), 0..12),
    ) {
        let mut source = source(kind.clone(), bytes, addresses(Generator::Random), switch);
        let mut frame = frame_of(&mut source, sequence);
        prop_assert_eq!(frame.len(), bytes);
        apply(&kind, &mut frame, &changes);
        prop_assert_eq!(read_id(&frame, KEY), Some(PacketId { switch, sequence }));
    }

    #[test]
    fn random_bytes_hold_no_id(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        key: u64,
    ) {
        // At each of 65 positions, two words of 32 bits are compared with the check word, so an id
        // is found there with a probability of 2^-31.
        prop_assert_eq!(read_id(&bytes, RunKey::new(key)), None);
    }

    #[test]
    fn a_frame_cut_short_holds_no_id((kind, bytes) in any_kind(), keep in 0usize..1600) {
        let frame = frame_of(&mut source(kind, bytes, addresses(Generator::Hosts), 1), 77);
        let keep = keep % bytes;
        prop_assert_eq!(read_id(&frame[..keep], KEY), None);
    }
}
