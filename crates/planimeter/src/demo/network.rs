//! The demo's question about networks: which delay can a network guarantee that consists of the
//! measured pipeline, slow path and controller?

use std::time::Duration;

use ::device::campaign::Picoseconds;
use ::device::export::Server;
use ::device::host::{Envelope, Gaps};
use calculus::network::{Analyser, Analysis, Assessed, Format, Network, Settings, format};
use calculus::{Extended, Rational};
use report::bounds::{Bounds, Run};
use report::page::document::Section;
use report::page::{Cell, Table};
use report::value::Value;
use statistics::Unit;

use super::controller::PACKET_BYTES;
use super::device::FUNCTIONS;
use super::{Environment, Known, Part};
use crate::environment::seconds;
use crate::failure::Failure;
use crate::invocation;

/// The smallest rate `rho` of the envelope of the time that the host takes from the pipeline, as a
/// share of time. By this envelope, the host takes at most `sigma + rho t` in any interval of
/// length `t`.
const LEAST_RHO: f64 = 0.05;
/// The limit below which the rate `rho` of the host's envelope must stay, as a share of time. The
/// remaining time suffices for the network's flows, which use at most a quarter of each of the
/// pipeline's two directions.
const MAX_RHO: f64 = 0.7;

/// The time that the host was observed to take from the pipeline.
struct Host {
    gaps: Gaps,
    envelope: Envelope,
    /// The number of observed gaps at whose ends the envelope is exceeded. The envelope is fitted
    /// to the first half of the observation, and these gaps are in the second half.
    beyond: usize,
    /// The number of gaps in the second half of the observation.
    tested: usize,
}

impl Host {
    /// Observes for which times the host interrupts a running thread. Returns `None` if the
    /// processor has no suitable counter, or if the host takes so much time that the pipeline would
    /// be overloaded.
    fn observe(quick: bool) -> Option<Self> {
        let gaps = Gaps::observe(Duration::from_secs(if quick { 2 } else { 10 }))?;
        let rho = LEAST_RHO.max(2.0 * gaps.share());
        let [fitted, test] = gaps.halves();
        let envelope = fitted.envelope(rho);
        let (beyond, tested) = (test.beyond(envelope), test.gaps.len());
        (rho < MAX_RHO).then_some(Self { gaps, envelope, beyond, tested })
    }
}

/// A network with its bounds.
pub(super) struct Bounded {
    network: Network,
    assessed: Vec<Vec<Assessed>>,
}

impl Bounded {
    /// Returns the bounds of the flow with this name.
    pub(super) fn flow(&self, name: &str) -> Option<&Assessed> {
        let mut rows = self.assessed.iter().filter_map(|row| row.first());
        rows.find(|row| self.network.flow(row.bound.flow).name == name)
    }

    fn delay(&self, name: &str) -> Option<Value> {
        time(&self.flow(name)?.bound.delay)
    }
}

pub(super) fn part(environment: &Environment<'_>, known: &Known) -> Result<Part, Failure> {
    let longest =
        known.longest.ok_or_else(|| Failure::run("no largest packet of the pipeline is known"))?;
    let controller = known.controller.as_ref().ok_or_else(|| {
        Failure::run(
            "at no offered rate did the controller answer every packet-in, so it has no service curve; try again on a less \
             busy machine",
        )
    })?;
    let (packet_in, packet_out) = known.slow_path.as_ref().ok_or_else(|| {
        Failure::run(
            "at no load did the switch pass every packet to its controller and back, so its slow path has no service curve; try \
             again on a less busy machine",
        )
    })?;
    let servers = Servers { longest, packet_in, controller, packet_out };
    let host = Host::observe(environment.quick);
    let program = bounded(environment, "network", &network(&servers, None), Format::Toml)?;
    let with_host = host.as_ref().map(|host| {
        let text = network(&servers, Some(host.envelope));
        bounded(environment, "network-host", &text, Format::Toml)
    });
    let with_host = with_host.transpose()?;
    let both = Both { program: &program, host: host.as_ref().zip(with_host.as_ref()) };
    Ok(Part { findings: both.findings(), notes: Vec::new(), section: both.section() })
}

/// Computes the bounds of a network, which is given as the text of a file for `planimeter bound`.
/// The results are in the directory `folder`.
pub(super) fn bounded(
    environment: &Environment<'_>,
    folder: &str,
    text: &str,
    format: Format,
) -> Result<Bounded, Failure> {
    let directory = environment.make(folder)?;
    let file = match format {
        Format::Toml => "network.toml",
        Format::Json => "network.json",
        Format::Xml => "network.xml",
    };
    std::fs::write(directory.path().join(file), text).map_err(Failure::run)?;
    let started = invocation::start();
    let network = format::read(text, format).map_err(Failure::run)?;
    let settings = Settings::default();
    let analyser = Analyser::new(&network, settings.clone());
    let flows: Vec<_> = network.flows().map(|(id, _)| id).collect();
    let assessed = analyser.assess(&flows, &[Analysis::Best], true).map_err(Failure::run)?;
    let servers = analyser.servers(Analysis::Best).map_err(Failure::run)?;
    let bounds = Bounds {
        untried: Vec::new(),
        rounded: analyser.has_rounded(),
        network: &network,
        analyses: &[Analysis::Best],
        settings: &settings,
        flows: &assessed,
        servers: &servers,
        loads: &network.loads(),
        time_unit: network.time_unit().clone(),
        data_unit: network.data_unit().clone(),
        thresholds: &[],
        derivations: true,
    };
    let run = Run { bounds: &bounds, provenance: &started.provenance() };
    directory.write_bounds(&run).map_err(Failure::run)?;
    if let Some(contradiction) = bounds.contradictions().first() {
        return Err(Failure::run(format!("{contradiction}; please report this network as a bug")));
    }
    Ok(Bounded { network, assessed })
}

