//! Values with a syntax of the probe's own: protocols, inter-arrival distributions, frames,
//! topologies, processes.

use std::path::Path;

use super::path::input_file;
use super::scalar::{narrow, parse_number};
use super::{Rejection, Value, alternatives, quoted};
use crate::config::rfc8456::Tests;
use crate::config::{
    Arrivals, FlowTables, Frame, Generator, Load, Matching, PortForm, ProcessSelector, Protocol,
    TopologySource,
};

/// Implements [`Value`] for a type whose values are words. A value may have several spellings, of
/// which the first is the canonical one.
macro_rules! words {
    ($type:ty, $what:literal, { $($value:path = $name:literal $(| $alias:literal)*),+ $(,)? }) => {
        impl Value for $type {
            fn read(&mut self, text: &str, _: &Path) -> Result<(), Rejection> {
                *self = match text {
                    $($name $(| $alias)* => $value,)+
                    _ => return Err(unknown_word(text, $what, &[$($name),+])),
                };
                Ok(())
            }

            fn text(&self) -> String {
                match self {
                    $($value => $name.to_owned(),)+
                }
            }
        }
    };
}

fn unknown_word(text: &str, what: &str, words: &[&str]) -> Rejection {
    Rejection::write(format!("{} is not a {what}", quoted(text)), alternatives(words))
}

words!(Protocol, "protocol", {
    Protocol::OpenFlow13 = "openflow13" | "openflow" | "of13" | "of",
    Protocol::OpenFlow10 = "openflow10" | "of10",
    Protocol::P4Runtime = "p4runtime" | "p4rt",
});

/// The name of a traffic mode, without its parameters, which are separate settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::config) enum ModeName {
    #[default]
    Open,
    Closed,
    Flood,
}

words!(ModeName, "mode", {
    ModeName::Open = "open",
    ModeName::Closed = "closed",
    ModeName::Flood = "flood",
});

words!(PortForm, "form", {
    PortForm::Canonical = "canonical",
    PortForm::FullWidth = "full-width",
});

words!(Generator, "generator", {
    Generator::Hosts = "hosts",
    Generator::Serial = "serial",
    Generator::Random = "random",
});

words!(FlowTables, "way of treating packets", {
    FlowTables::Bypass = "bypass",
    FlowTables::Run = "run",
});

words!(Load, "load", {
    Load::PacketIn = "packet-in",
    Load::Digest = "digest",
    Load::IdleTimeout = "idle-timeout",
});

words!(Matching, "way of matching", {
    Matching::Auto = "auto",
    Matching::Payload = "payload",
    Matching::Xid = "xid",
    Matching::Rule = "rule",
    Matching::Order = "order",
});

/// The name of a kind of plan, without its parameters, which are separate settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::config) enum PlanName {
    #[default]
    Point,
    Sweep,
    Search,
    Rfc8456(Tests),
}

impl Value for PlanName {
    fn read(&mut self, text: &str, _: &Path) -> Result<(), Rejection> {
        *self = match split(text) {
            ("point", None) => Self::Point,
            ("sweep", None) => Self::Sweep,
            ("search", None) => Self::Search,
            ("rfc8456", None) => Self::Rfc8456(Tests::ALL),
            ("rfc8456", Some(tests)) => Self::Rfc8456(
                tests
                    .parse()
                    .map_err(|message| Rejection::write(message, "rfc8456:5.1.3,5.1.8"))?,
            ),
            _ => {
                let words = ["point", "sweep", "search", "rfc8456", "rfc8456:SECTIONS"];
                return Err(unknown_word(text, "plan", &words));
            }
        };
        Ok(())
    }

    fn text(&self) -> String {
        match self {
            Self::Point => "point".to_owned(),
            Self::Sweep => "sweep".to_owned(),
            Self::Search => "search".to_owned(),
            Self::Rfc8456(Tests::ALL) => "rfc8456".to_owned(),
            Self::Rfc8456(tests) => format!("rfc8456:{tests}"),
        }
    }
}

/// The possible forms of an inter-arrival distribution ([`Arrivals`]), which error messages list.
const ARRIVALS: &[&str] = &[
    "constant",
    "constant:in-phase",
    "exponential",
    "uniform:SPREAD",
    "normal:DEVIATION",
    "pareto:SHAPE",
    "gamma:SHAPE",
    "replay:FILE",
];

