//! Random sequences of writes, whose answers and effects are compared with a model of the device.
//!
//! Requests are made from a seed and the P4Info of the device: entries, members and groups are
//! inserted, modified and deleted, and a third of the updates has a fault. After each request, the
//! answers and the entities that the device returns have to be those of the [`Model`]. A sequence
//! that shows a fault is shortened as long as it shows it, so that what remains can be read, and
//! repeated with [`replay`].

mod generate;
mod model;
mod shrink;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use protos::v1::{self, entity::Entity as Kind, update::Type};
use tonic::Code;

use self::generate::Generator;
use self::model::{Expected, Model, normal_entry, normal_group, normal_member, table_of};
use crate::bench::{Bench, all_entries, table_entry};
use crate::channel::{ConnectError, Target, name};
use crate::demands::Fault;
use crate::entities::{delete, of_entry};

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

/// The number of updates of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// What they are about, and their type, such as `insert of an entry`.
    pub what: &'static str,
    /// Those that the device accepted.
    pub accepted: u64,
    /// Those that the device refused.
    pub refused: u64,
}

/// A fault of a device.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What the device did, and what is demanded.
    pub why: String,
    /// The requests that show it, shortened as far as possible.
    pub steps: Vec<Step>,
    /// The number of requests that had been sent when the fault was found.
    pub found_after: u64,
    /// In how many of three repetitions of the steps the fault appeared.
    pub repeated: u32,
}

/// A request of a sequence.
#[derive(Clone, Debug)]
pub struct Step {
    /// The updates.
    pub updates: Vec<v1::Update>,
    /// What is demanded of each update.
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
    let (subject, usable) = (run.bench.subject.clone(), run.bench.usable().to_vec());
    let mut generator = Generator::new(&subject, &usable, &run.profiles, settings.seed);
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

/// What differs from the model.
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
    /// The entries that the device had before, in normal form.
    present: Vec<v1::TableEntry>,
    /// The profiles that take members.
    profiles: Vec<u32>,
    /// The accepted and the refused updates by kind.
    counts: BTreeMap<&'static str, (u64, u64)>,
    /// The requests and answers since the last reset.
    steps: Vec<Step>,
}

