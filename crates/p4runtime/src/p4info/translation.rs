//! The types that a P4Info translates, so that controllers use strings where the program uses
//! numbers, and the annotation `@p4runtime_translation_mappings`, by which a program chooses the
//! numbers of some strings.
//!
//! The annotation is a list of pairs, such as `({{"", 0}, {"default", 0x10}})`. The P4Runtime
//! specification does not define it. Its form is that of the programs of SONiC's PINS.

use std::collections::{BTreeMap, HashSet};
use std::iter::Peekable;
use std::str::Chars;

use entities::schema::{TranslatedType, TranslatedTypeId};

use super::SchemaError;
use crate::proto::config::{
    P4NewTypeSpec, P4TypeInfo, p4_new_type_spec::Representation, p4_new_type_translation::SdnType,
};

/// The name of the annotation that assigns numbers to strings.
const MAPPINGS: &str = "@p4runtime_translation_mappings";

/// Returns the types that are translated to strings, in the order of their names.
pub(super) fn translated_types(
    types: Option<&P4TypeInfo>,
) -> Result<Vec<TranslatedType>, SchemaError> {
    let found = texts(types).map(|(name, spec)| {
        let given = translation_mappings(spec).map_err(|message| SchemaError::Type {
            object: format!("type '{name}'"),
            message: format!("{MAPPINGS} {message}"),
        })?;
        Ok(TranslatedType { name: name.to_owned(), given })
    });
    found.collect()
}

/// Returns the identifier of the type with this name, if it is translated to strings.
pub(super) fn translated_type(types: Option<&P4TypeInfo>, name: &str) -> Option<TranslatedTypeId> {
    let position = texts(types).position(|(known, _)| known == name)?;
    u32::try_from(position).ok().map(TranslatedTypeId)
}

fn texts(types: Option<&P4TypeInfo>) -> impl Iterator<Item = (&str, &P4NewTypeSpec)> {
    let types = types.into_iter().flat_map(|types| &types.new_types);
    types.map(|(name, spec)| (name.as_str(), spec)).filter(|(_, spec)| {
        matches!(
            &spec.representation,
            Some(Representation::TranslatedType(translation))
                if matches!(translation.sdn_type, Some(SdnType::SdnString(_)))
        )
    })
}

/// A string that controllers use, and the number that the program assigns to it.
pub type GivenNumber = (Box<[u8]>, u128);

/// Returns the pairs of strings and numbers in the annotation `@p4runtime_translation_mappings` of
/// a type.
///
/// # Errors
///
/// Returns the reason why the annotation is invalid.
pub fn translation_mappings(spec: &P4NewTypeSpec) -> Result<Vec<GivenNumber>, String> {
    let body = |text: &String| text.trim().strip_prefix(MAPPINGS).map(str::to_owned);
    let mut given = Vec::new();
    for body in spec.annotations.iter().filter_map(body) {
        given.extend(Pairs(body.chars().peekable()).all()?);
    }
    let (mut texts, mut numbers) = (HashSet::new(), HashSet::new());
    for (text, number) in &given {
        if !texts.insert(text) {
            let text = String::from_utf8_lossy(text);
            return Err(format!("gives the string \"{text}\" two numbers"));
        }
        if !numbers.insert(*number) {
            return Err(format!("gives the number {number} to two strings"));
        }
    }
    Ok(given)
}

/// The numbers of strings that are chosen in addition to those in the annotations of a program, by
/// the name of the type.
pub type GivenNumbers = BTreeMap<String, Vec<GivenNumber>>;

/// Returns the pairs of `given` that are not in `known`.
///
/// # Errors
///
/// Returns the position in `given` of a pair that contradicts an earlier or known one, and a
/// message that describes the contradiction.
pub fn new_mappings(
    known: &[GivenNumber],
    given: &[GivenNumber],
) -> Result<Vec<GivenNumber>, (usize, String)> {
    let mut new = Vec::new();
    for (position, (text, number)) in given.iter().enumerate() {
        let same = |(other, of): &&GivenNumber| other == text || of == number;
        match known.iter().chain(&given[..position]).find(same) {
            None => new.push((text.clone(), *number)),
            Some((other, of)) if (other, of) == (text, number) => {}
            Some((other, of)) => {
                let [text, other] = [text, other].map(|text| String::from_utf8_lossy(text));
                let message =
                    format!("\"{text}\" is {number} here, but \"{other}\" is {of} already");
                return Err((position, message));
            }
        }
    }
    Ok(new)
}

