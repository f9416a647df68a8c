//! Tests that the commands in the documentation are valid.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use crate::pages::{commands, pages};

/// Checks every `planimeter probe` command of every page, with `--print-config` so that it is
/// parsed and not run.
#[test]
fn every_documented_probe_command_makes_a_configuration() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut failures = Vec::new();
    let mut checked = 0;
    // The examples of the help, which the reference repeats, name files that do not exist here.
    let own = |(page, _): &(PathBuf, String)| {
        !page.components().any(|part| part.as_os_str() == "reference")
    };
    for (page, text) in pages().into_iter().filter(own) {
        let is_probe =
            |line: &String| line.starts_with("planimeter probe ") && !line.contains("--legacy");
        for command in commands(&text).into_iter().filter(is_probe) {
            let command = command.trim_end_matches('&');
            checked += 1;
            if let Err(error) = check(&root, command) {
                failures.push(format!("{}: {command}\n    {error}", page.display()));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(checked >= 20, "the pages have moved: {checked} commands were found");
}

/// Checks every example configuration.
#[test]
fn every_example_configuration_can_be_used() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = files(&root.join("examples"), "toml");
    files.extend(self::files(&root.join("examples/onos"), "toml"));
    assert!(files.len() >= 7, "{files:?}");
    for file in files {
        let command = format!("planimeter probe --config {}", file.display());
        check(&root, &command).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
}

/// Checks that the files and folders exist which the pages about the source name. `NAME` in a path
/// stands for a file that the reader adds.
#[test]
fn every_path_of_the_source_that_a_page_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let exists = |path: &str| root.join(path).exists() || root.join("crates").join(path).exists();
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/glossary.md"] {
        let text = fs::read_to_string(root.join(page)).expect("a page");
        let paths: BTreeSet<&str> = text
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|code| code.contains('/') && !code.contains(char::is_whitespace))
            .filter(|code| !code.contains("NAME"))
            .collect();
        let missing: Vec<_> = paths.iter().filter(|path| !exists(path)).collect();
        assert!(missing.is_empty(), "{page}: {missing:?}");
        assert!(paths.len() >= 25, "{page}: only {} paths were found", paths.len());
    }
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect()
}

