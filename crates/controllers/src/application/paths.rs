//! A controller application that knows the topology of its switches and provisions paths across
//! them.
//!
//! Links are discovered by LLDP frames (IEEE 802.1AB). Each switch sends such a frame out of every
//! port. The frame contains the numbers of the switch and of the port, and it arrives at the port
//! at the other end of the link. A host is located at the port at which its packets enter, provided
//! that the port has no link. For a packet to a known host, the application provisions a shortest
//! path, with a rule at each switch of the path, the last switch first. Any other packet is sent
//! out of all ports without a link, so that it reaches every host and does not circulate. When a
//! link or a switch fails, the paths over it are rerouted. A switch at which a port goes down or
//! comes up sends LLDP frames again.
//!
//! The application has no sockets and no clock. Its functions are called with events at switches,
//! and return the [`Command`]s that the switches must execute.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use openflow::MacAddress;

use super::{ETHER_TYPE, Flow, Port, RESERVED_GROUP, Rule, ether_types};

/// The EtherType of LLDP (IEEE 802.1AB).
const LLDP: u16 = 0x88cc;
/// The group address "nearest bridge", to which LLDP frames are sent (IEEE 802.1AB, table 7-1).
const NEAREST_BRIDGE: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0x0e];

/// The id of a switch: its datapath id or device id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SwitchId(pub u64);

/// A command that a switch must execute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Sends a packet out of ports.
    PacketOut {
        /// The switch that sends the packet.
        switch: SwitchId,
        /// The port by which the packet entered this switch, or `None` if it entered the network
        /// elsewhere or the controller made it.
        ingress: Option<Port>,
        /// The ports by which the packet leaves.
        outputs: Vec<Port>,
        /// The packet to send.
        frame: Vec<u8>,
    },
    /// Installs a rule.
    Install {
        /// The switch on which the rule is installed.
        switch: SwitchId,
        /// The rule to install.
        rule: Rule,
    },
    /// Removes the rule that matches a flow.
    Remove {
        /// The switch from which the rule is removed.
        switch: SwitchId,
        /// The flow whose rule is removed.
        flow: Flow,
    },
}

impl Command {
    /// Returns the switch that must execute the command.
    pub fn switch(&self) -> SwitchId {
        match self {
            Self::PacketOut { switch, .. }
            | Self::Install { switch, .. }
            | Self::Remove { switch, .. } => *switch,
        }
    }
}

/// One port in the network, by its switch and its number.
type SwitchPort = (SwitchId, Port);
/// The Ethernet addresses of a source and a destination.
type Pair = (MacAddress, MacAddress);

/// The network as the application knows it: its switches, links and hosts, and the paths between
/// hosts.
#[derive(Debug, Default)]
pub struct Network {
    /// The ports that are up, by switch.
    switches: BTreeMap<SwitchId, BTreeSet<u32>>,
    /// The links between ports, as a map from either end of a link to the other end.
    links: BTreeMap<(SwitchId, u32), (SwitchId, u32)>,
    hosts: HashMap<MacAddress, SwitchPort>,
    /// The rules that make up the path of each pair of source and destination.
    paths: HashMap<Pair, Vec<(SwitchId, Rule)>>,
    /// The rules that clients of the controller's REST interface installed, by switch.
    northbound_rules: BTreeMap<SwitchId, HashMap<Flow, Rule>>,
}

impl Network {
    /// Creates a network without any switches.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of connected switches.
    pub fn switches(&self) -> usize {
        self.switches.len()
    }

    /// Returns the number of links. The two directions of a link count separately.
    pub fn links(&self) -> usize {
        self.links.len()
    }