impl Value for Arrivals {
    fn read(&mut self, text: &str, base: &Path) -> Result<(), Rejection> {
        let (name, parameter) = split(text);
        *self = match (name, parameter) {
            ("constant", None) => Self::Constant,
            ("constant", Some("in-phase")) => Self::InPhase,
            ("exponential" | "poisson", None) => Self::Exponential,
            ("uniform", Some(spread)) => {
                let spread = parse_number(spread)?;
                if !(spread > 0.0 && spread <= 1.0) {
                    let message = format!(
                        "a uniform distribution's spread {spread} is not above 0 and at most 1"
                    );
                    return Err(Rejection::write(message, "uniform:0.5"));
                }
                Self::Uniform { spread }
            }
            ("normal", Some(deviation)) => {
                let deviation = parse_number(deviation)?;
                if !(deviation > 0.0 && deviation <= 1.0) {
                    let message = format!(
                        "a normal distribution's deviation {deviation}, which is relative to the \
                         mean, is not above 0 and at most 1"
                    );
                    return Err(Rejection::write(message, "normal:0.2"));
                }
                Self::Normal { deviation }
            }
            ("pareto", Some(shape)) => {
                let shape = parse_number(shape)?;
                if !(1.01..=1000.0).contains(&shape) {
                    let message = format!(
                        "a Pareto distribution's shape {shape} is outside 1.01 to 1000 (at 1 and \
                         below there is no mean)"
                    );
                    return Err(Rejection::write(message, "pareto:2.5"));
                }
                Self::Pareto { shape }
            }
            ("gamma", Some(shape)) => {
                let shape = parse_number(shape)?;
                if !(0.01..=1000.0).contains(&shape) {
                    let message =
                        format!("a gamma distribution's shape {shape} is outside 0.01 to 1000");
                    return Err(Rejection::write(message, "gamma:0.5"));
                }
                Self::Gamma { shape }
            }
            ("replay", Some(file)) => Self::Replay { file: input_file(file, base)? },
            _ => return Err(wrong_form(text, "distribution", ARRIVALS)),
        };
        Ok(())
    }

    fn text(&self) -> String {
        match self {
            Self::Constant => "constant".to_owned(),
            Self::InPhase => "constant:in-phase".to_owned(),
            Self::Exponential => "exponential".to_owned(),
            Self::Uniform { spread } => format!("uniform:{spread}"),
            Self::Normal { deviation } => format!("normal:{deviation}"),
            Self::Pareto { shape } => format!("pareto:{shape}"),
            Self::Gamma { shape } => format!("gamma:{shape}"),
            Self::Replay { file } => format!("replay:{}", file.display()),
        }
    }
}

impl Value for Frame {
    fn read(&mut self, text: &str, base: &Path) -> Result<(), Rejection> {
        *self = match split(text) {
            ("tcp-syn", None) => Self::TcpSyn,
            ("udp", None) => Self::Udp,
            ("replay", Some(file)) => Self::Replay(input_file(file, base)?),
            _ => return Err(wrong_form(text, "frame", &["tcp-syn", "udp", "replay:FILE"])),
        };
        Ok(())
    }

    fn text(&self) -> String {
        match self {
            Self::TcpSyn => "tcp-syn".to_owned(),
            Self::Udp => "udp".to_owned(),
            Self::Replay(file) => format!("replay:{}", file.display()),
        }
    }
}

/// The possible forms of a topology ([`TopologySource`]), which error messages list.
const TOPOLOGIES: &[&str] =
    &["none", "linear", "tree:FANOUT", "leaf-spine:SPINES", "graphml:FILE", "links:FILE"];

impl Value for TopologySource {
    fn read(&mut self, text: &str, base: &Path) -> Result<(), Rejection> {
        *self = match split(text) {
            ("none", None) => Self::None,
            ("linear", None) => Self::Linear,
            ("tree", Some(fanout)) => Self::Tree { fanout: positive(fanout, "fanout")? },
            ("leaf-spine", Some(spines)) => {
                Self::LeafSpine { spines: positive(spines, "number of spines")? }
            }
            ("graphml", Some(file)) => Self::GraphMl(input_file(file, base)?),
            ("links", Some(file)) => Self::Links(input_file(file, base)?),
            _ => return Err(wrong_form(text, "topology", TOPOLOGIES)),
        };
        Ok(())
    }

