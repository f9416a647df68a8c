//! The words for a refusal of the switch.

use ::dut::Refusal;

/// Returns the words for a refusal: what the switch answered, and to which entry if it is one of a
/// file.
pub(super) fn refusal_words(refusal: &Refusal) -> String {
    let message = refusal.message.trim_end_matches('.');
    match &refusal.entry {
        None => format!("{}: {message}", refusal.code),
        Some(entry) => format!("{}: {message}, for {entry}", refusal.code),
    }
}
