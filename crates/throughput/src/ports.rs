//! A program between ports: one worker takes bursts from a port and sends what leaves back to it, whichever port the program
//! chose, while a generator on another core sends packets and takes in what comes back.
//!
//! Flooded, the generator sends as many as go; the rate is what the worker processes per second of its processor time, without
//! the time in which it found nothing: between fast ports the generator, which checks what comes back, has more to do than the
//! worker. Then packets become due at a fixed rate, a share of what came through; the n-th that
//! comes back is the n-th that was due, if none is lost. A worker that sends each packet back as it is, on the same ports,
//! says what the ports give at most.

pub(crate) mod io;

pub use self::io::{Io, PortError};
use crate::check::{Expected, NOW};
use crate::packets::Packets;
use crate::run::{Case, Findings, Latency, Progress, Settings, Stage, pin, prepare, so_far};
use crate::times::{self, Times};
use crate::traffic::Workload;
use crate::traffic::error::TrafficError;
use hdrhistogram::Histogram;
use packetio::namespace::Namespace;
use packetio::pcap::{self, CaptureReader, CaptureWriter, LinkType};
use packetio::{BURST, Burst, Queue, Transmitted, af_packet, xdp};
use pipeline::{Batch, Core, Processor};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::fs::File;
use std::io::BufWriter;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tables::machine::thread_time;

/// How long a packet may take that is not lost.
const DRAIN: Duration = Duration::from_millis(50);
/// How long a worker may take to get its first packet.
const PATIENCE: Duration = Duration::from_secs(5);
/// A look at a port that found nothing takes no longer. One that seems to was interrupted.
const LONGEST_LOOK: Duration = Duration::from_micros(20);
/// Of the interfaces, in bytes; frames have a header of 14 beside.
const MTU: u32 = 1500;
/// Packets that the generator hands over before it looks for some. Where XDP runs, Linux keeps 256 between the ends of a wire
/// (`VETH_RING_SIZE`): a generator that gives as many at once loses some there.
const SENT: usize = 64;
/// Packets of a capture.
const CAPTURED: usize = 1 << 16;

/// Measures a workload between ports, on one core beside the generator's.
///
/// # Errors
/// If there are no such ports, the program cannot be loaded, or the run is stopped before anything was measured.
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
        subjects.extend(prepare(workload, None, *path, settings)?);
    }
    let mut findings = Findings { random_flows: expected.random(), ..Findings::new(io) };
    let longest = workload.packets().longest();
    if matches!(io, Io::Veth | Io::Xdp) && longest > MTU as usize + 14 {
        return Err(PortError::Missing("interfaces take packets of at most 1,514 bytes").into());
    }
    let mut place = Place::open(io)?;
    'repetitions: for repetition in 0..settings.repetitions {
        for position in 0..subjects.len() {
            let done = repetition * subjects.len() + position;
            if !progress.step(Stage::Measuring, done, settings.repetitions * subjects.len()) {
                findings.interrupted = true;
                break 'repetitions;
            }
            let seed = settings.seed.wrapping_add(repetition as u64);
            if position == 0 {
                let bare = place.rate(workload, None, &Expected::nothing(), seed, settings.time)?;
                findings.copied.push(bare.rate);
            }
            let Some(subject) = subjects.get_mut(position) else { break };
            let Some(switch) = &subject.switch else { continue };
            let core: &Core = switch;
            let done = place.rate(workload, Some(core), &expected, seed, settings.time)?;
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
            place.time(workload, switch, &settings, &mut subject.case.latency)?;
        }
    }
    let timed = |latency: &Latency| !latency.times.is_empty();
    let cases = subjects.into_iter().map(|subject| subject.case);
    findings.cases =
        cases.map(|case| Case { latency: case.latency.filter(timed), ..case }).collect();
    Ok(findings)
}

/// What came through while more was sent than that.
#[derive(Debug, Default)]
struct Flooded {
    /// Packets that the worker processed per second of its processor time in which it had some.
    rate: f64,
    /// The share of its processor time in which it had none.
    idle: f64,
    processed: u64,
    left: u64,
    errors: u64,
    checked: u64,
    wrong: u64,
}

