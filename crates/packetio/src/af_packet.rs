//! Ports on interfaces of this machine, over packet sockets (packet(7)).
//!
//! A queue has two sockets. The first receives through a ring that is shared with the kernel. Along
//! with each packet, the kernel states what remains to be done: checksums, segmentation, the VLAN
//! tag ([`crate::offload`]). Packets that do not fit into a slot of the ring, mostly super-frames,
//! are queued separately. The second socket sends each burst with one system call. This is as fast
//! as a transmit ring if the kernel must copy packets anyway (as for veth), and it never waits
//! for a slot. Queueing disciplines see the packets, as Mininet's links require.
//!
//! A third socket sends super-frames in one piece, with a virtio header. It is only used if the
//! interface's queueing discipline treats a super-frame like its segments. A discipline that shapes
//! or drops packets does not, so it gets segments. The kernel segments what the device cannot.
//!
//! If an interface has several queues, the kernel selects the queue of a packet by a symmetric hash
//! of the packet's flow, which is equal for both directions.

mod batch;
mod discipline;
pub(crate) mod ring;
mod share;
mod sockets;

pub use share::RingMemory;

use crate::interface::{Interface, LinkWatch};
use crate::link::Link;
use crate::offload::{Restorer, Tag, VIRTIO_HEADER, Whole};
use crate::{Burst, Frame, OpenError, Port, PortCounters, PortDown, Queue, Transmitted, sys};
use batch::Batch;
use discipline::Discipline;
use sockets::{Group, Sockets};
use std::io::IoSliceMut;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// The number of receive calls between two checks for errors and dropped packets. The checks need
/// system calls.
const UPKEEP: u32 = 128;
/// The longest packet in bytes that can be received outside the ring: the kernel's largest
/// super-frame.
const LONGEST: usize = (512 << 10) + 256;

/// Opens an interface for a number of workers, with the largest receive rings that suit this
/// machine. An interface that is down can be opened. Its port is then down too.
///
/// # Errors
/// Returns an [`OpenError`] if there is no such Ethernet interface, or this process may not open
/// it.
pub fn open(interface: &str, queues: usize) -> Result<Port, OpenError> {
    open_with(interface, queues, RingMemory::here(queues))
}

/// Opens an interface as [`open`] does, with a receive ring of `memory` for each queue.
///
/// # Errors
/// Returns an [`OpenError`] as [`open`] does.
pub fn open_with(interface: &str, queues: usize, memory: RingMemory) -> Result<Port, OpenError> {
    let fail = |source| OpenError::System { interface: interface.to_owned(), source };
    let found = Interface::named(interface).map_err(|source| match source.raw_os_error() {
        Some(libc::ENODEV) => OpenError::NoInterface { interface: interface.to_owned() },
        _ => fail(source),
    })?;
    if !found.ethernet {
        return Err(OpenError::NotEthernet { interface: interface.to_owned() });
    }
    let counters = Arc::new(PortCounters::default());
    let group = (queues > 1).then(Group::default);
    let queue = || {
        let opened = match found.up {
            true => Sockets::open(&found, group.as_ref(), memory).map(Some),
            // Sockets on an interface that is down are useless, but this call checks the permission
            // to open them.
            false => sys::socket(libc::AF_PACKET, libc::SOCK_RAW).map(|_| None),
        };
        let sockets = opened.map_err(|source| match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => {
                OpenError::NotPermitted { interface: interface.to_owned() }
            }
            _ => fail(source),
        })?;
        let queue = PacketQueue {
            link: Link::on(&found, &counters),
            sockets,
            group: group.clone(),
            memory,
            restorer: Restorer::default(),
            batch: Batch::default(),
            discipline: None,
            whole: WholeFrames::default(),
            until_upkeep: UPKEEP,
        };
        Ok(Box::new(queue) as Box<dyn Queue>)
    };
    let queues = (0..queues.max(1)).map(|_| queue()).collect::<Result<_, OpenError>>()?;
    Ok(Port { name: interface.to_owned(), queues, counters, recording: None })
}

/// One queue of a port on packet sockets.
#[derive(Debug)]
struct PacketQueue {
    link: Link,
    /// The sockets of the queue, or `None` if the interface has been down since the port was
    /// opened.
    sockets: Option<Sockets>,
    group: Option<Group>,
    /// The size of the receive ring, which is allocated again whenever the interface is opened.
    memory: RingMemory,
    restorer: Restorer,
    batch: Batch,
    /// The interface's queueing discipline, or `None` until it is first needed.
    discipline: Option<Discipline>,
    whole: WholeFrames,
    until_upkeep: u32,
}

