//! A histogram as text: its V2 encoding (HdrHistogram, "Encoding format") in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer as Decoder, Serializer as _, V2Serializer};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

pub(super) fn serialize<S: Serializer>(
    histogram: &Histogram<u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(histogram, &mut bytes).map_err(S::Error::custom)?;
    serializer.serialize_str(&STANDARD.encode(bytes))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Histogram<u64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let bytes = STANDARD.decode(text).map_err(D::Error::custom)?;
    let mut histogram: Histogram<u64> =
        Decoder::new().deserialize(&mut bytes.as_slice()).map_err(D::Error::custom)?;
    histogram.auto(true);
    Ok(histogram)
}