    fn text(&self) -> String {
        match self {
            Self::None => "none".to_owned(),
            Self::Linear => "linear".to_owned(),
            Self::Tree { fanout } => format!("tree:{fanout}"),
            Self::LeafSpine { spines } => format!("leaf-spine:{spines}"),
            Self::GraphMl(file) => format!("graphml:{}", file.display()),
            Self::Links(file) => format!("links:{}", file.display()),
        }
    }
}

fn positive(text: &str, what: &str) -> Result<u32, Rejection> {
    match narrow(text, u128::from(u32::MAX))? {
        0 => Err(format!("the {what} is 0").into()),
        number => Ok(number),
    }
}

/// The selector of the controller's process, or `None` if no process is sampled.
#[derive(Debug, Default)]
pub(in crate::config) struct Process(pub(in crate::config) Option<ProcessSelector>);

/// The possible forms of a process selector ([`Process`]), which error messages list.
const PROCESSES: &[&str] = &["auto", "none", "pid:NUMBER", "name:TEXT", "ssh:USER@HOST:name:TEXT"];

impl Value for Process {
    fn read(&mut self, text: &str, _: &Path) -> Result<(), Rejection> {
        self.0 = match text {
            "none" => None,
            "auto" => Some(ProcessSelector::Listener),
            _ => Some(match text.strip_prefix("ssh:") {
                Some(rest) => remote_process(rest)?,
                None => local_process(text)?,
            }),
        };
        Ok(())
    }

    fn text(&self) -> String {
        self.0.as_ref().map_or_else(|| "none".to_owned(), process_text)
    }
}

fn local_process(text: &str) -> Result<ProcessSelector, Rejection> {
    match split(text) {
        ("pid", Some(pid)) => Ok(ProcessSelector::Pid(positive(pid, "process id")?)),
        ("name", Some(name)) if !name.is_empty() => Ok(ProcessSelector::Name(name.to_owned())),
        _ => Err(wrong_form(text, "process", PROCESSES)),
    }
}

fn remote_process(text: &str) -> Result<ProcessSelector, Rejection> {
    let at = [":pid:", ":name:"].into_iter().filter_map(|word| text.find(word)).min();
    let Some((target, process)) = at.and_then(|at| Some((text.get(..at)?, text.get(at + 1..)?)))
    else {
        let message = format!("{} names no process on that host", quoted(text));
        return Err(Rejection::write(
            message,
            "ssh:USER@HOST:name:TEXT or ssh:USER@HOST:pid:NUMBER",
        ));
    };
    // The target becomes an argument of ssh, where a leading dash would make it an option.
    if target.is_empty() || target.starts_with('-') || target.contains(char::is_whitespace) {
        return Err(format!("{} is not a host to reach by ssh", quoted(target)).into());
    }
    Ok(ProcessSelector::Ssh {
        target: target.to_owned(),
        process: Box::new(local_process(process)?),
    })
}

fn process_text(process: &ProcessSelector) -> String {
    match process {
        ProcessSelector::Listener => "auto".to_owned(),
        ProcessSelector::Pid(pid) => format!("pid:{pid}"),
        ProcessSelector::Name(name) => format!("name:{name}"),
        ProcessSelector::Ssh { target, process } => {
            format!("ssh:{target}:{}", process_text(process))
        }
    }
}

/// The host name and the port of the controller.
#[derive(Debug, Default)]
pub(in crate::config) struct ControllerAddress(pub(in crate::config) String);

/// The port that IANA has assigned to OpenFlow. It is used if the controller's address contains no
/// port.
const OPENFLOW_PORT: u16 = 6653;

impl Value for ControllerAddress {
    fn read(&mut self, text: &str, _: &Path) -> Result<(), Rejection> {
        let (host, port) = host_and_port(text)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '%');
        if host.is_empty() || !host.chars().all(plain) {
            return Err(format!("{} names no host", quoted(text)).into());
        }
        self.0 =
            if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        Ok(())
    }

    fn text(&self) -> String {
        self.0.clone()
    }
}

