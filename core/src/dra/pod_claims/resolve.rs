//! Resolves a claim of a pod: finds its content and the kinds of its devices.

use serde_json::Value;

use super::super::classes::DeviceClasses;
use super::super::count::Count;
use super::super::facts::ClaimView;
use super::super::kind::{AdapterKind, DeviceKind};
use super::super::spec::DeviceRequest;
use super::super::unknown_cause::UnknownCause;
use super::{ClaimSource, ClaimedDevices, ClaimedRequest, PodClaim};

/// Reads the items of a pod's field `resourceClaims`.
pub(super) fn resolve_all<'a>(
    listed: &'a [Value],
    view: ClaimView<'a>,
    is_for_adapters: impl Fn(&str) -> bool,
) -> Vec<PodClaim<'a>> {
    let mut claims: Vec<PodClaim<'a>> = Vec::with_capacity(listed.len());
    for claim in listed {
        let text = |field: &str| claim.get(field).and_then(Value::as_str);
        let Some(name) = text("name") else { continue };
        let template = text("resourceClaimTemplateName").map(ClaimSource::Template);
        let object = || text("resourceClaimName").map(ClaimSource::Claim);
        let source = template.or_else(object).unwrap_or(ClaimSource::Pod(name));
        let is_object = matches!(source, ClaimSource::Claim(_));
        if let Some(known) = claims.iter_mut().find(|known| is_object && known.source == source) {
            known.names.push(name);
        } else {
            claims.push(PodClaim {
                names: vec![name],
                source,
                requests: resolve(name, source, view, &is_for_adapters),
            });
        }
    }
    claims
}

/// Returns the requests of the claim called `name`. Of unknown content, the name may show the purpose.
fn resolve<'a>(
    name: &'a str,
    source: ClaimSource<'a>,
    view: ClaimView<'a>,
    is_for_adapters: impl Fn(&str) -> bool,
) -> Result<Vec<ClaimedRequest<'a>>, UnknownCause> {
    let spec = match source {
        ClaimSource::Template(template) => view.template(template),
        ClaimSource::Claim(claim) => view.claim(claim),
        ClaimSource::Pod(_) => Err(UnknownCause::Undeclared),
    };
    let cause = match spec.and_then(|spec| spec.requests().ok_or(UnknownCause::Invalid)) {
        Ok(requests) => return Ok(requests.iter().map(|request| resolve_request(request, view.classes())).collect()),
        Err(cause) => cause,
    };
    let (ClaimSource::Template(object) | ClaimSource::Claim(object) | ClaimSource::Pod(object)) = source;
    let kind = if matches!(source, ClaimSource::Template(template) if is_for_adapters(template)) {
        DeviceKind::Adapter(AdapterKind::Any)
    } else if [name, object].into_iter().any(suggests_channel) {
        DeviceKind::Channel
    } else {
        return Err(cause);
    };
    let devices = ClaimedDevices { class: "", kind: Some(kind), count: Count::at_least(1), is_admin: false };
    Ok(vec![ClaimedRequest { name: None, devices: vec![devices] }])
}

/// Returns the devices of all requests of the `ResourceClaimTemplate` called `name`; none if its content is unknown.
#[must_use]
pub fn template_devices<'a>(view: ClaimView<'a>, name: &str) -> Vec<ClaimedDevices<'a>> {
    let requests = view.template(name).ok().and_then(|spec| spec.requests()).into_iter().flatten();
    requests.flat_map(|request| resolve_request(request, view.classes()).devices).collect()
}

/// Returns the devices of a request, one entry for each kind among its alternatives.
fn resolve_request<'a>(request: &'a DeviceRequest, classes: &DeviceClasses) -> ClaimedRequest<'a> {
    let kinds = request.alternatives.iter().map(|one| (one, classes.kind(&one.class, one.traits)));
    let mut devices: Vec<ClaimedDevices<'a>> = Vec::with_capacity(request.alternatives.len());
    for (alternative, kind) in kinds.clone() {
        if devices.iter().all(|known| known.kind != kind) {
            // The other alternatives provide none of this kind.
            let counts = kinds.clone().map(|(one, other)| if other == kind { one.count } else { Count::ZERO });
            let count = counts.reduce(Count::or).unwrap_or(Count::ZERO);
            devices.push(ClaimedDevices { class: &alternative.class, kind, count, is_admin: request.is_admin });
        }
    }
    ClaimedRequest { name: Some(&request.name), devices }
}

/// Returns true if the name of a claim suggests a channel of a `ComputeDomain`. The examples of NVIDIA and of the cloud
/// providers use such names.
fn suggests_channel(name: &str) -> bool {
    ["channel", "compute-domain", "imex"].iter().any(|word| name.contains(word))
}
