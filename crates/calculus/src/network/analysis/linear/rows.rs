//! The linear program of a tree: variables for times and data, and a row for each constraint that
//! holds for every run.
//!
//! Times count backwards from the moment at which data leave the root. The data of a class count
//! from those that have passed at the latest time after its last server. The data that leave a
//! server are those that arrived at time F, so F needs no variables for data of its own.

use super::dates::{Choice, Kind, Level, levels};
use super::program::{Bound, Program, Terms};
use super::tree::{Class, Node, Tree};
use crate::network::pmoo::{self, TokenBucket};
use crate::{Extended, Rational};

/// If a server has at most this many times at its entrance, arrivals are bounded between all pairs
/// of them. A program that uses all times always bounds all pairs.
const MAX_TIMES_FOR_ALL_PAIRS: usize = 12;

/// The variables of some times, or of a class's data at these times, in the order of the times.
/// `None` stands for zero.
type Variables = Vec<Option<usize>>;

/// The linear program of a tree, with the variables for its times and data.
#[derive(Debug)]
pub(super) struct Formulation<'t> {
    tree: &'t Tree,
    levels: Vec<Level>,
    pub(super) program: Program,
    /// The variables of the times at the entrance of each node. The field `most` has upper bounds
    /// on them.
    times: Vec<Variables>,
    most: Vec<Vec<Option<Rational>>>,
    exit: (Variables, Vec<Option<Rational>>),
    /// The variables of each class for its data that have not arrived at a node by each time of the
    /// node. The field `left` has the variables for its data that have not left the last server.
    data: Vec<Vec<Variables>>,
    left: Vec<Variables>,
}

impl<'t> Formulation<'t> {
    pub(super) fn of(tree: &'t Tree, choice: Choice) -> Self {
        let deepest = tree.nodes.iter().map(|node| node.depth).max().unwrap_or(0);
        let empty = vec![Vec::new(); tree.nodes.len()];
        let mut this = Self {
            tree,
            levels: levels(deepest, choice),
            program: Program::stopped_by(tree.stop.clone()),
            times: empty.clone(),
            most: vec![Vec::new(); tree.nodes.len()],
            exit: (vec![None], vec![Some(Rational::ZERO)]),
            data: vec![empty; tree.classes.len()],
            left: vec![Vec::new(); tree.classes.len()],
        };
        let mut order: Vec<usize> = (0..tree.nodes.len()).collect();
        order.sort_by_key(|index| tree.nodes[*index].depth);
        for index in &order {
            this.add_times(*index);
        }
        for class in 0..tree.classes.len() {
            this.add_data(class);
        }
        for index in order {
            this.add_rows(index, matches!(choice, Choice::All(_)));
        }
        this
    }

    /// Returns a bound on the delay along the path of the tree, from its first node to the root.
    pub(super) fn delay(&self) -> Option<Bound> {
        let entrance = self.times.first().and_then(|times| times.first()).copied().flatten()?;
        let bound = self.program.maximum(&vec![(entrance, Rational::ONE)])?;
        Some(Bound { value: bound.value * &self.tree.time, ..bound })
    }

    /// Adds, for each target class, a variable for the data that the class has in the tree when
    /// data leave the root. Returns the sum of these variables, in units of the tree's data.
    ///
    /// Without `ahead` the variable is the backlog, which obeys all token buckets of the class.
    ///
    /// With `ahead` the variable is J = A(t) - r (t - s) - D(s) instead. Here, s is the time at
    /// which data leave, t is any time after it, r is the long-term rate of the class, and A and D
    /// are its arrivals and departures. Since D(t) is at most A(t), the class sends at most J + r
    /// (t - s) from s to t, so that the largest J is its burst after the root. J obeys the token
    /// bucket of rate r as if it arrived at s.
    pub(super) fn backlog(&mut self, ahead: bool) -> Terms {
        let mut sum = Terms::new();
        for (class, description) in self.tree.classes.iter().enumerate() {
            if !description.is_target {
                continue;
            }
            let waiting = self.program.variable(None);
            sum.push((waiting, Rational::ONE));
            let mut buckets = pmoo::token_buckets(&description.arrival);
            if ahead && buckets.len() > 1 {
                buckets = buckets.split_off(buckets.len() - 1);
            }
            let at = description.first;
            let pairs = self.times[at].iter().zip(&self.data[class][at]);
            let pairs: Vec<_> = pairs.map(|(time, data)| (*time, *data)).collect();
            let unknown = self.unknown(description);
            for (time, data) in pairs {
                for bucket in &buckets {
                    let rate = self.rate(&bucket.rate);
                    let terms = [plus(Some(waiting)), plus(data), (time, -rate)];
                    self.program.row(terms, &bucket.burst / &self.tree.data);
                }
                if let Some((unknowns, rate)) = &unknown {
                    let terms = [plus(Some(waiting)), plus(data), (time, -self.rate(rate))];
                    self.program.row_with(terms, Rational::ZERO, unknowns.clone());
                }
            }
        }
        sum
    }

