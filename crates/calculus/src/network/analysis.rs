//! The analyses: methods that compute delay and backlog bounds.
//!
//! Each analysis is a file with a function that computes the bounds ([`FlowBound`]) of a flow with
//! a `Bounder`. This module selects the analysis and distributes flows over all cores.
//! CONTRIBUTING.md lists the files that a new analysis needs.

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

/// An analysis: a method that computes bounds on the delay and the backlog of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub enum Analysis {
    /// Total flow analysis (TFA): the delay bounds of the servers on the path, each for all traffic
    /// of the server, are added. This analysis and all others but [`Analysis::SinkTree`] also apply
    /// to cyclic networks.
    Tfa,
    /// Separate flow analysis (SFA): the convolution of the residual service curves of all servers
    /// on the path (pay bursts only once).
    Sfa,
    /// Pay multiplexing only once (PMOO): one residual service curve for the whole path, under
    /// arbitrary multiplexing.
    Pmoo,
    /// Tandem matching (TMA), under arbitrary multiplexing: the path is divided into parts, and
    /// each part is bounded by PMOO. The division with the smallest bound is used.
    TandemMatching,
    /// Total flow analysis by delays (TFA++): arrival curves follow from the delays of the previous
    /// servers, and from the shaping of links.
    TfaPlusPlus,
    /// The analysis of sink trees: FIFO networks in which all flows end at one server. It is exact
    /// for rate-latency service and token buckets.
    SinkTree,
    /// The least upper delay bound (LUDB) of FIFO paths: residual service curves of nested cross
    /// traffic, whose parameters are optimised.
    Ludb,
    /// A linear program of polynomial size (PLP) for FIFO paths. The delay bounds of
    /// [`Analysis::TfaPlusPlus`] are additional constraints.
    Plp,
    /// A linear program of exponential size (ELP) for FIFO paths of a few servers.
    Elp,
    /// A single linear program (ULP) for strict servers under arbitrary multiplexing. It is exact
    /// for tandems.
    Ulp,
    /// The smallest bounds of all analyses under all conventions that apply and are proven.
    Best,
    /// The smallest bounds of total flow analysis, separate flow analysis and PMOO, each under one
    /// proven convention. It is fast enough for large networks.
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

    /// Returns the name of the analysis, as the command line and result files use it.
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

    /// Returns whether the analysis can bound the cross traffic on a path as if the flow of
    /// interest sent nothing. Such a bound is smaller, but proven only in some networks.
    /// [`Settings::flow_of_interest`] determines whether the analysis does so.
    fn leaves_out_the_flow(self) -> bool {
        match self {
            Self::Sfa | Self::TandemMatching => true,
            Self::Tfa | Self::Pmoo | Self::TfaPlusPlus | Self::SinkTree => false,
            Self::Ludb | Self::Plp | Self::Elp | Self::Ulp | Self::Best | Self::Quick => false,
        }
    }

    /// Returns whether the analysis bounds the arrivals of cross traffic by the methods in
    /// [`Settings::arrival_bounds`].
    fn uses_arrival_bounds(self) -> bool {
        match self {
            Self::Tfa | Self::Sfa | Self::Pmoo | Self::TandemMatching | Self::Ulp => true,
            Self::TfaPlusPlus | Self::SinkTree | Self::Ludb | Self::Plp | Self::Elp => false,
            // The analyses that `Best` and `Quick` compare have their own methods to bound
            // arrivals.
            Self::Best | Self::Quick => false,
        }
    }

    /// Returns whether the analysis derives arrival curves from the delays of servers. Only such
    /// analyses support regulators, multicast and replicated flows.
    fn propagates_delays(self) -> bool {
        match self {
            Self::TfaPlusPlus | Self::Best | Self::Quick => true,
            Self::Tfa | Self::Sfa | Self::Pmoo | Self::TandemMatching | Self::SinkTree => false,
            Self::Ludb | Self::Plp | Self::Elp | Self::Ulp => false,
        }
    }
}

