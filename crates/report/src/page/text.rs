//! Text of a page, parts of which may be emphasised or links.

use std::borrow::Cow;

/// Text of a page as a sequence of spans, each with an emphasis. HTML markup in the text has no
/// effect. It is shown as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Text(Vec<(Emphasis, String)>);

/// The emphasis of a span of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Emphasis {
    None,
    Strong,
    Faint,
    Code,
    /// The span is a link to an identifier in the page.
    Link,
    /// The span is a link to a file in the run directory.
    File,
}

/// The tone of a message, which determines its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Tone {
    /// The message is neutral.
    #[default]
    Plain,
    /// The message is good news.
    Good,
    /// The message warns that figures are doubtful.
    Warning,
    /// The message is bad news.
    Bad,
}

impl Text {
    /// Creates emphasised text.
    pub fn strong(text: impl Into<String>) -> Self {
        Self(vec![(Emphasis::Strong, text.into())])
    }

    /// Creates text in a monospaced font, for input or the name of a file.
    pub fn code(text: impl Into<String>) -> Self {
        Self(vec![(Emphasis::Code, text.into())])
    }

    /// Creates the text of a number, as a link to the identifier `prefix-number` in the page.
    pub(crate) fn link(prefix: &str, number: usize) -> Self {
        Self(vec![(Emphasis::Link, format!("{prefix}-{number}"))])
    }

    /// Creates the text of a file name, as a link to that file in the run directory.
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

    /// Returns whether the text is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|(_, text)| text.is_empty())
    }

    /// Returns the words of the text, without emphasis and links.
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
