//! Measures the delays of a device from this machine.
//!
//! This module does everything that touches the operating system: it pins threads to cores, opens
//! network interfaces, measures the error of the clock, and starts or connects to the device. The
//! result is a [`Bench`], through which [`conduct`](super::conduct()) measures all cells of a
//! campaign.

mod contention;
mod machine;
mod manual;
mod memory;
mod network;
mod open_vswitch;
mod openflow_switch;
mod p4runtime_switch;
mod programs;
mod software_switch;
mod wire;
mod yardstick;

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::{Instant, SystemTime};

use pipeline::Switch;
use rand::RngExt;

use super::conduct::{Bench, BenchError, ConductError, Ending, Watch, conduct, stability};
use super::plan::{DeviceKind, Plan, ProgramPath};
use crate::Campaign;
use crate::campaign::{
    Clock, ClockReference, ClockSource, Description, Device, Note, Origin, Picoseconds, ReadError,
    SCHEMA, WriteError, Writer,
};
use manual::Manual;
use memory::MemoryBench;
pub use memory::{Repeat, TimedPacket};
use network::Wires;
use open_vswitch::OpenVSwitch;
use openflow_switch::{OpenFlowSwitch, listen};
use p4runtime_switch::P4RuntimeSwitch;
use software_switch::SoftwareSwitch;
pub use software_switch::SwitchProcess;
use wire::{Path as WirePath, WireBench};

/// The parameters of [`measure`].
#[derive(Debug, Clone, Copy)]
pub struct Job<'j> {
    /// The plan of the measurements.
    pub plan: &'j Plan,
    /// The directory for the results of the campaign, which must exist.
    pub directory: &'j Path,
    /// Whether the directory contains an interrupted campaign that is to be completed.
    pub resume: bool,
    /// The path of the `planimeter` executable, whose command `switch` runs the software switch.
    pub program: &'j Path,
}

/// The results of [`measure`].
#[derive(Debug)]
pub struct Measured {
    /// All results of the campaign, including those of earlier, interrupted runs.
    pub campaign: Campaign,
    /// Whether the campaign is complete, or the observer ([`Watch`]) stopped it.
    pub ending: Ending,
    /// Remarks on how steady the machine was during the campaign, as sentences.
    pub stability: Vec<String>,
}

/// The reason why a campaign was not measured completely. Finished measurements are kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// The device, its wires or its packets cannot be set up.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// The measurement failed, or a result could not be written.
    #[error("{source}; what was measured until then is kept, and --resume goes on from there")]
    Conduct {
        /// The error that ended the measurement.
        source: ConductError,
    },
    /// The files of the campaign cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The campaign that is to be resumed cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The campaign that is to be resumed was made with a different plan.
    #[error("the plan differs from that of the campaign in {}: {what}", directory.display())]
    OtherPlan {
        /// The directory of the campaign that is to be resumed.
        directory: std::path::PathBuf,
        /// The difference between the plans, in words.
        what: String,
    },
    /// The measuring thread panicked.
    #[error("the measuring thread failed")]
    Thread,
}

/// Measures a campaign on this machine, or completes an interrupted one.
///
/// # Errors
/// Returns a [`MeasureError`] if the bench cannot be set up or fails, or if files cannot be read or
/// written.
pub fn measure(job: &Job<'_>, watch: &mut (dyn Watch + Send)) -> Result<Measured, MeasureError> {
    // The measuring thread enters a network namespace and is pinned to a core. A thread of its own
    // keeps both from the caller's thread.
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("measure".to_owned()).stack_size(8 << 20);
        let spawned = thread.spawn_scoped(scope, || on_thread(job, watch));
        let spawned = spawned.map_err(|source| BenchError::System {
            what: "starting a thread".to_owned(),
            source,
        })?;
        spawned.join().unwrap_or(Err(MeasureError::Thread))
    })
}

