//! Parses flows in the syntax of `ovs-ofctl`, as `ovs-ofctl dump-flows` prints them and
//! `ovs-ofctl add-flows` reads them (ovs-ofctl(8), section "Flow Syntax").

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use openflow::{MacAddress, PortNumber};

/// The priority of a flow that specifies none.
const DEFAULT_PRIORITY: u16 = 0x8000;

/// A flow as it is written in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WrittenFlow {
    pub(super) table: u8,
    pub(super) priority: u16,
    pub(super) fields: Vec<Field>,
    pub(super) actions: Vec<FlowAction>,
}

/// A condition of a match, on one header field of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    InPort(PortNumber),
    EthSrc(Masked<MacAddress>),
    EthDst(Masked<MacAddress>),
    EthType(u16),
    /// The packet has no VLAN tag.
    Untagged,
    /// The packet has a VLAN tag with this VLAN id.
    Vlan(u16),
    VlanPriority(u8),
    /// The DSCP, which is the upper six bits of the type-of-service field.
    Dscp(u8),
    /// The IP protocol, or the opcode of an ARP packet.
    Protocol(u8),
    Source(Masked<Ipv4Addr>),
    Destination(Masked<Ipv4Addr>),
    Ipv6Source(Masked<Ipv6Addr>),
    Ipv6Destination(Masked<Ipv6Addr>),
    SourcePort(u16),
    DestinationPort(u16),
    IcmpType(u8),
    IcmpCode(u8),
}

/// A value with a mask. Only the bits of the mask are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Masked<T> {
    pub(super) value: T,
    /// The mask; `None` if all bits are compared.
    pub(super) mask: Option<T>,
}

/// An action of a flow on a packet, or an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlowAction {
    Output(PortNumber),
    SetEthSrc(MacAddress),
    SetEthDst(MacAddress),
    SetSource(Ipv4Addr),
    SetDestination(Ipv4Addr),
    /// Sets the source port of this protocol.
    SetSourcePort(Transport, u16),
    /// Sets the destination port of this protocol.
    SetDestinationPort(Transport, u16),
    SetVlan(u16),
    SetVlanPriority(u8),
    StripVlan,
    PushVlan(u16),
    /// Sets the type-of-service field, of which the DSCP is the upper six bits.
    SetTos(u8),
    DecrementTtl,
    SetQueue(u32),
    Group(u32),
    GotoTable(u8),
    Meter(u32),
}

/// A transport protocol with port numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    /// The protocol that the match of the flow specifies, as for the action `mod_tp_src`.
    OfMatch,
    Tcp,
    Udp,
}

/// Parses a line. Returns `None` for a line without a flow: an empty one, a comment, or the first
/// line of the output of `dump-flows`. The error describes what is wrong.
pub(super) fn flow_of(line: &str) -> Result<Option<WrittenFlow>, String> {
    let line = line.split('#').next().unwrap_or_default().trim();
    let is_heading = line.contains("_FLOW reply") || line.contains("OFPST_FLOW");
    if line.is_empty() || is_heading {
        return Ok(None);
    }
    let line = line.strip_prefix("add ").unwrap_or(line);
    let Some((conditions, actions)) = split_at_actions(line) else {
        return Err("it has no actions=".to_owned());
    };
    let mut flow = WrittenFlow {
        table: 0,
        priority: DEFAULT_PRIORITY,
        fields: Vec::new(),
        actions: Vec::new(),
    };
    let words = conditions.split(|one: char| one == ',' || one.is_whitespace());
    for word in words.filter(|word| !word.is_empty()) {
        flow.condition(word)?;
    }
    for word in outside_parentheses(actions) {
        flow.action(word.trim())?;
    }
    Ok(Some(flow))
}

/// Splits a line into the part before its actions and the actions.
fn split_at_actions(line: &str) -> Option<(&str, &str)> {
    line.split_once("actions=").or_else(|| line.split_once("action="))
}

