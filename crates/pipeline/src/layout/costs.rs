//! The cost of the parts of a program, in units of work that do not depend on whether the
//! interpreter or machine code runs them.
//!
//! A unit is a statement, a comparison of a `switch` or `select`, the comparison of eight table
//! entries, or the move of four fields or 16 bytes. Each packet has a number of units
//! ([`crate::Core::set_packet_work`]) for all its passes and copies.
//!
//! Statements are not counted one by one. Before a block of the package runs, the packet is charged
//! for the longest path through the block, at a single place for the interpreter and for machine
//! code. Parts that may run any number of times are excluded from that path and charged on each
//! repetition: a `for` at each turn, a parser with a cycle at each state. Code without loops
//! therefore counts nothing, and both implementations stop a packet at the same statement with the
//! same effects. A callee whose longest path costs [`LARGE`] or more is charged when it is entered,
//! so that a program is not charged for many large branches of which a packet takes only one.

use super::Layout;
use crate::callee::Callee;
use crate::externs::declared_size;
use ir::{
    ActionId, Argument, BinaryOperator, Block, ControlId, Expression, ExpressionKind, ExternCallee,
    ExternFunction, FunctionId, KeySet, MatchKind, Parser, ParserId, Place, Projection, State,
    Statement, StatementKind, TableId, TableImplementation, Transition, TypeId,
};
use std::collections::HashMap;

/// The number of fields that may be moved for one unit of work.
const FIELDS: u64 = 4;
/// The number of bytes that may be moved or hashed for one unit of work.
const BYTES: u64 = 16;
/// The number of entries, or members of a group, that may be compared for one unit of work.
const COMPARED: u64 = 8;
/// The largest number of entries or members that a search is charged for. The search of a larger
/// table costs the same.
const SEARCHED: u64 = 1 << 16;
/// The number of entries that a search is charged for in a table whose size the program does not
/// declare.
const DEFAULT_SIZE: u64 = 1024;
/// The length in bytes that is assumed for the payload when a packet is charged for a checksum over
/// it. No packet on a network has a longer payload.
const PAYLOAD: u64 = 1 << 16;
/// The cost from which an action, function, parser or control is charged when it is entered, and
/// not together with the block that calls it. Packets whose pass may cost more are not processed in
/// bursts, because the packets of a burst do not check whether the worker must stop.
pub(crate) const LARGE: u64 = 1 << 18;
/// The maximum number of states of a parser after its cycles have been unrolled.
pub(crate) const UNROLLED: u64 = 256;

/// The cost of each part of a program (block, action, function, loop or parser state), in units of
/// work.
#[derive(Debug, Default)]
pub(crate) struct Costs {
    parsers: Vec<u64>,
    controls: Vec<u64>,
    /// The charge for each iteration of a loop or visit of a parser's state, by the address of the
    /// statement's kind or of the state. The program is never modified, so these addresses are
    /// stable.
    repeated: HashMap<usize, u32>,
    /// The charges for those actions, functions, parsers and controls that cost too much to be
    /// charged with their callers, and are charged when they are entered.
    entered: HashMap<Callee, u32>,
    /// The largest cost of a parser's state in `repeated`.
    largest_state: u64,
    /// The cost of copying a packet, apart from the cost of its bytes.
    copy: u64,
}

impl Costs {
    pub(super) fn new(layout: &Layout) -> Self {
        let program = &layout.program;
        let mut measure = Measure {
            layout,
            actions: vec![None; program.actions.len()],
            functions: vec![None; program.functions.len()],
            controls: vec![None; program.controls.len()],
            parsers: vec![None; program.parsers.len()],
            tables: vec![None; program.tables.len()],
            costs: Self { copy: layout.frame_size / FIELDS, ..Self::default() },
        };
        let parsers = (0..program.parsers.len() as u32).map(ParserId);
        let parsers = parsers.map(|id| measure.callee(Callee::Parser(id))).collect();
        let controls = (0..program.controls.len() as u32).map(ControlId);
        let controls = controls.map(|id| measure.callee(Callee::Control(id))).collect();
        Self { parsers, controls, ..measure.costs }
    }

