//! Generates entries that satisfy a constraint, or that violate exactly one of its conjuncts.
//!
//! The search keeps a domain of possible values for each part of a match. The comparisons that must
//! hold narrow the domains, and the search branches where one of several conditions must hold.
//! Branches and values are drawn from a random generator, so the same seed generates the same
//! entry. Each entry is checked by evaluating the constraint before it is returned, so a returned
//! entry is never wrong. The search gives up after a fixed number of steps, so it may miss an entry
//! that exists.

mod domain;
mod matches;
mod packet;

use std::collections::BTreeMap;

use fastrand::Rng;
use num_bigint::{BigInt, BigUint};

use self::domain::Domain;
use crate::bits;
use crate::compiled::{Bits, Constraint, Integer, Node, NodeForm, Part, integer, width};
use crate::entry::{Entry, KeyType, Kind, Match};
use crate::parser::Comparison;

/// The largest number of branches that a search takes.
const MAX_STEPS: u32 = 4_000;
/// The largest number of branches on the way to one entry. It limits the recursion depth.
const DEEPEST: u32 = 400;
/// The number of times that values are drawn for one combination of branches.
const DRAWS: usize = 12;
/// The largest priority of P4Runtime, which is an `int32`.
const LARGEST_PRIORITY: i64 = i32::MAX as i64;

/// The purpose for which an entry is generated: to satisfy the constraint or to violate a part of
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// The entry must satisfy the constraint.
    Satisfy,
    /// The entry must violate the conjunct with this number ([`Constraint::conjunct`]), and satisfy
    /// all other conjuncts.
    Break(usize),
}

/// Further conditions on the generated entry. Each list has one element for each key, in the order
/// of the keys. Missing elements impose no condition.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wishes<'a> {
    /// For each key, the value in a packet that the entry must match, or `None` if it need not
    /// match a packet.
    pub accepts: &'a [Option<Box<[u8]>>],
    /// For each key, a match that is tried first. It is not used if it violates the constraint or
    /// does not match the packet.
    pub preferred: &'a [Match<'a>],
}

/// A generated entry, or generated arguments of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Solution {
    /// The match for each key, or the argument for each parameter.
    pub matches: Vec<Match<'static>>,
    /// The priority. It is 0 for an action, and for a table whose entries have no priorities.
    pub priority: u32,
}

impl Solution {
    /// Returns the solution as an entry, for [`Constraint::check`].
    #[must_use]
    pub fn entry(&self) -> Entry<'_> {
        Entry { matches: &self.matches, priority: self.priority.into() }
    }
}

impl Constraint {
    /// Generates an entry. The same seed generates the same entry. Returns `None` if no entry
    /// exists, or if the search has not found one within its limit.
    #[must_use]
    pub fn solve(&self, goal: Goal, wishes: Wishes<'_>, seed: u64) -> Option<Solution> {
        let (holding, broken) = match goal {
            Goal::Satisfy => (self.conjunct_nodes(), None),
            Goal::Break(number) => {
                let mut holding = self.conjunct_nodes();
                if number >= holding.len() {
                    return None;
                }
                let broken = holding.remove(number);
                (holding, Some(broken))
            }
        };
        let mut search = Search {
            constraint: self,
            wishes,
            random: Rng::with_seed(seed),
            steps: MAX_STEPS,
            holding: &holding,
            broken,
        };
        let agenda = holding.iter().map(|node| (*node, true));
        let agenda = agenda.chain(broken.map(|node| (node, false))).collect();
        let state = State { domains: search.domains(), ..State::default() };
        search.satisfy(agenda, state, 0)
    }
}

/// A condition, and whether it must be true or false.
type Literal<'c> = (&'c Node, bool);

/// The requirements that follow from the branches that the search has taken so far.
#[derive(Clone, Default)]
struct State<'c> {
    domains: Domains,
    /// The comparisons between two parts of the entry that must hold.
    relations: Vec<(Comparison, &'c Bits, &'c Bits)>,
    integer_relations: Vec<(Comparison, &'c Integer, &'c Integer)>,
    /// Lists of conditions. At least one condition of each list must hold.
    choices: Vec<Vec<Literal<'c>>>,
}

/// The values that are still possible for each part of the entry. A part without a domain may have
/// any value.
#[derive(Clone, Default)]
struct Domains {
    slots: BTreeMap<(usize, u8), Domain>,
    prefix_lengths: BTreeMap<usize, (i64, i64)>,
    priority: (i64, i64),
    texts: BTreeMap<usize, TextDomain>,
}