/// The measured figures and servers from which the network is composed.
struct Servers<'a> {
    /// The delay of the slowest packet in the pipeline.
    longest: Picoseconds,
    packet_in: &'a Server,
    controller: &'a Server,
    packet_out: &'a Server,
}

/// Returns the network of the demo as the text of a file for `planimeter bound`. `host` is the
/// envelope of the time that the host takes from the pipeline, or `None` for the pipeline alone.
fn network(servers: &Servers<'_>, host: Option<Envelope>) -> String {
    let Servers { longest, packet_in, controller, packet_out } = *servers;
    let bits = Rational::from(8 * i64::from(PACKET_BYTES));
    // The server processes one packet at a time, each in at most this time.
    let time = Rational::ratio(longest.0.max(1), 1_000_000);
    let rate = &bits / &time;
    let half = &rate / &Rational::from(2);
    let (kept, latency) = match host {
        None => (Rational::from(1), time.clone()),
        Some(Envelope { sigma, rho }) => {
            let kept = Rational::ratio(((1.0 - rho) * 1000.0).floor() as i64, 1000);
            let sigma = Rational::ratio((sigma * 1e12).ceil() as i64, 1_000_000);
            (kept.clone(), &(&time + &sigma) / &kept)
        }
    };
    let share = match host {
        None => "The host's stalls are left out.".to_owned(),
        Some(Envelope { sigma, rho }) => format!(
            "The host takes at most {} and {} of any time, as far as it was observed.",
            Value::new(sigma, Unit::Seconds).words(),
            Value::new(rho, Unit::Fraction).words()
        ),
    };
    let side = |name: &str| {
        Server {
        name: name.to_owned(),
        remarks: vec![
            format!(
                "The compiled pipeline: {}, {PACKET_BYTES} B, one packet after the other, each within {}. {share}",
                FUNCTIONS.join(" + "),
                seconds(longest).words()
            ),
            "It takes a packet from its ports and one from the controller in turns: each side has half of the rate, and waits \
             for one packet of the other. Empirical: a packet may take longer than any that was seen."
                .to_owned(),
        ],
        rate: Some(&half * &kept),
        latency: latency.clone(),
        rests_on: None,
    }
    };
    // The least rate that the first packets of flows meet, in bits of their own.
    let rates = [packet_in, controller, packet_out].into_iter().filter_map(|one| one.rate.clone());
    let slow = rates.min().unwrap_or_else(|| half.clone());
    let eighth = &rate / &Rational::from(8);
    let quarter = &slow / &Rational::from(4);
    let new = if quarter < eighth { quarter } else { eighth.clone() };
    let mut out = format!(
        "# A switch, and the controller that its first packets pass.\n#\n#     planimeter bound network.toml --derivation\n\
         name = \"switch and controller\"\n{}",
        ::device::export::HEAD
    );
    let sides = [side("switch"), side("switch, from the controller")];
    for server in sides.iter().chain([packet_in, controller, packet_out]) {
        out.push_str(&server.to_toml());
        out.push('\n');
    }
    for (remark, name, path, burst, rate) in [
        (
            "A rule forwards them; an eighth of what the switch can take.",
            "known flows",
            "\"switch\"",
            8 * PACKET_BYTES,
            eighth,
        ),
        (
            "Packet in, controller, rule, packet out; at most a quarter of what the slowest of them was seen to take.",
            "first packets",
            "\"switch\", \"packet-in\", \"controller\", \"packet-out\", \"switch, from the controller\"",
            2 * PACKET_BYTES,
            new,
        ),
    ] {
        out.push_str(&format!(
            "# {remark}\n[[flow]]\nname = \"{name}\"\npath = [{path}]\narrival = {{ token-bucket = {{ burst = {burst}, rate = \
             \"{rate} Mbps\" }} }}\nmaximum-packet = {PACKET_BYTES}\n\n"
        ));
    }
    out
}

/// Converts a time that `planimeter bound` computed, in seconds, to a value of the report. Returns
/// `None` if it is infinite.
pub(super) fn time(bound: &Extended) -> Option<Value> {
    bound.finite().map(|bound| Value::new(bound.to_f64_up(), Unit::Seconds))
}

/// The bounds of two versions of the network: for the pipeline alone, and for the pipeline with the
/// time that the host takes from it.
struct Both<'b> {
    program: &'b Bounded,
    host: Option<(&'b Host, &'b Bounded)>,
}

