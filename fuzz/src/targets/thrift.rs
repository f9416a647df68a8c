//! Fuzzes the parser of a Thrift client's first bytes, which are a call, the beginning of a call,
//! or something else. The answer to a call must have the encoding of the call.

// The module is private and does not need the rest of the switch.
#[path = "../../../crates/softswitch/src/thrift/message.rs"]
mod message;

use message::{Parsed, parse};

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let parsed = parse(data);
    // The longest header has a name of 256 bytes and 16 further bytes.
    assert!(parsed != Parsed::Beginning || data.len() < 272);
    if let Parsed::Call(call) = &parsed {
        assert!(!call.name().is_empty());
        if let Some(answer) = call.exception("instead") {
            assert!(answer.len() < 512);
            // An answer must not parse as a call.
            assert_eq!(parse(&answer), Parsed::Foreign);
        }
        // Bytes after the header must not change the result.
        assert_eq!(parse(&[data, &[0; 8]].concat()), parsed);
    }
}
