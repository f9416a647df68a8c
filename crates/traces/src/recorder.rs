//! Records what happens to a packet.

use crate::message::Names;
use crate::tree::Node;
use crate::{Arrival, Trace, tree};
use ir::Location;
use pipeline::{ActionCall, Checkpoint, Core, Detail, Event, Output, RunError, Selection};
use std::collections::VecDeque;
use std::sync::Arc;

/// The largest number of passes for which checkpoints are kept. A checkpoint copies the record of
/// all passes so far, so for later choices, the packet is tried again from the last checkpoint that
/// was kept.
const MAX_MARKED: usize = 64;

/// A record of what happens to a packet, from which its trace is made.
#[derive(Debug)]
pub struct Recorder {
    pub(crate) run: Run,
    /// The number of the current pass of the packet through the pipeline.
    current: u32,
    /// The kinds of events that are recorded after the start of the record.
    wanted: Detail,
    /// The kinds of events that are recorded at the moment.
    detail: Detail,
    /// The members of action selectors that run instead of those that the packet's hashes select.
    forced: Vec<Forced>,
    /// Whether choices of members become items of the record, so that they can be enumerated.
    has_choices: bool,
    /// Whether the choice that [`Event::Chosen`] reports next is already an item of the record.
    has_choice: bool,
    /// The choice after which recording starts, or `None` to record from the arrival of the packet.
    start: Option<Point>,
    /// The checkpoint from which the packet is tried, or `None` if it is tried from its arrival.
    from: Option<Checkpoint>,
    /// The most recent checkpoint of the packet.
    last: Option<Arc<Mark>>,
}

/// A checkpoint of a packet, together with the state that the record had at that time.
#[derive(Debug)]
pub(crate) struct Mark {
    checkpoint: Checkpoint,
    /// The passes before the checkpoint, without their items.
    run: Run,
    /// The number of the pass that was current at the checkpoint.
    current: u32,
}

/// All passes of a packet and of its copies, indexed by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Run {
    passes: Vec<Pass>,
}

/// A pass of a packet, or of one of its copies, through a pipeline.
#[derive(Debug, Default)]
struct Pass {
    path: PassPath,
    items: VecDeque<Item>,
    /// The number of further passes that this pass has caused, such as by recirculating or cloning.
    further: u32,
    /// The number of choices so far in this pass.
    choices: u32,
}

/// The identity of a pass in the tree of passes: on the way from the packet's first pass, the
/// position of the next pass among those that each pass causes. Unlike a pass number, it is the
/// same in all runs that make the same choices before it.
type PassPath = Vec<u32>;

/// The position of a choice: the pass in which it is made, and its number there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pass: PassPath,
    /// The position of the choice among the choices of its pass.
    choice: u32,
}

/// A choice with the member that must run, whatever the packet's hash selects.
#[derive(Clone, Debug)]
pub(crate) struct Forced {
    pub(crate) at: Point,
    pub(crate) member: usize,
}

/// An item in the record of a pass.
#[derive(Debug)]
pub(crate) enum Item {
    Event(Event),
    Branch { at: Location, side: usize },
    Selected { parser: String, state: String, case: Option<usize> },
    Choice(Choice),
    Fault(String),
}

/// A choice among members of an action selector that do not all run the same action with the same
/// arguments.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) at: Point,
    pub(crate) table: ir::TableId,
    pub(crate) group: Option<u32>,
    pub(crate) alternatives: Vec<Alternative>,
    /// The position in `alternatives` of the one that the packet took.
    pub(crate) taken: usize,
    /// A checkpoint before the choice, from which the other alternatives can be tried, if there is
    /// one.
    pub(crate) mark: Option<Arc<Mark>>,
}

/// The members of a group that run the same action with the same arguments, as one alternative.
#[derive(Debug)]
pub(crate) struct Alternative {
    pub(crate) call: Arc<ActionCall>,
    pub(crate) members: Vec<u32>,
    pub(crate) weight: u64,
    /// The position of the first of these members among all members of the group that can be
    /// selected.
    pub(crate) position: usize,
    pub(crate) by_hash: bool,
}

impl Recorder {
    /// Creates a recorder that records events up to the given level of detail.
    #[must_use]
    pub fn new(detail: Detail) -> Self {
        Self {
            run: Run::default(),
            current: 0,
            wanted: detail,
            detail,
            forced: Vec::new(),
            has_choices: false,
            has_choice: false,
            start: None,
            from: None,
            last: None,
        }
    }

