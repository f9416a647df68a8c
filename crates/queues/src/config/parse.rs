//! The text form of a configuration: lines of `key=value` words, such as
//! `port=1 queue=7 rate=2Mbps depth=64,96kB`. A line without `queue` is about the port.

use super::{
    Configuration, Limit, MAX_OVERHEAD, PortConfig, QueueConfig, RED_WEIGHT, RedConfig, Shaper,
    Share, Threshold, Unit,
};
use crate::units::{MAX_QUEUES, UnitError, bit_rate, packet_rate, size};
use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

/// The error for a configuration that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("queues '{line}': {problem}")]
pub struct ConfigError {
    /// The faulty line.
    pub line: String,
    /// The problem with the line.
    pub problem: Problem,
}

/// A problem with a line of a configuration, or with the whole configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A word is not of the form `key=value`.
    #[error("'{0}' is not of the form key=value, such as rate=10Mbps")]
    Word(String),
    /// A key is unknown, or is not allowed in a line about a port or about a queue.
    #[error("there is no '{key}' {place}; there are {known}")]
    Key {
        /// The key that is unknown or not allowed.
        key: String,
        /// Whether the line is about a port or about a queue.
        place: &'static str,
        /// The keys that are allowed in lines of this kind.
        known: &'static str,
    },
    /// A key occurs twice for the same port or queue.
    #[error("'{0}' is given twice for the same port or queue")]
    Twice(String),
    /// The line does not say which port it is about.
    #[error("it lacks port=NUMBER")]
    NoPort,
    /// A value is not a number in the range that its key needs.
    #[error("'{key}={value}' is not a number from {low} to {high}")]
    Number {
        /// The key that has the value.
        key: &'static str,
        /// The value as it is written in the line.
        value: String,
        /// The smallest number that the key accepts.
        low: u64,
        /// The largest number that the key accepts.
        high: u64,
    },
    /// A value has no known unit.
    #[error("{0}")]
    Unit(#[from] UnitError),
    /// A list has two values of one unit, such as two rates in bits.
    #[error("'{key}={value}' has two values of one unit")]
    TwoOfAUnit {
        /// The key that has the list as its value.
        key: &'static str,
        /// The list as it is written in the line.
        value: String,
    },
    /// A burst is given in a unit, bits or packets, in which no rate is given.
    #[error(
        "the burst has no rate of its unit: a burst in bytes needs a rate in bit/s, one in packets a rate in pps"
    )]
    BurstWithoutRate,
    /// The parameters of RED are malformed.
    #[error(
        "'red={0}' is not MINIMUM:MAXIMUM:PERCENT%, such as red=5kB:15kB:10% or red=5:15:2.5%:ecn"
    )]
    Red(String),
    /// A queue has both a weight in packets and a quantum in bytes.
    #[error("weight (packets) and quantum (bytes) exclude each other")]
    TwoShares,
    /// Some queues of this level have weights in packets, and others have quanta in bytes.
    #[error("the queues of level {0} must all have a weight (packets) or all a quantum (bytes)")]
    MixedShares(u8),
    /// The number of a queue is not below the number of queues that its port has.
    #[error("queue {queue} is beyond the {queues} queues of the port")]
    Beyond {
        /// The number of the queue.
        queue: u8,
        /// The number of queues that the port has.
        queues: u8,
    },
}

const OF_PORT: &str = "port, queues, rate, burst, overhead, buffer, depth, red, ecn";
const OF_QUEUE: &str = "port, queue, rate, burst, depth, red, ecn, level, weight, quantum";

/// The settings of a port or queue from all lines about it. Each key is mapped to its value and the
/// line that contains it.
type Words<'t> = BTreeMap<&'t str, (&'t str, &'t str)>;

/// The settings of a port and of its queues.
#[derive(Default)]
struct Collected<'t> {
    port: Words<'t>,
    queues: BTreeMap<u8, Words<'t>>,
    line: &'t str,
}

impl Configuration {
    /// Parses the lines of a configuration. Several lines may be about one port or queue.
    ///
    /// # Errors
    /// Returns the faulty line and the problem with it.
    pub fn parse<T: AsRef<str>>(lines: &[T]) -> Result<Self, ConfigError> {
        Self::collect(lines, Repeated::Refused)
    }

