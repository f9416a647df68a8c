//! Measures a program between ports. One worker receives bursts from a port, processes them, and
//! sends the outputs back to that port, whichever port the program chose. A generator on another
//! core sends packets and receives the outputs.
//!
//! The first measurement is the rate: the generator floods the worker. The rate is the number of
//! packets per second of the worker's processor time, without the time in which it found no
//! packets. That time is left out because the generator also checks outputs, and is slower than the
//! worker between fast ports.
//!
//! The second measurement is the latency at a fixed rate, which is a share of the throughput. If no
//! packet is lost, the n-th output belongs to the n-th packet. A worker that returns each packet
//! unchanged over the same ports shows the limit of the ports.

mod generator;
pub(crate) mod io;
mod worker;

use self::generator::{Ends, Flows, flood, open_loop};
pub use self::io::{Io, PortError};
use self::worker::{Served, Server};
use crate::check::Expected;
use crate::method::Variant;
use crate::run::{Case, Findings, Latency, Progress, Settings, Stage, pin, prepare, so_far};
use crate::times::Times;
use crate::traffic::Workload;
use crate::traffic::error::TrafficError;
use packetio::namespace::Namespace;
use packetio::pcap::{self, CaptureReader, CaptureWriter, LinkType};
use packetio::{Queue, af_packet, xdp};
use pipeline::Core;
use std::fs::File;
use std::io::BufWriter;
use std::time::Duration;
use tables::machine::thread_time;

/// The MTU of the virtual interfaces in bytes. Frames have 14 bytes more, for the Ethernet header.
const MTU: u32 = 1500;
/// The number of packets in the capture file that a worker processes.
const CAPTURED: usize = 1 << 16;

/// Measures the throughput and latency of a workload whose packets travel between ports. A worker
/// runs the program on one core, and a generator sends and receives packets on another.
///
/// # Errors
/// Returns a [`TrafficError`] if the ports are not available, the program cannot be loaded, or the
/// run is stopped before the first repetition.
pub fn run_on(
    io: Io,
    workload: &Workload,
    settings: &Settings,
    progress: &mut Progress<'_>,
) -> Result<Findings, TrafficError> {
    let expected =
        Expected::learn(workload, &mut |done, of| progress.step(Stage::Learning, done, of))?;
    let settings = &Settings { cores: vec![1], ..settings.clone() };
    let mut subjects = Vec::new();
    for (position, path) in settings.paths.iter().enumerate() {
        if !progress.step(Stage::Comparing, position, settings.paths.len()) {
            return Err(TrafficError::Interrupted);
        }
        subjects.extend(prepare(workload, Variant::AsWritten, *path, settings)?);
    }
    let mut findings = Findings { random_flows: expected.random(), ..Findings::new(io) };
    let longest = workload.packets().longest();
    if matches!(io, Io::Veth | Io::Xdp) && longest > MTU as usize + 14 {
        return Err(PortError::Missing("interfaces accept packets of at most 1,514 bytes").into());
    }
    let mut medium = Medium::open(io)?;
    'repetitions: for repetition in 0..settings.repetitions {
        for position in 0..subjects.len() {
            let done = repetition * subjects.len() + position;
            if !progress.step(Stage::Measuring, done, settings.repetitions * subjects.len()) {
                findings.interrupted = true;
                break 'repetitions;
            }
            let seed = settings.seed.wrapping_add(repetition as u64);
            if position == 0 {
                let bare =
                    medium.rate(workload, None, &Expected::unknown(), seed, settings.time)?;
                findings.copied.push(bare.rate);
            }
            let Some(subject) = subjects.get_mut(position) else { break };
            let Some(switch) = &subject.switch else { continue };
            let core: &Core = switch;
            let done = medium.rate(workload, Some(core), &expected, seed, settings.time)?;
            subject.case.rates.push(done.rate);
            subject.case.idle.push(done.idle);
            done.count(&mut subject.case);
            progress.measured(so_far(&findings, &subjects));
        }
    }
    'times: for repetition in 0..settings.repetitions {
        for position in 0..subjects.len() {
            let done = repetition * subjects.len() + position;
            let of = settings.repetitions * subjects.len();
            if findings.interrupted || !progress.step(Stage::Timing, done, of) {
                findings.interrupted = true;
                break 'times;
            }
            let Some(subject) = subjects.get_mut(position) else { break };
            let Some(switch) = &subject.switch else { continue };
            let seed = settings.seed.wrapping_add(repetition as u64);
            let settings = Settings { seed, ..settings.clone() };
            medium.time(workload, switch, &settings, &mut subject.case.latency)?;
        }
    }
    let timed = |latency: &Latency| !latency.times.is_empty();
    let cases = subjects.into_iter().map(|subject| subject.case);
    findings.cases =
        cases.map(|case| Case { latency: case.latency.filter(timed), ..case }).collect();
    Ok(findings)
}

