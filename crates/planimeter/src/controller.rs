//! `planimeter controller`: run a reference controller.

mod arguments;

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use clap::ArgMatches;
use controllers::application::Application;
use controllers::p4runtime::Target;
use controllers::{Counters, Journal, heartbeat, onos, openflow, p4runtime};

use crate::failure::Failure;
use crate::{given, interrupt};
pub(crate) use arguments::command;

/// Flags that OpenFlow controllers alone have.
const OPENFLOW_ALONE: [&str; 6] =
    ["listen", "openflow-version", "miss-send-len", "prepared", "beat", "standby-of"];
/// Spacing of the figures on standard error with --verbose.
const REPORT: Duration = Duration::from_secs(5);

pub(crate) fn run(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    if let Some(parent) = matches.get_one::<u32>("parent")
        && !ends_with(*parent)
    {
        return Ok(ExitCode::SUCCESS);
    }
    let switches_named =
        ["device", "devices", "first-port"].into_iter().find(|name| given(matches, name));
    if let Some(address) = address_of(matches, "onos") {
        return stand_in(matches, address);
    }
    match (text(matches, "protocol"), switches_named) {
        (Some("p4runtime"), _) | (None, Some(_)) => dial(matches),
        (_, Some(name)) => Err(Failure::input(format!(
            "--{name} names P4Runtime switches; OpenFlow switches connect to --listen by themselves"
        ))),
        (_, None) => listen(matches),
    }
}

/// Lets this process end when its parent does, however that comes about. `false` if the parent has
/// ended already.
pub(crate) fn ends_with(parent: u32) -> bool {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    getppid().is_some_and(|now| now.as_raw_nonzero().get().cast_unsigned() == parent)
}

/// Runs an OpenFlow controller.
fn listen(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    refuse(
        matches,
        &[
            "election-id",
            "standby",
            "flood-ports",
            "gather",
            "answer-after",
            "read-pipeline-per-packet",
            "service-time",
            "device-config",
            "tls-server-name",
        ],
        "P4Runtime",
    )?;
    let application = application(matches);
    let prepared = matches.get_flag("prepared");
    if prepared && application != Application::NullResponder {
        return Err(Failure::input("--prepared goes with --application null"));
    }
    let (beat, standby_of) = (address_of(matches, "beat"), address_of(matches, "standby-of"));
    if (beat.or(standby_of)).is_some() && application != Application::Paths {
        return Err(Failure::input("--beat and --standby-of go with --application paths"));
    }
    let interval = Duration::from_millis(number(matches, "beat-interval"));
    let versions: Vec<_> = matches
        .get_many::<String>("openflow-version")
        .unwrap_or_default()
        .filter_map(|version| version.parse::<openflow::Version>().ok())
        .collect();
    let offered = match versions.as_slice() {
        [only] => only.to_string(),
        _ => "1.0, 1.3".to_owned(),
    };
    let options = openflow::Options {
        application,
        versions,
        threads: number::<u16>(matches, "threads").into(),
        idle_timeout: number(matches, "idle-timeout"),
        miss_send_len: number(matches, "miss-send-len"),
        prepared,
        tls: server_tls(matches)?,
        part: match (beat, standby_of) {
            (Some(_), _) => openflow::Part::Active,
            (_, Some(_)) => openflow::Part::Standby,
            _ => openflow::Part::Alone,
        },
        journal: journal(matches),
        ..openflow::Options::default()
    };
    let address = *matches
        .get_one::<SocketAddr>("listen")
        .ok_or_else(|| Failure::input("--listen is missing"))?;
    let mut controller =
        openflow::Controller::bind(address, options).map_err(|error| match error {
            openflow::BindError::Tls(error) => Failure::input(error),
            error => Failure::input(format!("{error}; choose another --listen")),
        })?;
    let northbound =
        northbound(matches, application, |address| controller.offer_northbound(address))?;
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
    serve(matches, &ready, &controller.counters(), |stop| controller.run(stop))
}

/// Offers a northbound interface where one was asked for, and says where.
fn northbound(
    matches: &ArgMatches,
    application: Application,
    offer: impl FnOnce(SocketAddr) -> std::io::Result<SocketAddr>,
) -> Result<String, Failure> {
    let Some(address) = address_of(matches, "northbound") else { return Ok(String::new()) };
    if application != Application::Paths {
        return Err(Failure::input("--northbound goes with --application paths"));
    }
    let offered = offer(address).map_err(|error| {
        Failure::input(format!("cannot listen on {address}: {error}; choose another --northbound"))
    })?;
    Ok(format!(", northbound at http://{offered}"))
}

