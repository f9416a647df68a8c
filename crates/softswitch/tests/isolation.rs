//! Tests that pushes which crash the process in which pipelines are tried do not disturb the
//! packets that go through the switch.
//!
//! This test program is the switch, the controller and the traffic. Started with a special
//! argument, it is the process that tries a pipeline, and fails in the way that a comment of the P4
//! program asks for. The outcome does not depend on how this build handles panics.

#[path = "running/support.rs"]
#[expect(dead_code, reason = "parts that only the other tests use")]
mod support;

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use entities::schema::Schema;
use entities::{DataPlane, EntityError, Target};
use p4runtime::proto::v1::set_forwarding_pipeline_config_request::Action;
use packetio::{Burst, Port, Transmitted};
use pipeline::InterpreterTarget;
use softswitch::{Executable, Isolation, LoadLimits, Pushes, StartError};
use support::{Bench, Controller, Names, PROGRAM, TIMEOUT, options, pushed};

pub(crate) const PATH: softswitch::Path = softswitch::Path::Interpreter;

/// The argument that turns this program into the process that tries a pipeline.
const LOAD: &str = "--as-process-that-tries";

/// The maximum number of packets in flight.
const UNDER_WAY: u64 = 64;

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == LOAD) {
        return loader::serve(|settings| Box::new(Breaking(settings.target())));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    runtime.block_on(pushes_that_break_their_process_harm_nothing_else());
    runtime.block_on(a_switch_stops_at_once_while_a_pipeline_is_tried());
    a_switch_that_cannot_try_pipelines_does_not_start();
    ExitCode::SUCCESS
}

/// A target that fails in the way that the program asks for.
#[derive(Debug)]
struct Breaking(InterpreterTarget);

impl Target for Breaking {
    fn load(
        &self,
        schema: &Arc<Schema>,
        device_config: &[u8],
    ) -> Result<Box<dyn DataPlane>, EntityError> {
        let text = String::from_utf8_lossy(device_config);
        match text.rsplit_once("// fault: ").map(|(_, fault)| fault) {
            Some("panic") => panic!("told to panic"),
            Some("abort") => std::process::abort(),
            Some("overflow") => {
                let _ = ir::with_large_stack(|| overflow(0));
            }
            Some("allocate") => allocate(),
            Some("spin") => loop {
                black_box(());
            },
            Some("sleep") => std::thread::sleep(Duration::from_secs(3600)),
            _ => {}
        }
        self.0.load(schema, device_config)
    }
}

fn overflow(level: u64) -> u64 {
    let frame = black_box([level; 512]);
    frame[0] + if black_box(true) { overflow(level + 1) } else { 0 }
}

fn allocate() {
    let mut taken = Vec::new();
    loop {
        taken.push(black_box(vec![1_u8; 16 << 20]));
    }
}

fn pushes(time: Duration) -> Pushes {
    // The process must reach the limit on memory before that on time, on a slow machine too.
    let limits = LoadLimits { time, memory: 1 << 29, ..LoadLimits::default() };
    Pushes { limits, isolation: Isolation::Process(Executable::own([LOAD])) }
}

fn broken(fault: &str) -> p4runtime::proto::v1::ForwardingPipelineConfig {
    let config = pushed(PROGRAM);
    let source = format!("{PROGRAM}// fault: {fault}");
    p4runtime::proto::v1::ForwardingPipelineConfig { p4_device_config: source.into(), ..config }
}

async fn pushes_that_break_their_process_harm_nothing_else() {
    let options = softswitch::Options { pushes: pushes(Duration::from_secs(5)), ..options() };
    let mut bench = Bench::start(2, None, options);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    controller.insert([Names::new().entry(20, "forward", &[2])]).await;
    let traffic = Traffic::start(std::mem::take(&mut bench.lines));
    let cases = [
        ("panic", tonic::Code::Internal, "told to panic"),
        ("abort", tonic::Code::Internal, "SIGABRT"),
        ("overflow", tonic::Code::Internal, "overflowed its stack"),
        ("allocate", tonic::Code::ResourceExhausted, "--push-memory"),
        ("spin", tonic::Code::ResourceExhausted, "--push-seconds"),
        ("sleep", tonic::Code::ResourceExhausted, "--push-seconds"),
    ];
    for (fault, code, reason) in cases {
        let start = Instant::now();
        let outcome =
            controller.client.set_pipeline(Action::VerifyAndCommit, Some(broken(fault))).await;
        let status = outcome.expect_err(fault);
        assert_eq!(status.code(), code, "{fault}: {status}");
        assert!(status.message().contains(reason), "{fault}: {status}");
        // Without a limit, "spin" would never end and "sleep" after an hour.
        assert!(start.elapsed() < TIMEOUT / 2, "{fault}: {:?}", start.elapsed());
        // A write to the same pipeline still succeeds after the failed push.
        let config = controller.client.get_pipeline(Default::default()).await;
        config.expect("the old pipeline runs");
        println!("{fault}: {status} after {:?}", start.elapsed());
    }
    let sent = traffic.stop();
    let packets = bench.switch.state()[0].packets.clone();
    assert_eq!((packets.received, packets.without_output), (sent, 0), "{packets:?}");
    assert_eq!(bench.switch.state()[0].activity.pipelines, 1);
    // A later push succeeds as usual.
    controller.push(&format!("{PROGRAM}// no fault")).await;
    assert_eq!(bench.switch.state()[0].activity.pipelines, 2);
    println!("{sent} packets went through meanwhile, all of them");
}

