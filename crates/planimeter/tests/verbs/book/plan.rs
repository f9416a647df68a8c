//! The commands of the book that are not run as shown, with the reasons.

/// The page (or the start of its name), the start of the command, and the reason why it is not run
/// here.
pub(crate) const LEFT_OUT: &[(&str, &str, &str)] = &[
    // These commands are run by other tests.
    ("", "planimeter demo", "a minute; tests/verbs/demo.rs runs it with --quick"),
    (
        "docs/probe.md",
        "planimeter probe -p p4runtime -n 1 -r 40k",
        "tests/verbs/paths.rs runs such a file",
    ),
    (
        "docs/rfc8456.md",
        "planimeter controller -a paths --listen",
        "waits for the end that the page kills; crates/probe/tests/rfc8456",
    ),
    (
        "docs/rfc8456.md",
        "planimeter probe -n 6 --plan rfc8456:5.4.1",
        "its standby is the one above",
    ),
    (
        "docs/testgen.md",
        "planimeter testgen acl.p4 --equivalent",
        "programs of the reader's; crates/symbolic/tests/equivalence.rs has such",
    ),
    (
        "docs/scale.md",
        "planimeter probe -c 127.0.0.1:6653 -n 8000",
        "8,000 switches; crates/probe/tests has as many as a test may",
    ),
    (
        "docs/scale.md",
        "planimeter controller -a null --first-port",
        "2,000 switches; crates/probe/tests/ranks.rs dials some",
    ),
    ("docs/scale.md", "planimeter probe -p p4runtime", "its controller is the one above"),
    (
        "docs/reproduce.md",
        "planimeter reproduce controller-fig-4",
        "minutes; tests/verbs/reproduce.rs runs others",
    ),
    (
        "docs/dut.md",
        "planimeter switch programs/router.p4",
        "the next command would not wait for it; tests/verbs/dut.rs runs both",
    ),
    ("docs/dut.md", "planimeter dut 127.0.0.1:9559", "its switch is the one above"),
    (
        "",
        "planimeter bench programs/middleblock.p4 --scenarios",
        "minutes without optimisation; tests/verbs/bench.rs compares scenarios",
    ),
    (
        "docs/bench.md",
        "planimeter bench programs/router.p4 --worst",
        "minutes without optimisation; tests/verbs/bench.rs has a smaller program",
    ),
    (
        "docs/ctl.md",
        "planimeter ctl 127.0.0.1:9559 --tls-ca",
        "with certificates of the reader; tests/verbs/ctl_secured.rs makes some",
    ),
    ("docs/performance.md", "planimeter dut ADDRESS", "a switch of the reader; tests/verbs/dut.rs"),
    (
        "docs/dut.md",
        "planimeter dut --openflow",
        "needs Open vSwitch; conformance/tests/peers/dut_open_vswitch.rs",
    ),
    ("docs/reproduce.md", "planimeter reproduce device", "minutes"),
    ("docs/reproduce.md", "planimeter reproduce all", "minutes"),
    (
        "docs/tables.md",
        "planimeter tables programs/entry_update",
        "fills a table of 2^20 entries; tests/verbs/tables.rs asks what it measures",
    ),
    ("docs/device.md", "planimeter device curve", "tests/verbs/device.rs makes captures for it"),
    ("docs/tables.md", "planimeter tables --full", "every combination: many minutes"),
    (
        "docs/rfc8456.md",
        "planimeter controller -a paths --first-port",
        "dials until its switches come; crates/probe/tests/rfc8456",
    ),
    ("docs/rfc8456.md", "planimeter probe -p p4runtime", "its controller is the one above"),
    (
        "docs/bench.md",
        "planimeter bench --path compiled --io",
        "makes namespaces; crates/throughput/tests has ports",
    ),
    (
        "docs/peers.md",
        "planimeter probe --legacy",
        "crates/probe/src/legacy reads files of OFCProbe and P4RCProbe in its tests",
    ),
    (
        "docs/peers.md",
        "planimeter probe -p p4runtime --serve",
        "serves until it is interrupted; tests/endings starts one",
    ),
    // These commands use interfaces: conformance/tests/peers/switch_hosts.rs and mininet.rs run
    // switches, which end only when they are told to.
    ("", "planimeter switch", "conformance/tests/peers/switch_hosts.rs, crates/softswitch/tests"),
    ("docs/switch.md", "planimeter controller --device", "conformance/tests/peers/switch_hosts.rs"),
    (
        "",
        "planimeter device measure examples/device/open-vswitch",
        "conformance/tests/peers/device_open_vswitch.rs",
    ),
    (
        "",
        "planimeter device measure examples/device/software-switch",
        "minutes; tests/verbs/device_measure.rs measures over virtual wires",
    ),
    (
        "",
        "planimeter device measure examples/device/memory",
        "a minute; tests/verbs/device_measure.rs measures in memory",
    ),
    (
        "docs/device-measure.md",
        "planimeter device measure examples/device/program",
        "a minute; docs/tutorial/delay.md has a short one",
    ),
    (
        "docs/performance.md",
        "planimeter device verify",
        "of a campaign of minutes; docs/device.md verifies one",
    ),
    // These commands need programs of others: conformance/tests runs them.
    (
        "docs/tutorial/onos.md",
        "planimeter",
        "ONOS is in no package registry; documentation.rs checks the configurations",
    ),
    (
        "examples/onos",
        "planimeter",
        "ONOS is in no package registry; documentation.rs checks the configurations",
    ),
    ("examples/README.md", "planimeter probe", "with the controllers of conformance/tests"),
    ("examples/README.md", "planimeter controller", "with the probes of conformance/tests"),
];

