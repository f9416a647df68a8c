//! Tests of the table of settings, and of the documentation that is generated from it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::config::draft::Draft;
use crate::config::{Kind, Origin, Section, Setting, Settings, markdown};

#[test]
fn keys_flags_and_shorts_are_unique() {
    let mut keys = BTreeSet::new();
    let mut flags = BTreeSet::new();
    let mut shorts = BTreeSet::from(['h', 'V']);
    for setting in Setting::all() {
        assert!(keys.insert(setting.key), "key {}", setting.key);
        assert!(flags.insert(setting.flag), "flag {}", setting.flag);
        assert!(setting.short.is_none_or(|short| shorts.insert(short)), "{:?}", setting.short);
    }
    // Keys serve as hidden flags too.
    for setting in Setting::all().filter(|setting| setting.key != setting.flag) {
        assert!(!flags.contains(setting.key), "{} is a flag and another's key", setting.key);
    }
}

#[test]
fn keys_and_flags_are_in_kebab_case() {
    let kebab = |text: &str| {
        text.split(['.', '-']).all(|part| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        })
    };
    for setting in Setting::all() {
        assert!(kebab(setting.key), "{}", setting.key);
        assert!(kebab(setting.flag) && !setting.flag.contains('.'), "{}", setting.flag);
    }
}

#[test]
fn every_setting_is_explained() {
    for setting in Setting::all() {
        let key = setting.key;
        assert!(!setting.summary.is_empty() && !setting.summary.ends_with('.'), "{key}");
        assert!(setting.summary.len() <= 80, "{key}: the summary is no short line");
        assert!(setting.manual.ends_with('.') && setting.manual.contains(' '), "{key}");
        assert!(!setting.manual.contains("  "), "{key}: a line break left two spaces");
        assert!(!setting.value_name.is_empty(), "{key}");
        assert!(!setting.example.is_empty(), "{key}");
        // Every key that a manual names must exist.
        for word in setting.manual.split([' ', ',', ';', ':', '(', ')']) {
            let word = word.trim_end_matches('.');
            let table = word.split_once('.').map(|(table, _)| format!("{table}."));
            let is_key =
                table.is_some_and(|table| Setting::all().any(|own| own.key.starts_with(&table)));
            assert!(!is_key || Setting::by_key(word).is_some(), "{key} mentions {word}");
        }
    }
}

#[test]
fn every_default_and_every_example_is_in_range() {
    // Creates the files that the examples name.
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in
        ["campus.pcap", "basic.p4info.txt", "basic.json", "ca.pem", "switch.pem", "switch.key"]
    {
        std::fs::write(folder.path().join(name), "x").expect("a file");
    }
    for setting in Setting::all() {
        for text in [setting.default, setting.example] {
            // The environment variable of an example is not set here.
            if text.starts_with("env:") || (text.is_empty() && setting.kind.repeats()) {
                continue;
            }
            let mut draft = Draft::default();
            let slot = (setting.slot)(&mut draft);
            let result = slot.read(text, folder.path());
            assert!(result.is_ok(), "{} = {text}: {result:?}", setting.key);
            for magnitude in slot.magnitudes() {
                assert_eq!(setting.limits.complaint(magnitude), None, "{} = {text}", setting.key);
            }
            let canonical = slot.text();
            slot.clear();
            assert!(slot.read(&canonical, Path::new("")).is_ok(), "{}: {canonical}", setting.key);
            assert_eq!(slot.text(), canonical, "{}", setting.key);
        }
    }
}

#[test]
fn no_two_settings_have_the_same_field() {
    let places: BTreeSet<usize> = {
        let mut draft = Draft::default();
        Setting::all()
            .map(|setting| std::ptr::from_mut((setting.slot)(&mut draft)).cast::<u8>() as usize)
            .collect()
    };
    assert_eq!(places.len(), Setting::all().count());
}

#[test]
fn flags_are_false_or_true_by_default() {
    for setting in Setting::all().filter(|setting| setting.kind == Kind::Flag) {
        assert!(matches!(setting.default, "false" | "true"), "{}", setting.key);
    }
}

#[test]
fn sections_begin_their_keys_alike() {
    for section in Section::ALL {
        let tables: BTreeSet<_> = section
            .settings()
            .iter()
            .filter(|setting| setting.kind != Kind::Tables)
            .map(|setting| setting.key.split_once('.').map(|(table, _)| table))
            .collect();
        assert_eq!(tables.len(), 1, "{section:?}");
    }
}

#[test]
fn defaults_make_a_configuration() {
    let resolved = Settings::new().resolve().expect("defaults go together");
    assert_eq!(resolved.values().len(), Setting::all().count());
    let config = resolved.config;
    assert_eq!((config.switches.count, config.traffic.rate), (16, 100.0));
    assert_eq!(config.controller.address, "127.0.0.1:6653");
    assert!(config.tls.is_none() && config.thresholds.is_empty());
    assert_eq!(config.threads, 1, "1,600 packet-ins/s fit one thread");
}

#[test]
fn threads_follow_the_offered_load() {
    let threads = |rate: &str, count: &str| {
        let mut settings = Settings::new();
        settings.set("traffic.rate", rate, Origin::Flag);
        settings.set("switches.count", count, Origin::Flag);
        settings.resolve().expect("it is possible").config.threads
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // One core is left to the controller.
    let most = if cores > 2 { 2 } else { 1 };
    assert_eq!(threads("1k", "100"), 1);
    assert_eq!(threads("62500", "16"), most);
}

/// Compares the reference page with the table of settings. `PLANIMETER_UPDATE_DOCS=1 cargo test -p
/// probe` generates the page again.
#[test]
fn the_reference_page_is_up_to_date() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/probe-settings.md");
    if std::env::var_os("PLANIMETER_UPDATE_DOCS").is_some() {
        std::fs::write(&path, markdown()).expect("docs/ can be written");
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        page == markdown(),
        "docs/probe-settings.md is stale; run PLANIMETER_UPDATE_DOCS=1 cargo test -p probe"
    );
}
