//! Text templates from which the lines of scripts are made, with expressions in braces.
//!
//! `{EXPRESSION}` stands for the decimal digits of a number, and `{EXPRESSION:8}` for eight
//! hexadecimal digits. In an expression, `n` is the number of the repetition, from 0. The operators
//! are those of C on whole numbers: `|`, `^`, `&`, `<<` `>>`, `+` `-`, `*` `/` `%`, from the
//! weakest.

use std::fmt::Write as _;

/// The largest number of digits that `{EXPRESSION:DIGITS}` may ask for.
const MOST_DIGITS: usize = 64;

/// Replaces each expression in a text by its value, for repetition `n`.
///
/// # Errors
/// Returns the reason why an expression has no value.
pub(super) fn expand(text: &str, n: u128) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        out.push_str(before);
        let (inside, after) =
            behind.split_once('}').ok_or_else(|| format!("`{{{behind}` has no `}}`"))?;
        let error = |why: String| format!("`{{{inside}}}`: {why}");
        let (expression, digits) = match inside.rsplit_once(':') {
            Some((expression, digits)) => (expression, Some(digits_of(digits).map_err(error)?)),
            None => (inside, None),
        };
        let value = value(expression, n).map_err(error)?;
        // Writing to a string cannot fail.
        let _ = match digits {
            None => write!(out, "{value}"),
            Some(digits) => {
                let shown = format!("{value:0digits$x}");
                if shown.len() > digits {
                    return Err(error(format!("0x{shown} has more than {digits} digits")));
                }
                write!(out, "{shown}")
            }
        };
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

fn digits_of(text: &str) -> Result<usize, String> {
    let digits = text.trim().parse().ok().filter(|digits| (1..=MOST_DIGITS).contains(digits));
    digits.ok_or_else(|| {
        format!("`{text}` is no number of hexadecimal digits, from 1 to {MOST_DIGITS}")
    })
}

fn value(expression: &str, n: u128) -> Result<u128, String> {
    let mut reader = Reader { rest: expression.trim(), n };
    let value = reader.sum_of(0)?;
    if reader.rest.is_empty() { Ok(value) } else { Err(reader.unexpected()) }
}

/// The operators, in order of precedence from the weakest.
const OPERATORS: [&[&str]; 6] =
    [&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "/", "%"]];

/// A parser of an expression, with the text that it has not parsed yet.
struct Reader<'t> {
    rest: &'t str,
    n: u128,
}

impl Reader<'_> {
    /// Parses operands that are joined by operators of this level of precedence or a stronger one,
    /// and returns their value.
    fn sum_of(&mut self, level: usize) -> Result<u128, String> {
        let Some(operators) = OPERATORS.get(level) else { return self.operand() };
        let mut left = self.sum_of(level + 1)?;
        while let Some(operator) = operators.iter().find(|one| self.rest.starts_with(**one)) {
            self.skip(operator.len());
            let right = self.sum_of(level + 1)?;
            left = applied(left, operator, right)
                .ok_or_else(|| format!("{left} {operator} {right} has no value of 128 bits"))?;
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<u128, String> {
        if self.rest.starts_with('(') {
            self.skip(1);
            let value = self.sum_of(0)?;
            if !self.rest.starts_with(')') {
                return Err(self.unexpected());
            }
            self.skip(1);
            return Ok(value);
        }
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let word = self.rest.get(..end.unwrap_or(self.rest.len())).unwrap_or_default();
        let value = match (word, word.get(..2)) {
            ("n", _) => Some(self.n),
            (_, Some("0x")) => u128::from_str_radix(&word[2..].replace('_', ""), 16).ok(),
            _ => word.replace('_', "").parse().ok(),
        };
        let value = value.ok_or_else(|| self.unexpected())?;
        self.skip(word.len());
        Ok(value)
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default().trim_start();
    }

    fn unexpected(&self) -> String {
        if self.rest.is_empty() {
            "a number or `n` is missing at the end".to_owned()
        } else {
            format!("`{}` is not expected here", self.rest)
        }
    }
}

fn applied(left: u128, operator: &str, right: u128) -> Option<u128> {
    let shift = || u32::try_from(right).ok();
    match operator {
        "|" => Some(left | right),
        "^" => Some(left ^ right),
        "&" => Some(left & right),
        "<<" => left.checked_shl(shift()?).filter(|shifted| shifted >> right == left),
        ">>" => left.checked_shr(shift()?),
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "/" => left.checked_div(right),
        "%" => left.checked_rem(right),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_have_the_values_and_digits_that_they_ask_for() {
        for (text, expected) in [
            ("add t k:{n} a()", "add t k:7 a()"),
            ("0x{0x0a000000 + n:8}/32", "0x0a000007/32"),
            ("{n%4}{ n / 4 }", "31"),
            ("{2 + 3 * 4}{(2 + 3) * 4}", "1420"),
            ("{1 << 4 | n & 3 ^ 1}{0xff_ff >> 8:4}", "1800ff"),
            ("{10 - 2 - 3}", "5"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(expand(text, 7).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn an_expression_without_a_value_is_named_with_the_reason() {
        for (text, reason) in [
            ("{n", "`{n` has no `}`"),
            ("{}", "`{}`: a number or `n` is missing at the end"),
            ("{m}", "`{m}`: `m` is not expected here"),
            ("{(1}", "`{(1}`: a number or `n` is missing at the end"),
            ("{1 2}", "`{1 2}`: `2` is not expected here"),
            ("{n - 8}", "`{n - 8}`: 7 - 8 has no value of 128 bits"),
            ("{1 / (n - 7)}", "`{1 / (n - 7)}`: 1 / 0 has no value of 128 bits"),
            ("{1 << 128}", "`{1 << 128}`: 1 << 128 has no value of 128 bits"),
            ("{256:2}", "`{256:2}`: 0x100 has more than 2 digits"),
            ("{1:0}", "`{1:0}`: `0` is no number of hexadecimal digits, from 1 to 64"),
        ] {
            assert_eq!(expand(text, 7), Err(reason.to_owned()), "{text}");
        }
    }
}