/// Lets a shell split the command, as it does for a user.
fn check(root: &Path, command: &str) -> Result<(), String> {
    let arguments = command.trim_start_matches("planimeter ");
    // A comment ends the line, so the flag is inserted at the front.
    let arguments = arguments.replacen("probe", "probe --print-config", 1);
    if arguments.contains("--help") {
        return Ok(());
    }
    let output = Command::new("sh")
        .current_dir(root)
        .args(["-c", &format!("\"$PLANIMETER\" {arguments}")])
        .env("PLANIMETER", env!("CARGO_BIN_EXE_planimeter"))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// The book contains every page, and links between pages are valid.
#[test]
fn the_book_is_complete() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = root.join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).expect("a summary");
    let folders = ["", "cookbook", "tutorial", "reference"];
    let book: Vec<PathBuf> =
        folders.iter().flat_map(|name| files(&docs.join(name), "md")).collect();
    let mut failures = Vec::new();
    for page in book {
        let name = page.strip_prefix(&docs).expect("a page of the book").display().to_string();
        if name != "SUMMARY.md" && !summary.contains(&format!("({name})")) {
            failures.push(format!("docs/SUMMARY.md lacks {name}"));
        }
    }
    let mut checked = 0;
    for (page, text) in pages() {
        let folder = page.parent().expect("a folder");
        for link in links(&text) {
            checked += 1;
            if !folder.join(&link).exists() {
                failures.push(format!("{}: {link} is not there", page.display()));
            }
            // mdBook puts only the directory of its pages into the book.
            let is_of_book = page.starts_with(&docs);
            if is_of_book && !plain(&folder.join(&link)).starts_with(plain(&docs)) {
                let page = page.display();
                failures.push(format!("{page}: {link} leads out of the book; link {REPOSITORY}"));
            }
        }
        for file in in_repository(&text) {
            checked += 1;
            if !root.join(&file).exists() {
                failures.push(format!("{}: the repository lacks {file}", page.display()));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(checked >= 80, "the pages have moved: {checked} links were found");
}

/// The Debian package contains everything that its documents link to, in the same layout as here,
/// and all its source files exist.
#[test]
fn the_package_is_complete() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let manifest =
        fs::read_to_string(root.join("crates/planimeter/Cargo.toml")).expect("a manifest");
    let manifest: toml::Value = toml::from_str(&manifest).expect("TOML");
    let assets = manifest["package"]["metadata"]["deb"]["assets"].as_array().expect("assets");
    let (mut shipped, mut failures) = (BTreeSet::new(), Vec::new());
    for asset in assets {
        let [source, target] = [0, 1].map(|at| asset[at].as_str().expect("a path"));
        // Files under `target/` are built for the package: the command, man pages and completions.
        let Some(source) = source.strip_prefix("../../").filter(|s| !s.starts_with("target/"))
        else {
            continue;
        };
        let (folder, pattern) = source.rsplit_once('/').unwrap_or(("", source));
        let found = matching(&root.join(folder), pattern);
        if found.is_empty() {
            failures.push(format!("{source} is not there"));
        }
        if Path::new(target) == Path::new("usr/share/planimeter").join(folder) {
            shipped.extend(found.into_iter().map(|name| Path::new(folder).join(name)));
        }
    }
    let mut checked = 0;
    for page in shipped.iter().filter(|path| path.extension().is_some_and(|found| found == "md")) {
        let text = fs::read_to_string(root.join(page)).expect("a page");
        for link in links(&text) {
            checked += 1;
            let target = plain(&page.parent().expect("a folder").join(&link));
            // A directory exists once it contains a file.
            if !shipped.iter().any(|path| path.starts_with(&target)) {
                failures.push(format!("{}: the package lacks {link}", page.display()));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(checked >= 80, "the pages have moved: {checked} links were found");
}

/// Returns the names of the files of a directory that match a pattern with at most one `*`.
fn matching(folder: &Path, pattern: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let files =
        entries.map(|entry| entry.expect("an entry")).filter(|entry| entry.path().is_file());
    let names = files.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let fits = |name: &String| match pattern.split_once('*') {
        Some((before, after)) => name.starts_with(before) && name.ends_with(after),
        None => name == pattern,
    };
    names.filter(fits).collect()
}

/// Returns a path without `..` components.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut so_far, part| {
        match part {
            Component::ParentDir => drop(so_far.pop()),
            part => so_far.push(part),
        }
        so_far
    })
}

/// The address of the repository, for links out of the book.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// Returns the files and directories of the repository that a page links to by its address.
fn in_repository(text: &str) -> Vec<String> {
    let of = |kind: &str| format!("]({REPOSITORY}/{kind}/main/");
    let targets = ["blob", "tree"].map(|kind| {
        let rest = text.split(&of(kind)).skip(1).map(str::to_owned).collect::<Vec<_>>();
        rest.into_iter().filter_map(|rest| Some(rest.split([')', '#']).next()?.to_owned()))
    });
    targets.into_iter().flatten().collect()
}

/// Returns the files that a page links to, without the anchors.
fn links(text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets
        .map(|(target, _)| target.split('#').next().unwrap_or_default().replace('\n', ""))
        .filter(|target| !target.is_empty() && !target.contains("://") && !target.contains(' '))
        .collect()
}

/// Returns the anchor of a heading: its words in lower case, with a hyphen for each space.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let words: String = heading.trim().to_lowercase().chars().filter(kept).collect();
    words.replace(' ', "-")
}

#[test]
fn links_between_pages_lead_to_headings_that_exist() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut checked = 0;
    for entry in std::fs::read_dir(&docs).expect("the folder of pages") {
        let page = entry.expect("a page").path();
        if page.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let text = std::fs::read_to_string(&page).expect("a page");
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        for (file, wanted) in targets.filter_map(|(target, _)| target.split_once('#')) {
            if file.contains("://") {
                continue;
            }
            let target = if file.is_empty() { page.clone() } else { docs.join(file) };
            let there = std::fs::read_to_string(&target).expect("a page");
            let headings = there.lines().filter(|line| line.starts_with('#'));
            let mut anchors = headings.map(|line| anchor(line.trim_start_matches('#')));
            assert!(
                anchors.any(|anchor| anchor == wanted),
                "{}: no heading {wanted} in {}",
                page.display(),
                target.display()
            );
            checked += 1;
        }
    }
    assert!(checked > 0, "no link has an anchor");
}