    /// Parses the lines of a configuration. If several lines make the same setting, the last one
    /// applies. A setting in a line about a port also replaces the earlier ones of the port's
    /// queues.
    ///
    /// # Errors
    /// Returns the faulty line and the problem with it.
    pub fn parse_latest<T: AsRef<str>>(lines: &[T]) -> Result<Self, ConfigError> {
        Self::collect(lines, Repeated::Replaces)
    }

    fn collect<T: AsRef<str>>(lines: &[T], repeated: Repeated) -> Result<Self, ConfigError> {
        let mut ports: BTreeMap<u32, Collected<'_>> = BTreeMap::new();
        for line in lines {
            let line = line.as_ref();
            collect(line, &mut ports, repeated).map_err(at(line))?;
        }
        let ports = ports.into_iter().map(|(number, port)| Ok((number, port.build()?)));
        Ok(Self(ports.collect::<Result<_, _>>()?))
    }
}

fn at(line: &str) -> impl Fn(Problem) -> ConfigError {
    move |problem| ConfigError { line: line.to_owned(), problem }
}

/// The treatment of a setting that an earlier line has already made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repeated {
    /// A repeated setting is an error.
    Refused,
    /// A repeated setting replaces the earlier one.
    Replaces,
}

/// The settings that apply to each queue of a port if they are in a line about the port.
const OF_EACH_QUEUE: [&str; 3] = ["depth", "red", "ecn"];

fn collect<'t>(
    line: &'t str,
    ports: &mut BTreeMap<u32, Collected<'t>>,
    repeated: Repeated,
) -> Result<(), Problem> {
    let (mut port, mut queue, mut words) = (None, None, Vec::new());
    for word in line.split_whitespace() {
        let pair = word.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty());
        let (key, value) = pair.ok_or_else(|| Problem::Word(word.to_owned()))?;
        match key {
            "port" => set(&mut port, key, number("port", value, 0, u32::MAX.into())?)?,
            "queue" => {
                set(&mut queue, key, number("queue", value, 0, u64::from(MAX_QUEUES) - 1)?)?;
            }
            _ => words.push((key, value)),
        }
    }
    let port = u32::try_from(port.ok_or(Problem::NoPort)?).map_err(|_| Problem::NoPort)?;
    let collected = ports.entry(port).or_default();
    collected.line = line;
    let queue = queue.and_then(|queue| u8::try_from(queue).ok());
    let (known, place) = match queue {
        Some(_) => (OF_QUEUE, "of a queue"),
        None => (OF_PORT, "of a port"),
    };
    if repeated == Repeated::Replaces {
        collected.forget(queue, &words);
    }
    let into = match queue {
        Some(queue) => collected.queues.entry(queue).or_default(),
        None => &mut collected.port,
    };
    for (key, value) in words {
        if !known.split(", ").any(|known| known == key) {
            return Err(Problem::Key { key: key.to_owned(), place, known });
        }
        if into.insert(key, (value, line)).is_some() {
            return Err(Problem::Twice(key.to_owned()));
        }
    }
    Ok(())
}

fn set(into: &mut Option<u64>, key: &str, number: u64) -> Result<(), Problem> {
    match into.replace(number) {
        Some(_) => Err(Problem::Twice(key.to_owned())),
        None => Ok(()),
    }
}

fn number(key: &'static str, value: &str, low: u64, high: u64) -> Result<u64, Problem> {
    let number = value.parse().ok().filter(|number| (low..=high).contains(number));
    number.ok_or_else(|| Problem::Number { key, value: value.to_owned(), low, high })
}