/// The preparation of a page's commands.
#[derive(Default)]
pub(crate) struct Page {
    /// A shell script that creates the reader's own files.
    pub(crate) before: &'static str,
}

pub(crate) fn page_plan(page: &str) -> Page {
    let before = match page {
        "docs/bench.md" => CAPTURE,
        "docs/stf.md" => SCRIPTS,
        "docs/compile.md" => PROGRAMS,
        "docs/compare.md" => RUNS,
        "docs/ctl.md" => {
            "planimeter switch programs/router.p4 --grpc-server-addr 127.0.0.1:9559 > switch.log & sleep 2\n"
        }
        "docs/peers.md" => "planimeter controller > controller.log & sleep 1\n",
        "docs/device.md" | "docs/device-measure.md" => DELAYS,
        "examples/mininet/README.md" => "mkdir build\ncp examples/mininet/pod/forward.p4 .\n",
        _ => "",
    };
    Page { before }
}

const CAPTURE: &str = "
planimeter stf -q --pcap-out captures programs/router.p4 || exit 1
cp \"$(ls captures/*.pcap* | head -1)\" trace.pcap
";

const SCRIPTS: &str = "
cp programs/entry_update.p4 switch.p4
printf 'add values entry:1 exchange(value:5)\\n' > learning.stf
cp learning.stf flooding.stf
planimeter stf -q --pcap-out made programs/router.p4 || exit 1
cp \"$(ls made/*.pcap* | head -1)\" web.pcap
cp examples/mininet/router/s1-runtime.json s1-runtime.json
cp programs/router.p4 basic.p4
printf '# nothing is sent\\n' > ping.stf
";

const PROGRAMS: &str = "
mkdir include
cp programs/router.p4 switch.p4
cp conformance/pipelines/forward.json l2.json
";

const RUNS: &str = "
for run in before after release today; do
    planimeter controller --listen 127.0.0.1:7000 > controller.log & sleep 1
    planimeter probe -q -c 127.0.0.1:7000 -n 1 -r 100 --warm-up 0s --duration 300ms --repetitions 2 -o runs/$run > /dev/null
    kill %%
    wait
done
";

const DELAYS: &str = "
for delay in f0:50000 match:53000 action:59000 both:62000; do
    for packet in $(seq 300); do
        echo $(( ${delay#*:} + packet * 7919 % 5000 ))
    done > ${delay%:*}.csv
done
printf 'device = \"d\"\\npacket-bytes = 64\\nbaseline = { match = \"port\", action = \"output\" }\\n[[cell]]\\ndelays = [\"f0.csv\"]\\n[[cell]]\\nmatch = \"five-tuple\"\\ndelays = [\"match.csv\"]\\n[[cell]]\\naction = \"set-nw-src\"\\ndelays = [\"action.csv\"]\\n[[cell]]\\nmatch = \"five-tuple\"\\naction = \"set-nw-src\"\\ndelays = [\"both.csv\"]\\n' > sources.toml
printf 'device.kind = \"memory\"\\nfunctions.program = \"programs/router.p4\"\\nfunctions.tests = 1\\nsettings.packet-bytes = [128]\\ncampaign = { repetitions = 3, packets = 40, warm-up = 10, seed = 1 }\\n' > parts.toml
planimeter device measure parts.toml -o runs/parts > /dev/null || exit 1
";

/// Returns the command without its comment, with flags that make it short enough for a test.
pub(crate) fn shortened(command: &str) -> String {
    let mut command = command.split("  #").next().unwrap_or(command).trim().to_owned();
    let verb = command.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let short: &[(&str, &str)] = match verb.as_str() {
        "bench" if command.contains("--traffic") => &[("--time", "2ms"), ("--repetitions", "1")],
        "bench" => &[("--time", "2ms"), ("--repetitions", "1"), ("--entries", "2^4")],
        "tables" if command.contains("--predict") => &[],
        "tables" if command.contains("--lost-updates") => &[("--lost-updates", "10k")],
        "tables" => &[("--time", "1ms"), ("--repetitions", "1"), ("--size", "2^4")],
        "probe" => &[
            ("--duration", "200ms"),
            ("--warm-up", "0s"),
            ("--repetitions", "1"),
            ("--settle", "100ms"),
        ],
        _ => &[],
    };
    let background = command.ends_with('&');
    command = command.trim_end_matches('&').trim_end().to_owned();
    for (flag, value) in short {
        command = with(&command, flag, value);
    }
    if background { command + " &" } else { command }
}

/// Returns the command with this value of a flag, whether or not the flag was given.
fn with(command: &str, flag: &str, value: &str) -> String {
    let mut words: Vec<&str> = command.split(' ').collect();
    match words.iter().position(|word| *word == flag) {
        Some(at) if at + 1 < words.len() => words[at + 1] = value,
        _ => words.extend([flag, value]),
    }
    words.join(" ")
}
