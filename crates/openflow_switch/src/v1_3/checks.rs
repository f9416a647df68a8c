//! Checks of flow-mods, and the errors with which invalid ones are answered (OpenFlow 1.3.5,
//! sections 7.2.3 to 7.2.5).

use openflow::v1_3::{Action, Instruction, Match, OxmField};
use openflow::{ErrorReason, PortNumber};

use super::TABLES;

/// The largest port number that is not reserved, and the smallest reserved port number.
const PORTS: (u32, u32) = (0xffff_ff00, 0xffff_fff8);

/// Checks the fields of a match.
pub(super) fn matching(rule: &Match) -> Result<(), ErrorReason> {
    let mut seen: Vec<(OxmField, u128)> = Vec::with_capacity(rule.fields.len());
    for oxm in &rule.fields {
        let Some((field, value, _)) = oxm.condition() else {
            return Err(ErrorReason::BadMatchBadField);
        };
        if seen.iter().any(|(other, _)| *other == field) {
            return Err(ErrorReason::BadMatchDupField);
        }
        if oxm.has_bits_outside_its_mask() {
            return Err(ErrorReason::BadMatchBadWildcards);
        }
        seen.push((field, value));
    }
    let has = |field, values: &[u128]| {
        seen.iter().any(|(other, value)| *other == field && values.contains(value))
    };
    match seen.iter().all(|(field, _)| has_prerequisites(*field, &has)) {
        true => Ok(()),
        false => Err(ErrorReason::BadMatchBadPrereq),
    }
}

/// Returns whether a match contains the fields that a field presupposes (OpenFlow 1.3.5, 7.2.3.8,
/// table 11). `has` returns whether the match contains a field with one of the given values.
fn has_prerequisites(field: OxmField, has: &impl Fn(OxmField, &[u128]) -> bool) -> bool {
    let ether = |types: &[u128]| has(OxmField::ETH_TYPE, types);
    let protocol = |number: u128| has(OxmField::IP_PROTO, &[number]);
    match field {
        OxmField::IP_DSCP | OxmField::IP_ECN | OxmField::IP_PROTO => ether(&[0x0800, 0x86dd]),
        OxmField::IPV4_SRC | OxmField::IPV4_DST => ether(&[0x0800]),
        OxmField::TCP_SRC | OxmField::TCP_DST => protocol(6),
        OxmField::UDP_SRC | OxmField::UDP_DST => protocol(17),
        OxmField::SCTP_SRC | OxmField::SCTP_DST => protocol(132),
        OxmField::ICMPV4_TYPE | OxmField::ICMPV4_CODE => protocol(1),
        OxmField::ICMPV6_TYPE | OxmField::ICMPV6_CODE => protocol(58),
        OxmField::ARP_OP
        | OxmField::ARP_SPA
        | OxmField::ARP_TPA
        | OxmField::ARP_SHA
        | OxmField::ARP_THA => ether(&[0x0806]),
        OxmField::IPV6_SRC | OxmField::IPV6_DST | OxmField::IPV6_FLABEL | OxmField::IPV6_EXTHDR => {
            ether(&[0x86dd])
        }
        OxmField::IPV6_ND_TARGET => has(OxmField::ICMPV6_TYPE, &[135, 136]),
        OxmField::IPV6_ND_SLL => has(OxmField::ICMPV6_TYPE, &[135]),
        OxmField::IPV6_ND_TLL => has(OxmField::ICMPV6_TYPE, &[136]),
        OxmField::MPLS_LABEL | OxmField::MPLS_TC | OxmField::MPLS_BOS => ether(&[0x8847, 0x8848]),
        OxmField::PBB_ISID => ether(&[0x88e7]),
        _ => true,
    }
}

/// Checks the instructions of an entry in a table.
pub(super) fn instructions(instructions: &[Instruction], table: u8) -> Result<(), ErrorReason> {
    for instruction in instructions {
        match instruction {
            Instruction::Unknown { .. } => return Err(ErrorReason::BadInstructionUnknownInst),
            Instruction::GotoTable(to) if to.0 <= table || to.0 >= TABLES => {
                return Err(ErrorReason::BadInstructionBadTableId);
            }
            Instruction::WriteActions(list) | Instruction::ApplyActions(list) => actions(list)?,
            _ => {}
        }
    }
    Ok(())
}

fn actions(actions: &[Action]) -> Result<(), ErrorReason> {
    for action in actions {
        match action {
            Action::Unknown { .. } => return Err(ErrorReason::BadActionBadType),
            Action::Output { port, .. } if !is_output(*port) => {
                return Err(ErrorReason::BadActionBadOutPort);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns whether packets can be sent to a port with this number, provided that the switch has it.
fn is_output(port: PortNumber) -> bool {
    let (last, first_reserved) = PORTS;
    let is_reserved = port.0 >= first_reserved && port != PortNumber::ANY;
    port.0 != 0 && (port.0 <= last || is_reserved)
}
