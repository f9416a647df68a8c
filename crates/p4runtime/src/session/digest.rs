//! The digest messages that a device sends to controllers. Digests are buffered and sent in lists.
//! A digest with the same contents is not sent again until its list is acknowledged or the time for
//! the acknowledgement has passed.
//!
//! The rules are those of the P4Runtime specification 1.5, section "DigestEntry". A digest that no
//! `DigestEntry` has enabled is not buffered at all. Acknowledgements do not make delivery
//! reliable: a list whose acknowledgement never comes is forgotten after `ack_timeout_ns`.

use std::collections::{HashSet, VecDeque};

use entities::{Data, DigestConfig, Nanos, schema::DigestId};

use crate::{conversion, proto::v1};

/// The maximum number of unacknowledged lists per digest. If there are more, the oldest is treated
/// as acknowledged, so that a controller that never acknowledges cannot fill the memory.
const MAX_UNACKNOWLEDGED: usize = 4096;
/// The maximum length of a list if the controller sets no limit.
const DEFAULT_LIST_SIZE: usize = 256;

/// The buffers of all digests of one device.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    buffers: Vec<Buffer>,
    /// The id of the latest list. Ids are unique within a device, over all digests.
    last_list_id: u64,
}

/// The digests of one kind that wait to be sent or acknowledged.
#[derive(Debug)]
struct Buffer {
    digest: DigestId,
    config: DigestConfig,
    data: Vec<Data>,
    /// The time at which the oldest digest in `data` arrived.
    since: Nanos,
    /// The contents of `data` and `unacknowledged`, which identical digests must not repeat.
    known: HashSet<Data>,
    unacknowledged: VecDeque<Sent>,
}

/// A list of digests that was sent and has not been acknowledged yet.
#[derive(Debug)]
struct Sent {
    list_id: u64,
    at: Nanos,
    data: Vec<Data>,
}

impl Digests {
    /// Buffers a digest from the data plane, unless an identical one is waiting to be sent or
    /// acknowledged. If a list is due, because the buffer is full or digests must not wait, returns
    /// the list to send.
    pub(crate) fn learn(
        &mut self,
        digest: DigestId,
        config: DigestConfig,
        data: Data,
        now: Nanos,
    ) -> Option<v1::DigestList> {
        let index = self.buffer(digest, config);
        let buffer = &mut self.buffers[index];
        buffer.config = config;
        buffer.forget_overdue(now);
        if !buffer.known.insert(data.clone()) {
            return None;
        }
        if buffer.data.is_empty() {
            buffer.since = now;
        }
        buffer.data.push(data);
        let full = match config.max_list_size as usize {
            0 => DEFAULT_LIST_SIZE,
            size => size,
        };
        let due = buffer.data.len() >= full || config.max_timeout_ns == 0;
        due.then(|| self.send(index, now))
    }

    /// Records the acknowledgement of a list. Unknown lists are ignored, because acknowledging an
    /// overdue list is not a mistake of the controller.
    pub(crate) fn acknowledge(&mut self, ack: &v1::DigestListAck) {
        let Some(buffer) = self.buffers.iter_mut().find(|one| one.digest.0 == ack.digest_id) else {
            return;
        };
        let lists = &mut buffer.unacknowledged;
        let index = lists.iter().position(|sent| sent.list_id == ack.list_id);
        for data in
            index.and_then(|index| lists.remove(index)).into_iter().flat_map(|sent| sent.data)
        {
            buffer.known.remove(&data);
        }
    }

    /// Returns the digest lists that must be sent now.
    pub(crate) fn due(&mut self, now: Nanos) -> Vec<v1::DigestList> {
        let mut lists = Vec::new();
        for index in 0..self.buffers.len() {
            self.buffers[index].forget_overdue(now);
            if self.buffers[index].deadline().is_some_and(|deadline| deadline <= now) {
                lists.push(self.send(index, now));
            }
        }
        lists
    }

    /// Returns the time at which [`Digests::due`] next has a list to send, if no digest or
    /// acknowledgement arrives before.
    pub(crate) fn deadline(&self) -> Option<Nanos> {
        self.buffers.iter().filter_map(Buffer::deadline).min()
    }

    /// Empties all buffers, as is necessary when the pipeline changes.
    pub(crate) fn clear(&mut self) {
        self.buffers = Vec::new();
    }

    /// Forgets the lists that an earlier primary did not acknowledge. Identical digests are then
    /// sent again, so that the new primary receives them.
    pub(crate) fn forget_sent(&mut self) {
        for buffer in &mut self.buffers {
            while !buffer.unacknowledged.is_empty() {
                buffer.forget_oldest();
            }
        }
    }

    /// Keeps only the buffers of digests that are enabled.
    pub(crate) fn retain(&mut self, enabled: impl Fn(DigestId) -> bool) {
        self.buffers.retain(|buffer| enabled(buffer.digest));
    }

    fn buffer(&mut self, digest: DigestId, config: DigestConfig) -> usize {
        let known = self.buffers.iter().position(|buffer| buffer.digest == digest);
        known.unwrap_or_else(|| {
            self.buffers.push(Buffer {
                digest,
                config,
                data: Vec::new(),
                since: Nanos(0),
                known: HashSet::new(),
                unacknowledged: VecDeque::new(),
            });
            self.buffers.len() - 1
        })
    }

