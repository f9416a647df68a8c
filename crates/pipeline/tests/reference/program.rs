//! Programs from P4 text, for the tests of the interpreter and of the compiled path.

use ir::Program;
use p4lang::diagnostic::Style;
use p4lang::preprocess::{MemoryFiles, Options};

/// Compiles a text to a program.
pub(crate) fn compile(text: &str) -> Program {
    let compiled = p4lang::compile_text("test.p4", text, &Options::default(), &MemoryFiles::new());
    let messages = compiled.messages(Style::Plain);
    compiled.program.unwrap_or_else(|| panic!("{messages}\n{text}"))
}

/// The parts of a v1model program. Parts that are left out do nothing.
#[derive(Clone, Copy, Default)]
pub(crate) struct V1model<'t> {
    /// The declarations, which include the headers `H` and the metadata `M`.
    pub(crate) declarations: &'t str,
    pub(crate) parser: &'t str,
    pub(crate) verify: &'t str,
    pub(crate) ingress: &'t str,
    pub(crate) egress: &'t str,
    pub(crate) compute: &'t str,
    pub(crate) deparser: &'t str,
}

impl V1model<'_> {
    pub(crate) fn text(&self) -> String {
        let or = |text: &str, default: &str| {
            if text.is_empty() { default.to_owned() } else { text.to_owned() }
        };
        let nothing = "apply {}";
        format!(
            "#include <core.p4>
            #define V1MODEL_VERSION 20200408
            #include <v1model.p4>
            {}
            parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) {{ {} }}
            control V(inout H h, inout M m) {{ {} }}
            control I(inout H h, inout M m, inout standard_metadata_t s) {{ {} }}
            control E(inout H h, inout M m, inout standard_metadata_t s) {{ {} }}
            control C(inout H h, inout M m) {{ {} }}
            control D(packet_out b, in H h) {{ {} }}
            V1Switch(P(), V(), I(), E(), C(), D()) main;",
            self.declarations,
            or(self.parser, "state start { transition accept; }"),
            or(self.verify, nothing),
            or(self.ingress, nothing),
            or(self.egress, nothing),
            or(self.compute, nothing),
            or(self.deparser, "apply { b.emit(h); }"),
        )
    }
}
