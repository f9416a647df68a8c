//! A log of the switches that connect to a controller, disconnect and misbehave.

use std::fmt;
use std::sync::Arc;

/// A log of a controller, with a line for every switch that connects, disconnects or misbehaves. By
/// default, nothing is logged. The controller's threads call the function that writes a line.
#[derive(Clone, Default)]
pub struct Journal(Option<Arc<Write>>);

type Write = dyn Fn(&str) + Send + Sync;

impl Journal {
    /// Creates a journal that passes each line, without a line end, to `write`.
    pub fn new(write: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(write)))
    }

    pub(crate) fn note(&self, line: fmt::Arguments<'_>) {
        if let Some(write) = &self.0 {
            write(&line.to_string());
        }
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Journal(..)" } else { "Journal(silent)" })
    }
}
