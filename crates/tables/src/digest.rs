//! Updates through a controller: a worker sends a digest of an entry through a socket, and the
//! controller's answer is written to the table.
//!
//! This is the paper's third update method (Section 5.1). As in the paper, controller and data
//! plane are separate and communicate over loopback TCP: a worker writes a digest to the socket, a
//! controller thread reads it, decides and answers, and a third thread applies the answer as the
//! control plane would. Unlike the paper's base system, the number of unanswered digests is
//! bounded, and a digest above the bound is dropped and counted.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use thiserror::Error;

use crate::entry::ActionId;
use crate::packed::PackedTable;

/// The largest number of digests that may wait for an answer. A digest above it is dropped. With
/// the smallest messages, the buffers of a socket have room for many times this number.
const UNDER_WAY: u64 = 1024;

/// The largest length of a message in bytes, more than any entry takes.
const LONGEST: usize = 1 << 20;

/// A worker's request to the controller to write an entry to the table, as the packet's action left
/// it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// The key under which the entry is stored in the table.
    pub key: u128,
    /// The action that the entry should run.
    pub action: ActionId,
    /// The parameters that the entry should have.
    pub parameters: Vec<u8>,
}

/// The result of writing a controller's answer to the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// The entry has been written as the controller answered.
    Written,
    /// The entry has been written as the controller answered, but it had changed since the digest
    /// was sent, and that change is lost.
    Overwritten,
    /// No entry was written, because the table no longer has an entry with this key or the
    /// controller refused the digest.
    Refused,
}

/// The numbers of digests, by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DigestCounts {
    /// The number of digests that were written to the socket.
    pub sent: u64,
    /// The number of digests that were not sent, because too many waited for an answer or the
    /// controller had ended.
    pub dropped: u64,
    /// The number of answers that were written to the table.
    pub applied: u64,
    /// The number of written answers that overwrote a change which another writer had made since
    /// the digest was sent.
    pub overwritten: u64,
    /// The number of digests that the controller refused, or whose entry no longer existed.
    pub refused: u64,
}

#[derive(Debug, Default)]
struct Counters {
    sent: AtomicU64,
    dropped: AtomicU64,
    applied: AtomicU64,
    overwritten: AtomicU64,
    refused: AtomicU64,
}

/// The sending end of a worker's connection to a controller.
#[derive(Debug)]
pub struct DigestSender {
    socket: Mutex<TcpStream>,
    counters: Arc<Counters>,
}

impl DigestSender {
    /// Returns the number of digests that can be sent now without being dropped.
    #[must_use]
    pub fn room(&self) -> u64 {
        let Counters { sent, applied, refused, .. } = &*self.counters;
        let answered = applied.load(Ordering::Acquire) + refused.load(Ordering::Acquire);
        UNDER_WAY.saturating_sub(sent.load(Ordering::Relaxed).saturating_sub(answered))
    }

    /// Sends a message to the controller. If too many messages wait for an answer, drops the
    /// message and counts it.
    pub fn send(&self, message: &[u8]) {
        let Counters { sent, dropped, .. } = &*self.counters;
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let frame = framed(true, message);
        if self.room() == 0 || socket.write_all(&frame).is_err() {
            dropped.fetch_add(1, Ordering::Relaxed);
        } else {
            sent.fetch_add(1, Ordering::Release);
        }
    }
}

/// A controller thread, and a thread that writes the controller's answers to the table. Both end
/// when this is dropped.
pub struct DigestLoop {
    sockets: [TcpStream; 2],
    threads: Vec<JoinHandle<()>>,
    counters: Arc<Counters>,
}

impl DigestLoop {
    /// Starts a controller for the entries of a table. `decide` returns the controller's answer to
    /// a digest, or `None` to refuse it.
    ///
    /// # Errors
    /// Returns an error if the sockets cannot be created.
    pub fn start(
        table: &Arc<PackedTable>,
        mut decide: impl FnMut(Digest) -> Option<Digest> + Send + 'static,
    ) -> Result<(Self, DigestSender), DigestError> {
        let decided = move |message: &[u8]| {
            decide(Digest::from_bytes(message)?).map(|answer| answer.to_bytes())
        };
        let table = Arc::clone(table);
        let write = move |Digest { key, action, parameters }| {
            table.change(key, |_, _| Some((action, parameters)))
        };
        Self::between(decided, move |message| {
            let written = Digest::from_bytes(message).and_then(&write);
            written.map_or(Applied::Refused, |_| Applied::Written)
        })
    }

