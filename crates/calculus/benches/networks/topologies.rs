//! Rings, meshes and tandems with published bounds of panco's PLP.
//!
//! Guso, "ECOWCDB: efficient computation of worst-case delay-bounds for time-sensitive networks"
//! (EPFL, 2023; github.com/EdinGuso/ecowcdb) searched all ways to cut these networks for the
//! smallest bound. All servers but the sink of a mesh have a rate of 10 Gbit/s, that of their link,
//! and all have a latency of 10 us. Each flow has a burst of 8 kbit, and a rate that loads the most
//! loaded server by half.

use calculus::network::{Flow, Network, NetworkBuilder, Server};
use calculus::{Curve, Rational};

const RATE: i64 = 10_000_000_000;
const BURST: i64 = 8_000;

/// A network whose first flow has a published bound.
pub(crate) struct Published {
    pub(crate) name: &'static str,
    pub(crate) network: Network,
    /// The published bound, in microseconds.
    pub(crate) delay: Rational,
}

/// Returns all networks, small ones first.
pub(crate) fn all() -> Vec<Published> {
    let published = |name, network, hundredths| Published {
        name,
        network,
        delay: Rational::ratio(hundredths, 100),
    };
    vec![
        published("semi ring of 12", ring(12, 7, false), 8_465),
        published("full ring of 8", ring(8, 8, false), 9_859),
        published("full ring of 12", ring(12, 12, false), 14_913),
        published("complete full ring of 7", ring(7, 7, true), 13_918),
        published("complete semi ring of 11", ring(11, 6, true), 10_917),
        published("mesh of 9", mesh(4), 8_925),
        published("sink-tree tandem of 12", sink_tree(12), 13_301),
        published("interleaved tandem of 12", interleaved(12), 14_592),
        published("source-sink tandem of 12", source_sink(12), 14_705),
    ]
}

/// Builds a ring with a flow from each server over `longest` servers; if `complete`, also one over
/// each smaller number.
fn ring(servers: usize, longest: usize, complete: bool) -> Network {
    let mut paths = Vec::new();
    for first in 0..servers {
        for length in (1..=longest).rev().take(if complete { longest } else { 1 }) {
            paths.push((first..first + length).map(|at| at % servers).collect());
        }
    }
    let most = if complete { longest * (longest + 1) / 2 } else { longest };
    network(&vec![RATE; servers], most, &paths)
}

/// Builds two rows of `columns` servers, a flow over each path from left to right, and a sink of
/// twice the rate.
fn mesh(columns: usize) -> Network {
    let mut rates = vec![RATE; 2 * columns];
    rates.push(2 * RATE);
    let way = |choice: usize| {
        let row = |column: usize| choice >> (columns - 1 - column) & 1;
        (0..columns).map(|column| 2 * column + row(column)).chain([2 * columns]).collect()
    };
    let paths: Vec<Vec<usize>> = (0..1 << columns).map(way).collect();
    network(&rates, 1 << (columns - 1), &paths)
}

fn sink_tree(servers: usize) -> Network {
    let paths: Vec<Vec<usize>> = (0..servers).map(|first| (first..servers).collect()).collect();
    network(&vec![RATE; servers], servers, &paths)
}

fn interleaved(servers: usize) -> Network {
    let mut paths: Vec<Vec<usize>> = vec![(0..servers).collect()];
    paths.extend((1..servers).map(|at| vec![at - 1, at]));
    network(&vec![RATE; servers], 3, &paths)
}

fn source_sink(servers: usize) -> Network {
    let mut paths: Vec<Vec<usize>> = vec![(0..servers).collect()];
    for at in 1..servers {
        paths.extend([(0..at).collect(), (at..servers).collect()]);
    }
    network(&vec![RATE; servers], servers, &paths)
}

/// Builds servers with the given rates, of which the most loaded has `most` flows.
fn network(rates: &[i64], most: usize, paths: &[Vec<usize>]) -> Network {
    let mut builder = NetworkBuilder::new("published");
    let mut ids = Vec::with_capacity(rates.len());
    for (index, rate) in rates.iter().enumerate() {
        let service = Curve::rate_latency(*rate, Rational::ratio(1, 100_000)).expect("a curve");
        let link = Curve::line(0, *rate);
        ids.push(builder.server(Server::new(format!("s{index}"), service).shaped(link)));
    }
    let rate = Rational::ratio(RATE / 2, most as i64);
    let arrival = Curve::token_bucket(BURST, rate).expect("a curve");
    for (index, path) in paths.iter().enumerate() {
        let path = path.iter().map(|server| ids[*server]).collect();
        builder.flow(Flow::new(format!("f{index}"), path, arrival.clone()));
    }
    builder.build().expect("a network")
}
