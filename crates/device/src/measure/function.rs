//! The functions of Table I of Helm et al.: the fields on which packets are matched, and the
//! actions on packets.

use crate::campaign::{Dimension, Function, FunctionName};

macro_rules! functions {
    ($(#[$meta:meta])* $kind:ident, $dimension:ident { $($variant:ident = $name:literal: $says:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $kind {
            $(#[doc = $says] $variant,)*
        }

        impl $kind {
            /// All functions of this kind, in the order of Table I.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns the name of the function in Table I, as plans and campaigns spell it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),*
                }
            }

            /// Returns the function in the form in which a campaign describes it.
            #[must_use]
            pub fn function(self) -> Function {
                let says = match self {
                    $(Self::$variant => $says),*
                };
                Function {
                    name: FunctionName::new(self.name()),
                    dimension: Dimension::$dimension,
                    description: Some(says.trim().to_owned()),
                    consists_of: Vec::new(),
                }
            }
        }

        impl std::str::FromStr for $kind {
            type Err = ();

            fn from_str(name: &str) -> Result<Self, ()> {
                Self::ALL.iter().copied().find(|kind| kind.name() == name).ok_or(())
            }
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

functions! {
    /// The fields that a rule compares.
    MatchKind, Match {
        Port = "port": " The port that the packet came in by: the baseline.",
        TpDst = "tp-dst": " The UDP destination port.",
        DlDst = "dl-dst": " The Ethernet destination.",
        MaskedNwDst = "masked-nw-dst": " The first 24 bits of the IPv4 destination.",
        FiveTuple = "five-tuple": " IPv4 source and destination, protocol, UDP source and destination port.",
        All = "all": " The five-tuple, ingress port, type of service, Ethernet source and destination.",
    }
}

functions! {
    /// The action that a rule applies to a packet before the packet is sent out.
    ActionKind, Action {
        Output = "output": " Sends it out of a port: the baseline.",
        SetDlSrc = "set-dl-src": " Sets the Ethernet source.",
        StripVlan = "strip-vlan": " Takes the VLAN tag out; its packets are tagged, those of other actions are not.",
        SetVlanId = "set-vlan-id": " Puts a VLAN tag in.",
        SetNwSrc = "set-nw-src": " Sets the IPv4 source and updates the checksum of the header.",
        SetNwTos = "set-nw-tos": " Sets the IPv4 type of service and updates the checksum of the header.",
        SetTpSrc = "set-tp-src": " Sets the UDP source port.",
    }
}

impl MatchKind {
    /// Returns whether this match belongs to the baseline, to which other functions are added.
    #[must_use]
    pub fn is_baseline(self) -> bool {
        self == Self::Port
    }
}

impl ActionKind {
    /// Returns whether this action belongs to the baseline, to which other functions are added.
    #[must_use]
    pub fn is_baseline(self) -> bool {
        self == Self::Output
    }
}
