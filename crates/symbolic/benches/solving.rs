//! Measures queries: `cargo bench -p planimeter-symbolic --bench solving [-- FRACTION]`.
//!
//! The formulas are synthetic but have the shapes of those of programs: paths of a parser over a
//! header of 200 bits, and a pipeline of 30 tables whose branches are merged. FRACTION, which is 10
//! by default, divides the number of queries; with 1 there are 10,000 of each kind. A row has the
//! seconds of processor time of the whole, the answers by what gave them, the conflicts, and the lemmas that were
//! checked. The benchmark has no pass criterion.

use fastrand::Rng;
use symbolic::query::{Answer, Context, Counts, Settings};
use symbolic::term::{Origin, Term, Terms};

fn main() {
    let fraction = std::env::args().skip(1).find_map(|argument| argument.parse().ok());
    let fraction: u64 = fraction.unwrap_or(10).max(1);
    println!(
        "{:<46} {:>8} {:>8} {:>7} {:>7} {:>7} {:>7} {:>7} {:>9} {:>9}",
        "queries",
        "seconds",
        "trivial",
        "models",
        "cores",
        "sat",
        "unsat",
        "limit",
        "conflicts",
        "lemmas"
    );
    paths(fraction);
    tables(fraction);
}

/// Returns the processor time of this thread in seconds (`proc_pid_schedstat` of Linux).
fn seconds() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = times.split(' ').next().and_then(|time| time.parse::<f64>().ok());
    nanoseconds.unwrap_or(f64::NAN) / 1e9
}

/// The sums of several contexts, and the time when they began.
struct Row {
    name: String,
    started: f64,
    counts: Counts,
    conflicts: u64,
    lemmas: u64,
}

impl Row {
    fn new(name: impl Into<String>) -> Self {
        let counts = Counts::default();
        Self { name: name.into(), started: seconds(), counts, conflicts: 0, lemmas: 0 }
    }

    fn add(&mut self, context: &Context) {
        let new = context.counts();
        self.counts = Counts {
            trivial: self.counts.trivial + new.trivial,
            models: self.counts.models + new.models,
            cores: self.counts.cores + new.cores,
            satisfiable: self.counts.satisfiable + new.satisfiable,
            unsatisfiable: self.counts.unsatisfiable + new.unsatisfiable,
            out_of_budget: self.counts.out_of_budget + new.out_of_budget,
        };
        self.conflicts += context.conflicts();
        self.lemmas += context.checked_lemmas();
    }

    fn print(self) {
        let Counts { trivial, models, cores, satisfiable, unsatisfiable, out_of_budget } =
            self.counts;
        println!(
            "{:<46} {:>8.3} {trivial:>8} {models:>7} {cores:>7} {satisfiable:>7} \
             {unsatisfiable:>7} {out_of_budget:>7} {:>9} {:>9}",
            self.name,
            seconds() - self.started,
            self.conflicts,
            self.lemmas
        );
    }
}

fn solve(context: &mut Context, terms: &Terms, conditions: &[Term]) -> Answer {
    match context.solve(terms, conditions) {
        Ok(answer) => answer,
        Err(error) => panic!("{error}"),
    }
}

/// A packet of 200 bits, whose parser chooses among five cases in each of four states.
fn paths(fraction: u64) {
    let mut terms = Terms::new();
    let packet = terms.input(Origin::chosen(0), 200);
    let mut random = Rng::with_seed(1);
    let mut guards = vec![Vec::new()];
    for state in 0..4 {
        let key = terms.extract(packet, 199 - 16 * state, 184 - 16 * state);
        let cases: Vec<Term> = (0..4).map(|_| terms.number(16, random.u16(..).into())).collect();
        let equal: Vec<Term> = cases.iter().map(|case| terms.equal(key, *case)).collect();
        let any = terms.any(&equal);
        let none = terms.not(any);
        guards = guards
            .iter()
            .flat_map(|before: &Vec<Term>| {
                equal.iter().chain([&none]).map(|case| [before.as_slice(), &[*case]].concat())
            })
            .collect();
    }
    let mut queries = Vec::new();
    for guard in &guards {
        for _ in 0..16 {
            let mut query = guard.clone();
            for _ in 0..random.u32(2..5) {
                query.push(condition(&mut terms, &mut random, packet));
            }
            queries.push(query);
        }
    }
    let of_a_path = 16;
    let paths = usize::try_from(625 / fraction).unwrap_or(1).max(1);

    let mut row = Row::new(format!("{} over 200 bits, a context per path", paths * of_a_path));
    for path in queries.chunks(of_a_path).take(paths) {
        let mut context = Context::new(Settings::default());
        for query in path {
            solve(&mut context, &terms, query);
        }
        row.add(&context);
    }
    row.print();

    let mut row = Row::new(format!("{} over 200 bits, a context each", paths * of_a_path));
    for query in queries.iter().take(paths * of_a_path) {
        let mut context = Context::new(Settings::default());
        solve(&mut context, &terms, query);
        row.add(&context);
    }
    row.print();

    let mut row = Row::new(format!("{} over 200 bits, one context", paths * of_a_path));
    let mut context = Context::new(Settings::default());
    for query in queries.iter().take(paths * of_a_path) {
        solve(&mut context, &terms, query);
    }
    row.add(&context);
    row.print();
}

