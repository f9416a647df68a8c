//! The sources from which the preprocessor reads files, and the search path of `#include`.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::{DEEPEST_INCLUDE, MAX_FILES, Preprocessor};
use crate::arch;
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// A source of the files that the preprocessor reads. An implementation must replace invalid UTF-8,
/// which may occur in comments, and must not refuse the file because of it.
pub trait Files {
    /// Returns the text of the file at `path`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read. After an error of kind
    /// [`io::ErrorKind::NotFound`], the search continues in other directories; any other error is
    /// reported.
    fn read(&self, path: &Path) -> io::Result<String>;
}

/// A source that reads files from the file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiskFiles;

impl Files for DiskFiles {
    fn read(&self, path: &Path) -> io::Result<String> {
        let bytes = input::read(path)?;
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }
}

/// A source that has the texts of files in memory, for tests and for embedded programs.
#[derive(Debug, Clone, Default)]
pub struct MemoryFiles {
    files: BTreeMap<PathBuf, String>,
}

impl MemoryFiles {
    /// Creates a source without files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file and returns the source.
    #[must_use]
    pub fn with(mut self, path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        self.files.insert(path.into(), text.into());
        self
    }
}

impl Files for MemoryFiles {
    fn read(&self, path: &Path) -> io::Result<String> {
        self.files.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Preprocessor<'_> {
    /// Executes `#include`: searches for the file and starts to read it. The search order is the
    /// directory of the including file (only for `"..."`), the `-I` directories, and the built-in
    /// files.
    pub(super) fn include(&mut self, name: &str, quoted: bool, span: Span) {
        if self.open.len() >= DEEPEST_INCLUDE {
            self.error(span, format!("includes nest deeper than {DEEPEST_INCLUDE}"));
            self.exhausted = true;
            return;
        }
        if self.opened >= MAX_FILES {
            self.error(span, format!("more than {MAX_FILES} files are included"));
            self.exhausted = true;
            return;
        }
        let mut looked = Vec::new();
        for candidate in self.candidates(name, quoted) {
            if self.once.contains(&candidate) {
                return;
            }
            match self.files.read(&candidate) {
                Ok(text) => {
                    let shown = candidate.display().to_string();
                    let id = self.sources.add_file(shown, text.into(), Some(span), false);
                    self.enter(id, Some(candidate));
                    return;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    self.error(span, format!("cannot read `{}`: {error}", candidate.display()));
                    return;
                }
            }
            looked.push(candidate);
        }
        if let Some(built_in) = arch::file(name) {
            let path = PathBuf::from(built_in.name());
            if !self.once.contains(&path) {
                let id = self.sources.add_file(
                    built_in.name().to_owned(),
                    built_in.text().into(),
                    Some(span),
                    true,
                );
                self.enter(id, Some(path));
            }
            return;
        }
        let mut diagnostic =
            Diagnostic::error("include", span, format!("cannot find the file `{name}`"))
                .label("no such file in the directories that were searched");
        for place in &looked {
            diagnostic = diagnostic.note(format!("looked for {}", place.display()));
        }
        let built_in: Vec<&str> = arch::names().collect();
        self.diagnostics.push(
            diagnostic
                .note(format!("built in are {}", built_in.join(", ")))
                .note("add directories to search with -I"),
        );
    }

    fn candidates(&self, name: &str, quoted: bool) -> Vec<PathBuf> {
        let name = Path::new(name);
        if name.is_absolute() {
            return vec![name.to_owned()];
        }
        let mut out = Vec::new();
        let including = self.open.last();
        // A built-in file has no directory.
        let in_directory = including
            .is_some_and(|file| self.sources.file(file.id).is_some_and(|file| !file.is_built_in()));
        if quoted && in_directory {
            let directory = including.and_then(|file| file.path.parent()).unwrap_or(Path::new(""));
            out.push(normalised(&directory.join(name)));
        }
        let directories = self.options.include_directories.iter();
        out.extend(directories.map(|directory| normalised(&directory.join(name))));
        out
    }
}

/// Returns a path without `.` and `name/..`, so that `#pragma once` recognises a file that is
/// included under different paths.
fn normalised(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        let after_name = matches!(out.components().next_back(), Some(Component::Normal(_)));
        match component {
            Component::CurDir => {}
            Component::ParentDir if after_name => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}
