//! Digests, which are messages from packets to the control plane: their mapping to digests of
//! P4Info, and the queue in which they wait to be taken.

use super::values::to_data;
use crate::state::Digest;
use crate::sync::lock;
use entities::schema::{DigestId, Schema};
use entities::{Data, DigestConfig, Translations};
use ir::{Composite, CompositeKind, ExternId, Program, TypeId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

/// The maximum number of messages that wait to be taken. Further messages are dropped.
const MAX_WAITING: usize = 1 << 16;

/// The digests that controllers have enabled, and the messages that wait to be taken.
#[derive(Debug, Default)]
pub(super) struct Digests(Mutex<Waiting>);

/// The content of [`Digests`], which a lock protects.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) configs: BTreeMap<DigestId, Option<DigestConfig>>,
    messages: VecDeque<(DigestId, Data)>,
}

impl Digests {
    pub(super) fn lock(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.0)
    }

    /// Queues those messages whose digests are enabled. Returns how many were dropped because too
    /// many wait.
    pub(super) fn keep(&self, messages: impl Iterator<Item = (DigestId, Data)>) -> u64 {
        let mut dropped = 0;
        let mut waiting = self.lock();
        for (id, data) in messages {
            if !waiting.configs.contains_key(&id) {
                continue;
            }
            if waiting.messages.len() < MAX_WAITING {
                waiting.messages.push_back((id, data));
            } else {
                dropped += 1;
            }
        }
        dropped
    }

    pub(super) fn take(&self) -> Vec<(DigestId, Data)> {
        self.lock().messages.drain(..).collect()
    }
}

/// The digests of P4Info, by the means that identify a digest in the program.
#[derive(Debug, Default)]
pub(super) struct BoundDigests {
    /// The digests of PSA and PNA, by extern instance.
    instances: BTreeMap<ExternId, DigestId>,
    /// The digests of v1model, which P4Info names after the types of their messages.
    types: BTreeMap<TypeId, DigestId>,
    /// The digests of v1model whose messages are tuples, so that P4Info cannot name them after a
    /// type. P4Info numbers them by call. A message is assigned to the first digest whose type it
    /// has.
    unnamed: Vec<DigestId>,
}

impl BoundDigests {
    pub(super) fn new(schema: &Schema, program: &Program) -> Self {
        let mut bound = Self::default();
        for (position, instance) in program.externs.iter().enumerate() {
            if let Some(digest) = schema.digests().by_name(&instance.name) {
                bound.instances.insert(ExternId(position as u32), digest.id);
            }
        }
        for (id, _) in program.types.iter() {
            let Some(composite) = program.types.composite(id) else { continue };
            if composite.kind != CompositeKind::Tuple
                && let Some(digest) = schema.digests().by_name(&name(program, composite))
            {
                bound.types.insert(id, digest.id);
            }
        }
        let named = |id| bound.instances.values().chain(bound.types.values()).any(|one| *one == id);
        let ids = schema.digests().iter().map(|digest| digest.id);
        bound.unnamed = ids.filter(|id| !named(*id)).collect();
        bound
    }

    /// Converts a message to the form that controllers see. Returns `None` if P4Info does not have
    /// its digest, or if controllers see a number in it as a string, but no string is assigned to
    /// the number.
    pub(super) fn shown(
        &self,
        schema: &Schema,
        translations: &Translations,
        digest: &Digest,
    ) -> Option<(DigestId, Data)> {
        let shown = |id: DigestId| {
            let declared = schema.digests().get(id)?;
            Some((id, to_data(translations, &declared.data, &digest.value)?))
        };
        let known = match digest.instance {
            Some(instance) => self.instances.get(&instance),
            None => self.types.get(&digest.type_id),
        };
        match known {
            Some(id) => shown(*id),
            None if digest.instance.is_none() => self.unnamed.iter().find_map(|id| shown(*id)),
            None => None,
        }
    }
}

/// Converts a packet's message to the form that controllers see, and returns it with its digest in
/// P4Info. Returns `None` if P4Info does not have the digest, or if controllers see a value of the
/// message as a string, because only a running data plane knows the strings.
#[must_use]
pub fn digest_data(
    schema: &Schema,
    program: &Program,
    message: &Digest,
) -> Option<(DigestId, Data)> {
    let translations = Translations::new(Vec::new()).ok()?;
    BoundDigests::new(schema, program).shown(schema, &translations, message)
}

/// Returns the name that P4Info uses for a type: the one in its `@name` annotation, or its own.
/// Instances of a generic type are numbered.
fn name(program: &Program, composite: &Composite) -> String {
    let annotation = composite.annotations.iter().find(|annotation| annotation.name == "name");
    let given = annotation.and_then(ir::Annotation::single_string).unwrap_or(&composite.name);
    let given = given.strip_prefix('.').unwrap_or(given);
    let Some((base, _)) = given.split_once('<') else { return given.to_owned() };
    let others = program
        .types
        .composites
        .iter()
        .filter(|other| other.name.split_once('<').is_some_and(|(other, _)| other == base));
    let number = others.take_while(|other| other.name != composite.name).count();
    format!("{base}_{number}")
}
