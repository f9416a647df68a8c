//! Records what happens to a packet.

use crate::message::Names;
use crate::tree::Node;
use crate::{Arrival, Trace, tree};
use ir::Location;
use pipeline::{ActionCall, Checkpoint, Core, Detail, Event, Output, RunError, Selection};
use std::collections::VecDeque;
use std::sync::Arc;

/// A record of what happens to a packet, from which its trace is made.
#[derive(Debug)]
pub struct Recorder {
    pub(crate) run: Run,
    /// The number of the current pass.
    current: u32,
    /// The events that are recorded, once recording has started.
    wanted: Detail,
    /// The events that are recorded now.
    detail: Detail,
    /// The members that run instead of those that the packet's hashes choose.
    forced: Vec<Forced>,
    /// Whether choices become items of the record, so that they can be enumerated.
    has_choices: bool,
    /// Whether the choice that [`Event::Chosen`] reports next is recorded as an item already.
    has_choice: bool,
    /// The choice at which recording starts. `None` if it starts with the packet.
    start: Option<Point>,
    /// The checkpoint from which the packet is tried. `None` if it is tried as a whole.
    from: Option<Checkpoint>,
    /// The last checkpoint of the packet so far.
    last: Option<Arc<Mark>>,
}

/// A checkpoint of a packet, with the state of the record then.
#[derive(Debug)]
pub(crate) struct Mark {
    checkpoint: Checkpoint,
    /// The passes, without items.
    run: Run,
    /// The number of the current pass.
    current: u32,
}

/// The passes of a packet, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Run {
    passes: Vec<Pass>,
}

/// A pass of a packet through a pipeline.
#[derive(Debug, Default)]
struct Pass {
    path: PassPath,
    items: VecDeque<Item>,
    /// The number of further passes that this one has caused.
    further: u32,
    /// The number of choices in this pass.
    choices: u32,
}

/// The way from the first pass of a packet to another one: at each pass, the position of the next
/// one among those that it causes. It is the same in all runs that agree on the choices before it.
type PassPath = Vec<u32>;

/// A choice of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pass: PassPath,
    /// The position of the choice among those of its pass.
    choice: u32,
}

/// A choice of a packet, with the position of the member that it takes.
#[derive(Clone, Debug)]
pub(crate) struct Forced {
    pub(crate) at: Point,
    pub(crate) member: usize,
}

/// An item of the record of a pass.
#[derive(Debug)]
pub(crate) enum Item {
    Event(Event),
    Branch { at: Location, side: usize },
    Selected { parser: String, state: String, case: Option<usize> },
    Choice(Choice),
    Fault(String),
}

/// A choice between members that run different actions, or the same action with different
/// arguments.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) at: Point,
    pub(crate) table: ir::TableId,
    pub(crate) group: Option<u32>,
    pub(crate) alternatives: Vec<Alternative>,
    /// The position of the alternative that the packet takes.
    pub(crate) taken: usize,
    /// A checkpoint before the choice, if there is one.
    pub(crate) mark: Option<Arc<Mark>>,
}

/// Members of a group that run the same action with the same arguments.
#[derive(Debug)]
pub(crate) struct Alternative {
    pub(crate) call: Arc<ActionCall>,
    pub(crate) members: Vec<u32>,
    pub(crate) weight: u64,
    /// The position of the first of these members among all members that can be chosen.
    pub(crate) position: usize,
    pub(crate) by_hash: bool,
}

impl Recorder {
    /// Creates a recorder of the events up to this detail.
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

    /// Creates a recorder that also records choices.
    pub(crate) fn of_choices(detail: Detail) -> Self {
        Self { has_choices: true, ..Self::new(detail) }
    }

    /// Creates a recorder of what follows the last of these choices, in its pass and in those that
    /// this pass causes. The packet takes the given members. It is tried from the checkpoint `mark`
    /// on, if there is one.
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

    /// Returns the checkpoint from which the packet must be tried, or `None` if it must be tried as
    /// a whole.
    #[must_use]
    pub fn starts_from(&self) -> Option<Checkpoint> {
        self.from.clone()
    }

    /// Returns the trace of a packet that was processed. `core` must be the program that processed
    /// it.
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

    /// Returns the trace of a packet that has left a queue of a port and was processed further.
    /// `core` must be the program that processed it.
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

    /// Records the error with which the packet failed: in the current pass, or if that is not
    /// recorded where the record starts, because the whole packet has failed.
    pub(crate) fn fail(&mut self, error: &RunError) {
        let is_recorded = self.detail > Detail::Passes;
        let start = self.start.as_ref().filter(|_| !is_recorded);
        let number = start.and_then(|start| self.run.of_point(start)).unwrap_or(self.current);
        self.run.pass(number).items.push_back(Item::Fault(error.to_string()));
    }

    fn push(&mut self, item: Item) {
        self.run.pass(self.current).items.push_back(item);
    }

    /// Sets which events are recorded in the current pass.
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
    /// Returns the passes without their items.
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
        // The vector was just made long enough.
        &mut self.passes[position]
    }

    /// Takes the items of a pass out of the record.
    pub(crate) fn take(&mut self, number: u32) -> VecDeque<Item> {
        std::mem::take(&mut self.pass(number).items)
    }

    /// Returns the number of the pass in which a choice was made, or `None` if there is none.
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
        self.has_choices
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
