//! Tests of the packet that takes a device longest, on a host that stalls.

use ::device::campaign::{CellId, Picoseconds};
use ::device::verify::verify;
use ::device::{Campaign, Level, Settings, largest_packet, largest_packet_errors};
use rand::RngExt;

use crate::device::{Plan, campaign, cost};

/// Returns a campaign of a device that always takes the same time, on a host that stalls for up to
/// half a millisecond during one packet of a thousand.
fn stalled() -> Campaign {
    let truth = |functions: &[&str], _: f64, random: &mut rand::rngs::ChaCha8Rng| {
        let own: f64 = 45_000.0 + functions.iter().map(|name| cost(name)).sum::<f64>();
        let stall = 500_000.0 * random.random::<f64>();
        if random.random::<f64>() < 0.001 { own + stall } else { own }
    };
    campaign(&Plan { blocks: 9, packets: 100, tick_ns: 0.0 }, &truth)
}

#[test]
fn stalls_of_the_host_do_not_decide_the_largest_packet() {
    let campaign = stalled();
    let (_, verifications) = verify(&campaign, &Settings::default()).expect("verified");
    let maximum = verifications[0].levels.iter().find(|one| one.level == Level::Maximum);
    assert!(maximum.is_some_and(|one| one.worst_absolute > 1.0), "stalls decide it");
    for round in 0..3 {
        let part = campaign.round(round, 3);
        let errors = largest_packet_errors(&part);
        assert_eq!(errors.len(), 30);
        let worst = errors.iter().map(|one| one.relative.abs()).fold(0.0, f64::max);
        assert!(worst < 1e-9, "round {round}: {worst}");
    }
}

#[test]
fn a_packet_that_takes_the_device_longer_is_the_largest() {
    let mut campaign = stalled();
    let slow = Picoseconds(80_000_000);
    for block in campaign.blocks.iter_mut().filter(|one| one.block.cell.0 == 0) {
        block.samples[17].delay = slow;
    }
    assert_eq!(largest_packet(&campaign, CellId(0)), Some(slow));
}

#[test]
fn one_arrival_of_each_packet_has_no_largest_packet() {
    let once = stalled().round(0, 9);
    assert_eq!(largest_packet(&once, CellId(0)), None);
    assert!(largest_packet_errors(&once).is_empty());
}

#[test]
fn rounds_divide_the_repetitions_of_every_cell() {
    let campaign = stalled();
    let rounds: Vec<Campaign> = (0..4).map(|round| campaign.round(round, 4)).collect();
    let all: usize = rounds.iter().map(|round| round.blocks.len()).sum();
    assert_eq!(all, campaign.blocks.len());
    for id in campaign.description.ids() {
        let counts: Vec<usize> = rounds.iter().map(|round| round.blocks_of(id).count()).collect();
        assert_eq!(counts, [3, 2, 2, 2]);
    }
}
