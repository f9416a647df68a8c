//! `planimeter demo`: the main job on embedded parts, ending in a report.
//!
//! The reference controllers run as processes of their own, as any other controller would, so that
//! their use of the host is measured apart from the probe's.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Arg, ArgMatches, Command, value_parser};
use probe::config::{DeviceAddress, Origin, Resolved, Settings};
use probe::outcome::{Completion, RunResult};
use probe::{Live, RunContext};
use report::RunDirectory;

use crate::embedded::{Controller, free_port};
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
        let controller = part.controller()?;
        let resolved = part.settings(&controller)?;
        let context = RunContext {
            command: std::env::args().collect(),
            configuration: resolved.values(),
            notes: Vec::new(),
            live: live.clone(),
            interrupt: interrupt.clone(),
        };
        let result = probe::run(&resolved.config, context, &mut watcher).map_err(Failure::run)?;
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
    /// Starts the reference controller of this part.
    fn controller(self) -> Result<Controller, Failure> {
        match self {
            Self::OpenFlow => Controller::openflow("reactive", &[]),
            Self::P4Runtime => {
                // All switches are behind one port, told apart by their device ids.
                let address = SocketAddr::from(([127, 0, 0, 1], free_port()?));
                let devices: Vec<DeviceAddress> = (1..=u64::from(SWITCHES))
                    .map(|device_id| DeviceAddress {
                        device_id,
                        number: device_id,
                        listen: address,
                        dial: address,
                    })
                    .collect();
                Controller::p4runtime("reactive", &devices, &[])
            }
        }
    }

    /// What is measured against it.
    fn settings(self, controller: &Controller) -> Result<Resolved, Failure> {
        let mut settings = Settings::new();
        let port = controller.port().to_string();
        let address = format!("127.0.0.1:{port}");
        let process = format!("pid:{}", controller.process_id());
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
        let own: [(&str, &str); 3] = match self {
            Self::OpenFlow => [
                ("protocol", "openflow13"),
                ("controller.address", &address),
                ("traffic.arrivals", "exponential"),
            ],
            Self::P4Runtime => [
                ("protocol", "p4runtime"),
                ("p4runtime.first-port", &port),
                ("p4runtime.devices-per-port", &switches),
            ],
        };
        for (key, value) in common.into_iter().chain(own) {
            settings.set(key, value, Origin::Flag);
        }
        settings.resolve().map_err(Failure::run)
    }
}
