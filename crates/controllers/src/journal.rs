//! Where a controller tells what happens to its switches.

use std::fmt;
use std::sync::Arc;

/// A line for every switch that comes, goes or misbehaves; silent unless given somewhere to
/// write. Called from the controller's threads.
#[derive(Clone, Default)]
pub struct Journal(Option<Arc<Write>>);

type Write = dyn Fn(&str) + Send + Sync;

impl Journal {
    /// A journal whose lines, without line end, go to `write`.
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
