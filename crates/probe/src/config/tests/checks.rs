//! Tests of every check for conflicting values. Each compares the error message, and shows a
//! similar configuration that is valid.

use std::fs;

use super::{complaints, config, resolve_in};
use crate::config::{Origin, Settings};

/// Asserts that a TOML text has exactly one problem, whose message is `message`.
#[track_caller]
fn refused(toml: &str, message: &str) {
    assert_eq!(complaints(toml), message);
}

#[test]
fn flood_needs_openflow() {
    refused(
        "protocol = \"p4rt\"\ntraffic.mode = \"flood\"\n",
        "probe.toml:2: traffic.mode: flood needs OpenFlow, and protocol is p4runtime; write \
         traffic.mode = \"closed\" with a large traffic.window, or another protocol",
    );
    config("protocol = \"of10\"\ntraffic.mode = \"flood\"\n");
}

#[test]
fn transaction_ids_need_openflow() {
    refused(
        "protocol = \"p4rt\"\ntraffic.matching = \"xid\"\n",
        "probe.toml:2: traffic.matching: xid needs OpenFlow, and protocol is p4runtime, which has \
         no transaction ids; write traffic.matching = \"auto\"",
    );
    config("traffic.matching = \"xid\"\n");
}

#[test]
fn digests_need_p4runtime_and_are_tied_by_their_lists() {
    refused(
        "protocol = \"of10\"\ntraffic.load = \"digest\"\n",
        "probe.toml:2: traffic.load: digest needs P4Runtime, and protocol is openflow10; write \
         protocol = \"p4runtime\", or traffic.load = \"packet-in\"",
    );
    refused(
        "protocol = \"p4rt\"\ntraffic.load = \"digest\"\ntraffic.matching = \"order\"\n",
        "probe.toml:3: traffic.matching: order ties packet-outs to packet-ins, and traffic.load is \
         digest, whose acknowledgements carry the id of their list; write traffic.matching = \
         \"auto\"",
    );
    config("protocol = \"p4rt\"\ntraffic.load = \"digest\"\n");
}

#[test]
fn idle_timeouts_need_p4runtime_and_are_tied_by_their_keys() {
    refused(
        "traffic.load = \"idle-timeout\"\n",
        "probe.toml:1: traffic.load: idle-timeout needs P4Runtime, and protocol is openflow13; write \
         protocol = \"p4runtime\", or traffic.load = \"packet-in\"",
    );
    refused(
        "protocol = \"p4rt\"\ntraffic.load = \"idle-timeout\"\ntraffic.matching = \"payload\"\n",
        "probe.toml:3: traffic.matching: payload ties packet-outs to packet-ins, and traffic.load is \
         idle-timeout, whose answers carry the key of their entry; write traffic.matching = \
         \"auto\"",
    );
    config("protocol = \"p4rt\"\ntraffic.load = \"idle-timeout\"\np4runtime.idle-table = \"t\"\n");
}

#[test]
fn tables_that_run_are_those_of_openflow_and_pass_single_packets() {
    refused(
        "protocol = \"p4rt\"\nswitches.flow-tables = \"run\"\n",
        "probe.toml:2: switches.flow-tables: run is about OpenFlow tables, and protocol is \
         p4runtime; write switches.flow-tables = \"bypass\", or another protocol",
    );
    refused(
        "traffic.mode = \"flood\"\nswitches.flow-tables = \"run\"\n",
        "probe.toml:2: switches.flow-tables: a flood repeats prepared packet-ins, which pass no \
         tables; write traffic.mode = \"closed\" with a large traffic.window, or \
         switches.flow-tables = \"bypass\"",
    );
    config("protocol = \"of10\"\nswitches.flow-tables = \"run\"\n");
}

#[test]
fn rules_are_answers_of_openflow_controllers_whether_packets_pass_the_tables_or_not() {
    refused(
        "protocol = \"p4rt\"\ntraffic.matching = \"rule\"\n",
        "probe.toml:2: traffic.matching: rule looks for the flow-mod that a packet meets, and \
         protocol is p4runtime; write traffic.matching = \"auto\", or another protocol",
    );
    config("traffic.matching = \"rule\"\n");
    config("traffic.matching = \"rule\"\nswitches.flow-tables = \"run\"\n");
}

