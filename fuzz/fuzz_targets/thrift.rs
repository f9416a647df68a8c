//! Parses the first bytes of a client of Thrift, which are a call, the beginning of one, or
//! something else. The answer to a call has the form of the call.

#![no_main]

use libfuzzer_sys::fuzz_target;

// The switch is not needed for it, nor is it public.
#[path = "../../crates/softswitch/src/thrift/message.rs"]
mod message;

use message::{Parsed, parse};

fuzz_target!(|data: &[u8]| {
    let parsed = parse(data);
    // A header has a name of 256 bytes, and 16 bytes besides.
    assert!(parsed != Parsed::Beginning || data.len() < 272);
    if let Parsed::Call(call) = &parsed {
        assert!(!call.name().is_empty());
        if let Some(answer) = call.exception("instead") {
            assert!(answer.len() < 512);
            // An answer is no call, whatever it answers.
            assert_eq!(parse(&answer), Parsed::Foreign);
        }
        // What is behind the header changes nothing.
        assert_eq!(parse(&[data, &[0; 8]].concat()), parsed);
    }
});