impl Flooded {
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

/// Where packets go between generator and worker.
enum Place {
    Wire {
        generator: Box<dyn Queue>,
        worker: Box<dyn Queue>,
        /// Where their interfaces are.
        namespace: Option<Namespace>,
    },
    Files(tempfile::TempDir),
}

impl Place {
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
            Io::Veth => wired(|name| first(af_packet::open(name, 1)?)),
            Io::Xdp => wired(|name| first(xdp::open(name, false, 1)?)),
            Io::Pcap => {
                let directory = tempfile::Builder::new().prefix("planimeter-bench-").tempdir()?;
                Ok(Self::Files(directory))
            }
            Io::Dpdk => shared_memory(),
        }
    }

    /// What a worker processes when it gets as much as there is; one without a program sends packets back as they are.
    fn rate(
        &mut self,
        workload: &Workload,
        core: Option<&Core>,
        expected: &Expected,
        seed: u64,
        time: Duration,
    ) -> Result<Flooded, PortError> {
        let flows = Flows::new(workload, seed);
        match self {
            Self::Wire { generator, worker, namespace } => inside(namespace.as_ref(), || {
                let ends: (&mut dyn Queue, &mut dyn Queue) = (generator.as_mut(), worker.as_mut());
                flooded(ends, (workload.port(), core), flows, expected, time)
            }),
            Self::Files(directory) => captured(directory, (workload.port(), core), flows, expected),
        }
    }

    /// A repetition of the open loop, at a rate that the first finds. Captures are there at once and have none.
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
        let done = inside(namespace.as_ref(), || {
            let ends: (&mut dyn Queue, &mut dyn Queue) = (generator.as_mut(), worker.as_mut());
            open_loop(ends, (workload.port(), core), flows, (offered, settings))
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

/// Does something where interfaces are: XDP sockets look at theirs now and then, by its name.
fn inside<R: Send>(
    namespace: Option<&Namespace>,
    work: impl FnOnce() -> R + Send,
) -> Result<R, PortError> {
    match namespace {
        Some(namespace) => Ok(namespace.run(work)?),
        None => Ok(work()),
    }
}

/// The only queue of a port.
type Opened = Result<Box<dyn Queue>, PortError>;

fn first(mut port: packetio::Port) -> Opened {
    port.queues.pop().ok_or(PortError::Missing("a port without a queue"))
}

#[cfg(not(feature = "dpdk"))]
fn shared_memory() -> Result<Place, PortError> {
    Err(PortError::Missing("this program was built without DPDK: build it with --features dpdk"))
}

/// Two of DPDK's devices with memory between them.
#[cfg(feature = "dpdk")]
fn shared_memory() -> Result<Place, PortError> {
    let end = |number: u8, role: &str| {
        let socket = format!("planimeter-bench-{}", std::process::id());
        let device = format!("net_memif{number},role={role},id=0,socket={socket}");
        first(packetio::dpdk::open(&device, 1)?)
    };
    let (mut generator, mut worker) = (end(0, "server")?, end(1, "client")?);
    // The ends have to find each other.
    let began = Instant::now();
    while !(generator.reopen() && worker.reopen()) {
        if began.elapsed() > Duration::from_secs(5) {
            return Err(PortError::Missing("DPDK's ends of a line did not find each other in 5 s"));
        }
    }
    Ok(Place::Wire { generator, worker, namespace: None })
}

/// Packets of random flows.
struct Flows<'w> {
    packets: &'w Packets,
    random: ChaCha8Rng,
}

impl<'w> Flows<'w> {
    fn new(workload: &'w Workload, seed: u64) -> Self {
        Self { packets: workload.packets(), random: ChaCha8Rng::seed_from_u64(seed) }
    }

    fn next(&mut self) -> &'w [u8] {
        let flow = self.random.random_range(0..self.packets.len());
        self.packets.get(flow).unwrap_or(&[])
    }
}

