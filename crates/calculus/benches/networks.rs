//! How long analyses take: `cargo bench -p calculus --bench networks`.
//!
//! Each figure is the median of several runs with its range; caches are empty at the start of each
//! run. Beside it is the mean of what the processor worked for a run. The large network is made
//! here, from a fixed seed: devices linked by preferential attachment as on the Internet, an output
//! port as a server, and four flows from each server to random ones over shortest paths that go up
//! towards the core and then down, so that nothing is cyclic.

#[path = "networks/file.rs"]
mod file;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::hint::black_box;
use std::time::{Duration, Instant};

use calculus::network::{
    Analyser, Analysis, Flow, FlowOfInterest, Format, Multiplexing, Network, NetworkBuilder,
    Server, ServerId, Settings, format, simulate,
};
use calculus::{Curve, Rational};
use statistics::Ordered;

fn main() {
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let mut figures = Figures { only };
    reading(&mut figures);
    tandems(&mut figures);
    internet(&mut figures);
}

/// Times things and prints them.
struct Figures {
    only: Option<String>,
}

impl Figures {
    fn time(&mut self, name: &str, mut work: impl FnMut()) {
        if self.only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            return;
        }
        let mut times = Vec::new();
        let (begin, processor) = (Instant::now(), processor_time());
        while times.len() < 5 || (begin.elapsed() < Duration::from_secs(2) && times.len() < 200) {
            let start = Instant::now();
            work();
            times.push(start.elapsed());
            if begin.elapsed() > Duration::from_secs(30) {
                break;
            }
        }
        let processor = processor_time().saturating_sub(processor) / times.len() as u32;
        let times = Ordered::of(times);
        let [least, median, most] = [0.0, 0.5, 1.0].map(|share| times.at(share).expect("runs"));
        println!(
            "{name:<58} {median:>10.3?}  ({least:.3?} to {most:.3?}, {} runs; processor {processor:.3?})",
            times.len()
        );
    }
}

/// Time that the processor has worked for this process, all threads together, to a tick of 10 ms:
/// unlike elapsed time it says something on a machine that does other things as well.
fn processor_time() -> Duration {
    // proc(5): user and system time are the 14th and 15th field; the second ends at the last ')'.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>();
    Duration::from_millis(10 * ticks)
}

/// Reading of files with many flows over a tandem of ten servers, in every format.
fn reading(figures: &mut Figures) {
    for flows in [4_000, 100_000] {
        for (name, format) in [("TOML", Format::Toml), ("JSON", Format::Json), ("XML", Format::Xml)]
        {
            let text = file::file(flows, format);
            figures.time(
                &format!("reading {flows} flows, {name}, {} kB", text.len() / 1000),
                || {
                    let network = format::read(black_box(&text), format).expect("a network");
                    assert_eq!(network.flows().len(), flows);
                },
            );
        }
    }
}

fn interleaved(n: usize) -> Network {
    let mut builder = NetworkBuilder::new("interleaved");
    let service = Curve::rate_latency(10, Rational::ratio(1, 10)).expect("a curve");
    let ids: Vec<ServerId> =
        (0..n).map(|i| builder.server(Server::new(format!("s{i}"), service.clone()))).collect();
    let arrival = Curve::token_bucket(1, Rational::ratio(67, 100)).expect("a curve");
    let mut paths = vec![ids.clone(), vec![ids[0]]];
    paths.extend(ids.windows(2).map(<[_]>::to_vec));
    paths.push(vec![ids[n - 1]]);
    for (i, path) in paths.into_iter().enumerate() {
        builder.flow(Flow::new(format!("f{i}"), path, arrival.clone()));
    }
    builder.build().expect("a network")
}

fn settings(multiplexing: Multiplexing) -> Settings {
    Settings::default().multiplexed(multiplexing)
}

fn tandems(figures: &mut Figures) {
    for n in [10, 20, 50] {
        let network = interleaved(n);
        let first = network.flow_named("f0").expect("a flow");
        for multiplexing in [Multiplexing::Fifo, Multiplexing::Arbitrary] {
            figures.time(
                &format!("interleaved {n}, all flows, SFA and TFA, {multiplexing}"),
                || {
                    let analyser = Analyser::new(&network, settings(multiplexing));
                    black_box(analyser.bounds(Analysis::Sfa).expect("bounds"));
                    black_box(analyser.bounds(Analysis::Tfa).expect("bounds"));
                },
            );
        }
        figures.time(&format!("interleaved {n}, one flow, PMOO"), || {
            let analyser = Analyser::new(&network, settings(Multiplexing::Arbitrary));
            black_box(analyser.bound(first, Analysis::Pmoo).expect("a bound"));
        });
        figures.time(&format!("interleaved {n}, one flow, tandem matching"), || {
            let analyser = Analyser::new(&network, settings(Multiplexing::Arbitrary));
            black_box(analyser.bound(first, Analysis::TandemMatching).expect("a bound"));
        });
        figures.time(&format!("interleaved {n}, one flow, PLP"), || {
            let analyser = Analyser::new(&network, settings(Multiplexing::Fifo));
            black_box(analyser.bound(first, Analysis::Plp).expect("a bound"));
        });
        figures.time(&format!("interleaved {n}, one flow, best, FIFO"), || {
            let analyser = Analyser::new(&network, settings(Multiplexing::Fifo));
            black_box(analyser.bound(first, Analysis::Best).expect("a bound"));
        });
    }
    for n in [2, 4, 6] {
        let network = interleaved(n);
        let first = network.flow_named("f0").expect("a flow");
        figures.time(&format!("interleaved {n}, one flow, ELP"), || {
            let analyser = Analyser::new(&network, settings(Multiplexing::Fifo));
            black_box(analyser.bound(first, Analysis::Elp).expect("a bound"));
        });
    }
    let network = interleaved(10);
    let first = network.flow_named("f0").expect("a flow");
    for multiplexing in [Multiplexing::Fifo, Multiplexing::Arbitrary] {
        figures.time(&format!("interleaved 10, one flow, runs, {multiplexing}"), || {
            black_box(simulate(&network, first, &settings(multiplexing)));
        });
    }
}