fn host_and_port(text: &str) -> Result<(&str, u16), Rejection> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest
            .split_once(']')
            .ok_or_else(|| format!("{} lacks the closing bracket", quoted(text)))?;
        match after.strip_prefix(':') {
            None if !after.is_empty() => {
                return Err(format!("{} names no host", quoted(text)).into());
            }
            port => (host, port),
        }
    } else if text.matches(':').count() > 1 {
        (text, None)
    } else {
        match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        }
    };
    let port = match port {
        None => OPENFLOW_PORT,
        Some(port) => match port.parse() {
            Ok(number) if number > 0 => number,
            _ => return Err(format!("{} is not a port (1 to 65535)", quoted(port)).into()),
        },
    };
    Ok((host, port))
}

/// The base address of ONOS's REST interface. Empty text sets it to `None`.
#[derive(Debug, Default)]
pub(in crate::config) struct RestBase(pub(in crate::config) Option<String>);

impl Value for RestBase {
    fn read(&mut self, text: &str, _: &Path) -> Result<(), Rejection> {
        self.0 = None;
        if text.is_empty() {
            return Ok(());
        }
        let base = text.trim_end_matches('/');
        match base.strip_prefix("http://") {
            Some(host) if !host.is_empty() && !host.contains(char::is_whitespace) => {
                self.0 = Some(base.to_owned());
                Ok(())
            }
            _ => Err(format!("{} is not an address that begins with http://", quoted(text)).into()),
        }
    }

    fn text(&self) -> String {
        self.0.clone().unwrap_or_default()
    }
}

/// A password, which is given in clear text or as `env:NAME`, the name of an environment variable.
/// Results contain only the name of a variable, except for the well-known default password of ONOS.
#[derive(Default)]
pub(in crate::config) struct Secret {
    pub(in crate::config) value: String,
    text: String,
}

/// The default password of ONOS, which ONOS's manual publishes.
const ONOS_DEFAULT_PASSWORD: &str = "rocks";
/// The text that results contain instead of a password that was given in clear text.
const SECRET_REFERENCE: &str = "env:PLANIMETER_ONOS_PASSWORD";

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Value for Secret {
    fn read(&mut self, text: &str, _: &Path) -> Result<(), Rejection> {
        if let Some(name) = text.strip_prefix("env:") {
            // `var` panics on names that no variable can have.
            let possible = !name.is_empty() && !name.contains(['=', '\0']);
            let value = possible
                .then(|| std::env::var(name).ok())
                .flatten()
                .ok_or_else(|| format!("the environment variable {} is not set", quoted(name)))?;
            *self = Self { value, text: text.to_owned() };
        } else {
            let shown = if text == ONOS_DEFAULT_PASSWORD { text } else { SECRET_REFERENCE };
            *self = Self { value: text.to_owned(), text: shown.to_owned() };
        }
        Ok(())
    }

    fn text(&self) -> String {
        self.text.clone()
    }
}

/// Splits a text of the form `name:parameter`. The parameter is `None` if there is no colon.
fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once(':') {
        Some((name, parameter)) => (name, Some(parameter)),
        None => (text, None),
    }
}