/// What the worker tells the generator.
#[derive(Default)]
struct Work {
    stop: AtomicBool,
    packets: AtomicU64,
    errors: AtomicU64,
    /// Processor time of the thread in which it had packets, in nanoseconds.
    busy: AtomicU64,
    /// And in which it had none.
    idle: AtomicU64,
}

impl Work {
    /// Packets, and the nanoseconds with and without some.
    fn seen(&self) -> [u64; 3] {
        [&self.packets, &self.busy, &self.idle].map(|value| value.load(Ordering::Relaxed))
    }
}

/// Stops the worker whatever becomes of the generator.
struct Stop<'w>(&'w Work);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }
}

/// One worker's memory and program.
struct Server<'c> {
    port: u32,
    core: Option<&'c Core>,
    processor: Processor,
    burst: Burst,
    batch: Batch,
}

impl<'c> Server<'c> {
    fn new((port, core): (u32, Option<&'c Core>)) -> Self {
        let (burst, batch) = (Burst::new(BURST), Batch::default());
        Self { port, core, processor: Processor::with_seed(0), burst, batch }
    }

    /// Takes a burst and sends on what leaves; how many came, and how many could not be processed.
    fn turn(&mut self, queue: &mut dyn Queue) -> (usize, usize) {
        self.burst.clear();
        let count = queue.receive(&mut self.burst).unwrap_or(0);
        let mut errors = 0;
        if let Some(core) = self.core {
            let frames = self.burst.frames().iter();
            let packets: Vec<(u32, &[u8])> =
                frames.map(|frame| (self.port, frame.bytes())).collect();
            self.processor.process_batch(core, &packets, NOW, &mut self.batch);
            for (_, _, packet) in self.batch.sent() {
                queue.transmit(packet);
            }
            errors = self.batch.errors().len();
            if count > 0 {
                self.processor.take_digests();
                core.answer_entry_changes();
            }
        } else {
            for frame in self.burst.frames() {
                queue.transmit(frame.bytes());
            }
        }
        queue.flush();
        (count, errors)
    }

    /// Until it is stopped.
    fn serve(&mut self, queue: &mut dyn Queue, work: &Work) {
        pin(0);
        let (began, mut looked, mut idle) = (thread_time(), Instant::now(), Duration::ZERO);
        while !work.stop.load(Ordering::Relaxed) {
            // The clock of a thread is a system call.
            for _ in 0..16 {
                let (count, errors) = self.turn(queue);
                let now = Instant::now();
                if count == 0 {
                    idle += now.duration_since(looked).min(LONGEST_LOOK);
                }
                looked = now;
                work.packets.fetch_add(count as u64, Ordering::Relaxed);
                work.errors.fetch_add(errors as u64, Ordering::Relaxed);
            }
            let busy = thread_time().saturating_sub(began).saturating_sub(idle);
            for (value, time) in [(&work.busy, busy), (&work.idle, idle)] {
                let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
                value.store(time, Ordering::Relaxed);
            }
        }
    }
}

/// Runs a worker on a core of its own while the generator does something on another. The worker has stopped when its work is
/// given back.
fn beside<R: Send>(
    worker: &mut dyn Queue,
    program: (u32, Option<&Core>),
    generate: impl FnOnce(&Work) -> R + Send,
) -> Option<(R, Work)> {
    let work = Work::default();
    let done = std::thread::scope(|scope| {
        let work = &work;
        scope.spawn(move || Server::new(program).serve(worker, work));
        // In a thread of its own, since it stays on its core.
        let generator = scope.spawn(move || {
            let _stop = Stop(work);
            pin(1);
            generate(work)
        });
        generator.join().ok()
    });
    Some((done?, work))
}

/// Takes what comes.
fn take(queue: &mut dyn Queue, burst: &mut Burst, mut packet: impl FnMut(&[u8])) -> usize {
    burst.clear();
    let count = queue.receive(burst).unwrap_or(0);
    burst.frames().iter().for_each(|frame| packet(frame.bytes()));
    count
}

/// Takes what still comes of before, which is nobody's. On a busy machine it may wait for this very core: it is left alone
/// between two looks.
fn settle(queue: &mut dyn Queue, burst: &mut Burst) {
    let mut last = Instant::now();
    while last.elapsed() < DRAIN {
        if take(queue, burst, |_| {}) > 0 {
            last = Instant::now();
        } else {
            std::thread::sleep(DRAIN / 50);
        }
    }
}

/// Takes what still comes: until nothing did for a while.
fn until_quiet(mut take: impl FnMut() -> usize) {
    let mut last = Instant::now();
    while last.elapsed() < DRAIN {
        if take() > 0 {
            last = Instant::now();
        }
    }
}

fn flooded(
    (generator, worker): (&mut dyn Queue, &mut dyn Queue),
    program: (u32, Option<&Core>),
    mut flows: Flows<'_>,
    expected: &Expected,
    time: Duration,
) -> Flooded {
    let found = beside(worker, program, |work| {
        let mut burst = Burst::new(BURST);
        let mut found = Flooded::default();
        // The worker joins the tables meanwhile.
        settle(generator, &mut burst);
        let (before, began) = (work.seen(), Instant::now());
        // A worker that had no core yet would have a rate of nothing, or an endless one.
        let idle = || {
            let [packets, busy, _] = work.seen();
            (packets == before[0] || busy == before[1]) && began.elapsed() < time + PATIENCE
        };
        while began.elapsed() < time || idle() {
            for _ in 0..SENT {
                if generator.transmit(flows.next()) != Transmitted::Taken {
                    break;
                }
            }
            generator.flush();
            found.left +=
                take(generator, &mut burst, |packet| found.check(expected, packet)) as u64;
        }
        let after = work.seen();
        until_quiet(|| {
            let count = take(generator, &mut burst, |packet| found.check(expected, packet));
            found.left += count as u64;
            count
        });
        let [packets, busy, idle] =
            [0, 1, 2].map(|value| after[value].saturating_sub(before[value]) as f64);
        found.rate = packets / (busy.max(1.0) / 1e9);
        found.idle = idle / (busy + idle).max(1.0);
        (found, before)
    });
    let Some(((mut found, before), work)) = found else { return Flooded::default() };
    found.processed = work.seen()[0].saturating_sub(before[0]);
    found.errors = work.errors.load(Ordering::Relaxed);
    found
}

/// The rate that was offered, and the times if no packet was lost. Where no rate is given, it is the share of what comes through
/// that the settings say.
fn open_loop(
    (generator, worker): (&mut dyn Queue, &mut dyn Queue),
    (port, core): (u32, &Core),
    mut flows: Flows<'_>,
    (offered, settings): (Option<f64>, &Settings),
) -> Option<(f64, Option<Histogram<u64>>)> {
    let time = settings.time;
    let done = beside(worker, (port, Some(core)), |_| {
        let mut burst = Burst::new(BURST);
        settle(generator, &mut burst);
        let offered = offered.unwrap_or_else(|| {
            // By the wall clock, generator and worker together.
            let through = paced(generator, &mut burst, &mut flows, (0.0, time)).rate;
            settle(generator, &mut burst);
            through * settings.load
        });
        (offered, at_rate(generator, &mut burst, &mut flows, (offered, time)))
    });
    done.map(|(done, _)| done)
}

/// What a generator did that keeps to a rate.
struct Paced {
    sent: u64,
    received: u64,
    /// Nothing was refused.
    all_taken: bool,
    /// What came back per second while it sent.
    rate: f64,
    /// From due to back.
    times: Histogram<u64>,
}

/// Sends packets, one each `gap` nanoseconds; with no gap, as many as this generator can, which looks at the clock for each.
fn paced(
    generator: &mut dyn Queue,
    burst: &mut Burst,
    flows: &mut Flows<'_>,
    (gap, time): (f64, Duration),
) -> Paced {
    let mut times = times::empty();
    let began = Instant::now();
    let (mut sent, mut received, mut all_taken) = (0_u64, 0_u64, true);
    let due = |number: u64| (number as f64 * gap) as u64;
    let now = || u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    // Those that come together came at one time.
    let mut take_back = |generator: &mut dyn Queue| {
        let count = take(generator, burst, |_| {});
        let at = now();
        for number in received..received + count as u64 {
            times.saturating_record(at.saturating_sub(due(number)).max(1));
        }
        received += count as u64;
        count
    };
    let mut in_time = 0;
    while began.elapsed() < time {
        let mut taken = 0;
        while taken < SENT && due(sent) <= now() {
            if generator.transmit(flows.next()) != Transmitted::Taken {
                all_taken = false;
                break;
            }
            (sent, taken) = (sent + 1, taken + 1);
        }
        if taken > 0 {
            generator.flush();
        }
        in_time += take_back(generator);
    }
    let rate = in_time as f64 / began.elapsed().as_secs_f64();
    until_quiet(|| take_back(generator));
    Paced { sent, received, all_taken, rate, times }
}

/// Nothing if a packet was lost.
fn at_rate(
    generator: &mut dyn Queue,
    burst: &mut Burst,
    flows: &mut Flows<'_>,
    (offered, time): (f64, Duration),
) -> Option<Histogram<u64>> {
    let done = paced(generator, burst, flows, (1e9 / offered.max(1.0), time));
    (done.all_taken && done.received == done.sent && done.sent > 0).then_some(done.times)
}

/// A capture with packets goes through the worker, and what left is read again.
fn captured(
    directory: &tempfile::TempDir,
    program: (u32, Option<&Core>),
    mut flows: Flows<'_>,
    expected: &Expected,
) -> Result<Flooded, PortError> {
    let [input, output] = ["in.pcap", "out.pcap"].map(|name| directory.path().join(name));
    let file = BufWriter::new(File::create(&input)?);
    let mut capture = CaptureWriter::new(file, LinkType::ETHERNET)?;
    for number in 0..CAPTURED as u64 {
        capture.write_frame(number * 1000, flows.next())?;
    }
    capture.finish()?.into_inner().map_err(|error| error.into_error())?;
    let files = pcap::Files { input: Some(input), output: Some(output.clone()), repeat: false };
    let mut found = Flooded::default();
    let spent = std::thread::scope(|scope| {
        let found = &mut found;
        let worker = scope.spawn(move || -> Result<Duration, PortError> {
            pin(0);
            let mut queue = first(pcap::open(&files, 1)?)?;
            let mut server = Server::new(program);
            let began = thread_time();
            loop {
                let (count, errors) = server.turn(queue.as_mut());
                found.processed += count as u64;
                found.errors += errors as u64;
                if count == 0 {
                    return Ok(thread_time().saturating_sub(began));
                }
            }
        });
        worker.join().map_err(|_| PortError::Missing("the worker did not come to its end"))?
    })?;
    found.rate = found.processed as f64 / spent.as_secs_f64().max(1e-9);
    let mut left = CaptureReader::open(&output)?;
    while let Some(frame) = left.next_frame()? {
        found.left += 1;
        found.check(expected, frame.data);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use packetio::memory;

    /// Whatever a worker finds it sends back; the time in which it finds nothing is told apart, and is all that it has here.
    #[test]
    fn a_worker_tells_when_it_had_nothing() {
        let [generator, worker] = memory::line("line", 64).map(first);
        let (mut generator, mut worker) = (generator.expect("a queue"), worker.expect("a queue"));
        let back = beside(worker.as_mut(), (1, None), |work| {
            let mut burst = Burst::new(BURST);
            assert_eq!(generator.transmit(&[7; 60]), Transmitted::Taken);
            generator.flush();
            let mut back = Vec::new();
            let begin = Instant::now();
            // Until the worker has looked at its clock and had its time of nothing.
            while back.is_empty() || work.seen()[2] < 1_000_000 {
                assert!(begin.elapsed() < PATIENCE, "{:?}", work.seen());
                take(generator.as_mut(), &mut burst, |packet| back.push(packet.to_vec()));
            }
            back
        });
        let (back, work) = back.expect("the generator comes to its end");
        let [packets, busy, idle] = work.seen();
        assert_eq!((back, packets), (vec![vec![7; 60]], 1));
        assert!(idle > busy, "{idle} ns with nothing, {busy} ns with packets");
    }
}
