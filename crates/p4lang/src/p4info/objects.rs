//! Construction of the P4Info messages for tables, actions, extern instances, controller headers
//! and value sets.

use std::collections::{BTreeSet, HashMap};

use num_traits::ToPrimitive;
use p4runtime::proto::config::{
    Action, ActionProfile, ActionRef, ControllerPacketMetadata, Counter, CounterSpec, Digest,
    DirectCounter, DirectMeter, MatchField, Meter, MeterSpec, P4Info, Register, Table,
    TableActionCall, ValueSet, action, action_profile, action_ref, controller_packet_metadata,
    counter_spec, match_field, meter_spec, table, table_action_call,
};

use super::annotations::{control_plane_name, find, hidden, identifier, integer, pass, preamble};
use super::bytes::of_value_in;
use super::fault::{Faults, P4InfoErrorKind};
use super::reach::Reach;
use super::symbols::{Kind, Symbols};
use super::types::{TypeCollector, flatten};
use ir::{
    self, Annotation, CompositeKind, ExternInstance, ExternType, IdleTimeout, MatchKind, Program,
    TableImplementation, Type, UserTypeId, UserTypeKind, Value,
};

/// The `size` that P4Info states for tables whose source does not specify one.
const DEFAULT_TABLE_SIZE: i64 = 1024;

/// A builder of the P4Info of one program.
pub(super) struct Builder<'p> {
    pub(super) program: &'p Program,
    pub(super) symbols: &'p Symbols,
    pub(super) types: TypeCollector<'p>,
    pub(super) info: P4Info,
    pub(super) errors: Faults,
    /// The digests of a v1model program: the type of the data, and the name of each.
    pub(super) digests: Vec<(ir::TypeId, String)>,
}

impl<'p> Builder<'p> {
    pub(super) fn tables(&mut self, reach: &Reach) {
        let program = self.program;
        for table in reach.tables.iter().filter_map(|id| program.tables.get(id.index())) {
            if hidden(&table.annotations) {
                continue;
            }
            self.errors.at(table.location);
            let built = self.table(table);
            self.info.tables.push(built);
        }
    }

    fn table(&mut self, source: &'p ir::Table) -> Table {
        let name = source.name.as_str();
        let match_fields = self.match_fields(source);
        let actions = &self.program.actions;
        // P4Info does not contain hidden actions, so tables in P4Info cannot refer to them.
        let is_visible = |reference: &&ir::ActionReference| {
            let action = actions.get(reference.action.index());
            action.is_some_and(|action| !hidden(&action.annotations))
        };
        let references = source.actions.iter().filter(is_visible);
        let action_refs =
            references.map(|reference| self.action_reference(source, reference)).collect();
        let default = self.default_action(source);
        let implementation_id = source.implementation.map_or(0, |implementation| {
            let (TableImplementation::ActionProfile(id) | TableImplementation::ActionSelector(id)) =
                implementation;
            self.program
                .externs
                .get(id.index())
                .map_or(0, |profile| self.symbols.id(Kind::ActionProfile, &profile.name))
        });
        let direct_resource_ids = self.direct_resources(source);
        let timeout = match source.idle_timeout {
            Some(IdleTimeout::NotifyControl) => table::IdleTimeoutBehavior::NotifyControl,
            _ => table::IdleTimeoutBehavior::NoTimeout,
        };
        let id = self.symbols.id(Kind::Table, name);
        let alias = self.symbols.alias(name);
        Table {
            preamble: Some(preamble(id, name, alias, &source.annotations, &[], &mut self.errors)),
            match_fields,
            action_refs,
            const_default_action_id: match &default {
                Some(default) if source.default_action_is_const => default.action_id,
                _ => 0,
            },
            initial_default_action: default,
            implementation_id,
            direct_resource_ids,
            size: match source.size {
                None | Some(0) => DEFAULT_TABLE_SIZE,
                Some(size) => i64::try_from(size).unwrap_or(i64::MAX),
            },
            idle_timeout_behavior: timeout.into(),
            is_const_table: source.entries_are_const,
            has_initial_entries: !source.entries.is_empty(),
            other_properties: None,
        }
    }

