//! The published formulas for the interval.

use super::Model;

/// A formula for the interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The minimum of the expected waste, without approximation.
    Exact,
    /// Daly 2006, equation 37: the minimum as a series of three terms.
    Daly2006,
    /// Daly 2003: first order, with the restart time.
    Daly2003,
    /// Young 1974: first order.
    Young1974,
}

impl Method {
    /// All methods, the most precise first.
    pub const ALL: [Self; 4] = [Self::Exact, Self::Daly2006, Self::Daly2003, Self::Young1974];

    /// Returns the name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact (Lambert W)",
            Self::Daly2006 => "Daly 2006",
            Self::Daly2003 => "Daly 2003",
            Self::Young1974 => "Young 1974",
        }
    }

    /// Returns the name in JSON.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Daly2006 => "daly2006",
            Self::Daly2003 => "daly2003",
            Self::Young1974 => "young1974",
        }
    }

    /// Returns the publication.
    #[must_use]
    pub fn source(self) -> &'static str {
        match self {
            Self::Exact => "the stationary point of Daly 2006's expected time",
            Self::Daly2006 => {
                "J. T. Daly, Future Generation Computer Systems 22 (2006), doi:10.1016/j.future.2004.11.016"
            }
            Self::Daly2003 => "J. T. Daly, ICCS 2003, LNCS 2660",
            Self::Young1974 => "J. W. Young, Communications of the ACM 17 (1974), doi:10.1145/361147.361115",
        }
    }

    /// Returns the interval in seconds; `None` if the formula yields none that is positive.
    #[must_use]
    pub fn interval(self, model: &Model) -> Option<f64> {
        let (write, mtbf, restart) = (model.write_time(), model.mtbf(), model.restart_time());
        let seconds = match self {
            Self::Exact => model.optimal_interval(),
            Self::Daly2006 if write >= 2.0 * mtbf => mtbf,
            Self::Daly2006 => {
                let ratio = write / (2.0 * mtbf);
                (2.0 * write * mtbf).sqrt() * (1.0 + ratio.sqrt() / 3.0 + ratio / 9.0) - write
            }
            Self::Daly2003 => (2.0 * write * (mtbf + restart)).sqrt() - write,
            Self::Young1974 => (2.0 * write * mtbf).sqrt(),
        };
        (seconds > 0.0).then_some(seconds)
    }

    /// Returns the limit of the formula that `model` exceeds.
    #[must_use]
    pub fn out_of_domain(self, model: &Model) -> Option<&'static str> {
        let (write, mtbf, restart) = (model.write_time(), model.mtbf(), model.restart_time());
        match self {
            Self::Exact => None,
            Self::Daly2006 => (write >= 2.0 * mtbf)
                .then_some("the series requires a write time below twice the MTBF; the interval is the MTBF"),
            Self::Daly2003 if write >= 2.0 * (mtbf + restart) => {
                Some("requires a write time below twice the sum of MTBF and restart time")
            }
            // The first order neglects a second failure in an interval, and any during a restart.
            Self::Daly2003 | Self::Young1974 => (2.0 * write >= mtbf || restart >= mtbf)
                .then_some("the first order requires write and restart times far below the MTBF"),
        }
    }
}