#[test]
fn every_host_has_a_port_unless_there_are_many_or_ports_are_given() {
    let ports = |text: &str| config(text).switches.ports;
    assert_eq!(ports(""), 4);
    // An inner switch of a binary tree has three links, and two hosts.
    assert_eq!(ports("switches.topology = \"tree:2\"\n"), 5);
    assert_eq!(ports("switches.topology = \"linear\"\nswitches.hosts = 7\n"), 9);
    assert_eq!(ports("switches.topology = \"leaf-spine:2\"\nswitches.count = 10\n"), 10);
    assert_eq!(ports("switches.hosts = 5000\n"), 16);
    assert_eq!(ports("switches.hosts = 5000\nswitches.ports = 3\n"), 3);
    let sweep =
        "switches.topology = \"leaf-spine:2\"\nplan.kind = \"sweep\"\nplan.switches = \"5,30\"\n";
    assert_eq!(ports(sweep), 30);
}

#[test]
fn p4runtime_switches_are_waited_for_longer() {
    let patience = |text: &str| config(text).timing.connect_timeout.as_secs();
    assert_eq!(patience(""), 10);
    // ONOS dials a known device after 12 to 50 s.
    assert_eq!(patience("protocol = \"p4rt\"\n"), 60);
    assert_eq!(patience("protocol = \"p4rt\"\ntiming.connect-timeout = \"3s\"\n"), 3);
}

#[test]
fn devices_with_one_id_need_a_port_each() {
    refused(
        "protocol = \"p4rt\"\n[p4runtime]\nsame-device-id = true\ndevices-per-port = 5\n",
        "probe.toml:3: p4runtime.same-device-id: the 5 devices behind a port are told apart by their \
         device ids; write p4runtime.devices-per-port = 1",
    );
    refused(
        "p4runtime.same-device-id = true\n",
        "probe.toml:1: p4runtime.same-device-id: OpenFlow switches are told apart by their datapath \
         ids alone; write p4runtime.same-device-id = false",
    );
    let same = config("protocol = \"p4rt\"\np4runtime.same-device-id = true\nswitches.count = 3\n");
    let addresses = crate::device_addresses(&same);
    let ids: Vec<_> = addresses.iter().map(|a| (a.device_id, a.number)).collect();
    assert_eq!(ids, [(1, 1), (1, 2), (1, 3)]);
    let first = addresses[0].listen.port();
    assert_eq!(addresses[2].listen.port(), first + 2);
}

#[test]
fn a_closed_loop_remembers_all_that_it_waits_for() {
    refused(
        "[traffic]\nmode = \"closed\"\nwindow = 100000\n",
        "probe.toml:3: traffic.window: 100000 packet-ins at each of 16 switches are 1600000 \
         unanswered ones, but only 1000000 are remembered; write traffic.outstanding-limit = \
         1600000, or a smaller window",
    );
    config("[traffic]\nmode = \"closed\"\nwindow = 100000\noutstanding-limit = 1600000\n");
    config("[traffic]\nmode = \"open\"\nwindow = 100000\n");
}

#[test]
fn values_that_a_message_recommends_are_accepted() {
    // The time to measure must be at least as long as the spacing of samples.
    refused(
        "timing.measure = \"10ms\"\n",
        "probe.toml:1: timing.measure: samples every 200ms leave none in the 10ms that are \
         measured; write timing.sample = \"10ms\" or less",
    );
    config("timing.measure = \"10ms\"\ntiming.sample = \"10ms\"\n");
    refused(
        "timing.measure = \"1ms\"\n",
        "probe.toml:1: timing.measure: 1ms is below the minimum, 10ms; write for instance measure = \
         \"1m\"",
    );
    // The window times the number of switches may reach the limit of remembered packet-ins.
    let closed = |window: u32| {
        format!("switches.count = 2000\n[traffic]\nmode = \"closed\"\nwindow = {window}\n")
    };
    refused(
        &closed(1_000_000),
        "probe.toml:4: traffic.window: 1000000 packet-ins at each of 2000 switches are 2000000000 \
         unanswered ones, but only 1000000 are remembered; write a smaller window, or fewer switches",
    );
    config(&format!("{}outstanding-limit = 1000000000\n", closed(500_000)));
}