    fn rate(&self, rate: &Rational) -> Rational {
        rate * &self.tree.time / &self.tree.data
    }

    /// Returns the unknown bursts of a class, as terms to be added to the limit of a row, and the
    /// class's rate. Returns `None` if its bursts are known.
    fn unknown(&self, class: &Class) -> Option<(Terms, Rational)> {
        let rate = class.rate.clone().filter(|_| !class.unknowns.is_empty())?;
        Some((class.unknowns.iter().map(|number| (*number, self.one())).collect(), rate))
    }

    /// Returns the size of one bit in the tree's unit of data.
    fn one(&self) -> Rational {
        Rational::ONE / &self.tree.data
    }

    fn level(&self, node: &Node) -> Level {
        self.levels.get(node.depth).cloned().unwrap_or_default()
    }

    fn add_times(&mut self, index: usize) {
        let node = &self.tree.nodes[index];
        let behind = match node.next {
            Some(next) => self.most[next].clone(),
            None => self.exit.1.clone(),
        };
        for date in &self.level(node).dates {
            let apart = match date.kind {
                Kind::Fifo => &node.delay,
                Kind::Service => &node.period,
            };
            let after = behind.get(date.of).cloned().flatten();
            let bound = after.zip(apart.finite()).map(|(a, b)| a + b / &self.tree.time);
            self.times[index].push(Some(self.program.variable(bound.clone())));
            self.most[index].push(bound);
        }
    }

    fn add_data(&mut self, class: usize) {
        let description = &self.tree.classes[class];
        let mut way = vec![description.first];
        while let Some(at) = way.last().copied().filter(|at| *at != description.last) {
            way.extend(self.tree.nodes[at].next);
        }
        let bucket = pmoo::token_buckets(&description.arrival).pop();
        let mut moved = Extended::ZERO;
        for at in &way {
            let delay = &self.tree.nodes[*at].delay;
            moved = moved.checked_add(delay).unwrap_or(Extended::PositiveInfinity);
        }
        // The largest amount of data that arrives within an age, anywhere on the path.
        let tree = self.tree;
        let data = |age: &Option<Rational>| {
            let (bucket, moved, age) = (bucket.as_ref()?, moved.finite()?, age.as_ref()?);
            Some((&bucket.burst + &bucket.rate * (moved + age * &tree.time)) / &tree.data)
        };
        let exit = match tree.nodes[description.last].next {
            Some(next) => self.most[next].clone(),
            None => self.exit.1.clone(),
        };
        // Data are counted from the latest time, so the amount at that time is zero.
        let mut behind: Variables = Vec::with_capacity(exit.len());
        for (place, age) in exit.iter().enumerate() {
            behind.push((place > 0).then(|| self.program.variable(data(age))));
        }
        self.left[class] = behind.clone();
        for at in way.into_iter().rev() {
            let dates = self.level(&tree.nodes[at]).dates;
            let mut here = Vec::with_capacity(dates.len());
            for (date, age) in dates.iter().zip(self.most[at].clone()) {
                here.push(match date.kind {
                    Kind::Fifo => behind.get(date.of).copied().flatten(),
                    Kind::Service => Some(self.program.variable(data(&age))),
                });
            }
            self.data[class][at].clone_from(&here);
            behind = here;
        }
    }

    /// Adds the rows for all constraints at one server.
    fn add_rows(&mut self, index: usize, all_pairs: bool) {
        let (node, level) = (&self.tree.nodes[index], self.level(&self.tree.nodes[index]));
        let here = self.times[index].clone();
        let next = match node.next {
            Some(next) => self.times[next].clone(),
            None => self.exit.0.clone(),
        };
        let neighbours = level.neighbours();
        for (late, early) in &neighbours {
            self.program.row([plus(here[*late]), minus(here[*early])], Rational::ZERO);
        }
        for (place, date) in level.dates.iter().enumerate() {
            self.program.row([plus(next[date.of]), minus(here[place])], Rational::ZERO);
            match (date.kind, &node.delay) {
                (Kind::Fifo, Extended::Finite(delay)) => {
                    let delay = delay / &self.tree.time;
                    self.program.row([plus(here[place]), minus(next[date.of])], delay);
                }
                (Kind::Fifo, _) => {}
                (Kind::Service, _) => self.serve(index, place, here[place], next[date.of], date.of),
            }
        }
        for class in 0..self.tree.classes.len() {
            let data = &self.data[class][index];
            for (late, early) in neighbours.iter().filter(|_| !data.is_empty()) {
                self.program.row([plus(data[*late]), minus(data[*early])], Rational::ZERO);
            }
        }
        let all_pairs = all_pairs || level.dates.len() <= MAX_TIMES_FOR_ALL_PAIRS;
        let pairs = chosen_pairs(&level, &neighbours, all_pairs);
        self.bound_arrivals(index, &pairs, &here);
    }

