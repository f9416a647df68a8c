//! Fuzzes the readers of P4Info in text format and in binary format. A message that was read must
//! survive a round trip through text or bytes.

use p4runtime::p4info::{Schema, text};
use p4runtime::proto::config::P4Info;
use prost::Message;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    if let Ok(p4info) = P4Info::decode(data) {
        let printed = text::print(&p4info).expect("every message has a text");
        assert_eq!(text::parse(&printed).as_ref(), Ok(&p4info));
        drop(Schema::new(p4info));
    }
    match std::str::from_utf8(data).map(text::parse) {
        Ok(Ok(p4info)) => {
            let again = P4Info::decode(p4info.encode_to_vec().as_slice());
            assert_eq!(again.as_ref(), Ok(&p4info));
            drop(Schema::new(p4info));
        }
        Ok(Err(error)) => assert!(!error.to_string().is_empty()),
        Err(_) => {}
    }
}

/// Mutates an input, as [`crate::bytes::mutate`] does.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    crate::text::mutate(data, size, max_size, seed)
}
