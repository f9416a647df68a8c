//! Writes generated tests as a Python module for PTF, the packet test framework of p4lang.

use std::fmt::Write as _;

use p4runtime::proto::v1::Update;
use symbolic::generated::{Exchange, ExpireTime, Output, Test};

/// The Python source of the class from which all tests derive.
const BASE: &str = include_str!("ptf_base.py");

/// Returns the Python module with a program's tests. Each test has the updates that configure the
/// switch for it.
pub(super) fn module(program: &str, tests: &[(&Test, Vec<Update>)]) -> String {
    let mut text = format!(
        "# Generated tests of {}, for PTF (the packet test framework of p4lang).\n\
         # They need the Python packages ptf, p4runtime and grpcio.\n\n{BASE}",
        line(program)
    );
    for (test, updates) in tests {
        text += &class(test, updates);
    }
    text
}

/// Returns the Python class of a test. A comment in the notation of STF precedes each write,
/// because the message of a write contains identifiers in place of names.
fn class(test: &Test, updates: &[Update]) -> String {
    let mut text = format!("\n\nclass Test{:04}(GeneratedTest):\n", test.number);
    // Writing to a string does not fail.
    let _ = writeln!(text, "    # {}\n    def runTest(self):", line(&test.goal));
    for comment in test.configuration() {
        let _ = writeln!(text, "        # {}", line(&comment));
    }
    for update in updates {
        let message = p4runtime::proto::text("p4.v1.Update", update);
        let _ = writeln!(text, "        self.write(r'{message}')");
    }
    for ExpireTime { profile, seconds } in &test.expire_times {
        let _ = writeln!(text, "        self.set_expire_time({profile}, {seconds})");
    }
    for Exchange { seconds, port, packet, outputs } in test.exchanges() {
        if test.passes_time() {
            let _ = writeln!(text, "        self.wait_until({seconds})");
        }
        let _ = writeln!(text, "        self.send({port}, \"{packet}\")");
        for Output { port, digits } in outputs {
            let _ = writeln!(text, "        self.expect({port}, \"{digits}\")");
        }
    }
    text += "        self.expect_no_other()\n";
    text
}

/// Returns a text with its line breaks removed, so that it fits on one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
