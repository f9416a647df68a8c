//! Terms, their evaluation, the translation to clauses and three-valued logic agree with
//! `ir::bits`, on random computations.

mod random;

use fastrand::Rng;
use ir::bits::Bits;
use random::{Computation, random_bits};
use symbolic::evaluate::{Evaluation, KnownBits};
use symbolic::query::{Answer, Context, Fill, Settings};
use symbolic::term::{Origin, Source, Term, Terms};

#[test]
fn terms_have_the_values_of_bits() {
    for seed in 0..2_000 {
        let mut random = Rng::with_seed(seed);
        let computation = Computation::new(&mut random, 40, u32::MAX);
        computation.terms.check().expect("a computation without faults");
        for _ in 0..4 {
            let model = computation.model(&mut random);
            let expected = computation.results(&model);
            let mut evaluation = Evaluation::new(model);
            for (position, (term, expected)) in computation.values.iter().zip(&expected).enumerate()
            {
                let value = evaluation.value(&computation.terms, *term);
                assert_eq!(value, *expected, "seed {seed}, value {position}");
            }
        }
    }
}

/// Tests that a term whose inputs are fixed has the value that `ir::bits` computes and no other.
#[test]
fn clauses_have_the_values_of_bits() {
    for seed in 0..150 {
        let mut random = Rng::with_seed(seed);
        let mut computation = Computation::new(&mut random, 25, u32::MAX);
        let mut context = Context::new(Settings { models: 0, ..Settings::default() });
        let model = computation.model(&mut random);
        let expected = computation.results(&model);
        let terms = &mut computation.terms;
        let mut fixed = Vec::new();
        for input in &computation.inputs {
            let value = terms.constant(&model.get(terms, *input));
            fixed.push(terms.equal(terms.input_of(*input).term, value));
        }
        for (position, (term, expected)) in computation.values.iter().zip(&expected).enumerate() {
            let expected = terms.constant(expected);
            let equal = terms.equal(*term, expected);
            let differs = terms.not(equal);
            let with = |condition: Term| [fixed.as_slice(), &[condition]].concat();
            let right = context.solve(terms, &with(equal)).expect("an answer");
            assert!(matches!(right, Answer::Model(_)), "seed {seed}, value {position}: {right:?}");
            let wrong = context.solve(terms, &with(differs)).expect("an answer");
            assert!(matches!(wrong, Answer::Unsat(_)), "seed {seed}, value {position}: {wrong:?}");
        }
    }
}

/// The inputs that the solver finds for a value give that value by `ir::bits`.
#[test]
fn models_have_the_values_of_bits() {
    let mut models = 0;
    for seed in 0..300 {
        let mut random = Rng::with_seed(seed);
        let mut computation = Computation::new(&mut random, 20, 32);
        let fill = if random.bool() { Fill::Zeros } else { Fill::Random(seed) };
        let mut context = Context::new(Settings { models: 0, fill, ..Settings::default() });
        for _ in 0..6 {
            let position = random.usize(..computation.values.len());
            let term = computation.values[position];
            let wanted = random_bits(&mut random, computation.terms.width_of(term));
            let constant = computation.terms.constant(&wanted);
            let condition = computation.terms.equal(term, constant);
            match context.solve(&computation.terms, &[condition]).expect("an answer") {
                Answer::Model(model) => {
                    models += 1;
                    assert_eq!(computation.results(&model)[position], wanted, "seed {seed}");
                }
                Answer::Unsat(_) => {
                    for _ in 0..20 {
                        let results = computation.results(&computation.model(&mut random));
                        assert_ne!(results[position], wanted, "seed {seed}");
                    }
                }
                Answer::OutOfBudget(_) => {}
            }
        }
    }
    assert!(models > 500, "only {models} models");
}

