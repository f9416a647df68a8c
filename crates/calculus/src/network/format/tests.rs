//! Files of all formats, right and wrong.

use super::{Format, read};
use crate::network::Multiplexing;
use crate::{Curve, Rational};

const OWN: &str = r#"
name = "two hops"
rate-unit = "Mbps"
data-unit = "B"

[[server]]
name = "a"
service = { rate-latency = { rate = 0.67, latency = "10us" } }
multiplexing = "arbitrary"

[[server]]
name = "b"
service = [
    { rate-latency = { rate = "4Mbps", latency = 1e-5 } },
    { rate-latency = { rate = "50Mbps", latency = "1ms" } },
]
shaping = { rate = 100 }

[[flow]]
name = "f"
path = ["a", "b"]
arrival = { token-bucket = { burst = 1_000, rate = "1/3 Mbps" } }
priority = 2
maximum-packet = 64
"#;

#[test]
fn numbers_of_toml_are_exact() {
    let network = read(OWN, Format::Toml).expect("a network");
    let a = network.server(network.server_named("a").expect("a server"));
    let latency = Rational::ratio(1, 100_000);
    assert_eq!(a.service, Curve::rate_latency(670_000, latency.clone()).expect("a curve"));
    assert_eq!(a.multiplexing, Multiplexing::Arbitrary);
    let b = network.server(network.server_named("b").expect("a server"));
    let both = [(4_000_000, latency), (50_000_000, Rational::ratio(1, 1000))];
    assert_eq!(b.service, Curve::rate_latencies(both).expect("a curve"));
    assert_eq!(b.shaping, Some(Curve::token_bucket(0, 100_000_000).expect("a curve")));
    let flow = network.flow(network.flow_named("f").expect("a flow"));
    let bucket = Curve::token_bucket(8000, Rational::ratio(1_000_000, 3));
    assert_eq!(flow.arrival, bucket.expect("a curve"));
    assert_eq!(flow.maximum_packet, Rational::from(512));
}

#[test]
fn json_says_the_same_as_toml() {
    let json = r#"{
        "name": "two hops", "rate-unit": "Mbps",
        "server": [{"name": "a", "service": {"rate-latency": {"rate": 0.67, "latency": "10us"}}}],
        "flow": [{"name": "f", "path": ["a"], "arrival": {"token-bucket":
            {"burst": 8e3, "rate": 0.1}}}]
    }"#;
    let network = read(json, Format::Json).expect("a network");
    let a = network.server(network.server_named("a").expect("a server"));
    let latency = Rational::ratio(1, 100_000);
    assert_eq!(a.service, Curve::rate_latency(670_000, latency).expect("a curve"));
    let flow = network.flow(network.flow_named("f").expect("a flow"));
    assert_eq!(flow.arrival, Curve::token_bucket(8000, 100_000).expect("a curve"));
}

#[test]
fn every_kind_of_curve_can_be_written() {
    let kinds = [
        "{ token-bucket = { burst = 5, rate = 2 } }",
        "{ leaky-bucket = { burst = 5, rate = 2, peak-rate = 9, packet = 1 } }",
        "{ leaky-bucket = { burst = 5, rate = 2, peak-rate = 9 } }",
        "{ t-spec = { burst = 5, rate = 2, peak-rate = 9, packet = 1 } }",
        "{ rate-latency = { rate = 5, latency = 2 } }",
        "{ rate = 5 }",
        "{ burst-delay = 3 }",
        "{ staircase = { height = 5, length = 2 } }",
        "{ staircase = { height = 5, length = 2, offset = 1 } }",
        "{ tdma = { rate = 5, slot = 2, cycle = 7 } }",
        "{ segments = [{ time = 0, value = 1, slope = 2 }, { time = 3, value = 7, slope = 1 }] }",
        "{ minimum = [{ rate = 5 }, { token-bucket = { burst = 5, rate = 2 } }] }",
        "{ maximum = [{ rate = 5 }, { rate-latency = { rate = 9, latency = 2 } }] }",
        "{ sum = [{ rate = 5 }, { rate = 6 }] }",
        "{ convolution = [{ rate = 5 }, { rate-latency = { rate = 9, latency = 2 } }] }",
    ];
    for kind in kinds {
        let text = format!(
            "server = [{{ name = \"a\", service = {kind} }}]\n\
             flow = [{{ name = \"f\", path = [\"a\"], arrival = {kind} }}]"
        );
        let network = read(&text, Format::Toml).unwrap_or_else(|error| panic!("{kind}: {error}"));
        let (server, flow) = (network.servers().next(), network.flows().next());
        assert_eq!(server.map(|(_, s)| &s.service), flow.map(|(_, f)| &f.arrival), "{kind}");
    }
}

