//! The part of a device's state that is kept over a restart, as records of a journal.
//!
//! Kept are the pipeline, entries, default entries, members, groups, multicast groups, clone
//! sessions, value sets, and the configuration of meters and digests. Not kept is what packets left
//! behind: counters, registers, and entries that packets added.

use journal::{Kind, Unreadable};
use p4runtime::proto::v1::{
    Entity, ForwardingPipelineConfig, TableEntry, Update, WriteRequest,
    entity::Entity as EntityKind,
};
use prost::Message;
use prost::encoding::message;

/// A pipeline, which runs from here on with nothing but its own entries.
pub(crate) const PIPELINE: Kind = Kind(1);
/// Updates that took effect.
pub(crate) const WRITE: Kind = Kind(2);
/// The number of updates of one record of a list that replaces another.
const CHUNK: usize = 1_000;
/// The tag of `WriteRequest.updates`.
const UPDATES: u32 = 4;

/// A record, decoded.
pub(crate) enum Record {
    Pipeline(Box<ForwardingPipelineConfig>),
    Write(Vec<Update>),
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
        _ => Err(Unreadable::Kind),
    }
}

/// The body of a record of updates, as a `WriteRequest` with nothing else.
#[derive(Debug, Default)]
pub(crate) struct Updates {
    bytes: Vec<u8>,
    count: usize,
}

impl Updates {
    /// Adds an update as far as it is kept.
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

    /// Returns the body and begins another one; `None` if nothing was added.
    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        let Self { bytes, count } = std::mem::take(self);
        (count > 0).then_some(bytes)
    }
}

/// The part of an update that is kept.
enum Reduced {
    Same,
    Other(Box<Update>),
    Nothing,
}

/// Whether nothing of an update is left out of a record, so that a request may be recorded as its
/// controller encoded it.
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

/// Whether an entry has what packets left behind.
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
    fn what_packets_left_behind_is_not_kept() {
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
