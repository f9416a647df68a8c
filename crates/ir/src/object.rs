//! What the control plane sees: tables, actions, extern instances, value sets; and variables.

use super::{
    ActionId, Annotation, Block, ControlId, Expression, ExternId, ExternType, KeySet, Location,
    Parameter, TableId, TypeId, UserTypeId, Value, VariableId,
};
use serde::{Deserialize, Serialize};

/// A variable, parameter or temporary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variable {
    /// Name in the source, unique only within its block.
    pub name: String,
    /// Its type.
    pub type_id: TypeId,
}

/// Direction of a parameter (P4_16 specification, section 6.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Read by the callee.
    In,
    /// Written by the callee; on entry headers are invalid, all else unspecified (the reference
    /// gives zero).
    Out,
    /// Both.
    InOut,
}

impl Direction {
    /// As the source has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::Out => "out",
            Self::InOut => "inout",
        }
    }
}

/// A function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// Name in the source, with type arguments if it is generic.
    pub name: String,
    /// In order.
    pub parameters: Vec<Parameter>,
    /// `None` for `void`.
    pub return_type: Option<TypeId>,
    /// What it does.
    pub body: Block,
}

/// An action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Action {
    /// Name for the control plane, such as `MyIngress.forward`.
    pub name: String,
    /// Directional ones first, then those of the control plane.
    pub parameters: Vec<ActionParameter>,
    /// What it does.
    pub body: Block,
    /// Where it was declared.
    pub scope: ActionScope,
    /// In the source.
    pub location: Option<Location>,
    /// As written.
    pub annotations: Vec<Annotation>,
}

/// Where an action was declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionScope {
    /// At top level, as `NoAction`.
    Program,
    /// In a control instance.
    Control(ControlId),
}

impl Action {
    /// The parameters that the control plane gives with an entry.
    pub fn control_plane_parameters(&self) -> impl Iterator<Item = &ActionParameter> {
        self.parameters.iter().filter(|parameter| parameter.direction.is_none())
    }
}

/// A parameter of an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionParameter {
    /// Name in the source.
    pub name: String,
    /// Where it lives.
    pub variable: VariableId,
    /// `None`: the control plane gives it with the entry.
    pub direction: Option<Direction>,
    /// Representation.
    pub type_id: TypeId,
    /// What it was declared as.
    pub user_type: Option<UserTypeId>,
    /// `@__ref` (Simon et al., High-Performance Match-Action Table Updates from within Programmable Software Data Planes, ANCS
    /// 2021) or direction `rmw`: what the action leaves in it becomes the entry's value before the next packet that matches
    /// the entry.
    pub reference: bool,
    /// As written.
    pub annotations: Vec<Annotation>,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Name for the control plane.
    pub name: String,
    /// The control instance that it belongs to.
    pub control: ControlId,
    /// Statements that the keys need, run before each lookup.
    pub before_keys: Block,
    /// In order; none means that the default action always runs.
    pub keys: Vec<Key>,
    /// What entries may name.
    pub actions: Vec<ActionReference>,
    /// What runs on a miss.
    pub default_action: ActionCall,
    /// The control plane may not change the default action.
    pub default_action_is_const: bool,
    /// What runs for an entry whose group has no member that can be used (`psa_empty_group_action`);
    /// nothing without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty_group_action: Option<ActionCall>,
    /// Entries in the source, highest precedence first as written.
    pub entries: Vec<Entry>,
    /// The control plane may not change the entries.
    pub entries_are_const: bool,
    /// `size`, in entries.
    pub size: Option<u64>,
    /// Action profile or selector through which entries find their actions.
    pub implementation: Option<TableImplementation>,
    /// Direct counters and meters.
    pub direct_externs: Vec<ExternId>,
    /// Entries time out: `support_timeout`, `psa_idle_timeout`, `pna_idle_timeout`; `None` without.
    pub idle_timeout: Option<IdleTimeout>,
    /// PNA: the default action may add the entry that was missing.
    pub add_on_miss: bool,
    /// `@tableconfig` as Simon et al. have it (ANCS 2021, section 6), or its defaults.
    pub storage: TableStorage,
    /// Other properties with a constant value.
    pub properties: Vec<(String, Value)>,
    /// In the source.
    pub location: Option<Location>,
    /// As written.
    pub annotations: Vec<Annotation>,
}

/// A key of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Key {
    /// Name for the control plane.
    pub name: String,
    /// What is looked up.
    pub expression: Expression,
    /// How it matches.
    pub match_kind: MatchKind,
    /// What it was declared as.
    pub user_type: Option<UserTypeId>,
    /// As written.
    pub annotations: Vec<Annotation>,
}

/// How a key matches.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchKind {
    /// Equal.
    Exact,
    /// Longest prefix.
    Lpm,
    /// Value and mask, with priorities.
    Ternary,
    /// From low to high, with priorities.
    Range,
    /// Equal, or anything, with priorities.
    Optional,
    /// Not matched: the input of an action selector's hash.
    Selector,
    /// Of an architecture of the user's.
    Other(String),
}

impl MatchKind {
    /// The kind that a program calls so.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name {
            "exact" => Self::Exact,
            "lpm" => Self::Lpm,
            "ternary" => Self::Ternary,
            "range" => Self::Range,
            "optional" => Self::Optional,
            "selector" => Self::Selector,
            other => Self::Other(other.to_owned()),
        }
    }

    /// What a program calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Exact => "exact",
            Self::Lpm => "lpm",
            Self::Ternary => "ternary",
            Self::Range => "range",
            Self::Optional => "optional",
            Self::Selector => "selector",
            Self::Other(name) => name,
        }
    }
}

