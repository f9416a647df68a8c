//! Where text is printed.

use super::grid::{Paint, wrap};

/// Where a table is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Columns of the terminal. Tables fit from 80 columns on; fewer are treated as 80.
    pub width: usize,
    /// Whether to use colour. Give `false` unless standard output is a terminal and `NO_COLOR` is
    /// unset.
    pub colour: bool,
}

impl Layout {
    pub(crate) fn columns(self) -> usize {
        // Beyond this, eyes lose the row.
        self.width.clamp(80, 160)
    }

    pub(crate) fn paint(self, text: &str, paint: Paint) -> String {
        if self.colour { paint.around(text) } else { text.to_owned() }
    }

    /// Returns a heading above figures.
    pub(crate) fn heading(self, text: &str) -> String {
        format!("\n{}", self.paragraph("", text, Paint::Strong))
    }

    /// Text that is wrapped to fit, behind a lead; further lines are indented as far. Ends with a newline.
    #[must_use]
    pub fn text(self, lead: &str, text: &str) -> String {
        self.paragraph(lead, text, Paint::Plain)
    }

    /// Wrapped text with a hanging indent: `lead` stands before the first line.
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
