//! The structure of BMv2 JSON (behavioral-model, docs/JSON_format.md, versions 2.x).
//!
//! If a compiler omits a list or an attribute, it is empty here. Elements that can be of many kinds
//! ("type value objects", expressions) are kept as JSON values and interpreted where they are used.

use serde::Deserialize;
use serde_json::Value;

/// The root object of a BMv2 JSON document.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Document {
    #[serde(rename = "__meta__")]
    pub(super) meta: Option<Meta>,
    pub(super) header_types: Vec<HeaderType>,
    pub(super) headers: Vec<Header>,
    pub(super) header_stacks: Vec<HeaderStack>,
    pub(super) header_union_types: Vec<UnionType>,
    pub(super) header_unions: Vec<Union>,
    pub(super) header_union_stacks: Vec<UnionStack>,
    pub(super) field_lists: Vec<FieldList>,
    pub(super) errors: Vec<(String, u64)>,
    pub(super) parsers: Vec<Parser>,
    pub(super) parse_vsets: Vec<ParseValueSet>,
    pub(super) deparsers: Vec<Deparser>,
    pub(super) meter_arrays: Vec<MeterArray>,
    pub(super) counter_arrays: Vec<CounterArray>,
    pub(super) register_arrays: Vec<RegisterArray>,
    pub(super) calculations: Vec<Calculation>,
    pub(super) learn_lists: Vec<FieldList>,
    pub(super) actions: Vec<Action>,
    pub(super) pipelines: Vec<Pipeline>,
    pub(super) checksums: Vec<Checksum>,
    pub(super) extern_instances: Vec<Named>,
    pub(super) field_aliases: Vec<(String, (String, String))>,
}

/// The object `__meta__`.
#[derive(Debug, Deserialize)]
pub(super) struct Meta {
    pub(super) version: (u32, u32),
}

/// An object of which only the name is needed.
#[derive(Debug, Deserialize)]
pub(super) struct Named {
    pub(super) name: String,
}

/// An element of `header_types`.
#[derive(Debug, Deserialize)]
pub(super) struct HeaderType {
    pub(super) name: String,
    /// The fields of the header type. Each is a list of its name, its width or `"*"` (a varbit),
    /// and whether it is signed.
    pub(super) fields: Vec<Vec<Value>>,
    #[serde(default)]
    pub(super) max_length: Option<u64>,
}

/// An element of `headers`: an instance of a header type, which may be metadata.
#[derive(Debug, Deserialize)]
pub(super) struct Header {
    pub(super) name: String,
    pub(super) id: i64,
    pub(super) header_type: String,
    #[serde(default)]
    pub(super) metadata: bool,
}

/// An element of `header_stacks`.
#[derive(Debug, Deserialize)]
pub(super) struct HeaderStack {
    pub(super) name: String,
    pub(super) header_type: String,
    pub(super) header_ids: Vec<i64>,
}

/// An element of `header_union_types`.
#[derive(Debug, Deserialize)]
pub(super) struct UnionType {
    pub(super) name: String,
    pub(super) headers: Vec<(String, String)>,
}

/// An element of `header_unions`.
#[derive(Debug, Deserialize)]
pub(super) struct Union {
    pub(super) name: String,
    pub(super) id: i64,
    pub(super) union_type: String,
    pub(super) header_ids: Vec<i64>,
}

/// An element of `header_union_stacks`.
#[derive(Debug, Deserialize)]
pub(super) struct UnionStack {
    pub(super) name: String,
    pub(super) union_type: String,
    pub(super) header_union_ids: Vec<i64>,
}

/// An element of `field_lists` or `learn_lists`.
#[derive(Debug, Deserialize)]
pub(super) struct FieldList {
    pub(super) id: u64,
    #[serde(default)]
    pub(super) name: String,
    pub(super) elements: Vec<Value>,
}

/// An element of `parsers`.
#[derive(Debug, Deserialize)]
pub(super) struct Parser {
    #[serde(default)]
    pub(super) name: String,
    pub(super) init_state: Option<String>,
    pub(super) parse_states: Vec<ParseState>,
}

