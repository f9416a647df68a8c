//! Timestamps of frames that pass an interface, by the clock of the kernel or of the network card.
//!
//! A [`Timestamper`] sees the frames of one direction through its own packet socket, like a tap on
//! a wire. Senders and receivers are not affected. The kernel timestamps an outgoing frame right
//! before it passes the frame to the driver. It timestamps an incoming frame when the driver
//! delivers it, before the frame waits for a processor. A card with a clock timestamps received
//! frames at the wire. Hardware timestamps of sent frames are not used, so that two clocks are
//! never mixed. To timestamp both the input and the output of a device in hardware, two taps must
//! receive copies of the frames, as optical taps provide them.

use crate::af_packet::RingMemory;
use crate::af_packet::ring::Ring;
use crate::af_packet::tag;
use crate::interface::Interface;
use crate::offload::Restorer;
use crate::sys::{self, set_option};
use crate::{Burst, Frame, OpenError};
use libc::{SOL_PACKET, SOL_SOCKET};
use std::io;
use std::os::fd::OwnedFd;

/// The direction of frames that a timestamper sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Frames that the interface receives.
    Incoming,
    /// Frames that this machine sends through the interface.
    Outgoing,
}

/// The clock from which a timestamp was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampedBy {
    /// The clock of the network card, in nanoseconds since an arbitrary origin.
    Hardware,
    /// The clock of the kernel, in nanoseconds since 1970, read when the frame was passed to the
    /// driver or received from it.
    Kernel,
    /// The clock of the kernel, in nanoseconds since 1970, read later: when the frame reached the
    /// socket.
    Socket,
}

/// A frame with its timestamp.
#[derive(Clone, Copy, Debug)]
pub struct Stamped<'f> {
    /// The frame from its first header on, without frame check sequence. A VLAN tag that the kernel
    /// removed is restored.
    pub frame: &'f [u8],
    /// The timestamp in nanoseconds.
    pub nanoseconds: u64,
    /// The clock from which the timestamp was read.
    pub by: StampedBy,
}

/// A receiver of the frames of one direction of an interface, with their timestamps.
#[derive(Debug)]
pub struct Timestamper {
    /// The receive ring. It is declared before its socket, so that it is unmapped first.
    ring: Ring,
    socket: OwnedFd,
    direction: Direction,
    restorer: Restorer,
    one: Burst,
}

impl Timestamper {
    /// Opens an interface to receive its frames with timestamps of the kernel or, if `hardware` is
    /// set, of the network card. Hardware timestamps are only available for incoming frames.
    ///
    /// # Errors
    /// Returns an [`OpenError`] if there is no such Ethernet interface, this process may not open
    /// it, or the card has no clock.
    pub fn open(interface: &str, direction: Direction, hardware: bool) -> Result<Self, OpenError> {
        let fail = |source: io::Error| {
            let interface = interface.to_owned();
            match source.raw_os_error() {
                Some(libc::ENODEV) => OpenError::NoInterface { interface },
                Some(libc::EPERM | libc::EACCES) => OpenError::NotPermitted { interface },
                _ => OpenError::System { interface, source },
            }
        };
        let found = Interface::named(interface).map_err(fail)?;
        if !found.ethernet {
            return Err(OpenError::NotEthernet { interface: interface.to_owned() });
        }
        if hardware {
            let clock = match direction {
                Direction::Incoming => sys::stamp_received_in_hardware(interface),
                Direction::Outgoing => Err(io::ErrorKind::Unsupported.into()),
            };
            clock.map_err(|source| OpenError::NoHardwareClock {
                interface: interface.to_owned(),
                source,
            })?;
        }
        Self::on(&found, direction, hardware).map_err(fail)
    }

    fn on(interface: &Interface, direction: Direction, hardware: bool) -> io::Result<Self> {
        let socket = sys::socket(libc::AF_PACKET, libc::SOCK_RAW)?;
        let option = |level, name, value: libc::c_int| set_option(&socket, level, name, value);
        if direction == Direction::Incoming {
            option(SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        }
        option(SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
        // Without this option, the kernel reads the clock when a frame reaches a socket, after the
        // frame has waited for a processor.
        option(SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        if hardware {
            let kinds = libc::SOF_TIMESTAMPING_RAW_HARDWARE.cast_signed();
            option(SOL_PACKET, libc::PACKET_TIMESTAMP, kinds)?;
        }
        let ring = Ring::new(&socket, interface.mtu as usize + 18, RingMemory::default())?;
        sys::refuse_all(&socket)?;
        sys::bind_packet(&socket, libc::ETH_P_ALL as u16, interface.index)?;
        set_option(&socket, SOL_SOCKET, libc::SO_DETACH_FILTER, 0)?;
        let promiscuous = libc::packet_mreq {
            mr_ifindex: interface.index.cast_signed(),
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set_option(&socket, SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, promiscuous)?;
        Ok(Self { ring, socket, direction, restorer: Restorer::default(), one: Burst::new(1) })
    }

    /// Passes each frame that has arrived since the last call to `each`, in order, and returns
    /// their number. Skips frames that are longer than a slot of the ring, such as merged ones.
    /// Does not wait.
    pub fn take(&mut self, mut each: impl FnMut(Stamped<'_>)) -> usize {
        let mut count = 0;
        while let Some(entry) = self.ring.peek() {
            let outgoing = entry.packet_type() == Some(libc::PACKET_OUTGOING);
            let whole = entry.header.tp_snaplen >= entry.header.tp_len;
            let status = entry.header.tp_status;
            if outgoing == (self.direction == Direction::Outgoing)
                && whole
                && let Some(header) = entry.in_front()
            {
                let tag = tag(status, entry.header.tp_vlan_tci, entry.header.tp_vlan_tpid);
                self.one.clear();
                let taken = self.restorer.take(header, tag, entry.packet(), &mut self.one);
                let stamp = (entry.nanoseconds(), by(status));
                if taken.is_ok()
                    && let Some(frame) = self.one.frames().first().map(Frame::bytes)
                {
                    let (nanoseconds, by) = stamp;
                    each(Stamped { frame, nanoseconds, by });
                    count += 1;
                }
            }
            self.ring.release();
        }
        count
    }

    /// Returns the number of frames that were dropped since the last call because the ring was
    /// full.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn missed(&self) -> io::Result<u64> {
        let (level, name) = (SOL_PACKET, libc::PACKET_STATISTICS);
        let seen = sys::option::<libc::tpacket_stats>(&self.socket, level, name)?;
        Ok(u64::from(seen.tp_drops))
    }
}

fn by(status: u32) -> StampedBy {
    if status & libc::TP_STATUS_TS_RAW_HARDWARE != 0 {
        StampedBy::Hardware
    } else if status & libc::TP_STATUS_TS_SOFTWARE != 0 {
        StampedBy::Kernel
    } else {
        StampedBy::Socket
    }
}
