//! Tells the command which commit it is built of, and with which profile.
//!
//! A build needs neither git nor a repository: without them the commit is empty, and results say
//! that the sources were built outside of their repository.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The files and folders that are compiled, relative to the root of the sources.
const SOURCES: [&str; 4] = ["Cargo.toml", "Cargo.lock", "crates", "programs"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let root = root();
    let commit = commit(&root);
    let modified = commit.is_some() && is_modified(&root);
    println!("cargo:rustc-env=PLANIMETER_COMMIT={}", commit.unwrap_or_default());
    println!("cargo:rustc-env=PLANIMETER_MODIFIED={modified}");
    println!("cargo:rustc-env=PLANIMETER_PROFILE={}", profile());
}

/// The root of the sources: the folder of the workspace.
fn root() -> PathBuf {
    let package = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let root = package.join("../..");
    root.canonicalize().unwrap_or(root)
}

/// Returns the commit of the sources, if they lie in a repository of their own.
fn commit(root: &Path) -> Option<String> {
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != root {
        return None;
    }
    // Every commit and checkout adds a line here.
    let log = root.join(git(root, &["rev-parse", "--git-path", "logs/HEAD"])?);
    let head = root.join(git(root, &["rev-parse", "--git-path", "HEAD"])?);
    for file in [log, head] {
        watch(&file);
    }
    git(root, &["rev-parse", "HEAD"])
}

/// Whether the sources differ from their commit.
fn is_modified(root: &Path) -> bool {
    for name in ["Cargo.toml", "Cargo.lock", "programs"] {
        watch(&root.join(name));
    }
    let crates = std::fs::read_dir(root.join("crates")).into_iter().flatten().flatten();
    for folder in crates {
        watch(&folder.path().join("src"));
    }
    let status = [&["status", "--porcelain", "--"], SOURCES.as_slice()].concat();
    git(root, &status).is_some_and(|changes| !changes.is_empty())
}

/// Runs this script again when a file or a folder changes. One that is absent is left out, because
/// it would run again with every build.
fn watch(path: &Path) {
    if path.exists() {
        println!("cargo:rerun-if-changed={}", path.display());
    }
}

/// Runs git and returns its output, or `None` without git or where it fails.
fn git(root: &Path, words: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .current_dir(root)
        // `git status` would else write the index, which others may be using.
        .env("GIT_OPTIONAL_LOCKS", "0")
        .args(words)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// The profile of the build. Cargo names only those that others inherit from, so that it is read
/// from the folder of the build: `target/PROFILE/build/planimeter-HASH/out`.
fn profile() -> String {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let folder = out.ancestors().nth(3).and_then(Path::file_name);
    match folder.and_then(|name| name.to_str()) {
        Some("debug") => "dev".to_owned(),
        Some(name) => name.to_owned(),
        None => std::env::var("PROFILE").unwrap_or_default(),
    }
}
