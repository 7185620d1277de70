//! The findings of the checks: code, severity, text and fix of each.

use crate::codes::codes;
use crate::finding::{Finding, Severity};

codes! {
    /// The checks.
    pub enum Check {
        /// The apiserver's version.
        Kubernetes => "Kubernetes",
        /// The webhook configuration, and its position among others.
        Registration => "webhook configuration",
        /// Leftovers of datastrophic/istio-aux.
        IstioAux => "istio-aux",
        /// The serving certificate, and the CAs that the apiserver trusts.
        Certificate => "certificate",
        /// The replicas of the webhook.
        Endpoints => "endpoints",
        /// Leader election of the controller.
        Controller => "controller",
        /// The metrics of both servers.
        Metrics => "metrics",
        /// The `ConfigMap`.
        Configuration => "configuration",
        /// The permissions of the servers' service accounts.
        Rights => "permissions",
        /// The policy that limits the controller's exec.
        ExecPolicy => "exec policy",
        /// Istio's injectors, and the kind of sidecars.
        Istio => "Istio",
        /// The namespaces that have opted in.
        Namespaces => "namespaces",
        /// The IP ranges of pods, for the traffic mode `direct`.
        PodNetwork => "pod network",
        /// Running pods in the mesh, and the Services that select them.
        Mesh => "mesh",
        /// The webhooks of others that are called for pods.
        Webhooks => "other webhooks",
        /// The default Pod Security level of the cluster.
        PodSecurity => "Pod Security",
    }
}

