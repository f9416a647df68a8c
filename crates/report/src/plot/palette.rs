//! The colours of light and dark pages.
//!
//! The hues are those of Okabe and Ito ("Color Universal Design", 2008), which readers with any of
//! the common colour vision deficiencies can distinguish, darkened or lightened until each has a
//! contrast of 3:1 with the page (WCAG 2.2, 1.4.11) in either theme. Their yellow cannot reach this
//! contrast, and is replaced by a grey. A test checks the contrasts. Markers and dashes convey the
//! same information without colour.

use crate::put::put;

/// The colours of the light or the dark theme.
pub(super) struct Theme {
    /// The background of the page.
    pub(super) page: &'static str,
    /// The background of panels, such as boxes and code.
    panel: &'static str,
    /// The colour of text.
    pub(super) text: &'static str,
    /// The colour of secondary text, such as axes and captions.
    pub(super) muted: &'static str,
    /// The colour of rules in tables and of the grid in plots, which carry no information.
    pub(super) line: &'static str,
    /// The colour of links.
    link: &'static str,
    /// The colours of text on panels that is good news, a warning or bad news.
    status: [&'static str; 3],
    /// The background colours for good news, a warning and bad news.
    status_page: [&'static str; 3],
    /// The colours of lines in plots.
    pub(super) series: [&'static str; SERIES],
}

/// The number of different colours for lines in plots.
pub(super) const SERIES: usize = 8;

pub(super) const LIGHT: Theme = Theme {
    page: "#ffffff",
    panel: "#f6f7f9",
    text: "#1b1f24",
    muted: "#57606a",
    line: "#d8dee4",
    link: "#0b5cad",
    status: ["#0a5c3b", "#7a4a00", "#a1260d"],
    status_page: ["#e6f4ec", "#fdf3dc", "#fdebe7"],
    series: [
        "#0072b2", "#c94f00", "#00805c", "#a8478a", "#3d3d3d", "#2b8cc4", "#a87400", "#7a5fb5",
    ],
};

const DARK: Theme = Theme {
    page: "#14171c",
    panel: "#1c2128",
    text: "#e6e9ed",
    muted: "#a3adb8",
    line: "#363d47",
    link: "#79b8ff",
    status: ["#6bd6a3", "#f0c060", "#ff9b85"],
    status_page: ["#12301f", "#33280d", "#3a1a14"],
    series: [
        "#4aa8e8", "#ff8a3d", "#2fc796", "#e58cc8", "#d0d4d9", "#9cd3f5", "#e6b840", "#b6a1ec",
    ],
};

/// Returns the colours of both themes as style sheet variables. The light theme is the default and
/// is used in print. The dark theme is used if the reader prefers it.
pub(crate) fn style_sheet() -> String {
    let mut css = format!(":root{{color-scheme:light dark;{}}}\n", variables(&LIGHT));
    put!(css, "@media screen and (prefers-color-scheme:dark){{:root{{{}}}}}\n", variables(&DARK));
    for number in 0..SERIES {
        put!(css, ".s{number}{{--c:var(--s{number})}}\n");
    }
    css
}

fn variables(theme: &Theme) -> String {
    let mut css = format!(
        "--page:{};--panel:{};--text:{};--muted:{};--line:{};--link:{};",
        theme.page, theme.panel, theme.text, theme.muted, theme.line, theme.link
    );
    for (name, (text, page)) in
        ["good", "warn", "bad"].iter().zip(theme.status.iter().zip(theme.status_page))
    {
        put!(css, "--{name}:{text};--{name}-page:{page};");
    }
    for (number, colour) in theme.series.iter().enumerate() {
        put!(css, "--s{number}:{colour};");
    }
    css
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the relative luminance of a colour (WCAG 2.2, definition of the same name).
    fn luminance(colour: &str) -> f64 {
        let channel = |from: usize| {
            let byte = u8::from_str_radix(&colour[from..from + 2], 16).expect("#rrggbb");
            let share = f64::from(byte) / 255.0;
            if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_and_lines_stand_out_in_both_themes() {
        assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 1e-9);
        for theme in [&LIGHT, &DARK] {
            for background in [theme.page, theme.panel] {
                for text in [theme.text, theme.muted, theme.link] {
                    assert!(contrast(text, background) >= 4.5, "{text} on {background}");
                }
                for series in theme.series {
                    let contrast = contrast(series, background);
                    assert!(contrast >= 3.0, "{series} on {background}: {contrast:.2}");
                }
            }
            for (text, background) in theme.status.iter().zip(theme.status_page) {
                assert!(contrast(text, background) >= 4.5, "{text} on {background}");
                assert!(contrast(theme.text, background) >= 4.5, "text on {background}");
            }
        }
    }

    #[test]
    fn every_colour_reaches_the_style_sheet() {
        let css = style_sheet();
        for colour in LIGHT.series.iter().chain(&DARK.series) {
            assert!(css.contains(colour), "{colour}");
        }
    }
}
