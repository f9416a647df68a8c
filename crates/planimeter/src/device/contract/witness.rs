//! The packets that come closest to contracts, and their measured delays.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path as FilePath;

use device::campaign::Picoseconds;
use device::contract::Contract;
use device::measure::{Repeat, TimedPacket, time_packet};
use device::{Level, Model};
use packetio::pcap::{CaptureWriter, LinkType};
use pipeline::Path;
use statistics::{Confidence, proportion};
use symbolic::generated::Test;

use super::Task;
use crate::bench::worst;
use crate::device::measure;
use crate::failure::Failure;

/// The number of times that a packet is processed before its delays count.
const WARM_UP: u32 = 1_000;

/// A packet that comes close to a contract, with the table entries that it needs.
#[derive(Debug, Clone)]
pub(super) struct Witness {
    pub(super) test: Test,
    /// The delay that the model predicts for the packet.
    pub(super) delay: Picoseconds,
}

/// The measured delays of a packet, without those during which the processor was interrupted.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    /// The number of measured delays.
    pub(super) packets: u64,
    /// The median of the delays.
    pub(super) median: Picoseconds,
    /// The longest of the measured delays.
    pub(super) longest: Picoseconds,
    /// The number of delays that exceed the contract.
    pub(super) longer: u64,
    /// The number of times that the packet was processed but the processor was interrupted
    /// meanwhile.
    pub(super) interrupted: u64,
    /// Whether more packets exceed the contract than it permits: the confidence interval of their
    /// share lies above the permitted share.
    pub(super) is_broken: bool,
}

/// The settings for measuring the packet that comes closest to a contract.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trial {
    pub(super) path: Path,
    /// The number of times that the packet is processed.
    pub(super) packets: u32,
    /// The confidence level of the verdict that a contract is broken.
    pub(super) confidence: Confidence,
}

/// Returns the confidence level of the verdict on each of `contracts` contracts, such that all
/// verdicts hold together with 95 % confidence. With 95 % for each verdict, one of many contracts
/// would be found to be broken by chance.
pub(super) fn confidence_of_each(contracts: usize) -> Confidence {
    Confidence::P95.of_each(contracts)
}

/// Returns the share of packets that may exceed the contract. It is the share that the contract
/// states. If it states none, the level of the contract determines the share, which is zero unless
/// the level is a percentile.
fn admitted(contract: &Contract) -> f64 {
    contract.beyond.unwrap_or(match contract.terms.level {
        Level::Percentile(percentile) => 1.0 - percentile.share(),
        Level::Minimum | Level::Median | Level::Mean | Level::Maximum => 0.0,
    })
}

/// Returns the execution path that a model of a pipeline in memory describes.
pub(super) fn path_of(model: &Model) -> Result<Path, Failure> {
    let path = model.device.details.get("path").map(String::as_str);
    match (model.device.driver.as_str(), path) {
        ("memory", Some("interpreter")) => Ok(Path::Interpreter),
        ("memory", Some("compiled")) => Ok(Path::Compiled),
        (driver, _) => Err(Failure::input(format!(
            "--measure runs the program in memory, and the model is of '{}' (driver {driver}); use a model that was \
             measured with the device `memory`, or leave out --measure",
            model.device.name
        ))),
    }
}

impl Measured {
    /// Measures the delays of a packet on an execution path, after checking that its test passes
    /// there.
    pub(super) fn of(
        task: &Task<'_>,
        trial: Trial,
        witness: &Witness,
        contract: &Contract,
    ) -> Result<Self, Failure> {
        let Trial { path, packets, confidence } = trial;
        let test = &witness.test;
        if let Some(refused) = worst::checked(task.name, task.program, path, test)? {
            return Err(Failure::run(format!("{}: {refused}", task.name)));
        }
        let frame = witness.frame()?;
        let prepare =
            || worst::configured(task.program, path, test).map_err(|failure| failure.to_string());
        let repeat = Repeat { port: test.port, frame: &frame, warm_up: WARM_UP, packets };
        let timed = time_packet(&prepare, &repeat).map_err(measure::failure)?;
        Self::judged(&timed, contract, confidence)
            .ok_or_else(|| Failure::run("the processor was interrupted during every packet"))
    }

    /// Compares measured delays with a contract. Returns `None` if the processor was interrupted
    /// during every delay.
    fn judged(timed: &[TimedPacket], contract: &Contract, confidence: Confidence) -> Option<Self> {
        let undisturbed = timed.iter().filter(|packet| !packet.interrupted);
        let mut delays: Vec<Picoseconds> = undisturbed.map(|packet| packet.delay).collect();
        delays.sort_unstable();
        let (packets, all) = (delays.len() as u64, timed.len() as u64);
        let within = delays.partition_point(|delay| *delay <= contract.delay) as u64;
        let longer = packets - within;
        let share = proportion(longer, packets, confidence)?;
        Some(Self {
            packets,
            median: *delays.get(delays.len() / 2)?,
            longest: *delays.last()?,
            longer,
            interrupted: all - packets,
            is_broken: share.low > admitted(contract),
        })
    }
}

impl Witness {
    /// Returns the bytes of the packet.
    fn frame(&self) -> Result<Vec<u8>, Failure> {
        let digits = self.test.packet.as_bytes();
        let byte = |pair: &[u8]| {
            let pair = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(pair, 16).ok()
        };
        let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
        bytes.ok_or_else(|| {
            Failure::run(format!("the packet '{}' of a test is not hexadecimal", self.test.packet))
        })
    }

