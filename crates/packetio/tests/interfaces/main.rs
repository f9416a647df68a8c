//! Tests of ports on interfaces in network namespaces that the tests create.

mod af_packet;
#[cfg(feature = "dpdk")]
mod dpdk;
mod hosts;
mod namespace;
mod timestamp;
mod xdp;

use packetio::{Burst, Frame, Port, Transmitted};
use std::time::{Duration, Instant};

/// The longest time to wait for an expected event.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Waits until `happened` returns true; panics after [`TIMEOUT`].
fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(start.elapsed() < TIMEOUT, "{what} did not happen");
        std::thread::yield_now();
    }
}

/// Receives at least `count` frames from all queues of a port.
fn receive(port: &mut Port, count: usize) -> Vec<Vec<u8>> {
    let mut burst = Burst::new(32);
    let mut frames = Vec::new();
    wait_until(&format!("that {count} frames come"), || {
        for queue in &mut port.queues {
            queue.receive(&mut burst).expect("the port is up");
            frames.extend(burst.frames().iter().map(|frame| Frame::bytes(frame).to_vec()));
            burst.clear();
        }
        frames.len() >= count
    });
    frames
}

/// Returns a frame of `length` bytes with an EtherType that no protocol stack knows.
fn frame(length: usize, seed: u8) -> Vec<u8> {
    let mut frame = vec![0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2, 0x88, 0xb5];
    frame.extend((14..length).map(|index| (index as u8).wrapping_mul(31).wrapping_add(seed)));
    frame
}

fn send(port: &mut Port, packet: &[u8]) {
    assert_eq!(port.queues[0].transmit(packet), Transmitted::Taken, "{} bytes", packet.len());
    port.queues[0].flush();
}

fn exchange(left: &mut Port, right: &mut Port) {
    // The stack may send frames of its own when an interface comes up.
    let ours = |packets: Vec<Vec<u8>>| packets.contains(&frame(60, 1));
    send(left, &frame(60, 1));
    wait_until("that it passes", || ours(receive(right, 1)));
    send(right, &frame(60, 1));
    wait_until("that it passes back", || ours(receive(left, 1)));
}

/// Returns a datagram of a flow. The number of the flow is the last byte of the destination
/// address.
fn udp(flow: u8) -> Vec<u8> {
    let addresses = etherparse::PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
        .ipv4([10, 0, 0, 1], [10, 0, 1, flow], 64)
        .udp(1000, 2000);
    let mut packet = Vec::new();
    addresses.write(&mut packet, &[0; 18]).expect("memory");
    packet
}
