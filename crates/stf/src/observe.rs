//! Processes a packet and records its trace and coverage.

use std::time::Duration;

use ir::Location;
use pipeline::{Coverage, Detail, Event, Output, QueueTimes, RunError, Switch, Waiting};
use traces::{Contents, Recorder, Trace};

/// The packets that a switch sent because of one received packet, and the trace of that packet if
/// it was requested.
pub(super) struct Seen {
    pub(super) outputs: Result<Vec<Output>, RunError>,
    pub(super) trace: Option<Trace>,
}

/// A packet that a switch receives, with the port and the time of its arrival.
pub(super) struct Arrival<'p> {
    pub(super) port: u32,
    pub(super) data: &'p [u8],
    pub(super) now: Duration,
}

/// Processes a packet and records in `coverage` which parts of the program it reaches. Before that,
/// entries whose idle timeout has expired are handled. After that, changes of entries that the
/// packet requests from a controller are carried out.
pub(super) fn process(
    switch: &mut Switch,
    Arrival { port, data, now }: Arrival<'_>,
    coverage: Option<&mut Coverage>,
    contents: Option<Contents>,
) -> Seen {
    switch.expire(now);
    let arrival = traces::Arrival { port, packet: data, now };
    let outcomes = contents.and_then(|contents| {
        let limit = contents.outcomes?;
        Some(traces::all_outcomes(switch, arrival, contents.detail, limit).1)
    });
    let mut observer = Observer::new(coverage, contents.filter(|_| outcomes.is_none()));
    let outputs = match observer.observes() {
        true => switch.process_traced(port, data, now, &mut observer),
        false => switch.process(port, data, now),
    };
    let recorded = observer.recorder.map(|recorder| recorder.finish(switch, arrival, &outputs));
    switch.answer_entry_changes();
    Seen { outputs, trace: outcomes.or(recorded) }
}

/// Continues to process a packet that leaves its queue, in the same way as [`process`]. The
/// outcomes that its egress could have are not enumerated.
pub(super) fn resume(
    switch: &mut Switch,
    waiting: Waiting,
    times: &QueueTimes,
    coverage: Option<&mut Coverage>,
    contents: Option<Contents>,
) -> Seen {
    switch.expire(times.left);
    let port = waiting.port();
    let mut observer = Observer::new(coverage, contents);
    let observes = observer.observes();
    let trace = observes.then_some(&mut observer as &mut dyn pipeline::Trace);
    let outputs = switch.resume(waiting, times, trace);
    let trace = observer.recorder.map(|recorder| recorder.finish_resumed(switch, port, &outputs));
    switch.answer_entry_changes();
    Seen { outputs, trace }
}

/// Forwards the events during the processing of a packet to both the coverage and the packet's
/// trace.
struct Observer<'c> {
    coverage: Option<&'c mut Coverage>,
    recorder: Option<Recorder>,
}

impl<'c> Observer<'c> {
    fn new(coverage: Option<&'c mut Coverage>, contents: Option<Contents>) -> Self {
        let recorder = contents.map(|contents| Recorder::new(contents.detail));
        Self { coverage, recorder }
    }

    fn observes(&self) -> bool {
        self.coverage.is_some() || self.recorder.is_some()
    }
}

impl pipeline::Trace for Observer<'_> {
    fn event(&mut self, event: Event) {
        if let Some(coverage) = &mut self.coverage {
            coverage.event(event.clone());
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.event(event);
        }
    }

    fn branch(&mut self, at: Location, side: usize) {
        if let Some(coverage) = &mut self.coverage {
            coverage.branch(at, side);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.branch(at, side);
        }
    }

    fn selected(&mut self, parser: &str, state: &str, case: Option<usize>) {
        if let Some(coverage) = &mut self.coverage {
            coverage.selected(parser, state, case);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.selected(parser, state, case);
        }
    }

    fn detail(&self) -> Detail {
        let coverage = self.coverage.as_ref().map(|coverage| coverage.detail());
        let recorder = self.recorder.as_ref().map(pipeline::Trace::detail);
        coverage.max(recorder).unwrap_or(Detail::Nothing)
    }
}