/// The string that a key of a translated type must have, and the strings that it must not have.
#[derive(Clone, Default)]
struct TextDomain {
    must: Option<Box<[u8]>>,
    must_not: Vec<Box<[u8]>>,
}

/// An incomplete entry: some keys have matches, and the others do not yet.
struct Partial<'e> {
    entry: Entry<'e>,
    assigned: &'e [bool],
}

struct Search<'s, 'c> {
    constraint: &'c Constraint,
    wishes: Wishes<'s>,
    random: Rng,
    steps: u32,
    holding: &'s [&'c Node],
    broken: Option<&'c Node>,
}

impl<'c> Search<'_, 'c> {
    /// Returns the domains before any condition is applied. For a key that is matched exactly, the
    /// only possible value is that of the packet, if the entry must match one.
    fn domains(&self) -> Domains {
        let has_priority = self.constraint.keys.iter().any(|key| match key.kind {
            Kind::Ternary | Kind::Range | Kind::Optional => true,
            Kind::Exact | Kind::Lpm => false,
        });
        let priority = if has_priority { (1, LARGEST_PRIORITY) } else { (0, 0) };
        let mut domains = Domains { priority, ..Domains::default() };
        for (position, key) in self.constraint.keys.iter().enumerate() {
            if let Some(Some(value)) = self.wishes.accepts.get(position)
                && let (Kind::Exact, KeyType::Bits(_)) = (key.kind, &key.ty)
            {
                let value = BigUint::from_bytes_be(value);
                domains.slots.insert(slot(position, Part::Value), Domain::only(value));
            }
        }
        domains
    }

    /// Finds an entry for which all conditions in `agenda` and `state` have the truth values that
    /// they must have.
    fn satisfy(
        &mut self,
        mut agenda: Vec<Literal<'c>>,
        mut state: State<'c>,
        depth: u32,
    ) -> Option<Solution> {
        self.steps = self.steps.checked_sub(1)?;
        if depth > DEEPEST {
            return None;
        }
        while let Some((node, wanted)) = agenda.pop() {
            match &node.form {
                NodeForm::Constant(value) if *value == wanted => {}
                NodeForm::Constant(_) => return None,
                NodeForm::Not(inner) => agenda.push((inner, !wanted)),
                NodeForm::All(parts) if wanted => {
                    agenda.extend(parts.iter().map(|part| (part, true)));
                }
                NodeForm::Any(parts) if !wanted => {
                    agenda.extend(parts.iter().map(|part| (part, false)));
                }
                NodeForm::All(parts) | NodeForm::Any(parts) => {
                    state.choices.push(parts.iter().map(|part| (part, wanted)).collect());
                }
                NodeForm::Implies(sides) => {
                    let [condition, consequence] = &**sides;
                    if wanted {
                        state.choices.push(vec![(condition, false), (consequence, true)]);
                    } else {
                        agenda.extend([(condition, true), (consequence, false)]);
                    }
                }
                NodeForm::Same(sides) => {
                    let [left, right] = &**sides;
                    let value = self.random.bool();
                    for value in [value, !value] {
                        let mut agenda = agenda.clone();
                        agenda.extend([(left, value), (right, value == wanted)]);
                        let found = self.satisfy(agenda, state.clone(), depth + 1);
                        if found.is_some() {
                            return found;
                        }
                    }
                    return None;
                }
                NodeForm::Bits(comparison, left, right) => {
                    let comparison = if wanted { *comparison } else { comparison.negated() };
                    self.narrow_bits(&mut state, comparison, left, right)?;
                }
                NodeForm::Integer(comparison, left, right) => {
                    let comparison = if wanted { *comparison } else { comparison.negated() };
                    narrow_integers(&mut state, comparison, left, right)?;
                }
                NodeForm::TextIs(key, string) => {
                    state.domains.narrow_text(*key, string.as_deref(), wanted)?;
                }
                // This narrows no domain. It is only checked when the complete entry is evaluated.
                NodeForm::SameText(..) => {}
            }
        }
        let Some(mut choice) = state.choices.pop() else { return self.draw(&state) };
        self.random.shuffle(&mut choice);
        choice.into_iter().find_map(|literal| self.satisfy(vec![literal], state.clone(), depth + 1))
    }

    fn narrow_bits(
        &self,
        state: &mut State<'c>,
        comparison: Comparison,
        left: &'c Bits,
        right: &'c Bits,
    ) -> Option<()> {
        let (comparison, variable, constant) = match (left, right) {
            (Bits::Constant(left), Bits::Constant(right)) => {
                return comparison.holds(bits::compare(left, right)).then_some(());
            }
            (variable, Bits::Constant(constant)) => (comparison, variable, constant),
            (Bits::Constant(constant), variable) => (comparison.reversed(), variable, constant),
            _ => {
                state.relations.push((comparison, left, right));
                return Some(());
            }
        };
        let constant = BigUint::from_bytes_be(constant);
        match variable {
            Bits::Slot(key, part) => {
                let width = self.width(*key);
                state.domains.slot(*key, *part, width).narrow(comparison, &constant)?;
                self.may_accept(&state.domains, *key).then_some(())
            }
            Bits::Negated(inner, width) => match (&**inner, comparison) {
                (Bits::Slot(key, part), Comparison::Equal | Comparison::NotEqual) => {
                    let negated = bits::reduced(&-BigInt::from(constant), *width);
                    state.domains.slot(*key, *part, *width).narrow(comparison, &negated)?;
                    self.may_accept(&state.domains, *key).then_some(())
                }
                _ => {
                    state.relations.push((comparison, left, right));
                    Some(())
                }
            },
            Bits::Constant(_) | Bits::Reduced(..) => {
                state.relations.push((comparison, left, right));
                Some(())
            }
        }
    }

    fn width(&self, key: usize) -> u32 {
        self.constraint.keys.get(key).map_or(1, width)
    }

    /// Draws entries from the domains until one has the required relation to the constraint.
    fn draw(&mut self, state: &State<'c>) -> Option<Solution> {
        for attempt in 0..DRAWS {
            let Some(solution) = self.drawn(state, attempt == 0) else { continue };
            let entry = solution.entry();
            let holds = |node: &&Node| self.constraint.holds(node, &entry);
            if self.holding.iter().all(holds) && !self.broken.as_ref().is_some_and(holds) {
                return Some(solution);
            }
        }
        None
    }

    /// Draws one entry from the domains. The priority is drawn first, so that comparisons with it
    /// can narrow the domains of the keys.
    fn drawn(&mut self, state: &State<'c>, first: bool) -> Option<Solution> {
        let count = self.constraint.keys.len();
        let (least, most) = state.domains.priority;
        let most = most.min(least.saturating_add(if first { 0 } else { 1_000 }));
        let priority = self.random.i64(least..=most);
        let mut matches: Vec<Match<'static>> = vec![Match::Any; count];
        let mut assigned = vec![false; count];
        let mut order: Vec<usize> = (0..count).collect();
        self.random.shuffle(&mut order);
        for key in order {
            let mut domains = state.domains.clone();
            let entry = Entry { matches: &matches, priority };
            self.relate(state, &mut domains, key, &Partial { entry, assigned: &assigned })?;
            let made = self.match_for(key, &mut domains, first)?;
            *matches.get_mut(key)? = made;
            *assigned.get_mut(key)? = true;
        }
        Some(Solution { matches, priority: u32::try_from(priority).ok()? })
    }

    /// Narrows the domains of a key by its comparisons with keys that already have matches.
    fn relate(
        &self,
        state: &State<'c>,
        domains: &mut Domains,
        key: usize,
        partial: &Partial<'_>,
    ) -> Option<()> {
        let Partial { entry, assigned } = partial;
        let is_known = |of: Option<usize>| match of {
            Some(other) => assigned.get(other) == Some(&true),
            None => true,
        };
        for (comparison, left, right) in &state.relations {
            let (comparison, part, other) = match (left, right) {
                (Bits::Slot(of, part), other) if *of == key => (*comparison, *part, other),
                (other, Bits::Slot(of, part)) if *of == key => {
                    (comparison.reversed(), *part, other)
                }
                _ => continue,
            };
            if is_known(other.key()) {
                let value = BigUint::from_bytes_be(&self.constraint.bits(other, entry));
                domains.slot(key, part, self.width(key)).narrow(comparison, &value)?;
            }
        }
        for (comparison, left, right) in &state.integer_relations {
            let (comparison, other) = match (left, right) {
                (Integer::PrefixLength(of), other) if *of == key => (*comparison, other),
                (other, Integer::PrefixLength(of)) if *of == key => (comparison.reversed(), other),
                _ => continue,
            };
            if is_known(other.key()) {
                let value = integer(other, entry);
                narrow(domains.prefix_length(key, self.width(key)), comparison, value)?;
            }
        }
        Some(())
    }
}

