//! Evaluates the operators and named functions of MPPG, the language for min-plus programs, by
//! operations of this crate.

use super::Value;
use crate::algebra::AlgebraError;
use crate::curve::{Curve, CurveError, Extended};
use crate::rational::Rational;

/// The largest exponent that `pow` accepts.
const LARGEST_POWER: i64 = 1024;
/// The largest number of bits of a number, so that a program which squares a number repeatedly
/// cannot run for ever. No physical quantity needs more.
const MAX_BITS: u64 = 1 << 14;

/// Returns the number unchanged, or an error if it has more than [`MAX_BITS`] bits.
fn within_bits(number: Rational) -> Result<Rational, String> {
    if number.bits() > MAX_BITS {
        return Err(format!("the number takes more than {MAX_BITS} bits"));
    }
    Ok(number)
}

/// Applies a binary operator of the language to two values.
pub(super) fn operate(operator: &str, left: Value, right: Value) -> Result<Value, String> {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => numbers(operator, &a, &b).map(Value::Number),
        (Value::Function(f), Value::Function(g)) => {
            functions(operator, &f, &g).map(Value::Function)
        }
        (Value::Function(f), Value::Number(b)) => mixed(operator, &f, &b).map(Value::Function),
        (Value::Number(a), Value::Function(g)) => match operator {
            "*" => scale(&g, &a).map(Value::Function),
            "+" | "/\\" | "\\/" | "-" | "comp" => {
                functions(operator, &Curve::constant(a), &g).map(Value::Function)
            }
            _ => Err(format!("`{operator}` has no meaning between a number and a function")),
        },
    }
}

fn functions(operator: &str, f: &Curve, g: &Curve) -> Result<Curve, String> {
    let result = match operator {
        "+" => f.sum(g),
        "-" => f.difference(g),
        "/\\" => f.minimum(g),
        "\\/" => f.maximum(g),
        "*" | "*_" => f.convolution(g),
        "*^" => f.max_plus_convolution(g),
        "/" | "/_" => f.deconvolution(g),
        "/^" => f.max_plus_deconvolution(g),
        "comp" => f.composition(g),
        _ => return Err(format!("`{operator}` has no meaning between functions")),
    };
    result.map_err(|error| error.to_string())
}

fn mixed(operator: &str, f: &Curve, number: &Extended) -> Result<Curve, String> {
    match operator {
        "*" => scale(f, number),
        "/" | "÷" | "div" => match number.finite().and_then(Rational::reciprocal) {
            Some(inverse) => Ok(f.scaled(&inverse)),
            None => Err(format!("a function cannot be divided by {number}")),
        },
        "+" | "-" | "/\\" | "\\/" | "comp" => {
            functions(operator, f, &Curve::constant(number.clone()))
        }
        _ => Err(format!("`{operator}` has no meaning between a function and a number")),
    }
}

fn scale(f: &Curve, by: &Extended) -> Result<Curve, String> {
    match by {
        Extended::Finite(by) => Ok(f.scaled(by)),
        infinite => Err(format!("a function cannot be multiplied by {infinite}")),
    }
}

/// Computes an operation on two numbers.
fn numbers(operator: &str, a: &Extended, b: &Extended) -> Result<Extended, String> {
    let undefined = || format!("`{a} {operator} {b}` has no value");
    match operator {
        "/\\" => return Ok(a.min(b).clone()),
        "\\/" => return Ok(a.max(b).clone()),
        "+" => return a.checked_add(b).ok_or_else(undefined),
        "-" => return a.checked_add(&-b).ok_or_else(undefined),
        _ => {}
    }
    if let (Extended::Finite(x), Extended::Finite(y)) = (a, b) {
        let value = match operator {
            "*" => Some(x * y),
            "/" | "÷" | "div" => x.checked_div(y),
            "mod" => x.checked_div(y).map(|quotient| {
                let whole = if quotient.is_negative() { quotient.ceil() } else { quotient.floor() };
                x - &(whole * y)
            }),
            _ => return Err(format!("`{operator}` has no meaning between numbers")),
        };
        let value = value.ok_or_else(|| format!("{a} is divided by zero"))?;
        return within_bits(value).map(Extended::Finite);
    }
    // At least one operand is infinite, so the signs decide.
    let sign = |value: &Extended| value.cmp(&Extended::ZERO);
    match operator {
        "*" => match sign(a) as i8 * sign(b) as i8 {
            0 => Err(undefined()),
            1.. => Ok(Extended::PositiveInfinity),
            _ => Ok(Extended::NegativeInfinity),
        },
        "/" | "÷" | "div" => match b {
            Extended::Finite(divisor) if !divisor.is_zero() => {
                Ok(if divisor.is_negative() { -a } else { a.clone() })
            }
            Extended::Finite(_) => Err(undefined()),
            _ if a.is_finite() => Ok(Extended::ZERO),
            _ => Err(undefined()),
        },
        _ => Err(undefined()),
    }
}

