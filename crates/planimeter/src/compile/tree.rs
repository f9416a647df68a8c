//! The layout of a tree with drawn branches on a terminal.

/// The minimum width in characters of the text in a line, however deep the line is in the tree.
const LEAST: usize = 24;

/// Wraps the lines of a drawn tree to at most `width` characters. Text that continues on the next
/// line stays to the right of the tree's branches. A word that fits no line is not broken.
pub(super) fn wrapped(tree: &str, width: usize) -> String {
    let mut out = String::new();
    for line in tree.lines() {
        let branches: String = line.chars().take_while(|c| "│├└─ ".contains(*c)).collect();
        let text = &line[branches.len()..];
        let further: String = branches
            .chars()
            .map(|c| match c {
                '├' | '│' => '│',
                _ => ' ',
            })
            .collect();
        let room = width.saturating_sub(branches.chars().count()).max(LEAST);
        for (number, part) in parts(text, room, INDENT.len()).into_iter().enumerate() {
            let (before, indent) = if number == 0 { (&branches, "") } else { (&further, INDENT) };
            out.push_str(before);
            out.push_str(indent);
            out.push_str(&part);
            out.push('\n');
        }
    }
    out
}

/// The additional indent of a line that continues the text of the previous line.
const INDENT: &str = "    ";

/// Splits text into lines of at most `room` characters. Lines after the first have at most
/// `room - less`. A word that fits no line is not broken.
pub(super) fn parts(text: &str, room: usize, less: usize) -> Vec<String> {
    let mut parts = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let room = if parts.len() == 1 { room } else { room - less };
        let Some(last) = parts.last_mut() else { break };
        let used = last.chars().count();
        if used > 0 && used + word.trim_end().chars().count() > room {
            last.truncate(last.trim_end().len());
            parts.push(word.to_owned());
        } else {
            last.push_str(word);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_wrapped_within_the_tree() {
        let tree = "program\n├─ tables\n│  ├─ action some.name(address: bit<32>, port: bit<9>)\n│  └─ short\n└─ end\n";
        assert_eq!(
            wrapped(tree, 40),
            "program\n├─ tables\n│  ├─ action some.name(address: bit<32>,\n│  │      port: bit<9>)\n│  └─ short\n└─ end\n"
        );
        assert_eq!(wrapped(tree, 80), tree);
        let word = format!("└─ {}\n", "x".repeat(100));
        assert_eq!(wrapped(&word, 80), word);
    }
}