#[test]
fn a_closed_loop_needs_a_window() {
    refused(
        "[traffic]\nmode = \"closed\"\nwindow = 0\n",
        "probe.toml:3: traffic.window: 0 is below the minimum, 1; write for instance window = 100",
    );
}

#[test]
fn frames_hold_their_headers_and_an_id() {
    refused(
        "traffic.frame-bytes = 65\n",
        "probe.toml:1: traffic.frame-bytes: 65 bytes are too few for the headers and the id of a \
         tcp-syn frame; write traffic.frame-bytes = 66 or more",
    );
    config("traffic.frame-bytes = 66\n");
    config("traffic.frame-bytes = 60\ntraffic.frame = \"udp\"\n");
    refused(
        "traffic.frame-bytes = 59\n",
        "probe.toml:1: traffic.frame-bytes: 59 is below the minimum, 60; write for instance frame-bytes = \
         1508",
    );
}

#[test]
fn hosts_fit_in_their_network() {
    refused(
        "[switches]\nhosts = 10000\ncount = 2000\n",
        "probe.toml:2: switches.hosts: 20000000 hosts are more than 10.0.0.0/8 has addresses, \
         16777214; write switches.hosts = 8388 or less",
    );
}

#[test]
fn traffic_between_hosts_needs_two() {
    let what = "traffic from host to host";
    refused(
        "switches.hosts = 0\n",
        &format!(
            "probe.toml:1: switches.hosts: {what} (traffic.known-destinations = true) needs at \
             least two hosts; write switches.hosts = 2"
        ),
    );
    let random = "[traffic]\nknown-destinations = false\nmac = \"random\"\n";
    refused(
        &format!("switches = {{ hosts = 1, count = 1 }}\n{random}"),
        &format!(
            "probe.toml:1: switches.hosts: {what} (traffic.ip = hosts) needs at least two hosts; \
             write switches.hosts = 2"
        ),
    );
    config(&format!("switches.hosts = 0\n{random}ip = \"serial\"\n"));
    // A sweep is checked with its smallest network.
    let sweep = "plan = { kind = \"sweep\", switches = \"1,2\" }\n";
    assert!(complaints(&format!("switches.hosts = 1\n{sweep}")).contains("two hosts"));
}

#[test]
fn topologies_leave_a_port_for_hosts() {
    refused(
        "[switches]\ntopology = \"linear\"\nports = 2\n",
        "probe.toml:2: switches.topology: all 2 ports of switch 2 (counted from 1) carry links and \
         none is left for hosts; raise switches.ports",
    );
    config("[switches]\ntopology = \"linear\"\nports = 3\n");
    let message = complaints("switches.topology = \"leaf-spine:16\"\n");
    assert!(
        message.starts_with("probe.toml:1: switches.topology: a leaf-spine of 16 spines"),
        "{message}"
    );
    let message = complaints("switches.topology = \"tree:5\"\nswitches.ports = 4\n");
    assert!(
        message.ends_with("needs 6 ports for its links but has 4; raise switches.ports"),
        "{message}"
    );
}

#[test]
fn topologies_fit_in_memory() {
    refused(
        "[switches]\ntopology = \"leaf-spine:30000\"\ncount = 90000\nports = 60001\n",
        "probe.toml:2: switches.topology: 30000 spines and 60000 leaves have 1800000000 links; \
         the maximum is 10000000; write fewer spines or fewer switches",
    );
}

#[test]
fn a_file_has_as_many_nodes_as_there_are_switches() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let graph = "<graphml><graph edgedefault='undirected'><node id='a'/><node id='b'/>\
                 <edge source='a' target='b'/></graph></graphml>";
    fs::write(folder.path().join("two.graphml"), graph).expect("a file");
    let resolve = |toml: &str| {
        let toml = format!("switches.topology = \"graphml:two.graphml\"\n{toml}");
        resolve_in(&toml, &folder.path().join("probe.toml")).map(drop)
    };
    let error = resolve("switches.count = 3\n").expect_err("too few");
    assert!(error.ends_with("too few for 3 switches; lower switches.count"), "{error}");
    let sweep = "plan = { kind = \"sweep\", switches = \"1,3\" }\n";
    let error = resolve(sweep).expect_err("too few");
    assert!(error.ends_with("too few for 3 switches; lower plan.switches"), "{error}");
    // The search for the discovery size ends with the file.
    resolve("switches.count = 2\nplan.kind = \"rfc8456:5.2.2\"\n").expect("valid");
}

