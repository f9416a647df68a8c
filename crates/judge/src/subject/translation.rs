//! Types whose values a device translates between its controllers and its data plane (18).
//! Controllers write such values as strings, or as numbers of another width.

use constraints::NamedNumber;
use protos::config;
use protos::config::p4_new_type_spec::Representation;
use protos::config::p4_new_type_translation::SdnType;

/// The form in which controllers write the values of a type that the device translates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Translated {
    /// The name of the translated type.
    pub(crate) name: String,
    /// Whether controllers write the values as strings rather than numbers.
    pub(crate) is_text: bool,
    /// The strings to which the program itself assigns data-plane numbers.
    pub(super) given: Vec<NamedNumber>,
}

/// Returns how controllers write the values of a type, or `None` if the device does not translate
/// them.
pub(super) fn translated(
    p4info: &config::P4Info,
    name: Option<&config::P4NamedType>,
) -> Option<Translated> {
    let name = &name?.name;
    let spec = p4info.type_info.as_ref()?.new_types.get(name)?;
    let Some(Representation::TranslatedType(translation)) = &spec.representation else {
        return None;
    };
    let is_text = matches!(translation.sdn_type, Some(SdnType::SdnString(_)));
    let given = spec.annotations.iter().flat_map(|text| given(text)).collect();
    Some(Translated { name: name.clone(), is_text, given })
}

/// Parses the pairs of strings and numbers in an annotation such as
/// `@p4runtime_translation_mappings({{"", 0}, {"default", 1}})`. Returns an empty list for other
/// annotations.
fn given(text: &str) -> Vec<NamedNumber> {
    let Some(mut rest) = text.strip_prefix("@p4runtime_translation_mappings") else {
        return Vec::new();
    };
    let mut found: Vec<NamedNumber> = Vec::new();
    while let Some((_, behind)) = rest.split_once('"') {
        let Some((string, behind)) = behind.split_once('"') else { break };
        let number: String = behind
            .chars()
            .skip_while(|one| !one.is_ascii_digit())
            .take_while(char::is_ascii_alphanumeric)
            .collect();
        let plain = number.strip_prefix("0x");
        let value = match plain {
            Some(digits) => u128::from_str_radix(digits, 16),
            None => number.parse(),
        };
        if let Ok(value) = value {
            found.push((value.to_be_bytes().into(), string.as_bytes().into()));
        }
        rest = behind;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_with_numbers_are_read() {
        let text = "@p4runtime_translation_mappings({ {\"\", 0}, {\"control\" , 0x1F} })";
        let number = |value: u128| -> Box<[u8]> { value.to_be_bytes().into() };
        let expected: Vec<NamedNumber> =
            vec![(number(0), [].into()), (number(31), b"control".as_slice().into())];
        assert_eq!(given(text), expected);
        assert_eq!(given("@format(MAC_ADDRESS)"), []);
    }
}
