//! `planimeter reproduce`: reproduces figures and tables of three papers, with published values
//! beside measured ones.
//!
//! The published values are data files (`published/` in this crate), each with its source. The
//! measured values come from an [`Experiment`], which may serve several figures. [`section`]
//! combines the two.

mod claims;
mod controller;
mod device;
mod files;
mod published;
mod resume;
mod section;
mod tables;
mod verdict;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ::tables::machine;
use clap::Parser;
use provenance::{Provenance, Share};
use report::page::claims::{self as page_claims, ClaimGroup};
use report::page::document::{Document, markdown};
use report::{RunDirectory, shares};
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::failure::{Failure, INTERRUPTED};
use crate::interrupt;
use crate::invocation;
use crate::output::{self, ForPapers};
use crate::rank_group::{Items, RankGroup};
pub(crate) use controller::Yours;
use published::{Exhibit, Experiment, Paper};
use resume::{Options, Records};
use section::Measured;

const ABOUT: &str =
    "Reproduce figures and tables of three papers, with published beside measured values";

const LONG_ABOUT: &str = "\
Reproduce figures and tables of three papers, with published beside measured values.

The papers are on P4Runtime controllers (P4RCProbe), on tables that packets write, and on models of programmable devices. The \
built-in parts are measured on this host: the reference controller, the tables, and a P4 pipeline in memory. Beside each figure, \
the report says how the set-up differs from the paper's, and which command measures your own controller, program or device. For \
a value that cannot be measured here, it says why.";

const EXAMPLES: &str = "\
Examples:
  A list of all figures and tables, and how long each takes:
    planimeter reproduce --list

  The memory and cache models, which take no time:
    planimeter reproduce tables-equations

  Everything in short runs, and one figure with the paper's durations and repetitions:
    planimeter reproduce all --quick
    planimeter reproduce controller-fig-7

Exit status: 0 everything was measured; 1 something was not; 2 there is no such figure; 130 interrupted.";

/// The file of the run directory with the claims and their verdicts as Markdown.
const CLAIMS: &str = "claims.md";

/// The arguments of `planimeter reproduce`.
#[derive(Debug, Parser)]
#[command(name = "reproduce", about = ABOUT, long_about = LONG_ABOUT, after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The figures and tables by name, all of a paper (controller, tables, device), or all
    #[arg(value_name = "LIST", value_delimiter = ',')]
    figures: Vec<String>,
    /// List all figures and tables and about how long they take, and exit
    #[arg(long)]
    list: bool,
    /// Measure fewer points in short trials with three repetitions, for a first look
    #[arg(long)]
    quick: bool,
    /// The run directory, new or empty [runs/<time>-reproduce]
    #[arg(long, short, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
    /// Continue the interrupted run in this directory, without repeating what is complete
    ///
    /// Continue the interrupted run in this directory. Measurements that are complete there are not
    /// repeated; one that was interrupted starts again. The build, the host and --quick must be
    /// those of the interrupted run, and the figures may differ.
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "output")]
    resume: Option<PathBuf>,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    yours: Yours,
    #[command(flatten)]
    papers: ForPapers,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let papers = published::papers().map_err(Failure::run)?;
    if arguments.list {
        print!("{}", list(&papers));
        return Ok(ExitCode::SUCCESS);
    }
    let chosen = choose(&papers, &arguments.figures)?;
    arguments.yours.check()?;
    let mut ranks = RankGroup::join()?;
    let interrupt = interrupt::flag();
    let directory = || run_directory(arguments);
    let directory = ranks.leads().then(directory).transpose()?;
    // The files of another rank's measurement are written here and then sent to the first rank.
    let scratch = tempfile::tempdir().map_err(Failure::run)?;
    let place = directory.as_ref().map_or(scratch.path(), RunDirectory::path).to_owned();
    let options = Options { is_quick: arguments.quick, controller: arguments.yours.words() };
    let records = match &directory {
        Some(directory) if arguments.resume.is_some() => Records::of_run(directory, options)?,
        _ => Records::new(&place, options),
    };
    if ranks.leads() && arguments.resume.is_none() {
        records.begin().map_err(Failure::run)?;
    }
    let environment = Environment {
        directory: &place,
        interrupt: &interrupt,
        quick: arguments.quick,
        quiet: arguments.quiet || !ranks.leads(),
        resumes: arguments.resume.is_some(),
        yours: Some(&arguments.yours).filter(|yours| !yours.protocols().is_empty()),
        papers: arguments.papers.into(),
    };
    let started = invocation::start();
    let found = measure_all(&chosen, &environment, &records, &mut ranks)?;
    let (Some((results, shares)), Some(directory)) = (found, directory) else {
        return ranks.leave_helper(&interrupt);
    };
    let provenance = Provenance { shares, ..started.provenance() };
    let document = document(&chosen, &environment, results, provenance);
    let interrupted = environment.interrupted();
    let status = match document.partial {
        None => 0,
        Some(_) if interrupted => INTERRUPTED,
        Some(_) => 1,
    };
    let claims = markdown::claims(&document);
    let files = [(CLAIMS, claims.as_str())];
    output::leave_document_and_files(&directory, &document, &files, false, interrupted)?;
    if interrupted {
        eprintln!("{}", how_to_continue(arguments, &directory));
    }
    print!("{}", shares::text(&document.provenance, output::layout()));
    ranks.leave(status)
}

