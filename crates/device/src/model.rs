//! Models of a device: the cost of each of its functions, for every statistic of delays, under each
//! setting that was measured.

use serde::{Deserialize, Serialize};

use crate::campaign::{
    Campaign, Cell, CellId, Clock, Device, Function, FunctionName, Picoseconds, Setting,
};
use crate::level::Level;
use crate::profile::{Profile, Settings, Sorted, Tails};
use crate::shift::Shift;

/// The value of `schema` in every `model.json` that this version writes.
pub const SCHEMA: &str = "planimeter.device-model/1";

/// A model of a device: the cost of each of its functions, as measured or published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The identifier of the file's format, [`SCHEMA`].
    pub schema: String,
    /// The device that the model describes.
    pub device: Device,
    /// The origin of the measurements.
    pub source: Source,
    /// The clock that timestamped packets before and after the device.
    pub clock: Clock,
    /// The confidence of each single confidence interval.
    pub confidence: f64,
    /// The line rate R_max of the device's ports in bit/s, or `None` if unknown.
    pub line_rate: Option<u64>,
    /// The functions of the baseline, which every measurement includes. They cost nothing beyond
    /// it.
    pub baseline: Vec<Function>,
    /// The measurements, one element for each setting (packet length, number of rules, other
    /// conditions).
    pub settings: Vec<SettingModel>,
}

/// The origin of the measurements from which a model was derived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum Source {
    /// The model was derived from the measurements of a campaign.
    Campaign {
        /// The start time of the campaign, in RFC 3339.
        created: String,
    },
    /// The values were read from the text of a publication. There are no samples.
    Published {
        /// The citation of the publication.
        citation: String,
        /// The method by which the values were read, and its precision.
        remark: String,
    },
}

/// The part of a model that holds under one setting, such as one packet length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingModel {
    /// The setting under which all of these measurements were made.
    pub setting: Setting,
    /// The measurement of the baseline f0 (the device with its baseline functions only), with its
    /// delays M_0.
    pub f0: Measurement,
    /// The functions f_1, f_2, ... that were added to the baseline, with their delays M_1, M_2, ...
    pub functions: Vec<FunctionModel>,
}

/// A function, and the measurement of the baseline with this function added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionModel {
    /// The function that the device performed in addition to those of [`Model::baseline`].
    pub function: Function,
    /// The measurement of the device with this function and the baseline.
    pub measurement: Measurement,
    /// The result of the test of whether the function costs the same for every packet, or `None`
    /// without samples.
    pub shift: Option<Shift>,
}

/// The measurement of one set of functions under one setting (a cell).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// The summary of the measured delays.
    pub profile: Profile,
    /// The highest rate without loss, R_min in bit/s, or `None` if no rates were tried.
    pub loss_free_rate: Option<u64>,
}

/// The cost of a function at one level, such as the median delay (equation 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delta {
    /// The statistic of delays, such as the median.
    pub level: Level,
    /// The cost T_i - T_0: the delay with the function less the delay of the baseline.
    pub value: Picoseconds,
    /// The smallest cost that the confidence intervals of both delays admit, or `None` if it is
    /// unknown.
    pub low: Option<Picoseconds>,
    /// The largest cost that the confidence intervals of both delays admit, or `None` if it is
    /// unknown.
    pub high: Option<Picoseconds>,
}

/// The reason why a campaign does not yield a model, or a model is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The baseline of a setting has no delays with which functions could be compared.
    #[error("the baseline ({setting}) has no delays; measure it, or go on with the campaign")]
    NoBaseline {
        /// The setting whose baseline has no delays.
        setting: String,
    },
    /// The schema of the file is not the one that this version reads.
    #[error("schema is '{found}'; this version reads '{SCHEMA}'")]
    Schema {
        /// The schema that the file of the model names.
        found: String,
    },
    /// A measurement lacks a statistic, such as a percentile, that others of the model have.
    #[error("{what} has no delay at level {level}; derive the model again with that level")]
    NoLevel {
        /// The baseline or function whose measurement lacks the statistic.
        what: String,
        /// The statistic that is missing, such as the maximum.
        level: Level,
    },
}

