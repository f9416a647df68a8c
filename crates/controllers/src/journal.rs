//! The journal of what happens to a controller's switches.

use std::fmt;
use std::sync::Arc;

/// A log with a line for every switch that connects, disconnects or misbehaves; silent by default.
/// The write function is called from the controller's threads.
#[derive(Clone, Default)]
pub struct Journal(Option<Arc<Write>>);

type Write = dyn Fn(&str) + Send + Sync;

impl Journal {
    /// Creates a journal whose lines, without line end, are passed to `write`.
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
