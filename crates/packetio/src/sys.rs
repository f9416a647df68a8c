//! Safe wrappers of socket system calls that rustix lacks.
#![allow(unsafe_code, reason = "system calls that take pointers; each passes what it borrows")]

use std::io::{self, IoSliceMut};
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// A type that the kernel may read or write as bytes.
///
/// # Safety
/// Any sequence of bytes must be a valid value, and the type must have no padding.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: an integer has no padding, and any bytes are a value.
unsafe impl Plain for libc::c_int {}
// SAFETY: an integer has no padding, and any bytes are a value.
unsafe impl Plain for u64 {}
// SAFETY: a structure of integers without gaps, by its definition in linux/if_packet.h.
unsafe impl Plain for libc::tpacket_req {}
// SAFETY: a structure of integers without gaps, by its definition in linux/if_packet.h.
unsafe impl Plain for libc::tpacket_stats {}
// SAFETY: a structure of integers without gaps, by its definition in linux/if_packet.h.
unsafe impl Plain for libc::packet_mreq {}

/// Returns the result of a system call, or the system's last error if the result is -1.
pub(crate) fn check(result: impl Into<i64>) -> io::Result<u64> {
    u64::try_from(result.into()).map_err(|_| io::Error::last_os_error())
}

/// Opens a nonblocking socket that is closed on exec.
pub(crate) fn socket(family: libc::c_int, kind: libc::c_int) -> io::Result<OwnedFd> {
    let kind = kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: the call takes no pointers.
    let descriptor = unsafe { libc::socket(family, kind, 0) };
    check(descriptor)?;
    // SAFETY: the descriptor was just opened, and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Sets an option of a socket.
pub(crate) fn set_option<T: Plain>(
    socket: impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    value: T,
) -> io::Result<()> {
    let descriptor = socket.as_fd().as_raw_fd();
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of `value`, which has this length.
    check(unsafe {
        libc::setsockopt(descriptor, level, option, (&raw const value).cast(), length)
    })?;
    Ok(())
}

/// Reads an option of a socket.
pub(crate) fn option<T: Plain>(
    socket: impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
) -> io::Result<T> {
    let descriptor = socket.as_fd().as_raw_fd();
    let mut value = MaybeUninit::<T>::zeroed();
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `value`, which has this length.
    check(unsafe {
        libc::getsockopt(descriptor, level, option, value.as_mut_ptr().cast(), &mut length)
    })?;
    // SAFETY: all bytes were zeroed or written by the kernel, and `T` is plain.
    Ok(unsafe { value.assume_init() })
}

/// Returns and clears the pending error of a socket.
pub(crate) fn pending_error(socket: impl AsFd) -> io::Result<()> {
    match option::<libc::c_int>(socket, libc::SOL_SOCKET, libc::SO_ERROR)? {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Binds a packet socket to an interface. If `protocol` is 0, the socket receives nothing.
pub(crate) fn bind_packet(socket: impl AsFd, protocol: u16, ifindex: u32) -> io::Result<()> {
    // SAFETY: the structure consists of integers, for which zero is a value.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = ifindex.cast_signed();
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of `address`, which has this length.
    check(unsafe { libc::bind(socket.as_fd().as_raw_fd(), (&raw const address).cast(), length) })?;
    Ok(())
}

/// Returns the interface to which a packet socket is bound, or `None` if the interface is gone.
pub(crate) fn bound_interface(socket: impl AsFd) -> io::Result<Option<u32>> {
    let mut address = MaybeUninit::<libc::sockaddr_ll>::zeroed();
    let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `address`, which has this length.
    check(unsafe {
        libc::getsockname(socket.as_fd().as_raw_fd(), address.as_mut_ptr().cast(), &mut length)
    })?;
    // SAFETY: the structure consists of integers, which were all zeroed or written.
    let ifindex = unsafe { address.assume_init() }.sll_ifindex;
    Ok(u32::try_from(ifindex).ok().filter(|ifindex| *ifindex != 0))
}

/// The outcome of receiving one message with [`receive_copy`].
pub(crate) struct Received {
    /// The number of bytes that were written to the buffers.
    pub(crate) length: usize,
    /// Whether the message was longer than the buffers.
    pub(crate) truncated: bool,
    /// The kernel's auxiliary data about the packet, if `PACKET_AUXDATA` is enabled.
    pub(crate) auxiliary: Option<libc::tpacket_auxdata>,
}

/// Receives one message and its auxiliary data. Does not block.
pub(crate) fn receive_copy(
    socket: impl AsFd,
    buffers: &mut [IoSliceMut<'_>],
) -> io::Result<Received> {
    #[repr(align(8))]
    struct Control([u8; 128]);
    let mut control = Control([0; 128]);
    // SAFETY: the structure consists of integers and pointers, for which zero is a value.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    // IoSliceMut has the layout of iovec, as its documentation guarantees.
    header.msg_iov = buffers.as_mut_ptr().cast();
    header.msg_iovlen = buffers.len() as _;
    header.msg_control = (&raw mut control.0).cast();
    header.msg_controllen = control.0.len() as _;
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: the pointers and lengths in `header` describe borrowed, writable memory.
    let length =
        check(unsafe { libc::recvmsg(descriptor, &mut header, libc::MSG_DONTWAIT) } as i64)?;
    let mut auxiliary = None;
    // SAFETY: the kernel has filled the control buffer up to `msg_controllen`.
    let first = unsafe { libc::CMSG_FIRSTHDR(&raw const header) };
    // SAFETY: the pointer is null, or aligned and within `control`.
    if let Some(message) = unsafe { first.as_ref() } {
        // SAFETY: the function only computes a length.
        let wanted = unsafe { libc::CMSG_LEN(size_of::<libc::tpacket_auxdata>() as u32) } as usize;
        if (message.cmsg_level, message.cmsg_type) == (libc::SOL_PACKET, libc::PACKET_AUXDATA)
            && message.cmsg_len >= wanted
        {
            // SAFETY: the length of the message was just checked, and the read does not require
            // alignment.
            auxiliary = Some(unsafe {
                libc::CMSG_DATA(first).cast::<libc::tpacket_auxdata>().read_unaligned()
            });
        }
    }
    let truncated = header.msg_flags & libc::MSG_TRUNC != 0;
    Ok(Received { length: length as usize, truncated, auxiliary })
}

/// Sends packets in order with one system call, until the kernel accepts no more of them. Returns
/// the number of packets that it accepted. Does not block.
pub(crate) fn send_each<'a>(
    socket: impl AsFd,
    packets: impl Iterator<Item = &'a [u8]>,
) -> io::Result<usize> {
    send_parts(socket, packets.map(|packet| [packet]))
}

/// Sends packets like [`send_each`], but each packet consists of several parts.
pub(crate) fn send_parts<'a, const N: usize>(
    socket: impl AsFd,
    packets: impl Iterator<Item = [&'a [u8]; N]>,
) -> io::Result<usize> {
    let mut parts: Vec<[libc::iovec; N]> = packets
        .map(|packet| {
            packet.map(|part| libc::iovec {
                iov_base: part.as_ptr().cast_mut().cast(),
                iov_len: part.len(),
            })
        })
        .collect();
    let mut messages: Vec<libc::mmsghdr> = parts
        .iter_mut()
        .map(|parts| {
            // SAFETY: the structure consists of integers and pointers, for which zero is a value.
            let mut message: libc::mmsghdr = unsafe { mem::zeroed() };
            message.msg_hdr.msg_iov = parts.as_mut_ptr();
            message.msg_hdr.msg_iovlen = N as _;
            message
        })
        .collect();
    let descriptor = socket.as_fd().as_raw_fd();
    let count = messages.len() as libc::c_uint;
    // SAFETY: there are `count` headers, and their parts are borrowed packets, which the kernel
    // only reads.
    let sent = check(unsafe {
        libc::sendmmsg(descriptor, messages.as_mut_ptr(), count, libc::MSG_DONTWAIT)
    })?;
    Ok(sent as usize)
}

/// Returns the flags of an interface (`IFF_UP` and others).
pub(crate) fn interface_flags(socket: impl AsFd, name: &str) -> io::Result<libc::c_int> {
    let answer = interface_request(socket, libc::SIOCGIFFLAGS, name)?;
    // SAFETY: the members of the union are integers, and the request filled this one.
    Ok(libc::c_int::from(unsafe { answer.ifr_ifru.ifru_flags }))
}

/// Returns the MTU of an interface in bytes.
pub(crate) fn interface_mtu(socket: impl AsFd, name: &str) -> io::Result<u32> {
    let answer = interface_request(socket, libc::SIOCGIFMTU, name)?;
    // SAFETY: the members of the union are integers, and the request filled this one.
    Ok(unsafe { answer.ifr_ifru.ifru_mtu }.max(0).cast_unsigned())
}

/// Returns the hardware type (`ARPHRD_ETHER` and others) and the address of an interface.
pub(crate) fn interface_address(socket: impl AsFd, name: &str) -> io::Result<(u16, [u8; 6])> {
    let answer = interface_request(socket, libc::SIOCGIFHWADDR, name)?;
    // SAFETY: the members of the union consist of integers, and the request filled this one.
    let address = unsafe { answer.ifr_ifru.ifru_hwaddr };
    let mut mac = [0; 6];
    for (byte, value) in mac.iter_mut().zip(address.sa_data) {
        *byte = value.cast_unsigned();
    }
    Ok((address.sa_family, mac))
}

/// Returns an `ifreq` that contains only the name of an interface.
fn named(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: the structure consists of integers, for which zero is a value.
    let mut parameters: libc::ifreq = unsafe { mem::zeroed() };
    if name.len() >= parameters.ifr_name.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (place, byte) in parameters.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte.cast_signed();
    }
    Ok(parameters)
}

fn interface_request(
    socket: impl AsFd,
    request: libc::c_ulong,
    name: &str,
) -> io::Result<libc::ifreq> {
    let mut parameters = named(name)?;
    // SAFETY: these requests read and write one ifreq.
    check(unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), request as _, &mut parameters) })?;
    Ok(parameters)
}