/// The value of an argument that is an address.
fn address_of(matches: &ArgMatches, name: &str) -> Option<SocketAddr> {
    matches.get_one::<SocketAddr>(name).copied()
}

/// Runs a P4Runtime controller.
fn dial(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    refuse(matches, &OPENFLOW_ALONE, "OpenFlow")?;
    let targets = targets(matches)?;
    if targets.is_empty() {
        return Err(Failure::input(
            "no switches are named; use --device, --devices or --first-port with --count",
        ));
    }
    let application = application(matches);
    let device_config = path(matches, "device-config").map(read).transpose()?;
    let description = match matches.get_flag("read-pipeline-per-packet") {
        true => p4runtime::Description::ReadPerPacket,
        false => p4runtime::Description::ReadOnce,
    };
    let options = p4runtime::Options {
        application,
        answer_after: number(matches, "answer-after"),
        description,
        service_time: service_time(matches).unwrap_or_default(),
        threads: number::<u16>(matches, "threads").into(),
        idle_timeout: Duration::from_secs(number::<u16>(matches, "idle-timeout").into()),
        election_id: p4runtime::ElectionId(number(matches, "election-id")),
        stands_by: matches.get_flag("standby"),
        flood_ports: number(matches, "flood-ports"),
        device_config: device_config.map(Into::into),
        gather: Duration::from_micros(number::<u32>(matches, "gather").into()),
        client: p4runtime::ClientOptions {
            tls: client_tls(matches)?,
            ..p4runtime::ClientOptions::default()
        },
        journal: journal(matches),
        ..p4runtime::Options::default()
    };
    let switches = match targets.as_slice() {
        [only] => only.to_string(),
        several => format!("{} switches", several.len()),
    };
    let mut controller = p4runtime::Controller::new(targets, options).map_err(Failure::run)?;
    let northbound =
        northbound(matches, application, |address| controller.offer_northbound(address))?;
    let ready = format!("dialling {switches} (P4Runtime), {application}{northbound}");
    serve(matches, &ready, &controller.counters(), |stop| controller.run(stop))
}

/// Stands in for ONOS.
fn stand_in(matches: &ArgMatches, address: SocketAddr) -> Result<ExitCode, Failure> {
    refuse(matches, &OPENFLOW_ALONE, "OpenFlow")?;
    let usual = onos::Onos::options();
    let options = p4runtime::Options {
        service_time: service_time(matches).unwrap_or(usual.service_time),
        journal: journal(matches),
        ..usual
    };
    let onos = onos::Onos::bind(address, options).map_err(|error| {
        Failure::input(format!("cannot listen on {address}: {error}; choose another --onos"))
    })?;
    let ready = format!(
        "standing in for ONOS at http://{} (P4Runtime), reactive forwarding",
        onos.address()
    );
    serve(matches, &ready, &onos.counters(), |stop| onos.run(stop))
}

/// The time that each packet-in is to take, where it was given.
fn service_time(matches: &ArgMatches) -> Option<p4runtime::ServiceTime> {
    let time = matches.get_one::<Duration>("service-time")?;
    Some(p4runtime::ServiceTime::constant(*time))
}

/// Says that the controller is ready, runs it until it is interrupted, and says what it did.
fn serve(
    matches: &ArgMatches,
    ready: &str,
    counters: &Counters,
    run: impl FnOnce(&AtomicBool) -> std::io::Result<()>,
) -> Result<ExitCode, Failure> {
    ::probe::host::raise_file_limit();
    let stop = interrupt::flag();
    say(ready);
    let start = Instant::now();
    let outcome = std::thread::scope(|scope| {
        // Dropping `running` wakes the thread that reports.
        let (running, ended) = channel::<()>();
        let verbose = matches.get_flag("verbose");
        let reports = scope.spawn(move || {
            let mut last = counters.counts();
            while verbose && ended.recv_timeout(REPORT) == Err(RecvTimeoutError::Timeout) {
                let counts = counters.counts();
                if counts != last {
                    tell(&format!("{:.0?}: {counts}", start.elapsed()));
                    last = counts;
                }
            }
        });
        let outcome = run(&stop);
        drop(running);
        let _ = reports.join();
        outcome
    });
    outcome.map_err(Failure::run)?;
    say(&format!("ended after {:.1?}: {}", start.elapsed(), counters.counts()));
    Ok(ExitCode::SUCCESS)
}

