//! A program prepared for execution, with the properties of its types computed once.
//!
//! Objects of the program are looked up by identifier through this module or with `get`, so that an
//! IR file that was edited by hand causes an error and not a panic.

mod alone;
mod choosing;
mod costs;
mod head;
mod metadata;
mod names;
mod touched;

use alone::Alone;
pub(crate) use architectures::{DROP_PORT, MetadataField};
use choosing::Choosing;
pub(crate) use choosing::{ChoosingBlock, ChoosingStatement};
use costs::Costs;
pub(crate) use costs::{LARGE, UNROLLED};
pub(crate) use metadata::Fields as MetadataFields;
use metadata::MetadataUse;
use names::Names;
pub(crate) use names::{CoreError, Member, PacketPath};
pub(crate) use touched::Touched;

use crate::dialect::Dialect;
use crate::error::{LoadError, RunError};
use crate::value::Value;
use ir::bits::Bits;
use ir::{
    self, ActionId, Argument, BinaryOperator, CompileLimits, Composite, CompositeKind, ControlId,
    Expression, ExpressionKind, ExternCallee, ExternFunction, ExternId, ExternMethod, ExternType,
    ParserId, Place, Program, Statement, StatementKind, Type, TypeId, VariableId,
};
use num_bigint::BigInt;
use std::collections::HashMap;

/// The maximum number of single values (fields and elements) in all variables of a program, plus
/// those in one value of each type. This number of values takes some hundred megabytes of memory.
const MAX_CELLS: u64 = 1 << 22;
/// The default number of units of work that one packet may take before it ends with an error. A
/// unit is about one statement.
pub const PACKET_WORK: u32 = 1 << 22;

/// The largest width of a port number in bits.
const PORT_BITS: u64 = u32::BITS as u64;

/// Returns the width of v1model's `egress_spec` in bits, or `None` for other architectures.
fn egress_spec_bits(program: &Program) -> Option<u64> {
    let mut composites = program.types.composites.iter();
    let metadata = composites.find(|composite| composite.name == "standard_metadata_t")?;
    let field = metadata.fields.iter().find(|field| field.name == "egress_spec")?;
    program.types.width_in_bits(field.type_id)
}

/// Returns those low bits of a port number that fit into `egress_spec`.
fn masked(port: u16, bits: Option<u64>) -> u16 {
    match bits.and_then(|bits| 1_u16.checked_shl(u32::try_from(bits).ok()?)) {
        Some(numbers) => port & (numbers - 1),
        None => port,
    }
}

/// A program, and properties of it that are computed once when it is loaded.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) program: Program,
    types: Vec<Type>,
    /// The number of single values (fields and elements) in a value of each type. A wide number
    /// counts as several.
    sizes: Vec<u64>,
    /// The number of single values (fields and elements) in all variables of the program together.
    pub(crate) frame_size: u64,
    /// The initial value of a variable of each type.
    initials: Vec<Value>,
    /// The variable or field into which the program reads the colour of each direct meter, in
    /// BMv2's dialects.
    meter_results: HashMap<ExternId, Place>,
    pub(crate) dialect: Dialect,
    /// v1model: the port that `mark_to_drop` sets. No packet leaves through it.
    pub(crate) drop_port: u16,
    /// v1model: the width of `egress_spec` in bits. A program may declare a v1model of its own, in
    /// which ports have another width than BMv2's.
    egress_spec_bits: Option<u64>,
    pub(crate) names: Names,
    /// v1model: the variables that `mark_to_drop` changes when it is called in its older form,
    /// without an argument.
    standard_metadata: Vec<VariableId>,
    /// PNA: the order of the arguments in the structs that `add_entry` receives. For each pair of a
    /// struct type and an action, the list holds the position of the field for each parameter of
    /// the action.
    added_arguments: HashMap<(TypeId, ActionId), Vec<usize>>,
    /// The variables of the program that are not parameters.
    locals: Vec<VariableId>,
    alone: Alone,
    choosing: Choosing,
    pub(crate) costs: Costs,
    /// The number of units of work that one received packet may take, with all its passes and
    /// copies. See [`Costs`].
    pub(crate) packet_work: u32,
    /// The fields of the architecture's metadata that the program reads, and those that it writes.
    pub(crate) metadata: MetadataUse,
    /// v1model: whether the program reads the lengths of queues. If it does not, they are not
    /// measured.
    pub(crate) reads_queue_depth: bool,
    /// The maximum number of bytes at the start of a packet that the program reads. `None` if there
    /// is no such limit, or if the program does more with the remaining bytes than pass them on.
    pub(crate) head_bytes: Option<u64>,
}

