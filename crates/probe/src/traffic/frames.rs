//! Generates the frames in the packet-ins of one switch.
//!
//! A template is a complete valid frame whose variable fields are zero, together with the checksums
//! without these fields. A frame is a copy of the template into which addresses, ports, the IPv4
//! identification, the packet ID and the completed checksums are written. Its cost therefore does
//! not depend on the kind of frame, and hardly on its length.
//!
//! The shortest TCP SYN has 66 bytes: Ethernet 14, IPv4 20, TCP 20 and 12 bytes of options. The
//! options are two no-operations and the time stamp option (RFC 7323, appendix A), which contains
//! the packet ID. The second half of the time stamp option, TSecr, has no meaning without an ACK
//! (section 3.2). Longer SYNs have no options and carry data, as RFC 9293, section 3.10.7.2,
//! allows. Data and UDP payload are zero up to the packet ID at the end.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::addresses::{Draws, End, MacAddress, serial_ip, serial_mac, serial_port};
use super::checksum;
use super::error::FrameError;
use super::hosts::{self, Host, Hosts};
use super::id::{PacketId, RunKey, TRAILER};
use super::replay::Recording;
use crate::config::{Addresses, Frame, Generator, MAX_FRAME_BYTES, Switches, Traffic};
use crate::schedule::Share;
use crate::topology::Port;

/// The frame lengths that RFC 8456, section 4.2, recommends, in bytes.
pub const RFC8456_FRAME_BYTES: [usize; 3] = [128, 512, 1508];
pub(super) const ETHERNET_HEADER: usize = 14;
/// The offset of the TCP or UDP header in a frame without VLAN tags.
const L4: usize = 34;
/// The length of the headers up to and including the TCP or UDP ports.
const ADDRESSED: usize = 38;
const TCP_SEQUENCE: usize = 38;
const TCP_CHECKSUM: usize = 50;
const UDP_CHECKSUM: usize = 40;
pub(super) const PROTOCOL_TCP: u8 = 6;
pub(super) const PROTOCOL_UDP: u8 = 17;

/// Checks the configured length of frames that are generated. Captured frames keep their own
/// length.
///
/// # Errors
///
/// Returns an error if no frame of this kind can have the length. The error contains the possible
/// lengths.
pub fn check_frame_bytes(frame: &Frame, bytes: usize) -> Result<(), FrameError> {
    let Some(min) = frame.least_bytes() else { return Ok(()) };
    if (min..=MAX_FRAME_BYTES).contains(&bytes) {
        return Ok(());
    }
    let kind = if *frame == Frame::TcpSyn { "TCP SYN" } else { "UDP" };
    Err(FrameError::Length { kind, bytes, min, max: MAX_FRAME_BYTES })
}

/// The frames that the switches of a run send: the configured kinds and the captures that were
/// read.
#[derive(Clone, Debug)]
pub struct FramePlan {
    addresses: Addresses,
    contents: Vec<Content>,
    /// The index in `contents` of each switch's content (empty if all switches use the first
    /// content).
    of_switch: Vec<usize>,
    /// The position of each switch among the switches with the same content. Switches that replay
    /// the same capture begin at different frames.
    sharing: Vec<Share>,
    notes: Vec<String>,
}

/// The source of a switch's frames: a template, or a capture.
#[derive(Clone, Debug)]
enum Content {
    Template(Arc<Template>),
    Recording(Arc<Recording>),
}

/// The generator of the frames of one switch.
#[derive(Clone, Debug)]
pub struct FrameSource {
    switch: u32,
    key: RunKey,
    draws: Draws,
    addresses: Addresses,
    content: Content,
    /// The index of the frame in the capture with which the switch begins.
    begin: u64,
    hosts: Hosts,
    peers: Peers,
    /// Whether several hosts of the switch are attached to the same port.
    ports_are_shared: bool,
}

/// The hosts to which the hosts of a switch send packets, as a range of host numbers that are
/// unique in the run.
#[derive(Clone, Copy, Debug)]
struct Peers {
    first: u32,
    count: u32,
}

/// A frame whose variable fields are zero, with the checksums of its constant bytes and the offsets
/// of the fields.
#[derive(Debug)]
struct Template {
    bytes: Vec<u8>,
    ip_sum: u64,
    l4_sum: u64,
    check_at: usize,
    checksum_at: usize,
    udp: bool,
    /// Whether the check word and the tag, which identify the packet-in, begin at an odd offset.
    odd: bool,
}