    /// Starts a controller for entries of any kind, with messages in any format. `decide` returns
    /// the controller's answer to a message, or `None` to refuse it. `apply` writes an answer to
    /// the table.
    ///
    /// # Errors
    /// Returns an error if the sockets cannot be created.
    pub fn between(
        mut decide: impl FnMut(&[u8]) -> Option<Vec<u8>> + Send + 'static,
        mut apply: impl FnMut(&[u8]) -> Applied + Send + 'static,
    ) -> Result<(Self, DigestSender), DigestError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let data_plane = TcpStream::connect(listener.local_addr()?)?;
        let (controller, _) = listener.accept()?;
        for socket in [&data_plane, &controller] {
            socket.set_nodelay(true)?;
        }
        let counters = Arc::new(Counters::default());
        let sender = DigestSender {
            socket: Mutex::new(data_plane.try_clone()?),
            counters: Arc::clone(&counters),
        };
        let sockets = [data_plane.try_clone()?, controller.try_clone()?];
        let mut socket = controller;
        let control = std::thread::spawn(move || {
            while let Ok((_, message)) = receive(&mut socket) {
                let answer = decide(&message);
                let answer = framed(answer.is_some(), answer.as_deref().unwrap_or(&[]));
                if socket.write_all(&answer).is_err() {
                    break;
                }
            }
        });
        let (counts, mut socket) = (Arc::clone(&counters), data_plane);
        let apply = std::thread::spawn(move || {
            while let Ok((accepted, answer)) = receive(&mut socket) {
                let applied = if accepted { apply(&answer) } else { Applied::Refused };
                if applied == Applied::Overwritten {
                    counts.overwritten.fetch_add(1, Ordering::Relaxed);
                }
                let refused = applied == Applied::Refused;
                let counter = if refused { &counts.refused } else { &counts.applied };
                counter.fetch_add(1, Ordering::Release);
            }
        });
        Ok((Self { sockets, threads: vec![control, apply], counters }, sender))
    }

    /// Returns the numbers of digests since the start, by outcome.
    pub fn counts(&self) -> DigestCounts {
        let Counters { sent, dropped, applied, overwritten, refused } = &*self.counters;
        let (applied, refused) = (applied.load(Ordering::Acquire), refused.load(Ordering::Acquire));
        DigestCounts {
            sent: sent.load(Ordering::Acquire),
            dropped: dropped.load(Ordering::Relaxed),
            applied,
            overwritten: overwritten.load(Ordering::Relaxed),
            refused,
        }
    }
}

impl Drop for DigestLoop {
    fn drop(&mut self) {
        for socket in &self.sockets {
            // An error means that the socket has been closed already.
            let _ = socket.shutdown(Shutdown::Both);
        }
        for thread in self.threads.drain(..) {
            // If `decide` or `apply` panicked, the thread has reported the panic.
            let _ = thread.join();
        }
    }
}

impl Digest {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let Self { key, action, parameters } = self;
        [&key.to_be_bytes()[..], &action.0.to_be_bytes(), parameters].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (key, rest) = bytes.split_first_chunk()?;
        let (action, parameters) = rest.split_first_chunk()?;
        Some(Self {
            key: u128::from_be_bytes(*key),
            action: ActionId(u16::from_be_bytes(*action)),
            parameters: parameters.to_vec(),
        })
    }
}

/// Encodes a message as a frame: its length, whether the controller accepts it, and its bytes.
fn framed(accepted: bool, message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], &[u8::from(accepted)], message].concat()
}

/// Reads one frame from a socket. Returns whether the controller accepts the message, and the
/// message.
fn receive(socket: &mut TcpStream) -> io::Result<(bool, Vec<u8>)> {
    let mut head = [0; 5];
    socket.read_exact(&mut head)?;
    let [length @ .., accepted] = head;
    let length = u32::from_be_bytes(length) as usize;
    if length > LONGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut message = vec![0; length];
    socket.read_exact(&mut message)?;
    Ok((accepted != 0, message))
}

/// The reason why a controller was not started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DigestError {
    /// The sockets could not be created.
    #[error("no socket can be opened between data plane and controller: {0}")]
    Socket(#[from] io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::{Hit, TableWorker, WorkerError};
    use crate::design::{Design, EntryLock, Storage, UpdateMethod};
    use crate::group::WorkerGroup;
    use crate::packed::{Keys, Match, TableSettings};

    /// Returns a table with one entry, whose packets change the entry by digests.
    fn table() -> Arc<PackedTable> {
        let design = Design {
            update: UpdateMethod::Digest,
            entry_lock: EntryLock::None,
            ..Design::shared(Storage::Static)
        };
        let settings = TableSettings {
            design,
            keys: Keys::Exact { bits: 32 },
            parameter_bytes: 4,
            actions: 1,
            writing: 1,
            writes_words: true,
        };
        let table = PackedTable::new(&Arc::new(WorkerGroup::default()), &settings).unwrap();
        table.insert(Match::Exact(1), ActionId(0), &[9, 0, 0, 0]).unwrap();
        Arc::new(table)
    }

    fn write(worker: &mut TableWorker, value: u8) {
        worker.apply(&[[1, 0]], &mut |_: usize, hit: &mut Hit<'_>| {
            hit.parameters_mut()[0] = value;
        });
    }

    fn wait_for(controller: &DigestLoop, answered: u64) {
        while controller.counts().applied + controller.counts().refused < answered {
            std::thread::yield_now();
        }
    }

    #[test]
    fn an_update_goes_to_the_controller_and_comes_back() {
        let table = table();
        assert_eq!(TableWorker::new(&table).err(), Some(WorkerError::NoController));
        let (controller, sender) = DigestLoop::start(&table, |mut digest| {
            digest.parameters[3] = 1;
            Some(digest)
        })
        .unwrap();
        let mut worker = TableWorker::with_digests(&table, Arc::new(sender)).unwrap();
        write(&mut worker, 10);
        wait_for(&controller, 1);
        assert_eq!(table.read(1), Some((ActionId(0), vec![10, 0, 0, 1])));
        assert_eq!(
            controller.counts(),
            DigestCounts { sent: 1, applied: 1, ..DigestCounts::default() }
        );
    }

    #[test]
    fn a_refused_digest_changes_nothing_and_a_lost_controller_is_counted() {
        let table = table();
        let (controller, sender) = DigestLoop::start(&table, |_| None).unwrap();
        let mut worker = TableWorker::with_digests(&table, Arc::new(sender)).unwrap();
        write(&mut worker, 10);
        wait_for(&controller, 1);
        assert_eq!(table.read(1), Some((ActionId(0), vec![9, 0, 0, 0])));
        let counters = Arc::clone(&controller.counters);
        drop(controller);
        write(&mut worker, 11);
        assert_eq!(counters.dropped.load(Ordering::Relaxed), 1);
    }
}
