//! Tests of the sources of values: their precedence, the forms of TOML, and relative paths.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{complaints, config, resolve, resolve_in};
use crate::config::{
    Arrivals, Frame, Mode, Origin, PlanKind, Settings, SweepRates, TopologySource,
};

fn legacy() -> Origin {
    Origin::Legacy { file: PathBuf::from("config.ini"), line: 3 }
}

#[test]
fn a_flag_outranks_a_file_outranks_a_peers_file() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
        let mut settings = Settings::new();
        for source in order {
            match source {
                0 => {
                    settings.set("traffic.rate", "1", legacy());
                    settings.set("switches.count", "1", legacy());
                    settings.set("seed", "10", legacy());
                }
                1 => {
                    settings.read_toml("seed = 20\n[traffic]\nrate = 2\n", Path::new("probe.toml"))
                }
                _ => settings.set("traffic.rate", "3", Origin::Flag),
            }
        }
        let config = settings.resolve().expect("a configuration").config;
        assert_eq!((config.traffic.rate, config.switches.count, config.seed), (3.0, 1, 20));
    }
}

#[test]
fn lists_add_up_within_a_source_and_are_replaced_between_sources() {
    let toml = "[plan]\nthresholds = [\"loss == 0\", \"lost < 5\"]\n";
    assert_eq!(config(toml).thresholds, ["loss == 0", "lost < 5"]);
    let mut settings = Settings::new();
    settings.read_toml(toml, Path::new("probe.toml"));
    settings.set("plan.thresholds", "late == 0", Origin::Flag);
    settings.set("plan.thresholds", "lost == 0; rtt.p99 < 5ms", Origin::Flag);
    let config = settings.resolve().expect("a configuration").config;
    assert_eq!(config.thresholds, ["late == 0", "lost == 0", "rtt.p99 < 5ms"]);
}

#[test]
fn an_empty_array_replaces_a_peers_list() {
    let mut settings = Settings::new();
    settings.set("switch", "0:rate=5", legacy());
    settings.read_toml("switch = []\n", Path::new("probe.toml"));
    assert!(settings.resolve().expect("a configuration").config.switches.overrides.is_empty());
}

#[test]
fn a_value_that_loses_is_not_judged() {
    let mut settings = Settings::new();
    settings.read_toml("[traffic]\nframe = \"replay:gone.pcap\"\n", Path::new("probe.toml"));
    settings.set("traffic.frame", "udp", Origin::Flag);
    let config = settings.resolve().expect("a configuration").config;
    assert_eq!(config.traffic.frame, Frame::Udp);
}

#[test]
fn keys_may_be_dotted_or_in_tables() {
    for toml in [
        "traffic.rate = 7\ntraffic.mode = \"open\"\n",
        "[traffic]\nrate = 7\n",
        "traffic = { rate = 7 }\n",
        "[traffic]\nrate = \"7\"\n",
        "[traffic]\nrate = 7.0\n",
        "[traffic]\n\"rate\" = 0x7\n",
    ] {
        assert_eq!(config(toml).traffic.rate, 7.0, "{toml}");
    }
}

#[test]
fn modes_take_their_parameters() {
    let toml = "[traffic]\nmode = \"closed\"\nwindow = 8\ngive-up = \"200ms\"\n";
    let mode = Mode::Closed { window: 8, give_up: Duration::from_millis(200) };
    assert_eq!(config(toml).traffic.mode, mode);
    assert_eq!(config("traffic.mode = \"flood\"\n").traffic.mode, Mode::Flood);
}

#[test]
fn a_sweep_varies_one_thing_or_two() {
    let kind = |toml: &str| config(toml).plan.kind;
    assert_eq!(
        kind("plan = { kind = \"sweep\", rates = [100, \"200..400:100\"] }\n"),
        PlanKind::Sweep {
            rates: SweepRates::PerSwitch(vec![100.0, 200.0, 300.0, 400.0]),
            switches: vec![16]
        }
    );
    assert_eq!(
        kind("plan = { kind = \"sweep\", switches = \"1,4\" }\ntraffic.rate = \"1k\"\n"),
        PlanKind::Sweep { rates: SweepRates::PerSwitch(vec![1000.0]), switches: vec![1, 4] }
    );
    let total = kind("plan = { kind = \"sweep\", total-rates = \"1k,2k\", switches = \"1,4\" }\n");
    let PlanKind::Sweep { rates, switches } = total else { panic!("{total:?}") };
    assert_eq!((rates.count(), switches), (2, vec![1, 4]));
    assert_eq!(rates.per_switch(4).collect::<Vec<_>>(), [250.0, 500.0]);
    // A single point divides a total rate among its switches too.
    let point = config("plan.total-rates = \"1k\"\nswitches.count = 50\n");
    assert_eq!((point.plan.kind, point.traffic.rate), (PlanKind::Point, 20.0));
    let chosen = config("plan = { kind = \"point\", total-rates = \"1k\" }\nswitches.count = 8\n");
    assert_eq!(chosen.traffic.rate, 125.0);
    assert_eq!(
        kind("plan = { kind = \"search\", low = 5, high = \"1k\", loss = 0.01 }\n"),
        PlanKind::Search { low: 5.0, high: 1000.0, precision: 0.05, rough: false, loss: 0.01 }
    );
}

