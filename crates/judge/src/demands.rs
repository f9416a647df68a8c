//! Requirements, the findings about them, and the faults that an attempt ends with.

/// The strength of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The specification says MUST, or states it as a fact.
    Must,
    /// The specification says SHOULD.
    Should,
}

/// A requirement of a specification for a device.
#[derive(Clone, Copy, Debug)]
pub struct Requirement {
    /// The section of the specification.
    pub section: &'static str,
    /// The name, which is unique: lower-case words with hyphens.
    pub id: &'static str,
    /// The strength.
    pub level: Level,
    /// A sentence about what the device does.
    pub text: &'static str,
}

/// The finding about one requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The device answered as demanded.
    Met,
    /// The device answered otherwise.
    Broken {
        /// A description of the demand and of what the device did.
        why: String,
    },
    /// The requirement cannot be tried on this device.
    NotApplicable {
        /// A description of what the device lacks.
        why: String,
    },
    /// The requirement could not be tried, because the connection failed or the device did not
    /// answer.
    Untried {
        /// The reason.
        why: String,
    },
}

/// The reason why an attempt ended before it showed that a requirement is met.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The device did not do what is demanded.
    Broken(String),
    /// The device lacks what the attempt needs.
    NotApplicable(String),
    /// The device closed the connection or did not answer.
    Lost(String),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Broken(why) | Self::NotApplicable(why) | Self::Lost(why) => f.write_str(why),
        }
    }
}

impl From<Fault> for Verdict {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Broken(why) | Fault::Lost(why) => Self::Broken { why },
            Fault::NotApplicable(why) => Self::NotApplicable { why },
        }
    }
}

/// Returns a fault of the device unless something holds.
pub(crate) fn demand(holds: bool, why: impl FnOnce() -> String) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(Fault::Broken(why())) }
}

/// Returns the fault of a device that lacks something.
pub(crate) fn lacks(what: &str) -> Fault {
    Fault::NotApplicable(format!("the device has no {what}"))
}
