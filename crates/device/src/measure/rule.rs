//! The rules of a cell's table, independent of the protocol: one rule that the packets match, and
//! others that they do not.

use super::function::MatchKind;
use super::traffic::{Subject, value};

/// The field values of one rule. Fields that the rule does not compare are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) in_port: u32,
    pub(super) dl_dst: u64,
    pub(super) nw_src: u32,
    pub(super) nw_dst: u32,
    pub(super) tp_dst: u16,
}

/// Returns the rules of a cell's table. The first rule matches the cell's packets, which enter by
/// `port`.
pub(super) fn rules(subject: Subject, port: u32) -> impl Iterator<Item = Rule> {
    (0..subject.rules).map(move |other| {
        let own = Rule {
            in_port: port,
            dl_dst: value::DL_DST.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
            nw_src: u32::from_be_bytes(value::NW_SRC),
            nw_dst: u32::from_be_bytes(value::NW_DST),
            tp_dst: value::TP_DST,
        };
        // One value differs, so that no two rules match the same packets.
        match subject.matched {
            MatchKind::Port => {
                // Other rules have ports above `LAST_PORT`, on which the device receives no
                // packets.
                Rule { in_port: if other == 0 { port } else { LAST_PORT + other }, ..own }
            }
            MatchKind::TpDst => Rule { tp_dst: own.tp_dst + other as u16, ..own },
            MatchKind::DlDst => Rule { dl_dst: own.dl_dst + u64::from(other), ..own },
            MatchKind::MaskedNwDst => {
                let step = 32 - value::NW_DST_PREFIX;
                Rule { nw_dst: own.nw_dst + (other << step), ..own }
            }
            MatchKind::FiveTuple | MatchKind::All => Rule { nw_src: own.nw_src + other, ..own },
        }
    })
}

/// The greatest port number of a device under test, unless the plan names other ports.
pub(super) const LAST_PORT: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::function::ActionKind;

    #[test]
    fn packets_match_the_first_rule_and_no_two_are_alike() {
        for matched in MatchKind::ALL.iter().copied() {
            let action = ActionKind::Output;
            let subject = Subject { matched, action, packet_bytes: 64, rules: 400, headers: 0 };
            let all: Vec<Rule> = rules(subject, 1).collect();
            assert_eq!(all.len(), 400);
            assert_eq!((all[0].in_port, all[0].tp_dst), (1, value::TP_DST));
            for (place, rule) in all.iter().enumerate() {
                assert!(!all[..place].contains(rule), "{matched}: {rule:?}");
            }
        }
    }
}
