//! Trees with many servers and long paths: a tree of depth 12 whose flows go from the leaves
//! towards the root over 10 to 12 servers, four flows for each server. Rates and bursts of flows
//! are random, and each server has a load of 60 %. The number of servers and a seed determine the
//! tree.

use std::fmt::Write as _;

use calculus::network::{Format, Network, format};

use crate::random::Random;

/// The number of levels of the tree: a path from a leaf to the root visits one server per level.
const DEPTH: usize = 12;
/// The smallest number of servers on a path.
const SHORTEST: usize = 10;
/// The number of flows for each server.
const FLOWS: usize = 4;

/// A flow before it is written: its servers in order, its rate in kbit/s, its burst in packets.
struct Shape {
    path: Vec<usize>,
    rate: usize,
    packets: usize,
}

/// Builds the network with the given number of servers.
pub(crate) fn network(servers: usize, seed: u64) -> Network {
    format::read(&file(servers, seed), Format::Toml).expect("a network")
}

/// Returns the network with the given number of servers as a file in Planimeter's own format.
pub(crate) fn file(servers: usize, seed: u64) -> String {
    let mut random = Random(seed);
    let levels = levels(servers);
    let mut parents = vec![None; servers];
    for pair in levels.windows(2) {
        let [above, level] = pair else { continue };
        for server in level.clone() {
            parents[server] = Some(above.start + random.below(above.len()));
        }
    }
    let first = levels[SHORTEST - 1].start;
    let shapes: Vec<Shape> = (0..FLOWS * servers)
        .map(|_| {
            let mut path = vec![first + random.below(servers - first)];
            while let Some(parent) = path.last().and_then(|last| parents[*last]) {
                path.push(parent);
            }
            path.truncate(SHORTEST + random.below(path.len() + 1 - SHORTEST));
            Shape { path, rate: 10 * (1 + random.below(100)), packets: 1 + random.below(10) }
        })
        .collect();
    let mut rates = vec![0; servers];
    for shape in &shapes {
        for server in &shape.path {
            rates[*server] += shape.rate;
        }
    }
    let mut text =
        format!("name = \"tree of {servers} servers, seed {seed}\"\ntime-unit = \"ms\"\n");
    for (server, rate) in rates.into_iter().enumerate() {
        // A load of 60 %; a server without flows has some service, too.
        let rate = rate.max(60);
        let _ = writeln!(
            text,
            "[[server]]\nname = \"s{server}\"\nservice = {{ rate-latency = {{ rate = \"{rate}/0.6 kbps\", latency = \"{} us\" }} }}",
            1 + random.below(20)
        );
    }
    for (flow, Shape { path, rate, packets }) in shapes.into_iter().enumerate() {
        let path: Vec<String> = path.iter().map(|server| format!("\"s{server}\"")).collect();
        let _ = writeln!(
            text,
            "[[flow]]\nname = \"f{flow}\"\npath = [{}]\narrival = {{ token-bucket = {{ burst = \"{} B\", rate = \"{rate} kbps\" }} }}",
            path.join(", "),
            1_500 * packets
        );
    }
    text
}

/// Returns the servers of each level, the root first. Levels grow by the largest factor with which
/// all servers suffice.
fn levels(servers: usize) -> Vec<std::ops::Range<usize>> {
    assert!(servers >= DEPTH, "a tree of depth {DEPTH} has at least {DEPTH} servers");
    let sizes = |factor: f64| -> Vec<usize> {
        (0..DEPTH).map(|level| factor.powi(level as i32) as usize).collect()
    };
    // The largest factor, in steps of a thousandth, that needs no more servers than there are.
    let fits =
        |step: &i32| sizes(f64::from(1_000 + step) / 1_000.0).iter().sum::<usize>() <= servers;
    let step = (0..).take_while(fits).last().unwrap_or(0);
    let mut sizes = sizes(f64::from(1_000 + step) / 1_000.0);
    let placed: usize = sizes.iter().sum();
    sizes[DEPTH - 1] += servers - placed;
    let mut end = 0;
    let mut level = |size: usize| {
        end += size;
        end - size..end
    };
    sizes.into_iter().map(&mut level).collect()
}
