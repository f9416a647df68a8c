//! Printing of declarations.

use std::fmt::{self, Display, Formatter};

use super::{Commas, Printer};
use crate::ast::{
    ActionReference, Declaration, DeclarationKind, Entry, EnumMember, ExternObject,
    FunctionPrototype, Instantiation, KeyElement, Parameter, StructField, Table, TableProperty,
    TablePropertyKind, TypeParameter,
};

impl Display for TypeParameter {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.name.fmt(formatter)
    }
}

impl Display for Parameter {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        for annotation in &self.annotations {
            write!(formatter, "{annotation} ")?;
        }
        let direction = self.direction.as_str();
        let gap = if direction.is_empty() { "" } else { " " };
        write!(formatter, "{direction}{gap}{} {}", self.ty, self.name)?;
        match &self.default {
            Some(default) => write!(formatter, " = {default}"),
            None => Ok(()),
        }
    }
}

impl Display for EnumMember {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        for annotation in &self.annotations {
            write!(formatter, "{annotation} ")?;
        }
        match &self.value {
            Some(value) => write!(formatter, "{} = {value}", self.name),
            None => self.name.fmt(formatter),
        }
    }
}

impl Display for ActionReference {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        for annotation in &self.annotations {
            write!(formatter, "{annotation} ")?;
        }
        match &self.arguments {
            Some(arguments) => write!(formatter, "{}({})", self.action, Commas(arguments)),
            None => self.action.fmt(formatter),
        }
    }
}

impl Display for KeyElement {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.expression, self.match_kind)?;
        self.annotations.iter().try_for_each(|annotation| write!(formatter, " {annotation}"))
    }
}

impl Display for Entry {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        if self.is_const {
            formatter.write_str("const ")?;
        }
        if let Some(priority) = &self.priority {
            match priority.kind {
                crate::ast::ExpressionKind::Integer(_) => {
                    write!(formatter, "priority = {priority}: ")?
                }
                _ => write!(formatter, "priority = ({priority}): ")?,
            }
        }
        write!(formatter, "{}: {}", self.keyset, self.action)?;
        self.annotations.iter().try_for_each(|annotation| write!(formatter, " {annotation}"))
    }
}

/// A list of type parameters, formatted as `<T, U>`, or as nothing if it is empty.
struct TypeParameters<'tree>(&'tree [TypeParameter]);

impl Display for TypeParameters<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(formatter, "<{}>", Commas(self.0)) }
    }
}

/// The signature of a function: its return type, name and parameters.
struct Signature<'tree, N>(&'tree FunctionPrototype, N);

impl<N: Display> Display for Signature<'_, N> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let Self(prototype, name) = self;
        write!(
            formatter,
            "{} {name}{}({})",
            prototype.return_type,
            TypeParameters(&prototype.type_parameters),
            Commas(&prototype.parameters)
        )
    }
}

impl Printer {
    /// Prints a declaration on its own lines.
    pub(super) fn declaration(&mut self, declaration: &Declaration) {
        self.start();
        self.declaration_inline(declaration);
        self.out.push('\n');
    }

    /// Prints a declaration in the current line, without ending the line.
    pub(super) fn declaration_inline(&mut self, declaration: &Declaration) {
        let name = &declaration.name;
        // `variable_head` prints the annotations of a variable.
        if !matches!(declaration.kind, DeclarationKind::Variable { .. }) {
            self.annotations(&declaration.annotations);
        }
        match &declaration.kind {
            DeclarationKind::Constant { ty, value } => {
                self.add(format_args!("const {ty} {name} = {value};"))
            }
            DeclarationKind::Variable { .. } => {
                self.variable_head(declaration);
                self.out.push(';');
            }
            DeclarationKind::Instantiation(instance) => self.instance(name, instance),
            DeclarationKind::Error(members) => self.members(format_args!("error "), members),
            DeclarationKind::MatchKind(members) => {
                self.members(format_args!("match_kind "), members)
            }
            DeclarationKind::ExternObject(object) => self.extern_object(name, object),
            DeclarationKind::ExternFunction(prototype) => {
                self.add(format_args!("extern {};", Signature(prototype, name)));
            }
            DeclarationKind::Function { prototype, body } => {
                self.add(format_args!("{} ", Signature(prototype, name)));
                self.block(body);
            }
            DeclarationKind::Action { parameters, body } => {
                self.add(format_args!("action {name}({}) ", Commas(parameters)));
                self.block(body);
            }
            DeclarationKind::Parser(parser) => {
                self.head("parser", name, &parser.type_parameters, &parser.parameters);
                self.constructor_parameters(&parser.constructor_parameters);
                self.out.push(' ');
                self.open();
                for local in &parser.locals {
                    self.declaration(local);
                }
                for state in &parser.states {
                    self.state(state);
                }
                self.close();
            }
            DeclarationKind::ParserType(parser) => {
                self.head("parser", name, &parser.type_parameters, &parser.parameters);
                self.out.push(';');
            }
            DeclarationKind::Control(control) => {
                self.head("control", name, &control.type_parameters, &control.parameters);
                self.constructor_parameters(&control.constructor_parameters);
                self.out.push(' ');
                self.open();
                for local in &control.locals {
                    self.declaration(local);
                }
                self.start();
                self.out.push_str("apply ");
                self.block(&control.apply);
                self.out.push('\n');
                self.close();
            }
            DeclarationKind::ControlType(control) => {
                self.head("control", name, &control.type_parameters, &control.parameters);
                self.out.push(';');
            }
            DeclarationKind::Package(package) => {
                self.head("package", name, &package.type_parameters, &package.parameters);
                self.out.push(';');
            }
            DeclarationKind::Header { type_parameters, fields } => {
                self.fields("header", name, type_parameters, fields);
            }
            DeclarationKind::HeaderUnion { type_parameters, fields } => {
                self.fields("header_union", name, type_parameters, fields);
            }
            DeclarationKind::Struct { type_parameters, fields } => {
                self.fields("struct", name, type_parameters, fields);
            }
            DeclarationKind::Enum { underlying: None, members } => {
                self.members(format_args!("enum {name} "), members);
            }
            DeclarationKind::Enum { underlying: Some(ty), members } => {
                self.members(format_args!("enum {ty} {name} "), members);
            }
            DeclarationKind::Typedef(ty) => self.add(format_args!("typedef {ty} {name};")),
            DeclarationKind::NewType(ty) => self.add(format_args!("type {ty} {name};")),
            DeclarationKind::Table(table) => self.table(name, table),
            DeclarationKind::ValueSet(set) => {
                self.add(format_args!("value_set<{}>({}) {name};", set.element, set.size));
            }
        }
    }