impl Collected<'_> {
    /// Removes the settings that a new line replaces. The line is about queue `queue`, or about the
    /// port if that is `None`.
    fn forget(&mut self, queue: Option<u8>, words: &[(&str, &str)]) {
        let count = self.port.get("queues").and_then(|(count, _)| count.parse::<u8>().ok());
        if queue.zip(count).is_some_and(|(queue, count)| queue >= count) {
            // A line about a queue beyond the number of queues adds that queue.
            self.port.remove("queues");
        }
        for (key, value) in words {
            match (queue, *key) {
                (Some(queue), "weight" | "quantum") => {
                    let words = self.queues.entry(queue).or_default();
                    words.retain(|known, _| !matches!(*known, "weight" | "quantum"));
                }
                (Some(queue), key) => {
                    self.queues.entry(queue).or_default().remove(key);
                }
                (None, key) => {
                    self.port.remove(key);
                    if OF_EACH_QUEUE.contains(&key) {
                        for words in self.queues.values_mut() {
                            words.remove(key);
                        }
                    }
                    if let (&"queues", Ok(count)) = (&key, value.parse::<u8>()) {
                        self.queues.retain(|queue, _| *queue < count);
                    }
                }
            }
        }
    }

    fn build(self) -> Result<PortConfig, ConfigError> {
        let Self { port, queues: own, line } = self;
        let get = |key: &'static str, low, high| match port.get(key) {
            Some((value, line)) => number(key, value, low, high).map(Some).map_err(at(line)),
            None => Ok(None),
        };
        let last = own.keys().next_back().copied();
        let named = last.map_or(1, |last| last + 1);
        let queues = get("queues", 1, MAX_QUEUES.into())?;
        let queues = queues.and_then(|queues| u8::try_from(queues).ok()).unwrap_or(named);
        if let Some(queue) = last.filter(|last| *last >= queues) {
            return Err(at(line)(Problem::Beyond { queue, queues }));
        }
        let overhead =
            get("overhead", 0, MAX_OVERHEAD.into())?.and_then(|bytes| u32::try_from(bytes).ok());
        let mut config = PortConfig {
            shaper: shaper(&port)?,
            overhead: overhead.unwrap_or(0),
            buffer: match port.get("buffer") {
                Some((value, line)) => Some(size(value).map_err(|error| at(line)(error.into()))?),
                None => None,
            },
            queues: Vec::with_capacity(queues.into()),
        };
        for number in 0..queues {
            let mut queue = QueueConfig::new(number);
            admission(&port, &mut queue)?;
            if let Some(words) = own.get(&number) {
                admission(words, &mut queue)?;
                queue.shaper = shaper(words)?;
                share(words, &mut queue)?;
            }
            config.queues.push(queue);
        }
        config.check().map_err(at(line))?;
        Ok(config)
    }
}

/// Reads the settings `rate` and `burst` of a port or queue.
fn shaper(words: &Words<'_>) -> Result<Shaper, ConfigError> {
    let mut shaper = Shaper::default();
    let Some((value, line)) = words.get("rate") else {
        return match words.get("burst") {
            Some((_, line)) => Err(at(line)(Problem::BurstWithoutRate)),
            None => Ok(shaper),
        };
    };
    for part in value.split(',') {
        let (into, rate) = match part.ends_with("pps") {
            true => (&mut shaper.packets, packet_rate(part)),
            false => (&mut shaper.bits, bit_rate(part)),
        };
        let rate = rate.map_err(|error| at(line)(error.into()))?;
        let rate = NonZeroU64::new(rate).ok_or_else(|| {
            at(line)(Problem::Number {
                key: "rate",
                value: part.to_owned(),
                low: 1,
                high: u64::MAX,
            })
        })?;
        if into.replace(Limit { rate, burst: 0 }).is_some() {
            return Err(at(line)(Problem::TwoOfAUnit { key: "rate", value: (*value).to_owned() }));
        }
    }
    if let Some((value, line)) = words.get("burst") {
        let Amounts { packets, bytes } = amounts("burst", value).map_err(at(line))?;
        for (limit, burst) in [
            (&mut shaper.packets, packets),
            (&mut shaper.bits, bytes.map(|bytes| bytes.saturating_mul(8))),
        ] {
            match (limit, burst) {
                (Some(limit), Some(burst)) => limit.burst = burst,
                (None, Some(_)) => return Err(at(line)(Problem::BurstWithoutRate)),
                (_, None) => {}
            }
        }
    }
    Ok(shaper)
}

