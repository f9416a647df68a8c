//! The objects of a checked P4Info.
//!
//! They differ from the messages in that references resolve, numbers have their meaning (a size
//! of 0 is no limit, an identifier of 0 is nothing) and what a switch asks for at every
//! update is worked out once. Fields are public: the objects are only ever handed out behind a
//! shared reference.

use super::ids::*;
use crate::action::ActionCall;
use crate::data::DataType;
use crate::value::ValueType;

/// A match-action table.
#[derive(Debug, Clone)]
pub struct Table {
    /// Identifier.
    pub id: TableId,
    /// Fully qualified name.
    pub name: String,
    /// Short name, unique within the program.
    pub alias: String,
    /// The key, in the order of declaration.
    pub match_fields: Vec<MatchField>,
    /// The actions that entries may use, by identifier.
    pub actions: Vec<ActionRef>,
    /// The default action that the program sets. `None` if P4Info does not name one and the
    /// table has no action called `NoAction`.
    pub default_action: Option<ActionCall>,
    /// Whether the default entry cannot be changed: it is constant in the program, or the table
    /// is indirect (specification 1.5, "Default Entry").
    pub default_is_const: bool,
    /// What stands behind the table, or `None` if its entries hold actions themselves.
    pub implementation: Option<Implementation>,
    /// The counter of each entry.
    pub direct_counter: Option<DirectCounterId>,
    /// The meter of each entry.
    pub direct_meter: Option<DirectMeterId>,
    /// The number of entries, default entry not counted. `None` is no limit.
    pub size: Option<u64>,
    /// Whether entries may have an idle timeout.
    pub idle_timeout: bool,
    /// Whether the entries are part of the program and cannot be written.
    pub is_const: bool,
    /// Whether the program installs entries when it is loaded.
    pub has_initial_entries: bool,
    /// Whether entries need a priority: a field is ternary, range or optional.
    pub needs_priority: bool,
}

impl Table {
    /// The field of the key with this identifier.
    pub fn match_field(&self, id: MatchFieldId) -> Option<&MatchField> {
        self.match_fields.iter().find(|field| field.id == id)
    }

    /// The reference to this action, if the table may use it.
    pub fn action(&self, id: ActionId) -> Option<&ActionRef> {
        let position = self.actions.binary_search_by_key(&id, |action| action.id).ok()?;
        self.actions.get(position)
    }
}

/// One field of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchField {
    /// Identifier, unique within the table or value set.
    pub id: MatchFieldId,
    /// Name. Empty for a value set of a plain type.
    pub name: String,
    /// How the field is compared.
    pub kind: MatchKind,
    /// What its values are.
    pub value: ValueType,
}

/// How a field of a key is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MatchKind {
    /// Equality.
    Exact,
    /// Equality of a prefix.
    Lpm,
    /// Equality under a mask.
    Ternary,
    /// Between two values, inclusive.
    Range,
    /// Equality or anything.
    Optional,
    /// A kind that the architecture, or a newer P4Runtime, defines.
    Other(String),
}

/// An action that a table may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionRef {
    /// The action.
    pub id: ActionId,
    /// Where it may be used.
    pub scope: ActionScope,
}

/// Where an action may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionScope {
    /// In entries and as the default action.
    TableAndDefault,
    /// Not as the default action.
    TableOnly,
    /// Not in entries.
    DefaultOnly,
    /// For a whole one-shot group.
    GroupAction,
}

impl ActionScope {
    /// As P4Info writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TableAndDefault => "TABLE_AND_DEFAULT",
            Self::TableOnly => "TABLE_ONLY",
            Self::DefaultOnly => "DEFAULT_ONLY",
            Self::GroupAction => "GROUP_ACTION",
        }
    }
}

/// What a counter or the rates of a meter count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unit {
    /// P4Info does not say.
    #[default]
    Unspecified,
    /// Bytes.
    Bytes,
    /// Packets.
    Packets,
    /// Both (counters).
    Both,
}

/// How a meter finds the color of a packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MeterAlgorithm {
    /// RFC 2698.
    #[default]
    TwoRateThreeColor,
    /// RFC 2697.
    SingleRateThreeColor,
    /// One rate, no excess burst.
    SingleRateTwoColor,
}

/// What stands behind an indirect table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Implementation {
    /// An action profile or action selector.
    ActionProfile(ActionProfileId),
    /// An extern that the architecture defines.
    Extern(ExternId),
}

/// An action.
#[derive(Debug, Clone)]
pub struct Action {
    /// Identifier.
    pub id: ActionId,
    /// Fully qualified name.
    pub name: String,
    /// Short name.
    pub alias: String,
    /// The parameters that the control plane fills, by identifier.
    pub params: Vec<Param>,
}

impl Action {
    /// The parameter with this identifier.
    pub fn param(&self, id: ParamId) -> Option<&Param> {
        let position = self.params.binary_search_by_key(&id, |param| param.id).ok()?;
        self.params.get(position)
    }
}

