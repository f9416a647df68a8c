//! Queries: models, cores, limits, what is kept between queries, and the check of proofs.

use ir::bits::Bits;
use symbolic::Ends;
use symbolic::evaluate::{Evaluation, Model};
use symbolic::proof::{CheckedSolver, ProofError};
use symbolic::query::{Answer, Context, Core, Fill, Limit, QueryError, Settings};
use symbolic::solver::{self, BatSolver, Literal, Solver, Step};
use symbolic::term::{Fault, Operation, Origin, Term, Terms};

fn input(terms: &mut Terms, id: u64, width: u32) -> Term {
    terms.input(Origin::chosen(id), width)
}

fn equals(terms: &mut Terms, term: Term, value: u128) -> Term {
    let value = terms.number(terms.width_of(term), value);
    terms.equal(term, value)
}

fn solve(context: &mut Context, terms: &Terms, conditions: &[Term]) -> Answer {
    context.solve(terms, conditions).expect("an answer")
}

fn model(context: &mut Context, terms: &Terms, conditions: &[Term]) -> Model {
    match solve(context, terms, conditions) {
        Answer::Model(model) => model,
        other => panic!("{other:?}"),
    }
}

fn core(context: &mut Context, terms: &Terms, conditions: &[Term]) -> Vec<Term> {
    match solve(context, terms, conditions) {
        Answer::Unsat(Core { conditions }) => conditions,
        other => panic!("{other:?}"),
    }
}

/// Conditions that put `pigeons` numbers below `holes` and all apart, which has no model if there
/// are more pigeons than holes, and needs a proof.
fn pigeons(terms: &mut Terms, pigeons: u64, holes: u128) -> Vec<Term> {
    let all: Vec<Term> = (0..pigeons).map(|id| input(terms, 100 + id, 4)).collect();
    let mut conditions = Vec::new();
    for (position, pigeon) in all.iter().enumerate() {
        let holes = terms.number(4, holes);
        conditions.push(terms.less(*pigeon, holes));
        for other in &all[..position] {
            conditions.push(terms.not_equal(*pigeon, *other));
        }
    }
    conditions
}

/// The factors of a product of two primes, which takes a solver long.
fn factors(terms: &mut Terms, width: u32, product: u128) -> Vec<Term> {
    let (a, b) = (input(terms, 1, width), input(terms, 2, width));
    let (wide_a, wide_b) = (terms.zero_extend(a, 2 * width), terms.zero_extend(b, 2 * width));
    let found = terms.multiply(wide_a, wide_b);
    let one = terms.number(width, 1);
    vec![equals(terms, found, product), terms.less(one, a), terms.less(one, b)]
}

#[test]
fn factors_of_a_product_are_found() {
    let mut terms = Terms::new();
    let conditions = factors(&mut terms, 12, 2_039 * 3_469);
    let found = model(&mut Context::new(Settings::default()), &terms, &conditions);
    let values: Vec<Option<u64>> = found.values().map(|(_, value)| value.to_u64()).collect();
    assert!(values == [Some(2_039), Some(3_469)] || values == [Some(3_469), Some(2_039)]);
}

#[test]
fn a_core_names_only_conditions_that_exclude_each_other() {
    let mut terms = Terms::new();
    let (x, y) = (input(&mut terms, 1, 16), input(&mut terms, 2, 16));
    let limit = terms.number(16, 100);
    let (below, beyond) = (terms.less(x, limit), terms.less(limit, x));
    let unrelated = equals(&mut terms, y, 7);
    let mut context = Context::new(Settings::default());
    assert_eq!(core(&mut context, &terms, &[below, unrelated, beyond]), [below, beyond]);
    assert_eq!(context.counts().unsatisfiable, 1);

    // A later query that contains the core is answered by it, and so is a conjunction.
    let both = terms.and(beyond, unrelated);
    assert_eq!(core(&mut context, &terms, &[both, below]), [below, beyond]);
    assert_eq!((context.counts().unsatisfiable, context.counts().cores), (1, 1));
    model(&mut context, &terms, &[below, unrelated]);
}

#[test]
fn what_is_asserted_holds_in_all_later_models() {
    let mut terms = Terms::new();
    let x = input(&mut terms, 1, 8);
    let (seven, eight) = (equals(&mut terms, x, 7), equals(&mut terms, x, 8));
    let nothing = terms.truth(true);
    let mut context = Context::new(Settings::default());
    assert_eq!(
        model(&mut context, &terms, &[nothing]).get(&terms, id(&terms, x)).to_u64(),
        Some(0)
    );
    context.assert(&terms, seven);
    assert_eq!(model(&mut context, &terms, &[]).get(&terms, id(&terms, x)).to_u64(), Some(7));
    // Nothing that was passed contradicts the assertion but this condition.
    assert_eq!(core(&mut context, &terms, &[eight]), [eight]);
    context.assert(&terms, eight);
    assert!(core(&mut context, &terms, &[]).is_empty());
    let never = terms.truth(false);
    assert!(core(&mut context, &terms, &[never]).len() <= 1);
}

