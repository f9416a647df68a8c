//! Reports how the bounds of a network change while one of its quantities varies: a table,
//! `result.json`, `sweep.csv`, and a page with plots.

use calculus::network::{Analysis, Assessed, Settings, Unit, describe};
use calculus::{Extended, Rational};
use provenance::Provenance;
use serde_json::{Value, json};

use super::json::{number, observed};
use super::table::{conventions_of, figure_in};
use super::{in_unit, scaled};
use crate::csv::{Cell as CsvCell, Text};
use crate::format::{capital, plural, printable};
use crate::json::result;
use crate::page::{Block, Cell, Column, Figure, Note, Page, Table, Tone};
use crate::plot::{self, Axis, Line, Plot, Point, Style};
use crate::terminal::{self, Grid, Layout, Paint};

/// The JSON schema of the output of [`Sweep::to_json`].
pub const SWEEP_SCHEMA: &str = include_str!("../../schemas/bounds-sweep.v1.schema.json");

/// The largest number of flows that a plot shows.
const MAX_DRAWN: usize = 8;

/// The bounds of a network for several values of one of its quantities.
#[derive(Debug)]
pub struct Sweep<'a> {
    /// The name of the network, which may be empty.
    pub network: &'a str,
    /// The name of the quantity that varies, such as `video.rate`.
    pub place: &'a str,
    /// The unit of the quantity's values (empty for the default unit of the network file).
    pub unit: &'a str,
    /// The analyses with which bounds were computed.
    pub analyses: &'a [Analysis],
    /// The conventions that all analyses follow.
    pub settings: &'a Settings,
    /// A description of the orders in which servers serve flows.
    pub orders: &'a str,
    /// The names of the flows whose bounds were requested.
    pub flows: &'a [String],
    /// The bounds for each value of the quantity. There is at least one.
    pub points: &'a [SweepPoint],
    /// The unit in which the report shows times.
    pub time_unit: Unit,
    /// The unit in which the report shows amounts of data.
    pub data_unit: Unit,
}

/// The bounds of a network for one value of the quantity that varies.
#[derive(Debug)]
pub struct SweepPoint {
    /// The value of the quantity, in the unit of the sweep.
    pub value: Rational,
    /// The bounds of each flow: one element per flow, which has one bound per analysis.
    pub flows: Vec<Vec<Assessed>>,
    /// Sentences about flows without a finite bound.
    pub unbounded: Vec<String>,
    /// Sentences about bounds that a simulated run exceeded.
    pub contradictions: Vec<String>,
}

/// The kind of bound that a plot shows.
#[derive(Clone, Copy)]
enum What {
    Delay,
    Backlog,
}

impl What {
    fn bound(self, assessed: &Assessed) -> &Extended {
        match self {
            Self::Delay => &assessed.bound.delay,
            Self::Backlog => &assessed.bound.backlog,
        }
    }

    fn run(self, assessed: &Assessed) -> Option<&Rational> {
        let run = assessed.run.as_ref()?;
        Some(match self {
            Self::Delay => &run.delay,
            Self::Backlog => &run.backlog,
        })
    }
}