    fn match_fields(&mut self, table: &'p ir::Table) -> Vec<MatchField> {
        let ids = self.field_ids(&table.name, table.keys.iter().map(|key| &key.annotations));
        let mut fields = Vec::new();
        let mut given = BTreeSet::new();
        for (key, id) in table.keys.iter().zip(ids) {
            let Some(kind) = match_kind(&key.match_kind) else { continue };
            // Two keys may have the same name if annotations do not set it, because a table may
            // match one field twice.
            if let Some(name) = find(&key.annotations, "name").and_then(Annotation::single_string)
                && !given.insert(name)
            {
                let (table, name) = (table.name.clone(), name.to_owned());
                self.errors.push(P4InfoErrorKind::DuplicateKey { table, name });
            }
            let ty = key.expression.type_id;
            // This adds the named types of the key to the type information.
            self.types.specify(ty, key.user_type, &mut self.errors);
            let passed = pass(&key.annotations, &[], &mut self.errors);
            fields.push(MatchField {
                id,
                // p4c keeps the leading dot of an absolute name here, unlike in other names.
                name: find(&key.annotations, "name")
                    .and_then(Annotation::single_string)
                    .unwrap_or(&key.name)
                    .to_owned(),
                annotations: passed.texts,
                annotation_locations: Vec::new(),
                bitwidth: self.types.control_plane_width(ty, key.user_type),
                doc: passed.documentation,
                type_name: self.types.type_name(key.user_type),
                structured_annotations: passed.structured,
                r#match: Some(kind),
            });
        }
        fields
    }

    fn action_reference(
        &mut self,
        table: &ir::Table,
        reference: &'p ir::ActionReference,
    ) -> ActionRef {
        let name = self.action_name(reference.action);
        let table_only = reference.has_annotation("tableonly");
        let default_only = reference.has_annotation("defaultonly");
        let scope = match (table_only, default_only) {
            (true, true) => {
                self.errors.push(P4InfoErrorKind::Scope {
                    table: table.name.clone(),
                    action: name.to_owned(),
                });
                action_ref::Scope::TableOnly
            }
            (true, false) => action_ref::Scope::TableOnly,
            (false, true) => action_ref::Scope::DefaultOnly,
            (false, false) => action_ref::Scope::TableAndDefault,
        };
        let passed = pass(&reference.annotations, &[], &mut self.errors);
        ActionRef {
            id: self.symbols.id(Kind::Action, name),
            scope: scope.into(),
            annotations: passed.texts,
            annotation_locations: Vec::new(),
            structured_annotations: passed.structured,
        }
    }

