//! The choices that a packet's path through a program consists of. The analysis that enumerates
//! paths and the interpreter that executes them use the same type, so that a path found by one can
//! be looked up by the other, and an analysis can be restricted to choices that were found before.

use crate::{Location, ParserId, StateId, TableId};

/// A choice during the processing of a packet, such as the branch of an `if` that is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// A parser enters a state.
    State(ParserId, StateId),
    /// The `select` of a parser state takes the case at this position in its list. Recorded paths
    /// contain only the states that are entered and not the cases, because cases with the same
    /// target lead to the same path.
    Case(ParserId, StateId, usize),
    /// The `if` or `switch` at this source location takes the branch with this number. The branches
    /// of an `if` are 0 (else) and 1 (then). The branches of a `switch` are 0 (default) and its
    /// cases, counted from 1.
    Side(Location, usize),
    /// The `for` loop at this source location makes this number of iterations.
    Turns(Location, usize),
    /// A branch or loop makes a choice, but the program does not record its source location.
    Unplaced,
    /// A table runs the action at this position in the table's list of actions.
    Action(TableId, usize),
    /// A parser rejects the packet, by a transition to `reject` or by `verify`.
    Rejected,
    /// A parser or control that the architecture calls directly (a block of the package) ends.
    BlockEnd,
}