/// Splits a list at the commas that are not inside parentheses.
fn outside_parentheses(list: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let words = list.split(move |one: char| {
        match one {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        one == ',' && depth == 0
    });
    words.collect()
}

impl WrittenFlow {
    /// Parses a word of the form `name=value`: a condition of the match, a property such as the
    /// priority, or a statistic that `dump-flows` prints.
    fn condition(&mut self, word: &str) -> Result<(), String> {
        let Some((name, value)) = word.split_once('=') else { return self.shorthand(word) };
        let field = match name {
            "cookie" | "duration" | "n_packets" | "n_bytes" | "idle_age" | "hard_age"
            | "n_offload_packets" | "n_offload_bytes" | "idle_timeout" | "hard_timeout"
            | "importance" => return Ok(()),
            "table" => {
                self.table = number(word, value)?;
                return Ok(());
            }
            "priority" => {
                self.priority = number(word, value)?;
                return Ok(());
            }
            "in_port" => Field::InPort(port(word, value)?),
            "dl_src" | "eth_src" => Field::EthSrc(masked(word, value)?),
            "dl_dst" | "eth_dst" => Field::EthDst(masked(word, value)?),
            "dl_type" | "eth_type" => Field::EthType(number(word, value)?),
            "dl_vlan" => match number(word, value)? {
                0xffff => Field::Untagged,
                id => Field::Vlan(id),
            },
            "vlan_vid" => match number::<u16>(word, value)? {
                0 => Field::Untagged,
                // The bit 0x1000 says that there is a tag.
                id => Field::Vlan(id & 0x0fff),
            },
            "dl_vlan_pcp" | "vlan_pcp" => Field::VlanPriority(number(word, value)?),
            "nw_tos" => Field::Dscp(number::<u8>(word, value)? & 0xfc),
            "ip_dscp" => Field::Dscp(number::<u8>(word, value)? << 2),
            "nw_proto" | "ip_proto" | "arp_op" => Field::Protocol(number(word, value)?),
            "nw_src" | "ip_src" | "ipv4_src" | "arp_spa" => Field::Source(prefixed(word, value)?),
            "nw_dst" | "ip_dst" | "ipv4_dst" | "arp_tpa" => {
                Field::Destination(prefixed(word, value)?)
            }
            "ipv6_src" => Field::Ipv6Source(prefixed(word, value)?),
            "ipv6_dst" => Field::Ipv6Destination(prefixed(word, value)?),
            "tp_src" | "tcp_src" | "udp_src" | "sctp_src" => {
                Field::SourcePort(number(word, value)?)
            }
            "tp_dst" | "tcp_dst" | "udp_dst" | "sctp_dst" => {
                Field::DestinationPort(number(word, value)?)
            }
            "icmp_type" | "icmpv6_type" => Field::IcmpType(number(word, value)?),
            "icmp_code" | "icmpv6_code" => Field::IcmpCode(number(word, value)?),
            _ => {
                return Err(format!(
                    "the condition `{word}` is not among those that flows of a file may have (docs/dut.md lists them)"
                ));
            }
        };
        self.fields.push(field);
        Ok(())
    }

    /// Parses a word without a value: the name of a protocol, or a flag, which is ignored.
    fn shorthand(&mut self, word: &str) -> Result<(), String> {
        let (kind, protocol) = match word {
            "ip" => (0x0800, None),
            "icmp" => (0x0800, Some(1)),
            "tcp" => (0x0800, Some(6)),
            "udp" => (0x0800, Some(17)),
            "sctp" => (0x0800, Some(132)),
            "arp" => (0x0806, None),
            "ipv6" => (0x86dd, None),
            "icmp6" => (0x86dd, Some(58)),
            "tcp6" => (0x86dd, Some(6)),
            "udp6" => (0x86dd, Some(17)),
            "sctp6" => (0x86dd, Some(132)),
            "send_flow_rem" | "check_overlap" | "reset_counts" | "no_packet_counts"
            | "no_byte_counts" => return Ok(()),
            "modify" | "delete" | "modify_strict" | "delete_strict" | "bundle" => {
                return Err(format!("it begins with `{word}`, but the flows are to be added"));
            }
            _ => {
                return Err(format!(
                    "`{word}` is no protocol that flows of a file may have (docs/dut.md lists them)"
                ));
            }
        };
        self.fields.push(Field::EthType(kind));
        self.fields.extend(protocol.map(Field::Protocol));
        Ok(())
    }

    fn action(&mut self, word: &str) -> Result<(), String> {
        let (name, value) = word.split_once([':', '=']).unwrap_or((word, ""));
        let action = match name.to_ascii_lowercase().as_str() {
            "drop" if self.actions.is_empty() && value.is_empty() => return Ok(()),
            "output" => FlowAction::Output(port(word, value)?),
            "controller" => FlowAction::Output(PortNumber::CONTROLLER),
            "mod_dl_src" => FlowAction::SetEthSrc(value_of(word, value)?),
            "mod_dl_dst" => FlowAction::SetEthDst(value_of(word, value)?),
            "mod_nw_src" => FlowAction::SetSource(value_of(word, value)?),
            "mod_nw_dst" => FlowAction::SetDestination(value_of(word, value)?),
            "mod_tp_src" => FlowAction::SetSourcePort(Transport::OfMatch, number(word, value)?),
            "mod_tp_dst" => FlowAction::SetDestinationPort(Transport::OfMatch, number(word, value)?),
            "mod_vlan_vid" => FlowAction::SetVlan(number(word, value)?),
            "mod_vlan_pcp" => FlowAction::SetVlanPriority(number(word, value)?),
            "strip_vlan" | "pop_vlan" => FlowAction::StripVlan,
            "push_vlan" => FlowAction::PushVlan(number(word, value)?),
            "mod_nw_tos" => FlowAction::SetTos(number(word, value)?),
            "dec_ttl" if value.is_empty() => FlowAction::DecrementTtl,
            "set_queue" => FlowAction::SetQueue(number(word, value)?),
            "group" => FlowAction::Group(number(word, value)?),
            "goto_table" => FlowAction::GotoTable(number(word, value)?),
            "meter" => FlowAction::Meter(number(word, value)?),
            "set_field" => set_field(word, value)?,
            _ if value.is_empty() => FlowAction::Output(port(word, word).map_err(|_| {
                format!(
                    "the action `{word}` is not among those that flows of a file may have (docs/dut.md lists them)"
                )
            })?),
            _ => {
                return Err(format!(
                    "the action `{word}` is not among those that flows of a file may have (docs/dut.md lists them)"
                ));
            }
        };
        self.actions.push(action);
        Ok(())
    }
}

/// Parses the argument of the action `set_field`, such as `10.0.0.1->ip_dst`.
fn set_field(word: &str, value: &str) -> Result<FlowAction, String> {
    let Some((value, field)) = value.split_once("->") else {
        return Err(format!("`{word}` has no `->` with a field"));
    };
    Ok(match field {
        "eth_src" | "dl_src" => FlowAction::SetEthSrc(value_of(word, value)?),
        "eth_dst" | "dl_dst" => FlowAction::SetEthDst(value_of(word, value)?),
        "ip_src" | "nw_src" | "ipv4_src" => FlowAction::SetSource(value_of(word, value)?),
        "ip_dst" | "nw_dst" | "ipv4_dst" => FlowAction::SetDestination(value_of(word, value)?),
        "tcp_src" => FlowAction::SetSourcePort(Transport::Tcp, number(word, value)?),
        "tcp_dst" => FlowAction::SetDestinationPort(Transport::Tcp, number(word, value)?),
        "udp_src" => FlowAction::SetSourcePort(Transport::Udp, number(word, value)?),
        "udp_dst" => FlowAction::SetDestinationPort(Transport::Udp, number(word, value)?),
        "vlan_vid" => FlowAction::SetVlan(number::<u16>(word, value)? & 0x0fff),
        "vlan_pcp" => FlowAction::SetVlanPriority(number(word, value)?),
        "ip_dscp" => FlowAction::SetTos(number::<u8>(word, value)? << 2),
        _ => {
            return Err(format!(
                "`{word}` sets a field that is not among those that flows of a file may set (docs/dut.md lists them)"
            ));
        }
    })
}

/// Parses a number, which is decimal, or hexadecimal after `0x`.
fn number<T: TryFrom<u32>>(word: &str, value: &str) -> Result<T, String> {
    let found = match value.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => value.parse().ok(),
    };
    let found = found.and_then(|number| T::try_from(number).ok());
    found.ok_or_else(|| format!("`{word}` has no number, or one that does not fit"))
}

