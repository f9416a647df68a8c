//! Internet-like networks of any size: devices linked by preferential attachment, an output port as
//! a server, and four flows from each server to random devices. Shortest paths first go up towards
//! the core and then down, so that the networks are feed-forward. A seed determines the network on
//! every machine.

use std::collections::{BTreeMap, VecDeque};

use calculus::Curve;
use calculus::network::{Flow, Network, NetworkBuilder, Server};

use crate::random::Random;

/// Builds a network with the given number of servers and four flows per server.
pub(crate) fn network(servers: usize, seed: u64) -> Network {
    let mut random = Random(seed);
    // Add links until there are enough output ports, two for each link.
    let devices = (servers * 100 / 364).max(4);
    let mut links = vec![(0, 1), (1, 2), (0, 2)];
    let mut ends = vec![0, 1, 1, 2, 0, 2];
    for device in 3..devices {
        let to = ends[random.below(ends.len())];
        links.push((to, device));
        ends.extend([to, device]);
    }
    while links.len() < servers / 2 {
        let (a, b) = (ends[random.below(ends.len())], ends[random.below(ends.len())]);
        let (a, b) = (a.min(b), a.max(b));
        if a != b && !links.contains(&(a, b)) {
            links.push((a, b));
            ends.extend([a, b]);
        }
    }
    let mut builder = NetworkBuilder::new("Internet-like");
    let service = Curve::rate_latency(10_000_000_000_i64, 0).expect("a curve");
    let mut ports = BTreeMap::new();
    for (a, b) in &links {
        for (from, to) in [(*a, *b), (*b, *a)] {
            let server = Server::new(format!("{from}-{to}"), service.clone());
            ports.insert((from, to), builder.server(server));
        }
    }
    let mut next = vec![Vec::new(); devices];
    for (from, to) in ports.keys() {
        next[*from].push(*to);
    }
    let arrival = Curve::token_bucket(5_000_000, 5_000_000).expect("a curve");
    let mut flows = 0;
    for source in ports.keys() {
        let ways = Ways::over(&next, *source);
        for _ in 0..4 {
            let path = loop {
                if let Some(path) = ways.to(random.below(devices)) {
                    break path;
                }
            };
            let path = path.windows(2).map(|pair| ports[&(pair[0], pair[1])]).collect();
            builder.flow(Flow::new(format!("f{flows}"), path, arrival.clone()));
            flows += 1;
        }
    }
    builder.build().expect("a network")
}

/// The shortest paths over a given first link that go up (towards lower numbers), then down, so
/// that no cycle can arise.
struct Ways {
    first: (usize, usize),
    /// The state before each state. A state is twice a device's number, plus one on the way down.
    before: Vec<Option<usize>>,
    /// The state in which each device is first reached.
    reached: Vec<Option<usize>>,
}

impl Ways {
    fn over(next: &[Vec<usize>], first: (usize, usize)) -> Self {
        let start = 2 * first.1 + usize::from(first.1 > first.0);
        let mut before = vec![None; 2 * next.len()];
        let mut reached = vec![None; next.len()];
        // The start has no predecessor and refers to itself.
        before[start] = Some(start);
        let mut queue = VecDeque::from([start]);
        while let Some(state) = queue.pop_front() {
            let (at, down) = (state / 2, state % 2 == 1);
            reached[at].get_or_insert(state);
            for to in &next[at] {
                let goes_down = *to > at;
                let onward = 2 * to + usize::from(goes_down);
                if (goes_down || !down) && before[onward].is_none() {
                    before[onward] = Some(state);
                    queue.push_back(onward);
                }
            }
        }
        Self { first, before, reached }
    }

    /// Returns the devices on the path to a device, or `None` if no path leads there or the path
    /// would visit a device twice.
    fn to(&self, sink: usize) -> Option<Vec<usize>> {
        let mut state = self.reached[sink]?;
        let mut path = vec![state / 2];
        while let Some(earlier) = self.before[state].filter(|earlier| *earlier != state) {
            state = earlier;
            path.push(state / 2);
        }
        path.push(self.first.0);
        path.reverse();
        let mut seen = path.clone();
        seen.sort_unstable();
        seen.dedup();
        (seen.len() == path.len()).then_some(path)
    }
}
