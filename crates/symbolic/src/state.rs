//! The state of packets at a point of the program: the condition under which packets are there, and
//! the leaves of all variables as terms.
//!
//! Where paths join, their states become one. Each leaf is then a choice between its values on the
//! paths. The conditions of different states at the same point exclude each other.

use crate::term::{Term, Terms};

/// A property of a packet that is not a variable of the program. In a state, its leaf follows those
/// of the variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    /// The position of the parser in the packet, in bits.
    Cursor,
    /// The error of the parser.
    ParserError,
    /// Whether a checksum was verified and found to be wrong.
    ChecksumError,
    /// The number of bytes by which `setValid` and `setInvalid` have changed the length of the
    /// packet.
    LengthChange,
    /// The number of bytes to which the outgoing packet is truncated; all ones for no limit.
    Truncate,
    /// Whether the packet will be resubmitted.
    Resubmit,
    /// The number of the field list that a resubmitted packet preserves; all ones for none.
    ResubmitList,
    /// Whether the packet will be recirculated.
    Recirculate,
    /// The number of the field list that a recirculated packet preserves; all ones for none.
    RecirculateList,
    /// Whether the packet will be cloned.
    Clone,
    /// The number of the clone session.
    CloneSession,
    /// The number of the field list that a clone preserves; all ones for none. In PNA, the slot of
    /// the mirrored packet.
    CloneList,
    /// Whether the packet has an output port, in PNA, where no metadata field says so.
    HasPort,
    /// The output port of the packet, in PNA, where no metadata field holds it.
    Port,
}

impl Special {
    /// All properties, in the order of their leaves in a state.
    pub(crate) const ALL: [Self; 14] = [
        Self::Cursor,
        Self::ParserError,
        Self::ChecksumError,
        Self::LengthChange,
        Self::Truncate,
        Self::Resubmit,
        Self::ResubmitList,
        Self::Recirculate,
        Self::RecirculateList,
        Self::Clone,
        Self::CloneSession,
        Self::CloneList,
        Self::HasPort,
        Self::Port,
    ];

    /// Returns the number of bits of the property.
    pub(crate) fn width(self) -> u32 {
        match self {
            Self::ChecksumError
            | Self::Resubmit
            | Self::Recirculate
            | Self::Clone
            | Self::HasPort => 1,
            Self::Cursor
            | Self::ParserError
            | Self::LengthChange
            | Self::Truncate
            | Self::ResubmitList
            | Self::RecirculateList
            | Self::CloneSession
            | Self::CloneList
            | Self::Port => 32,
        }
    }

    /// Returns the value of the property at the beginning of a pass through the program.
    pub(crate) fn initial(self, terms: &mut Terms) -> Term {
        match self {
            Self::Truncate | Self::ResubmitList | Self::RecirculateList | Self::CloneList => {
                terms.ones(self.width())
            }
            Self::Cursor
            | Self::ParserError
            | Self::ChecksumError
            | Self::LengthChange
            | Self::Resubmit
            | Self::Recirculate
            | Self::Clone
            | Self::CloneSession
            | Self::HasPort
            | Self::Port => terms.zero(self.width()),
        }
    }
}

/// The state of packets at a point of the program.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// The condition under which packets are at this point of the program.
    pub(crate) guard: Term,
    /// The leaves of all variables, of the results of functions and of the sums of checksum
    /// objects, and then one leaf for each [`Special`].
    pub(crate) leaves: Vec<Term>,
}

impl State {
    /// Returns the leaf at a position. A position beyond the leaves is a mistake of the caller, and
    /// the first leaf is returned.
    pub(crate) fn leaf(&self, position: usize) -> Term {
        self.leaves.get(position).copied().unwrap_or(self.guard)
    }

    /// Replaces a leaf.
    pub(crate) fn set(&mut self, position: usize, value: Term) {
        if let Some(leaf) = self.leaves.get_mut(position) {
            *leaf = value;
        }
    }

