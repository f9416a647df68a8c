//! Random sequences of writes, whose answers and effects are compared with a model of the device.
//!
//! Requests are made from a seed and the P4Info of the device: entries, default entries,
//! members, groups, multicast groups and clone sessions are inserted, modified and deleted, and a
//! part of the updates has a fault or breaks a constraint of the program. After each request, the
//! answers and the entities that the device returns have to be those of the [`Model`]. In the second
//! half of a search, packets are injected in between, which change counts and registers, so these
//! are compared in the first half only. A sequence that shows a fault is shortened as long as it
//! shows it, so that what remains can be read, and repeated with [`replay`].

mod generate;
mod left_out;
mod model;
mod normal;
mod packets;
mod parts;
mod queries;
mod scope;
mod sequence;
mod settings;
mod shrink;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use protos::v1::{self, entity::Entity as Kind, update::Type};
use tonic::Code;

use self::generate::{Generator, Inlets};
use self::model::{Expected, Model};
use self::normal::{normal, without_counts};
use self::parts::{Parts, parts};
use self::scope::Scope;
pub use self::sequence::{Packet, Request, Step};
pub use self::settings::{ConstraintDuty, Settings};
use crate::bench::{Bench, table_entry};
use crate::channel::{ConnectError, Target, name};
use crate::demands::Fault;
use crate::entities::{delete, modify};
use crate::means::Means;

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Fuzzed {
    /// The number of requests that were sent before a fault was found.
    pub requests: u64,
    /// The updates that were sent, by what they are about and their type.
    pub counts: Vec<Count>,
    /// The entries that the device accepted, by table.
    pub tables: Vec<TableCount>,
    /// The number of packets that were injected.
    pub packets: u64,
    /// The parts of the program's constraints.
    pub constraints: Vec<ConstraintPart>,
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

/// The entries of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableCount {
    /// The name of the table.
    pub name: String,
    /// The insertions that the device accepted.
    pub accepted: u64,
}

/// A part of a constraint on a table or action, which must hold by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstraintPart {
    /// The table or action, such as `table MyIngress.acl`.
    pub owner: String,
    /// The text of the part.
    pub text: String,
    /// The number of updates that broke this part and nothing else.
    pub near_misses: u64,
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

