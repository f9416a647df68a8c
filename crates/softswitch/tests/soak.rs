//! A soak test: traffic, writes, reads, pushes, refused pushes, hostile connections, ports and
//! controllers that come and go, and digests that no controller reads, all at the same time.
//! Nothing may panic, every received packet must be accounted for, and neither memory nor
//! descriptors may grow.
//!
//!     PLANIMETER_SOAK=600 cargo test --release -p softswitch --test soak -- --nocapture
//!
//! `PLANIMETER_SOAK` is the duration in seconds, 15 by default. A random generator chooses each
//! step; its seed is printed and can be set with `PLANIMETER_SOAK_SEED`. The interleaving of
//! threads is not reproducible.

const PATH: softswitch::Path = softswitch::Path::Interpreter;

#[path = "running/accounts.rs"]
mod accounts;
#[path = "running/hostile.rs"]
mod hostile;
#[path = "running/support.rs"]
#[expect(dead_code, reason = "parts that only the other tests use")]
mod support;
#[path = "running/traffic.rs"]
mod traffic;

use accounts::{Counted, settled};
use fastrand::Rng;
use p4runtime::proto::v1::{
    self, entity::Entity as Kind, set_forwarding_pipeline_config_request::Action, update::Type,
    write_request::Atomicity,
};
use softswitch::{Options, Switch};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use support::{Bench, Controller, DEVICE, Names, PROGRAM, TIMEOUT, options, pushed};
use traffic::Ports;

/// The allowed growth in MiB for fragmentation and for tables that fill.
const SLACK: u64 = 48;

static PANICS: AtomicUsize = AtomicUsize::new(0);

#[test]
fn everything_at_once() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        usual(panic);
    }));
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = number("PLANIMETER_SOAK").unwrap_or(15);
    let seed = number("PLANIMETER_SOAK_SEED").unwrap_or(0x5eed_0001).max(1);
    println!("{seconds} s, seed {seed}");

    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state");
    let metrics = Some("127.0.0.1:0".parse().expect("an address"));
    let bench = Bench::start(0, Some(state.clone()), Options { metrics, ..options() });
    let idle = descriptors();
    let ports = Ports::default();
    let stop = AtomicBool::new(false);
    let switch = &bench.switch;
    let scraped = switch.metrics_address().expect("it was asked for");
    let mut lines = traffic::attach_lasting(switch);
    let usage = thread::scope(|scope| {
        let threads = [
            scope.spawn(|| traffic::send(&mut lines, &stop, seed)),
            scope.spawn(|| traffic::exchange(switch, &ports, &stop, seed + 1)),
            scope.spawn(|| control(switch, &stop, seed + 2)),
            scope.spawn(|| hostile::attack(switch.address(), &stop, seed + 3)),
            scope.spawn(|| hostile::attack(scraped, &stop, seed + 4)),
        ];
        let usage = watched(switch, Duration::from_secs(seconds));
        stop.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().expect("it does not panic");
        }
        usage
    });
    let counted = settled(switch, &ports);
    println!("{counted:?}\nresident, in megabytes: {usage:?}");
    check(&counted);
    assert_eq!(PANICS.load(Ordering::Relaxed), 0, "a thread panicked");
    let (early, late) = (usage[1], usage[3]);
    assert!(late <= early + SLACK, "{early} MB in the second quarter, {late} MB in the last");
    let start = Instant::now();
    while descriptors() > idle {
        assert!(start.elapsed() < TIMEOUT, "{idle} descriptors became {}", descriptors());
        thread::sleep(Duration::from_millis(10));
    }
    // The restored entries equal those before the restart.
    let before = entries(switch);
    drop(bench);
    let again = Bench::with_state(0, &state);
    assert_eq!(entries(&again.switch), before);
}

/// Polls the state of the switch and the memory in use. Returns the maximum of each quarter of the
/// run.
fn watched(switch: &Switch, duration: Duration) -> [u64; 4] {
    let start = Instant::now();
    let mut most = [0; 4];
    while start.elapsed() < duration {
        thread::sleep(Duration::from_millis(50));
        let quarter = 4.0 * start.elapsed().as_secs_f64() / duration.as_secs_f64();
        let most = &mut most[(quarter as usize).min(3)];
        *most = resident().max(*most);
        assert_eq!(switch.state().len(), 1);
    }
    most
}

