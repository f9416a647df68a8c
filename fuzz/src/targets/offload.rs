//! Fuzzes packets that a kernel or guest hands over unfinished. The input consists of a
//! `virtio_net_hdr`, a tag (none if its bytes are zero), and the packet.

use packetio::offload::{Restorer, Tag, VIRTIO_HEADER, complete_checksum};
use packetio::{Burst, Frame};

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let Some((header, rest)) = data.split_first_chunk::<VIRTIO_HEADER>() else { return };
    let Some((tag, packet)) = rest.split_first_chunk::<4>() else { return };
    let [a, b, c, d] = *tag;
    let (protocol, control) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    let tag = (protocol != 0).then_some(Tag { protocol, control });

    let mut completed = packet.to_vec();
    complete_checksum(&mut completed);
    assert_eq!(completed.len(), packet.len());
    let once = completed.clone();
    complete_checksum(&mut completed);
    assert_eq!(completed, once, "what is complete stays");

    // The size of a burst must not change the result.
    let whole = frames(header, tag, packet, 128);
    assert_eq!(whole, frames(header, tag, packet, 3));
    // The result must also be the same if the burst holds only the heads of segments, regardless of
    // their length.
    let head = usize::from(header[2]);
    let apart = by_heads(header, tag, packet, head);
    assert_eq!(whole, apart);
    let longest = packet.len() + tag.map_or(0, |_| 4);
    for frame in whole.iter().flatten() {
        assert!(frame.len() <= longest);
    }
}

fn frames(
    header: &[u8; VIRTIO_HEADER],
    tag: Option<Tag>,
    packet: &[u8],
    capacity: usize,
) -> Option<Vec<Vec<u8>>> {
    let (mut restorer, mut burst) = (Restorer::default(), Burst::new(capacity));
    let mut count = restorer.take(header, tag, packet, &mut burst).ok()?;
    let mut frames: Vec<Vec<u8>> = Vec::new();
    while count.0 > 0 {
        assert_eq!(count.0 as usize, burst.frames().len());
        frames.extend(burst.frames().iter().map(|frame| Frame::bytes(frame).to_vec()));
        burst.clear();
        count = restorer.resume(&mut burst);
    }
    Some(frames)
}

fn by_heads(
    header: &[u8; VIRTIO_HEADER],
    tag: Option<Tag>,
    packet: &[u8],
    head: usize,
) -> Option<Vec<Vec<u8>>> {
    let (mut restorer, mut burst) = (Restorer::default(), Burst::new(128));
    burst.take_heads(Some(head));
    let mut count = restorer.take(header, tag, packet, &mut burst).ok()?;
    let mut frames: Vec<Vec<u8>> = Vec::new();
    while count.0 > 0 {
        for (position, frame) in burst.frames().iter().enumerate() {
            let mut segment = frame.bytes().to_vec();
            let mut of = burst.super_frames().iter();
            if let Some(of) = of.find(|of| of.positions().contains(&position)) {
                let index = position - of.positions().start;
                assert!(of.complete(index, frame.bytes(), &mut segment));
            }
            frames.push(segment);
        }
        for of in burst.super_frames() {
            let heads: Vec<&[u8]> = burst
                .frames()
                .iter()
                .map(Frame::bytes)
                .skip(of.positions().start)
                .take(of.positions().len())
                .collect();
            if let Some(one) = of.whole(&heads) {
                let cut = self::frames(&one.virtio, None, &one.parts().concat(), 128);
                assert_eq!(cut.as_deref(), frames.get(frames.len() - burst.frames().len()..));
            }
        }
        burst.clear();
        count = restorer.resume(&mut burst);
    }
    Some(frames)
}
