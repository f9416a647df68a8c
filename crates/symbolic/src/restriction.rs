//! The constraints that a program states on its table entries and on the arguments of its actions
//! (`@entry_restriction`, `@action_restriction`).

use crate::evaluate::Known;
use constraints::{
    ACTION_RESTRICTION, Constraint, ENTRY_RESTRICTION, Entry, Goal, KeyType, Kind, Match, Subject,
    Text, Wishes,
};
use ir::bits::Bits;
use ir::{Annotation, AnnotationBody, MatchKind, Program, Type, TypeId};
use std::borrow::Cow;

/// The compiled constraints of a program's tables and actions. Those that cannot be compiled are
/// missing.
pub(crate) struct Restrictions {
    tables: Vec<Option<Constraint>>,
    actions: Vec<Option<Constraint>>,
}

/// The values of a key that an entry matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Any,
    Exact(Bits),
    Ternary { value: Bits, mask: Bits },
    Lpm { value: Bits, prefix: u32 },
    Range { low: Bits, high: Bits },
}

impl Field {
    /// Returns whether the field matches the key for some values of the key's unknown bits.
    pub(crate) fn may_match(&self, key: &Known) -> bool {
        let under = |value: &Bits, mask: &Bits| {
            let compared = mask.bit_and(key.mask());
            value.bit_xor(key.value()).bit_and(&compared).is_zero()
        };
        let width = key.value().width();
        match self {
            Self::Any => true,
            Self::Exact(value) => under(value, &Bits::ones(width, false)),
            Self::Ternary { value, mask } => under(value, mask),
            Self::Lpm { value, prefix } => under(value, &Bits::prefix_mask(width, *prefix)),
            Self::Range { low, high } => match key.complete() {
                Some(key) => key.compare(low).is_ge() && key.compare(high).is_le(),
                None => true,
            },
        }
    }

    /// Returns whether the field matches the key for all values of the key's unknown bits.
    fn matches(&self, key: &Known) -> bool {
        let compares_known = |mask: &Bits| mask.bit_and(&key.mask().complement()).is_zero();
        let width = key.value().width();
        let is_known = match self {
            Self::Any => true,
            Self::Exact(_) | Self::Range { .. } => key.complete().is_some(),
            Self::Ternary { mask, .. } => compares_known(mask),
            Self::Lpm { prefix, .. } => compares_known(&Bits::prefix_mask(width, *prefix)),
        };
        is_known && self.may_match(key)
    }

    fn to_match(&self) -> Match<'static> {
        let bytes = |bits: &Bits| Cow::Owned(bits.to_be_bytes());
        match self {
            Self::Any => Match::Any,
            Self::Exact(value) => Match::Exact(bytes(value)),
            Self::Ternary { value, mask } => {
                Match::Ternary { value: bytes(value), mask: bytes(mask) }
            }
            Self::Lpm { value, prefix } => {
                Match::Lpm { value: bytes(value), prefix_length: *prefix }
            }
            Self::Range { low, high } => Match::Range { low: bytes(low), high: bytes(high) },
        }
    }

    fn of_match(found: &Match<'_>, width: u32) -> Self {
        let bits = |bytes: &[u8]| Bits::from_be_bytes(width, false, bytes);
        match found {
            Match::Any => Self::Any,
            Match::Exact(value) => Self::Exact(bits(value)),
            Match::Ternary { value, mask } => {
                Self::Ternary { value: bits(value), mask: bits(mask) }
            }
            Match::Lpm { value, prefix_length } => {
                Self::Lpm { value: bits(value), prefix: *prefix_length }
            }
            Match::Range { low, high } => Self::Range { low: bits(low), high: bits(high) },
        }
    }
}

/// An entry that satisfies its constraint, without the action.
pub(crate) struct Allowed {
    pub(crate) fields: Vec<Field>,
    /// The priority that the entry must have; `None` if the constraint accepts the proposed one.
    pub(crate) priority: Option<u32>,
}

impl Restrictions {
    /// Compiles the constraints of a program.
    pub(crate) fn new(program: &Program) -> Self {
        let tables = program.tables.iter().map(|table| {
            let keys = table.keys.iter().filter(|key| key.match_kind != MatchKind::Selector);
            let keys = keys.map(|key| constraints::Key {
                name: key.name.clone(),
                kind: kind(&key.match_kind),
                ty: KeyType::Bits(width(program, key.expression.type_id)),
            });
            let keys: Vec<constraints::Key> = keys.collect();
            compiled(&table.annotations, ENTRY_RESTRICTION, Subject::Table(&keys))
        });
        let actions = program.actions.iter().map(|action| {
            let parameters = action.control_plane_parameters().map(|one| constraints::Key {
                name: one.name.clone(),
                kind: Kind::Exact,
                ty: KeyType::Bits(width(program, one.type_id)),
            });
            let parameters: Vec<constraints::Key> = parameters.collect();
            compiled(&action.annotations, ACTION_RESTRICTION, Subject::Action(&parameters))
        });
        Self { tables: tables.collect(), actions: actions.collect() }
    }

