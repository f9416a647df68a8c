//! Passes the commit and the profile of the build to the command.
//!
//! A build needs neither git nor a repository: without them the commit is empty, and results say
//! that the sources were built outside their repository.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiled files and directories, relative to the root of the sources.
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

/// Returns the root of the sources, which is the directory of the workspace.
fn root() -> PathBuf {
    let package = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let root = package.join("../..");
    root.canonicalize().unwrap_or(root)
}

/// Returns the commit of the sources, if they are in a repository of their own.
fn commit(root: &Path) -> Option<String> {
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != root {
        return None;
    }
    // Every commit and checkout changes one of these files.
    let log = root.join(git(root, &["rev-parse", "--git-path", "logs/HEAD"])?);
    let head = root.join(git(root, &["rev-parse", "--git-path", "HEAD"])?);
    for file in [log, head] {
        watch(&file);
    }
    git(root, &["rev-parse", "HEAD"])
}

/// Returns whether the sources differ from their commit.
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

/// Makes Cargo run this script again when a file or directory changes. An absent file is left out,
/// because it would make the script run with every build.
fn watch(path: &Path) {
    if path.exists() {
        println!("cargo:rerun-if-changed={}", path.display());
    }
}

/// Runs git and returns its output, or `None` if git is missing or fails.
fn git(root: &Path, words: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .current_dir(root)
        // Without this, `git status` would write the index, which other processes may be using.
        .env("GIT_OPTIONAL_LOCKS", "0")
        .args(words)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Returns the profile of the build. Cargo passes only the names of its base profiles, so the name
/// is taken from the build's directory: `target/PROFILE/build/planimeter-HASH/out`.
fn profile() -> String {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let folder = out.ancestors().nth(3).and_then(Path::file_name);
    match folder.and_then(|name| name.to_str()) {
        Some("debug") => "dev".to_owned(),
        Some(name) => name.to_owned(),
        None => std::env::var("PROFILE").unwrap_or_default(),
    }
}
