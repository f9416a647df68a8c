//! Tests of valid and invalid network files in all formats.

use super::{Format, read, work};
use crate::network::{Multiplexing, Part, Settings, simulate};
use crate::{Curve, Rational};

#[path = "../../../benches/networks/file.rs"]
mod file;

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
fn flows_and_classes_may_have_maximum_delays() {
    let file = |classes: &str, own: &str| {
        format!(
            "time-unit = \"ms\"\n{classes}\n[[server]]\nname = \"a\"\nservice = {{ rate = 9 }}\n\
             [[flow]]\nname = \"f\"\npath = [\"a\"]\narrival = {{ rate = 1 }}\npriority = 1\n{own}\n\
             [[flow]]\nname = \"g\"\npath = [\"a\"]\narrival = {{ rate = 1 }}\npriority = 1\n\
             [[flow]]\nname = \"h\"\npath = [\"a\"]\narrival = {{ rate = 1 }}\n"
        )
    };
    let class = "[[class]]\npriority = 1\nmaximum-delay = 2\n";
    let text = file(class, "maximum-delay = \"5us\"");
    let network = read(&text, Format::Toml).expect("a network");
    let delays: Vec<_> = network.flows().map(|(_, flow)| flow.maximum_delay.clone()).collect();
    // The requirement of a flow overrides that of its class.
    let expected = [Some(Rational::ratio(1, 200_000)), Some(Rational::ratio(1, 500)), None];
    assert_eq!(delays, expected);
    for (classes, own, said) in [
        (class.replace('1', "7"), "", "class[0] is a class without flows: none has its priority"),
        (class.repeat(2), "", "class[1] is a second class of priority 1"),
        (String::new(), "maximum-delay = -1", "flow[0].maximum-delay '-1' is negative"),
        ("[[class]]\npriority = 1\n".to_owned(), "", "maximum-delay"),
    ] {
        let error = read(&file(&classes, own), Format::Toml).expect_err("a fault").to_string();
        assert!(error.contains(said), "{error}");
    }
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
    // The rate unit of the flow, kbps, applies only to its numbers without a unit.
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

/// A physical network; ports without a service do not become servers.
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

/// Returns a file of many flows, one per line, the last of which is invalid.
fn many_in_json(flows: usize) -> String {
    let flow = |f: usize| {
        let rate = if f + 1 == flows { "[]".to_owned() } else { f.to_string() };
        format!(r#"{{"name": "f{f}", "path": ["a"], "arrival": {{"rate": {rate}}}}}"#)
    };
    let flows: Vec<String> = (0..flows).map(flow).collect();
    let server = r#"{"name": "a", "service": {"rate": 1e9}}"#;
    format!("{{\"server\": [{server}],\n\"flow\": [\n{}]}}", flows.join(",\n"))
}

#[test]
fn the_line_of_a_fault_is_found_in_large_files() {
    // Each value has a line. If finding the line of a value took time proportional to the file,
    // this test would take an hour.
    let flows = 20_000;
    let said = read(&many_in_json(flows), Format::Json).expect_err("a fault").to_string();
    assert_eq!(
        said,
        format!(
            "line {}: flow[{}].arrival.rate is a list; a number is needed",
            flows + 2,
            flows - 1
        )
    );
    let mut toml = "[[server]]\nname = \"a\"\nservice = { rate = 1e9 }\n".to_owned();
    for flow in 0..flows {
        toml +=
            &format!("[[flow]]\nname = \"f{flow}\"\npath = [\"a\"]\narrival = {{ rate = 1 }}\n");
    }
    toml += "[[flow]]\nname = \"last\"\npath = [\"a\"]\narrival = { rate = -1 }\n";
    let said = read(&toml, Format::Toml).expect_err("a fault").to_string();
    let line = 3 + 4 * flows + 4;
    assert_eq!(said, format!("line {line}: flow[{flows}].arrival.rate '-1' is negative"));
}

#[test]
fn faults_name_the_line_however_toml_is_written() {
    let flow = "[[flow]]\nname = \"f\"\npath = [\"a\"]\n";
    for (arrival, expected) in [
        ("[flow.arrival]\nrate = -1\n", "line 8: flow[0].arrival.rate '-1' is negative"),
        ("arrival.rate = -1\n", "line 7: flow[0].arrival.rate '-1' is negative"),
        ("[flow.arrival.rat]\n", "line 7: flow[0].arrival.rat is not known here"),
        (
            "arrival = [\n{ rate = 1 },\n{ rate = -1 },\n]\n",
            "line 9: flow[0].arrival[1].rate '-1' is negative",
        ),
        ("arrival = [\n{ rate = 1 },\n7,\n]\n", "line 9: flow[0].arrival[1] is a number"),
        ("\"ar\\u0072ivals\" = 1\n", "line 7: flow[0].arrivals is not known here"),
    ] {
        let said = fault(&format!("{SERVER}{flow}{arrival}"), Format::Toml);
        assert!(said.starts_with(expected), "{arrival}: {said}");
    }
    let twice = fault(&format!("{SERVER}{flow}path = []\n"), Format::Toml);
    assert!(twice.starts_with("line 7: duplicate key"), "{twice}");
}

#[test]
fn numbers_of_toml_have_no_largest_word() {
    let large = "123456789012345678901234567890";
    let text = format!(
        "{SERVER}[[flow]]\nname = \"f\"\npath = [\"a\"]\narrival = {{ token-bucket = {{ burst = {large}, rate = 1e300 }} }}\n"
    );
    let network = read(&text, Format::Toml).expect("a network");
    let number = |text: &str| text.parse::<Rational>().expect("a number");
    let arrival = Curve::token_bucket(number(large), number("1e300")).expect("a curve");
    assert_eq!(network.flow(network.flow_named("f").expect("a flow")).arrival, arrival);
}

const SERVER: &str = "[[server]]\nname = \"a\"\nservice = { rate = 3 }\n";

fn fault(text: &str, format: Format) -> String {
    read(text, format).expect_err("a fault").to_string()
}

#[test]
fn a_field_of_json_that_is_there_twice_is_named() {
    let text = "{\"server\": [{\"name\": \"a\",\n\"service\": {\"rate\": 1},\n\"service\": {\"rate\": 9}}]}";
    assert_eq!(
        fault(text, Format::Json),
        "line 3: server[0].service is given twice, first in line 2"
    );
    let text = "{\"servers\": [], \"flows\": [],\n \"servers\": []}";
    assert_eq!(fault(text, Format::Json), "line 2: servers is given twice, first in line 1");
}

#[test]
fn numbers_that_are_none_are_named() {
    for word in ["nan", "inf", "-inf", "+nan"] {
        let text = format!(
            "{SERVER}[[flow]]\nname = \"f\"\npath = [\"a\"]\narrival = {{ rate = {word} }}\n"
        );
        let said = fault(&text, Format::Toml);
        let expected = format!("line 7: flow[0].arrival.rate '{word}' is not a finite number");
        assert!(said.starts_with(&expected), "{said}");
    }
    for word in ["Infinity", "NaN Mbps", "-inf"] {
        let text =
            format!("{{\"server\": [{{\"name\": \"a\", \"service\": {{\"rate\": \"{word}\"}}}}]}}");
        let said = fault(&text, Format::Json);
        assert!(said.contains(&format!("'{word}' is not a finite number")), "{said}");
    }
    // Python writes these words without quotes.
    for word in ["NaN", "Infinity", "-Infinity"] {
        let text =
            format!("{{\"server\": [\n{{\"name\": \"a\", \"service\": {{\"rate\": {word}}}}}]}}");
        let said = fault(&text, Format::Json);
        let word = word.trim_start_matches('-');
        assert!(said.starts_with(&format!("line 2: '{word}' is not a number in JSON")), "{said}");
    }
}

#[test]
fn what_is_long_is_not_echoed() {
    let long = "9".repeat(100_000);
    let name = "x".repeat(100_000);
    let flow = |name: &str, rate: &str| {
        format!(
            "[[flow]]\nname = \"{name}\"\npath = [\"a\", \"a\"]\narrival = {{ rate = \"{rate}\" }}\n"
        )
    };
    for (text, format) in [
        (format!("{SERVER}{}", flow("f", &long)), Format::Toml),
        (format!("{SERVER}{}", flow("f", &format!("1{name}"))), Format::Toml),
        (format!("{SERVER}{}", flow(&name, "1")), Format::Toml),
        (format!("{SERVER}{name} = 1\n"), Format::Toml),
        (format!("{SERVER}{name}\n"), Format::Toml),
        (format!("time-unit = \"{name}\"\n{SERVER}"), Format::Toml),
        (format!("{{\"{name}\": {{\"{name}\": 1}}}}"), Format::Json),
        (
            format!(
                "{{\"servers\": [{{\"name\": \"{name}\", \"service_curve\": {{\"rates\": [{long}], \"latencies\": [1]}}}}], \"flows\": []}}"
            ),
            Format::Json,
        ),
        (
            format!("<elements><network/><link from=\"{name}\" to=\"{name}\"/></elements>"),
            Format::Xml,
        ),
        (format!("<{name} name=\"{name}\"/>"), Format::Xml),
        (format!("<{name}></{name}{name}>"), Format::Xml),
    ] {
        let said = fault(&text, format);
        assert!(said.len() < 1_000, "{} characters: {}", said.len(), &said[..300]);
    }
}

#[test]
fn brackets_without_end_are_refused() {
    let brackets = 100_000;
    for (text, format) in [
        (format!("a = {}", "[".repeat(brackets)), Format::Toml),
        (format!("a = {}{}", "[".repeat(brackets), "]".repeat(brackets)), Format::Toml),
        (format!("{}a = 1", "{ b = ".repeat(brackets)), Format::Toml),
        (format!("[{}]", vec!["a"; brackets].join(".")), Format::Toml),
        (format!("{} = 1", vec!["a"; brackets].join(".")), Format::Toml),
        ("[".repeat(brackets), Format::Json),
        (format!("{{\"a\": {}{}}}", "[".repeat(brackets), "]".repeat(brackets)), Format::Json),
        ("{\"a\":".repeat(brackets), Format::Json),
        ("<a>".repeat(brackets), Format::Xml),
    ] {
        let said = fault(&text, format);
        assert!(said.len() < 1_000, "{}", &said[..300]);
    }
}

#[test]
fn what_limits_a_server_lets_its_service_through() {
    let with = |limit: &str| {
        let server = format!(
            "[[server]]\nname = \"a\"\nservice = {{ rate-latency = {{ rate = 3, latency = 1 }} }}\n{limit}\n"
        );
        let flow = "[[flow]]\nname = \"f\"\npath = [\"a\", \"b\"]\narrival = { rate = 1 }\n";
        format!("{server}[[server]]\nname = \"b\"\nservice = {{ rate = 3 }}\n{flow}")
    };
    for limit in [
        "shaping = { rate = 3 }",
        "maximum-service = { rate = 3 }",
        "shaping = { token-bucket = { burst = 1, rate = 3 } }",
    ] {
        read(&with(limit), Format::Toml).expect("a network");
    }
    // The limit is below the service curve in the long run, or only for a while.
    for (limit, curve) in [
        ("shaping = { rate = 2 }", "shaping curve"),
        (
            "shaping = [{ rate = 9 }, { token-bucket = { burst = 0.1, rate = 2.9 } }]",
            "shaping curve",
        ),
        ("shaping = { rate-latency = { rate = 3, latency = 2 } }", "shaping curve"),
        ("maximum-service = { rate-latency = { rate = 9, latency = 2 } }", "maximum service curve"),
    ] {
        let said = fault(&with(limit), Format::Toml);
        let expected = format!("the {curve} of server 'a' is below its service curve somewhere");
        assert!(said.starts_with(&expected), "{limit}: {said}");
    }
    let link =
        format!("{}[[link]]\nfrom = \"a\"\nto = \"b\"\nshaping = {{ rate = 2 }}\n", with(""));
    assert!(
        fault(&link, Format::Toml)
            .starts_with("the shaping curve of the link from 'a' to 'b' is below")
    );
}

/// Returns a file with two flows: `long`, whose arrival curve combines two staircases of the given
/// periods, and `short`, with a token bucket.
fn stairs(kind: &str, periods: [u32; 2]) -> String {
    let [a, b] = periods;
    format!(
        r#"
        data-unit = "b"
        time-unit = "us"
        server = [{{ name = "s", service = {{ rate = "10Gbps" }} }}]

        [[flow]]
        name = "long"
        path = ["s"]
        arrival = {{ {kind} = [
            {{ staircase = {{ height = 1000, length = {a} }} }},
            {{ staircase = {{ height = 3000, length = {b} }} }},
        ] }}

        [[flow]]
        name = "short"
        path = ["s"]
        arrival = {{ token-bucket = {{ burst = 500, rate = "1kbps" }} }}
        "#
    )
}

#[test]
fn a_curve_of_staircases_without_a_common_period_becomes_a_concave_one_above_and_says_so() {
    let microseconds = |count: i64| Rational::ratio(count, 1_000_000);
    for kind in ["sum", "minimum", "maximum", "convolution"] {
        let network = read(&stairs(kind, [999_983, 1_000_003]), Format::Toml).expect("a network");
        let long = network.flow_named("long").expect("a flow");
        assert_eq!(network.outlined().collect::<Vec<_>>(), [Part::Flow(long)], "{kind}");
        let curve = &network.flow(long).arrival;
        assert!(curve.is_ultimately_affine(), "{kind}: {curve:?}");
        assert!(kind == "maximum" || curve.is_concave(), "{kind}");
        let a = Curve::staircase(1_000, microseconds(999_983)).expect("a staircase");
        let b = Curve::staircase(3_000, microseconds(1_000_003)).expect("a staircase");
        // Compare at every corner of the first steps. A convolution is at most the minimum, so the
        // minimum is compared.
        for step in 0..40 {
            for around in [-1, 0, 1, 500_000] {
                for period in [999_983, 1_000_003] {
                    let at = microseconds((step * period + around).max(0));
                    let (one, other) = (a.value_at(&at), b.value_at(&at));
                    let exact = match kind {
                        "sum" => one.checked_add(&other).expect("finite"),
                        "maximum" => one.max(other),
                        _ => one.min(other),
                    };
                    assert!(curve.value_at(&at) >= exact, "{kind} at {at}");
                }
            }
        }
    }
    // A curve that can be computed stays exact.
    let network = read(&stairs("sum", [4_000, 6_000]), Format::Toml).expect("a network");
    assert_eq!(network.outlined().next(), None);
    assert!(!network.flow(network.flow_named("long").expect("a flow")).arrival.is_concave());
}

#[test]
fn no_run_is_built_on_a_curve_that_stands_in_for_another() {
    let with = read(&stairs("sum", [999_983, 1_000_003]), Format::Toml).expect("a network");
    let named = |name| with.flow_named(name).expect("a flow");
    let settings = Settings::default();
    assert_eq!(simulate(&with, named("long"), &settings), None);
    // Other flows run as if this one sent nothing: 500 bits at 10 Gbps.
    let run = simulate(&with, named("short"), &settings).expect("a run");
    assert_eq!(run.delay, Rational::ratio(500, 10_000_000_000_i64));
    assert!(run.offsets.iter().all(|(flow, _)| *flow == named("short")), "{run:?}");
    let exact = read(&stairs("sum", [4_000, 6_000]), Format::Toml).expect("a network");
    let run = simulate(&exact, exact.flow_named("short").expect("a flow"), &settings);
    assert_eq!(run.expect("a run").delay, Rational::ratio(4_500, 10_000_000_000_i64));
}

#[test]
fn servers_and_links_without_a_common_period_are_outlined_too() {
    let text = |service: &str, link: &str| {
        format!(
            r#"
            time-unit = "us"
            rate-unit = "Mbps"
            server = [{{ name = "a", service = {service} }}, {{ name = "b", service = {{ rate = 1000 }} }}]
            link = [{{ from = "a", to = "b", shaping = {link} }}]

            [[flow]]
            name = "f"
            path = ["a", "b"]
            arrival = {{ token-bucket = {{ burst = 500, rate = 1 }} }}
            "#
        )
    };
    let long = "[{ tdma = { rate = 900, slot = 400_000, cycle = 999_983 } }, \
                 { tdma = { rate = 800, slot = 500_000, cycle = 1_000_003 } }]";
    let stairs = "{ minimum = [{ sum = [{ rate = 2000 }, { staircase = { height = 9, length = 999_983 } }] }, \
                   { sum = [{ rate = 2100 }, { staircase = { height = 9, length = 1_000_003 } }] }] }";
    let settings = Settings::default();
    for (service, link) in [(long, "{ rate = 2000 }"), ("{ rate = 100 }", stairs)] {
        let network = read(&text(service, link), Format::Toml).expect("a network");
        let [a, b] = ["a", "b"].map(|name| network.server_named(name).expect("a server"));
        let expected = if service == long { Part::Server(a) } else { Part::Link(a, b) };
        assert_eq!(network.outlined().collect::<Vec<_>>(), [expected]);
        let flow = network.flow_named("f").expect("a flow");
        assert_eq!(simulate(&network, flow, &settings), None, "{expected:?}");
        if service == long {
            let outline = &network.server(a).service;
            assert!(outline.is_convex());
            let tdma = |rate: i64, slot: i64, cycle: i64| {
                let cycle = Rational::ratio(cycle, 1_000_000);
                Curve::tdma(rate * 1_000_000, Rational::ratio(slot, 1_000), cycle).expect("a curve")
            };
            let both = [tdma(900, 400, 999_983), tdma(800, 500, 1_000_003)];
            for tenth in 0..100 {
                let at = Rational::ratio(tenth, 10);
                let exact = both.iter().map(|curve| curve.value_at(&at)).max();
                assert!(Some(outline.value_at(&at)) <= exact, "{at}");
            }
        }
    }
}

#[test]
fn what_reading_takes_grows_with_the_file_and_no_faster() {
    for format in [Format::Toml, Format::Json, Format::Xml] {
        let [small, large] = [250, 1_000].map(|flows| {
            let text = file::file(flows, format);
            let (network, steps) = work::of(|| read(&text, format));
            assert_eq!(network.expect("a network").flows().len(), flows);
            (text.len() as f64, steps as f64)
        });
        let (longer, more) = (large.0 / small.0, large.1 / small.1);
        // JSON is parsed level by level, so each byte is read once per level; otherwise no byte is
        // read twice.
        assert!(large.1 < 8.0 * large.0, "{format:?}: {} steps for {} bytes", large.1, large.0);
        assert!(
            more < 1.1 * longer,
            "{format:?}: {longer:.2} times the text takes {more:.2} times the steps"
        );
    }
}

#[test]
fn what_a_server_rests_on_is_noted_with_its_flows() {
    let label = "multiplexing = \"arbitrary\"\nrests-on = \"a contract; confidence 97 %\"\n";
    let text = OWN.replace("multiplexing = \"arbitrary\"\n", label);
    let network = read(&text, Format::Toml).expect("a network");
    let note = "the bounds of flow 'f' rest on server 'a', a contract; confidence 97 %";
    assert_eq!(network.notes(), [note]);
    assert!(read(OWN, Format::Toml).expect("a network").notes().is_empty());
    let number = text.replace("\"a contract; confidence 97 %\"", "97");
    assert!(read(&number, Format::Toml).is_err());
}