/// Runs controllers, both consecutive and concurrent ones.
fn control(switch: &Switch, stop: &AtomicBool, seed: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let mut control = Control::begin(switch, seed).await;
        while !stop.load(Ordering::Relaxed) {
            control.step().await;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        println!("{} pushes were refused", control.refused_pushes);
    });
}

struct Control<'a> {
    switch: &'a Switch,
    random: Rng,
    names: Names,
    programs: Vec<v1::ForwardingPipelineConfig>,
    election: u128,
    primary: Controller,
    /// Former primary controllers, which do not read their streams.
    others: Vec<Controller>,
    refused_pushes: u64,
}

impl<'a> Control<'a> {
    async fn begin(switch: &'a Switch, seed: u64) -> Self {
        let compiled = |source: &str| {
            let source = source.as_bytes();
            let program = p4lang::device_config::from_device_config(source).expect("it compiles");
            p4lang::device_config::to_pipeline_config(&program).expect("it has a P4Info")
        };
        let other =
            PROGRAM.replace("h.packet_in.setValid();", "h.packet_in.setValid(); h.h.from = 1;");
        let mut programs = vec![compiled(PROGRAM), compiled(&other)];
        programs.push(pushed(PROGRAM));
        let primary = Controller::at_last(switch.address(), DEVICE, 1).await;
        let (random, names, others) = (Rng::with_seed(seed), Names::new(), Vec::new());
        let mut control = Self {
            switch,
            random,
            names,
            programs,
            election: 1,
            primary,
            others,
            refused_pushes: 0,
        };
        control.push(Action::VerifyAndCommit).await;
        control.fill().await;
        control
    }

    /// Inserts enough entries that most packets find one.
    async fn fill(&mut self) {
        let entries = (0..200).map(|to| self.names.entry(to, "forward", &[1 + to % 5]));
        self.primary.insert(entries).await;
    }

    async fn step(&mut self) {
        match self.random.u64(..20) {
            0..9 => self.write().await,
            9 => self.push_what_is_refused().await,
            10 => {
                let wanted = v1::TableEntry { table_id: self.names.table(), ..Default::default() };
                let wanted = v1::Entity { entity: Some(Kind::TableEntry(wanted)) };
                self.primary.client.read(vec![wanted]).await.expect("a read is answered");
            }
            11 => {
                self.push(Action::VerifyAndCommit).await;
                self.fill().await;
            }
            12 => self.push(Action::ReconcileAndCommit).await,
            13 => {
                self.push(Action::VerifyAndSave).await;
                self.write().await;
                let commit = self.primary.client.set_pipeline(Action::Commit, None);
                commit.await.expect("one is saved");
                if self.random.bool() {
                    self.push(Action::VerifyAndCommit).await;
                    self.fill().await;
                }
            }
            14 => self.enable_digests().await,
            15 | 16 => {
                let out = |port: u8, last: u8| v1::PacketOut {
                    payload: vec![port, last].into(),
                    metadata: vec![v1::PacketMetadata { metadata_id: 1, value: vec![port].into() }],
                };
                let port = self.random.u8(..6);
                self.primary.sender.packet_outs((0..100).map(|last| out(port, last)));
            }
            17 => {
                // The primary reads its stream occasionally. Former primaries do not read theirs.
                let mut messages = Vec::new();
                while let Ok(read) = {
                    let next = self.primary.receiver.next_batch(&mut messages, 4_096);
                    tokio::time::timeout(Duration::from_millis(2), next).await
                } {
                    assert!(read.expect("the stream goes on") > 0, "the stream goes on");
                    messages.clear();
                }
            }
            18 => self.succeed().await,
            _ => {
                // The controller disconnects, perhaps in the middle of a Write.
                let updates = self.updates();
                let write = self.primary.client.write(updates, Atomicity::ContinueOnError);
                let _ = tokio::time::timeout(Duration::from_micros(200), write).await;
                self.succeed().await;
                self.others.clear();
            }
        }
    }

