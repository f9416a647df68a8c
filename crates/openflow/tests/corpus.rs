//! Messages that nobody here wrote decode, and encode again to the same bytes.
//!
//! The messages are in the os-ken wheel (PyPI), each in a file of its own. They are looked for in
//! the directory that `PLANIMETER_OS_KEN` names, a site-packages directory or an unpacked wheel, or
//! else where `conformance/install-os-ken-corpus.sh` puts them. Without them the tests say so and
//! pass, unless `PLANIMETER_REQUIRE_PEERS=1`.

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

/// Runs every message in the files of that version through `recode`. There must be at least
/// `least` files, so that a corpus that moved does not pass for one that decodes.
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

/// The directory that holds `of10` and `of13`; none if there is no corpus and none is required.
fn corpus() -> Option<PathBuf> {
    let root = match env::var_os("PLANIMETER_OS_KEN") {
        Some(root) => PathBuf::from(root),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/.peers/os-ken"),
    };
    let directory = root.join("os_ken/tests/packet_data");
    if directory.is_dir() {
        return Some(directory);
    }
    let missing = format!(
        "no os-ken corpus at {}: run conformance/install-os-ken-corpus.sh",
        directory.display()
    );
    let required = env::var("PLANIMETER_REQUIRE_PEERS").is_ok_and(|value| value == "1");
    assert!(!required, "{missing}");
    // Written past the test harness, which keeps the output of a test that passes to itself.
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
