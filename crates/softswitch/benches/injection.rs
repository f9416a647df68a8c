//! The rates at which a switch answers packets that a client injects in one stream.
//!
//!     cargo bench -p softswitch --bench injection [-- --seconds N] [--trials N] [NAME...]
//!
//! A switch with one worker runs `programs/middleblock.p4` with the entries of
//! `examples/middleblock`, by which the packet is routed. The client, in a thread of the same
//! process, sends requests without waiting for answers, and counts the outcomes that come back. A
//! row is a number of packets per request and what is asked for, on both execution paths; names
//! select rows. Each figure is the median of the trials in outcomes per second, followed by the
//! lowest and the highest, and every outcome is checked: one packet out of port 2, and a trace if
//! one was requested. Nothing passes or fails here by its rate.

#[path = "../tests/running/support.rs"]
#[expect(dead_code, reason = "parts that only the tests use")]
mod support;

use futures_core::Stream;
use ir::Program;
use p4lang::preprocess::{DiskFiles, Options as Preprocessor};
use p4runtime::proto::switch::{
    Effects, InjectRequest, InjectResponse, InjectedPacket, Tracing, injected_packet::Ingress,
};
use p4runtime::proto::v1::{
    set_forwarding_pipeline_config_request::Action, write_request::Atomicity,
};
use softswitch::runtime_json::RuntimeJson;
use statistics::Spread;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use support::{Bench, Controller, DEVICE};
use tonic::Streaming;

/// The execution path of a switch that the benchmark does not configure.
const PATH: softswitch::Path = softswitch::Path::Interpreter;

/// A packet that the entries route, from port Ethernet0 to Ethernet4.
const PACKET: &str = "0200000000010200000000aa08004500002012340000401153970a0000010a01010103e807d0\
                      000c000001020304";

/// The number of packets that are sent before the clock starts.
const WARM: u64 = 2_000;

/// A row of the table.
struct Row {
    name: &'static str,
    /// The number of packets in a request.
    packets: usize,
    tracing: Option<Tracing>,
    effects: Effects,
}

