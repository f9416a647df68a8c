//! Adapts the texts of results to the kind of message that switches send.
//!
//! Texts of results are written about packet-ins. If the switches of a run send digests or idle
//! notifications instead, the words for packet-ins are replaced in the final text. There is
//! therefore only one version of each text.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::config::Load;

impl Load {
    /// Returns the kind of message that the switches of a run send, which follows from the run's
    /// resolved configuration.
    #[must_use]
    pub fn of(configuration: &BTreeMap<String, String>) -> Self {
        let said = configuration.get("traffic.load").map(|said| said.trim_matches('"'));
        match said {
            Some("digest") => Self::Digest,
            Some("idle-timeout") => Self::IdleTimeout,
            _ => Self::PacketIn,
        }
    }

    /// Replaces the words for packet-ins in a text by those for the messages that this run's
    /// switches send.
    #[must_use]
    pub fn words(self, text: &str) -> Cow<'_, str> {
        let (begins, term) = match self {
            Self::PacketIn => return Cow::Borrowed(text),
            Self::Digest => ("Digest list", "digest list"),
            Self::IdleTimeout => ("Notification", "notification"),
        };
        Cow::Owned(text.replace("Packet-in", begins).replace("packet-in", term))
    }

    /// Returns the noun for the answer to such a message, with its article.
    #[must_use]
    pub fn answer(self) -> &'static str {
        match self {
            Self::PacketIn => {
                "the first packet-out that carries its identity, so a controller that sends a rule \
                 and a packet-out for it scores once"
            }
            Self::Digest => "the first acknowledgement (DigestListAck) of that list",
            Self::IdleTimeout => "the first update of a Write with the key of its entry",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_load_has_its_own_name() {
        let text = "Packet-ins: 3 packet-ins, a packet-in, no packet-out";
        for (load, name, expected) in [
            (Load::PacketIn, "packet-in", text),
            (Load::Digest, "digest", "Digest lists: 3 digest lists, a digest list, no packet-out"),
            (
                Load::IdleTimeout,
                "idle-timeout",
                "Notifications: 3 notifications, a notification, no packet-out",
            ),
        ] {
            assert_eq!(load.words(text), expected);
            let configuration = [("traffic.load".to_owned(), name.to_owned())].into();
            assert_eq!(Load::of(&configuration), load);
        }
        assert_eq!(Load::of(&BTreeMap::new()), Load::PacketIn);
    }
}
