//! Tests of the error messages for wrong configurations, which are compared with snapshots.

use std::path::Path;

use super::complaints;
use crate::config::{Origin, Settings};

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    insta::assert_snapshot!(complaints(
        r#"protocol = "of14"
seed = -1

[traffic]
rate = "fast"
arrivals = "pareto:0.5"
mode = "closd"
frame-bytes = 20
late-after = 5

[timing]
measure = "0s"
warm-up = "2 s"

[switches]
count = 0
topology = "tree"

[plan]
thresholds = ["rtt.p99 < 5", "los == 0"]
rates = ["100..500"]
"#
    ));
}

#[test]
fn unknown_keys_are_refused_with_what_was_meant() {
    insta::assert_snapshot!(complaints(
        r#"sedd = 1
topology = "linear"
frobnicate = true

[trafic]
rate = 5

[traffic]
Rate = 5
frame_bytes = 128
duration = "5s"

[timing]
mesure = "5s"

[run]
anything = 1
"#
    ));
}

#[test]
fn wrong_types_are_refused_with_what_to_write() {
    insta::assert_snapshot!(complaints(
        r#"seed = [1, 2]
traffic = 5
threads = 2026-01-01

[switches]
count = { a = 1 }
ports = true

[plan]
thresholds = [["loss == 0"]]
rates = true

[switch]
index = 0
"#
    ));
}

#[test]
fn switch_tables_are_judged_line_by_line() {
    insta::assert_snapshot!(complaints(
        r#"[[switch]]
index = "9-0"
rate = 0
start-delay = 5

[[switch]]
index = 3

[[switch]]
rate = 5

[[switch]]
index = 0
speed = 5
replay = ["a"]
"#
    ));
}

#[test]
fn text_that_is_no_toml_is_refused_with_the_line() {
    insta::assert_snapshot!(
        [
            complaints("seed = 1\nrate == 5\n"),
            complaints("seed = 1\nseed = 2\n"),
            complaints("[traffic\n"),
            complaints("seed = 1\n[traffic]\nrate = 100k\n"),
            complaints("seed"),
            complaints("p4runtime.cookie = 0xc34a1bef3219e4f4"),
        ]
        .join("\n")
    );
}

#[test]
fn flags_are_called_by_their_names() {
    let mut settings = Settings::new();
    for (key, value) in [
        ("traffic.rate", "0"),
        ("timing.measure", "10"),
        ("switches.first-id", "0x1ffffffffffffffff"),
        ("controller.address", "host:99999"),
        ("controller.process", "1234"),
        ("tls.ca", ""),
        ("switch", "20:rate=5"),
        ("switch", "3:speed=5"),
        ("plan.switches", "1,2,1"),
        ("output.json", "yes"),
    ] {
        settings.set(key, value, Origin::Flag);
    }
    settings.set(
        "timing.drain",
        "soon",
        Origin::Legacy { file: Path::new("config.ini").to_owned(), line: 7 },
    );
    settings.set("traffic.speed", "5", Origin::Flag);
    insta::assert_snapshot!(settings.resolve().expect_err("all wrong").to_string());
}

#[test]
fn hostile_text_cannot_garble_the_message() {
    let long = "x".repeat(10_000);
    let text = format!("[traffic]\nmode = \"\\u001b[2J{long}\"\n");
    let message = complaints(&text);
    assert!(message.len() < 300 && !message.contains('\u{1b}'), "{message}");
}