/// The state that determines whether a queue may send super-frames (frames of several TCP segments)
/// in one piece.
#[derive(Debug, Default)]
struct WholeFrames {
    /// A watch for changes of interfaces and queueing disciplines. It is opened when the first
    /// super-frame is sent.
    watch: Option<LinkWatch>,
    /// Whether super-frames may leave in one piece, as determined when an interface or a queueing
    /// discipline last changed.
    may_leave: bool,
    /// Whether the kernel has refused a super-frame.
    are_refused: bool,
}

impl Queue for PacketQueue {
    fn receive(&mut self, burst: &mut Burst) -> Result<usize, PortDown> {
        let (mut packets, mut bytes) = self.restorer.resume(burst);
        if let Some(sockets) = &mut self.sockets {
            let mut dropped = 0;
            while burst.room() > 0 && !self.restorer.is_pending() {
                let Some(entry) = sockets.ring.peek() else { break };
                let tag = tag(
                    entry.header.tp_status,
                    entry.header.tp_vlan_tci,
                    entry.header.tp_vlan_tpid,
                );
                let whole = entry.header.tp_snaplen >= entry.header.tp_len;
                let taken = match entry.in_front() {
                    Some(header) if whole => {
                        self.restorer.take(header, tag, entry.packet(), burst).ok()
                    }
                    _ if entry.header.tp_status & libc::TP_STATUS_COPY != 0 => {
                        take_beside(&sockets.receiving, &mut self.restorer, burst)
                    }
                    _ => None,
                };
                sockets.ring.release();
                match taken {
                    Some(taken) => (packets, bytes) = (packets + taken.0, bytes + taken.1),
                    None => dropped += 1,
                }
            }
            if dropped > 0 {
                self.link.counters.receive_dropped(dropped);
            }
        }
        self.until_upkeep -= 1;
        if self.until_upkeep == 0 {
            self.upkeep();
        }
        self.link.received(packets, bytes)
    }

    fn transmit(&mut self, packet: &[u8]) -> Transmitted {
        if let Err(refusal) = self.link.admit(packet, usize::MAX) {
            return refusal;
        }
        if self.batch.is_full() {
            self.flush();
        }
        if self.batch.push(packet) {
            return Transmitted::Taken;
        }
        self.link.refused()
    }

    fn transmit_whole(&mut self, frame: &Whole<'_>) -> bool {
        let front = frame.parts()[0];
        // The kernel does not compare the segments of super-frames with the MTU.
        if self.link.down.is_some()
            || !self.may_leave_whole()
            || !self.link.takes_length(front, frame.longest)
        {
            return false;
        }
        if self.batch.is_full() {
            self.flush();
        }
        self.batch.push_whole(frame)
    }

    fn flush(&mut self) -> bool {
        while !self.batch.is_empty()
            && let Some(sockets) = &self.sockets
        {
            let (is_whole, waiting) = self.batch.next();
            let socket = sockets.of(is_whole);
            let sent = match is_whole {
                true => sys::send_parts(socket, waiting),
                // Ordinary packets have no separate payload.
                false => sys::send_each(socket, waiting.map(|[packet, _]| packet)),
            };
            let error = match sent {
                Ok(count) => {
                    let (packets, bytes) = self.batch.leave(count);
                    self.link.counters.transmitted(packets, bytes);
                    continue;
                }
                Err(error) => error.raw_os_error().unwrap_or_default(),
            };
            match error {
                libc::EINTR => {}
                // The queue is full, so the rest waits until the next flush.
                libc::EAGAIN => break,
                libc::ENETDOWN | libc::ENXIO | libc::ENODEV => {
                    self.link.down = Some(error);
                    self.link.counters.transmit_dropped(self.batch.packets());
                    self.batch.clear();
                }
                // This kernel does not accept super-frames.
                libc::EINVAL if is_whole => {
                    (self.whole.may_leave, self.whole.are_refused) = (false, true);
                    self.send_cut();
                }
                // The MTU of the interface has been reduced.
                libc::EMSGSIZE => {
                    let (packets, _) = self.batch.leave(1);
                    self.link.counters.bad_length(packets);
                    self.link.read_mtu();
                }
                // ENOBUFS means that a full queue of the card or the discipline dropped the packet.
                _ => {
                    let (packets, _) = self.batch.leave(1);
                    self.link.counters.transmit_dropped(packets);
                }
            }
        }
        self.batch.is_empty()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.sockets.as_ref().map(|sockets| sockets.receiving.as_fd())
    }

    fn waiting(&mut self) -> Option<u32> {
        let behind = self.discipline()?.waiting()?;
        Some(behind + self.batch.packets() as u32)
    }