    /// Returns whether the entries of the table and the arguments of the action are both
    /// unconstrained.
    pub(crate) fn are_absent(&self, table: usize, action: usize) -> bool {
        let is_absent =
            |of: &[Option<Constraint>], at: usize| of.get(at).is_none_or(Option::is_none);
        is_absent(&self.tables, table) && is_absent(&self.actions, action)
    }

    /// Returns an entry of a table that satisfies the table's constraint and matches the keys. It
    /// has the fields `fields` and the priority `priority` if the constraint accepts these. Returns
    /// `None` if no entry was found.
    pub(crate) fn entry(
        &self,
        table: usize,
        fields: &[Field],
        keys: &[Known],
        priority: u32,
    ) -> Option<Allowed> {
        let Some(Some(constraint)) = self.tables.get(table) else {
            return Some(Allowed { fields: fields.to_vec(), priority: None });
        };
        let matches: Vec<Match<'static>> = fields.iter().map(Field::to_match).collect();
        let entry = Entry { matches: &matches, priority: priority.into() };
        if constraint.is_satisfied(&entry) {
            return Some(Allowed { fields: fields.to_vec(), priority: None });
        }
        let accepts: Vec<Option<Box<[u8]>>> =
            keys.iter().map(|key| Some(key.value().to_be_bytes().into_boxed_slice())).collect();
        let wishes = Wishes { accepts: &accepts, preferred: &matches };
        let solution = constraint.solve(Goal::Satisfy, wishes, 0)?;
        let widths = keys.iter().map(|key| key.value().width());
        let fields = solution.matches.iter().zip(widths);
        let fields: Vec<Field> =
            fields.map(|(found, width)| Field::of_match(found, width)).collect();
        // A field that compares unknown bits may miss the packet.
        if !fields.iter().zip(keys).all(|(field, key)| field.matches(key)) {
            return None;
        }
        Some(Allowed { fields, priority: Some(solution.priority) })
    }

    /// Returns whether the constraint of a table excludes all entries that match these keys. A key
    /// that is `None` may have any value. The answer is as good as the solver of constraints is.
    pub(crate) fn excludes(&self, table: usize, keys: &[Option<Bits>]) -> bool {
        let Some(Some(constraint)) = self.tables.get(table) else { return false };
        let bytes = |key: &Option<Bits>| key.as_ref().map(|key| key.to_be_bytes().into());
        let accepts: Vec<Option<Box<[u8]>>> = keys.iter().map(bytes).collect();
        let wishes = Wishes { accepts: &accepts, preferred: &[] };
        constraint.solve(Goal::Satisfy, wishes, 0).is_none()
    }

    /// Returns whether the arguments of an action satisfy its constraint.
    pub(crate) fn allows(&self, action: usize, arguments: &[Bits]) -> bool {
        let Some(Some(constraint)) = self.actions.get(action) else { return true };
        let bytes = |bits: &Bits| Match::Exact(Cow::Owned(bits.to_be_bytes()));
        let matches: Vec<Match<'static>> = arguments.iter().map(bytes).collect();
        constraint.is_satisfied(&Entry { matches: &matches, priority: 0 })
    }
}

fn compiled(annotations: &[Annotation], name: &str, subject: Subject<'_>) -> Option<Constraint> {
    let texts = annotations.iter().filter(|annotation| annotation.name == name);
    let texts: Vec<String> = texts
        .filter_map(|annotation| match &annotation.body {
            AnnotationBody::Tokens(tokens) => Text::from_literals(&tokens.join(" ")),
            AnnotationBody::Empty
            | AnnotationBody::Expressions(_)
            | AnnotationBody::KeyValues(_) => None,
        })
        .map(|text| text.text().to_owned())
        .collect();
    if texts.is_empty() {
        return None;
    }
    Constraint::all_of(&texts, subject).ok()
}

fn kind(kind: &MatchKind) -> Kind {
    match kind {
        MatchKind::Lpm => Kind::Lpm,
        MatchKind::Ternary => Kind::Ternary,
        MatchKind::Range => Kind::Range,
        MatchKind::Optional => Kind::Optional,
        MatchKind::Exact | MatchKind::Selector | MatchKind::Other(_) => Kind::Exact,
    }
}

fn width(program: &Program, type_id: TypeId) -> u32 {
    match program.types.get(type_id) {
        Type::Bits { width, .. } => width,
        Type::Bool => 1,
        Type::Varbits { max_width } => max_width,
        Type::Integer
        | Type::Error
        | Type::Enum(_)
        | Type::String
        | Type::Composite(_)
        | Type::Stack { .. }
        | Type::ActionRun(_) => 32,
    }
}
