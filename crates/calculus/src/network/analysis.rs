//! The analyses.
//!
//! Each has a file with one function from a `Bounder` and a flow to a [`FlowBound`]; this module
//! picks, and runs flows on all cores. A further analysis takes a variant of [`Analysis`], a file
//! and an arm in `Analyser::run`.

mod aware;
mod best;
mod bursts;
mod fixed_point;
mod linear;
mod ludb;
mod pmoo;
mod sfa;
mod sink_tree;
mod tandem_matching;
mod tfa;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use std::{fmt, iter};

use super::arrival::{Bounder, Common};
use super::derivation::{Derivation, Step};
use super::elements::{FlowId, Priority, ServerId};
use super::model::Network;
use super::operations;
use super::port::PortError;
use super::settings::{FlowOfInterest, Settings};
use crate::{AlgebraError, Curve, Extended, Interrupt};

use fixed_point::Delays;
use tfa::Totals;

/// How a flow's delay and backlog are bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub enum Analysis {
    /// Total flow analysis: delays at each server of all its traffic, added up. This one and all others but
    /// [`Analysis::SinkTree`] bound cyclic networks, too.
    Tfa,
    /// Separate flow analysis: what each server leaves over for the flow, convolved (pay bursts
    /// only once).
    Sfa,
    /// Pay multiplexing only once: what the whole path leaves over for the flow. Any order of
    /// service.
    Pmoo,
    /// Tandem matching: PMOO over the parts of the path, cut in the best way. Any order of service.
    TandemMatching,
    /// Total flow analysis by delays, with the shaping of links.
    TfaPlusPlus,
    /// For FIFO networks in which all flows go to one root; exact for rate-latency service and
    /// token buckets.
    SinkTree,
    /// Least upper delay bound for FIFO paths: nested left-over curves with the best
    /// parameters.
    Ludb,
    /// A linear program of polynomial size for FIFO paths, with the delays of
    /// [`Analysis::TfaPlusPlus`] as further constraints.
    Plp,
    /// The exponential linear program for FIFO paths of a few servers.
    Elp,
    /// One linear program for strict servers in any order of service; exact for tandems.
    Ulp,
    /// The smallest bounds of all analyses and conventions that apply and are proven.
    Best,
    /// The smaller of total flow analysis, separate flow analysis and PMOO, each by one proven convention: what even large
    /// networks have time for.
    Quick,
}

impl Analysis {
    /// All analyses.
    pub const ALL: [Self; 12] = [
        Self::Tfa,
        Self::Sfa,
        Self::Pmoo,
        Self::TandemMatching,
        Self::TfaPlusPlus,
        Self::SinkTree,
        Self::Ludb,
        Self::Plp,
        Self::Elp,
        Self::Ulp,
        Self::Best,
        Self::Quick,
    ];

    /// The name that the command line and result files use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tfa => "tfa",
            Self::Sfa => "sfa",
            Self::Pmoo => "pmoo",
            Self::TandemMatching => "tma",
            Self::TfaPlusPlus => "tfa++",
            Self::SinkTree => "sink-tree",
            Self::Ludb => "ludb",
            Self::Plp => "plp",
            Self::Elp => "elp",
            Self::Ulp => "ulp",
            Self::Best => "best",
            Self::Quick => "quick",
        }
    }
}

