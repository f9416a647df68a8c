//! Measures how long it takes until packets find entries whose Write was answered, how long packets
//! wait while entries are written, how fast entries are inserted and deleted, and how much memory
//! remains in use when all entries are gone.
//!
//!     cargo bench -p softswitch --bench answers [-- KIND [ENTRIES]]
//!
//! KIND is exact, sharded, lpm, ternary, range, optional, member or group; all are measured if none
//! is given. Each case runs in a process of its own, on the interpreter and in machine code, with
//! one worker on ports in memory:
//!
//! * `idle`: entries are written while no packet comes. `first packet` is the time from the last
//!   answer to the packet that obeys the last entry. From the answer on, packets come at 5,000 per
//!   second for two seconds through a queue of 1,024; `lost` counts the packets that found the
//!   queue full.
//! * `busy`: the same entries are written while packets come at 5,000 per second. `pause` is the
//!   longest time between two packets that leave, and `lost` is the same count as above.
//! * `inserted` and `deleted` are rates by wall-clock time and, in brackets, by the processor time
//!   of the control plane's thread, which stays comparable on a machine with other load.
//! * `memory` is the growth of the process's resident memory while the entries are there, and after
//!   they are deleted.
//!
//! The benchmark only reports; no figure makes it fail.

#[path = "../tests/running/support.rs"]
#[expect(dead_code, reason = "parts that only the tests use")]
mod support;
#[path = "support/threads.rs"]
mod threads;

use p4runtime::p4info::Schema;
use p4runtime::proto::v1::{
    self, entity::Entity as Kind, field_match::FieldMatchType, update::Type,
    write_request::Atomicity,
};
use packetio::{Burst, Port, Transmitted, memory};
use softswitch::{DeviceConfig, Switch, V1ModelSettings};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use support::{CPU_PORT, Controller, DEVICE};

/// The execution path of switches that `support` starts. The cases here choose their own paths.
const PATH: softswitch::Path = softswitch::Path::Compiled;
/// The rate of packets, per second.
const RATE: f64 = 5_000.0;
/// The number of packets that a port's queue holds.
const QUEUE: usize = 1_024;
/// The number of updates per Write.
const BATCH: usize = 1_000;
/// The number of members and groups that the entries of a table with an action profile share.
const SHARED: u32 = 256;