/// Writes a line of --verbose.
fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Prints a line that scripts wait for. That nobody reads it is no reason to end.
fn say(line: &str) {
    let mut stdout = std::io::stdout();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

fn targets(matches: &ArgMatches) -> Result<Vec<Target>, Failure> {
    let mut targets: Vec<Target> =
        matches.get_many::<Target>("device").unwrap_or_default().cloned().collect();
    if let Some(file) = path(matches, "devices") {
        let bytes = read(file)?;
        let listed = Target::list(&String::from_utf8_lossy(&bytes))
            .map_err(|error| Failure::input(format!("{}: {error}", file.display())))?;
        targets.extend(listed);
    }
    if let Some(first_port) = matches.get_one::<u16>("first-port") {
        let host = text(matches, "host").unwrap_or("127.0.0.1");
        let (first_device, count) = (number(matches, "first-device"), number(matches, "count"));
        let range = Target::range(host, *first_port, first_device, count);
        targets.extend(range.map_err(Failure::input)?);
    }
    Ok(targets)
}

fn application(matches: &ArgMatches) -> Application {
    match text(matches, "application") {
        Some("reactive") => Application::ReactiveForwarding,
        Some("paths") => Application::Paths,
        Some("null") => Application::NullResponder,
        _ => Application::LearningSwitch,
    }
}

fn journal(matches: &ArgMatches) -> Journal {
    if matches.get_flag("verbose") { Journal::new(tell) } else { Journal::default() }
}

fn server_tls(matches: &ArgMatches) -> Result<Option<openflow::ServerTls>, Failure> {
    let identity = identity(matches)?;
    let client_authorities = path(matches, "tls-ca").map(read).transpose()?;
    match (identity, client_authorities) {
        (Some((certificate, key)), client_authorities) => {
            Ok(Some(openflow::ServerTls { certificate, key, client_authorities }))
        }
        (None, None) => Ok(None),
        (None, Some(_)) => Err(Failure::input(
            "--tls-ca asks switches for certificates, which takes TLS; \
             give --tls-certificate and --tls-key as well",
        )),
    }
}

fn client_tls(matches: &ArgMatches) -> Result<Option<p4runtime::ClientTls>, Failure> {
    let identity = identity(matches)?;
    match (path(matches, "tls-ca").map(read).transpose()?, identity) {
        (Some(authorities), identity) => Ok(Some(p4runtime::ClientTls {
            authorities,
            server_name: text(matches, "tls-server-name").map(str::to_owned),
            identity,
        })),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(Failure::input(
            "--tls-certificate is shown to switches over TLS; give --tls-ca as well",
        )),
    }
}

/// A file's text.
type Pem = Vec<u8>;

/// Certificate and key.
fn identity(matches: &ArgMatches) -> Result<Option<(Pem, Pem)>, Failure> {
    match (path(matches, "tls-certificate"), path(matches, "tls-key")) {
        (Some(certificate), Some(key)) => Ok(Some((read(certificate)?, read(key)?))),
        _ => Ok(None),
    }
}

/// Refuses flags that belong to the other protocol, since they would have no effect.
fn refuse(matches: &ArgMatches, names: &[&str], protocol: &str) -> Result<(), Failure> {
    match names.iter().find(|name| given(matches, name)) {
        Some(name) => Err(Failure::input(format!(
            "--{name} goes with {protocol}, which is not the protocol here; see --protocol"
        ))),
        None => Ok(()),
    }
}

fn text<'a>(matches: &'a ArgMatches, name: &str) -> Option<&'a str> {
    matches.get_one::<String>(name).map(String::as_str)
}

fn path<'a>(matches: &'a ArgMatches, name: &str) -> Option<&'a Path> {
    matches.get_one::<PathBuf>(name).map(PathBuf::as_path)
}

/// The value of an argument that has a default.
fn number<T: Copy + Default + Send + Sync + 'static>(matches: &ArgMatches, name: &str) -> T {
    matches.get_one(name).copied().unwrap_or_default()
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    input::read(file)
        .map_err(|error| Failure::input(format!("cannot read {}: {error}", file.display())))
}

#[cfg(test)]
mod tests;
