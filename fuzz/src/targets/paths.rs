//! Fuzzes the controller that maintains a topology with messages of switches: discovery frames,
//! packets of all kinds, and ports and switches that appear and disappear. No packet may make the
//! controller fail, and its commands must refer to existing switches.

use controllers::application::Port;
use controllers::application::paths::{Network, SwitchId};

/// The number of switches, and of ports per switch.
const FEW: u8 = 4;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let mut network = Network::new();
    let mut rest = data;
    // Each step consists of a kind, a position, the length of the packet, and the packet.
    while let Some(([what, at, length], after)) = rest.split_first_chunk() {
        let (frame, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        let switch = SwitchId(u64::from(at % FEW) + 1);
        let port = Port(u32::from(at / FEW % FEW) + 1);
        let commands = match what % 8 {
            0 => network.switch_up(switch, (1..=u32::from(FEW)).map(Port)),
            1 => network.switch_down(switch),
            2 => network.port_changed(switch, port, false),
            3 => network.port_changed(switch, port, true),
            _ => network.packet_in(switch, port, frame),
        };
        let known: Vec<SwitchId> = network.switch_ids().collect();
        for command in &commands {
            assert!(known.contains(&command.switch()), "{command:?} is for a switch that is gone");
        }
        for ((from, _), (to, _)) in network.link_ends() {
            assert!(
                known.contains(&from) && known.contains(&to),
                "a link of a switch that is gone"
            );
        }
    }
}
