//! Renders a page as HTML.

use maud::{DOCTYPE, Markup, PreEscaped, Render, html};

use super::figure::{Data, Figure, Graphic};
use super::table::{Cell, Kind, Table};
use super::text::{Emphasis, Text, Tone};
use super::{Block, Page, Section, claims, csv, escape, ranked, tree};
use crate::alarm::{self, Alarm};
use crate::plot::{Drawing, DrawingError, Width, style_sheet};

/// The least number of columns of a table that is set in smaller print.
pub(super) const MANY_COLUMNS: usize = 9;
/// The length, in characters, above which the text of a cell may be broken into several lines.
const LONG_CELL: usize = 24;
/// The least number of sections of a page that has a table of contents.
const MANY_SECTIONS: usize = 7;

/// A page as an HTML document, and its figures in order.
pub(crate) struct Rendered {
    pub(crate) html: String,
    pub(crate) figures: Vec<Drawn>,
}

/// A figure as it was drawn for the page.
pub(crate) struct Drawn {
    graphic: Graphic,
    /// The figure as SVG inside the page.
    svg: String,
    /// The data of the figure as CSV.
    pub(crate) csv: String,
}

impl Page {
    /// Returns the blocks above all sections of the page. The failures of the run come first. If
    /// there are any, good news in the other blocks is shown in a neutral tone.
    fn worst_first(&self) -> Vec<Block> {
        let alarms = alarm::worst_first(&self.alarms);
        let mut lead: Vec<Block> =
            alarms.iter().map(|alarm| Block::Card(Tone::Bad, lines_of(alarm))).collect();
        let is_alarming = !lead.is_empty();
        lead.extend(self.lead.iter().cloned().map(|block| match block {
            Block::Card(Tone::Good, lines) if is_alarming => Block::Card(Tone::Plain, lines),
            other => other,
        }));
        lead
    }

    /// Renders the page as HTML and draws its figures.
    pub(crate) fn render(&self) -> Rendered {
        let mut drawn = Vec::new();
        let lead = blocks(&self.worst_first(), Level::Lead, &mut drawn);
        let command = [Block::Command(self.command.clone())];
        let command = blocks(&command, Level::Lead, &mut drawn);
        let filled = |section: &&Section| !section.blocks.iter().all(Block::is_empty);
        let shown: Vec<&Section> = self.sections.iter().filter(filled).collect();
        let contents: &[&Section] = if shown.len() >= MANY_SECTIONS { &shown } else { &[] };
        let sections: Vec<Markup> = shown
            .iter()
            .map(|section| {
                html! {
                    section id=(section.id) {
                        h2 { (escape(&section.title)) } "\n"
                        (blocks(&section.blocks, Level::Section, &mut drawn))
                    }
                    "\n"
                }
            })
            .collect();
        let policy = "default-src 'none'; style-src 'unsafe-inline'";
        let document = html! {
            (DOCTYPE) "\n"
            html lang="en" {
                head {
                    meta charset="utf-8"; "\n"
                    meta http-equiv="Content-Security-Policy" content=(PreEscaped(policy)); "\n"
                    meta name="viewport" content="width=device-width, initial-scale=1"; "\n"
                    title { (escape(&self.title)) " – Planimeter" } "\n"
                    style { (PreEscaped(style_sheet())) (PreEscaped(include_str!("style.css"))) }
                }
                "\n"
                body {
                    header {
                        p.kicker { (escape(&self.kicker)) }
                        h1 { (escape(&self.title)) } "\n"
                        @if !self.facts.is_empty() {
                            p.facts {
                                @for (place, fact) in self.facts.iter().enumerate() {
                                    @if place > 0 { " · " }
                                    span { (fact) }
                                }
                            }
                        }
                        "\n" (lead) (command)
                        @if !contents.is_empty() {
                            nav aria-label="Sections" {
                                @for section in contents {
                                    a href={ "#" (section.id) } { (escape(&section.title)) } "\n"
                                }
                            }
                        }
                    }
                    "\n"
                    main { "\n" @for section in sections { (section) } }
                }
            }
        };
        Rendered { html: document.into_string() + "\n", figures: drawn }
    }
}

/// The part of the page in which blocks stand, which determines the level of their headings.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Lead,
    Section,
}

fn blocks(blocks: &[Block], level: Level, drawn: &mut Vec<Drawn>) -> Markup {
    let shown = blocks.iter().filter(|block| !block.is_empty());
    let parts: Vec<Markup> = shown.map(|one| block(one, level, drawn)).collect();
    html! { @for part in parts { (part) "\n" } }
}

