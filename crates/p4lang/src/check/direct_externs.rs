//! Rules for direct counters and meters. Only the actions of the table to which such an object
//! belongs may call it, because a matched entry exists only there (PSA specification, sections 7.9
//! and 7.10; `v1model.p4`). Calls elsewhere have no effect. They cause only warnings, since p4c
//! accepts them.

use super::Resolution;
use super::checker::Checker;
use super::postponed::DirectCall;
use crate::ast::{DeclarationId, DeclarationKind, Expression, TablePropertyKind};
use crate::diagnostic::Diagnostic;
use crate::source::Span;

const EXTERNS: [&str; 4] = ["DirectCounter", "DirectMeter", "direct_counter", "direct_meter"];

const PROPERTIES: [&str; 6] = [
    "psa_direct_counter",
    "psa_direct_meter",
    "pna_direct_counter",
    "pna_direct_meter",
    "counters",
    "meters",
];

impl Checker<'_, '_> {
    /// Records a call of a direct counter or meter. It is checked later, when all tables are known.
    pub(super) fn note_direct_call(
        &mut self,
        extern_type: DeclarationId,
        base: &Expression,
        span: Span,
    ) {
        if !EXTERNS.contains(&&*self.out.name(extern_type)) {
            return;
        }
        if let Some(Resolution::Declaration(object)) = self.out.resolution(base.id) {
            let (object, action) = (*object, self.context.action);
            self.postponed.direct_calls.push(DirectCall { object, action, span });
        }
    }

    /// Warns of calls of direct counters and meters that have no effect. Either the object belongs
    /// to no table, or the calling action is not one of its table's actions.
    pub(super) fn direct_call_rules(&mut self) {
        for call in std::mem::take(&mut self.postponed.direct_calls) {
            let name = self.out.name(call.object).to_string();
            let Some(owner) = self.owner_of(call.object) else {
                self.warn(Diagnostic::warning(
                    "direct",
                    call.span,
                    format!("`{name}` belongs to no table, so this has no effect"),
                ));
                continue;
            };
            let Some(action) = call.action else {
                let owner = self.span_of(owner);
                self.warn(
                    Diagnostic::warning(
                        "direct",
                        call.span,
                        format!("`{name}` has an entry only in an action of its table"),
                    )
                    .secondary(owner, "this table"),
                );
                continue;
            };
            let mut others: Vec<DeclarationId> = self
                .out
                .tables
                .iter()
                .filter(|(table, facts)| {
                    **table != owner && facts.actions.iter().any(|listed| listed.action == action)
                })
                .map(|(table, _)| *table)
                .collect();
            others.sort_unstable();
            if let Some(other) = others.first() {
                let other = self.span_of(*other);
                self.warn(
                    Diagnostic::warning(
                        "direct",
                        call.span,
                        format!("`{name}` has no entry when another table runs this action"),
                    )
                    .secondary(other, "this table"),
                );
            }
        }
    }

    /// Returns the table that names the direct counter or meter `object` in one of its properties.
    fn owner_of(&self, object: DeclarationId) -> Option<DeclarationId> {
        self.out.tables.keys().copied().find(|table| {
            let declaration = self.out.index.get_declaration(*table);
            let Some(DeclarationKind::Table(table)) = declaration.map(|found| &found.kind) else {
                return false;
            };
            PROPERTIES.iter().any(|property| {
                let Some(TablePropertyKind::Value(value)) =
                    table.property(property).map(|found| &found.kind)
                else {
                    return false;
                };
                matches!(self.out.resolution(value.id), Some(Resolution::Declaration(id)) if *id == object)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::Severity;
    use crate::preprocess::{MemoryFiles, Options};

    /// Returns the warnings about direct externs in a control of a PSA program with the given
    /// locals and `apply` block.
    fn messages(locals: &str, apply: &str) -> Vec<String> {
        let counter = "DirectCounter<bit<32>>(PSA_CounterType_t.PACKETS)";
        messages_of("psa.p4", &format!("{counter} c; {locals}"), apply)
    }

    fn messages_of(architecture: &str, locals: &str, apply: &str) -> Vec<String> {
        let text = format!(
            "#include <{architecture}>
            control C(inout bit<8> a) {{ {locals} apply {{ {apply} }} }}"
        );
        let mut parsed =
            crate::parse_text("test.p4", &text, &Options::default(), &MemoryFiles::new());
        crate::check::check(&parsed.program, &parsed.sources, &mut parsed.diagnostics);
        assert!(!parsed.diagnostics.has_errors(), "{text}");
        parsed
            .diagnostics
            .iter()
            .filter(|found| found.severity == Severity::Warning && found.kind == "direct")
            .map(|found| found.message.clone())
            .collect()
    }

    #[test]
    fn calls_outside_the_actions_of_the_table_are_warned_of() {
        let table = |name: &str, action: &str, property: &str| {
            format!(
                "table {name} {{ key = {{ a: exact; }} actions = {{ {action}; NoAction; }} {property} }}"
            )
        };
        let action = "action count() { c.count(); } action more() { count(); }";
        let owner = table("t", "count", "psa_direct_counter = c;");
        assert_eq!(messages(&format!("{action} {owner}"), "t.apply();"), [""; 0]);
        let through = table("t", "more", "psa_direct_counter = c;");
        assert_eq!(messages(&format!("{action} {through}"), "t.apply();"), [""; 0]);

        let in_apply = messages(&format!("{action} {owner}"), "t.apply(); c.count();");
        assert_eq!(in_apply, ["`c` has an entry only in an action of its table"]);
        let other = table("u", "count", "");
        let both = messages(&format!("{action} {owner} {other}"), "t.apply(); u.apply();");
        assert_eq!(both, ["`c` has no entry when another table runs this action"]);
        let nowhere = messages(&format!("{action} {other}"), "u.apply();");
        assert_eq!(nowhere, ["`c` belongs to no table, so this has no effect"]);
    }

    #[test]
    fn direct_externs_of_v1model_are_checked_too() {
        let messages = |property: &str, apply: &str| {
            let locals = format!(
                "direct_counter(CounterType.packets) c; action count() {{ c.count(); }}
                 table t {{ key = {{ a: exact; }} actions = {{ count; }} {property} }}"
            );
            messages_of("v1model.p4", &locals, apply)
        };
        assert_eq!(messages("counters = c;", "t.apply();"), [""; 0]);
        assert_eq!(
            messages("counters = c;", "t.apply(); c.count();"),
            ["`c` has an entry only in an action of its table"]
        );
        assert_eq!(messages("", "t.apply();"), ["`c` belongs to no table, so this has no effect"]);
    }
}
