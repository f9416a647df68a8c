//! Searches for one test that does what a user wants.

use super::{Options, Report, Search, SearchError, Verdict};
use crate::execute::{Event, Execution, Fate, execute};
use crate::goals::{Goal, Key, Kind};
use crate::term::{Term, Terms};
use crate::wanted::{Atom, Wanted, is_name};
use ir::{ParserId, Program, StateId, TableId};

/// The error for a name in a wish that the program does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the program has no {what} {name}")]
pub struct NoSuchPart {
    /// The kind of program part that the wish names, such as `table`.
    pub what: &'static str,
    /// The name in the wish.
    pub name: String,
}

/// The error that prevents the search for a wish.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// The wish names something that the program does not have.
    #[error("{0}")]
    Name(#[from] NoSuchPart),
    /// The search failed.
    #[error("{0}")]
    Search(#[from] SearchError),
}

/// Searches for a test whose last packet satisfies `goal` and does not satisfy `avoid`. The report
/// has a single goal, which stands for the wish.
///
/// # Errors
///
/// Returns an error if the program does not have what the wish names, or if it cannot be executed
/// symbolically.
pub fn find(
    program: &Program,
    goal: &Wanted,
    avoid: Option<&Wanted>,
    options: &Options,
) -> Result<Report, FindError> {
    let (mut report, may_gain) = find_after(program, goal, avoid, options, 1)?;
    if !may_gain {
        return Ok(report);
    }
    report.set_bound(1);
    for packets in 2..=options.packets {
        if report.is_covered() {
            break;
        }
        let (next, _) = match find_after(program, goal, avoid, options, packets) {
            // A sequence may have too many terms where a single packet has not.
            Err(FindError::Search(SearchError::Unsupported(_) | SearchError::Ended)) => break,
            found => found?,
        };
        if next.is_covered() {
            return Ok(next);
        }
        // Without a verdict on shorter sequences, there is none on all of them.
        if next.all_are(&Verdict::Unreachable) && report.all_are(&Verdict::NotWithin(packets - 1)) {
            report.set_bound(packets);
        }
    }
    Ok(report)
}

impl Report {
    /// Returns whether each goal is reached by a test.
    fn is_covered(&self) -> bool {
        self.goals.iter().all(|(_, verdict)| matches!(verdict, Verdict::Covered(_)))
    }

    /// Returns whether the verdict on all goals is `wanted`.
    fn all_are(&self, wanted: &Verdict) -> bool {
        self.goals.iter().all(|(_, verdict)| verdict == wanted)
    }

    /// Restricts the verdict "unreachable" to sequences of up to this many packets.
    fn set_bound(&mut self, packets: u32) {
        for (_, verdict) in &mut self.goals {
            if matches!(verdict, Verdict::Unreachable | Verdict::NotWithin(_)) {
                *verdict = Verdict::NotWithin(packets);
            }
        }
    }
}

/// Searches for a test with `packets` packets. Returns the report, and whether longer sequences may
/// reach more.
fn find_after(
    program: &Program,
    goal: &Wanted,
    avoid: Option<&Wanted>,
    options: &Options,
    packets: u32,
) -> Result<(Report, bool), FindError> {
    let bounds = options.bounds(packets);
    let mut execution = execute(program, bounds).map_err(SearchError::from)?;
    let conditions = execution.goals.conditions(&mut execution.terms);
    let mut condition = condition_of(program, &mut execution, &conditions, goal)?;
    if let Some(avoid) = avoid {
        let avoided = condition_of(program, &mut execution, &conditions, avoid)?;
        let not = execution.terms.not(avoided);
        condition = execution.terms.and(condition, not);
    }
    let name = match avoid {
        Some(avoid) => format!("{goal}, without {avoid}"),
        None => goal.to_string(),
    };
    let wish = Goal { kind: Kind::Statement, name, place: None };
    let mut search = Search::new(program, execution, vec![condition], options);
    search.drop_unreached_cuts()?;
    let (found, verdict) = match search.attempt(condition, &wish, 1)? {
        Ok(found) => (Some(found), Verdict::Covered(1)),
        Err(verdict) => (None, verdict),
    };
    let (mut tests, mut reached, mut times) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(found) = found {
        tests.push(found.test);
        reached.push(found.reached);
        times.push(found.times);
    }
    let cuts = search.cuts_in_words();
    let report = Report { tests, reached, times, goals: vec![(wish, verdict)], cuts };
    Ok((report, search.may_gain_from_sequences()))
}

/// Returns the condition under which the last packet satisfies a formula. `conditions` are those of
/// the program's goals.
pub(super) fn condition_of(
    program: &Program,
    execution: &mut Execution,
    conditions: &[Term],
    wanted: &Wanted,
) -> Result<Term, NoSuchPart> {
    let mut terms = std::mem::take(&mut execution.terms);
    let mut resolve = |terms: &mut Terms, atom: &Atom| {
        atom_condition(terms, program, &*execution, conditions, atom)
    };
    let condition = wanted.condition(&mut terms, &mut resolve);
    execution.terms = terms;
    condition
}

/// Returns the condition under which the last packet has the property that an atom names.
fn atom_condition(
    terms: &mut Terms,
    program: &Program,
    execution: &Execution,
    conditions: &[Term],
    atom: &Atom,
) -> Result<Term, NoSuchPart> {
    let missing = |what: &'static str, name: &str| NoSuchPart { what, name: name.to_owned() };
    let mut keys: Vec<Key> = Vec::new();
    let tables = (0_u32..).map(TableId).zip(&program.tables);
    match atom {
        Atom::Hit(name) | Atom::Miss(name) => {
            for (id, _) in tables.filter(|(_, table)| is_name(&table.name, name)) {
                keys.push(if matches!(atom, Atom::Hit(_)) { Key::Hit(id) } else { Key::Miss(id) });
            }
            if keys.is_empty() {
                return Err(missing("table", name));
            }
        }
        Atom::Action(name) => {
            for (id, table) in tables {
                for (position, reference) in table.actions.iter().enumerate() {
                    let action = program.actions.get(reference.action.index());
                    let Some(action) = action else { continue };
                    let of_table = format!("{}.{}", table.name, last(&action.name));
                    if is_name(&action.name, name) || is_name(&of_table, name) {
                        keys.push(Key::Action(id, position));
                    }
                }
            }
            if keys.is_empty() {
                return Err(missing("table with an action", name));
            }
        }
        Atom::State(name) => {
            for (parser, found) in (0_u32..).map(ParserId).zip(&program.parsers) {
                for (state, found_state) in (0_u32..).map(StateId).zip(&found.states) {
                    let full = format!("{}.{}", found.name, found_state.name);
                    if is_name(&full, name) {
                        keys.push(Key::State(parser, state));
                    }
                }
            }
            if keys.is_empty() {
                return Err(missing("parser state", name));
            }
        }
        Atom::Statement(position) => {
            keys.extend(
                execution
                    .goals
                    .statements()
                    .filter(|key| match key {
                        Key::Statement(at) => {
                            let file =
                                program.files.get(at.file as usize).map_or("", String::as_str);
                            position.is_at(file, at.line, at.column)
                        }
                        _ => false,
                    })
                    .cloned(),
            );
            if keys.is_empty() {
                return Err(missing(
                    "statement at",
                    &format!("{}:{}", position.file, position.line),
                ));
            }
        }
        Atom::Drop => {
            let sent = sent(terms, execution, None);
            return Ok(terms.not(sent));
        }
        Atom::Port(port) => return Ok(sent(terms, execution, Some(*port))),
        Atom::Clone => return Ok(event(terms, execution, Event::Clone)),
        Atom::Recirculate => return Ok(event(terms, execution, Event::Recirculate)),
        Atom::Resubmit => return Ok(event(terms, execution, Event::Resubmit)),
        Atom::Error(name) => {
            let position = program.errors.iter().position(|error| error == name);
            let position = position.ok_or_else(|| missing("parser error", name))?;
            let wanted = terms.number(32, position as u128);
            let mut any = terms.truth(false);
            for (guard, error) in &execution.errors {
                let equal = terms.equal(*error, wanted);
                let here = terms.and(*guard, equal);
                any = terms.or(any, here);
            }
            return Ok(any);
        }
    }
    let mut any = terms.truth(false);
    for key in keys {
        let condition = execution.goals.position(&key).and_then(|at| conditions.get(at));
        if let Some(condition) = condition {
            any = terms.or(any, *condition);
        }
    }
    Ok(any)
}

/// Returns the part of a name after its last dot.
fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Returns the condition under which a packet leaves the switch, by this port if one is given.
fn sent(terms: &mut Terms, execution: &Execution, port: Option<u32>) -> Term {
    let mut any = terms.truth(false);
    for end in &execution.last.ends {
        let Fate::Sent { port: by, .. } = &end.fate else { continue };
        let mut here = end.guard;
        if let Some(port) = port {
            let wanted = terms.number(terms.width_of(*by), port.into());
            let equal = terms.equal(*by, wanted);
            here = terms.and(here, equal);
        }
        any = terms.or(any, here);
    }
    any
}

fn event(terms: &mut Terms, execution: &Execution, wanted: Event) -> Term {
    let mut any = terms.truth(false);
    for (event, guard) in &execution.events {
        if *event == wanted {
            any = terms.or(any, *guard);
        }
    }
    any
}
