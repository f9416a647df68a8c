//! Synthetic devices with known delays.

use std::collections::BTreeMap;

use device::campaign::{
    Block, Campaign, Cell, CellId, Clock, ClockSource, Counts, Description, Device, Dimension,
    Function, FunctionName, MeasuredBlock, Origin, Picoseconds, RateTrial, SCHEMA, Sample, Setting,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

pub(crate) const SEED: u64 = 20_261_122;
pub(crate) const MATCHES: [&str; 5] = ["tp-dst", "dl-dst", "masked-nw-dst", "five-tuple", "all"];
pub(crate) const ACTIONS: [&str; 6] =
    ["set-dl-src", "strip-vlan", "set-vlan-id", "set-nw-src", "set-nw-tos", "set-tp-src"];

/// A function that returns the delay of a packet in nanoseconds. Its arguments are the functions of
/// the cell, the time as a share of the campaign, and a source of random numbers.
pub(crate) type Truth = dyn Fn(&[&str], f64, &mut ChaCha8Rng) -> f64;

/// The size of a campaign that measures Table I of Helm et al. on a synthetic device, one cell
/// after the other in each repetition.
pub(crate) struct Plan {
    pub(crate) blocks: u32,
    pub(crate) packets: u32,
    pub(crate) tick_ns: f64,
}

impl Default for Plan {
    fn default() -> Self {
        Self { blocks: 6, packets: 500, tick_ns: 0.0 }
    }
}

/// Draws a delay of the baseline of all devices: 45 µs, and up to 6 µs more.
pub(crate) fn baseline(random: &mut ChaCha8Rng) -> f64 {
    45_000.0 + 6_000.0 * (random.random::<f64>() + random.random::<f64>()) / 2.0
}

/// Returns the cost of a function, in nanoseconds.
pub(crate) fn cost(name: &str) -> f64 {
    match name {
        "tp-dst" | "dl-dst" | "masked-nw-dst" | "set-dl-src" => 2_000.0,
        "five-tuple" => 3_000.0,
        "all" => 6_000.0,
        "strip-vlan" => 4_000.0,
        "set-vlan-id" => 5_000.0,
        _ => 9_000.0,
    }
}

pub(crate) fn names(names: &[&str]) -> Vec<FunctionName> {
    names.iter().map(|name| FunctionName::new(*name)).collect()
}

pub(crate) fn campaign(plan: &Plan, truth: &Truth) -> Campaign {
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let mut cells: Vec<Vec<&str>> = vec![vec![]];
    cells.extend(MATCHES.iter().chain(&ACTIONS).map(|name| vec![*name]));
    cells.extend(MATCHES.iter().flat_map(|m| ACTIONS.iter().map(move |a| vec![*m, *a])));
    let description = describe(&cells, plan);
    let mut blocks = Vec::new();
    let all = plan.blocks as usize * cells.len();
    for repetition in 0..plan.blocks {
        for (number, functions) in (0..).zip(&cells) {
            let position = blocks.len() as f64 / all as f64;
            let delay = |packet: u32, random: &mut ChaCha8Rng| {
                let mut delay = truth(functions, position, random);
                if plan.tick_ns > 0.0 {
                    // Both readings are rounded down to the tick; the first falls at a random time.
                    let first = random.random::<f64>() * plan.tick_ns;
                    delay = ((first + delay) / plan.tick_ns).floor() * plan.tick_ns;
                }
                Sample { packet, delay: Picoseconds((1000.0 * delay).round() as i64) }
            };
            let samples: Vec<Sample> =
                (0..plan.packets).map(|packet| delay(packet, &mut random)).collect();
            let sent = u64::from(plan.packets);
            blocks.push(MeasuredBlock {
                block: Block {
                    cell: CellId(number),
                    repetition,
                    started_ns: blocks.len() as u64 * 1_000_000,
                    duration_ns: 1_000_000,
                    packets_per_second: None,
                    counts: Counts { sent, received: sent, ..Counts::default() },
                    machine: None,
                    samples: plan.packets,
                    controls: 0,
                    offset: 0,
                    checksum: 0,
                },
                samples,
                controls: Vec::new(),
            });
        }
    }
    Campaign { description, blocks, rates: Vec::new(), notes: Vec::new() }
}

/// Adds trials to a cell from which its loss-free rate R_min follows.
pub(crate) fn rate(campaign: &mut Campaign, cell: u32, bits_per_second: u64) {
    let trial =
        |bits_per_second, lost| RateTrial { cell: CellId(cell), bits_per_second, sent: 1000, lost };
    campaign.rates.extend([trial(bits_per_second, 0), trial(bits_per_second + 1, 1)]);
}

fn describe(cells: &[Vec<&str>], plan: &Plan) -> Description {
    let function = |name: &&str, dimension: Dimension| Function {
        name: FunctionName::new(*name),
        dimension,
        description: None,
        consists_of: Vec::new(),
    };
    let setting = Setting { packet_bytes: 64, rules: 1, conditions: BTreeMap::new() };
    let actions = ACTIONS.iter().map(|name| function(name, Dimension::Action));
    let description = Description {
        schema: SCHEMA.to_owned(),
        created: "2026-11-22T09:00:00Z".to_owned(),
        origin: Origin::Synthetic { truth: "tests/synthetic/device.rs".to_owned() },
        device: Device {
            name: "synthetic".to_owned(),
            driver: "memory".to_owned(),
            details: BTreeMap::new(),
        },
        baseline: vec![function(&"port", Dimension::Match), function(&"output", Dimension::Action)],
        functions: MATCHES
            .iter()
            .map(|name| function(name, Dimension::Match))
            .chain(actions)
            .collect(),
        cells: cells
            .iter()
            .map(|cell| Cell { functions: names(cell), setting: setting.clone() })
            .collect(),
        line_rate: Some(100_000_000),
        clock: Clock {
            source: ClockSource::Program,
            tick: Picoseconds((1000.0 * plan.tick_ns) as i64),
            reference: None,
        },
        seed: SEED,
        host: BTreeMap::new(),
    };
    description.check().expect("a description");
    description
}