/// An action that entries of a table may name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionReference {
    /// The action.
    pub action: ActionId,
    /// Arguments for its directional parameters, evaluated when it runs.
    pub arguments: Vec<super::Argument>,
    /// Statements that those arguments need, run just before the action.
    pub before_arguments: Block,
    /// As written (`@tableonly`, `@defaultonly` and others).
    pub annotations: Vec<Annotation>,
}

impl ActionReference {
    /// Whether an annotation of this name is among its own.
    #[must_use]
    pub fn has_annotation(&self, name: &str) -> bool {
        self.annotations.iter().any(|annotation| annotation.name == name)
    }
}

/// An action with the values of its control-plane parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionCall {
    /// Position in [`Table::actions`].
    pub position: u32,
    /// One per parameter without direction.
    pub arguments: Vec<Value>,
}

/// An entry in the source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// One per key.
    pub key_sets: Vec<KeySet<Value>>,
    /// What it runs.
    pub action: ActionCall,
    /// As the control plane sees it: the larger number wins.
    pub priority: Option<u32>,
    /// The control plane may not change it.
    pub is_const: bool,
    /// In the source.
    pub location: Option<Location>,
    /// As written.
    pub annotations: Vec<Annotation>,
}

/// How entries find their actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TableImplementation {
    /// Members only.
    ActionProfile(ExternId),
    /// Members and groups.
    ActionSelector(ExternId),
}

/// How the entries of a table are kept (`@tableconfig`: Simon et al., ANCS 2021, section 6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableStorage {
    /// `store`, if the program says.
    pub store: Option<EntryStore>,
    /// `impl`: how often the entries are there.
    pub replicas: Replicas,
    /// `update`: how what a packet makes of its entry gets there.
    pub update: UpdateMethod,
    /// `synced`: a lock per entry around one action.
    pub synchronised: bool,
}

/// Where the entries of a table lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryStore {
    /// In one array.
    Static,
    /// Each by itself, behind a pointer.
    Dynamic,
    /// Each by itself, behind an index into an array of pointers.
    Original,
    /// Beside their keys, in the buckets of the hash table.
    Inline,
}

impl EntryStore {
    /// As `@tableconfig` has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Dynamic => "dynamic",
            Self::Original => "original",
            Self::Inline => "inline",
        }
    }

    /// The store that is called so.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Static, Self::Dynamic, Self::Original, Self::Inline];
        all.into_iter().find(|store| store.name() == name)
    }
}

/// What becomes of an entry that no packet hits for its time-out. In JSON as PSA and PNA call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum IdleTimeout {
    /// The control plane is told.
    NotifyControl,
    /// It is removed.
    AutoDelete,
}

impl IdleTimeout {
    /// As PSA and PNA call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotifyControl => "NOTIFY_CONTROL",
            Self::AutoDelete => "AUTO_DELETE",
        }
    }
}

/// How many replicas a table has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Replicas {
    /// `dpdk`: one, which all workers share.
    #[default]
    One,
    /// `t4p4s`: two. Packets read one; a change is written to the other, both change places, and when no packet has the
    /// first any more it is changed too. Packets do not write in place.
    Two,
    /// `sharded`: one for each worker, which nobody else's packets read or write.
    Sharded,
}

/// How what a packet makes of the references into its entry (`@__ref`) gets there (Simon et al., ANCS 2021, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateMethod {
    /// In place.
    #[default]
    Pointer,
    /// As the control plane changes an entry, at the end of the action.
    Change,
    /// By a message to a controller, which changes the entry: packets that come before it has find the old values, and of
    /// two such packets one change is lost.
    Digest,
}

impl UpdateMethod {
    /// All of them, in the order of the paper.
    pub const ALL: [Self; 3] = [Self::Pointer, Self::Change, Self::Digest];

    /// As `@tableconfig`, flags and results have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pointer => "pointer",
            Self::Change => "change",
            Self::Digest => "digest",
        }
    }

    /// The method that is called so.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}

/// An instance of an extern object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExternInstance {
    /// Name for the control plane.
    pub name: String,
    /// Declared type, such as `register` or `Counter`.
    pub extern_type: ExternType,
    /// Its type arguments.
    pub type_arguments: Vec<TypeId>,
    /// What those were declared as, position by position.
    pub type_argument_user_types: Vec<Option<UserTypeId>>,
    /// Constructor arguments by parameter.
    pub arguments: Vec<ConstructorArgument>,
    /// The table of a direct counter, meter or register.
    pub table: Option<TableId>,
    /// In the source.
    pub location: Option<Location>,
    /// As written.
    pub annotations: Vec<Annotation>,
}

/// An argument of an extern's constructor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConstructorArgument {
    /// Name of the parameter.
    pub name: String,
    /// Type of the parameter.
    pub type_id: TypeId,
    /// Its value.
    pub value: Value,
}

/// A parser value set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValueSet {
    /// Name for the control plane.
    pub name: String,
    /// Type of an element: one field, or a struct or tuple of them.
    pub type_id: TypeId,
    /// What it was declared as.
    pub user_type: Option<UserTypeId>,
    /// Match kind of each field, by `@match`.
    pub match_kinds: Vec<MatchKind>,
    /// Number of elements.
    pub size: u64,
    /// As written.
    pub annotations: Vec<Annotation>,
    /// The place of the declaration in the source.
    #[serde(default)]
    pub location: Option<Location>,
}
