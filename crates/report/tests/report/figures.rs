//! Tests of the files of figures and tables: glyphs in PDF files, widths for papers, and LaTeX.

use std::fs;
use std::path::Path;

use report::RunDirectory;
use report::directory::Papers;
use report::page::{Block, Figure, Page};
use report::plot::{Axis, HeatCell, HeatMap, Line, Mark, Plot, Point, Style, Unit};

use crate::{letters, support};

#[test]
fn pdf_files_have_a_glyph_for_each_letter_of_every_figure() {
    let all = [
        ("sweep", support::sweep()),
        ("figure-7", support::figure_7()),
        ("hostile", support::hostile()),
    ];
    for (name, result) in all {
        let root = tempfile::tempdir().expect("a temporary directory");
        let directory = RunDirectory::create(Some(root.path())).expect("made");
        directory.write(&result).expect("written");
        assert!(letters::check(root.path()) > 0, "{name} has figures");
    }
}

/// Checks that all texts of a drawing lie inside it, measured in the font of its PDF file.
fn check_that_texts_stay_inside(svg: &Path, width: f64) {
    let text = fs::read_to_string(svg).expect("a drawing");
    let name = svg.display();
    let file = include_bytes!("../../fonts/DejaVuSansCondensed.ttf");
    let face = ttf_parser::Face::parse(file, 0).expect("a font");
    let side = |tag: &str, name: &str| -> Option<f64> {
        let (value, _) = tag.split_once(&format!(" {name}=\""))?.1.split_once('"')?;
        value.parse().ok()
    };
    let head = text.split('>').next().expect("a tag");
    let height = side(head, "height").expect("a height");
    assert!((side(head, "width").expect("a width") - width).abs() < 0.01, "{name}");
    for element in text.split("<text").skip(1) {
        let (tag, rest) = element.split_once('>').expect("the end of its attributes");
        let shown = letters::plain(rest.split("</text>").next().expect("its end"));
        let size = side(tag, "font-size").expect("a size");
        assert!(size >= 12.0, "{name}: {shown} has a size of {size} pixels");
        let glyphs = shown.chars().filter_map(|letter| face.glyph_index(letter));
        let units: f64 =
            glyphs.filter_map(|glyph| face.glyph_hor_advance(glyph)).map(f64::from).sum();
        let length = units * size / f64::from(face.units_per_em());
        let before = match () {
            () if tag.contains("\"middle\"") => length / 2.0,
            () if tag.contains("\"end\"") => length,
            () => 0.0,
        };
        let (from, to, most) = match tag.split_once("translate(") {
            None => {
                let x = side(tag, "x").expect("a place");
                (x - before, x - before + length, width)
            }
            Some((_, place)) => {
                let (_, y) =
                    place.split_once(')').expect("its end").0.split_once(' ').expect("two");
                let y: f64 = y.parse().expect("a number");
                (y + before - length, y + before, height)
            }
        };
        assert!(
            from >= -1.0 && to <= most + 1.0,
            "{name}: {shown:?} from {from:.1} to {to:.1} of {most}"
        );
    }
}

/// Returns a page with the longest names of lines, marks, places, rows and columns.
fn long_names() -> Page {
    let points = || (1..4).map(|n| Point::new(f64::from(n), f64::from(n))).collect();
    let line = |n: usize| {
        Line::new(
            format!("a long name of the line with number {n}"),
            points(),
            Style::series(n).filled(),
        )
    };
    let y = Axis::linear(
        "share of the messages that no answer came to within the measure window",
        Unit::PerSecond,
    )
    .with_levels(vec![(2.0, "what a controller of this kind is said to do".to_owned())]);
    let names: Vec<String> =
        (1..4).map(|n| format!("place {n}, 16 switches, 500/s each")).collect();
    let plot = Plot {
        lines: (0..3).map(line).collect(),
        ..Plot::new("Named", "", Axis::named("where", names), y.clone())
    };
    let label = "the largest rate without loss, by search: 12.3 k/s".to_owned();
    let marked = Plot {
        lines: (0..2).map(line).collect(),
        marks: vec![Mark { x: 2.0, label }],
        ..Plot::new("Marked", "", Axis::linear("offered", Unit::PerSecond), y)
    };
    let cell = |n: usize| {
        Some(HeatCell {
            value: n as f64,
            text: format!("{n}.25 %"),
            tip: String::new(),
            set_off: n == 0,
        })
    };
    let map = |columns: usize| HeatMap {
        title: format!("Map of {columns}"),
        description: String::new(),
        row_title: "match".to_owned(),
        rows: vec!["five-tuple and the ports of both".to_owned(), "port".to_owned()],
        column_title: "action".to_owned(),
        columns: (0..columns).map(|n| format!("set-field-{n}")).collect(),
        value_title: "mean error".to_owned(),
        unit: Unit::Fraction,
        set_off: "cells that the model was derived from".to_owned(),
        cells: (0..2 * columns).map(cell).collect(),
    };
    let mut page = Page::new("Planimeter", "Long names");
    let maps = [3, 9, 30].map(|columns| Figure::heat_map(map(columns), ""));
    let plots = [plot, marked].map(|plot| Figure::plot(plot, ""));
    page.section("all", "All", vec![Block::Figures(plots.into_iter().chain(maps).collect())]);
    page
}

/// Letters have the same size in a narrow figure as in a wide one, and all of them are in it.
#[test]
fn figures_are_laid_out_for_the_width_that_a_paper_has() {
    for (length, pixels) in [("88mm", 332.598), ("180mm", 680.315)] {
        for page in [long_names(), report::html::page(&support::figure_7(), "")] {
            let root = tempfile::tempdir().expect("a temporary directory");
            let width = Some(length.parse().expect("a length"));
            let papers = Papers { figure_width: width, latex: false };
            let directory =
                RunDirectory::create(Some(root.path())).expect("made").for_papers(papers);
            directory.write_page(&page, &[]).expect("written");
            assert!(letters::check(root.path()) > 0, "every letter has its glyph");
            for svg in letters::drawings(root.path()) {
                check_that_texts_stay_inside(&svg, pixels);
            }
            let html = fs::read_to_string(root.path().join("report.html")).expect("a page");
            assert!(html.contains("viewBox=\"0 0 640 "), "the page keeps its own width");
        }
    }
}

#[test]
fn tables_are_written_for_latex_on_request() {
    for latex in [false, true] {
        let root = tempfile::tempdir().expect("a temporary directory");
        let papers = Papers { figure_width: None, latex };
        let directory = RunDirectory::create(Some(root.path())).expect("made").for_papers(papers);
        directory.write_page(&report::html::page(&support::rates(), ""), &[]).expect("written");
        let table = fs::read_to_string(root.path().join("tables/table-01-all-points.tex"));
        assert_eq!(table.is_ok(), latex);
        let Ok(text) = table else { continue };
        assert!(text.contains("\\toprule") && text.contains("$\\pm$"), "{text}");
    }
}
