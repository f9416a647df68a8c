//! `planimeter device export`: writes servers for `planimeter bound`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use device::compose::Semantics;
use device::export::{HEAD, MessageService, Server};
use device::{Level, Model};
use probe::outcome::RunResult;
use serde_json::Value;

use super::predict::{self, Functions, UnderSetting};
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
    planimeter device export examples/device/zodiac-fx.json --match all --action set-nw-src --name access
    planimeter device export --controller runs/20261122T090000Z-probe/result.json --packet-bytes 64 --name controller

    planimeter device export --slow-path runs/20261122T090000Z-dut/result.json --direction packet-out --name packet-out

A packet that takes the slow path passes three servers: the slow path of the switch to the controller (packet-in), the controller, \
and the slow path back (packet-out).";

/// The arguments of `planimeter device export`.
#[derive(Debug, Args)]
#[command(
    about = "Write a device, a slow path or a probed controller as a server of a network for `planimeter bound`",
    after_help = EXAMPLES
)]
pub(super) struct Arguments {
    /// The model that `planimeter device model -o` wrote
    #[arg(value_name = "MODEL", required_unless_present_any = ["controller", "slow_path"])]
    model: Option<PathBuf>,
    #[command(flatten)]
    functions: Functions,
    #[command(flatten)]
    setting: UnderSetting,
    /// A result of `planimeter probe`, whose controller becomes a server with its loss-free rate
    /// and its slowest answer at that rate
    #[arg(long, value_name = "RESULT.JSON", conflicts_with = "model", requires = "packet_bytes")]
    controller: Option<PathBuf>,
    /// A result of `planimeter dut --plan slow-path`, of which one direction becomes a server with its
    /// highest load without loss and the longest delay at it
    #[arg(long, value_name = "RESULT.JSON", conflicts_with_all = ["model", "controller"])]
    slow_path: Option<PathBuf>,
    /// The direction of the slow path
    #[arg(long, value_name = "NAME", default_value = "packet-in", requires = "slow_path")]
    direction: Crossing,
    /// The name of the server
    #[arg(long, value_name = "NAME", default_value = "device")]
    name: String,
    /// The level of the latency: maximum, or a percentile of the model above the median
    #[arg(long, value_name = "LEVEL", default_value = "maximum")]
    level: Level,
    /// The way in which the device executes its functions [default: run-to-completion]
    #[arg(long, value_name = "HOW")]
    semantics: Option<Working>,
    /// Omit the units at the head of a file, to append the server to a file that has them
    #[arg(long)]
    bare: bool,
}

/// The way in which a device executes the functions that a packet needs.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Working {
    Pipelined,
    RunToCompletion,
    BurstDelay,
}

/// A direction of the slow path of a switch.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Crossing {
    /// Packets go from a port of the switch to the controller.
    PacketIn,
    /// Packets go from the controller to a port of the switch.
    PacketOut,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let server = match (&arguments.controller, &arguments.slow_path, &arguments.model) {
        (Some(result), _, _) => of_controller(result, arguments)?,
        (_, Some(result), _) => of_slow_path(result, arguments)?,
        (_, _, Some(model)) => of_device(model, arguments)?,
        (None, None, None) => {
            return Err(Failure::input("name a MODEL, a --controller or a --slow-path"));
        }
    };
    let head = if arguments.bare { "" } else { HEAD };
    print!("{head}{}", server.to_toml());
    Ok(ExitCode::SUCCESS)
}

/// Returns the server that stands for a device in a network file.
fn of_device(model: &Path, arguments: &Arguments) -> Result<Server, Failure> {
    let model: Model = predict::read(model)?;
    let under = arguments.setting.of(&model)?;
    let functions = arguments.functions.names();
    let composition = model.compose(under, &functions).map_err(Failure::input)?;
    let curves = model.curves(under, &composition).map_err(Failure::run)?;
    let level = arguments.level;
    let found = |semantics: Option<Semantics>| {
        let mut curves = curves.minimum.iter();
        curves.find(|service| service.level == level && service.semantics == semantics)
    };
    // Without --semantics, a model without rates becomes a burst delay, which needs none.
    let service = match arguments.semantics {
        Some(Working::Pipelined) => found(Some(Semantics::Pipelined)),
        Some(Working::RunToCompletion) => found(Some(Semantics::RunToCompletion)),
        Some(Working::BurstDelay) => found(None),
        None => found(Some(Semantics::RunToCompletion)).or_else(|| {
            let service = found(None)?;
            eprintln!("planimeter: {}; the server is a burst delay", curves.remarks.join("; "));
            Some(service)
        }),
    };
    let service = service.ok_or_else(|| {
        let remarks = match curves.remarks.as_slice() {
            [] => String::new(),
            some => format!(" ({})", some.join("; ")),
        };
        Failure::input(format!(
            "there is no such curve at level {level}{remarks}; try --semantics burst-delay, or a level of the model above \
             the median"
        ))
    })?;
    Ok(Server::of_device(&arguments.name, &model, &composition, service))
}

fn of_controller(path: &Path, arguments: &Arguments) -> Result<Server, Failure> {
    let wrong =
        |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", path.display()));
    let text = input::read_text(path).map_err(|error| wrong(&error))?;
    let result: RunResult = report::json::from_json(&text).map_err(|error| wrong(&error))?;
    let packet_bytes = arguments.setting.packet_bytes.unwrap_or(64);
    let service = loss_free(&result, packet_bytes).ok_or_else(|| {
        wrong(&"it has no point without loss in open mode; probe with --mode open, or with --plan search")
    })?;
    let what = format!(
        "Controller {}, probed {}.",
        result.controller.address, result.provenance.started_at
    );
    Ok(Server::of_messages(&arguments.name, &service, &what))
}

