//! Plots a comparison of table designs: cost against table size with the latency of memory, and
//! Fig. 4, 5 and 6 of the paper.

use ::tables::measure::{Case, Findings, Measured, Operation};
use ::tables::{EntryLock, Model, Storage, Synchronisation, UpdateMethod};
use statistics::{Estimate, Unit};

use super::{Run, cores, cost, design, misses, rate, shape, shapes, size};
use crate::describe::distinct;
use crate::format::{estimate, figure};
use crate::page::Figure;
use crate::plot::{Axis, Line, Mark, Plot, Point, Style};
use crate::value::Spread;

/// The largest number of combinations of key and parameter sizes that have plots.
const MAX_SHAPES: usize = 4;

/// Returns all plots of a comparison of table designs for which there are enough cases.
pub(super) fn figures(run: &Run<'_>) -> Vec<Figure> {
    let findings = run.findings;
    let shapes = shapes(findings);
    let several = shapes.len() > 1;
    let mut figures = Vec::new();
    for &shape_of in shapes.iter().take(MAX_SHAPES) {
        let of_shape: Vec<&Measured> = findings
            .measured
            .iter()
            .filter(|one| shape(one) == shape_of && is_plotted(&one.case))
            .collect();
        if distinct(of_shape.iter().map(|one| one.case.layout.size())).len() < 2 {
            continue;
        }
        let place = if several { format!(", {}", shape_of) } else { String::new() };
        let draw = Drawing { findings, measured: &of_shape, place };
        figures.push(draw.cost());
        figures.push(draw.storages());
        figures.extend(draw.misses());
        figures.extend(draw.cores());
        figures.push(draw.locks());
    }
    figures
}

/// The measured cases whose keys and parameters have the same sizes. Plots are drawn from them.
struct Drawing<'a> {
    findings: &'a Findings,
    measured: &'a [&'a Measured],
    place: String,
}

/// A function that returns the value of a case that a plot shows.
type PlottedValue = fn(&Measured) -> Option<Estimate>;

