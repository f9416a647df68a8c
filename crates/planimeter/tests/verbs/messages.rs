//! Keeps the page of messages, `messages.txt`, up to date. It lists every text of the source that a
//! user may read, by crate and file, so that texts can be read together and a change of one is seen
//! in review.
//!
//! A text is a string literal of at least two words outside of tests, assertions, panics and
//! generated files. The help of the command is not among them, since `docs/reference` is its page.

mod literals;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use literals::{Literals, read};

const HEAD: &str = "\
Every text of the source that a user may read: messages, verdicts, notes and headings, by file.
Written by `PLANIMETER_UPDATE_DOCS=1 cargo test -p planimeter --test verbs messages`. Help is in docs/reference.
";

#[test]
fn the_page_has_every_message() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = page(&crates);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verbs/messages/messages.txt");
    if std::env::var_os("PLANIMETER_UPDATE_DOCS").is_some() {
        fs::write(&path, &page).expect("the page is written");
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    let line = stored.lines().zip(page.lines()).position(|(stored, current)| stored != current);
    let line = line.unwrap_or_else(|| stored.lines().count().min(page.lines().count()));
    assert!(
        stored == page,
        "messages.txt differs from the source at line {}: {:?} is now {:?}. Run \
         `PLANIMETER_UPDATE_DOCS=1 cargo test -p planimeter --test verbs messages`, and read the difference as a user.",
        line + 1,
        stored.lines().nth(line).unwrap_or_default(),
        page.lines().nth(line).unwrap_or_default(),
    );
}

/// Returns the page of the texts of all crates.
fn page(crates: &Path) -> String {
    let mut paths = Vec::new();
    for folder in folders(crates) {
        sources(&folder.join("src"), &mut paths);
    }
    assert!(paths.len() > 500, "only {} source files were found", paths.len());
    let mut files = Vec::new();
    let mut test_modules = HashSet::new();
    for path in paths {
        let source = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        if source.contains("@generated") {
            continue;
        }
        let Literals { texts, test_modules: names } = read(&source);
        test_modules.extend(names.iter().map(|name| module_folder(&path).join(name)));
        files.push((path, texts));
    }
    let is_test = |path: &Path| {
        path.with_extension("").ancestors().any(|module| test_modules.contains(module))
    };
    let mut page = HEAD.to_owned();
    for (path, texts) in files.iter().filter(|(path, _)| !is_test(path)) {
        let texts: Vec<&String> = texts.iter().filter(|text| is_prose(text)).collect();
        if !texts.is_empty() {
            let name = path.strip_prefix(crates).unwrap_or(path);
            let _ = write!(page, "\n{}\n", name.display());
            for text in texts {
                let _ = writeln!(page, "    {}", text.replace('\n', "\\n"));
            }
        }
    }
    page
}

/// Returns the folder of the modules that a source file declares.
fn module_folder(path: &Path) -> PathBuf {
    let module = path.with_extension("");
    match module.file_name().and_then(|name| name.to_str()) {
        Some("lib" | "main" | "mod") => module.with_file_name(""),
        _ => module,
    }
}

/// Adds the source files below a folder, in the order of their names.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = entries(folder);
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        entries(folder).into_iter().filter(|path| path.join("src").is_dir()).collect();
    folders.sort();
    folders
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

/// Returns whether a literal is a text for people: it has two words in a row, is not markup or
/// code, and is not a page of help.
fn is_prose(text: &str) -> bool {
    let is_word = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphabetic() && c != '{' && c != '}');
        let is_placeholder = word.starts_with('{') && word.ends_with('}');
        is_placeholder
            || (word.len() > 1 && word.chars().all(|c| c.is_alphabetic() || "-'’".contains(c)))
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let in_a_row = words.windows(2).any(|two| {
        two.iter().all(|word| is_word(word)) && two.iter().any(|word| !word.contains('{'))
    });
    let is_markup = text.contains("</") || text.contains("/>") || text.contains("<!");
    in_a_row && !is_markup && text.lines().count() <= 4
}
