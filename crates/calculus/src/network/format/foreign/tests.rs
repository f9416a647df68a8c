//! Tests of the files of other tools, whose content is accepted, refused with its position, or
//! noted.

use crate::network::format::{Format, read};
use crate::network::{Analyser, Analysis, Network, Settings};
use crate::{Curve, Extended, Rational};

const SAIHU: &str = r#"{
    "network": {"name": "demo", "multiplexing": "FIFO", "analysis_option": ["IS"],
        "time_unit": "us", "data_unit": "B", "rate_unit": "Mbps", "min_packet_length": 4},
    "flows": [
        {"name": "f", "path": ["a", "b"], "path_name": "left",
         "multicast": [{"name": "right", "path": ["a", "c"]}, {"path": ["b"]}],
         "arrival_curve": {"bursts": [100], "rates": [1]}},
        {"name": "g", "path": ["a", "b"], "arrival_curve": {"bursts": [50], "rates": [1]}}
    ],
    "servers": [
        {"name": "a", "capacity": 100, "service_curve": {"latencies": [10], "rates": [8]}},
        {"name": "b", "capacity": 100, "service_curve": {"latencies": [10], "rates": [8]}},
        {"name": "c", "service_curve": {"latencies": [10], "rates": [8]}}
    ]
}"#;

const WOPANETS: &str = r#"<elements>
    <network name="demo" technology="FIFO+IS+PK" minimum-packet-size="4B" overhead="0"/>
    <station name="src"/>
    <station name="other"/>
    <switch name="a" service-latency="10us" service-rate="8Mbps"/>
    <switch name="b" service-latency="10us" service-rate="8Mbps"/>
    <switch name="c" service-latency="10us" service-rate="8Mbps"/>
    <station name="sink"/>
    <link name="l0" from="src" to="a" fromPort="o0" toPort="i0"/>
    <link name="l1" from="src" to="other" fromPort="o1" toPort="i0"/>
    <link name="l2" from="other" to="a" fromPort="o0" toPort="i1"/>
    <link name="l3" from="a" to="b" fromPort="o0" toPort="i0" transmission-capacity="10Mbps"/>
    <link name="l4" from="a" to="c" fromPort="o1" toPort="i0"/>
    <link name="l5" from="b" to="sink" fromPort="o0" toPort="i0"/>
    <link name="l6" from="c" to="sink" fromPort="o0" toPort="i1"/>
    <flow name="f" arrival-curve="leaky-bucket" lb-burst="100" lb-rate="1Mbps"
        maximum-packet-size="50B" source="src">
        <target name="left"><path node="a"/><path node="b"/><path node="sink"/></target>
        <target name="right"><path node="a"/><path node="b"/></target>
    </flow>
</elements>"#;

fn saihu(from: &str, to: &str) -> Result<Network, String> {
    assert!(SAIHU.contains(from), "{from}");
    read(&SAIHU.replacen(from, to, 1), Format::Json).map_err(|error| error.to_string())
}

fn wopanets(from: &str, to: &str) -> Result<Network, String> {
    assert!(WOPANETS.contains(from), "{from}");
    read(&WOPANETS.replacen(from, to, 1), Format::Xml).map_err(|error| error.to_string())
}

/// Returns the names of the flows with their multicast groups.
fn groups(network: &Network) -> Vec<(&str, Option<&str>)> {
    network.flows().map(|(_, flow)| (flow.name.as_str(), flow.multicast.as_deref())).collect()
}

fn delay(network: &Network, flow: &str) -> Extended {
    let flow = network.flow_named(flow).expect("a flow");
    let settings = Settings { threads: 1, ..Settings::default() };
    Analyser::new(network, settings).bound(flow, Analysis::TfaPlusPlus).expect("a bound").delay
}

#[test]
fn multicast_of_saihu_counts_once_until_it_parts() {
    let network = saihu("", "").expect("a network");
    // The third path has no server in common with the first two.
    let found = groups(&network);
    let own = Some("f");
    assert_eq!(found, [("f_left", own), ("f_right", own), ("f_p2", None), ("g", None)]);
    let ratios: Vec<f64> = network.loads().iter().map(|load| load.ratio()).collect();
    assert_eq!(ratios, [0.25, 0.375, 0.125]);
    // At a: 10 us plus 150 B at 8 Mbit/s. At c: 800 b plus what arrived at 1 Mbit/s meanwhile, over
    // a link of 100 Mbit/s; all of that has arrived within 960 b / 99 Mbit/s.
    let at_a = Rational::ratio(160, 1_000_000);
    let within = Rational::ratio(960, 99_000_000);
    let at_c = Rational::ratio(10, 1_000_000) + within * Rational::ratio(23, 2);
    assert_eq!(delay(&network, "f_right"), Extended::Finite(at_a + at_c));
    // Paths without names are numbered; a single path has the name of its flow.
    let unnamed = saihu("\"path_name\": \"left\",", "").expect("a network");
    assert_eq!(groups(&unnamed)[0].0, "f_p0");
    let alone = saihu(
        "\"multicast\": [{\"name\": \"right\", \"path\": [\"a\", \"c\"]}, {\"path\": [\"b\"]}],",
        "\"multicast\": [],",
    );
    assert_eq!(groups(&alone.expect("a network")), [("f", None), ("g", None)]);
}

