//! The mapping from the identifiers of P4Info to the objects of the program. It is made once, by
//! name, when a program is loaded.

use super::digests::BoundDigests;
use entities::schema::{self, ActionProfileId, CounterId, MeterId, RegisterId, Schema};
use entities::{EntityError, ValueType};
use ir::{ActionId, Composite, CompositeKind, ExternId, MatchKind, Program, TableId, ValueSetId};
use std::collections::{BTreeMap, HashMap};

/// The objects of the program, by their identifiers in P4Info.
#[derive(Debug, Default)]
pub(super) struct Binding {
    pub(super) tables: BTreeMap<schema::TableId, BoundTable>,
    pub(super) profiles: BTreeMap<ActionProfileId, ExternId>,
    pub(super) counters: BTreeMap<CounterId, ExternId>,
    pub(super) meters: BTreeMap<MeterId, ExternId>,
    pub(super) registers: BTreeMap<RegisterId, ExternId>,
    pub(super) value_sets: BTreeMap<schema::ValueSetId, ValueSetId>,
    pub(super) digests: BoundDigests,
}

/// A table as P4Info describes it, with the corresponding table of the program.
#[derive(Debug)]
pub(super) struct BoundTable {
    pub(super) id: TableId,
    /// The match field in P4Info of each key of the program's table. `None` for a key that is only
    /// an input of an action selector's hash, which P4Info does not have.
    pub(super) keys: Vec<Option<schema::MatchField>>,
    /// The actions of the table, in the order of P4Info.
    pub(super) actions: Vec<BoundAction>,
    pub(super) counter: Option<ExternId>,
    pub(super) meter: Option<ExternId>,
}

/// An action of a table as P4Info describes it, with the corresponding action of the program. Two
/// tables may have different instances of one action.
#[derive(Debug)]
pub(super) struct BoundAction {
    pub(super) of_schema: schema::ActionId,
    pub(super) of_program: ActionId,
    pub(super) name: String,
    /// The parameters of the action, in the order of the program.
    pub(super) params: Vec<BoundParam>,
}

/// A parameter of an action, as P4Info and the program describe it.
#[derive(Debug)]
pub(super) struct BoundParam {
    pub(super) id: schema::ParamId,
    pub(super) value: ValueType,
    pub(super) translated: Option<schema::TranslatedTypeId>,
    pub(super) name: String,
}

impl Binding {
    pub(super) fn new(schema: &Schema, program: &Program) -> Result<Self, EntityError> {
        let externs = positions(program.externs.iter().map(|instance| instance.name.as_str()));
        let instance = |kind: &str, name: &str| {
            externs.get(name).copied().map(ExternId).ok_or_else(|| missing(kind, name))
        };
        let tables = positions(program.tables.iter().map(|table| table.name.as_str()));
        let value_sets = positions(program.value_sets.iter().map(|set| set.name.as_str()));
        let digests = BoundDigests::new(schema, program);
        let mut binding = Self { digests, ..Self::default() };
        for table in schema.tables().iter() {
            binding.tables.insert(table.id, bound_table(schema, program, &tables, table)?);
        }
        for profile in schema.action_profiles().iter() {
            binding.profiles.insert(profile.id, instance("action profile", &profile.name)?);
        }
        for counter in schema.counters().iter() {
            binding.counters.insert(counter.id, instance("counter", &counter.name)?);
        }
        for meter in schema.meters().iter() {
            binding.meters.insert(meter.id, instance("meter", &meter.name)?);
        }
        for register in schema.registers().iter() {
            binding.registers.insert(register.id, instance("register", &register.name)?);
        }
        for set in schema.value_sets().iter() {
            let id = value_sets.get(set.name.as_str());
            let id = id.ok_or_else(|| missing("value set", &set.name))?;
            binding.value_sets.insert(set.id, ValueSetId(*id));
        }
        Ok(binding)
    }

    /// Returns an action that members of an action profile can run, with its parameters. Any table
    /// that uses the profile and has the action serves as its source.
    pub(super) fn action_of_profile(
        &self,
        schema: &Schema,
        profile: ActionProfileId,
        action: schema::ActionId,
    ) -> Option<&BoundAction> {
        let implementation = Some(schema::Implementation::ActionProfile(profile));
        let mut tables =
            schema.tables().iter().filter(|table| table.implementation == implementation);
        tables.find_map(|table| self.tables.get(&table.id)?.action(action))
    }
}

impl BoundTable {
    pub(super) fn action(&self, id: schema::ActionId) -> Option<&BoundAction> {
        self.actions.iter().find(|action| action.of_schema == id)
    }
}