impl fmt::Display for Analysis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The reason why an analysis cannot bound a flow or a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// The servers of the network depend on each other cyclically, which the analysis does not
    /// support.
    #[error(
        "{analysis} does not support cyclic dependencies, and the servers {} feed each other; use \
         another analysis",
        .servers.join(" -> ")
    )]
    Cyclic {
        /// The name of the analysis.
        analysis: &'static str,
        /// The servers of one cycle, in the order in which data pass them. The first one is
        /// repeated at the end.
        servers: Vec<String>,
    },
    /// Bounds for arbitrary multiplexing or priorities need a strict service curve, and that of
    /// this server is not strict.
    #[error(
        "the service curve of server '{0}' is not strict; only FIFO bounds hold for it (mark it \
         strict if it is)"
    )]
    NotStrict(String),
    /// The recursion over cross traffic, the cross traffic of that traffic, and so on, is too deep.
    #[error("the network is too deep: more than 20000 servers in a row")]
    TooDeep,
    /// The network is not a sink tree, for the given reason.
    #[error("the network is not a sink tree: {0}; use another analysis")]
    NotSinkTree(String),
    /// No linear program, or no nesting of cross flows, describes the path of the flow, for the
    /// given reason.
    #[error("no linear program bounds the path: {0}; use another analysis")]
    NoProgram(String),
    /// The network has regulators, multicast or replicated flows, which only analyses that follow
    /// delays from server to server support.
    #[error("{0} does not support regulators, multicast and replicated flows; use tfa++")]
    NeedsDelays(&'static str),
    /// A server on the way to an interleaved regulator does not preserve the order in which packets
    /// arrive. All servers since the last regulation of the regulator's flows must preserve it.
    #[error(
        "the interleaved regulator behind server '{regulator}' needs FIFO service since the last regulation of its flows, and \
         server '{server}' serves in any order; serve in the order of arrival there, or regulate each flow by itself \
         (per-flow)"
    )]
    NotInOrder {
        /// The server in front of the interleaved regulator.
        regulator: String,
        /// The server with arbitrary multiplexing, which may change the order of packets.
        server: String,
    },
    /// Flows that share an interleaved regulator have not taken the same path since their last
    /// regulation (or since their sources, if they were not regulated).
    #[error(
        "the interleaved regulator behind server '{regulator}' has no bound: flow '{first}' was regulated last (or begins) \
         before server '{first_entry}', flow '{second}' before server '{second_entry}', and late packets of one \
         block the other; put regulators behind all servers (and ports) before it, or regulate each flow by itself \
         (per-flow)"
    )]
    OvertakesRegulated {
        /// The server in front of the interleaved regulator.
        regulator: String,
        /// A flow that passes the regulator.
        first: String,
        /// The first server that the flow `first` visits after its last regulation.
        first_entry: String,
        /// Another flow that passes the regulator.
        second: String,
        /// The first server that the flow `second` visits after its last regulation.
        second_entry: String,
    },
    /// The interrupt of the analyser was set ([`Analyser::stopped_by`]).
    #[error("it was stopped before its end")]
    Stopped,
    /// The settings name no method to bound arrivals.
    #[error("no method to bound arrivals is set; name at least one")]
    NoArrivalBound,
    /// The algebra cannot compute a curve that the analysis needs.
    #[error(transparent)]
    Algebra(AlgebraError),
    /// A port of the network is invalid.
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

/// The bounds of one flow by an analysis.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub struct FlowBound {
    /// The flow that is bounded.
    pub flow: FlowId,
    /// An upper bound on the time that data of the flow take from entering its first server to
    /// leaving its last one.
    pub delay: Extended,
    /// An upper bound on the data of the flow inside the network at any time. [`Analysis::Tfa`]
    /// bounds another quantity, as is usual: the data of all flows at one server of the path, for
    /// the server with the largest bound.
    pub backlog: Extended,
    /// An arrival curve of the flow after its last server.
    pub output: Curve,
    /// The origin of the delay bound, with the steps of its derivation.
    pub delay_by: Arc<Source>,
    /// The origin of the backlog bound, with the steps of its derivation.
    pub backlog_by: Arc<Source>,
    /// Whether the search for smaller bounds ended early because the delay bound meets the deadline
    /// ([`Settings::deadline`]).
    pub cut_short: bool,
}

