//! `planimeter controller`: runs a reference controller.

mod arguments;

use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use clap::{ArgMatches, FromArgMatches};
use controllers::application::Application;
use controllers::model::Model;
use controllers::p4runtime::Target;
use controllers::{Counters, Counts, Journal, heartbeat, onos, openflow, p4runtime};

use crate::failure::Failure;
use crate::tls::{self, Pem, read};
use crate::{given, interrupt};
pub(crate) use arguments::Arguments;
use arguments::Protocol;

/// The flags of `planimeter controller` that apply only to OpenFlow.
const OPENFLOW_ALONE: [&str; 7] = [
    "listen",
    "openflow-version",
    "miss-send-len",
    "prepared",
    "beat",
    "standby-of",
    "beat-interval",
];
/// The flags of `planimeter controller` that apply only to P4Runtime.
const P4RUNTIME_ALONE: [&str; 9] = [
    "election-id",
    "standby",
    "flood-ports",
    "gather",
    "answer-after",
    "read-pipeline-per-packet",
    "service-time",
    "device-config",
    "tls-server-name",
];
/// The flags of `planimeter controller` that have no effect if it stands in for ONOS. The list
/// omits the flags that apply only to OpenFlow, and those that the argument parser already refuses.
const NOT_FOR_ONOS: [&str; 12] = [
    "idle-timeout",
    "election-id",
    "standby",
    "flood-ports",
    "gather",
    "answer-after",
    "read-pipeline-per-packet",
    "device-config",
    "tls-certificate",
    "tls-key",
    "tls-ca",
    "tls-server-name",
];
/// The interval at which `--verbose` prints the counts of the controller to standard error, if they
/// have changed.
const REPORT: Duration = Duration::from_secs(5);

pub(crate) fn run(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let arguments = &Arguments::from_arg_matches(matches).map_err(Failure::input)?;
    if arguments.parent.is_some_and(|parent| !ends_with(parent)) {
        return Ok(ExitCode::SUCCESS);
    }
    let switches_named = first_given(matches, &["device", "devices", "first-port"]);
    if let Some(address) = arguments.onos {
        refuse(matches, &OPENFLOW_ALONE, "OpenFlow")?;
        if arguments.protocol == Some(Protocol::OpenFlow) {
            return Err(Failure::input("--onos speaks P4Runtime; leave out --protocol openflow"));
        }
        if let Some(name) = first_given(matches, &NOT_FOR_ONOS) {
            return Err(Failure::input(format!(
                "--{name} has no effect with --onos, which behaves like ONOS 2.5; leave it out"
            )));
        }
        return stand_in(arguments, address);
    }
    match (arguments.protocol, switches_named) {
        (Some(Protocol::P4Runtime), _) | (None, Some(_)) => {
            refuse(matches, &OPENFLOW_ALONE, "OpenFlow")?;
            dial(arguments)
        }
        (_, Some(name)) => Err(Failure::input(format!(
            "--{name} names P4Runtime switches; OpenFlow switches connect to --listen by themselves"
        ))),
        (_, None) => {
            refuse(matches, &P4RUNTIME_ALONE, "P4Runtime")?;
            listen(arguments)
        }
    }
}

/// Makes the kernel kill this process when its parent ends, for whatever reason. Returns false if
/// the process with the id `parent` has already ended, and is no longer the parent.
pub(crate) fn ends_with(parent: u32) -> bool {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    getppid().is_some_and(|now| now.as_raw_nonzero().get().cast_unsigned() == parent)
}

/// Runs an OpenFlow controller, which listens for switches.
fn listen(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let flags = &arguments.openflow;
    let application = arguments.application;
    if flags.prepared && application != Application::NullResponder {
        return Err(Failure::input("--prepared goes with --application null"));
    }
    let (beat, standby_of) = (flags.beat, flags.standby_of);
    if (beat.or(standby_of)).is_some() && application != Application::Paths {
        return Err(Failure::input("--beat and --standby-of go with --application paths"));
    }
    let interval = Duration::from_millis(flags.beat_interval);
    let versions = flags.openflow_version.clone();
    let offered = match versions.as_slice() {
        [only] => only.to_string(),
        _ => "1.0, 1.3".to_owned(),
    };
    let options = openflow::Options {
        application,
        versions,
        threads: arguments.threads.into(),
        idle_timeout: arguments.idle_timeout,
        miss_send_len: flags.miss_send_len,
        prepared: flags.prepared,
        tls: server_tls(&arguments.tls)?,
        queue: model(arguments)?.map(|model| model.openflow(arguments.model_variant)),
        part: match (beat, standby_of) {
            (Some(_), _) => openflow::Part::Active,
            (_, Some(_)) => openflow::Part::Standby,
            _ => openflow::Part::Alone,
        },
        journal: journal(arguments),
        ..openflow::Options::default()
    };
    let mut controller =
        openflow::Controller::bind(flags.listen, options).map_err(|error| match error {
            openflow::BindError::Tls(error) => Failure::input(error),
            error => Failure::input(format!("{error}; choose another --listen")),
        })?;
    let northbound = northbound(arguments, |address| controller.offer_northbound(address))?;
    let listens = controller.local_addr();
    let ready = format!("listening on {listens} (OpenFlow {offered}), {application}{northbound}");
    if let Some(address) = beat {
        heartbeat::beat(address, interval).map_err(|error| {
            Failure::input(format!("cannot listen on {address}: {error}; choose another --beat"))
        })?;
    }
    if let Some(address) = standby_of {
        let takeover = controller.takeover();
        std::thread::spawn(move || {
            heartbeat::watch(address, interval, &takeover);
            takeover.store(true, Ordering::Relaxed);
        });
    }
    serve(arguments, &ready, &controller.counters(), |stop| controller.run(stop))
}

