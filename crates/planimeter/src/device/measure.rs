//! `planimeter device measure`: drives a device through the functions of a plan and records the
//! delays.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use device::Campaign;
use device::measure::{
    BenchError, Ending, Job, MeasureError, Measured, Plan, Step, Watch, clock_line, measure,
};
use report::directory::Papers;

use crate::failure::{Failure, INTERRUPTED};
use crate::interrupt;
use crate::invocation;
use crate::output::{self, layout};
use crate::program;
use crate::progress::Steps;

const LONG_ABOUT: &str = "\
Drive a device through the functions of a plan and keep the delay of every packet.

The plan is a TOML file that names the device, its functions, the settings under which to measure them and the number of \
repetitions. docs/device-measure.md describes every setting, and examples/device/ contains plans that run. The error of the \
clock is measured first. Cells are measured in randomized blocks, each of which is saved when it is complete, and --resume \
continues an interrupted campaign.";

const EXAMPLES: &str = "\
Examples:
  Table I of the paper on Open vSwitch, which the command starts (as root):
    planimeter device measure examples/device/open-vswitch.toml -o runs/open-vswitch

  The same pipeline in memory, as a compiled program:
    planimeter device measure examples/device/memory-compiled.toml

  Continue a campaign that was interrupted:
    planimeter device measure examples/device/open-vswitch.toml --resume runs/open-vswitch

Exit status: 0 everything was measured; 1 the device or a link failed during the campaign; 2 the plan is wrong; 130 interrupted.";

/// The arguments of `planimeter device measure`.
#[derive(Debug, Args)]
#[command(
    about = "Drive a device through the functions of a plan and keep the delay of every packet",
    long_about = LONG_ABOUT,
    after_help = EXAMPLES
)]
pub(super) struct Arguments {
    /// The plan of the campaign, a TOML file
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    /// The run directory, new or empty [runs/<time>-device]
    #[arg(long, short, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
    /// Continue the campaign in this run directory
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "output")]
    resume: Option<PathBuf>,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    sources: program::Sources,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let file = &arguments.plan;
    let in_plan =
        |error: &dyn std::fmt::Display| Failure::input(format!("{}: {error}", file.display()));
    let text = input::read_text(file).map_err(|error| in_plan(&error))?;
    if file.extension().is_some_and(|ending| ending == "json") {
        return Err(in_plan(
            &"is not a plan, which is a TOML file; docs/device-measure.md describes it, and examples/device has \
              plans that run",
        ));
    }
    let plan = Plan::from_toml(&text, &mut |name| {
        program::load(Path::new(name), &arguments.sources).map_err(|failure| failure.to_string())
    })
    .map_err(|error| in_plan(&error))?;
    for part in &plan.not_measured {
        eprintln!("note: {part}: no program with it can be generated; predictions list it");
    }
    let executable = invocation::executable()?;
    let resumed = arguments.resume.as_deref();
    let directory = match resumed {
        Some(directory) => directory.to_owned(),
        None => new_directory(arguments.output.as_deref(), &text)?,
    };
    let job =
        Job { plan: &plan, directory: &directory, resume: resumed.is_some(), program: &executable };
    let interrupted = interrupt::flag();
    let mut watch = Bar::new(arguments.quiet, interrupted);
    let outcome = measure(&job, &mut watch);
    drop(watch);
    let measured = outcome.map_err(failure)?;
    print_summary(&measured, &directory);
    Ok(match measured.ending {
        Ending::Complete => ExitCode::SUCCESS,
        Ending::Interrupted => {
            eprintln!(
                "interrupted; continue with: {} device measure {} --resume {}",
                invocation::program(),
                file.display(),
                directory.display()
            );
            ExitCode::from(INTERRUPTED)
        }
    })
}

/// Creates a run directory, writes the text of the plan into it, and returns its path.
fn new_directory(output: Option<&Path>, plan: &str) -> Result<PathBuf, Failure> {
    let mut directory = output::directory(output, "device", Papers::default())?;
    directory.write_configuration(plan).map_err(Failure::run)?;
    Ok(directory.path().to_owned())
}

pub(crate) fn failure(error: MeasureError) -> Failure {
    match error {
        MeasureError::OtherPlan { .. }
        | MeasureError::Read(_)
        | MeasureError::Bench(
            BenchError::Open(_) | BenchError::Namespace(_) | BenchError::Program { .. },
        ) => Failure::input(error),
        MeasureError::Bench(BenchError::Device { .. }) => Failure::OutOfReach(error.to_string()),
        _ => Failure::run(error),
    }
}

fn print_summary(measured: &Measured, directory: &Path) {
    let Campaign { description, blocks, rates, notes } = &measured.campaign;
    let print = |text: &str| print!("{}", layout().text("", text));
    let device = &description.device;
    let driver = match device.name == device.driver {
        true => String::new(),
        false => format!(" ({})", device.driver),
    };
    print(&format!("{}{driver}, seed {}", device.name, description.seed));
    print(&format!("clock: {}", clock_line(&description.clock)));
    let samples: usize = blocks.iter().map(|measured| measured.samples.len()).sum();
    print(&format!(
        "{} cells, {} blocks, {samples} delays, {} offered rates",
        description.cells.len(),
        blocks.len(),
        rates.len()
    ));
    let losses = blocks
        .iter()
        .fold(device::campaign::Counts::default(), |sum, measured| sum + measured.block.counts);
    print(&format!(
        "of {} packets {} lost, {} reordered, {} duplicated, {} unmatched; {} clock steps",
        losses.sent,
        losses.lost,
        losses.reordered,
        losses.duplicated,
        losses.unmatched,
        losses.clock_steps
    ));
    measured.stability.iter().for_each(|text| print(text));
    let rates = notes.iter().filter(|note| note.text.contains("packets/s"));
    rates.for_each(|note| print(&note.text));
    println!("run directory: {}", directory.display());
}

/// The progress bar of a measurement campaign. It also ends the campaign on Ctrl-C.
pub(crate) struct Bar {
    steps: Steps,
    interrupted: Arc<AtomicBool>,
}

impl Bar {
    pub(crate) fn new(quiet: bool, interrupted: Arc<AtomicBool>) -> Self {
        Self { steps: Steps::new(quiet), interrupted }
    }
}

impl Watch for Bar {
    fn step(&mut self, step: &Step) -> ControlFlow<()> {
        self.steps.show(step.done, step.of, &step.what);
        match self.interrupted.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}