/// Returns the text between the parentheses of an annotation `@p4runtime_translation_mappings` for
/// these pairs.
#[must_use]
pub fn mappings_body(pairs: &[GivenNumber]) -> String {
    let pairs = pairs.iter().map(|(text, number)| {
        let text = String::from_utf8_lossy(text).replace('\\', "\\\\").replace('"', "\\\"");
        format!("{{\"{text}\", {number}}}")
    });
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
}

/// Adds annotations for the given numbers to a P4Info. Numbers for types that the P4Info does not
/// have are ignored.
pub(super) fn give(types: &mut P4TypeInfo, given: &GivenNumbers) -> Result<(), SchemaError> {
    for (name, pairs) in given {
        let Some(spec) = types.new_types.get_mut(name) else { continue };
        let error = |message: String| SchemaError::Type {
            object: format!("type '{name}'"),
            message: format!("{MAPPINGS} {message}"),
        };
        let known = translation_mappings(spec).map_err(error)?;
        let new = new_mappings(&known, pairs).map_err(|(_, message)| error(message))?;
        if !new.is_empty() {
            spec.annotations.push(format!("{MAPPINGS}({})", mappings_body(&new)));
        }
    }
    Ok(())
}

/// A reader of the annotation's body. Blanks between its tokens have no meaning.
struct Pairs<'a>(Peekable<Chars<'a>>);

impl Pairs<'_> {
    fn all(&mut self) -> Result<Vec<GivenNumber>, String> {
        let mut pairs = Vec::new();
        self.expect('(')?;
        self.expect('{')?;
        while !self.takes('}') {
            self.expect('{')?;
            let text = self.string()?;
            self.expect(',')?;
            pairs.push((text.into_bytes().into(), self.number()?));
            // P4 permits a comma after the last element.
            self.takes(',');
            self.expect('}')?;
            if !self.takes(',') {
                self.expect('}')?;
                break;
            }
        }
        self.expect(')')?;
        Ok(pairs)
    }

    fn next(&mut self) -> Option<char> {
        while self.0.next_if(|next| next.is_whitespace()).is_some() {}
        self.0.peek().copied()
    }

    fn takes(&mut self, wanted: char) -> bool {
        let found = self.next() == Some(wanted);
        if found {
            self.0.next();
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.takes(wanted) {
            return Ok(());
        }
        Err(match self.next() {
            Some(found) => format!("has '{found}' where '{wanted}' belongs: {EXAMPLE}"),
            None => format!("ends where '{wanted}' belongs: {EXAMPLE}"),
        })
    }

    fn string(&mut self) -> Result<String, String> {
        self.expect('"')?;
        let mut text = String::new();
        loop {
            match self.0.next() {
                Some('"') => return Ok(text),
                Some('\\') => text.extend(self.0.next()),
                Some(other) => text.push(other),
                None => return Err("has a string without an end".to_owned()),
            }
        }
    }

    /// Reads a number in a notation of P4, such as `10`, `0x0A` or `10w0x0A`.
    fn number(&mut self) -> Result<u128, String> {
        self.next();
        let mut word = String::new();
        while let Some(next) = self.0.next_if(|next| next.is_ascii_alphanumeric() || *next == '_') {
            word.push(next);
        }
        let plain = word.replace('_', "").to_ascii_lowercase();
        let plain = match plain.split_once('w') {
            Some((width, plain)) if width.parse::<u32>().is_ok() => plain,
            _ => &plain,
        };
        let (digits, radix) = match plain.get(..2) {
            Some("0x") => (&plain[2..], 16),
            Some("0b") => (&plain[2..], 2),
            Some("0o") => (&plain[2..], 8),
            Some("0d") => (&plain[2..], 10),
            _ => (plain, 10),
        };
        u128::from_str_radix(digits, radix)
            .map_err(|_| format!("has '{word}' where a number of at most 128 bits belongs"))
    }
}

