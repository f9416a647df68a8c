//! The meter table of an emulated switch. Meters are stored and can be read, but no packet is
//! metered.

use std::collections::BTreeMap;
use std::time::Duration;

use openflow::ErrorReason;
use openflow::v1_3::{
    MeterBand, MeterBandStats, MeterConfig, MeterFlags, MeterId, MeterMod, MeterModCommand,
    MeterStats,
};

/// The meter table of a switch.
#[derive(Debug, Default)]
pub(super) struct Meters {
    meters: BTreeMap<MeterId, Meter>,
}

/// A meter. The emulated switch stores meters but does not apply them.
#[derive(Debug)]
struct Meter {
    flags: MeterFlags,
    bands: Vec<MeterBand>,
    created_at: u64,
}

impl Meters {
    /// Executes a meter-mod message. If it deletes a meter, returns the meter whose flow entries
    /// must be removed ([`MeterId::ALL`] for every meter).
    pub(super) fn modify(
        &mut self,
        request: MeterMod,
        now: u64,
    ) -> Result<Option<MeterId>, ErrorReason> {
        let id = request.meter_id;
        let virtual_meter = id == MeterId::SLOWPATH || id == MeterId::CONTROLLER;
        let deletes_all = id == MeterId::ALL && request.command == MeterModCommand::DELETE;
        if !((1..=MeterId::MAX.0).contains(&id.0) || virtual_meter || deletes_all) {
            return Err(ErrorReason::MeterModInvalidMeter);
        }
        let known = self.meters.contains_key(&id);
        match request.command {
            MeterModCommand::ADD if known => Err(ErrorReason::MeterModMeterExists),
            MeterModCommand::MODIFY if !known => Err(ErrorReason::MeterModUnknownMeter),
            MeterModCommand::ADD | MeterModCommand::MODIFY => {
                let meter = Meter { flags: request.flags, bands: request.bands, created_at: now };
                self.meters.insert(id, meter);
                Ok(None)
            }
            MeterModCommand::DELETE => {
                // Deleting a meter that does not exist is not an error (OpenFlow 1.3.5, 6.8).
                match id {
                    MeterId::ALL => self.meters.clear(),
                    id => drop(self.meters.remove(&id)),
                }
                Ok(Some(id))
            }
            _ => Err(ErrorReason::MeterModBadCommand),
        }
    }

    pub(super) fn configurations(&self, wanted: MeterId) -> Result<Vec<MeterConfig>, ErrorReason> {
        self.select(wanted, |id, meter| MeterConfig {
            flags: meter.flags,
            meter_id: id,
            bands: meter.bands.clone(),
        })
    }

    pub(super) fn statistics(
        &self,
        wanted: MeterId,
        now: u64,
        flows: impl Fn(MeterId) -> u32,
    ) -> Result<Vec<MeterStats>, ErrorReason> {
        self.select(wanted, |id, meter| {
            let age = Duration::from_nanos(now.saturating_sub(meter.created_at));
            MeterStats {
                meter_id: id,
                flow_count: flows(id),
                packet_in_count: 0,
                byte_in_count: 0,
                duration_sec: u32::try_from(age.as_secs()).unwrap_or(u32::MAX),
                duration_nsec: age.subsec_nanos(),
                bands: vec![
                    MeterBandStats { packet_band_count: 0, byte_band_count: 0 };
                    meter.bands.len()
                ],
            }
        })
    }

    fn select<T>(
        &self,
        wanted: MeterId,
        describe: impl Fn(MeterId, &Meter) -> T,
    ) -> Result<Vec<T>, ErrorReason> {
        if wanted == MeterId::ALL {
            return Ok(self.meters.iter().map(|(id, meter)| describe(*id, meter)).collect());
        }
        match self.meters.get(&wanted) {
            Some(meter) => Ok(vec![describe(wanted, meter)]),
            None => Err(ErrorReason::MeterModUnknownMeter),
        }
    }
}
