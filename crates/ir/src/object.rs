//! The objects that the control plane sees (tables, actions, extern instances and value sets), and
//! the variables and functions of a program.

use super::{
    ActionId, Annotation, Block, ControlId, Expression, ExternId, ExternType, KeySet, Location,
    Parameter, TableId, TypeId, UserTypeId, Value, VariableId,
};
use serde::{Deserialize, Serialize};

/// A variable, parameter or temporary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variable {
    /// The name of the variable in the source, which is unique only within its block.
    pub name: String,
    /// The type of the variable.
    pub type_id: TypeId,
}

/// The direction of a parameter (P4_16 specification, section 6.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// `in`: the argument is copied in before the call.
    In,
    /// `out`: the parameter is copied out after the call. On entry, its headers are invalid and all
    /// other values are unspecified (the reference interpreter sets them to zero).
    Out,
    /// `inout`: the argument is copied in before the call and copied out after it.
    InOut,
}

impl Direction {
    /// Returns the keyword for this direction.
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
    /// The name of the function in the source. For a generic function, the type arguments follow
    /// it.
    pub name: String,
    /// The parameters of the function, in order of declaration.
    pub parameters: Vec<Parameter>,
    /// The return type, or `None` for `void`.
    pub return_type: Option<TypeId>,
    /// The statements of the function.
    pub body: Block,
}

/// An action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Action {
    /// The name of the action in the control-plane API, such as `MyIngress.forward`.
    pub name: String,
    /// The parameters of the action: first those with a direction, then those whose values the
    /// control plane sets.
    pub parameters: Vec<ActionParameter>,
    /// The statements of the action.
    pub body: Block,
    /// The scope in which the action is declared.
    pub scope: ActionScope,
    /// The location of the action's declaration in the source, or `None` if it is not known.
    pub location: Option<Location>,
    /// The annotations of the action, as written.
    pub annotations: Vec<Annotation>,
}

/// The scope in which an action is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionScope {
    /// The top level of the program, as for `NoAction`.
    Program,
    /// A control instance.
    Control(ControlId),
}

impl Action {
    /// Returns the parameters without a direction. The control plane sets their values in each
    /// table entry.
    pub fn control_plane_parameters(&self) -> impl Iterator<Item = &ActionParameter> {
        self.parameters.iter().filter(|parameter| parameter.direction.is_none())
    }
}

/// A parameter of an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionParameter {
    /// The name of the parameter in the source.
    pub name: String,
    /// The variable that holds the parameter's value.
    pub variable: VariableId,
    /// The direction, or `None` for a parameter whose value the control plane sets in each entry.
    pub direction: Option<Direction>,
    /// The type of the parameter, in which a `type` or serializable enumeration is replaced by its
    /// underlying type.
    pub type_id: TypeId,
    /// The declared type of the parameter if it is a `type` or a serializable enumeration, or else
    /// `None`.
    pub user_type: Option<UserTypeId>,
    /// Whether the parameter refers to the value in the table entry, so that the action can change
    /// the entry. The annotation `@__ref` or the direction `rmw` requests this (Simon et al.,
    /// High-Performance Match-Action Table Updates from within Programmable Software Data Planes,
    /// ANCS 2021). The value of the parameter at the end of the action replaces the value in the
    /// entry, by the table's [`UpdateMethod`].
    pub reference: bool,
    /// The annotations of the parameter, as written.
    pub annotations: Vec<Annotation>,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The control-plane name of the table.
    pub name: String,
    /// The control instance that declares the table.
    pub control: ControlId,
    /// The statements that compute operands of the keys, executed before each lookup.
    pub before_keys: Block,
    /// The keys, in order of declaration. A table without keys always runs its default action.
    pub keys: Vec<Key>,
    /// The actions that entries and the default action may run.
    pub actions: Vec<ActionReference>,
    /// The action that runs on a miss.
    pub default_action: ActionCall,
    /// Whether the control plane must not change the default action.
    pub default_action_is_const: bool,
    /// The action that runs if the entry that matches refers to a group of an action selector and
    /// the group has no usable members (`psa_empty_group_action` or `pna_empty_group_action`). If
    /// this is `None`, `NoAction` runs in PSA, and no action runs in other architectures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty_group_action: Option<ActionCall>,
    /// The entries that the source declares, in source order.
    pub entries: Vec<Entry>,
    /// Whether the control plane must not change the entries.
    pub entries_are_const: bool,
    /// The property `size`: the number of entries that the table can hold.
    pub size: Option<u64>,
    /// The action profile or action selector in which the actions of the entries are stored, or
    /// `None` if each entry stores its own action.
    pub implementation: Option<TableImplementation>,
    /// The direct counters, meters and registers that belong to the table.
    pub direct_externs: Vec<ExternId>,
    /// The effect of the timeout on an entry that no packet has hit during it (`support_timeout`,
    /// `psa_idle_timeout` or `pna_idle_timeout`), or `None` if entries do not time out.
    pub idle_timeout: Option<IdleTimeout>,
    /// Whether, on a miss, the default action may add an entry for the key of the packet
    /// (`add_on_miss` of PNA).
    pub add_on_miss: bool,
    /// The memory layout and update options that the annotation `@tableconfig` selects (Simon et
    /// al., ANCS 2021, section 6), or their defaults.
    pub storage: TableStorage,
    /// The other properties of the table, by name: those that no field of this struct stands for.
    /// Only properties with a constant value are included.
    pub properties: Vec<(String, Value)>,
    /// The location of the table's declaration in the source, or `None` if it is not known.
    pub location: Option<Location>,
    /// The annotations of the table, as written.
    pub annotations: Vec<Annotation>,
}