impl Both<'_> {
    fn findings(&self) -> Vec<String> {
        let delays = |of: &Bounded| of.delay("known flows").zip(of.delay("first packets"));
        let Some((known, first)) = delays(self.program) else { return Vec::new() };
        let mut findings = vec![format!(
            "Network of all, the program's share: a packet behind a rule is delayed by at most {}, the first of a flow, which \
             takes the slow path to the controller and back, by at most {}, provided that no packet takes longer than the largest \
             that was seen.",
            known.words(),
            first.words()
        )];
        let with_host = self.host.and_then(|(host, of)| Some((host, delays(of)?)));
        findings.push(match with_host {
            Some((host, (known, first))) => format!(
                "Network of all, with the host's share: at most {} and {}, if the host takes at most {} and {} of any time. \
                 Empirical: of {} stalls in the half of the observation that did not make this envelope, {} exceed it.",
                known.words(),
                first.words(),
                Value::new(host.envelope.sigma, Unit::Seconds).words(),
                Value::new(host.envelope.rho, Unit::Fraction).words(),
                host.tested,
                host.beyond
            ),
            None => "Network of all, with the host's share: no bound, since the host takes too much of the processor, or it has \
                     no counter to observe that."
                .to_owned(),
        });
        findings
    }

    fn bounds(&self) -> Table {
        let mut table = Table::of_values(
            "Delay bounds, and the longest delay in a run with greedy sources",
            ["flow", "bound of the program", "with the host", "seen in a run", "path"],
        );
        let network = &self.program.network;
        for row in self.program.assessed.iter().filter_map(|row| row.first()) {
            let flow = network.flow(row.bound.flow);
            let path: Vec<&str> =
                flow.path.iter().map(|server| network.server(*server).name.as_str()).collect();
            let run = row.run.as_ref();
            table.row([
                Cell::text(&flow.name),
                Cell::optional(time(&row.bound.delay)),
                Cell::optional(self.host.and_then(|(_, of)| of.delay(&flow.name))),
                Cell::optional(run.map(|run| Value::new(run.delay.to_f64_down(), Unit::Seconds))),
                Cell::text(path.join(", then ")),
            ]);
        }
        table
    }

    /// Returns a table of the five longest observed stalls of the host.
    fn stalls(host: &Host) -> Table {
        const LONGEST: usize = 5;
        let mut table = Table::of_values(
            "The host's longest stalls: times for which a loop that reads the cycle counter did not run",
            ["stall", "length", "after", "mark"],
        );
        for (number, gap) in (1..).zip(host.gaps.longest(LONGEST)) {
            let mark = match (gap.marked, host.gaps.marks_available) {
                (true, _) => "an interrupt",
                (false, true) => "none: a hypervisor's",
                (false, false) => "marks not available",
            };
            table.row([
                Cell::text(format!("{number}")),
                Cell::from(Value::new(gap.length, Unit::Seconds)),
                Cell::from(Value::new(gap.at, Unit::Seconds)),
                Cell::text(mark),
            ]);
        }
        table
    }

    fn section(&self) -> Section {
        let mut tables = vec![self.bounds()];
        tables.extend(self.host.map(|(host, _)| Self::stalls(host)));
        let mut links = vec![
            ("The network".to_owned(), "network/network.toml".to_owned()),
            ("All of its bounds".to_owned(), "network/report.html".to_owned()),
        ];
        if self.host.is_some() {
            let report = "network-host/report.html".to_owned();
            links.push(("All of its bounds with the host".to_owned(), report));
        }
        Section {
            id: "network".to_owned(),
            title: "What delay can a network of all guarantee?".to_owned(),
            text: vec![
                "The pipeline is a server that takes each packet in at most the delay of its largest packet; the controller is one \
                 with the rate that it answered without loss, and the slowest answer at it; the slow path of the switch is one for \
                 packet-ins and one for packet-outs, each with the highest load at which no packet was lost, and the longest delay \
                 at it. Network calculus, in exact \
                 arithmetic, gives the bounds. The curves are no better than the measurements behind them: both rest on the \
                 largest delay that was seen."
                    .to_owned(),
                "The host takes the processor away from time to time. An envelope of these stalls, a burst and a rate, was fitted \
                 to one half of an observation and tested on the other; the second bound has it as a flow of higher priority. \
                 Another host, or this one on another day, has other stalls; the program has not."
                    .to_owned(),
            ],
            tables,
            figures: Vec::new(),
            commands: vec![
                (
                    "Your network; servers come from the models of your devices and controllers:".to_owned(),
                    "planimeter device export examples/device/zodiac-fx.json --match all --action set-nw-src --name access".to_owned(),
                ),
                (
                    "The slow path of your switch, from a result of planimeter dut:".to_owned(),
                    "planimeter device export --slow-path runs/dut/result.json --direction packet-in --name packet-in".to_owned(),
                ),
                (
                    "The bounds:".to_owned(),
                    "planimeter bound examples/networks/measured-devices.toml --derivation".to_owned(),
                ),
            ],
            links,
        }
    }
}
