//! Declarations (§11 to §14).

use super::{
    Annotation, Argument, Block, DeclarationId, Direction, Expression, Name, ParserState, Type,
};
use crate::source::Span;

/// A declaration.
#[derive(Debug, Clone)]
pub struct Declaration {
    /// Its number.
    pub id: DeclarationId,
    /// Where it stands, annotations left out.
    pub span: Span,
    /// Annotations before it.
    pub annotations: Vec<Annotation>,
    /// What it declares; `error` and `match_kind` for the declarations of their members.
    pub name: Name,
    /// Which declaration.
    pub kind: DeclarationKind,
}

impl Declaration {
    /// The annotation of this name; the last one counts where there are several.
    pub fn annotation(&self, name: &str) -> Option<&Annotation> {
        super::annotation::find(&self.annotations, name)
    }
}

/// Which declaration.
#[derive(Debug, Clone)]
pub enum DeclarationKind {
    /// `const T name = value;`.
    Constant {
        /// Its type.
        ty: Type,
        /// Its value.
        value: Expression,
    },
    /// `T name;` or `T name = value;`.
    Variable {
        /// Its type.
        ty: Type,
        /// Its first value.
        initial: Option<Expression>,
    },
    /// `T(arguments) name;`.
    Instantiation(Instantiation),
    /// `error { ... }`.
    Error(Vec<EnumMember>),
    /// `match_kind { ... }`.
    MatchKind(Vec<EnumMember>),
    /// `extern Name { ... }`.
    ExternObject(ExternObject),
    /// `extern T name(...);`.
    ExternFunction(FunctionPrototype),
    /// `T name(...) { ... }`.
    Function {
        /// Its signature.
        prototype: FunctionPrototype,
        /// Its body.
        body: Block,
    },
    /// `action name(...) { ... }`.
    Action {
        /// Its parameters; those without direction come last and from the control plane.
        parameters: Vec<Parameter>,
        /// Its body.
        body: Block,
    },
    /// `parser name(...) { ... }`.
    Parser(ParserDeclaration),
    /// `parser name(...);`.
    ParserType(ParserType),
    /// `control name(...) { ... }`.
    Control(Control),
    /// `control name(...);`.
    ControlType(ControlType),
    /// `package name(...);`.
    Package(Package),
    /// `header name { ... }`.
    Header {
        /// Type parameters.
        type_parameters: Vec<TypeParameter>,
        /// Fields.
        fields: Vec<StructField>,
    },
    /// `header_union name { ... }`.
    HeaderUnion {
        /// Type parameters.
        type_parameters: Vec<TypeParameter>,
        /// Fields.
        fields: Vec<StructField>,
    },
    /// `struct name { ... }`.
    Struct {
        /// Type parameters.
        type_parameters: Vec<TypeParameter>,
        /// Fields.
        fields: Vec<StructField>,
    },
    /// `enum name { ... }`, or with a representation, `enum bit<8> name { ... }`.
    Enum {
        /// The type that represents the members.
        underlying: Option<Type>,
        /// The members.
        members: Vec<EnumMember>,
    },
    /// `typedef T name;`: another name for the same type.
    Typedef(Type),
    /// `type T name;`: a new type.
    NewType(Type),
    /// `table name { ... }`, in a control.
    Table(Table),
    /// `value_set<T>(size) name;`, in a parser.
    ValueSet(ValueSet),
}

impl DeclarationKind {
    /// What to call it in a message: `constant`, `header`, `parser` ...
    pub fn noun(&self) -> &'static str {
        match self {
            Self::Constant { .. } => "constant",
            Self::Variable { .. } => "variable",
            Self::Instantiation(_) => "instance",
            Self::Error(_) => "error declaration",
            Self::MatchKind(_) => "match_kind declaration",
            Self::ExternObject(_) => "extern",
            Self::ExternFunction(_) => "extern function",
            Self::Function { .. } => "function",
            Self::Action { .. } => "action",
            Self::Parser(_) => "parser",
            Self::ParserType(_) => "parser type",
            Self::Control(_) => "control",
            Self::ControlType(_) => "control type",
            Self::Package(_) => "package",
            Self::Header { .. } => "header",
            Self::HeaderUnion { .. } => "header union",
            Self::Struct { .. } => "struct",
            Self::Enum { .. } => "enum",
            Self::Typedef(_) => "typedef",
            Self::NewType(_) => "type",
            Self::Table(_) => "table",
            Self::ValueSet(_) => "value set",
        }
    }
}