    fn action_name(&self, action: ir::ActionId) -> &'p str {
        self.program.actions.get(action.index()).map_or("", |action| &action.name)
    }

    fn default_action(&self, table: &'p ir::Table) -> Option<TableActionCall> {
        let position = table.default_action.position as usize;
        let action = self.program.actions.get(table.actions.get(position)?.action.index())?;
        if hidden(&action.annotations) {
            return None;
        }
        let parameters = || action.control_plane_parameters();
        let ids = field_ids(parameters().map(|parameter| &parameter.annotations)).ok();
        let arguments = ids
            .unwrap_or_default()
            .into_iter()
            .zip(parameters())
            .zip(&table.default_action.arguments)
            .filter_map(|((param_id, parameter), value)| {
                let width = self.types.control_plane_width(parameter.type_id, parameter.user_type);
                let value = of_value_in(value, width)?.into();
                Some(table_action_call::Argument { param_id, value })
            })
            .collect();
        let action_id = self.symbols.id(Kind::Action, &action.name);
        Some(TableActionCall { action_id, arguments })
    }

    /// Adds the direct counters and then the direct meters of a table to the P4Info, and returns
    /// their identifiers.
    fn direct_resources(&mut self, table: &'p ir::Table) -> Vec<u32> {
        let table_id = self.symbols.id(Kind::Table, &table.name);
        let program = self.program;
        let instances =
            || table.direct_externs.iter().filter_map(|id| program.externs.get(id.index()));
        let mut ids = Vec::new();
        for instance in
            instances().filter(|i| matches!(role(program, i), Some(Kind::DirectCounter)))
        {
            let preamble = self.preamble(Kind::DirectCounter, instance, &[]);
            ids.push(preamble.id);
            self.info.direct_counters.push(DirectCounter {
                preamble: Some(preamble),
                spec: Some(CounterSpec { unit: self.counter_unit(instance).into() }),
                direct_table_id: table_id,
            });
        }
        for instance in instances().filter(|i| matches!(role(program, i), Some(Kind::DirectMeter)))
        {
            let preamble = self.preamble(Kind::DirectMeter, instance, &[]);
            ids.push(preamble.id);
            self.info.direct_meters.push(DirectMeter {
                preamble: Some(preamble),
                spec: Some(self.meter_spec(instance)),
                direct_table_id: table_id,
            });
        }
        ids
    }

    fn preamble(
        &mut self,
        kind: Kind,
        instance: &'p ExternInstance,
        left_out: &[&str],
    ) -> p4runtime::proto::config::Preamble {
        let id = self.symbols.id(kind, &instance.name);
        let alias = self.symbols.alias(&instance.name);
        let annotations = &instance.annotations;
        preamble(id, &instance.name, alias, annotations, left_out, &mut self.errors)
    }

    pub(super) fn actions(&mut self, reach: &Reach) {
        let program = self.program;
        let mut listed: HashMap<&str, Option<ir::Location>> = HashMap::new();
        for id in &reach.actions {
            let Some(action) = program.actions.get(id.index()) else { continue };
            if hidden(&action.annotations) {
                continue;
            }
            self.errors.at(action.location);
            match listed.get(action.name.as_str()) {
                // This is a copy of a top-level action for another control.
                Some(location) if *location == action.location => continue,
                Some(_) => {
                    let name = action.name.clone();
                    self.errors.push(P4InfoErrorKind::DuplicateName { kind: "actions", name });
                    continue;
                }
                None => listed.insert(&action.name, action.location),
            };
            let built = self.action(action, reach.called_only.contains(id));
            self.info.actions.push(built);
        }
    }

    /// Builds the P4Info message of an action. Parameters whose values come from the program are
    /// omitted. These are the parameters with a direction and, if `called_only` is true because
    /// controls call the action and no table refers to it, all parameters.
    fn action(&mut self, source: &'p ir::Action, called_only: bool) -> Action {
        let given: Vec<_> = source.control_plane_parameters().filter(|_| !called_only).collect();
        let ids = self.field_ids(&source.name, given.iter().map(|p| &p.annotations));
        let mut params = Vec::new();
        for (parameter, id) in given.iter().zip(ids) {
            let passed = pass(&parameter.annotations, &[], &mut self.errors);
            self.types.specify(parameter.type_id, parameter.user_type, &mut self.errors);
            let enumeration = self.types.enum_name(parameter.type_id);
            if !matches!(
                self.program.types.get(parameter.type_id),
                Type::Bits { .. } | Type::Bool | Type::Enum(_)
            ) {
                self.errors.push(P4InfoErrorKind::ParameterType {
                    action: source.name.clone(),
                    parameter: parameter.name.clone(),
                });
            }
            params.push(action::Param {
                id,
                name: control_plane_name(&parameter.annotations, &parameter.name).to_owned(),
                annotations: passed.texts,
                annotation_locations: Vec::new(),
                bitwidth: if enumeration.is_some() {
                    0
                } else {
                    self.types.control_plane_width(parameter.type_id, parameter.user_type)
                },
                doc: passed.documentation,
                type_name: self.types.type_name(parameter.user_type).or(enumeration),
                structured_annotations: passed.structured,
            });
        }
        let id = self.symbols.id(Kind::Action, &source.name);
        let alias = self.symbols.alias(&source.name);
        let preamble =
            preamble(id, &source.name, alias, &source.annotations, &[], &mut self.errors);
        Action { preamble: Some(preamble), params }
    }

    /// Adds the counters, meters, registers, action profiles and digests that the program
    /// instantiates to the P4Info.
    pub(super) fn instances(&mut self) {
        let program = self.program;
        for instance in &program.externs {
            let Some(kind) = role(self.program, instance) else { continue };
            self.errors.at(instance.location);
            match kind {
                Kind::Counter => {
                    let counter = Counter {
                        preamble: Some(self.preamble(kind, instance, &[])),
                        spec: Some(CounterSpec { unit: self.counter_unit(instance).into() }),
                        size: size(instance),
                        index_type_name: self.index_type_name(instance),
                    };
                    self.info.counters.push(counter);
                }
                Kind::Meter => {
                    let meter = Meter {
                        preamble: Some(self.preamble(kind, instance, &[])),
                        spec: Some(self.meter_spec(instance)),
                        size: size(instance),
                        index_type_name: self.index_type_name(instance),
                    };
                    self.info.meters.push(meter);
                }
                Kind::Register => {
                    let register = Register {
                        preamble: Some(self.preamble(kind, instance, &[])),
                        type_spec: self.data_type(instance),
                        size: i32::try_from(size(instance)).unwrap_or(i32::MAX),
                        index_type_name: self.index_type_name(instance),
                    };
                    self.info.registers.push(register);
                }
                Kind::ActionProfile => self.action_profile(instance),
                Kind::Digest => {
                    let digest = Digest {
                        preamble: Some(self.preamble(kind, instance, &[])),
                        type_spec: self.data_type(instance),
                    };
                    self.info.digests.push(digest);
                }
                _ => {}
            }
        }
    }

    /// Describes the type of the data of an extern instance, which is its first type argument.
    /// Returns `None` if the extern has no type arguments.
    fn data_type(
        &mut self,
        instance: &ExternInstance,
    ) -> Option<p4runtime::proto::config::P4DataTypeSpec> {
        let ty = *instance.type_arguments.first()?;
        let user = instance.type_argument_user_types.first().copied().flatten();
        Some(self.types.specify(ty, user, &mut self.errors))
    }

    /// Returns the declared type of the index of an extern instance, or `None` if it has none. In
    /// PSA and PNA, the type of the index is a type argument, after that of the data if there is
    /// one. v1model has the same type argument since April 2020, but p4c does not include it in
    /// P4Info.
    fn index_type_name(
        &mut self,
        instance: &ExternInstance,
    ) -> Option<p4runtime::proto::config::P4NamedType> {
        let position = match instance.extern_type {
            ExternType::V1Counter | ExternType::V1Meter | ExternType::V1Register => return None,
            ExternType::Meter => 0,
            _ => 1,
        };
        let ty = *instance.type_arguments.get(position)?;
        let user = instance.type_argument_user_types.get(position).copied().flatten();
        self.types.specify(ty, user, &mut self.errors);
        self.types.type_name(user)
    }

    fn action_profile(&mut self, instance: &'p ExternInstance) {
        const OWN_FIELDS: [&str; 3] =
            ["max_group_size", "selector_size_semantics", "max_member_weight"];
        let with_selector = matches!(
            instance.extern_type,
            ExternType::V1ActionSelector | ExternType::ActionSelector
        );
        let number = |name: &str| {
            find(&instance.annotations, name)
                .and_then(integer)
                .and_then(|value| value.to_i32())
                .unwrap_or(0)
        };
        let semantics = find(&instance.annotations, "selector_size_semantics")
            .and_then(Annotation::single_string)
            .filter(|_| with_selector)
            .map(str::to_lowercase);
        let selector_size_semantics = match semantics.as_deref() {
            Some("sum_of_weights") => Some(action_profile::SelectorSizeSemantics::SumOfWeights(
                action_profile::SumOfWeights {},
            )),
            Some("sum_of_members") => Some(action_profile::SelectorSizeSemantics::SumOfMembers(
                action_profile::SumOfMembers { max_member_weight: number("max_member_weight") },
            )),
            Some(other) => {
                self.errors.push(P4InfoErrorKind::SizeSemantics {
                    name: instance.name.clone(),
                    given: other.to_owned(),
                });
                None
            }
            None => None,
        };
        let profile = ActionProfile {
            preamble: Some(self.preamble(Kind::ActionProfile, instance, &OWN_FIELDS)),
            table_ids: self.tables_of_profile(instance),
            with_selector,
            size: size(instance),
            max_group_size: if with_selector { number("max_group_size") } else { 0 },
            weights_disallowed: false,
            selector_size_semantics,
        };
        self.info.action_profiles.push(profile);
    }

    /// Returns the identifiers of the tables that use the given action profile, in the lexical
    /// order of the tables' names.
    fn tables_of_profile(&self, instance: &ExternInstance) -> Vec<u32> {
        let mut names: Vec<&str> = self
            .program
            .tables
            .iter()
            .filter(|table| {
                let Some(
                    TableImplementation::ActionProfile(id)
                    | TableImplementation::ActionSelector(id),
                ) = table.implementation
                else {
                    return false;
                };
                self.program.externs.get(id.index()).is_some_and(|e| e.name == instance.name)
            })
            .map(|table| table.name.as_str())
            .filter(|name| self.symbols.id(Kind::Table, name) != 0)
            .collect();
        names.sort_unstable();
        names.into_iter().map(|name| self.symbols.id(Kind::Table, name)).collect()
    }

    fn counter_unit(&self, instance: &ExternInstance) -> counter_spec::Unit {
        match self.unit(instance).to_lowercase().as_str() {
            "packets" => counter_spec::Unit::Packets,
            "bytes" => counter_spec::Unit::Bytes,
            "packets_and_bytes" => counter_spec::Unit::Both,
            _ => counter_spec::Unit::Unspecified,
        }
    }

    fn meter_spec(&self, instance: &ExternInstance) -> MeterSpec {
        let annotated = |name| find(&instance.annotations, name).is_some();
        let kind = if annotated("single_rate_two_color") {
            meter_spec::Type::SingleRateTwoColor
        } else if annotated("single_rate_three_color") {
            meter_spec::Type::SingleRateThreeColor
        } else {
            meter_spec::Type::TwoRateThreeColor
        };
        MeterSpec { unit: self.meter_unit(instance).into(), r#type: kind.into() }
    }

    fn meter_unit(&self, instance: &ExternInstance) -> meter_spec::Unit {
        match self.unit(instance).to_lowercase().as_str() {
            "packets" => meter_spec::Unit::Packets,
            "bytes" => meter_spec::Unit::Bytes,
            _ => meter_spec::Unit::Unspecified,
        }
    }

    /// Returns the constructor argument `type` of a counter or meter, which is the name of an
    /// enumeration member. Returns an empty string if there is no such argument.
    fn unit(&self, instance: &ExternInstance) -> &'p str {
        let Some(argument) = instance.arguments.iter().find(|argument| argument.name == "type")
        else {
            return "";
        };
        match (&argument.value, self.program.types.find(argument.type_id)) {
            (Value::Enum(position), Some(Type::Enum(id))) => self
                .program
                .types
                .enums
                .get(id.index())
                .and_then(|declared| declared.members.get(*position as usize))
                .map_or("", String::as_str),
            _ => "",
        }
    }

    /// Adds to the P4Info the digests that a v1model program sends by calls of `digest`.
    pub(super) fn digest_calls(&mut self) {
        for (ty, name) in std::mem::take(&mut self.digests) {
            let id = self.symbols.id(Kind::Digest, &name);
            let alias = self.symbols.alias(&name);
            let composite = self.program.types.composite(ty);
            self.errors.at(composite.and_then(|composite| composite.location));
            let preamble = preamble(id, &name, alias, &[], &[], &mut self.errors);
            let type_spec = Some(self.types.specify(ty, None, &mut self.errors));
            self.info.digests.push(Digest { preamble: Some(preamble), type_spec });
        }
    }

    /// Adds to the P4Info the headers of packets from and to the controller. The annotation
    /// `@controller_header` marks these headers.
    pub(super) fn controller_headers(&mut self) {
        let program = self.program;
        for composite in &program.types.composites {
            let Some(controller) = find(&composite.annotations, "controller_header") else {
                continue;
            };
            if composite.kind != CompositeKind::Header || hidden(&composite.annotations) {
                continue;
            }
            self.errors.at(composite.location);
            let Some(name) = controller.single_string() else {
                self.errors
                    .push(P4InfoErrorKind::ControllerHeader { header: composite.name.clone() });
                continue;
            };
            let type_name = control_plane_name(&composite.annotations, &composite.name);
            let fields = flatten(program, composite);
            let ids = self.field_ids(type_name, fields.iter().map(|field| &field.annotations));
            let mut metadata = Vec::new();
            for (field, id) in fields.iter().zip(ids) {
                if hidden(&field.annotations) {
                    continue;
                }
                let passed = pass(&field.annotations, &[], &mut self.errors);
                self.types.specify(field.type_id, field.user_type, &mut self.errors);
                metadata.push(controller_packet_metadata::Metadata {
                    id,
                    name: field.name.clone(),
                    annotations: passed.texts,
                    annotation_locations: Vec::new(),
                    bitwidth: self.types.control_plane_width(field.type_id, field.user_type),
                    type_name: self.types.type_name(field.user_type),
                    structured_annotations: passed.structured,
                });
            }
            let id = self.symbols.id(Kind::ControllerHeader, type_name);
            let preamble = preamble(id, name, name, &composite.annotations, &[], &mut self.errors);
            self.info
                .controller_packet_metadata
                .push(ControllerPacketMetadata { preamble: Some(preamble), metadata });
        }
    }

    pub(super) fn value_sets(&mut self, reach: &Reach) {
        let program = self.program;
        for set in reach.value_sets.iter().filter_map(|id| program.value_sets.get(id.index())) {
            self.errors.at(set.location);
            let id = self.symbols.id(Kind::ValueSet, &set.name);
            let alias = self.symbols.alias(&set.name);
            let preamble = preamble(id, &set.name, alias, &set.annotations, &[], &mut self.errors);
            let built = ValueSet {
                preamble: Some(preamble),
                r#match: self.value_set_fields(set),
                size: i32::try_from(set.size).unwrap_or(i32::MAX),
            };
            self.info.value_sets.push(built);
        }
    }

    /// If P4Runtime cannot describe the elements of a value set as match fields, returns an error.
    /// Returns `None` otherwise.
    fn value_set_misfit(&self, set: &ir::ValueSet) -> Option<P4InfoErrorKind> {
        let types = &self.program.types;
        let enumeration = |id: UserTypeId| {
            types.user_types.get(id.index()).is_some_and(|user_type| {
                matches!(user_type.kind, UserTypeKind::SerializableEnum { .. })
            })
        };
        let bits = |ty| matches!(types.get(ty), Type::Bits { .. });
        let name = set.name.clone();
        match types.composite(set.type_id) {
            None if bits(set.type_id) && set.user_type.is_none_or(enumeration) => None,
            Some(composite) if composite.kind == CompositeKind::Struct => {
                let only_bits = composite
                    .fields
                    .iter()
                    .all(|field| bits(field.type_id) && field.user_type.is_none());
                if set.match_kinds.contains(&MatchKind::Selector) {
                    Some(P4InfoErrorKind::ValueSetType { name })
                } else {
                    (!only_bits).then_some(P4InfoErrorKind::ValueSetField { name })
                }
            }
            _ => Some(P4InfoErrorKind::ValueSetType { name }),
        }
    }

    fn value_set_fields(&mut self, set: &'p ir::ValueSet) -> Vec<MatchField> {
        let misfit = self.value_set_misfit(set);
        if let Some(misfit) = misfit {
            self.errors.push(misfit);
        }
        let exact = Some(match_field::Match::MatchType(match_field::MatchType::Exact.into()));
        // As in p4c, there is a field for each member of a serializable enumeration.
        if let Some(UserTypeKind::SerializableEnum { members, .. }) = set
            .user_type
            .and_then(|id| self.program.types.user_types.get(id.index()))
            .map(|user_type| &user_type.kind)
        {
            let bitwidth = self.types.control_plane_width(set.type_id, None);
            let fields = (1_u32..).zip(members).map(|(id, (name, _))| MatchField {
                id,
                name: name.clone(),
                bitwidth,
                r#match: exact.clone(),
                ..Default::default()
            });
            return fields.collect();
        }
        let Some(composite) = self.program.types.composite(set.type_id) else {
            return vec![MatchField {
                id: 1,
                bitwidth: self.types.control_plane_width(set.type_id, None),
                r#match: exact,
                ..Default::default()
            }];
        };
        let ids = self.field_ids(&set.name, composite.fields.iter().map(|f| &f.annotations));
        let mut fields = Vec::new();
        for (position, (field, id)) in composite.fields.iter().zip(ids).enumerate() {
            let passed = pass(&field.annotations, &["match"], &mut self.errors);
            let kind = set.match_kinds.get(position).unwrap_or(&MatchKind::Exact);
            fields.push(MatchField {
                id,
                name: control_plane_name(&field.annotations, &field.name).to_owned(),
                annotations: passed.texts,
                annotation_locations: Vec::new(),
                bitwidth: self.types.control_plane_width(field.type_id, None),
                doc: passed.documentation,
                type_name: None,
                structured_annotations: passed.structured,
                r#match: match_kind(kind),
            });
        }
        fields
    }

    fn field_ids<'a>(
        &mut self,
        owner: &str,
        annotations: impl Iterator<Item = &'a Vec<Annotation>> + Clone,
    ) -> Vec<u32> {
        let count = annotations.clone().count();
        field_ids(annotations).unwrap_or_else(|text| {
            self.errors.push(P4InfoErrorKind::FieldId { owner: owner.to_owned(), text });
            vec![0; count]
        })
    }
}

