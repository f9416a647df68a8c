//! A device that a person configures, following printed instructions.

use std::io::{BufRead, Write};

use super::super::conduct::BenchError;
use super::super::task::Task;
use super::super::traffic::{Subject, value};
use super::wire::{self, Device};

/// A device that a person configures. The configuration is printed, and the person presses Enter
/// when the device is configured.
pub(super) struct Manual {
    pub(super) ports: [u32; 2],
}

impl Device for Manual {
    fn configure(&mut self, task: &Task) -> Result<(), BenchError> {
        let Subject { matched, action, rules, .. } =
            task.rule().ok_or_else(|| wire::runs_no_programs("device"))?;
        let [in_port, out_port] = self.ports;
        let mut error = std::io::stderr().lock();
        let _ = writeln!(
            error,
            "\nSet {rules} rule(s) with match {matched} and action {action}; the first is for UDP packets\n  \
             in by port {in_port}, Ethernet {} to {}, IPv4 {} to {} (masked: /{}), type of service {},\n  \
             ports {} to {}{}\n  and sends them out of port {out_port}{}.\nPress Enter when it is done.",
            mac(value::DL_SRC),
            mac(value::DL_DST),
            std::net::Ipv4Addr::from(value::NW_SRC),
            std::net::Ipv4Addr::from(value::NW_DST),
            value::NW_DST_PREFIX,
            value::NW_TOS,
            value::TP_SRC,
            value::TP_DST,
            match action {
                super::super::function::ActionKind::StripVlan => format!(", VLAN {}", value::VLAN),
                _ => String::new(),
            },
            sets(action),
        );
        drop(error);
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        match read {
            Ok(count) if count > 0 => Ok(()),
            _ => Err(BenchError::Device {
                device: "manual".to_owned(),
                problem: "nobody answers: standard input has ended".to_owned(),
            }),
        }
    }
}

fn mac(address: [u8; 6]) -> String {
    address.map(|byte| format!("{byte:02x}")).join(":")
}

fn sets(action: super::super::function::ActionKind) -> String {
    use super::super::function::ActionKind;
    match action {
        ActionKind::Output => String::new(),
        ActionKind::SetDlSrc => format!(" from Ethernet address {}", mac(value::SET_DL_SRC)),
        ActionKind::StripVlan => " without the tag".to_owned(),
        ActionKind::SetVlanId => format!(" with a tag of VLAN {}", value::SET_VLAN),
        ActionKind::SetNwSrc => {
            format!(" from IPv4 address {}", std::net::Ipv4Addr::from(value::SET_NW_SRC))
        }
        ActionKind::SetNwTos => format!(" with type of service {:#04x}", value::SET_NW_TOS),
        ActionKind::SetTpSrc => format!(" from UDP port {}", value::SET_TP_SRC),
    }
}
