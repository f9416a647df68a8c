//! Tests of functions that are too large to be optimised in a time that grows with their size.

use crate::both::Both;
use crate::program::{V1model, compile};
use std::fmt::Write as _;

/// The number of parser states, each of about 17 instructions, which together are more than the
/// code generator optimises.
const STATES: usize = 3_500;

#[test]
fn a_parser_of_thousands_of_states_has_the_outputs_of_the_interpreter() {
    let mut states = "state start { transition state_0; }".to_owned();
    for state in 0..STATES {
        let next = (state + 1) % STATES;
        write!(
            states,
            "state state_{state} {{ b.extract(h.k); m.sum = m.sum * 3 + h.k.value;
                transition select(h.k.value) {{ {}: state_{next}; 255: reject; default: accept; }} }}",
            state % 200
        )
        .expect("memory takes what is written");
    }
    let program = V1model {
        declarations: "header K { bit<8> value; } struct H { K k; } struct M { bit<8> sum; }",
        parser: &states,
        ingress: "apply { s.egress_spec = 1; h.k.value = m.sum; }",
        ..V1model::default()
    };
    let text = program.text();
    let mut both = ir::with_large_stack(|| Both::new(&compile(&text))).expect("a thread");
    let mut sent = 0;
    let chain: Vec<u8> = (0..1_500).map(|state| (state % 200) as u8).collect();
    for length in [0, 1, 2, 200, 1_500] {
        for last in [7, 255] {
            let mut packet = chain[..length].to_vec();
            packet.extend([last, 1, 2, 3]);
            sent += both.packet(1, &packet).map_or(0, |outputs| outputs.len());
        }
    }
    assert!(sent >= 5, "{sent} packets were sent");
}
