//! What `shim/dpdk.c` has, made safe to call.
#![allow(unsafe_code, reason = "calls into the C shim")]

use std::ffi::{CStr, CString, c_char, c_int};
use std::fs;
use std::io;
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Packets that are taken or handed over at once, at most.
pub(super) const BURST: usize = 64;

#[repr(C)]
#[derive(Debug)]
struct RawPort {
    id: u16,
    mtu: u16,
    name: [c_char; 64],
    pool: *mut Opaque,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct RawPacket {
    buffer: *mut Opaque,
    bytes: *const u8,
    length: u32,
}

/// DPDK's own structures, which only the shim looks into.
#[repr(C)]
#[derive(Debug)]
struct Opaque([u8; 0]);

unsafe extern "C" {
    fn shim_start(lcores: *const c_char, huge_pages: c_int) -> c_int;
    fn shim_open(port: *mut RawPort, arguments: *const c_char, queues: u16) -> c_int;
    fn shim_close(port: *mut RawPort);
    fn shim_stop(port: *const RawPort);
    fn shim_start_again(port: *const RawPort) -> c_int;
    fn shim_is_up(port: *const RawPort) -> c_int;
    fn shim_missed(port: *const RawPort) -> u64;
    fn shim_receive(port: *const RawPort, queue: u16, into: *mut RawPacket, count: u16) -> u16;
    fn shim_free(packets: *mut RawPacket, count: u16);
    fn shim_copy(port: *const RawPort, bytes: *const u8, length: u16) -> *mut Opaque;
    fn shim_transmit(port: *const RawPort, queue: u16, from: *mut *mut Opaque, count: u16) -> u16;
    fn shim_drop(buffer: *mut Opaque);
}

/// A device that was opened, until this is dropped.
#[derive(Debug)]
pub(super) struct Device {
    port: RawPort,
    /// DPDK's arguments, and the queues of each direction.
    made_of: (CString, u16),
}

/// Devices of `net_memif` that were closed: stopped, and to be started again by who opens them. To close one (DPDK 22.11)
/// leaves a thread that accepts on a closed socket without end, in freed memory. Who makes a device, or takes one away, holds this
/// meanwhile: DPDK does not let several threads do so at once.
static STOPPED: Mutex<Vec<Device>> = Mutex::new(Vec::new());

/// In which time an end of a memory interface hears that the other one has left, at the latest.
const HEARS: Duration = Duration::from_secs(1);
/// What DPDK's thread is given to take a connection apart, of which it says nothing; it takes microseconds.
const SETTLES: Duration = Duration::from_millis(5);

// SAFETY: DPDK's calls on a port may come from any thread, as long as each of its queues is used by
// one at a time, which `Queue` sees to.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

/// Why a device cannot be opened.
#[derive(Debug)]
pub(super) enum Failure {
    TooFewQueues(u16),
    System(io::Error),
}

impl Device {
    /// Makes a device of DPDK's arguments, with so many queues for each direction.
    pub(super) fn open(arguments: &str, queues: u16) -> Result<(Arc<Self>, Vec<Queue>), Failure> {
        start().map_err(Failure::System)?;
        let arguments = CString::new(arguments)
            .map_err(|_| Failure::System(io::ErrorKind::InvalidInput.into()))?;
        let made_of = (arguments.clone(), queues);
        let mut stopped = STOPPED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(position) = stopped.iter().position(|device| device.made_of == made_of) {
            // SAFETY: a port that is open and stopped, and used by nobody else.
            let error = unsafe { shim_start_again(&raw const stopped[position].port) };
            return match error {
                0.. => Ok(Self::with_queues(stopped.swap_remove(position))),
                error => Err(Failure::System(io::Error::from_raw_os_error(-error))),
            };
        }
        let mut port = RawPort { id: 0, mtu: 0, name: [0; 64], pool: ptr::null_mut() };
        // SAFETY: both are alive; the shim fills the port.
        let error = unsafe { shim_open(&mut port, arguments.as_ptr(), queues) };
        match -error {
            0 => {}
            libc::ENOSPC => return Err(Failure::TooFewQueues(port.mtu)),
            error => return Err(Failure::System(io::Error::from_raw_os_error(error))),
        }
        Ok(Self::with_queues(Self { port, made_of }))
    }

    fn with_queues(device: Self) -> (Arc<Self>, Vec<Queue>) {
        let device = Arc::new(device);
        let queue = |index| Queue {
            device: Arc::clone(&device),
            index,
            waiting: [ptr::null_mut(); BURST],
            count: 0,
        };
        let queues = (0..device.made_of.1).map(queue).collect();
        (device, queues)
    }

