//! The reference documentation of all settings.

use std::fmt::Write;

use super::setting::{Section, Setting};

/// Returns a Markdown page of all settings: a table for each section, followed by the manuals.
pub fn markdown() -> String {
    let mut page = String::from(
        "# Settings of `planimeter probe`\n\n\
         Every setting is a key of the TOML file and a flag. A flag outranks the file that \
         `--config` names, that file outranks the `.ini` file of OFCProbe or P4RCProbe that \
         `--legacy` names, and that one outranks the default. Paths in a TOML file are relative to \
         the folder of the file.\n\n\
         This page is generated from the table of settings.\n",
    );
    for section in Section::ALL {
        // Writing to a String cannot fail.
        let _ = write!(page, "\n## {}\n\n", section.heading());
        page.push_str("| key | flag | default | |\n| --- | --- | --- | --- |\n");
        for setting in section.settings() {
            let _ = writeln!(
                page,
                "| `{}` | {} | {} | {} |",
                setting.key,
                cell(&flag(setting)),
                if setting.default.is_empty() { "not set".into() } else { cell(setting.default) },
                setting.summary.replace('|', "\\|"),
            );
        }
        for setting in section.settings() {
            let _ = write!(page, "\n**`{}`** {}", setting.key, escaped(setting.manual));
            if let Some(range) = setting.range() {
                let _ = write!(page, " Range: {range}.");
            }
            let _ = writeln!(page, " Example: `{}`.", setting.example);
        }
    }
    page
}

fn flag(setting: &Setting) -> String {
    let short = setting.short.map(|short| format!("-{short}, ")).unwrap_or_default();
    format!("{short}--{}", setting.flag)
}

fn cell(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

/// Escapes angle brackets and asterisks, which Markdown would take for markup.
fn escaped(text: &str) -> String {
    text.replace('<', "\\<").replace('*', "\\*")
}
