//! The properties of network interfaces, their offload settings, and notifications of their
//! changes.

use crate::sys;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A network interface in the namespace of the calling thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The name of the interface, such as `eth0`.
    pub name: String,
    /// The index of the interface. It changes if the interface is removed and added again.
    pub index: u32,
    /// Whether the interface is switched on.
    pub up: bool,
    /// Whether the interface is switched on and has a link to its peer.
    pub running: bool,
    /// The largest number of bytes after the Ethernet header of a frame.
    pub mtu: u32,
    /// The MAC address of the interface.
    pub mac: [u8; 6],
    /// Whether the interface carries Ethernet frames.
    pub ethernet: bool,
}

impl Interface {
    /// Returns the interface with this name.
    ///
    /// # Errors
    /// Returns `ENODEV` if there is no such interface.
    pub fn named(name: &str) -> io::Result<Self> {
        let socket = sys::socket(libc::AF_INET, libc::SOCK_DGRAM)?;
        let index = rustix::net::netdevice::name_to_index(&socket, name)?;
        let flags = sys::interface_flags(&socket, name)?;
        let (family, mac) = sys::interface_address(&socket, name)?;
        let mtu = sys::interface_mtu(&socket, name)?;
        let has = |flag: libc::c_int| flags & flag == flag;
        Ok(Self {
            name: name.to_owned(),
            index,
            up: has(libc::IFF_UP),
            running: has(libc::IFF_UP | libc::IFF_RUNNING),
            mtu,
            mac,
            ethernet: matches!(family, libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK),
        })
    }
}

/// Returns the name of an interface's driver.
pub(crate) fn driver(name: &str) -> io::Result<String> {
    const ETHTOOL_GDRVINFO: u32 = 0x3;
    // The structure ethtool_drvinfo has 196 bytes.
    let mut words = [0; 49];
    words[0] = ETHTOOL_GDRVINFO;
    sys::ethtool(name, &mut words)?;
    let bytes = words[1..9].iter().flat_map(|word| word.to_ne_bytes());
    Ok(bytes.take_while(|byte| *byte != 0).map(char::from).collect())
}

/// Returns the number of receive queues of an interface.
pub(crate) fn receive_queues(name: &str) -> u32 {
    const ETHTOOL_GCHANNELS: u32 = 0x3c;
    // The structure ethtool_channels has the maximum and then the present numbers of channels:
    // receive, transmit, other, combined.
    let mut words = [ETHTOOL_GCHANNELS, 0, 0, 0, 0, 0, 0, 0, 0];
    match sys::ethtool(name, &mut words) {
        Ok(()) => (words[5] + words[8]).max(1),
        // A driver with one queue need not implement the command.
        Err(_) => 1,
    }
}

/// The receive offloads of an interface, which stay disabled until this value is dropped.
#[derive(Debug)]
pub(crate) struct OffloadsOff {
    interface: String,
    index: u32,
    /// The commands that restore the previous settings.
    before: Vec<[u32; 2]>,
}

impl OffloadsOff {
    /// Disables two receive offloads of an interface: the removal of VLAN tags and, if `whole`, the
    /// merging of packets.
    pub(crate) fn on(interface: &Interface, whole: bool) -> io::Result<Self> {
        const ETHTOOL_GGRO: u32 = 0x2b;
        const ETHTOOL_SGRO: u32 = 0x2c;
        const ETHTOOL_GFLAGS: u32 = 0x25;
        const ETHTOOL_SFLAGS: u32 = 0x26;
        const ETH_FLAG_RXVLAN: u32 = 1 << 8;
        const ETH_FLAG_LRO: u32 = 1 << 15;
        let name = &interface.name;
        let mut off = Self { interface: name.clone(), index: interface.index, before: Vec::new() };
        let lro = if whole { ETH_FLAG_LRO } else { 0 };
        let mut switch = |get, set, bits: u32| {
            let mut words = [get, 0];
            // A driver that does not report a feature does not support it.
            if sys::ethtool(name, &mut words).is_err() || words[1] & bits == 0 {
                return Ok(());
            }
            sys::ethtool(name, &mut [set, words[1] & !bits])?;
            off.before.push([set, words[1]]);
            io::Result::Ok(())
        };
        switch(ETHTOOL_GFLAGS, ETHTOOL_SFLAGS, ETH_FLAG_RXVLAN | lro)?;
        if whole {
            switch(ETHTOOL_GGRO, ETHTOOL_SGRO, u32::MAX)?;
        }
        Ok(off)
    }
}

impl Drop for OffloadsOff {
    fn drop(&mut self) {
        // Another interface may now have the name. Its settings must not be changed.
        if Interface::named(&self.interface).is_ok_and(|found| found.index == self.index) {
            for words in &mut self.before {
                let _ = sys::ethtool(&self.interface, words);
            }
        }
    }
}

/// The multicast group `RTMGRP_LINK` of linux/rtnetlink.h.
const LINKS: u32 = 1;
/// The multicast group `RTMGRP_TC`.
const DISCIPLINES: u32 = 8;

/// A watch for changes of interfaces: the addition or removal of an interface, its being switched
/// on or off, and changes of its configuration.
#[derive(Debug)]
pub struct LinkWatch {
    socket: OwnedFd,
}

impl LinkWatch {
    /// Begins to watch the interfaces in the network namespace of this thread.
    ///
    /// # Errors
    /// Returns an error if the system cannot open a netlink socket.
    pub fn new() -> io::Result<Self> {
        Self::of(LINKS)
    }

    /// Begins to watch both interfaces and queueing disciplines.
    pub(crate) fn with_disciplines() -> io::Result<Self> {
        Self::of(LINKS | DISCIPLINES)
    }

    fn of(groups: u32) -> io::Result<Self> {
        let socket = rustix::net::socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            // Protocol 0 of netlink is NETLINK_ROUTE.
            None,
        )?;
        rustix::net::bind(&socket, &SocketAddrNetlink::new(0, groups))?;
        Ok(Self { socket })
    }

    /// Returns whether something has changed since the last call, without waiting.
    pub fn changed(&mut self) -> bool {
        let mut buffer = [0; 4096];
        let mut changed = false;
        loop {
            match rustix::net::recv(&self.socket, &mut buffer[..], RecvFlags::TRUNC) {
                Ok(_) => changed = true,
                // Notifications were lost, so something has changed.
                Err(rustix::io::Errno::NOBUFS) => changed = true,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return changed,
            }
        }
    }

    /// Returns a descriptor that becomes readable when something changes.
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