#[test]
fn switch_tables_become_overrides() {
    let toml = "[[switch]]\nindex = 3\nrate = 5\n\n\
                [[switch]]\nindex = \"4-9\"\narrivals = \"gamma:0.5\"\nstop-delay = \"1s\"\n";
    let overrides = config(toml).switches.overrides;
    let [first, second] = overrides.as_slice() else { panic!("{overrides:?}") };
    assert_eq!((first.first, first.last, first.rate), (3, 3, Some(5.0)));
    assert_eq!((second.first, second.last), (4, 9));
    assert_eq!(second.arrivals, Some(Arrivals::Gamma { shape: 0.5 }));
    assert_eq!(second.stop_delay, Some(Duration::from_secs(1)));
    let inline = "switch = [{ index = 3, rate = 5 }, \"4-9:arrivals=gamma:0.5,stop-delay=1s\"]\n";
    assert_eq!(config(inline).switches.overrides, overrides);
}

#[test]
fn paths_are_relative_to_the_file_that_has_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let captures = folder.path().join("captures");
    fs::create_dir(&captures).expect("a folder");
    fs::write(captures.join("a.pcap"), "x").expect("a file");
    fs::write(folder.path().join("net.graphml"), "x").expect("a file");
    let toml = "[traffic]\nframe = \"replay:captures/a.pcap\"\n\
                [[switch]]\nindex = 0\nreplay = \"captures/a.pcap\"\n";
    let file = folder.path().join("probe.toml");
    let resolved = resolve_in(toml, &file).expect("a configuration");
    assert_eq!(resolved.config.traffic.frame, Frame::Replay(captures.join("a.pcap")));
    let replay = resolved.config.switches.overrides.first().and_then(|one| one.replay.clone());
    assert_eq!(replay, Some(captures.join("a.pcap")));

    fs::write(&file, toml).expect("a file");
    let mut settings = Settings::new();
    settings.read_file(&file);
    assert!(settings.resolve().is_ok(), "read from disk, it is the same");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let mut settings = Settings::new();
    settings.read_file(Path::new("no/such/probe.toml"));
    let error = settings.resolve().expect_err("no file").to_string();
    assert!(error.starts_with("no/such/probe.toml: cannot read the configuration: "), "{error}");
}

#[test]
fn a_peers_file_is_read_and_ranks_below() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ini = folder.path().join("config.ini");
    fs::write(&ini, "config.switchCount = 3\nswitchConfig.portCountPerSwitch = 7\n")
        .expect("a file");
    let mut settings = Settings::new();
    settings.read_legacy(&ini);
    settings.set("switches.ports", "9", Origin::Flag);
    let config = settings.resolve().expect("a configuration").config;
    assert_eq!((config.switches.count, config.switches.ports), (3, 9));

    fs::write(&ini, "config.switchCount = many\n").expect("a file");
    let mut settings = Settings::new();
    settings.read_legacy(&ini);
    let error = settings.resolve().expect_err("no number").to_string();
    assert!(error.contains("config.ini:1: "), "{error}");
}

#[test]
fn tls_is_on_if_anything_asks_for_it() {
    assert!(config("").tls.is_none());
    assert!(config("tls.insecure = true\n").tls.is_some_and(|tls| tls.insecure));
    assert!(config("tls.insecure = false\n").tls.is_none());
}

#[test]
fn unset_values_are_empty_text() {
    let toml = "[plan]\nbetween = \"\"\n[p4runtime]\np4info = \"\"\nadvertise = \"\"\n\
                [output]\ndirectory = \"\"\n";
    let config = config(toml);
    assert_eq!(config.plan.between, None);
    assert_eq!(config.p4runtime.p4info, None);
    assert_eq!(config.p4runtime.advertise, None);
    assert_eq!(config.output.directory, None);
}

#[test]
fn a_topology_that_fits_is_taken() {
    let toml = "[switches]\ntopology = \"leaf-spine:4\"\ncount = 12\nports = 9\n";
    assert_eq!(config(toml).topology, TopologySource::LeafSpine { spines: 4 });
    assert!(complaints(&toml.replace('9', "8")).contains("switches.ports"));
}

#[test]
fn resolved_values_name_every_key() {
    let values = resolve("[traffic]\nrate = \"1.5k\"\n").expect("a configuration").values();
    assert_eq!(values.get("traffic.rate").map(String::as_str), Some("1500"));
    assert_eq!(values.get("traffic.give-up").map(String::as_str), Some("1s"));
    assert_eq!(values.get("switch").map(String::as_str), Some(""));
}