/// Returns a random comparison of a field of a packet with another, or of a sum with a constant.
fn condition(terms: &mut Terms, random: &mut Rng, packet: Term) -> Term {
    let field = |terms: &mut Terms, random: &mut Rng| {
        let low = 8 * random.u32(0..23);
        terms.extract(packet, low + 15, low)
    };
    let (left, right) = (field(terms, random), field(terms, random));
    let constant = terms.number(16, random.u16(..).into());
    match random.u8(0..4) {
        0 => terms.less(left, right),
        1 => {
            let sum = terms.add(left, right);
            terms.equal(sum, constant)
        }
        2 => terms.less(left, constant),
        _ => {
            let mixed = terms.xor(left, right);
            terms.less(constant, mixed)
        }
    }
}

/// Thirty tables in a row, each with four actions that change one of eight fields, and merged
/// afterwards.
fn tables(fraction: u64) {
    let mut terms = Terms::new();
    let mut random = Rng::with_seed(2);
    let packet = terms.input(Origin::chosen(0), 128);
    let mut fields: Vec<Term> =
        (0..8).map(|field| terms.extract(packet, 16 * field + 15, 16 * field)).collect();
    let mut reached = terms.truth(true);
    let mut goals = Vec::new();
    let mut cost = terms.zero(16);
    for table in 0..30 {
        let hit = terms.input(Origin::chosen(3 * table + 1), 1);
        let action = terms.input(Origin::chosen(3 * table + 2), 2);
        let data = terms.input(Origin::chosen(3 * table + 3), 16);
        // Some tables are applied only if a field is small enough.
        let limit = terms.number(16, random.u16(1_000..60_000).into());
        let small = terms.less(fields[random.usize(..8)], limit);
        let always = terms.truth(true);
        let applied = if random.bool() { small } else { always };
        let ran = terms.and(hit, applied);
        let miss = terms.not(hit);
        let missed = terms.and(applied, miss);
        goals.extend([ran, missed]);
        for number in 0..4 {
            let number = terms.number(2, number);
            let chosen = terms.equal(action, number);
            let runs = terms.and(ran, chosen);
            goals.push(runs);
            let target = random.usize(..8);
            let other = fields[random.usize(..8)];
            let value = match random.u8(0..4) {
                0 => data,
                1 => terms.add(fields[target], data),
                2 => terms.xor(fields[target], other),
                _ => other,
            };
            fields[target] = terms.if_then_else(runs, value, fields[target]);
            let (weight, nothing) = (terms.number(16, random.u128(5..90)), terms.zero(16));
            let added = terms.if_then_else(runs, weight, nothing);
            cost = terms.add(cost, added);
        }
        let (left, right) = (fields[random.usize(..8)], fields[random.usize(..8)]);
        goals.push(terms.equal(left, right));
        goals.push(terms.less(left, right));
        if table % 6 == 5 {
            // An early exit, which later goals do not pass.
            let dropped = terms.number(16, 0xdead);
            let dropped = terms.equal(fields[random.usize(..8)], dropped);
            let goes_on = terms.not(dropped);
            reached = terms.and(reached, goes_on);
        }
        let last = goals.len() - 8;
        for goal in &mut goals[last..] {
            *goal = terms.and(*goal, reached);
        }
    }

    let mut row = Row::new(format!("30 merged tables, {} goals", goals.len()));
    let mut context = Context::new(Settings::default());
    for goal in &goals {
        solve(&mut context, &terms, &[*goal]);
    }
    row.add(&context);
    row.print();
    println!("  {} terms, {} clauses", terms.len(), context.clauses());

    let count = 10_000 / fraction;
    let mut row = Row::new(format!("{count} conjunctions of four of these"));
    for _ in 0..count {
        let four = [(); 4].map(|()| goals[random.usize(..goals.len())]);
        solve(&mut context, &terms, &four);
    }
    row.add(&context);
    row.print();

    let mut row = Row::new("their worst case, proved");
    let mut context = Context::new(Settings::default());
    let worst = context.maximum(&mut terms, &[reached], cost);
    row.add(&context);
    row.print();
    match worst {
        Ok(Some(worst)) => println!("  costs {}, and at most {}", worst.found, worst.bound),
        Ok(None) => println!("  no packet passes"),
        Err(error) => panic!("{error}"),
    }
}
