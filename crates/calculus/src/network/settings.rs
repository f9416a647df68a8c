//! The conventions of an analysis.
//!
//! Two tools that both "do SFA" may print different numbers for one network, because they bound
//! cross traffic differently. These choices have names here. The defaults are those of DNC, the
//! Deterministic Network Calculator, so that its published numbers are reproduced.

use std::fmt;

use super::elements::{Multiplexing, Server};
use crate::Rational;

/// Whether the flow of interest counts when cross traffic is bounded on the path that both share.
///
/// Without the flow of interest the bounds are smaller. Under arbitrary multiplexing that is sound
/// on a path that no flow leaves and rejoins: the worst scheduler for a flow serves that flow last
/// everywhere, so that it does not delay any other (Schmitt, Zdarsky and Fidler, "Delay bounds
/// under arbitrary multiplexing", INFOCOM 2008). For FIFO, and where cross traffic leaves the path
/// and rejoins it, there is no proof, although DNC does it; [`super::Analysis::Best`] never relies
/// on it there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub enum FlowOfInterest {
    /// The flow of interest has the lowest priority and does not delay cross traffic, in all cases
    /// in which DNC assumes so.
    #[default]
    LowestPriority,
    /// The flow of interest has the lowest priority where that is proven: under arbitrary
    /// multiplexing at all servers, and if no path leaves that of the flow and rejoins it.
    /// Otherwise it interferes.
    LowestPriorityWhereProven,
    /// The flow of interest interferes as any other flow does.
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

/// The method by which the arrivals of flows over one link are bounded.
///
/// "Aggregate" methods treat these flows as one aggregate as far back as they share their path
/// ("splitting point"); "segregated" methods bound each flow separately from its source and add up.
/// The residual service on the way is that of PBOO (pay bursts only once: server by server,
/// convolved), of PMOO (pay multiplexing only once: the whole path at once), or of tandem matching
/// (the best decomposition of the path for PMOO). See Bondorf, Nikolaus and Schmitt, "Catching
/// corner cases in network calculus: flow segregation can improve accuracy", MMB 2018.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub enum ArrivalBound {
    /// The residual service curves of all shared servers are convolved first. DNC's
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

    /// Whether the method bounds each flow separately.
    #[must_use]
    pub fn segregates(self) -> bool {
        matches!(self, Self::SegregatedPboo | Self::SegregatedPmoo | Self::SegregatedTandemMatching)
    }

    /// Returns the name that the command line and result files use.
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

/// The conventions of one analysis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub struct Settings {
    /// The order of service at all servers, which overrides each server's own.
    pub multiplexing: Option<Multiplexing>,
    /// Whether the flow of interest counts when cross traffic is bounded.
    pub flow_of_interest: FlowOfInterest,
    /// The methods that bound arrivals; of several, the pointwise minimum of the bounds is used.
    pub arrival_bounds: Vec<ArrivalBound>,
    /// Whether the burst of a server's output is also bounded by the server's backlog (DNC's
    /// "server backlog arrival bound"; Bondorf and Schmitt, "Improving cross-traffic bounds in
    /// feed-forward networks: there is a job for everyone", MMB 2016).
    pub cap_bursts: bool,
    /// Whether flow prolongation is used where it yields a smaller bound (Bondorf, "Better bounds
    /// by worse assumptions: improving network calculus accuracy by adding pessimism to the network
    /// model", ICC 2017). It applies to the analyses of whole tandems: PMOO and tandem matching.
    pub prolong: bool,
    /// The delay that [`super::Analysis::Best`] must prove. As soon as the delay bound of a flow is
    /// at most the deadline, the search for a smaller bound ends. With `None`, the search continues
    /// for all flows until the smallest bounds are found.
    pub deadline: Option<Rational>,
    /// The number of threads; 0 for one per core.
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
    /// Returns the settings with the given order of service at all servers.
    pub fn multiplexed(self, multiplexing: Multiplexing) -> Self {
        Self { multiplexing: Some(multiplexing), ..self }
    }

    /// Returns the settings with the given role of the flow of interest.
    pub fn with_flow_of_interest(self, flow_of_interest: FlowOfInterest) -> Self {
        Self { flow_of_interest, ..self }
    }

    /// Returns the settings with the given method to bound arrivals.
    pub fn bounding_arrivals(self, method: ArrivalBound) -> Self {
        Self { arrival_bounds: vec![method], ..self }
    }

    /// Returns the settings with bursts bounded by the backlog of the server that they come from.
    pub fn capping_bursts(self) -> Self {
        Self { cap_bursts: true, ..self }
    }

    /// Returns the settings with flow prolongation.
    pub fn prolonging(self) -> Self {
        Self { prolong: true, ..self }
    }

    /// Returns the settings with the given deadline.
    pub fn with_deadline(self, deadline: Rational) -> Self {
        Self { deadline: Some(deadline), ..self }
    }

    /// Returns the order of service at a server.
    pub fn multiplexing_at(&self, server: &Server) -> Multiplexing {
        self.multiplexing.unwrap_or(server.multiplexing)
    }
}
