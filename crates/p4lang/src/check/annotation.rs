//! Rules for annotations (P4_16 §20). Structured annotations must contain constants. `@__ref` and
//! `@tableconfig` describe tables whose entries the processing of packets may change.

use super::checker::Checker;
use super::{TableFacts, Type};
use crate::ast::{
    Annotation, AnnotationBody, AnnotationToken, Declaration, DeclarationKind, Direction,
    Expression, HOLDS_EXPRESSIONS, Parameter,
};
use crate::diagnostic::Diagnostic;
use num_bigint::Sign;

use ir::{EntryStore, Replicas, TableStorage, UpdateMethod};

/// The names of the annotations that take no arguments.
const WITHOUT_ARGUMENTS: &[&str] = &[
    "atomic",
    "defaultonly",
    "disable_optimization",
    "hidden",
    "likely",
    "metadata",
    "noSideEffects",
    "nounroll",
    "optional",
    "pure",
    "tableonly",
    "unlikely",
    "unroll",
];

/// The names of the annotations that take one string.
const WITH_STRING: &[&str] = &[
    "alias",
    "brief",
    "controller_header",
    "deprecated",
    "description",
    "name",
    "noWarn",
    "selector_size_semantics",
];

impl Checker<'_, '_> {
    /// Checks all annotations of a declaration, statement or other part of a program.
    pub(super) fn annotations(&mut self, annotations: &[Annotation]) {
        for annotation in annotations {
            match &annotation.body {
                AnnotationBody::Empty | AnnotationBody::Unstructured(_) => {}
                AnnotationBody::Evaluated { values, .. } => {
                    self.annotation_numbers(annotation, values)
                }
                AnnotationBody::Expressions(values) if holds_numbers(annotation) => {
                    self.annotation_numbers(annotation, values);
                }
                AnnotationBody::Expressions(values) => {
                    for value in values {
                        self.annotation_value(value);
                    }
                }
                AnnotationBody::KeyValues(pairs) => {
                    for (position, pair) in pairs.iter().enumerate() {
                        if pairs.iter().take(position).any(|other| other.key == pair.key) {
                            self.error(
                                "duplicate",
                                pair.key.span,
                                format!("the key `{}` is given twice", pair.key),
                            );
                        }
                        self.annotation_value(&pair.value);
                    }
                }
            }
            self.annotation_name(annotation, annotations);
        }
    }

    /// Checks the name and the arguments of an annotation. `all` contains all annotations of the
    /// same part of the program, among which some annotations may not be combined or repeated.
    fn annotation_name(&mut self, annotation: &Annotation, all: &[Annotation]) {
        let name = annotation.name.as_str();
        if WITH_STRING.contains(&name) && annotation.string().is_none() {
            self.report(
                Diagnostic::error(
                    "annotation",
                    annotation.span,
                    format!("`@{name}` takes one string"),
                )
                .note(format!("write `@{name}(\"...\")`")),
            );
        }
        if name == "match" && !self.is_match_kind(annotation) {
            self.error("annotation", annotation.span, "`@match` takes one match kind");
        }
        self.annotation_arguments(annotation);
        let earlier = all
            .iter()
            .take_while(|other| !std::ptr::eq(*other, annotation))
            .find(|other| other.name == annotation.name);
        if let Some(first) = earlier
            && name == "name"
        {
            self.report(
                Diagnostic::error("duplicate", annotation.span, "a second `@name`")
                    .secondary(first.span, "the first one")
                    .note("what the control plane sees has one name"),
            );
        } else if let Some(first) = earlier
            && (is_structured(first) || is_structured(annotation))
        {
            self.report(
                Diagnostic::error(
                    "duplicate",
                    annotation.span,
                    format!("`@{name}` is given twice, but a structured annotation may be given only once"),
                )
                .secondary(first.span, "the first time"),
            );
        }
    }

    /// Checks the number and the form of the arguments in parentheses, if the language defines the
    /// annotation.
    fn annotation_arguments(&mut self, annotation: &Annotation) {
        let name = annotation.name.as_str();
        let arguments = annotation.arguments();
        let values = match &annotation.body {
            AnnotationBody::Evaluated { values, .. } | AnnotationBody::Expressions(values) => {
                values.len()
            }
            _ => 0,
        };
        let pair = |tokens: &&[AnnotationToken]| matches!(tokens, [_, equals, _, ..] if &*equals.text == "=");
        let (takes, fits) = match name {
            "field_list" => ("numbers of field lists", values > 0),
            _ if holds_numbers(annotation) => ("one number", values == 1),
            _ if is_structured(annotation) => return,
            name if WITHOUT_ARGUMENTS.contains(&name) => ("no arguments", arguments.is_empty()),
            "length" => ("one expression", arguments.len() == 1),
            "pkginfo" => ("`key = value` pairs", arguments.iter().all(pair)),
            _ => return,
        };
        if !fits {
            self.error("annotation", annotation.span, format!("`@{name}` takes {takes}"));
        }
    }