impl fmt::Display for Analysis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Why there is no bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// Flows depend on each other in a circle.
    #[error(
        "{analysis} does not support cyclic dependencies, and the servers {} feed each other; use \
         another analysis",
        .servers.join(" -> ")
    )]
    Cyclic {
        /// The analysis.
        analysis: &'static str,
        /// Servers of one cycle, in order.
        servers: Vec<String>,
    },
    /// A bound for any order of service, or by priorities, needs strict service.
    #[error(
        "the service curve of server '{0}' is not strict; only FIFO bounds hold for it (mark it \
         strict if it is)"
    )]
    NotStrict(String),
    /// Cross traffic of cross traffic goes on for too long.
    #[error("the network is too deep: more than 20000 servers in a row")]
    TooDeep,
    /// The network is no sink tree.
    #[error("no sink tree: {0}; use another analysis")]
    NotSinkTree(String),
    /// No linear program, or no nest of cross flows, describes the path of the flow.
    #[error("no program for the path: {0}; use another analysis")]
    NoProgram(String),
    /// Regulators, multicast and replicated flows are known to analyses by delays only.
    #[error("{0} does not know regulators, multicast and replicated flows; use tfa++")]
    NeedsDelays(&'static str),
    /// A server between an interleaved regulator and the previous regulation of its flows does not
    /// keep the order of arrival.
    #[error(
        "the interleaved regulator behind server '{regulator}' needs FIFO service since the last regulation of its flows, and \
         server '{server}' serves in any order; serve in the order of arrival there, or regulate each flow by itself \
         (per-flow)"
    )]
    NotInOrder {
        /// The server in front of the regulator.
        regulator: String,
        /// The server that serves in any order.
        server: String,
    },
    /// Flows that share an interleaved regulator were not regulated, and did not begin, at one
    /// place.
    #[error(
        "the interleaved regulator behind server '{regulator}' has no bound: flow '{first}' was regulated last (or begins) \
         before server '{first_entry}', flow '{second}' before server '{second_entry}', and what is late of one \
         blocks the other; put regulators behind all servers (and ports) before it, or regulate each flow by itself (per-flow)"
    )]
    OvertakesRegulated {
        /// The server in front of the regulator.
        regulator: String,
        /// A flow of the regulator.
        first: String,
        /// The server to which it comes regulated.
        first_entry: String,
        /// Another flow of it.
        second: String,
        /// The server to which that one comes regulated.
        second_entry: String,
    },
    /// No more bounds were wanted ([`Analyser::stopped_by`]).
    #[error("it was stopped before its end")]
    Stopped,
    /// The settings name no way to bound arrivals.
    #[error("no method to bound arrivals is set; name at least one")]
    NoArrivalBound,
    /// The curves are beyond what the algebra does.
    #[error(transparent)]
    Algebra(AlgebraError),
    /// A port is none.
    #[error(transparent)]
    Port(#[from] PortError),
}

impl From<AlgebraError> for AnalysisError {
    fn from(error: AlgebraError) -> Self {
        match error {
            AlgebraError::Interrupted => Self::Stopped,
            error => Self::Algebra(error),
        }
    }
}

/// Bounds of one flow.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub struct FlowBound {
    /// The flow.
    pub flow: FlowId,
    /// Time from entering the first server to leaving the last one, at most.
    pub delay: Extended,
    /// Data of the flow inside the network at any time, at most; for [`Analysis::Tfa`], as is usual,
    /// data of all flows at the server of the path that has most.
    pub backlog: Extended,
    /// Arrival curve behind the last server.
    pub output: Curve,
    /// How the delay was bounded.
    pub delay_by: Arc<Source>,
    /// How the backlog was bounded.
    pub backlog_by: Arc<Source>,
    /// Whether smaller bounds were not looked for, since the delay is proven to be within the deadline ([`Settings::deadline`]).
    pub cut_short: bool,
}

/// Where a bound comes from.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub struct Source {
    /// The analysis.
    pub analysis: Analysis,
    /// Its conventions.
    pub settings: Settings,
    /// Whether the convention is proven for the order of service; see [`FlowOfInterest`].
    pub proven: bool,
    /// Whether curves were replaced by the concave and convex ones around them, because the exact ones are beyond the
    /// algebra: all for the analysis, or some when they were read ([`Network::outlined`]).
    pub outlined: bool,
    /// Step by step.
    pub derivation: Derivation,
}

/// Bounds of one server.
#[derive(Clone, Debug)]
pub struct ServerBound {
    /// The server.
    pub server: ServerId,
    /// Time that any data spend there, at most.
    pub delay: Extended,
    /// Data there at any time, at most.
    pub backlog: Extended,
    /// Where the server serves by static priority, the same for the flows of each priority, the most urgent first;
    /// elsewhere none.
    pub classes: Vec<ClassBound>,
}

/// Bounds of the flows of one priority at a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassBound {
    /// Their priority.
    pub priority: Priority,
    /// Time that any of their data spend at the server, at most.
    pub delay: Extended,
    /// Data of theirs at the server at any time, at most: what a queue of their own must hold.
    pub backlog: Extended,
}