/// An instance of an extern, a parser, a control or a package (§11.3).
#[derive(Debug, Clone)]
pub struct Instantiation {
    /// What is instantiated.
    pub ty: Type,
    /// Constructor arguments.
    pub arguments: Vec<Argument>,
    /// The block after `=`: functions that implement abstract methods, and instances.
    pub initializer: Option<Vec<Declaration>>,
}

/// A member of an enum, of `error` or of `match_kind`.
#[derive(Debug, Clone)]
pub struct EnumMember {
    /// Its number.
    pub id: DeclarationId,
    /// Annotations before it.
    pub annotations: Vec<Annotation>,
    /// Its name.
    pub name: Name,
    /// Its value, in an enum with a representation.
    pub value: Option<Expression>,
}

/// A field of a struct, header or header union.
#[derive(Debug, Clone)]
pub struct StructField {
    /// Its number.
    pub id: DeclarationId,
    /// Where it stands, annotations left out.
    pub span: Span,
    /// Annotations before it.
    pub annotations: Vec<Annotation>,
    /// Its type.
    pub ty: Type,
    /// Its name.
    pub name: Name,
}

impl StructField {
    /// The annotation of this name; the last one counts where there are several.
    pub fn annotation(&self, name: &str) -> Option<&Annotation> {
        super::annotation::find(&self.annotations, name)
    }
}

/// A type parameter.
#[derive(Debug, Clone)]
pub struct TypeParameter {
    /// Its number.
    pub id: DeclarationId,
    /// Its name.
    pub name: Name,
}

/// A parameter.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Its number.
    pub id: DeclarationId,
    /// Where it stands, annotations left out.
    pub span: Span,
    /// Annotations before it.
    pub annotations: Vec<Annotation>,
    /// Its direction.
    pub direction: Direction,
    /// Its type.
    pub ty: Type,
    /// Its name.
    pub name: Name,
    /// Its value where the caller gives none.
    pub default: Option<Expression>,
}

impl Parameter {
    /// The annotation of this name; the last one counts where there are several.
    pub fn annotation(&self, name: &str) -> Option<&Annotation> {
        super::annotation::find(&self.annotations, name)
    }
}

/// The signature of a function; its name is the declaration's.
#[derive(Debug, Clone)]
pub struct FunctionPrototype {
    /// What it returns; `void`, or a name that may be one of the type parameters.
    pub return_type: Type,
    /// Type parameters.
    pub type_parameters: Vec<TypeParameter>,
    /// Parameters.
    pub parameters: Vec<Parameter>,
}

/// `extern Name { ... }`.
#[derive(Debug, Clone)]
pub struct ExternObject {
    /// Type parameters.
    pub type_parameters: Vec<TypeParameter>,
    /// Constructors: the prototypes that carry the extern's own name.
    pub constructors: Vec<Constructor>,
    /// Methods.
    pub methods: Vec<Method>,
}

/// A constructor of an extern.
#[derive(Debug, Clone)]
pub struct Constructor {
    /// Its number.
    pub id: DeclarationId,
    /// Where it stands.
    pub span: Span,
    /// Annotations before it.
    pub annotations: Vec<Annotation>,
    /// Parameters.
    pub parameters: Vec<Parameter>,
}

/// A method of an extern.
#[derive(Debug, Clone)]
pub struct Method {
    /// Its number.
    pub id: DeclarationId,
    /// Where it stands.
    pub span: Span,
    /// Annotations before it.
    pub annotations: Vec<Annotation>,
    /// Whether the user implements it.
    pub is_abstract: bool,
    /// Its name.
    pub name: Name,
    /// Its signature.
    pub prototype: FunctionPrototype,
}

/// `parser name<T>(parameters)(constructor parameters) { ... }`.
#[derive(Debug, Clone)]
pub struct ParserDeclaration {
    /// Type parameters.
    pub type_parameters: Vec<TypeParameter>,
    /// Parameters of `apply`.
    pub parameters: Vec<Parameter>,
    /// Parameters of the constructor.
    pub constructor_parameters: Vec<Parameter>,
    /// Constants, variables, instances and value sets.
    pub locals: Vec<Declaration>,
    /// States, at least one.
    pub states: Vec<ParserState>,
}

/// `parser name<T>(parameters);`.
#[derive(Debug, Clone)]
pub struct ParserType {
    /// Type parameters.
    pub type_parameters: Vec<TypeParameter>,
    /// Parameters of `apply`.
    pub parameters: Vec<Parameter>,
}