impl Sweep<'_> {
    /// Returns the delay bounds as a text table with a row for each value of the quantity and a
    /// column for each flow. The text ends with a newline.
    #[must_use]
    pub fn table(&self, layout: Layout) -> String {
        let mut out = layout.paragraph("", &self.title(), Paint::Strong);
        out.push_str(&layout.paragraph(
            "",
            &conventions_of(self.orders, self.analyses, self.settings),
            Paint::Plain,
        ));
        let unit = &self.time_unit;
        out.push_str(&layout.heading(&format!("Delay bounds in {}", unit.name)));
        let mut columns = vec![terminal::Column::right(self.axis()).indent(2)];
        let names = self.columns();
        columns.extend(names.iter().enumerate().map(|(number, (_, _, name))| {
            let rank = u8::try_from(number).unwrap_or(u8::MAX);
            terminal::Column::right(printable(name)).rank(rank)
        }));
        let mut grid = Grid::new(columns);
        for point in self.points {
            let mut row = vec![terminal::Cell::new(describe::number(&point.value))];
            row.extend(names.iter().map(|(flow, analysis, _)| {
                let Some(assessed) = point.flows.get(*flow).and_then(|row| row.get(*analysis))
                else {
                    return terminal::Cell::new("");
                };
                let text = figure_in(&assessed.bound.delay, unit, describe::Round::Up);
                let paint =
                    if assessed.contradiction().is_some() { Paint::Bad } else { Paint::Plain };
                terminal::Cell::painted(text, paint)
            }));
            grid.row(row);
        }
        out.push_str(&grid.render(layout));
        out.push('\n');
        let rest = "Bounds are rounded up. --csv, --json and --output have backlogs, runs and columns that do not \
                    fit here.";
        out.push_str(&layout.paragraph("", rest, Paint::Faint));
        let notes = self.notes();
        if !notes.is_empty() {
            out.push_str(&layout.heading("Notes"));
            for note in notes {
                out.push_str(&layout.paragraph("  - ", &note.text, note.tone.into()));
            }
        }
        out
    }

    /// Returns the bounds as CSV in seconds and bits, with a row for each value of the quantity,
    /// flow and analysis. The value is in its own unit. The cell of an infinite bound is empty.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut out = format!(
            "{},flow,analysis,by,delay_s,run_delay_s,backlog_bits,run_backlog_bits\n",
            Text(&self.axis())
        );
        for point in self.points {
            let up = |value: &Extended| CsvCell(value.finite().map(Rational::to_f64_up));
            let down = |value: Option<&Rational>| CsvCell(value.map(Rational::to_f64_down));
            for (name, row) in self.flows.iter().zip(&point.flows) {
                for (assessed, asked) in row.iter().zip(self.analyses) {
                    out.push_str(&format!(
                        "{},{},{},{},{},{},{},{}\n",
                        CsvCell(Some(point.value.to_f64())),
                        Text(name),
                        asked.name(),
                        assessed.bound.delay_by.analysis.name(),
                        up(&assessed.bound.delay),
                        down(What::Delay.run(assessed)),
                        up(&assessed.bound.backlog),
                        down(What::Backlog.run(assessed)),
                    ));
                }
            }
        }
        out
    }

    /// Returns the bounds as JSON. Every number appears exactly, as text, and as a double in
    /// seconds and bits; bounds are rounded up, and values of simulated runs are rounded down.
    #[must_use]
    pub fn to_json(&self, provenance: &Provenance) -> String {
        let point = |point: &SweepPoint| {
            let flows = self.flows.iter().zip(&point.flows).map(|(name, row)| {
                let bounds = row.iter().zip(self.analyses).map(|(assessed, asked)| {
                    json!({
                        "analysis": asked.name(),
                        "by": assessed.bound.delay_by.analysis.name(),
                        "delay": number(&assessed.bound.delay),
                        "backlog": number(&assessed.bound.backlog),
                    })
                });
                let run = row.first().and_then(|first| first.run.as_ref());
                json!({
                    "name": name,
                    "run": run.map(|run| json!({"delay": observed(&run.delay), "backlog": observed(&run.backlog)})),
                    "bounds": bounds.collect::<Vec<Value>>(),
                })
            });
            json!({
                "value": {"exact": point.value.to_string(), "value": point.value.to_f64()},
                "flows": flows.collect::<Vec<Value>>(),
                "unbounded": point.unbounded,
                "contradictions": point.contradictions,
            })
        };
        let value = json!({
            "schema": "planimeter-bounds-sweep.v1",
            "network": self.network,
            "varies": self.place,
            "unit": self.unit,
            "units": {"time": "s", "data": "b"},
            "conventions": conventions_of(self.orders, self.analyses, self.settings),
            "points": self.points.iter().map(point).collect::<Vec<Value>>(),
        });
        result(provenance, value)
    }

    /// Returns the report page of the sweep.
    #[must_use]
    pub fn page(&self, provenance: &Provenance) -> Page {
        let mut page = Page::of_run(provenance, "delay and backlog bounds", self.title());
        page.fact(plural(self.points.len() as u64, "value", "values"));
        let conventions = conventions_of(self.orders, self.analyses, self.settings);
        page.lead(Block::Paragraph(capital(&conventions).into()));
        page.lead(Block::Notes(self.notes()));
        let figures = vec![self.figure(What::Delay), self.figure(What::Backlog)];
        let mut blocks = vec![Block::Figures(figures)];
        if self.flows.len() > MAX_DRAWN {
            let text = format!(
                "The first {MAX_DRAWN} of {} flows; name others with --flow. sweep.csv has all.",
                self.flows.len()
            );
            blocks.push(Block::Remark(text.into()));
        }
        page.section("bounds", "Bounds", blocks);
        let rows = Block::Folded {
            id: None,
            summary: "The bounds at each value".into(),
            blocks: vec![self.page_table()],
        };
        page.section("values", "At each value", vec![rows]);
        let files = [
            ("result.json", "everything here, exactly, by a versioned schema"),
            ("sweep.csv", "a row for each value, flow and analysis, in seconds and bits"),
        ];
        page.method(Vec::new(), Some(&provenance.host), super::page::DEFINITIONS, files);
        page
    }

    /// Returns remarks about values of the quantity for which a flow has no bound, or a simulated
    /// run exceeded a bound.
    fn notes(&self) -> Vec<Note> {
        let bad = |text: String| Note { tone: Tone::Bad, text: printable(&text) };
        let contradictions = self.ranges(|point| &point.contradictions).into_iter().map(bad);
        let unbounded = self.ranges(|point| &point.unbounded).into_iter().map(Note::warning);
        contradictions.chain(unbounded).collect()
    }

    /// Merges the sentences that `of` returns for all points. Equal sentences become one, which
    /// starts with the first and the last value of the quantity at which it occurs.
    fn ranges(&self, of: impl Fn(&SweepPoint) -> &Vec<String>) -> Vec<String> {
        let mut found: Vec<(&str, &Rational, &Rational)> = Vec::new();
        for point in self.points {
            for text in of(point) {
                match found.iter_mut().find(|(known, ..)| known == text) {
                    Some((_, _, to)) => *to = &point.value,
                    None => found.push((text, &point.value, &point.value)),
                }
            }
        }
        let sentence = |(text, from, to): (&str, &Rational, &Rational)| {
            let (from, to) = (self.with_unit(from), self.with_unit(to));
            let at = if from == to { format!("At {from}") } else { format!("From {from} to {to}") };
            printable(&format!("{at}: {text}"))
        };
        found.into_iter().map(sentence).collect()
    }

    fn with_unit(&self, value: &Rational) -> String {
        format!("{} {}", describe::number(value), self.unit).trim_end().to_owned()
    }

    fn title(&self) -> String {
        let name = if self.network.is_empty() { "a network" } else { self.network };
        let ends = [self.points.first(), self.points.last()]
            .map(|point| point.map_or_else(String::new, |point| self.with_unit(&point.value)));
        printable(&format!("Bounds of {name}, {} from {} to {}", self.place, ends[0], ends[1]))
    }

    /// Returns the name of the quantity that varies, with its unit.
    fn axis(&self) -> String {
        match self.unit {
            "" => self.place.to_owned(),
            unit => format!("{} in {unit}", self.place),
        }
    }

    /// Returns the columns of the table: the index of the flow, the index of the analysis, and the
    /// title of each.
    fn columns(&self) -> Vec<(usize, usize, String)> {
        let mut columns = Vec::new();
        for (flow, name) in self.flows.iter().enumerate() {
            for (index, analysis) in self.analyses.iter().enumerate() {
                let name = match self.analyses.len() {
                    1 => name.clone(),
                    _ => format!("{name}, {analysis}"),
                };
                columns.push((flow, index, name));
            }
        }
        columns
    }

    /// Returns the table of all points for the page.
    fn page_table(&self) -> Block {
        let (time, data) = (&self.time_unit, &self.data_unit);
        let mut table = Table::new(
            "",
            [
                Column::figures(self.axis()),
                Column::words("flow"),
                Column::words("analysis"),
                Column::figures(format!("delay, {}", time.name)),
                Column::figures(format!("in a run, {}", time.name)),
                Column::figures(format!("backlog, {}", data.name)),
                Column::figures(format!("in a run, {}", data.name)),
            ],
        );
        let run = |value: Option<&Rational>, unit: &Unit| match value {
            Some(value) => figure_in(&Extended::from(value), unit, describe::Round::Down),
            None => "–".to_owned(),
        };
        let rows = self.points.iter().flat_map(|point| {
            let flows = self.flows.iter().zip(&point.flows);
            flows.flat_map(move |(name, row)| {
                row.iter()
                    .zip(self.analyses)
                    .map(move |(assessed, asked)| (point, name, assessed, asked))
            })
        });
        for (point, name, assessed, asked) in rows.take(super::table::MAX_ROWS) {
            let tone = if assessed.contradiction().is_some() { Tone::Bad } else { Tone::Plain };
            table.row([
                Cell::from(describe::number(&point.value)),
                printable(name).into(),
                asked.to_string().into(),
                Cell::toned(tone, figure_in(&assessed.bound.delay, time, describe::Round::Up)),
                run(What::Delay.run(assessed), time).into(),
                figure_in(&assessed.bound.backlog, data, describe::Round::Up).into(),
                run(What::Backlog.run(assessed), data).into(),
            ]);
        }
        Block::Table(table)
    }

    /// Returns the plot of the delays or backlogs against the varied parameter.
    fn figure(&self, what: What) -> Figure {
        let (name, unit) = match what {
            What::Delay => ("delay", &self.time_unit),
            What::Backlog => ("backlog", &self.data_unit),
        };
        let mut lines = Vec::new();
        let columns = self.columns();
        let drawn = columns.iter().filter(|(flow, ..)| *flow < MAX_DRAWN).enumerate();
        for (number, (flow, analysis, title)) in drawn {
            let cells = || {
                self.points.iter().filter_map(|point| {
                    Some((point.value.to_f64(), point.flows.get(*flow)?.get(*analysis)?))
                })
            };
            // A point without a bound interrupts the line.
            let bounds = cells().map(|(x, assessed)| {
                let y = scaled(what.bound(assessed), unit);
                Point::new(x, y.finite().map_or(f64::NAN, Rational::to_f64_up))
            });
            lines.push(Line::new(title.clone(), bounds.collect(), Style::series(number).filled()));
            if *analysis > 0 {
                continue;
            }
            let runs: Vec<Point> = cells()
                .filter_map(|(x, assessed)| {
                    let run = in_unit(what.run(assessed)?, unit);
                    Some(Point::new(x, run.to_f64_down()))
                })
                .collect();
            if !runs.is_empty() {
                let title = format!("{title}, in a run");
                lines.push(Line::new(title, runs, Style::series(number).hollow()));
            }
        }
        // Near an overload, a delay grows without limit. On a linear axis, all other delays would
        // be near zero.
        let label = format!("{name} in {}", unit.name);
        let values = lines.iter().flat_map(|line| line.points.iter().map(|point| point.y));
        let y = Axis::fitting(label, plot::Unit::Index, values.filter(|y| y.is_finite()));
        let plot = Plot::new(
            format!("Bounds of {name}"),
            format!(
                "Bounds of {name} for each flow while {} varies. Dashed, below: the worst run that was found. A line ends \
                 where there is no bound.",
                self.place
            ),
            Axis { from_zero: false, ..Axis::linear(self.axis(), plot::Unit::Index) },
            y,
        );
        let remark = "Solid: bounds, which nothing exceeds. Dashed: the worst run that was found; the worst case lies between.";
        Figure::plot(Plot { lines, ..plot }, remark).with_data(crate::page::Data::Elsewhere)
    }
}
