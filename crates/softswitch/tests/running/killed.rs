//! Tests of a switch in a process of its own that is killed at random moments. Everything that it
//! acknowledged must be there after the next start.

use crate::hostile;
use crate::restart::entries;
use crate::support::{Bench, Controller, DEVICE, Names, PROGRAM, pushed};
use fastrand::Rng;
use p4runtime::proto::v1::{
    self, entity::Entity as Kind, field_match::FieldMatchType,
    set_forwarding_pipeline_config_request::Action, write_request::Atomicity,
};
use packetio::Burst;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The environment variable that makes [`serves_until_it_is_killed`] and
/// [`forwards_until_it_is_killed`] a switch on this state.
const KILLED_STATE: &str = "PLANIMETER_KILLED_STATE";

/// Runs the switch that [`what_was_answered_before_any_kill_is_there_again`] kills, in a process of
/// its own.
#[test]
fn serves_until_it_is_killed() {
    serve(|_| std::thread::park());
}

/// Runs the switch that [`what_was_answered_beside_everything_else_is_there_again`] kills, with
/// traffic on its ports.
#[test]
fn forwards_until_it_is_killed() {
    let (mut burst, mut random) = (Burst::new(256), Rng::new());
    serve(|bench| {
        for line in &mut bench.lines {
            for _ in 0..16 {
                line.queues[0].transmit(&[random.u8(..), random.u8(..)]);
            }
            line.queues[0].flush();
            burst.clear();
            line.queues[0].receive(&mut burst).expect("a line is never down");
        }
        std::thread::sleep(Duration::from_micros(500));
    });
}

/// Serves on the state that the environment names, and repeats `work` until the process is killed.
fn serve(mut work: impl FnMut(&mut Bench)) {
    let Some(state) = std::env::var_os(KILLED_STATE) else { return };
    let mut bench = Bench::with_state(2, Path::new(&state));
    println!("\naddress {}", bench.switch.address());
    loop {
        work(&mut bench);
    }
}

/// A switch in a process of its own.
struct Killed {
    process: Child,
    address: SocketAddr,
}

impl Killed {
    /// Starts the switch of the test of this name in a process of its own.
    fn start(name: &str, state: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this test"));
        command.args([&format!("killed::{name}"), "--exact", "--nocapture"]);
        command.env(KILLED_STATE, state).stdout(Stdio::piped());
        let mut process = command.spawn().expect("it starts");
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut lines = output.lines().map_while(Result::ok);
        let address = lines.find_map(|line| line.strip_prefix("address ").map(str::to_owned));
        let address = address.expect("it listens").parse().expect("an address");
        Self { process, address }
    }

    async fn controller(&self, election_id: u128) -> Controller {
        Controller::at_last(self.address, DEVICE, election_id).await
    }

    fn kill(mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ended");
    }
}

/// The entries of the table: the port of each address.
type Stations = BTreeMap<u8, u8>;

async fn stations(controller: &mut Controller) -> Stations {
    let entries = entries(controller).await.into_iter().filter_map(|entity| match entity.entity {
        Some(Kind::TableEntry(entry)) => Some(entry),
        _ => None,
    });
    let station = |entry: v1::TableEntry| {
        let Some(FieldMatchType::Exact(to)) = &entry.r#match.first()?.field_match_type else {
            return None;
        };
        let Some(v1::table_action::Type::Action(action)) = entry.action?.r#type else {
            return None;
        };
        Some((*to.value.first()?, *action.params.first()?.value.last()?))
    };
    entries.map(|entry| station(entry).expect("an entry as it was written")).collect()
}