/// The variable fields of a frame, except its packet ID.
struct Fields {
    source_mac: MacAddress,
    destination_mac: MacAddress,
    source_ip: u32,
    destination_ip: u32,
    source_port: u16,
    destination_port: u16,
    identification: u16,
}

impl FramePlan {
    /// Checks the configured frames, and reads the captures that are replayed. If overrides for
    /// single switches overlap, the later one applies.
    ///
    /// # Errors
    ///
    /// Returns an error if frames of the configured length cannot be generated, if there are too
    /// few hosts or too many switches, or if a capture cannot be read or its frames cannot be sent.
    pub fn new(traffic: &Traffic, switches: &Switches) -> Result<Self, FrameError> {
        if switches.count > PacketId::MAX_SWITCHES {
            return Err(FrameError::TooManySwitches(switches.count));
        }
        let addresses = traffic.addresses;
        let generated = matches!(traffic.frame, Frame::TcpSyn | Frame::Udp);
        let between_hosts = addresses.known_destinations
            || [addresses.mac, addresses.ip, addresses.port].contains(&Generator::Hosts);
        let hosts = u64::from(switches.count) * u64::from(switches.hosts);
        if generated && between_hosts && hosts < 2 {
            return Err(FrameError::TooFewHosts);
        }
        let mut plan = Self {
            addresses,
            contents: Vec::new(),
            of_switch: Vec::new(),
            sharing: Vec::new(),
            notes: Vec::new(),
        };
        let mut known = HashMap::new();
        match &traffic.frame {
            Frame::Replay(path) => {
                plan.add_recording(path, &mut known)?;
            }
            frame => {
                check_frame_bytes(frame, traffic.frame_bytes)?;
                let template = Template::new(matches!(frame, Frame::Udp), traffic.frame_bytes);
                plan.contents.push(Content::Template(Arc::new(template)));
            }
        }
        for change in &switches.overrides {
            let Some(path) = &change.replay else { continue };
            let content = plan.add_recording(path, &mut known)?;
            plan.of_switch.resize(switches.count as usize, 0);
            let to = (change.last as usize).saturating_add(1).min(plan.of_switch.len());
            plan.of_switch.get_mut(change.first as usize..to).unwrap_or_default().fill(content);
        }
        let content_of = |switch| plan.of_switch.get(switch).copied().unwrap_or(0);
        plan.sharing = Share::of((0..switches.count as usize).map(content_of));
        Ok(plan)
    }

    /// Returns notes on replayed captures for a reader of the results.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the generator of one switch's frames, or `None` if there is no such switch. The
    /// frames contain a check word that depends on `key`, so that they are not mistaken for those
    /// of other trials.
    pub fn source(
        &self,
        switch: u32,
        hosts: &Hosts,
        seed: u64,
        key: RunKey,
    ) -> Option<FrameSource> {
        let content =
            self.contents.get(self.of_switch.get(switch as usize).copied().unwrap_or(0))?;
        let share = self.sharing.get(switch as usize).copied().unwrap_or_default();
        Some(FrameSource {
            switch,
            begin: match content {
                Content::Recording(recording) => recording.begin(share) as u64,
                Content::Template(_) => 0,
            },
            key,
            draws: Draws::new(seed),
            addresses: self.addresses,
            content: content.clone(),
            hosts: hosts.clone(),
            peers: Peers::of(switch, hosts),
            ports_are_shared: hosts.share_ports(switch),
        })
    }

    /// Returns the index in `contents` of a capture, which is read first unless it was read before.
    fn add_recording(
        &mut self,
        path: &PathBuf,
        known: &mut HashMap<PathBuf, usize>,
    ) -> Result<usize, FrameError> {
        if let Some(place) = known.get(path) {
            return Ok(*place);
        }
        let recording = Recording::read(path)?;
        self.notes.extend_from_slice(recording.notes());
        self.contents.push(Content::Recording(Arc::new(recording)));
        let place = self.contents.len() - 1;
        known.insert(path.clone(), place);
        Ok(place)
    }
}

impl FrameSource {
    /// Appends the next frame to `out`, and returns the port at which the frame enters the switch.
    ///
    /// The frame depends only on `sequence` and on the parameters of the source.
    pub fn next(&mut self, sequence: u64, out: &mut Vec<u8>) -> Port {
        let id = PacketId { switch: self.switch, sequence };
        let own = self.hosts.per_switch();
        // Packet-ins come from the hosts of the switch in turn, or from its ports if it has no
        // hosts.
        let turn = if own == 0 { sequence as u32 } else { (sequence % u64::from(own)) as u32 };
        match &self.content {
            Content::Recording(recording) => {
                recording.write(sequence.wrapping_add(self.begin), id, self.key, out);
            }
            Content::Template(template) => {
                let fields = self.fields(sequence, turn);
                template.write(&fields, self.key.words(id), out);
            }
        }
        self.hosts.port(self.switch, turn)
    }