/// A number of packets and a number of bytes, as in `64,96kB`.
struct Amounts {
    packets: Option<u64>,
    bytes: Option<u64>,
}

fn amounts(key: &'static str, value: &str) -> Result<Amounts, Problem> {
    let mut amounts = Amounts { packets: None, bytes: None };
    for part in value.split(',') {
        let Threshold { unit, length } = threshold(key, part)?;
        let into = match unit {
            Unit::Packets => &mut amounts.packets,
            Unit::Bytes => &mut amounts.bytes,
        };
        if into.replace(length).is_some() {
            return Err(Problem::TwoOfAUnit { key, value: value.to_owned() });
        }
    }
    Ok(amounts)
}

/// Reads a queue length. A number without a unit counts packets, and a number with a unit counts
/// bytes.
fn threshold(key: &'static str, value: &str) -> Result<Threshold, Problem> {
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        let length = number(key, value, 0, u32::MAX.into())?;
        return Ok(Threshold { unit: Unit::Packets, length });
    }
    Ok(Threshold { unit: Unit::Bytes, length: size(value)? })
}

/// Reads the settings `depth`, `red` and `ecn` of a queue.
fn admission(words: &Words<'_>, queue: &mut QueueConfig) -> Result<(), ConfigError> {
    if let Some((value, line)) = words.get("depth") {
        let Amounts { packets, bytes } = amounts("depth", value).map_err(at(line))?;
        queue.set_depth(packets.and_then(|packets| u32::try_from(packets).ok()), bytes);
    }
    if let Some((value, line)) = words.get("red") {
        queue.red = Some(red(value).map_err(at(line))?);
    }
    if let Some((value, line)) = words.get("ecn") {
        queue.threshold = Some(threshold("ecn", value).map_err(at(line))?);
    }
    Ok(())
}

