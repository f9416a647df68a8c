//! Checks that a program satisfies the invariants of the IR, so that code that reads the IR need
//! not check them.
//!
//! Every program is checked, whether it comes from P4 source, BMv2 JSON or an IR file. After
//! [`Program::validate`], ids of types, variables and objects are in range, every expression and
//! place has the type that it states, no type contains itself and no callable calls itself. Code
//! that reads the program may therefore index without checks, and its recursion is as deep as
//! [`CompileLimits`] allows types and calls to nest. The validator does not check the file of a
//! [`Location`], the control of an action's scope, and whether the arguments of an extern fit its
//! declaration.

mod expression;

use std::fmt;

use super::type_sizes::{TypeSizes, Unmeasured};
use super::{
    Action, ActionCall, ActionId, Argument, Block, CompileLimits, CompositeKind, Direction,
    ExternCallee, FunctionId, KeySet, Limit, Location, Package, PackageValue, Parameter, Place,
    Program, Statement, StatementKind, Table, TableId, TableImplementation, Target, Transition,
    Type, TypeId, UpdateMethod, UserTypeKind, Value, VariableId,
};
use expression::PlaceType;

/// The largest nesting depth of blocks, expressions, constants and packages. The depth of an
/// expression is added to that of the blocks around it. The depth of types is limited by
/// [`CompileLimits`].
const DEPTH_LIMIT: u32 = 1_200;

/// An invariant of the IR that a program violates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The part of the program that violates the invariant, such as a table.
    pub part: String,
    /// A description of the violation.
    pub problem: String,
    /// The location in the source of the statement or item that was checked last before the
    /// violation was found.
    pub location: Option<Location>,
    /// The limit that the program exceeds, or `None` for any other violation.
    pub limit: Option<Limit>,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.limit {
            Some(_) => write!(formatter, "{}: {}", self.problem, self.part),
            None => write!(formatter, "{}: {}", self.part, self.problem),
        }
    }
}

impl std::error::Error for Violation {}

impl Program {
    /// Checks the program with the default [`CompileLimits`].
    ///
    /// # Errors
    /// Returns the first violation.
    pub fn validate(&self) -> Result<(), Violation> {
        self.validate_within(&CompileLimits::default())
    }

    /// Checks the program with the given limits.
    ///
    /// # Errors
    /// Returns the first violation, which may be a limit that is exceeded.
    pub fn validate_within(&self, limits: &CompileLimits) -> Result<(), Violation> {
        let mut validator = Validator {
            program: self,
            limits,
            part: String::new(),
            at: None,
            result: None,
            loops: 0,
            depth: 0,
        };
        validator.types()?;
        validator.whole()?;
        super::call_graph::check(self, limits)
    }
}

type Outcome<T = ()> = Result<T, Violation>;

/// Returns whether the callee assigns a new value to the argument's place, as for `out` and
/// `inout`.
fn is_copied_out(argument: &Argument) -> bool {
    matches!(argument, Argument::Out(_) | Argument::InOut(_) | Argument::Saved { .. })
}

/// The state of validating one program.
struct Validator<'p> {
    program: &'p Program,
    limits: &'p CompileLimits,
    part: String,
    /// The source location that was seen last while checking the current part of the program. A
    /// violation reports it.
    at: Option<Location>,
    /// The return type of the function that is being checked. `None` outside functions, and for a
    /// function that returns `void`.
    result: Option<TypeId>,
    loops: u32,
    depth: u32,
}

impl<'p> Validator<'p> {
    fn fail<T>(&self, problem: impl Into<String>) -> Outcome<T> {
        self.violates(problem, None)
    }

    fn violates<T>(&self, problem: impl Into<String>, limit: Option<Limit>) -> Outcome<T> {
        let (part, location) = (self.part.clone(), self.at);
        Err(Violation { part, problem: problem.into(), location, limit })
    }

    fn demand(&self, holds: bool, problem: &str) -> Outcome {
        if holds { Ok(()) } else { self.fail(problem) }
    }

    fn enter(&mut self, kind: &str, name: &str) {
        self.at = None;
        self.part = format!("{kind} `{name}`");
    }