/// The origin of a bound: the analysis, its conventions and its steps.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub struct Source {
    /// The analysis that computed the bound.
    pub analysis: Analysis,
    /// The conventions under which the bound was computed.
    pub settings: Settings,
    /// Whether the bound is proven under the conventions and the multiplexing of the servers
    /// ([`FlowOfInterest`] explains which bounds are not proven).
    pub proven: bool,
    /// Whether curves were replaced by their concave or convex hulls because the algebra cannot
    /// compute with the exact curves. Either the analysis replaced all curves, or some were
    /// replaced when the network was read ([`Network::outlined`]).
    pub outlined: bool,
    /// The steps by which the bound was derived.
    pub derivation: Derivation,
}

/// The bounds on all traffic at one server.
#[derive(Clone, Debug)]
pub struct ServerBound {
    /// The server that is bounded.
    pub server: ServerId,
    /// An upper bound on the time that any data spend at the server.
    pub delay: Extended,
    /// An upper bound on the data at the server at any time.
    pub backlog: Extended,
    /// The bounds for the flows of each priority, the most urgent first. The list is empty unless
    /// the server multiplexes by static priority.
    pub classes: Vec<ClassBound>,
}

/// The bounds on the flows of one priority at a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassBound {
    /// The priority of the flows.
    pub priority: Priority,
    /// An upper bound on the time that data of this priority spend at the server.
    pub delay: Extended,
    /// An upper bound on the data of this priority at the server at any time: the size that a queue
    /// of its own needs.
    pub backlog: Extended,
}

impl ServerBound {
    /// Returns the smaller of two bounds on one server, separately for delay and backlog, and for
    /// each priority.
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

/// Bounds the flows of a network under one set of conventions, and caches intermediate results.
#[derive(Debug)]
pub struct Analyser<'n> {
    /// The network as it was given. If its curves have too long a common period, the analyses use
    /// its outline instead, in which no curve has a period.
    network: &'n Network,
    common: Common<'n>,
    totals: Totals,
    delays: OnceLock<Result<Delays, AnalysisError>>,
    cuts: linear::Cuts,
    /// Whether the servers of the network depend on each other cyclically.
    is_cyclic: bool,
    /// The network with its cycles cut, such that it is feed-forward. [`bursts::cut`] computes the
    /// arrival curves over the cut links from the residual service of servers
    /// ([`bursts::By::LeftOver`]). The cut network is computed on first use, for cyclic networks
    /// only.
    cut: OnceLock<Result<Common<'n>, AnalysisError>>,
    /// The network with its cycles cut as in `cut`, with the arrival curves over the cut links
    /// bounded by linear programs too. It is computed on first use, for cyclic networks only.
    cut_by_programs: OnceLock<Result<Common<'n>, AnalysisError>>,
    /// The number of flows that [`Analyser::assess`] has finished so far.
    assessed: Arc<AtomicUsize>,
    /// The number of servers that [`Analyser::servers`] has finished so far.
    servers_bounded: AtomicUsize,
    /// The number of flows for which [`Analyser::assess`] keeps the steps of derivations.
    explained: usize,
    /// The analysers whose bounds [`Analysis::Best`] compares.
    candidates: OnceLock<Vec<best::Candidate<'n>>>,
    /// The analysers whose bounds [`Analysis::Quick`] compares.
    quick: OnceLock<Vec<best::Candidate<'n>>>,
    /// An analyser of the network's outline, in which no curve has a period. It is used for flows
    /// whose exact curves the algebra cannot compute.
    outlined: OnceLock<Box<Analyser<'n>>>,
    /// The interrupt that stops all analyses.
    stop: Interrupt,
}