/// Returns the server that stands for one direction of a slow path. It is derived from the highest
/// load at which `planimeter dut` measured no loss, and from the longest delay at that load.
fn of_slow_path(path: &Path, arguments: &Arguments) -> Result<Server, Failure> {
    let wrong =
        |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", path.display()));
    let text = input::read_text(path).map_err(|error| wrong(&error))?;
    let result: Value = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
    let service = without_loss(&result, arguments.direction).ok_or_else(|| {
        wrong(
            &"it has no load without loss in this direction; measure one with planimeter dut --plan slow-path",
        )
    })?;
    let title = result["title"].as_str().unwrap_or_default();
    let what = format!("{title}, measured {}.", result["started_at"].as_str().unwrap_or("-"));
    Ok(Server::of_messages(&arguments.name, &service, &what))
}

/// Returns the highest load at which a slow path lost no packet, and the longest delay at it. Returns
/// `None` if the result has no such load.
fn without_loss(result: &Value, direction: Crossing) -> Option<MessageService> {
    let (direction, kind) = match direction {
        Crossing::PacketIn => ("packet-in", "packet-ins"),
        Crossing::PacketOut => ("packet-out", "packet-outs"),
    };
    let sections = result["sections"].as_array()?;
    let section = sections.iter().find(|section| section["id"] == "slow-path")?;
    let tables = section["tables"].as_array()?;
    let rows = |caption: &str| {
        Rows::of(tables.iter().find(|table| table["caption"] == caption)?, direction)
    };
    let rates = rows("Rates")?;
    let packet_bytes = rates.number(rates.rows.first()?, "length")? as u32;
    let delays = rows("Delays")?;
    let loads = delays.rows.iter().filter_map(|row| {
        let number = |column| delays.number(row, column);
        let (lost, rate, longest) = (number("lost")?, number("offered")?, number("longest")?);
        (lost == 0.0).then_some((rate, (longest * 1e9).ceil() as u64))
    });
    MessageService::at_highest(loads, packet_bytes, kind)
}

/// The rows of a report's table whose first cell contains a given word, and the names of the
/// table's columns.
struct Rows<'a> {
    columns: &'a Vec<Value>,
    rows: Vec<&'a Vec<Value>>,
}

impl<'a> Rows<'a> {
    fn of(table: &'a Value, first: &str) -> Option<Self> {
        let rows = table["rows"].as_array()?.iter().filter_map(Value::as_array);
        let rows = rows.filter(|row| row.first().is_some_and(|cell| cell == first)).collect();
        Some(Self { columns: table["columns"].as_array()?, rows })
    }

    /// Returns the number in the column of a row with the name `column`, or `None` if there is no
    /// such column, or no number in it.
    fn number(&self, row: &[Value], column: &str) -> Option<f64> {
        let place = self.columns.iter().position(|name| name == column)?;
        row.get(place)?["value"].as_f64()
    }
}

/// Returns the highest offered rate at which a controller answered every packet-in, and the longest
/// response time at that rate, for packets of `packet_bytes`. Offered rates above the rate that a
/// search found are ignored. Returns `None` if there is no such rate.
pub(crate) fn loss_free(result: &RunResult, packet_bytes: u32) -> Option<MessageService> {
    let limit =
        result.search.as_ref().and_then(|search| search.loss_free_rate).unwrap_or(f64::INFINITY);
    let answered = result.points.iter().filter_map(|point| {
        let rate = point.offered_rate.filter(|rate| *rate <= limit * (1.0 + 1e-9))?;
        let loss = point.summary.get("loss").map_or(f64::INFINITY, |loss| loss.max);
        let trials = point.trials.iter().map(|trial| trial.rtt_from_due);
        let slowest =
            trials.filter(|latency| latency.samples > 0).map(|latency| latency.max_ns).max()?;
        // A search may accept a rate with some loss as loss-free. A service curve may not.
        (loss == 0.0).then_some((rate, slowest))
    });
    MessageService::at_highest(answered, packet_bytes, "packet-ins")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_highest_load_without_loss_becomes_the_service() {
        let value = |value: f64| json!({ "value": value, "unit": "count" });
        let load = |direction: &str, rate: f64, longest: f64, lost: f64| {
            json!([direction, value(rate), value(longest), value(lost)])
        };
        let delays = [
            load("packet-in", 100.0, 0.001, 0.0),
            load("packet-in", 500.4, 0.002, 0.0),
            load("packet-in", 900.0, 0.004, 1.0),
            load("packet-out", 700.0, 0.003, 2.0),
        ];
        let result = json!({ "sections": [{ "id": "slow-path", "tables": [
            { "caption": "Rates", "columns": ["direction", "length"],
              "rows": [["packet-in", value(128.0)], ["packet-out", value(128.0)]] },
            { "caption": "Delays", "columns": ["direction", "offered", "longest", "lost"],
              "rows": delays },
        ] }] });
        let expected = MessageService {
            packets_per_second: 500,
            slowest_ns: 2_000_000,
            packet_bytes: 128,
            kind: "packet-ins",
        };
        assert_eq!(without_loss(&result, Crossing::PacketIn), Some(expected));
        assert_eq!(without_loss(&result, Crossing::PacketOut), None);
        assert_eq!(without_loss(&json!({}), Crossing::PacketIn), None);
    }
}