impl ServerBound {
    /// The smaller of two bounds of one server, for all its traffic and for each priority.
    fn min(self, other: Self) -> Self {
        let classes = self.classes.into_iter().zip(other.classes).map(|(a, b)| ClassBound {
            priority: a.priority,
            delay: a.delay.min(b.delay),
            backlog: a.backlog.min(b.backlog),
        });
        Self {
            server: self.server,
            delay: self.delay.min(other.delay),
            backlog: self.backlog.min(other.backlog),
            classes: classes.collect(),
        }
    }
}

/// Bounds the flows of a network under one set of conventions. Remembers what it computed.
#[derive(Debug)]
pub struct Analyser<'n> {
    /// The network, which the analyses see in outline if its periods are too long.
    network: &'n Network,
    common: Common<'n>,
    totals: Totals,
    delays: OnceLock<Result<Delays, AnalysisError>>,
    cuts: linear::Cuts,
    /// Whether flows depend on each other in a circle.
    is_cyclic: bool,
    /// A cyclic network, cut by bursts that left-over services bound.
    cut: OnceLock<Result<Common<'n>, AnalysisError>>,
    /// The same by bursts that linear programs bound as well.
    cut_by_programs: OnceLock<Result<Common<'n>, AnalysisError>>,
    /// Flows that were assessed.
    assessed: AtomicUsize,
    /// Servers that were bounded.
    servers_bounded: AtomicUsize,
    /// Flows of which derivations are kept.
    explained: usize,
    /// What [`Analysis::Best`] chooses from.
    candidates: OnceLock<Vec<best::Candidate<'n>>>,
    /// What [`Analysis::Quick`] chooses from.
    quick: OnceLock<Vec<best::Candidate<'n>>>,
    /// For what is beyond the algebra: the same with simpler curves.
    outlined: OnceLock<Box<Analyser<'n>>>,
    /// Set by whoever wants no more bounds.
    stop: Interrupt,
}

impl<'n> Analyser<'n> {
    /// For that network with those conventions.
    pub fn new(network: &'n Network, settings: Settings) -> Self {
        let outline = !network.is_outline() && network.needs_outline();
        let analysed = if outline { network.outline() } else { network };
        Self {
            network,
            common: Common::new(analysed, settings),
            totals: Totals::default(),
            delays: OnceLock::new(),
            cuts: linear::Cuts::of(analysed),
            is_cyclic: analysed.order().is_err(),
            cut: OnceLock::new(),
            cut_by_programs: OnceLock::new(),
            assessed: AtomicUsize::new(0),
            servers_bounded: AtomicUsize::new(0),
            explained: usize::MAX,
            candidates: OnceLock::new(),
            quick: OnceLock::new(),
            outlined: OnceLock::new(),
            stop: Interrupt::default(),
        }
    }

    /// Has every analysis end with [`AnalysisError::Stopped`] soon after the interrupt is set, within milliseconds: nothing that is
    /// asked on the way to a bound is begun then.
    #[must_use]
    pub fn stopped_by(mut self, stop: impl Into<Interrupt>) -> Self {
        self.stop = stop.into();
        self
    }

    /// Keeps the steps of derivations for so many flows that [`Analyser::assess`] is asked for: there is one for each server of a
    /// path, which is most of what a bound takes in memory.
    #[must_use]
    pub fn explaining(self, flows: usize) -> Self {
        Self { explained: flows, ..self }
    }

    /// How many flows derivations are kept of.
    pub(super) fn explained(&self) -> usize {
        self.explained
    }

    /// Whether arrival curves of cross traffic were rounded up because their numbers had grown long: bursts of more than 1,024
    /// bits by less than a part of 2^190.
    #[must_use]
    pub fn has_rounded(&self) -> bool {
        let candidates = [&self.candidates, &self.quick].into_iter().filter_map(OnceLock::get);
        let cut = [&self.cut, &self.cut_by_programs].into_iter().filter_map(OnceLock::get);
        let mut commons = iter::once(&self.common).chain(cut.flatten());
        commons.any(|common| common.rounded.load(Ordering::Relaxed))
            || self.outlined.get().is_some_and(|outlined| outlined.has_rounded())
            || candidates.flatten().any(|(candidate, _)| candidate.has_rounded())
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.common.go_on().is_err()
    }

