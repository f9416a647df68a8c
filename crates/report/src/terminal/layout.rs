//! Describes the terminal on which tables are printed.

use super::grid::{Paint, wrap};

/// The properties of the terminal on which tables are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The number of characters in a line of the terminal. A number below 80 counts as 80, the
    /// least width that tables need, and a number above 160 as 160.
    pub width: usize,
    /// Whether to use colour. Set this to `false` unless standard output is a terminal and
    /// `NO_COLOR` is unset.
    pub colour: bool,
}

impl Layout {
    pub(crate) fn columns(self) -> usize {
        // In wider tables a reader easily slips into another row.
        self.width.clamp(80, 160)
    }

    pub(crate) fn paint(self, text: &str, paint: Paint) -> String {
        if self.colour { paint.around(text) } else { text.to_owned() }
    }

    /// Formats a heading that stands above a table or figures.
    pub(crate) fn heading(self, text: &str) -> String {
        format!("\n{}", self.paragraph("", text, Paint::Strong))
    }

    /// Returns a text that is wrapped to fit the terminal, with `lead` before its first line.
    /// Further lines are indented by the length of `lead`. The result ends with a newline.
    #[must_use]
    pub fn text(self, lead: &str, text: &str) -> String {
        self.paragraph(lead, text, Paint::Plain)
    }

    /// Returns a text in a colour that is wrapped to fit the terminal, with `lead` before its first
    /// line. Further lines are indented.
    pub(crate) fn paragraph(self, lead: &str, text: &str, paint: Paint) -> String {
        let indent = lead.chars().count();
        let mut out = String::new();
        for (number, line) in wrap(text, self.columns() - indent).iter().enumerate() {
            let lead = if number == 0 { lead.to_owned() } else { " ".repeat(indent) };
            out.push_str(&format!("{lead}{}\n", self.paint(line, paint)));
        }
        out
    }
}
