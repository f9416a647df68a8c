//! A test of everything at once, in a switch that is killed and started again on one file: traffic,
//! ports that come and go, writes, pushes, refused pushes, controllers that do not read, and
//! hostile connections at each port that listens. After each start, all that was acknowledged must
//! be there. Before each kill, every packet since the start is accounted for.
//!
//!     PLANIMETER_MIXTURE=3600 \
//!         cargo test --release -p softswitch --test running mixture -- --nocapture
//!
//! `PLANIMETER_MIXTURE` is the duration in seconds, 4 by default. A random generator chooses each
//! step and the moments of the kills; its seed is printed and can be set with `PLANIMETER_SEED`.
//! The interleaving of processes and threads is not reproducible.

use crate::accounts::settled;
use crate::hostile;
use crate::killed::{
    Expected, KILLED_SEED, KILLED_STATE, Killed, Stations, next_question, number, printed_seed,
    serve_at, stations,
};
use crate::support::{Bench, Controller, DEVICE, Names, PROGRAM, options, pushed};
use crate::traffic::{self, Ports};
use fastrand::Rng;
use p4runtime::client::WriteError;
use p4runtime::proto::v1::{
    self, entity::Entity as Kind, forwarding_pipeline_config::Cookie,
    get_forwarding_pipeline_config_request::ResponseType,
    set_forwarding_pipeline_config_request::Action, update::Type, write_request::Atomicity,
};
use softswitch::Options;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The question that makes the killed switch's process stop its traffic, account for every packet,
/// and let traffic pass again.
const ACCOUNT: &str = "account";
/// The beginning of the answer to [`ACCOUNT`]. The numbers of packets that came in and that left
/// follow.
const ACCOUNTED: &str = "accounted ";

/// Runs the switch that [`what_was_answered_beside_everything_else_is_there_again`] kills, with
/// traffic on its ports, in a process of its own.
#[test]
fn forwards_until_it_is_killed() {
    let Some(state) = std::env::var_os(KILLED_STATE) else { return };
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        usual(panic);
        // A panic of any thread is a failure, which the other process notices.
        std::process::exit(101);
    }));
    let any = Some("127.0.0.1:0".parse().expect("an address"));
    let options = Options { metrics: any, thrift: any, ..options() };
    let bench = Bench::start(0, Some(PathBuf::from(state)), options);
    let switch = &bench.switch;
    let mut random = Rng::with_seed(number(KILLED_SEED, 1));
    let mut lines = traffic::attach_lasting(switch);
    let ports = Ports::default();
    let listening = [Some(switch.address()), switch.metrics_address(), switch.thrift_address()];
    serve_at(&listening.map(|address| address.expect("it listens there")));
    loop {
        let stop = AtomicBool::new(false);
        let seeds = [random.u64(..), random.u64(..)];
        let question = thread::scope(|scope| {
            scope.spawn(|| traffic::send(&mut lines, &stop, seeds[0]));
            scope.spawn(|| traffic::exchange(switch, &ports, &stop, seeds[1]));
            let question = next_question();
            stop.store(true, Ordering::Relaxed);
            question
        });
        let Some(question) = question else { return };
        assert_eq!(question, ACCOUNT);
        let counted = settled(switch, &ports);
        counted.check();
        println!("{ACCOUNTED}{} {}", counted.arrived(), counted.transmitted);
    }
}

/// The forwarding state of the switch, as controllers know it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Known {
    stations: Stations,
    /// The cookie of the running pipeline. It is different for each push.
    cookie: u64,
    /// The device configuration of the running pipeline, as a position among the pushed ones.
    program: usize,
}

/// One action of a controller.
#[derive(Clone, Debug)]
enum Step {
    /// Writes a batch, of which `wrong` updates are refused.
    Write {
        updates: Vec<v1::Update>,
        wrong: usize,
        atomicity: Atomicity,
    },
    /// Pushes a program, which deletes all entries.
    Commit(v1::ForwardingPipelineConfig),
    /// Pushes a program and keeps the entries.
    Reconcile(v1::ForwardingPipelineConfig),
    /// Pushes a program that does not run yet, writes entries for it, and commits it.
    SaveAndCommit {
        config: v1::ForwardingPipelineConfig,
        updates: Vec<v1::Update>,
    },
    /// Pushes a program that is refused.
    Refused(v1::ForwardingPipelineConfig),
    /// Connects another controller, which becomes the primary.
    Succeed,
    PacketOuts,
    /// Reads messages that the switch has sent to the primary.
    ReadStream,
}