impl Drawing<'_> {
    /// Returns the plot of processor time per operation, in nanoseconds, against the number of
    /// table entries. It also shows the memory latencies of the machine.
    fn cost(&self) -> Figure {
        let one_core = |case: &Case| {
            case.cores == 1
                && case.operation == Operation::Update
                && case.design.update == UpdateMethod::Pointer
                && case.design.entry_lock == EntryLock::None
        };
        let levels = self
            .findings
            .machine
            .latencies
            .iter()
            .map(|(name, latency)| {
                let seconds = latency.nanoseconds / 1e9;
                (seconds, format!("{name} {}", figure(seconds, Unit::Seconds)))
            })
            .collect();
        let axis =
            Axis::logarithmic("time of a core for an update", Unit::Seconds).with_levels(levels);
        let plot = self.plot(
            "Cost of an update against table size, one core",
            "The time that a core spends on an update, by storage and synchronisation, as tables grow. Level lines \
             are the machine's measured latencies of one dependent access.",
            axis,
            self.lines(&one_core, cost, Unit::Seconds, &|case| (design(case), hue(case), false)),
        );
        Figure::plot(
            plot,
            "Without locks, in place. Level lines: one dependent access to each memory, by a pointer chase on the same \
                     core. A design below the line of the memory that its table fills overlaps its misses; one above pays for \
                     several of them, or for none that overlap.",
        )
    }

    /// Returns the paper's Fig. 4, which compares storages and replicas on one core for different
    /// numbers of entries, with marks at the sizes that fit the caches.
    fn storages(&self) -> Figure {
        let wanted = |case: &Case| case.cores == 1 && case.design.entry_lock == EntryLock::None;
        let name = |case: &Case| {
            let read = case.operation == Operation::Read;
            let name = if read { format!("{}, read", design(case)) } else { design(case) };
            (name, hue(case), read)
        };
        let axis = Axis::linear("operations per second", Unit::PerSecond);
        let lines = self.lines(&wanted, rate, Unit::PerSecond, &name);
        let mut plot = self.plot(
            "Throughput by storage design and replicas, one core (Fig. 4 of the paper)",
            "Updates per second against table size on one core. Upright marks say how many entries the last cache holds by \
             the memory model of each storage.",
            axis,
            lines,
        );
        let mut remark = String::from(
            "Without locks. Dashed: read only, as two replicas do not update in place.",
        );
        if let (Some(cache), Some(one)) =
            (self.findings.machine.caches.last(), self.measured.first())
        {
            let model = Model::new(one.case.layout);
            let largest = self.measured.iter().map(|one| one.case.layout.size()).max().unwrap_or(0);
            for storage in Storage::ALL {
                let entries = model.entries_in_cache(storage, cache.bytes);
                if entries > 0 && entries <= largest {
                    plot.marks.push(Mark { x: entries as f64, label: storage.to_string() });
                }
            }
            remark.push_str(&format!(
                " Upright: as many entries fill the L{} of {}{} by equations 1, 3 and 5 and, for inline, by what it reserves.",
                cache.level,
                figure(cache.bytes as f64, Unit::Bytes),
                if cache.claimed.is_some() { " (measured)" } else { "" }
            ));
        }
        Figure::plot(plot, remark)
    }

    /// Returns the plot of cache misses per operation, or `None` if they were not counted.
    fn misses(&self) -> Option<Figure> {
        self.findings.machine.counters.as_ref().ok()?;
        let wanted = |case: &Case| {
            case.cores == 1
                && case.design.entry_lock == EntryLock::None
                && case.operation == Operation::Update
        };
        let lines =
            self.lines(&wanted, misses, Unit::Count, &|case| (design(case), hue(case), false));
        let plot = self.plot(
            "Misses of the last-level cache for each update, one core (Fig. 4 of the paper)",
            "Misses of the last-level cache for each update against table size.",
            Axis::linear("misses for each update", Unit::Index),
            lines,
        );
        let remark = "From the processor's counters, user space only. Lines fetched ahead may not count as misses.";
        Some(Figure::plot(plot, remark))
    }

    /// Returns the paper's Fig. 5, which compares the rates of table designs on all cores.
    fn cores(&self) -> Option<Figure> {
        let most = self.measured.iter().map(|one| one.case.cores).max().filter(|&most| most > 1)?;
        let wanted = |case: &Case| {
            case.cores == most
                && case.operation == Operation::Update
                && case.design.entry_lock == EntryLock::None
        };
        let lines = self.lines(&wanted, rate, Unit::PerSecond, &|case| {
            (design(case), hue(case), !is_sharded(case))
        });
        let plot = self.plot(
            &format!("Achievable throughput of designs on {} (Fig. 5 of the paper)", cores(most)),
            "Updates per second of all cores together against table size.",
            Axis::linear("updates per second, all cores", Unit::PerSecond),
            lines,
        );
        let remark = "Without locks. Solid: a table for each core. Dashed: one table, all cores draw from all entries, and of \
                      two updates at once one may be lost.";
        Some(Figure::plot(plot, remark))
    }

    /// Returns the paper's Fig. 6, which compares table designs with and without entry locks.
    fn locks(&self) -> Figure {
        let storages = distinct(self.measured.iter().map(|one| one.case.design.storage));
        // The plot shows the paper's best storage and ours. If either is missing, it shows the
        // first two.
        let both = [Storage::Static, Storage::Inline];
        let shown: Vec<Storage> = if both.iter().all(|storage| storages.contains(storage)) {
            both.to_vec()
        } else {
            storages.into_iter().take(2).collect()
        };
        let counts = distinct(self.measured.iter().map(|one| one.case.cores));
        let wanted = |case: &Case| {
            shown.contains(&case.design.storage)
                && case.design.synchronisation == Synchronisation::Optimistic
                && case.operation == Operation::Update
        };
        let name = |case: &Case| {
            let locked = case.design.entry_lock == EntryLock::PerEntry;
            let synced = if locked { "synced" } else { "unsynced" };
            let storage =
                shown.iter().position(|storage| *storage == case.design.storage).unwrap_or(0);
            let count = counts.iter().position(|count| *count == case.cores).unwrap_or(0);
            let name = format!("{}, {}, {synced}", case.design.storage, cores(case.cores));
            (name, storage * counts.len() + count, locked)
        };
        let lines = self.lines(&wanted, rate, Unit::PerSecond, &name);
        let plot = self.plot(
            "With and without entry locks (Fig. 6 of the paper)",
            "Updates per second against table size with a lock in each entry (dashed) and without.",
            Axis::linear("updates per second, all cores", Unit::PerSecond),
            lines,
        );
        Figure::plot(
            plot,
            "One table, optimistic readers. Synced: an action holds its entry's lock (dashed).",
        )
    }

    /// Returns lines that show `value` against the number of table entries, in the order of the
    /// cases that `wanted` selects. `name` decides to which line a case belongs: it returns the
    /// text of the line, the number of its colour, and whether it is dashed. Cases for which it
    /// returns the same form one line.
    fn lines(
        &self,
        wanted: &dyn Fn(&Case) -> bool,
        value: PlottedValue,
        unit: Unit,
        name: &dyn Fn(&Case) -> (String, usize, bool),
    ) -> Vec<Line> {
        let chosen = || self.measured.iter().filter(|one| wanted(&one.case));
        let names = distinct(chosen().map(|one| name(&one.case)));
        let line = |(text, hue, dashed): (String, usize, bool)| {
            let own = chosen().filter(|one| name(&one.case) == (text.clone(), hue, dashed));
            let mut points: Vec<Point> = own
                .filter_map(|one| {
                    let found = value(one)?;
                    let entries = one.case.layout.size();
                    Some(Point {
                        x: entries as f64,
                        y: found.mean,
                        spread: Spread::of(&found, unit),
                        tip: Some(format!(
                            "{text}, {} entries: {}",
                            size(entries),
                            estimate(&found, unit)
                        )),
                    })
                })
                .collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            let style = Style::series(hue);
            Line::new(text, points, if dashed { style.hollow() } else { style.filled() })
        };
        names.into_iter().map(line).collect()
    }

    fn plot(&self, title: &str, description: &str, y: Axis, lines: Vec<Line>) -> Plot {
        let title = format!("{title}{}", self.place);
        Plot { lines, ..Plot::new(title, description, Axis::binary("entries"), y) }
    }
}

/// Returns whether a case belongs in the plots of table designs. Update methods have a plot of
/// their own.
fn is_plotted(case: &Case) -> bool {
    case.operation == Operation::Read || case.design.update == UpdateMethod::Pointer
}

fn is_sharded(case: &Case) -> bool {
    matches!(case.design.synchronisation, Synchronisation::Sharded { .. })
}

/// Returns the number of the colour in which a case is plotted. It depends on the storage, and on
/// whether the storage is sharded or has two replicas.
fn hue(case: &Case) -> usize {
    let storage =
        Storage::ALL.iter().position(|storage| *storage == case.design.storage).unwrap_or(0);
    storage
        + match case.design.synchronisation {
            Synchronisation::Optimistic => 0,
            Synchronisation::Sharded { .. } => 4,
            Synchronisation::DoubleBuffer { .. } => 8,
        }
}
