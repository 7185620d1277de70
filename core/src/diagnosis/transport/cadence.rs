//! Ranks that stopped logging before the others.

use jiff::{SignedDuration, Timestamp};

use super::super::snapshot::container::ContainerRecord;
use super::job_logs::{JobLogs, PodLog, names};
use crate::diagnosis::snapshot::log::Quote;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Recovery};

/// Number of minutes with lines after which a rank logs regularly.
const MIN_MINUTES: u64 = 5;
/// Shortest silence that is reported: logs of one job are read within some minutes.
const MIN_SILENCE: SignedDuration = SignedDuration::from_mins(5);
/// Multiple of a rank's own longest pause until then that counts as silence.
const PAUSES: i32 = 3;

/// Reports ranks that logged regularly, and then stopped while other ranks continued. A rank that logs little has no cadence
/// to compare with.
pub(super) fn check(logs: &JobLogs<'_>, found: &mut Vec<Diagnosis>) {
    let Some(newest) = logs.ranks().filter_map(|rank| rank.log.cadence.last).max() else { return };
    let silent: Vec<(PodLog<'_>, Timestamp, SignedDuration)> = logs
        .ranks()
        .filter_map(|rank| {
            let (last, silence) = silence(rank, newest)?;
            Some((rank, last, silence))
        })
        .collect();
    let Some((_, _, longest)) = silent.iter().max_by_key(|(_, _, silence)| *silence) else { return };
    let pods: Vec<PodLog<'_>> = silent.iter().map(|(rank, ..)| *rank).collect();
    let message = format!("{} logged last {} min before the others", names(&pods), longest.as_secs() / 60);
    let evidence = silent.iter().map(|(rank, last, _)| {
        let longest = rank.log.cadence.longest.as_secs();
        rank.evidence(&Quote {
            text: format!("last line; the longest pause before was {longest} s").into(),
            time: Some(*last),
        })
    });
    found.push(logs.diagnosis(DiagnosisCode::RankSilent, Recovery::RankWaits, &message).with_evidence(evidence));
}

/// Returns the last time and the silence of a rank that runs and stopped logging.
fn silence(rank: PodLog<'_>, newest: Timestamp) -> Option<(Timestamp, SignedDuration)> {
    let cadence = rank.log.cadence;
    let last = cadence.last?;
    let silence = newest.duration_since(last);
    let limit = MIN_SILENCE.max(cadence.longest.saturating_mul(PAUSES));
    let runs = rank.pod.main().any(ContainerRecord::is_running);
    (runs && cadence.minutes >= MIN_MINUTES && silence >= limit).then_some((last, silence))
}
