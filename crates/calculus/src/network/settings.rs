//! The conventions of an analysis: choices that affect its bounds.
//!
//! Two tools that both "do SFA" may print different numbers for one network, because they bound
//! cross traffic differently. These choices have names here. The defaults are those of DNC, the
//! Deterministic Network Calculator, so that its published numbers are reproduced.

use std::fmt;

use super::elements::{Multiplexing, Server};
use crate::Rational;

/// Whether the flow of interest is counted as traffic at a server when the arrivals of its cross
/// traffic are bounded, on the path that both share.
///
/// Without the flow of interest the bounds are smaller. Under arbitrary multiplexing that is sound
/// on a path that no flow leaves and rejoins: the worst scheduler for a flow serves that flow last
/// everywhere, so that it does not delay any other (Schmitt, Zdarsky and Fidler, "Delay bounds
/// under arbitrary multiplexing", INFOCOM 2008). For FIFO, and where cross traffic leaves the path
/// and rejoins it, there is no proof, although DNC does not count the flow there either.
/// [`super::Analysis::Best`] never relies on this without a proof.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub enum FlowOfInterest {
    /// The flow of interest has the lowest priority, so that it does not delay its cross traffic,
    /// in all cases in which DNC assumes so.
    #[default]
    LowestPriority,
    /// The flow of interest has the lowest priority where that is proven: under arbitrary
    /// multiplexing at all servers, if data that leave the flow's path cannot rejoin it. Otherwise
    /// it delays cross traffic as any other flow does.
    LowestPriorityWhereProven,
    /// The flow of interest delays its cross traffic as any other flow does.
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
/// The residual service on their path is that of PBOO (pay bursts only once: server by server,
/// convolved), of PMOO (pay multiplexing only once: the whole path at once), or of tandem matching
/// (the best decomposition of the path for PMOO). See Bondorf, Nikolaus and Schmitt, "Catching
/// corner cases in network calculus: flow segregation can improve accuracy", MMB 2018.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub enum ArrivalBound {
    /// The flows over the link are one aggregate. The residual service curves of all servers that
    /// they share are convolved first, and their output is bounded once. DNC calls it
    /// AGGR_PBOO_CONCATENATION.
    #[default]
    AggregatePboo,
    /// The flows over the link are one aggregate, whose output is bounded server by server. DNC
    /// calls it AGGR_PBOO_PER_SERVER.
    AggregatePbooPerServer,
    /// The flows over the link are one aggregate, served by the PMOO residual service of the
    /// servers that they share. DNC calls it AGGR_PMOO.
    AggregatePmoo,
    /// The flows over the link are one aggregate, served by the residual service that tandem
    /// matching finds for the servers that they share. DNC calls it AGGR_TM.
    AggregateTandemMatching,
    /// Each flow over the link is bounded separately, by the PBOO residual service of its path. DNC
    /// calls it SEGR_PBOO.
    SegregatedPboo,
    /// Each flow over the link is bounded separately, by the PMOO residual service of its path. DNC
    /// calls it SEGR_PMOO.
    SegregatedPmoo,
    /// Each flow over the link is bounded separately, by the residual service that tandem matching
    /// finds for its path. DNC calls it SEGR_TM.
    SegregatedTandemMatching,
}

impl ArrivalBound {
    /// All methods to bound arrivals.
    pub const ALL: [Self; 7] = [
        Self::AggregatePboo,
        Self::AggregatePbooPerServer,
        Self::AggregatePmoo,
        Self::AggregateTandemMatching,
        Self::SegregatedPboo,
        Self::SegregatedPmoo,
        Self::SegregatedTandemMatching,
    ];

    /// Returns whether the method bounds each flow separately, rather than all flows over a link as
    /// one aggregate.
    #[must_use]
    pub fn segregates(self) -> bool {
        matches!(self, Self::SegregatedPboo | Self::SegregatedPmoo | Self::SegregatedTandemMatching)
    }

    /// Returns the name of the method, as the command line and result files use it.
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

/// The choices that determine how an analysis bounds flows, such as the order of service and the
/// methods to bound cross traffic. Its bounds depend on them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "formats", derive(serde::Serialize, serde::Deserialize))]
pub struct Settings {
    /// The order of service at all servers. It overrides the order of each server. With `None`,
    /// each server has its own order.
    pub multiplexing: Option<Multiplexing>,
    /// Whether the flow of interest counts when its cross traffic is bounded.
    pub flow_of_interest: FlowOfInterest,
    /// The methods by which arrivals are bounded. If there are several, the pointwise minimum of
    /// their arrival curves is used.
    pub arrival_bounds: Vec<ArrivalBound>,
    /// Whether the burst of a server's output is also bounded by the server's backlog (DNC's
    /// "server backlog arrival bound"; Bondorf and Schmitt, "Improving cross-traffic bounds in
    /// feed-forward networks: there is a job for everyone", MMB 2016).
    pub cap_bursts: bool,
    /// Whether flow prolongation is used where it yields a smaller bound (Bondorf, "Better bounds
    /// by worse assumptions: improving network calculus accuracy by adding pessimism to the network
    /// model", ICC 2017). It applies to the analyses of whole tandems: PMOO and tandem matching.
    pub prolong: bool,
    /// The delay that [`super::Analysis::Best`] and [`super::Analysis::Quick`] must prove. As soon
    /// as the delay bound of a flow is at most the deadline, the search for a smaller bound ends.
    /// With `None`, the search continues for all flows until the smallest bounds are found.
    pub deadline: Option<Rational>,
    /// The number of threads of the analysis. The number 0 stands for one thread per core.
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
    /// Returns the settings with the given order of service at all servers, in place of each
    /// server's own.
    pub fn multiplexed(self, multiplexing: Multiplexing) -> Self {
        Self { multiplexing: Some(multiplexing), ..self }
    }

    /// Returns the settings with the given choice whether the flow of interest counts for cross
    /// traffic.
    pub fn with_flow_of_interest(self, flow_of_interest: FlowOfInterest) -> Self {
        Self { flow_of_interest, ..self }
    }

    /// Returns the settings with the given method as the only one to bound arrivals.
    pub fn bounding_arrivals(self, method: ArrivalBound) -> Self {
        Self { arrival_bounds: vec![method], ..self }
    }

    /// Returns the settings with the burst of each server's output also bounded by the server's
    /// backlog.
    pub fn capping_bursts(self) -> Self {
        Self { cap_bursts: true, ..self }
    }

    /// Returns the settings with flow prolongation switched on.
    pub fn prolonging(self) -> Self {
        Self { prolong: true, ..self }
    }

    /// Returns the settings with the given deadline ([`Settings::deadline`]).
    pub fn with_deadline(self, deadline: Rational) -> Self {
        Self { deadline: Some(deadline), ..self }
    }

    /// Returns the order of service at a server under these settings.
    pub fn multiplexing_at(&self, server: &Server) -> Multiplexing {
        self.multiplexing.unwrap_or(server.multiplexing)
    }
}
