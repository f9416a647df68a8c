//! Determines which metadata fields of the architecture a program reads and writes.
//!
//! An architecture need not compute a number that no block reads, such as the length of a queue
//! (`enq_qdepth`, `deq_qdepth`), and need not test a field that no block writes. Fields are
//! identified by name in any struct or header, so that copies of metadata count too.

use super::each_statement;
use super::names::Names;
use super::touched::Touched;
use architectures::MetadataField;
use ir::{
    CompositeKind, ExternCallee, ExternFunction, KeySet, Place, Program, Projection, StatementKind,
    Transition, Type, TypeId,
};

/// A set of metadata fields that the architecture knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields(u64);

const _: () = assert!(MetadataField::ALL.len() <= u64::BITS as usize, "a field has no bit");

impl Fields {
    pub(crate) fn contains(self, field: MetadataField) -> bool {
        self.0 >> field as u32 & 1 != 0
    }

    fn insert(&mut self, field: MetadataField) {
        self.0 |= 1 << field as u32;
    }
}

/// The metadata fields that the blocks of a program read, and those that they write.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MetadataUse {
    pub(crate) read: Fields,
    /// The fields that may receive a number other than zero.
    pub(crate) written: Fields,
}

/// Whether a statement that uses a whole struct counts as a use of the struct's fields.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whole {
    Counts,
    /// A use of the whole struct does not count. The struct is an argument of a block, action or
    /// function, whose own statements count instead.
    Passes,
}

impl MetadataUse {
    pub(super) fn of(program: &Program, names: &Names) -> Self {
        let wholes = vec![None; program.types.iter().count()];
        let mut search = Search { program, names, wholes, found: Self::default() };
        each_statement(program, &mut |statement| search.statement(&statement.kind));
        let mut touched = Touched::default();
        let states = program.parsers.iter().flat_map(|parser| &parser.states);
        states.for_each(|state| transition(&state.transition, &mut touched));
        for table in &program.tables {
            table.keys.iter().for_each(|key| touched.expression(&key.expression));
            let arguments = table.actions.iter().flat_map(|reference| &reference.arguments);
            arguments.for_each(|argument| touched.argument(argument));
        }
        search.touched(&touched, Whole::Counts);
        search.found
    }
}

/// Adds the expressions that select the next state of a parser to `touched`.
fn transition<'p>(transition: &'p Transition, touched: &mut Touched<'p>) {
    let Transition::Select { subjects, cases } = transition else { return };
    subjects.iter().for_each(|subject| touched.expression(subject));
    for set in cases.iter().flat_map(|case| &case.key_sets) {
        match set {
            KeySet::Any | KeySet::ValueSet(_) => {}
            KeySet::Exact(value) => touched.expression(value),
            KeySet::Mask { value: one, mask: other } | KeySet::Range { low: one, high: other } => {
                touched.expression(one);
                touched.expression(other);
            }
        }
    }
}

/// The search through a program's statements for the metadata fields that they use.
struct Search<'p> {
    program: &'p Program,
    names: &'p Names,
    /// The metadata fields that the values of each type contain. `None` for a type whose fields
    /// have not been needed yet.
    wholes: Vec<Option<Fields>>,
    found: MetadataUse,
}

impl Search<'_> {
    fn statement(&mut self, statement: &StatementKind) {
        let mut touched = Touched::default();
        match statement {
            // `mark_to_drop` receives the whole struct. It writes two of its fields, one of them
            // with zero.
            StatementKind::CallExtern {
                callee: ExternCallee::Function(ExternFunction::MarkToDrop),
                ..
            } => self.found.written.insert(MetadataField::EgressSpec),
            StatementKind::CallAction { arguments, .. }
            | StatementKind::CallControl { arguments, .. }
            | StatementKind::CallParser { arguments, .. } => {
                arguments.iter().for_each(|argument| touched.argument(argument));
                self.touched(&touched, Whole::Passes);
            }
            StatementKind::CallFunction { arguments, result, .. } => {
                arguments.iter().for_each(|argument| touched.argument(argument));
                self.touched(&touched, Whole::Passes);
                if let Some(place) = result {
                    let mut touched = Touched::default();
                    touched.writes_place(place);
                    self.touched(&touched, Whole::Counts);
                }
            }
            StatementKind::Reset(place) => {
                // The reset writes zeros, so only the indexes of its place count.
                touched.writes_place(place);
                let reads = touched.reads().to_vec();
                reads.into_iter().for_each(|place| self.reads(place, Whole::Counts));
            }
            other => {
                touched.statement(other);
                self.touched(&touched, Whole::Counts);
            }
        }
    }

    fn touched(&mut self, touched: &Touched<'_>, whole: Whole) {
        touched.reads().iter().for_each(|place| self.reads(place, whole));
        for place in touched.writes() {
            let fields = self.fields(place, whole);
            self.found.written.0 |= fields.0;
        }
    }

    fn reads(&mut self, place: &Place, whole: Whole) {
        let fields = self.fields(place, whole);
        self.found.read.0 |= fields.0;
    }

    /// Returns the metadata fields that a statement uses if it uses a place: the field that the
    /// place is or belongs to, or the fields in it.
    fn fields(&mut self, place: &Place, whole: Whole) -> Fields {
        let mut fields = Fields::default();
        let Some(variable) = self.program.variables.get(place.variable.index()) else {
            return fields;
        };
        let mut current = variable.type_id;
        for step in &place.path {
            let next = match (step, self.program.types.find(current)) {
                (Projection::Field(position), Some(Type::Composite(id))) => {
                    let is_here = |field: &&MetadataField| {
                        self.names.slot(current, **field) == Some(*position as usize)
                    };
                    let here = MetadataField::ALL.iter().find(is_here);
                    here.into_iter().for_each(|field| fields.insert(*field));
                    let composite = self.program.types.composites.get(id.index());
                    composite
                        .and_then(|composite| composite.fields.get(*position as usize))
                        .map(|field| field.type_id)
                }
                (
                    Projection::Element(_) | Projection::Next | Projection::Last,
                    Some(Type::Stack { element, .. }),
                ) => Some(element),
                _ => None,
            };
            let Some(next) = next else { return fields };
            current = next;
        }
        if whole == Whole::Counts {
            fields.0 |= self.whole(current).0;
        }
        fields
    }

    /// Returns the metadata fields in a struct and in the structs inside it. No architecture has
    /// its metadata in a header.
    fn whole(&mut self, type_id: TypeId) -> Fields {
        if let Some(Some(known)) = self.wholes.get(type_id.index()) {
            return *known;
        }
        ir::meter::count(1);
        let mut fields = Fields::default();
        let program = self.program;
        if let Some(Type::Composite(id)) = program.types.find(type_id)
            && let Some(composite) = program.types.composites.get(id.index())
            && matches!(composite.kind, CompositeKind::Struct | CompositeKind::Tuple)
        {
            let has = |field: &&MetadataField| self.names.slot(type_id, **field).is_some();
            MetadataField::ALL.iter().filter(has).for_each(|field| fields.insert(*field));
            for field in &composite.fields {
                fields.0 |= self.whole(field.type_id).0;
            }
        }
        if let Some(known) = self.wholes.get_mut(type_id.index()) {
            *known = Some(fields);
        }
        fields
    }
}