/// Returns the identifiers of fields or parameters, given the annotations of each. An `@id` sets
/// the identifier. Any other field has the next unused number of a counter, which starts at 1 and
/// which fields with an `@id` advance too. If an `@id` is invalid, its text is returned as an
/// error.
pub(super) fn field_ids<'a>(
    annotations: impl Iterator<Item = &'a Vec<Annotation>>,
) -> Result<Vec<u32>, String> {
    let wanted: Vec<Option<u32>> =
        annotations.map(|annotations| identifier(annotations)).collect::<Result<_, _>>()?;
    let mut taken = std::collections::BTreeSet::new();
    for id in wanted.iter().flatten() {
        if *id == 0 || !taken.insert(*id) {
            return Err(format!("@id({id})"));
        }
    }
    let mut next = 1_u32;
    Ok(wanted
        .into_iter()
        .map(|id| {
            if let Some(id) = id {
                next = next.saturating_add(1);
                return id;
            }
            while taken.contains(&next) {
                next = next.saturating_add(1);
            }
            taken.insert(next);
            next
        })
        .collect())
}

/// Returns the kind of P4Info object that represents an extern instance of any architecture, or
/// `None` if the instance is not part of P4Info.
pub(super) fn role(program: &ir::Program, instance: &ExternInstance) -> Option<Kind> {
    if !super::architecture(program).may_have_extern(&instance.extern_type) {
        return None;
    }
    use ExternType as Of;
    Some(match instance.extern_type {
        Of::V1Counter | Of::Counter => Kind::Counter,
        Of::V1DirectCounter | Of::DirectCounter => Kind::DirectCounter,
        Of::V1Meter | Of::Meter => Kind::Meter,
        Of::V1DirectMeter | Of::DirectMeter => Kind::DirectMeter,
        Of::V1Register | Of::Register => Kind::Register,
        Of::V1ActionProfile | Of::V1ActionSelector | Of::ActionProfile | Of::ActionSelector => {
            Kind::ActionProfile
        }
        Of::Digest => Kind::Digest,
        _ => return None,
    })
}