    /// Returns the variable fields of the frame with the given sequence number. `turn` is the
    /// number of the host that sends it.
    fn fields(&self, sequence: u64, turn: u32) -> Fields {
        let own = self.hosts.per_switch();
        let source = self.switch.wrapping_mul(own).wrapping_add(turn);
        let round = sequence / u64::from(own.max(1));
        let destination = self.destination(source, round);
        // This number differs for every packet-in of every switch.
        let serial = sequence
            .wrapping_mul(u64::from(self.hosts.switches()))
            .wrapping_add(u64::from(self.switch));
        let by = |generator, end| match (generator, end, self.addresses.known_destinations) {
            (_, End::Destination, true) => Generator::Hosts,
            (generator, ..) => generator,
        };
        let mac = |end, host| match by(self.addresses.mac, end) {
            Generator::Hosts => hosts::mac(host),
            Generator::Serial => serial_mac(end, serial),
            Generator::Random => self.draws.mac(end, serial),
        };
        let ip = |end, host| match by(self.addresses.ip, end) {
            Generator::Hosts => hosts::ip(host),
            Generator::Serial => serial_ip(end, serial),
            Generator::Random => self.draws.ip(end, serial),
        };
        let port = |end, host| match by(self.addresses.port, end) {
            Generator::Hosts => hosts::l4_port(host),
            // Every packet of a host has a new port, and hosts differ in their addresses, so every
            // flow is new.
            Generator::Serial => serial_port(end, round),
            Generator::Random => self.draws.port(end, serial),
        };
        Fields {
            source_mac: mac(End::Source, source),
            destination_mac: mac(End::Destination, destination),
            source_ip: ip(End::Source, source).to_bits(),
            destination_ip: ip(End::Destination, destination).to_bits(),
            source_port: port(End::Source, source),
            destination_port: port(End::Destination, destination),
            identification: sequence as u16,
        }
    }
}

impl FrameSource {
    /// Returns the number of the host to which the host `source` sends in a round. In successive
    /// rounds it is each other host in turn, except for the hosts behind the same port as the
    /// source. No switch would see a packet to such a host, and controllers ignore such packets.
    fn destination(&self, source: u32, round: u64) -> u32 {
        let first = self.peers.of_host(source, round);
        if !self.ports_are_shared || !self.hosts.are_on_one_port(source, first) {
            return first;
        }
        (1..=u64::from(self.hosts.per_switch()))
            .map(|further| self.peers.of_host(source, round.wrapping_add(further)))
            .find(|peer| !self.hosts.are_on_one_port(source, *peer))
            .unwrap_or(first)
    }
}

impl Peers {
    /// Returns the hosts to which the hosts of a switch send packets: all hosts if the switches are
    /// linked or this switch has fewer than two hosts, and otherwise the hosts of this switch.
    fn of(switch: u32, hosts: &Hosts) -> Self {
        let own = hosts.per_switch();
        if hosts.switches_are_linked() || own < 2 {
            Self { first: 0, count: hosts.count() }
        } else {
            Self { first: switch.saturating_mul(own), count: own }
        }
    }

    /// Returns the number of the host to which `host` sends in a round. In successive rounds it is
    /// each other host once.
    fn of_host(self, host: u32, round: u64) -> u32 {
        let others = u64::from(self.count).saturating_sub(1).max(1);
        let own = u64::from(host.wrapping_sub(self.first));
        let peer = (own + 1 + round % others) % u64::from(self.count.max(1));
        self.first.wrapping_add(peer as u32)
    }
}

/// A generator of UDP packets from one host to another, each of which carries a packet ID.
#[derive(Clone, Debug)]
pub(crate) struct PathFrames {
    template: Arc<Template>,
    key: RunKey,
}

impl PathFrames {
    /// Creates a generator of packets of `bytes` bytes. A length outside the possible ones is
    /// replaced by the nearest possible length.
    pub(crate) fn new(bytes: usize, key: RunKey) -> Self {
        let bytes = bytes.clamp(Frame::MIN_UDP_BYTES, MAX_FRAME_BYTES);
        Self { template: Arc::new(Template::new(true, bytes)), key }
    }

