//! A temporary file, for readers that accept only files.

use std::path::PathBuf;
use std::{env, fs, process};

/// Writes `data` to a file in this process's own temporary directory and returns its path. The next
/// call with the same name overwrites the file.
pub fn file(name: &str, data: &[u8]) -> PathBuf {
    let folder = env::temp_dir().join(format!("planimeter-fuzz-{}", process::id()));
    fs::create_dir_all(&folder).expect("temporary files can be written");
    let path = folder.join(name);
    fs::write(&path, data).expect("temporary files can be written");
    path
}
