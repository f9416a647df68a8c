//! Tests that messages of another implementation decode, and encode again to equal bytes.
//!
//! The messages are in the os-ken wheel (PyPI), each in a file of its own. They are searched for in
//! the virtual environment that `conformance/install.sh os-ken` creates, under the folder that
//! `PLANIMETER_PEERS` names or else under `conformance/.peers`. Without them the tests print a note
//! and pass, unless `PLANIMETER_REQUIRE_PEERS=1`.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use openflow::framing::Framer;
use openflow::{v1_0, v1_3};

#[test]
fn os_ken_messages_of_1_0_survive_decoding() {
    check("of10", 10, |frame| {
        let (xid, message) = v1_0::Message::decode(frame).map_err(|error| error.to_string())?;
        let mut encoded = Vec::new();
        message.encode(xid, &mut encoded).map_err(|error| error.to_string())?;
        Ok(encoded)
    });
}

#[test]
fn os_ken_messages_of_1_3_survive_decoding() {
    check("of13", 90, |frame| {
        let (xid, message) = v1_3::Message::decode(frame).map_err(|error| error.to_string())?;
        let mut encoded = Vec::new();
        message.encode(xid, &mut encoded).map_err(|error| error.to_string())?;
        Ok(encoded)
    });
}

/// Passes every message in the files of a version to `recode`. There must be at least `least`
/// files, so that a missing corpus does not count as success.
fn check(version: &str, least: usize, recode: impl Fn(&[u8]) -> Result<Vec<u8>, String>) {
    let Some(directory) = corpus() else { return };
    let files = packet_files(&directory.join(version));
    assert!(files.len() >= least, "{} files of {version}, expected {least}", files.len());
    let mut failures = Vec::new();
    let mut messages = 0;
    for file in &files {
        let name = file.display();
        let bytes = fs::read(file).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut framer = Framer::new();
        let mut seen = 0;
        for frame in framer.frames(&bytes) {
            let frame = frame.unwrap_or_else(|error| panic!("{name}: {error}"));
            seen += 1;
            match recode(frame) {
                Ok(encoded) if encoded == frame => {}
                Ok(encoded) => failures.push(format!("{name}: became {encoded:02x?}")),
                Err(error) => failures.push(format!("{name}: {error}")),
            }
        }
        assert!(seen > 0 && framer.held().is_empty(), "{name}: not whole messages");
        messages += seen;
    }
    assert!(
        failures.is_empty(),
        "{} of {messages} messages:\n{}",
        failures.len(),
        failures.join("\n")
    );
    eprintln!("{messages} messages in {} files of {version}", files.len());
}

/// Returns the directory that holds `of10` and `of13`, or `None` if there is no corpus and none is
/// required.
fn corpus() -> Option<PathBuf> {
    let peers = match env::var_os("PLANIMETER_PEERS") {
        Some(peers) => PathBuf::from(peers),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/.peers"),
    };
    let environment = peers.join("os-ken/lib");
    let versions = fs::read_dir(&environment).into_iter().flatten().flatten();
    let mut directories = versions
        .map(|version| version.path().join("site-packages/os_ken/tests/packet_data"))
        .filter(|directory| directory.is_dir());
    if let Some(directory) = directories.next() {
        return Some(directory);
    }
    let missing = format!(
        "no os-ken corpus below {}: run conformance/install.sh os-ken",
        environment.display()
    );
    let required = env::var("PLANIMETER_REQUIRE_PEERS").is_ok_and(|value| value == "1");
    assert!(!required, "{missing}");
    // Bypasses the test harness, which hides the output of passing tests.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {missing}");
    None
}

fn packet_files(directory: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("the directory can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "packet"))
        .collect();
    files.sort();
    files
}