/// Declares [`Code`] with [`codes`]. A severity precedes each name; an optional fix follows its text.
macro_rules! findings {
    ($($(#[doc = $doc:literal])+ $severity:ident $name:ident => $text:literal $(, fix $fix:literal)?;)+) => {
        codes! {
            /// Codes of the findings.
            pub enum Code { $($(#[doc = $doc])+ $name => $text,)+ }
        }

        impl Code {
            /// Returns the severity.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)+ }
            }

            /// Returns how to fix it; `None` if no action is required.
            #[must_use]
            pub fn fix(self) -> Option<&'static str> {
                let fixes: &[&'static str] = match self { $(Self::$name => &[$($fix)?],)+ };
                fixes.first().copied()
            }
        }
    };
}

findings! {
    /// Any check: the data cannot be read.
    Info NotReadable => "not checked: your account is not allowed to read the data", fix "run doctor with an account that is allowed to read it";
    /// Any check: the apiserver does not return the data.
    Error RequestFailed => "not checked: a request failed", fix "try again later; if it fails again, check the apiserver: kubectl get --raw '/readyz?verbose'";

    /// All APIs that trainmesh uses are available.
    Ok VersionServed => "supported version";
    /// The version number cannot be parsed.
    Info VersionUnknown => "the version could not be parsed";
    /// The chart requires the same version.
    Error VersionTooOld => "older than 1.29", fix "upgrade Kubernetes: native sidecars and admission policies require 1.29";

    /// The webhook configuration exists, is complete and in order.
    Ok Registered => "three webhooks, called before Istio injects";
    /// The apiserver does not call the webhook.
    Error RegistrationMissing => "MutatingWebhookConfiguration 0-trainmesh does not exist, so no pod is changed", fix "if the chart is installed, all changes may have been stopped on purpose: resume them as in docs/outage.md#stop-all-changes-at-once; otherwise install it: helm install trainmesh charts/trainmesh -n trainmesh-system --create-namespace";
    /// One of the modes is not served.
    Error WebhookMissing => "the webhook configuration lacks a webhook", fix "upgrade the release: helm upgrade trainmesh charts/trainmesh -n trainmesh-system";
    /// A leftover from another installation, or a wrong flag.
    Error CallsElsewhere => "the webhook configuration calls a Service in another namespace", fix "pass the namespace of the installation with --namespace, or reinstall in the namespace of the Service";
    /// The annotation is added too late.
    Error InjectedBefore => "Istio injects before trainmesh is called, so the hold has no effect", fix "give Istio's webhook configuration a name that sorts after 0-trainmesh";
    /// The availability of the webhook affects pod creation.
    Warning FailsClosed => "failurePolicy is Fail, so no pod can be created in opted-in namespaces, except in audit mode, while the webhook is unavailable", fix "set webhook.failurePolicy to Ignore in the chart's values, unless you want this";

    /// istio-aux was never installed or has been removed.
    Ok IstioAuxAbsent => "not installed";
    /// Both webhooks are installed.
    Error IstioAuxRegistered => "its webhook is called after trainmesh and drops pod fields that it does not support", fix "follow the order in docs/migration-istio-aux.md: delete its MutatingWebhookConfiguration, install trainmesh, remove its controller";

    /// TLS between apiserver and webhook works.
    Ok CertificateTrusted => "the apiserver trusts the serving certificate";
    /// Without a webhook configuration there is no `caBundle` to check.
    Info CertificateUnasked => "valid, but without a webhook configuration its trust cannot be checked";
    /// The Secret is missing or empty.
    Error CertificateMissing => "the webhook has no serving certificate", fix "the controller issues one within seconds: check its log; in the other certificate modes, check cert-manager or create the Secret";
    /// Certificate and key do not match.
    Error CertificateBroken => "certificate and key are malformed or do not match", fix "delete both keys from the Secret, so that they are issued again; or run trainmesh certs generate";
    /// By the clock of the apiserver.
    Error CertificateNotInForce => "the serving certificate is expired or not yet valid", fix "check the log of the controller or of cert-manager for failed renewals, and compare the clocks of the nodes";
    /// Renewal is due after two thirds of the lifetime.
    Warning CertificateEndsSoon => "the serving certificate expires soon and was not renewed", fix "check the log of the controller or of cert-manager for failed renewals";
    /// The apiserver verifies the DNS name of the Service.
    Error CertificateMisnamed => "the serving certificate is not valid for the Service's DNS name", fix "issue one for this name: trainmesh certs generate --help";
    /// Not written yet, or wiped.
    Error BundleMissing => "a webhook has no caBundle, so every call fails", fix "the controller writes it within seconds: check its log, and whether a GitOps tool removes it";
    /// Outdated, or from another issuer.
    Error BundleForeign => "the caBundle lacks the CA that signed the serving certificate, so every call fails", fix "the controller repairs it within seconds: check its log; in the other certificate modes, write the CA certificate to caBundle";

    /// Two or more.
    Ok EndpointsReady => "replicas of the webhook are ready";
    /// A restart interrupts the service.
    Warning OneEndpoint => "only one replica of the webhook is ready", fix "run two replicas: webhook.replicas in the chart's values";
    /// The Service has no ready endpoints.
    Error NoEndpoints => "no replica of the webhook is ready", fix "check its pods and their /readyz: kubectl -n NAMESPACE get pods -l app.kubernetes.io/component=webhook";
    /// The Service does not exist.
    Error ServiceMissing => "Service trainmesh-webhook does not exist", fix "install the chart, or pass its namespace with --namespace";

    /// The Lease is held.
    Ok Led => "a controller is the leader";
    /// An installation of the webhook alone.
    Info ControllerAbsent => "not installed, and the configuration does not require it: classic sidecars are not terminated";
    /// No controller has ever run.
    Error LeaseMissing => "no controller has ever been the leader, so proxies are not terminated", fix "check its pods: kubectl -n NAMESPACE get pods -l app.kubernetes.io/component=controller";
    /// The Lease was released.
    Error LeaseFree => "no controller is the leader, so proxies are not terminated", fix "check its pods: kubectl -n NAMESPACE get pods -l app.kubernetes.io/component=controller";
    /// The Lease has expired.
    Error LeaseStale => "the leader does not renew its Lease, so proxies are not terminated", fix "check its pods: kubectl -n NAMESPACE get pods -l app.kubernetes.io/component=controller; if they run, compare the clocks of the nodes";

    /// Every ready replica serves its metrics.
    Ok MetricsServed => "replicas serve metrics";
    /// Other checks report replicas that are not ready.
    Info MetricsUnasked => "no replica is ready to serve metrics";
    /// A network policy may block the apiserver but not Prometheus.
    Info MetricsUnreachable => "the apiserver cannot reach the metrics of some replicas", fix "check that Prometheus can; a NetworkPolicy that blocks only the apiserver is not a problem";

    /// The configuration is in use.
    Ok ConfigurationValid => "valid";
    /// There is no `ConfigMap`.
    Info ConfigurationAbsent => "ConfigMap trainmesh-config does not exist, so the defaults apply";
    /// The default.
    Info PortForwardOff => "termination.portForward is false, so sidecars that are terminated by a POST keep running", fix "if pods have such sidecars (events HelperHasNoMethod), set config.termination.portForward to true in the chart's values";
    /// The servers keep the previous configuration, if they have one.
    Error ConfigurationRefused => "ConfigMap trainmesh-config is invalid, so the previous configuration stays in use", fix "fix the listed fields, and check the result first: trainmesh config validate";

    /// All required permissions are granted.
    Ok RightsGranted => "the service accounts have all required permissions";
    /// RBAC denies a required permission.
    Error RightsMissing => "the service accounts lack permissions", fix "install the chart's RBAC rules unchanged; they follow the features enabled in the chart's values";
    /// RBAC grants more than the configuration needs.
    Warning RightsUnneeded => "the controller's service account has permissions on pods that the configuration does not use", fix "upgrade the release with the values of the configuration, and delete additional role bindings";

    /// Policy and binding exist and name the controller's account.
    Ok ExecPolicyInForce => "limits the controller to commands that terminate a sidecar";
    /// The controller has no permission to exec.
    Ok ExecPolicyUnused => "not needed, because termination is disabled";
    /// RBAC alone permits any command.
    Warning ExecPolicyMissing => "no policy limits the commands that the controller may run in pods", fix "on Kubernetes 1.30 or newer, set execPolicy.enabled to true in the chart's values and upgrade the release; otherwise limit its permission to namespaces with controller.namespaces";

    /// Istio injects sidecars.
    Ok InjectorsSeen => "injects sidecars";
    /// The control plane may be outside of this cluster.
    Info InjectorMissing => "no injection webhook of Istio exists, so no pod gets a sidecar";
    /// Enabled by configuration.
    Ok NativeOn => "sidecars are native: they need no hold, and the kubelet terminates them";
    /// Disabled by configuration.
    Ok NativeOff => "sidecars are classic: trainmesh adds the hold and terminates them";
    /// Not set, or `auto`.
    Info NativeByVersion => "Istio decides about native sidecars: since 1.27 they are the default if every node runs Kubernetes 1.33 or newer";

    /// At least one namespace.
    Ok OptedIn => "opted in";
    /// No namespace.
    Info NoneOptedIn => "no namespace has opted in", fix "kubectl label namespace NAME trainmesh.dev/inject=enabled";
    /// Pods in these namespaces are not changed.
    Info Rehearsed => "in audit mode (trainmesh.dev/inject=audit): pods are not changed";
    /// The mesh rules do not apply.
    Info NotInjected => "opted in, but Istio does not inject pods by default";
    /// Neither `enabled` nor `audit`.
    Warning UnknownOptIn => "label trainmesh.dev/inject has an unknown value, so the namespace has not opted in", fix "use enabled or audit";
    /// Misspelled keys and values.
    Warning LabelsWithoutEffect => "labels of trainmesh or Istio have no effect", fix "correct or remove them";

    /// Neither the configuration nor a label of a namespace selects it.
    Ok DirectUnused => "no namespace selects the traffic mode direct";
    /// The rule refuses the mode for every pod.
    Warning PodCidrsUnset => "mesh.podCIDRs is empty, so the traffic mode direct is refused", fix "set config.mesh.podCIDRs in the chart's values to the IP ranges of the pods: docs/mesh.md describes how to find them";
    /// Up to 500 pods are compared.
    Warning PodCidrsIncomplete => "pods have addresses outside of mesh.podCIDRs, so connections to them pass through Envoy", fix "add their ranges to config.mesh.podCIDRs in the chart's values";
    /// Up to 500 pods are compared.
    Ok PodCidrsComplete => "mesh.podCIDRs contains the addresses of all pods that were compared";

    /// The annotation of direct pods repeats them.
    Ok ExcludedRangesRepeated => "mesh.excludeIPRanges contains the ranges that Istio's injector excludes";
    /// Direct pods lose the exclusion.
    Warning ExcludedRangesMissing => "Istio's injector excludes ranges from capture that mesh.excludeIPRanges lacks, so that direct pods send connections to them through Envoy", fix "add them to config.mesh.excludeIPRanges in the chart's values";
    /// Only direct pods exclude them.
    Info ExcludedRangesAdditional => "mesh.excludeIPRanges contains ranges that Istio's injector does not exclude, so that only direct pods connect to them without Envoy";

    /// The lint checks FP052 to FP059 found nothing.
    Ok MeshPodsClean => "no problem found in the pods of opted-in namespaces (at most 500)";
    /// Every proxy keeps a listener for each port and pod of a headless Service.
    Warning RayListeners => "headless Services of Ray use memory in every proxy of the mesh", fix "set a smaller max-worker-port, or limit the visibility of these Services: annotation networking.istio.io/exportTo";

    /// Also if all of them do not respond.
    Ok TimeoutsFit => "the timeouts of all webhooks that are called for a pod fit into the apiserver's deadline";
    /// kubernetes/kubernetes#128162.
    Warning TimeoutsExceedDeadline => "if webhooks do not respond, their timeouts exceed the apiserver's deadline of 34 s for a request, and no pod is created, whatever their failurePolicy", fix "reduce their timeoutSeconds, and delete the configurations of webhooks that no longer exist";
    /// By a dry run.
    Ok FieldsKept => "the webhooks that are called for pods keep fields that older APIs lack";
    /// Only one webhook is called, besides trainmesh.
    Error FieldsDropped => "a webhook drops fields of pods, because it was built for an older API", fix "upgrade it, or exclude the opted-in namespaces in its namespaceSelector";
    /// Several webhooks are called, or the apiserver may not support the fields.
    Warning FieldsDroppedBySome => "fields of pods are dropped; candidates are the webhooks that are called for them", fix "exclude a namespace in their namespaceSelectors one after the other, and run doctor again; upgrade the webhook that is found";
    /// A webhook does not respond.
    Warning FieldsTimedOut => "the dry run of a pod got no response within 10 s: webhooks that are called for it do not respond", fix "check whether their servers run; delete the configurations of webhooks that no longer exist";
    /// By a dry run where no other webhook is called.
    Info FieldsUnsupported => "the apiserver does not keep some fields, although they are enabled by default in its version";
    /// It was denied, or the account may not create pods.
    Info FieldsUnknown => "the dry run of a pod did not show whether webhooks drop fields", fix "run doctor with an account that may create pods in these namespaces";

    /// All have a label of their own, or fabrics are disabled.
    Ok PodSecurityUnused => "no opted-in namespace depends on the cluster's default level";
    /// By a dry run.
    Ok PodSecurityAdmits => "namespaces without a level of their own admit what fabric profiles add";
    /// The fabric rule takes the level into account.
    Ok PodSecurityConfigured => "the cluster's default level forbids what fabric profiles add, as fabric.podSecurityDefault states";
    /// The fabric rule does not take the level into account.
    Warning PodSecurityForbids => "the cluster's default level rejects pods that get a fabric, but fabric.podSecurityDefault does not state it", fix "set fabric.podSecurityDefault to that level (restricted for SecurityContextConstraints), or label the namespaces pod-security.kubernetes.io/enforce=privileged";
    /// Another admission plugin or webhook denied the dry run.
    Info PodSecurityUnknown => "the dry run did not show whether fabric profiles are admitted", fix "run doctor with an account that may create pods in these namespaces";
    /// A limit on the number of dry runs.
    Info PodSecurityOmitted => "some namespaces were not probed";
}

impl Code {
    /// Returns the finding with this code and the evidence from this cluster.
    #[must_use]
    pub fn finding(self, evidence: String) -> Finding {
        Finding {
            code: self.code(),
            severity: self.severity(),
            message: self.text().into(),
            evidence,
            fix: self.fix(),
            subject: String::new(),
            link: "docs/operations.md#doctor",
            line: None,
            source: None,
        }
    }
}

/// Returns the name of a severity in the output of doctor.
#[must_use]
pub fn level_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Ok => "ok",
        Severity::Info => "note",
        Severity::Warning => "warning",
        Severity::Error => "failure",
    }
}
