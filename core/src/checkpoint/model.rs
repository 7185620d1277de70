//! The validated inputs, and the expected waste of an interval.

use std::time::Duration;

use thiserror::Error;

/// A job that writes checkpoints, fails and restarts. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    write_time: f64,
    mtbf: f64,
    restart_time: f64,
}

/// Inputs for which no interval can be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidModel {
    /// A checkpoint costs nothing, so the optimum is to write always.
    #[error("the write time is zero")]
    NoWriteTime,
    /// The job never runs.
    #[error("the MTBF is zero")]
    NoMtbf,
    /// No nodes.
    #[error("the number of nodes is zero")]
    NoNodes,
}

/// Maximum number of steps of a bisection of [0, 1]: enough for the precision of `f64`, even for the smallest positive
/// results.
const BISECTIONS: u32 = 1100;

impl Model {
    /// Creates a model. `write_time` is the time to write a checkpoint, `mtbf` the mean time between failures of the
    /// whole job, and `restart_time` the time from a failure until the job computes again.
    ///
    /// # Errors
    ///
    /// Fails if the write time or the MTBF is zero.
    pub fn new(write_time: Duration, mtbf: Duration, restart_time: Duration) -> Result<Self, InvalidModel> {
        if write_time.is_zero() {
            return Err(InvalidModel::NoWriteTime);
        }
        if mtbf.is_zero() {
            return Err(InvalidModel::NoMtbf);
        }
        Ok(Self {
            write_time: write_time.as_secs_f64(),
            mtbf: mtbf.as_secs_f64(),
            restart_time: restart_time.as_secs_f64(),
        })
    }

    /// Creates the model of a job on `nodes` nodes that fail independently, each with the MTBF `node_mtbf`.
    ///
    /// # Errors
    ///
    /// Fails if the write time, the MTBF or the number of nodes is zero.
    pub fn of_nodes(
        write_time: Duration,
        node_mtbf: Duration,
        nodes: u32,
        restart_time: Duration,
    ) -> Result<Self, InvalidModel> {
        if nodes == 0 {
            return Err(InvalidModel::NoNodes);
        }
        Ok(Self::new(write_time, node_mtbf, restart_time)?.with_mtbf_factor(1.0 / f64::from(nodes)))
    }

    /// Returns the time to write a checkpoint in seconds.
    #[must_use]
    pub fn write_time(&self) -> f64 {
        self.write_time
    }

    /// Returns the mean time between failures of the job in seconds.
    #[must_use]
    pub fn mtbf(&self) -> f64 {
        self.mtbf
    }

    /// Returns the time of a restart in seconds.
    #[must_use]
    pub fn restart_time(&self) -> f64 {
        self.restart_time
    }

    /// Returns the model with the MTBF multiplied by `factor`.
    #[must_use]
    pub fn with_mtbf_factor(self, factor: f64) -> Self {
        Self { mtbf: self.mtbf * factor, ..self }
    }

    /// Returns the model of a job that restarts at once.
    #[must_use]
    pub fn without_restart_time(self) -> Self {
        Self { restart_time: 0.0, ..self }
    }

    /// Returns the expected part of the running time that is no progress, between 0 and 1, if the job computes for
    /// `interval` seconds between checkpoints.
    ///
    /// Failures may also interrupt writing and restarting. The expected time for `interval` seconds of progress is
    /// `M e^(R/M) (e^((interval+δ)/M) - 1)`: Daly, Future Generation Computer Systems 22 (2006), section 3.
    #[must_use]
    pub fn waste(&self, interval: f64) -> f64 {
        let Self { write_time, mtbf, restart_time } = self;
        let expected = mtbf * (restart_time / mtbf).exp() * ((interval + write_time) / mtbf).exp_m1();
        // The expectation overflows if a failure during the interval is all but certain.
        1.0 - interval / expected
    }

    /// Returns the interval in seconds with the minimum [`Self::waste`].
    ///
    /// It is `M (1 + W(-e^(-1-δ/M)))` with Lambert's function W, and does not depend on the restart time. With
    /// `t = interval / M`, this is the root of `ln(1 - t) + t + δ/M`, which decreases on [0, 1).
    #[must_use]
    pub fn optimal_interval(&self) -> f64 {
        let offset = self.write_time / self.mtbf;
        let (mut low, mut high) = (0.0_f64, 1.0_f64);
        for _ in 0..BISECTIONS {
            let middle = f64::midpoint(low, high);
            if (-middle).ln_1p() + middle + offset > 0.0 { low = middle } else { high = middle }
        }
        self.mtbf * high
    }
}