impl Layout {
    pub(crate) fn new(program: Program) -> Result<Self, LoadError> {
        if program.version != Program::VERSION {
            return Err(LoadError::Version { found: program.version, known: Program::VERSION });
        }
        let types: Vec<Type> = program.types.iter().map(|(_, ty)| ty).collect();
        let mut sizes = vec![None; types.len()];
        for position in 0..types.len() {
            cells(&program, &types, &mut sizes, position, CompileLimits::MAX_TYPE_DEPTH)?;
        }
        let of_types: u64 = sizes.iter().flatten().fold(0, |sum, size| sum.saturating_add(*size));
        let mut frame_size: u64 = 0;
        for variable in &program.variables {
            let size = sizes.get(variable.type_id.index()).copied().flatten();
            let size = size.ok_or_else(|| LoadError::internal("type of a variable"))?;
            frame_size = frame_size.saturating_add(size);
        }
        let total = of_types.saturating_add(frame_size);
        if total > MAX_CELLS {
            return Err(LoadError::TooLarge { values: total, most: MAX_CELLS });
        }
        let egress_spec_bits = egress_spec_bits(&program);
        if let Some(bits) = egress_spec_bits.filter(|bits| *bits > PORT_BITS) {
            return Err(LoadError::PortWidth { bits });
        }
        let meter_results = meter_results(&program);
        let (dialect, names) = (Dialect::of(&program.architecture), Names::new(&program));
        let metadata = MetadataUse::of(&program, &names);
        let depths = [MetadataField::EnqQdepth, MetadataField::DeqQdepth];
        let reads_queue_depth = depths.into_iter().any(|field| metadata.read.contains(field));
        let mut layout = Self {
            metadata,
            reads_queue_depth,
            head_bytes: head::bytes(&program, reads_queue_depth),
            dialect,
            drop_port: masked(DROP_PORT, egress_spec_bits),
            egress_spec_bits,
            names,
            standard_metadata: standard_metadata(&program),
            added_arguments: added_arguments(&program),
            locals: locals(&program),
            alone: Alone::new(&program),
            choosing: Choosing::default(),
            costs: Costs::default(),
            packet_work: PACKET_WORK,
            types,
            sizes: sizes.into_iter().map(Option::unwrap_or_default).collect(),
            frame_size,
            initials: Vec::new(),
            meter_results,
            program,
        };
        let initials = (0..layout.types.len())
            .map(|position| layout.build(TypeId(position as u32)))
            .collect::<Option<Vec<_>>>();
        layout.initials = initials.ok_or_else(|| LoadError::internal("type"))?;
        let nested = ir::with_large_stack(|| (Costs::new(&layout), Choosing::new(&layout.program)));
        (layout.costs, layout.choosing) =
            nested.map_err(|error| LoadError::Thread(error.to_string()))?;
        Ok(layout)
    }

    /// Sets v1model's port for dropped packets. Returns whether it differs from the previous one.
    /// Only the low bits of `port` that fit into `egress_spec` count.
    pub(crate) fn set_drop_port(&mut self, port: u16) -> bool {
        let port = masked(port, self.egress_spec_bits);
        std::mem::replace(&mut self.drop_port, port) != port
    }

    fn build(&self, type_id: TypeId) -> Option<Value> {
        Some(match self.get(type_id)? {
            Type::Bool => Value::Bool(false),
            Type::Bits { width, signed } => Value::Bits(Bits::zero(width, signed)),
            Type::ActionRun(_) => Value::Bits(Bits::zero(32, false)),
            Type::Varbits { .. } => Value::Varbits(Bits::zero(0, false)),
            Type::Integer => Value::Integer(BigInt::from(0)),
            Type::Error => Value::Error(0),
            Type::Enum(_) => Value::Enum(0),
            Type::String => Value::String(String::new()),
            Type::Composite(id) => {
                let composite = self.program.types.composites.get(id.index())?;
                let fields = composite.fields.iter().map(|field| self.build(field.type_id));
                Value::composite(composite.kind, false, fields.collect::<Option<_>>()?)
            }
            Type::Stack { element, size } => {
                Value::Stack { elements: vec![self.build(element)?; size as usize], next: 0 }
            }
        })
    }

