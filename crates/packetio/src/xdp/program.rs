//! The program that an interface runs on each packet: to the socket of its queue, if there is one,
//! and to the rest of the kernel otherwise.
//!
//! Five instructions, written here as numbers, need neither a compiler nor a loader. It is attached
//! by a link that lasts as long as a descriptor is open, so that nothing is left behind however
//! this process ends.
#![allow(unsafe_code, reason = "bpf(2) takes pointers; each passes what it borrows")]

use crate::sys::check;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Where in the receive path a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// In the driver.
    Native,
    /// In the kernel's generic path, for drivers that know nothing of it.
    Generic,
}

/// A program on an interface, until this is dropped.
#[derive(Debug)]
pub(super) struct Program {
    map: OwnedFd,
    _link: OwnedFd,
}

impl Program {
    /// Attaches the program to an interface with so many queues.
    pub(super) fn attach(ifindex: u32, queues: u32, mode: Mode) -> io::Result<Self> {
        let map = create_map(queues)?;
        let program = load(map.as_raw_fd())?;
        let link = link(&program, ifindex, mode)?;
        Ok(Self { map, _link: link })
    }

    /// Gives the packets of a queue to a socket.
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
        // SAFETY: key and value are as long as the map's, four bytes, and alive.
        unsafe { bpf(BPF_MAP_UPDATE_ELEM, &attributes) }?;
        Ok(())
    }
}

/// Numbers of linux/bpf.h.
const BPF_MAP_CREATE: libc::c_int = 0;
const BPF_MAP_UPDATE_ELEM: libc::c_int = 2;
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_LINK_CREATE: libc::c_int = 28;
const BPF_MAP_TYPE_XSKMAP: u32 = 17;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_XDP: u32 = 37;
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;

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
    // SAFETY: no pointers in it.
    owned(unsafe { bpf(BPF_MAP_CREATE, &attributes) }?)
}

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
    /// struct bpf_insn: code, registers (source in the upper half), offset, immediate.
    const fn instruction(code: u8, registers: u8, offset: u16, immediate: u32) -> u64 {
        let [offset_0, offset_1] = offset.to_ne_bytes();
        let [a, b, c, d] = immediate.to_ne_bytes();
        u64::from_ne_bytes([code, registers, offset_0, offset_1, a, b, c, d])
    }
    const XDP_PASS: u32 = 2;
    const REDIRECT_MAP: u32 = 51;
    /// Of the queue in struct xdp_md.
    const RX_QUEUE_INDEX: u16 = 16;
    let instructions = [
        // r2 = *(u32 *)(r1 + RX_QUEUE_INDEX)
        instruction(0x61, 0x12, RX_QUEUE_INDEX, 0),
        // r1 = the map, in two halves
        instruction(0x18, 0x11, 0, map.cast_unsigned()),
        0,
        // r3 = what to do where the map has no socket
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
    // SAFETY: so many instructions and a string that ends, both alive.
    owned(unsafe { bpf(BPF_PROG_LOAD, &attributes) }?)
}

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
    // SAFETY: no pointers in it.
    owned(unsafe { bpf(BPF_LINK_CREATE, &attributes) }?)
}

/// # Safety
/// `attributes` are a prefix of those of the command, without padding; all pointers in them are to
/// what the command says.
unsafe fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<u64> {
    // SAFETY: the kernel reads so many bytes, and takes those that are missing for zeroes; the rest
    // is the caller's promise.
    check(unsafe { libc::syscall(libc::SYS_bpf, command, &raw const *attributes, size_of::<T>()) })
}

fn owned(descriptor: u64) -> io::Result<OwnedFd> {
    let descriptor = RawFd::try_from(descriptor).map_err(io::Error::other)?;
    // SAFETY: bpf(2) just opened it, closed on exec, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