    /// Adds the rows of the service curve: at each time, the data that have left are at least those
    /// that had left at an earlier time plus the service since then.
    fn serve(
        &mut self,
        index: usize,
        place: usize,
        since: Option<usize>,
        until: Option<usize>,
        of: usize,
    ) {
        let (tree, node) = (self.tree, &self.tree.nodes[index]);
        for service in &node.services {
            let latency = &service.latency / &tree.time;
            let Extended::Finite(rate) = &service.rate else {
                self.program.row([plus(since), minus(until)], latency);
                continue;
            };
            let rate = self.rate(rate);
            let mut terms = vec![(since, rate.clone()), (until, -&rate)];
            for (class, description) in tree.classes.iter().enumerate() {
                let data = &self.data[class][index];
                if data.is_empty() {
                    continue;
                }
                let behind = match node.next.filter(|_| description.last != index) {
                    Some(next) => &self.data[class][next],
                    None => &self.left[class],
                };
                terms.extend([minus(data[place]), plus(behind[of])]);
            }
            self.program.row(terms, rate * latency);
        }
    }

    /// Adds the rows of the arrival curves of classes that enter the tree at a node, and of the
    /// shaping of links to the node.
    fn bound_arrivals(&mut self, index: usize, pairs: &[(usize, usize)], times: &Variables) {
        let tree = self.tree;
        let mut rows: Vec<(TokenBucket, Terms, Vec<usize>)> = Vec::new();
        let classes = || tree.classes.iter().enumerate();
        for (class, description) in classes().filter(|(_, class)| class.first == index) {
            for bucket in pmoo::token_buckets(&description.arrival) {
                rows.push((bucket, Terms::new(), vec![class]));
            }
            if let Some((unknowns, rate)) = self.unknown(description) {
                rows.push((TokenBucket { burst: Rational::ZERO, rate }, unknowns, vec![class]));
            }
        }
        for (child, node) in tree.nodes.iter().enumerate() {
            if node.next == Some(index) {
                let through = |class: usize| {
                    !self.data[class][child].is_empty() && !self.data[class][index].is_empty()
                };
                let members: Vec<usize> =
                    (0..tree.classes.len()).filter(|class| through(*class)).collect();
                for bucket in &node.shaping {
                    rows.push((bucket.clone(), Terms::new(), members.clone()));
                }
            }
        }
        for side in tree.sides.iter().filter(|side| side.to == index) {
            let comes = |class: &Class| class.first == index && class.from == Some(side.from);
            let members: Vec<usize> =
                classes().filter(|(_, class)| comes(class)).map(|(class, _)| class).collect();
            for bucket in &side.buckets {
                rows.push((bucket.clone(), Terms::new(), members.clone()));
            }
            if let Some((number, rate)) = side.unknown.clone() {
                let bucket = TokenBucket { burst: Rational::ZERO, rate };
                rows.push((bucket, vec![(number, self.one())], members));
            }
        }
        for (bucket, unknowns, members) in rows {
            let rate = self.rate(&bucket.rate);
            for (late, early) in pairs {
                let mut terms = vec![(times[*early], -&rate), (times[*late], rate.clone())];
                for class in &members {
                    let data = &self.data[*class][index];
                    terms.extend([plus(data[*early]), minus(data[*late])]);
                }
                let limit = &bucket.burst / &tree.data;
                self.program.row_with(terms, limit, unknowns.clone());
            }
        }
    }
}

/// Returns the pairs of times between which the program bounds arrivals. Other pairs rarely matter,
/// because worst-case arrivals are greedy from the time at which the service starts.
fn chosen_pairs(
    level: &Level,
    neighbours: &[(usize, usize)],
    all_pairs: bool,
) -> Vec<(usize, usize)> {
    let is_service =
        |place: usize| level.dates.get(place).is_some_and(|date| date.kind == Kind::Service);
    let chosen = |pair: &(usize, usize)| {
        all_pairs || is_service(pair.1) || neighbours.binary_search(pair).is_ok()
    };
    level.pairs().filter(chosen).collect()
}

pub(super) fn plus(variable: Option<usize>) -> (Option<usize>, Rational) {
    (variable, Rational::ONE)
}

pub(super) fn minus(variable: Option<usize>) -> (Option<usize>, Rational) {
    (variable, -Rational::ONE)
}
