//! Lowering of the checked syntax tree to the IR.
//!
//! The lowering starts at `main`. The arguments of the package determine which parsers and controls
//! are instantiated, and each instance has its own variables, actions and tables. `Scope` maps
//! names to the entities of the instance or function that is being lowered. Statements are appended
//! to `Lowering::block`. If an expression has side effects, statements for these are appended
//! there, and the result is an expression without side effects (`expression.rs`). The order of
//! evaluation is made explicit where it matters: an operand is saved in a temporary variable if a
//! later operand has side effects.
//!
//! Tables, actions and externs are listed in the order in which p4c visits them. Tables and actions
//! that are never used are omitted, as in p4c (`usage.rs`). P4Info depends on the order and on the
//! omission.

mod add_on_miss;
mod annotation;
mod arguments;
mod call;
mod constant;
mod expression;
mod instance;
mod names;
mod parser;
mod place;
mod statement;
mod table;
mod types;
mod usage;

use std::collections::{HashMap, HashSet};

use crate::ast::{self, DeclarationId};
use crate::check::{Checked, Environment, Node, Type};
use crate::diagnostic::{Diagnostic, Diagnostics, LIMIT};
use crate::source::{SourceMap, Span};

/// Lowers a program that was checked without errors. A program without `main` becomes an IR program
/// without objects. If the program uses a feature that the IR cannot represent, or is too large or
/// too deeply nested, reports the reason to `diagnostics` and returns `None`.
pub fn lower(
    checked: &Checked<'_>,
    sources: &SourceMap,
    diagnostics: &mut Diagnostics,
) -> Option<ir::Program> {
    let mut lowering = Lowering::new(checked, sources);
    if let Some(main) = checked.main() {
        lowering.program(main);
        add_on_miss::resolve_added_actions(&mut lowering.program);
    }
    if let Some(problem) = checked.budget.take_problem() {
        // Other problems are only consequences of this one, so they are not reported.
        lowering.problems = vec![problem];
    }
    if let Some(refusal) = lowering.refusal.take() {
        lowering.problems = vec![refusal];
    }
    if lowering.is_exhausted() {
        let main = checked.main().and_then(|main| checked.index.get_declaration(main));
        lowering.problems.extend(main.map(|main| {
            Diagnostic::error(
                "program-too-large",
                main.span,
                format!(
                    "the program has more than {MAX_ELEMENTS} statements, expressions and variables, when each \
                     instance and each use of a generic function is counted"
                ),
            )
            .note("a control that instantiates another one twice doubles it")
        }));
    }
    let failed = !lowering.problems.is_empty() || lowering.is_exhausted();
    for problem in lowering.problems {
        diagnostics.push(problem);
    }
    (!failed).then_some(lowering.program)
}

/// The largest number of elements (statements, expressions, variables and instances) of a lowered
/// program. Each instance of a control has its own copy of the control's elements, so their number
/// can grow exponentially with the length of the source.
const MAX_ELEMENTS: u32 = 1 << 20;
/// The number of elements, relative to [`MAX_ELEMENTS`], for which an instance or a specialisation
/// of a function counts in addition to its contents.
const ELEMENTS_OF_INSTANCE: u32 = 64;

/// The entity of the IR to which a name of the source refers in an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Entity {
    Variable(ir::VariableId),
    Extern(ir::ExternId),
    Control(ir::ControlId),
    Parser(ir::ParserId),
    Table(ir::TableId),
    Action(ir::ActionId),
    ValueSet(ir::ValueSetId),
    /// `packet_in` or `packet_out`. It is implicit in the IR, because a program processes only one
    /// packet at a time.
    Packet,
}

