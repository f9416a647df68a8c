//! Networks of servers and flows, and their bounds. `planimeter.calculus` wraps these classes.

mod bounds;
mod build;
mod port;

pub(crate) use bounds::{FlowBound, ServerBound};
pub(crate) use build::Network;

use calculus::network::{AnalysisError, ModelError};

use crate::errors::{Fault, Kind};

/// Returns the fault of a network that is not valid.
fn not_a_network(error: &ModelError) -> Fault {
    Fault::new(Kind::Network, error.to_string())
}

/// Returns the fault of an analysis that does not apply.
fn no_bound(error: &AnalysisError) -> Fault {
    Fault::new(Kind::Network, error.to_string())
}

/// Returns the value that a name stands for.
///
/// # Errors
///
/// Returns an `InputError` with the known names.
fn named<T: Copy>(argument: &str, name: &str, known: &[(&str, T)]) -> Result<T, Fault> {
    let found = known.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        Fault::new(Kind::Input, format!("'{name}' is not known"))
            .at(argument)
            .mended_by(format!("write one of {}", names.join(", ")))
    })
}
