//! Text with a little emphasis.

use std::borrow::Cow;

/// Text in spans. Its content is always shown as text: markup in it has no effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Text(Vec<(Emphasis, String)>);

/// The emphasis of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Emphasis {
    None,
    Strong,
    Faint,
    Code,
    /// A link to an identifier in the page.
    Link,
    /// A link to a file in the run directory.
    File,
}

/// The tone of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Tone {
    /// Neutral.
    #[default]
    Plain,
    /// Good news.
    Good,
    /// Doubtful figures.
    Warning,
    /// Bad news.
    Bad,
}

impl Text {
    /// Creates emphasised text.
    pub fn strong(text: impl Into<String>) -> Self {
        Self(vec![(Emphasis::Strong, text.into())])
    }

    /// Creates text in a monospaced font: input, or the name of a file.
    pub fn code(text: impl Into<String>) -> Self {
        Self(vec![(Emphasis::Code, text.into())])
    }

    /// Creates a number that links to the identifier `prefix-number` in the page.
    pub(crate) fn link(prefix: &str, number: usize) -> Self {
        Self(vec![(Emphasis::Link, format!("{prefix}-{number}"))])
    }

    /// Creates the name of a file in the run directory, as a link.
    pub fn file(path: impl Into<String>) -> Self {
        Self(vec![(Emphasis::File, path.into())])
    }

    /// Returns the text with more text appended.
    #[must_use]
    pub fn and(mut self, more: impl Into<Self>) -> Self {
        self.0.extend(more.into().0);
        self
    }

    /// Returns the text with more text appended in smaller print.
    #[must_use]
    pub fn and_faint(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.0.push((Emphasis::Faint, text));
        }
        self
    }

    /// Whether the text is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|(_, text)| text.is_empty())
    }

    /// Returns the text without emphasis.
    pub(super) fn plain(&self) -> String {
        let texts = self.0.iter().map(|(emphasis, text)| match emphasis {
            Emphasis::Faint => format!(" {text}"),
            _ => text.clone(),
        });
        texts.collect()
    }

    pub(super) fn spans(&self) -> impl Iterator<Item = (Emphasis, &str)> {
        self.0.iter().map(|(emphasis, text)| (*emphasis, text.as_str()))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(vec![(Emphasis::None, text)])
    }
}

impl From<Cow<'_, str>> for Text {
    fn from(text: Cow<'_, str>) -> Self {
        text.into_owned().into()
    }
}