impl Step {
    fn name(&self) -> &'static str {
        match self {
            Self::Write { .. } => "writes",
            Self::Commit(_) => "pushes",
            Self::Reconcile(_) => "pushes that keep entries",
            Self::SaveAndCommit { .. } => "pushes in two steps",
            Self::Refused(_) => "refused pushes",
            Self::Succeed => "new primaries",
            Self::PacketOuts => "packet-outs",
            Self::ReadStream => "reads of the stream",
        }
    }
}

/// Chooses steps, and knows the state after each.
struct Plan {
    random: Rng,
    names: Names,
    programs: [v1::ForwardingPipelineConfig; 2],
    /// The cookie of the last push.
    last_cookie: u64,
}

impl Plan {
    fn new(seed: u64) -> Self {
        let changed = "h.packet_in.setValid(); h.h.from = 1;";
        let other = PROGRAM.replace("h.packet_in.setValid();", changed);
        let programs = [pushed(PROGRAM), pushed(&other)];
        Self { random: Rng::with_seed(seed), names: Names::new(), programs, last_cookie: 0 }
    }

    /// Returns the next step, and the state after it.
    fn next(&mut self, before: &Known) -> (Step, Known) {
        let mut after = before.clone();
        let step = match self.random.u8(..24) {
            0..12 => {
                let modes = [
                    Atomicity::ContinueOnError,
                    Atomicity::RollbackOnError,
                    Atomicity::DataplaneAtomic,
                ];
                let atomicity = modes[self.random.usize(..modes.len())];
                let (updates, wrong) = self.batch(&mut after.stations);
                if wrong > 0 && atomicity != Atomicity::ContinueOnError {
                    after.stations.clone_from(&before.stations);
                }
                Step::Write { updates, wrong, atomicity }
            }
            12 => {
                after.stations.clear();
                Step::Commit(self.push(&mut after))
            }
            13 | 14 => Step::Reconcile(self.push(&mut after)),
            15 => {
                after.stations.clear();
                let config = self.push(&mut after);
                let (updates, _) = self.batch(&mut after.stations);
                Step::SaveAndCommit { config, updates }
            }
            16..19 => Step::Refused(self.refused()),
            19 | 20 => Step::Succeed,
            21 | 22 => Step::PacketOuts,
            _ => Step::ReadStream,
        };
        (step, after)
    }

