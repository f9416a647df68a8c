//! Evaluates the statements of an MPPG program.

use super::functions::{call, operate};
use super::parser;
use super::segments;
use super::syntax::{Comparison, Expression, Kind, Part, Statement};
use super::{MppgError, Output, Value};
use crate::curve::{Curve, Extended};
use crate::excerpt::excerpt;
use std::collections::BTreeMap;

/// The state of a running MPPG program: its variables, each with its value and the text that was
/// assigned.
#[derive(Debug, Clone, Default)]
pub struct Session {
    variables: BTreeMap<String, (Value, String)>,
    line: usize,
}

/// The column of an error in its line, and the error message.
pub(super) type Fault = (usize, String);

impl Session {
    /// Creates a session in which no variable is assigned yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the value of a variable, or `None` if there is no such variable.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.variables.get(name).map(|(value, _)| value)
    }

    /// Returns the names of all variables, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    /// Executes one line of a program and returns its output. Empty lines and comments have no
    /// output.
    ///
    /// # Errors
    /// Returns the first error in the line. Its line number is the number of calls of this method
    /// so far, including this one. All variables then keep their values.
    pub fn execute(&mut self, line: &str) -> Result<Option<Output>, MppgError> {
        self.line += 1;
        let statement = parser::statement(line, self.line)?;
        self.perform(statement).map_err(|(column, message)| MppgError {
            line: self.line,
            column,
            message,
        })
    }

    /// Sets the line number that errors of the next executed line have, to `index + 1`.
    pub(super) fn begin_line(&mut self, index: usize) {
        self.line = index;
    }

    fn perform(&mut self, statement: Statement) -> Result<Option<Output>, Fault> {
        Ok(Some(match statement {
            Statement::Empty => return Ok(None),
            Statement::Assign { name, expression, text } => {
                let value = self.evaluate(&expression)?;
                self.variables.insert(name.clone(), (value.clone(), text));
                Output::Assignment { name, value }
            }
            Statement::Show(expression) => Output::Value(self.evaluate(&expression)?),
            Statement::Assert { left, comparison, right, text } => {
                let column = left.column;
                let (left, right) = (self.evaluate(&left)?, self.evaluate(&right)?);
                let holds = compare(&left, comparison, &right).map_err(|text| (column, text))?;
                Output::Assertion { holds, text }
            }
            Statement::Plot { tikz, functions, options } => self.plot(tikz, functions, options)?,
            Statement::PrintExpression { name, column } => match self.variables.get(&name) {
                Some((_, text)) => Output::Text(text.clone()),
                None => return Err((column, unknown(&name))),
            },
        }))
    }

    fn plot(
        &self,
        tikz: bool,
        names: Vec<(String, usize)>,
        given: Vec<(String, Vec<Part>)>,
    ) -> Result<Output, Fault> {
        let mut functions = Vec::with_capacity(names.len());
        for (name, column) in names {
            match self.get(&name) {
                Some(Value::Function(curve)) => functions.push((name, curve.clone())),
                Some(Value::Number(_)) => {
                    let name = excerpt(&name);
                    return Err((column, format!("`{name}` is a number: plots show functions")));
                }
                None => return Err((column, unknown(&name))),
            }
        }
        let mut options = Vec::with_capacity(given.len());
        for (name, parts) in given {
            let mut value = String::new();
            for part in parts {
                match part {
                    Part::Literal(text) => value.push_str(&text),
                    Part::Variable(name, column) => match self.get(&name) {
                        Some(variable) => value.push_str(&variable.to_string()),
                        None => return Err((column, unknown(&name))),
                    },
                }
            }
            options.push((name, value));
        }
        Ok(Output::Plot { tikz, functions, options })
    }

    pub(super) fn evaluate(&self, expression: &Expression) -> Result<Value, Fault> {
        let column = expression.column;
        let here = |message: String| (column, message);
        Ok(match &expression.kind {
            Kind::Number(number) => Value::Number(Extended::from(number)),
            Kind::Variable(name) => match (self.get(name), name.as_str()) {
                (Some(value), _) => value.clone(),
                (None, "zero") => Value::Function(Curve::zero()),
                (None, "epsilon") => Value::Function(Curve::constant(Extended::PositiveInfinity)),
                (None, "inf" | "Inf" | "infinity" | "Infinity") => {
                    Value::Number(Extended::PositiveInfinity)
                }
                (None, _) => return Err(here(unknown(name))),
            },
            Kind::Negate(operand) => match self.evaluate(operand)? {
                Value::Number(number) => Value::Number(-number),
                Value::Function(curve) => Value::Function(curve.negated()),
            },
            Kind::Binary { operator, left, right } => {
                let (left, right) = (self.evaluate(left)?, self.evaluate(right)?);
                operate(operator, left, right).map_err(here)?
            }
            Kind::Limit { name, at, from_right } => {
                let curve = self.function(name).map_err(here)?;
                let time = time(self.evaluate(at)?).map_err(|text| (at.column, text))?;
                Value::Number(match (from_right, time.is_positive()) {
                    (true, _) => curve.right_limit_at(&time),
                    (false, true) => curve.left_limit_at(&time),
                    (false, false) => {
                        return Err((at.column, "there is no limit from the left at 0".to_owned()));
                    }
                })
            }
            Kind::Call { name, arguments } => {
                let mut values = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    values.push(self.evaluate(argument)?);
                }
                match (self.get(name), values.as_slice()) {
                    (Some(Value::Function(curve)), [_]) => {
                        let at = arguments.first().map_or(column, |argument| argument.column);
                        let value = values.remove(0);
                        let time = time(value).map_err(|text| (at, text))?;
                        Value::Number(curve.value_at(&time))
                    }
                    _ => call(name, values).map_err(here)?,
                }
            }
            Kind::Affine(given) => Value::Function(segments::affine(self, given)?),
            Kind::Periodic { transient, period, increment } => {
                let increment = match increment {
                    Some(increment) => match self.evaluate(increment)? {
                        Value::Number(number) => Some(number),
                        Value::Function(_) => {
                            return Err((increment.column, "the increment is a number".to_owned()));
                        }
                    },
                    None => None,
                };
                let curve = segments::periodic(self, transient, period, increment, column)?;
                Value::Function(curve)
            }
        })
    }

    fn function(&self, name: &str) -> Result<&Curve, String> {
        match self.get(name) {
            Some(Value::Function(curve)) => Ok(curve),
            Some(Value::Number(_)) => {
                Err(format!("`{}` is a number, not a function", excerpt(name)))
            }
            None => Err(unknown(name)),
        }
    }
}