/// Starts the REST interface of `--northbound`, if it is requested. Returns the text that announces
/// its address, which is empty without the flag.
fn northbound(
    arguments: &Arguments,
    offer: impl FnOnce(SocketAddr) -> std::io::Result<SocketAddr>,
) -> Result<String, Failure> {
    let Some(address) = arguments.northbound else { return Ok(String::new()) };
    if arguments.application != Application::Paths {
        return Err(Failure::input("--northbound goes with --application paths"));
    }
    let offered = offer(address).map_err(|error| {
        Failure::input(format!("cannot listen on {address}: {error}; choose another --northbound"))
    })?;
    Ok(format!(", northbound at http://{offered}"))
}

/// Runs a P4Runtime controller, which dials switches.
fn dial(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let flags = &arguments.p4runtime;
    let targets = targets(flags)?;
    if targets.is_empty() {
        return Err(Failure::input(
            "no switches are named; use --device, --devices or --first-port with --count",
        ));
    }
    let application = arguments.application;
    if application == Application::Paths
        && let Some(id) = repeated_device(&targets)
    {
        return Err(Failure::input(format!(
            "two switches have the device id {id}, by which --application paths tells them apart"
        )));
    }
    let device_config = flags.device_config.as_deref().map(read).transpose()?;
    let description = match flags.read_pipeline_per_packet {
        true => p4runtime::Description::ReadPerPacket,
        false => p4runtime::Description::ReadOnce,
    };
    let options = p4runtime::Options {
        application,
        answer_after: flags.answer_after,
        description,
        queue: match model(arguments)? {
            Some(model) => Some(model.p4runtime(arguments.model_variant, flags.answer_after)),
            None => flags.service_time.unwrap_or_default().queue(),
        },
        threads: arguments.threads.into(),
        idle_timeout: Duration::from_secs(arguments.idle_timeout.into()),
        election_id: p4runtime::ElectionId(flags.election_id),
        stands_by: flags.standby,
        flood_ports: flags.flood_ports,
        device_config: device_config.map(Into::into),
        gather: Duration::from_micros(flags.gather.into()),
        client: p4runtime::ClientOptions {
            tls: client_tls(&arguments.tls)?,
            ..p4runtime::ClientOptions::default()
        },
        journal: journal(arguments),
        ..p4runtime::Options::default()
    };
    let switches = match targets.as_slice() {
        [only] => only.to_string(),
        several => format!("{} switches", several.len()),
    };
    let mut controller = p4runtime::Controller::new(targets, options).map_err(Failure::run)?;
    let northbound = northbound(arguments, |address| controller.offer_northbound(address))?;
    let ready = format!("dialling {switches} (P4Runtime), {application}{northbound}");
    serve(arguments, &ready, &controller.counters(), |stop| controller.run(stop))
}

/// Runs a stand-in for the controller ONOS, which serves the REST interface of ONOS at `address`.
fn stand_in(arguments: &Arguments, address: SocketAddr) -> Result<ExitCode, Failure> {
    let usual = onos::Onos::options();
    let options = p4runtime::Options {
        queue: match arguments.p4runtime.service_time {
            Some(time) => time.queue(),
            None => usual.queue.clone(),
        },
        journal: journal(arguments),
        ..usual
    };
    let onos = onos::Onos::bind(address, options).map_err(|error| {
        Failure::input(format!("cannot listen on {address}: {error}; choose another --onos"))
    })?;
    let ready = format!(
        "standing in for ONOS at http://{} (P4Runtime), reactive forwarding",
        onos.address()
    );
    serve(arguments, &ready, &onos.counters(), |stop| onos.run(stop))
}

