//! The built-in architecture files: `core.p4`, `v1model.p4`, `psa.p4`, `pna.p4`, and the files that
//! programs for other targets include.
//!
//! The files were written for this project and are not copies of p4c's files. Their declarations
//! have the same names, types, parameters and annotations as p4c's, since programs and P4Info
//! depend on these. If an `-I` directory contains a file of the same name, the preprocessor prefers
//! that file.

/// A built-in architecture file.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    name: &'static str,
    text: &'static str,
}

impl BuiltIn {
    /// Returns the name with which `#include` refers to the file.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Returns the text of the file.
    pub fn text(self) -> &'static str {
        self.text
    }
}

/// The built-in files. The paths of target-specific variants in `bmv2/`, `dpdk/` and `tc/` are
/// those of p4c. `pna/common.p4` contains what the variants of PNA share, and has no counterpart in
/// p4c.
const FILES: &[BuiltIn] = &[
    BuiltIn { name: "core.p4", text: include_str!("arch/core.p4") },
    BuiltIn { name: "v1model.p4", text: include_str!("arch/v1model.p4") },
    BuiltIn { name: "psa.p4", text: include_str!("arch/psa.p4") },
    BuiltIn { name: "bmv2/psa.p4", text: include_str!("arch/psa.p4") },
    BuiltIn { name: "dpdk/psa.p4", text: include_str!("arch/psa_dpdk.p4") },
    BuiltIn { name: "pna.p4", text: include_str!("arch/pna.p4") },
    BuiltIn { name: "pna/common.p4", text: include_str!("arch/pna_common.p4") },
    BuiltIn { name: "bmv2/pna.p4", text: include_str!("arch/pna_bmv2.p4") },
    BuiltIn { name: "dpdk/pna.p4", text: include_str!("arch/pna_dpdk.p4") },
    BuiltIn { name: "tc/pna.p4", text: include_str!("arch/pna_tc.p4") },
    BuiltIn { name: "ebpf_model.p4", text: include_str!("arch/ebpf_model.p4") },
    BuiltIn { name: "ubpf_model.p4", text: include_str!("arch/ubpf_model.p4") },
    BuiltIn { name: "xdp_model.p4", text: include_str!("arch/xdp_model.p4") },
];

/// Returns the built-in file that `#include` finds under `name`, or `None` if there is none.
pub fn file(name: &str) -> Option<BuiltIn> {
    FILES.iter().copied().find(|file| file.name == name)
}

/// Returns the names of all built-in files.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|file| file.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::DeclarationKind;
    use crate::diagnostic::Style;
    use crate::preprocess::{MemoryFiles, Options};
    use crate::{Parsed, parse_text};

    fn parse(text: &str) -> Parsed {
        let parsed = parse_text("main.p4", text, &Options::default(), &MemoryFiles::new());
        assert_eq!(parsed.diagnostics.render(&parsed.sources, Style::Plain), "");
        parsed
    }

    fn names(parsed: &Parsed) -> Vec<&str> {
        parsed.program.declarations.iter().map(|declaration| declaration.name.as_str()).collect()
    }

    #[test]
    fn every_file_parses_and_can_be_included_twice() {
        // pna/common.p4 has no include guard of its own.
        for file in FILES.iter().filter(|file| file.name() != "pna/common.p4") {
            let once = parse(&format!("#include <{}>", file.name()));
            let twice = parse(&format!(
                "#include <{0}>\n#include \"core.p4\"\n#include <{0}>",
                file.name()
            ));
            assert!(!once.program.declarations.is_empty(), "{}", file.name());
            assert_eq!(names(&once), names(&twice));
        }
    }

    #[test]
    fn every_file_passes_the_checker() {
        let variants = ["", "#define V1MODEL_VERSION 20200408\n", "#define __TARGET_DPDK__\n"];
        for file in FILES.iter().filter(|file| file.name() != "pna/common.p4") {
            for variant in variants {
                let mut parsed = parse(&format!("{variant}#include <{}>", file.name()));
                crate::check::check(&parsed.program, &parsed.sources, &mut parsed.diagnostics);
                let messages = parsed.diagnostics.render(&parsed.sources, Style::Plain);
                assert_eq!(messages, "", "{variant}{}", file.name());
            }
        }
    }

    #[test]
    fn targets_have_their_variants() {
        let has = |text: &str, name: &str| names(&parse(text)).contains(&name);
        assert!(has("#include <pna.p4>", "PNA_Source_t"));
        for text in ["#include <dpdk/pna.p4>", "#define __TARGET_DPDK__\n#include <pna.p4>"] {
            assert!(!has(text, "PNA_Source_t") && has(text, "PreControlT"), "{text}");
        }
        assert!(has("#include <bmv2/pna.p4>", "PNA_Source_t"));
        assert!(has("#include <tc/pna.p4>", "tc_skb_metadata"));
        assert!(!has("#include <bmv2/pna.p4>", "tc_skb_metadata"));
        assert!(
            has("#include <bmv2/psa.p4>", "PSA_Switch")
                && has("#include <dpdk/psa.p4>", "PSA_Switch")
        );
    }

    #[test]
    fn v1model_has_two_variants() {
        let fields = |version: &str| {
            let parsed = parse(&format!("{version}\n#include <v1model.p4>"));
            let register =
                parsed.program.declarations.iter().find(|d| d.name.as_str() == "register");
            let register = register.expect("the extern register");
            match &register.kind {
                DeclarationKind::ExternObject(object) => {
                    (names(&parsed).contains(&"PortId_t"), object.type_parameters.len())
                }
                other => panic!("{}", other.noun()),
            }
        };
        assert_eq!(fields(""), (false, 1));
        assert_eq!(fields("#define V1MODEL_VERSION 20180101"), (false, 1));
        assert_eq!(fields("#define V1MODEL_VERSION 20200408"), (true, 2));
    }

    #[test]
    fn a_file_of_the_user_goes_first() {
        let files = MemoryFiles::new().with("mine/core.p4", "const int mine = 1;");
        let options = Options { include_directories: vec!["mine".into()], ..Options::default() };
        let parsed = parse_text("main.p4", "#include <core.p4>", &options, &files);
        assert_eq!(names(&parsed), ["mine"]);
    }
}