    /// Returns the units of work that a packet is charged before a block of the package runs.
    pub(crate) fn of_block(&self, callee: Callee) -> u64 {
        let known = match callee {
            Callee::Parser(id) => self.parsers.get(id.index()),
            Callee::Control(id) => self.controls.get(id.index()),
            Callee::Action(_) | Callee::Function(_) => None,
        };
        known.copied().unwrap_or(0)
    }

    /// Returns the units of work that a packet is charged when it enters a parser, control, action
    /// or function. Returns `None` if the callee is small enough to be charged with its caller.
    pub(crate) fn of_entry(&self, callee: Callee) -> Option<u32> {
        self.entered.get(&callee).copied()
    }

    /// Returns the units of work that a packet is charged for each iteration of a `for` statement.
    pub(crate) fn of_turn(&self, statement: &StatementKind) -> Option<u32> {
        self.repeated.get(&std::ptr::from_ref(statement).addr()).copied()
    }

    /// Returns the units of work that a packet is charged for each visit of a parser's state.
    /// Returns `None` if the parser has no cycle, so that its states are charged with the parser.
    pub(crate) fn of_state(&self, state: &State) -> Option<u32> {
        self.repeated.get(&std::ptr::from_ref(state).addr()).copied()
    }

    /// Returns the units of work that a packet of this length is charged for another pass or a
    /// copy.
    pub(crate) fn of_copy(&self, bytes: usize) -> u64 {
        self.copy + 1 + bytes as u64 / BYTES
    }

    /// Returns whether packets are charged for work while a block runs, in addition to before it.
    pub(crate) fn has_charges(&self) -> bool {
        !self.repeated.is_empty() || !self.entered.is_empty()
    }

    /// Returns the maximum cost of one pass through these blocks, without the iterations of `for`
    /// loops. Cycles of parsers are assumed to be unrolled. Returns `None` if a part of the program
    /// costs [`LARGE`] or more, so that it is charged when it is entered.
    pub(crate) fn of_pass(&self, blocks: impl Iterator<Item = Callee>) -> Option<u64> {
        let blocks = blocks.map(|callee| self.of_block(callee));
        let sum = blocks.fold(0, u64::saturating_add);
        self.entered
            .is_empty()
            .then(|| sum.saturating_add(UNROLLED.saturating_mul(self.largest_state)))
    }
}

/// The computation of a program's costs, with the costs that it has found so far.
struct Measure<'l> {
    layout: &'l Layout,
    actions: Vec<Option<u64>>,
    functions: Vec<Option<u64>>,
    controls: Vec<Option<u64>>,
    parsers: Vec<Option<u64>>,
    tables: Vec<Option<u64>>,
    costs: Costs,
}

impl<'l> Measure<'l> {
    fn known(&mut self, callee: Callee) -> Option<&mut Option<u64>> {
        match callee {
            Callee::Parser(ParserId(id)) => self.parsers.get_mut(id as usize),
            Callee::Control(ControlId(id)) => self.controls.get_mut(id as usize),
            Callee::Action(ActionId(id)) => self.actions.get_mut(id as usize),
            Callee::Function(FunctionId(id)) => self.functions.get_mut(id as usize),
        }
    }

    /// Returns the cost of the longest path through a callee, or zero if the callee is charged when
    /// it is entered.
    fn callee(&mut self, callee: Callee) -> u64 {
        match self.known(callee) {
            Some(Some(known)) => return *known,
            Some(None) => {}
            None => return 0,
        }
        let program = &self.layout.program;
        let cost = match callee {
            Callee::Parser(id) => {
                program.parsers.get(id.index()).map_or(0, |parser| self.parser(parser))
            }
            Callee::Control(id) => {
                program.controls.get(id.index()).map_or(0, |control| self.block(&control.body))
            }
            Callee::Action(id) => {
                program.actions.get(id.index()).map_or(0, |action| self.block(&action.body))
            }
            Callee::Function(id) => {
                program.functions.get(id.index()).map_or(0, |function| self.block(&function.body))
            }
        };
        let in_caller = if cost >= LARGE {
            self.costs.entered.insert(callee, charge(cost));
            0
        } else {
            cost
        };
        if let Some(known) = self.known(callee) {
            *known = Some(in_caller);
        }
        in_caller
    }

