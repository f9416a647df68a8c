//! Declarations (P4_16 §11 to §14), among them tables.

use super::{
    Annotation, Argument, Block, DeclarationId, Direction, Expression, Name, ParserState, Type,
};
use crate::source::Span;

/// A declaration.
#[derive(Debug, Clone)]
pub struct Declaration {
    /// The id of the declaration, which is unique in its program.
    pub id: DeclarationId,
    /// The location of the declaration, without its annotations.
    pub span: Span,
    /// The annotations before the declaration.
    pub annotations: Vec<Annotation>,
    /// The declared name. For a declaration of errors or match kinds, it is `error` or
    /// `match_kind`.
    pub name: Name,
    /// The kind of declaration.
    pub kind: DeclarationKind,
}

impl Declaration {
    /// Returns the last annotation of the declaration that is called `name`, or `None` if it has
    /// none.
    pub fn annotation(&self, name: &str) -> Option<&Annotation> {
        super::annotation::find(&self.annotations, name)
    }
}

/// The kind of a declaration.
#[derive(Debug, Clone)]
pub enum DeclarationKind {
    /// `const T name = value;`.
    Constant {
        /// The type of the constant.
        ty: Type,
        /// The value of the constant.
        value: Expression,
    },
    /// `T name;` or `T name = value;`.
    Variable {
        /// The type of the variable.
        ty: Type,
        /// The initial value of the variable, or `None` if it has none.
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
        /// The signature of the function.
        prototype: FunctionPrototype,
        /// The body of the function.
        body: Block,
    },
    /// `action name(...) { ... }`.
    Action {
        /// The parameters of the action. The control plane sets those without a direction, which
        /// come last.
        parameters: Vec<Parameter>,
        /// The body of the action.
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
        /// The type parameters of the header.
        type_parameters: Vec<TypeParameter>,
        /// The fields of the header.
        fields: Vec<StructField>,
    },
    /// `header_union name { ... }`.
    HeaderUnion {
        /// The type parameters of the header union.
        type_parameters: Vec<TypeParameter>,
        /// The fields of the header union.
        fields: Vec<StructField>,
    },
    /// `struct name { ... }`.
    Struct {
        /// The type parameters of the struct.
        type_parameters: Vec<TypeParameter>,
        /// The fields of the struct.
        fields: Vec<StructField>,
    },
    /// `enum name { ... }`, or with an underlying type, `enum bit<8> name { ... }`.
    Enum {
        /// The underlying type of a serializable enumeration, or `None` for other enumerations.
        underlying: Option<Type>,
        /// The members of the enumeration.
        members: Vec<EnumMember>,
    },
    /// `typedef T name;`: an alias of a type.
    Typedef(Type),
    /// `type T name;`: a new type.
    NewType(Type),
    /// `table name { ... }`, in a control.
    Table(Table),
    /// `value_set<T>(size) name;`, in a parser.
    ValueSet(ValueSet),
}

impl DeclarationKind {
    /// Returns the word for declarations of this kind in messages, such as `constant`, `header` or
    /// `parser`.
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

/// An instantiation of an extern, a parser, a control or a package (§11.3).
#[derive(Debug, Clone)]
pub struct Instantiation {
    /// The type that is instantiated.
    pub ty: Type,
    /// The constructor arguments of the instance.
    pub arguments: Vec<Argument>,
    /// The initializer block after `=`. It contains implementations of the extern's abstract
    /// methods, and instantiations.
    pub initializer: Option<Vec<Declaration>>,
}

/// A member of an enumeration, of `error` or of `match_kind`.
#[derive(Debug, Clone)]
pub struct EnumMember {
    /// The id of the member, which is unique in its program.
    pub id: DeclarationId,
    /// The annotations before the member.
    pub annotations: Vec<Annotation>,
    /// The name of the member.
    pub name: Name,
    /// The value of the member, or `None` if the enumeration is not serializable.
    pub value: Option<Expression>,
}

/// A field of a struct, header or header union.
#[derive(Debug, Clone)]
pub struct StructField {
    /// The id of the field, which is unique in its program.
    pub id: DeclarationId,
    /// The location of the field, without its annotations.
    pub span: Span,
    /// The annotations before the field.
    pub annotations: Vec<Annotation>,
    /// The type of the field.
    pub ty: Type,
    /// The name of the field.
    pub name: Name,
}

impl StructField {
    /// Returns the last annotation of the field that is called `name`, or `None` if it has none.
    pub fn annotation(&self, name: &str) -> Option<&Annotation> {
        super::annotation::find(&self.annotations, name)
    }
}

/// A type parameter.
#[derive(Debug, Clone)]
pub struct TypeParameter {
    /// The id of the type parameter, which is unique in its program.
    pub id: DeclarationId,
    /// The name of the type parameter.
    pub name: Name,
}

/// A parameter of an action, a function, a method, a constructor, a parser, a control or a package.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// The id of the parameter, which is unique in its program.
    pub id: DeclarationId,
    /// The location of the parameter, without its annotations.
    pub span: Span,
    /// The annotations before the parameter.
    pub annotations: Vec<Annotation>,
    /// The direction of the parameter.
    pub direction: Direction,
    /// The type of the parameter.
    pub ty: Type,
    /// The name of the parameter.
    pub name: Name,
    /// The default value, which is used if the call has no argument for the parameter.
    pub default: Option<Expression>,
}

