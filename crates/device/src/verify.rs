//! Verification: compares the predictions of a model with the measured delays.
//!
//! The model is derived from the training set, which consists of the cells without a function or
//! with a single one, and tested against the cells with several functions. The absolute relative
//! error of Helm et al. (equation 8) is complemented by four figures. The signed error shows delays
//! that were predicted too short, which are worse than delays that were predicted too long. The
//! share of packets beyond a bound shows violations. The skill compares the model with one that
//! ignores functions. The noise shows whether repetitions differ by less than functions do.

mod drift;
mod noise;

use statistics::{Confidence, Interval, proportion};

use crate::campaign::{Campaign, CellId, FunctionName, Picoseconds, Setting};
use crate::compose::{ComposeError, Composition, Guarantee};
use crate::level::Level;
use crate::model::{Model, ModelError, SettingModel};
use crate::profile::{Estimate, Profile, Settings, Sorted, Tails};

pub use drift::Drift;
pub use noise::Noise;

/// The comparison of predicted and measured delays under one setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Verification {
    /// The conditions, such as the packet length, under which all cells were measured.
    pub setting: Setting,
    /// The cells (sets of functions) with measured delays whose functions were all measured alone,
    /// too. They include the cells from which the model was derived.
    pub cells: Vec<VerifiedCell>,
    /// The errors and other figures of the predictions, one element per level (a statistic of
    /// delays, such as the median).
    pub levels: Vec<VerifiedLevel>,
    /// The change of the device's delays during the campaign, or `None` if there are too few
    /// blocks, or the median is not among the levels.
    pub drift: Option<Drift>,
    /// The measurement that would improve the predictions most, or `None` if there is no
    /// suggestion.
    pub next: Option<Suggestion>,
}

/// A cell (a set of functions) with its measured and predicted delays.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedCell {
    /// The number of the cell in its campaign.
    pub cell: CellId,
    /// The functions that the cell adds to the baseline.
    pub functions: Vec<FunctionName>,
    /// Whether the model was derived from this cell, so that the cell cannot test it.
    pub training: bool,
    /// The summary of the delays that were measured for the cell.
    pub profile: Profile,
    /// The delays that the model predicts for the cell.
    pub prediction: Composition,
    /// The errors of the predictions, one for each of the model's levels (statistics of delays).
    pub errors: Vec<CellError>,
}

/// The predicted and the measured delay of one cell at one level, such as the median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellError {
    /// The statistic that is compared, such as the median.
    pub level: Level,
    /// The delay that the model predicts (equation 9).
    pub predicted: Picoseconds,
    /// The delay that was measured, with its interval.
    pub measured: Estimate,
    /// The relative error (predicted - measured) / measured (negative if the prediction is too
    /// short).
    pub relative: f64,
    /// Whether the measurement refutes the prediction, because their confidence intervals do not
    /// overlap. `None` if an end of an interval is unknown.
    pub refuted: Option<bool>,
    /// The number of packets that took longer than the predicted bound, or `None` for levels that
    /// are no upper bounds.
    pub beyond: Option<u64>,
}

/// The errors of the predictions at one level (a statistic of delays), over all cells that test the
/// model.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedLevel {
    /// The statistic that is compared, such as the median.
    pub level: Level,
    /// The mean of the absolute relative errors over all cells that test the model (equation 8).
    pub mean_absolute: f64,
    /// The largest absolute relative error of any cell that tests the model.
    pub worst_absolute: f64,
    /// The mean of the signed relative errors over all cells that test the model.
    pub mean_signed: f64,
    /// The largest amount by which a prediction is too short, as a share, or zero if none is.
    pub worst_under: f64,
    /// The number of cells whose measurement refutes the prediction, and the number of cells with
    /// known intervals of prediction and measurement, of all cells that test the model.
    pub refuted: (usize, usize),
    /// The skill: one minus the ratio of squared errors to those of a reference model that always
    /// predicts the mean of the training cells. A skill of one is perfect, and zero is no better
    /// than the reference model. `None` if the reference model has no error.
    pub skill: Option<f64>,
    /// The packets that took longer than predicted bounds, or `None` for levels that are no upper
    /// bounds.
    pub violations: Option<Violations>,
    /// A comparison of the differences between repetitions with the differences between functions,
    /// or `None` if there are too few blocks or cells.
    pub noise: Option<Noise>,
}

/// The packets that took longer than the predicted bound of their cell, in all cells that test the
/// model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Violations {
    /// The number of packets that took longer than the bound.
    pub beyond: u64,
    /// The number of all packets of the cells that test the model.
    pub packets: u64,
    /// The largest share of packets that may exceed the bound according to any of the predictions,
    /// or `None` if a prediction does not state this share.
    pub admitted: Option<f64>,
    /// The 95 % confidence interval of the share of packets beyond their bound (Clopper and
    /// Pearson), for the number of effective samples.
    pub interval: Interval,
}

/// A measurement that would improve the predictions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// The set of functions to measure.
    pub functions: Vec<FunctionName>,
    /// The reason for measuring it, as a sentence.
    pub reason: String,
}