impl Model {
    /// Derives a model from a campaign. Only cells with at most one function are used. They are the
    /// training set of Helm et al. A function without delays is left out.
    ///
    /// # Errors
    /// Returns a [`ModelError`] if a baseline has no delays.
    pub fn derive(campaign: &Campaign, settings: &Settings) -> Result<Self, ModelError> {
        let description = &campaign.description;
        let mut models: Vec<SettingModel> = Vec::new();
        for id in description.ids().filter(|id| description.cell(*id).functions.is_empty()) {
            let setting = &description.cell(id).setting;
            let baseline = Sorted::of(campaign, id)
                .ok_or_else(|| ModelError::NoBaseline { setting: setting.to_string() })?;
            let of_setting = |cell: &Cell| cell.setting == *setting && cell.functions.len() == 1;
            let functions =
                description.ids().filter(|id| of_setting(description.cell(*id))).filter_map(|id| {
                    let function = description.function(&description.cell(id).functions[0])?;
                    let sorted = Sorted::of(campaign, id)?;
                    Some(FunctionModel {
                        function: function.clone(),
                        measurement: Measurement::of(campaign, id, &sorted, settings),
                        shift: Some(Shift::between(&baseline, &sorted, settings)),
                    })
                });
            models.push(SettingModel {
                setting: setting.clone(),
                f0: Measurement::of(campaign, id, &baseline, settings),
                functions: functions.collect(),
            });
        }
        Ok(Self {
            schema: SCHEMA.to_owned(),
            device: description.device.clone(),
            source: Source::Campaign { created: description.created.clone() },
            clock: description.clock.clone(),
            confidence: settings.confidence.level(),
            line_rate: description.line_rate,
            baseline: description.baseline.clone(),
            settings: models,
        })
    }

    /// Checks that a model which was read from a file is complete.
    ///
    /// # Errors
    /// Returns a [`ModelError`] if the schema is unknown or a measurement lacks a level.
    pub fn check(&self) -> Result<(), ModelError> {
        if self.schema != SCHEMA {
            return Err(ModelError::Schema { found: self.schema.clone() });
        }
        for model in &self.settings {
            for level in self.levels() {
                let missing = |what: String| ModelError::NoLevel { what, level };
                model.f0.profile.level(level).ok_or_else(|| missing("the baseline".to_owned()))?;
                for function in &model.functions {
                    let profile = &function.measurement.profile;
                    profile
                        .level(level)
                        .ok_or_else(|| missing(format!("'{}'", function.function.name)))?;
                }
            }
        }
        Ok(())
    }

    /// Returns the statistics of delays, such as the median, for which the model has costs.
    #[must_use]
    pub fn levels(&self) -> Vec<Level> {
        let first = self.settings.first();
        first
            .map(|model| model.f0.profile.levels.iter().map(|estimate| estimate.level).collect())
            .unwrap_or_default()
    }

    /// Returns whether a function belongs to the baseline.
    #[must_use]
    pub fn in_baseline(&self, name: &FunctionName) -> bool {
        self.baseline.iter().any(|function| function.name == *name)
    }
}

impl Measurement {
    fn of(campaign: &Campaign, id: CellId, sorted: &Sorted, settings: &Settings) -> Self {
        let blocks = u32::try_from(campaign.blocks_of(id).count()).unwrap_or(u32::MAX);
        Self {
            profile: sorted.profile(settings, blocks, campaign.counts(id), Tails::Included),
            loss_free_rate: campaign.loss_free_rate(id),
        }
    }
}

impl SettingModel {
    /// Returns the function with this name as it was measured under this setting.
    #[must_use]
    pub fn function(&self, name: &FunctionName) -> Option<&FunctionModel> {
        self.functions.iter().find(|function| function.function.name == *name)
    }

    /// Returns the cost of a function at each level, such as the median delay (equation 7). A cost
    /// may be negative.
    #[must_use]
    pub fn deltas(&self, function: &FunctionModel) -> Vec<Delta> {
        let minus = |a: Option<Picoseconds>, b: Option<Picoseconds>| {
            Some(Picoseconds(a?.0.saturating_sub(b?.0)))
        };
        let delta = |with: &crate::profile::Estimate| {
            let without = self.f0.profile.level(with.level)?;
            Some(Delta {
                level: with.level,
                value: Picoseconds(with.value.0.saturating_sub(without.value.0)),
                low: minus(with.low, without.high),
                high: minus(with.high, without.low),
            })
        };
        function.measurement.profile.levels.iter().filter_map(delta).collect()
    }
}
