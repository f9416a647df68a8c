//! The objects of a validated P4Info.
//!
//! The objects differ from the P4Info messages in three ways. References between objects resolve.
//! Numbers with a special meaning are replaced by options (a size of 0 means no limit, and an
//! identifier of 0 means no object). Facts that a switch needs for every update are precomputed.
//! The fields are public because the objects are only available through shared references.

use super::ids::*;
use crate::action::ActionCall;
use crate::data::DataType;
use crate::value::ValueType;

/// The identifier of a translated type: its position among the translated types of the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TranslatedTypeId(pub u32);

impl TranslatedTypeId {
    /// Returns the position of the type among the translated types of the schema.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A translated type: controllers use strings for its values, and the program uses numbers
/// (`p4runtime_translation` with `string`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranslatedType {
    /// The name of the type.
    pub name: String,
    /// The strings to which the program itself assigns numbers, with these numbers
    /// (`p4runtime_translation_mappings`).
    pub given: Vec<(Box<[u8]>, u128)>,
}

/// A match-action table.
#[derive(Debug, Clone)]
pub struct Table {
    /// The identifier that P4Info assigns.
    pub id: TableId,
    /// The fully qualified name of the table.
    pub name: String,
    /// The short name of the table, unique within the program.
    pub alias: String,
    /// The fields of the table's key, in the order of declaration.
    pub match_fields: Vec<MatchField>,
    /// The actions that entries may use, ordered by identifier.
    pub actions: Vec<ActionRef>,
    /// The default action that the program sets for the table. `None` if P4Info does not name one
    /// and the table has no action called `NoAction`.
    pub default_action: Option<ActionCall>,
    /// Whether the default entry cannot be changed, because it is constant in the program, or
    /// because the table is indirect (specification 1.5, "Default Entry").
    pub default_is_const: bool,
    /// The object that holds the actions of the table's entries, or `None` if entries hold their
    /// actions directly.
    pub implementation: Option<Implementation>,
    /// The direct counter of the entries, if there is one.
    pub direct_counter: Option<DirectCounterId>,
    /// The direct meter of the entries, if there is one.
    pub direct_meter: Option<DirectMeterId>,
    /// The largest number of entries, not counting the default entry, or `None` for no limit.
    pub size: Option<u64>,
    /// Whether entries may have an idle timeout.
    pub idle_timeout: bool,
    /// Whether the entries are part of the program and cannot be written.
    pub is_const: bool,
    /// Whether the program installs entries when it is loaded.
    pub has_initial_entries: bool,
    /// Whether entries need a priority, because a field is ternary, range or optional.
    pub needs_priority: bool,
}

impl Table {
    /// Returns the key field with this identifier, or `None` if the table has none.
    pub fn match_field(&self, id: MatchFieldId) -> Option<&MatchField> {
        self.match_fields.iter().find(|field| field.id == id)
    }

    /// Returns the table's reference to this action, or `None` if the table may not use the action.
    pub fn action(&self, id: ActionId) -> Option<&ActionRef> {
        let position = self.actions.binary_search_by_key(&id, |action| action.id).ok()?;
        self.actions.get(position)
    }
}

/// One field of the key of a table or value set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchField {
    /// The identifier, unique within the table or value set.
    pub id: MatchFieldId,
    /// The name (empty for a value set of a plain type).
    pub name: String,
    /// The kind of match that the field uses.
    pub kind: MatchKind,
    /// The type of the field's values.
    pub value: ValueType,
    /// The translated type of the field, if controllers use strings for its values.
    pub translated: Option<TranslatedTypeId>,
}

/// The kind of match of a key field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MatchKind {
    /// An exact match.
    Exact,
    /// A longest-prefix match.
    Lpm,
    /// A match under a mask.
    Ternary,
    /// A match of a range that includes both ends.
    Range,
    /// An exact match that entries may omit, so that every value matches.
    Optional,
    /// A kind that the architecture, or a newer P4Runtime, defines.
    Other(String),
}

/// An action that a table may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionRef {
    /// The identifier of the action.
    pub id: ActionId,
    /// The entries in which the action may be used.
    pub scope: ActionScope,
}