/// The result of sending packets to a worker as fast as possible.
#[derive(Debug, Default)]
struct FloodResult {
    /// The worker's throughput in packets per second, counting only processor time in which it had
    /// packets.
    rate: f64,
    /// The share of the worker's processor time in which it found no packets.
    idle: f64,
    processed: u64,
    left: u64,
    errors: u64,
    checked: u64,
    wrong: u64,
}

impl FloodResult {
    fn count(&self, case: &mut Case) {
        let counts = &mut case.counts;
        counts.processed += self.processed;
        counts.left += self.left;
        counts.errors += self.errors;
        counts.checked += self.checked;
        counts.wrong += self.wrong;
    }

    fn check(&mut self, expected: &Expected, packet: &[u8]) {
        if let Some(holds) = expected.has(packet) {
            self.checked += 1;
            self.wrong += u64::from(!holds);
        }
    }
}

/// The connection between generator and worker: a pair of ports, or capture files in a directory.
enum Medium {
    Wire {
        generator: Box<dyn Queue>,
        worker: Box<dyn Queue>,
        /// The network namespace that contains both interfaces, or `None` if the ports are no
        /// network interfaces.
        namespace: Option<Namespace>,
    },
    Files(tempfile::TempDir),
}

impl Medium {
    fn open(io: Io) -> Result<Self, PortError> {
        let wired = |open: fn(&str) -> Opened| {
            let namespace = Namespace::new()?;
            namespace.link("generator", &namespace, "worker", MTU)?;
            let ports = namespace.run(|| Ok::<_, PortError>((open("generator")?, open("worker")?)));
            let (generator, worker) = ports??;
            Ok(Self::Wire { generator, worker, namespace: Some(namespace) })
        };
        match io {
            Io::Memory => Err(PortError::Missing("memory has no ports")),
            Io::Veth => wired(|name| only_queue(af_packet::open(name, 1)?)),
            Io::Xdp => wired(|name| only_queue(xdp::open(name, false, 1)?)),
            Io::Pcap => {
                let directory = tempfile::Builder::new().prefix("planimeter-bench-").tempdir()?;
                Ok(Self::Files(directory))
            }
            Io::Dpdk => shared_memory(),
        }
    }

    /// Measures the throughput of a worker while the generator sends as fast as it can. If `core`
    /// is `None`, the worker returns packets unchanged.
    fn rate(
        &mut self,
        workload: &Workload,
        core: Option<&Core>,
        expected: &Expected,
        seed: u64,
        time: Duration,
    ) -> Result<FloodResult, PortError> {
        let flows = Flows::new(workload, seed);
        let served = Served { port: workload.port(), core };
        match self {
            Self::Wire { generator, worker, namespace } => in_namespace(namespace.as_ref(), || {
                let ends = Ends { generator: generator.as_mut(), worker: worker.as_mut() };
                flood(ends, served, flows, expected, time)
            }),
            Self::Files(directory) => process_capture(directory, served, flows, expected),
        }
    }

