//! Tests of the simplifications that the constructors of terms make. The size of a formula depends
//! on them.

use symbolic::term::{Operation, Origin, Term, Terms};

fn input(terms: &mut Terms, id: u64, width: u32) -> Term {
    terms.input(Origin::chosen(id), width)
}

#[test]
fn slices_of_a_packet_join_again() {
    let mut terms = Terms::new();
    let packet = input(&mut terms, 0, 112);
    let (destination, source) = (terms.extract(packet, 111, 64), terms.extract(packet, 63, 16));
    let ether_type = terms.extract(packet, 15, 0);
    let addresses = terms.concatenate(destination, source);
    assert_eq!(terms.concatenate(addresses, ether_type), packet);
    // A slice of a slice, and a slice across pieces.
    let high = terms.extract(destination, 47, 40);
    assert_eq!(high, terms.extract(packet, 111, 104));
    let swapped = terms.concatenate(source, destination);
    let across = terms.extract(swapped, 55, 40);
    let (low, top) = (terms.extract(packet, 23, 16), terms.extract(packet, 111, 104));
    assert_eq!(across, terms.concatenate(low, top));
}

#[test]
fn a_rope_costs_one_term_for_each_piece() {
    let mut terms = Terms::new();
    let mut rope = terms.zero(0);
    for id in 0..500 {
        let piece = input(&mut terms, id, 8);
        rope = terms.concatenate(rope, piece);
    }
    assert!(terms.len() < 1_010, "{} terms", terms.len());
    assert_eq!(terms.pieces(rope).len(), 500);
    // Equal ropes are compared piece by piece, and equal pieces not at all.
    let last = input(&mut terms, 1_000, 8);
    let other = terms.extract(rope, 3_999, 8);
    let other = terms.concatenate(other, last);
    let equal = terms.equal(rope, other);
    let original = input(&mut terms, 499, 8);
    assert_eq!(equal, terms.equal(original, last));
}

#[test]
fn the_two_sides_of_a_branch_join_to_what_was_before_it() {
    let mut terms = Terms::new();
    let (before, condition) = (input(&mut terms, 0, 1), input(&mut terms, 1, 1));
    let otherwise = terms.not(condition);
    let (then, otherwise) = (terms.and(before, condition), terms.and(before, otherwise));
    assert_eq!(terms.or(then, otherwise), before);
    let never = terms.and(then, otherwise);
    assert_eq!(terms.truth_of(never), Some(false));
    // A second test of the same condition decides nothing.
    assert_eq!(terms.and(then, condition), then);
}

#[test]
fn comparisons_of_choices_of_constants_are_conditions() {
    let mut terms = Terms::new();
    let condition = input(&mut terms, 0, 1);
    let (four, six) = (terms.number(16, 0x0800), terms.number(16, 0x86dd));
    let chosen = terms.if_then_else(condition, four, six);
    assert_eq!(terms.equal(chosen, four), condition);
    assert_eq!(terms.equal(chosen, six), terms.not(condition));
    let other = terms.number(16, 1);
    let never = terms.equal(chosen, other);
    assert_eq!(terms.truth_of(never), Some(false));
    // The chain of a table's actions: whether the third was chosen needs no comparison of numbers.
    let mut chain = terms.zero(8);
    for action in 1..200_u32 {
        let hit = input(&mut terms, u64::from(action), 1);
        let number = terms.number(8, u128::from(action));
        chain = terms.if_then_else(hit, number, chain);
    }
    let before = terms.len();
    let wanted = terms.number(8, 3);
    let third = terms.equal(chain, wanted);
    let mut operations = Vec::new();
    terms.visit(&[third], |_, operation| operations.push(operation));
    assert!(!operations.iter().any(|operation| matches!(operation, Operation::Equal(..))));
    assert!(terms.len() - before < 700, "{} new terms", terms.len() - before);
}

#[test]
fn constants_move_to_the_other_side_of_a_comparison() {
    let mut terms = Terms::new();
    let ttl = input(&mut terms, 0, 8);
    let one = terms.number(8, 1);
    let less = terms.subtract(ttl, one);
    let less = terms.subtract(less, one);
    let zero = terms.zero(8);
    let two = terms.number(8, 2);
    assert_eq!(terms.equal(less, zero), terms.equal(ttl, two));
    assert_eq!(terms.less(ttl, one), terms.equal(ttl, zero));
    let wide = terms.zero_extend(ttl, 32);
    let limit = terms.number(32, 300);
    let always = terms.less(wide, limit);
    assert_eq!(terms.truth_of(always), Some(true));
}

#[test]
fn masks_of_prefixes_compare_slices() {
    let mut terms = Terms::new();
    let address = input(&mut terms, 0, 32);
    let (value, mask) = (terms.number(32, 0x0a01_0000), terms.number(32, 0xffff_0000));
    let prefix = terms.extract(address, 31, 16);
    let expected = terms.number(16, 0x0a01);
    assert_eq!(terms.matches_under(address, value, mask), terms.equal(prefix, expected));
    let none = terms.zero(32);
    let always = terms.matches_under(address, value, none);
    assert_eq!(terms.truth_of(always), Some(true));
}

#[test]
fn inputs_of_no_bits_are_zero() {
    let mut terms = Terms::new();
    let nothing = input(&mut terms, 0, 0);
    let eight = input(&mut terms, 1, 8);
    assert_eq!(terms.constant_of(nothing).map(ir::bits::Bits::width), Some(0));
    assert_eq!(terms.concatenate(nothing, eight), eight);
    let empty = terms.resize(eight, 0);
    assert_eq!(empty, nothing);
    let same = terms.equal(empty, nothing);
    assert_eq!(terms.truth_of(same), Some(true));
    assert!(terms.check().is_ok());
}
