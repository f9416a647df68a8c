//! Ports on network interfaces, over XDP sockets (Documentation/networking/af_xdp.rst in the source
//! of Linux).
//!
//! A BPF program on the interface redirects each packet to the socket of its receive queue, before
//! the network stack of the kernel processes the packet, and without a copy if the driver supports
//! that. The network card distributes flows over its receive queues, and thereby over the workers.
//!
//! XDP reports neither VLAN tags that the card has removed, nor merged packets, nor partial
//! checksums. While the port is open, this module therefore disables the removal of tags and, in
//! the generic path, the merging of packets. Partial checksums, which senders on the same machine
//! leave to a network card, are completed here. Three limitations remain, which a packet socket
//! does not have:
//!
//! * A VLAN tag is lost if the sender at the other end of a veth pair leaves its insertion to the
//!   device, as a VLAN interface at that end does.
//! * Frames of more than about 3,500 bytes are refused.
//! * Transmitted packets pass no queueing discipline.

mod program;
mod ring;
mod socket;

use crate::interface::{Interface, OffloadsOff, driver, receive_queues};
use crate::link::Link;
use crate::offload::complete_checksum;
use crate::{Burst, OpenError, Port, PortCounters, PortDown, Queue, Transmitted, sys};
use program::{Mode, Program};
use rustix::event::epoll;
use socket::Socket;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The largest length in bytes of an Ethernet header, which is that with one VLAN tag.
const LONGEST_HEADER: usize = 18;
/// The number of receive calls between two checks of the interface and of dropped packets. The
/// checks need system calls, which would be too slow for every receive call.
const UPKEEP: u32 = 128;

/// Opens an interface with one queue for each worker, in the kernel's generic path if `generic`,
/// and in the driver's native path otherwise.
///
/// # Errors
/// Returns an [`OpenError`] if there is no such Ethernet interface, its driver does not support
/// XDP, it has fewer queues than there are workers, or this process may not open it.
pub fn open(interface: &str, generic: bool, workers: usize) -> Result<Port, OpenError> {
    let name = || interface.to_owned();
    let found = Interface::named(interface).map_err(|source| match source.raw_os_error() {
        Some(libc::ENODEV) => OpenError::NoInterface { interface: name() },
        _ => OpenError::System { interface: name(), source },
    })?;
    if !found.ethernet {
        return Err(OpenError::NotEthernet { interface: name() });
    }
    let workers = workers.max(1);
    let queues = receive_queues(interface);
    if workers > queues as usize {
        return Err(OpenError::TooFewQueues { interface: name(), queues, workers });
    }
    let mode = if generic { Mode::Generic } else { Mode::Native };
    let shared = Arc::new(Shared { interface: name(), mode, workers, open: Mutex::default() });
    let counters = Arc::new(PortCounters::default());
    let queue = |worker| {
        let sockets = if found.up { Some(open_soon(&found, worker, &shared)) } else { None };
        let sockets = sockets.transpose().map_err(|source| explain(interface, source))?;
        let queue = XdpQueue {
            shared: Arc::clone(&shared),
            worker,
            link: Link::on(&found, &counters),
            sockets,
            until_upkeep: UPKEEP,
        };
        Ok(Box::new(queue) as Box<dyn Queue>)
    };
    let queues = (0..workers).map(queue).collect::<Result<_, OpenError>>()?;
    Ok(Port { name: name(), queues, counters, recording: None })
}

/// Opens the sockets of a worker. Retries for a while, because the kernel releases the queues of a
/// process that has just ended only after some time.
fn open_soon(interface: &Interface, worker: usize, shared: &Shared) -> io::Result<Sockets> {
    for _ in 0..50 {
        match Sockets::open(interface, worker, shared) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                thread::sleep(Duration::from_millis(2));
            }
            other => return other,
        }
    }
    Sockets::open(interface, worker, shared)
}

fn explain(interface: &str, source: io::Error) -> OpenError {
    let interface = interface.to_owned();
    match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => OpenError::NotPermitted { interface },
        Some(libc::EOPNOTSUPP) => OpenError::NoXdp { interface },
        Some(libc::EBUSY | libc::EEXIST) => OpenError::Taken { interface },
        Some(libc::ERANGE | libc::EMSGSIZE) => {
            OpenError::TooLong { interface, longest: LONGEST_MTU }
        }
        _ => OpenError::System { interface, source },
    }
}

/// The MTU in bytes that error messages recommend. Frames of this MTU fit into a page together with
/// the headroom of any driver, of which veth has the largest.
const LONGEST_MTU: usize = 3400;

/// The state that is common to the queues of a port.
#[derive(Debug)]
struct Shared {
    interface: String,
    mode: Mode,
    workers: usize,
    /// The program that is attached to the interface, and the interface's offloads. If the
    /// interface is removed and added again, they still refer to the removed interface until the
    /// first queue is reopened.
    open: Mutex<Option<Arc<Attached>>>,
}

/// An XDP program that is attached to an interface, and the receive offloads that stay disabled as
/// long as it is attached.
#[derive(Debug)]
struct Attached {
    ifindex: u32,
    queues: u32,
    program: Program,
    _offloads: OffloadsOff,
}

impl Shared {
    fn attach(&self, interface: &Interface) -> io::Result<Arc<Attached>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(attached) = open.as_ref().filter(|there| there.ifindex == interface.index) {
            return Ok(Arc::clone(attached));
        }
        let queues = receive_queues(&interface.name);
        let offloads = OffloadsOff::on(interface, self.mode == Mode::Generic)?;
        let program = Program::attach(interface.index, queues, self.mode)?;
        let ifindex = interface.index;
        let attached = Arc::new(Attached { ifindex, queues, program, _offloads: offloads });
        *open = Some(Arc::clone(&attached));
        Ok(attached)
    }
}