    /// Adds one repetition to the latencies of a worker at a fixed rate, which the first repetition
    /// determines from the throughput. Does nothing for capture files, whose packets are all
    /// available from the beginning.
    fn time(
        &mut self,
        workload: &Workload,
        core: &Core,
        settings: &Settings,
        latency: &mut Option<Latency>,
    ) -> Result<(), PortError> {
        let Self::Wire { generator, worker, namespace } = self else { return Ok(()) };
        let offered = latency.as_ref().map(|known| known.offered);
        let flows = Flows::new(workload, settings.seed);
        let done = in_namespace(namespace.as_ref(), || {
            let ends = Ends { generator: generator.as_mut(), worker: worker.as_mut() };
            let served = Served { port: workload.port(), core: Some(core) };
            open_loop(ends, served, flows, offered, settings)
        })?;
        let Some((offered, times)) = done else { return Ok(()) };
        let nothing = || Latency { offered, times: Times::default(), lossy: 0, had_core: None };
        let latency = latency.get_or_insert_with(nothing);
        match times {
            Some(times) => latency.times.push(times),
            None => latency.lossy += 1,
        }
        Ok(())
    }
}

/// Runs `work` in the network namespace of the interfaces, because XDP sockets look up their
/// interface by name from time to time.
fn in_namespace<R: Send>(
    namespace: Option<&Namespace>,
    work: impl FnOnce() -> R + Send,
) -> Result<R, PortError> {
    match namespace {
        Some(namespace) => Ok(namespace.run(work)?),
        None => Ok(work()),
    }
}

/// A port opened as its only queue, or the reason why it cannot be opened.
type Opened = Result<Box<dyn Queue>, PortError>;

fn only_queue(mut port: packetio::Port) -> Opened {
    port.queues.pop().ok_or(PortError::Missing("a port without a queue"))
}

#[cfg(not(feature = "dpdk"))]
fn shared_memory() -> Result<Medium, PortError> {
    Err(PortError::Missing("this program was built without DPDK: build it with --features dpdk"))
}

/// Opens two DPDK devices that are connected by shared memory.
#[cfg(feature = "dpdk")]
fn shared_memory() -> Result<Medium, PortError> {
    let end = |number: u8, role: &str| {
        let socket = format!("planimeter-bench-{}", std::process::id());
        let device = format!("net_memif{number},role={role},id=0,socket={socket}");
        only_queue(packetio::dpdk::open(&device, 1)?)
    };
    let (mut generator, mut worker) = (end(0, "server")?, end(1, "client")?);
    // The two ends connect asynchronously.
    let start = std::time::Instant::now();
    while !(generator.reopen() && worker.reopen()) {
        if start.elapsed() > Duration::from_secs(5) {
            return Err(PortError::Missing(
                "the two DPDK ports of a line did not connect within 5 s",
            ));
        }
    }
    Ok(Medium::Wire { generator, worker, namespace: None })
}

/// Measures a worker that processes a capture file of packets, and checks the capture file of its
/// outputs.
fn process_capture(
    directory: &tempfile::TempDir,
    served: Served<'_>,
    mut flows: Flows<'_>,
    expected: &Expected,
) -> Result<FloodResult, PortError> {
    let [input, output] = ["in.pcap", "out.pcap"].map(|name| directory.path().join(name));
    let file = BufWriter::new(File::create(&input)?);
    let mut capture = CaptureWriter::new(file, LinkType::ETHERNET)?;
    for number in 0..CAPTURED as u64 {
        capture.write_frame(number * 1000, flows.next())?;
    }
    capture.finish()?.into_inner().map_err(|error| error.into_error())?;
    let files = pcap::Files { input: Some(input), output: Some(output.clone()), repeat: false };
    let mut found = FloodResult::default();
    let spent = std::thread::scope(|scope| {
        let found = &mut found;
        let worker = scope.spawn(move || -> Result<Duration, PortError> {
            pin(0);
            let mut queue = only_queue(pcap::open(&files, 1)?)?;
            let mut server = Server::new(served);
            let start = thread_time();
            loop {
                let (count, errors) = server.turn(queue.as_mut());
                found.processed += count as u64;
                found.errors += errors as u64;
                if count == 0 {
                    return Ok(thread_time().saturating_sub(start));
                }
            }
        });
        worker.join().map_err(|_| PortError::Missing("the worker did not end"))?
    })?;
    found.rate = found.processed as f64 / spent.as_secs_f64().max(1e-9);
    let mut left = CaptureReader::open(&output)?;
    while let Some(frame) = left.next_frame()? {
        found.left += 1;
        found.check(expected, frame.data);
    }
    Ok(found)
}