/// Returns a random batch of inserts, changes and deletes that the entries `before` admit, and the
/// entries after it.
fn batch(names: &Names, before: &Stations, random: &mut Rng) -> (Vec<v1::Update>, Stations) {
    let mut after = before.clone();
    let mut updates = Vec::new();
    for to in 0..=u8::MAX {
        if random.u8(..) > 40 {
            continue;
        }
        let port = random.u8(1..=2);
        let kind = match (before.contains_key(&to), random.bool()) {
            (false, _) => v1::update::Type::Insert,
            (true, false) => v1::update::Type::Modify,
            (true, true) => v1::update::Type::Delete,
        };
        if kind == v1::update::Type::Delete {
            after.remove(&to);
        } else {
            after.insert(to, port);
        }
        let entity = Some(v1::Entity { entity: Some(names.entry(to, "forward", &[port])) });
        updates.push(v1::Update { r#type: kind as i32, entity });
    }
    (updates, after)
}

/// The entries that a killed switch must have after its next start.
#[derive(Default)]
struct Expected {
    /// The entries after the last answer.
    answered: Stations,
    /// The entries after the request that was not answered, if there was one.
    on_its_way: Option<Stations>,
    answers: u64,
    unanswered_and_there: u64,
}

impl Expected {
    /// Compares the entries after a start. A request that was not answered is there as a whole or
    /// not at all.
    fn check(&mut self, found: Stations, place: &str) {
        if found != self.answered {
            assert_eq!(Some(&found), self.on_its_way.as_ref(), "{place}");
            self.unanswered_and_there += 1;
        }
        (self.answered, self.on_its_way) = (found, None);
    }

    fn answer(&mut self, after: Stations) {
        self.answered = after;
        self.answers += 1;
    }
}

/// Returns the number of kills and the seed, which the environment may set.
fn kills_and_seed(usual: u64) -> (u64, u64) {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let kills = number("PLANIMETER_KILLS").unwrap_or(usual);
    let seed = number("PLANIMETER_SEED").unwrap_or(1);
    println!("seed {seed}");
    (kills, seed)
}

/// Kills a switch at a random moment of a series of batches, again and again on one file. After
/// each restart, all batches that were answered must be there, and the batch that was on its way
/// must be there as a whole or not at all. `PLANIMETER_KILLS` sets the number of kills.
#[tokio::test]
async fn what_was_answered_before_any_kill_is_there_again() {
    let (kills, seed) = kills_and_seed(8);
    let mut random = Rng::with_seed(seed);
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state");
    let names = Names::new();
    let mut expected = Expected::default();
    for kill in 0..kills {
        let switch = Killed::start("serves_until_it_is_killed", &state);
        let mut controller = switch.controller(u128::from(kill) + 1).await;
        if kill == 0 {
            controller.push(PROGRAM).await;
        }
        expected.check(stations(&mut controller).await, &format!("seed {seed}, kill {kill}"));
        let until = tokio::time::sleep(Duration::from_micros(random.u64(0..40_000)));
        tokio::pin!(until);
        loop {
            let (updates, after) = batch(&names, &expected.answered, &mut random);
            let write = controller.client.write(updates, Atomicity::ContinueOnError);
            tokio::select! {
                outcome = write => {
                    outcome.expect("all of it is right");
                    expected.answer(after);
                }
                () = &mut until => {
                    expected.on_its_way = Some(after);
                    break;
                }
            }
        }
        switch.kill();
    }
    let Expected { answers, unanswered_and_there, .. } = expected;
    println!(
        "{kills} kills, {answers} batches answered, {unanswered_and_there} there that were not"
    );
    assert!(answers > 0);
}

/// The next action of a controller.
#[derive(Clone, Copy, Debug)]
enum Step {
    Write,
    /// Pushes a program, which deletes all entries.
    Commit,
    /// Pushes a program and keeps the entries.
    Reconcile,
    /// Pushes a program that does not compile.
    Refused,
    /// Connects another controller, which becomes the primary.
    Succeed,
    PacketOuts,
}

/// Controllers that succeed each other, write, and push programs.
struct Mixture {
    address: SocketAddr,
    election: u128,
    primary: Controller,
    /// The former primary, which does not read its stream.
    former: Option<Controller>,
    programs: [v1::ForwardingPipelineConfig; 2],
    random: Rng,
}

impl Mixture {
    /// Returns the next step with its updates, and the entries after it.
    fn next(&mut self, names: &Names, before: &Stations) -> (Step, Vec<v1::Update>, Stations) {
        let step = match self.random.u8(..20) {
            0..12 => Step::Write,
            12 => Step::Commit,
            13 | 14 => Step::Reconcile,
            15 | 16 => Step::Refused,
            17 | 18 => Step::Succeed,
            _ => Step::PacketOuts,
        };
        let (updates, after) = match step {
            Step::Write => batch(names, before, &mut self.random),
            Step::Commit => (Vec::new(), Stations::new()),
            Step::Reconcile | Step::Refused | Step::Succeed | Step::PacketOuts => {
                (Vec::new(), before.clone())
            }
        };
        (step, updates, after)
    }

    /// Performs a step and waits for its answer.
    async fn perform(&mut self, step: Step, updates: Vec<v1::Update>) {
        let program = self.random.usize(..self.programs.len());
        let program = self.programs[program].clone();
        let client = &mut self.primary.client;
        match step {
            Step::Write => {
                let written = client.write(updates, Atomicity::ContinueOnError).await;
                written.expect("all of it is right");
            }
            Step::Commit => {
                let pushed = client.set_pipeline(Action::VerifyAndCommit, Some(program)).await;
                pushed.expect("the switch runs it");
            }
            Step::Reconcile => {
                let pushed = client.set_pipeline(Action::ReconcileAndCommit, Some(program)).await;
                pushed.expect("the switch runs it");
            }
            Step::Refused => {
                let p4_device_config = "header h_t {".into();
                let wrong = v1::ForwardingPipelineConfig { p4_device_config, ..program };
                let pushed = client.set_pipeline(Action::VerifyAndCommit, Some(wrong)).await;
                pushed.expect_err("it does not compile");
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
                self.primary.sender.packet_outs((0..100).map(|number| out(1 + number % 3)));
            }
        }
    }
}

/// Kills a switch at a random moment while packets pass it, hostile connections come and go,
/// controllers succeed each other, and programs are pushed and refused. All that was answered is
/// there after the next start. `PLANIMETER_KILLS` sets the number of kills.
#[tokio::test]
async fn what_was_answered_beside_everything_else_is_there_again() {
    let (kills, seed) = kills_and_seed(4);
    let mut random = Rng::with_seed(seed);
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state");
    let names = Names::new();
    let other = PROGRAM.replace("h.packet_in.setValid();", "h.packet_in.setValid(); h.h.from = 1;");
    let mut expected = Expected::default();
    let mut performed = BTreeMap::new();
    for kill in 0..kills {
        let switch = Killed::start("forwards_until_it_is_killed", &state);
        let (address, stop) = (switch.address, Arc::new(AtomicBool::new(false)));
        let (stopped, seeded) = (Arc::clone(&stop), random.u64(..));
        let hostile = std::thread::spawn(move || hostile::attack(address, &stopped, seeded));
        let mut primary = switch.controller(1).await;
        if kill == 0 {
            primary.push(PROGRAM).await;
        }
        expected.check(stations(&mut primary).await, &format!("seed {seed}, kill {kill}"));
        let (programs, random_of_steps) =
            ([pushed(PROGRAM), pushed(&other)], Rng::with_seed(random.u64(..)));
        let mut mixture = Mixture {
            address,
            election: 1,
            primary,
            former: None,
            programs,
            random: random_of_steps,
        };
        let until = tokio::time::sleep(Duration::from_millis(random.u64(0..2_000)));
        tokio::pin!(until);
        loop {
            let (step, updates, after) = mixture.next(&names, &expected.answered);
            tokio::select! {
                () = mixture.perform(step, updates) => {
                    expected.answer(after);
                    *performed.entry(format!("{step:?}")).or_insert(0_u64) += 1;
                }
                () = &mut until => {
                    expected.on_its_way = Some(after);
                    break;
                }
            }
        }
        switch.kill();
        stop.store(true, Ordering::Relaxed);
        hostile.join().expect("it does not panic");
    }
    let Expected { unanswered_and_there, .. } = expected;
    println!("{kills} kills, {performed:?}, {unanswered_and_there} there that were not answered");
    assert!(performed.contains_key("Write"));
}
