//! Helpers that run the command from the root of the repository, as a user does.

use std::num::NonZero;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Runs a verb. At most as many run at a time as there are processors: most measure, and take
/// several times as long when they disturb each other.
pub(crate) fn planimeter(verb: &str, arguments: &[&str]) -> Output {
    let _turn = Turn::take();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new(env!("CARGO_BIN_EXE_planimeter"))
        .current_dir(root)
        .env("COLUMNS", "100")
        .arg(verb)
        .args(arguments)
        .output()
        .expect("the command runs")
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A turn to run, which ends when it is dropped. Whoever has one must not take another.
pub(crate) struct Turn;

/// The number of turns that are taken.
static TAKEN: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

impl Turn {
    pub(crate) fn take() -> Self {
        let most = thread::available_parallelism().map_or(1, NonZero::get);
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let free = ENDED.wait_while(taken, |taken| *taken >= most);
        let mut taken: MutexGuard<'_, usize> = free.unwrap_or_else(PoisonError::into_inner);
        *taken += 1;
        Self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        ENDED.notify_one();
    }
}
