//! Random sequences of writes, whose answers and effects are compared with a model of the device.
//!
//! Requests are made from a seed and the P4Info of the device: entries, default entries,
//! members, groups, multicast groups and clone sessions are inserted, modified and deleted, and a
//! part of the updates has a fault. After each request, the
//! answers and the entities that the device returns have to be those of the [`Model`]. A sequence
//! that shows a fault is shortened as long as it shows it, so that what remains can be read, and
//! repeated with [`replay`].

mod generate;
mod left_out;
mod model;
mod normal;
mod queries;
mod scope;
mod shrink;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use protos::v1::{self, entity::Entity as Kind, update::Type};
use tonic::Code;

use self::generate::Generator;
use self::left_out::scopes;
use self::model::{Expected, Model};
use self::normal::normal;
use self::queries::without_counts;
use self::scope::Scope;
use crate::bench::{Bench, table_entry};
use crate::channel::{ConnectError, Target, name};
use crate::demands::Fault;
use crate::entities::{delete, modify};

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
    /// The parts of the device that were left out, each with the reason.
    pub left_out: Vec<String>,
    /// The fault that was found; `None` if there is none.
    pub finding: Option<Finding>,
    /// The entities that could not be deleted at the end, or why they could not be.
    pub left: Option<String>,
}

/// The numbers of updates of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// The kind: the type of the updates and their subject, such as `insert of an entry`.
    pub what: String,
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
    let left_out = run.left_out;
    Ok(Fuzzed { requests, counts, left_out, finding, left })
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
    let left_out = run.left_out;
    Ok(Fuzzed { requests: count, counts, left_out, finding, left })
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
    /// The parts that are neither written nor compared, each with the reason.
    left_out: Vec<String>,
    /// The accepted and the refused updates by kind.
    counts: BTreeMap<String, (u64, u64)>,
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
            left_out: Vec::new(),
            counts: BTreeMap::new(),
            steps: Vec::new(),
        };
        for scope in scopes {
            match run.usable(scope) {
                Ok(found) => {
                    run.scopes.push(scope);
                    run.present.extend(found);
                }
                Err(why) => run.leave_out(scope, &why),
            }
        }
        run.model = Model::beside(&run.present);
        run
    }

    fn counts(&self) -> Vec<Count> {
        let counts = self.counts.iter();
        counts
            .map(|(what, (accepted, refused))| Count {
                what: what.clone(),
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
        self.compare(&updates, &codes)
    }

    /// Compares the parts of the state that these updates are about with the model, and makes the
    /// Reads that fit the first accepted one.
    fn compare(&mut self, updates: &[v1::Update], codes: &[Code]) -> Result<(), Mismatch> {
        let entities = updates.iter().filter_map(|update| update.entity.as_ref());
        let mut scopes: BTreeSet<Scope> = entities.filter_map(Scope::of).collect();
        scopes.retain(|scope| self.scopes.contains(scope));
        for scope in scopes {
            let found = self.part(scope)?;
            differs(found, self.wanted(scope), scope.name())?;
        }
        let mut answered = updates.iter().zip(codes);
        match answered.find(|(_, code)| **code == Code::Ok) {
            Some((update, _)) => self.query(update),
            None => Ok(()),
        }
    }

    /// Returns the entities of a part of the state that the device should have.
    fn wanted(&self, scope: Scope) -> Vec<v1::Entity> {
        let mut wanted = self.model.entities(scope);
        // What is always there takes the place of what was there before.
        if wanted.is_empty() || !scope.is_fixed() {
            wanted.extend(self.before(scope));
        }
        wanted
    }

    /// Reads a part of the state.
    fn part(&mut self, scope: Scope) -> Result<Vec<v1::Entity>, Mismatch> {
        let found = self.read(scope.selection(&self.bench.subject))?.into_iter().map(normal);
        let mut found: Vec<v1::Entity> = match scope {
            // Packets may meet the entries of others.
            Scope::Entries(_) => found
                .map(|entity| match table_entry(entity.clone()) {
                    Some(entry) if self.model.had(&entry) => without_counts(entity),
                    _ => entity,
                })
                .collect(),
            _ => found.collect(),
        };
        if let (Scope::ValueSet(value_set_id), true) = (scope, found.is_empty()) {
            // A set without members may be returned, or not.
            found.push(v1::ValueSetEntry { value_set_id, members: Vec::new() }.into());
        }
        Ok(found)
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

    /// Deletes everything that the device has beside what it had before, puts back what is always
    /// there, and forgets the model. Returns why that failed.
    fn reset(&mut self) -> Result<(), String> {
        self.model = Model::beside(&self.present);
        self.steps.clear();
        for scope in self.scopes.clone() {
            let found = self.part(scope).map_err(|mismatch| mismatch.why)?;
            let updates: Vec<v1::Update> = match scope.is_fixed() {
                true => {
                    let lost = self.before(scope).filter(|entity| !found.contains(entity));
                    lost.map(modify).collect()
                }
                false => {
                    let is_own = |entity: &v1::Entity| !self.present.contains(entity);
                    found.into_iter().filter(is_own).map(delete).collect()
                }
            };
            self.write(updates)?;
        }
        Ok(())
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
fn what(update: &v1::Update) -> String {
    let entity = update.entity.as_ref();
    let name = match entity.and_then(|entity| entity.entity.as_ref()) {
        Some(Kind::DirectCounterEntry(_)) => "direct counter",
        Some(Kind::DirectMeterEntry(_)) => "direct meter",
        _ => entity.and_then(Scope::of).map_or("entity of another kind", Scope::name),
    };
    let kind = match Type::try_from(update.r#type) {
        Ok(Type::Insert) => "insert",
        Ok(Type::Modify) => "modification",
        Ok(Type::Delete) => "deletion",
        Ok(Type::Unspecified) | Err(_) => "update without type",
    };
    let article = if name.starts_with('e') { "an" } else { "a" };
    format!("{kind} of {article} {name}")
}