/// Calls a function of the language by its name.
pub(super) fn call(name: &str, arguments: Vec<Value>) -> Result<Value, String> {
    let computed = |result: Result<Curve, AlgebraError>| {
        result.map(Value::Function).map_err(|error| error.to_string())
    };
    let number = |result: Result<Extended, AlgebraError>| {
        result.map(Value::Number).map_err(|error| error.to_string())
    };
    let mut given = Arguments { name, values: arguments.into_iter(), taken: 0 };
    if let Some(curve) = elementary_curve(&mut given)? {
        return Ok(curve);
    }
    if let Some(value) = arithmetic(&mut given)? {
        return Ok(value);
    }
    match name {
        "hShift" | "hshift" => {
            let (f, by) = (given.function()?, given.finite()?);
            given.end()?;
            Ok(Value::Function(f.delayed(&by)))
        }
        "vShift" | "vshift" => {
            let (f, by) = (given.function()?, given.finite()?);
            given.end()?;
            Ok(Value::Function(f.raised(&by)))
        }
        "hDev" | "hdev" | "vDev" | "vdev" | "zDev" | "zdev" | "maxBacklogPeriod" => {
            let (f, g) = (given.function()?, given.function()?);
            given.end()?;
            number(match name {
                "hDev" | "hdev" => f.horizontal_deviation(&g).map(|deviation| deviation.value),
                "vDev" | "vdev" => f.vertical_deviation(&g).map(|deviation| deviation.value),
                "zDev" | "zdev" => f.z_deviation(&g),
                _ => f.backlogged_period(&g),
            })
        }
        "star" | "subaddclosure" => computed(given.only_function()?.sub_additive_closure()),
        "superaddclosure" => computed(given.only_function()?.super_additive_closure()),
        "inv" | "low_inv" => computed(given.only_function()?.lower_pseudo_inverse()),
        "up_inv" => computed(given.only_function()?.upper_pseudo_inverse()),
        "upclosure" => computed(given.only_function()?.upper_non_decreasing()),
        "nnupclosure" => {
            let f = given.only_function()?;
            computed(f.upper_non_decreasing().and_then(|closure| closure.non_negative()))
        }
        "lowclosure" => computed(given.only_function()?.lower_non_decreasing()),
        "nnlowclosure" => {
            let f = given.only_function()?;
            computed(f.non_negative().and_then(|curve| curve.lower_non_decreasing()))
        }
        "left-ext" => computed(given.only_function()?.left_continuous()),
        "right-ext" => Ok(Value::Function(given.only_function()?.right_continuous())),
        _ => Err(format!("there is no function `{name}`, neither assigned nor in the language")),
    }
}

/// Calls a function that builds a curve of a given shape, such as `bucket`. Returns `None` for
/// other functions.
fn elementary_curve(given: &mut Arguments<'_>) -> Result<Option<Value>, String> {
    let curve = match given.name {
        "ratency" => {
            let (rate, latency) = (given.finite()?, given.finite()?);
            given.end()?;
            Curve::rate_latency(rate, latency)
        }
        "bucket" => {
            let (rate, burst) = (given.finite()?, given.finite()?);
            given.end()?;
            Curve::token_bucket(burst, rate)
        }
        "affine" => {
            let (slope, value) = (given.finite()?, given.finite()?);
            given.end()?;
            Ok(Curve::line(value, slope))
        }
        "step" => {
            let (time, height) = (given.finite()?, given.number()?);
            given.end()?;
            Curve::step(time, height)
        }
        "stair" => {
            let (time, length, height) = (given.finite()?, given.finite()?, given.finite()?);
            given.end()?;
            Curve::delayed_staircase(time, height, length)
        }
        "delay" => {
            let time = given.finite()?;
            given.end()?;
            Curve::burst_delay(time)
        }
        _ => return Ok(None),
    };
    let curve: Result<Curve, CurveError> = curve;
    curve.map(|curve| Some(Value::Function(curve))).map_err(|error| error.to_string())
}