    /// Writes the packet into a capture file, with the time stamp 0.
    pub(super) fn write_capture(&self, file: &FilePath) -> Result<(), Failure> {
        let frame = self.frame()?;
        let failed = |error: std::io::Error| {
            Failure::run(format!("cannot write {}: {error}", file.display()))
        };
        let output = BufWriter::new(File::create(file).map_err(failed)?);
        let mut writer = CaptureWriter::new(output, LinkType::ETHERNET).map_err(failed)?;
        writer.write_frame(0, &frame).map_err(failed)?;
        writer.finish().map_err(failed)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use device::campaign::Setting;
    use device::compose::Guarantee;
    use device::contract::{Basis, Terms};

    use super::*;

    fn contract(beyond: Option<f64>) -> Contract {
        Contract {
            setting: Setting { packet_bytes: 64, rules: 1, conditions: Default::default() },
            terms: Terms { level: Level::Maximum, semantics: None },
            delay: Picoseconds(100),
            beyond,
            rate: None,
            latency: calculus::Rational::ratio(1, 10_000),
            guarantee: Guarantee::Empirical,
            basis: Basis::Measured,
            functions: Vec::new(),
            assumed_rates: Default::default(),
            unmeasured: Default::default(),
            paths: 1,
        }
    }

    /// Returns made-up delays of `all` packets. Of these, `longer` exceed the contract, and
    /// `interrupted` had an interrupt.
    fn passes(all: usize, longer: usize, interrupted: usize) -> Vec<TimedPacket> {
        let pass = |number: usize| TimedPacket {
            delay: Picoseconds(if number < longer + interrupted { 101 } else { 100 }),
            interrupted: (longer..longer + interrupted).contains(&number),
        };
        (0..all).map(pass).collect()
    }

    #[test]
    fn a_contract_breaks_if_more_packets_take_longer_than_it_admits() {
        let broken = |beyond, longer| {
            let passes = passes(1_000, longer, 0);
            Measured::judged(&passes, &contract(beyond), Confidence::P95).expect("packets")
        };
        assert!(!broken(None, 0).is_broken);
        assert!(broken(None, 1).is_broken);
        // One of a hundred may take longer. Twelve of 1,000 do not refute that, and thirty do.
        assert!(!broken(Some(0.01), 12).is_broken);
        let refuted = broken(Some(0.01), 30);
        assert!(refuted.is_broken);
        assert_eq!((refuted.packets, refuted.longer), (1_000, 30));
        assert_eq!((refuted.median, refuted.longest), (Picoseconds(100), Picoseconds(101)));
    }

    #[test]
    fn a_percentile_admits_the_packets_beyond_it() {
        let percentile = device::Percentile::of_share(0.99).expect("a share");
        let mut contract = contract(None);
        contract.terms.level = Level::Percentile(percentile);
        let judged =
            |longer| Measured::judged(&passes(1_000, longer, 0), &contract, Confidence::P95);
        assert!(!judged(12).expect("packets").is_broken);
        assert!(judged(30).expect("packets").is_broken);
    }

    #[test]
    fn interrupts_of_the_processor_break_no_contract() {
        let judged =
            |passes: &[TimedPacket]| Measured::judged(passes, &contract(None), Confidence::P95);
        let none = judged(&passes(3, 0, 3));
        let judged = judged(&passes(1_000, 0, 5)).expect("packets");
        assert!(!judged.is_broken);
        assert_eq!((judged.packets, judged.interrupted, judged.longer), (995, 5, 0));
        assert_eq!(none, None);
    }

    /// Returns the probability of a false alarm: a contract permits one in a hundred packets to be
    /// longer, exactly this share is longer, and yet the contract is found to be broken.
    fn false_alarm(confidence: Confidence) -> f64 {
        const PASSES: usize = 1_000;
        let contract = contract(Some(0.01));
        let is_broken = |longer: &usize| {
            let judged = Measured::judged(&passes(PASSES, *longer, 0), &contract, confidence);
            judged.expect("packets").is_broken
        };
        let first = (0..100).find(is_broken).expect("many packets break it");
        // The binomial distribution, from one number of longer packets to the next.
        let (mut of_number, mut below) = (0.99_f64.powi(1_000), 0.0);
        for number in 0..first {
            below += of_number;
            of_number *= (PASSES - number) as f64 / (number + 1) as f64 * 0.01 / 0.99;
        }
        1.0 - below
    }

    /// Checks the verdicts on a device that keeps its contracts.
    #[test]
    fn twenty_contracts_together_are_seldom_found_to_be_broken_by_chance() {
        assert!(20.0 * false_alarm(Confidence::P95) > 0.05, "each verdict alone is at 95 %");
        assert!(20.0 * false_alarm(confidence_of_each(20)) < 0.05);
        assert_eq!(confidence_of_each(1), Confidence::P95);
        // Thirty of 1,000 refute one of a hundred beside 19 other contracts too.
        let judged =
            Measured::judged(&passes(1_000, 30, 0), &contract(Some(0.01)), confidence_of_each(20));
        assert!(judged.expect("packets").is_broken);
    }
}
