//! The encoding of the numbers that were assigned to the strings of translated types.
//!
//! A record's body is a sequence of pairs. Each pair consists of the lengths in bytes of the type's
//! name and of the string, 4 bytes each, then the name, the string, and the number in 16 bytes. All
//! numbers are little-endian.

use entities::TranslationPair;

pub(crate) fn encode(pairs: &[TranslationPair]) -> Vec<u8> {
    let mut body = Vec::new();
    for TranslationPair { type_name, text, number } in pairs {
        for part in [type_name.len(), text.len()] {
            // Names and strings are shorter than the request that contained them.
            body.extend((part as u32).to_le_bytes());
        }
        body.extend(type_name.as_bytes());
        body.extend(&**text);
        body.extend(number.to_le_bytes());
    }
    body
}

/// Decodes the body of a record, or returns `None` if it is damaged.
pub(crate) fn decode(mut body: &[u8]) -> Option<Vec<TranslationPair>> {
    let mut pairs = Vec::new();
    while !body.is_empty() {
        let lengths = [take_length(&mut body)?, take_length(&mut body)?];
        let type_name = String::from_utf8(take(&mut body, lengths[0])?.to_vec()).ok()?;
        let text = take(&mut body, lengths[1])?.into();
        let number = u128::from_le_bytes(take(&mut body, size_of::<u128>())?.try_into().ok()?);
        pairs.push(TranslationPair { type_name, text, number });
    }
    Some(pairs)
}

fn take_length(body: &mut &[u8]) -> Option<usize> {
    let bytes = take(body, size_of::<u32>())?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(bytes)).ok()
}

fn take<'a>(body: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = body.split_at_checked(length)?;
    *body = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_decoded_as_they_were_encoded() {
        let pair = |type_name: &str, text: &[u8], number| TranslationPair {
            type_name: type_name.to_owned(),
            text: text.into(),
            number,
        };
        let pairs = [pair("vrf_id_t", b"vrf-80", 1), pair("port_id_t", b"\0\xff", u128::MAX)];
        let body = encode(&pairs);
        assert_eq!(decode(&body), Some(pairs.to_vec()));
        for length in (1..body.len()).filter(|length| *length != 4 + 4 + 8 + 6 + 16) {
            assert_eq!(decode(&body[..length]), None, "{length} bytes");
        }
    }
}