/// Creates the run directory, or opens that of the interrupted run which `--resume` names.
fn run_directory(arguments: &Arguments) -> Result<RunDirectory, Failure> {
    match &arguments.resume {
        None => output::directory(arguments.output.as_deref(), "reproduce", arguments.papers),
        Some(path) => {
            let directory = RunDirectory::reopen(path).map_err(Failure::input)?;
            Ok(directory.for_papers(arguments.papers.into()))
        }
    }
}

/// Returns the command that continues an interrupted run.
fn how_to_continue(arguments: &Arguments, directory: &RunDirectory) -> String {
    let figures = arguments.figures.join(",");
    let quick = if arguments.quick { "--quick" } else { "" }.to_owned();
    let options = [quick, arguments.yours.words(), arguments.papers.words()];
    let options: String =
        options.iter().filter(|words| !words.is_empty()).map(|words| format!(" {words}")).collect();
    let command =
        format!("planimeter reproduce {figures}{options} --resume {}", directory.path().display());
    format!("interrupted; continue with: {}", invocation::typed(&command))
}

/// Returns the exhibits (figures and tables of the papers) that `wanted` names, in the order of the
/// papers.
fn choose<'p>(
    papers: &'p [Paper],
    wanted: &[String],
) -> Result<Vec<(&'p Paper, &'p Exhibit)>, Failure> {
    let all = || papers.iter().flat_map(|paper| paper.exhibits.iter().map(move |one| (paper, one)));
    let is = |name: &str, exhibit: &Exhibit| {
        name == "all" || name == exhibit.id || exhibit.id.split('-').next() == Some(name)
    };
    if wanted.is_empty() {
        return Err(Failure::input(
            "name figures, a paper (controller, tables, device) or `all`; `planimeter reproduce --list` has the names, and how \
             long each takes",
        ));
    }
    if let Some(unknown) = wanted.iter().find(|name| !all().any(|(_, one)| is(name, one))) {
        return Err(Failure::input(format!(
            "there is no figure `{unknown}`; `planimeter reproduce --list` names them"
        )));
    }
    Ok(all().filter(|(_, one)| wanted.iter().any(|name| is(name, one))).collect())
}

