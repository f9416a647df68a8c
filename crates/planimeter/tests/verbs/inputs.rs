//! Tests of inputs that no user intends, such as endless devices and lines of megabytes.

use std::fs;

use crate::command::{planimeter, stderr, stdout};

/// The length of a message in bytes above which its contents are buried.
const LONGEST_MESSAGE: usize = 4_000;

/// Each verb with arguments in which `FILE` stands for the name of a file.
const VERBS: [(&str, &str); 10] = [
    ("compile", "FILE.p4"),
    ("compile", "FILE.json"),
    ("bound", "FILE.toml"),
    ("bound", "FILE.json"),
    ("device", "measure FILE.toml"),
    ("stf", "programs/router.p4 FILE.stf"),
    ("probe", "--config FILE.toml"),
    ("probe", "--topology graphml:FILE.graphml --print-config"),
    ("switch", "--devices FILE.toml"),
    ("ctl", "- --p4info programs/l2.p4info.txtpb --dry-run --file FILE.txt"),
];

/// Runs each verb on a file that `make` creates at the given path.
fn refused(make: impl Fn(&std::path::Path), reason: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    for (verb, arguments) in VERBS {
        let word = arguments.split(' ').find(|word| word.contains("FILE")).expect("one is a file");
        let name = word.rsplit(':').next().unwrap_or(word);
        let path = folder.path().join(name);
        if !path.exists() {
            make(&path);
        }
        let whole = arguments.replace(name, &path.display().to_string());
        let output = planimeter(verb, &whole.split(' ').collect::<Vec<_>>());
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{verb} {arguments}: {message}");
        assert!(message.contains(reason), "{verb} {arguments}: {message}");
        assert_eq!(stdout(&output), "", "{verb} {arguments}");
        assert!(message.len() < LONGEST_MESSAGE, "{verb} {arguments}: {} bytes", message.len());
    }
}

#[test]
fn devices_without_an_end_are_refused() {
    let link = |path: &std::path::Path| {
        std::os::unix::fs::symlink("/dev/zero", path).expect("a link");
    };
    refused(link, "longer than");
}

#[test]
fn an_include_of_a_device_without_an_end_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.p4");
    fs::write(&path, "#include \"/dev/zero\"\n").expect("a file");
    let output = planimeter("compile", &[&path.display().to_string()]);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("a.p4:1:") && message.contains("longer than"), "{message}");
}

#[test]
fn lines_of_megabytes_are_not_repeated() {
    let long = "x".repeat(5_000_000);
    let line = |path: &std::path::Path| {
        fs::write(path, format!("const bit<8> a = {long};\n")).expect("a file");
    };
    refused(line, "");
}
