//! The pages of the documentation and the commands that they show. All tests of documented commands
//! read them from here.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns every page of the repository and every example configuration, with its text.
pub(crate) fn pages() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let text = |path: &PathBuf| fs::read_to_string(path).expect("a page");
    files.into_iter().map(|path| (path.clone(), text(&path))).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let in_examples = folder.components().any(|part| part.as_os_str() == "examples");
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}")) {
        let path = entry.expect("an entry").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            let elsewhere = ["target", "crates", "fuzz", "runs"].contains(&name.as_str());
            if !elsewhere && !name.starts_with('.') {
                collect(&path, files);
            }
        } else if name.ends_with(".md") && name != "CHANGELOG.md"
            || name.ends_with(".toml") && in_examples
        {
            files.push(path);
        }
    }
}

/// Returns the lines that run this program in indented or fenced code, or in comments of a
/// configuration. A backslash at the end of a line continues it.
pub(crate) fn commands(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n#", " ").replace("\\\n", " ");
    let mut fenced = false;
    let mut commands = Vec::new();
    for line in joined.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let indented = line.starts_with("    ") || line.starts_with("#     ");
        let code = line.trim_start_matches('#').trim();
        let code = code.trim_start_matches("$ ").trim_start_matches("sudo ");
        if (fenced || indented) && code.starts_with("planimeter ") {
            commands.push(code.to_owned());
        }
    }
    commands
}
