//! Converts the configuration of traffic to checked parameters for the schedule of each switch.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::error::ScheduleError;
use super::gaps::Gaps;
use super::replay::Recording;
use super::{Nanos, ShardSchedule, Share, SwitchSchedule};
use crate::config::{Arrivals, Config, Switches, Timing, Traffic};

/// The longest duration of traffic in seconds, a century. It ensures that due times in 64-bit
/// nanoseconds cannot overflow.
const MAX_SECONDS: u64 = 100 * 365 * 24 * 3600;

/// The checked parameters of all switches' schedules.
#[derive(Clone, Debug)]
pub struct SchedulePlan {
    seed: u64,
    switches: Vec<Parameters>,
}

/// The checked parameters of one switch's schedule.
#[derive(Clone, Debug)]
struct Parameters {
    gaps: Gaps,
    /// The position of the switch among the switches that replay the same recording.
    share: Share,
    start: Nanos,
    end: Nanos,
}

impl SchedulePlan {
    /// Checks [`Config::traffic`], [`Config::timing`] and [`Config::switches`], and reads the
    /// recordings of times that they name. If overrides for single switches overlap, the later one
    /// applies.
    ///
    /// # Errors
    ///
    /// Returns an error if no schedule can be computed from a rate, a distribution parameter or a
    /// recording.
    pub fn new(config: &Config, seed: u64) -> Result<Self, ScheduleError> {
        Self::of(&config.traffic, &config.timing, &config.switches, seed)
    }

    /// Computes the parameters of all switches from the settings.
    pub(super) fn of(
        traffic: &Traffic,
        timing: &Timing,
        switches: &Switches,
        seed: u64,
    ) -> Result<Self, ScheduleError> {
        let end = bounded(timing.warm_up.saturating_add(timing.measure))?;
        let mut settings =
            vec![Settings::common(traffic); switches.count.try_into().unwrap_or(usize::MAX)];
        for change in &switches.overrides {
            let to = (change.last as usize).saturating_add(1).min(settings.len());
            for own in settings.get_mut(change.first as usize..to).unwrap_or_default() {
                own.rate = change.rate.unwrap_or(own.rate);
                own.arrivals = change.arrivals.as_ref().unwrap_or(own.arrivals);
                own.start_delay = change.start_delay.unwrap_or(own.start_delay);
                own.stop_delay = change.stop_delay.unwrap_or(own.stop_delay);
            }
        }
        let shares = Share::of(settings.iter().map(|own| match own.arrivals {
            Arrivals::Replay { file } => Some(file.as_path()),
            _ => None,
        }));
        let mut recordings: HashMap<PathBuf, Arc<Recording>> = HashMap::new();
        let switches = (0..switches.count)
            .zip(settings)
            .zip(shares)
            .map(|((switch, own), share)| {
                let gaps = Gaps::new(switch, own.rate, own.arrivals, |path| {
                    if let Some(known) = recordings.get(path) {
                        return Ok(Arc::clone(known));
                    }
                    let recording = Arc::new(Recording::read(path)?);
                    recordings.insert(path.to_owned(), Arc::clone(&recording));
                    Ok(recording)
                })?;
                let stagger = timing.start_stagger.saturating_mul(switch);
                let start = bounded(own.start_delay.saturating_add(stagger))?;
                let end = Nanos(end.0.saturating_sub(bounded(own.stop_delay)?.0));
                Ok(Parameters { gaps, share, start, end })
            })
            .collect::<Result<_, ScheduleError>>()?;
        Ok(Self { seed, switches })
    }

    /// Returns the due times of one switch in order, or `None` if there is no such switch.
    pub fn switch(&self, switch: u32) -> Option<SwitchSchedule> {
        let own = self.switches.get(switch as usize)?;
        let phase = f64::from(switch) / self.switches.len() as f64;
        let Parameters { ref gaps, share, start, end } = *own;
        Some(SwitchSchedule::new(switch, gaps.clone(), (phase, share), start, end, self.seed))
    }

    /// Returns the due times of several switches, merged in the order of time. Switches that do not
    /// exist are ignored.
    pub fn shard(&self, switches: impl IntoIterator<Item = u32>) -> ShardSchedule {
        ShardSchedule::new(switches.into_iter().filter_map(|switch| self.switch(switch)))
    }

    /// Returns the number of switches that never send, because their start and stop delays leave no
    /// time.
    pub fn silent_switches(&self) -> usize {
        self.switches.iter().filter(|own| own.start >= own.end).count()
    }
}

/// The traffic settings that apply to one switch.
#[derive(Clone, Debug)]
struct Settings<'a> {
    rate: f64,
    arrivals: &'a Arrivals,
    start_delay: Duration,
    stop_delay: Duration,
}

impl<'a> Settings<'a> {
    fn common(traffic: &'a Traffic) -> Self {
        Self {
            rate: traffic.rate,
            arrivals: &traffic.arrivals,
            start_delay: Duration::ZERO,
            stop_delay: Duration::ZERO,
        }
    }
}

fn bounded(duration: Duration) -> Result<Nanos, ScheduleError> {
    Nanos::from_duration(duration)
        .filter(|_| duration.as_secs() <= MAX_SECONDS)
        .ok_or(ScheduleError::TooLong { seconds: duration.as_secs(), max: MAX_SECONDS })
}
