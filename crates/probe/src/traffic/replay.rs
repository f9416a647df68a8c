//! Reads the frames of a capture, and prepares them to carry packet IDs.
//!
//! If a frame contains at least 12 bytes of TCP or UDP payload over IPv4, the packet ID overwrites
//! the last 12 of them, and the checksum is corrected. In all other frames (short payload, other
//! protocols, IPv6, fragments, frames cut by the snap length), 12 bytes are added after the packet.
//! A controller that parses and reassembles the packet loses these bytes.

use std::path::Path;

use packetio::pcap::{CaptureError, CaptureReader, LinkType};

use super::checksum;
use super::error::FrameError;
use super::frames::{ETHERNET_HEADER, PROTOCOL_TCP, PROTOCOL_UDP};
use super::id::{PacketId, RunKey, SEARCH, TRAILER};
use crate::config::MAX_FRAME_BYTES;
use crate::schedule::{Share, ends_of, gaps_of};

/// The maximum total length of the frames that are held in memory, in bytes.
const MAX_BYTES: usize = 256 << 20;
/// The maximum number of VLAN tags of a frame that are skipped.
const MAX_VLAN_TAGS: usize = 4;

const IPV4: u16 = 0x0800;
const IPV4_HEADER: usize = 20;
const TCP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;

/// Returns the EtherType after the VLAN tags of an Ethernet frame, and the offset of the payload.
pub(super) fn ethertype(frame: &[u8]) -> Option<(u16, usize)> {
    let mut at = ETHERNET_HEADER - 2;
    for _ in 0..=MAX_VLAN_TAGS {
        match u16::from_be_bytes(*frame.get(at..)?.first_chunk()?) {
            // IEEE 802.1Q customer and service tags, and the older service tag.
            0x8100 | 0x88a8 | 0x9100 => at += 4,
            other => return Some((other, at + 2)),
        }
    }
    None
}

/// The frames of a capture, in the order of the capture.
#[derive(Debug)]
pub(super) struct Recording {
    bytes: Vec<u8>,
    frames: Vec<Recorded>,
    /// The cumulative sums of the times between frames (empty if the capture contains no times).
    ends: Vec<f64>,
    notes: Vec<String>,
}

/// A frame at `start..end` of the recording's bytes.
#[derive(Clone, Copy, Debug)]
struct Recorded {
    start: usize,
    end: usize,
    place: IdLocation,
}

/// The place of the packet ID in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IdLocation {
    Behind,
    /// The packet ID overwrites the payload from this offset on, where the recording contains
    /// zeros.
    Payload {
        at: usize,
        checksum: Checksum,
    },
}

/// The checksum that covers the packet ID, if the frame has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Checksum {
    /// The frame has no checksum: it is UDP, and the checksum field in its header is zero.
    Unused,
    Tcp(Sum),
    Udp(Sum),
}

/// A checksum that is completed when the packet ID is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sum {
    /// The offset of the checksum in the frame.
    at: usize,
    /// The sum of everything that the checksum covers, except the packet ID.
    base: u16,
    /// Whether the packet id begins at an odd offset.
    odd: bool,
}

impl Recording {
    /// Reads the frames of a capture file.
    pub(super) fn read(path: &Path) -> Result<Self, FrameError> {
        let mut reader = CaptureReader::open(path)?;
        let mut recording =
            Self { bytes: Vec::new(), frames: Vec::new(), ends: Vec::new(), notes: Vec::new() };
        let mut stamps = Vec::new();
        loop {
            match reader.next_frame() {
                Ok(Some(frame)) => {
                    stamps.extend(frame.timestamp);
                    recording.add(path, frame.data, frame.link_type)?;
                }
                Ok(None) => break,
                Err(cut @ CaptureError::Truncated { .. }) if !recording.frames.is_empty() => {
                    let whole = recording.frames.len();
                    recording.notes.push(format!("{cut}; its {whole} whole frames are replayed"));
                    break;
                }
                Err(error) => return Err(error.into()),
            }
        }
        if recording.frames.is_empty() {
            return Err(FrameError::NoFrames { path: path.to_owned() });
        }
        if stamps.len() == recording.frames.len() {
            stamps.sort_unstable();
            recording.ends = gaps_of(&stamps).map(|gaps| ends_of(&gaps)).unwrap_or_default();
        }
        let behind =
            recording.frames.iter().filter(|frame| frame.place == IdLocation::Behind).count();
        if behind > 0 {
            recording.notes.push(format!(
                "{}: {behind} of {} frames carry their identity behind the packet; controllers \
                 that rebuild packets drop it",
                path.display(),
                recording.frames.len()
            ));
        }
        Ok(recording)
    }

    /// Returns notes on the capture for a reader of the results.
    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the index of the frame with which a switch begins. If the capture also determines
    /// when packet-ins are sent, the schedule of the switch begins at the same place in the
    /// capture.
    pub(super) fn begin(&self, share: Share) -> usize {
        match self.ends.is_empty() {
            true => share.begin_of(self.frames.len()),
            false => share.begin(&self.ends).0,
        }
    }

