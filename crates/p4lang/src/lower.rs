//! From the checked syntax tree to the IR.
//!
//! One walk from `main`: the package tree says which parsers and controls there are; each
//! instance gets its own variables, actions and tables. `Scope` says what names stand for in
//! the instance (or function) that is being lowered. Statements go into `Lowering::block`, the
//! block that is being written; an expression that has effects appends them there and gives back
//! a pure rest (`expression.rs`). The order of evaluation is written out where it matters: an
//! operand that is followed by one with effects is kept in a temporary.
//!
//! Lists of tables, actions and externs come out in the order in which p4c meets them, and
//! tables and actions that nothing applies are left out, as p4c does (`usage.rs`): P4Info depends
//! on both.

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

/// Lowers a program that was checked without errors. A program without `main` has nothing to run
/// and becomes an empty one. `None`, with the reason in `diagnostics`, if it uses what the IR
/// cannot say.
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
        // What follows from it is not said.
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
                    "the program has more than {MOST_ELEMENTS} statements, expressions and variables, when each \
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

/// Statements, expressions, variables and instances that a program may become. They grow exponentially with the
/// text: each instance of a control has its own.
const MOST_ELEMENTS: u32 = 1 << 20;
/// What an instance, or a function for other types, counts beside what is in it.
const ELEMENTS_OF_INSTANCE: u32 = 64;

/// What a name stands for in an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Entity {
    Variable(ir::VariableId),
    Extern(ir::ExternId),
    Control(ir::ControlId),
    Parser(ir::ParserId),
    Table(ir::TableId),
    Action(ir::ActionId),
    ValueSet(ir::ValueSetId),
    /// `packet_in` or `packet_out`: there is one, and it is implicit.
    Packet,
}

/// What names stand for in the instance or function that is being lowered.
#[derive(Clone, Debug, Default)]
struct Scope {
    entities: HashMap<DeclarationId, Entity>,
    /// Constructor parameters and type parameters.
    environment: Environment,
    /// Control-plane name of the instance.
    prefix: String,
    control: Option<ir::ControlId>,
    /// The extern instance whose block is being lowered.
    this: Option<ir::ExternId>,
    /// Nameless instances behind `T.apply(...)`, by the type reference in the statement.
    direct_instances: HashMap<ast::TypeId, Entity>,
}

/// A function with what it is specialised for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct FunctionKey {
    declaration: DeclarationId,
    type_arguments: Vec<Type>,
    /// Extern objects among the arguments.
    objects: Vec<Entity>,
    /// Arguments that have no representation at run time (`int`, `string`), as text.
    constants: String,
    /// For functions in the block of an instance.
    instance: Option<ir::ExternId>,
}

/// A control that was applied with extern objects, and its copies by these.
struct BoundControl<'a> {
    unbound: PendingControl<'a>,
    copies: Vec<(Vec<Entity>, ir::ControlId)>,
}

/// A control whose body waits for the extern objects that its first application hands over.
#[derive(Clone)]
struct PendingControl<'a> {
    declaration: &'a ast::Declaration,
    control: &'a ast::Control,
    scope: Scope,
}

/// A nameless extern in a table property, which is to be made once the table is known.
struct NamelessExtern<'a> {
    table: ir::TableId,
    role: ExternRole,
    name: String,
    call: &'a ast::Expression,
    scope: Scope,
    annotations: Vec<ir::Annotation>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ExternRole {
    Implementation,
    Direct,
}

/// One program on its way to the IR. What is kept for the whole of it is in the parts, by how long it matters; `scope` and
/// `block` are of what is being lowered at the moment.
struct Lowering<'a> {
    checked: &'a Checked<'a>,
    sources: &'a SourceMap,
    problems: Vec<Diagnostic>,
    program: ir::Program,
    /// The instance or function that is being lowered; see [`Lowering::within`].
    scope: Scope,
    /// The statements that are being written; see [`Lowering::collect`].
    block: ir::Block,
    types: KnownTypes,
    made: Made<'a>,
    waiting: Waiting<'a>,
    learned: Learned,
    /// Variables that only the lowering writes.
    temporaries: HashSet<ir::VariableId>,
    file_ids: HashMap<String, u32>,
    /// See [`MOST_ELEMENTS`].
    elements: u32,
    /// The statement or declaration that is being lowered.
    at: Span,
    /// The calls and instances around it.
    calls: u32,
    /// Why one more of those is not lowered.
    refusal: Option<Diagnostic>,
}

/// The types of the IR that stand for types of the program.
#[derive(Default)]
struct KnownTypes {
    ids: HashMap<Type, ir::TypeId>,
    /// Tuples and records by what is in them.
    unnamed: HashMap<types::Unnamed, ir::TypeId>,
    /// Names that are taken of those that tuples and records get, by declared types as well.
    names: usize,
    user_types: HashMap<DeclarationId, ir::UserTypeId>,
    enums: HashMap<DeclarationId, ir::EnumId>,
    error_positions: HashMap<DeclarationId, u32>,
}

