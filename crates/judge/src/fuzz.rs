//! Random sequences of writes, whose answers and effects are compared with a model of the device.
//!
//! Requests are made from a seed and the P4Info of the device: entries, default entries,
//! members, groups, multicast groups and clone sessions are inserted, modified and deleted, and a
//! part of the updates has a fault. After each request, the
//! answers and the entities that the device returns have to be those of the [`Model`]. A sequence
//! that shows a fault is shortened as long as it shows it, so that what remains can be read, and
//! repeated with [`replay`].

mod generate;
mod model;
mod scope;
mod shrink;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use protos::v1::{self, update::Type};
use tonic::Code;

use self::generate::{FIRST_REPLICATED, Generator};
use self::model::{Expected, Model, normal};
use self::scope::Scope;
use crate::bench::{Bench, table_entry};
use crate::channel::{ConnectError, Target, name};
use crate::demands::Fault;
use crate::entities::{delete, modify};
use crate::subject::Table;

/// The settings of a search.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The seed of all random choices. The same seed makes the same requests on the same device.
    pub seed: u64,
    /// The number of requests.
    pub requests: u64,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Fuzzed {
    /// The number of requests that were sent before a fault was found.
    pub requests: u64,
    /// The updates that were sent, by what they are about and their type.
    pub counts: Vec<Count>,
    /// The fault that was found; `None` if there is none.
    pub finding: Option<Finding>,
    /// The entities that could not be deleted at the end, or why they could not be.
    pub left: Option<String>,
}

/// The numbers of updates of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The kind: the type of the updates and their subject, such as `insert of an entry`.
    pub what: &'static str,
    /// Those that the device accepted.
    pub accepted: u64,
    /// Those that the device refused.
    pub refused: u64,
}

/// A fault of a device.
#[derive(Clone, Debug)]
pub struct Finding {
    /// A description of the fault: how an answer or the entities of the device differ from what the
    /// specification demands, or how the connection failed.
    pub why: String,
    /// The requests that show it, shortened as far as possible.
    pub steps: Vec<Step>,
    /// The number of requests that had been sent when the fault was found.
    pub found_after: u64,
    /// The number of repetitions, out of three, in which the fault appeared.
    pub repeated: u32,
}

/// A request of a sequence.
#[derive(Clone, Debug)]
pub struct Step {
    /// The updates.
    pub updates: Vec<v1::Update>,
    /// The demanded answer to each update, in words.
    pub expected: Vec<String>,
    /// The answer to each update.
    pub answered: Vec<String>,
}

/// Searches for a fault. If `stop` is set, ends soon. `progress` is called with the number of
/// requests that were sent and of all. Everything that was inserted is deleted at the end.
///
/// # Errors
/// Returns an error if the device cannot be reached, has another primary controller, or has no
/// pipeline with tables or profiles of which requests can be made.
pub fn fuzz(
    target: &Target,
    settings: &Settings,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Fuzzed, ConnectError> {
    fuzz_on(&mut Bench::open(target)?, settings, stop, progress)
}

pub(crate) fn fuzz_on(
    bench: &mut Bench,
    settings: &Settings,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Fuzzed, ConnectError> {
    let mut run = Run::new(bench);
    let subject = run.bench.subject.clone();
    let mut generator = Generator::new(&subject, &run.scopes, settings.seed);
    if generator.is_empty() {
        return Err(ConnectError::NothingToWrite);
    }
    let mut sent: Vec<Vec<v1::Update>> = Vec::new();
    let mut found = None;
    while found.is_none()
        && (sent.len() as u64) < settings.requests
        && !stop.load(Ordering::Relaxed)
    {
        let updates = generator.request(&run.model);
        sent.push(updates.clone());
        found = run.step(updates).err();
        progress(sent.len() as u64, settings.requests);
    }
    let requests = sent.len() as u64;
    let counts = run.counts();
    let finding = found.map(|mismatch| shrink::shortest(&mut run, sent, mismatch, stop));
    let left = run.reset().err();
    Ok(Fuzzed { requests, counts, finding, left })
}

/// Sends the requests of a sequence, as [`fuzz`] does.
///
/// # Errors
/// See [`fuzz`].
pub fn replay(target: &Target, requests: Vec<Vec<v1::Update>>) -> Result<Fuzzed, ConnectError> {
    let mut bench = Bench::open(target)?;
    let mut run = Run::new(&mut bench);
    let found = run.all(&requests).err();
    let counts = run.counts();
    let count = requests.len() as u64;
    let finding = found.map(|mismatch| shrink::finding(&mut run, requests, mismatch, count));
    let left = run.reset().err();
    Ok(Fuzzed { requests: count, counts, finding, left })
}

/// The kind of a difference from the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// An answer.
    Answer,
    /// The entities of the device.
    State,
    /// The connection, which failed.
    Connection,
}

/// A difference between the device and the model.
#[derive(Clone, Debug)]
struct Mismatch {
    class: Class,
    why: String,
}

/// A sequence under way.
struct Run<'a> {
    bench: &'a mut Bench,
    model: Model,
    /// The parts of the state that are written and compared.
    scopes: Vec<Scope>,
    /// The entities of these parts that the device had before, in normal form.
    present: Vec<v1::Entity>,
    /// The accepted and the refused updates by kind.
    counts: BTreeMap<&'static str, (u64, u64)>,
    /// The requests and answers since the last reset.
    steps: Vec<Step>,
}

