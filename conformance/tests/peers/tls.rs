//! Tests of mutual TLS with programs that use other TLS libraries: OpenSSL in Open vSwitch,
//! BoringSSL in the Python and Java clients.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use conformance::{
    ADDRESS, Lab, OneTrial, Peer, ProbeRun, Running, Serving, SwitchProcess, java, repository,
};
use probe::outcome::{Completion, RunResult};
use tempfile::TempDir;

use super::authority::Authority;

#[test]
fn open_vswitch_connects_over_tls() {
    let (trusted, foreign) = (Authority::new(), Authority::new());
    for protocol in ["openflow10", "openflow13"] {
        let Some((_controller, result)) = open_vswitch(protocol, &trusted, &trusted) else {
            return;
        };
        let counts = result.trial().counts;
        assert_eq!(result.completion, Completion::Complete, "{:?}", result.trial().handshake);
        assert_eq!((counts.sent, counts.answered), (40, 40), "{counts:?}");
    }
    // The switch rejects a controller with a certificate of another authority, and the result
    // states the reason.
    let Some((_controller, result)) = open_vswitch("openflow13", &foreign, &trusted) else {
        return;
    };
    let handshake = &result.trial().handshake;
    assert_eq!(handshake.ready, 0);
    let why = handshake.why_zero.as_deref().unwrap_or_default();
    assert!(why.contains("certificate"), "{why}");
}

#[test]
fn finsy_connects_over_tls() {
    grpc(Peer::Finsy, "finsy_tls.py");
}

#[test]
fn p4runtime_shell_connects_over_tls() {
    grpc(Peer::P4RuntimeShell, "p4runtime_shell_tls.py");
}

#[test]
fn a_switch_is_reached_over_tls_and_mutual_tls() {
    let (Some(shell), Some(lab)) = (Peer::P4RuntimeShell.command(), Lab::new()) else { return };
    let (trusted, foreign) = (Authority::new(), Authority::new());
    let certificate = [text(&trusted.certificate()), text(&trusted.key())];
    let cacert = text(&trusted.authority());
    let program = text(&repository().join("programs/l2.p4"));
    let mut flags =
        vec!["--p4", &program, "--grpc-server-ssl", "--grpc-server-cert", &certificate[0]];
    flags.extend(["--grpc-server-key", &certificate[1]]);
    let reads = |files: &[PathBuf]| {
        let mut command = lab.within("s", &shell);
        command.arg(repository().join("conformance/scripts/p4runtime_shell_table.py"));
        let output = command.args([ADDRESS, "1", "l2"]).args(files).output().expect("ip runs");
        String::from_utf8_lossy(&output.stdout).contains("done")
    };
    let switch = SwitchProcess::start(&lab, &[], &flags);
    assert!(reads(&[trusted.authority()]));
    assert!(!reads(&[foreign.authority()]), "a switch that somebody else vouches for");
    drop(switch);

    flags.extend(["--grpc-server-with-client-auth", "--grpc-server-cacert", &cacert]);
    let _switch = SwitchProcess::start(&lab, &[], &flags);
    assert!(reads(&[trusted.authority(), trusted.certificate(), trusted.key()]));
    assert!(!reads(&[trusted.authority()]), "a client without a certificate");
    assert!(!reads(&[trusted.authority(), foreign.certificate(), foreign.key()]));
}

#[test]
fn grpc_java_connects_over_tls() {
    let classes = TempDir::new().expect("a folder");
    let Some(mut command) = java("GrpcJava", classes.path()) else { return };
    let authority = Authority::new();
    let serving = serving(&authority);
    let descriptors = classes.path().join("descriptors");
    fs::write(&descriptors, p4runtime::proto::DESCRIPTORS).expect("a file");
    command.args(["answer", &serving.switches[0].1, "1"]).arg(descriptors);
    command.arg(repository().join("programs/l2.p4info.txtpb"));
    command.arg(authority.folder());
    assert_answered(command, serving);
}

fn open_vswitch(
    protocol: &str,
    controllers: &Authority,
    switches: &Authority,
) -> Option<(Running, RunResult)> {
    Peer::OvsTestcontroller.command()?;
    let (controller, address) = Running::start_listening(|port| {
        let mut command =
            Peer::OvsTestcontroller.command().unwrap_or_else(|| Command::new("false"));
        command.arg("--unixctl=none").arg("--private-key").arg(controllers.key());
        command.arg("--certificate").arg(controllers.certificate());
        command.arg("--ca-cert").arg(switches.authority()).arg(format!("pssl:{port}:127.0.0.1"));
        command
    });
    let result = ProbeRun::start(&[
        ("protocol", protocol),
        ("controller.address", &address.to_string()),
        ("switches.count", "2"),
        ("traffic.rate", "40"),
        ("tls.ca", &text(&switches.authority())),
        ("tls.certificate", &text(&switches.certificate())),
        ("tls.key", &text(&switches.key())),
        ("timing.connect-timeout", if controllers == switches { "30s" } else { "2s" }),
        ("timing.settle", "100ms"),
        ("timing.warm-up", "0s"),
        ("timing.measure", "500ms"),
        ("timing.drain", "10s"),
    ])
    .finish();
    Some((controller, result))
}

fn grpc(peer: Peer, script: &str) {
    let Some(mut command) = peer.command() else { return };
    let authority = Authority::new();
    let serving = serving(&authority);
    let (device, address) = &serving.switches[0];
    command.arg(repository().join("conformance/scripts").join(script)).args([address, device]);
    command.args([authority.authority(), authority.certificate(), authority.key()]);
    assert_answered(command, serving);
}

fn assert_answered(command: Command, serving: Serving) {
    let _peer = Running::start(command).expect("the interpreter starts");
    serving.run.wait_until_answered(20, Duration::from_secs(60));
    let counts = serving.run.interrupt().trial().counts;
    assert_eq!((counts.sent, counts.answered, counts.lost), (20, 20, 0), "{counts:?}");
}

/// Starts a switch that presents the certificate of an authority and requires one of it.
fn serving(authority: &Authority) -> Serving {
    Serving::start_with(
        1,
        1,
        20,
        &[
            ("tls.ca", &text(&authority.authority())),
            ("tls.certificate", &text(&authority.certificate())),
            ("tls.key", &text(&authority.key())),
        ],
    )
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