const PROGRAM: &str = r#"
#include <v1model.p4>
header h_t { bit<32> to; bit<16> rest; }
struct headers { h_t h; }
struct meta { }
parser p(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {
    state start { b.extract(h.h); transition accept; }
}
control v(inout headers h, inout meta m) { apply { } }
control i(inout headers h, inout meta m, inout standard_metadata_t s) {
    action_selector(HashAlgorithm.crc16, 1048576, 16) chosen;
    action forward(bit<9> port) { s.egress_spec = port; }
    action drop() { mark_to_drop(s); }
    TABLECONFIG
    table stations {
        key = { KEYS }
        actions = { forward; drop; }
        default_action = drop();
        size = 1048576;
        IMPLEMENTATION
    }
    apply { stations.apply(); }
}
control e(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control d(packet_out b, in headers h) { apply { b.emit(h.h); } }
V1Switch(p(), v(), i(), e(), v(), d()) main;
"#;

/// The kinds of tables, each with the number of entries that it is measured with.
const KINDS: [(&str, u32); 8] = [
    ("exact", 1_000_000),
    ("sharded", 200_000),
    ("lpm", 1_000_000),
    ("ternary", 100_000),
    ("range", 100_000),
    ("optional", 100_000),
    ("member", 200_000),
    ("group", 200_000),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [path, kind, entries] = &words[..]
        && (path == "interpreter" || path == "compiled")
    {
        let path = match path.as_str() {
            "compiled" => softswitch::Path::Compiled,
            _ => softswitch::Path::Interpreter,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let case = Case::new(kind, entries.parse().expect("a number of entries"));
        return runtime.expect("a runtime").block_on(case.measure(path));
    }
    let wanted = words.first();
    println!("{:<9} {:>9} {:<12} what", "kind", "entries", "path");
    for (kind, entries) in KINDS {
        if wanted.is_some_and(|wanted| wanted != kind) {
            continue;
        }
        let entries = words.get(1).map_or(entries.to_string(), Clone::clone);
        for path in ["interpreter", "compiled"] {
            let program = std::env::current_exe().expect("this program");
            let ended = Command::new(program).args([path, kind, &entries]).status();
            assert!(ended.expect("it starts").success(), "{path} {kind} {entries}");
        }
    }
}

/// One kind of table and its entries.
struct Case {
    kind: String,
    entries: u32,
    source: String,
    schema: Arc<Schema>,
}

impl Case {
    fn new(kind: &str, entries: u32) -> Self {
        let (keys, implementation) = match kind {
            "exact" | "sharded" => ("h.h.to: exact;", ""),
            "lpm" | "ternary" | "range" | "optional" => ("h.h.to: KIND;", ""),
            "member" | "group" => {
                ("h.h.to: exact; h.h.rest: selector;", "implementation = chosen;")
            }
            _ => panic!("there is no kind {kind}"),
        };
        let config = if kind == "sharded" { "@tableconfig(impl=\"sharded\")" } else { "" };
        let source = PROGRAM
            .replace("KEYS", &keys.replace("KIND", kind))
            .replace("IMPLEMENTATION", implementation)
            .replace("TABLECONFIG", config);
        let p4info = support::pushed(&source).p4info.expect("it has one");
        let schema = Schema::new(p4info).expect("it is right");
        Self { kind: kind.to_owned(), entries, source, schema }
    }

    async fn measure(&self, path: softswitch::Path) {
        let idle = Running::start(path, &self.source).await;
        self.report(path, self.idle(idle).await);
        let busy = Running::start(path, &self.source).await;
        self.report(path, self.busy(busy).await);
    }

    fn report(&self, path: softswitch::Path, what: String) {
        let path = format!("{path:?}").to_lowercase();
        println!("{:<9} {:>9} {path:<12} {what}", self.kind, self.entries);
    }

    async fn idle(&self, mut running: Running) -> String {
        self.shared(&mut running.controller).await;
        let before = resident();
        let rate = self.write(&mut running.controller, Type::Insert).await;
        let answered = Instant::now();
        let traffic = Traffic::begin(running.lines, self.key(self.entries - 1));
        thread::sleep(Duration::from_secs(2));
        let (outcome, lines) = traffic.end();
        let first = outcome.first.map_or(f64::NAN, |first| (first - answered).as_secs_f64() * 1e3);
        let with = resident();
        let deleted = self.write(&mut running.controller, Type::Delete).await;
        // The controller is dropped first, so that its memory is not counted.
        drop(running.controller);
        thread::sleep(Duration::from_millis(500));
        let without = resident();
        drop(lines);
        format!(
            "idle: {rate} inserts/s, {deleted} deletes/s, first packet after {first:.1} ms, lost {}; \
             memory: {:.0} MB with entries, {:.0} MB without",
            outcome.lost,
            with - before,
            without - before,
        )
    }

    async fn busy(&self, mut running: Running) -> String {
        self.shared(&mut running.controller).await;
        let any = self.update(u32::MAX, Type::Insert);
        let written = running.controller.client.write(vec![any], Atomicity::ContinueOnError).await;
        written.expect("it is right");
        let traffic = Traffic::begin(running.lines, self.key(u32::MAX));
        let rate = self.write(&mut running.controller, Type::Insert).await;
        let deleted = self.write(&mut running.controller, Type::Delete).await;
        let (outcome, _lines) = traffic.end();
        format!(
            "busy: {rate} inserts/s, {deleted} deletes/s, pause {:.1} ms, lost {}",
            outcome.pause.as_secs_f64() * 1e3,
            outcome.lost,
        )
    }

    /// Writes the members and groups that entries refer to.
    async fn shared(&self, controller: &mut Controller) {
        if self.kind != "member" && self.kind != "group" {
            return;
        }
        let profile = self.schema.p4info().action_profiles.first().expect("there is one");
        let action_profile_id = profile.preamble.as_ref().expect("it has one").id;
        let of_number = |number: u32| {
            let member = v1::ActionProfileMember {
                action_profile_id,
                member_id: number + 1,
                action: Some(self.forward()),
            };
            let group = v1::ActionProfileGroup {
                action_profile_id,
                group_id: number + 1,
                max_size: 4,
                members: vec![v1::action_profile_group::Member {
                    member_id: number + 1,
                    weight: 1,
                    ..Default::default()
                }],
            };
            [Kind::ActionProfileMember(member), Kind::ActionProfileGroup(group)]
        };
        controller.insert((0..SHARED).flat_map(of_number)).await;
    }

    async fn write(&self, controller: &mut Controller, kind: Type) -> String {
        let numbers: Vec<u32> = (0..self.entries).collect();
        let mut spent = Duration::ZERO;
        let before = threads::ran("p4runtime");
        for chunk in numbers.chunks(BATCH) {
            let updates = chunk.iter().map(|number| self.update(*number, kind)).collect();
            // Building the messages is the controller's work and is not timed.
            let start = Instant::now();
            let written = controller.client.write(updates, Atomicity::ContinueOnError).await;
            written.expect("all of it is right");
            spent += start.elapsed();
        }
        let ran = threads::ran("p4runtime").saturating_sub(before);
        let [by_clock, by_processor] =
            [spent, ran].map(|time| f64::from(self.entries) / time.as_secs_f64());
        format!("{by_clock:.0} ({by_processor:.0})")
    }

    fn forward(&self) -> v1::Action {
        let actions = &self.schema.p4info().actions;
        let preambles = actions.iter().filter_map(|action| action.preamble.as_ref());
        let forward = preambles.into_iter().find(|preamble| preamble.alias == "forward");
        let port = v1::action::Param { param_id: 1, value: vec![2].into() };
        v1::Action { action_id: forward.expect("it has it").id, params: vec![port] }
    }

    /// Returns a key that only the entry with this number matches.
    fn key(&self, number: u32) -> u32 {
        match self.kind.as_str() {
            // Half of the prefixes have 24 bits, the rest 28 bits in the upper half of the address
            // space.
            "lpm" if number == u32::MAX => u32::MAX,
            "lpm" if number.is_multiple_of(2) => ((number / 2) << 8) | 7,
            "lpm" => 1 << 31 | ((number / 2) << 4) | 7,
            "ternary" | "range" if number == u32::MAX => u32::MAX,
            "ternary" | "range" => number << 4 | 7,
            _ => number,
        }
    }

    fn update(&self, number: u32, kind: Type) -> v1::Update {
        let bytes = |number: u32| {
            let bytes = number.to_be_bytes();
            let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(3);
            bytes[first..].to_vec().into()
        };
        let key = self.key(number);
        let found = match self.kind.as_str() {
            "lpm" => {
                let length = if number.is_multiple_of(2) { 24 } else { 28 };
                let value = bytes(key & u32::MAX << (32 - length));
                FieldMatchType::Lpm(v1::field_match::Lpm { value, prefix_len: length })
            }
            "ternary" => {
                // The mask leaves two, three or four low bits open.
                let mask = u32::MAX << (2 + number % 3);
                let value = bytes(key & mask);
                FieldMatchType::Ternary(v1::field_match::Ternary { value, mask: bytes(mask) })
            }
            "range" => {
                let (low, high) = (bytes(key & !15), bytes(key | 15));
                FieldMatchType::Range(v1::field_match::Range { low, high })
            }
            "optional" => FieldMatchType::Optional(v1::field_match::Optional { value: bytes(key) }),
            _ => FieldMatchType::Exact(v1::field_match::Exact { value: bytes(key) }),
        };
        let field = v1::FieldMatch { field_id: 1, field_match_type: Some(found) };
        let table = self.schema.p4info().tables.first().expect("there is one");
        let ranked = matches!(self.kind.as_str(), "ternary" | "range" | "optional");
        let shared = number % SHARED + 1;
        let action = match self.kind.as_str() {
            "member" => v1::table_action::Type::ActionProfileMemberId(shared),
            "group" => v1::table_action::Type::ActionProfileGroupId(shared),
            _ => v1::table_action::Type::Action(self.forward()),
        };
        let entry = v1::TableEntry {
            table_id: table.preamble.as_ref().expect("it has one").id,
            r#match: vec![field],
            action: Some(v1::TableAction { r#type: Some(action) }),
            priority: if ranked { (number % 1_000 + 1) as i32 } else { 0 },
            ..Default::default()
        };
        let entity = Some(v1::Entity { entity: Some(Kind::TableEntry(entry)) });
        v1::Update { r#type: kind as i32, entity }
    }
}

/// A switch with one worker that runs the program, its controller, and the far ends of its ports.
struct Running {
    _switch: Switch,
    controller: Controller,
    lines: [Port; 2],
}

impl Running {
    async fn start(path: softswitch::Path, source: &str) -> Self {
        let [[near, far], [other, end]] = ["one", "two"].map(|name| memory::line(name, QUEUE));
        let device = DeviceConfig {
            queues: Default::default(),
            id: DEVICE,
            cpu_port: CPU_PORT,
            path,
            v1model: V1ModelSettings::default(),
            pipeline: None,
            updates: Vec::new(),
            state: None,
            durability: softswitch::Durability::default(),
            check_references: false,
            takes_injections: false,
            ports: vec![(1, near), (2, other)],
        };
        let switch = Switch::start(support::options(), vec![device]).expect("it starts");
        let controller = Controller::with(&switch, source).await;
        Self { _switch: switch, controller, lines: [far, end] }
    }
}

/// The times and losses of packets.
struct Outcome {
    /// The time at which the first packet left.
    first: Option<Instant>,
    /// The longest interval between two packets that left.
    pause: Duration,
    /// The number of packets that found the queue full.
    lost: u64,
}

/// Packets that go through the switch at a fixed rate.
struct Traffic {
    stop: Arc<AtomicBool>,
    thread: thread::JoinHandle<(Outcome, [Port; 2])>,
}

impl Traffic {
    fn begin(lines: [Port; 2], key: u32) -> Self {
        let [mut to, mut from] = lines;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let [a, b, c, d] = key.to_be_bytes();
        let packet = [a, b, c, d, 0, 0];
        let thread = thread::spawn(move || {
            let start = Instant::now();
            let mut burst = Burst::new(64);
            let (mut sent, mut first, mut last) = (0, None, None::<Instant>);
            let mut outcome = Outcome { first: None, pause: Duration::ZERO, lost: 0 };
            while !stopped.load(Ordering::Relaxed) {
                let due = (start.elapsed().as_secs_f64() * RATE) as u64 + 1;
                while sent < due {
                    let taken = to.queues[0].transmit(&packet);
                    outcome.lost += u64::from(taken != Transmitted::Taken);
                    sent += 1;
                }
                to.queues[0].flush();
                burst.clear();
                if from.queues[0].receive(&mut burst).expect("a line is never down") > 0 {
                    let now = Instant::now();
                    first.get_or_insert(now);
                    outcome.pause =
                        outcome.pause.max(last.map_or(Duration::ZERO, |last| now - last));
                    last = Some(now);
                }
                thread::sleep(Duration::from_micros(200));
            }
            outcome.first = first;
            (outcome, [to, from])
        });
        Self { stop, thread }
    }

    fn end(self) -> (Outcome, [Port; 2]) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("it does not panic")
    }
}

/// Returns the resident memory of this process in megabytes.
fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok());
    pages.unwrap_or(0.0) * 4_096.0 / 1e6
}
