//! Checks that values which are valid by themselves are also valid together.
//!
//! Error messages are written with the keys of a TOML file. If a flag is the cause, the keys in the
//! message are replaced by flags.
//!
//! Every check lists the keys that it reads. The problem is reported for one of them that the user
//! set. A check reports nothing if one of its values was found to be invalid before.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::collection::Report;
use super::draft::{Draft, MAX_PORTS};
use super::rfc8456::Test;
use super::settings::traffic::MAX_OUTSTANDING;
use super::value::{InputFile, ModeName, PlanName, Value, duration_text};
use super::{FlowTables, Frame, Generator, Load, Matching, Protocol, TopologySource};
use crate::topology::{SwitchIndex, Topology, TopologyError, switches_described};

/// The maximum number of hosts, which have the addresses of 10.0.0.0/8 except the first and the
/// last.
const MAX_HOSTS: u64 = (1 << 24) - 2;

/// The maximum number of links of a generated topology, which bounds memory. It allows a hundred
/// links per switch in the largest run.
const MAX_LINKS: u64 = 10_000_000;

/// Runs every check, and reports the problems to `report`.
pub(super) fn check(draft: &Draft, report: &mut Report<'_>) {
    mode(draft, report);
    isolate(draft, report);
    frame(draft, report);
    hosts(draft, report);
    topology(draft, report);
    discovery_size(draft, report);
    discovery_time(draft, report);
    ids(draft, report);
    delays(draft, report);
    overrides(draft, report);
    plan(draft, report);
    p4runtime(draft, report);
    onos(draft, report);
    tls(draft, report);
    outputs(draft, report);
}

/// Returns the key whose value determines the largest number of switches that are emulated at a
/// time.
fn emulated_key(draft: &Draft) -> &'static str {
    match draft.most_emulated() > draft.most_switches() {
        true => "rfc8456.switches",
        false => count_key(draft),
    }
}

/// Returns the key whose value determines the number of switches.
fn count_key(draft: &Draft) -> &'static str {
    match draft.plan.kind {
        PlanName::Sweep if !draft.plan.switches.0.is_empty() => "plan.switches",
        _ => "switches.count",
    }
}

fn isolate(draft: &Draft, report: &mut Report<'_>) {
    let threads = draft.threads.0.unwrap_or_else(|| draft.automatic_threads());
    if draft.isolate && !crate::cores::leaves_a_core(threads) {
        report.conflict(
            &["isolate", "threads"],
            format!(
                "isolate with {threads} engine threads leaves no core for anything else on this host"
            ),
            "fewer threads, or isolate = false".to_owned(),
        );
    }
}

/// Checks that the traffic mode is compatible with the settings that depend on it.
fn mode(draft: &Draft, report: &mut Report<'_>) {
    let p4runtime = draft.protocol == Protocol::P4Runtime;
    if draft.traffic.mode == ModeName::Flood && p4runtime {
        report.conflict(
            &["traffic.mode", "protocol"],
            "flood needs OpenFlow, and protocol is p4runtime".to_owned(),
            "traffic.mode = \"closed\" with a large traffic.window, or another protocol".to_owned(),
        );
    }
    if draft.traffic.matching == Matching::Xid && p4runtime {
        report.conflict(
            &["traffic.matching", "protocol"],
            "xid needs OpenFlow, and protocol is p4runtime, which has no transaction ids"
                .to_owned(),
            "traffic.matching = \"auto\"".to_owned(),
        );
    }
    if draft.switches.flow_tables == FlowTables::Run {
        if p4runtime {
            report.conflict(
                &["switches.flow-tables", "protocol"],
                "run is about OpenFlow tables, and protocol is p4runtime".to_owned(),
                "switches.flow-tables = \"bypass\", or another protocol".to_owned(),
            );
        } else if draft.traffic.mode == ModeName::Flood {
            report.conflict(
                &["switches.flow-tables", "traffic.mode"],
                "a flood repeats prepared packet-ins, which pass no tables".to_owned(),
                "traffic.mode = \"closed\" with a large traffic.window, or \
                 switches.flow-tables = \"bypass\""
                    .to_owned(),
            );
        }
    }
    if draft.traffic.matching == Matching::Rule && p4runtime {
        report.conflict(
            &["traffic.matching", "protocol"],
            "rule looks for the flow-mod that a packet meets, and protocol is p4runtime".to_owned(),
            "traffic.matching = \"auto\", or another protocol".to_owned(),
        );
    }
    if draft.traffic.load != Load::PacketIn {
        let load = draft.traffic.load.text();
        if !p4runtime {
            report.conflict(
                &["traffic.load", "protocol"],
                format!("{load} needs P4Runtime, and protocol is {}", draft.protocol.text()),
                "protocol = \"p4runtime\", or traffic.load = \"packet-in\"".to_owned(),
            );
        } else if draft.traffic.matching != Matching::Auto {
            let answers = match draft.traffic.load {
                Load::IdleTimeout => "answers carry the key of their entry",
                Load::PacketIn | Load::Digest => "acknowledgements carry the id of their list",
            };
            report.conflict(
                &["traffic.matching", "traffic.load"],
                format!(
                    "{} ties packet-outs to packet-ins, and traffic.load is {load}, whose {answers}",
                    draft.traffic.matching.text()
                ),
                "traffic.matching = \"auto\"".to_owned(),
            );
        }
    }
    let outstanding = u64::from(draft.traffic.window) * u64::from(draft.most_switches());
    let limit = draft.traffic.outstanding_limit;
    if draft.traffic.mode == ModeName::Closed && outstanding > limit as u64 {
        report.conflict(
            &["traffic.window", "traffic.outstanding-limit", count_key(draft)],
            format!(
                "{} packet-ins at each of {} switches are {outstanding} unanswered ones, but only \
                 {limit} are remembered",
                draft.traffic.window,
                draft.most_switches()
            ),
            match outstanding <= MAX_OUTSTANDING as u64 {
                true => format!("traffic.outstanding-limit = {outstanding}, or a smaller window"),
                false => "a smaller window, or fewer switches".to_owned(),
            },
        );
    }
}