    /// Bounds one flow.
    ///
    /// # Errors
    ///
    /// [`AnalysisError`]. An overloaded server is none; bounds are infinite then.
    pub fn bound(&self, flow: FlowId, analysis: Analysis) -> Result<FlowBound, AnalysisError> {
        self.feed_forward(analysis)?;
        // As deep as `bounds`: on a thread with a stack for it, unless the network is small.
        if self.common.network.servers().len() <= SHALLOW {
            return self.stop.watched_by(|| self.run(flow, analysis));
        }
        let mut bounds = parallel(&self.stop, 1, &[flow], |flow| self.run(*flow, analysis))?;
        bounds.pop().ok_or(AnalysisError::NoArrivalBound)
    }

    /// Bounds all flows, on as many threads as the settings say.
    ///
    /// # Errors
    ///
    /// Of the first flow that has one.
    pub fn bounds(&self, analysis: Analysis) -> Result<Vec<FlowBound>, AnalysisError> {
        self.feed_forward(analysis)?;
        let flows: Vec<FlowId> = self.common.network.flows().map(|(id, _)| id).collect();
        self.in_parallel(&flows, |flow| self.run(*flow, analysis))
    }

    /// Delay and backlog of all traffic at each server: by [`Analysis::Tfa`], by
    /// [`Analysis::TfaPlusPlus`], or the smaller of both for all other analyses.
    ///
    /// # Errors
    ///
    /// [`AnalysisError`].
    pub fn servers(&self, analysis: Analysis) -> Result<Vec<ServerBound>, AnalysisError> {
        let servers: Vec<ServerId> = self.common.network.servers().map(|(id, _)| id).collect();
        let needs_delays = self.common.network.needs_delays();
        if analysis == Analysis::Tfa {
            self.feed_forward(analysis)?;
        }
        self.in_parallel(&servers, |server| {
            let total =
                || self.or_outlined(|with| tfa::server(with.open()?, &with.totals, *server));
            let by_delays =
                || self.or_outlined(|with| with.delays()?.server_bound(&with.common, *server));
            let bound = match analysis {
                Analysis::Tfa => total(),
                // Of a cyclic network, this one knows nothing else.
                Analysis::Quick if self.is_cyclic => by_delays(),
                _ if needs_delays || analysis == Analysis::TfaPlusPlus => by_delays(),
                _ => Ok(total()?.min(by_delays()?)),
            };
            self.servers_bounded.fetch_add(1, Ordering::Relaxed);
            bound
        })
    }

