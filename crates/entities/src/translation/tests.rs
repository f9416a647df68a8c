//! Tests of the translations: random batches against a model, and single rules.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const TYPE: TranslatedTypeId = TranslatedTypeId(0);

fn of(bits: u32, given: &[(&str, u128)]) -> TypeOfProgram {
    let given = given.iter().map(|(text, number)| (text.as_bytes().into(), *number)).collect();
    TypeOfProgram { name: "vrf_id_t".to_owned(), bits, given, ports: None }
}

fn translations(of: TypeOfProgram) -> Translations {
    Translations::new(vec![of]).expect("the given numbers fit")
}

fn assign(translations: &Translations, text: &str) -> Result<u128, EntityError> {
    translations.begin_update();
    let outcome = translations.assign(TYPE, text.as_bytes(), &mut Used::default);
    outcome.map(|_| translations.number(TYPE, text.as_bytes()).expect("it was assigned one"))
}

/// The pairs as a list, with the moment of each string's last use. Entities hold their strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model {
    /// The number and the last use of each string.
    pairs: BTreeMap<String, (u128, u64)>,
    /// The string of each entity.
    entities: BTreeMap<u8, String>,
    /// The strings that were unused when numbers last ran out, the next to be reused at the end.
    unused: Vec<String>,
    clock: u64,
}

impl Model {
    /// Returns the number that the string gets, or `None` if all numbers are in use.
    fn assign(&mut self, text: &str, numbers: u128) -> Option<u128> {
        self.clock += 1;
        if let Some((number, used)) = self.pairs.get_mut(text) {
            *used = self.clock;
            self.unused.retain(|unused| unused != text);
            return Some(*number);
        }
        let taken = |number: &u128| self.pairs.values().any(|(taken, _)| taken == number);
        let number = (0..numbers).find(|number| !taken(number)).or_else(|| {
            if self.unused.is_empty() {
                let is_held = |text: &&String| self.entities.values().any(|held| held == *text);
                self.unused = self.pairs.keys().filter(|text| !is_held(text)).cloned().collect();
                self.unused.sort_by_key(|text| std::cmp::Reverse(self.pairs[text].1));
            }
            self.pairs.remove(&self.unused.pop()?).map(|(number, _)| number)
        })?;
        self.pairs.insert(text.to_owned(), (number, self.clock));
        Some(number)
    }
}

/// A step of a batch.
#[derive(Clone, Debug)]
enum Step {
    Insert {
        entity: u8,
        text: u8,
        /// Whether the data plane refuses the update after its string was assigned a number.
        is_refused: bool,
    },
    Delete {
        entity: u8,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..8_u8, 0..14_u8, prop::bool::weighted(0.2))
            .prop_map(|(entity, text, is_refused)| Step::Insert { entity, text, is_refused }),
        2 => (0..8_u8).prop_map(|entity| Step::Delete { entity }),
    ]
}

fn numbers(translations: &Translations) -> BTreeMap<String, u128> {
    let text = |pair: &TranslationPair| String::from_utf8(pair.text.to_vec()).expect("UTF-8");
    translations.assigned().iter().map(|pair| (text(pair), pair.number)).collect()
}

fn numbers_of(model: &Model) -> BTreeMap<String, u128> {
    model.pairs.iter().map(|(text, (number, _))| (text.clone(), *number)).collect()
}

