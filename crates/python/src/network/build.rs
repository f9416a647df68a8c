//! The class in which a network is built, or read from a file.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use calculus::network::{
    self, Flow, Format, FormatError, Link, Multiplexing, NetworkBuilder, Priority, Regulator,
    Server, ServerId, format,
};
use pyo3::prelude::*;

use super::port::ClassOfPort;
use super::{named, not_a_network};
use crate::curve::Curve;
use crate::errors::{Fault, Kind};
use crate::interrupts;
use crate::numbers::{Number, fraction};

const ORDERS: [(&str, Multiplexing); 3] = [
    ("fifo", Multiplexing::Fifo),
    ("arbitrary", Multiplexing::Arbitrary),
    ("static-priority", Multiplexing::StaticPriority),
];
const REGULATORS: [(&str, Regulator); 2] =
    [("per-flow", Regulator::PerFlow), ("interleaved", Regulator::Interleaved)];

/// A network that is built step by step, or was read from a file.
#[pyclass(frozen, module = "planimeter._native")]
pub(crate) struct Network {
    state: Mutex<State>,
}

/// The state of a network.
struct State {
    /// The elements so far, or `None` for a network from a file, which cannot be changed.
    parts: Option<Parts>,
    /// The checked network, unless elements were added since it was built.
    built: Option<Arc<network::Network>>,
}

/// The elements of a network under construction.
struct Parts {
    name: String,
    builder: NetworkBuilder,
    /// The names of servers and of the queues of ports, in the order in which they were added.
    server_names: Vec<String>,
    flow_names: Vec<String>,
    /// The ids of servers by their names. The queue of a port is named `port/classes`.
    servers: HashMap<String, ServerId>,
    /// The queues of ports by the ports' names.
    ports: HashMap<String, Vec<(ServerId, Vec<Priority>)>>,
    flows: HashSet<String>,
}

impl Parts {
    /// Returns an error if a server or a port has the given name.
    fn check_free(&self, name: &str) -> Result<(), Fault> {
        if !self.servers.contains_key(name) && !self.ports.contains_key(name) {
            return Ok(());
        }
        Err(Fault::new(Kind::Network, format!("there is already a server or port '{name}'"))
            .at("name")
            .mended_by("choose another name"))
    }

    /// Returns the server of a step on the path of a flow: the server itself, or the queue of a
    /// port.
    fn step(&self, name: &str, priority: Priority) -> Result<ServerId, Fault> {
        if let Some(id) = self.servers.get(name) {
            return Ok(*id);
        }
        let Some(queues) = self.ports.get(name) else {
            return Err(Fault::new(Kind::Missing, format!("there is no server or port '{name}'"))
                .at("path")
                .mended_by("add it before the flows that visit it"));
        };
        let queue = queues.iter().find(|(_, classes)| classes.contains(&priority));
        queue.map(|(id, _)| *id).ok_or_else(|| {
            let known = queues.iter().flat_map(|(_, classes)| classes).map(Priority::to_string);
            let known = known.collect::<Vec<_>>().join(", ");
            Fault::new(Kind::Missing, format!("port '{name}' has no class of priority {priority}"))
                .at("priority")
                .mended_by(format!("choose one of {known}"))
        })
    }

    /// Returns the server with the given name, for a link.
    fn server(&self, argument: &str, name: &str) -> Result<ServerId, Fault> {
        self.servers.get(name).copied().ok_or_else(|| {
            Fault::new(Kind::Missing, format!("there is no server '{name}'")).at(argument)
        })
    }
}

impl Network {
    /// Adds elements to the network.
    fn change(&self, with: impl FnOnce(&mut Parts) -> Result<(), Fault>) -> PyResult<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(parts) = &mut state.parts else {
            return Err(Fault::new(Kind::Refused, "a network from a file cannot be changed")
                .mended_by("change the file, or build the network in Python")
                .into());
        };
        with(parts)?;
        state.built = None;
        Ok(())
    }

    /// Returns a property of the elements so far, or of a network from a file.
    fn seen<R>(
        &self,
        of_parts: impl FnOnce(&Parts) -> R,
        of_file: impl FnOnce(&network::Network) -> R,
    ) -> PyResult<R> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &state.parts {
            Some(parts) => return Ok(of_parts(parts)),
            None => drop(state),
        }
        Ok(of_file(&*self.built()?))
    }

    /// Returns the checked network.
    pub(super) fn built(&self) -> Result<Arc<network::Network>, Fault> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let built = match (&state.built, &state.parts) {
            (Some(built), _) => return Ok(Arc::clone(built)),
            (None, Some(parts)) => parts.builder.clone().build(),
            (None, None) => return Err(Fault::new(Kind::Internal, "the network has no elements")),
        };
        let built = Arc::new(built.map_err(|error| not_a_network(&error))?);
        state.built = Some(Arc::clone(&built));
        Ok(built)
    }
}

