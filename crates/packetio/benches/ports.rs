//! What a port costs: one core that only receives and transmits, between two ports of each kind.
//!
//!     cargo bench -p packetio --bench ports [--features dpdk] [-- KIND...]
//!
//! A generator on another core sends frames to one port and takes them from the other. On links
//! between interfaces (veth), the core that sends also does the kernel's work of receiving, so
//! that a figure is that of a whole hop. `capacity` is what the forwarding core could do, in packets per
//! second of its processor time while it has some; other load on the machine does not count.
//! `flooded` is what comes through when the generator sends all that it can, which may be less;
//! `loss-free` is the highest rate of a search at which nothing is lost; latency is that of single
//! packets, from before the generator's call to after it sees the packet. Each figure is the
//! median of the trials, and the lowest and highest behind it. Nothing passes or fails here.

#[path = "ports/measure.rs"]
#[expect(dead_code, reason = "what only the benchmark of the switch needs")]
mod measure;
#[path = "../tests/interfaces/namespace.rs"]
#[expect(dead_code, reason = "what only the tests need")]
mod namespace;

use measure::{Bench, flooded, latency, loss_free};
use namespace::Namespace;
use packetio::{OpenError, Port, af_packet, memory, xdp};
use statistics::Spread;

const TRIALS: usize = 5;
const PROBES: usize = 2000;

/// A way to have four ports: to send to, to receive from, to transmit to, to count at.
struct Kind {
    name: &'static str,
    open: fn() -> Result<[Port; 4], OpenError>,
}

const KINDS: &[Kind] = &[
    Kind { name: "memory", open: lines },
    Kind { name: "af_packet", open: packet_sockets },
    Kind { name: "xdp", open: xdp_sockets },
    Kind { name: "xdp,generic", open: generic_xdp_sockets },
    #[cfg(feature = "dpdk")]
    Kind { name: "dpdk af_packet", open: dpdk_packet_sockets },
    #[cfg(feature = "dpdk")]
    Kind { name: "dpdk memif", open: dpdk_memory },
];

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    println!(
        "{} trials; thousands of packets per second; latency in microseconds, {PROBES} packets",
        TRIALS
    );
    println!(
        "{:<16} {:>5}  {:>20} {:>20}  {:>20}  {:>16}  {:>16}",
        "ports", "bytes", "capacity", "flooded", "loss-free", "latency p50", "p99"
    );
    for kind in KINDS {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == kind.name) {
            continue;
        }
        let Some(namespace) = Namespace::new() else { continue };
        namespace.link("send", &namespace, "receive", 1500);
        namespace.link("transmit", &namespace, "count", 1500);
        namespace.run(|| match (kind.open)() {
            Ok(ports) => Bench::run(ports, |bench| {
                for bytes in [64, 1500] {
                    // Those are lengths on a link, with the FCS.
                    bench.set_length(bytes - 4);
                    println!("{:<16} {bytes:>5}  {}", kind.name, trials(bench));
                }
            }),
            Err(error) => println!("SKIPPED: {}: {error}", kind.name),
        });
    }
}

fn trials(bench: &mut Bench) -> String {
    let mut figures: [Vec<f64>; 5] = Default::default();
    for _ in 0..TRIALS {
        let (peak, capacity) = flooded(bench);
        let (p50, p99) = latency(bench, PROBES);
        let values = [capacity / 1e3, peak / 1e3, loss_free(bench, peak) / 1e3, p50, p99];
        for (figure, value) in figures.iter_mut().zip(values) {
            figure.push(value);
        }
    }
    let [capacity, flooded, loss_free, p50, p99] =
        figures.map(|values| Spread::of(&values).expect("trials"));
    format!("{capacity:>20} {flooded:>20}  {loss_free:>20}  {p50:>16}  {p99:>16}")
}

fn lines() -> Result<[Port; 4], OpenError> {
    let [send, receive] = memory::line("there", 4096);
    let [transmit, count] = memory::line("back", 4096);
    Ok([send, receive, transmit, count])
}

fn packet_sockets() -> Result<[Port; 4], OpenError> {
    let port = |name| af_packet::open(name, 1);
    Ok([port("send")?, port("receive")?, port("transmit")?, port("count")?])
}

fn xdp_sockets() -> Result<[Port; 4], OpenError> {
    let port = |name| xdp::open(name, false, 1);
    Ok([port("send")?, port("receive")?, port("transmit")?, port("count")?])
}

fn generic_xdp_sockets() -> Result<[Port; 4], OpenError> {
    let port = |name| xdp::open(name, true, 1);
    Ok([port("send")?, port("receive")?, port("transmit")?, port("count")?])
}

/// Two lines of memory that DPDK shares between its devices.
#[cfg(feature = "dpdk")]
fn dpdk_memory() -> Result<[Port; 4], OpenError> {
    let end = |number: u8, role: &str, line: u8| {
        let socket = format!("planimeter-{}-{line}", std::process::id());
        packetio::dpdk::open(&format!("net_memif{number},role={role},id={line},socket={socket}"), 1)
    };
    let mut ports =
        [end(0, "server", 0)?, end(1, "client", 0)?, end(2, "server", 1)?, end(3, "client", 1)?];
    // The ends have to find each other.
    let began = std::time::Instant::now();
    while !ports.iter_mut().all(|port| port.queues.iter_mut().all(|queue| queue.reopen())) {
        if began.elapsed().as_secs() > 5 {
            let source = std::io::ErrorKind::TimedOut.into();
            return Err(OpenError::Dpdk { device: "net_memif".to_owned(), source });
        }
    }
    Ok(ports)
}

/// DPDK between packet sockets of ours.
#[cfg(feature = "dpdk")]
fn dpdk_packet_sockets() -> Result<[Port; 4], OpenError> {
    let device = |number: u8, name: &str| {
        packetio::dpdk::open(&format!("net_af_packet{number},iface={name}"), 1)
    };
    let port = |name| af_packet::open(name, 1);
    Ok([port("send")?, device(0, "receive")?, device(1, "transmit")?, port("count")?])
}
