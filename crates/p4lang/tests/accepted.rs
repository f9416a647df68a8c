//! Tests that programs which use unusual features of the language and of every architecture are
//! accepted. The IR of each must be valid and unchanged after a round trip through JSON. The
//! pretty-printed program must be accepted too.

use ir::Program;
use p4lang::diagnostic::Style;
use p4lang::preprocess::{MemoryFiles, Options};

fn compile(name: &str, text: &str, defines: &[&str]) -> (Program, Vec<String>) {
    let defines: Vec<String> = defines.iter().map(|define| (*define).to_owned()).collect();
    let options = Options { defines, ..Options::default() };
    let compiled = p4lang::compile_text(name, text, &options, &MemoryFiles::default());
    let messages = compiled.messages(Style::Plain);
    let version = compiled.pna_version.map(str::to_owned).into_iter().collect();
    (compiled.program.unwrap_or_else(|| panic!("{messages}")), version)
}

fn accepted(name: &str, text: &'static str) {
    let name = name.to_owned();
    ir::with_large_stack(move || {
        let (program, defines) = compile(&name, text, &[]);
        program.validate().unwrap_or_else(|violation| panic!("{violation}\n{}", program.to_text()));
        let json = program.to_json().expect("JSON is written");
        assert_eq!(Program::from_json(&json).expect("JSON is read"), program);

        let options = Options { defines, ..Options::default() };
        let parsed = p4lang::parse_text(&name, text, &options, &MemoryFiles::default());
        let printed = p4lang::print::print_program(&parsed.program);
        let (again, _) = compile(&name, &printed, &[]);
        assert_eq!(again.tables.len(), program.tables.len());
        assert_eq!(again.externs.len(), program.externs.len());
    })
    .expect("a thread");
}

macro_rules! accepted {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            let text = include_str!(concat!("accepted/", stringify!($name), ".p4"));
            accepted(concat!(stringify!($name), ".p4"), text);
        }
    )*};
}

accepted! {
    abstract_methods annotations casts_and_optional_parameters chapters composites constants controllers converted ebpf
    expressions factories generics hidden_names inferred_blocks initializers instances left_out_parameters lists_and_strings loops
    macros methods_in_parsers newer numbers overloads own_externs packages parsers pna_dpdk pna_tc psa selects sizes spacing
    statements structured_annotations tables tuples ubpf ubpf_without_metadata v1model v1model_typed_indices
    words_as_names xdp
}
