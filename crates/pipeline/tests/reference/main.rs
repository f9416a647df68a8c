//! Tests of the reference interpreter on programs in P4, with one small program per rule.

mod bmv2_rules;
mod bpf;
mod calls;
mod coverage;
mod depth;
mod language;
mod parsers;
mod pna;
mod pna_rules;
mod program;
mod psa;
mod psa_paths;
mod psa_rules;
mod psa_switch;
mod robust;
mod simple_switch;
mod stf_rules;
mod support;
mod tables;
mod tried;
mod v1model;
