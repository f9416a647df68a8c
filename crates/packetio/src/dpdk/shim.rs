//! A safe interface to the C functions of `shim/dpdk.c`.
#![allow(unsafe_code, reason = "calls into the C shim")]

use std::ffi::{CStr, CString, c_char, c_int};
use std::fs;
use std::io;
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The largest number of packets that are received or sent at once.
pub(super) const BURST: usize = 64;

/// The properties of an open DPDK port. The C functions fill in this structure.
#[repr(C)]
#[derive(Debug)]
struct RawPort {
    id: u16,
    mtu: u16,
    name: [c_char; 64],
    pool: *mut Opaque,
}

/// The location of a received packet in DPDK's memory. The C functions fill in this structure.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawPacket {
    buffer: *mut Opaque,
    bytes: *const u8,
    length: u32,
}

/// A structure of DPDK, which only the C functions access.
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

/// An open DPDK device. It stays open until this value is dropped.
#[derive(Debug)]
pub(super) struct Device {
    port: RawPort,
    /// The arguments with which DPDK created the device, and the number of queues in each
    /// direction.
    arguments_and_queues: (CString, u16),
}

/// The devices of `net_memif` that were stopped, which [`Device::open`] restarts. Closing such a
/// device (in DPDK 22.11) would leave a thread that forever accepts connections on a closed socket
/// in freed memory. The lock is also held while a device is created or removed, because DPDK does
/// not support creating or removing devices in several threads at the same time.
static STOPPED: Mutex<Vec<Device>> = Mutex::new(Vec::new());

/// The longest time after which one end of a memory interface notices that the other end has left.
const PEER_LEAVE_TIME: Duration = Duration::from_secs(1);
/// The time for which this module waits while DPDK's thread tears down a connection, which takes
/// microseconds. DPDK does not report when it has finished.
const TEARDOWN_TIME: Duration = Duration::from_millis(5);

// SAFETY: DPDK permits calls on a port from any thread, as long as each queue is used by one thread
// at a time. `Queue` ensures this, because its methods take `&mut self`.
unsafe impl Send for Device {}
// SAFETY: shared references only allow calls that DPDK permits from several threads at once. A
// queue of the device is only used through `&mut Queue`.
unsafe impl Sync for Device {}

/// The reason why a device cannot be opened.
#[derive(Debug)]
pub(super) enum Failure {
    TooFewQueues(u16),
    System(io::Error),
}

impl Device {
    /// Creates a device from DPDK's arguments, with this number of queues in each direction.
    pub(super) fn open(arguments: &str, queues: u16) -> Result<(Arc<Self>, Vec<Queue>), Failure> {
        start().map_err(Failure::System)?;
        let arguments = CString::new(arguments)
            .map_err(|_| Failure::System(io::ErrorKind::InvalidInput.into()))?;
        let arguments_and_queues = (arguments.clone(), queues);
        let mut stopped = STOPPED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(position) =
            stopped.iter().position(|device| device.arguments_and_queues == arguments_and_queues)
        {
            // SAFETY: the port is open and stopped, and no queue refers to it.
            let error = unsafe { shim_start_again(&raw const stopped[position].port) };
            return match error {
                0.. => Ok(Self::with_queues(stopped.swap_remove(position))),
                error => Err(Failure::System(io::Error::from_raw_os_error(-error))),
            };
        }
        let mut port = RawPort { id: 0, mtu: 0, name: [0; 64], pool: ptr::null_mut() };
        // SAFETY: both pointers are valid for the call; the shim fills the port.
        let error = unsafe { shim_open(&mut port, arguments.as_ptr(), queues) };
        match -error {
            0 => {}
            libc::ENOSPC => return Err(Failure::TooFewQueues(port.mtu)),
            error => return Err(Failure::System(io::Error::from_raw_os_error(error))),
        }
        Ok(Self::with_queues(Self { port, arguments_and_queues }))
    }

    fn with_queues(device: Self) -> (Arc<Self>, Vec<Queue>) {
        let device = Arc::new(device);
        let queue = |index| Queue {
            device: Arc::clone(&device),
            index,
            waiting: [ptr::null_mut(); BURST],
            count: 0,
        };
        let queues = (0..device.arguments_and_queues.1).map(queue).collect();
        (device, queues)
    }

