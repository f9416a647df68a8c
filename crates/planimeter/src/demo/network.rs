//! The demo's question about networks: which delay can a network of that pipeline and that
//! controller guarantee?

use ::device::campaign::FunctionName;
use ::device::export::Server;
use ::device::{Level, Model};
use calculus::network::{Analyser, Analysis, Assessed, Format, Network, Settings, format};
use calculus::{Extended, Rational};
use report::bounds::{Bounds, Run};
use report::page::document::Section;
use report::page::{Cell, Table};
use report::value::Value;
use statistics::Unit;

use super::controller::PACKET_BYTES;
use super::{Environment, Known, Part};
use crate::environment::seconds;
use crate::failure::Failure;
use crate::invocation;

/// The functions of the device model that each packet of the network needs in the pipeline.
const FUNCTIONS: [&str; 2] = ["five-tuple", "set-nw-src"];

pub(super) fn part(environment: &Environment<'_>, known: &Known) -> Result<Part, Failure> {
    let model =
        known.model.as_ref().ok_or_else(|| Failure::run("there is no model of the pipeline"))?;
    let controller = known.controller.as_ref().ok_or_else(|| {
        Failure::run(
            "at no offered rate did the controller answer every packet-in, so it has no service curve; try again on a less \
             busy machine",
        )
    })?;
    let text = network(model, controller)?;
    let directory = environment.make("network")?;
    std::fs::write(directory.path().join("network.toml"), &text).map_err(Failure::run)?;
    let started = invocation::start();
    let network = format::read(&text, Format::Toml).map_err(Failure::run)?;
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
    let rows: Vec<&Assessed> = assessed.iter().filter_map(|row| row.first()).collect();
    Ok(Part {
        findings: findings(&network, &rows),
        notes: Vec::new(),
        section: section(&network, &rows),
    })
}

/// Returns the network of the demo as the text of a file for `planimeter bound`.
fn network(model: &Model, controller: &Server) -> Result<String, Failure> {
    let under = model.settings.first().ok_or_else(|| Failure::run("the model has no setting"))?;
    let names = FUNCTIONS.map(FunctionName::new);
    let composition = model.compose(under, &names).map_err(Failure::run)?;
    let largest = composition
        .levels
        .iter()
        .find(|predicted| predicted.level == Level::Maximum)
        .ok_or_else(|| Failure::run("the model has no largest delay"))?;
    let bits = Rational::from(8 * i64::from(PACKET_BYTES));
    // The server processes one packet at a time, each in at most this time.
    let time = Rational::ratio(largest.safe.0.max(1), 1_000_000);
    let rate = &bits / &time;
    let half = &rate / &Rational::from(2);
    let side = |name: &str| {
        Server {
        name: name.to_owned(),
        remarks: vec![
            format!(
                "The compiled pipeline: {}, {PACKET_BYTES} B, one packet after the other, each within {}.",
                FUNCTIONS.join(" + "),
                seconds(largest.safe).words()
            ),
            "It takes a packet from its ports and one from the controller in turns: each side has half of the rate, and waits \
             for one packet of the other. Empirical: a packet may take longer than any that was seen."
                .to_owned(),
        ],
        rate: Some(half.clone()),
        latency: time.clone(),
    }
    };
    let slow = controller.rate.clone().unwrap_or_else(|| half.clone());
    let eighth = &rate / &Rational::from(8);
    let quarter = &slow / &Rational::from(4);
    let new = if quarter < eighth { quarter } else { eighth.clone() };
    let mut out = format!(
        "# A switch, and the controller that its first packets pass.\n#\n#     planimeter bound network.toml --derivation\n\
         name = \"switch and controller\"\n{}",
        ::device::export::HEAD
    );
    for server in [side("switch"), side("switch, from the controller"), controller.clone()] {
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
            "Packet in, controller, rule, packet out; at most a quarter of what the controller was seen to take.",
            "first packets",
            "\"switch\", \"controller\", \"switch, from the controller\"",
            2 * PACKET_BYTES,
            new,
        ),
    ] {
        out.push_str(&format!(
            "# {remark}\n[[flow]]\nname = \"{name}\"\npath = [{path}]\narrival = {{ token-bucket = {{ burst = {burst}, rate = \
             \"{rate} Mbps\" }} }}\nmaximum-packet = {PACKET_BYTES}\n\n"
        ));
    }
    Ok(out)
}

/// Converts a time that `planimeter bound` computed, in seconds, to a value of the report. Returns
/// `None` if it is infinite.
fn time(bound: &Extended) -> Option<Value> {
    bound.finite().map(|bound| Value::new(bound.to_f64_up(), Unit::Seconds))
}

fn findings(network: &Network, rows: &[&Assessed]) -> Vec<String> {
    let delay = |name: &str| {
        let row = rows.iter().find(|row| network.flow(row.bound.flow).name == name)?;
        time(&row.bound.delay)
    };
    let both = delay("known flows").zip(delay("first packets"));
    both.map(|(known, first)| {
        format!(
            "Network of both: a packet behind a rule is delayed by at most {}, the first of a flow, which passes the \
             controller, by at most {}, provided that no delay exceeds the largest ones that were seen.",
            known.words(),
            first.words()
        )
    })
    .into_iter()
    .collect()
}

fn section(network: &Network, rows: &[&Assessed]) -> Section {
    let mut table = Table::of_values(
        "Delay bounds, and the longest delay in a run with greedy sources",
        ["flow", "bound", "seen in a run", "path"],
    );
    for row in rows {
        let flow = network.flow(row.bound.flow);
        let path: Vec<&str> =
            flow.path.iter().map(|server| network.server(*server).name.as_str()).collect();
        let run = row.run.as_ref();
        table.row([
            Cell::text(&flow.name),
            Cell::optional(time(&row.bound.delay)),
            Cell::optional(run.map(|run| Value::new(run.delay.to_f64_down(), Unit::Seconds))),
            Cell::text(path.join(", then ")),
        ]);
    }
    Section {
        id: "network".to_owned(),
        title: "What delay can a network of both guarantee?".to_owned(),
        text: vec![
            "The pipeline is a server that takes each packet in at most the largest delay of its model; the controller is one \
             with the rate that it answered without loss, and the slowest answer at it. Network calculus, in exact arithmetic, \
             gives the bounds. The curves are no better than the measurements behind them: both rest on the largest delay that \
             was seen."
                .to_owned(),
        ],
        tables: vec![table],
        figures: Vec::new(),
        commands: vec![
            (
                "Your network; servers come from the models of your devices and controllers:".to_owned(),
                "planimeter device export examples/device/zodiac-fx.json --match all --action set-nw-src --name access".to_owned(),
            ),
            (
                "The bounds:".to_owned(),
                "planimeter bound examples/networks/measured-devices.toml --derivation".to_owned(),
            ),
        ],
        links: vec![
            ("The network".to_owned(), "network/network.toml".to_owned()),
            ("All of its bounds".to_owned(), "network/report.html".to_owned()),
        ],
    }
}
