//! Tests of the conversion of unfinished packets. The expected frames are built with etherparse.

mod super_frames;

use super::*;
use crate::{Burst, Frame};
use etherparse::{
    IpHeaders, IpNumber, Ipv4Header, Ipv6FlowLabel, Ipv6Header, PacketBuilder, TcpHeader, VlanId,
};
use proptest::prelude::*;

/// The parameters of a packet, or of a super-frame and its segments.
#[derive(Clone, Debug)]
struct Case {
    /// The VLAN tags; the first may be stored separately.
    vlans: Vec<u16>,
    ipv6: bool,
    udp: bool,
    /// The length of TCP options, in words.
    options: usize,
    /// The flags FIN, PSH and CWR.
    flags: [bool; 3],
    identification: u16,
    sequence: u32,
    size: u16,
    payload: Vec<u8>,
}

fn cases() -> impl Strategy<Value = Case> {
    (
        proptest::collection::vec(0..4096_u16, 0..3),
        any::<[bool; 2]>(),
        0..10_usize,
        any::<[bool; 3]>(),
        any::<(u16, u32)>(),
        1..2000_u16,
        proptest::collection::vec(any::<u8>(), 0..8_000),
    )
        .prop_map(|(vlans, [ipv6, udp], options, flags, numbers, size, payload)| Case {
            vlans,
            ipv6,
            udp,
            options,
            flags,
            identification: numbers.0,
            sequence: numbers.1,
            size,
            payload,
        })
}

impl Case {
    /// Builds the segment at `index` of the super-frame, with the given tags and payload. `last`
    /// states whether it is the last segment.
    fn build(&self, vlans: &[u16], payload: &[u8], index: usize, last: bool) -> Vec<u8> {
        let identification = self.identification.wrapping_add(index as u16);
        let sequence = self.sequence.wrapping_add((index * usize::from(self.size)) as u32);
        let (source, destination) = ([10, 1, 2, 3], [10, 4, 5, 6]);
        let mut ipv4 = Ipv4Header::new(0, 64, IpNumber::UDP, source, destination).expect("fits");
        (ipv4.identification, ipv4.dont_fragment) = (identification, true);
        let ipv6 = Ipv6Header {
            flow_label: Ipv6FlowLabel::ZERO,
            hop_limit: 9,
            source: [0x20; 16],
            destination: [0xfd; 16],
            ..Ipv6Header::default()
        };
        let network = match self.ipv6 {
            true => IpHeaders::Ipv6(ipv6, Default::default()),
            false => IpHeaders::Ipv4(ipv4, Default::default()),
        };
        let link = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let id = |vlan: u16| VlanId::try_new(vlan).expect("12 bits");
        let internet = match *vlans {
            [] => link.ip(network),
            [one] => link.single_vlan(id(one)).ip(network),
            [one, two, ..] => link.double_vlan(id(one), id(two)).ip(network),
        };
        let mut packet = Vec::new();
        if self.udp {
            internet.udp(53, 5353).write(&mut packet, payload).expect("memory");
            return packet;
        }
        let mut tcp = TcpHeader::new(80, 8080, sequence, 4000);
        let [fin, psh, cwr] = self.flags;
        (tcp.fin, tcp.psh, tcp.cwr) = (fin && last, psh && last, cwr && index == 0);
        (tcp.ack, tcp.acknowledgment_number) = (true, 77);
        tcp.set_options_raw(&vec![1; self.options * 4]).expect("fits");
        internet.tcp_header(tcp).write(&mut packet, payload).expect("memory");
        packet
    }

    fn transport(&self, vlans: usize) -> u16 {
        (14 + 4 * vlans + if self.ipv6 { 40 } else { 20 }) as u16
    }

    fn header(&self, segmented: bool, vlans: usize) -> [u8; VIRTIO_HEADER] {
        let kind = match (segmented, self.udp, self.ipv6) {
            (false, ..) => 0,
            (true, true, _) => 5,
            (true, false, true) => 4,
            // The highest bit of the kind denotes explicit congestion notification.
            (true, false, false) => 0x81,
        };
        let size = if segmented { self.size } else { 0 };
        let field = if self.udp { 6 } else { 16 };
        header(kind, size, self.transport(vlans), field)
    }

    /// Returns the first tag, which is stored separately from the packet.
    fn tag(&self) -> Option<Tag> {
        let protocol = if self.vlans.len() == 2 { 0x88a8 } else { 0x8100 };
        self.vlans.first().map(|&control| Tag { protocol, control })
    }

