//! Tests of the man pages, the shell completions and the reference manual, and of the commands in
//! all documentation pages, which must parse.

#[path = "../../tests/verbs/pages.rs"]
mod pages;

use super::*;
use pages::{commands, pages};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn every_verb_has_a_man_page_and_completions() {
    let pages = files(Format::Man, crate::command()).expect("pages");
    for name in ["planimeter.1", "planimeter-probe.1", "planimeter-device-measure.1"] {
        let (_, page) = pages.iter().find(|(page, _)| page == name).expect(name);
        let page = String::from_utf8_lossy(page);
        assert!(page.contains(".SH SYNOPSIS") && page.contains(".SH OPTIONS"), "{name}: {page}");
    }
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Elvish, Shell::PowerShell] {
        let scripts = files(Format::Completions(shell), crate::command()).expect("a script");
        let [(_, script)] = &scripts[..] else { panic!("one file") };
        assert!(String::from_utf8_lossy(script).contains("threshold"), "{shell}");
    }
}

#[test]
fn the_reference_pages_are_up_to_date() {
    let mut differ = Vec::new();
    for (name, text) in files(Format::Markdown, crate::command()).expect("pages") {
        let path = Path::new(ROOT).join("docs/reference").join(&name);
        if fs::read(&path).ok().as_deref() != Some(&text[..]) {
            differ.push(name);
        }
    }
    assert!(
        differ.is_empty(),
        "docs/reference is behind in {}: cargo run -- manual markdown docs/reference",
        differ.join(", ")
    );
}

/// Every command that a page of the documentation shows can be parsed by this version.
#[test]
fn every_documented_command_is_understood() {
    let mut failures = Vec::new();
    let mut checked = 0;
    for (page, text) in pages() {
        for command in commands(&text) {
            checked += 1;
            let parsed = crate::command().try_get_matches_from(crate::understood(words(&command)));
            // Commands that show how to request help end with an error that is not a failure.
            if let Err(error) = parsed
                && error.use_stderr()
            {
                failures.push(format!("{}: {command}\n    {error}", page.display()));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(checked >= 60, "the pages have moved: {checked} commands were found");
}

/// Returns the words of a `planimeter` command, as a shell splits the line that contains it.
fn words(line: &str) -> Vec<std::ffi::OsString> {
    // Commands after a pipe, redirections and background jobs are left to the shell.
    let script = format!("planimeter() {{ printf '%s\\0' planimeter \"$@\" >&3; }}; {line}\nwait");
    let directory = tempfile::tempdir().expect("a directory");
    let found = directory.path().join("words");
    let status = std::process::Command::new("/bin/sh")
        .current_dir(directory.path())
        // With this path, no other command of the line is executed.
        .env("PATH", "/nonexistent")
        .args(["-c", &format!("exec 3>'{}'; {script}", found.display())])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status();
    status.expect("a shell");
    // A line that the shell cannot parse has no words.
    let bytes = fs::read(found).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    text.split_terminator('\0').map(std::ffi::OsString::from).collect()
}