/// A key of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Key {
    /// The control-plane name of the key.
    pub name: String,
    /// The expression whose value is looked up.
    pub expression: Expression,
    /// The match kind of the key.
    pub match_kind: MatchKind,
    /// The declared type of the key if it is a `type` or a serializable enumeration, or else
    /// `None`.
    pub user_type: Option<UserTypeId>,
    /// The annotations of the key, as written.
    pub annotations: Vec<Annotation>,
}

/// A match kind (P4_16 specification, section 7.1.3).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchKind {
    /// `exact`: the key equals the value of the entry.
    Exact,
    /// `lpm`: longest prefix match.
    Lpm,
    /// `ternary`: the key equals the value of the entry in the bits that the entry's mask selects.
    /// If several entries match, the priority decides.
    Ternary,
    /// `range`: the key lies between two inclusive bounds. If several entries match, the
    /// priority decides.
    Range,
    /// `optional`: the key equals the value of the entry, or the entry accepts every value. If
    /// several entries match, the priority decides.
    Optional,
    /// `selector`: the key is not compared with entries, but is an input of the hash by which an
    /// action selector chooses a member.
    Selector,
    /// A match kind that a user-written architecture declares.
    Other(String),
}

impl MatchKind {
    /// Returns the match kind with the given name.
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

    /// Returns the name of the match kind.
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

/// An action that a table lists among those that it may run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionReference {
    /// The action that the table may run.
    pub action: ActionId,
    /// The arguments for the directional parameters, evaluated when the action runs.
    pub arguments: Vec<super::Argument>,
    /// The statements that compute operands of the arguments, executed just before the action.
    pub before_arguments: Block,
    /// The annotations of the reference, as written, such as `@tableonly` and `@defaultonly`.
    pub annotations: Vec<Annotation>,
}

impl ActionReference {
    /// Returns whether this action of the table has an annotation with the given name.
    #[must_use]
    pub fn has_annotation(&self, name: &str) -> bool {
        self.annotations.iter().any(|annotation| annotation.name == name)
    }
}

/// An action of a table with the values of its control-plane parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionCall {
    /// The position of the action in [`Table::actions`].
    pub position: u32,
    /// The values of the action's control-plane parameters, in order.
    pub arguments: Vec<Value>,
}

/// A table entry that the source declares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The key sets, one for each key of the table.
    pub key_sets: Vec<KeySet<Value>>,
    /// The action that runs for a packet that matches the entry.
    pub action: ActionCall,
    /// The priority of the entry. As in P4Runtime, the entry with the largest number wins. `None`
    /// if the match kinds of the table need no priority.
    pub priority: Option<u32>,
    /// Whether the control plane must not change the entry.
    pub is_const: bool,
    /// The location of the entry in the source, or `None` if it is not known.
    pub location: Option<Location>,
    /// The annotations of the entry, as written.
    pub annotations: Vec<Annotation>,
}

/// The extern object that stores the actions of a table's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TableImplementation {
    /// An action profile: a list of members, each an action with arguments.
    ActionProfile(ExternId),
    /// An action selector: an action profile whose members can also form groups, one member of
    /// which is chosen by a hash.
    ActionSelector(ExternId),
}

/// The way in which a table's entries are stored and updated, as the annotation `@tableconfig`
/// selects it (Simon et al., ANCS 2021, section 6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableStorage {
    /// The option `store`: the memory layout of the entries. `None` if the program does not set the
    /// option.
    pub store: Option<EntryStore>,
    /// The option `impl`: the number of replicas of the entries.
    pub replicas: Replicas,
    /// The option `update`: the method by which an action that a packet runs changes the packet's
    /// entry.
    pub update: UpdateMethod,
    /// The option `synced`: whether a lock on the entry is held while the entry's action runs.
    pub synchronised: bool,
}