    fn nested<T>(&mut self, check: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        self.depth += 1;
        let outcome = if self.depth > DEPTH_LIMIT {
            self.fail("it is nested too deeply")
        } else {
            check(self)
        };
        self.depth -= 1;
        outcome
    }

    /// Checks that types refer only to types that exist.
    fn types(&mut self) -> Outcome {
        let types = &self.program.types;
        for (id, ty) in types.iter() {
            self.at = None;
            self.part = format!("type {}", id.0);
            match ty {
                Type::Enum(id) => {
                    self.demand(id.index() < types.enums.len(), "no such enumeration")?;
                }
                Type::Composite(id) => {
                    self.demand(id.index() < types.composites.len(), "no such composite")?;
                }
                Type::Stack { element, .. } => {
                    let known = types.find(element);
                    self.demand(known.is_some(), "no such element type")?;
                }
                Type::ActionRun(table) => {
                    self.demand(table.index() < self.program.tables.len(), "no such table")?;
                }
                _ => {}
            }
        }
        for composite in &types.composites {
            self.enter("type", &composite.name);
            for field in &composite.fields {
                self.known_type(field.type_id)?;
                self.known_user_type(field.user_type)?;
            }
        }
        let mut sizes = TypeSizes::new(types, self.limits);
        for (id, _) in types.iter() {
            let Err(unmeasured) = sizes.admit(id) else { continue };
            let composite = types.composite(id);
            self.part = match composite {
                Some(composite) => format!("type `{}`", composite.name),
                None => format!("type {}", id.0),
            };
            self.at = composite.and_then(|composite| composite.location);
            return match unmeasured {
                Unmeasured::Recursive => self.fail("it contains itself"),
                Unmeasured::Exceeded(exceeded) => {
                    self.violates(exceeded.to_string(), Some(exceeded.limit))
                }
            };
        }
        for (position, user) in types.user_types.iter().enumerate() {
            self.enter("type", &user.name);
            match &user.kind {
                UserTypeKind::NewType { original, original_user_type } => {
                    self.known_type(*original)?;
                    self.demand(
                        original_user_type.is_none_or(|original| original.index() < position),
                        "declared before what it stands for",
                    )?;
                }
                UserTypeKind::SerializableEnum { underlying, members, member_annotations } => {
                    self.known_type(*underlying)?;
                    self.demand(
                        members.len() == member_annotations.len(),
                        "annotations for a different number of members",
                    )?;
                    for (_, value) in members {
                        self.fits(*underlying, &Value::Bits(value.clone()))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks the whole program.
    fn whole(&mut self) -> Outcome {
        let program = self.program;
        self.at = None;
        self.part = "program".to_owned();
        self.demand(
            program.version == Program::VERSION,
            "a version that this reader does not know",
        )?;
        self.demand(
            program.errors.first().is_some_and(|first| first == "NoError"),
            "the first error is not NoError",
        )?;
        for variable in &program.variables {
            self.enter("variable", &variable.name);
            self.known_type(variable.type_id)?;
        }
        for instance in &program.externs {
            self.enter("extern", &instance.name);
            for type_id in &instance.type_arguments {
                self.known_type(*type_id)?;
            }
            for user_type in &instance.type_argument_user_types {
                self.known_user_type(*user_type)?;
            }
            for argument in &instance.arguments {
                self.known_type(argument.type_id)?;
                self.fits(argument.type_id, &argument.value)?;
            }
            self.demand(
                instance.table.is_none_or(|table| table.index() < program.tables.len()),
                "bound to no table",
            )?;
        }
        for set in &program.value_sets {
            self.enter("value set", &set.name);
            self.known_type(set.type_id)?;
            self.known_user_type(set.user_type)?;
        }
        for function in &program.functions {
            self.enter("function", &function.name);
            self.parameters(&function.parameters)?;
            if let Some(result) = function.return_type {
                self.known_type(result)?;
            }
            self.result = function.return_type;
            self.block(&function.body)?;
            self.result = None;
        }
        for action in &program.actions {
            self.enter("action", &action.name);
            for parameter in &action.parameters {
                self.parameter(parameter.variable, parameter.type_id)?;
                self.known_user_type(parameter.user_type)?;
            }
            self.block(&action.body)?;
        }
        for table in &program.tables {
            self.enter("table", &table.name);
            self.table(table)?;
        }
        for parser in &program.parsers {
            self.enter("parser", &parser.name);
            self.parameters(&parser.parameters)?;
            self.block(&parser.prologue)?;
            let count = parser.states.len();
            self.demand(parser.start.index() < count, "no start state")?;
            for state in &parser.states {
                self.at = None;
                self.part = format!("parser `{}`, state `{}`", parser.name, state.name);
                self.block(&state.body)?;
                self.transition(&state.transition, count)?;
            }
        }
        for control in &program.controls {
            self.enter("control", &control.name);
            self.parameters(&control.parameters)?;
            self.block(&control.body)?;
        }
        self.package(&program.main)
    }

    fn package(&mut self, package: &Package) -> Outcome {
        let program = self.program;
        self.nested(|validator| {
            for argument in &package.arguments {
                validator.part =
                    format!("package `{}`, argument `{}`", package.name, argument.name);
                let known = match &argument.value {
                    PackageValue::Parser(id) => id.index() < program.parsers.len(),
                    PackageValue::Control(id) => id.index() < program.controls.len(),
                    PackageValue::Extern(id) => id.index() < program.externs.len(),
                    PackageValue::Value(_) => true,
                    PackageValue::Package(inner) => {
                        validator.package(inner)?;
                        true
                    }
                };
                validator.demand(known, "bound to nothing")?;
            }
            Ok(())
        })
    }

    fn table(&mut self, table: &Table) -> Outcome {
        let program = self.program;
        self.demand(table.control.index() < program.controls.len(), "in no control")?;
        self.demand(
            table.implementation.is_none() || table.storage.update == UpdateMethod::Pointer,
            "`update` of entries that refer to members: those are written in place",
        )?;
        self.block(&table.before_keys)?;
        for key in &table.keys {
            self.expression(&key.expression)?;
            self.known_user_type(key.user_type)?;
        }
        for reference in &table.actions {
            let action = self.action(reference.action)?;
            self.block(&reference.before_arguments)?;
            let directions: Vec<(Direction, TypeId)> = action
                .parameters
                .iter()
                .filter_map(|parameter| Some((parameter.direction?, parameter.type_id)))
                .collect();
            self.arguments(&reference.arguments, &directions)?;
        }
        self.action_call(table, &table.default_action)?;
        if let Some(call) = &table.empty_group_action {
            self.action_call(table, call)?;
        }
        for entry in &table.entries {
            self.demand(
                entry.key_sets.len() == table.keys.len(),
                "an entry with too many or too few key sets",
            )?;
            for (set, key) in entry.key_sets.iter().zip(&table.keys) {
                let type_id = key.expression.type_id;
                match set {
                    KeySet::Any => {}
                    KeySet::Exact(value) => self.fits(type_id, value)?,
                    KeySet::Mask { value, mask } => {
                        self.fits(type_id, value)?;
                        self.fits(type_id, mask)?;
                    }
                    KeySet::Range { low, high } => {
                        self.fits(type_id, low)?;
                        self.fits(type_id, high)?;
                    }
                    KeySet::ValueSet(_) => return self.fail("an entry with a value set"),
                }
            }
            self.action_call(table, &entry.action)?;
        }
        if let Some(
            TableImplementation::ActionProfile(id) | TableImplementation::ActionSelector(id),
        ) = table.implementation
        {
            self.demand(id.index() < program.externs.len(), "no such action profile")?;
        }
        for id in &table.direct_externs {
            self.demand(id.index() < program.externs.len(), "no such direct extern")?;
        }
        Ok(())
    }

    fn action_call(&mut self, table: &Table, call: &ActionCall) -> Outcome {
        let Some(reference) = table.actions.get(call.position as usize) else {
            return self.fail("an action that the table does not have");
        };
        let action = self.action(reference.action)?;
        let parameters: Vec<TypeId> =
            action.control_plane_parameters().map(|parameter| parameter.type_id).collect();
        self.demand(
            parameters.len() == call.arguments.len(),
            "an action with too many or too few values",
        )?;
        for (type_id, value) in parameters.iter().zip(&call.arguments) {
            self.fits(*type_id, value)?;
        }
        Ok(())
    }

    fn transition(&mut self, transition: &Transition, states: usize) -> Outcome {
        let target = |validator: &Self, target: Target| match target {
            Target::State(state) => {
                validator.demand(state.index() < states, "a target that is not a state")
            }
            Target::Accept | Target::Reject => Ok(()),
        };
        match transition {
            Transition::Direct(to) => target(self, *to),
            Transition::Select { subjects, cases } => {
                for subject in subjects {
                    self.expression(subject)?;
                }
                for case in cases {
                    target(self, case.target)?;
                    let single =
                        matches!(case.key_sets.as_slice(), [KeySet::ValueSet(_) | KeySet::Any]);
                    self.demand(
                        single || case.key_sets.len() == subjects.len(),
                        "a case with too many or too few key sets",
                    )?;
                    for (position, set) in case.key_sets.iter().enumerate() {
                        let wanted = subjects.get(position).map(|subject| subject.type_id);
                        match set {
                            KeySet::Any => {}
                            KeySet::Exact(value) => self.of_type(value, wanted)?,
                            KeySet::Mask { value, mask } => {
                                self.of_type(value, wanted)?;
                                self.of_type(mask, wanted)?;
                            }
                            KeySet::Range { low, high } => {
                                self.of_type(low, wanted)?;
                                self.of_type(high, wanted)?;
                            }
                            KeySet::ValueSet(id) => self.demand(
                                id.index() < self.program.value_sets.len(),
                                "no such value set",
                            )?,
                        }
                    }
                }
                Ok(())
            }
        }
    }

    fn block(&mut self, block: &Block) -> Outcome {
        self.nested(|validator| {
            block.iter().try_for_each(|statement| validator.statement(statement))
        })
    }

    fn statement(&mut self, statement: &Statement) -> Outcome {
        super::meter::count(1);
        let program = self.program;
        self.at = statement.location.or(self.at);
        match &statement.kind {
            StatementKind::Assign { place, value } => {
                let type_id = self.place_type(place)?;
                self.of_kind(value, type_id)
            }
            StatementKind::Reset(place) => self.place(place).map(|_| ()),
            StatementKind::If { condition, then, otherwise } => {
                self.condition(condition)?;
                self.block(then)?;
                self.block(otherwise)
            }
            StatementKind::Switch { subject, cases, default } => {
                self.expression(subject)?;
                for case in cases {
                    for value in &case.values {
                        self.fits(subject.type_id, value)?;
                    }
                    self.block(&case.body)?;
                }
                self.block(default)
            }
            StatementKind::For { before_condition, condition, update, body } => {
                self.block(before_condition)?;
                self.condition(condition)?;
                self.block(update)?;
                self.loops += 1;
                self.block(body)?;
                self.loops -= 1;
                Ok(())
            }
            StatementKind::Break | StatementKind::Continue => {
                self.demand(self.loops > 0, "break or continue outside a loop")
            }
            StatementKind::ApplyTable { table, hit, action_run } => {
                self.apply_table(*table, hit.as_ref(), action_run.as_ref())
            }
            StatementKind::CallAction { action, arguments } => {
                let action = self.action(*action)?;
                let parameters: Vec<(Direction, TypeId)> = action
                    .parameters
                    .iter()
                    .map(|parameter| {
                        (parameter.direction.unwrap_or(Direction::In), parameter.type_id)
                    })
                    .collect();
                self.arguments(arguments, &parameters)
            }
            StatementKind::CallFunction { function, arguments, result } => {
                self.call_function(*function, arguments, result.as_ref())
            }
            StatementKind::CallControl { control, arguments } => {
                let Some(control) = program.controls.get(control.index()) else {
                    return self.fail("no such control");
                };
                self.call(arguments, &control.parameters)
            }
            StatementKind::CallParser { parser, arguments } => {
                let Some(parser) = program.parsers.get(parser.index()) else {
                    return self.fail("no such parser");
                };
                self.call(arguments, &parser.parameters)
            }
            StatementKind::CallExtern { callee, type_arguments, arguments, result } => {
                self.call_extern(callee, type_arguments, arguments)?;
                result.as_ref().map_or(Ok(()), |result| self.place(result).map(|_| ()))
            }
            StatementKind::Extract { header, header_type, varbit_width } => {
                self.extract(header.as_ref(), *header_type)?;
                varbit_width.as_ref().map_or(Ok(()), |width| self.bits(width))
            }
            StatementKind::Lookahead { result, type_id } => {
                self.known_type(*type_id)?;
                let ty = self.place(result)?;
                self.demand(program.types.find(*type_id) == Some(ty), "lookahead into another type")
            }
            StatementKind::Advance(bits) => self.bits(bits),
            StatementKind::Emit(value) => self.expression(value),
            StatementKind::Verify { condition, error } => {
                self.condition(condition)?;
                self.expression(error)?;
                self.demand(
                    program.types.get(error.type_id) == Type::Error,
                    "verify without an error",
                )
            }
            StatementKind::SetValidity { header, .. } => {
                let ty = self.place(header)?;
                self.demand(self.is_header_like(ty), "validity of something that is not a header")
            }
            StatementKind::PushFront { stack, .. } | StatementKind::PopFront { stack, .. } => {
                let ty = self.place(stack)?;
                self.demand(
                    matches!(ty, Type::Stack { .. }),
                    "push or pop of something that is not a stack",
                )
            }
            StatementKind::Return(value) => match (value, self.result) {
                (None, None) => Ok(()),
                (Some(value), Some(type_id)) => self.of_type(value, Some(type_id)),
                (None, Some(_)) => self.fail("return without a value"),
                (Some(_), None) => self.fail("return with a value"),
            },
            StatementKind::Exit => Ok(()),
        }
    }

    fn apply_table(
        &mut self,
        table: TableId,
        hit: Option<&Place>,
        action_run: Option<&Place>,
    ) -> Outcome {
        self.demand(table.index() < self.program.tables.len(), "no such table")?;
        if let Some(hit) = hit {
            let ty = self.place(hit)?;
            self.demand(ty == Type::Bool, "`hit` left in a place that is not bool")?;
        }
        if let Some(action_run) = action_run {
            let ty = self.place(action_run)?;
            self.demand(
                ty == Type::ActionRun(table),
                "`action_run` left in a place of another type",
            )?;
        }
        Ok(())
    }

    fn call_function(
        &mut self,
        function: FunctionId,
        arguments: &[Argument],
        result: Option<&Place>,
    ) -> Outcome {
        let program = self.program;
        let Some(function) = program.functions.get(function.index()) else {
            return self.fail("no such function");
        };
        self.call(arguments, &function.parameters)?;
        if let Some(result) = result {
            let type_id = self.place_type(result)?;
            self.demand(
                matches!((type_id, function.return_type),
                    (PlaceType::Known(place), Some(returned)) if place == returned)
                    || matches!((type_id, function.return_type),
                    (PlaceType::Slice(width), Some(returned))
                        if program.types.find(returned).is_some_and(|ty| ty == Type::Bits { width, signed: false })),
                "a result of another type",
            )?;
        }
        Ok(())
    }

    fn call_extern(
        &mut self,
        callee: &ExternCallee,
        type_arguments: &[TypeId],
        arguments: &[Argument],
    ) -> Outcome {
        let program = self.program;
        if let ExternCallee::Method { instance, .. } = callee {
            self.demand(instance.index() < program.externs.len(), "no such extern")?;
        }
        for type_id in type_arguments {
            self.known_type(*type_id)?;
        }
        for argument in arguments {
            match argument {
                Argument::In(value) => self.expression(value)?,
                Argument::Out(place) | Argument::InOut(place) => {
                    self.place(place)?;
                }
                Argument::Saved { place, value } => {
                    self.place(place)?;
                    self.expression(value)?;
                }
                Argument::Extern(id) => {
                    self.demand(id.index() < program.externs.len(), "no such extern")?;
                }
                Argument::Action(id) => {
                    self.demand(id.index() < program.actions.len(), "no such action")?;
                }
                Argument::Ordered { .. } => {
                    return self.fail("an argument of an extern with a rank");
                }
                Argument::Absent => {}
            }
        }
        Ok(())
    }

    fn extract(&mut self, header: Option<&Place>, header_type: TypeId) -> Outcome {
        let program = self.program;
        let kind = program
            .types
            .find(header_type)
            .and_then(|_| program.types.composite(header_type))
            .map(|composite| composite.kind);
        self.demand(
            kind == Some(CompositeKind::Header),
            "extraction of something that is not a header",
        )?;
        if let Some(header) = header {
            let ty = self.place(header)?;
            self.demand(
                program.types.find(header_type) == Some(ty),
                "extraction into another type",
            )?;
        }
        Ok(())
    }

    fn call(&mut self, arguments: &[Argument], parameters: &[Parameter]) -> Outcome {
        let parameters: Vec<(Direction, TypeId)> =
            parameters.iter().map(|parameter| (parameter.direction, parameter.type_id)).collect();
        self.arguments(arguments, &parameters)
    }

    fn arguments(&mut self, arguments: &[Argument], parameters: &[(Direction, TypeId)]) -> Outcome {
        self.demand(
            arguments.len() == parameters.len(),
            "a call with too many or too few arguments",
        )?;
        for (argument, (direction, type_id)) in arguments.iter().zip(parameters) {
            self.demand(
                !matches!(argument, Argument::Ordered { argument, .. } if !is_copied_out(argument)),
                "a rank of an argument that is not copied out",
            )?;
            match (argument.unordered(), direction) {
                (Argument::In(value), Direction::In) => self.of_type(value, Some(*type_id))?,
                (Argument::Out(place), Direction::Out)
                | (Argument::InOut(place), Direction::InOut) => {
                    let ty = self.place(place)?;
                    self.demand(
                        self.program.types.find(*type_id) == Some(ty),
                        "an argument of another type",
                    )?;
                }
                (Argument::Saved { place, value }, Direction::InOut) => {
                    let ty = self.place(place)?;
                    self.demand(
                        self.program.types.find(*type_id) == Some(ty),
                        "an argument of another type",
                    )?;
                    self.of_type(value, Some(*type_id))?;
                }
                (Argument::Absent, Direction::Out) => {}
                _ => return self.fail("an argument of another direction"),
            }
        }
        Ok(())
    }

    fn parameters(&mut self, parameters: &[Parameter]) -> Outcome {
        parameters
            .iter()
            .try_for_each(|parameter| self.parameter(parameter.variable, parameter.type_id))
    }

    fn parameter(&self, variable: VariableId, type_id: TypeId) -> Outcome {
        let known = self.program.variables.get(variable.index());
        self.demand(
            known.is_some_and(|variable| variable.type_id == type_id),
            "a parameter whose variable has another type",
        )
    }

    fn known_type(&self, id: TypeId) -> Outcome {
        self.demand(self.program.types.find(id).is_some(), "no such type")
    }

    fn known_user_type(&self, id: Option<super::UserTypeId>) -> Outcome {
        let known = id.is_none_or(|id| id.index() < self.program.types.user_types.len());
        self.demand(known, "no such user type")
    }

    fn action(&self, id: ActionId) -> Outcome<&'p Action> {
        match self.program.actions.get(id.index()) {
            Some(action) => Ok(action),
            None => self.fail("no such action"),
        }
    }

    fn is_header_like(&self, ty: Type) -> bool {
        let Type::Composite(id) = ty else { return false };
        self.program.types.composites.get(id.index()).is_some_and(|composite| {
            matches!(composite.kind, CompositeKind::Header | CompositeKind::HeaderUnion)
        })
    }
}