    fn send(&mut self, index: usize, now: Nanos) -> v1::DigestList {
        self.last_list_id += 1;
        let list_id = self.last_list_id;
        let buffer = &mut self.buffers[index];
        let data = std::mem::take(&mut buffer.data);
        let messages = data.iter().map(conversion::data::message).collect();
        if buffer.config.ack_timeout_ns > 0 {
            if buffer.unacknowledged.len() >= MAX_UNACKNOWLEDGED {
                buffer.forget_oldest();
            }
            buffer.unacknowledged.push_back(Sent { list_id, at: now, data });
        } else {
            data.iter().for_each(|data| {
                buffer.known.remove(data);
            });
        }
        let timestamp = i64::try_from(now.0).unwrap_or(i64::MAX);
        v1::DigestList { digest_id: buffer.digest.0, list_id, data: messages, timestamp }
    }
}

impl Buffer {
    fn deadline(&self) -> Option<Nanos> {
        (!self.data.is_empty()).then(|| self.since.after(self.config.max_timeout_ns))
    }

    fn forget_overdue(&mut self, now: Nanos) {
        let timeout = self.config.ack_timeout_ns;
        while self.unacknowledged.front().is_some_and(|sent| now >= sent.at.after(timeout)) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some(sent) = self.unacknowledged.pop_front() {
            sent.data.iter().for_each(|data| {
                self.known.remove(data);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: DigestId = DigestId(0x1700_0001);
    const OTHER: DigestId = DigestId(0x1700_0002);

    fn data(value: u8) -> Data {
        Data::Bits(Box::from([value]))
    }

    fn sent(values: &[u8]) -> Vec<v1::P4Data> {
        values.iter().map(|value| conversion::data::message(&data(*value))).collect()
    }

    fn config(max_timeout_ns: u64, max_list_size: u32, ack_timeout_ns: u64) -> DigestConfig {
        DigestConfig { max_timeout_ns, max_list_size, ack_timeout_ns }
    }

    fn at(nanoseconds: u64) -> Nanos {
        Nanos(nanoseconds)
    }

    #[test]
    fn without_buffering_every_message_is_a_list_of_its_own() {
        for config in [config(0, 10, 0), config(100, 1, 0)] {
            let mut digests = Digests::default();
            for list_id in 1..=3 {
                let list = digests.learn(DIGEST, config, data(5), at(7)).expect("sent at once");
                let expected =
                    v1::DigestList { digest_id: DIGEST.0, list_id, data: sent(&[5]), timestamp: 7 };
                assert_eq!(list, expected);
            }
            assert_eq!(digests.deadline(), None);
        }
    }

    #[test]
    fn a_list_is_sent_when_it_is_full_of_distinct_messages() {
        let mut digests = Digests::default();
        let config = config(100, 2, 0);
        assert_eq!(digests.learn(DIGEST, config, data(1), at(0)), None);
        assert_eq!(digests.learn(DIGEST, config, data(1), at(1)), None);
        let list = digests.learn(DIGEST, config, data(2), at(2)).expect("full");
        assert_eq!(list.data, sent(&[1, 2]));
    }

    #[test]
    fn a_list_is_sent_when_its_oldest_message_has_waited_long_enough() {
        let mut digests = Digests::default();
        let config = config(100, 0, 0);
        assert_eq!(digests.learn(DIGEST, config, data(1), at(10)), None);
        assert_eq!(digests.learn(DIGEST, config, data(2), at(60)), None);
        assert_eq!(digests.deadline(), Some(at(110)));
        assert_eq!(digests.due(at(109)), []);
        let lists = digests.due(at(110));
        assert_eq!(lists.len(), 1);
        assert_eq!(lists[0].data, sent(&[1, 2]));
        assert_eq!(digests.deadline(), None);
    }

    #[test]
    fn sent_messages_are_not_repeated_until_acknowledged_or_overdue() {
        let mut digests = Digests::default();
        let config = config(0, 0, 1000);
        let first = digests.learn(DIGEST, config, data(1), at(0)).expect("sent");
        assert_eq!(digests.learn(DIGEST, config, data(1), at(999)), None);
        let wrong = v1::DigestListAck { digest_id: DIGEST.0, list_id: first.list_id + 1 };
        digests.acknowledge(&wrong);
        assert_eq!(digests.learn(DIGEST, config, data(1), at(999)), None);
        digests.acknowledge(&v1::DigestListAck { digest_id: DIGEST.0, list_id: first.list_id });
        assert!(digests.learn(DIGEST, config, data(1), at(999)).is_some());
        assert!(digests.learn(DIGEST, config, data(1), at(1999)).is_some());
    }

    #[test]
    fn disabling_or_clearing_discards_buffered_messages() {
        let mut digests = Digests::default();
        let config = config(100, 10, 100);
        digests.learn(DIGEST, config, data(1), at(0));
        digests.learn(OTHER, config, data(1), at(0));
        digests.retain(|digest| digest != DIGEST);
        assert_eq!(digests.due(at(100)).len(), 1);
        digests.learn(DIGEST, config, data(1), at(0));
        digests.clear();
        assert_eq!(digests.due(at(1000)), []);
    }

    #[test]
    fn a_controller_that_never_acknowledges_does_not_fill_the_memory() {
        let mut digests = Digests::default();
        let config = config(0, 0, u64::MAX);
        for number in 0..u32::try_from(MAX_UNACKNOWLEDGED).expect("small") + 10 {
            let data = Data::Bits(Box::from(number.to_be_bytes()));
            assert!(digests.learn(DIGEST, config, data, at(0)).is_some());
        }
        assert_eq!(digests.buffers[0].unacknowledged.len(), MAX_UNACKNOWLEDGED);
        assert_eq!(digests.buffers[0].known.len(), MAX_UNACKNOWLEDGED);
    }
}