    /// Stops a device of `net_memif`. DPDK 22.11 tears down a connection on two threads: on the
    /// thread that stops the device, and on its own thread when that thread notices that the other
    /// end has left. If both threads do so at the same time, memory is freed twice. Therefore, if
    /// both ends are in this process, the end that is stopped second waits until it has noticed
    /// that the other end has left, and until the driver has finished.
    fn stop(&self, stopped: &[Self]) {
        let peer_has_left =
            self.socket().is_some() && stopped.iter().any(|other| other.socket() == self.socket());
        if peer_has_left {
            let begin = Instant::now();
            while self.is_up() && begin.elapsed() < PEER_LEAVE_TIME {
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(TEARDOWN_TIME);
        }
        // SAFETY: the port is open, and no longer used: its queues hold references to this device.
        unsafe { shim_stop(&raw const self.port) };
        thread::sleep(TEARDOWN_TIME);
    }

    /// Returns the path of the socket by which a device of `net_memif` connects to its other end.
    /// Returns `None` for other devices.
    fn socket(&self) -> Option<&[u8]> {
        let arguments = self.arguments_and_queues.0.as_bytes().split(|byte| *byte == b',');
        arguments.into_iter().find_map(|argument| argument.strip_prefix(b"socket="))
    }

    fn is_memif(&self) -> bool {
        self.arguments_and_queues.0.as_bytes().starts_with(b"net_memif")
    }

    pub(super) fn mtu(&self) -> usize {
        usize::from(self.port.mtu)
    }

    /// Returns whether the link of the device to its other end is up.
    pub(super) fn is_up(&self) -> bool {
        // SAFETY: the port is open until this is dropped.
        unsafe { shim_is_up(&raw const self.port) != 0 }
    }

    /// Returns the number of packets that the device has dropped for lack of room since it was
    /// created.
    pub(super) fn missed(&self) -> u64 {
        // SAFETY: the port is open until this is dropped.
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
            let (port, arguments_and_queues) =
                (RawPort { id, mtu, name, pool }, self.arguments_and_queues.clone());
            stopped.push(Self { port, arguments_and_queues });
            return;
        }
        // SAFETY: the port is open, and no longer used: its queues hold references to this device.
        unsafe { shim_close(&mut self.port) };
    }
}

/// One queue of a device, for both directions. No two values of this type refer to the same queue.
#[derive(Debug)]
pub(super) struct Queue {
    device: Arc<Device>,
    index: u16,
    /// The copies of packets to send, of which the first `count` are valid.
    waiting: [*mut Opaque; BURST],
    count: usize,
}

// SAFETY: the queue owns its copies, and DPDK permits calls from any thread.
unsafe impl Send for Queue {}

impl Queue {
    /// Passes at most `most` received packets to `take`, and returns their number. A packet that
    /// DPDK stores in several buffers, because it is longer than the MTU of these devices, is
    /// passed as an empty one.
    pub(super) fn receive(&mut self, most: usize, mut take: impl FnMut(&[u8])) -> usize {
        let nothing = RawPacket { buffer: ptr::null_mut(), bytes: ptr::null(), length: 0 };
        let mut packets = [nothing; BURST];
        let most = most.min(BURST) as u16;
        let port = &raw const self.device.port;
        // SAFETY: the port is open, the queue is used by this thread only (`&mut`), and the array
        // has room for `most` packets.
        let count = unsafe { shim_receive(port, self.index, packets.as_mut_ptr(), most) };
        for packet in packets.iter().take(usize::from(count)) {
            // SAFETY: the shim returned a pointer to `length` bytes, which are valid until the
            // packet is freed.
            take(unsafe { std::slice::from_raw_parts(packet.bytes, packet.length as usize) });
        }
        // SAFETY: the shim filled `count` packets, and no slice of them is left.
        unsafe { shim_free(packets.as_mut_ptr(), count) };
        usize::from(count)
    }

    pub(super) fn is_full(&self) -> bool {
        self.count == BURST
    }

    /// Copies a packet for transmission. Returns false if there is no room for it. The packet must
    /// not be longer than the device's MTU and its header.
    pub(super) fn push(&mut self, packet: &[u8]) -> bool {
        let Some(place) = self.waiting.get_mut(self.count) else { return false };
        let Ok(length) = u16::try_from(packet.len()) else { return false };
        // SAFETY: the port is open, and the pointer is valid for `length` bytes.
        let copy = unsafe { shim_copy(&raw const self.device.port, packet.as_ptr(), length) };
        if copy.is_null() {
            return false;
        }
        *place = copy;
        self.count += 1;
        true
    }

    /// Passes waiting packets to the device until it has no more room. Returns the number of
    /// packets that it took.
    pub(super) fn flush(&mut self) -> usize {
        let (port, count) = (&raw const self.device.port, self.count as u16);
        // SAFETY: the port is open, the queue is used by this thread only (`&mut`), and the first
        // `count` pointers are copies that this queue owns. The queue drops the pointers that DPDK
        // has taken.
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
            // SAFETY: the queue owns this copy.
            unsafe { shim_drop(*buffer) };
        }
    }
}

/// Initialises DPDK, once per process, on a separate thread, because DPDK pins the thread to a
/// core.
fn start() -> io::Result<()> {
    static STARTED: OnceLock<i32> = OnceLock::new();
    let start = || {
        // DPDK's only worker may run on any core that this process may use.
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let lcores = CString::new(format!("0@(0-{})", cores - 1)).unwrap_or_default();
        let lcores: &CStr = &lcores;
        // SAFETY: the string is terminated, and the function is called once.
        unsafe { shim_start(lcores.as_ptr(), c_int::from(has_huge_pages())) }
    };
    let started = STARTED
        .get_or_init(|| thread::scope(|scope| scope.spawn(start).join().unwrap_or(-libc::EINVAL)));
    match -started {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Returns whether the system has enough free huge pages for DPDK's configuration.
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