/// A small generator of numbers (splitmix64), so that the network is the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }
}

/// A network of so many servers and four times as many flows.
fn internet_like(servers: usize, seed: u64) -> Network {
    let mut random = Random(seed);
    // Links until there are enough output ports, two for each link.
    let devices = servers * 100 / 364;
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
    let sources: Vec<(usize, usize)> = ports.keys().copied().collect();
    let mut flows = 0;
    for source in &sources {
        for _ in 0..4 {
            // Up first (towards lower numbers), then down: no cycle can arise.
            let path = loop {
                let sink = random.below(devices);
                if let Some(path) = up_down(&next, *source, sink) {
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

/// The shortest path over a first link to a device, that goes up and then down.
fn up_down(next: &[Vec<usize>], first: (usize, usize), sink: usize) -> Option<Vec<usize>> {
    let down = first.1 > first.0;
    let mut before = BTreeMap::from([((first.1, down), None)]);
    let mut queue = VecDeque::from([(first.1, down)]);
    while let Some((at, down)) = queue.pop_front() {
        if at == sink {
            let mut path = vec![at];
            let mut state = (at, down);
            while let Some(Some(earlier)) = before.get(&state).copied() {
                state = earlier;
                path.push(state.0);
            }
            path.push(first.0);
            path.reverse();
            let mut seen = path.clone();
            seen.sort_unstable();
            seen.dedup();
            return (seen.len() == path.len()).then_some(path);
        }
        for to in &next[at] {
            let goes_down = *to > at;
            if down && !goes_down {
                continue;
            }
            let state = (*to, goes_down);
            if let Entry::Vacant(free) = before.entry(state) {
                free.insert(Some((at, down)));
                queue.push_back(state);
            }
        }
    }
    None
}

fn internet(figures: &mut Figures) {
    for servers in [38, 118, 364] {
        let network = internet_like(servers, 5);
        let (s, f) = (network.servers().len(), network.flows().len());
        let hops: usize = network.flows().map(|(_, flow)| flow.path.len()).sum();
        let most = network.servers().map(|(id, _)| network.flows_at(id).len()).max().unwrap_or(0);
        println!("-- {s} servers, {f} flows, {hops} hops, {most} flows at one server at most");
        let name = format!("Internet-like {s}, all flows");
        for (analysis, multiplexing) in [
            (Analysis::Tfa, Multiplexing::Fifo),
            (Analysis::Tfa, Multiplexing::Arbitrary),
            (Analysis::Sfa, Multiplexing::Arbitrary),
            (Analysis::Sfa, Multiplexing::Fifo),
            (Analysis::Pmoo, Multiplexing::Arbitrary),
            (Analysis::TandemMatching, Multiplexing::Arbitrary),
            (Analysis::TfaPlusPlus, Multiplexing::Fifo),
        ] {
            figures.time(&format!("{name}, {analysis}, {multiplexing}"), || {
                let analyser = Analyser::new(&network, settings(multiplexing));
                black_box(analyser.bounds(analysis).expect("bounds"));
            });
        }
        figures.time(&format!("{name}, TFA, SFA and PMOO, arbitrary"), || {
            let analyser = Analyser::new(&network, settings(Multiplexing::Arbitrary));
            for analysis in [Analysis::Tfa, Analysis::Sfa, Analysis::Pmoo] {
                black_box(analyser.bounds(analysis).expect("bounds"));
            }
        });
        figures.time(&format!("{name}, SFA, FIFO, with the flow of interest"), || {
            let settings =
                settings(Multiplexing::Fifo).with_flow_of_interest(FlowOfInterest::Interferes);
            black_box(Analyser::new(&network, settings).bounds(Analysis::Sfa).expect("bounds"));
        });
        figures.time(&format!("{name}, best, FIFO"), || {
            let analyser = Analyser::new(&network, settings(Multiplexing::Fifo));
            black_box(analyser.bounds(Analysis::Best).expect("bounds"));
        });
    }
}
