//! Finds the delays of a campaign that are due to stalls of the host: periods in which the
//! measuring processor did something else, such as handling an interrupt.
//!
//! After each packet, a measurement times a control window: a fixed amount of work that does not
//! involve the device. Stalls affect control windows as they affect packets. If packets are late
//! more often than control windows, the device is therefore the cause. See
//! [`statistics::exposure`].

use statistics::exposure::{Exposed, Exposure, Repetition, Tail, TailOrigin};

use crate::campaign::{Campaign, CellId, MeasuredBlock};

/// The margin, as a share, by which a quantile of the control windows may exceed their median.
/// Within it, stalls of the host are negligible, and the same quantile of the packets' delays is
/// attributed to the device.
const MARGIN: f64 = 0.05;

/// The stalls of the host during a campaign, as its control windows show them.
#[derive(Debug, Clone, PartialEq)]
pub struct Stalls {
    cells: Vec<CellStalls>,
}

/// The stalls of the host while one cell (a set of functions under one setting) was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct CellStalls {
    /// The number of the cell in its campaign.
    pub cell: CellId,
    /// The origin of the cell's late packets, with the figures from which it follows.
    pub tail: Tail,
    /// The share of the cell's packets that no stall of the host affected, neither while they were
    /// processed nor right before or after.
    pub kept: f64,
    exposure: Exposure,
}

impl Stalls {
    /// Compares the packets of each cell with the control windows between them. Returns `None` if
    /// this is not possible for every cell, for example because a block has no control windows.
    /// `seed` is the seed of the random draws of the bootstrap.
    #[must_use]
    pub fn of(campaign: &Campaign, seed: u64) -> Option<Self> {
        let of_cell = |cell: CellId| {
            let blocks = campaign.blocks_of(cell);
            let repetitions: Option<Vec<Repetition>> = blocks.map(repetition).collect();
            let exposure = Exposure::new(repetitions?)?;
            let tail = exposure.tail(seed.wrapping_add(u64::from(cell.0)));
            let quiet = exposure.quiet_packets();
            let kept = quiet.iter().flatten().filter(|keep| **keep).count();
            let all = quiet.iter().flatten().count();
            let kept = kept as f64 / all.max(1) as f64;
            Some(CellStalls { cell, tail, kept, exposure })
        };
        let cells: Vec<CellStalls> =
            campaign.description.ids().map(of_cell).collect::<Option<_>>()?;
        (!cells.is_empty()).then_some(Self { cells })
    }

    /// Returns the stalls during the measurement of each cell (a set of functions), in the order of
    /// the campaign's cells.
    #[must_use]
    pub fn cells(&self) -> &[CellStalls] {
        &self.cells
    }

    /// Returns whether the quantile of the delays at `share` is due to the device in every cell,
    /// and not to stalls of the host. This holds if the upper limit, at 99 %, of the same quantile
    /// of the control windows exceeds their median by at most 5 %. If the origin of a cell's late
    /// packets is undecided, the quantile must also agree within 5 % with that of the packets
    /// without stalls.
    #[must_use]
    pub fn is_attributed(&self, share: f64) -> bool {
        self.cells.iter().all(|cell| {
            let quantile = cell.exposure.quantile(share, MARGIN, &cell.tail);
            quantile.is_some_and(|quantile| quantile.is_attributed)
        })
    }

    /// Returns the campaign without the packets during or next to which the host stalled: those hit
    /// by an interrupt or next to a slow control window. Cells whose late packets are due to the
    /// function itself keep all packets.
    #[must_use]
    pub fn without(&self, campaign: &Campaign) -> Campaign {
        let mut quiet = campaign.clone();
        for cell in self.cells.iter().filter(|one| one.tail.origin != TailOrigin::Function) {
            let blocks = quiet.blocks.iter_mut().filter(|one| one.block.cell == cell.cell);
            for (block, kept) in blocks.zip(cell.exposure.quiet_packets()) {
                let is_kept = |packet: u32| kept.get(packet as usize).copied().unwrap_or(false);
                block.samples.retain(|sample| is_kept(sample.packet));
            }
        }
        quiet
    }
}