#[test]
fn faults_name_their_place() {
    let server = "[[server]]\nname = \"a\"\nservice = { rate = 1 }\n";
    let flow = "[[flow]]\nname = \"f\"\npath = [\"a\"]\narrival = { rate = 1 }\n";
    let cases = [
        String::new(),
        "name = ".to_owned(),
        server.to_owned(),
        format!("{server}{flow}{flow}"),
        format!("{server}{server}{flow}"),
        format!("{server}{}", flow.replace("\"a\"", "\"b\"")),
        format!("{server}{}", flow.replace("\"a\"", "\"a\", \"a\"")),
        format!("{server}{}", flow.replace("\"a\"", "")),
        format!("{server}{}", flow.replace("rate = 1", "rate = -1")),
        format!("{server}{}", flow.replace("rate = 1", "rate = \"1 parsec\"")),
        format!("{server}{}", flow.replace("rate = 1", "rat = 1")),
        format!("{server}{}", flow.replace("{ rate = 1 }", "{ rate = 1, burst-delay = 2 }")),
        format!("{server}{}", flow.replace("{ rate = 1 }", "7")),
        format!("{server}{}", flow.replace("arrival", "arivals")),
        format!("multiplexing = \"lifo\"\n{server}{flow}"),
        format!("time-unit = \"Mbps\"\n{server}{flow}"),
        format!("{server}{flow}[[link]]\nfrom = \"a\"\nto = \"c\"\nshaping = {{ rate = 1 }}\n"),
        format!("{server}{flow}[[link]]\nfrom = \"a\"\nto = \"a\"\nshaping = {{ rate = 1 }}\n"),
        format!("{server}{}", flow.replace("rate = 1", "rate = 1e99999")),
        format!(
            "{server}{}",
            flow.replace("{ rate = 1 }", "{ staircase = { height = 1, length = 0 } }")
        ),
    ];
    let mut said = String::new();
    for text in cases {
        let error = read(&text, Format::Toml).expect_err("no network");
        said.push_str(&format!("{error}\n"));
    }
    insta::assert_snapshot!(said);
}

#[test]
fn nesting_has_an_end() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(read(&deep, Format::Json).is_err());
    let deep = format!("{{\"server\": {}1{}}}", "[".repeat(1000), "]".repeat(1000));
    assert!(read(&deep, Format::Json).is_err());
    let deep = format!("name = {}1{}", "[".repeat(1000), "]".repeat(1000));
    assert!(read(&deep, Format::Toml).is_err());
    let deep = format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
    assert!(read(&deep, Format::Xml).is_err());
}

/// The demonstration network of Saihu, in its JSON.
const SAIHU: &str = r#"{
    "network": {"name": "demo", "packetizer": false, "multiplexing": "FIFO",
        "analysis_option": ["IS"], "time_unit": "us", "data_unit": "B", "rate_unit": "Mbps"},
    "flows": [
        {"name": "f0", "path": ["s0-o0", "s1-o0"], "max_packet_length": 50, "rate_unit": "kbps",
         "arrival_curve": {"bursts": [10, "2kB"], "rates": ["10kbps", 0.5]}},
        {"name": "f1", "path": ["s0-o0", "s1-o1"], "max_packet_length": 50,
         "arrival_curve": {"bursts": ["10B"], "rates": ["10kbps"]}},
        {"name": "f2", "path": ["s1-o0"], "max_packet_length": "50B",
         "arrival_curve": {"bursts": [10], "rates": ["10kbps"]}}
    ],
    "servers": [
        {"name": "s0-o0", "capacity": 100,
         "service_curve": {"latencies": [10, 1000], "rates": [4, "50Mbps"]}},
        {"name": "s1-o0", "capacity": 100, "time_unit": "us",
         "service_curve": {"latencies": [10, "1ms"], "rates": [4, 50]}},
        {"name": "s1-o1", "capacity": 100,
         "service_curve": {"latencies": [10], "rates": ["4Mbps"]}}
    ]
}"#;