/// Searches for a fault. If `stop` is set, ends soon. `means` has the ports of the device, on which
/// packets are injected if there are any. `progress` is called with the number of requests that were
/// sent and of all. Everything that was inserted is deleted at the end.
///
/// # Errors
/// Returns an error if the device cannot be reached, has another primary controller, or has no
/// pipeline with tables or profiles of which requests can be made.
pub fn fuzz(
    target: &Target,
    means: Means,
    settings: &Settings,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Fuzzed, ConnectError> {
    fuzz_on(&mut Bench::with(target, means)?, settings, stop, progress)
}

pub(crate) fn fuzz_on(
    bench: &mut Bench,
    settings: &Settings,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Fuzzed, ConnectError> {
    let mut run = Run::new(bench, settings.constraints);
    let subject = run.bench.subject.clone();
    let mut generator = Generator::new(&subject, &run.scopes, settings);
    if generator.is_empty() {
        return Err(ConnectError::NothingToWrite);
    }
    let all = settings.requests;
    let undisturbed = if run.takes_packets() { all.div_ceil(2) } else { all };
    let mut sent: Vec<Request> = Vec::new();
    let (mut found, mut requests) = (None, 0);
    while found.is_none() && requests < all && !stop.load(Ordering::Relaxed) {
        if requests == undisturbed {
            if run.reset().is_err() {
                break;
            }
            let first = Request { packets: run.first_packets(), updates: Vec::new() };
            sent = vec![first.clone()];
            found = run.step(first).and_then(|()| run.leave_out_disturbed()).err();
            generator = Generator::new(&subject, &run.scopes, settings);
            if found.is_some() || generator.is_empty() {
                break;
            }
        }
        let packets = match requests < undisturbed {
            true => Vec::new(),
            false => generator.packets(&run.inlets()),
        };
        let request = Request { packets, updates: generator.request(&run.model) };
        sent.push(request.clone());
        found = run.step(request).err();
        requests += 1;
        progress(requests, all);
        if let Some(mismatch) = found.take_if(|_| requests > undisturbed) {
            found = run.without_packets(&mut sent, mismatch);
            generator = Generator::new(&subject, &run.scopes, settings);
            if generator.is_empty() {
                break;
            }
        }
    }
    let outcome = run.outcome(requests);
    let finding = found.map(|mismatch| {
        let finding = shrink::shortest(&mut run, sent, mismatch, stop);
        Finding { found_after: requests, ..finding }
    });
    let left = run.reset().err();
    Ok(Fuzzed { finding, left, left_out: run.left_out, ..outcome })
}

/// Sends the requests of a sequence, as [`fuzz`] does.
///
/// # Errors
/// See [`fuzz`].
pub fn replay(
    target: &Target,
    means: Means,
    constraints: ConstraintDuty,
    requests: Vec<Request>,
) -> Result<Fuzzed, ConnectError> {
    let mut bench = Bench::with(target, means)?;
    let mut run = Run::new(&mut bench, constraints);
    if requests.iter().any(|request| !request.packets.is_empty()) {
        // If these packets show a fault, the requests show it too.
        let _ = run.inject(&run.first_packets());
        let _ = run.leave_out_disturbed();
    }
    let found = run.all(&requests).err();
    let count = requests.len() as u64;
    let outcome = run.outcome(count);
    let finding = found.map(|mismatch| shrink::finding(&mut run, requests, mismatch, count));
    let left = run.reset().err();
    Ok(Fuzzed { finding, left, left_out: run.left_out, ..outcome })
}

/// The kind of a difference from the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// An answer.
    Answer,
    /// The entities of the device.
    State,
    /// The messages on the stream.
    Stream,
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
    duty: ConstraintDuty,
    /// The parts of the state that are written and compared.
    scopes: Vec<Scope>,
    /// The entities of these parts that the device had before, in normal form.
    present: Vec<v1::Entity>,
    /// The parts that are neither written nor compared, each with the reason.
    left_out: Vec<String>,
    /// The accepted and the refused updates by kind.
    counts: BTreeMap<String, (u64, u64)>,
    /// The accepted insertions of entries, by table.
    inserted: BTreeMap<u32, u64>,
    /// The updates that broke nothing but a part of a constraint, by its owner and number.
    near_misses: BTreeMap<(String, usize), u64>,
    /// The number of packets that were injected.
    packets: u64,
    /// Whether packets were injected, which may change counts and registers at any time.
    is_disturbed: bool,
    /// The requests and answers since the last reset.
    steps: Vec<Step>,
}

impl<'a> Run<'a> {
    fn new(bench: &'a mut Bench, duty: ConstraintDuty) -> Self {
        let Parts { written, left_out } = parts(bench);
        let mut run = Self {
            bench,
            model: Model::default(),
            duty,
            scopes: Vec::new(),
            present: Vec::new(),
            left_out: Vec::new(),
            counts: BTreeMap::new(),
            inserted: BTreeMap::new(),
            near_misses: BTreeMap::new(),
            packets: 0,
            is_disturbed: false,
            steps: Vec::new(),
        };
        for (scope, why) in left_out {
            run.leave_out(scope, &why);
        }
        run.leave_out_actions();
        for scope in written {
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

    /// Returns what was sent so far, without a finding.
    fn outcome(&self, requests: u64) -> Fuzzed {
        Fuzzed {
            requests,
            counts: self.counts(),
            tables: self.tables(),
            packets: self.packets,
            constraints: self.constraints(),
            left_out: Vec::new(),
            finding: None,
            left: None,
        }
    }

    /// Returns the ways by which packets reach the device.
    fn inlets(&self) -> Inlets {
        let ports = self.bench.ports().unwrap_or_default();
        Inlets { ports, packet_outs: self.sends_packet_outs() }
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

    /// Returns the accepted entries of each table that is written.
    fn tables(&self) -> Vec<TableCount> {
        let is_written = |id: u32| self.scopes.contains(&Scope::Entries(id));
        let tables = self.bench.subject.tables.iter().filter(|table| is_written(table.id));
        let count = |id: u32| self.inserted.get(&id).copied().unwrap_or(0);
        tables
            .map(|table| TableCount { name: table.name.clone(), accepted: count(table.id) })
            .collect()
    }

    /// Returns the parts of all constraints.
    fn constraints(&self) -> Vec<ConstraintPart> {
        let restrictions = self.bench.subject.restrictions().into_iter();
        let parts = restrictions.flat_map(|restriction| {
            restriction.parts().into_iter().enumerate().map(|(number, text)| {
                let key = (restriction.owner.clone(), number);
                let near_misses = self.near_misses.get(&key).copied().unwrap_or(0);
                ConstraintPart { owner: key.0, text, near_misses }
            })
        });
        parts.collect()
    }

    /// Sends requests one after the other, until one shows a fault.
    fn all(&mut self, requests: &[Request]) -> Result<(), Mismatch> {
        requests.iter().try_for_each(|request| self.step(request.clone()))
    }

    /// Sends a request, and compares its answer and what the device has afterwards with the model.
    fn step(&mut self, request: Request) -> Result<(), Mismatch> {
        let injected = self.inject(&request.packets);
        let Request { packets, updates } = request;
        if injected.is_err() || updates.is_empty() {
            let request = Request { packets, updates: Vec::new() };
            self.steps.push(Step { request, expected: Vec::new(), answered: Vec::new() });
            return injected;
        }
        let subject = &self.bench.subject;
        let expected = updates.iter().map(|update| self.model.expected(subject, update, self.duty));
        let expected: Vec<Expected> = expected.collect();
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
            request: Request { packets, updates: updates.clone() },
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
            if let Some((owner, number)) = expected.near_miss() {
                *self.near_misses.entry((owner.to_owned(), number)).or_default() += 1;
            }
            if !expected.admits(*code) {
                return Err(Mismatch {
                    class: Class::Answer,
                    why: format!(
                        "the {} was answered {} where {} is demanded{}",
                        what(update),
                        name(*code),
                        expected.words(),
                        expected.because()
                    ),
                });
            }
            if *code == Code::Ok {
                if let (Type::Insert, Some(Scope::Entries(table))) =
                    (update.r#type(), update.entity.as_ref().and_then(Scope::of))
                {
                    *self.inserted.entry(table).or_default() += 1;
                }
                self.model.apply(update);
                self.model.learn(&self.bench.subject, update);
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
            self.differs(found, self.wanted(scope), scope.name())?;
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
        let found = self.read(scope.selection(&self.bench.subject))?;
        Ok(self.seen(scope, found.into_iter().map(normal).collect()))
    }

    /// Returns the entities of a part of the state, in normal form, as they are compared.
    fn seen(&self, scope: Scope, found: Vec<v1::Entity>) -> Vec<v1::Entity> {
        let mut found: Vec<v1::Entity> = match scope {
            // Packets may meet the entries of others.
            Scope::Entries(_) => found
                .into_iter()
                .map(|entity| match table_entry(entity.clone()) {
                    Some(entry) if self.model.had(&entry) => without_counts(entity),
                    _ => entity,
                })
                .collect(),
            _ => found,
        };
        if let (Scope::ValueSet(value_set_id), true) = (scope, found.is_empty()) {
            // A set without members may be returned, or not.
            found.push(v1::ValueSetEntry { value_set_id, members: Vec::new() }.into());
        }
        found
    }

    /// Returns the difference between the entities that the device has and those that it should
    /// have, apart from what packets may have changed.
    fn differs(
        &self,
        found: Vec<v1::Entity>,
        wanted: Vec<v1::Entity>,
        what: &str,
    ) -> Result<(), Mismatch> {
        let compared = |entities: Vec<v1::Entity>| match self.is_disturbed {
            true => entities.into_iter().map(without_counts).collect(),
            false => entities,
        };
        let (found, wanted) = (compared(found), compared(wanted));
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
