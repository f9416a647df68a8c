//! Writes JUnit XML, the format in which continuous integration systems read the results of tests.

use std::io::{self, Cursor};

use quick_xml::Writer;
use quick_xml::events::{BytesText, Event};

use crate::format::printable;

/// The outcome of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// The test passed.
    Passed,
    /// The test failed, for this reason.
    Failed(&'a str),
    /// The test was not run, for this reason.
    Skipped(&'a str),
}

/// A test and its outcome.
#[derive(Clone, Debug)]
pub struct Case<'a> {
    /// The group that the test belongs to.
    pub class: &'a str,
    /// The name of the test within its group.
    pub name: &'a str,
    /// The outcome of the test.
    pub outcome: Outcome<'a>,
    /// The text that the test printed. It is written for failed tests only.
    pub output: String,
}

/// Returns the JUnit XML of a test suite with these test cases.
///
/// # Errors
/// Returns an error if the text cannot be written as XML.
pub fn suite(name: &str, cases: &[Case<'_>]) -> io::Result<String> {
    let count = |is_counted: fn(&Outcome<'_>) -> bool| {
        cases.iter().filter(|case| is_counted(&case.outcome)).count().to_string()
    };
    let failures = count(|outcome| matches!(outcome, Outcome::Failed(_)));
    let skipped = count(|outcome| matches!(outcome, Outcome::Skipped(_)));
    let tests = cases.len().to_string();
    let mut writer = Writer::new_with_indent(Cursor::new(Vec::new()), b' ', 2);
    writer.write_event(Event::Decl(quick_xml::events::BytesDecl::new(
        "1.0",
        Some("UTF-8"),
        None,
    )))?;
    writer
        .create_element("testsuite")
        .with_attributes([
            ("name", &*printable(name)),
            ("tests", &tests),
            ("failures", &failures),
            ("skipped", &skipped),
        ])
        .write_inner_content(|writer| cases.iter().try_for_each(|case| write_case(writer, case)))?;
    let bytes = writer.into_inner().into_inner();
    Ok(String::from_utf8(bytes).map_err(io::Error::other)? + "\n")
}

fn write_case(writer: &mut Writer<Cursor<Vec<u8>>>, case: &Case<'_>) -> io::Result<()> {
    let attributes = [("classname", &*printable(case.class)), ("name", &*printable(case.name))];
    let element = writer.create_element("testcase").with_attributes(attributes);
    match case.outcome {
        Outcome::Passed => element.write_empty()?,
        Outcome::Skipped(why) => element.write_inner_content(|writer| {
            let skipped = writer.create_element("skipped");
            skipped.with_attribute(("message", &*printable(why))).write_empty()?;
            Ok(())
        })?,
        Outcome::Failed(why) => element.write_inner_content(|writer| {
            let failure = writer.create_element("failure");
            let lines: Vec<_> = case.output.lines().map(printable).collect();
            failure
                .with_attribute(("message", &*printable(why)))
                .write_text_content(BytesText::new(&lines.join("\n")))?;
            Ok(())
        })?,
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_and_counts_are_written() {
        let case =
            |name, outcome| Case { class: "9.1", name, outcome, output: "a\u{1b} < b".into() };
        let text = suite(
            "device",
            &[
                case("one", Outcome::Passed),
                case("two", Outcome::Failed("it's <wrong>")),
                case("three", Outcome::Skipped("no table")),
            ],
        )
        .expect("text");
        assert_eq!(
            text,
            r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="device" tests="3" failures="1" skipped="1">
  <testcase classname="9.1" name="one"/>
  <testcase classname="9.1" name="two">
    <failure message="it&apos;s &lt;wrong&gt;">a� &lt; b</failure>
  </testcase>
  <testcase classname="9.1" name="three">
    <skipped message="no table"/>
  </testcase>
</testsuite>
"#
        );
    }
}