impl<'n> Analyser<'n> {
    /// Creates an analyser of a network under the given conventions.
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
            assessed: Arc::default(),
            servers_bounded: AtomicUsize::new(0),
            explained: usize::MAX,
            candidates: OnceLock::new(),
            quick: OnceLock::new(),
            outlined: OnceLock::new(),
            stop: Interrupt::default(),
        }
    }

    /// Makes every analysis end with [`AnalysisError::Stopped`] within milliseconds after the
    /// interrupt is set.
    #[must_use]
    pub fn stopped_by(mut self, stop: impl Into<Interrupt>) -> Self {
        self.stop = stop.into();
        self
    }

    /// Makes [`Analyser::assess`] count the flows that it has finished in `count`, for a progress
    /// display that outlives the analyser.
    #[must_use]
    pub fn counted_by(self, count: Arc<AtomicUsize>) -> Self {
        Self { assessed: count, ..self }
    }

    /// Limits the number of flows for which [`Analyser::assess`] keeps the steps of derivations to
    /// the first `flows`. A derivation has one step for each server of a path and takes most of a
    /// bound's memory.
    #[must_use]
    pub fn explaining(self, flows: usize) -> Self {
        Self { explained: flows, ..self }
    }

    /// Returns the number of flows for which [`Analyser::assess`] keeps the steps of derivations.
    pub(super) fn explained(&self) -> usize {
        self.explained
    }

    /// Returns whether arrival curves of cross traffic were rounded up because their numbers had
    /// become long. Bursts of more than 1,024 bits are rounded up by less than a factor of 1 +
    /// 2^-190.
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

    /// Bounds delay and backlog of one flow by an analysis.
    ///
    /// # Errors
    ///
    /// Returns an [`AnalysisError`] if the analysis does not apply. An overloaded server is not an
    /// error: the bounds are then infinite.
    pub fn bound(&self, flow: FlowId, analysis: Analysis) -> Result<FlowBound, AnalysisError> {
        self.feed_forward(analysis)?;
        // The recursion needs a thread with a large stack, unless the network is small.
        if self.common.network.servers().len() <= SERVERS_ON_ANY_STACK {
            return self.stop.watched_by(|| self.run(flow, analysis));
        }
        let mut bounds = parallel(&self.stop, 1, &[flow], |flow| self.run(*flow, analysis))?;
        bounds.pop().ok_or(AnalysisError::NoArrivalBound)
    }

    /// Bounds delay and backlog of all flows by an analysis, on the number of threads in the
    /// settings.
    ///
    /// # Errors
    ///
    /// Returns the error of the first flow that cannot be bounded.
    pub fn bounds(&self, analysis: Analysis) -> Result<Vec<FlowBound>, AnalysisError> {
        self.feed_forward(analysis)?;
        let flows: Vec<FlowId> = self.common.network.flows().map(|(id, _)| id).collect();
        self.in_parallel(&flows, |flow| self.run(*flow, analysis))
    }

    /// Bounds delay and backlog of all traffic at each server: by [`Analysis::Tfa`] or
    /// [`Analysis::TfaPlusPlus`] if `analysis` is one of these, and by the smaller of both for all
    /// other analyses. These use [`Analysis::TfaPlusPlus`] alone if the network has regulators,
    /// multicast or replicated flows, and [`Analysis::Quick`] also does if the network is cyclic.
    ///
    /// # Errors
    ///
    /// Returns an [`AnalysisError`] if a server cannot be bounded.
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
                // For cyclic networks, `Quick` uses analysis by delays only.
                Analysis::Quick if self.is_cyclic => by_delays(),
                _ if needs_delays || analysis == Analysis::TfaPlusPlus => by_delays(),
                _ => Ok(total()?.min(by_delays()?)),
            };
            self.servers_bounded.fetch_add(1, Ordering::Relaxed);
            bound
        })
    }

    /// Returns the network that was given to [`Analyser::new`], even if the analyses use its
    /// outline.
    #[must_use]
    pub fn network(&self) -> &'n Network {
        self.network
    }

    /// Returns the conventions of the analyses.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.common.settings
    }

    /// Returns the number of flows that [`Analyser::assess`] has finished. Another thread may
    /// report this as progress.
    #[must_use]
    pub fn flows_assessed(&self) -> usize {
        self.assessed.load(Ordering::Relaxed)
    }

    /// Returns the number of servers that [`Analyser::servers`] has finished. Another thread may
    /// report this as progress.
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

    /// Returns the analyses that [`Analysis::Best`] or [`Analysis::Quick`] omits to save time,
    /// although they may have smaller bounds. No other analysis omits any.
    pub(super) fn left_out(&self, analysis: Analysis) -> Vec<Analysis> {
        match analysis {
            Analysis::Best => best::left_out_by_best(&self.common),
            Analysis::Quick => best::left_out_by_quick(&self.common),
            _ => Vec::new(),
        }
    }

    /// Returns an analyser of the same network that stops at the time `end`, to estimate how long
    /// an analysis takes. It reuses the delays that this analyser has computed by total flow
    /// analysis, if both analysers have the same multiplexing. Returns `None` if these delays
    /// cannot be computed.
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

    /// Returns the network in a form in which no servers depend on each other cyclically: if it is
    /// cyclic, with its cycles cut. Analyses of feed-forward networks need this form.
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

    /// Returns the network with its cycles cut. The traffic over the cut links is bounded by
    /// residual service and by linear programs.
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
        if analysis.propagates_delays() || !self.common.network.needs_delays() {
            return Ok(());
        }
        Err(AnalysisError::NeedsDelays(analysis.name()))
    }

    /// Runs `work` on the network. If the algebra cannot compute the curves (for example staircases
    /// whose periods have no small common multiple), runs it again on their concave and convex
    /// hulls.
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
    /// Returns the bound without the steps of its derivations, to save memory.
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

    /// Returns the bounds of a flow that follow from its delay bound alone. The data in the network
    /// arrived within the last `delay`, and the arrival curve of the output is that of the flow,
    /// advanced by `delay`.
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

