//! Generates the reference documentation of all settings.

use std::fmt::Write;

use super::setting::{Section, Setting};

/// The text of the page before its sections.
const INTRODUCTION: &str = r#"# Settings of `planimeter probe`

Every setting of [`planimeter probe`](probe.md) is an option of the command and a key of a TOML file, which `--config FILE` reads:

```toml
protocol = "openflow13"

[controller]
address = "192.0.2.7:6653"

[traffic]
rate = "1.5k"
arrivals = "exponential"

[plan]
repetitions = 10
thresholds = ["loss == 0", "rtt.p99 < 5ms"]
```

An option outranks the TOML file, that file outranks the `.ini` file of OFCProbe or P4RCProbe that `--legacy` names, and that one outranks the default. `--print-config` prints every setting as a TOML file, and each run leaves this file as `config.toml`. An unknown key is an error.

| value | form |
| --- | --- |
| duration | `500ms`, `5s`, `1m30s`, `100us`; units are h, m, s, ms, us and ns |
| rate, number | `1000`, `100k`, `1.5M`; rates are per second |
| id | decimal, or hexadecimal as in `0x1f` |
| boolean | the option alone, or `--option=true` and `--option=false` |
| list | `100,200,500`, ranges `100..1000:100` and `10..10k:x10`, or the option several times |
| file | relative to the current directory; in a TOML file, relative to the directory of that file |
| none | an empty value unsets a setting, as in `--p4info ''` |

This page is generated from the table of settings.
"#;

/// Returns a Markdown page of all settings. It contains a table for each section, followed by the
/// manuals of the settings.
pub fn markdown() -> String {
    let mut page = String::from(INTRODUCTION);
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

/// Escapes angle brackets and asterisks, which Markdown would interpret as markup.
fn escaped(text: &str) -> String {
    text.replace('<', "\\<").replace('*', "\\*")
}