/// The open sockets of a worker.
#[derive(Debug)]
struct Sockets {
    /// One socket for each interface queue of the worker. The first one also sends.
    sockets: Vec<Socket>,
    /// The index of the socket from which the latest receive call read first.
    turn: usize,
    /// Whether packets may have partial checksums, because their senders leave checksums to a
    /// network card.
    partial: bool,
    attached: Arc<Attached>,
    /// An epoll descriptor that covers all sockets of the worker.
    poll: OwnedFd,
}

impl Sockets {
    fn open(interface: &Interface, worker: usize, shared: &Shared) -> io::Result<Self> {
        let longest = interface.mtu as usize + LONGEST_HEADER;
        if longest > socket::LONGEST {
            return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
        }
        let attached = shared.attach(interface)?;
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut sockets = Vec::new();
        for queue in (worker as u32..attached.queues).step_by(shared.workers) {
            let socket = Socket::open(interface.index, queue, longest)?;
            attached.program.redirect(queue, &socket)?;
            let data = epoll::EventData::new_u64(u64::from(queue));
            epoll::add(&poll, &socket, data, epoll::EventFlags::IN)?;
            sockets.push(socket);
        }
        let partial = shared.mode == Mode::Generic
            || driver(&interface.name).is_ok_and(|name| matches!(&*name, "veth" | "tun"));
        Ok(Self { sockets, turn: 0, partial, attached, poll })
    }
}

/// One queue of a port on XDP sockets.
#[derive(Debug)]
struct XdpQueue {
    shared: Arc<Shared>,
    worker: usize,
    link: Link,
    /// The sockets of the worker. They are `None` until the interface is up, and while it cannot be
    /// opened again.
    sockets: Option<Sockets>,
    until_upkeep: u32,
}

impl Queue for XdpQueue {
    fn receive(&mut self, burst: &mut Burst) -> Result<usize, PortDown> {
        let (mut packets, mut bytes) = (0, 0);
        if let Some(open) = &mut self.sockets {
            let partial = open.partial;
            let count = open.sockets.len();
            // Each call begins with another socket, so that a full burst does not always exclude
            // the same sockets.
            open.turn = (open.turn + 1) % count.max(1);
            let (after, first) = open.sockets.split_at_mut(open.turn);
            for socket in first.iter_mut().chain(after) {
                let (more_packets, more_bytes) = socket.receive(burst, |frame| {
                    if partial {
                        complete_checksum(frame);
                    }
                });
                (packets, bytes) = (packets + more_packets, bytes + more_bytes);
            }
        }
        self.until_upkeep -= 1;
        if self.until_upkeep == 0 {
            self.upkeep();
        }
        self.link.received(packets, bytes)
    }

    fn transmit(&mut self, packet: &[u8]) -> Transmitted {
        // The MTU may have been raised since the sockets were opened, but a packet must also fit
        // into a chunk of their memory.
        let sender = self.sockets.as_ref().and_then(|open| open.sockets.first());
        let longest = sender.map_or(usize::MAX, Socket::longest);
        if let Err(refusal) = self.link.admit(packet, longest) {
            return refusal;
        }
        for attempt in 0..2 {
            let sender = self.sockets.as_mut().and_then(|open| open.sockets.first_mut());
            if sender.is_some_and(|socket| socket.transmit(packet)) {
                return Transmitted::Taken;
            }
            if attempt == 0 {
                self.flush();
            }
        }
        self.link.refused()
    }

    fn flush(&mut self) -> bool {
        let sender = self.sockets.as_mut().and_then(|open| open.sockets.first_mut());
        match sender.map(|socket| socket.flush(&self.link.counters)) {
            Some(Ok(everything)) => everything,
            Some(Err(error)) => {
                self.link.down = Some(error.raw_os_error().unwrap_or(libc::ENETDOWN));
                true
            }
            None => true,
        }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.sockets.as_ref().map(|open| open.poll.as_fd())
    }

    fn reopen(&mut self) -> bool {
        let Ok(interface) = Interface::named(&self.shared.interface) else { return false };
        if !interface.up {
            return false;
        }
        self.link.mtu = interface.mtu as usize;
        let same = |open: &Sockets| {
            open.attached.ifindex == interface.index
                && open.sockets.iter().all(|socket| sys::pending_error(socket).is_ok())
        };
        if !self.sockets.as_ref().is_some_and(same) {
            self.read_drops();
            // A queue of an interface accepts only one socket, so the old sockets are closed first.
            self.sockets = None;
            let opened = Sockets::open(&interface, self.worker, &self.shared);
            let Ok(sockets) = opened else { return false };
            self.sockets = Some(sockets);
        }
        self.link.down = None;
        true
    }
}

impl XdpQueue {
    fn upkeep(&mut self) {
        self.until_upkeep = UPKEEP;
        self.read_drops();
        match Interface::named(&self.shared.interface) {
            Ok(interface) => {
                let same = |open: &Sockets| open.attached.ifindex == interface.index;
                if !interface.up || !self.sockets.as_ref().is_some_and(same) {
                    self.link.down = Some(libc::ENETDOWN);
                }
            }
            Err(error) => self.link.down = error.raw_os_error(),
        }
    }

    fn read_drops(&mut self) {
        let Some(open) = &mut self.sockets else { return };
        let dropped = open.sockets.iter_mut().map(Socket::drops).sum();
        if dropped > 0 {
            self.link.counters.receive_dropped(dropped);
        }
    }
}

impl Drop for XdpQueue {
    fn drop(&mut self) {
        self.flush();
        self.read_drops();
    }
}