proptest! {
    /// Batches of writes on a type with four numbers, some of which are refused or rolled back,
    /// leave the pairs that the model has.
    #[test]
    fn batches_leave_the_pairs_of_the_model(
        batches in prop::collection::vec((prop::collection::vec(step(), 1..6), any::<bool>()), 1..24),
    ) {
        let translations = translations(of(2, &[]));
        let mut model = Model::default();
        for (steps, commits) in batches {
            let before = model.clone();
            // The last uses of pairs that the batch has not replaced. A use is not undone: it only
            // defers the reuse of the string's number.
            let (mut kept, mut replaced) = (before.pairs.clone(), BTreeSet::new());
            translations.begin_batch();
            let mut undos = Vec::new();
            for step in steps {
                match step {
                    Step::Delete { entity } => {
                        model.entities.remove(&entity);
                    }
                    Step::Insert { entity, text, is_refused } => {
                        let text = format!("text {text}");
                        let held = model.entities.clone();
                        let pairs = model.pairs.clone();
                        let expected = model.assign(&text, 4);
                        translations.begin_update();
                        let mut used = || Used {
                            texts: held.values().map(|text| text.as_bytes().into()).collect(),
                            ..Used::default()
                        };
                        let outcome = translations.assign(TYPE, text.as_bytes(), &mut used);
                        prop_assert_eq!(outcome.is_ok(), expected.is_some());
                        match outcome {
                            Ok(undo) if is_refused => {
                                let was_there = undo.is_nothing();
                                translations.undo(undo);
                                translations.undone();
                                model.unused.clear();
                                if !was_there {
                                    model.pairs = pairs;
                                }
                            }
                            Ok(undo) => {
                                prop_assert_eq!(
                                    translations.number(TYPE, text.as_bytes()), expected
                                );
                                undos.push(undo);
                                model.entities.insert(entity, text);
                            }
                            Err(error) => {
                                prop_assert_eq!(error.code(), Code::ResourceExhausted);
                                prop_assert!(error.message().contains("'vrf_id_t'"));
                            }
                        }
                    }
                }
                prop_assert_eq!(numbers(&translations), numbers_of(&model));
                for (text, pair) in &mut kept {
                    match model.pairs.get(text) {
                        Some(now) if now.0 == pair.0 && !replaced.contains(text) => *pair = *now,
                        _ => {
                            replaced.insert(text.clone());
                        }
                    }
                }
            }
            if !commits {
                undos.into_iter().rev().for_each(|undo| translations.undo(undo));
                translations.undone();
                model = Model { pairs: kept, clock: model.clock, unused: Vec::new(), ..before };
                prop_assert_eq!(numbers(&translations), numbers_of(&model));
            }
            // Whatever the order of reuse, strings in use have numbers, each its own.
            let held: BTreeSet<_> = model.entities.values().cloned().collect();
            let of_held: BTreeSet<_> = held
                .iter()
                .map(|text| translations.number(TYPE, text.as_bytes()).expect("it is in use"))
                .collect();
            prop_assert_eq!(held.len(), of_held.len());
            for (text, number) in numbers_of(&model) {
                prop_assert_eq!(translations.number(TYPE, text.as_bytes()), Some(number));
                let shown = translations.text(TYPE, number).expect("it has one");
                prop_assert_eq!(&*shown, text.as_bytes());
            }
        }
    }
}

#[test]
fn given_pairs_are_kept_and_their_numbers_are_not_assigned() {
    let translations = translations(of(2, &[("", 0), ("two", 2)]));
    assert_eq!(translations.number(TYPE, b""), Some(0));
    assert_eq!(assign(&translations, "a"), Ok(1));
    assert_eq!(assign(&translations, "two"), Ok(2));
    assert_eq!(assign(&translations, "b"), Ok(3));
    // No entity uses "a", but the program's own strings are never reused.
    assert_eq!(assign(&translations, "c"), Ok(1));
    assert_eq!(translations.number(TYPE, b"a"), None);
    let assigned: Vec<_> = translations.assigned().iter().map(|pair| pair.number).collect();
    assert_eq!(assigned, [1, 3], "given pairs are not among the assigned ones");
    let wide = Translations::new(vec![of(2, &[("x", 4)])]).expect_err("4 needs three bits");
    assert!(wide.message().contains("'vrf_id_t': the number 4 of the string 'x'"), "{wide}");
}

#[test]
fn strings_that_are_no_values_are_refused() {
    let translations = translations(of(10, &[]));
    assert_eq!(assign(&translations, "").expect_err("empty").code(), Code::OutOfRange);
    let long = "x".repeat(LONGEST_TEXT + 1);
    assert_eq!(assign(&translations, &long).expect_err("long").code(), Code::OutOfRange);
    assert_eq!(assign(&translations, &long[1..]), Ok(0));
}

