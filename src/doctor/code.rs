//! What a check may find: its code, its level, its words and its cure, in one place.

use crate::codes::codes;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// As it should be.
    Ok,
    /// Worth knowing; or it could not be seen.
    Note,
    /// It works, and may not when something else fails.
    Warning,
    /// It does not work.
    Failure,
}

impl Level {
    /// The level in one word, for machines.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Failure => "failure",
        }
    }
}

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

/// Declares [`Code`] by [`codes`], with a level before each name and, where there is one, a cure after its text.
macro_rules! findings {
    ($($(#[doc = $doc:literal])+ $level:ident $name:ident => $text:literal $(, cure $cure:literal)?;)+) => {
        codes! {
            /// What was found.
            pub enum Code { $($(#[doc = $doc])+ $name => $text,)+ }
        }

        impl Code {
            /// How bad it is.
            #[must_use]
            pub fn level(self) -> Level {
                match self { $(Self::$name => Level::$level,)+ }
            }

            /// What to do about it; `None` where nothing has to be done.
            #[must_use]
            pub fn cure(self) -> Option<&'static str> {
                let cures: &[&'static str] = match self { $(Self::$name => &[$($cure)?],)+ };
                cures.first().copied()
            }
        }
    };
}

findings! {
    /// Of any check: its facts are hidden.
    Note NotReadable => "not looked at, your rights do not allow it", cure "ask with an account that may read it";

    /// Everything that we use is served.
    Ok VersionServed => "recent enough";
    /// What the version says is no number.
    Note VersionUnknown => "the version is not understood";
    /// The chart asks for the same.
    Failure VersionTooOld => "older than 1.29", cure "upgrade Kubernetes: sidecars in init containers and the policies need 1.29";

    /// It is there, complete and in its place.
    Ok Registered => "three webhooks, called before Istio injects";
    /// Nobody asks us.
    Failure RegistrationMissing => "there is no MutatingWebhookConfiguration 0-trainmesh, so no pod is changed", cure "install the chart: helm install trainmesh charts/trainmesh -n trainmesh-system --create-namespace";
    /// One mode is not served.
    Failure WebhookMissing => "a webhook of the registration is missing", cure "upgrade the release: helm upgrade trainmesh charts/trainmesh -n trainmesh-system";
    /// Left over from another installation, or the wrong flag here.
    Failure CallsElsewhere => "the registration calls a Service of another namespace", cure "name the namespace of the installation with --namespace, or install again where the registration points";
    /// The annotation comes too late.
    Failure InjectedBefore => "Istio injects before trainmesh is asked, so the hold comes too late", cure "give Istio's configuration a name that sorts after 0-trainmesh";
    /// Pods wait for us to be there.
    Warning FailsClosed => "failurePolicy is Fail, so no pod is made in opted-in namespaces while the webhook does not answer", cure "set webhook.failurePolicy to Ignore in the chart's values, unless that is what you want";

    /// Not there, or taken away.
    Ok IstioAuxAbsent => "not registered";
    /// Both are.
    Failure IstioAuxRegistered => "called after trainmesh, it strips the fields of pods that it does not know", cure "keep the order of docs/migration-istio-aux.md: delete its MutatingWebhookConfiguration, install trainmesh, remove its controller";

    /// A call succeeds, as far as certificates go.
    Ok CertificateTrusted => "the apiserver trusts what the webhook serves";
    /// Without a registration nobody has to trust it.
    Note CertificateUnasked => "valid; no registration was seen that says who trusts it";
    /// No Secret, or an empty one.
    Failure CertificateMissing => "there is no certificate for the webhook", cure "the controller makes one within seconds: see its log; in the other modes, see cert-manager or make the Secret yourself";
    /// Not a pair.
    Failure CertificateBroken => "certificate and key cannot be read, or do not belong together", cure "delete both keys of the Secret: who made them makes them anew; or run trainmesh certs generate";
    /// By the apiserver's clock.
    Failure CertificateNotInForce => "the certificate is not valid now", cure "see the log of the controller, or of cert-manager, for why it was not renewed; compare the clocks of the nodes";
    /// It should have been renewed at two thirds of its life.
    Warning CertificateEndsSoon => "the certificate ends soon and was not renewed", cure "see the log of the controller, or of cert-manager, for why";
    /// The name that the apiserver calls.
    Failure CertificateMisnamed => "the certificate is for another name than the Service's", cure "make one for this name: trainmesh certs generate --help";
    /// Not yet written, or wiped.
    Failure BundleMissing => "a webhook has no caBundle, so that every call fails", cure "the controller writes it within seconds: see its log; a GitOps tool may wipe it";
    /// Old, or another's.
    Failure BundleForeign => "the caBundle does not hold the authority that signed the certificate, so that every call fails", cure "the controller repairs it within seconds: see its log; otherwise write the CA's certificate into caBundle";

    /// More than one.
    Ok EndpointsReady => "replicas of the webhook are ready";
    /// A restart is a gap.
    Warning OneEndpoint => "only one replica of the webhook is ready", cure "run two: webhook.replicas in the chart's values";
    /// There is a Service.
    Failure NoEndpoints => "no replica of the webhook is ready", cure "look at its pods: kubectl -n NAMESPACE get pods -l app.kubernetes.io/component=webhook, and at their /readyz";
    /// There is none.
    Failure ServiceMissing => "there is no Service trainmesh-webhook", cure "install the chart, or name its namespace with --namespace";

    /// Somebody leads.
    Ok Led => "a controller leads";
    /// The webhook alone.
    Note ControllerAbsent => "none is installed, and the configuration needs none: nothing terminates classic sidecars";
    /// None has ever run here.
    Failure LeaseMissing => "no controller has ever led, so proxies are not ended", cure "look at its pods: kubectl -n NAMESPACE get pods -l app.kubernetes.io/component=controller";
    /// It was given up.
    Failure LeaseFree => "no controller leads, so proxies are not ended", cure "look at its pods: kubectl -n NAMESPACE get pods -l app.kubernetes.io/component=controller";
    /// The holder is silent.
    Failure LeaseStale => "the controller that leads is silent, so proxies are not ended", cure "look at its pods: kubectl -n NAMESPACE get pods -l app.kubernetes.io/component=controller; if they run, compare the clocks of the nodes";

    /// By every replica that is ready.
    Ok MetricsServed => "replicas serve them";
    /// Who is not ready is found by other checks.
    Note MetricsUnasked => "no replica is ready that would serve them";
    /// The apiserver is no Prometheus: a policy may keep out the one and not the other.
    Note MetricsUnreachable => "the apiserver does not reach those of some replicas", cure "look whether Prometheus does; a NetworkPolicy that keeps the apiserver out is no fault";

    /// In force.
    Ok ConfigurationValid => "valid";
    /// Nobody made a `ConfigMap`.
    Note ConfigurationAbsent => "there is no ConfigMap trainmesh-config, so the defaults hold";
    /// As it comes.
    Note PortForwardOff => "termination.portForward is false, so sidecars that are terminated by a POST keep running", cure "where pods have such sidecars (events HelperHasNoMethod), set config.termination.portForward to true in the chart's values";
    /// The servers go on with the one before, if they had one.
    Failure ConfigurationRefused => "ConfigMap trainmesh-config is refused; what was in force before stays", cure "mend what is named, and try it first: trainmesh config validate";

    /// As the configuration asks.
    Ok RightsGranted => "the servers' accounts may do what they have to";
    /// By RBAC, of either account.
    Failure RightsMissing => "the servers' accounts lack rights", cure "install the chart's RBAC as it is; rights follow the features that are switched on in Helm's values";
    /// More than the configuration uses.
    Warning RightsUnneeded => "the controller's account has permissions in pods that the configuration does not use", cure "upgrade the release with the same values as the configuration, and delete bindings that others made";

    /// Who injects.
    Ok InjectorsSeen => "injects";
    /// Perhaps Istio is outside of this cluster.
    Note InjectorMissing => "no injector of Istio is registered, so no pod gets a sidecar";
    /// Forced on.
    Ok NativeOn => "sidecars are native: they need no hold, and end by themselves";
    /// Forced off.
    Ok NativeOff => "sidecars are classic: trainmesh holds and ends them";
    /// Not said, or `auto`.
    Note NativeByVersion => "Istio decides about native sidecars: from 1.27 on they are the default where every node runs 1.33 or newer";

    /// Some have.
    Ok OptedIn => "opted in";
    /// None has.
    Note NoneOptedIn => "none is opted in", cure "kubectl label namespace NAME trainmesh.dev/inject=enabled";
    /// Nothing is changed there.
    Note Rehearsed => "only rehearsed, by trainmesh.dev/inject=audit";
    /// The mesh rules have nothing to do there.
    Note NotInjected => "opted in, but Istio injects no plain pod there";
    /// Neither `enabled` nor `audit`.
    Warning UnknownOptIn => "label trainmesh.dev/inject has a value that opts into nothing", cure "use enabled or audit";

    /// By their own label, or without fabrics.
    Ok PodSecurityUnused => "no opted-in namespace depends on the cluster's default level";
    /// By a dry run.
    Ok PodSecurityAdmits => "namespaces without a level of their own admit what fabric profiles add";
    /// The guard of fabrics knows.
    Ok PodSecurityConfigured => "the cluster's default level forbids what fabric profiles add, and fabric.podSecurityDefault says so";
    /// The guard of fabrics does not know.
    Warning PodSecurityForbids => "pods that get a fabric are rejected, and fabric.podSecurityDefault does not say so", cure "set fabric.podSecurityDefault to that level (restricted for SecurityContextConstraints), or label the namespaces pod-security.kubernetes.io/enforce=privileged";
    /// Another denial came first.
    Note PodSecurityUnknown => "a dry run did not show whether fabric profiles are admitted", cure "run doctor with an account that may create pods there";
    /// There are many.
    Note PodSecurityOmitted => "more namespaces than are probed";
}
