//! The transfer of a measurement's files from the rank (process) that wrote them to the rank that
//! writes the result.

use std::io;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A file with its content and its path within a run directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct File {
    path: PathBuf,
    content: Content,
}

/// The content of a file. Text has its own variant, because nearly all files are text, and text is
/// more compact in a message than a list of bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Content {
    Text(String),
    Octets(Vec<u8>),
}

impl From<Vec<u8>> for Content {
    fn from(octets: Vec<u8>) -> Self {
        String::from_utf8(octets).map_or_else(|error| Self::Octets(error.into_bytes()), Self::Text)
    }
}

/// Removes all files from a directory and its subdirectories, and returns them.
pub(super) fn take(folder: &Path) -> io::Result<Vec<File>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if let Ok(within) = path.strip_prefix(folder) {
                files.push(File { path: within.to_owned(), content: std::fs::read(&path)?.into() });
            }
            std::fs::remove_file(&path)?;
        }
    }
    files.sort();
    Ok(files)
}

/// Writes files into a directory. Returns an error if the path of a file leads out of the
/// directory.
pub(super) fn put(folder: &Path, files: Vec<File>) -> io::Result<()> {
    for File { path: within, content } in files {
        if !within.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(io::Error::other(format!(
                "{} leads out of the run directory",
                within.display()
            )));
        }
        let path = folder.join(within);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        match content {
            Content::Text(text) => std::fs::write(path, text)?,
            Content::Octets(octets) => std::fs::write(path, octets)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_as_they_left_and_stay_within_the_folder() {
        let (from, to) =
            (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        std::fs::create_dir_all(from.path().join("a/b")).expect("folders");
        std::fs::write(from.path().join("a/b/c"), [0, 255]).expect("a file");
        std::fs::write(from.path().join("d"), "text").expect("a file");
        let files = take(from.path()).expect("files");
        let file = |path: &str, content| File { path: path.into(), content };
        let octets = Content::Octets(vec![0, 255]);
        assert_eq!(files, [file("a/b/c", octets), file("d", Content::Text("text".into()))]);
        assert!(take(from.path()).expect("none").is_empty(), "they were taken");
        put(to.path(), files.clone()).expect("room");
        assert_eq!(take(to.path()).expect("files"), files);
        assert!(put(to.path(), vec![file("../e", Vec::new().into())]).is_err());
    }
}