    /// Returns the two ends of each link, once for each direction.
    pub fn link_ends(&self) -> impl Iterator<Item = (SwitchPort, SwitchPort)> + '_ {
        self.links.iter().map(|(from, to)| ((from.0, Port(from.1)), (to.0, Port(to.1))))
    }

    /// Returns the ids of the connected switches.
    pub fn switch_ids(&self) -> impl Iterator<Item = SwitchId> + '_ {
        self.switches.keys().copied()
    }

    /// Returns the rules that this application has installed on a switch, without duplicates, or
    /// `None` if the switch is not connected.
    pub fn rules_of(&self, switch: SwitchId) -> Option<Vec<Rule>> {
        self.switches.get(&switch)?;
        let of_paths = self.paths.values().flatten().filter(|(at, _)| *at == switch);
        let mut rules: HashMap<Flow, Rule> = of_paths.map(|(_, rule)| (rule.flow, *rule)).collect();
        rules.extend(self.northbound_rules.get(&switch).into_iter().flatten());
        Some(rules.into_values().collect())
    }

    /// Installs a rule on behalf of a client of the controller's REST interface. Such a rule
    /// remains unchanged when links change. Returns the commands for switches, or `None` if the
    /// switch is not connected.
    pub fn install(&mut self, switch: SwitchId, rule: Rule) -> Option<Vec<Command>> {
        self.switches.get(&switch)?;
        self.northbound_rules.entry(switch).or_default().insert(rule.flow, rule);
        Some(vec![Command::Install { switch, rule }])
    }

    /// Adds a switch that has connected, with the ports that are up, and assumes that it has no
    /// rules. Returns the commands that discover its links. If the switch was known before, the
    /// commands also reroute the paths over it.
    pub fn switch_up(
        &mut self,
        switch: SwitchId,
        ports: impl IntoIterator<Item = Port>,
    ) -> Vec<Command> {
        let mut commands = self.switch_down(switch);
        self.switches.insert(switch, ports.into_iter().map(|port| port.0).collect());
        commands.extend(self.discover(switch));
        commands
    }

    /// Removes a switch that is no longer connected. Returns the commands that reroute the paths
    /// over it.
    pub fn switch_down(&mut self, switch: SwitchId) -> Vec<Command> {
        if self.switches.remove(&switch).is_none() {
            return Vec::new();
        }
        self.northbound_rules.remove(&switch);
        self.links.retain(|(from, _), (to, _)| *from != switch && *to != switch);
        self.hosts.retain(|_, (of, _)| *of != switch);
        self.reroute(|hop| hop == switch)
    }

    /// Records that a port of a switch went down or came up, and starts link discovery at the
    /// switch. Returns the commands that send LLDP frames and reroute paths.
    pub fn port_changed(&mut self, switch: SwitchId, port: Port, is_up: bool) -> Vec<Command> {
        let Some(ports) = self.switches.get_mut(&switch) else { return Vec::new() };
        let changed = if is_up { ports.insert(port.0) } else { ports.remove(&port.0) };
        if !changed {
            return Vec::new();
        }
        let mut commands = self.discover(switch);
        if !is_up {
            self.unlink(switch, port.0);
            commands.extend(self.reroute(|_| false));
        }
        commands
    }

    /// Returns the commands that start link discovery at a switch: each sends an LLDP frame out of
    /// one port.
    pub fn discover(&self, switch: SwitchId) -> Vec<Command> {
        let ports = self.switches.get(&switch).into_iter().flatten();
        ports
            .map(|port| Command::PacketOut {
                switch,
                ingress: None,
                outputs: vec![Port(*port)],
                frame: lldp(switch, Port(*port)),
            })
            .collect()
    }

    /// Processes a packet that a switch sent to the controller: records the host or the link that
    /// the packet shows. Returns the commands that forward the packet.
    pub fn packet_in(&mut self, switch: SwitchId, port: Port, frame: &[u8]) -> Vec<Command> {
        let Some((addresses, _)) = frame.split_first_chunk::<ETHER_TYPE>() else {
            return Vec::new();
        };
        let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5] = *addresses;
        let destination = MacAddress([d0, d1, d2, d3, d4, d5]);
        let source = MacAddress([s0, s1, s2, s3, s4, s5]);
        if ether_types(frame).outer == Some(LLDP) {
            return self.discovered((switch, port), frame);
        }
        if destination.to_bits() & !0xf == RESERVED_GROUP || !self.switches.contains_key(&switch) {
            return Vec::new();
        }
        let is_edge = !self.links.contains_key(&(switch, port.0));
        if is_edge && !source.is_multicast() {
            self.hosts.insert(source, (switch, port));
        }
        let known = match destination.is_multicast() {
            true => None,
            false => self.hosts.get(&destination).copied(),
        };
        match known {
            Some(place) => self.forward((switch, port), place, (source, destination), frame),
            // A packet that entered the network elsewhere was already flooded there.
            None if is_edge => self.flood((switch, port), frame),
            None => Vec::new(),
        }
    }

    /// Returns the rules for a shortest path from the port `from`, where the packets of a pair
    /// enter the network, to the port `to` of the destination. The rule at the last switch comes
    /// first. Returns `None` if there is no path.
    fn path(&self, from: SwitchPort, to: SwitchPort, pair: Pair) -> Option<Vec<(SwitchId, Rule)>> {
        let way = self.way(from.0, to)?;
        let (mut at, mut rules) = (from, Vec::new());
        loop {
            let output = *way.get(&at.0)?;
            let flow = Flow { ingress: at.1, source: pair.0, destination: pair.1 };
            rules.push((at.0, Rule { flow, output }));
            if at.0 == to.0 {
                rules.reverse();
                return Some(rules);
            }
            let (switch, port) = *self.links.get(&(at.0, output.0))?;
            at = (switch, Port(port));
        }
    }

    /// Searches breadth-first from the destination `to` until it reaches the switch `from`. Returns
    /// the output port towards the destination for each switch that the search has reached, or
    /// `None` if `from` cannot reach the destination.
    fn way(&self, from: SwitchId, to: SwitchPort) -> Option<HashMap<SwitchId, Port>> {
        let mut way = HashMap::from([(to.0, to.1)]);
        let mut queue = VecDeque::from([to.0]);
        while let Some(at) = queue.pop_front() {
            if at == from {
                return Some(way);
            }
            for ((_, _), (far, back)) in self.links.range((at, 0)..=(at, u32::MAX)) {
                if !way.contains_key(far) {
                    way.insert(*far, Port(*back));
                    queue.push_back(*far);
                }
            }
        }
        None
    }

    fn forward(
        &mut self,
        from: SwitchPort,
        to: SwitchPort,
        pair: Pair,
        frame: &[u8],
    ) -> Vec<Command> {
        let Some(rules) = self.path(from, to, pair) else { return Vec::new() };
        let output = rules.last().map(|(_, rule)| rule.output);
        let mut commands: Vec<Command> = rules
            .iter()
            .map(|(switch, rule)| Command::Install { switch: *switch, rule: *rule })
            .collect();
        commands.extend(output.map(|output| Command::PacketOut {
            switch: from.0,
            ingress: Some(from.1),
            outputs: vec![output],
            frame: frame.to_vec(),
        }));
        // A packet that reached the controller before a rule was installed on its way already has a
        // path, which must be kept.
        if self.hosts.get(&pair.0) == Some(&from) {
            self.paths.insert(pair, rules);
        }
        commands
    }

    fn flood(&self, from: SwitchPort, frame: &[u8]) -> Vec<Command> {
        let edges = self.switches.iter().filter_map(|(switch, ports)| {
            let outputs: Vec<Port> = ports
                .iter()
                .filter(|port| !self.links.contains_key(&(*switch, **port)))
                .map(|port| Port(*port))
                .filter(|port| (*switch, *port) != from)
                .collect();
            let ingress = (*switch == from.0).then_some(from.1);
            (!outputs.is_empty()).then(|| Command::PacketOut {
                switch: *switch,
                ingress,
                outputs,
                frame: frame.to_vec(),
            })
        });
        edges.collect()
    }

    /// Records the link from which an LLDP frame of this controller has arrived at the port `to`.
    /// Returns the command that discovers the link's other direction if that is not known yet.
    fn discovered(&mut self, to: SwitchPort, frame: &[u8]) -> Vec<Command> {
        let Some(from) = lldp_origin(frame) else { return Vec::new() };
        let is_up = |(switch, port): SwitchPort| {
            self.switches.get(&switch).is_some_and(|ports| ports.contains(&port.0))
        };
        if from.0 == to.0 || !is_up(from) || !is_up(to) {
            return Vec::new();
        }
        let new = self.links.insert((from.0, from.1.0), (to.0, to.1.0)) != Some((to.0, to.1.0));
        if new {
            // Addresses that were learned at the ports of the link before it was known do not
            // belong to hosts at these ports.
            self.hosts.retain(|_, place| *place != from && *place != to);
        }
        if self.links.contains_key(&(to.0, to.1.0)) {
            return Vec::new();
        }
        // The LLDP frame in the other direction may have been sent before this switch connected.
        let frame = lldp(to.0, to.1);
        vec![Command::PacketOut { switch: to.0, ingress: None, outputs: vec![to.1], frame }]
    }

    fn unlink(&mut self, switch: SwitchId, port: u32) {
        if let Some(far) = self.links.remove(&(switch, port)) {
            self.links.remove(&far);
        }
        // The link may be known only in the other direction.
        self.links.retain(|_, to| *to != (switch, port));
    }

    /// Reroutes the paths that use a link which no longer exists, or a switch for which `gone`
    /// returns true. Returns the commands that install the new rules and remove the old ones.
    fn reroute(&mut self, gone: impl Fn(SwitchId) -> bool) -> Vec<Command> {
        let links = &self.links;
        let is_broken = |rules: &[(SwitchId, Rule)]| {
            rules.iter().any(|(switch, _)| gone(*switch))
                || rules.windows(2).any(|hops| {
                    let [(next, entered), (at, rule)] = hops else { return false };
                    links.get(&(*at, rule.output.0)) != Some(&(*next, entered.flow.ingress.0))
                })
        };
        let broken: Vec<Pair> = self
            .paths
            .iter()
            .filter(|(_, rules)| is_broken(rules))
            .map(|(pair, _)| *pair)
            .collect();
        let mut commands = Vec::new();
        for pair in broken {
            let old = self.paths.remove(&pair).unwrap_or_default();
            let ends = self.hosts.get(&pair.0).copied().zip(self.hosts.get(&pair.1).copied());
            let new = ends.and_then(|(from, to)| self.path(from, to, pair)).unwrap_or_default();
            let rules =
                new.iter().map(|(switch, rule)| Command::Install { switch: *switch, rule: *rule });
            commands.extend(rules);
            for (switch, rule) in old {
                let is_kept =
                    new.iter().any(|(other, own)| *other == switch && own.flow == rule.flow);
                if !is_kept && self.switches.contains_key(&switch) {
                    commands.push(Command::Remove { switch, flow: rule.flow });
                }
            }
            if !new.is_empty() {
                self.paths.insert(pair, new);
            }
        }
        commands
    }
}

