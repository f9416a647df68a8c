//! Exports measured devices as servers of a network, in the file format that `planimeter bound`
//! reads.

use calculus::Rational;

use crate::compose::{Composition, Guarantee, MinimumService};
use crate::contract::Contract;
use crate::model::{Model, Source};
use crate::trace::{AtRate, Trace};

/// A server of a network file: a name and a service curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// The name of the server in the network file.
    pub name: String,
    /// Comments for the network file: what the server stands for, and how certain its curve is.
    pub remarks: Vec<String>,
    /// The rate R of the service curve in bit/µs, or `None` for a burst-delay curve, which has no
    /// rate.
    pub rate: Option<Rational>,
    /// The latency T of the service curve in µs.
    pub latency: Rational,
    /// A text that names the packets and the contract from which the service curve follows.
    /// `planimeter bound` repeats it beside the bounds that depend on the curve.
    pub rests_on: Option<String>,
}

/// The observed service of a controller, or of the slow path of a switch, at the highest load
/// without loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageService {
    /// The packets per second that were carried without loss.
    pub packets_per_second: u64,
    /// The longest time that a packet took, in nanoseconds.
    pub slowest_ns: u64,
    /// The length of the packets in the data plane, in bytes.
    pub packet_bytes: u32,
    /// The name of the messages that carry the packets, such as `packet-ins`.
    pub kind: &'static str,
}

impl MessageService {
    /// Returns the service at the highest of several loads that caused no loss. A load is the
    /// number of packets offered per second and the longest time that one of them took, in
    /// nanoseconds. Loads below one packet per second are ignored. Returns `None` if no load
    /// remains.
    pub fn at_highest(
        loads: impl IntoIterator<Item = (f64, u64)>,
        packet_bytes: u32,
        kind: &'static str,
    ) -> Option<Self> {
        let loads = loads.into_iter().filter(|(rate, _)| *rate >= 1.0);
        let (rate, slowest_ns) = loads.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
        Some(Self { packets_per_second: rate.floor() as u64, slowest_ns, packet_bytes, kind })
    }
}

impl Server {
    /// Returns the server that stands for a device which performs the functions of `composition`
    /// for each packet.
    #[must_use]
    pub fn of_device(
        name: &str,
        model: &Model,
        composition: &Composition,
        service: &MinimumService,
    ) -> Self {
        let names: Vec<&str> = composition.functions.iter().map(|name| name.as_str()).collect();
        let functions =
            if names.is_empty() { "its baseline".to_owned() } else { names.join(" + ") };
        let mut remarks = vec![
            format!("{}: {functions}, {}.", model.device.name, composition.setting),
            format!(
                "Level {}, {}; {}.",
                service.level,
                service
                    .semantics
                    .map_or_else(|| "burst-delay".to_owned(), |semantics| semantics.to_string()),
                service.guarantee
            ),
        ];
        if let Source::Published { citation, .. } = &model.source {
            remarks.push(format!("Read from a publication, not measured: {citation}."));
        }
        if service.guarantee != Guarantee::Deterministic {
            remarks.push("Bounds that use it are no better than that.".to_owned());
        }
        Self {
            name: name.to_owned(),
            remarks,
            rate: service.rate.clone(),
            latency: service.latency.clone(),
            rests_on: None,
        }
    }

    /// Returns the server that stands for a device which runs a program, for the packets of a
    /// contract. `packets` says in words which packets these are.
    #[must_use]
    pub fn of_contract(name: &str, model: &Model, contract: &Contract, packets: &str) -> Self {
        let label = format!("{packets} on {}: {contract}", model.device.name);
        let mut remarks = vec![format!("{label}.")];
        if let Source::Published { citation, .. } = &model.source {
            remarks.push(format!("Read from a publication, not measured: {citation}."));
        }
        Self {
            name: name.to_owned(),
            remarks,
            rate: contract.rate.clone(),
            latency: contract.latency.clone(),
            rests_on: Some(label),
        }
    }

    /// Returns the server that stands for a controller to which a switch sends packets, or for one
    /// direction of the slow path of a switch. The curve counts the bytes that each packet has in
    /// the data plane, not those of the messages that carry it.
    #[must_use]
    pub fn of_messages(name: &str, service: &MessageService, what: &str) -> Self {
        let MessageService { packets_per_second, slowest_ns, packet_bytes, kind } = *service;
        let bits = 8 * i64::from(packet_bytes);
        let packets = i64::try_from(packets_per_second.max(1)).unwrap_or(i64::MAX);
        let rate = &Rational::from(bits) * &Rational::ratio(packets, 1_000_000);
        let slowest = Rational::ratio(i64::try_from(slowest_ns).unwrap_or(i64::MAX), 1000);
        // The longest time includes the service time of the packet: T = D_max - L/R.
        let latency = (&slowest - &(&Rational::from(bits) / &rate)).max(Rational::ZERO);
        let remarks = vec![
            what.to_owned(),
            format!(
                "{packets_per_second} {kind}/s of {packet_bytes} B without loss, the slowest after {} ms; empirical: a slower \
                 one may come.",
                Rational::ratio(i64::try_from(slowest_ns).unwrap_or(i64::MAX), 1_000_000).to_f64()
            ),
        ];
        Self { name: name.to_owned(), remarks, rate: Some(rate), latency, rests_on: None }
    }

    /// Returns the server that stands for a device whose packets were captured before and after it.
    /// Its service curve has the rate R of `at` and the smallest latency T with which the curve
    /// fits the trace.
    #[must_use]
    pub fn of_trace(name: &str, trace: &Trace, at: &AtRate, what: &str) -> Self {
        let bits = i64::try_from(at.rate.bits_per_second()).unwrap_or(i64::MAX);
        let remarks = vec![
            what.to_owned(),
            format!(
                "From {} packets, the longest of which took {}; empirical: others may come.",
                trace.len(),
                trace.longest()
            ),
        ];
        Self {
            name: name.to_owned(),
            remarks,
            rate: Some(Rational::ratio(bits, 1_000_000)),
            latency: Rational::ratio(at.latency.0, 1_000_000),
            rests_on: None,
        }
    }

    /// Returns the server as a `[[server]]` table in TOML, for a network file.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        for remark in &self.remarks {
            for line in remark.lines() {
                out.push_str(&format!("# {line}\n"));
            }
        }
        let latency = &self.latency;
        out.push_str(&format!("[[server]]\nname = {:?}\n", self.name));
        match &self.rate {
            Some(rate) => out.push_str(&format!(
                "service = {{ rate-latency = {{ rate = \"{rate} Mbps\", latency = \"{latency} us\" }} }}\n"
            )),
            None => out.push_str(&format!("service = {{ burst-delay = \"{latency} us\" }}\n")),
        }
        // The packetizer models that a packet leaves only when it is complete. T does not include
        // that time.
        if self.rate.is_some() {
            out.push_str("packetizer = true\n");
        }
        if let Some(label) = &self.rests_on {
            out.push_str(&format!("rests-on = {label:?}\n"));
        }
        out
    }
}

/// The first lines of a network file that consists of exported servers: its units of time and data.
pub const HEAD: &str = "time-unit = \"us\"\ndata-unit = \"B\"\n\n";
