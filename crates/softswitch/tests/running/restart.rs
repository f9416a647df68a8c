//! The state that is restored after a restart.

use crate::support::{Bench, Controller, DEVICE, Names, PROGRAM, options, pushed};
use fastrand::Rng;
use p4runtime::proto::v1::{
    self, entity::Entity as Kind, field_match::FieldMatchType,
    set_forwarding_pipeline_config_request::Action, write_request::Atomicity,
};
use softswitch::Durability;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

async fn entries(controller: &mut Controller) -> Vec<v1::Entity> {
    let wanted = v1::TableEntry { table_id: Names::new().table(), ..Default::default() };
    let read = controller.client.read(vec![v1::Entity { entity: Some(Kind::TableEntry(wanted)) }]);
    read.await.expect("it is there")
}

/// Starts a switch, writes entries to it and stops it.
async fn start_write_stop(state: &Path) {
    let bench = Bench::with_state(2, state);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    let names = Names::new();
    controller.insert((0..100).map(|to| names.entry(to, "forward", &[2]))).await;
}

#[tokio::test]
async fn entries_are_there_again_and_forward() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state");
    start_write_stop(&state).await;
    let mut bench = Bench::with_state(2, &state);
    bench.send(1, &[99, 1]);
    assert_eq!(bench.receive(2, 1), [[99, 1]]);
    let mut controller = Controller::of(&bench.switch, 2).await;
    assert_eq!(entries(&mut controller).await.len(), 100);
}

/// A file that was truncated after the switch had ended lacks acknowledged writes. The switch
/// refuses to start from it, the file stays unchanged, and a repaired copy holds the remaining
/// writes.
#[tokio::test]
async fn a_file_that_was_cut_off_is_refused_and_can_be_repaired() {
    let directory = tempfile::tempdir().expect("a directory");
    let [state, repaired] = ["state", "repaired"].map(|name| directory.path().join(name));
    start_write_stop(&state).await;
    let whole = std::fs::read(&state).expect("it is there");
    for missing in [1, 100, 1_000] {
        let cut = &whole[..whole.len() - missing];
        std::fs::write(&state, cut).expect("it is written");
        let refused = Bench::try_start(2, &state).expect_err("an acknowledged batch is missing");
        assert!(refused.to_string().contains("--state-repair"), "{refused}");
        assert_eq!(std::fs::read(&state).expect("it is there"), cut);
        let _ = std::fs::remove_file(&repaired);
        let report = softswitch::repair_state(&state, &repaired).expect("it can be read");
        assert_eq!(report.copied, 1, "the pipeline");
        let bench = Bench::with_state(2, &repaired);
        let mut controller = Controller::of(&bench.switch, 2).await;
        assert_eq!(entries(&mut controller).await.len(), 0, "a batch is whole or not there");
    }
}

/// The same state is restored if answers wait for the medium.
#[tokio::test]
async fn answered_writes_survive_with_sync_to_the_medium() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state");
    let durability = Durability::Medium;
    let bench = Bench::started(2, Some(&state), durability, options()).expect("it starts");
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    let names = Names::new();
    for to in 0..20 {
        controller.insert([names.entry(to, "forward", &[2])]).await;
    }
    drop(bench);
    let bench = Bench::with_state(2, &state);
    let mut controller = Controller::of(&bench.switch, 2).await;
    assert_eq!(entries(&mut controller).await.len(), 20);
}

