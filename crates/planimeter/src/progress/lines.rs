//! The progress of a run as lines of JSON, for a program that started the command and draws the
//! progress itself, such as the Python package:
//!
//! ```json
//! {"done": 3, "of": 40, "text": "updates"}
//! ```
//!
//! `of` is 0 if the number of steps is not known.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;

/// The shortest time between two lines, so that a run of many short steps is not slowed down.
const BETWEEN_LINES: Duration = Duration::from_millis(100);

/// The writer of the lines. It is not set if no program asked for them.
static LINES: OnceLock<Mutex<Lines>> = OnceLock::new();

struct Lines {
    file: File,
    last: Option<Instant>,
}

/// Writes the progress to a file or pipe from now on. A second call has no effect.
///
/// # Errors
/// Returns an error if the file cannot be opened.
pub(crate) fn write_to(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().append(true).open(path)?;
    let _ = LINES.set(Mutex::new(Lines { file, last: None }));
    Ok(())
}

/// Writes a line, unless no program asked for lines or the last one was written just before. The
/// line of the last step is always written.
pub(super) fn write(done: u64, of: u64, text: &str) {
    let Some(lines) = LINES.get() else { return };
    let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    let is_early = lines.last.is_some_and(|last| now.duration_since(last) < BETWEEN_LINES);
    if is_early && (of == 0 || done < of) {
        return;
    }
    lines.last = Some(now);
    // A reader that has ended does not stop the run.
    let _ = writeln!(lines.file, "{}", json!({"done": done, "of": of, "text": text}));
}
