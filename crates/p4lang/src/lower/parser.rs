//! Lowering of parsers, states, transitions, value sets and key sets.

use std::collections::{HashMap, HashSet};

use super::{Entity, Lowering, names};
use crate::ast::walk;
use crate::ast::{
    self, BinaryOperator, DeclarationKind, ExpressionKind, ParserState, TransitionKind,
};
use crate::check::{Constant, Resolution, Type};
use ir::{self, Expression, KeySet, Target};

impl<'a> Lowering<'a> {
    /// Lowers a parser instance in its own scope.
    pub(super) fn parser(
        &mut self,
        declaration: &'a ast::Declaration,
        parser: &'a ast::ParserDeclaration,
        name: String,
    ) -> ir::Parser {
        let parameters = self.parameters(&parser.parameters);
        let used = self.used_in(parser);
        let prologue = self.collect(|lowering| {
            for state in &parser.states {
                lowering.direct_instances(&state.statements);
            }
            for local in &parser.locals {
                match &local.kind {
                    DeclarationKind::ValueSet(set) => lowering.value_set(local, set),
                    DeclarationKind::Instantiation(_)
                        if !used.contains(&local.id) && lowering.is_block_instance(local) => {}
                    _ => lowering.local_declaration(local),
                }
            }
        });
        let positions: HashMap<&str, ir::StateId> = parser
            .states
            .iter()
            .zip(0..)
            .map(|(state, position)| (state.name.as_str(), ir::StateId(position)))
            .collect();
        let start = positions.get("start").copied().unwrap_or(ir::StateId(0));
        let states = parser.states.iter().map(|state| self.state(state, &positions)).collect();
        let annotations = self.annotations(&declaration.annotations);
        ir::Parser { name, parameters, prologue, states, start, annotations }
    }