    /// Returns a random batch of updates of different entries, and the number of those that are
    /// refused when they are applied to `stations`. The others are applied.
    fn batch(&mut self, stations: &mut Stations) -> (Vec<v1::Update>, usize) {
        let (random, mut updates, mut wrong) = (&mut self.random, Vec::new(), 0);
        // Half of the batches are right, and the others contain wrong updates.
        let wrong_among_16 = if random.bool() { 0 } else { random.u8(1..4) };
        for to in 0..=u8::MAX {
            if random.u8(..) > 40 {
                continue;
            }
            // Ports 1 to 4 exist at times, and port 5 never does.
            let port = random.u8(1..=5);
            let is_there = stations.contains_key(&to);
            let is_wrong = random.u8(..16) < wrong_among_16;
            let kind = match (is_there != is_wrong, random.bool()) {
                (false, _) => Type::Insert,
                (true, false) => Type::Modify,
                (true, true) => Type::Delete,
            };
            if is_wrong {
                wrong += 1;
            } else if kind == Type::Delete {
                stations.remove(&to);
            } else {
                stations.insert(to, port);
            }
            let entity =
                Some(v1::Entity { entity: Some(self.names.entry(to, "forward", &[port])) });
            updates.push(v1::Update { r#type: kind as i32, entity });
        }
        random.shuffle(&mut updates);
        (updates, wrong)
    }

    /// Returns the configuration of a random program with a new cookie, and records both.
    fn push(&mut self, after: &mut Known) -> v1::ForwardingPipelineConfig {
        self.last_cookie += 1;
        let program = self.random.usize(..self.programs.len());
        (after.program, after.cookie) = (program, self.last_cookie);
        let cookie = Some(Cookie { cookie: self.last_cookie });
        v1::ForwardingPipelineConfig { cookie, ..self.programs[program].clone() }
    }

    /// Returns a program that does not compile, or that is nested more deeply than allowed.
    fn refused(&mut self) -> v1::ForwardingPipelineConfig {
        let p4_device_config = match self.random.u8(..3) {
            0 => "header h_t {".into(),
            1 => format!("{PROGRAM} const bit<8> x = {};", "(".repeat(300)).into(),
            _ => (0..200).map(|_| self.random.u8(..)).collect::<Vec<_>>().into(),
        };
        v1::ForwardingPipelineConfig { p4_device_config, ..self.programs[0].clone() }
    }
}

/// Controllers that succeed each other.
struct Controllers {
    address: SocketAddr,
    election: u128,
    primary: Controller,
    /// The former primary, which does not read its stream.
    former: Option<Controller>,
}

impl Controllers {
    /// Performs a step and waits for its answer.
    async fn perform(&mut self, step: Step) {
        let client = &mut self.primary.client;
        match step {
            Step::Write { updates, wrong, atomicity } => {
                let outcome = client.write(updates, atomicity).await;
                let refused = match outcome {
                    Ok(()) => 0,
                    Err(WriteError::Updates { refused, .. }) => refused.len(),
                    Err(error) => panic!("{error:?}"),
                };
                match atomicity {
                    Atomicity::ContinueOnError => assert_eq!(refused, wrong),
                    Atomicity::RollbackOnError | Atomicity::DataplaneAtomic => {
                        assert_eq!(refused > 0, wrong > 0, "{atomicity:?}");
                    }
                }
            }
            Step::Commit(config) => {
                let pushed = client.set_pipeline(Action::VerifyAndCommit, Some(config)).await;
                pushed.expect("the switch runs it");
            }
            Step::Reconcile(config) => {
                let pushed = client.set_pipeline(Action::ReconcileAndCommit, Some(config)).await;
                pushed.expect("the switch runs it");
            }
            Step::SaveAndCommit { config, updates } => {
                let saved = client.set_pipeline(Action::VerifyAndSave, Some(config)).await;
                saved.expect("the switch can run it");
                // The wrong updates among them are refused.
                let written = client.write(updates, Atomicity::ContinueOnError).await;
                assert!(!matches!(written, Err(WriteError::Rpc(_))), "{written:?}");
                client.set_pipeline(Action::Commit, None).await.expect("one is saved");
            }
            Step::Refused(config) => {
                let pushed = client.set_pipeline(Action::VerifyAndCommit, Some(config)).await;
                let refused = pushed.expect_err("it does not compile");
                assert_ne!(refused.code(), tonic::Code::Unavailable, "{refused:?}");
            }
            Step::Succeed => {
                self.election += 1;
                let next = Controller::at_last(self.address, DEVICE, self.election).await;
                self.former = Some(std::mem::replace(&mut self.primary, next));
            }
            Step::PacketOuts => {
                let out = |port: u8| v1::PacketOut {
                    payload: vec![port; 60].into(),
                    metadata: vec![v1::PacketMetadata { metadata_id: 1, value: vec![port].into() }],
                };
                self.primary.sender.packet_outs((0..100).map(|number| out(1 + number % 5)));
            }
            Step::ReadStream => {
                let mut messages = Vec::new();
                for _ in 0..8 {
                    let next = self.primary.receiver.next_batch(&mut messages, 4_096);
                    let next = tokio::time::timeout(Duration::from_millis(2), next).await;
                    let Ok(read) = next else { break };
                    assert!(read.expect("the stream goes on") > 0, "the stream goes on");
                    messages.clear();
                }
            }
        }
    }

    /// Makes the switch send digests, of which controllers read few. An earlier life may have done
    /// so already.
    async fn enable_digests(&mut self, names: &Names) {
        let config = v1::digest_entry::Config {
            max_timeout_ns: 1_000_000,
            max_list_size: 10,
            ack_timeout_ns: 1_000_000,
        };
        let entry = v1::DigestEntry { digest_id: names.digest(), config: Some(config) };
        let entity = Some(v1::Entity { entity: Some(Kind::DigestEntry(entry)) });
        let update = v1::Update { r#type: Type::Insert as i32, entity };
        let _ = self.primary.client.write(vec![update], Atomicity::ContinueOnError).await;
    }
}

/// Returns the state of a switch that was just started, as a controller reads it.
async fn found(controller: &mut Controller, plan: &Plan) -> Known {
    let stations = stations(controller).await;
    let config = controller.client.get_pipeline(ResponseType::DeviceConfigAndCookie).await;
    let config = config.expect("a pipeline runs");
    let is_running =
        |known: &v1::ForwardingPipelineConfig| known.p4_device_config == config.p4_device_config;
    let program = plan.programs.iter().position(is_running).expect("it was pushed");
    let cookie = config.cookie.expect("each push has one").cookie;
    Known { stations, cookie, program }
}

/// The hostile connections to all addresses of a switch.
struct Attack {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Attack {
    fn begin(addresses: &[SocketAddr], random: &mut Rng) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let attack = |address: &SocketAddr| {
            let (address, stop, seed) = (*address, Arc::clone(&stop), random.u64(..));
            thread::spawn(move || hostile::attack(address, &stop, seed))
        };
        let threads = addresses.iter().map(attack).collect();
        Self { stop, threads }
    }

    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("it does not panic");
        }
    }
}

/// The numbers of all lives of a switch.
#[derive(Debug, Default)]
struct Totals {
    lives: u64,
    answered: BTreeMap<&'static str, u64>,
    arrived: u64,
    transmitted: u64,
}

impl Totals {
    /// Adds the answer to [`ACCOUNT`].
    fn account(&mut self, answer: &str) {
        let mut numbers = answer.split(' ').map(|number| number.parse::<u64>().expect("a number"));
        self.arrived += numbers.next().expect("packets that came in");
        self.transmitted += numbers.next().expect("packets that left");
    }
}

/// Performs steps until `until`, and checks their answers.
async fn perform_until(
    until: Instant,
    controllers: &mut Controllers,
    plan: &mut Plan,
    expected: &mut Expected<Known>,
    totals: &mut Totals,
) {
    let end = tokio::time::sleep_until(until.into());
    tokio::pin!(end);
    loop {
        let (step, after) = plan.next(&expected.answered);
        let name = step.name();
        tokio::select! {
            () = controllers.perform(step) => {
                expected.answer(after);
                *totals.answered.entry(name).or_default() += 1;
            }
            () = &mut end => {
                expected.on_its_way = Some(after);
                return;
            }
        }
    }
}

/// Performs a few steps to their ends, and checks their answers.
async fn perform_some(
    controllers: &mut Controllers,
    plan: &mut Plan,
    expected: &mut Expected<Known>,
    totals: &mut Totals,
) {
    for _ in 0..plan.random.u64(1..40) {
        let (step, after) = plan.next(&expected.answered);
        let name = step.name();
        controllers.perform(step).await;
        expected.answer(after);
        *totals.answered.entry(name).or_default() += 1;
    }
}

/// Kills a switch at random moments while everything else happens. All that was answered is there
/// after the next start, and every packet up to a moment of each life is accounted for.
#[tokio::test]
async fn what_was_answered_beside_everything_else_is_there_again() {
    let duration = Duration::from_secs(number("PLANIMETER_MIXTURE", 4));
    let seed = printed_seed();
    let mut random = Rng::with_seed(seed);
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state");
    let mut plan = Plan::new(random.u64(..));
    let (mut expected, mut totals) = (Expected::default(), Totals::default());
    let start = Instant::now();
    while totals.lives < 2 || start.elapsed() < duration {
        let test = "mixture::forwards_until_it_is_killed";
        let mut switch = Killed::start(test, &state, random.u64(..));
        let attack = Attack::begin(&switch.addresses, &mut random);
        let primary = switch.controller(1).await;
        let address = switch.address();
        let mut controllers = Controllers { address, election: 1, primary, former: None };
        if totals.lives == 0 {
            let mut first = Known::default();
            controllers.perform(Step::Commit(plan.push(&mut first))).await;
            expected.answer(first);
        }
        let place = format!("seed {seed}, life {}", totals.lives);
        expected.check(found(&mut controllers.primary, &plan).await, &place);
        controllers.enable_digests(&plan.names).await;
        perform_some(&mut controllers, &mut plan, &mut expected, &mut totals).await;
        totals.account(&switch.ask(ACCOUNT, ACCOUNTED));
        let until = Instant::now() + Duration::from_millis(random.u64(..1_000));
        perform_until(until, &mut controllers, &mut plan, &mut expected, &mut totals).await;
        switch.kill();
        attack.end();
        totals.lives += 1;
    }
    // The last start shows what was there after the last kill.
    let switch = Killed::start("mixture::forwards_until_it_is_killed", &state, seed);
    let mut primary = switch.controller(1).await;
    expected.check(found(&mut primary, &plan).await, &format!("seed {seed}, the last life"));
    let unanswered = expected.unanswered_and_there;
    println!("{totals:?}, {unanswered} without an answer that were there as a whole");
    assert!(totals.answered.contains_key("writes"));
    assert!(totals.transmitted > 0, "no packet passed");
}
