//! The tests of RFC 8456, section 5, as the configuration names them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A test of RFC 8456.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// The network topology discovery time (section 5.1.1).
    TopologyDiscoveryTime,
    /// The asynchronous message processing time (section 5.1.2).
    MessageProcessingTime,
    /// The asynchronous message processing rate (section 5.1.3).
    MessageProcessingRate,
    /// The reactive path provisioning time (section 5.1.4).
    ReactivePathTime,
    /// The proactive path provisioning time (section 5.1.5).
    ProactivePathTime,
    /// The reactive path provisioning rate (section 5.1.6).
    ReactivePathRate,
    /// The proactive path provisioning rate (section 5.1.7).
    ProactivePathRate,
    /// The network topology change detection time (section 5.1.8).
    TopologyChangeTime,
    /// The control sessions capacity (section 5.2.1).
    ControlSessions,
    /// The network discovery size (section 5.2.2).
    DiscoverySize,
    /// The forwarding table capacity (section 5.2.3).
    ForwardingTable,
    /// The handling of exceptions, such as malformed messages (section 5.3.1).
    ExceptionHandling,
    /// The handling of denial-of-service attacks (section 5.3.2).
    DenialOfService,
    /// The controller failover time (section 5.4.1).
    FailoverTime,
    /// The network re-provisioning time (section 5.4.2).
    ReprovisioningTime,
}

impl Test {
    /// All tests, in the order of the RFC.
    pub const ALL: [Self; 15] = [
        Self::TopologyDiscoveryTime,
        Self::MessageProcessingTime,
        Self::MessageProcessingRate,
        Self::ReactivePathTime,
        Self::ProactivePathTime,
        Self::ReactivePathRate,
        Self::ProactivePathRate,
        Self::TopologyChangeTime,
        Self::ControlSessions,
        Self::DiscoverySize,
        Self::ForwardingTable,
        Self::ExceptionHandling,
        Self::DenialOfService,
        Self::FailoverTime,
        Self::ReprovisioningTime,
    ];

    /// Returns the section of RFC 8456 that defines the test.
    pub fn section(self) -> &'static str {
        self.facts().0
    }

    /// Returns the title of the test in RFC 8456.
    pub fn title(self) -> &'static str {
        self.facts().1
    }

    fn facts(self) -> (&'static str, &'static str) {
        match self {
            Self::TopologyDiscoveryTime => ("5.1.1", "Network Topology Discovery Time"),
            Self::MessageProcessingTime => ("5.1.2", "Asynchronous Message Processing Time"),
            Self::MessageProcessingRate => ("5.1.3", "Asynchronous Message Processing Rate"),
            Self::ReactivePathTime => ("5.1.4", "Reactive Path Provisioning Time"),
            Self::ProactivePathTime => ("5.1.5", "Proactive Path Provisioning Time"),
            Self::ReactivePathRate => ("5.1.6", "Reactive Path Provisioning Rate"),
            Self::ProactivePathRate => ("5.1.7", "Proactive Path Provisioning Rate"),
            Self::TopologyChangeTime => ("5.1.8", "Network Topology Change Detection Time"),
            Self::ControlSessions => ("5.2.1", "Control Sessions Capacity"),
            Self::DiscoverySize => ("5.2.2", "Network Discovery Size"),
            Self::ForwardingTable => ("5.2.3", "Forwarding Table Capacity"),
            Self::ExceptionHandling => ("5.3.1", "Exception Handling"),
            Self::DenialOfService => ("5.3.2", "Handling Denial-of-Service Attacks"),
            Self::FailoverTime => ("5.4.1", "Controller Failover Time"),
            Self::ReprovisioningTime => ("5.4.2", "Network Re-provisioning Time"),
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.section(), self.title())
    }
}

/// A set of tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tests(u16);

impl Tests {
    /// The set of all tests.
    pub const ALL: Self = Self((1 << Test::ALL.len()) - 1);

    /// Iterates over the tests of the set, in the order of the RFC.
    pub fn iter(self) -> impl Iterator<Item = Test> {
        Test::ALL.into_iter().filter(move |test| self.contains(*test))
    }

    /// Returns whether the set contains a test.
    pub fn contains(self, test: Test) -> bool {
        self.0 & 1 << test as u16 != 0
    }

    /// Returns whether any test of the set searches for the largest number of switches.
    pub(crate) fn search_switches(self) -> bool {
        self.contains(Test::ControlSessions) || self.contains(Test::DiscoverySize)
    }
}

impl FromIterator<Test> for Tests {
    fn from_iter<I: IntoIterator<Item = Test>>(tests: I) -> Self {
        Self(tests.into_iter().fold(0, |bits, test| bits | 1 << test as u16))
    }
}

impl fmt::Display for Tests {
    /// Formats the sections of the tests with commas between them, as [`Tests::from_str`] parses
    /// them. The set of all tests is formatted as empty text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ALL {
            return Ok(());
        }
        let sections: Vec<_> = self.iter().map(Test::section).collect();
        f.write_str(&sections.join(","))
    }
}

impl FromStr for Tests {
    type Err = String;

    /// Parses sections with commas between them. `5.1` stands for every test in section 5.1.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut wanted = 0;
        for part in text.split(',').map(str::trim) {
            let below = format!("{part}.");
            let named = Test::ALL
                .into_iter()
                .filter(|test| test.section() == part || test.section().starts_with(&below));
            let Self(bits) = named.collect();
            if bits == 0 {
                return Err(format!(
                    "\"{part}\" is not a test of RFC 8456; expected sections from 5.1.1 to 5.1.8, 5.2.1 to 5.2.3, \
                     5.3.1, 5.3.2, 5.4.1 and 5.4.2, with commas between"
                ));
            }
            wanted |= bits;
        }
        Ok(Self(wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_read_as_they_are_written() {
        for text in ["5.1.3", "5.1.3,5.1.8", "5.3.1,5.4.2"] {
            assert_eq!(text.parse::<Tests>().unwrap().to_string(), text);
        }
        let listed = "5.1.8, 5.1.3".parse::<Tests>().unwrap();
        assert_eq!(
            listed.iter().collect::<Vec<_>>(),
            [Test::MessageProcessingRate, Test::TopologyChangeTime]
        );
        assert_eq!("5.2".parse::<Tests>().unwrap().iter().count(), 3);
        assert_eq!("5".parse::<Tests>(), Ok(Tests::ALL));
        assert_eq!(Tests::ALL.to_string(), "");
        for text in ["", "5.1.9", "5.1.3,", "6", "5.1.3;5.1.4"] {
            assert!(text.parse::<Tests>().is_err(), "{text}");
        }
    }
}