/// The meaning of the names in the instance or function that is being lowered.
#[derive(Clone, Debug, Default)]
struct Scope {
    entities: HashMap<DeclarationId, Entity>,
    /// The values of constructor parameters and type parameters.
    environment: Environment,
    /// The control-plane name of the instance. The names of the objects inside it have this name as
    /// a prefix.
    prefix: String,
    control: Option<ir::ControlId>,
    /// The extern instance whose initializer block is being lowered, or `None` outside such blocks.
    this: Option<ir::ExternId>,
    /// The anonymous instances of direct invocations (`T.apply(...)`). The key is the type
    /// reference `T` in the statement.
    direct_instances: HashMap<ast::TypeId, Entity>,
}

/// The key of a specialised function: the function, and the arguments for which it is specialised.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct FunctionKey {
    declaration: DeclarationId,
    type_arguments: Vec<Type>,
    /// The extern objects that the call passes as arguments.
    objects: Vec<Entity>,
    /// The arguments whose types (`int` and `string`) exist only at compile time, as text.
    constants: String,
    /// The extern instance in whose initializer block the function is declared, or `None` for a
    /// function at top level.
    instance: Option<ir::ExternId>,
}

/// A control to which extern objects are passed as arguments. Each distinct list of objects has its
/// own copy of the control.
struct BoundControl<'a> {
    unbound: PendingControl<'a>,
    copies: Vec<(Vec<Entity>, ir::ControlId)>,
}

/// A control whose body is not lowered yet, because the extern objects among its arguments are
/// known only when it is first applied.
#[derive(Clone)]
struct PendingControl<'a> {
    declaration: &'a ast::Declaration,
    control: &'a ast::Control,
    scope: Scope,
}

/// An extern object that is constructed in a table property. It is added to the program after the
/// table.
struct AnonymousExtern<'a> {
    table: ir::TableId,
    role: ExternRole,
    name: String,
    call: &'a ast::Expression,
    scope: Scope,
    annotations: Vec<ir::Annotation>,
}

/// The role of an extern object that is attached to a table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExternRole {
    Implementation,
    Direct,
}

/// The state of lowering one program. `scope`, `block`, `at` and `calls` belong to the item that is
/// being lowered. The other fields belong to the program as a whole.
struct Lowering<'a> {
    checked: &'a Checked<'a>,
    sources: &'a SourceMap,
    problems: Vec<Diagnostic>,
    /// The lowered program so far.
    program: ir::Program,
    /// The scope of the instance or function that is being lowered; see [`Lowering::within`].
    scope: Scope,
    /// The lowered statements of the current block so far; see [`Lowering::collect`].
    block: ir::Block,
    types: KnownTypes,
    reused: Reused<'a>,
    deferred: Deferred<'a>,
    analyses: Analyses,
    /// The variables that only the lowering assigns, and no statement of the source.
    temporaries: HashSet<ir::VariableId>,
    /// The numbers that source files have in the IR, by name.
    file_ids: HashMap<String, u32>,
    /// The number of elements that were lowered so far; see [`MAX_ELEMENTS`].
    elements: u32,
    /// The location of the statement or declaration that is being lowered.
    at: Span,
    /// The number of calls and instances that enclose the item that is being lowered.
    calls: u32,
    /// The error that calls nest too deeply, or `None` if they do not.
    refusal: Option<Diagnostic>,
}

/// The types and members that were lowered already, with their ids in the IR.
#[derive(Default)]
struct KnownTypes {
    ids: HashMap<Type, ir::TypeId>,
    /// The ids of tuples and records, by their fields, since these types have no names.
    unnamed: HashMap<types::Unnamed, ir::TypeId>,
    /// The number of names of the form `tuple_N` or `record_N` in use, including names of declared
    /// types that have this form by chance.
    names: usize,
    user_types: HashMap<DeclarationId, ir::UserTypeId>,
    enums: HashMap<DeclarationId, ir::EnumId>,
    error_positions: HashMap<DeclarationId, u32>,
}