fn block(block: &Block, level: Level, drawn: &mut Vec<Drawn>) -> Markup {
    match block {
        Block::Heading(text) if level == Level::Lead => html! { h2 { (escape(text)) } },
        Block::Heading(text) => html! { h3 { (escape(text)) } },
        Block::Paragraph(text) => html! { p { (text) } },
        Block::Remark(text) => html! { p.remark { (text) } },
        Block::Card(tone, lines) => card(*tone, lines),
        Block::Tiles(tiles) => {
            // The number of columns is chosen such that the rows are complete.
            let columns = match tiles.len() {
                n @ 1..=4 => n,
                5 | 6 | 9 => 3,
                _ => 4,
            };
            html! {
                dl.tiles style={ "--columns:" (columns) } {
                    @for tile in tiles {
                        div {
                            dt { (escape(&tile.name)) }
                            dd.value { (escape(&tile.value)) }
                            dd.remark { (escape(&tile.remark)) }
                        }
                    }
                }
            }
        }
        Block::Notes(notes) => html! {
            ul.notes {
                @for note in ranked(notes) {
                    li class=[class(note.tone)] {
                        @if let Some(sign) = sign(note.tone) { span.sign aria-hidden="true" { (sign) } " " }
                        (escape(&note.text))
                    }
                    "\n"
                }
            }
        },
        Block::Command(text) => html! { p.command { code { (escape(text)) } } },
        Block::Listing(text) => html! { pre { code { (escape(text)) } } },
        Block::Figures(all) => figures(all, drawn),
        Block::Table(one) => table(one),
        Block::Tables(all) => html! {
            div.tables { @for one in all.iter().filter(|table| !table.is_empty()) { (table(one)) } }
        },
        Block::Facts(facts) => html! {
            table.text {
                tbody {
                    @for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
                        tr { th scope="row" { (name) } td class="text prose" { (value) } } "\n"
                    }
                }
            }
        },
        Block::Definitions(terms) => html! {
            dl.definitions { @for (term, meaning) in terms { dt { (term) } dd { (meaning) } "\n" } }
        },
        Block::Claims(groups) => claims::table(groups),
        Block::Tree(branches) => tree::tree(branches),
        Block::Folded { id, summary, blocks: inner } => html! {
            details.point {
                summary { (summary) }
                // Following a link to an element inside of the details opens them.
                div id=[id.as_ref()] { "\n" (blocks(inner, Level::Section, drawn)) }
            }
        },
    }
}

fn card(tone: Tone, lines: &[Text]) -> Markup {
    let role = (tone == Tone::Bad).then_some("alert");
    let class = class(tone).map_or_else(|| "card".to_owned(), |class| format!("card {class}"));
    html! {
        div class=(class) role=[role] {
            @for (number, line) in lines.iter().filter(|line| !line.is_empty()).enumerate() {
                p {
                    @if let Some(sign) = sign(tone).filter(|_| number == 0) {
                        span.sign aria-hidden="true" { (sign) }
                    }
                    (line)
                }
            }
        }
    }
}

pub(super) fn class(tone: Tone) -> Option<&'static str> {
    match tone {
        Tone::Plain => None,
        Tone::Good => Some("good"),
        Tone::Warning => Some("warn"),
        Tone::Bad => Some("bad"),
    }
}

/// Returns the sign that stands beside a coloured text, so that no reader depends on its colour.
pub(super) fn sign(tone: Tone) -> Option<&'static str> {
    match tone {
        Tone::Plain => None,
        Tone::Good => Some("✓"),
        Tone::Warning => Some("!"),
        Tone::Bad => Some("✗"),
    }
}

/// Renders figures, and adds their drawings to `drawn`. The number of a figure is its position in
/// `drawn`, from 1.
fn figures(all: &[Figure], drawn: &mut Vec<Drawn>) -> Markup {
    let mut parts = Vec::new();
    for figure in all.iter().filter(|figure| !figure.is_empty()) {
        let number = drawn.len() + 1;
        let svg = figure.graphic.svg(&format!("f{number}"));
        let title = figure.graphic.title();
        let data = figure.data_table();
        parts.push(html! {
            figure class=[figure.graphic.is_wide().then_some("wide")] id={ "figure-" (number) } {
                figcaption {
                    b { "Figure " (number) "." } " " (escape(title))
                    @if !figure.remark.trim().is_empty() {
                        " " span.remark { (escape(figure.remark.trim())) }
                    }
                }
                "\n" (PreEscaped(&svg))
                @if figure.data != Data::Elsewhere && !data.is_empty() {
                    details {
                        summary { "Data of figure " (number) }
                        (table(&data))
                    }
                }
            }
            "\n"
        });
        drawn.push(Drawn { graphic: figure.graphic.clone(), svg, csv: csv::of(&figure.graphic) });
    }
    html! { div.figures { @for part in parts { (part) } } }
}