#[test]
fn the_largest_network_of_a_search_is_checked_before_the_run() {
    let plan = "plan.kind = \"rfc8456:5.1.1,5.2.2\"\n";
    refused(
        &format!("{plan}rfc8456.switches = 2\n"),
        "probe.toml:2: rfc8456.switches: the largest network of 5.2.2 cannot be built: a leaf-spine \
         of 2 spines needs at least 1 spine and 3 switches, not 2",
    );
    refused(
        &format!(
            "{plan}rfc8456.switches = 90000\nswitches.topology = \"leaf-spine:2000\"\n\
                  switches.count = 2001\nswitches.ports = 3000\n"
        ),
        "probe.toml:2: rfc8456.switches: 2000 spines and 88000 leaves have 176000000 links; the \
         maximum is 10000000; write fewer spines or a smaller rfc8456.switches",
    );
    refused(
        &format!("{plan}rfc8456.switches = 70000\n"),
        "probe.toml:2: rfc8456.switches: the largest network of 5.2.2 cannot be built: switch 1 \
         (counted from 1) would need 69998 ports for its links, and one for hosts; the maximum is \
         65279; lower rfc8456.switches",
    );
    let sessions = "plan.kind = \"rfc8456:5.2.1\"\n";
    refused(
        &format!("{sessions}rfc8456.switches = 100000\nswitches.hosts = 1000\n"),
        "probe.toml:3: switches.hosts: 100000000 hosts are more than 10.0.0.0/8 has addresses, \
         16777214; write switches.hosts = 167 or less",
    );
    let message = complaints(&format!(
        "{plan}protocol = \"p4rt\"\np4runtime.first-port = 60000\nrfc8456.switches = 10000\n"
    ));
    assert!(message.contains("10000 servers from port 60000 on"), "{message}");
    // No other test searches for a number of switches.
    config("plan.kind = \"rfc8456:5.1\"\nrfc8456.switches = 2\n");
}

#[test]
fn no_rate_of_connections_is_a_part_of_the_discovery_time() {
    refused(
        "plan.kind = \"rfc8456\"\nswitches.connect-rate = 50\n",
        "probe.toml:2: switches.connect-rate: 5.1.1 opens all connections at once, because its time \
         includes them; write a plan without 5.1.1, or no switches.connect-rate",
    );
    config("plan.kind = \"rfc8456:5.1.4,5.2\"\nswitches.connect-rate = 50\n");
}

#[test]
fn topology_files_are_read_before_the_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("links.ini"), "1:1==2:1\nnonsense\n").expect("a file");
    let toml = "switches.topology = \"links:links.ini\"\n";
    let error = resolve_in(toml, &folder.path().join("probe.toml")).expect_err("nonsense");
    assert!(
        error.contains("probe.toml:1: switches.topology: ") && error.contains("links.ini:2: "),
        "{error}"
    );
}

#[test]
fn ids_fit_in_64_bits() {
    refused(
        "switches.first-id = \"0xfffffffffffffff8\"\n",
        "probe.toml:1: switches.first-id: ids that count up from 18446744073709551608 do not fit \
         in 64 bits; write a smaller id",
    );
    config("switches.first-id = \"0xfffffffffffffff0\"\n");
    refused(
        "protocol = \"p4rt\"\nswitches.first-id = 0\n",
        "probe.toml:2: switches.first-id: P4Runtime has no device id 0; write \
         switches.first-id = 1",
    );
    config("switches.first-id = 0\n");
}

#[test]
fn the_last_switch_begins_before_the_end() {
    refused(
        "timing.start-stagger = \"1s\"\n",
        "probe.toml:1: timing.start-stagger: the last switch would begin after 15s, and the \
         traffic lasts 12s; write a smaller timing.start-stagger or a longer timing.measure",
    );
    config("timing.start-stagger = \"700ms\"\n");
}

