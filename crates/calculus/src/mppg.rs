//! MPPG, a small language for min-plus programs.
//!
//! The min-plus playground of RealTime-at-Work introduced the language; Nancy-Playground gave it
//! its name and published a grammar. Theses and papers print their computations in it. A program
//! has one statement per line: an assignment such as `f := ratency(4, 3)`, an expression whose
//! value is an output, a plot, or an assertion.
//!
//! ```
//! use calculus::mppg::{self, Output};
//!
//! let program = "
//!     service := ratency(4, 3)   // rate, latency
//!     arrival := bucket(3, 4)    // rate, burst
//!     hDev(arrival, service)
//!     assert(arrival / service <= affine(3, 13))
//! ";
//! let outputs = mppg::run(program)?;
//! assert_eq!(outputs[2].to_string(), "4");
//! assert!(matches!(outputs[3], Output::Assertion { holds: true, .. }));
//! # Ok::<(), mppg::MppgError>(())
//! ```
//!
//! # The language
//!
//! * Functions: `ratency(rate, latency)`, `bucket(rate, burst)`, `affine(slope, value)`,
//!   `step(time, height)`, `stair(time, length, height)`, `delay(time)`, `zero`, `epsilon`,
//!   `uaf(segments)` (an ultimately affine function, whose last segment continues for ever),
//!   `upp(segments, period(segments), increment, length)` (an ultimately pseudo-periodic function,
//!   whose period repeats, each time `length` later and `increment` higher). A segment is written
//!   as its start point, slope and end point, as in `[(0, 4) 3 (2, 10)[`; the slope may be left
//!   out. As in the notation of intervals, `[` at the start and `]` at the end include the point in
//!   the segment, and the opposite brackets exclude it. A single point, `[(x, y)]`, is a spot.
//! * Operations on functions: `+`, `-`, `/\` (minimum), `\/` (maximum), `*` or `*_` (min-plus
//!   convolution), `*^` (max-plus convolution), `/` or `/_` (min-plus deconvolution), `/^`
//!   (max-plus deconvolution), `comp`, `star` or `subaddclosure`, `superaddclosure`, `inv` or
//!   `low_inv`, `up_inv`, `upclosure`, `nnupclosure`, `lowclosure`, `nnlowclosure`, `left-ext`,
//!   `right-ext`, `hShift`, `vShift`, `floor`, `ceil`. A number scales a function (`*`, `/`) or
//!   stands for a constant function (`+`, `-`, `/\`, `\/`, `comp`).
//! * Numbers are exact and written `3`, `-2/3`, `0.67`, `+inf`. Operations that yield numbers are
//!   `f(t)`, `f(t+)`, `f(t-)` (or `t~+`, `t~-`), `hDev`, `vDev`, `zDev`, `maxBacklogPeriod`, and
//!   `+ - * / div mod /\ \/ floor ceil abs pow gcd lcm`.
//! * Products bind tighter than sums, minima and maxima; all operators are left-associative, so
//!   that `f / 1/2` is `(f / 1) / 2` (as in Nancy-Playground, unlike the original).
//! * `plot(f, g, xlim=[0, 10], main="title")` and `plotTikz` return the functions without drawing
//!   them. `assert(a <= b)` accepts `=`, `!=`, `<=`, `>=`, `<`, `>`; a function is `<` another if
//!   it is nowhere above and somewhere below it. `printExpression(f)` returns the expression that
//!   was assigned. Comments start with `//`, `%`, `#`, or, on a line of their own, `>`.

mod evaluate;
mod functions;
mod lexer;
mod parser;
mod segments;
mod syntax;
#[cfg(test)]
mod tests;

pub use evaluate::Session;
pub use segments::to_mppg;

use crate::curve::{Curve, Extended};
use std::fmt;

/// An error in an MPPG program, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct MppgError {
    /// The line of the error in the program, from 1.
    pub line: usize,
    /// The column of the error in its line. It counts characters from 1.
    pub column: usize,
    /// The description of the error.
    pub message: String,
}

/// A value of an MPPG program: a function or a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A function of time, as a curve.
    Function(Curve),
    /// A number, possibly infinite.
    Number(Extended),
}

/// The output of a statement of an MPPG program.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Output {
    /// The assignment of a value to a variable.
    Assignment {
        /// The name of the variable.
        name: String,
        /// The value that was assigned.
        value: Value,
    },
    /// The value of an expression that was not assigned.
    Value(Value),
    /// The result of the statement `assert(...)`.
    Assertion {
        /// Whether the assertion holds.
        holds: bool,
        /// The assertion as it was written.
        text: String,
    },
    /// The functions that a `plot` statement is to draw. This module does not draw them.
    Plot {
        /// Whether the statement was `plotTikz`, which asks for TikZ code.
        tikz: bool,
        /// The functions that are to be drawn, with their names.
        functions: Vec<(String, Curve)>,
        /// The names of the options of the plot, such as `xlim`, with their values as they were
        /// written. A value that joins several strings by `+` is returned as one string.
        options: Vec<(String, String)>,
    },
    /// The expression that was assigned to a variable, which `printExpression` asks for.
    Text(String),
}

/// Runs an MPPG program and returns the outputs of its statements. A line that begins with an
/// operator such as `/\` or `*` continues the statement of the previous line.
///
/// # Errors
/// Returns the first error, with its line and column. The outputs before it are lost.
pub fn run(program: &str) -> Result<Vec<Output>, MppgError> {
    let mut session = Session::new();
    let mut outputs = Vec::new();
    let mut lines = program.lines().enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        let (mut statement, mut last, mut length) = (String::new(), line, 0);
        // The offset in characters at which each further line begins in the statement.
        let mut joints = Vec::new();
        while let Some((next, more)) = lines.next_if(|(_, more)| continues(more)) {
            let before = lexer::without_comment(last);
            statement.push_str(before);
            statement.push(' ');
            length += before.chars().count() + 1;
            joints.push((length, next));
            last = more;
        }
        statement.push_str(last);
        session.begin_line(index);
        let output = session.execute(&statement).map_err(|mut error| {
            if let Some((start, line)) = joints.iter().rfind(|(start, _)| error.column > *start) {
                error.line = line + 1;
                error.column -= start;
            }
            error
        })?;
        outputs.extend(output);
    }
    Ok(outputs)
}

/// Returns whether a line begins with an operator that cannot begin a statement, so that it
/// continues the statement of the previous line.
fn continues(line: &str) -> bool {
    let line = line.trim_start();
    let is_operator =
        ["/\\", "\\/", "*", "/", "∧", "∨", "⊗", "⊘"].iter().any(|o| line.starts_with(o));
    is_operator && !line.starts_with("//")
}

/// Formats a function as `uaf(...)` or `upp(...)`, and a number as an exact fraction.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Function(curve) => f.write_str(&to_mppg(curve)),
            Self::Number(number) => number.fmt(f),
        }
    }
}

/// Formats an output as the playgrounds print it: an assignment as the name of its variable, and an
/// assertion as `true`, or as `assertion failed` with its text.
impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Assignment { name, .. } => f.write_str(name),
            Self::Value(value) => value.fmt(f),
            Self::Assertion { holds: true, .. } => f.write_str("true"),
            Self::Assertion { holds: false, text } => write!(f, "assertion failed: {text}"),
            Self::Plot { functions, .. } => {
                let names: Vec<&str> = functions.iter().map(|(name, _)| name.as_str()).collect();
                write!(f, "plot of {}", names.join(", "))
            }
            Self::Text(text) => f.write_str(text),
        }
    }
}
