//! The messages that switches may send instead of packet-ins: digests and idle notifications.

use entities::schema::{DigestId, TableId};
use p4runtime::proto::v1;
use p4runtime::server::{DeviceHandle, DigestList, PacketIn};
use p4runtime::session::Pipeline;

use super::digest::{self, DigestForm, NoDigest};
use super::idle::{IdleForm, NoTable};
use crate::config::{Config, Load};
use crate::traffic::RunKey;

/// The kind of message that switches send instead of packet-ins, with its form in a pipeline.
#[derive(Clone, Debug)]
pub(super) enum Form {
    Digest(DigestForm),
    IdleTimeout(IdleForm),
}

/// The reason why switches cannot send the configured messages: their pipeline lacks the digest or
/// the table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoForm {
    #[error(transparent)]
    Digest(#[from] NoDigest),
    #[error(transparent)]
    Table(#[from] NoTable),
}

impl Form {
    /// Returns the kind of message that switches with this pipeline send instead of packet-ins.
    /// Returns `None` if packet-ins are configured, and `Some(Err(_))` if the pipeline lacks the
    /// configured digest or table.
    pub(super) fn of(
        pipeline: &Pipeline,
        config: &Config,
        key: RunKey,
    ) -> Option<Result<Self, NoForm>> {
        let p4runtime = &config.p4runtime;
        Some(match config.traffic.load {
            Load::PacketIn => return None,
            Load::Digest => {
                DigestForm::of(pipeline, &p4runtime.digest).map(Self::Digest).map_err(Into::into)
            }
            Load::IdleTimeout => IdleForm::of(pipeline, &p4runtime.idle_table, key)
                .map(Self::IdleTimeout)
                .map_err(Into::into),
        })
    }

    /// Returns the kind of subscription for which a controller receives the messages.
    pub(super) fn receiver(&self) -> Receiver {
        match self {
            Self::Digest(form) => Receiver::Digest(form.id),
            Self::IdleTimeout(form) => Receiver::IdleTimeout(form.table),
        }
    }
}

/// The kind of subscription for which a controller receives the messages of a switch.
#[derive(Clone, Copy, Debug)]
pub(super) enum Receiver {
    /// Controllers that receive packet-ins.
    Packet,
    Digest(DigestId),
    IdleTimeout(TableId),
}

/// Messages of one switch that are sent together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    packets: Vec<PacketIn>,
    lists: Vec<DigestList>,
    entries: Vec<v1::TableEntry>,
    /// The updates to be made to the switch's table before its idle notifications are sent.
    changes: Vec<v1::Update>,
}

impl Batch {
    pub(super) fn len(&self) -> usize {
        self.packets.len() + self.lists.len() + self.entries.len()
    }

    pub(super) fn packet(&mut self, packet: PacketIn) {
        self.packets.push(packet);
    }

    pub(super) fn digest(&mut self, sequence: u64, data: entities::Data) {
        self.lists.push(DigestList { list_id: digest::list_id(sequence), data: vec![data] });
    }

    pub(super) fn idle(&mut self, sequence: u64, form: &IdleForm) {
        self.changes.extend(form.appears(sequence));
        self.entries.push(form.entry(sequence));
    }

    /// Sends all messages of the batch. Returns how many of them were queued for sending.
    pub(super) fn send(&mut self, device: &DeviceHandle, receiver: Receiver) -> usize {
        match receiver {
            Receiver::Packet => device.send_now(self.packets.drain(..)).unwrap_or(0),
            Receiver::Digest(digest) => {
                device.send_digest_lists(digest, self.lists.drain(..)).unwrap_or(0)
            }
            Receiver::IdleTimeout(table) => {
                // If the table has no room for an entry, its notification is sent nevertheless, as
                // if the entry had existed before.
                device.write_from_data_plane(&self.changes);
                self.changes.clear();
                device.send_idle_timeouts(table, self.entries.drain(..)).unwrap_or(0)
            }
        }
    }
}
