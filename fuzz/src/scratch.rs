//! A file for what reads no text but files.

use std::path::PathBuf;
use std::{env, fs, process};

/// A file of this process that holds `data`, in a folder of its own; the next call overwrites it.
pub fn file(name: &str, data: &[u8]) -> PathBuf {
    let folder = env::temp_dir().join(format!("planimeter-fuzz-{}", process::id()));
    fs::create_dir_all(&folder).expect("temporary files can be written");
    let path = folder.join(name);
    fs::write(&path, data).expect("temporary files can be written");
    path
}
