//! What switches send when something is due, other than packet-ins.

use entities::schema::{DigestId, TableId};
use p4runtime::proto::v1;
use p4runtime::server::{DeviceHandle, DigestList, PacketIn};
use p4runtime::session::Pipeline;

use super::digest::{self, DigestForm, NoDigest};
use super::idle::{IdleForm, NoTable};
use crate::config::{Config, Load};
use crate::traffic::RunKey;

/// What a pipeline's switches send instead of packet-ins.
#[derive(Clone, Debug)]
pub(super) enum Form {
    Digest(DigestForm),
    IdleTimeout(IdleForm),
}

/// A pipeline lacks what switches are to send.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoForm {
    #[error(transparent)]
    Digest(#[from] NoDigest),
    #[error(transparent)]
    Table(#[from] NoTable),
}

impl Form {
    /// What switches with this pipeline send; `None` where packet-ins are the load.
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

    /// To whom it goes.
    pub(super) fn receiver(&self) -> Receiver {
        match self {
            Self::Digest(form) => Receiver::Digest(form.id),
            Self::IdleTimeout(form) => Receiver::IdleTimeout(form.table),
        }
    }
}

/// Who receives what switches send.
#[derive(Clone, Copy, Debug)]
pub(super) enum Receiver {
    /// Those of packet-ins.
    Packet,
    Digest(DigestId),
    IdleTimeout(TableId),
}

/// What a switch sends together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    packets: Vec<PacketIn>,
    lists: Vec<DigestList>,
    entries: Vec<v1::TableEntry>,
    /// What packets change before.
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

    /// Sends everything, and returns how many of it were queued.
    pub(super) fn send(&mut self, device: &DeviceHandle, receiver: Receiver) -> usize {
        match receiver {
            Receiver::Packet => device.send_now(self.packets.drain(..)).unwrap_or(0),
            Receiver::Digest(digest) => {
                device.send_digest_lists(digest, self.lists.drain(..)).unwrap_or(0)
            }
            Receiver::IdleTimeout(table) => {
                // An entry that finds no room is told of all the same: it was there a moment ago.
                device.write_from_data_plane(&self.changes);
                self.changes.clear();
                device.send_idle_timeouts(table, self.entries.drain(..)).unwrap_or(0)
            }
        }
    }
}
