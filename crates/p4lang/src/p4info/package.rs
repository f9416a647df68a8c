//! The `pkg_info` message of P4Info, with the name, the authors and the architecture of a program.

use num_traits::ToPrimitive;
use p4runtime::proto::config::PkgInfo;

use super::annotations::{pairs, pass};
use super::fault::{Faults, P4InfoErrorKind};
use ir::{AnnotationValue, Architecture, Program};

pub(super) fn package_info(program: &Program, errors: &mut Faults) -> PkgInfo {
    let mut info = PkgInfo {
        arch: match super::architecture(program) {
            Architecture::V1model => "v1model".to_owned(),
            Architecture::Psa => "psa".to_owned(),
            Architecture::Pna => "pna".to_owned(),
            Architecture::Other(name) => name.clone(),
        },
        ..Default::default()
    };
    for annotation in &program.annotations {
        match annotation.name.as_str() {
            "pkginfo" => {
                for (key, value) in pairs(annotation) {
                    set_text(&mut info, &key, value.as_ref(), errors);
                }
            }
            "platform_property" => {
                for (key, value) in pairs(annotation) {
                    set_property(&mut info, &key, value.as_ref(), errors);
                }
            }
            _ => {}
        }
    }
    let passed = pass(&program.annotations, &["pkginfo", "platform_property"], errors);
    info.annotations = passed.texts;
    info.structured_annotations = passed.structured;
    info.doc = passed.documentation;
    info
}

/// Sets the field of `info` to which a key of the annotation `@pkginfo` refers. Unknown keys are
/// ignored, while p4c also warns of them.
fn set_text(info: &mut PkgInfo, key: &str, value: Option<&AnnotationValue>, errors: &mut Faults) {
    let field = match key {
        "name" => &mut info.name,
        "version" => &mut info.version,
        "organization" => &mut info.organization,
        "contact" => &mut info.contact,
        "url" => &mut info.url,
        "arch" => &mut info.arch,
        _ => return,
    };
    match value {
        Some(AnnotationValue::String(text)) => field.clone_from(text),
        _ => errors.push(P4InfoErrorKind::Package {
            annotation: "pkginfo",
            key: key.to_owned(),
            expected: "a string",
        }),
    }
}

/// Sets the field of `info` to which a key of the annotation `@platform_property` refers.
fn set_property(
    info: &mut PkgInfo,
    key: &str,
    value: Option<&AnnotationValue>,
    errors: &mut Faults,
) {
    let properties = info.platform_properties.get_or_insert_default();
    let field = match key {
        "multicast_group_table_size" => &mut properties.multicast_group_table_size,
        "multicast_group_table_total_replicas" => {
            &mut properties.multicast_group_table_total_replicas
        }
        "multicast_group_table_max_replicas_per_entry" => {
            &mut properties.multicast_group_table_max_replicas_per_entry
        }
        _ => return,
    };
    let number = match value {
        Some(AnnotationValue::Integer(number)) => number.to_i32(),
        _ => None,
    };
    match number {
        Some(number) => *field = number,
        None => errors.push(P4InfoErrorKind::Package {
            annotation: "platform_property",
            key: key.to_owned(),
            expected: "a number of 32 bits",
        }),
    }
}