/// Returns the rejection of a text whose word is unknown, lacks its parameter, or takes no
/// parameter.
fn wrong_form(text: &str, what: &str, forms: &[&str]) -> Rejection {
    let name = split(text).0;
    match forms.iter().find(|form| split(form).0 == name) {
        Some(form) => {
            let message = match split(form).1 {
                Some(parameter) => format!("{name} needs its {}", parameter.to_lowercase()),
                None => format!("{name} takes no parameter"),
            };
            Rejection::write(message, *form)
        }
        None => unknown_word(text, what, forms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: Value + Default>(text: &str) -> Result<T, String> {
        let mut value = T::default();
        value.read(text, Path::new("")).map_err(|rejection| rejection.message)?;
        Ok(value)
    }

    #[test]
    fn protocols_have_short_names() {
        for (text, protocol) in [
            ("openflow10", Protocol::OpenFlow10),
            ("of10", Protocol::OpenFlow10),
            ("of13", Protocol::OpenFlow13),
            ("of", Protocol::OpenFlow13),
            ("p4rt", Protocol::P4Runtime),
        ] {
            assert_eq!(read(text), Ok(protocol), "{text}");
        }
        assert_eq!(read::<Protocol>("http"), Err("\"http\" is not a protocol".to_owned()));
    }

    #[test]
    fn arrivals_read_back_what_they_write() {
        for text in [
            "constant",
            "constant:in-phase",
            "exponential",
            "uniform:0.5",
            "normal:0.2",
            "pareto:2.5",
            "gamma:0.5",
        ] {
            assert_eq!(read::<Arrivals>(text).map(|value| value.text()), Ok(text.to_owned()));
        }
        assert_eq!(read("poisson"), Ok(Arrivals::Exponential));
    }

    #[test]
    fn impossible_distributions_are_refused() {
        for (text, complaint) in [
            ("pareto:1", "a Pareto distribution's shape 1 is outside"),
            ("pareto:0.5", "a Pareto distribution's shape 0.5 is outside"),
            ("gamma:0", "a gamma distribution's shape 0 is outside"),
            ("uniform:1.5", "a uniform distribution's spread 1.5"),
            ("normal:-0.1", "a normal distribution's deviation -0.1"),
            ("pareto", "pareto needs its shape"),
            ("constant:5", "constant takes no parameter"),
            ("weibull:2", "\"weibull:2\" is not a distribution"),
            ("pareto:x", "\"x\" is not a number"),
        ] {
            let message = read::<Arrivals>(text).expect_err(text);
            assert!(message.starts_with(complaint), "{text}: {message}");
        }
    }

    #[test]
    fn topologies_read_back_what_they_write() {
        for text in ["none", "linear", "tree:2", "leaf-spine:4"] {
            assert_eq!(read::<TopologySource>(text).map(|value| value.text()), Ok(text.to_owned()));
        }
        for text in ["tree", "tree:0", "tree:x", "ring", "leaf-spine:-1", "graphml:"] {
            assert!(read::<TopologySource>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn processes_read_back_what_they_write() {
        for text in
            ["none", "auto", "pid:123", "name:karaf", "ssh:me@host:name:a:b", "ssh:host:pid:7"]
        {
            assert_eq!(read::<Process>(text).map(|value| value.text()), Ok(text.to_owned()));
        }
        for text in [
            "1234",
            "pid:0",
            "pid:x",
            "name:",
            "ssh:host",
            "ssh:-oProxyCommand=x:pid:1",
            "ssh::name:x",
            "ssh:host:name:",
        ] {
            assert!(read::<Process>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn controller_addresses_get_the_port_of_openflow() {
        for (text, address) in [
            ("localhost", "localhost:6653"),
            ("10.0.0.1:6633", "10.0.0.1:6633"),
            ("::1", "[::1]:6653"),
            ("[::1]:6634", "[::1]:6634"),
            ("[fe80::1%eth0]", "[fe80::1%eth0]:6653"),
        ] {
            assert_eq!(read::<ControllerAddress>(text).map(|value| value.0), Ok(address.into()));
        }
        for text in
            ["", ":6653", "host:0", "host:70000", "host:", "a b:1", "[::1", "[::1]x", "http://x"]
        {
            assert!(read::<ControllerAddress>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rest_bases_are_plain_http() {
        assert_eq!(
            read::<RestBase>("http://h:8181/").map(|base| base.0),
            Ok(Some("http://h:8181".to_owned()))
        );
        assert_eq!(read::<RestBase>("").map(|base| base.0), Ok(None));
        for text in ["h:8181", "https://h", "http://", "http://a b"] {
            assert!(read::<RestBase>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn passwords_do_not_reach_results() {
        let secret = read::<Secret>("hunter2").expect("a password");
        assert_eq!(secret.value, "hunter2");
        assert_eq!(secret.text(), "env:PLANIMETER_ONOS_PASSWORD");
        assert!(!format!("{secret:?}").contains("hunter2"));
        assert_eq!(read::<Secret>("rocks").map(|secret| secret.text()), Ok("rocks".to_owned()));
        let path = read::<Secret>("env:PATH").expect("PATH is set everywhere");
        assert_eq!((path.value.is_empty(), path.text().as_str()), (false, "env:PATH"));
        for text in ["env:", "env:A=B", "env:PLANIMETER_SURELY_NOT_SET"] {
            assert!(read::<Secret>(text).is_err(), "{text}");
        }
    }
}