/// The entities that are lowered where they are first used, and reused afterwards.
#[derive(Default)]
struct Reused<'a> {
    /// The entities of the declarations at top level.
    entities: HashMap<DeclarationId, Entity>,
    /// The copies of top-level actions whose names begin with the name of a control. Each control
    /// that uses such an action has its own copy. The key consists of the action and the name of
    /// the control.
    control_actions: HashMap<(DeclarationId, String), Entity>,
    /// The names in use at top level: the declared names, and the names of the specialised copies
    /// that p4c makes of parsers and controls. The set is empty until the first copy is made.
    specialized_names: HashSet<String>,
    /// For each declared name, the number from which to search for an unused suffix for the next
    /// specialised copy.
    next_numbers: HashMap<String, u32>,
    functions: HashMap<FunctionKey, ir::FunctionId>,
    /// The functions in the initializer blocks of extern instances. Each has the scope of its
    /// instance.
    implementations: HashMap<(ir::ExternId, DeclarationId), (&'a ast::Declaration, Scope)>,
}

/// The entities whose lowering is postponed until more is known about them.
#[derive(Default)]
struct Deferred<'a> {
    /// The controls whose bodies are lowered when they are first applied, because only then the
    /// extern objects among their arguments are known.
    controls: HashMap<ir::ControlId, PendingControl<'a>>,
    /// The lowered controls to which extern objects are passed, with one copy for each distinct
    /// list of objects.
    bound_controls: HashMap<ir::ControlId, BoundControl<'a>>,
    /// The extern objects that are added to the program after the tables in which they are
    /// constructed.
    anonymous_externs: Vec<AnonymousExtern<'a>>,
}

/// Cached results of analyses of the syntax tree.
#[derive(Default)]
struct Analyses {
    usages: HashMap<DeclarationId, std::rc::Rc<usage::Usage>>,
    /// For each expression, whether it has side effects.
    effects: HashMap<ast::ExpressionId, bool>,
}

impl<'a> Lowering<'a> {
    fn new(checked: &'a Checked<'a>, sources: &'a SourceMap) -> Self {
        let errors = checked.errors();
        Self {
            checked,
            sources,
            problems: Vec::new(),
            program: ir::Program {
                errors: error_names(checked),
                ..ir::Program::empty(ir::Architecture::Other(String::new()))
            },
            scope: Scope::default(),
            block: Vec::new(),
            types: KnownTypes {
                error_positions: errors
                    .iter()
                    .zip(if checked.no_error().is_some() { 0.. } else { 1.. })
                    .map(|(id, position)| (*id, position))
                    .collect(),
                ..KnownTypes::default()
            },
            reused: Reused::default(),
            deferred: Deferred::default(),
            analyses: Analyses::default(),
            temporaries: HashSet::new(),
            file_ids: HashMap::new(),
            elements: 0,
            at: Span::nowhere(),
            calls: 0,
            refusal: None,
        }
    }

    /// Runs `lower` for an item that is called or instantiated at `span`, with the call depth
    /// increased by one. If the depth exceeds the limit, records an error and returns `None`
    /// instead.
    fn deeper<T>(&mut self, span: Span, lower: impl FnOnce(&mut Self) -> T) -> Option<T> {
        // Every call is inside a parser or control of the package, which is an instance and
        // therefore counts. So the number of enclosing calls and instances is the depth of this
        // call.
        let calls = u64::from(self.calls);
        let problem = match self.checked.limits.admit(ir::Limit::CallDepth, calls) {
            Err(exceeded) => Some(exceeded.to_string()),
            Ok(()) if !ir::has_room() => Some(
                "the calls here and the statements around them nest too deeply together".to_owned(),
            ),
            Ok(()) => None,
        };
        if let Some(problem) = problem {
            self.refusal.get_or_insert_with(|| Diagnostic::error(LIMIT, span, problem));
            return None;
        }
        self.calls += 1;
        let lowered = lower(self);
        self.calls -= 1;
        Some(lowered)
    }