/// A parameter of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// Identifier, unique within the action.
    pub id: ParamId,
    /// Name.
    pub name: String,
    /// What its values are.
    pub value: ValueType,
}

/// An action profile or action selector.
#[derive(Debug, Clone)]
pub struct ActionProfile {
    /// Identifier.
    pub id: ActionProfileId,
    /// Fully qualified name.
    pub name: String,
    /// Short name.
    pub alias: String,
    /// The tables that it implements, by identifier.
    pub tables: Vec<TableId>,
    /// The actions that members may use, by identifier: those of its tables, which all have the
    /// same.
    pub actions: Vec<ActionRef>,
    /// Whether it is a selector, that is, has groups.
    pub with_selector: bool,
    /// The number of members; for a selector, what [`Self::size_semantics`] counts over all
    /// groups. `None` is no limit.
    pub size: Option<u64>,
    /// The size of a group, as [`Self::size_semantics`] counts it. `None` is no limit.
    pub max_group_size: Option<u32>,
    /// What sizes count.
    pub size_semantics: SizeSemantics,
    /// Whether weights belong to the switch, so that the control plane leaves them 0.
    pub weights_disallowed: bool,
}

/// What the sizes of an action selector count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeSemantics {
    /// The weights of the members.
    SumOfWeights,
    /// The members.
    SumOfMembers {
        /// The largest weight of a member. `None` is no limit.
        max_member_weight: Option<u32>,
    },
}

/// An indirect counter array.
#[derive(Debug, Clone)]
pub struct Counter {
    /// Identifier.
    pub id: CounterId,
    /// Fully qualified name.
    pub name: String,
    /// Short name.
    pub alias: String,
    /// What it counts.
    pub unit: Unit,
    /// The number of cells. `None` if P4Info does not say, as when the index is translated.
    pub size: Option<u64>,
}

/// A counter for each entry of a table.
#[derive(Debug, Clone)]
pub struct DirectCounter {
    /// Identifier.
    pub id: DirectCounterId,
    /// Fully qualified name.
    pub name: String,
    /// Short name.
    pub alias: String,
    /// What it counts.
    pub unit: Unit,
    /// The table.
    pub table: TableId,
}

/// An indirect meter array.
#[derive(Debug, Clone)]
pub struct Meter {
    /// Identifier.
    pub id: MeterId,
    /// Fully qualified name.
    pub name: String,
    /// Short name.
    pub alias: String,
    /// What its rates count.
    pub unit: Unit,
    /// The algorithm.
    pub algorithm: MeterAlgorithm,
    /// The number of cells. `None` if P4Info does not say.
    pub size: Option<u64>,
}

/// A meter for each entry of a table.
#[derive(Debug, Clone)]
pub struct DirectMeter {
    /// Identifier.
    pub id: DirectMeterId,
    /// Fully qualified name.
    pub name: String,
    /// Short name.
    pub alias: String,
    /// What its rates count.
    pub unit: Unit,
    /// The algorithm.
    pub algorithm: MeterAlgorithm,
    /// The table.
    pub table: TableId,
}

/// A register array.
#[derive(Debug, Clone)]
pub struct Register {
    /// Identifier.
    pub id: RegisterId,
    /// Fully qualified name.
    pub name: String,
    /// Short name.
    pub alias: String,
    /// The type of a cell.
    pub data: DataType,
    /// The number of cells. `None` if P4Info does not say.
    pub size: Option<u64>,
}

/// A digest.
#[derive(Debug, Clone)]
pub struct Digest {
    /// Identifier.
    pub id: DigestId,
    /// Fully qualified name.
    pub name: String,
    /// Short name.
    pub alias: String,
    /// The type of a report.
    pub data: DataType,
}

/// A parser value set.
#[derive(Debug, Clone)]
pub struct ValueSet {
    /// Identifier.
    pub id: ValueSetId,
    /// Fully qualified name.
    pub name: String,
    /// Short name.
    pub alias: String,
    /// What a member consists of, in the order of declaration.
    pub match_fields: Vec<MatchField>,
    /// The number of members. `None` is no limit.
    pub size: Option<u64>,
}

/// The header that travels with packet-ins or packet-outs.
#[derive(Debug, Clone)]
pub struct PacketHeader {
    /// Its fields, in the order of declaration.
    pub fields: Vec<PacketField>,
}

impl PacketHeader {
    /// The field with this identifier.
    pub fn field(&self, id: MetadataId) -> Option<&PacketField> {
        self.fields.iter().find(|field| field.id == id)
    }

    /// The field with this name.
    pub fn field_by_name(&self, name: &str) -> Option<&PacketField> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// One field of a controller packet header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketField {
    /// Identifier, unique within the header.
    pub id: MetadataId,
    /// Name.
    pub name: String,
    /// What its values are.
    pub value: ValueType,
}

/// An instance of an extern that the architecture defines.
#[derive(Debug, Clone)]
pub struct ExternInstance {
    /// Identifier.
    pub id: ExternId,
    /// Fully qualified name.
    pub name: String,
    /// Short name.
    pub alias: String,
    /// The type.
    pub type_id: ExternTypeId,
}