#[pymethods]
impl Network {
    #[new]
    fn new(name: String) -> Self {
        let parts = Parts {
            builder: NetworkBuilder::new(name.clone()),
            name,
            server_names: Vec::new(),
            flow_names: Vec::new(),
            servers: HashMap::new(),
            ports: HashMap::new(),
            flows: HashSet::new(),
        };
        Self { state: Mutex::new(State { parts: Some(parts), built: None }) }
    }

    /// Reads a network from a file.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let read = interrupts::brief(py, || read(&path))?;
        Ok(Self { state: Mutex::new(State { parts: None, built: Some(Arc::new(read?)) }) })
    }

    #[pyo3(signature = (
        name, service, *, multiplexing, strict, maximum_service, shaping, packetizer, regulator, eliminates
    ))]
    #[allow(clippy::too_many_arguments, reason = "they are the keyword arguments of Python")]
    fn add_server(
        &self,
        name: String,
        service: &Curve,
        multiplexing: &str,
        strict: bool,
        maximum_service: Option<&Curve>,
        shaping: Option<&Curve>,
        packetizer: bool,
        regulator: Option<&str>,
        eliminates: bool,
    ) -> PyResult<()> {
        let curve = |curve: &Curve| curve.inner().clone();
        let server = Server {
            name: name.clone(),
            service: service.inner().clone(),
            strict,
            maximum_service: maximum_service.map(curve),
            shaping: shaping.map(curve),
            multiplexing: named("multiplexing", multiplexing, &ORDERS)?,
            packetizer,
            regulator: regulator.map(|name| named("regulator", name, &REGULATORS)).transpose()?,
            eliminates,
        };
        self.change(|parts| {
            parts.check_free(&name)?;
            let id = parts.builder.server(server);
            parts.server_names.push(name.clone());
            parts.servers.insert(name, id);
            Ok(())
        })
    }

    #[pyo3(signature = (name, rate, *, scheduler, classes, latency, cycle, regulator))]
    #[allow(clippy::too_many_arguments, reason = "they are the keyword arguments of Python")]
    fn add_port(
        &self,
        name: String,
        rate: Number,
        scheduler: &str,
        classes: Vec<ClassOfPort>,
        latency: Number,
        cycle: Option<Number>,
        regulator: Option<&str>,
    ) -> PyResult<()> {
        let port = network::Port {
            name: name.clone(),
            rate: rate.0,
            latency: latency.0,
            scheduler: super::port::scheduler(scheduler, classes, cycle.map(|cycle| cycle.0))?,
        };
        let regulator = regulator.map(|name| named("regulator", name, &REGULATORS)).transpose()?;
        self.change(|parts| {
            parts.check_free(&name)?;
            let queues = parts.builder.port(port).map_err(|error| {
                Fault::new(Kind::Network, error.to_string()).at(format!("port '{name}'"))
            })?;
            for (id, classes) in &queues {
                parts.builder.regulate(*id, regulator);
                let classes: Vec<String> = classes.iter().map(Priority::to_string).collect();
                let queue = format!("{name}/{}", classes.join(","));
                parts.server_names.push(queue.clone());
                parts.servers.insert(queue, *id);
            }
            parts.ports.insert(name, queues);
            Ok(())
        })
    }

    #[pyo3(signature = (
        name, path, arrival, *, priority, maximum_packet, maximum_delay, multicast, replicated
    ))]
    #[allow(clippy::too_many_arguments, reason = "they are the keyword arguments of Python")]
    fn add_flow(
        &self,
        name: String,
        path: Vec<String>,
        arrival: &Curve,
        priority: u32,
        maximum_packet: Number,
        maximum_delay: Option<Number>,
        multicast: Option<String>,
        replicated: Option<String>,
    ) -> PyResult<()> {
        let priority = Priority(priority);
        self.change(|parts| {
            if parts.flows.contains(&name) {
                return Err(Fault::new(Kind::Network, format!("there is already a flow '{name}'"))
                    .at("name")
                    .mended_by("choose another name"));
            }
            let path = path.iter().map(|server| parts.step(server, priority));
            let path = path.collect::<Result<Vec<_>, _>>()?;
            parts.builder.flow(Flow {
                name: name.clone(),
                path,
                arrival: arrival.inner().clone(),
                priority,
                maximum_packet: maximum_packet.0,
                maximum_delay: maximum_delay.map(|delay| delay.0),
                multicast,
                replicated,
            });
            parts.flow_names.push(name.clone());
            parts.flows.insert(name);
            Ok(())
        })
    }

    fn add_link(&self, source: &str, target: &str, shaping: &Curve) -> PyResult<()> {
        self.change(|parts| {
            let (from, to) = (parts.server("source", source)?, parts.server("target", target)?);
            parts.builder.link(Link { from, to, shaping: shaping.inner().clone() });
            Ok(())
        })
    }

    /// The name of the network.
    #[getter]
    fn name(&self) -> PyResult<String> {
        self.seen(|parts| parts.name.clone(), |network| network.name().to_owned())
    }

    /// The names of the servers, in the order in which they were added.
    #[getter]
    fn servers(&self) -> PyResult<Vec<String>> {
        let names = |network: &network::Network| {
            network.servers().map(|(_, server)| server.name.clone()).collect()
        };
        self.seen(|parts| parts.server_names.clone(), names)
    }

    /// The names of the flows, in the order in which they were added.
    #[getter]
    fn flows(&self) -> PyResult<Vec<String>> {
        let names = |network: &network::Network| {
            network.flows().map(|(_, flow)| flow.name.clone()).collect()
        };
        self.seen(|parts| parts.flow_names.clone(), names)
    }

    /// Remarks on the origin of the network which a reader of its bounds must know.
    #[getter]
    fn notes(&self) -> PyResult<Vec<String>> {
        Ok(self.built()?.notes().to_vec())
    }

    /// Returns the service curve of a server.
    fn service_of(&self, server: &str) -> PyResult<Curve> {
        let network = self.built()?;
        let found = network.server_named(server).map(|id| network.server(id).service.clone());
        let missing = || Fault::new(Kind::Missing, format!("there is no server '{server}'"));
        Ok(found.ok_or_else(missing)?.into())
    }

    /// Returns the arrival curve of a flow.
    fn arrival_of(&self, flow: &str) -> PyResult<Curve> {
        let network = self.built()?;
        let found = network.flow_named(flow).map(|id| network.flow(id).arrival.clone());
        let missing = || Fault::new(Kind::Missing, format!("there is no flow '{flow}'"));
        Ok(found.ok_or_else(missing)?.into())
    }

    /// Returns the path of a flow, and the delay that it must not exceed.
    fn path_of<'py>(
        &self,
        py: Python<'py>,
        flow: &str,
    ) -> PyResult<(Vec<String>, Option<Bound<'py, PyAny>>)> {
        let network = self.built()?;
        let missing = || Fault::new(Kind::Missing, format!("there is no flow '{flow}'"));
        let flow = network.flow(network.flow_named(flow).ok_or_else(missing)?);
        let path = flow.path.iter().map(|id| network.server(*id).name.clone()).collect();
        let delay = flow.maximum_delay.as_ref().map(|delay| fraction(py, delay)).transpose()?;
        Ok((path, delay))
    }

    /// Returns the long-term load of each server, as arrival rate divided by service rate.
    fn loads(&self) -> PyResult<Vec<(String, f64)>> {
        let network = self.built()?;
        let name = |id| network.server(id).name.clone();
        Ok(network.loads().iter().map(|load| (name(load.server), load.ratio())).collect())
    }
}

/// Reads a network from a file.
fn read(path: &Path) -> Result<network::Network, Fault> {
    let name = path.display().to_string();
    let text = input::read_text(path).map_err(|error| {
        Fault::new(Kind::Input, format!("the file cannot be read: {error}")).at(name.clone())
    })?;
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let format = Format::of_extension(extension).ok_or_else(|| {
        Fault::new(Kind::Input, "the file name has an unknown ending")
            .at(name.clone())
            .mended_by("name it .toml, .json or .xml, by its format")
    })?;
    format::read(&text, format).map_err(|error| match error {
        FormatError::Syntax { line, message } => {
            Fault::new(Kind::Network, message).at(place(&name, line))
        }
        FormatError::Field { line, path, message } => {
            Fault::new(Kind::Network, format!("{path} {message}")).at(place(&name, line))
        }
        FormatError::Model(error) => not_a_network(&error).at(name),
        other => Fault::new(Kind::Network, other.to_string()).at(name),
    })
}

/// Returns the place of a line in a file. Line 0 is unknown.
fn place(file: &str, line: usize) -> String {
    if line == 0 { file.to_owned() } else { format!("{file}:{line}") }
}