    /// Returns the cost of a parser. A parser with loops is charged state by state.
    fn parser(&mut self, parser: &Parser) -> u64 {
        let prologue = self.block(&parser.prologue);
        let costs = parser.states.iter().map(|state| {
            ir::meter::count(1);
            let body = self.block(&state.body);
            body.saturating_add(1).saturating_add(self.transition(&state.transition))
        });
        let costs: Vec<u64> = costs.collect();
        let leads_back = parser.states.iter().enumerate().any(|(position, state)| {
            state.transition.next_states().any(|next| next.index() <= position)
        });
        if leads_back {
            for (state, cost) in parser.states.iter().zip(&costs) {
                self.costs.repeated.insert(std::ptr::from_ref(state).addr(), charge(*cost));
                self.costs.largest_state = self.costs.largest_state.max(*cost);
            }
            return prologue;
        }
        // All states lead only to later ones.
        let mut longest: Vec<u64> = vec![0; costs.len()];
        for (position, state) in parser.states.iter().enumerate().rev() {
            let next = state.transition.next_states();
            let behind = next.filter_map(|next| longest.get(next.index())).max();
            let path = costs[position].saturating_add(behind.copied().unwrap_or(0));
            longest[position] = path;
        }
        prologue.saturating_add(longest.get(parser.start.index()).copied().unwrap_or(0))
    }

    /// Returns the cost of the comparisons of a parser's `select`.
    fn transition(&self, transition: &Transition) -> u64 {
        let Transition::Select { subjects, cases } = transition else { return 0 };
        let fields = self.fields_of_all(subjects);
        let sets = cases.iter().flat_map(|case| &case.key_sets).map(|set| match set {
            KeySet::Any => 0,
            KeySet::Exact(value) => 1 + self.fields(value) / FIELDS,
            KeySet::Mask { value: low, mask: high } | KeySet::Range { low, high } => {
                1 + (self.fields(low) + self.fields(high)) / FIELDS
            }
            KeySet::ValueSet(id) => {
                self.layout.program.value_sets.get(id.index()).map_or(1, |set| 1 + set.size)
            }
        });
        sets.fold(fields / FIELDS, u64::saturating_add)
    }

    fn block(&mut self, block: &Block) -> u64 {
        block.iter().fold(0, |sum: u64, statement| sum.saturating_add(self.statement(statement)))
    }

