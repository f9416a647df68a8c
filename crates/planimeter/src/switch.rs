//! `planimeter switch`: runs a P4 program as a switch.

mod arguments;
mod devices;
mod limits;
mod pushes;
mod top;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::{ArgMatches, Command, FromArgMatches};
use packetio::interface::{Interface, LinkWatch};
use softswitch::{
    DeviceState, Executable, Gap, Log, Options, ServerTls, StartError, Switch, Verbosity,
};

use crate::failure::Failure;
use crate::interrupt;
use crate::invocation;
use crate::storage::Stored;
use devices::{Common, Planned};
use pushes::PushArguments;
use top::Top;

pub(crate) use arguments::command;

/// The interval at which a running switch checks its network links and whether it must end.
const TIMEOUT: Duration = Duration::from_millis(100);

pub(crate) fn run(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    if let Some(parent) = matches.get_one::<u32>("parent")
        && !crate::controller::ends_with(*parent)
    {
        return Ok(ExitCode::SUCCESS);
    }
    arguments::check(matches)?;
    if let (Some(from), Some(to)) =
        (matches.get_one::<PathBuf>("state"), matches.get_one::<PathBuf>("state-repair"))
    {
        return repair(from, to);
    }
    if let Some(warning) = arguments::exposure(matches) {
        eprintln!("planimeter: {warning}");
    }
    let planned = devices::planned(matches)?;
    let workers = usize::from(matches.get_one::<u16>("workers").copied().unwrap_or(1));
    // The watch starts before the ports are opened, so that no change is missed.
    let watch = LinkWatch::new().ok();
    let common = Common {
        path: arguments::path(matches),
        v1model: arguments::v1model(matches),
        durability: arguments::durability(matches),
        check_references: matches.get_flag("check-references"),
        takes_injections: matches.get_flag("inject"),
    };
    let requested = matches.get_one::<u32>("ring-memory").copied();
    let memory = devices::ring_memory(&planned, workers, requested);
    let captures = captures(matches)?;
    let configs = devices::open(&planned, workers, memory, common, captures.as_deref())?;
    let options = Options {
        address: *matches
            .get_one("grpc-server-addr")
            .ok_or_else(|| Failure::input("--grpc-server-addr is missing"))?,
        tls: tls(matches)?,
        workers,
        metrics: matches.get_one("metrics").copied(),
        thrift: matches.get_one("thrift-port").copied(),
        limits: limits::limits(matches)?,
        log: log(matches)?,
        segments: arguments::segments(matches),
        pushes: PushArguments::from_arg_matches(matches)
            .map_err(Failure::input)?
            .pushes()
            .map_err(Failure::input)?,
        numbers: Stored::of(matches)?.sources.numbers()?,
    };
    let (metrics, thrift) = (options.metrics, options.thrift);
    let switch = Switch::start(options, configs).map_err(|error| match error {
        StartError::Listen { address, .. } if Some(address) == metrics => {
            Failure::input(format!("{error}; choose another --metrics"))
        }
        StartError::Listen { address, .. } if Some(address) == thrift => {
            Failure::input(format!("{error}; choose another --thrift-port"))
        }
        StartError::Listen { .. } => {
            Failure::input(format!("{error}; choose another --grpc-server-addr"))
        }
        error => Failure::input(error),
    })?;
    // Up to this point programs are compiled, and an interrupt ends the process immediately.
    let stop = interrupt::flag();
    let ready = ready(&switch, &planned);
    print_line(&ready);
    let top = matches.get_flag("top").then(|| Top::begin(switch.state()));
    watch_over(&switch, &planned, watch, top.map(|top| (top, ready)), &stop);
    for device in switch.finish() {
        print_line(&summary(&device));
        queue_lines(&device).iter().for_each(|line| print_line(line));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the definition of the hidden subcommand with which a switch starts a child process that
/// tries a pipeline.
pub(crate) fn load_command() -> Command {
    Command::new(pushes::LOAD).hide(true).about("Load a pipeline for a switch, which starts this")
}

/// Returns the command that starts this program as a child process which tries a pipeline.
pub(crate) fn loader() -> Executable {
    let own = Executable::own([pushes::LOAD]);
    match invocation::script() {
        Some(program) => Executable { program, ..own },
        None => own,
    }
}

/// Loads a pipeline as the child process of a switch, and returns the exit status.
pub(crate) fn load() -> ExitCode {
    ::loader::serve(|settings| Box::new(settings.target()))
}

/// Copies the intact records of the `--state` file `from` into the file `to`, and prints which
/// records are lost.
fn repair(from: &Path, to: &Path) -> Result<ExitCode, Failure> {
    let report = softswitch::repair_state(from, to).map_err(Failure::input)?;
    print_line(&format!(
        "{}: {} records are copied into {}",
        from.display(),
        report.copied,
        to.display()
    ));
    for Gap { first, last } in &report.missing {
        let lost = if first == last {
            format!("record {} is lost", first.0)
        } else {
            format!("records {} to {} are lost", first.0, last.0)
        };
        print_line(&lost);
    }
    if report.damaged_bytes > 0 {
        print_line(&format!("{} bytes do not belong to an intact record", report.damaged_bytes));
    }
    print_line(&format!(
        "to continue with the intact records: planimeter switch --state {} ...",
        to.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// Reports changes of network links to the switch, and draws its activity with `--top`, until the
/// switch must end.
fn watch_over(
    switch: &Switch,
    planned: &[Planned],
    mut watch: Option<LinkWatch>,
    mut top: Option<(Top, String)>,
    stop: &AtomicBool,
) {
    let mut is_first = true;
    let mut drawn = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        if watch.as_mut().is_some_and(LinkWatch::changed) || is_first {
            is_first = false;
            for (device, number, interface) in devices::interfaces(planned) {
                let running = Interface::named(interface).is_ok_and(|found| found.running);
                switch.set_port_link(device, number, running);
            }
        }
        let elapsed = drawn.elapsed();
        if let Some((top, head)) = &mut top
            && elapsed >= top::INTERVAL
        {
            top.draw(head, switch.state(), elapsed);
            drawn = Instant::now();
        }
        std::thread::sleep(TIMEOUT);
    }
}

/// Returns the line in which the switch announces its addresses and devices. Scripts wait for this
/// line.
fn ready(switch: &Switch, planned: &[Planned]) -> String {
    let devices: Vec<String> = planned.iter().map(ToString::to_string).collect();
    let metrics = switch.metrics_address();
    let metrics = metrics.map_or_else(String::new, |address| format!(", {address} (metrics)"));
    let thrift = switch.thrift_address();
    let thrift = thrift.map_or_else(String::new, |address| {
        format!(", {address} (Thrift, only to refer clients to P4Runtime)")
    });
    format!(
        "listening on {} (P4Runtime){metrics}{thrift}, {}",
        switch.address(),
        devices.join(", ")
    )
}

fn summary(device: &DeviceState) -> String {
    let DeviceState { activity, packets, .. } = device;
    let errors: u64 = packets.errors.values().sum();
    format!(
        "device {}: {} packets processed, {} of them left nowhere, {errors} ended in a fault, {} were for ports that \
         do not exist; {} packet-ins ({} dropped), {} packet-outs ({} dropped), {} digests; {} entities written ({} \
         refused)",
        device.id,
        packets.received,
        packets.without_output,
        activity.no_such_port,
        activity.packet_ins,
        activity.packet_ins_dropped,
        activity.packet_outs,
        activity.packet_outs_dropped,
        activity.digests,
        activity.writes,
        activity.writes_refused,
    )
}

/// Describes the queues at which packets arrived, and how precisely their ports kept the configured
/// rates.
fn queue_lines(device: &DeviceState) -> Vec<String> {
    let id = device.id;
    let mut lines = Vec::new();
    for (port, queue, counts) in &device.queues.queues {
        if counts.enqueued + counts.dropped() > 0 {
            lines.push(format!(
                "device {id}: queue {queue} of port {port}: {} packets, {} dropped ({} at its depth, {} at the \
                 buffer, {} by RED), {} marked, at most {} waited",
                counts.enqueued,
                counts.dropped(),
                counts.dropped_depth,
                counts.dropped_buffer,
                counts.dropped_red,
                counts.marked,
                counts.deepest,
            ));
        }
    }
    for (port, pace) in device.queues.paces.iter().filter(|(_, pace)| pace.packets > 0) {
        lines.push(format!(
            "device {id}: port {port} was paced: {} packets left on average {:?} after the time of the model, 99 % \
             of them within {:?}, the latest {:?}",
            pace.packets,
            Duration::from_nanos(pace.total / pace.packets),
            Duration::from_nanos(pace.mostly_within()),
            Duration::from_nanos(pace.largest),
        ));
    }
    for (count, why) in [
        (device.queues.replaced, "a pipeline was committed"),
        (device.queues.removed, "their queue was removed"),
    ] {
        if count > 0 {
            lines.push(format!(
                "device {id}: {count} packets were dropped because {why} while they waited"
            ));
        }
    }
    if device.queues.beyond_memory > 0 {
        lines.push(format!(
            "device {id}: {} packets were dropped because those in queues took the memory of --limit-queued",
            device.queues.beyond_memory
        ));
    }
    lines
}

/// Prints a line to standard output. If nothing reads standard output, the switch continues to run.
fn print_line(line: &str) {
    let mut stdout = io::stdout();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

/// Creates the directory for captures that `--pcap` names, or returns `None` without the flag.
fn captures(matches: &ArgMatches) -> Result<Option<PathBuf>, Failure> {
    let Some(directory) = arguments::captures(matches) else { return Ok(None) };
    std::fs::create_dir_all(directory).map_err(|error| {
        Failure::input(format!("cannot make the directory {}: {error}", directory.display()))
    })?;
    Ok(Some(directory.to_owned()))
}

fn tls(matches: &ArgMatches) -> Result<Option<ServerTls>, Failure> {
    let file = |name: &str| matches.get_one::<PathBuf>(name).map(|path| read(path)).transpose();
    let (authorities, certificate, key) =
        (file("grpc-server-cacert")?, file("grpc-server-cert")?, file("grpc-server-key")?);
    if !matches.get_flag("grpc-server-ssl") {
        return Ok(None);
    }
    let (Some(certificate), Some(key)) = (certificate, key) else {
        return Err(Failure::input(
            "--grpc-server-ssl needs --grpc-server-cert and --grpc-server-key as well",
        ));
    };
    let is_mutual = matches.get_flag("grpc-server-with-client-auth");
    if is_mutual && authorities.is_none() {
        return Err(Failure::input(
            "--grpc-server-with-client-auth needs --grpc-server-cacert, the authorities that issue clients' \
             certificates",
        ));
    }
    let client_authorities = authorities.filter(|_| is_mutual);
    Ok(Some(ServerTls { certificate, key, client_authorities }))
}

/// Returns the log to which traces of packets are written, if they are requested.
fn log(matches: &ArgMatches) -> Result<Log, Failure> {
    let log = log_of_events(matches)?;
    let Some(path) = matches.get_one::<PathBuf>("trace") else { return Ok(log) };
    let format = match matches.get_one::<String>("trace-format").map(String::as_str) {
        Some("json") => traces::Format::Json,
        Some("proto") => traces::Format::Proto,
        Some("verbose") => traces::Format::VerboseText,
        _ => traces::Format::Text,
    };
    let file = File::create(path)
        .map_err(|error| Failure::input(format!("cannot write {}: {error}", path.display())))?;
    let log = log.with_traces(format, Box::new(file));
    let limit = matches.get_one("outcomes-limit").copied().unwrap_or(traces::DEFAULT_OUTCOMES);
    Ok(if matches.get_flag("all-outcomes") { log.with_all_outcomes(limit) } else { log })
}

fn log_of_events(matches: &ArgMatches) -> Result<Log, Failure> {
    let verbosity = match matches.get_one::<String>("log-level").map(String::as_str) {
        Some("trace") => Verbosity::Trace,
        Some("debug") => Verbosity::Debug,
        Some("warn") => Verbosity::Warn,
        Some("error") => Verbosity::Error,
        Some("off") => Verbosity::Off,
        _ => Verbosity::Info,
    };
    let packet_bytes = matches.get_one("dump-packet-data").copied().unwrap_or(0);
    let Some(name) = matches.get_one::<PathBuf>("log-file") else {
        if matches.get_flag("top") {
            // The lines of the log would disturb the display.
            return Ok(Log::off());
        }
        return Ok(Log::new(verbosity, Box::new(io::stderr())).showing_packets(packet_bytes));
    };
    // simple_switch_grpc appends this ending to the name too.
    let name = PathBuf::from(format!("{}.txt", name.display()));
    let file = File::create(&name)
        .map_err(|error| Failure::input(format!("cannot write {}: {error}", name.display())))?;
    Ok(Log::new(verbosity, Box::new(file)).showing_packets(packet_bytes))
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    input::read(file)
        .map_err(|error| Failure::input(format!("cannot read {}: {error}", file.display())))
}
