//! Circuits for arithmetic. Words are lists of literals, from the least significant bit on.

use super::Limit;
use super::gates::Gates;
use crate::solver::{Literal, Solver};

/// The largest number of unknown bits in a factor or divisor for which a product or quotient of two
/// unknowns is translated.
const UNKNOWN_FACTOR: u32 = 64;

/// Adds two words of equal width and a carry.
pub(super) fn add(
    gates: &mut Gates,
    solver: &mut dyn Solver,
    left: &[Literal],
    right: &[Literal],
    mut carry: Literal,
) -> Vec<Literal> {
    let mut sum = Vec::with_capacity(left.len());
    for (position, (a, b)) in left.iter().zip(right).enumerate() {
        let half = gates.xor(solver, *a, *b);
        sum.push(gates.xor(solver, half, carry));
        // No bit needs the last carry.
        if position + 1 < left.len() {
            carry = gates.majority(solver, [*a, *b, carry]);
        }
    }
    sum
}

/// Subtracts one word from another of equal width.
pub(super) fn subtract(
    gates: &mut Gates,
    solver: &mut dyn Solver,
    left: &[Literal],
    right: &[Literal],
) -> Vec<Literal> {
    let complement: Vec<Literal> = right.iter().map(|literal| !*literal).collect();
    let one = gates.truth();
    add(gates, solver, left, &complement, one)
}

/// Returns a literal that is true if one word is less than another of equal width. It is the borrow
/// of their difference.
pub(super) fn less(
    gates: &mut Gates,
    solver: &mut dyn Solver,
    left: &[Literal],
    right: &[Literal],
) -> Literal {
    let mut less = !gates.truth();
    for (a, b) in left.iter().zip(right) {
        less = gates.majority(solver, [!*a, *b, less]);
    }
    less
}

fn unknown_bits(gates: &Gates, word: &[Literal]) -> u32 {
    let unknown = word.iter().filter(|literal| !gates.is_constant(**literal)).count();
    u32::try_from(unknown).unwrap_or(u32::MAX)
}

fn check_unknowns(gates: &Gates, left: &[Literal], right: &[Literal]) -> Result<(), Limit> {
    let unknown = unknown_bits(gates, left).min(unknown_bits(gates, right));
    if unknown > UNKNOWN_FACTOR { Err(Limit::Product(unknown)) } else { Ok(()) }
}

/// Multiplies two words of equal width: adds one word, shifted to the position of each set bit of
/// the other.
pub(super) fn multiply(
    gates: &mut Gates,
    solver: &mut dyn Solver,
    left: &[Literal],
    right: &[Literal],
) -> Result<Vec<Literal>, Limit> {
    check_unknowns(gates, left, right)?;
    let zero = !gates.truth();
    // The word of which fewer bits may be one decides how many rows are added.
    let rows = |word: &[Literal]| word.iter().filter(|literal| **literal != zero).count();
    let (by, of) = if rows(left) <= rows(right) { (left, right) } else { (right, left) };
    let mut sum = vec![zero; of.len()];
    for (position, bit) in by.iter().enumerate() {
        if *bit == zero {
            continue;
        }
        let row: Vec<Literal> = of
            .iter()
            .take(of.len() - position)
            .map(|literal| gates.and(solver, *bit, *literal))
            .collect();
        let upper = add(gates, solver, &sum[position..], &row, zero);
        sum.truncate(position);
        sum.extend(upper);
        gates.check()?;
    }
    Ok(sum)
}

/// Divides two words of equal width, and returns quotient and remainder.
///
/// Each step of the long division appends a bit of the dividend to the remainder, and subtracts the
/// divisor if it is not greater. A divisor of zero is never greater, so the quotient by zero is all
/// ones and the remainder is the dividend.
pub(super) fn divide(
    gates: &mut Gates,
    solver: &mut dyn Solver,
    dividend: &[Literal],
    divisor: &[Literal],
) -> Result<(Vec<Literal>, Vec<Literal>), Limit> {
    check_unknowns(gates, dividend, divisor)?;
    let width = dividend.len();
    let zero = !gates.truth();
    // The remainder has one bit more than the divisor before it is reduced.
    let mut divisor = divisor.to_vec();
    divisor.push(zero);
    let mut remainder = vec![zero; width + 1];
    let mut quotient = vec![zero; width];
    for position in (0..width).rev() {
        remainder.pop();
        remainder.insert(0, dividend[position]);
        let fits = !less(gates, solver, &remainder, &divisor);
        let reduced = subtract(gates, solver, &remainder, &divisor);
        for (bit, reduced) in remainder.iter_mut().zip(reduced) {
            *bit = gates.choose(solver, fits, reduced, *bit);
        }
        if let Some(bit) = quotient.get_mut(position) {
            *bit = fits;
        }
        gates.check()?;
    }
    remainder.truncate(width);
    Ok((quotient, remainder))
}

/// Shifts a word to the right by an unsigned number of any width, and inserts `fill` at the top.
/// For each bit of the amount, a row of multiplexers shifts the word by that power of two or leaves
/// it.
pub(super) fn shift_right(
    gates: &mut Gates,
    solver: &mut dyn Solver,
    of: &[Literal],
    amount: &[Literal],
    fill: Literal,
) -> Result<Vec<Literal>, Limit> {
    let mut shifted = of.to_vec();
    let mut beyond = Vec::new();
    for (power, bit) in amount.iter().enumerate() {
        let distance = u32::try_from(power).ok().and_then(|power| 1_usize.checked_shl(power));
        match distance {
            Some(distance) if distance < of.len() => {
                shifted = (0..of.len())
                    .map(|position| {
                        let from = shifted.get(position + distance).copied().unwrap_or(fill);
                        gates.choose(solver, *bit, from, shifted[position])
                    })
                    .collect();
                gates.check()?;
            }
            _ => beyond.push(!*bit),
        }
    }
    let within = gates.all(solver, beyond);
    Ok(shifted.into_iter().map(|bit| gates.choose(solver, within, bit, fill)).collect())
}