async fn a_switch_stops_at_once_while_a_pipeline_is_tried() {
    let options = softswitch::Options { pushes: pushes(TIMEOUT), ..options() };
    let bench = Bench::start(2, None, options);
    let mut controller = Controller::of(&bench.switch, 1).await;
    let mut client = controller.client.clone();
    let pushing = tokio::spawn(async move {
        client.set_pipeline(Action::VerifyAndCommit, Some(broken("sleep"))).await
    });
    // A Commit without a saved pipeline is refused with NOT_FOUND, but only while no pipeline is
    // being loaded.
    loop {
        let second = controller.client.set_pipeline(Action::Commit, None).await;
        match second.expect_err("nothing is saved").code() {
            tonic::Code::NotFound => tokio::task::yield_now().await,
            code => {
                assert_eq!(code, tonic::Code::Unavailable);
                break;
            }
        }
    }
    let start = Instant::now();
    tokio::task::spawn_blocking(move || drop(bench)).await.expect("no panic");
    // A switch that waited for the pipeline would take as long as that may be tried.
    assert!(start.elapsed() < TIMEOUT / 2, "{:?}", start.elapsed());
    assert!(pushing.await.expect("no panic").is_err());
}

fn a_switch_that_cannot_try_pipelines_does_not_start() {
    let missing = Executable { program: "/nonexistent/planimeter".into(), arguments: Vec::new() };
    let tight = LoadLimits { memory: 1 << 20, ..LoadLimits::default() };
    let cases = [
        Pushes { isolation: Isolation::Process(missing), ..Pushes::default() },
        Pushes { limits: tight, ..pushes(TIMEOUT) },
        // `/bin/true` does not speak the protocol of such a process.
        Pushes {
            isolation: Isolation::Process(Executable {
                program: "/bin/true".into(),
                arguments: Vec::new(),
            }),
            ..Pushes::default()
        },
    ];
    for pushes in cases {
        let options = softswitch::Options { pushes, ..options() };
        let outcome = Bench::started(1, None, softswitch::Durability::default(), options);
        let error = outcome.expect_err("it cannot try a pipeline");
        assert!(matches!(error, StartError::Rehearsal(_)), "{error}");
        assert!(error.to_string().contains("--push-isolation thread"), "{error}");
    }
}

/// Counted packets from port 1 to port 2, sent by a separate thread.
struct Traffic {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Traffic {
    fn start(mut lines: Vec<Port>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        let thread = std::thread::spawn(move || exchange(&mut lines, &stopping));
        Self { stop, thread }
    }

    /// Returns the number of packets after all of them have left.
    fn stop(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("every packet left")
    }
}

fn exchange(lines: &mut [Port], stop: &AtomicBool) -> u64 {
    let (mut sent, mut received) = (0, 0);
    let mut burst = Burst::new(64);
    let mut last = Instant::now();
    while received < sent || !stop.load(Ordering::Relaxed) {
        assert!(last.elapsed() < TIMEOUT, "{received} of {sent} packets left");
        while sent - received < UNDER_WAY && !stop.load(Ordering::Relaxed) {
            assert_eq!(lines[0].queues[0].transmit(&[20, 1]), Transmitted::Taken);
            sent += 1;
        }
        lines[0].queues[0].flush();
        burst.clear();
        lines[1].queues[0].receive(&mut burst).expect("a line is never down");
        if !burst.frames().is_empty() {
            received += burst.frames().len() as u64;
            last = Instant::now();
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    sent
}