/// Between VERIFY_AND_SAVE and COMMIT, writes go to a pipeline that does not run yet. A restart
/// before COMMIT restores the running pipeline unchanged and forgets the saved one; after COMMIT,
/// it restores the committed pipeline with its entries.
#[tokio::test]
async fn writes_to_a_saved_pipeline_are_kept_when_it_is_committed() {
    let directory = tempfile::tempdir().expect("a directory");
    let [state, before, after] =
        ["state", "before", "after"].map(|name| directory.path().join(name));
    let bench = Bench::with_state(2, &state);
    let mut controller = Controller::with(&bench.switch, PROGRAM).await;
    let names = Names::new();
    controller.insert((0..10).map(|to| names.entry(to, "forward", &[2]))).await;
    let client = &mut controller.client;
    client.set_pipeline(Action::VerifyAndSave, Some(pushed(PROGRAM))).await.expect("it is right");
    controller.insert((5..25).map(|to| names.entry(to, "forward", &[1]))).await;
    // The copy is what `kill -9` leaves: records are in the file before they are answered.
    std::fs::copy(&state, &before).expect("it is copied");
    controller.client.set_pipeline(Action::Commit, None).await.expect("one is saved");
    std::fs::copy(&state, &after).expect("it is copied");
    drop(bench);

    let mut bench = Bench::with_state(2, &before);
    let mut controller = Controller::of(&bench.switch, 2).await;
    assert_eq!(entries(&mut controller).await.len(), 10);
    bench.send(1, &[9, 1]);
    assert_eq!(bench.receive(2, 1), [[9, 1]]);
    let nothing = controller.client.set_pipeline(Action::Commit, None).await;
    assert_eq!(nothing.expect_err("what was saved is gone").code() as i32, 5);

    let mut bench = Bench::with_state(2, &after);
    let mut controller = Controller::of(&bench.switch, 2).await;
    assert_eq!(entries(&mut controller).await.len(), 20);
    bench.send(2, &[9, 1]);
    assert_eq!(bench.receive(1, 1), [[9, 1]]);
}

/// The environment variable that makes [`serves_until_it_is_killed`] a switch on this state.
const KILLED_STATE: &str = "PLANIMETER_KILLED_STATE";

/// Runs the switch that [`what_was_answered_before_any_kill_is_there_again`] kills, in a process of
/// its own.
#[test]
fn serves_until_it_is_killed() {
    let Some(state) = std::env::var_os(KILLED_STATE) else { return };
    let bench = Bench::with_state(2, Path::new(&state));
    println!("\naddress {}", bench.switch.address());
    loop {
        std::thread::park();
    }
}

/// A switch in a process of its own.
struct Killed {
    process: Child,
    address: String,
}

impl Killed {
    fn start(state: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this test"));
        command.args(["restart::serves_until_it_is_killed", "--exact", "--nocapture"]);
        command.env(KILLED_STATE, state).stdout(Stdio::piped());
        let mut process = command.spawn().expect("it starts");
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut lines = output.lines().map_while(Result::ok);
        let address = lines.find_map(|line| line.strip_prefix("address ").map(str::to_owned));
        Self { process, address: address.expect("it listens") }
    }

    async fn controller(&self, election_id: u128) -> Controller {
        Controller::at(&self.address, DEVICE, election_id).await
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

/// Returns a batch of inserts, changes and deletes for what is there, and what is there after it.
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

/// Kills a switch at a random moment of a series of batches, again and again on one file. All
/// batches that were answered are there, and the batch on its way is there as a whole or not at all.
/// `PLANIMETER_KILLS` sets the number of kills.
#[tokio::test]
async fn what_was_answered_before_any_kill_is_there_again() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let kills = number("PLANIMETER_KILLS").unwrap_or(8);
    let seed = number("PLANIMETER_SEED").unwrap_or(1);
    println!("seed {seed}");
    let mut random = Rng::with_seed(seed);
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state");
    let names = Names::new();
    let (mut answered, mut on_its_way) = (Stations::new(), None::<Stations>);
    let (mut batches, mut unanswered_and_there) = (0_u64, 0_u64);
    for kill in 0..kills {
        let switch = Killed::start(&state);
        let mut controller = switch.controller(u128::from(kill) + 1).await;
        if kill == 0 {
            controller.push(PROGRAM).await;
        }
        let found = stations(&mut controller).await;
        if found != answered {
            assert_eq!(Some(&found), on_its_way.as_ref(), "seed {seed}, kill {kill}");
            unanswered_and_there += 1;
        }
        answered = found;
        let until = tokio::time::sleep(Duration::from_micros(random.u64(0..40_000)));
        tokio::pin!(until);
        loop {
            let (updates, after) = batch(&names, &answered, &mut random);
            let write = controller.client.write(updates, Atomicity::ContinueOnError);
            tokio::select! {
                outcome = write => {
                    outcome.expect("all of it is right");
                    answered = after;
                    batches += 1;
                }
                () = &mut until => {
                    on_its_way = Some(after);
                    break;
                }
            }
        }
        switch.kill();
    }
    println!(
        "{kills} kills, {batches} batches answered, {unanswered_and_there} there that were not"
    );
    assert!(batches > 0);
}
