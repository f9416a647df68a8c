//! The operands of a command: words and options (`--priority 10` or `--priority=10`).

use crate::error::CommandError;
use entities::written;
use std::collections::VecDeque;

/// The operands of a command that have not been parsed yet.
#[derive(Debug)]
pub(crate) struct Operands {
    words: VecDeque<String>,
    usage: String,
}

impl Operands {
    pub(crate) fn new(words: impl IntoIterator<Item = String>, usage: impl Into<String>) -> Self {
        Self { words: words.into_iter().collect(), usage: usage.into() }
    }

    /// Returns operands that consist of `words` and belong to the command of these operands.
    pub(crate) fn fresh(&self, words: impl IntoIterator<Item = String>) -> Self {
        Self::new(words, self.usage.clone())
    }

    /// Returns an error that states a problem with the operands, and the synopsis of the command.
    pub(crate) fn problem(&self, problem: impl Into<String>) -> CommandError {
        CommandError::Usage { usage: self.usage.clone(), problem: problem.into() }
    }

    /// Removes an option from the operands and returns its value, or returns `None` if the option
    /// is absent.
    pub(crate) fn option(&mut self, name: &str) -> Result<Option<String>, CommandError> {
        let is_it = |word: &String| {
            word.strip_prefix("--")
                .and_then(|rest| rest.strip_prefix(name))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        };
        let Some(at) = self.words.iter().position(is_it) else { return Ok(None) };
        let word = self.words.remove(at).unwrap_or_default();
        if let Some((_, value)) = word.split_once('=') {
            return Ok(Some(value.to_owned()));
        }
        match self.words.remove(at) {
            Some(value) => Ok(Some(value)),
            None => Err(self.problem(format!("--{name} needs a value"))),
        }
    }

    /// Removes an option whose value is a number, and returns the number.
    pub(crate) fn number_option<T: TryFrom<u64>>(
        &mut self,
        name: &str,
    ) -> Result<Option<T>, CommandError> {
        let Some(text) = self.option(name)? else { return Ok(None) };
        match small(&text) {
            Some(number) => Ok(Some(number)),
            None => Err(self.problem(format!("--{name} {text} is no such number"))),
        }
    }

    /// Removes an option whose value is a duration such as `5s`, and returns it in nanoseconds.
    pub(crate) fn time_option(&mut self, name: &str) -> Result<Option<u64>, CommandError> {
        let Some(text) = self.option(name)? else { return Ok(None) };
        match queues::time(&text) {
            Ok(time) => Ok(Some(time.0)),
            Err(error) => Err(self.problem(format!("--{name}: {error}"))),
        }
    }

    /// Removes an option without a value, and returns whether it was present.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let is_it = |word: &String| word.strip_prefix("--").is_some_and(|rest| rest == name);
        let at = self.words.iter().position(is_it);
        at.and_then(|at| self.words.remove(at)).is_some()
    }

    /// Returns the next word without removing it.
    pub(crate) fn peek(&self) -> Option<&str> {
        self.words.front().map(String::as_str)
    }

    /// Removes and returns the next word. `what` describes the expected word in the error.
    pub(crate) fn next(&mut self, what: &str) -> Result<String, CommandError> {
        let word = self.words.pop_front();
        word.ok_or_else(|| self.problem(format!("{what} is missing")))
    }

    /// Removes the next word if it equals `word`, and returns whether it did.
    pub(crate) fn take(&mut self, word: &str) -> bool {
        let is_next = self.peek() == Some(word);
        if is_next {
            self.words.pop_front();
        }
        is_next
    }

    /// Removes and returns the next word, which must be a number.
    pub(crate) fn number<T: TryFrom<u64>>(&mut self, what: &str) -> Result<T, CommandError> {
        let text = self.next(what)?;
        small(&text).ok_or_else(|| self.problem(format!("'{text}' is not {what}")))
    }

    /// Removes and returns the next word, which must be a number above zero, as P4Runtime requires
    /// for members, groups and sessions.
    pub(crate) fn positive(&mut self, what: &str) -> Result<u32, CommandError> {
        match self.number(what)? {
            0 => Err(self.problem(format!("{what} is a number from 1 on"))),
            number => Ok(number),
        }
    }

    /// Removes and returns all remaining words.
    pub(crate) fn rest(&mut self) -> Vec<String> {
        self.words.drain(..).collect()
    }

    /// Returns the number of remaining words.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Removes and returns the last word.
    pub(crate) fn last(&mut self, what: &str) -> Result<String, CommandError> {
        let word = self.words.pop_back();
        word.ok_or_else(|| self.problem(format!("{what} is missing")))
    }

    /// Returns an error if any words remain.
    pub(crate) fn end(&self) -> Result<(), CommandError> {
        match self.peek() {
            None => Ok(()),
            Some(word) => Err(self.problem(format!("'{word}' is one word too many"))),
        }
    }
}

/// Parses a number in any base, such as `16` or `0x10`.
pub(crate) fn small<T: TryFrom<u64>>(text: &str) -> Option<T> {
    let bytes = written::number(text)?;
    let number = entities::value::decode(&bytes).and_then(|number| u64::try_from(number).ok())?;
    T::try_from(number).ok()
}

/// Parses a range of positions: `3`, or `2..5`, which includes both ends.
pub(crate) fn range(text: &str) -> Option<std::ops::RangeInclusive<u64>> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let (low, high) = (small::<u64>(low)?, small::<u64>(high)?);
    (low <= high).then_some(low..=high)
}
