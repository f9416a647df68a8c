//! The conversion between the configuration of queues and the messages of the service, in both
//! directions. Messages are checked by the rules of the text form in which users write queues.

use std::{
    collections::BTreeMap,
    num::{NonZeroU32, NonZeroU64},
};

use queues::{
    Configuration, Limit, PortConfig, QueueConfig, Shaper,
    config::{RED_WEIGHT, RedConfig, Share, Threshold, Unit},
};

use super::{DeviceQueues, PortState};
use crate::{
    proto::switch::{self, queue},
    status::EntityError,
};

/// Returns the queues of a port as a message.
#[must_use]
pub fn message(port: u32, config: &PortConfig) -> switch::PortQueues {
    let queue = |(number, queue): (u32, &QueueConfig)| switch::Queue {
        queue: number,
        level: Some(queue.level.into()),
        share: Some(match queue.share {
            Share::Packets(weight) => queue::Share::Weight(weight.get()),
            Share::Bytes(quantum) => queue::Share::Quantum(quantum.get()),
        }),
        shaper: shaper_message(queue.shaper),
        depth_packets: Some(queue.depth_packets),
        depth_bytes: queue.depth_bytes,
        red: queue.red.map(|red| switch::Red {
            unit: unit_message(red.unit),
            minimum: red.minimum,
            maximum: red.maximum,
            per_million: red.per_million,
            marks: red.marks,
        }),
        threshold: queue.threshold.map(|threshold| switch::Threshold {
            unit: unit_message(threshold.unit),
            length: threshold.length,
        }),
    };
    switch::PortQueues {
        port,
        shaper: shaper_message(config.shaper),
        overhead: config.overhead,
        buffer: config.buffer,
        queues: (0..).zip(&config.queues).map(queue).collect(),
    }
}

fn shaper_message(shaper: Shaper) -> Option<switch::Shaper> {
    let bits = shaper
        .bits
        .map(|Limit { rate, burst }| switch::BitLimit { rate: rate.get(), burst_bytes: burst / 8 });
    let packets =
        shaper.packets.map(|Limit { rate, burst }| switch::PacketLimit { rate: rate.get(), burst });
    (bits.is_some() || packets.is_some()).then_some(switch::Shaper { bits, packets })
}

fn unit_message(unit: Unit) -> i32 {
    let unit = match unit {
        Unit::Packets => switch::Unit::Packets,
        Unit::Bytes => switch::Unit::Bytes,
    };
    unit.into()
}

/// Returns the changes of queues that the messages of a request describe, by port. A port whose
/// queues are removed has the value `None`.
///
/// # Errors
/// Returns INVALID_ARGUMENT with a message that names the port, the queue and the mistake.
pub fn changes(
    ports: &[switch::PortQueues],
) -> Result<BTreeMap<u32, Option<PortConfig>>, EntityError> {
    let mut changes = BTreeMap::new();
    for queues in ports {
        let place = || format!("port {}", queues.port);
        let config = match queues.queues.is_empty() {
            true => check_empty(queues).map(|()| None),
            false => port(queues).map(Some),
        };
        let config = config.map_err(|error| error.within(place()))?;
        if changes.insert(queues.port, config).is_some() {
            return Err(EntityError::invalid("The port is named twice.").within(place()));
        }
    }
    Ok(changes)
}

/// Returns the configuration of queues that messages describe.
///
/// # Errors
/// Returns the errors of [`changes`], and one for a port without queues.
pub fn configuration(ports: &[switch::PortQueues]) -> Result<Configuration, EntityError> {
    let ports = changes(ports)?.into_iter().map(|(port, config)| {
        let none = || EntityError::invalid(format!("port {port}: The port has no queues."));
        Ok((port, config.ok_or_else(none)?))
    });
    Ok(Configuration(ports.collect::<Result<_, EntityError>>()?))
}

/// Refuses settings of a port that would have no effect, because the port has no queues.
fn check_empty(port: &switch::PortQueues) -> Result<(), EntityError> {
    if port.shaper.is_none() && port.overhead == 0 && port.buffer.is_none() {
        return Ok(());
    }
    Err(EntityError::invalid(
        "The port has settings but no queues; add at least one queue, or remove the settings.",
    ))
}

fn port(port: &switch::PortQueues) -> Result<PortConfig, EntityError> {
    let queues = (0..).zip(&port.queues).map(|(number, queue)| {
        let config = config_of(number, queue);
        config.map_err(|error| error.within(format!("queue {number}")))
    });
    let config = PortConfig {
        shaper: shaper(port.shaper.as_ref())?,
        overhead: port.overhead,
        buffer: port.buffer,
        queues: queues.collect::<Result<_, _>>()?,
    };
    config.check().map_err(|problem| EntityError::invalid(format!("{problem}.")))?;
    Ok(config)
}