    fn is_match_kind(&self, annotation: &Annotation) -> bool {
        match &annotation.body {
            AnnotationBody::Unstructured(tokens) => match tokens.as_slice() {
                [token] => self.members.match_kinds.contains_key(&token.text),
                _ => false,
            },
            AnnotationBody::Expressions(values) => match values.as_slice() {
                [value] => *self.out.type_of(value.id) == Type::MatchKind,
                _ => false,
            },
            AnnotationBody::Empty
            | AnnotationBody::Evaluated { .. }
            | AnnotationBody::KeyValues(_) => false,
        }
    }

    /// Checks that the values of an annotation are numbers that are known at compile time.
    fn annotation_numbers(&mut self, annotation: &Annotation, values: &[Expression]) {
        let name = annotation.name.as_str();
        for value in values {
            let ty = self.expression(value).ty;
            if ty.is_unknown() {
                continue;
            }
            let number = self.out.evaluate_own(value).and_then(|constant| constant.to_integer());
            let Some(number) = number else {
                let mut diagnostic = Diagnostic::error(
                    "annotation",
                    value.span,
                    format!("`@{name}` takes numbers that are known at compile time"),
                )
                .label(format!("this is a `{}`", self.out.show(&ty)));
                if matches!(ty, Type::Enum(_)) {
                    diagnostic = diagnostic.note(
                        "give the enum a type, as in `enum bit<8> E`, and its members values",
                    );
                }
                self.report(diagnostic);
                continue;
            };
            let fits = match name {
                "priority" => i32::try_from(&number).is_ok(),
                "field_list" | "id" => u32::try_from(&number).is_ok(),
                _ => i32::try_from(&number).is_ok() && number.sign() != Sign::Minus,
            };
            if !fits {
                self.report(
                    Diagnostic::error(
                        "annotation",
                        value.span,
                        format!("`@{name}` does not take this number"),
                    )
                    .label(format!("this is {number}"))
                    .note(match name {
                        "priority" => "it has 32 bits and a sign",
                        "field_list" | "id" => "it has 32 bits, and is not below 0",
                        _ => "it has 31 bits, and is not below 0",
                    }),
                );
            }
        }
    }

    fn annotation_value(&mut self, value: &Expression) {
        let info = self.expression(value);
        let allowed = matches!(info.ty, Type::Integer | Type::String | Type::Bool | Type::Unknown);
        // A value that depends on constructor parameters would differ between instances.
        let known = info.ty.is_unknown() || self.out.evaluate_own(value).is_some();
        if !allowed || !info.known || !known {
            self.report(
                Diagnostic::error(
                    "annotation",
                    value.span,
                    "a structured annotation holds constants of type `int`, `string` or `bool`",
                )
                .label(format!("this is a `{}`", self.out.show(&info.ty))),
            );
        }
    }

    /// Checks `@__ref`, which marks an action's parameter as a reference to the value in the table
    /// entry.
    pub(super) fn check_reference(&mut self, parameter: &Parameter, of_action: bool) {
        let Some(annotation) = parameter.annotation("__ref") else { return };
        if !of_action || parameter.direction != Direction::None {
            self.report(
                Diagnostic::error(
                    "reference",
                    annotation.span,
                    "`@__ref` stands only before a parameter of an action that has no direction",
                )
                .note("it refers to what the control plane wrote into the entry"),
            );
        }
    }

    /// Checks `@tableconfig(store="...", impl="...", update="...", synced=...)` for consistency
    /// with the `@__ref` parameters of the table's actions, and returns the configuration.
    pub(super) fn table_configuration(
        &mut self,
        declaration: &Declaration,
        facts: &TableFacts,
    ) -> Option<TableStorage> {
        let annotation = declaration.annotation("tableconfig")?;
        let errors = self.diagnostics.error_count();
        let configuration = self.read_configuration(annotation);
        let readable = self.diagnostics.error_count() == errors;
        let reference = facts.actions.iter().find_map(|action| {
            match self.out.index.get_declaration(action.action).map(|found| &found.kind) {
                Some(DeclarationKind::Action { parameters, .. }) => {
                    parameters.iter().find_map(|parameter| parameter.annotation("__ref"))
                }
                _ => None,
            }
        });
        if let Some(reference) = reference
            && readable
            && configuration.replicas == Replicas::Two
            && configuration.update == UpdateMethod::Pointer
        {
            let store = configuration.store.map(EntryStore::name);
            let store = store.map_or_else(String::new, |name| format!("store=\"{name}\", "));
            self.report(
                Diagnostic::error(
                    "reference",
                    annotation.span,
                    format!(
                        "table `{}` has two replicas: a packet cannot write its entries in place",
                        declaration.name
                    ),
                )
                .label("`impl` is \"t4p4s\" where nothing else is written")
                .secondary(reference.span, "this parameter refers to the entry")
                .note(format!(
                    "write `@tableconfig({store}impl=\"dpdk\", synced={})`, or `update=\"change\"` beside `impl=\"t4p4s\"`",
                    configuration.synchronised
                )),
            );
        }
        Some(configuration)
    }