/// Times a packet that passes a switch in memory again and again, as a campaign with the device
/// `memory` times its packets. `prepare` returns the switch.
///
/// # Errors
/// Returns a [`MeasureError`] if the switch cannot be prepared or refuses the packet, or if the
/// processor has no suitable clock.
pub fn time_packet(
    prepare: &(dyn Fn() -> Result<Switch, String> + Sync),
    repeat: &Repeat<'_>,
) -> Result<Vec<TimedPacket>, MeasureError> {
    let work = || -> Result<Vec<TimedPacket>, MeasureError> {
        let [generator, _] = machine::cores(None)?;
        machine::stay_on(generator)?;
        let bench = MemoryBench::new(ProgramPath::Interpreter, [0, 1], 0)?;
        let mut switch = prepare().map_err(|problem| BenchError::Device {
            device: "pipeline in memory".to_owned(),
            problem,
        })?;
        bench.repeated(&mut switch, repeat).map_err(MeasureError::from)
    };
    // The thread is pinned to a core, which the caller's thread must not be.
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("measure".to_owned()).stack_size(8 << 20);
        let spawned = thread.spawn_scoped(scope, work);
        let spawned = spawned.map_err(|source| BenchError::System {
            what: "starting a thread".to_owned(),
            source,
        })?;
        spawned.join().unwrap_or(Err(MeasureError::Thread))
    })
}

/// Measures a campaign on the calling thread. Afterwards, the thread is pinned to a core and may be
/// in another network namespace.
fn on_thread(job: &Job<'_>, watch: &mut dyn Watch) -> Result<Measured, MeasureError> {
    let Job { plan, directory, .. } = *job;
    let mut host = machine::facts();
    let awake = plan.wire.keep_awake.then(machine::Awake::keep).transpose();
    let awake_said = match &awake {
        Ok(Some(_)) => "yes".to_owned(),
        Ok(None) => "no".to_owned(),
        Err(problem) => format!("no: {problem}"),
    };
    host.insert("idle cores kept awake".to_owned(), awake_said);
    let mut ready = prepare(job)?;
    host.append(&mut ready.host);
    let drawn = rand::rng().random_range(0..1 << 32);
    let description = Description {
        schema: SCHEMA.to_owned(),
        created: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        origin: Origin::Measured,
        device: Device {
            name: plan.name.clone(),
            driver: plan.device.driver().to_owned(),
            details: ready.details,
        },
        baseline: plan.baseline(),
        functions: plan.functions(),
        cells: plan.campaign_cells(),
        line_rate: ready.line_rate,
        clock: ready.clock,
        seed: plan.seed.unwrap_or(drawn),
        host,
    };
    let (mut writer, before) = if job.resume {
        let (writer, before) = Writer::resume(directory)??;
        check_resumable(&before.description, &description, plan.seed.is_some()).map_err(
            |what| MeasureError::OtherPlan {
                directory: directory.to_owned(),
                what: what.to_owned(),
            },
        )?;
        (writer, before)
    } else {
        let writer = Writer::create(directory, &description)?;
        let (blocks, rates, notes) = (Vec::new(), Vec::new(), Vec::new());
        (writer, Campaign { description, blocks, rates, notes })
    };
    let seed = before.description.seed;
    let behind = before
        .blocks
        .iter()
        .map(|measured| measured.block.started_ns.saturating_add(measured.block.duration_ns));
    let earlier = behind.chain(before.notes.iter().map(|note| note.at_ns)).max().unwrap_or(0);
    let begin = Instant::now();
    let mut now =
        || earlier.saturating_add(u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX));
    if job.resume {
        writer.note(&Note { at_ns: now(), text: "resumed".to_owned() })?;
    }
    let ending = conduct(plan, seed, &before, &mut writer, ready.bench.as_mut(), &mut now, watch);
    let ending = ending.map_err(|source| MeasureError::Conduct { source })?;
    let mut campaign = Campaign::read(directory)?;
    let remarks = stability(&campaign);
    if ending == Ending::Complete {
        for text in &remarks {
            writer.note(&Note { at_ns: now(), text: text.clone() })?;
        }
        campaign = Campaign::read(directory)?;
    }
    writer.sync()?;
    Ok(Measured { campaign, ending, stability: remarks })
}

