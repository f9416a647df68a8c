//! Bounds of flows and servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use calculus::Extended;
use calculus::network::{
    self, Analyser, Analysis, AnalysisError, ArrivalBound, FlowId, FlowOfInterest, Multiplexing,
    Settings, simulate,
};
use pyo3::prelude::*;

use super::{Network, named, no_bound};
use crate::curve::Curve;
use crate::errors::{Fault, Kind};
use crate::interrupts::long;
use crate::numbers::{Number, extended, fraction};

/// The settings of an analysis, as attributes of a Python object.
#[derive(FromPyObject)]
struct Given {
    multiplexing: Option<String>,
    flow_of_interest: String,
    arrival_bounds: Vec<String>,
    cap_bursts: bool,
    prolong: bool,
    deadline_s: Option<Number>,
    threads: usize,
}

impl Given {
    fn settings(self) -> Result<Settings, Fault> {
        let orders = [
            ("fifo", Multiplexing::Fifo),
            ("arbitrary", Multiplexing::Arbitrary),
            ("static-priority", Multiplexing::StaticPriority),
        ];
        let roles = [
            ("lowest-priority", FlowOfInterest::LowestPriority),
            ("lowest-priority-where-proven", FlowOfInterest::LowestPriorityWhereProven),
            ("interferes", FlowOfInterest::Interferes),
        ];
        let methods = ArrivalBound::ALL.map(|method| (method.name(), method));
        let order = |name: String| named("multiplexing", &name, &orders);
        let method = |name: &String| named("arrival_bounds", name, &methods);
        Ok(Settings {
            multiplexing: self.multiplexing.map(order).transpose()?,
            flow_of_interest: named("flow_of_interest", &self.flow_of_interest, &roles)?,
            arrival_bounds: self.arrival_bounds.iter().map(method).collect::<Result<_, _>>()?,
            cap_bursts: self.cap_bursts,
            prolong: self.prolong,
            deadline: self.deadline_s.map(|deadline| deadline.0),
            threads: self.threads,
        })
    }
}

/// The bounds of one flow.
#[pyclass(frozen, module = "planimeter.calculus")]
pub(crate) struct FlowBound {
    network: Arc<network::Network>,
    bound: network::FlowBound,
}

/// The bounds on all traffic at one server.
#[pyclass(frozen, module = "planimeter.calculus")]
pub(crate) struct ServerBound {
    name: String,
    bound: network::ServerBound,
}

/// An analysis of some flows, ready to run.
struct Task {
    network: Arc<network::Network>,
    settings: Settings,
    analysis: Analysis,
    flows: Vec<FlowId>,
}

impl Task {
    /// Bounds the flows, and counts those that are finished in `done`.
    fn run(
        self,
        stop: Arc<AtomicBool>,
        done: Arc<AtomicUsize>,
    ) -> Result<Vec<FlowBound>, AnalysisError> {
        let Self { network, settings, analysis, flows } = self;
        let analyser = Analyser::new(&network, settings).stopped_by(stop).counted_by(done);
        let rows = analyser.assess(&flows, &[analysis], false)?;
        if rows.len() < flows.len() {
            return Err(AnalysisError::Stopped);
        }
        let bounds = rows.into_iter().flatten().map(|assessed| assessed.bound);
        Ok(bounds.map(|bound| FlowBound { network: Arc::clone(&network), bound }).collect())
    }
}

impl Network {
    fn task(
        &self,
        analysis: Option<&str>,
        flows: Option<Vec<String>>,
        given: Given,
    ) -> Result<Task, Fault> {
        let network = self.built()?;
        let settings = given.settings()?;
        let known = Analysis::ALL.map(|analysis| (analysis.name(), analysis));
        let analysis = match analysis {
            Some(name) => named("analysis", name, &known)?,
            None if settings.deadline.is_some() => Analysis::Best,
            None => network.default_analysis(),
        };
        let id = |name: &String| {
            network.flow_named(name).ok_or_else(|| {
                Fault::new(Kind::Missing, format!("there is no flow '{name}'")).at("flows")
            })
        };
        let flows = match flows {
            Some(names) => names.iter().map(id).collect::<Result<_, _>>()?,
            None => network.flows().map(|(id, _)| id).collect(),
        };
        Ok(Task { network, settings, analysis, flows })
    }
}

