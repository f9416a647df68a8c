//! Networks in files.
//!
//! | format | read by |
//! | --- | --- |
//! | Planimeter's own, as TOML or JSON | `own` |
//! | Saihu's output-port network, JSON | `saihu` |
//! | WOPANets' physical network, XML, as Saihu and xTFA read it | `wopanets` |
//!
//! All numbers are exact: they stay text until their unit is known. All faults name their place.
//! Content that no reader knows is refused, and content that is known but has no effect is noted
//! ([`Network::notes`]).

mod curves;
mod foreign;
mod own;
mod ports;
mod quantity;
mod saihu;
mod tree;
mod variation;
mod wopanets;
mod work;
mod xml;

use super::{ModelError, Network, ServerId, Unit};
use tree::Node;
pub use variation::{Variation, VariationError};

/// A way to write a network down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Planimeter's own format in TOML.
    Toml,
    /// Planimeter's own format, or Saihu's, in JSON.
    Json,
    /// WOPANets' format.
    Xml,
}

impl Format {
    /// The format that the name of a file stands for.
    pub fn of_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "toml" => Some(Self::Toml),
            "json" => Some(Self::Json),
            "xml" => Some(Self::Xml),
            _ => None,
        }
    }
}

/// Why a text is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// It is not even TOML, JSON or XML.
    #[error("{}{message}", line_prefix(*line))]
    Syntax {
        /// Line, from 1; 0 if not known.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A field is missing, not known or has a value that it cannot have.
    #[error("{}{path} {message}", line_prefix(*line))]
    Field {
        /// Line, from 1; 0 if not known.
        line: usize,
        /// Which field.
        path: String,
        /// What is wrong and what to do.
        message: String,
    },
    /// All fields are right, but what they say is no network.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// The unit of time with that name, such as `us`.
#[must_use]
pub fn time_unit(name: &str) -> Option<Unit> {
    let size = quantity::unit(name, quantity::Dimension::Time)?;
    Some(Unit { name: name.to_owned(), size })
}

/// The unit of data with that name, such as `kB`.
#[must_use]
pub fn data_unit(name: &str) -> Option<Unit> {
    let size = quantity::unit(name, quantity::Dimension::Data)?;
    Some(Unit { name: name.to_owned(), size })
}

/// A rate as files have it, such as `10Mbps`, in bits per second.
///
/// # Errors
///
/// What is wrong with it, as a sentence.
pub fn rate(text: &str) -> Result<crate::Rational, String> {
    quantity::Units::default().parse(text, quantity::Dimension::Rate)
}

/// A time as files have it, such as `5ms`, in seconds.
///
/// # Errors
///
/// What is wrong with it, as a sentence.
pub fn time(text: &str) -> Result<crate::Rational, String> {
    quantity::Units::default().parse(text, quantity::Dimension::Time)
}

fn line_prefix(line: usize) -> String {
    if line == 0 { String::new() } else { format!("line {line}: ") }
}

/// Reads a network.
///
/// # Errors
///
/// The first fault with its place.
pub fn read(text: &str, format: Format) -> Result<Network, FormatError> {
    match format {
        Format::Toml => own::network(&Node::of_toml(text)?),
        Format::Json => {
            let node = Node::of_json(text)?;
            if is_saihu(&node)? { saihu::network(&node) } else { own::network(&node) }
        }
        Format::Xml => wopanets::network(text),
    }
}

/// Whether it is in Saihu's format, which has plurals and a field for what is common.
fn is_saihu(root: &Node<'_>) -> Result<bool, FormatError> {
    let fields = root.any_fields()?;
    Ok(fields.get("network").is_some() || fields.get("servers").is_some())
}

/// The servers that a flow's list of names means; `servers` knows them.
fn path(
    flow: &str,
    steps: &Node<'_>,
    servers: impl Fn(&Node<'_>, &str) -> Result<Option<ServerId>, FormatError>,
) -> Result<Vec<ServerId>, FormatError> {
    let steps = steps.list()?;
    let mut path = Vec::with_capacity(steps.len());
    for step in steps {
        let server = step.text()?;
        let id = servers(step, server)?.ok_or_else(|| ModelError::MissingServer {
            flow: flow.to_owned(),
            server: server.to_owned(),
        })?;
        path.push(id);
    }
    Ok(path)
}

#[cfg(test)]
mod tests;
