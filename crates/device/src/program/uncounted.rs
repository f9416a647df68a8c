//! The work that packets of a path may need but that the path does not count, and the limits on the
//! turns of loops.
//!
//! A path has a fixed number of turns of each loop, and is one pass through the program. Where
//! packets may need more turns or passes, the path records that, because its predicted delay is
//! then no upper bound.

use std::collections::BTreeSet;

use architectures::PSA_PORT_RECIRCULATE;
use ir::{
    Architecture, Argument, Block, Expression, ExpressionKind, ExternCallee, ExternFunction,
    ParserId, Place, Program, Projection, StateId, Statement, StatementKind, Type, TypeId, Value,
};

/// The largest number of times that a path enters a parser state on a loop which nothing bounds.
pub(super) const VISITS: u32 = 8;
/// The size of the largest header stack whose size is used as the limit of a loop. With a larger
/// stack, a loop would have too many paths to follow.
const LARGEST_STACK: u32 = 63;

/// A limit on the number of times that a path enters a parser state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) most: u32,
    /// Whether it is certain that no packet enters the state more often. If it is not, paths are
    /// cut off at the limit.
    pub(super) is_certain: bool,
}

/// Returns the limit on how often a path may enter a parser state. Returns `None` if no limit is
/// needed, because the state is on no loop, or because each way back to it passes a state with a
/// certain limit.
pub(super) fn bound(program: &Program, parser: ParserId, state: StateId) -> Option<Bound> {
    if !returns(program, parser, state, |_| true) {
        return None;
    }
    let size = |state| stack_size(program, parser, state);
    if let Some(size) = size(state) {
        // If the stack is full, the state rejects the packet, but only after it was entered once
        // more.
        return Some(Bound { most: size + 1, is_certain: true });
    }
    returns(program, parser, state, |through| size(through).is_none())
        .then_some(Bound { most: VISITS, is_certain: false })
}

/// Returns whether a parser state can be reached from itself through other states that
/// `may_pass` permits.
fn returns(
    program: &Program,
    parser: ParserId,
    state: StateId,
    may_pass: impl Fn(StateId) -> bool,
) -> bool {
    let states = &program.parsers[parser.index()].states;
    let mut seen = BTreeSet::new();
    let mut open = vec![state];
    while let Some(at) = open.pop() {
        for next in states[at.index()].transition.next_states() {
            if next == state {
                return true;
            }
            if may_pass(next) && seen.insert(next) {
                open.push(next);
            }
        }
    }
    false
}

/// Returns the size of the header stack into which a parser state extracts a further element each
/// time that it is entered. Returns `None` if there is no such stack, if it is too large to follow,
/// or if a parser of the program may free elements of a stack.
fn stack_size(program: &Program, parser: ParserId, state: StateId) -> Option<u32> {
    let bodies = program.parsers.iter().flat_map(|parser| &parser.states);
    if bodies.flat_map(|state| &state.body).any(|statement| moves_stack(program, statement)) {
        return None;
    }
    let body = &program.parsers[parser.index()].states[state.index()].body;
    body.iter().find_map(|statement| match &statement.kind {
        StatementKind::Extract { header: Some(place), .. } => next_of(program, place),
        _ => None,
    })
}

/// Returns the size of the header stack, if the place is the next element of one or within it.
/// Returns `None` for other places and for stacks that are too large.
fn next_of(program: &Program, place: &Place) -> Option<u32> {
    let at = place.path.iter().position(|step| *step == Projection::Next)?;
    let path = place.path.get(..at)?.to_vec();
    let stack = Place { variable: place.variable, path };
    match program.types.find(program.place_type(&stack)?)? {
        Type::Stack { size, .. } => (size <= LARGEST_STACK).then_some(size),
        _ => None,
    }
}