    /// Returns the number of single values (fields and elements) in a value of this type. A wide
    /// number counts as several.
    pub(crate) fn size(&self, type_id: TypeId) -> u64 {
        self.sizes.get(type_id.index()).copied().unwrap_or(1)
    }

    /// Returns the type with this identifier.
    pub(crate) fn get(&self, type_id: TypeId) -> Option<Type> {
        self.types.get(type_id.index()).copied()
    }

    /// Returns the initial value of a variable of this type: zero, invalid, or empty.
    pub(crate) fn initial(&self, type_id: TypeId) -> Option<&Value> {
        self.initials.get(type_id.index())
    }

    /// Returns the struct, header or header union with this identifier, or `None` for a type of
    /// another kind.
    pub(crate) fn composite(&self, type_id: TypeId) -> Option<&Composite> {
        match self.get(type_id)? {
            Type::Composite(id) => self.program.types.composites.get(id.index()),
            _ => None,
        }
    }

    /// Returns the variable or field into which the program reads the colour of a direct meter.
    pub(crate) fn meter_result(&self, meter: ExternId) -> Option<&Place> {
        self.meter_results.get(&meter)
    }

    /// Converts a constant of the program to a value of type `type_id`.
    pub(crate) fn constant(&self, type_id: TypeId, constant: &ir::Value) -> Option<Value> {
        Some(match constant {
            ir::Value::Bits(bits) => Value::Bits(bits.clone()),
            ir::Value::Bool(value) => Value::Bool(*value),
            ir::Value::Error(position) => Value::Error(*position),
            ir::Value::Enum(position) => Value::Enum(*position),
            ir::Value::String(text) => Value::String(text.clone()),
            ir::Value::Integer(number) => match self.get(type_id)? {
                Type::Bits { width, signed } => {
                    Value::Bits(Bits::from_bigint(width, signed, number))
                }
                _ => Value::Integer(number.clone()),
            },
            ir::Value::Composite(values) => {
                let composite = self.composite(type_id)?;
                let fields = composite
                    .fields
                    .iter()
                    .zip(values)
                    .map(|(field, value)| self.constant(field.type_id, value))
                    .collect::<Option<Vec<_>>>()?;
                Value::composite(composite.kind, true, fields)
            }
        })
    }

    /// Returns the variables of the program that are not parameters.
    pub(crate) fn locals(&self) -> &[VariableId] {
        &self.locals
    }

    /// Returns whether a control of the package must run alone, as with `@atomic`: it and other
    /// such blocks must not run at the same time.
    pub(crate) fn runs_alone(&self, id: ControlId) -> bool {
        self.alone.control(id, self.dialect)
    }

    /// Returns whether a parser of the package must run alone, as with `@atomic`: it and other such
    /// blocks must not run at the same time.
    pub(crate) fn runs_alone_parser(&self, id: ParserId) -> bool {
        self.alone.parser(id, self.dialect)
    }

    /// Returns the statements of a control in which a packet may choose a member of an action
    /// selector's group, or `None` if there is no such statement.
    pub(crate) fn choosing(&self, id: ControlId) -> Option<&ChoosingBlock> {
        self.choosing.of(id)
    }

    /// Returns the variables of the program that hold v1model's standard metadata.
    pub(crate) fn standard_metadata(&self) -> &[VariableId] {
        &self.standard_metadata
    }

    /// Returns the positions of an action's arguments in a struct of type `given` that PNA's
    /// `add_entry` receives, one for each parameter of the action.
    pub(crate) fn added_arguments(&self, given: TypeId, action: ActionId) -> Option<&[usize]> {
        self.added_arguments.get(&(given, action)).map(Vec::as_slice)
    }