    /// The network.
    #[must_use]
    pub fn network(&self) -> &'n Network {
        self.network
    }

    /// The conventions.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.common.settings
    }

    /// How many flows [`Analyser::assess`] is done with, for those who wait for it on another thread.
    #[must_use]
    pub fn flows_assessed(&self) -> usize {
        self.assessed.load(Ordering::Relaxed)
    }

    /// How many servers [`Analyser::servers`] is done with.
    #[must_use]
    pub fn servers_bounded(&self) -> usize {
        self.servers_bounded.load(Ordering::Relaxed)
    }

    pub(super) fn count_assessed(&self) {
        self.assessed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn in_parallel<T: Sync, R: Send>(
        &self,
        items: &[T],
        work: impl Fn(&T) -> Result<R, AnalysisError> + Sync,
    ) -> Result<Vec<R>, AnalysisError> {
        parallel(&self.stop, self.common.settings.threads, items, work)
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.stop.is_set()
    }

    /// Analyses that this one leaves out for the sake of time and that may have smaller bounds; other ones leave out nothing.
    pub(super) fn left_out(&self, analysis: Analysis) -> Vec<Analysis> {
        match analysis {
            Analysis::Best => best::left_out_by_best(&self.common),
            Analysis::Quick => best::left_out_by_quick(&self.common),
            _ => Vec::new(),
        }
    }

    /// An analyser of the same network that stops at a time and knows the delays of total flow analysis already; none if
    /// there are none.
    pub(super) fn sample(&self, settings: Settings, end: Instant) -> Option<Self> {
        let sample = Self::new(self.network, settings).stopped_by(self.stop.until(end));
        if sample.common.settings.multiplexing == self.common.settings.multiplexing {
            let delays = self.stop.watched_by(|| self.delays().cloned()).ok()?;
            sample.delays.set(Ok(delays)).ok()?;
        }
        Some(sample)
    }

    fn delays(&self) -> Result<&Delays, AnalysisError> {
        let delays = self.delays.get_or_init(|| Delays::of(&self.common));
        delays.as_ref().map_err(Clone::clone)
    }

    /// The network as analyses of feed-forward networks know it: cut where it is cyclic.
    fn open(&self) -> Result<&Common<'n>, AnalysisError> {
        if !self.is_cyclic {
            return Ok(&self.common);
        }
        let network = self.common.network.outline();
        let cut = self.cut.get_or_init(|| {
            bursts::cut(network, &self.common, self.delays()?, bursts::By::LeftOver, None)
        });
        cut.as_ref().map_err(Clone::clone)
    }

    /// The same with bursts at the cuts that are bounded by linear programs as well.
    fn open_by_programs(&self) -> Result<&Common<'n>, AnalysisError> {
        let known = self.open()?;
        if !self.is_cyclic {
            return Ok(known);
        }
        let network = self.common.network.outline();
        let cut = self.cut_by_programs.get_or_init(|| {
            bursts::cut(network, &self.common, self.delays()?, bursts::By::Programs, Some(known))
        });
        cut.as_ref().map_err(Clone::clone)
    }

    pub(super) fn feed_forward(&self, analysis: Analysis) -> Result<(), AnalysisError> {
        self.knows_all(analysis)?;
        if analysis != Analysis::SinkTree {
            return Ok(());
        }
        let Err(cycle) = self.common.network.order() else { return Ok(()) };
        let name = |id: ServerId| self.common.network.server(id).name.clone();
        let mut servers: Vec<String> = cycle.iter().map(|id| name(*id)).collect();
        servers.extend(cycle.first().map(|id| name(*id)));
        Err(AnalysisError::Cyclic { analysis: analysis.name(), servers })
    }

    fn knows_all(&self, analysis: Analysis) -> Result<(), AnalysisError> {
        let by_delays =
            matches!(analysis, Analysis::TfaPlusPlus | Analysis::Best | Analysis::Quick);
        if by_delays || !self.common.network.needs_delays() {
            return Ok(());
        }
        Err(AnalysisError::NeedsDelays(analysis.name()))
    }

    /// Does something, and if the curves are beyond the algebra, such as staircases whose periods
    /// have no small common multiple, with concave and convex curves around them.
    fn or_outlined<R>(
        &self,
        work: impl Fn(&Self) -> Result<R, AnalysisError>,
    ) -> Result<R, AnalysisError> {
        match work(self) {
            Err(AnalysisError::Algebra(_)) if !self.common.network.is_outline() => {
                work(self.outlined.get_or_init(|| {
                    Box::new(Self::new(self.network.outline(), self.common.settings.clone()))
                }))
            }
            other => other,
        }
    }

    pub(super) fn run(&self, flow: FlowId, analysis: Analysis) -> Result<FlowBound, AnalysisError> {
        self.or_outlined(|with| with.attempt(flow, analysis))
    }

    fn attempt(&self, flow: FlowId, analysis: Analysis) -> Result<FlowBound, AnalysisError> {
        self.common.go_on()?;
        self.knows_all(analysis)?;
        let bounder = || Ok::<_, AnalysisError>(Bounder::new(self.open()?));
        match analysis {
            Analysis::Tfa => tfa::bound(&bounder()?, &self.totals, flow),
            Analysis::Sfa => sfa::bound(&bounder()?, flow),
            Analysis::Pmoo => pmoo::bound(&bounder()?, flow),
            Analysis::TandemMatching => tandem_matching::bound(&bounder()?, flow),
            Analysis::TfaPlusPlus => self.delays()?.bound(&self.common, flow),
            Analysis::SinkTree => sink_tree::bound(&self.common, flow),
            Analysis::Ludb => ludb::bound(&self.common, self.delays()?, flow),
            Analysis::Plp | Analysis::Elp => {
                linear::bound(&self.common, self.delays()?, &self.cuts, flow, analysis)
            }
            Analysis::Ulp => linear::in_any_order(self.open_by_programs()?, self.delays()?, flow),
            Analysis::Best => {
                best::bound(self.candidates.get_or_init(|| best::candidates(self)), flow)
            }
            Analysis::Quick => best::bound(self.quick.get_or_init(|| best::quick(self)), flow),
        }
    }
}