/// Returns whether a statement of a parser may move the elements of a header stack, or write a
/// whole stack, so that a further element can be extracted into it.
fn moves_stack(program: &Program, statement: &Statement) -> bool {
    let any = |block: &Block| block.iter().any(|statement| moves_stack(program, statement));
    match &statement.kind {
        StatementKind::PushFront { .. } | StatementKind::PopFront { .. } => true,
        StatementKind::Assign { value, .. } => has_stack(program, value.type_id),
        StatementKind::Reset(place) => {
            program.place_type(place).is_none_or(|type_id| has_stack(program, type_id))
        }
        StatementKind::If { then, otherwise, .. } => any(then) || any(otherwise),
        // Such statements are rare in parsers, so their blocks are not examined, but assumed to
        // move a stack.
        StatementKind::Switch { .. } | StatementKind::For { .. } => true,
        _ => false,
    }
}

/// Returns whether values of a type contain a header stack.
fn has_stack(program: &Program, type_id: TypeId) -> bool {
    match program.types.find(type_id) {
        Some(Type::Stack { .. }) => true,
        Some(Type::Composite(_)) => program.types.composite(type_id).is_some_and(|composite| {
            composite.fields.iter().any(|field| has_stack(program, field.type_id))
        }),
        _ => false,
    }
}

/// Returns the text that describes further turns of a parser loop through the state `state`, beyond
/// those that a path has.
pub(super) fn more_visits(state: &str) -> String {
    format!("turns after the first {VISITS} through parser state {state}")
}

/// Returns the text that describes further turns of a loop in a control or action.
pub(super) fn more_turns(loop_statement: &Statement) -> String {
    let at = loop_statement.location.map_or_else(String::new, |at| format!(" at line {}", at.line));
    format!("turns after the first of the loop{at}")
}

/// Returns the text that describes the further pass through the program that a statement may
/// request for the packet or a copy of it, or `None` if it requests none. In PSA, the request is a
/// value that a statement writes to metadata, rather than a call of a function.
pub(super) fn further_pass(program: &Program, statement: &Statement) -> Option<String> {
    let pass = |by: &str| format!("further passes ({by})");
    let is_psa = program.architecture == Architecture::Psa;
    match &statement.kind {
        StatementKind::CallExtern { callee: ExternCallee::Function(function), .. } => {
            let requests =
                function.asks_for_another_pass() || *function == ExternFunction::MirrorPacket;
            requests.then(|| pass(function.name()))
        }
        StatementKind::Assign { place, value } if is_psa => {
            requested_by(program, place, value).map(pass)
        }
        StatementKind::CallAction { arguments, .. } if is_psa => {
            let is_port = |argument: &Argument| match argument.unordered() {
                Argument::In(value) => is_recirculation_port(value),
                _ => false,
            };
            arguments.iter().any(is_port).then(|| pass("PSA_PORT_RECIRCULATE"))
        }
        _ => None,
    }
}

/// If the statement assigns a value to a field of PSA's output metadata that requests a further
/// pass, returns the name of that request.
fn requested_by<'p>(program: &'p Program, place: &Place, value: &Expression) -> Option<&'p str> {
    const METADATA: [&str; 2] = ["psa_ingress_output_metadata_t", "psa_egress_output_metadata_t"];
    let (last, before) = place.path.split_last()?;
    let Projection::Field(position) = last else { return None };
    let of = Place { variable: place.variable, path: before.to_vec() };
    let composite = program.types.composite(program.place_type(&of)?)?;
    let field = composite.fields.get(usize::try_from(*position).ok()?)?;
    if !METADATA.contains(&composite.name.as_str()) {
        return None;
    }
    let is_false = matches!(value.kind, ExpressionKind::Constant(Value::Bool(false)));
    match field.name.as_str() {
        request @ ("clone" | "resubmit") if !is_false => Some(request),
        "egress_port" if is_recirculation_port(value) => Some("PSA_PORT_RECIRCULATE"),
        _ => None,
    }
}

fn is_recirculation_port(value: &Expression) -> bool {
    match &value.kind {
        ExpressionKind::Constant(Value::Bits(bits)) => {
            bits.to_u128() == Some(u128::from(PSA_PORT_RECIRCULATE))
        }
        ExpressionKind::Cast(operand) => is_recirculation_port(operand),
        _ => false,
    }
}
