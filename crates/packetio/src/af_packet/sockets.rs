//! The packet sockets of one queue of a port.

use super::ring::Ring;
use super::share::RingMemory;
use crate::interface::Interface;
use crate::sys::{self, set_option};
use libc::{SOL_PACKET, SOL_SOCKET};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

/// The fanout group of the queues that share an interface: the kernel distributes flows over the
/// group's sockets. If the interface is removed and added again, its index changes, and its queues
/// form a new group.
#[derive(Clone, Debug, Default)]
pub(super) struct Group(Arc<Mutex<Option<Member>>>);

/// The fanout group of one interface, by the kernel's id.
#[derive(Clone, Copy, Debug)]
struct Member {
    ifindex: u32,
    id: u16,
}

/// The open sockets of a queue.
#[derive(Debug)]
pub(super) struct Sockets {
    /// The receive ring. It is declared before its socket, so that it is unmapped first.
    pub(super) ring: Ring,
    pub(super) receiving: OwnedFd,
    /// A socket that receives nothing and sends packets without a virtio header.
    pub(super) transmitting: OwnedFd,
    /// A socket that receives nothing and sends packets with a virtio header. It is opened for the
    /// first super-frame.
    whole: Option<OwnedFd>,
    ifindex: u32,
}

impl Sockets {
    /// Opens the sockets on an interface that is up. If several queues form a group, all packets of
    /// a flow arrive at one queue of the group.
    pub(super) fn open(
        interface: &Interface,
        group: Option<&Group>,
        memory: RingMemory,
    ) -> io::Result<Self> {
        let receiving = sys::socket(libc::AF_PACKET, libc::SOCK_RAW)?;
        let option = |name, value: libc::c_int| set_option(&receiving, SOL_PACKET, name, value);
        option(libc::PACKET_IGNORE_OUTGOING, 1)?;
        option(libc::PACKET_VNET_HDR, 1)?;
        // Packets that do not fit into a slot are queued on the socket, together with auxiliary
        // data.
        option(libc::PACKET_AUXDATA, 1)?;
        option(libc::PACKET_COPY_THRESH, 1)?;
        set_option(&receiving, SOL_SOCKET, libc::SO_RCVBUFFORCE, 16 << 20)?;
        let ring = Ring::new(&receiving, interface.mtu as usize + 18, memory)?;
        // Until the socket has joined its group, it would receive packets for other queues of the
        // group.
        sys::refuse_all(&receiving)?;
        sys::bind_packet(&receiving, libc::ETH_P_ALL as u16, interface.index)?;
        if let Some(group) = group {
            group.join(&receiving, interface.index)?;
        }
        set_option(&receiving, SOL_SOCKET, libc::SO_DETACH_FILTER, 0)?;
        let promiscuous = libc::packet_mreq {
            mr_ifindex: interface.index.cast_signed(),
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set_option(&receiving, SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, promiscuous)?;
        let transmitting = transmitting(interface.index)?;
        Ok(Self { ring, receiving, transmitting, whole: None, ifindex: interface.index })
    }

    /// Returns the socket that sends super-frames (if `is_whole`), or the socket that sends other
    /// packets.
    pub(super) fn of(&self, is_whole: bool) -> &OwnedFd {
        let whole = self.whole.as_ref().filter(|_| is_whole);
        whole.unwrap_or(&self.transmitting)
    }

    /// Opens the socket that sends super-frames, unless it is open. Returns whether it is open.
    pub(super) fn open_whole(&mut self) -> bool {
        if self.whole.is_none() {
            let opened = transmitting(self.ifindex).and_then(|socket| {
                set_option(&socket, SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
                Ok(socket)
            });
            self.whole = opened.ok();
        }
        self.whole.is_some()
    }

    /// Returns whether the sockets are bound to this interface, and not to an earlier one with the
    /// same name.
    pub(super) fn are_on(&self, interface: &Interface) -> bool {
        matches!(sys::bound_interface(&self.receiving), Ok(Some(index)) if index == interface.index)
    }
}

/// Opens a socket that receives nothing, for sending through the interface.
fn transmitting(ifindex: u32) -> io::Result<OwnedFd> {
    let socket = sys::socket(libc::AF_PACKET, libc::SOCK_RAW)?;
    set_option(&socket, SOL_SOCKET, libc::SO_SNDBUFFORCE, 4 << 20)?;
    sys::bind_packet(&socket, 0, ifindex)?;
    Ok(socket)
}

impl Group {
    fn join(&self, socket: &OwnedFd, ifindex: u32) -> io::Result<()> {
        let kind = (libc::PACKET_FANOUT_HASH | libc::PACKET_FANOUT_FLAG_IGNORE_OUTGOING) << 16;
        let fanout =
            |value: u32| set_option(socket, SOL_PACKET, libc::PACKET_FANOUT, value.cast_signed());
        let mut member = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Member { id, .. }) = member.filter(|member| member.ifindex == ifindex)
            && fanout(kind | u32::from(id)).is_ok()
        {
            return Ok(());
        }
        fanout(kind | libc::PACKET_FANOUT_FLAG_UNIQUEID << 16)?;
        let id = sys::option::<libc::c_int>(socket, SOL_PACKET, libc::PACKET_FANOUT)?;
        *member = Some(Member { ifindex, id: id as u16 });
        Ok(())
    }
}
