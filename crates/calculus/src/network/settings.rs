//! Conventions, spelled out.
//!
//! Two tools that both "do SFA" print different numbers for one network, because they bound cross
//! traffic differently. Here these choices have names. The defaults are those of DNC, the
//! Deterministic Network Calculator, so that its published numbers come out.

use std::fmt;

use super::elements::{Multiplexing, Server};
use crate::Rational;

/// Whether cross traffic, while it is bounded on the path that it shares with the flow of
/// interest, meets that flow.
///
/// Without the flow of interest the bounds are smaller. For arbitrary multiplexing that is sound on
/// a path that nothing leaves and comes back to: the scheduler that is worst for a flow serves it
/// last everywhere, so that it does not disturb anybody (Schmitt, Zdarsky, Fidler, "Delay bounds
/// under arbitrary multiplexing", INFOCOM 2008). For FIFO, and where cross traffic leaves the path
/// and rejoins it, nobody has proven it, though DNC does it; [`super::Analysis::Best`] never relies
/// on it there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub enum FlowOfInterest {
    /// It has the lowest priority and disturbs no cross traffic; wherever DNC assumes it.
    #[default]
    LowestPriority,
    /// The same where that is proven: all servers serve in arbitrary order, and no way leads off
    /// the path and back. Otherwise it interferes.
    LowestPriorityWhereProven,
    /// It interferes as any other flow does.
    Interferes,
}

impl fmt::Display for FlowOfInterest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::LowestPriority => "without the flow of interest",
            Self::LowestPriorityWhereProven => "without the flow of interest where proven",
            Self::Interferes => "with the flow of interest",
        })
    }
}

/// How the arrivals of flows that come over one link are bounded.
///
/// "Aggregate" methods take these flows together as far back as they share the path ("splitting
/// point"); "segregated" methods bound each on its own from its source and add up. The left-over
/// service on the way is that of PBOO (pay bursts only once: server by server, convolved), PMOO
/// (pay multiplexing only once: the whole path at once) or tandem matching (the best way to cut the
/// path into parts for PMOO). See Bondorf, Nikolaus, Schmitt, "Catching corner cases in network
/// calculus: flow segregation can improve accuracy", MMB 2018.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub enum ArrivalBound {
    /// The left-over service curves of all shared servers are convolved first. DNC's
    /// AGGR_PBOO_CONCATENATION.
    #[default]
    AggregatePboo,
    /// The output is bounded server by server. DNC's AGGR_PBOO_PER_SERVER.
    AggregatePbooPerServer,
    /// DNC's AGGR_PMOO.
    AggregatePmoo,
    /// DNC's AGGR_TM.
    AggregateTandemMatching,
    /// DNC's SEGR_PBOO.
    SegregatedPboo,
    /// DNC's SEGR_PMOO.
    SegregatedPmoo,
    /// DNC's SEGR_TM.
    SegregatedTandemMatching,
}

impl ArrivalBound {
    /// All methods.
    pub const ALL: [Self; 7] = [
        Self::AggregatePboo,
        Self::AggregatePbooPerServer,
        Self::AggregatePmoo,
        Self::AggregateTandemMatching,
        Self::SegregatedPboo,
        Self::SegregatedPmoo,
        Self::SegregatedTandemMatching,
    ];

    /// Whether it bounds each flow alone.
    #[must_use]
    pub fn segregates(self) -> bool {
        matches!(self, Self::SegregatedPboo | Self::SegregatedPmoo | Self::SegregatedTandemMatching)
    }

    /// The name that the command line and result files use.
    pub fn name(self) -> &'static str {
        match self {
            Self::AggregatePboo => "aggregate-pboo",
            Self::AggregatePbooPerServer => "aggregate-pboo-per-server",
            Self::AggregatePmoo => "aggregate-pmoo",
            Self::AggregateTandemMatching => "aggregate-tm",
            Self::SegregatedPboo => "segregated-pboo",
            Self::SegregatedPmoo => "segregated-pmoo",
            Self::SegregatedTandemMatching => "segregated-tm",
        }
    }
}

impl fmt::Display for ArrivalBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The choices of one analysis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub struct Settings {
    /// Order of service at all servers, instead of each server's own.
    pub multiplexing: Option<Multiplexing>,
    /// Whether cross traffic meets the flow of interest while it is bounded.
    pub flow_of_interest: FlowOfInterest,
    /// How arrivals are bounded; with several, the smallest bound at every point of time is taken.
    pub arrival_bounds: Vec<ArrivalBound>,
    /// Whether what comes from a server is also bounded by a burst of no more than the backlog of
    /// that server (DNC's "server backlog arrival bound"; Bondorf, Schmitt, "Improving cross-traffic
    /// bounds in feed-forward networks: there is a job for everyone", MMB 2016).
    pub cap_bursts: bool,
    /// Whether cross traffic may be taken for longer than it is where that gives a smaller bound (flow prolongation;
    /// Bondorf, "Better bounds by worse assumptions: improving network calculus accuracy by adding pessimism to the
    /// network model", ICC 2017), in all that takes whole tandems: PMOO and tandem matching.
    pub prolong: bool,
    /// What [`super::Analysis::Best`] looks for: a flow whose delay is proven to be at most that is
    /// done, so that the effort goes to the others. None to find the smallest bounds of all.
    pub deadline: Option<Rational>,
    /// Threads; 0 takes one for each core.
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            multiplexing: None,
            flow_of_interest: FlowOfInterest::default(),
            arrival_bounds: vec![ArrivalBound::default()],
            cap_bursts: false,
            prolong: false,
            deadline: None,
            threads: 0,
        }
    }
}

impl Settings {
    /// The same with that order of service at all servers.
    pub fn multiplexed(self, multiplexing: Multiplexing) -> Self {
        Self { multiplexing: Some(multiplexing), ..self }
    }

    /// The same with that role of the flow of interest.
    pub fn with_flow_of_interest(self, flow_of_interest: FlowOfInterest) -> Self {
        Self { flow_of_interest, ..self }
    }

    /// The same with that way to bound arrivals.
    pub fn bounding_arrivals(self, method: ArrivalBound) -> Self {
        Self { arrival_bounds: vec![method], ..self }
    }

    /// The same with bursts that are no more than the backlog of the server they come from.
    pub fn capping_bursts(self) -> Self {
        Self { cap_bursts: true, ..self }
    }

    /// The same with flow prolongation.
    pub fn prolonging(self) -> Self {
        Self { prolong: true, ..self }
    }

    /// The same with that deadline.
    pub fn with_deadline(self, deadline: Rational) -> Self {
        Self { deadline: Some(deadline), ..self }
    }

    /// The order of service at a server.
    pub fn multiplexing_at(&self, server: &Server) -> Multiplexing {
        self.multiplexing.unwrap_or(server.multiplexing)
    }
}