/// A state of a parser.
#[derive(Debug, Deserialize)]
pub(super) struct ParseState {
    pub(super) name: String,
    #[serde(default)]
    pub(super) parser_ops: Vec<Operation>,
    #[serde(default)]
    pub(super) transition_key: Vec<Value>,
    #[serde(default)]
    pub(super) transitions: Vec<Transition>,
}

/// A transition of a parser state.
#[derive(Debug, Deserialize)]
pub(super) struct Transition {
    #[serde(rename = "type", default)]
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) value: Option<String>,
    #[serde(default)]
    pub(super) mask: Option<String>,
    pub(super) next_state: Option<String>,
}

/// An operation of a parser state, or a primitive operation of an action.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Operation {
    pub(super) op: String,
    #[serde(default)]
    pub(super) parameters: Vec<Value>,
    #[serde(default)]
    pub(super) source_info: Option<SourceInfo>,
}

/// The position in the P4 source from which an object was compiled.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct SourceInfo {
    #[serde(default)]
    pub(super) filename: Option<String>,
    #[serde(default)]
    pub(super) line: Option<u32>,
    #[serde(default)]
    pub(super) column: Option<u32>,
}

/// An element of `parse_vsets`.
#[derive(Debug, Deserialize)]
pub(super) struct ParseValueSet {
    pub(super) name: String,
    pub(super) compressed_bitwidth: u32,
    #[serde(default)]
    pub(super) max_size: Option<u64>,
}

/// An element of `deparsers`.
#[derive(Debug, Deserialize)]
pub(super) struct Deparser {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) order: Vec<String>,
    #[serde(default)]
    pub(super) primitives: Vec<Operation>,
}

/// A meter array, or the direct meters of one table.
#[derive(Debug, Deserialize)]
pub(super) struct MeterArray {
    pub(super) name: String,
    #[serde(default)]
    pub(super) is_direct: bool,
    #[serde(default)]
    pub(super) size: Option<u64>,
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) binding: Option<String>,
    #[serde(default)]
    pub(super) result_target: Option<(String, String)>,
    #[serde(default)]
    pub(super) source_info: Option<SourceInfo>,
}

/// A counter array, or the direct counters of one table.
#[derive(Debug, Deserialize)]
pub(super) struct CounterArray {
    pub(super) name: String,
    #[serde(default)]
    pub(super) is_direct: bool,
    #[serde(default)]
    pub(super) size: Option<u64>,
    #[serde(default)]
    pub(super) binding: Option<String>,
    #[serde(default)]
    pub(super) source_info: Option<SourceInfo>,
}

/// An element of `register_arrays`.
#[derive(Debug, Deserialize)]
pub(super) struct RegisterArray {
    pub(super) name: String,
    #[serde(default)]
    pub(super) size: Option<u64>,
    pub(super) bitwidth: u32,
    #[serde(default)]
    pub(super) source_info: Option<SourceInfo>,
}

/// The inputs and the algorithm of a hash or checksum computation.
#[derive(Debug, Deserialize)]
pub(super) struct Calculation {
    pub(super) name: String,
    pub(super) algo: String,
    #[serde(default)]
    pub(super) input: Vec<Value>,
}

/// An element of `actions`.
#[derive(Debug, Deserialize)]
pub(super) struct Action {
    pub(super) name: String,
    pub(super) id: i64,
    #[serde(default)]
    pub(super) runtime_data: Vec<RuntimeData>,
    #[serde(default)]
    pub(super) primitives: Vec<Operation>,
}

/// A parameter of an action.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct RuntimeData {
    pub(super) name: String,
    pub(super) bitwidth: u32,
}

/// An element of `pipelines`: the tables, conditions and action calls of a control.
#[derive(Debug, Deserialize)]
pub(super) struct Pipeline {
    pub(super) name: String,
    #[serde(default)]
    pub(super) init_table: Option<String>,
    #[serde(default)]
    pub(super) tables: Vec<Table>,
    #[serde(default)]
    pub(super) action_profiles: Vec<ActionProfile>,
    #[serde(default)]
    pub(super) conditionals: Vec<Conditional>,
    #[serde(default)]
    pub(super) action_calls: Vec<ActionCall>,
    #[serde(default)]
    pub(super) source_info: Option<SourceInfo>,
}

