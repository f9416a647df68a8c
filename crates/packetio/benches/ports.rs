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

#[path = "ports/kinds.rs"]
mod kinds;
#[path = "ports/measure.rs"]
#[expect(dead_code, reason = "what only the benchmark of the switch needs")]
mod measure;
#[path = "../tests/interfaces/namespace.rs"]
#[expect(dead_code, reason = "what only the tests need")]
mod namespace;

use measure::{Bench, flooded, latency, loss_free};
use statistics::Spread;

const TRIALS: usize = 5;
const PROBES: usize = 2000;

fn main() {
    println!(
        "{} trials; thousands of packets per second; latency in microseconds, {PROBES} packets",
        TRIALS
    );
    println!(
        "{:<16} {:>5}  {:>20} {:>20}  {:>20}  {:>16}  {:>16}",
        "ports", "bytes", "capacity", "flooded", "loss-free", "latency p50", "p99"
    );
    for kind in kinds::wanted() {
        kind.with_ports(|ports| {
            Bench::run(ports, |bench| {
                for bytes in [64, 1500] {
                    // Those are lengths on a link, with the FCS.
                    bench.set_length(bytes - 4);
                    println!("{:<16} {bytes:>5}  {}", kind.name, trials(bench));
                }
            });
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