impl<'a> Run<'a> {
    fn new(bench: &'a mut Bench) -> Self {
        let present = bench.present().iter().cloned().map(normal_entry).collect();
        let profiles = bench.member_profiles();
        Self {
            bench,
            model: Model::default(),
            present,
            profiles,
            counts: BTreeMap::new(),
            steps: Vec::new(),
        }
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

    /// Compares the tables and profiles of these updates with the model.
    fn compare(&mut self, updates: &[v1::Update]) -> Result<(), Mismatch> {
        let (mut tables, mut profiles) = (BTreeSet::new(), BTreeSet::new());
        for update in updates {
            match update.entity.as_ref().and_then(|entity| entity.entity.as_ref()) {
                Some(Kind::TableEntry(entry)) => drop(tables.insert(entry.table_id)),
                Some(Kind::ActionProfileMember(member)) => {
                    profiles.insert(member.action_profile_id);
                }
                Some(Kind::ActionProfileGroup(group)) => {
                    profiles.insert(group.action_profile_id);
                }
                _ => {}
            }
        }
        tables.retain(|id| self.bench.subject.tables.iter().any(|table| table.id == *id));
        for table_id in tables {
            let found = self.read(vec![all_entries(table_id)])?;
            let found = found.into_iter().filter_map(table_entry).map(normal_entry);
            let wanted = self.model.entries(table_id).cloned();
            let wanted: Vec<_> = self
                .present
                .iter()
                .filter(|entry| entry.table_id == table_id)
                .cloned()
                .chain(wanted)
                .collect();
            differs(found.collect(), wanted, "entry", of_entry)?;
        }
        for profile in profiles {
            let members =
                v1::ActionProfileMember { action_profile_id: profile, ..Default::default() };
            let of_member = |member: v1::ActionProfileMember| v1::Entity {
                entity: Some(Kind::ActionProfileMember(member)),
            };
            let found = self.read(vec![of_member(members)])?;
            let found = found.into_iter().filter_map(|entity| match entity.entity {
                Some(Kind::ActionProfileMember(member)) => Some(normal_member(member)),
                _ => None,
            });
            let wanted = self.model.members(profile).cloned().collect();
            differs(found.collect(), wanted, "member", |member| of_member(member.clone()))?;
            let groups =
                v1::ActionProfileGroup { action_profile_id: profile, ..Default::default() };
            let of_group = |group: v1::ActionProfileGroup| v1::Entity {
                entity: Some(Kind::ActionProfileGroup(group)),
            };
            let found = self.read(vec![of_group(groups)])?;
            let found = found.into_iter().filter_map(|entity| match entity.entity {
                Some(Kind::ActionProfileGroup(group)) => Some(normal_group(group)),
                _ => None,
            });
            let wanted = self.model.groups(profile).cloned().collect();
            differs(found.collect(), wanted, "group", |group| of_group(group.clone()))?;
        }
        Ok(())
    }

    fn read(&mut self, entities: Vec<v1::Entity>) -> Result<Vec<v1::Entity>, Mismatch> {
        let found = self.bench.read(entities);
        self.bench.take_exchanges();
        found.map_err(|fault| match fault {
            Fault::Broken(why) | Fault::NotApplicable(why) => Mismatch { class: Class::State, why },
            Fault::Lost(why) => Mismatch { class: Class::Connection, why },
        })
    }

    /// Deletes everything that the device has beside what it had before, and forgets the model.
    /// Returns why that failed.
    fn reset(&mut self) -> Result<(), String> {
        self.model = Model::default();
        self.steps.clear();
        let subject = self.bench.subject.clone();
        let usable = self.bench.usable().to_vec();
        let of_profile = self.profiles.iter().filter_map(|profile| table_of(&subject, *profile));
        let tables: Vec<u32> = usable.into_iter().chain(of_profile.map(|table| table.id)).collect();
        for table_id in tables {
            let found = self.read(vec![all_entries(table_id)]).map_err(|mismatch| mismatch.why)?;
            let found = found.into_iter().filter_map(table_entry).map(normal_entry);
            let own: Vec<_> = found.filter(|entry| !self.present.contains(entry)).collect();
            self.remove(own.iter().map(of_entry).collect())?;
        }
        for profile in self.profiles.clone() {
            let group = v1::ActionProfileGroup { action_profile_id: profile, ..Default::default() };
            let groups = v1::Entity::from(group);
            let found = self.read(vec![groups]).map_err(|mismatch| mismatch.why)?;
            self.remove(found)?;
            let member =
                v1::ActionProfileMember { action_profile_id: profile, ..Default::default() };
            let members = v1::Entity::from(member);
            let found = self.read(vec![members]).map_err(|mismatch| mismatch.why)?;
            self.remove(found)?;
        }
        Ok(())
    }

    fn remove(&mut self, entities: Vec<v1::Entity>) -> Result<(), String> {
        if entities.is_empty() {
            return Ok(());
        }
        let request = self.bench.write_request(entities.into_iter().map(delete).collect());
        let answer = self.bench.channel.write(request).map_err(|lost| lost.0)?;
        self.bench.take_exchanges();
        match answer.is_ok() {
            true => Ok(()),
            false => Err(format!("entities could not be deleted: {}", name(answer.code))),
        }
    }
}

/// Returns the difference between what a device has and what it should have.
fn differs<T: PartialEq>(
    found: Vec<T>,
    wanted: Vec<T>,
    what: &str,
    entity: impl Fn(&T) -> v1::Entity,
) -> Result<(), Mismatch> {
    let text = |one: &T| protos::text("p4.v1.Entity", &entity(one));
    let missing = wanted.iter().find(|one| !found.contains(one));
    let excess = found.iter().find(|one| !wanted.contains(one));
    let why = match (missing, excess) {
        (None, None) if found.len() == wanted.len() => return Ok(()),
        (None, None) => format!("an {what} is returned more than once"),
        (Some(missing), None) => format!("an {what} is missing: {}", text(missing)),
        (None, Some(excess)) => format!("an {what} is there that should not be: {}", text(excess)),
        (Some(missing), Some(excess)) => {
            format!("in the place of {} there is {}", text(missing), text(excess))
        }
    };
    Err(Mismatch { class: Class::State, why })
}

/// Returns the type of an update and what it is about.
fn what(update: &v1::Update) -> &'static str {
    let kind = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
    match (Type::try_from(update.r#type), kind) {
        (Ok(Type::Insert), Some(Kind::TableEntry(_))) => "insert of an entry",
        (Ok(Type::Modify), Some(Kind::TableEntry(_))) => "modification of an entry",
        (Ok(Type::Delete), Some(Kind::TableEntry(_))) => "deletion of an entry",
        (Ok(Type::Insert), Some(Kind::ActionProfileMember(_))) => "insert of a member",
        (Ok(Type::Modify), Some(Kind::ActionProfileMember(_))) => "modification of a member",
        (Ok(Type::Delete), Some(Kind::ActionProfileMember(_))) => "deletion of a member",
        (Ok(Type::Insert), Some(Kind::ActionProfileGroup(_))) => "insert of a group",
        (Ok(Type::Modify), Some(Kind::ActionProfileGroup(_))) => "modification of a group",
        (Ok(Type::Delete), Some(Kind::ActionProfileGroup(_))) => "deletion of a group",
        _ => "update of another kind",
    }
}