fn list(papers: &[Paper]) -> String {
    let layout = output::layout();
    let mut out = String::new();
    let how_long = |times: (Duration, Duration)| {
        format!("about {}, with --quick {}", about(times.1), about(times.0))
    };
    for paper in papers {
        out.push_str(&layout.text("", &paper.citation));
        for one in &paper.exhibits {
            let what = format!("{}: {}", one.name, one.title);
            out.push_str(&layout.text(&format!("  {:<19} ", one.id), &what));
            let time = how_long(one.experiment.about_how_long());
            out.push_str(&layout.text(&format!("  {:<19} ", ""), &time));
        }
    }
    let all = first_of_each(papers.iter().flat_map(|paper| &paper.exhibits), |one| one.experiment);
    let times = all.iter().map(|one| one.experiment.about_how_long());
    let sum =
        times.fold((Duration::ZERO, Duration::ZERO), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    out.push_str(
        &layout.text("", &format!("All of them, each measurement once: {}", how_long(sum))),
    );
    out
}

/// Formats an approximate duration: in seconds below 90 s, and otherwise in minutes.
fn about(time: Duration) -> String {
    match time.as_secs() {
        0 => "no time".to_owned(),
        seconds if seconds < 90 => format!("{seconds} s"),
        seconds => format!("{} min", (seconds + 30) / 60),
    }
}

/// Removes the elements whose key equals that of an earlier element, and returns the others in
/// order. For example, it returns one exhibit (a figure or table of a paper) for each experiment,
/// because several exhibits may need the same experiment, which runs only once.
fn first_of_each<E, K: PartialEq>(
    elements: impl IntoIterator<Item = E>,
    key: impl Fn(&E) -> K,
) -> Vec<E> {
    let mut firsts: Vec<E> = Vec::new();
    for element in elements {
        if firsts.iter().all(|first| key(first) != key(&element)) {
            firsts.push(element);
        }
    }
    firsts
}

/// The expected durations of the experiments of a run, corrected by those of the experiments that
/// are finished.
struct Pace<'e> {
    experiments: &'e [Experiment],
    is_quick: bool,
    finished: Mutex<Finished>,
}

/// The experiments that this process has finished.
#[derive(Clone, Copy, Default)]
struct Finished {
    /// The sum of their expected durations.
    expected: Duration,
    /// The sum of their actual durations.
    taken: Duration,
}

impl<'e> Pace<'e> {
    fn new(experiments: &'e [Experiment], is_quick: bool) -> Self {
        Self { experiments, is_quick, finished: Mutex::default() }
    }

    /// Returns about how long an experiment takes, before any correction.
    fn expected(&self, experiment: Experiment) -> Duration {
        match experiment.about_how_long() {
            (quick, _) if self.is_quick => quick,
            (_, full) => full,
        }
    }

    /// Records how long an experiment took. One that was interrupted, or that takes no time,
    /// corrects nothing.
    fn record(&self, experiment: Experiment, taken: Duration) {
        let expected = self.expected(experiment);
        if !expected.is_zero() {
            let mut finished = self.finished();
            finished.expected += expected;
            finished.taken += taken;
        }
    }

    /// Returns about how long the experiments from `number` on take on one machine, without those
    /// that an interrupted run has completed.
    fn rest(&self, number: usize, is_complete: impl Fn(Experiment) -> bool) -> Duration {
        let rest = self.experiments.iter().skip(number).filter(|one| !is_complete(**one));
        let rest: Duration = rest.map(|one| self.expected(*one)).sum();
        let Finished { expected, taken } = *self.finished();
        match expected {
            Duration::ZERO => rest,
            expected => rest.mul_f64(taken.as_secs_f64() / expected.as_secs_f64()),
        }
    }

