//! An index of a program's declarations by their [`DeclarationId`]s.

use crate::ast::{
    Block, Constructor, Declaration, DeclarationId, DeclarationKind, EnumMember, Method, Name,
    Parameter, ParserState, Program, Statement, StatementKind, StructField, TypeParameter,
};
use crate::source::Span;

/// A node of the syntax tree that has a [`DeclarationId`].
#[derive(Debug, Clone, Copy)]
pub enum Node<'program> {
    /// A declaration.
    Declaration(&'program Declaration),
    /// A parameter.
    Parameter(&'program Parameter),
    /// A type parameter.
    TypeParameter(&'program TypeParameter),
    /// A field of a struct, header or header union.
    Field(&'program StructField),
    /// A member of an enumeration, of `error` or of `match_kind`.
    EnumMember(&'program EnumMember),
    /// A method of an extern.
    Method(&'program Method),
    /// A constructor of an extern.
    Constructor(&'program Constructor),
    /// A parser state.
    State(&'program ParserState),
}

impl<'program> Node<'program> {
    /// Returns the name of the node, or `None` for a constructor, which has the name of its extern.
    pub fn name(self) -> Option<&'program Name> {
        match self {
            Self::Declaration(node) => Some(&node.name),
            Self::Parameter(node) => Some(&node.name),
            Self::TypeParameter(node) => Some(&node.name),
            Self::Field(node) => Some(&node.name),
            Self::EnumMember(node) => Some(&node.name),
            Self::Method(node) => Some(&node.name),
            Self::State(node) => Some(&node.name),
            Self::Constructor(_) => None,
        }
    }

    /// Returns the location of the node's name, or of the whole node for a constructor.
    pub fn span(self) -> Span {
        match self {
            Self::Constructor(node) => node.span,
            _ => self.name().map_or_else(Span::nowhere, |name| name.span),
        }
    }

    /// Returns the annotations of the node.
    pub fn annotations(self) -> &'program [crate::ast::Annotation] {
        match self {
            Self::Declaration(node) => &node.annotations,
            Self::Parameter(node) => &node.annotations,
            Self::TypeParameter(_) => &[],
            Self::Field(node) => &node.annotations,
            Self::EnumMember(node) => &node.annotations,
            Self::Method(node) => &node.annotations,
            Self::Constructor(node) => &node.annotations,
            Self::State(node) => &node.annotations,
        }
    }
}

/// An index of the nodes that have a [`DeclarationId`], and of the declarations that enclose them.
#[derive(Debug, Clone)]
pub struct Index<'program> {
    nodes: Vec<Option<(Node<'program>, Option<DeclarationId>)>>,
}

impl<'program> Index<'program> {
    /// Builds the index by traversing the whole program.
    pub fn new(program: &'program Program) -> Self {
        let mut index = Self { nodes: vec![None; program.declaration_count as usize] };
        for declaration in &program.declarations {
            index.declaration(declaration, None);
        }
        index
    }

    /// Returns the node with this id, or `None` if the program has no such node.
    pub fn get(&self, id: DeclarationId) -> Option<Node<'program>> {
        self.nodes.get(id.index()).copied().flatten().map(|(node, _)| node)
    }

    /// Returns the declaration with this id, or `None` if the node is not a declaration.
    pub fn get_declaration(&self, id: DeclarationId) -> Option<&'program Declaration> {
        match self.get(id) {
            Some(Node::Declaration(declaration)) => Some(declaration),
            _ => None,
        }
    }

    /// Returns the parameter with this id, or `None` if the node is not a parameter.
    pub fn get_parameter(&self, id: DeclarationId) -> Option<&'program Parameter> {
        match self.get(id) {
            Some(Node::Parameter(parameter)) => Some(parameter),
            _ => None,
        }
    }

    /// Returns the declaration that encloses a node, such as the control of a table, the extern of
    /// a method, the function of a parameter, or the enumeration of a member. Returns `None` for a
    /// node at top level. Blocks and loops are not declarations, so a variable inside them is
    /// enclosed by the function, action, control or state.
    pub fn parent(&self, id: DeclarationId) -> Option<DeclarationId> {
        self.nodes.get(id.index()).copied().flatten().and_then(|(_, parent)| parent)
    }

    fn insert(&mut self, id: DeclarationId, node: Node<'program>, parent: Option<DeclarationId>) {
        if let Some(place) = self.nodes.get_mut(id.index()) {
            *place = Some((node, parent));
        }
    }

    fn parameters(&mut self, parameters: &'program [Parameter], parent: DeclarationId) {
        for parameter in parameters {
            self.insert(parameter.id, Node::Parameter(parameter), Some(parent));
        }
    }

    fn type_parameters(&mut self, parameters: &'program [TypeParameter], parent: DeclarationId) {
        for parameter in parameters {
            self.insert(parameter.id, Node::TypeParameter(parameter), Some(parent));
        }
    }

    fn members(&mut self, members: &'program [EnumMember], parent: DeclarationId) {
        for member in members {
            self.insert(member.id, Node::EnumMember(member), Some(parent));
        }
    }

    fn fields(&mut self, fields: &'program [StructField], parent: DeclarationId) {
        for field in fields {
            self.insert(field.id, Node::Field(field), Some(parent));
        }
    }

    /// Adds a declaration and all declarations inside it to the index.
    fn declaration(&mut self, declaration: &'program Declaration, parent: Option<DeclarationId>) {
        let id = declaration.id;
        self.insert(id, Node::Declaration(declaration), parent);
        match &declaration.kind {
            DeclarationKind::Constant { .. }
            | DeclarationKind::Variable { .. }
            | DeclarationKind::Typedef(_)
            | DeclarationKind::NewType(_)
            | DeclarationKind::Table(_)
            | DeclarationKind::ValueSet(_) => {}
            DeclarationKind::Instantiation(instantiation) => {
                for inner in instantiation.initializer.iter().flatten() {
                    self.declaration(inner, Some(id));
                }
            }
            DeclarationKind::Error(members) | DeclarationKind::MatchKind(members) => {
                self.members(members, id);
            }
            DeclarationKind::Enum { members, .. } => self.members(members, id),
            DeclarationKind::ExternObject(object) => {
                self.type_parameters(&object.type_parameters, id);
                for constructor in &object.constructors {
                    self.insert(constructor.id, Node::Constructor(constructor), Some(id));
                    self.parameters(&constructor.parameters, constructor.id);
                }
                for method in &object.methods {
                    self.insert(method.id, Node::Method(method), Some(id));
                    self.type_parameters(&method.prototype.type_parameters, method.id);
                    self.parameters(&method.prototype.parameters, method.id);
                }
            }
            DeclarationKind::ExternFunction(prototype) => {
                self.type_parameters(&prototype.type_parameters, id);
                self.parameters(&prototype.parameters, id);
            }
            DeclarationKind::Function { prototype, body } => {
                self.type_parameters(&prototype.type_parameters, id);
                self.parameters(&prototype.parameters, id);
                self.block(body, id);
            }
            DeclarationKind::Action { parameters, body } => {
                self.parameters(parameters, id);
                self.block(body, id);
            }
            DeclarationKind::Parser(parser) => {
                self.type_parameters(&parser.type_parameters, id);
                self.parameters(&parser.parameters, id);
                self.parameters(&parser.constructor_parameters, id);
                for local in &parser.locals {
                    self.declaration(local, Some(id));
                }
                for state in &parser.states {
                    self.insert(state.id, Node::State(state), Some(id));
                    self.statements(&state.statements, state.id);
                }
            }
            DeclarationKind::ParserType(parser) => {
                self.type_parameters(&parser.type_parameters, id);
                self.parameters(&parser.parameters, id);
            }
            DeclarationKind::Control(control) => {
                self.type_parameters(&control.type_parameters, id);
                self.parameters(&control.parameters, id);
                self.parameters(&control.constructor_parameters, id);
                for local in &control.locals {
                    self.declaration(local, Some(id));
                }
                self.block(&control.apply, id);
            }
            DeclarationKind::ControlType(control) => {
                self.type_parameters(&control.type_parameters, id);
                self.parameters(&control.parameters, id);
            }
            DeclarationKind::Package(package) => {
                self.type_parameters(&package.type_parameters, id);
                self.parameters(&package.parameters, id);
            }
            DeclarationKind::Header { type_parameters, fields }
            | DeclarationKind::HeaderUnion { type_parameters, fields }
            | DeclarationKind::Struct { type_parameters, fields } => {
                self.type_parameters(type_parameters, id);
                self.fields(fields, id);
            }
        }
    }

    fn block(&mut self, block: &'program Block, parent: DeclarationId) {
        self.statements(&block.statements, parent);
    }

    fn statements(&mut self, statements: &'program [Statement], parent: DeclarationId) {
        for statement in statements {
            self.statement(statement, parent);
        }
    }

    /// Adds the declarations inside a statement to the index.
    fn statement(&mut self, statement: &'program Statement, parent: DeclarationId) {
        match &statement.kind {
            StatementKind::Declaration(declaration) => self.declaration(declaration, Some(parent)),
            StatementKind::Block(block) => self.block(block, parent),
            StatementKind::If { then, otherwise, .. } => {
                self.statement(then, parent);
                if let Some(otherwise) = otherwise {
                    self.statement(otherwise, parent);
                }
            }
            StatementKind::Switch { cases, .. } => {
                for body in cases.iter().filter_map(|case| case.body.as_ref()) {
                    self.block(body, parent);
                }
            }
            StatementKind::For { initial, update, body, .. } => {
                self.statements(initial, parent);
                self.statements(update, parent);
                self.statement(body, parent);
            }
            StatementKind::ForIn { variable, body, .. } => {
                self.declaration(variable, Some(parent));
                self.statement(body, parent);
            }
            StatementKind::Empty
            | StatementKind::Assign { .. }
            | StatementKind::Call(_)
            | StatementKind::DirectApplication { .. }
            | StatementKind::Return(_)
            | StatementKind::Exit
            | StatementKind::Break
            | StatementKind::Continue => {}
        }
    }
}
