//! Rules that the architectures state for direct counters and meters, for the implementations and
//! keys of tables, and for the bodies of the checksum controls. They follow from the documentation
//! of the architectures, and p4c's back end for BMv2 refuses the same programs.
//!
//! The rules apply to programs whose `main` is an instance of a built-in package, and in these only
//! to declarations that are used.

use super::checker::Checker;
use super::{Resolution, Type};
use crate::ast::{
    Block, Declaration, DeclarationId, DeclarationKind, Expression, ExpressionKind, StatementKind,
    Table, TablePropertyKind,
};
use crate::diagnostic::{Diagnostic, Severity};

/// A table property that attaches an extern object to a table: its name, the permitted extern
/// types, and whether an object may belong to only one table.
type Attached = (&'static str, &'static [&'static str], bool);

const V1MODEL: &[Attached] = &[
    ("counters", &["direct_counter"], true),
    ("meters", &["direct_meter"], true),
    ("implementation", &["action_profile", "action_selector"], false),
];
const PSA: &[Attached] = &[
    ("psa_direct_counter", &["DirectCounter"], true),
    ("psa_direct_meter", &["DirectMeter"], true),
    ("psa_implementation", &["ActionProfile", "ActionSelector"], false),
];
const PNA: &[Attached] = &[
    ("pna_direct_counter", &["DirectCounter"], true),
    ("pna_direct_meter", &["DirectMeter"], true),
    ("pna_implementation", &["ActionProfile", "ActionSelector"], false),
];

/// The match kinds of core.p4, v1model, PSA and PNA.
const MATCH_KINDS: [&str; 6] = ["exact", "lpm", "optional", "range", "selector", "ternary"];

/// The number of parameters of `V1Switch`.
const V1SWITCH_PARAMETERS: usize = 6;

/// The positions and names of the parameters of `V1Switch` that are its checksum controls:
/// VerifyChecksum and ComputeChecksum.
const CHECKSUM_CONTROLS: [(usize, &str); 2] = [(1, "vr"), (4, "ck")];

impl<'program> Checker<'program, '_> {
    /// Reports table entries whose key sets do not fit the match kinds of their keys. For an
    /// architecture that is not built in, it is not known which key sets a match kind permits, so
    /// the reports are warnings and not errors.
    pub(super) fn misfit_entries(&mut self) {
        let known = self.out.main.is_none_or(|main| match self.out.declared_type(main) {
            Type::Package(package) => {
                matches!(
                    &*self.out.name(package.declaration),
                    "V1Switch" | "PSA_Switch" | "PNA_NIC"
                )
            }
            _ => true,
        });
        for diagnostic in std::mem::take(&mut self.postponed.misfit_entries) {
            if known {
                self.report(diagnostic);
            } else {
                self.warn(Diagnostic { severity: Severity::Warning, ..diagnostic });
            }
        }
    }

    pub(super) fn target_rules(&mut self) {
        let Some(main) = self.out.main else { return };
        let Type::Package(package) = self.out.declared_type(main).clone() else { return };
        let attached = match &*self.out.name(package.declaration) {
            "V1Switch" => V1MODEL,
            "PSA_Switch" => PSA,
            "PNA_NIC" => PNA,
            _ => return,
        };
        self.attachments(attached);
        // A program may declare its own package called `V1Switch`.
        let parameters = self.out.instances.get(&main).map_or(0, |it| it.arguments.len());
        if attached.as_ptr() == V1MODEL.as_ptr() && parameters == V1SWITCH_PARAMETERS {
            self.meters_are_read();
            self.checksum_controls(main);
        }
    }

    /// Checks the match kinds of each table that is used, and the objects that its properties
    /// attach, such as direct counters and action selectors.
    fn attachments(&mut self, attached: &[Attached]) {
        let mut direct: Vec<(DeclarationId, DeclarationId)> = Vec::new();
        let mut selectors: Vec<(DeclarationId, Vec<&'program Expression>)> = Vec::new();
        for id in (0..self.out.program.declaration_count).map(DeclarationId::new) {
            let Some(declaration) = self.out.index.get_declaration(id) else { continue };
            let DeclarationKind::Table(table) = &declaration.kind else { continue };
            if !self.marks.used.contains(&id) {
                continue;
            }
            self.one_lpm_key(declaration, table);
            self.known_match_kinds(table);
            let mut selector = None;
            for (property, wanted, exclusive) in attached {
                let Some(TablePropertyKind::Value(value)) =
                    table.property(property).map(|found| &found.kind)
                else {
                    continue;
                };
                if !self.is_attachment(value, property, wanted) {
                    continue;
                }
                let Some(Resolution::Declaration(object)) = self.out.resolution(value.id) else {
                    continue;
                };
                let object = *object;
                if *exclusive {
                    self.attached_once(id, object, value, &mut direct);
                } else {
                    self.same_selector_inputs(table, object, value, &mut selectors);
                    selector = self.is_selector(value).then_some(value);
                }
            }
            self.selector_has_keys(declaration, table, selector);
        }
    }

    /// Warns of keys with a match kind that no built-in architecture declares. Match kinds are
    /// declared by architectures and not by programs (P4_16 §7.1.3).
    fn known_match_kinds(&mut self, table: &Table) {
        for key in table.key().unwrap_or(&[]) {
            let kind = key.match_kind.as_str();
            if !MATCH_KINDS.contains(&kind) {
                self.warn(Diagnostic::warning(
                    "match-kind",
                    key.match_kind.span,
                    format!("no switch of this architecture supports the match kind `{kind}`"),
                ));
            }
        }
    }

    fn is_selector(&self, value: &Expression) -> bool {
        matches!(self.out.type_of(value.id), Type::Extern(named)
            if matches!(&*self.out.name(named.declaration), "action_selector" | "ActionSelector"))
    }

    /// Checks that a table has keys of the match kind `selector` if and only if it has an action
    /// selector, which hashes the values of these keys.
    fn selector_has_keys(
        &mut self,
        declaration: &Declaration,
        table: &Table,
        selector: Option<&Expression>,
    ) {
        let mut keys =
            table.key().unwrap_or(&[]).iter().filter(|key| key.match_kind.as_str() == "selector");
        let (span, message) = match (keys.next(), selector) {
            (Some(key), None) => (
                key.match_kind.span,
                format!("this key has no effect: table `{}` has no selector", declaration.name),
            ),
            (None, Some(value)) => (
                value.span,
                format!(
                    "table `{}` has no key that matches `selector`: of each group all packets take one member",
                    declaration.name
                ),
            ),
            _ => return,
        };
        self.warn(Diagnostic::warning("selector", span, message));
    }

    fn one_lpm_key(&mut self, declaration: &Declaration, table: &Table) {
        let mut keys =
            table.key().unwrap_or(&[]).iter().filter(|key| key.match_kind.as_str() == "lpm");
        if let (Some(first), Some(second)) = (keys.next(), keys.next()) {
            self.report(
                Diagnostic::error(
                    "match-kind",
                    second.match_kind.span,
                    format!("table `{}` has a second `lpm` key", declaration.name),
                )
                .secondary(first.match_kind.span, "the first one")
                .note("targets order entries by the length of one prefix"),
            );
        }
    }

    /// Checks that the value of a table property is an instance of one of the extern types in
    /// `wanted`. Reports an error and returns false if it is not.
    fn is_attachment(&mut self, value: &Expression, property: &str, wanted: &[&str]) -> bool {
        let name = match self.out.type_of(value.id) {
            Type::Extern(named) => self.out.name(named.declaration).to_string(),
            Type::Unknown => return false,
            _ => String::new(),
        };
        if wanted.contains(&name.as_str()) {
            return true;
        }
        let wanted: Vec<String> = wanted.iter().map(|name| format!("`{name}`")).collect();
        self.report(
            Diagnostic::error(
                "type-mismatch",
                value.span,
                format!("the property `{property}` cannot have this value"),
            )
            .label(format!("an instance of {} was expected", wanted.join(" or "))),
        );
        false
    }

    fn attached_once(
        &mut self,
        table: DeclarationId,
        object: DeclarationId,
        value: &Expression,
        seen: &mut Vec<(DeclarationId, DeclarationId)>,
    ) {
        let earlier = seen.iter().find(|(other, _)| *other == object).map(|(_, table)| *table);
        match earlier {
            Some(first) => {
                let span = self.span_of(first);
                self.report(
                    Diagnostic::error(
                        "attached-twice",
                        value.span,
                        format!("`{}` belongs to another table", self.out.name(object)),
                    )
                    .secondary(span, "this one")
                    .note("there is one cell for each entry of one table"),
                );
            }
            None => seen.push((object, table)),
        }
    }

    /// Checks that all tables with the same action selector have the same keys of the match kind
    /// `selector`.
    fn same_selector_inputs(
        &mut self,
        table: &'program Table,
        object: DeclarationId,
        value: &Expression,
        seen: &mut Vec<(DeclarationId, Vec<&'program Expression>)>,
    ) {
        let inputs: Vec<&'program Expression> = table
            .key()
            .unwrap_or(&[])
            .iter()
            .filter(|key| key.match_kind.as_str() == "selector")
            .map(|key| &key.expression)
            .collect();
        let Some((_, first)) = seen.iter().find(|(other, _)| *other == object) else {
            seen.push((object, inputs));
            return;
        };
        let same = first.len() == inputs.len()
            && first.iter().zip(&inputs).all(|(one, other)| self.same_expression(one, other));
        if !same {
            self.error(
                "selector",
                value.span,
                format!(
                    "the tables that share `{}` have different `selector` keys",
                    self.out.name(object)
                ),
            );
        }
    }

    // Direct meters of v1model.

    /// Checks that the program reads each direct meter of v1model, and always into the same
    /// variable. simple_switch stores the color of a meter in a single variable. p4c derives this
    /// variable from the call of the meter's `read` method, and refuses a meter without such a
    /// call.
    fn meters_are_read(&mut self) {
        let mut reads: Vec<(DeclarationId, &'program Expression)> = Vec::new();
        for declaration in &self.out.program.declarations {
            if self.marks.used.contains(&declaration.id) {
                self.expressions_in(declaration, &mut |call| reads.extend(self.meter_read(call)));
            }
        }
        let mut first: Vec<(DeclarationId, &'program Expression)> = Vec::new();
        for (meter, place) in &reads {
            match first.iter().find(|(other, _)| other == meter) {
                Some((_, earlier)) if !self.same_expression(earlier, place) => {
                    self.warn(
                        Diagnostic::warning(
                            "meter",
                            place.span,
                            format!("`{}` is read into another place", self.out.name(*meter)),
                        )
                        .secondary(earlier.span, "this one")
                        .note("in simple_switch a direct meter stores its colours in one place"),
                    );
                }
                Some(_) => {}
                None => first.push((*meter, place)),
            }
        }
        for id in (0..self.out.program.declaration_count).map(DeclarationId::new) {
            let Some(DeclarationKind::Table(table)) =
                self.out.index.get_declaration(id).map(|found| &found.kind)
            else {
                continue;
            };
            if let Some(TablePropertyKind::Value(value)) =
                table.property("meters").map(|found| &found.kind)
                && self.marks.used.contains(&id)
                && let Some(Resolution::Declaration(meter)) = self.out.resolution(value.id)
                && self.is_direct_meter(self.out.type_of(value.id))
                && !first.iter().any(|(read, _)| read == meter)
            {
                let name = self.out.name(*meter);
                self.report(
                    Diagnostic::error("meter", value.span, format!("no action reads `{name}`"))
                        .note(format!("an action of the table calls `{name}.read(...)`")),
                );
            }
        }
    }

    /// If `call` is a `read` of a direct meter, returns the meter and the argument that receives
    /// the color. Returns `None` for any other call.
    fn meter_read(
        &self,
        call: &'program Expression,
    ) -> Option<(DeclarationId, &'program Expression)> {
        let ExpressionKind::Call { callee, arguments, .. } = &call.kind else { return None };
        let ExpressionKind::Member { base, .. } = &callee.kind else { return None };
        let Some(Resolution::Declaration(meter)) = self.out.resolution(base.id) else {
            return None;
        };
        self.is_direct_meter(self.out.type_of(base.id))
            .then_some((*meter, &arguments.first()?.value))
    }

    fn is_direct_meter(&self, ty: &Type) -> bool {
        matches!(ty, Type::Extern(named) if &*self.out.name(named.declaration) == "direct_meter")
    }

    // Checksum controls of v1model.

    fn checksum_controls(&mut self, main: DeclarationId) {
        let Some(DeclarationKind::Instantiation(instantiation)) =
            self.out.index.get_declaration(main).map(|found| &found.kind)
        else {
            return;
        };
        for (position, name) in CHECKSUM_CONTROLS {
            let named = instantiation
                .arguments
                .iter()
                .find(|argument| argument.name.as_ref().is_some_and(|it| it.as_str() == name));
            let by_position =
                instantiation.arguments.get(position).filter(|argument| argument.name.is_none());
            let Some(argument) = named.or(by_position) else { continue };
            let Type::Control(named) = self.out.type_of(argument.value.id) else { continue };
            let Some(DeclarationKind::Control(control)) =
                self.out.index.get_declaration(named.declaration).map(|found| &found.kind)
            else {
                continue;
            };
            self.no_branches(&control.apply);
        }
    }

    /// Reports branches and loops in a checksum control of v1model. In such a control, a checksum
    /// that is computed conditionally has the condition as its argument instead. Whether other
    /// statements are permitted depends on the target.
    fn no_branches(&mut self, block: &Block) {
        for statement in &block.statements {
            match &statement.kind {
                StatementKind::Block(block) => self.no_branches(block),
                StatementKind::If { .. }
                | StatementKind::Switch { .. }
                | StatementKind::For { .. }
                | StatementKind::ForIn { .. } => {
                    self.report(
                        Diagnostic::error(
                            "misplaced",
                            statement.span,
                            "a control for checksums has neither branches nor loops",
                        )
                        .note("the first argument of `verify_checksum` and `update_checksum` is a condition"),
                    );
                }
                _ => {}
            }
        }
    }
}
