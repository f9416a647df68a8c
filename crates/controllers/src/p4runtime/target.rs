//! The addresses of the switches to which a controller connects.

use std::fmt;
use std::str::FromStr;

/// A switch to which a controller connects: the address of its P4Runtime server, and its device ID
/// at this server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The device ID of the switch.
    pub device_id: u64,
    /// The host and port of the switch's server, separated by a colon. An IPv6 address is in
    /// brackets.
    pub address: String,
}

/// The reason why the text that specifies switches could not be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The text is not of the form `ID@HOST:PORT`.
    #[error("{0:?} names no switch; expected ID@HOST:PORT, such as 1@127.0.0.1:50001")]
    Form(String),
    /// A line of a list is not of the form `ID HOST:PORT`.
    #[error(
        "line {line}: {text:?} names no switch; expected ID HOST:PORT, such as 1 127.0.0.1:50001"
    )]
    Line {
        /// The line number, counted from 1.
        line: usize,
        /// The text of the line.
        text: String,
    },
    /// A range of ports ends beyond 65535, the last port number.
    #[error("{count} switches from port {first_port} on need ports beyond 65535")]
    Ports {
        /// The first port of the range.
        first_port: u16,
        /// The number of ports in the range, including the first one.
        count: u32,
    },
}

impl Target {
    /// Returns `count` switches with consecutive device IDs, beginning with `first_device`. Their
    /// servers are at consecutive ports of `host`, beginning with `first_port`.
    ///
    /// # Errors
    ///
    /// Returns an error if the range of ports ends beyond the last port.
    pub fn range(
        host: &str,
        first_port: u16,
        first_device: u64,
        count: u32,
    ) -> Result<Vec<Self>, TargetError> {
        let last = u32::from(first_port) + count.saturating_sub(1);
        if last > u32::from(u16::MAX) {
            return Err(TargetError::Ports { first_port, count });
        }
        let device_ids = std::iter::successors(Some(first_device), |id| Some(id.wrapping_add(1)));
        let ports = u32::from(first_port)..;
        let target = |(device_id, port)| Self { device_id, address: format!("{host}:{port}") };
        Ok(device_ids.zip(ports).take(count as usize).map(target).collect())
    }

    /// Parses a list of switches, with the device ID and the address of one switch per line. It has
    /// the format of `planimeter probe --list-file`. Empty lines, and text after a `#`, are
    /// ignored.
    ///
    /// # Errors
    ///
    /// Returns an error that contains the first line that does not specify a switch.
    pub fn list(text: &str) -> Result<Vec<Self>, TargetError> {
        let mut targets = Vec::new();
        for (number, text) in text.lines().enumerate() {
            let line = text.split('#').next().unwrap_or_default();
            let mut words = line.split_whitespace();
            let target = match (words.next(), words.next(), words.next()) {
                (None, ..) => continue,
                (Some(device_id), Some(address), None) => Self::new(device_id, address),
                _ => None,
            };
            let (line, text) = (number + 1, text.to_owned());
            targets.push(target.ok_or(TargetError::Line { line, text })?);
        }
        Ok(targets)
    }

    fn new(device_id: &str, address: &str) -> Option<Self> {
        let device_id = device_id.parse().ok()?;
        let (host, port) = address.rsplit_once(':')?;
        port.parse::<u16>().ok()?;
        let bare_ipv6 = host.contains(':') && !(host.starts_with('[') && host.ends_with(']'));
        if host.is_empty() || bare_ipv6 {
            return None;
        }
        Some(Self { device_id, address: address.to_owned() })
    }
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let target = text.split_once('@').and_then(|(id, address)| Self::new(id, address));
        target.ok_or_else(|| TargetError::Form(text.to_owned()))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "switch {} at {}", self.device_id, self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(device_id: u64, address: &str) -> Target {
        Target { device_id, address: address.to_owned() }
    }

    #[test]
    fn a_target_is_parsed_from_a_device_id_and_an_address() {
        assert_eq!("1@127.0.0.1:50001".parse(), Ok(target(1, "127.0.0.1:50001")));
        assert_eq!("7@[::1]:9559".parse(), Ok(target(7, "[::1]:9559")));
        for text in ["", "1", "@h:1", "1@h", "1@:1", "1@h:65536", "x@h:1", "-1@h:1", "1@::1:9"] {
            assert_eq!(text.parse::<Target>(), Err(TargetError::Form(text.to_owned())));
        }
    }

    #[test]
    fn a_list_of_targets_may_have_comments_and_a_malformed_line_is_named() {
        let text = "# id address\n\n1 127.0.0.1:50051\n  20\t[::1]:50052  # second\n";
        let expected = vec![target(1, "127.0.0.1:50051"), target(20, "[::1]:50052")];
        assert_eq!(Target::list(text), Ok(expected));
        assert_eq!(Target::list(""), Ok(Vec::new()));
        for line in ["1", "1 h:1 h:2", "h:1 1", "1 h"] {
            let text = format!("1 h:1\n{line}\n");
            let error = TargetError::Line { line: 2, text: line.to_owned() };
            assert_eq!(Target::list(&text), Err(error));
        }
    }

    #[test]
    fn ports_and_device_ids_of_a_range_are_consecutive() {
        let targets = Target::range("h", 65534, 9, 2).unwrap();
        assert_eq!(targets, [target(9, "h:65534"), target(10, "h:65535")]);
        assert_eq!(Target::range("h", 65535, 9, 0), Ok(Vec::new()));
        let error = TargetError::Ports { first_port: 65534, count: 3 };
        assert_eq!(Target::range("h", 65534, 9, 3), Err(error));
        assert!(Target::range("h", 1, 1, u32::MAX).is_err());
    }
}
