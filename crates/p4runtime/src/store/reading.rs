//! Reads that are answered piece by piece.
//!
//! The answer to a Read may be much larger than its request: a dozen bytes select every cell of an
//! array. So it is never built as a whole. A request is checked once, and its entities are then
//! visited for as long as whoever sends them goes on; the place where they stopped is kept, as an
//! index or a key, so that to go on costs nothing.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::vec;

use entities::{Cursor, EntityError, Reader};

use crate::conversion::{Found, Query};
use crate::p4info::Schema;
use crate::proto::v1;

/// A Read that is being answered.
#[derive(Debug)]
pub struct Reading {
    schema: Arc<Schema>,
    reader: Box<dyn Reader>,
    requests: vec::IntoIter<v1::Entity>,
    current: Option<Current>,
    outcomes: Vec<Result<(), EntityError>>,
}

#[derive(Debug)]
struct Current {
    query: Query,
    /// How many selections of the query are done.
    done: usize,
    /// How far the one after them was read.
    cursor: Cursor,
    found: bool,
    /// Why an entity that was asked for by the id of its object could not be shown.
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

    /// Goes on from where it stopped, until `visit` breaks it off; the end is reached otherwise.
    ///
    /// `visit` is called with every entity that is selected, and with `None` for every step that
    /// found none: a request that is begun, an entity that is passed over. An error of a request
    /// comes before any of its entities.
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

    /// Answers nothing more: the request that is being answered and those after it fail.
    pub fn abandon(&mut self, error: &EntityError) {
        let unanswered = usize::from(self.current.take().is_some()) + self.requests.len();
        self.requests = Vec::new().into_iter();
        self.outcomes.extend((0..unanswered).map(|_| Err(error.clone())));
    }

    /// One outcome for each request that has been answered, in their order.
    pub fn outcomes(&self) -> &[Result<(), EntityError>] {
        &self.outcomes
    }

    /// As [`Reading::outcomes`], to keep them.
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
            // A wildcard is about what can be shown.
            let why = reader.take_left_out().filter(|_| query.names_object);
            *left_out = left_out.take().or(why);
            *done += 1;
            *cursor = Cursor::Start;
        }
        ControlFlow::Continue(())
    }
}
