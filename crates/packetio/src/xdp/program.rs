//! The BPF program that an interface runs for each packet: it redirects the packet to the socket of
//! the packet's queue, or passes it to the kernel if there is no socket.
//!
//! The program has five instructions, which are encoded here, so that neither a compiler nor a
//! loader is needed. It is attached by a BPF link, which the kernel removes when its descriptor is
//! closed. The program is therefore detached even if this process is killed.
#![allow(unsafe_code, reason = "bpf(2) takes pointers; each passes what it borrows")]

use crate::sys::check;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

/// The point of the kernel's receive path at which the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// The program runs in the driver.
    Native,
    /// The program runs in the kernel's generic path, for drivers without XDP support.
    Generic,
}

/// An XDP program on an interface. Dropping this value detaches it.
#[derive(Debug)]
pub(super) struct Program {
    map: OwnedFd,
    _link: OwnedFd,
}

impl Program {
    /// Attaches a program to an interface with this number of queues.
    pub(super) fn attach(ifindex: u32, queues: u32, mode: Mode) -> io::Result<Self> {
        let map = create_map(queues)?;
        let program = load(map.as_raw_fd())?;
        let link = link(&program, ifindex, mode)?;
        Ok(Self { map, _link: link })
    }

    /// Registers a socket in the program's map, so that the program redirects the packets of a
    /// queue to it.
    pub(super) fn redirect(&self, queue: u32, socket: impl AsFd) -> io::Result<()> {
        #[repr(C)]
        struct Update {
            map: RawFd,
            padding: u32,
            key: u64,
            value: u64,
            flags: u64,
        }
        let value = socket.as_fd().as_raw_fd();
        let attributes = Update {
            map: self.map.as_raw_fd(),
            padding: 0,
            key: (&raw const queue).addr() as u64,
            value: (&raw const value).addr() as u64,
            flags: 0,
        };
        // SAFETY: the key and the value have the length that the map declares, four bytes, and are
        // valid for the call.
        unsafe { bpf(BPF_MAP_UPDATE_ELEM, &attributes) }?;
        Ok(())
    }
}

/// Constants of linux/bpf.h.
const BPF_MAP_CREATE: libc::c_int = 0;
const BPF_MAP_UPDATE_ELEM: libc::c_int = 2;
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_LINK_CREATE: libc::c_int = 28;
const BPF_MAP_TYPE_XSKMAP: u32 = 17;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_XDP: u32 = 37;
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;

/// Creates the BPF map that assigns a socket to each queue.
fn create_map(queues: u32) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Create {
        kind: u32,
        key_bytes: u32,
        value_bytes: u32,
        entries: u32,
    }
    let attributes =
        Create { kind: BPF_MAP_TYPE_XSKMAP, key_bytes: 4, value_bytes: 4, entries: queues };
    // SAFETY: the attributes contain no pointers.
    owned(unsafe { bpf(BPF_MAP_CREATE, &attributes) }?)
}

/// Loads the program, which uses this map, into the kernel.
fn load(map: RawFd) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Load {
        kind: u32,
        count: u32,
        instructions: u64,
        license: u64,
        log_level: u32,
        log_bytes: u32,
        log: u64,
    }
    /// Encodes a struct bpf_insn: code, registers (the source in the upper half), offset,
    /// immediate.
    const fn instruction(code: u8, registers: u8, offset: u16, immediate: u32) -> u64 {
        let [offset_0, offset_1] = offset.to_ne_bytes();
        let [a, b, c, d] = immediate.to_ne_bytes();
        u64::from_ne_bytes([code, registers, offset_0, offset_1, a, b, c, d])
    }
    const XDP_PASS: u32 = 2;
    const REDIRECT_MAP: u32 = 51;
    /// The offset of the queue index in struct xdp_md.
    const RX_QUEUE_INDEX: u16 = 16;
    let instructions = [
        // r2 = *(u32 *)(r1 + RX_QUEUE_INDEX)
        instruction(0x61, 0x12, RX_QUEUE_INDEX, 0),
        // r1 = the map (the instruction has two halves)
        instruction(0x18, 0x11, 0, map.cast_unsigned()),
        0,
        // r3 = the action if the map has no socket for the queue
        instruction(0xb7, 0x03, 0, XDP_PASS),
        // return bpf_redirect_map(r1, r2, r3)
        instruction(0x85, 0, 0, REDIRECT_MAP),
        instruction(0x95, 0, 0, 0),
    ];
    let license = c"Apache-2.0";
    let attributes = Load {
        kind: BPF_PROG_TYPE_XDP,
        count: instructions.len() as u32,
        instructions: instructions.as_ptr().addr() as u64,
        license: license.as_ptr().addr() as u64,
        log_level: 0,
        log_bytes: 0,
        log: 0,
    };
    // SAFETY: the pointers refer to `count` instructions and a terminated string, which are valid
    // for the call.
    owned(unsafe { bpf(BPF_PROG_LOAD, &attributes) }?)
}

/// Attaches a program to an interface by a BPF link.
fn link(program: &OwnedFd, ifindex: u32, mode: Mode) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Link {
        program: RawFd,
        ifindex: u32,
        kind: u32,
        flags: u32,
    }
    let flags = match mode {
        Mode::Native => XDP_FLAGS_DRV_MODE,
        Mode::Generic => XDP_FLAGS_SKB_MODE,
    };
    let attributes = Link { program: program.as_raw_fd(), ifindex, kind: BPF_XDP, flags };
    // SAFETY: the attributes contain no pointers.
    owned(unsafe { bpf(BPF_LINK_CREATE, &attributes) }?)
}

/// Calls bpf(2) with a command and its attributes.
///
/// # Safety
/// `attributes` must be a prefix of the command's attributes, without padding. All pointers in them
/// must be valid for what the command does with them.
unsafe fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<u64> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes, and treats missing attributes as zero. The
    // caller guarantees the rest.
    check(unsafe { libc::syscall(libc::SYS_bpf, command, &raw const *attributes, size_of::<T>()) })
}

/// Returns an owned descriptor for the result of bpf(2).
fn owned(descriptor: u64) -> io::Result<OwnedFd> {
    let descriptor = RawFd::try_from(descriptor).map_err(io::Error::other)?;
    // SAFETY: bpf(2) has just opened the descriptor, with close-on-exec, and it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
