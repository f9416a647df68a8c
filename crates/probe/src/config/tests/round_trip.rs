//! Tests that a resolved configuration stays the same when it is written and read again, and that
//! no text causes a panic.

use std::path::Path;

use proptest::prelude::*;

use super::{resolve, resolve_in};
use crate::config::{Origin, Setting, Settings};

/// A configuration in which every section has settings that differ from their defaults.
const MANY: &str = r#"
protocol = "p4runtime"
seed = 18446744073709551
threads = 3

[controller]
address = "[::1]:6634"
process = "ssh:me@host:name:karaf"
onos-rest = "http://h:1"
onos-user = "it's \"me\""
onos-password = "env:PATH"

[switches]
count = 20
first-id = "0xffffffffffffff00"
topology = "tree:2"
hosts = 3

[traffic]
mode = "closed"
rate = 0.125
arrivals = "normal:0.2"
frame = "udp"
known-destinations = false

[timing]
measure = "1m30s"
sample = "12500us"

[plan]
kind = "sweep"
switches = ["1..16:x2", 20]
thresholds = ["loss < 0.1%", "rtt.p99 < 5ms"]
between = "echo 'a' \"b\" \\ # no comment"

[output]
json = true

[p4runtime]
devices-per-port = 7
port-form = "full-width"

[[switch]]
index = "0-9"
rate = 5
start-delay = "2s"

[[switch]]
index = 10
arrivals = "uniform:0.5"
"#;

#[test]
fn a_written_configuration_reads_back_the_same() {
    for toml in ["", MANY] {
        let resolved = resolve(toml).expect("a configuration");
        let written = resolved.to_toml();
        // Paths are absolute, so the file can be read from any folder.
        let again = resolve_in(&written, Path::new("/elsewhere/config.toml"))
            .unwrap_or_else(|error| panic!("{error}\n{written}"));
        assert_eq!(again.values(), resolved.values());
        assert_eq!(format!("{:?}", again.config), format!("{:?}", resolved.config));
        assert_eq!(again.to_toml(), written);
    }
}

#[test]
fn resolved_values_can_be_set_again() {
    let resolved = resolve(MANY).expect("a configuration");
    let mut settings = Settings::new();
    for (key, value) in resolved.values() {
        // A list that is not set has no elements.
        let list = Setting::by_key(&key).is_some_and(|setting| setting.kind.repeats());
        if !(list && value.is_empty()) {
            settings.set(&key, &value, Origin::Flag);
        }
    }
    let again = settings.resolve().expect("a configuration");
    assert_eq!(again.values(), resolved.values());
}

#[test]
fn every_key_is_written() {
    let written = resolve(MANY).expect("a configuration").to_toml();
    insta::assert_snapshot!(written);
}

#[test]
fn paths_are_written_absolute() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("a, b.pcap"), "x").expect("a file");
    let toml = "[traffic]\nframe = \"replay:a, b.pcap\"\n\
                [[switch]]\nindex = 0\nreplay = \"a, b.pcap\"\nrate = 1\n";
    let resolved = resolve_in(toml, &folder.path().join("probe.toml")).expect("a configuration");
    let again = resolve_in(&resolved.to_toml(), Path::new("/elsewhere/config.toml"))
        .expect("the same configuration");
    assert_eq!(again.values(), resolved.values());
}

/// Generates texts that resemble configurations: existing keys with values that may be invalid.
fn nearly_toml() -> impl Strategy<Value = String> {
    // A password in clear is written as a reference to an environment variable, which is not set
    // here.
    let keys: Vec<&'static str> = Setting::all()
        .map(|setting| setting.key)
        .filter(|key| *key != "controller.onos-password")
        .collect();
    let examples: Vec<String> = Setting::all()
        .flat_map(|setting| [setting.default, setting.example])
        .map(|text| format!("\"{text}\""))
        .collect();
    let value = prop_oneof![
        prop::sample::select(examples),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| format!("{number:?}")),
        any::<bool>().prop_map(|truth| truth.to_string()),
        "\"[0-9a-z:.,=x;-]{0,12}\"",
        "\\[\\]|\\{\\}|\\[1, 2\\]|\\{ index = 1, rate = 2 \\}|\\[\\{ index = 1, rate = 2 \\}\\]",
    ];
    let line =
        (prop::sample::select(keys), value).prop_map(|(key, value)| format!("{key} = {value}\n"));
    prop::collection::vec(line, 0..8).prop_map(|lines| lines.concat())
}

proptest! {
    #[test]
    fn no_text_makes_reading_panic(text in any::<String>()) {
        let _ = resolve(&text);
    }

    #[test]
    fn no_value_makes_reading_panic(text in nearly_toml()) {
        if let Ok(resolved) = resolve(&text) {
            let again = resolve(&resolved.to_toml()).map(|again| again.values());
            prop_assert_eq!(again, Ok(resolved.values()));
        }
    }

    #[test]
    fn no_flag_makes_reading_panic(
        place in any::<prop::sample::Index>(),
        value in any::<String>(),
    ) {
        let all: Vec<&'static Setting> = Setting::all().collect();
        let mut settings = Settings::new();
        settings.set(place.get(&all).key, &value, Origin::Flag);
        let _ = settings.resolve();
    }
}
