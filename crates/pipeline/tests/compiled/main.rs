//! Tests that the compiled path has the same results as the interpreter: for the programs of this
//! project with their scripts, for programs of one construct each, and for generated programs.
//! Packets of all lengths run on the same entries.

mod accepted_runs;
mod apart;
mod arrays;
mod backups;
mod batch_lookup;
mod bmv2_json;
mod both;
mod bursts;
mod changed;
mod clones;
mod constructs;
mod declared;
mod differential;
mod drop_port;
mod errors;
mod field_lists;
mod generated;
mod growth;
mod heads;
mod large;
mod members;
mod meters;
mod named_arguments;
mod own;
mod pages;
mod pna;
mod port_types;
#[path = "../reference/program.rs"]
mod program;
mod psa;
mod random;
mod searched;
mod shared;
#[path = "../support/translated.rs"]
mod translated;
mod unwritten;
mod ways;
mod wide;
mod wide_keys;
mod without_lookups;
mod work;