/// Returns the packets of a block (a run of packets) and the control windows around them, in
/// seconds. Returns `None` if the block has no control windows.
fn repetition(measured: &MeasuredBlock) -> Option<Repetition> {
    let seconds = |picoseconds: i64| picoseconds as f64 / 1e12;
    let (first, controls) = measured.controls.split_first()?;
    let mut windows: Vec<Exposed> = controls
        .iter()
        .map(|control| Exposed {
            packet: None,
            packet_interrupted: control.packet_interrupted,
            control: seconds(control.took.0),
            control_interrupted: control.interrupted,
        })
        .collect();
    for sample in &measured.samples {
        if let Some(window) = windows.get_mut(sample.packet as usize) {
            window.packet = Some(seconds(sample.delay.0));
        }
    }
    Some(Repetition { first_control: seconds(first.took.0), windows })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::campaign::{
        Block, Cell, Clock, ClockSource, Control, Counts, Description, Device, Dimension, Function,
        FunctionName, Origin, Picoseconds, SCHEMA, Sample, Setting,
    };

    /// Returns a campaign with one cell. Its packets for which `late` returns true take 10 µs, all
    /// others 0.2 µs.
    fn campaign(blocks: u32, late: impl Fn(u32) -> bool, controls: bool) -> Campaign {
        let function = |name: &str, dimension| Function {
            name: FunctionName::new(name),
            dimension,
            description: None,
            consists_of: Vec::new(),
        };
        let setting = Setting { packet_bytes: 64, rules: 1, conditions: BTreeMap::new() };
        let description = Description {
            schema: SCHEMA.to_owned(),
            created: "2026-11-22T09:00:00Z".to_owned(),
            origin: Origin::Measured,
            device: Device {
                name: "one".to_owned(),
                driver: "memory".to_owned(),
                details: BTreeMap::new(),
            },
            baseline: vec![
                function("port", Dimension::Match),
                function("output", Dimension::Action),
            ],
            functions: Vec::new(),
            cells: vec![Cell { functions: Vec::new(), setting }],
            line_rate: None,
            clock: Clock {
                source: ClockSource::CycleCounter,
                tick: Picoseconds(1),
                reference: None,
            },
            seed: 1,
            host: BTreeMap::new(),
        };
        const PACKETS: u32 = 1000;
        let delay = |packet| Picoseconds(if late(packet) { 10_000_000 } else { 200_000 });
        let sample = |packet| Sample { packet, delay: delay(packet) };
        let control = |packet: u32| Control {
            took: Picoseconds(180_000),
            interrupted: false,
            packet_interrupted: packet > 0 && late(packet - 1),
        };
        let block = |repetition| MeasuredBlock {
            block: Block {
                cell: CellId(0),
                repetition,
                started_ns: 0,
                duration_ns: 1,
                packets_per_second: None,
                counts: Counts::default(),
                machine: None,
                samples: PACKETS,
                controls: PACKETS + 1,
                offset: 0,
                checksum: 0,
            },
            samples: (0..PACKETS).map(sample).collect(),
            controls: if controls { (0..=PACKETS).map(control).collect() } else { Vec::new() },
        };
        let blocks = (0..blocks).map(block).collect();
        Campaign { description, blocks, rates: Vec::new(), notes: Vec::new() }
    }

    #[test]
    fn packets_that_interrupts_hit_are_left_out_unless_the_function_is_late_itself() {
        // One late packet in each of three blocks does not show whether the host or the device was
        // late.
        let few = campaign(3, |packet| packet == 500, true);
        let stalls = Stalls::of(&few, 1).expect("controls");
        assert_eq!(stalls.cells()[0].tail.origin, TailOrigin::Undecided);
        assert!(stalls.is_attributed(0.99) && !stalls.is_attributed(0.9999));
        let quiet = stalls.without(&few);
        assert_eq!(quiet.delays(CellId(0)).iter().max(), Some(&Picoseconds(200_000)));
        assert_eq!(quiet.delays(CellId(0)).len(), 3 * 999);
        // Many late packets without a single late control window are due to the function itself.
        let many = campaign(10, |packet| packet % 50 == 0, true);
        let stalls = Stalls::of(&many, 1).expect("controls");
        assert_eq!(stalls.cells()[0].tail.origin, TailOrigin::Function);
        assert_eq!(stalls.without(&many), many);
    }

    #[test]
    fn stalls_are_unknown_without_control_windows() {
        assert_eq!(Stalls::of(&campaign(3, |_| false, false), 1), None);
    }
}
