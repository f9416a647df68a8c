//! Conversion of values to the byte strings of P4Runtime. As in p4c, the bytes are padded to the
//! width of the type. P4Runtime permits this in addition to its canonical form, the shortest one.

use ir::Value;
use ir::bits::Bits;

/// Returns the bytes of a value, most significant byte first, padded to whole bytes.
pub(super) fn padded(bits: &Bits) -> Vec<u8> {
    bits.to_be_bytes()
}

/// Returns the bytes of a constant, padded to its own width, or `None` if a constant of this type
/// cannot be written as bytes.
pub(super) fn of_value(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::Bits(bits) => Some(padded(bits)),
        Value::Bool(truth) => Some(vec![u8::from(*truth)]),
        _ => None,
    }
}

/// Returns the bytes of a constant, padded to `width` bits, which is the width of the type that
/// controllers use for it. If `width` is 0, the bytes are padded to the constant's own width.
pub(super) fn of_value_in(value: &Value, width: i32) -> Option<Vec<u8>> {
    let bytes = of_value(value)?;
    let wanted = usize::try_from(width).map_or(0, |bits| bits.div_ceil(8));
    let missing = wanted.saturating_sub(bytes.len());
    let mut padded = vec![0; missing];
    padded.extend(bytes);
    Some(padded)
}

/// Converts a value to bits, or returns `None` if a value of its type has no bits. A `bool` becomes
/// a `bit<1>`. An error, or a member of an enumeration without an underlying type, becomes its
/// position as a number of 32 bits, as in BMv2. P4Info does not specify a width for these two, and
/// p4c refuses entries with them.
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
