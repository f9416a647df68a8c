//! What was kept of an earlier run.

use crate::journal::{Journal, JournalError, Record};
use crate::log::{Log, Verbosity};
use p4runtime::proto::v1::{ForwardingPipelineConfig, Update};
use p4runtime::session::Device;
use std::path::Path;

/// The last pipeline, and what was written to it since.
#[derive(Debug, Default)]
pub(crate) struct Restored(Option<(ForwardingPipelineConfig, Vec<Vec<Update>>)>);

impl Restored {
    /// Reads the file; the journal stands at its end.
    pub(crate) fn read(path: &Path, log: &Log) -> Result<(Self, Journal), JournalError> {
        let mut restored = None;
        let (journal, was_cut) = Journal::open(path, &mut |record| match record {
            Record::Pipeline(request) => {
                restored = request.config.map(|config| (config, Vec::new()));
            }
            Record::Write(request) => {
                if let Some((_, writes)) = &mut restored {
                    writes.push(request.updates);
                }
            }
        })?;
        if was_cut {
            log.line(
                Verbosity::Warn,
                format_args!(
                    "{}: the last record was cut off, and with it a batch that nobody had an \
                     answer to",
                    path.display()
                ),
            );
        }
        Ok((Self(restored), journal))
    }

    /// What the device had; nothing if it is to run another program now.
    pub(crate) fn take(
        self,
        device: u64,
        wanted: Option<&ForwardingPipelineConfig>,
        log: &Log,
    ) -> Option<(ForwardingPipelineConfig, Vec<Vec<Update>>)> {
        let (pipeline, writes) = self.0?;
        let is_same = |wanted: &ForwardingPipelineConfig| {
            wanted.p4info == pipeline.p4info && wanted.p4_device_config == pipeline.p4_device_config
        };
        let entities: usize = writes.iter().map(Vec::len).sum();
        if wanted.is_some_and(|wanted| !is_same(wanted)) {
            log.line(
                Verbosity::Warn,
                format_args!(
                    "device {device}: {entities} writes are not restored: they were for another \
                     program than the one that it is given now"
                ),
            );
            return None;
        }
        let said = format_args!("device {device}: a pipeline and {entities} writes are restored");
        log.line(Verbosity::Info, said);
        Some((pipeline, writes))
    }
}

/// Writes a batch again. What is refused, since the program's own limits may be others by now, is
/// said and left out.
pub(crate) fn install(device: &mut Device, updates: &[Update], log: &Log) {
    let now = p4runtime::server::now();
    if device.install(updates, now).is_ok() {
        return;
    }
    for update in updates {
        if let Err((_, error)) = device.install(std::slice::from_ref(update), now) {
            let id = device.id();
            let said = format_args!("device {id}: an entity is not restored: {}", error.message());
            log.line(Verbosity::Warn, said);
        }
    }
}
