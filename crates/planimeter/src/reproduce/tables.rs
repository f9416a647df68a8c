//! Measures the figures of the paper on tables that packets write: whole packets through the P4
//! program that the paper evaluates, and, for comparison, the tables alone.

mod alone;
mod evidence;
mod knee;
mod packets;
mod sizes;
mod veth;
mod whole;

use std::sync::atomic::AtomicBool;

use ::tables::{Layout, Model, Storage, cache, machine};
use report::page::Figure;
use report::plot::{Axis, Line, Plot};
use report::value::Value;
use statistics::Unit;

use self::sizes::{PAPER_CACHE, Sizes};
use self::whole::MethodSizes;
use super::section::{Beside, Measured};
use crate::environment::Environment;
use crate::failure::Failure;

fn set_up(what: &str) -> Vec<(String, String)> {
    let host = provenance::Host::read();
    vec![
        ("system".to_owned(), format!("{what}; no card and no driver is in a figure")),
        (
            "machines".to_owned(),
            format!("one: {} cores ({}), not isolated", host.cpus, host.cpu_model),
        ),
        (
            "table".to_owned(),
            "keys of 4 bytes and parameters of 4 bytes, accesses in random order".to_owned(),
        ),
    ]
}

/// Measures Table 1 and Fig. 2 of the paper on tables written by packets: the update methods, with
/// the storage `original`.
pub(super) fn update_methods(environment: &Environment<'_>) -> Result<Measured, Failure> {
    let (bytes, cache) = last_cache(environment.interrupt);
    let sizes = Sizes::of(bytes, environment.quick);
    const SMALL: usize = 1 << 14;
    /// The number of entries in quick runs of builds without optimisation. In such builds, entries
    /// take long to generate, and the figures mean nothing.
    const LEAST: usize = 1 << 12;
    let entries = match environment.quick {
        true if cfg!(debug_assertions) => MethodSizes { methods: LEAST, accesses: LEAST },
        true => MethodSizes { methods: SMALL, accesses: sizes.largest },
        false => MethodSizes { methods: sizes.beyond, accesses: sizes.beyond },
    };
    let mut measured = whole::update_methods(environment, entries)?;
    measured.set_up.splice(
        0..0,
        set_up("whole packets in memory, compiled; the table alone beside, of which a latency is that of one update"),
    );
    let packets = "700 B in Table 1 and 84 B in Fig. 2; rates of Table 1 by the wall clock";
    measured.set_up.push(("packets".to_owned(), packets.to_owned()));
    measured.set_up.push(("last cache".to_owned(), format!("{cache} (15 MiB in the paper)")));
    let MethodSizes { methods, accesses } = entries;
    let entries = format!(
        "{methods} in Table 1 and {accesses} in Fig. 2; {} are as many caches as 2^20 in the paper",
        sizes.beyond
    );
    measured.set_up.push(("entries".to_owned(), entries));
    veth::put(&mut measured, environment)?;
    Ok(with_alone(measured, alone::update_methods(environment, accesses)?))
}

/// Measures Fig. 4 to 6 of the paper on tables written by packets: reads and updates in place with
/// several table designs.
pub(super) fn designs(environment: &Environment<'_>) -> Result<Measured, Failure> {
    let (bytes, cache) = last_cache(environment.interrupt);
    let sizes = Sizes::of(bytes, environment.quick);
    let mut measured = whole::designs(environment, &sizes)?;
    measured.set_up.splice(
        0..0,
        set_up("whole packets of 84 B in memory, compiled: reads in Fig. 4, updates in place in Fig. 5 and 6"),
    );
    measured.remarks.push(
        "A single worker takes no locks: the locked figures of one core are of a worker beside an idle one, and the \
         unlocked ones of a worker alone, which writes without a lock or a version, as the paper does."
            .to_owned(),
    );
    let largest = sizes.largest;
    let counts = "1 and 2 cores, any of which an entry's packets may come to";
    measured.set_up.push(("last cache".to_owned(), format!("{cache} (15 MiB in the paper)")));
    let caches = machine::caches();
    if let Some(second) = caches.iter().find(|cache| cache.level == 2) {
        measured.remarks.push(format!(
            "A quarter of the last cache is {} KiB of dynamic and {:.0} KiB of static storage; the second cache has {} KiB. If \
             only the static table fits that one, it gains also where both fit the last cache.",
            bytes >> 12,
            sizes::caches_of(Storage::Static, sizes.quarter, bytes) * bytes as f64 / 1024.0,
            second.bytes >> 10
        ));
    }
    let Sizes { quarter, two_thirds, .. } = sizes;
    let sizes_and_cores = format!(
        "a quarter, two thirds and 2.67 caches are {quarter}, {two_thirds} and {largest} entries of dynamic storage (2^17 and \
         2^19 are two thirds and 2.67 in the paper); {counts}"
    );
    measured.set_up.push(("sizes and cores".to_owned(), sizes_and_cores));
    Ok(with_alone(measured, alone::designs(environment, &sizes)?))
}