    /// Returns a packet from one host to another.
    pub(crate) fn between(&self, from: &Host, to: &Host, id: PacketId) -> Vec<u8> {
        let fields = Fields {
            source_mac: from.mac,
            destination_mac: to.mac,
            source_ip: from.ip.to_bits(),
            destination_ip: to.ip.to_bits(),
            source_port: from.l4_port,
            destination_port: to.l4_port,
            identification: id.sequence as u16,
        };
        let mut frame = Vec::new();
        self.template.write(&fields, self.key.words(id), &mut frame);
        frame
    }
}

impl Template {
    /// Creates a template for UDP packets or TCP SYNs of `length` bytes, which the caller must have
    /// checked.
    fn new(udp: bool, length: usize) -> Self {
        let with_options = !udp && length == Frame::SYN_BYTES;
        let l4_bytes = length - L4;
        let mut bytes = vec![0; length];
        bytes[12..14].copy_from_slice(&[0x08, 0x00]);
        // IPv4 with a header of 20 bytes, the flag "do not fragment", and a TTL of 64.
        bytes[14] = 0x45;
        bytes[16..18].copy_from_slice(&((length - ETHERNET_HEADER) as u16).to_be_bytes());
        bytes[20] = 0x40;
        bytes[22] = 64;
        bytes[23] = if udp { PROTOCOL_UDP } else { PROTOCOL_TCP };
        if udp {
            bytes[38..40].copy_from_slice(&(l4_bytes as u16).to_be_bytes());
        } else {
            // The header length in words of 32 bits, the SYN flag, and a window of 65535.
            bytes[46] = if with_options { 8 << 4 } else { 5 << 4 };
            bytes[47] = 0x02;
            bytes[48..50].copy_from_slice(&[0xff, 0xff]);
        }
        if with_options {
            // Two no-operations, followed by the time stamp option of 10 bytes.
            bytes[54..58].copy_from_slice(&[1, 1, 8, 10]);
        }
        let pseudo_header = u64::from(bytes[23]) + l4_bytes as u64;
        Self {
            ip_sum: checksum::sum(&bytes[ETHERNET_HEADER..L4]),
            l4_sum: checksum::sum(&bytes[L4..]) + pseudo_header,
            check_at: if with_options { TCP_SEQUENCE } else { length - TRAILER },
            checksum_at: if udp { UDP_CHECKSUM } else { TCP_CHECKSUM },
            udp,
            // The TCP sequence number and the time stamp option are at even offsets.
            odd: !length.is_multiple_of(2),
            bytes,
        }
    }

    /// Appends a frame with these fields to `out`. The tag and the check word are the packet ID.
    fn write(&self, fields: &Fields, (tag, check): (u64, u32), out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        let frame = &mut out[start..];
        let addresses = u64::from(fields.source_ip) + u64::from(fields.destination_ip);
        let ports = u64::from(fields.source_port) + u64::from(fields.destination_port);
        let identity = checksum::wide(tag) + u64::from(check);
        let identity = if self.odd { checksum::at_odd_offset(identity) } else { identity };
        let ip_sum = self.ip_sum + u64::from(fields.identification) + addresses;
        let l4_sum = self.l4_sum + addresses + ports + identity;
        let l4_checksum =
            if self.udp { checksum::finish_udp(l4_sum) } else { checksum::finish(l4_sum) };
        if let Some(head) = frame.first_chunk_mut::<ADDRESSED>() {
            head[..6].copy_from_slice(&fields.destination_mac.0);
            head[6..12].copy_from_slice(&fields.source_mac.0);
            head[18..20].copy_from_slice(&fields.identification.to_be_bytes());
            head[24..26].copy_from_slice(&checksum::finish(ip_sum).to_be_bytes());
            head[26..30].copy_from_slice(&fields.source_ip.to_be_bytes());
            head[30..34].copy_from_slice(&fields.destination_ip.to_be_bytes());
            head[34..36].copy_from_slice(&fields.source_port.to_be_bytes());
            head[36..38].copy_from_slice(&fields.destination_port.to_be_bytes());
        }
        frame[self.check_at..self.check_at + 4].copy_from_slice(&check.to_be_bytes());
        if let Some(end) = frame.last_chunk_mut() {
            *end = tag.to_be_bytes();
        }
        frame[self.checksum_at..self.checksum_at + 2].copy_from_slice(&l4_checksum.to_be_bytes());
    }
}
