//! The network that NCCL uses: against what the pods request, and against each other.

use std::collections::{BTreeMap, BTreeSet};

use super::job_logs::{JobLogs, PodLog, names};
use crate::diagnosis::job::verb;
use crate::diagnosis::snapshot::log::{NetworkRecord, Quote};
use crate::diagnosis::snapshot::transport::DisablingVariable;
use crate::diagnosis::{Diagnosis, DiagnosisCode, Evidence, Recovery};

/// Fix for ranks that use TCP because of a variable.
const DISABLED_FIX: &str = "\
    remove the variable in the evidence (NCCL_NET=Socket, or NCCL_IB_DISABLE) from the container, which disables RDMA; then recreate the job";

/// Checks the networks of a job whose ranks are on several nodes.
pub(super) fn check(logs: &JobLogs<'_>, found: &mut Vec<Diagnosis>) {
    let requests = |rank: &PodLog<'_>| rank.pod.transport.requested.is_some();
    let on_tcp: Vec<PodLog<'_>> = logs.ranks().filter(|rank| requests(rank) && rank.tcp().is_some()).collect();
    if on_tcp.is_empty() {
        check_mixed(logs, found);
    }
    let (without_library, on_tcp): (Vec<_>, Vec<_>) = on_tcp.into_iter().partition(|rank| rank.log.no_verbs.is_some());
    check_library(logs, &without_library, found);
    check_tcp(logs, &on_tcp, found);
    check_direct(logs, found);
    check_versions(logs, found);
    check_bootstrap(logs, found);
}

/// Reports ranks that request RDMA and lack its library.
fn check_library(logs: &JobLogs<'_>, affected: &[PodLog<'_>], found: &mut Vec<Diagnosis>) {
    if affected.is_empty() {
        return;
    }
    let quotes = affected.iter().flat_map(|rank| {
        [rank.log.no_verbs.as_ref(), rank.tcp()].into_iter().flatten().map(|quote| rank.evidence(quote))
    });
    let message = format!("{} cannot load libibverbs, so NCCL uses TCP", names(affected));
    let finding = logs.diagnosis(DiagnosisCode::LibibverbsMissing, Recovery::LibraryMissing, &message);
    found.push(finding.with_evidence(quotes));
}

/// Reports ranks that request RDMA and use TCP.
fn check_tcp(logs: &JobLogs<'_>, affected: &[PodLog<'_>], found: &mut Vec<Diagnosis>) {
    let Some(first) = affected.first() else { return };
    let requested = first.pod.transport.requested.as_ref().map_or("", |(_, value)| value);
    let use_tcp = verb(affected.len(), "uses TCP, although the pod requests", "use TCP, although the pods request");
    let message = format!("{} {use_tcp} RDMA ({requested})", names(affected));
    let evidence = affected.iter().flat_map(|rank| {
        let variable = rank.pod.transport.disabled.as_ref().map(|DisablingVariable { container, name, value }| {
            Evidence::new(rank.pod.title(), format!("{name} of container {container}"), value, None)
        });
        let quotes = [rank.tcp(), rank.log.no_adapter.as_ref()].into_iter().flatten();
        quotes.map(|quote| rank.evidence(quote)).chain(variable)
    });
    let finding = logs.diagnosis(DiagnosisCode::RankOnTcp, Recovery::NetworkStays, &message).with_evidence(evidence);
    let is_disabled = affected.iter().all(|rank| rank.pod.transport.disabled.is_some());
    found.push(finding.with_fix(is_disabled.then_some(DISABLED_FIX)));
}

/// Reports ranks that have no network in common.
fn check_mixed<'a>(logs: &JobLogs<'a>, found: &mut Vec<Diagnosis>) {
    let known: Vec<PodLog<'a>> = logs.ranks().filter(|rank| !rank.log.networks.is_empty()).collect();
    let networks = known.iter().map(|rank| rank.log.networks.iter().map(|network| &*network.name));
    let Some(all) = distinct(networks) else { return };
    let all = all.into_iter().collect::<Vec<_>>().join(", ");
    let first = |rank: &PodLog<'a>| rank.log.networks.first().map(|network| (&*network.name, &network.quote));
    let (deviation, quotes) = by_value(&known, first);
    let message = format!("the ranks have no network in common: {all}{deviation}");
    let evidence = quotes.into_iter().map(|(rank, quote)| rank.evidence(quote));
    found.push(logs.diagnosis(DiagnosisCode::NetworksDiffer, Recovery::NetworkStays, &message).with_evidence(evidence));
}

/// Networks of the plugins for TCPX and TCPXO, which are not RDMA: how their connections are logged was not observed.
const NOT_RDMA: [&str; 2] = ["FasTrak", "GPUDirectTCPX"];

/// Reports ranks whose adapters copy through the memory of the host.
fn check_direct(logs: &JobLogs<'_>, found: &mut Vec<Diagnosis>) {
    let is_indirect = |rank: &PodLog<'_>| {
        let connected = || rank.log.networks.iter().filter(|network| network.connection.is_some());
        let over_rdma = connected().next().is_some() && rank.tcp().is_none();
        let is_other = |network: &NetworkRecord| NOT_RDMA.iter().any(|name| network.name.starts_with(name));
        over_rdma
            && rank.pod.transport.requested.is_some()
            && !connected().any(|network| network.is_direct || is_other(network))
    };
    let affected: Vec<PodLog<'_>> = logs.ranks().filter(is_indirect).collect();
    if affected.is_empty() {
        return;
    }
    let evidence = affected.iter().filter_map(|rank| {
        let connection = rank.log.networks.iter().find_map(|network| network.connection.as_ref())?;
        Some(rank.evidence(connection))
    });
    let message = format!("no connection of {} uses GPUDirect RDMA", names(&affected));
    let finding = logs.diagnosis(DiagnosisCode::GpuDirectUnused, Recovery::NetworkStays, &message);
    found.push(finding.with_evidence(evidence));
}

