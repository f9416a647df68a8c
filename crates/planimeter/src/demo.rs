//! `planimeter demo`: the main job on embedded parts, ending in a report.
//!
//! The reference controllers run as processes of their own, as any other controller would, so that
//! their use of the host is measured apart from the probe's.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Arg, ArgMatches, Command, value_parser};
use probe::config::{Origin, Resolved, Settings};
use probe::outcome::{Completion, RunResult};
use probe::{HeldPorts, Live, RunContext};
use report::RunDirectory;

use crate::embedded::Controller;
use crate::failure::Failure;
use crate::interrupt;
use crate::probe::{Keeper, show};
use crate::progress::Progress;

const ABOUT: &str = "Show what Planimeter does, on embedded parts, in about a minute";

const LONG_ABOUT: &str = "\
Show what Planimeter does, on embedded parts, in about a minute.

How much can this SDN controller take? Eight emulated switches offer growing rates of packet-ins to \
the reference controller (reactive forwarding), first over OpenFlow 1.3, then over P4Runtime, and \
each answer is tied to its packet-in. This is the comparison of seed 000 on controllers that \
everybody has. It ends with a table and a report that opens in a browser.

Everything runs on this host's loopback addresses.";

/// Switches in each part.
const SWITCHES: u32 = 8;
/// Packet-ins per second and switch.
const RATES: &str = "250,1k,4k";

pub(crate) fn command() -> Command {
    Command::new("demo").about(ABOUT).long_about(LONG_ABOUT).arg(
        Arg::new("output")
            .short('o')
            .long("output")
            .value_name("DIRECTORY")
            .value_parser(value_parser!(PathBuf))
            .help("Run directory; by default a new one under runs/"),
    )
}

pub(crate) fn run(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let mut directory =
        RunDirectory::create(matches.get_one::<PathBuf>("output").map(PathBuf::as_path))
            .map_err(Failure::input)?;
    let interrupt = interrupt::flag().map_err(Failure::run)?;
    let live = Arc::new(Live::default());
    let mut watcher = Keeper {
        progress: Progress::start(live.clone(), false),
        directory: &directory,
        kept: None,
        quiet: false,
    };
    let mut whole: Option<(RunResult, Resolved)> = None;
    for part in [Part::OpenFlow, Part::P4Runtime] {
        let ports = part.ports()?;
        let controller = part.controller(&ports)?;
        let resolved = part.settings(Some(&controller))?;
        let context = RunContext {
            command: std::env::args().collect(),
            configuration: resolved.values(),
            notes: Vec::new(),
            ports: Some(ports),
            live: live.clone(),
            interrupt: interrupt.clone(),
        };
        let result = probe::run(&resolved.config, context, &mut watcher)
            .map_err(|error| Failure::of_probe(&error))?;
        whole = Some(match whole {
            None => (result, resolved),
            Some((first, resolved)) => (join(first, result), resolved),
        });
        if interrupt.load(std::sync::atomic::Ordering::Relaxed) {
            break;
        }
    }
    drop(watcher);
    let Some((result, resolved)) = whole else {
        return Err(Failure::Run("nothing was measured".into()));
    };
    directory.write_configuration(&resolved.to_toml()).map_err(Failure::run)?;
    show(&result, &directory, &resolved)?;
    let complete = result.completion == Completion::Complete;
    Ok(ExitCode::from(u8::from(!complete)))
}

/// One result with the points of both.
fn join(mut first: RunResult, second: RunResult) -> RunResult {
    first.points.extend(second.points);
    first.elapsed_s += second.elapsed_s;
    if first.completion == Completion::Complete {
        first.completion = second.completion;
    }
    first.controller.address = format!(
        "{} (OpenFlow), {} (P4Runtime)",
        first.controller.address, second.controller.address
    );
    first.notes.push(
        "The controller is Planimeter's own reference controller, with reactive forwarding; the \
         configuration shown is that of the OpenFlow part."
            .into(),
    );
    first.notes.extend(second.notes);
    first
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    OpenFlow,
    P4Runtime,
}

impl Part {
    /// The ports of the switches, before anybody dials them.
    fn ports(self) -> Result<HeldPorts, Failure> {
        HeldPorts::take(&self.settings(None)?.config, true).map_err(Failure::run)
    }

    /// Starts the reference controller of this part.
    fn controller(self, ports: &HeldPorts) -> Result<Controller, Failure> {
        match self {
            Self::OpenFlow => Controller::openflow("reactive", &[]),
            Self::P4Runtime => {
                let mut config = self.settings(None)?.config;
                ports.apply(&mut config);
                Controller::p4runtime("reactive", &probe::device_addresses(&config), &[])
            }
        }
    }

    /// What is measured, against a controller once it runs.
    fn settings(self, controller: Option<&Controller>) -> Result<Resolved, Failure> {
        let mut settings = Settings::new();
        let address = format!("127.0.0.1:{}", controller.map_or(0, Controller::port).max(1));
        let process =
            controller.map_or("none".to_owned(), |known| format!("pid:{}", known.process_id()));
        let switches = SWITCHES.to_string();
        let common = [
            ("switches.count", switches.as_str()),
            ("plan.kind", "sweep"),
            ("plan.rates", RATES),
            ("plan.repetitions", "3"),
            ("timing.warmup", "500ms"),
            ("timing.measure", "2s"),
            ("timing.drain", "1s"),
            ("timing.settle", "300ms"),
            ("controller.process", &process),
        ];
        let own: &[(&str, &str)] = match self {
            Self::OpenFlow => &[
                ("protocol", "openflow13"),
                ("controller.address", &address),
                ("traffic.arrivals", "exponential"),
            ],
            Self::P4Runtime => &[
                ("protocol", "p4runtime"),
                // All switches are behind one port, told apart by their device ids.
                ("p4runtime.devices-per-port", &switches),
            ],
        };
        for (key, value) in common.iter().chain(own) {
            settings.set(key, value, Origin::Flag);
        }
        settings.resolve().map_err(Failure::run)
    }
}
