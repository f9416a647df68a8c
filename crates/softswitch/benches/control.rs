//! The rates at which a switch accepts writes, answers reads, and exchanges packets with its
//! controller, while it forwards.
//!
//!     cargo bench -p softswitch --bench control [-- ENTRIES] [state]
//!
//! A switch with one worker, its control plane and a controller share the machine. Packets go
//! through the switch at a fixed low rate throughout, and lost packets are reported. Each figure is
//! the median of the trials, followed by the lowest and the highest. Reads are also reported by the
//! processor time of the switch alone, because the controller, which decodes every entry on another
//! core, may be the bottleneck. With `state`, the switch keeps what controllers write in a file
//! beside the build, as `planimeter switch --state` does. The benchmark only reports; no figure
//! makes it fail.

#[path = "../tests/running/support.rs"]
#[expect(dead_code, reason = "parts that only the tests use")]
mod support;
#[path = "support/threads.rs"]
mod threads;

use p4runtime::proto::v1::{self, entity::Entity as Kind, stream_message_response::Update};
use p4runtime::proto::v1::{update::Type, write_request::Atomicity};
use packetio::{Burst, Port, Transmitted};
use statistics::Spread;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use support::{Bench, Controller, Names, PROGRAM};

/// The execution path of the switch.
const PATH: softswitch::Path = softswitch::Path::Interpreter;
const TRIALS: usize = 5;
/// The rate of packets that are forwarded during the measurements, per second.
const BACKGROUND: f64 = 5_000.0;
const PACKETS: usize = 200_000;
/// The number of concurrent Writes in the measurement without batches.
const AT_ONCE: usize = 16;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let entries = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(1_000_000);
    let is_kept = std::env::args().any(|word| word == "state");
    let kept = if is_kept { "; what is written is kept in a file" } else { "" };
    println!("{TRIALS} trials; median, and lowest to highest{kept}");
    let mut batched = Vec::new();
    let mut single = Vec::new();
    let mut read = Vec::new();
    let mut served = Vec::new();
    let mut memory = Vec::new();
    let mut packet_ins = Vec::new();
    let mut packet_outs = Vec::new();
    for _ in 0..TRIALS {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let state = is_kept.then(|| directory.path().join("state"));
        let mut bench = Bench::start(2, state, support::options());
        let source = PROGRAM.replace("header h_t { bit<8> to;", "header h_t { bit<32> to;");
        let mut controller = Controller::with(&bench.switch, &source).await;
        let names = Names::new();
        controller.insert([entry(&names, u32::MAX, Type::Insert).1]).await;
        let background = Background::begin(&mut bench.lines);
        batched.push(inserted_in_batches(&mut controller, &names, entries).await);
        let (before, busy) = (resident(), threads::ran("p4runtime"));
        read.push(read_all(&mut controller, &names, entries).await);
        served.push(
            f64::from(entries) / threads::ran("p4runtime").saturating_sub(busy).as_secs_f64(),
        );
        memory.push(resident().saturating_sub(before) as f64);
        single.push(written_singly(&controller, &names, entries).await);
        let lost = background.end(&mut bench.lines);
        println!("  of the packets beside it {lost} were lost");
        packet_ins.push(packets_in(&mut bench, &mut controller).await);
        packet_outs.push(packets_out(&mut bench, &controller).await);
    }
    row("entries inserted per second, batches of 1000", &batched);
    row(&format!("entries modified per second, one each, {AT_ONCE} at once"), &single);
    row(&format!("entries read per second, of {entries}"), &read);
    row("entries read per second of the switch's processor time", &served);
    row("megabytes that the read took, both ends", &memory);
    row("packet-ins per second, as they come", &packet_ins);
    row("packet-outs per second, as they come", &packet_outs);
}

fn row(name: &str, trials: &[f64]) {
    let spread = Spread::of(trials).expect("trials");
    println!("{name:<56} {spread:>24.0}");
}

fn entry(names: &Names, to: u32, kind: Type) -> (Type, Kind) {
    let Kind::TableEntry(mut entry) = names.entry(0, "forward", &[2]) else { unreachable!() };
    let bytes = to.to_be_bytes();
    let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(3);
    let exact = v1::field_match::Exact { value: bytes[first..].to_vec().into() };
    entry.r#match[0].field_match_type = Some(v1::field_match::FieldMatchType::Exact(exact));
    (kind, Kind::TableEntry(entry))
}

