//! Tests of a switch in a process of its own that is killed at random moments. Everything that it
//! acknowledged must be there after the next start.

use crate::restart::entries;
use crate::support::{Bench, Controller, DEVICE, Names, PROGRAM};
use fastrand::Rng;
use p4runtime::proto::v1::{
    self, entity::Entity as Kind, field_match::FieldMatchType, write_request::Atomicity,
};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::{BufRead, BufReader, Lines, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The environment variable that makes [`serves_until_it_is_killed`] and
/// `mixture::forwards_until_it_is_killed` a switch on this state.
pub(crate) const KILLED_STATE: &str = "PLANIMETER_KILLED_STATE";
/// The environment variable with the seed of the random choices of a killed switch's process.
pub(crate) const KILLED_SEED: &str = "PLANIMETER_KILLED_SEED";
/// The beginning of the line with the addresses at which a killed switch serves.
const ADDRESSES: &str = "addresses ";

/// Runs the switch that [`what_was_answered_before_any_kill_is_there_again`] kills, in a process of
/// its own.
#[test]
fn serves_until_it_is_killed() {
    let Some(state) = std::env::var_os(KILLED_STATE) else { return };
    let bench = Bench::with_state(2, Path::new(&state));
    serve_at(&[bench.switch.address()]);
    while next_question().is_some() {}
}

/// Tells the process that started this one the addresses at which the switch serves.
pub(crate) fn serve_at(addresses: &[SocketAddr]) {
    let addresses: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    // The line before may be incomplete.
    println!("\n{ADDRESSES}{}", addresses.join(" "));
}

/// Waits for the next line of the process that started this one. Returns `None` if that process has
/// ended.
pub(crate) fn next_question() -> Option<String> {
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line).expect("the input is a pipe");
    (read > 0).then(|| line.trim_end().to_owned())
}

/// A switch in a process of its own. Dropping it kills the process.
pub(crate) struct Killed {
    process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// The addresses at which the switch serves. P4Runtime's is the first.
    pub(crate) addresses: Vec<SocketAddr>,
}

impl Killed {
    /// Starts the switch of the test with this path in a process of its own, with a seed for the
    /// random choices of that process.
    pub(crate) fn start(test: &str, state: &Path, seed: u64) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this test"));
        command.args([test, "--exact", "--nocapture"]);
        command.env(KILLED_STATE, state).env(KILLED_SEED, seed.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("it starts");
        let input = process.stdin.take().expect("a pipe");
        let output = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        let mut killed = Self { process, input, output, addresses: Vec::new() };
        let addresses = killed.answer(ADDRESSES);
        let parsed = addresses.split(' ').map(|address| address.parse().expect("an address"));
        killed.addresses = parsed.collect();
        killed
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// Sends a line to the process, and returns the rest of the line of its output that begins with
    /// `start`.
    pub(crate) fn ask(&mut self, question: &str, start: &str) -> String {
        writeln!(self.input, "{question}").expect("the process runs");
        self.answer(start)
    }

    fn answer(&mut self, start: &str) -> String {
        let mut lines = self.output.by_ref().map_while(Result::ok);
        let answer = lines.find_map(|line| line.strip_prefix(start).map(str::to_owned));
        answer.expect("the process answers; what it wrote before it ended is above")
    }

    pub(crate) async fn controller(&self, election_id: u128) -> Controller {
        Controller::at_last(self.address(), DEVICE, election_id).await
    }

    /// Kills the process, which must still run.
    pub(crate) fn kill(mut self) {
        let ended = self.process.try_wait().expect("it is a child");
        assert_eq!(ended, None, "the switch ended before it was killed");
        self.process.kill().expect("it runs");
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        // The process may have been killed before.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The entries of the table: the port of each address.
pub(crate) type Stations = BTreeMap<u8, u8>;

pub(crate) async fn stations(controller: &mut Controller) -> Stations {
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

/// The state that a killed switch must have after its next start.
#[derive(Default)]
pub(crate) struct Expected<T> {
    /// The state after the last answer.
    pub(crate) answered: T,
    /// The state after the request that was not answered, if there was one.
    pub(crate) on_its_way: Option<T>,
    pub(crate) answers: u64,
    pub(crate) unanswered_and_there: u64,
}

impl<T: Debug + PartialEq> Expected<T> {
    /// Compares the state after a start. A request that was not answered is there as a whole or not
    /// at all.
    pub(crate) fn check(&mut self, found: T, place: &str) {
        if found != self.answered {
            let answered = &self.answered;
            let on_its_way = self.on_its_way.as_ref();
            assert_eq!(Some(&found), on_its_way, "{place}; answered before: {answered:?}");
            self.unanswered_and_there += 1;
        }
        (self.answered, self.on_its_way) = (found, None);
    }

    pub(crate) fn answer(&mut self, after: T) {
        self.answered = after;
        self.answers += 1;
    }
}

/// Returns the number in an environment variable, or `usual` if the variable is not set.
pub(crate) fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

/// Returns the seed of random choices, which the environment may set.
pub(crate) fn printed_seed() -> u64 {
    let seed = number("PLANIMETER_SEED", 1);
    println!("seed {seed}");
    seed
}

/// Kills a switch at a random moment of a series of batches, again and again on one file. After
/// each restart, all batches that were answered must be there, and the batch that was on its way
/// must be there as a whole or not at all. `PLANIMETER_KILLS` sets the number of kills.
#[tokio::test]
async fn what_was_answered_before_any_kill_is_there_again() {
    let (kills, seed) = (number("PLANIMETER_KILLS", 8), printed_seed());
    let mut random = Rng::with_seed(seed);
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state");
    let names = Names::new();
    let mut expected = Expected::default();
    for kill in 0..kills {
        let switch = Killed::start("killed::serves_until_it_is_killed", &state, seed);
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