    /// Returns a field of a struct or header, or `None` if there is no such field.
    pub(crate) fn field<'v>(
        &self,
        value: &'v Value,
        type_id: TypeId,
        field: MetadataField,
    ) -> Option<&'v Value> {
        let position = self.names.slot(type_id, field)?;
        match value {
            Value::Struct(fields) | Value::Header { fields, .. } => fields.get(position),
            _ => None,
        }
    }

    /// Returns the number in a field of a struct, or zero if there is no such field.
    pub(crate) fn field_number(
        &self,
        value: &Value,
        type_id: TypeId,
        field: MetadataField,
    ) -> u128 {
        let pattern = self.field(value, type_id, field).and_then(Value::to_pattern);
        pattern.and_then(|bits| bits.to_u128()).unwrap_or(0)
    }

    /// Sets a field of a struct to a number, converted to the field's type. Has no effect if there
    /// is no such field.
    pub(crate) fn set_field(
        &self,
        value: &mut Value,
        type_id: TypeId,
        field: MetadataField,
        number: u128,
    ) {
        let Some(position) = self.names.slot(type_id, field) else { return };
        if let Value::Struct(fields) | Value::Header { fields, .. } = value
            && let Some(field) = fields.get_mut(position)
        {
            *field = Value::from_pattern(field, &Bits::unsigned(128, number));
        }
    }

    /// Returns the name of an enumeration's member.
    pub(crate) fn enum_member(&self, type_id: TypeId, value: &Value) -> Option<&str> {
        let (Type::Enum(id), Value::Enum(position)) = (self.get(type_id)?, value) else {
            return None;
        };
        let members = &self.program.types.enums.get(id.index())?.members;
        members.get(*position as usize).map(String::as_str)
    }

    /// Returns the meaning of an enumeration's member to the architecture.
    pub(crate) fn member(&self, type_id: TypeId, value: &Value) -> Option<&Member> {
        match (self.get(type_id)?, value) {
            (Type::Enum(id), Value::Enum(position)) => self.names.member(id, *position),
            _ => None,
        }
    }

    /// Returns the error of a packet that exceeds its work limit.
    pub(crate) fn work_limit(&self) -> RunError {
        RunError::WorkLimit(self.packet_work.into())
    }

    /// Formats a value for people, with the names of fields, errors and members.
    pub(crate) fn render(&self, value: &Value, type_id: TypeId) -> String {
        match (value, self.get(type_id)) {
            (Value::Error(position), _) => {
                let name = self.program.errors.get(*position as usize);
                name.map_or_else(|| value.to_string(), |name| format!("error.{name}"))
            }
            (Value::Enum(_), _) => {
                self.enum_member(type_id, value).map_or_else(|| value.to_string(), str::to_owned)
            }
            (Value::Header { valid: false, .. }, _) => "invalid".to_owned(),
            (
                Value::Struct(values) | Value::Header { fields: values, .. } | Value::Union(values),
                Some(Type::Composite(_)),
            ) => {
                let composite = self.composite(type_id);
                let fields = composite.map_or(&[][..], |composite| &composite.fields);
                let named = composite.is_some_and(|known| known.kind != CompositeKind::Tuple);
                let parts = fields.iter().zip(values).map(|(field, value)| {
                    let text = self.render(value, field.type_id);
                    if named { format!("{} = {text}", field.name) } else { text }
                });
                format!("{{{}}}", parts.collect::<Vec<_>>().join(", "))
            }
            (Value::Stack { elements, .. }, Some(Type::Stack { element, .. })) => {
                let parts = elements.iter().map(|value| self.render(value, element));
                format!("[{}]", parts.collect::<Vec<_>>().join(", "))
            }
            _ => value.to_string(),
        }
    }

    /// Adds the fields of a value to `fields`, each with its name and formatted value. Fields of
    /// invalid headers are left out. `prefix` is put in front of the names.
    pub(crate) fn add_fields(
        &self,
        value: &Value,
        type_id: TypeId,
        prefix: &str,
        fields: &mut Vec<(String, String)>,
    ) {
        let joined = |name: &str| match prefix {
            "" => name.to_owned(),
            prefix => format!("{prefix}.{name}"),
        };
        match (value, self.get(type_id)) {
            (Value::Header { valid: false, .. }, _) => {}
            (
                Value::Struct(values) | Value::Header { fields: values, .. } | Value::Union(values),
                Some(Type::Composite(_)),
            ) => {
                let known = self.composite(type_id).map_or(&[][..], |known| &known.fields);
                for (field, value) in known.iter().zip(values) {
                    self.add_fields(value, field.type_id, &joined(&field.name), fields);
                }
            }
            (Value::Stack { elements, .. }, Some(Type::Stack { element, .. })) => {
                for (index, value) in elements.iter().enumerate() {
                    self.add_fields(value, element, &format!("{prefix}[{index}]"), fields);
                }
            }
            _ => fields.push((prefix.to_owned(), self.render(value, type_id))),
        }
    }

    /// Formats a location as `file:line:column`, like a compiler.
    pub(crate) fn place_in_source(&self, location: Option<ir::Location>) -> String {
        let Some(location) = location else { return "the program".to_owned() };
        let file = self.program.files.get(location.file as usize);
        let file = file.map_or("the program", String::as_str);
        format!("{file}:{}:{}", location.line, location.column)
    }
}

