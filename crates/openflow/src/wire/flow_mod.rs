//! A view of flow-mod messages: OpenFlow 1.0.0, 5.3.3; OpenFlow 1.3.5, 7.3.4.1.

use super::{Checked, MessageType, check, u8_at, u16_at, u32_at, u64_at};
use crate::error::DecodeError;
use crate::{BufferId, PortNumber, Version, Xid};

open_enum! {
    /// The command of a flow-mod (`ofp_flow_mod_command`), with equal values in both versions.
    ///
    /// The type has 16 bits as in 1.0, although the field has only 8 bits in 1.3.
    pub FlowModCommand: u16 {
        /// Adds a flow entry.
        ADD = 0,
        /// Changes the actions of all entries that the match covers.
        MODIFY = 1,
        /// Changes the actions of the entry with this match and priority.
        MODIFY_STRICT = 2,
        /// Removes all entries that the match covers.
        DELETE = 3,
        /// Removes the entry with this match and priority.
        DELETE_STRICT = 4,
    }
}

/// A view of a flow-mod of either version. It provides access to the fixed fields except the cookie
/// mask and the group of 1.3.
#[derive(Clone, Copy, Debug)]
pub struct FlowMod<T> {
    buffer: T,
    version: Version,
}

/// Returns the length in bytes of the shortest flow-mod, which has no actions and, in 1.3, an empty
/// match.
const fn fixed(version: Version) -> usize {
    match version {
        Version::V1_0 => 72,
        Version::V1_3 => 56,
    }
}

impl<T: AsRef<[u8]>> FlowMod<T> {
    /// Checks that the buffer holds a whole flow-mod. Match, actions and instructions are not
    /// checked.
    pub fn new_checked(buffer: T) -> Result<Self, DecodeError> {
        let Checked { version, .. } =
            check(buffer.as_ref(), MessageType::FLOW_MOD, "ofp_flow_mod", fixed)?;
        Ok(Self { buffer, version })
    }

    /// Returns the version of the message.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the transaction id of the message.
    pub fn xid(&self) -> Xid {
        Xid(u32_at(self.buffer.as_ref(), 4))
    }

    /// Returns the controller's cookie for the flow entry.
    pub fn cookie(&self) -> u64 {
        u64_at(self.buffer.as_ref(), self.at(48, 8))
    }

    /// Returns the table that the flow-mod changes, or `None` in 1.0, which has no such field.
    pub fn table_id(&self) -> Option<u8> {
        (self.version == Version::V1_3).then(|| u8_at(self.buffer.as_ref(), 24))
    }

    /// Returns the change that the flow-mod makes.
    pub fn command(&self) -> FlowModCommand {
        let data = self.buffer.as_ref();
        FlowModCommand(match self.version {
            Version::V1_0 => u16_at(data, 56),
            Version::V1_3 => u16::from(u8_at(data, 25)),
        })
    }

    /// Returns the time in seconds without a packet after which the entry is removed, or 0 for
    /// never.
    pub fn idle_timeout(&self) -> u16 {
        u16_at(self.buffer.as_ref(), self.at(58, 26))
    }

    /// Returns the time in seconds after which the entry is removed, or 0 for never.
    pub fn hard_timeout(&self) -> u16 {
        u16_at(self.buffer.as_ref(), self.at(60, 28))
    }

    /// Returns the entry's priority. Among matching entries, the one with the highest priority
    /// applies.
    pub fn priority(&self) -> u16 {
        u16_at(self.buffer.as_ref(), self.at(62, 30))
    }

    /// Returns the id of the buffered packet to which the switch also applies the new entry.
    pub fn buffer_id(&self) -> BufferId {
        BufferId(u32_at(self.buffer.as_ref(), self.at(64, 32)))
    }

    /// Returns the port to which a removal is restricted: only entries that output to it are
    /// removed.
    pub fn out_port(&self) -> PortNumber {
        let data = self.buffer.as_ref();
        match self.version {
            Version::V1_0 => PortNumber::from_v1_0(u16_at(data, 68)),
            Version::V1_3 => PortNumber(u32_at(data, 36)),
        }
    }

    /// Returns the flags of the flow-mod, whose meaning depends on the version.
    pub fn flags(&self) -> u16 {
        u16_at(self.buffer.as_ref(), self.at(70, 44))
    }

    fn at(&self, v1_0: usize, v1_3: usize) -> usize {
        match self.version {
            Version::V1_0 => v1_0,
            Version::V1_3 => v1_3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a flow-mod whose byte at offset `n` is `n`, except for its header, so that every
    /// field shows the offset from which it was read.
    fn counting(version: Version) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..80).collect();
        bytes[..4].copy_from_slice(&[version.wire(), MessageType::FLOW_MOD.0, 0, 80]);
        bytes
    }

    #[test]
    fn fields_of_1_0_are_where_the_specification_puts_them() {
        let bytes = counting(Version::V1_0);
        let view = FlowMod::new_checked(&bytes).unwrap();
        assert_eq!(view.version(), Version::V1_0);
        assert_eq!(view.xid(), Xid(0x0405_0607));
        assert_eq!(view.cookie(), 0x3031_3233_3435_3637);
        assert_eq!(view.table_id(), None);
        assert_eq!(view.command(), FlowModCommand(0x3839));
        assert_eq!((view.idle_timeout(), view.hard_timeout()), (0x3a3b, 0x3c3d));
        assert_eq!(view.priority(), 0x3e3f);
        assert_eq!(view.buffer_id(), BufferId(0x4041_4243));
        assert_eq!(view.out_port(), PortNumber(0x4445));
        assert_eq!(view.flags(), 0x4647);
    }

    #[test]
    fn fields_of_1_3_are_where_the_specification_puts_them() {
        let bytes = counting(Version::V1_3);
        let view = FlowMod::new_checked(&bytes).unwrap();
        assert_eq!(view.xid(), Xid(0x0405_0607));
        assert_eq!(view.cookie(), 0x0809_0a0b_0c0d_0e0f);
        assert_eq!(view.table_id(), Some(0x18));
        assert_eq!(view.command(), FlowModCommand(0x19));
        assert_eq!((view.idle_timeout(), view.hard_timeout()), (0x1a1b, 0x1c1d));
        assert_eq!(view.priority(), 0x1e1f);
        assert_eq!(view.buffer_id(), BufferId(0x2021_2223));
        assert_eq!(view.out_port(), PortNumber(0x2425_2627));
        assert_eq!(view.flags(), 0x2c2d);
    }

    #[test]
    fn other_messages_and_short_ones_are_refused() {
        for (version, minimum) in [(Version::V1_0, 72), (Version::V1_3, 56)] {
            let mut bytes = counting(version);
            bytes[3] = minimum;
            assert!(FlowMod::new_checked(&bytes).is_ok());
            bytes[3] -= 1;
            assert!(FlowMod::new_checked(&bytes).is_err());
            bytes[3] = minimum;
            bytes[1] = 15;
            assert!(FlowMod::new_checked(&bytes).is_err());
            bytes[1] = 14;
            bytes[0] = 2;
            assert!(FlowMod::new_checked(&bytes).is_err());
        }
    }
}