/// The memory layout of a table's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryStore {
    /// One array that holds all entries.
    Static,
    /// A separate allocation for each entry, reached through a pointer.
    Dynamic,
    /// A separate allocation for each entry, reached through an index into an array of pointers.
    Original,
    /// Each entry is stored beside its key in a bucket of the hash table.
    Inline,
}

impl EntryStore {
    /// Returns the name of the layout in `@tableconfig`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Dynamic => "dynamic",
            Self::Original => "original",
            Self::Inline => "inline",
        }
    }

    /// Returns the layout with the given name in `@tableconfig`, or `None` if no layout has this
    /// name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Static, Self::Dynamic, Self::Original, Self::Inline];
        all.into_iter().find(|store| store.name() == name)
    }
}

/// The effect of a timeout on an entry that no packet has hit during it. JSON uses the names that
/// PSA and PNA have for these effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum IdleTimeout {
    /// The control plane is notified.
    NotifyControl,
    /// The entry is removed.
    AutoDelete,
}

impl IdleTimeout {
    /// Returns the name of the effect in PSA and PNA.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotifyControl => "NOTIFY_CONTROL",
            Self::AutoDelete => "AUTO_DELETE",
        }
    }
}

/// The number of replicas of a table's entries, as the option `impl` of `@tableconfig` selects it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Replicas {
    /// `dpdk`: one replica, which all workers share.
    #[default]
    One,
    /// `t4p4s`: two replicas. Packets read the active one while a change is written to the passive
    /// one. Then the two swap roles, and once no packet uses the former active replica, the change
    /// is applied to it too. Packets do not write to entries in place.
    Two,
    /// `sharded`: one replica for each worker. Only packets that the worker processes read and
    /// write it.
    Sharded,
}

/// The method that is used when a packet changes an entry through a parameter with `@__ref` (Simon
/// et al., ANCS 2021, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateMethod {
    /// The packet changes the entry in place, through a pointer.
    #[default]
    Pointer,
    /// The entry is changed at the end of the action, by the same procedure as when the control
    /// plane changes an entry.
    Change,
    /// A message asks a controller to change the entry. Packets that are processed before the
    /// controller has made the change read the old values. If two of them change the entry, one of
    /// the two changes is lost.
    Digest,
}

impl UpdateMethod {
    /// All update methods, in the order in which Simon et al. (ANCS 2021, section 5) describe them.
    pub const ALL: [Self; 3] = [Self::Pointer, Self::Change, Self::Digest];

    /// Returns the name of the update method in `@tableconfig`, command-line flags and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pointer => "pointer",
            Self::Change => "change",
            Self::Digest => "digest",
        }
    }

    /// Returns the update method with the given name, or `None` if no method has this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}

/// An instance of an extern object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExternInstance {
    /// The control-plane name of the instance.
    pub name: String,
    /// The extern type of the instance, such as `register` or `Counter`.
    pub extern_type: ExternType,
    /// The type arguments of the instance.
    pub type_arguments: Vec<TypeId>,
    /// The declared type of each type argument that is a `type` or a serializable enumeration, and
    /// `None` for any other type argument.
    pub type_argument_user_types: Vec<Option<UserTypeId>>,
    /// The constructor arguments of the instance.
    pub arguments: Vec<ConstructorArgument>,
    /// The table to which this direct counter, meter or register belongs. `None` for any other
    /// extern.
    pub table: Option<TableId>,
    /// The location of the instantiation in the source, or `None` if it is not known.
    pub location: Option<Location>,
    /// The annotations of the instance, as written.
    pub annotations: Vec<Annotation>,
}

/// A constructor argument of an extern instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConstructorArgument {
    /// The name of the parameter.
    pub name: String,
    /// The type of the parameter.
    pub type_id: TypeId,
    /// The value of the argument.
    pub value: Value,
}

/// A parser value set: a set of values that the control plane fills, and that `select` cases match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValueSet {
    /// The control-plane name of the value set.
    pub name: String,
    /// The type of an element: a single field, or a struct or tuple of fields.
    pub type_id: TypeId,
    /// The declared type of an element if it is a `type` or a serializable enumeration, or else
    /// `None`.
    pub user_type: Option<UserTypeId>,
    /// The match kind of each field of an element, as the annotation `@match` selects it.
    pub match_kinds: Vec<MatchKind>,
    /// The largest number of elements of the value set.
    pub size: u64,
    /// The annotations of the value set, as written.
    pub annotations: Vec<Annotation>,
    /// The location of the value set's declaration in the source, or `None` if it is not known.
    #[serde(default)]
    pub location: Option<Location>,
}
