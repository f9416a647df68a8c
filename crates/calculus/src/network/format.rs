//! Readers of network files.
//!
//! | format | read by |
//! | --- | --- |
//! | Planimeter's own, as TOML or JSON | `own` |
//! | Saihu's output-port network, JSON | `saihu` |
//! | WOPANets' physical network, XML, as Saihu and xTFA read it | `wopanets` |
//!
//! All numbers are exact, because they remain text until their unit is known. All errors name their
//! position in the file. Unknown content is an error. Known content that has no effect leads to a
//! remark ([`Network::notes`]).

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

/// The syntax of a network file, and the formats in that syntax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Planimeter's own format in TOML.
    Toml,
    /// Planimeter's own format, or Saihu's, in JSON.
    Json,
    /// The format of WOPANets, in XML.
    Xml,
}

impl Format {
    /// Returns the format of files with the given name extension, or `None` if there is none.
    pub fn of_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "toml" => Some(Self::Toml),
            "json" => Some(Self::Json),
            "xml" => Some(Self::Xml),
            _ => None,
        }
    }
}

/// The reason why a text is not a valid network file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The text is not well-formed TOML, JSON or XML.
    #[error("{}{message}", line_prefix(*line))]
    Syntax {
        /// The line of the error, from 1, or 0 if it is not known.
        line: usize,
        /// The description of the syntax error.
        message: String,
    },
    /// A field is missing or unknown, or its value is invalid.
    #[error("{}{path} {message}", line_prefix(*line))]
    Field {
        /// The line of the field, from 1, or 0 if it is not known.
        line: usize,
        /// The path of the field in the file, such as `flow[2].arrival`.
        path: String,
        /// The fault of the field and its remedy.
        message: String,
    },
    /// All fields are valid, but they do not describe a valid network.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// Returns the unit of time with the given name, such as `us`, or `None` if there is no such unit.
#[must_use]
pub fn time_unit(name: &str) -> Option<Unit> {
    let size = quantity::unit(name, quantity::Dimension::Time)?;
    Some(Unit { name: name.to_owned(), size })
}

/// Returns the unit of data with the given name, such as `kB`, or `None` if there is no such unit.
#[must_use]
pub fn data_unit(name: &str) -> Option<Unit> {
    let size = quantity::unit(name, quantity::Dimension::Data)?;
    Some(Unit { name: name.to_owned(), size })
}

/// Parses a rate as written in files, such as `10Mbps`. Returns it in bits per second, which is
/// also its unit if the text has none.
///
/// # Errors
///
/// Returns the fault of the text, as a sentence.
pub fn rate(text: &str) -> Result<crate::Rational, String> {
    quantity::Units::default().parse(text, quantity::Dimension::Rate)
}

/// Parses a time as written in files, such as `5ms`. Returns it in seconds, which is also its unit
/// if the text has none.
///
/// # Errors
///
/// Returns the fault of the text, as a sentence.
pub fn time(text: &str) -> Result<crate::Rational, String> {
    quantity::Units::default().parse(text, quantity::Dimension::Time)
}

fn line_prefix(line: usize) -> String {
    if line == 0 { String::new() } else { format!("line {line}: ") }
}

/// Reads a network from the text of a file.
///
/// # Errors
///
/// Returns the first fault of the file, with its position.
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

/// Returns whether the file is in Saihu's format: it then has the field `network` or the field
/// `servers`.
fn is_saihu(root: &Node<'_>) -> Result<bool, FormatError> {
    let fields = root.any_fields()?;
    Ok(fields.get("network").is_some() || fields.get("servers").is_some())
}

/// Returns the servers of a flow's path, given the list of their names. `servers` looks up one
/// name.
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