    /// Stops a device of `net_memif`. DPDK 22.11 takes a connection apart on the thread that stops its device, and on a thread of its
    /// own when it hears that the other end has left; both at once free it twice. Where both ends are in this process, one that
    /// stops therefore waits until it has heard of the other, and for what its driver does then.
    fn stop(&self, stopped: &[Self]) {
        let peer_has_left =
            self.socket().is_some() && stopped.iter().any(|other| other.socket() == self.socket());
        if peer_has_left {
            let begin = Instant::now();
            while self.is_up() && begin.elapsed() < HEARS {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(SETTLES);
        }
        // SAFETY: an open port, which nobody uses any more: its queues hold this device.
        unsafe { shim_stop(&raw const self.port) };
        thread::sleep(SETTLES);
    }

    /// The socket at which a device of `net_memif` meets the other end.
    fn socket(&self) -> Option<&[u8]> {
        let arguments = self.made_of.0.as_bytes().split(|byte| *byte == b',');
        arguments.into_iter().find_map(|argument| argument.strip_prefix(b"socket="))
    }

    fn is_memif(&self) -> bool {
        self.made_of.0.as_bytes().starts_with(b"net_memif")
    }

    pub(super) fn mtu(&self) -> usize {
        usize::from(self.port.mtu)
    }

    /// Whether the other end is there.
    pub(super) fn is_up(&self) -> bool {
        // SAFETY: an open port.
        unsafe { shim_is_up(&raw const self.port) != 0 }
    }

    /// Packets that came and found no room, ever.
    pub(super) fn missed(&self) -> u64 {
        // SAFETY: an open port.
        unsafe { shim_missed(&raw const self.port) }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let mut stopped = STOPPED.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_memif() {
            self.stop(&stopped);
            let (id, mtu, name, pool) =
                (self.port.id, self.port.mtu, self.port.name, self.port.pool);
            let (port, made_of) = (RawPort { id, mtu, name, pool }, self.made_of.clone());
            stopped.push(Self { port, made_of });
            return;
        }
        // SAFETY: as in `stop`.
        unsafe { shim_close(&mut self.port) };
    }
}

/// One queue of a device, for both directions. There is one of each index.
#[derive(Debug)]
pub(super) struct Queue {
    device: Arc<Device>,
    index: u16,
    /// Copies that are to leave: the first `count`.
    waiting: [*mut Opaque; BURST],
    count: usize,
}

// SAFETY: its copies are its own, and DPDK's calls may come from any thread.
unsafe impl Send for Queue {}

impl Queue {
    /// Lets `take` see the packets that came, at most so many; those in several buffers, which are
    /// longer than any that a port of this kind has, are empty. Returns their number.
    pub(super) fn receive(&mut self, most: usize, mut take: impl FnMut(&[u8])) -> usize {
        let nothing = RawPacket { buffer: ptr::null_mut(), bytes: ptr::null(), length: 0 };
        let mut packets = [nothing; BURST];
        let most = most.min(BURST) as u16;
        let port = &raw const self.device.port;
        // SAFETY: an open port, a queue of it that is ours (`&mut`), and room for so many.
        let count = unsafe { shim_receive(port, self.index, packets.as_mut_ptr(), most) };
        for packet in packets.iter().take(usize::from(count)) {
            // SAFETY: the shim says where so many bytes are, which stay until they are freed.
            take(unsafe { std::slice::from_raw_parts(packet.bytes, packet.length as usize) });
        }
        // SAFETY: the shim filled so many, and no slice of them is left.
        unsafe { shim_free(packets.as_mut_ptr(), count) };
        usize::from(count)
    }

    pub(super) fn is_full(&self) -> bool {
        self.count == BURST
    }

    /// Takes a copy of a packet that is to leave; false if there is no room. It must not be longer
    /// than the device's MTU and its header.
    pub(super) fn push(&mut self, packet: &[u8]) -> bool {
        let Some(place) = self.waiting.get_mut(self.count) else { return false };
        let Ok(length) = u16::try_from(packet.len()) else { return false };
        // SAFETY: an open port, and so many bytes.
        let copy = unsafe { shim_copy(&raw const self.device.port, packet.as_ptr(), length) };
        if copy.is_null() {
            return false;
        }
        *place = copy;
        self.count += 1;
        true
    }

    /// Hands to the device what it has room for; returns how many packets.
    pub(super) fn flush(&mut self) -> usize {
        let (port, count) = (&raw const self.device.port, self.count as u16);
        // SAFETY: an open port, a queue of it that is ours, and so many copies, of which the first
        // ones that it takes are no longer ours.
        let taken = unsafe { shim_transmit(port, self.index, self.waiting.as_mut_ptr(), count) };
        let taken = usize::from(taken).min(self.count);
        self.waiting.copy_within(taken..self.count, 0);
        self.count -= taken;
        taken
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        for buffer in self.waiting.iter().take(self.count) {
            // SAFETY: a copy that is ours.
            unsafe { shim_drop(*buffer) };
        }
    }
}

/// Starts DPDK, once in a process, on a thread of its own: it binds the thread to a core.
fn start() -> io::Result<()> {
    static STARTED: OnceLock<i32> = OnceLock::new();
    let start = || {
        // Its only worker may run wherever this process may.
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let lcores = CString::new(format!("0@(0-{})", cores - 1)).unwrap_or_default();
        let lcores: &CStr = &lcores;
        // SAFETY: a string that ends; called once.
        unsafe { shim_start(lcores.as_ptr(), c_int::from(has_huge_pages())) }
    };
    let started = STARTED
        .get_or_init(|| thread::scope(|scope| scope.spawn(start).join().unwrap_or(-libc::EINVAL)));
    match -started {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Whether the system has set aside as many as DPDK is told to take.
fn has_huge_pages() -> bool {
    const WANTED: u64 = 256 << 20;
    let Ok(sizes) = fs::read_dir("/sys/kernel/mm/hugepages") else { return false };
    let free = sizes.flatten().map(|size| {
        let name = size.file_name();
        let kilobytes = name.to_str().and_then(|name| name.strip_prefix("hugepages-"));
        let kilobytes = kilobytes.and_then(|rest| rest.strip_suffix("kB")?.parse::<u64>().ok());
        let count = fs::read_to_string(size.path().join("free_hugepages"));
        let count = count.ok().and_then(|count| count.trim().parse::<u64>().ok());
        kilobytes.unwrap_or(0) * 1024 * count.unwrap_or(0)
    });
    free.sum::<u64>() >= WANTED
}