    fn reopen(&mut self) -> bool {
        let Ok(interface) = Interface::named(&self.link.name) else { return false };
        if !interface.up {
            return false;
        }
        self.link.mtu = interface.mtu as usize;
        if let Some(sockets) = &self.sockets
            && sockets.are_on(&interface)
        {
            // The pending error dates from the time when the interface was down.
            let _ = sys::pending_error(&sockets.receiving);
            self.link.down = None;
            return true;
        }
        let opened = Sockets::open(&interface, self.group.as_ref(), self.memory);
        let Ok(sockets) = opened else { return false };
        self.read_drops();
        self.sockets = Some(sockets);
        (self.discipline, self.whole) = (None, WholeFrames::default());
        self.link.down = None;
        true
    }
}

impl PacketQueue {
    fn discipline(&mut self) -> Option<&mut Discipline> {
        if self.discipline.is_none() {
            let bound = sys::bound_interface(&self.sockets.as_ref()?.transmitting).ok()??;
            self.discipline = Discipline::of(bound).ok();
        }
        self.discipline.as_mut()
    }

    /// Returns whether super-frames may leave in one piece: the socket for them is open, and the
    /// queueing discipline treats a super-frame like its segments.
    fn may_leave_whole(&mut self) -> bool {
        let has_changed = self.whole.watch.as_mut().is_none_or(LinkWatch::changed);
        if has_changed && !self.whole.are_refused {
            if self.whole.watch.is_none() {
                self.whole.watch = LinkWatch::with_disciplines().ok();
            }
            self.link.read_mtu();
            self.whole.may_leave = self.discipline().is_some_and(Discipline::takes_super_frames)
                && self.sockets.as_mut().is_some_and(Sockets::open_whole);
        }
        self.whole.may_leave
    }

    /// Cuts the next super-frame into segments and sends them.
    fn send_cut(&mut self) {
        let Some(sockets) = &self.sockets else { return };
        let (mut restorer, mut burst) = (Restorer::default(), Burst::new(batch::BATCH));
        let counters = &self.link.counters;
        let Some(packet) = self.batch.next().1.next().map(|parts| parts.concat()) else { return };
        let Some((header, packet)) = packet.split_first_chunk() else { return };
        let mut cut = restorer.take(header, None, packet, &mut burst).unwrap_or_default();
        while cut.0 > 0 {
            let frames = burst.frames();
            let sent = sys::send_each(&sockets.transmitting, frames.iter().map(Frame::bytes));
            let (sent, dropped) = frames.split_at(sent.unwrap_or(0).min(frames.len()));
            let bytes = sent.iter().map(|frame| frame.bytes().len() as u64).sum();
            counters.transmitted(sent.len() as u64, bytes);
            counters.transmit_dropped(dropped.len() as u64);
            burst.clear();
            cut = restorer.resume(&mut burst);
        }
        self.batch.leave(1);
    }

    fn upkeep(&mut self) {
        self.until_upkeep = UPKEEP;
        self.read_drops();
        if let Some(sockets) = &self.sockets
            && let Err(error) = sys::pending_error(&sockets.receiving)
        {
            self.link.down = error.raw_os_error();
        }
    }

    /// Counts the packets that the kernel has dropped since the last call because the ring was
    /// full.
    fn read_drops(&self) {
        let Some(sockets) = &self.sockets else { return };
        let (level, name) = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
        if let Ok(seen) = sys::option::<libc::tpacket_stats>(&sockets.receiving, level, name)
            && seen.tp_drops > 0
        {
            self.link.counters.receive_dropped(u64::from(seen.tp_drops));
        }
    }
}

impl Drop for PacketQueue {
    fn drop(&mut self) {
        self.flush();
        self.read_drops();
    }
}

/// Receives a packet that the kernel has queued separately, because it did not fit into the ring.
/// Returns the number of frames that were moved into the burst and the sum of their lengths, or
/// `None` if no packet could be received.
fn take_beside(
    socket: impl AsFd,
    restorer: &mut Restorer,
    burst: &mut Burst,
) -> Option<(u64, u64)> {
    let mut header = [0; VIRTIO_HEADER];
    // The pages of this buffer are only allocated when a packet is written to them.
    let room = restorer.room(LONGEST);
    let parts = &mut [IoSliceMut::new(&mut header), IoSliceMut::new(room)];
    let received = sys::receive_copy(socket, parts).ok().filter(|received| !received.truncated)?;
    let auxiliary = received.auxiliary?;
    let tag = tag(auxiliary.tp_status, auxiliary.tp_vlan_tci, auxiliary.tp_vlan_tpid);
    let length = received.length.checked_sub(VIRTIO_HEADER)?;
    restorer.take_received(&header, tag, length, burst).ok()
}

/// Returns the VLAN tag that the kernel removed from a received frame, if it removed one.
pub(crate) fn tag(status: u32, control: u16, protocol: u16) -> Option<Tag> {
    let protocol = if status & libc::TP_STATUS_VLAN_TPID_VALID != 0 { protocol } else { 0x8100 };
    (status & libc::TP_STATUS_VLAN_VALID != 0).then_some(Tag { protocol, control })
}
