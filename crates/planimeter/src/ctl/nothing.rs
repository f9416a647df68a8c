//! A stand-in for a device, used with the address `-`. Commands are checked against a P4Info but
//! sent nowhere.

use ::ctl::{Device, DeviceError, Message, PortState, PushAction, Until};
use p4runtime::proto::config::P4Info;
use p4runtime::proto::{switch, v1};

use super::Arguments;
use crate::failure::Failure;
use crate::program;

/// A device that does not exist, which has a P4Info and nothing else.
pub(super) struct Nothing(P4Info);

impl Nothing {
    pub(super) fn new(arguments: &Arguments) -> Result<Self, Failure> {
        match (&arguments.p4info, arguments.dry_run) {
            (Some(path), true) => Ok(Self(program::p4info_in(path)?)),
            _ => Err(Failure::input(
                "without a device, as `-` means, commands can only be checked; give --p4info FILE and --dry-run",
            )),
        }
    }
}

impl Device for Nothing {
    fn id(&self) -> u64 {
        0
    }

    fn role(&self) -> &str {
        ""
    }

    fn read(&mut self, _: &[v1::Entity]) -> Result<Vec<v1::Entity>, DeviceError> {
        Err(DeviceError::NoDevice)
    }

    fn write(&mut self, _: &[v1::Update]) -> Result<(), DeviceError> {
        Err(DeviceError::NoDevice)
    }

    fn pipeline(&mut self) -> Result<Option<P4Info>, DeviceError> {
        Ok(Some(self.0.clone()))
    }

    fn push(&mut self, _: &[String], _: PushAction) -> Result<(), DeviceError> {
        Err(DeviceError::NoDevice)
    }

    fn send(&mut self, _: v1::PacketOut) -> Result<(), DeviceError> {
        Err(DeviceError::NoDevice)
    }

    fn listen(&mut self, _: Until, _: &mut dyn FnMut(Message) -> bool) -> Result<(), DeviceError> {
        Err(DeviceError::NoDevice)
    }

    fn ports(&mut self) -> Result<Vec<PortState>, DeviceError> {
        Err(DeviceError::NoDevice)
    }

    fn configuration(&mut self) -> Result<Vec<u8>, DeviceError> {
        Err(DeviceError::NoDevice)
    }

    fn store(&mut self, _: &str, _: &[u8]) -> Result<(), DeviceError> {
        Err(DeviceError::NoDevice)
    }

    fn about(&mut self) -> Result<switch::GetSwitchResponse, DeviceError> {
        Err(DeviceError::NoDevice)
    }

    fn queues(&mut self, _: &[u32]) -> Result<switch::GetQueuesResponse, DeviceError> {
        Err(DeviceError::NoDevice)
    }

    fn set_queues(
        &mut self,
        _: Vec<switch::PortQueues>,
        _: u64,
    ) -> Result<switch::SetQueuesResponse, DeviceError> {
        Err(DeviceError::NoDevice)
    }

    fn inject(&mut self, _: switch::InjectRequest) -> Result<switch::InjectOutcome, DeviceError> {
        Err(DeviceError::NoDevice)
    }
}