    fn finished(&self) -> MutexGuard<'_, Finished> {
        self.finished.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The experiments of a run, each with its result. A result is an error message if the experiment
/// failed, and `None` if the experiment was not started before an interrupt, or if its rank was
/// lost.
type Results = Vec<(Experiment, Option<Result<Measured, String>>)>;

/// The result of an experiment and the files that it wrote, as one rank (process) sends them to the
/// first rank.
#[derive(Serialize, Deserialize)]
struct Brought {
    found: Result<Measured, String>,
    files: Vec<files::File>,
}

/// Runs each requested experiment once, at one of the ranks (processes). Returns the results and
/// the work of each rank at the first rank, and `None` at all other ranks.
fn measure_all(
    chosen: &[(&Paper, &Exhibit)],
    environment: &Environment<'_>,
    records: &Records,
    ranks: &mut RankGroup,
) -> Result<Option<(Results, Vec<Share>)>, Failure> {
    let firsts = first_of_each(chosen, |(_, exhibit)| exhibit.experiment);
    let name = |(paper, exhibit): &&(&Paper, &Exhibit)| {
        format!("{} of {}: {}", exhibit.name, paper.short, exhibit.title)
    };
    let names: Vec<String> = firsts.iter().map(name).collect();
    let experiments: Vec<Experiment> =
        firsts.iter().map(|(_, exhibit)| exhibit.experiment).collect();
    let brings = !ranks.leads();
    let items = Items {
        names: names.clone(),
        basis: format!("{experiments:?} {}", environment.quick),
        cores: Some(machine::cores().map_err(Failure::run)?),
    };
    let pace = Pace::new(&experiments, environment.quick);
    let recorded = |experiment| records.read(experiment).filter(|_| environment.resumes);
    let each = |number: usize| {
        let experiment = experiments.get(number).copied()?;
        if let Some(measured) = recorded(experiment) {
            return Some(Brought { found: Ok(measured), files: Vec::new() });
        }
        if let Some(name) = names.get(number).filter(|_| !environment.quiet) {
            let rest = about(pace.rest(number, |one| recorded(one).is_some()));
            eprintln!("[{} of {}, about {rest} to go] {name}", number + 1, experiments.len());
        }
        let begin = Instant::now();
        let found = measure(experiment, environment).map_err(|failure| failure.to_string());
        if found.is_ok() && !environment.interrupted() {
            pace.record(experiment, begin.elapsed());
        }
        let found = found.and_then(|measured| {
            // An experiment that was interrupted may have results of a part of its runs. They are
            // shown but not recorded, so `--resume` repeats the experiment.
            if !environment.interrupted() && !brings {
                records.write(experiment, &measured).map_err(|error| error.to_string())?;
            }
            Ok(measured)
        });
        let files = if brings { files::take(environment.directory) } else { Ok(Vec::new()) };
        Some(match files {
            Ok(files) => Brought { found, files },
            Err(error) => Brought { found: Err(error.to_string()), files: Vec::new() },
        })
    };
    let Some(parts) = ranks.share(items, environment.interrupt, each)? else { return Ok(None) };
    let mut results = Vec::new();
    for (experiment, brought) in experiments.into_iter().zip(parts.results) {
        let found = match brought.flatten() {
            None => None,
            Some(Brought { found, files }) => {
                files::put(environment.directory, files).map_err(Failure::run)?;
                Some(found)
            }
        };
        results.push((experiment, found));
    }
    Ok(Some((results, parts.shares)))
}

/// Creates the report, with a section for each exhibit (figure or table of a paper).
fn document(
    chosen: &[(&Paper, &Exhibit)],
    environment: &Environment<'_>,
    results: Results,
    provenance: Provenance,
) -> Document {
    let mut document = Document {
        kind: "reproduce",
        title: "Published beside measured".to_owned(),
        findings: Vec::new(),
        notes: Vec::new(),
        partial: provenance.missing(),
        claims: claims(chosen, &results),
        sections: Vec::new(),
        provenance,
    };
    if environment.quick {
        document.notes.push(
            "Measured with --quick: points are few, trials short, and intervals of few rounds wide.".to_owned(),
        );
    }
    document.notes.extend(report::unoptimised("controllers, tables or devices"));
    if environment.resumes {
        let note = "Continued after an interruption: the command and its duration are those of the last part.";
        document.notes.push(note.to_owned());
    }
    document.findings.push(page_claims::counts(&document.claims));
    let nothing = Measured::default();
    let missing = results.iter().filter_map(|(experiment, found)| {
        let Some(Err(failure)) = found else { return None };
        let first = chosen.iter().find(|(_, exhibit)| exhibit.experiment == *experiment)?;
        Some(format!("{}: {failure}", first.1.id))
    });
    let missing: Vec<String> = missing.collect();
    if !missing.is_empty() {
        document.lacks(&missing.join("; "));
    }
    for (paper, exhibit) in chosen {
        let found = results.iter().find(|(known, _)| *known == exhibit.experiment);
        let measured = match found {
            Some((_, Some(Ok(measured)))) => measured,
            Some((_, None)) if environment.interrupted() => {
                document.lacks(&format!("interrupted while measuring {}", exhibit.id));
                break;
            }
            _ => &nothing,
        };
        document.sections.push(section::of(paper, exhibit, measured));
    }
    if environment.interrupted() && document.partial.is_none() {
        // The last section has the results before the interrupt.
        let last = document.sections.last().map_or("", |section| section.id.as_str());
        document.partial = Some(format!("interrupted while measuring {last}"));
    }
    document
}

/// Returns the claims of all papers to which the chosen exhibits belong, with the verdicts that
/// follow from the results of the experiments.
fn claims(chosen: &[(&Paper, &Exhibit)], results: &Results) -> Vec<ClaimGroup> {
    let measured = results.iter().filter_map(|(_, found)| found.as_ref()?.as_ref().ok());
    let evidence: Vec<&verdict::Evidence> = measured.flat_map(|one| &one.evidence).collect();
    let exhibits: Vec<&str> = chosen.iter().map(|(_, exhibit)| exhibit.id.as_str()).collect();
    let run = verdict::Run { evidence: &evidence, exhibits: &exhibits };
    let papers = first_of_each(chosen.iter().map(|(paper, _)| *paper), |paper| paper.short.clone());
    papers.into_iter().map(|paper| verdict::of_paper(paper, &run)).collect()
}

fn measure(experiment: Experiment, environment: &Environment<'_>) -> Result<Measured, Failure> {
    match experiment {
        Experiment::OneSwitch => controller::one_switch(environment),
        Experiment::ManySwitches => controller::many_switches(environment),
        Experiment::OverTime => controller::over_time(environment),
        Experiment::Paths => controller::paths(environment),
        Experiment::UpdateMethods => tables::update_methods(environment),
        Experiment::Designs => tables::designs(environment),
        Experiment::Equations => tables::equations(),
        Experiment::SoftwarePipeline => device::pipeline(environment, device::Path::Interpreter),
        Experiment::CompiledPipeline => device::pipeline(environment, device::Path::Compiled),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_run_is_estimated_by_the_experiments_that_are_finished() {
        let experiments = [Experiment::OneSwitch, Experiment::Equations, Experiment::Paths];
        let pace = Pace::new(&experiments, false);
        let [one_switch, none, paths] = experiments.map(|one| pace.expected(one));
        assert_eq!(none, Duration::ZERO);
        assert_eq!(pace.rest(0, |_| false), one_switch + paths);
        assert_eq!(pace.rest(0, |one| one == Experiment::OneSwitch), paths);
        pace.record(Experiment::Equations, Duration::from_secs(1));
        assert_eq!(pace.rest(2, |_| false), paths, "nothing was expected of it");
        pace.record(Experiment::OneSwitch, one_switch * 2);
        assert_eq!(pace.rest(2, |_| false), paths * 2);
    }

    #[test]
    fn a_run_is_continued_with_its_own_options() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("run");
        let directory = RunDirectory::create(Some(&place)).expect("a run directory");
        let words = |line: &str| {
            let arguments = Arguments::try_parse_from(line.split(' ')).expect("arguments");
            how_to_continue(&arguments, &directory)
        };
        let ends = |options: &str| format!("{options} --resume {}", place.display());
        assert!(words("reproduce all").ends_with(&ends("reproduce all")));
        let all = "reproduce tables,device --quick --figure-width 88mm --latex";
        assert!(words(all).ends_with(&ends(all)), "{}", words(all));
        let inches = words("reproduce all --figure-width 3.5in");
        assert!(inches.ends_with(&ends("reproduce all --figure-width 88.9mm")), "{inches}");
    }
}
