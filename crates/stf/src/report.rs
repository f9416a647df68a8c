//! Formats packets as text, an expected packet above the one that the switch sent.

use super::script::{Pattern, digits_of};
use std::fmt::Write;

/// The number of bytes of a packet on one line.
const LINE: usize = 16;

/// Formats an expected packet and the packet that was sent, one below the other, and marks the
/// bytes that differ. Every [`LINE`] bytes form a group of lines, which begins with the offset of
/// its first byte.
///
/// ```text
///   0000  expected 0a 0b ** 0d
///         got      0a 0c 00 0d
///                     ^^
/// ```
pub(super) fn beside(expected: &Pattern, got: &[u8]) -> String {
    let got_digits: Vec<u8> = digits_of(got).collect();
    // Without `$`, any bytes may follow those of the expectation.
    let shown = if expected.exact_length {
        expected.digits.len().max(got_digits.len())
    } else {
        expected.digits.len()
    };
    let differs = |place: usize| match (expected.digits.get(place), got_digits.get(place)) {
        (Some(Some(digit)), Some(found)) => digit != found,
        (Some(_), None) => true,
        (None, Some(_)) => expected.exact_length,
        _ => false,
    };
    let mut text = String::new();
    for start in (0..shown.max(1)).step_by(2 * LINE) {
        let places = start..shown.min(start + 2 * LINE);
        let mut want = String::new();
        let mut have = String::new();
        let mut marks = String::new();
        for place in places {
            want.push(match expected.digits.get(place) {
                Some(Some(digit)) => hexadecimal(*digit),
                Some(None) => '*',
                None => '-',
            });
            have.push(got_digits.get(place).map_or('-', |digit| hexadecimal(*digit)));
            // If either hexadecimal digit of a byte differs, both are marked.
            let byte = place & !1;
            marks.push(if differs(byte) || differs(byte + 1) { '^' } else { ' ' });
            if place % 2 == 1 {
                for line in [&mut want, &mut have, &mut marks] {
                    line.push(' ');
                }
            }
        }
        let _ = writeln!(text, "  {:04x}  expected {}", start / 2, want.trim_end());
        let _ = writeln!(text, "        got      {}", have.trim_end());
        if marks.contains('^') {
            let _ = writeln!(text, "                 {}", marks.trim_end());
        }
    }
    if expected.exact_length && got_digits.len() != expected.digits.len() {
        let _ = writeln!(
            text,
            "  length: expected {} bytes, got {}",
            expected.digits.len().div_ceil(2),
            got.len()
        );
    } else if got_digits.len() < expected.digits.len() {
        let _ = writeln!(
            text,
            "  length: expected {} bytes or more, got {}",
            expected.digits.len().div_ceil(2),
            got.len()
        );
    }
    text
}

/// Returns a packet as hexadecimal digits. A long packet is truncated, and its length follows.
pub(super) fn hex(packet: &[u8]) -> String {
    const MAX: usize = 64;
    let digits = digits_of(packet.get(..MAX).unwrap_or(packet)).map(hexadecimal);
    let mut text: String = digits.collect();
    if packet.len() > MAX {
        let _ = write!(text, "... ({} bytes)", packet.len());
    }
    text
}

fn hexadecimal(digit: u8) -> char {
    char::from_digit(u32::from(digit), 16).unwrap_or('?')
}