fn bound_table(
    schema: &Schema,
    program: &Program,
    tables: &HashMap<&str, u32>,
    table: &schema::Table,
) -> Result<BoundTable, EntityError> {
    let position = tables.get(table.name.as_str());
    let id = TableId(*position.ok_or_else(|| missing("table", &table.name))?);
    let known = program.tables.get(id.index()).ok_or_else(|| missing("table", &table.name))?;

    let matched = known.keys.iter().filter(|key| key.match_kind != MatchKind::Selector).count();
    let keys = known.keys.iter().map(|key| {
        let field = table.match_fields.iter().find(|field| field.name == key.name);
        field.filter(|_| key.match_kind != MatchKind::Selector).cloned()
    });
    let keys: Vec<_> = keys.collect();
    if keys.iter().flatten().count() != matched || matched != table.match_fields.len() {
        return Err(EntityError::invalid(format!(
            "the keys of table '{}' are others in P4Info than in the program",
            table.name
        )));
    }

    let named = known.actions.iter().filter_map(|known| {
        let action = program.actions.get(known.action.index())?;
        Some((action.name.as_str(), known.action))
    });
    let mut ids: HashMap<&str, ActionId> = HashMap::new();
    named.for_each(|(name, id)| {
        ids.entry(name).or_insert(id);
    });
    let mut actions = Vec::with_capacity(table.actions.len());
    for reference in &table.actions {
        let Some(declared) = schema.actions().get(reference.id) else { continue };
        let of_program = ids.get(declared.name.as_str()).copied().ok_or_else(|| {
            let place = format!("action '{}' of table '{}'", declared.name, table.name);
            missing("action", &place)
        })?;
        let parameters = program.actions.get(of_program.index());
        let parameters =
            parameters.into_iter().flat_map(|action| action.control_plane_parameters());
        let mut params = Vec::new();
        for parameter in parameters {
            let param = declared.params.iter().find(|param| param.name == parameter.name);
            let param = param.ok_or_else(|| missing("parameter", &parameter.name))?;
            let (id, value, name) = (param.id, param.value, param.name.clone());
            params.push(BoundParam { id, value, translated: param.translated, name });
        }
        let (of_schema, name) = (reference.id, declared.name.clone());
        actions.push(BoundAction { of_schema, of_program, name, params });
    }

    let direct = |name: Option<&str>| {
        let ids = known.direct_externs.iter().copied();
        let mut named = ids.filter(|id| {
            let instance = program.externs.get(id.index());
            instance.is_some_and(|instance| Some(instance.name.as_str()) == name)
        });
        named.next()
    };
    let counter = table.direct_counter.and_then(|id| schema.direct_counters().get(id));
    let meter = table.direct_meter.and_then(|id| schema.direct_meters().get(id));
    Ok(BoundTable {
        id,
        keys,
        actions,
        counter: direct(counter.map(|counter| counter.name.as_str())),
        meter: direct(meter.map(|meter| meter.name.as_str())),
    })
}

/// Returns the widths in bits of the fields of a controller header. `name` is the name in the
/// header's `@controller_header` annotation. If no header has this annotation, as in programs from
/// BMv2 JSON, the only header is used whose fields have exactly the given names. Returns `None` if
/// that is not unique.
pub(super) fn controller_header(
    program: &Program,
    name: &str,
    fields: &[&str],
) -> Option<Vec<u32>> {
    let composites = program.types.composites.iter();
    let headers = composites.filter(|composite| composite.kind == CompositeKind::Header);
    let is_named = |composite: &&Composite| {
        let mut annotations = composite.annotations.iter();
        let found = annotations.find(|annotation| annotation.name == "controller_header");
        found.and_then(ir::Annotation::single_string) == Some(name)
    };
    let header = headers.clone().find(is_named).or_else(|| {
        let mut alike = headers.filter(|composite| {
            composite.fields.iter().map(|field| field.name.as_str()).eq(fields.iter().copied())
        });
        alike.next().filter(|_| alike.next().is_none())
    })?;
    let width = |field: &ir::Field| u32::try_from(program.types.width_in_bits(field.type_id)?).ok();
    header.fields.iter().map(width).collect()
}

/// Returns the position of the first occurrence of each name.
fn positions<'n>(names: impl Iterator<Item = &'n str>) -> HashMap<&'n str, u32> {
    let mut positions = HashMap::new();
    for (position, name) in (0..).zip(names) {
        positions.entry(name).or_insert(position);
    }
    positions
}

fn missing(kind: &str, name: &str) -> EntityError {
    EntityError::invalid(format!("P4Info has the {kind} '{name}', the program has not"))
}
