//! Describes how the switch refused an entry.

use ::dut::Refusal;

/// Describes a refusal: the answer of the switch and, if the entry came from a file, which entry
/// was refused.
pub(super) fn refusal_words(refusal: &Refusal) -> String {
    let message = refusal.message.trim_end_matches('.');
    match &refusal.entry {
        None => format!("{}: {message}", refusal.code),
        Some(entry) => format!("{}: {message}, for {entry}", refusal.code),
    }
}
