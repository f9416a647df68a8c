//! Read requests whose response is produced in several steps.
//!
//! The response to a Read may be much larger than its request: a dozen bytes select every cell of
//! an array. The response is therefore never built as a whole. A request is checked once, and its
//! entities are then visited for as long as the sender continues. The position at which a visit
//! stops is kept as an index or a key, so resuming costs nothing.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::vec;

use entities::{Cursor, EntityError, Reader};

use crate::conversion::{Found, Query};
use crate::p4info::Schema;
use crate::proto::v1;

/// A Read in progress, whose entities are visited in several steps.
#[derive(Debug)]
pub struct Reading {
    schema: Arc<Schema>,
    reader: Box<dyn Reader>,
    requests: vec::IntoIter<v1::Entity>,
    current: Option<Current>,
    outcomes: Vec<Result<(), EntityError>>,
}

/// The progress of the request whose entities are being visited.
#[derive(Debug)]
struct Current {
    query: Query,
    /// The number of selections of the query that are complete: all of their entities have been
    /// visited.
    done: usize,
    /// The position reached in the next selection.
    cursor: Cursor,
    found: bool,
    /// The reason why the response omits an entity, although the request names the entity's object
    /// by id.
    left_out: Option<EntityError>,
}

impl Reading {
    pub(super) fn new(
        schema: Arc<Schema>,
        reader: Box<dyn Reader>,
        requests: Vec<v1::Entity>,
    ) -> Self {
        let requests = requests.into_iter();
        Self { schema, reader, requests, current: None, outcomes: Vec::new() }
    }

    /// Continues the Read until `visit` breaks or all entities have been visited.
    ///
    /// Calls `visit` with every selected entity. Also calls it with `None` for every step that
    /// yields no entity, such as the start of a request or a skipped entity, so that `visit` can
    /// limit the work. If a request has an error, none of its entities is visited.
    pub fn advance(
        &mut self,
        visit: &mut dyn FnMut(Option<Found>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        loop {
            if let Some(current) = &mut self.current {
                current.advance(&*self.reader, visit)?;
                self.outcomes.push(match current.left_out.take() {
                    Some(error) => Err(error),
                    None => current.query.outcome(current.found),
                });
                self.current = None;
            }
            let Some(request) = self.requests.next() else { return ControlFlow::Continue(()) };
            match Query::new(&self.schema, &request) {
                Ok(query) => {
                    let cursor = Cursor::Start;
                    let left_out = None;
                    self.current = Some(Current { query, done: 0, cursor, found: false, left_out });
                }
                Err(error) => self.outcomes.push(Err(error)),
            }
            visit(None)?;
        }
    }

    /// Ends the Read early: the current request and all later ones fail with `error`.
    pub fn abandon(&mut self, error: &EntityError) {
        let unanswered = usize::from(self.current.take().is_some()) + self.requests.len();
        self.requests = Vec::new().into_iter();
        self.outcomes.extend((0..unanswered).map(|_| Err(error.clone())));
    }

    /// Returns one outcome for each request that has been answered, in order.
    pub fn outcomes(&self) -> &[Result<(), EntityError>] {
        &self.outcomes
    }

    /// Removes and returns the outcomes of the requests that have been answered, in order.
    #[must_use]
    pub fn take_outcomes(&mut self) -> Vec<Result<(), EntityError>> {
        std::mem::take(&mut self.outcomes)
    }
}

impl Current {
    fn advance(
        &mut self,
        reader: &dyn Reader,
        visit: &mut dyn FnMut(Option<Found>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Self { query, done, cursor, found, left_out } = self;
        while let Some(selection) = query.selections.get(*done) {
            reader.read(selection, cursor, &mut |entity| {
                *found |= entity.is_some();
                visit(entity.map(|entity| query.found(entity)))
            })?;
            // A wildcard selects only what can be shown, so its omissions are no errors.
            let why = reader.take_left_out().filter(|_| query.names_object);
            *left_out = left_out.take().or(why);
            *done += 1;
            *cursor = Cursor::Start;
        }
        ControlFlow::Continue(())
    }
}