    /// Returns the declarations to which the local declarations of a parser and the statements of
    /// its states refer.
    fn used_in(&self, parser: &'a ast::ParserDeclaration) -> HashSet<ast::DeclarationId> {
        let mut used = HashSet::new();
        let mut name = |expression: &'a ast::Expression| {
            if let Some(Resolution::Declaration(id)) = self.checked.resolution(expression.id) {
                used.insert(*id);
            }
        };
        for local in &parser.locals {
            walk::declaration(local, &mut name);
        }
        for statement in parser.states.iter().flat_map(|state| &state.statements) {
            walk::statement(statement, &mut name);
        }
        used
    }

    fn value_set(&mut self, declaration: &'a ast::Declaration, set: &'a ast::ValueSet) {
        let element = self.concrete(self.checked.type_at(set.element.id));
        let type_id = self.type_id(&element);
        let user_type = self.user_type_of(&element);
        let match_kinds = match &element {
            Type::Struct(_) => self
                .checked
                .match_fields(&element)
                .into_iter()
                .flatten()
                .map(|field| {
                    field
                        .field
                        .annotation("match")
                        .map(ast::Annotation::text)
                        .map_or(ir::MatchKind::Exact, |kind| ir::MatchKind::named(&kind))
                })
                .collect(),
            Type::Tuple(elements) => vec![ir::MatchKind::Exact; elements.len()],
            _ => vec![ir::MatchKind::Exact],
        };
        let size = u64::from(self.evaluate_u32(&set.size).unwrap_or(0));
        let name = names::local_name(&declaration.annotations, declaration.name.as_str());
        let name = names::qualified(&self.scope.prefix, &name);
        let annotations = self.annotations(&declaration.annotations);
        let id = ir::ValueSetId(self.program.value_sets.len() as u32);
        let location = self.location(declaration.name.span);
        self.program.value_sets.push(ir::ValueSet {
            location,
            name,
            type_id,
            user_type,
            match_kinds,
            size,
            annotations,
        });
        self.bind(declaration.id, Entity::ValueSet(id));
    }

    fn state(
        &mut self,
        state: &'a ParserState,
        positions: &HashMap<&str, ir::StateId>,
    ) -> ir::State {
        let mut transition = ir::Transition::Direct(Target::Reject);
        let body = self.collect(|lowering| {
            lowering.statements(&state.statements);
            if let Some(written) = &state.transition {
                transition = lowering.transition(&written.kind, positions);
            }
        });
        let location = self.location(state.name.span);
        let annotations = self.annotations(&state.annotations);
        let name = state.name.text.to_string();
        ir::State { name, location, body, transition, annotations }
    }

    fn transition(
        &mut self,
        transition: &'a TransitionKind,
        positions: &HashMap<&str, ir::StateId>,
    ) -> ir::Transition {
        match transition {
            TransitionKind::Direct(name) => ir::Transition::Direct(target(name, positions)),
            TransitionKind::Select { subjects, cases } => {
                let list: Vec<&ast::Expression> = subjects.iter().collect();
                let values: Vec<Expression> =
                    self.operands(&list).into_iter().map(|value| self.sized(value, 32)).collect();
                let types: Vec<Type> =
                    subjects.iter().map(|subject| self.subject_type(subject)).collect();
                let cases = cases
                    .iter()
                    .map(|case| ir::SelectCase {
                        key_sets: self.key_sets(&case.keyset, &types),
                        target: target(&case.next, positions),
                    })
                    .collect();
                ir::Transition::Select { subjects: values, cases }
            }
        }
    }

    /// Lowers the key sets of a `select` case: one for each subject, or a single one for all
    /// subjects together.
    fn key_sets(&mut self, keyset: &'a ast::Expression, types: &[Type]) -> Vec<KeySet<Expression>> {
        let any = Type::Unknown;
        let parts = keyset.key_sets(types.len());
        // The key set may be a single constant, a composite that has one value for each subject.
        if let ([whole], true) = (parts, types.len() > 1)
            && let Some(Constant::Composite(values)) = self.evaluate(whole)
        {
            return values
                .iter()
                .zip(types)
                .map(|(value, ty)| {
                    let (value, type_id) = (self.value(value, ty), self.type_id(ty));
                    KeySet::Exact(Expression { type_id, kind: ir::ExpressionKind::Constant(value) })
                })
                .collect();
        }
        parts
            .iter()
            .enumerate()
            .map(|(position, element)| self.key_set(element, types.get(position).unwrap_or(&any)))
            .collect()
    }

    fn key_set(&mut self, keyset: &'a ast::Expression, ty: &Type) -> KeySet<Expression> {
        match &keyset.kind {
            ExpressionKind::DefaultKeyset | ExpressionKind::DontCare => KeySet::Any,
            ExpressionKind::Binary { operator: BinaryOperator::Mask, left, right } => {
                KeySet::Mask { value: self.set_member(left, ty), mask: self.set_member(right, ty) }
            }
            ExpressionKind::Binary { operator: BinaryOperator::Range, left, right } => {
                KeySet::Range { low: self.set_member(left, ty), high: self.set_member(right, ty) }
            }
            _ => {
                if let Some(Resolution::Declaration(id)) = self.checked.resolution(keyset.id)
                    && let Some(Entity::ValueSet(set)) = self.entity(*id)
                {
                    return KeySet::ValueSet(set);
                }
                KeySet::Exact(self.set_member(keyset, ty))
            }
        }
    }

    /// Lowers a value in a key set, and converts it to `ty`, the type of the subject with which it
    /// is compared.
    fn set_member(&mut self, value: &'a ast::Expression, ty: &Type) -> Expression {
        let value = self.expression(value);
        if *ty == Type::Unknown {
            return value;
        }
        let type_id = self.type_id(ty);
        if self.program.types.get(type_id) == ir::Type::Integer {
            return self.sized(value, 32);
        }
        self.coerced(value, type_id)
    }
}

fn target(name: &ast::Name, positions: &HashMap<&str, ir::StateId>) -> Target {
    match name.as_str() {
        "accept" => Target::Accept,
        other => positions.get(other).map_or(Target::Reject, |state| Target::State(*state)),
    }
}
