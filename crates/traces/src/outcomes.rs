//! Enumerates the outcomes that a packet could have, one for each combination of choices.

use crate::recorder::{Choice, Forced, Item, Mark, Recorder, Run};
use crate::tree::{self, DEPTH, End, Next, Node, One, Stretch};
use pipeline::{Detail, Output, RunError};
use protos::trace::Outcomes;
use std::collections::VecDeque;
use std::sync::Arc;

/// The largest number of outcomes that are enumerated, unless the user sets another limit.
pub const DEFAULT_OUTCOMES: u64 = 1024;

/// The outcomes of an enumeration.
pub(crate) struct Found {
    pub(crate) tree: Node,
    /// The outputs that the packet has if its hashes make all choices.
    pub(crate) outputs: Result<Vec<Output>, RunError>,
    pub(crate) counts: Outcomes,
}

/// A function that tries the packet, records what happens to it, and returns its outputs.
type Attempt<'a> = dyn FnMut(&mut Recorder) -> Result<Vec<Output>, RunError> + 'a;

/// Enumerates the outcomes that a packet could have, up to `limit` of them.
pub(crate) fn enumerate(attempt: &mut Attempt<'_>, detail: Detail, limit: u64) -> Found {
    let detail = detail.max(Detail::Steps);
    let mut recorder = Recorder::of_choices(detail);
    let outputs = attempt(&mut recorder);
    if let Err(error) = &outputs {
        recorder.fail(error);
    }
    let counts = Outcomes { explored: 1, left_out: 0, limit, mixed_states: false };
    let mut enumeration = Enumeration { attempt, detail, counts, forced: Vec::new() };
    let mut run = recorder.run;
    let first = run.take(0);
    let tree = enumeration.node(&mut run, first, 0);
    Found { tree, outputs, counts: enumeration.counts }
}

/// The enumeration of the outcomes of one packet.
struct Enumeration<'a, 'f> {
    attempt: &'a mut Attempt<'f>,
    detail: Detail,
    counts: Outcomes,
    /// The choices that lead to the current node of the tree, each with the member that was
    /// selected.
    forced: Vec<Forced>,
}

impl Enumeration<'_, '_> {
    /// Returns the node for the items in `rest`, including everything that follows them. The items
    /// are the remainder of a pass of `run`.
    fn node(&mut self, run: &mut Run, mut rest: VecDeque<Item>, depth: usize) -> Node {
        let mut items = Vec::new();
        loop {
            let next = match tree::stretch(&mut rest, &mut items) {
                Stretch::Choice(_) if depth >= DEPTH => tree::too_deep(),
                Stretch::Choice(choice) => Next::One(self.choice(run, choice, rest, depth)),
                Stretch::Ends(ends) => match tree::only(ends) {
                    Ok(End::Further { number, .. }) => {
                        rest = run.take(number);
                        continue;
                    }
                    Ok(End::Leaf(next)) => next,
                    Err(ends) if ends.is_empty() => Next::Nothing,
                    Err(_) if depth >= DEPTH => tree::too_deep(),
                    Err(ends) => Next::All(tree::all(ends, &mut |number| {
                        let rest = run.take(number);
                        self.node(run, rest, depth + 1)
                    })),
                },
            };
            return Node { items, next };
        }
    }

    /// Returns the nodes for all alternatives of a choice. `rest` contains the items that followed
    /// the alternative that was taken in `run`, so that alternative need not be tried again.
    fn choice(&mut self, run: &mut Run, choice: Choice, rest: VecDeque<Item>, depth: usize) -> One {
        let Choice { at, table, group, alternatives, taken, mark } = choice;
        let mut rest = Some(rest);
        let mut nodes = Vec::with_capacity(alternatives.len());
        for (index, alternative) in alternatives.into_iter().enumerate() {
            self.forced.push(Forced { at: at.clone(), member: alternative.position });
            let node = match rest.take_if(|_| index == taken) {
                Some(rest) => self.node(run, rest, depth + 1),
                None => self.other(mark.clone(), depth + 1),
            };
            self.forced.pop();
            nodes.push((alternative, node));
        }
        One { table, group, alternatives: nodes }
    }

    /// Tries the packet with the members in `forced`, from a checkpoint if there is one. Returns
    /// the node for what follows the last choice.
    fn other(&mut self, mark: Option<Arc<Mark>>, depth: usize) -> Node {
        if self.counts.explored >= self.counts.limit {
            self.counts.left_out += 1;
            let next = Next::Cut(format!("{} outcomes", self.counts.limit));
            return Node { items: Vec::new(), next };
        }
        self.counts.explored += 1;
        let mut recorder = Recorder::after(&self.forced, mark, self.detail);
        if let Err(error) = (self.attempt)(&mut recorder) {
            recorder.fail(&error);
        }
        let mut run = recorder.run;
        let pass = self.forced.last().and_then(|last| run.of_point(&last.at));
        let rest = pass.map(|pass| run.take(pass)).unwrap_or_default();
        self.node(&mut run, rest, depth)
    }
}