/// Reports ranks with different versions of NCCL.
fn check_versions<'a>(logs: &JobLogs<'a>, found: &mut Vec<Diagnosis>) {
    let code = DiagnosisCode::NcclVersionsDiffer;
    let known: Vec<PodLog<'a>> = logs.ranks().filter(|rank| !rank.log.versions.is_empty()).collect();
    let versions = known.iter().map(|rank| rank.log.versions.iter().map(|(version, _)| &**version));
    let all = distinct(versions);
    let errors: Vec<Evidence> = logs.ranks().filter_map(|rank| Some(rank.evidence(rank.quote(code)?))).collect();
    let first = |rank: &PodLog<'a>| rank.log.versions.first().map(|(version, quote)| (&**version, quote));
    let (deviation, quotes) = by_value(&known, first);
    let message = match all {
        Some(all) => {
            let all = all.into_iter().collect::<Vec<_>>().join(", ");
            format!("the ranks use different versions of NCCL: {all}{deviation}")
        }
        None if errors.is_empty() => return,
        None => "the ranks use different versions of NCCL".to_owned(),
    };
    let quotes = quotes.into_iter().map(|(rank, quote)| rank.evidence(quote));
    found.push(logs.diagnosis(code, Recovery::VersionsStay, &message).with_evidence(errors.into_iter().chain(quotes)));
}

/// Reports ranks that wait for their peers at an address that no other node reaches: a local one, or one that other nodes have, too.
fn check_bootstrap(logs: &JobLogs<'_>, found: &mut Vec<Diagnosis>) {
    let mut nodes: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for rank in logs.ranks() {
        if let (Some(host), Some(node)) = (bootstrap_host(&rank), rank.pod.node.as_deref()) {
            nodes.entry(host).or_default().insert(node);
        }
    }
    let is_local = |host: &str| ["127.", "169.254.", "::1<", "[::1]"].iter().any(|prefix| host.starts_with(prefix));
    let is_repeated = |host: &str| nodes.get(host).is_some_and(|nodes| nodes.len() > 1);
    let is_affected = |rank: &PodLog<'_>| bootstrap_host(rank).is_some_and(|host| is_local(host) || is_repeated(host));
    let affected: Vec<PodLog<'_>> = logs.ranks().filter(is_affected).collect();
    if affected.is_empty() {
        return;
    }
    let evidence = affected.iter().filter_map(|rank| Some(rank.evidence(&rank.log.bootstrap.as_ref()?.1)));
    let message = if affected.len() == 1 {
        format!("{} listens for its peers at an address of its own node", names(&affected))
    } else {
        format!("{} listen for their peers at addresses of their own nodes", names(&affected))
    };
    let finding = logs.diagnosis(DiagnosisCode::BootstrapUnreachable, Recovery::InterfaceMissing, &message);
    found.push(finding.with_evidence(evidence));
}

/// Returns the address at which a rank listens, from `INTERFACE:ADDRESS<PORT>`.
fn bootstrap_host<'a>(rank: &PodLog<'a>) -> Option<&'a str> {
    let (address, _) = rank.log.bootstrap.as_ref()?;
    let host = address.split_once(':').map_or(&**address, |(_, host)| host);
    Some(host)
}

/// Returns all values if no value is common to all sets; `None` if one is, or there are fewer than two sets.
fn distinct<'b, S: Iterator<Item = &'b str>>(sets: impl Iterator<Item = S>) -> Option<BTreeSet<&'b str>> {
    let sets: Vec<BTreeSet<&str>> = sets.map(Iterator::collect).collect();
    let all: BTreeSet<&str> = sets.iter().flatten().copied().collect();
    let is_common = |value: &&str| sets.iter().all(|set| set.contains(*value));
    (sets.len() > 1 && !all.iter().any(is_common)).then_some(all)
}

/// Groups ranks by a value of their logs. Returns the end of a message, which names the ranks that differ from most
/// others (empty if no value has a majority), and a line of one rank for each value, the rarest value first.
fn by_value<'a>(
    ranks: &[PodLog<'a>],
    value: impl Fn(&PodLog<'a>) -> Option<(&'a str, &'a Quote)>,
) -> (String, Vec<(PodLog<'a>, &'a Quote)>) {
    let mut groups: BTreeMap<&str, Vec<(PodLog<'a>, &'a Quote)>> = BTreeMap::new();
    for rank in ranks {
        if let Some((value, quote)) = value(rank) {
            groups.entry(value).or_default().push((*rank, quote));
        }
    }
    let mut groups: Vec<Vec<(PodLog<'a>, &'a Quote)>> = groups.into_values().collect();
    // The sort is stable, so that values of equal frequency keep their order.
    groups.sort_by_key(Vec::len);
    let quotes = groups.iter().filter_map(|group| group.first().copied()).collect();
    let Some(majority) = groups.pop() else { return (String::new(), quotes) };
    let others: Vec<PodLog<'a>> = groups.into_iter().flatten().map(|(rank, _)| rank).collect();
    let deviation = match majority.first() {
        Some((typical, _)) if !others.is_empty() && others.len() < majority.len() => {
            let differs = verb(others.len(), "differs", "differ");
            format!("; {} {differs} from {}", names(&others), typical.pod.short_name())
        }
        _ => String::new(),
    };
    (deviation, quotes)
}

impl<'a> PodLog<'a> {
    /// Returns the line that proves that the rank uses TCP.
    fn tcp(&self) -> Option<&'a Quote> {
        self.log.tcp()
    }
}
