//! Benchmarks of rules over protocol, addresses and ports.

use std::collections::HashSet;

use fastrand::Rng;
use tables::{FieldMatch, Finder, MatchField, MatchKind};

use super::ours::{Entry, Ours};
use super::routes::mask;
use super::{OPERATIONS, Search};

/// A rule in the layout of the C shim. Its number is its index in the list.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Rule {
    source: u32,
    destination: u32,
    source_ports: [u16; 2],
    destination_ports: [u16; 2],
    source_length: u8,
    destination_length: u8,
    protocol: u8,
    protocol_mask: u8,
    priority: u32,
}

/// The fields of a packet that rules match, in network byte order: the protocol, three bytes of
/// padding, the source and destination addresses, and the source and destination ports.
pub(crate) type Packet = [u8; 16];

/// Returns the contenders with `count` random rules.
pub(crate) fn all(count: usize) -> (String, Vec<Box<dyn Search>>) {
    let mut random = Rng::with_seed(0x2545_f491_4f6c_dd1d);
    let rules = (0..count).map(|_| rule(&mut random)).collect();
    contenders(rules, &mut random)
}

/// Returns the contenders with rules whose port ranges are nested.
pub(crate) fn nested(count: usize) -> (String, Vec<Box<dyn Search>>) {
    let nested = |number: usize| {
        let low = (number % (1 << 15)) as u16;
        Rule {
            source: 0,
            destination: 0,
            source_ports: [low, u16::MAX - low],
            destination_ports: [0, u16::MAX],
            source_length: 0,
            destination_length: 0,
            protocol: 0,
            protocol_mask: 0,
            priority: 0,
        }
    };
    let mut random = Rng::with_seed(0x2545_f491_4f6c_dd1d);
    contenders((0..count).map(nested).collect(), &mut random)
}

fn contenders(mut rules: Vec<Rule>, random: &mut Rng) -> (String, Vec<Box<dyn Search>>) {
    let count = rules.len();
    // Priorities are distinct and in random order, so that the best rule is unique.
    for (place, rule) in rules.iter_mut().enumerate() {
        rule.priority = place as u32 + 1;
    }
    for place in (1..count).rev() {
        let other = random.usize(..=place);
        let (one, two) = (rules[place].priority, rules[other].priority);
        (rules[place].priority, rules[other].priority) = (two, one);
    }
    let packets: Vec<Packet> = (0..OPERATIONS).map(|_| packet(random, &rules)).collect();
    let masks: HashSet<_> =
        rules.iter().map(|rule| (rule.source_length, rule.destination_length)).collect();
    let mut searches: Vec<Box<dyn Search>> = vec![Box::new(ours(&rules, &packets))];
    #[cfg(feature = "dpdk")]
    searches.extend(super::dpdk::rules(&rules, &packets));
    searches.shrink_to_fit();
    (format!("{count} rules, {} pairs of address masks", masks.len()), searches)
}

fn length(random: &mut Rng) -> u8 {
    match random.u32(..10) {
        0 => 0,
        1..4 => 32,
        4..6 => 24,
        _ => 12 + random.u8(..20),
    }
}

fn ports(random: &mut Rng) -> [u16; 2] {
    let one = random.u16(..);
    match random.u32(..10) {
        0..4 => [0, u16::MAX],
        4..8 => [one, one],
        8 => [1024, u16::MAX],
        _ => [one.min(u16::MAX - 200), one.min(u16::MAX - 200) + random.u16(..200)],
    }
}

fn rule(random: &mut Rng) -> Rule {
    let (source_length, destination_length) = (length(random), length(random));
    // Some networks have many rules.
    let address = |random: &mut Rng| {
        let network = if random.bool() { random.u32(..16) << 24 } else { random.u32(..) };
        network ^ random.u32(..1 << 24)
    };
    let any = random.u32(..4) == 0;
    Rule {
        source: address(random) & mask(source_length),
        destination: address(random) & mask(destination_length),
        source_ports: ports(random),
        destination_ports: ports(random),
        source_length,
        destination_length,
        protocol: if any { 0 } else { [6, 17, 1][random.usize(..3)] },
        protocol_mask: if any { 0 } else { 0xff },
        priority: 0,
    }
}

fn packet(random: &mut Rng, rules: &[Rule]) -> Packet {
    let mut packet = [0; 16];
    let near = &rules[random.usize(..rules.len())];
    let stays = random.u32(..10) > 0;
    let address = |random: &mut Rng, value: u32, length: u8| {
        let any = random.u32(..);
        if stays { value | any & !mask(length) } else { any }
    };
    let port = |random: &mut Rng, [low, high]: [u16; 2]| low + random.u16(..=high - low);
    let source = address(random, near.source, near.source_length);
    let destination = address(random, near.destination, near.destination_length);
    packet[0] = if near.protocol_mask == 0 { random.u8(..) } else { near.protocol };
    packet[4..8].copy_from_slice(&source.to_be_bytes());
    packet[8..12].copy_from_slice(&destination.to_be_bytes());
    packet[12..14].copy_from_slice(&port(random, near.source_ports).to_be_bytes());
    packet[14..].copy_from_slice(&port(random, near.destination_ports).to_be_bytes());
    packet
}

/// Returns the search of this crate for the numbers of rules.
fn ours(rules: &[Rule], packets: &[Packet]) -> Ours {
    let field = |bits, kind| MatchField { bits, kind };
    let fields = [
        field(8, MatchKind::Ternary),
        field(32, MatchKind::Ternary),
        field(32, MatchKind::Ternary),
        field(16, MatchKind::Range),
        field(16, MatchKind::Range),
    ];
    let entry = |rule: &Rule| -> Entry {
        let address = |value: u32, length| {
            let (value, mask) = (value.to_be_bytes(), mask(length).to_be_bytes());
            FieldMatch::Ternary(value.to_vec(), mask.to_vec())
        };
        let ports = |[low, high]: [u16; 2]| {
            FieldMatch::Range(low.to_be_bytes().to_vec(), high.to_be_bytes().to_vec())
        };
        let matches = vec![
            FieldMatch::Ternary(vec![rule.protocol], vec![rule.protocol_mask]),
            address(rule.source, rule.source_length),
            address(rule.destination, rule.destination_length),
            ports(rule.source_ports),
            ports(rule.destination_ports),
        ];
        (matches, rule.priority)
    };
    let places = Finder::places(&fields).expect("fields of at most 128 bits");
    let key = |packet: &Packet| {
        let values = [&packet[..1], &packet[4..8], &packet[8..12], &packet[12..14], &packet[14..]];
        let number = |value: &[u8]| value.iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte));
        values.iter().zip(&places).fold(0, |key, (value, place)| key | number(value) << place)
    };
    let entries: Vec<Entry> = rules.iter().map(entry).collect();
    let keys: Vec<u128> = packets.iter().map(key).collect();
    Ours::numbers("Finder, bulk 32", &fields, &entries, &keys)
}