/// The entries in which an action may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionScope {
    /// All entries, including the default entry.
    TableAndDefault,
    /// All entries except the default entry.
    TableOnly,
    /// Only the default entry.
    DefaultOnly,
    /// Only one-shot groups, as the action of the whole group.
    GroupAction,
}

impl ActionScope {
    /// Returns the name that P4Info has for the scope.
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

/// The unit of a counter, or of the rates of a meter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unit {
    /// P4Info does not specify the unit.
    #[default]
    Unspecified,
    /// Bytes.
    Bytes,
    /// Packets.
    Packets,
    /// Packets and bytes (only for counters).
    Both,
}

/// The algorithm by which a meter determines the color of a packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MeterAlgorithm {
    /// The algorithm of RFC 2698.
    #[default]
    TwoRateThreeColor,
    /// The algorithm of RFC 2697.
    SingleRateThreeColor,
    /// An algorithm with a single rate and no excess burst.
    SingleRateTwoColor,
}

/// The object that holds the actions of an indirect table's entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Implementation {
    /// An action profile or action selector.
    ActionProfile(ActionProfileId),
    /// An extern that the architecture defines.
    Extern(ExternId),
}

/// An action of the program that table entries can run.
#[derive(Debug, Clone)]
pub struct Action {
    /// The identifier that P4Info assigns.
    pub id: ActionId,
    /// The fully qualified name of the action.
    pub name: String,
    /// The short name of the action.
    pub alias: String,
    /// The parameters whose values the control plane sets, ordered by identifier.
    pub params: Vec<Param>,
}

impl Action {
    /// Returns the parameter with this identifier, or `None` if the action has none.
    pub fn param(&self, id: ParamId) -> Option<&Param> {
        let position = self.params.binary_search_by_key(&id, |param| param.id).ok()?;
        self.params.get(position)
    }
}

/// A parameter of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// The identifier, unique within the action.
    pub id: ParamId,
    /// The name in the program.
    pub name: String,
    /// The type of the parameter's values.
    pub value: ValueType,
    /// The translated type of the parameter, if controllers use strings for its values.
    pub translated: Option<TranslatedTypeId>,
}

/// An action profile or action selector.
#[derive(Debug, Clone)]
pub struct ActionProfile {
    /// The identifier that P4Info assigns.
    pub id: ActionProfileId,
    /// The fully qualified name of the profile.
    pub name: String,
    /// The short name of the profile.
    pub alias: String,
    /// The tables that the profile implements, by identifier.
    pub tables: Vec<TableId>,
    /// The actions that members may use, ordered by identifier. All tables of the profile have
    /// these actions.
    pub actions: Vec<ActionRef>,
    /// Whether the profile is an action selector, which has groups.
    pub with_selector: bool,
    /// The largest number of members, or `None` for no limit. In a selector, this is also the
    /// largest total size of all groups, in the unit of [`Self::size_semantics`].
    pub size: Option<u64>,
    /// The largest size of a group, in the unit of [`Self::size_semantics`], or `None` for no
    /// limit.
    pub max_group_size: Option<u32>,
    /// The unit in which sizes of groups are counted.
    pub size_semantics: SizeSemantics,
    /// Whether the switch determines the weights of members itself, so that the control plane must
    /// set them to 0.
    pub weights_disallowed: bool,
}

/// The unit in which the sizes of an action selector's groups are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeSemantics {
    /// The sum of the members' weights.
    SumOfWeights,
    /// The number of members, each of which counts once, whatever its weight.
    SumOfMembers {
        /// The largest weight of a member, or `None` for no limit.
        max_member_weight: Option<u32>,
    },
}

/// An indirect counter array.
#[derive(Debug, Clone)]
pub struct Counter {
    /// The identifier that P4Info assigns.
    pub id: CounterId,
    /// The fully qualified name of the counter.
    pub name: String,
    /// The short name of the counter.
    pub alias: String,
    /// The unit of the counter.
    pub unit: Unit,
    /// The number of cells, or `None` if P4Info does not specify it, for example because the index
    /// type is translated.
    pub size: Option<u64>,
}