impl<'a> Run<'a> {
    fn new(bench: &'a mut Bench) -> Self {
        let scopes = scopes(bench);
        let mut run = Self {
            bench,
            model: Model::default(),
            scopes: Vec::new(),
            present: Vec::new(),
            counts: BTreeMap::new(),
            steps: Vec::new(),
        };
        for scope in scopes {
            // A part that cannot be read is left out.
            let Ok(found) = run.read(vec![scope.wildcard()]) else { continue };
            let is_ours = |entity: &v1::Entity| {
                (FIRST_REPLICATED..FIRST_REPLICATED + 8).contains(&generate::id_of(entity))
            };
            if !found.iter().any(is_ours) && run.is_known(scope, &found) {
                run.scopes.push(scope);
                run.present.extend(found.into_iter().map(normal));
            }
        }
        run.model = run.empty_model();
        run
    }

    /// Returns whether a default entry is that of the program. If another controller has modified
    /// it, the action that returns with a MODIFY without action is not known.
    fn is_known(&self, scope: Scope, found: &[v1::Entity]) -> bool {
        let Scope::DefaultEntry(table_id) = scope else { return true };
        let entry = found.iter().cloned().find_map(table_entry);
        let action = entry.and_then(|entry| entry.action).and_then(|action| action.r#type);
        let Some(v1::table_action::Type::Action(action)) = action else { return false };
        self.bench.p4info.tables.iter().any(|table| {
            let is_table = table.preamble.as_ref().is_some_and(|one| one.id == table_id);
            let initial = table.initial_default_action.as_ref();
            is_table && initial.is_some_and(|initial| initial.action_id == action.action_id)
        })
    }

    fn counts(&self) -> Vec<Count> {
        let counts = self.counts.iter();
        counts
            .map(|(what, (accepted, refused))| Count {
                what,
                accepted: *accepted,
                refused: *refused,
            })
            .collect()
    }

    /// Sends requests one after the other, until one shows a fault.
    fn all(&mut self, requests: &[Vec<v1::Update>]) -> Result<(), Mismatch> {
        requests.iter().try_for_each(|updates| self.step(updates.clone()))
    }

    /// Sends a request, and compares its answer and what the device has afterwards with the model.
    fn step(&mut self, updates: Vec<v1::Update>) -> Result<(), Mismatch> {
        let expected: Vec<Expected> =
            updates.iter().map(|update| self.model.expected(&self.bench.subject, update)).collect();
        let request = self.bench.write_request(updates.clone());
        let answer = self
            .bench
            .channel
            .write(request)
            .map_err(|lost| Mismatch { class: Class::Connection, why: lost.0 });
        self.bench.take_exchanges();
        let codes: Vec<Code> = match &answer {
            Ok(answer) => (0..updates.len()).map(|index| answer.of(index)).collect(),
            Err(_) => Vec::new(),
        };
        self.steps.push(Step {
            updates: updates.clone(),
            expected: expected.iter().map(Expected::words).collect(),
            answered: codes.iter().map(|code| name(*code).to_owned()).collect(),
        });
        answer?;
        for ((update, expected), code) in updates.iter().zip(&expected).zip(&codes) {
            let counted = self.counts.entry(what(update)).or_default();
            match code {
                Code::Ok => counted.0 += 1,
                _ => counted.1 += 1,
            }
            // A device may be full (9.1). Then nothing is inserted.
            if *expected == Expected::Accepted && *code == Code::ResourceExhausted {
                continue;
            }
            if !expected.admits(*code) {
                return Err(Mismatch {
                    class: Class::Answer,
                    why: format!(
                        "the {} was answered {} where {} is demanded",
                        what(update),
                        name(*code),
                        expected.words()
                    ),
                });
            }
            if *code == Code::Ok {
                self.model.apply(update);
            }
        }
        self.compare(&updates)
    }

    /// Compares the parts of the state that these updates are about with the model.
    fn compare(&mut self, updates: &[v1::Update]) -> Result<(), Mismatch> {
        let entities = updates.iter().filter_map(|update| update.entity.as_ref());
        let mut scopes: BTreeSet<Scope> = entities.filter_map(Scope::of).collect();
        scopes.retain(|scope| self.scopes.contains(scope));
        for scope in scopes {
            let found = self.read(vec![scope.wildcard()])?.into_iter().map(normal).collect();
            let mut wanted = self.model.entities(scope);
            // A modified default entry takes the place of the one before.
            if wanted.is_empty() || !matches!(scope, Scope::DefaultEntry(_)) {
                wanted.extend(self.before(scope));
            }
            differs(found, wanted, scope.name())?;
        }
        Ok(())
    }

    /// Returns the entities of a part of the state that the device had before.
    fn before(&self, scope: Scope) -> impl Iterator<Item = v1::Entity> {
        self.present.iter().filter(move |entity| Scope::of(entity) == Some(scope)).cloned()
    }

    fn read(&mut self, entities: Vec<v1::Entity>) -> Result<Vec<v1::Entity>, Mismatch> {
        let found = self.bench.read(entities);
        self.bench.take_exchanges();
        found.map_err(|fault| match fault {
            Fault::Broken(why) | Fault::NotApplicable(why) => Mismatch { class: Class::State, why },
            Fault::Lost(why) => Mismatch { class: Class::Connection, why },
        })
    }

    /// Deletes everything that the device has beside what it had before, puts default entries back,
    /// and forgets the model. Returns why that failed.
    fn reset(&mut self) -> Result<(), String> {
        self.model = self.empty_model();
        self.steps.clear();
        for scope in self.scopes.clone() {
            let found = self.read(vec![scope.wildcard()]).map_err(|mismatch| mismatch.why)?;
            let own = found.into_iter().map(normal).filter(|entity| !self.present.contains(entity));
            let own: Vec<_> = own.collect();
            let updates = match scope {
                Scope::DefaultEntry(_) if !own.is_empty() => {
                    self.before(scope).map(modify).collect()
                }
                Scope::DefaultEntry(_) => Vec::new(),
                _ => own.into_iter().map(delete).collect(),
            };
            self.write(updates)?;
        }
        Ok(())
    }

    fn empty_model(&self) -> Model {
        let entries: Vec<_> = self.present.iter().cloned().filter_map(table_entry).collect();
        Model::beside(&entries)
    }

    fn write(&mut self, updates: Vec<v1::Update>) -> Result<(), String> {
        if updates.is_empty() {
            return Ok(());
        }
        let request = self.bench.write_request(updates);
        let answer = self.bench.channel.write(request).map_err(|lost| lost.0)?;
        self.bench.take_exchanges();
        match answer.is_ok() {
            true => Ok(()),
            false => Err(format!("entities could not be restored: {}", name(answer.code))),
        }
    }
}

/// Returns the parts of the state of a device that can be written, in the order of their deletion.
fn scopes(bench: &mut Bench) -> Vec<Scope> {
    let mut scopes: Vec<Scope> = bench.usable().iter().map(|id| Scope::Entries(*id)).collect();
    let is_open =
        |table: &&Table| !table.is_const && !table.has_const_default && table.profile.is_none();
    let defaults = bench.subject.tables.iter().filter(is_open);
    scopes.extend(defaults.map(|table| Scope::DefaultEntry(table.id)));
    for profile in bench.member_profiles() {
        let table = bench.subject.member_table(profile).map(|table| Scope::Entries(table.id));
        scopes.extend(table);
        scopes.extend([Scope::Groups(profile), Scope::Members(profile)]);
    }
    if bench.replicates() {
        scopes.extend([Scope::MulticastGroups, Scope::CloneSessions]);
    }
    scopes.sort_unstable();
    scopes.dedup();
    scopes
}

/// Returns the difference between the entities that a device has and those that it should have.
fn differs(found: Vec<v1::Entity>, wanted: Vec<v1::Entity>, what: &str) -> Result<(), Mismatch> {
    let text = |entity: &v1::Entity| protos::text("p4.v1.Entity", entity);
    let missing = wanted.iter().find(|one| !found.contains(one));
    let excess = found.iter().find(|one| !wanted.contains(one));
    let why = match (missing, excess) {
        (None, None) if found.len() == wanted.len() => return Ok(()),
        (None, None) => format!("one {what} is returned more than once"),
        (Some(missing), None) => format!("one {what} is missing: {}", text(missing)),
        (None, Some(excess)) => format!("one {what} should not be there: {}", text(excess)),
        (Some(missing), Some(excess)) => {
            format!("in the place of {} there is {}", text(missing), text(excess))
        }
    };
    Err(Mismatch { class: Class::State, why })
}

/// Returns the type of an update and the kind of its entity.
fn what(update: &v1::Update) -> &'static str {
    let scope = update.entity.as_ref().and_then(Scope::of);
    match (Type::try_from(update.r#type), scope) {
        (Ok(Type::Insert), Some(Scope::Entries(_))) => "insert of an entry",
        (Ok(Type::Modify), Some(Scope::Entries(_))) => "modification of an entry",
        (Ok(Type::Delete), Some(Scope::Entries(_))) => "deletion of an entry",
        (Ok(Type::Insert), Some(Scope::DefaultEntry(_))) => "insert of a default entry",
        (Ok(Type::Modify), Some(Scope::DefaultEntry(_))) => "modification of a default entry",
        (Ok(Type::Delete), Some(Scope::DefaultEntry(_))) => "deletion of a default entry",
        (Ok(Type::Insert), Some(Scope::Members(_))) => "insert of a member",
        (Ok(Type::Modify), Some(Scope::Members(_))) => "modification of a member",
        (Ok(Type::Delete), Some(Scope::Members(_))) => "deletion of a member",
        (Ok(Type::Insert), Some(Scope::Groups(_))) => "insert of a group",
        (Ok(Type::Modify), Some(Scope::Groups(_))) => "modification of a group",
        (Ok(Type::Delete), Some(Scope::Groups(_))) => "deletion of a group",
        (Ok(Type::Insert), Some(Scope::MulticastGroups)) => "insert of a multicast group",
        (Ok(Type::Modify), Some(Scope::MulticastGroups)) => "modification of a multicast group",
        (Ok(Type::Delete), Some(Scope::MulticastGroups)) => "deletion of a multicast group",
        (Ok(Type::Insert), Some(Scope::CloneSessions)) => "insert of a clone session",
        (Ok(Type::Modify), Some(Scope::CloneSessions)) => "modification of a clone session",
        (Ok(Type::Delete), Some(Scope::CloneSessions)) => "deletion of a clone session",
        _ => "update of another kind",
    }
}
