//! The open streams of a server, so that a shutdown can end them. A graceful HTTP/2 shutdown
//! waits for its streams, and a `StreamChannel` never ends by itself.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use tonic::Status;

use super::handle::Outgoing;
use crate::outbox::Outbox;

#[derive(Debug, Default)]
pub(super) struct Streams {
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    outboxes: Vec<Weak<Outbox<Outgoing>>>,
    shut_down: bool,
}

impl Streams {
    /// Adds a stream; it ends at once if the server is shut down already.
    pub(super) fn enter(&self, outbox: &Arc<Outbox<Outgoing>>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.shut_down {
            outbox.end(Some(going()));
            return;
        }
        // Ended streams are swept out whenever the list would have to grow.
        if open.outboxes.len() == open.outboxes.capacity() {
            open.outboxes.retain(|known| known.strong_count() > 0);
        }
        open.outboxes.push(Arc::downgrade(outbox));
    }

    /// Ends all streams, now and from now on.
    pub(super) fn end_all(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.shut_down = true;
        for outbox in open.outboxes.drain(..).filter_map(|known| known.upgrade()) {
            outbox.end(Some(going()));
        }
    }
}

fn going() -> Status {
    Status::unavailable("The server is shutting down.")
}
