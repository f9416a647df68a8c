//! Tests of `planimeter ctl` with `planimeter switch` over TLS and mutual TLS, with certificates
//! that the test makes.

use std::path::{Path, PathBuf};
use std::process::Command;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::command::{planimeter, stderr};
use crate::ctl::{ctl, done};
use crate::switch::Switch;

const EVERYTHING: &str = "crates/judge/tests/everything.p4";
const ENTRY: &str = "table add routes 10.0.0.0/8 drop";

/// A certificate authority whose files are in a folder.
struct Authority {
    folder: PathBuf,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// Makes an authority. The file `NAME.pem` has its certificate.
    fn new(folder: &Path, name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("an authority");
        std::fs::write(folder.join(format!("{name}.pem")), issuer.pem()).expect("a file");
        Self { folder: folder.to_owned(), issuer }
    }

    /// Issues a certificate for names: the files `FILE.pem` and `FILE.key`.
    fn issue(&self, file: &str, names: &[&str]) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let params = CertificateParams::new(names).expect("names");
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("issued");
        let path = |ending: &str| self.folder.join(format!("{file}.{ending}"));
        std::fs::write(path("pem"), certificate.pem()).expect("a file");
        std::fs::write(path("key"), key.serialize_pem()).expect("a file");
    }
}

/// A folder with the certificates of a switch, of a controller, and of a stranger.
fn certificates() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let own = Authority::new(folder.path(), "own");
    own.issue("switch", &["switch.test", "127.0.0.1"]);
    own.issue("controller", &["controller.test"]);
    Authority::new(folder.path(), "other").issue("stranger", &["controller.test"]);
    folder
}

/// Returns flags whose files, those words with an ending, are in the folder.
fn flags(folder: &Path, text: &str) -> String {
    let is_file = |word: &str| word.ends_with(".pem") || word.ends_with(".key");
    let word = |word: &str| match is_file(word) {
        true => folder.join(word).display().to_string(),
        false => word.to_owned(),
    };
    text.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// Starts a switch that serves TLS.
fn switch(folder: &Path, more: &str) -> Switch {
    let command = Command::new(env!("CARGO_BIN_EXE_planimeter"));
    let tls = "--grpc-server-ssl --grpc-server-cert switch.pem --grpc-server-key switch.key";
    let port = format!("-i 2@pcap:,{}", folder.join("2.pcap").display());
    let all = format!("{port} --inject {} {}", flags(folder, tls), flags(folder, more));
    Switch::of(command, EVERYTHING, &all.split_whitespace().collect::<Vec<_>>())
}

/// Checks that a command fails because the connection does, with this reason.
fn is_out_of_reach(switch: &Switch, words: &str, reason: &str) {
    let output = ctl(switch, words);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{words}: {text}");
    assert!(text.to_lowercase().contains(reason), "{words}: {text}");
}

#[test]
fn a_switch_is_controlled_over_tls() {
    let folder = certificates();
    let folder = folder.path();
    let switch = switch(folder, "");
    let with = |text: &str| flags(folder, text);
    let trusting = with("--tls-ca own.pem");
    done(&switch, &format!("{trusting} {ENTRY}"));
    done(&switch, &format!("{trusting} --tls-server-name switch.test queue set port=2 rate=1Mbps"));
    assert_eq!(done(&switch, &format!("{trusting} table count routes")), "routes: 1 entries\n");
    let outcome = done(&switch, &format!("{trusting} inject 2 08000000000008000000001108000000"));
    assert!(outcome.starts_with("dropped") || outcome.starts_with("port"), "{outcome}");
    // The server's certificate is not from a trusted authority or is for another name, or the
    // client does not use TLS.
    for (text, reason) in [
        ("--tls-ca other.pem", "certificate"),
        ("--tls-ca own.pem --tls-server-name other.test", "certificate"),
        ("", "tls"),
    ] {
        is_out_of_reach(&switch, &format!("{} tables", with(text)), reason);
    }
    let output =
        ctl(&switch, &with("--tls-certificate controller.pem --tls-key controller.key tables"));
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("give --tls-ca as well"), "{}", stderr(&output));
    let output = ctl(&switch, "--tls-ca nowhere.pem tables");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("cannot read nowhere.pem"), "{}", stderr(&output));
}

#[test]
fn a_switch_with_mutual_tls_takes_known_controllers_only() {
    let folder = certificates();
    let folder = folder.path();
    let mutual = "--grpc-server-with-client-auth --grpc-server-cacert own.pem";
    let switch = switch(folder, mutual);
    let with = |text: &str| flags(folder, &format!("--tls-ca own.pem {text}"));
    let known = with("--tls-certificate controller.pem --tls-key controller.key");
    done(&switch, &format!("{known} {ENTRY}"));
    done(&switch, &format!("{known} queue set port=2 rate=1Mbps"));
    assert_eq!(
        done(&switch, &format!("{known} queue dump")),
        "queue set port=2 queues=1 rate=1000000bps\n"
    );
    for text in ["", "--tls-certificate stranger.pem --tls-key stranger.key"] {
        is_out_of_reach(&switch, &format!("{} tables", with(text)), "certificate");
    }
    assert_eq!(done(&switch, &format!("{known} table count routes")), "routes: 1 entries\n");
}

/// A switch without TLS is out of reach for a client that insists on it.
#[test]
fn a_client_that_asks_for_tls_never_goes_without() {
    let folder = certificates();
    let command = Command::new(env!("CARGO_BIN_EXE_planimeter"));
    let switch = Switch::of(command, EVERYTHING, &[]);
    let words = flags(folder.path(), "--tls-ca own.pem tables");
    let mut all = vec![switch.1.as_str()];
    all.extend(words.split_whitespace());
    let output = planimeter("ctl", &all);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
}
