//! Conversion of values to the byte strings of P4Runtime. Like p4c, this module pads them to the
//! width of the type, which P4Runtime permits in addition to the canonical form.

use ir::Value;
use ir::bits::Bits;

/// Returns the bytes of a value, padded to whole bytes, most significant byte first.
pub(super) fn padded(bits: &Bits) -> Vec<u8> {
    bits.to_be_bytes()
}

/// Returns the bytes of a constant, padded to its own width, or `None` if values of its type have
/// no byte string.
pub(super) fn of_value(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::Bits(bits) => Some(padded(bits)),
        Value::Bool(truth) => Some(vec![u8::from(*truth)]),
        _ => None,
    }
}

/// Returns the bytes of a constant, padded to `width`, the width in bits of the type that
/// controllers use for it. If `width` is 0, the constant keeps its own width.
pub(super) fn of_value_in(value: &Value, width: i32) -> Option<Vec<u8>> {
    let bytes = of_value(value)?;
    let wanted = usize::try_from(width).map_or(0, |bits| bits.div_ceil(8));
    let missing = wanted.saturating_sub(bytes.len());
    let mut padded = vec![0; missing];
    padded.extend(bytes);
    Some(padded)
}

/// Converts a value to bits, or to `None` if a value of its type has no bits. A `bool` becomes
/// `bit<1>`. Errors and members of enumerations without an underlying type become their positions
/// in 32 bits, as in BMv2. P4Info does not specify the width of the latter two, and p4c refuses
/// entries with them.
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