    /// Reports that the construct at `span` cannot be lowered.
    fn problem(&mut self, span: Span, message: impl Into<String>) {
        self.problems.push(Diagnostic::error("unsupported", span, message));
    }

    /// Adds `count` to the number of lowered elements. Returns true if the number now exceeds
    /// [`MAX_ELEMENTS`], in which case the caller must not lower anything more.
    fn count_elements(&mut self, count: u32) -> bool {
        self.elements = self.elements.saturating_add(count);
        self.is_exhausted()
    }

    fn is_exhausted(&self) -> bool {
        self.elements > MAX_ELEMENTS
    }

    fn entity(&self, id: DeclarationId) -> Option<Entity> {
        self.scope.entities.get(&id).or_else(|| self.reused.entities.get(&id)).copied()
    }

    fn bind(&mut self, id: DeclarationId, entity: Entity) {
        self.scope.entities.insert(id, entity);
    }

    fn declaration(&self, id: DeclarationId) -> Option<&'a ast::Declaration> {
        self.checked.index.get_declaration(id)
    }

    fn method_node(&self, id: DeclarationId) -> Option<&'a ast::Method> {
        match self.checked.index.get(id) {
            Some(Node::Method(method)) => Some(method),
            _ => None,
        }
    }

    /// Adds a variable to the program and returns its id.
    fn variable(&mut self, name: &str, type_id: ir::TypeId) -> ir::VariableId {
        self.count_elements(1);
        let id = ir::VariableId(self.program.variables.len() as u32);
        self.program.variables.push(ir::Variable { name: name.to_owned(), type_id });
        id
    }

    /// Adds a temporary variable and returns its id. Only the lowering assigns the variable,
    /// exactly once on each path to a read.
    fn temporary(&mut self, type_id: ir::TypeId) -> ir::VariableId {
        let id = self.variable("tmp", type_id);
        self.temporaries.insert(id);
        id
    }

    fn location(&mut self, span: Span) -> Option<ir::Location> {
        self.sources.file(span.file)?;
        let location = self.sources.location(span);
        let (line, column) = (location.line, location.column);
        let file = match self.file_ids.get(location.file) {
            Some(file) => *file,
            None => {
                let file = self.program.files.len() as u32;
                self.program.files.push(location.file.to_owned());
                self.file_ids.insert(location.file.to_owned(), file);
                file
            }
        };
        Some(ir::Location { file, line, column })
    }

    /// Appends a statement to the current block.
    fn emit(&mut self, span: Span, kind: ir::StatementKind) {
        if self.count_elements(1) {
            return;
        }
        let location = self.location(span);
        self.block.push(ir::Statement { location, kind });
    }

    fn assign(&mut self, span: Span, place: ir::Place, value: ir::Expression) {
        self.emit(span, ir::StatementKind::Assign { place, value });
    }

    /// Returns a block of the statements that `write` would otherwise append to the current block.
    fn collect(&mut self, write: impl FnOnce(&mut Self)) -> ir::Block {
        let outer = std::mem::take(&mut self.block);
        write(self);
        std::mem::replace(&mut self.block, outer)
    }

    /// Runs `work` with `scope` as the current scope. Returns the result of `work`, and the scope
    /// in the state in which `work` left it.
    fn within<T>(&mut self, scope: Scope, work: impl FnOnce(&mut Self) -> T) -> (T, Scope) {
        let outer = std::mem::replace(&mut self.scope, scope);
        let result = work(self);
        (result, std::mem::replace(&mut self.scope, outer))
    }
}

/// Returns the names of the members of `error`. The first is `NoError`, even if the program does
/// not include core.p4.
fn error_names(checked: &Checked<'_>) -> Vec<String> {
    let missing = checked.no_error().is_none().then(|| "NoError".to_owned());
    let names = checked.errors().iter().map(|id| checked.name(*id).to_string());
    missing.into_iter().chain(names).collect()
}
