//! The IR as readable text, for `planimeter compile --ir F --format text` and for snapshots.
//!
//! The text resembles P4 where P4 has a notation. Lists keep their order, so equal programs have
//! equal texts. Variables, actions, functions and parser states with equal names are distinguished
//! by the suffixes `~1`, `~2` and so on, in the order of their list. Unlike JSON, this text cannot
//! be read back.

mod expression;

use std::collections::HashMap;
use std::fmt::Write as _;

use super::{
    ActionCall, ActionId, ActionScope, Annotation, AnnotationBody, AnnotationValue, Architecture,
    Argument, Block, CompositeKind, Control, EntryStore, Expression, ExternCallee, KeySet, Package,
    PackageValue, Parameter, Parser, Place, Program, Replicas, Statement, StatementKind, Table,
    TableImplementation, Target, Transition, Type, TypeId, UpdateMethod, UserTypeId, UserTypeKind,
    Value, VariableId,
};
use expression::Literal;

impl Program {
    /// Returns the whole program as readable text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut printer = Printer::new(self);
        printer.program();
        printer.out
    }
}

/// A printer for parts of a program. [`Program::to_text`] appends suffixes to equal names, for
/// example to those of variables in different controls. This printer does not.
pub struct Excerpts<'p>(Printer<'p>);

impl<'p> Excerpts<'p> {
    /// Creates a printer for parts of `program`.
    #[must_use]
    pub fn new(program: &'p Program) -> Self {
        let mut printer = Printer::new(program);
        printer.variables = program.variables.iter().map(|v| v.name.clone()).collect();
        printer.actions = program.actions.iter().map(|action| action.name.clone()).collect();
        printer.functions = program.functions.iter().map(|f| f.name.clone()).collect();
        Self(printer)
    }

    /// Formats an expression.
    #[must_use]
    pub fn expression(&self, expression: &Expression) -> String {
        self.0.expression(expression)
    }

    /// Formats a place: a variable or a part of one.
    #[must_use]
    pub fn place(&self, place: &Place) -> String {
        self.0.place(place)
    }

    /// Formats a key set of a `select` case.
    #[must_use]
    pub fn key_set(&self, set: &KeySet<Expression>) -> String {
        self.0.key_set(set, Printer::expression)
    }

    /// Formats a constant of type `type_id`.
    #[must_use]
    pub fn value(&self, type_id: TypeId, value: &Value) -> String {
        self.0.value(type_id, value)
    }

    /// Formats a call of one of the actions of `table`, with its arguments.
    #[must_use]
    pub fn action_call(&self, table: &Table, call: &ActionCall) -> String {
        self.0.action_call(table, call)
    }

    /// Formats a statement in one or more lines.
    pub fn statement(&mut self, statement: &Statement) -> String {
        self.0.out.clear();
        self.0.statement(statement);
        self.0.out.trim_end().to_owned()
    }
}

/// Appends `~1`, `~2` and so on to repeated names, so that each name is unique.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    names
        .map(|name| {
            let count = seen.entry(name).or_insert(0);
            *count += 1;
            if *count == 1 { name.to_owned() } else { format!("{name}~{}", *count - 1) }
        })
        .collect()
}

/// A printer for a program. It holds the unique names of the program's variables, actions and
/// functions.
struct Printer<'p> {
    program: &'p Program,
    variables: Vec<String>,
    actions: Vec<String>,
    functions: Vec<String>,
    out: String,
    indent: usize,
}

macro_rules! line {
    ($printer:expr, $($format:tt)*) => {{
        let text = format!($($format)*);
        $printer.line(&text);
    }};
}

impl<'p> Printer<'p> {
    fn new(program: &'p Program) -> Self {
        Self {
            program,
            variables: distinct(program.variables.iter().map(|variable| variable.name.as_str())),
            actions: distinct(program.actions.iter().map(|action| action.name.as_str())),
            functions: distinct(program.functions.iter().map(|function| function.name.as_str())),
            out: String::new(),
            indent: 0,
        }
    }