    /// Prints a variable with its annotations and its initial value, without a semicolon.
    pub(super) fn variable_head(&mut self, declaration: &Declaration) {
        self.annotations(&declaration.annotations);
        if let DeclarationKind::Variable { ty, initial } = &declaration.kind {
            self.add(format_args!("{ty} {}", declaration.name));
            if let Some(initial) = initial {
                self.add(format_args!(" = {initial}"));
            }
        }
    }

    fn head(
        &mut self,
        keyword: &str,
        name: impl Display,
        types: &[TypeParameter],
        parameters: &[Parameter],
    ) {
        self.add(format_args!("{keyword} {name}{}({})", TypeParameters(types), Commas(parameters)));
    }

    fn constructor_parameters(&mut self, parameters: &[Parameter]) {
        if !parameters.is_empty() {
            self.add(format_args!("({})", Commas(parameters)));
        }
    }

    fn instance(&mut self, name: impl Display, instance: &Instantiation) {
        self.add(format_args!("{}({}) {name}", instance.ty, Commas(&instance.arguments)));
        if let Some(initializer) = &instance.initializer {
            self.out.push_str(" = ");
            self.open();
            for declaration in initializer {
                self.declaration(declaration);
            }
            self.close();
        }
        self.out.push(';');
    }

    fn members(&mut self, head: fmt::Arguments<'_>, members: &[EnumMember]) {
        self.add(head);
        self.open();
        for (index, member) in members.iter().enumerate() {
            let comma = if index + 1 < members.len() { "," } else { "" };
            self.line(&format!("{member}{comma}"));
        }
        self.close();
    }

    fn fields(
        &mut self,
        keyword: &str,
        name: impl Display,
        types: &[TypeParameter],
        fields: &[StructField],
    ) {
        self.add(format_args!("{keyword} {name}{} ", TypeParameters(types)));
        self.open();
        for field in fields {
            self.start();
            self.annotations(&field.annotations);
            self.add(format_args!("{} {};\n", field.ty, field.name));
        }
        self.close();
    }

    fn extern_object(&mut self, name: impl Display, object: &ExternObject) {
        self.add(format_args!("extern {name}{} ", TypeParameters(&object.type_parameters)));
        self.open();
        for constructor in &object.constructors {
            self.start();
            self.annotations(&constructor.annotations);
            self.add(format_args!("{name}({});\n", Commas(&constructor.parameters)));
        }
        for method in &object.methods {
            self.start();
            self.annotations(&method.annotations);
            let prefix = if method.is_abstract { "abstract " } else { "" };
            self.add(format_args!("{prefix}{};\n", Signature(&method.prototype, &method.name)));
        }
        self.close();
    }

    fn table(&mut self, name: impl Display, table: &Table) {
        self.add(format_args!("table {name} "));
        self.open();
        for property in &table.properties {
            self.property(property);
        }
        self.close();
    }

    fn property(&mut self, property: &TableProperty) {
        self.start();
        self.annotations(&property.annotations);
        if property.is_const {
            self.out.push_str("const ");
        }
        self.add(format_args!("{} = ", property.name));
        match &property.kind {
            TablePropertyKind::Key(elements) => self.lines(elements),
            TablePropertyKind::Actions(actions) => self.lines(actions),
            TablePropertyKind::Entries(entries) => self.lines(entries),
            TablePropertyKind::Value(value) => self.add(format_args!("{value};\n")),
        }
    }

    fn lines<T: Display>(&mut self, items: &[T]) {
        self.open();
        for item in items {
            self.line(&format!("{item};"));
        }
        self.close();
        self.out.push('\n');
    }
}
