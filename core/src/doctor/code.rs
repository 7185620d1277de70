//! What a check may find: its code, its severity, its words and its fix, in one place.

use crate::codes::codes;
use crate::finding::{Finding, Severity};

codes! {
    /// What is looked at.
    pub enum Check {
        /// The apiserver's version.
        Kubernetes => "Kubernetes",
        /// The registration of the webhook, and its place among others.
        Registration => "registration",
        /// What datastrophic/istio-aux has left.
        IstioAux => "istio-aux",
        /// The certificate, and whom the apiserver trusts.
        Certificate => "certificate",
        /// The replicas of the webhook.
        Endpoints => "endpoints",
        /// The controller's leader.
        Controller => "controller",
        /// What the replicas of both servers tell of themselves.
        Metrics => "metrics",
        /// The `ConfigMap`.
        Configuration => "configuration",
        /// What the servers' accounts may do.
        Rights => "rights",
        /// Who injects, and what.
        Istio => "Istio",
        /// Who has opted in.
        Namespaces => "namespaces",
        /// What the apiserver admits where no label gives a level.
        PodSecurity => "Pod Security",
    }
}

/// Declares [`Code`] by [`codes`], with a severity before each name and, where there is one, a fix after its text.
macro_rules! findings {
    ($($(#[doc = $doc:literal])+ $severity:ident $name:ident => $text:literal $(, fix $fix:literal)?;)+) => {
        codes! {
            /// What was found.
            pub enum Code { $($(#[doc = $doc])+ $name => $text,)+ }
        }

        impl Code {
            /// How bad it is.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)+ }
            }

            /// What to do about it; `None` where nothing has to be done.
            #[must_use]
            pub fn fix(self) -> Option<&'static str> {
                let fixes: &[&'static str] = match self { $(Self::$name => &[$($fix)?],)+ };
                fixes.first().copied()
            }
        }
    };
}

findings! {
    /// Of any check: its facts are hidden.
    Info NotReadable => "not looked at, your rights do not allow it", fix "ask with an account that may read it";

    /// Everything that we use is served.
    Ok VersionServed => "recent enough";
    /// What the version says is no number.
    Info VersionUnknown => "the version is not understood";
    /// The chart asks for the same.
    Error VersionTooOld => "older than 1.29", fix "upgrade Kubernetes: sidecars in init containers and the policies need 1.29";

    /// It is there, complete and in its place.
    Ok Registered => "three webhooks, called before Istio injects";
    /// Nobody asks us.
    Error RegistrationMissing => "there is no MutatingWebhookConfiguration 0-trainmesh, so no pod is changed", fix "install the chart: helm install trainmesh charts/trainmesh -n trainmesh-system --create-namespace";
    /// One mode is not served.
    Error WebhookMissing => "a webhook of the registration is missing", fix "upgrade the release: helm upgrade trainmesh charts/trainmesh -n trainmesh-system";
    /// Left over from another installation, or the wrong flag here.
    Error CallsElsewhere => "the registration calls a Service of another namespace", fix "name the namespace of the installation with --namespace, or install again where the registration points";
    /// The annotation comes too late.
    Error InjectedBefore => "Istio injects before trainmesh is asked, so the hold comes too late", fix "give Istio's configuration a name that sorts after 0-trainmesh";
    /// Pods wait for us to be there.
    Warning FailsClosed => "failurePolicy is Fail, so no pod is made in opted-in namespaces while the webhook does not answer", fix "set webhook.failurePolicy to Ignore in the chart's values, unless that is what you want";

    /// Not there, or taken away.
    Ok IstioAuxAbsent => "not registered";
    /// Both are.
    Error IstioAuxRegistered => "called after trainmesh, it strips the fields of pods that it does not know", fix "keep the order of docs/migration-istio-aux.md: delete its MutatingWebhookConfiguration, install trainmesh, remove its controller";

    /// A call succeeds, as far as certificates go.
    Ok CertificateTrusted => "the apiserver trusts what the webhook serves";
    /// Without a registration nobody has to trust it.
    Info CertificateUnasked => "valid; no registration was seen that says who trusts it";
    /// No Secret, or an empty one.
    Error CertificateMissing => "there is no certificate for the webhook", fix "the controller makes one within seconds: see its log; in the other modes, see cert-manager or make the Secret yourself";
    /// Not a pair.
    Error CertificateBroken => "certificate and key cannot be read, or do not belong together", fix "delete both keys of the Secret: who made them makes them anew; or run trainmesh certs generate";
    /// By the apiserver's clock.
    Error CertificateNotInForce => "the certificate is not valid now", fix "see the log of the controller, or of cert-manager, for why it was not renewed; compare the clocks of the nodes";
    /// It should have been renewed at two thirds of its life.
    Warning CertificateEndsSoon => "the certificate ends soon and was not renewed", fix "see the log of the controller, or of cert-manager, for why";
    /// The name that the apiserver calls.
    Error CertificateMisnamed => "the certificate is for another name than the Service's", fix "make one for this name: trainmesh certs generate --help";
    /// Not yet written, or wiped.
    Error BundleMissing => "a webhook has no caBundle, so that every call fails", fix "the controller writes it within seconds: see its log; a GitOps tool may wipe it";
    /// Old, or another's.
    Error BundleForeign => "the caBundle does not hold the authority that signed the certificate, so that every call fails", fix "the controller repairs it within seconds: see its log; otherwise write the CA's certificate into caBundle";

    /// More than one.
    Ok EndpointsReady => "replicas of the webhook are ready";
    /// A restart is a gap.
    Warning OneEndpoint => "only one replica of the webhook is ready", fix "run two: webhook.replicas in the chart's values";
    /// There is a Service.
    Error NoEndpoints => "no replica of the webhook is ready", fix "look at its pods: kubectl -n NAMESPACE get pods -l app.kubernetes.io/component=webhook, and at their /readyz";
    /// There is none.
    Error ServiceMissing => "there is no Service trainmesh-webhook", fix "install the chart, or name its namespace with --namespace";

    /// Somebody leads.
    Ok Led => "a controller leads";
    /// The webhook alone.
    Info ControllerAbsent => "none is installed, and the configuration needs none: nothing terminates classic sidecars";
    /// None has ever run here.
    Error LeaseMissing => "no controller has ever led, so proxies are not ended", fix "look at its pods: kubectl -n NAMESPACE get pods -l app.kubernetes.io/component=controller";
    /// It was given up.
    Error LeaseFree => "no controller leads, so proxies are not ended", fix "look at its pods: kubectl -n NAMESPACE get pods -l app.kubernetes.io/component=controller";
    /// The holder is silent.
    Error LeaseStale => "the controller that leads is silent, so proxies are not ended", fix "look at its pods: kubectl -n NAMESPACE get pods -l app.kubernetes.io/component=controller; if they run, compare the clocks of the nodes";

    /// By every replica that is ready.
    Ok MetricsServed => "replicas serve them";
    /// Who is not ready is found by other checks.
    Info MetricsUnasked => "no replica is ready that would serve them";
    /// The apiserver is no Prometheus: a policy may keep out the one and not the other.
    Info MetricsUnreachable => "the apiserver does not reach those of some replicas", fix "look whether Prometheus does; a NetworkPolicy that keeps the apiserver out is no fault";

    /// In force.
    Ok ConfigurationValid => "valid";
    /// Nobody made a `ConfigMap`.
    Info ConfigurationAbsent => "there is no ConfigMap trainmesh-config, so the defaults hold";
    /// As it comes.
    Info PortForwardOff => "termination.portForward is false, so sidecars that are terminated by a POST keep running", fix "where pods have such sidecars (events HelperHasNoMethod), set config.termination.portForward to true in the chart's values";
    /// The servers go on with the one before, if they had one.
    Error ConfigurationRefused => "ConfigMap trainmesh-config is refused; what was in force before stays", fix "mend what is named, and try it first: trainmesh config validate";

    /// As the configuration asks.
    Ok RightsGranted => "the servers' accounts may do what they have to";
    /// By RBAC, of either account.
    Error RightsMissing => "the servers' accounts lack rights", fix "install the chart's RBAC as it is; rights follow the features that are switched on in Helm's values";
    /// More than the configuration uses.
    Warning RightsUnneeded => "the controller's account has permissions in pods that the configuration does not use", fix "upgrade the release with the same values as the configuration, and delete bindings that others made";

    /// Who injects.
    Ok InjectorsSeen => "injects";
    /// Perhaps Istio is outside of this cluster.
    Info InjectorMissing => "no injector of Istio is registered, so no pod gets a sidecar";
    /// Forced on.
    Ok NativeOn => "sidecars are native: they need no hold, and end by themselves";
    /// Forced off.
    Ok NativeOff => "sidecars are classic: trainmesh holds and ends them";
    /// Not said, or `auto`.
    Info NativeByVersion => "Istio decides about native sidecars: from 1.27 on they are the default where every node runs 1.33 or newer";

    /// Some have.
    Ok OptedIn => "opted in";
    /// None has.
    Info NoneOptedIn => "none is opted in", fix "kubectl label namespace NAME trainmesh.dev/inject=enabled";
    /// Nothing is changed there.
    Info Rehearsed => "only rehearsed, by trainmesh.dev/inject=audit";
    /// The mesh rules have nothing to do there.
    Info NotInjected => "opted in, but Istio injects no plain pod there";
    /// Neither `enabled` nor `audit`.
    Warning UnknownOptIn => "label trainmesh.dev/inject has a value that opts into nothing", fix "use enabled or audit";

    /// By their own label, or without fabrics.
    Ok PodSecurityUnused => "no opted-in namespace depends on the cluster's default level";
    /// By a dry run.
    Ok PodSecurityAdmits => "namespaces without a level of their own admit what fabric profiles add";
    /// The guard of fabrics knows.
    Ok PodSecurityConfigured => "the cluster's default level forbids what fabric profiles add, and fabric.podSecurityDefault says so";
    /// The guard of fabrics does not know.
    Warning PodSecurityForbids => "pods that get a fabric are rejected, and fabric.podSecurityDefault does not say so", fix "set fabric.podSecurityDefault to that level (restricted for SecurityContextConstraints), or label the namespaces pod-security.kubernetes.io/enforce=privileged";
    /// Another denial came first.
    Info PodSecurityUnknown => "a dry run did not show whether fabric profiles are admitted", fix "run doctor with an account that may create pods there";
    /// There are many.
    Info PodSecurityOmitted => "more namespaces than are probed";
}

impl Code {
    /// The finding that has this code, and what shows it in this cluster.
    #[must_use]
    pub fn finding(self, evidence: String) -> Finding {
        Finding {
            code: self.code(),
            severity: self.severity(),
            message: self.text().into(),
            evidence,
            fix: self.fix(),
            subject: String::new(),
        }
    }
}

/// The word for a severity in doctor's output.
#[must_use]
pub fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Ok => "ok",
        Severity::Info => "note",
        Severity::Warning => "warning",
        Severity::Error => "failure",
    }
}
