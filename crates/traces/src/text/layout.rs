//! Arranges the lines of a trace as a tree.

/// The number of similar parts that are shown before the remaining ones are summarised.
const SHOWN: usize = 2;
/// The largest number of output ports that a summary lists.
const PORTS: usize = 8;
/// The largest width of a column in characters.
const COLUMN: usize = 56;

/// A line of the text with up to three columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The name of a table, or the whole line if the other columns are empty.
    pub label: String,
    /// The entry that the table hit, or the keys for which it missed.
    pub middle: String,
    /// The action that the table ran.
    pub right: String,
}

/// The lines for a node of a trace, and the parts into which the text splits after them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The line above the other lines. It names the packet, the copy or the alternative.
    pub head: String,
    /// The lines of this part, in order.
    pub rows: Vec<Row>,
    /// The parts below this one: one for each copy of the packet or each alternative.
    pub children: Vec<Part>,
    /// Remarks that follow all lines.
    pub remarks: Vec<String>,
    /// The facts that the part states, each with a name and a value. Parts whose facts have the
    /// same names are similar, and can be summarised by the names whose values differ.
    pub(super) facts: Vec<(String, String)>,
}

impl Part {
    pub(super) fn headed(head: String) -> Self {
        Self { head, ..Self::default() }
    }

    pub(super) fn has_head(&self, head: &str) -> bool {
        self.rows.is_empty() && self.head == head
    }

    /// Adds a line that has only the first column.
    pub(super) fn row(&mut self, label: String) {
        self.rows.push(Row { label, ..Row::default() });
    }

    pub(super) fn fact(&mut self, name: &str, value: &str) {
        self.facts.push((name.to_owned(), value.to_owned()));
    }

    /// Returns the facts of this part and of all parts below it.
    fn all_facts(&self) -> Vec<(&str, &str)> {
        let own = self.facts.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        own.chain(self.children.iter().flat_map(Self::all_facts)).collect()
    }

    fn shape(&self) -> Vec<&str> {
        self.all_facts().into_iter().map(|(name, _)| name).collect()
    }

    /// Increases `widths` where lines of this part have wider columns.
    fn widen(&self, widths: &mut [usize; 2]) {
        for row in self.rows.iter().filter(|row| !row.middle.is_empty() || !row.right.is_empty()) {
            let of_row = [row.label.chars().count(), row.middle.chars().count()];
            for (width, needed) in widths.iter_mut().zip(of_row) {
                *width = (*width).max(needed.min(COLUMN));
            }
        }
        self.children.iter().for_each(|child| child.widen(widths));
    }
}

/// Truncates a text that is wider than a column.
pub(super) fn fitted(text: &str) -> String {
    if text.chars().count() <= COLUMN {
        return text.to_owned();
    }
    text.chars().take(COLUMN - 3).collect::<String>() + "..."
}

/// Returns the text of a part and all parts below it.
pub(super) fn lines(part: &Part) -> String {
    let mut widths = [0, 0];
    part.widen(&mut widths);
    let mut text = format!("{}\n", part.head);
    below(part, "  ", widths, &mut text);
    for remark in &part.remarks {
        text += &format!("  {remark}\n");
    }
    text
}

/// Appends the lines of a part, without its head, to `text`.
fn below(part: &Part, indent: &str, widths: [usize; 2], text: &mut String) {
    for row in &part.rows {
        let line = format!(
            "{indent}{:label$}  {:middle$}  {}",
            row.label,
            row.middle,
            row.right,
            label = widths[0],
            middle = widths[1]
        );
        *text += line.trim_end();
        text.push('\n');
    }
    for (position, child) in part.children.iter().enumerate() {
        let is_last = position + 1 == part.children.len();
        let (branch, rest) = if is_last { ("`- ", "   ") } else { ("|- ", "|  ") };
        match (child.rows.as_slice(), child.children.is_empty()) {
            ([row], true) if row.middle.is_empty() => {
                *text += &format!("{indent}{branch}{}: {}\n", child.head, row.label);
            }
            _ => {
                *text += &format!("{indent}{branch}{}\n", child.head);
                below(child, &format!("{indent}{rest}"), widths, text);
            }
        }
    }
}

/// Returns a copy of a part in which similar children are summarised.
pub(super) fn summarised(part: &Part) -> Part {
    let mut shapes: Vec<(Vec<&str>, Vec<&Part>)> = Vec::new();
    for child in &part.children {
        let shape = child.shape();
        match shapes.iter_mut().find(|(known, _)| *known == shape) {
            Some((_, parts)) => parts.push(child),
            None => shapes.push((shape, vec![child])),
        }
    }
    let mut children = Vec::new();
    for (_, parts) in shapes {
        // A summary of a single part would be as long as the part.
        let shown = if parts.len() > SHOWN + 1 { SHOWN } else { parts.len() };
        children.extend(parts.iter().take(shown).map(|child| summarised(child)));
        if parts.len() > shown {
            children.push(Part::headed(summary(&parts, shown)));
        }
    }
    Part { children, ..part.clone() }
}

/// Names the facts in which similar parts differ. The first `shown` parts are shown in full.
fn summary(parts: &[&Part], shown: usize) -> String {
    let facts: Vec<_> = parts.iter().map(|part| part.all_facts()).collect();
    let mut names: Vec<String> = Vec::new();
    for (index, (name, first)) in facts.first().into_iter().flatten().enumerate() {
        let value = |facts: &Vec<(&str, &str)>| {
            facts.get(index).map_or(String::new(), |one| one.1.to_owned())
        };
        if facts.iter().all(|facts| value(facts) == *first) {
            continue;
        }
        let mut name = (*name).to_owned();
        if name == "port" {
            let mut ports: Vec<String> = facts.iter().skip(shown).map(value).collect();
            ports.dedup();
            let more = if ports.len() > PORTS { " ..." } else { "" };
            ports.truncate(PORTS);
            name = format!("port ({}{more})", ports.join(" "));
        }
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = parts.len() - shown;
    match names.is_empty() {
        true => format!("{more} more do the same"),
        false => format!("{more} more differ in {}", names.join(", ")),
    }
}
