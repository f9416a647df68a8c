//! Names the P4 pipelines that controllers push, so that a report shows if switches have different
//! ones.
//!
//! A controller may leave some switches with a different pipeline: ONOS, for example, keeps the
//! pipeline that it assigned to a device in an earlier run. Answers of such switches must not be
//! added to those of the others without a remark.

use std::sync::{Arc, Mutex, PoisonError};

use p4runtime::session::Pipeline;

/// The P4Runtime pipelines of a trial with their names.
#[derive(Debug, Default)]
pub(super) struct Pipelines {
    // The pipelines are kept alive, so that no new pipeline gets the address of a dropped one.
    known: Mutex<Vec<(Arc<Pipeline>, String)>>,
}

impl Pipelines {
    /// Returns the name of a pipeline. Two pipelines have the same name only if they are equal,
    /// within this trial and across trials.
    pub(super) fn name(&self, pipeline: &Arc<Pipeline>) -> String {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, name)) = known.iter().find(|(known, _)| Arc::ptr_eq(known, pipeline)) {
            return name.clone();
        }
        let name = describe(pipeline);
        known.push((pipeline.clone(), name.clone()));
        name
    }
}

/// Returns a short description of the pipeline, from which its name is formed.
fn describe(pipeline: &Pipeline) -> String {
    let p4info = pipeline.p4info();
    let package = p4info.pkg_info.as_ref().map_or("", |package| package.name.as_str());
    let first = p4info.tables.first().and_then(|table| table.preamble.as_ref());
    let tables = p4info.tables.len();
    let what = match (package, first) {
        ("", Some(table)) if tables == 1 => format!("table {}", table.name),
        ("", Some(table)) => format!("table {} and {} more", table.name, tables - 1),
        ("", None) => "no tables".to_owned(),
        (name, _) if tables == 1 => format!("{name}, 1 table"),
        (name, _) => format!("{name}, {tables} tables"),
    };
    format!(
        "{what}, {} bytes of device configuration, fingerprint {:016x}",
        pipeline.device_config().len(),
        pipeline.fingerprint()
    )
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use p4runtime::packet_io::ByteString;
    use p4runtime::session::PipelineRegistry;

    use super::*;

    fn pipeline(registry: &PipelineRegistry, text: &str, config: &'static str) -> Arc<Pipeline> {
        let p4info = p4runtime::p4info::text::parse(text).expect("a P4Info");
        let config = Bytes::from_static(config.as_bytes());
        registry.intern(p4info, &config, ByteString::Canonical).expect("a pipeline")
    }

    #[test]
    fn equal_pipelines_share_a_name_and_others_do_not() {
        let (names, registry) = (Pipelines::default(), PipelineRegistry::new());
        let named = |text: &str, config| names.name(&pipeline(&registry, text, config));
        let tunnel = "pkg_info { name: \"mytunnel\" }";
        let first = named(tunnel, "{}");
        let start = "mytunnel, 0 tables, 2 bytes of device configuration, fingerprint ";
        assert!(first.starts_with(start), "{first}");
        // This is the published FNV-1a hash of empty input.
        let empty = "no tables, 0 bytes of device configuration, fingerprint cbf29ce484222325";
        assert_eq!(named("", ""), empty);
        assert_eq!(named(tunnel, "{}"), first);
        // In another trial, an equal pipeline has the same name, and a different pipeline has a
        // different name.
        let later = Pipelines::default();
        assert_eq!(later.name(&pipeline(&PipelineRegistry::new(), tunnel, "{}")), first);
        let other = named(tunnel, "[]");
        assert!(other.starts_with(start) && other != first, "{other}");
    }
}
