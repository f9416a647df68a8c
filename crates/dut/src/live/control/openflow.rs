//! The control channel over OpenFlow. A request consists of flow-mods and a barrier request, and
//! its answer is the barrier reply.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use openflow::Xid;

use super::{Control, Moments};
use crate::effects::{Moment, Span};
use crate::error::DutError;
use crate::flows::{FlowEntry, Selector};
use crate::session::{OpenFlowChannel, Reply, refused};
use crate::window::{BatchAtomicity, Operation, TIMEOUT};

/// The pause between two checks for an answer while no packets are sent.
const PAUSE: Duration = Duration::from_micros(200);

/// An OpenFlow switch, with the flows that the measurement may have inserted into it.
pub(crate) struct OpenFlowControl<'a> {
    channel: &'a mut OpenFlowChannel,
    entries: BTreeMap<Selector, FlowEntry>,
    request: Option<Request>,
    moments: Moments,
    /// The clock reading before the last check for an answer.
    looked: Moment,
}

/// A request of flow-mods and a barrier request, to which the barrier reply has not arrived yet.
struct Request {
    /// The transaction id of the first flow-mod.
    first: Xid,
    /// The transaction id of the barrier request, which follows those of the flow-mods.
    barrier: Xid,
    /// The flows that the request deletes.
    deleted: Vec<Selector>,
}

impl<'a> OpenFlowControl<'a> {
    pub(crate) fn new(channel: &'a mut OpenFlowChannel) -> Self {
        Self {
            channel,
            entries: BTreeMap::new(),
            request: None,
            moments: Moments::default(),
            looked: Moment(0),
        }
    }

    /// Returns the channel, through which other messages than flow-mods can be sent.
    pub(crate) fn channel(&mut self) -> &mut OpenFlowChannel {
        self.channel
    }

    /// Checks once whether the request is answered. Returns an error if the switch refuses a
    /// flow-mod.
    fn look(&mut self) -> Result<bool, DutError> {
        let Some(Request { first, barrier, .. }) = self.request else { return Ok(false) };
        let mut is_answered = false;
        let mut failure = None;
        self.channel.look(&mut |reply| match reply {
            Reply::Barrier(xid) => is_answered |= xid == barrier,
            Reply::Error(xid, refusal) if (first..=barrier).contains(&xid) => {
                failure.get_or_insert(refused("flow-mod", &refusal));
            }
            Reply::Error(..) | Reply::PacketIn(_) | Reply::FlowRemoved { .. } => {}
        })?;
        failure.map_or(Ok(is_answered), Err)
    }

    fn settle(&mut self) {
        let request = self.request.take();
        for gone in request.into_iter().flat_map(|request| request.deleted) {
            self.entries.remove(&gone);
        }
    }
}

impl Control for OpenFlowControl<'_> {
    type Entry = FlowEntry;

    async fn carry_out(
        &mut self,
        operation: Operation,
        entries: &[FlowEntry],
    ) -> Result<(), DutError> {
        if entries.is_empty() {
            return Ok(());
        }
        self.prepare(
            operation,
            BatchAtomicity::ContinueOnError,
            &entries.iter().collect::<Vec<_>>(),
        )?;
        self.channel.hand_over()?;
        let begin = Instant::now();
        while !self.look()? {
            if begin.elapsed() > TIMEOUT {
                return Err(DutError::NoAnswer { what: "barrier", patience: TIMEOUT });
            }
            self.channel.flush()?;
            std::thread::sleep(PAUSE);
        }
        self.settle();
        Ok(())
    }

    fn prepare(
        &mut self,
        operation: Operation,
        _: BatchAtomicity,
        entries: &[&FlowEntry],
    ) -> Result<(), DutError> {
        if operation == Operation::Insert {
            self.entries.extend(entries.iter().map(|entry| (entry.selects, **entry)));
        }
        let is_deletion = operation == Operation::Delete;
        let deleted = entries.iter().filter(|_| is_deletion).map(|entry| entry.selects).collect();
        let made = self.channel.make_request(operation, entries.iter().map(|entry| **entry))?;
        let barrier = Xid(made + entries.len() as u32);
        self.request = Some(Request { first: Xid(made), barrier, deleted });
        self.moments = Moments::default();
        Ok(())
    }

    async fn turn(&mut self, now: &dyn Fn() -> Moment) -> Result<(), DutError> {
        if self.request.is_none() {
            return Ok(());
        }
        let reading = now();
        let request = match self.moments.request {
            Some(request) => request,
            None => {
                self.channel.hand_over()?;
                self.looked = reading;
                let request = Span { earliest: reading, latest: now() };
                *self.moments.request.insert(request)
            }
        };
        if self.channel.backlog() > 0 {
            self.channel.flush()?;
            self.moments.request = Some(Span { latest: now(), ..request });
        }
        let before = now();
        if self.look()? {
            self.moments.answer = Some(Span { earliest: self.looked, latest: now() });
            self.settle();
        } else if reading.0 > request.earliest.0 + TIMEOUT.as_nanos() as u64 {
            return Err(DutError::NoAnswer { what: "barrier", patience: TIMEOUT });
        }
        self.looked = before;
        Ok(())
    }

    fn moments(&self) -> Moments {
        self.moments
    }

    async fn restore(&mut self) -> Result<usize, DutError> {
        let entries: Vec<FlowEntry> = std::mem::take(&mut self.entries).into_values().collect();
        match self.carry_out(Operation::Delete, &entries).await {
            Ok(()) | Err(DutError::Request { .. }) => {}
            Err(error) => return Err(error),
        }
        let difference = self.channel.difference()?;
        Ok(usize::try_from(difference.unsigned_abs()).unwrap_or(usize::MAX))
    }
}
