//! Processes a packet and records its events and coverage.

use std::time::Duration;

use ir::Location;
use pipeline::{Coverage, Event, Output, QueueTimes, RunError, Switch, Trace, Waiting};

/// The packets that a switch sent for one packet, and the events in its processing if they were
/// requested.
pub(super) struct Seen {
    pub(super) outputs: Result<Vec<Output>, RunError>,
    pub(super) events: Option<Vec<Event>>,
}

/// A packet that a switch receives, with its time and port.
pub(super) struct Arrival<'p> {
    pub(super) port: u32,
    pub(super) data: &'p [u8],
    pub(super) now: Duration,
}

/// Processes a packet and records in `coverage` which parts of the program it reaches. Entries
/// whose idle timeout is over are handled before it, and changes of entries that it requests from a
/// controller are executed after it.
pub(super) fn process(
    switch: &mut Switch,
    Arrival { port, data, now }: Arrival<'_>,
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

/// Continues with a packet that leaves its queue, like [`process`].
pub(super) fn resume(
    switch: &mut Switch,
    waiting: Waiting,
    times: &QueueTimes,
    coverage: Option<&mut Coverage>,
    wants_events: bool,
) -> Seen {
    switch.expire(times.left);
    let mut observer = Observer { events: Vec::new(), coverage };
    let observes = observer.coverage.is_some() || wants_events;
    let trace = observes.then_some(&mut observer as &mut dyn Trace);
    let outputs = switch.resume(waiting, times, trace);
    let seen = Seen { outputs, events: wants_events.then_some(observer.events) };
    switch.answer_entry_changes();
    seen
}

/// Collects the events in the processing of a packet, and passes them on to the coverage.
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