/// Returns the origin of a bound that one analysis derived.
fn source(
    common: &Common<'_>,
    analysis: Analysis,
    flow: FlowId,
    mut derivation: Derivation,
) -> Arc<Source> {
    if let Some(cuts) = common.cuts.as_ref().filter(|cuts| cuts.count() <= MAX_CUTS) {
        derivation.steps.splice(0..0, cuts.known().into_iter().map(Step::Cut));
    }
    // Analyses of whole paths count the flow of interest when they bound its cross traffic. The
    // exception is tandem matching, on parts of the path. Total flow analysis has no flow of
    // interest.
    let of_interest = analysis.leaves_out_the_flow();
    // While a cross flow is bounded separately, it takes the place of the flow of interest.
    let segregates = analysis.uses_arrival_bounds()
        && common.settings.arrival_bounds.iter().any(|method| method.segregates());
    let can_rejoin = || if segregates { common.any_can_rejoin() } else { common.can_rejoin(flow) };
    let proven = common.cuts.is_some()
        || common.settings.flow_of_interest != FlowOfInterest::LowestPriority
        || !of_interest && !segregates
        || common.arbitrary && !can_rejoin();
    let network = common.network;
    // The network with its cycles cut is always an outline, even if no curve had to be replaced.
    let outlined =
        network.is_outline() && common.cuts.is_none() || network.outlined().next().is_some();
    let settings = common.settings.clone();
    Arc::new(Source { analysis, settings, proven, outlined, derivation })
}

/// The largest number of arrival curves over cut links (at which a cyclic network is cut) that a
/// derivation lists. If there are more, it lists none.
const MAX_CUTS: usize = 40;

/// The number of servers of a network up to which any thread has enough stack for its analysis.
const SERVERS_ON_ANY_STACK: usize = 64;

/// The stack size of an analysing thread, in bytes. The analyses recurse along paths, so long paths
/// need a large stack.
const STACK_BYTES: usize = 1 << 29;

/// Applies `work` to each of `items` on several threads (0: one per core) and returns the results
/// in the order of `items`.
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
            // The stack is only reserved. Pages that are never used take no memory.
            std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, worker)
        };
        let running: Vec<_> = (0..threads.min(items.len())).map(spawn).collect();
        let mut done = Vec::with_capacity(items.len());
        for thread in running {
            match thread.map(std::thread::ScopedJoinHandle::join) {
                Ok(Ok(some)) => done.extend(some),
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                // The system cannot start this thread, so the other threads process its items.
                Err(_) => {}
            }
        }
        done
    });
    // Process the items that remain if no thread could be started.
    done.extend(worker());
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
