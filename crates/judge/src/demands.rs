//! The requirements of a specification, the verdicts on them, and the faults with which attempts
//! end.

/// The degree to which a requirement of a specification binds devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The specification says MUST, or states it as a fact.
    Must,
    /// The specification says SHOULD.
    Should,
}

/// A requirement that a specification makes of a device.
#[derive(Clone, Copy, Debug)]
pub struct Requirement {
    /// The section of the specification that states the requirement.
    pub section: &'static str,
    /// The unique name of the requirement, in lower-case words with hyphens.
    pub id: &'static str,
    /// The degree to which the requirement binds devices.
    pub level: Level,
    /// A sentence that states what the device must do.
    pub text: &'static str,
}

/// The verdict on one requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The device answered as the requirement demands.
    Met,
    /// The device answered otherwise.
    Broken {
        /// A description of what the requirement demands, and of what the device did instead.
        why: String,
    },
    /// The requirement cannot be tried on this device, because the device lacks something.
    NotApplicable {
        /// A description of what the device lacks.
        why: String,
    },
    /// The requirement could not be tried, because the connection failed or the device did not
    /// answer.
    Untried {
        /// The reason why the requirement was not tried.
        why: String,
    },
}

/// The reason why an attempt ended before it could show that its requirement is met.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The device did not do what the requirement demands.
    Broken(String),
    /// The device lacks something that the attempt needs.
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

/// Returns the fault that the device broke the requirement, with the reason `why`, unless `holds`
/// is true.
pub(crate) fn demand(holds: bool, why: impl FnOnce() -> String) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(Fault::Broken(why())) }
}

/// Returns the fault that the device lacks `what`, so that the requirement is not applicable.
pub(crate) fn lacks(what: &str) -> Fault {
    Fault::NotApplicable(format!("the device has no {what}"))
}