#[test]
fn a_trial_without_a_sample_is_refused() {
    refused(
        "timing.measure = \"100ms\"\n",
        "probe.toml:1: timing.measure: samples every 200ms leave none in the 100ms that are \
         measured; write timing.sample = \"100ms\" or less",
    );
    config("timing = { measure = \"100ms\", sample = \"100ms\" }\n");
}

#[test]
fn a_trial_that_measures_for_no_time_is_refused() {
    refused(
        "timing.measure = \"0s\"\n",
        "probe.toml:1: timing.measure: 0s is below the minimum, 10ms; write for instance measure = \
         \"1m\"",
    );
}

#[test]
fn rates_outside_their_range_are_refused() {
    refused(
        "traffic.rate = 0\n",
        "probe.toml:1: traffic.rate: 0 is below the minimum, 0.001; write for instance rate = \
         \"1.5k\"",
    );
    refused(
        "traffic.rate = 1000000000\n",
        "probe.toml:1: traffic.rate: 1000M is above the maximum, 100M; write for instance rate = \
         \"1.5k\"",
    );
}

#[test]
fn overrides_name_switches_that_exist() {
    refused(
        "[[switch]]\nindex = 0\nrate = 5\n\n[[switch]]\nindex = \"10-16\"\nrate = 5\n",
        "probe.toml:5: switch: there is no switch 16: 16 are counted from 0; write an index up \
         to 15",
    );
    config("[[switch]]\nindex = \"10-15\"\nrate = 5\n");
    config("[[switch]]\nindex = 16\nrate = 5\n[plan]\nkind = \"sweep\"\nswitches = \"8,17\"\n");
}

#[test]
fn delays_leave_time_for_traffic() {
    refused(
        "[[switch]]\nindex = 0\nstart-delay = \"8s\"\nstop-delay = \"4s\"\n",
        "probe.toml:1: switch: a start after 8s and an end 4s before the end leave nothing of the \
         12s of traffic; write shorter delays or a longer timing.measure",
    );
    config("[[switch]]\nindex = 0\nstart-delay = \"8s\"\nstop-delay = \"3s\"\n");
}

#[test]
fn a_sweep_varies_something() {
    refused(
        "plan.kind = \"sweep\"\n",
        "probe.toml:1: plan.kind: a sweep needs something to vary; write plan.rates = \
         \"100..1000:100\", plan.switches = \"1,16,64\" or both",
    );
    refused(
        "plan = { kind = \"sweep\", rates = [1] }\ntraffic.mode = \"closed\"\n",
        "probe.toml:1: plan.rates: rates can be set in open mode only, and traffic.mode is closed; \
         write traffic.mode = \"open\", or plan.switches alone",
    );
    config("plan = { kind = \"sweep\", switches = [1] }\ntraffic.mode = \"closed\"\n");
    refused(
        "plan = { kind = \"sweep\", rates = [1], total-rates = [2] }\n",
        "probe.toml:1: plan.total-rates: rates are of each switch or of all together, not both; write \
         one of plan.rates and plan.total-rates",
    );
    refused(
        "plan = { kind = \"sweep\", switches = [1, 500], total-rates = [0.1] }\n",
        "probe.toml:1: plan.total-rates: leaves a switch less than 0.001 packet-ins per second; write \
         a higher rate, or fewer switches",
    );
}

#[test]
fn a_point_has_one_rate_of_each_switch_or_of_all() {
    refused(
        "plan.total-rates = \"1k,2k\"\n",
        "probe.toml:1: plan.total-rates: a point has one rate, and these are 2; write one rate, or \
         plan.kind = \"sweep\"",
    );
    refused(
        "plan.total-rates = 5000\ntraffic.rate = 100\n",
        "probe.toml:1: plan.total-rates: the rate is of each switch or of all together, not both; \
         write one of traffic.rate and plan.total-rates",
    );
    refused(
        "plan.total-rates = 5000\ntraffic.mode = \"closed\"\n",
        "probe.toml:1: plan.total-rates: rates can be set in open mode only, and traffic.mode is \
         closed; write traffic.mode = \"open\", or no rate",
    );
    refused(
        "plan.total-rates = 0.1\nswitches.count = 500\n",
        "probe.toml:1: plan.total-rates: leaves a switch less than 0.001 packet-ins per second; write \
         a higher rate, or fewer switches",
    );
}