fn port(word: &str, value: &str) -> Result<PortNumber, String> {
    Ok(match value.to_ascii_uppercase().as_str() {
        "IN_PORT" => PortNumber::IN_PORT,
        "NORMAL" => PortNumber::NORMAL,
        "FLOOD" => PortNumber::FLOOD,
        "ALL" => PortNumber::ALL,
        "CONTROLLER" => PortNumber::CONTROLLER,
        "LOCAL" => PortNumber::LOCAL,
        _ => PortNumber(number(word, value).map_err(|_| {
            format!("`{word}` has no number of a port; ovs-ofctl prints numbers with --no-names")
        })?),
    })
}

fn value_of<T: FromStr>(word: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("`{word}` has no address that could be read"))
}

fn masked<T: FromStr>(word: &str, value: &str) -> Result<Masked<T>, String> {
    let (value, mask) = match value.split_once('/') {
        Some((value, mask)) => (value, Some(value_of(word, mask)?)),
        None => (value, None),
    };
    Ok(Masked { value: value_of(word, value)?, mask })
}

/// An address type that can be matched by a prefix.
trait Prefix: FromStr {
    /// Returns the mask with this number of leading ones; `None` if the number exceeds the length
    /// of the address.
    fn mask(length: u32) -> Option<Self>;
}