/// Prints the line `ready`, runs the controller until it is interrupted, and then reports what it
/// did.
fn serve(
    arguments: &Arguments,
    ready: &str,
    counters: &Counters,
    run: impl FnOnce(&AtomicBool) -> std::io::Result<()>,
) -> Result<ExitCode, Failure> {
    ::probe::host::raise_file_limit();
    let stop = interrupt::flag();
    print_line(ready);
    let start = Instant::now();
    let outcome = std::thread::scope(|scope| {
        // Dropping `running` wakes the reporting thread.
        let (running, ended) = channel::<()>();
        let verbose = arguments.verbose;
        let reports = scope.spawn(move || {
            let mut last = (start, counters.counts());
            while verbose && ended.recv_timeout(REPORT) == Err(RecvTimeoutError::Timeout) {
                let now = (Instant::now(), counters.counts());
                if now.1 != last.1 {
                    let rates = rates(&last.1, &now.1, now.0 - last.0);
                    print_note(&format!("{:.0?}: {}; {rates}", start.elapsed(), now.1));
                }
                last = now;
            }
        });
        let outcome = run(&stop);
        drop(running);
        let _ = reports.join();
        outcome
    });
    outcome.map_err(Failure::run)?;
    print_line(&format!("ended after {:.1?}: {}", start.elapsed(), counters.counts()));
    Ok(ExitCode::SUCCESS)
}

/// Returns a text with the packet-ins, packet-outs and rules per second between two states of the
/// counts, which are `time` apart.
fn rates(before: &Counts, after: &Counts, time: Duration) -> String {
    let rate = |before: u64, after: u64| {
        format!("{:.0}", after.saturating_sub(before) as f64 / time.as_secs_f64())
    };
    format!(
        "{} packet-ins/s, {} packet-outs/s, {} rules/s",
        rate(before.packet_ins, after.packet_ins),
        rate(before.packet_outs, after.packet_outs),
        rate(before.rules, after.rules)
    )
}

/// Returns a device id that several of the switches have, or `None` if all ids differ.
fn repeated_device(targets: &[Target]) -> Option<u64> {
    let mut seen = std::collections::BTreeSet::new();
    targets.iter().map(|target| target.device_id).find(|id| !seen.insert(*id))
}

/// Writes a line of the output of `--verbose` to standard error.
fn print_note(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Prints a line that scripts wait for to standard output. If nothing reads standard output, the
/// controller continues to run.
fn print_line(line: &str) {
    let mut stdout = std::io::stdout();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

fn targets(flags: &arguments::P4Runtime) -> Result<Vec<Target>, Failure> {
    let mut targets = flags.device.clone();
    if let Some(file) = &flags.devices {
        let bytes = read(file)?;
        let listed = Target::list(&String::from_utf8_lossy(&bytes))
            .map_err(|error| Failure::input(format!("{}: {error}", file.display())))?;
        targets.extend(listed);
    }
    if let Some(first_port) = flags.first_port {
        let range = Target::range(&flags.host, first_port, flags.first_device, flags.count);
        targets.extend(range.map_err(Failure::input)?);
    }
    Ok(targets)
}

/// Reads the model of a controller from the file that `--model` names, or returns `None` without
/// the flag.
fn model(arguments: &Arguments) -> Result<Option<Model>, Failure> {
    let Some(file) = &arguments.model else { return Ok(None) };
    if arguments.application.forwarding().is_none() {
        return Err(Failure::input("--model goes with --application learning or reactive"));
    }
    let text = String::from_utf8_lossy(&read(file)?).into_owned();
    let model = Model::from_toml(&text);
    model.map(Some).map_err(|error| Failure::input(format!("{}: {error}", file.display())))
}

fn journal(arguments: &Arguments) -> Journal {
    if arguments.verbose { Journal::new(print_note) } else { Journal::default() }
}

fn server_tls(flags: &arguments::Tls) -> Result<Option<openflow::ServerTls>, Failure> {
    tls::openflow(flags.tls_ca.as_deref(), identity(flags)?)
}

fn client_tls(flags: &arguments::Tls) -> Result<Option<p4runtime::ClientTls>, Failure> {
    let name = flags.tls_server_name.clone();
    tls::client(flags.tls_ca.as_deref(), identity(flags)?, name)
}

/// Reads the TLS certificate of the controller and its private key from the files that the flags
/// name. Returns `None` if they name none.
fn identity(flags: &arguments::Tls) -> Result<Option<(Pem, Pem)>, Failure> {
    tls::identity(flags.tls_certificate.as_deref(), flags.tls_key.as_deref())
}

/// Returns an error if the command line contains one of the flags `names`. These flags apply only
/// to `protocol`, which is not the selected protocol.
fn refuse(matches: &ArgMatches, names: &[&str], protocol: &str) -> Result<(), Failure> {
    match first_given(matches, names) {
        Some(name) => Err(Failure::input(format!(
            "--{name} goes with {protocol}, which is not the protocol here; see --protocol"
        ))),
        None => Ok(()),
    }
}

/// Returns the first of the flags `names` that occurs on the command line, or `None` if none does.
fn first_given<'n>(matches: &ArgMatches, names: &[&'n str]) -> Option<&'n str> {
    // The identifier of a flag is the name of its field.
    names.iter().copied().find(|name| given(matches, &name.replace('-', "_")))
}

#[cfg(test)]
mod tests;