/// A counter for each entry of a table.
#[derive(Debug, Clone)]
pub struct DirectCounter {
    /// The identifier that P4Info assigns.
    pub id: DirectCounterId,
    /// The fully qualified name of the counter.
    pub name: String,
    /// The short name of the counter.
    pub alias: String,
    /// The unit of the counter.
    pub unit: Unit,
    /// The table whose entries have the counter.
    pub table: TableId,
}

/// An indirect meter array.
#[derive(Debug, Clone)]
pub struct Meter {
    /// The identifier that P4Info assigns.
    pub id: MeterId,
    /// The fully qualified name of the meter.
    pub name: String,
    /// The short name of the meter.
    pub alias: String,
    /// The unit of the rates.
    pub unit: Unit,
    /// The algorithm by which the meter determines colors.
    pub algorithm: MeterAlgorithm,
    /// The number of cells, or `None` if P4Info does not specify it.
    pub size: Option<u64>,
}

/// A meter for each entry of a table.
#[derive(Debug, Clone)]
pub struct DirectMeter {
    /// The identifier that P4Info assigns.
    pub id: DirectMeterId,
    /// The fully qualified name of the meter.
    pub name: String,
    /// The short name of the meter.
    pub alias: String,
    /// The unit of the rates.
    pub unit: Unit,
    /// The algorithm by which the meter determines colors.
    pub algorithm: MeterAlgorithm,
    /// The table whose entries have the meter.
    pub table: TableId,
}

/// A register array.
#[derive(Debug, Clone)]
pub struct Register {
    /// The identifier that P4Info assigns.
    pub id: RegisterId,
    /// The fully qualified name of the register.
    pub name: String,
    /// The short name of the register.
    pub alias: String,
    /// The type of a cell.
    pub data: DataType,
    /// The number of cells, or `None` if P4Info does not specify it.
    pub size: Option<u64>,
}

/// A digest that a program can send to controllers.
#[derive(Debug, Clone)]
pub struct Digest {
    /// The identifier that P4Info assigns.
    pub id: DigestId,
    /// The fully qualified name of the digest.
    pub name: String,
    /// The short name of the digest.
    pub alias: String,
    /// The type of the data that a digest message carries.
    pub data: DataType,
}

/// A parser value set.
#[derive(Debug, Clone)]
pub struct ValueSet {
    /// The identifier that P4Info assigns.
    pub id: ValueSetId,
    /// The fully qualified name of the value set.
    pub name: String,
    /// The short name of the value set.
    pub alias: String,
    /// The fields of a member, in the order of declaration.
    pub match_fields: Vec<MatchField>,
    /// The largest number of members, or `None` for no limit.
    pub size: Option<u64>,
}

/// The names that P4 programs use for the ingress port in a controller header.
pub const INGRESS_NAMES: [&str; 4] =
    ["ingress_port", "ingress_physical_port", "in_port", "input_port"];
/// The names that P4 programs use for the egress port in a controller header.
pub const EGRESS_NAMES: [&str; 4] =
    ["egress_port", "egress_physical_port", "out_port", "output_port"];

/// The header that accompanies packet-ins or packet-outs.
#[derive(Debug, Clone)]
pub struct PacketHeader {
    /// The fields of the header, in the order of declaration.
    pub fields: Vec<PacketField>,
}

impl PacketHeader {
    /// Returns the field with this identifier, or `None` if the header has none.
    pub fn field(&self, id: MetadataId) -> Option<&PacketField> {
        self.fields.iter().find(|field| field.id == id)
    }

    /// Returns the field with this name, or `None` if the header has none.
    pub fn field_by_name(&self, name: &str) -> Option<&PacketField> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// One field of a controller packet header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketField {
    /// The identifier, unique within the header.
    pub id: MetadataId,
    /// The name in the program.
    pub name: String,
    /// The type of the field's values.
    pub value: ValueType,
    /// The translated type of the field, if controllers use strings for its values.
    pub translated: Option<TranslatedTypeId>,
}

/// An instance of an extern that the architecture defines.
#[derive(Debug, Clone)]
pub struct ExternInstance {
    /// The identifier that P4Info assigns.
    pub id: ExternId,
    /// The fully qualified name of the extern instance.
    pub name: String,
    /// The short name of the extern instance.
    pub alias: String,
    /// The type of the extern.
    pub type_id: ExternTypeId,
}