fn table(table: &Table) -> Markup {
    let class = (table.columns.len() >= MANY_COLUMNS).then_some("points");
    let headed = table.columns.iter().any(|column| !column.name.is_empty());
    html! {
        div.wide {
            table class=[class] {
                @if !table.caption.is_empty() { caption { (escape(&table.caption)) } }
                @if headed {
                    thead {
                        tr {
                            @for (place, column) in table.columns.iter().enumerate() {
                                @if column.name.is_empty() { td {} } @else {
                                    th scope="col" class=[(table.kind(place) != Kind::Figures).then_some("text")] {
                                        (escape(&column.name))
                                    }
                                }
                            }
                        }
                        "\n"
                    }
                }
                @for group in &table.groups {
                    tbody {
                        @if let Some(title) = &group.title {
                            tr { th scope="rowgroup" colspan=(table.columns.len()) { (escape(title)) } } "\n"
                        }
                        @for row in &group.rows {
                            tr {
                                @for (place, cell) in row.iter().enumerate() {
                                    @if place == 0 { th scope="row" class=[cell_class(cell, Kind::Figures)] { (cell.shown()) } }
                                    @else { td class=[cell_class(cell, table.kind(place))] { (cell.shown()) } }
                                }
                            }
                            "\n"
                        }
                    }
                }
            }
        }
    }
}

fn cell_class(cell: &Cell, kind: Kind) -> Option<String> {
    let kind = match kind {
        Kind::Figures | Kind::Values => None,
        Kind::Words => Some("text"),
        Kind::Prose => Some("text prose"),
    };
    let long = (cell.shown().plain().chars().count() > LONG_CELL).then_some("long");
    let classes: Vec<&str> = kind.into_iter().chain(long).chain(class(cell.tone)).collect();
    (!classes.is_empty()).then(|| classes.join(" "))
}

impl Render for Text {
    fn render(&self) -> Markup {
        html! {
            @for (emphasis, text) in self.spans() {
                @match emphasis {
                    Emphasis::None => (escape(text)),
                    Emphasis::Strong => b { (escape(text)) },
                    Emphasis::Faint => { " " span.remark { (escape(text)) } },
                    Emphasis::Code => code { (escape(text)) },
                    Emphasis::File => a href=(escape(text)) { (escape(text)) },
                    Emphasis::Link => a href={ "#" (escape(text)) } { (escape(text.rsplit('-').next().unwrap_or(text))) },
                }
            }
        }
    }
}

impl Render for escape::Escaped<'_> {
    fn render_to(&self, buffer: &mut String) {
        use std::fmt::Write as _;
        // Writing to a string cannot fail.
        let _ = write!(buffer, "{self}");
    }
}

impl Drawn {
    /// Returns the name of the files for this figure, which has the given number in its page,
    /// without an extension.
    pub(crate) fn file_name(&self, number: usize) -> String {
        file_stem("figure", number, self.graphic.title())
    }

    /// Returns the figure as shapes, from which files are written. Without a width, the figure
    /// looks as in the page. With a width, it is laid out for that width.
    pub(crate) fn drawing(&self, width: Option<Width>) -> Result<Drawing, DrawingError> {
        match width {
            None => Drawing::read(&self.svg),
            Some(width) => Drawing::read(&self.graphic.svg_at("f", width)),
        }
    }
}

/// The largest number of characters in the name of a figure's or table's file, without its
/// extension.
const LONGEST_NAME: usize = 80;

/// Returns the name of a file for a figure or a table, without an extension: its kind, its number,
/// and the words of its title.
pub(super) fn file_stem(kind: &str, number: usize, title: &str) -> String {
    let letters = title.chars().map(|c| match c.to_ascii_lowercase() {
        c if c.is_ascii_alphanumeric() => c,
        _ => '-',
    });
    let words: String = letters.collect();
    let mut name = format!("{kind}-{number:02}");
    for word in words.split('-').filter(|word| !word.is_empty()) {
        // The first words of a long title identify it.
        if name.len() + word.len() > LONGEST_NAME {
            break;
        }
        name.push('-');
        name.push_str(word);
    }
    name
}

/// Returns the lines of the box that shows a failure of the run.
fn lines_of(alarm: &Alarm) -> Vec<Text> {
    vec![Text::strong(alarm.text.as_str()), alarm.more.as_str().into()]
}