fn red(value: &str) -> Result<RedConfig, Problem> {
    let wrong = || Problem::Red(value.to_owned());
    let mut parts = value.split(':');
    let (Some(minimum), Some(maximum), Some(percent)) = (parts.next(), parts.next(), parts.next())
    else {
        return Err(wrong());
    };
    let (minimum, maximum) = (threshold("red", minimum)?, threshold("red", maximum)?);
    let (whole, fraction) = percent
        .strip_suffix('%')
        .ok_or_else(wrong)?
        .split_once('.')
        .unwrap_or((percent.trim_end_matches('%'), ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 4 {
        return Err(wrong());
    }
    // A percent is 10,000 millionths.
    let per_million: u32 = format!("{whole}{fraction:0<4}").parse().map_err(|_| wrong())?;
    let marks = match (parts.next(), parts.next()) {
        (None, _) => false,
        (Some("ecn"), None) => true,
        (Some(_), _) => return Err(wrong()),
    };
    let (unit, (minimum, maximum)) = (
        minimum.unit,
        match minimum.unit == maximum.unit {
            true => (minimum.length, maximum.length),
            false => return Err(wrong()),
        },
    );
    if minimum >= maximum || per_million > 1_000_000 {
        return Err(wrong());
    }
    Ok(RedConfig { unit, minimum, maximum, per_million, weight: RED_WEIGHT, marks })
}

/// Reads the settings `level`, `weight` and `quantum` of a queue.
fn share(words: &Words<'_>, queue: &mut QueueConfig) -> Result<(), ConfigError> {
    if let Some((value, line)) = words.get("level") {
        let high = u64::from(MAX_QUEUES) - 1;
        let level = number("level", value, 0, high).map_err(at(line))?;
        queue.level = u8::try_from(level).unwrap_or(queue.level);
    }
    let positive = |number: u64| u32::try_from(number).ok().and_then(NonZeroU32::new);
    let high = u64::from(u32::MAX);
    if let Some((value, line)) = words.get("weight") {
        let weight = number("weight", value, 1, high).map_err(at(line))?;
        queue.share = Share::Packets(positive(weight).unwrap_or(NonZeroU32::MIN));
    }
    if let Some((value, line)) = words.get("quantum") {
        if words.contains_key("weight") {
            return Err(at(line)(Problem::TwoShares));
        }
        let bytes = size(value).map_err(|error| at(line)(error.into()))?;
        let quantum = positive(bytes).ok_or_else(|| {
            at(line)(Problem::Number { key: "quantum", value: (*value).to_owned(), low: 1, high })
        })?;
        queue.share = Share::Bytes(quantum);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(lines: &[&str]) -> Result<Configuration, String> {
        Configuration::parse(lines).map_err(|error| error.problem.to_string())
    }

    #[test]
    fn lines_about_a_port_and_its_queues_are_put_together() {
        let read = parse(&[
            "port=1 rate=10Mbps,2kpps burst=3 buffer=96kB overhead=24 depth=100 ecn=30kB",
            "port=1 queue=2 rate=2Mbps burst=3kB depth=96kB red=5:15:2.5%:ecn level=1 weight=3",
            "port=7 queues=8",
        ])
        .expect("a configuration");
        let one = &read.0[&1];
        let limit = |rate, burst| NonZeroU64::new(rate).map(|rate| Limit { rate, burst });
        let shaper = Shaper { bits: limit(10_000_000, 0), packets: limit(2_000, 3) };
        assert_eq!((one.shaper, one.overhead, one.buffer), (shaper, 24, Some(96_000)));
        let threshold = Some(Threshold { unit: Unit::Bytes, length: 30_000 });
        let plain =
            |number| QueueConfig { depth_packets: 100, threshold, ..QueueConfig::new(number) };
        let red = RedConfig {
            unit: Unit::Packets,
            minimum: 5,
            maximum: 15,
            per_million: 25_000,
            weight: 9,
            marks: true,
        };
        let special = QueueConfig {
            level: 1,
            share: Share::Packets(NonZeroU32::new(3).expect("positive")),
            shaper: Shaper { bits: limit(2_000_000, 24_000), packets: None },
            depth_packets: 96_000,
            depth_bytes: Some(96_000),
            red: Some(red),
            ..plain(2)
        };
        assert_eq!(one.queues, [plain(0), plain(1), special]);
        assert_eq!(read.0[&7], PortConfig::new(8));
    }

    #[test]
    fn what_configures_nothing_is_refused_with_the_reason() {
        for (lines, reason) in [
            (&["rate=1Mbps"][..], "it lacks port=NUMBER"),
            (&["port=1 fast"], "'fast' is not of the form key=value"),
            (&["port=1 colour=3"], "there is no 'colour' of a port; there are port, queues"),
            (&["port=1 queue=1 buffer=3kB"], "there is no 'buffer' of a queue"),
            (&["port=1 rate=1Mbps", "port=1 rate=2Mbps"], "'rate' is given twice"),
            (&["port=1 port=2"], "'port' is given twice"),
            (&["port=1 queue=64"], "'queue=64' is not a number from 0 to 63"),
            (&["port=1 rate=0bps"], "'rate=0bps' is not a number from 1"),
            (&["port=1 rate=1Mbps,2Mbps"], "two values of one unit"),
            (&["port=1 rate=10"], "'10' is no rate"),
            (&["port=1 rate=1Mbps burst=3"], "the burst has no rate of its unit"),
            (&["port=1 burst=3kB"], "the burst has no rate of its unit"),
            (&["port=1 red=5:15kB:10%"], "'red=5:15kB:10%' is not MINIMUM:MAXIMUM:PERCENT%"),
            (&["port=1 red=15:5:10%"], "is not MINIMUM"),
            (&["port=1 red=5:15:101%"], "is not MINIMUM"),
            (&["port=1 red=5:15:1%:mark"], "is not MINIMUM"),
            (&["port=1 queue=1 weight=2 quantum=1500B"], "exclude each other"),
            (&["port=1 queue=1 level=0 quantum=1500B"], "the queues of level 0 must all have"),
            (&["port=1 queues=2 ", "port=1 queue=2 level=0"], "queue 2 is beyond the 2 queues"),
        ] {
            let found = parse(lines).expect_err(reason);
            assert!(found.contains(reason), "{lines:?}: {found}");
        }
    }
}
