//! The packets that come closest to contracts, and the delays that were measured of them.

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

/// The number of passes of a packet before its delays count.
const WARM_UP: u32 = 1_000;

/// A packet with entries.
#[derive(Debug, Clone)]
pub(super) struct Witness {
    pub(super) test: Test,
    /// The delay that the model predicts for the packet.
    pub(super) delay: Picoseconds,
}

/// The delays of a packet that was measured, without those during which the processor was
/// interrupted.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    /// The number of delays.
    pub(super) packets: u64,
    /// The median of the delays.
    pub(super) median: Picoseconds,
    /// The longest delay.
    pub(super) longest: Picoseconds,
    /// The number of delays that are longer than the contract says.
    pub(super) longer: u64,
    /// The number of passes during which the processor was interrupted.
    pub(super) interrupted: u64,
    /// Whether more packets take longer than the contract admits: the 95 % confidence interval of
    /// their share lies above that share.
    pub(super) is_broken: bool,
}

/// Returns the share of packets that may take longer than a contract says: the share that the
/// contract states, or else that of its level, which is zero unless the level is a percentile.
fn admitted(contract: &Contract) -> f64 {
    contract.beyond.unwrap_or(match contract.terms.level {
        Level::Percentile(percentile) => 1.0 - percentile.share(),
        Level::Minimum | Level::Median | Level::Mean | Level::Maximum => 0.0,
    })
}

/// Returns the execution path of a model of a pipeline in memory.
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
    /// Measures a packet on an execution path, after its test has passed there.
    pub(super) fn of(
        task: &Task<'_>,
        path: Path,
        witness: &Witness,
        contract: &Contract,
        packets: u32,
    ) -> Result<Self, Failure> {
        let test = &witness.test;
        if let Some(refused) = worst::checked(task.name, task.program, path, test)? {
            return Err(Failure::run(format!("{}: {refused}", task.name)));
        }
        let frame = witness.frame()?;
        let prepare =
            || worst::configured(task.program, path, test).map_err(|failure| failure.to_string());
        let repeat = Repeat { port: test.port, frame: &frame, warm_up: WARM_UP, packets };
        let timed = time_packet(&prepare, &repeat).map_err(measure::failure)?;
        Self::judged(&timed, contract)
            .ok_or_else(|| Failure::run("the processor was interrupted during every packet"))
    }

    /// Compares delays with a contract. Returns `None` if an interrupt fell into each.
    fn judged(timed: &[TimedPacket], contract: &Contract) -> Option<Self> {
        let undisturbed = timed.iter().filter(|packet| !packet.interrupted);
        let mut delays: Vec<Picoseconds> = undisturbed.map(|packet| packet.delay).collect();
        delays.sort_unstable();
        let (packets, all) = (delays.len() as u64, timed.len() as u64);
        let within = delays.partition_point(|delay| *delay <= contract.delay) as u64;
        let longer = packets - within;
        let share = proportion(longer, packets, Confidence::P95)?;
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

    /// Returns passes of which some are longer than the contract and some were interrupted.
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
            Measured::judged(&passes(1_000, longer, 0), &contract(beyond)).expect("packets")
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
        let judged = |longer| Measured::judged(&passes(1_000, longer, 0), &contract);
        assert!(!judged(12).expect("packets").is_broken);
        assert!(judged(30).expect("packets").is_broken);
    }

    #[test]
    fn interrupts_of_the_processor_break_no_contract() {
        let judged = Measured::judged(&passes(1_000, 0, 5), &contract(None)).expect("packets");
        assert!(!judged.is_broken);
        assert_eq!((judged.packets, judged.interrupted, judged.longer), (995, 5, 0));
        assert_eq!(Measured::judged(&passes(3, 0, 3), &contract(None)), None);
    }
}