impl Prefix for Ipv4Addr {
    fn mask(length: u32) -> Option<Self> {
        let zeros = u32::BITS.checked_sub(length)?;
        Some(Self::from(u32::MAX.checked_shl(zeros).unwrap_or(0)))
    }
}

impl Prefix for Ipv6Addr {
    fn mask(length: u32) -> Option<Self> {
        let zeros = u128::BITS.checked_sub(length)?;
        Some(Self::from(u128::MAX.checked_shl(zeros).unwrap_or(0)))
    }
}

/// Parses an address, optionally followed by a prefix length or a mask.
fn prefixed<T: Prefix>(word: &str, value: &str) -> Result<Masked<T>, String> {
    let Some((address, length)) = value.split_once('/') else { return masked(word, value) };
    let Ok(length) = length.parse::<u32>() else { return masked(word, value) };
    let mask = T::mask(length).ok_or_else(|| format!("`{word}` has too long a prefix"))?;
    Ok(Masked { value: value_of(word, address)?, mask: Some(mask) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(line: &str) -> WrittenFlow {
        flow_of(line).expect("it can be read").expect("it has a flow")
    }

    #[test]
    fn a_line_of_dump_flows_is_read() {
        let found = flow(
            " cookie=0x12, duration=4.2s, table=0, n_packets=7, n_bytes=98, idle_age=3, priority=100,\
             tcp,in_port=1,dl_vlan=10,nw_src=10.0.0.0/8,nw_dst=10.1.2.3,tp_dst=80 \
             actions=strip_vlan,mod_dl_dst:02:00:00:00:00:01,output:2",
        );
        let net =
            Masked { value: Ipv4Addr::new(10, 0, 0, 0), mask: Some(Ipv4Addr::new(255, 0, 0, 0)) };
        let host = Masked { value: Ipv4Addr::new(10, 1, 2, 3), mask: None };
        assert_eq!((found.table, found.priority), (0, 100));
        assert_eq!(
            found.fields,
            [
                Field::EthType(0x0800),
                Field::Protocol(6),
                Field::InPort(PortNumber(1)),
                Field::Vlan(10),
                Field::Source(net),
                Field::Destination(host),
                Field::DestinationPort(80),
            ]
        );
        assert_eq!(
            found.actions,
            [
                FlowAction::StripVlan,
                FlowAction::SetEthDst(MacAddress([2, 0, 0, 0, 0, 1])),
                FlowAction::Output(PortNumber(2)),
            ]
        );
    }

    #[test]
    fn other_forms_of_the_syntax_are_read() {
        let empty = flow("priority=1 actions=drop");
        assert_eq!((empty.fields, empty.actions), (Vec::new(), Vec::new()));
        assert_eq!(flow("actions=NORMAL").priority, 0x8000);
        let to = |line| flow(line).actions;
        assert_eq!(to("ip actions=3"), [FlowAction::Output(PortNumber(3))]);
        let ports = [PortNumber::CONTROLLER, PortNumber::IN_PORT, PortNumber::LOCAL];
        assert_eq!(to("arp actions=CONTROLLER:65535,in_port,LOCAL"), ports.map(FlowAction::Output));
        assert_eq!(
            to("udp,udp_dst=9 actions=set_field:10.0.0.1->ip_dst,group:7,meter=3"),
            [
                FlowAction::SetDestination(Ipv4Addr::new(10, 0, 0, 1)),
                FlowAction::Group(7),
                FlowAction::Meter(3),
            ]
        );
        let masked = flow("nw_src=10.1.0.0/255.255.0.0,dl_type=0x800 actions=drop");
        let mask = Some(Ipv4Addr::new(255, 255, 0, 0));
        let value = Ipv4Addr::new(10, 1, 0, 0);
        assert!(masked.fields.contains(&Field::Source(Masked { value, mask })), "{masked:?}");
        for line in [
            "",
            "  # a comment",
            "NXST_FLOW reply (xid=0x4):",
            "OFPST_FLOW reply (OF1.3) (xid=0x2):",
        ] {
            assert_eq!(flow_of(line), Ok(None), "{line}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (line, word) in [
            ("priority=1,ip", "actions="),
            ("reg0=1 actions=drop", "reg0=1"),
            ("in_port=eth0 actions=drop", "--no-names"),
            ("nw_src=10.0.0.0/33 actions=drop", "too long a prefix"),
            ("priority=70000 actions=drop", "priority=70000"),
            ("ip actions=resubmit(,1)", "resubmit(,1)"),
            ("ip actions=learn(table=1,priority=3),2", "learn(table=1,priority=3)"),
            ("delete ip actions=drop", "delete"),
        ] {
            let error = flow_of(line).expect_err("it is wrong");
            assert!(error.contains(word), "{line}: {error}");
        }
    }
}
