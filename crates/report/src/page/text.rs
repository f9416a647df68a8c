//! Text with a little emphasis.

use std::borrow::Cow;

/// Text in spans. Whatever it holds is shown as text: markup in it has no effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Text(Vec<(Emphasis, String)>);

/// How a span stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Emphasis {
    None,
    Strong,
    Faint,
    Code,
    /// A link to an identifier in the page.
    Link,
    /// A link to a file beside the page.
    File,
}

/// Whether something is good news.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Tone {
    /// Neither.
    #[default]
    Plain,
    /// It is.
    Good,
    /// It makes figures doubtful.
    Warning,
    /// It is not.
    Bad,
}

impl Text {
    /// Text that stands out.
    pub fn strong(text: impl Into<String>) -> Self {
        Self(vec![(Emphasis::Strong, text.into())])
    }

    /// What one types, or the name of a file.
    pub fn code(text: impl Into<String>) -> Self {
        Self(vec![(Emphasis::Code, text.into())])
    }

    /// Returns a number that leads to the part of the page with the identifier `prefix-number`.
    pub(crate) fn link(prefix: &str, number: usize) -> Self {
        Self(vec![(Emphasis::Link, format!("{prefix}-{number}"))])
    }

    /// Returns the name of a file beside the page, which leads there.
    pub fn file(path: impl Into<String>) -> Self {
        Self(vec![(Emphasis::File, path.into())])
    }

    /// Returns the same with more text behind it.
    #[must_use]
    pub fn and(mut self, more: impl Into<Self>) -> Self {
        self.0.extend(more.into().0);
        self
    }

    /// Returns the same with more text behind it, in smaller print.
    #[must_use]
    pub fn and_faint(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.0.push((Emphasis::Faint, text));
        }
        self
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|(_, text)| text.is_empty())
    }

    /// Returns the same without emphasis.
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