/// Returns the rows of the table. A request has at most 256 packets with traces, and 16 with all
/// outcomes.
fn rows() -> [Row; 6] {
    let steps = Tracing::default();
    let outcomes = Tracing { all_outcomes: true, ..steps };
    let row = |name, packets, tracing, effects| Row { name, packets, tracing, effects };
    [
        row("single", 1, None, Effects::Lasting),
        row("batch", 256, None, Effects::Lasting),
        row("batch-without-effects", 256, None, Effects::None),
        row("traced", 16, Some(steps), Effects::Lasting),
        row("traced-without-effects", 16, Some(steps), Effects::None),
        row("all-outcomes", 16, Some(outcomes), Effects::Lasting),
    ]
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let number = |flag: &str, usual: u64| {
        let at = words.iter().position(|word| word == flag);
        at.and_then(|at| words.get(at + 1)?.parse().ok()).unwrap_or(usual)
    };
    let time = Duration::from_secs(number("--seconds", 2));
    let trials = number("--trials", 5);
    let names: Vec<&String> =
        words.iter().filter(|word| word.starts_with(|c: char| c.is_ascii_lowercase())).collect();
    println!("{trials} trials of {time:?}; outcomes per second in one stream");
    println!("{:<24} {:>8} {:>28} {:>28}", "", "packets", "interpreter", "compiled");
    let program = program();
    for row in rows() {
        if !names.is_empty() && !names.iter().any(|name| *name == row.name) {
            continue;
        }
        let mut rates: [Vec<f64>; 2] = Default::default();
        for _ in 0..trials {
            let paths = [softswitch::Path::Interpreter, softswitch::Path::Compiled];
            for (path, rates) in paths.into_iter().zip(&mut rates) {
                rates.push(rate(&program, path, &row, time).await);
            }
        }
        let [interpreted, compiled] =
            rates.map(|rates| Spread::of(&rates).expect("there are trials"));
        let (name, packets) = (row.name, row.packets);
        println!("{name:<24} {packets:>8} {interpreted:>28.0} {compiled:>28.0}");
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn program() -> Program {
    let path = root().join("programs/middleblock.p4");
    let compiled = p4lang::compile_file(&path, &Preprocessor::default(), &DiskFiles);
    compiled.expect("it is there").program.expect("it compiles")
}

/// Starts a switch with the entries of the example, and a controller of it.
async fn switch(program: &Program, path: softswitch::Path) -> (Bench, Controller) {
    let config = p4lang::device_config::to_pipeline_config(program).expect("it has a P4Info");
    let p4info = config.p4info.clone().expect("it has one");
    // The names of the entries' ports are those of the file beside them.
    let ports = vec![(b"Ethernet0"[..].into(), 1), (b"Ethernet4"[..].into(), 2)];
    let numbers = [("port_id_t".to_owned(), ports)].into();
    let options = softswitch::Options { numbers, ..support::options() };
    let bench = Bench::configured(2, options, |device| {
        device.path = path;
        device.takes_injections = true;
    });
    let bench = bench.expect("it starts");
    let mut controller = Controller::of(&bench.switch, 1).await;
    let pushed = controller.client.set_pipeline(Action::VerifyAndCommit, Some(config)).await;
    pushed.expect("the switch runs it");
    let entries = std::fs::read_to_string(root().join("examples/middleblock/entries.json"));
    let entries = RuntimeJson::parse(&entries.expect("it is there")).expect("it is right");
    let updates = entries.updates(&p4info).expect("they fit");
    let written = controller.client.write(updates, Atomicity::ContinueOnError).await;
    written.expect("the switch takes them");
    (bench, controller)
}

/// The requests of a stream, which are all the same, until the time is over.
struct Requests {
    request: InjectRequest,
    /// The number of requests before the clock starts.
    warm: u64,
    time: Duration,
    start: Option<Instant>,
}

impl Stream for Requests {
    type Item = InjectRequest;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.warm > 0 {
            self.warm -= 1;
            return Poll::Ready(Some(self.request.clone()));
        }
        let start = *self.start.get_or_insert_with(Instant::now);
        let is_over = start.elapsed() > self.time;
        Poll::Ready((!is_over).then(|| self.request.clone()))
    }
}

/// Returns the outcomes per second of one stream.
async fn rate(program: &Program, path: softswitch::Path, row: &Row, time: Duration) -> f64 {
    let (_bench, controller) = switch(program, path).await;
    let digits: Vec<u8> = PACKET
        .bytes()
        .map(|digit| char::from(digit).to_digit(16).expect("a digit") as u8)
        .collect();
    let payload: Vec<u8> = digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    let ingress = Some(Ingress::Port(1));
    let packet = InjectedPacket { tag: 7, payload: payload.into(), ingress };
    let request = InjectRequest {
        device_id: DEVICE,
        packets: vec![packet; row.packets],
        tracing: row.tracing,
        effects: row.effects.into(),
        ..InjectRequest::default()
    };
    let warm = WARM / row.packets as u64;
    let requests = Requests { request, warm, time, start: None };
    let stream = controller.client.switch_control().inject(requests).await;
    let mut responses: Streaming<InjectResponse> = stream.expect("a stream").into_inner();
    for _ in 0..warm {
        checked(&mut responses, row).await.expect("it is answered");
    }
    let start = Instant::now();
    let mut outcomes = 0;
    while let Some(count) = checked(&mut responses, row).await {
        outcomes += count;
    }
    outcomes as f64 / start.elapsed().as_secs_f64()
}

/// Waits for a response and checks it. Returns its number of outcomes, or `None` at the end.
async fn checked(responses: &mut Streaming<InjectResponse>, row: &Row) -> Option<usize> {
    let response = responses.message().await.expect("no error")?;
    assert_eq!(response.outcomes.len(), row.packets);
    for outcome in &response.outcomes {
        let ports: Vec<u32> = outcome.outputs.iter().map(|output| output.port).collect();
        assert_eq!((&outcome.error, ports.as_slice()), (&None, &[2][..]));
        assert_eq!(outcome.trace.is_some(), row.tracing.is_some());
    }
    Some(response.outcomes.len())
}
