//! Files with many flows over a tandem of ten servers, for the benchmark and for tests of how the
//! work of reading grows.

use super::Format;

/// Returns a file with the given number of flows, a few lines each.
pub(crate) fn file(flows: usize, format: Format) -> String {
    let servers = 0..10;
    let path = |flow: usize, quote: &str| {
        let names: Vec<String> =
            (flow % 7..flow % 7 + 3).map(|s| format!("{quote}s{s}{quote}")).collect();
        names.join(", ")
    };
    match format {
        Format::Toml => {
            let servers = servers.map(|s| {
                format!("[[server]]\nname = \"s{s}\"\nservice = {{ rate-latency = {{ rate = \"10Gbps\", latency = 1e-6 }} }}\n")
            });
            let flows = (0..flows).map(|f| {
                let path = path(f, "\"");
                format!("[[flow]]\nname = \"f{f}\"\npath = [{path}]\narrival = {{ token-bucket = {{ burst = 0.67, rate = \"8kbps\" }} }}\n")
            });
            servers.chain(flows).collect()
        }
        Format::Json => {
            let servers: Vec<String> = servers
                .map(|s| format!("{{\"name\": \"s{s}\", \"service\": {{\"rate-latency\": {{\"rate\": 1e10, \"latency\": 1e-6}}}}}}"))
                .collect();
            let flows: Vec<String> = (0..flows)
                .map(|f| {
                    let path = path(f, "\"");
                    format!("{{\"name\": \"f{f}\", \"path\": [{path}],\n\"arrival\": {{\"token-bucket\": {{\"burst\": 0.67, \"rate\": 8000}}}}}}")
                })
                .collect();
            format!("{{\"server\": [{}],\n\"flow\": [{}]}}", servers.join(",\n"), flows.join(",\n"))
        }
        Format::Xml => {
            let mut text = "<elements><network name=\"n\" technology=\"FIFO\"/>\n".to_owned();
            for s in 0..11 {
                text += &format!(
                    "<switch name=\"n{s}\" service-rate=\"10Gbps\" service-latency=\"1us\"/>\n"
                );
                if s > 0 {
                    text += &format!("<link from=\"n{}\" to=\"n{s}\" fromPort=\"o0\"/>\n", s - 1);
                }
            }
            for f in 0..flows {
                let first = f % 7;
                text += &format!(
                    "<flow name=\"f{f}\" arrival-curve=\"leaky-bucket\" lb-burst=\"64\" lb-rate=\"8000\" maximum-packet-size=\"64\" source=\"n{first}\"><target name=\"t\">\n"
                );
                for step in first + 1..first + 4 {
                    text += &format!("<path node=\"n{step}\"/>\n");
                }
                text += "</target></flow>\n";
            }
            text + "</elements>\n"
        }
    }
}