#[test]
fn a_search_varies_the_rate() {
    refused(
        "plan.kind = \"search\"\ntraffic.mode = \"flood\"\n",
        "probe.toml:1: plan.kind: a search varies the rate, and traffic.mode flood has none; write \
         traffic.mode = \"open\"",
    );
    refused(
        "plan = { kind = \"search\", low = 5, high = 5 }\n",
        "probe.toml:1: plan.low: the lowest rate, 5, is not below the highest, 5; write plan.low \
         below plan.high",
    );
}

#[test]
fn values_that_the_plan_ignores_are_refused_unless_the_plan_was_chosen() {
    refused(
        "plan.rates = [1, 2]\n",
        "probe.toml:1: plan.rates: is given, but plan.kind is point, which does not use it; write \
         plan.kind = \"sweep\"",
    );
    refused(
        "plan.precision = 0.1\n",
        "probe.toml:1: plan.precision: is given, but plan.kind is point, which does not use it; \
         write plan.kind = \"search\"",
    );
    config("plan = { kind = \"point\", rates = [1, 2], precision = 0.1 }\n");
}

#[test]
fn p4runtime_ports_end_at_65535() {
    refused(
        "protocol = \"p4rt\"\nswitches.count = 20000\np4runtime.first-port = 50001\n",
        "probe.toml:3: p4runtime.first-port: 20000 servers from port 50001 on need ports up to 70000, \
         beyond 65535; write p4runtime.first-port = 45536 or less",
    );
    config("protocol = \"p4rt\"\nswitches.count = 20000\np4runtime.first-port = 45536\n");
    refused(
        "protocol = \"p4rt\"\nswitches = { count = 100000, hosts = 2 }\n",
        "probe.toml:2: switches.count: 100000 servers from port 20001 on need ports up to 120000, \
         beyond 65535; write p4runtime.devices-per-port = 3 or more",
    );
    config("protocol = \"p4rt\"\nswitches.count = 100000\np4runtime.devices-per-port = 3\n");
    config("switches.count = 20000\n");
}

#[test]
fn controllers_get_an_address_that_can_be_dialled() {
    refused(
        "protocol = \"p4rt\"\np4runtime.listen = \"0.0.0.0\"\n\
         controller.onos-rest = \"http://h\"\n",
        "probe.toml:2: p4runtime.listen: 0.0.0.0 is not an address that a controller can dial; write \
         p4runtime.advertise = \"ADDRESS\", one of this host's own",
    );
    config("protocol = \"p4rt\"\np4runtime.listen = \"0.0.0.0\"\n");
    config(
        "protocol = \"p4rt\"\ncontroller.onos-rest = \"http://h\"\n\
         p4runtime = { listen = \"::\", advertise = \"192.0.2.1\" }\n",
    );
}

#[test]
fn a_cookie_needs_its_pipeline() {
    refused(
        "p4runtime.cookie = 7\n",
        "probe.toml:1: p4runtime.cookie: a cookie means nothing without its P4Info; write \
         p4runtime.p4info = \"FILE\" as well",
    );
}

/// Resolves a TOML text in a folder that contains some files. The path of the folder is removed
/// from the error message.
fn beside_files(toml: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["ca.pem", "cert.pem", "key.pem", "basic.json"] {
        fs::write(folder.path().join(name), "x").expect("a file");
    }
    let result = resolve_in(toml, &folder.path().join("probe.toml"));
    let prefix = format!("{}/", folder.path().display());
    result.map(|_| ()).map_err(|error| error.replace(&prefix, ""))
}

#[track_caller]
fn refused_beside_files(toml: &str, message: &str) {
    assert_eq!(beside_files(toml), Err(message.to_owned()));
}

#[test]
fn a_device_configuration_needs_its_pipeline() {
    refused_beside_files(
        "p4runtime.device-config = \"basic.json\"\n",
        "probe.toml:1: p4runtime.device-config: a device configuration means nothing without its \
         P4Info; write p4runtime.p4info = \"FILE\" as well",
    );
}