    /// Creates a recorder that also records the choices of members.
    pub(crate) fn of_choices(detail: Detail) -> Self {
        Self { has_choices: true, ..Self::new(detail) }
    }

    /// Creates a recorder for what follows the last of the given choices, in its pass and in the
    /// passes that this pass causes. The packet runs the members that the choices state. It is
    /// tried from the checkpoint `mark`, if there is one.
    pub(crate) fn after(forced: &[Forced], mark: Option<Arc<Mark>>, detail: Detail) -> Self {
        let (run, current) = match &mark {
            Some(mark) => (mark.run.without_items(), mark.current),
            None => (Run::default(), 0),
        };
        Self {
            run,
            current,
            forced: forced.to_vec(),
            start: forced.last().map(|last| last.at.clone()),
            from: mark.as_ref().map(|mark| mark.checkpoint.clone()),
            last: mark,
            detail: Detail::Passes,
            ..Self::of_choices(detail)
        }
    }

    /// Returns the checkpoint from which the packet must be tried, or `None` if it must be tried
    /// from its arrival.
    #[must_use]
    pub fn starts_from(&self) -> Option<Checkpoint> {
        self.from.clone()
    }

    /// Returns the trace of a packet that was processed. `core` must be the program that processed
    /// the packet.
    #[must_use]
    pub fn finish(
        mut self,
        core: &Core,
        arrival: Arrival<'_>,
        outputs: &Result<Vec<Output>, RunError>,
    ) -> Trace {
        if let Err(error) = outputs {
            self.fail(error);
        }
        let tree: Node = tree::of_run(&mut self.run);
        Names(core).trace(arrival, &tree, outputs)
    }

    /// Returns the trace of a packet that had waited in a queue of a port, from the time at which
    /// it left the queue. `core` must be the program that processed the packet.
    #[must_use]
    pub fn finish_resumed(
        self,
        core: &Core,
        port: u32,
        outputs: &Result<Vec<Output>, RunError>,
    ) -> Trace {
        let arrival = Arrival { port, packet: &[], now: std::time::Duration::ZERO };
        Trace { resumed: true, ..self.finish(core, arrival, outputs) }
    }

    /// Records the error with which the packet failed. It belongs to the current pass. If that pass
    /// is before the start of the record, it is recorded at the start, because the whole packet has
    /// failed.
    pub(crate) fn fail(&mut self, error: &RunError) {
        let is_recorded = self.detail > Detail::Passes;
        let start = self.start.as_ref().filter(|_| !is_recorded);
        let number = start.and_then(|start| self.run.of_point(start)).unwrap_or(self.current);
        self.run.pass(number).items.push_back(Item::Fault(error.to_string()));
    }

    fn push(&mut self, item: Item) {
        self.run.pass(self.current).items.push_back(item);
    }

    /// Sets which kinds of events are recorded, depending on whether the record has started in the
    /// current pass.
    fn set_detail(&mut self) {
        let Some(start) = &self.start else { return };
        let pass = self.run.pass(self.current);
        let is_after = match pass.path.len() > start.pass.len() {
            true => pass.path.starts_with(&start.pass),
            false => pass.path == start.pass && pass.choices > start.choice,
        };
        self.detail = if is_after { self.wanted } else { Detail::Passes };
    }
}

impl Run {
    /// Returns a copy of the passes without their items.
    fn without_items(&self) -> Self {
        let passes = self.passes.iter().map(|pass| Pass {
            path: pass.path.clone(),
            items: VecDeque::new(),
            further: pass.further,
            choices: pass.choices,
        });
        Self { passes: passes.collect() }
    }

    fn pass(&mut self, number: u32) -> &mut Pass {
        let position = number as usize;
        if position >= self.passes.len() {
            self.passes.resize_with(position + 1, Pass::default);
        }
        // The vector was extended to contain this position.
        &mut self.passes[position]
    }

    /// Removes and returns the items of a pass.
    pub(crate) fn take(&mut self, number: u32) -> VecDeque<Item> {
        std::mem::take(&mut self.pass(number).items)
    }

    /// Returns the number of the pass in which the choice is made, or `None` if there is no such
    /// pass in this run.
    pub(crate) fn of_point(&self, point: &Point) -> Option<u32> {
        let position = self.passes.iter().position(|pass| pass.path == point.pass)?;
        u32::try_from(position).ok()
    }
}