fn id(terms: &Terms, term: Term) -> symbolic::term::InputId {
    match terms.operation(term) {
        Operation::Input(id) => id,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_model_that_is_kept_answers_the_next_query() {
    let mut terms = Terms::new();
    let x = input(&mut terms, 1, 32);
    let conditions: Vec<Term> = (0..40).map(|bit| terms.number(32, bit)).collect();
    let conditions: Vec<Term> = conditions.iter().map(|at| terms.equal(x, *at)).collect();
    let mut context = Context::new(Settings { models: 32, ..Settings::default() });
    for condition in &conditions {
        model(&mut context, &terms, &[*condition]);
    }
    let solved = context.counts().satisfiable;
    assert_eq!(solved, 40);
    // The last 32 models are kept, and those before them are not.
    for condition in &conditions[8..] {
        model(&mut context, &terms, &[*condition]);
    }
    assert_eq!((context.counts().satisfiable, context.counts().models), (40, 32));
    model(&mut context, &terms, &[conditions[0]]);
    assert_eq!(context.counts().satisfiable, 41);

    // A model of another context is kept if it satisfies what is asserted.
    let mut other = Context::new(Settings::default());
    other.assert(&terms, conditions[3]);
    for condition in [3, 4] {
        let mut offered = Model::new();
        offered.set(&terms, id(&terms, x), &Bits::unsigned(32, condition));
        other.offer(&terms, offered);
    }
    model(&mut other, &terms, &[]);
    assert_eq!((other.counts().satisfiable, other.counts().models), (0, 1));
}

#[test]
fn proofs_are_checked_lemma_by_lemma() {
    let mut terms = Terms::new();
    let conditions = pigeons(&mut terms, 7, 6);
    let mut context = Context::new(Settings::default());
    core(&mut context, &terms, &conditions);
    assert!(context.checked_lemmas() > 100, "{} lemmas", context.checked_lemmas());
    // One pigeon less has its hole, after the same lemmas.
    let mut fewer = Terms::new();
    let conditions = pigeons(&mut fewer, 6, 6);
    model(&mut context_of_defaults(), &fewer, &conditions);
}

fn context_of_defaults() -> Context {
    Context::new(Settings::default())
}

#[test]
fn limits_end_a_query_and_the_next_one_is_answered() {
    let mut terms = Terms::new();
    let hard = factors(&mut terms, 28, 268_435_399 * 268_435_367);
    let settings = Settings { conflicts: 200, ..Settings::default() };
    let mut context = Context::new(settings);
    assert_eq!(solve(&mut context, &terms, &hard), Answer::OutOfBudget(Limit::Conflicts(200)));
    assert!((200..=210).contains(&context.conflicts()), "{} conflicts", context.conflicts());
    assert_eq!(context.counts().out_of_budget, 1);
    let easy = input(&mut terms, 1, 28);
    let easy = equals(&mut terms, easy, 3);
    model(&mut context, &terms, &[easy]);

    let mut context = Context::new(Settings { clauses: 1_000, ..settings });
    assert_eq!(solve(&mut context, &terms, &hard), Answer::OutOfBudget(Limit::Clauses(1_000)));
    assert!(context.clauses() < 10_000);

    let (a, b) = (input(&mut terms, 3, 100), input(&mut terms, 4, 100));
    let product = terms.multiply(a, b);
    let wide = equals(&mut terms, product, 77);
    let mut context = context_of_defaults();
    assert_eq!(solve(&mut context, &terms, &[wide]), Answer::OutOfBudget(Limit::Product(100)));
    // A factor of few unknown bits is solved, whatever the width.
    let ten = terms.extract(a, 9, 0);
    let ten = terms.zero_extend(ten, 100);
    let product = terms.multiply(ten, b);
    let narrow = equals(&mut terms, product, 1 << 80);
    model(&mut context, &terms, &[narrow]);
}

#[test]
fn the_same_queries_have_the_same_models() {
    let run = |fill| {
        let mut terms = Terms::new();
        let mut context = Context::new(Settings { fill, ..Settings::default() });
        let (x, y) = (input(&mut terms, 1, 64), input(&mut terms, 2, 64));
        let sum = terms.add(x, y);
        (0..20)
            .map(|number| {
                let wanted = equals(&mut terms, sum, 1 << number);
                model(&mut context, &terms, &[wanted])
            })
            .collect::<Vec<Model>>()
    };
    assert_eq!(run(Fill::Random(5)), run(Fill::Random(5)));
    assert_ne!(run(Fill::Random(5)), run(Fill::Random(6)));
    assert_eq!(run(Fill::Zeros), run(Fill::Zeros));
}

#[test]
fn bits_that_a_query_leaves_open_are_filled() {
    let mut terms = Terms::new();
    let packet = input(&mut terms, 1, 12_000);
    let head = terms.extract(packet, 11_999, 11_992);
    let wanted = equals(&mut terms, head, 0x45);
    let of = |fill| {
        let mut context = Context::new(Settings { fill, ..Settings::default() });
        model(&mut context, &terms, &[wanted]).get(&terms, id(&terms, packet))
    };
    let zeros = of(Fill::Zeros);
    assert_eq!(zeros, Bits::unsigned(12_000, 0x45).shift_left(11_992));
    let random = of(Fill::Random(1));
    assert_eq!(random.slice(11_999, 11_992).to_u64(), Some(0x45));
    let ones = (0..11_992).filter(|bit| random.bit(*bit)).count();
    assert!((5_500..6_500).contains(&ones), "{ones} ones");
    // Only the eight bits of the query are variables, and each is defined by few clauses.
    let mut context = context_of_defaults();
    model(&mut context, &terms, &[wanted]);
    assert!(context.clauses() < 20, "{} clauses", context.clauses());
}

#[test]
fn terms_of_wrong_widths_answer_no_query() {
    let mut terms = Terms::new();
    let (x, y) = (input(&mut terms, 1, 8), input(&mut terms, 2, 9));
    let equal = terms.equal(x, y);
    let answer = context_of_defaults().solve(&terms, &[equal]);
    assert_eq!(answer, Err(QueryError::Term(Fault::Widths { left: 8, right: 9 })));

    let mut terms = Terms::with_limit(10);
    let x = input(&mut terms, 1, 8);
    for number in 0..20 {
        let number = terms.number(8, number);
        terms.add(x, number);
    }
    assert_eq!(terms.check(), Err(Fault::TooMany { limit: 10 }));

    let mut terms = Terms::new();
    let x = input(&mut terms, 1, 65_536);
    terms.concatenate(x, x);
    assert_eq!(terms.check(), Err(Fault::TooWide { width: 131_072 }));
}

/// A solver that reports a prepared answer.
struct Liar {
    truth: BatSolver,
    steps: Vec<Step>,
    answer: solver::Answer,
}

impl Solver for Liar {
    fn variable(&mut self, preferred: Option<bool>) -> Literal {
        self.truth.variable(preferred)
    }
    fn add(&mut self, clause: &[Literal]) {
        self.truth.add(clause);
    }
    fn solve(&mut self, _: &[Literal], _: u64) -> solver::Answer {
        self.answer.clone()
    }
    fn value(&self, literal: Literal) -> bool {
        self.truth.value(literal)
    }
    fn conflicts(&self) -> u64 {
        0
    }
    fn take_steps(&mut self) -> Vec<Step> {
        std::mem::take(&mut self.steps)
    }
}

/// Clauses that make exactly one of two variables true, with what a solver says about them.
fn judged(steps: impl Fn([Literal; 2]) -> Vec<Step>, core: &[usize]) -> Result<(), ProofError> {
    let mut truth = BatSolver::new(false, Ends::default());
    let [a, b] = [truth.variable(None), truth.variable(None)];
    let core = core.iter().map(|position| [a, b][*position]).collect();
    let liar = Liar {
        truth: BatSolver::new(false, Ends::default()),
        steps: steps([a, b]),
        answer: solver::Answer::Core(core),
    };
    let mut checked = CheckedSolver::new(liar, true);
    assert_eq!([checked.variable(None), checked.variable(None)], [a, b]);
    checked.add(&[a, b]);
    checked.add(&[!a, !b]);
    checked.solve(&[a, b], 1);
    checked.verdict()
}

#[test]
fn a_solver_that_lies_is_found_out() {
    assert_eq!(judged(|_| Vec::new(), &[0, 1]), Ok(()));
    assert_eq!(judged(|_| Vec::new(), &[0]), Err(ProofError::Core { lemmas: 0 }));
    assert_eq!(judged(|_| Vec::new(), &[]), Err(ProofError::Core { lemmas: 0 }));
    let lemma = |[a, _]: [Literal; 2]| vec![Step::Lemma(vec![!a])];
    assert_eq!(judged(lemma, &[0]), Err(ProofError::Lemma { number: 1 }));
    // A lemma counts only until it is deleted.
    let right = |[a, b]: [Literal; 2]| vec![Step::Lemma(vec![!b, !a])];
    assert_eq!(judged(right, &[0, 1]), Ok(()));
}

#[test]
fn lemmas_that_were_deleted_prove_nothing() {
    // Four clauses over two variables contradict each other, which propagation alone does not see.
    let mut names = BatSolver::new(false, Ends::default());
    let [a, b, c] = [names.variable(None), names.variable(None), names.variable(None)];
    let run = |steps: Vec<Step>| {
        let liar = Liar {
            truth: BatSolver::new(false, Ends::default()),
            steps,
            answer: solver::Answer::Core(vec![c]),
        };
        let mut checked = CheckedSolver::new(liar, true);
        for _ in 0..3 {
            checked.variable(None);
        }
        for clause in [[a, b], [a, !b], [!a, b], [!a, !b]] {
            checked.add(&[clause[0], clause[1], !c]);
        }
        checked.solve(&[c], 1);
        checked.verdict()
    };
    let lemma = vec![a, !c];
    let other = vec![!c, b, a];
    assert_eq!(run(vec![]), Err(ProofError::Core { lemmas: 0 }));
    assert_eq!(run(vec![Step::Lemma(lemma.clone())]), Ok(()));
    assert_eq!(
        run(vec![Step::Lemma(lemma.clone()), Step::Deletion(vec![!c, a])]),
        Err(ProofError::Core { lemmas: 1 })
    );
    assert_eq!(run(vec![Step::Lemma(lemma), Step::Deletion(other)]), Ok(()));
}

#[test]
fn models_need_no_inputs_that_do_not_matter() {
    let mut terms = Terms::new();
    let (x, y) = (input(&mut terms, 1, 8), input(&mut terms, 2, 8));
    let zero = terms.zero(8);
    let hidden = terms.and(y, zero);
    let sum = terms.add(x, hidden);
    let wanted = equals(&mut terms, sum, 9);
    let found = model(&mut context_of_defaults(), &terms, &[wanted]);
    assert!(found.contains(id(&terms, x)) && !found.contains(id(&terms, y)));
    assert_eq!(Evaluation::new(found).value(&terms, sum).to_u64(), Some(9));
}

/// The costs of a chain of tables, of which the costliest actions exclude each other.
#[test]
fn the_worst_case_is_found_and_proved() {
    let mut terms = Terms::new();
    let mut cost = terms.zero(16);
    let mut actions = Vec::new();
    for table in 0..6 {
        let action = input(&mut terms, table, 2);
        for (number, weight) in [(1, 10 + u128::from(table)), (2, 3), (3, 0)] {
            let ran = equals(&mut terms, action, number);
            let (weight, nothing) = (terms.number(16, weight), terms.zero(16));
            let added = terms.if_then_else(ran, weight, nothing);
            cost = terms.add(cost, added);
        }
        actions.push(action);
    }
    // Neighbours do not both run their first action.
    let mut conditions = Vec::new();
    for pair in actions.windows(2) {
        let (left, right) = (equals(&mut terms, pair[0], 1), equals(&mut terms, pair[1], 1));
        let both = terms.and(left, right);
        conditions.push(terms.not(both));
    }
    let mut context = context_of_defaults();
    let worst = context.maximum(&mut terms, &conditions, cost).expect("answers").expect("a path");
    // Tables 1, 3 and 5 cost 11, 13 and 15, and those between them 3 each.
    assert_eq!((worst.found, worst.bound), (48, 48));
    assert_eq!(Evaluation::new(worst.model).value(&terms, cost).to_u64(), Some(48));
    let never = terms.truth(false);
    assert_eq!(context.maximum(&mut terms, &[never], cost), Ok(None));

    // A limit leaves a bound that is above what was found.
    let mut terms = Terms::new();
    let hard = factors(&mut terms, 28, 268_435_399 * 268_435_367);
    let (hidden, open) = (terms.all(&hard), input(&mut terms, 9, 4));
    let (most, least) = (terms.ones(4), terms.number(4, 2));
    let number = terms.if_then_else(hidden, most, least);
    let more = terms.less(open, number);
    let limits = Settings { conflicts: 50, ..Settings::default() };
    let worst = Context::new(limits).maximum(&mut terms, &[more], number);
    let worst = worst.expect("answers").expect("a value");
    assert_eq!((worst.found, worst.bound), (2, 15));
}