impl FlowBound {
    /// The same without the steps of its derivation.
    pub(super) fn unexplained(mut self) -> Self {
        let without = |source: &Arc<Source>| {
            let services = source.derivation.services.clone();
            let derivation = Derivation { steps: Vec::new(), services };
            Arc::new(Source { settings: source.settings.clone(), derivation, ..**source })
        };
        let delay_by = without(&self.delay_by);
        self.backlog_by = match Arc::ptr_eq(&self.delay_by, &self.backlog_by) {
            true => Arc::clone(&delay_by),
            false => without(&self.backlog_by),
        };
        Self { delay_by, ..self }
    }

    /// What a bound on the delay alone says of a flow: what is inside the network arrived no longer
    /// ago than that, and what leaves it is at most that much later.
    fn of_delay(
        common: &Common<'_>,
        analysis: Analysis,
        id: FlowId,
        delay: Extended,
        derivation: Derivation,
    ) -> Result<Self, AnalysisError> {
        let arrival = &common.network.flow(id).arrival;
        let backlog = match &delay {
            Extended::Finite(delay) => arrival.right_limit_at(delay),
            infinite => infinite.clone(),
        };
        let output = operations::advanced(arrival, &delay)?;
        let delay_by = source(common, analysis, id, derivation);
        let backlog_by = Arc::clone(&delay_by);
        Ok(Self { flow: id, delay, backlog, output, delay_by, backlog_by, cut_short: false })
    }
}

/// Where a bound of one analysis comes from.
fn source(
    common: &Common<'_>,
    analysis: Analysis,
    flow: FlowId,
    mut derivation: Derivation,
) -> Arc<Source> {
    if let Some(cuts) = common.cuts.as_ref().filter(|cuts| cuts.count() <= CUTS) {
        derivation.steps.splice(0..0, cuts.known().into_iter().map(Step::Cut));
    }
    // Whole-path analyses bound cross traffic with the flow of interest in any case, except for
    // the parts of tandem matching. Total flow analysis knows no flow of interest.
    let of_interest = matches!(analysis, Analysis::Sfa | Analysis::TandemMatching);
    // A cross flow that is bounded alone is a flow of interest meanwhile.
    let segregates = common.settings.arrival_bounds.iter().any(|method| method.segregates())
        && matches!(
            analysis,
            Analysis::Tfa
                | Analysis::Sfa
                | Analysis::Pmoo
                | Analysis::TandemMatching
                | Analysis::Ulp
        );
    let returns = || if segregates { common.any_returns() } else { common.returns(flow) };
    let proven = common.cuts.is_some()
        || common.settings.flow_of_interest != FlowOfInterest::LowestPriority
        || !of_interest && !segregates
        || common.arbitrary && !returns();
    let network = common.network;
    // What is cut is an outline of its own curves in any case.
    let outlined =
        network.is_outline() && common.cuts.is_none() || network.outlined().next().is_some();
    let settings = common.settings.clone();
    Arc::new(Source { analysis, settings, proven, outlined, derivation })
}

/// Arrivals over cut links up to which a derivation names them.
const CUTS: usize = 40;

/// Servers up to which any stack will do.
const SHALLOW: usize = 64;

/// Stack of a thread that analyses: recursion goes as deep as paths are long.
const STACK: usize = 1 << 29;

/// Does something for each item, in order, on several threads (0: one for each core).
fn parallel<T: Sync, R: Send>(
    stop: &Interrupt,
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<R, AnalysisError> + Sync,
) -> Result<Vec<R>, AnalysisError> {
    let threads = match threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return done };
            done.push((index, stop.watched_by(|| work(item))));
        }
    };
    let mut done = std::thread::scope(|scope| {
        let spawn = |_| {
            // Reserved, not used, memory: pages that are never touched cost nothing.
            std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, worker)
        };
        let running: Vec<_> = (0..threads.min(items.len())).map(spawn).collect();
        let mut done = Vec::with_capacity(items.len());
        for thread in running {
            match thread.map(std::thread::ScopedJoinHandle::join) {
                Ok(Ok(some)) => done.extend(some),
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                // The system gives no thread: the others do its part.
                Err(_) => {}
            }
        }
        done
    });
    // What is left if there was no thread at all.
    done.extend(worker());
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