/// Returns, for each direct meter of v1model or PSA, the variable or field in which the program
/// stores the meter's colour. p4c allows only one such place for each meter.
fn meter_results(program: &Program) -> HashMap<ExternId, Place> {
    let mut results = HashMap::new();
    each_statement(program, &mut |statement| {
        if let StatementKind::CallExtern { callee, arguments, result, .. } = &statement.kind
            && let ExternCallee::Method { instance, method } = callee
            && let Some(meter) = program.externs.get(instance.index())
        {
            let place = match (&meter.extern_type, method, arguments.first()) {
                (ExternType::V1DirectMeter, ExternMethod::Read, Some(Argument::Out(place))) => {
                    Some(place)
                }
                (ExternType::DirectMeter, ExternMethod::Execute, _) => result.as_ref(),
                _ => None,
            };
            if let Some(place) = place {
                results.insert(*instance, place.clone());
            }
        }
    });
    results
}

fn locals(program: &Program) -> Vec<VariableId> {
    let mut is_parameter = vec![false; program.variables.len()];
    let of_blocks = program.parsers.iter().map(|parser| &parser.parameters);
    let of_blocks = of_blocks.chain(program.controls.iter().map(|control| &control.parameters));
    let of_blocks = of_blocks.chain(program.functions.iter().map(|function| &function.parameters));
    let of_actions = program.actions.iter().flat_map(|action| &action.parameters);
    let parameters = of_blocks.flatten().map(|parameter| parameter.variable);
    for variable in parameters.chain(of_actions.map(|parameter| parameter.variable)) {
        if let Some(is_parameter) = is_parameter.get_mut(variable.index()) {
            *is_parameter = true;
        }
    }
    let variables = (0..).map(VariableId).zip(is_parameter);
    variables.filter(|(_, is_parameter)| !is_parameter).map(|(variable, _)| variable).collect()
}

fn standard_metadata(program: &Program) -> Vec<VariableId> {
    let is_standard = |variable: &ir::Variable| {
        let composite = match program.types.find(variable.type_id) {
            Some(Type::Composite(id)) => program.types.composites.get(id.index()),
            _ => None,
        };
        composite.is_some_and(|composite| composite.name == "standard_metadata_t")
    };
    let variables = program.variables.iter().enumerate();
    variables
        .filter(|(_, variable)| is_standard(variable))
        .map(|(position, _)| VariableId(position as u32))
        .collect()
}

/// Returns the order of the arguments in each `add_entry` of PNA: for each parameter of the new
/// entry's action, the position of its value in the struct that `add_entry` receives. Fields of a
/// struct are matched to parameters by name, and those of a tuple by position.
fn added_arguments(program: &Program) -> HashMap<(TypeId, ActionId), Vec<usize>> {
    let mut positions = HashMap::new();
    each_statement(program, &mut |statement| {
        let StatementKind::CallExtern { callee, arguments, .. } = &statement.kind else { return };
        if !matches!(
            callee,
            ExternCallee::Function(ExternFunction::AddEntry | ExternFunction::AddEntryIf)
        ) {
            return;
        }
        let named = arguments.iter().position(|argument| matches!(argument, Argument::Action(_)));
        let Some((position, Argument::Action(action_id))) =
            named.and_then(|position| Some((position, arguments.get(position)?)))
        else {
            return;
        };
        let Some(Argument::In(given)) = arguments.get(position + 1) else { return };
        let Some(action) = program.actions.get(action_id.index()) else { return };
        let fields = match program.types.find(given.type_id) {
            Some(Type::Composite(id)) => program.types.composites.get(id.index()),
            _ => None,
        };
        let fields = fields.map_or(&[][..], |composite| &composite.fields);
        let parameters = action.control_plane_parameters().enumerate();
        let places = parameters.map(|(position, parameter)| {
            fields.iter().position(|field| field.name == parameter.name).unwrap_or(position)
        });
        positions.insert((given.type_id, *action_id), places.collect());
    });
    positions
}

