//! One copy of a pipeline, however many devices run it.
//!
//! A controller pushes the same P4Info and device configuration to every switch of a kind. Ten
//! thousand emulated switches that kept what they were sent would hold ten thousand copies; the
//! registry finds the copy that is there by its hash and hands out another reference. It holds
//! only weak references itself, so that a pipeline goes when its last device lets it go.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
};

use bytes::Bytes;
use entities::DataPlane;
use prost::Message as _;

use crate::{
    p4info::{Schema, SchemaError},
    packet_io::{ByteString, PacketInLayout, PacketOutLayout},
    proto::config::P4Info,
};

/// A pipeline as pushed, and what was derived from it once.
#[derive(Debug)]
pub struct Pipeline {
    schema: Arc<Schema>,
    device_config: Bytes,
    form: ByteString,
    layouts: Layouts,
    /// The layouts with the widths that the program has, once it was loaded.
    of_program: OnceLock<Layouts>,
}

/// The layouts by which controller headers are written and read.
#[derive(Debug)]
struct Layouts {
    packet_in: Option<PacketInLayout>,
    packet_out: Option<PacketOutLayout>,
}

impl Pipeline {
    /// Checks a P4Info and derives the rest; `form` is how packet-in metadata are written.
    ///
    /// # Errors
    ///
    /// When the P4Info contradicts itself.
    pub fn new(
        p4info: P4Info,
        device_config: Bytes,
        form: ByteString,
    ) -> Result<Self, SchemaError> {
        let schema = Schema::new(p4info)?;
        let layouts = Layouts {
            packet_in: PacketInLayout::from_schema(&schema, form),
            packet_out: PacketOutLayout::from_schema(&schema, form),
        };
        Ok(Self { schema, device_config, form, layouts, of_program: OnceLock::new() })
    }

    /// Takes the widths of controller headers from the program, which was made of the same device
    /// configuration for every device.
    pub(crate) fn take_widths(&self, plane: &dyn DataPlane) {
        self.of_program.get_or_init(|| {
            let widths = |name: &str, fields: &[&str]| plane.controller_header(name, fields);
            let Layouts { packet_in, packet_out } = &self.layouts;
            Layouts {
                packet_in: packet_in.as_ref().map(|layout| layout.with_widths(widths)),
                packet_out: packet_out.as_ref().map(|layout| layout.with_widths(widths)),
            }
        });
    }

    fn layouts(&self) -> &Layouts {
        self.of_program.get().unwrap_or(&self.layouts)
    }

    /// The P4Info as pushed.
    #[must_use]
    pub fn p4info(&self) -> &P4Info {
        self.schema.p4info()
    }

    /// The target's own form of the program, opaque here; BMv2 JSON from most controllers.
    #[must_use]
    pub fn device_config(&self) -> &Bytes {
        &self.device_config
    }

    /// A number that tells pipelines apart which say the same of themselves, the same in every
    /// process: the 64-bit hash FNV-1a over P4Info and device configuration.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let p4info = self.p4info().encode_to_vec();
        let bytes = p4info.iter().chain(&self.device_config);
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    /// The P4Info, indexed and checked.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// How packet-ins are written, if the program has a header for them.
    #[must_use]
    pub fn packet_in(&self) -> Option<&PacketInLayout> {
        self.layouts().packet_in.as_ref()
    }

    /// How packet-outs are read, if the program has a header for them.
    #[must_use]
    pub fn packet_out(&self) -> Option<&PacketOutLayout> {
        self.layouts().packet_out.as_ref()
    }
}

/// The pipelines that are in use, shared by all devices that were given this registry.
#[derive(Debug, Default)]
pub struct PipelineRegistry {
    pipelines: Mutex<ByHash>,
}

/// Pipelines of equal hash are told apart by comparing them.
type ByHash = HashMap<u64, Vec<Weak<Pipeline>>>;

impl PipelineRegistry {
    /// A registry without pipelines.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The pipeline of this P4Info and device configuration, made if no device runs it yet.
    ///
    /// # Errors
    ///
    /// When the P4Info contradicts itself.
    pub fn intern(
        &self,
        p4info: P4Info,
        device_config: &Bytes,
        form: ByteString,
    ) -> Result<Arc<Pipeline>, SchemaError> {
        let hash = hash(&p4info, device_config);
        let same = |one: &Arc<Pipeline>| {
            one.form == form && one.device_config == *device_config && *one.p4info() == p4info
        };
        if let Some(found) = find(&self.lock(), hash, same) {
            return Ok(found);
        }
        // Made outside of the lock: indexing a large P4Info takes milliseconds. The bytes are
        // copied because they share memory with the whole request that brought them.
        let device_config = Bytes::copy_from_slice(device_config);
        let made = Arc::new(Pipeline::new(p4info, device_config, form)?);

        let mut pipelines = self.lock();
        let same = |one: &Arc<Pipeline>| {
            one.form == form
                && one.device_config == made.device_config
                && one.p4info() == made.p4info()
        };
        if let Some(found) = find(&pipelines, hash, same) {
            // Another device made the same pipeline meanwhile.
            return Ok(found);
        }
        pipelines.retain(|_, alike| {
            alike.retain(|pipeline| pipeline.strong_count() > 0);
            !alike.is_empty()
        });
        pipelines.entry(hash).or_default().push(Arc::downgrade(&made));
        Ok(made)
    }

    fn lock(&self) -> MutexGuard<'_, ByHash> {
        self.pipelines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn find(
    pipelines: &ByHash,
    hash: u64,
    same: impl Fn(&Arc<Pipeline>) -> bool,
) -> Option<Arc<Pipeline>> {
    pipelines.get(&hash)?.iter().filter_map(Weak::upgrade).find(same)
}

fn hash(p4info: &P4Info, device_config: &Bytes) -> u64 {
    let mut hasher = DefaultHasher::new();
    p4info.encode_to_vec().hash(&mut hasher);
    device_config.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::config::PkgInfo;

    fn p4info(name: &str) -> P4Info {
        let pkg_info = Some(PkgInfo { name: name.to_owned(), ..Default::default() });
        P4Info { pkg_info, ..Default::default() }
    }

    fn intern(registry: &PipelineRegistry, name: &str, config: &'static str) -> Arc<Pipeline> {
        let config = Bytes::from_static(config.as_bytes());
        registry.intern(p4info(name), &config, ByteString::Canonical).expect("valid")
    }

    #[test]
    fn equal_pipelines_are_one() {
        let registry = PipelineRegistry::new();
        let first = intern(&registry, "a", "x");
        assert!(Arc::ptr_eq(&first, &intern(&registry, "a", "x")));
        assert!(!Arc::ptr_eq(&first, &intern(&registry, "b", "x")));
        assert!(!Arc::ptr_eq(&first, &intern(&registry, "a", "y")));
        assert_eq!(Arc::strong_count(&first), 1);
    }

    #[test]
    fn pipelines_go_with_their_last_device() {
        let registry = PipelineRegistry::new();
        drop(intern(&registry, "a", "x"));
        let other = intern(&registry, "b", "x");
        let left: usize = registry.pipelines.lock().expect("lock").values().map(Vec::len).sum();
        assert_eq!(left, 1);
        assert_eq!(other.p4info(), &p4info("b"));
    }
}
