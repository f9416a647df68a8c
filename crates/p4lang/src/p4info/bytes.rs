//! Values as byte strings. p4c writes them padded to their width, which P4Runtime allows beside
//! the canonical form; so that the messages are equal, they are padded here too.

use ir::Value;
use ir::bits::Bits;

/// The value in as many bytes as its width takes, most significant first.
pub(super) fn padded(bits: &Bits) -> Vec<u8> {
    bits.to_be_bytes()
}

/// A constant in as many bytes as its width takes; `None` for values that no control plane knows.
pub(super) fn of_value(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::Bits(bits) => Some(padded(bits)),
        Value::Bool(truth) => Some(vec![u8::from(*truth)]),
        _ => None,
    }
}

/// A constant in as many bytes as a translated type takes that is `width` bits wide for controllers; 0 keeps its own
/// width.
pub(super) fn of_value_in(value: &Value, width: i32) -> Option<Vec<u8>> {
    let bytes = of_value(value)?;
    let wanted = usize::try_from(width).map_or(0, |bits| bits.div_ceil(8));
    let missing = wanted.saturating_sub(bytes.len());
    let mut padded = vec![0; missing];
    padded.extend(bytes);
    Some(padded)
}

/// The value as bits: a `bool` is `bit<1>`; members of enumerations without values of their own and errors
/// are their positions in 32 bits, as in BMv2. P4Info says no width of the latter, and p4c refuses entries
/// with them.
pub(super) fn as_bits(value: &Value) -> Option<Bits> {
    match value {
        Value::Bits(bits) => Some(bits.clone()),
        Value::Bool(truth) => Some(Bits::from_bool(*truth)),
        Value::Enum(position) | Value::Error(position) => {
            Some(Bits::unsigned(32, u128::from(*position)))
        }
        _ => None,
    }
}