fn unknown(name: &str) -> String {
    let name = excerpt(name);
    format!("`{name}` is not known: assign it first with `{name} := ...`")
}

fn time(value: Value) -> Result<crate::Rational, String> {
    match value {
        Value::Number(Extended::Finite(time)) if !time.is_negative() => Ok(time),
        Value::Number(other) => {
            Err(format!("functions are defined at finite times from 0 on, not at {other}"))
        }
        Value::Function(_) => Err("a function has values at numbers, not at functions".to_owned()),
    }
}

fn compare(left: &Value, comparison: Comparison, right: &Value) -> Result<bool, String> {
    if let (Value::Number(a), Value::Number(b)) = (left, right) {
        return Ok(match comparison {
            Comparison::Equal => a == b,
            Comparison::NotEqual => a != b,
            Comparison::Less => a < b,
            Comparison::AtMost => a <= b,
            Comparison::Greater => a > b,
            Comparison::AtLeast => a >= b,
        });
    }
    let curve = |value: &Value| match value {
        Value::Function(curve) => curve.clone(),
        Value::Number(number) => Curve::constant(number.clone()),
    };
    let (a, b) = (curve(left), curve(right));
    let at_most = |a: &Curve, b: &Curve| a.is_at_most(b).map_err(|error| error.to_string());
    match comparison {
        Comparison::Equal => Ok(a == b),
        Comparison::NotEqual => Ok(a != b),
        Comparison::AtMost => at_most(&a, &b),
        Comparison::AtLeast => at_most(&b, &a),
        // A function is less than another if it is nowhere above it and differs from it. If it had
        // to be below at all times, hardly any curve would be less than another, because most
        // curves start from 0.
        Comparison::Less => Ok(a != b && at_most(&a, &b)?),
        Comparison::Greater => Ok(a != b && at_most(&b, &a)?),
    }
}