/// Checks that an interrupted campaign can be resumed with the present plan. The error states, in
/// words, what differs between the two plans.
fn check_resumable(
    before: &Description,
    now: &Description,
    seeded: bool,
) -> Result<(), &'static str> {
    if before.device.driver != now.device.driver || before.device.name != now.device.name {
        return Err("another device");
    }
    if before.cells != now.cells {
        return Err("other cells");
    }
    if before.clock.source != now.clock.source {
        return Err("another clock");
    }
    if seeded && before.seed != now.seed {
        return Err("another seed");
    }
    Ok(())
}

/// A bench that is ready to measure, and the facts about the device and the machine that are stored
/// with the results.
struct Ready {
    /// The bench, which must be dropped before the network namespace of its sockets, so it is
    /// declared before `_namespace`.
    bench: Box<dyn Bench>,
    clock: Clock,
    line_rate: Option<u64>,
    details: BTreeMap<String, String>,
    host: BTreeMap<String, String>,
    _namespace: Option<packetio::namespace::Namespace>,
}

/// Sets up the bench for a campaign. The order of the steps matters. Processes that the calling
/// thread starts run on the core to which the thread is pinned, and the error of the clock must be
/// measured before a local switch is started.
fn prepare(job: &Job<'_>) -> Result<Ready, BenchError> {
    let plan = job.plan;
    let secret: u64 = rand::rng().random();
    let [generator, device] = machine::cores(plan.wire.cores)?;
    let mut host = BTreeMap::new();
    host.insert("core of the generator".to_owned(), generator.to_string());
    if let DeviceKind::Memory { path } = plan.device {
        machine::stay_on(generator)?;
        return prepare_in_memory(path, plan, secret, host);
    }
    let mut details = BTreeMap::new();
    let (wires, namespace) = match &plan.wire.interfaces {
        Some(generator) => {
            (Wires { generator: generator.clone(), device: [const { String::new() }; 2] }, None)
        }
        None => {
            let (wires, namespace) = Wires::create()?;
            (wires, Some(namespace))
        }
    };
    let [send, receive] = &wires.generator;
    let open = |send: &str, receive: &str| {
        WirePath::open(send, receive, plan.wire.timestamps, plan.wait, secret)
    };
    // A process inherits the core of the thread that starts it. This thread therefore moves to the
    // core that is reserved for the device before it starts the device.
    machine::stay_on(device)?;
    if namespace.is_some() {
        host.insert("core of the device".to_owned(), device.to_string());
    }
    let started = connect(plan)?;
    // The delays of a path without a device show the error of the clock. If the device will run on
    // this machine, the path is its first virtual wire, before the device starts. Otherwise it is
    // the loopback interface.
    machine::stay_on(generator)?;
    let (reference, tick, fastest) = {
        let (what, mut path) = match &namespace {
            Some(_) => {
                let far = wires.device.first().map_or("", String::as_str);
                ("a pair of virtual interfaces without a device", open(send, far)?)
            }
            None => (
                "the loop-back interface",
                WirePath::open("lo", "lo", super::plan::Timestamps::Kernel, plan.wait, secret)?,
            ),
        };
        let (reference, tick) = path.reference(what)?;
        let fastest = match &namespace {
            Some(_) => Some(path.fastest()?),
            None => None,
        };
        (reference, tick, fastest)
    };
    machine::stay_on(device)?;
    let device_core = device;
    let device: Box<dyn wire::Device> = match started {
        Started::Device(device) => device,
        Started::SoftwareSwitchLater(path) => {
            details.insert("path".to_owned(), path.name().to_owned());
            Box::new(SoftwareSwitch::start(job.program, path, &wires.device, plan.ports)?)
        }
        Started::OpenVSwitchLater(version) => {
            let switch = OpenVSwitch::start(&wires.device, version, plan.ports)?;
            details.insert("version".to_owned(), switch.version.clone());
            details.insert("settings".to_owned(), OpenVSwitch::settings());
            details.insert("openflow".to_owned(), version.to_string());
            Box::new(switch)
        }
    };
    machine::stay_on(generator)?;
    let path = open(send, receive)?;
    let source = match path.clock() {
        Some(source) => source,
        None if plan.wire.timestamps == super::plan::Timestamps::Hardware => ClockSource::Hardware,
        None => ClockSource::Kernel,
    };
    let line_rate = plan.wire.line_rate.or_else(|| line_rate(fastest, plan, &mut host));
    let clock = Clock { source, tick: tick.max(Picoseconds(1000)), reference: Some(reference) };
    let cores = namespace.is_some().then_some([generator, device_core]);
    let bench = Box::new(WireBench::new(path, device, plan.ports, cores)?);
    Ok(Ready { bench, clock, line_rate, details, host, _namespace: namespace })
}

