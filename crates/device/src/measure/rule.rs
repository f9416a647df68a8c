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

/// Returns the rules of the table in a task. The first rule matches the packets of the task, which
/// enter by the port `port`.
pub(super) fn rules(subject: Subject, port: u32) -> impl Iterator<Item = Rule> {
    (0..subject.rules).map(move |other| {
        let own = Rule {
            in_port: port,
            dl_dst: value::DL_DST.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
            nw_src: u32::from_be_bytes(value::NW_SRC),
            nw_dst: u32::from_be_bytes(value::NW_DST),
            tp_dst: value::TP_DST,
        };
        // One field differs in every rule, so that no two rules match the same packets.
        match subject.matched {
            MatchKind::Port => {
                // The other rules use ports above `LAST_PORT`, except the port of the packets.
                let above = LAST_PORT + other;
                let above = above + u32::from((LAST_PORT + 1..=above).contains(&port));
                Rule { in_port: if other == 0 { port } else { above }, ..own }
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

/// Returns the largest number of different rules that compare the fields of `matched`. Packets
/// enter by `port`, and `greatest` is the greatest port number of the device.
pub(super) fn most_rules(matched: MatchKind, port: u32, greatest: u32) -> u32 {
    match matched {
        MatchKind::Port => {
            let own = u32::from((LAST_PORT + 1..=greatest).contains(&port));
            1 + greatest - LAST_PORT - own
        }
        MatchKind::TpDst => 1 + u32::from(u16::MAX - value::TP_DST),
        MatchKind::DlDst | MatchKind::MaskedNwDst | MatchKind::FiveTuple | MatchKind::All => {
            u32::MAX
        }
    }
}

/// The greatest port number of a device under test whose ports the plan does not name.
pub(super) const LAST_PORT: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::function::ActionKind;

    #[test]
    fn values_of_rules_fit_their_field() {
        let values = |matched, rules, port, value: &dyn Fn(Rule) -> u32| {
            let action = ActionKind::Output;
            let subject = Subject { matched, action, packet_bytes: 64, rules, headers: 0 };
            let mut values: Vec<u32> = super::rules(subject, port).map(value).collect();
            values.sort_unstable();
            values.dedup();
            values
        };
        for port in [1, 2, 3, 5, 511] {
            let most = most_rules(MatchKind::Port, port, 511);
            let ports = values(MatchKind::Port, most, port, &|rule| rule.in_port);
            assert_eq!((ports.len(), ports.last()), (most as usize, Some(&511)));
            assert_eq!(most, if port > LAST_PORT { 509 } else { 510 });
        }
        let most = most_rules(MatchKind::TpDst, 1, 511);
        let found = values(MatchKind::TpDst, most, 1, &|rule| rule.tp_dst.into());
        assert_eq!((found.len(), found.last()), (most as usize, Some(&65_535)));
    }

    #[test]
    fn packets_match_the_first_rule_and_no_two_are_alike() {
        for matched in MatchKind::ALL.iter().copied() {
            let action = ActionKind::Output;
            let subject = Subject { matched, action, packet_bytes: 64, rules: 400, headers: 0 };
            let all: Vec<Rule> = rules(subject, 1).collect();
            assert_eq!(all.len(), 400);
            let elsewhere: Vec<Rule> = rules(subject, 5).collect();
            for (place, rule) in elsewhere.iter().enumerate() {
                assert!(!elsewhere[..place].contains(rule), "{matched}: {rule:?}");
            }
            assert_eq!((all[0].in_port, all[0].tp_dst), (1, value::TP_DST));
            for (place, rule) in all.iter().enumerate() {
                assert!(!all[..place].contains(rule), "{matched}: {rule:?}");
            }
        }
    }
}