    /// Returns `count` leaves from position `offset` on.
    pub(crate) fn range(&self, offset: usize, count: usize) -> Vec<Term> {
        self.leaves.get(offset..offset + count).unwrap_or_default().to_vec()
    }

    /// Replaces the leaves from position `offset` on.
    pub(crate) fn set_range(&mut self, offset: usize, values: &[Term]) {
        for (position, value) in values.iter().enumerate() {
            self.set(offset + position, *value);
        }
    }

    fn position(&self, special: Special) -> usize {
        self.leaves.len() - Special::ALL.len() + special as usize
    }

    /// Returns a property of the packet.
    pub(crate) fn special(&self, special: Special) -> Term {
        self.leaf(self.position(special))
    }

    /// Replaces a property of the packet.
    pub(crate) fn set_special(&mut self, special: Special, value: Term) {
        let position = self.position(special);
        self.set(position, value);
    }

    /// Returns the state restricted to packets that satisfy a condition; `None` if no packet can.
    pub(crate) fn when(&self, terms: &mut Terms, condition: Term) -> Option<Self> {
        let guard = terms.and(self.guard, condition);
        if terms.truth_of(guard) == Some(false) {
            return None;
        }
        Some(Self { guard, leaves: self.leaves.clone() })
    }
}

/// Joins two states whose guards exclude each other. `first_if` must hold for all packets of the
/// first state, and for none of the second.
pub(crate) fn join(terms: &mut Terms, first_if: Term, first: State, second: &State) -> State {
    let guard = terms.or(first.guard, second.guard);
    let mut joined = first;
    joined.guard = guard;
    for (leaf, other) in joined.leaves.iter_mut().zip(&second.leaves) {
        if *leaf != *other {
            *leaf = terms.if_then_else(first_if, *leaf, *other);
        }
    }
    joined
}

/// Joins two states, either of which may be missing. The guard of the second state says which of
/// the two a packet has.
pub(crate) fn join_any(
    terms: &mut Terms,
    first: Option<State>,
    second: Option<State>,
) -> Option<State> {
    match (first, second) {
        (Some(first), Some(second)) => {
            let by = second.guard;
            Some(join(terms, by, second, &first))
        }
        (first, second) => first.or(second),
    }
}

/// The states in which packets leave a block, according to where they continue.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    /// The packets that reach the end of the block and continue after it.
    pub(crate) next: Option<State>,
    /// The packets that leave the innermost loop with `break`.
    pub(crate) breaks: Option<State>,
    /// The packets that go to the next iteration of the innermost loop with `continue`.
    pub(crate) continues: Option<State>,
    /// The packets that leave the present action, function, control or parser state with `return`.
    pub(crate) returns: Option<State>,
    /// The packets that leave the top-level control or parser with `exit`.
    pub(crate) exits: Option<State>,
    /// The packets that the parser rejects, with the error in [`Special::ParserError`].
    pub(crate) rejects: Option<State>,
}

impl Outcomes {
    /// Returns the outcomes of a statement after which all packets of this state continue.
    pub(crate) fn next(state: State) -> Self {
        Self { next: Some(state), ..Self::default() }
    }

    /// Adds those packets of `other` that do not reach the end of their block. Returns the state of
    /// those that do.
    pub(crate) fn absorb(&mut self, terms: &mut Terms, other: Self) -> Option<State> {
        let Self { next, breaks, continues, returns, exits, rejects } = other;
        for (here, there) in [
            (&mut self.breaks, breaks),
            (&mut self.continues, continues),
            (&mut self.returns, returns),
            (&mut self.exits, exits),
            (&mut self.rejects, rejects),
        ] {
            *here = join_any(terms, here.take(), there);
        }
        next
    }

    /// Adds all packets of `other`.
    pub(crate) fn add(&mut self, terms: &mut Terms, other: Self) {
        let next = self.absorb(terms, other);
        self.next = join_any(terms, self.next.take(), next);
    }
}
