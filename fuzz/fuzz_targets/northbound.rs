//! Fuzzes the parser of the output of a command that reports a controller's topology. Any text is
//! either parsed or refused with the missing part.

#![no_main]

use libfuzzer_sys::fuzz_target;
use probe::rfc8456::census;

fuzz_target!(|data: &[u8]| {
    let Ok(answer) = std::str::from_utf8(data) else { return };
    match census(answer) {
        Ok(found) => {
            let written =
                format!(r#"{{"switches": {}, "links": {}}}"#, found.switches, found.links);
            assert_eq!(census(&written), Ok(found));
        }
        Err(error) => assert!(error.contains("topology"), "{error}"),
    }
});