/// Returns the size of the last-level cache, from which table sizes are derived, with a text that
/// says how it was found.
///
/// The size is measured by latency. If that finds no cache, the size in the paper is assumed,
/// because the size that a processor reports may be many times what a virtual machine can use.
fn last_cache(interrupt: &AtomicBool) -> (usize, String) {
    let caches = machine::caches();
    let measured = cache::measure(&caches, interrupt);
    let caches = cache::with_measured(caches, measured);
    match (measured, caches.last()) {
        (Some(found), Some(last)) => (found.bytes(), last.to_string()),
        (Some(found), None) => {
            (found.bytes(), format!("{} KiB (measured by latency)", found.bytes() >> 10))
        }
        (None, _) => (
            PAPER_CACHE,
            "not found by latency, so sizes are those of the paper's 15 MiB".to_owned(),
        ),
    }
}

/// Adds the figures of the tables alone to those of whole packets.
fn with_alone(mut packets: Measured, alone: Measured) -> Measured {
    let name = "the table alone".to_owned();
    packets.beside.push(Beside { name, values: alone.values });
    packets.evidence.extend(alone.evidence);
    packets.figures.extend(alone.figures);
    packets.links.extend(alone.links);
    packets
}

fn figure(title: &str, what: &str, lines: Vec<Line>) -> Figure {
    let y = Axis::logarithmic(format!("{what}, all cores"), Unit::PerSecond);
    let title = format!("{title} against entries");
    Figure::plot(Plot::of_values(title, Axis::binary("entries"), y, lines), "")
}

/// Computes the values of Equations 1 to 5 of the paper on tables written by packets, with the
/// models of `planimeter tables --predict`.
pub(super) fn equations() -> Result<Measured, Failure> {
    let layout = |bytes: usize| Layout::new(32, bytes, 1).map_err(Failure::run);
    let mut measured = Measured {
        remarks: vec![
            "Computed by the models of planimeter tables --predict, not measured.".to_owned(),
        ],
        ..Measured::default()
    };
    let model = Model::new(layout(9)?);
    for (key, storage) in [
        ("original", Storage::Original),
        ("dynamic", Storage::Dynamic),
        ("static", Storage::Static),
    ] {
        let entries = model.entries_in_cache(storage, PAPER_CACHE);
        measured.put(key, Some(Value::new(entries as f64, Unit::Count)));
        measured.exact(key, entries as f64);
    }
    for bytes in [12, 28, 44, 60] {
        let fill = Model::new(layout(bytes)?).break_even_fill();
        let key = format!("fill.{bytes}");
        measured.exact(&key, fill.share());
        measured.put(key, Some(Value::new(fill.share(), Unit::Fraction)));
    }
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::super::published::papers;
    use super::*;

    #[test]
    fn the_equations_yield_the_values_in_the_paper() {
        let measured = equations().expect("computed");
        let papers = papers().expect("the files");
        let exhibits = papers.iter().flat_map(|paper| &paper.exhibits);
        let exhibit = exhibits.into_iter().find(|one| one.id == "tables-equations").expect("there");
        for one in &exhibit.values {
            let here = measured.values.get(&one.key);
            assert_eq!(here, Some(&one.value().expect("a number").into()), "{}", one.key);
        }
        assert_eq!(measured.values.len(), exhibit.values.len());
    }
}