fn frame(draft: &Draft, report: &mut Report<'_>) {
    let bytes = draft.traffic.frame_bytes;
    if let Some(least) = draft.traffic.frame.least_bytes()
        && bytes < least
    {
        report.conflict(
            &["traffic.frame-bytes", "traffic.frame"],
            format!(
                "{bytes} bytes are too few for the headers and the id of a {} frame",
                draft.traffic.frame.text()
            ),
            format!("traffic.frame-bytes = {least} or more"),
        );
    }
}

/// Checks that there are enough addresses for all hosts, and enough hosts for the traffic.
fn hosts(draft: &Draft, report: &mut Report<'_>) {
    let per_switch = u64::from(draft.switches.hosts);
    let counts: &[&'static str] =
        &["switches.hosts", "switches.count", "plan.switches", "plan.kind"];
    let most = per_switch * u64::from(draft.most_emulated());
    if most > MAX_HOSTS {
        report.conflict(
            &["switches.hosts", emulated_key(draft), "plan.kind"],
            format!("{most} hosts are more than 10.0.0.0/8 has addresses, {MAX_HOSTS}"),
            format!(
                "switches.hosts = {} or less",
                MAX_HOSTS / u64::from(draft.most_emulated().max(1))
            ),
        );
    }
    let traffic = &draft.traffic;
    if matches!(traffic.frame, Frame::Replay(_))
        || per_switch * u64::from(draft.least_switches()) >= 2
    {
        return;
    }
    let users = [
        ("traffic.known-destinations = true", traffic.known_destinations),
        ("traffic.mac = hosts", traffic.mac == Generator::Hosts),
        ("traffic.ip = hosts", traffic.ip == Generator::Hosts),
        ("traffic.port = hosts", traffic.port == Generator::Hosts),
    ];
    if let Some((user, _)) = users.iter().find(|(_, used)| *used) {
        let keys = ["traffic.known-destinations", "traffic.mac", "traffic.ip", "traffic.port"];
        report.conflict(
            &[counts, &keys].concat(),
            format!("traffic from host to host ({user}) needs at least two hosts"),
            "switches.hosts = 2".to_owned(),
        );
    }
}

/// Checks that the topology can be built for each number of switches in the plan.
fn topology(draft: &Draft, report: &mut Report<'_>) {
    if draft.switches.topology == TopologySource::None {
        return;
    }
    let keys = &["switches.topology", "switches.ports", count_key(draft)];
    if let Some(message) = too_many_links(&draft.switches.topology, draft.most_switches()) {
        report.conflict(keys, message, "fewer spines or fewer switches".to_owned());
        return;
    }
    let ports = draft.ports();
    for count in [draft.most_switches(), draft.least_switches()] {
        let message = match Topology::build(&draft.switches.topology, count, ports) {
            Err(error @ TopologyError::TooFewNodes { .. }) => {
                format!("{error}; lower {}", count_key(draft))
            }
            Err(error) => error.to_string(),
            Ok(topology) => match switch_without_host_port(&topology, count) {
                None => continue,
                Some(switch) => format!(
                    "all {} ports of switch {} (counted from 1) carry links and none is left for \
                     hosts; raise switches.ports",
                    ports,
                    u64::from(switch) + 1
                ),
            },
        };
        report.conflict_without_remedy(keys, message);
        return;
    }
}

/// Describes the problem if a generated topology of this many switches has too many links. Returns
/// `None` if it has not.
fn too_many_links(topology: &TopologySource, switches: u32) -> Option<String> {
    let TopologySource::LeafSpine { spines } = topology else { return None };
    let leaves = switches.saturating_sub(*spines);
    let links = u64::from(*spines) * u64::from(leaves);
    (links > MAX_LINKS).then(|| {
        format!(
            "{spines} spines and {leaves} leaves have {links} links; the maximum is {MAX_LINKS}"
        )
    })
}

/// Checks that the largest network in the search for the network discovery size (RFC 8456, section
/// 5.2.2) can be built. Otherwise the run would fail after its other tests.
fn discovery_size(draft: &Draft, report: &mut Report<'_>) {
    match draft.plan.kind {
        PlanName::Rfc8456(tests) if tests.contains(Test::DiscoverySize) => {}
        _ => return,
    }
    let keys = &["rfc8456.switches", "switches.topology", "plan.kind"];
    let (topology, most) = (draft.topology(), draft.rfc8456.switches);
    if let Some(message) = too_many_links(&topology, most) {
        let remedy = "fewer spines or a smaller rfc8456.switches".to_owned();
        return report.conflict(keys, message, remedy);
    }
    let largest = switches_described(&topology, most)
        .and_then(|count| Topology::build(&topology, count, MAX_PORTS - 1));
    let reason = match largest {
        Ok(_) => return,
        // The switches of this test have exactly the ports that their links and hosts need.
        Err(TopologyError::TooFewPorts { switch, needed, .. }) => format!(
            "switch {} (counted from 1) would need {needed} ports for its links, and one for hosts; \
             the maximum is {MAX_PORTS}; lower rfc8456.switches",
            u64::from(switch.0) + 1
        ),
        Err(error) => error.to_string(),
    };
    let message = format!("the largest network of 5.2.2 cannot be built: {reason}");
    report.conflict_without_remedy(keys, message);
}

/// Reports a conflict if the connection rate is limited and the test of the network topology
/// discovery time (RFC 8456, section 5.1.1) is planned. The measured time would include the delays
/// that the limit causes.
fn discovery_time(draft: &Draft, report: &mut Report<'_>) {
    let measures = |kind| match kind {
        PlanName::Rfc8456(tests) => tests.contains(Test::TopologyDiscoveryTime),
        PlanName::Point | PlanName::Sweep | PlanName::Search => false,
    };
    if measures(draft.plan.kind) && report.is_given("switches.connect-rate") {
        report.conflict(
            &["switches.connect-rate", "plan.kind"],
            "5.1.1 opens all connections at once, because its time includes them".to_owned(),
            "a plan without 5.1.1, or no switches.connect-rate".to_owned(),
        );
    }
}

fn switch_without_host_port(topology: &Topology, count: u32) -> Option<u32> {
    (0..count).find(|switch| topology.free_ports(SwitchIndex(*switch)).next().is_none())
}

fn ids(draft: &Draft, report: &mut Report<'_>) {
    let keys: &[&'static str] = &["switches.first-id", "protocol", emulated_key(draft)];
    let first = draft.switches.first_id;
    if first.checked_add(u64::from(draft.most_emulated()).saturating_sub(1)).is_none() {
        report.conflict(
            keys,
            format!("ids that count up from {first} do not fit in 64 bits"),
            "a smaller id".to_owned(),
        );
    }
    if first == 0 && draft.protocol == Protocol::P4Runtime {
        report.conflict(
            keys,
            "P4Runtime has no device id 0".to_owned(),
            "switches.first-id = 1".to_owned(),
        );
    }
}

/// Checks that every switch begins to send before the traffic ends, and that samples are frequent
/// enough.
fn delays(draft: &Draft, report: &mut Report<'_>) {
    let timing = &draft.timing;
    let traffic = timing.traffic();
    let last = draft.most_switches().saturating_sub(1);
    let latest = timing.start_stagger.saturating_mul(last);
    if latest >= traffic && latest > Duration::ZERO {
        report.conflict(
            &["timing.start-stagger", "timing.measure", "timing.warm-up"],
            format!(
                "the last switch would begin after {}, and the traffic lasts {}",
                duration_text(latest),
                duration_text(traffic)
            ),
            "a smaller timing.start-stagger or a longer timing.measure".to_owned(),
        );
    }
    if timing.sample > timing.measure {
        report.conflict(
            &["timing.sample", "timing.measure"],
            format!(
                "samples every {} leave none in the {} that are measured",
                duration_text(timing.sample),
                duration_text(timing.measure)
            ),
            format!("timing.sample = \"{}\" or less", duration_text(timing.measure)),
        );
    }
}

/// Checks that overrides for single switches apply to switches that exist, and leave these switches
/// time to send.
fn overrides(draft: &Draft, report: &mut Report<'_>) {
    let count = draft.most_switches();
    let traffic = draft.timing.traffic();
    for (index, one) in draft.switches.overrides.0.iter().enumerate() {
        if one.last >= count {
            report.conflict_at(
                "switch",
                index,
                &[count_key(draft), "plan.kind"],
                format!("there is no switch {}: {count} are counted from 0", one.last),
                format!("an index up to {}", count.saturating_sub(1)),
            );
        }
        let start = one
            .start_delay
            .unwrap_or_default()
            .saturating_add(draft.timing.start_stagger.saturating_mul(one.last));
        let stop = one.stop_delay.unwrap_or_default();
        let delayed = one.start_delay.is_some() || one.stop_delay.is_some();
        if delayed && start.saturating_add(stop) >= traffic {
            report.conflict_at(
                "switch",
                index,
                &["timing.warm-up", "timing.measure", "timing.start-stagger"],
                format!(
                    "a start after {} and an end {} before the end leave nothing of the {} of \
                     traffic",
                    duration_text(start),
                    duration_text(stop),
                    duration_text(traffic)
                ),
                "shorter delays or a longer timing.measure".to_owned(),
            );
        }
    }
}

/// Checks that the settings of the plan are compatible with each other.
fn plan(draft: &Draft, report: &mut Report<'_>) {
    let plan = &draft.plan;
    let open = draft.traffic.mode == ModeName::Open;
    if plan.kind == PlanName::Point {
        total_of_a_point(draft, report);
    }
    if plan.kind == PlanName::Sweep {
        let (rates, total) = (!plan.rates.0.is_empty(), !plan.total_rates.0.is_empty());
        if rates && total {
            report.conflict(
                &["plan.total-rates", "plan.rates"],
                "rates are of each switch or of all together, not both".to_owned(),
                "one of plan.rates and plan.total-rates".to_owned(),
            );
        }
        if !rates && !total && plan.switches.0.is_empty() {
            report.conflict(
                &["plan.kind", "plan.rates", "plan.total-rates", "plan.switches"],
                "a sweep needs something to vary".to_owned(),
                "plan.rates = \"100..1000:100\", plan.switches = \"1,16,64\" or both".to_owned(),
            );
        }
        if total && draft.sweep_rates().per_switch(draft.most_switches()).any(|rate| rate < 0.001) {
            report.conflict(
                &["plan.total-rates", count_key(draft)],
                "leaves a switch less than 0.001 packet-ins per second".to_owned(),
                "a higher rate, or fewer switches".to_owned(),
            );
        }
        if (rates || total) && !open {
            let key = if rates { "plan.rates" } else { "plan.total-rates" };
            report.conflict(
                &[key, "traffic.mode", "plan.kind"],
                format!(
                    "rates can be set in open mode only, and traffic.mode is {}",
                    draft.traffic.mode.text()
                ),
                "traffic.mode = \"open\", or plan.switches alone".to_owned(),
            );
        }
    }
    if plan.kind == PlanName::Search {
        if !open {
            report.conflict(
                &["plan.kind", "traffic.mode"],
                format!(
                    "a search varies the rate, and traffic.mode {} has none",
                    draft.traffic.mode.text()
                ),
                "traffic.mode = \"open\"".to_owned(),
            );
        }
        if plan.low >= plan.high {
            report.conflict(
                &["plan.low", "plan.high"],
                format!("the lowest rate, {}, is not below the highest, {}", plan.low, plan.high),
                "plan.low below plan.high".to_owned(),
            );
        }
    }
    // Values that the plan ignores are an oversight of the user, unless the plan was chosen
    // explicitly: a flag may replace the plan of a file that contains such values.
    if report.is_given("plan.kind") {
        return;
    }
    let sweep = ["plan.rates", "plan.switches"].map(|key| (key, "sweep"));
    let search = ["plan.low", "plan.high", "plan.precision", "plan.rough", "plan.loss"]
        .map(|key| (key, "search"));
    for (key, kind) in sweep.into_iter().chain(search) {
        if report.is_given(key) {
            report.conflict(
                &[key],
                "is given, but plan.kind is point, which does not use it".to_owned(),
                format!("plan.kind = \"{kind}\""),
            );
        }
    }
}

/// Checks the total rate if the plan consists of a single point.
fn total_of_a_point(draft: &Draft, report: &mut Report<'_>) {
    const KEY: &str = "plan.total-rates";
    let total = &draft.plan.total_rates.0;
    if total.is_empty() {
        return;
    }
    if total.len() > 1 {
        report.conflict(
            &[KEY, "plan.kind"],
            format!("a point has one rate, and these are {}", total.len()),
            "one rate, or plan.kind = \"sweep\"".to_owned(),
        );
    }
    if draft.traffic.mode != ModeName::Open {
        report.conflict(
            &[KEY, "traffic.mode"],
            format!(
                "rates can be set in open mode only, and traffic.mode is {}",
                draft.traffic.mode.text()
            ),
            "traffic.mode = \"open\", or no rate".to_owned(),
        );
    }
    if report.is_given("traffic.rate") {
        report.conflict(
            &[KEY, "traffic.rate"],
            "the rate is of each switch or of all together, not both".to_owned(),
            "one of traffic.rate and plan.total-rates".to_owned(),
        );
    }
    if draft.rate() < 0.001 {
        report.conflict(
            &[KEY, count_key(draft)],
            "leaves a switch less than 0.001 packet-ins per second".to_owned(),
            "a higher rate, or fewer switches".to_owned(),
        );
    }
}

/// Checks the settings of P4Runtime.
fn p4runtime(draft: &Draft, report: &mut Report<'_>) {
    let own = &draft.p4runtime;
    if own.device_config.0.is_some() && own.p4info.0.is_none() {
        report.conflict(
            &["p4runtime.device-config", "p4runtime.p4info"],
            "a device configuration means nothing without its P4Info".to_owned(),
            "p4runtime.p4info = \"FILE\" as well".to_owned(),
        );
    }
    if own.cookie != 0 && own.p4info.0.is_none() {
        report.conflict(
            &["p4runtime.cookie", "p4runtime.p4info"],
            "a cookie means nothing without its P4Info".to_owned(),
            "p4runtime.p4info = \"FILE\" as well".to_owned(),
        );
    }
    if own.same_device_id && draft.protocol != Protocol::P4Runtime {
        report.conflict(
            &["p4runtime.same-device-id", "protocol"],
            "OpenFlow switches are told apart by their datapath ids alone".to_owned(),
            "p4runtime.same-device-id = false".to_owned(),
        );
    }
    if draft.protocol != Protocol::P4Runtime {
        return;
    }
    if own.same_device_id && own.devices_per_port > 1 {
        report.conflict(
            &["p4runtime.same-device-id", "p4runtime.devices-per-port"],
            format!(
                "the {} devices behind a port are told apart by their device ids",
                own.devices_per_port
            ),
            "p4runtime.devices-per-port = 1".to_owned(),
        );
    }
    let servers = draft.most_emulated().div_ceil(own.devices_per_port.max(1));
    let last = u64::from(own.first_port) + u64::from(servers).saturating_sub(1);
    if last > u64::from(u16::MAX) {
        let room = u32::from(u16::MAX - own.first_port) + 1;
        report.conflict(
            &["p4runtime.first-port", "p4runtime.devices-per-port", emulated_key(draft)],
            format!(
                "{servers} servers from port {} on need ports up to {last}, beyond 65535",
                own.first_port
            ),
            match u64::from(u16::MAX).checked_sub(u64::from(servers) - 1) {
                Some(first) if first >= 1024 => format!("p4runtime.first-port = {first} or less"),
                _ => format!(
                    "p4runtime.devices-per-port = {} or more",
                    draft.most_emulated().div_ceil(room)
                ),
            },
        );
    }
    let advertised = own.advertise.0.unwrap_or(own.listen.0);
    let tells = draft.controller.onos_rest.0.is_some()
        || draft.controller.netcfg_file.0.is_some()
        || draft.controller.list_file.0.is_some();
    if advertised.is_unspecified() && (tells || own.advertise.0.is_some()) {
        report.conflict(
            &["p4runtime.advertise", "p4runtime.listen"],
            format!("{advertised} is not an address that a controller can dial"),
            "p4runtime.advertise = \"ADDRESS\", one of this host's own".to_owned(),
        );
    }
}

fn onos(draft: &Draft, report: &mut Report<'_>) {
    if draft.controller.onos_forget && draft.controller.onos_rest.0.is_none() {
        report.conflict(
            &["controller.onos-forget", "controller.onos-rest"],
            "ONOS is told to forget the switches over its REST interface, which is not named"
                .to_owned(),
            "controller.onos-rest = \"http://127.0.0.1:8181\" as well".to_owned(),
        );
    }
}

/// Checks the settings of TLS.
fn tls(draft: &Draft, report: &mut Report<'_>) {
    let tls = &draft.tls;
    match (&tls.certificate.0, &tls.key.0) {
        (Some(_), None) => report.conflict(
            &["tls.certificate", "tls.key"],
            "a certificate needs its private key".to_owned(),
            "tls.key = \"FILE\" as well".to_owned(),
        ),
        (None, Some(_)) => report.conflict(
            &["tls.key", "tls.certificate"],
            "a private key needs its certificate".to_owned(),
            "tls.certificate = \"FILE\" as well".to_owned(),
        ),
        _ => {}
    }
    if tls.server_name.0.is_some() && !tls.wanted() {
        report.conflict(
            &["tls.server-name"],
            "a name to expect means nothing without TLS".to_owned(),
            "tls.ca = \"FILE\" as well".to_owned(),
        );
    }
    if !tls.wanted() {
        return;
    }
    if draft.protocol == Protocol::P4Runtime {
        if tls.certificate.0.is_none() && tls.key.0.is_none() {
            report.conflict(
                &["tls.ca", "tls.insecure", "tls.certificate", "tls.key", "protocol"],
                "P4Runtime switches are TLS servers, which need a certificate".to_owned(),
                "tls.certificate = \"FILE\" and tls.key = \"FILE\"".to_owned(),
            );
        }
        if tls.insecure {
            report.conflict(
                &["tls.insecure", "protocol"],
                "P4Runtime switches check the controller's certificate only if tls.ca is given"
                    .to_owned(),
                "tls.insecure = false".to_owned(),
            );
        }
    } else {
        if tls.ca.0.is_none() && !tls.insecure {
            report.conflict(
                &["tls.certificate", "tls.key", "tls.ca", "tls.insecure", "protocol"],
                "OpenFlow switches have nothing to check the controller's certificate against"
                    .to_owned(),
                "tls.ca = \"FILE\", or tls.insecure = true".to_owned(),
            );
        }
        if tls.ca.0.is_some() && tls.insecure {
            report.conflict(
                &["tls.insecure", "tls.ca"],
                "any certificate is accepted, so that tls.ca has no effect".to_owned(),
                "one of the two".to_owned(),
            );
        }
    }
}

/// Checks that no output file replaces an input file or another output file.
fn outputs(draft: &Draft, report: &mut Report<'_>) {
    let written: [(&'static str, &Option<PathBuf>); 3] = [
        ("controller.faucet-file", &draft.controller.faucet_file.0),
        ("controller.netcfg-file", &draft.controller.netcfg_file.0),
        ("controller.list-file", &draft.controller.list_file.0),
    ];
    let read: [(&'static str, &InputFile); 5] = [
        ("p4runtime.p4info", &draft.p4runtime.p4info),
        ("p4runtime.device-config", &draft.p4runtime.device_config),
        ("tls.ca", &draft.tls.ca),
        ("tls.certificate", &draft.tls.certificate),
        ("tls.key", &draft.tls.key),
    ];
    let read: Vec<(&'static str, &Path)> =
        read.iter().filter_map(|(key, file)| Some((*key, file.0.as_deref()?))).collect();
    for (at, (key, path)) in written.iter().enumerate() {
        let Some(path) = path.as_deref() else { continue };
        let earlier =
            written.iter().take(at).filter_map(|(key, path)| Some((*key, path.as_deref()?)));
        if let Some((other, _)) = earlier.chain(read.iter().copied()).find(|(_, own)| *own == path)
        {
            report.conflict(
                &[key, other],
                format!("would be written over {other}, which names the same file"),
                "another name".to_owned(),
            );
        }
    }
}
