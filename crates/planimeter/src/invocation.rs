//! The invocation of this program: its command line, build and start time, which all commands
//! record in the same way.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use provenance::{Began, Build};

use crate::failure::Failure;
use crate::probe::arguments;

/// The way in which the command was started within a process of another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// The command line, which begins with the name of the command.
    pub words: Vec<OsString>,
    /// The file that starts the command again, such as a script. The command starts child processes
    /// with it.
    pub executable: PathBuf,
    /// The file or pipe to which the progress of the command is written as lines of JSON, if
    /// another program draws it.
    pub progress: Option<PathBuf>,
}

/// The start of the command within a process of another program. It is not set if this process is
/// the command.
static STARTED: OnceLock<Started> = OnceLock::new();

/// Records how the command was started within a process of another program.
pub(crate) fn start_as(started: Started) {
    // A second call has no effect, as documented.
    let _ = STARTED.set(started);
}

/// Returns the command line of the command.
pub(crate) fn words() -> Vec<OsString> {
    STARTED.get().map_or_else(|| std::env::args_os().collect(), |started| started.words.clone())
}

/// Returns the file that starts the command in a child process.
pub(crate) fn executable() -> Result<PathBuf, Failure> {
    match script() {
        Some(script) => Ok(script),
        None => std::env::current_exe().map_err(Failure::run),
    }
}

/// Returns the file that starts the command if this process is another program, and otherwise
/// `None`.
pub(crate) fn script() -> Option<PathBuf> {
    STARTED.get().map(|started| started.executable.clone())
}

/// Returns the words of the command line as text.
fn texts() -> impl Iterator<Item = String> {
    words().into_iter().map(|word| word.to_string_lossy().into_owned())
}

/// Starts a measurement now, and records the command line without passwords.
pub(crate) fn start() -> Began {
    Began::now(command_line())
}

/// Returns the command line of this process as results may contain it: without passwords, and with
/// a program name that a shell finds in the current directory.
pub(crate) fn command_line() -> Vec<String> {
    let words = arguments::recorded(texts().skip(1));
    std::iter::once(program()).chain(words).collect()
}

/// Returns `command` with `planimeter` at its beginning replaced by the word by which a shell finds
/// this program in the current directory.
pub(crate) fn typed(command: &str) -> String {
    match command.strip_prefix("planimeter ") {
        Some(rest) => format!("{} {rest}", program()),
        None => command.to_owned(),
    }
}

/// Returns the command name with which a shell in the current directory starts this program. This
/// is the name of the program if the shell finds it by name. Otherwise it is a path, such as
/// `target/quick/planimeter` for a program that was built but not installed.
pub(crate) fn program() -> String {
    let started = texts().next().unwrap_or_else(|| "planimeter".to_owned());
    let search = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&search).collect();
    let executable = executable().ok();
    let folder = std::env::current_dir().ok();
    found_by(&started, executable.as_deref(), folder.as_deref(), &folders)
}

/// Returns the result of [`program`] for a process that was started with the command name `started`
/// and runs the file `executable`. The current directory is `here`, and `folders` are the
/// directories of the search path.
fn found_by(
    started: &str,
    executable: Option<&Path>,
    here: Option<&Path>,
    folders: &[PathBuf],
) -> String {
    let Some(executable) = executable.filter(|_| started.contains('/')) else {
        return started.to_owned();
    };
    let name = executable.file_name().unwrap_or_default();
    let real = executable.canonicalize().ok();
    let first = folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    if real.is_some() && first.and_then(|path| path.canonicalize().ok()) == real {
        return name.to_string_lossy().into_owned();
    }
    match here.and_then(|here| executable.strip_prefix(here).ok()) {
        // A bare name would be searched for in `folders`.
        Some(below) if below.components().count() == 1 => format!("./{}", below.display()),
        Some(below) => below.display().to_string(),
        None => executable.display().to_string(),
    }
}

/// Returns the build of this program, as its build script recorded it.
pub(crate) fn build() -> Build {
    let commit = Some(env!("PLANIMETER_COMMIT")).filter(|commit| !commit.is_empty());
    Build {
        commit: commit.map(str::to_owned),
        modified: commit.map(|_| env!("PLANIMETER_MODIFIED") == "true"),
        profile: env!("PLANIMETER_PROFILE").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_called_as_a_shell_finds_it() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("it is there");
        let (built, installed) = (root.join("here/target/quick"), root.join("bin"));
        for folder in [&built, &installed] {
            std::fs::create_dir_all(folder).expect("a folder");
            std::fs::write(folder.join("planimeter"), "").expect("a file");
        }
        let here = root.join("here");
        let folders = [root.join("absent"), installed.clone()];
        let called = |started: &str, folder: &Path, here: &Path| {
            let executable = folder.join("planimeter");
            found_by(started, Some(&executable), Some(here), &folders)
        };
        // The program is found by its name, or by a path to the file that its name finds.
        assert_eq!(called("planimeter", &installed, &here), "planimeter");
        let path = installed.join("planimeter").display().to_string();
        assert_eq!(called(&path, &installed, &here), "planimeter");
        // The program is built and not installed, so its name would find another program.
        let path = built.join("planimeter").display().to_string();
        assert_eq!(called(&path, &built, &here), "target/quick/planimeter");
        assert_eq!(called("./planimeter", &built, &built), "./planimeter");
        assert_eq!(called(&path, &built, &installed), path);
        // A link in a searched directory leads to this program.
        std::fs::remove_file(installed.join("planimeter")).expect("it was there");
        std::os::unix::fs::symlink(&path, installed.join("planimeter")).expect("a link");
        assert_eq!(called(&path, &built, &here), "planimeter");
        assert_eq!(found_by("a/planimeter", None, Some(&here), &folders), "a/planimeter");
    }
}
