//! The file of `--mappings`, which assigns numbers to strings of translated types
//! (`@p4runtime_translation`), in addition to those that the program assigns with
//! `@p4runtime_translation_mappings`.
//!
//! The file is TOML, with a table for each type: `[vrf_id_t]`, and in it `"vrf-1" = 1`.

use std::collections::BTreeMap;
use std::path::Path;

use ir::{Annotation, AnnotationBody, Program, UserType, UserTypeKind};
use p4runtime::p4info::{
    GivenNumber, GivenNumbers, mappings_body, new_mappings, translation_mappings,
};
use p4runtime::proto::config::P4NewTypeSpec;
use serde::Deserialize;
use toml::Spanned;

use crate::failure::Failure;
use crate::program;

/// The annotation that marks a translated type.
const TRANSLATION: &str = "p4runtime_translation";
/// The annotation that maps strings to numbers.
const MAPPINGS: &str = "p4runtime_translation_mappings";

/// A number in the file. Numbers of more than 63 bits are written as strings, because TOML has no
/// such integers.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Number {
    Small(u64),
    Text(String),
}

/// The strings of one type with their numbers, and the line of each in the file.
#[derive(Debug, Default)]
struct OfType {
    pairs: Vec<GivenNumber>,
    lines: Vec<usize>,
}

/// The content of a file of mappings.
#[derive(Debug)]
pub(crate) struct Mappings {
    /// The path of the file, for error messages.
    name: String,
    types: BTreeMap<String, OfType>,
}

impl Mappings {
    /// Reads a file.
    ///
    /// # Errors
    /// Returns an error that names the line if the file is wrong.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        Self::parse(&path.display().to_string(), &program::read(path)?).map_err(Failure::input)
    }

    fn parse(name: &str, text: &str) -> Result<Self, String> {
        let read: BTreeMap<String, BTreeMap<String, Spanned<Number>>> = toml::from_str(text)
            .map_err(|error| format!("{name}: {}", error.to_string().trim()))?;
        let mut mappings = Self { name: name.to_owned(), types: BTreeMap::new() };
        for (of, pairs) in read {
            let mut numbers = OfType::default();
            for (string, number) in pairs {
                let line =
                    text.get(..number.span().start).unwrap_or(text).matches('\n').count() + 1;
                let number = number.get_ref().value().ok_or_else(|| {
                    format!(
                        "{name}: line {line}: the number of \"{string}\" is no whole number of at \
                         most 128 bits"
                    )
                })?;
                numbers.pairs.push((string.into_bytes().into(), number));
                numbers.lines.push(line);
            }
            // TOML refuses a string twice, so a contradiction is a number twice.
            if let Err((position, why)) = new_mappings(&[], &numbers.pairs) {
                return Err(mappings.at(&numbers, position, &of, &why));
            }
            mappings.types.insert(of, numbers);
        }
        Ok(mappings)
    }

    /// Returns the assigned numbers of each type.
    pub(crate) fn numbers(self) -> GivenNumbers {
        self.types.into_iter().map(|(of, numbers)| (of, numbers.pairs)).collect()
    }

    /// Adds the numbers of the file to the types of a program, as annotations like those in P4
    /// source.
    ///
    /// # Errors
    /// Returns an error that names the line if the program lacks a type, or if a number does not
    /// fit its type or contradicts the program.
    pub(crate) fn annotate(&self, program: &mut Program) -> Result<(), Failure> {
        for (of, numbers) in &self.types {
            let position = program.types.user_types.iter().position(|user| user.name == *of);
            let found = position.and_then(|position| program.types.user_types.get(position));
            let new = match found.filter(|user| is_text(user)) {
                Some(user) => self.new_of(program, user, of, numbers),
                None => {
                    let why = "the program has no type of this name whose values are strings for controllers";
                    Err(self.at(numbers, 0, of, why))
                }
            };
            let new = new.map_err(Failure::input)?;
            let user = position.and_then(|at| program.types.user_types.get_mut(at));
            if let Some(user) = user.filter(|_| !new.is_empty()) {
                let body = AnnotationBody::Tokens(vec![mappings_body(&new)]);
                user.annotations.push(Annotation { name: MAPPINGS.to_owned(), body });
            }
        }
        Ok(())
    }

    /// Returns the strings and numbers of a type that the program does not contain yet.
    fn new_of(
        &self,
        program: &Program,
        user: &UserType,
        of: &str,
        numbers: &OfType,
    ) -> Result<Vec<GivenNumber>, String> {
        let UserTypeKind::NewType { original, .. } = &user.kind else { return Ok(Vec::new()) };
        let bits = program.types.width_in_bits(*original).and_then(|bits| u32::try_from(bits).ok());
        let bits = bits.unwrap_or(0);
        let fits = |number: u128| number.checked_shr(bits).is_none_or(|rest| rest == 0);
        if let Some(position) = numbers.pairs.iter().position(|(_, number)| !fits(*number)) {
            let number = numbers.pairs.get(position).map_or(0, |(_, number)| *number);
            let why = format!("the number {number} needs more than {bits} bits");
            return Err(self.at(numbers, position, of, &why));
        }
        let text = |one: &Annotation| match &one.body {
            AnnotationBody::Tokens(tokens) if one.name == MAPPINGS => {
                Some(format!("@{MAPPINGS}({})", tokens.join(" ")))
            }
            _ => None,
        };
        let annotations = user.annotations.iter().filter_map(text).collect();
        let spec = P4NewTypeSpec { annotations, ..P4NewTypeSpec::default() };
        // The compiler has reported an annotation that is wrong.
        let known = translation_mappings(&spec).unwrap_or_default();
        new_mappings(&known, &numbers.pairs)
            .map_err(|(position, why)| self.at(numbers, position, of, &why))
    }

    /// Returns an error message about one string of a type, with its line.
    fn at(&self, numbers: &OfType, position: usize, of: &str, why: &str) -> String {
        match numbers.lines.get(position) {
            Some(line) => format!("{}: line {line}: type {of}: {why}", self.name),
            None => format!("{}: type {of}: {why}", self.name),
        }
    }
}

