//! Step by step: how a bound came about.

use std::fmt::Write;
use std::sync::Arc;

use super::arrival::LeftOver;
use super::model::{Network, ServerId};
use crate::{Curve, Extended};

/// The steps to a bound, in the order of the path.
#[derive(Clone, Debug, Default)]
pub struct Derivation {
    pub(crate) steps: Vec<Step>,
    /// What the path leaves over for the flow; of several, each holds.
    pub(crate) services: Vec<Curve>,
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// All traffic of a server against its service.
    Total {
        server: ServerId,
        arrival: Arc<Curve>,
        service: Curve,
        delay: Extended,
        backlog: Extended,
    },
    /// What one server leaves over.
    LeftOver(LeftOver),
    /// What several servers leave over together.
    Tandem { servers: Vec<ServerId>, service: Curve },
    /// The formula for sink trees over the servers of the path.
    SinkTree { servers: Vec<ServerId> },
}
