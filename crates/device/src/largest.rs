//! Finds the delay of the packet for which a device needs the longest time. It usually differs from
//! the longest delay of a campaign, which belongs to a packet that the host delayed.
//!
//! A device in memory shares its processor with the host, whose interrupts delay single packets.
//! The largest of many delays is therefore due to the host. Each block sends the same packets in
//! the same order, so the delays of one packet number show repeatedly what the device does for that
//! packet. The *second smallest* of these delays is robust against stalls of the host and against a
//! single delay that was measured too short. The largest of these values over all packet numbers
//! belongs to the packet for which the device needs the longest time.

use std::collections::BTreeMap;

use crate::campaign::{Campaign, CellId, FunctionName, Picoseconds, Setting};

/// The error of the prediction for the packet that takes the device longest, for a set of
/// functions.
#[derive(Debug, Clone, PartialEq)]
pub struct LargestPacketError {
    /// The functions that the device performs for each packet.
    pub functions: Vec<FunctionName>,
    /// The error of the predicted delay: (predicted - measured) / measured.
    pub relative: f64,
}

/// Returns the delay of the packet of a cell for which the device needs the longest time. Each
/// block sends the same packets, so a packet number has one delay for each block. The second
/// smallest of these delays represents the packet number. Returns the largest of these
/// representatives, or `None` if no packet number has two delays.
#[must_use]
pub fn largest_packet(campaign: &Campaign, cell: CellId) -> Option<Picoseconds> {
    let mut repeated: BTreeMap<u32, Vec<Picoseconds>> = BTreeMap::new();
    for sample in campaign.blocks_of(cell).flat_map(|measured| &measured.samples) {
        repeated.entry(sample.packet).or_default().push(sample.delay);
    }
    let second_least = |delays: &mut Vec<Picoseconds>| {
        delays.sort_unstable();
        delays.get(1).copied()
    };
    repeated.values_mut().filter_map(second_least).max()
}

/// Predicts the delay of the packet that takes longest in a device that performs all of
/// `functions`: the delay of this packet under the baseline, plus the cost of each function
/// (equation 9 of Helm et al.). The cost is the increase of this delay when the function alone is
/// added. Returns `None` if one of these delays was not measured under the setting.
#[must_use]
pub fn predict_largest_packet(
    campaign: &Campaign,
    setting: &Setting,
    functions: &[FunctionName],
) -> Option<Picoseconds> {
    let description = &campaign.description;
    let find = |functions: &[FunctionName]| {
        let is = |id: &CellId| {
            let cell = description.cell(*id);
            cell.setting == *setting && cell.functions == functions
        };
        Some(largest_packet(campaign, description.ids().find(is)?)?.0)
    };
    let baseline = find(&[])?;
    let costs = functions.iter().map(|one| Some(find(std::slice::from_ref(one))? - baseline));
    Some(Picoseconds(baseline + costs.sum::<Option<i64>>()?))
}

/// Predicts, for each cell with several functions, the delay of the packet that takes the device
/// longest. Returns the errors (equation 8, signed). Cells are omitted if a cell on which their
/// prediction depends was not measured.
#[must_use]
pub fn largest_packet_errors(campaign: &Campaign) -> Vec<LargestPacketError> {
    let description = &campaign.description;
    let error = |id: CellId| {
        let cell = description.cell(id);
        let measured = largest_packet(campaign, id)?.0 as f64;
        let predicted = predict_largest_packet(campaign, &cell.setting, &cell.functions)?.0 as f64;
        let relative = (predicted - measured) / measured;
        let functions = cell.functions.clone();
        relative.is_finite().then_some(LargestPacketError { functions, relative })
    };
    description
        .ids()
        .filter(|id| description.cell(*id).functions.len() > 1)
        .filter_map(error)
        .collect()
}