/// The reason why a model cannot be tested with a campaign.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// No model can be derived from the campaign.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model lacks a function of a measured cell (a set of functions).
    #[error(transparent)]
    Compose(#[from] ComposeError),
    /// No cell with several functions has delays and a prediction to compare them with.
    #[error(
        "no cell has more than one function and delays: there is nothing to compare the model with"
    )]
    NothingToTest,
}

/// Derives a model from the cells of a campaign without a function or with a single one, and tests
/// it against the cells with several functions. Returns the model, and one comparison for each
/// setting with a test cell.
///
/// # Errors
/// Returns a [`VerifyError`] if no model can be derived, or no test cell has delays.
pub fn verify(
    campaign: &Campaign,
    settings: &Settings,
) -> Result<(Model, Vec<Verification>), VerifyError> {
    let model = Model::derive(campaign, settings)?;
    let all = model.settings.iter().map(|under| of_setting(campaign, &model, under, settings));
    let mut verifications = all.collect::<Result<Vec<_>, _>>()?;
    verifications.retain(|verification| verification.cells.iter().any(|cell| !cell.training));
    if verifications.is_empty() {
        return Err(VerifyError::NothingToTest);
    }
    Ok((model, verifications))
}

/// Compares predicted with measured delays under one setting, such as a packet length and a number
/// of rules.
fn of_setting(
    campaign: &Campaign,
    model: &Model,
    under: &SettingModel,
    settings: &Settings,
) -> Result<Verification, VerifyError> {
    let description = &campaign.description;
    let mut cells = Vec::new();
    for id in description.ids().filter(|id| description.cell(*id).setting == under.setting) {
        let functions = &description.cell(id).functions;
        let measurable = functions.iter().all(|name| under.function(name).is_some());
        let Some(sorted) = Sorted::of(campaign, id).filter(|_| measurable) else { continue };
        let blocks = u32::try_from(campaign.blocks_of(id).count()).unwrap_or(u32::MAX);
        let profile = sorted.profile(settings, blocks, campaign.counts(id), Tails::Omitted);
        let prediction = model.compose(under, functions)?;
        let errors = prediction.levels.iter().filter_map(|predicted| {
            let measured = profile.level(predicted.level)?;
            let slower = |bound: Picoseconds| {
                sorted.delays.samples().iter().filter(|delay| **delay > bound.0).count()
            };
            Some(CellError {
                level: predicted.level,
                predicted: predicted.value,
                measured: *measured,
                relative: relative(predicted.value, measured.value),
                refuted: apart(
                    Ends { low: predicted.low, high: predicted.high },
                    Ends { low: measured.low, high: measured.high },
                ),
                beyond: predicted.level.is_upper().then(|| slower(predicted.safe) as u64),
            })
        });
        let errors = errors.collect();
        let (functions, training) = (functions.clone(), functions.len() < 2);
        cells.push(VerifiedCell { cell: id, functions, training, profile, prediction, errors });
    }
    let levels =
        model.levels().into_iter().filter_map(|level| of_level(campaign, &cells, level)).collect();
    let next = suggestion(under, &cells);
    Ok(Verification {
        setting: under.setting.clone(),
        drift: Drift::of(campaign, &cells),
        cells,
        levels,
        next,
    })
}

fn relative(predicted: Picoseconds, measured: Picoseconds) -> f64 {
    let difference = (predicted.0 - measured.0) as f64;
    if difference == 0.0 { 0.0 } else { difference / measured.0.unsigned_abs() as f64 }
}

/// The ends of a confidence interval, or `None` where an end is unknown.
struct Ends {
    low: Option<Picoseconds>,
    high: Option<Picoseconds>,
}

/// Returns whether two confidence intervals do not overlap, or `None` if one of the compared ends
/// is unknown.
fn apart(one: Ends, other: Ends) -> Option<bool> {
    Some(one.high? < other.low? || other.high? < one.low?)
}

/// Returns the errors of the model at one level (a statistic of delays), over the cells from which
/// it was not derived. Returns `None` if there are no such cells.
fn of_level(campaign: &Campaign, cells: &[VerifiedCell], level: Level) -> Option<VerifiedLevel> {
    let of = |training: bool| {
        let cells = cells.iter().filter(move |cell| cell.training == training);
        cells.filter_map(move |cell| {
            Some((cell, cell.errors.iter().find(|error| error.level == level)?))
        })
    };
    let tested: Vec<(&VerifiedCell, &CellError)> = of(false).collect();
    if tested.is_empty() {
        return None;
    }
    let mean = |value: &dyn Fn(&CellError) -> f64| {
        tested.iter().map(|(_, error)| value(error)).sum::<f64>() / tested.len() as f64
    };
    let most = |value: &dyn Fn(&CellError) -> f64| {
        tested.iter().map(|(_, error)| value(error)).fold(0.0, f64::max)
    };
    let with_interval: Vec<bool> = tested.iter().filter_map(|(_, error)| error.refuted).collect();
    Some(VerifiedLevel {
        level,
        mean_absolute: mean(&|error| error.relative.abs()),
        worst_absolute: most(&|error| error.relative.abs()),
        mean_signed: mean(&|error| error.relative),
        worst_under: most(&|error| -error.relative),
        refuted: (with_interval.iter().filter(|refuted| **refuted).count(), with_interval.len()),
        skill: skill(&of(true).map(|(_, error)| error.measured.value).collect::<Vec<_>>(), &tested),
        violations: level.is_upper().then(|| violations(level, &tested)).flatten(),
        noise: Noise::of(campaign, cells, level),
    })
}

