//! Benchmarks of analyses: `cargo bench -p calculus --bench networks`.
//!
//! Each figure is the median of several runs with its range; caches are empty at the start of each
//! run. The mean processor time of a run is printed next to it. Internet-like networks are built
//! from a fixed seed (`internet`).
//!
//! `cargo bench -p calculus --bench networks -- large` bounds all flows of networks with 1,000 and
//! with 10,000 servers once, or with the numbers of servers given after `large`; names of analyses
//! replace TFA, SFA and PMOO. `-- tree` does so with trees of long paths (`tree`), and
//! `-- write-tree 10000 5` prints the file of a tree with 10,000 servers and seed 5. `-- published`
//! compares rings, meshes and tandems with published bounds.

#[path = "networks/file.rs"]
mod file;
#[path = "networks/internet.rs"]
mod internet;
#[path = "networks/large.rs"]
mod large;
#[path = "networks/published.rs"]
mod published;
#[path = "networks/random.rs"]
mod random;
#[path = "networks/topologies.rs"]
mod topologies;
#[path = "networks/tree.rs"]
mod tree;

use std::hint::black_box;
use std::time::{Duration, Instant};

use calculus::network::{
    Analyser, Analysis, Flow, FlowOfInterest, Format, Multiplexing, Network, NetworkBuilder,
    Server, ServerId, Settings, format, simulate,
};
use calculus::{Curve, Rational};
use statistics::Ordered;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    let only = arguments.next();
    if only.as_deref() == Some("large") {
        return large::bound(arguments, internet::network);
    }
    if only.as_deref() == Some("tree") {
        return large::bound(arguments, tree::network);
    }
    if only.as_deref() == Some("write-tree") {
        let mut numbers = arguments.filter_map(|number| number.parse().ok());
        let (servers, seed) = (numbers.next().unwrap_or(10_000), numbers.next().unwrap_or(5));
        print!("{}", tree::file(servers as usize, seed));
        return;
    }
    if only.as_deref() == Some("published") {
        return published::bound();
    }
    let mut figures = Figures { only };
    reading(&mut figures);
    tandems(&mut figures);
    internet(&mut figures);
}

/// Measures and prints times.
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

/// Returns the processor time of this process, all threads together, with a resolution of 10 ms.
/// Unlike elapsed time it is meaningful on a busy machine.
fn processor_time() -> Duration {
    // In proc(5), user and system time are the 14th and 15th fields; the second field ends at the
    // last ')'.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>();
    Duration::from_millis(10 * ticks)
}

/// Measures the reading of files with many flows over a tandem of ten servers, in every format.
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

fn internet(figures: &mut Figures) {
    for servers in [38, 118, 364] {
        let network = internet::network(servers, 5);
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