/// Narrows the domain of an integer, such as the priority or a prefix length, by a comparison with
/// another one.
fn narrow_integers<'c>(
    state: &mut State<'c>,
    comparison: Comparison,
    left: &'c Integer,
    right: &'c Integer,
) -> Option<()> {
    let (mut comparison, mut variable, mut constant) = match (left, right) {
        (Integer::Constant(left), Integer::Constant(right)) => {
            return comparison.holds(left.cmp(right)).then_some(());
        }
        (variable, Integer::Constant(constant)) => (comparison, variable, *constant),
        (Integer::Constant(constant), variable) => (comparison.reversed(), variable, *constant),
        _ => {
            state.integer_relations.push((comparison, left, right));
            return Some(());
        }
    };
    while let Integer::Negated(inner) = variable {
        (comparison, variable, constant) =
            (comparison.reversed(), inner, constant.saturating_neg());
    }
    match variable {
        Integer::PrefixLength(key) => {
            // The prefix length is limited to the key's width when the match is drawn.
            narrow(state.domains.prefix_length(*key, u32::MAX), comparison, constant)
        }
        Integer::Priority => narrow(&mut state.domains.priority, comparison, constant),
        Integer::Constant(value) => comparison.holds(value.cmp(&constant)).then_some(()),
        Integer::Negated(_) => None,
    }
}

