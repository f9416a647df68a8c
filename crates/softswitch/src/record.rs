//! The encoding of a device's persistent state as journal records.
//!
//! The record covers the pipeline, the queues of ports, entries, default entries, members, groups,
//! multicast groups, clone sessions, value sets, and the configuration of meters and digests. It
//! excludes state that packets produce: counters and registers, even where a controller wrote them,
//! and entries that packets added.

pub(crate) mod pairs;

use entities::TranslationPair;
use journal::{Kind, Unreadable};
use p4runtime::control;
use p4runtime::proto::switch::SetQueuesRequest;
use p4runtime::proto::v1::{
    Entity, ForwardingPipelineConfig, TableEntry, Update, WriteRequest,
    entity::Entity as EntityKind,
};
use prost::Message;
use prost::encoding::message;
use queues::Configuration;

/// The kind of a journal record that starts a new pipeline. Its tables contain only the entries
/// that the program declares.
pub(crate) const PIPELINE: Kind = Kind(1);
/// The kind of a journal record of controllers' updates that took effect.
pub(crate) const WRITE: Kind = Kind(2);
/// The kind of a journal record that maps strings of translated types to numbers. It precedes the
/// updates that contain the strings, so that the strings get the same numbers again.
pub(crate) const PAIRS: Kind = Kind(3);
/// The kind of a journal record with the queues of all ports, as a client set them. It replaces
/// earlier records of this kind, and does not depend on the pipeline.
pub(crate) const QUEUES: Kind = Kind(4);
/// The number of updates per record when the journal is rewritten.
const CHUNK: usize = 1_000;
/// The tag of `WriteRequest.updates`.
const UPDATES: u32 = 4;

/// A decoded record of a device's journal.
pub(crate) enum Record {
    Pipeline(Box<ForwardingPipelineConfig>),
    Write(Vec<Update>),
    Pairs(Vec<TranslationPair>),
    Queues(Configuration),
}

/// Returns the body of a record of queues, which is encoded as a request that sets them.
pub(crate) fn queues(configuration: &Configuration) -> Vec<u8> {
    let ports = configuration.0.iter().map(|(port, queues)| control::message(*port, queues));
    SetQueuesRequest { ports: ports.collect(), ..SetQueuesRequest::default() }.encode_to_vec()
}

pub(crate) fn decode(record: journal::Record<'_>) -> Result<Record, Unreadable> {
    let undecodable = |_| Unreadable::Body;
    match record.kind {
        PIPELINE => {
            let config = ForwardingPipelineConfig::decode(record.body);
            config.map(|config| Record::Pipeline(Box::new(config))).map_err(undecodable)
        }
        WRITE => {
            let request = WriteRequest::decode(record.body);
            request.map(|request| Record::Write(request.updates)).map_err(undecodable)
        }
        PAIRS => pairs::decode(record.body).map(Record::Pairs).ok_or(Unreadable::Body),
        QUEUES => {
            let request = SetQueuesRequest::decode(record.body).map_err(undecodable)?;
            let queues = control::configuration(&request.ports);
            queues.map(Record::Queues).map_err(|_| Unreadable::Body)
        }
        _ => Err(Unreadable::Kind),
    }
}

/// The body of a record of updates, encoded as a `WriteRequest` that has no other fields.
#[derive(Debug, Default)]
pub(crate) struct Updates {
    bytes: Vec<u8>,
    count: usize,
}

impl Updates {
    /// Adds the persistent part of an update to the body. Values that packets produce are omitted.
    pub(crate) fn push(&mut self, update: &Update) {
        match reduced(update) {
            Reduced::Same => message::encode(UPDATES, update, &mut self.bytes),
            Reduced::Other(update) => message::encode(UPDATES, &*update, &mut self.bytes),
            Reduced::Nothing => return,
        }
        self.count += 1;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.count >= CHUNK
    }

    /// Returns the body, which becomes empty. Returns `None` if no update was added.
    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        let Self { bytes, count } = std::mem::take(self);
        (count > 0).then_some(bytes)
    }
}

/// The persistent part of an update: the update itself, a reduced update, or nothing.
enum Reduced {
    Same,
    Other(Box<Update>),
    Nothing,
}

/// Returns whether every part of an update is persistent. If so, the request can be recorded
/// exactly as its controller encoded it.
pub(crate) fn is_kept_whole(update: &Update) -> bool {
    match update.entity.as_ref().and_then(|entity| entity.entity.as_ref()) {
        Some(EntityKind::TableEntry(entry)) => !has_counts(entry),
        Some(
            EntityKind::CounterEntry(_)
            | EntityKind::DirectCounterEntry(_)
            | EntityKind::RegisterEntry(_),
        ) => false,
        _ => true,
    }
}

/// Returns whether an entry carries values that packets produced: counters, or the time since its
/// last hit.
fn has_counts(entry: &TableEntry) -> bool {
    entry.counter_data.is_some()
        || entry.meter_counter_data.is_some()
        || entry.time_since_last_hit.is_some()
}

fn reduced(update: &Update) -> Reduced {
    let Some(Entity { entity: Some(entity) }) = &update.entity else { return Reduced::Same };
    match entity {
        EntityKind::TableEntry(entry) if has_counts(entry) => {
            let mut entry = entry.clone();
            entry.counter_data = None;
            entry.meter_counter_data = None;
            entry.time_since_last_hit = None;
            let entity = Some(Entity { entity: Some(EntityKind::TableEntry(entry)) });
            Reduced::Other(Box::new(Update { r#type: update.r#type, entity }))
        }
        EntityKind::CounterEntry(_)
        | EntityKind::DirectCounterEntry(_)
        | EntityKind::RegisterEntry(_) => Reduced::Nothing,
        _ => Reduced::Same,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4runtime::proto::v1::{CounterData, CounterEntry};

    fn update(entity: EntityKind) -> Update {
        Update { r#type: 1, entity: Some(Entity { entity: Some(entity) }) }
    }

    #[test]
    fn updates_by_packets_are_not_kept() {
        let entry = TableEntry { table_id: 3, ..TableEntry::default() };
        let counted = TableEntry { counter_data: Some(CounterData::default()), ..entry.clone() };
        let counter = update(EntityKind::CounterEntry(CounterEntry::default()));
        assert!(is_kept_whole(&update(EntityKind::TableEntry(entry.clone()))));
        assert!(!is_kept_whole(&update(EntityKind::TableEntry(counted.clone()))));
        assert!(!is_kept_whole(&counter));
        let mut updates = Updates::default();
        updates.push(&update(EntityKind::CounterEntry(CounterEntry::default())));
        assert_eq!(updates.take(), None);
        updates.push(&update(EntityKind::TableEntry(entry.clone())));
        updates.push(&update(EntityKind::CounterEntry(CounterEntry::default())));
        updates.push(&update(EntityKind::TableEntry(counted)));
        let body = updates.take().expect("two are kept");
        let kept = vec![update(EntityKind::TableEntry(entry)); 2];
        let request = WriteRequest { updates: kept, ..WriteRequest::default() };
        assert_eq!(WriteRequest::decode(body.as_slice()), Ok(request));
    }
}