/// `control name<T>(parameters)(constructor parameters) { ... }`.
#[derive(Debug, Clone)]
pub struct Control {
    /// Type parameters.
    pub type_parameters: Vec<TypeParameter>,
    /// Parameters of `apply`.
    pub parameters: Vec<Parameter>,
    /// Parameters of the constructor.
    pub constructor_parameters: Vec<Parameter>,
    /// Constants, variables, instances, actions and tables.
    pub locals: Vec<Declaration>,
    /// The `apply` block.
    pub apply: Block,
}

/// `control name<T>(parameters);`.
#[derive(Debug, Clone)]
pub struct ControlType {
    /// Type parameters.
    pub type_parameters: Vec<TypeParameter>,
    /// Parameters of `apply`.
    pub parameters: Vec<Parameter>,
}

/// `package name<T>(parameters);`.
#[derive(Debug, Clone)]
pub struct Package {
    /// Type parameters.
    pub type_parameters: Vec<TypeParameter>,
    /// Parameters of the constructor.
    pub parameters: Vec<Parameter>,
}

/// `value_set<T>(size) name;`.
#[derive(Debug, Clone)]
pub struct ValueSet {
    /// What it holds.
    pub element: Type,
    /// How many of them.
    pub size: Expression,
}

/// `table name { ... }`.
#[derive(Debug, Clone)]
pub struct Table {
    /// The properties, in order.
    pub properties: Vec<TableProperty>,
}

impl Table {
    /// The property of this name.
    pub fn property(&self, name: &str) -> Option<&TableProperty> {
        self.properties.iter().find(|property| property.name.as_str() == name)
    }

    /// The elements of `key`; `None` without one.
    pub fn key(&self) -> Option<&[KeyElement]> {
        self.properties.iter().find_map(|property| match &property.kind {
            TablePropertyKind::Key(elements) => Some(elements.as_slice()),
            _ => None,
        })
    }

    /// The elements of `actions`; `None` without one.
    pub fn actions(&self) -> Option<&[ActionReference]> {
        self.properties.iter().find_map(|property| match &property.kind {
            TablePropertyKind::Actions(actions) => Some(actions.as_slice()),
            _ => None,
        })
    }
}

/// A property of a table (§14.2.1).
#[derive(Debug, Clone)]
pub struct TableProperty {
    /// Where it stands, annotations left out.
    pub span: Span,
    /// Annotations before it.
    pub annotations: Vec<Annotation>,
    /// Whether it is `const`.
    pub is_const: bool,
    /// `key`, `actions`, `entries`, `default_action`, `size`, or a name of the architecture.
    pub name: Name,
    /// What it says.
    pub kind: TablePropertyKind,
}

/// What a property of a table says.
#[derive(Debug, Clone)]
pub enum TablePropertyKind {
    /// `key = { ... }`.
    Key(Vec<KeyElement>),
    /// `actions = { ... }`.
    Actions(Vec<ActionReference>),
    /// `entries = { ... }`.
    Entries(Vec<Entry>),
    /// Any other: `name = value;`. The value of `default_action` is a path or a call.
    Value(Expression),
}

/// `expression: match_kind;`.
#[derive(Debug, Clone)]
pub struct KeyElement {
    /// Where it stands.
    pub span: Span,
    /// Annotations, which stand behind the match kind.
    pub annotations: Vec<Annotation>,
    /// What is looked up.
    pub expression: Expression,
    /// How it matches.
    pub match_kind: Name,
}

impl KeyElement {
    /// The annotation of this name; the last one counts where there are several.
    pub fn annotation(&self, name: &str) -> Option<&Annotation> {
        super::annotation::find(&self.annotations, name)
    }
}

/// An action in a table's `actions` or in an entry.
#[derive(Debug, Clone)]
pub struct ActionReference {
    /// Where it stands.
    pub span: Span,
    /// Annotations before it: `@tableonly`, `@defaultonly`.
    pub annotations: Vec<Annotation>,
    /// The action: always an [`super::ExpressionKind::Path`].
    pub action: Expression,
    /// Arguments, where parentheses were written.
    pub arguments: Option<Vec<Argument>>,
}

/// An entry in a table's `entries`.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Where it stands.
    pub span: Span,
    /// Annotations, which stand behind the action.
    pub annotations: Vec<Annotation>,
    /// Whether it is `const`.
    pub is_const: bool,
    /// `priority = ...:`.
    pub priority: Option<Expression>,
    /// What it matches: a [`super::ExpressionKind::TupleKeyset`] where there are several key elements.
    pub keyset: Expression,
    /// What it runs.
    pub action: ActionReference,
}
