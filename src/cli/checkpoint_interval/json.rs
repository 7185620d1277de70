//! The JSON output.

use std::io::Write;

use serde_json::{Value, json};
use trainmesh_core::checkpoint::{Interval, Model, Sensitivity, curve, intervals, sensitivity};

use super::text::steps;

/// Incremented only when a field is removed or changes its meaning.
const SCHEMA_VERSION: u32 = 1;

pub(super) fn print(out: &mut impl Write, model: &Model, step_time: Option<f64>) -> anyhow::Result<()> {
    let report = json!({
        "schemaVersion": SCHEMA_VERSION,
        "version": env!("CARGO_PKG_VERSION"),
        "writeTimeSeconds": model.write_time(),
        "mtbfSeconds": model.mtbf(),
        "restartTimeSeconds": model.restart_time(),
        "stepTimeSeconds": step_time,
        "intervals": intervals(model).iter().map(|interval| entry(interval, step_time)).collect::<Vec<_>>(),
        "sensitivity": sensitivity(model).iter().map(outcome).collect::<Vec<_>>(),
        "curve": curve(model).iter().map(|(seconds, waste)| json!({"seconds": seconds, "waste": waste})).collect::<Vec<_>>(),
    });
    writeln!(out, "{report:#}")?;
    Ok(out.flush()?)
}

fn entry(interval: &Interval, step_time: Option<f64>) -> Value {
    let Interval { method, seconds, waste, out_of_domain } = interval;
    json!({
        "method": method.code(),
        "source": method.source(),
        "seconds": seconds,
        "steps": seconds.zip(step_time).map(|(seconds, step_time)| steps(seconds, step_time)),
        "waste": waste,
        "outOfDomain": out_of_domain,
    })
}

fn outcome(sensitivity: &Sensitivity) -> Value {
    let Sensitivity { mtbf_factor, waste, optimal_waste } = sensitivity;
    json!({"mtbfFactor": mtbf_factor, "waste": waste, "optimalWaste": optimal_waste})
}