/// What is made once, whatever asks for it, and where it is found again.
#[derive(Default)]
struct Made<'a> {
    /// What is declared at top level.
    entities: HashMap<DeclarationId, Entity>,
    /// Actions at top level with a name relative to the control of the package that they are used in.
    control_actions: HashMap<(DeclarationId, String), Entity>,
    /// Names that are taken at top level: those that are declared, and those of the parsers and controls that p4c makes a
    /// copy of, with their arguments put in. Empty until there is such a copy.
    specialized_names: HashSet<String>,
    /// The numbers behind names of copies from which on one may be free.
    next_numbers: HashMap<String, u32>,
    functions: HashMap<FunctionKey, ir::FunctionId>,
    /// Functions in the blocks of extern instances, with the scope around the instance.
    implementations: HashMap<(ir::ExternId, DeclarationId), (&'a ast::Declaration, Scope)>,
}

/// What cannot be made where it stands, until what it lacks is known.
#[derive(Default)]
struct Waiting<'a> {
    /// Until the first application says with which extern objects.
    controls: HashMap<ir::ControlId, PendingControl<'a>>,
    /// How the controls that took extern objects were lowered, once for each set of objects.
    bound_controls: HashMap<ir::ControlId, BoundControl<'a>>,
    /// Until their table is made.
    nameless_externs: Vec<NamelessExtern<'a>>,
}

/// What was found out about parts of the text, which does not change.
#[derive(Default)]
struct Learned {
    usages: HashMap<DeclarationId, std::rc::Rc<usage::Usage>>,
    /// Whether an expression has effects.
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
            made: Made::default(),
            waiting: Waiting::default(),
            learned: Learned::default(),
            temporaries: HashSet::new(),
            file_ids: HashMap::new(),
            elements: 0,
            at: Span::nowhere(),
            calls: 0,
            refusal: None,
        }
    }

    /// Lowers what is called or instantiated at `span`, inside of what is being lowered; nothing if that is
    /// deeper than is allowed, and then the program is refused.
    fn deeper<T>(&mut self, span: Span, lower: impl FnOnce(&mut Self) -> T) -> Option<T> {
        // Blocks of the package are instances around all calls.
        let calls = u64::from(self.calls);
        let problem = match self.checked.limits.admit(ir::Limit::CallDepth, calls) {
            Err(exceeded) => Some(exceeded.to_string()),
            Ok(()) if !ir::has_room() => Some(
                "what is called here, and the statements around the calls, nest too deeply together".to_owned(),
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

    /// Says that something cannot be lowered.
    fn problem(&mut self, span: Span, message: impl Into<String>) {
        self.problems.push(Diagnostic::error("unsupported", span, message));
    }

    /// Counts what is made; true once that is too much, and then nothing more is to be made.
    fn count_elements(&mut self, count: u32) -> bool {
        self.elements = self.elements.saturating_add(count);
        self.is_exhausted()
    }

    fn is_exhausted(&self) -> bool {
        self.elements > MOST_ELEMENTS
    }

    fn entity(&self, id: DeclarationId) -> Option<Entity> {
        self.scope.entities.get(&id).or_else(|| self.made.entities.get(&id)).copied()
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

    /// A new variable.
    fn variable(&mut self, name: &str, type_id: ir::TypeId) -> ir::VariableId {
        self.count_elements(1);
        let id = ir::VariableId(self.program.variables.len() as u32);
        self.program.variables.push(ir::Variable { name: name.to_owned(), type_id });
        id
    }

    /// A new variable that only the lowering writes, once on each way to a read.
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

    /// Appends a statement.
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

    /// What `write` appends, as a block of its own.
    fn collect(&mut self, write: impl FnOnce(&mut Self)) -> ir::Block {
        let outer = std::mem::take(&mut self.block);
        write(self);
        std::mem::replace(&mut self.block, outer)
    }

    /// Runs `work` in another scope; gives that scope back too.
    fn within<T>(&mut self, scope: Scope, work: impl FnOnce(&mut Self) -> T) -> (T, Scope) {
        let outer = std::mem::replace(&mut self.scope, scope);
        let result = work(self);
        (result, std::mem::replace(&mut self.scope, outer))
    }
}

/// Members of `error`; a program without core.p4 has `NoError` all the same.
fn error_names(checked: &Checked<'_>) -> Vec<String> {
    let missing = checked.no_error().is_none().then(|| "NoError".to_owned());
    let names = checked.errors().iter().map(|id| checked.name(*id).to_string());
    missing.into_iter().chain(names).collect()
}
