//! The change of a device's delays between the first and the second half of a campaign.

use statistics::{Difference, Estimate, Ordered};

use super::VerifiedCell;
use crate::campaign::{Campaign, Disturbances};
use crate::level::Level;

/// A comparison of the delays in the two halves of a campaign. Each block contributes its median
/// delay, relative to the median delay of its cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// The amount by which delays were longer in the second half, as a share.
    pub change: f64,
    /// Half the width of the 95 % confidence interval of `change` (Welch), or `None` if unknown.
    pub interval: Option<f64>,
    /// Whether the confidence interval excludes zero, so that the delays changed.
    pub shown: bool,
    /// The number of blocks (runs of packets) that were compared.
    pub blocks: usize,
    /// The share of packets that took more than twice the median of their cell, for example because
    /// other programs were active.
    pub stalls: f64,
    /// The number of times that the clock was set during the campaign.
    pub clock_steps: u64,
    /// The numbers of blocks (runs of packets) during which the measuring machine was disturbed, or
    /// `None` if there were none or the machine was not observed.
    pub disturbances: Option<Disturbances>,
}

impl Drift {
    pub(super) fn of(campaign: &Campaign, cells: &[VerifiedCell]) -> Option<Self> {
        let mut residuals: Vec<(u64, f64)> = Vec::new();
        let (mut slow, mut packets, mut clock_steps) = (0, 0, 0);
        for cell in cells {
            let median = cell.profile.level(Level::Median)?.value.0 as f64;
            clock_steps += cell.profile.counts.clock_steps;
            for measured in campaign.blocks_of(cell.cell) {
                let delays =
                    Ordered::of(measured.samples.iter().map(|sample| sample.delay.0).collect());
                let Some(of_block) = delays.at(0.5).filter(|_| median != 0.0) else { continue };
                slow +=
                    delays.samples().iter().filter(|delay| **delay as f64 > 2.0 * median).count();
                packets += delays.len();
                residuals.push((measured.block.started_ns, of_block as f64 / median - 1.0));
            }
        }
        if residuals.len() < 4 {
            return None;
        }
        residuals.sort_by_key(|(time, _)| *time);
        let values: Vec<f64> = residuals.iter().map(|(_, residual)| *residual).collect();
        let (first, second) = values.split_at(values.len() / 2);
        let difference = Difference::of(&Estimate::of(first)?, &Estimate::of(second)?);
        Some(Self {
            change: difference.mean,
            interval: difference.ci95,
            shown: difference.is_shown(),
            blocks: values.len(),
            stalls: slow as f64 / packets as f64,
            clock_steps,
            disturbances: campaign.disturbances(),
        })
    }
}
