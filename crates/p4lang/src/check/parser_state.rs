//! Parser states, transitions and key sets (P4_16 §13, §8.16).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::checker::Checker;
use super::{Field, Type};
use crate::ast::{
    BinaryOperator, Declaration, Expression, ExpressionKind, Name, ParserDeclaration, ParserState,
    SelectCase, TransitionKind,
};
use crate::diagnostic::Diagnostic;

impl<'program> Checker<'program, '_> {
    pub(super) fn states(
        &mut self,
        declaration: &'program Declaration,
        parser: &'program ParserDeclaration,
    ) {
        let mut states: HashMap<Arc<str>, &'program ParserState> = HashMap::new();
        for state in &parser.states {
            if matches!(state.name.as_str(), "accept" | "reject") {
                self.error(
                    "reserved-name",
                    state.name.span,
                    format!(
                        "the state `{}` exists in every parser: it cannot be declared",
                        state.name
                    ),
                );
                continue;
            }
            self.hides_parameters = true;
            self.declare(state.id, &state.name);
            states.entry(state.name.text.clone()).or_insert(state);
        }
        for state in &parser.states {
            self.state(state, &states);
        }
        self.reachable(declaration, &states);
    }

    /// Checks the statements and the transition of a parser state.
    fn state(
        &mut self,
        state: &'program ParserState,
        states: &HashMap<Arc<str>, &'program ParserState>,
    ) {
        self.annotations(&state.annotations);
        self.context.in_state = true;
        self.scoped(|checker| {
            checker.statements(&state.statements);
            match &state.transition {
                None => checker.warn(
                    Diagnostic::warning(
                        "transition",
                        state.name.span,
                        format!("state `{}` has no transition: it goes to `reject`", state.name),
                    )
                    .note("write `transition accept;` if that is not meant"),
                ),
                Some(transition) => match &transition.kind {
                    TransitionKind::Direct(next) => checker.next_state(next, states),
                    TransitionKind::Select { subjects, cases } => {
                        checker.select(subjects, cases);
                        for case in cases {
                            checker.next_state(&case.next, states);
                        }
                    }
                },
            }
        });
        self.context.in_state = false;
    }

    fn next_state(&mut self, next: &Name, states: &HashMap<Arc<str>, &'program ParserState>) {
        if matches!(next.as_str(), "accept" | "reject") || states.contains_key(&next.text) {
            return;
        }
        let mut names: Vec<&str> = states.keys().map(|name| &**name).collect();
        names.sort_unstable();
        let listed: Vec<String> = names.iter().take(12).map(|name| format!("`{name}`")).collect();
        self.report(
            Diagnostic::error("undeclared-name", next.span, format!("there is no state `{next}`"))
                .label("a state of this parser, `accept` or `reject` was expected")
                .note(format!("its states are {}", listed.join(", "))),
        );
    }

    /// Checks that the parser has a state `start`, and that `accept` or `reject` can be reached
    /// from it. Warns of the states that cannot be reached.
    fn reachable(
        &mut self,
        declaration: &Declaration,
        states: &HashMap<Arc<str>, &'program ParserState>,
    ) {
        if !states.contains_key("start") {
            self.report(
                Diagnostic::error(
                    "no-start",
                    declaration.name.span,
                    format!("parser `{}` has no state `start`", declaration.name),
                )
                .note("every parser starts in its state `start`"),
            );
            return;
        }
        let mut seen: HashSet<&str> = HashSet::new();
        let mut open = vec!["start"];
        let mut ends = false;
        while let Some(name) = open.pop() {
            if name == "accept" || name == "reject" {
                ends = true;
                continue;
            }
            let Some(state) = states.get(name) else {
                // An undeclared state was already reported.
                ends = true;
                continue;
            };
            if !seen.insert(name) {
                continue;
            }
            match state.transition.as_ref().map(|transition| &transition.kind) {
                None => ends = true,
                Some(TransitionKind::Direct(next)) => open.push(next.as_str()),
                Some(TransitionKind::Select { cases, .. }) => {
                    open.extend(cases.iter().map(|case| case.next.as_str()));
                    // If no case matches, the parser goes to `reject`.
                    ends |= !cases.iter().any(|case| {
                        matches!(
                            case.keyset.kind,
                            ExpressionKind::DefaultKeyset | ExpressionKind::DontCare
                        )
                    });
                }
            }
        }
        if !ends {
            self.error(
                "no-accept",
                declaration.name.span,
                format!("parser `{}` never reaches `accept` or `reject`", declaration.name),
            );
        }
        let mut lost: Vec<&Name> = states
            .values()
            .filter(|state| !seen.contains(state.name.as_str()))
            .map(|state| &state.name)
            .collect();
        lost.sort_unstable_by_key(|name| name.span);
        for name in lost {
            self.warn(Diagnostic::warning(
                "unreachable",
                name.span,
                format!("no transition leads to the state `{name}`"),
            ));
        }
    }

    /// Checks a `select` expression: its subjects and its cases.
    fn select(&mut self, subjects: &'program [Expression], cases: &'program [SelectCase]) {
        let mut types = Vec::with_capacity(subjects.len());
        for subject in subjects {
            let info = self.expression(subject);
            let scalar = |ty: &Type| {
                matches!(
                    ty,
                    Type::Bits { .. } | Type::SerializableEnum(_) | Type::Bool | Type::Enum(_)
                )
            };
            let allowed = match &info.ty {
                Type::Unknown => true,
                Type::Tuple(parts) => parts.iter().all(scalar),
                other => scalar(other),
            };
            if allowed {
                types.push(info.ty);
            } else {
                let mut diagnostic = Diagnostic::error(
                    "type-mismatch",
                    subject.span,
                    format!("`select` cannot match a `{}`", self.out.show(&info.ty)),
                );
                match info.ty {
                    Type::Integer => diagnostic = diagnostic.note("write its width: `8w1`"),
                    Type::NewType(_) => {
                        diagnostic = diagnostic.note("cast it to the type that it is made of")
                    }
                    _ => {}
                }
                self.report(diagnostic);
                types.push(Type::Unknown);
            }
        }
        // `select ({a, b})` is equivalent to `select (a, b)`.
        if let [Type::Tuple(parts)] = types.as_slice() {
            types = parts.to_vec();
        }
        let mut total = false;
        for case in cases {
            if total {
                self.warn(Diagnostic::warning(
                    "unreachable",
                    case.span,
                    "this case is unreachable: one before it matches everything",
                ));
            }
            self.key_set(&case.keyset, &types, false);
            total |= matches!(
                case.keyset.kind,
                ExpressionKind::DefaultKeyset | ExpressionKind::DontCare
            );
        }
    }

    /// Checks a key set. `types` are the types of the subjects with which it is compared. If
    /// `must_be_known` is true, the values in the key set must be known at compile time.
    pub(super) fn key_set(&mut self, key_set: &Expression, types: &[Type], must_be_known: bool) {
        let outer = std::mem::replace(&mut self.context.in_key_set, true);
        let info = self.expression(key_set);
        self.context.in_key_set = outer;
        let parts: &[Expression] = match &key_set.kind {
            ExpressionKind::DefaultKeyset => return,
            ExpressionKind::DontCare if types.len() != 1 => return,
            ExpressionKind::List { elements, .. } if types.len() > 1 => elements,
            _ => key_set.key_sets(types.len()),
        };
        if parts.len() != types.len() {
            // A single value set or constant may stand for all subjects. It is then a tuple, or a
            // struct with one field for each subject.
            let types_of =
                |fields: Vec<Field<'_>>| fields.into_iter().map(|field| field.ty).collect();
            let fields: Option<Vec<Type>> = match &info.ty {
                Type::Set(element) => match &**element {
                    Type::Tuple(elements) => Some(elements.to_vec()),
                    other => self.out.match_fields(other).map(types_of),
                },
                Type::Tuple(elements) if info.known => Some(elements.to_vec()),
                other => info.known.then(|| types_of(self.out.fields(other))),
            };
            if let (1, Some(fields)) = (parts.len(), fields)
                && fields.len() == types.len()
                && types.iter().zip(&fields).all(|(ty, field)| self.unify(ty, field, true))
            {
                return;
            }
            if !info.ty.is_unknown() {
                self.error(
                    "wrong-count",
                    key_set.span,
                    format!("{} key sets for {} keys", parts.len(), types.len()),
                );
            }
            return;
        }
        for (part, ty) in parts.iter().zip(types) {
            self.convert_key_set(part, ty);
            if must_be_known
                && !self.marks.known.contains(&part.id)
                && !self.out.type_of(part.id).is_unknown()
            {
                self.report(
                    Diagnostic::error(
                        "not-constant",
                        part.span,
                        "the key of an entry must be known at compile time",
                    )
                    .label("a constant was expected"),
                );
            }
        }
    }

    /// Converts one element of a key set, which is a value or a set of values, to the type of the
    /// key.
    fn convert_key_set(&mut self, part: &Expression, ty: &Type) {
        let own = self.out.type_of(part.id).clone();
        if own.is_unknown() || ty.is_unknown() || own == Type::Any {
            return;
        }
        match (&part.kind, &own) {
            (
                ExpressionKind::Binary {
                    operator: BinaryOperator::Mask | BinaryOperator::Range,
                    left,
                    right,
                },
                Type::Set(element),
            ) => {
                let base = self.representation(&self.base_type(ty));
                if **element == *ty
                    || **element == Type::Integer
                    || self.representation(element) == base
                {
                    if matches!(ty, Type::SerializableEnum(_)) && **element == *ty {
                        return;
                    }
                    if base.is_bits() {
                        self.convert(left, &base);
                        self.convert(right, &base);
                        return;
                    }
                }
                self.error(
                    "type-mismatch",
                    part.span,
                    format!("`{}` does not fit `{}`", self.out.show(element), self.out.show(ty)),
                );
            }
            (_, Type::Set(element)) => {
                // A value set whose elements are structs with a single field may be compared with a
                // value of that field's type.
                let element = (**element).clone();
                let fields = self.out.fields(&element);
                let fits = self.unify(ty, &element, true)
                    || matches!(fields.as_slice(), [field] if self.unify(ty, &field.ty, true));
                if !fits {
                    self.error(
                        "type-mismatch",
                        part.span,
                        format!("`{}` does not fit `{}`", self.out.show(&own), self.out.show(ty)),
                    );
                }
            }
            (_, Type::Integer | Type::Bits { .. }) if own != *ty => {
                // A number may be compared with values of a `type` or of a serializable
                // enumeration.
                let base = self.representation(&self.base_type(ty));
                self.convert(part, if base.is_bits() { &base } else { ty });
            }
            _ => {
                self.convert(part, ty);
            }
        }
    }
}