/// An example of the annotation in the correct form, for error messages.
const EXAMPLE: &str = "it is a list of pairs, such as ({{\"\", 0}, {\"default\", 1}})";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::config::{P4NewTypeTranslation, p4_new_type_translation::SdnString};

    fn info(annotations: &[&str]) -> P4TypeInfo {
        let of = |sdn_type| P4NewTypeSpec {
            representation: Some(Representation::TranslatedType(P4NewTypeTranslation {
                uri: String::new(),
                sdn_type: Some(sdn_type),
            })),
            annotations: annotations.iter().map(|text| (*text).to_owned()).collect(),
            ..P4NewTypeSpec::default()
        };
        let text = SdnType::SdnString(SdnString {});
        let types = [("vrf", of(text)), ("a_number", of(SdnType::SdnBitwidth(32)))];
        let mut info = P4TypeInfo::default();
        info.new_types.extend(types.map(|(name, of)| (name.to_owned(), of)));
        info
    }

    fn pairs(annotation: &str) -> Result<Vec<(String, u128)>, String> {
        let info = info(&["@id(1)", annotation]);
        let types = translated_types(Some(&info)).map_err(|error| error.to_string())?;
        let text = |text: &[u8]| String::from_utf8(text.to_vec()).expect("UTF-8");
        Ok(types[0].given.iter().map(|(given, number)| (text(given), *number)).collect())
    }

    #[test]
    fn strings_and_numbers_are_read_in_every_notation() {
        let annotation = "@p4runtime_translation_mappings ( { { \"\" , 0 } , {\"a\\\"b\",0x1_F},\
                          {\"c, }\", 10w0b10,},})";
        let pair = |text: &str, number| (text.to_owned(), number);
        let expected = vec![pair("", 0), pair("a\"b", 31), pair("c, }", 2)];
        assert_eq!(pairs(annotation), Ok(expected));
        assert_eq!(pairs("@p4runtime_translation_mappings({})"), Ok(Vec::new()));
        let info = info(&[]);
        assert_eq!(translated_type(Some(&info), "vrf"), Some(TranslatedTypeId(0)));
        assert_eq!(translated_type(Some(&info), "a_number"), None, "it is no string");
    }

    #[test]
    fn numbers_are_given_beside_the_annotations() {
        let annotation = "@p4runtime_translation_mappings({{\"\", 0}, {\"a\", 1}})";
        let numbers = |pairs: &[(&str, u128)]| {
            let pairs = pairs.iter().map(|(text, number)| (text.as_bytes().into(), *number));
            GivenNumbers::from([("vrf".to_owned(), pairs.collect()), ("other".to_owned(), vec![])])
        };
        let mut types = info(&[annotation]);
        // A pair may be repeated, and strings may have quotes and backslashes.
        give(&mut types, &numbers(&[("a", 1), ("b\"\\", 2), ("b\"\\", 2)])).expect("it fits");
        let found = translation_mappings(&types.new_types["vrf"]).expect("it is right");
        let expected = [("", 0), ("a", 1), ("b\"\\", 2)];
        assert_eq!(found, expected.map(|(text, number)| (text.as_bytes().into(), number)));
        for (pairs, reason) in [
            ([("a", 2)], "\"a\" is 2 here, but \"a\" is 1 already"),
            ([("c", 1)], "\"c\" is 1 here, but \"a\" is 1 already"),
        ] {
            let error = give(&mut info(&[annotation]), &numbers(&pairs)).expect_err(reason);
            let expected = format!("type 'vrf': {MAPPINGS} {reason}");
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn other_forms_are_refused_with_the_name_of_the_type() {
        for (body, reason) in [
            ("", "ends where '(' belongs"),
            ("({{\"a\", 0}", "ends where '}' belongs"),
            ("({{0, \"a\"}})", "has '0' where '\"' belongs"),
            ("({{\"a\", b}})", "has 'b' where a number"),
            ("({{\"a\", 0}, {\"a\", 1}})", "gives the string \"a\" two numbers"),
            ("({{\"a\", 1}, {\"b\", 0x1}})", "gives the number 1 to two strings"),
            ("({{\"a", "has a string without an end"),
        ] {
            let error = pairs(&format!("{MAPPINGS}{body}")).expect_err(body);
            assert!(error.starts_with("type 'vrf': @p4runtime_translation_mappings"), "{error}");
            assert!(error.contains(reason), "no {reason:?} in {error}");
        }
    }
}
