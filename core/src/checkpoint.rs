//! Computes how often a job should write checkpoints: the interval that loses the least time to checkpoints, to work
//! that failures undo, and to restarts.
//!
//! Failures are independent and have a constant rate, so the time between two failures is distributed exponentially.
//! The interval is the time that a job computes between two checkpoints, without the time to write them.
//! `docs/checkpoint-interval.md` derives and compares the formulas.

mod method;
mod model;

pub use method::Method;
pub use model::{InvalidModel, Model};

/// An interval with its consequences.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Formula that yields the interval.
    pub method: Method,
    /// Interval in seconds; `None` if the formula yields none for this model.
    pub seconds: Option<f64>,
    /// Expected waste, see [`Model::waste`].
    pub waste: Option<f64>,
    /// The limit of the formula that the model exceeds.
    pub out_of_domain: Option<&'static str>,
}

/// Expected waste if the assumed MTBF is wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensitivity {
    /// The true MTBF, relative to the assumed one.
    pub mtbf_factor: f64,
    /// Waste of the interval that is optimal for the assumed MTBF.
    pub waste: f64,
    /// Waste of the interval that is optimal for the true MTBF.
    pub optimal_waste: f64,
}

/// Factors of [`sensitivity`]: an MTBF from a few failures is rarely known better than within a factor of two.
const MTBF_FACTORS: [f64; 4] = [0.25, 0.5, 2.0, 4.0];

/// Number of points on each side of the optimum in [`curve`]. Neighbors differ by a factor of the square root of two,
/// so the curve covers a sixteenth to sixteen times the optimum.
const CURVE_HALF_WIDTH: i32 = 8;

/// Returns the interval of each formula, the exact one first.
#[must_use]
pub fn intervals(model: &Model) -> Vec<Interval> {
    let interval = |method: Method| {
        let seconds = method.interval(model);
        Interval {
            method,
            seconds,
            waste: seconds.map(|seconds| model.waste(seconds)),
            out_of_domain: method.out_of_domain(model),
        }
    };
    Method::ALL.into_iter().map(interval).collect()
}

/// Returns the waste if the true MTBF differs from that of `model`.
#[must_use]
pub fn sensitivity(model: &Model) -> Vec<Sensitivity> {
    let interval = model.optimal_interval();
    let outcome = |mtbf_factor| {
        let actual = model.with_mtbf_factor(mtbf_factor);
        let optimal_waste = actual.waste(actual.optimal_interval());
        Sensitivity { mtbf_factor, waste: actual.waste(interval), optimal_waste }
    };
    MTBF_FACTORS.into_iter().map(outcome).collect()
}

/// Returns intervals in seconds around the optimum, in ascending order, each with its waste.
#[must_use]
pub fn curve(model: &Model) -> Vec<(f64, f64)> {
    let optimum = model.optimal_interval();
    let point = |power: i32| {
        let seconds = optimum * (f64::from(power) / 2.0).exp2();
        (seconds, model.waste(seconds))
    };
    (-CURVE_HALF_WIDTH..=CURVE_HALF_WIDTH).map(point).collect()
}
