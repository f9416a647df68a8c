//! Measures the cost of a port: one core only receives and transmits, between two ports of each
//! kind.
//!
//!     cargo bench -p packetio --bench ports [--features dpdk] [-- KIND...]
//!
//! A generator on another core sends frames to one port and receives them from the other. On links
//! between interfaces (veth), the sending core also performs the kernel's receive processing, so a
//! figure covers a whole hop. `capacity` is the number of packets per second of processor time that
//! the forwarding core can process while it has packets; other load on the machine does not count.
//! `flooded` is the throughput while the generator sends at its maximum rate, which may be less.
//! `loss-free` is the highest rate without loss, found by a search. The latency is that of single
//! packets, from before the generator's call until it sees the packet. Each figure is the median of
//! the trials, followed by the lowest and the highest. The benchmark has no pass criterion.

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
                    // The lengths are those on a link, including the FCS.
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