    /// Returns the cost of the longest path through a statement.
    fn statement(&mut self, statement: &Statement) -> u64 {
        ir::meter::count(1);
        let (fields, inside) = match &statement.kind {
            StatementKind::If { condition, then, otherwise } => {
                let longest = self.block(then).max(self.block(otherwise));
                (self.fields(condition), longest)
            }
            StatementKind::Switch { subject, cases, default } => {
                let mut longest = self.block(default);
                for case in cases {
                    longest = longest.max(self.block(&case.body));
                }
                let compared: usize = cases.iter().map(|case| case.values.len()).sum();
                (self.fields(subject), longest.saturating_add(compared as u64))
            }
            StatementKind::For { before_condition, condition, update, body } => {
                let blocks = [before_condition, body, update];
                let turn = blocks
                    .into_iter()
                    .fold(1, |sum: u64, block| sum.saturating_add(self.block(block)));
                let turn = turn.saturating_add(self.fields(condition) / FIELDS);
                let at = std::ptr::from_ref(&statement.kind).addr();
                self.costs.repeated.insert(at, charge(turn));
                (0, 0)
            }
            StatementKind::ApplyTable { table, .. } => (0, self.table(*table)),
            StatementKind::CallAction { action, arguments } => {
                (self.fields_of_call(arguments), self.callee(Callee::Action(*action)))
            }
            StatementKind::CallFunction { function, arguments, result } => {
                let result = result.as_ref().map_or(0, |place| self.fields_of_place(place));
                let fields = self.fields_of_call(arguments).saturating_add(2 * result);
                (fields, self.callee(Callee::Function(*function)))
            }
            StatementKind::CallControl { control, arguments } => {
                (self.fields_of_call(arguments), self.callee(Callee::Control(*control)))
            }
            StatementKind::CallParser { parser, arguments } => {
                (self.fields_of_call(arguments), self.callee(Callee::Parser(*parser)))
            }
            StatementKind::CallExtern { callee, arguments, result, .. } => {
                let result = result.as_ref().map_or(0, |place| self.fields_of_place(place));
                let payload = match callee {
                    ExternCallee::Function(
                        ExternFunction::VerifyChecksumWithPayload
                        | ExternFunction::UpdateChecksumWithPayload,
                    ) => PAYLOAD / BYTES,
                    _ => 0,
                };
                (self.fields_of_call(arguments).saturating_add(result), payload)
            }
            StatementKind::Assign { place, value } => {
                (self.fields(value).saturating_add(self.fields_of_place(place)), 0)
            }
            StatementKind::Reset(place)
            | StatementKind::SetValidity { header: place, .. }
            | StatementKind::PushFront { stack: place, .. }
            | StatementKind::PopFront { stack: place, .. } => (self.fields_of_place(place), 0),
            StatementKind::Return(value) => {
                (value.as_ref().map_or(0, |value| self.fields(value)), 0)
            }
            StatementKind::Extract { header, header_type, varbit_width } => {
                let place = header.as_ref().map_or(0, |place| self.moved_stacks(place));
                let width = varbit_width.as_ref().map_or(0, |width| self.fields(width));
                (place.saturating_add(self.more(*header_type)).saturating_add(width), 0)
            }
            StatementKind::Lookahead { result, type_id } => {
                (self.moved_stacks(result).saturating_add(self.more(*type_id)), 0)
            }
            StatementKind::Advance(value) | StatementKind::Emit(value) => (self.fields(value), 0),
            StatementKind::Verify { condition, error } => {
                (self.fields(condition).saturating_add(self.fields(error)), 0)
            }
            StatementKind::Break | StatementKind::Continue | StatementKind::Exit => (0, 0),
        };
        (1 + fields / FIELDS).saturating_add(inside)
    }

    /// Returns the cost of applying a table: its search, and the most expensive of its actions.
    fn table(&mut self, id: TableId) -> u64 {
        match self.tables.get(id.index()) {
            Some(Some(known)) => return *known,
            Some(None) => {}
            None => return 0,
        }
        let Some(table) = self.layout.program.tables.get(id.index()) else { return 0 };
        let before = self.block(&table.before_keys);
        let keys = table.keys.iter().map(|key| self.fields(&key.expression));
        let keys = keys.fold(0, u64::saturating_add) / FIELDS;
        let is_searched = table.keys.iter().any(|key| {
            !matches!(key.match_kind, MatchKind::Exact | MatchKind::Lpm | MatchKind::Selector)
        });
        let size = table.size.unwrap_or(DEFAULT_SIZE).max(table.entries.len() as u64);
        let search = if is_searched { searched(size) } else { 0 };
        let choice = table.implementation.map_or(0, |how| self.choice(how));
        let mut longest = 0;
        for reference in &table.actions {
            let before = self.block(&reference.before_arguments);
            let arguments = self.fields_of_call(&reference.arguments) / FIELDS;
            let action = self.callee(Callee::Action(reference.action));
            longest = longest.max(before.saturating_add(arguments).saturating_add(action));
        }
        let costs = [before, keys, search, choice, longest];
        let sum = costs.into_iter().fold(0, u64::saturating_add);
        if let Some(known) = self.tables.get_mut(id.index()) {
            *known = Some(sum);
        }
        sum
    }

    /// Returns the cost of choosing a member of an action selector's group. The weights of members
    /// are added up until the sum exceeds the hash, and a group may contain all members of its
    /// selector.
    fn choice(&self, implementation: TableImplementation) -> u64 {
        let TableImplementation::ActionSelector(id) = implementation else { return 0 };
        let instance = self.layout.program.externs.get(id.index());
        let size = instance.map_or(0, |instance| declared_size(self.layout, instance));
        // A size of zero stands for no limit.
        searched(if size > 0 { size } else { SEARCHED })
    }

