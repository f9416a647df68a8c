//! A packet through a switch while somebody looks on.

use std::time::Duration;

use crate::{Coverage, Event, Output, RunError, Switch, Trace};
use ir::Location;

/// What became of a packet, and what happened to it if anybody asked.
pub(super) struct Seen {
    pub(super) outputs: Result<Vec<Output>, RunError>,
    pub(super) events: Option<Vec<Event>>,
}

/// A packet arrives at a switch by a port at a time; `coverage` of the switch's program is told what it reaches.
pub(super) fn process(
    switch: &mut Switch,
    (port, data, now): (u32, &[u8], Duration),
    coverage: Option<&mut Coverage>,
    wants_events: bool,
) -> Seen {
    switch.expire(now);
    let seen = if coverage.is_none() && !wants_events {
        Seen { outputs: switch.process(port, data, now), events: None }
    } else {
        let mut observer = Observer { events: Vec::new(), coverage };
        let outputs = switch.process_traced(port, data, now, &mut observer);
        Seen { outputs, events: wants_events.then_some(observer.events) }
    };
    switch.answer_entry_changes();
    seen
}

/// Takes events, and tells coverage of them.
struct Observer<'c> {
    events: Vec<Event>,
    coverage: Option<&'c mut Coverage>,
}

impl Trace for Observer<'_> {
    fn event(&mut self, event: Event) {
        if let Some(coverage) = &mut self.coverage {
            coverage.event(event.clone());
        }
        self.events.push(event);
    }

    fn branch(&mut self, at: Location, side: usize) {
        if let Some(coverage) = &mut self.coverage {
            coverage.branch(at, side);
        }
    }

    fn selected(&mut self, parser: &str, state: &str, case: Option<usize>) {
        if let Some(coverage) = &mut self.coverage {
            coverage.selected(parser, state, case);
        }
    }
}