/// Attaches a filter to a socket. The filter drops all packets until it is detached.
pub(crate) fn refuse_all(socket: impl AsFd) -> io::Result<()> {
    let mut nothing =
        libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: 0 };
    let program = libc::sock_fprog { len: 1, filter: &mut nothing };
    let descriptor = socket.as_fd().as_raw_fd();
    let length = size_of::<libc::sock_fprog>() as libc::socklen_t;
    // SAFETY: the kernel reads the program and its one instruction, which are both valid for the
    // call.
    check(unsafe {
        let program = (&raw const program).cast();
        libc::setsockopt(descriptor, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, program, length)
    })?;
    Ok(())
}

/// Sends a command to an interface's driver (linux/ethtool.h). The first of `words` is the command.
pub(crate) fn ethtool<const N: usize>(name: &str, words: &mut [u32; N]) -> io::Result<()> {
    let socket = socket(libc::AF_INET, libc::SOCK_DGRAM)?;
    let mut parameters = named(name)?;
    parameters.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    let request = libc::SIOCETHTOOL as _;
    // SAFETY: the kernel reads and writes the structure of the command. Only the wrappers in
    // `interface` call this function, and they pass enough words for their commands.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), request, &mut parameters) })?;
    Ok(())
}

/// Configures an interface's driver to timestamp every received packet with the card's clock
/// (Documentation/networking/timestamping.rst, section 3). The setting persists.
pub(crate) fn stamp_received_in_hardware(name: &str) -> io::Result<()> {
    /// The values of `struct hwtstamp_config`: flags, `HWTSTAMP_TX_OFF`, `HWTSTAMP_FILTER_ALL`.
    const CONFIGURATION: [libc::c_int; 3] = [0, 0, 1];
    const SIOCSHWTSTAMP: libc::c_ulong = 0x89b0;
    let socket = socket(libc::AF_INET, libc::SOCK_DGRAM)?;
    let mut configuration = CONFIGURATION;
    let mut parameters = named(name)?;
    parameters.ifr_ifru.ifru_data = configuration.as_mut_ptr().cast();
    // SAFETY: the kernel reads and writes one hwtstamp_config, to which the pointer is valid.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCSHWTSTAMP as _, &mut parameters) })?;
    Ok(())
}
