//! Prints a configuration as lines, which [`Configuration::parse`] reads.

use super::{
    Configuration, DEFAULT_DEPTH, Limit, PortConfig, QueueConfig, RedConfig, Shaper, Share,
    Threshold, Unit,
};
use std::num::NonZeroU32;

impl Configuration {
    /// Returns the lines of the configuration: one for each port, and one for each queue whose
    /// settings differ from the defaults. Parsing them returns the same configuration.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.0.iter().flat_map(|(port, config)| config.lines(*port)).collect()
    }
}

impl PortConfig {
    fn lines(&self, port: u32) -> Vec<String> {
        let mut line = format!("port={port} queues={}", self.queues.len());
        line.push_str(&shaper(&self.shaper));
        if self.overhead > 0 {
            line.push_str(&format!(" overhead={}", self.overhead));
        }
        if let Some(bytes) = self.buffer {
            line.push_str(&format!(" buffer={bytes}B"));
        }
        let mut lines = vec![line];
        for (number, queue) in (0..).zip(&self.queues) {
            let settings = queue.settings(number);
            if !settings.is_empty() {
                lines.push(format!("port={port} queue={number}{settings}"));
            }
        }
        lines
    }
}

impl QueueConfig {
    /// Returns the settings of queue `number` that differ from the defaults.
    fn settings(&self, number: u8) -> String {
        let mut text = shaper(&self.shaper);
        let of_bytes = self.depth_bytes.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
        match (self.depth_packets, self.depth_bytes) {
            (DEFAULT_DEPTH, None) => {}
            (packets, None) => text.push_str(&format!(" depth={packets}")),
            (packets, Some(bytes)) if Some(packets) == of_bytes => {
                text.push_str(&format!(" depth={bytes}B"));
            }
            (packets, Some(bytes)) => text.push_str(&format!(" depth={packets},{bytes}B")),
        }
        if let Some(RedConfig { unit, minimum, maximum, per_million, weight: _, marks }) = self.red
        {
            let (low, high) = (length(unit, minimum), length(unit, maximum));
            // A percent is 10,000 millionths.
            let (whole, fraction) = (per_million / 10_000, per_million % 10_000);
            text.push_str(&format!(" red={low}:{high}:{whole}.{fraction:04}%"));
            if marks {
                text.push_str(":ecn");
            }
        }
        if let Some(Threshold { unit, length: from }) = self.threshold {
            text.push_str(&format!(" ecn={}", length(unit, from)));
        }
        if self.level != number {
            text.push_str(&format!(" level={}", self.level));
        }
        match self.share {
            Share::Packets(NonZeroU32::MIN) => {}
            Share::Packets(weight) => text.push_str(&format!(" weight={weight}")),
            Share::Bytes(quantum) => text.push_str(&format!(" quantum={quantum}B")),
        }
        text
    }
}

fn length(unit: Unit, length: u64) -> String {
    match unit {
        Unit::Packets => length.to_string(),
        Unit::Bytes => format!("{length}B"),
    }
}

/// Returns the settings `rate` and `burst` of a port or queue as text, if they are set.
fn shaper(shaper: &Shaper) -> String {
    let rate = |limit: Option<Limit>, unit: &str| limit.map(|one| format!("{}{unit}", one.rate));
    let rates: Vec<String> =
        rate(shaper.bits, "bps").into_iter().chain(rate(shaper.packets, "pps")).collect();
    if rates.is_empty() {
        return String::new();
    }
    let bytes = shaper.bits.map(|limit| limit.burst / 8).filter(|bytes| *bytes > 0);
    let packets = shaper.packets.map(|limit| limit.burst).filter(|packets| *packets > 0);
    let bursts = bytes.map(|bytes| format!("{bytes}B"));
    let bursts: Vec<String> =
        bursts.into_iter().chain(packets.map(|packets| packets.to_string())).collect();
    let burst =
        if bursts.is_empty() { String::new() } else { format!(" burst={}", bursts.join(",")) };
    format!(" rate={}{burst}", rates.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests that parsing the printed lines of a configuration returns the same configuration.
    #[test]
    fn lines_are_read_back() {
        for lines in [
            &["port=1 rate=10Mbps,2kpps burst=3kB,7 queues=8 overhead=24 buffer=96kB"][..],
            &["port=3"],
            &[
                "port=2 queues=3 depth=100,96kB ecn=30kB",
                "port=2 queue=1 rate=2Mbps burst=3kB depth=96kB red=5:15:2.5% level=0 weight=3",
                "port=2 queue=2 red=5kB:15kB:0.0001%:ecn quantum=1500B rate=3pps",
            ],
        ] {
            let read = Configuration::parse(lines).expect("it is right");
            let printed = read.lines();
            assert_eq!(Configuration::parse(&printed), Ok(read), "{printed:?}");
        }
    }

    #[test]
    fn later_lines_replace_settings_and_keep_the_others() {
        let read =
            |lines: &[&str]| Configuration::parse_latest(lines).expect("it is right").lines();
        let first = ["port=1 rate=10Mbps queues=2 depth=8", "port=1 queue=1 rate=1Mbps weight=2"];
        let with = |line| [first.as_slice(), &[line]].concat();
        assert_eq!(
            read(&with("port=1 queue=1 rate=5pps quantum=1kB")),
            [
                "port=1 queues=2 rate=10000000bps",
                "port=1 queue=0 depth=8",
                "port=1 queue=1 rate=5pps depth=8 quantum=1000B",
            ]
        );
        assert_eq!(
            read(&with("port=1 queues=1 depth=9")),
            ["port=1 queues=1 rate=10000000bps", "port=1 queue=0 depth=9"]
        );
        assert_eq!(
            read(&with("port=1 queue=3 rate=5pps")).first().map(String::as_str),
            Some("port=1 queues=4 rate=10000000bps")
        );
        // `parse` accepts each setting only once.
        assert!(Configuration::parse(&with("port=1 rate=1Mbps")).is_err());
    }
}