/// An action profile, or an action selector if it has `selector`.
#[derive(Debug, Deserialize)]
pub(super) struct ActionProfile {
    pub(super) name: String,
    #[serde(default)]
    pub(super) max_size: Option<u64>,
    #[serde(default)]
    pub(super) selector: Option<Selector>,
    #[serde(default)]
    pub(super) source_info: Option<SourceInfo>,
}

/// The hash by which an action selector chooses a member.
#[derive(Debug, Deserialize)]
pub(super) struct Selector {
    pub(super) algo: String,
    #[serde(default)]
    pub(super) input: Vec<Value>,
}

/// A table of a pipeline.
#[derive(Debug, Deserialize)]
pub(super) struct Table {
    pub(super) name: String,
    #[serde(rename = "type", default)]
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) action_profile: Option<String>,
    #[serde(default)]
    pub(super) max_size: Option<u64>,
    #[serde(default)]
    pub(super) support_timeout: bool,
    #[serde(default)]
    pub(super) key: Vec<Key>,
    #[serde(default)]
    pub(super) actions: Vec<String>,
    #[serde(default)]
    pub(super) action_ids: Vec<i64>,
    #[serde(default)]
    pub(super) next_tables: serde_json::Map<String, Value>,
    #[serde(default)]
    pub(super) base_default_next: Option<String>,
    #[serde(default)]
    pub(super) default_entry: Option<DefaultEntry>,
    #[serde(default)]
    pub(super) entries: Vec<ConstEntry>,
    #[serde(default)]
    pub(super) source_info: Option<SourceInfo>,
}

/// A field of a table's key.
#[derive(Debug, Deserialize)]
pub(super) struct Key {
    pub(super) match_type: String,
    pub(super) target: Value,
    #[serde(default)]
    pub(super) mask: Option<String>,
    #[serde(default)]
    pub(super) name: Option<String>,
}

/// The default entry of a table.
#[derive(Debug, Deserialize)]
pub(super) struct DefaultEntry {
    pub(super) action_id: i64,
    #[serde(default)]
    pub(super) action_const: bool,
    #[serde(default)]
    pub(super) action_data: Vec<String>,
    #[serde(default)]
    pub(super) action_entry_const: bool,
}

/// An entry of a table that the program declares.
#[derive(Debug, Deserialize)]
pub(super) struct ConstEntry {
    pub(super) match_key: Vec<MatchKey>,
    pub(super) action_entry: ActionEntry,
    #[serde(default)]
    pub(super) priority: Option<i64>,
    #[serde(default)]
    pub(super) source_info: Option<SourceInfo>,
}

/// The value that an entry has for one field of the key.
#[derive(Debug, Deserialize)]
pub(super) struct MatchKey {
    pub(super) match_type: String,
    #[serde(default)]
    pub(super) key: Option<Value>,
    #[serde(default)]
    pub(super) mask: Option<String>,
    #[serde(default)]
    pub(super) prefix_length: Option<u32>,
    #[serde(default)]
    pub(super) start: Option<String>,
    #[serde(default)]
    pub(super) end: Option<String>,
}

/// The action of an entry, with its arguments.
#[derive(Debug, Deserialize)]
pub(super) struct ActionEntry {
    pub(super) action_id: i64,
    #[serde(default)]
    pub(super) action_data: Vec<String>,
}

/// A node of a pipeline that tests a condition.
#[derive(Debug, Deserialize)]
pub(super) struct Conditional {
    pub(super) name: String,
    pub(super) expression: Value,
    pub(super) true_next: Option<String>,
    pub(super) false_next: Option<String>,
    #[serde(default)]
    pub(super) source_info: Option<SourceInfo>,
}

/// A node of a pipeline that calls an action.
#[derive(Debug, Deserialize)]
pub(super) struct ActionCall {
    pub(super) name: String,
    pub(super) action_id: i64,
    pub(super) next_node: Option<String>,
}

/// An element of `checksums`: a field that is verified or updated by a calculation.
#[derive(Debug, Deserialize)]
pub(super) struct Checksum {
    #[serde(default)]
    pub(super) name: String,
    pub(super) target: (String, String),
    pub(super) calculation: String,
    #[serde(default)]
    pub(super) update: Option<bool>,
    #[serde(default)]
    pub(super) verify: Option<bool>,
    #[serde(default)]
    pub(super) if_cond: Option<Value>,
}
