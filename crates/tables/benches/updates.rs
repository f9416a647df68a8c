//! Measures updates per second of every design, compared with alternatives that a user might
//! choose, in one run.
//!
//!     cargo bench -p planimeter-tables --bench updates [--features dpdk] -- \
//!         [SIZE_BITS ...] [--repetitions N] [--cores N]
//!     cargo bench -p planimeter-tables --bench updates [--features dpdk] -- \
//!         curves [SIZE_BITS ...] [--cores N] [--only TEXT] [--page FILE.html]
//!
//! The second command measures curves on 1 to N cores ([`curves`]), of all subjects whose names
//! contain the text. With `scaling` or `methods` in place of `curves`, only that part of the first
//! command is run.
//!
//! Keys and values have 4 bytes. Keys are scattered over all numbers and drawn uniformly. Every
//! table is made for twice the entries that it gets. All contenders use one hash, except DPDK's,
//! whose hash is an instruction of the processor. Each operation reads the old value and writes a
//! new one. Contenders take turns within each repetition, so that disturbances of the machine
//! affect all of them; ratios are of rates within a repetition. Rates are per second of the
//! thread's processor time, so the time that other processes take from the core is not counted, but
//! their effect on caches and memory is. Each turn runs its keys once untimed, to bring the caches
//! into the state of a table that runs alone. All contenders must compute the same sum over the old
//! values, or the run fails.

#[path = "updates/contenders.rs"]
mod contenders;
#[path = "updates/curves.rs"]
mod curves;
#[cfg(feature = "dpdk")]
#[path = "updates/dpdk.rs"]
mod dpdk;
#[path = "updates/footprint.rs"]
mod footprint;
#[path = "updates/methods.rs"]
mod methods;
#[path = "updates/page.rs"]
mod page;
#[path = "updates/scaling.rs"]
mod scaling;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use contenders::{Contender, Guarantee, Side};
use statistics::{Estimate, mean};
use tables::machine;

/// The number of operations of one repetition.
const OPERATIONS: usize = 1 << 20;
/// The mask by which each update flips the value.
const MASK: u32 = 0x5555_aaaa;

struct Arguments {
    sizes: Vec<u32>,
    repetitions: usize,
    cores: usize,
    part: Part,
    /// The text that the names of measured curves and scaling cases contain.
    only: String,
    page: Option<PathBuf>,
}

/// The part of the benchmark that is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// All parts except the curves.
    All,
    Scaling,
    Methods,
    Curves,
}

fn arguments() -> Result<Arguments, String> {
    let mut parsed = Arguments {
        sizes: Vec::new(),
        repetitions: 15,
        cores: 2,
        part: Part::All,
        only: String::new(),
        page: None,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = |name: &str| {
            let text = arguments.next().ok_or_else(|| format!("{name} needs a number"))?;
            text.parse().map_err(|error| format!("{name} {text}: {error}"))
        };
        match argument.as_str() {
            // Cargo passes this argument.
            "--bench" => {}
            "--repetitions" => parsed.repetitions = number("--repetitions")?,
            "--cores" => parsed.cores = number("--cores")?,
            "--page" => parsed.page = Some(arguments.next().ok_or("--page needs a file")?.into()),
            "--only" => parsed.only = arguments.next().ok_or("--only needs a text")?,
            "scaling" => parsed.part = Part::Scaling,
            "methods" => parsed.part = Part::Methods,
            "curves" => parsed.part = Part::Curves,
            bits => match bits.parse() {
                Ok(bits @ 0..=24) => parsed.sizes.push(bits),
                _ => return Err(format!("{bits} is not a power of two between 0 and 24")),
            },
        }
    }
    if parsed.sizes.is_empty() {
        parsed.sizes =
            if parsed.part == Part::Curves { vec![16, 20] } else { vec![8, 12, 16, 20, 22] };
    }
    parsed.repetitions = parsed.repetitions.max(3);
    Ok(parsed)
}

fn main() {
    let Arguments { sizes, repetitions, cores, part, only, page } = match arguments() {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("updates: {error}");
            std::process::exit(2);
        }
    };
    let available = machine::cores().unwrap_or_default();
    match available.first().map(|&core| machine::pin_to(core)) {
        Some(Ok(())) => {}
        other => eprintln!("NOT PINNED: {other:?}"),
    }
    print_machine(&available);
    #[cfg(not(feature = "dpdk"))]
    println!("rte_hash is not among the contenders: build with --features dpdk\n");
    if part == Part::Curves {
        if let Err(error) =
            curves::draw(&sizes, repetitions, (&available, cores), &only, page.as_deref())
        {
            eprintln!("updates: {error}");
            std::process::exit(2);
        }
        return;
    }
    let is_wanted = |asked: Part| part == Part::All || part == asked;
    for &bits in sizes.iter().filter(|_| part == Part::All) {
        compare(bits, repetitions);
    }
    for &bits in sizes.iter().filter(|_| is_wanted(Part::Scaling)) {
        scaling::scale(bits, repetitions, (&available, cores), &only);
    }
    if let Some(&bits) = sizes.last().filter(|_| is_wanted(Part::Methods)) {
        methods::compare(bits.min(20), repetitions);
    }
}