/// Calls a function of numbers, such as `gcd`, or a rounding function, which also accepts a curve.
/// Returns `None` for other functions.
fn arithmetic(given: &mut Arguments<'_>) -> Result<Option<Value>, String> {
    let name = given.name;
    let value = match name {
        "floor" | "ceil" => {
            let is_floor = name == "floor";
            let value = given.value()?;
            given.end()?;
            match value {
                Value::Function(f) => {
                    let rounded = if is_floor { f.floor() } else { f.ceil() };
                    Value::Function(rounded.map_err(|error| error.to_string())?)
                }
                Value::Number(Extended::Finite(x)) => {
                    let rounded = if is_floor { x.floor() } else { x.ceil() };
                    Value::Number(Extended::Finite(rounded))
                }
                infinite => infinite,
            }
        }
        "abs" => {
            let value = given.number()?;
            given.end()?;
            Value::Number(if value < Extended::ZERO { -value } else { value })
        }
        "pow" => {
            let (base, exponent) = (given.finite()?, given.finite()?);
            given.end()?;
            Value::Number(Extended::Finite(power(&base, &exponent)?))
        }
        "gcd" | "lcm" => {
            let (a, b) = (given.finite()?.abs(), given.finite()?.abs());
            given.end()?;
            let value = match (a.is_zero() || b.is_zero(), name) {
                (true, "gcd") => a.max(b),
                (true, _) => Rational::ZERO,
                (false, "lcm") => within_bits(a.common_multiple(&b))?,
                (false, _) => &(&a * &b) / &a.common_multiple(&b),
            };
            Value::Number(Extended::Finite(value))
        }
        _ => return Ok(None),
    };
    Ok(Some(value))
}

fn power(base: &Rational, exponent: &Rational) -> Result<Rational, String> {
    let whole = exponent.to_i64().filter(|whole| whole.abs() <= LARGEST_POWER);
    let Some(whole) = whole else {
        return Err(format!(
            "the exponent is {exponent}: it must be whole and at most {LARGEST_POWER}"
        ));
    };
    let factor = if whole < 0 {
        base.reciprocal().ok_or_else(|| "zero has no negative power".to_owned())?
    } else {
        base.clone()
    };
    (0..whole.abs()).try_fold(Rational::ONE, |product, _| within_bits(product * &factor))
}

/// The arguments of a function call, which are taken one after the other.
struct Arguments<'a> {
    name: &'a str,
    values: std::vec::IntoIter<Value>,
    taken: usize,
}

impl Arguments<'_> {
    fn value(&mut self) -> Result<Value, String> {
        self.taken += 1;
        self.values
            .next()
            .ok_or_else(|| format!("`{}` lacks its argument {}", self.name, self.taken))
    }

    fn number(&mut self) -> Result<Extended, String> {
        match self.value()? {
            Value::Number(number) => Ok(number),
            Value::Function(_) => Err(format!(
                "argument {} of `{}` is a function, not a number",
                self.taken, self.name
            )),
        }
    }

    fn finite(&mut self) -> Result<Rational, String> {
        match self.number()? {
            Extended::Finite(number) => Ok(number),
            infinite => Err(format!("argument {} of `{}` is {infinite}", self.taken, self.name)),
        }
    }

    /// Returns the next argument as a curve. A number stands for a constant function.
    fn function(&mut self) -> Result<Curve, String> {
        match self.value()? {
            Value::Function(curve) => Ok(curve),
            Value::Number(number) => Ok(Curve::constant(number)),
        }
    }

    fn only_function(&mut self) -> Result<Curve, String> {
        let function = self.function()?;
        self.end()?;
        Ok(function)
    }

    fn end(&mut self) -> Result<(), String> {
        match self.values.len() {
            0 => Ok(()),
            more => Err(format!(
                "`{}` takes {} arguments, not {}",
                self.name,
                self.taken,
                self.taken + more
            )),
        }
    }
}