/// Returns the field that is behind a table's key. The key may be the field itself, a slice of it,
/// or the field under a mask.
pub(crate) fn field_of_key(key: &Expression) -> &Expression {
    let is_constant = |operand: &Expression| matches!(operand.kind, ExpressionKind::Constant(_));
    match &key.kind {
        ExpressionKind::Binary(BinaryOperator::BitAnd, left, right) if is_constant(right) => left,
        ExpressionKind::Binary(BinaryOperator::BitAnd, left, right) if is_constant(left) => right,
        ExpressionKind::Slice { operand, .. } => operand,
        _ => key,
    }
}

/// Calls `visit` with every statement of a program, including nested ones.
pub(crate) fn each_statement<'p>(program: &'p Program, visit: &mut dyn FnMut(&'p Statement)) {
    let mut blocks: Vec<&ir::Block> = Vec::new();
    blocks.extend(program.controls.iter().map(|control| &control.body));
    blocks.extend(program.actions.iter().map(|action| &action.body));
    blocks.extend(program.functions.iter().map(|function| &function.body));
    for table in &program.tables {
        blocks.push(&table.before_keys);
        blocks.extend(table.actions.iter().map(|reference| &reference.before_arguments));
    }
    for parser in &program.parsers {
        blocks.push(&parser.prologue);
        blocks.extend(parser.states.iter().map(|state| &state.body));
    }
    each_statement_in(blocks, visit);
}

/// Calls `visit` with every statement in the given blocks, including nested ones.
pub(crate) fn each_statement_in<'p>(
    mut blocks: Vec<&'p ir::Block>,
    visit: &mut dyn FnMut(&'p Statement),
) {
    while let Some(block) = blocks.pop() {
        for statement in block {
            ir::meter::count(1);
            visit(statement);
            match &statement.kind {
                StatementKind::If { then, otherwise, .. } => blocks.extend([then, otherwise]),
                StatementKind::Switch { cases, default, .. } => {
                    blocks.extend(cases.iter().map(|case| &case.body));
                    blocks.push(default);
                }
                StatementKind::For { before_condition, update, body, .. } => {
                    blocks.extend([before_condition, update, body]);
                }
                _ => {}
            }
        }
    }
}

/// Returns the number of single values (fields and elements) in a value of a type.
fn cells(
    program: &Program,
    types: &[Type],
    sizes: &mut [Option<u64>],
    position: usize,
    depth: u32,
) -> Result<u64, LoadError> {
    if let Some(Some(known)) = sizes.get(position) {
        return Ok(*known);
    }
    let depth =
        depth.checked_sub(1).ok_or_else(|| LoadError::internal("type that contains itself"))?;
    let size = match types.get(position).ok_or_else(|| LoadError::internal("type"))? {
        Type::Composite(id) => {
            let composite = program.types.composites.get(id.index());
            let composite = composite.ok_or_else(|| LoadError::internal("composite type"))?;
            let mut sum: u64 = 1;
            for field in &composite.fields {
                let size = cells(program, types, sizes, field.type_id.index(), depth)?;
                sum = sum.saturating_add(size);
            }
            sum
        }
        Type::Stack { element, size } => {
            let element = cells(program, types, sizes, element.index(), depth)?;
            element.saturating_mul(u64::from(*size)).saturating_add(1)
        }
        Type::Bits { width, .. } | Type::Varbits { max_width: width } => {
            1 + u64::from(*width) / crate::value::CELL_BITS
        }
        _ => 1,
    };
    if let Some(slot) = sizes.get_mut(position) {
        *slot = Some(size);
    }
    Ok(size)
}
