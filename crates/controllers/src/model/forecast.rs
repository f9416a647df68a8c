//! Predicts the results of a measurement of a modelled controller, without waiting for the modelled
//! times to pass.

use std::time::Duration;

use super::ServiceQueue;

/// The packet-ins that a measurement sends: every switch sends at a constant rate, as with
/// `planimeter probe`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// The number of switches.
    pub switches: u32,
    /// The number of packet-ins per second that each switch sends.
    pub rate: f64,
    /// Whether all switches send at the same moments. If false, their packet-ins are evenly
    /// staggered.
    pub in_phase: bool,
    /// The time before the measurement in which packet-ins are sent but not measured.
    pub warm_up: Duration,
    /// The duration of the measurement, after which no packet-ins are sent.
    pub measure: Duration,
}

/// The packet-ins of a measurement, with the predicted times of their answers.
#[derive(Clone, Debug)]
pub struct Forecast {
    load: Load,
    packets: Vec<Packet>,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    switch: u32,
    sent: Duration,
    answered: Option<Duration>,
}

/// Computes when a controller with the queue `queue` answers each packet-in of `load`.
#[must_use]
pub fn forecast(mut queue: ServiceQueue, load: &Load) -> Forecast {
    let end = load.warm_up + load.measure;
    let each = f64::from(load.switches);
    let mut packets = Vec::new();
    for round in 0u32.. {
        let begin = f64::from(round) / load.rate;
        if begin >= end.as_secs_f64() {
            break;
        }
        for switch in 0..load.switches {
            let phase = if load.in_phase { 0.0 } else { f64::from(switch) / each };
            let sent = Duration::from_secs_f64(begin + phase / load.rate);
            if sent < end {
                let answered = queue.admit(sent, load.switches as usize);
                packets.push(Packet { switch, sent, answered });
            }
        }
    }
    Forecast { load: *load, packets }
}

impl Forecast {
    /// Returns the predicted number of answers per second that arrive during the measurement.
    #[must_use]
    pub fn received_rate(&self) -> f64 {
        let arrived = self.packets.iter().filter(|packet| self.is_answered_in_window(packet));
        arrived.count() as f64 / self.load.measure.as_secs_f64()
    }

    /// Returns the share of the measured packet-ins that are never answered.
    #[must_use]
    pub fn loss(&self) -> f64 {
        let measured = || self.packets.iter().filter(|packet| packet.sent >= self.load.warm_up);
        let lost = measured().filter(|packet| packet.answered.is_none()).count();
        lost as f64 / measured().count().max(1) as f64
    }

    /// Returns the mean round-trip time, in seconds, of the packet-ins that are sent during the
    /// measurement, even if they are answered later. Returns `None` if there are no answers.
    #[must_use]
    pub fn mean_time(&self) -> Option<f64> {
        mean_time(self.packets.iter().filter(|packet| packet.sent >= self.load.warm_up))
    }

    /// Returns the mean round-trip time, in seconds, of the answers that arrive during the
    /// measurement. Returns `None` if there are no answers.
    #[must_use]
    pub fn mean_time_in_window(&self) -> Option<f64> {
        mean_time(self.packets.iter().filter(|packet| self.is_answered_in_window(packet)))
    }

    /// Returns for each switch how many of its packet-ins are unanswered at the time `at`, which
    /// counts from the first packet-in.
    #[must_use]
    pub fn outstanding(&self, at: Duration) -> Vec<u64> {
        let mut counts = vec![0; self.load.switches as usize];
        let is_waiting = |packet: &&Packet| {
            packet.sent <= at && packet.answered.is_none_or(|answered| answered > at)
        };
        for packet in self.packets.iter().filter(is_waiting) {
            if let Some(count) = counts.get_mut(packet.switch as usize) {
                *count += 1;
            }
        }
        counts
    }

    fn is_answered_in_window(&self, packet: &Packet) -> bool {
        let window = self.load.warm_up..self.load.warm_up + self.load.measure;
        packet.answered.is_some_and(|answered| window.contains(&answered))
    }
}

fn mean_time<'p>(packets: impl Iterator<Item = &'p Packet>) -> Option<f64> {
    let times: Vec<f64> =
        packets.filter_map(|packet| Some((packet.answered? - packet.sent).as_secs_f64())).collect();
    (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
}