    /// Makes a new controller the primary.
    async fn succeed(&mut self) {
        self.election += 1;
        let next = Controller::at_last(self.switch.address(), DEVICE, self.election).await;
        self.others.push(std::mem::replace(&mut self.primary, next));
        if self.others.len() > 2 {
            self.others.remove(0);
        }
    }

    fn updates(&mut self) -> Vec<v1::Update> {
        let update = |random: &mut Rng, names: &Names| {
            let (to, port) = (random.u8(..200), random.u8(..6));
            let kind = [Type::Insert, Type::Modify, Type::Delete][random.usize(..3)];
            v1::Update {
                r#type: kind as i32,
                entity: Some(v1::Entity { entity: Some(names.entry(to, "forward", &[port])) }),
            }
        };
        let count = 1 + self.random.u64(..60);
        (0..count).map(|_| update(&mut self.random, &self.names)).collect()
    }

    async fn write(&mut self) {
        let modes =
            [Atomicity::ContinueOnError, Atomicity::RollbackOnError, Atomicity::DataplaneAtomic];
        let mode = modes[self.random.usize(..3)];
        let updates = self.updates();
        if let Err(refused) = self.primary.client.write(updates, mode).await {
            // Some of the entries already exist or are missing, so refusals are expected.
            let refused = format!("{refused:?}");
            assert!(!refused.contains("Unavailable"), "{refused}");
        }
    }

    async fn push(&mut self, action: Action) {
        let config = self.programs[self.random.usize(..self.programs.len())].clone();
        let pushed = self.primary.client.set_pipeline(action, Some(config));
        pushed.await.expect("the switch runs it");
    }

    /// Pushes a program that does not compile, or types that are nested more deeply than allowed.
    async fn push_what_is_refused(&mut self) {
        let mut config = self.programs[0].clone();
        config.p4_device_config = match self.random.u64(..3) {
            0 => "header h_t {".into(),
            1 => format!("{PROGRAM} const bit<8> x = {};", "(".repeat(300)).into(),
            _ => (0..200).map(|_| self.random.u8(..)).collect::<Vec<_>>().into(),
        };
        let pushed = self.primary.client.set_pipeline(Action::VerifyAndCommit, Some(config));
        pushed.await.expect_err("it does not compile");
        self.refused_pushes += 1;
    }

    async fn enable_digests(&mut self) {
        let config = v1::digest_entry::Config {
            max_timeout_ns: 1_000_000,
            max_list_size: self.random.i32(1..=50),
            ack_timeout_ns: 1_000_000,
        };
        let entry = v1::DigestEntry { digest_id: self.names.digest(), config: Some(config) };
        let update = v1::Update {
            r#type: Type::Insert as i32,
            entity: Some(v1::Entity { entity: Some(Kind::DigestEntry(entry)) }),
        };
        // The digest may be enabled already.
        let _ = self.primary.client.write(vec![update], Atomicity::ContinueOnError).await;
    }
}

/// Checks that every packet is accounted for, and that there were packets of all outcomes.
fn check(counted: &Counted) {
    counted.check();
    for (count, what) in [
        (counted.packet_outs, "packet-outs"),
        (counted.transmitted, "packets that left"),
        (counted.transmit_dropped, "packets that found a port full or down"),
        (counted.no_such_port, "packets for a port that was gone"),
        (counted.port_disabled, "packets for a port that was off"),
        (counted.packet_ins, "packet-ins"),
    ] {
        assert!(count > 0, "there were no {what}: the test has lost its point");
    }
}

/// Returns the entries of the table in a canonical order.
fn entries(switch: &Switch) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let mut controller = Controller::of(switch, u128::MAX).await;
        let table_id = Names::new().table();
        let wanted = v1::TableEntry { table_id, ..Default::default() };
        let wanted = v1::Entity { entity: Some(Kind::TableEntry(wanted)) };
        let found = controller.client.read(vec![wanted]).await.expect("a read is answered");
        let mut found: Vec<_> = found.iter().map(|entity| format!("{entity:?}")).collect();
        found.sort();
        found
    })
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Returns the resident memory of this process in MiB.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4_096 / (1 << 20)
}
