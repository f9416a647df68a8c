//! Fuzzes the parser of the output of a command that reports a controller's topology. Any text is
//! either parsed or refused with the missing part.

use probe::rfc8456::census;

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    let Ok(answer) = std::str::from_utf8(data) else { return };
    match census(answer) {
        Ok(found) => {
            let written =
                format!(r#"{{"switches": {}, "links": {}}}"#, found.switches, found.links);
            assert_eq!(census(&written), Ok(found));
        }
        Err(error) => assert!(error.contains("topology"), "{error}"),
    }
}