/// The strings of one update are not reused for one another, although no entity has them yet.
#[test]
fn an_update_keeps_its_own_strings() {
    let translations = translations(of(1, &[]));
    assert_eq!((assign(&translations, "a"), assign(&translations, "b")), (Ok(0), Ok(1)));
    translations.begin_update();
    let assign = |text: &str| translations.assign(TYPE, text.as_bytes(), &mut Used::default);
    assert!(assign("b").is_ok_and(|undo| undo.is_nothing()));
    assert!(assign("c").is_ok_and(|undo| !undo.is_nothing()));
    assert_eq!(assign("d").expect_err("both are of this update").code(), Code::ResourceExhausted);
    let found = |text: &str| translations.number(TYPE, text.as_bytes());
    assert_eq!((found("a"), found("b"), found("c")), (None, Some(1), Some(0)));
}

#[test]
fn ports_are_digits_names_or_numbers_that_no_port_has() {
    let names = vec![("eth0".to_owned(), 0), ("eth1".to_owned(), 1)];
    let ports = Some(PortNames { names, reserved: [0, 1, 3].into() });
    let translations = translations(TypeOfProgram { ports, ..of(3, &[("cpu", 5)]) });
    assert_eq!(translations.number(TYPE, b"eth1"), Some(1));
    assert_eq!((assign(&translations, "1"), assign(&translations, "6")), (Ok(1), Ok(6)));
    assert_eq!((assign(&translations, "far"), assign(&translations, "farther")), (Ok(2), Ok(4)));
    let nowhere = translations.changed_without_port();
    let nowhere: Vec<_> = nowhere.iter().map(|pair| (&*pair.text, pair.number)).collect();
    assert_eq!(nowhere, [(&b"far"[..], 2), (b"farther", 4)]);
    assert_eq!((assign(&translations, "eth0"), assign(&translations, "cpu")), (Ok(0), Ok(5)));
    assert_eq!(assign(&translations, "8").expect_err("it is too wide").code(), Code::OutOfRange);
    let shown = |number| translations.text(TYPE, number).map(|text| text.to_vec());
    assert_eq!(shown(0), Some(b"eth0".to_vec()));
    assert_eq!(shown(1), Some(b"1".to_vec()));
    assert_eq!(shown(3), Some(b"3".to_vec()), "a port without a string is its digits");
    // No entity uses "1", so the port can be written by its name from now on.
    assert_eq!(assign(&translations, "eth1"), Ok(1));
    assert_eq!(shown(1), Some(b"eth1".to_vec()));
    translations.begin_update();
    let mut used = || Used { numbers: [1].into(), ..Used::default() };
    let refused = translations.assign(TYPE, b"1", &mut used).expect_err("eth1 is in use");
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("in use as 'eth1'"), "{refused}");
}

#[test]
fn planned_pairs_are_restored_in_any_order() {
    let first = translations(of(10, &[]));
    for text in ["a", "b", "c"] {
        assign(&first, text).expect("numbers are free");
    }
    let second = translations(of(10, &[("given", 1)]));
    second.plan(&first.assigned());
    assert_eq!(assign(&second, "c"), Ok(2));
    assert_eq!(assign(&second, "b"), Ok(0), "the program gives 1 to another string");
    second.settle();
    assert_eq!(second.number(TYPE, b"a"), None, "its number was needed");
    let third = translations(of(10, &[]));
    third.plan(&first.assigned());
    third.settle();
    assert_eq!(third.assigned(), first.assigned());
}

#[test]
fn numbers_of_the_program_are_not_assigned() {
    let translations = translations(of(10, &[("0", 7)]));
    translations.give_digits(TYPE, 1);
    translations.give_digits(TYPE, 0);
    assert_eq!(translations.number(TYPE, b"1"), Some(1));
    assert_eq!(translations.text(TYPE, 0), None, "its digits are the string of 7");
    assert_eq!((assign(&translations, "a"), assign(&translations, "b")), (Ok(0), Ok(2)));
    let ports = Some(PortNames::default());
    let translations = self::translations(TypeOfProgram { ports, ..of(10, &[]) });
    translations.give_digits(TYPE, 0);
    assert_eq!((assign(&translations, "a"), assign(&translations, "0")), (Ok(1), Ok(0)));
}
