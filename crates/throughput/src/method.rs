//! Ways by which a packet changes the entry that it hit (Simon et al., ANCS 2021, section 5), in a running program: it
//! writes the entry in place, or it sends a message, and who gets that writes as the control plane does.

use crate::check::NOW;
use crate::traffic::TrafficError;
use ir::bits::Bits;
use ir::{ActionId, TableId};
use pipeline::{Digest, EntryAction, FieldMatch, Processor, Switch, TableEntry, Value};
use std::sync::Arc;
use tables::{DigestLoop, DigestSender};

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Method {
    /// In place, through a reference.
    #[default]
    Pointer,
    /// The worker changes the entry behind its burst, as the control plane does.
    Change,
    /// The message goes to a controller through loopback TCP, and the entry is written when it comes back.
    Digest,
}

impl Method {
    /// All of them, in the order of the paper.
    pub const ALL: [Self; 3] = [Self::Pointer, Self::Change, Self::Digest];

    /// As flags and results call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pointer => "pointer",
            Self::Change => "change",
            Self::Digest => "digest",
        }
    }
}

/// Bytes of a key or of a value in a message to the controller.
const WORD: usize = size_of::<u128>();

/// Room that is left to workers that look for room at the same time: as many as there can be.
const MARGIN: u64 = 256;

/// Does what the messages of packets say: the first of a message's fields are the keys of the program's only table, the
/// others are parameters of its first action.
pub(crate) struct Changes {
    method: Method,
    target: Option<Target>,
    controller: Option<(DigestLoop, DigestSender)>,
}

/// The table that messages are about.
#[derive(Clone)]
struct Target {
    switch: Arc<Switch>,
    table: TableId,
    action: ActionId,
    /// Widths of the keys.
    keys: Vec<u32>,
    /// Widths of the parameters.
    parameters: Vec<u32>,
}

impl Changes {
    /// # Errors
    /// If the program's packets do not send such messages, or there are no sockets to the controller.
    pub(crate) fn new(method: Method, switch: &Arc<Switch>) -> Result<Self, TrafficError> {
        if method == Method::Pointer {
            return Ok(Self { method, target: None, controller: None });
        }
        let target = Target::of(switch).ok_or(TrafficError::NoMessages)?;
        let controller = if method == Method::Digest {
            let widths = (WORD * target.keys.len(), WORD * target.parameters.len());
            let target = target.clone();
            let apply = move |digest: &tables::Digest| {
                let words = |bytes: &[u8]| -> Vec<u128> {
                    bytes.as_chunks().0.iter().map(|word| u128::from_be_bytes(*word)).collect()
                };
                target.write(&words(&digest.key), &words(&digest.parameters))
            };
            let found = DigestLoop::between(widths, Some, apply);
            Some(found.map_err(|error| TrafficError::Controller(error.to_string()))?)
        } else {
            None
        };
        Ok(Self { method, target: Some(target), controller })
    }

    /// Sees to it that what the last packets asked for is written, or on its way. Waits while as much is on its way as may
    /// be; how many could not be written.
    pub(crate) fn deliver(&self, processor: &mut Processor) -> u64 {
        let Some(target) = &self.target else { return 0 };
        let messages = processor.take_digests();
        let mut lost = 0;
        for message in messages {
            let done = match (target.words(&message), &self.controller) {
                (Some((keys, values)), None) => target.write(&keys, &values),
                (Some((keys, values)), Some((_, sender))) => {
                    while sender.room() < MARGIN {
                        std::thread::yield_now();
                    }
                    sender.send(&bytes(&keys), tables::ActionId(0), &bytes(&values));
                    true
                }
                (None, _) => false,
            };
            lost += u64::from(!done);
        }
        lost
    }

    /// Waits until all that is on its way is written; how much of it was not.
    pub(crate) fn settle(&self) -> u64 {
        let Some((digests, _)) = &self.controller else { return 0 };
        loop {
            let counts = digests.counts();
            if counts.applied + counts.refused >= counts.sent {
                return counts.dropped + counts.refused;
            }
            std::thread::yield_now();
        }
    }

    /// Whether packets ask for changes by messages; the processor time of a worker, which waits for others then, says nothing
    /// about them.
    pub(crate) fn are_asked_for(&self) -> bool {
        self.method != Method::Pointer
    }
}

/// Numbers one behind the other, the highest byte first.
fn bytes(words: &[u128]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

impl Target {
    fn of(switch: &Arc<Switch>) -> Option<Self> {
        let program = switch.program();
        let [table] = program.tables.as_slice() else { return None };
        let action = table.actions.first()?.action;
        let width = |id| u32::try_from(program.types.width_in_bits(id)?).ok();
        let keys = table.keys.iter().map(|key| width(key.expression.type_id));
        let declared = program.actions.get(action.index())?;
        let parameters = declared.control_plane_parameters();
        let parameters = parameters.map(|parameter| width(parameter.type_id));
        Some(Self {
            switch: Arc::clone(switch),
            table: TableId(0),
            action,
            keys: keys.collect::<Option<_>>()?,
            parameters: parameters.collect::<Option<_>>()?,
        })
    }

    /// Keys and parameters in a message.
    fn words(&self, message: &Digest) -> Option<(Vec<u128>, Vec<u128>)> {
        let Value::Struct(fields) = &message.value else { return None };
        let words = fields.iter().map(|field| field.to_pattern()?.to_u128());
        let mut keys = words.collect::<Option<Vec<u128>>>()?;
        if keys.len() != self.keys.len() + self.parameters.len() {
            return None;
        }
        let values = keys.split_off(self.keys.len());
        Some((keys, values))
    }

    /// Changes the entry with these keys; whether there is one.
    fn write(&self, keys: &[u128], values: &[u128]) -> bool {
        let bits = |(width, word): (&u32, &u128)| Bits::unsigned(*width, *word);
        let matches = self.keys.iter().zip(keys).map(bits).map(FieldMatch::Exact).collect();
        let arguments: Vec<Bits> = self.parameters.iter().zip(values).map(bits).collect();
        let Ok(call) = self.switch.action_call(self.action, &arguments) else { return false };
        let action = EntryAction::Action(call);
        let entry = TableEntry { matches, priority: 0, action, idle_timeout: None };
        self.switch.modify_entry(self.table, entry, NOW).is_ok()
    }
}
