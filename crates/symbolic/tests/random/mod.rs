//! Random terms, each with the function of `ir::bits` that it must be equal to.

use fastrand::Rng;
use ir::bits::Bits;
use symbolic::evaluate::Model;
use symbolic::term::{InputId, Operation, Origin, Source, Term, Terms};

type Recipe = Box<dyn Fn(&[Bits]) -> Bits>;

/// A random computation: the inputs come first, and each later value is made of earlier ones, once
/// as a term and once by `ir::bits`.
pub(crate) struct Computation {
    pub(crate) terms: Terms,
    pub(crate) inputs: Vec<InputId>,
    pub(crate) values: Vec<Term>,
    recipes: Vec<Recipe>,
    widths: Vec<u32>,
}

/// The widths of random values, with those at the borders of words.
const WIDTHS: [u32; 12] = [1, 1, 2, 3, 7, 8, 13, 16, 32, 63, 65, 130];

impl Computation {
    /// Returns a computation with some inputs, of which about a quarter are undefined, and
    /// `operations` operations whose operands are at most `widest` bits wide.
    pub(crate) fn new(random: &mut Rng, operations: usize, widest: u32) -> Self {
        let mut new = Self {
            terms: Terms::new(),
            inputs: Vec::new(),
            values: Vec::new(),
            recipes: Vec::new(),
            widths: Vec::new(),
        };
        for id in 0..random.u64(2..6) {
            let source = if random.u8(0..4) == 0 { Source::Undefined } else { Source::Chosen };
            let width = new.some_width(random, widest);
            let term = new.terms.input(Origin { source, id }, width);
            let Operation::Input(input) = new.terms.operation(term) else { panic!("an input") };
            new.inputs.push(input);
            new.values.push(term);
            new.widths.push(width);
        }
        for _ in 0..operations {
            new.step(random, widest);
        }
        new
    }

    fn some_width(&self, random: &mut Rng, widest: u32) -> u32 {
        WIDTHS[random.usize(..WIDTHS.len())].min(widest)
    }

    /// Returns a random model of all inputs, with many extreme values.
    pub(crate) fn model(&self, random: &mut Rng) -> Model {
        let mut model = Model::new();
        for input in &self.inputs {
            model.set(&self.terms, *input, &random_bits(random, self.terms.input_of(*input).width));
        }
        model
    }

    /// Returns all values under a model, by `ir::bits`.
    pub(crate) fn results(&self, model: &Model) -> Vec<Bits> {
        let mut results: Vec<Bits> =
            self.inputs.iter().map(|input| model.get(&self.terms, *input)).collect();
        for recipe in &self.recipes {
            let next = recipe(&results);
            results.push(next);
        }
        results
    }

    fn push(&mut self, term: Term, width: u32, recipe: impl Fn(&[Bits]) -> Bits + 'static) {
        assert_eq!(self.terms.width_of(term), width);
        self.values.push(term);
        self.widths.push(width);
        self.recipes.push(Box::new(recipe));
    }

    /// Returns the position of a random value, which is more often a late one.
    fn pick(&self, random: &mut Rng) -> usize {
        let count = self.values.len();
        random.usize(..count).max(random.usize(..count))
    }

    /// Returns the position of a value of a width, which is made by a cast if need be.
    fn pick_of(&mut self, random: &mut Rng, width: u32) -> usize {
        let from = self.pick(random);
        if self.widths[from] == width {
            return from;
        }
        let signed = random.bool();
        let term = self.terms.cast(self.values[from], signed, width);
        self.push(term, width, move |of| {
            of[from].cast(of[from].width(), signed).cast(width, signed).cast(width, false)
        });
        self.values.len() - 1
    }