    fn line(&mut self, text: &str) {
        if text.is_empty() {
            self.out.push('\n');
            return;
        }
        for _ in 0..self.indent {
            self.out.push_str("    ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn braces(&mut self, head: &str, body: impl FnOnce(&mut Self)) {
        self.line(&format!("{head} {{"));
        self.indent += 1;
        body(self);
        self.indent -= 1;
        self.line("}");
    }

    fn program(&mut self) {
        let program = self.program;
        let architecture = match &program.architecture {
            Architecture::V1model => "v1model",
            Architecture::Psa => "psa",
            Architecture::Pna => "pna",
            Architecture::Other(name) => name,
        };
        line!(self, "program {architecture} version {}", program.version);
        self.types();
        if !program.errors.is_empty() {
            self.line("");
            line!(self, "error {{ {} }}", program.errors.join(", "));
        }
        for instance in &program.externs {
            self.line("");
            self.annotations(&instance.annotations);
            let arguments: Vec<String> = instance
                .arguments
                .iter()
                .map(|argument| {
                    format!("{} = {}", argument.name, self.value(argument.type_id, &argument.value))
                })
                .collect();
            let of = instance
                .table
                .map(|table| format!(" of {}", self.table_name(table)))
                .unwrap_or_default();
            let types = self.type_list(&instance.type_arguments);
            line!(
                self,
                "extern {}{types}({}) {}{of}",
                instance.extern_type,
                arguments.join(", "),
                instance.name
            );
        }
        for set in &program.value_sets {
            self.line("");
            self.annotations(&set.annotations);
            let kinds: Vec<String> =
                set.match_kinds.iter().map(|kind| kind.name().to_owned()).collect();
            line!(
                self,
                "value_set<{}>({}) {} ({})",
                self.declared(set.type_id, set.user_type),
                set.size,
                set.name,
                kinds.join(", ")
            );
        }
        for (position, function) in program.functions.iter().enumerate() {
            self.line("");
            let returned = function
                .return_type
                .map_or_else(|| "void".to_owned(), |type_id| self.type_name(type_id));
            let head = format!(
                "function {returned} {}({})",
                self.functions[position],
                self.parameters(&function.parameters)
            );
            self.braces(&head, |printer| printer.block(&function.body));
        }
        for position in 0..program.actions.len() {
            self.line("");
            self.action(ActionId(position as u32));
        }
        for table in &program.tables {
            self.line("");
            self.table(table);
        }
        for parser in &program.parsers {
            self.line("");
            self.parser(parser);
        }
        for control in &program.controls {
            self.line("");
            self.control(control);
        }
        self.line("");
        self.annotations(&program.annotations);
        self.package("main", &program.main);
    }

    fn types(&mut self) {
        let types = &self.program.types;
        for user in &types.user_types {
            self.line("");
            self.annotations(&user.annotations);
            match &user.kind {
                UserTypeKind::NewType { original, original_user_type } => {
                    line!(
                        self,
                        "type {} {}",
                        self.declared(*original, *original_user_type),
                        user.name
                    );
                }
                UserTypeKind::SerializableEnum { underlying, members, .. } => {
                    let members: Vec<String> = members
                        .iter()
                        .map(|(name, value)| {
                            format!("{name} = {}", Literal(&Value::Bits(value.clone())))
                        })
                        .collect();
                    line!(
                        self,
                        "enum {} {} {{ {} }}",
                        self.type_name(*underlying),
                        user.name,
                        members.join(", ")
                    );
                }
            }
        }
        for composite in &types.composites {
            self.line("");
            self.annotations(&composite.annotations);
            let kind = match composite.kind {
                CompositeKind::Struct => "struct",
                CompositeKind::Tuple => "tuple",
                CompositeKind::Header => "header",
                CompositeKind::HeaderUnion => "header_union",
            };
            self.braces(&format!("{kind} {}", composite.name), |printer| {
                for field in &composite.fields {
                    printer.annotations(&field.annotations);
                    line!(
                        printer,
                        "{} {}",
                        printer.declared(field.type_id, field.user_type),
                        field.name
                    );
                }
            });
        }
        for enumeration in &types.enums {
            self.line("");
            self.annotations(&enumeration.annotations);
            line!(self, "enum {} {{ {} }}", enumeration.name, enumeration.members.join(", "));
        }
    }

    fn annotations(&mut self, annotations: &[Annotation]) {
        for annotation in annotations {
            self.line(&annotation_text(annotation));
        }
    }

    fn action(&mut self, id: ActionId) {
        let action = &self.program.actions[id.index()];
        self.annotations(&action.annotations);
        let parameters: Vec<String> = action
            .parameters
            .iter()
            .map(|parameter| {
                let mut text = String::new();
                for annotation in &parameter.annotations {
                    text.push_str(&annotation_text(annotation));
                    text.push(' ');
                }
                if let Some(direction) = parameter.direction {
                    text.push_str(direction.name());
                    text.push(' ');
                }
                if parameter.reference {
                    text.push_str("ref ");
                }
                text.push_str(&self.declared(parameter.type_id, parameter.user_type));
                text.push(' ');
                text.push_str(&self.variable(parameter.variable));
                text
            })
            .collect();
        let scope = match action.scope {
            ActionScope::Program => String::new(),
            ActionScope::Control(control) => self
                .program
                .controls
                .get(control.index())
                .map(|control| format!(" in {}", control.name))
                .unwrap_or_default(),
        };
        let head = format!("action {}({}){scope}", self.actions[id.index()], parameters.join(", "));
        self.braces(&head, |printer| printer.block(&action.body));
    }

    fn table(&mut self, table: &Table) {
        self.annotations(&table.annotations);
        self.braces(&format!("table {}", table.name), |printer| {
            if !table.before_keys.is_empty() {
                printer.braces("before_keys", |printer| printer.block(&table.before_keys));
            }
            for key in &table.keys {
                printer.annotations(&key.annotations);
                line!(
                    printer,
                    "key {} = {} : {}",
                    key.name,
                    printer.expression(&key.expression),
                    key.match_kind.name()
                );
            }
            for reference in &table.actions {
                printer.annotations(&reference.annotations);
                let name = printer.action_name(reference.action);
                let arguments = printer.arguments(&reference.arguments);
                if reference.before_arguments.is_empty() {
                    line!(printer, "action {name}({arguments})");
                } else {
                    printer.braces(&format!("action {name}({arguments}) after"), |printer| {
                        printer.block(&reference.before_arguments);
                    });
                }
            }
            line!(
                printer,
                "{}default_action = {}",
                if table.default_action_is_const { "const " } else { "" },
                printer.action_call(table, &table.default_action)
            );
            if let Some(call) = &table.empty_group_action {
                line!(printer, "empty_group_action = {}", printer.action_call(table, call));
            }
            if let Some(size) = table.size {
                line!(printer, "size = {size}");
            }
            match table.implementation {
                Some(TableImplementation::ActionProfile(id)) => {
                    line!(printer, "action_profile = {}", printer.extern_name(id));
                }
                Some(TableImplementation::ActionSelector(id)) => {
                    line!(printer, "action_selector = {}", printer.extern_name(id));
                }
                None => {}
            }
            for id in &table.direct_externs {
                line!(printer, "direct {}", printer.extern_name(*id));
            }
            if let Some(timeout) = table.idle_timeout {
                line!(printer, "idle_timeout = {}", timeout.name());
            }
            if table.add_on_miss {
                printer.line("add_on_miss");
            }
            if table.storage.store.is_some()
                || table.storage.replicas != Replicas::default()
                || table.storage.update != UpdateMethod::default()
                || table.storage.synchronised
            {
                line!(
                    printer,
                    "storage {} {} {}{}",
                    table.storage.store.map_or("any", EntryStore::name),
                    match table.storage.replicas {
                        Replicas::One => "one_replica",
                        Replicas::Two => "two_replicas",
                        Replicas::Sharded => "sharded",
                    },
                    table.storage.update.name(),
                    if table.storage.synchronised { " synchronised" } else { "" }
                );
            }
            for (name, value) in &table.properties {
                line!(printer, "{name} = {}", Literal(value));
            }
            for entry in &table.entries {
                let sets: Vec<String> = entry
                    .key_sets
                    .iter()
                    .map(|set| printer.key_set(set, |_, value| Literal(value).to_string()))
                    .collect();
                let priority = entry
                    .priority
                    .map(|priority| format!("priority {priority} "))
                    .unwrap_or_default();
                printer.annotations(&entry.annotations);
                line!(
                    printer,
                    "{}entry {priority}({}) : {}",
                    if entry.is_const { "const " } else { "" },
                    sets.join(", "),
                    printer.action_call(table, &entry.action)
                );
            }
        });
    }

    fn action_call(&self, table: &Table, call: &ActionCall) -> String {
        let name = table
            .actions
            .get(call.position as usize)
            .map_or_else(|| "?".to_owned(), |reference| self.action_name(reference.action));
        let values: Vec<String> =
            call.arguments.iter().map(|value| Literal(value).to_string()).collect();
        format!("{name}({})", values.join(", "))
    }

    fn parser(&mut self, parser: &Parser) {
        self.annotations(&parser.annotations);
        let head = format!("parser {}({})", parser.name, self.parameters(&parser.parameters));
        let states = distinct(parser.states.iter().map(|state| state.name.as_str()));
        let name = |target: Target| match target {
            Target::State(state) => {
                states.get(state.index()).cloned().unwrap_or_else(|| "?".to_owned())
            }
            Target::Accept => "accept".to_owned(),
            Target::Reject => "reject".to_owned(),
        };
        self.braces(&head, |printer| {
            if !parser.prologue.is_empty() {
                printer.braces("prologue", |printer| printer.block(&parser.prologue));
            }
            for (position, state) in parser.states.iter().enumerate() {
                printer.annotations(&state.annotations);
                let start = if parser.start.index() == position { "start " } else { "" };
                printer.braces(&format!("{start}state {}", states[position]), |printer| {
                    printer.block(&state.body);
                    match &state.transition {
                        Transition::Direct(target) => {
                            line!(printer, "transition {}", name(*target))
                        }
                        Transition::Select { subjects, cases } => {
                            let subjects: Vec<String> = subjects
                                .iter()
                                .map(|subject| printer.expression(subject))
                                .collect();
                            printer.braces(
                                &format!("transition select({})", subjects.join(", ")),
                                |printer| {
                                    for case in cases {
                                        let sets: Vec<String> = case
                                            .key_sets
                                            .iter()
                                            .map(|set| printer.key_set(set, Self::expression))
                                            .collect();
                                        line!(
                                            printer,
                                            "({}) : {}",
                                            sets.join(", "),
                                            name(case.target)
                                        );
                                    }
                                },
                            );
                        }
                    }
                });
            }
        });
    }

    fn control(&mut self, control: &Control) {
        self.annotations(&control.annotations);
        let head = format!("control {}({})", control.name, self.parameters(&control.parameters));
        self.braces(&head, |printer| printer.block(&control.body));
    }

    fn package(&mut self, name: &str, package: &Package) {
        self.braces(&format!("{} {name}", package.name), |printer| {
            for argument in &package.arguments {
                match &argument.value {
                    PackageValue::Parser(id) => {
                        let bound = printer.program.parsers.get(id.index());
                        line!(
                            printer,
                            "parser {} = {}",
                            argument.name,
                            bound.map_or("?", |p| &p.name)
                        );
                    }
                    PackageValue::Control(id) => {
                        let bound = printer.program.controls.get(id.index());
                        line!(
                            printer,
                            "control {} = {}",
                            argument.name,
                            bound.map_or("?", |c| &c.name)
                        );
                    }
                    PackageValue::Extern(id) => {
                        line!(printer, "extern {} = {}", argument.name, printer.extern_name(*id));
                    }
                    PackageValue::Package(inner) => printer.package(&argument.name, inner),
                    PackageValue::Value(value) => {
                        line!(printer, "value {} = {}", argument.name, Literal(value));
                    }
                }
            }
        });
    }

    fn block(&mut self, block: &Block) {
        for statement in block {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Assign { place, value } => {
                line!(self, "{} = {}", self.place(place), self.expression(value));
            }
            StatementKind::Reset(place) => line!(self, "reset {}", self.place(place)),
            StatementKind::If { condition, then, otherwise } => {
                let head = format!("if ({})", self.expression(condition));
                self.braces(&head, |printer| printer.block(then));
                if !otherwise.is_empty() {
                    self.braces("else", |printer| printer.block(otherwise));
                }
            }
            StatementKind::Switch { subject, cases, default } => {
                let head = format!("switch ({})", self.expression(subject));
                self.braces(&head, |printer| {
                    for case in cases {
                        let values: Vec<String> = case
                            .values
                            .iter()
                            .map(|value| printer.value(subject.type_id, value))
                            .collect();
                        printer.braces(&format!("case {}", values.join(", ")), |printer| {
                            printer.block(&case.body);
                        });
                    }
                    if !default.is_empty() {
                        printer.braces("default", |printer| printer.block(default));
                    }
                });
            }
            StatementKind::For { before_condition, condition, update, body } => {
                let head = format!("for ({})", self.expression(condition));
                self.braces(&head, |printer| {
                    if !before_condition.is_empty() {
                        printer.braces("before", |printer| printer.block(before_condition));
                    }
                    printer.block(body);
                    if !update.is_empty() {
                        printer.braces("update", |printer| printer.block(update));
                    }
                });
            }
            StatementKind::Break => self.line("break"),
            StatementKind::Continue => self.line("continue"),
            StatementKind::ApplyTable { table, hit, action_run } => {
                let mut text = format!("apply {}", self.table_name(*table));
                if let Some(hit) = hit {
                    let _ = write!(text, " hit {}", self.place(hit));
                }
                if let Some(action_run) = action_run {
                    let _ = write!(text, " action_run {}", self.place(action_run));
                }
                self.line(&text);
            }
            StatementKind::CallAction { action, arguments } => {
                line!(self, "call {}({})", self.action_name(*action), self.arguments(arguments));
            }
            StatementKind::CallFunction { function, arguments, result } => {
                let name = self.functions.get(function.index()).map_or("?", String::as_str);
                let text = format!("call {name}({})", self.arguments(arguments));
                let target = self.result(result.as_ref());
                self.line(&format!("{target}{text}"));
            }
            StatementKind::CallControl { control, arguments } => {
                let callee = self.program.controls.get(control.index());
                let name = callee.map_or("?", |control| control.name.as_str());
                line!(self, "call {name}({})", self.arguments(arguments));
            }
            StatementKind::CallParser { parser, arguments } => {
                let callee = self.program.parsers.get(parser.index());
                let name = callee.map_or("?", |parser| parser.name.as_str());
                line!(self, "call {name}({})", self.arguments(arguments));
            }
            StatementKind::CallExtern { callee, type_arguments, arguments, result } => {
                let name = match callee {
                    ExternCallee::Function(function) => function.to_string(),
                    ExternCallee::Method { instance, method } => {
                        format!("{}.{method}", self.extern_name(*instance))
                    }
                };
                let target = self.result(result.as_ref());
                let types = self.type_list(type_arguments);
                line!(self, "{target}extern {name}{types}({})", self.arguments(arguments));
            }
            StatementKind::Extract { header, header_type, varbit_width } => {
                let header = header.as_ref().map_or_else(
                    || format!("({}) _", self.type_name(*header_type)),
                    |header| self.place(header),
                );
                match varbit_width {
                    Some(width) => line!(self, "extract {header}, {}", self.expression(width)),
                    None => line!(self, "extract {header}"),
                }
            }
            StatementKind::Lookahead { result, type_id } => {
                line!(self, "{} = lookahead<{}>", self.place(result), self.type_name(*type_id));
            }
            StatementKind::Advance(bits) => line!(self, "advance {}", self.expression(bits)),
            StatementKind::Emit(value) => line!(self, "emit {}", self.expression(value)),
            StatementKind::Verify { condition, error } => {
                line!(self, "verify {}, {}", self.expression(condition), self.expression(error));
            }
            StatementKind::SetValidity { header, valid } => {
                let verb = if *valid { "set_valid" } else { "set_invalid" };
                line!(self, "{verb} {}", self.place(header));
            }
            StatementKind::PushFront { stack, count } => {
                line!(self, "push_front {}, {count}", self.place(stack));
            }
            StatementKind::PopFront { stack, count } => {
                line!(self, "pop_front {}, {count}", self.place(stack));
            }
            StatementKind::Return(None) => self.line("return"),
            StatementKind::Return(Some(value)) => line!(self, "return {}", self.expression(value)),
            StatementKind::Exit => self.line("exit"),
        }
    }

    fn result(&self, result: Option<&Place>) -> String {
        result.map(|place| format!("{} = ", self.place(place))).unwrap_or_default()
    }

    fn arguments(&self, arguments: &[Argument]) -> String {
        let arguments: Vec<String> = arguments
            .iter()
            .map(|argument| match argument {
                Argument::In(value) => self.expression(value),
                Argument::Out(place) => format!("out {}", self.place(place)),
                Argument::InOut(place) => format!("inout {}", self.place(place)),
                Argument::Ordered { rank, argument } => {
                    format!("#{rank} {}", self.arguments(std::slice::from_ref(&**argument)))
                }
                Argument::Saved { place, value } => {
                    format!("inout {} from {}", self.place(place), self.expression(value))
                }
                Argument::Extern(id) => self.extern_name(*id),
                Argument::Action(id) => self.action_name(*id),
                Argument::Absent => "_".to_owned(),
            })
            .collect();
        arguments.join(", ")
    }

    fn parameters(&self, parameters: &[Parameter]) -> String {
        let parameters: Vec<String> = parameters
            .iter()
            .map(|parameter| {
                format!(
                    "{} {} {}",
                    parameter.direction.name(),
                    self.type_name(parameter.type_id),
                    self.variable(parameter.variable)
                )
            })
            .collect();
        parameters.join(", ")
    }

    fn variable(&self, id: VariableId) -> String {
        self.variables.get(id.index()).cloned().unwrap_or_else(|| "?".to_owned())
    }

    fn action_name(&self, id: ActionId) -> String {
        self.actions.get(id.index()).cloned().unwrap_or_else(|| "?".to_owned())
    }

    fn table_name(&self, id: super::TableId) -> String {
        self.program.tables.get(id.index()).map_or("?", |table| table.name.as_str()).to_owned()
    }

    fn extern_name(&self, id: super::ExternId) -> String {
        self.program.externs.get(id.index()).map_or("?", |object| object.name.as_str()).to_owned()
    }

    fn type_list(&self, types: &[TypeId]) -> String {
        if types.is_empty() {
            return String::new();
        }
        let names: Vec<String> = types.iter().map(|type_id| self.type_name(*type_id)).collect();
        format!("<{}>", names.join(", "))
    }

    fn declared(&self, type_id: TypeId, user_type: Option<UserTypeId>) -> String {
        user_type
            .and_then(|user| self.program.types.user_types.get(user.index()))
            .map_or_else(|| self.type_name(type_id), |user| user.name.clone())
    }

    fn type_name(&self, type_id: TypeId) -> String {
        self.program.type_name(type_id)
    }
}

impl Program {
    /// Returns the name of a type in P4's notation.
    #[must_use]
    pub fn type_name(&self, type_id: TypeId) -> String {
        let Some(ty) = self.types.find(type_id) else { return "?".to_owned() };
        match ty {
            Type::Bool => "bool".to_owned(),
            Type::Bits { width, signed: false } => format!("bit<{width}>"),
            Type::Bits { width, signed: true } => format!("int<{width}>"),
            Type::Varbits { max_width } => format!("varbit<{max_width}>"),
            Type::Integer => "int".to_owned(),
            Type::Error => "error".to_owned(),
            Type::Enum(id) => {
                self.types.enums.get(id.index()).map_or("?", |all| all.name.as_str()).to_owned()
            }
            Type::String => "string".to_owned(),
            Type::Composite(id) => self
                .types
                .composites
                .get(id.index())
                .map_or("?", |composite| composite.name.as_str())
                .to_owned(),
            Type::Stack { element, size } => format!("{}[{size}]", self.type_name(element)),
            Type::ActionRun(table) => {
                let name = self.tables.get(table.index()).map_or("?", |table| table.name.as_str());
                format!("action_run({name})")
            }
        }
    }

    fn stack_element(&self, stack: Option<TypeId>) -> Option<TypeId> {
        match self.types.find(stack?)? {
            Type::Stack { element, .. } => Some(element),
            _ => None,
        }
    }
}

fn annotation_text(annotation: &Annotation) -> String {
    let value = |value: &AnnotationValue| match value {
        AnnotationValue::String(text) => format!("{text:?}"),
        AnnotationValue::Integer(value) => value.to_string(),
        AnnotationValue::Bool(value) => value.to_string(),
    };
    let name = &annotation.name;
    match &annotation.body {
        AnnotationBody::Empty => format!("@{name}"),
        AnnotationBody::Tokens(tokens) => format!("@{name}({})", tokens.join(" ")),
        AnnotationBody::Expressions(values) => {
            let values: Vec<String> = values.iter().map(value).collect();
            format!("@{name}[{}]", values.join(", "))
        }
        AnnotationBody::KeyValues(values) => {
            let values: Vec<String> =
                values.iter().map(|(key, of)| format!("{key} = {}", value(of))).collect();
            format!("@{name}[{}]", values.join(", "))
        }
    }
}