fn config_of(number: u32, queue: &switch::Queue) -> Result<QueueConfig, EntityError> {
    if queue.queue != number {
        return Err(EntityError::invalid(format!(
            "The queue at this position has the number {}; queues are in the order of their numbers, from 0, \
             without gaps.",
            queue.queue
        )));
    }
    let too_large = |what: &str, value: u32| {
        EntityError::invalid(format!("The {what} {value} is not in the range of 0 to 63."))
    };
    let mut config =
        QueueConfig::new(u8::try_from(number).map_err(|_| too_large("number", number))?);
    if let Some(level) = queue.level {
        config.level = u8::try_from(level).map_err(|_| too_large("level", level))?;
    }
    let positive = |what: &str, value: u32| {
        let none = || EntityError::invalid(format!("The {what} must not be 0."));
        NonZeroU32::new(value).ok_or_else(none)
    };
    match queue.share {
        Some(queue::Share::Weight(weight)) => {
            config.share = Share::Packets(positive("weight", weight)?);
        }
        Some(queue::Share::Quantum(quantum)) => {
            config.share = Share::Bytes(positive("quantum", quantum)?);
        }
        None => {}
    }
    config.shaper = shaper(queue.shaper.as_ref())?;
    config.set_depth(queue.depth_packets, queue.depth_bytes);
    config.red = queue.red.as_ref().map(red).transpose()?;
    config.threshold = queue.threshold.as_ref().map(threshold).transpose()?;
    Ok(config)
}

fn shaper(shaper: Option<&switch::Shaper>) -> Result<Shaper, EntityError> {
    let Some(shaper) = shaper else { return Ok(Shaper::default()) };
    let limit = |rate: u64, burst: u64| -> Result<Limit, EntityError> {
        let none = || EntityError::invalid("A rate must not be 0; leave it out for none.");
        Ok(Limit { rate: NonZeroU64::new(rate).ok_or_else(none)?, burst })
    };
    let bits = shaper.bits.as_ref();
    let bits = bits.map(|bits| limit(bits.rate, bits.burst_bytes.saturating_mul(8)));
    let packets = shaper.packets.as_ref().map(|packets| limit(packets.rate, packets.burst));
    Ok(Shaper { bits: bits.transpose()?, packets: packets.transpose()? })
}

fn unit(unit: i32) -> Result<Unit, EntityError> {
    match switch::Unit::try_from(unit) {
        Ok(switch::Unit::Packets) => Ok(Unit::Packets),
        Ok(switch::Unit::Bytes) => Ok(Unit::Bytes),
        Err(_) => Err(EntityError::invalid(format!("The unit {unit} is not defined."))),
    }
}

fn red(red: &switch::Red) -> Result<RedConfig, EntityError> {
    let switch::Red { minimum, maximum, per_million, marks, .. } = *red;
    let unit = unit(red.unit)?;
    Ok(RedConfig { unit, minimum, maximum, per_million, weight: RED_WEIGHT, marks })
}

fn threshold(threshold: &switch::Threshold) -> Result<Threshold, EntityError> {
    Ok(Threshold { unit: unit(threshold.unit)?, length: threshold.length })
}

/// Returns the configuration of a device's queues as messages, for the given ports, or for all
/// ports if `ports` is empty.
pub(super) fn configured(queues: &DeviceQueues, ports: &[u32]) -> Vec<switch::PortQueues> {
    let ports = queues.configuration.0.iter().filter(|(port, _)| is_wanted(ports, **port));
    ports.map(|(port, config)| message(*port, config)).collect()
}

/// Returns the state of a device's queues as messages, for the given ports, or for all ports if
/// `ports` is empty.
pub(super) fn states(queues: &DeviceQueues, ports: &[u32]) -> Vec<switch::PortState> {
    let states = queues.states.iter().filter(|(port, _)| is_wanted(ports, **port));
    states.map(|(port, state)| state_message(*port, state)).collect()
}

fn is_wanted(ports: &[u32], port: u32) -> bool {
    ports.is_empty() || ports.contains(&port)
}