    fn inner(&self) -> &[u16] {
        self.vlans.get(1..).unwrap_or_default()
    }
}

fn header(kind: u8, size: u16, start: u16, field: u16) -> [u8; VIRTIO_HEADER] {
    let mut header = [1, kind, 0, 0, 0, 0, 0, 0, 0, 0];
    header[4..6].copy_from_slice(&size.to_ne_bytes());
    header[6..8].copy_from_slice(&start.to_ne_bytes());
    header[8..10].copy_from_slice(&field.to_ne_bytes());
    header
}

/// Converts a packet and returns the resulting frames. They are taken in bursts of the given
/// capacity.
fn restored(
    header: &[u8; VIRTIO_HEADER],
    tag: Option<Tag>,
    packet: &[u8],
    capacity: usize,
) -> Result<Vec<Vec<u8>>, Damaged> {
    let mut restorer = Restorer::default();
    let mut burst = Burst::new(capacity);
    let mut frames = Vec::new();
    let mut count = restorer.take(header, tag, packet, &mut burst)?;
    while count.0 > 0 {
        let taken = burst.frames().iter().map(Frame::bytes);
        assert_eq!(count.1, taken.clone().map(|bytes| bytes.len() as u64).sum::<u64>());
        assert_eq!(count.0 as usize, taken.len());
        frames.extend(taken.map(<[u8]>::to_vec));
        burst.clear();
        count = restorer.resume(&mut burst);
    }
    Ok(frames)
}

proptest! {
    #[test]
    fn super_frames_become_the_frames_of_a_wire(case in cases(), capacity in 1..40_usize) {
        let size = usize::from(case.size);
        let count = case.payload.len().div_ceil(size).max(1);
        let expected: Vec<_> = (0..count)
            .map(|index| {
                let rest = &case.payload[index * size..];
                let payload = &rest[..size.min(rest.len())];
                case.build(&case.vlans, payload, index, index + 1 == count)
            })
            .collect();
        let merged = case.build(case.inner(), &case.payload, 0, true);
        let header = case.header(true, case.inner().len());
        prop_assert_eq!(restored(&header, case.tag(), &merged, capacity), Ok(expected.clone()));
        // The transport header is found without the description.
        let mut undescribed = header;
        undescribed[0] = 0;
        prop_assert_eq!(restored(&undescribed, case.tag(), &merged, capacity), Ok(expected));
    }

    #[test]
    fn partial_checksums_are_completed(case in cases()) {
        let payload = &case.payload[..case.payload.len().min(9000)];
        let expected = case.build(&case.vlans, payload, 0, true);
        let mut packet = case.build(case.inner(), payload, 0, true);
        let start = usize::from(case.transport(case.inner().len()));
        let field = start + if case.udp { 6 } else { 16 };
        let length = (packet.len() - start) as u64;
        let addresses = if case.ipv6 { start - 32..start } else { start - 8..start };
        let protocol = if case.udp { 17 } else { 6 };
        let pseudo = checksum::fold(add(length + protocol, &packet[addresses]));
        packet[field..field + 2].copy_from_slice(&pseudo.to_be_bytes());
        let header = case.header(false, case.inner().len());
        prop_assert_eq!(restored(&header, case.tag(), &packet, 4), Ok(vec![expected]));
        // The checksum is completed without a description, and only once.
        let expected = case.build(case.inner(), payload, 0, true);
        for _ in 0..2 {
            complete_checksum(&mut packet);
            prop_assert_eq!(&packet, &expected);
        }
    }

    #[test]
    fn damaged_packets_do_no_harm(
        case in cases(),
        header in any::<[u8; VIRTIO_HEADER]>(),
        known in any::<bool>(),
        tag in any::<Option<(u16, u16)>>(),
        changes in proptest::collection::vec((0..200_usize, any::<u8>()), 0..8),
        cut in 0..200_usize,
    ) {
        let mut packet = case.build(case.inner(), &case.payload, 0, true);
        for (at, value) in changes {
            let at = at % packet.len();
            packet[at] = value;
        }
        if cut < 100 {
            packet.truncate(cut);
        }
        let header = if known { case.header(true, case.inner().len()) } else { header };
        let mut undescribed = packet.clone();
        complete_checksum(&mut undescribed);
        prop_assert_eq!(undescribed.len(), packet.len());
        let tag = tag.map(|(protocol, control)| Tag { protocol, control });
        if let Ok(frames) = restored(&header, tag, &packet, 32) {
            let longest = packet.len() + 4;
            prop_assert!(frames.iter().all(|frame| frame.len() <= longest));
        }
    }
}