/// Whatever the undefined inputs are, known bits have the values that are known.
#[test]
fn known_bits_hold_for_all_completions() {
    let mut known_bits = 0;
    for seed in 0..800 {
        let mut random = Rng::with_seed(seed);
        let computation = Computation::new(&mut random, 30, u32::MAX);
        let terms = &computation.terms;
        let model = computation.model(&mut random);
        let mut known = KnownBits::new(model.clone());
        // An input that a test chooses can be unknown too.
        let unknown = computation.inputs[random.usize(..computation.inputs.len())];
        if random.bool() {
            known.make_unknown(unknown);
        }
        let known: Vec<_> = computation.values.iter().map(|term| known.of(terms, *term)).collect();
        for _ in 0..12 {
            let other = computation.model(&mut random);
            let mut completed = model.clone();
            for input in &computation.inputs {
                let undefined = terms.input_of(*input).origin.source == Source::Undefined;
                if undefined || *input == unknown {
                    completed.set(terms, *input, &other.get(terms, *input));
                }
            }
            // An input that was not made unknown keeps its value.
            let kept = known[computation.inputs.iter().position(|i| *i == unknown).expect("it")]
                .complete()
                .is_some();
            if kept {
                completed.set(terms, unknown, &model.get(terms, unknown));
            }
            let results = computation.results(&completed);
            for (position, (known, result)) in known.iter().zip(&results).enumerate() {
                assert_eq!(
                    *known.value(),
                    result.bit_and(known.mask()),
                    "seed {seed}, value {position}"
                );
                known_bits += u64::from(!known.mask().is_zero() && known.complete().is_none());
            }
        }
    }
    assert!(known_bits > 1_000, "only {known_bits} values are known in part");
}

/// All values of three bits of which each bit is zero, one or unknown.
fn ternary() -> Vec<(Bits, Bits)> {
    let mut all = Vec::new();
    for mask in 0..8_u128 {
        for value in 0..8_u128 {
            if value & !mask == 0 {
                all.push((Bits::unsigned(3, value), Bits::unsigned(3, mask)));
            }
        }
    }
    all
}

/// Tests operations for which three-valued logic knows each bit that is the same for all
/// completions.
#[test]
fn known_bits_of_single_operations_are_all_there_are() {
    type Build = fn(&mut Terms, Term, Term) -> Term;
    let operations: [(&str, Build); 9] = [
        ("and", Terms::and),
        ("or", Terms::or),
        ("xor", Terms::xor),
        ("add", Terms::add),
        ("subtract", Terms::subtract),
        ("equal", Terms::equal),
        ("less", Terms::less),
        ("concatenate", Terms::concatenate),
        ("choice", |terms, x, y| {
            let condition = terms.input(Origin::undefined(9), 1);
            terms.if_then_else(condition, x, y)
        }),
    ];
    for (name, build) in operations {
        for (x, x_mask) in ternary() {
            for (y, y_mask) in ternary() {
                // A partly known operand is a constant whose unknown bits are those of an input.
                let mut terms = Terms::new();
                let mut operand = |id: u64, value: &Bits, mask: &Bits| {
                    let input = terms.input(Origin::undefined(id), 3);
                    let unknown = terms.constant(&mask.complement());
                    let free = terms.and(input, unknown);
                    let value = terms.constant(value);
                    terms.or(free, value)
                };
                let (left, right) = (operand(0, &x, &x_mask), operand(1, &y, &y_mask));
                let term = build(&mut terms, left, right);
                let width = terms.width_of(term);
                let mut always = (Bits::ones(width, false), Bits::ones(width, false));
                for completion in 0..128_u128 {
                    let mut model = symbolic::evaluate::Model::new();
                    for (id, input) in (0_u32..).zip(terms.inputs().to_vec()) {
                        let symbolic::term::Operation::Input(id_of) = terms.operation(input.term)
                        else {
                            panic!("an input")
                        };
                        model.set(&terms, id_of, &Bits::unsigned(3, completion >> (3 * id)));
                    }
                    let value = Evaluation::new(model).value(&terms, term);
                    always.0 = always.0.bit_and(&value);
                    always.1 = always.1.bit_and(&value.complement());
                }
                let known = KnownBits::new(symbolic::evaluate::Model::new()).of(&terms, term);
                assert_eq!(*known.mask(), always.0.bit_or(&always.1), "{name} of {x:?} and {y:?}");
            }
        }
    }
}