fn print_machine(cores: &[usize]) {
    println!("cores {cores:?}, caches {}", list(machine::caches()));
    println!("dependent access, least (median) ns:");
    for bytes in [16 << 10, 256 << 10, 8 << 20, 256 << 20] {
        if let Some(latency) =
            machine::latency(bytes, Duration::from_millis(200), &AtomicBool::new(false))
        {
            let (least, median) = (latency.nanoseconds, latency.median);
            println!("  {:>8} KiB {least:7.1} ({median:.1}), {}", bytes >> 10, latency.pages);
        }
    }
    println!();
}

fn list(items: Vec<impl std::fmt::Display>) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Returns keys of the entries below `2^bits` in a repeatable order.
fn random_keys(bits: u32, count: usize, seed: u64) -> Vec<u32> {
    random_numbers(bits, count, seed).into_iter().map(contenders::scatter).collect()
}

/// Returns numbers below `2^bits` in a repeatable order.
fn random_numbers(bits: u32, count: usize, seed: u64) -> Vec<u32> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ seed;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 24) & ((1 << bits) - 1)) as u32
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Measures all contenders at one size.
fn compare(bits: u32, repetitions: usize) {
    let keys = random_keys(bits, OPERATIONS, 1);
    let made = contenders::all(1 << bits);
    #[cfg(feature = "dpdk")]
    let made = made.into_iter().chain(dpdk::all(1 << bits));
    let (mut contenders, memory): (Vec<Box<dyn Contender>>, Vec<_>) = made.into_iter().unzip();
    let mut rates = vec![Vec::new(); contenders.len()];
    // The first repetition warms up and is not counted.
    for repetition in 0..=repetitions {
        let mut sums = Vec::new();
        for (contender, rates) in contenders.iter_mut().zip(&mut rates) {
            // The turns of the other contenders have displaced this one's data from the caches.
            sums.push(contender.update(&keys, MASK));
            let start = machine::thread_time();
            sums.push(contender.update(&keys, MASK));
            let rate = OPERATIONS as f64 / (machine::thread_time() - start).as_secs_f64() / 1e6;
            if repetition > 0 {
                rates.push(rate);
            }
        }
        assert!(
            sums.chunks(2).all(|turn| *turn == sums[..2]),
            "contenders read different values: {sums:?}"
        );
    }
    println!(
        "2^{bits} entries, M updates/s on one core, {repetitions} repetitions of 2^20, 95 % confidence"
    );
    let rooms = || contenders.iter().filter_map(|contender| contender.conditions().room);
    let hashes = contenders.iter().filter_map(|contender| contender.conditions().hash);
    println!(
        "  with room for {} to {} entries; {} maps of others on one hash",
        rooms().min().unwrap_or(0),
        rooms().max().unwrap_or(0),
        hashes.count()
    );
    let find = |name: &str| contenders.iter().position(|contender| contender.name() == name);
    let bulk = find("rte_hash static, lock-free, bulk 32");
    let hashbrown = find("hashbrown");
    for ((contender, own), memory) in contenders.iter().zip(&rates).zip(&memory) {
        let estimate = Estimate::of(own).expect("repetitions");
        let ratio = |to: Option<usize>| {
            to.map_or_else(String::new, |to| {
                Estimate::of_ratio(own, &rates[to]).expect("repetitions").to_string()
            })
        };
        println!(
            "  {:52} {:17} {estimate:16}  best {:6.1}  x bulk {:14}  x hashbrown {:14}  {memory}",
            contender.name(),
            contender.guarantee(),
            estimate.max,
            ratio(bulk),
            ratio(hashbrown)
        );
    }
    println!("  (memory of rte_hash: all that DPDK has touched)\n");
    println!(
        "  the same guarantee on both sides, calls of 32 keys, best of ours against best of the others:"
    );
    for guarantee in Guarantee::ALL {
        let best = |ours: bool| {
            let of_side = |&at: &usize| {
                let side = if ours { Side::OursInBulk } else { Side::Other };
                contenders[at].guarantee() == guarantee && contenders[at].side() == side
            };
            (0..contenders.len())
                .filter(of_side)
                .max_by(|&a, &b| mean(&rates[a]).partial_cmp(&mean(&rates[b])).expect("rates"))
        };
        if let (Some(ours), Some(other)) = (best(true), best(false)) {
            println!(
                "  {guarantee:17} {} / {} = {}",
                contenders[ours].name(),
                contenders[other].name(),
                Estimate::of_ratio(&rates[ours], &rates[other]).expect("repetitions")
            );
        }
    }
    println!();
}