#[test]
fn what_saihu_does_not_know_is_refused_with_its_place() {
    for (from, to, expected) in [
        ("\"flows\": [", "\"fows\": [], \"flows\": [", "line 4: fows is not known here"),
        (
            "\"name\": \"demo\",",
            "\"name\": \"demo\", \"latency_unit\": \"us\",",
            "line 2: network.latency_unit",
        ),
        ("\"capacity\": 100, \"serv", "\"latency\": 5, \"serv", "line 11: servers[0].latency is"),
        ("\"path_name\": \"left\"", "\"prority\": 1", "line 5: flows[0].prority is not known"),
        (
            "\"name\": \"right\", \"path\"",
            "\"nam\": 1, \"path\"",
            "line 6: flows[0].multicast[0].nam",
        ),
        (
            "\"bursts\": [100],",
            "\"bursts\": [100], \"unit\": \"kB\",",
            "flows[0].arrival_curve.unit",
        ),
        ("\"latencies\": [10],", "\"latencies\": [10], \"u\": 1,", "servers[0].service_curve.u"),
        ("[\"IS\"]", "[\"IS\", \"TSN\"]", "line 2: network.analysis_option[1] is not known here"),
        ("[\"IS\"]", "[\"ARBITRARY\"]", "names both FIFO and ARBITRARY"),
        ("\"multiplexing\": \"FIFO\"", "\"multiplexing\": \"LIFO\"", "must be FIFO or ARBITRARY"),
        (
            "\"min_packet_length\": 4",
            "\"min_packet_length\": \"4 us\"",
            "'4 us' has no unit of data",
        ),
    ] {
        let fault = saihu(from, to).expect_err(to);
        assert!(fault.contains(expected), "{fault}");
    }
    // Saihu itself writes these fields.
    let written = saihu("\"flows\": [", "\"adjacency_matrix\": [[0]], \"flows\": [");
    assert!(written.is_ok(), "{written:?}");
    assert!(saihu("\"name\": \"g\",", "\"name\": \"g\", \"id\": 1,").is_ok());
}

#[test]
fn what_has_no_effect_is_noted() {
    assert!(saihu("", "").expect("a network").notes().is_empty());
    let network = saihu("[\"IS\"]", "[\"IS\", \"CEIL\", \"moh\", \"PK\"]").expect("a network");
    let [options, fluids] = network.notes() else { panic!("{:?}", network.notes()) };
    assert!(options.contains("CEIL, MOH") && fluids.contains("'f', 'g'"), "{options} {fluids}");
    let network = wopanets("FIFO+IS+PK", "FIFO+TDMI").expect("a network");
    assert!(network.notes()[0].contains("TDMI"), "{:?}", network.notes());
    let network = wopanets("maximum-packet-size=\"50B\"", "").expect("a network");
    assert!(network.notes()[0].contains("'f'"), "{:?}", network.notes());
    let link = "fromPort=\"o0\" toPort=\"i0\"/>";
    let capacity = "fromPort=\"o0\" toPort=\"i0\" transmission-capacity=\"1Mbps\"/>";
    let network = wopanets(link, capacity).expect("a network");
    assert!(network.notes()[0].contains("'src-o0'"), "{:?}", network.notes());
}

#[test]
fn targets_of_wopanets_count_once_as_far_as_they_go_the_same_way() {
    let network = wopanets("", "").expect("a network");
    assert_eq!(groups(&network), [("f_left", Some("f")), ("f_right", Some("f"))]);
    let load = |network: &Network, server: &str| {
        let server = network.server_named(server).expect("a server");
        network.loads().iter().find(|load| load.server == server).map(|load| load.ratio())
    };
    assert_eq!(load(&network, "a-o0"), Some(0.125));
    // Over another node, which has no server, the paths differ, so the data arrive at the port
    // twice.
    let right = "<target name=\"right\">";
    let network = wopanets(right, "<target name=\"right\"><path node=\"other\"/>");
    let network = network.expect("a network");
    assert_eq!(groups(&network), [("f_left", None), ("f_right", None)]);
    assert_eq!(load(&network, "a-o0"), Some(0.25));
}