/// Returns an LLDP frame that identifies a switch and one of its ports. The chassis ID and the port
/// ID are locally assigned (subtype 7), and the time to live is two minutes.
fn lldp(switch: SwitchId, port: Port) -> Vec<u8> {
    let mut frame = Vec::with_capacity(60);
    frame.extend_from_slice(&NEAREST_BRIDGE);
    let [.., a, b, c, d, e] = switch.0.to_be_bytes();
    frame.extend_from_slice(&[0x02, a, b, c, d, e]);
    frame.extend_from_slice(&LLDP.to_be_bytes());
    let mut value = |kind: u16, bytes: &[u8]| {
        let head = kind << 9 | bytes.len() as u16;
        frame.extend_from_slice(&head.to_be_bytes());
        frame.extend_from_slice(bytes);
    };
    value(1, &[&[7][..], &switch.0.to_be_bytes()].concat());
    value(2, &[&[7][..], &port.0.to_be_bytes()].concat());
    value(3, &120_u16.to_be_bytes());
    value(0, &[]);
    frame.resize(60, 0);
    frame
}

/// Returns the switch and the port that an LLDP frame of [`lldp`] identifies, or `None` for other
/// frames.
fn lldp_origin(frame: &[u8]) -> Option<SwitchPort> {
    let mut rest = frame.get(14..)?;
    let (mut switch, mut port) = (None, None);
    while let Some((head, after)) = rest.split_first_chunk::<2>() {
        let head = u16::from_be_bytes(*head);
        let value = after.get(..usize::from(head & 0x1ff))?;
        rest = after.get(value.len()..)?;
        match (head >> 9, value.split_first()) {
            (0, _) => break,
            (1, Some((7, id))) => switch = Some(u64::from_be_bytes(id.try_into().ok()?)),
            (2, Some((7, id))) => port = Some(u32::from_be_bytes(id.try_into().ok()?)),
            _ => {}
        }
    }
    Some((SwitchId(switch?), Port(port?)))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::application::IPV4;

    pub(crate) fn mac(last: u8) -> MacAddress {
        MacAddress([2, 0, 0, 0, 0, last])
    }

    pub(crate) fn frame(destination: MacAddress, source: MacAddress) -> Vec<u8> {
        let mut frame = [destination.0, source.0].concat();
        frame.extend(IPV4.to_be_bytes());
        frame.resize(60, 0);
        frame
    }

    const LINKS: [(u64, u32, u64, u32); 4] =
        [(1, 1, 2, 1), (2, 2, 4, 1), (1, 2, 3, 1), (3, 2, 4, 2)];

    /// Carries the LLDP frames in `commands` over the links of a network, as its switches would:
    /// each frame becomes a packet-in at the other end of the link.
    fn deliver(network: &mut Network, commands: &[Command], links: &[(u64, u32, u64, u32)]) {
        for command in commands {
            let Command::PacketOut { switch, outputs, frame, ingress: None } = command else {
                continue;
            };
            for (a, pa, b, pb) in links {
                for (near, far) in [((*a, *pa), (*b, *pb)), ((*b, *pb), (*a, *pa))] {
                    if (switch.0, outputs[0].0) == near {
                        let more = network.packet_in(SwitchId(far.0), Port(far.1), frame);
                        deliver(network, &more, links);
                    }
                }
            }
        }
    }

    fn ring() -> Network {
        let mut network = Network::new();
        for switch in 1..=4 {
            network.switch_up(SwitchId(switch), (1..=3).map(Port));
        }
        // Discovery at either end of a link finds both directions.
        for switch in [1, 4] {
            let commands = network.discover(SwitchId(switch));
            assert_eq!(commands.len(), 3);
            deliver(&mut network, &commands, &LINKS);
        }
        assert_eq!((network.switches(), network.links()), (4, 8));
        network
    }

    fn installed(commands: &[Command]) -> Vec<(u64, u32, u32)> {
        commands
            .iter()
            .filter_map(|command| match command {
                Command::Install { switch, rule } => {
                    Some((switch.0, rule.flow.ingress.0, rule.output.0))
                }
                _ => None,
            })
            .collect()
    }

    #[test]
    fn a_discovery_frame_contains_its_switch_and_port() {
        let frame = lldp(SwitchId(0x1234_5678_9abc), Port(77));
        assert_eq!(lldp_origin(&frame), Some((SwitchId(0x1234_5678_9abc), Port(77))));
        for length in 0..30 {
            assert_eq!(lldp_origin(&frame[..length]), None, "{length}");
        }
    }

    #[test]
    fn a_packet_to_a_known_host_gets_a_path_and_any_other_reaches_every_host() {
        let mut network = ring();
        let commands = network.packet_in(SwitchId(1), Port(3), &frame(mac(2), mac(1)));
        let floods: Vec<_> = commands
            .iter()
            .map(|command| match command {
                Command::PacketOut { switch, outputs, .. } => (switch.0, outputs.clone()),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(floods, [(2, vec![Port(3)]), (3, vec![Port(3)]), (4, vec![Port(3)])]);
        let commands = network.packet_in(SwitchId(4), Port(3), &frame(mac(1), mac(2)));
        // The path leads from switch 4 over 2 or 3 to 1, with the last switch first.
        let rules = installed(&commands);
        assert_eq!((rules.len(), rules[0].0, rules[2].0), (3, 1, 4));
        assert_eq!(rules[0].2, 3);
        let Some(Command::PacketOut { switch, outputs, .. }) = commands.last() else {
            panic!("{commands:?}")
        };
        assert_eq!((switch.0, outputs[0].0), (4, rules[2].2));
    }

    #[test]
    fn a_lost_switch_removes_links_that_are_known_in_one_direction_only() {
        let mut network = Network::new();
        for switch in [1, 2] {
            network.switch_up(SwitchId(switch), [Port(1)]);
        }
        network.packet_in(SwitchId(2), Port(1), &lldp(SwitchId(1), Port(1)));
        assert_eq!(network.links(), 1);
        network.switch_down(SwitchId(2));
        assert_eq!(network.links(), 0);
    }

    #[test]
    fn a_lost_link_reroutes_its_paths_and_restarts_discovery() {
        let mut network = ring();
        network.packet_in(SwitchId(1), Port(3), &frame(MacAddress::BROADCAST, mac(1)));
        network.packet_in(SwitchId(4), Port(3), &frame(MacAddress::BROADCAST, mac(2)));
        let before = installed(&network.packet_in(SwitchId(1), Port(3), &frame(mac(2), mac(1))));
        let middle = before[1].0;
        let other = 5 - middle;
        let cut = before[2].2;
        let commands = network.port_changed(SwitchId(1), Port(cut), false);
        let asked = commands.iter().filter(
            |command| matches!(command, Command::PacketOut { switch, .. } if switch.0 == 1),
        );
        assert_eq!(asked.count(), 2, "of the ports that are left");
        let after = installed(&commands);
        assert_eq!((after.len(), after[1].0), (3, other));
        let removed = commands.iter().filter_map(|command| match command {
            Command::Remove { switch, .. } => Some(switch.0),
            _ => None,
        });
        // At the end of the old path a new rule is needed, since the packets enter by another port.
        assert_eq!(removed.collect::<BTreeSet<_>>(), BTreeSet::from([4, middle]));
        assert_eq!(network.links(), 6);
        // A repeated event changes nothing, and a switch that disconnects takes the rest of the
        // links with it.
        assert_eq!(network.port_changed(SwitchId(1), Port(cut), false), []);
        assert_eq!(installed(&network.switch_down(SwitchId(other))), []);
        assert_eq!((network.switches(), network.links()), (3, 2));
    }
}
