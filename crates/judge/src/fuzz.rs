//! Sends random sequences of Write requests to a device, and compares its answers and its state
//! with a model.
//!
//! Requests are generated from a seed and the P4Info of the device. They insert, modify and delete
//! entries, default entries, members, groups, multicast groups and clone sessions; some of the
//! updates are invalid or violate a constraint of the program. After each request, the answers and
//! the entities that the device returns must be those of the [`Model`]. In the second half of a
//! run, packets are injected between requests. Packets may change counters and registers, so these
//! are compared only in the first half. If a sequence shows a fault, it is shortened as far as it
//! still shows the fault, so that a person can read it and repeat it with [`replay`].

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

/// The result of a search for faults.
#[derive(Clone, Debug)]
pub struct Fuzzed {
    /// The number of requests that were sent before a fault was found.
    pub requests: u64,
    /// The numbers of updates that were sent, for each kind of update.
    pub counts: Vec<Count>,
    /// The numbers of entries that the device accepted, for each table.
    pub tables: Vec<TableCount>,
    /// The number of packets that were injected.
    pub packets: u64,
    /// The parts of the program's constraints, with how often each was tested.
    pub constraints: Vec<ConstraintPart>,
    /// The parts of the device's state that were neither written nor compared, each with the
    /// reason.
    pub left_out: Vec<String>,
    /// The fault that was found; `None` if there is none.
    pub finding: Option<Finding>,
    /// A description of the entities that could not be deleted at the end, or of why the clean-up
    /// failed. `None` if nothing is left in the device.
    pub left: Option<String>,
}

/// The numbers of accepted and refused updates of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// The kind of update: its type and the kind of its entity, such as `insert of an entry`.
    pub what: String,
    /// The number of updates that the device accepted.
    pub accepted: u64,
    /// The number of updates that the device refused.
    pub refused: u64,
}

/// The number of entries of a table that the device accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableCount {
    /// The name of the table.
    pub name: String,
    /// The number of insertions into the table that the device accepted.
    pub accepted: u64,
}

/// A part of a constraint on a table or action. An entity satisfies the constraint only if it
/// satisfies all parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstraintPart {
    /// The table or action that has the constraint, such as `table MyIngress.acl`.
    pub owner: String,
    /// The text of this part of the constraint.
    pub text: String,
    /// The number of updates that violated this part of the constraint and were valid otherwise.
    pub near_misses: u64,
}

/// A fault of a device, with the requests that show it.
#[derive(Clone, Debug)]
pub struct Finding {
    /// A description of the fault: how an answer or the entities of the device differ from what the
    /// specification demands, or how the connection failed.
    pub why: String,
    /// The requests that show the fault, shortened as far as possible.
    pub steps: Vec<Step>,
    /// The number of requests that had been sent when the fault appeared for the first time.
    pub found_after: u64,
    /// The number of repetitions of the shortened sequence, out of three, in which the fault
    /// appeared.
    pub repeated: u32,
}

/// Searches for a fault by sending random requests. If `stop` is set, ends soon. If `means` has
/// ports of the device, also injects packets. Calls `progress` with the number of requests sent so
/// far and the number of all. Deletes everything that was inserted at the end.
///
/// # Errors
/// Returns an error if the device cannot be reached, has another primary controller, or has no
/// pipeline with tables or profiles for which requests can be generated.
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

/// Sends a given sequence of requests, and compares the device with the model after each, as
/// [`fuzz`] does.
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

/// The kind of a difference between a device and the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// The device's answer to an update or a Read request differs from the model's.
    Answer,
    /// The entities in the device differ from those of the model.
    State,
    /// A message on the stream is invalid or unexpected.
    Stream,
    /// The connection to the device failed.
    Connection,
}

/// A difference between a device and the model.
#[derive(Clone, Debug)]
struct Mismatch {
    class: Class,
    why: String,
}

/// A sequence of requests in progress.
struct Run<'a> {
    bench: &'a mut Bench,
    model: Model,
    duty: ConstraintDuty,
    /// The parts of the device's state that are written and compared.
    scopes: Vec<Scope>,
    /// The entities that were in the device before the sequence, in normal form, as far as they
    /// belong to `scopes`.
    present: Vec<v1::Entity>,
    /// The parts of the device's state that are neither written nor compared, each with the reason.
    left_out: Vec<String>,
    /// The numbers of accepted and refused updates for each kind of update.
    counts: BTreeMap<String, (u64, u64)>,
    /// The number of accepted insertions of entries for each table.
    inserted: BTreeMap<u32, u64>,
    /// The number of updates that violated one part of a constraint and were valid otherwise. The
    /// key is the owner of the constraint and the position of the part.
    near_misses: BTreeMap<(String, usize), u64>,
    /// The number of packets that were injected.
    packets: u64,
    /// Whether packets were injected. From then on, counts and registers may change at any time.
    is_disturbed: bool,
    /// The requests and answers since the device was last reset.
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

    /// Returns the result for the requests sent so far, if no fault was found.
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

    /// Returns the ports of the device, and whether packet-outs can be sent, for the injection of
    /// packets.
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

    /// Returns the number of accepted entries for each table that is written.
    fn tables(&self) -> Vec<TableCount> {
        let is_written = |id: u32| self.scopes.contains(&Scope::Entries(id));
        let tables = self.bench.subject.tables.iter().filter(|table| is_written(table.id));
        let count = |id: u32| self.inserted.get(&id).copied().unwrap_or(0);
        tables
            .map(|table| TableCount { name: table.name.clone(), accepted: count(table.id) })
            .collect()
    }

    /// Returns the parts of all constraints, each with how often it was tested.
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

    /// Sends the requests of a sequence. Returns the first difference from the model as an error.
    fn all(&mut self, requests: &[Request]) -> Result<(), Mismatch> {
        requests.iter().try_for_each(|request| self.step(request.clone()))
    }

    /// Sends a request. Returns an error if the answer, or the entities that the device then has,
    /// differ from the model.
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

    /// Compares the parts of the state that these updates change with the model. Also sends the
    /// Read requests that select the entity of the first accepted update in different ways.
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

    /// Returns the entities that a part of the device's state should contain.
    fn wanted(&self, scope: Scope) -> Vec<v1::Entity> {
        let mut wanted = self.model.entities(scope);
        // For an entity that always exists, the model's copy, if there is one, replaces the copy
        // from before the sequence.
        if wanted.is_empty() || !scope.is_fixed() {
            wanted.extend(self.before(scope));
        }
        wanted
    }

    /// Reads the entities in a part of the device's state.
    fn part(&mut self, scope: Scope) -> Result<Vec<v1::Entity>, Mismatch> {
        let found = self.read(scope.selection(&self.bench.subject))?;
        Ok(self.seen(scope, found.into_iter().map(normal).collect()))
    }

    /// Converts the entities found in a part of the device's state to the normal form in which they
    /// are compared.
    fn seen(&self, scope: Scope, found: Vec<v1::Entity>) -> Vec<v1::Entity> {
        let mut found: Vec<v1::Entity> = match scope {
            // Packets may hit entries that were in the device before the sequence, and change their
            // counts.
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

    /// Compares the entities found in the device with those that it should have, ignoring what
    /// packets may have changed. Returns a difference as an error; `what` says where it was found.
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

    /// Returns the entities that were in a part of the device's state before the sequence.
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

    /// Restores the state from before the sequence: deletes all entities that were not there,
    /// restores those that cannot be deleted, and clears the model. Returns the reason if that
    /// fails.
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

/// Returns the type of an update and the kind of its entity as text, such as `insert of an entry`.
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