    /// Returns the number of fields in a type minus one, because the unit that each statement costs
    /// includes one field.
    fn more(&self, type_id: TypeId) -> u64 {
        self.layout.size(type_id).saturating_sub(1)
    }

    fn fields_of_call(&self, arguments: &[Argument]) -> u64 {
        let each = arguments.iter().map(|argument| match argument.unordered() {
            Argument::In(value) => self.fields(value).saturating_add(self.more(value.type_id)),
            Argument::Out(place) | Argument::InOut(place) => {
                self.fields_of_place(place).saturating_mul(2)
            }
            Argument::Saved { place, value } => {
                self.fields_of_place(place).saturating_add(self.fields(value))
            }
            // `unordered` returns no argument with a rank.
            Argument::Ordered { .. }
            | Argument::Extern(_)
            | Argument::Action(_)
            | Argument::Absent => 0,
        });
        each.fold(0, u64::saturating_add)
    }

    fn fields_of_place(&self, place: &Place) -> u64 {
        let type_id = self.layout.program.place_type(place);
        let whole = type_id.map_or(0, |type_id| self.more(type_id));
        whole.saturating_add(self.moved_stacks(place))
    }

    /// Returns the number of fields that are moved because a place has computed indexes. For each
    /// such index, the whole header stack may be moved.
    fn moved_stacks(&self, place: &Place) -> u64 {
        let program = &self.layout.program;
        let mut fields: u64 = 0;
        for (position, step) in place.path.iter().enumerate() {
            let Projection::Element(index) = step else { continue };
            if matches!(index.kind, ExpressionKind::Constant(_)) {
                continue;
            }
            let path = place.path.get(..position).unwrap_or_default().to_vec();
            let stack = program.place_type(&Place { variable: place.variable, path });
            let stack = stack.map_or(0, |type_id| self.more(type_id));
            fields = fields.saturating_add(stack).saturating_add(self.fields(index));
        }
        fields
    }

    fn fields_of_all(&self, all: &[Expression]) -> u64 {
        all.iter().map(|value| self.fields(value)).fold(0, u64::saturating_add)
    }

    /// Returns the number of fields that are moved when an expression is evaluated, in addition to
    /// one for each operation.
    fn fields(&self, expression: &Expression) -> u64 {
        let own = self.more(expression.type_id);
        let inside = match &expression.kind {
            ExpressionKind::Constant(_)
            | ExpressionKind::Invalid
            | ExpressionKind::PacketLength => 0,
            ExpressionKind::Read(place)
            | ExpressionKind::IsValid(place)
            | ExpressionKind::LastIndex(place) => self.moved_stacks(place),
            ExpressionKind::Unary(_, operand)
            | ExpressionKind::Cast(operand)
            | ExpressionKind::Slice { operand, .. } => self.fields(operand),
            ExpressionKind::Binary(operator, left, right) => {
                let parts = match operator {
                    // Each part of one operand is combined with each part of the other.
                    BinaryOperator::Multiply | BinaryOperator::Divide | BinaryOperator::Modulo => {
                        self.layout.size(left.type_id) * self.layout.size(right.type_id) - 1
                    }
                    _ => 0,
                };
                self.fields(left).saturating_add(self.fields(right)).saturating_add(parts)
            }
            ExpressionKind::Conditional { condition, then, otherwise } => self
                .fields(condition)
                .saturating_add(self.fields(then))
                .saturating_add(self.fields(otherwise)),
            ExpressionKind::Composite(parts) | ExpressionKind::Stack(parts) => {
                self.fields_of_all(parts)
            }
        };
        own.saturating_add(inside)
    }
}

/// Returns the cost of a search among `count` entries or members.
fn searched(count: u64) -> u64 {
    count.min(SEARCHED).div_ceil(COMPARED)
}

/// Converts a cost to a charge of 32 bits. Larger costs become the largest charge.
fn charge(cost: u64) -> u32 {
    u32::try_from(cost).unwrap_or(u32::MAX)
}