/// Sets up the bench that calls the pipeline library in memory. It needs neither wires nor a
/// device.
fn prepare_in_memory(
    path: ProgramPath,
    plan: &Plan,
    secret: u64,
    mut host: BTreeMap<String, String>,
) -> Result<Ready, BenchError> {
    let bench = MemoryBench::new(path, plan.ports, secret)?;
    let marks = if bench.marks_interrupts() { "yes" } else { "marks not available" };
    host.insert("interrupts marked".to_owned(), marks.to_owned());
    let (reference, tick) = bench.reference();
    let details = BTreeMap::from([
        ("path".to_owned(), path.name().to_owned()),
        ("cycles per second".to_owned(), format!("{:.0}", bench.frequency())),
    ]);
    let source = ClockSource::CycleCounter;
    let clock = Clock { source, tick, reference: Some(reference) };
    let bench = Box::new(bench);
    Ok(Ready { bench, clock, line_rate: None, details, host, _namespace: None })
}

/// A device of a campaign: it runs already, or the campaign starts it after the error of the clock
/// has been measured on its virtual wire.
enum Started {
    Device(Box<dyn wire::Device>),
    SoftwareSwitchLater(ProgramPath),
    OpenVSwitchLater(openflow::Version),
}

/// Connects to the device of a plan if it is already running. For a switch that this process must
/// start, returns [`Started::SoftwareSwitchLater`] or [`Started::OpenVSwitchLater`].
fn connect(plan: &Plan) -> Result<Started, BenchError> {
    Ok(match &plan.device {
        DeviceKind::OpenVSwitch { version } => Started::OpenVSwitchLater(*version),
        DeviceKind::SoftwareSwitch { path } => Started::SoftwareSwitchLater(*path),
        DeviceKind::OpenFlow { version, listen: address } => {
            let session = OpenFlowSwitch::accept(&listen(*address)?, *version, plan.ports)?;
            Started::Device(Box::new(session))
        }
        DeviceKind::P4Runtime { address, device_id } => {
            let session = P4RuntimeSwitch::connect(address, *device_id, plan.ports)?;
            Started::Device(Box::new(session))
        }
        DeviceKind::Manual | DeviceKind::Memory { .. } => {
            Started::Device(Box::new(Manual { ports: plan.ports }))
        }
    })
}

/// Returns the line rate R_max in bit/s for a plan that does not state it. For a virtual wire, it
/// is the highest rate at which the generator can send (`fastest`, in packets per second). For a
/// network card, it is the speed that its driver reports.
fn line_rate(
    fastest: Option<f64>,
    plan: &Plan,
    host: &mut BTreeMap<String, String>,
) -> Option<u64> {
    if let Some(packets) = fastest {
        host.insert(
            "line rate".to_owned(),
            format!("{packets:.0} packets/s of 64 B, the most that the generator put on the virtual wire"),
        );
        return Some((packets * 64.0 * 8.0) as u64);
    }
    let [send, _] = plan.wire.interfaces.as_ref()?;
    let speed = std::fs::read_to_string(format!("/sys/class/net/{send}/speed")).ok()?;
    let megabits: u64 = speed.trim().parse().ok()?;
    Some(megabits * 1_000_000)
}

/// Returns a description of a campaign's clock in one line, with the delays that were measured by
/// this clock without a device.
#[must_use]
pub fn clock_line(clock: &Clock) -> String {
    let source = clock.source;
    let reference = clock.reference.as_ref().map(|reference| {
        let ClockReference { path, samples, minimum, median, percentile_99, maximum } = reference;
        format!(
            "; over {path}: minimum {minimum}, median {median}, 99th percentile {percentile_99}, maximum {maximum} \
             ({samples} packets)"
        )
    });
    format!("{source}, resolution {}{}", clock.tick, reference.unwrap_or_default())
}