impl Parameter {
    /// Returns the last annotation of the parameter that is called `name`, or `None` if it has
    /// none.
    pub fn annotation(&self, name: &str) -> Option<&Annotation> {
        super::annotation::find(&self.annotations, name)
    }
}

/// The signature of a function. The name of the function is that of its declaration.
#[derive(Debug, Clone)]
pub struct FunctionPrototype {
    /// The return type: `void`, or a type that may be one of the type parameters.
    pub return_type: Type,
    /// The type parameters of the function.
    pub type_parameters: Vec<TypeParameter>,
    /// The parameters of the function.
    pub parameters: Vec<Parameter>,
}

/// `extern Name { ... }`.
#[derive(Debug, Clone)]
pub struct ExternObject {
    /// The type parameters of the extern.
    pub type_parameters: Vec<TypeParameter>,
    /// The constructors: the prototypes with the name of the extern itself.
    pub constructors: Vec<Constructor>,
    /// The methods of the extern.
    pub methods: Vec<Method>,
}

/// A constructor of an extern.
#[derive(Debug, Clone)]
pub struct Constructor {
    /// The id of the constructor, which is unique in its program.
    pub id: DeclarationId,
    /// The location of the constructor.
    pub span: Span,
    /// The annotations before the constructor.
    pub annotations: Vec<Annotation>,
    /// The parameters of the constructor.
    pub parameters: Vec<Parameter>,
}

/// A method of an extern.
#[derive(Debug, Clone)]
pub struct Method {
    /// The id of the method, which is unique in its program.
    pub id: DeclarationId,
    /// The location of the method.
    pub span: Span,
    /// The annotations before the method.
    pub annotations: Vec<Annotation>,
    /// Whether the method is `abstract`: an instance must implement it in its initializer block.
    pub is_abstract: bool,
    /// The name of the method.
    pub name: Name,
    /// The signature of the method.
    pub prototype: FunctionPrototype,
}

/// `parser name<T>(parameters)(constructor parameters) { ... }`.
#[derive(Debug, Clone)]
pub struct ParserDeclaration {
    /// The type parameters of the parser.
    pub type_parameters: Vec<TypeParameter>,
    /// The parameters of `apply`.
    pub parameters: Vec<Parameter>,
    /// The constructor parameters of the parser.
    pub constructor_parameters: Vec<Parameter>,
    /// The local constants, variables, instances and value sets.
    pub locals: Vec<Declaration>,
    /// The states, of which there is at least one.
    pub states: Vec<ParserState>,
}

/// `parser name<T>(parameters);`.
#[derive(Debug, Clone)]
pub struct ParserType {
    /// The type parameters of the parser type.
    pub type_parameters: Vec<TypeParameter>,
    /// The parameters of `apply`.
    pub parameters: Vec<Parameter>,
}

/// `control name<T>(parameters)(constructor parameters) { ... }`.
#[derive(Debug, Clone)]
pub struct Control {
    /// The type parameters of the control.
    pub type_parameters: Vec<TypeParameter>,
    /// The parameters of `apply`.
    pub parameters: Vec<Parameter>,
    /// The constructor parameters of the control.
    pub constructor_parameters: Vec<Parameter>,
    /// The local constants, variables, instances, actions and tables.
    pub locals: Vec<Declaration>,
    /// The `apply` block.
    pub apply: Block,
}