    fn step(&mut self, random: &mut Rng, widest: u32) {
        if random.u8(0..8) == 0 {
            let width = self.some_width(random, widest);
            let value = random_bits(random, width);
            let term = self.terms.constant(&value);
            self.push(term, width, move |_| value.clone());
            return;
        }
        let a = self.pick(random);
        let width = self.widths[a];
        let b = self.pick_of(random, width);
        let (x, y) = (self.values[a], self.values[b]);
        let terms = &mut self.terms;
        // Signed operations read the same bits as `int`, and their results are `bit` again.
        let signed = move |bits: &Bits| bits.cast(width, true);
        let plain = move |bits: Bits| bits.cast(width, false);
        match random.u8(0..30) {
            0 => {
                let term = terms.not(x);
                self.push(term, width, move |of| of[a].complement());
            }
            1 | 2 => {
                let term = terms.and(x, y);
                self.push(term, width, move |of| of[a].bit_and(&of[b]));
            }
            3 | 4 => {
                let term = terms.or(x, y);
                self.push(term, width, move |of| of[a].bit_or(&of[b]));
            }
            5 => {
                let term = terms.xor(x, y);
                self.push(term, width, move |of| of[a].bit_xor(&of[b]));
            }
            6 => {
                let term = terms.add(x, y);
                self.push(term, width, move |of| of[a].wrapping_add(&of[b]));
            }
            7 => {
                let term = terms.subtract(x, y);
                self.push(term, width, move |of| of[a].wrapping_sub(&of[b]));
            }
            8 if width <= 16 => {
                let term = terms.multiply(x, y);
                self.push(term, width, move |of| of[a].wrapping_mul(&of[b]));
            }
            9 if width <= 16 => {
                // A divisor of zero, which `ir::bits` refuses, is replaced by one.
                let (zero, one) = (terms.zero(width), terms.number(width, 1));
                let is_zero = terms.equal(y, zero);
                let divisor = terms.if_then_else(is_zero, one, y);
                let (is_signed, is_remainder) = (random.bool(), random.bool());
                let term = match (is_signed, is_remainder) {
                    (false, false) => terms.divide(x, divisor),
                    (false, true) => terms.remainder(x, divisor),
                    (true, false) => terms.divide_signed(x, divisor),
                    (true, true) => terms.remainder_signed(x, divisor),
                };
                self.push(term, width, move |of| {
                    let one = Bits::unsigned(width, 1);
                    let divisor = if of[b].is_zero() { one } else { of[b].clone() };
                    let typed = |bits: &Bits| bits.cast(width, is_signed);
                    let (left, right) = (typed(&of[a]), typed(&divisor));
                    let result = if is_remainder {
                        left.checked_rem(&right)
                    } else {
                        left.checked_div(&right)
                    };
                    plain(result.expect("the divisor is not zero"))
                });
            }
            10 => {
                let is_signed = random.bool();
                let term = terms.saturating_add(x, y, is_signed);
                self.push(term, width, move |of| {
                    let typed = |bits: &Bits| bits.cast(width, is_signed);
                    plain(typed(&of[a]).saturating_add(&typed(&of[b])))
                });
            }
            11 => {
                let is_signed = random.bool();
                let term = terms.saturating_subtract(x, y, is_signed);
                self.push(term, width, move |of| {
                    let typed = |bits: &Bits| bits.cast(width, is_signed);
                    plain(typed(&of[a]).saturating_sub(&typed(&of[b])))
                });
            }
            kind @ 12..=14 => {
                // Amounts below and above the width.
                let amount_width = random.u32(1..10);
                let amount = self.pick_of(random, amount_width);
                let by = self.values[amount];
                match kind {
                    12 => {
                        let term = self.terms.shift_left(x, by);
                        self.push(term, width, move |of| {
                            of[a].shift_left(of[amount].shift_amount())
                        });
                    }
                    13 => {
                        let term = self.terms.shift_right(x, by);
                        self.push(term, width, move |of| {
                            of[a].shift_right(of[amount].shift_amount())
                        });
                    }
                    _ => {
                        let term = self.terms.shift_right_signed(x, by);
                        self.push(term, width, move |of| {
                            plain(signed(&of[a]).shift_right(of[amount].shift_amount()))
                        });
                    }
                }
            }
            15 | 16 => {
                let c = self.pick(random);
                let both = width + self.widths[c];
                if both <= 300 {
                    let term = self.terms.concatenate(x, self.values[c]);
                    self.push(term, both, move |of| of[a].concatenate(&of[c]));
                }
            }
            17 | 18 => {
                let low = random.u32(..width);
                let high = random.u32(low..width);
                let term = terms.extract(x, high, low);
                self.push(term, high - low + 1, move |of| of[a].slice(high, low));
            }
            19 => {
                let low = random.u32(..width);
                let high = random.u32(low..width);
                let part = self.pick_of(random, high - low + 1);
                let term = self.terms.with_slice(x, high, low, self.values[part]);
                self.push(term, width, move |of| of[a].with_slice(high, low, &of[part]));
            }
            20..=22 => {
                let condition = self.pick_of(random, 1);
                let term = self.terms.if_then_else(self.values[condition], x, y);
                self.push(term, width, move |of| {
                    of[if of[condition].is_zero() { b } else { a }].clone()
                });
            }
            23 | 24 => {
                let term = terms.equal(x, y);
                self.push(term, 1, move |of| Bits::from_bool(of[a] == of[b]));
            }
            25 => {
                let term = terms.less(x, y);
                self.push(term, 1, move |of| Bits::from_bool(of[a].compare(&of[b]).is_lt()));
            }
            26 => {
                let term = terms.less_signed(x, y);
                self.push(term, 1, move |of| {
                    Bits::from_bool(signed(&of[a]).compare(&signed(&of[b])).is_lt())
                });
            }
            27 => {
                let term = terms.less_or_equal(x, y);
                self.push(term, 1, move |of| Bits::from_bool(of[a].compare(&of[b]).is_le()));
            }
            28 => {
                let mask = self.pick_of(random, width);
                let term = self.terms.matches_under(x, y, self.values[mask]);
                self.push(term, 1, move |of| {
                    Bits::from_bool(of[a].matches_under(&of[b], &of[mask]))
                });
            }
            _ => {
                let term = terms.negate(x);
                self.push(term, width, move |of| of[a].wrapping_neg());
            }
        }
    }
}

/// Returns a random value, which is often extreme: zero, one, all ones, or a single bit.
pub(crate) fn random_bits(random: &mut Rng, width: u32) -> Bits {
    match random.u8(0..8) {
        0 => Bits::zero(width, false),
        1 => Bits::unsigned(width, 1),
        2 => Bits::ones(width, false),
        3 => Bits::unsigned(width, 1).shift_left(random.u64(..u64::from(width))),
        _ => {
            let bytes: Vec<u8> = (0..width.div_ceil(8)).map(|_| random.u8(..)).collect();
            Bits::from_be_bytes(width, false, &bytes)
        }
    }
}