impl Number {
    fn value(&self) -> Option<u128> {
        match self {
            Self::Small(number) => Some((*number).into()),
            Self::Text(text) => {
                let plain = text.replace('_', "");
                match plain.strip_prefix("0x") {
                    Some(digits) => u128::from_str_radix(digits, 16).ok(),
                    None => plain.parse().ok(),
                }
            }
        }
    }
}

/// Returns whether controllers write the values of a type as strings.
pub(crate) fn is_text(user: &UserType) -> bool {
    user.annotations.iter().any(|one| {
        let is_string = |token: &String| token == "string";
        one.name == TRANSLATION
            && matches!(&one.body, AnnotationBody::Tokens(tokens) if tokens.iter().any(is_string))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> Program {
        let source = include_str!("../../../programs/vrf.p4");
        program::embedded("vrf.p4", source).expect("a program")
    }

    /// Returns the annotations of `vrf_id_t` in P4Info, with the numbers of a file.
    fn annotated(file: &str) -> Result<Vec<(String, u128)>, String> {
        let mappings = Mappings::parse("numbers.toml", file)?;
        let mut program = program();
        mappings.annotate(&mut program).map_err(|failure| failure.to_string())?;
        let info = p4lang::p4info::generate(&program).expect("it has one");
        let types = info.type_info.expect("types").new_types;
        let pairs = translation_mappings(&types["vrf_id_t"]).expect("it is right");
        let text = |text: &[u8]| String::from_utf8(text.to_vec()).expect("UTF-8");
        Ok(pairs.iter().map(|(string, number)| (text(string), *number)).collect())
    }

    #[test]
    fn numbers_of_a_file_are_those_of_annotations() {
        let pair = |text: &str, number| (text.to_owned(), number);
        let own = vec![pair("", 0), pair("default", 1)];
        assert_eq!(annotated("").as_ref(), Ok(&own));
        let file = "[vrf_id_t]\ndefault = 1\n\"vrf \\\"80\\\"\" = 80\nlast = \"0x3_ff\"\n";
        let all = [own, vec![pair("last", 1023), pair("vrf \"80\"", 80)]].concat();
        assert_eq!(annotated(file), Ok(all));
        let numbers = Mappings::parse("numbers.toml", file).expect("a file").numbers();
        assert_eq!(numbers["vrf_id_t"].len(), 3);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (file, expected) in [
            (
                "[vrf_id_t]\n\na = 1024\n",
                "line 3: type vrf_id_t: the number 1024 needs more than 10 bits",
            ),
            (
                "[vrf_id_t]\na = 2\nb = 2\n",
                "line 3: type vrf_id_t: \"b\" is 2 here, but \"a\" is 2 already",
            ),
            (
                "[vrf_id_t]\na = 1\n",
                "line 2: type vrf_id_t: \"a\" is 1 here, but \"default\" is 1 already",
            ),
            ("[vrf_id_t]\ndefault = 2\n", "line 2: type vrf_id_t: \"default\" is 2 here, but"),
            ("[vrf_t]\na = 1\n", "line 2: type vrf_t: the program has no type of this name"),
            ("[vrf_id_t]\na = \"one\"\n", "line 2: the number of \"a\" is no whole number"),
            ("[vrf_id_t]\na = -1\n", "line 2"),
            ("[vrf_id_t]\na = 1\na = 2\n", "line 3"),
            ("vrf_id_t = 1\n", "line 1"),
        ] {
            let error = annotated(file).expect_err(file);
            assert!(error.starts_with("numbers.toml: "), "{error}");
            assert!(error.contains(expected), "no {expected:?} in {error}");
        }
    }
}
