//! An OpenFlow switch of the emulated network, with a session for each of its controllers.

use openflow::wire::{MessageType, PacketOut};
use openflow::{DatapathId, Version};
use openflow_switch::{
    Arriving, Channel, Fate, Left, OpenFlowSwitch, Received, Role, SessionError, SwitchOptions,
};

use crate::config::{Config, FlowTables, Protocol};
use crate::rfc8456::emulator::Device;
use crate::rfc8456::invalid;
use crate::rfc8456::seen::What;
use crate::traffic::RunKey;

/// An emulated OpenFlow switch.
pub(crate) struct OpenFlowDevice {
    switch: OpenFlowSwitch,
    lines: Vec<Line>,
    /// The index of the controller whose OpenFlow channel is at present in `switch`. The channels
    /// of the other controllers are in `lines`.
    current: usize,
    index: u32,
    key: RunKey,
}

/// The session of a switch with one controller.
struct Line {
    /// The OpenFlow channel of the session, or `None` while `switch` contains it.
    channel: Option<Channel>,
    /// The bytes that wait to be sent to the controller.
    out: Vec<u8>,
    is_ready: bool,
}

impl OpenFlowDevice {
    pub(crate) fn new(
        config: &Config,
        index: u32,
        tables: FlowTables,
        controllers: usize,
        key: RunKey,
    ) -> Self {
        let options = SwitchOptions {
            version: match config.protocol {
                Protocol::OpenFlow10 => Version::V1_0,
                Protocol::OpenFlow13 | Protocol::P4Runtime => Version::V1_3,
            },
            datapath_id: DatapathId(config.switches.first_id + u64::from(index)),
            ports: config.switches.ports,
            // Packets are never buffered, because the emulated network could not continue with a
            // released packet.
            buffers: 0,
            table_size: config.switches.table_size,
            flow_tables: tables,
            awaiting: 0,
        };
        let mut switch = OpenFlowSwitch::new(options);
        switch.hand_out();
        let line = |number| Line {
            channel: (number > 0).then(|| Channel::new(&options)),
            out: Vec::new(),
            is_ready: false,
        };
        let lines = (0..controllers.max(1)).map(line).collect();
        Self { switch, lines, current: 0, index, key }
    }

    /// Records that the connection with a controller is established.
    pub(crate) fn opened(&mut self, controller: usize, now: u64) {
        self.turn_to(controller);
        let Self { switch, lines, .. } = self;
        if let Some(line) = lines.get_mut(controller) {
            switch.opened(now, &mut line.out);
        }
    }

    /// Records that the connection with a controller has ended. Returns whether a session was open
    /// on it.
    pub(crate) fn closed(&mut self, controller: usize) -> bool {
        self.turn_to(controller);
        self.switch.closed();
        let Some(line) = self.lines.get_mut(controller) else { return false };
        line.out.clear();
        std::mem::take(&mut line.is_ready)
    }

    /// Returns the buffer of bytes that wait to be sent to a controller, or `None` if it is empty.
    /// The caller must remove the bytes that it sends.
    pub(crate) fn out(&mut self, controller: usize) -> Option<&mut Vec<u8>> {
        self.lines.get_mut(controller).map(|line| &mut line.out).filter(|out| !out.is_empty())
    }

    /// Performs the periodic work of a session. Flow entries expire once a second, and a controller
    /// that has been silent is sent an echo request.
    pub(crate) fn tick(&mut self, controller: usize, now: u64) -> Result<(), SessionError> {
        self.turn_to(controller);
        let Self { switch, lines, .. } = self;
        lines.get_mut(controller).map_or(Ok(()), |line| switch.tick(now, &mut line.out))
    }

    /// Processes a message from a controller. Appends the events that it causes to `seen`, and the
    /// packets that leave the switch to `left`.
    pub(crate) fn receive(
        &mut self,
        controller: usize,
        frame: &[u8],
        now: u64,
        seen: &mut Vec<What>,
        left: &mut Vec<Left>,
    ) -> Result<(), SessionError> {
        self.turn_to(controller);
        let Self { switch, lines, index, key, .. } = self;
        let (switch_index, Some(line)) = (*index, lines.get_mut(controller)) else { return Ok(()) };
        let is_packet_out = frame.get(1) == Some(&MessageType::PACKET_OUT.0);
        if is_packet_out
            && line.is_ready
            && switch.role() != Role::Slave
            && let Ok(packet_out) = PacketOut::new_checked(frame)
        {
            let payload = packet_out.payload();
            seen.extend(What::of_packet_out(switch_index, payload, *key));
            switch.packet_out(frame, now, &mut line.out);
            left.append(&mut switch.take_left());
            return Ok(());
        }
        let received = switch.receive(frame, now, &mut line.out)?;
        if let Received::Rules { installed, removed, refused } = received {
            seen.push(What::Rules { installed, removed, refused });
        }
        if switch.is_ready() && !line.is_ready {
            line.is_ready = true;
            seen.push(What::Ready { switch: switch_index, controller });
        }
        // At most one controller is master at a time (OpenFlow 1.3.5, 6.3.6).
        if switch.role() == Role::Master {
            let others = lines.iter_mut().filter_map(|line| line.channel.as_mut());
            others.for_each(Channel::demote);
        }
        Ok(())
    }

    fn turn_to(&mut self, controller: usize) {
        let Some(mut channel) = self.lines.get_mut(controller).and_then(|line| line.channel.take())
        else {
            return;
        };
        self.switch.swap(&mut channel);
        if let Some(line) = self.lines.get_mut(self.current) {
            line.channel = Some(channel);
        }
        self.current = controller;
    }
}

impl Device for OpenFlowDevice {
    fn arrive(&mut self, port: u16, frame: &[u8], now: u64, left: &mut Vec<Left>) -> bool {
        let mut packet_ins = Vec::new();
        let fate = self.switch.packet(Arriving::aside(port.into(), frame), now, &mut packet_ins);
        left.append(&mut self.switch.take_left());
        let mut went_to_controller = false;
        if !packet_ins.is_empty() {
            for controller in 0..self.lines.len() {
                self.turn_to(controller);
                let wants = self.switch.sends_packet_ins();
                if let Some(line) =
                    self.lines.get_mut(controller).filter(|line| line.is_ready && wants)
                {
                    line.out.extend_from_slice(&packet_ins);
                    went_to_controller = true;
                }
            }
        }
        went_to_controller && fate == Fate::ToController
    }

    fn set_link(&mut self, port: u16, is_up: bool, _: u64) -> bool {
        self.switch.set_link(port, is_up);
        let mut notified = false;
        for controller in 0..self.lines.len() {
            self.turn_to(controller);
            let Self { switch, lines, .. } = self;
            if let Some(line) = lines.get_mut(controller).filter(|line| line.is_ready) {
                notified |= switch.port_status(port, &mut line.out);
            }
        }
        notified
    }

    fn entries(&self) -> usize {
        self.switch.entries()
    }

    fn send_invalid(&mut self, number: u64, _: u64) -> bool {
        let version = self.switch.version();
        let Some(line) = self.lines.iter_mut().find(|line| line.is_ready) else { return false };
        invalid::openflow(version, number, &mut line.out);
        true
    }
}