fn skill(training: &[Picoseconds], tested: &[(&VerifiedCell, &CellError)]) -> Option<f64> {
    let constant =
        training.iter().map(|value| value.0 as f64).sum::<f64>() / training.len().max(1) as f64;
    let squares = |predicted: &dyn Fn(&CellError) -> f64| -> f64 {
        tested
            .iter()
            .map(|(_, error)| (predicted(error) - error.measured.value.0 as f64).powi(2))
            .sum()
    };
    let of_constant = squares(&|_| constant);
    (of_constant > 0.0).then(|| 1.0 - squares(&|error| error.predicted.0 as f64) / of_constant)
}

fn violations(level: Level, tested: &[(&VerifiedCell, &CellError)]) -> Option<Violations> {
    let beyond: u64 = tested.iter().filter_map(|(_, error)| error.beyond).sum();
    let packets: u64 = tested.iter().map(|(cell, _)| cell.profile.samples).sum();
    // Packets of one block are not independent, so the interval uses the number of effective
    // samples with the observed share of violations.
    let effective: u64 = tested.iter().map(|(cell, _)| cell.profile.effective_samples).sum();
    let effective_beyond = (beyond as f64 * effective as f64 / packets as f64).ceil() as u64;
    let interval = proportion(effective_beyond.min(effective), effective, Confidence::P95)?;
    let mut admitted = tested.iter().map(|(cell, _)| {
        let mut levels = cell.prediction.levels.iter();
        levels.find(|predicted| predicted.level == level)?.beyond
    });
    let admitted = admitted.try_fold(0.0, |most: f64, beyond| Some(most.max(beyond?)));
    Some(Violations { beyond, packets, admitted, interval })
}

/// Returns the measurement that would improve the predictions most: the test cell with the largest
/// refuted error, or else the training cell whose uncertainty contributes most to the predictions.
fn suggestion(under: &SettingModel, cells: &[VerifiedCell]) -> Option<Suggestion> {
    let median = |cell: &VerifiedCell| {
        cell.errors.iter().find(|error| error.level == Level::Median).copied()
    };
    let refuted =
        cells.iter().filter(|cell| !cell.training).filter_map(|cell| Some((cell, median(cell)?)));
    let refuted = refuted.filter(|(_, error)| error.refuted == Some(true));
    let worst = refuted.max_by(|(_, a), (_, b)| a.relative.abs().total_cmp(&b.relative.abs()));
    if let Some((cell, error)) = worst {
        return Some(Suggestion {
            functions: cell.functions.clone(),
            reason: format!(
                "it takes {} where the sum of its functions predicts {}, and the intervals do not overlap: these \
                 functions depend on each other, so measure them together as one function",
                error.measured.value, error.predicted
            ),
        });
    }
    let tests = cells.iter().filter(|cell| !cell.training);
    let predictions: Vec<&[FunctionName]> = tests.map(|cell| cell.functions.as_slice()).collect();
    let width = |cell: &VerifiedCell| {
        let estimate = cell.profile.level(Level::Median)?;
        Some((estimate.high?.0 - estimate.low?.0) as f64 / 2.0)
    };
    let weight = |cell: &VerifiedCell| match cell.functions.as_slice() {
        [] => predictions.iter().map(|functions| functions.len().saturating_sub(1)).sum::<usize>(),
        [name] => predictions.iter().filter(|functions| functions.contains(name)).count(),
        _ => 0,
    };
    let training = cells.iter().filter(|cell| cell.training);
    let weighed =
        training.filter_map(|cell| Some((cell, width(cell)?, width(cell)? * weight(cell) as f64)));
    let (cell, half, _) =
        weighed.max_by(|(_, _, a), (_, _, b)| a.total_cmp(b)).filter(|(_, _, most)| *most > 0.0)?;
    Some(Suggestion {
        functions: cell.functions.clone(),
        reason: format!(
            "its median is known to ± {} and is part of {} of {} predictions under {}, more than that of any other cell; \
             four times the packets halve it",
            Picoseconds(half as i64),
            if cell.functions.is_empty() { predictions.len() } else { weight(cell) },
            predictions.len(),
            under.setting
        ),
    })
}

impl VerifiedLevel {
    /// Returns the strength of the first test cell's prediction at this level, or `None` if no test
    /// cell has one.
    #[must_use]
    pub fn guarantee(cells: &[VerifiedCell], level: Level) -> Option<Guarantee> {
        let tested = cells.iter().filter(|cell| !cell.training);
        let mut predicted = tested.flat_map(|cell| &cell.prediction.levels);
        predicted.find(|predicted| predicted.level == level).map(|predicted| predicted.guarantee)
    }
}
