//! Network interfaces of this machine: what they are like, and when they change.

use crate::sys;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A network interface of the namespace of the thread that asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name, as `eth0`.
    pub name: String,
    /// Its number, which it loses when it is removed.
    pub index: u32,
    /// It is switched on.
    pub up: bool,
    /// It is switched on and its peer is there.
    pub running: bool,
    /// Most bytes behind the Ethernet header.
    pub mtu: u32,
    /// Its address.
    pub mac: [u8; 6],
    /// It takes Ethernet frames.
    pub ethernet: bool,
}

impl Interface {
    /// The interface of that name.
    ///
    /// # Errors
    /// `ENODEV` if there is none.
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

/// The name of an interface's driver.
pub(crate) fn driver(name: &str) -> io::Result<String> {
    const ETHTOOL_GDRVINFO: u32 = 0x3;
    // struct ethtool_drvinfo has 196 bytes.
    let mut words = [0; 49];
    words[0] = ETHTOOL_GDRVINFO;
    sys::ethtool(name, &mut words)?;
    let bytes = words[1..9].iter().flat_map(|word| word.to_ne_bytes());
    Ok(bytes.take_while(|byte| *byte != 0).map(char::from).collect())
}

/// How many queues an interface receives on.
pub(crate) fn receive_queues(name: &str) -> u32 {
    const ETHTOOL_GCHANNELS: u32 = 0x3c;
    // struct ethtool_channels: what there may be at most, and what there is: receive, transmit,
    // other, combined.
    let mut words = [ETHTOOL_GCHANNELS, 0, 0, 0, 0, 0, 0, 0, 0];
    match sys::ethtool(name, &mut words) {
        Ok(()) => (words[5] + words[8]).max(1),
        // Drivers with one queue need not answer.
        Err(_) => 1,
    }
}

/// What an interface does to packets that it receives, switched off until this is dropped.
#[derive(Debug)]
pub(crate) struct OffloadsOff {
    interface: String,
    index: u32,
    /// Commands that set what was before.
    before: Vec<[u32; 2]>,
}

impl OffloadsOff {
    /// Lets tags in packets, and, if `whole`, packets as they came.
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
            // What a driver does not tell of it does not do.
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
        // Not those of another interface that has got its name.
        if Interface::named(&self.interface).is_ok_and(|found| found.index == self.index) {
            for words in &mut self.before {
                let _ = sys::ethtool(&self.interface, words);
            }
        }
    }
}

/// `RTMGRP_LINK` of linux/rtnetlink.h.
const LINKS: u32 = 1;
/// `RTMGRP_TC`.
const DISCIPLINES: u32 = 8;

/// Tells that some interface was added, removed, switched on or off, or changed.
#[derive(Debug)]
pub struct LinkWatch {
    socket: OwnedFd,
}

impl LinkWatch {
    /// Watches the namespace of this thread from now on.
    ///
    /// # Errors
    /// If the system gives no socket.
    pub fn new() -> io::Result<Self> {
        Self::of(LINKS)
    }

    /// Watches queueing disciplines too.
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

    /// Whether something changed since it was asked last. Does not wait.
    pub fn changed(&mut self) -> bool {
        let mut buffer = [0; 4096];
        let mut changed = false;
        loop {
            match rustix::net::recv(&self.socket, &mut buffer[..], RecvFlags::TRUNC) {
                Ok(_) => changed = true,
                // Some were lost.
                Err(rustix::io::Errno::NOBUFS) => changed = true,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return changed,
            }
        }
    }

    /// What to poll for input.
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
