//! When a frame passed an interface, by the clock of the kernel or of the card.
//!
//! A [`Timestamper`] sees the frames of one direction through a packet socket of its own, as a tap on a wire does: who
//! sends or receives them knows nothing of it. The kernel stamps a frame that leaves right before it hands it to the
//! driver, and one that comes in when the driver hands it over, before it waits for a processor. A card that has a clock
//! stamps what it receives itself, at the wire; what it sends is not stamped that way here, so that two clocks are never
//! mixed: for both edges of a device by hardware, two taps receive copies (as optical taps give).

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

/// Which frames of an interface are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Those that it receives.
    Incoming,
    /// Those that this machine sends through it.
    Outgoing,
}

/// Whose clock a stamp is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampedBy {
    /// The card's: nanoseconds since an origin of its own.
    Hardware,
    /// The kernel's: nanoseconds since 1970, at the edge to the driver.
    Kernel,
    /// The kernel's, taken where the frame came to the socket, later than that.
    Socket,
}

/// A frame as it passed.
#[derive(Clone, Copy, Debug)]
pub struct Stamped<'f> {
    /// From its first header on, without frame check sequence; a tag that the kernel took out is back.
    pub frame: &'f [u8],
    /// When, in nanoseconds.
    pub nanoseconds: u64,
    /// By whom.
    pub by: StampedBy,
}

/// Sees frames of one direction of an interface with their stamps.
#[derive(Debug)]
pub struct Timestamper {
    /// Before its socket: unmapped first.
    ring: Ring,
    socket: OwnedFd,
    direction: Direction,
    restorer: Restorer,
    one: Burst,
}

impl Timestamper {
    /// Begins to see an interface, with the stamps of the kernel; with those of the card if `hardware`, which is for
    /// incoming frames only.
    ///
    /// # Errors
    /// If there is no such Ethernet interface, this program may not open it, or the card has no clock.
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
        // Without this the kernel takes the time where a frame comes to a socket, after it waited for a processor.
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

    /// Hands on the frames that passed since the last call, in order; does not wait. Returns their number.
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

    /// Frames that found no room since the last call, since [`Self::take`] was not called for too long.
    ///
    /// # Errors
    /// What the system says.
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
