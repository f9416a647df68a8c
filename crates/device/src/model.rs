//! A model: what each function of a device costs, at every level, under each setting that was measured.

use serde::{Deserialize, Serialize};

use crate::campaign::{
    Campaign, Cell, CellId, Clock, Device, Function, FunctionName, Picoseconds, Setting,
};
use crate::level::Level;
use crate::profile::{Profile, Settings, Sorted, Tails};
use crate::shift::Shift;

/// What `model.json` calls its form.
pub const SCHEMA: &str = "planimeter.device-model/1";

/// A model of a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// [`SCHEMA`].
    pub schema: String,
    /// The device.
    pub device: Device,
    /// Where its figures come from.
    pub source: Source,
    /// What delays were measured with.
    pub clock: Clock,
    /// Confidence of each interval by itself.
    pub confidence: f64,
    /// Line rate in bit/s, R_max, if it is known.
    pub line_rate: Option<u64>,
    /// Functions of the baseline: they cost nothing beyond it.
    pub baseline: Vec<Function>,
    /// What was measured, by setting.
    pub settings: Vec<SettingModel>,
}

/// Where a model's figures come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum Source {
    /// A campaign.
    Campaign {
        /// When it began, RFC 3339.
        created: String,
    },
    /// A publication: values that were read from its text, without samples behind them.
    Published {
        /// Which one.
        citation: String,
        /// How values were read, and how exactly.
        remark: String,
    },
}

/// A model under one setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingModel {
    /// The setting.
    pub setting: Setting,
    /// f0: M_0.
    pub f0: Measurement,
    /// f_1, f_2, ...: M_1, M_2, ...
    pub functions: Vec<FunctionModel>,
}

/// A function: what was measured with it added to the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionModel {
    /// The function.
    pub function: Function,
    /// Of the baseline with it.
    pub measurement: Measurement,
    /// Whether its cost is the same for every packet; `None` without samples.
    pub shift: Option<Shift>,
}

/// What was measured of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// Delays.
    pub profile: Profile,
    /// R_min in bit/s, if rates were tried.
    pub loss_free_rate: Option<u64>,
}

/// A cost (equation 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delta {
    /// At which level.
    pub level: Level,
    /// T_i - T_0.
    pub value: Picoseconds,
    /// The least that both intervals admit.
    pub low: Option<Picoseconds>,
    /// The most that both intervals admit.
    pub high: Option<Picoseconds>,
}

/// Why a campaign makes no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// There is nothing to compare functions with.
    #[error("the baseline ({setting}) has no delays; measure it, or go on with the campaign")]
    NoBaseline {
        /// Of which setting.
        setting: String,
    },
    /// Another form.
    #[error("schema is '{found}'; this version reads '{SCHEMA}'")]
    Schema {
        /// What it says.
        found: String,
    },
    /// No level was measured.
    #[error("{what} has no delay at level {level}; derive the model again with that level")]
    NoLevel {
        /// Baseline or function.
        what: String,
        /// The level.
        level: Level,
    },
}

impl Model {
    /// Derives a model from the cells with at most one function (the paper's training set).
    ///
    /// # Errors
    /// See [`ModelError`].
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

    /// Checks a model that was read from a file.
    ///
    /// # Errors
    /// See [`ModelError`].
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

    /// The levels that it has.
    #[must_use]
    pub fn levels(&self) -> Vec<Level> {
        let first = self.settings.first();
        first
            .map(|model| model.f0.profile.levels.iter().map(|estimate| estimate.level).collect())
            .unwrap_or_default()
    }

    /// Whether a function belongs to the baseline.
    #[must_use]
    pub fn in_baseline(&self, name: &FunctionName) -> bool {
        self.baseline.iter().any(|function| function.name == *name)
    }
}

impl Measurement {
    fn of(campaign: &Campaign, id: CellId, sorted: &Sorted, settings: &Settings) -> Self {
        let blocks = u32::try_from(campaign.blocks_of(id).count()).unwrap_or(u32::MAX);
        Self {
            profile: sorted.profile(settings, blocks, campaign.counts(id), Tails::Kept),
            loss_free_rate: campaign.loss_free_rate(id),
        }
    }
}

impl SettingModel {
    /// A function of this setting.
    #[must_use]
    pub fn function(&self, name: &FunctionName) -> Option<&FunctionModel> {
        self.functions.iter().find(|function| function.function.name == *name)
    }

    /// What a function costs at each level (equation 7). It may be negative.
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