/// `control name<T>(parameters);`.
#[derive(Debug, Clone)]
pub struct ControlType {
    /// The type parameters of the control type.
    pub type_parameters: Vec<TypeParameter>,
    /// The parameters of `apply`.
    pub parameters: Vec<Parameter>,
}

/// `package name<T>(parameters);`.
#[derive(Debug, Clone)]
pub struct Package {
    /// The type parameters of the package.
    pub type_parameters: Vec<TypeParameter>,
    /// The constructor parameters of the package.
    pub parameters: Vec<Parameter>,
}

/// `value_set<T>(size) name;`.
#[derive(Debug, Clone)]
pub struct ValueSet {
    /// The type of an element.
    pub element: Type,
    /// The number of elements.
    pub size: Expression,
}

/// `table name { ... }`.
#[derive(Debug, Clone)]
pub struct Table {
    /// The properties of the table, in source order.
    pub properties: Vec<TableProperty>,
}

impl Table {
    /// Returns the property called `name`, or `None` if the table has no such property.
    pub fn property(&self, name: &str) -> Option<&TableProperty> {
        self.properties.iter().find(|property| property.name.as_str() == name)
    }

    /// Returns the elements of the property `key`, or `None` if the table has no such property.
    pub fn key(&self) -> Option<&[KeyElement]> {
        self.properties.iter().find_map(|property| match &property.kind {
            TablePropertyKind::Key(elements) => Some(elements.as_slice()),
            _ => None,
        })
    }

    /// Returns the elements of the property `actions`, or `None` if the table has no such property.
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
    /// The location of the property, without its annotations.
    pub span: Span,
    /// The annotations before the property.
    pub annotations: Vec<Annotation>,
    /// Whether the property is `const`.
    pub is_const: bool,
    /// The name of the property: `key`, `actions`, `entries`, `default_action`, `size`, or one that
    /// the architecture defines.
    pub name: Name,
    /// The value of the property.
    pub kind: TablePropertyKind,
}

/// The value of a table property.
#[derive(Debug, Clone)]
pub enum TablePropertyKind {
    /// `key = { ... }`.
    Key(Vec<KeyElement>),
    /// `actions = { ... }`.
    Actions(Vec<ActionReference>),
    /// `entries = { ... }`.
    Entries(Vec<Entry>),
    /// Any other property, `name = value;`. The value of `default_action` is a path or a call.
    Value(Expression),
}

/// A key element of a table, `expression: match_kind;`.
#[derive(Debug, Clone)]
pub struct KeyElement {
    /// The location of the key element.
    pub span: Span,
    /// The annotations, which follow the match kind.
    pub annotations: Vec<Annotation>,
    /// The expression whose value is looked up.
    pub expression: Expression,
    /// The match kind of the key.
    pub match_kind: Name,
}

impl KeyElement {
    /// Returns the last annotation of the key element that is called `name`, or `None` if it has
    /// none.
    pub fn annotation(&self, name: &str) -> Option<&Annotation> {
        super::annotation::find(&self.annotations, name)
    }
}

/// An action in a table's `actions`, or the action of a table entry.
#[derive(Debug, Clone)]
pub struct ActionReference {
    /// The location of the reference.
    pub span: Span,
    /// The annotations before the reference, such as `@tableonly` and `@defaultonly`.
    pub annotations: Vec<Annotation>,
    /// The action, which is always an [`super::ExpressionKind::Path`].
    pub action: Expression,
    /// The arguments, or `None` if there are no parentheses.
    pub arguments: Option<Vec<Argument>>,
}

/// An entry in a table's `entries`.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The location of the entry.
    pub span: Span,
    /// The annotations, which follow the action.
    pub annotations: Vec<Annotation>,
    /// Whether the entry is `const`.
    pub is_const: bool,
    /// The value of the prefix `priority = value:` of the entry, or `None` if it has no such
    /// prefix.
    pub priority: Option<Expression>,
    /// The key set of the entry. It is an [`super::ExpressionKind::TupleKeyset`] if the table has
    /// several key elements.
    pub keyset: Expression,
    /// The action of the entry.
    pub action: ActionReference,
}