#[test]
fn saihu_says_units_everywhere() {
    let network = read(SAIHU, Format::Json).expect("a network");
    let flow = network.flow(network.flow_named("f0").expect("a flow"));
    // The unit of the flow, kbps, is for its bare numbers only.
    let buckets = [(80, 10_000), (16_000, 500)];
    assert_eq!(flow.arrival, Curve::token_buckets(buckets).expect("a curve"));
    assert_eq!(flow.maximum_packet, Rational::from(400));
    let server = network.server(network.server_named("s1-o0").expect("a server"));
    let services =
        [(4_000_000, Rational::ratio(1, 100_000)), (50_000_000, Rational::ratio(1, 1000))];
    assert_eq!(server.service, Curve::rate_latencies(services).expect("a curve"));
    assert_eq!(server.shaping, Some(Curve::token_bucket(0, 100_000_000).expect("a curve")));
    let without = SAIHU.replace("[\"IS\"]", "[]");
    let network = read(&without, Format::Json).expect("a network");
    assert!(network.servers().all(|(_, server)| server.shaping.is_none()));
}

/// A physical network: ports without a service are no servers.
const WOPANETS: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<elements>
    <network name="demo" technology="FIFO+IS+PK"/>
    <station name="src0"/>
    <switch name="s0" service-latency="10us" service-rate="4Mbps"/>
    <switch name="s1" service-latency="10us" service-rate="4Mbps"/>
    <station name="sink0"/>
    <station name="sink1"/>
    <link from="src0" to="s0" fromPort="o0" toPort="i0"/>
    <link from="s0" to="s1" fromPort="o0" toPort="i0" transmission-capacity="10Mbps"/>
    <link from="s1" to="sink0" fromPort="o0" toPort="i0" service-rate="5Mbps"/>
    <link from="s1" to="sink1" fromPort="o1" toPort="i0"/>
    <flow name="f0" arrival-curve="leaky-bucket" lb-burst="10" lb-rate="10kbps"
        maximum-packet-size="50B" source="src0">
        <target name="left"><path node="s0"/><path node="s1"/><path node="sink0"/></target>
        <target name="right"><path node="s0"/><path node="s1"/><path node="sink1"/></target>
    </flow>
</elements>"#;

#[test]
fn wopanets_has_a_server_for_each_port_with_a_service() {
    let network = read(WOPANETS, Format::Xml).expect("a network");
    let names: Vec<&str> = network.servers().map(|(_, server)| server.name.as_str()).collect();
    assert_eq!(names, ["s0-o0", "s1-o0", "s1-o1"]);
    let flows: Vec<(&str, usize)> =
        network.flows().map(|(_, flow)| (flow.name.as_str(), flow.path.len())).collect();
    assert_eq!(flows, [("f0_left", 2), ("f0_right", 2)]);
    let port = |name: &str| network.server(network.server_named(name).expect("a server"));
    let latency = Rational::ratio(1, 100_000);
    assert_eq!(port("s1-o0").service, Curve::rate_latency(5_000_000, latency).expect("a curve"));
    assert_eq!(port("s0-o0").shaping, Some(Curve::token_bucket(0, 10_000_000).expect("a curve")));
    assert!(port("s1-o1").shaping.is_none() && port("s1-o1").packetizer);
    let bucket = Curve::token_bucket(80, 10_000).expect("a curve");
    assert!(network.flows().all(|(_, flow)| flow.arrival == bucket));
}

#[test]
fn faults_of_other_formats_name_their_place() {
    let mut said = String::new();
    for (from, to) in [
        ("\"path\": [\"s1-o0\"]", "\"path\": [\"s9\"]"),
        ("\"rates\": [4, 50]", "\"rates\": [4]"),
        ("\"bursts\": [10]", "\"bursts\": [-10]"),
        ("\"multiplexing\": \"FIFO\"", "\"multiplexing\": \"LIFO\""),
        ("\"servers\"", "\"server\""),
        ("\"name\": \"f1\", ", ""),
    ] {
        assert!(SAIHU.contains(from), "{from}");
        let error = read(&SAIHU.replace(from, to), Format::Json).expect_err("no network");
        said.push_str(&format!("{error}\n"));
    }
    for (from, to) in [
        ("from=\"s0\" to=\"s1\"", "from=\"s0\" to=\"s7\""),
        ("<path node=\"s1\"/><path node=\"sink1\"/>", "<path node=\"sink1\"/>"),
        ("lb-rate=\"10kbps\"", ""),
        ("</elements>", ""),
        ("4Mbps\"/>\n    <switch name=\"s1\"", "fast\"/>\n    <switch name=\"s1\""),
        ("<network name=\"demo\" technology=\"FIFO+IS+PK\"/>", ""),
    ] {
        assert!(WOPANETS.contains(from), "{from}");
        let error = read(&WOPANETS.replace(from, to), Format::Xml).expect_err("no network");
        said.push_str(&format!("{error}\n"));
    }
    insta::assert_snapshot!(said);
}