fn state_message(port: u32, state: &PortState) -> switch::PortState {
    let queue = |(queue, counts): (u32, &queues::QueueCounts)| switch::QueueState {
        queue,
        depth_packets: counts.waiting,
        depth_bytes: counts.waiting_bytes,
        deepest_packets: counts.deepest,
        enqueued: counts.enqueued,
        enqueued_bytes: counts.enqueued_bytes,
        sent: counts.sent,
        sent_bytes: counts.sent_bytes,
        dropped_depth: counts.dropped_depth,
        dropped_buffer: counts.dropped_buffer,
        dropped_red: counts.dropped_red,
        dropped_behind: counts.dropped_behind,
        marked: counts.marked,
    };
    switch::PortState {
        port,
        queues: (0..).zip(&state.queues).map(queue).collect(),
        lateness: state.lateness.map(|lateness| switch::Lateness {
            packets: lateness.packets,
            total_ns: lateness.total,
            largest_ns: lateness.largest,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(lines: &[&str]) -> Configuration {
        Configuration::parse(lines).expect("a configuration")
    }

    /// Checks that a configuration keeps every setting of the text form when it is converted to
    /// messages and back.
    #[test]
    fn a_configuration_is_the_same_after_both_directions() {
        let all = parsed(&[
            "port=1 rate=10Mbps,2kpps burst=3,9kB buffer=96kB overhead=24 depth=100 ecn=30kB",
            "port=1 queue=2 rate=2Mbps burst=3kB depth=96kB red=5:15:2.5%:ecn level=1 weight=3",
            "port=1 queue=3 rate=7pps depth=3,9kB red=5kB:15kB:100% level=0 weight=8",
            "port=7 queues=8",
            "port=8 queue=0 quantum=1500B level=3",
        ]);
        let messages: Vec<_> = all.0.iter().map(|(port, config)| message(*port, config)).collect();
        assert_eq!(configuration(&messages), Ok(all));
    }

    /// Checks that a message without settings describes the same queue as a text without settings.
    #[test]
    fn what_is_not_set_has_the_value_of_the_text_form() {
        let queues = (0..3).map(|queue| switch::Queue { queue, ..Default::default() }).collect();
        let port = switch::PortQueues { port: 4, queues, ..Default::default() };
        assert_eq!(configuration(&[port]), Ok(parsed(&["port=4 queues=3"])));
        let none = switch::PortQueues { port: 4, ..Default::default() };
        assert_eq!(changes(&[none]), Ok([(4, None)].into()));
    }

    #[test]
    fn what_is_wrong_is_refused_with_its_place() {
        let plain = |queue| switch::Queue { queue, ..Default::default() };
        let port = |queues| switch::PortQueues { port: 4, queues, ..Default::default() };
        let bits = |rate, burst_bytes| {
            let bits = Some(switch::BitLimit { rate, burst_bytes });
            Some(switch::Shaper { bits, packets: None })
        };
        let red = |minimum, maximum, per_million| {
            let red = switch::Red { minimum, maximum, per_million, ..Default::default() };
            switch::Queue { red: Some(red), ..plain(0) }
        };
        let weight = Some(queue::Share::Weight(1));
        let quantum = Some(queue::Share::Quantum(1));
        let level = Some(0);
        for (ports, reason) in [
            (vec![port(vec![plain(0)]), port(vec![])], "port 4: The port is named twice"),
            (vec![port(vec![plain(0), plain(2)])], "port 4: queue 1: The queue at this position"),
            (
                vec![port((0..65).map(plain).collect())],
                "port 4: 'queues=65' is not a number from 1",
            ),
            (
                vec![port(vec![switch::Queue { level: Some(64), ..plain(0) }])],
                "port 4: 'level=64' is not a number from 0 to 63",
            ),
            (
                vec![port(vec![switch::Queue { level: Some(256), ..plain(0) }])],
                "port 4: queue 0: The level 256",
            ),
            (
                vec![port(vec![switch::Queue { shaper: bits(0, 0), ..plain(0) }])],
                "port 4: queue 0: A rate must not be 0",
            ),
            (
                vec![port(vec![switch::Queue { shaper: bits(u64::MAX, 0), ..plain(0) }])],
                "port 4: 'rate=18446744073709551615' is not a number",
            ),
            (
                vec![port(vec![switch::Queue { shaper: bits(1, u64::MAX), ..plain(0) }])],
                "port 4: 'burst=18446744073709551615' is not a number",
            ),
            (vec![port(vec![red(5, 5, 1)])], "port 4: 'red maximum=5' is not a number from 6"),
            (vec![port(vec![red(5, 9, 1_000_001)])], "port 4: 'red millionths=1000001'"),
            (
                vec![port(vec![switch::Queue {
                    share: Some(queue::Share::Weight(0)),
                    ..plain(0)
                }])],
                "port 4: queue 0: The weight must not be 0",
            ),
            (
                vec![port(vec![
                    switch::Queue { share: weight, level, ..plain(0) },
                    switch::Queue { share: quantum, level, ..plain(1) },
                ])],
                "port 4: the queues of level 0 must all have",
            ),
            (
                vec![port(vec![switch::Queue {
                    threshold: Some(switch::Threshold { unit: 7, length: 1 }),
                    ..plain(0)
                }])],
                "port 4: queue 0: The unit 7 is not defined",
            ),
            (
                vec![switch::PortQueues { overhead: 3, ..port(vec![]) }],
                "port 4: The port has settings but no queues",
            ),
            (
                vec![switch::PortQueues { overhead: 65_536, ..port(vec![plain(0)]) }],
                "port 4: 'overhead=65536' is not a number from 0 to 65535",
            ),
        ] {
            let error = changes(&ports).expect_err(reason);
            assert!(error.message().starts_with(reason), "{reason}: {}", error.message());
            assert_eq!(error.code(), crate::status::Code::InvalidArgument);
        }
    }
}