#[pymethods]
impl Network {
    /// Bounds flows by an analysis. Calls `progress` with the number of flows that are bounded.
    fn bound_flows(
        &self,
        py: Python<'_>,
        analysis: Option<&str>,
        flows: Option<Vec<String>>,
        settings: Given,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(String, Vec<FlowBound>)> {
        let task = self.task(analysis, flows, settings)?;
        let (name, all) = (task.analysis.name().to_owned(), task.flows.len());
        let done = Arc::new(AtomicUsize::new(0));
        let of_task = Arc::clone(&done);
        let look = || match progress {
            None => Ok(()),
            Some(progress) => progress.call1((done.load(Ordering::Relaxed), all)).map(drop),
        };
        let bounds = long(py, move |stop| task.run(stop, of_task), look)?;
        Ok((name, bounds.map_err(|error| no_bound(&error))?))
    }

    /// Bounds all traffic at each server by an analysis.
    fn bound_servers(
        &self,
        py: Python<'_>,
        analysis: Option<&str>,
        settings: Given,
    ) -> PyResult<Vec<ServerBound>> {
        let Task { network, settings, analysis, .. } = self.task(analysis, None, settings)?;
        let work = move |stop: Arc<AtomicBool>| {
            let bounds = Analyser::new(&network, settings).stopped_by(stop).servers(analysis)?;
            let named = bounds.into_iter().map(|bound| ServerBound {
                name: network.server(bound.server).name.clone(),
                bound,
            });
            Ok::<_, AnalysisError>(named.collect())
        };
        Ok(long(py, work, || Ok(()))?.map_err(|error| no_bound(&error))?)
    }

    /// Returns the longest delay and the largest backlog of a flow in simulated runs, or None.
    fn simulate<'py>(
        &self,
        py: Python<'py>,
        flow: &str,
        settings: Given,
    ) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
        let Task { network, settings, flows, .. } =
            self.task(None, Some(vec![flow.to_owned()]), settings)?;
        let work = move |stop: Arc<AtomicBool>| {
            let flow = flows.first().copied()?;
            calculus::Interrupt::from(stop).watched_by(|| simulate(&network, flow, &settings))
        };
        let Some(run) = long(py, work, || Ok(()))? else { return Ok(None) };
        Ok(Some((fraction(py, &run.delay)?, fraction(py, &run.backlog)?)))
    }

    /// Returns why flows without a finite bound have none, each as a sentence and its flows.
    fn reasons(&self, flows: Vec<String>) -> PyResult<Vec<(String, Vec<String>)>> {
        let network = self.built()?;
        let ids: Vec<FlowId> = flows.iter().filter_map(|name| network.flow_named(name)).collect();
        let name = |id: &FlowId| network.flow(*id).name.clone();
        let reasons = network.unbounded(&ids).into_iter();
        let named = reasons.map(|(reason, flows)| {
            (reason.describe(&network).to_string(), flows.iter().map(name).collect())
        });
        Ok(named.collect())
    }
}

#[pymethods]
impl FlowBound {
    /// The name of the flow.
    #[getter]
    fn flow(&self) -> &str {
        &self.network.flow(self.bound.flow).name
    }

    /// The delay bound, exactly, in seconds: a Fraction, or a float if it is infinite.
    #[getter]
    fn delay<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        extended(py, &self.bound.delay)
    }

    /// The delay bound in seconds, rounded up.
    #[getter]
    fn delay_s(&self) -> f64 {
        self.bound.delay.to_f64_up()
    }

    /// The backlog bound, exactly, in bits: a Fraction, or a float if it is infinite.
    #[getter]
    fn backlog<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        extended(py, &self.bound.backlog)
    }

    /// The backlog bound in bits, rounded up.
    #[getter]
    fn backlog_bits(&self) -> f64 {
        self.bound.backlog.to_f64_up()
    }

    /// An arrival curve of the flow after its last server.
    #[getter]
    fn output(&self) -> Curve {
        self.bound.output.clone().into()
    }

    /// The analysis that found the delay bound.
    #[getter]
    fn analysis(&self) -> &'static str {
        self.bound.delay_by.analysis.name()
    }

    /// Whether the delay bound is proven under the settings of the analysis.
    #[getter]
    fn proven(&self) -> bool {
        self.bound.delay_by.proven
    }

    /// Whether curves were replaced by simpler ones on the safe side.
    #[getter]
    fn outlined(&self) -> bool {
        self.bound.delay_by.outlined
    }

    /// Whether the search for a smaller bound ended because this one meets the deadline.
    #[getter]
    fn cut_short(&self) -> bool {
        self.bound.cut_short
    }

    /// The derivation of the delay bound, step by step.
    #[getter]
    fn derivation(&self) -> String {
        self.bound.delay_by.derivation.lines(&self.network).join("\n")
    }

    /// The residual service curves of the path, each of which is a service curve for the flow.
    #[getter]
    fn services(&self) -> Vec<Curve> {
        self.bound.delay_by.derivation.services().iter().cloned().map(Curve::from).collect()
    }

    fn __repr__(&self) -> String {
        let text = |value: &Extended| network::describe::extended(value);
        let (delay, backlog) = (text(&self.bound.delay), text(&self.bound.backlog));
        format!("<FlowBound '{}' delay {delay} s, backlog {backlog} bits>", self.flow())
    }
}

/// The bounds of one priority at a server: the priority, the delay and the backlog.
type OfClass<'py> = (u32, Bound<'py, PyAny>, Bound<'py, PyAny>);

#[pymethods]
impl ServerBound {
    /// The name of the server.
    #[getter]
    fn server(&self) -> &str {
        &self.name
    }

    /// The bound on the time that data spend at the server, exactly, in seconds.
    #[getter]
    fn delay<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        extended(py, &self.bound.delay)
    }

    /// The bound on the time that data spend at the server in seconds, rounded up.
    #[getter]
    fn delay_s(&self) -> f64 {
        self.bound.delay.to_f64_up()
    }

    /// The bound on the data at the server, exactly, in bits.
    #[getter]
    fn backlog<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        extended(py, &self.bound.backlog)
    }

    /// The bound on the data at the server in bits, rounded up.
    #[getter]
    fn backlog_bits(&self) -> f64 {
        self.bound.backlog.to_f64_up()
    }

    /// The bounds of each priority, as (priority, delay, backlog), if the server has priorities.
    #[getter]
    fn classes<'py>(&self, py: Python<'py>) -> PyResult<Vec<OfClass<'py>>> {
        let class = |class: &network::ClassBound| {
            let (delay, backlog) = (extended(py, &class.delay)?, extended(py, &class.backlog)?);
            Ok((class.priority.0, delay, backlog))
        };
        self.bound.classes.iter().map(class).collect()
    }

    fn __repr__(&self) -> String {
        let text = |value: &Extended| network::describe::extended(value);
        let (delay, backlog) = (text(&self.bound.delay), text(&self.bound.backlog));
        format!("<ServerBound '{}' delay {delay} s, backlog {backlog} bits>", self.name)
    }
}