#[test]
fn complete_frames_pass_unchanged() {
    for length in 0..64 {
        let packet: Vec<u8> = (0..length).collect();
        assert_eq!(restored(&[0; VIRTIO_HEADER], None, &packet, 1), Ok(vec![packet]));
    }
    let tag = Some(Tag { protocol: 0x8100, control: 5 });
    let tagged = restored(&[0; VIRTIO_HEADER], tag, &[9; 14], 1);
    let expected = [&[9; 12][..], &[0x81, 0, 0, 5], &[9; 2]].concat();
    assert_eq!(tagged, Ok(vec![expected]));
    assert_eq!(restored(&[0; VIRTIO_HEADER], tag, &[9; 11], 1), Err(Damaged));
}

#[test]
fn a_wrong_checksum_stays_wrong() {
    let packet = Case::sample(true, b"").build(&[], b"data", 0, true);
    let field = 34 + 16;
    let mut touched = 0;
    for value in 0..=u16::MAX {
        let mut damaged = packet.clone();
        damaged[field..field + 2].copy_from_slice(&value.to_be_bytes());
        let mut after = damaged.clone();
        complete_checksum(&mut after);
        touched += u32::from(after != damaged);
    }
    // The value equals the sum of the pseudo-header, so it cannot be distinguished from a partial
    // checksum.
    assert_eq!(touched, 1);
}

#[test]
fn sctp_has_another_checksum() {
    let mut expected = Case::sample(false, b"").build(&[], &[0; 28], 0, true);
    // The UDP datagram becomes SCTP: ports, verification tag, checksum and one chunk.
    expected[23] = SCTP;
    expected[34..].fill(7);
    expected[42..46].fill(0);
    let crc = crc32c(&expected[34..]).to_le_bytes();
    let mut packet = expected.clone();
    packet[42..46].copy_from_slice(&[1, 2, 3, 4]);
    expected[42..46].copy_from_slice(&crc);
    assert_eq!(restored(&header(0, 0, 34, 8), None, &packet, 1), Ok(vec![expected]));
}

#[test]
fn packets_in_tunnels_are_segmented() {
    let case = Case { size: 100, ..Case::sample(true, &[7; 250]) };
    for ipv6_outside in [false, true] {
        let wrap = |inner: &[u8], index: usize| {
            let outside = Case {
                ipv6: ipv6_outside,
                identification: 500_u16.wrapping_add(index as u16),
                ..Case::sample(false, b"")
            };
            let mut packet =
                outside.build(&[], &[&[8, 0, 0, 0, 0, 0, 5, 0][..], inner].concat(), 0, true);
            let ports = usize::from(outside.transport(0));
            // The datagram goes to the port of VXLAN, and its checksum must match.
            packet[ports + 2..ports + 4].copy_from_slice(&4789_u16.to_be_bytes());
            packet[ports + 6..ports + 8].fill(0);
            let length = (packet.len() - ports) as u64 + 17;
            let addresses = if ipv6_outside { ports - 32..ports } else { ports - 8..ports };
            let sum = add(add(length, &packet[addresses]), &packet[ports..]);
            packet[ports + 6..ports + 8].copy_from_slice(&never_zero(sum).to_be_bytes());
            (packet, ports)
        };
        let expected: Vec<_> = case
            .payload
            .chunks(100)
            .enumerate()
            .map(|(index, payload)| wrap(&case.build(&[], payload, index, index == 2), index).0)
            .collect();
        let (merged, ports) = wrap(&case.build(&[], &case.payload, 0, true), 0);
        let header = header(1, 100, (ports + 16 + 34) as u16, 16);
        assert_eq!(restored(&header, None, &merged, 8), Ok(expected));
    }
}

impl Case {
    fn sample(tcp: bool, payload: &[u8]) -> Self {
        Self {
            vlans: Vec::new(),
            ipv6: false,
            udp: !tcp,
            options: 3,
            flags: [true; 3],
            identification: 65_535,
            sequence: u32::MAX - 3,
            size: 1,
            payload: payload.to_vec(),
        }
    }
}