#[test]
fn what_wopanets_does_not_know_is_refused_with_its_place() {
    let second = |attributes: &str| {
        format!("<link from=\"a\" to=\"c\" fromPort=\"o0\" {attributes}/>\n    <flow")
    };
    let with = |attributes: &str| wopanets("<flow", &second(attributes));
    // Another link that leaves the same port.
    let fault = with("service-rate=\"1Mbps\"").expect_err("another service");
    assert!(fault.contains("line 16") && fault.contains("the link in line 12"), "{fault}");
    assert!(with("transmission-capacity=\"20Mbps\"").is_err());
    assert!(with("transmission-capacity=\"10Mbps\"").is_ok());
    // Another link between the same nodes is an error only if a flow uses it.
    let twice = |to: &str| {
        let link = format!("<link from=\"a\" to=\"{to}\" fromPort=\"o7\"/>\n    <flow");
        wopanets("<flow", &link)
    };
    let fault = twice("b").expect_err("two links");
    assert!(fault.contains("'o0' in line 12 and by 'o7' in line 16"), "{fault}");
    assert!(twice("c").is_ok());
    for (from, to, expected) in [
        (
            "FIFO+IS+PK",
            "FIFO+ISS",
            "line 2: <network> 'demo' has technology 'ISS', which is not known",
        ),
        ("FIFO+IS+PK", "FIFO+ARBITRARY", "names both"),
        (
            "<switch name=\"a\"",
            "<switch name=\"a\" tech-latency=\"1us\"",
            "line 5: <switch> 'a' has an attribute tech-latency",
        ),
        ("lb-rate=", "jitter=\"1us\" lb-rate=", "has an attribute jitter"),
        (
            "name=\"l0\"",
            "name=\"l0\" speed=\"1Mbps\"",
            "line 9: <link> 'l0' has an attribute speed",
        ),
        (
            "<target name=\"left\">",
            "<target name=\"left\" deadline=\"1ms\">",
            "has an attribute deadline",
        ),
        ("<path node=\"a\"/>", "<path node=\"a\" port=\"o1\"/>", "has an attribute port"),
        (
            "<station name=\"sink\"/>",
            "<router name=\"sink\"/>",
            "line 8: <router> 'sink' is not known here",
        ),
        (
            "<station name=\"sink\"/>",
            "<station name=\"sink\">10us</station>",
            "there is text between elements",
        ),
        (
            "service-latency=\"10us\" service-rate=\"8Mbps\"",
            "service-latency=\"10us\"",
            "no service-rate holds",
        ),
        ("overhead=\"0\"", "overhead=\"20\"", "line 16: <flow> 'f' has a packet overhead"),
        ("lb-burst=\"100\"", "lb-burst=\"100\" period=\"1ms\"", "has a period, which is not for"),
        (
            "leaky-bucket\" lb-burst=\"100\"",
            "periodic\" period=\"1ms\" lb-burst=\"100\"",
            "has a lb-burst",
        ),
        (
            "leaky-bucket\" lb-burst=\"100\" lb-rate=\"1Mbps\"\n        maximum-packet-size=\"50B\"",
            "periodic\" period=\"1ms\"",
            "is periodic and has no maximum-packet-size",
        ),
    ] {
        let fault = wopanets(from, to).expect_err(to);
        assert!(fault.contains(expected), "{fault}");
    }
    let space = wopanets("<elements>", "<elements xmlns:xsi=\"x\" xsi:schemaLocation=\"y\">");
    assert!(space.is_ok(), "{space:?}");
}

#[test]
fn capacities_below_a_service_limit_it() {
    // Saihu's mesh: the last server is twice as fast as the others; all have one capacity.
    let mesh = |capacity: &str| {
        let server = |name: &str, rate: u32| {
            format!(
                r#"{{"name": "{name}", "capacity": {capacity}, "service_curve": {{"latencies": [1], "rates": [{rate}]}}}}"#
            )
        };
        let flow = |name: &str, path: &str| {
            format!(
                r#"{{"name": "{name}", "path": [{path}], "max_packet_length": 1, "arrival_curve": {{"bursts": [10], "rates": [2]}}}}"#
            )
        };
        let servers = [server("s_0", 10), server("s_1", 10), server("s_2", 20)].join(",\n");
        let flows = [flow("fl_0", r#""s_0", "s_2""#), flow("fl_1", r#""s_1", "s_2""#)].join(",\n");
        let text = format!(
            r#"{{"network": {{"name": "mesh-3", "multiplexing": "FIFO"}}, "flows": [{flows}], "servers": [{servers}]}}"#
        );
        read(&text, Format::Json).expect("a network")
    };
    let network = mesh("10");
    let last = network.server(network.server_named("s_2").expect("a server"));
    assert_eq!(last.service, Curve::rate_latency(10, 1).expect("a curve"));
    assert_eq!(last.shaping, Some(Curve::token_bucket(0, 10).expect("a curve")));
    let [note] = network.notes() else { panic!("{:?}", network.notes()) };
    assert!(note.contains("'s_2'"), "{note}");
    // 1 + 10/10, then 1 + (2 (10 + 2 2))/10, since each link shapes its flows to at most 10 t.
    assert!(delay(&network, "fl_0") <= Extended::Finite(Rational::ratio(58, 10)));
    let wide = mesh("20");
    assert!(wide.notes().is_empty());
    let last = wide.server(wide.server_named("s_2").expect("a server"));
    assert_eq!(last.service, Curve::rate_latency(20, 1).expect("a curve"));
    assert!(delay(&wide, "fl_0") < delay(&network, "fl_0"));
}