#[test]
fn certificates_and_keys_go_together() {
    refused_beside_files(
        "[tls]\nca = \"ca.pem\"\ncertificate = \"cert.pem\"\n",
        "probe.toml:3: tls.certificate: a certificate needs its private key; write tls.key = \"FILE\" \
         as well",
    );
    refused_beside_files(
        "[tls]\nca = \"ca.pem\"\nkey = \"key.pem\"\n",
        "probe.toml:3: tls.key: a private key needs its certificate; write tls.certificate = \"FILE\" \
         as well",
    );
    assert_eq!(
        beside_files("tls = { ca = \"ca.pem\", certificate = \"cert.pem\", key = \"key.pem\" }\n"),
        Ok(())
    );
}

#[test]
fn openflow_switches_check_the_controller_or_say_that_they_do_not() {
    refused_beside_files(
        "[tls]\ncertificate = \"cert.pem\"\nkey = \"key.pem\"\n",
        "probe.toml:2: tls.certificate: OpenFlow switches have nothing to check the controller's \
         certificate against; write tls.ca = \"FILE\", or tls.insecure = true",
    );
    refused_beside_files(
        "[tls]\nca = \"ca.pem\"\ninsecure = true\n",
        "probe.toml:3: tls.insecure: any certificate is accepted, so that tls.ca has no effect; \
         write one of the two",
    );
}

#[test]
fn p4runtime_servers_have_a_certificate() {
    refused_beside_files(
        "protocol = \"p4rt\"\ntls.ca = \"ca.pem\"\n",
        "probe.toml:2: tls.ca: P4Runtime switches are TLS servers, which need a certificate; write \
         tls.certificate = \"FILE\" and tls.key = \"FILE\"",
    );
    refused_beside_files(
        "protocol = \"p4rt\"\n[tls]\ncertificate = \"cert.pem\"\nkey = \"key.pem\"\n\
         insecure = true\n",
        "probe.toml:5: tls.insecure: P4Runtime switches check the controller's certificate only if \
         tls.ca is given; write tls.insecure = false",
    );
    assert_eq!(
        beside_files(
            "protocol = \"p4rt\"\ntls = { certificate = \"cert.pem\", key = \"key.pem\" }\n"
        ),
        Ok(())
    );
}

#[test]
fn a_server_name_needs_tls() {
    refused(
        "tls.server-name = \"controller\"\n",
        "probe.toml:1: tls.server-name: a name to expect means nothing without TLS; write tls.ca = \
         \"FILE\" as well",
    );
}

#[test]
fn output_does_not_overwrite_input_or_other_output() {
    refused_beside_files(
        "[controller]\nnetcfg-file = \"a.json\"\nlist-file = \"a.json\"\n",
        "probe.toml:3: controller.list-file: would be written over controller.netcfg-file, which \
         names the same file; write another name",
    );
    refused_beside_files(
        "tls.ca = \"ca.pem\"\ncontroller.list-file = \"ca.pem\"\n",
        "probe.toml:2: controller.list-file: would be written over tls.ca, which names the same \
         file; write another name",
    );
}

#[test]
fn consequences_of_a_refused_value_are_not_reported() {
    // The mode is wrong, so its window is not reported.
    refused(
        "[traffic]\nwindow = 1000000\nmode = \"close\"\n",
        "probe.toml:3: traffic.mode: \"close\" is not a mode; write open, closed or flood",
    );
    refused(
        "plan.kind = \"sweep\"\nplan.rates = \"x\"\n",
        "probe.toml:2: plan.rates: \"x\" is not a number with an optional suffix k, M or G; write for instance rates \
         = \"100,200,500..2000:500\"",
    );
}

#[test]
fn flags_are_advised_in_terms_of_flags() {
    let mut settings = Settings::new();
    for (key, value) in [
        ("plan.rates", "1,2"),
        ("p4runtime.cookie", "7"),
        ("tls.server-name", "controller"),
        ("traffic.mode", "closed"),
        ("traffic.window", "1M"),
        ("switches.hosts", "0"),
        ("switches.topology", "linear"),
    ] {
        settings.set(key, value, Origin::Flag);
    }
    insta::assert_snapshot!(settings.resolve().expect_err("all wrong").to_string());
}