/// Narrows the interval `domain` to the integers for which the comparison with `value` holds. For
/// `!=`, `value` is removed only if it is an end of the interval. Returns `None` if no integer
/// remains.
fn narrow(domain: &mut (i64, i64), comparison: Comparison, value: i64) -> Option<()> {
    let (low, high) = *domain;
    *domain = match comparison {
        Comparison::Equal => (low.max(value), high.min(value)),
        Comparison::NotEqual if low == value => (low.checked_add(1)?, high),
        Comparison::NotEqual if high == value => (low, high.checked_sub(1)?),
        Comparison::NotEqual => (low, high),
        Comparison::Less => (low, high.min(value.checked_sub(1)?)),
        Comparison::LessOrEqual => (low, high.min(value)),
        Comparison::Greater => (low.max(value.checked_add(1)?), high),
        Comparison::GreaterOrEqual => (low.max(value), high),
    };
    (domain.0 <= domain.1).then_some(())
}

fn slot(key: usize, part: Part) -> (usize, u8) {
    let part = match part {
        Part::Value => 0,
        Part::Mask => 1,
        Part::Low => 2,
        Part::High => 3,
    };
    (key, part)
}

impl Domains {
    fn slot(&mut self, key: usize, part: Part, width: u32) -> &mut Domain {
        self.slots.entry(slot(key, part)).or_insert_with(|| Domain::of_width(width))
    }

    fn prefix_length(&mut self, key: usize, width: u32) -> &mut (i64, i64) {
        let domain = self.prefix_lengths.entry(key).or_insert((0, i64::from(width)));
        domain.1 = domain.1.min(i64::from(width));
        domain
    }

    fn narrow_text(&mut self, key: usize, string: Option<&[u8]>, wanted: bool) -> Option<()> {
        let TextDomain { must, must_not } = self.texts.entry(key).or_default();
        match (string, wanted) {
            (None, wanted) => return (!wanted).then_some(()),
            (Some(string), true) if must.as_deref().is_none_or(|must| must == string) => {
                *must = Some(string.into());
            }
            (Some(_), true) => return None,
            (Some(string), false) => must_not.push(string.into()),
        }
        let is_refused =
            must.as_deref().is_some_and(|must| must_not.iter().any(|other| **other == *must));
        (!is_refused).then_some(())
    }
}

impl Bits {
    /// Returns the key whose match determines the number, or `None` if no key does.
    fn key(&self) -> Option<usize> {
        match self {
            Self::Slot(key, _) => Some(*key),
            Self::Negated(inner, _) => inner.key(),
            Self::Reduced(inner, _) => inner.key(),
            Self::Constant(_) => None,
        }
    }
}

impl Integer {
    /// Returns the key whose match determines the integer, or `None` if no key does.
    fn key(&self) -> Option<usize> {
        match self {
            Self::PrefixLength(key) => Some(*key),
            Self::Negated(inner) => inner.key(),
            Self::Constant(_) | Self::Priority => None,
        }
    }
}