/// Returns the size of an extern instance: its constructor argument `size`, `n_counters` or
/// `n_meters`, or 0 if it has none of them.
fn size(instance: &ExternInstance) -> i64 {
    instance
        .arguments
        .iter()
        .find(|argument| ["size", "n_counters", "n_meters"].contains(&argument.name.as_str()))
        .and_then(|argument| match &argument.value {
            Value::Bits(bits) => bits.to_u64().and_then(|size| i64::try_from(size).ok()),
            Value::Integer(size) => size.to_i64(),
            _ => None,
        })
        .unwrap_or(0)
}

/// Converts a match kind to the match type of P4Info. Returns `None` for `selector`, since the
/// inputs of an action selector are not match fields.
fn match_kind(kind: &MatchKind) -> Option<match_field::Match> {
    use match_field::{Match, MatchType};
    Some(match kind {
        MatchKind::Exact => Match::MatchType(MatchType::Exact.into()),
        MatchKind::Lpm => Match::MatchType(MatchType::Lpm.into()),
        MatchKind::Ternary => Match::MatchType(MatchType::Ternary.into()),
        MatchKind::Range => Match::MatchType(MatchType::Range.into()),
        MatchKind::Optional => Match::MatchType(MatchType::Optional.into()),
        MatchKind::Selector => return None,
        MatchKind::Other(name) => Match::OtherMatchType(name.clone()),
    })
}
