//! Measures searches per second for longest prefixes and for rules with masks and ranges, compared
//! with alternatives that a user might choose, in one run.
//!
//!     cargo bench -p planimeter-tables --bench matching [--features dpdk] -- \
//!         [--routes N ...] [--rules N ...] [--nested N ...] [--repetitions N]
//!
//! The lengths of routes are distributed as those of the Internet are (about half are /24);
//! addresses are drawn uniformly from the routes. Rules have a protocol, two addresses under
//! hundreds of pairs of masks, and ports as numbers or ranges; nine packets in ten are drawn from
//! rules. Nested rules have port ranges inside one another, which no cut divides. Contenders take
//! turns within each repetition. Rates are per second of the thread's processor time, and ratios
//! are within a repetition. All contenders must find the same entries, or the run fails.

#[cfg(feature = "dpdk")]
#[path = "matching/dpdk.rs"]
mod dpdk;
#[path = "updates/footprint.rs"]
#[allow(dead_code, reason = "one part of two benchmarks")]
mod footprint;
#[path = "matching/ours.rs"]
mod ours;
#[path = "matching/routes.rs"]
mod routes;
#[path = "matching/rules.rs"]
mod rules;

use std::time::Duration;

use statistics::Estimate;
use tables::machine;

/// The number of searches of one repetition.
const OPERATIONS: usize = 1 << 18;

/// A search for the best entry of each key.
trait Search {
    fn name(&self) -> &str;
    /// Returns the thread time that all insertions took.
    fn filling(&self) -> Duration;
    /// Looks up all keys, and returns the sum of the results. The result for a key is the number of
    /// the entry that was found plus one, or 0 if no entry matches.
    fn search(&mut self) -> u64;
}

struct Arguments {
    routes: Vec<usize>,
    rules: Vec<usize>,
    nested: Vec<usize>,
    repetitions: usize,
}

fn arguments() -> Result<Arguments, String> {
    let mut parsed =
        Arguments { routes: Vec::new(), rules: Vec::new(), nested: Vec::new(), repetitions: 7 };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        // Cargo passes this argument.
        if name == "--bench" {
            continue;
        }
        let text = arguments.next().ok_or_else(|| format!("{name} needs a number"))?;
        let number = text.parse().map_err(|error| format!("{name} {text}: {error}"))?;
        match name.as_str() {
            "--routes" => parsed.routes.push(number),
            "--rules" => parsed.rules.push(number),
            "--nested" => parsed.nested.push(number),
            "--repetitions" => parsed.repetitions = number.max(3),
            _ => return Err(format!("{name} is not --routes, --rules, --nested or --repetitions")),
        }
    }
    if parsed.routes.is_empty() && parsed.rules.is_empty() && parsed.nested.is_empty() {
        parsed.routes = vec![1 << 16, 1_000_000];
        parsed.rules = vec![1000, 4000, 10_000];
    }
    Ok(parsed)
}

fn main() {
    let Arguments { routes, rules, nested, repetitions } = match arguments() {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("matching: {error}");
            std::process::exit(2);
        }
    };
    let available = machine::cores().unwrap_or_default();
    match available.first().map(|&core| machine::pin_to(core)) {
        Some(Ok(())) => {}
        other => eprintln!("NOT PINNED: {other:?}"),
    }
    #[cfg(not(feature = "dpdk"))]
    println!(
        "rte_lpm, rte_fib and rte_acl are not among the contenders: build with --features dpdk\n"
    );
    for count in routes {
        let (what, searches) = routes::all(count);
        compare(&what, count, searches, repetitions);
    }
    for count in rules {
        let (what, searches) = rules::all(count);
        compare(&what, count, searches, repetitions);
    }
    for count in nested {
        let (what, searches) = rules::nested(count);
        compare(&what, count, searches, repetitions);
    }
}

fn compare(what: &str, entries: usize, mut searches: Vec<Box<dyn Search>>, repetitions: usize) {
    let mut rates = vec![Vec::new(); searches.len()];
    let mut sums = vec![0; searches.len()];
    // The first repetition warms up and is not counted.
    for repetition in 0..=repetitions {
        for ((search, rates), sum) in searches.iter_mut().zip(&mut rates).zip(&mut sums) {
            // The turns of the other contenders have displaced this one's data from the caches.
            search.search();
            let start = machine::thread_time();
            *sum = search.search();
            let rate = OPERATIONS as f64 / (machine::thread_time() - start).as_secs_f64() / 1e6;
            if repetition > 0 {
                rates.push(rate);
            }
        }
    }
    assert!(sums.iter().all(|sum| *sum == sums[0]), "contenders found different entries: {sums:?}");
    println!("{what}, M searches/s on one core, {repetitions} repetitions, 95 % confidence");
    for (search, own) in searches.iter().zip(&rates) {
        println!(
            "  {:44} {}  x first {}  filled in {:.3} s, {:.2} us an entry",
            search.name(),
            Estimate::of(own).expect("repetitions"),
            Estimate::of_ratio(own, &rates[0]).expect("repetitions"),
            search.filling().as_secs_f64(),
            search.filling().as_secs_f64() * 1e6 / entries as f64
        );
    }
    println!();
}

/// Calls `work`, and returns its result and its thread time.
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = machine::thread_time();
    let done = work();
    (done, machine::thread_time() - start)
}
