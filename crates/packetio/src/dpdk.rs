//! Ports on DPDK's virtual devices `net_af_packet`, `net_memif`, `net_ring` and `net_null`. A
//! device is described in DPDK's syntax, such as `net_af_packet0,iface=veth0`
//! (doc.dpdk.org/guides/nics).
//!
//! DPDK is initialised when the first port is opened. It uses huge pages if 256 MiB of them are
//! free. Two drivers have limitations:
//!
//! * `net_af_packet` reports neither partial checksums nor super-frames (frames that the kernel has
//!   not segmented yet). This module completes partial checksums, but the driver truncates
//!   super-frames, so segmentation offload must be disabled for a sender on the same machine
//!   (`ethtool -K INTERFACE tso off gso off`). The packet sockets of [`crate::af_packet`] need no
//!   such setting.
//! * The server of a `net_memif` must run when its client is opened. A closed device is only
//!   stopped, because the driver does not survive its removal. If the device is opened again with
//!   the same arguments, it is restarted.

mod shim;

use crate::link::Link;
use crate::offload::complete_checksum;
use crate::{Burst, OpenError, Port, PortCounters, PortDown, Queue, Transmitted};
use shim::{Device, Failure};
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const DEVICES: [&str; 4] = ["net_af_packet", "net_memif", "net_ring", "net_null"];
/// The number of receive calls between two checks of the device's link and of dropped packets.
const UPKEEP: u32 = 128;

/// Opens a device with one queue for each worker. `device` is its description in DPDK's syntax.
///
/// # Errors
/// Returns an [`OpenError`] if DPDK cannot be initialised, does not create the device, or supports
/// fewer queues.
pub fn open(device: &str, workers: usize) -> Result<Port, OpenError> {
    let name = device.split(',').next().unwrap_or_default().to_owned();
    if !DEVICES.iter().any(|known| name.starts_with(known)) {
        return Err(OpenError::NoSuchDevice { device: name });
    }
    let wanted = u16::try_from(workers.max(1)).unwrap_or(u16::MAX);
    let (device, queues) = Device::open(device, wanted).map_err(|failure| match failure {
        Failure::TooFewQueues(queues) => {
            OpenError::TooFewDeviceQueues { device: name.clone(), queues, workers }
        }
        Failure::System(source) => OpenError::Dpdk { device: name.clone(), source },
    })?;
    let counters = Arc::new(PortCounters::default());
    let missed = Arc::new(AtomicU64::new(0));
    let queues = queues.into_iter().map(|queue| {
        let queue = DeviceQueue {
            link: Link {
                name: name.clone(),
                down: None,
                mtu: device.mtu(),
                counters: Arc::clone(&counters),
            },
            queue,
            lengths: VecDeque::new(),
            partial: name.starts_with("net_af_packet"),
            until_upkeep: UPKEEP,
            missed: Arc::clone(&missed),
            device: Arc::clone(&device),
        };
        Box::new(queue) as Box<dyn Queue>
    });
    Ok(Port { queues: queues.collect(), name, counters, recording: None })
}

/// One queue of a port on a DPDK device.
#[derive(Debug)]
struct DeviceQueue {
    link: Link,
    queue: shim::Queue,
    /// The lengths of packets that were accepted but have not been sent yet.
    lengths: VecDeque<u32>,
    /// Whether received packets may have partial checksums, because their senders leave checksums
    /// to a network card.
    partial: bool,
    until_upkeep: u32,
    /// The number of packets that the device has dropped and that a queue has already added to the
    /// counters of the port.
    missed: Arc<AtomicU64>,
    device: Arc<Device>,
}

impl Queue for DeviceQueue {
    fn receive(&mut self, burst: &mut Burst) -> Result<usize, PortDown> {
        let (mut packets, mut bytes, mut dropped) = (0, 0, 0);
        while burst.room() > 0 {
            let most = burst.room().min(shim::BURST);
            let partial = self.partial;
            let count = self.queue.receive(most, |packet| {
                let frame = if packet.is_empty() { None } else { burst.push_parts(&[packet]) };
                let Some(frame) = frame else { return dropped += 1 };
                if partial {
                    complete_checksum(frame);
                }
                (packets, bytes) = (packets + 1, bytes + frame.len() as u64);
            });
            if count < most {
                break;
            }
        }
        self.until_upkeep -= 1;
        if self.until_upkeep == 0 {
            self.upkeep();
        }
        if dropped > 0 {
            self.link.counters.receive_dropped(dropped);
        }
        self.link.received(packets, bytes)
    }

    fn transmit(&mut self, packet: &[u8]) -> Transmitted {
        if let Err(refusal) = self.link.admit(packet, usize::MAX) {
            return refusal;
        }
        if self.queue.is_full() {
            self.flush();
        }
        if self.queue.push(packet) {
            self.lengths.push_back(packet.len() as u32);
            return Transmitted::Taken;
        }
        self.link.refused()
    }

    fn flush(&mut self) -> bool {
        if !self.lengths.is_empty() {
            let count = self.queue.flush().min(self.lengths.len());
            let bytes = self.lengths.drain(..count).map(u64::from).sum();
            self.link.counters.transmitted(count as u64, bytes);
        }
        self.lengths.is_empty()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn reopen(&mut self) -> bool {
        self.update_link();
        self.link.down.is_none()
    }
}

impl DeviceQueue {
    /// Updates the recorded state of the link.
    fn update_link(&mut self) {
        self.link.down = (!self.device.is_up()).then_some(libc::ENETDOWN);
    }

    fn upkeep(&mut self) {
        self.until_upkeep = UPKEEP;
        self.update_link();
        let missed = self.device.missed();
        let new = missed.saturating_sub(self.missed.fetch_max(missed, Ordering::Relaxed));
        if new > 0 {
            self.link.counters.receive_dropped(new);
        }
    }
}
