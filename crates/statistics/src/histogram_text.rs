//! Serialises a histogram as text, for `#[serde(with = ...)]`: its V2 encoding (HdrHistogram,
//! "Encoding format") in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer as Decoder, Serializer as _, V2Serializer};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

/// Serialises a histogram as text: its V2 encoding in base64.
///
/// # Errors
/// Returns the errors of the encoder and of the serializer.
pub fn serialize<S: Serializer>(
    histogram: &Histogram<u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(histogram, &mut bytes).map_err(S::Error::custom)?;
    serializer.serialize_str(&STANDARD.encode(bytes))
}

/// Deserialises a histogram from its V2 encoding in base64.
///
/// # Errors
/// Returns an error if the text is not base64, or not an encoded histogram.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Histogram<u64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let bytes = STANDARD.decode(text).map_err(D::Error::custom)?;
    let mut histogram: Histogram<u64> =
        Decoder::new().deserialize(&mut bytes.as_slice()).map_err(D::Error::custom)?;
    histogram.auto(true);
    Ok(histogram)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Times {
        #[serde(with = "super")]
        all: Histogram<u64>,
    }

    #[test]
    fn a_histogram_comes_back_as_it_was() {
        let mut all = Histogram::new(3).expect("a histogram");
        (1..50_000_000u64).step_by(9_973).for_each(|time| all.saturating_record(time));
        let times = Times { all };
        let text = serde_json::to_string(&times).expect("JSON");
        assert_eq!(serde_json::from_str::<Times>(&text).expect("JSON"), times);
        assert!(serde_json::from_str::<Times>(r#"{"all":"SGVsbG8="}"#).is_err());
    }
}
