//! A measurement begins: its command and its time are the same in the results of all verbs.

use provenance::Began;

use crate::probe::arguments;

/// Begins now, with the command line as results may show it.
pub(crate) fn now() -> Began {
    Began::now(command_line())
}

/// The command line as results may show it: without a password.
pub(crate) fn command_line() -> Vec<String> {
    arguments::recorded(std::env::args())
}
