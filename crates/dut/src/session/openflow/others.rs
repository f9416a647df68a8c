//! Further connections of an OpenFlow switch, each of which stands for another controller. All have
//! the role "equal", which a connection keeps until its controller requests another one (OpenFlow
//! 1.3.5, section 6.3.5).

use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use controllers::openflow::{SwitchConnection, SwitchConnectionError};

use super::{Entrance, OpenFlowChannel};
use crate::error::DutError;
use crate::window::{Phase, Refusal, Sent, Shape, Work};

impl OpenFlowChannel {
    /// Waits until the switch has `count` connections. Gives up if none is added for `patience`.
    /// Returns the reason why there are fewer; `None` if there are as many.
    pub(crate) fn accept_others(
        &mut self,
        count: usize,
        patience: Duration,
        stop: &AtomicBool,
    ) -> Result<Option<Refusal>, DutError> {
        let refusal = |code: &str, message: String| {
            Ok(Some(Refusal { code: code.to_owned(), message, entry: None }))
        };
        while self.others.len() + 1 < count {
            let Some(Entrance { listener, versions, tls }) = &self.entrance else { break };
            let found = SwitchConnection::accept(listener, versions, tls.as_ref(), patience, stop);
            let connection = match found {
                Ok(connection) => connection,
                Err(SwitchConnectionError::NoSwitch { address }) => {
                    let connections = self.others.len() + 1;
                    let message = format!(
                        "{connections} of {count} connections came to {address}; name as many controllers to the switch"
                    );
                    return refusal("no connection", message);
                }
                Err(error) => return Err(error.into()),
            };
            if connection.version() != self.version() {
                let message = format!("one connection speaks OpenFlow {}", connection.version());
                return refusal("other version", message);
            }
            let mut other = Self::of(connection, self.maker());
            if other.datapath_id() != self.datapath_id() {
                return refusal("other switch", "another switch has connected".to_owned());
            }
            other.outputs = self.outputs;
            self.others.push(other);
        }
        Ok(None)
    }

    /// Sets the number of connections over which the next series of requests is sent.
    pub(crate) fn activate(&mut self, count: usize) {
        self.active = count.clamp(1, self.others.len() + 1);
    }

    /// Closes all connections except the first.
    pub(crate) fn disconnect_others(&mut self) {
        self.active = 1;
        for other in self.others.drain(..) {
            self.confirmed.late_errors += other.late_errors();
        }
    }

    /// Answers requests that the switch sends over idle connections, such as echo requests.
    pub(super) fn tend_others(&mut self) -> Result<(), DutError> {
        for other in &mut self.others {
            other.look(&mut |_| {})?;
            other.flush()?;
        }
        Ok(())
    }

    /// Sends the requests of a series over all active connections at the same time, with one thread
    /// per connection.
    pub(super) fn send_together(
        &mut self,
        work: Work<'_>,
        shape: Shape,
        stop: &AtomicBool,
    ) -> Result<Sent, DutError> {
        let start = Instant::now();
        let dealt = work.dealt(self.active);
        let count = dealt.len();
        let mut others = std::mem::take(&mut self.others);
        let found = thread::scope(|scope| {
            let channels = std::iter::once(&mut *self).chain(&mut others);
            let threads: Vec<_> = channels
                .zip(&dealt)
                .enumerate()
                .map(|(place, (channel, numbers))| {
                    let shape = Shape { window: shape.window_of(place, count), ..shape };
                    let work = Work { numbers, ..work };
                    scope.spawn(move || channel.send_alone(work, shape, start, stop))
                })
                .collect();
            let ended = threads.into_iter().map(|thread| thread.join());
            ended.collect::<Vec<_>>()
        });
        self.others = others;
        let mut phases: Vec<Phase> = Vec::new();
        let mut unsent = Vec::new();
        for one in found {
            let panicked =
                |_| std::io::Error::other("internal error: a thread of a connection panicked");
            let mut sent = one.map_err(panicked)??;
            phases.push(sent.phase);
            unsent.append(&mut sent.unsent);
        }
        Ok(Sent { phase: Phase::at_once(phases), unsent })
    }

    /// Records that the switch has `count` flows of this measurement that no series of requests has
    /// inserted.
    pub(crate) fn set_aside(&mut self, count: usize) {
        self.accepted += count as u64;
    }

    /// Records the deletion of `count` flows that no series of requests had inserted.
    pub(crate) fn take_back(&mut self, count: usize) {
        self.accepted = self.accepted.saturating_sub(count as u64);
    }
}