fn update((kind, entity): (Type, Kind)) -> v1::Update {
    v1::Update { r#type: kind as i32, entity: Some(v1::Entity { entity: Some(entity) }) }
}

async fn inserted_in_batches(controller: &mut Controller, names: &Names, entries: u32) -> f64 {
    let numbers: Vec<u32> = (0..entries).collect();
    let mut spent = Duration::ZERO;
    for chunk in numbers.chunks(1_000) {
        let updates = chunk.iter().map(|to| update(entry(names, *to, Type::Insert))).collect();
        // Building the messages is the controller's work and is not timed.
        let start = Instant::now();
        let written = controller.client.write(updates, Atomicity::ContinueOnError).await;
        written.expect("all of it is right");
        spent += start.elapsed();
    }
    f64::from(entries) / spent.as_secs_f64()
}

async fn written_singly(controller: &Controller, names: &Names, entries: u32) -> f64 {
    let each = 20_000 / AT_ONCE;
    let start = Instant::now();
    let writers: Vec<_> = (0..AT_ONCE)
        .map(|writer| {
            let mut client = controller.client.clone();
            let updates: Vec<_> = (0..each)
                .map(|number| {
                    let to = (writer * each + number) as u32 % entries;
                    update(entry(names, to, Type::Modify))
                })
                .collect();
            tokio::spawn(async move {
                for update in updates {
                    let written = client.write(vec![update], Atomicity::ContinueOnError).await;
                    written.expect("it is right");
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("it does not panic");
    }
    (AT_ONCE * each) as f64 / start.elapsed().as_secs_f64()
}

async fn read_all(controller: &mut Controller, names: &Names, entries: u32) -> f64 {
    let wanted = v1::TableEntry { table_id: names.table(), ..Default::default() };
    let start = Instant::now();
    let wanted = v1::Entity { entity: Some(Kind::TableEntry(wanted)) };
    let mut answer = controller.client.read_stream(vec![wanted]).await.expect("it answers");
    let mut found = 0;
    while let Some(response) = answer.message().await.expect("it goes on") {
        found += response.entities.len();
    }
    assert_eq!(found, entries as usize + 1, "all of them");
    found as f64 / start.elapsed().as_secs_f64()
}

async fn packets_in(bench: &mut Bench, controller: &mut Controller) -> f64 {
    // No entry has this address, so the packet becomes a packet-in.
    let packet = [0xfe, 0, 0, 0, 1, 0];
    let start = Instant::now();
    let mut sent = 0;
    let mut received = 0;
    while received < PACKETS {
        // The bound keeps the controller's queue from overflowing.
        while sent < PACKETS && sent - received < 20_000 {
            bench.send(1, &packet);
            sent += 1;
        }
        let mut messages = Vec::new();
        controller.receiver.next_batch(&mut messages, 4_096).await.expect("the stream goes on");
        received += messages.iter().filter(|one| matches!(one, Update::Packet(_))).count();
    }
    PACKETS as f64 / start.elapsed().as_secs_f64()
}

async fn packets_out(bench: &mut Bench, controller: &Controller) -> f64 {
    let out = |number: u32| v1::PacketOut {
        payload: [&number.to_be_bytes()[..], &[7]].concat().into(),
        metadata: vec![v1::PacketMetadata { metadata_id: 1, value: vec![2].into() }],
    };
    let packets: Vec<_> = (0..1_000).map(out).collect();
    let mut burst = Burst::new(1_024);
    let start = Instant::now();
    let (mut sent, mut left) = (0, 0);
    while left < PACKETS {
        // The bound keeps the switch's queue from overflowing.
        if sent < PACKETS && sent - left < 20_000 {
            sent += controller.sender.packet_outs(packets.iter().cloned());
        }
        // Lets the connection's task run.
        tokio::task::yield_now().await;
        burst.clear();
        left += bench.lines[1].queues[0].receive(&mut burst).expect("a line is never down");
    }
    PACKETS as f64 / start.elapsed().as_secs_f64()
}

/// Packets that go through the switch at a fixed rate during a measurement.
struct Background {
    stop: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    thread: thread::JoinHandle<(Port, Port, u64)>,
}

impl Background {
    fn begin(lines: &mut Vec<Port>) -> Self {
        let (mut to, mut from) = (lines.remove(0), lines.remove(0));
        let stop = Arc::new(AtomicBool::new(false));
        let sent = Arc::new(AtomicU64::new(0));
        let (stopped, count) = (Arc::clone(&stop), Arc::clone(&sent));
        let thread = thread::spawn(move || {
            let start = Instant::now();
            let mut burst = Burst::new(64);
            let mut received = 0;
            let mut receive = |from: &mut Port| {
                burst.clear();
                from.queues[0].receive(&mut burst).expect("a line is never down") as u64
            };
            while !stopped.load(Ordering::Relaxed) {
                let due = (start.elapsed().as_secs_f64() * BACKGROUND) as u64;
                while count.load(Ordering::Relaxed) < due {
                    let taken = to.queues[0].transmit(&[0xff, 0xff, 0xff, 0xff, 1, 0]);
                    count.fetch_add(u64::from(taken == Transmitted::Taken), Ordering::Relaxed);
                }
                to.queues[0].flush();
                received += receive(&mut from);
                thread::sleep(Duration::from_millis(1));
            }
            let patience = Instant::now();
            while received < count.load(Ordering::Relaxed) && patience.elapsed().as_secs() < 60 {
                received += receive(&mut from);
            }
            (to, from, received)
        });
        Self { stop, sent, thread }
    }

    fn end(self, lines: &mut Vec<Port>) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        let (to, from, received) = self.thread.join().expect("it does not panic");
        lines.extend([to, from]);
        self.sent.load(Ordering::Relaxed) - received
    }
}

/// Returns the resident memory of this process in MiB.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4_096 / (1 << 20)
}