impl pipeline::Trace for Recorder {
    fn event(&mut self, event: Event) {
        match &event {
            Event::Pass { number, .. } => {
                self.current = *number;
                self.set_detail();
            }
            Event::Further { number, .. } => {
                let pass = self.run.pass(self.current);
                let mut path = pass.path.clone();
                path.push(pass.further);
                pass.further += 1;
                self.run.pass(*number).path = path;
            }
            Event::Chosen { .. } if std::mem::take(&mut self.has_choice) => return,
            _ => {}
        }
        if self.detail >= event.detail() && self.detail > Detail::Passes {
            self.push(Item::Event(event));
        }
    }

    fn branch(&mut self, at: Location, side: usize) {
        if self.detail == Detail::Values {
            self.push(Item::Branch { at, side });
        }
    }

    fn selected(&mut self, parser: &str, state: &str, case: Option<usize>) {
        if self.detail == Detail::Values {
            let (parser, state) = (parser.to_owned(), state.to_owned());
            self.push(Item::Selected { parser, state, case });
        }
    }

    fn choose(&mut self, selection: &Selection<'_>) -> usize {
        if !self.has_choices {
            return selection.by_hash;
        }
        // If the record left out the previous choice, no event has followed that choice.
        self.has_choice = false;
        let pass = self.run.pass(self.current);
        let at = Point { pass: pass.path.clone(), choice: pass.choices };
        pass.choices += 1;
        let forced = self.forced.iter().find(|forced| forced.at == at);
        let chosen = forced.map_or(selection.by_hash, |forced| forced.member);
        let chosen = if chosen < selection.members.len() { chosen } else { selection.by_hash };
        if self.detail > Detail::Passes {
            let choice = Choice { mark: self.last.clone(), ..Choice::new(at, selection, chosen) };
            if choice.alternatives.len() > 1 {
                self.has_choice = true;
                self.push(Item::Choice(choice));
            }
        } else {
            self.has_choice = true;
        }
        self.set_detail();
        chosen
    }

    fn wants_checkpoints(&self) -> bool {
        self.has_choices && self.run.passes.len() <= MAX_MARKED
    }

    fn checkpoint(&mut self, checkpoint: Checkpoint) {
        let (run, current) = (self.run.without_items(), self.current);
        self.last = Some(Arc::new(Mark { checkpoint, run, current }));
    }

    fn detail(&self) -> Detail {
        self.detail
    }
}

impl Choice {
    fn new(at: Point, selection: &Selection<'_>, chosen: usize) -> Self {
        let mut alternatives: Vec<Alternative> = Vec::new();
        let mut taken = 0;
        for (position, candidate) in selection.members.iter().enumerate() {
            let same = |known: &Alternative| known.call == candidate.call;
            let index = alternatives.iter().position(same).unwrap_or(alternatives.len());
            if index == alternatives.len() {
                alternatives.push(Alternative {
                    call: Arc::clone(&candidate.call),
                    members: Vec::new(),
                    weight: 0,
                    position,
                    by_hash: false,
                });
            }
            if let Some(alternative) = alternatives.get_mut(index) {
                alternative.members.extend(candidate.member);
                alternative.weight += u64::from(candidate.weight);
                alternative.by_hash |= position == selection.by_hash;
            }
            if position == chosen {
                taken = index;
            }
        }
        let Selection { table, group, .. } = *selection;
        Self { at, table, group, alternatives, taken, mark: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::TableId;
    use pipeline::Trace as _;

    #[test]
    fn a_choice_that_is_left_out_does_not_hide_the_next_one() {
        let table = TableId(0);
        let selection = Selection { table, group: None, members: &[], by_hash: 0 };
        let mut recorder = Recorder::of_choices(Detail::Steps);
        recorder.detail = Detail::Passes;
        recorder.choose(&selection);
        recorder.detail = Detail::Steps;
        recorder.choose(&selection);
        recorder.event(Event::Chosen { table, group: None, member: None, weight: 1, total: 1 });
        assert_eq!(recorder.run.take(0).len(), 1);
    }

    #[test]
    fn packets_with_many_passes_take_no_further_checkpoints() {
        let mut recorder = Recorder::of_choices(Detail::Steps);
        recorder.run.pass(63);
        assert!(recorder.wants_checkpoints());
        recorder.run.pass(64);
        assert!(!recorder.wants_checkpoints());
    }
}
