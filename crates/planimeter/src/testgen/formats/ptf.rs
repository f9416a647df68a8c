//! Generated tests as a module of Python for PTF, the packet test framework of p4lang.

use std::fmt::Write as _;

use p4runtime::proto::v1::Update;
use symbolic::generated::{Exchange, Output, Test};

/// The class from which all tests derive.
const BASE: &str = include_str!("ptf_base.py");

/// Returns the module of a program's tests, each with the updates that it needs.
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

/// Returns the class of a test. A write is named by a comment in the notation of STF, since its
/// message has identifiers in place of names.
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
    for Exchange { port, packet, outputs } in test.exchanges() {
        let _ = writeln!(text, "        self.send({port}, \"{packet}\")");
        for Output { port, digits } in outputs {
            let _ = writeln!(text, "        self.expect({port}, \"{digits}\")");
        }
    }
    text += "        self.expect_no_other()\n";
    text
}

/// Returns a text on one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
