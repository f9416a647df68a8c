//! The demo's first question: how much load can this SDN controller take?

use ::probe::outcome::{Point, RunResult, Saturated};
use device::export::Server;
use report::page::document::Section;
use report::page::{Cell, Figure, Table};
use report::plot::{Axis, Plot};
use report::value::Value;
use statistics::Unit;

use super::{Environment, Known, Part};
use crate::device::export::loss_free;
use crate::failure::Failure;
use crate::reference::{self, Job, Protocol, series, value};

/// The number of switches that the demo emulates.
const SWITCHES: u32 = 8;
/// The length in bytes that the demo assumes for packet-ins when it computes delay bounds.
pub(super) const PACKET_BYTES: u32 = 64;

/// Measures the reference controllers and returns their part of the report.
pub(super) fn part(environment: &Environment<'_>, known: &mut Known) -> Result<Part, Failure> {
    let mut results: Vec<(Protocol, RunResult)> = Vec::new();
    for protocol in Protocol::BOTH {
        let folder = format!("controller-{}", protocol.name().to_lowercase());
        // Each trial takes about a second, and the search doubles the rate at most 8 times.
        let (low, high, precision, measure) = match environment.quick {
            true => ("50", "400", "0.5", "200ms"),
            false => ("250", "64k", "0.25", "400ms"),
        };
        let job = Job {
            protocol,
            switches: SWITCHES,
            settings: &[
                ("plan.kind", "search"),
                ("plan.low", low),
                ("plan.high", high),
                ("plan.precision", precision),
                ("plan.rough", "true"),
                ("traffic.arrivals", "exponential"),
                ("timing.settle", "200ms"),
                ("timing.warm-up", "100ms"),
                ("timing.measure", measure),
                ("timing.drain", "300ms"),
            ],
            more: &[],
            folder: &folder,
            about: protocol.name(),
        };
        let result = reference::measure(&job, environment)?;
        if protocol == Protocol::P4Runtime
            && let Some(service) = loss_free(&result, PACKET_BYTES)
        {
            let what = "The reference controller over P4Runtime, probed by this demo.";
            known.controller = Some(Server::of_messages("controller", &service, what));
        }
        results.push((protocol, result));
        if environment.interrupted() {
            break;
        }
    }
    Ok(Part {
        findings: results
            .iter()
            .filter_map(|(protocol, result)| finding(*protocol, result))
            .collect(),
        notes: notes(&results),
        section: section(&results),
    })
}

/// Returns a sentence with the rates that a search found for a controller, and with the reason why
/// the search ended. Returns `None` if the run contains no search.
fn finding(protocol: Protocol, result: &RunResult) -> Option<String> {
    let search = result.search.as_ref()?;
    let rate = |rate: f64| Value::new(rate, Unit::PerSecond).words();
    let name = protocol.name();
    let most = rate(search.maximum_received_rate);
    let Some(loss_free) = search.loss_free_rate else {
        return Some(format!(
            "Controller over {name}: it answered at most {most} from {SWITCHES} switches, and some were lost at every rate."
        ));
    };
    // With random arrivals, the answered rate may be slightly below the offered one.
    let more = match search.maximum_received_rate > loss_free {
        true => format!("and {most} at most; "),
        false => String::new(),
    };
    let end = match (search.lossy_rate, search.limited_by_probe) {
        (None, false) => {
            "which is the highest rate that was offered, so that its limit lies beyond".to_owned()
        }
        (_, true) => {
            format!("{more}the probe was the limit above, so that the controller may take more")
        }
        (Some(lossy), false) => format!("{more}its limit was seen at {}", rate(lossy)),
    };
    let offered =
        |point: &&Point| point.offered_rate.is_some_and(|rate| rate <= loss_free * (1.0 + 1e-9));
    let best = result.points.iter().rfind(offered)?;
    let (median, p99) = (value(best, "rtt.p50")?, value(best, "rtt.p99")?);
    Some(format!(
        "Controller over {name}: it answered all of {} from {SWITCHES} switches (median {}, 99 % within {}), {end}.",
        rate(loss_free),
        median.words(),
        p99.words(),
    ))
}

fn notes(results: &[(Protocol, RunResult)]) -> Vec<String> {
    let trials = || {
        let points = results.iter().flat_map(|(_, result)| &result.points);
        points.flat_map(|point| &point.trials)
    };
    let late = trials().filter(|trial| trial.verdict.saturated == Saturated::Probe).count();
    match late {
        0 => Vec::new(),
        late => vec![format!(
            "In {late} of {} trials the probe itself fell behind, on a busy machine: their response times are too long.",
            trials().count()
        )],
    }
}

/// Returns the section of the report about the controllers.
fn section(results: &[(Protocol, RunResult)]) -> Section {
    let mut table = Table::of_values(
        "Rates that the search tried, means over trials with 95 % confidence intervals where there were several; times from \
         the moment when a packet-in was due",
        ["offered", "answered", "lost", "median", "p99", "CPU"],
    );
    for (protocol, result) in results {
        for point in &result.points {
            let offered = point.offered_rate.unwrap_or_default().round();
            let mut row = vec![Cell::text(format!("{}, {offered}/s", protocol.name()))];
            for metric in ["received_rate", "loss", "rtt.p50", "rtt.p99", "controller.cpu"] {
                row.push(Cell::optional(value(point, metric)));
            }
            table.row(row);
        }
    }
    let figure = |title: &str, y: Axis, metric: &str| {
        let x = Axis::logarithmic("packet-ins offered, all switches", Unit::PerSecond);
        let lines = results.iter().map(|(protocol, result)| {
            series(protocol.name(), &result.points, |point| point.offered_rate, metric)
        });
        Figure::plot(Plot::of_values(title, x, y, lines.collect()), "")
    };
    let answered = Axis::logarithmic("answered", Unit::PerSecond);
    let response = Axis::logarithmic("response time from due", Unit::Seconds);
    Section {
        id: "controller".to_owned(),
        title: "How much can this SDN controller take?".to_owned(),
        text: vec![format!(
            "{SWITCHES} emulated switches send packet-ins to the reference controller (reactive forwarding), at times that are \
             fixed beforehand; each answer is tied to its packet-in. The rate doubles until the controller no longer keeps up, \
             and the search halves what lies between."
        )],
        tables: vec![table],
        figures: vec![
            figure("Packet-ins answered", answered, "received_rate"),
            figure("Response time, p99", response, "rtt.p99"),
        ],
        commands: vec![
            (
                "Your OpenFlow controller:".to_owned(),
                "planimeter probe -c 127.0.0.1:6653 -n 8 --plan search --search-low 100 --search-high 100k".to_owned(),
            ),
            (
                "Your P4Runtime controller, which dials the switches of the list:".to_owned(),
                "planimeter probe -p p4runtime -n 8 --plan search --search-low 100 --search-high 10k --list-file switches.txt"
                    .to_owned(),
            ),
        ],
        links: results
            .iter()
            .map(|(protocol, _)| {
                let folder = format!("controller-{}", protocol.name().to_lowercase());
                (format!("All of {}", protocol.name()), format!("{folder}/report.html"))
            })
            .collect(),
    }
}
