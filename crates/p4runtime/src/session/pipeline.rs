//! The sharing of pipelines between devices.
//!
//! A controller pushes the same P4Info and device configuration to every switch of a kind. If each
//! of ten thousand emulated switches kept its own copy, the process would hold ten thousand copies.
//! The registry finds the existing copy by its hash and returns another reference. It holds only
//! weak references itself, so a pipeline is freed with the last device that runs it.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
};

use bytes::Bytes;
use entities::DataPlane;
use prost::Message as _;

use crate::{
    p4info::{GivenNumbers, Schema, SchemaError},
    packet_io::{ByteString, PacketInLayout, PacketOutLayout},
    proto::config::P4Info,
};

/// A pipeline that a controller pushed, with the data that are derived from it once.
#[derive(Debug)]
pub struct Pipeline {
    schema: Arc<Schema>,
    device_config: Bytes,
    form: ByteString,
    layouts: Layouts,
    /// The layouts of the controller headers with the field widths of the program. They are known
    /// once a device has loaded the program.
    of_program: OnceLock<Layouts>,
}

/// The layouts of the headers of packet-ins and packet-outs.
#[derive(Debug)]
struct Layouts {
    packet_in: Option<PacketInLayout>,
    packet_out: Option<PacketOutLayout>,
}

impl Pipeline {
    /// Checks a P4Info and derives the layouts of the controller headers. `form` is the encoding of
    /// packet-in metadata.
    ///
    /// # Errors
    ///
    /// Returns an error if the P4Info is inconsistent.
    pub fn new(
        p4info: P4Info,
        device_config: Bytes,
        form: ByteString,
    ) -> Result<Self, SchemaError> {
        Self::with_numbers(p4info, device_config, form, &GivenNumbers::new())
    }

    fn with_numbers(
        p4info: P4Info,
        device_config: Bytes,
        form: ByteString,
        given: &GivenNumbers,
    ) -> Result<Self, SchemaError> {
        let schema = Schema::with_numbers(p4info, given)?;
        let layouts = Layouts {
            packet_in: PacketInLayout::from_schema(&schema, form),
            packet_out: PacketOutLayout::from_schema(&schema, form),
        };
        Ok(Self { schema, device_config, form, layouts, of_program: OnceLock::new() })
    }

    /// Records the field widths that controller headers have in a loaded program. They are the same
    /// for every device with this pipeline, because all of these devices load the same program.
    pub(crate) fn take_widths(&self, plane: &dyn DataPlane) {
        self.of_program.get_or_init(|| {
            let translations = plane.translations();
            let translations = translations.as_deref();
            let widths = |name: &str, fields: &[&str]| plane.controller_header(name, fields);
            let Layouts { packet_in, packet_out } = &self.layouts;
            Layouts {
                packet_in: packet_in
                    .as_ref()
                    .map(|layout| layout.with_widths(translations, widths)),
                packet_out: packet_out
                    .as_ref()
                    .map(|layout| layout.with_widths(translations, widths)),
            }
        });
    }

    fn layouts(&self) -> &Layouts {
        self.of_program.get().unwrap_or(&self.layouts)
    }

    /// Returns the P4Info as it was pushed.
    #[must_use]
    pub fn p4info(&self) -> &P4Info {
        self.schema.p4info()
    }

    /// Returns the device configuration: the program in a form that depends on the target, which is
    /// BMv2 JSON from most controllers.
    #[must_use]
    pub fn device_config(&self) -> &Bytes {
        &self.device_config
    }

    /// Returns a number that distinguishes pipelines with equal names and versions, and that is the
    /// same in every process: the 64-bit FNV-1a hash of P4Info and device configuration.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let p4info = self.p4info().encode_to_vec();
        let bytes = p4info.iter().chain(&self.device_config);
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    }

    /// Returns the P4Info of the pipeline, indexed and checked.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Returns the layout of packet-ins, or `None` if the program has no header for them.
    #[must_use]
    pub fn packet_in(&self) -> Option<&PacketInLayout> {
        self.layouts().packet_in.as_ref()
    }

    /// Returns the layout of packet-outs, or `None` if the program has no header for them.
    #[must_use]
    pub fn packet_out(&self) -> Option<&PacketOutLayout> {
        self.layouts().packet_out.as_ref()
    }
}

/// The registry of the pipelines that are in use, shared by devices.
#[derive(Debug, Default)]
pub struct PipelineRegistry {
    pipelines: Mutex<ByHash>,
    /// The numbers of strings of translated types that apply in every pipeline.
    given: GivenNumbers,
}

/// Pipelines by hash. Pipelines with equal hashes are distinguished by comparison.
type ByHash = HashMap<u64, Vec<Weak<Pipeline>>>;

impl PipelineRegistry {
    /// Creates a registry without pipelines.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a registry without pipelines. In every pipeline, the strings of translated types get
    /// the numbers in `given`, in addition to those that its P4Info assigns.
    #[must_use]
    pub fn giving(given: GivenNumbers) -> Self {
        Self { given, ..Self::default() }
    }

    /// Returns the pipeline with this P4Info and device configuration, creating it if no device
    /// runs it yet.
    ///
    /// # Errors
    ///
    /// Returns an error if the P4Info is inconsistent.
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
        // The pipeline is created without the lock, because indexing a large P4Info takes
        // milliseconds. The bytes are copied because they share memory with the whole request.
        let device_config = Bytes::copy_from_slice(device_config);
        let made = Arc::new(Pipeline::with_numbers(p4info, device_config, form, &self.given)?);

        let mut pipelines = self.lock();
        let same = |one: &Arc<Pipeline>| {
            one.form == form
                && one.device_config == made.device_config
                && one.p4info() == made.p4info()
        };
        if let Some(found) = find(&pipelines, hash, same) {
            // Another device has created the same pipeline meanwhile.
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
    fn pipelines_are_freed_with_their_last_device() {
        let registry = PipelineRegistry::new();
        drop(intern(&registry, "a", "x"));
        let other = intern(&registry, "b", "x");
        let left: usize = registry.pipelines.lock().expect("lock").values().map(Vec::len).sum();
        assert_eq!(left, 1);
        assert_eq!(other.p4info(), &p4info("b"));
    }
}