    /// Returns the configuration that a `@tableconfig` annotation states. Reports keys and values
    /// that the annotation does not define.
    fn read_configuration(&mut self, annotation: &Annotation) -> TableStorage {
        // These are the defaults of the original implementation. Only the default of `store` is
        // left open, so that the backend chooses it.
        let mut configuration = TableStorage { replicas: Replicas::Two, ..TableStorage::default() };
        let pairs: Vec<(String, String, crate::source::Span)> = match &annotation.body {
            AnnotationBody::Empty => Vec::new(),
            AnnotationBody::Unstructured(_) => annotation
                .arguments()
                .into_iter()
                .filter_map(|tokens| match tokens {
                    [key, equals, value] if &*equals.text == "=" => {
                        Some((key.text.to_string(), token_value(value), value.span))
                    }
                    _ => {
                        let span = tokens.first().map_or(annotation.span, |token| token.span);
                        self.error("annotation", span, "`@tableconfig` takes `key=value`");
                        None
                    }
                })
                .collect(),
            AnnotationBody::KeyValues(pairs) => pairs
                .iter()
                .map(|pair| {
                    let value = match self.out.evaluate_own(&pair.value) {
                        Some(super::Constant::String(text)) => text.to_string(),
                        Some(super::Constant::Bool(value)) => value.to_string(),
                        _ => String::new(),
                    };
                    (pair.key.to_string(), value, pair.value.span)
                })
                .collect(),
            AnnotationBody::Expressions(_) | AnnotationBody::Evaluated { .. } => {
                self.error("annotation", annotation.span, "`@tableconfig` takes `key=value`");
                Vec::new()
            }
        };
        for (key, value, span) in pairs {
            let expected = match (key.as_str(), value.as_str()) {
                ("impl", "dpdk") => {
                    configuration.replicas = Replicas::One;
                    continue;
                }
                ("impl", "sharded") => {
                    configuration.replicas = Replicas::Sharded;
                    continue;
                }
                ("impl", "t4p4s") => {
                    configuration.replicas = Replicas::Two;
                    continue;
                }
                ("synced", "true" | "false") => {
                    configuration.synchronised = value == "true";
                    continue;
                }
                ("update", name) => match UpdateMethod::named(name) {
                    Some(update) => {
                        configuration.update = update;
                        continue;
                    }
                    None => "`update` is \"pointer\", \"change\" or \"digest\"",
                },
                ("store", name) => match EntryStore::named(name) {
                    Some(store) => {
                        configuration.store = Some(store);
                        continue;
                    }
                    None => "`store` is \"static\", \"dynamic\", \"original\" or \"inline\"",
                },
                ("impl", _) => "`impl` is \"dpdk\", \"sharded\" or \"t4p4s\"",
                ("synced", _) => "`synced` is `true` or `false`",
                _ => "`@tableconfig` takes `store`, `impl`, `update` and `synced`",
            };
            self.error("annotation", span, expected);
        }
        let in_place = configuration.update == UpdateMethod::Pointer;
        if !in_place && (configuration.synchronised || configuration.replicas == Replicas::Sharded)
        {
            self.error(
                "annotation",
                annotation.span,
                "`synced=true` and `impl=\"sharded\"` are for packets that write in place, and `update` says that they do \
                 not; write `update=\"pointer\"`, or leave the other out",
            );
        }
        if configuration.replicas == Replicas::Sharded && configuration.synchronised {
            self.error(
                "annotation",
                annotation.span,
                "`impl=\"sharded\"` gives each worker entries of its own, which need no locks; write `synced=false`, \
                 or `impl=\"dpdk\"` where packets of several workers write one entry",
            );
        }
        configuration
    }
}

/// Returns whether the arguments of the annotation are numbers, by definition of the language or
/// the architecture.
fn holds_numbers(annotation: &Annotation) -> bool {
    HOLDS_EXPRESSIONS.contains(&annotation.name.as_str())
}

/// Returns whether the annotation is structured, `@name[...]`. A structured annotation must not be
/// repeated.
fn is_structured(annotation: &Annotation) -> bool {
    matches!(annotation.body, AnnotationBody::Expressions(_) | AnnotationBody::KeyValues(_))
}

fn token_value(token: &AnnotationToken) -> String {
    token.string.as_deref().unwrap_or(&token.text).to_owned()
}
