//! Draws heat maps of the errors of a device model, with a cell for each combination of two
//! functions. Combinations from which the model was derived have no colour.

use ::device::Level;
use ::device::verify::{Verification, VerifiedCell};
use statistics::Unit;

use super::{Axes, percent};
use crate::page::Figure;
use crate::plot::{HeatCell, HeatMap};

/// Returns the heat map of the errors at one level, such as the median (figures 5 and 7 of the
/// paper).
pub(super) fn map(axes: &Axes, verification: &Verification, level: Level) -> Figure {
    let cell = |row: usize, column: usize, cell: &VerifiedCell| {
        let error = cell.errors.iter().find(|error| error.level == level)?;
        let mark = if error.relative < 0.0 { " ▼" } else { "" };
        let kind = if cell.training { ": training" } else { "" };
        Some(HeatCell {
            value: error.relative.abs(),
            text: match cell.training {
                true => "0".to_owned(),
                false => format!("{}{mark}", percent(error.relative.abs())),
            },
            tip: format!(
                "{} / {}: predicted {}, measured {}{kind}",
                axes.rows[row], axes.columns[column], error.predicted, error.measured.value
            ),
            set_off: cell.training,
        })
    };
    let places = (0..axes.rows.len())
        .flat_map(|row| (0..axes.columns.len()).map(move |column| (row, column)));
    let cells =
        places.map(|(row, column)| cell(row, column, axes.cell(verification, row, column)?));
    let map = HeatMap {
        title: format!("Absolute relative error of the {level}, in %"),
        description: "The error of predictions, by the functions of a cell.".to_owned(),
        row_title: axes.row_title.clone(),
        rows: axes.rows.clone(),
        column_title: axes.column_title.clone(),
        columns: axes.columns.clone(),
        value_title: "|e_rel|, largest".to_owned(),
        unit: Unit::Fraction,
        set_off: "training".to_owned(),
        cells: cells.collect(),
    };
    Figure::heat_map(map, "▼ where the prediction is too short.")
}