    /// Appends a copy of the frame whose turn it is at this sequence number, with the packet ID
    /// `id`.
    pub(super) fn write(&self, sequence: u64, id: PacketId, key: RunKey, out: &mut Vec<u8>) {
        // A recording has at least one frame.
        let turn = (sequence % self.frames.len().max(1) as u64) as usize;
        let Some(&Recorded { start, end, place }) = self.frames.get(turn) else { return };
        let begin = out.len();
        out.extend_from_slice(&self.bytes[start..end]);
        let trailer = key.trailer(id);
        let IdLocation::Payload { at, checksum } = place else {
            out.extend_from_slice(&trailer);
            return;
        };
        let frame = &mut out[begin..];
        frame[at..at + TRAILER].copy_from_slice(&trailer);
        let total = |Sum { base, odd, .. }: Sum| {
            let own = checksum::sum(&trailer);
            u64::from(base) + if odd { checksum::at_odd_offset(own) } else { own }
        };
        let (at, value) = match checksum {
            Checksum::Unused => return,
            Checksum::Tcp(sum) => (sum.at, checksum::finish(total(sum))),
            Checksum::Udp(sum) => (sum.at, checksum::finish_udp(total(sum))),
        };
        frame[at..at + 2].copy_from_slice(&value.to_be_bytes());
    }

    fn add(&mut self, path: &Path, data: &[u8], link_type: LinkType) -> Result<(), FrameError> {
        let path = || path.to_owned();
        let number = self.frames.len() + 1;
        if link_type != LinkType::ETHERNET {
            return Err(FrameError::NotEthernet { path: path(), number, link_type: link_type.0 });
        }
        let (min, max) = (ETHERNET_HEADER, MAX_FRAME_BYTES - TRAILER);
        if !(min..=max).contains(&data.len()) {
            let bytes = data.len();
            return Err(FrameError::ReplayedLength { path: path(), number, bytes, min, max });
        }
        let start = self.bytes.len();
        let end = start + data.len();
        if end > MAX_BYTES {
            return Err(FrameError::TooLarge { path: path(), max: MAX_BYTES });
        }
        self.bytes.extend_from_slice(data);
        let place = prepare(&mut self.bytes[start..]).unwrap_or(IdLocation::Behind);
        self.frames.push(Recorded { start, end, place });
        Ok(())
    }
}

/// Finds the place for the packet ID in a frame's payload, and fills it with zeros. Returns `None`
/// if the frame has too little payload.
fn prepare(frame: &mut [u8]) -> Option<IdLocation> {
    let (IPV4, ip_at) = ethertype(frame)? else { return None };
    let ip = frame.get(ip_at..)?.first_chunk::<IPV4_HEADER>()?;
    let header = usize::from(ip[0] & 0x0f) * 4;
    let total = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    let fragment = u16::from_be_bytes([ip[6], ip[7]]) & 0x3fff != 0;
    let (protocol, addresses) = (ip[9], checksum::sum(&ip[12..20]));
    if ip[0] >> 4 != 4 || header < IPV4_HEADER || fragment {
        return None;
    }
    let frame_bytes = frame.len();
    let (l4_at, end) = (ip_at + header, ip_at + total);
    let l4 = frame.get_mut(l4_at..end)?;
    let (checksum_at, payload_at) = match protocol {
        PROTOCOL_TCP => (16, usize::from(*l4.get(12)? >> 4) * 4),
        PROTOCOL_UDP => (6, UDP_HEADER),
        _ => return None,
    };
    let udp_length = usize::from(u16::from_be_bytes(*l4.get(4..)?.first_chunk()?));
    let plausible = match protocol {
        PROTOCOL_TCP => payload_at >= TCP_HEADER,
        _ => udp_length == l4.len(),
    };
    let at = l4.len().checked_sub(TRAILER).filter(|at| plausible && *at >= payload_at)?;
    if frame_bytes - end > SEARCH {
        return None;
    }
    let unused = protocol == PROTOCOL_UDP && l4.get(checksum_at..checksum_at + 2)? == [0, 0];
    l4.get_mut(at..)?.fill(0);
    if unused {
        return Some(IdLocation::Payload { at: l4_at + at, checksum: Checksum::Unused });
    }
    l4.get_mut(checksum_at..checksum_at + 2)?.fill(0);
    let base = addresses + u64::from(protocol) + l4.len() as u64 + checksum::sum(l4);
    let sum =
        Sum { at: l4_at + checksum_at, base: checksum::fold(base), odd: !at.is_multiple_of(2) };
    let checksum = if protocol == PROTOCOL_TCP { Checksum::Tcp(sum) } else { Checksum::Udp(sum) };
    Some(IdLocation::Payload { at: l4_at + at, checksum })
}
